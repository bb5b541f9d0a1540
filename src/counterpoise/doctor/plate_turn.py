r"""How a plate is turned: one convention for every place that states it.

A plate's axes are R, base ← sensor (the rotation of T_base_sensor). Against other axes R₀, those that are declared or
the base's own, they are

.. math:: R = R_0\, U\, R_z(\mathrm{yaw})\, S(\mathrm{tilt}),

all right-handed: Rz turns from x to y, S is the rotation by |tilt| about the axis (tilt x, tilt y, 0), and U is half a
turn about x where the plate lies upside down, nothing otherwise. Every rotation has exactly one such form, but for a z
axis at right angles to where it was.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..description.frozen import Array
from ..description.rotations import rotation_from_rpy, rotation_from_vector, rotation_vector

_UPSIDE_DOWN = np.diag([1.0, -1.0, -1.0])


@dataclass(frozen=True, slots=True)
class PlateTurn:
    """How axes are turned against others.

    Attributes:
        yaw: Turn about z [rad], −π to π, right-handed.
        tilt_x: Tilt about the x axis of the turned plate [rad].
        tilt_y: Tilt about its y axis [rad].
        upside_down: Whether half a turn about x comes before both.
    """

    yaw: float
    tilt_x: float
    tilt_y: float
    upside_down: bool = False

    @classmethod
    def between(cls, axes: Array, others: Array) -> PlateTurn:
        """Return how ``axes`` are turned against ``others``, both base ← sensor, shapes (3, 3)."""
        turned = others.T @ axes
        upside_down = bool(turned[2, 2] < 0.0)
        if upside_down:
            turned = _UPSIDE_DOWN @ turned
        yaw = math.atan2(turned[1, 0] - turned[0, 1], turned[0, 0] + turned[1, 1])
        x, y, _ = rotation_vector(rotation_from_rpy([0.0, 0.0, -yaw]) @ turned)
        return cls(yaw, float(x), float(y), upside_down)

    @property
    def rotation(self) -> Array:
        """The rotation U Rz(yaw) S(tilt) that this is, shape (3, 3)."""
        turned: Array = rotation_from_rpy([0.0, 0.0, self.yaw]) @ rotation_from_vector([self.tilt_x, self.tilt_y, 0.0])
        return _UPSIDE_DOWN @ turned if self.upside_down else turned
