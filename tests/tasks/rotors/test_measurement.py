"""Measuring what joints move: on an arm that shares no code with ours, and on a preset whose rotors are hidden."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from counterpoise.control import Gains, Gravity
from counterpoise.dynamics import joint_inertias
from counterpoise.errors import InputError, SafetyError
from counterpoise.identification import PosePlan
from counterpoise.recording import Sample
from counterpoise.tasks import FloatSettings, Rig
from counterpoise.tasks.float.floating import Floating
from counterpoise.tasks.pose_recording import Recording
from counterpoise.tasks.rotors.measurement import (
    InertiaMeasurement,
    JointInertia,
    measure_inertias,
    measured_on,
    unknown_rotors,
)
from library.two_link_arm import TwoLinkArm, two_links

FRICTION = (2.0, 0.6)
TICK_SLACK = 0.004
"""What a joint may go beyond the 0.02 rad of a pulse: a tick at the speed at which it is stopped, and a count [rad]."""


def quiet(_: str) -> None:
    """Announce nothing."""


def measured(folder: Path, rotor: tuple[float, float], **changes: float) -> tuple[TwoLinkArm, InertiaMeasurement]:
    arm, model = TwoLinkArm(rotor, FRICTION, **changes), two_links(folder)
    with arm:
        return arm, measure_inertias(Rig(arm, model, announce=quiet))


@pytest.mark.parametrize("rotor", [(0.3, 0.06), (2.0, 0.5)])
def test_an_arm_of_another_kind_is_measured(tmp_path: Path, rotor: tuple[float, float]) -> None:
    """Both inertias lie in their bands, the bands are of use, and no joint went far or fast."""
    arm, found = measured(tmp_path, rotor)
    true = np.diag(arm.mass(np.array([0.6, 0.5])))
    for joint, inertia in zip(found.joints, true, strict=True):
        assert joint.measured, joint.reason
        assert joint.low <= inertia <= joint.high
        assert joint.high < 1.5 * joint.low
        assert joint.travel <= 0.02 + TICK_SLACK
    assert np.all(arm.top < 0.3)
    assert arm.ended


def test_the_arm_is_at_rest_when_the_measurement_is_over(tmp_path: Path) -> None:
    """The last pulse leaves a joint moving and a torque that braked it: what comes next must not begin with either."""
    arm, model = TwoLinkArm((0.3, 0.06), FRICTION), two_links(tmp_path)
    rig = Rig(arm, model, announce=quiet)
    loop = rig.loop(Gravity(model))
    with arm:
        assert measured_on(loop, rig, ["joint2"]) is not None
        beyond = arm.read().tau - model.gravity(arm.q)
        assert np.all(np.abs(arm.dq) < 1e-3)
        assert abs(beyond[1]) < 0.8 * FRICTION[1]
        loop.run(0.0)


def test_a_coarse_encoder_is_not_measured_and_named(tmp_path: Path) -> None:
    """Steps of 2 mrad: both joints keep their soft gains, with the reason."""
    _, found = measured(tmp_path, (0.3, 0.06), count=2e-3)
    assert found.unmeasured == ("joint1", "joint2")
    assert all("encoder is too coarse" in reason for reason in found.reasons)
    gains = found.gains([np.zeros(2)], np.array([80.0, 30.0]), 2e-3)
    assert gains.reach is not None and np.all(gains.ki == 0.0)
    assert gains.kp * gains.reach == pytest.approx(0.2 * gains.kd)


def test_a_joint_that_does_not_move_is_named(tmp_path: Path) -> None:
    """Friction beyond the largest pulse."""
    arm = TwoLinkArm((0.3, 0.06), (30.0, 0.6))
    with arm:
        found = measure_inertias(Rig(arm, two_links(tmp_path), announce=quiet), joints=["joint1"])
    assert "does not move it" in found.joints[0].reason
    assert np.all(arm.furthest < 1e-6)


def test_the_pulses_are_announced_before_the_first(tmp_path: Path) -> None:
    """By a warning unless told otherwise, while nothing has moved yet."""
    arm, model, told = TwoLinkArm((0.3, 0.06), FRICTION), two_links(tmp_path), []
    with arm:
        measure_inertias(Rig(arm, model, announce=lambda text: told.append((text, arm.time))), joints=["joint2"])
    assert len(told) == 1 and told[0][1] == 0.0
    assert "joint2" in told[0][0] and "0.02 rad" in told[0][0]
    arm = TwoLinkArm((0.3, 0.06), FRICTION)
    with arm, pytest.warns(UserWarning, match="torque pulses"):
        measure_inertias(Rig(arm, model), joints=["joint2"])


def test_recording_measures_first_and_then_creeps(tmp_path: Path) -> None:
    """A URDF arm with rotors four times as heavy as its links: no joint is fast, every approach arrives."""
    arm, model = TwoLinkArm((4.0, 0.5), FRICTION), two_links(tmp_path)
    plan = PosePlan.of(model, [[0.55, 0.6]], dwell=0.3, settle=0.5)
    with arm:
        recording = Recording(Rig(arm, model, announce=quiet), plan)
        assert recording.measures == ("joint1", "joint2")
        log = recording.run()
    assert np.all(arm.top < 0.5)
    found = recording.measurement
    assert found is not None and not found.unmeasured
    assert log.declared.notes["inertias"]["option"] == found.option
    assert recording.gains.reach is None
    for window in log.declared.notes["plan"]["windows"]:
        part = log.slice(log.time[0] + window["begin"], log.time[0] + window["end"])
        assert np.max(np.abs(part.q - plan.poses[0])) < 0.03
        assert np.max(np.abs(part.dq)) < 0.06


def test_without_the_measurement_the_arm_is_driven_softly(tmp_path: Path) -> None:
    """Asked not to pulse: nothing is announced, there is no integral, and the arm is never fast."""
    arm, model = TwoLinkArm((4.0, 0.5), FRICTION), two_links(tmp_path)
    plan = PosePlan.of(model, [[0.55, 0.6]], dwell=0.1, settle=0.2)
    told: list[str] = []
    with arm:
        recording = Recording(Rig(arm, model, measure_rotors=False, announce=told.append), plan)
        recording.run()
    assert told == [] and recording.measurement is None
    assert np.all(recording.gains.ki == 0.0) and recording.gains.reach is not None
    assert np.all(arm.top < 0.5)


def test_unknown_rotors_make_a_recording_gentle(tmp_path: Path) -> None:
    """Travel is slower, and the arm stands with less damping; neither with known rotors nor with gains of one's own."""
    model = two_links(tmp_path)
    plan = PosePlan.of(model, [[0.45, 0.65]], dwell=0.3, settle=0.2)
    own = Gains(np.full(2, 50.0), np.zeros(2), np.full(2, 5.0))
    start = np.array([0.6, 0.5])
    shares, durations = [], []
    for robot, gains in ((model, None), (model, own), (model.with_rotor_inertia([0.3, 0.06]), None)):
        recording = Recording(Rig(TwoLinkArm((0.3, 0.06), FRICTION), robot, announce=quiet), plan, gains=gains)
        recording.reference.reset(start)
        durations.append(recording.reference.duration)
        (pid, _), moving = recording._laws(np.array([80.0, 30.0])), np.array([0.5, 0.5])
        moment = recording.reference.windows[0].begin + 0.1
        at_rest = Sample(0.0, start, np.zeros(2), np.zeros(2))
        pid.reset(at_rest)
        pid.torque(at_rest, 0.0)
        still = pid.torque(at_rest, moment).copy()
        damped = pid.torque(Sample(moment, start, moving, np.zeros(2)), moment) - still
        shares.append(float((-damped / (recording.gains.kd * moving))[0]))
    assert shares == pytest.approx([0.25, 1.0, 1.0])
    assert durations[0] > durations[1] + 1.0 and durations[1] == pytest.approx(durations[2])


def test_stated_rotors_are_not_measured(tmp_path: Path) -> None:
    """Nothing is pulsed where the model knows."""
    arm, model = TwoLinkArm((0.3, 0.06), FRICTION), two_links(tmp_path).with_rotor_inertia([0.3, 0.06])
    assert unknown_rotors(model) == ()
    with arm, pytest.raises(InputError, match="knows every rotor"):
        measure_inertias(Rig(arm, model, announce=quiet))
    assert Recording(Rig(arm, model), PosePlan.of(model, [[0.55, 0.6]])).measures == ()


def test_floating_measures_first(tmp_path: Path) -> None:
    """The report has what was found, and the law is made for it; locked joints are not pulsed."""
    arm, model = TwoLinkArm((4.0, 0.5), FRICTION), two_links(tmp_path)
    with arm:
        floating = Floating(Rig(arm, model, announce=quiet), FloatSettings(locked=("joint1",)))
        report = floating.run(0.5)
    assert report.inertias is not None
    assert [joint.joint for joint in report.inertias.joints] == ["joint2"]
    assert floating.law is not None and floating.law.robot.rotor_inertia_known.tolist() == [False, True]
    assert np.all(arm.top < 0.5)
    assert report.as_data()["inertias"]["joints"][0]["joint"] == "joint2"


def entry(**changes: object) -> JointInertia:
    """Return an entry of joint1: 1.0 of which the links are 0.4."""
    values = {"inertia": 1.0, "low": 0.9, "high": 1.1, "links": 0.4, "reason": ""} | changes
    return JointInertia(joint="joint1", unit="kg m²", pulses=8, torque=1.0, travel=0.01, **values)  # type: ignore[arg-type]


def test_damping_follows_the_lower_bound_and_the_integral_the_upper(tmp_path: Path) -> None:
    """A wider band gives less of both; a rotor that is lost beside the links gives an eighth of the damping."""
    model, limit = two_links(tmp_path).with_rotor_inertia({"joint2": 0.1}), np.array([80.0, 30.0])

    def gains_of(joint: JointInertia) -> tuple[float, float, float]:
        found = InertiaMeasurement(model, (joint,), np.ones(2), 1.0)
        gains = found.gains([np.array([0.6, 0.5])], limit, 2e-3)
        return float(gains.kp[0]), float(gains.ki[0]), float(gains.kd[0])

    tight, low, high = gains_of(entry()), gains_of(entry(low=0.7)), gains_of(entry(high=2.0))
    assert low[0] < tight[0] and low[2] < tight[2]
    assert high[0] == tight[0] and high[2] == tight[2] and high[1] < 0.7 * tight[1]
    lost = entry(links=0.95)
    assert not lost.resolved and lost.rotor_low == 0.0
    assert InertiaMeasurement(model, (lost,), np.ones(2), 1.0).softer.tolist() == [0.125, 1.0]


def test_a_preset_with_hidden_rotors_is_recorded_calmly() -> None:
    """The PUMA's wrist, whose rotors outweigh its links by a hundred: 5.5 rad/s with the gains of its links alone."""
    pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    from counterpoise.plants import preset

    made = preset("puma550")
    robot = made.robot()
    wrist = robot.joint_names[3:]
    model, plant = robot.with_rotor_inertia(dict.fromkeys(wrist)), made.arm(seed=5)
    away = np.array([0.0, 0.02, 0.02, 0.05, -0.05, 0.05])
    plan = PosePlan.of(model, [np.asarray(made.config.position) + away], dwell=0.2)
    with plant:
        recording = Recording(Rig(plant, model, announce=quiet), plan)
        log = recording.run()
    assert np.abs(log.dq).max() < 0.5
    found = recording.measurement
    assert found is not None and not found.unmeasured
    inside = [
        joint.low <= joint.links + robot.rotor_inertia[robot.joint_names.index(joint.joint)] <= joint.high
        for joint in found.joints
    ]
    assert sum(inside) >= 2


@pytest.mark.parametrize("over", [0.5, 1.3])
def test_a_growing_swing_ends_the_run_before_the_speed_limit(tmp_path: Path, over: float) -> None:
    """An integral beyond K_p K_d / J, as the links' inertia alone gave it in 0.1.0; within it the arm is recorded."""
    arm = TwoLinkArm((2.0, 0.3), (0.05, 0.02))
    model = two_links(tmp_path).with_rotor_inertia([2.0, 0.3])
    plan = PosePlan.of(model, [[0.55, 0.6]], dwell=2.0, settle=1.0)
    J = joint_inertias(model, np.array([0.6, 0.5]))
    kp, kd = 225.0 * J, 9.0 * J
    gains = Gains(kp, over * kp * kd / J, kd)
    with arm:
        recording = Recording(Rig(arm, model), plan, gains=gains, integral="all")
        if over < 1.0:
            recording.run()
        else:
            with pytest.raises(SafetyError, match="swing grows"):
                recording.run()
    assert recording.log is not None
    assert np.all(arm.top < 0.5 * arm.velocity_limit)


def test_a_measurement_that_is_ended_finds_nothing(tmp_path: Path) -> None:
    """Whoever ends it gets no numbers, at once, and the arm is left held."""
    arm, model = TwoLinkArm((0.3, 0.06), FRICTION), two_links(tmp_path)
    rig = Rig(arm, model, announce=quiet)
    loop = rig.loop(Gravity(model))
    with arm:
        asked: list[float] = []

        def until(sample: Sample) -> bool:
            asked.append(sample.time)
            return len(asked) >= 100

        assert measured_on(loop, rig, ("joint1", "joint2"), until=until) is None
        assert len(asked) == 100 and not arm.ended


def test_a_joint_that_creeps_away_does_not_swing(tmp_path: Path) -> None:
    """Its gains are left as they are: they are not what moves it. It is told that the arm does not come to rest."""

    class Creeping(TwoLinkArm):
        def read(self) -> Sample:
            seen = super().read()
            way = np.array([0.0, 0.012])
            return replace(seen, q=seen.q + way * seen.time, dq=seen.dq + way)

    arm, model = Creeping((0.3, 0.06), FRICTION), two_links(tmp_path)
    rig = Rig(arm, model, announce=quiet)
    with arm:
        found = measured_on(rig.loop(Gravity(model)), rig, ("joint1",))
    assert found is not None and "joint 'joint2' does not come to rest" in found.joints[0].reason
    assert np.all(found.share == 1.0)
