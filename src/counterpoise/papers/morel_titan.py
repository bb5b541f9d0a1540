"""The Titan II of [Morel2000], section 4: what its three experiments share."""

from __future__ import annotations

from functools import cache

import numpy as np

from ..control.reference import Reference
from ..control.tune.gains import LawGains
from ..control.tune.rule import LawKind
from ..description.frozen import Array
from ..dynamics.robot import Robot
from ..plants.config import ArmConfig
from ..plants.presets import preset
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
