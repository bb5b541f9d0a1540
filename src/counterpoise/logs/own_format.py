"""How our own log files describe themselves, whatever their ending: names of the joints and what was declared, as JSON.

Their columns are ``time, q.<joint>..., dq.<joint>..., tau.<joint>..., [sent.<joint>...,]
[side.<joint>...,] [wrench.fx, ...,] [pair,] flags``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..description.frozen import Array
from ..dynamics.reference import WRENCH_COMPONENTS
from ..errors import DataFileError, InputError
from .declared import Declared

if TYPE_CHECKING:
    from .log import Log

FORMAT = 1
"""Version of all three formats."""
CSV_TAG = "counterpoise-log "
"""What the first comment line of a CSV log begins with."""
PARQUET_KEY = b"counterpoise-log"
"""Key of the description in the metadata of a Parquet log."""


@dataclass(frozen=True, slots=True)
class About:
    """What a log file of ours says of itself.

    Attributes:
        joint_names: Names of the n joints.
        declared: What is known about the numbers.
    """

    joint_names: tuple[str, ...]
    declared: Declared

    @staticmethod
    def of(log: Log) -> About:
        """Return the description of a log."""
        return About(log.joint_names, log.declared)

    def to_text(self) -> str:
        """Return the description as one line of JSON."""
        table = {"format": FORMAT, "joint_names": list(self.joint_names), "declared": self.declared.to_table()}
        return json.dumps(table, allow_nan=False)

    @staticmethod
    def from_text(text: str, path: str | Path, line: int | None = None) -> About:
        """Read a description.

        Raises:
            DataFileError: It is no description of a log that this version reads.
        """
        try:
            table: Any = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise DataFileError(f"is no log: its description is not JSON ({error})", path=path, line=line) from error
        if not isinstance(table, dict) or not isinstance(table.get("declared", {}), dict):
            raise DataFileError("is no log: its description is not a table", path=path, line=line)
        if table.get("format") != FORMAT:
            told = f"has log format {table.get('format')!r}; this version reads {FORMAT}"
            raise DataFileError(told, path=path, line=line)
        names = table.get("joint_names")
        if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
            raise DataFileError("is no log: its description does not name the joints", path=path, line=line)
        if len(set(names)) != len(names):
            raise DataFileError(f"is no log: its joint_names {names} are not all different", path=path, line=line)
        try:
            return About(tuple(names), Declared.from_table(table.get("declared", {})))
        except (InputError, RecursionError) as error:
            raise DataFileError(f"is no log: {error}", path=path, line=line) from error


def columns_of(log: Log) -> tuple[tuple[str, ...], list[Array]]:
    """Return the names of all columns of a log and the blocks of numbers below them, flags last."""
    parts = [("q", log.q), ("dq", log.dq), ("tau", log.tau)]
    parts += [(part, values) for part, values in (("sent", log.sent), ("side", log.side)) if values is not None]
    names = ["time", *(f"{part}.{joint}" for part, _ in parts for joint in log.joint_names)]
    blocks = [log.time[:, None], *(block for _, block in parts)]
    if log.wrench is not None:
        names += [f"wrench.{channel}" for channel in WRENCH_COMPONENTS]
        blocks.append(log.wrench)
    if log.pair is not None:
        names.append("pair")
        blocks.append(log.pair[:, None])
    return (*names, "flags"), [*blocks, log.flags[:, None].astype(np.float64)]


def check_columns(names: tuple[str, ...], about: About, path: str | Path, line: int | None = None) -> None:
    """Refuse a log file whose columns are not those that its description calls for.

    Raises:
        DataFileError: A column is missing, or one is there that no log has.
    """
    needed = {"time", "flags", *(f"{part}.{joint}" for part in ("q", "dq", "tau") for joint in about.joint_names)}
    optional = [
        {f"sent.{joint}" for joint in about.joint_names},
        {f"side.{joint}" for joint in about.joint_names},
        {"pair"},
        {f"wrench.{channel}" for channel in WRENCH_COMPONENTS},
    ]
    for group in optional:
        if group & set(names):
            needed |= group
    if missing := sorted(needed - set(names)):
        raise DataFileError(f"is no log: it lacks the columns {', '.join(missing[:20])}", path=path, line=line)
    if extra := sorted(set(names) - needed):
        raise DataFileError(f"has columns that no log has: {', '.join(extra[:20])}", path=path, line=line)
