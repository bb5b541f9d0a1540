"""Hand-guiding an arm without torque mode: it goes where the hand leads, stands otherwise, and stops when blind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import counterpoise as cp
from counterpoise.control import WristFeedback
from counterpoise.errors import InputError
from counterpoise.tasks.hand_guiding import Admittance, AdmittanceSettings, JointCommand, MotionBounds
from library.position_servo import Hand, IndustrialArm
from library.wrist_stand_in import reading_of, wrist_calibration

ROBOT = cp.load("puma560")
PERIOD = 8e-3
Q = np.array([0.3, 0.7, -2.8, 0.2, 0.9, 0.1])
CALIBRATION = wrist_calibration(ROBOT, "link6", mass=1.2, com=np.array([0.01, 0.0, 0.07]))
FREE = np.zeros(3)


class Guided:
    """An industrial arm, a hand and a wrist sensor with tool, zero and noise."""

    def __init__(self, q: Any = Q, hand: Hand | None = None, *, noise: float = 0.2) -> None:
        self.arm = IndustrialArm(ROBOT, q, dt=PERIOD)
        self.hand, self.time = hand, 0.0
        self._noise, self._random = noise, np.random.default_rng(1)
        self.broken = False
        self.push = FREE
        self.guide = Admittance(ROBOT, WristFeedback(CALIBRATION, self.read), PERIOD)
        self.guide.reset(self.arm.q)
        self.commands: list[JointCommand] = []
        self.tips: list[np.ndarray] = []

    def read(self) -> Any:
        if self.broken:
            return None
        tip = self.arm.tip[:3, 3]
        force = self.push
        if self.hand is not None:
            force = self.hand.force(self.time, tip, ROBOT.jacobian(self.arm.q)[:3] @ self.arm.dq)
        noise = self._noise * self._random.normal(size=6) * [1.0, 1.0, 1.0, 0.05, 0.05, 0.05]
        return reading_of(CALIBRATION, self.arm.q, force, tip, noise)

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds / PERIOD)):
            command = self.guide.command(self.arm.q)
            self.arm.move_to(command.q)
            self.time += PERIOD
            self.commands.append(command)
            self.tips.append(self.arm.tip[:3, 3])


def test_the_arm_goes_where_the_hand_leads_and_stays() -> None:
    """Led 0.25 m in 4 s, the tip arrives to the dead band's give, smoothly, and stands when the hand stands."""
    start = ROBOT.forward_kinematics(Q)[:3, 3]
    way = np.array([-0.1, 0.2, 0.1])
    run = Guided(hand=Hand(start, way, 4.0))
    run.run(7.0)
    assert run.guide.stopped == ""
    # At rest the hand holds at most the dead band: 2 N on a spring of 300 N/m.
    assert np.linalg.norm(run.tips[-1] - start - way) < 0.012
    settled = np.array(run.tips[-100:])
    assert np.ptp(settled, axis=0).max() < 1e-3
    speeds = np.array([command.dq for command in run.commands])
    bounds = run.guide.bounds
    assert np.all(np.abs(np.diff(speeds, axis=0)) <= bounds.acceleration * PERIOD * (1 + 1e-9))
    # No oscillation between hand and arm: the way to the goal is never much longer than it is far.
    assert np.linalg.norm(np.diff(run.tips, axis=0), axis=1).sum() < 1.2 * np.linalg.norm(way)


def test_untouched_the_arm_stands_in_spite_of_tool_zero_and_noise() -> None:
    """Without a hand nothing moves: tool and zero are removed, the noise is within the dead band."""
    run = Guided()
    run.run(3.0)
    assert np.abs(run.arm.q - Q).max() < 1e-6


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_push_moves_the_tip_its_way(axis: int, sign: float) -> None:
    """Pushed along an axis with 6 N the tip goes that way, at the speed of the virtual damper, and stops after."""
    run = Guided(noise=0.0)
    run.push = sign * 6.0 * np.eye(3)[axis]
    run.run(1.0)
    velocity = (run.tips[-1] - run.tips[-21]) / (20 * PERIOD)
    assert sign * velocity[axis] == pytest.approx((6.0 - 2.0) / 60.0, rel=0.05)
    assert np.linalg.norm(np.delete(velocity, axis)) < 0.005
    run.push = FREE
    run.run(1.5)
    assert np.linalg.norm(run.tips[-1] - run.tips[-20]) < 1e-5


def test_a_wild_pull_stays_within_speeds_and_limits() -> None:
    """Pulled with 500 N the arm runs into its limits at bounded speed and stops short of them."""
    run = Guided(noise=0.0)
    run.push = np.array([300.0, -400.0, 200.0])
    run.run(6.0)
    commands = np.array([command.q for command in run.commands])
    bounds = run.guide.bounds
    assert np.all(commands <= bounds.upper + 1e-9)
    assert np.all(commands >= bounds.lower - 1e-9)
    assert np.all(np.abs([command.dq for command in run.commands]) <= bounds.speed * (1 + 1e-9))
    tips = np.linalg.norm(np.diff(run.tips, axis=0), axis=1) / PERIOD
    assert tips.max() < 0.3


@settings(max_examples=10)
@given(st.sampled_from(["puma560", "wam7", "scara"]), st.integers(0, 10_000))
@example("puma560", 839)  # joints that balance each other, one of them near its limit
@example("wam7", 1050)
def test_any_hand_stays_within_every_bound(name: str, seed: int) -> None:
    """Random pulls from random poses: joints within speed, acceleration and place, the tip within speed and turn."""
    rng = np.random.default_rng(seed)
    robot = cp.load(name)
    leaf = robot.link_names[-1]
    calibration = wrist_calibration(robot, leaf)
    bounds = MotionBounds(robot, PERIOD, speed=1.0)
    q = rng.uniform(np.maximum(bounds.lower, -3.0), np.minimum(bounds.upper, 3.0))
    hand = np.zeros(6)

    def read() -> np.ndarray:
        R = robot.forward_kinematics(q, at=leaf)[:3, :3]
        return calibration.bias + np.concatenate([R.T @ hand[:3], R.T @ hand[3:]])

    guide = Admittance(robot, WristFeedback(calibration, read), PERIOD, bounds=bounds)
    guide.reset(q)
    dq = np.zeros(robot.n)
    for tick in range(150):
        if tick % 25 == 0:
            hand = rng.normal(size=6) * [60.0, 60.0, 60.0, 8.0, 8.0, 8.0]
        before, (q, dq) = dq, guide.command(q)
        assert np.all(np.abs(dq) <= bounds.speed * (1 + 1e-9))
        assert np.all(np.abs(dq - before) <= bounds.acceleration * PERIOD * (1 + 1e-9))
        assert np.all((q <= bounds.upper + 1e-9) & (q >= bounds.lower - 1e-9))
        # A little more while a joint brakes for its limit: joints are braked no faster than they may be.
        twist = robot.jacobian(q, at=leaf) @ dq
        assert np.linalg.norm(twist[:3]) <= 0.25 * 1.1
        assert np.linalg.norm(twist[3:]) <= 0.8 * 1.1
    assert guide.stopped == ""


def test_a_load_in_the_gripper_is_no_hand() -> None:
    """Told of the load, the guide does not sink under it; not told, it does."""
    loaded = ROBOT.with_payload(1.5, com=(0.0, 0.02, 0.1))
    T = ROBOT.forward_kinematics(Q)
    weight, point = 1.5 * ROBOT.gravity_base, T[:3, 3] + T[:3, :3] @ [0.0, 0.02, 0.1]
    feedback = WristFeedback(CALIBRATION, lambda: reading_of(CALIBRATION, Q, weight, point))
    for source, moves in ((feedback, True), (feedback.carrying(ROBOT, loaded), False)):
        guide = Admittance(ROBOT, source, PERIOD)
        guide.reset(Q)
        command = guide.command(Q)
        assert (np.abs(command.dq).max() > 1e-3) == moves


def test_stretched_out_the_speeds_stay_finite() -> None:
    """At the elbow's singularity a push outwards gives no burst of speed."""
    q = np.array([0.0, 0.3, -1.5, 0.0, 0.0, 0.0])
    run = Guided(q=q, noise=0.0)
    outward = run.arm.tip[:3, 3] - ROBOT.forward_kinematics(q, at="link2")[:3, 3]
    run.push = 30.0 * outward / np.linalg.norm(outward)
    run.run(2.0)
    speeds = np.abs([command.dq for command in run.commands])
    assert np.isfinite(speeds).all()
    assert np.all(speeds <= run.guide.bounds.speed * (1 + 1e-9))


def test_a_sensor_that_dies_is_bridged_then_the_arm_stops_and_stays_stopped() -> None:
    """A gap of a few readings changes nothing; a longer one brakes at the bounded acceleration, until the reset."""
    run = Guided(noise=0.0)
    run.push = np.array([0.0, 15.0, 0.0])
    run.run(1.0)
    before = run.commands[-1].dq
    run.broken = True
    run.run(3 * PERIOD)
    assert run.guide.stopped == ""
    np.testing.assert_allclose(run.commands[-1].dq, before, atol=0.02)
    run.run(1.0)
    assert "wrist sensor" in run.guide.stopped
    np.testing.assert_array_equal(run.commands[-1].dq, 0.0)
    run.broken = False
    run.run(0.5)
    np.testing.assert_array_equal(run.commands[-1].dq, 0.0)
    run.guide.reset(run.arm.q)
    run.run(0.5)
    assert np.abs(run.commands[-1].dq).max() > 0.01


def test_bad_positions_are_bridged_then_stop() -> None:
    """NaN positions are stood in for by the last good ones for a few ticks."""
    run = Guided(noise=0.0)
    run.push = np.array([0.0, 15.0, 0.0])
    run.run(0.5)
    for tick in range(40):
        command = run.guide.command(np.full(6, np.nan))
        assert np.isfinite(command.q).all()
        assert (run.guide.stopped == "") == (tick < 5)
    np.testing.assert_array_equal(command.dq, 0.0)


def test_an_arm_that_does_not_follow_is_not_led_on() -> None:
    """When the joints stay where they are, the command stops running ahead and the joint is named."""
    run = Guided(noise=0.0)
    run.push = np.array([0.0, 15.0, 0.0])
    for _ in range(600):
        command = run.guide.command(Q)
    assert "does not follow" in run.guide.stopped
    assert "joint" in run.guide.stopped
    assert np.abs(command.q - Q).max() < 0.15
    np.testing.assert_array_equal(command.dq, 0.0)


@pytest.mark.parametrize(
    "settings", [{"mass": np.zeros(6)}, {"damping": -np.ones(6)}, {"force_band": -1.0}, {"tip_speed": 0.0}]
)
def test_settings_without_a_meaning_are_refused(settings: dict[str, Any]) -> None:
    """Before there is a guide."""
    with pytest.raises(InputError, match=next(iter(settings))):
        AdmittanceSettings(**settings)


@pytest.mark.parametrize(
    "arguments",
    [
        {"at": "gripper"},
        {"bounds": MotionBounds(ROBOT, 1e-3)},
        {"feedback": None},
    ],
)
def test_arguments_without_a_meaning_are_refused(arguments: dict[str, Any]) -> None:
    """Every argument is checked when the guide is made; nothing moves before the first reset."""
    feedback = WristFeedback(CALIBRATION, lambda: None)
    with pytest.raises(InputError):
        Admittance(ROBOT, **({"feedback": feedback, "dt": PERIOD} | arguments))
    idle = Admittance(ROBOT, feedback, PERIOD)
    assert idle.stopped == "not reset"
    with pytest.raises(InputError, match="not reset"):
        idle.command(Q)
    with pytest.raises(InputError):
        idle.reset(np.full(6, np.nan))
