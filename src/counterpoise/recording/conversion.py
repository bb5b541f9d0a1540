"""Applying a mapping: raw columns to positions, velocities and torques in our units, signs and order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..foundation import Array
from .declared import Declared
from .log import Log, SampleFlag
from .mapping import JointSection, LogMapping
from .names import ANGLE, ANGULAR_SPEED, EFFORT, FORCE, LENGTH, SPEED, TORQUE


@dataclass(frozen=True, slots=True, eq=False)
class RawRows:
    """Rows as they were recorded, of the r recorded joints.

    Attributes:
        time: Times [s], shape (k,).
        position: Shape (k, r).
        velocity: Shape (k, r), NaN for joints without; None where no joint has one.
        effort: Shape (k, r), NaN for joints without; None where no joint has one.
        wrench: Shape (k, 6), or None.
        sent: What was sent [N m or N], shape (k, r), or None: only in logs of ours.
        flags: SampleFlag bits, shape (k,), or None: only in logs of ours.
        side: Direction of each joint's last motion, shape (k, r), or None.
        pair: Numbers of pairs of poses, shape (k,), or None.
    """

    time: Array
    position: Array
    velocity: Array | None
    effort: Array | None
    wrench: Array | None
    sent: Array | None = None
    flags: npt.NDArray[np.int64] | None = None
    side: Array | None = None
    pair: Array | None = None


class Converter:
    """Turns raw rows into a log.

    Attributes:
        motor_per_link: G of the n joints, shape (n, n), or None.
        torque_constant: Torque per current of the n joints [N m/A] that was applied, shape (n,); 0 where a gain stands
            for it; None where none was applied, as when currents of some joints lack one.
        gives_torque: Whether the log's efforts are torques though currents were recorded.
    """

    def __init__(
        self,
        mapping: LogMapping,
        joint_names: Sequence[str],
        recorded: Sequence[str],
        rotary: Sequence[bool],
        held: Mapping[str, float],
    ) -> None:
        """Work out factors and offsets once.

        Args:
            mapping: The complete mapping.
            joint_names: The n joints of the log.
            recorded: The r joints that were recorded, all among them.
            rotary: Of each of the n joints, whether it turns or slides.
            held: Positions [rad or m] of the others.

        Raises:
            InputError: [motor] does not fit the joints.
        """
        self._names = tuple(joint_names)
        self._rows = [self._names.index(name) for name in recorded]
        self._held = {self._names.index(name): value for name, value in held.items()}
        sections = [mapping.joints.get(name, JointSection()) for name in recorded]
        turns = [rotary[row] for row in self._rows]
        self._wrench_matrix = mapping.wrench_matrix
        force = FORCE[mapping.wrench.force_unit or "N"]
        moment = TORQUE[mapping.wrench.moment_unit or "Nm"]
        self._wrench_unit = np.repeat([force, moment], 3)
        self._gear(mapping, tuple(recorded))
        self._positions(mapping, sections, turns)
        self._efforts(mapping, sections, turns)
        self._with_effort = [index for index, section in enumerate(sections) if section.effort is not None]
        self._with_velocity = [index for index, section in enumerate(sections) if section.velocity is not None]

    def _gear(self, mapping: LogMapping, recorded: tuple[str, ...]) -> None:
        gear = mapping.motor_per_link(recorded)
        self._link_per_motor = None if gear is None or mapping.position.side != "motor" else np.linalg.inv(gear)
        self._gear_effort = None if gear is None or mapping.effort.side != "motor" else gear
        self.motor_per_link: Array | None = None
        if gear is not None:
            self.motor_per_link = np.eye(len(self._names))
            self.motor_per_link[np.ix_(self._rows, self._rows)] = gear

    def _positions(self, mapping: LogMapping, sections: Sequence[JointSection], turns: Sequence[bool]) -> None:
        angle, length = ANGLE[mapping.position.unit or "rad"], LENGTH[mapping.position.linear_unit or "m"]
        signs = np.array([section.position_sign or 1.0 for section in sections])
        self._position_factor = signs * np.where(turns, angle, length)
        self._position_offset = np.array([section.position_offset or 0.0 for section in sections])
        same = mapping.velocity.unit is None and mapping.velocity.linear_unit is None
        turning = angle if same else ANGULAR_SPEED[mapping.velocity.unit or "rad/s"]
        sliding = length if same else SPEED[mapping.velocity.linear_unit or "m/s"]
        own = np.array([section.velocity_sign or section.position_sign or 1.0 for section in sections])
        self._velocity_factor = own * np.where(turns, turning, sliding)

    def _efforts(self, mapping: LogMapping, sections: Sequence[JointSection], turns: Sequence[bool]) -> None:
        measured = [section for section in sections if section.effort is not None]
        self.gives_torque = bool(measured) and all(
            section.torque_constant is not None or section.effort_gain is not None for section in measured
        )
        # Currents stay currents of all joints until all can be torques: no log mixes the two.
        applied = self.gives_torque or mapping.effort.kind != "current"
        factor = np.full(len(sections), EFFORT[mapping.effort.unit or "Nm"])
        for index, section in enumerate(sections):
            factor[index] *= (section.effort_sign or 1.0) * (section.effort_gain or 1.0)
            factor[index] *= (section.torque_constant or 1.0) if applied else 1.0
        self._effort_factor = factor
        self._effort_offset = np.array([section.effort_offset or 0.0 for section in sections])
        constants = np.zeros(len(self._names))
        constants[self._rows] = [(section.torque_constant or 0.0) if applied else 0.0 for section in sections]
        self.torque_constant: Array | None = constants if np.any(constants) else None

    @np.errstate(over="ignore", invalid="ignore")  # absurd numbers stay absurd
    def convert(self, raw: RawRows, declared: Declared) -> Log:
        """Return rows in our units, signs, side and order; NaN in ``dq`` where no velocity was recorded.

        Args:
            raw: The rows as they were recorded.
            declared: What is known of the converted numbers.

        Raises:
            InputError: The numbers make no log.
        """
        k, n = len(raw.time), len(self._names)
        q, dq, tau = np.zeros((k, n)), np.full((k, n), np.nan), np.full((k, n), np.nan)
        for row, value in self._held.items():
            q[:, row] = value
            dq[:, row] = 0.0
        position = self._scaled(raw.position, self._position_factor)
        if self._link_per_motor is not None:
            position = position @ self._link_per_motor.T
        q[:, self._rows] = self._shifted(position, self._position_offset)
        if raw.velocity is not None:
            velocity = self._scaled(raw.velocity, self._velocity_factor)
            dq[:, self._rows] = velocity if self._link_per_motor is None else velocity @ self._link_per_motor.T
        if raw.effort is not None:
            effort = self._scaled(raw.effort, self._effort_factor)
            if self._gear_effort is not None:
                effort = effort @ self._gear_effort  # rows of (Gᵀ τ)ᵀ = τᵀ G
            tau[:, self._rows] = self._shifted(effort, self._effort_offset)
        sent = None
        if raw.sent is not None:
            sent = np.full((k, n), np.nan)
            sent[:, self._rows] = raw.sent
        wrench = raw.wrench
        if wrench is not None:
            wrench = self._scaled(wrench, self._wrench_unit)
            wrench = wrench if self._wrench_matrix is None else wrench @ self._wrench_matrix.T
        flags = raw.flags if raw.flags is not None else self._flags(q, dq, tau, wrench, raw)
        side = None
        if raw.side is not None:
            # What rose in the recording fell in the joint where the sign is turned over.
            turned = np.sign(self._position_factor)
            if self._link_per_motor is not None:
                turned = turned * np.sign(np.diag(self._link_per_motor))
            side = np.zeros((k, n))
            side[:, self._rows] = np.nan_to_num(raw.side) * turned
        pair = None if raw.pair is None else np.nan_to_num(raw.pair, nan=-1.0)
        return Log(self._names, raw.time, q, dq, tau, wrench, flags, sent, declared, side, pair)

    def _scaled(self, values: Array, factor: Array) -> Array:
        return values if np.all(factor == 1.0) else values * factor

    def _shifted(self, values: Array, offset: Array) -> Array:
        return values if not np.any(offset) else values + offset  # adding 0 would lose the sign of −0

    def _flags(self, q: Array, dq: Array, tau: Array, wrench: Array | None, raw: RawRows) -> npt.NDArray[np.int64]:
        """Mark the parts of a sample that are not numbers. A joint that never had a part does not invalidate it."""
        flags = np.zeros(len(q), dtype=np.int64)
        rows = np.array(self._rows)
        parts: list[tuple[SampleFlag, Array]] = [(SampleFlag.Q_INVALID, q[:, rows])]
        if raw.velocity is not None:
            parts.append((SampleFlag.DQ_INVALID, dq[:, rows[self._with_velocity]]))
        parts.append((SampleFlag.TAU_INVALID, tau[:, rows[self._with_effort] if self._with_effort else rows]))
        if wrench is not None:
            parts.append((SampleFlag.WRENCH_INVALID, wrench))
        for flag, values in parts:
            flags[~np.isfinite(values).all(axis=1)] |= int(flag)
        return flags


def held_positions(
    joint_names: Sequence[str],
    recorded: Sequence[str],
    given: Mapping[str, float],
    lower: Array | None,
    upper: Array | None,
) -> dict[str, float]:
    """Return the positions of joints that were not recorded: as given, else 0 or the nearest that the limits allow.

    Raises:
        InputError: A position is given for a joint that was recorded or does not exist.
    """
    for name in given:
        if name not in joint_names or name in recorded:
            free = [joint for joint in joint_names if joint not in recorded]
            raise InputError(f"[held] names '{name}'; joints that are not recorded are {free}")
    held = {}
    for row, name in enumerate(joint_names):
        if name not in recorded:
            value = 0.0 if lower is None or upper is None else float(np.clip(0.0, lower[row], upper[row]))
            held[name] = given.get(name, value)
    return held
