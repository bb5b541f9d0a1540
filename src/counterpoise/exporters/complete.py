"""A robot's description with its payloads as links, which is what file formats know; and names that are still free."""

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
