"""Arrays in .npz files: ours and others', by rows or by columns, never unpickled, bounded."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from counterpoise.errors import BudgetError, DataFileError
from counterpoise.recording.budget import ReadingBudget, Spending
from counterpoise.recording.npz_files import NpzSource

Q = np.arange(30.0).reshape(10, 3)


def source(folder: Path, **arrays: Any) -> NpzSource:
    np.savez_compressed(folder / "run.npz", **arrays)
    return NpzSource(folder / "run.npz")


def rows_of(given: NpzSource, rows: int = 4) -> np.ndarray:
    return np.concatenate([table.columns for table in given.tables(rows)])


def test_foreign_arrays(tmp_path: Path) -> None:
    """One column each for vectors, numbered or named ones for matrices, whatever the type and the order in memory."""
    time = np.arange(10)
    given = source(tmp_path, t=time, q=Q, dq=np.asfortranarray(-Q), tau=Q.astype(np.float32).T, on=time > 4)
    assert given.column_names == ("t", *(f"{key}.{i}" for key in ("q", "dq", "tau") for i in range(3)), "on")
    assert np.array_equal(rows_of(given), np.hstack([time[:, None], Q, -Q, Q, time[:, None] > 4]))
    assert given.progress == 1.0
    named = source(tmp_path, q=Q, joint_names=np.array(["a", "b", "c"]), wrench=np.zeros((10, 6)))
    assert named.column_names == ("q.a", "q.b", "q.c", *(f"wrench.{c}" for c in ("fx", "fy", "fz", "mx", "my", "mz")))


def test_what_does_not_belong_is_left_out(tmp_path: Path) -> None:
    """Scalars, other lengths, text, objects and cubes are no columns."""
    given = source(
        tmp_path,
        q=Q,
        rate=100.0,
        other=np.zeros(7),
        name="x",
        cube=np.zeros((10, 2, 2)),
        bad=np.array([{}], dtype=object),
    )
    assert given.column_names == ("q.0", "q.1", "q.2")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no", b"PK\x05\x06" + bytes(18), None])
def test_refusals(tmp_path: Path, content: bytes | None) -> None:
    """Damaged, empty, or without a table."""
    path = tmp_path / "run.npz"
    if content is None:
        np.savez(path, x=np.float64(3.0))
    else:
        path.write_bytes(content)
    with pytest.raises(DataFileError):
        NpzSource(path)


def test_huge_claims_cost_nothing(tmp_path: Path) -> None:
    """A header that claims more than the file holds is no array; one that must be read at once is bounded."""
    path = tmp_path / "bomb.npz"
    header = (
        b"\x93NUMPY\x01\x00\x76\x00"
        + b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 7), }".ljust(117)
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("q.npy", header + b"\n" + bytes(1000))
    with pytest.raises(DataFileError, match="no arrays"):
        NpzSource(path)
    source(tmp_path, q=np.asfortranarray(Q))
    for spending in (Spending(ReadingBudget(memory=100)), Spending(ReadingBudget(memory=239))):
        with pytest.raises(BudgetError, match="'memory'"):
            NpzSource(tmp_path / "run.npz", spending)
    fits = Spending(ReadingBudget(memory=240))
    assert rows_of(NpzSource(tmp_path / "run.npz", fits)).shape == (10, 3)
    assert rows_of(NpzSource(tmp_path / "run.npz", fits)).shape == (10, 3)  # what was held is given back
    assert rows_of(source(tmp_path, q=Q)).shape == (10, 3)


def test_truncated_member(tmp_path: Path) -> None:
    """An archive whose data end early is damaged."""
    np.savez(tmp_path / "run.npz", q=np.random.default_rng(0).normal(size=(1000, 3)))
    data = bytearray((tmp_path / "run.npz").read_bytes())
    data[500:600] = bytes(100)
    (tmp_path / "run.npz").write_bytes(bytes(data))
    with pytest.raises(DataFileError, match="damaged"):
        rows_of(NpzSource(tmp_path / "run.npz"))
