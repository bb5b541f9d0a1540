"""The configuration of a simulated arm, apart from the robot itself, as one frozen object.

It says how joints are driven (motor or valve, gear, friction, brake, warmth), how the plate under the base yields and
what its signals suffer on the way to the reader, and what timing, encoders, effort sensors and stops are like.

Every number is for one joint each, shape (n,), or one number for all joints, and reflected to the link side. The
defaults are those of an ideal drive: a rigid gear without friction and a perfect source of torque.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, Self

import numpy as np
import numpy.typing as npt

from ..dynamics import LuGre, joint_values
from ..errors import InputError
from .events import AttachPayload, Bond, Event, Push, RemovePayloads, Surface
from .quantities import described, number, of_kind, one_of, vector


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


@dataclass(frozen=True, slots=True, eq=False)
class Plate:
    """A force/torque plate. Six numbers are force first, in the sensor's axes at the sensor's origin.

    The wrench w that the plate exerts on the robot becomes the reading: low-pass filter, sign of ``reads``, cross-talk,
    bias, drift, walk and noise, resolution, saturation.

    Attributes:
        T_base_sensor: Pose of the sensor's frame in the base frame, shape (4, 4).
        reads: "on_robot" or, with the opposite sign, "on_sensor".
        stiffness: Stiffness along and about the sensor's axes > 0, shape (6,); None for a rigid plate.
        damping: Damping along and about them ≥ 0, shape (6,); only of a compliant plate.
        top_mass: Mass of the plate's upper half and of what is bolted between it and the robot ≥ 0; it moves with the
            base of a compliant plate, and its weight is tared away.
        top_com: Its centre of mass in the sensor's frame, shape (3,).
        top_inertia: Its moments of inertia about its centre of mass, along the sensor's axes ≥ 0, shape (3,).
        crosstalk: What a channel takes from each component, shape (6, 6); None for none. reading = crosstalk · w.
        bias: Reading without load, shape (6,).
        drift: Rate at which the bias moves, shape (6,).
        walk: Random walk of the bias ≥ 0, shape (6,): its standard deviation after one second.
        noise: Standard deviation of a reading ≥ 0, shape (6,), white from sample to sample.
        resolution: Step of the converter ≥ 0, shape (6,); 0 for none.
        range: Largest reading > 0, shape (6,); inf for none.
        cutoff: −3 dB frequency of the second-order low-pass; inf for none.
    """

    T_base_sensor: npt.ArrayLike | None = None
    reads: Literal["on_robot", "on_sensor"] = "on_robot"
    stiffness: Annotated[npt.ArrayLike | None, "N/m, N m/rad"] = None
    damping: Annotated[npt.ArrayLike, "N s/m, N m s/rad"] = (0.0,) * 6
    top_mass: Annotated[float, "kg"] = 0.0
    top_com: Annotated[npt.ArrayLike, "m"] = (0.0,) * 3
    top_inertia: Annotated[npt.ArrayLike, "kg m²"] = (0.0,) * 3
    crosstalk: npt.ArrayLike | None = None
    bias: Annotated[npt.ArrayLike, "N, N m"] = (0.0,) * 6
    drift: Annotated[npt.ArrayLike, "N/s, N m/s"] = (0.0,) * 6
    walk: Annotated[npt.ArrayLike, "N/√s, N m/√s"] = (0.0,) * 6
    noise: Annotated[npt.ArrayLike, "N, N m"] = (0.0,) * 6
    resolution: Annotated[npt.ArrayLike, "N, N m"] = (0.0,) * 6
    range: Annotated[npt.ArrayLike, "N, N m"] = (math.inf,) * 6
    cutoff: Annotated[float, "Hz"] = math.inf

    def __post_init__(self) -> None:
        """Check and store as arrays."""
        one_of(self.reads, "plate.reads", ("on_robot", "on_sensor"))
        pose = np.eye(4) if self.T_base_sensor is None else self.T_base_sensor
        object.__setattr__(self, "T_base_sensor", _pose(pose))
        if self.stiffness is not None:
            stiffness = vector(self.stiffness, "plate.stiffness", (6,), above=0.0, may_be_infinite=True)
            if np.isinf(stiffness).any():
                raise InputError("plate.stiffness must be finite; give None for a rigid plate")
            object.__setattr__(self, "stiffness", stiffness)
        for name in ("damping", "walk", "noise", "resolution"):
            object.__setattr__(self, name, vector(getattr(self, name), f"plate.{name}", (6,), least=0.0))
        for name in ("bias", "drift"):
            object.__setattr__(self, name, vector(getattr(self, name), f"plate.{name}", (6,)))
        object.__setattr__(self, "range", vector(self.range, "plate.range", (6,), above=0.0, may_be_infinite=True))
        object.__setattr__(self, "top_mass", number(self.top_mass, "plate.top_mass", least=0.0, most=1e5))
        object.__setattr__(self, "top_com", vector(self.top_com, "plate.top_com", (3,)))
        object.__setattr__(self, "top_inertia", vector(self.top_inertia, "plate.top_inertia", (3,), least=0.0))
        mixing = np.eye(6) if self.crosstalk is None else self.crosstalk
        object.__setattr__(self, "crosstalk", vector(mixing, "plate.crosstalk", (6, 6)))
        object.__setattr__(self, "cutoff", number(self.cutoff, "plate.cutoff", above=0.0))


def _pose(value: npt.ArrayLike) -> npt.NDArray[np.float64]:
    pose = vector(value, "plate.T_base_sensor", (4, 4))
    rotation = pose[:3, :3]
    good = np.array_equal(pose[3], [0.0, 0.0, 0.0, 1.0])
    if not good or np.abs(rotation @ rotation.T - np.eye(3)).max() > 1e-9 or np.linalg.det(rotation) < 0.0:
        raise InputError("plate.T_base_sensor must be a pose: a right-handed rotation, a translation and (0, 0, 0, 1)")
    return pose


_IDEAL_DRIVE = Drive()


@dataclass(frozen=True, slots=True, eq=False)
class Timing:
    """The clocks.

    Attributes:
        dt: Time between two control ticks; a command is held in between (zero-order hold).
        physics_step: Longest step of the physics; the step taken is ``dt`` divided by a whole number.
        delay: Ticks between a write and its effect ≥ 0.
        integrator: "symplectic" for drives with friction or compliance, "rk4" for the energy of rigid, ideal arms.
    """

    dt: Annotated[float, "s"] = 1e-3
    physics_step: Annotated[float, "s"] = 1e-4
    delay: Annotated[int, "ticks"] = 0
    integrator: Literal["symplectic", "rk4"] = "symplectic"

    def __post_init__(self) -> None:
        """Check."""
        object.__setattr__(self, "dt", number(self.dt, "timing.dt", above=0.0, most=10.0))
        object.__setattr__(self, "physics_step", number(self.physics_step, "timing.physics_step", above=0.0, most=0.01))
        if isinstance(self.delay, bool) or not isinstance(self.delay, int) or not 0 <= self.delay <= 1000:
            raise InputError(f"timing.delay is {self.delay!r}; expected a whole number of ticks from 0 to 1000")
        one_of(self.integrator, "timing.integrator", ("symplectic", "rk4"))

    @property
    def steps(self) -> int:
        """Physics steps per control tick."""
        return max(1, math.ceil(self.dt / self.physics_step - 1e-9))

    @property
    def step(self) -> float:
        """The physics step taken [s]."""
        return self.dt / self.steps


@dataclass(frozen=True, slots=True, eq=False)
class Encoder:
    """Position and velocity as the controller sees them.

    Attributes:
        side: Where it sits: on the motor, reflected to the link side by the gear ratio, or on the link.
        resolution: One count ≥ 0, link side; 0 for none.
        noise: Standard deviation before counting ≥ 0.
        velocity: "difference" of two counts, low-passed; or the "exact" velocity.
        cutoff: −3 dB frequency of the velocity's first-order filter; inf for none.
    """

    side: Literal["motor", "link"] = "motor"
    resolution: Annotated[npt.ArrayLike, "rad"] = 0.0
    noise: Annotated[npt.ArrayLike, "rad"] = 0.0
    velocity: Literal["difference", "exact"] = "difference"
    cutoff: Annotated[float, "Hz"] = math.inf

    def __post_init__(self) -> None:
        """Check and store as arrays."""
        one_of(self.side, "encoder.side", ("motor", "link"))
        one_of(self.velocity, "encoder.velocity", ("difference", "exact"))
        for name in ("resolution", "noise"):
            object.__setattr__(self, name, joint_values(getattr(self, name), f"encoder.{name}", least=0.0, most=1.0))
        object.__setattr__(self, "cutoff", number(self.cutoff, "encoder.cutoff", above=0.0))


@dataclass(frozen=True, slots=True, eq=False)
class EffortSensor:
    """The torque a drive reports: that of its current at the nominal torque constant, or that of its pressure.

    Attributes:
        noise: Standard deviation ≥ 0.
        resolution: Step of the converter ≥ 0; 0 for none.
    """

    noise: Annotated[npt.ArrayLike, "N m"] = 0.0
    resolution: Annotated[npt.ArrayLike, "N m"] = 0.0

    def __post_init__(self) -> None:
        """Check and store as arrays."""
        for name in ("noise", "resolution"):
            object.__setattr__(self, name, joint_values(getattr(self, name), f"effort.{name}", least=0.0))


@dataclass(frozen=True, slots=True, eq=False)
class Stops:
    """Soft mechanical stops at the robot's position limits.

    Attributes:
        stiffness: Stiffness of the buffers > 0.
        damping: Damping of the buffers ≥ 0; they never pull.
    """

    stiffness: Annotated[npt.ArrayLike, "N m/rad"] = 1e3
    damping: Annotated[npt.ArrayLike, "N m s/rad"] = 10.0

    def __post_init__(self) -> None:
        """Check and store as arrays."""
        object.__setattr__(self, "stiffness", joint_values(self.stiffness, "stops.stiffness", above=0.0))
        object.__setattr__(self, "damping", joint_values(self.damping, "stops.damping", least=0.0))


@dataclass(frozen=True, slots=True, eq=False)
class ArmConfig:
    """A simulated arm. The defaults are ideal: nothing in the way between a command and the rigid links.

    Attributes:
        name: What it is called.
        seed: Seed of every random number of the run.
        timing: The clocks.
        drive: The joints' drives.
        encoder: Position and velocity sensing.
        effort: Torque sensing.
        plate: The plate under the base; None for none.
        stops: Mechanical stops; None for none.
        position: Link positions at the start, shape (n,); None for the middle of the joints' ranges.
        start: "held": the amplifiers begin with the holding torque, as if a brake had just been released;
            "slack": they begin with none; "braked": they begin with none behind closed brakes, which
            :meth:`~counterpoise.plants.base.SimulatedPlant.release` opens.
        events: Pushes and loads during the run, and what the arm touches.
        velocity_limit: Declared largest speeds, shape (n,); None for the robot's.
        adds_gravity: The arm's own controller adds the holding torque of the robot it was built for; not with a flow
            valve, which holds the arm by itself.
        watchdog: Declared time without a write until the hardware stops [s]; the simulated clock only moves by writes.
        stop: What an emergency stop does.
    """

    name: str = "ideal"
    seed: int = 0
    timing: Timing = Timing()
    drive: Drive = _IDEAL_DRIVE
    encoder: Encoder = Encoder(velocity="exact")
    effort: EffortSensor = EffortSensor()
    plate: Plate | None = None
    stops: Stops | None = None
    position: Annotated[npt.ArrayLike | None, "rad"] = None
    start: Literal["held", "slack", "braked"] = "held"
    events: tuple[Event, ...] = ()
    velocity_limit: Annotated[npt.ArrayLike | None, "rad/s"] = None
    adds_gravity: bool = False
    watchdog: Annotated[float | None, "s"] = 0.1
    stop: Literal["zero", "brake"] = "zero"

    def __post_init__(self) -> None:
        """Check the parts."""
        of_kind(self.name, "name", (str,))
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise InputError(f"seed is {self.seed!r}; expected a whole number of at least 0")
        for name, kinds in (
            ("timing", (Timing,)),
            ("drive", (Drive,)),
            ("encoder", (Encoder,)),
            ("effort", (EffortSensor,)),
            ("plate", (Plate, type(None))),
            ("stops", (Stops, type(None))),
            ("adds_gravity", (bool,)),
        ):
            of_kind(getattr(self, name), name, kinds)
        if self.position is not None:
            object.__setattr__(self, "position", joint_values(self.position, "position", least=-1e3, most=1e3))
        if self.velocity_limit is not None:
            limit = joint_values(self.velocity_limit, "velocity_limit", above=0.0, may_be_infinite=True)
            object.__setattr__(self, "velocity_limit", limit)
        one_of(self.start, "start", ("held", "slack", "braked"))
        object.__setattr__(self, "events", tuple(self.events))
        for event in self.events:
            of_kind(event, "an event", (Push, AttachPayload, RemovePayloads, Surface, Bond))
        if self.watchdog is not None:
            object.__setattr__(self, "watchdog", number(self.watchdog, "watchdog", above=0.0))
        one_of(self.stop, "stop", ("zero", "brake"))
        if self.adds_gravity and isinstance(self.drive.actuator, FlowValve):
            raise InputError(
                "adds_gravity is True but a flow valve takes no torque; it holds the arm by itself when shut"
            )
        if self.stop == "brake" and self.drive.brake is None:
            raise InputError("stop is 'brake' but drive.brake is None; give the drive a brake, or stop='zero'")
        if self.start == "braked" and self.stop != "brake":
            raise InputError("start is 'braked' but stop is 'zero'; brakes that hold at the start also stop the arm")
        if self.start == "braked" and isinstance(self.drive.actuator, FlowValve):
            raise InputError("start is 'braked' but the actuator is a flow valve, which holds the arm by itself")

    def replaced(self, **changes: Any) -> Self:
        """Return a copy with some fields changed, such as seed=3 or plate=None.

        Args:
            changes: New values by field name.

        Raises:
            InputError: There is no such field, or a value is not acceptable.
        """
        try:
            return replace(self, **changes)
        except TypeError as error:
            raise InputError(f"a configuration has no such field: {error}") from error

    def describe(self) -> str:
        """Return every setting with its unit, one per line, indented by part."""
        return "\n".join(described(self))
