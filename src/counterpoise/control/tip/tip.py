"""What the laws at a tip share: checked arguments, bounds on wrenches and torques, the tip's state, and paths of a tip.

- Arguments are checked; wrenches and torques are held within bounds without losing their direction.
- ``tip_state``: where a link is, how it moves, and how much mass it shows there.
- ``TipPath``: where a link should be, and how fast it should move, as a function of time. Time counts from the reset of
  the law that follows the path, at the pose the link has then.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from ...dynamics import Robot, numbers
from ...errors import InputError, ModelError
from ...foundation import Array, frozen
from ...sensing import checked_pose
from ..limits import joint_array
from ..reference import PoseList, not_begun


def direction_of(value: npt.ArrayLike, name: str) -> Array:
    """Return ``value`` as a unit vector, shape (3,); InputError where it has no direction."""
    values = numbers(value, name, (3,))
    size = float(np.linalg.norm(values))
    if not size > 1e-9:
        raise InputError(f"{name} is {values.tolist()}; expected a direction")
    return frozen(values / size)


def number_of(value: float, name: str, unit: str, *, zero: bool = False) -> float:
    """Return ``value`` as a finite number above 0, or from 0; InputError otherwise."""
    is_number = isinstance(value, int | float | np.floating) and not isinstance(value, bool)
    if not is_number or not (math.isfinite(value) and (value >= 0.0 if zero else value > 0.0)):
        raise InputError(f"{name} is {value!r}; expected a number {'from' if zero else 'above'} 0 [{unit}]")
    return float(value)


def square_of(value: npt.ArrayLike, name: str) -> Array:
    """Return six numbers or a symmetric matrix without a negative direction as a (6, 6) array.

    Raises:
        InputError: It is neither.
    """
    try:
        values = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} is not an array of numbers: {error}") from error
    if values.shape == (6,):
        values = np.diag(values)
    if values.shape != (6, 6) or not np.all(np.isfinite(values)):
        raise InputError(f"{name} has shape {values.shape}; expected six finite numbers or a (6, 6) matrix")
    size = max(float(np.abs(values).max()), 1e-300)
    if np.abs(values - values.T).max() > 1e-9 * size or np.linalg.eigvalsh(values).min() < -1e-9 * size:
        raise InputError(f"{name} must be symmetric with no negative eigenvalue: anything else feeds energy to the arm")
    return frozen(0.5 * (values + values.T))


def torque_bound(robot: Robot, bound: npt.ArrayLike | None, fraction: float) -> Array:
    """Return the largest joint torques that a law may ask for beyond gravity [N m or N], shape (n,).

    Args:
        robot: The arm.
        bound: The bound itself, one or n; None for ``fraction`` of the effort limits.
        fraction: Fraction of the effort limits.

    Raises:
        InputError: An entry is not positive and finite: the robot has no effort limit and none is given.
    """
    torques = fraction * robot.effort_limit if bound is None else joint_array(bound, "torque_limit", robot.joint_names)
    bad = np.flatnonzero(~((torques > 0.0) & np.isfinite(torques)))
    if bad.size:
        raise InputError(
            f"joint '{robot.joint_names[int(bad[0])]}': torque_limit is {torques[bad[0]]:g}; expected a positive "
            "number [N m or N]. A robot without effort limits needs it from you: torque_limit=..."
        )
    return frozen(torques)


def within(tau: Array, bound: Array) -> float:
    """Return the largest factor up to 1 by which ``tau`` stays within ±bound at every joint."""
    over = float(np.max(np.abs(tau) / bound, initial=0.0))
    return 1.0 if over <= 1.0 else 1.0 / over


def shortened(vector: Array, most: float) -> Array:
    """Return ``vector``, shortened to length ``most`` where it is longer."""
    size = math.sqrt(float(vector @ vector))
    return vector if size <= most else vector * (most / size)


LEVER = 0.2
"""Length that makes rotations comparable with displacements [m]: about that of a hand."""
SCALE = np.array([1.0, 1.0, 1.0, LEVER, LEVER, LEVER])
"""What a twist is multiplied by before its entries are compared: all in m/s then."""
MOST_MASS = 50.0
"""A direction that seems heavier than this counts as this heavy [kg]: at a singularity the arm cannot move at all."""


class TipState(NamedTuple):
    """A link at one instant, base frame.

    Attributes:
        position: Its origin [m], shape (3,).
        rotation: R_base_link, shape (3, 3).
        jacobian: Linear rows first, at its origin, shape (6, n).
        twist: Velocity and angular velocity [m/s, rad/s], shape (6,).
    """

    position: Array
    rotation: Array
    jacobian: Array
    twist: Array


def tip_state(robot: Robot, q: Array, dq: Array, at: str) -> TipState:
    """Return the state of a link.

    Args:
        robot: The arm.
        q: Positions [rad or m], shape (n,).
        dq: Velocities [rad/s or m/s], shape (n,).
        at: The link.
    """
    T = robot.forward_kinematics(q, at=at)
    J = robot.jacobian(q, at=at)
    return TipState(T[:3, 3], T[:3, :3], J, J @ dq)


def task_inertia(jacobian: Array, mass: Array) -> tuple[Array, Array]:
    """Return (A, masses) with Λ = A diag(masses) Aᵀ, shapes (6, 6) and (6,): the inertia that the tip shows.

    Λ = (J M⁻¹ Jᵀ)⁻¹ ([Khatib1987]), taken in coordinates where rotations count with LEVER. Near a singularity
    an eigenvalue grows without bound and is cut at MOST_MASS, so Λ stays finite.

    Args:
        jacobian: Shape (6, n).
        mass: M, shape (n, n).

    Raises:
        ModelError: The arm's inertias leave a joint without any.
    """
    scaled = SCALE[:, None] * jacobian
    try:
        mobility, axes = np.linalg.eigh(scaled @ np.linalg.solve(mass, scaled.T))
    except np.linalg.LinAlgError as error:
        raise ModelError(f"the mass matrix cannot be inverted ({error}); give every moving link an inertia") from error
    masses = 1.0 / np.maximum(mobility, 1.0 / MOST_MASS)
    return SCALE[:, None] * axes, masses


_REST = frozen(np.zeros(6))


class TipDesired(NamedTuple):
    """What a law should bring about.

    Attributes:
        pose: T_base_link, shape (4, 4).
        twist: Velocity and angular velocity, base axes [m/s, rad/s], shape (6,).
    """

    pose: Array
    twist: Array


@runtime_checkable
class TipPath(Protocol):
    """A path of a tip."""

    def reset(self, pose: Array) -> None:
        """Begin at time 0 with the link at ``pose``, T_base_link, shape (4, 4)."""
        ...

    def at(self, time: float) -> TipDesired:
        """Return what is desired ``time`` seconds after the reset."""
        ...


class FixedPose:
    """Stay at a pose."""

    def __init__(self, pose: npt.ArrayLike | None = None) -> None:
        """Stay at ``pose``, T_base_link, shape (4, 4); None for where the link is when the law starts."""
        self._fixed = None if pose is None else checked_pose(pose, "pose")
        self._pose = self._fixed

    def reset(self, pose: Array) -> None:
        """Begin with the link at ``pose``."""
        self._pose = frozen(pose) if self._fixed is None else self._fixed

    def at(self, time: float) -> TipDesired:
        """Return the pose, at rest."""
        if self._pose is None:
            raise not_begun()
        return TipDesired(self._pose, _REST)


class Straight:
    """Go along straight lines from where the link is, each with minimum jerk, the link's orientation kept."""

    def __init__(self, steps: Sequence[npt.ArrayLike], *, speed: float, dwell: float = 0.0) -> None:
        """Go through points and stay at the last.

        Args:
            steps: Way from each point to the next, base axes [m], each of shape (3,).
            speed: Largest speed along each axis [m/s].
            dwell: Time to stay at each point [s].
        """
        if len(steps) == 0:
            raise InputError("there are no steps; give at least one")
        moves = [numbers(step, f"steps[{index}]", (3,)) for index, step in enumerate(steps)]
        self._moves = PoseList(list(np.cumsum(moves, axis=0)), speed=number_of(speed, "speed", "m/s"), dwell=dwell)
        self._start: Array | None = None

    @property
    def duration(self) -> float:
        """Time until the last point has been held for the dwell time [s]; known after the reset."""
        return self._moves.duration

    def reset(self, pose: Array) -> None:
        """Begin with the link at ``pose``."""
        self._start = frozen(pose)
        self._moves.reset(np.zeros(3))

    def at(self, time: float) -> TipDesired:
        """Return pose and twist ``time`` seconds after the reset."""
        if self._start is None:
            raise not_begun()
        moved, speed = self._moves.at(time)
        pose = self._start.copy()
        pose[:3, 3] += moved
        return TipDesired(pose, np.concatenate([speed, np.zeros(3)]))
