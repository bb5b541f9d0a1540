"""One link, one drive, one plate: the native stepper against the NumPy one, and against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest

from counterpoise.dynamics import LuGre
from counterpoise.plants import kernel, layout
from counterpoise.plants.config import ArmConfig, Drive, Gear, Timing, TorqueSource
from counterpoise.plants.parameters import Joints, drive_parameters
from counterpoise.plants.reference import ReferenceOneJoint

DT = 1e-4
POSITION, VELOCITY, MOMENT = (layout.LINK_STATE[name] for name in ("position", "velocity", "moment"))
RICH = Drive(
    inertia=0.8,
    gear=Gear(stiffness=6e4, damping=8.0, backlash=1e-4),
    friction=LuGre(5.2, 6.0, stiffness=2e4, damping=50.0, viscous=5.8, load=0.02),
    actuator=TorqueSource(lag=1e-3, ripple=0.02, cycles=50.0),
)


def rows(drive: Drive) -> np.ndarray:
    none = np.array([math.inf])
    joints = Joints(("j",), np.zeros(1), none, -none, none)
    return drive_parameters(ArmConfig(drive=drive, timing=Timing(physics_step=DT)), joints)[0]


def link(**values: float) -> np.ndarray:
    neutral = {"inertia": 1.0, "base_inertia": 1.0, "plate_stiffness": math.inf, "b0": 1.0}
    return np.array([(neutral | values).get(name, 0.0) for name in layout.LINK_PARAMETERS])


def states() -> tuple[np.ndarray, np.ndarray]:
    return np.zeros(len(layout.DRIVE_STATES)), np.zeros(len(layout.LINK_STATES))


@pytest.mark.skipif(not kernel.NATIVE, reason="the native steppers were not built")
@pytest.mark.parametrize("plate", [math.inf, 1e6], ids=["rigid plate", "compliant plate"])
@pytest.mark.parametrize("drive", [RICH, Drive(inertia=0.8)], ids=["rich", "ideal"])
def test_native_equals_the_specification(plate: float, drive: Drive) -> None:
    """Drive, link and plate agree to 1e-10 over 1200 steps, more than a cycle of the command."""
    parameters = link(
        inertia=2.9, gravity=3.0, gravity_angle=0.3, plate_stiffness=plate, plate_damping=100.0, b0=0.5, b1=0.3, a1=-0.2
    )
    ours, theirs = states(), states()
    native = kernel.OneJoint(rows(drive), ours[0], parameters, ours[1], DT)
    reference = ReferenceOneJoint(rows(drive), theirs[0], parameters, theirs[1], DT)
    for tick in range(40):
        command = 12.0 * math.sin(0.2 * tick)
        assert native.advance(command, 30) and reference.advance(command, 30)
    for mine, other in zip(ours, theirs, strict=True):
        assert np.abs(mine - other).max() <= 1e-10 * np.abs(other).max()
    assert abs(ours[1][VELOCITY]) > 1e-3


def test_free_link_and_rotor_share_a_torque() -> None:
    """Behind a rigid gear link and rotor accelerate together; the plate feels the link's share only."""
    drive_state, link_state = states()
    joint = kernel.OneJoint(rows(Drive(inertia=0.5)), drive_state, link(inertia=1.5), link_state, DT)
    joint.advance(4.0, 1000)
    assert link_state[VELOCITY] == pytest.approx(4.0 / 2.0 * 0.1)
    assert link_state[MOMENT] == pytest.approx(1.5 * 2.0)


def test_pendulum_swings_with_its_period() -> None:
    """A small swing about the stable rest takes 2π √(J/G)."""
    drive_state, link_state = states()
    link_state[POSITION] = 0.01
    joint = kernel.OneJoint(rows(Drive()), drive_state, link(inertia=2.0, gravity=50.0), link_state, DT)
    period = 2.0 * math.pi * math.sqrt(2.0 / 50.0)
    joint.advance(0.0, round(period / DT))
    assert link_state[POSITION] == pytest.approx(0.01, rel=1e-3)
    assert abs(link_state[VELOCITY]) < 1e-3 * 0.01 * math.sqrt(25.0)


def test_plate_twists_and_momentum_is_shared() -> None:
    """Without plate stiffness, what accelerates the link turns the base the other way: momentum stays 0."""
    drive_state, link_state = states()
    soft = link(inertia=1.0, base_inertia=3.0, plate_stiffness=1e-9)
    joint = kernel.OneJoint(rows(Drive()), drive_state, soft, link_state, DT)
    joint.advance(1.0, 500)
    base = link_state[layout.LINK_STATE["base_velocity"]]
    assert 1.0 * (link_state[VELOCITY] + base) + 3.0 * base == pytest.approx(0.0, abs=1e-12)
    assert base == pytest.approx(-1.0 * 0.05 / 3.0)
