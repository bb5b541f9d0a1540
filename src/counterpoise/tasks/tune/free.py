"""A free tuner as a second baseline: bandwidth and damping are chosen for the task, with the same margin for every law.

The rule of gains.py gives every law the same position gains, as the paper does. Here each law may have its own: the
bandwidth grows from the rule's until the task's error no longer falls or the plant oscillates, then other damping
ratios are tried. Every gain is the same fraction of its limit, that of PID's integral too.

The task is the one that fine motion is judged by: a joint follows a slow, small triangle in spite of its friction.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...control import SignalSafe, Triangle, plate_of, soft_reach
from ...errors import InputError, JointLimitError
from ...foundation import Array
from .gains import WITH_PLATE, WITHOUT_DERIVATIVE, LawGains, LawKind, TuningRule
from .probe import MakeRig, refuse_lost_plate, tared_loop
from .tuning import ShareDone, Tuning, tuned


@dataclass(frozen=True, slots=True)
class TriangleTask:
    """A triangle, run with any gains.

    Attributes:
        make_rig: Returns the rig for each run.
        joint: Index of the joint that moves; the others hold.
        amplitude: Of the triangle [rad or m]; the default, ±0.1° in 10 s, is the task of [Morel2000], Fig. 8.
        period: Of the triangle [s].
        periods: How many are run; the first does not count.
    """

    make_rig: MakeRig
    joint: int = 0
    amplitude: float = math.radians(0.1)
    period: float = 10.0
    periods: int = 2

    def errors(self, gains: LawGains, **settings: Any) -> Array:
        """Return reference minus the plant's own position after the first period [rad or m], shape (k,).

        Args:
            gains: The gains, and with them the law.
            settings: Passed on to base_sensor_control.

        Raises:
            SafetyError: A fault ended the run, or its plate was lost for a tenth of it.
        """
        rig, joint = self.make_rig(), self.joint
        plant, robot = rig.plant, rig.robot
        swings = np.zeros(robot.n)
        swings[joint] = self.amplitude
        reference = Triangle(swings, self.period)
        with SignalSafe(plant):
            sensor = plate_of(plant, robot) if gains.kind in WITH_PLATE else None
            loop = tared_loop(rig, sensor, TuningRule())
            reach = soft_reach(robot, gains.kp, gains.kd)
            loop.switch(gains.laws(rig, reference, sensor=sensor, reach=reach, **settings))
            report = loop.run(self.periods * self.period, log=True)
        refuse_lost_plate(report)
        log = report.log
        if log is None:
            raise InputError("the run ended before anything was recorded")
        ticks = np.arange(round(self.period / plant.dt), round(self.periods * self.period / plant.dt))
        wanted = np.array([reference.at(tick * plant.dt).q[joint] for tick in ticks])
        return np.asarray(wanted - log.q[ticks, joint])

    def rms(self, gains: LawGains) -> float:
        """Return the rms error [rad or m]: what a free tuner makes small."""
        return float(np.sqrt(np.mean(self.errors(gains) ** 2)))


BANDWIDTH_GROWTH = 1.5
"""Factor from one bandwidth tried to the next."""
MOST_BANDWIDTHS = 5
"""Bandwidths tried, at most."""
DAMPINGS = (0.3, 0.8)
"""Damping ratios tried besides the rule's, at the best bandwidth."""

Cost = Callable[[LawGains], float]
"""The error of a task with given gains; infinite where it failed."""


@dataclass(frozen=True, slots=True, eq=False)
class FreeTuning:
    """What the free tuner chose.

    Attributes:
        tuning: The best gains, and how they were found; its rule has the bandwidth and damping ratio chosen.
        cost: The task's error with them.
        tried: Bandwidth asked for [Hz], damping ratio and error of every candidate, in order.
    """

    tuning: Tuning
    cost: float
    tried: tuple[tuple[float, float, float], ...]


def freely_tuned(
    make_rig: MakeRig,
    kind: LawKind,
    cost: Cost,
    *,
    joint: int = 0,
    rule: TuningRule | None = None,
    progress: ShareDone | None = None,
) -> FreeTuning:
    """Find the gains of a law that do best in a task, at the same gain margin for every law.

    Args:
        make_rig: Returns the rig for each experiment; see tuned().
        kind: The law.
        cost: The task's error, e.g. ``TriangleTask(make_rig).rms``.
        joint: Index of the joint.
        rule: Where to begin; its oscillation_share is the margin of every gain. None for the defaults.
        progress: Called now and then with the fraction of the work that is done, 0 to 1.
    """
    start = TuningRule() if rule is None else rule
    start = replace(start, integral_share=start.oscillation_share)
    most = MOST_BANDWIDTHS + len(DAMPINGS)
    found: list[tuple[float, Tuning]] = []

    def attempt(candidate: TuningRule) -> float:
        begun = len(found)

        def tell(share: float) -> None:
            if progress is not None:
                progress((begun + 0.8 * share) / most)

        tuning = tuned(make_rig, kind, joints=[joint], rule=candidate, progress=tell)
        error = _cost_of(cost, tuning.gains)
        found.append((error, tuning))
        return error

    candidate, before = start, np.inf
    for _ in range(MOST_BANDWIDTHS):
        error = attempt(candidate)
        if error >= before or not _reached(found[-1][1]):
            break
        candidate, before = replace(candidate, bandwidth=BANDWIDTH_GROWTH * candidate.bandwidth), error
    best = min(found, key=lambda each: each[0])[1]
    if kind not in WITHOUT_DERIVATIVE:
        for damping in DAMPINGS:
            attempt(replace(best.rule, damping=damping))
    if progress is not None:
        progress(1.0)
    error, tuning = min(found, key=lambda each: each[0])
    tried = tuple((each.rule.bandwidth, each.rule.damping, err) for err, each in found)
    return FreeTuning(tuning, error, tried)


def _reached(tuning: Tuning) -> bool:
    """Say whether the bandwidth asked for was reached; without a derivative there is none to reach."""
    first = tuning.joints[0].limits[0]
    return first.gain == "bandwidth" and first.chosen > 0.99 * tuning.rule.bandwidth


def _cost_of(cost: Cost, gains: LawGains) -> float:
    """Return the task's error; gains that run away in the task are no candidate."""
    try:
        return cost(gains)
    except JointLimitError:
        return np.inf
