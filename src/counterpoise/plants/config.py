"""One frozen object that says everything about a simulated arm, apart from the robot itself."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, Self

import numpy.typing as npt

from ..errors import InputError
from ..friction.parameters import joint_values
from .drive_config import Drive, FlowValve
from .events import AttachPayload, Bond, Event, Push, RemovePayloads, Surface
from .plate_config import Plate
from .quantities import described, number, of_kind, one_of

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
