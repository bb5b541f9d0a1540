"""``counterpoise tune``: gains of a simulated joint, the file they go to, refusals."""

from __future__ import annotations

from functools import partial

import pytest

from counterpoise.tasks import TuningRule, read_gains

pytest.importorskip("mujoco", reason="MuJoCo is not installed")

ALONE = ("--joint", "joint1", "--alone")


def test_pd_of_a_joint_is_found_and_told(run, tmp_path):
    """Gains, what limited them and the structure's frequency are printed; the file holds the same gains."""
    out = tmp_path / "gains.toml"
    result = run("tune", "puma550:50Hz", "--law", "pd", *ALONE, "--out", out)
    assert result.exit_code == 0, result.output
    for word in ("pd of puma550:50Hz", "K_p", "bandwidth", "torque swings", "the structure swings at 5"):
        assert word in result.stdout
    assert "cannot be reached" in result.stderr and "written to" in result.stderr
    gains = read_gains(out)
    assert gains.kind == "pd" and gains.joint_names == ("joint1",) and gains.kp[0] > 0.0
    assert out.read_text().startswith("# pd of puma550:50Hz")


def test_json_has_gains_limits_and_rule(run_json):
    """One document for scripts; unlimited gains are null."""
    document = run_json("tune", "puma550", "--law", "pd", *ALONE, "--bandwidth", 3)
    assert document["gains"]["law"] == "pd" and document["rule"]["bandwidth"] == 3.0
    (joint,) = document["joints"]
    assert joint["joint"] == "joint1" and joint["limits"][0]["chosen"] == 3.0 and joint["limits"][0]["limit"] is None
    assert joint["structural_frequency"] is None and document["out"] is None and document["free"] is None


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("puma550",), 2, "--law"),
        (("puma550", "--law", "pd", "--out", "gains.csv"), 2, "must end in .toml"),
        (("puma550", "--law", "pd", "--friction"), 2, "--friction is learned from the plate"),
        (("puma550", "--law", "pd", "--free"), 2, "give --joint once"),
        (("puma550", "--law", "pd", "--joint", "joint1", "--joint", "joint2", "--alone"), 2, "give --joint once"),
        (("puma550", "--law", "pd", "--joint", "elbow"), 1, "there is no joint 'elbow'"),
        (("puma999", "--law", "pd"), 1, "there is no plant"),
        (("wam7:ground", "--law", "bsc", "--joint", "wam/base_yaw_joint", "--alone"), 1, ""),
    ],
)
def test_refusals(run, arguments, code, words):
    """Before anything moves."""
    result = run("tune", *arguments)
    assert result.exit_code == code, result.output
    assert words in result.stderr


def test_friction_is_learned_and_written_with_the_gains(run, tmp_path, monkeypatch):
    """The levels that the plate shows are near those of the preset (5.2 to 6.3 N m), and go to the file."""
    out = tmp_path / "gains.toml"
    coarse = partial(TuningRule, resolution=0.3, proof=1.0)  # not what is looked at here
    monkeypatch.setattr("counterpoise.tasks.tune.gains.TuningRule", coarse)
    result = run("tune", "puma550", "--law", "bsc", *ALONE, "--friction", "--out", out)
    assert result.exit_code == 0, result.output
    assert "friction" in result.stdout and "presliding" in result.stdout
    (learned,) = read_gains(out).friction
    assert 4.5 < learned.forward < 7.0 and 4.5 < learned.backward < 7.0
