"""What the dynamics kernels are checked with before they are used: four small arms and every operation on them.

The arms together enter every template that the kernels instantiate: a serial chain of rotary joints with swung axes,
long enough for whole vectors of joints; one with a linear joint; a rotary tree; a tree with linear, fixed and mimic
joints. They stand and move; one pose is computed alone, and 1, W, 2 W and 2 W + 1 of them, where W is the number that
an operation computes at once. All poses differ. Angles of many turns take the slow way through sine and cosine.

The stored file holds, one after the other, the compiled trees of the arms and the results of the operations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError
from ..foundation import Array, KernelCheck, Layout, disagreements, stored_results
from .inputs import MAX_INPUT
from .reference import FRAME_ROWS
from .tree import PRISMATIC, REVOLUTE

LAYOUT: Layout = {
    "Kind": {"REVOLUTE": REVOLUTE, "PRISMATIC": PRISMATIC},
    "CONSTANTS": {"MAX_INPUT": MAX_INPUT, "FRAME_ROWS": FRAME_ROWS},
}
MOST_LANES = 8
TURNS = 2.0e6
"""Added to angles so that they leave the fast reduction [rad]; a whole number, so that positions stay exact."""
BASE_LINK, TIP_LINK = "base", "tip"
ONE_WRENCH = np.array([0.5, -0.25, 1.0, 0.125, -0.5, 0.75])
"""A wrench for all poses [N, N m], shape (6,)."""

TREE_FIELDS = {
    "rotation": "bzz",
    "origin": "bz",
    "joint_rotation": "bzz",
    "mass": "b",
    "first_moment": "bz",
    "inertia": "bzz",
    "base_mass": "",
    "base_first_moment": "z",
    "gravity_base": "z",
    "link_rotation": "lzz",
    "link_origin": "lz",
    "q_gain": "b",
    "q_offset": "b",
    "parent": "b",
    "kind": "b",
    "q_index": "b",
    "link_body": "l",
}
"""Arrays of a tree in the order of the file, with their dimensions: b bodies, l links, z is 3."""
INDEX_FIELDS = ("parent", "kind", "q_index", "link_body")
LINKS = 2
"""Links that are kept of an arm: its base and one tip."""


def pattern(rows: int, columns: int, seed: int) -> Array:
    """Return numbers from −1.97 to 1.97 that are exact on every machine, no two rows alike, shape (rows, columns)."""
    return (np.arange(rows * columns).reshape(rows, columns) * 61 + 17 * seed) % 127 / 32.0 - 63 / 32.0


def plate_frame() -> Array:
    """Return what turns a plate's reading into a wrench: a matrix and below it an offset, shape (7, 6)."""
    return np.vstack([np.eye(6) + pattern(6, 6, 5) / 8.0, ONE_WRENCH])


class CheckedPoses(NamedTuple):
    """Rows that an operation takes: positions, velocities, accelerations, wrenches, positions turns away."""

    q: Array
    dq: Array
    ddq: Array
    wrench: Array
    far: Array

    def part(self, count: int) -> CheckedPoses:
        """Return the first ``count`` poses; the first alone, without a dimension of poses, for 0."""
        return CheckedPoses(*(rows[:count] if count else rows[0] for rows in self))


def poses(n: int, rows: int = 4 * MOST_LANES + 1) -> CheckedPoses:
    """Return the poses of an arm with n joints."""
    q, wrench = pattern(rows, n, 1), 4.0 * pattern(rows, 6, 4)
    return CheckedPoses(q, pattern(rows, n, 2), pattern(rows, n, 3), wrench, q + np.copysign(TURNS, q))


@dataclass(frozen=True, slots=True)
class KernelCall:
    """One way to call a kernel.

    Attributes:
        kernel: The entry point.
        vectors: How many vectors of poses it computes at once; 0 where one pose after the other.
        run: Calls it, given the kernel and poses.
    """

    kernel: str
    vectors: int
    run: Callable[[Any, CheckedPoses], Array]

    @property
    def most_rows(self) -> int:
        """Return how many poses are stored."""
        return 2 * self.vectors * MOST_LANES + 1 if self.vectors else 2


def counts_of(vectors: int, lanes: int) -> tuple[int, ...]:
    """Return the numbers of poses that are tried; 0 is one pose alone.

    Args:
        vectors: How many vectors of poses are computed at once; 0 where one pose after the other.
        lanes: CheckedPoses in a vector.
    """
    whole = vectors * lanes
    return (0, 1, whole, 2 * whole, 2 * whole + 1) if vectors else (0, 2)


OPERATIONS = (
    KernelCall("gravity", 2, lambda k, p: k.gravity(p.q)),
    KernelCall("inverse_dynamics", 1, lambda k, p: k.inverse_dynamics(p.q, p.dq, p.ddq)),
    KernelCall("base_wrench", 1, lambda k, p: k.base_wrench(p.q, p.dq, p.ddq)),
    KernelCall("base_wrench (at rest)", 2, lambda k, p: k.base_wrench(p.q)),
    KernelCall("center_of_mass", 2, lambda k, p: k.center_of_mass(p.q)),
    KernelCall("wrench_torque", 2, lambda k, p: k.wrench_torque(p.q, p.wrench, TIP_LINK)),
    KernelCall("base_torques", 1, lambda k, p: k.base_torques(p.q, p.wrench, p.dq, p.ddq)),
    KernelCall("base_torques (at rest)", 1, lambda k, p: k.base_torques(p.q, p.wrench)),
    KernelCall("forward_kinematics", 0, lambda k, p: k.forward_kinematics(p.q, TIP_LINK)),
    KernelCall("jacobian", 0, lambda k, p: k.jacobian(p.q, TIP_LINK)),
    KernelCall("gravity_regressor", 0, lambda k, p: k.gravity_regressor(p.q)),
)
"""What is computed with every arm."""
FURTHER = (
    KernelCall("gravity (many turns)", 2, lambda k, p: k.gravity(p.far)),
    KernelCall("inverse_dynamics (many turns)", 1, lambda k, p: k.inverse_dynamics(p.far, p.dq, p.ddq)),
    KernelCall("wrench_torque (one wrench)", 2, lambda k, p: k.wrench_torque(p.q, ONE_WRENCH, TIP_LINK)),
    KernelCall("forward_kinematics (many turns)", 0, lambda k, p: k.forward_kinematics(p.far, TIP_LINK)),
    KernelCall("forward_kinematics (base)", 0, lambda k, p: k.forward_kinematics(p.q, BASE_LINK)),
    KernelCall("base_torques (one wrench)", 1, lambda k, p: k.base_torques(p.q, ONE_WRENCH, p.dq, p.ddq)),
    KernelCall("base_torques (frame)", 1, lambda k, p: k.base_torques(p.q, p.wrench, p.dq, p.ddq, frame=plate_frame())),
    KernelCall("inertial_regressor", 0, lambda k, p: k.inertial_regressor(p.q, p.dq, p.ddq)),
    KernelCall("inertial_regressor (at rest)", 0, lambda k, p: k.inertial_regressor(p.q)),
    KernelCall("base_wrench_regressor", 0, lambda k, p: k.base_wrench_regressor(p.q, p.dq, p.ddq)),
    KernelCall("base_wrench_regressor (at rest)", 0, lambda k, p: k.base_wrench_regressor(p.q)),
)
"""What is computed with two of them: large regressors have no lanes, and all arms share the way to many turns."""
REFUSAL = "refusal of NaN"


@dataclass(frozen=True, slots=True)
class CheckedArm:
    """One of the arms; its numbers are in the file.

    Attributes:
        name: What it is.
        n: Number of independent joints.
        bodies: Number of moving bodies.
        operations: What is computed with it.
    """

    name: str
    n: int
    bodies: int
    operations: tuple[KernelCall, ...]


ARMS = (
    CheckedArm("serial, rotary, swung axes", 9, 9, OPERATIONS),
    CheckedArm("serial, with a linear joint", 4, 4, (*OPERATIONS, *FURTHER)),
    CheckedArm("tree, rotary", 6, 6, OPERATIONS),
    CheckedArm("tree, with linear, fixed and mimic joints", 4, 6, (*OPERATIONS, *FURTHER)),
)
NAMES = (*dict.fromkeys(each.kernel for arm in ARMS for each in arm.operations), REFUSAL)


@dataclass(frozen=True, slots=True, eq=False)
class StoredArm:
    """An arm as stored.

    Attributes:
        arm: Which one.
        tree: What a kernel is made from.
        results: Per operation the length of a row and the stored rows, one after the other.
    """

    arm: CheckedArm
    tree: SimpleNamespace
    results: list[tuple[int, Array]]


def stored_arms() -> list[StoredArm]:
    """Read the stored arms and results.

    Raises:
        OSError: The file is missing or cannot be read.
        ValueError: It is not what is expected.
    """
    numbers = stored_results("dynamics")
    place = 0

    def take(count: int) -> Array:
        nonlocal place
        place += count
        if place > numbers.size:
            raise ValueError("dynamics.f64 is too short")
        return numbers[place - count : place]

    stored = []
    for arm in ARMS:
        size = {"b": arm.bodies, "l": LINKS, "z": 3}
        fields: dict[str, Any] = {}
        for field, dimensions in TREE_FIELDS.items():
            shape = [size[each] for each in dimensions]
            values = take(prod(shape)).reshape(shape)
            fields[field] = values.astype(np.int32) if field in INDEX_FIELDS else values
        joints = tuple(f"j{i}" for i in range(arm.n))
        tree = SimpleNamespace(
            joint_names=joints,
            body_names=tuple(f"b{i}" for i in range(arm.bodies)),
            link_names=(BASE_LINK, TIP_LINK),
            tips=(TIP_LINK,),
            refusal="",
            **fields,
        )
        results = []
        for each in arm.operations:
            width = int(take(1)[0])
            results.append((width, take(each.most_rows * width)))
        stored.append(StoredArm(arm, tree, results))
    if place != numbers.size:
        raise ValueError("dynamics.f64 is too long")
    return stored


def check_set(part: Any, kernel_type: Any, instruction_set: str, arms: list[StoredArm]) -> list[KernelCheck]:
    """Compare the kernels of an instruction set with the stored results, entry point by entry point.

    Args:
        part: The native code.
        kernel_type: Its kernel type.
        instruction_set: Such as "avx2".
        arms: The stored arms.
    """
    lanes = part.instruction_sets()[instruction_set]
    counts = {vectors: counts_of(vectors, lanes) for vectors in (0, 1, 2)}
    all_counts = sorted({count for some in counts.values() for count in some})
    found: list[Array] = []
    stored: list[Array] = []
    names: list[str] = []
    raised: dict[str, str] = {}
    for each in arms:
        kernel = kernel_type(each.tree, instruction_set)
        rows = poses(each.arm.n)
        parts = {count: rows.part(count) for count in all_counts}
        for operation, (width, expected) in zip(each.arm.operations, each.results, strict=True):
            try:
                for count in counts[operation.vectors]:
                    found.append(operation.run(kernel, parts[count]))
                    stored.append(expected[: (count or 1) * width])
                    names.append(operation.kernel)
            except Exception as error:  # whatever wrong native code raises, it is wrong
                raised[operation.kernel] = f"raised {type(error).__name__}: {error}"
        if each is arms[1] and not refuses(kernel, rows.q, lanes):
            raised[REFUSAL] = "a position that is NaN was accepted"
    faults = disagreements(names, found, stored) | raised
    return [KernelCheck("dynamics", instruction_set, name, faults.get(name, "")) for name in NAMES]


def refuses(kernel: Any, q: Array, lanes: int) -> bool:
    """Return whether NaN is refused in each lane of a vector, in the rest behind whole vectors, and in one pose."""
    n = q.shape[1]
    for entry in range(-1, lanes):
        rows = q[: lanes // n + 2].copy()
        rows.reshape(-1)[entry] = np.nan
        try:
            kernel.gravity(rows)
        except InputError:
            continue
        return False
    try:
        kernel.gravity(np.full(n, np.nan))
    except InputError:
        return True
    return False
