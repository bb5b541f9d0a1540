"""Recordings and taught paths on a time line, and the player that moves along it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from counterpoise.dynamics import load
from counterpoise.errors import CounterpoiseError, InputError
from counterpoise.recording import Declared, Log, write_log
from counterpoise.tasks import TaughtPath, write_path
from counterpoise.view.timeline import Player, Timeline, log_timeline, read_timeline


def made_log() -> Log:
    robot = load("planar3")
    time = 5.0 + np.linspace(0.0, 2.0, 21)
    q = np.outer(np.linspace(0.0, 1.0, 21), np.ones(3))
    declared = Declared(effort_kind="torque", effort_side="link")
    return Log(robot.joint_names, time, q, np.full_like(q, 0.5), 2.0 * q, declared=declared)


def test_a_log_begins_at_zero_and_is_interpolated() -> None:
    """Half way in time is half way in joints and torques; beyond the ends it stays."""
    timeline = log_timeline(made_log(), load("planar3"))
    assert timeline.duration == pytest.approx(2.0)
    q, tau = timeline.at(0.95)
    assert q == pytest.approx(0.475)
    assert tau == pytest.approx(0.95)
    assert timeline.at(99.0)[0] == pytest.approx(1.0)
    assert timeline.at(-1.0)[0] == pytest.approx(0.0)


def test_bad_samples_are_left_out() -> None:
    """NaN positions and times that go back are no part of the line; too few good ones are an error."""
    log = made_log()
    q, time = log.q.copy(), log.time.copy()
    q[3] = np.nan
    time[7] = time[2]
    timeline = log_timeline(Log(log.joint_names, time, q, log.dq, log.tau), load("planar3"))
    assert len(timeline.time) == 19
    assert np.all(np.diff(timeline.time) > 0.0)
    q[:] = np.nan
    with pytest.raises(InputError, match="two good samples"):
        log_timeline(Log(log.joint_names, time, q, log.dq, log.tau), load("planar3"))


def test_a_long_log_is_thinned() -> None:
    """What a browser shows needs no million samples."""
    time = np.arange(50_000) * 1e-3
    q = np.zeros((50_000, 3))
    timeline = log_timeline(Log(load("planar3").joint_names, time, q, q, q), load("planar3"))
    assert len(timeline.time) <= 20_000


def test_files_of_both_kinds_are_told_apart(tmp_path: Path) -> None:
    """A recording and a taught path are read by one function; another arm's is refused."""
    robot, log = load("planar3"), made_log()
    write_log(log, tmp_path / "run.npz")
    write_path(TaughtPath.of(robot, log.time - 5.0, log.q, name="wave"), tmp_path / "wave.path.csv")
    assert read_timeline(tmp_path / "run.npz", robot).tau is not None
    path = read_timeline(tmp_path / "wave.path.csv", robot)
    assert (path.name, path.tau) == ("wave", None)
    assert path.at(1.0)[0] == pytest.approx(0.5)
    with pytest.raises(CounterpoiseError, match="another arm"):
        read_timeline(tmp_path / "wave.path.csv", load("pendulum"))
    with pytest.raises(InputError, match="cannot be read"):
        read_timeline(tmp_path / "none.npz", robot)


def test_the_player_plays_pauses_and_changes_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock of our own: positions are exact, and the end leads back to the start."""
    now = [100.0]
    monkeypatch.setattr("counterpoise.view.timeline.wall.monotonic", lambda: now[0])
    player = Player(Timeline("line", np.array([0.0, 4.0]), np.zeros((2, 1))))
    now[0] += 1.0
    assert player.position == 0.0
    player.play(True)
    now[0] += 1.5
    assert player.position == pytest.approx(1.5)
    player.set_speed(2.0)
    now[0] += 1.0
    assert player.position == pytest.approx(3.5)
    now[0] += 0.5
    assert player.position == pytest.approx(0.5)
    player.play(False)
    now[0] += 9.0
    assert player.position == pytest.approx(0.5)
    player.go_to(99.0)
    assert player.position == 4.0
    with pytest.raises(InputError, match="speed"):
        player.set_speed(0.0)
