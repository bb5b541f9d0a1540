"""The plant protocol, the plate's description, and plants of other packages."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.control import plant as plants
from counterpoise.control.gravity import Gravity
from counterpoise.control.plant import Plant, PlateInfo, installed_plants, make_plant
from counterpoise.errors import InputError
from library.ideal_arm import IdealArm


def make_pendulum(dt: float) -> IdealArm:
    """What another package could register."""
    return IdealArm(cp.load("pendulum"), dt=dt)


class FakeTime:
    """Time that moves by sleeping alone: a busy machine does not look like a dead bus."""

    now = 0.0

    def perf_counter(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def register(monkeypatch: pytest.MonkeyPatch, **points: str) -> None:
    found = [EntryPoint(name, value, plants.ENTRY_POINTS) for name, value in points.items()]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: found if group == plants.ENTRY_POINTS else [])


def test_plants_of_other_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plant is found by its entry point and made with its options."""
    register(
        monkeypatch,
        mine="library.ideal_arm:IdealArm",
        broken="no_such_module:X",
        absent="library.ideal_arm:Nothing",
        not_one="json:dumps",
        no_port="builtins:open",
    )
    assert set(installed_plants()) == {"mine", "broken", "absent", "not_one", "no_port"}
    made = make_plant("mine", robot=cp.load("pendulum"), dt=2e-3)
    assert isinstance(made, Plant)
    assert made.dt == 2e-3
    with pytest.raises(InputError, match=r"no installed package registers a plant 'his'.*absent, broken, mine"):
        make_plant("his")
    for name in ("broken", "absent"):
        with pytest.raises(InputError, match="cannot be loaded"):
            make_plant(name)
    with pytest.raises(InputError, match=r"is no plant; it lacks .*joint_names.*emergency_stop"):
        make_plant("not_one", obj=1)
    with pytest.raises(InputError, match=r"cannot be made with file: FileNotFoundError"):
        make_plant("no_port", file="no such port")
    with pytest.raises(InputError, match=r"cannot be made with speed: TypeError"):
        make_plant("mine", speed=1)
    with pytest.raises(cp.CounterpoiseError, match="no robot"):  # our own errors go through
        register(monkeypatch, mine="counterpoise:load")
        make_plant("mine", source="no robot")


def test_one_name_for_two_plants_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which of two arms would move must not depend on the order of packages; the same one found twice is fine."""
    points = [EntryPoint("arm", value, plants.ENTRY_POINTS) for value in ("a:A", "a:A", "b:B")]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: points[:2])
    assert list(installed_plants()) == ["arm"]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: points)
    with pytest.raises(InputError, match=r"'arm' is registered twice, as a:A and b:B"):
        make_plant("arm")


def test_the_documented_plant_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The class in docs/plants.md, installed as its pyproject says, is found, holds the protocol and can be driven."""
    text = (Path(__file__).parents[2] / "docs" / "plants.md").read_text(encoding="utf-8")
    code, project = (re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL) for kind in ("python", "toml"))
    (tmp_path / "my_arm.py").write_text(code[0], encoding="utf-8")
    group, entry = re.findall(r'entry-points\."(.*?)"\]\n(.*)\n', project[0])[0]
    about = tmp_path / "my_arm-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: my-arm\nVersion: 1.0\n", encoding="utf-8")
    (about / "entry_points.txt").write_text(f"[{group}]\n{entry.replace(chr(34), '')}\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "my_arm", raising=False)
    monkeypatch.setattr(import_module("my_arm"), "time", FakeTime())
    robot = cp.load("pendulum")
    plant = make_plant("my-arm", robot=robot, port="can0")
    assert isinstance(plant, Plant)
    with plant:
        report = cp.ControlLoop(plant, Gravity(robot), robot).run(0.05)
    assert report.end.value == "completed"
    assert report.ticks > 50


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
