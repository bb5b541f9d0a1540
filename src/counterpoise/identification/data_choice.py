"""What of a recording is fitted: poses at rest, rows, motion, or poses and motion; decided from the data, with why.

Poses at rest of a recording that also moves are fitted beside the motion, and replace part of it (``Stands``). A
standing counts once, by its mean (still_poses.py); the samples of the motion in its time are left out. Standings at one
pose that was reached from the same sides are one: they share what the model does not know there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from ..doctor import LEAST_ROWS, is_pose_table
from ..dynamics import Robot
from ..errors import InputError
from ..fitting import Samples, StaticPoses, Terms, same_places
from ..foundation import Array, frozen
from ..recording import Log, find_rests
from .runs import FittedRun
from .still_poses import friction_bands, poses_from_log

Method = Literal["weighted", "iterative", "coupled"]
DataKind = Literal["static", "rows", "moving", "both"]
"""What of a recording is fitted ..."""
DataChoice = Literal["auto", "static", "rows", "moving"]
"""... and what may be asked for: "auto" decides by the data."""

METHODS: tuple[Method, ...] = get_args(Method)
DATA_CHOICES: tuple[DataChoice, ...] = get_args(DataChoice)
STILL_POSES = 6
"""Fewest different poses at rest that are fitted by themselves ..."""
STILL_POSES_BESIDE = 2
"""... and beside a motion."""
STILL_SHARE = 0.4
"""Share of a recording that the arm must stand still for its poses to be used rather than its motion, where not both
can be."""
ONLY_STANDS = 0.9
"""Share of a recording from which on the arm does nothing but stand: what is left are the ways between the poses."""


def data_kind(
    data: Log | StaticPoses | Samples, use: DataChoice, terms: Terms | None, method: Method
) -> tuple[DataKind, str]:
    """Return what of the data is fitted, and why in one sentence.

    Args:
        data: The data.
        use: What was asked for.
        terms: What is to be fitted; None for the usual.
        method: By which method.

    Raises:
        InputError: What was asked for does not fit the data or the method.
    """
    if isinstance(data, StaticPoses):
        if use == "moving":
            raise InputError("poses at rest hold no motion; use='moving' needs a recording")
        return "static", "the data are poses at rest"
    if isinstance(data, Samples):
        if use in ("static", "rows") or method != "weighted":
            raise InputError("samples of a motion cannot be fitted as poses at rest; give the recording")
        return "moving", "the data are samples of a motion"
    return _of_log(data, use, terms, method)


def _of_log(log: Log, use: DataChoice, terms: Terms | None, method: Method) -> tuple[DataKind, str]:
    needs_motion = terms is not None and terms.need_motion
    if method != "weighted" and (use == "moving" or needs_motion):
        raise InputError(f"method '{method}' is for poses at rest; a motion is fitted by 'weighted'")
    if use != "auto":
        return use, f"use='{use}' was asked for"
    if needs_motion:
        return "moving", "inertias, rotors or viscous friction are asked for, which only a motion shows"
    kind, why = _by_itself(log)
    if method != "weighted" and kind in ("moving", "both"):
        return "static", f"method '{method}' is for poses at rest"
    if kind == "both" and terms is not None:
        return ("static" if stands_mostly(log) else "moving"), f"{why}; the terms that are asked for suit one of them"
    return kind, why


def stands_mostly(log: Log) -> bool:
    """Return whether poses at rest tell more than the motion, where only one of them can be used."""
    kind, _ = _by_itself(log)
    if kind != "both":
        return kind in ("static", "rows")
    share, different = _standing(log)
    return share >= STILL_SHARE and different >= STILL_POSES


def _standing(log: Log) -> tuple[float, int]:
    """Return the share of a recording in which the arm stands, and in how many different poses."""
    segments = find_rests(log)
    total = float(np.ptp(log.time[np.isfinite(log.time)]))
    share = sum(segment.duration for segment in segments) / max(total, 1e-9)
    return share, len(np.unique(same_places(np.array([segment.q for segment in segments]))))


def _by_itself(log: Log) -> tuple[DataKind, str]:
    """Return what a recording is best for."""
    if log.declared.notes.get("plan"):
        return "static", "the recording carries its plan of poses"
    if log.side is not None or log.pair is not None:
        return "rows", "the mapping declares from which side its poses were reached"
    if len(log) < LEAST_ROWS or is_pose_table(log):
        return "rows", "from row to row the arm jumps through its range: every row is a pose at rest"
    share, different = _standing(log)
    stands = f"the arm stands still for {share:.0%} of the recording, in {different} different poses"
    if different < STILL_POSES_BESIDE:
        return "moving", f"{stands}: its motion has more information"
    if different >= STILL_POSES and share >= STILL_SHARE and log.declared.rate_is_guessed:
        return "static", f"{stands}, and how fast it moved between them is a guess"
    return ("static" if different >= STILL_POSES and share >= ONLY_STANDS else "both"), stands


NEAR = 1.5
"""A pose goes with the sample of the motion at its time, within so many distances of samples."""


@dataclass(frozen=True, slots=True, eq=False)
class Stands:
    """Poses at rest of one recording, and its motion.

    Attributes:
        poses: The poses as samples at rest; their times are those of the motion's samples next to them.
        spans: Begin and end of every standing [s], shape (s, 2).
        band: Friction that holds each joint, from poses that were reached from both sides, shape (n,); NaN where none
            was.
        rejected: Why other standings cannot be used, one sentence each.
    """

    poses: Samples
    spans: Array
    band: Array
    rejected: tuple[str, ...]

    def beside(self, samples: Samples) -> list[FittedRun]:
        """Return the runs for a fit: the motion without its standings, and the poses at rest that go with it.

        Args:
            samples: The motion, or a part of it; poses of other parts are left out.
        """
        spacing = float(np.median(np.diff(samples.time))) if len(samples) > 1 else 0.0
        after = np.searchsorted(samples.time, self.poses.time)
        near = np.minimum(
            *(np.abs(samples.time[np.clip(after + step, 0, len(samples) - 1)] - self.poses.time) for step in (-1, 0))
        )
        chosen = self.poses[near <= NEAR * spacing]
        moving = samples[~self._standing(samples.time)]
        if len(moving) == 0 or len(chosen) == 0:
            return [FittedRun(samples)]
        begin = samples.time[0] - samples.elapsed[0]
        return [FittedRun(moving), FittedRun(replace(chosen, elapsed=chosen.time - begin), poses=True)]

    def _standing(self, time: Array) -> npt.NDArray[np.bool_]:
        """Say which instants lie within a standing, shape (k,)."""
        place = np.searchsorted(self.spans[:, 0], time, side="right") - 1
        return np.asarray((place >= 0) & (time <= self.spans[np.maximum(place, 0), 1]))


def stands_of(robot: Robot, log: Log, samples: Samples) -> Stands | None:
    """Return the poses at rest of a recording; None where it has too few that can be used.

    Args:
        robot: The robot it is of.
        log: The recording.
        samples: Its motion.
    """
    try:
        still = poses_from_log(robot, log)
    except InputError:  # it stands nowhere, or somebody touched it everywhere
        return None
    poses = still.poses
    place = same_places(poses.q)
    if len(np.unique(place)) < STILL_POSES_BESIDE:
        return None
    middle = still.spans.mean(axis=1)
    nearest = np.clip(np.searchsorted(samples.time, middle), 0, len(samples) - 1)
    times = samples.time[nearest]
    groups: dict[tuple[int, ...], list[int]] = {}
    for row, number in enumerate(place.tolist()):
        groups.setdefault((number, *poses.side[row].tolist()), []).append(row)
    rows = list(groups.values())
    side = _of_actuators(samples.actuator_per_link, poses.side[[group[0] for group in rows]])
    still_rows = np.zeros((len(rows), robot.n))
    return Stands(
        poses=Samples(
            joint_names=samples.joint_names,
            time=times[[group[0] for group in rows]],
            q=_means(poses.q, rows),
            dq=still_rows,
            ddq=still_rows,
            tau=_means(poses.tau, rows),
            v0=samples.v0,
            direction=side,
            motor_per_link=samples.motor_per_link,
        ),
        spans=frozen(still.spans),
        band=frozen(friction_bands(poses)),
        rejected=tuple(one.reason for one in still.rejected),
    )


def told_of(stands: Sequence[Stands | None]) -> tuple[str, list[str]]:
    """Return what was fitted, "" for the motion alone without question, and notes on what was left out."""
    if not stands:
        return "", []
    used = [one for one in stands if one is not None]
    if not used:
        return "the motion, as too few of the poses at rest can be used", []
    count = sum(len(one.poses) for one in used)
    rejected = [reason for one in used for reason in one.rejected]
    notes = [f"{len(rejected)} standings are not used as poses; the first: {rejected[0]}"] if rejected else []
    return f"{count} poses at rest and the motion", notes


def _means(values: Array, groups: Sequence[Sequence[int]]) -> Array:
    return np.array([values[group].mean(axis=0) for group in groups])


def _of_actuators(coupling: Array, side: npt.NDArray[np.int64]) -> Array:
    """Return from which side actuators came, shape (m, n); 0 where the joints that they move came from different ones.

    Args:
        coupling: Actuator speeds per joint speeds, shape (n, n).
        side: Sides of the joints, shape (m, n).
    """
    parts = np.sign(coupling)[None] * side[:, None, :]
    up, down = (parts > 0.0).any(axis=2), (parts < 0.0).any(axis=2)
    return np.asarray(up, dtype=np.float64) - np.asarray(down, dtype=np.float64)
