"""What happens to a simulated arm from outside during a run: pushes, and loads that come and go."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy.typing as npt

from ..errors import InputError
from .quantities import number, one_of, vector


@dataclass(frozen=True, slots=True, eq=False)
class Push:
    """A wrench on a link over a time window.

    Attributes:
        link: Link that is pushed; None for the only leaf.
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
        object.__setattr__(self, "wrench", _finite(self.wrench, "push.wrench", 6))
        object.__setattr__(self, "point", _finite(self.point, "push.point", 3))
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
        link: Link that carries it; None for the only leaf.
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
        object.__setattr__(self, "com", _finite(self.com, "payload.com", 3))
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


Event = Push | AttachPayload | RemovePayloads


def _finite(value: npt.ArrayLike, name: str, count: int) -> npt.ArrayLike:
    array = vector(value, name, (count,))
    if not abs(array).max() < math.inf:
        raise InputError(f"{name} holds numbers that are not finite")
    return array


def _check_link(link: object, name: str) -> None:
    if link is not None and not isinstance(link, str):
        raise InputError(f"{name} is {link!r}; expected the name of a link, or None for the only leaf")
