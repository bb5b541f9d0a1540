"""Read-only float64 arrays for published data."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def frozen(values: npt.ArrayLike | Iterable[float]) -> Array:
    """Return a C-contiguous float64 copy of ``values`` that refuses to be written to."""
    array = np.array(values, dtype=np.float64, order="C")
    array.setflags(write=False)
    return array
