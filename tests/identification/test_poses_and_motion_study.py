"""The study of poses, motion and both (docs/calibration-study.md), in small."""

from __future__ import annotations

import numpy as np

from library.study_module import load_study


def test_a_recording_with_known_truth_is_fitted_in_three_ways() -> None:
    """A random tree: the stated errors cover, and the table has a line for each way."""
    study = load_study("poses_and_motion")
    found = study.study(1, None)
    assert [found[0][use]["data"] for use in study.USES] == ["static", "moving", "both"]
    assert 0.2 < found[0]["standing"] < 0.8
    error, stated = study.relative(found[0], "auto")
    assert np.all(error <= stated)
    lines = study.table(found)
    assert len(lines) == 5
    assert lines[0].startswith("| 1 recordings |")
