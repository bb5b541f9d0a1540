"""``counterpoise export``: files that are read again, notes on what they do not say, refusals before any work."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.fitting import Terms, static_poses
from counterpoise.identification import design_poses
from library.calibration_data import other_masses


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory: pytest.TempPathFactory) -> tuple[cp.Robot, Path]:
    """A WAM whose masses are others than described, and its calibration."""
    robot = cp.load("wam4")
    real, poses = other_masses(robot), design_poses(robot, 12)
    fit = cp.calibrate(robot, static_poses(robot.joint_names, poses, real.gravity(poses)))
    return real, fit.save(tmp_path_factory.mktemp("fit") / "wam4.calibration.json")


def test_the_fitted_masses_are_written(calibrated, run_json, tmp_path: Path) -> None:
    """In C with where they come from; as URDF with the fit's torques. Friction and offsets are said to be left out."""
    real, file = calibrated
    told = run_json("export", "wam4", "--calibration", file, "--out", tmp_path / "arm.urdf")
    assert (told["language"], told["copy_of"], told["trusted"]) == ("URDF", None, True)
    assert any(text.startswith("of the calibration masses are written, not: ") for text in told["notes"])
    q = design_poses(real, 5)
    written, described = cp.load(tmp_path / "arm.urdf"), cp.load("wam4")
    error, before = (np.abs(robot.gravity(q) - real.gravity(q)).max() for robot in (written, described))
    assert error < 0.1 * before
    run_json("export", "wam4", "--calibration", file, "--out", tmp_path / "arm.h", "--prefix", "mine")
    text = (tmp_path / "arm.h").read_text()
    assert "Calibration wam4.calibration.json of " in text and ", trusted." in text and "mine_gravity(" in text


def test_a_header_without_a_prefix_tells_its_names(run, run_json, tmp_path: Path) -> None:
    """They differ from load to load, so that two headers fit in one program."""
    bare = run_json("export", "wam4", "--out", tmp_path / "bare.h")
    loaded = run_json("export", "wam4", "--payload", "1", "--out", tmp_path / "loaded.h")
    assert bare["prefix"] != loaded["prefix"] and bare["prefix"].startswith("wam4_")
    assert f"int {bare['prefix']}_gravity(" in (tmp_path / "bare.h").read_text()
    result = run("export", "wam4", "--out", tmp_path / "bare.h")
    assert f"{bare['prefix']}_gravity(q, tau)" in " ".join(result.stderr.split())
    assert run_json("export", "wam4", "--out", tmp_path / "wam4.urdf")["prefix"] is None


def test_a_urdf_file_is_copied(run, run_json, urdf, tmp_path: Path) -> None:
    result = run("export", urdf, "--payload", "0.5", "--payload-link", "finger", "--out", tmp_path / "copy.urdf")
    assert result.exit_code == 0, result.output
    assert "a copy of" in result.stderr and "--calibration" in result.stderr
    q = [0.3, 0.02]
    expected = cp.load(urdf).with_payload(0.5, link="finger").gravity(q)
    np.testing.assert_allclose(cp.load(tmp_path / "copy.urdf").gravity(q), expected, atol=1e-12)
    told = run_json("export", urdf, "--out", tmp_path / "copy.urdf", "--mount-rpy", "0", "1", "0")
    assert told["copy_of"] == str(urdf)
    assert any("how an arm stands" in text for text in told["warnings"])


def test_the_arms_own_file_is_not_overwritten(run, urdf: Path) -> None:
    before = urdf.read_bytes()
    result = run("export", urdf, "--out", urdf)
    assert result.exit_code == 1
    assert "was read from" in result.output
    assert urdf.read_bytes() == before


def test_mjcf_of_a_bundled_arm(run, tmp_path: Path) -> None:
    pytest.importorskip("mujoco", reason="reads it again")
    assert run("export", "wam7", "--out", tmp_path / "wam7.xml").exit_code == 0
    q = np.linspace(-1.0, 1.0, 7)
    np.testing.assert_allclose(cp.load(tmp_path / "wam7.xml").gravity(q), cp.load("wam7").gravity(q), atol=1e-10)


@pytest.mark.parametrize(
    ("arguments", "words", "code"),
    [
        (["wam7", "--out", "arm.json"], "must end in", 2),
        (["wam7", "--out", "nowhere/arm.h"], "no folder", 2),
        (["wam7", "--out", ".h"], "ends in", 1),
        (["wam7"], "Missing option '--out'", 2),
        (["wam7", "--out", "arm.urdf", "--prefix", "a"], "--prefix is for C", 2),
        (["wam7", "--out", "arm.h", "--prefix", "7"], "C identifier", 1),
        (["wam7", "--out", "arm.h", "--calibration", "none.json"], "none.json", 1),
        (["puma560", "--out", "arm.xml"], "no body can have", 1),
        (["nothing", "--out", "arm.h"], "nothing", 1),
    ],
)
def test_refusals_write_nothing(run, tmp_path: Path, monkeypatch, arguments, words: str, code: int) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("export", *arguments)
    assert result.exit_code == code
    assert words in result.output
    assert list(tmp_path.iterdir()) == []


def test_another_robots_calibration_is_refused(calibrated, run, tmp_path: Path) -> None:
    result = run("export", "planar3", "--calibration", calibrated[1], "--out", tmp_path / "a.h")
    assert result.exit_code == 1
    assert not (tmp_path / "a.h").exists()


def test_a_calibration_that_is_not_trusted_says_so(run, tmp_path: Path) -> None:
    robot = cp.load("wam4")
    poses = design_poses(robot, 6)[:4]
    noise = np.random.default_rng(0).normal(size=poses.shape)
    fit = cp.calibrate(robot, static_poses(robot.joint_names, poses, robot.gravity(poses) + noise))
    assert not fit.trusted
    file = fit.save(tmp_path / "bad.calibration.json")
    result = run("export", "wam4", "--calibration", file, "--out", tmp_path / "arm.h")
    assert result.exit_code == 3
    assert "not trusted" in result.stderr
    assert "NOT TRUSTED" in (tmp_path / "arm.h").read_text()


def test_what_was_fitted_beside_masses_is_warned_of(run, tmp_path: Path) -> None:
    """The header says so too: its torques are not all that holds such an arm."""
    robot = cp.load("wam4")
    real, poses = other_masses(robot), design_poses(robot, 14)
    balanced = real.gravity(poses)
    balanced[:, 1] -= 9.0 * np.sin(poses[:, 1])
    terms = Terms(bodies="gravity", counterbalance=("joint2",), tilt=True)
    fit = cp.calibrate(robot, static_poses(robot.joint_names, poses, balanced), terms=terms)
    file = fit.save(tmp_path / "wam4.calibration.json")
    result = run("export", "wam4", "--calibration", file, "--out", tmp_path / "arm.h")
    assert result.exit_code == 0, result.output
    assert "lack what was fitted beside masses: counterbalances, the base's tilt" in " ".join(result.stderr.split())
    assert "Fitted, but NOT in this file: counterbalances, the base's tilt" in (tmp_path / "arm.h").read_text()
