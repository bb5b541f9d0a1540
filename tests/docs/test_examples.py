"""The numbered examples run alone, and print what the tutorials show."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from counterpoise.plants.kernel import NATIVE
from docs_pages import ROOT

pytest.importorskip("mujoco", reason="the examples drive simulated arms")
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
DEPENDS_ON_THE_MACHINE = "One call takes"
"""How a line begins that is not compared: times, and which kernel runs."""
SMALL = 1e-3
"""Numbers below this are noise, whatever their digits."""


def load_runner() -> ModuleType:
    """Import docs/tutorials/run_examples.py."""
    spec = importlib.util.spec_from_file_location("run_examples", ROOT / "docs" / "tutorials" / "run_examples.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


RUNNER = load_runner()


def differences(found: str, shown: str) -> list[str]:
    """Return the lines that differ in words, or in a number by more than a tenth and two steps of its last digit."""

    def lines(text: str) -> list[str]:
        return [line for line in text.splitlines() if not line.startswith(DEPENDS_ON_THE_MACHINE)]

    def words(line: str) -> str:
        return " ".join(NUMBER.sub("#", line).split())

    def near(one: str, other: str) -> bool:
        a, b = float(one), float(other)
        digits = len(other.partition("e")[0].partition(".")[2])
        step = 10.0**-digits * 10.0 ** float(other.partition("e")[2] or 0)
        return abs(a - b) <= 0.1 * abs(b) + 2.0 * step or max(abs(a), abs(b)) < SMALL

    if len(lines(found)) != len(lines(shown)):
        return [f"{len(lines(found))} lines, not {len(lines(shown))}"]
    return [
        f"{one}   shown: {other}"
        for one, other in zip(lines(found), lines(shown), strict=True)
        if words(one) != words(other) or not all(map(near, NUMBER.findall(one), NUMBER.findall(other)))
    ]


@pytest.mark.parametrize("example", RUNNER.EXAMPLES, ids=lambda path: path.stem)
def test_example_prints_what_its_tutorial_shows(example: Path) -> None:
    """If this is meant to change: python docs/tutorials/run_examples.py, and read the tutorial again."""
    if not NATIVE and "counterpoise.plants" in example.read_text(encoding="utf-8"):
        pytest.skip("without the native stepper a simulated arm takes minutes")
    shown = RUNNER.kept(example).read_text(encoding="utf-8")
    assert not differences(RUNNER.printed(example), shown)


@pytest.mark.parametrize("example", RUNNER.EXAMPLES, ids=lambda path: path.stem)
def test_every_example_has_a_tutorial(example: Path) -> None:
    """A tutorial of the same number includes the example and what it prints."""
    (page,) = (ROOT / "docs" / "tutorials").glob(f"{int(example.name[:2])}-*.md")
    text = page.read_text(encoding="utf-8")
    assert f'--8<-- "examples/{example.name}"' in text
    assert f'--8<-- "docs/tutorials/output/{example.stem}.txt"' in text


def test_differences_are_seen() -> None:
    """Another word, another number and another count of lines are told; noise and times are not."""
    shown = "mass 1.50 kg on link6\noffset 2.1e-05 m\nOne call takes 700 ns\n"
    assert not differences("mass 1.52 kg on link6\noffset -3.3e-05 m\nOne call takes 90 ns\n", shown)
    assert differences("mass 1.90 kg on link6\noffset 2e-05 m\n", shown)
    assert differences("mass 1.50 kg on link5\noffset 2e-05 m\n", shown)
    assert differences("mass 1.50 kg on link6\n", shown)
