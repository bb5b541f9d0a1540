"""The shapes that a URDF file gives its links: meshes and primitives of its <visual> elements.

Nothing here concerns torques: a shape that cannot be read is left out with a note, never an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..description.files import read_bounded
from ..description.numbers import parse_number, parse_vector
from ..description.rotations import rotation_from_rpy, transform
from ..description.xml_guard import Element, parse_xml
from ..dynamics.robot import Robot
from ..dynamics.tree import BASE
from ..errors import CounterpoiseError, ModelFileError
from .shapes import LINK_COLOR, Color, Part, trimesh_module

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
    from .shapes import primitives

    visuals = urdf_visuals(robot)
    bodies = {part.body for part in visuals.parts if part.body != BASE}
    if len(bodies) * 2 > robot.tree.bodies:
        return list(visuals.parts), visuals.notes
    notes = visuals.notes[:3]
    if visuals.notes:
        notes = (*notes, "its shapes are not complete: the arm is drawn with bars and cylinders")
    return primitives(robot), notes
