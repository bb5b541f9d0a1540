"""Rotor inertias on the command line: stated, unknown, asked about, measured."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import counterpoise as cp
from counterpoise.cli import plant as commands
from counterpoise.cli.main import main
from counterpoise.cli.source import stated_rotors
from library.ideal_arm import IdealArm
from library.two_link_arm import two_links


def test_numbers_and_names_are_read() -> None:
    """One per joint, or some by name; a name may hold an equals sign."""
    robot = cp.load("planar3")
    assert stated_rotors("0.1, 0.2,3e-1", robot) == [0.1, 0.2, 0.3]
    assert stated_rotors("joint1=0.1,joint3=0", robot) == {"joint1": 0.1, "joint3": 0.0}
    assert stated_rotors("a=b=2", robot) == {"a=b": 2.0}


@pytest.mark.parametrize("text", ["", "a", "joint1=", "joint1=x", "joint1=1,2", "joint1=1,joint1=2", "1,,2"])
def test_nonsense_is_a_usage_error(text: str) -> None:
    """With the text."""
    with pytest.raises(click.UsageError, match="--rotor-inertia"):
        stated_rotors(text, cp.load("planar3"))


def test_load_shows_what_is_unknown(tmp_path: Path) -> None:
    """In the table and as null; stated, it is shown."""
    two_links(tmp_path)
    path = str(tmp_path / "two_links.urdf")
    assert "unknown" in CliRunner().invoke(main, ["load", path]).output
    told = json.loads(CliRunner().invoke(main, ["load", path, "--json", "--rotor-inertia", "joint2=0.5"]).output)
    assert [joint["rotor_inertia"] for joint in told["joints"]] == [None, 0.5]


def test_simulated_arms_bring_their_rotors() -> None:
    """Stating them is refused."""
    ran = CliRunner().invoke(main, ["float", "wam7", "--rotor-inertia", "1,1,1,1,1,1,1"])
    assert ran.exit_code == 2 and "--rotor-inertia" in ran.output


def driven(robot: cp.Robot, simulated: bool) -> commands.Driven:
    return commands.Driven("arm", simulated, IdealArm(robot), robot, None)


class Terminal:
    """A standard input that is a terminal, or is none."""

    def __init__(self, there: bool) -> None:
        self._there = there

    def isatty(self) -> bool:
        return self._there


@pytest.mark.parametrize(
    ("choice", "simulated", "terminal", "answer", "asked", "measures"),
    [
        (None, False, True, True, True, True),
        (None, False, True, False, True, False),
        (None, False, False, False, False, True),
        (None, True, True, False, False, True),
        (True, False, True, False, False, True),
        (False, False, True, True, False, False),
    ],
)
def test_pulses_are_announced_and_asked_about(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    choice: bool | None,
    simulated: bool,
    terminal: bool,
    answer: bool,
    asked: bool,
    measures: bool,
) -> None:
    """Asked at a terminal before a real arm is switched on; said on stderr in any case."""
    questions: list[str] = []
    monkeypatch.setattr(commands.sys, "stdin", Terminal(terminal))
    monkeypatch.setattr(commands.click, "confirm", lambda text, **_: questions.append(text) or answer)
    settings = driven(two_links(tmp_path), simulated).rotors(choice)
    assert settings["measure_rotors"] is measures and bool(questions) is asked
    said = capsys.readouterr().err
    assert ("torque pulses" in said) is (choice is not False)
    assert ("no pulses" in said) is (not measures)


def test_nothing_is_asked_where_all_is_known(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nor where the unknown joints are locked."""
    monkeypatch.setattr(commands.sys, "stdin", Terminal(True))
    robot = cp.load("planar3")
    driven(robot, False).rotors(None)
    driven(robot.with_rotor_inertia({"joint2": None}), False).rotors(None, ["joint2"])
    assert capsys.readouterr().err == ""


def test_record_measures_prints_and_tells_the_option(tmp_path: Path) -> None:
    """A simulated arm whose rotors are kept from the model."""
    pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    poses, out = tmp_path / "poses.csv", tmp_path / "run.npz"
    poses.write_text("joint1,joint2,joint3,joint4,joint5,joint6\n0.02,0.78,-3.1,0.03,0.78,0.03\n")
    given = ["record", "puma550", "--poses", str(poses), "--out", str(out), "--dwell", "0.1", "--unknown-rotors"]
    ran = CliRunner().invoke(main, [*given, "--json"])
    assert ran.exit_code == 0, ran.output
    told = json.loads(ran.stdout)["inertias"]
    measured = [joint["joint"] for joint in told["joints"] if not joint["reason"]]
    assert len(measured) >= 4
    assert told["option"].startswith("--rotor-inertia ") and all(f"{name}=" in told["option"] for name in measured)
    assert "torque pulses" in ran.stderr
    text = told["option"].removeprefix("--rotor-inertia ")
    assert cp.load("puma560").with_rotor_inertia(stated_rotors(text, cp.load("puma560"))).rotor_inertia_known.all()
