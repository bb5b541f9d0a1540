"""Poses at rest from a recording: where the arm stands, which side it came from, and what must not be used.

A recording of a plan (``counterpoise record``) carries its windows; any other one is searched for rests
(recording/rest.py). Per rest the mean position and torque are taken. A mean's standard error counts how many samples
are independent, by the blocking of autocorrelation.py.

Left out, each with its reason, is a rest

- in which a joint drifts: a position that creeps is no pose, and a torque that wanders far more than in the arm's other
  rests is that of an arm which somebody touches, or which has not settled;
- at a joint limit of the model: a stop may carry part of the load;
- in which a measured joint has no torque, or a position is missing.

Two rests at the same pose that were reached from opposite sides are a pair; friction cancels in their mean.

A plan states from which side each joint arrives. A joint that friction held at the offset, or that swung back, carries
friction of an unknown sign into the mean of both sides. That shows in the measured positions alone: from the beginning
of the creep to the end of the window a joint must move towards the pose, and must not go back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ..dynamics import Robot
from ..errors import InputError
from ..fitting import SAME_POSE, StaticPoses, autocorrelation_times, same_places, static_poses
from ..foundation import Array, frozen
from ..recording import (
    CREEP,
    SETTLE,
    Log,
    find_rests,
    increasing,
    measured_means,
    on_stops,
    resolution,
    sides_by_order,
)
from .moving import effort_of

LEAST_MOVED = 0.1
"""A joint must creep by at least this share of its approach."""
MOST_BACK = 0.1
"""... and may go back by at most this share of it: friction gives a little as the drive settles, and encoders count."""


@dataclass(frozen=True, slots=True, eq=False)
class Arrival:
    """How the joints came to one pose from one side; arrays of shape (n,) [rad or m].

    Attributes:
        pose: Index of the pose.
        side: "above" or "below".
        moved: How far the joints moved in the stated direction.
        back: How far they went back on the way.
        approach: How far they were to move.
    """

    pose: int
    side: str
    moved: Array
    back: Array
    approach: Array

    @property
    def failed(self) -> list[int]:
        """Indices of the joints that did not come from the stated side."""
        stuck = self.moved < LEAST_MOVED * self.approach
        return np.flatnonzero(stuck | (self.back > MOST_BACK * self.approach)).tolist()


def arrivals(log: Log) -> tuple[Arrival, ...]:
    """Return how the joints came to rest, window by window, of a log that carries its plan.

    Raises:
        InputError: The log has no plan.
    """
    plan = log.declared.notes.get("plan")
    if not isinstance(plan, Mapping) or "windows" not in plan:
        raise InputError("the log carries no plan; it was not made by recording a list of poses")
    elapsed = log.time - log.time[0]
    found = []
    for window in plan["windows"]:
        part = (elapsed >= window["creep"]) & (elapsed < window["end"])
        if np.count_nonzero(part) < 2 or elapsed[-1] < window["begin"]:
            continue  # cut away
        approach = np.asarray(plan["offsets"][window["pose"]], dtype=np.float64)
        found.append(arrival_of(log.q[part], window["pose"], window["side"], approach))
    return tuple(found)


def arrival_notes(log: Log) -> list[str]:
    """Name the joints that did not come to rest from the stated side, each with how often; none is good."""
    all_arrivals = arrivals(log)
    notes = []
    for joint, name in enumerate(log.joint_names):
        failed = [arrival for arrival in all_arrivals if joint in arrival.failed]
        if failed:
            worst = min(failed, key=lambda arrival: float(arrival.moved[joint] - arrival.back[joint]))
            notes.append(
                f"{name} did not come to rest from the stated side in {len(failed)} of {len(all_arrivals)} "
                f"approaches: at pose {worst.pose + 1} from {worst.side} it moved {worst.moved[joint]:.2g} of "
                f"{worst.approach[joint]:.2g} and went back {worst.back[joint]:.2g}"
            )
    return notes


def arrival_of(q: Array, pose: int, side: str, approach: Array) -> Arrival:
    """Return how the joints came to rest at one pose.

    Args:
        q: Positions from the beginning of the creep to the end of the window [rad or m], shape (k, n).
        pose: Index of the pose.
        side: "above" or "below".
        approach: How far the joints were to move [rad or m], shape (n,).
    """
    sign = -1.0 if side == "above" else 1.0
    progress = sign * (q - q[0])
    back = np.max(np.maximum.accumulate(progress, axis=0) - progress, axis=0)
    return Arrival(pose, side, frozen(progress[-1]), frozen(back), frozen(approach))


LEAST_SAMPLES = 8
"""Fewer samples than this make no mean."""
BLOCKS = 8
"""A segment is looked at in this many stretches: one touch of the arm raises one of them."""
WANDERS = 8.0
"""A torque whose stretches scatter by more than this many times the usual (median over the segments) ..."""
WANDER_SHARE = 0.02
"""... and by more than this share of the joint's whole torque range was disturbed."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A still segment that is not used.

    Attributes:
        start: When it begins [s, the log's clock].
        end: When it ends [s].
        reason: Why, in one sentence.
    """

    start: float
    end: float
    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class StillPoses:
    """What a recording offers at rest.

    Attributes:
        poses: The segments that can be used, in the order of the recording.
        rejected: The others, with reasons.
        planned: Whether the recording carried its plan.
        spans: Begin and end of every segment that can be used [s, the log's clock], shape (m, 2).
    """

    poses: StaticPoses
    rejected: tuple[Rejected, ...]
    planned: bool
    spans: Array


@dataclass(frozen=True, slots=True, eq=False)
class _Segment:
    """Rows of the log in which the arm stands, the sides its joints came from, and the plan's pose (−1 for none)."""

    rows: npt.NDArray[np.int64]
    side: Array
    pose: int


def poses_from_log(robot: Robot, log: Log) -> StillPoses:
    """Return the poses at rest of a recording.

    Args:
        robot: The arm; its limits tell which poses rest on a stop.
        log: The recording, joints as in ``robot``.

    Raises:
        InputError: The log is another robot's, cannot be used for a fit, or nothing in it stands still and undisturbed.
    """
    log = replace(log, tau=effort_of(robot, log))
    plan = log.declared.notes.get("plan")
    planned = isinstance(plan, Mapping) and bool(plan.get("windows"))
    found = list(_from_plan(log) if planned else _from_stillness(log))
    if not found:
        raise InputError(
            f"the arm stands still nowhere in this recording of {log.time[-1] - log.time[0]:.3g} s; record poses at "
            "rest (counterpoise poses, counterpoise record), or calibrate from the motion: use='moving'"
        )
    measured = np.asarray(np.isfinite(log.tau).any(axis=0))
    wander = np.array([_wander(log.tau[segment.rows]) for segment in found])
    torques = np.where(np.isfinite(log.tau), log.tau, 0.0)
    allowed = np.maximum(WANDERS * np.median(wander, axis=0), WANDER_SHARE * np.ptp(torques, axis=0))
    kept, rejected = [], []
    for segment, size in zip(found, wander, strict=True):
        reason = _reason_against(robot, log, segment, measured, size > allowed)
        if reason:
            begin, end = (float(log.time[segment.rows[at]]) for at in (0, -1))
            rejected.append(Rejected(begin, end, reason))
        else:
            kept.append(segment)
    if not kept:
        raise InputError(
            f"none of the {len(found)} still segments can be used; the first: {rejected[0].reason}. Record the poses "
            "again"
        )
    return StillPoses(
        poses=_poses(robot, log, kept, measured),
        rejected=tuple(rejected),
        planned=planned,
        spans=np.array([log.time[segment.rows[[0, -1]]] for segment in kept]),
    )


def poses_from_rows(robot: Robot, log: Log) -> tuple[StaticPoses, list[str]]:
    """Return the rows of a table as poses at rest, and a note for each row that rests on a joint limit and is left out.

    Args:
        robot: The arm.
        log: The table, joints as in ``robot``.

    Raises:
        InputError: The table is another robot's, cannot be used for a fit, or none of its rows can be used.
    """
    tau = effort_of(robot, log)
    measured = np.isfinite(tau).any(axis=0)
    kept, notes = [], []
    for row, (q, torques) in enumerate(zip(log.q, tau, strict=True)):
        missing = not np.isfinite(q).all() or not np.isfinite(torques[measured]).all()
        stopped = -1 if missing else _at_stop(robot, q)
        if missing:
            notes.append(f"row {row + 1} is left out: a position or a torque is missing")
        elif stopped >= 0:
            notes.append(
                f"row {row + 1} is left out: {robot.joint_names[stopped]} rests at its limit, a stop may carry part of "
                "the load"
            )
        else:
            kept.append(row)
    if not kept:
        raise InputError(f"none of the {len(log)} rows can be used; {notes[0]}")
    poses = static_poses(robot.joint_names, log.q[kept], tau[kept])
    if log.side is None and log.pair is None:
        return poses, notes
    side = np.zeros(poses.q.shape) if log.side is None else log.side[kept]
    pair = _pairs_of_sides(poses.q, side) if log.pair is None else log.pair[kept]
    _refuse_unlike_pairs(poses.q, pair)
    return replace(poses, side=side.astype(np.int64), pair=pair.astype(np.int64)), notes


def _pairs_of_sides(q: Array, side: Array) -> Array:
    """Number the rows at one pose of which some joint was reached from both sides, shape (m,); −1 for the others."""
    place = same_places(q)
    pair = np.full(len(q), -1.0)
    for number in np.unique(place):
        rows = place == number
        if np.any((side[rows] > 0).any(axis=0) & (side[rows] < 0).any(axis=0)):
            pair[rows] = number
    return pair


def _refuse_unlike_pairs(q: Array, pair: Array) -> None:
    """Refuse rows that are declared one pose and are not."""
    for number in np.unique(pair[pair >= 0]):
        rows = np.flatnonzero(pair == number)
        apart = float(np.max(np.ptp(q[rows], axis=0)))
        if apart >= SAME_POSE:
            raise InputError(
                f"the rows of pair {number:.0f} are {apart:.3g} rad or m apart; expected one pose, within {SAME_POSE:g}"
            )


def without_friction(poses: StaticPoses) -> tuple[StaticPoses, bool]:
    """Return the means of the pairs, and whether there were any: friction of either sign is gone from them.

    Without a single pair the poses come back as they are.

    Args:
        poses: Poses, some of them reached from both sides.
    """
    pairs = [np.flatnonzero(poses.pair == number) for number in np.unique(poses.pair[poses.pair >= 0])]
    pairs = [rows for rows in pairs if len(rows) > 1]
    if not pairs:
        return poses, False
    means = {
        name: np.array([_mean_of_sides(getattr(poses, name), poses, rows) for rows in pairs]) for name in ("q", "tau")
    }
    errors = [np.sqrt(np.sum(poses.tau_std[rows] ** 2, axis=0)) / len(rows) for rows in pairs]
    m, n = means["q"].shape
    return (
        StaticPoses(
            poses.joint_names,
            means["q"],
            means["tau"],
            np.array(errors),
            np.zeros((m, n), dtype=np.int64),
            np.full(m, -1, dtype=np.int64),
        ),
        True,
    )


def with_sides_by_order(poses: StaticPoses) -> StaticPoses:
    """Return poses with the sides that they were reached from when they were visited in their order.

    The side of the first one stays unknown. Where the order means nothing, no friction is found by these sides.

    Args:
        poses: Different poses without sides.
    """
    return replace(poses, side=sides_by_order(poses.q, SAME_POSE).astype(np.int64))


def means_of_repeated(poses: StaticPoses) -> tuple[StaticPoses, int]:
    """Return the means of poses that were noted more than once, and how many there are.

    Which of them were reached from which side is unknown; where both sides are among them, friction cancels.

    Args:
        poses: Poses without sides.
    """
    place = same_places(poses.q)
    numbers, counts = np.unique(place, return_counts=True)
    if not np.any(counts > 1):
        return poses, 0
    groups = [np.flatnonzero(place == number) for number in numbers]
    m, n = len(groups), poses.q.shape[1]
    return (
        StaticPoses(
            poses.joint_names,
            np.array([poses.q[rows].mean(axis=0) for rows in groups]),
            np.array([poses.tau[rows].mean(axis=0) for rows in groups]),
            np.array([np.sqrt(np.sum(poses.tau_std[rows] ** 2, axis=0)) / len(rows) for rows in groups]),
            np.zeros((m, n), dtype=np.int64),
            np.full(m, -1, dtype=np.int64),
        ),
        int(np.sum(counts > 1)),
    )


def friction_bands(poses: StaticPoses) -> Array:
    """Return half the difference between the two sides' torques, median over the pairs [N m or N], shape (n,).

    It is positive where friction opposes motion, as it must; NaN for a joint that no pair turned around.
    """
    halves = []
    for number in np.unique(poses.pair[poses.pair >= 0]):
        rows = np.flatnonzero(poses.pair == number)
        up, down = poses.side[rows] > 0, poses.side[rows] < 0
        both = up.any(axis=0) & down.any(axis=0)
        tau = np.nan_to_num(poses.tau[rows])
        with np.errstate(invalid="ignore", divide="ignore"):
            difference = (tau * up).sum(axis=0) / up.sum(axis=0) - (tau * down).sum(axis=0) / down.sum(axis=0)
        halves.append(np.where(both & poses.measured, 0.5 * difference, np.nan))
    if not halves:
        return np.full(len(poses.joint_names), np.nan)
    stacked = np.array(halves)
    known = np.isfinite(stacked).any(axis=0)
    band = np.full(stacked.shape[1], np.nan)
    band[known] = np.nanmedian(stacked[:, known], axis=0)
    return band


def _mean_of_sides(values: Array, poses: StaticPoses, rows: npt.NDArray[np.int64]) -> Array:
    """Return the mean of a pose's rows, each side counting once: three visits from above weigh as much as one."""
    groups: dict[tuple[int, ...], list[Array]] = {}
    for row in rows:
        groups.setdefault(tuple(poses.side[row].tolist()), []).append(values[row])
    return np.asarray(np.mean([np.mean(group, axis=0) for group in groups.values()], axis=0))


def _from_plan(log: Log) -> Iterator[_Segment]:
    """Yield the windows of the plan that the log carries; a joint that did not arrive as planned has no side."""
    elapsed = log.time - log.time[0]
    came: dict[tuple[int, str], Arrival] = {(arrival.pose, arrival.side): arrival for arrival in arrivals(log)}
    usable = np.zeros(len(log), dtype=bool)
    usable[increasing(log.time)] = True
    for window in log.declared.notes["plan"]["windows"]:
        rows = np.flatnonzero(usable & (elapsed >= window["begin"]) & (elapsed < window["end"]))
        arrival = came.get((window["pose"], window["side"]))
        if len(rows) < LEAST_SAMPLES or arrival is None:
            continue
        side = np.full(log.q.shape[1], -1.0 if window["side"] == "above" else 1.0)
        side[arrival.failed] = 0.0
        yield _Segment(rows, side, int(window["pose"]))


def _from_stillness(log: Log) -> Iterator[_Segment]:
    usable = np.zeros(len(log), dtype=bool)
    usable[increasing(log.time)] = True
    for rest in find_rests(log, settle=SETTLE):  # a plan has its own settling time
        if rest.count >= LEAST_SAMPLES:
            yield _Segment(rest.start + np.flatnonzero(usable[rest.start : rest.end]), rest.side, -1)


def _stretches(values: Array) -> Array:
    """Return the means of BLOCKS equal stretches of a segment, NaN where nothing was measured, shape (BLOCKS, n)."""
    edges = np.linspace(0, len(values), BLOCKS + 1).astype(np.int64)
    means = np.full((BLOCKS, values.shape[1]), np.nan)
    for block, (first, last) in enumerate(pairwise(edges.tolist())):
        part = values[first:last]
        counts = np.isfinite(part).sum(axis=0)
        np.divide(np.nan_to_num(part).sum(axis=0), counts, out=means[block], where=counts > 0)
    return means


def _wander(tau: Array) -> Array:
    """Return the range of a segment's stretches, shape (n,); 0 where nothing was measured."""
    means = _stretches(tau)
    known = np.isfinite(means).all(axis=0)
    wander = np.zeros(means.shape[1])
    wander[known] = np.ptp(means[:, known], axis=0)
    return wander


def _reason_against(
    robot: Robot, log: Log, segment: _Segment, measured: npt.NDArray[np.bool_], disturbed: npt.NDArray[np.bool_]
) -> str:
    """Say why a segment must not be used; "" when it may."""
    q, tau = log.q[segment.rows], log.tau[segment.rows]
    names = robot.joint_names
    if not np.isfinite(q).all():
        return f"the position of {names[int(np.argwhere(~np.isfinite(q))[0][1])]} is missing"
    empty = measured & (np.isfinite(tau).sum(axis=0) < LEAST_SAMPLES)
    if empty.any():
        return f"the torque of {names[int(np.flatnonzero(empty)[0])]} is missing"
    drift = np.ptp(_stretches(q), axis=0)
    steps = np.array([resolution(column) for column in q.T])
    creeping = np.flatnonzero(drift > np.maximum(CREEP, 3.0 * steps))
    if len(creeping):
        joint = int(creeping[np.argmax(drift[creeping])])
        return f"{names[joint]} creeps by {drift[joint]:.2g} while it should stand"
    mean = q.mean(axis=0)
    if (joint := _at_stop(robot, mean)) >= 0:
        return f"{names[joint]} rests at its limit ({mean[joint]:.4g}): a stop may carry part of the load"
    if disturbed.any():
        joint = int(np.flatnonzero(disturbed)[0])
        return (
            f"the torque of {names[joint]} wanders by {_wander(tau)[joint]:.2g} while the arm stands, far more than "
            "usual: somebody touched it, or it had not settled"
        )
    return ""


def _at_stop(robot: Robot, q: Array) -> int:
    """Return the joint that rests at a limit of the model, −1 for none."""
    stopped = np.flatnonzero(on_stops(robot, q))
    room = np.minimum(q - robot.lower, robot.upper - q)
    return int(stopped[np.argmin(room[stopped])]) if len(stopped) else -1


def _poses(robot: Robot, log: Log, kept: list[_Segment], measured: npt.NDArray[np.bool_]) -> StaticPoses:
    q, tau, error = [], [], []
    for segment in kept:
        values = log.tau[segment.rows]
        mean, scatter = measured_means(values)
        counts = np.maximum(np.isfinite(values).sum(axis=0), 1)
        error.append(np.where(measured, scatter * np.sqrt(autocorrelation_times(values - mean) / counts), np.nan))
        q.append(log.q[segment.rows].mean(axis=0))
        tau.append(mean)
    side = np.array([segment.side for segment in kept]).astype(np.int64)
    planned = np.array([segment.pose for segment in kept])
    pair = _plan_pairs(planned, side) if np.any(planned >= 0) else _near_pairs(np.array(q), side)
    return StaticPoses(robot.joint_names, np.array(q), np.array(tau), np.array(error), side, pair)


def _plan_pairs(planned: npt.NDArray[np.int64], side: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Number the poses of a plan that were reached from both sides."""
    pair = np.full(len(planned), -1, dtype=np.int64)
    number = 0
    for pose in np.unique(planned):
        rows = np.flatnonzero(planned == pose)
        if np.any(side[rows] > 0) and np.any(side[rows] < 0):
            pair[rows] = number
            number += 1
    return pair


def _near_pairs(q: Array, side: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Number poses that lie within SAME_POSE of each other, follow each other, and were reached from opposite sides."""
    pair = np.full(len(q), -1, dtype=np.int64)
    number = row = 0
    while row + 1 < len(q):
        same = np.all(np.abs(q[row] - q[row + 1]) < SAME_POSE)
        opposite = side[row] * side[row + 1]
        if same and np.any(opposite < 0) and not np.any(opposite > 0):
            pair[row : row + 2] = number
            number += 1
            row += 2
        else:
            row += 1
    return pair
