r"""A robot with fitted masses in the place of those of its file.

Joint torques at rest reveal the base gravity parameters only. The rest (how mass is shared between neighbouring links,
inertias) is taken from the description, so that the calibrated robot's gravity torques are exactly the fit's and all
else stays as near to the description as it can.

Body parameters that a real body can have, nearest to an estimate.

Ten numbers m, h = m c and I belong to a real distribution of mass exactly when the pseudo-inertia

.. math:: J = \begin{pmatrix} \tfrac12 \operatorname{tr}(I)\,1 - I & h \\ h^T & m \end{pmatrix}

is positive definite ([Wensing2018]). J is linear in the parameters, so the nearest such parameters, in the metric of
the estimate's own covariance, are the minimum of a convex function. It is found with a logarithmic barrier,

.. math:: \tfrac12 (\phi - \hat\phi)^T \Lambda (\phi - \hat\phi) - \mu \sum_b \log\det J_b(\phi),

by Newton steps for μ falling to MU_LAST: the result is then within 4 b MU_LAST of the best distance².

Standard parameters are more than joint torques reveal. What the data leave open comes from the prior, so there must be
one: without it the result would be arbitrary.
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

MU_FIRST, MU_LAST, MU_FACTOR = 1.0, 1e-6, 0.2
MAX_NEWTON = 60
LEAST_EIGENVALUE = 1e-4
"""Least eigenvalue of the starting point, as a share of the largest one."""


def _unit_matrices() -> Array:
    """Return J of each of the ten parameters alone, shape (10, 4, 4)."""
    found = np.zeros((10, 4, 4))
    found[0, 3, 3] = 1.0
    for axis in range(3):
        found[1 + axis, axis, 3] = found[1 + axis, 3, axis] = 1.0
    for place, (row, column) in enumerate(zip(TENSOR_ROWS, TENSOR_COLUMNS, strict=True)):
        tensor = np.zeros((3, 3))
        tensor[row, column] = tensor[column, row] = 1.0
        found[4 + place, :3, :3] = 0.5 * np.trace(tensor) * np.eye(3) - tensor
    return found


UNITS = _unit_matrices()


def pseudo_inertia(parameters: Array) -> Array:
    """Return J of ten parameters per body, shape (b, 4, 4), for parameters of shape (b, 10)."""
    return np.asarray(np.einsum("bp,pij->bij", parameters, UNITS), dtype=np.float64)


def is_consistent(parameters: Array) -> bool:
    """Say whether every body of shape (b, 10) can be real."""
    return bool(np.all(np.linalg.eigvalsh(pseudo_inertia(parameters)) > 0.0))


def nearest_consistent(estimate: Array, covariance: Array, start: Array) -> Array:
    """Return the physically consistent parameters nearest to an estimate.

    Args:
        estimate: Ten parameters per body, in a row, shape (10 b,).
        covariance: Of the estimate, positive definite, shape (10 b, 10 b).
        start: Parameters to start from, e.g. the CAD values, shape (10 b,); made consistent where they are not.

    Returns:
        Shape (10 b,); the estimate itself where it is consistent already.

    Raises:
        InputError: The covariance is singular: something is known of neither data nor prior.
    """
    if is_consistent(estimate.reshape(-1, 10)):
        return estimate.copy()
    size = np.sqrt(np.diag(covariance))
    if not np.all(size > 0.0):
        raise InputError("consistent parameters need an uncertainty for every parameter; fit with a prior")
    try:
        metric = np.linalg.inv(covariance / np.outer(size, size)) / np.outer(size, size)
    except np.linalg.LinAlgError as error:
        raise InputError("consistent parameters need a prior: the covariance of the estimate is singular") from error
    phi = _inside(start)
    mu = MU_FIRST
    while mu >= MU_LAST:
        phi = _newton(phi, estimate, metric, size, mu)
        mu *= MU_FACTOR
    return phi


def _newton(phi: Array, estimate: Array, metric: Array, size: Array, mu: float) -> Array:
    value = _cost(phi, estimate, metric, mu)
    for _ in range(MAX_NEWTON):
        gradient, hessian = _slopes(phi, estimate, metric, mu)
        # In units of the standard deviations: the parameters' own differ by orders of magnitude.
        scaled = np.linalg.solve(hessian * np.outer(size, size), -gradient * size)
        step = scaled * size
        decrement = float(-gradient @ step)
        if decrement < 1e-9:
            break
        length = 1.0
        while True:
            trial = _cost(phi + length * step, estimate, metric, mu)
            if trial <= value - 0.25 * length * decrement or length < 1e-12:
                break
            length *= 0.5
        phi, value = phi + length * step, trial
    return phi


def _cost(phi: Array, estimate: Array, metric: Array, mu: float) -> float:
    try:
        roots = np.linalg.cholesky(pseudo_inertia(phi.reshape(-1, 10)))
    except np.linalg.LinAlgError:
        return np.inf
    away = phi - estimate
    logs = 2.0 * float(np.sum(np.log(np.diagonal(roots, axis1=1, axis2=2))))
    return 0.5 * float(away @ metric @ away) - mu * logs


def _slopes(phi: Array, estimate: Array, metric: Array, mu: float) -> tuple[Array, Array]:
    """Return gradient and Hessian: of −log det J they are −tr(J⁻¹ E_p) and tr(J⁻¹ E_p J⁻¹ E_q)."""
    inverse = np.linalg.inv(pseudo_inertia(phi.reshape(-1, 10)))
    turned = np.einsum("bij,pjk->bpik", inverse, UNITS)
    gradient = metric @ (phi - estimate) - mu * np.einsum("bpii->bp", turned).ravel()
    hessian = metric.copy()
    curvature = mu * np.einsum("bpij,bqji->bpq", turned, turned)
    for body, block in enumerate(curvature):
        at = slice(10 * body, 10 * body + 10)
        hessian[at, at] += block
    return gradient, hessian


def _inside(start: Array) -> Array:
    """Return parameters with every J positive definite: eigenvalues raised where they are too small."""
    found = np.empty_like(start).reshape(-1, 10)
    for body, J in enumerate(pseudo_inertia(start.reshape(-1, 10))):
        values, vectors = np.linalg.eigh(J)
        least = LEAST_EIGENVALUE * max(float(np.abs(values).max()), 1e-3)
        raised = (vectors * np.maximum(values, least)) @ vectors.T
        second = raised[:3, :3]
        inertia = np.trace(second) * np.eye(3) - second
        entries = inertia[TENSOR_ROWS, TENSOR_COLUMNS]
        found[body] = [raised[3, 3], *raised[:3, 3], *entries]
    return found.ravel()


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
    kept = list(base.columns)
    values = np.asarray(base_values, dtype=np.float64)
    if values.shape != (len(kept),) or not np.isfinite(values).all():
        raise InputError(f"base values have shape {values.shape}; expected {len(kept)} finite numbers: {base.names}")
    parameters = np.array(robot.gravity_parameters)
    farthest = FARTHEST_COM * (arm_reach(robot) or 1.0)
    for _ in range(robot.tree.bodies + 1):
        parameters[kept] += values - base.regrouping @ parameters
        moments = np.linalg.norm(parameters.reshape(-1, 4)[:, 1:], axis=1)
        light = moments > 1.001 * farthest * parameters[0::4]
        light &= ~np.isin(4 * np.arange(len(moments)), kept)  # a mass that is itself fitted stays
        if not light.any():
            break
        # From the tips on: what is raised at one body is taken from the first moments before it.
        body = int(np.flatnonzero(light)[-1])
        parameters[4 * body] = moments[body] / farthest
    parameters[kept] += values - base.regrouping @ parameters
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
