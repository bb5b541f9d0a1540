"""The plant protocol: how a controller drives an arm, real, simulated or replayed; and the clock of a loop."""

from __future__ import annotations

import time
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, runtime_checkable

import numpy as np

from ..errors import CounterpoiseError, InputError, PlantError, SensorFaultError
from ..foundation import Array, frozen
from ..recording import Sample, SampleFlag

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


ENTRY_POINTS = "counterpoise.plants"
"""Group under which other packages register plants: name = "package.module:PlantClass"."""


@dataclass(frozen=True, slots=True, eq=False)
class PlateInfo:
    """What is known of the six-axis plate under the base.

    Attributes:
        reads: "on_robot" when the reading is what the plate exerts on the robot (upright at rest fz = +m g),
            "on_sensor" when it is the opposite.
        T_base_sensor: Pose of the sensor's frame in the base frame, shape (4, 4).
        range: Largest reading per channel [N, N m], shape (6,); +inf where unknown.
    """

    reads: Literal["on_robot", "on_sensor"]
    T_base_sensor: Array
    range: Array

    def __post_init__(self) -> None:
        """Freeze the arrays and refuse what cannot be."""
        if self.reads not in ("on_robot", "on_sensor"):
            raise InputError(f"reads is {self.reads!r}; expected 'on_robot' or 'on_sensor'")
        for name, shape in (("T_base_sensor", (4, 4)), ("range", (6,))):
            value = frozen(getattr(self, name))
            if value.shape != shape:
                raise InputError(f"{name} has shape {value.shape}; expected {shape}")
            object.__setattr__(self, name, value)
        if not np.all(np.isfinite(self.T_base_sensor)):
            raise InputError("T_base_sensor holds numbers that are not finite")
        if not np.all(self.range > 0.0):
            raise InputError(f"range is {self.range.tolist()}; expected six positive numbers [N, N m]")


@runtime_checkable
class Plant(Protocol):
    """An arm that can be read and driven. All arrays are float64, shape (n,), in the order of ``joint_names``.

    ``with plant: ...`` switches the arm on; leaving the block always ends in the declared safe state, also on an
    exception. A simulated plant advances its own time by one period per :meth:`write`.
    """

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the n joints."""
        ...

    @property
    def dt(self) -> float:
        """Nominal time between two writes [s]."""
        ...

    @property
    def lower(self) -> Array:
        """Lower position limits [rad or m]; −inf where none."""
        ...

    @property
    def upper(self) -> Array:
        """Upper position limits [rad or m]; +inf where none."""
        ...

    @property
    def velocity_limit(self) -> Array:
        """Largest speeds [rad/s or m/s]; +inf where unknown."""
        ...

    @property
    def effort_limit(self) -> Array:
        """Largest torques, link side [N m or N]; +inf where unknown."""
        ...

    @property
    def adds_gravity(self) -> bool:
        """Whether the arm's own controller adds the torque that holds its weight."""
        ...

    @property
    def effort_kind(self) -> Literal["torque", "current"]:
        """What ``sample.tau`` is: link-side torque [N m or N] or motor current [A]. Commands are always torques."""
        ...

    @property
    def watchdog(self) -> float | None:
        """Seconds without a write after which the hardware itself stops; None when there is no such watchdog."""
        ...

    @property
    def stop(self) -> Literal["zero", "brake"]:
        """What :meth:`emergency_stop` does: torque to zero (the arm falls), or brakes."""
        ...

    @property
    def plate(self) -> PlateInfo | None:
        """The plate under the base; None where there is none."""
        ...

    def __enter__(self) -> Self:
        """Switch on. Reading and writing are possible from here on."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        """Bring the arm to its declared safe state, whatever happened, and switch off."""
        ...

    def read(self) -> Sample:
        """Return the newest sample; its arrays are never written to again.

        Raises:
            EndOfLogError: A recording has no further samples.
        """
        ...

    def write(self, tau: Array) -> Array:
        """Send joint torques [N m or N], link side, and return what was really sent, shape (n,).

        ``tau`` belongs to the caller, who changes it on the next tick: copy what must be kept. After
        :meth:`emergency_stop` nothing is sent and zeros are returned.
        """
        ...

    def emergency_stop(self) -> None:
        """Go to the declared ``stop`` at once and stay there until the plant is entered again; may be repeated."""
        ...


@runtime_checkable
class BrakedPlant(Plant, Protocol):
    """A plant that says when brakes hold it. Both members are optional: a plant without them is a Plant all the same.

    The loop then lets the torque rise behind the closed brakes, and opens them. Its ``stop`` is "brake": an
    :meth:`emergency_stop` closes them at once.
    """

    @property
    def held(self) -> Literal["brakes"] | None:
        """What holds the arm now: "brakes" while any of them is closed, None once all are open."""
        ...

    def release(self) -> None:
        """Tell the brakes to open, and return without waiting: what was written last goes on. ``held`` says when."""
        ...


def standing_sample(plant: Plant) -> Sample:
    """Return a sample of an arm that is not driven yet, to see where it stands.

    Raises:
        PlantError: The plant could not be read.
        SensorFaultError: There is no position for every joint in it.
    """
    try:
        sample = plant.read()
    except CounterpoiseError:
        raise
    except Exception as error:  # a driver's code: nothing has been sent yet
        raise PlantError(f"the plant could not be read: {type(error).__name__}: {error}. Nothing was moved") from error
    q = np.asarray(sample.q)
    if sample.flags & SampleFlag.Q_INVALID or q.shape != (len(plant.joint_names),) or not np.all(np.isfinite(q)):
        raise SensorFaultError(f"the plant does not say where the arm stands: q is {q.tolist()}. Nothing was moved")
    return sample


def installed_plants() -> dict[str, EntryPoint]:
    """Return the plants that installed packages register under ``counterpoise.plants``, by name.

    Raises:
        InputError: Two packages register different plants under one name: which arm would move is a matter of luck.
    """
    from importlib.metadata import entry_points

    points: dict[str, EntryPoint] = {}
    for point in entry_points(group=ENTRY_POINTS):
        other = points.setdefault(point.name, point)
        if other.value != point.value:
            raise InputError(
                f"plant '{point.name}' is registered twice, as {other.value} and {point.value}; remove one"
            )
    return points


def make_plant(name: str, **options: Any) -> Plant:
    """Make a plant that an installed package registers.

    Args:
        name: Its registered name.
        options: Passed on to the plant's class or function.

    Raises:
        InputError: No such plant is installed, or what its package registers does not make a plant. Our own errors
            from within it go through as they are.
    """
    points = installed_plants()
    if name not in points:
        shown = ", ".join(sorted(points)) or "none"
        raise InputError(f"no installed package registers a plant '{name}' under '{ENTRY_POINTS}'; installed: {shown}")
    step = "loaded"
    try:
        factory = points[name].load()
        step = f"made with {', '.join(options) or 'no options'}"
        plant = factory(**options)
    except CounterpoiseError:
        raise
    except Exception as error:  # a driver's code, which may need libraries and ports that are not there
        reason = f"{type(error).__name__}: {error}"
        raise InputError(f"plant '{name}' ({points[name].value}) cannot be {step}: {reason}") from error
    if not isinstance(plant, Plant):
        missing = [member for member in _MEMBERS if not hasattr(plant, member)]
        raise InputError(f"plant '{name}' ({points[name].value}) is no plant; it lacks {', '.join(missing)}")
    return plant


_MEMBERS = (*(name for name in vars(Plant) if not name.startswith("_")), "__enter__", "__exit__")


@runtime_checkable
class Clock(Protocol):
    """Time as a loop sees it; tests put their own in."""

    def now(self) -> float:
        """Return the time [s]; only differences mean something."""
        ...

    def wait_until(self, moment: float) -> None:
        """Return when ``moment`` [s] has come."""
        ...


class WallClock:
    """The machine's monotonic clock. Sleeping is late by some 0.1 ms on a desktop system: this is soft real time."""

    def now(self) -> float:
        """Return the time [s]."""
        return time.perf_counter()

    def wait_until(self, moment: float) -> None:
        """Sleep until ``moment`` [s]."""
        left = moment - time.perf_counter()
        if left > 0.0:
            time.sleep(left)
