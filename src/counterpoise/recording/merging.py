"""Rows of several sources brought together: on time where all have one, else row by row. In constant memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..errors import DataFileError
from ..foundation import Array
from .filters import increasing, interpolated
from .garbage import Mask, Screen
from .table import CHUNK_ROWS, Recovery, TableSource

LARGEST_GAP = 0.2
"""Longest gap between two rows of a source across which it is interpolated [s]: two missed rows at 10 Hz."""
SAME_TIME = 1e-6
"""Times that differ by less are the same [s]: since 1970, a float64 resolves 2.4e-7 s."""
FOLLOW_ROWS = 4096
"""Rows of the leading source for which the others are read at a time."""
BEYOND = 4
"""Rows of a source that must lie beyond a time before it counts as reached: single wild stamps do not."""


@dataclass(frozen=True, slots=True)
class Stream:
    """Columns of one source that share a time.

    Attributes:
        source: Where the rows come from.
        columns: Indices of the columns wanted.
        time_column: Index of the column that is the time; None where the source has time of its own, or none.
        time_unit: What the time is multiplied by to be in s.
        lag: How late the readings are [s]; they were true so much earlier.
        recover: Leave garbage out instead of refusing the source.
        recoveries: What was left out by the last reading.
    """

    source: TableSource
    columns: tuple[int, ...]
    time_column: int | None = None
    time_unit: float = 1.0
    lag: float = 0.0
    recover: bool = False
    recoveries: list[Recovery] = field(default_factory=list, compare=False)

    @property
    def has_time(self) -> bool:
        """Whether the rows have times."""
        return self.source.has_time or self.time_column is not None

    def pieces(self, rows: int) -> Iterator[tuple[Array | None, Array, Mask | None]]:
        """Yield time [s], shape (k,) or None, the wanted columns, shape (k, m), and which rows are garbage, or None."""
        wanted = list(self.columns)
        screen = Screen(self.source, self.columns, self.time_column, self.recover)
        self.recoveries.clear()
        for table, bad in screen.tables(rows):
            time = table.time if self.time_column is None else table.columns[:, self.time_column] * self.time_unit
            yield (None if time is None else time - self.lag), table.columns[:, wanted], bad
        if screen.recovery is not None:
            self.recoveries.append(screen.recovery)

    def good_pieces(self, rows: int) -> Iterator[tuple[Array | None, Array]]:
        """Yield time [s], shape (k,) or None, and the wanted columns, shape (k, m), without garbage."""
        for time, values, bad in self.pieces(rows):
            if bad is None:
                yield time, values
            else:
                yield (None if time is None else time[~bad]), values[~bad]


@dataclass(frozen=True, slots=True, eq=False)
class MergedRows:
    """A piece of the merged recording.

    Attributes:
        time: When each row of the leading stream was measured [s], shape (k,); None where nothing tells.
        values: For each stream its columns at these times, shape (k, m); NaN where it has none.
        bad: Rows that are garbage, shape (k,); None where none is.
    """

    time: Array | None
    values: tuple[Array, ...]
    bad: Mask | None = None


def merged(streams: Sequence[Stream], *, largest_gap: float, rows: int = CHUNK_ROWS) -> Iterator[MergedRows]:
    """Yield the rows of the first stream with those of the others at the same time, in pieces of at most ``rows``.

    When all streams have time, the others are interpolated by straight lines between rows at most ``largest_gap`` [s]
    apart, and NaN elsewhere. When one has none, all are joined row by row and must have the same number of rows.

    Raises:
        DataFileError: A source cannot be read, or sources that are joined by rows have different numbers of them.
    """
    if all(stream.has_time for stream in streams):
        return _by_time(streams, largest_gap, rows)
    return _by_row(streams, rows)


def _by_time(streams: Sequence[Stream], largest_gap: float, rows: int) -> Iterator[MergedRows]:
    lead = streams[0]
    followers = [_Follower(stream, largest_gap) for stream in streams[1:]]
    try:
        for time, values, bad in lead.pieces(rows):
            times = np.empty(0) if time is None else time
            parts: list[list[Array]] = [[] for _ in followers]
            for begin in range(0, len(times), FOLLOW_ROWS):
                for follower, part in zip(followers, parts, strict=True):
                    part.append(follower.at(times[begin : begin + FOLLOW_ROWS]))
            if len(times):
                yield MergedRows(times, (values, *(np.concatenate(part) for part in parts)), bad)
    finally:
        for follower in followers:
            follower.close()


class _Follower:
    """Gives the rows of a stream at the times of another, which mostly go forward."""

    def __init__(self, stream: Stream, largest_gap: float) -> None:
        self._pieces = stream.good_pieces(FOLLOW_ROWS)
        self._largest_gap = largest_gap
        self._time = np.empty(0)
        self._values = np.empty((0, len(stream.columns)))
        self._ended = False

    def at(self, times: Array) -> Array:
        known = times[increasing(times)]
        if known.size:
            self._advance(float(known[0]), float(known[-1]))
        if not len(self._time):
            return np.full((len(times), self._values.shape[1]), np.nan)
        values = interpolated(times, self._time, self._values)
        left = np.clip(np.searchsorted(self._time, times, side="right") - 1, 0, len(self._time) - 1)
        right = np.minimum(left + 1, len(self._time) - 1)
        nearest = np.where(times - self._time[left] <= self._time[right] - times, left, right)
        same = np.abs(self._time[nearest] - times) <= SAME_TIME
        values[same] = self._values[nearest[same]]
        inside = (times > self._time[0]) & (times < self._time[-1])
        near = self._time[right] - self._time[left] <= self._largest_gap
        values[~(same | (inside & near))] = np.nan
        return values

    def _advance(self, first: float, last: float) -> None:
        """Read until the rows reach ``last``, and forget those that lie before ``first``."""
        while not self._ended and (len(self._time) < BEYOND or self._time[-BEYOND] < last):
            piece = next(self._pieces, None)
            if piece is None:
                self._ended = True
                break
            time, values = piece
            if time is None:
                continue
            time = np.concatenate([self._time, time])
            kept = increasing(time)  # what was kept before is judged again: its last stamps may be wild
            self._time, self._values = time[kept], np.concatenate([self._values, values])[kept]
            self._forget(first)
        self._forget(first)

    def _forget(self, first: float) -> None:
        keep = max(int(np.searchsorted(self._time, first, side="right")) - 1, 0)
        if keep:
            self._time, self._values = self._time[keep:], self._values[keep:]

    def close(self) -> None:
        self._pieces.close()  # type: ignore[attr-defined]


def _by_row(streams: Sequence[Stream], rows: int) -> Iterator[MergedRows]:
    feeds = [_Feed(stream, rows) for stream in streams]
    total = 0
    try:
        while True:
            pieces = [feed.take(rows) for feed in feeds]
            counts = [len(values) for _, values, _ in pieces]
            if len(set(counts)) > 1:
                _refuse_unequal(streams, [total + count for count in counts])
            if not counts[0]:
                return
            total += counts[0]
            time = next((time for time, _, _ in pieces if time is not None), None)
            bad = np.any([bad for _, _, bad in pieces], axis=0)
            yield MergedRows(time, tuple(values for _, values, _ in pieces), bad if bad.any() else None)
    finally:
        for feed in feeds:
            feed.close()


def _refuse_unequal(streams: Sequence[Stream], counts: list[int]) -> None:
    short = int(np.argmin(counts))
    other = int(np.argmax(counts))
    raise DataFileError(
        f"ends after {counts[short]} rows, {streams[other].source.path} does not; without a time in each "
        "they are joined row by row and must have the same number of rows",
        path=streams[short].source.path,
    )


class _Feed:
    """Gives a stream's rows in pieces of the size asked for."""

    def __init__(self, stream: Stream, rows: int) -> None:
        self._pieces = stream.pieces(rows)
        self._timed = stream.has_time
        self._time = np.empty(0)
        self._values = np.empty((0, len(stream.columns)))
        self._bad = np.empty(0, dtype=bool)
        self._ended = False

    def take(self, rows: int) -> tuple[Array | None, Array, Mask]:
        while not self._ended and len(self._values) < rows:
            piece = next(self._pieces, None)
            if piece is None:
                self._ended = True
                break
            time, values, bad = piece
            self._values = np.concatenate([self._values, values])
            self._bad = np.concatenate([self._bad, np.zeros(len(values), dtype=bool) if bad is None else bad])
            if time is not None:
                self._time = np.concatenate([self._time, time])
        values, self._values = self._values[:rows], self._values[rows:]
        time, self._time = self._time[:rows], self._time[rows:]
        bad, self._bad = self._bad[:rows], self._bad[rows:]
        return (time if self._timed else None), values, bad

    def close(self) -> None:
        self._pieces.close()  # type: ignore[attr-defined]
