"""The study behind docs/calibration-study.md, in small: which solver and which approach is better, and by how much."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from library.study_module import load_study

TRIALS = 40


@pytest.fixture(scope="module")
def study() -> ModuleType:
    return load_study("calibration_monte_carlo")


def test_weighted_is_the_best_solver(study: ModuleType) -> None:
    """k = 25, friction residue: within 5 % of the best on every joint, 1.3 × better than coupled on the last three
    joints, 1.1 × better than iterative overall."""
    found = study.compare_solvers(TRIALS, 25, study.COULOMB)
    felt = slice(1, None)  # the first joint is vertical
    best = np.min([errors[felt] for errors in found.values()], axis=0)
    assert np.all(found["weighted"][felt] <= 1.05 * best)
    assert np.all(found["coupled"][-3:] >= 1.3 * found["weighted"][-3:])
    assert study.total(found["iterative"]) >= 1.1 * study.total(found["weighted"])


def test_both_sides_and_an_offset_remove_friction(study: ModuleType) -> None:
    """Five times better than an uncontrolled approach; one side without an offset is worse than none."""
    found = study.compare_approaches(TRIALS, 25, study.COULOMB)
    totals = {name: study.total(errors) for name, errors in found.items()}
    assert totals["uncontrolled"] >= 5.0 * totals["both sides + offset"]
    assert totals["no friction"] < totals["both sides + offset"] < totals["both sides"] < totals["uncontrolled"]
    assert totals["one side"] > totals["uncontrolled"]


def test_the_default_is_the_best_of_all_methods_however_poses_are_reached(study: ModuleType) -> None:
    """What `calibrate` does by default, from a wrong description, against the WAM document's methods."""
    reached = [name for name in study.PRODUCT_APPROACHES if name != "no friction"]
    found, covered = study.compare_product(8, 25, study.COULOMB, approaches=reached)
    for approach, errors in found.items():
        best = min(study.total(errors[name]) for name in study.DOCUMENTS)
        assert study.total(errors["default"]) <= 1.05 * best, approach
        assert covered[approach] >= 0.9, approach


def test_tables_are_put_between_their_marks(study: ModuleType, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- x -->\nold\n<!-- end of x -->\nb\n", encoding="utf-8")
    study.put(page, "x", ["new", "lines"])
    assert page.read_text(encoding="utf-8") == "a\n<!-- x -->\nnew\nlines\n<!-- end of x -->\nb\n"
