"""What the page knows of the arm at one instant: made by the session's thread, read by any other."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ..foundation import Array
from ..sensing import PayloadEstimate


class State(StrEnum):
    """What the arm is doing."""

    FLOATING = "floating"
    HOLDING = "holding"
    WEIGHING = "weighing"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Weight:
    """A weight that hangs on the arm.

    Attributes:
        link: Link that carries it.
        mass: Its mass [kg].
        point: Where, in the link's frame [m].
    """

    link: str
    mass: float
    point: tuple[float, float, float]


@dataclass(frozen=True, slots=True, eq=False)
class Pull:
    """A hand on the arm, as it is drawn.

    Attributes:
        link: Link that it holds.
        at: Where it holds, base frame [m], shape (3,).
        target: Where it wants that point, base frame [m], shape (3,).
        force: What it exerts on the arm, base frame [N], shape (3,).
    """

    link: str
    at: Array
    target: Array
    force: Array


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """The arm at one instant. Arrays have shape (n,) unless stated.

    At rest, commanded = gravity + friction − external, but for what gears and amplifiers get wrong.

    Attributes:
        time: By the plant's clock [s].
        frame: Counts the snapshots.
        pace: Seconds of the plant's time per second of ours, over the last second or so.
        state: What the arm is doing.
        why: Why it is held or stopped; "" where it floats.
        q: Positions [rad or m].
        dq: Velocities [rad/s or m/s].
        commanded: What was sent [N m or N].
        gravity: ĝ(q) of the empty arm [N m or N].
        compensated: What of the command bears a payload that was found [N m or N].
        friction: What friction takes, f [N m or N]: the simulation's truth.
        external: What hands and weights do at the joints, τ_ext [N m or N]: the simulation's truth.
        plate_friction: Friction as the plate measures it [N m or N]; None while the plate is off.
        plate_force: Force from outside as the plate feels it, base frame [N], shape (3,); None while it is off.
        tip: Origin of the last link, base frame [m], shape (3,).
        pulls: Hands on the arm.
        weight: The weight that hangs on it; None for none.
        estimate: What the estimator knows of a payload.
        trusted: Whether that is known well enough to be compensated.
    """

    time: float
    frame: int
    pace: float
    state: State
    why: str
    q: Array
    dq: Array
    commanded: Array
    gravity: Array
    compensated: Array
    friction: Array
    external: Array
    plate_friction: Array | None
    plate_force: Array | None
    tip: Array
    pulls: tuple[Pull, ...]
    weight: Weight | None
    estimate: PayloadEstimate
    trusted: bool
