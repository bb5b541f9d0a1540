"""A small version of studies/base_sensor_recording.py: from a recording alone to torques with bands."""

from __future__ import annotations

import numpy as np
import pytest

from library.study_module import load_study

pytest.importorskip("mujoco", reason="MuJoCo is not installed")


@pytest.fixture(scope="module")
def study():
    return load_study("base_sensor_recording")


@pytest.fixture(scope="module")
def found(study):
    return study.results("stiff", 2, study.SEED, 12.0)


def test_undescribed_plate_is_found_and_arm_joints_speak(study, found):
    """Turn within 0.5°, lag within a sample of 300 Hz; joints 1 to 3 speak, the empty wrist is silent."""
    for runs in found.values():
        for run in runs:
            assert run["yaw_deg"] == pytest.approx(study.YAW, abs=0.5)
            assert run["informative"] == [True, True, True, False, False, False]
    # The plate's own filter of 100 Hz adds to the lag that was put in.
    assert found["exact"][0]["lag_s"] == pytest.approx(study.LAG + 2e-3, abs=1.0 / 300.0)


def test_bands_hold_against_the_true_torques(found):
    """Errors are of the size of their bands, never far beyond; wrong masses cost what their band says."""
    for runs in found.values():
        for run in runs:
            assert np.all(run["error"] < 2.0 * run["band"])
            assert np.all(run["dynamic_error"] < 2.0 * run["dynamic_band"])
    assert np.all(found["exact"][0]["error"] < 0.15)
    worst = np.max([run["dynamic_error"] for run in found["5 % off"]], axis=0)
    assert np.all(worst < 1.5)  # without a zero found against the same masses, tens of N m


def test_table_has_a_row_for_every_case(study, found):
    lines = study.table({"stiff": found})
    assert len(lines) == 2 + 4 and all(line.count("|") == 10 for line in lines)
    assert "no information" in lines[2]
