"""The table of studies/base_sensor_calibration.py, and the place in the docs that it is written to."""

from __future__ import annotations

from library.study_module import load_study


def test_the_table_gives_median_and_worst_of_each_kind_of_gears() -> None:
    study = load_study("base_sensor_calibration")
    rows = [
        {"variant": variant, **dict.fromkeys(study.NAMES, value)} for variant in study.VARIANTS for value in (1, 2, 9)
    ]
    lines = study.table(rows).splitlines()
    assert len(lines) == 2 + len(study.VARIANTS)
    assert lines[2] == "| stiff |" + " 2 (9) |" * len(study.NAMES)
    page = study.DOCS.read_text(encoding="utf-8")
    assert page.count("<!-- reached -->\n") == page.count("<!-- end of reached -->") == 1
