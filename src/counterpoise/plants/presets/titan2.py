"""The Schilling Titan II of Morel, Iagnemma and Dubowsky (2000): a hydraulic arm with much seal friction."""

from __future__ import annotations

import math

import numpy as np

from ...dynamics import LuGre
from ..config import ArmConfig, Drive, EffortSensor, Encoder, FlowValve, Stops, Timing, TorqueSource
from .base import Assumption, Preset
from .plates import PLATE_ASSUMPTIONS, force_platform

_EFFORT = np.array([1300.0, 2600.0, 1300.0, 600.0, 400.0, 170.0])
_SPEED = np.array([1.5, 1.2, 1.5, 2.0, 2.0, 3.5])
_STATIC = 0.08 * _EFFORT
_PRESLIDING = 2e-3
_LINK = np.array([62.7, 51.5, 7.15, 0.446, 0.108, 0.005])  # diagonal of the mass matrix, stretched out
_GIVE = 0.01


def titan2(variant: str) -> Preset:
    """Return the preset; ``variant`` is "torque-source" or "flow-valve"."""
    bristle = _STATIC / _PRESLIDING
    if variant == "flow-valve":
        actuator: TorqueSource | FlowValve = FlowValve(
            limit=_EFFORT,
            free_speed=_SPEED,
            stiffness=1.2 * _EFFORT / _GIVE,
            supply=1.2 * _EFFORT,
            leakage=1.0,
            overlap=0.01,
            lag=5e-3,
        )
    else:
        actuator = TorqueSource(lag=1e-2, gain_error=(0.05, -0.05, 0.04, -0.04, 0.05, -0.05), offset=0.005 * _EFFORT)
    config = ArmConfig(
        name=f"titan2-{variant}",
        timing=Timing(dt=1.0 / 300.0, physics_step=1e-4, delay=1),
        drive=Drive(
            friction=LuGre(
                coulomb=0.75 * _STATIC,
                static=_STATIC,
                stiffness=bristle,
                damping=0.2 * np.sqrt(bristle * _LINK),
                stribeck_velocity=0.02,
                viscous=0.6 * _STATIC,
                viscous_per_kelvin=0.02,
            ),
            actuator=actuator,
        ),
        encoder=Encoder(side="link", resolution=2.0 * math.pi / 4096.0, cutoff=20.0),
        effort=EffortSensor(noise=0.003 * _EFFORT),
        plate=force_platform(height=0.0, scale=4.0),
        stops=Stops(stiffness=20.0 * _EFFORT, damping=(500.0, 500.0, 200.0, 20.0, 10.0, 1.0)),
        position=(0.0, math.radians(40.0), math.radians(-80.0), math.radians(20.0), 0.0, 0.0),
    )
    assumptions = (*(_VALVE if variant == "flow-valve" else _SOURCE), *_ASSUMPTIONS, *PLATE_ASSUMPTIONS)
    return Preset("titan2", variant, "titan2", config, _FACTS, assumptions)


_FACTS = (
    "control at 300 Hz; resolvers read as 0.087° per count, 12 bit; plate AMTI OR6-4000 (Morel, Iagnemma, Dubowsky, "
    "Automatica 36, 2000, section 4)",
)

_VALVE = (
    Assumption("actuator.free_speed, supply", "the catalog's speed limits, and its effort limits plus a fifth"),
    Assumption("actuator.stiffness", "0.01 rad of give at full pressure: oil, hoses and vanes; modes of 7 to 25 Hz"),
    Assumption("actuator.leakage, overlap, lag", "1/s, 1 % of the stroke, 5 ms: an ordinary servo valve"),
)
_SOURCE = (
    Assumption(
        "actuator", "pressure control that follows in 10 ms, constants 4 to 5 % off: what a simple study assumes"
    ),
)

_ASSUMPTIONS = (
    Assumption("robot", "only mass, reach and the arrangement of the axes are published; see the catalog"),
    Assumption(
        "friction", "8 % of the effort limit at breakaway, 6 % sliding: 'very high joint friction', printed in no unit"
    ),
    Assumption("friction.stiffness", "breakaway after 2 mrad: seals stretch"),
    Assumption("gear", "rigid, no rotor: cylinders and vanes act on the links directly"),
    Assumption(
        "encoder, effort", "resolvers on the joints; velocity low-passed at 20 Hz; pressure sensors good to 0.3 %"
    ),
    Assumption("timing.delay, stops, position", "one sample; hydraulic cushions; an elbow-up pose"),
)
