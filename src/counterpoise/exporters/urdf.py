"""A robot as URDF: written anew from the model, or a copy of its URDF file with other masses.

Written anew, a file has links, joints, limits and inertias; what a file had beside these, meshes above all, is not
known. A link frame that does not sit at its joint (DH tables have such) hangs behind a frame that does, by a fixed
joint.

In a copy all but the masses stays as it is, letter by letter. The text is not parsed and written anew, which would lose
comments, prefixes and the author's own layout: the places of its <inertial> elements are found, and new ones are put
there.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree
from xml.parsers import expat

import numpy as np

from ..description import Description, Joint, JointKind, Link, parse_urdf
from ..dynamics import Robot
from ..errors import ModelError, ModelFileError
from ..foundation import Array
from .complete import comment_text, complete_description, document_text, free_name, numbers_text, rpy_of, taken_names

UNLIMITED = 1e9
"""Written where URDF demands a limit and none is known."""


def urdf_text(robot: Robot, about: Sequence[str] = ()) -> str:
    """Return a URDF file.

    Where the robot stands, gravity and rotor inertias are no part of URDF.

    Args:
        robot: The robot; payloads become links.
        about: Lines for a comment on top.

    Raises:
        ModelError: A link of negative mass, which no reader takes.
    """
    description = complete_description(robot)
    taken = taken_names(description)
    root = ElementTree.Element("robot", name=description.name)
    for link in description.links:
        root.append(link_element(link))
    for joint in description.joints:
        root.extend(_joint_elements(joint, taken))
    return document_text(root, about)


def link_element(link: Link) -> ElementTree.Element:
    """Return a <link>, with its <inertial> where it has one."""
    element = ElementTree.Element("link", name=link.name)
    if (inertial := inertial_element(link)) is not None:
        element.append(inertial)
    return element


def inertial_element(link: Link) -> ElementTree.Element | None:
    """Return an <inertial>, tensor about the centre of mass along the link's axes; None for a link without one.

    Raises:
        ModelError: Its mass is negative.
    """
    inertia = link.inertia
    if inertia is None:
        return None
    if inertia.mass < 0.0:
        raise ModelError(
            f"link '{link.name}' has a mass of {inertia.mass:.4g} kg, which no reader of URDF takes. Is a payload "
            "declared that was not there when the arm was calibrated? C can be written"
        )
    element = ElementTree.Element("inertial")
    ElementTree.SubElement(element, "origin", xyz=numbers_text(inertia.com), rpy="0 0 0")
    ElementTree.SubElement(element, "mass", value=numbers_text([inertia.mass]))
    tensor = inertia.tensor_com
    names = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}
    ElementTree.SubElement(element, "inertia", {name: numbers_text([tensor[at]]) for name, at in names.items()})
    return element


def fixed_joint_element(name: str, parent: str, child: str, T_parent_child: Array) -> ElementTree.Element:
    """Return a <joint> that does not move."""
    element = ElementTree.Element("joint", name=name, type=JointKind.FIXED.value)
    _add_frame(element, parent, child, T_parent_child)
    return element


def _joint_elements(joint: Joint, taken: set[str]) -> list[ElementTree.Element]:
    """Return the joint, and behind it the frame of a link that does not sit at its joint."""
    if joint.kind is JointKind.FIXED:
        return [fixed_joint_element(joint.name, joint.parent, joint.child, joint.T_parent_joint @ joint.T_joint_child)]
    endless = joint.kind.rotates and math.isinf(joint.lower) and math.isinf(joint.upper)
    kind = JointKind.CONTINUOUS if endless else joint.kind
    element = ElementTree.Element("joint", name=joint.name, type=kind.value)
    away = not np.array_equal(joint.T_joint_child, np.eye(4))
    behind = free_name(f"{joint.child}_at_{joint.name}", taken) if away else joint.child
    _add_frame(element, joint.parent, behind, joint.T_parent_joint)
    ElementTree.SubElement(element, "axis", xyz=numbers_text(joint.axis))
    limits = {"effort": joint.effort_limit, "velocity": joint.velocity_limit}
    if kind is not JointKind.CONTINUOUS:
        limits = {"lower": joint.lower, "upper": joint.upper, **limits}
    finite = {name: max(min(value, UNLIMITED), -UNLIMITED) for name, value in limits.items()}
    ElementTree.SubElement(element, "limit", {name: numbers_text([value]) for name, value in finite.items()})
    if joint.mimic is not None:
        numbers = {"multiplier": joint.mimic.multiplier, "offset": joint.mimic.offset}
        words = {name: numbers_text([value]) for name, value in numbers.items()}
        ElementTree.SubElement(element, "mimic", {"joint": joint.mimic.master, **words})
    if not away:
        return [element]
    frame = ElementTree.Element("link", name=behind)
    mount = fixed_joint_element(free_name(f"{behind}_mount", taken), behind, joint.child, joint.T_joint_child)
    return [frame, element, mount]


def _add_frame(element: ElementTree.Element, parent: str, child: str, T_parent_child: Array) -> None:
    ElementTree.SubElement(
        element, "origin", xyz=numbers_text(T_parent_child[:3, 3]), rpy=numbers_text(rpy_of(T_parent_child[:3, :3]))
    )
    ElementTree.SubElement(element, "parent", link=parent)
    ElementTree.SubElement(element, "child", link=child)


DECLARATION = re.compile(r"^\ufeff?<\?xml[^>]*\?>")
BYTE_ORDER_MARKS = {b"\xef\xbb\xbf": "utf-8", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


def urdf_copy(data: bytes, robot: Robot, about: Sequence[str] = ()) -> str:
    """Return the file, as UTF-8, with the robot's masses in the place of its own, and locked joints fixed.

    A calibration gives all the mass of links that are fixed to each other to the one behind the joint; the others lose
    their <inertial>. Payloads become links.

    Args:
        data: The file that the robot was read from.
        robot: The robot, with whatever masses and payloads.
        about: Lines for a comment at the beginning of the robot.

    Raises:
        ModelFileError: The file cannot be read, or its links or joints are others than the robot's.
        ModelError: A link of negative mass, which no reader takes.
    """
    own, description = parse_urdf(data, robot.description.path), complete_description(robot)
    moving = {joint.name for joint in own.joints if joint.kind is not JointKind.FIXED}
    locked = [joint for joint in robot.description.joints if joint.kind is JointKind.FIXED and joint.name in moving]
    names = {joint.name for joint in locked}
    if _geometry(own, names) != _geometry(robot.description, names):
        raise ModelFileError("has other links or joints than the robot that is written", path=own.path)
    text = _decoded(data, own.path)
    places = _places(text.encode())
    edits: list[tuple[int, int, str]] = []  # from byte, to byte, new text
    if about:
        edits.append((places.begin, places.begin, f"\n  {comment_text(about)}"))
    for link in description.links[: len(own.links)]:
        edits.append(places.links[link.name].edit(inertial_element(link)))
    for joint in locked:
        start, end = places.joints[joint.name]
        edits.append((start, end, _shown(_joint_elements(joint, set())[0], _margin(places.text, start))))
    added = [link_element(link) for link in description.links[len(own.links) :]]
    added += [
        fixed_joint_element(joint.name, joint.parent, joint.child, np.eye(4))
        for joint in description.joints[len(own.joints) :]
    ]
    edits.append((places.end, places.end, "".join(f"  {_shown(element, '  ')}\n" for element in added)))
    raw = text.encode()
    for start, end, new in sorted(edits, reverse=True):
        raw = raw[:start] + new.encode() + raw[end:]
    return raw.decode()


def _geometry(description: Description, locked: set[str]) -> list[object]:
    """Return what a copy takes over from the file: names of links, and of joints all; of locked ones what they join."""
    links: list[object] = [link.name for link in description.links]
    for joint in description.joints:
        if joint.name in locked:
            links.append((joint.name, joint.parent, joint.child))
            continue
        frames = (joint.T_parent_joint, joint.axis, joint.T_joint_child)
        numbers = (joint.lower, joint.upper, joint.effort_limit, joint.velocity_limit)
        links.append((joint.name, joint.kind, joint.parent, joint.child, joint.mimic, numbers))
        links += [frame.tolist() for frame in frames]
    return links


@dataclass(frozen=True)
class _LinkPlace:
    """Where a <link> is in a file, in bytes from and to.

    Attributes:
        opening: The start tag; of an empty element the whole.
        empty: Whether it is one: <link name="..."/>.
        inertial: The <inertial> element; None where there is none.
        margin: White space before the start tag.
        text: The file.
    """

    opening: tuple[int, int]
    empty: bool
    inertial: tuple[int, int] | None
    margin: str
    text: bytes

    def edit(self, element: ElementTree.Element | None) -> tuple[int, int, str]:
        """Return where to put an <inertial>, or take one away: from byte, to byte, new text."""
        inner = f"{self.margin}  "
        if self.inertial is not None:
            start, end = self.inertial
            margin = _margin(self.text, start)
            if element is None:
                return start - len(margin.encode()), end, ""
            return start, end, _shown(element, margin)
        at = self.opening[1]
        if element is None:
            return at, at, ""
        if not self.empty:
            return at, at, f"\n{inner}{_shown(element, inner)}"
        tag = self.text[self.opening[0] : at].decode().removesuffix("/>").rstrip()
        return self.opening[0], at, f"{tag}>\n{inner}{_shown(element, inner)}\n{self.margin}</link>"


@dataclass
class _Places:
    """Where a file's links and joints are, its robot begins (behind the start tag) and ends (before the end tag)."""

    text: bytes
    links: dict[str, _LinkPlace]
    joints: dict[str, tuple[int, int]]
    begin: int
    end: int


def _places(raw: bytes) -> _Places:
    """Find the links of a file that was read before: it is well formed, and names and inertials stand once."""
    found = _Places(raw, {}, {}, 0, len(raw))
    parser = expat.ParserCreate()
    path: list[str] = []
    link: dict[str, tuple[int, int] | None] = {}
    name = ""

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal name
        path.append(tag)
        place = (parser.CurrentByteIndex, _tag_end(raw, parser.CurrentByteIndex))
        if len(path) == 1:
            found.begin = place[1]
        elif path[1:] == ["link"]:
            name = attributes["name"]
            link.update(opening=place, inertial=None)
        elif path[1:] == ["link", "inertial"]:
            link["inertial"] = place
        elif path[1:] == ["joint"]:
            name = attributes["name"]
            found.joints[name] = place

    def end(_: str) -> None:
        at = parser.CurrentByteIndex
        if path[1:] == ["link", "inertial"] and link["inertial"] is not None:
            link["inertial"] = (link["inertial"][0], _tag_end(raw, at))
        elif path[1:] == ["link"] and (opening := link["opening"]) is not None:
            empty = raw[opening[1] - 2 : opening[1]] == b"/>"
            found.links[name] = _LinkPlace(opening, empty, link["inertial"], _margin(raw, opening[0]), raw)
        elif path[1:] == ["joint"]:
            found.joints[name] = (found.joints[name][0], _tag_end(raw, at))
        elif len(path) == 1:
            found.end = at
        path.pop()

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.Parse(raw, True)
    return found


def _tag_end(raw: bytes, start: int) -> int:
    """Return the byte behind a tag; '>' may stand in quotes."""
    quote = b""
    for at in range(start, len(raw)):
        letter = raw[at : at + 1]
        if quote:
            quote = b"" if letter == quote else quote
        elif letter in (b'"', b"'"):
            quote = letter
        elif letter == b">":
            return at + 1
    return len(raw)


def _margin(raw: bytes, at: int) -> str:
    """Return the white space between the beginning of a line and a byte; "" where something else is there."""
    line = raw[raw.rfind(b"\n", 0, at) + 1 : at]
    return line.decode() if not line.strip() else ""


def _shown(element: ElementTree.Element, margin: str) -> str:
    """Return an element as text, its lines but the first behind a margin."""
    ElementTree.indent(element)
    return ElementTree.tostring(element, encoding="unicode").replace("\n", f"\n{margin}")


def _decoded(data: bytes, path: str | None) -> str:
    """Return the file's text, its declaration, if it has one, for UTF-8."""
    mark = next((name for bom, name in BYTE_ORDER_MARKS.items() if data.startswith(bom)), None)
    stated = re.match(rb"<\?xml[^>]*encoding\s*=\s*[\"']([A-Za-z0-9._-]+)", data)
    encoding = mark or (stated[1].decode() if stated else "utf-8")
    try:
        text = data.decode(encoding)
    except (LookupError, UnicodeError) as error:
        raise ModelFileError(f"cannot be read as {encoding}: {error}", path=path) from error
    return DECLARATION.sub('<?xml version="1.0" encoding="UTF-8"?>', text, count=1).removeprefix("\ufeff")
