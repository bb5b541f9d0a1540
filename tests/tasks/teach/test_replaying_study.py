"""A small version of studies/replaying.py."""

from __future__ import annotations

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.tasks.teach.path import TaughtPath
from library.study_module import load_study

pytest.importorskip("mujoco", reason="MuJoCo is not installed")


def test_one_replay_and_its_line() -> None:
    """Measured and true errors are of one size, gravity makes both smaller, and the table has a line for the two."""
    study = load_study("replaying")
    robot, start = cp.load("wam7"), np.array([0.0, -1.0, 0.0, 2.0, 0.0, 0.5, 0.0])
    path = TaughtPath.of(robot, [0.0, 1.0], [start, start + 0.1], name="reach", kind="waypoints")
    runs = [study.replayed("wam7", path, law, 1.0, 0.0) for law in ("pd", "pd-gravity")]
    for run in runs:
        assert run["outcome"] == "completed"
        assert run["true_largest"] == pytest.approx(run["measured_largest"], rel=0.3)
    assert runs[1]["true_largest"] < 0.6 * runs[0]["true_largest"]
    lines = study.table(runs)
    assert len(lines) == 3 and lines[2].startswith("| wam7 | 1 | 0 kg |")
