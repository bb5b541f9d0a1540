"""The gravity table as the patent draws it: the moment on a grid of joint positions, interpolated linearly (claim 5).

Fair for three joints and hopeless for six; the exact trigonometric table is the better one. Kept for robots whose
joints mimic each other, and to compare.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from ..description.frozen import Array, frozen
from ..dynamics.joint_units import rotary
from ..dynamics.robot import Robot
from ..errors import InputError, ModelError
from .table_tag import TableTag, tag_of

MAX_ENTRIES = 10_000_000
"""Most grid points of a table: 240 MB of moments."""
TABLE_ROWS = 16_384


@dataclass(frozen=True, eq=False)
class LinearTable:
    """A gravity wrench generator from a grid.

    Attributes:
        tag: What the table belongs to.
        force: Weight on the plate [N], on the robot, base axes, shape (3,).
        joints: The d joints that the moment depends on.
        lower: First grid position of each [rad or m], shape (d,).
        step: Distance of its grid positions, shape (d,).
        moments: Moment at the base origin [N m], shape (k_1, …, k_d, 3).
    """

    tag: TableTag
    force: Array
    joints: tuple[int, ...]
    lower: Array
    step: Array
    moments: Array

    complete = True
    source = "model"

    @property
    def entries(self) -> int:
        """Number of grid points."""
        return int(np.prod(self.moments.shape[:-1]))

    def wrench(self, q: Array) -> Array:
        """Return w_g [N, N m] on the robot, base axes, at the base origin, shape (6,) or (k, 6).

        Args:
            q: Joint positions [rad or m], shape (n,) or (k, n).

        Raises:
            InputError: A joint is outside the table.
        """
        rows = np.atleast_2d(q)
        result = np.empty((len(rows), 6))
        result[:, :3] = self.force
        for first in range(0, len(rows), TABLE_ROWS):
            piece = slice(first, first + TABLE_ROWS)
            result[piece, 3:] = self._moments(rows[piece])
        return result if q.ndim == 2 else result[0]

    def covers(self, q: Array) -> npt.NDArray[np.bool_]:
        """Say which poses of shape (k, n) lie inside the table, shape (k,)."""
        return np.asarray(~self._outside(q).any(axis=1))

    def _outside(self, q: Array) -> npt.NDArray[np.bool_]:
        """Say which of the d joints are outside the table, shape (k, d)."""
        counts = np.array(self.moments.shape[:-1])
        place = (q[:, list(self.joints)] - self.lower) / self.step
        slack = 1e-9 * counts
        return np.asarray((place < -slack) | (place > counts - 1 + slack))

    def _moments(self, q: Array) -> Array:
        counts = np.array(self.moments.shape[:-1], dtype=np.intp)
        place = (q[:, list(self.joints)] - self.lower) / self.step
        outside = self._outside(q)
        if outside.any():
            row, column = np.argwhere(outside)[0]
            joint = self.joints[column]
            raise InputError(
                f"q['{self.tag.joint_names[joint]}'] is {q[row, joint]:.6g}; the gravity table covers "
                f"{self.lower[column]:.6g} to {self.lower[column] + self.step[column] * (counts[column] - 1):.6g}"
            )
        cell = np.clip(np.floor(place).astype(np.intp), 0, counts - 2)
        share = np.clip(place - cell, 0.0, 1.0)
        strides = np.array([int(np.prod(counts[column + 1 :])) for column in range(len(counts))], dtype=np.intp)
        flat = self.moments.reshape(-1, 3)
        base = cell @ strides
        total = np.zeros((len(q), 3))
        for corner in product((0, 1), repeat=len(self.joints)):
            up = np.array(corner, dtype=np.intp)
            weight = np.prod(np.where(up == 1, share, 1.0 - share), axis=1)
            total += weight[:, None] * flat[base + up @ strides]
        return total

    @staticmethod
    def from_model(robot: Robot, spacing: npt.ArrayLike) -> LinearTable:
        """Tabulate a robot's gravity moment over its joint limits.

        Args:
            robot: The robot. A joint without limits is tabulated over ±π.
            spacing: Largest distance of grid positions [rad or m], one number or one per joint, shape (n,).

        Raises:
            InputError: The spacing is not positive, a linear joint has no limits, or the table would be too large.
            ModelError: There are no masses.
        """
        if not robot.tree.mass.any():
            raise ModelError(f"robot '{robot.name}' has no masses to build a gravity table from; measure static poses")
        steps = _spacings(robot, spacing)
        lower, upper = _ranges(robot)
        joints = _felt_joints(robot, lower, upper)
        counts = [max(2, int(np.ceil((upper[j] - lower[j]) / steps[j] - 1e-9)) + 1) for j in joints]
        entries = math.prod(counts)
        if entries > MAX_ENTRIES:
            raise InputError(
                f"a grid of {' × '.join(map(str, counts))} = {entries:.3g} entries exceeds {MAX_ENTRIES:g}; widen the "
                "spacing, or use kind='trigonometric', which is exact"
            )
        axes = [np.linspace(lower[j], upper[j], count) for j, count in zip(joints, counts, strict=True)]
        moments = np.empty((entries, 3))
        for first in range(0, entries, TABLE_ROWS):
            piece = np.arange(first, min(first + TABLE_ROWS, entries))
            places = np.unravel_index(piece, counts) if counts else ()
            q = np.tile(lower, (len(piece), 1))
            for j, axis, place in zip(joints, axes, places, strict=True):
                q[:, j] = axis[place]
            moments[first : first + len(q)] = robot.base_wrench(q)[:, 3:]
        return LinearTable(
            tag_of(robot),
            frozen(-robot.total_mass * robot.gravity_base),
            tuple(joints),
            frozen([lower[j] for j in joints]),
            frozen([(upper[j] - lower[j]) / (count - 1) for j, count in zip(joints, counts, strict=True)]),
            frozen(moments.reshape(*counts, 3)),
        )


def _spacings(robot: Robot, spacing: npt.ArrayLike) -> Array:
    try:
        given = np.asarray(spacing, dtype=np.float64)
        steps = np.broadcast_to(given, (robot.n,))
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"spacing is {spacing!r}; expected one positive number, or one for each joint") from error
    if not (np.isfinite(steps).all() and (steps > 0.0).all()):
        raise InputError(f"spacing is {given.tolist()}; expected positive numbers [rad or m]")
    return steps


def _ranges(robot: Robot) -> tuple[Array, Array]:
    lower, upper = robot.lower.copy(), robot.upper.copy()
    for joint, turns in enumerate(rotary(robot)):
        if np.isfinite(lower[joint]) and np.isfinite(upper[joint]):
            continue
        if not turns:
            raise InputError(f"joint '{robot.joint_names[joint]}' slides without limits; a linear table needs them")
        lower[joint], upper[joint] = -np.pi, np.pi
    return lower, upper


def _felt_joints(robot: Robot, lower: Array, upper: Array) -> list[int]:
    """Return the joints that move the gravity moment at all: a grid over the others would be memory for nothing."""
    random = np.random.default_rng(0)
    poses = random.uniform(lower, upper, (64, robot.n))
    still = robot.base_wrench(poses)
    felt = []
    for joint in range(robot.n):
        moved = poses.copy()
        moved[:, joint] = random.uniform(lower[joint], upper[joint], len(poses))
        if np.abs(robot.base_wrench(moved) - still).max() > 1e-12 * max(1.0, float(np.abs(still).max())):
            felt.append(joint)
    return felt
