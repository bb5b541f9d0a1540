"""A small version of studies/doctor_faults.py: simulated recordings, faults put in, and the page they make."""

from __future__ import annotations

import json
from types import ModuleType

import pytest

from library.study_module import load_study

pytest.importorskip("mujoco", reason="simulated arms need the sim extra")


@pytest.fixture(scope="module")
def study() -> ModuleType:
    """Return the study's module, imported from its folder."""
    return load_study("doctor_faults")


@pytest.mark.parametrize(
    ("seed", "kinds"), [(39_000, ("clean", "effort sign")), (39_004, ("clean", "gain", "payload"))]
)
def test_faults_are_named_and_sound_recordings_are_not_blamed(
    study: ModuleType, seed: int, kinds: tuple[str, ...]
) -> None:
    for row in study.run((seed, kinds)):
        if row["put_in"] == "clean":
            assert row["named"] == []
        else:
            assert row["hit"] == [True], row


def test_the_page_counts_hits_alarms_and_pairs(study: ModuleType) -> None:
    def row(put_in: str, hit: list[bool], *named: str) -> dict[str, object]:
        findings = [{"fault": fault, "subjects": [], "alternatives": []} for fault in named]
        expected = [{"fault": fault, "joints": []} for fault in ("gain", "offset")[: len(hit)]]
        return {"put_in": put_in, "hit": hit, "named": findings, "expected": expected, "seed": 1}

    rows = [row("clean", []), row("clean", [], "offset"), row("pair", [True, False], "gain")]
    rows += [row(kind, [True], "gain") for kind in (*study.INJECTIONS, *study.SIMULATED, *study.SMALL)]
    rows[3] = {**rows[3], "hit": [False]}
    channels = {
        "commit": "0123456789abcdef",
        "seeds": [1, 2],
        "good_recordings": 4,
        "with_false_alarm": 1,
        "false_alarms": [{"alarms": ["A channel sticks: so long"]}],
        "recall": {"time-gaps": [3, 4]},
        "named": {"time-gaps": {"time-gaps": 2, "plate-lag, time-gaps": 1, "nothing": 1}},
    }
    result = {"seed": 7, "commit": "0123456789abcdef", "rows": rows}
    assert json.loads(study.as_text(result)) == result
    page = study.page(result, channels)
    assert "1 of 4 valid recordings raise an alarm: A channel sticks (1)." in page
    assert "| time-gaps | 3/4 (75 %) | plate-lag 1 |" in page
    assert "1 of 2 recordings raise an alarm (50.0 %): offset 1" in page
    assert "| effort sign | 0/1 (0 %) | 1 |" in page
    assert "| gain | 1/1 (100 %) | 1 |" in page
    assert "named in 0 of 1 recordings" in page
    assert "- gain + offset (missed): 1" in page


def test_small_and_full_tasks_cover_every_fault_and_arm(study: ModuleType) -> None:
    tasks = study.all_tasks(0)
    counted = [kind for _, kinds in tasks for kind in kinds]
    assert counted.count("clean") >= 300
    assert all(counted.count(kind) >= 40 for kind in (*study.INJECTIONS, *study.SIMULATED))
    assert {seed % 3 for seed, kinds in tasks if "gain" in kinds} == {0, 1, 2}
    small = {kind for _, kinds in study.small_tasks(0) for kind in kinds}
    assert small == {"clean", *study.INJECTIONS}
