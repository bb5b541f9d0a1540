"""Barrett's WAM with wrist: cable drives of low friction, on the ground or on a plate."""

from __future__ import annotations

import math

import numpy as np

from ...dynamics import LuGre
from ..config import ArmConfig, Drive, EffortSensor, Encoder, Gear, Stops, Timing, TorqueSource
from .base import Assumption, Preset
from .plates import PLATE_ASSUMPTIONS, force_platform

_MOTOR_TURNS = np.array([42.0, 28.25, 16.8155, 18.0, 9.7, 9.7, 14.93])
_COUNTS = 4096.0
_STATIC = np.array([1.1, 1.6, 0.9, 0.7, 0.25, 0.25, 0.06])
_PRESLIDING = 1e-3
_ROTOR = np.array([0.20517, 0.18884, 0.066907, 0.034623, 0.0032273, 0.0032273, 0.00031652])
_STIFFNESS = np.array([9000.0, 9000.0, 4000.0, 3500.0, 400.0, 400.0, 60.0])


def wam7(variant: str) -> Preset:
    """Return the preset; ``variant`` is "ground" or "plate"."""
    bristle = _STATIC / _PRESLIDING
    config = ArmConfig(
        name=f"wam7-{variant}",
        timing=Timing(dt=2e-3, physics_step=1e-4, delay=1),
        drive=Drive(
            gear=Gear(stiffness=_STIFFNESS, damping=0.06 * np.sqrt(_STIFFNESS * _ROTOR)),
            friction=LuGre(
                coulomb=0.85 * _STATIC,
                static=_STATIC,
                stiffness=bristle,
                damping=0.6 * np.sqrt(bristle * _ROTOR),
                stribeck_velocity=0.05,
                viscous=0.4 * _STATIC,
                load=0.01,
            ),
            actuator=TorqueSource(
                lag=5e-4,
                gain_error=(0.01, -0.015, 0.01, -0.01, 0.02, -0.02, 0.02),
                ripple=0.015,
                cogging=0.02 * _STATIC,
                cycles=6.0 * _MOTOR_TURNS,
            ),
        ),
        encoder=Encoder(
            side="motor", resolution=2.0 * math.pi / (_COUNTS * _MOTOR_TURNS), cutoff=180.0 / (2.0 * math.pi)
        ),
        effort=EffortSensor(noise=0.02 * _STATIC),
        plate=force_platform(height=0.35) if variant == "plate" else None,
        stops=Stops(
            stiffness=(2000.0, 2000.0, 500.0, 1000.0, 50.0, 50.0, 5.0),
            damping=(20.0, 20.0, 5.0, 10.0, 0.5, 0.5, 0.05),
        ),
        position=(0.0, -1.0, 0.0, 2.0, 0.0, 0.5, 0.0),
        velocity_limit=(3.0, 3.0, 3.0, 3.0, 8.0, 8.0, 8.0),
    )
    assumptions = (*_ASSUMPTIONS, *(PLATE_ASSUMPTIONS if variant == "plate" else ()))
    return Preset("wam7", variant, "wam7", config, _FACTS, assumptions)


_FACTS = (
    "motor turns per joint turn: joint-to-motor matrix of libbarrett's config files; rotor inertias: the catalog's",
    "velocity low-passed at 180 rad/s (libbarrett, joint_velocity_filter)",
    "effort limits: the catalog's",
)

_ASSUMPTIONS = (
    Assumption("timing", "500 Hz as libbarrett's control loop runs; one sample of delay"),
    Assumption(
        "gear.stiffness, gear.damping", "a few mm of cable stretch at full torque; modes of some tens of Hz, 3 % damped"
    ),
    Assumption(
        "friction", "around 1 % of the peak torque: cable drives are backdrivable by a finger; breakaway after 1 mrad"
    ),
    Assumption(
        "friction of the differentials", "joints 2 and 3, and 5 and 6, share two motors; friction is taken per joint"
    ),
    Assumption("encoder", "4096 counts per motor turn"),
    Assumption("actuator, effort", "Puck amplifiers: 0.5 ms lag, constants 1 to 2 % off, six ripples per motor turn"),
    Assumption("velocity_limit", "3 rad/s, 8 rad/s at the wrist: the catalog has none, and a controller wants one"),
    Assumption("stops, position", "rubber buffers; an elbow-up pose clear of the limits"),
)
