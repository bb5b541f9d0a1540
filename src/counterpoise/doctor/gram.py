"""Scalar products of all signals that a comparison needs, per joint, so that a fit costs the same for many points.

For each joint the columns are, in this order: the shared directions in which the model's parameters may be wrong; the
joint's own (rotor inertia, dry friction, viscous friction, offset, friction kept at rest and wound up, and shapes along
its own position: straight, sine, cosine, cubic); the model's torque of the motion without gravity; gravity's torque;
gravity's torque per 1 m/s² along x, y, z; payloads; every recorded effort.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..dynamics import BASE, Robot, driven_inertias, rotary
from ..foundation import Array
from .points import LEAST_MOTION, MotionPoints
from .priors import ANY, MassBelief, parameter_spread, payload_spread
from .reading import Reading

OWN = ("rotor", "dry", "viscous", "offset", "kept", "wound", "straight", "sine", "cosine", "cubic")
"""Columns that each joint has for itself."""
SHAPES = OWN[6:]
"""Those along its own position."""
LEAST_DIRECTION = 1e-7
"""Parameter directions whose expected torque is less than this part of the largest one's are left out."""
SMOOTHING = 0.05
"""Speed below which dry friction is taken to turn over, relative to the joint's usual speed."""
RANDOM_MOTIONS = 100
"""Random states at which it is seen which parameter directions torques feel."""


@dataclass(frozen=True, slots=True, eq=False)
class Gram:
    """Scalar products for one kinematic understanding of the recording.

    Attributes:
        products: One matrix per joint with a live effort, a of them, divided by the number of points, shape (a, c, c).
        shared: Number of shared directions.
        leaves: Bodies that may carry a payload, four columns each.
        speed: Mean speed of each joint [rad/s or m/s], shape (n,): the viscous column is dq / speed.
        moves: Joints that move at all, shape (n,).
    """

    products: Array
    shared: int
    leaves: tuple[int, ...]
    speed: Array
    moves: Array

    @property
    def own(self) -> range:
        """Columns of the joint's own."""
        return range(self.shared, self.shared + len(OWN))

    @property
    def moving(self) -> int:
        """Column of the motion's torque without gravity."""
        return self.shared + len(OWN)

    @property
    def weight(self) -> int:
        """Column of gravity's torque."""
        return self.moving + 1

    @property
    def unit_gravity(self) -> range:
        """Columns of gravity's torque per 1 m/s² along x, y, z of the base."""
        return range(self.weight + 1, self.weight + 4)

    def payload(self, body: int) -> range:
        """Columns of a payload on a body."""
        first = self.weight + 4 + 4 * self.leaves.index(body)
        return range(first, first + 4)

    @property
    def first_effort(self) -> int:
        """Column of the first recorded effort."""
        return self.weight + 4 + 4 * len(self.leaves)


class SignalColumns:
    """Makes the columns of one robot and recording: what does not depend on the reading is computed once.

    Attributes:
        robot: The robot.
        points: The recording's points.
        alive: Joints with a live effort: those whose torques are explained.
        leaves: Bodies that carry no other moving body.
        payload_spread: What a payload's columns mean, by body: [m, mx, my, mz] = spread @ x [kg, kg m], shape (4, 4).
        inertia: Mean inertia that each joint turns [kg m² or kg], shape (n,).
    """

    def __init__(self, robot: Robot, points: MotionPoints) -> None:
        """Prepare for a robot and a recording."""
        self.robot = robot
        self.points = points
        self.alive = np.flatnonzero(points.alive)
        parents = {int(parent) for parent in robot.tree.parent if parent != BASE}
        self.leaves = tuple(body for body in range(robot.tree.bodies) if body not in parents)
        self.payload_spread = {body: payload_spread(robot, body) for body in self.leaves}
        payloads = [_on_body(spread, body, robot.tree.bodies) for body, spread in self.payload_spread.items()]
        self._units = [robot.mounted(rotation=np.eye(3), gravity=unit) for unit in np.eye(3)]
        self._turned: dict[tuple[float, float, float], Robot] = {}

        random = np.random.default_rng(0)
        q, dq, ddq = random.normal(size=(3, RANDOM_MOTIONS, robot.n)) * points.moving
        # Under gravity of no special direction nothing is felt by accident only.
        slanted = robot.mounted(rotation=np.eye(3), gravity=(3.0, 5.0, -7.8))
        rows = slanted.inertial_regressor(q, dq, ddq)[:, self.alive]
        spread = parameter_spread(robot, ANY)
        felt = _felt(rows @ spread)
        self._matrix = np.concatenate([spread @ felt, *payloads], axis=1)
        self._felt_of = np.linalg.solve(spread.T, felt).T  # what of a change of the parameters is felt
        self._held: dict[MassBelief, Array] = {}
        self._grams: dict[tuple[object, ...], Gram] = {}
        self._expected: dict[tuple[object, ...], tuple[Array, Array]] = {}
        self.shared = self._matrix.shape[1] - 4 * len(payloads)
        self.inertia = np.mean(np.abs(driven_inertias(robot, points.q[:: max(1, len(points.q) // 16)])), axis=0)

    def held(self, belief: MassBelief) -> Array:
        """Return T, shape (c, c): the shared columns times T have unknowns of unit variance under a belief."""
        if belief not in self._held:
            known = self._felt_of @ parameter_spread(self.robot, belief)
            root = known @ known.T
            root += 1e-12 * float(np.trace(root)) * np.eye(len(root))
            self._held[belief] = np.asarray(np.linalg.cholesky(root), dtype=np.float64)
        return self._held[belief]

    def gram(self, reading: Reading, every: int = 1) -> Gram:
        """Return the scalar products, computed once.

        Args:
            reading: How positions are understood; its efforts play no part.
            every: Take every so many points.
        """
        key = (reading.kinematics, every)
        if key not in self._grams:
            self._grams[key] = self._gram(reading, every)
        return self._grams[key]

    def unexplained(self, reading: Reading) -> Array:
        """Return efforts less the model's torques as a reading understands both [N m or N], shape (N, a).

        Payloads, offsets and torques along the position are left out.
        """
        key = reading.kinematics
        if key not in self._expected:
            q, dq, ddq = (reading.positions(values) for values in (self.points.q, self.points.dq, self.points.ddq))
            turned = self.robot.mounted(rotation=np.eye(3), gravity=reading.gravity_base)
            rows = turned.inertial_regressor(q, dq, ddq)[:, self.alive]
            whole = rows @ self.robot.inertial_parameters[10:] + (self.robot.rotor_inertia * ddq)[:, self.alive]
            self._expected[key] = (whole, turned.gravity(q)[:, self.alive])
        whole, weight = self._expected[key]
        effort = self.points.effort[:, list(reading.effort_from)] * np.array(reading.effort_factor)
        return np.asarray(effort[:, self.alive] - whole + (weight if reading.compensated else 0.0))

    def _gram(self, reading: Reading, every: int) -> Gram:
        robot, points, alive = self.robot, self.points, self.alive
        q, dq, ddq = (reading.positions(values[::every]) for values in (points.q, points.dq, points.ddq))
        if reading.gravity_base not in self._turned:
            self._turned[reading.gravity_base] = robot.mounted(rotation=np.eye(3), gravity=reading.gravity_base)
        rows = self._turned[reading.gravity_base].inertial_regressor(q, dq, ddq)[:, alive]
        units = np.stack([unit.gravity(q)[:, alive] for unit in self._units], axis=2)
        weight = units @ np.array(reading.gravity_base)
        rotor = (robot.rotor_inertia * ddq)[:, alive]
        moving = rows @ robot.inertial_parameters[10:] - weight + rotor
        wide = rows @ self._matrix

        moves = np.ptp(q, axis=0) > LEAST_MOTION
        usual = np.where(moves, np.maximum(np.mean(np.abs(dq), axis=0), 1e-9), 1.0)
        smooth = np.tanh(dq / (SMOOTHING * usual)) * moves
        last = points.last_direction[::every][:, list(reading.position_from)] * np.sign(reading.position_factor)
        kept = last * (1.0 - np.abs(smooth)) * moves
        wound = points.wound[::every][:, list(reading.position_from)] * np.sign(reading.position_factor) * moves
        shapes = position_shapes(robot, q)
        own = np.stack([ddq, smooth, dq / usual * moves, np.ones_like(q), kept, wound, *shapes], axis=2)[:, alive]

        everyone = np.repeat(points.effort[::every, None, alive], len(alive), axis=1)
        single = np.stack([moving, weight], axis=2)
        columns = np.concatenate([wide[..., : self.shared], own, single, units, wide[..., self.shared :], everyone], 2)
        by_joint = np.ascontiguousarray(np.moveaxis(columns, 1, 0))
        products = np.swapaxes(by_joint, 1, 2) @ by_joint / len(q)
        return Gram(products, self.shared, self.leaves, usual, moves)


def position_shapes(robot: Robot, q: Array) -> tuple[Array, ...]:
    """Return the shapes of torques along each joint's own position, as SHAPES has them, each of shape (N, n).

    They are centred, so that an offset is none of them. Straight and cubic run over the travelled range.
    """
    middle = 0.5 * (q.max(axis=0) + q.min(axis=0))
    half = 0.5 * np.maximum(np.ptp(q, axis=0), LEAST_MOTION)
    along = (q - middle) / half
    turns = np.array(rotary(robot), dtype=float)
    shapes = (along * np.minimum(half, 1.0), np.sin(q) * turns, np.cos(q) * turns, along**3 * np.minimum(half, 1.0))
    return tuple(shape - shape.mean(axis=0) for shape in shapes)


def _on_body(spread: Array, body: int, bodies: int) -> Array:
    """Return [m, mx, my, mz] of one body as changes of all bodies' ten parameters, shape (10 bodies, 4)."""
    whole = np.zeros((10 * bodies, 4))
    whole[10 * body : 10 * body + 4] = spread
    return whole


def _felt(columns: Array) -> Array:
    """Return the directions, orthonormal, in which the columns, shape (k, n, c), are not negligible, shape (c, f)."""
    scale = np.sqrt(np.mean(np.sum(columns**2, axis=2), axis=0))
    flat = (columns / np.maximum(scale, 1e-9 * scale.max())[None, :, None]).reshape(-1, columns.shape[2])
    values, vectors = np.linalg.eigh(flat.T @ flat)
    return np.asarray(vectors[:, values > LEAST_DIRECTION * values[-1]])
