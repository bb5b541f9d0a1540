"""The plant protocol, the plate's description, and plants of other packages."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from typing import Any

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.control import plant as plants
from counterpoise.control.plant import Plant, PlateInfo, installed_plants, make_plant
from counterpoise.errors import InputError
from ideal_arm import IdealArm


def make_pendulum(period: float) -> IdealArm:
    """What another package could register."""
    return IdealArm(cp.load("pendulum"), period=period)


def register(monkeypatch: pytest.MonkeyPatch, **points: str) -> None:
    found = [EntryPoint(name, value, plants.ENTRY_POINTS) for name, value in points.items()]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: found if group == plants.ENTRY_POINTS else [])


def test_plants_of_other_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plant is found by its entry point and made with its options."""
    register(
        monkeypatch,
        mine="ideal_arm:IdealArm",
        broken="no_such_module:X",
        absent="ideal_arm:Nothing",
        not_one="json:dumps",
    )
    assert set(installed_plants()) == {"mine", "broken", "absent", "not_one"}
    made = make_plant("mine", robot=cp.load("pendulum"), period=2e-3)
    assert isinstance(made, Plant)
    assert made.period == 2e-3
    with pytest.raises(InputError, match=r"no installed package registers a plant 'his'.*absent, broken, mine"):
        make_plant("his")
    for name in ("broken", "absent"):
        with pytest.raises(InputError, match="cannot be loaded"):
            make_plant(name)
    with pytest.raises(InputError, match=r"is no plant; it lacks .*joint_names.*emergency_stop"):
        make_plant("not_one", obj=1)


def test_none_installed() -> None:
    """This package registers none; the message says so."""
    with pytest.raises(InputError, match="installed: "):
        make_plant("no such plant")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"reads": "upwards"}, "reads"),
        ({"T_base_sensor": np.eye(3)}, "T_base_sensor"),
        ({"T_base_sensor": np.full((4, 4), np.nan)}, "finite"),
        ({"range": np.ones(3)}, "range"),
        ({"range": np.zeros(6)}, "range"),
    ],
)
def test_plate_is_checked(change: dict[str, Any], words: str) -> None:
    """Convention, pose and range must make sense; the arrays are frozen."""
    good: dict[str, Any] = {"reads": "on_sensor", "T_base_sensor": np.eye(4), "range": np.full(6, np.inf)}
    info = PlateInfo(**good)
    assert not info.range.flags.writeable
    with pytest.raises(InputError, match=words):
        PlateInfo(**(good | change))
