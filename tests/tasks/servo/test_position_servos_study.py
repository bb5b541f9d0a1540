"""A small version of studies/position_servos.py: an arm with PD servos inside, identified and offset."""

from __future__ import annotations

import numpy as np
import pytest

from library.study_module import load_study

pytest.importorskip("mujoco")
STUDY = load_study("position_servos")


def test_droop_shrinks_on_a_simulated_arm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without friction a known K_p leaves less than a tenth, an identified one less than a fifth."""
    monkeypatch.setattr(STUDY, "RECORDED", 5)
    row = STUDY.drooped("ideal puma550", 1)
    assert row["plain_mm"] > 5.0
    assert row["plain_mm"] > 10.0 * row["known_mm"]
    assert row["plain_mm"] > 5.0 * row["identified_mm"]
    assert row["kp_error"] < 0.05
    (line,) = STUDY.lines([row])[2:]
    assert line.startswith("| ideal puma550 |")


def test_the_recording_says_what_was_sent() -> None:
    """Goals are in the log's sent column, declared so."""
    arm = STUDY.ServoArm("ideal puma550")
    with arm.plant:
        log = STUDY.recorded(arm, arm.goal[None])
    assert log.declared.sent_kind == "position"
    assert np.ptp(log.sent, axis=0).max() == pytest.approx(2.0 * STUDY.ASIDE)
