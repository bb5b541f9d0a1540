"""The model of a single joint: a robot with one link, for laws, base sensor and safe stop of a SingleJoint plant."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..description.model import STANDARD_GRAVITY, Description, Inertia, Joint, JointKind, Link
from ..dynamics.robot import Robot

if TYPE_CHECKING:
    from .single_joint import OneLink

GRAVITY = 9.81
"""Gravity of the model [m/s²]; where the link is heavy it points along the base's x axis, across the joint's axis."""


def one_link_robot(link: OneLink) -> Robot:
    """Return a robot with the inertia, the holding torque G sin(q + φ) and the limits of ``link``.

    Mass and centre of mass are chosen freely: only their product G / g acts at the joint, and the share of the inertia
    that they take is at most half.

    Args:
        link: The link; its joint turns about the base's z axis.
    """
    moment = abs(link.gravity) / GRAVITY
    mass = max(1.0, 2.0 * moment**2 / link.inertia)
    lever, angle = moment / mass, link.gravity_angle + (math.pi if link.gravity < 0.0 else 0.0)
    about_com = link.inertia - mass * lever**2
    # A disc: the two other moments of inertia are half of the one about the axis, the least that a body can have.
    tensor = about_com * np.diag([0.5, 0.5, 1.0])
    com = np.array([lever * math.cos(angle), lever * math.sin(angle), 0.0])
    joint = Joint(
        name=link.name,
        kind=JointKind.REVOLUTE,
        parent="base",
        child="link",
        lower=link.lower,
        upper=link.upper,
        velocity_limit=link.velocity_limit,
        effort_limit=link.effort_limit,
        rotor_inertia=link.rotor_inertia,
    )
    description = Description(
        name=f"{link.name} alone",
        links=(Link("base"), Link("link", Inertia(mass, com, tensor))),
        joints=(joint,),
        root="base",
        gravity_world=np.array((GRAVITY, 0.0, 0.0) if moment > 0.0 else STANDARD_GRAVITY),
        summary="one joint with the others locked",
    )
    return Robot(description)
