"""``counterpoise track``: gravity and payload through a recording, and live on a simulated arm."""

from __future__ import annotations

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.recording import Declared
from library.payload_data import random_poses, stream
from library.simulated_motion import recording as moving

WAM = cp.load("wam7")
FRICTION = np.array([0.94, 1.36, 0.77, 0.6, 0.21, 0.21, 0.05])
DT = 0.01


def recording(path, load: cp.Robot | None, first: int, count: int = 20):
    """Write a log of an arm that goes from pose to pose, with a load from pose ``first`` on."""
    random = np.random.default_rng(0)
    poses = random_poses(WAM, count, random)
    robots = [WAM if load is None or index < first else load for index in range(count)]
    q, dq, tau = (np.array(column) for column in zip(*stream(robots, poses, FRICTION, DT, random), strict=True))
    told = Declared(effort_kind="torque", effort_side="link", position_side="link")
    cp.write_log(cp.Log(WAM.joint_names, DT * np.arange(len(q)), q, dq, tau, declared=told), path)
    return path


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """A recording in which 2 kg are picked up at 20 s."""
    load = WAM.with_payload(2.0, com=(0.0, 0.0, 0.1), link="toolplate")
    return recording(tmp_path_factory.mktemp("track") / "loaded.npz", load, 10)


def test_text_names_mass_links_and_times(run, loaded):
    result = run("track", loaded, "--robot", "wam7")
    assert result.exit_code == 0, result.output
    assert "payload attached" in result.stdout and "kg, on link" in result.stdout
    assert "Holding torque at the end" in result.stdout and "joint4" in result.stdout


def test_json_and_page(run_json, loaded, tmp_path):
    pytest.importorskip("plotly", reason="plotly is not installed")
    page = tmp_path / "track.html"
    document = run_json("track", loaded, "--robot", "wam7", "--page", page)
    payload = document["payload"]
    assert payload["detected"] and payload["mass_known"] and payload["mass"] == pytest.approx(2.0, rel=0.1)
    assert sum(payload["links"].values()) == pytest.approx(1.0)
    assert [event["kind"] for event in document["events"]] == ["attached"]
    assert 20.0 <= document["events"][0]["time"] <= 24.1
    history = document["history"]
    assert len(history["time"]) == len(history["mass"]) == len(history["gravity_std"])
    assert history["mass"][0] is None and history["mass"][-1] == pytest.approx(payload["mass"], rel=0.05)
    assert history["gravity_std"][-1][1] < history["gravity_std"][0][1]
    text = page.read_text(encoding="utf-8")
    assert "A payload of" in text and "Holding torques" in text and "http://" not in text.split("<script")[0]


def test_an_empty_arm_stays_empty(run_json, tmp_path):
    path = recording(tmp_path / "empty.npz", None, 0, count=12)
    document = run_json("track", path, "--robot", "wam7")
    payload = document["payload"]
    assert not payload["detected"] and document["events"] == []
    assert not payload["mass_known"] and payload["mass"] is None and payload["mass_std"] is None
    assert 0.02 < payload["unnoticed_mass"] < 1.0
    assert document["history"]["unnoticed_mass"][0] is None and document["history"]["unnoticed_mass"][-1] < 1.0


def test_an_arm_that_never_rests_is_not_called_empty(run_json, tmp_path):
    """2.8 kg at the tip of an arm that moves all the time: nothing is learnt, and nothing is claimed."""
    pytest.importorskip("plotly", reason="plotly is not installed")
    load = WAM.with_payload(2.8, com=(0.0, 0.0, 0.1), link="toolplate")
    told = Declared(effort_kind="torque", effort_side="link", position_side="link")
    cp.write_log(moving(load, 1, coulomb=FRICTION, noise=0.05, declared=told), tmp_path / "moving.npz")
    page = tmp_path / "track.html"
    document = run_json("track", tmp_path / "moving.npz", "--robot", "wam7", "--page", page)
    payload = document["payload"]
    assert not payload["detected"] and not payload["mass_known"] and document["events"] == []
    assert payload["mass"] is None and payload["mass_std"] is None and payload["unnoticed_mass"] is None
    assert "any mass could go unnoticed" in payload["text"]
    text = page.read_text(encoding="utf-8")
    assert "Whether there is a payload is not known" in text and "No payload" not in text


def test_wrong_command_lines(run, loaded, tmp_path):
    for arguments, words in (
        ((loaded,), "--robot is missing"),
        ((loaded, "--robot", "wam7", "--payload", 1), "belong to a simulated arm"),
        (("wam7", "--robot", "wam7"), "belong to a recording"),
        (("wam7", "--payload", 1, "--attach", 5, "--release", 4), "not after"),
        ((loaded, "--robot", "wam7", "--page", tmp_path / "page.txt"), ".html"),
    ):
        result = run("track", *arguments)
        assert result.exit_code == 2 and words in result.stderr


def test_recordings_that_cannot_be_tracked(run, tmp_path):
    """No torques, currents without constants, and absurd positions are refused with what to do."""
    zeros = np.zeros((50, 7))
    time = DT * np.arange(50)
    silent = cp.Log(WAM.joint_names, time, zeros, zeros, np.full((50, 7), np.nan))
    cp.write_log(silent, tmp_path / "silent.npz")
    result = run("track", tmp_path / "silent.npz", "--robot", "wam7")
    assert result.exit_code == 1 and "no measured effort" in result.stderr
    amperes = cp.Log(WAM.joint_names, time, zeros, zeros, zeros, declared=Declared(effort_kind="current"))
    cp.write_log(amperes, tmp_path / "amperes.npz")
    result = run("track", tmp_path / "amperes.npz", "--robot", "wam7")
    assert result.exit_code == 1 and "currents" in result.stderr
    counts = cp.Log(WAM.joint_names, time, np.full((50, 7), 1e12), zeros, zeros)
    cp.write_log(counts, tmp_path / "counts.npz")
    result = run("track", tmp_path / "counts.npz", "--robot", "wam7")
    assert result.exit_code == 1 and "joint1" in result.stderr and "1e+12" in result.stderr
    result = run("track", "nosuchpreset")
    assert result.exit_code == 1 and "no preset" in result.stderr


def test_live_on_a_simulated_arm(run_json):
    """A few seconds of the simulated WAM: the loop runs, both estimators are fed, nothing is found on an empty arm."""
    pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    document = run_json("track", "wam7", "--count", 2, "--seed", 1)
    assert document["samples"] > 1000 and not document["payload"]["detected"]


def test_a_recording_without_velocities_is_tracked(run_json, loaded, tmp_path):
    log = cp.read_log(loaded, WAM)
    bare = cp.Log(log.joint_names, log.time, log.q, np.full_like(log.q, np.nan), log.tau, declared=log.declared)
    cp.write_log(bare, tmp_path / "bare.npz")
    assert run_json("track", tmp_path / "bare.npz", "--robot", "wam7")["payload"]["mass"] == pytest.approx(2.0, rel=0.1)


def test_a_joint_without_efforts_is_named(run, loaded, tmp_path):
    log = cp.read_log(loaded, WAM)
    tau = log.tau.copy()
    tau[:, 6] = np.nan
    cp.write_log(cp.Log(log.joint_names, log.time, log.q, log.dq, tau, declared=log.declared), tmp_path / "part.npz")
    result = run("track", tmp_path / "part.npz", "--robot", "wam7")
    assert result.exit_code == 1
    assert "no efforts of joint7" in result.output
