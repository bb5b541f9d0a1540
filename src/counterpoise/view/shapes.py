"""What an arm looks like: the meshes of its file, or clean primitives where there are none.

A description carries no shapes. Without a file's own, every link is a rounded bar from its joint to the joints that it
carries, and every joint a short cylinder along its axis (a rail where it slides).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..description.frozen import Array
from ..description.rotations import rotation_with_z_along, transform
from ..dynamics.robot import Robot
from ..dynamics.tree import BASE, REVOLUTE
from ..errors import MissingExtraError

Faces = npt.NDArray[np.int64]
Color = tuple[int, int, int]

LINK_COLOR: Color = (214, 219, 226)
JOINT_COLOR: Color = (58, 76, 104)
TOOL_COLOR: Color = (228, 122, 46)
BASE_COLOR: Color = (120, 130, 145)
THICKNESS = 0.052
"""Radius of the first bar over the arm's reach."""
SLIMMER = 0.55
"""How much of that is left at the last link."""
SHORTEST = 0.6
"""A bar shorter than this many radii is left out: its joint hides it."""


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A rigid piece of an arm, fixed to one body.

    Attributes:
        body: Index of the moving body, BASE for the base.
        link: Link that is pushed where this piece is grabbed.
        vertices: Corners in the body's frame [m], shape (v, 3).
        faces: Triangles, shape (f, 3).
        color: Red, green, blue, 0 to 255.
    """

    body: int
    link: str
    vertices: Array
    faces: Faces
    color: Color


@dataclass(frozen=True, slots=True, eq=False)
class LinkLine:
    """The line of a link, in its body's frame.

    Attributes:
        body: Index of the moving body, BASE for the base.
        begin: One end [m], shape (3,).
        end: The other [m], shape (3,).
    """

    body: int
    begin: Array
    end: Array


def reach_of(robot: Robot) -> float:
    """Return how far the arm reaches, roughly [m]: its lengths, added up along the longest chain."""
    tree = robot.tree
    along = np.zeros(tree.bodies)
    for body in range(tree.bodies):
        parent = int(tree.parent[body])
        slide = 0.0
        if tree.kind[body] != REVOLUTE:
            limits = robot.lower[tree.q_index[body]], robot.upper[tree.q_index[body]]
            slide = max(abs(limit) if math.isfinite(limit) else 0.5 for limit in limits)
        before = 0.0 if parent == BASE else along[parent]
        along[body] = before + float(np.linalg.norm(tree.origin[body])) + slide
    ends = [float(np.linalg.norm(origin)) for origin in tree.link_origin]
    last = [end + (along[body] if body != BASE else 0.0) for end, body in zip(ends, tree.link_body, strict=True)]
    return max(max(last, default=0.0), 0.2)


def body_link(robot: Robot, body: int) -> str:
    """Return the first link that is fixed to a body."""
    return robot.link_names[int(np.flatnonzero(robot.tree.link_body == body)[0])]


def link_lines(robot: Robot) -> list[LinkLine]:
    """Return the lines of all links: to each joint that they carry; of a last one to its farthest frame."""
    tree, found = robot.tree, []
    for body in range(BASE, tree.bodies):
        children = [int(child) for child in np.flatnonzero(tree.parent == body)]
        for child in children:
            found.append(LinkLine(body, np.zeros(3), tree.origin[child] + _slide_begin(robot, child)))
        if not children and body != BASE:
            ends = [tree.link_origin[link] for link in np.flatnonzero(tree.link_body == body)]
            mass = float(tree.mass[body])
            if mass > 0.0:
                ends.append(tree.first_moment[body] / mass)
            found.append(LinkLine(body, np.zeros(3), max(ends, key=lambda point: float(np.linalg.norm(point)))))
    return found


def primitives(robot: Robot) -> list[Part]:
    """Return an arm made of bars, joints and a tool.

    Raises:
        MissingExtraError: The library that makes meshes is not installed.
    """
    make = trimesh_module().creation
    tree, parts = robot.tree, []
    first = THICKNESS * reach_of(robot)
    depth = np.zeros(tree.bodies)
    for body in range(tree.bodies):
        depth[body] = 1.0 + (0.0 if tree.parent[body] == BASE else depth[tree.parent[body]])
    deepest = max(float(depth.max(initial=1.0)), 1.0)

    def radius(body: int) -> float:
        return first * (1.0 - (1.0 - SLIMMER) * (0.0 if body == BASE else depth[body]) / deepest)

    for line in link_lines(robot):
        size = radius(line.body)
        length = float(np.linalg.norm(line.end - line.begin))
        if length > SHORTEST * size:
            mesh = make.capsule(height=length, radius=0.8 * size, count=[20, 20])
            mesh.apply_translation(-mesh.bounds.mean(axis=0))
            color = BASE_COLOR if line.body == BASE else LINK_COLOR
            parts.append(_part(robot, line.body, mesh, _along(line.begin, line.end - line.begin), color))
    for body in range(tree.bodies):
        size, color = radius(body), JOINT_COLOR
        if tree.kind[body] == REVOLUTE:
            mesh = make.cylinder(radius=1.12 * size, height=2.6 * size, sections=32)
            parts.append(_part(robot, body, mesh, np.eye(4), color))
        else:
            parts.append(_part(robot, body, make.box(extents=(2.4 * size, 2.4 * size, 2.0 * size)), np.eye(4), color))
            parts.append(_rail(robot, body, make, 0.5 * size))
        if not np.any(tree.parent == body):
            parts.append(_tool(robot, body, make, size))
    return parts


def trimesh_module() -> Any:
    """Return trimesh, which comes with the extra "view".

    Raises:
        MissingExtraError: It is not installed.
    """
    try:
        import trimesh
    except ImportError as error:
        raise MissingExtraError("drawing an arm", "view") from error
    return trimesh


def _rail(robot: Robot, body: int, make: Any, size: float) -> Part:
    """Return the rail of a linear joint, fixed to its parent."""
    tree = robot.tree
    joint = int(tree.q_index[body])
    low, high = (
        value if math.isfinite(value) else side
        for value, side in ((float(robot.lower[joint]), -0.5), (float(robot.upper[joint]), 0.5))
    )
    axis = tree.rotation[body][:, 2]
    mesh = make.cylinder(radius=size, height=max(high - low, 1e-3), sections=20)
    return _part(
        robot,
        int(tree.parent[body]),
        mesh,
        _along(tree.origin[body] + low * axis, (high - low) * axis),
        BASE_COLOR,
    )


def _tool(robot: Robot, body: int, make: Any, size: float) -> Part:
    """Return a ball at the end of a last body, so that there is something to take hold of."""
    end = max(
        (line.end for line in link_lines(robot) if line.body == body), key=lambda point: float(np.linalg.norm(point))
    )
    mesh = make.icosphere(subdivisions=2, radius=0.95 * size)
    return _part(robot, body, mesh, transform(np.eye(3), end), TOOL_COLOR)


def _slide_begin(robot: Robot, child: int) -> Array:
    """Return where a linear joint's rail begins, seen from its origin at q = 0 [m], shape (3,)."""
    tree = robot.tree
    if tree.kind[child] == REVOLUTE:
        return np.zeros(3)
    low = float(robot.lower[int(tree.q_index[child])])
    return np.asarray((low if math.isfinite(low) else -0.5) * tree.rotation[child][:, 2])


def _along(begin: Array, way: Array) -> Array:
    """Return the pose of a mesh, centred and along z, that is to lie along ``way`` from ``begin``."""
    length = float(np.linalg.norm(way))
    rotation = rotation_with_z_along(way / length) if length > 0.0 else np.eye(3)
    return transform(rotation, begin + 0.5 * way)


def _part(robot: Robot, body: int, mesh: Any, pose: Array, color: Color) -> Part:
    corners = np.asarray(mesh.vertices, dtype=np.float64) @ pose[:3, :3].T + pose[:3, 3]
    return Part(body, body_link(robot, body), corners, np.asarray(mesh.faces, dtype=np.int64), color)
