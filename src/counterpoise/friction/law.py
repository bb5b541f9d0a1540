"""What every friction law offers.

Sign: the torque f of M q̈ + C q̇ + g + f = τ. It has the sign of the velocity, so that −f acts on the joint.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from ..description.frozen import Array
from ..errors import InputError


@runtime_checkable
class FrictionLaw(Protocol):
    """Friction in steady sliding."""

    def torque(self, dq: npt.ArrayLike) -> Array:
        """Return the friction at the velocities dq, shape (n,) or (k, n) [N m or N]; 0 where dq is 0.

        Args:
            dq: Joint velocities [rad/s or m/s], shape (n,) or (k, n).
        """
        ...


def velocities(dq: npt.ArrayLike, n: int) -> Array:
    """Return dq as a float64 array whose last axis fits a law for n joints (n = 1 fits any).

    Raises:
        InputError: Not numbers, or another number of joints.
    """
    try:
        array = np.asarray(dq, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"dq must be velocities, got {dq!r}") from error
    if n > 1 and (array.ndim not in (1, 2) or array.shape[-1] != n):
        raise InputError(f"dq has shape {array.shape}; expected ({n},) or (k, {n})")
    return array
