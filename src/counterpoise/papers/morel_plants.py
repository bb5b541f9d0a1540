"""The plants of the [Morel2000] experiments, and their laws tuned by the one written rule."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

from ..control.tune.gains import LawGains
from ..control.tune.report import Tuning
from ..control.tune.rule import LawKind, TuningRule
from ..control.tune.tune import tuned
from ..dynamics.robot import Robot
from ..plants.presets import preset
from ..plants.single_joint import SingleJoint

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
    pid = tuned(lambda: make(None), robot, "pid", rule=rule)
    bsc = tuned(lambda: make(None), robot, "bsc", rule=rule, position=pid.gains)
    return TunedJoint(make, robot, pid, bsc)


@cache
def tuned_puma(variant: str, friction: bool = True) -> TunedJoint:
    """Return joint 1 of the PUMA with its laws; tuned once in a process."""
    return tuned_joint(puma_joint_1(variant, friction=friction))
