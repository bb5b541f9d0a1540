"""The PUMA 550 on a plate of Morel, Iagnemma and Dubowsky (2000), with three stiffnesses of its gears."""

from __future__ import annotations

import math

import numpy as np

from ...dynamics import LuGre
from ..config import ArmConfig, Brake, Drive, EffortSensor, Encoder, Gear, Stops, Timing, TorqueSource, Warmth
from .base import Assumption, Preset
from .plates import PLATE_ASSUMPTIONS, force_platform

POSE = (0.0, math.pi / 4, -math.pi, 0.0, math.pi / 4, 0.0)
"""Elbow raised, forearm level: where the arm stands at the start and where its modes are stated [rad]."""

FREQUENCY = {"stiff": 250.0, "50Hz": 50.0, "20Hz": 20.0}
"""Torsional mode of joints 1 to 3, each alone on firm ground, motor against link, at POSE [Hz]."""

_FIRMER = {"stiff": 1.0, "50Hz": 1.08, "20Hz": 1.026}
"""How much stiffer the gear of joint 1 is, so that its mode in the whole structure, plate and other gears included,
is at 50 or 20 Hz. Of the stiff variant the whole structure lies above 160 Hz."""

_GEAR_RATIO = np.array([62.6111, 107.815, 53.7063, 76.0364, 71.923, 76.686])
_ROTOR = np.array([2e-4, 2e-4, 2e-4, 3.3e-5, 3.3e-5, 3.3e-5]) * _GEAR_RATIO**2
_LINK = np.array([2.8753, 2.0889, 0.3610])  # diagonal of the mass matrix at POSE, joints 1 to 3
_WRIST_STIFFNESS = (2000.0, 2000.0, 1500.0)
_DAMPING_RATIO = 0.02

_STATIC = np.array([6.0, 5.5, 2.6, 1.3, 1.0, 1.2])
_PRESLIDING = 3e-4
_VISCOUS = np.array([5.8, 9.5, 3.98, 0.412, 0.427, 0.216])


def puma550(variant: str) -> Preset:
    """Return the preset; ``variant`` is a key of FREQUENCY."""
    omega = 2.0 * math.pi * FREQUENCY[variant]
    reduced = _ROTOR[:3] * _LINK / (_ROTOR[:3] + _LINK)
    stiffness = np.concatenate([omega**2 * reduced, _WRIST_STIFFNESS])
    stiffness[0] *= _FIRMER[variant]
    wrist_damping = 2.0 * _DAMPING_RATIO * np.sqrt(np.array(_WRIST_STIFFNESS) * [1.6e-3, 6e-4, 4e-5])
    damping = np.concatenate([2.0 * _DAMPING_RATIO * omega * reduced, wrist_damping])
    bristle = _STATIC / _PRESLIDING
    friction = LuGre(
        coulomb=0.87 * _STATIC,
        static=_STATIC,
        coulomb_negative=0.91 * _STATIC,
        static_negative=1.05 * _STATIC,
        stiffness=bristle,
        damping=0.4 * np.sqrt(bristle * _ROTOR),
        stribeck_velocity=0.03,
        viscous=_VISCOUS,
        load=0.02,
        coulomb_per_kelvin=-0.004,
        viscous_per_kelvin=0.02,
        reference_temperature=25.0,
    )
    config = ArmConfig(
        name=f"puma550-{variant}",
        timing=Timing(dt=1.0 / 300.0, physics_step=1e-4, delay=1),
        drive=Drive(
            inertia=_ROTOR,
            gear=Gear(stiffness=stiffness, damping=damping, backlash=(0.0, 0.0, 0.0, 2e-4, 2e-4, 2e-4)),
            friction=friction,
            actuator=TorqueSource(
                lag=1e-3,
                gain_error=(0.02, -0.01, 0.015, 0.01, -0.02, 0.01),
                offset=(0.05, -0.04, 0.03, 0.01, 0.01, -0.01),
                ripple=0.005,
                cogging=(0.05, 0.05, 0.03, 0.01, 0.01, 0.01),
                cycles=14.0 * _GEAR_RATIO,
            ),
            brake=Brake(torque=(100.0, 190.0, 90.0, 8.0, 8.0, 8.0)),
            warmth=Warmth(ambient=25.0, resistance=1.0, time_constant=1200.0),
        ),
        encoder=Encoder(side="motor", resolution=2.0 * math.pi / (1000.0 * _GEAR_RATIO), cutoff=40.0),
        effort=EffortSensor(noise=0.002 * np.array([97.6, 186.4, 89.4, 24.2, 20.1, 21.3])),
        plate=force_platform(height=0.672, stiffening=10.0 if variant == "stiff" else 1.0),
        stops=Stops(stiffness=(2e4, 2e4, 1e4, 50.0, 20.0, 2.0), damping=(100.0, 100.0, 50.0, 0.05, 0.02, 1e-3)),
        position=POSE,
        stop="brake",
    )
    return Preset("puma550", variant, "puma560", config, _FACTS, _ASSUMPTIONS)


_FACTS = (
    "control at 300 Hz; encoder of joint 1: 0.0058° per count, which 1000 counts per turn of the motor and the PUMA "
    "560's gear explain (0.00575°); dry friction of joint 1 above 5 N m; plate AMTI OR6-1000 (Morel, Iagnemma, "
    "Dubowsky, Automatica 36, 2000, section 3)",
    "gear ratios, rotor inertias, viscous friction (Corke, mdl_puma560.m, at the joint)",
    "effort limits: the catalog's",
)

_ASSUMPTIONS = (
    Assumption("robot", "the PUMA 560's links: the 550 is its five-axis sister, and no table of its own is printed"),
    Assumption(
        "gear.stiffness of joints 1 to 3",
        "chosen so that motor against link swings at 250, 50 or 20 Hz at the initial position; what decides the "
        "benefit of torque feedback, and not printed",
    ),
    Assumption("gear.stiffness of joints 4 to 6", "2000, 2000, 1500 N m/rad: stiff beside what the wrist can exert"),
    Assumption("gear.damping", "2 % of critical, usual for steel gears"),
    Assumption("gear.backlash", "none on the shimmed main gears; 0.2 mrad on the wrist"),
    Assumption(
        "friction.static",
        "6.0, 5.5, 2.6, 1.3, 1.0, 1.2 N m: joint 1 as Morel's 'more than 5'; the others as breakaway torques "
        "quoted for the PUMA 560 at second hand. Corke's 25 N m for joint 1 contradicts the paper and is not used",
    ),
    Assumption("friction.coulomb", "13 % below breakaway, a mild Stribeck effect of greased gears"),
    Assumption(
        "friction.*_negative", "5 % more backwards, half the difference that Corke's two directions of joint 1 show"
    ),
    Assumption("friction.stribeck_velocity", "0.03 rad/s: 2 rad/s at the motor"),
    Assumption("friction.stiffness", "breakaway after about 0.3 mrad, three counts of joint 1"),
    Assumption("friction.damping", "presliding motion of the rotor damped to 20 % of critical"),
    Assumption("friction.load, *_per_kelvin, warmth", "2 % of the transmitted torque, −0.4 %/K, −2 %/K; 1 K/W, 20 min"),
    Assumption(
        "actuator", "1 ms lag; torque constants 1 to 2 % off; 0.5 % ripple of 14 commutator bars per motor turn"
    ),
    Assumption("effort.noise", "0.2 % of full scale"),
    Assumption("encoder of joints 2 to 6", "1000 counts per motor turn as on joint 1; velocity low-passed at 40 Hz"),
    Assumption("timing.delay", "one sample: what is computed from a sample leaves with the next"),
    Assumption("brake, stops", "hold the rated torque; rubber buffers"),
    *PLATE_ASSUMPTIONS,
)
