"""Per-joint parameters: conversion to read-only arrays, and the errors that name the entry at fault."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from ..description.frozen import Array, frozen
from ..errors import InputError

MAX_VALUE = 1e12
"""Largest magnitude accepted for a parameter: beyond it a unit was mistaken."""


def joint_values(
    value: npt.ArrayLike,
    name: str,
    *,
    least: float = -math.inf,
    most: float = math.inf,
    above: float = -math.inf,
    may_be_infinite: bool = False,
) -> Array:
    """Return one number for all joints, or one per joint, as a read-only array of shape (1,) or (n,).

    Args:
        value: A number or a sequence of numbers.
        name: What the value is called, for messages.
        least: Smallest value accepted.
        most: Largest value accepted.
        above: Bound that every value must exceed.
        may_be_infinite: Accept +inf, where it stands for "none" or "rigid".

    Raises:
        InputError: Not numbers, not one-dimensional, empty, NaN, or outside the bounds.
    """
    try:
        array = np.atleast_1d(np.asarray(value, dtype=np.float64))
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} must be a number or one number per joint, got {value!r}") from error
    if array.ndim != 1 or array.size == 0:
        raise InputError(f"{name} has shape {array.shape}; expected a number or one number per joint")
    top = math.inf if may_be_infinite else min(most, MAX_VALUE)
    good = (array >= max(least, -MAX_VALUE)) & (array > above) & (array <= top)
    if not good.all():
        at = int(np.argmin(good))
        where = f"[{at}]" if array.size > 1 else ""
        raise InputError(f"{name}{where} is {array[at]}; expected a number {_bounds(least, most, above)}")
    return frozen(array)


class JointParameters:
    """A frozen set of per-joint parameters, each of shape (n,), or (1,) where one number serves all joints."""

    __slots__: tuple[str, ...] = ()

    def _store(self, parameters: Mapping[str, Array]) -> None:
        """Set the attributes, once.

        Raises:
            InputError: Two of them have different numbers of joints.
        """
        count, first = 1, ""
        for name, array in parameters.items():
            if array.size not in (1, count) and count > 1:
                raise InputError(f"{name} has {array.size} entries and {first} has {count}; expected the same joints")
            if array.size > count:
                count, first = array.size, name
            object.__setattr__(self, name, array)

    @property
    def n(self) -> int:
        """Number of joints; 1 where one number serves all."""
        return max(int(getattr(self, name).size) for name in self.__slots__)


def for_joints(array: Array, name: str, joints: Sequence[str]) -> Array:
    """Return the array with one entry per joint, shape (n,), repeating a single number.

    Raises:
        InputError: It has another number of entries than the robot has joints.
    """
    if array.size not in (1, len(joints)):
        raise InputError(
            f"{name} has {array.size} entries; expected 1 or {len(joints)}, one each for {', '.join(joints)}"
        )
    return frozen(np.broadcast_to(array, (len(joints),)))


def _bounds(least: float, most: float, above: float) -> str:
    low = f"above {above:g}" if above > least else f"of at least {least:g}" if least > -math.inf else ""
    high = f"of at most {most:g}" if most < math.inf else ""
    return " and ".join(part for part in (low, high) if part) or f"within ±{MAX_VALUE:g}"
