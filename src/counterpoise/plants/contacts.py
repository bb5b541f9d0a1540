"""What a simulated arm touches: planes that push back, and a second link that it is bonded to.

The forces are those of the step before, as MuJoCo's poses are when they are asked for between two steps: 0.1 ms late.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..description.frozen import Array, frozen
from ..description.rotations import rotation_vector
from .events import Bond, Surface
from .links import Links, cross

_NOWHERE = frozen(np.zeros(3))


@dataclass(frozen=True, slots=True, eq=False)
class Touch:
    """What acts on a link at a point, base frame.

    Attributes:
        link: Index of the link in ``robot.link_names``.
        force: On the robot [N], shape (3,).
        moment: On the robot, about the point [N m], shape (3,).
        point: Where [m], shape (3,).
    """

    link: int
    force: Array
    moment: Array
    point: Array


class Touching:
    """A surface and the link that touches it.

    Attributes:
        touch: What acted last.
    """

    def __init__(self, surface: Surface, link: int) -> None:
        """Begin free; ``link`` is an index of ``robot.link_names``."""
        self._surface, self._link = surface, link
        self._point, self._origin = np.asarray(surface.point), np.asarray(surface.origin)
        self._normal = np.asarray(surface.normal)
        self.touch = Touch(link, _NOWHERE, _NOWHERE, _NOWHERE)

    def apply(self, links: Links) -> None:
        """Add the surface's force to the external forces on the links."""
        surface, normal = self._surface, self._normal
        position, _, velocity, _ = links.motion(self._link, self._point)
        depth = float(normal @ (self._origin - position))
        if depth <= 0.0:
            self.touch = Touch(self._link, _NOWHERE, _NOWHERE, position)
            return
        out = float(normal @ velocity)
        pressed = max(0.0, surface.stiffness * depth - surface.damping * out)
        slide = velocity - out * normal
        speed = math.sqrt(float(slide @ slide))
        force = pressed * normal - (surface.friction * pressed / max(speed, surface.slip_speed)) * slide
        links.push_at(self._link, force, _NOWHERE, position)
        self.touch = Touch(self._link, force, _NOWHERE, position)


class Bonded:
    """Two links and the spring between them.

    Attributes:
        touch: What acted last on the second link; the first feels the opposite at the same point.
    """

    def __init__(self, bond: Bond, first: int, second: int) -> None:
        """Begin without force, where the links are when first asked; both are indices of ``robot.link_names``."""
        self._bond, self._first, self._second = bond, first, second
        self._rest: tuple[Array, Array] | None = None
        self.touch = Touch(second, _NOWHERE, _NOWHERE, _NOWHERE)

    def apply(self, links: Links) -> None:
        """Add the spring's forces to the external forces on the links."""
        bond = self._bond
        p_1, R_1, v_1, omega_1 = links.motion(self._first, _NOWHERE)
        p_2, R_2, v_2, omega_2 = links.motion(self._second, _NOWHERE)
        if self._rest is None:
            self._rest = R_1.T @ (p_2 - p_1), R_1.T @ R_2
        offset, turn = self._rest
        arm = p_2 - p_1
        slide = v_2 - v_1 - cross(omega_1, arm)
        force = -bond.stiffness * (arm - R_1 @ offset) - bond.damping * slide
        twist = rotation_vector(R_2 @ (R_1 @ turn).T)
        moment = -bond.turn_stiffness * twist - bond.turn_damping * (omega_2 - omega_1)
        links.push_at(self._second, force, moment, p_2)
        links.push_at(self._first, -force, -moment, p_2)
        self.touch = Touch(self._second, force, moment, p_2)
