r"""Impedance at the tip: a spring and a damper between a link and the pose where it should be.

With e = [p_d − p ; φ], φ the rotation vector of R_d Rᵀ, everything along the base's axes,

.. math:: \tau = g(q) + J^T \big(\mathrm{sat}(K e) + D (v_d - J \dot q)\big) + N^T \tau_0

([Hogan1985]). D may be given; else it follows the arm's inertia at the tip: with Q such that Λ = Q Qᵀ and
K = Q diag(ω²) Qᵀ, D = 2 ζ Q diag(ω) Qᵀ ([AlbuSchaeffer2003], double diagonalisation), which takes energy always. What a
redundant arm has over is damped and may be pulled to a posture by τ_0 = −c M dq + K_n (q_n − q), through
Nᵀ = 1 − Jᵀ Λ J M⁻¹: it does not accelerate the tip ([Khatib1987]). Near a singularity Λ is cut (see tip.py), Jᵀ
never grows, and all torques beyond gravity are held within a bound.

Behind a compliant gear the motor feels its own inertia only. D is therefore scaled down, as a whole, until no joint's
own share (Jᵀ D J)_jj exceeds J_m / (8 T), T the control period: the rule of control/gains.py. Where the model does not
know J_m, that share is at most the damping of the soft law, as everywhere (docs/unknown-rotors.md).
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from ...dynamics import Robot, link_name, mass_matrix_with_rotors, numbers
from ...foundation import Array, frozen, rotation_vector
from ...recording import Sample
from ..gains import ROTOR_TICKS, soft_damping
from ..law import gain
from .tip import (
    SCALE,
    FixedPose,
    TipPath,
    TipState,
    number_of,
    shortened,
    square_of,
    task_inertia,
    tip_state,
    torque_bound,
    within,
)

DAMPING_RATIO = 0.7
POSTURE_RATE = 5.0
"""Default c: free motion of the elbow decays with this rate [1/s]."""
TORQUE_SHARE = 0.5
"""Default bound of the torques beyond gravity, as a share of the effort limits."""
BANDWIDTH = 40.0
"""Default bound of the natural frequencies at the tip [rad/s]: sampling, delay and filters take 10 ms on many arms."""
REPORTED_DAMPING = 0.7
"""Damping scaled down below this factor is reported: with the default ζ of 0.7 the tip then visibly overshoots."""
FORCE_LIMIT, MOMENT_LIMIT = 60.0, 10.0
"""Default bounds of what the spring exerts [N, N m]."""


class Inertias(NamedTuple):
    """The arm's inertia at a pose.

    Attributes:
        mass: M with the rotors, shape (n, n).
        task: Λ at the tip, cut near singularities, shape (6, 6).
        damping: D at the tip [N s/m, N m s/rad], shape (6, 6).
    """

    mass: Array
    task: Array
    damping: Array


class Impedance:
    """Holds a link by a spring and a damper.

    Attributes:
        robot: The arm, payload included.
        at: The link.
        stiffness: K in force, base axes [N/m, N/rad, N m/rad], shape (6, 6): as given until the reset, then softened
            where the bandwidth asks for it.
        path: Where the link should be.
        scale: Factor from 0 to 1 by which the last torques beyond gravity were cut to stay within the joints' bounds.
    """

    uses_wrench = False

    def __init__(
        self,
        robot: Robot,
        stiffness: npt.ArrayLike,
        *,
        damping: npt.ArrayLike | None = None,
        damping_ratio: float = DAMPING_RATIO,
        at: str | None = None,
        path: TipPath | None = None,
        posture: npt.ArrayLike | None = None,
        posture_stiffness: npt.ArrayLike = 0.0,
        posture_rate: float = POSTURE_RATE,
        bandwidth: float = BANDWIDTH,
        force_limit: float = FORCE_LIMIT,
        moment_limit: float = MOMENT_LIMIT,
        torque_limit: npt.ArrayLike | None = None,
        gravity: bool = True,
    ) -> None:
        """Make the law.

        Args:
            robot: The arm, payload included.
            stiffness: K along the base's axes, six numbers [N/m ×3, N m/rad ×3] or shape (6, 6), symmetric.
            damping: D, likewise [N s/m, N m s/rad]; None for ``damping_ratio``.
            damping_ratio: ζ, where no damping is given. Either is scaled down where the rotors ask for it.
            at: The link; None for the tip of an arm that is not branched.
            path: Where it should be; None holds where it is at the start.
            posture: q_n that the arm is pulled to as far as the tip allows [rad or m]; None for where it starts.
            posture_stiffness: K_n [N m/rad or N/m], one or n.
            posture_rate: c [1/s].
            bandwidth: Largest natural frequency [rad/s]. Where the arm is so light at the start that it would swing
                faster, as about the axis of a small last joint, K is softened.
            force_limit: Largest force of the spring [N]; its damper comes on top.
            moment_limit: Largest moment of the spring [N m].
            torque_limit: Largest joint torques beyond gravity [N m or N], one or n; None for TORQUE_SHARE of the
                effort limits.
            gravity: False for a plant that adds gravity itself.

        Raises:
            InputError: An argument has no meaning, or the robot has no effort limits and no torque_limit is given.
        """
        self.robot = robot
        self.at = link_name(robot, at)
        self.stiffness = self._given_stiffness = square_of(stiffness, "stiffness")
        self._given_damping = None if damping is None else square_of(damping, "damping")
        self._ratio = number_of(damping_ratio, "damping_ratio", "1", zero=True)
        self.path: TipPath = FixedPose() if path is None else path
        self._given_posture = None if posture is None else numbers(posture, "posture", (robot.n,))
        self._posture = np.zeros(robot.n) if self._given_posture is None else self._given_posture
        self._posture_stiffness = gain(posture_stiffness, "posture_stiffness", robot.n)
        self._rate = number_of(posture_rate, "posture_rate", "1/s", zero=True)
        self._bandwidth = number_of(bandwidth, "bandwidth", "rad/s")
        self._force = number_of(force_limit, "force_limit", "N")
        self._moment = number_of(moment_limit, "moment_limit", "N m")
        self._bound = torque_bound(robot, torque_limit, TORQUE_SHARE)
        self.adds_gravity = bool(gravity)
        self.scale = 1.0
        self._begin: float | None = None
        self._before: float | None = None
        self._dt = 0.0
        self._events: list[tuple[str, str]] = []
        self._tell_below = REPORTED_DAMPING

    def with_robot(self, robot: Robot) -> Self:
        """Return the law for the arm with another payload, following the same path from where it is now."""
        other = type(self)(
            robot,
            self._given_stiffness,
            damping=self._given_damping,
            damping_ratio=self._ratio,
            at=self.at,
            path=self.path,
            posture=self._given_posture,
            posture_stiffness=self._posture_stiffness,
            posture_rate=self._rate,
            bandwidth=self._bandwidth,
            force_limit=self._force,
            moment_limit=self._moment,
            torque_limit=self._bound,
            gravity=self.adds_gravity,
        )
        other._begin, other.stiffness, other._posture = self._begin, self.stiffness, self._posture
        other._before, other._dt, other._tell_below = self._before, self._dt, self._tell_below
        return other

    def reset(self, sample: Sample) -> None:
        """Start from the pose that the link has."""
        self.path.reset(self.robot.forward_kinematics(sample.q, at=self.at))
        self._begin, self._before, self.scale, self._tell_below = None, None, 1.0, REPORTED_DAMPING
        if self._given_posture is None:
            self._posture = sample.q.copy()
        self._soften(sample)

    def torque(self, sample: Sample, time: float) -> Array:
        """Return the torques [N m or N], shape (n,)."""
        if self._begin is None:
            self._begin = time
        state = tip_state(self.robot, sample.q, sample.dq, self.at)
        pose, twist = self.path.at(time - self._begin)
        inertias = self.inertias(sample.q, state, time)
        pull, drag = self.spring(state, pose), inertias.damping @ (twist - state.twist)
        return self.torques(sample, state, pull + drag, inertias)

    def news(self) -> list[tuple[str, str]]:
        """Return what happened since the last call."""
        events, self._events = self._events, []
        return events

    def _soften(self, sample: Sample) -> None:
        """Cut K so that K v = ω² Λ v has no ω above the bandwidth at the pose where the law starts."""
        state = tip_state(self.robot, sample.q, sample.dq, self.at)
        axes, masses = task_inertia(state.jacobian, mass_matrix_with_rotors(self.robot, sample.q))
        shape, omega = swings(axes, masses, self._given_stiffness)
        fastest = float(omega.max())
        self.stiffness = self._given_stiffness
        if fastest > self._bandwidth:
            self.stiffness = frozen((shape * np.minimum(omega, self._bandwidth) ** 2) @ shape.T)
            message = f"the tip would swing at {fastest:.0f} rad/s; the stiffness was cut to {self._bandwidth:g} rad/s"
            self._events.append(("softened", message))

    def inertias(self, q: Array, state: TipState, time: float) -> Inertias:
        """Return the arm's inertia at a pose, and the damping that belongs to it.

        Args:
            q: Positions [rad or m], shape (n,).
            state: The tip there.
            time: Of this tick [s]; the time since the last is the control period.
        """
        if self._before is not None and time > self._before:
            self._dt = time - self._before
        self._before = time
        mass = mass_matrix_with_rotors(self.robot, q)
        axes, masses = task_inertia(state.jacobian, mass)
        task = (axes * masses) @ axes.T
        damping = self._given_damping
        if damping is None:
            shape, omega = swings(axes, masses, self.stiffness)
            damping = (shape * (2.0 * self._ratio * omega)) @ shape.T
        return Inertias(mass, task, self._bearable(state.jacobian, damping, mass) * damping)

    def _bearable(self, jacobian: Array, damping: Array, mass: Array) -> float:
        """Return the factor up to 1 by which a damping stays bearable for the rotors."""
        own = np.einsum("ij,ik,kj->j", jacobian, damping, jacobian)
        rotor, unknown = self.robot.rotor_inertia, ~self.robot.rotor_inertia_known
        felt = ((rotor > 0.0) | unknown) & (own > 0.0)
        if self._dt == 0.0 or not felt.any():
            return 1.0
        most = rotor / (ROTOR_TICKS * self._dt)
        if unknown.any():
            most = np.where(unknown, soft_damping(1.0 / np.diag(np.linalg.inv(mass)), self._dt), most)
        bearable = most[felt] / own[felt]
        factor = min(1.0, float(bearable.min()))
        if factor < self._tell_below:
            self._tell_below = 0.5 * factor  # and again where it becomes much worse
            self._events.append(("damped_less", self._less(int(np.flatnonzero(felt)[np.argmin(bearable)]), factor)))
        return factor

    def _less(self, joint: int, factor: float) -> str:
        """Say which joint asks for less damping, and what helps."""
        name = self.robot.joint_names[joint]
        if self.robot.rotor_inertia_known[joint]:
            why = f"the rotor of joint '{name}' allows {factor:.0%} of the damping; all of it is scaled down to that"
            return f"{why}. A softer spring needs less damping, a shorter period allows more"
        why = f"the rotor of joint '{name}' is unknown; the damping is scaled down to {factor:.0%}, as of the soft law"
        return f"{why}. State the rotor (rotor_inertia), or take a softer spring, which needs less"

    def spring(self, state: TipState, pose: Array) -> Array:
        """Return sat(K e), what the spring exerts on the surroundings [N, N m], base axes, shape (6,)."""
        error = np.concatenate([pose[:3, 3] - state.position, rotation_vector(pose[:3, :3] @ state.rotation.T)])
        pull = self.stiffness @ error
        return np.concatenate([shortened(pull[:3], self._force), shortened(pull[3:], self._moment)])

    def torques(self, sample: Sample, state: TipState, wrench: Array, inertias: Inertias) -> Array:
        """Return the torques for a wrench at the tip, with the posture's and gravity's, within the bounds.

        Args:
            sample: The newest sample.
            state: The tip then.
            wrench: What the arm is to exert [N, N m], base axes, shape (6,).
            inertias: The arm's at that pose.
        """
        J, dq = state.jacobian, sample.dq
        # Nᵀ M dq and Nᵀ τ_n: damping of the free motion alone, and the pull to the posture.
        free = -self._rate * (inertias.mass @ dq - J.T @ (inertias.task @ state.twist))
        if np.any(self._posture_stiffness):
            pull = self._posture_stiffness * (self._posture - sample.q)
            free += pull - J.T @ (inertias.task @ (J @ np.linalg.solve(inertias.mass, pull)))
        tau = J.T @ wrench + free
        self.scale = within(tau, self._bound)
        tau = self.scale * tau
        return tau + self.robot.gravity(sample.q) if self.adds_gravity else tau


def swings(axes: Array, masses: Array, stiffness: Array) -> tuple[Array, Array]:
    """Return (Q, ω) with Λ = Q Qᵀ and K = Q diag(ω²) Qᵀ: how the tip swings on its spring, shapes (6, 6) and (6,).

    Args:
        axes: Of Λ = axes diag(masses) axesᵀ, from :func:`task_inertia`, shape (6, 6).
        masses: Shape (6,).
        stiffness: K, shape (6, 6).
    """
    root = np.sqrt(masses)
    # axes = S U with U orthogonal and S = diag(SCALE), so axes⁻¹ = Uᵀ S⁻¹ = axesᵀ S⁻².
    inverse = axes.T / SCALE**2
    squares, turned = np.linalg.eigh((inverse @ stiffness @ inverse.T) / np.outer(root, root))
    return (axes * root) @ turned, np.sqrt(np.maximum(squares, 0.0))
