r"""The inverse gravity regressor of [Jo], as corrected, and the transpose-regressor law that it argues against.

[Jo] writes g = Z(q) s with Z block diagonal, row i of block i being w_i = −gᵀ [z_i]× [R_j], and lets

.. math:: \dot{\hat s} = Z^{+} Q\, (K_p (q_d - q) - K_d \dot q), \qquad \hat g = Z \hat s

(Q multiplies on the right of Z⁺; as printed, on its left, the sizes do not fit.) Because Z is block diagonal its
pseudo-inverse is analytic, column i being w_iᵀ/|w_i|². Row i vanishes where axis i is vertical, so |w_i| needs an
absolute threshold: below it joint i is left alone.

Blocks of s that are zero by structure (frames that joint i does not carry, the base frame) and their columns of Z are
left out, as in [Jo], Fig. 2. What remains of w_i is R_jᵀ (z_i × g) for each body j that joint i carries: the moment
columns of the gravity regressor.

At a fixed pose this is integral action with the time constant 1/Q. It learns that pose: ŝ has 3 numbers per joint and
carried body, a pose determines one of them per joint, and what is learned at one pose is no claim about another.

**The gain** of a gravity estimator that integrates the position error is bounded. At a fixed pose ŝ̇ = Z⁺ Q (K_p e −
K_d q̇) is integral action on the joints: ĝ̇ = Q (K_p e − K_d q̇). One joint of inertia M under PD control with that ĝ
has the characteristic polynomial

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

**The compact form** g = Z_c(q) s_c of the Z–s decomposition is derived from the structure for any rotary tree. [Jo],
Fig. 2, makes it by hand for a planar arm of three joints. In general, with Z of n × 3n(n + 1):

1. columns that multiply the same parameter are added: the carried moment of body j stands in the block of every joint
   that carries it;
2. columns of zero parameters are dropped: the base frame's, those of bodies that a joint does not carry, and those that
   the user declares to be zero (``on_link_line``: first moments that the description has as zero stay zero, [Jo]'s
   "CoM on the axial line");
3. columns that depend on others are regrouped: the moment along a joint's own axis counts for the body before it
   (dynamics/base_parameters.py). (Columns, not rows, of Z are deleted, against the paper's wording.)

As many columns remain as there are base gravity parameters, or fewer with ``on_link_line``: three for the planar arm.

**The transpose-regressor law** is the usual adaptive gravity compensation, as a baseline for [Jo].

.. math:: \dot{\hat\beta} = \Gamma\, Y(q)^T Q\, (K_p (q_d - q) - K_d \dot q), \qquad \hat g = Y(q)\,\hat\beta

with Y the base gravity regressor ([Tomei1991]). Γ is one number, 1 over the largest |Y|² in the workspace, so that Q
keeps its meaning: no combination of joints learns faster than with the time constant 1/Q. Most learn far more slowly,
and how fast depends on the pose: that is what [Jo] argues against.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..dynamics import MAX_INPUT, REVOLUTE, Robot, ancestors, mass_matrix_with_rotors
from ..errors import InputError, ModelError
from ..foundation import Array, frozen
from ..identification import workspace_poses
from ..recording import UNUSABLE
from .gravity_prior import PriorChoice
from .hold import EFFORT_SHARE

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
        reason = f"by the masses of '{robot.name}' some joint moves no inertia"
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
            f"{factor:.2g} times these gains, so at most {SAFE_SHARE * factor:.2g} times them is accepted; a joint by "
            "itself would be stable with more. Lower q_gain or raise K_d"
        )


@dataclass(frozen=True, slots=True, eq=False)
class CompactForm:
    """g(q) = Z_c(q) s_c with c columns.

    Attributes:
        robot: The robot.
        names: Names of the parameters in s_c, e.g. "joint2.mx": the moment along x of all that joint 2 carries.
        merge: Which columns of Z are added to which of Z_c, zeros and ones, shape (3n(n+1), c): Z_c = Z merge.
        s: s_c, shape (c,) [kg m].
    """

    robot: Robot
    names: tuple[str, ...]
    merge: Array
    s: Array

    def Z(self, q: npt.ArrayLike) -> Array:
        """Return Z_c(q) [m/s²], shape (n, c) or (k, n, c)."""
        whole, _ = self.robot.jo_decomposition(q)
        return np.asarray(whole @ self.merge)


def compact_form(robot: Robot, *, on_link_line: bool = False) -> CompactForm:
    """Derive the compact form.

    Args:
        robot: The robot; all joints turn and none follows another.
        on_link_line: Declare that the first moments which the description has as exactly zero are zero.

    Raises:
        ModelError: A joint is linear or mimics another.
    """
    robot.jo_decomposition(np.zeros(robot.n))  # refuses robots that have no such form
    base, n = robot.base_parameters, robot.n
    kept = np.arange(len(base.columns))
    if on_link_line:
        # A base parameter stays if any parameter that is not declared zero is regrouped into it.
        free = np.asarray(robot.gravity_parameters) != 0.0
        kept = kept[np.any(np.abs(base.regrouping[:, free]) > 1e-12, axis=1)]
    width = 3 * (n + 1)
    merge = np.zeros((n * width, len(kept)))
    for column, parameter in enumerate(kept):
        body, entry = divmod(base.columns[parameter], 4)
        for joint in ancestors(robot.tree, body):
            merge[joint * width + 3 * (body + 1) + entry - 1, column] = 1.0
    values = (base.regrouping @ robot.gravity_parameters)[kept]
    return CompactForm(robot, tuple(base.names[parameter] for parameter in kept), frozen(merge), frozen(values))


THRESHOLD = 0.1
"""Least |z_i × g| for joint i to learn [m/s²]: an axis within 0.6° of the vertical tells nothing."""
HELD_SPEED = 0.3
"""Speed above which the arm is not quasi-static [rad/s]."""


class IntegratingGravity(ABC):
    """What the two laws have in common: gains, gate, and an estimate driven by the position error.

    Attributes:
        robot: The arm.
        dt: Time between two updates [s].
        q_gain: Q, diagonal [1/s], shape (n,).
        kp: K_p [N m/rad], shape (n,).
        kd: K_d [N m s/rad], shape (n,).
        learning: Whether the estimate moves; may be set. [Jo] lets it move at one pose and then keeps it.
        refused: Number of samples that were flagged, missing, too fast or saturated.
    """

    def __init__(
        self,
        robot: Robot,
        dt: float,
        *,
        prior: PriorChoice = "none",
        q_gain: npt.ArrayLike,
        kp: npt.ArrayLike,
        kd: npt.ArrayLike,
    ) -> None:
        """Start from ŝ_0.

        Args:
            robot: The arm.
            dt: Time between two updates [s].
            prior: "none" for ŝ_0 = 0, "cad" for the description's.
            q_gain: Q [1/s], one or n; refused above half its stability bound (``gain_bound``).
            kp: K_p of the position loop [N m/rad], one or n.
            kd: K_d of the position loop [N m s/rad], one or n.

        Raises:
            InputError: A gain is not positive, Q is too large, or the prior is another one.
            ModelError: A joint is linear or mimics another.
        """
        if np.any(robot.tree.kind != REVOLUTE) or robot.tree.bodies != robot.n:
            raise ModelError(
                "this estimator is for robots whose joints all turn and none of which follows another; "
                "method='recursive' serves any robot"
            )
        if prior not in ("none", "cad"):
            given = repr(prior) if isinstance(prior, str) else f"a {type(prior).__name__}"
            raise InputError(
                f"prior is {given}; the published laws start from 'none' or 'cad', method='recursive' from others too"
            )
        self.robot, self.dt = robot, dt
        self.q_gain, self.kp, self.kd = (
            _gain(value, name, robot.n) for value, name in ((q_gain, "q_gain"), (kp, "kp"), (kd, "kd"))
        )
        refuse_large_gain(robot, self.q_gain, self.kp, self.kd)
        self.learning = True
        self.refused = 0
        # Without a limit: far more than any gravity torque, so that the estimate stays finite whatever is measured.
        limit = np.asarray(robot.effort_limit)
        self._most = EFFORT_SHARE * np.where(np.isfinite(limit), limit, MAX_INPUT)

    def update(self, q: Array, dq: Array, tau: Array | None, q_desired: Array, flags: int = 0) -> None:
        """Take in one sample.

        Args:
            q: Positions [rad], shape (n,).
            dq: Velocities [rad/s], shape (n,).
            tau: Torques of the actuators [N m], shape (n,), by which a saturated drive is told; None if not known.
            q_desired: Where the position loop wants the joints [rad], shape (n,).
            flags: What the source knows to be wrong (recording.SampleFlag).
        """
        if not self.learning:
            return
        if flags & UNUSABLE or not self._endured(q, dq, tau, q_desired):
            self.refused += 1
            return
        step = self.dt * self.q_gain * (self.kp * (q_desired - q) - self.kd * dq)
        # Integral action winds up where the goal cannot be reached: no more weight than the drives can hold is learned.
        held = self.gravity(q)
        winds = (np.abs(held + step) > self._most) & (held * step > 0.0)
        self._integrate(q, np.where(winds, 0.0, np.clip(step, -self._most, self._most)))

    @abstractmethod
    def gravity(self, q: npt.ArrayLike) -> Array:
        """Return ĝ(q) [N m], shape (n,) or (k, n)."""

    def std(self, q: npt.ArrayLike) -> Array:
        """Return infinity, in the shape of ĝ(q): this law says nothing about its error."""
        return np.full_like(self.gravity(q), np.inf)

    def novelty(self, q: npt.ArrayLike) -> float | Array:
        """Return 1, one per pose: every pose may be new to this law."""
        shape = np.shape(self.gravity(q))[:-1]
        return np.ones(shape) if shape else 1.0

    @abstractmethod
    def _integrate(self, q: Array, step: Array) -> None:
        """Move the estimate so that, as far as it can, ĝ(q) changes by ``step`` [N m], shape (n,)."""

    def _endured(self, q: Array, dq: Array, tau: Array | None, q_desired: Array) -> bool:
        """Say whether the sample is whole, the arm quasi-static and no drive saturated ("gravity-endurable")."""
        if not all(bool(np.all(np.abs(values) <= MAX_INPUT)) for values in (q, dq, q_desired)):  # false for NaN too
            return False
        if np.abs(dq).max() > HELD_SPEED:
            return False
        return tau is None or bool(np.all(np.abs(tau) < self._most))


class InverseRegressor(IntegratingGravity):
    """ŝ̇ = Z⁺ Q (K_p e − K_d q̇).

    Attributes:
        s: ŝ per joint and carried body, shape (n, n, 3) [kg m].
    """

    def __init__(self, robot: Robot, dt: float, *, prior: PriorChoice = "none", **gains: npt.ArrayLike) -> None:
        """Start from ŝ_0; see the base class for the arguments."""
        super().__init__(robot, dt, prior=prior, **gains)
        n = robot.n
        self.s = np.zeros((n, n, 3))
        if prior == "cad":
            _, described = robot.jo_decomposition(np.zeros(n))
            self.s += described.reshape(n, n + 1, 3)[:, 1:]  # without the base frame
        # |R_jᵀ w| = |w| for each of the carried bodies, so the threshold grows with their number.
        carriers = np.concatenate([ancestors(robot.tree, body) for body in range(robot.n)])
        self._least = THRESHOLD**2 * np.bincount(carriers, minlength=robot.n)

    def gravity(self, q: npt.ArrayLike) -> Array:
        """Return ĝ(q) = Z(q) ŝ [N m], shape (n,) or (k, n)."""
        return np.asarray(np.einsum("...ijc,ijc->...i", self._blocks(q), self.s))

    def _blocks(self, q: npt.ArrayLike) -> Array:
        """Return the blocks w_i, shape (n, n, 3) or (k, n, n, 3)."""
        Y = self.robot.gravity_regressor(q)
        return np.asarray(Y.reshape(*Y.shape[:-1], self.robot.n, 4)[..., 1:])

    def _integrate(self, q: Array, step: Array) -> None:
        w = self._blocks(q)
        squared = np.einsum("ijc,ijc->i", w, w)
        heard = squared > self._least
        share = np.where(heard, step / np.where(heard, squared, 1.0), 0.0)
        self.s += share[:, None, None] * w


def _gain(value: npt.ArrayLike, name: str, n: int) -> Array:
    given = np.asarray(value, dtype=np.float64)
    if given.shape not in ((), (n,)) or not np.all(np.isfinite(given) & (given > 0.0)):
        raise InputError(f"{name} has shape {given.shape}; expected positive numbers, one or {n}")
    return np.broadcast_to(given, (n,)).copy()


SCALE_POSES = 200
"""Poses by which the regressor is sized."""


class TransposeRegressor(IntegratingGravity):
    """β̂̇ = Γ Yᵀ Q (K_p e − K_d q̇).

    Attributes:
        beta: β̂, shape (b,) [kg m].
    """

    def __init__(self, robot: Robot, dt: float, *, prior: PriorChoice = "none", **gains: npt.ArrayLike) -> None:
        """Start from β̂ = 0 or the description's; see the base class for the arguments."""
        super().__init__(robot, dt, prior=prior, **gains)
        self.beta = (
            np.array(robot.base_gravity_parameters) if prior == "cad" else np.zeros(len(robot.base_parameters.names))
        )
        Y = robot.base_gravity_regressor(workspace_poses(robot, SCALE_POSES))
        self._rate = 1.0 / max(float(np.linalg.norm(Y, ord=2, axis=(1, 2)).max()) ** 2, 1e-12)

    def gravity(self, q: npt.ArrayLike) -> Array:
        """Return ĝ(q) = Y(q) β̂ [N m], shape (n,) or (k, n)."""
        return np.asarray(self.robot.base_gravity_regressor(q) @ self.beta)

    def _integrate(self, q: Array, step: Array) -> None:
        self.beta += self._rate * (self.robot.base_gravity_regressor(q).T @ step)
