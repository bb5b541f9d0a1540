"""The group: help, version, start-up, errors and exit codes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import counterpoise

COMMANDS = ("catalog", "load", "gravity", "simulate", "poses", "record", "calibrate", "verify", "bench")


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=environment, check=False)


def test_version(run):
    result = run("--version")
    assert result.exit_code == 0
    assert counterpoise.__version__ in result.stdout


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_lists_every_command_with_examples_and_exit_codes(run, flag):
    result = run(flag)
    assert result.exit_code == 0
    for word in (*COMMANDS, "Examples:", "Exit codes:"):
        assert word in result.stdout


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_of_each_command_has_examples_and_json(run, command, flag):
    result = run(command, flag)
    assert result.exit_code == 0
    assert "Examples:\n    counterpoise" in result.stdout  # kept as written, not rewrapped
    assert "--json" in result.stdout


def test_our_error_is_one_line_on_stderr_with_exit_code_1(run):
    result = run("load", "wam77")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("error: no bundled arm is called 'wam77'; did you mean 'wam7'?")
    assert result.stderr.count("\n") == 1


def test_our_error_as_json_on_stdout(run, run_json):
    document = run_json("load", "wam77", exit_code=1)
    assert document["error"]["kind"] == "InputError"
    assert "did you mean 'wam7'" in document["error"]["message"]
    assert document["error"]["path"] is None and document["error"]["line"] is None
    assert run("load", "wam77", "--json").stderr == ""


def test_error_in_a_file_carries_path_and_line(run_json, urdf):
    urdf.write_text(urdf.read_text().replace('mass value="1"', 'mass value="-1"'))
    error = run_json("load", urdf, exit_code=1)["error"]
    assert error["kind"] == "PhysicalConsistencyError"
    assert error["path"] == str(urdf)
    assert error["line"] == 4
    assert error["message"].startswith(f"{urdf}:4: link 'upper'")


@pytest.mark.parametrize(
    "arguments",
    [
        ("load",),
        ("load", "wam7", "--bogus"),
        ("gravity", "wam7", "--bogus"),
        ("nonsense",),
        ("bench", "--robot", "wam7", "x"),
    ],
)
def test_wrong_command_line_is_exit_code_2(run, arguments):
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Usage: " in result.stderr and "Error: " in result.stderr


def test_wrong_command_line_with_json_is_json_and_exit_code_2(run_json):
    error = run_json("load", "wam7", "--bogus", exit_code=2)["error"]
    assert error["kind"] == "UsageError"
    assert "--bogus" in error["message"]


def test_control_characters_of_a_file_never_reach_the_terminal(run, tmp_path):
    catalog = Path(counterpoise.__file__).parent / "description" / "bundled"
    text = (catalog / "pendulum.toml").read_text()
    file = tmp_path / "hostile.toml"
    file.write_text(text.replace('name = "joint1"', 'name = "\\u001b[31m[bold]evil"'))
    for result in (run("load", file), run("gravity", file), run("gravity", file, "1", "x,y")):
        assert "\x1b" not in result.stdout + result.stderr
    assert "\\x1b[31m[bold]evil" in run("load", file).stdout  # escaped, and not read as markup


def test_module_runs_as_a_program():
    result = python("-m", "counterpoise", "--version")
    assert result.returncode == 0
    assert result.stdout.startswith("counterpoise, version ")


def test_starting_up_imports_neither_rich_nor_the_peers():
    heavy = "{'rich', 'pinocchio', 'mujoco', 'scipy', 'xacro'} & set(sys.modules)"
    result = python("-c", f"import sys, counterpoise.cli.main; print(sorted({heavy}))")
    assert result.stdout.strip() == "[]", result.stderr


def test_output_survives_a_terminal_without_unicode():
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "PYTHONIOENCODING": "ascii",
    }
    command = [sys.executable, "-m", "counterpoise", "load", "pendulum"]
    result = subprocess.run(command, capture_output=True, env=environment, check=False)
    assert result.returncode == 0, result.stderr
    assert b"3.500 kg" in result.stdout
