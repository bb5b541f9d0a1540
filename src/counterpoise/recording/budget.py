"""How much a recording may cost: limits of what all its files together may make of themselves.

A small file can claim, or pack, any amount: these sums are refused before they are paid. Who trusts a file raises them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Self

from ..errors import BudgetError, InputError

PER_BYTE = 100
"""Bytes that a byte of a file may unpack to besides ``ReadingBudget.unpacked``; real recordings unpack to 2 to 10."""
_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_AMOUNT = re.compile(r"(\d+(?:\.\d*)?(?:[eE]\+?\d{1,2})?) ?([kMGT]?)B?")


@dataclass(frozen=True, slots=True)
class ReadingBudget:
    """What a recording, all its files together, may make when it is read.

    Attributes:
        memory: Numbers that are held at once [bytes]: the log of ``read_log``, and arrays that can only be read whole.
            The process needs about twice as much while it puts the log together.
        rows: Samples of the log of ``read_log``. Pieces of ``stream_log`` may be any number.
        unpacked: What packed parts unpack to, and numbers that tables hold, in all passes through the files [bytes];
            besides PER_BYTE bytes for each byte of the files.
        topics: Topics of joint states and wrenches.
        columns: Columns of all tables.
        orders: Different lists of joint names in the messages of one topic.
    """

    memory: int = 2 * 10**9
    rows: int = 10_000_000
    unpacked: int = 256 * 10**6
    topics: int = 1000
    columns: int = 10_000
    orders: int = 1000

    def __post_init__(self) -> None:
        """Refuse what is no amount."""
        for entry in fields(self):
            value = getattr(self, entry.name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 1 <= value < math.inf:
                raise InputError(f"budget: {entry.name} is {value!r}; expected a number from 1")
            object.__setattr__(self, entry.name, int(value))

    def raised(self, texts: Iterable[str]) -> Self:
        """Return the budget with changes as a command line has them: ``rows=1e8``, ``memory=8GB``.

        Raises:
            InputError: There is no such budget, or it is no amount.
        """
        changes: dict[str, int] = {}
        known = [entry.name for entry in fields(self)]
        for text in texts:
            name, _, amount = text.partition("=")
            found = _AMOUNT.fullmatch(amount.strip())
            if name.strip() not in known or found is None:
                raise InputError(
                    f"budget '{text}'; expected NAME=AMOUNT such as memory=8GB or rows=1e8, NAME one of "
                    f"{', '.join(known)}"
                )
            changes[name.strip()] = int(min(float(found[1]) * _UNITS[found[2]], 1e18))
        return replace(self, **changes)


class Spending:
    """What the reading of a recording has cost so far, of the budget it has."""

    def __init__(self, budget: ReadingBudget | None = None) -> None:
        """Begin with nothing spent."""
        self.budget = budget or ReadingBudget()
        self._size = 0
        self._sums = {"unpacked": 0, "memory": 0, "rows": 0, "topics": 0, "columns": 0}

    def open(self, size: int) -> None:
        """Take a file of so many bytes into the recording."""
        self._size += size

    def foresee(self, name: str, count: int, path: str | Path) -> None:
        """Refuse now what would be refused when it is spent.

        Raises:
            BudgetError: The sum would be more than the budget.
        """
        allowed = getattr(self.budget, name) + (PER_BYTE * self._size if name == "unpacked" else 0)
        if self._sums[name] + count > allowed:
            raise over(name, self._sums[name] + count, allowed, path)

    def spend(self, name: str, count: int, path: str | Path) -> None:
        """Add to a sum, before it is paid.

        Args:
            name: Which budget.
            count: How much.
            path: The file.

        Raises:
            BudgetError: The sum is more than the budget.
        """
        self.foresee(name, count, path)
        self._sums[name] += count

    def give_back(self, name: str, count: int) -> None:
        """Take from a sum what is not held any more."""
        self._sums[name] -= count


_MEANING = {
    "memory": "bytes of numbers held at once",
    "rows": "rows",
    "unpacked": f"bytes unpacked, {PER_BYTE} for each byte of the files among them",
    "topics": "topics",
    "columns": "columns",
    "orders": "different lists of joint names in one topic",
}
_INSTEAD = {
    "memory": ", or read it in pieces (stream_log), or crop it ([time] of a mapping)",
    "rows": ", or read it in pieces (stream_log), or crop it ([time] of a mapping)",
}


def over(name: str, needed: int, allowed: int, path: str | Path) -> BudgetError:
    """Return the refusal of a file that needs more than a budget allows."""
    more = max(2 * getattr(ReadingBudget(), name), 2 * needed)
    rounded = f"{float(f'{more:.1g}'):.0e}".replace("e+0", "e").replace("e+", "e")
    return BudgetError(
        f"needs more than the budget '{name}' allows: {allowed:,} {_MEANING[name]}. If you trust the file, raise it: "
        f"budget=ReadingBudget({name}={rounded}) (--budget {name}={rounded}){_INSTEAD.get(name, '')}",
        budget=name,
        path=path,
    )
