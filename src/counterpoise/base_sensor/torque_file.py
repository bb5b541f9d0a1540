"""Estimated torques as a table for other programs: CSV or Parquet, one row per sample.

Columns: ``time [s]``; for every joint ``torque.NAME [N m]`` (τ_d + g), ``torque_std.NAME [N m]``,
``dynamic_torque.NAME [N m]`` (τ_d) and ``dynamic_torque_std.NAME [N m]``, N for linear joints; ``valid``, 1 where the
row may be relied on; ``flags``, EstimateFlag bits. A joint that the plate tells nothing of has NaN in its columns.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import BinaryIO

import numpy as np

from ..description.frozen import Array
from ..errors import DataFileError
from ..logs.atomic import write_atomically
from ..logs.files import csv_blocks
from ..logs.parquet_source import parquet_library
from .recording_torques import RecordingTorques

ENDINGS = (".csv", ".parquet")
PARQUET_KEY = b"counterpoise-torques"
"""Key of the description in the metadata of a Parquet file."""


def write_recording_torques(found: RecordingTorques, path: str | Path) -> None:
    """Write the torques of a recording, all or nothing.

    Args:
        found: The torques.
        path: A file that ends in .csv or .parquet; replaced if it exists.

    Raises:
        DataFileError: Another ending, or the file cannot be written.
        MissingExtraError: pyarrow is needed for .parquet and not installed.
    """
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise DataFileError(f"ends in '{ending}'; torques are written as {' or '.join(ENDINGS)}", path=path)
    if ending == ".csv":
        write_atomically(path, lambda stream: _write_csv(found, stream))
    else:
        parquet_library()
        write_atomically(path, lambda stream: _write_parquet(found, stream))


def torque_columns(found: RecordingTorques) -> tuple[tuple[str, ...], Array]:
    """Return the names and numbers of all columns but ``valid`` and ``flags``, shape (k, 1 + 4 n)."""
    names, columns = ["time [s]"], [found.log.time]
    for place, joint in enumerate(found.joints):
        for word, estimate in (("torque", found.torque), ("dynamic_torque", found.dynamic)):
            names += [f"{word}.{joint.name} [{joint.unit}]", f"{word}_std.{joint.name} [{joint.unit}]"]
            for values in (estimate.value, estimate.std):
                kept = values[:, place] if joint.informative else np.full(len(values), np.nan)
                columns.append(np.where(np.isfinite(kept), kept, np.nan))
    return tuple(names), np.column_stack(columns)


def _write_csv(found: RecordingTorques, stream: BinaryIO) -> None:
    names, numbers = torque_columns(found)
    marks = np.column_stack([found.torque.valid.astype(np.int64), found.torque.flags])
    for text in csv_blocks((*names, "valid", "flags"), [numbers, marks]):
        stream.write(text.encode())


def _write_parquet(found: RecordingTorques, stream: BinaryIO) -> None:
    arrow = parquet_library()
    names, numbers = torque_columns(found)
    about = {
        "robot": found.robot.name,
        "form": found.form,
        "cutoff_hz": found.cutoff,
        "informative": list(found.informative),
    }
    schema = arrow.schema(
        [(name, arrow.float64()) for name in names] + [("valid", arrow.bool_()), ("flags", arrow.int64())],
        metadata={PARQUET_KEY: json.dumps(about).encode()},
    )
    arrays = [arrow.array(column) for column in numbers.T]
    arrays += [arrow.array(found.torque.valid), arrow.array(found.torque.flags)]
    arrow.parquet.write_table(arrow.Table.from_arrays(arrays, schema=schema), stream)
