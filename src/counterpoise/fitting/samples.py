"""Measured instants, ready for a fit: positions, velocities, accelerations and efforts that belong together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ..dynamics import Robot
from ..errors import InputError
from ..foundation import Array, frozen
from .poses import StaticPoses

CHUNK_ROWS = 1024
"""Samples whose rows are made at once: 6 MB of rows for a seven-joint arm."""


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """k instants of n joints in the robot's order; arrays are read-only.

    Attributes:
        joint_names: Names of the n joints.
        time: When [s], shape (k,), not decreasing.
        q: Positions [rad or m], shape (k, n), finite.
        dq: Velocities [rad/s or m/s], shape (k, n), finite; zero at rest.
        ddq: Accelerations [rad/s² or m/s²], shape (k, n), finite; zero at rest.
        tau: Efforts at the link side, torques [N m or N] or in the log's own unit, shape (k, n); NaN where not
            measured.
        v0: Speed over which friction changes its sign, tanh(u/v0) [rad/s or m/s], shape (n,), > 0; of actuators where
            joints are coupled.
        direction: Sign of each actuator's Coulomb friction, between −1 and 1, shape (k, n), where it is not simply
            tanh(u/v0): low-passed as the efforts were, or the side from which a joint came to rest; None for
            tanh(u/v0).
        motor_per_link: G of q_motor = G q_link where joints are coupled, shape (n, n); None for one drive per joint.
        rate: Samples per second before thinning [Hz]; NaN for single poses.
        cutoff: Of the low-pass that the samples went through [Hz]; NaN for none.
        elapsed: Time since their recording began [s], shape (k,); it begins with the first of them unless given.
    """

    joint_names: tuple[str, ...]
    time: Array
    q: Array
    dq: Array
    ddq: Array
    tau: Array
    v0: Array
    direction: Array | None = None
    motor_per_link: Array | None = None
    rate: float = float("nan")
    cutoff: float = float("nan")
    elapsed: Array = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        """Freeze the arrays and refuse what no fit can use."""
        object.__setattr__(self, "joint_names", tuple(self.joint_names))
        n = len(self.joint_names)
        k = len(self.time)
        shapes = {"time": (k,), "q": (k, n), "dq": (k, n), "ddq": (k, n), "tau": (k, n), "v0": (n,)}
        shapes |= {"direction": (k, n), "motor_per_link": (n, n), "elapsed": (k,)}
        if k and not len(self.elapsed):
            object.__setattr__(self, "elapsed", np.asarray(self.time) - self.time[0])
        for name, shape in shapes.items():
            values = getattr(self, name)
            if values is None:
                continue
            array = frozen(values)
            if array.shape != shape:
                raise InputError(f"{name} has shape {array.shape}; expected {shape}")
            if name != "tau" and not np.isfinite(array).all():
                raise InputError(f"{name} has an entry that is NaN or infinite; leave such samples out")
            object.__setattr__(self, name, array)
        if np.isinf(self.tau).any():
            raise InputError("tau has an infinite entry; expected a number, or NaN where it was not measured")
        if not np.all(self.v0 > 0.0):
            raise InputError(f"v0 is {self.v0.tolist()}; expected positive speeds [rad/s or m/s]")

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.time)

    def __getitem__(self, rows: slice | npt.NDArray[np.bool_] | npt.NDArray[np.int64]) -> Self:
        """Return the samples of a range, a mask or a list of indices."""
        cut = {name: getattr(self, name)[rows] for name in ("time", "q", "dq", "ddq", "tau", "elapsed")}
        direction = None if self.direction is None else self.direction[rows]
        return replace(self, direction=direction, **cut)

    def chunks(self, rows: int = CHUNK_ROWS) -> Iterator[Self]:
        """Yield the samples in pieces of at most ``rows``."""
        for start in range(0, len(self), rows):
            yield self[start : start + rows]

    @property
    def active(self) -> npt.NDArray[np.bool_]:
        """Which joints have a measured effort in any sample, shape (n,)."""
        return np.asarray(np.isfinite(self.tau).any(axis=0))

    @property
    def actuator_per_link(self) -> Array:
        """G with its rows divided by their own gear, so that an uncoupled actuator moves as its joint does, (n, n)."""
        if self.motor_per_link is None:
            return np.eye(len(self.joint_names))
        return scaled_coupling(self.motor_per_link)


def scaled_coupling(motor_per_link: Array) -> Array:
    """Return G with each row divided by the size of its diagonal entry (of its largest one where that is zero)."""
    gear = np.abs(np.diag(motor_per_link)).copy()
    largest = np.abs(motor_per_link).max(axis=1)
    gear = np.where(gear > 0.0, gear, largest)
    if not np.all(gear > 0.0):
        raise InputError(
            f"motor {int(np.argmin(gear)) + 1} of motor_per_link moves with no joint; expected a number in every row"
        )
    return np.asarray(motor_per_link / gear[:, None], dtype=np.float64)


def joined_samples(parts: Sequence[Samples]) -> Samples:
    """Return samples of several recordings as those of one; their clocks run on, one after the other.

    Args:
        parts: Samples of the same joints.
    """
    if len(parts) == 1:
        return parts[0]
    directions = [np.tanh(part.dq / part.v0) if part.direction is None else part.direction for part in parts]
    times, end = [], 0.0
    for part in parts:
        times.append(part.time - part.time[0] + end)
        end = float(times[-1][-1]) + 1.0
    names = ("q", "dq", "ddq", "tau", "elapsed")
    columns: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    return replace(
        parts[0],
        time=np.concatenate(times),
        v0=np.max([part.v0 for part in parts], axis=0),
        direction=np.concatenate(directions),
        **columns,
    )


def samples_of_poses(poses: StaticPoses) -> Samples:
    """Return static poses as samples at rest; the side of each joint's last motion gives its friction's sign.

    The scatter within a pose is left out: what disturbs a holding torque is friction, which does not show in it.
    """
    still = np.zeros(poses.q.shape)
    return Samples(
        joint_names=poses.joint_names,
        time=np.arange(len(still), dtype=np.float64),
        q=poses.q,
        dq=still,
        ddq=still,
        tau=poses.tau,
        v0=np.ones(len(poses.joint_names)),
        direction=np.asarray(poses.side, dtype=np.float64),
    )


def at_rest(robot: Robot, q: Array) -> Samples:
    """Return poses as samples at rest without measured efforts, for a model to predict: at the beginning of time."""
    still = np.zeros(q.shape)
    return Samples(
        joint_names=robot.joint_names,
        time=np.zeros(len(q)),
        q=q,
        dq=still,
        ddq=still,
        tau=np.full(q.shape, np.nan),
        v0=np.ones(robot.n),
        direction=still,
    )
