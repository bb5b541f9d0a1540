"""Torques written for other programs."""

from __future__ import annotations

import csv
from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.sensing.plate.recording_torques import recording_torques, write_recording_torques
from library.analytic_log import moving_log

PUMA = cp.load("puma560")
LOG = moving_log(PUMA, duration=8.0)


@pytest.fixture(scope="module")
def found():
    wrench = np.array(LOG.wrench)
    wrench[5] = np.nan
    return recording_torques(PUMA, replace(LOG, wrench=wrench))


def test_csv_has_named_columns_and_reads_back(found, tmp_path):
    """Names carry joint and unit; numbers read back exactly; a silent joint and a lost sample are NaN."""
    path = tmp_path / "torques.csv"
    write_recording_torques(found, path)
    with path.open() as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == len(LOG)
    assert float(rows[0]["time [s]"]) == LOG.time[0]
    for word, estimate in (("torque", found.torque), ("dynamic_torque", found.dynamic)):
        assert float(rows[50][f"{word}.joint2 [N m]"]) == estimate.value[50, 1]
        assert float(rows[50][f"{word}_std.joint2 [N m]"]) == estimate.std[50, 1]
    assert "joint6" not in found.informative and rows[50]["torque.joint6 [N m]"] == "nan"
    assert rows[5]["torque.joint2 [N m]"] == "nan" and rows[5]["torque_std.joint2 [N m]"] == "nan"
    assert (rows[5]["valid"], rows[50]["valid"]) == ("0", "1")
    assert int(rows[5]["flags"]) == found.torque.flags[5] != 0


def test_parquet_holds_the_same(found, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    path = tmp_path / "torques.parquet"
    write_recording_torques(found, path)
    table = parquet.read_table(path)
    assert table.column("torque.joint2 [N m]").to_numpy() == pytest.approx(found.torque.value[:, 1], nan_ok=True)
    assert table.column("valid").to_pylist()[4:7] == [True, False, True]
    assert b"counterpoise-torques" in table.schema.metadata


def test_other_endings_and_folders_are_refused(found, tmp_path):
    with pytest.raises(cp.errors.DataFileError, match=r"written as \.csv or \.parquet"):
        write_recording_torques(found, tmp_path / "torques.xlsx")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(cp.errors.DataFileError, match="cannot be written"):
        write_recording_torques(found, tmp_path / "folder.csv")
