"""A load that nobody told of is held before it has moved the arm far; a hand is not taken for one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.control import ControlLoop, SafetyFilter
from counterpoise.dynamics import CoulombViscous
from counterpoise.plants import AttachPayload, SimulatedArm, preset
from counterpoise.recording import Sample
from counterpoise.tasks import FloatSettings, Rig
from counterpoise.tasks.float.check import FloatCheck
from counterpoise.tasks.float.law import BEARABLE, MOST_BORNE, FloatLaw, YieldingHold
from library.study_module import load_study

pytest.importorskip("mujoco", reason="MuJoCo is not installed")

WAM_FRICTION = CoulombViscous((0.91, 1.24, 0.75, 0.64, 0.21, 0.22, 0.04))


def test_a_light_load_at_the_tip_of_the_wam_is_held() -> None:
    """0.2 kg that come while it floats: 0.1.0 let them turn the elbow by 1 rad without a word."""
    plant = preset("wam7").arm(seed=3)
    robot = plant.robot
    safety = SafetyFilter(robot, plant=plant)
    law = FloatLaw(
        robot, FloatSettings(friction=WAM_FRICTION, friction_fraction=0.7), limits=safety.limits, dt=plant.dt
    )
    begun: list[Any] = []

    def until(sample: Sample) -> bool:
        if not begun and plant.time >= 0.7:
            begun.append(sample.q.copy())
            plant.attach_payload(AttachPayload(mass=0.2))
        return law.must_stop(sample)

    with plant:
        report = ControlLoop(plant, law, robot, safety=safety).run(3.5, until=until, then="keep")
        way = np.abs(plant.read().q - begun[0])
    assert law.holding and law.drifts == 1 and law.stop_kind == ""
    assert 0.3 < way.max() < 0.6
    told = [event.message for event in report.events if event.kind == "drift"]
    assert len(told) == 1 and "as a load of about 0." in told[0] and "held until it is pushed" in told[0]


def plain(name: str, seconds: float, load: float, hand: bool) -> tuple[FloatLaw, Any, float]:
    """Float the study's plain arm, with a hand on it or a load from 0.4 s on; return law, hand and largest way."""
    study = load_study("float_loads")
    robot, dry = preset(name).robot(), np.array(study.FRICTION[name])
    pose = np.asarray(preset(name).config.position, dtype=np.float64)
    arm = study.PlainArm(
        robot, pose, 4e-3, dry=dry, viscous=study.VISCOUS[name] * dry, gain_error=np.full(robot.n, 0.005)
    )
    law = FloatLaw(robot, FloatSettings(friction=CoulombViscous(dry), friction_fraction=0.7), dt=4e-3)
    law.reset(Sample(0.0, arm.q, arm.dq, np.zeros(robot.n)))
    grips = (study.Grip("link6", 0.3, 1200.0, 200.0),)
    led = study.RandomHand(grips, lambda link, q: robot.forward_kinematics(q, at=link), arm.q, 4, speed=0.12)
    begun, way = arm.q, 0.0
    for tick in range(round(seconds / 4e-3)):
        if load and tick == 100:
            arm.carry(load, np.zeros(3), robot.link_names[-1])
        if hand:
            arm.push(*led.wrench(arm.time, arm.q), arm.q)
        sample = Sample(arm.time, arm.q, arm.dq, np.zeros(robot.n))
        arm.tick(law.torque(sample, arm.time))
        if law.must_stop(sample):
            break
        way = max(way, float(np.abs(arm.q - begun).max()))
    return law, led, way


def test_on_another_plant_a_load_is_held_and_a_hand_is_not() -> None:
    """A plain MuJoCo arm, not of our plants: a load at the WAM's tip is held, and a hand leads the PUMA freely."""
    law, _, way = plain("wam7", 2.6, 0.3, hand=False)
    assert law.drifts == 1 and law.holding and way < 0.8
    law, led, way = plain("puma550", 12.0, 0.0, hand=True)
    assert law.drifts == 0 and law.stop_kind == "" and sum(led.strokes.values()) > 5 and way > 0.1


def test_an_even_motion_that_no_load_explains_is_held_later() -> None:
    """Joint 1 of the PUMA turns about the vertical: no weight moves it. A hand that leads it for 5 s is not stopped."""
    robot = cp.load("puma560")
    law = FloatLaw(robot, FloatSettings(friction=CoulombViscous(2.0), friction_fraction=0.5))
    here = np.array([-0.8, -0.5, 0.5, 0.1, 0.3, 0.0])
    rate = np.array([0.15, 0.0, 0.0, 0.0, 0.0, 0.0])
    held = []
    law.reset(Sample(0.0, here, np.zeros(6), np.zeros(6)))
    for tick in range(800):
        time = tick / 100
        law.torque(Sample(time, here + time * rate, rate, np.zeros(6)), time)
        if law.holding:
            held.append(time)
            break
    assert held and 5.5 < held[0] < 7.0


def test_a_hold_bears_a_load_and_stays_when_it_was_a_hand() -> None:
    """What it bears beside its spring is less than the spring may take: without the load it does not yield."""
    one = np.ones(1)
    hold = YieldingHold(100.0 * one, 5.0 * one, 2.0 * one, 0.05 * one)
    hold.catch(np.zeros(1), np.array([9.0]))
    for _ in range(100):
        tau = hold.torque(np.zeros(1), np.zeros(1), 0.01)
    assert tau is not None and tau[0] == pytest.approx(MOST_BORNE * 2.0)
    gone = MOST_BORNE * 2.0 / 100.0  # the spring's deflection that bears what was meant for the load
    tau = hold.torque(np.array([gone]), np.zeros(1), 0.01)
    assert tau is not None and abs(tau[0]) < 1e-9 and hold.holding
    assert hold.can_bear(np.array([0.99 * BEARABLE * 2.0])) and not hold.can_bear(np.array([1.01 * BEARABLE * 2.0]))


def test_the_right_wam_is_not_refused_for_a_joint_that_still_swung() -> None:
    """At this pose joint 4 was still on its way when it began to creep, and was said not to have come to rest."""
    chosen = preset("wam7")
    pose = np.array([0.187, -0.58, -0.694, 0.636, 1.018, 0.385, 0.994])
    plant = SimulatedArm(chosen.robot(), replace(chosen.config, position=pose, seed=6))
    with plant:
        result = FloatCheck(Rig(plant, chosen.robot()), FloatSettings(friction_fraction=0.0, repeats=2)).run()
    assert result is not None and result.passed, result.reasons
