"""The arm in the 3D scene: one frame a body, its pieces as children, moved by setting the frames' poses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..description.frozen import Array
from ..dynamics.kinematics import body_poses
from ..dynamics.robot import Robot
from ..dynamics.tree import BASE
from .shapes import Color, Part

if TYPE_CHECKING:
    from viser import ViserServer


class ArmScene:
    """One arm, or its ghost.

    Attributes:
        handles: The pieces in the scene, with what they are.
    """

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
        self._server, self._robot = server, robot
        self._root = scene.add_frame(name, show_axes=False, wxyz=wxyz_of(robot.mount[None])[0])
        self._frames = [
            scene.add_frame(f"{name}/body{body}", show_axes=False) for body in range(BASE, robot.tree.bodies)
        ]
        self.handles: list[tuple[Any, Part]] = []
        for index, part in enumerate(parts):
            handle = scene.add_mesh_simple(
                f"{name}/body{part.body}/part{index}",
                vertices=part.vertices.astype(np.float32),
                faces=part.faces.astype(np.uint32),
                color=part.color if color is None else color,
                opacity=opacity,
                flat_shading=False,
            )
            self.handles.append((handle, part))

    def pose(self, q: Array) -> None:
        """Show the arm at q [rad or m], shape (n,)."""
        poses = body_poses(self._robot.tree, np.asarray(q, dtype=np.float64)[None])
        turned = wxyz_of(poses.rotation[0])
        for frame, place, wxyz in zip(self._frames[1:], poses.origin[0], turned, strict=True):
            frame.position, frame.wxyz = place, wxyz

    def show(self, visible: bool) -> None:
        """Show or hide it."""
        if self._root.visible != visible:
            self._root.visible = visible

    def on_drag(self, react: Callable[[Any, Part], None]) -> None:
        """Call ``react`` with the event and the piece whenever a piece is dragged."""
        for handle, part in self.handles:
            handle.on_drag("left")(_ordered(react, part))


def _ordered(react: Callable[[Any, Part], None], part: Part) -> Callable[[Any], Any]:
    async def dragged(event: Any) -> None:  # on the event loop, so that start, update and end come in order
        react(event, part)

    return dragged


def wxyz_of(rotations: Array) -> Array:
    """Return the unit quaternions, scalar first, of rotation matrices of shape (k, 3, 3), shape (k, 4)."""
    R = rotations
    trace = R[:, 0, 0] + R[:, 1, 1] + R[:, 2, 2]
    # The four squares times four, from which the largest is taken so that nothing is divided by a small number.
    squares = np.stack([1.0 + trace, *(1.0 - trace + 2.0 * R[:, i, i] for i in range(3))], axis=1)
    largest = np.argmax(squares, axis=1)
    w, x, y = R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]
    xy, xz, yz = R[:, 0, 1] + R[:, 1, 0], R[:, 0, 2] + R[:, 2, 0], R[:, 1, 2] + R[:, 2, 1]
    table = np.stack(
        [
            np.stack([squares[:, 0], w, x, y], axis=1),
            np.stack([w, squares[:, 1], xy, xz], axis=1),
            np.stack([x, xy, squares[:, 2], yz], axis=1),
            np.stack([y, xz, yz, squares[:, 3]], axis=1),
        ],
        axis=1,
    )
    chosen = table[np.arange(len(R)), largest]
    return np.asarray(chosen / np.linalg.norm(chosen, axis=1, keepdims=True))
