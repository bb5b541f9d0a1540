"""A case of the certificate study: what a user would have, and the truth that nobody would know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from certificate_arms import Arm, Array

GRAVITY_SHARE = 0.10
"""Tolerance: share of the joint's gravity torque (root mean square over the recorded poses), or ..."""
EFFORT_SHARE = 0.02
"""... of its effort limit, whichever is larger."""
MOST_POSES = 300
"""Recorded poses that stand for the calibrated range, evenly taken."""
ELSEWHERE = 200
"""Poses that stand for the joint ranges."""


@dataclass(frozen=True, slots=True)
class Truth:
    """A fault that is in the recording, as the doctor would name it.

    Attributes:
        fault: The doctor's word for it.
        joints: Joints that have it; empty for the whole recording.
        values: What a fix should multiply (gain), add (offset) or shift (delay) by, one for each joint, or one.
    """

    fault: str
    joints: tuple[str, ...] = ()
    values: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Elsewhere:
    """The true load at e poses all over the joint ranges, as a case has it at the recorded ones.

    Attributes:
        q_recorded: Positions as they would be recorded, shape (e, n).
        load_recorded: The load in the efforts that would be recorded, shape (e, n).
        load_torque: The load of the joints themselves [N m or N], shape (e, n).
    """

    q_recorded: Array
    load_recorded: Array
    load_torque: Array


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """True friction that holds the joints at the scored rows: half the difference between the directions, slowly.

    Attributes:
        recorded: In the recorded effort, not negative, shape (m, n).
        torque: Of the joints themselves [N m or N], shape (m, n).
    """

    recorded: Array
    torque: Array


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A description, a recording and the truth. n joints, k recorded rows, m scored ones.

    "Load" is what holds the arm at rest: gravity, and springs, counterbalances and cables where there are any, without
    constant offsets. "Recorded" is in the unit of the recorded effort, under the column that is called after a joint.

    Attributes:
        part: "foreign" or "real".
        seed: Its seed.
        labels: What it is, by class: path, fault, friction, arm, description ...
        names: Joint names, shape (n,) in this order everywhere.
        urdf: The description.
        columns: The table as it is written, by header, each of shape (k,).
        measured: Which joints have a recorded effort, shape (n,).
        q_recorded: Recorded positions of the scored rows, as their columns are called, shape (m, n).
        load_recorded: The load in the recorded efforts of these rows, shape (m, n).
        load_torque: The load of the joints themselves [N m or N], shape (m, n).
        limit_recorded: Effort limits, shape (n,).
        limit_torque: Effort limits [N m or N], shape (n,).
        offset_recorded: Constant part of the recorded effort, what friction has in common both ways included, shape
            (n,). Zero where "offset" is among the unknown faults.
        doubt: How far the load may be off itself, as a share of the effort limit, shape (n,); None for not at all.
        friction: True friction; None where it is not known.
        elsewhere: The true load outside the recorded poses; None where it is not known.
        gravity: True gravity in base axes [m/s²], shape (3,).
        springs: Joints whose load is more than gravity, shape (n,). The constant part of a spring, an offset and
            friction that differs by direction are one, so their loads are compared without it.
        ideal: Gravity error (95 %) of the ideal estimator over the tolerance, shape (n,).
        truths: Faults that are in the recording, offsets and delays included.
        unknown: Faults that may be there besides, and nobody knows: they are not judged.
        identifiable: Whether the drawn fault matters and can be distinguished from wrong masses; False without one.
        facts: Numbers of the case, for the reader.
    """

    part: str
    seed: int
    labels: Mapping[str, str]
    names: tuple[str, ...]
    urdf: str
    columns: Mapping[str, Array]
    measured: npt.NDArray[np.bool_]
    q_recorded: Array
    load_recorded: Array
    load_torque: Array
    limit_recorded: Array
    limit_torque: Array
    offset_recorded: Array
    doubt: Array | None
    friction: Held | None
    elsewhere: Elsewhere | None
    gravity: Array
    springs: npt.NDArray[np.bool_]
    ideal: Array
    truths: tuple[Truth, ...]
    unknown: frozenset[str]
    identifiable: bool
    facts: Mapping[str, Any]

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Write description and recording, and return their files."""
        description, recording = folder / "arm.urdf", folder / "run.csv"
        description.write_text(self.urdf, encoding="utf-8")
        table = np.column_stack(list(self.columns.values()))
        np.savetxt(recording, table, fmt="%.9g", delimiter=",", header=",".join(self.columns), comments="")
        return description, recording


def tolerance(load: Array, limit: Array) -> Array:
    """Return the gravity error that counts as inside, in the unit of the load, shape (n,).

    Args:
        load: The load at the scored rows, shape (m, n).
        limit: Effort limits in the same unit, shape (n,).
    """
    usable = np.where(np.isfinite(limit), np.abs(limit), 0.0)
    return np.maximum(GRAVITY_SHARE * np.sqrt(np.mean(load**2, axis=0)), EFFORT_SHARE * usable)


def poses_elsewhere(arm: Arm) -> Array:
    """Return poses all over an arm's joint ranges, the same ones every time [rad or m], shape (ELSEWHERE, n)."""
    turn = np.where(arm.turns, np.pi, 0.5)  # for a joint without limits
    limited = np.isfinite(arm.lower) & np.isfinite(arm.upper) & (arm.upper > arm.lower)
    lower, upper = np.where(limited, arm.lower, -turn), np.where(limited, arm.upper, turn)
    return np.random.default_rng(0).uniform(lower, upper, (ELSEWHERE, len(arm.moving)))


def scored_rows(count: int) -> npt.NDArray[np.int64]:
    """Return the rows that are scored, out of ``count``."""
    return np.unique(np.linspace(0, count - 1, min(count, MOST_POSES)).round().astype(np.int64))
