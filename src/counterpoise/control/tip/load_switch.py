"""Pick and place: the model's load comes and goes with the real one, without a bump.

While the passage lasts, the load is carried by the position loop alone as far as the model lacks it. A joint of
stiffness K_p then droops by Δg / K_p at most, Δg the load's gravity torque, and by what the loop overshoots:
``droop_bound`` says how much that is at the tip. Both laws run during the passage (``Laws`` in run.py), so the torque
is continuous whatever the time it takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Self, runtime_checkable

import numpy as np
import numpy.typing as npt

from ...dynamics import Robot, as_rows, link_name
from ...errors import InputError
from ...foundation import Array
from ..law import Law, gain
from ..loop import ControlLoop
from .tip import number_of

OVER = 0.1
"""Default time of a passage [s]: about that of closing a gripper."""


@runtime_checkable
class Reloadable(Law, Protocol):
    """A law that can be made again for the arm with another payload: PDGravity, Gravity, Impedance, TipWrench ..."""

    def with_robot(self, robot: Robot) -> Self:
        """Return the law for the arm with another payload, going on where this one is."""
        ...


class LoadSwitch:
    """Tells a running loop what the arm carries.

    ::

        load = LoadSwitch(loop, law, robot)
        load.grasp(1.5, com=(0, 0, 0.1))    # at the moment the gripper has closed
        load.release()                      # at the moment it opens

    Attributes:
        law: The law that is in force, or will be when the passage is over.
        robot: The arm as the law takes it to be now.
    """

    def __init__(
        self, loop: ControlLoop, law: Reloadable, robot: Robot, *, besides: Sequence[Law] = (), over: float = OVER
    ) -> None:
        """Begin with the arm as it is.

        Args:
            loop: The loop that runs ``law`` and ``besides``.
            law: The law that carries the weight.
            robot: The arm that the law was made for.
            besides: The loop's other laws; they go on as they are.
            over: Time of a passage [s].

        Raises:
            InputError: The law cannot be made for another payload.
        """
        if not isinstance(law, Reloadable):
            raise InputError(f"{type(law).__name__} cannot change its payload; it lacks with_robot(robot)")
        self._loop, self._empty, self._besides = loop, robot, tuple(besides)
        self._over = number_of(over, "over", "s", zero=True)
        self.law, self.robot = law, robot

    def grasp(
        self,
        mass: float,
        com: Sequence[float] = (0.0, 0.0, 0.0),
        link: str | None = None,
        inertia: npt.ArrayLike | None = None,
    ) -> Robot:
        """Carry one more load from now on; return the arm with it. Arguments as for ``Robot.with_payload``."""
        return self._pass_to(self.robot.with_payload(mass, com=com, link=link, inertia=inertia))

    def release(self) -> Robot:
        """Let go of every load that was grasped; return the arm as it was at the beginning."""
        return self._pass_to(self._empty)

    def _pass_to(self, robot: Robot) -> Robot:
        law = self.law.with_robot(robot)
        self._loop.switch((law, *self._besides), robot=robot, over=self._over, fresh=False)
        self.law, self.robot = law, robot
        return robot


def droop_bound(
    before: Robot, after: Robot, q: npt.ArrayLike, kp: npt.ArrayLike, at: str | None = None
) -> tuple[Array, float]:
    """Return how far an arm held by PD droops if the load's change is never compensated.

    Args:
        before: The arm that the model is of.
        after: The arm as it has become.
        q: Where [rad or m], shape (n,).
        kp: Stiffness of the position loop [N m/rad or N/m], shape (n,), above 0.
        at: Link whose way is asked for; None for the tip of an arm that is not branched.

    Returns:
        The droop of each joint |Δg| / K_p [rad or m], shape (n,), and the way of the link |J K_p⁻¹ Δg| [m].
    """
    pose = as_rows(q, "q", before.joint_names)
    stiffness = gain(kp, "kp", before.n)
    if not np.all(stiffness > 0.0):
        raise InputError(f"kp is {stiffness.tolist()}; expected stiffness above 0 at every joint")
    droop = (after.gravity(pose) - before.gravity(pose)) / stiffness
    way = before.jacobian(pose, at=link_name(before, at))[:3] @ droop
    return np.abs(droop), float(np.linalg.norm(way))
