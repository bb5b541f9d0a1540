"""What the experiments share: recovery times, spreads, circles at the tip, the registry, running several."""

from __future__ import annotations

import math

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.lab.papers import registry
from counterpoise.lab.papers.arm_task import Circle, circle_at_tip
from counterpoise.lab.papers.experiment import Comparison, Outcome
from counterpoise.lab.papers.registry import grouped, run_many
from counterpoise.lab.papers.task import compared, largest, recovery_time, rms


def test_recovery_is_the_last_time_beyond_the_bound() -> None:
    """Median over the reversals; zero where the error never leaves the bound."""
    time = np.arange(0.0, 10.0, 0.01)
    error = np.where((time % 5.0) < 2.0, 1.0, 0.1)
    assert recovery_time(time, error, (0.0, 5.0), 0.5) == pytest.approx(1.99)
    assert recovery_time(time, error, (0.0, 5.0), 2.0) == 0.0


def test_compared_gives_median_and_spread() -> None:
    """Over the seeds; rms and largest are what they say."""
    line = compared("what", "°", 1.0, [3.0, 1.0, 2.0])
    assert line == Comparison("what", "°", 1.0, 2.0, (1.0, 3.0))
    assert rms(np.array([3.0, -4.0])) == pytest.approx(math.sqrt(12.5)) and largest(np.array([3.0, -4.0])) == 4.0


def test_circle_leads_the_tip_around() -> None:
    """The tip of the PUMA is on the circle to 1 µm, through the start; the velocity is the position's derivative."""
    robot, radius = cp.load("puma560"), 350e-6
    q = np.array([0.0, math.pi / 4, -math.pi, 0.0, math.pi / 4, 0.0])
    plane = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    circle = Circle(*circle_at_tip(robot, q, (0, 1, 2), radius, plane), 20.0, 0.7)
    circle.reset(q)
    times = np.linspace(0.0, 20.0, 40)
    tip = robot.forward_kinematics(np.array([circle.at(time).q for time in times]), at=robot.link_names[-1])[:, :3, 3]
    centre = tip[0] - radius * (math.cos(0.7) * plane[0] + math.sin(0.7) * plane[1])
    np.testing.assert_allclose(np.linalg.norm(tip - centre, axis=1), radius, atol=1e-6)
    np.testing.assert_array_equal(circle.at(0.0).q, q)
    slope = (circle.at(5.001).q - circle.at(4.999).q) / 2e-3
    np.testing.assert_allclose(circle.at(5.0).dq, slope, atol=1e-9)


def test_registry_knows_every_experiment() -> None:
    """Names agree with the modules; "all" leaves the long studies out; others are refused by name."""
    for name in registry.MODULES:
        found = registry.experiment(name)
        assert found.name == name
        assert found.title and found.source and found.claim and found.setup
    assert "map" not in registry.experiment_names() and registry.experiment_names(("map", "morel-fig4")) == (
        "morel-fig4",
        "map",
    )
    for call in (registry.experiment, lambda name: registry.experiment_names((name,))):
        with pytest.raises(cp.InputError, match="there is no experiment 'fig99'"):
            call("fig99")


def test_experiments_with_the_same_gains_share_a_process() -> None:
    """Every name is in one group, those on one arm together, the longest group first."""
    groups = grouped(("morel-fig4", "morel-fig8", "morel-fig11", "morel-fig13"))
    assert groups == [("morel-fig11", "morel-fig13"), ("morel-fig8",), ("morel-fig4",)]


def test_a_failing_experiment_does_not_end_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its failure is told; progress reaches one."""

    class Stub:
        def __init__(self, name: str) -> None:
            self.name = name

        def run(self, seeds: int, progress) -> Outcome:
            progress(0.5)
            if self.name == "morel-fig6":
                raise cp.InputError("no room")
            return Outcome((), (), "not", f"{seeds} seeds")

    monkeypatch.setattr("counterpoise.lab.papers.registry.experiment", Stub)
    told: list[float] = []
    done = run_many(("morel-fig4", "morel-fig6", "morel-fig8"), 3, lambda share, _: told.append(share), jobs=1)
    assert [each.name for each in done] == ["morel-fig4", "morel-fig6", "morel-fig8"]
    assert done[1].outcome is None and "no room" in done[1].failure
    assert done[2].outcome is not None and done[2].outcome.decides == "3 seeds"
    assert told == sorted(told) and told[-1] == pytest.approx(1.0)
