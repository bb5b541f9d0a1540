"""A log behind the plant protocol."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.control import EndState, Gravity, PDGravity, Plant, PlateInfo, SafetySettings
from counterpoise.errors import EndOfLogError, InputError
from counterpoise.plants.replay import ReplayPlant
from counterpoise.recording import Declared, Log
from library.ideal_arm import IdealArm, middle_pose

PUMA = cp.load("puma560")


def recording(ticks: int = 60, **more: Any) -> Log:
    """Record a short run on an ideal arm."""
    arm = IdealArm(PUMA, **more)
    with arm:
        report = cp.ControlLoop(arm, PDGravity(PUMA, np.full(6, 50.0), 5.0), PUMA).run(
            ticks * 1e-3, log=True, then="keep"
        )
    assert report.log is not None
    return report.log


def test_plays_one_sample_per_write() -> None:
    """Reading does not advance, writing does; what was written is kept; the end is an error of its own."""
    log = recording(20)
    plant = ReplayPlant(log, PUMA)
    assert isinstance(plant, Plant)
    with plant:
        for tick in range(20):
            assert plant.read().time == plant.read().time == log.time[tick]
            assert np.array_equal(plant.read().q, log.q[tick])
            assert not plant.exhausted
            tau = np.full(6, float(tick))
            assert plant.write(tau).tolist() == tau.tolist()
            tau[:] = -1.0
        assert plant.exhausted
        for _ in range(2):
            with pytest.raises(EndOfLogError, match="ends after 20 samples"):
                plant.read()
            with pytest.raises(EndOfLogError):
                plant.write(np.zeros(6))
    assert np.array_equal(plant.written, np.repeat(np.arange(20.0)[:, None], 6, axis=1))
    with plant:
        assert plant.read().time == log.time[0]
        assert plant.written.shape == (0, 6)


def test_declares_what_the_log_declares() -> None:
    """Efforts, gravity, plate and dt come from the log, limits from the robot."""
    plate = PlateInfo("on_sensor", np.eye(4), np.full(6, 1e4))
    log = recording(plate=plate)
    plant = ReplayPlant(log, PUMA)
    assert plant.dt == pytest.approx(1e-3)
    assert (plant.effort_kind, plant.adds_gravity) == ("torque", False)
    assert plant.plate is not None
    assert plant.plate.reads == "on_sensor"
    assert np.array_equal(plant.effort_limit, PUMA.effort_limit)
    assert np.array_equal(plant.lower, PUMA.lower)
    free = ReplayPlant(log, dt=2e-3, plate=plate)
    assert (free.dt, free.plate) == (2e-3, plate)
    assert np.all(np.isinf(free.effort_limit))
    undeclared = Log(log.joint_names, log.time, log.q, log.dq, log.tau, wrench=log.wrench)
    assert ReplayPlant(undeclared).plate is None


def test_loop_runs_over_a_log_to_its_end() -> None:
    """The loop sees the recorded arm, ends with the log, and its law's torques are kept beside it."""
    log = recording(60)
    plant = ReplayPlant(log, PUMA)
    with plant:
        safety = cp.control.SafetyFilter(PUMA, plant=plant, settings=SafetySettings(blend_time=0.0), rate_limit=1e6)
        report = cp.ControlLoop(plant, Gravity(PUMA), PUMA, safety=safety).run(log=True)
    assert report.end is EndState.END_OF_LOG
    assert (report.ticks, report.stop, report.held_ticks) == (60, None, 0)
    assert plant.written == pytest.approx(PUMA.gravity(log.q))
    assert report.log is not None
    assert np.array_equal(report.log.q, log.q)


def test_faults_in_a_log_are_found() -> None:
    """A recording with a jump stops the loop, and the safe stop runs on along the log."""
    log = recording(60)
    q = np.array(log.q)
    q[30:, 2] += 0.5
    bad = Log(log.joint_names, log.time, q, log.dq, log.tau)
    plant = ReplayPlant(bad, PUMA)
    with plant, pytest.raises(cp.errors.SensorFaultError, match=r"'joint3'.*jumped by 0\.5"):
        cp.ControlLoop(plant, Gravity(PUMA), PUMA).run()


def test_nothing_is_sent_after_a_stop() -> None:
    """After the emergency stop zeros are kept, until the plant is entered again."""
    plant = ReplayPlant(recording(), PUMA)
    with plant:
        plant.write(np.ones(6))
        plant.emergency_stop()
        assert not np.any(plant.write(np.ones(6)))
    with plant:
        assert np.all(plant.write(np.ones(6)) == 1.0)


def test_refusals() -> None:
    """Use outside 'with', torques of another arm, another robot, logs without two times."""
    log = recording()
    plant = ReplayPlant(log, PUMA)
    for call in (plant.read, lambda: plant.write(np.zeros(6))):
        with pytest.raises(cp.errors.PlantError, match="with plant"):
            call()
    with plant, pytest.raises(InputError, match="6 torques"):
        plant.write(np.zeros(5))
    with pytest.raises(InputError, match="names and order"):
        ReplayPlant(log, cp.load("scara"))
    one = middle_pose(PUMA)[None]
    with pytest.raises(InputError, match="time between samples"):
        ReplayPlant(Log(PUMA.joint_names, [0.0], one, one, one), PUMA)
    with pytest.raises(InputError, match="time between samples"):
        ReplayPlant(log, PUMA, dt=-1.0)


def test_efforts_of_the_motors_are_refused() -> None:
    """A plant's torques are the links'; a log of motor-side efforts is not played as if they were."""
    log = Log(
        ("a",), [0.0, 0.1], [[0.0], [0.0]], [[0.0], [0.0]], [[1.0], [1.0]], declared=Declared(effort_side="motor")
    )
    with pytest.raises(InputError, match="motor side"):
        ReplayPlant(log)
