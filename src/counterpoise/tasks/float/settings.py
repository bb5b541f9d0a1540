"""How an arm floats: one frozen object for the check, the law and the watch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy.typing as npt

from ...dynamics import FrictionLaw, numbers
from ...errors import InputError
from .watch import WatchSettings


@dataclass(frozen=True, slots=True)
class Cushion:
    """How the cushions of an arm are made.

    Attributes:
        rotary: Margin in front of the limits of joints that turn [rad].
        linear: Margin in front of the limits of joints that slide [m].
        effort: Largest torque b, as a fraction of the effort limit.
    """

    rotary: float = 0.12
    linear: float = 0.03
    effort: float = 0.2

    def __post_init__(self) -> None:
        """Refuse what is no cushion."""
        for name, most in (("rotary", 10.0), ("linear", 10.0), ("effort", 1.0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 < value <= most:
                raise InputError(f"cushion.{name} is {value!r}; expected a number above 0, at most {most:g}")


@dataclass(frozen=True, slots=True, eq=False)
class FloatSettings:
    """How an arm is to float. What concerns joints is refused where the joints are known, by FloatLaw and FloatCheck.

    Attributes:
        friction_fraction: Fraction c of the friction that is compensated, below 1, one number or n.
        friction: The friction law, link side; None for the dry friction that the check finds. Where nothing is
            compensated it is not needed, and left aside.
        damping: Damping [N m s/rad or N s/m], one number or n; None slows each joint in half a second, with the inertia
            that it has at the start.
        locked: Names of joints that are held where they are.
        hold_when_released: Hold the arm when it has come to rest, until it is pushed.
        cushion: Cushions in front of the joint limits; None for none.
        watch: When the arm counts as too fast or drifting.
        yields: How far the joints yield before they slide [rad or m], one number or n; None for 2 mrad and 0.5 mm.
            Shorter helps a push to break them loose, but must not be shorter than they really yield.
        repeats: How often the joints creep from both sides in the check, from 2 to 100: their scatter tells how sure
            the result is.
        by: What tells the holding torque in the check: the efforts measured, or the torques sent. A plant that adds
            gravity itself is always judged by what is sent.
    """

    friction_fraction: npt.ArrayLike = 0.0
    friction: FrictionLaw | None = None
    damping: npt.ArrayLike | None = None
    locked: tuple[str, ...] = ()
    hold_when_released: bool = False
    cushion: Cushion | None = Cushion()
    watch: WatchSettings = WatchSettings()  # noqa: RUF009  frozen
    yields: npt.ArrayLike | None = None
    repeats: int = 3
    by: Literal["effort", "command"] = "effort"

    def __post_init__(self) -> None:
        """Refuse what makes no sense for any arm; arrays become read-only."""
        for name in ("friction_fraction", "damping", "yields"):
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, numbers(value, name))
        object.__setattr__(self, "locked", tuple(self.locked))
        if isinstance(self.repeats, bool) or not isinstance(self.repeats, int) or not 2 <= self.repeats <= 100:
            raise InputError(f"repeats is {self.repeats!r}; expected a whole number from 2 to 100")
        if self.by not in ("effort", "command"):
            raise InputError(f"by is {self.by!r}; expected 'effort' or 'command'")
