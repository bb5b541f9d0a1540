"""A robot computed by somebody else's library, and the comparison with ours.

A twin gives every result in our conventions (base axes, force first, joints in our order), so that the test of a
convention is the twin's own code, written from the other library's documentation and not from ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from counterpoise import Robot
from counterpoise.description import Description, JointKind
from counterpoise.dynamics.reference import ReferenceKernel
from counterpoise.foundation import Array

TOLERANCE = 1e-9
"""|ours − theirs| ≤ TOLERANCE · max(1, |theirs|), entry by entry."""

WORST: dict[tuple[str, str], float] = {}
"""Largest disagreement met in this run, by (oracle, quantity); the test session prints it at its end."""


class Twin(Protocol):
    """What an oracle computes for one pose; q, dq, ddq have one entry per joint of ours, in our order."""

    oracle: str

    @property
    def total_mass(self) -> float:
        """Base link and payloads included [kg]."""

    def gravity(self, q: Array) -> Array:
        """Holding torques, shape (n,)."""

    def inverse_dynamics(self, q: Array, dq: Array, ddq: Array) -> Array:
        """Torques of a motion, shape (n,)."""

    def base_wrench(self, q: Array, dq: Array, ddq: Array) -> Array:
        """What the ground exerts on the robot, force first, base axes, at the base origin, shape (6,)."""

    def center_of_mass(self, q: Array) -> Array:
        """In the base frame, shape (3,)."""

    def forward_kinematics(self, q: Array, at: str) -> Array:
        """T_base_link, shape (4, 4)."""

    def jacobian(self, q: Array, at: str) -> Array:
        """Linear rows first, base axes, at the link's origin, shape (6, n)."""


class Coordinates:
    """All moving joints' coordinates from the independent ones: q_all = E q + offset, and so torques by Eᵀ."""

    def __init__(self, description: Description) -> None:
        by_name = {joint.name: joint for joint in description.joints}
        self.all_names = _depth_first(description)
        self.names = [name for name in self.all_names if by_name[name].mimic is None]
        rows: dict[str, tuple[Array, float]] = {}

        def row(name: str) -> tuple[Array, float]:
            if name not in rows:
                mimic = by_name[name].mimic
                if mimic is None:
                    rows[name] = np.eye(len(self.names))[self.names.index(name)], 0.0
                else:
                    master, offset = row(mimic.master)
                    rows[name] = mimic.multiplier * master, mimic.multiplier * offset + mimic.offset
            return rows[name]

        self._rows: Mapping[str, tuple[Array, float]] = {name: row(name) for name in self.all_names}

    def expansion(self, order: Sequence[str]) -> tuple[Array, Array]:
        """Return E, shape (all, n), and the offsets, shape (all,), for the other library's order of joints."""
        assert sorted(order) == sorted(self.all_names), "the other library sees other moving joints"
        E = np.array([self._rows[name][0] for name in order]).reshape(len(order), len(self.names))
        return E, np.array([self._rows[name][1] for name in order])


def _depth_first(description: Description) -> list[str]:
    """Moving joints, depth first, children in file order: the normative joint order, written down once more."""
    found: list[str] = []

    def visit(link: str) -> None:
        for joint in description.joints:
            if joint.parent == link:
                if joint.kind is not JointKind.FIXED:
                    found.append(joint.name)
                visit(joint.child)

    visit(description.root)
    return found


def disagreement(ours: npt.ArrayLike, theirs: npt.ArrayLike) -> float:
    """Return max |ours − theirs| / max(1, |theirs|); infinite where either is not a number."""
    a, b = np.asarray(ours, dtype=np.float64), np.asarray(theirs, dtype=np.float64)
    assert a.shape == b.shape, f"shapes {a.shape} and {b.shape}"
    if not (np.all(np.isfinite(a)) and np.all(np.isfinite(b))):
        return float("inf")
    return float(np.max(np.abs(a - b) / np.maximum(1.0, np.abs(b)), initial=0.0))


def agree(
    ours: npt.ArrayLike,
    theirs: npt.ArrayLike,
    what: str,
    *,
    oracle: str,
    where: object = "",
    tolerance: float = TOLERANCE,
) -> None:
    """Fail, naming quantity and robot, where the two differ by more than the tolerance."""
    error = disagreement(ours, theirs)
    WORST[oracle, what] = max(WORST.get((oracle, what), 0.0), error)
    assert error <= tolerance, f"{what} differs from {oracle} by {error:.3g} (allowed {tolerance:g}) {where}"


def compare(robot: Robot, twin: Twin, motion: tuple[Array, Array, Array], links: Sequence[str], where: object) -> None:
    """Compare every quantity, on both kernels, for a batch of motions and for single ones.

    Args:
        robot: Ours.
        twin: Theirs.
        motion: q, dq, ddq, each of shape (k, n).
        links: Links whose pose and Jacobian to compare.
        where: Shown on failure.
    """
    q, dq, ddq = motion
    rest = np.zeros(robot.n)

    def check(ours: Any, theirs: Any, what: str) -> None:
        agree(ours, theirs, what, oracle=twin.oracle, where=f"[{where}]")

    check(robot.total_mass, twin.total_mass, "total mass")
    expected: dict[str, Array] = {
        "gravity": np.array([twin.gravity(pose) for pose in q]),
        "inverse dynamics": np.array([twin.inverse_dynamics(*row) for row in zip(q, dq, ddq, strict=True)]),
        "base wrench, moving": np.array([twin.base_wrench(*row) for row in zip(q, dq, ddq, strict=True)]),
        "base wrench, at rest": np.array([twin.base_wrench(pose, rest, rest) for pose in q]),
        "center of mass": np.array([twin.center_of_mass(pose) for pose in q]),
    }
    poses = {at: np.array([twin.forward_kinematics(pose, at) for pose in q]) for at in links}
    jacobians = {at: np.array([twin.jacobian(pose, at) for pose in q]) for at in links}
    for kernel in (robot, ReferenceKernel(robot.tree)):
        for i in (slice(None), 0):
            check(kernel.gravity(q[i]), expected["gravity"][i], "gravity")
            check(kernel.inverse_dynamics(q[i], dq[i], ddq[i]), expected["inverse dynamics"][i], "inverse dynamics")
            check(kernel.base_wrench(q[i], dq[i], ddq[i]), expected["base wrench, moving"][i], "base wrench, moving")
            check(kernel.base_wrench(q[i]), expected["base wrench, at rest"][i], "base wrench, at rest")
            check(kernel.center_of_mass(q[i]), expected["center of mass"][i], "center of mass")
            for at in links:
                check(kernel.forward_kinematics(q[i], at=at), poses[at][i], "forward kinematics")
                check(kernel.jacobian(q[i], at=at), jacobians[at][i], "jacobian")
