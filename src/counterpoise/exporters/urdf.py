"""A robot as URDF: links, joints, limits and inertias; what a file had beside these, meshes above all, is not known.

A link frame that does not sit at its joint (DH tables have such) hangs behind a frame that does, by a fixed joint.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from xml.etree import ElementTree

import numpy as np

from ..description.frozen import Array
from ..description.model import Joint, JointKind, Link
from ..dynamics.robot import Robot
from ..errors import ModelError
from .complete import complete_description, free_name, taken_names
from .xml_text import document_text, numbers_text, rpy_of

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
