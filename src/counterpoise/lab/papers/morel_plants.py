"""The plants of the [Morel2000] experiments, and their laws tuned by the one written rule.

Of the Titan II ([Morel2000], section 4) it has what its three experiments share.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from ...control import Reference
from ...dynamics import Robot
from ...foundation import Array
from ...plants import ArmConfig, SingleJoint, preset
from ...tasks import LawGains, LawKind, Rig, Tuning, TuningRule, tuned
from .arm_task import arm_run, tuned_arm
from .task import TaskRun

JOINTS = (1, 2)
"""The joints with parallel axes that its experiments move."""
RESOLVER_COUNT = 360.0 / 4096.0
"""One count of a resolver [deg]; the paper says 0.087."""
NAMES: dict[LawKind, str] = {"pi": "PI", "bsc-p": "base sensor control, P"}
ASSUMED = (
    "No link data, no friction in N m and no actuator data of the Titan II are published: masses, friction (8 % of the "
    "effort limit) and a torque source with 10 ms of lag are assumed, as the preset titan2 says."
)


def titan() -> tuple[Robot, ArmConfig]:
    """Return robot and configuration of the simulated arm."""
    made = preset("titan2", "torque-source")
    return made.robot(), made.config


@cache
def titan_gains(kind: LawKind) -> LawGains:
    """Return gains of joints 2 and 3 tuned in the arm by the rule (75 % of where it oscillates); once in a process.

    Joint 2 is tuned where joint 3 alone moves, too: one that only just holds lets the arm swing under joint 3.
    """
    return tuned_arm(*titan(), kind, JOINTS)


def titan_run(
    gains: LawGains,
    reference: Reference,
    duration: float,
    seed: int,
    robot: Robot | None = None,
) -> TaskRun:
    """Follow a reference; ``robot`` is the arm with its load, which the laws know of, None for the bare one."""
    bare, config = titan()
    return arm_run(bare if robot is None else robot, config, gains, reference, duration, seed)


def amplitudes(joint: int, degrees: float) -> Array:
    """Return the amplitudes of a reference in which one joint moves [rad], shape (6,)."""
    found = np.zeros(6)
    found[joint] = np.deg2rad(degrees)
    return found


COUNT = math.degrees(2.0 * math.pi / (1000.0 * 62.6111))
"""One count of the PUMA's first encoder [deg]; the paper says 0.0058."""
FIRST_SEED = 101
"""Of the runs; the plants were tuned with another one."""

MakeJoint = Callable[[int | None], SingleJoint]


@dataclass(frozen=True, slots=True, eq=False)
class TunedJoint:
    """A joint with its laws.

    Attributes:
        make: Makes the plant with a seed.
        robot: Its model.
        pid: How PID was tuned.
        bsc: How base sensor control was tuned, with PID's position gains.
    """

    make: MakeJoint
    robot: Robot
    pid: Tuning
    bsc: Tuning

    def rig(self, seed: int | None = None) -> Rig:
        """Return the joint, ready to be driven."""
        return Rig(self.make(seed), self.robot)

    def gains(self, kind: LawKind) -> LawGains:
        """Return the gains of "pd", "pid" or "bsc"."""
        if kind == "bsc":
            return self.bsc.gains
        return self.pid.gains if kind == "pid" else replace(self.pid.gains, kind=kind)


def puma_joint_1(variant: str, *, friction: bool = True) -> MakeJoint:
    """Return what makes joint 1 of the PUMA, the others locked.

    Args:
        variant: "stiff", "50Hz" or "20Hz".
        friction: Whether it has its friction.
    """
    made = preset("puma550", variant)
    robot, config = made.robot(), made.config
    if not friction:
        config = config.replaced(drive=replace(config.drive, friction=None))

    def make(seed: int | None = None) -> SingleJoint:
        return SingleJoint.of(robot, config if seed is None else config.replaced(seed=seed), 0)

    return make


def tuned_joint(make: MakeJoint, rule: TuningRule | None = None) -> TunedJoint:
    """Tune PID, then base sensor control around the same position gains, on the same plant by the same rule."""
    robot = make(None).robot

    def rig() -> Rig:
        return Rig(make(None), robot)

    pid = tuned(rig, "pid", rule=rule)
    bsc = tuned(rig, "bsc", rule=rule, position=pid.gains)
    return TunedJoint(make, robot, pid, bsc)


@cache
def tuned_puma(variant: str, friction: bool = True) -> TunedJoint:
    """Return joint 1 of the PUMA with its laws; tuned once in a process."""
    return tuned_joint(puma_joint_1(variant, friction=friction))
