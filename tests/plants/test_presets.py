"""Presets: they build, hold, print what they assume, and meet what they claim."""

from __future__ import annotations

import math

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.plants import VARIANTS, ideal, preset
from counterpoise.plants.config import FlowValve, TorqueSource
from counterpoise.plants.simulated import SimulatedArm

CASES = [(name, variant) for name, variants in VARIANTS.items() for variant in variants]


@pytest.mark.parametrize(("name", "variant"), CASES)
def test_every_preset_builds_and_holds(name: str, variant: str) -> None:
    """Under the holding torques every joint stays within 2 mrad for 0.2 s, and no reading is saturated."""
    pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    made = preset(name, variant)
    with made.arm() as arm:
        start = arm.truth().q
        valve = isinstance(made.config.drive.actuator, FlowValve)
        hold = np.zeros(arm.n) if valve else arm.robot.gravity(start)
        for _ in range(round(0.2 / arm.dt)):
            arm.write(hold)
        assert np.abs(arm.truth().q - start).max() < 2e-3
        sample = arm.read()
        assert not sample.flags
        assert (sample.wrench is None) == (made.config.plate is None)
        assert (arm.lower <= start).all() and (start <= arm.upper).all()


@pytest.mark.parametrize(("name", "variant"), CASES)
def test_every_preset_says_what_it_assumes(name: str, variant: str) -> None:
    """describe() prints settings, sources and assumptions, each with a reason."""
    made = preset(name, variant)
    text = made.describe()
    assert text.startswith(f"{name} ({variant}), robot '{made.robot_name}'")
    assert "physics_step = 0.0001 s" in text
    assert len(made.assumptions) > 4 and made.facts
    for entry in made.assumptions:
        assert entry.reason and f"{entry.what}: {entry.reason}" in text


def test_unknown_presets_are_refused() -> None:
    """The message lists what there is."""
    with pytest.raises(cp.InputError, match="there are puma550, wam7, titan2, dualarm19"):
        preset("puma")
    with pytest.raises(cp.InputError, match="its variants are stiff, 50Hz, 20Hz"):
        preset("puma550", "soft")


def test_puma_has_what_the_paper_prints() -> None:
    """300 Hz, one sample of delay, 0.00575° per count, 5 to 6 N m of dry friction on joint 1."""
    for variant in VARIANTS["puma550"]:
        config = preset("puma550", variant).config
        assert config.timing.dt == pytest.approx(1.0 / 300.0)
        assert config.timing.delay == 1
        assert math.degrees(np.asarray(config.encoder.resolution)[0]) == pytest.approx(0.00575, abs=5e-6)
        assert config.drive.friction is not None
        for level in (config.drive.friction.coulomb[0], config.drive.friction.static[0]):
            assert 5.0 <= level <= 6.0


@pytest.mark.parametrize(("variant", "frequency"), [("50Hz", 50.0), ("20Hz", 20.0)])
def test_puma_variants_meet_their_frequency(variant: str, frequency: float) -> None:
    """The mode of the whole structure that strains the gear of joint 1 most is at 50 or 20 Hz within 2 %."""
    pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    modes = preset("puma550", variant).arm().modes(sticking=False)
    link, motor = (modes.shape[modes.names.index(f"{part} of joint1")] for part in ("link", "motor"))
    swinging = modes.frequency > 1.0
    strain = np.abs(motor - link)[swinging] / modes.frequency[swinging]
    assert modes.frequency[swinging][np.argmax(strain)] == pytest.approx(frequency, rel=0.02)


def test_puma_rings_at_its_frequency() -> None:
    """Struck, a frictionless joint 1 of the 20 Hz variant really swings at that frequency, seen at the gear."""
    pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    made = preset("puma550", "20Hz")
    drive = made.config.drive
    free = made.config.replaced(
        drive=type(drive)(inertia=drive.inertia, gear=drive.gear, actuator=TorqueSource()), stop="zero"
    )
    twists = []
    with SimulatedArm(made.robot(), free) as arm:
        hold = arm.robot.gravity(arm.truth().q)
        for tick in range(300):
            arm.write(hold + (30.0 if tick < 2 else 0.0) * np.eye(6)[0])
            truth = arm.truth()
            twists.append(truth.motor_q[0] - truth.q[0])
    signal = np.array(twists[10:]) - np.mean(twists[10:])
    spectrum = np.abs(np.fft.rfft(signal * np.hanning(signal.size), 4096))
    peak = np.fft.rfftfreq(4096, arm.dt)[int(np.argmax(spectrum))]
    assert peak == pytest.approx(20.0, abs=1.0)


def test_stiff_puma_is_stiff_all_through() -> None:
    """Of the stiff variant no mode of plate or gears lies below 160 Hz."""
    pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    frequency = preset("puma550", "stiff").arm().modes(sticking=False).frequency
    assert frequency[frequency > 1.0].min() > 160.0


def test_titan_variants_differ_in_their_actuator() -> None:
    """A lagging torque source, and a flow valve."""
    source = preset("titan2", "torque-source").config.drive.actuator
    assert isinstance(source, TorqueSource) and np.asarray(source.lag)[0] == pytest.approx(0.01)
    assert isinstance(preset("titan2", "flow-valve").config.drive.actuator, FlowValve)


def test_ideal_is_for_any_robot() -> None:
    """It has no friction, no delay, no noise."""
    config = ideal(dt=2e-3)
    assert (config.timing.dt, config.timing.delay, config.drive.friction) == (2e-3, 0, None)
