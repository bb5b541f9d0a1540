"""Random plates under random robots, for the tests of the plate."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from counterpoise import BaseSensor, Robot
from counterpoise.foundation import transform
from random_robots import random_rotation

Array = npt.NDArray[np.float64]


def random_pose(rng: np.random.Generator) -> Array:
    """Return any pose of a sensor within a metre, shape (4, 4)."""
    return transform(random_rotation(rng), rng.uniform(-1.0, 1.0, 3))


def random_sensor(robot: Robot, rng: np.random.Generator, reads: str) -> BaseSensor:
    """Return a plate with any pose, measurement point, cross-talk and bias."""
    return BaseSensor(
        robot,
        random_pose(rng),
        reads,
        point=rng.uniform(-0.2, 0.2, 3),
        gain=np.eye(6) + rng.uniform(-0.05, 0.05, (6, 6)),
        bias=rng.normal(size=6) * 5.0,
    )


def relative(error: Array, size: Array) -> float:
    """Return the largest error relative to the largest entry, at least 1."""
    return float(np.max(np.abs(error), initial=0.0)) / max(1.0, float(np.max(np.abs(size), initial=0.0)))
