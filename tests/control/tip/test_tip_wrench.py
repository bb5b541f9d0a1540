"""A constant wrench at the tip: virtual work, frames, ramp, bounds, and the wrist sensor's slow correction."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import counterpoise as cp
from counterpoise.control.law import Law, LimitAware, Reporting
from counterpoise.control.loop import ControlLoop
from counterpoise.control.tip.tip_wrench import INTEGRAL_SHARE, TipWrench
from counterpoise.control.tip.wrist_feedback import WristFeedback
from counterpoise.errors import InputError
from counterpoise.plants import ArmConfig, Push, SimulatedArm, Surface, Timing
from counterpoise.recording import Sample
from library.wrist_stand_in import WristOf, wrist_calibration

ROBOT = cp.load("puma560")
RNG = np.random.default_rng(3)
WRENCH = np.array([3.0, -4.0, 10.0, 0.5, -0.2, 0.4])
REST = np.zeros(6)


def sample(q: Any, dq: Any = REST) -> Sample:
    return Sample(0.0, np.array(q, dtype=float), np.array(dq, dtype=float), np.zeros(6))


def ramped(law: TipWrench, q: Any, dq: Any = REST) -> np.ndarray:
    law.reset(sample(q))
    law.torque(sample(q), 0.0)
    return law.torque(sample(q, dq), 100.0)


def test_it_keeps_the_protocol() -> None:
    """A law that listens to the filter, reports, and says who adds gravity."""
    law = TipWrench(ROBOT, WRENCH)
    assert isinstance(law, Law)
    assert isinstance(law, LimitAware)
    assert isinstance(law, Reporting)
    assert law.adds_gravity
    assert not TipWrench(ROBOT, WRENCH, gravity=False).adds_gravity


@pytest.mark.parametrize("seed", range(4))
def test_virtual_work(seed: int) -> None:
    """For every small motion, the work of the torques beyond gravity is that of the wrench at the tip."""
    rng = np.random.default_rng(seed)
    q, dq = rng.uniform(-1.0, 1.0, 6), rng.uniform(-1.0, 1.0, 6)
    tau = ramped(TipWrench(ROBOT, WRENCH, damping=0.0), q) - ROBOT.gravity(q)
    assert tau @ dq == pytest.approx(WRENCH @ (ROBOT.jacobian(q) @ dq), rel=1e-9)


def test_tip_axes_turn_with_the_link() -> None:
    """A wrench in the tip's axes is the base's, turned."""
    q = RNG.uniform(-1.0, 1.0, 6)
    R = ROBOT.forward_kinematics(q)[:3, :3]
    turned = np.concatenate([R @ WRENCH[:3], R @ WRENCH[3:]])
    tip, base = TipWrench(ROBOT, WRENCH, frame="tip"), TipWrench(ROBOT, turned)
    np.testing.assert_allclose(ramped(tip, q), ramped(base, q), atol=1e-12)


def test_it_ramps_in_and_damps() -> None:
    """It starts with gravity alone, never falls back while ramping, and takes D dq away."""
    q, dq = RNG.uniform(-1.0, 1.0, 6), RNG.uniform(-0.5, 0.5, 6)
    law = TipWrench(ROBOT, WRENCH, damping=2.0, over=0.5)
    law.reset(sample(q))
    shares = [
        (law.torque(sample(q), t) - ROBOT.gravity(q)) / (ROBOT.jacobian(q).T @ WRENCH) for t in np.linspace(0, 1, 51)
    ]
    np.testing.assert_allclose(shares[0], 0.0, atol=1e-12)
    assert np.all(np.diff(np.array(shares)[:, 0]) >= -1e-12)
    assert np.abs(np.diff(np.array(shares)[:, 0])).max() < 0.07
    np.testing.assert_allclose(law.torque(sample(q, dq), 1.0), law.torque(sample(q), 1.0) - 2.0 * dq, atol=1e-12)


def test_a_wrench_beyond_the_joints_is_scaled_as_a_whole() -> None:
    """The direction stays, the joint that would exceed its bound is at it."""
    q = RNG.uniform(-1.0, 1.0, 6)
    law = TipWrench(ROBOT, 1e4 * WRENCH, damping=0.0)
    tau = ramped(law, q) - ROBOT.gravity(q)
    assert 0.0 < law.scale < 1.0
    assert np.max(np.abs(tau) / ROBOT.effort_limit) == pytest.approx(0.5)
    np.testing.assert_allclose(tau, law.scale * 1e4 * ROBOT.wrench_torque(q, WRENCH), rtol=1e-9)


@pytest.mark.parametrize(
    "arguments",
    [
        {"wrench": np.zeros(5)},
        {"wrench": np.full(6, np.nan)},
        {"wrench": WRENCH, "at": "gripper"},
        {"wrench": WRENCH, "frame": "world"},
        {"wrench": WRENCH, "over": 0.0},
        {"wrench": WRENCH, "damping": -1.0},
        {"wrench": WRENCH, "rate": -1.0},
        {"wrench": WRENCH, "torque_limit": np.inf},
    ],
)
def test_arguments_without_a_meaning_are_refused(arguments: dict[str, Any]) -> None:
    """Every argument is checked when the law is made."""
    with pytest.raises(InputError):
        TipWrench(ROBOT, **arguments)


def test_the_integral_works_along_the_wanted_wrench_only_and_is_bounded() -> None:
    """A sensor that reads nothing along the force fills the integral up to its share; sideways forces move nothing."""
    q = np.array([0.1, 0.6, -2.4, 0.0, 0.5, 0.0])
    calibration = wrist_calibration(ROBOT, "link6")
    rotation = ROBOT.forward_kinematics(q)[:3, :3]
    sideways = calibration.bias + np.concatenate([rotation.T @ [7.0, 0.0, 0.0], np.zeros(3)])
    law = TipWrench(ROBOT, [0, 0, -20.0, 0, 0, 0], feedback=WristFeedback(calibration, lambda: sideways), rate=2.0)
    law.reset(sample(q))
    for tick in range(4000):
        law.torque(sample(q), 2e-3 * tick)
    np.testing.assert_allclose(law.integral, [0, 0, -INTEGRAL_SHARE * 20.0, 0, 0, 0], atol=1e-9)
    before = law.integral.copy()
    law.limited(np.ones(6))
    law.torque(sample(q), 9.0)
    np.testing.assert_array_equal(law.integral, before)


def test_a_lost_sensor_is_told_and_the_wrench_goes_on() -> None:
    """Without readings the integral stays where it is; the loss is reported once, and so is the return."""
    q = np.array([0.1, 0.6, -2.4, 0.0, 0.5, 0.0])
    readings: list[Any] = [None]
    law = TipWrench(
        ROBOT, [0, 0, -20.0, 0, 0, 0], feedback=WristFeedback(wrist_calibration(ROBOT, "link6"), lambda: readings[0])
    )
    law.reset(sample(q))
    for tick in range(5):
        assert np.isfinite(law.torque(sample(q), 1.0 * tick)).all()
    assert [kind for kind, _ in law.news()] == ["wrist_lost"]
    readings[0] = np.zeros(6)
    law.torque(sample(q), 5.0)
    assert [kind for kind, _ in law.news()] == ["wrist_back"]


def test_another_payload_goes_on_where_the_law_is() -> None:
    """with_robot changes the torque by the load's gravity, nothing else."""
    q = RNG.uniform(-1.0, 1.0, 6)
    law = TipWrench(ROBOT, WRENCH)
    law.reset(sample(q))
    law.torque(sample(q), 0.0)
    loaded = ROBOT.with_payload(1.0)
    other = law.with_robot(loaded)
    change = other.torque(sample(q, 0.1 * q), 0.4) - law.torque(sample(q, 0.1 * q), 0.4)
    np.testing.assert_allclose(change, loaded.gravity(q) - ROBOT.gravity(q), atol=1e-9)


def test_a_law_made_for_another_payload_before_its_start_is_damped() -> None:
    """with_robot before the first reset keeps what was asked for: the default damping is derived when it starts."""
    q = RNG.uniform(-1.0, 1.0, 6)
    loaded = ROBOT.with_payload(1.0)
    switched, made = TipWrench(ROBOT, WRENCH).with_robot(loaded), TipWrench(loaded, WRENCH)
    np.testing.assert_array_equal(ramped(switched, q, 0.1 * q), ramped(made, q, 0.1 * q))


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.floats(-1e6, 1e6), st.sampled_from(["base", "tip"]))
def test_torques_beyond_gravity_stay_within_their_bound(seed: int, speed: float, frame: Literal["base", "tip"]) -> None:
    """At any pose, at any speed, with any readings, no joint is asked for more than half its effort limit."""
    rng = np.random.default_rng(seed)
    source = WristFeedback(wrist_calibration(ROBOT, "link6"), lambda: 1e9 * rng.normal(size=6))
    law = TipWrench(ROBOT, 100.0 * rng.normal(size=6), frame=frame, feedback=source, rate=100.0)
    law.reset(sample(rng.uniform(-3.0, 3.0, 6)))
    for tick in range(4):
        q = rng.uniform(-3.0, 3.0, 6)
        tau = law.torque(sample(q, speed * rng.normal(size=6)), 0.6 * tick) - ROBOT.gravity(q)
        assert np.all(np.abs(tau) <= 0.5 * ROBOT.effort_limit * (1 + 1e-9))
        assert np.linalg.norm(law.integral[:3]) <= INTEGRAL_SHARE * np.linalg.norm(law.wrench[:3]) + 1e-9


CONTACT = """
<mujoco><option gravity="2 -3 -8.5" timestep="0.0005"/><worldbody>
<geom type="plane" size="5 5 .1" pos="{0} {1} {2}" zaxis="{3} {4} {5}" friction="0 0 0" solref="0.004 1"/>
<body name="base"><inertial pos="0 0 0" mass="1" diaginertia=".1 .1 .1"/>
<body name="slide" pos="0 0 .3" euler="20 10 0"><joint type="slide" axis="0 0 1" range="-2 2"/>
<inertial pos=".02 0 .1" mass="3" diaginertia=".05 .06 .03"/>
<body name="upper" pos="0 .1 .2" euler="0 40 10"><joint axis="0 1 0" range="-170 170"/>
<inertial pos=".1 .02 0" mass="2" diaginertia=".02 .03 .03"/>
<body name="fore" pos=".4 0 0"><joint axis="0 1 .2" range="-170 170"/>
<inertial pos=".15 0 .03" mass="1.5" diaginertia=".01 .02 .02"/>
<body name="wrist" pos=".3 0 0"><joint axis="1 0 0" range="-170 170"/>
<inertial pos=".05 .01 0" mass=".5" diaginertia=".002 .002 .002"/>
<body name="tip" pos=".1 .02 0" euler="30 0 50"><inertial pos="0 0 0" mass=".001" diaginertia="1e-6 1e-6 1e-6"/>
<geom type="sphere" size=".02" friction="0 0 0" mass="0"/></body></body></body></body></body></body>
</worldbody></mujoco>
"""


@pytest.mark.parametrize("frame", ["base", "tip"])
@pytest.mark.parametrize("normal", [(0.0, 0.0, 1.0), (0.5, -0.3, 0.8), (-1.0, 0.4, 0.2)], ids=["up", "slanted", "side"])
def test_mujocos_own_contact_feels_the_wanted_force(
    tmp_path: Path, frame: Literal["base", "tip"], normal: tuple[float, float, float]
) -> None:
    """An independent simulation with real contacts, a linear joint and tilted gravity: the plane feels 20 N."""
    mujoco = pytest.importorskip("mujoco")
    n = np.array(normal) / np.linalg.norm(normal)
    path = tmp_path / "arm.xml"
    path.write_text(CONTACT.format(0.0, 0.0, -9.0, 0.0, 0.0, 1.0))
    robot = cp.load(path)
    q = np.array([0.1, 0.5, -0.7, 0.3])
    T = robot.forward_kinematics(q, at="tip")
    model = mujoco.MjModel.from_xml_string(CONTACT.format(*(T[:3, 3] - 0.02 * n), *n))
    data = mujoco.MjData(model)
    data.qpos[:] = q
    force = -20.0 * n if frame == "base" else T[:3, :3].T @ (-20.0 * n)
    damping = [30.0, 8.0, 8.0, 1.0]
    law = TipWrench(robot, [*force, 0, 0, 0], at="tip", frame=frame, torque_limit=200.0, damping=damping, over=0.3)
    law.reset(Sample(0.0, q, np.zeros(4), np.zeros(4)))
    felt = np.zeros(6)
    for tick in range(1000):
        data.qfrc_applied[:] = law.torque(Sample(0.0, data.qpos.copy(), data.qvel.copy(), np.zeros(4)), 5e-4 * tick)
        mujoco.mj_step(model, data)
    assert data.ncon == 1
    mujoco.mj_contactForce(model, data, 0, felt)
    # In the tip's axes the force turns with the link, which slides a little: its normal part stays.
    turned = -n @ (robot.forward_kinematics(data.qpos, at="tip")[:3, :3] @ force) if frame == "tip" else 20.0
    assert felt[0] == pytest.approx(turned, rel=0.01)
    assert turned > 15.0


@pytest.mark.parametrize("feedback", [False, True], ids=["open", "wrist"])
def test_the_force_on_a_surface_is_the_wanted_one_as_a_hand_moves_the_arm(feedback: bool) -> None:
    """A frictionless arm pressed onto a table and dragged along it presses with the same force all the way."""
    pytest.importorskip("mujoco")
    q = np.array([0.3, 0.6, -2.4, 0.0, 0.5, 0.0])
    tip = ROBOT.forward_kinematics(q)[:3, 3]
    hand = Push(wrench=(0.0, 6.0, 0.0, 0.0, 0.0, 0.0), start=1.2)
    events = (Surface(origin=tip, stiffness=2e4, damping=300.0), hand)
    plant = SimulatedArm(ROBOT, ArmConfig(position=q, timing=Timing(2e-3, 5e-4), events=events))
    calibration = wrist_calibration(ROBOT, "link6")
    source = WristFeedback(calibration, WristOf(plant, calibration)) if feedback else None
    law = TipWrench(ROBOT, [0, 0, -20.0, 0, 0, 0], feedback=source, over=0.6)
    forces, places = [], []

    def watch(now: Sample) -> bool:
        if now.time > 1.2:
            forces.append(plant.touches()[0].force[2])
            places.append(ROBOT.forward_kinematics(plant.truth().q)[:3, 3])
        return False

    with plant:
        ControlLoop(plant, law, ROBOT).run(3.1, until=watch)
    assert np.linalg.norm(np.diff(places, axis=0), axis=1).sum() > 0.5
    assert np.abs(np.array(forces) / 20.0 - 1.0).max() < 0.05
