"""Without an extra: what needs it says which to install, before any work; all else works."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.cli.self_check import EXTRAS
from counterpoise.tasks import TaughtPath, write_path
from library.bag_writers import arm_messages, write_bag
from library.docs_material import write_material

RUN = """
import json, sys
for name in json.loads(sys.argv[1]):
    sys.modules[name] = None  # as if it were not installed
from click.testing import CliRunner
from counterpoise.cli.main import main
told = {}
for line in json.loads(sys.argv[2]):
    result = CliRunner().invoke(main, line.split())
    raised = result.exception
    odd = "" if raised is None or isinstance(raised, SystemExit) else repr(raised)
    told[line] = [result.exit_code, result.output + odd]
print(json.dumps(told))
"""
SIM = (
    "simulate wam7",
    "record wam7 --poses poses.csv --out new.npz",
    "tune puma550 --law pd --joint joint1",
    "track wam7",
    "float wam7",
    "teach wam7 --demo --out new.path.csv",
    "replay wam7 loop.path.csv",
    "reproduce morel-fig11 --seeds 1 --jobs 1",
    "tour --no-page",
    "load arm.xml",
)
REPORT = (
    "simulate wam7 --page new.html",
    "calibrate arm.urdf run.csv --page new.html",
    "verify arm.urdf none.json run.csv --page new.html",
    "doctor run.csv --robot arm.urdf --page new.html",
    "estimate run.csv --robot arm.urdf --page new.html",
    "track run.csv --robot arm.urdf --page new.html",
    "replay wam7 loop.path.csv --page new.html",
    "reproduce morel-fig4 --page new.html",
    "tour",
)
PARQUET = (
    "doctor run.parquet --robot arm.urdf",
    "calibrate arm.urdf run.parquet",
    "estimate run.csv --robot arm.urdf --out new.parquet",
)
NEEDED = (
    *(("sim", "mujoco", line) for line in (*SIM, "view wam7 --duration 1")),
    *(("report", module, line) for module in ("jinja2", "plotly") for line in REPORT),
    *(("view", module, "view wam7 --duration 1") for module in ("viser", "trimesh")),
    *(("parquet", "pyarrow", line) for line in PARQUET),
    *(("ros", "lz4.frame", line) for line in ("doctor lz4.mcap", "doctor lz4.bag")),
    *(("ros", EXTRAS["ros"][0][1], line) for line in ("doctor zstd.mcap", "doctor zstd")),
    ("xacro", "xacrodoc", "load arm.urdf.xacro --allow-xacro"),
)
"""Extra, a module of it, and a command line that needs it."""
CORE = (
    "catalog",
    "load arm.urdf",
    "gravity wam7 0 -0.5 0 1.2 0 0 0",
    "gravity arm.urdf --csv poses.csv --out torques.csv",
    "poses wam7 --out plan.toml",
    "calibrate arm.urdf run.csv --out arm.calibration.json",
    "verify arm.urdf arm.calibration.json later.csv",
    "doctor later.csv --robot arm.urdf",
    "estimate run.csv --robot arm.urdf --calibrate-sensor",
    "track run.csv --robot arm.urdf",
    "doctor --self",
    "reproduce --list",
    "completion bash",
    "tune puma550 --law pd --joint joint1 --alone",
)
"""Command lines that need no extra."""
BAGS = {"lz4.mcap": "mcap-lz4", "lz4.bag": "ros1-lz4", "zstd.mcap": "mcap-zstd", "zstd": "db3-message-zstd"}
OPTIONAL = sorted({*(module for modules, _ in EXTRAS.values() for module in modules), "pinocchio", "matplotlib"})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a robot, recordings of it in every format, a path and poses."""
    for module in ("pyarrow", "mcap", "rosbags"):
        pytest.importorskip(module, reason="writes the recordings that are read here")
    made = tmp_path_factory.mktemp("extras")
    write_material(made)
    for name, kind in BAGS.items():
        write_bag(made / name, kind, arm_messages(200, kind))
    rest = TaughtPath.of(cp.load("wam7"), np.linspace(0.0, 2.0, 40), np.zeros((40, 7)), name="rest")
    write_path(rest, made / "loop.path.csv")
    (made / "arm.xml").write_text("<mujoco><worldbody/></mujoco>")
    shutil.copy(made / "arm.urdf", made / "arm.urdf.xacro")
    return made


def told(hidden: Iterable[str], lines: Iterable[str], folder: Path) -> dict[str, tuple[int, str]]:
    """Run command lines in a process that lacks modules; return exit code and output of each."""
    result = subprocess.run(
        [sys.executable, "-c", RUN, json.dumps(list(hidden)), json.dumps(list(lines))],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, "COLUMNS": "100"},
    )
    assert result.returncode == 0, result.stderr
    return {line: (code, output) for line, (code, output) in json.loads(result.stdout.splitlines()[0]).items()}


@pytest.mark.parametrize(("extra", "module"), sorted({(extra, module) for extra, module, _ in NEEDED}))
def test_a_missing_extra_names_itself(extra: str, module: str, folder: Path) -> None:
    """Each command that needs it ends with one error that says what to install, and writes nothing."""
    lines = [line for of, needs, line in NEEDED if (of, needs) == (extra, module)]
    for line, (code, output) in told([module], lines, folder).items():
        assert code == 1 and f"pip install 'counterpoise[{extra}]'" in output, f"{line}: {code}\n{output}"
    assert not list(folder.glob("new.*"))


def test_every_extra_is_asked_for() -> None:
    """The list above leaves out no module that an extra brings."""
    assert {(extra, module) for extra, module, _ in NEEDED} == {
        (extra, module) for extra, (modules, _) in EXTRAS.items() for module in modules
    }


def test_the_core_works_alone(folder: Path) -> None:
    """With the core's libraries only: robots, gravity, calibration from CSV, doctor, plate, payload."""
    for line, (code, output) in told(OPTIONAL, CORE, folder).items():
        assert code == 0, f"{line}: {code}\n{output}"


def test_functions_say_it_too() -> None:
    """In Python it is a MissingExtraError, which tells the extra and is an ImportError to those who expect one."""
    code = (
        "import sys; sys.modules['mujoco'] = None; import counterpoise as cp\n"
        "from counterpoise.plants import preset\n"
        "try: preset('wam7').arm()\n"
        "except cp.errors.MissingExtraError as error: print(error.extra, isinstance(error, ImportError))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).split() == ["sim", "True"]
