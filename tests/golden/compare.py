"""Compares a reduced document with the stored one: keys and words exactly, numbers within tolerances."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

from golden.cases import Case
from library.printed_numbers import NUMBER


def differences(found: Any, stored: Any, case: Case) -> list[str]:
    """Return one line for each path of the two documents at which they differ."""
    ours, theirs = dict(_leaves(found)), dict(_leaves(stored))
    lines = [f"{path}: not there any more" for path in theirs.keys() - ours.keys()]
    lines += [f"{path}: new" for path in ours.keys() - theirs.keys()]
    for path in ours.keys() & theirs.keys():
        if not _agree(ours[path], theirs[path], *_tolerances(path, case)):
            lines.append(f"{path}: {ours[path]!r}, stored: {theirs[path]!r}")
    return sorted(lines)


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield what is neither list nor table, or empty, with its path."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if not items or not value:
        yield path, value
    for key, item in items:
        yield from _leaves(item, f"{path}.{key}".lstrip("."))


def _tolerances(path: str, case: Case) -> tuple[float, float]:
    """Return the relative and the absolute tolerance of a path."""
    wider = [pair for pattern, pair in case.loose.items() if fnmatchcase(path, f"document.{pattern}")]
    relative, absolute = map(max, zip((case.relative, case.absolute), *wider, strict=True))
    return relative, max(absolute, relative if path.endswith(".mixed") else 0.0)


def _agree(one: Any, other: Any, relative: float, absolute: float) -> bool:
    if isinstance(one, str) and isinstance(other, str):
        return _same_text(one, other, relative, absolute)
    if any(value is None or isinstance(value, bool | str | list | dict) for value in (one, other)):
        return type(one) is type(other) and bool(one == other)
    return bool(abs(one - other) <= max(relative * abs(other), absolute))


def _same_text(one: str, other: str, relative: float, absolute: float) -> bool:
    """Tell whether words are equal, and numbers within the tolerances or one step of the last decimal shown."""
    if one == other or NUMBER.sub("#", one) != NUMBER.sub("#", other):
        return one == other
    numbers = zip(NUMBER.findall(one), NUMBER.findall(other), strict=True)
    return all(abs(float(a) - float(b)) <= max(relative * abs(float(b)), absolute, _step(b)) for a, b in numbers)


def _step(number: str) -> float:
    """Return a little more than one step of a number's last decimal; whole numbers have none."""
    mantissa, _, exponent = number.partition("e")
    decimals = len(mantissa.partition(".")[2])
    return 1.001 * 10.0 ** (int(exponent or 0) - decimals) if decimals else 0.0
