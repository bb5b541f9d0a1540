"""How fast time goes: velocities against positions, what is likely, and what a log then says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import counterpoise as cp
from counterpoise.recording.clock import fastest_share, is_path, velocity_match
from counterpoise.recording.reading import propose_mapping, read_log, remapped

ROBOT = cp.load("puma560")
NAMES = ROBOT.joint_names
UNITS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}


def motion(rate: float, rows: int = 3000, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Time [s], positions [rad] and velocities [rad/s] of a smooth path, with the noise of an encoder."""
    random = np.random.default_rng(seed)
    time = np.arange(rows) / rate
    frequency, phase = random.uniform(0.1, 0.4, len(NAMES)), random.uniform(0.0, 6.0, len(NAMES))
    angle = 2.0 * np.pi * frequency * time[:, None] + phase
    q = 0.5 * np.sin(angle) + 1e-5 * random.normal(size=(rows, len(NAMES)))
    dq = np.pi * frequency * np.cos(angle) + 2e-3 * random.normal(size=(rows, len(NAMES)))
    return time, q, dq


def written(path: Path, **columns: np.ndarray) -> Path:
    """Write a CSV file: a matrix makes a column for each joint."""
    names, parts = [], []
    for name, values in columns.items():
        names += [name] if values.ndim == 1 else [f"{name}_{number}" for number in range(values.shape[1])]
        parts.append(values[:, None] if values.ndim == 1 else values)
    np.savetxt(path, np.hstack(parts), fmt="%.15g", delimiter=",", header=",".join(names), comments="")
    return path


@settings(max_examples=40, deadline=None)
@given(
    st.floats(0.01, 1e4),
    st.integers(0, 1000),
    st.sampled_from([0.0, 1e-4, 1e-3]),
    st.booleans(),
    st.integers(0, 3),
)
def test_velocities_tell_the_factor(factor: float, seed: int, step: float, stands: bool, wild: int) -> None:
    """Whatever the factor, with a coarse encoder, where the arm stands most of the time, and with wild velocities."""
    time, q, dq = motion(100.0, seed=seed)
    if stands:
        q, dq = np.concatenate([np.repeat(q[:1], 9000, axis=0), q]), np.concatenate([np.zeros((9000, q.shape[1])), dq])
        time = np.arange(len(q)) / 100.0
    q = np.round(q / step) * step if step else q
    random = np.random.default_rng(seed)
    for _ in range(wild):
        dq[random.integers(len(dq))] = 1e3
        q[random.integers(len(q))] += 2.0 * np.pi
    match = velocity_match(time * factor, q, dq, NAMES)
    assert match is not None
    assert match.factor == pytest.approx(factor, rel=0.02)
    assert match.r > 0.95
    assert len(match.joints) >= 4


def test_who_does_not_tell() -> None:
    """Joints that stand, velocities of something else, and too few rows; a reversed velocity tells the size."""
    time, q, dq = motion(100.0)
    assert velocity_match(time, q, np.random.default_rng(0).normal(size=q.shape), NAMES) is None
    assert velocity_match(time, np.zeros_like(q), dq, NAMES) is None
    assert velocity_match(time[:10], q[:10], dq[:10], NAMES) is None
    assert velocity_match(time, q, np.full_like(q, np.nan), NAMES) is None
    turned = np.array(dq)
    turned[:, 2] *= -1.0
    match = velocity_match(time, q, turned, NAMES)
    assert match is not None
    assert (match.factor, match.reversed) == (pytest.approx(1.0, rel=1e-3), NAMES[2:3])
    mixed = np.array(dq)
    mixed[:, :4] *= [2.0, 3.0, 4.0, 5.0]  # gears: no common factor
    assert velocity_match(time, q, mixed, NAMES) is None


def test_paths_and_lists_of_poses() -> None:
    """Noise does not hide a path; poses in any order are none, and neither is an arm that stands."""
    _, q, _ = motion(1000.0, rows=20_000)
    assert is_path(q)
    assert is_path(q + 1e-3 * np.random.default_rng(0).normal(size=q.shape))
    poses = np.random.default_rng(1).uniform(-1.0, 1.0, (60, 6))
    assert not is_path(poses)
    assert not is_path(np.repeat(poses, 2, axis=0))
    assert not is_path(np.zeros((100, 6)))


def test_the_fastest_joint() -> None:
    time, q, dq = motion(200.0)
    limit = np.full(6, 2.0)
    share = fastest_share(time, q, limit)
    assert share == pytest.approx(np.abs(dq).max() / 2.0, rel=0.05)
    assert fastest_share(time, q, np.full(6, np.inf)) is None
    assert fastest_share(time, np.zeros_like(q), limit) is None


@pytest.mark.parametrize("rate", [25.0, 125.0, 333.0, 1000.0])
def test_a_missing_time_is_measured(tmp_path: Path, rate: float) -> None:
    """Recorded velocities give the rate; the mapping and the log say so."""
    _, q, dq = motion(rate)
    path = written(tmp_path / "run.csv", q=q, dq=dq, tau=q)
    log = read_log(path, ROBOT)
    assert log.rate == pytest.approx(rate, rel=2e-3)
    declared = log.declared
    assert (declared.time_from, declared.rate_source, declared.rate_is_guessed) == ("rate", "measured", False)
    assert declared.source == {"time.rate": "measured"}
    assert "6 joints, r ≥ 0.99" in declared.notes["time"]
    assert "assumed_rate" not in declared.notes
    text = propose_mapping(path, ROBOT).to_toml()
    assert "recorded velocities against positions" in text
    assert '"time.rate" = "measured"' in text
    again = read_log(path, ROBOT, {"time": {"rate": 50.0}})
    assert (again.declared.rate_source, again.rate) == ("declared", pytest.approx(50.0))


def test_a_rate_that_nothing_tells_is_guessed(tmp_path: Path) -> None:
    _, q, dq = motion(25.0)
    log = read_log(written(tmp_path / "run.csv", q=q, tau=q), ROBOT)
    assert (log.rate, log.declared.rate_source) == (pytest.approx(100.0), "guessed")
    assert log.declared.rate_is_guessed
    assert log.declared.source == {"time.rate": "guessed"}
    in_degrees = read_log(written(tmp_path / "deg.csv", q=q, dq=40.0 * np.degrees(dq), tau=q), ROBOT)
    assert in_degrees.declared.rate_source == "guessed"
    assert "not likely" in in_degrees.declared.notes["time"]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("velocity", [True, False])
@pytest.mark.parametrize("rate", [10.0, 125.0, 1000.0])
@pytest.mark.parametrize("begin", [0.0, 3000.0])
def test_the_unit_of_a_time_without_one(tmp_path: Path, unit: str, velocity: bool, rate: float, begin: float) -> None:
    """Under a header that says nothing, by velocities or by what is likely; with a robot and without."""
    time, q, dq = motion(rate)
    columns: dict[str, Any] = {"t": (begin + time) * UNITS[unit], "q": q, **({"dq": dq} if velocity else {}), "tau": q}
    path = written(tmp_path / "run.csv", **columns)
    for robot in (ROBOT, None):
        log = read_log(path, robot)
        assert log.rate == pytest.approx(rate, rel=1e-3)
        assert log.declared.rate_source in ("recorded", "measured")
        assert not log.declared.rate_is_guessed
    assert (log.declared.mapping["time"].get("unit", "s")) == unit


@pytest.mark.parametrize("unit", UNITS)
def test_time_since_1970(tmp_path: Path, unit: str) -> None:
    time, q, _ = motion(125.0)
    stamps = np.round((1.7e9 + time) * UNITS[unit], 6)
    stamps[17] = 0.0
    log = read_log(written(tmp_path / "run.csv", stamp=stamps, q=q, tau=q), ROBOT)
    assert log.declared.rate_source == "recorded"
    assert np.median(np.diff(log.time)) == pytest.approx(0.008, abs=1e-6)
    assert len(log.ordered()) == len(log) - 1


def test_a_list_of_poses_keeps_its_seconds(tmp_path: Path) -> None:
    """A pose every 5 s is no recording at 200 Hz in ms."""
    poses = np.random.default_rng(0).uniform(-1.0, 1.0, (40, 6))
    for unit, factor in UNITS.items():
        path = written(tmp_path / f"{unit}.csv", t=5.0 * factor * np.arange(40), q=poses, tau=poses)
        assert read_log(path, ROBOT).rate == pytest.approx(0.2)


def test_a_column_that_goes_back_is_told(tmp_path: Path) -> None:
    time, q, dq = motion(100.0)
    log = read_log(written(tmp_path / "run.csv", t=time[::-1], q=q, dq=dq, tau=q), ROBOT)
    assert log.declared.notes["time_refused"] == {
        "file": "run.csv",
        "column": "t",
        "row": 1,
        "back": 199,
        "steps": 199,
    }
    assert (log.declared.rate_source, log.rate) == ("measured", pytest.approx(100.0, rel=1e-3))


def test_a_change_of_the_clock_is_applied_in_memory(tmp_path: Path) -> None:
    """Rate and unit, and velocities that were differentiated with the old ones."""
    time, q, dq = motion(125.0)
    path = written(tmp_path / "run.csv", time_ms=1e3 * time, q=q, tau=q)
    right = read_log(path, ROBOT)
    wrong = read_log(path, ROBOT, {"time": {"unit": "s"}})
    assert wrong.rate == pytest.approx(0.125)
    fixed = remapped(wrong, {"time": {"unit": "ms"}}, ROBOT)
    assert fixed.time == pytest.approx(right.time)
    assert fixed.dq == pytest.approx(right.dq, abs=1e-6)
    back = remapped(right, {"time": {"unit": "s"}}, ROBOT)
    assert back.time == pytest.approx(wrong.time)
    counted = remapped(wrong, {"time": {"rate": 125.0}, "source": {"time.rate": "measured"}}, ROBOT)
    assert counted.time == pytest.approx(right.time)
    assert counted.dq[100:-100] == pytest.approx(dq[100:-100], abs=0.02)
    assert (counted.declared.time_from, counted.declared.rate_source) == ("rate", "measured")
    assert counted.declared.mapping["time"] == {"rate": 125.0}


def test_the_beginning_may_stand(tmp_path: Path) -> None:
    """An arm that stands for the first 20 000 rows still tells its rate."""
    _, q, dq = motion(250.0)
    q, dq = np.concatenate([np.repeat(q[:1], 20_000, axis=0), q]), np.concatenate([np.zeros((20_000, 6)), dq])
    log = read_log(written(tmp_path / "run.csv", q=q, dq=dq, tau=q), ROBOT)
    assert (log.declared.rate_source, log.rate) == ("measured", pytest.approx(250.0, rel=2e-3))
