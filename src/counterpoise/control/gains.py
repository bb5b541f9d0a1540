"""Arguments of the laws, checked: gains, one number per joint, and the time between two ticks."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ..description.frozen import Array, frozen
from ..errors import InputError


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
        given = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} is not a list of numbers: {error}") from error
    if n is not None and given.ndim == 0:
        given = np.full(n, given)
    if given.ndim != 1 or (n is not None and len(given) != n):
        raise InputError(f"{name} has shape {given.shape}; expected one number per joint" + (f", {n}" if n else ""))
    good = np.isfinite(given) & (given >= 0.0) & (given <= most)
    if not good.all():
        joint = int(np.flatnonzero(~good)[0])
        upper = "" if np.isinf(most) else f" to {most:g}"
        raise InputError(f"{name}[{joint}] is {given[joint]:g}; expected a finite number from 0{upper}")
    return frozen(given)


def checked_reach(value: npt.ArrayLike, n: int) -> Array:
    """Return the largest position errors that K_p acts on [rad or m] as a read-only float64 array of shape (n,).

    Args:
        value: One number per joint, above 0, infinite for any error; a single number holds for all joints.
        n: Number of joints.

    Raises:
        InputError: Other shapes, or a number that is not above 0.
    """
    given = np.asarray(value, dtype=np.float64)
    if given.shape not in ((), (n,)) or not np.all(given > 0.0):
        raise InputError(f"reach is {given.tolist()}; expected {n} numbers above 0 [rad or m]")
    return frozen(np.broadcast_to(given, (n,)))


def checked_dt(dt: object) -> float:
    """Return the time between two ticks [s].

    Raises:
        InputError: It is no number from 1e-6 to 10.
    """
    if isinstance(dt, bool) or not isinstance(dt, int | float) or not (math.isfinite(dt) and 1e-6 <= dt <= 10.0):
        raise InputError(f"dt is {dt!r}; expected the time between two ticks [s], 1e-6 to 10")
    return float(dt)
