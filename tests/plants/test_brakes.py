"""Simulated arms that stand on their brakes: started, floated, recorded, stopped, and started again."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.control import BrakedPlant, ControlLoop, Fault, PDGravity, default_gains
from counterpoise.identification import PosePlan
from counterpoise.plants import preset
from counterpoise.plants.config import Brake
from counterpoise.plants.simulated import SimulatedArm
from counterpoise.tasks import Floating, FloatSettings, Recording, Rig
from library.floating_arms import PLANAR, PLANAR_FRICTION, planar

PUMA = preset("puma550")


def puma(**changes: Any) -> SimulatedArm:
    return SimulatedArm(PUMA.robot(), PUMA.config.replaced(start="braked", **changes))


def braked_planar(**changes: Any) -> SimulatedArm:
    """Return the planar arm with friction, on brakes."""
    plain = planar().config
    drive = plain.drive
    brake = Brake(torque=60.0 * PLANAR_FRICTION)
    parts = {"inertia": (0.3, 0.2, 0.1), "friction": drive.friction, "brake": brake}
    return planar(drive=type(drive)(**parts), start="braked", stop="brake", **changes)


def loop_of(arm: SimulatedArm, robot: cp.Robot) -> ControlLoop:
    gains = default_gains(robot, arm.read().q, arm.effort_limit, arm.dt)
    return ControlLoop(arm, PDGravity(robot, gains.kp, gains.kd), robot)


def note_travel(arm: SimulatedArm, start: np.ndarray, travel: list[float], sample: cp.Sample) -> bool:
    """Note how far the links are from where they stood [rad]; an ``until`` that never ends the run."""
    travel.append(float(np.abs(arm.truth().q - start).max()))
    return False


def test_brakes_hold_it_with_idle_drives() -> None:
    """Closed, the arm stands still without torque and reads an effort of 0; released so, it drops."""
    arm = puma()
    assert isinstance(arm, BrakedPlant)
    with arm:
        start = arm.truth().q
        for _ in range(60):
            arm.write(np.zeros(arm.n))
        assert arm.held == "brakes"
        assert np.abs(arm.truth().q - start).max() < 1e-5
        assert np.abs(arm.read().tau).max() < 0.05 * np.abs(arm.robot.gravity(start)).max()
        arm.release()
        assert arm.held is None
        for _ in range(60):
            arm.write(np.zeros(arm.n))
        assert np.abs(arm.truth().q - start).max() > 0.02


def test_a_run_starts_without_a_drop_and_starts_again() -> None:
    """On the PUMA with gears, delays and noise; the stop closes the brakes, and the next entry finds them closed."""
    arm = puma()
    for _ in range(2):
        with arm:
            assert arm.held == "brakes"
            start = arm.truth().q
            travel: list[float] = []
            watch = partial(note_travel, arm, start, travel)
            report = loop_of(arm, arm.robot).run(0.8, until=watch)
            assert max(travel) < 4e-3
        assert [event.kind for event in report.events][:2] == ["started", "brakes_opened"]
        assert arm.held == "brakes"


def test_an_unknown_load_closes_them_again() -> None:
    """8 kg that the model does not know of: little more than 10 mrad, then the brakes."""
    model = PUMA.robot()
    strong = replace(PUMA.config.drive, brake=Brake(torque=(100.0, 190.0, 90.0, 40.0, 40.0, 40.0)))
    loaded = model.with_payload(8.0, com=(0.0, 0.0, 0.1))
    arm = SimulatedArm(loaded, PUMA.config.replaced(start="braked", drive=strong))
    with arm:
        start = arm.truth().q
        with pytest.raises(cp.errors.FallError, match="closed again") as caught:
            loop_of(arm, model).run(1.0)
        for _ in range(100):
            arm.write(np.zeros(arm.n))
        assert np.abs(arm.truth().q - start).max() < 0.03
    assert caught.value.report.fault is Fault.BRAKES_CLOSED_AGAIN


def test_an_undeclared_drop_is_named() -> None:
    """The same arm with brakes that are open when it is entered, and idle drives."""
    arm = SimulatedArm(PUMA.robot(), PUMA.config.replaced(start="slack"))
    with arm, pytest.raises(cp.errors.FallError, match="Brakes that have just opened"):
        loop_of(arm, arm.robot).run(1.0)


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_floating_from_brakes(share: float) -> None:
    """The check begins on the brakes, opens them once, and floating goes on from the check."""
    arm = braked_planar()
    opened: list[float] = []
    release = arm.release
    arm.release = lambda: (opened.append(arm.time), release())[1]  # type: ignore[method-assign]
    with arm:
        report = Floating(Rig(arm, PLANAR), FloatSettings(friction_fraction=share)).run(0.5)
        assert arm.held == "brakes"
    assert report.end == "done"
    assert report.check is not None
    assert report.check.passed
    assert len(opened) == 1


def test_recording_from_brakes() -> None:
    """Every window of the plan is there, and the log begins with the arm held."""
    arm = braked_planar()
    with arm:
        q = arm.read().q
        recording = Recording(
            Rig(arm, PLANAR), PosePlan.of(PLANAR, np.array([q + 0.1, q - 0.1]), settle=0.2, dwell=0.2)
        )
        log = recording.run()
    assert len(log.declared.notes["plan"]["windows"]) == 4
    assert log.sent is not None
    assert np.all(np.abs(log.sent[0] - PLANAR.gravity(log.q[0])) < 0.02 * arm.effort_limit)


def test_configurations_that_cannot_be() -> None:
    """Brakes that hold at the start are those of the stop; a shut valve needs none."""
    with pytest.raises(cp.InputError, match="start is 'braked'"):
        PUMA.config.replaced(start="braked", stop="zero")
    titan = preset("titan2").config
    with pytest.raises(cp.InputError, match=r"flow valve|drive\.brake"):
        titan.replaced(start="braked", stop="brake")


def test_a_stopped_plant_does_not_open() -> None:
    """An emergency stop lasts until the plant is entered again."""
    arm = puma()
    with arm:
        arm.emergency_stop()
        with pytest.raises(cp.errors.PlantError, match="was stopped"):
            arm.release()
        assert arm.held == "brakes"
