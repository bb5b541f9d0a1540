"""The weight in the scene: it stands beside the arm, and hangs on the link that it is dropped on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..dynamics import BASE, Robot, body_poses
from ..foundation import Array
from .scene import body_link, link_lines, reach_of
from .snapshot import Snapshot

if TYPE_CHECKING:
    from viser import ViserServer

    from .session import Session


COLOR = (138, 92, 194)
NEAR = 0.3
"""How near to a link a weight must be dropped to hang on it, over the arm's reach."""


class WeightBall:
    """A ball that can be dragged onto the arm.

    Attributes:
        mass: What it weighs when it is dropped next [kg].
    """

    def __init__(self, server: ViserServer, session: Session, stand_world: Array, mass: float) -> None:
        """Put the ball on its stand.

        Args:
            server: The page's server.
            session: What it is hung on.
            stand_world: Where it stands, world frame [m], shape (3,).
            mass: What it weighs [kg].
        """
        self.mass = mass
        self._session, self._robot = session, session.arm.robot
        self._stand, self._reach = stand_world, reach_of(session.arm.robot)
        self._dragged = False
        scene = server.scene
        radius = 0.045 * self._reach
        self._ball: Any = scene.add_icosphere("/weight", radius=radius, color=COLOR, position=stand_world)
        self._label: Any = scene.add_label("/weight/label", self._text(), position=(0.0, 0.0, 1.6 * radius))
        self._ball.on_drag("left")(self._on_drag)

    async def _on_drag(self, event: Any) -> None:
        place = np.asarray(event.end_position, dtype=np.float64)
        if event.phase != "end":
            self._dragged = True
            self._ball.position = place
            found = self.nearest(place)
            self._label.text = f"{self._text()} → {found[0]}" if found else f"{self._text()} (on no link)"
            return
        self._dragged = False
        self.drop(place)

    def drop(self, place_world: Array) -> None:
        """Hang the weight on the nearest link, or put it back on its stand where none is near.

        Args:
            place_world: Where it is dropped, world frame [m], shape (3,).
        """
        found = self.nearest(place_world)
        if found is None:
            self._session.unhang()
        else:
            link, point = found
            self._session.hang(link, self.mass, point)

    def nearest(self, place_world: Array) -> tuple[str, Array] | None:
        """Return the nearest moving link and the nearest point of its line, in its frame [m]; None for none near."""
        robot = self._robot
        found = nearest_link(robot, self._session.snapshot.q, robot.mount.T @ np.asarray(place_world))
        if found is None or found[2] > NEAR * self._reach:
            return None
        return found[0], found[1]

    def show(self, snapshot: Snapshot) -> None:
        """Put the ball where the weight is."""
        if self._dragged:
            return
        place, text = self._stand, self._text()
        if snapshot.weight is not None:
            T = self._robot.forward_kinematics(snapshot.q, at=snapshot.weight.link)
            place = self._robot.mount @ (T[:3, 3] + T[:3, :3] @ np.array(snapshot.weight.point))
            text = f"{snapshot.weight.mass:g} kg"
        if not np.array_equal(self._ball.position, place):
            self._ball.position = place
        if self._label.text != text:
            self._label.text = text

    def _text(self) -> str:
        return f"{self.mass:g} kg: drag me onto a link"


def nearest_link(robot: Robot, q: Array, place: Array) -> tuple[str, Array, float] | None:
    """Return the moving link whose line is nearest to a place, the nearest point in the link's frame, and the distance.

    Args:
        robot: The arm.
        q: Its pose [rad or m], shape (n,).
        place: The place, base frame [m], shape (3,).
    """
    tree = robot.tree
    poses = body_poses(tree, np.asarray(q)[None])
    best: tuple[str, Array, float] | None = None
    for line in link_lines(robot):
        if line.body == BASE:
            continue
        local = poses.rotation[0, line.body].T @ (place - poses.origin[0, line.body])
        way = line.end - line.begin
        length = float(way @ way)
        share = float(np.clip((local - line.begin) @ way / length, 0.0, 1.0)) if length > 0.0 else 0.0
        point = line.begin + share * way
        distance = float(np.linalg.norm(local - point))
        if best is None or distance < best[2] - 1e-9:
            link = body_link(robot, line.body)
            index = robot.link_names.index(link)
            best = (link, tree.link_rotation[index].T @ (point - tree.link_origin[index]), distance)
    return best
