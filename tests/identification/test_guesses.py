"""Nothing that was guessed ends in a trusted result in N m."""

from __future__ import annotations

from dataclasses import replace

import pytest

import counterpoise as cp
from counterpoise.identification.calibration import calibrate
from counterpoise.identification.estimate import COMMAND_UNITS
from counterpoise.identification.fit import Fit
from counterpoise.identification.verification import verify
from counterpoise.recording import Declared, Log
from library.calibration_data import motion, other_masses

GUESSED_GAIN = Declared(source={"joints.joint2.effort_gain": "guessed"})
GUESSED_RATE = Declared(rate_source="guessed")


@pytest.fixture(scope="module")
def arm() -> cp.Robot:
    return cp.load("planar3")


@pytest.fixture(scope="module")
def log(arm: cp.Robot) -> Log:
    return motion(other_masses(arm), coulomb=0.5, noise=0.1)


@pytest.fixture(scope="module")
def again(arm: cp.Robot) -> Log:
    return motion(other_masses(arm), coulomb=0.5, noise=0.1, seed=5)


@pytest.fixture(scope="module")
def sure(arm: cp.Robot, log: Log) -> Fit:
    fit = calibrate(arm, log, findings=())
    assert fit.trusted and fit.units != COMMAND_UNITS, fit.verdict.reasons
    return fit


@pytest.fixture(scope="module")
def doubtful(arm: cp.Robot, log: Log) -> Fit:
    return calibrate(arm, replace(log, declared=GUESSED_GAIN), findings=())


def test_a_guessed_gain_leaves_command_units(doubtful: Fit) -> None:
    assert doubtful.units == COMMAND_UNITS
    assert any("'joints.joint2.effort_gain'" in note and "guessed" in note for note in doubtful.notes)


def test_a_guess_in_a_further_recording_counts(arm: cp.Robot, log: Log, again: Log) -> None:
    fit = calibrate(arm, log, also=[replace(again, declared=GUESSED_GAIN)], findings=())
    assert fit.units == COMMAND_UNITS


@pytest.mark.parametrize("further", [False, True])
def test_a_guessed_rate_is_never_trusted(arm: cp.Robot, log: Log, again: Log, *, further: bool) -> None:
    if further:
        fit = calibrate(arm, log, also=[replace(again, declared=GUESSED_RATE)], findings=())
    else:
        fit = calibrate(arm, replace(log, declared=GUESSED_RATE), findings=())
    assert not fit.trusted and not fit.statements
    assert any("time.rate" in reason for reason in fit.verdict.reasons)


def test_recordings_in_other_units_are_not_compared(log: Log, again: Log, sure: Fit, doubtful: Fit) -> None:
    assert verify(sure, again).holds
    for fit, other in ((sure, replace(again, declared=GUESSED_GAIN)), (doubtful, again)):
        found = verify(fit, other)
        assert not found.holds
        assert [check.name for check in found.verdict.checks if not check.passed and check.name == "units"]
