"""A calibration in command units: its file says why, and whatever needs torques refuses it or says so at once."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.control import ControlLoop, Gravity
from counterpoise.errors import DataFileError, InputError
from counterpoise.exporters import export
from counterpoise.identification import document
from counterpoise.identification.calibration import calibrate
from counterpoise.identification.estimate import COMMAND_UNITS
from counterpoise.identification.file import load_calibration
from counterpoise.identification.fit import Fit
from counterpoise.identification.verification import verify
from counterpoise.plants import SimulatedArm
from counterpoise.recording import Declared, Log
from counterpoise.report import calibration_page, verification_page
from counterpoise.sensing import BaseSensor, OnlineGravity, PayloadEstimator, Tracker, friction_band_of
from counterpoise.tasks import Floating, Rig, gravity_covariance, track_log
from counterpoise.view import compared, log_timeline
from library.calibration_data import motion, other_masses

KEY = "joints.joint2.effort_gain"
GUESSED = Declared(source={KEY: "guessed"}, rate_source="recorded")
ARM = cp.load("planar3").mounted(rpy=(np.pi / 2.0, 0.0, 0.0))


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """A calibration in command units, as it was read back, with its file and its recording."""

    fit: Fit
    path: Path
    log: Log

    @property
    def plant(self) -> SimulatedArm:
        return SimulatedArm(self.fit.described)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    arm = cp.load("planar3")
    log = replace(motion(other_masses(arm), coulomb=0.5, noise=0.1), declared=GUESSED)
    fit = calibrate(arm, log, findings=())
    path = fit.save(tmp_path_factory.mktemp("command-units") / "arm.calibration.json")
    return Made(load_calibration(path, arm), path, log)


def test_the_file_says_what_was_guessed(made: Made) -> None:
    assert made.fit.units == COMMAND_UNITS
    assert made.fit.guessed == (KEY,)
    assert made.fit.rate_source == "recorded"
    content = json.loads(made.path.read_text())["content"]
    assert content["data"]["guessed"] == [KEY] and content["data"]["rate_source"] == "recorded"


def test_a_file_that_hides_its_units_is_refused(made: Made, tmp_path: Path) -> None:
    text = json.loads(made.path.read_text())
    text["content"]["units"] = "N m"
    text["checksum"] = document.checksum(text["content"])
    changed = tmp_path / "changed.calibration.json"
    changed.write_text(json.dumps(text))
    with pytest.raises(DataFileError, match=f"although '{KEY}' of the mapping is guessed"):
        load_calibration(changed, made.fit.described)


def test_a_calibration_in_torques_that_starts_from_one_is_not_marked(made: Made) -> None:
    fit = calibrate(made.fit.robot, replace(made.log, declared=Declared(rate_source="recorded")), findings=())
    assert fit.units == "N m" and not fit.robot.description.command_units and not fit.robot.warnings


REFUSING: dict[str, Callable[[Made, Path], object]] = {
    "export C": lambda made, out: export(made.fit.robot, out / "arm.h"),
    "export URDF": lambda made, out: export(made.fit.robot, out / "arm.urdf"),
    "export MJCF": lambda made, out: export(made.fit.robot, out / "arm.xml"),
    "export of it with a payload": lambda made, out: export(made.fit.robot.with_payload(1.0), out / "arm.h"),
    "export of it on another mounting": lambda made, out: export(
        made.fit.robot.mounted(rpy=(0.1, 0.0, 0.0)), out / "arm.h"
    ),
    "control loop": lambda made, out: ControlLoop(made.plant, Gravity(made.fit.robot), made.fit.robot),
    "a law of a loop": lambda made, out: ControlLoop(made.plant, Gravity(made.fit.robot), made.fit.described),
    "switch to a law": lambda made, out: ControlLoop(
        made.plant, Gravity(made.fit.described), made.fit.described
    ).switch(Gravity(made.fit.robot)),
    "floating": lambda made, out: Floating(Rig(made.plant, made.fit.robot)),
    "floating with its uncertainty": lambda made, out: Floating(
        Rig(made.plant, made.fit.described, calibration=made.fit)
    ),
    "uncertainty of gravity": lambda made, out: gravity_covariance(made.fit.described, made.fit),
    "on-line gravity from the fit": lambda made, out: OnlineGravity(made.fit.described, 0.01, prior=made.fit),
    "on-line gravity of its robot": lambda made, out: OnlineGravity(made.fit.robot, 0.01),
    "payload from the fit": lambda made, out: PayloadEstimator(made.fit.described, 0.01, fit=made.fit),
    "payload of its robot": lambda made, out: PayloadEstimator(made.fit.robot, 0.01),
    "friction band": lambda made, out: friction_band_of(made.fit.described, made.fit),
    "tracker": lambda made, out: Tracker(made.fit.robot, 0.01, fit=made.fit),
    "plate": lambda made, out: BaseSensor(made.fit.robot),
    "view": lambda made, out: compared(made.fit.described, (str(made.path),)),
}
"""Whatever needs torques or masses."""


@pytest.mark.parametrize("use", REFUSING)
def test_what_needs_torques_refuses_it(use: str, made: Made, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"in command units.*'{KEY}' of the mapping is guessed"):
        REFUSING[use](made, tmp_path)
    assert not list(tmp_path.iterdir())


def test_every_refusal_is_about_the_units(made: Made, tmp_path: Path) -> None:
    """The same uses take the described robot, so that a refusal above can be nothing else."""
    robot = made.fit.described
    for ending in (".h", ".urdf", ".xml"):
        export(robot, tmp_path / f"arm{ending}")
    assert {path.suffix for path in tmp_path.iterdir()} == {".h", ".urdf", ".xml"}
    ControlLoop(made.plant, Gravity(robot), robot).switch(Gravity(robot))
    Floating(Rig(made.plant, robot))
    OnlineGravity(robot, 0.01)
    PayloadEstimator(robot, 0.01)
    friction_band_of(robot)
    Tracker(robot, 0.01)
    BaseSensor(robot)


SAYING: dict[str, Callable[[Made], str]] = {
    "summary": lambda made: made.fit.summary().splitlines()[0],
    "page of the calibration": lambda made: calibration_page(made.fit).verdict.headline,
    "page of a verification": lambda made: verification_page(verify(made.fit, made.log)).verdict.headline,
    "warnings of its robot": lambda made: " ".join(made.fit.robot.warnings),
}
"""Whatever shows it: the first line says it."""


@pytest.mark.parametrize("shown", SAYING)
def test_what_shows_it_says_so_first(shown: str, made: Made) -> None:
    text = SAYING[shown](made)
    assert COMMAND_UNITS in text and f"'{KEY}' of the mapping is guessed" in text


def test_recordings_of_a_guessed_size_are_not_taken_for_torques(made: Made) -> None:
    with pytest.raises(InputError, match=f"'{KEY}' of the mapping is guessed"):
        track_log(made.fit.described, made.log)
    assert log_timeline(made.log, made.fit.described).tau is None
    sure = replace(made.log, declared=Declared(rate_source="recorded"))
    assert log_timeline(sure, made.fit.described).tau is not None
