"""What users send to other processes arrives as it was: equal, and read-only where it was."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.control import Fault, HistoryEntry, RunReport
from counterpoise.errors import JointLimitError
from counterpoise.foundation import frozen
from counterpoise.recording.declared import Declared
from counterpoise.recording.log import Log, Sample, SampleFlag
from counterpoise.tasks import LawGains, TaughtPath

LOG = Log(
    ("a", "b"),
    np.arange(3.0),
    np.arange(6.0).reshape(3, 2),
    np.full((3, 2), np.nan),
    np.ones((3, 2)),
    wrench=np.ones((3, 6)),
    flags=np.array([0, 1, 2]),
    sent=None,
    declared=Declared(
        effort_kind="torque",
        motor_per_link=[[1.0, 0.1], [0.0, -48.0]],
        gravity_base=[0.0, 0.1, -9.8],
        mapping={"time": {"column": "t"}},
        notes={"files": ["x.csv"], "held": {"c": 0.5}, "nested": [{"a": [1, None]}]},
    ),
)
SAMPLE = Sample(1.0, frozen([1.0, 2.0]), frozen([0.0, 0.0]), np.array([3.0, 4.0]), None, SampleFlag.STALE)
REPORT = RunReport(
    end="stopped",
    fault=Fault.NONE,
    stop=None,
    ticks=3,
    held_ticks=0,
    stop_ticks=1,
    overruns=0,
    duration=0.1,
    flag_counts=MappingProxyType({"CLIPPED": (1, 2)}),
    events=(),
    events_dropped=0,
    log=LOG,
)
HISTORY = HistoryEntry(SAMPLE, frozen([1.0, 2.0]), Fault.NONE, 0)  # type: ignore[arg-type]
PATH = TaughtPath.of(cp.load("pendulum"), [0.0, 1.0], [[0.0], [0.5]], name="wave", notes={"by": "hand"})
GAINS = LawGains("pd", ("a",), frozen([1.0]), frozen([2.0]), frozen([0.0]), frozen([0.0]))
DESCRIPTION = cp.load("pendulum").description
THINGS: dict[str, Any] = {
    "log": LOG,
    "declared": LOG.declared,
    "sample": SAMPLE,
    "report": REPORT,
    "history": HISTORY,
    "path": PATH,
    "gains": GAINS,
    "description": DESCRIPTION,
}
COPIES: dict[str, Callable[[Any], Any]] = {
    **{
        f"protocol {number}": (lambda thing, number=number: pickle.loads(pickle.dumps(thing, number)))
        for number in range(pickle.HIGHEST_PROTOCOL + 1)
    },
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


def assert_same(one: Any, other: Any, where: str = "") -> None:
    """The same kinds and numbers at every depth, read-only where the first is, and no memory in common."""
    assert type(one) is type(other), where
    if isinstance(one, np.ndarray):
        assert np.array_equal(one, other, equal_nan=True), where
        assert one.dtype == other.dtype
        assert one.flags.writeable == other.flags.writeable, where
    elif is_dataclass(one):
        for field in fields(one):
            assert_same(getattr(one, field.name), getattr(other, field.name), f"{where}.{field.name}")
    elif isinstance(one, Mapping):
        assert list(one) == list(other), where
        for key in one:
            assert_same(one[key], other[key], f"{where}[{key}]")
    elif isinstance(one, tuple):
        assert len(one) == len(other), where
        for index, (first, second) in enumerate(zip(one, other, strict=True)):
            assert_same(first, second, f"{where}[{index}]")
    else:
        assert one == other, where


@pytest.mark.parametrize("name", THINGS)
@pytest.mark.parametrize("way", COPIES)
def test_copies(name: str, way: str) -> None:
    """By every protocol, shallow and deep."""
    assert_same(THINGS[name], COPIES[way](THINGS[name]))


def test_a_deep_copy_shares_nothing() -> None:
    """Not one array of a log."""
    other = copy.deepcopy(LOG)
    assert other is not LOG
    assert not np.shares_memory(other.q, LOG.q)
    assert other.declared == LOG.declared


def test_a_copied_log_is_refused_to_be_written() -> None:
    """Neither its arrays nor its notes."""
    for other in (copy.deepcopy(LOG), pickle.loads(pickle.dumps(LOG))):
        with pytest.raises(ValueError, match="read-only"):
            other.q[0, 0] = 1.0
        with pytest.raises(TypeError):
            other.declared.notes["held"]["c"] = 1.0
        assert len(other.slice(0.5, 1.5)) == 1  # and it works as before


def test_errors_with_reports() -> None:
    """A safety error takes its report and its history along, the recording in it too."""
    error = pickle.loads(pickle.dumps(JointLimitError("too fast", history=[HISTORY], report=REPORT)))
    assert str(error) == "too fast"
    assert_same((HISTORY,), error.history)
    assert_same(REPORT, error.report)


def _sums(log: Log) -> tuple[Log, float]:
    return log, float(log.q.sum())


def test_another_process() -> None:
    """A log goes to a process that was started afresh, is used there, and comes back."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        other, total = pool.apply(_sums, (LOG,))
    assert total == LOG.q.sum()
    assert_same(LOG, other)


@pytest.mark.parametrize("name", ["Log", "Declared", "Sample"])
def test_published_names_have_no_dictionary(name: str) -> None:
    """The base adds no room for other attributes."""
    thing = {"Log": LOG, "Declared": LOG.declared, "Sample": SAMPLE}[name]
    assert not hasattr(thing, "__dict__")
