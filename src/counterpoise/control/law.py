"""The interface of a control law, a small object that turns a sample into joint torques, and checks of its arguments.

The arguments that several laws share are checked here: gains, one number per joint, and the time between two ticks.
"""

from __future__ import annotations

import math
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..foundation import Array, frozen
from ..recording import Sample


def gain(value: npt.ArrayLike, name: str, n: int | None = None, *, most: float = np.inf) -> Array:
    """Return gains as a read-only float64 array of shape (n,).

    Args:
        value: One number per joint, from 0 to ``most``; a single number will do where n is known.
        name: What to call them in messages.
        n: Number of joints; None where the gains themselves give it.
        most: Largest value that makes sense.

    Raises:
        InputError: Other shapes, negative, too large or not finite.
    """
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} is not a list of numbers: {error}") from error
    if n is not None and array.ndim == 0:
        array = np.full(n, array)
    if array.ndim != 1 or (n is not None and len(array) != n):
        raise InputError(f"{name} has shape {array.shape}; expected one number per joint" + (f", {n}" if n else ""))
    good = np.isfinite(array) & (array >= 0.0) & (array <= most)
    if not good.all():
        joint = int(np.flatnonzero(~good)[0])
        upper = "" if np.isinf(most) else f" to {most:g}"
        raise InputError(f"{name}[{joint}] is {array[joint]:g}; expected a finite number from 0{upper}")
    return frozen(array)


def checked_reach(value: npt.ArrayLike, n: int) -> Array:
    """Return the largest position errors that K_p acts on [rad or m] as a read-only float64 array of shape (n,).

    Args:
        value: One number per joint, above 0, infinite for any error; a single number holds for all joints.
        n: Number of joints.

    Raises:
        InputError: Other shapes, or a number that is not above 0.
    """
    array = np.asarray(value, dtype=np.float64)
    if array.shape not in ((), (n,)) or not np.all(array > 0.0):
        raise InputError(f"reach is {array.tolist()}; expected {n} numbers above 0 [rad or m]")
    return frozen(np.broadcast_to(array, (n,)))


def checked_dt(dt: object) -> float:
    """Return the time between two ticks [s].

    Raises:
        InputError: It is no number from 1e-6 to 10.
    """
    if isinstance(dt, bool) or not isinstance(dt, int | float) or not (math.isfinite(dt) and 1e-6 <= dt <= 10.0):
        raise InputError(f"dt is {dt!r}; expected the time between two ticks [s], 1e-6 to 10")
    return float(dt)


@runtime_checkable
class Law(Protocol):
    """A control law. It sees checked samples only, and nothing it returns reaches a motor before the safety filter.

    A law may return the same array on every tick; the loop does not keep it.
    """

    @property
    def adds_gravity(self) -> bool:
        """Whether the torque already holds the arm's weight; a plant that adds gravity itself is then refused."""
        ...

    @property
    def uses_wrench(self) -> bool:
        """Whether a missing, invalid or saturated plate makes a bad sample, which stops the arm when it stays.

        Say True where the torque is wrong without the plate. A law that reads ``sample.wrench`` and can do without, as
        the torque loop can, looks at the reading itself and says False.
        """
        ...

    def torque(self, sample: Sample, time: float) -> Array:
        """Return the joint torques [N m or N], link side, shape (n,), float64.

        Args:
            sample: The newest good sample.
            time: Seconds since the run began; it advances by one period per tick.
        """
        ...

    def reset(self, sample: Sample) -> None:
        """Forget the past and start from ``sample``: the loop calls it at the start of a run and at a switch."""
        ...


@runtime_checkable
class LimitAware(Protocol):
    """A law that wants to know what the safety filter made of its torque, for example to stop integrating."""

    def limited(self, cut: Array) -> None:
        """Take note of ``cut``, shape (n,): what was sent minus what this tick's laws asked for [N m or N]."""
        ...


@runtime_checkable
class Reporting(Protocol):
    """A law that has something to tell now and then, for example that a sensor it can do without has failed."""

    def news(self) -> list[tuple[str, str]]:
        """Return what happened since the last call, as kinds and messages of events, and forget it."""
        ...
