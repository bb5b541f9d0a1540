"""A document: the file of a result, JSON with schema, version and checksum, written all or nothing, strictly read.

::

    {"schema": "counterpoise-…", "version": 1, "checksum": "sha256:…", "content": {…}}

The content is a frozen dataclass, field by field: numbers, texts, arrays as lists, dataclasses in them as tables. The
dataclass is the only place where the fields are named. The checksum covers the content as canonical JSON (sorted keys,
no spaces).

JSON knows neither NaN nor infinity: both are written as ``null``, and ``null`` is read as NaN. A field whose unknown
values are infinite says so by :func:`infinite_where_unknown`.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin

import msgspec
import numpy as np
import numpy.typing as npt

from ..errors import DataFileError, InputError
from .arrays import Array, frozen, plain
from .files import MAX_FILE_BYTES, write_atomically
from .toml import read_data

MAX_DIMENSIONS = 16
"""Most dimensions of an array in a file."""

Table = TypeVar("Table")


def infinite_where_unknown(result: Any, *names: str) -> None:
    """Replace NaN by infinity in fields of a frozen dataclass, numbers or arrays: the spreads of what is unknown."""
    for name in names:
        value = getattr(result, name)
        known = np.where(np.isnan(value), np.inf, value)
        object.__setattr__(result, name, float(known) if isinstance(value, float) else frozen(known))


def write_document(path: str | Path, schema: str, version: int, content: Any) -> Path:
    """Write a document, all or nothing.

    Args:
        path: The file.
        schema: What it is.
        version: Version of the layout of its content.
        content: A dataclass.

    Returns:
        The file that was written.

    Raises:
        DataFileError: It cannot be written.
    """
    table = plain(content)
    document = {"schema": schema, "version": version, "checksum": checksum(table), "content": table}
    write_atomically(path, msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n")
    return Path(path)


def read_document(
    path: str | Path, tables: Mapping[str, type[Table]], version: int, *, kind: str, most: int = MAX_FILE_BYTES
) -> Table:
    """Read a document and check that it is whole.

    Args:
        path: The file.
        tables: The dataclass that is its content, by the schemas that it may have; what is possible in it, its reader
            checks.
        version: The version that is read.
        kind: What such a file is called in messages.
        most: Largest file [bytes].

    Raises:
        DataFileError: The file cannot be read, is of another kind or version, is damaged, or its content is not the
            table: something lacks, is unknown or of another type.
    """
    data = read_data(path, most)
    try:
        document = msgspec.json.decode(data)
        schema = document.get("schema") if isinstance(document, dict) else type(document).__name__
        if not isinstance(schema, str) or schema not in tables:
            expected = " or ".join(map(repr, tables))
            raise DataFileError(f"is no {kind}: its schema is {schema!r}, expected {expected}", path=path)
        written, content = document.get("version"), document.get("content")
        if isinstance(written, bool) or not isinstance(written, int) or not isinstance(content, dict):
            raise DataFileError("is damaged: version or content is missing", path=path)
        if written != version:
            remedy = "Update counterpoise" if written > version else "Make it again: calibrate again from the recording"
            message = f"has version {written} of the format; this package reads version {version}. {remedy}"
            raise DataFileError(message, path=path)
        if document.get("checksum") != checksum(content):
            raise DataFileError(
                "is damaged: its checksum does not fit its content. It was changed after it was written; calibrate "
                "again or take the file from a copy",
                path=path,
            )
        return _converted(content, tables[schema], kind, path)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DataFileError(f"is not JSON ({error}); the file is damaged or of another kind", path=path) from error


def checksum(content: dict[str, Any]) -> str:
    """Return the checksum of a file's content: sha256 of its canonical JSON."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def refuse_beyond(
    name: str,
    values: npt.ArrayLike,
    least: float | Array,
    most: float | Array,
    *,
    labels: Sequence[str] = (),
    unknown: bool = False,
) -> None:
    """Refuse a number of a file that is not within bounds.

    Args:
        name: The field.
        values: One number or an array.
        least: Lower bound, one number or one for each.
        most: Upper bound.
        labels: What each number of a row stands for.
        unknown: Whether NaN, "not known", is allowed.

    Raises:
        InputError: One is below ``least``, above ``most``, or NaN; the message names its field and place.
    """
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except OverflowError:  # a whole number of hundreds of digits
        numbers = np.asarray(np.inf)
    bad = np.argwhere(~((numbers >= least) & (numbers <= most)) & ~(unknown & np.isnan(numbers)))
    if len(bad):
        place = tuple(bad[0].tolist())
        low, high = (float(np.broadcast_to(bound, numbers.shape)[place]) for bound in (least, most))
        label = f" ({labels[place[0]]})" if labels else ""
        index = "".join(f"[{at}]" for at in place)
        raise InputError(f"{name}{index}{label} is {numbers[place]:g}; expected {low:g} to {high:g}")


def refuse_shape(name: str, array: npt.NDArray[Any], shape: tuple[int, ...]) -> None:
    """Refuse an array of a file that has another shape.

    Raises:
        InputError: It has; the message names its field.
    """
    if array.shape != shape:
        raise InputError(f"{name} has shape {array.shape}; expected {shape}")


def _converted(content: dict[str, Any], table: type[Table], kind: str, path: str | Path) -> Table:
    """Return a document's content as its dataclass; what it would not be written as is refused, unknown keys too."""
    try:
        result = msgspec.convert(_nan_for_null(content), table, dec_hook=_decoded)
        rewritten = plain(result)
    except (msgspec.ValidationError, OverflowError) as error:
        raise DataFileError(f"does not hold what a {kind} has: {error}", path=path) from error
    if rewritten != content:
        where = _first_difference(rewritten, content)
        raise DataFileError(f"does not hold what a {kind} has: '{where}' is unknown, missing or not plain", path=path)
    return result


def _nan_for_null(value: Any) -> Any:
    """Return tables whose numbers that are null are NaN; those in lists of numbers are left to _decoded."""
    if isinstance(value, dict):
        return {key: math.nan if item is None else _nan_for_null(item) for key, item in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [_nan_for_null(item) for item in value]
    return value


def _decoded(kind: Any, value: Any) -> Any:
    """Return a list as a read-only array, or as the subclass of tuple that is asked for."""
    try:
        if get_origin(kind) is np.ndarray:
            return _array(get_args(get_args(kind)[1])[0], value)
        (element, _) = get_args(kind.__orig_bases__[0])
        return kind(msgspec.convert(value, tuple[element, ...], dec_hook=_decoded))  # type: ignore[valid-type]
    except msgspec.ValidationError as error:  # as a ValueError it is given its place
        raise ValueError(str(error)) from error


def _array(number: Any, value: Any) -> npt.NDArray[Any]:
    """Return nested lists as an array of bool or float64, null as NaN; texts and mixed kinds are refused."""
    form: Any = bool if number is np.bool_ else float | None
    inner, depth = value, 0
    while isinstance(inner, list) and depth < MAX_DIMENSIONS:
        inner, depth, form = inner[0] if inner else None, depth + 1, list[form]
    if depth == 0:
        raise ValueError("expected a list of numbers")
    array = np.array(msgspec.convert(value, form), dtype=number)
    array.setflags(write=False)
    return array


def _first_difference(one: Any, other: Any, at: str = "") -> str:
    """Return the dotted key at which two tables differ first."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in (*one, *other):
            if key not in one or key not in other or one[key] != other[key]:
                return _first_difference(one.get(key), other.get(key), f"{at}.{key}".lstrip("."))
    return at
