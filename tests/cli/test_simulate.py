"""``counterpoise simulate``: defaults, options, files, Ctrl-C, refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from counterpoise.plants import SimulatedPlant, preset
from counterpoise.tasks import LawGains

pytest.importorskip("mujoco", reason="MuJoCo is not installed")

SHORT = ("--duration", 1.5)


def test_default_run_is_summed_up(run):
    """One table with every joint, how fast it was computed, and nothing that needs attention."""
    result = run("simulate", "--duration", 3)
    assert result.exit_code == 0, result.output
    for word in ("puma550 (stiff)", "pd-gravity", "sine", "rms error", "of limit", "saturated", "joint1", "joint6"):
        assert word in result.stdout
    assert "× real time" in result.stdout and "No events." in result.stdout
    assert "did not follow" not in result.stderr


def test_default_tracking_is_good(run_json):
    """Every joint follows within 10 mrad rms, unsaturated, with gains by the rule."""
    document = run_json("simulate", "--duration", 3)
    assert document["end"] == "completed" and document["interrupted"] is False
    assert document["out"] is None and document["page"] is None
    assert [joint["name"] for joint in document["joints"]] == [f"joint{i}" for i in range(1, 7)]
    for joint in document["joints"]:
        assert joint["rms"] < 0.01 and joint["follows"] and joint["saturated"] == 0
        assert joint["position_unit"] == "rad" and 0.0 < joint["effort_fraction"] < 1.0
    assert document["real_time_factor"] > 0.0
    assert len(document["gains"]["kp"]) == 6


def test_same_seed_same_numbers_also_when_watched(run_json, tmp_path):
    """The seed decides the noise; looking at the friction for the page changes nothing."""
    arguments = ("simulate", "wam7", "--duration", 1.2, "--seed")
    first = run_json(*arguments, 1)["joints"]
    assert run_json(*arguments, 1, "--page", tmp_path / "p.html")["joints"] == first
    assert run_json(*arguments, 2)["joints"] != first


def test_only_the_named_joint_swings(run_json):
    """The others hold: their reference does not move."""
    arguments = ("--reference", "triangle", "--joint", "joint2", "--amplitude", 0.05, "--period", 2)
    joints = run_json("simulate", "puma550:50Hz", *arguments, "--duration", 2)["joints"]
    assert [joint["motion"] > 0.0 for joint in joints] == [False, True, False, False, False, False]


def test_unknown_payload_pulls_the_arm_down(run_json):
    """A load that the controller knows is held; one that it does not know makes the error larger."""
    arguments = ("simulate", "wam7", "--reference", "hold", *SHORT, "--payload", 2, "--payload-com", 0, 0, 0.1)
    known = run_json(*arguments)["joints"]
    unknown = run_json(*arguments, "--unknown-payload")["joints"]
    assert unknown[3]["largest"] > 3.0 * known[3]["largest"]


def test_model_error_has_the_sign_of_the_masses(run_json):
    """Believing in heavier links pushes the arm up until friction helps gravity; in lighter ones, lets it sag."""
    arguments = ("simulate", "puma550", "--reference", "hold", *SHORT)
    exact, pushed, sagging = (run_json(*arguments, "--model-error", error)["joints"][1] for error in (0, 30, -30))
    assert pushed["largest"] > 2.0 * exact["largest"] and sagging["largest"] > 2.0 * exact["largest"]
    assert pushed["peak_effort"] > exact["peak_effort"] >= sagging["peak_effort"]


def test_poses_are_visited(run_json, tmp_path):
    """The run lasts as long as the way; the last pose is reached."""
    poses = tmp_path / "poses.csv"
    poses.write_text("joint1,joint2,joint3,joint4,joint5,joint6\n0.2,0.7,-3.0,0.1,0.7,0.1\n")
    document = run_json("simulate", "--poses", poses)
    assert document["reference"] == "poses" and document["duration"] < 5.0
    assert all(joint["follows"] for joint in document["joints"])


def test_log_and_page_are_written(run, tmp_path):
    """The log reads back, and the page has the charts, the plate and the friction."""
    log_path, page = tmp_path / "run.npz", tmp_path / "run.html"
    result = run("simulate", *SHORT, "--out", log_path, "--page", page)
    assert result.exit_code == 0, result.output
    with np.load(log_path) as arrays:
        assert arrays["q"].shape[1] == 6 and arrays["sent"].shape == arrays["q"].shape
    html = page.read_text(encoding="utf-8")
    for word in ("puma550 (stiff)", "Tracking error", "Plate", "friction (true", "What happened", "K_p"):
        assert word in html


def test_interruption_is_stopped_safely_and_written(run, tmp_path, monkeypatch):
    """Ctrl-C: exit code 1, the safe stop, and what was recorded until then."""
    original, count = SimulatedPlant.write, 0

    def write(self, tau):
        nonlocal count
        count += 1
        if count == 400:
            raise KeyboardInterrupt
        return original(self, tau)

    monkeypatch.setattr(SimulatedPlant, "write", write)
    log_path = tmp_path / "run.npz"
    result = run("simulate", "--duration", 30, "--out", log_path)
    assert result.exit_code == 1
    assert "interrupted: the arm was stopped (gravity stop, then 'brake')" in result.stderr
    assert "recording written to" in result.stderr
    with np.load(log_path) as arrays:
        assert 399 <= len(arrays["time"]) < 1000


def test_fault_is_an_error_with_the_record_kept(run, tmp_path):
    """Gains far too high: the filter stops the arm, exit code 1, and the log is there."""
    log_path = tmp_path / "run.npz"
    result = run("simulate", "puma550:50Hz", "--stiffness", 60, "--duration", 5, "--out", log_path)
    assert result.exit_code == 1
    assert "error: " in result.stderr and "The arm was stopped" in result.stderr
    assert log_path.exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nope",), "there is no preset 'nope'"),
        (("puma550:5Hz",), "no variant '5Hz'"),
        (("--joint", "elbow"), "there is no joint 'elbow'"),
        (("--amplitude", 5), "leaves its limits"),
        (("--period", 0.1), r"longer period \(--period\)"),
        (("dualarm19", "--payload", 1), "tips|leaves|link"),
    ],
)
def test_what_cannot_be_done_is_refused(run, arguments, said):
    """Our error, exit code 1, before anything moves."""
    import re

    result = run("simulate", *arguments)
    assert result.exit_code == 1, result.output
    assert re.search(said, result.stderr), result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("--reference", "poses"),
        ("--reference", "hold", "--joint", "joint1"),
        ("--poses", "x.csv", "--reference", "sine"),
        ("--unknown-payload",),
        ("--out", "run.txt"),
        ("--page", "run.pdf"),
        ("--out", "no/such/folder/run.npz"),
        ("--law", "lqr"),
        ("--gains", "gains.toml", "--law", "pid"),
        ("--duration", 0),
    ],
)
def test_contradictions_are_a_wrong_command_line(run, arguments):
    """Exit code 2."""
    assert run("simulate", *arguments).exit_code == 2


def test_an_arm_that_bears_its_weight_gets_a_law_without_gravity(run_json):
    """Behind a flow valve the default law adds no gravity; behind a torque source it does."""
    short = ("--duration", "0.5")
    assert run_json("simulate", "titan2:flow-valve", *short)["law"] == "pd"
    assert run_json("simulate", "titan2", *short)["law"] == "pd-gravity"


def test_tuned_gains_close_the_loop_on_the_plate(run_json, tmp_path):
    """A file of counterpoise tune brings its law: the plate is tared first, and the slow triangle is followed."""
    arm = preset("puma550").arm()
    kp = [1094.0, 2643.0, 566.0, 266.0, 239.0, 273.0]
    kd = [63.0, 87.0, 21.6, 7.2, 6.4, 7.3]
    gains = LawGains("bsc", arm.joint_names, kp, kd, np.zeros(6), [120.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    gains.save(tmp_path / "bsc.toml")
    swing = ("--reference", "triangle", "--joint", "joint1", "--amplitude", "0.002", "--period", "5", "--duration", "6")
    tuned = run_json("simulate", "puma550", "--gains", str(tmp_path / "bsc.toml"), *swing)
    careful = run_json("simulate", "puma550", "--law", "pd-gravity", *swing)
    assert tuned["law"] == "bsc" and tuned["gains"]["k_int"][0] == 120.0
    assert tuned["joints"][0]["rms"] < 0.1 * careful["joints"][0]["rms"]
    assert not [event for event in tuned["events"] if event["kind"] == "plate_lost"]


def test_a_plate_that_is_lost_is_told(run, run_json, tmp_path, monkeypatch):
    """On the screen, in the JSON and on the page: from when to when torque feedback was lost in a completed run."""
    arm = preset("puma550").arm()
    gains = LawGains("bsc", arm.joint_names, [1094.0] * 6, [63.0] * 6, np.zeros(6), [120.0, *np.zeros(5)])
    gains.save(tmp_path / "bsc.toml")
    original = SimulatedPlant.read

    def read(plant):
        sample = original(plant)
        return replace(sample, wrench=None) if 3.0 <= sample.time < 3.5 else sample

    monkeypatch.setattr(SimulatedPlant, "read", read)
    command = ("simulate", "puma550", "--gains", tmp_path / "bsc.toml", "--reference", "hold", "--duration", 3)
    document = run_json(*command)
    (loss,) = document["plate_losses"]
    assert document["end"] == "completed" and document["held_ticks"] == 0
    assert loss["resumed"] and "no plate reading" in loss["reason"]
    assert loss["end"] - loss["begin"] == pytest.approx(0.5 + 0.1, abs=0.03)
    result = run(*command, "--page", tmp_path / "run.html")
    words = f"torque feedback was lost from {loss['begin']:.4g} s to {loss['end']:.4g} s"
    assert result.exit_code == 0 and words in " ".join(result.stderr.split())
    page = (tmp_path / "run.html").read_text()
    assert words[1:] in page and "Completed, for a time without torque feedback" in page
    assert run_json("simulate", "puma550", "--duration", 0.5)["plate_losses"] == []
