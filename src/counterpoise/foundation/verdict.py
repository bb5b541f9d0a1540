"""A verdict: the checks that a result had to pass, each with its number, its limit and one sentence."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Check:
    """One question that a result must answer.

    Attributes:
        name: What it is about, e.g. "recording" or the name of a joint.
        passed: Whether it passed.
        sentence: What was found, with the numbers that decide.
        value: The deciding number; NaN where there is none.
        limit: What it may be at most, or must be at least; NaN where there is none.
        unit: Unit of both; "" for a plain number.
        decides: Whether a failure invalidates the result; otherwise it only asks for care.
    """

    name: str
    passed: bool
    sentence: str
    value: float = math.nan
    limit: float = math.nan
    unit: str = ""
    decides: bool = True


class Verdict(tuple[Check, ...]):
    """Checks in the order in which they were made."""

    __slots__ = ()

    @property
    def trusted(self) -> bool:
        """Whether every check passed."""
        return all(check.passed for check in self)

    @property
    def reasons(self) -> tuple[str, ...]:
        """What failed, one sentence each; empty for a trusted result."""
        return tuple(check.sentence for check in self if not check.passed)

    @property
    def level(self) -> Literal["good", "doubtful", "bad"]:
        """The verdict in a word: "bad" where a check failed that decides, "doubtful" where only others failed."""
        if any(check.decides and not check.passed for check in self):
            return "bad"
        return "good" if self.trusted else "doubtful"
