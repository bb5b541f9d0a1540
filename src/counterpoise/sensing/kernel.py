"""Which inner loops run: the native ones where they were built, else the NumPy specification.

In the environment, ``COUNTERPOISE_DISABLE_NATIVE=1`` forces the specification.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..foundation import native_part
from . import hold, square_root

__all__ = [
    "NATIVE",
    "fold",
    "fold_torques",
    "head",
    "judge",
    "relearn",
    "solve",
    "tail_variances",
]


_MODULE = native_part("sensing")

NATIVE = _MODULE is not None
"""Whether the native loops are in use."""

if TYPE_CHECKING:
    judge, relearn = hold.judge, hold.relearn
    fold, fold_torques, head = square_root.fold, square_root.fold_torques, square_root.head
    solve, tail_variances = square_root.solve, square_root.tail_variances
else:
    judge, relearn = (getattr(_MODULE or hold, name) for name in ("judge", "relearn"))
    fold, fold_torques, head, solve, tail_variances = (
        getattr(_MODULE or square_root, name) for name in ("fold", "fold_torques", "head", "solve", "tail_variances")
    )
