"""What of a calibration's recordings was guessed: the size of efforts, how fast time goes; and what follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from ..logs.declared import RateSource
from ..logs.log import Log
from ..logs.provenance import effort_guesses
from .samples import Samples
from .static_poses import StaticPoses

RATES: tuple[RateSource, ...] = get_args(RateSource)
"""From best to worst."""
Data = Log | StaticPoses | Samples


def guessed_keys(*data: Data) -> tuple[str, ...]:
    """Return the dotted keys of all numbers of the recordings' mappings that are guessed."""
    return tuple(dict.fromkeys(key for log in _logs(data) for key in log.declared.guessed))


def rate_source(*data: Data) -> RateSource | Literal[""]:
    """Return who says how fast time goes, of several recordings the worst; "" where nobody said, and for poses."""
    worst: RateSource | Literal[""] = ""
    for log in _logs(data):
        told: RateSource | None = "guessed" if log.declared.rate_is_guessed else log.declared.rate_source
        if told is not None and (not worst or RATES.index(told) > RATES.index(worst)):
            worst = told
    return worst


def no_torques(*data: Data) -> bool:
    """Whether the efforts of a recording are no torques, or torques of a guessed size."""
    return any(log.declared.effort_is_command or log.declared.effort_is_guessed for log in _logs(data))


def why_command_units(keys: Sequence[str]) -> str:
    """Say why efforts are in command units, from the guessed keys."""
    return effort_guesses(keys) or "efforts are no torques, and no weighed load was recorded"


def unit_notes(*data: Data) -> list[str]:
    """Say which guesses leave efforts in command units; nothing where none does."""
    guessed = effort_guesses(guessed_keys(*data))
    return [f"{guessed}: nothing shows that efforts are torques"] if guessed else []


def clock_doubts(*data: Data) -> tuple[str, ...]:
    """Say where nobody knows how fast the time of a motion goes."""
    if rate_source(*data) != "guessed":
        return ()
    return ("how fast time goes is a guess; state the rate, time.rate, or record the time or velocities",)


def _logs(data: Sequence[Data]) -> list[Log]:
    return [one for one in data if isinstance(one, Log)]
