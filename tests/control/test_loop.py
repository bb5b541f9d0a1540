"""The control loop: what it refuses, how it starts, switches, counts and reports. Faults are in test_fault_matrix."""

from __future__ import annotations

import time
import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.control.fault import Fault
from counterpoise.control.filter_core import FilterCore, ReferenceFilterCore
from counterpoise.control.gravity import Gravity, PDGravity
from counterpoise.control.loop import ESTOP_WORDS, ControlLoop
from counterpoise.control.pd import PD
from counterpoise.control.plant import PlateInfo, WallClock
from counterpoise.control.reference import Hold, Sine
from counterpoise.control.report import EndState
from counterpoise.control.safety import SafetyFilter, SafetySettings
from counterpoise.dynamics import joint_inertias
from counterpoise.errors import InputError
from counterpoise.foundation import Array
from counterpoise.recording import Sample, SampleFlag
from library import faults
from library.ideal_arm import IdealArm, middle_pose

PUMA = cp.load("puma560")
INERTIA = joint_inertias(PUMA, middle_pose(PUMA))
QUICK = SafetySettings(blend_time=0.05, settle_time=0.02, ramp_time=0.05)


def pd_gravity(robot: cp.Robot = PUMA, **more: Any) -> PDGravity:
    return PDGravity(robot, 400.0 * INERTIA, 32.0 * INERTIA, **more)


def quick(arm: Any, **more: Any) -> SafetyFilter:
    return SafetyFilter(PUMA, plant=arm, settings=QUICK, **more)


class Ask:
    """A law that asks for the same always."""

    adds_gravity = True
    uses_wrench = False

    def __init__(self, tau: Array) -> None:
        self.tau = tau
        self.resets: list[Sample] = []
        self.cuts: list[Array] = []

    def reset(self, sample: Sample) -> None:
        self.resets.append(sample)

    def torque(self, sample: Sample, time: float) -> Array:
        return self.tau

    def limited(self, cut: Array) -> None:
        self.cuts.append(cut.copy())


# Refusals


def test_gravity_twice_is_refused() -> None:
    """A plant that adds gravity refuses laws that do, at the start and at a switch; two such laws are refused too."""
    arm = IdealArm(PUMA)
    arm.adds_gravity = True  # type: ignore[misc]
    with pytest.raises(cp.SafetyError, match="compensated twice"):
        ControlLoop(arm, pd_gravity(), PUMA)
    loop = ControlLoop(arm, PD(INERTIA, INERTIA), PUMA)
    with pytest.raises(cp.SafetyError, match="compensated twice"):
        loop.switch(Gravity(PUMA))
    with pytest.raises(InputError, match="PDGravity and Gravity both add gravity"):
        ControlLoop(IdealArm(PUMA), [pd_gravity(), Gravity(PUMA)], PUMA)


def test_plant_without_watchdog_is_refused_unless_told_in_words() -> None:
    """Only the exact sentence opens a plant that would go on when the program dies."""
    arm = IdealArm(PUMA)
    arm.watchdog = None
    for words in (None, "", "yes", True, ESTOP_WORDS.upper()):
        with pytest.raises(cp.SafetyError, match="no watchdog"):
            ControlLoop(arm, pd_gravity(), PUMA, i_have_an_estop=words)  # type: ignore[arg-type]
    ControlLoop(arm, pd_gravity(), PUMA, i_have_an_estop="I have an emergency stop within reach")
    arm.watchdog = 1e-4
    with pytest.raises(cp.SafetyError, match="shorter than its period"):
        ControlLoop(arm, pd_gravity(), PUMA)


def test_start_outside_the_limits_is_refused() -> None:
    """Nothing is sent; the message names joint, value, limits and what is probably wrong."""
    q = middle_pose(PUMA)
    q[1] = PUMA.upper[1] + 0.2
    arm = IdealArm(PUMA, q=q)
    with (
        arm,
        pytest.raises(
            cp.errors.JointLimitError, match=r"not started: joint 'joint2': .* lies outside .* zero position"
        ),
    ):
        ControlLoop(arm, pd_gravity(), PUMA).run(1.0)
    assert not arm.sent


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"q": np.full(6, np.nan)}, cp.errors.SensorFaultError),
        ({"dq": np.full(6, 9.0)}, cp.errors.JointLimitError),
        ({"time": np.nan}, cp.errors.StaleSampleError),
        ({"tau": np.full(6, np.inf)}, cp.errors.SensorFaultError),
    ],
)
def test_bad_first_sample_is_refused(change: dict[str, Any], error: type[cp.SafetyError]) -> None:
    """No run starts from a sample that cannot be relied on."""
    arm = IdealArm(PUMA)
    plant = faults.FaultyPlant(arm, lambda sample, since: replace(sample, **change), begin=0)
    with plant, pytest.raises(error, match="not started") as caught:
        ControlLoop(plant, pd_gravity(), PUMA).run(1.0)
    assert caught.value.history == ()
    assert caught.value.report is None
    assert not arm.sent


def test_parts_that_do_not_belong_together_are_refused() -> None:
    """Other joints, another period, a filter stronger than the plant, no plant, no law."""
    arm = IdealArm(PUMA)
    weak = IdealArm(PUMA)
    weak.effort_limit = 0.5 * PUMA.effort_limit
    cases: list[tuple[Any, ...]] = [
        (arm, pd_gravity(), cp.load("scara"), {}, "joints"),
        (arm, pd_gravity(), PUMA, {"safety": SafetyFilter(PUMA, dt=2e-3)}, "dt"),
        (weak, pd_gravity(), PUMA, {"safety": SafetyFilter(PUMA, plant=arm)}, "exceeds"),
        (object(), pd_gravity(), PUMA, {}, "no plant"),
        (arm, [], PUMA, {}, "no law"),
        (arm, object(), PUMA, {}, "no law"),
        (arm, pd_gravity(), PUMA, {"clock": "fast"}, "clock"),
        (arm, pd_gravity(), PUMA, {"stop_damping": -1.0}, "stop_damping"),
    ]
    for plant, law, robot, more, words in cases:
        with pytest.raises(InputError, match=words):
            ControlLoop(plant, law, robot, **more)
    loop = ControlLoop(arm, pd_gravity(), PUMA)
    with arm:
        for wrong in ({"duration": -1.0}, {"duration": np.nan}, {"then": "go"}):
            with pytest.raises(InputError):
                loop.run(**wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="over"):
        loop.switch(pd_gravity(), over=-1.0)
    with pytest.raises(InputError, match="joints"):
        loop.switch(robot=cp.load("scara"))


# Start and switch


def test_start_is_bumpless() -> None:
    """The first torque is the measured one; the law's comes in over the blend time without a step."""
    arm = IdealArm(PUMA)
    start = arm.tau.copy()
    wanted = start + np.array([5.0, 20.0, 8.0, 1.0, 1.0, 1.0])
    with arm:
        ControlLoop(arm, Ask(wanted), PUMA, safety=quick(arm, rate_limit=1e6)).run(0.1, then="keep")
    sent = np.array(arm.sent)
    assert np.array_equal(sent[0], start)
    assert sent[50:] == pytest.approx(np.broadcast_to(wanted, sent[50:].shape))
    # The blend's steepest slope is 1.5 over 50 ticks.
    assert np.all(np.abs(np.diff(sent, axis=0)) <= 1.51 * np.abs(wanted - start) / 50)


@pytest.mark.parametrize("reason", ["current", "invalid"])
def test_start_from_zero_where_torque_is_not_measured(reason: str) -> None:
    """Currents, and efforts that are no measurements, are not taken for torques."""
    arm = IdealArm(PUMA)
    plant: Any = arm
    if reason == "current":
        arm.effort_kind = "current"
    else:
        plant = faults.FaultyPlant(arm, faults.flagged(SampleFlag.TAU_INVALID), begin=0)
    with plant:
        report = ControlLoop(plant, pd_gravity(), PUMA, safety=quick(arm)).run(0.01, then="keep")
    assert not np.any(arm.sent[0])
    assert report.events[0].message == "from zero torque"


def test_law_switch_is_bumpless() -> None:
    """From a stiff law to a soft one under load, in mid-motion: no step, while both give feedback."""
    arm = IdealArm(PUMA)
    stiff = pd_gravity(reference=Sine(np.full(6, 0.1), 1.0))
    soft = PDGravity(PUMA, 40.0 * INERTIA, 10.0 * INERTIA, Hold(arm.q + 0.3))
    with arm:
        loop = ControlLoop(arm, stiff, PUMA, safety=quick(arm, rate_limit=1e6))

        def switch(sample: Sample) -> bool:
            if abs(sample.time - 0.3) < 1e-9:
                loop.switch(soft, over=0.1)
            return False

        report = loop.run(0.6, until=switch, then="keep")
    sent = np.array(arm.sent)
    steps = np.abs(np.diff(sent, axis=0))
    bump = np.abs(40.0 * INERTIA * 0.3)
    assert np.all(steps[295:410] < 0.05 * bump + 2.0 * steps[100:290].max(axis=0))
    assert [event.kind for event in report.events].count("switched") == 1
    assert "PDGravity over 0.1 s" in next(event.message for event in report.events if event.kind == "switched")


def test_payload_switch_is_bumpless_and_keeps_the_reference() -> None:
    """Told of a payload, the law goes on where it was: the torque passes smoothly to the heavier arm's gravity."""
    loaded = PUMA.with_payload(2.0, com=(0.0, 0.0, 0.1))
    arm = IdealArm(PUMA)
    law = pd_gravity()
    with arm:
        loop = ControlLoop(arm, law, PUMA, safety=quick(arm, rate_limit=1e6))

        def pick(sample: Sample) -> bool:
            if abs(sample.time - 0.1) < 1e-9:
                arm.truth = loaded
                loop.switch(law.with_robot(loaded), robot=loaded, over=0.1, fresh=False)
            return False

        loop.run(1.0, until=pick, then="keep")
        assert arm.sent[-1] == pytest.approx(loaded.gravity(arm.q), abs=0.2)
        assert np.max(np.abs(arm.q - arm.start)) < 0.02
        steps = np.abs(np.diff(np.array(arm.sent), axis=0))
        change = np.abs(loaded.gravity(arm.start) - PUMA.gravity(arm.start))
        assert np.all(steps <= 0.1 * change.max())


def test_safe_stop_knows_of_a_payload_taken_up_in_the_run() -> None:
    """After a payload switch the stop holds the heavier arm."""
    loaded = PUMA.with_payload(2.0, com=(0.0, 0.0, 0.1))
    arm = IdealArm(PUMA, stop="brake")
    law = pd_gravity()
    with arm:
        loop = ControlLoop(arm, law, PUMA, safety=quick(arm))

        def pick(sample: Sample) -> bool:
            if abs(sample.time - 0.1) < 1e-9:
                arm.truth = loaded
                loop.switch(law.with_robot(loaded), robot=loaded, over=0.02, fresh=False)
            return False

        loop.run(1.0, until=pick)
    assert arm.sent[-1] == pytest.approx(loaded.gravity(arm.q), abs=0.3)


def test_plate_matters_only_while_a_law_reads_it() -> None:
    """When the law that needs the plate has faded out, a saturated plate no longer stops the arm."""

    class NeedsPlate(PDGravity):
        uses_wrench = True

    plate = PlateInfo("on_robot", np.eye(4), np.full(6, 1e5))
    for begin, stops in ((120, True), (300, False)):
        arm = IdealArm(PUMA, plate=plate)
        plant = faults.FaultyPlant(arm, faults.flagged(SampleFlag.WRENCH_SATURATED), begin=begin)
        with plant:
            loop = ControlLoop(plant, NeedsPlate(PUMA, 400.0 * INERTIA, 32.0 * INERTIA), PUMA, safety=quick(arm))

            def switch(sample: Sample, loop: ControlLoop = loop) -> bool:
                if abs(sample.time - 0.1) < 1e-9:
                    loop.switch(pd_gravity(), over=0.1)
                return False

            if stops:
                with pytest.raises(cp.errors.SensorFaultError, match="end of its range"):
                    loop.run(0.5, until=switch)
            else:
                assert loop.run(0.5, until=switch).end is EndState.COMPLETED


def test_what_the_plant_really_sent_is_believed() -> None:
    """A plant that sends less is counted, per joint, and the next step starts from there."""
    arm = IdealArm(PUMA)
    send = arm.write

    def weak(tau: Array) -> Array:
        halved = np.array(tau)
        halved[2] *= 0.5
        return send(halved)

    arm.write = weak  # type: ignore[method-assign]
    with arm:
        report = ControlLoop(arm, Ask(arm.tau), PUMA, safety=quick(arm)).run(0.05, then="keep")
    assert report.flag_counts["CHANGED_BY_PLANT"] == (0, 0, 50, 0, 0, 0)
    assert report.flag_counts["RATE_LIMITED"][2] > 40
    steps = np.abs(np.diff(np.array(arm.sent), axis=0))
    assert np.all(steps <= PUMA.effort_limit / 0.1 * 1e-3)


def test_switch_during_a_blend_starts_from_the_torque_sent() -> None:
    """Three laws in quick succession: still no step."""
    arm = IdealArm(PUMA)
    base = arm.tau.copy()
    laws = [Ask(base + shift) for shift in (0.0, 6.0, -6.0)]
    with arm:
        loop = ControlLoop(arm, laws[0], PUMA, safety=quick(arm, rate_limit=1e6))

        def switch(sample: Sample) -> bool:
            for at, law in ((0.06, laws[1]), (0.08, laws[2])):
                if abs(sample.time - at) < 1e-9:
                    loop.switch(law, over=0.05)
            return False

        loop.run(0.2, until=switch, then="keep")
    assert np.max(np.abs(np.diff(np.array(arm.sent), axis=0))) < 0.4
    assert arm.sent[-1] == pytest.approx(laws[2].tau)
    assert [len(law.resets) for law in laws] == [1, 1, 1]


def test_switch_between_runs_holds_for_the_next() -> None:
    """Outside a run a switch just replaces the law."""
    arm = IdealArm(PUMA)
    with arm:
        loop = ControlLoop(arm, Ask(arm.tau + 1.0), PUMA, safety=quick(arm, rate_limit=1e6))
        loop.switch(Ask(arm.tau - 1.0))
        loop.run(0.1, then="keep")
    assert arm.sent[-1] == pytest.approx(PUMA.gravity(arm.start) - 1.0)


def test_laws_are_summed_and_told_what_was_cut() -> None:
    """Two laws add up; one that wants to know learns by how much less was sent."""
    arm = IdealArm(PUMA)
    first, second = Ask(np.full(6, 15.0)), Ask(np.full(6, 10.0))
    second.adds_gravity = False
    with arm:
        safety = quick(arm, rate_limit=1e6, effort_limit=20.0)
        ControlLoop(arm, [first, second], PUMA, safety=safety).run(0.06, then="keep")
    assert arm.sent[-1].tolist() == [20.0] * 6
    assert first.cuts[-1].tolist() == [-5.0] * 6
    assert len(first.cuts) == len(arm.sent)


# Ends


def test_run_ends_in_a_gravity_stop() -> None:
    """Held, damped, let down to zero, then the plant's own stop; all of it in the report and the log."""
    arm = IdealArm(PUMA)
    with arm:
        report = ControlLoop(arm, pd_gravity(), PUMA, safety=quick(arm)).run(0.1, log=True)
        assert arm.stopped
    assert report.end is EndState.COMPLETED
    assert (report.fault, report.stop) == (Fault.NONE, "zero")
    assert report.ticks - report.stop_ticks == 100
    assert report.duration == pytest.approx(report.ticks * 1e-3)
    assert 70 <= report.stop_ticks <= 180
    assert [event.kind for event in report.events] == ["started", "stopping", "stopped"]
    assert not np.any(arm.sent[-1])
    assert report.log is not None
    assert len(report.log) == report.ticks
    assert np.array_equal(report.log.sent, np.array(arm.sent))
    assert report.log.declared.effort_kind == "torque"
    assert report.log.time == pytest.approx(np.arange(report.ticks) * 1e-3)


def test_brake_is_not_preceded_by_a_ramp() -> None:
    """An arm with brakes is held until they close."""
    arm = IdealArm(PUMA, stop="brake")
    with arm:
        report = ControlLoop(arm, pd_gravity(), PUMA, safety=quick(arm)).run(0.1)
    assert report.stop == "brake"
    assert report.stop_ticks == 20
    assert arm.sent[-1] == pytest.approx(PUMA.gravity(arm.q), abs=1.0)


def test_stop_of_a_plant_that_adds_gravity_only_damps() -> None:
    """Gravity is left to the plant at the start and in the stop: at rest nothing is sent, in motion only damping."""
    for speed in (0.0, 0.2):
        arm = IdealArm(PUMA)
        arm.adds_gravity = True  # type: ignore[misc]
        arm.dq[:] = speed
        send, own = arm.write, [arm.truth.gravity(arm.q)]

        def carried(tau: Array, arm: IdealArm = arm, send: Any = send, own: list[Array] = own) -> Array:
            own.append(arm.truth.gravity(arm.q))
            return np.asarray(send(tau + own[-1]) - own[-1])

        arm.write = carried  # type: ignore[method-assign]
        with arm:
            loop = ControlLoop(arm, PD(INERTIA, INERTIA), PUMA, safety=quick(arm))
            loop.run(0.0)
        commands = np.array(arm.sent) - np.array(own[1:])
        assert np.abs(commands).max() <= 1e-12 if speed == 0.0 else np.all(commands[5] < 0.0)
        assert np.all(np.abs(commands) <= 0.3 * PUMA.effort_limit)


def test_keep_returns_at_once() -> None:
    """For chained runs: no stop, the last torque stays, the next run starts from it."""
    arm = IdealArm(PUMA)
    with arm:
        loop = ControlLoop(arm, pd_gravity(), PUMA, safety=quick(arm))
        first = loop.run(0.05, then="keep")
        assert (first.stop, first.stop_ticks, arm.stopped) == (None, 0, False)
        last = arm.sent[-1]
        loop.run(0.05, then="keep")
        assert np.array_equal(arm.sent[50], last)
    assert arm.stopped


def test_until_and_request_end_a_run() -> None:
    """A condition, or a request, ends it as if its time were over."""
    arm = IdealArm(PUMA)
    with arm:
        loop = ControlLoop(arm, pd_gravity(), PUMA, safety=quick(arm))
        report = loop.run(until=lambda sample: sample.time >= 0.0299, then="keep")
        assert report.ticks == 30

        def ask(sample: Sample) -> bool:
            loop.request_stop()
            return False

        assert loop.run(until=ask, then="keep").ticks == 0
    loop.request_stop()  # without a run there is nothing to end


def test_error_carries_cause_history_and_report() -> None:
    """The exception of a law is the cause of ours, which has the last samples with what was sent after each."""

    class Fails(PDGravity):
        def torque(self, sample: Sample, time: float) -> Array:
            if sample.time > 0.2:
                raise RuntimeError("lost the plot")
            return super().torque(sample, time)

    arm = IdealArm(PUMA)
    settings = replace(QUICK, history=50)
    with arm:
        safety = SafetyFilter(PUMA, plant=arm, settings=settings)
        loop = ControlLoop(arm, Fails(PUMA, 400.0 * INERTIA, 32.0 * INERTIA), PUMA, safety=safety)
        with pytest.raises(cp.errors.LawError, match=r"RuntimeError: lost the plot.*stopped at 0.201 s") as caught:
            loop.run(1.0)
    error = caught.value
    assert isinstance(error.__cause__, RuntimeError)
    assert error.report.end is EndState.GRAVITY_STOP
    assert len(error.history) == 50
    times = [entry.sample.time for entry in error.history]
    assert np.diff(times) == pytest.approx(np.full(49, 1e-3))
    assert np.array_equal(error.history[-1].sent, arm.sent[-1])
    assert np.array_equal(error.history[0].sent, arm.sent[-50])


def test_driver_whose_stop_fails_is_reported() -> None:
    """An emergency stop that raises ends even a good run in a PlantError, and is told with any other error."""
    arm = IdealArm(PUMA)
    arm.emergency_stop = lambda: (_ for _ in ()).throw(OSError("no answer"))  # type: ignore[method-assign]
    loop = ControlLoop(arm, pd_gravity(), PUMA, safety=quick(arm))
    with pytest.raises(cp.errors.PlantError, match=r"own stop raised OSError: no answer.*emergency stop") as caught:
        loop.run(0.01)
    assert caught.value.report.end is EndState.COMPLETED
    assert "stop_failed" in [event.kind for event in caught.value.report.events]
    with pytest.raises(cp.errors.LawError, match=r"ZeroDivisionError.*own stop raised OSError"):
        loop.run(0.01, until=lambda sample: 1 / 0 > 0)

    def interrupt(sample: Sample) -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as interrupted:
        loop.run(0.01, until=interrupt)
    assert "own stop raised OSError" in interrupted.value.__notes__[0]


def test_write_that_fails_in_the_stop_ends_in_the_plants_stop() -> None:
    """If nothing more can be sent, the plant's declared stop is ordered at once."""
    arm = IdealArm(PUMA)

    def broken(since: int) -> None:
        if since >= 10:
            raise OSError("cable")

    plant = faults.FaultyPlant(arm, faults.good, begin=10, write=broken)
    with plant:
        report = ControlLoop(plant, pd_gravity(), PUMA, safety=quick(arm)).run(0.015)
        assert arm.stopped
    assert report.end is EndState.PLANT_STOP


# Pace


def test_sparse_overruns_are_counted_only() -> None:
    """A stall of 4.5 periods now and then is reported and does not stop the arm; what was missed is not made up."""

    class Clock:
        now_ = 0.0
        calls = 0

        def now(self) -> float:
            self.calls += 1
            if self.calls % 31 == 0:
                self.now_ += 4.5e-3
            return self.now_

        def wait_until(self, moment: float) -> None:
            self.now_ = moment

    clock = Clock()
    arm = IdealArm(PUMA)
    moments: list[float] = []
    plant = faults.FaultyPlant(
        arm,
        lambda sample, since: replace(sample, time=clock.now_),
        begin=0,
        write=lambda since: moments.append(clock.now_),
    )
    with plant:
        loop = ControlLoop(plant, pd_gravity(), PUMA, safety=quick(arm), clock=clock)
        report = loop.run(0.2, then="keep")
    assert report.end is EndState.COMPLETED
    assert 8 <= report.overruns <= 20
    assert np.count_nonzero(np.diff(moments) < 0.5e-3) <= report.overruns
    assert "longer than the period" in next(event.message for event in report.events if event.kind == "overrun")


def test_clock_paces_in_real_time() -> None:
    """With a clock a run takes as long as it should."""
    arm = IdealArm(PUMA, dt=2e-3)
    with arm:
        safety = SafetyFilter(PUMA, plant=arm, settings=replace(QUICK, max_lag_ticks=1000, max_overruns=1000))
        begin = time.perf_counter()
        report = ControlLoop(arm, pd_gravity(), PUMA, safety=safety, clock=WallClock()).run(0.1, then="keep")
        took = time.perf_counter() - begin
    assert report.ticks == 50
    assert took >= 0.098


# Cost


class NullPlant:
    """Samples that are ready, and a write that does nothing."""

    adds_gravity = False
    effort_kind = "torque"
    watchdog = 0.1
    stop = "zero"
    plate = None
    dt = 1e-3

    def __init__(self, robot: cp.Robot, count: int) -> None:
        self.joint_names = robot.joint_names
        self.lower, self.upper, self.effort_limit = robot.lower, robot.upper, robot.effort_limit
        self.velocity_limit = robot.velocity_limit
        q, zeros = middle_pose(robot), np.zeros(robot.n)
        weight = robot.gravity(q)
        self.samples = [Sample(tick * self.dt, q, zeros, weight) for tick in range(count)]
        self.tick = 0

    def __enter__(self) -> NullPlant:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def read(self) -> Sample:
        return self.samples[self.tick]

    def write(self, tau: Array) -> Array:
        self.tick += 1
        return tau

    def emergency_stop(self) -> None:
        pass


def test_memory_does_not_grow() -> None:
    """Over 2e4 ticks, good ones and bad ones, the loop does not take memory all the time.

    What measures coverage takes some, in some of the stretches; a leak would in each.
    """

    class Endless(NullPlant):
        def read(self) -> Sample:
            sample = self.samples[0]
            bad = self.tick % 50 == 49
            return replace(sample, time=self.tick * self.dt, q=np.full(6, np.nan) if bad else sample.q.copy())

    ticks = 20_000 if FilterCore is not ReferenceFilterCore else 3_000
    stretch = ticks // 6
    plant = Endless(PUMA, 1)
    seen: dict[int, int] = {}

    def watch(sample: Sample) -> bool:
        if plant.tick % stretch == stretch - 2:
            seen[plant.tick] = tracemalloc.get_traced_memory()[0]
        return False

    tracemalloc.start()
    try:
        safety = SafetyFilter(PUMA, plant=plant, settings=SafetySettings(max_events=20))
        report = ControlLoop(plant, pd_gravity(), PUMA, safety=safety).run(ticks * plant.dt, until=watch, then="keep")
    finally:
        tracemalloc.stop()
    assert report.end is EndState.COMPLETED
    assert report.held_ticks == ticks // 50
    assert len(report.events) + report.events_dropped == 1 + 2 * (ticks // 50) - 1
    assert len(report.events) == 20
    assert len(seen) == 6
    assert np.diff(list(seen.values())).min() < 2 * stretch  # bytes; the smallest object has 16
