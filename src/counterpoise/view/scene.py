"""The arm in the 3D scene: one frame a body, its pieces as children, moved by setting the frames' poses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..description.frozen import Array
from ..description.rotations import wxyz_from_rotation
from ..dynamics.kinematics import body_poses
from ..dynamics.robot import Robot
from ..dynamics.tree import BASE
from .shapes import Color, Part

if TYPE_CHECKING:
    from viser import ViserServer


class ArmScene:
    """One arm, or its ghost."""

    def __init__(
        self,
        server: ViserServer,
        robot: Robot,
        parts: Sequence[Part],
        name: str,
        *,
        color: Color | None = None,
        opacity: float | None = None,
    ) -> None:
        """Put an arm into the scene.

        Args:
            server: The page's server.
            robot: The arm.
            parts: Its pieces.
            name: Its place in the scene, e.g. "/arm".
            color: One colour for all pieces; None for their own.
            opacity: 0 for invisible, 1 for solid; None for solid.
        """
        scene = server.scene
        self._robot = robot
        scene.add_frame(name, show_axes=False, wxyz=wxyz_from_rotation(robot.mount))
        self._frames = [
            scene.add_frame(f"{name}/body{body}", show_axes=False) for body in range(BASE, robot.tree.bodies)
        ]
        self._handles: list[tuple[Any, Part]] = []
        for index, part in enumerate(parts):
            handle = scene.add_mesh_simple(
                f"{name}/body{part.body}/part{index}",
                vertices=part.vertices.astype(np.float32),
                faces=part.faces.astype(np.uint32),
                color=part.color if color is None else color,
                opacity=opacity,
                flat_shading=False,
            )
            self._handles.append((handle, part))

    def pose(self, q: Array) -> None:
        """Show the arm at q [rad or m], shape (n,)."""
        poses = body_poses(self._robot.tree, np.asarray(q, dtype=np.float64)[None])
        turned = [wxyz_from_rotation(rotation) for rotation in poses.rotation[0]]
        for frame, place, wxyz in zip(self._frames[1:], poses.origin[0], turned, strict=True):
            frame.position, frame.wxyz = place, wxyz

    def on_drag(self, react: Callable[[Any, Part], None]) -> None:
        """Call ``react`` with the event and the piece whenever a piece is dragged."""
        for handle, part in self._handles:
            handle.on_drag("left")(_ordered(react, part))


def _ordered(react: Callable[[Any, Part], None], part: Part) -> Callable[[Any], Any]:
    async def dragged(event: Any) -> None:  # on the event loop, so that start, update and end come in order
        react(event, part)

    return dragged
