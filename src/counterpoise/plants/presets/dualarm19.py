"""The upper body of 19 joints of Jo, Lee, Tran, Oh and Oh, with harmonic drives."""

from __future__ import annotations

import math

import numpy as np

from ...dynamics import LuGre
from ..config import ArmConfig, Drive, EffortSensor, Encoder, Gear, Timing, TorqueSource
from .base import Assumption, Preset

_ARM_EFFORT = (90.0, 90.0, 60.0, 60.0, 30.0, 30.0, 15.0, 15.0)
_ARM_ROTOR = (0.5, 0.5, 0.3, 0.3, 0.12, 0.12, 0.05, 0.05)
_EFFORT = np.array([150.0, 350.0, 300.0, *_ARM_EFFORT, *_ARM_EFFORT])
_ROTOR = np.array([0.8, 1.5, 1.2, *_ARM_ROTOR, *_ARM_ROTOR])
_STATIC = 0.035 * _EFFORT
_STIFFNESS = _EFFORT / 0.008
_ARM_POSE = (0.2, 0.3, 0.0, 0.8, 0.0, 0.3, 0.0, 0.0)


def dualarm19(variant: str) -> Preset:
    """Return the preset; its only variant is "ground"."""
    bristle = _STATIC / 5e-4
    config = ArmConfig(
        name=f"dualarm19-{variant}",
        timing=Timing(dt=1e-3, physics_step=1e-4, delay=1),
        drive=Drive(
            gear=Gear(stiffness=_STIFFNESS, damping=0.002 * np.sqrt(_STIFFNESS * _ROTOR)),
            friction=LuGre(
                coulomb=0.8 * _STATIC,
                static=_STATIC,
                stiffness=bristle,
                damping=0.4 * np.sqrt(bristle * _ROTOR),
                stribeck_velocity=0.05,
                viscous=0.5 * _STATIC,
                load=0.03,
            ),
            actuator=TorqueSource(lag=3e-4, gain_error=0.01, ripple=0.01, cycles=200.0),
        ),
        encoder=Encoder(side="motor", resolution=2.0 * math.pi / 2**17, cutoff=60.0),
        effort=EffortSensor(noise=0.002 * _EFFORT),
        position=(0.0, 0.1, 0.0, *_ARM_POSE, *(-angle for angle in _ARM_POSE)),
    )
    return Preset("dualarm19", variant, "dualarm19", config, _FACTS, _ASSUMPTIONS)


_FACTS = ("control at 1 kHz (Jo et al.); layout and total mass: the catalog's",)

_ASSUMPTIONS = (
    Assumption("robot", "no link table is printed; see the catalog"),
    Assumption(
        "drive.friction", "3.5 % of the effort limit at breakaway, 2.8 % sliding: harmonic drives; the paper has none"
    ),
    Assumption("drive.gear", "8 mrad of twist at the effort limit, as harmonic drives are rated"),
    Assumption("actuator, encoder, effort", "300 µs lag, constants 1 % off; 17 bit; 0.2 % of full scale"),
    Assumption("timing.delay, position", "one sample; trunk upright, elbows bent, the arms mirror images"),
)
