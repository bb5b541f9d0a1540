"""Poses at rest and the torques that held the arm there: what a static calibration is made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..dynamics import Robot, as_rows, refuse_other_joints
from ..errors import InputError
from ..foundation import Array, frozen

IntArray = npt.NDArray[np.int64]

SAME_POSE = 0.05
"""Poses that differ by less than this in every joint [rad or m] count as one: the two approaches of a pose do."""
LINE = 0.01
"""Poses lie on one line when their extent across it is below this share of their extent along it."""


@dataclass(frozen=True, slots=True, eq=False)
class StaticPoses:
    """Still segments, one row each; arrays are read-only.

    Attributes:
        joint_names: Names of the n joints.
        q: Mean position while still [rad or m], shape (m, n).
        tau: Mean torque of the actuators, link side [N m or N], shape (m, n). A joint whose torque is not measured is
            NaN in every row.
        tau_std: Standard error of that mean, from the scatter within the segment [N m or N], shape (m, n); NaN where
            unknown. It does not include friction.
        side: Direction of each joint's last motion before it came to rest, shape (m, n): +1 if the position rose, −1 if
            it fell, 0 if unknown or none.
        pair: Rows with the same number ≥ 0 are one pose reached from both sides, shape (m,); −1 where there is no pair.
    """

    joint_names: tuple[str, ...]
    q: Array
    tau: Array
    tau_std: Array
    side: IntArray
    pair: IntArray

    def __post_init__(self) -> None:
        """Freeze the arrays and refuse what cannot be a measurement."""
        names = tuple(self.joint_names)
        object.__setattr__(self, "joint_names", names)
        q = as_rows(self.q, "q", names)
        if q.ndim != 2 or len(q) == 0:
            raise InputError(f"q has shape {q.shape}; expected (m, {len(names)}) with at least one pose")
        object.__setattr__(self, "q", frozen(q))
        for name in ("tau", "tau_std"):
            value = frozen(getattr(self, name))
            if value.shape != q.shape:
                raise InputError(f"{name} has shape {value.shape}; expected that of q, {q.shape}")
            object.__setattr__(self, name, value)
        for name, shape in (("side", q.shape), ("pair", q.shape[:1])):
            whole = np.array(getattr(self, name), dtype=np.int64)
            whole.setflags(write=False)
            if whole.shape != shape:
                raise InputError(f"{name} has shape {whole.shape}; expected {shape}")
            object.__setattr__(self, name, whole)
        if not np.isin(self.side, (-1, 0, 1)).all():
            raise InputError("side has other numbers than −1, 0 and +1; expected the sign of each joint's last motion")
        if np.any(self.tau_std < 0.0) or np.isinf(self.tau_std).any():
            raise InputError("tau_std has a negative or infinite entry; expected numbers ≥ 0, or NaN where unknown")
        unmeasured = np.isnan(self.tau).all(axis=0)
        bad = ~np.isfinite(self.tau) & ~(np.isnan(self.tau) & unmeasured)
        if bad.any():
            pose, joint = np.argwhere(bad)[0]
            raise InputError(
                f"the torque of joint '{names[joint]}' in pose {pose} is {self.tau[pose, joint]}; expected a number, "
                "or NaN in every pose for a joint without torque measurement. Leave the pose out"
            )

    @property
    def measured(self) -> npt.NDArray[np.bool_]:
        """Whether each joint's torque was measured, shape (n,)."""
        return np.asarray(~np.isnan(self.tau).all(axis=0))

    def __len__(self) -> int:
        """Number of poses, both sides of a pair counted."""
        return len(self.q)


def static_poses(joint_names: Sequence[str], q: npt.ArrayLike, tau: npt.ArrayLike) -> StaticPoses:
    """Return poses and torques of which nothing else is known: no scatter, no approach.

    Args:
        joint_names: Names of the n joints.
        q: Positions [rad or m], shape (m, n).
        tau: Holding torques, link side [N m or N], shape (m, n).
    """
    positions = np.atleast_2d(as_rows(q, "q", joint_names))
    m, n = positions.shape
    torques = np.atleast_2d(np.array(tau, dtype=np.float64))
    nothing = np.zeros((m, n), dtype=np.int64)
    return StaticPoses(
        tuple(joint_names), positions, torques, np.full((m, n), np.nan), nothing, np.full(m, -1, dtype=np.int64)
    )


def joined_poses(parts: Sequence[StaticPoses]) -> StaticPoses:
    """Return poses of several recordings as those of one; pairs stay within their recording."""
    if len(parts) == 1:
        return parts[0]
    pairs, first = [], 0
    for part in parts:
        pairs.append(np.where(part.pair >= 0, part.pair + first, -1))
        first += int(part.pair.max(initial=-1)) + 1
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts]) for name in ("q", "tau", "tau_std", "side")
    }
    return replace(parts[0], pair=np.concatenate(pairs), **columns)


def same_places(q: Array) -> IntArray:
    """Number the different poses, shape (k,); those within SAME_POSE of an earlier one share its number.

    Args:
        q: Poses [rad or m], shape (k, n).
    """
    centers: list[Array] = []
    place = np.empty(len(q), dtype=np.int64)
    for row, pose in enumerate(q):
        near = [at for at, center in enumerate(centers) if np.all(np.abs(pose - center) < SAME_POSE)]
        if not near:
            centers.append(pose)
        place[row] = near[0] if near else len(centers) - 1
    return place


def require_spread(robot: Robot, poses: StaticPoses) -> None:
    """Refuse poses that cannot calibrate an arm, whatever the method.

    Raises:
        InputError: The joints are another robot's, all poses are (nearly) the same, or all lie on one line of joint
            space although the arm has several joints.
    """
    refuse_other_joints(poses.joint_names, robot, "poses")
    moved = np.maximum(poses.q.max(axis=0) - poses.q[0], poses.q[0] - poses.q.min(axis=0))
    if not np.any(moved > SAME_POSE):
        count = "there is only one pose" if len(poses) == 1 else f"all {len(poses)} poses are the same"
        raise InputError(
            f"{count} (within {SAME_POSE:g} rad or m); a calibration needs poses that differ, and more of them than "
            "unknowns. design_poses() proposes some"
        )
    if robot.n > 1:
        center = poses.q.mean(axis=0)
        scatter = poses.q.T @ poses.q - len(poses) * np.outer(center, center)
        *_, across, along = np.linalg.eigvalsh(scatter)
        if across < LINE**2 * along:
            joints = ", ".join(name for name, size in zip(robot.joint_names, moved, strict=True) if size > SAME_POSE)
            raise InputError(
                f"all {len(poses)} poses lie on one line of joint space (moving: {joints}); away from that line the "
                "result would be a guess. Move the joints independently: design_poses() proposes poses"
            )
