"""``counterpoise wrist``: a table of poses to a sensor's zero and its tool."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.sensing import load_wrist_fit

ROBOT = cp.load("puma560")
LINK = ROBOT.link_names[-1]


@pytest.fixture
def poses(tmp_path: Path) -> Path:
    random = np.random.default_rng(4)
    q = random.uniform(np.maximum(ROBOT.lower, -2.0), np.minimum(ROBOT.upper, 2.0), (12, ROBOT.n))
    axes = ROBOT.forward_kinematics(q, at=LINK)[:, :3, :3]
    weight = 1.5 * np.einsum("kji,j->ki", axes, ROBOT.gravity_base)
    reading = np.hstack([weight, np.cross([0.0, 0.01, 0.06], weight)]) + 2.0
    reading += random.normal(size=reading.shape) * np.repeat([0.2, 0.01], 3)
    names = [*(f"position.{joint}" for joint in ROBOT.joint_names), "fx", "fy", "fz", "mx", "my", "mz"]
    lines = [",".join(map(repr, row)) for row in np.hstack([q, reading]).tolist()]
    path = tmp_path / "poses.csv"
    path.write_text("\n".join([",".join(names), *lines]) + "\n")
    return path


def test_text_json_and_file(run, run_json, poses: Path, tmp_path: Path) -> None:
    out = tmp_path / "arm.wrist.json"
    document = run_json("wrist", "puma560", poses, "--use", "rows", "--link", LINK, "--find", "turn", "--out", out)
    assert document["trusted"] and document["mass"] == pytest.approx(1.5, abs=4.0 * document["mass_std"])
    assert document["reads"] == "on_robot" and document["turn"] == "axis"
    assert load_wrist_fit(out, ROBOT).mass == document["mass"]
    result = run("wrist", "puma560", poses, "--use", "rows", "--link", LINK)
    assert result.exit_code == 0, result.output
    assert (
        result.stdout.startswith("TRUSTED") and "The tool weighs 1.5" in result.stdout and "held out" in result.stdout
    )


def test_what_is_not_to_be_relied_on_ends_with_3(run, poses: Path) -> None:
    """The sensor's axes are said wrong by 40 degrees: the poses do not predict each other."""
    result = run("wrist", "puma560", poses, "--use", "rows", "--link", LINK, "--sensor-rpy", 0.7, 0, 0)
    assert result.exit_code == 3 and result.stdout.startswith("NOT TRUSTED")


def test_wrong_command_lines(run, poses: Path) -> None:
    both = ("--find", "turn", "--find", "axes")
    assert run("wrist", "puma560", poses, "--link", LINK, *both).exit_code == 2
    assert run("wrist", "puma560", poses).exit_code == 2
    result = run("wrist", "puma560", poses, "--link", "nowhere", "--use", "rows")
    assert result.exit_code == 1 and "no link" in result.stderr
