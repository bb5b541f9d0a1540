"""The native kernels of every instruction set, side by side in one process, and test builds of them.

A test build has the eight-lane templates compiled for AVX2, with stations to break them at.

A build takes a minute. It is kept in build/ under a name made from everything it depends on, and made once however
many test processes ask for it.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from counterpoise.dynamics import kernel
from counterpoise.dynamics.reference import ReferenceKernel
from counterpoise.foundation import native_disabled

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "src" / "counterpoise" / "native"
FLAGS = ["-std=c++17", "-O1", "-fno-math-errno", "-ffp-contract=fast", "-g0", "-fPIC", "-Wno-psabi"]
DEFINED = ["-DCOUNTERPOISE_AVX=1", "-DCOUNTERPOISE_TEST_BUILD=1"]
PORTABLE = ["-DCOUNTERPOISE_PORTABLE_LANES=1"]
AVX2 = ["-mavx2", "-mfma"]
EXACT = ["-ffp-contract=off"]
BASELINE: dict[str, list[str]] = {
    **{unit: [] for unit in ("module", "dynamics", "dynamics/kernels_baseline", "sensing")},
    **dict.fromkeys(("control", "plants", "recording"), EXACT),
}
VECTORS = {**BASELINE, "dynamics/kernels_avx2": AVX2, "dynamics/kernels_avx512": AVX2}
UNITS: dict[str, tuple[list[str], dict[str, list[str]]]] = {
    "system": (DEFINED, VECTORS),
    "ziglang": (DEFINED, VECTORS),
    "portable": (PORTABLE, BASELINE),
}
"""Per build: what is defined, and the units with their flags. "portable" has the lanes of compilers without vectors."""


def compiler_command(name: str) -> list[str]:
    """The C++ compiler of a build: the system's, or of "ziglang" clang from PyPI. Skips where there is none."""
    if name == "ziglang":
        if importlib.util.find_spec("ziglang") is None:
            pytest.skip("ziglang, a clang from PyPI, is not installed")
        return [sys.executable, "-m", "ziglang", "c++", "-Wno-everything", "-march=x86_64"]
    found = next((path for path in (shutil.which(each) for each in ("g++", "c++", "clang++")) if path), None)
    if found is None:
        pytest.skip("there is no C++ compiler here")
    return [found]


def _skip_elsewhere() -> None:
    if native_disabled():
        pytest.skip("native code is disabled")
    if os.name != "posix" or platform.machine().lower() not in ("x86_64", "amd64"):
        pytest.skip("test builds are made on x86-64 with a Unix compiler")
    flags = Path("/proc/cpuinfo")
    if not flags.exists() or " avx2" not in flags.read_text(encoding="utf-8") or not SOURCES.is_dir():
        pytest.skip("test builds need the sources and a CPU with AVX2")


def _headers() -> list[str]:
    return [f"-I{np.get_include()}", f"-I{sysconfig.get_paths()['include']}"]


def _made(name: str, command: list[str], folder: Path) -> None:
    """Compile and link into ``folder``."""
    objects = []
    defined, units = UNITS[name]
    for unit, flags in units.items():
        objects.append(str(folder / f"{Path(unit).name}.o"))
        _run([*command, *FLAGS, *defined, *flags, *_headers(), "-c", str(SOURCES / f"{unit}.cpp"), "-o", objects[-1]])
    # What asks the CPU for its features lives in libgcc, which zig does not bring.
    runtime = []
    if "ziglang" in command:
        told = subprocess.run(["gcc", "-print-libgcc-file-name"], capture_output=True, text=True, check=False)
        runtime = [told.stdout.strip()] if told.returncode == 0 else []
    _run([*command, "-shared", *objects, *runtime, "-o", str(folder / "_native.so")])


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr[-3000:]}"


def built(name: str) -> Path:
    """The shared library of a test build, made where it is not there yet."""
    _skip_elsewhere()
    command = compiler_command(name)
    key = hashlib.sha256()
    for path in sorted(path for path in SOURCES.rglob("*") if path.is_file()):
        key.update(path.relative_to(SOURCES).as_posix().encode() + path.read_bytes())
    version = subprocess.run([*command[:4], "--version"], capture_output=True, check=False).stdout
    key.update(repr((FLAGS, UNITS[name], sys.version, np.__version__)).encode() + version)
    folder = ROOT / "build" / "native_tests" / key.hexdigest()[:16]
    import fcntl  # there is none on Windows, where no test build is made

    library = folder / "_native.so"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # others wait for the one that builds; the lock of a killed one is free
        if not library.exists():
            with tempfile.TemporaryDirectory(dir=folder) as work:
                _made(name, command, Path(work))
                os.replace(Path(work) / "_native.so", library)
    return library


@cache
def made_build(name: str = "system") -> Any:
    """The kernels of a test build."""
    return loaded(built(name), f"{name}_test_build").dynamics


def loaded(library: Path, package: str) -> Any:
    """An extension module from a file, beside the one that is in use."""
    spec = importlib.util.spec_from_file_location(f"{package}._native", library)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@dataclass(frozen=True)
class NativeSet:
    """The kernels of one instruction set of one build."""

    label: str
    part: Any
    name: str

    def kernel(self, tree: Any) -> Any:
        """A kernel for a tree."""
        return self.part.make_kernel(ReferenceKernel)(tree, self.name)


def set_names() -> list[str]:
    """The instruction sets that this machine has, of the installed extension; none where it is not in use."""
    return list(kernel._PART.instruction_sets()) if kernel.NATIVE else []


def installed_sets() -> list[NativeSet]:
    """Their kernels."""
    return [NativeSet(name, kernel._PART, name) for name in set_names()]


def eight_lanes(compiler: str = "system") -> NativeSet:
    """The eight-lane templates, compiled for AVX2: they run where there is no AVX-512. Skips without a compiler."""
    return NativeSet(f"eight lanes on AVX2, {compiler} compiler", made_build(compiler), "avx512")


@contextmanager
def using(name: str) -> Iterator[None]:
    """Let robots that are made in the meantime compute with an instruction set of the installed extension."""
    before = kernel._PART.instruction_set()
    kernel._PART.use(name)
    try:
        yield
    finally:
        kernel._PART.use(before)
