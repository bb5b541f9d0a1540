"""The model that is fitted: the sum of its terms, and what each unknown adds to the effort of each joint.

The unknowns x are absolute values, not corrections: inertial parameters in kg, kg m, kg m²; friction in N m; and so on.
Where the model is not linear in them (gain × weight, zero, tilt) the rows are its derivatives at the present estimate x̂
and the right-hand side is shifted, y = e − h(x̂) + A x̂, so that solving A x = y is one Gauss–Newton step.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..dynamics import GRAVITY_PARAMETERS, INERTIAL_PARAMETERS, Robot, ancestors, rotary
from ..errors import InputError
from ..foundation import Array
from .chosen_terms import Terms
from .samples import Samples
from .term import DryFrictionTerm, EffortTerm, JointTerm, RigidBody, registered_terms

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class EffortModel:
    """The unknowns of a fit and how they enter the efforts.

    Attributes:
        robot: Kinematics, mounting, and the CAD values of its bodies.
        terms: What is fitted.
        active: Which joints have a measured effort, shape (n,).
        coupling: Actuator speeds per joint speeds, gears taken out, shape (n, n): u = coupling q̇.
    """

    robot: Robot
    terms: Terms
    active: BoolArray
    coupling: Array

    def __post_init__(self) -> None:
        """Refuse terms that a joint cannot have."""
        if not self.active.any():
            raise InputError("no joint has a measured effort; there is nothing to fit")
        for term in self.terms.chosen:
            for name in self.terms.joints(term.name, self.joint_names):
                if name not in self.suited(term):
                    raise InputError(f"a {term.name} is asked for linear joint '{name}'; expected a rotary joint")
            if why := term.hidden(self.robot):
                raise InputError(f"a {term.name} is asked for {why}; it cannot show")

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the a joints with a measured effort."""
        return tuple(name for name, used in zip(self.robot.joint_names, self.active, strict=True) if used)

    @cached_property
    def groups(self) -> dict[str, slice]:
        """Where the unknowns of each term stand in x, e.g. groups["coulomb"]."""
        groups, at = {}, 0
        for name, unknowns in self._named.items():
            groups[name] = slice(at, at + len(unknowns))
            at += len(unknowns)
        return groups

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the p unknowns, e.g. "elbow.mx" or "elbow.coulomb"."""
        return tuple(name for names in self._named.values() for name in names)

    @property
    def body_size(self) -> int:
        """Parameters of each body: 4 or 10."""
        return len(GRAVITY_PARAMETERS if self.terms.bodies == "gravity" else INERTIAL_PARAMETERS)

    @cached_property
    def body_parameters(self) -> npt.NDArray[np.int64]:
        """Which of the robot's body parameters are unknowns: those of bodies that an active joint carries."""
        tree, size = self.robot.tree, self.body_size
        carried = [
            body for body in range(tree.bodies) if any(self.active[tree.q_index[i]] for i in ancestors(tree, body))
        ]
        return np.array([size * body + entry for body in carried for entry in range(size)], dtype=np.int64)

    @cached_property
    def added(self) -> BoolArray:
        """Which unknowns add efforts to those of the rigid bodies, shape (p,)."""
        added = np.zeros(len(self.names), dtype=bool)
        for term in self.terms.chosen:
            added[self.groups[term.name]] = term.adds
        return added

    @property
    def coupled(self) -> bool:
        """Whether an actuator moves more than one joint."""
        return not np.array_equal(self.coupling, np.diag(np.diag(self.coupling)))

    def suited(self, term: EffortTerm) -> tuple[str, ...]:
        """Return the joints with a measured effort that can have a term."""
        turns = dict(zip(self.robot.joint_names, rotary(self.robot), strict=True))
        return tuple(name for name in self.joint_names if turns[name] or not term.rotary_only)

    def joints_of(self, term: str) -> npt.NDArray[np.int64]:
        """Return the indices (in the robot's order) of the joints that have a term, shape (m,)."""
        chosen = self.terms.joints(term, self.joint_names)
        return np.array([self.robot.joint_names.index(name) for name in chosen], dtype=np.int64)

    def rows_of(self, term: str) -> npt.NDArray[np.int64]:
        """Return their places among the joints with a measured effort, shape (m,)."""
        return np.array([int(np.sum(self.active[:joint])) for joint in self.joints_of(term)], dtype=np.int64)

    def start(self) -> Array:
        """Return x before any data: CAD values and rotors, gain 1, nothing else, shape (p,)."""
        return np.concatenate([term.start(self) for term in self.terms.chosen])

    @cached_property
    def cad_parameters(self) -> Array:
        """The description's own body parameters, shape (4 b,) or (10 b,)."""
        return self._parameters_of(self.robot)

    def described(self, x: Array) -> Array:
        """Return what the description alone says, with the gains of an estimate: no friction, no offset, shape (p,)."""
        start = self.start()
        for term in self.terms.chosen:
            if term.scales_efforts:
                start[self.groups[term.name]] = x[self.groups[term.name]]
        return start

    def per_joint(self, term: str, x: Array) -> Array:
        """Return one of the drives' terms, e.g. "coulomb", shape (n,); NaN where it is not fitted."""
        values = np.full(self.robot.n, np.nan)
        values[self.joints_of(term)] = x[self.groups[term]]
        return values

    def of_own_joints(self, values: Array) -> Array:
        """Return for every unknown the value of its joint, or of the last joint with a measured effort that carries it.

        Args:
            values: Of the active joints, shape (a,); their largest is that of a tilt.

        Returns:
            Shape (p,).
        """
        found = np.full(len(self.names), float(values.max()))
        tree = self.robot.tree
        for place, parameter in enumerate(self.body_parameters.tolist()):
            carriers = [tree.q_index[body] for body in ancestors(tree, parameter // self.body_size)]
            last = next(joint for joint in reversed(carriers) if self.active[joint])
            found[self.groups["bodies"].start + place] = values[int(np.sum(self.active[:last]))]
        for place in range(self.groups["bodies"].stop, len(self.names)):
            joint = self.names[place].rpartition(".")[0]
            if joint in self.joint_names:
                found[place] = values[self.joint_names.index(joint)]
        return found

    def rigid_body(self, x: Array) -> RigidBody:
        """Return from what the rigid-body efforts are computed at an estimate."""
        body = RigidBody(self.robot, np.zeros(self.robot.n), np.ones(self.robot.n))
        for term in self.terms.chosen:
            body = term.adjusted(body, self, x[self.groups[term.name]])
        return body

    def gains(self, x: Array) -> Array:
        """Return the gain of every joint, shape (n,); 1 where it is not fitted."""
        return self.rigid_body(x).gain

    def body_values(self, x: Array, known: Array | None = None) -> Array:
        """Return all body parameters, the description's where they are not fitted, shape (4 b,) or (10 b,).

        Args:
            x: The estimate, shape (p,).
            known: What is added to them (:meth:`known_load`).
        """
        values = self.cad_parameters.copy()
        values[self.body_parameters] = x[self.groups["bodies"]]
        return values if known is None else values + known

    def known_load(self, loaded: Robot) -> Array:
        """Return what a weighed load adds to the body parameters, shape (4 b,) or (10 b,).

        Args:
            loaded: The same robot carrying the load.
        """
        if loaded.joint_names != self.robot.joint_names or loaded.tree.bodies != self.robot.tree.bodies:
            raise InputError(f"robot '{loaded.name}' of a run is not the robot that is fitted, '{self.robot.name}'")
        return np.asarray(self._parameters_of(loaded) - self.cad_parameters, dtype=np.float64)

    def rows(self, samples: Samples, x: Array, known: Array | None = None) -> tuple[Array, Array]:
        """Return (A, y) of the active joints, shapes (k, a, p) and (k, a), linearised at x.

        Args:
            samples: Measured instants.
            x: The present estimate, shape (p,).
            known: What is added to the body parameters and not fitted (:meth:`known_load`).
        """
        at = Evaluation(self, samples, x, self.rigid_body(x), known)
        A = np.concatenate([term.columns(at) for term in self.terms.chosen], axis=2)
        y = samples.tau[:, self.active].copy()
        if not self.terms.linear:
            y += A[:, :, ~self.added] @ x[~self.added] - at.gain * at.torques
        elif known is not None:
            y -= at.regressor @ known
        return A, y

    def predict(self, samples: Samples, x: Array) -> Array:
        """Return the efforts that the model gives, h(x), shape (k, a), in the unit of the samples' efforts."""
        body = self.rigid_body(x)
        efforts = [np.zeros((0, len(self.joint_names)))]
        for chunk in samples.chunks():
            at = Evaluation(self, chunk, x, body)
            added = [term.columns(at) @ at.values(term.name) for term in self.terms.chosen if term.adds]
            efforts.append(np.sum([at.gain * at.torques, *added], axis=0))
        return np.concatenate(efforts)

    def actuator_direction(self, samples: Samples) -> Array:
        """Return the sign of each actuator's Coulomb friction, smooth through zero, shape (k, n)."""
        if samples.direction is not None:
            return samples.direction
        return np.tanh(samples.dq @ self.coupling.T / samples.v0)

    def uncertain_friction(self, samples: Samples, x: Array) -> Array:
        """Return the variance of every actuator's friction whose sign is unknown as its motion reverses, shape (k, n).

        Friction is then a number anywhere in ±F: a variance of F²/3 at rest, and of none in fast motion.
        """
        at = Evaluation(self, samples, x, self.rigid_body(x))
        size = np.zeros(samples.q.shape)
        for term in self.terms.chosen:
            if isinstance(term, DryFrictionTerm):
                size += np.nan_to_num(self.per_joint(term.name, x)) * term.magnitude(at)
        reversing = np.maximum(1.0 - at.direction**2, 0.0)
        return np.asarray(reversing * size**2 / 3.0, dtype=np.float64)

    def regressor(self, robot: Robot, q: Array, samples: Samples) -> Array:
        """Return the rigid bodies' regressor at given positions, shape (k, n, 4 b) or (k, n, 10 b)."""
        if self.terms.bodies == "gravity":
            return robot.gravity_regressor(q)
        return robot.inertial_regressor(q, samples.dq, samples.ddq)

    def _parameters_of(self, robot: Robot) -> Array:
        return robot.gravity_parameters if self.terms.bodies == "gravity" else robot.inertial_parameters[10:]

    @cached_property
    def _named(self) -> dict[str, list[str]]:
        chosen = self.terms.chosen
        return {term.name: term.names(self) if term in chosen else [] for term in registered_terms()}


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What the columns of terms are made of: samples, and the model at an estimate. Everything is computed once.

    Attributes:
        model: The model.
        samples: k samples.
        x: The estimate, shape (p,).
        body: Computes the rigid-body efforts.
        known: What is added to the body parameters and not fitted.
    """

    model: EffortModel
    samples: Samples
    x: Array
    body: RigidBody
    known: Array | None = None

    def values(self, term: str) -> Array:
        """Return the unknowns of a term, shape (m,)."""
        return self.x[self.model.groups[term]]

    @cached_property
    def q(self) -> Array:
        """True positions by the estimate [rad or m], shape (k, n)."""
        return np.asarray(self.samples.q + self.body.shift)

    @cached_property
    def gain(self) -> Array:
        """Effort per torque of the active joints, shape (a,)."""
        return self.body.gain[self.model.active]

    @cached_property
    def bodies(self) -> Array:
        """All body parameters, shape (4 b,) or (10 b,)."""
        return self.model.body_values(self.x, self.known)

    def regressor_at(self, q: Array) -> Array:
        """Return the rigid bodies' regressor of all joints at other positions, shape (k, n, 4 b) or (k, n, 10 b)."""
        return self.model.regressor(self.body.robot, q, self.samples)

    @cached_property
    def _regressor_of_all(self) -> Array:
        return self.regressor_at(self.q)

    @cached_property
    def regressor(self) -> Array:
        """The rigid bodies' regressor of the active joints at the true positions, shape (k, a, 4 b) or (k, a, 10 b)."""
        return self._regressor_of_all[:, self.model.active]

    @cached_property
    def torques(self) -> Array:
        """Rigid-body torques of the active joints [N m or N], shape (k, a)."""
        return np.asarray(self.regressor @ self.bodies)

    @cached_property
    def transmitted(self) -> Array:
        """Efforts that the actuators transmit to the links by the estimate, their own friction apart, shape (k, n).

        What springs and counterbalances hold they need not transmit.
        """
        efforts = (self._regressor_of_all @ self.bodies) * self.body.gain
        for term in self.model.terms.chosen:
            if isinstance(term, JointTerm) and term.adds:
                efforts[:, self.model.active] += term.columns(self) @ self.values(term.name)
        return efforts @ np.linalg.pinv(self.model.coupling) if self.model.coupled else np.asarray(efforts)

    @cached_property
    def speed(self) -> Array:
        """Speeds of the actuators [rad/s or m/s], shape (k, n)."""
        return np.asarray(self.samples.dq @ self.model.coupling.T)

    @cached_property
    def acceleration(self) -> Array:
        """Accelerations of the actuators [rad/s² or m/s²], shape (k, n)."""
        return np.asarray(self.samples.ddq @ self.model.coupling.T)

    @cached_property
    def direction(self) -> Array:
        """Sign of each actuator's dry friction, smooth through zero, shape (k, n)."""
        return self.model.actuator_direction(self.samples)
