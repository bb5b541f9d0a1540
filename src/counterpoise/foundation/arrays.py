"""Read-only float64 arrays and published data: they stay read-only on their way to another process, and become JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from types import MappingProxyType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
"""An array of float64; docstrings give its shape."""


def frozen(values: npt.ArrayLike | Iterable[float]) -> Array:
    """Return a C-contiguous float64 copy of ``values`` that refuses to be written to."""
    array = np.array(values, dtype=np.float64, order="C")
    array.setflags(write=False)
    return array


def plain(value: Any) -> Any:
    """Return a value made of what JSON has: dataclasses as tables, arrays as lists, numbers that are none as None."""
    if isinstance(value, np.ndarray | np.generic):
        listed = value.tolist()
        return listed if value.dtype.kind != "f" or np.isfinite(value).all() else plain(listed)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    return value


class PublishedData:
    """Base of frozen dataclasses that users send to other processes: what was read-only comes back read-only.

    Pickling an array, or copying it deeply, forgets that it may not be written to, and read-only tables cannot be
    pickled at all. ``copy.copy`` gives the object itself, which nobody can change.
    """

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the fields, whether or not the constructor takes them."""
        values = {field.name: _packed(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]
        return _published, (type(self), values)

    def __copy__(self) -> Self:
        """Return the object itself."""
        return self


class _ReadOnly:
    """Stands for something read-only in a pickle, which comes back as such."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __reduce__(self) -> tuple[Any, ...]:
        return _read_only, (self.value,)


def _packed(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value if value.flags.writeable else _ReadOnly(value)
    if isinstance(value, MappingProxyType):
        return _ReadOnly({key: _packed(member) for key, member in value.items()})
    return tuple(map(_packed, value)) if type(value) is tuple else value


def _read_only(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        value.setflags(write=False)
        return value
    return MappingProxyType(value)


def _published(kind: type[Any], values: dict[str, Any]) -> Any:
    made = object.__new__(kind)
    for name, value in values.items():
        object.__setattr__(made, name, value)
    return made
