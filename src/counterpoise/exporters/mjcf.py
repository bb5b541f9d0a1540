"""A robot as MJCF: moving bodies with their joints, drives' inertias, limits and motors; links are sites.

Links that are fixed to each other are one body. Gravity is the robot's own in its base frame, so an arm on a wall is
loaded as on its wall though its base axes are MuJoCo's world axes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from xml.etree import ElementTree

import numpy as np

from ..description import TRIANGLE_TOLERANCE, Joint
from ..dynamics import BASE, Robot
from ..errors import ModelError
from ..foundation import Array, cross, wxyz_from_rotation
from .complete import document_text, free_name, numbers_text

LEAST_MASS, LEAST_INERTIA = 1e-12, 1e-14
"""What a body without mass of its own gets, as MuJoCo demands some [kg, kg m²]: its weight is not felt."""
ROUNDING = 1e-12
"""Share of the largest moment by which principal moments may miss what a body can have, beside what files round."""
UNLIMITED = 1e9
"""The other end of a range with one."""


def mjcf_text(robot: Robot, about: Sequence[str] = ()) -> str:
    """Return an MJCF file.

    Args:
        robot: The robot; payloads are part of the bodies that carry them.
        about: Lines for a comment on top.

    Raises:
        ModelError: A joint that follows another, for which MJCF has only a constraint that yields; limits that MuJoCo
            would take for none (an effort of 0, one position only); or an inertia that no body can have.
    """
    tree, joints = robot.tree, {joint.name: joint for joint in robot.description.joints}
    for joint in robot.description.joints:
        if joint.mimic is not None:
            raise ModelError(
                f"joint '{joint.name}' follows '{joint.mimic.master}'; MJCF has no such joints, only constraints that "
                "yield. Write URDF or C instead"
            )
    root = ElementTree.Element("mujoco", model=robot.name)
    least = {"boundmass": numbers_text([LEAST_MASS]), "boundinertia": numbers_text([LEAST_INERTIA])}
    ElementTree.SubElement(root, "compiler", {"angle": "radian", **least})
    ElementTree.SubElement(root, "option", gravity=numbers_text(robot.gravity_base))
    world = ElementTree.SubElement(root, "worldbody")
    actuators = ElementTree.SubElement(root, "actuator")
    # MuJoCo's own root is called world, as are the roots of many files.
    base = free_name(robot.description.root, {"world", *(joint.child for joint in joints.values())})
    elements = {BASE: ElementTree.SubElement(world, "body", name=base)}
    if tree.base_mass > 0.0:
        elements[BASE].append(
            _inertial(robot.description.root, tree.base_mass, tree.base_first_moment, tree.base_inertia)
        )
    for body, name in enumerate(tree.body_names):
        joint = joints[name]
        elements[body] = ElementTree.SubElement(
            elements[int(tree.parent[body])],
            "body",
            {"name": joint.child, **_pose(tree.rotation[body], tree.origin[body])},
        )
        elements[body].append(_joint(joint))
        elements[body].append(_inertial(joint.child, tree.mass[body], tree.first_moment[body], tree.inertia[body]))
        actuators.append(_motor(joint))
    for link, body, rotation, origin in zip(
        tree.link_names, tree.link_body.tolist(), tree.link_rotation, tree.link_origin, strict=True
    ):
        ElementTree.SubElement(elements[body], "site", {"name": link, **_pose(rotation, origin)})
    return document_text(root, about)


def _pose(rotation: Array, origin: Array) -> dict[str, str]:
    return {"pos": numbers_text(origin), "quat": numbers_text(wxyz_from_rotation(rotation))}


def _joint(joint: Joint) -> ElementTree.Element:
    """Return a joint about or along its body's z."""
    limits = {"limited": "false"}
    if math.isfinite(joint.lower) or math.isfinite(joint.upper):
        if not joint.lower < joint.upper:
            raise ModelError(
                f"joint '{joint.name}' has one position only, {joint.lower:g}; MuJoCo would take it for unlimited. "
                "Give its limits, or write URDF or C"
            )
        ends = (max(joint.lower, -UNLIMITED), min(joint.upper, UNLIMITED))
        limits = {"limited": "true", "range": numbers_text(ends)}
    named = {"name": joint.name, "type": "hinge" if joint.kind.rotates else "slide", "axis": "0 0 1"}
    return ElementTree.Element("joint", {**named, "armature": numbers_text([joint.rotor_inertia or 0.0]), **limits})


def _motor(joint: Joint) -> ElementTree.Element:
    """Return a torque or force on a joint, bounded where its limit is known."""
    named = {"name": joint.name, "joint": joint.name}
    if not math.isfinite(joint.effort_limit):
        return ElementTree.Element("motor", named)
    if joint.effort_limit <= 0.0:
        raise ModelError(
            f"joint '{joint.name}' has an effort limit of 0; MuJoCo would take it for unlimited. Give the real one, or "
            "write URDF or C"
        )
    both = numbers_text([-joint.effort_limit, joint.effort_limit])
    limited = {"ctrllimited": "true", "ctrlrange": both, "forcelimited": "true", "forcerange": both}
    return ElementTree.Element("motor", {**named, **limited})


def _inertial(link: str, mass: float, first_moment: Array, inertia: Array) -> ElementTree.Element:
    """Return an <inertial> by its principal axes, from numbers about the body's origin."""
    if mass == 0.0 and not np.any(inertia):
        nothing = {"mass": numbers_text([LEAST_MASS]), "diaginertia": numbers_text([LEAST_INERTIA] * 3)}
        return ElementTree.Element("inertial", {"pos": "0 0 0", **nothing})
    com = first_moment / mass if mass > 0.0 else np.zeros(3)
    moments, axes = np.linalg.eigh(inertia - mass * (com @ com * np.eye(3) - np.outer(com, com)))
    axes[:, 2] = cross(axes[:, 0], axes[:, 1])  # right-handed
    slack = ROUNDING * float(np.abs(inertia).max()) + TRIANGLE_TOLERANCE * max(float(moments[2]), 0.0)
    if mass < 0.0 or moments[0] < -slack or moments[0] + moments[1] < moments[2] - slack:
        raise ModelError(
            f"link '{link}', with all that is fixed to it, has a mass or inertia that no body can have; MuJoCo refuses "
            "such. Correct it, or write URDF or C"
        )
    moments = np.maximum(moments, 0.0)  # and clipped: a tensor that a file rounded is taken, but not by MuJoCo
    moments[2] = min(moments[2], moments[0] + moments[1])
    pose = _pose(axes, com)
    return ElementTree.Element("inertial", {**pose, "mass": numbers_text([mass]), "diaginertia": numbers_text(moments)})
