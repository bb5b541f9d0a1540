"""Whether an arm comes too near to itself or to its table: links as capsules between joint origins.

Descriptions carry no shapes, so this is a stand-in, asked for and stated: every link is a round bar of one radius along
the straight line from its joint to each joint (or end frame) that it carries. Two bars may not come nearer than twice
the radius, and no moving bar may come nearer to the table than one. Bars that are neighbours, or that the arm's build
keeps close in every pose, are not compared. A real arm has elbows and cables that stick out: choose the radius
generously, and look at the poses before the robot moves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..description.frozen import Array
from ..dynamics.kinematics import body_poses
from ..dynamics.robot import Robot
from ..dynamics.tree import BASE
from ..errors import InputError

BoolArray = npt.NDArray[np.bool_]
RADIUS = 0.06
"""Radius of a link where none is given [m]."""
SHORTEST = 1e-3
"""A bar shorter than this is a point that its neighbours already have [m]."""
STANDS = 1e-3
"""A point that moves by less than this over all poses belongs to the base [m]."""


@dataclass(frozen=True, slots=True)
class Clearance:
    """What to keep clear of.

    Attributes:
        radius: Radius of every link [m], > 0.
        table: Height of the table above the base origin, against gravity [m]; None for no table.
    """

    radius: float = RADIUS
    table: float | None = None

    def __post_init__(self) -> None:
        """Refuse sizes that mean nothing."""
        if not 0.0 < self.radius < 10.0:
            raise InputError(f"radius is {self.radius!r}; expected the radius of a link in m")
        if self.table is not None and not abs(self.table) < 100.0:
            raise InputError(f"table is {self.table!r}; expected its height above the base origin in m, or None")


@dataclass(frozen=True, slots=True, eq=False)
class _Bar:
    """A link's line: fixed to a body, from its joint's origin to a point in its frame, over which children hang."""

    body: int
    end: Array
    children: tuple[int, ...]


def clear_of_itself(robot: Robot, q: Array, clearance: Clearance) -> BoolArray:
    """Say of each pose whether all bars keep clear of each other, shape (k,).

    Args:
        robot: The arm.
        q: Poses [rad or m], shape (k, n).
        clearance: The radius.
    """
    bars = _bars(robot)
    begins, ends = _lines(robot, q, bars)
    clear = np.ones(len(q), dtype=bool)
    for first in range(len(bars)):
        for second in range(first + 1, len(bars)):
            if _always_close(robot, bars[first], bars[second], 2.0 * clearance.radius):
                continue
            away = segment_distance(begins[:, first], ends[:, first], begins[:, second], ends[:, second])
            clear &= away >= 2.0 * clearance.radius
    return clear


def clear_of_table(robot: Robot, q: Array, clearance: Clearance) -> BoolArray:
    """Say of each pose whether all moving bars stay above the table, shape (k,); true where there is none."""
    if clearance.table is None or len(q) == 0:
        return np.ones(len(q), dtype=bool)
    strength = float(np.linalg.norm(robot.gravity_base))
    if strength == 0.0:
        raise InputError("a table is asked for without gravity; which way is up cannot be told")
    up = -robot.gravity_base / strength
    begins, ends = _lines(robot, q, _bars(robot))
    # Judged over many poses, so that a single pose does not make its points look fixed.
    spread = np.random.default_rng(0).uniform(-np.pi, np.pi, (32, robot.n))
    moving = [np.ptp(points, axis=0).max(axis=-1) > STANDS for points in _lines(robot, spread, _bars(robot))]
    heights = [np.where(moves, points @ up, np.inf) for moves, points in zip(moving, (begins, ends), strict=True)]
    lowest = np.minimum(*(height.min(axis=1, initial=np.inf) for height in heights))
    return np.asarray(lowest >= clearance.table + clearance.radius)


def segment_distance(a: Array, b: Array, c: Array, d: Array) -> Array:
    """Return the distances between segments ab and cd [m], shape (k,), for end points of shape (k, 3).

    The two parameters minimise |a + s (b − a) − c − t (d − c)|² in the unit square: the inner minimum where it lies
    inside, else the best point of the four sides (the function is convex).
    """
    u, v, w = b - a, d - c, a - c
    uu, vv, uv = (np.einsum("ki,ki->k", x, y) for x, y in ((u, u), (v, v), (u, v)))
    uw, vw = np.einsum("ki,ki->k", u, w), np.einsum("ki,ki->k", v, w)
    area = uu * vv - uv * uv
    safe = np.where(area > 1e-12 * np.maximum(uu * vv, 1e-300), area, np.inf)
    s_inner = np.clip((uv * vw - vv * uw) / safe, 0.0, 1.0)

    def t_for(s: Array) -> Array:
        return np.asarray(np.clip((s * uv + vw) / np.maximum(vv, 1e-300), 0.0, 1.0))

    def s_for(t: Array) -> Array:
        return np.asarray(np.clip((t * uv - uw) / np.maximum(uu, 1e-300), 0.0, 1.0))

    zeros, ones = np.zeros(len(a)), np.ones(len(a))
    tried = [(s_inner, t_for(s_inner)), (zeros, t_for(zeros)), (ones, t_for(ones))]
    tried += [(s_for(zeros), zeros), (s_for(ones), ones)]
    squares = [np.sum((w + s[:, None] * u - t[:, None] * v) ** 2, axis=1) for s, t in tried]
    return np.asarray(np.sqrt(np.min(squares, axis=0)))


def _bars(robot: Robot) -> list[_Bar]:
    """Return the bars of base and bodies: to each child's origin, and to the farthest end frame of a last body."""
    tree = robot.tree
    found = []
    for body in range(BASE, tree.bodies):
        children = [int(child) for child in np.flatnonzero(tree.parent == body)]
        for child in children:
            if np.linalg.norm(tree.origin[child]) > SHORTEST:
                found.append(_Bar(body, tree.origin[child], (child,)))
        if not children and body != BASE:
            ends = [tree.link_origin[link] for link in np.flatnonzero(tree.link_body == body)]
            farthest = max(ends, key=lambda point: float(np.linalg.norm(point)))
            if np.linalg.norm(farthest) > SHORTEST:
                found.append(_Bar(body, farthest, ()))
    return found


def _lines(robot: Robot, q: Array, bars: list[_Bar]) -> tuple[Array, Array]:
    """Return begin and end of every bar in base axes [m], shapes (k, bars, 3)."""
    poses = body_poses(robot.tree, q)
    begins, ends = np.zeros((2, len(q), len(bars), 3))
    for place, bar in enumerate(bars):
        if bar.body == BASE:
            ends[:, place] = bar.end
        else:
            begins[:, place] = poses.origin[:, bar.body]
            ends[:, place] = begins[:, place] + np.einsum("kij,j->ki", poses.rotation[:, bar.body], bar.end)
    return begins, ends


def _always_close(robot: Robot, first: _Bar, second: _Bar, distance: float) -> bool:
    """Say whether two bars share a point, or are joined by so short a chain that no pose brings them apart."""
    tree = robot.tree
    if first.body == second.body:
        return True
    for inner, outer in ((first, second), (second, first)):
        along, body = 0.0, outer.body
        while body != BASE:
            if tree.parent[body] == inner.body:
                # From the inner bar's end (or its side) to where the chain to the outer one leaves it.
                leaves = float(np.linalg.norm(tree.origin[body] - inner.end)) if body not in inner.children else 0.0
                begins = float(np.linalg.norm(tree.origin[body]))
                return along + min(leaves, begins) < distance
            along += float(np.linalg.norm(tree.origin[body]))
            body = int(tree.parent[body])
    # On two branches: by the way over their common parent.
    return _way_to_common(robot, first.body, second.body) < distance


def _way_to_common(robot: Robot, first: int, second: int) -> float:
    """Return the length of the chain between two bodies' origins over the body that carries both [m]."""
    tree = robot.tree
    above: dict[int, float] = {}
    body, along = first, 0.0
    while body != BASE:
        above[body] = along
        along += float(np.linalg.norm(tree.origin[body]))
        body = int(tree.parent[body])
    above[BASE] = along
    body, along = second, 0.0
    while body not in above:
        along += float(np.linalg.norm(tree.origin[body]))
        body = int(tree.parent[body])
    return along + above[body]
