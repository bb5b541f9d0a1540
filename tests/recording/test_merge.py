"""Several sources brought together: on time with stated gaps, row by row without, in constant memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from counterpoise.errors import DataFileError
from counterpoise.recording.merging import MergedRows, Stream, merged
from counterpoise.recording.table import Table


class Rows:
    """A source of one column over time, or without; it counts the rows that are open at once."""

    path = "made"
    name = ""
    progress = 1.0
    recovery = None
    about = None
    column_names = ("value",)

    def __init__(self, time: np.ndarray | None, values: np.ndarray, piece: int = 1000) -> None:
        self.time = time
        self.values = np.asarray(values, dtype=float)
        self.has_time = time is not None
        self.piece = piece
        self.read = 0
        self.closed = False

    def tables(self, rows: int = 1000) -> Iterator[Table]:
        try:
            for begin in range(0, len(self.values), min(rows, self.piece)):
                part = slice(begin, begin + min(rows, self.piece))
                self.read = begin
                yield Table(None if self.time is None else self.time[part], self.values[part, None])
        finally:
            self.closed = True


def stream(time: np.ndarray | None, values: np.ndarray, piece: int = 1000, **more: float) -> Stream:
    return Stream(Rows(time, values, piece), (0,), **more)  # type: ignore[arg-type]


def joined(pieces: Iterator[MergedRows]) -> tuple[np.ndarray | None, list[np.ndarray]]:
    found = list(pieces)
    time = None if found[0].time is None else np.concatenate([piece.time for piece in found])  # type: ignore[misc]
    return time, [np.concatenate(parts)[:, 0] for parts in zip(*(piece.values for piece in found), strict=True)]


@pytest.mark.parametrize("piece", [1, 7, 1000])
@pytest.mark.parametrize("rows", [5, 50, 1000])
def test_on_time(piece: int, rows: int) -> None:
    """A follower is interpolated at the leader's times, whatever the pieces; equal times give equal numbers."""
    lead = np.arange(200) * 0.01
    other = np.arange(40) * 0.05
    line = 3.0 * other + 1.0
    time, (first, second, third) = joined(
        merged(
            [stream(lead, lead, piece), stream(other, line, piece), stream(lead, np.sin(lead), piece)],
            largest_gap=0.1,
            rows=rows,
        )
    )
    assert np.array_equal(time, lead)  # type: ignore[arg-type]
    assert np.array_equal(first, lead)
    inside = lead <= other[-1]
    assert second[inside] == pytest.approx(3.0 * lead[inside] + 1.0)
    assert np.isnan(second[~inside]).all()
    assert np.array_equal(third, np.sin(lead))


@pytest.mark.parametrize("piece", [7, 40, 1000])
@pytest.mark.parametrize("wild", [1e9, 0.0, np.nan])
@pytest.mark.parametrize("at", [1, 39, 40, 41, 500])
def test_a_wild_stamp_costs_no_other_row(piece: int, wild: float, at: int) -> None:
    """One stamp of the leader or of a follower, also at the end of a piece, leaves all other rows alone."""
    lead = 1.0 + np.arange(1000) * 0.01
    other = lead + 0.004
    whole = (lead > other[0]) & (lead < other[-1])
    broken = np.array(other)
    broken[at] = wild
    _, (_, second) = joined(merged([stream(lead, lead, piece), stream(broken, other, piece)], largest_gap=0.05))
    assert second[whole] == pytest.approx(lead[whole])
    broken = np.array(lead)
    broken[at] = wild
    _, (_, second) = joined(merged([stream(broken, lead, piece), stream(other, other, piece)], largest_gap=0.05))
    whole[at] = False
    assert second[whole] == pytest.approx(lead[whole])
    assert np.isnan(second[at])


def test_gaps_and_ends_are_not_bridged() -> None:
    """Beyond the largest gap, before the first and after the last row there is nothing; rows themselves count."""
    lead = np.arange(11) * 0.1
    other = np.array([0.2, 0.3, 0.8, 0.9])
    _, (_, values) = joined(merged([stream(lead, lead), stream(other, other)], largest_gap=0.2))
    known = np.isfinite(values)
    assert lead[known] == pytest.approx(other)
    assert values[known] == pytest.approx(other)


def test_lag_and_disorder() -> None:
    """Late readings are moved to when they were true; rows that go back in time are left out of the interpolation."""
    lead = np.arange(100) * 0.01
    late = stream(lead + 0.03, np.sin(lead), lag=0.03)
    _, (_, values) = joined(merged([stream(lead, lead), late], largest_gap=0.1))
    assert values[1:-1] == pytest.approx(np.sin(lead)[1:-1], abs=1e-9)
    mixed = np.array([0.0, 0.1, 0.05, 0.2, np.nan, 0.3])
    _, (_, values) = joined(merged([stream(lead[:31], lead[:31]), stream(mixed, mixed)], largest_gap=0.2))
    assert values[:30] == pytest.approx(lead[:30])


def test_leader_with_bad_times() -> None:
    """A leader's rows stay as they came, also with NaN or a step back; the follower has nothing for NaN."""
    lead = np.array([0.0, 0.1, np.nan, 0.2, 0.15, 0.3])
    other = np.arange(50) * 0.01
    time, (_, values) = joined(merged([stream(lead, lead), stream(other, other)], largest_gap=0.1))
    assert np.array_equal(time, lead, equal_nan=True)  # type: ignore[arg-type]
    assert values == pytest.approx(lead, nan_ok=True)


def test_row_by_row() -> None:
    """Without a time in each, rows are joined in order, and the time of one serves all."""
    time = np.arange(100) * 0.01
    pieces = merged([stream(None, time, 7), stream(time, -time, 13)], largest_gap=0.1, rows=10)
    found, (first, second) = joined(pieces)
    assert np.array_equal(found, time)  # type: ignore[arg-type]
    assert np.array_equal(first, -second)
    assert joined(merged([stream(None, time)], largest_gap=0.1))[0] is None
    with pytest.raises(DataFileError, match="ends after 99 rows"):
        joined(merged([stream(None, time), stream(None, time[:99])], largest_gap=0.1, rows=10))


def test_memory_does_not_grow() -> None:
    """A follower is read only as far as the leader needs it, and files are closed when reading is given up."""
    lead, other = Rows(np.arange(100_000) * 0.01, np.zeros(100_000)), Rows(np.arange(100_000) * 0.01, np.zeros(100_000))
    pieces = merged([Stream(lead, (0,)), Stream(other, (0,))], largest_gap=0.1, rows=1000)  # type: ignore[arg-type]
    next(pieces)
    assert other.read <= 2 * 1000
    pieces.close()  # type: ignore[attr-defined]
    assert lead.closed
    assert other.closed
