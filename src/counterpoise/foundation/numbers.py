"""Numbers in robot files: plain decimal text or a refusal, never a guess.

``float()`` accepts "nan", "inf", "1_000" and digits of any script, and C readers stop at the comma of "1,5". Each of
these has put a wrong mass into a controller; here each is an error that names the file, the line and the text.
"""

from __future__ import annotations

import math
import re

from ..errors import ModelFileError

MAX_NUMBER_CHARACTERS = 100
"""Longest accepted spelling of one number; a float64 printed in full needs 25."""
XML_WHITESPACE = " \t\r\n"

_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_SHOWN_CHARACTERS = 40


def parse_number(text: str, *, what: str, path: str | None, line: int | None) -> float:
    """Return the finite number that ``text`` spells in decimal or scientific notation.

    Args:
        text: The attribute's text; XML whitespace around the number is allowed.
        what: What it is, for the message: "link 'forearm': mass value".
        path: File it came from, or None.
        line: Line of its element, or None.

    Raises:
        ModelFileError: Anything but a plain ASCII decimal number within the range of float64.
    """
    stripped = text.strip(XML_WHITESPACE)
    if len(stripped) > MAX_NUMBER_CHARACTERS or _DECIMAL.fullmatch(stripped) is None:
        raise ModelFileError(
            f"{what} is {quoted(text)}; expected a plain decimal number such as 0.5 or 1.2e-3", path=path, line=line
        )
    value = float(stripped)
    if math.isinf(value):
        raise ModelFileError(
            f"{what} is {quoted(text)}, beyond the range of a float64; expected a finite number",
            path=path,
            line=line,
        )
    return value


def parse_vector(text: str, count: int, *, what: str, path: str | None, line: int | None) -> tuple[float, ...]:
    """Return the ``count`` numbers that ``text`` lists, separated by XML whitespace.

    Args:
        text: The attribute's text.
        count: How many numbers it must hold.
        what: What it is, for the message: "joint 'elbow': origin xyz".
        path: File it came from, or None.
        line: Line of its element, or None.

    Raises:
        ModelFileError: Another count, or an entry that :func:`parse_number` refuses.
    """
    entries = [entry for entry in re.split(f"[{XML_WHITESPACE}]+", text) if entry]
    if len(entries) != count:
        raise ModelFileError(
            f"{what} is {quoted(text)}, which holds {len(entries)} entries; expected {count} numbers separated by "
            "spaces",
            path=path,
            line=line,
        )
    return tuple(parse_number(entry, what=f"{what} entry", path=path, line=line) for entry in entries)


def quoted(text: str) -> str:
    """Quote text from a file for a message: escaped, and cut to about 40 characters."""
    if len(text) > _SHOWN_CHARACTERS:
        text = text[: _SHOWN_CHARACTERS - 3] + "..."
    return repr(text)
