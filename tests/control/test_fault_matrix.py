"""The fault-injection matrix: every fault, on three arms, ends in the state that docs/safety-filter.md specifies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.control.fault import Fault
from counterpoise.control.gravity import PDGravity
from counterpoise.control.loop import ControlLoop
from counterpoise.control.plant import PlateInfo
from counterpoise.control.report import EndState
from counterpoise.control.safety import SafetyFilter
from counterpoise.dynamics import joint_inertias
from counterpoise.recording import Sample
from library import faults
from library.braked_arm import ENDS_AT_START
from library.fault_cases import CASES, SETTINGS, try_fault
from library.ideal_arm import IdealArm


@pytest.mark.parametrize("name", ["wam7", "puma560", "dualarm19"])
@pytest.mark.parametrize("title", CASES)
def test_fault_ends_in_the_specified_state(name: str, title: str) -> None:
    """On an ideal arm: the end state, the error and the events are those specified; what was sent kept all bounds."""
    robot = cp.load(name)
    plate = PlateInfo("on_robot", np.eye(4), np.full(6, 1e5)) if CASES[title].plate else None
    try_fault(IdealArm(robot, plate=plate), robot, CASES[title])


@pytest.mark.parametrize("stop", ["zero", "brake"])
def test_interrupt_stops_the_arm_first(stop: Any) -> None:
    """Ctrl-C goes through as it is, after a safe stop."""
    robot = cp.load("puma560")
    arm = IdealArm(robot, stop=stop)

    def interrupt(sample: Sample) -> bool:
        if sample.time > 0.05:
            raise KeyboardInterrupt
        return False

    inertia = joint_inertias(robot, arm.q)
    with arm:
        loop = ControlLoop(
            arm,
            PDGravity(robot, 100.0 * inertia, 16.0 * inertia),
            robot,
            safety=SafetyFilter(robot, plant=arm, settings=SETTINGS),
        )
        with pytest.raises(KeyboardInterrupt):
            loop.run(1.0, until=interrupt)
        assert arm.stopped
    report = loop.last_report
    assert report is not None
    assert report.end is EndState.GRAVITY_STOP
    assert report.stop == stop
    assert report.stop_ticks >= 50


def test_second_interrupt_stops_at_once() -> None:
    """Ctrl-C during the safe stop orders the plant's own stop and goes through."""
    robot = cp.load("puma560")
    arm = IdealArm(robot)
    begun: list[float] = []

    def corrupt(sample: Sample, since: int) -> Sample:
        if since in (0, 10):
            begun.append(sample.time)
            raise KeyboardInterrupt
        return sample

    plant = faults.FaultyPlant(arm, corrupt, begin=50)
    inertia = joint_inertias(robot, arm.q)
    with plant:
        loop = ControlLoop(plant, PDGravity(robot, 100.0 * inertia, 16.0 * inertia), robot)
        with pytest.raises(KeyboardInterrupt):
            loop.run(1.0)
        assert arm.stopped
        assert len(begun) == 2
    assert loop.last_report is None or loop.last_report.end is EndState.PLANT_STOP


def test_every_fault_is_in_the_matrix_and_in_the_specification() -> None:
    """No fault without a test that ends in it, and none that docs/safety-filter.md does not name with its end state."""
    text = (Path(__file__).parents[2] / "docs" / "safety-filter.md").read_text(encoding="utf-8")
    for fault in Fault:
        if fault is not Fault.NONE:
            ends = {case.end.value for case in CASES.values() if case.fault is fault}
            ends |= {ENDS_AT_START[fault].value} if fault in ENDS_AT_START else set()
            rows = [line for line in text.splitlines() if line.startswith(f"| `{fault.name}`")]
            assert ends, fault
            assert len(rows) == 1, fault
            assert any(end in rows[0] for end in ends), fault
