"""The six-axis plate under the base: how it yields, and what its signals suffer on the way to the reader."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from .quantities import number, one_of, vector


@dataclass(frozen=True, slots=True, eq=False)
class Plate:
    """A force/torque plate. Six numbers are force first, in the sensor's axes at the sensor's origin.

    The wrench w that the plate exerts on the robot becomes the reading: low-pass filter, sign of ``reads``, cross-talk,
    bias, drift, walk and noise, resolution, saturation.

    Attributes:
        T_base_sensor: Pose of the sensor's frame in the base frame, shape (4, 4).
        reads: "on_robot" or, with the opposite sign, "on_sensor".
        stiffness: Stiffness along and about the sensor's axes > 0, shape (6,); None for a rigid plate.
        damping: Damping along and about them ≥ 0, shape (6,); only of a compliant plate.
        top_mass: Mass of the plate's upper half and of what is bolted between it and the robot ≥ 0; it moves with the
            base of a compliant plate, and its weight is tared away.
        top_com: Its centre of mass in the sensor's frame, shape (3,).
        top_inertia: Its moments of inertia about its centre of mass, along the sensor's axes ≥ 0, shape (3,).
        crosstalk: What a channel takes from each component, shape (6, 6); None for none. reading = crosstalk · w.
        bias: Reading without load, shape (6,).
        drift: Rate at which the bias moves, shape (6,).
        walk: Random walk of the bias ≥ 0, shape (6,): its standard deviation after one second.
        noise: Standard deviation of a reading ≥ 0, shape (6,), white from sample to sample.
        resolution: Step of the converter ≥ 0, shape (6,); 0 for none.
        range: Largest reading > 0, shape (6,); inf for none.
        cutoff: −3 dB frequency of the second-order low-pass; inf for none.
    """

    T_base_sensor: npt.ArrayLike | None = None
    reads: Literal["on_robot", "on_sensor"] = "on_robot"
    stiffness: Annotated[npt.ArrayLike | None, "N/m, N m/rad"] = None
    damping: Annotated[npt.ArrayLike, "N s/m, N m s/rad"] = (0.0,) * 6
    top_mass: Annotated[float, "kg"] = 0.0
    top_com: Annotated[npt.ArrayLike, "m"] = (0.0,) * 3
    top_inertia: Annotated[npt.ArrayLike, "kg m²"] = (0.0,) * 3
    crosstalk: npt.ArrayLike | None = None
    bias: Annotated[npt.ArrayLike, "N, N m"] = (0.0,) * 6
    drift: Annotated[npt.ArrayLike, "N/s, N m/s"] = (0.0,) * 6
    walk: Annotated[npt.ArrayLike, "N/√s, N m/√s"] = (0.0,) * 6
    noise: Annotated[npt.ArrayLike, "N, N m"] = (0.0,) * 6
    resolution: Annotated[npt.ArrayLike, "N, N m"] = (0.0,) * 6
    range: Annotated[npt.ArrayLike, "N, N m"] = (math.inf,) * 6
    cutoff: Annotated[float, "Hz"] = math.inf

    def __post_init__(self) -> None:
        """Check and store as arrays."""
        one_of(self.reads, "plate.reads", ("on_robot", "on_sensor"))
        pose = np.eye(4) if self.T_base_sensor is None else self.T_base_sensor
        object.__setattr__(self, "T_base_sensor", _pose(pose))
        if self.stiffness is not None:
            stiffness = vector(self.stiffness, "plate.stiffness", (6,), above=0.0, may_be_infinite=True)
            if np.isinf(stiffness).any():
                raise InputError("plate.stiffness must be finite; give None for a rigid plate")
            object.__setattr__(self, "stiffness", stiffness)
        for name in ("damping", "walk", "noise", "resolution"):
            object.__setattr__(self, name, vector(getattr(self, name), f"plate.{name}", (6,), least=0.0))
        for name in ("bias", "drift"):
            object.__setattr__(self, name, vector(getattr(self, name), f"plate.{name}", (6,)))
        object.__setattr__(self, "range", vector(self.range, "plate.range", (6,), above=0.0, may_be_infinite=True))
        object.__setattr__(self, "top_mass", number(self.top_mass, "plate.top_mass", least=0.0, most=1e5))
        object.__setattr__(self, "top_com", vector(self.top_com, "plate.top_com", (3,)))
        object.__setattr__(self, "top_inertia", vector(self.top_inertia, "plate.top_inertia", (3,), least=0.0))
        mixing = np.eye(6) if self.crosstalk is None else self.crosstalk
        object.__setattr__(self, "crosstalk", vector(mixing, "plate.crosstalk", (6, 6)))
        object.__setattr__(self, "cutoff", number(self.cutoff, "plate.cutoff", above=0.0))


def _pose(value: npt.ArrayLike) -> npt.NDArray[np.float64]:
    pose = vector(value, "plate.T_base_sensor", (4, 4))
    rotation = pose[:3, :3]
    good = np.array_equal(pose[3], [0.0, 0.0, 0.0, 1.0])
    if not good or np.abs(rotation @ rotation.T - np.eye(3)).max() > 1e-9 or np.linalg.det(rotation) < 0.0:
        raise InputError("plate.T_base_sensor must be a pose: a right-handed rotation, a translation and (0, 0, 0, 1)")
    return pose
