"""Pick and place: the load comes and goes without a jump of torque, and the arm droops no more than is said."""

from __future__ import annotations

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.control.friction import FrictionCompensation
from counterpoise.control.gravity import Gravity, PDGravity
from counterpoise.control.loop import ControlLoop
from counterpoise.control.tip.impedance import Impedance
from counterpoise.control.tip.load_switch import LoadSwitch, Reloadable, droop_bound
from counterpoise.control.tip.tip_wrench import TipWrench
from counterpoise.dynamics import CoulombViscous
from counterpoise.errors import InputError
from counterpoise.recording import Sample
from library.ideal_arm import IdealArm

ROBOT = cp.load("puma560")
Q = np.array([0.2, 0.3, -2.6, 0.1, 0.6, 0.3])
KP = np.array([2000.0, 3000.0, 1500.0, 150.0, 150.0, 60.0])
KD = np.array([120.0, 160.0, 60.0, 3.0, 3.0, 0.6])
MASS, COM = 2.0, (0.0, 0.0, 0.08)
LOADED = ROBOT.with_payload(MASS, com=COM)


def test_laws_that_can_change_their_load() -> None:
    """Those with a model can; others are refused by name."""
    for law in (Gravity(ROBOT), PDGravity(ROBOT, KP, KD), Impedance(ROBOT, np.ones(6)), TipWrench(ROBOT, np.ones(6))):
        assert isinstance(law, Reloadable)
    other = FrictionCompensation(CoulombViscous(np.ones(6), np.ones(6)), np.ones(6))
    loop = ControlLoop(IdealArm(ROBOT), other, ROBOT)
    with pytest.raises(InputError, match="FrictionCompensation cannot change its payload"):
        LoadSwitch(loop, other, ROBOT)  # type: ignore[arg-type]


@pytest.mark.parametrize("over", [0.02, 0.1, 0.5])
def test_pick_and_place_is_bumpless_and_droops_within_its_bound(over: float) -> None:
    """Grasped and released at once in the plant: torque moves by small steps, the tip by less than X.

    X is the static droop of the position loop alone under the whole load, 5.9 mm here, and a tenth for its overshoot.
    """
    plant = IdealArm(ROBOT, q=Q)
    law = PDGravity(ROBOT, KP, KD)
    loop = ControlLoop(plant, law, ROBOT)
    load = LoadSwitch(loop, law, ROBOT, over=over)
    tips: list[np.ndarray] = []

    def work(now: Sample) -> bool:
        tick = len(tips)
        tips.append(ROBOT.forward_kinematics(plant.q)[:3, 3])
        if tick == 1000:
            plant.truth = LOADED
            assert load.grasp(MASS, com=COM).total_mass == pytest.approx(LOADED.total_mass)
        elif tick == 2500:
            plant.truth = ROBOT
            assert load.release() is ROBOT
        return False

    with plant:
        loop.run(4.0, until=work)
    joint, bound = droop_bound(ROBOT, LOADED, Q, KP)
    assert 0.005 < bound < 0.05
    assert joint.shape == (6,)
    way = np.linalg.norm(np.array(tips) - tips[0], axis=1)
    assert way.max() < 1.1 * bound
    if over <= 0.02:
        assert way.max() < 0.25 * bound
    assert way[2490] < 0.02 * bound
    assert way[-1] < 0.02 * bound
    steps = np.abs(np.diff(plant.sent[500:4000], axis=0))
    weight = np.abs(LOADED.gravity(Q) - ROBOT.gravity(Q)).max()
    # 1.5 is the steepest slope of the passage, s = σ²(3 − 2σ); the rest is the position loop's answer to the droop.
    assert steps.max() < 1.5 * weight * plant.dt / over + 0.03 * weight


def test_loads_add_up_and_go_together() -> None:
    """A second load joins the first; releasing takes both."""
    law = Gravity(ROBOT)
    load = LoadSwitch(ControlLoop(IdealArm(ROBOT), law, ROBOT), law, ROBOT)
    load.grasp(1.0)
    assert load.grasp(0.5).total_mass == pytest.approx(ROBOT.total_mass + 1.5)
    assert load.law.robot is load.robot  # type: ignore[attr-defined]
    assert load.release() is ROBOT


def test_other_laws_go_on() -> None:
    """Friction compensation beside the law stays in force through a passage, and is not blended."""
    plant = IdealArm(ROBOT, q=Q)
    law, other = PDGravity(ROBOT, KP, KD), FrictionCompensation(CoulombViscous(np.ones(6), np.ones(6)), np.ones(6))
    loop = ControlLoop(plant, [law, other], ROBOT)
    load = LoadSwitch(loop, law, ROBOT, besides=[other])

    def work(now: Sample) -> bool:
        if now.time == 0.0:
            load.grasp(MASS, com=COM)
        return False

    with plant:
        report = loop.run(0.2, until=work)
    assert [event.message for event in report.events if event.kind == "switched"] == [
        "to PDGravity, FrictionCompensation over 0.1 s"
    ]


def test_the_droop_is_that_of_the_stiffness() -> None:
    """Twice as stiff droops half as far; no stiffness is refused."""
    once, twice, soft = (droop_bound(ROBOT, LOADED, Q, factor * KP)[1] for factor in (1.0, 2.0, 1e-3))
    assert once == pytest.approx(2.0 * twice)
    assert once == pytest.approx(1e-3 * soft)
    with pytest.raises(InputError, match="above 0"):
        droop_bound(ROBOT, LOADED, Q, 0.0 * KP)
