r"""How large the gain of a gravity estimator that integrates the position error may be.

At a fixed pose ŝ̇ = Z⁺ Q (K_p e − K_d q̇) is integral action on the joints: ĝ̇ = Q (K_p e − K_d q̇). One joint of inertia
M under PD control with that ĝ has the characteristic polynomial

.. math:: M s^3 + K_d s^2 + (K_p + Q K_d)\,s + Q K_p

which by Routh's criterion is stable for K_d K_p > Q (M K_p − K_d²), that is

.. math:: Q < \frac{2 \zeta \omega_n}{1 - 4 \zeta^2}, \qquad
          \omega_n = \sqrt{K_p / M}, \quad \zeta = K_d / (2 \sqrt{K_p M})

and without bound for ζ ≥ ½. The bound falls with M, so the largest inertia over the workspace decides.

That is one joint with the others locked. Joints that are coupled through M(q) swing in common modes that are slower and
less damped than any of them alone: half of the single joints' bound can be unstable on an arm. So the linearised whole
arm is looked at as well,

.. math:: M \ddot e + K_d \dot e + K_p e + x = 0, \qquad \dot x = Q (K_p e + K_d \dot e),

at those poses of the workspace whose modes are the slowest, and must be stable with twice the gains.
"""

from __future__ import annotations

import warnings

import numpy as np

from ..calibration.workspace import workspace_poses
from ..description.frozen import Array
from ..dynamics.inertia import mass_matrix_with_rotors
from ..dynamics.robot import Robot
from ..errors import InputError, ModelError

POSES = 200
"""Poses, spread over the workspace, whose inertias are looked at ..."""
SLOWEST = 8
"""... and of those, how many, with the slowest modes, are looked at as a whole."""
SAFE_SHARE = 0.5
"""Share of the bound up to which a gain is accepted."""


def gain_bound(kp: Array, kd: Array, inertia: Array) -> Array:
    """Return the gain Q at which a joint by itself becomes unstable [1/s], shape (n,); inf where none does.

    Args:
        kp: Stiffness K_p [N m/rad or N/m], shape (n,).
        kd: Damping K_d [N m s/rad or N s/m], shape (n,).
        inertia: What the joint moves, rotor included [kg m² or kg], shape (n,).
    """
    slack = inertia * kp - kd**2
    return np.where(slack > 0.0, kp * kd / np.where(slack > 0.0, slack, 1.0), np.inf)


def mass_matrices(robot: Robot) -> Array:
    """Return M(q) over the workspace, rotors included [kg m² or kg], shape (k, n, n).

    Raises:
        ModelError: The description's inertias do not give a dynamic model.
    """
    return mass_matrix_with_rotors(robot, workspace_poses(robot, POSES))


def largest_inertias(robot: Robot) -> Array:
    """Return the largest diagonal entries of M(q) over the workspace, rotors included [kg m² or kg], shape (n,)."""
    return np.asarray(np.diagonal(mass_matrices(robot), axis1=1, axis2=2).max(axis=0))


def slowest(matrices: Array, kp: Array) -> Array:
    """Return the matrices of the SLOWEST poses with the slowest modes: largest eigenvalue of K_p^-½ M K_p^-½."""
    root = np.sqrt(kp)
    largest = np.linalg.eigvalsh(matrices / np.outer(root, root))[:, -1]
    return np.asarray(matrices[np.argsort(largest)[-SLOWEST:]])


def stable(matrices: Array, q_gain: Array, kp: Array, kd: Array) -> bool:
    """Say whether the whole arm is stable at all poses with mass matrices (k, n, n)."""
    k, n, _ = matrices.shape
    inverse = np.linalg.inv(matrices)
    A = np.zeros((k, 3 * n, 3 * n))  # states e, ė, x
    A[:, :n, n : 2 * n] = np.eye(n)
    A[:, n : 2 * n, :n], A[:, n : 2 * n, n : 2 * n], A[:, n : 2 * n, 2 * n :] = -inverse * kp, -inverse * kd, -inverse
    A[:, 2 * n :, :n], A[:, 2 * n :, n : 2 * n] = np.diag(q_gain * kp), np.diag(q_gain * kd)
    return bool(np.linalg.eigvals(A).real.max() < 0.0)


def stable_factor(matrices: Array, q_gain: Array, kp: Array, kd: Array) -> float:
    """Return by how much all gains together may be multiplied before the arm becomes unstable, to 1 %, at most 2."""
    low, high = 0.0, 1.0 / SAFE_SHARE
    while high - low > 0.01 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if stable(matrices, middle * q_gain, kp, kd) else (low, middle)
        if high < 1e-3:
            break
    return low


def refuse_large_gain(robot: Robot, q_gain: Array, kp: Array, kd: Array) -> None:
    """Refuse a gain above half the bound; warn where the description has no inertias to tell the bound by.

    Raises:
        InputError: The gain is too large; the message gives the bound.
    """
    reason, matrices = "", np.zeros((0, robot.n, robot.n))
    try:
        matrices = mass_matrices(robot)
    except ModelError as error:
        reason = str(error)
    if not reason and not np.all(np.linalg.eigvalsh(matrices)[:, 0] > 0.0):
        reason = f"the masses of '{robot.name}' do not give every joint an inertia"
    if reason:
        warnings.warn(
            f"the stability bound of q_gain is not known: {reason}. Begin with a small gain and watch for oscillation",
            stacklevel=4,
        )
        return
    inertia = np.diagonal(matrices, axis1=1, axis2=2).max(axis=0)
    bound = gain_bound(kp, kd, inertia)
    over = np.flatnonzero(q_gain > SAFE_SHARE * bound)
    if len(over):
        joint = int(over[np.argmin(bound[over])])
        raise InputError(
            f"q_gain of {robot.joint_names[joint]} is {q_gain[joint]:g}/s; it becomes unstable at {bound[joint]:.3g}/s "
            f"(K_p {kp[joint]:g}, K_d {kd[joint]:g}, inertia up to {inertia[joint]:.3g}), so at most "
            f"{SAFE_SHARE * bound[joint]:.3g}/s is accepted. Lower q_gain or raise K_d"
        )
    worst = slowest(matrices, kp)
    if not stable(worst, q_gain / SAFE_SHARE, kp, kd):
        factor = stable_factor(worst, q_gain, kp, kd)
        raise InputError(
            f"with q_gain up to {q_gain.max():g}/s the coupled joints of '{robot.name}' become unstable at "
            f"{factor:.2g} times these gains, so at most {SAFE_SHARE * factor:.2g} times them are accepted, although "
            "each joint by itself would bear more. Lower q_gain or raise K_d"
        )
