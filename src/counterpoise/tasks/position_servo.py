r"""Position servos: their stiffness, from a recording of goals and where joints came to rest, and goals against droop.

A position servo without integral action holds its load by standing off its goal. At rest, per joint,

.. math:: \mathrm{goal} - q = \frac{g(q)}{K_p} + b + s\,\frac{F_c}{K_p} + \varepsilon

with b what the zeros of goal and sensor differ by, and s = ±1 the side from which the joint came: friction holds it
back there. 1/K_p, b and, where a joint came from both sides, F_c/K_p follow by least squares over the poses at rest.

``ServoGoal`` makes up for the droop of position-only servos: goal = q_d + g(q_d) / K_p.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..control import joint_array
from ..dynamics import Robot, as_rows
from ..errors import InputError, listed
from ..foundation import Array, frozen
from ..recording import SETTLE, Log, Rest, find_rests

SURE = 0.2
"""A stiffness whose relative standard deviation is greater is not known."""
GOAL_MOVES = 1e-3
"""A goal that moves by more while the joint stands is no goal of that standing [rad or m]: the joint is stuck."""
MOST_DROOP = 0.4
"""A joint whose distance from its goal changes by more from pose to pose does not droop [rad or m]: goal and position
are of two signs, units or joints. ServoGoal offsets by half of it at most."""
WEIGHTLESS = 1e-9
"""A joint whose gravity torque stays below this share of the robot's largest carries no weight in any pose."""


@dataclass(frozen=True, slots=True, eq=False)
class ServoStiffness:
    """Stiffness of position servos, arrays of shape (n,).

    Attributes:
        joint_names: Names of the n joints.
        kp: K_p [N m/rad or N/m]; +inf for a joint that carries no weight in any pose: its goal needs no offset.
        kp_std: Standard deviation of it; 0 where it was given or is +inf.
        friction: F_c [N m or N] by the two sides; NaN where a joint came from one side only.
        offset: b, goal minus position without load [rad or m]; 0 where K_p was given or is +inf.
        residual: What is left of goal minus position, rms [rad or m].
        poses: How many poses at rest counted, whole numbers.
    """

    joint_names: tuple[str, ...]
    kp: Array
    kp_std: Array
    friction: Array
    offset: Array
    residual: Array
    poses: npt.NDArray[np.int64]

    def as_data(self) -> dict[str, Any]:
        """Return everything as plain values that JSON can hold, per joint; None for +inf and NaN."""
        return {
            name: {
                "kp": _plain(self.kp[joint]),
                "kp_std": _plain(self.kp_std[joint]),
                "friction": _plain(self.friction[joint]),
                "offset": _plain(self.offset[joint]),
                "residual": _plain(self.residual[joint]),
                "poses": int(self.poses[joint]),
            }
            for joint, name in enumerate(self.joint_names)
        }


def identify_stiffness(
    robot: Robot,
    log: Log,
    *,
    goal: npt.ArrayLike | None = None,
    known: Mapping[str, float] | None = None,
    settle: float = SETTLE,
) -> ServoStiffness:
    """Find the stiffness of every joint's position servo.

    Record a dozen poses or more that load every joint differently, each held for a second; come to them from both sides
    where friction matters. No integral action, and nothing else that offsets the goals, may be on.

    Args:
        robot: The arm, payload included: its g(q) is the load.
        log: The recording, positions on the link side. Its ``sent`` holds the goals where ``declared.sent_kind`` is
            "position".
        goal: Or the goals themselves, in the order of the log's samples [rad or m], shape (k, n).
        known: Stiffness of joints that are known already [N m/rad or N/m]; they are not looked for.
        settle: Time cut off at the beginning of each standing [s].

    Raises:
        InputError: The recording cannot be used, or some joints' stiffness is not identifiable; they are named.
    """
    goals = _goals(robot, log, goal)
    given = _known(robot, known)
    segments = find_rests(log, settle=settle)
    if not segments:
        raise InputError("the arm stands still nowhere in this recording; hold each pose for a second")
    parts = [_Joint.of(robot, log, goals, segments, joint) for joint in range(robot.n)]
    largest = _largest_gravity(robot)
    n = robot.n
    values = {name: np.zeros(n) for name in ("kp", "kp_std", "offset", "residual")}
    friction, poses = np.full(n, np.nan), np.zeros(n, dtype=np.int64)
    reasons: list[str] = []
    for joint, name in enumerate(robot.joint_names):
        if name in given:
            values["kp"][joint] = given[name]
        elif largest[joint] <= WEIGHTLESS * max(float(largest.max()), 1e-300):
            values["kp"][joint] = math.inf
        else:
            found = parts[joint].solved()
            if isinstance(found, str):
                reasons.append(f"joint '{name}': {found}")
                continue
            for key, column in values.items():
                column[joint] = found[key]
            friction[joint], poses[joint] = found["friction"], len(parts[joint].load)
    if reasons:
        raise InputError(
            f"the stiffness of {len(reasons)} joint(s) does not show in this recording: {'; '.join(reasons)}. Give "
            "what is known from elsewhere as known={name: stiffness}"
        )
    return ServoStiffness(
        robot.joint_names,
        frozen(values["kp"]),
        frozen(values["kp_std"]),
        frozen(friction),
        frozen(values["offset"]),
        frozen(values["residual"]),
        poses,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Joint:
    """One joint at rest: load g [N m or N], goal − q [rad or m], side it came from (±1, 0); shape (m,) each."""

    load: Array
    stands_off: Array
    side: Array

    @staticmethod
    def of(robot: Robot, log: Log, goals: Array, segments: tuple[Rest, ...], joint: int) -> _Joint:
        rows: list[tuple[float, float, float]] = []
        for segment in segments:
            held = goals[segment.start : segment.end, joint]
            if not np.isfinite(held).all() or np.ptp(held) > GOAL_MOVES:
                continue
            load = float(robot.gravity(segment.q)[joint])
            rows.append((load, float(held.mean() - segment.q[joint]), float(segment.side[joint])))
        table = np.array(rows).reshape(-1, 3)
        return _Joint(table[:, 0], table[:, 1], table[:, 2])

    def solved(self) -> dict[str, float] | str:
        """Return the joint's numbers, or why they cannot be told."""
        both = bool((self.side > 0).any() and (self.side < 0).any())
        columns = [self.load, np.ones(len(self.load))] + ([self.side] if both else [])
        if len(self.load) < len(columns) + 2:
            return f"only {len(self.load)} poses at rest with a steady goal; expected at least {len(columns) + 2}"
        spread = float(np.ptp(self.stands_off))
        if spread > MOST_DROOP:
            return (
                f"its distance from the goal changes by {spread:.3g} rad or m from pose to pose, too much for a "
                "droop under load; check that goals have the sign, unit and joint order of the positions"
            )
        A = np.column_stack(columns)
        scale = np.maximum(np.linalg.norm(A, axis=0), 1e-300)
        if np.linalg.cond(A / scale) > 1e6:
            return f"its load changes by only {np.ptp(self.load):.3g} N m or N; take poses that load it differently"
        x = np.linalg.lstsq(A / scale, self.stands_off, rcond=None)[0] / scale
        left = self.stands_off - A @ x
        variance = float(left @ left) / (len(left) - A.shape[1])
        std = np.sqrt(variance * np.diag(np.linalg.inv((A / scale).T @ (A / scale)))) / scale
        compliance, unsure = float(x[0]), float(std[0])
        if compliance < -2.0 * unsure:
            return (
                f"it leaves its goal against the direction of its load ({compliance:.3g} ± {unsure:.2g} rad or m per "
                "N m or N); check the sign of goal, position and gravity"
            )
        if not compliance > 0.0 or unsure > SURE * compliance:
            return (
                f"its compliance of {compliance:.3g} ± {unsure:.2g} rad or m per N m or N is too uncertain; take more "
                "poses that load it differently, from both sides"
            )
        kp = 1.0 / compliance
        return {
            "kp": kp,
            "kp_std": unsure * kp**2,
            "offset": float(x[1]),
            "friction": float(x[2]) * kp if both else math.nan,
            "residual": math.sqrt(float(left @ left) / len(left)),
        }


def _goals(robot: Robot, log: Log, goal: npt.ArrayLike | None) -> Array:
    if log.joint_names != robot.joint_names:
        raise InputError(f"the log's joints {list(log.joint_names)} are not the robot's {list(robot.joint_names)}")
    if log.declared.position_side == "motor":
        raise InputError("the log's positions are on the motor side; the load's droop is on the link side")
    if goal is not None:
        try:
            given = np.asarray(goal, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"goal is not an array of numbers: {error}") from error
        if given.shape != log.q.shape:
            raise InputError(f"goal has shape {given.shape}; expected that of the log's positions, {log.q.shape}")
        return given
    if log.sent is None or log.declared.sent_kind != "position":
        raise InputError(
            "the log does not say where the servos' goals are: give goal=, or a log whose declared.sent_kind is "
            "'position'"
        )
    return log.sent


def _known(robot: Robot, known: Mapping[str, float] | None) -> dict[str, float]:
    given = dict(known or {})
    for name, value in given.items():
        if name not in robot.joint_names:
            raise InputError(f"known: there is no joint '{name}'; the joints are {listed(robot.joint_names)}")
        if not (math.isfinite(value) and value > 0.0):
            raise InputError(f"known['{name}'] is {value!r}; expected a stiffness above 0 [N m/rad or N/m]")
    return given


def _largest_gravity(robot: Robot, count: int = 64) -> Array:
    """Return the largest |g| of each joint over random poses [N m or N], shape (n,)."""
    lower, upper = np.maximum(robot.lower, -math.pi), np.minimum(robot.upper, math.pi)
    poses = np.random.default_rng(0).uniform(lower, upper, (count, robot.n))
    return np.asarray(np.abs(robot.gravity(poses)).max(axis=0))


def _plain(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


LARGEST = 0.2
"""Default largest offset [rad or m]: a servo that droops more is too soft, or its stiffness is wrong."""


class ServoGoal:
    """Offsets goals so that servos come to rest where they should.

    A servo of stiffness K_p exerts K_p (goal − q); at q = q_d that is g(q_d) exactly, so the droop vanishes but for
    friction and for errors of model and stiffness. Nothing is measured at run time: the offset cannot run away.

    Attributes:
        robot: The arm, payload included.
        kp: Stiffness K_p [N m/rad or N/m], shape (n,); +inf for joints that need no offset.
        largest: Largest offset [rad or m], shape (n,).
        bounded: Which joints' goals were cut in the last call, by the largest offset or by the position limits.
    """

    def __init__(
        self, robot: Robot, stiffness: ServoStiffness | npt.ArrayLike, *, largest: npt.ArrayLike = LARGEST
    ) -> None:
        """Make the offsets.

        Args:
            robot: The arm, payload included.
            stiffness: What :func:`identify_stiffness` found, or K_p itself, shape (n,), above 0. The zeros that it
                found to differ are made up for too.
            largest: Largest offset [rad or m], one or n.

        Raises:
            InputError: A stiffness that is not positive, or another robot's.
        """
        self.robot = robot
        if isinstance(stiffness, ServoStiffness):
            if stiffness.joint_names != robot.joint_names:
                raise InputError(
                    f"the stiffness is for joints {list(stiffness.joint_names)}, not {list(robot.joint_names)}"
                )
            kp, zero = stiffness.kp, stiffness.offset
        else:
            kp, zero = frozen(joint_array(stiffness, "stiffness", robot.joint_names)), frozen(np.zeros(robot.n))
        bad = np.flatnonzero(~(kp > 0.0))
        if bad.size:
            raise InputError(
                f"joint '{robot.joint_names[int(bad[0])]}': stiffness is {kp[bad[0]]:g}; expected a number above 0 "
                "[N m/rad or N/m]: with the other sign the offset would double the droop"
            )
        self.kp, self._zero = kp, zero
        self.largest = frozen(joint_array(largest, "largest", robot.joint_names))
        if not np.all(self.largest >= 0.0):
            raise InputError(f"largest is {self.largest.tolist()}; expected offsets from 0 [rad or m]")
        self.bounded = np.zeros(robot.n, dtype=bool)

    def with_robot(self, robot: Robot) -> ServoGoal:
        """Return the offsets for the arm with another payload."""
        other = ServoGoal(robot, self.kp, largest=self.largest)
        other._zero = self._zero
        return other

    def goal(self, q_desired: npt.ArrayLike) -> Array:
        """Return the goals to send [rad or m], shape (n,).

        Args:
            q_desired: Where the joints should come to rest [rad or m], shape (n,).

        Raises:
            InputError: It is no pose.
        """
        desired = as_rows(q_desired, "q_desired", self.robot.joint_names)
        if desired.ndim != 1:
            raise InputError(f"q_desired has shape {desired.shape}; expected ({self.robot.n},)")
        offset = self.robot.gravity(desired) / self.kp + self._zero
        wanted = desired + np.clip(offset, -self.largest, self.largest)
        # A pose outside the limits is the caller's business; the offset at least never leaves them.
        lower, upper = np.minimum(self.robot.lower, desired), np.maximum(self.robot.upper, desired)
        goal = np.clip(wanted, lower, upper)
        self.bounded = np.asarray((np.abs(offset) > self.largest) | (goal != wanted))
        return goal
