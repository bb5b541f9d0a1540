"""How joints are driven: motor or valve, gear, friction, brake, warmth.

Every number is for one joint each, shape (n,), or one number for all joints, and reflected to the link side. The
defaults are those of an ideal drive: a rigid gear without friction and a perfect source of torque.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..friction.lugre import LuGre
from ..friction.parameters import joint_values
from .quantities import of_kind


@dataclass(frozen=True, slots=True, eq=False)
class Gear:
    """The gear between motor and link.

    Attributes:
        stiffness: Torsional stiffness > 0; inf for a rigid gear, whose rotor then moves with the link.
        damping: Damping of the twist ≥ 0, also within the play.
        backlash: Whole width of the dead zone ≥ 0; only with a finite stiffness.
    """

    stiffness: Annotated[npt.ArrayLike, "N m/rad"] = math.inf
    damping: Annotated[npt.ArrayLike, "N m s/rad"] = 0.0
    backlash: Annotated[npt.ArrayLike, "rad"] = 0.0

    def __post_init__(self) -> None:
        """Check and store as arrays."""
        stiffness = joint_values(self.stiffness, "gear.stiffness", above=0.0, may_be_infinite=True)
        backlash = joint_values(self.backlash, "gear.backlash", least=0.0, most=1.0)
        object.__setattr__(self, "stiffness", stiffness)
        object.__setattr__(self, "damping", joint_values(self.damping, "gear.damping", least=0.0))
        object.__setattr__(self, "backlash", backlash)
        if stiffness.size in (1, backlash.size) or backlash.size == 1:
            loose = np.isinf(stiffness) & (backlash > 0.0)
            if loose.any():
                raise InputError("gear.backlash needs a finite gear.stiffness: a rigid gear has no play")


@dataclass(frozen=True, slots=True, eq=False)
class TorqueSource:
    """An electric motor behind a current amplifier.

    τ = a (1 + gain_error) (1 + ripple sin(cycles θ + phase)) + cogging sin(cycles θ + phase) + offset, where a
    follows the command with a first-order lag.

    Attributes:
        limit: Largest torque the amplifier gives > 0; None for the robot's effort limit.
        lag: Time constant of the amplifier ≥ 0.
        gain_error: Relative error of the torque constant: 0.02 gives 2 % more than was asked for.
        offset: Torque at zero command.
        ripple: Relative ripple ≥ 0, proportional to the torque.
        cogging: Ripple without current ≥ 0.
        cycles: Periods of ripple and cogging per turn of the joint (per 2π m of a linear joint).
        phase: Phase of both at position 0.
    """

    limit: Annotated[npt.ArrayLike | None, "N m"] = None
    lag: Annotated[npt.ArrayLike, "s"] = 0.0
    gain_error: npt.ArrayLike = 0.0
    offset: Annotated[npt.ArrayLike, "N m"] = 0.0
    ripple: npt.ArrayLike = 0.0
    cogging: Annotated[npt.ArrayLike, "N m"] = 0.0
    cycles: Annotated[npt.ArrayLike, "per turn"] = 1.0
    phase: Annotated[npt.ArrayLike, "rad"] = 0.0

    def __post_init__(self) -> None:
        """Check and store as arrays."""
        if self.limit is not None:
            limit = joint_values(self.limit, "actuator.limit", above=0.0, may_be_infinite=True)
            object.__setattr__(self, "limit", limit)
        object.__setattr__(self, "lag", joint_values(self.lag, "actuator.lag", least=0.0, most=1e3))
        gain_error = joint_values(self.gain_error, "actuator.gain_error", above=-1.0, most=1.0)
        object.__setattr__(self, "gain_error", gain_error)
        for name in ("offset", "phase"):
            object.__setattr__(self, name, joint_values(getattr(self, name), f"actuator.{name}"))
        for name in ("ripple", "cogging", "cycles"):
            object.__setattr__(self, name, joint_values(getattr(self, name), f"actuator.{name}", least=0.0))


@dataclass(frozen=True, slots=True, eq=False)
class FlowValve:
    """A hydraulic cylinder or vane behind a servo valve: the command opens a valve, and the flow sets a speed.

    The commanded torque divided by ``limit`` is the opening y ∈ [−1, 1] of the spool, which follows with a
    first-order lag. The torque is the pressure's: τ̇ = K (v_0 y √(1 − sgn(y) τ/τ_s) − θ̇) − λ τ.

    Attributes:
        limit: Command that opens the valve fully > 0.
        free_speed: Speed v_0 > 0 of the unloaded joint at full opening.
        stiffness: Stiffness K > 0 of the enclosed fluid, hoses included.
        supply: Torque τ_s > 0 at supply pressure; relief valves hold the torque within ±τ_s.
        leakage: Rate λ ≥ 0 at which pressure leaks across the piston.
        overlap: Part of the stroke, 0 ≤ overlap < 1, that opens nothing.
        lag: Time constant of the spool ≥ 0.
    """

    limit: Annotated[npt.ArrayLike, "N m"] = 1.0
    free_speed: Annotated[npt.ArrayLike, "rad/s"] = 1.0
    stiffness: Annotated[npt.ArrayLike, "N m/rad"] = 1e4
    supply: Annotated[npt.ArrayLike, "N m"] = 1.0
    leakage: Annotated[npt.ArrayLike, "1/s"] = 0.0
    overlap: npt.ArrayLike = 0.0
    lag: Annotated[npt.ArrayLike, "s"] = 0.0

    def __post_init__(self) -> None:
        """Check and store as arrays."""
        for name in ("limit", "free_speed", "stiffness", "supply"):
            object.__setattr__(self, name, joint_values(getattr(self, name), f"actuator.{name}", above=0.0))
        for name, most in (("leakage", 1e6), ("lag", 1e3), ("overlap", 0.99)):
            object.__setattr__(self, name, joint_values(getattr(self, name), f"actuator.{name}", least=0.0, most=most))


@dataclass(frozen=True, slots=True, eq=False)
class Brake:
    """A brake on the motor shaft: dry friction with a little give, on when the plant has stopped.

    Attributes:
        torque: Holding torque > 0.
        give: Scale of its elastic give before it slips > 0.
    """

    torque: Annotated[npt.ArrayLike, "N m"] = 1.0
    give: Annotated[npt.ArrayLike, "rad"] = 1e-3

    def __post_init__(self) -> None:
        """Check and store as arrays."""
        for name in ("torque", "give"):
            object.__setattr__(self, name, joint_values(getattr(self, name), f"brake.{name}", above=0.0))


@dataclass(frozen=True, slots=True, eq=False)
class Warmth:
    """The temperature of a drive: heated by its friction, cooled by its surroundings.

    Attributes:
        ambient: Temperature of the surroundings.
        initial: Temperature at the start; None for ambient.
        resistance: Steady rise per watt of friction ≥ 0.
        time_constant: Time constant of warming up > 0.
    """

    ambient: Annotated[npt.ArrayLike, "°C"] = 20.0
    initial: Annotated[npt.ArrayLike | None, "°C"] = None
    resistance: Annotated[npt.ArrayLike, "K/W"] = 0.0
    time_constant: Annotated[npt.ArrayLike, "s"] = 600.0

    def __post_init__(self) -> None:
        """Check and store as arrays."""
        ambient = joint_values(self.ambient, "warmth.ambient", least=-273.15, most=1e3)
        initial = (
            ambient if self.initial is None else joint_values(self.initial, "warmth.initial", least=-273.15, most=1e3)
        )
        object.__setattr__(self, "ambient", ambient)
        object.__setattr__(self, "initial", initial)
        object.__setattr__(self, "resistance", joint_values(self.resistance, "warmth.resistance", least=0.0))
        object.__setattr__(self, "time_constant", joint_values(self.time_constant, "warmth.time_constant", above=0.0))


@dataclass(frozen=True, slots=True, eq=False)
class Drive:
    """The drives of all joints.

    Attributes:
        inertia: Rotor inertia, reflected to the link side ≥ 0; None for the robot's own.
        gear: The gears.
        friction: Friction on the motor side; None for none.
        actuator: What makes the torque.
        brake: The brakes; None where there are none.
        warmth: The temperature.
    """

    inertia: Annotated[npt.ArrayLike | None, "kg m²"] = None
    gear: Gear = Gear()
    friction: LuGre | None = None
    actuator: TorqueSource | FlowValve = TorqueSource()
    brake: Brake | None = None
    warmth: Warmth = Warmth()

    def __post_init__(self) -> None:
        """Check the parts."""
        if self.inertia is not None:
            object.__setattr__(self, "inertia", joint_values(self.inertia, "drive.inertia", least=0.0))
        of_kind(self.gear, "drive.gear", (Gear,))
        of_kind(self.friction, "drive.friction", (LuGre, type(None)))
        of_kind(self.actuator, "drive.actuator", (TorqueSource, FlowValve))
        of_kind(self.brake, "drive.brake", (Brake, type(None)))
        of_kind(self.warmth, "drive.warmth", (Warmth,))
