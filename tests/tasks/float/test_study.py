"""A small version of studies/floating.py: the numbers behind the tables of docs/float.md."""

from __future__ import annotations

import numpy as np
import pytest

from library.study_module import load_study

pytest.importorskip("mujoco", reason="MuJoCo is not installed")


def test_a_share_makes_the_push_easier_and_too_much_runs_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the gantry: less force with a share, at rest within 1 mm; 1.2 of the friction carries it on."""
    study = load_study("floating")
    monkeypatch.setattr(study, "LEFT", 1.0)
    arm = study.arm_of("gantry")
    friction = 0.017 * arm.robot.effort_limit
    runs = [study.floated(arm, 0, friction, share, 0.0) for share in (0.0, 0.7)]
    assert runs[1]["peak_force"] < 0.85 * runs[0]["peak_force"]
    assert all(run["moved"] > 0.03 and run["drift"] < 1e-3 and run["fault"] == "" for run in runs)
    away = study.floated(arm, 0, friction, 1.0, 0.0, factor=1.2, in_motion=True)
    assert away["drift"] > 0.02
    found = {"runs": [*runs, away], "checks": {}, "friction": np.asarray(friction).tolist()}
    assert len(study.push_rows("gantry", found)) == 2 and len(study.wrong_rows("gantry", found)) == 1
