"""One joint without MuJoCo: a plant like the arm's first joint."""

from __future__ import annotations

import math

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.control import Plant
from counterpoise.foundation import rotation_from_rpy, transform
from counterpoise.plants import preset
from counterpoise.plants.config import ArmConfig, Drive, Encoder, Gear, Plate, Timing
from counterpoise.plants.events import AttachPayload, Push
from counterpoise.plants.single_joint import OneLink, SingleJoint


def test_it_is_a_plant() -> None:
    """The protocol, with the link's limits."""
    plant = SingleJoint(OneLink(name="elbow", lower=-1.0, upper=2.0, effort_limit=30.0, velocity_limit=3.0))
    assert isinstance(plant, Plant)
    assert (plant.joint_names, plant.lower[0], plant.upper[0]) == (("elbow",), -1.0, 2.0)
    assert (plant.effort_limit[0], plant.velocity_limit[0], plant.plate) == (30.0, 3.0, None)
    with plant:
        assert plant.write([50.0]).tolist() == [30.0]
        assert plant.read().q.shape == (1,)
    with pytest.raises(cp.errors.PlantError):
        plant.read()


def test_rigid_joint_follows_newton() -> None:
    """J q̈ = τ − G sin(q + φ), and the plate's moment is what accelerates and carries the link."""
    config = ArmConfig(timing=Timing(dt=1e-3), encoder=Encoder(velocity="exact"), plate=Plate(), start="slack")
    with SingleJoint(OneLink(inertia=2.0, rotor_inertia=0.5, gravity=10.0, gravity_angle=0.4), config) as plant:
        plant.write([3.0])
        assert plant.truth().ddq[0] == pytest.approx((3.0 - 10.0 * math.sin(0.4)) / 2.5, rel=1e-3)
        wrench = plant.read().wrench
        assert wrench is not None
        expected = 2.0 * plant.truth().ddq[0] + 10.0 * math.sin(0.4)
        assert wrench == pytest.approx([0.0, 0.0, 0.0, 0.0, 0.0, expected], rel=1e-3)


def test_joint_of_an_arm_has_its_inertia_and_weight() -> None:
    """Taken from the PUMA: inertia and gravity of joint 2 with the others locked, at any angle."""
    robot, q = cp.load("puma560"), np.array([0.3, 0.2, -1.0, 0.1, 0.4, 0.0])
    plant = SingleJoint.of(robot, ArmConfig(), joint=1, q=q)
    unit = np.eye(6)[1]
    inertia = (robot.inverse_dynamics(q, np.zeros(6), unit) - robot.gravity(q))[1]
    assert plant.link.inertia == pytest.approx(inertia)
    assert SingleJoint.of(robot, ArmConfig(velocity_limit=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), 1).velocity_limit == [2.0]
    for angle in (-0.5, 0.2, 2.0):
        weight = plant.link.gravity * math.sin(angle + plant.link.gravity_angle)
        assert weight == pytest.approx(robot.gravity(np.where(unit == 1.0, angle, q))[1])
    with pytest.raises(cp.InputError, match="joint 0 is not a rotary joint"):
        SingleJoint.of(cp.load("gantry"), ArmConfig())
    with pytest.raises(cp.InputError, match="which has 6 joints"):
        SingleJoint.of(robot, ArmConfig(), joint=6)


def test_it_moves_like_the_first_joint_of_the_arm() -> None:
    """The PUMA's joint 1 under a sine of torque: alone and on the whole arm, within 3 % of the travel."""
    pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    made = preset("puma550", "50Hz")
    arm, joint = made.arm(), made.single_joint(0)
    travels = []
    with arm, joint:
        hold = arm.robot.gravity(arm.truth().q)
        for tick in range(240):
            torque = 15.0 * math.sin(2.0 * math.pi * tick / 150.0)
            arm.write(hold + torque * np.eye(6)[0])
            joint.write([torque])
            travels.append((arm.truth().motor_q[0], joint.truth().motor_q[0]))
    whole, alone = np.array(travels).T
    assert np.ptp(whole) > 0.02
    assert np.abs(whole - alone).max() < 0.03 * np.ptp(whole)


def test_plate_turned_about_the_axis_and_flipped() -> None:
    """A sensor upside down reads the moment about its own z, with the opposite sign; "on_sensor" flips it back."""
    readings = []
    for reads, rpy in (
        ("on_robot", (0.0, 0.0, 0.0)),
        ("on_robot", (math.pi, 0.0, 0.0)),
        ("on_sensor", (math.pi, 0, 0)),
    ):
        plate = Plate(T_base_sensor=transform(rotation_from_rpy(rpy), np.zeros(3)), reads=reads)  # type: ignore[arg-type]
        with SingleJoint(OneLink(), ArmConfig(plate=plate)) as plant:
            plant.write([2.0])
            wrench = plant.read().wrench
            assert wrench is not None
            readings.append(wrench[5])
    assert readings == pytest.approx([2.0, -2.0, 2.0])


def test_pushes_within_their_window() -> None:
    """A push about the axis accelerates the link while it lasts; a payload event is refused."""
    config = ArmConfig(timing=Timing(dt=1e-2), events=(Push(wrench=(0, 0, 0, 0, 0, 3.0), start=0.015, end=0.035),))
    with SingleJoint(OneLink(inertia=1.5), config) as plant:
        for _ in range(5):
            plant.write([0.0])
        assert plant.truth().dq[0] == pytest.approx(3.0 / 1.5 * 0.02)
        plant.push(Push(wrench=(0, 0, 0, 0, 0, -3.0), start=plant.time, end=plant.time + 0.02))
        plant.write([0.0])
        plant.write([0.0])
        assert plant.truth().dq[0] == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(cp.InputError, match="takes pushes only"):
        SingleJoint(OneLink(), ArmConfig(events=(AttachPayload(1.0, 1.0),)))


def test_same_seed_same_bytes() -> None:
    """Two runs of one seed are the same, another seed is not, and reset() begins anew."""

    def recording(plant: SingleJoint) -> bytes:
        parts = []
        with plant:
            for tick in range(600):
                plant.write([8.0 * math.sin(0.05 * tick)])
                sample = plant.read()
                assert sample.wrench is not None
                parts += [sample.q.tobytes(), sample.dq.tobytes(), sample.tau.tobytes(), sample.wrench.tobytes()]
        return b"".join(parts)

    made = preset("puma550", "stiff")
    plant = made.single_joint(seed=4)
    first = recording(plant)
    plant.reset()
    assert recording(plant) == first
    assert recording(made.single_joint(seed=4)) == first
    assert recording(made.single_joint(seed=5)) != first


def test_wrong_links_and_steps_are_refused() -> None:
    """Settings for more joints, impossible links and steps that are too long."""
    with pytest.raises(cp.InputError, match=r"gear.stiffness has 2 entries; expected 1 or 1"):
        SingleJoint(OneLink(rotor_inertia=1.0), ArmConfig(drive=Drive(gear=Gear(stiffness=[1e3, 1e3]))))
    with pytest.raises(cp.InputError, match=r"link.inertia is 0.0"):
        OneLink(inertia=0.0)
    with pytest.raises(cp.InputError, match="too long for the fastest mode"):
        SingleJoint(OneLink(inertia=1e-4, rotor_inertia=1.0), ArmConfig(drive=Drive(gear=Gear(stiffness=1e5))))


def test_a_divergence_is_an_error() -> None:
    """Out of all scale, it says so instead of returning numbers."""
    with SingleJoint(OneLink(inertia=1e-3)) as plant, pytest.raises(cp.errors.PlantError, match="diverged"):
        for _ in range(20):
            plant.write([1e8])
