"""What callers may pass: conversion to float64 rows, and the errors that name the joint at fault.

The native kernel takes ready float64 arrays itself and comes here for everything else, so both kernels accept and
refuse the same inputs with the same words.

Which joints turn and which slide, and the units that follow, is here, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..errors import InputError, listed
from ..foundation import Array, frozen

if TYPE_CHECKING:
    from .robot import Robot


MAX_INPUT = 1e9
"""Largest magnitude accepted for a position, velocity, acceleration or wrench entry: beyond it the caller is in error,
and below it every result is finite."""


def as_rows(value: npt.ArrayLike, name: str, columns: Sequence[str]) -> Array:
    """Return ``value`` as a C-contiguous float64 array of shape (n,) or (k, n).

    Args:
        value: Numbers, one column per name in ``columns``; lists, strided, integer and float32 arrays are converted.
        name: The argument's name, for messages.
        columns: Names of the n columns (joints, or wrench components).

    Raises:
        InputError: Wrong type or shape, or an entry that is not a number within ±MAX_INPUT.
    """
    try:
        values = np.asarray(value)
    except ValueError as error:
        raise InputError(f"{name} is not a rectangular array: {error}") from error
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise InputError(f"{name} has masked entries; expected a number for each of {listed(columns)}")
    if values.dtype.kind not in "fiu":
        raise InputError(f"{name} holds {values.dtype} values; expected real numbers")
    n = len(columns)
    if values.ndim not in (1, 2) or values.shape[-1] != n:
        raise InputError(
            f"{name} has shape {values.shape}; expected ({n},) or (k, {n}): one column each for {listed(columns)}"
        )
    rows = np.ascontiguousarray(values, dtype=np.float64)
    refuse_bad_entries(rows, name, columns)
    return rows


def refuse_other_joints(names: Sequence[str], robot: Robot, what: str) -> None:
    """Refuse data whose joints are not the robot's, by name and in its order.

    Args:
        names: Joints of the data.
        robot: The robot they should be of.
        what: What the data are called in the message, e.g. "log".

    Raises:
        InputError: They are others.
    """
    if tuple(names) != robot.joint_names:
        raise InputError(
            f"the joints of the {what} are {listed(names, 40)}; expected those of robot '{robot.name}', in its order: "
            f"{listed(robot.joint_names, 40)}"
        )


def refuse_command_units(robot: Robot) -> None:
    """Refuse a robot whose gravity is no torque, where one is needed.

    Raises:
        InputError: It is that of a calibration in command units.
    """
    if robot.description.command_units:
        raise InputError(
            f"the calibration of '{robot.name}' is in command units, of which no torque and no mass can be made: "
            f"{robot.description.command_units}. Calibrate with torques, or with a weighed load (counterpoise "
            "calibrate --loaded)"
        )


def refuse_bad_entries(rows: Array, name: str, columns: Sequence[str]) -> None:
    """Raise InputError naming the first entry of ``rows`` that is NaN, infinite or beyond ±MAX_INPUT."""
    good = np.abs(rows) <= MAX_INPUT
    if good.all():
        return
    *pose, column = np.argwhere(~good)[0]
    where = f" in pose {pose[0]}" if pose else ""
    raise InputError(
        f"{name}['{columns[column]}']{where} is {rows[(*pose, column)]}; expected a number within ±{MAX_INPUT:g}"
    )


def refuse_wrench_shape(wrench: Array, q: Array) -> None:
    """Raise InputError when there is neither one wrench nor one for each pose."""
    if wrench.ndim == 2 and (q.ndim == 1 or len(wrench) != len(q)):
        raise InputError(
            f"wrench has shape {wrench.shape} and q has shape {q.shape}; expected one wrench, or one for each pose"
        )


def check_out(out: object, shape: tuple[int, ...], inputs: Sequence[Array]) -> Array:
    """Return ``out`` when it may receive a result of the given shape.

    Raises:
        InputError: ``out`` is not a writeable, C-contiguous float64 array of exactly that shape, or it shares memory
            with an input.
    """
    if not isinstance(out, np.ndarray) or out.dtype != np.float64 or not out.dtype.isnative:
        raise InputError(f"out must be a float64 numpy array of shape {shape}, not {_kind(out)}")
    if out.shape != shape:
        raise InputError(f"out has shape {out.shape}; expected {shape}")
    if not (out.flags.c_contiguous and out.flags.writeable and out.flags.aligned):
        raise InputError("out must be C-contiguous and writeable")
    if any(np.may_share_memory(out, values) for values in inputs):
        raise InputError("out shares memory with an input; give it memory of its own")
    return out


def link_index(names: Sequence[str], tips: Sequence[str], at: str | None, argument: str = "at=") -> int:
    """Return the index of the link called ``at``; None means the only tip.

    Args:
        names: All links.
        tips: The link that None means, alone (:func:`.default_tip`), or the leaves of a branched arm.
        at: The name that was given.
        argument: What the caller typed the name for, as messages name it: "link=", "--payload-link".

    Raises:
        InputError: No such link, or none given where the arm is branched.
    """
    if at is None:
        if len(tips) == 1:
            return names.index(tips[0])
        raise InputError(f"{argument} is required: the robot has {len(tips)} leaf links ({listed(tips)})")
    if not isinstance(at, str) or at not in names:
        raise InputError(
            f"{argument} names no link of the robot: there is no link {at!r}; the links are {listed(names)}"
        )
    return names.index(at)


def link_name(robot: Robot, at: str | None, argument: str = "at=") -> str:
    """Return the name of the link called ``at``; arguments and errors are those of :func:`link_index`."""
    return robot.link_names[link_index(robot.link_names, robot.tree.tips, at, argument)]


def joint_index(robot: Robot, name: str) -> int:
    """Return the place of a joint in the robot's order.

    Raises:
        InputError: There is no such joint.
    """
    if name not in robot.joint_names:
        raise InputError(f"there is no joint '{name}'; '{robot.name}' has {', '.join(robot.joint_names)}")
    return robot.joint_names.index(name)


def _kind(value: object) -> str:
    return f"{value.dtype} array" if isinstance(value, np.ndarray) else type(value).__name__


def numbers(value: npt.ArrayLike, name: str, shape: tuple[int, ...] | None = None) -> Array:
    """Return values as a read-only array of numbers, of any shape where none is given.

    Raises:
        InputError: It is none, has another shape, or holds NaN or a number beyond ±MAX_INPUT.
    """
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} is not an array of numbers: {error}") from error
    if shape is not None and array.shape != shape:
        raise InputError(f"{name} has shape {array.shape}; expected {shape}")
    bad = np.argwhere(~(np.abs(array) <= MAX_INPUT))  # NaN too
    if len(bad):
        place = "".join(f"[{index}]" for index in bad[0])
        raise InputError(f"{name}{place} is {array[tuple(bad[0])]}; expected a number within ±{MAX_INPUT:g}")
    return frozen(array)


WRENCH_UNITS = ("N", "N", "N", "N m", "N m", "N m")
"""Units of a wrench's components: force first."""


def rotary(robot: Robot) -> list[bool]:
    """Say of each joint, in joint order, whether it turns (rad, N m) or slides (m, N)."""
    by_name = {joint.name: joint for joint in robot.description.joints}
    return [by_name[name].kind.rotates for name in robot.joint_names]


def position_units(robot: Robot) -> list[str]:
    """Return the unit of each joint's position, in joint order."""
    return ["rad" if turns else "m" for turns in rotary(robot)]


def effort_units(robot: Robot) -> list[str]:
    """Return the unit of each joint's torque or force, in joint order."""
    return ["N m" if turns else "N" for turns in rotary(robot)]


def inertia_units(robot: Robot) -> list[str]:
    """Return the unit of each joint's inertia, in joint order."""
    return ["kg m²" if turns else "kg" for turns in rotary(robot)]
