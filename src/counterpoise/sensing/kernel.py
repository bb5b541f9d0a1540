"""Which inner loops run: the native ones, or else the NumPy specification.

In the environment, ``COUNTERPOISE_DISABLE_NATIVE=1`` forces the specification.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..foundation import native_part
from . import gate, hold, square_root

_PART = native_part("sensing")

NATIVE = _PART is not None
"""Whether the native loops are in use."""

if TYPE_CHECKING:
    watch = gate.watch
    judge, relearn, summarise = hold.judge, hold.relearn, hold.summarise
    fold, fold_torques, head = square_root.fold, square_root.fold_torques, square_root.head
    solve, tail_variances = square_root.solve, square_root.tail_variances
else:
    watch = (_PART or gate).watch
    judge, relearn, summarise = (getattr(_PART or hold, name) for name in ("judge", "relearn", "summarise"))
    fold, fold_torques, head, solve, tail_variances = (
        getattr(_PART or square_root, name) for name in ("fold", "fold_torques", "head", "solve", "tail_variances")
    )
