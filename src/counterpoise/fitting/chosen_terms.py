"""What a fit looks for beside the weights of the links: which terms the model has, and at which joints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Self, cast

from ..errors import InputError
from ..recording import Declared
from .term import ALL, EffortTerm, Selection, registered_terms, term_named

Bodies = Literal["gravity", "full"]

IN_EVERY_FILE = 10
"""Files name the terms up to this number also where they are not fitted, others only where they are: those of version 2
of the format began with these."""


@dataclass(frozen=True, init=False, repr=False)
class Terms:
    r"""The model that is fitted to the efforts of the joints, a sum of terms.

    .. math:: e = \kappa\,[Y(q + z, \dot q, \ddot q; g)\,\phi] + o + F_c \tanh(\dot q / v_0) + F_v \dot q + J \ddot q
              + k\,q + a \cos q + b \sin q + \dots

    κ is 1 unless a gain is fitted; e is then in the log's own unit, and so are o, F_c, F_v, J, k, a and b. Friction,
    rotor inertia and offset belong to the actuators: with a coupling G (q_motor = G q_link) they follow the motor's
    speed and act on the links by Gᵀ.

    ``bodies`` is "gravity" for masses and first moments (4 per body), "full" for inertias too (10 per body). A term of
    single joints is given as their names; ``("all",)`` stands for every joint with a measured effort. A term of the
    whole robot is True or False. :func:`.registered_terms` lists all there are; each is described in its own file.

    Example:
        ``Terms(bodies="gravity", offset=("all",), spring=("elbow",), tilt=True)``

    Attributes:
        selections: The terms that are chosen, by number, and how; each can also be read by its name, ``terms.spring``.
    """

    selections: tuple[tuple[str, Selection], ...]

    def __init__(self, /, **selections: object) -> None:
        """Choose terms; those that are not named are not fitted, and all parameters of the bodies are.

        Raises:
            InputError: There is no such term, or a selection is none.
        """
        known = registered_terms()
        for name in selections:
            if term_named(name) is None:
                raise InputError(f"there is no term '{name}'; there are {', '.join(term.name for term in known)}")
        checked = {term.name: term.checked(selections.get(term.name, term.default)) for term in known}
        object.__setattr__(self, "selections", tuple((name, chosen) for name, chosen in checked.items() if chosen))

    def __getattr__(self, name: str) -> Any:
        """Return how a term is chosen: joint names, or True or False for a term of the whole robot."""
        if name.startswith("__") or name == "selections" or (term := term_named(name)) is None:
            raise AttributeError(f"Terms has no attribute '{name}'")
        return dict(self.selections).get(name, term.default)

    def __repr__(self) -> str:
        """Return what would make these terms."""
        return f"Terms({', '.join(f'{name}={selection!r}' for name, selection in self.selections)})"

    @property
    def bodies(self) -> Bodies:
        """Which parameters of the bodies are fitted."""
        return cast(Bodies, dict(self.selections)["bodies"])

    @cached_property
    def chosen(self) -> tuple[EffortTerm, ...]:
        """The terms that are fitted, by number, the bodies among them."""
        return tuple(term for term in registered_terms() if term.name in dict(self.selections))

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
        return terms.replace(gain=(ALL,)) if unknown else terms

    @classmethod
    def from_table(cls, table: Mapping[str, Selection]) -> Self:
        """Return the terms that a file names."""
        return cls(**table)

    def table(self) -> dict[str, Selection]:
        """Return the terms as files name them."""
        named = (term for term in registered_terms() if term.number <= IN_EVERY_FILE or term in self.chosen)
        return {term.name: getattr(self, term.name) for term in named}

    def replace(self, /, **selections: object) -> Self:
        """Return these terms, some of them chosen otherwise."""
        return type(self)(**{**dict(self.selections), **selections})

    def joints(self, term: str, active: Iterable[str]) -> tuple[str, ...]:
        """Return the joints that have a term, in the order of ``active``, the joints with a measured effort.

        Raises:
            InputError: A joint is named that has no measured effort.
        """
        selection = getattr(self, term)
        chosen = selection if isinstance(selection, tuple) else ()
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
        return any(term.needs_motion(getattr(self, term.name)) for term in self.chosen)

    @property
    def linear(self) -> bool:
        """Whether the model is linear in all its unknowns: no gain, zero or tilt."""
        return not any(term.adjusts for term in self.chosen)
