"""Random plausible geared joints on a plate: on which the benefit of base sensor control is judged.

The distribution was written down before any law was judged on it, and no number in it was chosen for a law. Seeds below
FRESH are for developing a law, those from FRESH on for judging it.

Ranges are meant to cover electric joints from a small arm's shoulder to a large one's: log-uniform where a quantity
spans a decade or more. The presets' PUMA joint 1 lies inside each of them, with its stiff, 50 Hz and 20 Hz gears except
for the 250 Hz of the first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..friction.lugre import LuGre
from ..plants.config import ArmConfig, EffortSensor, Encoder, Timing
from ..plants.drive_config import Drive, Gear, TorqueSource
from ..plants.plate_config import Plate
from ..plants.single_joint import OneLink, SingleJoint

FRESH = 2000
"""First seed that judges; smaller ones may be looked at while a law is developed."""
STEP = 1e-4
"""Longest physics step [s]."""

RANGES: dict[str, tuple[float, float]] = {
    "link_inertia": (0.3, 30.0),  # kg m²
    "rotor_ratio": (0.1, 2.0),  # rotor's inertia, reflected, by the link's
    "frequency": (15.0, 200.0),  # motor against link, on firm ground [Hz]
    "gear_damping": (0.01, 0.05),  # of critical
    "plate_frequency": (60.0, 300.0),  # link and base together on the plate [Hz]
    "acceleration": (10.0, 40.0),  # effort limit by the whole inertia [rad/s²]
    "friction": (0.02, 0.15),  # breakaway torque by the effort limit
    "presliding": (5e-5, 2e-3),  # displacement before breakaway [rad]
    "stribeck": (5e-3, 0.1),  # Stribeck velocity [rad/s]
    "rate": (200.0, 1000.0),  # control rate [Hz]
    "lag": (3e-4, 3e-3),  # of the amplifier [s]
    "resolution": (5e-6, 3e-4),  # one count of the encoder, at the joint [rad]
    "plate_noise": (2e-5, 2e-3),  # of a reading, by the effort limit
    "plate_walk": (0.01, 0.1),  # random walk after a second, by the noise
    "cogging": (2e-4, 2e-3),  # by the effort limit
    "cogging_cycles": (100.0, 2000.0),  # per turn of the joint
}
"""Log-uniform between these two."""

UNIFORM: dict[str, tuple[float, float]] = {
    "static": (1.0, 1.4),  # breakaway by sliding friction
    "asymmetry": (-0.1, 0.1),  # friction backwards against forwards
    "viscous": (0.3, 1.5),  # at 1 rad/s, by the breakaway torque
    "base_ratio": (0.2, 0.6),  # inertia of base and plate's top by the link's
    "plate_cutoff": (0.25, 0.45),  # of the plate's filter, by the control rate
    "velocity_cutoff": (0.1, 0.2),  # of the velocity's filter, by the control rate
    "gain_error": (-0.05, 0.05),  # of the torque constant
}
"""Uniform between these two."""


@dataclass(frozen=True, slots=True, eq=False)
class RandomJoint:
    """A joint that was drawn.

    Attributes:
        seed: What it was drawn with.
        numbers: What was drawn, by the names in RANGES and UNIFORM.
        link: Its link.
        config: Everything else.
    """

    seed: int
    numbers: dict[str, float]
    link: OneLink
    config: ArmConfig

    def plant(self, seed: int | None = None) -> SingleJoint:
        """Return the joint as a plant; ``seed`` is that of its noise, None for one of its own."""
        return SingleJoint(self.link, self.config.replaced(seed=self.seed if seed is None else seed))


def random_joint(seed: int) -> RandomJoint:
    """Draw a joint; the same seed gives the same joint on every machine."""
    rng = np.random.default_rng((20260, seed))
    drawn = {name: float(np.exp(rng.uniform(np.log(low), np.log(high)))) for name, (low, high) in RANGES.items()}
    drawn |= {name: float(rng.uniform(low, high)) for name, (low, high) in UNIFORM.items()}
    inertia = drawn["link_inertia"]
    rotor = drawn["rotor_ratio"] * inertia
    limit = drawn["acceleration"] * (inertia + rotor)
    link = OneLink(
        inertia=inertia,
        rotor_inertia=rotor,
        base_inertia=drawn["base_ratio"] * inertia,
        velocity_limit=3.0,
        effort_limit=limit,
        lower=-2.5,
        upper=2.5,
    )
    config = ArmConfig(
        name=f"random-{seed}",
        timing=Timing(dt=1.0 / drawn["rate"], physics_step=STEP, delay=1),
        drive=_drive(drawn, inertia, rotor, limit),
        encoder=Encoder(side="motor", resolution=drawn["resolution"], cutoff=drawn["velocity_cutoff"] * drawn["rate"]),
        effort=EffortSensor(noise=0.002 * limit),
        plate=_plate(drawn, inertia, limit),
        position=0.0,
    )
    return RandomJoint(seed, drawn, link, config)


def _drive(drawn: dict[str, float], inertia: float, rotor: float, limit: float) -> Drive:
    omega, reduced = 2.0 * math.pi * drawn["frequency"], rotor * inertia / (rotor + inertia)
    static = drawn["friction"] * limit
    coulomb, backwards = static / drawn["static"], 1.0 + drawn["asymmetry"]
    bristle = static / drawn["presliding"]
    friction = LuGre(
        coulomb=coulomb,
        static=static,
        coulomb_negative=backwards * coulomb,
        static_negative=backwards * static,
        stiffness=bristle,
        damping=0.4 * math.sqrt(bristle * rotor),
        stribeck_velocity=drawn["stribeck"],
        viscous=drawn["viscous"] * static,
    )
    gear = Gear(stiffness=omega**2 * reduced, damping=2.0 * drawn["gear_damping"] * omega * reduced)
    source = TorqueSource(
        lag=drawn["lag"],
        gain_error=drawn["gain_error"],
        cogging=drawn["cogging"] * limit,
        cycles=drawn["cogging_cycles"],
    )
    return Drive(inertia=rotor, gear=gear, friction=friction, actuator=source)


def _plate(drawn: dict[str, float], inertia: float, limit: float) -> Plate:
    omega = 2.0 * math.pi * drawn["plate_frequency"]
    stiffness = omega**2 * (1.0 + drawn["base_ratio"]) * inertia
    noise = drawn["plate_noise"] * limit
    axis = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    return Plate(
        stiffness=np.where(axis > 0.0, stiffness, 1e7),
        damping=axis * 0.04 * stiffness / omega,
        noise=axis * noise,
        walk=axis * drawn["plate_walk"] * noise,
        resolution=axis * limit / 2**13,
        cutoff=drawn["plate_cutoff"] * drawn["rate"],
    )
