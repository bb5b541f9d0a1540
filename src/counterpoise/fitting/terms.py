"""What a fit looks for beside the weights of the links: friction, offsets, rotors, springs, gains, zeros, tilt."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, Self

from ..errors import InputError
from ..recording import Declared

Bodies = Literal["gravity", "full"]

ALL = "all"
"""Stands for every joint where joint names are expected."""
JOINT_TERMS = ("offset", "coulomb", "viscous", "rotor", "spring", "counterbalance", "gain", "zero")
"""Terms that are chosen joint by joint."""


@dataclass(frozen=True, slots=True)
class Terms:
    r"""The model that is fitted to the efforts of the joints.

    .. math:: e = \kappa\,[Y(q + z, \dot q, \ddot q; g)\,\phi] + o + F_c \tanh(\dot q / v_0) + F_v \dot q + J \ddot q
              + k\,q + a \cos q + b \sin q.

    κ is 1 unless a gain is fitted; e is then in the log's own unit, and so are o, F_c, F_v, J, k, a and b. Terms given
    as joint names hold for those joints; ``("all",)`` stands for every joint with a measured effort. Friction, rotor
    inertia and offset belong to the actuators: with a coupling G (q_motor = G q_link) they follow the motor's speed and
    act on the links by Gᵀ.

    Attributes:
        bodies: "gravity" for masses and first moments (4 per body), "full" for inertias too (10 per body).
        offset: Constant o [N m or N].
        coulomb: F_c [N m or N].
        viscous: F_v [N m s/rad or N s/m].
        rotor: Drive inertia J at the link side [kg m² or kg].
        spring: Stiffness k [N m/rad or N/m]; its rest position is part of the offset.
        counterbalance: a and b [N m] of a counterweight or spring balancer; rotary joints.
        gain: κ, effort per torque [e.g. A/(N m)]; separable from mass only by runs with a weighed load.
        zero: Error z of the joint's zero [rad or m]: true position = measured + z.
        tilt: Whether the base leans: two small angles about the axes across gravity [rad].
    """

    bodies: Bodies = "full"
    offset: tuple[str, ...] = ()
    coulomb: tuple[str, ...] = ()
    viscous: tuple[str, ...] = ()
    rotor: tuple[str, ...] = ()
    spring: tuple[str, ...] = ()
    counterbalance: tuple[str, ...] = ()
    gain: tuple[str, ...] = ()
    zero: tuple[str, ...] = ()
    tilt: bool = False

    def __post_init__(self) -> None:
        """Freeze the names; refuse unknown kinds of bodies."""
        if self.bodies not in ("gravity", "full"):
            raise InputError(f"bodies is {self.bodies!r}; expected 'gravity' or 'full'")
        for term in JOINT_TERMS:
            object.__setattr__(self, term, _names(getattr(self, term), term))

    @classmethod
    def static(cls) -> Self:
        """Return what holding torques at rest can show: weights, and an offset per joint."""
        return cls(bodies="gravity", offset=(ALL,))

    @classmethod
    def moving(cls, declared: Declared | None = None) -> Self:
        """Return what a moving arm shows: inertias, friction, offset, rotors.

        Args:
            declared: What is known of the log. Currents without torque constants make the gains free: the result is
                then in command units.
        """
        terms = cls(offset=(ALL,), coulomb=(ALL,), viscous=(ALL,), rotor=(ALL,))
        unknown = declared is not None and declared.effort_is_command
        return replace(terms, gain=(ALL,)) if unknown else terms

    def joints(self, term: str, active: Iterable[str]) -> tuple[str, ...]:
        """Return the joints that have a term, in the order of ``active``, the joints with a measured effort.

        Raises:
            InputError: A joint is named that has no measured effort.
        """
        chosen: tuple[str, ...] = getattr(self, term)
        known = tuple(active)
        if ALL in chosen:
            return known
        for name in chosen:
            if name not in known:
                raise InputError(
                    f"{term} is asked for joint '{name}', which has no measured effort; the joints that have one are "
                    f"{', '.join(known)}"
                )
        return tuple(name for name in known if name in chosen)

    @property
    def need_motion(self) -> bool:
        """Whether a term shows only while the arm moves: inertias, viscous friction, rotors."""
        return bool(self.bodies == "full" or self.viscous or self.rotor)

    @property
    def linear(self) -> bool:
        """Whether the model is linear in all its unknowns: no gain, zero or tilt."""
        return not (self.gain or self.zero or self.tilt)


def _names(given: Iterable[str] | str, term: str) -> tuple[str, ...]:
    if isinstance(given, str):
        raise InputError(
            f"{term} is the text {given!r}; expected a tuple of joint names, or ('{ALL}',) for every joint"
        )
    names = tuple(given)
    if not all(isinstance(name, str) and name for name in names) or len(set(names)) != len(names):
        raise InputError(f"{term} is {list(names)}; expected different joint names, or ('{ALL}',) for every joint")
    return names
