"""What the native filter is checked with before it is used: one case per entry point, and the layouts.

Each case makes a filter of the given part, calls it, and returns all that the filter then says. The stored results
are those of the Python specification (``tests/store_results.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

import numpy as np

from ..dynamics import MAX_INPUT
from ..foundation import Cases, Layout
from ..recording import Sample, SampleFlag
from .fault import FLAG_COUNT, Fault, FilterFlag

JOINTS = 3
TORQUE = np.array([2.0, -7.5, 0.25])


def _core(module: Any) -> Any:
    ones = np.ones(JOINTS)
    return module.NativeFilterCore(
        dt=0.001,
        lower=-2.0 * ones,
        upper=2.0 * ones,
        velocity_limit=3.0 * ones,
        effort_limit=np.array([4.0, 5.0, 6.0]),
        rate_limit=np.array([900.0, 2000.0, 3000.0]),
        wrench_range=np.full(6, 100.0),
        jump_slack=0.01,
        max_gap=0.05,
        max_lag=0.02,
        frozen_ticks=3,
        frozen_travel=0.002,
        frozen_torque=0.2,
    )


def _said(core: Any, *answers: int) -> list[float]:
    rows = (core.out, core.last, core.effort_limit, core.joint_flags, core.counts)
    return [*answers, core.fault_joint, core.fault_value, *(x for row in rows for x in row.ravel().tolist())]


def _sample(tick: int, changes: Mapping[str, float], flags: SampleFlag = SampleFlag.NONE) -> Sample:
    """Return the sample of a slow motion; ``changes`` tell what differs in joint 1 (or channel 1, or the time)."""
    time = 0.001 * tick + changes.get("time", 0.0)
    q = np.array([0.5, -0.25, 1.0]) + 0.0005 * tick
    dq, tau, wrench = np.full(JOINTS, 0.5), np.array([1.0, -2.0, 0.5]) + 0.001 * tick, np.full(6, 10.0)
    for name, row in (("q", q), ("dq", dq), ("tau", tau), ("wrench", wrench)):
        row[1] = changes.get(name, row[1])
    return Sample(time, q, dq, tau, wrench, flags)


def _check(module: Any) -> list[float]:
    """Every fault that a sample can have, behind a good one; and a sensor that freezes."""
    bad: tuple[dict[str, float], ...] = (
        {},
        {"q": float("nan")},
        {"q": 3.0},
        {"dq": float("inf")},
        {"dq": 3.5},
        {"tau": float("nan")},
        {"wrench": float("nan")},
        {"wrench": 150.0},
        {"time": -0.01},
        {"time": 0.1},
        {"time": float("nan")},
    )
    core = _core(module)
    core.uses_wrench = True
    said: list[float] = []
    for changes in bad:
        core.forget()
        answers = core.check(_sample(0, {}), 0.0), core.check(_sample(1, changes), 0.001)
        value = core.fault_value
        said += [*answers, core.fault_joint, value if isfinite(value) else -1.0]
    for flag in SampleFlag:
        core.forget()
        said += [core.check(_sample(0, {}), 0.0), core.check(_sample(1, {}, flag), 0.001)]
    core.forget()
    same = [Sample(0.001 * t, np.full(JOINTS, 0.5), np.ones(JOINTS), np.zeros(JOINTS)) for t in range(8)]
    said += [core.check(each, each.time + (0.03 if each is same[1] else 0.0)) for each in same]
    return said


def _limit(module: Any) -> list[float]:
    core = _core(module)
    answers = [core.limit(TORQUE) for _ in range(6)]
    answers += [core.limit(TORQUE, -0.5 * TORQUE), core.limit(np.array([1.0, np.nan, 0.0])), core.limit(TORQUE[:2])]
    return _said(core, *answers)


def _hold(module: Any) -> list[float]:
    core = _core(module)
    return _said(core, core.limit(TORQUE), core.hold())


def _sent(module: Any) -> list[float]:
    core = _core(module)
    return _said(core, core.limit(TORQUE), core.sent(np.array([9.0, -1.0, np.nan])), core.limit(TORQUE))


def _start_from(module: Any) -> list[float]:
    core = _core(module)
    core.start_from(np.array([1.5, -8.0, np.inf]))
    return _said(core, core.limit(TORQUE))


def _set_effort_limit(module: Any) -> list[float]:
    core = _core(module)
    core.start_from(TORQUE)
    core.set_effort_limit(np.array([1.0, 9.0, -1.0]))
    return _said(core, core.limit(TORQUE))


def _forget(module: Any) -> list[float]:
    core = _core(module)
    answers = [core.check(_sample(5, {}), 0.005), core.check(_sample(0, {}), 0.0)]
    core.forget()
    return _said(core, *answers, core.check(_sample(0, {}), 0.0))


_RUNS: tuple[Callable[[Any], list[float]], ...] = (
    *(_check, _limit, _hold, _sent, _start_from, _set_effort_limit, _forget),
)
CASES: Cases = {f"FilterCore.{run.__name__[1:]}": run for run in _RUNS}
"""Per entry point of the part a function of it."""
LAYOUT: Layout = {
    "Fault": Fault.__members__,
    "SampleFlag": SampleFlag.__members__,
    "FilterFlag": FilterFlag.__members__,
    "CONSTANTS": {"MAX_INPUT": MAX_INPUT, "FLAG_COUNT": FLAG_COUNT},
}
