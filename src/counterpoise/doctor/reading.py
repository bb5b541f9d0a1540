"""A reading: one way to understand the numbers of a recording. The doctor compares readings.

``changes`` lists what a reading changes about a recording, fault by fault, so that each can be weighed, named or taken
back alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from ..dynamics import Robot
from ..foundation import Array
from ..recording import Declared
from .finding import LogFault


@dataclass(frozen=True, slots=True)
class Reading:
    """What recorded channels mean. Joint i of the robot, n of them, 0 ≤ i < n.

    Attributes:
        position_from: Recorded position channel of each joint.
        position_factor: Factor, of any sign, that makes it the link's position [rad or m].
        effort_from: Recorded effort channel of each joint.
        effort_factor: Factor, of any sign, that makes it the torque on the link [N m or N].
        gravity_base: Gravity in the base frame [m/s²].
        free_gain: Efforts are in a unit of their own (currents, motor-side torques): every factor is open.
        compensated: Efforts leave gravity out: the robot adds it by itself.
        loaded: Bodies (indices) with a payload that the model lacks.
        offset: Joints (indices) whose effort has an offset.
        sprung: Joints (indices) with a torque that depends on their position: a spring, a counterbalance, a cable.
    """

    position_from: tuple[int, ...]
    position_factor: tuple[float, ...]
    effort_from: tuple[int, ...]
    effort_factor: tuple[float, ...]
    gravity_base: tuple[float, float, float]
    free_gain: bool = False
    compensated: bool = False
    loaded: frozenset[int] = frozenset()
    offset: frozenset[int] = frozenset()
    sprung: frozenset[int] = frozenset()

    @classmethod
    def as_recorded(cls, robot: Robot, declared: Declared | None = None) -> Self:
        """Return the reading that believes the log, and what it declares, in everything."""
        told = declared or Declared()
        order, ones = tuple(range(robot.n)), (1.0,) * robot.n
        x, y, z = (robot.gravity_base if told.gravity_base is None else told.gravity_base).tolist()
        in_front = told.effort_side == "motor" and told.motor_per_link is None
        return cls(
            order,
            ones,
            order,
            ones,
            (x, y, z),
            free_gain=told.effort_kind == "current" or in_front,
            compensated=told.adds_gravity is True,
        )

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.position_from)

    @property
    def kinematics(self) -> tuple[object, ...]:
        """What decides the joint angles and gravity, and so the regressors."""
        return (self.position_from, self.position_factor, self.gravity_base)

    def positions(self, recorded: Array) -> Array:
        """Return positions, velocities or accelerations as this reading understands them, shape (N, n)."""
        understood: Array = recorded[:, list(self.position_from)] * np.array(self.position_factor)
        return understood

    def with_effort_factors(self, factors: Mapping[int, float]) -> Self:
        """Return this reading with other effort factors, by joint."""
        changed = (factors.get(joint, old) for joint, old in enumerate(self.effort_factor))
        return replace(self, effort_factor=tuple(changed))

    def with_effort_flipped(self, *joints: int) -> Self:
        """Return this reading with the efforts of joints of the other sign."""
        return self.with_effort_factors({joint: -self.effort_factor[joint] for joint in joints})

    def with_position_flipped(self, *joints: int) -> Self:
        """Return this reading with the positions of joints of the other sign."""
        changed = (-old if joint in joints else old for joint, old in enumerate(self.position_factor))
        return replace(self, position_factor=tuple(changed))

    def with_channels(self, *, position: tuple[int, ...] | None = None, effort: tuple[int, ...] | None = None) -> Self:
        """Return this reading with other channels: entry i is the joint whose channel joint i takes.

        Signs and factors stay with the joint: they tell its convention from the recording's.
        """
        changed = self
        if position is not None:
            changed = replace(changed, position_from=tuple(self.position_from[other] for other in position))
        if effort is not None:
            changed = replace(changed, effort_from=tuple(self.effort_from[other] for other in effort))
        return changed


def swapped(n: int, first: int, second: int) -> tuple[int, ...]:
    """Return the order of n joints with two of them exchanged."""
    order = list(range(n))
    order[first], order[second] = second, first
    return tuple(order)


SAME = 1e-9
"""Relative difference up to which two factors are the same."""


@dataclass(frozen=True, slots=True)
class Change:
    """One fault that a reading assumes.

    Attributes:
        fault: The fault. A torque along a joint's position is called a spring, whatever it is.
        joints: Joints (indices) that have it; empty for the whole recording.
        without: The reading without it.
    """

    fault: LogFault
    joints: tuple[int, ...]
    without: Reading


def changes(reading: Reading, begin: Reading, alive: Sequence[int]) -> list[Change]:
    """Return what a reading changes.

    Args:
        reading: The reading.
        begin: The one that believes the log.
        alive: Joints with a live effort.
    """
    found = _signs(reading, begin, alive) + _orders(reading, begin)
    turned = [abs(new / old) for new, old in zip(reading.position_factor, begin.position_factor, strict=True)]
    if any(abs(ratio - 1.0) > SAME for ratio in turned):
        signs = zip(reading.position_factor, begin.position_factor, strict=True)
        plain = tuple(math.copysign(old, new) for new, old in signs)
        joints = tuple(joint for joint, ratio in enumerate(turned) if abs(ratio - 1.0) > SAME)
        found.append(Change(LogFault.DEGREES, joints, replace(reading, position_factor=plain)))
    found += _gains(reading, begin, alive)
    found += [
        Change(LogFault.OFFSET, (joint,), replace(reading, offset=reading.offset - {joint}))
        for joint in sorted(reading.offset)
    ]
    found += [
        Change(LogFault.SPRING, (joint,), replace(reading, sprung=reading.sprung - {joint}))
        for joint in sorted(reading.sprung)
    ]
    found += [
        Change(LogFault.PAYLOAD, (), replace(reading, loaded=reading.loaded - {body}))
        for body in sorted(reading.loaded)
    ]
    if reading.compensated != begin.compensated:
        found.append(Change(LogFault.GRAVITY_COMPENSATED, (), replace(reading, compensated=begin.compensated)))
    if reading.gravity_base != begin.gravity_base:
        found.append(Change(LogFault.MOUNT, (), replace(reading, gravity_base=begin.gravity_base)))
    return found


def plain_factors(reading: Reading, begin: Reading, joints: Sequence[int]) -> Reading:
    """Return a reading with the effort factors of joints as the log has them, signs kept."""
    signed = {joint: math.copysign(begin.effort_factor[joint], reading.effort_factor[joint]) for joint in joints}
    return reading.with_effort_factors(signed)


def _signs(reading: Reading, begin: Reading, alive: Sequence[int]) -> list[Change]:
    effort = [joint for joint in alive if reading.effort_factor[joint] * begin.effort_factor[joint] < 0.0]
    position = [
        joint for joint in range(reading.n) if reading.position_factor[joint] * begin.position_factor[joint] < 0.0
    ]
    if effort and len(effort) == len(alive) > 1:  # one convention, not n faults
        found = [Change(LogFault.EFFORT_SIGN, tuple(effort), reading.with_effort_flipped(*effort))]
        both: list[int] = []
    else:
        both = [joint for joint in effort if joint in position]  # the axis points the other way: one fault, not two
        alone = [joint for joint in effort if joint not in both]
        found = [Change(LogFault.EFFORT_SIGN, (joint,), reading.with_effort_flipped(joint)) for joint in alone]
    for joint in position:
        without = reading.with_position_flipped(joint)
        without = without.with_effort_flipped(joint) if joint in both else without
        found.append(Change(LogFault.POSITION_SIGN, (joint,), without))
    return found


def _orders(reading: Reading, begin: Reading) -> list[Change]:
    position, effort = reading.position_from, reading.effort_from
    if position == effort != begin.effort_from:
        without = replace(reading, position_from=begin.position_from, effort_from=begin.effort_from)
        return [Change(LogFault.JOINT_ORDER, _moved(position), without)]
    found = []
    if position != begin.position_from:
        without = replace(reading, position_from=begin.position_from)
        found.append(Change(LogFault.JOINT_ORDER, _moved(position), without))
    if effort != begin.effort_from:
        found.append(Change(LogFault.JOINT_ORDER, _moved(effort), replace(reading, effort_from=begin.effort_from)))
    return found


def _moved(order: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(joint for joint, channel in enumerate(order) if joint != channel)


def _gains(reading: Reading, begin: Reading, alive: Sequence[int]) -> list[Change]:
    if reading.free_gain:
        if begin.free_gain:
            return []
        without = replace(plain_factors(reading, begin, alive), free_gain=False)
        return [Change(LogFault.EFFORT_IS_CURRENT, tuple(alive), without)]
    return [
        Change(LogFault.GAIN, (joint,), plain_factors(reading, begin, [joint]))
        for joint in alive
        if abs(math.log(abs(reading.effort_factor[joint] / begin.effort_factor[joint]))) > SAME
    ]
