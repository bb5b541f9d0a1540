"""What a gravity table belongs to: a table of another mounting, payload or arm is refused."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..description.frozen import Array, frozen
from ..dynamics.joint_units import rotary
from ..dynamics.robot import Robot
from ..errors import InputError

LENGTH_TOLERANCE = 1e-6
"""How far tips may differ between a table's robot and the one it is used with [m]."""
GRAVITY_TOLERANCE = 1e-6
"""How far gravity may differ [m/s²]."""


@dataclass(frozen=True, eq=False)
class TableTag:
    """What a table was built for.

    Attributes:
        robot: Name of the robot.
        joint_names: Its joints.
        rotary: Which of them turn.
        gravity_base: Gravity in the base frame [m/s²], shape (3,): the mounting.
        payloads: Link, mass [kg] and centre of mass [m] of each payload.
        tips: Origins of the leaf links [m] with every joint at CHECK_POSITION, shape (leaves, 3): the geometry.
    """

    robot: str
    joint_names: tuple[str, ...]
    rotary: tuple[bool, ...]
    gravity_base: Array
    payloads: tuple[tuple[str, float, tuple[float, float, float]], ...]
    tips: Array

    def refuse_other(self, robot: Robot) -> None:
        """Raise InputError where the table does not belong to a robot as it stands."""
        other = tag_of(robot)
        built = f"the gravity table was built for robot '{self.robot}'"
        if (self.joint_names, self.rotary) != (other.joint_names, other.rotary):
            raise InputError(f"{built} with joints {list(self.joint_names)}; this one has {list(other.joint_names)}")
        if self.tips.shape != other.tips.shape or np.abs(self.tips - other.tips).max(initial=0.0) > LENGTH_TOLERANCE:
            raise InputError(f"{built}, whose links have other lengths; build the table again")
        if np.abs(self.gravity_base - other.gravity_base).max() > GRAVITY_TOLERANCE:
            raise InputError(
                f"{built} with gravity {np.round(self.gravity_base, 6).tolist()} m/s² in its base frame; here it is "
                f"{np.round(other.gravity_base, 6).tolist()}: build the table again for this mounting"
            )
        if not _same_payloads(self.payloads, other.payloads):
            raise InputError(
                f"{built} with payload {_shown(self.payloads)}; it now carries {_shown(other.payloads)}: build the "
                "table again"
            )


CHECK_POSITION = 0.5
"""Position of every joint at which the tips of two robots are compared [rad or m]."""


def tag_of(robot: Robot) -> TableTag:
    """Return the tag of tables for a robot as it stands."""
    pose = np.full(robot.n, CHECK_POSITION)
    tips = [robot.forward_kinematics(pose, at=leaf)[:3, 3] for leaf in robot.tree.leaves]
    loads = []
    for payload in robot.payloads:
        x, y, z = payload.inertia.com.tolist()
        loads.append((payload.link, float(payload.inertia.mass), (x, y, z)))
    return TableTag(
        robot.name,
        robot.joint_names,
        tuple(rotary(robot)),
        robot.gravity_base,
        tuple(loads),
        frozen(np.array(tips).reshape(-1, 3)),
    )


Payloads = tuple[tuple[str, float, tuple[float, float, float]], ...]


def _same_payloads(one: Payloads, other: Payloads) -> bool:
    if [entry[0] for entry in one] != [entry[0] for entry in other]:
        return False
    return all(
        np.allclose([mass, *com], [their_mass, *their_com], rtol=1e-9, atol=1e-9)
        for (_, mass, com), (_, their_mass, their_com) in zip(one, other, strict=True)
    )


def _shown(payloads: Payloads) -> str:
    return ", ".join(f"{mass:g} kg on '{link}'" for link, mass, _ in payloads) or "none"
