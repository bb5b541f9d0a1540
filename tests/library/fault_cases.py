"""The faults of the fault-injection matrix, the end specified for each, and how one is tried on a plant."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.control import ControlLoop, EndState, Fault, PDGravity, RunReport, SafetyFilter, SafetySettings, Sine
from counterpoise.dynamics import joint_inertias
from counterpoise.errors import LawError, OverrunError
from counterpoise.foundation import Array
from counterpoise.recording import Sample, SampleFlag
from library import faults
from library.ideal_arm import SPEEDS

BEGIN = 100
RUN_TICKS = 250
SETTINGS = SafetySettings(blend_time=0.02, settle_time=0.05, ramp_time=0.1, blind_time=0.02)


@dataclass(frozen=True)
class Case:
    """A fault and the end that is specified for it; Fault.NONE for one that is bridged."""

    corrupt: Callable[[float], faults.Corrupt] = field(default=lambda dt: faults.good)
    end: EndState = EndState.COMPLETED
    fault: Fault = Fault.NONE
    error: type[cp.SafetyError] | None = None
    law: Callable[[PDGravity], Any] = field(default=lambda law: law)
    write: Callable[[int], None] | None = None
    plate: bool = False
    slow: bool = False
    near_limit: bool = False
    noted: str | None = None


class Broken:
    """A law that goes wrong at tick BEGIN."""

    adds_gravity = True
    uses_wrench = False

    def __init__(self, law: PDGravity, wrong: Callable[[Array], Any]) -> None:
        self.law, self.wrong, self.calls = law, wrong, 0

    def reset(self, sample: Sample) -> None:
        self.law.reset(sample)

    def torque(self, sample: Sample, time: float) -> Any:
        self.calls += 1
        tau = self.law.torque(sample, time)
        return self.wrong(tau.copy()) if self.calls > BEGIN else tau


class NeedsPlate(PDGravity):
    """A law that reads the plate."""

    uses_wrench = True


class SlowClock:
    """Time in which every tick takes nothing until BEGIN, and then 1.5 periods."""

    def __init__(self, dt: float) -> None:
        self.time, self.waits, self.dt = 10.0, 0, dt

    def now(self) -> float:
        if self.waits >= BEGIN:
            self.time += 0.75 * self.dt
        return self.time

    def wait_until(self, moment: float) -> None:
        self.waits += 1
        self.time = max(self.time, moment)

    def stamp(self, sample: Sample, since: int) -> Sample:
        """Let the plant live in the same time."""
        return replace(sample, time=self.time)


def ruin(joint: int, value: float) -> Callable[[Array], Array]:
    def wrong(tau: Array) -> Array:
        tau[joint] = value
        return tau

    return wrong


def raising(tau: Array) -> Array:
    raise ZeroDivisionError("gain of 1/0")


def broken_cable(since: int) -> None:
    if since >= 0:
        raise ConnectionResetError("write failed")


def plated(law: PDGravity) -> PDGravity:
    return NeedsPlate(law.robot, law.kp, law.kd, law.reference)


def case(end: EndState, fault: Fault, error: type[cp.SafetyError], corrupt: Any = None, **more: Any) -> Case:
    return Case(corrupt or (lambda dt: faults.good), end, fault, error, noted=fault.name.lower(), **more)


def bridged(noted: str | None, corrupt: Callable[[float], faults.Corrupt], **more: Any) -> Case:
    return Case(corrupt, noted=noted, **more)


BLIND, UNDAMPED, GRAVITY = EndState.BLIND_STOP, EndState.UNDAMPED_STOP, EndState.GRAVITY_STOP
nan, inf = math.nan, math.inf
stale, sensor, joint_limit = cp.errors.StaleSampleError, cp.errors.SensorFaultError, cp.errors.JointLimitError

CASES = {
    "dropout, 4 ticks": bridged("time_repeated", lambda dt: faults.dropout(4)),
    "dropout for good": case(BLIND, Fault.TIME_REPEATED, stale, lambda dt: faults.dropout(inf)),
    "dropout, marked by the plant": case(
        BLIND, Fault.TIME_REPEATED, stale, lambda dt: faults.flagged(SampleFlag.STALE)
    ),
    "latency, 3 ticks": bridged("time_repeated", lambda dt: faults.latency(3)),
    "latency, 50 ticks": case(BLIND, Fault.TIME_REPEATED, stale, lambda dt: faults.latency(50)),
    "latency that grows": case(UNDAMPED, Fault.LATE, stale, lambda dt: faults.GrowingQueue()),
    "jitter, 40 % of the period": bridged(None, lambda dt: faults.jitter(0.4, dt)),
    "duplicates, 1 in 10": bridged("time_repeated", lambda dt: faults.duplicates(10)),
    "duplicates, 1 in 2": case(GRAVITY, Fault.TIME_REPEATED, stale, lambda dt: faults.duplicates(2)),
    "reordering, 1 in 12": bridged("time_backwards", lambda dt: faults.reordering(12, dt)),
    "reordering, all": case(GRAVITY, Fault.TIME_BACKWARDS, stale, lambda dt: faults.reordering(2, dt)),
    "clock leaps 0.1 s": case(GRAVITY, Fault.TIME_GAP, stale, lambda dt: faults.leap(0.1)),
    "clock leaps back 1 s": case(BLIND, Fault.TIME_BACKWARDS, stale, lambda dt: faults.leap(-1.0)),
    "one wrong time stamp": bridged("time_gap", lambda dt: faults.for_ticks(1, faults.leap(1e9))),
    "time is NaN": case(BLIND, Fault.TIME_INVALID, stale, lambda dt: faults.leap(nan)),
    "stuck values": case(BLIND, Fault.FROZEN, sensor, lambda dt: faults.stuck()),
    "stuck encoder": case(BLIND, Fault.FROZEN, sensor, lambda dt: faults.stuck_joint(1)),
    "bias step of 0.3 rad": case(BLIND, Fault.Q_JUMPED, sensor, lambda dt: faults.changed("q", 2, lambda q: q + 0.3)),
    "bias step of 0.3 rad, 3 ticks": bridged(
        "q_jumped", lambda dt: faults.for_ticks(3, faults.changed("q", 2, lambda q: q + 0.3))
    ),
    "unplugged": case(BLIND, Fault.READ_FAILED, cp.errors.PlantError, lambda dt: faults.unplugged),
    "unplugged, 4 ticks": bridged("read_failed", lambda dt: faults.for_ticks(4, faults.unplugged)),
    "write fails": case(EndState.PLANT_STOP, Fault.WRITE_FAILED, cp.errors.PlantError, write=broken_cable),
    "no sample": case(BLIND, Fault.SAMPLE_MALFORMED, sensor, lambda dt: faults.no_sample),
    "single precision": case(BLIND, Fault.SAMPLE_MALFORMED, sensor, lambda dt: faults.single_precision),
    "q is NaN": case(BLIND, Fault.Q_INVALID, sensor, lambda dt: faults.changed("q", 3, lambda q: nan)),
    "q is NaN, 5 ticks": bridged("q_invalid", lambda dt: faults.for_ticks(5, faults.changed("q", 3, lambda q: nan))),
    "q is NaN, 6 ticks": case(
        GRAVITY, Fault.Q_INVALID, sensor, lambda dt: faults.for_ticks(6, faults.changed("q", 3, lambda q: nan))
    ),
    "q is infinite": case(BLIND, Fault.Q_INVALID, sensor, lambda dt: faults.changed("q", 0, lambda q: inf)),
    "q marked by the plant": case(BLIND, Fault.Q_INVALID, sensor, lambda dt: faults.flagged(SampleFlag.Q_INVALID)),
    "dq is NaN": case(UNDAMPED, Fault.DQ_INVALID, sensor, lambda dt: faults.changed("dq", 1, lambda dq: nan)),
    "dq marked by the plant": case(
        UNDAMPED, Fault.DQ_INVALID, sensor, lambda dt: faults.flagged(SampleFlag.DQ_INVALID)
    ),
    "dq far too fast": case(
        GRAVITY, Fault.OVER_SPEED, joint_limit, lambda dt: faults.changed("dq", 1, lambda dq: 50.0)
    ),
    "q drifts beyond its limit": case(
        GRAVITY, Fault.OUTSIDE_LIMITS, joint_limit, lambda dt: faults.drift("q", 0, 5e-3), near_limit=True
    ),
    "effort is infinite": case(GRAVITY, Fault.TAU_INVALID, sensor, lambda dt: faults.changed("tau", 0, lambda e: -inf)),
    "effort marked by the plant": bridged(None, lambda dt: faults.flagged(SampleFlag.TAU_INVALID)),
    "plate saturated, needed": case(
        GRAVITY,
        Fault.WRENCH_SATURATED,
        sensor,
        lambda dt: faults.changed("wrench", 2, lambda f: 1e6),
        law=plated,
        plate=True,
    ),
    "plate saturated, not needed": bridged(None, lambda dt: faults.changed("wrench", 2, lambda f: 1e6), plate=True),
    "plate unplugged, needed": case(
        GRAVITY,
        Fault.WRENCH_INVALID,
        sensor,
        lambda dt: faults.changed("wrench", 4, lambda f: nan),
        law=plated,
        plate=True,
    ),
    "law raises": case(GRAVITY, Fault.LAW_RAISED, LawError, law=lambda law: Broken(law, raising)),
    "law returns NaN": case(GRAVITY, Fault.LAW_OUTPUT, LawError, law=lambda law: Broken(law, ruin(2, nan))),
    "law returns infinity": case(GRAVITY, Fault.LAW_OUTPUT, LawError, law=lambda law: Broken(law, ruin(0, -inf))),
    "law returns too few": case(GRAVITY, Fault.LAW_OUTPUT, LawError, law=lambda law: Broken(law, lambda tau: tau[:-1])),
    "law returns a list": case(
        GRAVITY, Fault.LAW_OUTPUT, LawError, law=lambda law: Broken(law, lambda tau: tau.tolist())
    ),
    "law returns nothing": case(GRAVITY, Fault.LAW_OUTPUT, LawError, law=lambda law: Broken(law, lambda tau: None)),
    "law returns 1e300": case(GRAVITY, Fault.OVER_SPEED, joint_limit, law=lambda law: Broken(law, ruin(0, 1e300))),
    "overruns": case(GRAVITY, Fault.OVERRUN, OverrunError, slow=True),
}


class Watched(faults.FaultyPlant):
    """A faulty plant that remembers what reached it, and whether it was told to stop."""

    def __init__(self, plant: Any, *args: Any, **more: Any) -> None:
        super().__init__(plant, *args, **more)
        self.sent: list[Array] = []
        self.told_to_stop = False

    def write(self, tau: Array) -> Array:
        sent = super().write(tau)
        self.sent.append(np.array(tau))
        return sent

    def emergency_stop(self) -> None:
        self.told_to_stop = True
        self.plant.emergency_stop()


def try_fault(arm: Any, robot: cp.Robot, case: Case) -> None:
    """Drive ``arm`` into a fault; its end state, error, events and torques must be those specified."""
    dt = arm.dt
    plant = Watched(arm, case.corrupt(dt), begin=BEGIN, write=case.write)
    clock = None
    if case.slow:
        clock = SlowClock(dt)
        plant = Watched(arm, clock.stamp, begin=1)
    with plant:
        first = arm.read()
        upper = np.array(robot.upper)
        if case.near_limit:
            upper[0] = first.q[0] + 0.01
        speed = np.minimum(robot.velocity_limit, SPEEDS.get(robot.name, np.inf))
        safety = SafetyFilter(robot, plant=plant, settings=SETTINGS, upper=upper, velocity_limit=speed)
        inertia = joint_inertias(robot, first.q)
        law = case.law(PDGravity(robot, 100.0 * inertia, 16.0 * inertia, Sine(np.full(robot.n, 0.05), 1000.0 * dt)))
        loop = ControlLoop(plant, law, robot, safety=safety, clock=clock)
        report = run(loop, case, RUN_TICKS * dt)
        assert plant.told_to_stop, "the declared stop must be ordered before the plant's context is left"
    assert report.end is case.end
    assert report.fault is case.fault
    assert report.stop == arm.stop
    kinds = [event.kind for event in report.events]
    assert case.noted is None or case.noted in kinds
    assert kinds[0] == "started"
    assert kinds[-1] == "stopped"
    if case.fault is Fault.NONE:
        assert report.ticks == RUN_TICKS + report.stop_ticks
        assert case.noted is None or kinds.count("recovered") >= 1
    check_bounds(plant.sent, first.tau, safety)
    check_last_torques(plant.sent, report, arm.stop, dt)


def run(loop: ControlLoop, case: Case, duration: float) -> RunReport:
    """Run the loop and return its report, whether it raises (as specified) or not."""
    if case.error is None:
        return loop.run(duration)
    with pytest.raises(case.error) as caught:
        loop.run(duration)
    assert type(caught.value) is case.error
    assert caught.value.report is loop.last_report
    assert caught.value.history
    assert len(caught.value.history) <= SETTINGS.history
    return caught.value.report  # type: ignore[no-any-return]


def check_bounds(torques: list[Array], start: Array, safety: SafetyFilter) -> None:
    """Every torque that reached the arm was finite, within the limit, and within the rate of the one before."""
    sent = np.vstack([np.clip(start, -safety.limits.effort, safety.limits.effort), *torques])
    assert np.all(np.isfinite(sent))
    assert np.all(np.abs(sent) <= safety.limits.effort)
    assert np.all(np.abs(np.diff(sent, axis=0)) <= safety.limits.rate * safety.dt)


def check_last_torques(torques: list[Array], report: RunReport, stop: str, dt: float) -> None:
    """A stop that knew the position let an arm without brakes down to zero; a blind one held the torque to the end."""
    if report.end is EndState.BLIND_STOP:
        held = np.array(torques[-report.stop_ticks :])
        assert report.stop_ticks == math.ceil(SETTINGS.blind_time / dt)
        assert np.all(held == held[0])
        assert np.any(held)
    elif report.end is not EndState.PLANT_STOP and stop == "zero":
        assert not np.any(torques[-1])
