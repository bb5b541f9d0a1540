"""One experiment with given gains: a step, or a slow move there and back, and whether the plant oscillated.

A probe uses the ordinary control loop and its safety filter. It is broken off when the joint strays by more than twice
the step or its torque swings hard, and always ends in the safe stop.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ...base_sensor.sensor import BaseSensor
from ...description.frozen import Array, frozen
from ...dynamics.robot import Robot
from ...errors import InputError, JointLimitError
from ...logs.log import Log
from ...logs.sample import Sample
from ..base_sensor_control import plate_of
from ..careful_gains import careful_gains
from ..loop import ControlLoop
from ..plant import Plant
from ..reference import Desired
from ..safety import SafetyFilter
from .gains import LawGains
from .oscillation import NO_SWING, PURE, Swing, rings, sustained, swing
from .rule import WITH_PLATE, TuningRule

WAIT = 0.6
"""Time for which the law holds before it is excited [s]: the loop fades it in meanwhile."""
SETTLING = 0.25
"""Share of each move that is not looked at: friction turns, the loop settles."""
STRAY = 2.0
"""How many steps the joint may be from its reference before a probe is broken off."""
HARD_SWING, WATCHED = 0.1, 0.3
"""Share of the effort limit by which a torque may swing before a probe is broken off; how often it is looked at [s]."""

STILL = 2e-4
"""How far a joint may move while the plate is tared [rad or m]: what accelerates it is taken for its weight."""
SETTLE_TIMES = (1.5, 4.0)
"""Times for which an arm that moved while the plate was tared is held before the next attempts [s]."""

Motion = Literal["step", "move"]
MakePlant = Callable[[], Plant]
MakeSafety = Callable[[Plant], SafetyFilter]


@dataclass(frozen=True, slots=True)
class Probed:
    """What a probe showed.

    Attributes:
        stable: Whether nothing oscillated or strayed.
        swing: The oscillation, torque [N m or N] for a move and position [rad or m] for a step; NO_SWING where none.
        level: Amplitude of the strongest tone of the moves, oscillation or not [N m or N].
        reason: What happened, in words.
        strayed: Whether the joint went astray.
    """

    stable: bool
    swing: Swing
    level: float
    reason: str
    strayed: bool = False


class ProbeMotion:
    """The reference of a probe: one joint makes a step, or goes there and back at constant speed; the others hold."""

    def __init__(self, joint: int, step: float, motion: Motion, rule: TuningRule) -> None:
        """Move ``joint`` by ``step`` [rad or m]."""
        self._joint, self._step, self._motion, self._rule = joint, step, motion, rule

    @property
    def duration(self) -> float:
        """Time of the whole motion [s]."""
        rule = self._rule
        return WAIT + (rule.step_time if self._motion == "step" else 2.0 * rule.move_time + rule.rest_time)

    def reset(self, q: Array) -> None:
        """Begin with the arm at q [rad or m], shape (n,)."""
        self._q = q.copy()
        self._rest = frozen(np.zeros(len(q)))

    def at(self, time: float) -> Desired:
        """Return position and velocity ``time`` seconds after the reset."""
        since, length = time - WAIT, self._rule.move_time
        if since < 0.0:
            return Desired(self._q, self._rest)
        if self._motion == "step":
            return Desired(self._moved(self._step), self._rest)
        if since >= 2.0 * length:
            return Desired(self._q, self._rest)
        speed = self._step / length * (1.0 if since < length else -1.0)
        way = self._step * (since / length if since < length else 2.0 - since / length)
        velocity = np.zeros(len(self._q))
        velocity[self._joint] = speed
        return Desired(self._moved(way), velocity)

    def _moved(self, way: float) -> Array:
        q = self._q.copy()
        q[self._joint] += way
        return q


class Prober:
    """Makes probes of one joint.

    Attributes:
        count: Probes made.
        seconds: Time they took by the plant's clock [s].
    """

    def __init__(
        self,
        make_plant: MakePlant,
        robot: Robot,
        joint: int,
        rule: TuningRule,
        *,
        safety: MakeSafety | None = None,
        i_have_an_estop: str | None = None,
    ) -> None:
        """Prepare probes.

        Args:
            make_plant: Returns the plant for each probe: a new one of a simulation, or always the same real one.
            robot: The arm's model.
            joint: Index of the joint.
            rule: The numbers.
            safety: Makes the safety filter; None for the default one.
            i_have_an_estop: See ControlLoop.
        """
        self._make, self._robot, self._joint, self._rule = make_plant, robot, joint, rule
        self._safety, self._estop = safety, i_have_an_estop
        self.count, self.seconds = 0, 0.0

    def probe(self, gains: LawGains, motion: Motion, least: float, stretch: float = 1.0) -> Probed:
        """Try gains. A swing during a move counts when a second move, to the other side, shows one too.

        Args:
            gains: What to try.
            motion: "step" or "move".
            least: Smallest amplitude of a torque that counts as oscillation [N m or N].
            stretch: How many times longer than the rule's a step is looked at: for slow position loops.

        Raises:
            SafetyError: The plant failed in another way than by oscillating.
            InputError: The step leaves the joint's limits.
        """
        shown = self._once(gains, motion, least, stretch, 1.0)
        if shown.stable or shown.strayed or motion == "step":
            return shown
        return self._once(gains, motion, least, stretch, -1.0)

    def _once(self, gains: LawGains, motion: Motion, least: float, stretch: float, side: float) -> Probed:
        plant, rule = self._make(), replace(self._rule, step_time=stretch * self._rule.step_time)
        with plant:
            start = plant.read().q.copy()
            reference = ProbeMotion(self._joint, self._direction(plant, start, side) * rule.step, motion, rule)
            safety = SafetyFilter(self._robot, plant=plant) if self._safety is None else self._safety(plant)
            sensor = None if plant.plate is None else plate_of(plant, self._robot)
            loop = ControlLoop(
                plant,
                holding_gains(plant, self._robot, start).laws(plant, self._robot),
                self._robot,
                safety=safety,
                i_have_an_estop=self._estop,
            )
            take_tare(loop, sensor, rule)
            used = sensor if gains.kind in WITH_PLATE else None
            loop.switch(gains.laws(plant, self._robot, reference, sensor=used))
            strayed = self._run(loop, reference)
            report = loop.last_report
            period, limit = plant.period, plant.effort_limit[self._joint]
        log = None if report is None else report.log
        if report is None or log is None:
            raise InputError("the probe ended before anything was recorded")
        self.count += 1
        self.seconds += report.duration + rule.tare_time
        driven = min(len(log), report.ticks - report.stop_ticks)
        return self._judged(log[:driven], reference, motion, sensor, least, strayed, period, float(limit))

    def _run(self, loop: ControlLoop, reference: ProbeMotion) -> str:
        """Run the loop; return why it was broken off, "" where it was not."""
        joint, rule, safety, ticks = self._joint, self._rule, loop.safety, 0
        period, allowed = safety.period, STRAY * rule.step
        hard = HARD_SWING * float(safety.limits.effort[joint])
        length = round(WATCHED / period)
        sent = np.zeros(length)
        strayed = ""

        def watch(sample: Sample) -> bool:
            nonlocal ticks, strayed
            wanted = reference.at(ticks * period).q[joint]
            sent[ticks % length] = safety.last[joint]
            ticks += 1
            if abs(wanted - sample.q[joint]) > allowed:
                strayed = f"the joint strayed by more than {STRAY:g} steps"
            elif ticks % length == 0:
                seen = swing(sent, period, rule.structure)
                if seen.amplitude > hard and seen.purity >= PURE:
                    strayed = f"broken off: the torque swings by {seen.amplitude:.3g} at {seen.frequency:.3g} Hz"
            return bool(strayed)

        try:
            loop.run(reference.duration, until=watch, log=True)
        except JointLimitError as error:
            strayed = str(error)
        return strayed

    def _judged(
        self,
        log: Log,
        reference: ProbeMotion,
        motion: Motion,
        sensor: BaseSensor | None,
        least: float,
        strayed: str,
        period: float,
        limit: float,
    ) -> Probed:
        joint, rule = self._joint, self._rule
        sent = log.sent[:, joint] if log.sent is not None else log.tau[:, joint]
        if motion == "step":
            wanted = np.array([reference.at(tick * period).q[joint] for tick in range(len(log))])
            error = (wanted - log.q[:, joint])[round(WAIT / period) :]
            found = rings(error, rule.step, period)
            if strayed and found is NO_SWING:
                found = rings_until(error, period)
            stable = not strayed and found is NO_SWING
            text = strayed or ("" if stable else "the answer to the step does not settle")
            return Probed(stable, found, 0.0, text, bool(strayed))
        signals = [sent]
        if sensor is not None and log.wrench is not None:
            signals.append(sensor.joint_torques(log.q, log.wrench)[:, joint])
        found, level = NO_SWING, 0.0
        for signal in signals:
            for phase in self._phases(signal, period):
                windows = [swing(part, period, rule.structure) for part in np.array_split(phase, 2)]
                level = max(level, *(each.amplitude * (each.purity >= 0.5) for each in windows))
                lasting = sustained(windows, least)
                found = lasting if lasting.amplitude > found.amplitude else found
        if strayed and found is NO_SWING:
            found = swing(sent[-round(0.3 / period) :], period)
        stable = not strayed and found is NO_SWING
        text = f"torque swings by {found.amplitude:.3g} ({found.amplitude / limit:.0%} of the limit)"
        return Probed(stable, found, level, strayed or ("" if stable else text), bool(strayed))

    def _phases(self, signal: Array, period: float) -> list[Array]:
        """Return the parts of a move at constant speed, and at rest after it, without their beginnings."""
        rule, found = self._rule, []
        begin = WAIT
        for length in (rule.move_time, rule.move_time, rule.rest_time):
            first, last = round((begin + SETTLING * length) / period), round((begin + length) / period)
            found.append(signal[first:last])
            begin += length
        return [part for part in found if len(part) >= 32]

    def _direction(self, plant: Plant, q: Array, side: float) -> float:
        """Return the sign of the step, ``side`` if that keeps clear of the joint's limits, else the other."""
        joint, room = self._joint, 1.5 * self._rule.step
        for sign in (side, -side):
            if plant.lower[joint] <= q[joint] + sign * room <= plant.upper[joint]:
                return sign
        raise InputError(
            f"joint '{plant.joint_names[joint]}' at {q[joint]:.4g} has no room for a step of {self._rule.step:.3g} to "
            f"either side ({plant.lower[joint]:.4g} … {plant.upper[joint]:.4g}); start elsewhere or take a smaller step"
        )


def holding_gains(plant: Plant, robot: Robot, q: Array) -> LawGains:
    """Return gains of a PD with which an arm that nobody has tuned holds its pose."""
    careful = careful_gains(robot, q, plant.effort_limit, plant.period)
    zero = np.zeros(robot.n)
    return LawGains("pd", robot.joint_names, careful.kp, careful.kd, zero, zero)


def take_tare(loop: ControlLoop, sensor: BaseSensor | None, rule: TuningRule) -> None:
    """Hold the arm for a while with the loop's law and tare the plate; the loop is left running ("keep").

    Args:
        loop: A loop whose law holds the arm.
        sensor: The plate; None where there is none.
        rule: Says for how long, and how far the joints will go.
    """
    length = max(1, round(rule.tare_time / loop.safety.period))
    for duration in (rule.tare_time, *SETTLE_TIMES):
        seen: deque[Sample] = deque(maxlen=length)

        def watch(sample: Sample, seen: deque[Sample] = seen) -> bool:
            seen.append(sample)
            return False

        loop.run(duration, until=watch, then="keep")
        poses = np.array([each.q for each in seen])
        if sensor is None or np.ptp(poses, axis=0).max(initial=0.0) <= STILL:
            break
    if sensor is not None:
        readings = np.array([each.wrench for each in seen if each.wrench is not None])
        sensor.tare(poses, readings, time=seen[-1].time, range=2.0 * STRAY * rule.step)


def rings_until(error: Array, period: float) -> Swing:
    """Return the swing of an error that was broken off, by its crossings of zero."""
    crossings = int(np.count_nonzero((error[1:] > 0.0) != (error[:-1] > 0.0)))
    return Swing(float(np.abs(error).max(initial=0.0)), 0.5 * crossings / max(len(error) * period, period), 1.0)
