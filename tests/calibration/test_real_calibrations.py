"""Real recordings, default settings: held-out errors beside those of a careful fit by hand; nothing explodes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import counterpoise as cp
from shared_data import SHARED
from study_module import load_study

MEDIAN, WORST = 1.15, 1.4
"""How much larger than by hand our errors may be: the median joint, and any joint."""
NAMES = ("panda, first part", "panda, last part", "ur10, first part", "ur10, last part", "lbr med 7", "tiago", "tx40")


@pytest.fixture(scope="module")
def study() -> ModuleType:
    return load_study("calibration_recordings")


@pytest.fixture(scope="module")
def read(study: ModuleType, shared: Callable[[str], Path]) -> Callable[[str], tuple[cp.Robot, cp.Log]]:
    """Read a recording, or skip the test where it or its model is absent."""

    @cache
    def of(name: str) -> tuple[cp.Robot, cp.Log]:
        for file in study.CASES[name].files:
            shared(file)
        try:
            found: tuple[cp.Robot, cp.Log] = study.read(study.CASES[name], SHARED)
        except FileNotFoundError as error:
            pytest.skip(str(error))
        return found

    return of


def test_every_recording_of_the_study_is_tested(study: ModuleType) -> None:
    assert tuple(study.CASES) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_held_out_errors_are_like_those_of_a_careful_fit(name: str, study: ModuleType, read) -> None:
    """On the README's split: at most 1.15 times its figure in the median joint, 1.4 times in any."""
    robot, log = read(name)
    fit = cp.calibrate(robot, log, split=study.CASES[name].split, findings=())
    assert fit.data == "moving"
    assert fit.units == ("command units" if study.CASES[name].signal else "N m")
    found = study.ratios(study.CASES[name], fit, log)
    assert np.median(found) <= MEDIAN, found.round(2)
    assert np.max(found) <= WORST, found.round(2)


@pytest.mark.parametrize("name", ["panda, first part", "ur10, last part", "lbr med 7", "tiago", "tx40"])
def test_the_default_split_is_a_fair_one(name: str, read) -> None:
    """Our own split by regions: new poses, and errors far below the signal of every joint, or what it tolerates."""
    robot, log = read(name)
    fit = cp.calibrate(robot, log, findings=())
    assert fit.novelty[1] > 0.05
    active = fit.columns.active
    assert np.all(fit.heldout_rms[active] <= np.maximum(0.35 * fit.signal[active], fit.tolerated[active]))


def test_a_joint_that_was_not_excited_is_caught(study: ModuleType, read) -> None:
    """The UR10 split whose training part hardly moves joint 2: the prior holds it, and no error is 58 N m."""
    robot, log = read("ur10, first part")
    for split in ("path:first:0.6", "path:last:0.6"):
        fit = cp.calibrate(robot, log, split=split, findings=())
        assert fit.prior == "CAD values of ur10"
        assert fit.heldout_rms[1] < 10.0
