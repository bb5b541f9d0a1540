"""``counterpoise float``: the check's table, the push that shows it floats, refusals and exit codes."""

from __future__ import annotations

import pytest

import counterpoise as cp
from counterpoise.cli.floating import parsed
from counterpoise.control import plant as plant_room
from counterpoise.plants.simulated import SimulatedArm
from floating_arms import PLANAR, planar

pytest.importorskip("mujoco", reason="MuJoCo is not installed")


def test_a_preset_floats_and_is_pushed_once(run, tmp_path):
    """The check's table, the push and what came of it; the recording is written."""
    out = tmp_path / "float.npz"
    result = run("float", "wam7", "--share", 0.7, "--log", out)
    assert result.exit_code == 0, result.output
    for word in ("what holding takes", "joint2", "toolplate", "mm", "Floated 7.4 s; done."):
        assert word in result.stdout
    log = cp.read_log(out, cp.load("wam7"))
    assert log.time[-1] - log.time[0] > 7.0


def test_pushes_locks_and_the_report_as_json(run_json):
    """What is scripted happens, to the joints that are not locked; after it the arm stays within 1 mm."""
    document = run_json(
        "float", "puma550", "--share", 0.5, "--lock", "joint1", "--push", "link6,0,0,25,0.4", "--damping", 5
    )
    assert document["end"] == "done" and document["floated"] and document["check"]["passed"]
    assert document["locked"] == ["joint1"] and "joint1" not in [each["joint"] for each in document["check"]["joints"]]
    assert document["travel"][0] < 0.01 < max(document["travel"][1:3])
    (push,) = document["pushes"]
    assert push["force"] == [0.0, 0.0, 25.0] and push["moved"] > 0.01 and push["drifted"] < 1e-3


def test_a_model_that_is_too_light_is_refused_by_name(run):
    """Exit code 3; the joint is named on the screen."""
    result = run("float", "wam7", "--share", 0.7, "--model-error", -3)
    assert result.exit_code == 3
    assert "joint 'joint2': holding takes" in result.stderr and "the arm was not let go" in result.stderr
    assert "refused" in result.stdout and "Floated" not in result.stdout


def test_a_thrown_arm_ends_with_its_own_exit_code(run_json):
    """Too fast: stopped safely, told as such."""
    document = run_json("float", "wam7", "--push", "toolplate,0,0,40,0.5", exit_code=3)
    assert document["end"] == "too fast" and "rad/s" in document["reason"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("wam7", "--share", 1.2), 1, "the arm runs away"),
        (("wam7", "--share", 1), 1, "leaves no friction"),
        (("wam7", "--lock", "nose"), 1, "no joint 'nose'"),
        (("wam7", "--push", "toolplate,1,2"), 2, "link,Fx,Fy,Fz,seconds"),
        (("wam7", "--push", "nose,0,0,1,1"), 1, "nose"),
        (("wam7", "--payload-link", "toolplate"), 2, "--payload MASS"),
        (("wam7", "--log", "float.txt"), 2, ".npz or .csv"),
        (
            (
                "wam7",
                "--skip-check",
            ),
            2,
            "No such option",
        ),
        (("nosuch",), 1, "there is no plant"),
    ],
)
def test_refusals_before_anything_moves(run, arguments, code, words):
    """Above all there is no way around the check."""
    result = run("float", *arguments)
    assert result.exit_code == code, result.output
    assert words in result.stderr


def test_push_is_read_with_commas_in_the_name():
    """The last four fields are numbers; the rest is the link."""
    push = parsed("tool,left,1,-2,3e0,0.5")
    assert push.link == "tool,left" and push.force == (1.0, -2.0, 3.0) and push.seconds == 0.5


def test_real_plant_needs_yes_and_is_not_even_switched_on(run, run_json, monkeypatch):
    """Without --yes nothing happens; with it the arm is checked and floats; pushes are for simulated arms."""
    entered = []

    class Arm(SimulatedArm):
        def __enter__(self):
            entered.append(self)
            return super().__enter__()

    class Registered:
        value = "tests:arm"

        def load(self):
            return lambda: Arm(PLANAR, planar().config)

    monkeypatch.setattr(plant_room, "installed_plants", lambda: {"mydriver": Registered()})
    arguments = ("float", "mydriver", "--robot", "planar3", "--share", 0.5, "--seconds", 0.5)
    result = run(*arguments)
    assert result.exit_code == 2 and "add --yes" in result.stderr and not entered
    assert run(*arguments, "--yes", "--push", "link3,0,0,1,1").exit_code == 2 and not entered
    document = run_json(*arguments, "--yes")
    assert document["end"] == "done" and document["seconds"] == pytest.approx(0.5) and len(entered) == 1
