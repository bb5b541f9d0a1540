"""A reading: one way to understand the numbers of a recording. The doctor compares readings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from ..description.frozen import Array
from ..dynamics.robot import Robot
from ..logs.declared import Declared


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
