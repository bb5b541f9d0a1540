"""Runs the tests of the native code with AddressSanitizer and UndefinedBehaviorSanitizer: ``make sanitize``.

The extension is built a second time, into build/sanitize; what is installed stays as it is. Where the compiler has no
sanitizers this says so and ends well. A small program with a known mistake goes first: sanitizers that do not see it
are an error, so that a pass means something.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "sanitize"
LIB = str(BUILD / "lib")
REPORTS = BUILD / "reports"
FLAGS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", "-O1", "-g1")
TESTS = (
    "tests/test_native_arguments.py",
    "tests/dynamics/test_base_torques.py",
    "tests/dynamics/test_kernels.py",
    "tests/dynamics/test_inputs.py",
    "tests/sensing/plate/test_joint_torques.py",
    "tests/control/test_filter_conformance.py",
    "tests/control/test_safety.py",
    "tests/sensing/test_hold.py",
    "tests/sensing/test_recursive.py",
    "tests/sensing/test_square_root.py",
    "tests/recording/test_bag_kernel.py",
    "tests/recording/test_bag_mutations.py",
    "tests/recording/test_csv_numbers.py",
    "tests/plants/test_drive.py",
    "tests/plants/test_one_joint.py",
)
"""The tests that call the native code directly, or compare it with its specification."""
MISTAKES = {
    "address": "int main(int n, char **) { int *p = new int[4](); int x = p[n + 3]; delete[] p; return x; }",
    "undefined": "int main(int n, char **) { volatile int most = 2147483647; most = most + n; return 0; }",
}
"""One mistake per sanitizer: a read behind an array, and a sum that does not fit."""


def main() -> int:
    """Build and test; return 0 when clean, or when there is nothing to sanitize with."""
    compiler = os.environ.get("CXX") or (sysconfig.get_config_var("CXX") or "c++").split()[0]
    if (missing := lacking(compiler)) is not None:
        print(f"sanitize: skipped: {missing}")
        return 0
    built = subprocess.run(
        [sys.executable, "setup.py", "-q", "build", "--parallel", "2", "--build-base", str(BUILD), "--build-lib", LIB],
        cwd=ROOT,
        env={**os.environ, "COUNTERPOISE_EXTRA_FLAGS": " ".join(FLAGS), "COUNTERPOISE_REQUIRE_NATIVE": "1"},
        check=False,
    )
    if built.returncode:
        print("sanitize: the extension could not be built with the sanitizers")
        return built.returncode
    environment = {
        **os.environ,
        # The interpreter is not instrumented: the sanitizer comes first, with the C++ library whose throw it wraps.
        "LD_PRELOAD": " ".join(library(compiler, name) for name in ("libasan.so", "libubsan.so", "libstdc++.so")),
        # Into files: pytest catches what a process writes, and loses it when the process is ended by its mistake.
        "ASAN_OPTIONS": f"detect_leaks=0:allocator_may_return_null=1:log_path={REPORTS / 'found'}",
        "UBSAN_OPTIONS": f"print_stacktrace=1:log_path={REPORTS / 'found'}",
        "PYTHONMALLOC": "malloc",  # Python's own pools would hide what lies behind an array
        "PYTHONPATH": LIB,
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    asked = [sys.executable, "-c", "import counterpoise._native; print(counterpoise._native.__file__)"]
    found = subprocess.run(asked, env=environment, capture_output=True, text=True, cwd=ROOT, check=False)
    if found.returncode or not found.stdout.startswith(str(BUILD)):
        print(f"sanitize: the sanitized extension is not the one in use: {found.stdout}\n{found.stderr}")
        return 1
    jobs = os.environ.get("JOBS", "auto")
    # Without the tests that start the suite again, for settings in which nothing native runs, and those of memory.
    chosen = ("-p", "no:cacheprovider", "-k", "not other_settings and not leak", *sys.argv[1:], *TESTS)
    tests = [sys.executable, "-m", "pytest", "-q", "-n", jobs, "--dist", "worksteal", *chosen]
    shutil.rmtree(REPORTS, ignore_errors=True)
    REPORTS.mkdir(parents=True)
    result = subprocess.run(tests, cwd=ROOT, env=environment, check=False).returncode
    for report in sorted(REPORTS.iterdir()):
        print(f"sanitize: {report.relative_to(ROOT)}\n{report.read_text(errors='replace')}")
        result = result or 1
    return result


def lacking(compiler: str) -> str | None:
    """Return why nothing can be sanitized here; None where the compiler's sanitizers see a known mistake.

    Raises:
        SystemExit: They are there and do not see it.
    """
    with tempfile.TemporaryDirectory() as folder:
        for name, source in MISTAKES.items():
            program = Path(folder) / name
            command = [compiler, "-x", "c++", *FLAGS, "-o", str(program), "-"]
            try:
                built = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
            except OSError as error:
                return f"no C++ compiler ({compiler}: {error.strerror})"
            if built.returncode:
                return f"{compiler} has no {name} sanitizer: {built.stderr.strip().splitlines()[-1]}"
            if subprocess.run([str(program)], capture_output=True, check=False).returncode == 0:
                raise SystemExit(f"sanitize: the {name} sanitizer of {compiler} does not see a known mistake")
    if not all(Path(library(compiler, name)).is_file() for name in ("libasan.so", "libubsan.so", "libstdc++.so")):
        return f"{compiler} links its sanitizers statically, and the interpreter cannot load them first"
    return None


def library(compiler: str, name: str) -> str:
    """Return the path of one of the compiler's libraries; the bare name where it has none."""
    command = [compiler, f"-print-file-name={name}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
