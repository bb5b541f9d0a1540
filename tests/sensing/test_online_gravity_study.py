"""A small version of studies/online_gravity.py: how good the estimators are after how many held poses."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from library.study_module import load_study

pytest.importorskip("mujoco", reason="MuJoCo is not installed")


@pytest.fixture(scope="module")
def study() -> ModuleType:
    return load_study("online_gravity")


def test_few_poses_of_the_upper_body_without_friction(study: ModuleType) -> None:
    """≤ 3 % after 3 held poses and ≤ 1 % after 10 from nothing; 30 times better than the inverse regressor."""
    found = study.held_poses("dualarm19", "ideal", 1)["error"]
    bare = found["from nothing, no friction looked for"]
    assert bare[3] < 0.03
    assert bare[10] < 0.01
    assert found["from nothing"][3] < 0.03
    assert found["from nothing"][10] < 0.01
    assert found["from a description 10 % off"][3] < 0.03
    law = study.one_pose_law("dualarm19", 1)
    assert law["at the pose"] < 0.01
    assert law["random"] > 30.0 * bare[3]


def test_ten_poses_from_both_sides_with_stiction(study: ModuleType) -> None:
    """The WAM preset: LuGre friction, compliant cables, counts, noise, constants 1 to 2 % off: ≤ 3 %, as stated."""
    draw = study.held_poses("wam7", "preset", 1)
    for each in ("from nothing", "from a description 10 % off"):
        assert draw["error"][each][10] < 0.03
        within_two = [share for _, share, _ in draw["reliability"][each]]
        # One joint in seven may lie outside for some poses; stiction makes it another joint with every rounding.
        assert np.mean(within_two) > 0.93 and min(within_two) > 0.8
    text = study.reliability_table({"held poses": {"wam7, preset": [draw], "wam7, ideal": []}})
    assert len(text.splitlines()) == 4


def test_abuse_is_survived(study: ModuleType) -> None:
    """Finite, the deviation within 1/√LEAST_PRIOR of the prior's; the study does a million."""
    found = study.abused(20_000, 0)
    assert found["finite"]
    assert found["largest deviation over the prior's"] < 1.4143
    assert found["refused"] > 500


def test_the_table_has_a_row_per_arm_and_estimator(study: ModuleType) -> None:
    draw = {"error": {"from nothing": [1.0] + [0.01] * 10}}
    text = study.table({"held poses": {"wam7, ideal": [draw]}, "inverse regressor": {"wam7": [{"random": 0.9}]}})
    assert "| wam7, ideal | from nothing | 100 % | 1 % | 1 % | 1 % | 1 % | 1 % |" in text
    assert "inverse regressor" in text
