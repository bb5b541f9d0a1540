"""``counterpoise load``."""

from __future__ import annotations

import math

import numpy as np
import pytest

import counterpoise as cp


def words(text: str) -> str:
    return " ".join(text.split())


def test_shows_tree_masses_limits_and_parameters(run):
    result = run("load", "wam7")
    assert result.exit_code == 0
    text = words(result.stdout)
    assert "wam7 7 joints (7 revolute), 9 links, 19.459 kg" in text
    assert "│ joint2 → link2 revolute z -2 … 2 rad 3.875" in text
    assert "└ toolplate_fixed → toolplate fixed –" in text
    assert "3 joint4 revolute -0.9 3.1 – 29.4 0.03462" in text
    assert "12 base gravity parameters: joint2.mx, joint2.my" in text


def test_shows_mimic_and_linear_joints_with_their_units(run, urdf):
    text = words(run("load", urdf).stdout)
    assert "2 joints (1 continuous, 1 prismatic)" in text
    assert "├─ mount → camera fixed" in text
    assert "│ shoulder → upper continuous 0 -0.6 0.8 –" in text
    assert "├─ grip → finger prismatic z 0 … 0.05 m" in text
    assert "└─ twin_grip → twin prismatic -z mimics 2 × grip" in text
    assert "[rad | m]" in text and "[N m | N]" in text


def test_json_is_the_robot(run_json, urdf):
    robot = cp.load(urdf)
    document = run_json("load", urdf)
    assert document["name"] == "test arm"
    assert document["n"] == 2
    assert document["joint_names"] == ["shoulder", "grip"]
    assert document["total_mass"] == robot.total_mass
    assert document["gravity_base"] == [0.0, 0.0, -9.81]
    shoulder, grip = document["joints"]
    assert shoulder["lower"] is None and shoulder["upper"] is None and shoulder["effort_limit"] is None
    assert (grip["lower"], grip["upper"], grip["effort_limit"], grip["velocity_limit"]) == (0.0, 0.05, 20.0, 0.1)
    links = {link["name"]: link for link in document["tree"]["links"]}
    assert links["camera"]["mass"] is None
    assert links["upper"]["mass"] == 1.0 and links["upper"]["com"] == [0.1, 0.0, 0.0]
    joints = {joint["name"]: joint for joint in document["tree"]["joints"]}
    assert joints["twin_grip"]["mimic"] == {"joint": "grip", "multiplier": 2.0, "offset": 0.0}
    assert joints["mount"]["axis"] is None and joints["mount"]["kind"] == "fixed"
    names = [parameter["name"] for parameter in document["base_gravity_parameters"]]
    assert tuple(names) == robot.base_parameters.names
    values = [parameter["value"] for parameter in document["gravity_parameters"]]
    np.testing.assert_array_equal(values, robot.gravity_parameters)


def test_mount_turns_gravity(run_json):
    document = run_json("load", "wam7", "--mount-rpy", "0", str(math.pi / 2), "0")
    np.testing.assert_allclose(document["gravity_base"], [9.81, 0.0, 0.0], atol=1e-12)
    assert len(document["base_gravity_parameters"]) == 14  # joint 1 feels gravity on a wall


def test_mount_accepts_negative_angles(run_json):
    document = run_json("load", "wam7", "--mount-rpy", "0", "-1.5707963267948966", "0")
    np.testing.assert_allclose(document["gravity_base"], [-9.81, 0.0, 0.0], atol=1e-12)


@pytest.mark.parametrize("angles", [("0", "90", "0"), ("nan", "0", "0"), ("inf", "0", "0")])
def test_mount_in_degrees_or_no_number_is_refused(run, angles):
    result = run("load", "wam7", "--mount-rpy", *angles)
    assert result.exit_code == 1
    assert "--mount-rpy" in result.stderr and "rad" in result.stderr


def test_warnings_are_shown_and_strict_refuses_them(run, run_json, urdf):
    urdf.write_text(urdf.read_text().replace('<mass value="0.1"/>', '<mass value="0"/>'))
    result = run("load", urdf)
    assert result.exit_code == 0
    assert "warning: " in result.stdout and "'finger' moves with joint 'grip' but has no mass" in result.stdout
    assert any("no mass" in warning for warning in run_json("load", urdf)["warnings"])
    strict = run("load", urdf, "--strict")
    assert strict.exit_code == 1
    assert strict.stderr.startswith("error: ") and "no mass" in strict.stderr


def test_xacro_is_refused_unless_allowed(run, tmp_path):
    file = tmp_path / "arm.urdf.xacro"
    file.write_text("<robot name='x'/>")
    result = run("load", file)
    assert result.exit_code == 1
    assert "--allow-xacro" in result.stderr


def test_xacro_arguments_reach_the_file(run_json, tmp_path):
    pytest.importorskip("xacrodoc")
    file = tmp_path / "arm.urdf.xacro"
    file.write_text(
        '<robot name="x" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arg name="prefix" default=""/>'
        '<link name="$(arg prefix)base"/></robot>'
    )
    document = run_json("load", file, "--allow-xacro", "--xacro-arg", "prefix:=left_")
    assert document["link_names"] == ["left_base"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--xacro-arg", "a:=1"), "needs --allow-xacro"),
        (("--allow-xacro", "--xacro-arg", "a=1"), "name:=value"),
        (("--allow-xacro", "--xacro-arg", ":=1"), "name:=value"),
        (("--allow-xacro", "--xacro-arg", "a:=1", "--xacro-arg", "a:=2"), "twice"),
    ],
)
def test_wrong_xacro_arguments_are_usage_errors(run, arguments, message):
    result = run("load", "wam7", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_robot_without_joints_is_shown(run, run_json, tmp_path):
    file = tmp_path / "stone.urdf"
    file.write_text('<robot name="stone"><link name="base"/></robot>')
    assert "no joint" in run("load", file).stdout
    assert run_json("load", file)["joints"] == []


@pytest.mark.parametrize("name", ["missing.urdf", "arm.step", "."])
def test_unreadable_sources_are_our_errors(run, tmp_path, name):
    result = run("load", tmp_path / name)
    assert result.exit_code == 1
    assert result.stderr.startswith("error: ")
