"""Dates and times of day in recordings."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoise.recording.reading import read_log
from counterpoise.recording.text_files import CsvSource, is_date, seconds_of

NOON = datetime(2024, 5, 1, 12, 0, 0, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2024-05-01T12:00:00Z", NOON),
        ("2024-05-01T12:00:00.250Z", NOON + 0.25),
        ("2024-05-01 12:00:00,25", NOON + 0.25),
        ("2024/05/01 12:00:00.123456789", NOON + 0.123456789),
        ("2024-05-01_12:00:00", NOON),
        ("2024-05-01T14:00:00+02:00", NOON),
        ("2024-05-01T07:30:00 -0430", NOON),
        ("2024-05-01T13:00:00+01", NOON),
        ("20240501T120000.5", NOON + 0.5),
        ("2024-05-01T12:00", NOON),
        ("12:00:01.5", 43201.5),
        ("0:00:01", 1.0),
    ],
)
def test_forms(text: str, seconds: float) -> None:
    assert seconds_of(text.encode()) == pytest.approx(seconds, abs=1e-6)


@pytest.mark.parametrize(
    "text",
    [
        *("", "20240501120000", "2024", "2024-05-01", "2024-13-01T00:00:00", "2024-02-30T00:00:00"),
        *("12:61:00", "12:00", "2024-05-01T12:00:61", "2024-05-01T25:00:00", "0001-01-01T00:00:00+99:99"),
        *("1.5", "nan", "yesterday"),
    ],
)
def test_what_is_no_date(text: str) -> None:
    assert not is_date(text.encode())


@given(
    st.datetimes(min_value=datetime(1900, 1, 1), max_value=datetime(2200, 1, 1)),
    st.integers(-14 * 60, 14 * 60),
    st.sampled_from("T _"),
)
def test_every_date_that_python_writes_is_read(when: datetime, minutes: int, between: str) -> None:
    """To the resolution of a float64, in every zone, and without one as UTC."""
    there = when.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    assert seconds_of(there.isoformat(sep=between).encode()) == pytest.approx(there.timestamp(), abs=2e-6)
    assert seconds_of(when.isoformat(sep=between).encode()) == pytest.approx(
        when.replace(tzinfo=UTC).timestamp(), abs=2e-6
    )


@given(st.binary(max_size=40))
def test_any_bytes_are_a_number_or_nan(text: bytes) -> None:
    assert math.isnan(seconds_of(text)) or math.isfinite(seconds_of(text))


@pytest.mark.parametrize(
    ("form", "quote", "delimiter"),
    [("%Y-%m-%dT%H:%M:%S.%fZ", "", ","), ("%Y-%m-%d %H:%M:%S.%f", '"', ","), ("%Y-%m-%d %H:%M:%S,%f", "", ";")],
)
@pytest.mark.parametrize("header", ["t", "timestamp", "datetime"])
def test_a_column_of_dates_is_the_time(tmp_path: Path, form: str, quote: str, delimiter: str, header: str) -> None:
    """Whatever its form; comments and blank lines in between do not shift it."""
    begin = datetime(2024, 5, 1, 23, 59, 59, tzinfo=UTC)
    stamps = [begin + timedelta(milliseconds=8 * row) for row in range(500)]
    lines = [delimiter.join([header, "label", "q_0", "tau_0"])]
    for row, stamp in enumerate(stamps):
        lines += ["# a note", ""] if row == 250 else []
        lines.append(delimiter.join([f"{quote}{stamp.strftime(form)}{quote}", "run", f"{np.sin(row / 50):.6f}", "1.0"]))
    path = tmp_path / "run.csv"
    path.write_text("\n".join(lines))
    log = read_log(path)
    assert log.time == pytest.approx([stamp.timestamp() for stamp in stamps], abs=1e-6)
    assert (log.declared.time_from, log.declared.rate_source) == ("column", "recorded")
    assert log.declared.mapping["time"] == {"column": header}
    small = [table.columns for table in CsvSource(path).tables(7)]
    assert np.concatenate(small)[:, 0] == pytest.approx(log.time)


def test_a_field_that_is_no_date_has_no_time(tmp_path: Path) -> None:
    lines = ["time,q_0", *(f"2024-05-01T12:00:{row:02d},{row}" for row in range(40))]
    lines[20] = "n/a,19"
    path = tmp_path / "run.csv"
    path.write_text("\n".join(lines))
    log = read_log(path)
    assert np.flatnonzero(np.isnan(log.time)).tolist() == [19]
    assert log.q[19, 0] == 19.0


@pytest.mark.parametrize("kind", ["datetime64[ns]", "datetime64[us]", "timedelta64[ms]", ">M8[ms]"])
def test_dates_of_numpy(tmp_path: Path, kind: str) -> None:
    """Arrays of dates and durations are times in seconds; NaT is none."""
    stamps = (1_714_564_800_000 + 8 * np.arange(300)).astype(f"{np.dtype(kind).kind}8[ms]").astype(kind)
    stamps[7] = "NaT"
    np.savez(tmp_path / "run.npz", time=stamps, q=np.sin(np.arange(600) / 50).reshape(300, 2))
    log = read_log(tmp_path / "run.npz")
    assert np.flatnonzero(np.isnan(log.time)).tolist() == [7]
    assert log.rate == pytest.approx(125.0, rel=1e-3)
    assert log.time[0] == pytest.approx(1_714_564_800.0)
