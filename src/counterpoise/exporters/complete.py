"""What exported files need: a description with its payloads as links, names that are still free, and XML text.

Numbers, rotations and comments are stated as XML files state them, to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from xml.etree import ElementTree

from ..description import Description, Joint, JointKind, Link
from ..dynamics import Robot
from ..foundation import Array


def numbers_text(values: Iterable[float]) -> str:
    """Return numbers, separated by spaces, that read back as the same doubles."""
    return " ".join(repr(float(value) + 0.0) for value in values)  # + 0.0: no minus zeros


def rpy_of(rotation: Array) -> tuple[float, float, float]:
    """Return fixed-axis roll, pitch and yaw [rad] of a rotation matrix: R = Rz(yaw) Ry(pitch) Rx(roll), as in URDF.

    The yaw is that of R Rx(−roll), so nothing is lost where roll and yaw are nearly one angle.
    """
    roll = math.atan2(rotation[2, 1], rotation[2, 2])
    pitch = math.atan2(-rotation[2, 0], math.hypot(rotation[0, 0], rotation[1, 0]))
    s, c = math.sin(roll), math.cos(roll)
    yaw = math.atan2(s * rotation[0, 2] - c * rotation[0, 1], c * rotation[1, 1] - s * rotation[1, 2])
    return roll, pitch, yaw


def comment_text(lines: Sequence[str]) -> str:
    """Return lines as an XML comment that they cannot end."""
    return "<!-- " + "\n     ".join(line.replace("--", "- -").rstrip("-") for line in lines) + " -->"


def document_text(root: ElementTree.Element, about: Sequence[str]) -> str:
    """Return a file: what it is about in a comment, then the elements, indented."""
    ElementTree.indent(root)
    head = f"{comment_text(about)}\n" if about else ""
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{head}{ElementTree.tostring(root, encoding="unicode")}\n'


def complete_description(robot: Robot) -> Description:
    """Return the description in which every payload is a link, fixed to the one that carries it.

    Args:
        robot: The robot; where it stands is not part of a description.
    """
    links, joints = list(robot.description.links), list(robot.description.joints)
    taken = taken_names(robot.description)
    for payload in robot.payloads:
        name = free_name(f"{payload.link}_payload", taken)
        links.append(Link(name, payload.inertia))
        joints.append(Joint(free_name(f"{name}_mount", taken), JointKind.FIXED, payload.link, name))
    return replace(robot.description, links=tuple(links), joints=tuple(joints))


def taken_names(description: Description) -> set[str]:
    """Return the names of all links and joints."""
    return {link.name for link in description.links} | {joint.name for joint in description.joints}


def free_name(wanted: str, taken: set[str]) -> str:
    """Return the name, with a number behind it where it is taken; it is taken afterwards."""
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted}_{number}", number + 1
    taken.add(name)
    return name
