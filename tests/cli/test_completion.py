"""Shell completion: the scripts, and what is proposed where."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from click.shell_completion import ShellComplete

from counterpoise.cli.completion import PROGRAM, SHELLS, VARIABLE
from counterpoise.cli.main import main


def proposed(*words: str) -> tuple[list[str], bool]:
    """Return the names proposed for the last word, and whether the shell is asked for files."""
    items = ShellComplete(main, {}, PROGRAM, VARIABLE).get_completions(list(words[:-1]), words[-1])
    return [item.value for item in items if item.type == "plain"], any(item.type == "file" for item in items)


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_gets_a_script_of_its_own(run, shell):
    """The script calls the program with the variable that click looks for."""
    result = run("completion", shell)
    assert result.exit_code == 0
    assert VARIABLE in result.stdout and f"{shell}_complete" in result.stdout


@pytest.mark.parametrize(
    ("shell", "options", "before", "registered"),
    [
        ("bash", "--norc", "", "complete -p counterpoise"),
        ("zsh", "-f", "autoload -Uz compinit; compinit -D", "print $_comps[counterpoise]"),
        ("fish", "--no-config", "", "complete --command counterpoise"),
    ],
)
def test_the_shell_reads_its_script(run, shell, options, before, registered):
    """The script is one that the shell can read, and it registers the program."""
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"there is no {shell}")
    lines = f"{before}\n{run('completion', shell).stdout}\n{registered}"
    done = subprocess.run([program, options, "-c", lines], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "counterpoise" in done.stdout, done.stderr


def test_fish_completes_a_line_with_whole_descriptions(run, tmp_path):
    """The program is asked, and a description goes on after its first comma."""
    fish = shutil.which("fish")
    if fish is None:
        pytest.skip("there is no fish")
    program = tmp_path / PROGRAM
    program.write_text(f"#!/bin/sh\nexec {sys.executable} -m counterpoise\n")
    program.chmod(0o755)
    environment = os.environ | {
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    lines = f"{run('completion', 'fish').stdout}\ncomplete -C 'counterpoise calibrate --ser'"
    done = subprocess.run(
        [fish, "--no-config", "-c", lines], capture_output=True, text=True, check=False, env=environment
    )
    assert done.stdout.strip() == "--serial\tSerial number of the arm, for the file.", done.stderr


def test_another_shell_is_refused(run):
    """A shell that click does not know is a wrong command line."""
    assert run("completion", "tcsh").exit_code == 2


@pytest.mark.parametrize(
    ("words", "names", "files"),
    [
        (("cal",), ["calibrate"], False),
        (("gravity", "wam"), ["wam4", "wam7"], True),
        (("float", "wam7:"), ["wam7:ground", "wam7:plate"], False),
        (("simulate", "titan2:f"), ["titan2:flow-valve"], False),
        (("view", "puma560_"), ["puma560_akb"], True),
        (("view", "puma550:5"), ["puma550:50Hz"], True),
        (("catalog", "pen"), ["pendulum"], False),
        (("reproduce", "jo"), ["jo-2018"], False),
        (("calibrate", "wam7", "run"), [], True),
        (("verify", "wam7", "arm"), [], True),
        (("calibrate", "wam7", "run.csv", "--tool", ""), [], False),
        (("doctor", "run.csv", "--robot", "sca"), ["scara"], True),
        (("tune", "puma550", "--law", "bsc"), ["bsc", "bsc-p"], False),
    ],
)
def test_names_and_files(words, names, files):
    """Bundled and simulated arms, experiments, choices; files where a file may stand."""
    assert proposed(*words) == (names, files)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("float", "wam7:plate", "--lock", ""), [f"joint{number}" for number in range(1, 8)]),
        (("simulate", "--joint", "joint6"), ["joint6"]),
        (("gravity", "wam7", "--payload-link", "tool"), ["toolplate"]),
        (("track", "run.csv", "--robot", "planar3", "--payload-link", "no"), []),
        (("float", "--lock", ""), []),
        (("gravity", "missing.urdf", "--payload-link", ""), []),
        (("gravity", "arm.xacro", "--payload-link", ""), []),
    ],
)
def test_joints_and_links_of_the_arm_on_the_line(words, expected):
    """They are those of the arm that stands before; where there is none that can be read, nothing is proposed."""
    assert proposed(*words) == (expected, False)
