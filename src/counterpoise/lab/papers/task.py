"""Following a reference with given gains on a simulated plant: what every experiment of [Morel2000] comes down to."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ...control import Law, Plant, Reference, plate_of
from ...errors import SafetyError
from ...foundation import Array
from ...recording import Sample
from ...sensing import BaseSensor
from ...tasks import LawGains, Rig, TuningRule, tared_loop
from .experiment import Comparison

SETTLING = 1.0
"""Time for which the arm is held before the plate is tared [s]: without friction it swings at first."""
RULE = TuningRule(resolution=0.1)
"""How laws are tuned where many are: limits found to 10 %, the same for every law."""
TARE = TuningRule(tare_time=0.5)
"""How the plate is tared before a run: half a second at rest."""

MakeLaws = Callable[[Plant, BaseSensor], tuple[Law, ...]]
"""Makes the laws of a run from the plant and its tared plate."""


@dataclass(frozen=True, slots=True, eq=False)
class TaskRun:
    """A run of a task.

    Attributes:
        time: Since the task began [s], shape (k,).
        wanted: Reference [rad], shape (k, n).
        q: Position by the encoders [rad], shape (k, n).
        dq: Velocity as measured [rad/s], shape (k, n).
        sent: Torque sent [N m], shape (k, n).
        felt: Torque by the plate, without gravity [N m], shape (k, n).
        link: True position of the links [rad], shape (k, n); that of the encoders where it was not asked for.
    """

    time: Array
    wanted: Array
    q: Array
    dq: Array
    sent: Array
    felt: Array
    link: Array

    def error(self, joint: int = 0) -> Array:
        """Return the position error of a joint [rad], shape (k,)."""
        return np.asarray(self.wanted[:, joint] - self.q[:, joint])

    def after(self, begin: float) -> TaskRun:
        """Return the run from a time on [s]."""
        kept = self.time >= begin - 1e-9
        return TaskRun(*(getattr(self, name)[kept] for name in self.__slots__))


def follow(
    rig: Rig,
    gains: LawGains,
    reference: Reference,
    duration: float,
    truth: Callable[[], Array] | None = None,
) -> TaskRun:
    """Hold, tare, follow a reference with a law, stop.

    Args:
        rig: The arm, on a plate, its plant not yet entered.
        gains: The law and its gains.
        reference: What to follow, centred where the arm starts.
        duration: How long [s].
        truth: Returns the links' true position, as :func:`run_laws` takes it.

    Raises:
        SafetyError: The run ended by a fault.
    """
    return run_laws(rig, lambda _, sensor: gains.laws(rig, reference, sensor=sensor), reference, duration, truth)


def run_laws(
    rig: Rig,
    make_laws: MakeLaws,
    reference: Reference,
    duration: float,
    truth: Callable[[], Array] | None = None,
    tare: TuningRule = TARE,
) -> TaskRun:
    """Hold, tare, run laws that follow a reference, stop.

    Args:
        rig: The arm, on a plate, its plant not yet entered.
        make_laws: Makes the laws.
        reference: What they follow.
        duration: How long [s].
        truth: Returns the links' true position [rad], shape (n,), asked for on every tick; None to do without.
        tare: How the plate is tared: for how long, and by its step how far the joints will go.

    Raises:
        SafetyError: The run ended by a fault.
    """
    plant, links = rig.plant, list[Array]()

    def watch(_: Sample) -> bool:
        if truth is not None:
            links.append(truth())
        return False

    with plant:
        sensor = plate_of(plant, rig.robot)
        loop = tared_loop(rig, sensor, tare, settle=SETTLING)
        loop.switch(make_laws(plant, sensor))
        report = loop.run(duration, until=watch if truth else None, log=True)
    log = report.log
    if log is None or log.sent is None or log.wrench is None:
        raise SafetyError("the run left no recording of torques and plate")
    ticks = round(duration / plant.dt)
    time = np.arange(ticks, dtype=np.float64) * plant.dt
    wanted = np.array([reference.at(moment).q for moment in time.tolist()])
    felt = sensor.joint_torques(log.q, log.wrench)
    link = np.array(links)[:ticks] if links else log.q[:ticks]
    return TaskRun(time, wanted, log.q[:ticks], log.dq[:ticks], log.sent[:ticks], felt[:ticks], link)


def rms(values: Array) -> float:
    """Return the root of the mean square."""
    return math.sqrt(float(np.mean(np.square(values))))


def largest(values: Array) -> float:
    """Return the largest absolute value."""
    return float(np.abs(values).max())


def recovery_time(time: Array, error: Array, turns: Iterable[float], bound: float) -> float:
    """Return how long after a reversal the error is last beyond a bound, median over the reversals [s].

    Args:
        time: Times [s], shape (k,).
        error: Error, shape (k,).
        turns: Times of the reversals [s]; each is looked at until the next or the end.
        bound: The bound, in the error's unit.
    """
    edges = [*turns, float(time[-1]) + 1.0]
    found = []
    for begin, end in pairwise(edges):
        beyond = time[(time >= begin) & (time < end) & (np.abs(error) > bound)]
        found.append(float(beyond[-1]) - begin if len(beyond) else 0.0)
    return float(np.median(found))


def compared(what: str, unit: str, printed: float | None, values: Iterable[float]) -> Comparison:
    """Return a number of the paper beside the median of ours over the seeds, with the smallest and the largest."""
    found = [float(value) for value in values]
    return Comparison(what, unit, printed, float(np.median(found)), (min(found), max(found)))
