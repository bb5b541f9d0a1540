"""``counterpoise gravity``: poses in, holding torques out."""

from __future__ import annotations

import csv
import io
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import counterpoise as cp

PENDULUM = 5.886
"""Torque of the bundled pendulum held level [N m]: 1.5 kg × 9.81 m/s² × 0.4 m."""
SLIDER = 29.43
"""Force of the bundled slider [N]: 3 kg × 9.81 m/s²."""


def words(text: str) -> str:
    return " ".join(text.split())


def test_zero_pose_when_none_is_given(run_json):
    document = run_json("gravity", "planar3")
    assert document["q"] == [[0.0, 0.0, 0.0]]
    np.testing.assert_allclose(document["torques"][0], cp.load("planar3").gravity(np.zeros(3)), atol=1e-12)


def test_table_has_names_positions_torques_and_units(run):
    result = run("gravity", "scara", "0", "-0.5", "0.1", "1.2")
    assert result.exit_code == 0
    text = words(result.stdout)
    assert "joint2 -0.5000 rad 0.0000 N m 0%" in text
    assert "joint3 0.1000 m -15.2055 N 10%" in text
    assert "gravity in the base frame (0, 0, -9.81) m/s²" in text


def test_sign_is_that_of_the_actuators(run_json):
    assert run_json("gravity", "slider")["torques"] == [[pytest.approx(SLIDER)]]
    assert run_json("gravity", "slider")["torque_units"] == ["N"]
    assert run_json("gravity", "pendulum", str(math.pi / 2))["torques"] == [[pytest.approx(PENDULUM)]]


@pytest.mark.parametrize("pose", [("0", "-0.5", "1.2"), ("0,-0.5,1.2",), ("0 -0.5 1.2",), ("0; -.5; 12e-1",)])
def test_one_pose_with_spaces_or_commas(run_json, pose):
    document = run_json("gravity", "planar3", *pose)
    assert document["q"] == [[0.0, -0.5, 1.2]]
    np.testing.assert_allclose(document["torques"][0], cp.load("planar3").gravity([0.0, -0.5, 1.2]), atol=1e-12)


def test_first_number_may_be_negative_and_options_may_stand_anywhere(run_json):
    assert run_json("gravity", "planar3", "-.5", "--degrees", "-3e1", "-90")["q"] == [
        pytest.approx([math.radians(-0.5), math.radians(-30.0), math.radians(-90.0)])
    ]


def test_several_poses_are_one_argument_each(run, run_json):
    assert run_json("gravity", "planar3", "-1,0,0", "0,-0.5,1.2")["q"] == [[-1.0, 0.0, 0.0], [0.0, -0.5, 1.2]]
    text = words(run("gravity", "planar3", "-1,0,0", "0,-0.5,1.2").stdout)
    assert "joint pose 1 pose 2 unit" in text and "joint1 10.7597 19.0438 N m" in text


def test_with_one_joint_every_number_is_a_pose(run_json):
    torques = run_json("gravity", "pendulum", "-1", "0", "1")["torques"]
    np.testing.assert_allclose(np.ravel(torques), PENDULUM * np.sin([-1.0, 0.0, 1.0]), atol=1e-12)


def test_many_poses_are_listed_and_too_many_summed_up(run):
    listed = run("gravity", "planar3", *["0,0,0"] * 20).stdout
    assert listed.count("19.9143") == 20
    summed = words(run("gravity", "planar3", *["0,0,0"] * 60, "1.5707963267948966,0,0").stdout)
    assert "largest of 61" in summed and "joint1 0.0000" in summed


@pytest.mark.parametrize(
    ("pose", "message"),
    [
        (("0", "0"), "has 2 numbers; expected 3, one for each of joint1, joint2, joint3"),
        (("0,0,0,0",), "has 4 numbers"),
        (("0,0,0,",), "has 4 numbers"),
        (("0,0,0", "1"), "has 1 numbers"),
        (("1e10", "0", "0"), "expected a number within"),
    ],
)
def test_wrong_pose_is_our_error(run, pose, message):
    result = run("gravity", "planar3", *pose)
    assert result.exit_code == 1
    assert message in result.stderr


@pytest.mark.parametrize("text", ["x", "", "nan", "inf", "1_0", "0x1", "1e999", "٣"])
def test_pose_that_is_no_number_is_a_usage_error(run, text):
    result = run("gravity", "planar3", "0", "0", text)
    assert result.exit_code == 2
    assert "is not a number" in result.stderr


def test_robot_without_joints_is_our_error(run, tmp_path):
    file = tmp_path / "stone.urdf"
    file.write_text('<robot name="stone"><link name="base"/></robot>')
    for arguments in ((), ("0",), ("--csv", file)):
        result = run("gravity", file, *arguments)
        assert result.exit_code == 1
        assert "no moving joint" in result.stderr


def test_number_left_out_between_commas_is_not_skipped(run):
    result = run("gravity", "planar3", "0,,1")
    assert result.exit_code == 2
    assert "POSE '' is not a number" in result.stderr


def test_misspelt_option_is_not_taken_for_a_pose(run):
    result = run("gravity", "planar3", "--degreess", "0", "0", "0")
    assert result.exit_code == 2
    assert "--degreess" in result.stderr and "--degrees" in result.stderr


def test_degrees_are_for_rotary_joints_and_the_mount(run_json):
    robot = cp.load("scara").mounted(rpy=(math.pi / 2, 0, 0))
    document = run_json("gravity", "scara", "90", "-45", "0.1", "30", "--degrees", "--mount-rpy", "90", "0", "0")
    np.testing.assert_allclose(document["q"][0], [math.pi / 2, -math.pi / 4, 0.1, math.pi / 6])
    np.testing.assert_allclose(document["torques"][0], robot.gravity(document["q"][0]), atol=1e-12)


def test_mount_upside_down_turns_the_force_over(run_json):
    assert run_json("gravity", "slider", "--mount-rpy", str(math.pi), "0", "0")["torques"] == [[pytest.approx(-SLIDER)]]


def test_payload_adds_its_weight(run, run_json):
    document = run_json("gravity", "slider", "--payload", "2")
    assert document["torques"] == [[pytest.approx(SLIDER + 2 * 9.81)]]
    assert document["payloads"] == [{"link": cp.load("slider").link_names[-1], "mass": 2.0, "com": [0.0, 0.0, 0.0]}]
    assert "of which 2 kg on" in run("gravity", "slider", "--payload", "2").stdout


def test_payload_com_and_link_are_used(run_json):
    robot = cp.load("dualarm19").with_payload(1.5, com=(0.0, -0.1, 0.2), link="left_hand")
    options = ("--payload", "1.5", "--payload-com", "0", "-0.1", "0.2", "--payload-link", "left_hand")
    document = run_json("gravity", "dualarm19", *options)
    np.testing.assert_allclose(document["torques"][0], robot.gravity(np.zeros(19)), atol=1e-12)


@pytest.mark.parametrize(
    ("options", "exit_code", "message"),
    [
        (("--payload", "1"), 1, "--payload-link is required: the robot has 2 leaf links (right_hand, left_hand)"),
        (
            ("--payload", "1", "--payload-link", "nose"),
            1,
            "--payload-link names no link of the robot: there is no link",
        ),
        (("--payload", "-1", "--payload-link", "left_hand"), 1, "payload mass is -1"),
        (("--payload", "nan", "--payload-link", "left_hand"), 1, "mass"),
        (("--payload-com", "0", "0", "0"), 2, "need --payload"),
        (("--payload-link", "left_hand"), 2, "need --payload"),
        (("--payload", "heavy"), 2, "heavy"),
    ],
)
def test_wrong_payloads_are_refused(run, options, exit_code, message):
    result = run("gravity", "dualarm19", *options)
    assert result.exit_code == exit_code
    assert message in result.stderr


def test_pose_outside_its_limits_is_noted(run, run_json):
    result = run("gravity", "wam7", "0", "-30", "0", "0", "0", "0", "0")
    assert result.exit_code == 0
    assert "note: pose 1: joint2 = -30 is outside its limits -2 … 2 rad" in result.stderr
    assert len(run_json("gravity", "wam7", "0,-30,0,0,0,0,50", "0,0,0,0,0,0,50")["notes"]) == 1
    assert run("gravity", "wam7").stderr == ""


def test_warnings_about_the_robot_go_to_stderr(run, run_json, urdf):
    urdf.write_text(urdf.read_text().replace('<mass value="0.1"/>', '<mass value="0"/>'))
    assert "warning: " in run("gravity", urdf).stderr
    assert len(run_json("gravity", urdf)["warnings"]) == 1


def test_csv_by_name_permuted_with_other_columns(run, run_json, tmp_path):
    file = tmp_path / "poses.csv"
    file.write_text('time, joint3,joint1,note,joint2\n0.0,1.2,0.1,start,-0.5\n0.1,1.3,0.2,"a, b",-0.6\n')
    document = run_json("gravity", "planar3", "--csv", file)
    assert document["q"] == [[0.1, -0.5, 1.2], [0.2, -0.6, 1.3]]
    np.testing.assert_allclose(document["torques"], cp.load("planar3").gravity(document["q"]), atol=1e-12)
    assert "note: columns of no joint are ignored: time, note" in run("gravity", "planar3", "--csv", file).stderr


def test_csv_from_standard_input_in_degrees(run_json):
    document = run_json("gravity", "pendulum", "--csv", "-", "--degrees", input="joint1\n90\n-90\n")
    np.testing.assert_allclose(np.ravel(document["torques"]), [PENDULUM, -PENDULUM])


def test_csv_error_carries_path_and_line(run, run_json, tmp_path):
    file = tmp_path / "poses.csv"
    file.write_text("joint1,joint2,joint3\n0,0,0\n0,zero,0\n")
    error = run_json("gravity", "planar3", "--csv", file, exit_code=1)["error"]
    assert error["kind"] == "DataFileError"
    assert (error["path"], error["line"]) == (str(file), 3)
    assert run("gravity", "planar3", "--csv", file).stderr.startswith(f"error: {file}:3: joint2 is 'zero'")


def test_poses_may_not_come_from_two_places(run):
    result = run("gravity", "planar3", "0", "0", "0", "--csv", "poses.csv")
    assert result.exit_code == 2


def test_out_writes_every_digit_and_names(run, run_json, tmp_path):
    file = tmp_path / "torques.csv"
    poses = [f"{value},{-value},1" for value in np.linspace(-2.0, 2.0, 25)]
    assert "25 poses written" in run("gravity", "planar3", *poses, "--out", file).stderr
    rows = list(csv.reader(io.StringIO(file.read_text())))
    assert rows[0] == ["joint1", "joint2", "joint3"]
    written = np.array(rows[1:], dtype=np.float64)
    np.testing.assert_array_equal(written, run_json("gravity", "planar3", *poses)["torques"])
    document = run_json("gravity", "planar3", *poses, "--out", file)
    assert document["out"] == str(file) and document["torques"] is None and document["poses"] == 25


def test_out_to_standard_output_is_only_csv(run):
    result = run("gravity", "planar3", "--out", "-")
    rows = list(csv.reader(io.StringIO(result.stdout)))
    assert rows[0] == ["joint1", "joint2", "joint3"] and len(rows) == 2
    assert run("gravity", "planar3", "--out", "-", "--json").exit_code == 2


def test_out_never_overwrites_the_poses(run, tmp_path):
    file = tmp_path / "poses.csv"
    file.write_text("0,0,0\n")
    result = run("gravity", "planar3", "--csv", file, "--out", tmp_path / "." / "poses.csv")
    assert result.exit_code == 1
    assert file.read_text() == "0,0,0\n"


@pytest.mark.parametrize("name", ["", "no/such/folder.csv"])
def test_out_that_cannot_be_written_is_our_error(run, tmp_path, name):
    result = run("gravity", "planar3", "--out", tmp_path / name)
    assert result.exit_code == 1
    assert "cannot be written" in result.stderr


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.one_of(
        st.binary(max_size=200),
        st.text(alphabet='0123456789.,;\t\n\r"-+eE#_naif joint1', max_size=60).map(str.encode),
        st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=5).map(lambda q: "\n".join(map(repr, q)).encode()),
    )
)
def test_any_bytes_as_csv_give_torques_or_our_error(run, tmp_path, data):
    """Whatever the file holds, it is computed exactly or refused in words: never a traceback, never a NaN."""
    file = tmp_path / "poses.csv"
    file.write_bytes(data)
    result = run("gravity", "pendulum", "--csv", file, "--out", "-")
    if result.exit_code == 0:
        torques = np.array(list(csv.reader(io.StringIO(result.stdout)))[1:], dtype=np.float64)
        assert torques.shape[1] == 1 and len(torques) >= 1
        assert np.all(np.abs(torques) <= PENDULUM + 1e-9)
    else:
        assert result.exit_code == 1
        assert result.stdout == "" and result.stderr.startswith(f"error: {file}")
