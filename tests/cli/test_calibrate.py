"""``counterpoise poses``, ``calibrate`` and ``verify``: from a plan to a verdict on the command line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.fitting import registered_terms
from counterpoise.identification import design_poses, mount_rpy, read_plan
from counterpoise.recording import Declared
from library.calibration_data import motion, other_masses, visits
from library.simulated_motion import recording as moving


@pytest.fixture(scope="module")
def arm() -> cp.Robot:
    return cp.load("planar3")


@pytest.fixture(scope="module")
def truth(arm: cp.Robot) -> cp.Robot:
    return other_masses(arm)


@pytest.fixture
def recording(arm: cp.Robot, truth: cp.Robot, tmp_path: Path) -> Path:
    path = tmp_path / "run.npz"
    cp.write_log(visits(truth, design_poses(arm, 8), friction=0.4, noise=0.02), path)
    return path


def test_poses_writes_a_plan_and_says_what_it_tells(run, run_json, tmp_path: Path, arm: cp.Robot) -> None:
    plan = tmp_path / "plan.toml"
    result = run("poses", "planar3", "--count", 6, "--out", plan)
    assert result.exit_code == 0
    assert "They will determine 6 combinations" in result.stdout
    assert "Not checked:" in result.stdout
    document = run_json("poses", "planar3", "--count", 6)
    np.testing.assert_array_equal(read_plan(plan, arm).poses, document["poses"])
    assert document["not_determined"] == []
    assert len(document["determined"]) == 9
    few = run_json("poses", "planar3", "--count", 2)
    assert few["not_determined"]
    assert few["torque_std_per_noise"] == [None, None, None]


def test_poses_keeps_clear_of_a_table(run_json) -> None:
    """With a radius or the default one."""
    for options in (("--radius", 0.05, "--table", 0.0), ("--table", 0.0)):
        document = run_json("poses", "wam7", "--count", 4, *options)
        assert any("table" in sentence for sentence in document["checked"])


def test_calibrate_prints_a_verdict_and_writes_file_and_page(run, recording: Path, tmp_path: Path) -> None:
    out, page = tmp_path / "arm.calibration.json", tmp_path / "report.html"
    pytest.importorskip("plotly", reason="plotly is not installed")
    result = run("calibrate", "planar3", recording, "--out", out, "--page", page, "--serial", "X1")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("TRUSTED")
    assert "Not to be relied on" in result.stdout
    assert json.loads(out.read_text())["content"]["identity"]["serial"] == "X1"
    assert "TRUSTED" in page.read_text()


def test_a_fit_that_is_not_trusted_ends_with_3(run, run_json, truth: cp.Robot, tmp_path: Path) -> None:
    """The file's name says so; with --json stdout is one document still."""
    path, out = tmp_path / "slow.npz", tmp_path / "arm.calibration.json"
    cp.write_log(motion(truth, noise=0.1, size=0.15), path)
    asked = ("--for", "float,extrapolate")  # it moved a little: good where it was, not elsewhere
    document = run_json("calibrate", "planar3", path, *asked, "--out", out, exit_code=3)
    assert document["trusted"] is False
    assert "extrapolate" in document["reasons"][0]
    assert "float" in [statement["use"] for statement in document["statements"]]
    assert document["file"].endswith("arm.not-trusted.calibration.json")
    assert not out.exists()
    result = run("calibrate", "planar3", path, *asked, "--out", out)
    assert result.exit_code == 3
    assert result.stdout.startswith("NOT TRUSTED for float, extrapolate")
    assert "Good to:" in result.stdout
    assert "not trusted" in result.stderr


def test_verify_tells_whether_it_holds(run, run_json, recording: Path, arm, truth, tmp_path: Path) -> None:
    out, later = tmp_path / "arm.calibration.json", tmp_path / "later.npz"
    assert run("calibrate", "planar3", recording, "--out", out).exit_code == 0
    cp.write_log(visits(truth, design_poses(arm, 6, seed=4), friction=0.4, noise=0.02, seed=1), later)
    result = run("verify", "planar3", out, later)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("IT HOLDS")
    heavy = truth.with_payload(1.5, com=(0.2, 0.0, 0.0))
    cp.write_log(visits(heavy, design_poses(arm, 6, seed=4), friction=0.4, noise=0.02, seed=1), later)
    document = run_json("verify", "planar3", out, later, exit_code=3)
    assert document["holds"] is False
    assert max(document["rms"]) > 1.0


def test_verify_refuses_another_robot(run, recording: Path, tmp_path: Path) -> None:
    out = tmp_path / "arm.calibration.json"
    assert run("calibrate", "planar3", recording, "--out", out).exit_code == 0
    result = run("verify", "wam7", out, recording)
    assert result.exit_code == 1
    assert "belongs to robot" in result.stderr


def test_a_mount_that_the_doctor_finds_is_used_at_once(run, run_json, tmp_path: Path) -> None:
    """By the option that it prints, or by the mapping that it writes: calibrate and verify take both."""
    arm = cp.load("wam7")
    standing = arm.mounted(rpy=(0.3, -0.5, 0.7))
    paths = [tmp_path / "one.npz", tmp_path / "two.npz"]
    for seed, path in zip((1, 3), paths, strict=True):
        cp.write_log(moving(standing, seed, coulomb=0.3, noise=0.05, seconds=30.0), path)
    fix = tmp_path / "fix.toml"
    document = run_json("doctor", paths[0], "--robot", "wam7", "--fix", fix, exit_code=3)
    option = document["mount_option"].split()
    assert option[0] == "--mount-rpy"
    np.testing.assert_allclose([float(angle) for angle in option[1:]], [0.3, -0.5, 0.0], atol=0.03)
    assert "--mount-rpy" in run("doctor", paths[0], "--robot", "wam7").stdout
    for told in (option, ["--mapping", fix]):
        out = tmp_path / f"{len(told)}.calibration.json"
        result = run("calibrate", "wam7", paths[0], *told, "--out", out)
        assert result.exit_code == 0, result.output
        result = run("verify", "wam7", out, paths[1], *told)
        assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    "rpy", [(0.0, 0.0, 0.0), (0.3, -0.5, 0.7), (np.pi, 0.0, 0.0), (0.0, np.pi / 2, 0.0), (3.0, 1.2, -2.0)]
)
def test_the_mount_of_a_gravity_vector(rpy: tuple[float, float, float]) -> None:
    gravity = cp.load("planar3").mounted(rpy=rpy).gravity_base
    again = cp.load("planar3").mounted(rpy=mount_rpy(gravity)).gravity_base
    np.testing.assert_allclose(again, gravity, atol=1e-9)


def test_terms_are_added_by_name(run, run_json, truth: cp.Robot, tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    cp.write_log(motion(truth, coulomb=0.3, noise=0.05), path)
    document = run_json("calibrate", "planar3", path, "--use", "moving", "--add", "spring:joint1")
    assert "joint1.spring" in document["model"]["names"]
    assert run("calibrate", "planar3", path, "--add", "spring:joint1").exit_code == 2
    unknown = run("calibrate", "planar3", path, "--use", "moving", "--add", "springs")
    assert unknown.exit_code == 2
    assert "there are offset, coulomb" in " ".join(unknown.stderr.split())
    listed = run("calibrate", "--terms")
    assert listed.exit_code == 0
    names = [line.split()[0] for line in listed.stdout.splitlines()]
    assert names == [term.name for term in registered_terms()][1:]


def test_a_term_of_one_file_is_fitted_by_name(run_json, truth: cp.Robot, tmp_path: Path) -> None:
    """Friction that grows with the load, with its unit, fraction and error in the document."""
    path = tmp_path / "run.npz"
    cp.write_log(motion(truth, coulomb=0.3, noise=0.05), path)
    document = run_json("calibrate", "planar3", path, "--use", "moving", "--add", "load_friction:joint1")
    (number,) = [one for one in document["parameters"] if one["name"] == "joint1.load_friction"]
    assert abs(number["value"]) < 0.02
    assert number["unit"] == ""
    assert document["model"]["terms"]["load_friction"] == ["joint1"]
    assert "stribeck" not in document["model"]["terms"]


def test_a_weighed_load_tells_gains_from_masses(run_json, arm, truth, tmp_path: Path) -> None:
    empty, loaded = tmp_path / "empty.npz", tmp_path / "loaded.npz"
    cp.write_log(motion(truth, noise=0.05, gain=0.5), empty)
    cp.write_log(motion(truth.with_payload(3.0, com=(0.2, 0.0, 0.0)), noise=0.05, gain=0.5, seed=1), loaded)
    options = ("--loaded", loaded, "--load", 3.0, "--load-com", 0.2, 0.0, 0.0, "--use", "moving")
    # The doctor still says that efforts are no torques; the fit has taken care of that.
    document = run_json("calibrate", "planar3", empty, *options)
    np.testing.assert_allclose([each["gain"] for each in document["gains"]], 0.5, rtol=0.1)
    assert document["units"] == "N m"


def test_with_a_weighed_load_currents_end_in_torques(run, run_json, arm, truth, tmp_path: Path) -> None:
    """Errors, friction and the file are in N m, and the mapping with the gains reads further recordings so."""
    told = Declared(effort_kind="current", effort_side="link", position_side="link")
    constant = np.array([2.0, 1.5, 0.5])  # N m per A
    paths = [tmp_path / name for name in ("empty.npz", "loaded.npz", "later.npz")]
    robots = (truth, truth.with_payload(3.0, com=(0.2, 0.0, 0.0)), truth)
    for seed, (path, robot) in enumerate(zip(paths, robots, strict=True)):
        log = motion(robot, noise=0.02, coulomb=0.4, seed=seed)
        cp.write_log(replace(log, tau=log.tau / constant, declared=told), path)
    mapping, out = tmp_path / "gains.toml", tmp_path / "arm.calibration.json"
    options = ("--loaded", paths[1], "--load", 3.0, "--load-com", 0.2, 0.0, 0.0, "--use", "moving")
    document = run_json("calibrate", "planar3", paths[0], *options, "--gains-out", mapping, "--out", out)
    gains = {each["joint"]: each for each in document["gains"]}
    for name, value in zip(arm.joint_names, constant, strict=True):
        each = gains[name]
        assert each["unit"] == "A/(N m)" and each["identifiable"]
        assert abs(each["gain"] * value - 1.0) < 0.02 and 0.0 < each["com_shift"] < 0.5
    np.testing.assert_allclose(document["errors"]["friction_band"], 0.4, rtol=0.1)
    assert '"joints.joint1.effort_gain" = "measured"' in mapping.read_text()
    text = run("calibrate", "planar3", paths[0], *options).stderr
    assert "A/(N m)" in text and "All errors are torques" in text
    logs = [cp.read_log(path) for path in paths[:2]]
    carrying = arm.with_payload(3.0, com=(0.2, 0.0, 0.0))
    fit = cp.calibrate(arm, logs[0], use="moving", loaded=[(carrying, logs[1])])
    np.testing.assert_allclose(fit.heldout_rms, document["errors"]["heldout"], rtol=1e-9)
    result = run("verify", "planar3", out, paths[2], "--mapping", mapping)
    assert result.exit_code == 0, result.output


def test_a_load_without_a_place_is_refused(run, arm, truth, tmp_path: Path) -> None:
    """Where the load hangs decides the gains: nothing is assumed."""
    path = tmp_path / "run.npz"
    cp.write_log(motion(truth, noise=0.05), path)
    result = run("calibrate", "planar3", path, "--loaded", path, "--load", 3.0)
    assert result.exit_code == 2 and "--load-com X Y Z" in result.stderr


@pytest.mark.parametrize(
    "options",
    [
        ("--out", "arm.txt"),
        ("--page", "page.txt"),
        ("--out", "nowhere/arm.json"),
        ("--loaded", "x.npz"),
        ("--load", "2.0"),
    ],
)
def test_wrong_options_are_exit_code_2(run, recording: Path, options: tuple[str, str]) -> None:
    assert run("calibrate", "planar3", recording, *options).exit_code == 2
