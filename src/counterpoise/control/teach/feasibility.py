"""Whether an arm can follow a motion: the first instant and joint where it could not, and what would help."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...calibration.clearance import Clearance, clear_of_itself, clear_of_table
from ...description.frozen import Array, frozen
from ...dynamics.joint_units import effort_units, position_units
from ...dynamics.robot import Robot
from ...friction.law import FrictionLaw
from ..limits import Limits
from .motion import Motion

STEP = 0.005
"""Time between two instants that are checked [s] ..."""
MOST_INSTANTS = 200_000
"""... unless there would be more than this."""
CLEARANCE_STEP = 0.02
"""Time between two instants at which collisions are looked for [s]."""
SLOWEST = 0.01
"""Lowest speed that is tried."""

What = Literal["position", "speed", "acceleration", "effort", "clearance"]


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """What a motion is held against; arrays of shape (n,).

    Attributes:
        lower: Lowest positions [rad or m].
        upper: Highest positions [rad or m].
        speed: Largest speeds [rad/s or m/s].
        acceleration: Largest accelerations [rad/s² or m/s²].
        effort: Largest torques [N m or N].
        clearance: What to keep clear of; None checks no collisions.
    """

    lower: Array
    upper: Array
    speed: Array
    acceleration: Array
    effort: Array
    clearance: Clearance | None = None

    @staticmethod
    def of(
        limits: Limits,
        *,
        margin: Array,
        speed_share: float,
        effort_share: float,
        acceleration: Array,
        clearance: Clearance | None,
    ) -> Bounds:
        """Return bounds inside the limits of an arm; see control.teach.plan.PlanSettings for the arguments."""
        # A joint with a range of a few margins keeps most of it.
        kept = np.minimum(margin, 0.02 * (limits.upper - limits.lower))
        return Bounds(
            frozen(limits.lower + kept),
            frozen(limits.upper - kept),
            frozen(speed_share * limits.velocity),
            frozen(acceleration),
            frozen(effort_share * limits.effort),
            clearance,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Demands:
    """What a motion asks of an arm at every instant that was checked.

    Attributes:
        time: Times after the motion's beginning [s], shape (k,).
        q: Positions [rad or m], shape (k, n).
        dq: Velocities [rad/s or m/s], shape (k, n).
        ddq: Accelerations [rad/s² or m/s²], shape (k, n).
        torque: M q̈ + C q̇ + g + J_m q̈ + friction [N m or N], shape (k, n).
    """

    time: Array
    q: Array
    dq: Array
    ddq: Array
    torque: Array


@dataclass(frozen=True, slots=True)
class Offence:
    """The first instant at which an arm could not follow.

    Attributes:
        time: When [s after the motion's beginning].
        joint: Index of the joint; None for a collision.
        what: Which bound is exceeded.
        found: What the motion asks for there.
        bound: What is allowed.
    """

    time: float
    joint: int | None
    what: What
    found: float
    bound: float

    @property
    def slower_helps(self) -> bool:
        """Whether the bound may hold at a lower speed."""
        return self.what in ("speed", "acceleration", "effort")

    def text(self, robot: Robot) -> str:
        """Return it in words."""
        if self.joint is None:
            return f"at {self.time:.2f} s links come nearer to each other or to the table than they may"
        name, unit = robot.joint_names[self.joint], position_units(robot)[self.joint]
        units = {"position": unit, "speed": f"{unit}/s", "acceleration": f"{unit}/s²"}
        unit = units.get(self.what, effort_units(robot)[self.joint])
        verb = {"position": "goes to", "speed": "needs a speed of", "acceleration": "needs an acceleration of"}
        need = verb.get(self.what, "needs an effort of")
        margin = "" if self.what == "acceleration" else "with its margin "
        return (
            f"at {self.time:.2f} s joint '{name}' {need} {self.found:.4g} {unit}; {margin}{self.bound:.4g} {unit} is "
            "allowed"
        )


def demands(robot: Robot, motion: Motion, friction: FrictionLaw | None = None) -> Demands:
    """Return what a motion asks of an arm.

    Args:
        robot: The arm, payload included.
        motion: The motion.
        friction: Friction of the joints; None leaves it out.
    """
    count = min(max(math.ceil(motion.duration / STEP), 2), MOST_INSTANTS)
    time = np.linspace(0.0, motion.duration, count + 1)
    q, dq, ddq = motion.at(time)
    torque = robot.inverse_dynamics(q, dq, ddq) + robot.rotor_inertia * ddq
    if friction is not None:
        torque = torque + friction.torque(dq)
    return Demands(time, q, dq, ddq, torque)


def first_offence(robot: Robot, asked: Demands, bounds: Bounds) -> Offence | None:
    """Return the first instant at which a bound is exceeded; None where none is.

    Args:
        robot: The arm.
        asked: What the motion asks for.
        bounds: What is allowed.
    """
    beyond = np.maximum(bounds.lower - asked.q, asked.q - bounds.upper)
    checks: tuple[tuple[What, Array, Array], ...] = (
        ("position", asked.q, np.where(asked.q < bounds.lower, bounds.lower, bounds.upper)),
        ("speed", np.abs(asked.dq), bounds.speed),
        ("acceleration", np.abs(asked.ddq), bounds.acceleration),
        ("effort", np.abs(asked.torque), bounds.effort),
    )
    found: list[Offence] = []
    for what, values, bound in checks:
        excess = beyond if what == "position" else values - bound
        over = ~(excess <= 0.0)  # true for NaN too: what cannot be judged is not allowed
        if over.any():
            row = int(np.argmax(over.any(axis=1)))
            full = np.broadcast_to(bound, values.shape)
            shares = np.full(robot.n, -np.inf)
            shares[over[row]] = excess[row, over[row]] / np.maximum(np.abs(full[row, over[row]]), 1e-9)
            joint = int(np.argmax(shares))
            time = float(asked.time[row])
            found.append(Offence(time, joint, what, float(values[row, joint]), float(full[row, joint])))
    if bounds.clearance is not None and (at := _first_contact(robot, asked, bounds.clearance)) is not None:
        found.append(Offence(at, None, "clearance", 0.0, bounds.clearance.radius))
    return min(found, key=lambda offence: offence.time, default=None)


def feasible_speed(check: Callable[[float], bool], speed: float) -> float | None:
    """Return a speed below ``speed`` that passes, within about 2 % of the largest, rounded down; None for none.

    Args:
        check: Says whether a speed passes.
        speed: A speed that does not.
    """
    above, below = speed, 0.8 * speed
    while not check(below):
        above, below = below, 0.8 * below
        if below < SLOWEST:
            return None
    while above - below > 0.02 * above:
        middle = 0.5 * (above + below)
        above, below = (above, middle) if check(middle) else (middle, below)
    digits = max(0, 1 - math.floor(math.log10(below)))
    rounded = math.floor(below * 10**digits) / 10**digits
    return rounded if check(rounded) else below


def _first_contact(robot: Robot, asked: Demands, clearance: Clearance) -> float | None:
    every = max(1, round(CLEARANCE_STEP / max(float(asked.time[1] - asked.time[0]), 1e-9)))
    rows = np.unique(np.append(np.arange(0, len(asked.time), every), len(asked.time) - 1))
    clear = clear_of_itself(robot, asked.q[rows], clearance) & clear_of_table(robot, asked.q[rows], clearance)
    return None if clear.all() else float(asked.time[rows[int(np.argmin(clear))]])
