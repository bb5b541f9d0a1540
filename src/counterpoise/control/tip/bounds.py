"""Arguments of the laws at the tip, checked; wrenches and torques held within bounds without losing their direction."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ...description.frozen import Array, frozen
from ...dynamics.inputs import numbers
from ...dynamics.robot import Robot
from ...errors import InputError
from ..limits import joint_array


def direction_of(value: npt.ArrayLike, name: str) -> Array:
    """Return ``value`` as a unit vector, shape (3,); InputError where it has no direction."""
    given = numbers(value, name, (3,))
    size = float(np.linalg.norm(given))
    if not size > 1e-9:
        raise InputError(f"{name} is {given.tolist()}; expected a direction")
    return frozen(given / size)


def number_of(value: float, name: str, unit: str, *, zero: bool = False) -> float:
    """Return ``value`` as a finite number above 0, or from 0; InputError otherwise."""
    given = isinstance(value, int | float | np.floating) and not isinstance(value, bool)
    if not given or not (math.isfinite(value) and (value >= 0.0 if zero else value > 0.0)):
        raise InputError(f"{name} is {value!r}; expected a number {'from' if zero else 'above'} 0 [{unit}]")
    return float(value)


def square_of(value: npt.ArrayLike, name: str) -> Array:
    """Return six numbers or a symmetric matrix without a negative direction as a (6, 6) array.

    Raises:
        InputError: It is neither.
    """
    try:
        given = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} is not an array of numbers: {error}") from error
    if given.shape == (6,):
        given = np.diag(given)
    if given.shape != (6, 6) or not np.all(np.isfinite(given)):
        raise InputError(f"{name} has shape {given.shape}; expected six finite numbers or a (6, 6) matrix")
    size = max(float(np.abs(given).max()), 1e-300)
    if np.abs(given - given.T).max() > 1e-9 * size or np.linalg.eigvalsh(given).min() < -1e-9 * size:
        raise InputError(f"{name} must be symmetric with no negative eigenvalue: anything else feeds energy to the arm")
    return frozen(0.5 * (given + given.T))


def torque_bound(robot: Robot, given: npt.ArrayLike | None, share: float) -> Array:
    """Return the largest joint torques that a law may ask for beyond gravity [N m or N], shape (n,).

    Args:
        robot: The arm.
        given: The bound itself, one or n; None for ``share`` of the effort limits.
        share: Share of the effort limits.

    Raises:
        InputError: An entry is not positive and finite: the robot has no effort limit and none is given.
    """
    bound = share * robot.effort_limit if given is None else joint_array(given, "torque_limit", robot.joint_names)
    bad = np.flatnonzero(~((bound > 0.0) & np.isfinite(bound)))
    if bad.size:
        raise InputError(
            f"joint '{robot.joint_names[int(bad[0])]}': torque_limit is {bound[bad[0]]:g}; expected a positive number "
            "[N m or N]. A robot without effort limits needs it from you: torque_limit=..."
        )
    return frozen(bound)


def within(tau: Array, bound: Array) -> float:
    """Return the largest factor up to 1 by which ``tau`` stays within ±bound at every joint."""
    over = float(np.max(np.abs(tau) / bound, initial=0.0))
    return 1.0 if over <= 1.0 else 1.0 / over


def shortened(vector: Array, most: float) -> Array:
    """Return ``vector``, shortened to length ``most`` where it is longer."""
    size = math.sqrt(float(vector @ vector))
    return vector if size <= most else vector * (most / size)
