"""A bag with joint states and a plate's wrenches on two topics, from the file to the log."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import counterpoise as cp
from library.bag_writers import JOINT_STATE, START, WRENCH_STAMPED, Sent, joint_state, wrench, write_bag


@pytest.mark.parametrize("kind", ["ros1-lz4", "mcap-zstd", "db3"])
def test_joint_states_and_plate_are_merged_on_time(tmp_path: Path, kind: str) -> None:
    """The plate, at another rate and phase, is interpolated to the joints' times; joints come in the robot's order."""
    robot = cp.load("puma560")
    names = tuple(reversed(robot.joint_names))
    ros1 = kind.startswith("ros1")
    joints, plate = np.arange(0.0, 2.0, 0.01), np.arange(0.0037, 2.0, 0.004)
    q = np.sin(joints[:, None] * np.arange(1, 7))
    load = np.arange(1.0, 7.0)

    def stamp(time: float) -> int:
        return START + round(time * 1e9)

    sent = [
        Sent(
            "/joint_states",
            JOINT_STATE,
            stamp(time),
            joint_state(names, row[::-1], 0.0 * row, 2.0 * row[::-1], stamp=stamp(time), ros1=ros1),
        )
        for time, row in zip(joints, q, strict=True)
    ]
    sent += [
        Sent("/plate/wrench", WRENCH_STAMPED, stamp(time), wrench(load * time, stamp=stamp(time), ros1=ros1))
        for time in plate
    ]
    path = write_bag(tmp_path / "run", kind, sorted(sent, key=lambda one: one.received))
    log = cp.read_log(path, robot)
    assert log.joint_names == robot.joint_names
    np.testing.assert_array_equal(log.q, q)
    np.testing.assert_array_equal(log.tau, 2.0 * q)
    assert log.wrench is not None
    within = (log.time - log.time[0] >= plate[0]) & (log.time - log.time[0] <= plate[-1])
    assert within.sum() >= 198
    # A line is interpolated exactly, up to the resolution of epoch seconds: 0.24 µs.
    np.testing.assert_allclose(log.wrench[within], (log.time - log.time[0])[within, None] * load, atol=5e-6)
