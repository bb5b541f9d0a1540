"""Writes the stored results that native code is compared with, from the Python specifications.

    python tests/store_results.py

Renew them when a case or a specification has changed; the tests compare them with the specifications. The arms' numbers
come from the formulas below, so that the files do not depend on the machine beyond rounding.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

import counterpoise as cp
from counterpoise.control import kernel_cases as control_cases
from counterpoise.control.filter_core import ReferenceFilterCore
from counterpoise.description import parse_urdf
from counterpoise.dynamics import kernel_cases as arms
from counterpoise.dynamics.reference import ReferenceKernel
from counterpoise.foundation import Cases
from counterpoise.foundation.native_check import STORED, flat, store_results
from counterpoise.plants import kernel_cases as plants_cases
from counterpoise.plants.reference import ReferenceDrives, ReferenceLowPass, ReferenceOneJoint
from counterpoise.recording import kernel_cases as recording_cases
from counterpoise.recording import parse_rows_reference
from counterpoise.recording.bags import reference
from counterpoise.sensing import hold, square_root
from counterpoise.sensing import kernel_cases as sensing_cases

Array = npt.NDArray[np.float64]

# Per arm: (link, parent, kind of joint, axis, what it mimics). The base is the first parent.
SHAPES = {
    "serial, rotary, swung axes": (
        ("l1", "base", "revolute", "0 0 1", ""),
        ("l2", "l1", "revolute", "0 1 0", ""),
        ("l3", "l2", "revolute", "0 0 1", ""),
        ("l4", "l3", "revolute", "1 0 0", ""),
        ("l5", "l4", "revolute", "0.6 0 0.8", ""),
        ("l6", "l5", "revolute", "0 0 1", ""),
        ("l7", "l6", "revolute", "0 -1 0", ""),
        ("l8", "l7", "revolute", "0 0.8 0.6", ""),
        ("tip", "l8", "revolute", "0 0 1", ""),
    ),
    "serial, with a linear joint": (
        ("l1", "base", "revolute", "0 0.6 0.8", ""),
        ("l2", "l1", "prismatic", "0.8 0 0.6", ""),
        ("l3", "l2", "fixed", "", ""),
        ("l4", "l3", "revolute", "1 0 0", ""),
        ("tip", "l4", "revolute", "0 0 1", ""),
    ),
    "tree, rotary": (
        ("l1", "base", "revolute", "0 0 1", ""),
        ("l2", "l1", "revolute", "0 1 0", ""),
        ("l3", "l2", "revolute", "0.6 0 0.8", ""),
        ("l4", "l1", "revolute", "0 0 1", ""),
        ("tip", "l4", "revolute", "1 0 0", ""),
        ("l6", "base", "revolute", "0 0.6 0.8", ""),
    ),
    "tree, with linear, fixed and mimic joints": (
        ("l1", "base", "revolute", "0 0.8 0.6", ""),
        ("l2", "l1", "prismatic", "0 0 1", ""),
        ("l3", "l2", "revolute", "1 0 0", "j1"),
        ("l4", "l1", "fixed", "", ""),
        ("l5", "l4", "revolute", "0.8 0 0.6", ""),
        ("tip", "l5", "prismatic", "0 1 0", "j2"),
        ("l7", "base", "revolute", "0 0 1", ""),
    ),
}
MIMICS = {"j1": (-0.75, 0.25), "j2": (0.5, -0.125)}


def urdf(name: str) -> bytes:
    """An arm of the table above; masses, places and turns come from the exact pattern of numbers."""
    shape = SHAPES[name]
    numbers = iter(arms.pattern(len(shape) + 1, 13, 7).ravel().tolist())

    def three(scale: float) -> str:
        return " ".join(f"{scale * next(numbers):.6f}" for _ in range(3))

    def inertial() -> str:
        mass = 1.0 + 0.25 * next(numbers)
        moments = " ".join(f'i{axis}{axis}="{0.03 + 0.004 * next(numbers):.6f}"' for axis in "xyz")
        crossed = 'ixy="0.002" ixz="-0.003" iyz="0.001"'
        return (
            f'<inertial><origin xyz="{three(0.1)}"/><mass value="{mass:.6f}"/><inertia {moments} {crossed}/></inertial>'
        )

    parts = [f'<link name="base">{inertial()}</link>']
    for i, (link, parent, kind, axis, mimics) in enumerate(shape):
        gain, offset = MIMICS.get(mimics, (0.0, 0.0))
        parts.append(
            f'<link name="{link}">{inertial()}</link><joint name="j{i + 1}" type="{kind}"><parent link="{parent}"/>'
            f'<child link="{link}"/><origin xyz="{three(0.15)}" rpy="{three(0.8) if i % 3 != 2 else "0 0 0"}"/>'
            + (f'<axis xyz="{axis}"/>' if axis else "")
            + ('<limit lower="-9" upper="9" effort="9" velocity="9"/>' if kind in ("revolute", "prismatic") else "")
            + (f'<mimic joint="{mimics}" multiplier="{gain}" offset="{offset}"/>' if mimics else "")
            + "</joint>"
        )
    return f'<robot name="arm">{"".join(parts)}</robot>'.encode()


def robot_of(arm: arms.CheckedArm) -> cp.Robot:
    """An arm, mounted so that gravity has no zero component."""
    return cp.Robot(parse_urdf(urdf(arm.name))).mounted(rpy=(0.7, -0.4, 0.3))


def dynamics_results() -> Array:
    """The trees of the arms and the results of the operations, as kernel_cases.stored_arms reads them."""
    pieces: list[Any] = []
    for arm in arms.ARMS:
        robot = robot_of(arm)
        tree = robot.tree
        links = [tree.link_names.index(name) for name in (arms.BASE_LINK, arms.TIP_LINK)]
        assert (arm.n, arm.bodies) == (robot.n, len(tree.body_names)), arm.name
        for field in arms.TREE_FIELDS:
            values = np.asarray(getattr(tree, field), dtype=np.float64)
            pieces.append(values[links] if field.startswith("link_") else values)
        kernel = ReferenceKernel(tree)
        for operation in arm.operations:
            result = operation.run(kernel, arms.poses(arm.n).part(operation.most_rows))
            pieces += [[result.size // operation.most_rows], result]
    return np.concatenate([np.ravel(piece) for piece in pieces])


def part_results(cases: Cases, specification: Any) -> Array:
    """Number of cases, their lengths, and their results."""
    results = [flat(run(specification)) for run in cases.values()]
    return np.concatenate([[len(results)], [result.size for result in results], *results]).astype(np.float64)


SPECIFICATIONS = {
    "control": (control_cases.CASES, SimpleNamespace(NativeFilterCore=ReferenceFilterCore)),
    "sensing": (
        sensing_cases.CASES,
        SimpleNamespace(
            judge=hold.judge,
            relearn=hold.relearn,
            **{
                name: getattr(square_root, name) for name in ("fold", "fold_torques", "head", "solve", "tail_variances")
            },
        ),
    ),
    "recording": (
        recording_cases.CASES,
        SimpleNamespace(
            parse_rows=parse_rows_reference,
            joint_states=reference.joint_states,
            wrenches=reference.wrenches,
            mcap_messages=reference.mcap_messages,
            ros1_messages=reference.ros1_messages,
        ),
    ),
    "plants": (
        plants_cases.CASES,
        SimpleNamespace(Drives=ReferenceDrives, OneJoint=ReferenceOneJoint, LowPass=ReferenceLowPass),
    ),
}


def all_results() -> dict[str, Array]:
    """What is stored, by subpackage."""
    parts = {name: part_results(cases, specification) for name, (cases, specification) in SPECIFICATIONS.items()}
    return {"dynamics": dynamics_results(), **parts}


def main() -> None:
    STORED.mkdir(exist_ok=True)
    for subpackage, numbers in all_results().items():
        print(f"{store_results(subpackage, numbers)}: {numbers.size} numbers")


if __name__ == "__main__":
    main()
