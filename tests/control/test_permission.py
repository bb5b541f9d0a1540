"""What must be true before a plant may be driven. Gravity twice and plants without a watchdog: see test_loop."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.control.gravity import Gravity
from counterpoise.control.loop import ControlLoop
from counterpoise.control.plant import PlateInfo
from counterpoise.control.safety import SafetyFilter
from counterpoise.errors import InputError
from library.ideal_arm import IdealArm

PUMA = cp.load("puma560")


@pytest.mark.parametrize(
    ("name", "value"), [("stop", "Brake"), ("effort_kind", "Nm"), ("adds_gravity", None), ("adds_gravity", "no")]
)
def test_declarations_without_a_meaning_are_refused(name: str, value: Any) -> None:
    """A misspelt "brake" would let the arm down, a misspelt "torque" would drop it at the start."""
    arm = IdealArm(PUMA)
    setattr(arm, name, value)
    with pytest.raises(InputError, match=f"the plant's {name} is {value!r}; expected"):
        ControlLoop(arm, Gravity(PUMA), PUMA)


@pytest.mark.parametrize(("watchdog", "words"), [(math.inf, "no watchdog"), (math.nan, "shorter"), (0.0, "shorter")])
def test_watchdog_that_never_acts_is_none(watchdog: float, words: str) -> None:
    """A driver that declares an endless watchdog has none."""
    arm = IdealArm(PUMA)
    arm.watchdog = watchdog
    with pytest.raises(cp.SafetyError, match=words):
        ControlLoop(arm, Gravity(PUMA), PUMA)


@pytest.mark.parametrize("name", ["effort_limit", "velocity_limit", "lower", "upper"])
def test_filter_wider_than_the_plant_is_refused(name: str) -> None:
    """None of the plant's limits is exceeded, also by a filter that was made without it."""
    safety = SafetyFilter(PUMA, dt=1e-3)
    ControlLoop(IdealArm(PUMA), Gravity(PUMA), PUMA, safety=safety)
    arm = IdealArm(PUMA)
    setattr(arm, name, 0.9 * getattr(arm, name))
    with pytest.raises(InputError, match=r"limit exceeds the plant's; make the filter with plant="):
        ControlLoop(arm, Gravity(PUMA), PUMA, safety=safety)


def test_filter_that_does_not_know_the_plate_is_refused() -> None:
    """It would not see a saturated plate."""
    arm = IdealArm(PUMA, plate=PlateInfo("on_robot", np.eye(4), np.full(6, 100.0)))
    with pytest.raises(InputError, match="range of the plant's plate"):
        ControlLoop(arm, Gravity(PUMA), PUMA, safety=SafetyFilter(PUMA, dt=1e-3))
    ControlLoop(arm, Gravity(PUMA), PUMA, safety=SafetyFilter(PUMA, plant=arm))
