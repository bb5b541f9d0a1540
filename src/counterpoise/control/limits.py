"""Limits of a run: the robot's unless given, tightened by the plant's; an unknown or forbidding limit is refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..dynamics import MAX_INPUT, Robot
from ..errors import InputError
from ..foundation import Array, PublishedData, frozen
from .plant import Plant

RISE_TIME = 0.1
"""Default rate limit: from zero to the effort limit in this time [s] (Franka's is 87 N m in 87 ms)."""
RANGE_SHARE = 0.05
"""The margin around position limits is at most this share of the joint's range."""


class WiderLimit(NamedTuple):
    """A limit that exceeds another one: its joint, and which limit it is in words."""

    joint: str
    limit: str


@dataclass(frozen=True, slots=True, eq=False)
class Limits(PublishedData):
    """What samples and torques of a run are held against; arrays of shape (n,).

    Attributes:
        joint_names: Names of the n joints.
        lower: Lower position limits [rad or m]; −inf where none.
        upper: Upper position limits [rad or m]; +inf where none.
        velocity: Largest speeds [rad/s or m/s], above 0; +inf only where given so.
        effort: Largest torques [N m or N], finite.
        rate: Fastest change of torque [N m/s or N/s], finite and above 0.
    """

    joint_names: tuple[str, ...]
    lower: Array
    upper: Array
    velocity: Array
    effort: Array
    rate: Array

    def widened(self, margin: float) -> tuple[Array, Array]:
        """Return lower and upper limits with a margin [rad or m], at most 5 % of each joint's range."""
        margins = np.minimum(margin, RANGE_SHARE * (self.upper - self.lower))
        return self.lower - margins, self.upper + margins

    def first_wider(self, effort: Array, velocity: Array, lower: Array, upper: Array) -> WiderLimit | None:
        """Return the first limit that is not within others, shape (n,) each; None where all are. NaN is within none."""
        pairs = (
            ("effort limit", self.effort, effort),
            ("speed limit", self.velocity, velocity),
            ("upper limit", self.upper, upper),
            ("lower limit", -self.lower, np.negative(lower)),
        )
        for limit, ours, theirs in pairs:
            if (over := np.flatnonzero(~(ours <= theirs))).size:
                return WiderLimit(self.joint_names[int(over[0])], limit)
        return None


def resolve_limits(
    robot: Robot,
    plant: Plant | None = None,
    *,
    effort_limit: npt.ArrayLike | None = None,
    velocity_limit: npt.ArrayLike | None = None,
    rate_limit: npt.ArrayLike | None = None,
    lower: npt.ArrayLike | None = None,
    upper: npt.ArrayLike | None = None,
) -> Limits:
    """Return the limits that hold: what is given, else the robot's; a plant's own are never exceeded.

    Args:
        robot: The arm.
        plant: What will be driven, if known.
        effort_limit: Torques [N m or N]; 0 forbids a joint, infinity is refused.
        velocity_limit: Speeds [rad/s or m/s]; infinity, given so, switches the check off.
        rate_limit: Changes of torque [N m/s or N/s]; by default the effort limit in 0.1 s.
        lower: Positions [rad or m].
        upper: Positions [rad or m].

    Raises:
        InputError: A limit has the wrong shape or sign, or the model leaves it open or zero and none is given.
    """
    names = robot.joint_names
    if plant is not None and tuple(plant.joint_names) != names:
        raise InputError(
            f"the plant's joints {list(plant.joint_names)} are not the robot's {list(names)}; names and order must be "
            "the same"
        )
    effort = robot.effort_limit if effort_limit is None else joint_array(effort_limit, "effort_limit", names)
    velocity = robot.velocity_limit if velocity_limit is None else joint_array(velocity_limit, "velocity_limit", names)
    below = robot.lower if lower is None else joint_array(lower, "lower", names)
    above = robot.upper if upper is None else joint_array(upper, "upper", names)
    if plant is not None:
        # A NaN or a shape of its own in a driver's limits would otherwise slip through and bound nothing.
        own = {
            name: joint_array(getattr(plant, name), f"the plant's {name}", names)
            for name in ("effort_limit", "velocity_limit", "lower", "upper")
        }
        effort, velocity = np.minimum(effort, own["effort_limit"]), np.minimum(velocity, own["velocity_limit"])
        below, above = np.maximum(below, own["lower"]), np.minimum(above, own["upper"])
    _refuse_open("effort_limit", "N m or N", effort, names, open_is_given=False, zero_is_given=effort_limit is not None)
    _refuse_open("velocity_limit", "rad/s or m/s", velocity, names, open_is_given=velocity_limit is not None)
    if (wrong := np.flatnonzero(~(below <= above))).size:
        joint = int(wrong[0])
        raise InputError(f"joint '{names[joint]}': lower {below[joint]:g} must not exceed upper {above[joint]:g}")
    if rate_limit is None:
        rate = np.where(effort > 0.0, effort, 1.0) / RISE_TIME  # a forbidden joint stays at 0 whatever its rate
    else:
        rate = joint_array(rate_limit, "rate_limit", names)
        _refuse_open("rate_limit", "N m/s or N/s", rate, names, open_is_given=False)
    return Limits(names, frozen(below), frozen(above), frozen(velocity), frozen(effort), frozen(rate))


def joint_array(value: npt.ArrayLike, name: str, joint_names: tuple[str, ...]) -> Array:
    """Return a number or n numbers as a float64 array of shape (n,).

    Raises:
        InputError: It is neither, or holds NaN.
    """
    try:
        given = np.asarray(value)
    except ValueError as error:
        raise InputError(f"{name} is not a rectangular array: {error}") from error
    if given.dtype.kind not in "fiu" or given.shape not in ((), (len(joint_names),)):
        raise InputError(
            f"{name} is {given.dtype} of shape {given.shape}; expected one number or {len(joint_names)}, one per joint"
        )
    array = np.array(np.broadcast_to(given, (len(joint_names),)), dtype=np.float64)
    if (wrong := np.flatnonzero(np.isnan(array))).size:
        raise InputError(f"{name}['{joint_names[int(wrong[0])]}'] is NaN; expected a number")
    return array


def _refuse_open(
    name: str,
    unit: str,
    values: Array,
    joint_names: tuple[str, ...],
    *,
    open_is_given: bool,
    zero_is_given: bool = False,
) -> None:
    """Refuse limits that bound nothing or allow nothing, unless they were given so on purpose."""
    for joint, value in zip(joint_names, values.tolist(), strict=True):
        if not value >= 0.0 or (value == 0.0 and not zero_is_given):  # NaN is refused too
            raise InputError(
                f"joint '{joint}': {name} is {value:g}; expected a positive number [{unit}]. A model without the real "
                f"limit needs it from you: {name}=..."
            )
        if value > MAX_INPUT and not open_is_given:
            raise InputError(
                f"joint '{joint}': {name} is {value:g}, that is unknown; no torque is sent without a limit. Give "
                f"{name}= [{unit}]" + (" (infinity there switches the check off)" if name == "velocity_limit" else "")
            )
