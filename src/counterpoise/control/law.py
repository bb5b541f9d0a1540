"""The interface of a control law: a small object that turns a sample into joint torques."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from ..description.frozen import Array
from ..logs.sample import Sample


@runtime_checkable
class Law(Protocol):
    """A control law. It sees checked samples only, and nothing it returns reaches a motor before the safety filter.

    A law may return the same array on every tick; the loop does not keep it.
    """

    @property
    def adds_gravity(self) -> bool:
        """Whether the torque already holds the arm's weight; a plant that adds gravity itself is then refused."""
        ...

    @property
    def uses_wrench(self) -> bool:
        """Whether the law reads ``sample.wrench``; only then does an invalid or saturated plate stop the arm."""
        ...

    def torque(self, sample: Sample, time: float) -> Array:
        """Return the joint torques [N m or N], link side, shape (n,), float64.

        Args:
            sample: The newest good sample.
            time: Seconds since the run began; it advances by one period per tick.
        """
        ...

    def reset(self, sample: Sample) -> None:
        """Forget the past and start from ``sample``: the loop calls it at the start of a run and at a switch."""
        ...


@runtime_checkable
class LimitAware(Protocol):
    """A law that wants to know what the safety filter made of its torque, for example to stop integrating."""

    def limited(self, cut: Array) -> None:
        """Take note of ``cut``, shape (n,): what was sent minus what this tick's laws asked for [N m or N]."""
        ...


@runtime_checkable
class Reporting(Protocol):
    """A law that has something to tell now and then, for example that a sensor it can do without has failed."""

    def news(self) -> list[tuple[str, str]]:
        """Return what happened since the last call, as kinds and messages of events, and forget it."""
        ...
