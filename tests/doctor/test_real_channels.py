"""Real recordings: what is wrong with their channels, time and path; skipped where the recordings are absent."""

from __future__ import annotations

from pathlib import Path

import pytest

import counterpoise as cp
from counterpoise.doctor.diagnosis import check_recording
from counterpoise.doctor.finding import Consequence, LogFault
from library.shared_data import example_urdf


def findings(robot: cp.Robot, *paths: Path):
    return check_recording(robot, cp.read_log(list(paths), robot))


def test_tiago_has_dead_efforts_and_late_velocities(shared):
    """The velocities are low-passed with a time constant of twenty samples: 0.95 from one to the next."""
    robot = cp.load(shared("data/tiago/tiago_48_schunk.urdf"))
    files = [shared(f"data/tiago/tiago_{kind}.csv") for kind in ("position", "velocity", "effort")]
    found = {finding.fault: finding for finding in findings(robot, *files)}
    assert found[LogFault.DEAD].subjects == ("arm_5_joint", "arm_6_joint", "arm_7_joint")
    assert found[LogFault.DELAY].evidence["lag_s"] == pytest.approx(0.19, abs=0.01)


def test_lbr_has_no_time(shared):
    robot = cp.load(shared("data/lbrmed7/med7dock.urdf"))
    found = findings(robot, shared("data/lbrmed7/measurements.csv"))
    assert [finding.fault for finding in found if finding.consequence > Consequence.NOTE] == [LogFault.NO_TIME]


@pytest.mark.parametrize(
    ("name", "model"), [("ur10", "ur_description/urdf/ur10_robot.urdf"), ("panda", "panda_description/urdf/panda.urdf")]
)
def test_path_driven_out_and_back_is_named_and_nothing_else(shared, name, model):
    robot = cp.load(example_urdf(model))
    found = findings(robot, shared(f"data/ur10_panda/{name}_exciting_trajectory.db3"))
    worse = [finding for finding in found if finding.consequence > Consequence.NOTE]
    assert [finding.fault for finding in worse] == [LogFault.REPEATED_PATH]
    assert worse[0].evidence["driven_back"]
