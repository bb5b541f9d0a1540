"""The laws of a loop, and the passage from one set of laws to the next without a bump."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..description.frozen import Array, frozen
from ..errors import InputError
from ..logs.sample import Sample
from .law import Law, LimitAware, Reporting
from .reference import smooth_step
from .safety import SafetyFilter


class ConstantTorque:
    """A law that asks for the same torque always: what a run finds when it starts."""

    adds_gravity = False
    uses_wrench = False

    def __init__(self, tau: Array) -> None:
        """Ask for ``tau`` [N m or N], shape (n,)."""
        self._tau = frozen(tau)

    def torque(self, sample: Sample, time: float) -> Array:
        """Return the torque [N m or N], shape (n,)."""
        return self._tau

    def reset(self, sample: Sample) -> None:
        """Do nothing: there is no state."""


class Laws:
    """Laws whose torques are summed, fading in over those that came before.

    Over the blend time T both run, τ = (1 − s) τ_before + s τ_now with s = σ²(3 − 2σ), σ = t / T: continuous, never
    beyond the two, and with feedback throughout. A law that is in both sets keeps its whole share, and is asked once.
    """

    def __init__(self, laws: Sequence[Law], safety: SafetyFilter) -> None:
        """Sum ``laws``; ``safety`` is told whether one of them reads the plate."""
        self._laws = tuple(laws)
        self._before: tuple[Law, ...] = ()
        self._stays: tuple[bool, ...] = ()
        self._blending = False
        self._tick = self._ticks = 0
        self._safety = safety
        self._changed()

    @property
    def reporting(self) -> bool:
        """Whether a law may have something to tell."""
        return bool(self._reporters)

    @property
    def listening(self) -> bool:
        """Whether a law wants to know what became of its torque."""
        return bool(self._listeners)

    def blend_to(self, laws: Sequence[Law], ticks: int) -> None:
        """Pass to other laws over ``ticks`` ticks; where a blend is under way, from the torque sent last."""
        before = (ConstantTorque(self._safety.last),) if self._blending else self._laws
        self._laws = tuple(laws)
        self._before = tuple(law for law in before if not _among(law, self._laws))
        self._stays = tuple(_among(law, before) for law in self._laws)
        self._blending = bool(self._before) or not all(self._stays)
        self._tick, self._ticks = 0, ticks
        self._changed()

    def torques(self, sample: Sample, time: float) -> list[Array]:
        """Return what to sum: one array per law, as the laws return them where no blend is under way."""
        asked = [law.torque(sample, time) for law in self._laws]
        if not self._blending:
            return asked
        if self._tick >= self._ticks:
            self._before, self._blending = (), False
            self._changed()
            return asked
        share = smooth_step(self._tick / self._ticks)
        self._tick += 1
        before = [_scaled(law.torque(sample, time), 1.0 - share) for law in self._before]
        now = [torque if stays else _scaled(torque, share) for torque, stays in zip(asked, self._stays, strict=True)]
        return [*before, *now]

    def tell(self, cut: Array) -> None:
        """Tell the laws that want to know by how much what was sent differs from what was asked for."""
        for law in self._listeners:
            law.limited(cut)

    def news(self) -> list[tuple[str, str]]:
        """Return what the laws have to tell, as kinds and messages of events."""
        return [event for law in self._reporters for event in law.news()]

    def in_force(self, law: Law) -> bool:
        """Tell whether ``law``, the very object, is one of those in force."""
        return _among(law, self._laws)

    def _changed(self) -> None:
        self._listeners = tuple(law for law in self._laws if isinstance(law, LimitAware))
        self._reporters = tuple(law for law in self._laws if isinstance(law, Reporting))
        self._safety.uses_wrench = any(law.uses_wrench for law in (*self._laws, *self._before))


def as_laws(law: Law | Sequence[Law]) -> tuple[Law, ...]:
    """Return one law or several as a tuple.

    Raises:
        InputError: There is none, one of them is no law, or two of them add gravity.
    """
    laws = tuple(law) if isinstance(law, Sequence) else (law,)
    if not laws:
        raise InputError("there is no law; give one, or several to be summed")
    for candidate in laws:
        if not isinstance(candidate, Law):
            raise InputError(f"{candidate!r} is no law: it lacks torque, reset, adds_gravity or uses_wrench")
    twice = [type(candidate).__name__ for candidate in laws if candidate.adds_gravity]
    if len(twice) > 1:
        raise InputError(f"{' and '.join(twice)} both add gravity; compensating twice throws the arm up. Keep one")
    return laws


def _among(law: Law, laws: Sequence[Law]) -> bool:
    """Tell whether ``law`` is one of ``laws``: the very object, as laws with arrays cannot be compared."""
    return any(law is other for other in laws)


def _scaled(torque: Array, share: float) -> Array:
    """Scale what is a torque; leave anything else for the filter to refuse."""
    return share * torque if isinstance(torque, np.ndarray) and torque.dtype == np.float64 else torque
