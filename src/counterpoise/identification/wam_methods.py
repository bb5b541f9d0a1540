"""The WAM document's two calibrations: by the coupled matrix (§3) and link by link (§4) [Dellin2008].

**One link's equations** ([Dellin2008], eqs. (14)–(19)), in the frames of our bodies. For link j at rest, with t_j the
torque that its parent exerts on it, taken at joint j,

    t_j − Σ_children R_c^j t_c = g^j × μ_j,        t_j = L c_j + Z τ_j                              (14), (15), (17)

τ_j is what the actuator of joint j applies, c_j are the two components that no actuator measures, and μ_j is the
cumulative first moment. The document writes this for a chain; on a tree the sum runs over all children of the link.

Our body frame j has joint j's own axis as z. The document's frame j differs from it by a constant rotation, and its
c_j by a turn in the plane across the axis: both leave lengths alone, so least squares, with a ridge or without, has the
same solution in either.

μ_j does not depend on the pose only if every joint is rotary. A linear joint moves masses along the links before it.

**The coupled matrix**, the document's §3: all links and poses in one system ([Dellin2008], eq. (25)). Unknowns are the
first moments of all links and, for each pose, the 2 n torques c_j that no actuator measures; every link and pose gives
three equations. The system is solved as it stands, in the plain least-squares sense. Its columns for c_j belong to one
pose each, so the orthogonal transformation of a sparse QR works pose by pose: of the 3 n equations of a pose 2 n fix
its c_j, and the n others, free of them, go into one small triangular factor. Cost is linear in the number of poses. Of
the 3 n columns of first moments the structural base is kept: the rest are exact combinations of it, and the result
speaks of the same numbers as the other methods.

What it believes. Call e_j the error of link j's equation, in base axes, and h_j = g × μ_j. Summing (14) from the tips
to joint i gives t_i = Σ_{k at or beyond i} (h_k + e_k); along the axis, τ_i = z_i · t_i = Y_i μ + ε_i with
ε_i = z_i · Σ_{k ≥ i} e_k. Minimising Σ|e_k|² over the free c_j is to find the smallest e that explains ε = A e, which
costs εᵀ (A Aᵀ)⁻¹ ε. So the coupled solution is generalised least squares on the eliminated form τ = Y μ with covariance

    (A Aᵀ)_ij = (n − max(i, j) + 1) z_i · z_j

(on a tree: the number of bodies that both joints carry, times z_i · z_j). It holds the last joint to be the most
precise and the first the least, by a fixed n : 1 in variance, and the errors of parallel joints to go together. Real
drives differ by a hundred and more, and independently: that is why the document finds it imprecise on the end links.

**Link by link**, from the tips to the base, the document's §4 ([Dellin2008], eqs. (26)–(28)). For one link and all
poses the unknowns are its first moment μ_j and, per pose, the two torques c_j that its actuator does not measure:

    Z τ_j − Σ_children R_c^j (L c_c + Z τ_c) = [g^j]× μ_j − L c_j                                        (26), (28)

with everything on the left known once the links beyond are done. As written the system is singular: of μ_j the part
along the joint's own axis, and on an upright arm the whole of μ_1, cannot be distinguished from c_j or are not felt at
all, and a plain solution returns numbers around 1e12. One of two remedies must be chosen:

- ``ridge=None``, the default: an absolute threshold. Directions of μ_j that change the torque by less than THRESHOLD of
  their full weight, over the poses, are left at zero. What can be known comes out exact.
- ``ridge=λ``: λ |(μ_j, c_j)|² is added, on all 3 + 2k unknowns, as Barrett's own program does (libbarrett, gravitycal,
  λ = 1e-6): it reproduces the vectors of Barrett's files, at the price of a small bias.

In body axes −L has orthonormal columns, so c_j follows from μ_j pose by pose, c_j = −Lᵀ (y − [g]× μ_j) / (1 + λ), and
what remains for μ_j are the rows along the axis with weight 1 and those across with weight λ/(1 + λ), plus the ridge:
the same minimum as the whole system's, at a cost linear in the number of poses.

Put in the eliminated form, the residuals obey (1 + ζ) e = Y μ − τ with ζ_ij = z_i · z_j for joints j beyond i: what an
outer joint could not explain is handed on to the inner ones as if it were real. Each joint's own e is least, in turn.

**Standard errors.** The two methods end with the numbers alone. Both are linear in the measured torques: with rows A of
the eliminated form they solve Σ_poses Uᵀ (τ − A x) = 0 for some matrices U(q), n × p. Whatever noise the method
believes in, if the joints really have noise σ_i the covariance of its result is

    H⁻¹ (Σ_i σ_i² Σ_poses u_i u_iᵀ) H⁻ᵀ,        H = Σ_poses Uᵀ A,        u_i = row i of U

(a "sandwich"), and joint i uses up h_i = tr(H⁻¹ Σ_poses u_i a_iᵀ) of its measurements.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..dynamics import BASE, REVOLUTE, Robot, ancestors, body_poses, end_links
from ..errors import InputError
from ..fitting import SIGMA_FLOOR, JointRegression, Solution, StaticPoses, require_spread, solve
from ..foundation import Array, frozen, skew
from .workspace import CHUNK, static_columns, static_rows


@dataclass(frozen=True, slots=True, eq=False)
class FirstMomentSolution:
    """What the document's methods return.

    Attributes:
        solution: Base gravity parameters and offsets, with residuals and errors.
        mu: First moments in the joint frames [kg m], shape (n, 3). The data determine the torques and ``solution``; how
            μ is shared between neighbouring links is the method's choice.
    """

    solution: Solution
    mu: Array


@dataclass(frozen=True, slots=True, eq=False)
class LinkEquations:
    """What eqs. (14)–(19) need of k poses of a robot with n bodies, one per joint.

    Attributes:
        parent: Parent body of each body, BASE for the base, shape (n,).
        R_parent_body: Turns body axes into the parent's, shape (k, n, 3, 3).
        moment: [g^j]× in body axes [m/s²], shape (k, n, 3, 3).
        axes: z_i · z_j where joint i carries body j (itself included), else 0, shape (k, n, n).
    """

    parent: tuple[int, ...]
    R_parent_body: Array
    moment: Array
    axes: Array


def link_equations(robot: Robot, q: Array) -> LinkEquations:
    """Return the equations' matrices for poses q [rad], shape (k, n)."""
    tree = robot.tree
    rotation = body_poses(tree, q).rotation
    gravity = np.einsum("kbji,j->kbi", rotation, robot.gravity_base)
    R_parent_body = rotation.copy()
    for body, parent in enumerate(tree.parent):
        if parent != BASE:
            R_parent_body[:, body] = np.swapaxes(rotation[:, parent], 1, 2) @ rotation[:, body]
    axis = rotation[:, :, :, 2]
    carries = np.zeros((tree.bodies, tree.bodies))
    for body in range(tree.bodies):
        carries[ancestors(tree, body), body] = 1.0
    axes = np.einsum("kia,kja->kij", axis, axis) * carries
    return LinkEquations(tuple(int(parent) for parent in tree.parent), R_parent_body, skew(gravity), axes)


def require_first_moments(robot: Robot, poses: StaticPoses, method: str) -> None:
    """Refuse robots and poses that the document's methods cannot treat.

    Raises:
        InputError: A joint is linear or mimics another, a joint's torque was not measured, or the poses cannot
            calibrate any arm.
    """
    tree = robot.tree
    instead = 'method="weighted" serves any arm'
    linear = [name for name, kind in zip(tree.body_names, tree.kind, strict=True) if kind != REVOLUTE]
    if linear:
        raise InputError(
            f"method=\"{method}\" is for rotary joints: joint '{linear[0]}' is linear, and sliding it changes the "
            f"first moments of the links before it, which the method takes for constants ([Dellin2008]). {instead}"
        )
    if tree.bodies != tree.n:
        mimic = next(name for name in tree.body_names if name not in tree.joint_names)
        raise InputError(
            f"method=\"{method}\" needs the torque at every joint: joint '{mimic}' follows another and has none of its "
            f"own. {instead}"
        )
    require_spread(robot, poses)
    if not poses.measured.all():
        name = robot.joint_names[int(np.flatnonzero(~poses.measured)[0])]
        raise InputError(
            f"method=\"{method}\" needs the torque at every joint: that of '{name}' was not measured. {instead}"
        )


def base_from_first_moments(robot: Robot, mu: Array) -> Array:
    """Return the base gravity parameters that first moments amount to, shape (b,).

    Args:
        robot: A robot with rotary joints only.
        mu: First moments in the joint frames [kg m], shape (n, 3). Put as m c of massless bodies they give the same
            torques: the offsets between joints are already in them.
    """
    parameters = np.column_stack([np.zeros(len(mu)), mu])
    values: Array = robot.base_parameters.regrouping @ parameters.ravel()
    return values


def first_moments_from_base(robot: Robot, values: Array) -> Array:
    """Return first moments [kg m] in the joint frames, shape (n, 3), with what base parameters do not fix at zero."""
    parameters = np.zeros(4 * robot.n)
    parameters[list(robot.base_parameters.columns)] = values
    return parameters.reshape(-1, 4)[:, 1:]


def first_moments_in_dh_frames(robot: Robot, mu: Array) -> Array:
    """Turn first moments from the joint frames into the document's frames (standard DH, far end), shape (n, 3).

    Raises:
        ModelError: The robot is not a serial chain of rotary joints in standard DH.
    """
    tree = robot.tree
    links = end_links(tree, robot.description.convention)
    turned = [tree.link_rotation[link].T @ tree.joint_rotation[body] @ mu[body] for body, link in enumerate(links)]
    return frozen(turned)


def with_errors(
    robot: Robot, poses: StaticPoses, x: Array, instruments: Callable[[Array, Array], Array], *, offset: bool
) -> Solution:
    """Return a linear method's estimate with residuals, noise, covariance, and what the data determine.

    Args:
        robot: Kinematics and mounting.
        poses: The data that were fitted.
        x: The estimate: base gravity parameters, then offsets if fitted.
        instruments: Returns U, shape (k, n, p), for poses q (k, n) and their rows A (k, n, p).
        offset: Whether offsets were fitted.
    """
    columns = static_columns(robot, offset=offset)
    n, p = robot.n, len(columns)
    regression = JointRegression(robot.joint_names, columns)
    slopes, spreads = np.zeros((n, p, p)), np.zeros((n, p, p))
    for start in range(0, len(poses), CHUNK):
        q, torques = poses.q[start : start + CHUNK], poses.tau[start : start + CHUNK]
        A = static_rows(robot, q, offset=offset)
        U = instruments(q, A)
        regression.add(A, torques)
        by_joint = np.swapaxes(np.swapaxes(U, 0, 1), 1, 2)
        slopes += by_joint @ np.swapaxes(A, 0, 1)
        spreads += by_joint @ np.swapaxes(U, 0, 1)
    inverse = np.linalg.pinv(slopes.sum(axis=0), rcond=1e-12)
    fitted = np.einsum("pq,iqp->i", inverse, slopes)
    squares = regression.residual_squares(x)
    floor = SIGMA_FLOOR * max(float(np.max(regression.torque_rms())), 1e-12)
    freedom = len(poses) - fitted
    # A joint without a spare measurement shows no noise of its own; it gets the arm's mean.
    common = float(np.sum(squares)) / max(float(np.sum(freedom)), 1.0)
    own = squares / np.maximum(freedom, 1.0)
    sigma = np.maximum(np.sqrt(np.where(freedom >= 1.0, own, common)), floor)
    data = solve(regression, sigma=sigma)
    covariance = inverse @ np.einsum("i,ipq->pq", sigma**2, spreads) @ inverse.T
    return replace(
        data,
        x=frozen(x),
        covariance=frozen(0.5 * (covariance + covariance.T)),
        residual_rms=frozen(np.sqrt(squares / len(poses))),
        freedom=frozen(freedom),
    )


CHUNK_POSES = 256
"""Poses eliminated at once."""


def solve_coupled(robot: Robot, poses: StaticPoses, *, offset: bool = False) -> FirstMomentSolution:
    """Fit by the coupled matrix.

    Args:
        robot: Kinematics and mounting; its masses are not used.
        poses: Measured poses.
        offset: Fit a constant torque per joint as well; the document does not.

    Raises:
        InputError: A joint is linear or follows another, a torque is missing, or the poses cannot calibrate the arm.
    """
    require_first_moments(robot, poses, "coupled")
    columns = static_columns(robot, offset=offset)
    kept = [3 * (column // 4) + column % 4 - 1 for column in robot.base_parameters.columns]
    regression = JointRegression(("equations",), columns)
    for start in range(0, len(poses), CHUNK_POSES):
        chunk = slice(start, start + CHUNK_POSES)
        G, T, S = pose_matrices(robot, poses.q[chunk])
        across = _free_of(T)
        measured = across @ S
        A = across @ G[:, :, kept]
        if offset:
            A = np.concatenate([A, measured], axis=2)
        y = (measured @ poses.tau[chunk][:, :, None])[:, :, 0]
        regression.add(A.reshape(-1, 1, len(columns)), y.reshape(-1, 1))
    x = solve(regression, sigma=[1.0]).x

    def instruments(q: Array, A: Array) -> Array:
        _, T, S = pose_matrices(robot, q)
        whitening = _free_of(T) @ S
        return np.swapaxes(whitening, 1, 2) @ (whitening @ A)

    solution = with_errors(robot, poses, x, instruments, offset=offset)
    return FirstMomentSolution(solution, frozen(first_moments_from_base(robot, x[: len(kept)])))


def pose_matrices(robot: Robot, q: Array) -> tuple[Array, Array, Array]:
    """Return G, T and S of each pose with S τ = G μ + T c ([Dellin2008], eqs. (20)–(24)).

    Args:
        robot: A robot with rotary joints only.
        q: Poses [rad], shape (k, n).

    Returns:
        G (k, 3n, 3n), for first moments in the joint frames; T (k, 3n, 2n); S (k, 3n, n), which makes the document's
        right-hand side y from the measured torques.
    """
    equations = link_equations(robot, q)
    k, n = q.shape
    G, T, S = np.zeros((k, n, 3, n, 3)), np.zeros((k, n, 3, n, 2)), np.zeros((k, n, 3, n))
    for body, parent in enumerate(equations.parent):
        G[:, body, :, body] = equations.moment[:, body] @ robot.tree.joint_rotation[body]
        T[:, body, :, body] = -np.eye(3)[:, :2]
        S[:, body, 2, body] = 1.0
        if parent != BASE:
            T[:, parent, :, body] = equations.R_parent_body[:, body, :, :2]
            S[:, parent, :, body] = -equations.R_parent_body[:, body, :, 2]
    return G.reshape(k, 3 * n, 3 * n), T.reshape(k, 3 * n, 2 * n), S.reshape(k, 3 * n, n)


def _free_of(T: Array) -> Array:
    """Return, per pose, orthonormal rows that T does not reach, shape (k, n, 3n): the last rows of Qᵀ of its QR."""
    complete, _ = np.linalg.qr(T, mode="complete")
    rows: Array = np.swapaxes(complete[:, :, T.shape[2] :], 1, 2)
    return rows


THRESHOLD = 1e-3
"""Root mean square change of torque, as a share of g |μ|, below which a direction of μ counts as not felt: a
milliradian of tilt, which no arm's geometry is known to. An offset that only repeats μ is left at zero, too."""
BARRETT_RIDGE = 1e-6
"""The ridge of Barrett's program: libbarrett, programs/gravitycal.cpp."""


def solve_iterative(
    robot: Robot, poses: StaticPoses, *, ridge: float | None = None, offset: bool = False
) -> FirstMomentSolution:
    """Fit link by link.

    Args:
        robot: Kinematics and mounting; its masses are not used.
        poses: Measured poses.
        ridge: λ > 0, or None for the absolute threshold. The stated errors do not include its bias.
        offset: Fit a constant torque per joint as well; the document does not. No ridge on it.

    Raises:
        InputError: A joint is linear or follows another, a torque is missing, or the poses cannot calibrate the arm.
    """
    require_first_moments(robot, poses, "iterative")
    if ridge is not None and not (np.isfinite(ridge) and ridge > 0.0):
        raise InputError(f"ridge is {ridge!r}; expected a number > 0, or None for the absolute threshold")
    equations = link_equations(robot, poses.q)
    k, n = poses.q.shape
    mu, offsets = np.zeros((n, 3)), np.zeros(n)
    outer = np.zeros((k, n, 3))  # Σ over children of their torque, in the link's own axes
    for body in reversed(range(n)):
        y = -outer[:, body]
        y[:, 2] += poses.tau[:, body]
        columns = np.zeros((k, 3, 4 if offset else 3))
        columns[:, :, :3] = equations.moment[:, body]
        columns[:, 2, 3:] = 1.0
        gravity = float(np.linalg.norm(robot.gravity_base))
        found = _felt(columns[:, 2], y[:, 2], gravity) if ridge is None else _ridged(columns, y, ridge)
        rest = y - columns @ found
        torque = np.empty((k, 3))
        torque[:, :2] = -rest[:, :2] / (1.0 + (ridge or 0.0))
        torque[:, 2] = poses.tau[:, body] - (found[3] if offset else 0.0)
        mu[body] = robot.tree.joint_rotation[body].T @ found[:3]
        offsets[body] = found[3] if offset else 0.0
        parent = equations.parent[body]
        if parent != BASE:
            outer[:, parent] += (equations.R_parent_body[:, body] @ torque[:, :, None])[:, :, 0]
    x = np.concatenate([base_from_first_moments(robot, mu), offsets if offset else np.zeros(0)])
    own = _own_columns(robot, offset=offset)

    def instruments(q: Array, A: Array) -> Array:
        # Each joint chooses its own columns so that they are orthogonal to its e = (1 + ζ)⁻¹ (Y μ − τ).
        chosen = np.linalg.solve(np.swapaxes(link_equations(robot, q).axes, 1, 2), A * own)
        return np.asarray(chosen, dtype=np.float64)

    return FirstMomentSolution(with_errors(robot, poses, x, instruments, offset=offset), frozen(mu))


def _felt(columns: Array, y: Array, gravity: float) -> Array:
    """Return the smallest least-squares solution over the directions that are felt, shape (3,) or (4,).

    Args:
        columns: Torque along the axis per unit of each unknown, shape (k, 3) or, with an offset, (k, 4).
        y: Torque to explain [N m], shape (k,).
        gravity: Strength of gravity [m/s²].
    """
    size = np.array([gravity] * 3 + [1.0] * (columns.shape[1] - 3))
    left, values, right = np.linalg.svd(columns / size, full_matrices=False)
    kept = values > THRESHOLD * np.sqrt(len(y))
    solution: Array = (right[kept].T / values[kept]) @ (left[:, kept].T @ y) / size
    return solution


def _ridged(columns: Array, y: Array, ridge: float) -> Array:
    """Return the minimum of |y − columns x|² with c eliminated and a ridge on μ and c, shape (3,) or (4,).

    Args:
        columns: Shape (k, 3, 3 or 4): rows across the axis (two) and along it.
        y: Shape (k, 3).
        ridge: λ.
    """
    weight = np.sqrt([ridge / (1.0 + ridge), ridge / (1.0 + ridge), 1.0])
    unknowns = columns.shape[2]
    penalty = np.sqrt(ridge) * np.eye(3, unknowns)
    rows = np.concatenate([(columns * weight[:, None]).reshape(-1, unknowns), penalty])
    solution, *_ = np.linalg.lstsq(rows, np.concatenate([(y * weight).ravel(), np.zeros(3)]), rcond=None)
    return np.array(solution, dtype=np.float64)


def _own_columns(robot: Robot, *, offset: bool) -> Array:
    """Return 1 where a joint fits the column in its own turn, else 0, shape (n, p)."""
    bodies = [column // 4 for column in robot.base_parameters.columns] + (list(range(robot.n)) if offset else [])
    return np.asarray(np.arange(robot.n)[:, None] == np.array(bodies)[None, :], dtype=np.float64)
