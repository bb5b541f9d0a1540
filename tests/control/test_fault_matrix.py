"""The fault-injection matrix: every fault, on three arms, ends in the state that docs/safety-filter.md specifies."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import counterpoise as cp
import faults
from counterpoise.control.fault import Fault
from counterpoise.control.gravity import PDGravity
from counterpoise.control.loop import ControlLoop
from counterpoise.control.plant import PlateInfo
from counterpoise.control.reference import Sine
from counterpoise.control.report import EndState, RunReport
from counterpoise.control.safe_stop import joint_inertias
from counterpoise.control.safety import SafetyFilter
from counterpoise.control.settings import SafetySettings
from counterpoise.description.frozen import Array
from counterpoise.logs.sample import Sample, SampleFlag
from ideal_arm import IdealArm

ARMS = ("wam7", "puma560", "dualarm19")
BEGIN = 100
RUN = 0.25
SETTINGS = SafetySettings(blend_time=0.02, settle_time=0.05, ramp_time=0.1, blind_time=0.02)


@dataclass(frozen=True)
class Case:
    """A fault and the end that is specified for it; Fault.NONE for one that is bridged."""

    corrupt: Callable[[], faults.Corrupt] = field(default=lambda: faults.good)
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

    def __init__(self, period: float) -> None:
        self.time, self.waits, self.period = 10.0, 0, period

    def now(self) -> float:
        if self.waits >= BEGIN:
            self.time += 0.75 * self.period
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
    return Case(corrupt or (lambda: faults.good), end, fault, error, noted=fault.name.lower(), **more)


def bridged(noted: str | None, corrupt: Callable[[], faults.Corrupt], **more: Any) -> Case:
    return Case(corrupt, noted=noted, **more)


BLIND, UNDAMPED, GRAVITY = EndState.BLIND_STOP, EndState.UNDAMPED_STOP, EndState.GRAVITY_STOP
nan, inf = math.nan, math.inf
stale, sensor, joint_limit = cp.StaleSampleError, cp.SensorFaultError, cp.JointLimitError

CASES = {
    "dropout, 4 ticks": bridged("time_repeated", lambda: faults.dropout(4)),
    "dropout for good": case(BLIND, Fault.TIME_REPEATED, stale, lambda: faults.dropout(inf)),
    "dropout, marked by the plant": case(BLIND, Fault.TIME_REPEATED, stale, lambda: faults.flagged(SampleFlag.STALE)),
    "latency, 3 ticks": bridged("time_repeated", lambda: faults.latency(3)),
    "latency, 50 ticks": case(BLIND, Fault.TIME_REPEATED, stale, lambda: faults.latency(50)),
    "latency that grows": case(UNDAMPED, Fault.LATE, stale, faults.GrowingQueue),
    "jitter, 40 % of the period": bridged(None, lambda: faults.jitter(0.4, 1e-3)),
    "duplicates, 1 in 10": bridged("time_repeated", lambda: faults.duplicates(10)),
    "duplicates, 1 in 2": case(GRAVITY, Fault.TIME_REPEATED, stale, lambda: faults.duplicates(2)),
    "reordering, 1 in 12": bridged("time_backwards", lambda: faults.reordering(12)),
    "reordering, all": case(GRAVITY, Fault.TIME_BACKWARDS, stale, lambda: faults.reordering(2)),
    "clock leaps 0.1 s": case(GRAVITY, Fault.TIME_GAP, stale, lambda: faults.leap(0.1)),
    "clock leaps back 1 s": case(BLIND, Fault.TIME_BACKWARDS, stale, lambda: faults.leap(-1.0)),
    "one wrong time stamp": bridged("time_gap", lambda: faults.for_ticks(1, faults.leap(1e9))),
    "time is NaN": case(BLIND, Fault.TIME_INVALID, stale, lambda: faults.leap(nan)),
    "stuck values": case(BLIND, Fault.FROZEN, sensor, faults.stuck),
    "stuck encoder": case(BLIND, Fault.FROZEN, sensor, lambda: faults.stuck_joint(1)),
    "bias step of 0.3 rad": case(BLIND, Fault.Q_JUMPED, sensor, lambda: faults.changed("q", 2, lambda q: q + 0.3)),
    "bias step of 0.3 rad, 3 ticks": bridged(
        "q_jumped", lambda: faults.for_ticks(3, faults.changed("q", 2, lambda q: q + 0.3))
    ),
    "unplugged": case(BLIND, Fault.READ_FAILED, cp.PlantError, lambda: faults.unplugged),
    "unplugged, 4 ticks": bridged("read_failed", lambda: faults.for_ticks(4, faults.unplugged)),
    "write fails": case(EndState.PLANT_STOP, Fault.WRITE_FAILED, cp.PlantError, write=broken_cable),
    "no sample": case(BLIND, Fault.SAMPLE_MALFORMED, sensor, lambda: faults.no_sample),
    "single precision": case(BLIND, Fault.SAMPLE_MALFORMED, sensor, lambda: faults.single_precision),
    "q is NaN": case(BLIND, Fault.Q_INVALID, sensor, lambda: faults.changed("q", 3, lambda q: nan)),
    "q is NaN, 5 ticks": bridged("q_invalid", lambda: faults.for_ticks(5, faults.changed("q", 3, lambda q: nan))),
    "q is NaN, 6 ticks": case(
        GRAVITY, Fault.Q_INVALID, sensor, lambda: faults.for_ticks(6, faults.changed("q", 3, lambda q: nan))
    ),
    "q is infinite": case(BLIND, Fault.Q_INVALID, sensor, lambda: faults.changed("q", 0, lambda q: inf)),
    "q marked by the plant": case(BLIND, Fault.Q_INVALID, sensor, lambda: faults.flagged(SampleFlag.Q_INVALID)),
    "dq is NaN": case(UNDAMPED, Fault.DQ_INVALID, sensor, lambda: faults.changed("dq", 1, lambda dq: nan)),
    "dq marked by the plant": case(UNDAMPED, Fault.DQ_INVALID, sensor, lambda: faults.flagged(SampleFlag.DQ_INVALID)),
    "dq far too fast": case(GRAVITY, Fault.OVER_SPEED, joint_limit, lambda: faults.changed("dq", 1, lambda dq: 50.0)),
    "q drifts beyond its limit": case(
        GRAVITY, Fault.OUTSIDE_LIMITS, joint_limit, lambda: faults.drift("q", 0, 1e-3), near_limit=True
    ),
    "effort is infinite": case(
        GRAVITY, Fault.EFFORT_INVALID, sensor, lambda: faults.changed("effort", 0, lambda e: -inf)
    ),
    "effort marked by the plant": bridged(None, lambda: faults.flagged(SampleFlag.EFFORT_INVALID)),
    "plate saturated, needed": case(
        GRAVITY,
        Fault.WRENCH_SATURATED,
        sensor,
        lambda: faults.changed("wrench", 2, lambda f: 1e6),
        law=plated,
        plate=True,
    ),
    "plate saturated, not needed": bridged(None, lambda: faults.changed("wrench", 2, lambda f: 1e6), plate=True),
    "plate unplugged, needed": case(
        GRAVITY,
        Fault.WRENCH_INVALID,
        sensor,
        lambda: faults.changed("wrench", 4, lambda f: nan),
        law=plated,
        plate=True,
    ),
    "law raises": case(GRAVITY, Fault.LAW_RAISED, cp.LawError, law=lambda law: Broken(law, raising)),
    "law returns NaN": case(GRAVITY, Fault.LAW_OUTPUT, cp.LawError, law=lambda law: Broken(law, ruin(2, nan))),
    "law returns infinity": case(GRAVITY, Fault.LAW_OUTPUT, cp.LawError, law=lambda law: Broken(law, ruin(0, -inf))),
    "law returns too few": case(
        GRAVITY, Fault.LAW_OUTPUT, cp.LawError, law=lambda law: Broken(law, lambda tau: tau[:-1])
    ),
    "law returns a list": case(
        GRAVITY, Fault.LAW_OUTPUT, cp.LawError, law=lambda law: Broken(law, lambda tau: tau.tolist())
    ),
    "law returns nothing": case(GRAVITY, Fault.LAW_OUTPUT, cp.LawError, law=lambda law: Broken(law, lambda tau: None)),
    "law returns 1e300": case(GRAVITY, Fault.OVER_SPEED, joint_limit, law=lambda law: Broken(law, ruin(0, 1e300))),
    "overruns": case(GRAVITY, Fault.OVERRUN, cp.OverrunError, slow=True),
}


@pytest.mark.parametrize("name", ARMS)
@pytest.mark.parametrize("title", CASES)
def test_fault_ends_in_the_specified_state(name: str, title: str) -> None:
    """The end state, the fault, the error and the events are those specified; what was sent kept all bounds."""
    case = CASES[title]
    robot = cp.load(name)
    plate = PlateInfo("on_robot", np.eye(4), np.full(6, 1e5)) if case.plate else None
    arm = IdealArm(robot, plate=plate)
    plant = faults.FaultyPlant(arm, case.corrupt(), begin=BEGIN, write=case.write)
    inertia = joint_inertias(robot, arm.q)
    law = PDGravity(robot, 100.0 * inertia, 16.0 * inertia, Sine(np.full(robot.n, 0.05), 1.0))
    upper = np.array(robot.upper)
    if case.near_limit:
        upper[0] = arm.q[0] + 0.01
    safety = SafetyFilter(robot, plant=plant, settings=SETTINGS, upper=upper)
    clock = None
    if case.slow:
        clock = SlowClock(arm.period)
        plant = faults.FaultyPlant(arm, clock.stamp, begin=1)
    with plant:
        loop = ControlLoop(plant, case.law(law), robot, safety=safety, pace="clock" if clock else "plant", clock=clock)
        report = run(loop, case)
        assert arm.stopped, "the plant's declared stop must have been ordered before its context is left"
    assert report.end is case.end
    assert report.fault is case.fault
    assert report.stop == "zero"
    kinds = [event.kind for event in report.events]
    assert case.noted is None or case.noted in kinds
    assert kinds[0] == "started"
    assert kinds[-1] == "stopped"
    if case.fault is Fault.NONE:
        assert report.ticks == round(RUN / arm.period) + report.stop_ticks
        assert case.noted is None or kinds.count("recovered") >= 1
    check_bounds(arm, safety)
    check_ramp(arm, report)


def run(loop: ControlLoop, case: Case) -> RunReport:
    """Run the loop and return its report, whether it raises (as specified) or not."""
    if case.error is None:
        return loop.run(RUN)
    with pytest.raises(case.error) as caught:
        loop.run(RUN)
    assert type(caught.value) is case.error
    assert caught.value.report is loop.last_report
    assert caught.value.history
    assert len(caught.value.history) <= SETTINGS.history
    return caught.value.report  # type: ignore[no-any-return]


def check_bounds(arm: IdealArm, safety: SafetyFilter) -> None:
    """Every torque that reached the arm was finite, within the limit, and within the rate of the one before."""
    sent = np.array(arm.sent)
    start = np.clip(arm.robot.gravity(arm.start), -safety.limits.effort, safety.limits.effort)
    assert np.all(np.isfinite(sent))
    assert np.all(np.abs(sent) <= safety.limits.effort)
    steps = np.abs(np.diff(np.vstack([start, sent]), axis=0))
    assert np.all(steps <= safety.limits.rate * safety.period)


def check_ramp(arm: IdealArm, report: RunReport) -> None:
    """A stop that knew the position let the arm down to zero torque; a blind one held the torque to the end."""
    if report.end in (EndState.GRAVITY_STOP, EndState.UNDAMPED_STOP, EndState.COMPLETED):
        assert not np.any(arm.sent[-1])
    elif report.end is EndState.BLIND_STOP:
        held = np.array(arm.sent[-report.stop_ticks :])
        assert report.stop_ticks == 20
        assert np.all(held == held[0])
        assert np.any(held)


@pytest.mark.parametrize("stop", ["zero", "brake"])
def test_interrupt_stops_the_arm_first(stop: Any) -> None:
    """Ctrl-C goes through as it is, after a safe stop."""
    robot = cp.load("puma560")
    arm = IdealArm(robot, stop=stop)

    def interrupt(sample: Sample) -> bool:
        if sample.time > 0.05:
            raise KeyboardInterrupt
        return False

    inertia = joint_inertias(robot, arm.q)
    with arm:
        loop = ControlLoop(
            arm,
            PDGravity(robot, 100.0 * inertia, 16.0 * inertia),
            robot,
            safety=SafetyFilter(robot, plant=arm, settings=SETTINGS),
        )
        with pytest.raises(KeyboardInterrupt):
            loop.run(1.0, until=interrupt)
        assert arm.stopped
    report = loop.last_report
    assert report is not None
    assert report.end is EndState.GRAVITY_STOP
    assert report.stop == stop
    assert report.stop_ticks >= 50


def test_second_interrupt_stops_at_once() -> None:
    """Ctrl-C during the safe stop orders the plant's own stop and goes through."""
    robot = cp.load("puma560")
    arm = IdealArm(robot)
    begun: list[float] = []

    def corrupt(sample: Sample, since: int) -> Sample:
        if since in (0, 10):
            begun.append(sample.time)
            raise KeyboardInterrupt
        return sample

    plant = faults.FaultyPlant(arm, corrupt, begin=50)
    inertia = joint_inertias(robot, arm.q)
    with plant:
        loop = ControlLoop(plant, PDGravity(robot, 100.0 * inertia, 16.0 * inertia), robot)
        with pytest.raises(KeyboardInterrupt):
            loop.run(1.0)
        assert arm.stopped
        assert len(begun) == 2
    assert loop.last_report is None or loop.last_report.end is EndState.PLANT_STOP


def test_every_fault_is_in_the_matrix_and_in_the_specification() -> None:
    """No fault without a test that ends in it, and none that docs/safety-filter.md does not name with its end state."""
    text = (Path(__file__).parents[2] / "docs" / "safety-filter.md").read_text(encoding="utf-8")
    for fault in Fault:
        if fault is not Fault.NONE:
            ends = {case.end.value for case in CASES.values() if case.fault is fault}
            rows = [line for line in text.splitlines() if line.startswith(f"| `{fault.name}`")]
            assert ends, fault
            assert len(rows) == 1, fault
            assert any(end in rows[0] for end in ends), fault
