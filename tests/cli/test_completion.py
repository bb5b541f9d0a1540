"""Shell completion: the scripts, and what is proposed where."""

from __future__ import annotations

import shutil
import subprocess

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


def test_bash_reads_the_script(run):
    """The script is one that bash can read, and it registers the program."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash")
    script = run("completion", "bash").stdout
    done = subprocess.run(
        [bash, "--norc", "-c", f"{script}\ncomplete -p counterpoise"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and "counterpoise" in done.stdout, done.stderr


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
