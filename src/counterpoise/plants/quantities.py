"""Fields of configuration objects: their checks and how they are printed.

A field's unit is the text of its annotation: ``stiffness: Annotated[npt.ArrayLike, "N m/rad"]``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..foundation import Array, frozen


def number(
    value: object, name: str, *, least: float = -math.inf, above: float = -math.inf, most: float = math.inf
) -> float:
    """Return ``value`` as a float within the bounds.

    Raises:
        InputError: Not a real number, NaN, or outside.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | np.floating | np.integer):
        raise InputError(f"{name} is {value!r}; expected a number")
    given = float(value)
    if not (least <= given <= most and (given > above or above == -math.inf)):
        raise InputError(f"{name} is {given}; expected a number{_bounds(least, above, most)}")
    return given


def vector(
    value: npt.ArrayLike,
    name: str,
    shape: tuple[int, ...],
    *,
    least: float = -math.inf,
    above: float = -math.inf,
    may_be_infinite: bool = False,
) -> Array:
    """Return ``value`` as a read-only array of exactly that shape; +inf only where it stands for "none".

    Raises:
        InputError: Wrong shape, an entry that is NaN, infinite or outside the bounds.
    """
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} must be numbers of shape {shape}, got {value!r}") from error
    if array.shape != shape:
        raise InputError(f"{name} has shape {array.shape}; expected {shape}")
    if not may_be_infinite and not np.isfinite(array).all():
        raise InputError(f"{name} holds numbers that are not finite")
    if not ((array >= least) & ((array > above) | (above == -math.inf))).all():  # false for NaN too
        raise InputError(f"{name} is {array.tolist()}; expected numbers{_bounds(least, above, math.inf)}")
    return frozen(array)


def of_kind(value: object, name: str, kinds: tuple[type, ...]) -> None:
    """Raise InputError unless ``value`` is an instance of one of the kinds."""
    if not isinstance(value, kinds):
        expected = " or ".join("None" if kind is type(None) else kind.__name__ for kind in kinds)
        raise InputError(f"{name} is {value!r}; expected {expected}")


def one_of(value: object, name: str, choices: Sequence[str]) -> None:
    """Raise InputError unless ``value`` is one of the choices."""
    if value not in choices:
        raise InputError(f"{name} is {value!r}; expected one of {', '.join(map(repr, choices))}")


def described(config: Any, depth: int = 0) -> Iterator[str]:
    """Yield the lines of an indented listing of a configuration: every field with its value and unit."""
    indent = "  " * depth
    hints = get_type_hints(type(config), include_extras=True)
    for entry in fields(config):
        value = getattr(config, entry.name)
        if is_dataclass(value):
            yield f"{indent}{entry.name}: {type(value).__name__}"
            yield from described(value, depth + 1)
        elif isinstance(value, tuple) and value and is_dataclass(value[0]):
            yield f"{indent}{entry.name}:"
            for item in value:
                yield f"{indent}  {type(item).__name__}"
                yield from described(item, depth + 2)
        else:
            hint = hints[entry.name]
            unit = f" {get_args(hint)[1]}" if get_origin(hint) is Annotated and value is not None else ""
            yield f"{indent}{entry.name} = {_shown(value)}{unit}"


def _bounds(least: float, above: float, most: float) -> str:
    low = f"above {above:g}" if above > least else f"of at least {least:g}" if least > -math.inf else ""
    parts = [part for part in (low, f"at most {most:g}" if most < math.inf else "") if part]
    return " " + " and ".join(parts) if parts else ""


def _shown(value: object) -> str:
    if isinstance(value, np.ndarray):
        if value.size == 1:
            return f"{float(value.reshape(-1)[0]):.6g}"
        if value.ndim == 1:
            return "(" + ", ".join(f"{entry:.6g}" for entry in value) + ")"
        return "[" + "; ".join(" ".join(f"{entry:.6g}" for entry in row) for row in value) + "]"
    if isinstance(value, float):
        return f"{value:.6g}"
    return "none" if value is None or value == () else str(value)
