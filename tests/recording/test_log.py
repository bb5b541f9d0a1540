"""Logs: arrays that belong together, immutable, cut by time and by index, resampled and differentiated."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from counterpoise.errors import InputError
from counterpoise.recording.declared import Declared
from counterpoise.recording.log import Log, LogBuilder, Sample, SampleFlag

NAMES = ("shoulder", "elbow")


def samples(count: int, *, wrench: bool = True) -> list[Sample]:
    rng = np.random.default_rng(3)
    return [
        Sample(
            0.5 + 0.01 * tick,
            rng.normal(size=2),
            rng.normal(size=2),
            rng.normal(size=2),
            rng.normal(size=6) if wrench else None,
            SampleFlag(tick % 3),
        )
        for tick in range(count)
    ]


def test_a_log_prints_as_one_line() -> None:
    """Joints, samples, duration, rate, the parts that hold numbers, and the efforts' unit where they are no torques."""
    log = Log.from_samples(samples(3000), NAMES)
    assert str(log) == repr(log) == "<Log: 2 joints, 3000 samples, 29.99 s at 100 Hz; q, dq, tau, wrench>"
    assert str(log[:1]) == "<Log: 2 joints, 1 sample, no duration; q, dq, tau, wrench>"
    bare = replace(log, wrench=None, tau=np.full_like(log.tau, np.nan), sent=log.tau)
    assert str(bare).endswith("; q, dq, sent>")
    for declared, unit in (
        (Declared(effort_kind="torque", effort_side="link"), "tau"),
        (Declared(effort_kind="current"), "tau [A]"),
        (Declared(effort_kind="torque", effort_side="motor"), "tau [N m at the motor]"),
    ):
        assert str(replace(log, declared=declared)).endswith(f"; q, dq, {unit}, wrench>")
    wild = np.array(log.time)
    wild[7] = 1e9
    assert "29.99 s at 100 Hz" in str(replace(log, time=wild))
    assert "s, poses at rest; q" in str(replace(log, side=np.ones_like(log.q)))
    assert "no duration; no numbers" in str(Log(("a",), [np.nan], *[[[np.nan]]] * 3))


def test_log_of_samples_gives_them_back() -> None:
    """Each sample comes back as it was."""
    given = samples(3000)
    log = Log.from_samples(given, NAMES, declared=Declared(effort_kind="current", notes={"gear": [1, 2.5]}))
    assert len(log) == 3000
    for index in (0, 1, 2047, 2048, 2999, -1):
        one, other = given[index], log.sample(index)
        assert (one.time, one.flags) == (other.time, other.flags)
        for name in ("q", "dq", "tau", "wrench"):
            assert np.array_equal(getattr(one, name), getattr(other, name))
    assert log.sent is None
    assert log.declared.effort_kind == "current"
    assert log.declared.notes["gear"] == (1, 2.5)
    for index in (3000, -3001):
        with pytest.raises(InputError, match="3000"):
            log.sample(index)


def test_log_without_plate_has_no_wrench() -> None:
    """None, not zeros; and NaN where only some samples have one."""
    assert Log.from_samples(samples(3, wrench=False), NAMES).wrench is None
    mixed = Log.from_samples([*samples(1), *samples(1, wrench=False)], NAMES).wrench
    assert mixed is not None
    assert np.isnan(mixed[1]).all()
    assert not np.isnan(mixed[0]).any()


def test_log_is_immutable() -> None:
    """Neither arrays nor attributes nor declarations can be changed, and the caller's arrays stay his own."""
    q = np.zeros((2, 2))
    log = Log(NAMES, np.arange(2.0), q, q, q, declared=Declared(notes={"by": {"name": "me"}}))
    q[0, 0] = 5.0
    assert log.q[0, 0] == 0.0
    for array in (log.time, log.q, log.dq, log.tau, log.flags):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(AttributeError):
        log.q = q  # type: ignore[misc]
    with pytest.raises(TypeError):
        log.declared.notes["by"]["name"] = "you"


def test_slice_is_by_time() -> None:
    """From start, included, to end, left out."""
    log = Log.from_samples(samples(100), NAMES, sent=np.ones((100, 2)))
    part = log.slice(0.7, 0.8)
    assert len(part) == 10
    assert part.time[0] == pytest.approx(0.7)
    assert np.array_equal(part.q, log.q[20:30])
    assert part.sent is not None
    assert part.wrench is not None
    assert len(part.sent) == len(part.wrench) == 10
    assert len(log.slice()) == 100
    assert len(log.slice(end=0.6)) == 10
    with pytest.raises(InputError, match=r"from 7 s to 8 s; the log runs from 0.5 s to 1.49 s"):
        log.slice(7.0, 8.0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"joint_names": ("a", "a")}, "joint_names"),
        ({"joint_names": ("a", "")}, "joint_names"),
        ({"time": np.zeros((2, 1))}, "time"),
        ({"time": np.zeros(0)}, "at least one"),
        ({"time": "now"}, "time"),
        ({"q": np.zeros((2, 3))}, r"q is float64 of shape \(2, 3\); .*\(2, 2\)"),
        ({"dq": [[0, 0], [0]]}, "dq"),
        ({"tau": np.zeros((3, 2))}, "tau"),
        ({"tau": np.zeros((2, 2), dtype=complex)}, "tau"),
        ({"wrench": np.zeros((2, 3))}, "wrench"),
        ({"sent": np.zeros(2)}, "sent"),
        ({"flags": np.zeros(3, dtype=int)}, "flags"),
        ({"flags": np.array([0.5, 1.0])}, "flags"),
        ({"flags": np.array([-1, 1])}, "flags"),
        ({"flags": np.array([0, 2**31])}, "flags"),
        ({"declared": {"effort_kind": "torque"}}, "Declared"),
        ({"declared": Declared(torque_constant=[1.0])}, r"torque_constant has shape \(1,\); expected \(2,\)"),
        ({"declared": Declared(motor_per_link=np.eye(3))}, r"motor_per_link.*\(2, 2\)"),
    ],
)
def test_what_does_not_belong_together_is_refused(change: dict[str, Any], words: str) -> None:
    """Shapes, names, flags and declarations are checked."""
    zeros = np.zeros((2, 2))
    good: dict[str, Any] = {"joint_names": NAMES, "time": np.arange(2.0), "q": zeros, "dq": zeros, "tau": zeros}
    Log(**good)
    with pytest.raises(InputError, match=words):
        Log(**(good | change))


def test_builder_refuses_samples_of_another_arm() -> None:
    """A sample that does not fit is named by its number, and not half taken."""
    builder = LogBuilder(NAMES, declared=Declared(), capacity=1)
    builder.append(samples(1)[0])
    for wrong in (
        Sample(0.0, np.zeros(3), np.zeros(2), np.zeros(2)),
        Sample("x", np.zeros(2), np.zeros(2), np.zeros(2)),  # type: ignore[arg-type]
    ):
        with pytest.raises(InputError, match="sample 1 does not fit 2 joints"):
            builder.append(wrong)
    assert len(builder.finish()) == 1
    with pytest.raises(InputError, match="at least one sample"):
        Log.from_samples([], NAMES)


def test_cut_by_index() -> None:
    """Ranges, masks and lists of indices give logs; what leaves nothing or does not exist is refused."""
    log = Log.from_samples(samples(100), NAMES, sent=np.ones((100, 2)))
    assert np.array_equal(log[10:20].q, log.q[10:20])
    assert np.array_equal(log[::-1].time, log.time[::-1])
    assert np.array_equal(log[log.flags == 1].tau, log.tau[log.flags == 1])
    assert np.array_equal(log[np.array([3, 5])].time, log.time[[3, 5]])
    for rows, words in (
        (slice(50, 50), "at least one"),
        (np.zeros(100, dtype=bool), "at least one"),
        (np.array([100]), "100 samples"),
        (np.zeros(3, dtype=bool), "100 samples"),
        (5, r"log\.sample"),
    ):
        with pytest.raises(InputError, match=words):
            log[rows]  # type: ignore[index]


def waves(time: np.ndarray) -> Log:
    """Two joints that swing at 0.5 and 1 Hz, with exact velocities, and a vibration of 30 Hz on the effort."""
    phase = 2 * np.pi * np.outer(time, [0.5, 1.0])
    rate = 2 * np.pi * np.array([0.5, 1.0])
    return Log(NAMES, time, np.sin(phase), rate * np.cos(phase), np.cos(phase) + np.sin(60 * np.pi * time)[:, None])


def test_resampled_is_even_and_free_of_aliases() -> None:
    """Slow waves stay, a vibration above the new rate does not come back as a slow one."""
    rng = np.random.default_rng(5)
    log = waves(0.002 * (np.arange(5000) + 0.4 * rng.uniform(-1, 1, 5000)))
    new = log.resampled(25.0)
    assert np.diff(new.time) == pytest.approx(0.04)
    inner = slice(25, -25)
    assert new.q[inner] == pytest.approx(np.sin(2 * np.pi * np.outer(new.time, [0.5, 1.0]))[inner], abs=2e-3)
    assert new.tau[inner] == pytest.approx(np.cos(2 * np.pi * np.outer(new.time, [0.5, 1.0]))[inner], abs=0.01)
    thinned = log[::20]  # the same rate without the filter
    assert np.max(np.abs(thinned.tau - np.cos(2 * np.pi * np.outer(thinned.time, [0.5, 1.0])))) > 0.5
    finer = log.resampled(1000.0)
    assert len(finer) > 9900
    for bad in (0.0, -1.0, np.nan, 1e12):
        with pytest.raises(InputError, match=r"rate|samples"):
            log.resampled(bad)


def test_flags_and_commands_when_resampled() -> None:
    """A new sample has the flags of both its neighbours; a command keeps its last value; NaN stays NaN."""
    q = np.array([[0.0], [1.0], [np.nan], [3.0]])
    log = Log(("a",), np.arange(4.0), q, q, q, flags=np.array([1, 0, 2, 0]), sent=np.arange(4.0)[:, None])
    new = log.resampled(2.0)
    assert new.flags.tolist() == [1, 1, 0, 2, 2, 2, 0]
    assert new.sent is not None
    assert new.sent[:, 0].tolist() == [0, 0, 1, 1, 2, 2, 3]
    assert new.q[:, 0] == pytest.approx([0.0, 0.5, 1.0, np.nan, np.nan, np.nan, 3.0], nan_ok=True)


@pytest.mark.parametrize("jitter", [0.0, 0.3])
def test_differentiated(jitter: float) -> None:
    """Velocities of a known motion, on even and on uneven times."""
    rng = np.random.default_rng(6)
    time = 0.005 * (np.arange(2000) + jitter * rng.uniform(-1, 1, 2000))
    log = waves(time)
    new = log.differentiated(20.0)
    assert new.declared.velocity_from == "position"
    inner = slice(100, -100)
    assert new.dq[inner] == pytest.approx(log.dq[inner], abs=1e-4 if jitter == 0.0 else 0.02)


def test_infinite_numbers_are_no_measurements() -> None:
    log = waves(0.01 * np.arange(10))
    assert log.without_infinities() is log
    tau = log.tau.copy()
    tau[3, 1], tau[4, 0] = np.inf, -np.inf
    clean = replace(log, tau=tau).without_infinities()
    assert np.isnan(clean.tau[3, 1]) and np.isnan(clean.tau[4, 0]) and np.isnan(clean.tau).sum() == 2
    assert np.array_equal(clean.q, log.q)


def test_times_out_of_order_are_left_out() -> None:
    """Duplicates, steps back and NaN are no samples of a filter; the rate is that of the rest."""
    log = waves(np.array([0.0, 0.1, 0.1, 0.05, np.nan, 0.2, 0.3]))
    assert log.ordered().time.tolist() == [0.0, 0.1, 0.2, 0.3]
    assert log.rate == pytest.approx(10.0)
    assert len(log.low_passed(1.0)) == 4
    ordered = log.ordered()
    assert ordered.ordered() is ordered
    assert np.isnan(log[:1].rate)
    with pytest.raises(InputError, match="cutoff"):
        log.low_passed(0.0)
