"""A robot's description with its payloads as links, which is what file formats know."""

from __future__ import annotations

from dataclasses import replace

from ..description.model import Description, Joint, JointKind, Link
from ..dynamics.robot import Robot


def complete_description(robot: Robot) -> Description:
    """Return the description in which every payload is a link, fixed to the one that carries it.

    Args:
        robot: The robot; where it stands is not part of a description.
    """
    links, joints = list(robot.description.links), list(robot.description.joints)
    taken = {link.name for link in links} | {joint.name for joint in joints}
    for payload in robot.payloads:
        name = _free_name(f"{payload.link}_payload", taken)
        links.append(Link(name, payload.inertia))
        joints.append(Joint(_free_name(f"{name}_mount", taken), JointKind.FIXED, payload.link, name))
    return replace(robot.description, links=tuple(links), joints=tuple(joints))


def _free_name(wanted: str, taken: set[str]) -> str:
    """Return the name, with a number behind it where it is taken; it is taken afterwards."""
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted}_{number}", number + 1
    taken.add(name)
    return name
