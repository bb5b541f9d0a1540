"""The plan of a reading: which columns of which sources become which part of the log, and what is known about them.

``LogSource`` is a log in memory as a table, so that a change of the mapping can be applied to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..dynamics import WRENCH_COMPONENTS, rotary
from ..errors import BudgetError, DataFileError, InputError, listed
from ..foundation import Array
from .clock import ASSUMED_RATE, rate_of, travel, unit_of_time
from .conversion import Converter, RawRows, held_positions
from .declared import Declared, RateSource, TimeFrom
from .log import FLAGS_END, Log, joined
from .mapping import JointSection, LogMapping
from .merging import LARGEST_GAP, MergedRows, Stream, merged
from .names import KINDS, TIME
from .own_format import About, columns_of
from .proposal import Proposal, propose
from .provenance import combined, dotted
from .table import CHUNK_ROWS, SHOWN_NAMES, Column, Columns, Recovery, Table, TableSource

if TYPE_CHECKING:
    from ..dynamics import Robot


PROBE_ROWS = 16_384
"""Rows at a time by which the motion is asked how fast time goes ..."""
MOVES = 0.1
"""Travel within them [rad or m] from which the arm moves ..."""
PROBES = 16
"""... and how often at most, until the arm moves."""

Place = tuple[int, int]
"""Stream, and column within its wanted ones."""


def make_plan(sources: Sequence[TableSource], robot: Robot | None, given: LogMapping, *, recover: bool = False) -> Plan:
    """Match the columns of a recording with the joints.

    Args:
        sources: The recording.
        robot: The arm; None takes the recording's names.
        given: What is known of the columns.
        recover: Leave rows of garbage out instead of refusing their file.

    Raises:
        DataFileError: The columns cannot be matched.
        InputError: The mapping does not fit.
    """
    columns = Columns(sources)
    own = next((number for number, source in enumerate(sources) if source.about is not None), None)
    about = None if own is None else sources[own].about
    whole = given
    if about is not None and own is not None:
        whole = own_mapping(about, sources[own].column_names).merged_with(given)
    joints = about.joint_names if robot is None and about is not None else None if robot is None else robot.joint_names
    if about is not None and robot is not None:
        if extra := [name for name in about.joint_names if name not in robot.joint_names and name not in given.ignore]:
            raise DataFileError(
                f"the log has joints that the robot lacks: {extra}.\n"
                f"  log: {listed(about.joint_names, SHOWN_NAMES)}\n  robot: {listed(robot.joint_names, SHOWN_NAMES)}",
                path=columns.path,
            )
        kept = {name: section for name, section in whole.to_table()["joints"].items() if name in robot.joint_names}
        whole = LogMapping.from_table({**whole.to_table(), "joints": kept})
    proposal = propose(columns, joints, whole, described=about is not None)
    plan = Plan(columns, proposal, robot, about, own, given, recover)
    if about is not None:
        return plan
    clocked = _with_clock(plan, proposal, robot)
    return plan if clocked is proposal else Plan(columns, clocked, robot, about, own, given, recover)


def _with_clock(plan: Plan, proposal: Proposal, robot: Robot | None) -> Proposal:
    """Return the proposal with a rate, or a unit of the time, where the motion is to tell it."""
    if plan.declared.time_from == "rate":
        if proposal.mapping.time.rate is not None:
            return proposal
        where, found = ("time", "rate"), rate_of(plan.beginning(), robot)
    elif proposal.time.open_units is not None:
        where, found = ("time", "unit"), unit_of_time(plan.beginning(), robot, proposal.time.open_units)
    else:
        return proposal
    return proposal.with_value(where, found.value, found.reason, found.source)


class Plan:
    """Reads a recording as its mapping says.

    Attributes:
        proposal: The mapping and its reasons.
        path: The first file.
        needs_velocity: Whether velocities must be differentiated from positions.
        velocity_cutoff: Cutoff for that [Hz], if the mapping says one.
        declared: What is known of the log's numbers.
    """

    def __init__(
        self,
        columns: Columns,
        proposal: Proposal,
        robot: Robot | None,
        about: About | None,
        own: int | None,
        given: LogMapping,
        recover: bool,
    ) -> None:
        """Lay out streams and conversion; nothing is read yet."""
        mapping = proposal.mapping
        self.proposal = proposal
        self.path = columns.path
        self._columns = columns
        self._mapping = mapping
        self._recorded = proposal.joint_names
        self._own = own
        self._recover = recover
        names = self._recorded if robot is None else robot.joint_names
        limits = (None, None) if robot is None else (robot.lower, robot.upper)
        held = held_positions(names, self._recorded, mapping.held, *limits)
        self._names = names
        turns = [True] * len(names) if robot is None else rotary(robot)
        self._converter = Converter(mapping, names, self._recorded, turns, held)
        self._streams: list[Stream] = []
        self._keys: dict[tuple[int, float], int] = {}
        self._wanted: list[list[int]] = []
        self._places = {kind: self._joint_places(kind) for kind in KINDS}
        self._wrench = [self._place(columns.find(name), mapping.wrench.lag) for name in mapping.wrench.columns or ()]
        self._sent, self._flags = self._own_places()
        self._sides = [self._side_of(joint) for joint in self._recorded]
        self._pair = self._pair_place()
        self._make_streams()
        self.needs_velocity = not any(self._places["velocity"])
        self.velocity_cutoff = mapping.velocity.cutoff
        self.declared = self._declared(held, about, given)

    # ------------------------------------------------------------------------------------------------ laying out

    def _place(self, column: Column, lag: float | None) -> Place:
        """Return the place of a column, in the stream of its source and lag; positions come first and lead."""
        key = (column.source, lag or 0.0)
        stream = self._keys.setdefault(key, len(self._keys))
        if stream == len(self._wanted):
            self._wanted.append([])
        if column.index not in self._wanted[stream]:
            self._wanted[stream].append(column.index)
        return stream, self._wanted[stream].index(column.index)

    def _joint_places(self, kind: str) -> list[Place | None]:
        lag = getattr(self._mapping, kind).lag
        places: list[Place | None] = []
        for joint in self._recorded:
            reference = getattr(self._mapping.joints[joint], kind)
            places.append(None if reference is None else self._place(self._columns.find(reference), lag))
        return places

    def _own_places(self) -> tuple[list[Place], Place | None]:
        """Return the places of what only logs of ours have: what was sent, and flags."""
        if self._own is None:
            return [], None
        mine = {column.name: column for column in self._columns.all if column.source == self._own}
        lag = self._mapping.position.lag
        sent = [self._place(mine[f"sent.{joint}"], lag) for joint in self._recorded if f"sent.{joint}" in mine]
        return sent, self._place(mine["flags"], lag)

    def _side_of(self, joint: str) -> Place | float | None:
        """Return where the side of a joint stands, or the side itself; None where it is not declared."""
        given = self._mapping.joints[joint].side
        given = self._mapping.poses.side if given is None else given
        if isinstance(given, str):
            return self._place(self._columns.find(given), self._mapping.position.lag)
        if given is not None:
            return float(given)
        return self._own_column(f"side.{joint}")

    def _pair_place(self) -> Place | None:
        given = self._mapping.poses.pair
        if given is not None:
            return self._place(self._columns.find(given), self._mapping.position.lag)
        return self._own_column("pair")

    def _own_column(self, name: str) -> Place | None:
        """Return the place of a column that logs of ours may have."""
        mine = (column for column in self._columns.all if column.source == self._own and column.name == name)
        column = next(mine, None)
        return None if column is None else self._place(column, self._mapping.position.lag)

    def _make_streams(self) -> None:
        unit = TIME[self._mapping.time.unit or "s"]
        for (number, lag), wanted in zip(self._keys, self._wanted, strict=True):
            time = self.proposal.time.columns.get(number)
            source = self._columns.sources[number]
            index = None if time is None else time.index
            factor = 1.0 if index is None else unit
            self._streams.append(Stream(source, tuple(wanted), index, factor, lag, self._recover))

    def _declared(self, held: dict[str, float], about: About | None, given: LogMapping) -> Declared:
        mapping, converter = self._mapping, self._converter
        base = Declared() if about is None else about.declared
        changes: dict[str, Any] = {}
        notes: dict[str, Any] = {}
        if held:
            notes["held"] = held
        if about is None:
            changes["time_from"] = self._time_from()
            changes["velocity_from"] = "position" if not any(self._places["velocity"]) else "measured"
            notes["files"] = list(dict.fromkeys(Path(source.path).name for source in self._columns.sources))
            if self.proposal.by_number:
                notes["matched_by"] = "number"
            without = [j for j, place in zip(self._recorded, self._places["effort"], strict=True) if place is None]
            if without:
                notes["without_effort"] = without
            changes["source"] = {key: told for key, told in mapping.source.items() if told != "declared"}
            changes["rate_source"] = self._rate_source(changes["time_from"])
            if changes["rate_source"] == "guessed" and mapping.time.rate is not None:
                notes["assumed_rate"] = mapping.time.rate
            for key in ("rate", "unit"):
                if (reason := self.proposal.reasons.get(("time", key))) is not None:
                    notes["time"] = f"{getattr(mapping.time, key)} {'Hz' * (key == 'rate')}".strip() + f": {reason}"
            if self.proposal.time.refused:
                notes["time_refused"] = dict(self.proposal.time.refused)
            if len(self._streams) > 1:
                timed = all(stream.has_time for stream in self._streams)
                notes["merged_by"] = "time" if timed else "row"
                if timed:
                    notes["largest_gap"] = self._largest_gap
            changes["mapping"] = mapping.to_table()
        else:
            changes["mapping"] = given.to_table()
            changes["source"] = combined(base.source, given.source, frozenset(dotted(given.to_table())))
            if given.time.rate is not None:
                changes["time_from"] = "rate"
            if given.time.rate is not None or given.time.unit is not None:
                changes["rate_source"] = self._rate_source(changes.get("time_from", base.time_from))
        kind = mapping.effort.kind
        if kind is not None:
            changes["effort_kind"] = "torque" if kind == "current" and converter.gives_torque else kind
        for part, side in (("position_side", mapping.position.side), ("effort_side", mapping.effort.side)):
            if side is not None:
                changes[part] = "link" if converter.motor_per_link is not None else side
        if converter.motor_per_link is not None:
            changes["motor_per_link"] = converter.motor_per_link
        if converter.torque_constant is not None:
            changes["torque_constant"] = converter.torque_constant
        for name, value in (
            ("adds_gravity", mapping.robot.adds_gravity),
            ("gravity_base", mapping.robot.gravity_base),
            ("sensor_reads", mapping.wrench.reads),
            ("T_base_sensor", mapping.wrench.T_base_sensor),
        ):
            if value is not None:
                changes[name] = value
        if about is not None:
            changes |= self._reordered(base, about.joint_names, changes)
        return replace(base, notes={**base.notes, **notes}, **changes)

    def _reordered(self, base: Declared, names: tuple[str, ...], changes: dict[str, Any]) -> dict[str, Any]:
        """Return what a log declares per joint, in the order of the joints asked for."""
        if names == self._names:
            return {}
        found: dict[str, Any] = {}
        rows = [self._names.index(name) for name in names if name in self._names]
        old = [row for row, name in enumerate(names) if name in self._names]
        if base.motor_per_link is not None and "motor_per_link" not in changes:
            found["motor_per_link"] = np.eye(len(self._names))
            found["motor_per_link"][np.ix_(rows, rows)] = base.motor_per_link[np.ix_(old, old)]
        if base.torque_constant is not None and "torque_constant" not in changes:
            found["torque_constant"] = np.zeros(len(self._names))
            found["torque_constant"][rows] = base.torque_constant[old]
        return found

    def _rate_source(self, time_from: TimeFrom | None) -> RateSource:
        source = self._mapping.source
        if time_from != "rate":
            told = source.get("time.unit", "declared")
            return "recorded" if told == "declared" else "measured" if told == "measured" else "guessed"
        if self._mapping.time.rate is None:
            return "guessed"
        told = source.get("time.rate", "declared")
        return "declared" if told == "declared" else "measured" if told == "measured" else "guessed"

    def _time_from(self) -> TimeFrom:
        lead = self._streams[0]
        if self._mapping.time.rate is not None or not any(stream.has_time for stream in self._streams):
            return "rate"
        if lead.time_column is not None or not lead.has_time:
            return "column"
        told = getattr(lead.source, "time_from", "stamp")
        return "received" if told == "received" else "stamp"

    # ------------------------------------------------------------------------------------------------ reading

    @property
    def _largest_gap(self) -> float:
        given = self._mapping.merge.largest_gap
        return LARGEST_GAP if given is None else given

    @property
    def progress(self) -> float:
        """Share of the recording that has been read, 0 to 1."""
        return float(np.mean([stream.source.progress for stream in self._streams]))

    def beginning(self) -> Log:
        """Return the first part of the recording in which the arm moves, velocities NaN where they were not recorded.

        Damage ends it; the reading itself will tell.

        Raises:
            DataFileError: There is no row.
        """
        parts: list[Log] = []
        moved = False
        try:
            for number, part in enumerate(self.pieces(PROBE_ROWS)):
                parts = [*parts[-1:], part]
                if moved or number == PROBES:  # one more than the first in which it moves: it may begin at the end
                    break
                moved = bool(np.any(travel(part.q) > MOVES))
        except BudgetError:
            raise
        except DataFileError:
            if not parts:
                raise
        if not parts:
            raise DataFileError("gives no row: it has none, or [time] of the mapping leaves none", path=self.path)
        return joined(parts)

    def recovered(self) -> list[dict[str, Any]]:
        """Return what recovery had to leave out, for each damaged file; known after reading."""
        found: list[dict[str, Any]] = []
        for stream in self._streams:
            own = [] if stream.source.recovery is None else [stream.source.recovery]
            for recovery in (*own, *stream.recoveries):
                entry = {"file": Path(stream.source.path).name, **asdict(recovery)}
                if entry not in found:
                    found.append(entry)
        return found

    def pieces(self, rows: int) -> Iterator[Log]:
        """Yield the log in pieces of at most ``rows``, without velocities where they are to be differentiated.

        Raises:
            DataFileError: A source cannot be read.
        """
        streams = self._streams
        rate = self._mapping.time.rate
        if rate is not None:
            streams = [
                replace(stream, time_column=None) if not stream.source.has_time else stream for stream in streams
            ]
        first, begin = 0, None
        for piece in merged(streams, largest_gap=self._largest_gap, rows=rows):
            k = len(piece.values[0])
            numbers = np.arange(first, first + k)
            first += k
            time = piece.time
            if time is None or rate is not None:
                time = numbers / (rate or ASSUMED_RATE)
            good = np.ones(k, dtype=bool) if piece.bad is None else ~piece.bad
            known = time[good & np.isfinite(time)]
            begin = float(known[0]) if begin is None and len(known) else begin
            kept = good & self._cropped(numbers, time, begin or 0.0)
            if kept.any():
                part = piece if kept.all() else MergedRows(None, tuple(values[kept] for values in piece.values))
                yield self._log(time[kept], part)
            if self._mapping.time.last is not None and first > self._mapping.time.last:
                return

    @np.errstate(over="ignore", invalid="ignore")
    def _cropped(self, numbers: npt.NDArray[np.int_], time: Array, begin: float) -> Any:
        section = self._mapping.time
        kept = np.ones(len(time), dtype=bool)
        kept &= numbers >= (section.first or 0)
        if section.last is not None:
            kept &= numbers <= section.last
        if section.start is not None:
            kept &= time - begin >= section.start
        if section.end is not None:
            kept &= time - begin <= section.end
        return kept

    def _log(self, time: Array, piece: MergedRows) -> Log:
        raw = RawRows(
            time=time,
            position=self._gathered(self._places["position"], piece) if self._recorded else np.empty((len(time), 0)),
            velocity=self._gathered(self._places["velocity"], piece) if any(self._places["velocity"]) else None,
            effort=self._gathered(self._places["effort"], piece) if any(self._places["effort"]) else None,
            wrench=self._gathered(self._wrench, piece) if self._wrench else None,
            sent=self._gathered(self._sent, piece) if self._sent else None,
            flags=None if self._flags is None else self._whole_flags(self._gathered([self._flags], piece)[:, 0]),
            side=self._gathered_sides(piece) if any(side is not None for side in self._sides) else None,
            pair=None if self._pair is None else self._gathered([self._pair], piece)[:, 0],
        )
        try:
            return self._converter.convert(raw, self.declared)
        except InputError as error:
            raise DataFileError(f"gives no log: {error}", path=self.path) from error

    def _gathered(self, places: Sequence[Place | None], piece: MergedRows) -> Array:
        """Return columns side by side, NaN for those that are not there."""
        out = np.full((len(piece.values[0]), len(places)), np.nan)
        for index, place in enumerate(places):
            if place is not None:
                out[:, index] = piece.values[place[0]][:, place[1]]
        return out

    def _gathered_sides(self, piece: MergedRows) -> Array:
        """Return the sides of the recorded joints, 0 where none is declared."""
        out = np.zeros((len(piece.values[0]), len(self._sides)))
        for index, side in enumerate(self._sides):
            if isinstance(side, tuple):
                out[:, index] = np.nan_to_num(piece.values[side[0]][:, side[1]])
            elif side is not None:
                out[:, index] = side
        return out

    def _whole_flags(self, flags: Array) -> Any:
        if not np.all((flags >= 0) & (flags < FLAGS_END) & (flags == np.floor(flags))):
            raise DataFileError("has flags that are not whole numbers", path=self.path)
        return flags.astype(np.int64)


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
