"""Reading a recording: files to a :class:`Log` in our conventions, whole or in pieces.

files → sources (:mod:`.table`) → mapping (:mod:`.proposal`) → rows merged on time (:mod:`.merging`) → converted
(:mod:`.conversion`) → Log. Which reader a file needs is judged by its first bytes, not by its ending.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import DataFileError, InputError, reason_of
from ..foundation import Array
from .budget import ReadingBudget, Spending
from .filters import increasing, settling_rows, smoothed
from .log import ARRAYS, Log, joined
from .names import TIME
from .table import CHUNK_ROWS, MessageTime
from .text_files import CsvSource

if TYPE_CHECKING:
    from ..dynamics import Robot
    from .mapping import LogMapping
    from .plan import Plan
    from .proposal import Proposal
    from .table import TableSource


MAX_FILES = 1000
Paths = str | Path | Sequence[str | Path]

Opener = Callable[[str | Path, Spending], "Sequence[TableSource]"]
"""Opens a file: its path, and what reading may cost, give the tables in it."""

_BAGS = (b"SQLite format 3\0", b"\x89MCAP0\r\n", b"#ROSBAG V")
_UNREADABLE = {
    b"\x1f\x8b": "is packed with gzip; unpack it first (gunzip)",
    b"\x28\xb5\x2f\xfd": "is packed with zstd; unpack it first (unzstd)",
    b"\x93NUMPY": "is a single array; keep time, q and tau together in an .npz (np.savez)",
    b"\x89HDF": "is HDF5, which is not read; write it as .csv, .npz or .parquet",
    b"MATLAB": "is a MATLAB file, which is not read; write it as .csv (writetable)",
}


def _open_npz(path: str | Path, spending: Spending) -> Sequence[TableSource]:
    from .npz_files import NpzSource

    return (NpzSource(path, spending),)


def _open_parquet(path: str | Path, spending: Spending) -> Sequence[TableSource]:
    from .parquet_files import ParquetSource

    return (ParquetSource(path, spending),)


_BUILT_IN: dict[bytes, Opener] = {b"PK\x03\x04": _open_npz, b"PK\x05\x06": _open_npz, b"PAR1": _open_parquet}
_REGISTERED: dict[bytes, Opener] = {}
HEAD_BYTES = 16
"""First bytes of a file that readers are chosen by."""


def register_reader(magic: bytes, opener: Opener) -> None:
    """Read every file that begins with some bytes by a reader of your own, from :func:`read_log` to the command line.

    Args:
        magic: The first bytes of such a file, 1 to 16. A later registration of the same bytes replaces an earlier one.
        opener: Returns the tables of a file; it gets the path and the budget, which it tells of memory before use.

    Raises:
        InputError: The bytes are none or too many, or those of a format that the package reads itself.
    """
    if not 0 < len(magic) <= HEAD_BYTES:
        raise InputError(f"magic has {len(magic)} bytes; expected 1 to {HEAD_BYTES}")
    for own in (*_BAGS, *_BUILT_IN):
        if own.startswith(magic) or magic.startswith(own):
            raise InputError(f"files that begin with {magic!r} are read by the package itself")
    _REGISTERED[magic] = opener


def open_sources(
    paths: Paths,
    *,
    recover: bool = False,
    time: MessageTime = "stamp",
    spending: Spending | None = None,
) -> tuple[TableSource, ...]:
    """Open the files of a recording.

    Args:
        paths: One file or bag, or several that belong together.
        recover: Read what is intact of damaged files instead of refusing them.
        time: Which time of a bag's messages counts.
        spending: What the recording may cost; None for the default budget.

    Raises:
        DataFileError: One of them cannot be read, or they cost more than the budget.
        InputError: There is none, or absurdly many.
    """
    files = [paths] if isinstance(paths, str | Path) else list(paths)
    if not 0 < len(files) <= MAX_FILES:
        raise InputError(f"{len(files)} files; expected 1 to {MAX_FILES}")
    spending = spending or Spending()
    return tuple(source for file in files for source in _open(file, recover, time, spending))


def _open(path: str | Path, recover: bool, time: MessageTime, spending: Spending) -> Sequence[TableSource]:
    head = _head(path)
    if head is None or head.startswith(_BAGS):
        from .bags.source import open_bag

        return open_bag(path, recover=recover, time=time, spending=spending)
    for magic, opener in (*_BUILT_IN.items(), *_REGISTERED.items()):
        if head.startswith(magic):
            return opener(path, spending)
    for magic, told in _UNREADABLE.items():
        if head.startswith(magic):
            raise DataFileError(told, path=path)
    return (CsvSource(path, spending),)


def _head(path: str | Path) -> bytes | None:
    """Return the first bytes of a file, None for a folder."""
    try:
        if Path(path).is_dir():
            return None
        if Path(path).exists() and not Path(path).is_file():  # a pipe would be waited for, and can be read only once
            raise DataFileError("is not a regular file", path=path)
        with Path(path).open("rb") as stream:
            return stream.read(HEAD_BYTES)
    except (OSError, ValueError) as error:  # ValueError: a NUL byte in the path
        if isinstance(error, DataFileError):
            raise
        raise DataFileError(f"cannot be read: {reason_of(error)}", path=path) from error


Progress = Callable[[float], None]
VELOCITY_CUTOFF_SHARE = 0.05
"""Cutoff of differentiated velocities, as a share of the sampling rate, unless the mapping says otherwise ..."""
VELOCITY_CUTOFF = 20.0
"""... and at most this [Hz]: arms move more slowly."""


def read_log(
    paths: Paths,
    robot: Robot | None = None,
    mapping: LogMapping | Mapping[str, Any] | str | Path | None = None,
    *,
    recover: bool = False,
    time: MessageTime = "stamp",
    progress: Progress | None = None,
    budget: ReadingBudget | None = None,
) -> Log:
    """Read a recording: CSV, NPZ, Parquet, ROS 1 and ROS 2 bags, MCAP, or logs of ours, distinguished by their content.

    Columns are matched to the robot's joints by name; see :func:`propose_mapping` for what would be done. Joints that
    the recording lacks are held at 0 (or as the mapping's ``[held]`` says) and named in ``declared.notes["held"]``. A
    recording without velocities gets them from its positions (``declared.velocity_from``), one without time has the
    rate that recorded velocities tell, else 100 samples per second (``declared.rate_source``, ``declared.notes``).

    Args:
        paths: A file or bag, or several that belong together; they are merged on time, positions lead.
        robot: The arm, for names, order and kinds of its joints; None takes the recording's names.
        mapping: What columns mean where their names do not tell: a mapping, a table or a mapping file.
        recover: Read what is intact of damaged files instead of refusing them, and leave rows of garbage out: lines
            that are no rows, numbers beyond all bounds. ``declared.notes["recovered"]`` says what.
        time: Which time of a bag's messages counts: their stamps or when they were received.
        progress: Called now and then with the share that has been read, 0 to 1.
        budget: What the recording may cost (memory, rows, ...); None for the default :class:`.budget.ReadingBudget`.

    Raises:
        DataFileError: A file cannot be read, or the columns cannot be matched with the joints; the message says how to
            go on.
        BudgetError: Reading it costs more than the budget.
        InputError: The mapping does not fit.
        MissingExtraError: A library for this kind of file is not installed.
    """
    pieces: list[Log] = []
    spending = Spending(budget)
    plan = _planned(paths, robot, mapping, recover, time, spending)
    for piece in _pieces(plan, progress, CHUNK_ROWS):
        arrays = (getattr(piece, name) for name in ARRAYS)
        spending.spend("rows", len(piece), plan.path)
        spending.spend("memory", sum(array.nbytes for array in arrays if array is not None), plan.path)
        pieces.append(piece)
    return joined(pieces)


def stream_log(
    paths: Paths,
    robot: Robot | None = None,
    mapping: LogMapping | Mapping[str, Any] | str | Path | None = None,
    *,
    recover: bool = False,
    time: MessageTime = "stamp",
    progress: Progress | None = None,
    rows: int = CHUNK_ROWS,
    budget: ReadingBudget | None = None,
) -> Iterator[Log]:
    """Read a recording in pieces, in constant memory: :func:`read_log` gives these pieces joined.

    Args:
        paths: See :func:`read_log`.
        robot: See :func:`read_log`.
        mapping: See :func:`read_log`.
        recover: See :func:`read_log`; what was recovered is noted in the last piece.
        time: See :func:`read_log`.
        progress: See :func:`read_log`.
        rows: Samples of a piece at most.
        budget: See :func:`read_log`; neither the number of rows nor their memory is bounded here.

    Raises:
        DataFileError: See :func:`read_log`.
        BudgetError: See :func:`read_log`.
        InputError: See :func:`read_log`.
        MissingExtraError: See :func:`read_log`.
    """
    if rows < 1:
        raise InputError(f"rows is {rows}; expected at least 1")
    yield from _pieces(_planned(paths, robot, mapping, recover, time, Spending(budget)), progress, rows)


def propose_mapping(
    paths: Paths,
    robot: Robot | None = None,
    mapping: LogMapping | Mapping[str, Any] | str | Path | None = None,
    *,
    recover: bool = False,
    budget: ReadingBudget | None = None,
) -> Proposal:
    """Return the mapping that :func:`read_log` would use, with its reasons; ``print(proposal.to_toml())`` shows it.

    Args:
        paths: See :func:`read_log`.
        robot: See :func:`read_log`.
        mapping: See :func:`read_log`.
        recover: See :func:`read_log`.
        budget: See :func:`read_log`.

    Raises:
        DataFileError: See :func:`read_log`.
        BudgetError: See :func:`read_log`.
    """
    return _planned(paths, robot, mapping, recover, "stamp", Spending(budget)).proposal


def remapped(log: Log, change: LogMapping | Mapping[str, Any], robot: Robot | None = None) -> Log:
    """Return a log with a change of its mapping applied, such as a finding's ``fix``, without reading its file again.

    Columns are named as in the mapping that the log was read with, or ``q.<joint>``, ``dq.<joint>``, ``tau.<joint>``
    and ``wrench.fx`` to ``wrench.mz``. Another rate or unit of the time changes velocities too where they were
    differentiated from positions.

    Args:
        log: What is changed.
        change: A mapping, or a table like one.
        robot: For the kinds and the order of its joints; None keeps the log's order and takes all joints to turn.

    Raises:
        InputError: The change does not fit the log.
    """
    from .mapping import LogMapping
    from .plan import LogSource, make_plan, renamed

    asked = _as_mapping(change)
    plan = make_plan((LogSource(log),), robot, renamed(asked, log))
    new = joined(list(_pieces(plan, None, max(len(log), 1))))
    before = LogMapping.from_table(log.declared.mapping)
    new = replace(new, declared=replace(new.declared, mapping=before.merged_with(asked).to_table()))
    if asked.time.rate is None and asked.time.unit is None:
        return new
    if asked.time.unit is not None:  # it was applied to seconds that the old unit had made
        new = replace(new, time=new.time / TIME[before.time.unit or "s"])
    if new.declared.velocity_from != "position":
        return new
    cutoff = before.merged_with(asked).velocity.cutoff or _velocity_cutoff(new.rate)
    notes = {**new.declared.notes, "velocity_cutoff": cutoff}
    return replace(new, dq=_differentiated(new, cutoff), declared=replace(new.declared, notes=notes))


def _planned(
    paths: Paths,
    robot: Robot | None,
    mapping: LogMapping | Mapping[str, Any] | str | Path | None,
    recover: bool,
    time: MessageTime,
    spending: Spending,
) -> Plan:
    from .plan import make_plan

    sources = open_sources(paths, recover=recover, time=time, spending=spending)
    return make_plan(sources, robot, _as_mapping(mapping), recover=recover)


def _as_mapping(given: LogMapping | Mapping[str, Any] | str | Path | None) -> LogMapping:
    from .mapping import LogMapping, read_mapping

    if given is None:
        return LogMapping()
    if isinstance(given, str | Path):
        return read_mapping(given)
    return given if isinstance(given, LogMapping) else LogMapping.from_table(given)


def _pieces(plan: Plan, progress: Progress | None, rows: int) -> Iterator[Log]:
    """Yield the log in pieces; one is held back, so that the last can tell what was recovered."""
    waiting: Log | None = None
    source = _with_velocity(plan, rows) if plan.needs_velocity else plan.pieces(rows)
    for piece in source:
        if waiting is not None:
            yield waiting
        waiting = piece
        if progress is not None:
            progress(plan.progress)
    if waiting is None:
        raise DataFileError("gives no row: it has none, or [time] of the mapping leaves none", path=plan.path)
    recovered = plan.recovered()
    if recovered:
        notes = {**waiting.declared.notes, "recovered": recovered}
        waiting = replace(waiting, declared=replace(waiting.declared, notes=notes))
    yield waiting
    if progress is not None:
        progress(1.0)


def _with_velocity(plan: Plan, rows: int) -> Iterator[Log]:
    """Yield the pieces with velocities differentiated from positions, each seeing some of its neighbours."""
    pieces = plan.pieces(rows)
    present = next(pieces, None)
    if present is None:
        return
    rate = present.rate
    cutoff = plan.velocity_cutoff or _velocity_cutoff(rate)
    margin = settling_rows(rate, cutoff) if np.isfinite(rate) else 1
    before: Log | None = None
    while present is not None:
        after = next(pieces, None)
        around = [before[-margin:]] if before is not None else []
        around += [present] + ([after[:margin]] if after is not None else [])
        begin = len(around[0]) if before is not None else 0
        dq = _differentiated(joined(around), cutoff)[begin : begin + len(present)]
        notes = {**present.declared.notes, "velocity_cutoff": cutoff}
        declared = replace(present.declared, notes=notes, velocity_from="position")
        yield replace(present, dq=dq, declared=declared)
        before, present = present, after


def _velocity_cutoff(rate: float) -> float:
    """Return the cutoff [Hz] of differentiated velocities at a rate [Hz]."""
    cutoff = min(VELOCITY_CUTOFF_SHARE * rate, VELOCITY_CUTOFF) if np.isfinite(rate) else VELOCITY_CUTOFF
    return float(f"{cutoff:.6g}")


def _differentiated(log: Log, cutoff: float) -> Array:
    """Return dq of every sample; NaN at times that are not later than all before."""
    rows = increasing(log.time)
    dq = np.full(log.q.shape, np.nan)
    if len(rows):
        dq[rows] = smoothed(log.time[rows], log.q[rows], cutoff, derivative=1)
    return dq
