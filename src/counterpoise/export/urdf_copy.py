"""A URDF file with other masses: all else, meshes and comments included, stays as it is."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np

from ..description.urdf import parse_urdf
from ..dynamics.robot import Robot
from ..errors import ModelFileError
from .complete import complete_description
from .urdf import fixed_joint_element, inertial_element, link_element


def urdf_copy(data: bytes, robot: Robot) -> str:
    """Return the file with the robot's masses in the place of its own.

    A calibration gives all the mass of links that are fixed to each other to the one behind the joint; the others lose
    their <inertial>. Payloads become links.

    Args:
        data: The file that the robot was read from.
        robot: The robot, with whatever masses and payloads.

    Raises:
        ModelFileError: The file cannot be read, or its links or joints are others than the robot's.
    """
    own, description = parse_urdf(data, robot.description.path), complete_description(robot)
    own_names = [link.name for link in own.links], [joint.name for joint in own.joints]
    if own_names != (
        [link.name for link in robot.description.links],
        [joint.name for joint in robot.description.joints],
    ):
        raise ModelFileError("has other links or joints than the robot that is written", path=own.path)
    root = ElementTree.fromstring(
        data, ElementTree.XMLParser(target=ElementTree.TreeBuilder(insert_comments=True, insert_pis=True))
    )
    elements = {element.get("name"): element for element in root.iterfind("link")}
    for link in description.links:
        if link.name not in elements:
            root.append(link_element(link))
            continue
        _replace_inertial(elements[link.name], None if link.inertia is None else inertial_element(link.inertia))
    for joint in description.joints[len(own.joints) :]:
        root.append(fixed_joint_element(joint.name, joint.parent, joint.child, np.eye(4)))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _replace_inertial(link: ElementTree.Element, inertial: ElementTree.Element | None) -> None:
    """Put an <inertial> in the place of the one that is there, or remove that."""
    old = link.find("inertial")
    at = 0 if old is None else list(link).index(old)
    if old is not None:
        link.remove(old)
    if inertial is not None:
        link.insert(at, inertial)
