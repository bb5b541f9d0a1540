"""The counts and the table of studies/mjcf_models.py, and the place in the docs that it is written to."""

from __future__ import annotations

import pytest

from library.study_module import load_study

pytest.importorskip("mujoco", reason="the MJCF reader needs MuJoCo")


def test_the_table_counts_what_came_of_the_models() -> None:
    study = load_study("mjcf_models")
    same = study.Compared("same", "gravity", 1e-12)
    other = study.Compared("different", "gravity", 0.5, ([1.0], [0.5]))
    rows = [(7, same, ("fusestatic",)), (8, other, ()), (9, study.Compared("we refuse", "why"), ("fusestatic",))]
    result = study.summary(rows)
    assert result["outcomes"]["same"] == result["outcomes"]["different"] == result["outcomes"]["we refuse"] == 1
    assert result["different_seeds"] == [8] and result["largest_difference"] == 0.5
    assert result["compared_with_setting"]["fusestatic"] == 1 and result["refused_by_us_alone"] == ["why"]
    lines = study.table(result)
    assert "| the same torques | 1 |" in lines and "| other torques | 1 |" in lines
    page = study.DOCS.read_text(encoding="utf-8")
    assert page.count("<!-- models -->\n") == page.count("<!-- end of models -->") == 1
