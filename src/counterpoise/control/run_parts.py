"""What a run is told, what it ends with and what it leaves behind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..description.frozen import Array
from ..dynamics.robot import Robot
from .fault import Fault
from .law import Law


class Halt(NamedTuple):
    """Why the ticks ended; with Fault.NONE, as asked."""

    fault: Fault = Fault.NONE
    message: str = ""
    cause: BaseException | None = None
    end_of_log: bool = False


class Switch(NamedTuple):
    """A passage to other laws, or to another payload, that was asked for; None for what stays as it is."""

    laws: tuple[Law, ...] | None
    robot: Robot | None
    ticks: int
    fresh: bool


class Kept(NamedTuple):
    """What a run that was told to keep going leaves applied.

    Attributes:
        tau: The torque sent last [N m or N], shape (n,).
        until: When the plant's watchdog takes it away, by the plant's clock [s]; inf without a watchdog.
    """

    tau: Array
    until: float


def cut_of(last: Array, asked: Sequence[Array]) -> Array:
    """Return what was sent minus what was asked for: exactly 0 where nothing was cut."""
    total = np.zeros_like(last)
    for torque in asked:  # in the filter's own order: rounding must not look like a cut, or integrals rest on it
        total += torque
    return np.asarray(last - total)


def shown(value: object) -> str:
    """Say what a law returned that is no torque."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} array of shape {value.shape}"
    return f"a {type(value).__name__}"
