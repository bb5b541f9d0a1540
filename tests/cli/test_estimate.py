"""``counterpoise estimate``: joint torques from a plate, from files to files."""

from __future__ import annotations

import csv
from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp
from library.analytic_log import moving_log, standing_log

PUMA = cp.load("puma560")
LOG = moving_log(PUMA)
BIAS = np.array([3.0, -2.0, 5.0, 0.5, -0.4, 0.2])


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture
def good(tmp_path):
    """A recording whose plate is as declared, its zero included."""
    path = tmp_path / "good.npz"
    cp.write_log(replace(LOG, wrench=LOG.wrench - BIAS), path)
    return path


@pytest.fixture
def standing(tmp_path):
    """A recording that begins with half a second of rest."""
    path = tmp_path / "standing.npz"
    cp.write_log(standing_log(PUMA, [1.0, -1.0]), path)
    return path


@pytest.fixture
def turned(tmp_path):
    """A recording of a plate turned by 70° about its axis, 10 ms late, with another sign than declared."""
    angle = np.deg2rad(70.0)
    turn = np.array([[np.cos(angle), np.sin(angle), 0], [-np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    reading = -np.hstack([LOG.wrench[:, :3] @ turn.T, LOG.wrench[:, 3:] @ turn.T])
    late = np.column_stack([np.interp(LOG.time - 0.01, LOG.time, column) for column in reading.T])
    path = tmp_path / "turned.npz"
    cp.write_log(replace(LOG, wrench=late), path)
    return path


def test_table_has_numbers_for_joints_that_speak_and_words_for_those_that_do_not(run, good):
    result = run("estimate", good, "--robot", "puma560")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("USABLE: torques of")
    lines = {line.split()[0]: line for line in result.stdout.splitlines() if line.startswith("joint")}
    assert "unknown" in lines["joint6"] and "unknown" not in lines["joint2"]
    assert "No information on joint3" in result.stdout
    assert "Motor − plate is friction" in result.stdout


def test_json_holds_joints_plate_and_verdict(run_json, good):
    document = run_json("estimate", good, "--robot", "puma560")
    assert document["verdict"] == "good" and document["form"] == "full" and document["valid"] == 1.0
    joints = {joint["name"]: joint for joint in document["joints"]}
    expected = np.sqrt(np.mean(PUMA.gravity(LOG.q)[:, 1] ** 2))
    assert joints["joint2"]["torque_rms"] == pytest.approx(expected, rel=0.1)
    assert joints["joint2"]["band"] < joints["joint2"]["torque_rms"]
    assert joints["joint6"]["torque_rms"] is None and joints["joint6"]["why"]
    assert document["plate"]["my"]["explained"] > 0.99
    assert document["sensor"] is None and document["friction"] is None and document["out"] is None


def test_tare_gives_the_form_with_the_models_difference_and_a_file(run_json, standing, tmp_path):
    out = tmp_path / "torques.csv"
    document = run_json("estimate", standing, "--robot", "puma560", "--tare", "0:0.5", "--out", out)
    assert document["form"] == "tared+model" and document["tare"]["time_s"] == pytest.approx(0.245, abs=0.02)
    assert 0.0 < document["valid"] < 1.0
    with out.open() as stream:
        rows = list(csv.DictReader(stream))
    assert rows[10]["valid"] == "1" and rows[-1]["valid"] == "0"
    assert float(rows[10]["dynamic_torque.joint2 [N m]"]) == pytest.approx(0.0, abs=1.0)


def test_plate_that_disagrees_ends_with_3_and_proposes_its_calibration(run, turned):
    result = run("estimate", turned, "--robot", "puma560")
    assert result.exit_code == 3
    text = words(result.stdout)
    assert text.startswith("DO NOT USE") and "--calibrate-sensor" in text


def test_calibrated_plate_is_found_kept_and_used_again(run, run_json, turned, tmp_path):
    """Sign, turn and lag are found; the file serves the next recording; both are usable."""
    kept = tmp_path / "plate.json"
    found = run_json("estimate", turned, "--robot", "puma560", "--calibrate-sensor", "--save-sensor", kept)
    assert found["verdict"] != "bad" and found["sensor"]["reads"] == "on_sensor"
    assert found["sensor"]["yaw_deg"] == pytest.approx(70.0, abs=1.0)
    assert found["sensor"]["lag_s"] == pytest.approx(0.01, abs=0.005)
    again = run_json("estimate", turned, "--robot", "puma560", "--sensor", kept)
    first, second = (next(j for j in one["joints"] if j["name"] == "joint2") for one in (found, again))
    assert second["torque_rms"] == pytest.approx(first["torque_rms"], rel=0.02)
    text = run("estimate", turned, "--robot", "puma560", "--calibrate-sensor").stdout
    assert "The plate, as this recording shows it" in text


def test_friction_is_printed_per_joint(run, run_json, good):
    result = run("estimate", good, "--robot", "puma560", "--friction")
    assert result.exit_code == 0, result.output
    assert "Friction per joint" in result.stdout and "torque gain" in result.stdout
    document = run_json("estimate", good, "--robot", "puma560", "--friction")
    friction = {joint["name"]: joint for joint in document["friction"]}
    level = 0.1 * np.abs(PUMA.gravity(LOG.q)[:, 1]).max()
    assert friction["joint2"]["determined"] and friction["joint2"]["coulomb"] == pytest.approx(level, rel=0.15)


def test_without_efforts_friction_is_left_out_and_the_torques_are_written(run, tmp_path):
    path, out = tmp_path / "silent.npz", tmp_path / "torques.csv"
    cp.write_log(replace(LOG, wrench=LOG.wrench - BIAS, tau=np.full(LOG.tau.shape, np.nan)), path)
    result = run("estimate", path, "--robot", "puma560", "--friction", "--out", out)
    assert result.exit_code == 0, result.output
    assert "friction is not fitted" in result.stderr
    assert out.exists()


def test_friction_is_not_fitted_to_a_plate_that_disagrees(run, turned):
    result = run("estimate", turned, "--robot", "puma560", "--friction")
    assert result.exit_code == 3 and "friction is not fitted" in result.stderr
    assert "Friction per joint" not in result.stdout


def test_declared_mounting_is_used_and_the_command_line_overrules_it(run_json, tmp_path):
    """An arm on a wall: declared gravity makes the plate agree; calling it upright does not."""
    wall = PUMA.mounted(rpy=(0.0, np.pi / 2, 0.0))
    log = moving_log(wall, duration=12.0)
    path = tmp_path / "wall.npz"
    declared = replace(log.declared, gravity_base=wall.gravity_base)
    cp.write_log(replace(log, wrench=log.wrench - BIAS, declared=declared), path)
    assert run_json("estimate", path, "--robot", "puma560")["verdict"] == "good"
    upright = run_json("estimate", path, "--robot", "puma560", "--mount-rpy", 0, 0, 0, exit_code=3)
    assert upright["verdict"] == "bad"


def test_page_is_written(run, good, tmp_path):
    page = tmp_path / "plate.html"
    result = run("estimate", good, "--robot", "puma560", "--page", page)
    assert result.exit_code == 0 and "page written to" in result.stderr
    assert "Torques from the plate: good.npz" in page.read_text(encoding="utf-8")


def test_csv_with_foreign_names_goes_from_doctor_to_torques(run, run_json, tmp_path):
    """A turned plate in a foreign CSV: the doctor names it, its mapping fixes it, the torques are usable."""
    names = ["t_sec", *(f"axis{i}_deg" for i in range(1, 7)), *(f"axis{i}_Nm" for i in range(1, 7))]
    names += ["FP_Fx", "FP_Fy", "FP_Fz", "FP_Mx", "FP_My", "FP_Mz"]
    path, mapping, fixed = tmp_path / "foreign.csv", tmp_path / "map.toml", tmp_path / "fixed.toml"
    rows = np.hstack([LOG.time[:, None], np.degrees(LOG.q), LOG.tau, BIAS - LOG.wrench])
    np.savetxt(path, rows, delimiter=",", header=",".join(names), comments="")
    joints = "".join(f'[joints.joint{i}]\nposition = "axis{i}_deg"\neffort = "axis{i}_Nm"\n' for i in range(1, 7))
    pose = "[[1,0,0,0],[0,1,0,0],[0,0,1,-0.4],[0,0,0,1]]"
    mapping.write_text(
        'format = "counterpoise-mapping 1"\n[time]\ncolumn = "t_sec"\n[position]\nunit = "deg"\n'
        f'[wrench]\ncolumns = {names[-6:]}\nreads = "on_robot"\nT_base_sensor = {pose}\n{joints}'.replace("'", '"')
    )
    said = run("doctor", path, "--robot", "puma560", "--mapping", mapping, "--fix", fixed)
    assert said.exit_code == 3 and "plate sign" in words(said.stdout)
    assert run("estimate", path, "--robot", "puma560", "--mapping", mapping).exit_code == 3
    document = run_json("estimate", path, "--robot", "puma560", "--mapping", fixed)
    assert document["verdict"] == "good"
    joint = document["joints"][1]
    assert joint["torque_rms"] == pytest.approx(np.sqrt(np.mean(PUMA.gravity(LOG.q)[:, 1] ** 2)), rel=0.1)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ((), "--robot is missing"),
        (("--robot", "puma560", "--save-sensor", "plate.json"), "needs --calibrate-sensor"),
        (("--robot", "puma560", "--sensor", "a.json", "--calibrate-sensor"), "exclude each other"),
        (("--robot", "puma560", "--tare", "1-2"), "START:END"),
        (("--robot", "puma560", "--tare", "2:1"), "START < END"),
        (("--robot", "puma560", "--out", "missing/torques.csv"), "there is no folder"),
        (("--robot", "puma560", "--out", "torques.txt"), "must end in .csv"),
        (("--robot", "puma560", "--page", "page.pdf"), "must end in .html"),
    ],
)
def test_wrong_command_lines_end_with_2(run, good, options, word):
    result = run("estimate", good, *options)
    assert result.exit_code == 2 and word in result.stderr


def test_results_never_overwrite_what_is_read(run, tmp_path):
    path = tmp_path / "run.csv"
    cp.write_log(LOG, path)
    before = path.read_bytes()
    result = run("estimate", path, "--robot", "puma560", "--out", path)
    assert result.exit_code == 2 and "files that are read" in result.stderr
    assert path.read_bytes() == before


def test_recording_without_a_plate_is_an_error(run, tmp_path):
    path = tmp_path / "bare.npz"
    cp.write_log(replace(LOG, wrench=None), path)
    result = run("estimate", path, "--robot", "puma560")
    assert result.exit_code == 1 and "has no plate" in result.stderr and "[wrench] columns" in result.stderr


def test_tare_in_motion_is_an_error(run, good):
    result = run("estimate", good, "--robot", "puma560", "--tare", "1:4")
    assert result.exit_code == 1 and "moved" in result.stderr and "never stands" in result.stderr


def test_folder_in_place_of_the_file_is_an_error(run, good, tmp_path):
    (tmp_path / "torques.csv").mkdir()
    result = run("estimate", good, "--robot", "puma560", "--out", tmp_path / "torques.csv")
    assert result.exit_code == 1 and "cannot be written" in result.stderr


@pytest.mark.parametrize("content", ["{}", "not json", '{"schema": "something else"}'])
def test_wrong_calibration_files_are_errors(run, good, tmp_path, content):
    path = tmp_path / "plate.json"
    path.write_text(content)
    result = run("estimate", good, "--robot", "puma560", "--sensor", path)
    assert result.exit_code == 1 and "plate.json" in result.stderr


def test_another_robots_calibration_is_an_error(run, turned, tmp_path):
    kept, other = tmp_path / "plate.json", tmp_path / "other.npz"
    assert run("estimate", turned, "--robot", "puma560", "--calibrate-sensor", "--save-sensor", kept).exit_code in (
        0,
        3,
    )
    wam = cp.load("wam7")
    cp.write_log(moving_log(wam, duration=8.0), other)
    result = run("estimate", other, "--robot", "wam7", "--sensor", kept)
    assert result.exit_code == 1 and "plate.json" in result.stderr
