"""Which inner loops run: the native ones, or else the NumPy specification.

In the environment, ``COUNTERPOISE_DISABLE_NATIVE=1`` forces the specification.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..foundation import native_part
from . import hold, square_root

_PART = native_part("sensing")

NATIVE = _PART is not None
"""Whether the native loops are in use."""

if TYPE_CHECKING:
    judge, relearn = hold.judge, hold.relearn
    fold, fold_torques, head = square_root.fold, square_root.fold_torques, square_root.head
    solve, tail_variances = square_root.solve, square_root.tail_variances
else:
    judge, relearn = (getattr(_PART or hold, name) for name in ("judge", "relearn"))
    fold, fold_torques, head, solve, tail_variances = (
        getattr(_PART or square_root, name) for name in ("fold", "fold_torques", "head", "solve", "tail_variances")
    )
