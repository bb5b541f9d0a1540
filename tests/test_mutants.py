"""What ``make mutants`` runs: it finds what can be changed, and tells changes that a test notices from the others."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = ROOT / ".ci" / "mutants.py"
SNIPPET = '''"""A module's words: 2.0 - 1.0 and not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

LIMIT = 0.5
"""Words < more words."""
Kind = Literal[1, 2]


@dataclass(frozen=True)
class Thing:
    """A thing - with 3.0 parts."""

    size: tuple[float, Literal[3]] = (1.0, 3)


def double(values: list[float], *, even: bool = False) -> float:
    """Return é - ü."""
    "µ"; total = 0.0
    if not values or len(values) < 2 and even:
        raise ValueError(f"{len(values) - 1} values, " + "not 2.0")
    total += (
        values[0]  # the first
        - values[-1]
    )
    return -total if 0.0 <= total < LIMIT else math.fsum(values[1:])
'''
CHANGES = [
    "LIMIT = 0.5 -> LIMIT = 1.0",
    "size: tuple[float, Literal[3]] = (1.0, 3) -> size: tuple[float, Literal[3]] = (2.0, 3)",
    "False -> True",
    "total = 0.0 -> total = 1.0",
    "not values or (len(values) < 2 and even) -> not values and (len(values) < 2 and even)",
    "not values -> values",
    "len(values) < 2 and even -> len(values) < 2 or even",
    "len(values) < 2 -> len(values) <= 2",
    "total += values[0] - values[-1] -> total -= values[0] - values[-1]",
    "values[0] - values[-1] -> values[0] + values[-1]",
    "values[0] -> values[1]",
    "values[0] -> values[-1]",
    "values[-1] -> values[1]",
    "values[-1] -> values[-2]",
    "values[-1] -> values[-0]",
    "-total -> total",
    "0.0 <= total < LIMIT -> 0.0 < total < LIMIT",
    "0.0 <= total < LIMIT -> 0.0 <= total <= LIMIT",
    "0.0 <= total < LIMIT -> 1.0 <= total < LIMIT",
    "values[1:] -> values[2:]",
    "values[1:] -> values[0:]",
]


def mutants() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mutants", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["mutants"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


MUTANTS = mutants()


def test_every_change_is_found_and_nothing_that_is_no_computation() -> None:
    """Words, imports, annotations, decorators and what is raised stay; all else that may change is there once."""
    found = MUTANTS.sites(SNIPPET.encode(), "thing.py")
    assert sorted(site.change for site in found) == sorted(CHANGES)
    assert {site.source for site in found if "LIMIT = " in site.change} == {"LIMIT = 0.5"}


def test_a_change_changes_what_it_says_and_nothing_else() -> None:
    """Each result parses; it is the old tree but for the one place, also behind letters of several bytes."""
    before = ast.unparse(ast.parse(SNIPPET))
    seen = set()
    for site in MUTANTS.sites(SNIPPET.encode(), "thing.py"):
        after = ast.unparse(ast.parse(site.applied(SNIPPET.encode())))
        old, new = site.change.split(" -> ")
        changed = [pair for pair in zip(before.splitlines(), after.splitlines(), strict=True) if pair[0] != pair[1]]
        assert len(changed) == 1, site
        line, other = changed[0]
        # The words are those of the expression itself; within the line it may have lost its brackets.
        assert other in {line.replace(old, new, 1), line.replace(f"({old})", f"({new})", 1)} or new in other, site
        seen.add(after)
    assert len(seen) == len(CHANGES)


def test_changes_that_read_the_same_on_one_line_are_told_apart() -> None:
    """A list of mutants names each of them."""
    found = MUTANTS.sites(b"x = (a[0], a[0])\n", "x.py")
    assert len({site.key for site in found}) == len(found) == 4


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small package; one of its functions is tested, others are called and not looked at, one test is broken."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # its tests need none of them, and start sooner
    root = tmp_path / "tiny"
    room, tests = root / "src" / "counterpoise" / "control", root / "tests" / "control"
    room.mkdir(parents=True)
    tests.mkdir(parents=True)
    for folder in (room, room.parent):
        (folder / "__init__.py").write_text("", encoding="utf-8")
    (room / "ends.py").write_text(
        "def span(a, b):\n    return a - b\n\n\ndef last(a):\n    return a[-1]\n\n\ndef same(a):\n    return a + 0\n",
        encoding="utf-8",
    )
    (room / "wait.py").write_text("def over(left):\n    return left > 0\n", encoding="utf-8")
    (tests / "test_broken.py").write_text(
        "from counterpoise.control import ends\n\n\ndef test_never():\n    assert ends is None\n", encoding="utf-8"
    )
    (tests / "test_ends.py").write_text(
        "from counterpoise.control.ends import last, same, span\n\n\n"
        "def test_span():\n    assert span(5, 2) == 3\n    same(1)\n    last([1, 2])\n",
        encoding="utf-8",
    )
    (tests / "test_wait.py").write_text(
        "import pathlib\nimport time\nfrom counterpoise.control.wait import over\n\n\n"
        "def test_over():\n    pathlib.Path('begun').touch()\n    time.sleep(600)\n    over(1)\n",
        encoding="utf-8",
    )
    (root / ".ci").mkdir()
    (root / ".ci" / "equivalent_mutants.toml").write_text(
        '[[mutant]]\nfile = "src/counterpoise/control/ends.py"\nline = "return a + 0"\nchange = "a + 0 -> a - 0"\n'
        'proof = "Zero is its own negative."\n',
        encoding="utf-8",
    )
    return root


def files_of(root: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_survivors_and_killed_mutants_are_told_right(tiny: Path, tmp_path: Path, capsys) -> None:
    """What is tested dies, by its test; what is only called survives; a test that fails anyway kills nothing."""
    before, report = files_of(tiny), tmp_path / "report.json"
    only = ["--only", "src/counterpoise/control/ends.py"]
    assert MUTANTS.main([*only, "--json", str(report)], tiny) == 0
    found = json.loads(report.read_text(encoding="utf-8"))
    told = {mutant["change"]: (mutant["verdict"], mutant["by"]) for mutant in found["mutants"]}
    assert told == {
        "a - b -> a + b": ("killed", "tests/control/test_ends.py::test_span"),
        "a[-1] -> a[1]": ("survived", ""),
        "a[-1] -> a[-2]": ("survived", ""),
        "a[-1] -> a[-0]": ("survived", ""),
    }
    assert (found["killed"], found["survived"], found["percent_killed"]) == (1, 3, 25.0)
    assert found["broken_tests"] == ["tests/control/test_broken.py::test_never"]
    assert all(mutant["line"] in (2, 6) and mutant["tests"] for mutant in found["mutants"])
    printed = capsys.readouterr().out
    assert "survived   src/counterpoise/control/ends.py:6: a[-1] -> a[1]" in printed and "25 %" in printed
    assert files_of(tiny) == before


def test_further_tests_are_run_where_no_nearby_one_fails(tiny: Path, tmp_path: Path) -> None:
    """A test that does not import the file kills its mutant only when it is asked for; the slow ones never are."""
    code = "import importlib\n\n\ndef test_last():\n    assert importlib.import_module(NAME).last([1, 2, 3]) == 3\n"
    for name in ("test_away.py", "test_away_study.py"):
        (tiny / "tests" / "control" / name).write_text(f"NAME = 'counterpoise.control.ends'\n{code}", encoding="utf-8")
    (tiny / "tests" / "control" / "test_wait.py").unlink()
    report, told = tmp_path / "report.json", {}
    for more in ([], ["--further"]):
        MUTANTS.main(["--only", "src/counterpoise/control/ends.py", "--json", str(report), *more], tiny)
        found = json.loads(report.read_text(encoding="utf-8"))
        told[bool(more)] = {mutant["change"]: mutant["by"] for mutant in found["mutants"]}
        if more:
            assert not any("study" in test for mutant in found["mutants"] for test in mutant["tests"])
    assert set(told[False].values()) == {"tests/control/test_ends.py::test_span", ""}
    assert told[True]["a[-1] -> a[-2]"] == told[True]["a[-1] -> a[1]"] == "tests/control/test_away.py::test_last"
    assert told[True]["a - b -> a + b"] == "tests/control/test_ends.py::test_span"


def test_a_change_that_nothing_can_be_imported_with_is_killed(tiny: Path, tmp_path: Path) -> None:
    """Where pytest itself cannot begin there is no test that failed; without the mutant it begins."""
    (tiny / "tests" / "conftest.py").write_text("import counterpoise.control.ends\n", encoding="utf-8")
    file, report = tiny / "src" / "counterpoise" / "control" / "ends.py", tmp_path / "report.json"
    file.write_text("FIRST = [7][0]\n\n\n" + file.read_text(encoding="utf-8"), encoding="utf-8")
    (tiny / "tests" / "control" / "test_broken.py").unlink()
    assert MUTANTS.main(["--only", "src/counterpoise/control/ends.py", "--json", str(report)], tiny) == 0
    told = {mutant["change"]: mutant for mutant in json.loads(report.read_text(encoding="utf-8"))["mutants"]}
    assert (told["[7][0] -> [7][1]"]["verdict"], told["[7][0] -> [7][1]"]["by"]) == ("killed", "start")
    assert told["a - b -> a + b"]["by"] == "tests/control/test_ends.py::test_span"


def test_a_sample_is_that_of_its_seed(tiny: Path, capsys) -> None:
    """The same seed draws the same mutants; what is listed as equivalent is never drawn."""
    drawn = []
    for seed in ("1", "1", "2", "3"):
        MUTANTS.main(["--list", "--count", "2", "--seed", seed], tiny)
        drawn.append(capsys.readouterr().out.splitlines()[1:])
    assert drawn[0] == drawn[1] and len({str(sample) for sample in drawn}) > 1
    assert len(drawn[0]) == 2
    MUTANTS.main(["--list"], tiny)
    assert "a + 0" not in capsys.readouterr().out
    with pytest.raises(SystemExit, match="holds no source"):
        MUTANTS.main(["--only", "tests"], tiny)


def test_time_that_is_up_is_no_kill_where_the_tests_are_as_slow_without(tiny: Path, tmp_path: Path) -> None:
    """A mutant that hangs dies of it; tests that never end say nothing."""
    report = tmp_path / "report.json"
    only = ["--only", "src/counterpoise/control/wait.py", "--limit", "3"]
    MUTANTS.main([*only, "--json", str(report)], tiny)
    found = json.loads(report.read_text(encoding="utf-8"))
    assert (found["unfinished"], found["killed"], found["percent_killed"]) == (1, 0, None)
    (tiny / "src" / "counterpoise" / "control" / "wait.py").write_text(
        "def over(left):\n    while not left:\n        pass\n", encoding="utf-8"
    )
    (tiny / "tests" / "control" / "test_wait.py").write_text(
        "from counterpoise.control.wait import over\n\n\ndef test_over():\n    over(1)\n", encoding="utf-8"
    )
    MUTANTS.main([*only[:2], "--limit", "12", "--json", str(report)], tiny)
    found = json.loads(report.read_text(encoding="utf-8"))
    assert [(mutant["verdict"], mutant["by"]) for mutant in found["mutants"]] == [("killed", "time")]


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM], ids=lambda how: how.name)
def test_an_interruption_leaves_nothing_behind(tiny: Path, tmp_path: Path, how: signal.Signals) -> None:
    """The tree is as before, the copies are gone, and so are the tests that were running."""
    before, copies = files_of(tiny), tmp_path / "copies"
    copies.mkdir()
    code = (
        "import importlib.util, signal, sys; from pathlib import Path\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # tests in the background ignore it
        f"spec = importlib.util.spec_from_file_location('mutants', {str(SCRIPT)!r})\n"
        "module = sys.modules['mutants'] = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(module)\n"
        f"sys.exit(module.main(['--only', 'src/counterpoise/control/wait.py'], Path({str(tiny)!r})))\n"
    )
    environment = {**os.environ, "TMPDIR": str(copies)}
    process = subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 60.0
        while not list(copies.glob("mutants-*/tree0/begun")):
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(how)
        printed, _ = process.communicate(timeout=60.0)
    finally:
        process.terminate()  # not killed: it ends the test that it started, which sleeps
        process.communicate()
    assert process.returncode == 130 and "interrupted; 0 of 1" in printed
    assert files_of(tiny) == before and not list(copies.iterdir())


def test_what_is_listed_as_equivalent_is_there_and_proved() -> None:
    """An entry whose line has changed is looked at again: it goes, or its proof still holds and it is renewed."""
    listed = MUTANTS.equivalent(ROOT)
    there = {site.key for file in {entry["file"] for entry in listed} for site in MUTANTS.all_sites(ROOT, [file])}
    keys = [(entry["file"], entry["line"], entry["change"]) for entry in listed]
    assert len(set(keys)) == len(keys)
    assert [key for key in keys if key not in there] == []
    assert all(len(entry["proof"].split()) > 4 for entry in listed)


@pytest.fixture(scope="module")
def nearby() -> Any:
    return MUTANTS.Nearby(ROOT)


def test_shadowed_specifications_are_run_with_the_tests_that_compare(nearby: Any) -> None:
    """A twin's tests come first; every file that is named exists."""
    for name, tests in MUTANTS.TWINS.items():
        file = f"src/counterpoise/{name}"
        assert (ROOT / file).is_file() and all((ROOT / test).is_file() for test in tests)
        assert nearby.tests(file)[: len(tests)] == tests


def test_nearby_tests_are_those_that_import_the_file_or_what_imports_it(nearby: Any) -> None:
    """Its own test file first; where no test imports it, those of what does."""
    found = nearby.tests("src/counterpoise/control/reference.py")
    assert found[0] == "tests/control/test_reference.py" and "tests/control/test_laws.py" in found
    assert "tests/control/test_limits.py" not in found
    further = nearby.further("src/counterpoise/control/reference.py")
    assert "tests/control/test_limits.py" in further and not set(further) & set(found)
    assert not any(name.startswith("tests/sensing/") or "_study" in name for name in further)


def test_a_name_that_a_subpackage_hands_on_counts_as_an_import_of_its_module(nearby: Any) -> None:
    """``from counterpoise.fitting import Gaussian`` takes it from fitting/prior.py."""
    assert "tests/fitting/test_regression.py" in nearby.tests("src/counterpoise/fitting/prior.py")
    assert all(nearby.tests(site.file) for site in MUTANTS.all_sites(ROOT, ["src/counterpoise/dynamics"])[::50])
