"""The numbered examples run alone, and print what the tutorials show."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from counterpoise.plants import NATIVE
from library.docs_pages import ROOT
from library.printed_numbers import Rule, differences

pytest.importorskip("mujoco", reason="the examples drive simulated arms")
RULES = {
    "01": [Rule("^One call takes", 1.0, "times, and which kernel runs, are the machine's", skipped=True)],
    "02": [
        Rule(
            "error on poses|may be off|calibrated: gravity",
            3.0,
            "what friction leaves, over a dozen poses that a search found",
        ),
        Rule("Recording and description differ", 1.2, "ratios over joints that carry little of the weight"),
    ],
    "03": [Rule("^joint 1", 1.25, "the friction of single turns, each after another slip")],
    "04": [Rule("^refused", 1.1, "the uncertainty is the scatter of three repeats", uncertainty=5.0)],
    "05": [
        Rule("^link", 4.0, "shares of two links that explain the load almost equally well"),
        Rule("largest error", 3.0, "the largest of what friction leaves"),
    ],
    "06": [Rule("rms", 1.5, "how friction lets go decides the largest error")],
}
"""What of an example's numbers depends on how friction, noise or a search turn out; the rest is compared closely."""


def load_runner() -> ModuleType:
    """Import docs/tutorials/run_examples.py."""
    spec = importlib.util.spec_from_file_location("run_examples", ROOT / "docs" / "tutorials" / "run_examples.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


RUNNER = load_runner()


@pytest.mark.parametrize("example", RUNNER.EXAMPLES, ids=lambda path: path.stem)
def test_example_prints_what_its_tutorial_shows(example: Path) -> None:
    """If this is meant to change: python docs/tutorials/run_examples.py, and read the tutorial again."""
    if not NATIVE and "counterpoise.plants" in example.read_text(encoding="utf-8"):
        pytest.skip("without the native stepper a simulated arm takes minutes")
    shown = RUNNER.kept(example).read_text(encoding="utf-8")
    assert not differences(RUNNER.printed(example), shown, RULES.get(example.name[:2], ()))


@pytest.mark.parametrize("example", RUNNER.EXAMPLES, ids=lambda path: path.stem)
def test_every_example_has_a_tutorial(example: Path) -> None:
    """A tutorial of the same number includes the example and what it prints."""
    (page,) = (ROOT / "docs" / "tutorials").glob(f"{int(example.name[:2])}-*.md")
    text = page.read_text(encoding="utf-8")
    assert f'--8<-- "examples/{example.name}"' in text
    assert f'--8<-- "docs/tutorials/output/{example.stem}.txt"' in text


def test_rules_belong_to_examples() -> None:
    """Every rule names lines that its tutorial shows: one that matches nothing is left over."""
    shown = {example.name[:2]: RUNNER.kept(example).read_text(encoding="utf-8") for example in RUNNER.EXAMPLES}
    for number, rules in RULES.items():
        for rule in rules:
            assert re.search(rule.line, shown[number], re.MULTILINE), (number, rule)


def test_another_recording_means_the_same() -> None:
    """What tutorial 2 printed with another BLAS: another end of the search for poses, the same verdicts and errors."""
    example = next(path for path in RUNNER.EXAMPLES if path.name.startswith("02"))
    shown = RUNNER.kept(example).read_text(encoding="utf-8")
    other = shown
    for ours, theirs in (
        ("a payload of 0.83 kg", "a payload of 0.828 kg"),
        ("joint5 5.4, joint6 7.95", "joint5 5.41, joint6 7.9"),
        ("0.21, 0.56, 0.262, 0.31, 0.096, 0.066, 0.005", "0.24, 0.46, 0.24, 0.28, 0.08, 0.085, 0.005"),
        ("torques 0.150 N m", "torques 0.161 N m"),
    ):
        assert ours in other
        other = other.replace(ours, theirs)
    assert not differences(other, shown, RULES["02"])
    for ours, theirs in (
        ("1.852", "1.2"),
        ("it holds", "it does not hold"),
        ("trusted", "not trusted"),
        ("joint4", "joint5"),
    ):
        assert ours in other
        assert differences(other.replace(ours, theirs), shown, RULES["02"])
