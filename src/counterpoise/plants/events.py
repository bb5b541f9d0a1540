"""What happens to a simulated arm from outside during a run: pushes, loads that come and go, and what it touches."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..foundation import frozen
from .quantities import number, of_kind, one_of, vector


@dataclass(frozen=True, slots=True, eq=False)
class Push:
    """A wrench on a link over a time window.

    Attributes:
        link: Link that is pushed; None for the tip of an arm that is not branched.
        wrench: Force and moment acting on the robot, force first, shape (6,).
        start: When it begins, by the plant's clock.
        end: When it ends; inf for never.
        point: Where the force acts, in the link's frame, shape (3,).
        axes: "base": the wrench keeps its direction in the base frame; "link": it turns with the link.
    """

    link: str | None = None
    wrench: Annotated[npt.ArrayLike, "N, N m"] = (0.0,) * 6
    start: Annotated[float, "s"] = 0.0
    end: Annotated[float, "s"] = math.inf
    point: Annotated[npt.ArrayLike, "m"] = (0.0,) * 3
    axes: Literal["base", "link"] = "base"

    def __post_init__(self) -> None:
        """Check and store as arrays."""
        _check_link(self.link, "push.link")
        object.__setattr__(self, "wrench", vector(self.wrench, "push.wrench", (6,)))
        object.__setattr__(self, "point", vector(self.point, "push.point", (3,)))
        object.__setattr__(self, "start", number(self.start, "push.start"))
        object.__setattr__(self, "end", number(self.end, "push.end"))
        one_of(self.axes, "push.axes", ("base", "link"))
        if not self.end > self.start:
            raise InputError(f"push.end is {self.end} s; expected a time after push.start = {self.start} s")


@dataclass(frozen=True, slots=True, eq=False)
class AttachPayload:
    """A load is fixed to a link; it joins at the link's speed.

    Attributes:
        time: When, by the plant's clock; it takes effect at the next control tick.
        mass: Mass of the load ≥ 0.
        com: Its centre of mass in the link's frame, shape (3,).
        link: Link that carries it; None for the tip of an arm that is not branched.
        inertia: Its inertia about its own centre of mass in the link's axes, shape (3, 3); None for a point.
    """

    time: Annotated[float, "s"] = 0.0
    mass: Annotated[float, "kg"] = 0.0
    com: Annotated[npt.ArrayLike, "m"] = (0.0,) * 3
    link: str | None = None
    inertia: Annotated[npt.ArrayLike | None, "kg m²"] = None

    def __post_init__(self) -> None:
        """Check and store as arrays."""
        object.__setattr__(self, "time", number(self.time, "payload.time"))
        object.__setattr__(self, "mass", number(self.mass, "payload.mass", least=0.0))
        object.__setattr__(self, "com", vector(self.com, "payload.com", (3,)))
        _check_link(self.link, "payload.link")
        if self.inertia is not None:
            object.__setattr__(self, "inertia", vector(self.inertia, "payload.inertia", (3, 3)))


@dataclass(frozen=True, slots=True, eq=False)
class RemovePayloads:
    """Every load is taken off, those the robot carried at the start included.

    Attributes:
        time: When, by the plant's clock; it takes effect at the next control tick.
    """

    time: Annotated[float, "s"] = 0.0

    def __post_init__(self) -> None:
        """Check."""
        object.__setattr__(self, "time", number(self.time, "payload.time"))


@dataclass(frozen=True, slots=True, eq=False)
class Surface:
    """A plane that pushes back on a point of a link.

    With δ the depth of the point below the plane and v its velocity along the outward normal n, the plane exerts
    N = max(0, k δ − d v) along n while δ > 0, and friction μ N against the sliding; below ``slip_speed`` friction is
    proportional to the speed, so a point at rest creeps under a sideways force.

    Attributes:
        link: Link whose point touches; None for the tip of an arm that is not branched.
        point: That point, in the link's frame, shape (3,).
        origin: A point of the plane, in the base frame, shape (3,).
        normal: Outward normal, in the base frame, shape (3,); any length.
        stiffness: k > 0.
        damping: d ≥ 0.
        friction: μ ≥ 0.
        slip_speed: Speed > 0 from which friction is whole.
    """

    link: str | None = None
    point: Annotated[npt.ArrayLike, "m"] = (0.0,) * 3
    origin: Annotated[npt.ArrayLike, "m"] = (0.0,) * 3
    normal: npt.ArrayLike = (0.0, 0.0, 1.0)
    stiffness: Annotated[float, "N/m"] = 1e4
    damping: Annotated[float, "N s/m"] = 100.0
    friction: float = 0.0
    slip_speed: Annotated[float, "m/s"] = 5e-3

    def __post_init__(self) -> None:
        """Check and store as arrays."""
        _check_link(self.link, "surface.link")
        for name in ("point", "origin"):
            object.__setattr__(self, name, vector(getattr(self, name), f"surface.{name}", (3,)))
        normal = vector(self.normal, "surface.normal", (3,))
        size = float(np.linalg.norm(normal))
        if not size > 1e-9:
            raise InputError(f"surface.normal is {normal.tolist()}; expected a direction")
        object.__setattr__(self, "normal", frozen(normal / size))
        object.__setattr__(self, "stiffness", number(self.stiffness, "surface.stiffness", above=0.0, most=1e7))
        object.__setattr__(self, "damping", number(self.damping, "surface.damping", least=0.0, most=1e5))
        object.__setattr__(self, "friction", number(self.friction, "surface.friction", least=0.0, most=10.0))
        object.__setattr__(self, "slip_speed", number(self.slip_speed, "surface.slip_speed", above=0.0, most=1.0))


@dataclass(frozen=True, slots=True, eq=False)
class Bond:
    """Two links joined by a stiff spring and damper in all six directions, for example by a part that both hold.

    It joins them where they are at the start of the run, without force; it acts at the origin of ``second``.

    Attributes:
        first: One link.
        second: The other.
        stiffness: Against displacement > 0.
        damping: ... its damping ≥ 0.
        turn_stiffness: Against rotation > 0.
        turn_damping: ... its damping ≥ 0.
    """

    first: str
    second: str
    stiffness: Annotated[float, "N/m"] = 1e4
    damping: Annotated[float, "N s/m"] = 100.0
    turn_stiffness: Annotated[float, "N m/rad"] = 100.0
    turn_damping: Annotated[float, "N m s/rad"] = 1.0

    def __post_init__(self) -> None:
        """Check."""
        for name in ("first", "second"):
            of_kind(getattr(self, name), f"bond.{name}", (str,))
        if self.first == self.second:
            raise InputError(f"bond joins link '{self.first}' to itself; expected two links")
        for name in ("stiffness", "turn_stiffness"):
            object.__setattr__(self, name, number(getattr(self, name), f"bond.{name}", above=0.0, most=1e7))
        for name in ("damping", "turn_damping"):
            object.__setattr__(self, name, number(getattr(self, name), f"bond.{name}", least=0.0, most=1e5))


Event = Push | AttachPayload | RemovePayloads | Surface | Bond


def _check_link(link: object, name: str) -> None:
    if link is not None and not isinstance(link, str):
        raise InputError(f"{name} is {link!r}; expected the name of a link, or None for the tip")
