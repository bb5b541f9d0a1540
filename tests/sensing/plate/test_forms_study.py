"""A small version of studies/base_sensor_forms.py: the three forms on the simulated PUMA."""

from __future__ import annotations

import numpy as np
import pytest

from library.study_module import load_study

pytest.importorskip("mujoco", reason="MuJoCo is not installed")


@pytest.fixture(scope="module")
def study():
    return load_study("base_sensor_forms")


def test_three_forms_on_the_stiff_puma(study) -> None:
    """±1°: eq. (23) errs by half a N m on joints 2 and 3, the untared form by N m, the difference form by its noise."""
    run = study.simulated("stiff", 1.0, 8.0)
    exact, off = study.errors(run, 0.0, 1, 1), study.errors(run, study.MASS_ERROR, 3, 1)
    assert exact["tared"][1:3] == pytest.approx([0.5, 0.5], rel=0.3)
    assert exact["full"][1] < 0.15 and exact["full"][2] < 0.15
    assert off["full"][2] > 2.0
    assert np.all(off["tared+model"] < 0.15)
    assert np.all(exact["tared"][0] < 0.1)  # nothing but the base lies before joint 1: eq. (23) is exact there
    assert study.errors(run, 0.0, 1, 1, None)["tared+model"][2] > exact["tared+model"][2]


def test_the_tables_of_the_page(study) -> None:
    """The grid curve falls with the square of the spacing, and the tables have a row for every case."""
    rows = study.grid_curve((20.0, 10.0), poses=2000)
    assert rows[0]["worst"] / rows[1]["worst"] == pytest.approx(4.0, rel=0.2)
    assert rows[-1]["worst"] < 1e-12 and rows[-1]["entries"] == 15
    assert len(study.grid_table(rows)) == 5
    found = {form: np.arange(6.0) for form in study.FORMS}
    lines = study.forms_table({"stiff": {"1": {"exact": found, "5 % off": found}}}, "stiff")
    assert len(lines) == 2 + 5
