r"""What is said about a plate's axes, and what its fix applies: one turn for both.

The axes of the force channels in the declared ones, the columns of B (3, 3), are told as

.. math:: B = R\, P,

a turn R (doctor/plate_turn.py) and, after it, P: which axes are exchanged or turned over, or a sign; 1 for a plate that
is only turned. So R is the turn of the plate once its axes are made right-handed. Parts of R that are not sure are
neither stated nor applied.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..description.frozen import Array
from .plate_fit import PlateClass, PlateFit
from .plate_turn import PlateTurn
from .wording import spread

SURE = 5.0
"""Standard deviations by which a number must differ from none."""
NEAR_AXIS = math.radians(20.0)
_QUARTER = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
_MIRROR = np.diag([1.0, -1.0, 1.0])
_MIRRORED = (
    "y points the other way",
    "x and y are exchanged",
    "x points the other way",
    "x and y are exchanged, and both point the other way",
)
"""What a mirrored class is, by the nearest quarter of its yaw."""


@dataclass(frozen=True, slots=True, eq=False)
class PlateAxes:
    """How a plate's axes lie, in words and numbers.

    Attributes:
        found: The turn R that was found, whole.
        order: What comes after it, P, shape (3, 3).
        left_handed: Which axes are exchanged or turned over, in words; "" where none is.
        sure_yaw: Whether the yaw is sure.
        sure_tilt: Whether the tilt is.
        std: Standard deviations of yaw and of the tilt about x and y [rad], shape (3,).
        moment: Sign of the moment channels against the force channels.
    """

    found: PlateTurn
    order: Array
    left_handed: str
    sure_yaw: bool
    sure_tilt: bool
    std: Array
    moment: float

    @classmethod
    def of(cls, fit: PlateFit) -> PlateAxes:
        """Return how the axes of a fitted plate are told."""
        kind = fit.kind
        found, order, words = upright(kind, PlateTurn(fit.yaw, *fit.tilt.tolist())), np.eye(3), ""
        if not found.upside_down:
            quarters = 0
            if kind.mirrored:
                quarters = round(fit.yaw / (0.5 * math.pi)) % 4
                words = _MIRRORED[quarters]
            elif kind.force < 0.0 and abs(abs(fit.yaw) - math.pi) < NEAR_AXIS:
                quarters, words = 2, "z points the other way"
            begin = np.linalg.matrix_power(_QUARTER, quarters)
            order = kind.force * begin @ (_MIRROR if kind.mirrored else np.eye(3))
            found = PlateTurn(_wrapped(fit.yaw - 0.5 * math.pi * quarters), *(begin[:2, :2] @ fit.tilt).tolist())
        tilt = max(float(np.linalg.norm(fit.tilt)), 1e-12)
        along = float(np.linalg.norm(fit.std[1:3] * fit.tilt)) / tilt
        return cls(
            found=found,
            order=order,
            left_handed=words,
            sure_yaw=abs(found.yaw) > SURE * float(fit.std[0]),
            sure_tilt=tilt > SURE * along,
            std=fit.std[:3],
            moment=kind.force * kind.moment,
        )

    def words(self, *, yaw: bool, tilt: bool) -> str:
        """Return turn and tilt in words, each where it is asked for; "" where none is."""
        parts = []
        if yaw:
            std = spread(math.degrees(float(self.std[0])))
            parts.append(f"turned by {math.degrees(self.found.yaw):.2f} ± {std}° about its z axis")
        if tilt:
            x, y = math.degrees(self.found.tilt_x), math.degrees(self.found.tilt_y)
            std = spread(math.degrees(float(self.std[1:].max())))
            parts.append(f"tilted by {x:.2f}° about its x axis and {y:.2f}° about its y axis (± {std}°)")
        return " and ".join(parts)

    def correction(self, *, yaw: bool, tilt: bool) -> dict[str, Any]:
        """Return the mapping's change that turns a reading back: a rotation, or a matrix where signs or mirrors differ.

        Args:
            yaw: Whether the yaw is stated, and so turned back.
            tilt: Whether the tilt is.
        """
        stated = PlateTurn(
            self.found.yaw if yaw else 0.0,
            self.found.tilt_x if tilt else 0.0,
            self.found.tilt_y if tilt else 0.0,
            self.found.upside_down,
        )
        back = stated.rotation @ self.order
        if self.moment > 0.0 and np.array_equal(self.order, np.eye(3)):
            return {"rotation": back.tolist()}
        matrix = np.zeros((6, 6))
        matrix[:3, :3], matrix[3:, 3:] = back, self.moment * back
        return {"matrix": matrix.tolist()}


def upright(kind: PlateClass, found: PlateTurn) -> PlateTurn:
    """Return a class's turn as it is told: an upside-down plate's from half a turn about x on.

    Negated and mirrored, Rz(yaw) S(tilt) is U Rz(π − yaw) S(−tilt x, tilt y).
    """
    if not (kind.mirrored and kind.force < 0.0 and kind.moment < 0.0):
        return found
    return PlateTurn(_wrapped(math.pi - found.yaw), -found.tilt_x, found.tilt_y, upside_down=True)


def _wrapped(angle: float) -> float:
    return math.atan2(math.sin(angle), math.cos(angle))
