"""Words and units in the names of columns, topics and files, and what they say about what was measured.

Units that recordings come in are stated as factors to ours (SI).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Literal

Kind = Literal["position", "velocity", "effort"]
KINDS: tuple[Kind, ...] = ("position", "velocity", "effort")


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


POSITION_WORDS = word_set(
    "position positions pos q qs angle angles theta thetas jpos qpos encoder encoders enc jointposition"
)
VELOCITY_WORDS = word_set(
    "velocity velocities vel dq dqs qd qdot qvel speed speeds omega dtheta thetadot jvel jointvelocity"
)
TORQUE_WORDS = word_set("torque torques tau taus trq tq moment moments jointtorque")
CURRENT_WORDS = word_set("current currents curr cur amps ampere amperes")
EFFORT_WORDS = word_set("effort efforts load loads force")
ACCELERATION_WORDS = word_set("acceleration accelerations acc accel ddq qdd qddot qacc")
NOT_MEASURED = word_set(
    "ext external cmd command commands commanded desired des ref reference target goal setpoint set sp d nominal error "
    "err feedforward ff model predicted residual limit min max std cov temperature temp"
)
"""Words of columns that are wanted, computed or something else altogether."""
MEASURED = word_set("actual act measured meas msr feedback fb read sensor state")
TIME_WORDS = word_set("t time times timestamp timestamps stamp stamps clock elapsed secs sec seconds date datetime")
WRIST_WORDS = word_set("wrist tcp ee eef tool flange gripper hand tip")
PLATE_WORDS = word_set("base plate mount platform foot ground")
FILLER = word_set("joint joints j axis motor link states msg data field value values")
"""Words that say nothing about the kind."""

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_]+")
_UNIT = re.compile(r"[\[(]\s*([^\[\]()0-9]*)\s*[\])]\s*$")


def words_of(name: str) -> tuple[str, ...]:
    """Split a name into words and numbers in small letters: "jointPos_1" gives joint, pos, 1."""
    return tuple(part.casefold() for part in _PART.findall(name))


def unit_of(name: str) -> str | None:
    """Return the unit that a name ends in, "q_1 [deg]" or "time_ms"; None where it says none."""
    bracket = _UNIT.search(name)
    if bracket is not None:
        word = re.sub(r"[\s.·*_^-]", "", bracket[1]).casefold()
        return UNIT_WORDS.get(word) or (bracket[1].strip() if "/" in bracket[1] else None)
    last = words_of(name)[-1:]
    return UNIT_WORDS.get(last[0]) if last and last[0] not in ("a", "m", "n", "s") else None


def without_unit(name: str) -> str:
    """Return a name without a unit in brackets at its end."""
    return _UNIT.sub("", name)


def kind_of(words: Sequence[str]) -> tuple[Kind, str] | None:
    """Return what a name says is measured and the word that says it; None where it says nothing, or too much.

    Velocity goes before position: "q dot" and "angle velocity" are velocities.
    """
    if any(word in ACCELERATION_WORDS for word in words):
        return None
    for pair in pairwise(words):
        if pair in (("q", "dot"), ("d", "q"), ("theta", "dot")):
            return "velocity", " ".join(pair)
    for kind, known in (
        ("effort", TORQUE_WORDS),
        ("velocity", VELOCITY_WORDS),
        ("position", POSITION_WORDS),  # before current: the current position is the present one
        ("effort", CURRENT_WORDS | EFFORT_WORDS),
    ):
        for word in words:
            if word in known:
                return kind, word  # type: ignore[return-value]
    return None


def contains(words: Sequence[str], part: Sequence[str]) -> int | None:
    """Return where a run of words stands in a name; None where it does not."""
    for begin in range(len(words) - len(part) + 1):
        if tuple(words[begin : begin + len(part)]) == tuple(part):
            return begin
    return None


TIME: Mapping[str, float] = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
"""To s."""
ANGLE: Mapping[str, float] = {"rad": 1.0, "deg": math.pi / 180.0, "turn": 2.0 * math.pi, "mrad": 1e-3}
"""To rad."""
LENGTH: Mapping[str, float] = {"m": 1.0, "mm": 1e-3, "cm": 1e-2}
"""To m."""
ANGULAR_SPEED: Mapping[str, float] = {
    "rad/s": 1.0,
    "deg/s": math.pi / 180.0,
    "rpm": 2.0 * math.pi / 60.0,
    "turn/s": 2.0 * math.pi,
    "mrad/s": 1e-3,
}
"""To rad/s."""
SPEED: Mapping[str, float] = {"m/s": 1.0, "mm/s": 1e-3, "cm/s": 1e-2}
"""To m/s."""
TORQUE: Mapping[str, float] = {"Nm": 1.0, "mNm": 1e-3, "Nmm": 1e-3, "kNm": 1e3}
"""To N m."""
FORCE: Mapping[str, float] = {"N": 1.0, "mN": 1e-3, "kN": 1e3}
"""To N."""
CURRENT: Mapping[str, float] = {"A": 1.0, "mA": 1e-3}
"""To A."""
EFFORT: Mapping[str, float] = {**TORQUE, **CURRENT}
"""To N m or A; linear joints have the force without the m."""

UNIT_WORDS: Mapping[str, str] = {
    "rad": "rad",
    "radian": "rad",
    "radians": "rad",
    "deg": "deg",
    "degree": "deg",
    "degrees": "deg",
    "nm": "Nm",
    "mnm": "mNm",
    "nmm": "Nmm",
    "a": "A",
    "amp": "A",
    "amps": "A",
    "ma": "mA",
    "rpm": "rpm",
    "ms": "ms",
    "us": "us",
    "ns": "ns",
    "msec": "ms",
    "usec": "us",
    "nsec": "ns",
    "millis": "ms",
    "micros": "us",
    "nanos": "ns",
    "sec": "s",
    "secs": "s",
    "seconds": "s",
    "s": "s",
    "mm": "mm",
    "m": "m",
    "n": "N",
}
"""How units are written in names of columns, in small letters."""
