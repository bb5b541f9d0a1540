"""Parquet files: columns of numbers, times, fixed lists; in batches; a clear word where pyarrow is missing."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from counterpoise.errors import DataFileError, MissingExtraError
from counterpoise.recording.parquet_files import ParquetSource
from counterpoise.recording.reading import read_log

arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


def write(path: Path, **columns: object) -> Path:
    parquet.write_table(arrow.table(columns), path, row_group_size=4)
    return path


def test_columns(tmp_path: Path) -> None:
    """Numbers of any type, nulls as NaN, stamps in seconds, fixed lists spread out; text is left out."""
    path = write(
        tmp_path / "run.parquet",
        stamp=arrow.array([10**9, 2 * 10**9, 3 * 10**9] * 3, arrow.timestamp("ns")),
        q=arrow.array([1, None, 3] * 3, arrow.int32()),
        state=arrow.array([[1.0, 2.0], [3.0, 4.0], [5.0, None]] * 3, arrow.list_(arrow.float32(), 2)),
        note=arrow.array(["a"] * 9),
    )
    source = ParquetSource(path)
    assert source.column_names == ("stamp", "q", "state.0", "state.1")
    pieces = [table.columns for table in source.tables(4)]
    assert max(map(len, pieces)) <= 4
    expected = np.array([[1, 1, 1, 2], [2, np.nan, 3, 4], [3, 3, 5, np.nan]] * 3)
    assert np.array_equal(np.concatenate(pieces), expected, equal_nan=True)
    assert source.progress == 1.0


def test_a_log_from_parquet(tmp_path: Path) -> None:
    """Columns are mapped by their names, as of any table."""
    path = write(tmp_path / "run.parquet", t=np.arange(9) * 0.1, q_1=np.arange(9.0), tau_1=-np.arange(9.0))
    log = read_log(path)
    assert log.joint_names == ("joint_1",)
    assert np.array_equal(log.tau, -log.q)


def test_refusals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Damage, no numbers, and no pyarrow."""
    good = write(tmp_path / "good.parquet", q=np.arange(9.0))
    bad = tmp_path / "bad.parquet"
    for content in (b"PAR1", b"PAR1" + bytes(40) + b"PAR1", good.read_bytes()[:-20]):
        bad.write_bytes(content)
        with pytest.raises(DataFileError):
            read_log(bad)
    with pytest.raises(DataFileError, match="no columns of numbers"):
        ParquetSource(write(bad, note=arrow.array(["a"])))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"counterpoise\[parquet\]"):
        ParquetSource(good)
