"""Rows of the model that is fitted: what each unknown adds to the effort of each joint, sample by sample.

The unknowns x are absolute values, not corrections: inertial parameters in kg, kg m, kg m²; friction in N m; and so on.
Where the model is not linear in them (gain × weight, zero, tilt) the rows are its derivatives at the present estimate x̂
and the right-hand side is shifted, y = e − h(x̂) + A x̂, so that solving A x = y is one Gauss–Newton step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..dynamics import GRAVITY_PARAMETERS, INERTIAL_PARAMETERS, Robot, ancestors, rotary
from ..errors import InputError
from ..foundation import Array
from .samples import Samples
from .terms import Terms

STEP = 1e-5
"""Change of a joint's position for a central difference [rad or m]: its error is 1e-10 of the torque."""

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class EffortColumns:
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
        turns = dict(zip(self.robot.joint_names, rotary(self.robot), strict=True))
        for name in self.terms.joints("counterbalance", self.joint_names):
            if not turns[name]:
                raise InputError(f"a counterbalance is asked for linear joint '{name}'; expected a rotary joint")
        if self.terms.tilt and not np.any(self.robot.gravity_world):
            raise InputError("a tilt is asked for without gravity; it cannot show")

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the a joints with a measured effort."""
        return tuple(name for name, used in zip(self.robot.joint_names, self.active, strict=True) if used)

    @cached_property
    def groups(self) -> dict[str, slice]:
        """Where each kind of unknown stands in x, e.g. groups["coulomb"]."""
        found, at = {}, 0
        for kind, names in self._named.items():
            found[kind] = slice(at, at + len(names))
            at += len(names)
        return found

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the p unknowns, e.g. "elbow.mx" or "elbow.coulomb"."""
        return tuple(name for names in self._named.values() for name in names)

    @cached_property
    def body_parameters(self) -> npt.NDArray[np.int64]:
        """Which of the robot's body parameters are unknowns: those of bodies that an active joint carries."""
        tree, size = self.robot.tree, self._size
        carried = [
            body for body in range(tree.bodies) if any(self.active[tree.q_index[i]] for i in ancestors(tree, body))
        ]
        return np.array([size * body + entry for body in carried for entry in range(size)], dtype=np.int64)

    @property
    def coupled(self) -> bool:
        """Whether an actuator moves more than one joint."""
        return not np.array_equal(self.coupling, np.diag(np.diag(self.coupling)))

    def joints_of(self, kind: str) -> npt.NDArray[np.int64]:
        """Return the indices (in the robot's order) of the joints that have a term, shape (m,)."""
        chosen = self.terms.joints(kind, self.joint_names)
        return np.array([self.robot.joint_names.index(name) for name in chosen], dtype=np.int64)

    def start(self) -> Array:
        """Return x before any data: CAD values and rotors, gain 1, nothing else, shape (p,)."""
        x = np.zeros(len(self.names))
        x[self.groups["bodies"]] = self.cad_parameters[self.body_parameters]
        x[self.groups["rotor"]] = self.robot.rotor_inertia[self.joints_of("rotor")]
        x[self.groups["gain"]] = 1.0
        return x

    @cached_property
    def cad_parameters(self) -> Array:
        """The description's own body parameters, shape (4 b,) or (10 b,)."""
        return self._parameters_of(self.robot)

    def described(self, x: Array) -> Array:
        """Return what the description alone says, with the gains of an estimate: no friction, no offset, shape (p,)."""
        start = self.start()
        start[self.groups["gain"]] = x[self.groups["gain"]]
        return start

    def per_joint(self, kind: str, x: Array) -> Array:
        """Return one of the drives' terms, e.g. "coulomb", shape (n,); NaN where it is not fitted."""
        values = np.full(self.robot.n, np.nan)
        values[self.joints_of(kind)] = x[self.groups[kind]]
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
            carriers = [tree.q_index[body] for body in ancestors(tree, parameter // self._size)]
            last = next(joint for joint in reversed(carriers) if self.active[joint])
            found[self.groups["bodies"].start + place] = values[int(np.sum(self.active[:last]))]
        for place in range(self.groups["bodies"].stop, len(self.names)):
            joint = self.names[place].rpartition(".")[0]
            if joint in self.joint_names:
                found[place] = values[self.joint_names.index(joint)]
        return found

    def gains(self, x: Array) -> Array:
        """Return the gain of every joint, shape (n,); 1 where it is not fitted."""
        return np.nan_to_num(self.per_joint("gain", x), nan=1.0)

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
        A = np.zeros((len(samples), len(self.joint_names), len(self.names)))
        tilted = self._tilted(x)
        q = samples.q + self._zeros(x)
        gain = self.gains(x)[self.active]
        Y = self._regressor(tilted, q, samples)[:, self.active]
        bodies = self.body_values(x, known)
        weight = Y @ bodies
        A[:, :, self.groups["bodies"]] = gain[:, None] * Y[:, :, self.body_parameters]
        self._fill_drives(A, samples)
        self._fill_springs(A, samples)
        y = samples.tau[:, self.active].copy()
        if not self.terms.linear:
            self._fill_gains(A, weight)
            self._fill_zeros(A, tilted, q, samples, bodies, gain)
            self._fill_tilt(A, x, q, bodies, gain)
            drives = np.ones(len(self.names), dtype=bool)
            for kind in ("bodies", "gain", "zero", "tilt"):
                drives[self.groups[kind]] = False
            y += A[:, :, ~drives] @ x[~drives] - gain * weight
        elif known is not None:
            y -= Y @ known
        return A, y

    def predict(self, samples: Samples, x: Array) -> Array:
        """Return the efforts that the model gives, h(x), shape (k, a), in the unit of the samples' efforts."""
        robot, zeros = self._tilted(x), self._zeros(x)
        gain, bodies = self.gains(x)[self.active], self.body_values(x)
        efforts = [np.zeros((0, len(self.joint_names)))]
        for chunk in samples.chunks():
            Y = self._regressor(robot, chunk.q + zeros, chunk)[:, self.active]
            A = np.zeros((len(chunk), len(self.joint_names), len(self.names)))
            self._fill_drives(A, chunk)
            self._fill_springs(A, chunk)
            efforts.append(gain * (Y @ bodies) + A @ x)
        return np.concatenate(efforts)

    def actuator_direction(self, samples: Samples) -> Array:
        """Return the sign of each actuator's Coulomb friction, smooth through zero, shape (k, n)."""
        if samples.direction is not None:
            return samples.direction
        return np.tanh(samples.dq @ self.coupling.T / samples.v0)

    def reversing(self, samples: Samples) -> Array:
        """Return how uncertain the sign of each actuator's friction is: 1 at rest, 0 in fast motion, shape (k, n)."""
        return np.asarray(np.maximum(1.0 - self.actuator_direction(samples) ** 2, 0.0), dtype=np.float64)

    def _parameters_of(self, robot: Robot) -> Array:
        return robot.gravity_parameters if self.terms.bodies == "gravity" else robot.inertial_parameters[10:]

    @property
    def _labels(self) -> tuple[str, ...]:
        return GRAVITY_PARAMETERS if self.terms.bodies == "gravity" else INERTIAL_PARAMETERS

    @property
    def _size(self) -> int:
        return len(self._labels)

    @cached_property
    def _named(self) -> dict[str, list[str]]:
        bodies, labels = self.robot.tree.body_names, self._labels
        named = {"bodies": [f"{bodies[at // self._size]}.{labels[at % self._size]}" for at in self.body_parameters]}
        for kind in ("offset", "coulomb", "viscous", "rotor", "spring", "gain", "zero"):
            named[kind] = [f"{joint}.{kind}" for joint in self.terms.joints(kind, self.joint_names)]
        balanced = self.terms.joints("counterbalance", self.joint_names)
        named["counterbalance"] = [f"{joint}.{part}" for joint in balanced for part in ("cosine", "sine")]
        named["tilt"] = ["tilt.first", "tilt.second"] if self.terms.tilt else []
        return named

    def _zeros(self, x: Array) -> Array:
        return np.nan_to_num(self.per_joint("zero", x))

    def _regressor(self, robot: Robot, q: Array, samples: Samples) -> Array:
        if self.terms.bodies == "gravity":
            return robot.gravity_regressor(q)
        return robot.inertial_regressor(q, samples.dq, samples.ddq)

    def _fill_drives(self, A: Array, samples: Samples) -> None:
        """Friction, rotor and offset follow the actuators and act on the joints by the coupling's transpose."""
        speed, change = samples.dq @ self.coupling.T, samples.ddq @ self.coupling.T
        shapes = {
            "offset": np.ones_like(speed),
            "coulomb": self.actuator_direction(samples),
            "viscous": speed,
            "rotor": change,
        }
        for kind, shape in shapes.items():
            at = self.joints_of(kind)
            if len(at):
                A[:, :, self.groups[kind]] = shape[:, None, at] * self.coupling[at][:, self.active].T

    def _fill_springs(self, A: Array, samples: Samples) -> None:
        self._fill_own(A, "spring", samples.q)
        at, group = self.joints_of("counterbalance"), self.groups["counterbalance"]
        for place, joint in enumerate(at):
            row = int(np.sum(self.active[:joint]))
            A[:, row, group.start + 2 * place] = np.cos(samples.q[:, joint])
            A[:, row, group.start + 2 * place + 1] = np.sin(samples.q[:, joint])

    def _fill_gains(self, A: Array, weight: Array) -> None:
        full = np.zeros((len(weight), self.robot.n))
        full[:, self.active] = weight
        self._fill_own(A, "gain", full)

    def _fill_own(self, A: Array, kind: str, values: Array) -> None:
        """Fill columns that act on their own joint only; ``values`` has shape (k, n)."""
        for place, joint in enumerate(self.joints_of(kind)):
            A[:, int(np.sum(self.active[:joint])), self.groups[kind].start + place] = values[:, joint]

    def _fill_zeros(self, A: Array, robot: Robot, q: Array, samples: Samples, bodies: Array, gain: Array) -> None:
        for place, joint in enumerate(self.joints_of("zero")):
            step = STEP * np.eye(self.robot.n)[joint]
            change = self._regressor(robot, q + step, samples) - self._regressor(robot, q - step, samples)
            slope = (change[:, self.active] @ bodies) / (2.0 * STEP)
            A[:, :, self.groups["zero"].start + place] = gain * slope

    def _fill_tilt(self, A: Array, x: Array, q: Array, bodies: Array, gain: Array) -> None:
        if not self.terms.tilt:
            return
        weights = bodies.reshape(-1, self._size)[:, :4].ravel()
        angles = x[self.groups["tilt"]]
        for place in range(2):
            step = STEP * np.eye(2)[place]
            # Torques are linear in the gravity vector, so its derivative takes gravity's own place.
            slope = (self._gravity(angles + step) - self._gravity(angles - step)) / (2.0 * STEP)
            turned = self.robot.mounted(rotation=np.eye(3), gravity=slope)
            torque = turned.gravity_regressor(q)[:, self.active] @ weights
            A[:, :, self.groups["tilt"].start + place] = gain * torque

    def _tilted(self, x: Array) -> Robot:
        if not self.terms.tilt:
            return self.robot
        return self.robot.mounted(rotation=np.eye(3), gravity=self._gravity(x[self.groups["tilt"]]))

    def _gravity(self, angles: Sequence[float] | Array) -> Array:
        """Return gravity in base axes [m/s²] when the base leans by two angles [rad] about axes across gravity."""
        down = self.robot.gravity_base / np.linalg.norm(self.robot.gravity_base)
        first, second = tilt_axes(self.robot)
        lean = angles[0] * first + angles[1] * second
        angle = float(np.linalg.norm(lean))
        # Rodrigues, for the base turned by ``lean``: gravity turns the other way in its axes.
        axis = lean / angle if angle > 0.0 else first
        turned = down * np.cos(angle) - np.cross(axis, down) * np.sin(angle)
        return np.asarray(turned * np.linalg.norm(self.robot.gravity_base), dtype=np.float64)


def tilt_axes(robot: Robot) -> tuple[Array, Array]:
    """Return the two axes of a tilt, in base axes, shapes (3,): across gravity; x and y for an upright robot."""
    up = -robot.gravity_base / np.linalg.norm(robot.gravity_base)
    helper = np.eye(3)[1] if abs(up[1]) < 0.9 else np.eye(3)[2]
    first = np.cross(helper, up)
    first /= np.linalg.norm(first)
    return first, np.cross(up, first)
