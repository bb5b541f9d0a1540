"""A robot as MJCF: moving bodies with their joints, drives' inertias, limits and motors; links are sites.

Links that are fixed to each other are one body. Gravity is the robot's own in its base frame, so an arm on a wall is
loaded as on its wall though its base axes are MuJoCo's world axes.
"""

from __future__ import annotations

import math
from xml.etree import ElementTree

import numpy as np

from ..description.frozen import Array
from ..description.model import Joint
from ..description.rotations import cross, wxyz_from_rotation
from ..dynamics.robot import Robot
from ..dynamics.tree import BASE
from ..errors import ModelError
from .xml_text import numbers_text

LEAST_MASS, LEAST_INERTIA = 1e-12, 1e-14
"""What a body without mass of its own gets, as MuJoCo demands some [kg, kg m²]: its weight is not felt."""
ROUNDING = 1e-12
"""Share of the largest moment by which principal moments may miss what a body can have."""


def mjcf_text(robot: Robot) -> str:
    """Return an MJCF file.

    Args:
        robot: The robot; payloads are part of the bodies that carry them.

    Raises:
        ModelError: A joint that follows another, for which MJCF has only a constraint that yields; or an inertia that
            no body can have, which MuJoCo refuses.
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
    elements = {BASE: ElementTree.SubElement(world, "body", name=robot.description.root)}
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
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _pose(rotation: Array, origin: Array) -> dict[str, str]:
    return {"pos": numbers_text(origin), "quat": numbers_text(wxyz_from_rotation(rotation))}


def _joint(joint: Joint) -> ElementTree.Element:
    """Return a joint about or along its body's z."""
    limited = math.isfinite(joint.lower) and math.isfinite(joint.upper)
    return ElementTree.Element(
        "joint",
        {
            "name": joint.name,
            "type": "hinge" if joint.kind.rotates else "slide",
            "axis": "0 0 1",
            "armature": numbers_text([joint.rotor_inertia]),
            **({"range": numbers_text([joint.lower, joint.upper])} if limited else {"limited": "false"}),
        },
    )


def _motor(joint: Joint) -> ElementTree.Element:
    """Return a torque or force on a joint, bounded where its limit is known."""
    named = {"name": joint.name, "joint": joint.name}
    if math.isfinite(joint.effort_limit):
        both = numbers_text([-joint.effort_limit, joint.effort_limit])
        return ElementTree.Element("motor", {**named, "ctrlrange": both, "forcerange": both})
    return ElementTree.Element("motor", named)


def _inertial(link: str, mass: float, first_moment: Array, inertia: Array) -> ElementTree.Element:
    """Return an <inertial> by its principal axes, from numbers about the body's origin."""
    if mass == 0.0 and not np.any(inertia):
        nothing = {"mass": numbers_text([LEAST_MASS]), "diaginertia": numbers_text([LEAST_INERTIA] * 3)}
        return ElementTree.Element("inertial", {"pos": "0 0 0", **nothing})
    com = first_moment / mass if mass > 0.0 else np.zeros(3)
    moments, axes = np.linalg.eigh(inertia - mass * (com @ com * np.eye(3) - np.outer(com, com)))
    axes[:, 2] = cross(axes[:, 0], axes[:, 1])  # right-handed
    slack = ROUNDING * float(np.abs(inertia).max())
    if mass < 0.0 or moments[0] < -slack or moments[0] + moments[1] < moments[2] - slack:
        raise ModelError(
            f"link '{link}', with all that is fixed to it, has a mass or inertia that no body can have; MuJoCo refuses "
            "such. Correct it, or write URDF or C"
        )
    moments = np.maximum(moments, 0.0)
    moments[2] = min(moments[2], moments[0] + moments[1])
    pose = _pose(axes, com)
    return ElementTree.Element("inertial", {**pose, "mass": numbers_text([mass]), "diaginertia": numbers_text(moments)})
