"""Logs: arrays that belong together, immutable, cut by time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from counterpoise.errors import InputError
from counterpoise.logs.log import Log, LogBuilder
from counterpoise.logs.sample import Sample, SampleFlag

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


def test_log_of_samples_gives_them_back() -> None:
    """Each sample comes back as it was."""
    given = samples(3000)
    log = Log.from_samples(given, NAMES, declared={"effort_kind": "current", "gear": [1, 2.5]})
    assert len(log) == 3000
    for index in (0, 1, 2047, 2048, 2999, -1):
        one, other = given[index], log.sample(index)
        assert (one.time, one.flags) == (other.time, other.flags)
        for name in ("q", "dq", "effort", "wrench"):
            assert np.array_equal(getattr(one, name), getattr(other, name))
    assert log.sent is None
    assert log.declared["gear"] == [1, 2.5]
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
    log = Log(NAMES, np.arange(2.0), q, q, q, declared={"note": {"by": "me"}})
    q[0, 0] = 5.0
    assert log.q[0, 0] == 0.0
    for array in (log.time, log.q, log.dq, log.tau, log.flags):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(AttributeError):
        log.q = q  # type: ignore[misc]
    with pytest.raises(TypeError):
        log.declared["note"] = 1  # type: ignore[index]


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
        ({"declared": {"effort_kind": "volts"}}, r"effort_kind.*'torque', 'current'"),
        ({"declared": {"adds_gravity": "yes"}}, "adds_gravity"),
        ({"declared": {"note": object()}}, "JSON"),
        ({"declared": {"note": np.nan}}, "JSON"),
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
    builder = LogBuilder(NAMES, declared={}, capacity=1)
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
