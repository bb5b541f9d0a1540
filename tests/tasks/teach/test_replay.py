"""Replaying: tracking, the pose it starts from, pause and resume, stop, straying; PD against PD with gravity."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.control import SafetySettings
from counterpoise.errors import InputError, PlantError, SafetyError, SensorFaultError
from counterpoise.recording import Sample
from counterpoise.tasks import Rig
from counterpoise.tasks.teach.path import TaughtPath
from counterpoise.tasks.teach.plan import PlanSettings, ReplayPlan, plan_replay
from counterpoise.tasks.teach.replay import Replay
from library.ideal_arm import IdealArm, middle_pose

PLANAR = cp.load("planar3")
MIDDLE = middle_pose(PLANAR)


def path(seconds: float = 4.0, amplitude: float = 0.3) -> TaughtPath:
    """All joints swing once, from rest to rest."""
    time = np.linspace(0.0, seconds, round(100 * seconds) + 1)
    part = time / seconds
    angle = 2.0 * np.pi * part**3 * (10.0 - 15.0 * part + 6.0 * part**2)
    return TaughtPath.of(PLANAR, time, MIDDLE + amplitude * np.sin(angle)[:, None] * np.ones(3), name="swing")


def planned(arm: IdealArm, **settings: Any) -> ReplayPlan:
    """The plan of the swing from where an arm stands."""
    return plan_replay(PLANAR, path(), start=arm.read().q, plant=arm, **settings)


def standing(offset: float = 0.1, **changes: Any) -> IdealArm:
    """An ideal arm at 500 Hz, somewhat away from the start of the swing."""
    return IdealArm(PLANAR, dt=2e-3, q=MIDDLE + offset, **changes)


def test_the_path_is_followed_and_errors_are_told() -> None:
    """An ideal arm goes to the start and follows; rms, largest and when agree with the samples."""
    arm, seen = standing(), []
    with arm:
        report = Replay(Rig(arm, PLANAR), planned(arm)).run(lambda done, total: seen.append((done, total)))
    assert report.outcome == "completed" and report.reason == ""
    assert report.law == "pd-gravity" and report.run is not None and report.run.end.value == "completed"
    error = np.abs(report.trace.wanted - report.trace.measured)
    assert np.max(error) < 0.01
    worst = report.joints[int(np.argmax(error.max(axis=0)))]
    assert worst.largest == pytest.approx(np.max(error))
    row = int(np.argmin(np.abs(report.trace.time - worst.at)))
    assert error[row].max() == pytest.approx(worst.largest)
    assert 0.0 < report.tips[0].rms < report.tips[0].largest < 0.03
    assert seen and all(0.0 <= done <= total + 1e-2 for done, total in seen)
    assert np.ptp(report.trace.measured[:, 0]) > 0.5  # it did move
    assert report.as_data()["tips"][0]["unit"] == "m"


def test_an_arm_that_is_elsewhere_is_not_moved() -> None:
    """The plan starts elsewhere, or the arm was moved since: refused by joint, and nothing is sent."""
    arm = standing()
    with arm:
        plan = planned(arm)
        arm.q[1] += 0.05
        with pytest.raises(SafetyError, match=PLANAR.joint_names[1]):
            Replay(Rig(arm, PLANAR), plan).run()
        assert arm.sent == []
        job = Replay(Rig(arm, PLANAR), plan, tolerance=0.1)
        assert job.run().outcome == "completed"


@pytest.mark.parametrize(("away", "begins"), [(0.019, True), (-0.019, True), (0.021, False), (-0.021, False)])
def test_the_arm_may_stand_two_hundredths_of_a_radian_away(away: float, begins: bool) -> None:
    """What docs/teach-and-replay.md states."""
    arm = standing()
    with arm:
        plan = planned(arm)
        arm.q[1] += away
        if begins:
            assert Replay(Rig(arm, PLANAR), plan).run().outcome == "completed"
            return
        with pytest.raises(SafetyError, match=PLANAR.joint_names[1]):
            Replay(Rig(arm, PLANAR), plan).run()
        assert arm.sent == []


def test_an_arm_moved_between_the_look_and_the_start_is_not_moved() -> None:
    """The very sample that the law starts from is judged."""
    arm = standing()

    class Moved(IdealArm):
        reads = 0

        def read(self) -> Sample:
            self.reads += 1
            if self.reads == 3:
                self.q = self.q + 0.3
            return super().read()

    moved = Moved(PLANAR, dt=2e-3, q=arm.q)
    with moved:
        plan = plan_replay(PLANAR, path(), start=moved.read().q, plant=moved)
        with pytest.raises(SafetyError, match="not where"):
            Replay(Rig(moved, PLANAR), plan).run()
        assert moved.sent == []


def test_plans_of_another_payload_or_wider_limits_are_refused() -> None:
    """What was planned for is what is driven."""
    arm = standing()
    with arm:
        plan = planned(arm)
        with pytest.raises(InputError, match="payload"):
            Replay(Rig(arm, PLANAR.with_payload(0.5)), plan)
        arm.velocity_limit = 0.5 * arm.velocity_limit
        with pytest.raises(InputError, match="speed limit"):
            Replay(Rig(arm, PLANAR), plan)
    slow = cp.control.SafetyFilter(PLANAR, plant=standing(), settings=SafetySettings(blend_time=2.0))
    with pytest.raises(InputError, match="blend_time"):
        Replay(Rig(standing(), PLANAR, safety=slow), plan)
    with pytest.raises(InputError, match="law"):
        Replay(Rig(standing(), PLANAR), plan, law="pid")  # type: ignore[arg-type]


def test_pause_holds_and_resume_goes_on() -> None:
    """In mid-swing the arm slows down along its path, holds, goes on from there, and still ends where it should."""
    arm = standing(0.0)
    with arm:
        plan = planned(arm)
        job = Replay(Rig(arm, PLANAR), plan)
        pause_at, resume_at = plan.path_begin + 2.0, plan.path_begin + 4.0
        speeds: list[float] = []

        def watch(sample: Sample) -> None:
            if sample.time >= resume_at:
                job.resume()
            elif sample.time >= pause_at:
                job.pause()
            if pause_at + plan.pause_time + 1.0 < sample.time < resume_at:
                speeds.append(float(np.max(np.abs(sample.dq))))

        report = job.run(watch=watch)
    assert report.outcome == "completed"
    assert max(speeds) < 5e-3
    assert report.held == pytest.approx(2.0, abs=0.02)  # ramps down and up share a pause time between them
    assert np.max(np.abs(report.trace.wanted - report.trace.measured)) < 0.015
    assert np.all(np.diff(report.trace.time) >= 0.0)
    assert report.trace.clock[-1] - report.trace.clock[0] == pytest.approx(plan.motion.duration + 2.0, abs=0.05)


def test_stop_from_another_thread() -> None:
    """It slows down, ends in the safe stop, and says how far it came; resume does not bring it back."""
    arm = standing(0.0)
    with arm:
        job = Replay(Rig(arm, PLANAR), planned(arm))
        begun = threading.Event()

        def stop() -> None:
            begun.wait(10.0)
            job.stop()
            job.resume()

        thread = threading.Thread(target=stop)
        thread.start()
        report = job.run(watch=lambda sample: begun.set() if sample.time > 1.5 else None)
        thread.join()
    assert report.outcome == "stopped" and "%" in report.reason
    assert report.run is not None and report.run.stop == "zero"
    assert len(report.trace.time) and report.trace.time[-1] < 4.0


def test_one_replay_runs_once_and_not_after_a_stop() -> None:
    """A stop that comes before the run is not forgotten; a second run would start elsewhere."""
    arm = standing(0.0)
    with arm:
        stopped = Replay(Rig(arm, PLANAR), planned(arm))
        stopped.stop()
        with pytest.raises(InputError, match="before it began"):
            stopped.run()
        assert arm.sent == []
        job = Replay(Rig(arm, PLANAR), planned(arm))
        job.run(watch=lambda sample: job.stop(at_once=True))
        with pytest.raises(InputError, match="has run"):
            job.run()


def test_an_arm_that_strays_is_stopped_and_named() -> None:
    """A payload that nobody told of pulls it away: aborted with joint, distance and instant."""
    arm = standing(0.0, payload=PLANAR.with_payload(4.0, link=PLANAR.tree.leaves[0]))
    with arm:
        report = Replay(Rig(arm, PLANAR), planned(arm), bound=0.05).run()
    assert report.outcome == "aborted"
    assert "was 0.05" in report.reason and "joint '" in report.reason
    assert report.run is not None and report.run.stop == "zero" and arm.stopped


def test_faults_leave_a_report() -> None:
    """A sensor that fails in mid-path ends in the loop's own error; what was recorded before is there."""

    class Failing(IdealArm):
        def read(self) -> Sample:
            sample = super().read()
            if self.time > 1.5:
                sample.q[0] = np.nan
            return sample

    arm = Failing(PLANAR, dt=2e-3, q=MIDDLE)
    with arm:
        job = Replay(Rig(arm, PLANAR), planned(arm))  # type: ignore[arg-type]
        with pytest.raises(SensorFaultError):
            job.run()
    assert job.report is not None and job.report.outcome == "aborted"
    assert "Q_INVALID" in job.report.reason
    assert len(job.report.trace.time) > 100


def test_ctrl_c_ends_in_the_safe_stop_with_a_report() -> None:
    """What was recorded is there, and the arm is stopped."""
    arm = standing(0.0)

    def watch(sample: Sample) -> None:
        if sample.time > 1.5:
            raise KeyboardInterrupt

    with arm:
        job = Replay(Rig(arm, PLANAR), planned(arm))
        with pytest.raises(KeyboardInterrupt):
            job.run(watch=watch)
        assert arm.stopped
    assert job.report is not None and job.report.outcome == "stopped" and len(job.report.trace.time) > 100


def test_a_plant_that_adds_gravity_gets_pd_alone() -> None:
    """Compensated twice, the arm would be thrown up."""
    arm = standing()
    arm.adds_gravity = True
    with arm:
        assert Replay(Rig(arm, PLANAR), planned(arm)).law_name == "pd"


@pytest.mark.parametrize(("name", "speed"), [("wam7", 1.0), ("puma550", 0.5)])
def test_gravity_makes_the_largest_tip_error_three_times_smaller(name: str, speed: float) -> None:
    """On a simulated arm with friction, gears and encoders, with the same gains; measured and true positions agree."""
    pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    from counterpoise.plants import preset

    made = preset(name)
    robot, largest = made.robot(), {}
    for law in ("pd-gravity", "pd"):
        arm = made.arm(seed=1)
        with arm:
            q = arm.read().q
            time = np.linspace(0.0, 2.0, 201)
            part = time / 2.0
            eased = part**3 * (10.0 - 15.0 * part + 6.0 * part**2)
            shift = np.zeros(robot.n)
            shift[[1, 2, 3]] = 0.15, 0.15, -0.15
            taught = TaughtPath.of(robot, time, q + eased[:, None] * shift, name="reach")
            plan = plan_replay(robot, taught, speed, start=q, plant=arm, settings=PlanSettings())
            report = Replay(Rig(arm, robot), plan, law=law).run()  # type: ignore[arg-type]
        assert report.outcome == "completed"
        largest[law] = report.tips[0].largest
    assert largest["pd"] > 3.0 * largest["pd-gravity"]


def test_a_resume_at_the_same_moment_does_not_undo_a_stop() -> None:
    """Another thread may pass resume()'s look at the stop just before it comes: what it does then is of no effect."""
    arm = standing(0.0)
    with arm:
        job = Replay(Rig(arm, PLANAR), planned(arm))

        def watch(sample: Sample) -> None:
            if sample.time > 1.5 and not job.paused:
                job.stop()
                job._playback.paused = False  # what a resume() that had looked before would do

        report = job.run(watch=watch)
    assert report.outcome == "stopped" and report.trace.time[-1] < 2.0


def test_stopped_at_once_between_look_and_start() -> None:
    """There is no run yet that could be told; the first sample ends it."""
    arm = standing(0.3)
    with arm:
        plan = planned(arm)
        job = Replay(Rig(arm, PLANAR), plan)
        reset = job._playback.reset

        def stopped(q: np.ndarray) -> None:
            job.stop(at_once=True)
            reset(q)

        job._playback.reset = stopped  # type: ignore[method-assign]
        report = job.run()
    assert report.outcome == "stopped" and job._playback.plan_time == 0.0


def test_paused_before_it_runs_it_holds_the_arm_where_it_stands() -> None:
    """Whatever its pause time: the plan's time does not begin to run."""
    arm = standing(0.3)
    with arm:
        slow = replace(planned(arm), pause_time=3.0)
        job = Replay(Rig(arm, PLANAR), slow)
        job.pause()
        report = job.run(watch=lambda sample: job.stop() if sample.time > 4.0 else None)
        assert job._playback.plan_time == 0.0 and report.outcome == "stopped"
    assert report.held == pytest.approx(4.0, abs=0.01) and report.approach_largest < 1e-3  # it stood all the time


def test_a_plant_that_cannot_be_read_is_our_error() -> None:
    """Nothing was sent."""
    arm = standing(0.0)
    with arm:
        job = Replay(Rig(arm, PLANAR), planned(arm))

        def unplugged() -> Sample:
            raise OSError("unplugged")

        arm.read = unplugged  # type: ignore[method-assign]
        with pytest.raises(PlantError, match=r"unplugged.*Nothing was moved"):
            job.run()
    assert arm.sent == []
