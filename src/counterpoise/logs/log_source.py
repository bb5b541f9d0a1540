"""A log in memory as a table, so that a change of the mapping can be applied to it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..dynamics.reference import WRENCH_COMPONENTS
from .log import Log
from .mapping import JointSection, LogMapping
from .own_format import About, columns_of
from .table import CHUNK_ROWS, Recovery, Table

_PARTS = {"position": "q", "velocity": "dq", "effort": "tau"}


class LogSource:
    """A log in memory.

    Attributes:
        about: Names of its joints and what it declares.
    """

    name = ""
    path = "<log>"
    has_time = False
    recovery: Recovery | None = None

    def __init__(self, log: Log) -> None:
        """Take the columns of a log."""
        self.column_names, self._blocks = columns_of(log)
        self.about = About.of(log)
        self.progress = 0.0

    def tables(self, rows: int = CHUNK_ROWS) -> Iterator[Table]:
        """Yield the rows in pieces of at most ``rows``."""
        total = len(self._blocks[0])
        for begin in range(0, total, rows):
            self.progress = min((begin + rows) / total, 1.0)
            yield Table(None, np.hstack([block[begin : begin + rows] for block in self._blocks]))


def renamed(change: LogMapping, log: Log) -> LogMapping:
    """Return a change that refers to the columns of a recording as one that refers to those of the log made from it."""
    before = LogMapping.from_table(log.declared.mapping)
    names: dict[str, str] = {}
    for joint, section in before.joints.items():
        for part, letter in _PARTS.items():
            if (column := getattr(section, part)) is not None:
                names[column] = f"{letter}.{joint}"
    names |= {
        column: f"wrench.{channel}"
        for column, channel in zip(before.wrench.columns or (), WRENCH_COMPONENTS, strict=False)
    }
    table = change.to_table()
    for section in table.get("joints", {}).values():
        section |= {part: names.get(section[part], section[part]) for part in _PARTS if part in section}
    if "columns" in table.get("wrench", {}):
        table["wrench"]["columns"] = [names.get(column, column) for column in table["wrench"]["columns"]]
    return LogMapping.from_table(table)


def own_mapping(about: About, column_names: tuple[str, ...]) -> LogMapping:
    """Return the mapping of a log file of ours: every column is what its name says."""
    joints = {
        name: JointSection(position=f"q.{name}", velocity=f"dq.{name}", effort=f"tau.{name}")
        for name in about.joint_names
    }
    table = LogMapping(joints=joints).to_table()
    table["time"] = {"column": "time", "unit": "s"}
    if "wrench.fx" in column_names:
        table["wrench"] = {"columns": [f"wrench.{channel}" for channel in WRENCH_COMPONENTS]}
    return LogMapping.from_table(table)
