"""The corners of a run: what it starts from, switches that meet, users' code that raises in odd places, interrupts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.control.gravity import Gravity, PDGravity
from counterpoise.control.loop import ControlLoop
from counterpoise.control.pid import PID
from counterpoise.control.plant import PlateInfo
from counterpoise.control.report import EndState
from counterpoise.control.safety import SafetyFilter, SafetySettings
from counterpoise.errors import EndOfLogError
from counterpoise.foundation import Array
from counterpoise.recording import Sample, SampleFlag
from library import faults
from library.ideal_arm import IdealArm

PUMA = cp.load("puma560")
LOADED = PUMA.with_payload(2.0, com=(0.0, 0.0, 0.1))
QUICK = SafetySettings(blend_time=0.05, settle_time=0.02, ramp_time=0.05)


class Ask:
    """A law that asks for the same always, and counts how often it was asked and reset."""

    adds_gravity = False
    uses_wrench = False

    def __init__(self, tau: Any) -> None:
        self.tau = tau
        self.asked = self.resets = 0

    def reset(self, sample: Sample) -> None:
        self.resets += 1

    def torque(self, sample: Sample, time: float) -> Array:
        self.asked += 1
        return np.asarray(self.tau)


class StillArm(IdealArm):
    """An arm that is held by hand: its torques move nothing."""

    def _step(self) -> None:
        pass


def loop_of(plant: Any, law: Any, **more: Any) -> ControlLoop:
    safety = SafetyFilter(PUMA, plant=plant, settings=QUICK, **more)
    return ControlLoop(plant, law, PUMA, safety=safety)


def at(moment: float, act: Any) -> Any:
    """Return an ``until`` that never ends a run but acts once, at a time [s]."""

    def until(sample: Sample) -> bool:
        if abs(sample.time - moment) < 1e-9:
            act()
        return False

    return until


# Start


def test_plant_that_adds_gravity_starts_from_zero() -> None:
    """Its measured torque holds its weight already; sent as a command it would carry the arm twice."""
    arm = IdealArm(PUMA)
    arm.adds_gravity = True  # type: ignore[misc]
    assert np.abs(arm.tau).max() > 5.0
    with arm:
        report = loop_of(arm, Ask(np.zeros(6))).run(0.02, then="keep")
    assert not np.any(arm.sent)
    assert report.events[0].message == "from zero torque"


@pytest.mark.parametrize("reason", ["current", "adds gravity"])
def test_kept_torque_is_the_start_of_the_next_run(reason: str) -> None:
    """Where it cannot be measured, the torque that a run kept on is remembered: the next one begins without a step."""
    arm = StillArm(PUMA)
    if reason == "current":
        arm.effort_kind = "current"
    else:
        arm.adds_gravity = True  # type: ignore[misc]
    with arm:
        loop = loop_of(arm, Ask(np.full(6, 5.0)))
        loop.run(0.2, then="keep")
        assert arm.sent[-1].tolist() == [5.0] * 6
        report = loop.run(0.01, then="keep")
        assert np.abs(np.array(arm.sent)[200:] - 5.0).max() < 1e-12
        assert report.events[0].message == "from the torque of the run before"
        arm.ticks += 101  # longer than the watchdog of 0.1 s: the hardware has let go
        arm.time = arm.ticks * arm.dt
        report = loop.run(0.01, then="keep")
        assert not np.any(arm.sent[210])
        assert report.events[0].message == "from zero torque"
        loop.run(0.01)
        assert loop.run(0.01, then="keep").events[0].message == "from zero torque"


def test_driver_that_cannot_be_read_is_no_start() -> None:
    """What a driver raises on the first read comes as a PlantError, and nothing is sent."""
    arm = IdealArm(PUMA)
    arm.read = lambda: (_ for _ in ()).throw(OSError("no bus"))  # type: ignore[method-assign]
    with arm, pytest.raises(cp.errors.PlantError, match="not started: the plant could not be read: OSError: no bus"):
        loop_of(arm, Gravity(PUMA)).run(0.1)
    assert not arm.sent


def test_law_that_cannot_start_is_no_start() -> None:
    """What a law raises in its first reset comes as a LawError, and nothing is sent."""

    class Fails(Ask):
        def reset(self, sample: Sample) -> None:
            raise RuntimeError("no table")

    arm = IdealArm(PUMA)
    with arm, pytest.raises(cp.errors.LawError, match="not started: a law's reset raised RuntimeError: no table"):
        loop_of(arm, Fails(np.zeros(6))).run(0.1)
    assert not arm.sent


# Switches


def test_switches_that_meet_are_all_made() -> None:
    """A new law and a new payload asked for within one tick, in either order: neither is lost."""
    for first in ("law", "robot"):
        arm = IdealArm(PUMA, stop="brake", payload=LOADED)
        law = PDGravity(LOADED, np.full(6, 50.0), 5.0)
        with arm:
            loop = loop_of(arm, Gravity(LOADED))

            def act(loop: ControlLoop = loop, law: PDGravity = law, first: str = first) -> None:
                if first == "law":
                    loop.switch(law)
                loop.switch(robot=LOADED)
                if first == "robot":
                    loop.switch(law)

            report = loop.run(0.2, until=at(0.1, act), log=True)
        assert sorted(event.message for event in report.events if event.kind == "switched") == [
            "to PDGravity over 0.05 s",
            "to another payload",
        ]
        # The stop holds the heavier arm.
        assert arm.sent[-1] == pytest.approx(LOADED.gravity(arm.q), abs=0.3)


def test_law_that_stays_is_neither_asked_twice_nor_reset() -> None:
    """A payload switch, and a second law beside the first, leave the first as it is; the second fades in."""
    arm = StillArm(PUMA)
    arm.effort_kind = "current"
    stays, comes = Ask(np.full(6, 2.0)), Ask(np.full(6, 3.0))
    with arm:
        loop = loop_of(arm, stays, rate_limit=1e6)
        loop.run(0.1, until=at(0.08, lambda: loop.switch(robot=LOADED)), then="keep")
        assert np.all(np.array(arm.sent)[50:] == 2.0)
        loop.run(0.2, until=at(0.2, lambda: loop.switch([stays, comes])), then="keep")
    sent = np.array(arm.sent)[:, 0]
    assert stays.asked == 300
    assert (stays.resets, comes.resets) == (2, 1)
    assert np.all(sent[50:201] == 2.0)
    assert np.all(np.diff(sent[200:251]) >= 0.0)
    assert np.diff(sent[200:252]).max() < 1.51 * 3.0 / 50
    assert np.all(sent[251:] == 5.0)


@pytest.mark.parametrize("beside", [[], [Gravity(PUMA)]])
def test_integral_grows_once_a_tick(beside: list[Gravity]) -> None:
    """In blends, through a payload switch and beside other laws; rounding of the sum is not taken for a cut."""
    arm = StillArm(PUMA)
    pid = PID(np.full(6, 3.0), 1.0, 0.3, integral_limit=10.0, dt=1e-3)
    held = arm.read()
    arm.read = lambda: replace(held, time=arm.time, q=held.q + 1e-5 * arm.ticks)  # type: ignore[method-assign]
    with arm:
        loop = loop_of(arm, [pid, *beside], rate_limit=1e6)
        loop.run(0.2, until=at(0.1, lambda: loop.switch(robot=LOADED)), then="keep")
    assert pid.integral == pytest.approx(np.full(6, -1e-8 * sum(range(200))), rel=1e-6)


def test_law_never_sees_a_plate_that_was_not_checked() -> None:
    """A law that reads the plate comes in on a sample whose plate is good; if none is, the arm is stopped instead."""
    seen: list[Sample] = []

    class NeedsPlate(PDGravity):
        uses_wrench = True

        def torque(self, sample: Sample, time: float) -> Array:
            seen.append(sample)
            return super().torque(sample, time)

    arm = IdealArm(PUMA, plate=PlateInfo("on_robot", np.eye(4), np.full(6, 1e5)))
    plant = faults.FaultyPlant(arm, faults.flagged(SampleFlag.WRENCH_SATURATED), begin=0)
    with plant:
        loop = loop_of(plant, Gravity(PUMA))
        law = NeedsPlate(PUMA, np.full(6, 50.0), 5.0)
        with pytest.raises(cp.errors.SensorFaultError, match="end of its range"):
            loop.run(0.2, until=at(0.1, lambda: loop.switch(law)))
    assert not seen
    good = IdealArm(PUMA, plate=plant.plate)
    with good:
        loop = loop_of(good, Gravity(PUMA))
        loop.run(0.2, until=at(0.1, lambda: loop.switch(law)), then="keep")
    assert seen[0].time == pytest.approx(0.102)


# Held ticks


@pytest.mark.parametrize("wrong", ["sample", "torque"])
@pytest.mark.parametrize("bad", [3, 5, 6], ids=["bridged", "just bridged", "one too many"])
def test_held_ticks_are_the_torques_that_were_sent_again(wrong: str, bad: int) -> None:
    """As many as went out, also where one bad tick too many stops the arm: on that tick the stop sends its own."""

    class Ramp(Ask):
        """A torque that differs from tick to tick, and is none on some of them."""

        def torque(self, sample: Sample, time: float) -> Array:
            tick = round(sample.time / arm.dt)
            spoiled = wrong == "torque" and 100 <= tick < 100 + bad
            return np.full(6, np.nan) if spoiled else gravity + 1e-4 * tick

    def unmeasured(sample: Sample, since: int) -> Sample:
        spoiled = wrong == "sample" and since < bad
        return replace(sample, dq=np.full(6, np.nan)) if spoiled else sample

    arm = StillArm(PUMA)
    gravity = arm.tau.copy()
    plant = faults.FaultyPlant(arm, unmeasured, begin=101)
    report = None
    with plant:
        loop = loop_of(plant, Ramp(gravity))
        try:
            report = loop.run(0.2, then="keep")
        except cp.SafetyError as error:
            report = error.report
    assert report is not None and (report.fault != 0) == (bad == 6)
    sent = np.array(arm.sent[: report.ticks - report.stop_ticks])
    repeated = int(np.count_nonzero((np.diff(sent, axis=0) == 0.0).all(axis=1)))
    assert report.held_ticks == repeated == min(bad, 5)
    refused = wrong == "torque" and bad == 6  # the filter tells of the torque that stopped the arm, too
    assert report.flag_counts["HELD"] == (repeated + refused,) * 6


# Users' code


def test_run_within_a_run_is_refused() -> None:
    """Two runs would send in turns; the second is refused, and as it is a law's mistake, the arm is stopped."""
    arm = IdealArm(PUMA)
    with arm:
        loop = loop_of(arm, Gravity(PUMA))
        with pytest.raises(cp.errors.LawError, match="running already"):
            loop.run(0.1, until=lambda sample: bool(loop.run(0.1)))
        assert loop.last_report is not None
        assert loop.last_report.end is EndState.GRAVITY_STOP


def test_law_that_raises_when_told_of_a_cut_stops_the_arm() -> None:
    """An exception in ``limited`` is a law's exception like any other."""

    class Fails(Ask):
        def limited(self, cut: Array) -> None:
            raise RuntimeError("cut to the quick")

    arm = IdealArm(PUMA)
    with arm, pytest.raises(cp.errors.LawError, match="RuntimeError: cut to the quick") as caught:
        loop_of(arm, Fails(arm.tau)).run(0.1)
    assert caught.value.report.end is EndState.GRAVITY_STOP
    assert len(caught.value.history) > 1


@pytest.mark.parametrize("wrong", [np.array([1, 2, 3, 4, 5, 6], dtype=object), np.zeros(6, dtype=complex), "text"])
def test_refused_torque_beside_a_law_that_listens(wrong: Any) -> None:
    """What is no torque is refused in the usual way, whatever other laws want to be told."""
    arm = IdealArm(PUMA)
    law, listener = Ask(arm.tau), PID(np.ones(6), 1.0, 1.0, integral_limit=1.0, dt=1e-3)
    with arm, pytest.raises(cp.errors.LawError, match="is no finite float64 array"):
        loop_of(arm, [law, listener]).run(0.2, until=at(0.1, lambda: setattr(law, "tau", wrong)))


def test_interrupt_between_reading_and_checking_uses_the_sample_before() -> None:
    """Ctrl-C right after a bad sample was read: the stop does not rely on a sample that nobody has judged."""
    arm = IdealArm(PUMA)
    plant = faults.FaultyPlant(arm, faults.for_ticks(1, faults.changed("q", 0, lambda _: np.nan)), begin=51)
    loop = loop_of(plant, PDGravity(PUMA, np.full(6, 50.0), 5.0))
    check = loop.safety.check

    def interrupted(sample: Sample, now: float) -> int:
        if np.isnan(sample.q).any():
            loop.safety.check = check  # type: ignore[method-assign]
            raise KeyboardInterrupt
        return check(sample, now)

    loop.safety.check = interrupted  # type: ignore[method-assign]
    with plant, pytest.raises(KeyboardInterrupt):
        loop.run(0.2)
    assert loop.last_report is not None
    assert loop.last_report.end is EndState.GRAVITY_STOP


@pytest.mark.parametrize("sent", [False, True])
def test_interrupted_write_breaks_no_bound(sent: bool) -> None:
    """Ctrl-C in a driver's write, before or after the torque went out: no step is larger than the rate allows."""
    arm = StillArm(PUMA)
    arm.effort_kind = "current"  # the start is from zero; law and stop both ask for more, at full rate
    send = arm.write

    def write(tau: Array) -> Array:
        if len(arm.sent) == 30 and arm.write is write:
            arm.write = send  # type: ignore[method-assign]
            if sent:
                send(tau)
            raise KeyboardInterrupt
        return send(tau)

    arm.write = write  # type: ignore[method-assign]
    with arm, pytest.raises(KeyboardInterrupt):
        loop_of(arm, Ask(100.0 * PUMA.gravity(arm.q)), rate_limit=10.0).run(0.1)
    torques = np.array(arm.sent)
    assert np.abs(torques[29]).max() > 0.1
    assert np.abs(np.diff(torques, axis=0)).max() <= 10.0 * arm.dt


def test_the_end_of_a_log_ends_the_run_without_a_stop() -> None:
    """A plant that is a recording has no arm to let down: it says that it is over, and nothing of its own is called."""

    class Recorded(StillArm):
        reads = 0

        def read(self) -> Sample:
            self.reads += 1
            if self.reads > 20:
                raise EndOfLogError("no further samples")
            return super().read()

    arm = Recorded(PUMA)
    with arm:
        report = loop_of(arm, Gravity(PUMA)).run(1.0)
    assert report.end is EndState.END_OF_LOG
    assert report.ticks == 20 and report.stop_ticks == 0
    assert "stopped" not in [event.kind for event in report.events]
