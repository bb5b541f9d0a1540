"""One experiment with stated gains: a step, or a slow move there and back, and whether the plant oscillated.

A probe uses the ordinary control loop and its safety filter. It is broken off when the joint strays by more than twice
the step or its torque swings hard, and always ends in the safe stop.

``swing`` tells a signal that swings by itself from noise, and ``rings`` a step's answer that rings from one that
settles.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from ...control import (
    PD,
    ControlLoop,
    Desired,
    Law,
    Plant,
    RunReport,
    SignalSafe,
    TorqueLoop,
    default_gains,
    plate_of,
    soft_reach,
)
from ...dynamics import position_units
from ...errors import InputError, JointLimitError, SensorFaultError
from ...foundation import Array, frozen
from ...recording import Log, Sample, SampleFlag
from ...sensing import BaseSensor, EstimateFlag
from ..rig import Rig
from .gains import WITH_PLATE, LawGains, TuningRule

PURE = 0.7
"""Share of a swing's power that lies within three lines of the strongest one: above it, a tone; below it, noise."""
LASTING = 0.7
"""How much of its size from one window to the next a swing keeps that does not decay."""
SHOWN = 0.25
"""Size, as a share of a step, below which the rest of its answer is friction's."""

LEAST_CROSSINGS = 4
"""Times that an answer to a step passes its mean in two thirds of the time, at least, to count as ringing."""


class Swing(NamedTuple):
    """The strongest tone of a signal.

    Attributes:
        amplitude: √2 times the signal's rms without its slow part, in the signal's unit.
        frequency: Of the strongest line [Hz].
        purity: Share of the power within three lines of it, 0 to 1.
    """

    amplitude: float
    frequency: float
    purity: float


NO_SWING = Swing(0.0, 0.0, 0.0)


def swing(signal: Array, dt: float, slowest: float = 0.0) -> Swing:
    """Return the strongest tone of a signal, with a parabola taken off it.

    Args:
        signal: Samples, shape (k,).
        dt: Time between two of them [s].
        slowest: Frequency below which nothing is looked at [Hz].
    """
    k = len(signal)
    if k < 16:
        return NO_SWING
    place = np.linspace(-1.0, 1.0, k)
    rest = signal - np.polynomial.polynomial.polyval(place, np.polynomial.polynomial.polyfit(place, signal, 2))
    power = np.abs(np.fft.rfft(rest * np.hanning(k))) ** 2
    frequency = np.fft.rfftfreq(k, dt)
    power[frequency < max(slowest, frequency[1])] = 0.0
    total = float(power.sum())
    if total <= 0.0:
        return NO_SWING
    # Of white power the window keeps 3/8; the spectrum is one-sided.
    amplitude = float(np.sqrt(4.0 * total / (0.375 * k * k)))
    line = int(np.argmax(power))
    near = float(power[max(0, line - 3) : line + 4].sum())
    return Swing(amplitude, float(frequency[line]), near / total)


def sustained(windows: list[Swing], least: float) -> Swing:
    """Return the swing of consecutive windows if it is a tone of at least this amplitude that does not decay.

    Args:
        windows: Swings of windows that follow each other.
        least: Smallest amplitude that counts, in the signal's unit.

    Returns:
        The last window's swing, or NO_SWING.
    """
    if not windows or any(each.amplitude < least or each.purity < PURE for each in windows):
        return NO_SWING
    decays = any(b.amplitude < LASTING * a.amplitude for a, b in pairwise(windows))
    return NO_SWING if decays else windows[-1]


def rings(error: Array, step: float, dt: float) -> Swing:
    """Return how the answer to a step rings if it does not settle, else NO_SWING.

    The time after the step is cut in three. The last third's peak-to-peak is compared with that of the middle one.

    Args:
        error: Reference minus position after the step [rad or m], shape (k,).
        step: Its height [rad or m].
        dt: Time between two samples [s].
    """
    third = len(error) // 3
    if third < 8:
        return NO_SWING
    middle, last = error[third : 2 * third], error[2 * third :]
    size = float(np.ptp(last))
    if size < SHOWN * abs(step) or size < LASTING * float(np.ptp(middle)):
        return NO_SWING
    # Ringing of a position loop is slow: its crossings of the mean are counted over both windows.
    both = error[third:]
    above = both > both.mean()
    crossings = int(np.count_nonzero(above[1:] != above[:-1]))
    if crossings < LEAST_CROSSINGS:  # an integral that is slow to break friction creeps; it does not ring
        return NO_SWING
    return Swing(0.5 * size, 0.5 * crossings / (len(both) * dt), 1.0)


WAIT = 0.6
"""Time for which the law holds before it is excited [s]: the loop fades it in meanwhile."""
SETTLING = 0.25
"""Share of each move that is not looked at: friction turns, the loop settles."""
STRAY = 2.0
"""How many steps the joint may be from its reference before a probe is broken off."""
SUNK = 2.0
"""How many steps a joint may be from where the probe before left it: an arm may sink when it is let go."""
HARD_SWING, WATCHED = 0.1, 0.3
"""Share of the effort limit by which a torque may swing before a probe is broken off; how often it is looked at [s]."""

STILL = 2e-4
"""How far a joint may move in the samples that the plate is tared with [rad or m]: what accelerates it is taken for
its weight. A rest (recording/rest.py) allows five times as much, which friction's side and a pose's mean bear."""
SETTLE_TIMES = (1.5, 4.0)
"""Times for which an arm that moved while the plate was tared is held before the next attempts [s]."""

LOST = 0.1
"""Share of an experiment from which on a lost plate spoils it: it says too little of a torque loop's gains then."""
UNUSABLE = SampleFlag.WRENCH_INVALID | SampleFlag.WRENCH_SATURATED
"""Flags of readings that the plate is not tared with."""

MotionKind = Literal["step", "move"]
MakeRig = Callable[[], Rig]
"""Returns the rig of an experiment, its plant not entered: with a new plant of a simulation, or always the same arm."""


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

    def __init__(self, joint: int, step: float, motion: MotionKind, rule: TuningRule) -> None:
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
        without_plate: Part of it in which torque feedback was lost [s].
    """

    def __init__(self, make_rig: MakeRig, joint: int, rule: TuningRule) -> None:
        """Prepare probes.

        Args:
            make_rig: Returns the rig for each probe.
            joint: Index of the joint.
            rule: The numbers.
        """
        self._make, self._joint, self._rule = make_rig, joint, rule
        self._home: float | None = None
        self._left: tuple[Plant, Array] | None = None
        self.count, self.seconds, self.without_plate = 0, 0.0, 0.0

    def probe(self, gains: LawGains, motion: MotionKind, least: float, stretch: float = 1.0) -> Probed:
        """Try gains. A swing during a move counts when a second move, to the other side, shows one too.

        Args:
            gains: What to try.
            motion: "step" or "move".
            least: Smallest amplitude of a torque that counts as oscillation [N m or N].
            stretch: How many times longer than the rule's a step is looked at, for slow position loops, or a move is
                made and its rest waited for.

        Raises:
            SafetyError: The plant failed in another way than by oscillating.
            InputError: The step leaves the joint's limits, or the arm is not where the probe before left it.
        """
        shown = self._once(gains, motion, least, stretch, 1.0)
        if shown.stable or shown.strayed or motion == "step":
            return shown
        return self._once(gains, motion, least, stretch, -1.0)

    def _once(self, gains: LawGains, motion: MotionKind, least: float, stretch: float, side: float) -> Probed:
        rig, rule = self._make(), self._rule.stretched(stretch)
        plant, robot = rig.plant, rig.robot
        with SignalSafe(plant):
            start = plant.read().q.copy()
            side = self._homewards(rig, start, side)
            reference = ProbeMotion(self._joint, self._direction(plant, start, side) * rule.step, motion, rule)
            sensor = None if plant.plate is None else plate_of(plant, robot)
            loop = tared_loop(rig, sensor, rule)
            used = sensor if gains.kind in WITH_PLATE else None
            reach = soft_reach(robot, gains.kp, gains.kd)
            laws = gains.laws(rig, reference, sensor=used, reach=reach)
            loop.switch(laws)
            strayed = self._run(loop, reference)
            report = loop.last_report
            dt, limit = plant.dt, plant.effort_limit[self._joint]
        log = None if report is None else report.log
        if report is None or log is None:
            raise InputError("the probe ended before anything was recorded")
        strayed = strayed or _plate_failed(report, laws)
        self.count += 1
        self.seconds += report.duration + rule.tare_time
        self.without_plate += _without_plate(report)
        driven = min(len(log), report.ticks - report.stop_ticks)
        shown = self._judged(log[:driven], reference, motion, rule, sensor, least, strayed, dt, float(limit))
        self._left = (plant, log.q[driven - 1].copy()) if shown.stable and driven else None
        return shown

    def _run(self, loop: ControlLoop, reference: ProbeMotion) -> str:
        """Run the loop; return why it was broken off, "" where it was not."""
        joint, rule, safety, ticks = self._joint, self._rule, loop.safety, 0
        dt, allowed = safety.dt, STRAY * rule.step
        hard = HARD_SWING * float(safety.limits.effort[joint])
        length = round(WATCHED / dt)
        sent = np.zeros(length)
        strayed = ""

        def watch(sample: Sample) -> bool:
            nonlocal ticks, strayed
            wanted = reference.at(ticks * dt).q[joint]
            sent[ticks % length] = safety.last[joint]
            ticks += 1
            if abs(wanted - sample.q[joint]) > allowed:
                strayed = f"the joint strayed by more than {STRAY:g} steps"
            elif ticks % length == 0:
                seen = swing(sent, dt, rule.structure)
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
        motion: MotionKind,
        rule: TuningRule,
        sensor: BaseSensor | None,
        least: float,
        strayed: str,
        dt: float,
        limit: float,
    ) -> Probed:
        joint = self._joint
        sent = log.sent[:, joint] if log.sent is not None else log.tau[:, joint]
        if motion == "step":
            wanted = np.array([reference.at(tick * dt).q[joint] for tick in range(len(log))])
            error = (wanted - log.q[:, joint])[round(WAIT / dt) :]
            found = rings(error, rule.step, dt)
            if strayed and found is NO_SWING:
                found = rings_until(error, dt)
            stable = not strayed and found is NO_SWING
            text = strayed or ("" if stable else "the answer to the step does not settle")
            return Probed(stable, found, 0.0, text, bool(strayed))
        signals = [sent]
        if sensor is not None and log.wrench is not None and (felt := _felt(sensor, log.q, log.wrench)) is not None:
            signals.append(felt[:, joint])
        found, level = NO_SWING, 0.0
        for signal in signals:
            for phase in _phases(signal, dt, rule):
                windows = [swing(part, dt, rule.structure) for part in np.array_split(phase, 2)]
                level = max(level, *(each.amplitude * (each.purity >= 0.5) for each in windows))
                lasting = sustained(windows, least)
                found = lasting if lasting.amplitude > found.amplitude else found
        if strayed and found is NO_SWING:
            found = swing(sent[-round(0.3 / dt) :], dt)
        stable = not strayed and found is NO_SWING
        text = f"torque swings by {found.amplitude:.3g} ({found.amplitude / limit:.0%} of the limit)"
        return Probed(stable, found, level, strayed or ("" if stable else text), bool(strayed))

    def _homewards(self, rig: Rig, q: Array, side: float) -> float:
        """Return the side to go to: ``side`` where the first probe began, else back to there.

        A step ends where it leads. A plant that is always the same would walk away with them.

        Raises:
            InputError: A joint of the same plant is far from where a stable probe left it.
        """
        away = np.zeros(len(q))
        if self._left is not None and self._left[0] is rig.plant:
            away = q - self._left[1]
        worst = int(np.argmax(np.abs(away)))
        if abs(away[worst]) > SUNK * self._rule.step:
            raise InputError(
                f"joint '{rig.robot.joint_names[worst]}' is {away[worst]:+.3g} {position_units(rig.robot)[worst]} "
                "from where the experiment before left it: it sank or was moved when it had been let go. Tune an arm "
                "with brakes, or in a pose where friction or a support holds it"
            )
        here = float(q[self._joint])
        if self._home is None:
            self._home = here
        moved = here - self._home
        return side if abs(moved) < 0.5 * self._rule.step else -float(np.sign(moved))

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


def holding_gains(rig: Rig, q: Array) -> LawGains:
    """Return gains of a PD with which an arm that nobody has tuned holds its pose."""
    careful = default_gains(rig.robot, q, rig.plant.effort_limit, rig.plant.dt)
    zero = np.zeros(rig.robot.n)
    return LawGains("pd", rig.robot.joint_names, careful.kp, careful.kd, zero, zero)


def tared_loop(rig: Rig, sensor: BaseSensor | None, rule: TuningRule, *, settle: float = 0.0) -> ControlLoop:
    """Hold an arm that nobody has tuned where it stands, tare its plate, and return the loop, left running ("keep").

    Args:
        rig: The arm, its plant entered.
        sensor: The plate; None where there is none.
        rule: Says for how long the plate is tared, and how far the joints will go.
        settle: For how long the arm is held before that [s].

    Raises:
        InputError: The plate gave no reading that can be used, or the arm would not stand still.
    """
    plant = rig.plant
    gains = default_gains(rig.robot, plant.read().q, plant.effort_limit, plant.dt)
    loop = rig.loop(rig.with_gravity(PD(gains.kp, gains.kd, reach=gains.reach)))
    if settle > 0.0:
        loop.run(settle, then="keep")
    length = max(1, round(rule.tare_time / loop.safety.dt))
    for duration in (rule.tare_time, *SETTLE_TIMES):
        seen: deque[Sample] = deque(maxlen=length)

        def watch(sample: Sample, seen: deque[Sample] = seen) -> bool:
            seen.append(sample)
            return False

        loop.run(duration, until=watch, then="keep")
        poses = np.array([each.q for each in seen])
        if sensor is None or np.ptp(poses, axis=0).max(initial=0.0) <= STILL:
            break
    if sensor is None:
        return loop
    good = [each for each in seen if _readable(each)]
    if len(good) < max(1, len(seen) // 2):
        raise InputError(
            f"the plate gave {len(good)} usable readings of {len(seen)} while it was to be tared; look at its cable, "
            "its supply and its range"
        )
    readings = np.array([each.wrench for each in good])
    sensor.tare(np.array([each.q for each in good]), readings, time=seen[-1].time, range=2.0 * STRAY * rule.step)
    return loop


def _readable(sample: Sample) -> bool:
    return sample.wrench is not None and not sample.flags & UNUSABLE and bool(np.isfinite(sample.wrench).all())


def _felt(sensor: BaseSensor, q: Array, wrench: Array) -> Array | None:
    """Return the plate's torques [N m or N], shape (k, n), with gaps bridged; None where the gaps prevail."""
    seen = np.flatnonzero(np.isfinite(wrench).all(axis=1))
    if len(seen) < 0.5 * len(wrench):
        return None
    # In a gap the reading before it stands, or the first there is.
    counted = np.cumsum(np.isin(np.arange(len(wrench)), seen))
    return np.asarray(sensor.joint_torques(q[seen], wrench[seen])[np.maximum(counted - 1, 0)])


def _without_plate(report: RunReport) -> float:
    """Return the time for which torque feedback was lost [s]."""
    return sum(loss.end - loss.begin for loss in report.plate_losses)


def refuse_lost_plate(report: RunReport) -> None:
    """Refuse an experiment whose law went on without its plate for LOST of the time or more.

    Raises:
        SensorFaultError: It did.
    """
    losses, away = report.plate_losses, _without_plate(report)
    if losses and away >= LOST * report.driven:
        raise SensorFaultError(
            f"an experiment ran {away:.2g} of {report.driven:.2g} s without the plate: {losses[-1].reason}",
            report=report,
        )


def _plate_failed(report: RunReport, laws: Sequence[Law]) -> str:
    """Return why a probe without its plate says nothing in favour of its gains; "" where the plate was there.

    A plate at the end of its range speaks against them: the structure swings.

    Raises:
        SensorFaultError: The plate was away for long: the law went on without it, and was stable.
    """
    if any(isinstance(law, TorqueLoop) and EstimateFlag.SATURATED in law.lost_for for law in laws):
        return "the plate was at the end of its range"
    refuse_lost_plate(report)
    return ""


def _phases(signal: Array, dt: float, rule: TuningRule) -> list[Array]:
    """Return the parts of a move at constant speed, and at rest after it, without their beginnings."""
    found = []
    begin = WAIT
    for length in (rule.move_time, rule.move_time, rule.rest_time):
        first, last = round((begin + SETTLING * length) / dt), round((begin + length) / dt)
        found.append(signal[first:last])
        begin += length
    return [part for part in found if len(part) >= 32]


def rings_until(error: Array, dt: float) -> Swing:
    """Return the swing of an error that was broken off, by its crossings of zero."""
    crossings = int(np.count_nonzero((error[1:] > 0.0) != (error[:-1] > 0.0)))
    return Swing(float(np.abs(error).max(initial=0.0)), 0.5 * crossings / max(len(error) * dt, dt), 1.0)
