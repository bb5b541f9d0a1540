"""Different friction in the two directions of motion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..description.frozen import Array
from ..errors import InputError
from .law import FrictionLaw


@dataclass(frozen=True, slots=True, eq=False)
class Asymmetric:
    """f = positive.torque(q̇) where q̇ > 0, negative.torque(q̇) where q̇ < 0.

    Attributes:
        positive: Law for motion in the positive direction.
        negative: Law for motion in the negative direction; symmetric itself, so it is called with q̇ < 0 as it is.
    """

    positive: FrictionLaw
    negative: FrictionLaw

    def __post_init__(self) -> None:
        """Check the laws."""
        for name in self.__slots__:
            if not isinstance(getattr(self, name), FrictionLaw):
                raise InputError(f"{name} must be a friction law with torque(dq), got {getattr(self, name)!r}")

    def torque(self, dq: npt.ArrayLike) -> Array:
        """Return the friction at the velocities dq, shape (n,) or (k, n) [N m or N]."""
        up, down = self.positive.torque(dq), self.negative.torque(dq)
        return np.asarray(np.where(np.asarray(dq, dtype=np.float64) < 0.0, down, up))
