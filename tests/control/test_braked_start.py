"""An arm that stands on its brakes: torque first, then they open, and what falls is caught by them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.control.fault import Fault
from counterpoise.control.gravity import Gravity, PDGravity
from counterpoise.control.limits import resolve_limits
from counterpoise.control.loop import ControlLoop
from counterpoise.control.plant import BrakedPlant, Plant
from counterpoise.control.report import EndState
from counterpoise.control.safety import SafetySettings
from counterpoise.control.start import MOST_LINEAR, MOST_ROTARY, SETTLE, SLACK, WATCHED
from counterpoise.recording import Sample
from library.braked_arm import ENDS_AT_START, NEEDED, BareArm, BrakedArm, side_by_side

ROBOT = side_by_side()
MOST = np.array([MOST_ROTARY, MOST_LINEAR])


def loop_of(arm: Any, robot: cp.Robot = ROBOT, **more: Any) -> ControlLoop:
    return ControlLoop(arm, PDGravity(robot, [60.0, 200.0], [12.0, 40.0]), robot, **more)


def run_failing(arm: Any, error: type[cp.SafetyError], robot: cp.Robot = ROBOT) -> cp.SafetyError:
    """Run, expect an error, and return it."""
    with arm, pytest.raises(error) as caught:
        loop_of(arm, robot).run(0.5)
    return caught.value


def test_torque_comes_before_the_brakes_open() -> None:
    """It rises within the rate limit behind them, holds when they open, and the arm does not drop."""
    arm = BrakedArm(ROBOT, opening=0.08)
    loop = loop_of(arm)
    with arm:
        report = loop.run(0.5, log=True)
        assert np.abs(arm.q).max() < 1e-6
    opened = arm.calls.index("release")
    before = np.array(arm.sent[:opened])
    steps = np.diff(np.vstack([np.zeros(2), before]), axis=0)
    assert np.all(np.abs(steps) <= loop.safety.limits.rate * arm.dt)
    settled = round(SETTLE / arm.dt)
    np.testing.assert_allclose(before[-settled:], np.broadcast_to(NEEDED, (settled, 2)), rtol=0.011)
    assert arm.calls.count("release") == 1
    kinds = [event.kind for event in report.events]
    assert kinds[:2] == ["started", "brakes_opened"]
    assert report.end is EndState.COMPLETED
    assert arm.calls[-1] == "stop"


def test_the_run_begins_when_the_arm_is_held() -> None:
    """Its time, its ticks and its log leave the start out; the laws are reset with the pose they take over."""
    arm = BrakedArm(ROBOT, opening=0.05)
    times: list[float] = []
    resets: list[float] = []

    class Timed(Gravity):
        def reset(self, sample: Sample) -> None:
            resets.append(sample.time)
            super().reset(sample)

        def torque(self, sample: Sample, time: float) -> Any:
            times.append(time)
            return super().torque(sample, time)

    with arm:
        report = ControlLoop(arm, Timed(ROBOT), ROBOT).run(0.1, log=True)
    assert report.ticks - report.stop_ticks == 100
    assert times[0] == 0.0
    assert report.log is not None
    assert len(report.log.time) == report.ticks
    began = resets[-1]
    assert began >= SETTLE + 0.05 + WATCHED
    assert began == pytest.approx(arm.opens_at + WATCHED, abs=0.5 * arm.dt)  # no longer than is stated
    assert report.log.sent is not None
    np.testing.assert_allclose(report.log.sent[0], NEEDED, rtol=1e-3)


@pytest.mark.parametrize("effort", [np.zeros(2), 0.5 * NEEDED, 2.0 * NEEDED, np.array([-55.0, 70.0])])
def test_what_is_read_behind_brakes_does_not_count(effort: np.ndarray) -> None:
    """A constant reading, of a sensor that the brakes load or of none, starts nothing and is no frozen sensor."""
    arm = BrakedArm(ROBOT, effort=effort)
    with arm:
        report = loop_of(arm).run(0.2)
        assert np.abs(arm.q).max() < 1e-6
    assert report.end is EndState.COMPLETED


@pytest.mark.parametrize("dt", [1e-3, 1e-2])
@pytest.mark.parametrize(("heavier", "joint"), [(1.6, 0), (0.3, 0), (3.0, 0)])
def test_an_arm_that_moves_is_braked_again(heavier: float, joint: int, dt: float) -> None:
    """A wrong model lets it fall or rise: it travels little more than allowed, and is never driven again."""
    arm = BrakedArm(ROBOT, heavier=heavier)
    arm.dt = dt
    error = run_failing(arm, cp.errors.FallError)
    assert error.report.fault is Fault.BRAKES_CLOSED_AGAIN
    assert error.report.end is ENDS_AT_START[Fault.BRAKES_CLOSED_AGAIN]
    assert arm.closed
    opened = arm.calls.index("release")
    assert "stop" in arm.calls[opened:]
    assert "write" not in arm.calls[arm.calls.index("stop") :]
    assert np.all(np.abs(arm.q) <= MOST + arm.dt * np.abs(5.0))
    travelled = np.abs(arm.q) / MOST
    assert 1.0 < travelled.max() < (1.2 if dt == 1e-3 else 3.0)
    assert "closed again" in str(error)
    assert ROBOT.joint_names[int(travelled.argmax())] in str(error)


def test_a_slow_drift_is_the_laws_business() -> None:
    """What moves by less than allowed in that time passes, and PD holds it."""
    arm = BrakedArm(ROBOT, heavier=1.01)
    with arm:
        assert loop_of(arm).run(1.0).end is EndState.COMPLETED


def test_drives_that_are_off_keep_the_brakes_closed() -> None:
    """The torque never arrives: release() is not called."""

    class Off(BrakedArm):
        def write(self, tau: np.ndarray) -> np.ndarray:
            return super().write(0.5 * tau)

    arm = Off(ROBOT)
    error = run_failing(arm, cp.errors.PlantError)
    assert error.report.fault is Fault.BRAKES_NOT_OPENED
    assert error.report.end is ENDS_AT_START[Fault.BRAKES_NOT_OPENED]
    assert "release" not in arm.calls
    assert "drives may be off" in str(error)
    limits = resolve_limits(ROBOT, arm)  # the whole time is waited for: to the largest torque, and what is stated
    assert arm.ticks == round((np.max(limits.effort / limits.rate) + SETTLE + SLACK) / arm.dt)
    assert error.history


def test_an_arm_that_cannot_be_held_stays_on_its_brakes() -> None:
    """Gravity beyond the effort limit is refused before anything opens."""
    heavy = ROBOT.with_payload(9.0, link="pendulum", com=(0.5, 0.0, 0.0))
    error = run_failing(arm := BrakedArm(ROBOT), cp.errors.PlantError, heavy)
    assert "'swing' takes" in str(error)
    assert "release" not in arm.calls
    assert not np.any(arm.q)


def test_brakes_that_do_not_open() -> None:
    """A declaration that never changes, or a mechanism that hangs, ends the run; so does a release() that raises."""
    error = run_failing(BrakedArm(ROBOT, opening=5.0), cp.errors.PlantError)
    assert "did not open" in str(error)

    class Raising(BrakedArm):
        def release(self) -> None:
            raise OSError("no such device")

    error = run_failing(arm := Raising(ROBOT), cp.errors.PlantError)
    assert "no such device" in str(error)
    assert arm.closed


def test_a_second_run_does_not_stop_at_the_brakes() -> None:
    """With then="keep" they are open, and the next run goes on from the torque of the run before."""
    arm = BrakedArm(ROBOT)
    loop = loop_of(arm)
    with arm:
        loop.run(0.2, then="keep")
        report = loop.run(0.2)
        assert arm.calls.count("release") == 1
        assert np.abs(arm.q).max() < 1e-6
    assert [event.kind for event in report.events][:1] == ["started"]
    with arm:  # closed by the stop: from the beginning
        loop.run(0.2)
    assert arm.calls.count("release") == 2


def test_a_run_of_no_time_opens_nothing() -> None:
    """It only brings the arm to its stop."""
    arm = BrakedArm(ROBOT)
    with arm:
        loop_of(arm).run(0.0)
    assert "release" not in arm.calls


@pytest.mark.parametrize("tick", [0, 30, 150, 250, 330])
def test_an_interrupt_during_the_start_stops_the_arm(tick: int) -> None:
    """Ctrl-C before, while or after the brakes open: they end closed, and the arm has not dropped."""

    class Interrupted(BrakedArm):
        def read(self) -> Sample:
            if self.ticks == tick and "asked" not in self.calls and self.calls:
                self.calls.append("asked")
                raise KeyboardInterrupt
            return super().read()

    arm = Interrupted(ROBOT)
    arm.calls.append("begin")
    loop = loop_of(arm)
    with arm:
        arm.ticks = 0
        with pytest.raises(KeyboardInterrupt):
            loop.run(0.5)
        if tick:  # at tick 0 nothing had been sent: leaving the plant closes the brakes
            assert arm.closed
    assert arm.closed
    assert np.abs(arm.q).max() < 1e-6


def test_bad_samples_during_the_start_are_bridged_or_stop_it() -> None:
    """Five NaN samples pass; six stop the arm, on its brakes."""

    class Blinking(BrakedArm):
        bad = range(40, 45)

        def read(self) -> Sample:
            sample = super().read()
            if self.ticks in self.bad:
                sample.q[0] = np.nan
            return sample

    arm = Blinking(ROBOT)
    with arm:
        assert loop_of(arm).run(0.1).end is EndState.COMPLETED
    arm = Blinking(ROBOT)
    arm.bad = range(40, 1000)
    error = run_failing(arm, cp.errors.SensorFaultError)
    assert "release" not in arm.calls
    assert error.report.end is EndState.BLIND_STOP


def test_a_plant_that_adds_gravity_gets_no_torque() -> None:
    """Its own controller holds it; the brakes open on zero torque."""

    class Carried(BrakedArm):
        adds_gravity = True

        def write(self, tau: np.ndarray) -> np.ndarray:
            own = 0.0 if self.stopped else NEEDED
            return super().write(tau + own) - own

    arm = Carried(ROBOT)
    with arm:
        report = ControlLoop(arm, Hold(), ROBOT).run(0.2)
        assert np.abs(arm.q).max() < 1e-6
    assert report.end is EndState.COMPLETED


class Hold:
    """A law that asks for nothing."""

    adds_gravity = False
    uses_wrench = False

    def reset(self, sample: Sample) -> None:
        pass

    def torque(self, sample: Sample, time: float) -> np.ndarray:
        return np.zeros_like(sample.q)


def test_request_stop_during_the_start() -> None:
    """It ends the run, with the brakes closed."""
    arm = BrakedArm(ROBOT, opening=0.5)
    loop = loop_of(arm)
    original = arm.read

    def read() -> Sample:
        if arm.ticks == 50:
            loop.request_stop()
        return original()

    arm.read = read  # type: ignore[method-assign]
    with arm:
        loop.run(1.0)
    assert "release" not in arm.calls
    assert arm.closed


# What a plant may say


def test_both_members_are_optional() -> None:
    """A plant without them is one; one with them is a BrakedPlant."""
    assert isinstance(BareArm(ROBOT), Plant)
    assert not isinstance(BareArm(ROBOT), BrakedPlant)
    assert isinstance(BrakedArm(ROBOT), BrakedPlant)


def test_declarations_without_a_meaning_are_refused() -> None:
    """A misspelt word, no release(), or a stop that closes nothing."""

    class Misspelt(BrakedArm):
        held = "brake"  # type: ignore[assignment]

    class Stuck(BareArm):
        held = "brakes"
        stop = "brake"

    class Loose(BrakedArm):
        stop = "zero"

    for kind, words in ((Misspelt, "held is 'brake'"), (Stuck, r"no release\(\)"), (Loose, "close them again")):
        with pytest.raises(cp.InputError, match=words):
            loop_of(kind(ROBOT))

    class Unreadable(BrakedArm):
        @property
        def held(self) -> Any:
            raise OSError("bus off")

    with pytest.raises(cp.errors.PlantError, match="bus off"):
        loop_of(Unreadable(ROBOT))


def test_settings_of_a_run_hold_in_the_start() -> None:
    """A slower rate limit makes the rise longer, and is kept."""
    arm = BrakedArm(ROBOT)
    safety = cp.control.SafetyFilter(
        ROBOT, plant=arm, rate_limit=0.25 * ROBOT.effort_limit, settings=SafetySettings(blend_time=0.1)
    )
    with arm:
        report = loop_of(arm, safety=safety).run(0.2)
    opened = arm.calls.index("release")
    assert opened > 1000.0 * (NEEDED / safety.limits.rate).max()
    steps = np.abs(np.diff(np.array(arm.sent[:opened]), axis=0))
    assert np.all(steps <= safety.limits.rate * arm.dt)
    assert report.end is EndState.COMPLETED
