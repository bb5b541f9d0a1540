"""Configurations: what they print, what they refuse, that they cannot be changed."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.dynamics import LuGre
from counterpoise.plants.config import (
    ArmConfig,
    Brake,
    Drive,
    EffortSensor,
    Encoder,
    FlowValve,
    Gear,
    Plate,
    Stops,
    Timing,
    TorqueSource,
    Warmth,
)
from counterpoise.plants.events import AttachPayload, Push, RemovePayloads
from counterpoise.plants.parameters import Joints, drive_parameters

WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: Timing(dt=0.0), "timing.dt is 0.0; expected a number above 0"),
    (lambda: Timing(dt=True), "timing.dt is True; expected a number"),
    (lambda: Timing(delay=1.5), "timing.delay is 1.5"),
    (lambda: Timing(integrator="euler"), "timing.integrator is 'euler'; expected one of 'symplectic', 'rk4'"),
    (lambda: Encoder(resolution=-1.0), "encoder.resolution is -1.0"),
    (lambda: Encoder(side="shaft"), "encoder.side is 'shaft'"),
    (lambda: Encoder(cutoff=float("nan")), "encoder.cutoff is nan"),
    (lambda: EffortSensor(noise=[0.1, -0.1]), r"effort.noise\[1\] is -0.1"),
    (lambda: Stops(stiffness=0.0), "stops.stiffness"),
    (lambda: Gear(stiffness=0.0), "gear.stiffness is 0.0; expected a number above 0"),
    (lambda: Gear(backlash=1e-3), "gear.backlash needs a finite gear.stiffness"),
    (lambda: TorqueSource(gain_error=-1.0), "actuator.gain_error"),
    (lambda: FlowValve(overlap=1.0), "actuator.overlap"),
    (lambda: Brake(torque=0.0), "brake.torque"),
    (lambda: Warmth(time_constant=0.0), "warmth.time_constant"),
    (lambda: Drive(friction=3.0), "drive.friction is 3.0; expected LuGre or None"),
    (lambda: Plate(stiffness=(1.0,) * 5), r"plate.stiffness has shape \(5,\); expected \(6,\)"),
    (lambda: Plate(stiffness=(np.inf,) * 6), "plate.stiffness must be finite; give None"),
    (lambda: Plate(noise=(-1.0,) * 6), "plate.noise is .*; expected numbers of at least 0$"),
    (lambda: Plate(bias=(np.inf,) * 6), "plate.bias holds numbers that are not finite"),
    (lambda: Plate(T_base_sensor=np.diag([1.0, 1.0, -1.0, 1.0])), "right-handed rotation"),
    (lambda: Plate(crosstalk="much"), "plate.crosstalk must be numbers"),
    (lambda: Plate(reads="both"), "plate.reads is 'both'"),
    (lambda: Push(start=2.0, end=1.0), "push.end is 1.0 s; expected a time after push.start = 2.0 s"),
    (lambda: Push(start=np.nan), "push.start is nan; expected a number$"),
    (lambda: Push(wrench=(np.nan,) * 6), "push.wrench holds numbers that are not finite"),
    (lambda: AttachPayload(inertia=np.full((3, 3), np.inf)), "payload.inertia holds numbers that are not finite"),
    (lambda: Push(link=3), "push.link is 3; expected the name of a link"),
    (lambda: AttachPayload(mass=-1.0), "payload.mass is -1.0"),
    (lambda: RemovePayloads(time="soon"), "payload.time is 'soon'"),
    (lambda: ArmConfig(seed=-1), "seed is -1"),
    (lambda: ArmConfig(events=("push",)), "an event is 'push'"),
    (lambda: ArmConfig(stop="brake"), "drive.brake is None"),
    (lambda: ArmConfig(position=[0.0, np.nan]), r"position\[1\] is nan"),
    (lambda: ArmConfig(velocity_limit=[1.0, 0.0]), r"velocity_limit\[1\] is 0.0; expected a number above 0"),
    (lambda: ArmConfig(plate=6), "plate is 6; expected Plate or None"),
    (lambda: ArmConfig().replaced(colour="red"), "no such field"),
]


@pytest.mark.parametrize(("make", "message"), WRONG, ids=[message[:32] for _, message in WRONG])
def test_wrong_settings_are_refused(make: Callable[[], Any], message: str) -> None:
    """Every refusal is ours and names the setting, its value and what was expected."""
    with pytest.raises(cp.InputError, match=message):
        make()


def test_everything_is_frozen() -> None:
    """Neither fields nor arrays can be changed."""
    config = ArmConfig(plate=Plate())
    with pytest.raises(FrozenInstanceError):
        config.seed = 3  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(config.plate.noise)[0] = 1.0  # type: ignore[union-attr]


def test_describe_prints_every_setting_with_its_unit() -> None:
    """One line per setting, parts indented, units from the annotations."""
    config = ArmConfig(
        plate=Plate(noise=(0.1, 0.1, 0.2, 0.01, 0.01, 0.01)),
        drive=Drive(friction=LuGre(5.0, 6.0, stiffness=2e4)),
        events=(Push(start=1.0, end=2.0), RemovePayloads(3.0)),
    )
    lines = config.describe().splitlines()
    for expected in (
        "  physics_step = 0.0001 s",
        "  friction: LuGre",
        "    coulomb = 5 N m",
        "  noise = (0.1, 0.1, 0.2, 0.01, 0.01, 0.01) N, N m",
        "    start = 1 s",
        "    time = 3 s",
        "stop = zero",
    ):
        assert expected in lines


def test_a_configuration_survives_pickling_and_replacing() -> None:
    """Pickled and changed copies print the same but for the change."""
    config = ArmConfig(plate=Plate(), drive=Drive(gear=Gear(stiffness=[1e3, 2e3])))
    assert pickle.loads(pickle.dumps(config)).describe() == config.describe()
    changed = config.replaced(seed=5)
    assert changed.describe() == config.describe().replace("seed = 0", "seed = 5")


def test_physics_steps_divide_the_tick() -> None:
    """The step taken is a whole fraction of dt, no longer than the longest allowed."""
    timing = Timing(dt=1.0 / 300.0, physics_step=1e-4)
    assert (timing.steps, timing.step) == (34, pytest.approx(1.0 / 300.0 / 34))
    assert Timing(dt=1e-3, physics_step=1e-4).steps == 10
    assert Timing(dt=1e-4, physics_step=1e-3).steps == 1


def joints(n: int) -> Joints:
    ones = np.ones(n)
    return Joints(tuple(f"j{i}" for i in range(n)), 0.0 * ones, 50.0 * ones, -ones, ones)


def test_settings_must_fit_the_joints() -> None:
    """A count that is neither 1 nor that of the joints is refused with their names."""
    with pytest.raises(cp.InputError, match=r"gear.damping has 3 entries; expected 1 or 2, one each for j0, j1"):
        drive_parameters(ArmConfig(drive=Drive(gear=Gear(damping=[1.0, 1.0, 1.0]))), joints(2))
    with pytest.raises(cp.InputError, match="joint 'j1' has a compliant gear but no rotor inertia"):
        drive_parameters(ArmConfig(drive=Drive(gear=Gear(stiffness=[np.inf, 1e3]))), joints(2))


def test_limits_come_from_the_robot_unless_given() -> None:
    """The effort limit serves as the amplifier's, and a given one replaces it."""
    from counterpoise.plants.layout import DRIVE_PARAMETERS

    column = DRIVE_PARAMETERS.index("limit")
    assert drive_parameters(ArmConfig(), joints(2))[:, column].tolist() == [50.0, 50.0]
    given = ArmConfig(drive=Drive(actuator=TorqueSource(limit=20.0)))
    assert drive_parameters(given, joints(2))[:, column].tolist() == [20.0, 20.0]
