"""What the continuous integration, the templates and `make quick` name is there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml", reason="the extra 'test' has it")
ROOT = Path(__file__).resolve().parents[1]
TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_name_what_exists(path: Path) -> None:
    """Targets of the Makefile, scripts, tests and the list of the quick tests are there; jobs wait for jobs."""
    jobs = read(path)["jobs"]
    for job in jobs.values():
        assert {*([job["needs"]] if "needs" in job else [])} <= jobs.keys()
        for line in (step["run"] for step in job["steps"] if "run" in step):
            for made in re.findall(r"\bmake ((?:[a-z]+ ?)+)", line):
                assert {*made.split()} <= TARGETS, line
            for name in re.findall(r"(?:bash |@|[ =])((?:\.ci|tests)/[\w./]+)", line):
                assert (ROOT / name).exists(), line


def test_the_gate_has_linux_windows_and_docs() -> None:
    """Each system runs tests, and the site is built."""
    jobs = read(ROOT / ".github" / "workflows" / "ci.yml")["jobs"]
    assert "ubuntu-latest" in jobs["test"]["strategy"]["matrix"]["os"]
    assert jobs["windows"]["runs-on"] == "windows-latest"
    assert any(step.get("run") == "make docs" for step in jobs["docs"]["steps"])


def test_the_quick_list_names_tests() -> None:
    """Every line of .ci/quick.txt is a test, a folder of tests, or one that is left out."""
    lines = (ROOT / ".ci" / "quick.txt").read_text(encoding="utf-8").splitlines()
    paths = [line.removeprefix("--ignore=") for line in lines]
    assert len(paths) == len(set(paths)) > 20
    assert [path for path in paths if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_issue_forms_are_whole(path: Path) -> None:
    """A form has a name, a description and questions, each with an id of its own; config has none."""
    form = read(path)
    if path.stem == "config":
        assert form.keys() == {"blank_issues_enabled"}
        return
    assert form["name"] and form["description"]
    questions = [part for part in form["body"] if part["type"] != "markdown"]
    assert len({part["id"] for part in questions}) == len(questions) > 2
    assert all(part["attributes"]["label"] for part in questions)


def test_before_a_commit_ruff_runs_twice() -> None:
    """Pre-commit runs what `make lint` runs."""
    (repository,) = read(ROOT / ".pre-commit-config.yaml")["repos"]
    assert {hook["id"] for hook in repository["hooks"]} == {"ruff-check", "ruff-format"}
    assert len(FORMS) == 4
