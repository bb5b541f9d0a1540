"""Compares what a program prints with what a page shows, by what it means: words exactly, numbers within a tolerance.

A simulated arm with friction gives other digits on another processor: sums are made in another order, a joint that
sticks breaks loose a sample later, the search for poses ends beside the one it ended at. How much a number may differ
depends on what it is:

- "1.50 ± 0.03": an estimate. Another one is as good when the two differ by no more than the uncertainty shown; the
  uncertainty itself within a factor of 1.5.
- a number in a line that a :class:`Rule` names, with the reason why it may differ by more (or must not differ).
- any other number: RELATIVE, and two steps of its last digit.

Numbers below SMALL are noise. Above it no tolerance reaches to zero: another sign is always told, and so are another
word (a verdict, a name, a unit), another count of lines and a number that is missing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
RELATIVE = 0.1
SMALL = 1e-3
UNCERTAINTY_FACTOR = 1.5
MOST_FACTOR = 10.0


@dataclass(frozen=True)
class Rule:
    """How the numbers of some lines are compared.

    Attributes:
        line: Pattern that is searched in the line that is shown.
        factor: Two numbers agree when neither exceeds the other by more than this factor; 1 for the digits as they are.
        reason: Why.
        skipped: Lines that are left out altogether: times, which kernel runs.
        uncertainty: The same for what stands behind ±.
    """

    line: str
    factor: float
    reason: str
    skipped: bool = False
    uncertainty: float = UNCERTAINTY_FACTOR

    def __post_init__(self) -> None:
        """Refuse what would agree with anything."""
        if not all(1.0 <= factor <= MOST_FACTOR for factor in (self.factor, self.uncertainty)) or not self.reason:
            raise ValueError(f"{self}: expected a factor from 1 to {MOST_FACTOR:g}, and a reason")


def differences(found: str, shown: str, rules: Sequence[Rule] = ()) -> list[str]:
    """Return the lines of ``found`` that do not mean what ``shown`` says, each with the line shown."""
    skipped = [rule for rule in rules if rule.skipped]
    one, other = (
        [line for line in text.splitlines() if not any(re.search(rule.line, line) for rule in skipped)]
        for text in (found, shown)
    )
    if len(one) != len(other):
        return [f"{len(one)} lines, not {len(other)}"]
    return [f"{a}   shown: {b}" for a, b in zip(one, other, strict=True) if not _agree(a, b, rules)]


def _agree(found: str, shown: str, rules: Sequence[Rule]) -> bool:
    if _words(found) != _words(shown):
        return False
    rule = next((rule for rule in rules if re.search(rule.line, shown)), None)
    numbers, ours = list(NUMBER.finditer(shown)), NUMBER.findall(found)
    for index, (a, match) in enumerate(zip(ours, numbers, strict=True)):
        b = match[0]
        after, before = shown[match.end() :].lstrip(), shown[: match.start()].rstrip()
        if after.startswith("±") and index + 1 < len(numbers):
            good = abs(float(a) - float(b)) <= float(numbers[index + 1][0]) + _step(b)
        elif before.endswith("±"):
            good = _within_factor(a, b, UNCERTAINTY_FACTOR if rule is None else rule.uncertainty)
        elif rule is not None:
            good = _within_factor(a, b, rule.factor)
        else:
            good = abs(float(a) - float(b)) <= RELATIVE * abs(float(b)) + 2.0 * _step(b) and _same_sign(a, b)
        if not (good or max(abs(float(a)), abs(float(b))) < SMALL):
            return False
    return True


def _words(line: str) -> str:
    return " ".join(NUMBER.sub("#", line).split())


def _step(number: str) -> float:
    """Return one step of the last digit that is shown."""
    mantissa, _, exponent = number.partition("e")
    return float(10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2])))


def _same_sign(one: str, other: str) -> bool:
    """Tell whether two numbers have one sign; what is shown as a few steps of its last digit has none."""
    a, b = float(one), float(other)
    return a * b > 0.0 or max(abs(a), abs(b)) <= 2.0 * _step(other)


def _within_factor(one: str, other: str, factor: float) -> bool:
    a, b, step = float(one), float(other), _step(other)
    return _same_sign(one, other) and abs(a) <= factor * abs(b) + step and abs(b) <= factor * abs(a) + step
