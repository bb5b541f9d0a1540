"""What ``make sanitize`` runs: every test that calls the native code itself."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]
ELSEWHERE = {
    "tests/test_installed.py": "about what is installed",
    "tests/test_public_api.py": "about names",
    "tests/test_sanitize.py": "this file",
    "tests/cli/test_bench.py": "starts the program",
    "tests/cli/test_self_check.py": "starts the program",
    "tests/dynamics/test_native_check.py": "loads test builds of its own; the check itself runs at every import",
    "tests/plants/test_low_pass.py": "its stepper is that of tests/plants/test_one_joint.py",
    "tests/plants/test_simulated.py": "MuJoCo is not sanitized; its drives are those of tests/plants/test_drive.py",
    "tests/docs/test_examples.py": "minutes",
    "tests/docs/test_snippets.py": "minutes",
}
"""Files that name the native code and are left out, and why."""
NAMES_NATIVE = re.compile(
    r"(?:native|unchecked)_part\(|\._native\b|import _native|kernels?\.NATIVE|import NATIVE|Native[A-Z]\w+"
)


def sanitize() -> ModuleType:
    spec = importlib.util.spec_from_file_location("sanitize", ROOT / ".ci" / "sanitize.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_test_of_the_native_code_is_run() -> None:
    """A new file that calls the native code is added to .ci/sanitize.py, or left out with a reason."""
    run = set(sanitize().TESTS)
    assert all((ROOT / path).is_file() for path in run)
    naming = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "tests").rglob("test_*.py")
        if NAMES_NATIVE.search(path.read_text(encoding="utf-8"))
    }
    assert len(naming) > 8
    assert naming - run - set(ELSEWHERE) == set()


def test_it_skips_without_sanitizers(tmp_path: Path) -> None:
    """No compiler, or one that cannot link them: said in one line, and no failure."""
    module = sanitize()
    assert "no C++ compiler" in (module.lacking(str(tmp_path / "c++")) or "")
    without = tmp_path / "compiler"
    without.write_text("#!/bin/sh\necho 'cannot find -lasan' >&2\nexit 1\n", encoding="utf-8")
    without.chmod(0o755)
    assert "cannot find -lasan" in (module.lacking(str(without)) or "")


@pytest.mark.skipif(sys.platform != "linux" or shutil.which("c++") is None, reason="needs a compiler")
def test_sanitizers_that_see_nothing_are_an_error(tmp_path: Path) -> None:
    """A compiler that takes the flags and ignores them would make every run pass."""
    blind = tmp_path / "compiler"
    blind.write_text(
        '#!/bin/sh\nfor last; do [ "$last" = "-fsanitize=address,undefined" ] || set -- "$@" "$last"; shift; done\n'
        'exec c++ "$@"\n',
        encoding="utf-8",
    )
    blind.chmod(0o755)
    compiles = subprocess.run(["c++", "-x", "c++", "-fsyntax-only", "-"], input="int x;", text=True, check=False)
    assert compiles.returncode == 0
    with pytest.raises(SystemExit, match="does not see a known mistake"):
        sanitize().lacking(str(blind))
