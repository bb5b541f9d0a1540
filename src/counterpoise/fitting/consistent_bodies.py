r"""Body parameters that a real body can have, nearest to an estimate.

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

import numpy as np

from ..dynamics import TENSOR_COLUMNS, TENSOR_ROWS
from ..errors import InputError
from ..foundation import Array

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
