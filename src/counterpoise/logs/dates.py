"""Dates and times of day as ISO 8601 and its neighbours write them, as seconds."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta, timezone

_DATE = re.compile(
    rb"(?P<year>[0-9]{4})[-/]?(?P<month>[0-9]{2})[-/]?(?P<day>[0-9]{2})[T_ ]+"
    rb"(?P<hour>[0-9]{2}):?(?P<minute>[0-9]{2})(?::?(?P<second>[0-9]{2})(?:[.,](?P<part>[0-9]{1,12}))?)?"
    rb"\s*(?P<zone>Z|UTC|[+-][0-9]{2}(?::?[0-9]{2})?)?",
    re.IGNORECASE,
)
_TIME_OF_DAY = re.compile(
    rb"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})(?:[.,](?P<part>[0-9]{1,12}))?"
)


def seconds_of(field: bytes) -> float:
    """Return a date with a time as seconds since 1970, or a time of day as seconds since midnight; NaN for all else.

    Read are "2024-05-01T12:00:00.25Z", also with slashes, or a space or an underline before the time, the basic form
    "20240501T120000", all with a zone or without, which is taken for UTC, and "12:00:00.25". Numbers are no dates.

    Args:
        field: The text.
    """
    text = field.strip()
    found = _DATE.fullmatch(text)
    if found is None:
        found = _TIME_OF_DAY.fullmatch(text)
        if found is None:
            return math.nan
        hour, minute, second = (int(found[part]) for part in ("hour", "minute", "second"))
        if hour > 24 or minute > 59 or second > 60:
            return math.nan
        return 3600.0 * hour + 60.0 * minute + second + _part(found["part"])
    numbers = [int(found[part]) for part in ("year", "month", "day", "hour", "minute")]
    second = int(found["second"] or 0)
    try:
        whole = datetime(*numbers, tzinfo=_zone(found["zone"]))  # type: ignore[misc, arg-type]
        since = (whole - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)
    except (ValueError, OverflowError):
        return math.nan
    if second > 60:  # 60 is a leap second
        return math.nan
    return since + second + _part(found["part"])


def is_date(field: bytes) -> bool:
    """Whether a text is a date with a time, or a time of day."""
    return math.isfinite(seconds_of(field))


def _part(digits: bytes | None) -> float:
    return 0.0 if digits is None else int(digits) / 10.0 ** len(digits)


def _zone(text: bytes | None) -> timezone:
    if text is None or text.upper() in (b"Z", b"UTC"):
        return UTC
    digits = text[1:].replace(b":", b"")
    minutes = 60 * int(digits[:2]) + int(digits[2:] or 0)
    return timezone((1 if text[:1] == b"+" else -1) * timedelta(minutes=minutes))
