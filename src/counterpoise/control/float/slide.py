"""How a joint stands against its dry friction: yielding, or sliding one way.

Before it slides a joint yields elastically (presliding: a milliradian or so), and friction is a spring there. A torque
that follows the velocity cannot help to break it loose, and feeds energy into that spring: the joint hums where it
should rest. So the state that friction is compensated by follows the way instead, as the stop of Prandtl does, and
forgets it in a time T:

    u ← clip(e^(−dt/T) u + Δq / width, −1, 1)

At ±1 the joint slides; after a turn u unwinds over 2 · width. A torque c F u is a share of a spring, then of a sliding
friction. It feeds no energy in as long as ``width`` is not shorter than the joint really yields, but for what it
forgets, which the law's damping outweighs. A joint at rest, or slower than width / T, is left to its own friction,
which then holds it whole.
"""

from __future__ import annotations

import math

import numpy as np

from ...description.frozen import Array, frozen

FORGETTING_TIME = 0.5
"""T [s]."""


class Slide:
    """Follows n joints."""

    def __init__(self, width: Array) -> None:
        """Let a joint yield by ``width`` [rad or m], > 0, shape (n,), before it slides."""
        self._width = frozen(width)
        self._last: Array | None = None
        self._u = np.zeros(len(self._width))

    def clear(self) -> None:
        """Forget the past: all joints stand."""
        self._last = None
        self._u = np.zeros(len(self._width))

    def state(self, q: Array, elapsed: float) -> Array:
        """Return u, from −1 to 1, shape (n,).

        Args:
            q: Positions [rad or m], shape (n,).
            elapsed: Time since the last call [s].
        """
        way = 0.0 if self._last is None else (q - self._last) / self._width
        self._u = np.clip(math.exp(-elapsed / FORGETTING_TIME) * self._u + way, -1.0, 1.0)
        self._last = q
        return self._u
