"""A robot with fitted masses in the place of those of its file.

Joint torques at rest reveal the base gravity parameters only. The rest (how mass is shared between neighbouring links,
inertias) is taken from the description, so that the calibrated robot's gravity torques are exactly the fit's and all
else stays as near to the description as it can.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from ..description import Inertia
from ..dynamics import BASE, TENSOR_COLUMNS, TENSOR_ROWS, Robot
from ..errors import InputError
from ..foundation import Array
from .prior import arm_reach

FARTHEST_COM = 0.5
"""A centre of mass farther from its joint than this share of the arm's reach is not believed: the body's mass is
raised."""
LEAST_MASS_SHARE = 1e-6
"""Mass of a body that has none but a first moment, as a share of the moving mass: small enough not to be felt."""


def with_gravity_parameters(robot: Robot, base_values: Array) -> Robot:
    """Return the robot with fitted base gravity parameters: first moments change, masses and inertias stay.

    A body whose first moment needs more mass than the description gives it gets more; its parents make up for it, so
    that no torque changes. Tensors about the centres of mass are the description's.

    Args:
        robot: The robot that was fitted.
        base_values: Values of ``robot.base_parameters`` [kg m, or kg for linear joints], shape (b,).
    """
    return with_masses(robot, completed_gravity_parameters(robot, base_values))


def with_masses(robot: Robot, gravity_parameters: Array) -> Robot:
    """Return the robot with other masses and first moments; tensors about the centres of mass stay.

    Args:
        robot: The robot.
        gravity_parameters: Four per moving body, as in ``robot.gravity_parameters``, shape (4 b,).
    """
    gravity = np.asarray(gravity_parameters, dtype=np.float64).reshape(-1, 4)
    old = robot.inertial_parameters[10:].reshape(-1, 10)
    new = np.empty_like(old)
    for body in range(len(new)):
        about_com = _tensor(old[body]) - _steiner(old[body, :4])
        new[body, :4] = gravity[body]
        new[body, 4:] = (about_com + _steiner(gravity[body]))[TENSOR_ROWS, TENSOR_COLUMNS]
    return with_inertial_parameters(robot, new.ravel())


def completed_gravity_parameters(robot: Robot, base_values: Array) -> Array:
    """Return all gravity parameters that amount to base values, masses as described where they suffice, (4 b,)."""
    base = robot.base_parameters
    chosen = list(base.columns)
    values = np.asarray(base_values, dtype=np.float64)
    if values.shape != (len(chosen),) or not np.isfinite(values).all():
        raise InputError(f"base values have shape {values.shape}; expected {len(chosen)} finite numbers: {base.names}")
    parameters = np.array(robot.gravity_parameters)
    farthest = FARTHEST_COM * (arm_reach(robot) or 1.0)
    for _ in range(robot.tree.bodies + 1):
        parameters[chosen] += values - base.regrouping @ parameters
        moments = np.linalg.norm(parameters.reshape(-1, 4)[:, 1:], axis=1)
        light = moments > 1.001 * farthest * parameters[0::4]
        light &= ~np.isin(4 * np.arange(len(moments)), chosen)  # a mass that is itself fitted stays
        if not light.any():
            break
        # From the tips on: what is raised at one body is taken from the first moments before it, so that none is light
        # again, and the last round finds none.
        body = int(np.flatnonzero(light)[-1])
        parameters[4 * body] = moments[body] / farthest
    return parameters


def with_inertial_parameters(robot: Robot, parameters: Array, *, allow_unphysical: bool = False) -> Robot:
    """Return the robot with other mass, first moment and inertia of every moving body.

    The values of a body go to the link that its joint moves; links fixed to it keep their frames and lose their masses.
    Payloads stay payloads.

    Args:
        robot: The robot.
        parameters: Ten per moving body in its joint frame, as in ``robot.inertial_parameters[10:]``, shape (10 b,).
        allow_unphysical: Compute dynamics even from inertias that no real body has; always so where the robot itself
            did.
    """
    tree = robot.tree
    given = np.asarray(parameters, dtype=np.float64)
    if given.shape != (10 * tree.bodies,) or not np.isfinite(given).all():
        raise InputError(f"parameters has shape {given.shape}; expected {10 * tree.bodies} finite numbers")
    own = (given - payload_parameters(robot)).reshape(-1, 10)
    least = LEAST_MASS_SHARE * max(float(np.abs(own[:, 0]).sum()), 1e-3)
    inertias: dict[str, Inertia | None] = {}
    carried: set[int] = {BASE}
    for link, body in zip(tree.link_names, tree.link_body.tolist(), strict=True):
        if body != BASE:
            inertias[link] = None if body in carried else _link_inertia(robot, own[body], link, least)
        carried.add(body)
    links = tuple(
        replace(link, inertia=inertias[link.name]) if link.name in inertias else link
        for link in robot.description.links
    )
    return Robot(
        replace(robot.description, links=links),
        mount=robot.mount,
        gravity=robot.gravity_world,
        payloads=robot.payloads,
        allow_unphysical=allow_unphysical or robot.tree.refusal == "",
    )


def marked(robot: Robot, command_units: str) -> Robot:
    """Return the robot with a note of why its gravity is in command units; "" for one that has torques."""
    if robot.description.command_units == command_units:
        return robot
    return Robot(
        replace(robot.description, command_units=command_units),
        mount=robot.mount,
        gravity=robot.gravity_world,
        payloads=robot.payloads,
        allow_unphysical=robot.tree.refusal == "",
    )


def payload_parameters(robot: Robot) -> Array:
    """Return the share of a robot's payloads in its moving bodies' parameters, shape (10 b,)."""
    return np.asarray((robot.inertial_parameters - robot.without_payload().inertial_parameters)[10:])


def unphysical_links(robot: Robot) -> tuple[str, ...]:
    """Name the links whose inertia no real body has."""
    strict = Robot(robot.description, mount=robot.mount, gravity=robot.gravity_world, payloads=robot.payloads)
    return tuple(re.findall(r"links? '([^']*)'", strict.tree.refusal))


def _link_inertia(robot: Robot, values: Array, link: str, least: float) -> Inertia | None:
    """Return a body's values, given in its joint frame, as the inertia of one of its links."""
    tree = robot.tree
    if not np.any(values):
        return None
    at = tree.link_names.index(link)
    to_body = tree.joint_rotation[tree.link_body[at]]
    mass = float(values[0]) if abs(values[0]) > least else least
    com = to_body @ values[1:4] / mass
    about_com = to_body @ _tensor(values) @ to_body.T - mass * (com @ com * np.eye(3) - np.outer(com, com))
    R_link_body = tree.link_rotation[at].T
    tensor = R_link_body @ about_com @ R_link_body.T
    published = any(
        other.inertia is not None and other.inertia.as_published
        for other in robot.description.links
        if tree.link_body[tree.link_names.index(other.name)] == tree.link_body[at]
    )
    return Inertia(mass, R_link_body @ (com - tree.link_origin[at]), 0.5 * (tensor + tensor.T), published)


def _tensor(values: Array) -> Array:
    tensor = np.zeros((3, 3))
    tensor[TENSOR_ROWS, TENSOR_COLUMNS] = values[4:]
    tensor[TENSOR_COLUMNS, TENSOR_ROWS] = values[4:]
    return tensor


def _steiner(values: Array) -> Array:
    """Return m (c·c 1 − c cᵀ) of [m, m c, …], shape (3, 3); nothing for a body without mass."""
    mass, moment = float(values[0]), values[1:4]
    if mass == 0.0:
        return np.zeros((3, 3))
    return np.asarray((moment @ moment * np.eye(3) - np.outer(moment, moment)) / mass)
