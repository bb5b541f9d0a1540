"""Exit codes mean the same for every command; what needs an arm in motion is tested with its command."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.cli.main import main
from counterpoise.fitting import static_poses
from counterpoise.identification import design_poses
from library.analytic_log import moving_log
from library.calibration_data import motion, other_masses, visits

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
CASES = [
    ("catalog", 0),
    ("catalog --bogus", 2),
    ("load planar3", 0),
    ("load nothing", 1),
    ("load", 2),
    ("load suspicious.urdf --strict", 1),
    ("load suspicious.urdf", 0),
    ("gravity planar3 0 0.5 0", 0),
    ("gravity nothing 0 0.5 0", 1),
    ("gravity planar3 0 0.5 0 --payload-link link3", 2),
    ("poses planar3 --count 4", 0),
    ("poses nothing", 1),
    ("poses planar3 --count none", 2),
    ("doctor good.npz --robot planar3", 0),
    ("doctor absent.npz", 1),
    ("doctor", 2),
    ("doctor reversed.npz --robot planar3", 3),
    ("doctor --self", 0),
    ("calibrate planar3 poses.npz", 0),
    ("calibrate planar3 absent.npz", 1),
    ("calibrate planar3", 2),
    ("calibrate planar3 small.npz --for float,extrapolate", 3),
    ("verify planar3 arm.calibration.json later.npz", 0),
    ("verify wam7 arm.calibration.json later.npz", 1),
    ("verify planar3 arm.calibration.json", 2),
    ("verify planar3 arm.calibration.json heavy.npz", 3),
    ("export planar3 --calibration arm.calibration.json --out arm.urdf", 0),
    ("export nothing --out arm.urdf", 1),
    ("export planar3", 2),
    ("export planar3 --calibration noise.calibration.json --out noise.urdf", 3),
    ("estimate plate.npz --robot puma560", 0),
    ("estimate good.npz --robot planar3", 1),
    ("estimate plate.npz", 2),
    ("estimate turned.npz --robot puma560", 3),
    ("wrist puma560 absent.csv --link link6", 1),
    ("wrist puma560", 2),
    ("track good.npz --robot planar3", 0),
    ("track absent.npz --robot planar3", 1),
    ("track", 2),
    ("reproduce --list", 0),
    ("reproduce nothing", 1),
    ("reproduce --list morel-fig4", 2),
    ("bench --quick --robot nothing", 1),
    ("bench --bogus", 2),
    ("completion bash", 0),
    ("completion dos", 2),
    ("simulate wam7 --law nothing", 2),
    ("simulate nothing", 1),
    ("record nothing --poses absent.toml --out run.npz", 1),
    ("record planar3", 2),
    ("float nothing", 1),
    ("float planar3 --bogus", 2),
    ("teach nothing --demo --out x.path.csv", 1),
    ("teach wam7 --out x.path.csv", 2),
    ("replay wam7 absent.csv", 1),
    ("replay wam7", 2),
    ("tune nothing --law pd", 1),
    ("tune puma550", 2),
    ("tour --bogus", 2),
    ("view --replay absent.csv nothing", 1),
    ("view", 2),
]
SUSPICIOUS = """<robot name="odd"><link name="base"/>
  <link name="arm"><inertial><mass value="1"/>
    <inertia ixx="9" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint></robot>"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recordings and calibrations, good and bad, of a planar arm; a PUMA on a plate."""
    made = tmp_path_factory.mktemp("codes")
    arm = cp.load("planar3")
    truth, random = other_masses(arm), np.random.default_rng(0)
    cp.write_log(visits(truth, design_poses(arm, 8), friction=0.4, noise=0.02), made / "poses.npz")
    later = design_poses(arm, 6, seed=4)
    cp.write_log(visits(truth, later, friction=0.4, noise=0.02, seed=1), made / "later.npz")
    heavy = truth.with_payload(1.5, com=(0.2, 0.0, 0.0))
    cp.write_log(visits(heavy, later, friction=0.4, noise=0.02, seed=1), made / "heavy.npz")
    cp.calibrate(arm, cp.read_log(made / "poses.npz", arm)).save(made / "arm.calibration.json")
    cp.write_log(motion(truth, noise=0.1, size=0.15), made / "small.npz")
    few = design_poses(arm, 6)[:4]
    noise = static_poses(arm.joint_names, few, arm.gravity(few) + random.normal(0.0, 5.0, few.shape))
    cp.calibrate(arm, noise).save(made / "noise.calibration.json").rename(made / "noise.calibration.json")
    log = moving_log(arm)
    cp.write_log(replace(log, wrench=None), made / "good.npz")
    cp.write_log(replace(log, tau=-log.tau, wrench=None), made / "reversed.npz")
    plate = moving_log(cp.load("puma560"))
    cp.write_log(plate, made / "plate.npz")
    cp.write_log(replace(plate, wrench=-plate.wrench), made / "turned.npz")
    (made / "suspicious.urdf").write_text(SUSPICIOUS)
    return made


@pytest.mark.parametrize(("line", "code"), CASES, ids=[line for line, _ in CASES])
def test_exit_codes(line: str, code: int, folder: Path, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """0: done, and it holds; 1: an error; 2: a wrong command line; 3: done, and the result is not trusted."""
    monkeypatch.chdir(folder)
    result = run(*line.split())
    assert result.exit_code == code, result.output
    assert ("error: " in result.stderr) == (code == 1)
    if code in (0, 3):
        assert result.stdout or "written to" in result.stderr


def test_every_command_is_tried() -> None:
    """Each of them with a wrong command line or an error at least."""
    assert {line.split()[0] for line, _ in CASES} == set(main.commands)


def test_the_table_of_exit_codes_has_every_command(run: Any) -> None:
    """It says what 0, 1 and 3 are; a command that may end with 3 says so in its help; the program's help names it."""
    table = (REFERENCE / "command-line.md").read_text(encoding="utf-8").partition("\n## Exit codes\n")[2]
    rows = re.findall(
        r"^\| \[`(\w+)`\]\(#\w+\) \| (.*?) \| (.*?) ?\| (.*?) ?\|$", table.partition("\n## ")[0], re.MULTILINE
    )
    assert sorted(name for name, *_ in rows) == sorted(main.commands)
    meanings = page_maker().exit_meanings
    for name, done, _, not_trusted in rows:
        told = meanings(main.commands[name])
        assert told[0] == done and told.get(3, "") == not_trusted and {0, 1, 2} <= set(told)
    assert "docs/reference/command-line.md#exit-codes" in run("--help").stdout


def test_what_may_end_with_3_says_so() -> None:
    """A case above ends with 3 only where the help has a meaning for it."""
    meanings = page_maker().exit_meanings
    for line, code in CASES:
        assert code in meanings(main.commands[line.split()[0]]), line


def page_maker() -> ModuleType:
    """Return the script that writes the page."""
    spec = importlib.util.spec_from_file_location("make_command_line", REFERENCE / "make_command_line.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
