"""Running commands in the test's own process, and a small URDF to run them on."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from counterpoise import tasks
from counterpoise.cli.main import main

Run = Callable[..., Result]
RunJson = Callable[..., Any]

# A base with a side frame, a tilted continuous joint, a finger and its twin that mimics it.
URDF = """<robot name="test arm">
  <link name="base"><inertial><mass value="2"/>{inertia}</inertial></link>
  <link name="camera"/>
  <link name="upper"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>{inertia}</inertial></link>
  <link name="finger"><inertial><mass value="0.1"/>{inertia}</inertial></link>
  <link name="twin"><inertial><mass value="0.2"/>{inertia}</inertial></link>
  <joint name="mount" type="fixed"><parent link="base"/><child link="camera"/></joint>
  <joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/><axis xyz="0 -0.6 0.8"/></joint>
  <joint name="grip" type="prismatic"><parent link="upper"/><child link="finger"/><axis xyz="0 0 1"/>
    <limit lower="0" upper="0.05" effort="20" velocity="0.1"/></joint>
  <joint name="twin_grip" type="prismatic"><parent link="upper"/><child link="twin"/><axis xyz="0 0 -1"/>
    <limit lower="0" upper="0.05" effort="20" velocity="0.1"/><mimic joint="grip" multiplier="2"/></joint>
</robot>
""".format(inertia='<inertia ixx="1e-3" ixy="0" ixz="0" iyy="1e-3" iyz="0" izz="1e-3"/>')


@pytest.fixture
def run() -> Run:
    """Run a command line and return its result; stdout and stderr are kept apart."""
    split = {"mix_stderr": False} if "mix_stderr" in inspect.signature(CliRunner).parameters else {}
    runner = CliRunner(**split)

    def invoke(*arguments: object, **settings: Any) -> Result:
        result = runner.invoke(main, [str(argument) for argument in arguments], **settings)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return invoke


@pytest.fixture
def run_json(run: Run) -> RunJson:
    """Run a command line with --json, and return its document after checking the exit code."""

    def invoke(*arguments: object, exit_code: int = 0, **settings: Any) -> Any:
        result = run(*arguments, "--json", **settings)
        assert result.exit_code == exit_code, result.output
        return json.loads(result.stdout, parse_constant=refuse)

    return invoke


def refuse(constant: str) -> None:
    """Fail on NaN, Infinity and -Infinity, which are no JSON."""
    raise AssertionError(f"{constant} is not JSON")


@pytest.fixture(scope="module")
def creeping_twice() -> Iterator[None]:
    """Before an arm floats, the check creeps to either side twice, the least it may, instead of three times."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tasks, "FloatSettings", partial(tasks.FloatSettings, repeats=2))
        yield


@pytest.fixture
def urdf(tmp_path: Path) -> Path:
    """A URDF of two independent joints, one of them mimicked."""
    path = tmp_path / "arm.urdf"
    path.write_text(URDF)
    return path
