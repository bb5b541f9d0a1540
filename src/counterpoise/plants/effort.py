"""From a drive's true current or pressure to the torque it reports."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..description.frozen import Array
from ..friction.parameters import for_joints
from .config import EffortSensor
from .noise import Counter, NormalRows


class EffortReader:
    """Torque sensing of n joints, sampled once per control tick.

    Args:
        effort: What it is.
        names: The joints.
        random: Source of its noise.
    """

    def __init__(self, effort: EffortSensor, names: Sequence[str], random: np.random.Generator) -> None:
        """Prepare the chain; parts that do nothing are left out of it."""
        self._noise = NormalRows(random, for_joints(np.asarray(effort.noise), "effort.noise", names))
        self._counter = Counter(for_joints(np.asarray(effort.resolution), "effort.resolution", names))

    def read(self, torque: Array) -> Array:
        """Return the reported torques [N m or N], shape (n,), in a new array."""
        read = torque + self._noise.row() if self._noise.any else torque
        return self._counter.counted(read) if self._counter.counts else read.copy()
