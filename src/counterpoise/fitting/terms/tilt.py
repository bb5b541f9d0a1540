"""A base that leans otherwise than stated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...dynamics import Robot
from ...errors import InputError
from ...foundation import Array
from ..term import ArmLimits, EffortTerm, RigidBody, Scales, Selection, registered

if TYPE_CHECKING:
    from ..effort_model import EffortModel, Evaluation

STEP = 1e-5
"""Change of an angle for a central difference [rad]."""
TILT_STD = 0.1
"""Standard deviation of each angle of a tilt [rad]."""


@registered
class TiltTerm(EffortTerm):
    """Two small angles about the axes across gravity by which the base leans; a term of the whole robot."""

    name = "tilt"
    number = 10
    label = "the base's tilt"
    summary = "a base that leans otherwise than stated, of the whole arm"
    quantities = ("first", "second")
    units = ("rad", "rad")
    adjusts = True
    in_effort_unit = False
    acts_at_rest = True

    @property
    def default(self) -> Selection:
        """No tilt."""
        return False

    def checked(self, selection: object) -> Selection:
        """Refuse what is neither yes nor no."""
        if not isinstance(selection, bool):
            raise InputError(f"tilt is {selection!r}; expected True or False")
        return selection

    def asked_for(self, joints: tuple[str, ...]) -> Selection:
        """Return the selection that the command line asks for."""
        if joints:
            raise InputError(f"tilt is asked for {', '.join(joints)}; it is one of the whole arm")
        return True

    def hidden(self, robot: Robot) -> str:
        """Return why it cannot show: without gravity."""
        return "" if np.any(robot.gravity_world) else "without gravity"

    def names(self, model: EffortModel) -> list[str]:
        """Return the names of the two angles."""
        return [f"{self.name}.{quantity}" for quantity in self.quantities] if model.terms.tilt else []

    def deviations(self, model: EffortModel, scales: Scales, start: Array) -> Array:
        """Return TILT_STD."""
        return np.full(len(start), TILT_STD)

    def most(self, limits: ArmLimits) -> float:
        """Return the largest value that a file may hold [rad]."""
        return np.pi

    def adjusted(self, body: RigidBody, model: EffortModel, values: Array) -> RigidBody:
        """Return the rigid bodies on the base as it leans."""
        if not len(values):
            return body
        leaning = body.robot.mounted(rotation=np.eye(3), gravity=_gravity(model.robot, values))
        return replace(body, robot=leaning)

    def columns(self, at: Evaluation) -> Array:
        """Return the gravity efforts' derivatives by the angles."""
        model, angles = at.model, at.values(self.name)
        columns = np.zeros((*at.torques.shape, len(angles)))
        weights = at.bodies.reshape(-1, model.body_size)[:, :4].ravel()
        for place in range(len(angles)):
            step = STEP * np.eye(2)[place]
            # Torques are linear in the gravity vector, so its derivative takes gravity's own place.
            slope = (_gravity(model.robot, angles + step) - _gravity(model.robot, angles - step)) / (2.0 * STEP)
            turned = model.robot.mounted(rotation=np.eye(3), gravity=slope)
            columns[:, :, place] = at.gain * (turned.gravity_regressor(at.q)[:, model.active] @ weights)
        return columns


def _gravity(robot: Robot, angles: Sequence[float] | Array) -> Array:
    """Return gravity in base axes [m/s²] when the base leans by two angles [rad] about axes across gravity."""
    size = np.linalg.norm(robot.gravity_base)
    down = robot.gravity_base / size
    first, second = tilt_axes(robot)
    lean = angles[0] * first + angles[1] * second
    angle = float(np.linalg.norm(lean))
    # Rodrigues, for the base turned by ``lean``: gravity turns the other way in its axes.
    axis = lean / angle if angle > 0.0 else first
    turned = down * np.cos(angle) - np.cross(axis, down) * np.sin(angle)
    return np.asarray(turned * size, dtype=np.float64)


def tilt_axes(robot: Robot) -> tuple[Array, Array]:
    """Return the two axes of a tilt, in base axes, shapes (3,): across gravity; x and y for an upright robot."""
    up = -robot.gravity_base / np.linalg.norm(robot.gravity_base)
    helper = np.eye(3)[1] if abs(up[1]) < 0.9 else np.eye(3)[2]
    first = np.cross(helper, up)
    first /= np.linalg.norm(first)
    return first, np.cross(up, first)
