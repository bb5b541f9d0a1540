"""The 19-joint scenario and the planar form of the on-line gravity paper."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="MuJoCo is not installed")

from counterpoise.lab.papers import jo_2018
from counterpoise.lab.papers.jo_2018 import GROUPS, HOME, PHASES, POSES, ScenarioRun, desired, run_scenario


@pytest.fixture(scope="module")
def runs() -> dict[str, ScenarioRun]:
    """The scenario without friction."""
    return {name: run_scenario(name) for name in ("none", "exact", "inverse-regressor", "recursive")}  # type: ignore[arg-type]


def test_the_planar_form_is_printed_as_in_the_paper() -> None:
    text = jo_2018.planar_form_text()
    assert "[c1   c12  c123; 0    c12  c123; 0    0    c123]" in text
    assert "s = [1.388, 0.552, 0.09]" in text


def test_the_goal_is_continuous_and_at_rest_where_it_should_be() -> None:
    """At the phases' ends the goal is the pose; it never jumps; all poses are inside the limits."""
    from counterpoise.dynamics import load

    robot = load("dualarm19")
    times = np.arange(0.0, 31.0, 1e-2)
    goals = np.array([desired(time)[0] for time in times])
    assert np.abs(np.diff(goals, axis=0)).max() < 0.02
    np.testing.assert_array_equal(desired(0.1)[0], HOME)
    for phase in PHASES:
        goal, moves = desired(phase.end - 1e-3)
        np.testing.assert_array_equal(goal, POSES[phase.pose])
        assert not moves
    for pose in POSES.values():
        assert np.all((pose > robot.lower + 0.05) & (pose < robot.upper - 0.05))


@pytest.mark.parametrize("name", ["none", "exact", "inverse-regressor", "transpose-regressor", "recursive"])
def test_every_run_begins_at_home(name: str) -> None:
    """For the first 0.2 s the goal is home; with the exact gravity the arm stays, without it sinks."""
    begun = run_scenario(name, friction=name == "recursive", until=0.05)  # type: ignore[arg-type]
    assert begun.error.shape == (50, 19) and not begun.moving.any()
    np.testing.assert_array_equal(begun.error[0], 0.0)
    largest = np.abs(begun.error).max()
    assert largest < 1e-6 if name == "exact" else largest < 0.1
    assert name != "none" or largest > 1e-4


def test_the_papers_law_learns_its_pose_and_no_other(runs: dict[str, ScenarioRun]) -> None:
    """Error below 1 % of its start at 12 s; at the later phases it helps by less than five."""
    law, alone = runs["inverse-regressor"], runs["none"]
    for group in GROUPS:
        assert law.at_end(PHASES[1])[group] < 0.01 * law.at_end(PHASES[0])[group]
        for phase in PHASES[2:]:
            assert law.at_end(phase)[group] > 0.2 * alone.at_end(phase)[group]
    assert law.gravity_error_at(POSES["estimation"]) < 1e-3
    assert law.gravity_error() > 0.5


def test_the_recursive_estimator_leaves_a_tenth_of_pds_error(runs: dict[str, ScenarioRun]) -> None:
    """At the end of every phase from 7 s on; moving within 5 % of PD with the exact g; 30 times the law's accuracy."""
    learned, alone, exact = runs["recursive"], runs["none"], runs["exact"]
    for group in GROUPS:
        for phase in PHASES[1:]:
            assert learned.at_end(phase)[group] < 0.1 * alone.at_end(phase)[group]
        assert learned.while_moving(7.0)[group] < 1.05 * exact.while_moving(7.0)[group]
    assert learned.gravity_error() < runs["inverse-regressor"].gravity_error() / 30.0


def test_the_experiment_reports_every_run(monkeypatch: pytest.MonkeyPatch, runs: dict[str, ScenarioRun]) -> None:
    """Comparisons for all runs, nine panels, a verdict that says what decides it; progress reaches 1."""
    monkeypatch.setattr(jo_2018, "run_scenario", lambda name, **_: runs.get(name, runs["inverse-regressor"]))
    steps: list[float] = []
    outcome = jo_2018.EXPERIMENT.run(2, steps.append)
    assert steps[0] == 0.0
    assert steps[-1] == 1.0
    assert outcome.verdict == "partly"
    assert len(outcome.panels) == 9
    assert all(len(panel.curves) in (3, 8) for panel in outcome.panels)
    text = " ".join(each.what for each in outcome.comparisons)
    assert all(name in text for name in jo_2018.NAMES.values())
    assert "stiction" in text
    assert all(np.isfinite(each.ours) for each in outcome.comparisons)
