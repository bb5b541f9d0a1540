"""A small version of studies/tip_force.py: a short path of an arm without friction, and the docs' table."""

from __future__ import annotations

import pytest

from library.study_module import load_study

pytest.importorskip("mujoco")


def test_a_short_path_without_friction() -> None:
    """The force is within 5 % of the wanted one, and the row stands in the table."""
    study = load_study("tip_force")
    row = study.held("ideal", 30.0, length=0.1, speed=0.3)
    assert row["max"] < 0.05
    assert row["path_m"] > 0.08
    (line,) = study.lines([row])[2:]
    assert line.startswith("| no joint friction, model alone | 30 N |")
