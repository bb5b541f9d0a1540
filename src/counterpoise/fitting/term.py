"""A term of the model of the efforts: a class that says all that the rest of the package must know about it.

Each term is one file of the folder ``terms``; files there are found by themselves. The model (effort_model.py) is the
sum of its terms. It asks them for the columns that they add to the efforts, where they start and how far they may lie
from there; files, tables and the command line ask them for names, units and bounds. CONTRIBUTING.md says how a term is
added.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, ClassVar, TypeVar

import numpy as np

from ..dynamics import Robot
from ..errors import InputError
from ..foundation import Array

if TYPE_CHECKING:
    from .effort_model import EffortModel, Evaluation

ALL = "all"
"""Stands for every joint where joint names are expected."""
WIDE = 10.0
"""Standard deviation of a number about which nothing is known, over the size with which it would make up the whole
effort."""
EFFORT_UNITS = ("N m", "N")
"""Units of a rotary and of a linear joint's effort."""

Selection = str | bool | tuple[str, ...]
"""How a term is chosen: joint names, yes or no for the whole robot, or which body parameters."""


@dataclass(frozen=True, slots=True, eq=False)
class Scales:
    """Sizes of what was measured, root mean square per joint, shapes (n,): what the wide priors are scaled by.

    Attributes:
        effort: Of the efforts, in their unit; NaN where none was measured.
        speed: Of the actuators' speeds [rad/s or m/s].
        position: Spread of the positions about their mean [rad or m].
        inertia: Inertia that each joint drives, by the description [kg m² or kg].
    """

    effort: Array
    speed: Array
    position: Array
    inertia: Array

    @property
    def wide_effort(self) -> Array:
        """WIDE times every joint's effort, or WIDE where none was measured, shape (n,)."""
        return np.asarray(WIDE * np.where(np.isfinite(self.effort) & (self.effort > 0.0), self.effort, 1.0))


@dataclass(frozen=True, slots=True)
class ArmLimits:
    """The largest numbers that an arm of this size can have, in the unit of its efforts: a file with more is refused.

    Attributes:
        effort: [N m or N].
        inertia: [kg m² or kg].
        length: [m].
    """

    effort: float
    inertia: float
    length: float


@dataclass(frozen=True, slots=True, eq=False)
class RigidBody:
    """From what the rigid-body efforts are computed.

    Attributes:
        robot: As it is mounted.
        shift: What is added to the measured positions [rad or m], shape (n,).
        gain: Effort per torque, shape (n,).
    """

    robot: Robot
    shift: Array
    gain: Array


class EffortTerm(ABC):
    """One term; m unknowns, k samples, n joints, a of them with a measured effort.

    A term either adds efforts, columns times unknowns, or adjusts how the rigid-body efforts are computed
    (``adjusts``): then the model is not linear, and the columns are the derivatives at the present estimate.

    Attributes:
        name: Its name in :class:`.Terms`, files and on the command line.
        number: Its place among the terms. The unknowns stand in this order in files, so it never changes; a new term
            takes the next one.
        label: What was fitted, for a list in a sentence, e.g. "springs".
        summary: What it is, for the help of the command line.
        quantities: What the names of its unknowns end in.
        units: Of its unknowns, for a rotary and for a linear joint.
        adjusts: Whether it adjusts the rigid-body efforts.
        scales_efforts: Whether it is effort per torque. That is no property of the described arm, and makes a factor
            that all masses share.
        in_effort_unit: Whether its unit contains that of the efforts.
        motion_only: Whether it shows only while the arm moves.
        acts_at_rest: Whether it acts on an arm at rest beside its weight.
        follows_position: Whether that effort depends on the joint's position.
        lasting: Whether it stays what it is from one recording to the next.
        friction: Whether it is a part of the friction.
        rotary_only: Whether linear joints cannot have it.
        tried: Whether it is fitted at a joint without being asked for, where the evidence says so.
    """

    name: ClassVar[str]
    number: ClassVar[int]
    label: ClassVar[str]
    summary: ClassVar[str]
    quantities: ClassVar[tuple[str, ...]]
    units: ClassVar[tuple[str, str]] = EFFORT_UNITS
    adjusts: ClassVar[bool] = False
    scales_efforts: ClassVar[bool] = False
    in_effort_unit: ClassVar[bool] = True
    motion_only: ClassVar[bool] = False
    acts_at_rest: ClassVar[bool] = False
    follows_position: ClassVar[bool] = False
    lasting: ClassVar[bool] = False
    friction: ClassVar[bool] = False
    rotary_only: ClassVar[bool] = False
    tried: ClassVar[bool] = False

    @property
    def default(self) -> Selection:
        """The selection of a model that does not have the term; of the bodies, which every model has, the usual one."""
        return ()

    @property
    def adds(self) -> bool:
        """Whether it adds efforts to those of the rigid bodies."""
        return not self.adjusts

    def checked(self, selection: object) -> Selection:
        """Return a selection as the model has it: different joint names.

        Raises:
            InputError: It is none.
        """
        if isinstance(selection, str):
            raise InputError(
                f"{self.name} is the text {selection!r}; expected a tuple of joint names, or ('{ALL}',) for every joint"
            )
        names = tuple(selection) if isinstance(selection, Sequence) else ("",)
        if not all(isinstance(name, str) and name for name in names) or len(set(names)) != len(names):
            raise InputError(
                f"{self.name} is {selection!r}; expected different joint names, or ('{ALL}',) for every joint"
            )
        return names

    def asked_for(self, joints: tuple[str, ...]) -> Selection:
        """Return the selection that the command line asks for: some joints, or all of them."""
        return joints or (ALL,)

    def needs_motion(self, selection: Selection) -> bool:
        """Return whether what is selected shows only while the arm moves."""
        return self.motion_only and bool(selection)

    def hidden(self, robot: Robot) -> str:
        """Return why it cannot show on a robot; "" where it can."""
        return ""

    def names(self, model: EffortModel) -> list[str]:
        """Return the names of its unknowns, e.g. "elbow.coulomb", shape (m,)."""
        joints = model.terms.joints(self.name, model.joint_names)
        return [f"{joint}.{quantity}" for joint in joints for quantity in self.quantities]

    def unit(self, quantity: str, *, turns: bool) -> str:
        """Return the unit of one of its quantities at a rotary joint, or at a linear one."""
        return self.units[0 if turns else 1]

    def start(self, model: EffortModel) -> Array:
        """Return its unknowns before any data, shape (m,)."""
        return np.zeros(len(self.names(model)))

    def deviations(self, model: EffortModel, scales: Scales, start: Array) -> Array:
        """Return how far its unknowns may lie from their start, one standard deviation, shape (m,).

        Args:
            model: The model.
            scales: Sizes of what was measured.
            start: Where its unknowns start, shape (m,).
        """
        return np.repeat(self.spread(scales)[model.joints_of(self.name)], len(self.quantities))

    def spread(self, scales: Scales) -> Array:
        """Return the same for one unknown of every joint, shape (n,): the size that makes up the whole effort."""
        return scales.wide_effort

    def most(self, limits: ArmLimits) -> float:
        """Return the largest value that a file may hold."""
        return limits.effort

    def adjusted(self, body: RigidBody, model: EffortModel, values: Array) -> RigidBody:
        """Return from what the rigid-body efforts are computed.

        Args:
            body: The same without this term.
            model: The model.
            values: Its unknowns, shape (m,).
        """
        return body

    @abstractmethod
    def columns(self, at: Evaluation) -> Array:
        """Return the derivatives of the efforts by its unknowns, shape (k, a, m)."""


class JointTerm(EffortTerm):
    """A term that acts on its own joint only."""

    @abstractmethod
    def shapes(self, at: Evaluation) -> tuple[Array, ...]:
        """Return the efforts of a joint per unit of each quantity, shapes (k, n)."""

    def columns(self, at: Evaluation) -> Array:
        """Return the columns, shape (k, a, m)."""
        joints, rows = at.model.joints_of(self.name), at.model.rows_of(self.name)
        columns = np.zeros((len(at.samples), len(at.model.joint_names), len(joints) * len(self.quantities)))
        if len(joints):
            for step, shape in enumerate(self.shapes(at)):
                columns[:, rows, np.arange(len(joints)) * len(self.quantities) + step] = shape[:, joints]
        return columns


class ActuatorTerm(EffortTerm):
    """A term that follows an actuator's motion and acts on the joints that it moves, by the coupling's transpose."""

    @abstractmethod
    def shape(self, at: Evaluation) -> Array:
        """Return the efforts of every actuator per unit of its unknown, shape (k, n)."""

    def columns(self, at: Evaluation) -> Array:
        """Return the columns, shape (k, a, m)."""
        model, joints = at.model, at.model.joints_of(self.name)
        if not len(joints):
            return np.zeros((len(at.samples), len(model.joint_names), 0))
        return np.asarray(self.shape(at)[:, None, joints] * model.coupling[joints][:, model.active].T)


class DryFrictionTerm(ActuatorTerm):
    """Friction whose sign is that of its actuator's motion: in doubt where the motion reverses."""

    friction = True

    @abstractmethod
    def magnitude(self, at: Evaluation) -> Array:
        """Return its size per unit of its unknown, shape (k, n)."""

    def shape(self, at: Evaluation) -> Array:
        """Return it with its sign, shape (k, n)."""
        return np.asarray(at.direction * self.magnitude(at))


AnyTerm = TypeVar("AnyTerm", bound=type[EffortTerm])
_REGISTERED: dict[str, EffortTerm] = {}


def registered(term: AnyTerm) -> AnyTerm:
    """Make a term known; a decorator of its class.

    Raises:
        InputError: Another one has its name, its number or one of its quantities.
    """
    if "quantities" not in vars(term):
        term.quantities = (term.name,)
    for other in _REGISTERED.values():
        if other.name == term.name or other.number == term.number or set(other.quantities) & set(term.quantities):
            raise InputError(f"term '{term.name}' has the name, the number or a quantity of term '{other.name}'")
    _REGISTERED[term.name] = term()
    return term


@cache
def _imported() -> None:
    """Import the files of ``terms``, once."""
    folder = import_module(f"{__package__}.terms")
    for module in iter_modules(folder.__path__):
        import_module(f"{folder.__name__}.{module.name}")


def registered_terms() -> tuple[EffortTerm, ...]:
    """Return all terms, in the order of their numbers."""
    _imported()
    return tuple(sorted(_REGISTERED.values(), key=lambda term: term.number))


def term_named(name: str) -> EffortTerm | None:
    """Return the term of a name; None where there is none."""
    _imported()
    return _REGISTERED.get(name)


def term_of_quantity(quantity: str) -> EffortTerm | None:
    """Return the term whose unknowns' names end in a word, e.g. "cosine"; None where there is none."""
    return next((term for term in registered_terms() if quantity in term.quantities), None)
