"""The arm in the 3D scene: one frame a body, its pieces as children, moved by setting the frames' poses.

What an arm looks like are the meshes and primitives of its URDF file's <visual> elements, or clean primitives where
there are none. A description carries no shapes. Without a file's own, every link is a rounded bar from its joint to the
joints that it carries, and every joint a short cylinder along its axis (a rail where it slides).

Nothing here concerns torques: a shape that cannot be read is left out with a note, never an error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..dynamics import BASE, REVOLUTE, Robot, body_poses
from ..errors import CounterpoiseError, MissingExtraError, ModelFileError
from ..foundation import (
    Array,
    Element,
    parse_number,
    parse_vector,
    parse_xml,
    read_bounded,
    rotation_from_rpy,
    rotation_with_z_along,
    transform,
    wxyz_from_rotation,
)

if TYPE_CHECKING:
    from viser import ViserServer


ENDINGS = (".stl", ".obj", ".ply", ".dae", ".glb", ".gltf")
MAX_MESH_BYTES = 64 * 1024 * 1024
MOST_FACES = 40_000
"""A mesh with more triangles than this is left out: a browser would stutter."""


@dataclass(frozen=True, slots=True, eq=False)
class Visuals:
    """What a file gives to look at.

    Attributes:
        parts: The pieces, in body frames.
        bare: Links with mass that have none.
        notes: What could not be read, one sentence each.
    """

    parts: tuple[Part, ...]
    bare: tuple[str, ...]
    notes: tuple[str, ...]


def urdf_visuals(robot: Robot) -> Visuals:
    """Return the shapes of the robot's own file; none where it does not come from a URDF file."""
    path = robot.description.path
    links = {link.name for link in robot.description.links if link.inertia is not None}
    if path is None or Path(path).suffix.lower() not in (".urdf", ".xml"):
        return Visuals((), tuple(sorted(links)), ())
    try:
        root = parse_xml(read_bounded(path), path)
    except CounterpoiseError as error:
        return Visuals((), tuple(sorted(links)), (str(error),))
    if root.tag != "robot":
        return Visuals((), tuple(sorted(links)), ())
    colors = _named_colors(root)
    parts: list[Part] = []
    notes: list[str] = []
    for link in root.all("link"):
        name = link.attributes.get("name", "")
        if name not in robot.link_names:
            continue
        for visual in link.all("visual"):
            try:
                parts.append(_piece(robot, name, visual, Path(path), colors))
            except ModelFileError as error:
                notes.append(str(error))
    seen = {part.link for part in parts}
    return Visuals(tuple(parts), tuple(sorted(links - seen)), tuple(notes))


def _piece(robot: Robot, link: str, visual: Element, path: Path, colors: dict[str, Color]) -> Part:
    shapes = [shape for geometry in visual.all("geometry") for shape in geometry.children]
    if not shapes:
        raise ModelFileError(f"link '{link}': a <visual> without a shape", path=path, line=visual.line)
    shape = shapes[0]
    mesh = _mesh(shape, path)
    origin = next(iter(visual.all("origin")), None)
    T_link_visual = np.eye(4)
    if origin is not None:
        xyz = parse_vector(
            origin.attributes.get("xyz", "0 0 0"), 3, what="visual xyz", path=str(path), line=origin.line
        )
        rpy = parse_vector(
            origin.attributes.get("rpy", "0 0 0"), 3, what="visual rpy", path=str(path), line=origin.line
        )
        T_link_visual = transform(rotation_from_rpy(rpy), xyz)
    tree = robot.tree
    index = robot.link_names.index(link)
    pose = transform(tree.link_rotation[index], tree.link_origin[index]) @ T_link_visual
    vertices = np.asarray(mesh.vertices, dtype=np.float64) @ pose[:3, :3].T + pose[:3, 3]
    faces = np.asarray(mesh.faces, dtype=np.int64)
    return Part(int(tree.link_body[index]), link, vertices, faces, _color(visual, colors))


def _mesh(shape: Element, path: Path) -> Any:
    trimesh = trimesh_module()

    def number(name: str) -> float:
        return parse_number(shape.attributes.get(name, ""), what=f"visual {name}", path=str(path), line=shape.line)

    if shape.tag == "box":
        size = parse_vector(shape.attributes.get("size", ""), 3, what="visual size", path=str(path), line=shape.line)
        return trimesh.creation.box(extents=np.abs(size))
    if shape.tag == "cylinder":
        return trimesh.creation.cylinder(radius=abs(number("radius")), height=abs(number("length")), sections=32)
    if shape.tag == "sphere":
        return trimesh.creation.icosphere(subdivisions=3, radius=abs(number("radius")))
    if shape.tag != "mesh":
        raise ModelFileError(f"<{shape.tag[:20]}> is no shape that can be drawn", path=path, line=shape.line)
    file = mesh_file(shape.attributes.get("filename", ""), path)
    if file is None:
        told = shape.attributes.get("filename", "")[:120]
        raise ModelFileError(f"mesh '{told}' was not found beside the file", path=path, line=shape.line)
    scale = np.ones(3)
    if "scale" in shape.attributes:
        scale = np.array(
            parse_vector(shape.attributes["scale"], 3, what="visual scale", path=str(path), line=shape.line)
        )
    try:
        mesh = trimesh.load(file, force="mesh")
        corners, faces = np.asarray(mesh.vertices, dtype=np.float64), np.asarray(mesh.faces)
    except Exception as error:  # a mesh library's readers raise whatever comes; a picture is not worth a crash
        raise ModelFileError(f"mesh cannot be read: {type(error).__name__}: {error}", path=file) from error
    if len(faces) == 0 or len(faces) > MOST_FACES or not np.all(np.isfinite(corners)):
        raise ModelFileError(f"mesh has {len(faces)} triangles; expected 1 to {MOST_FACES}", path=file)
    return trimesh.Trimesh(corners * scale, faces, process=False)


def mesh_file(name: str, urdf: Path) -> Path | None:
    """Return the file that a mesh's name means, or None: relative to the URDF, or in its package by the folder's name.

    Args:
        name: E.g. "meshes/base.stl", "file:///…" or "package://arm_description/meshes/base.stl".
        urdf: The URDF file.
    """
    tried: list[Path] = []
    if name.startswith("package://"):
        package, _, rest = name.removeprefix("package://").partition("/")
        for folder in urdf.resolve().parents:
            tried += [folder / package / rest, *([folder / rest] if folder.name == package else [])]
    else:
        tried.append(urdf.parent / name.removeprefix("file://"))
    for file in tried:
        try:
            if file.suffix.lower() in ENDINGS and file.is_file() and file.stat().st_size <= MAX_MESH_BYTES:
                return file
        except (OSError, ValueError):  # a name too long, or with a NUL byte, is no file
            continue
    return None


def _named_colors(root: Element) -> dict[str, Color]:
    found = {}
    for material in root.all("material"):
        color = _rgba(material)
        if color is not None:
            found[material.attributes.get("name", "")] = color
    return found


def _color(visual: Element, named: dict[str, Color]) -> Color:
    for material in visual.all("material"):
        color = _rgba(material) or named.get(material.attributes.get("name", ""))
        if color is not None:
            return color
    return LINK_COLOR


def _rgba(material: Element) -> Color | None:
    for color in material.all("color"):
        words = color.attributes.get("rgba", "").split()
        try:
            red, green, blue = (int(255 * min(max(float(word), 0.0), 1.0)) for word in words[:3])
        except ValueError:
            return None
        return red, green, blue
    return None


def parts_of(robot: Robot) -> tuple[list[Part], tuple[str, ...]]:
    """Return what to draw of an arm, its file's shapes or primitives, and notes about what is missing."""
    visuals = urdf_visuals(robot)
    bodies = {part.body for part in visuals.parts if part.body != BASE}
    if len(bodies) * 2 > robot.tree.bodies:
        return list(visuals.parts), visuals.notes
    notes = visuals.notes[:3]
    if visuals.notes:
        notes = (*notes, "its shapes are not complete: the arm is drawn with bars and cylinders")
    return primitives(robot), notes


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
