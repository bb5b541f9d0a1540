"""``counterpoise doctor``: what is wrong with a recording."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.recording import read_mapping
from library.analytic_log import moving_log, with_column

ARM = cp.load("wam4")
LOG = moving_log(ARM)


@pytest.fixture
def good(tmp_path):
    path = tmp_path / "good.csv"
    cp.write_log(LOG, path)
    return path


@pytest.fixture
def turned(tmp_path):
    """A recording whose plate reads the opposite of what is declared."""
    path = tmp_path / "turned.npz"
    cp.write_log(replace(LOG, wrench=-LOG.wrench), path)
    return path


def words(text: str) -> str:
    return " ".join(text.split())


def test_missing_file_is_an_error(run):
    result = run("doctor", "missing.npz", "--robot", "wam4")
    assert result.exit_code == 1 and "missing.npz" in result.stderr


def test_good_recording_has_only_notes_and_nothing_to_mend(run, run_json, good, tmp_path):
    """The mapping is shown on request; --fix writes it whole also where there is nothing to mend, and JSON has it."""
    fix = tmp_path / "fix.toml"
    result = run("doctor", good, "--robot", "wam4", "--show-mapping", "--fix", fix)
    assert result.exit_code == 0 and "no change of it fixes this" in result.stderr
    assert set(read_mapping(fix).joints) == set(ARM.joint_names) and read_mapping(fix).time.column == "time"
    log, again = cp.read_log(good, ARM), cp.read_log(good, ARM, fix)
    for part in ("time", "q", "dq", "tau", "wrench"):
        np.testing.assert_array_equal(getattr(again, part), getattr(log, part))
    assert "2400 samples" in result.stdout and "wam4" in result.stdout and "[joints.joint1]" in result.stdout
    document = run_json("doctor", good, "--robot", "wam4")
    assert document["worst"] == "note" and document["mapping"] == document["fix"] == read_mapping(fix).to_table()
    assert document["fix_changes"] == {} and document["fix_file"] is None
    assert {finding["consequence"] for finding in document["findings"]} <= {"note"}
    assert document["facts"]["joints"] == list(ARM.joint_names)


def test_dangerous_recording_ends_with_3_and_its_fix_mends_it(run, run_json, turned, tmp_path):
    """What is wrong, why, and what to do, as text and as JSON; read by the mapping that was written, it is good."""
    fix = tmp_path / "fix.toml"
    result = run("doctor", turned, "--robot", "wam4")
    assert result.exit_code == 3
    text = words(result.stdout)
    assert "danger plate sign" in text and "→ Declare the other convention" in text
    document = run_json("doctor", turned, "--robot", "wam4", "--fix", fix, exit_code=3)
    first = document["findings"][0]
    assert (first["fault"], first["consequence"]) == ("plate-sign", "danger")
    assert first["evidence"]["log_evidence_gain"] > 10.0
    assert document["fix_changes"]["wrench"] == {"reads": "on_sensor"} and "reads" not in document["mapping"]["wrench"]
    assert document["fix"] == read_mapping(fix).to_table() and document["fix_file"] == str(fix)
    assert read_mapping(fix).wrench.reads == "on_sensor"
    assert "# doctor: plate-sign" in fix.read_text()
    document = run_json("doctor", turned, "--robot", "wam4", "--mapping", fix)
    assert document["worst"] == "note"


def test_fix_mends_a_foreign_file_with_its_own_column_names(run, run_json, tmp_path):
    """Efforts reversed and two of them exchanged, in a table that somebody else wrote."""
    log = moving_log(ARM, seed=2)
    tau = -log.tau[:, [0, 3, 2, 1]]
    names = [f"{kind}_{number}" for kind in ("pos", "vel", "torque") for number in range(1, 5)]
    table = np.column_stack([log.time, log.q, log.dq, tau])
    path, fix = tmp_path / "theirs.csv", tmp_path / "fix.toml"
    np.savetxt(path, table, delimiter=",", header=",".join(["time", *names]), comments="", fmt="%.12g")
    document = run_json("doctor", path, "--robot", "wam4", "--fix", fix, exit_code=3)
    assert {finding["fault"] for finding in document["findings"][:2]} == {"effort-sign", "joint-order"}
    mapping = read_mapping(fix)
    assert mapping.joints["joint2"].effort == "torque_4" and mapping.joints["joint4"].effort == "torque_2"
    assert all(section.effort_sign == -1 for section in mapping.joints.values())
    assert "# doctor: effort-sign" in fix.read_text() and "# doctor: joint-order" in fix.read_text()
    assert run_json("doctor", path, "--robot", "wam4", "--mapping", fix)["worst"] == "note"
    fixed = cp.read_log(path, ARM, fix)
    np.testing.assert_allclose(fixed.tau, log.tau, rtol=1e-9, atol=1e-9)


def test_json_and_file_have_the_same_mapping_wherever_it_is_written(run_json, tmp_path, monkeypatch):
    """A second fix, on a mapping of one's own; the files of the recording lie elsewhere, and are named alone."""
    log = moving_log(ARM, seed=3)
    names = [f"{kind}_{number}" for kind in ("pos", "torque") for number in range(1, 5)]
    for folder in ("recorded", "mappings/deep"):
        (tmp_path / folder).mkdir(parents=True)
    for file, columns in (("position.csv", log.q), ("effort.csv", -log.tau)):
        head = ",".join(["time", *names[:4]]) if file == "position.csv" else ",".join(["time", *names[4:]])
        table = np.column_stack([log.time, columns])
        np.savetxt(tmp_path / "recorded" / file, table, delimiter=",", header=head, comments="", fmt="%.12g")
    files = [tmp_path / "recorded" / file for file in ("position.csv", "effort.csv")]
    own, fix = tmp_path / "own.toml", tmp_path / "mappings" / "deep" / "fix.toml"
    own.write_text("[velocity]\ncutoff = 15.0\n\n[joints.joint2]\neffort_gain = 2.0\n")
    monkeypatch.chdir(tmp_path / "recorded")
    relative = ["position.csv", "effort.csv"]
    document = run_json(
        *("doctor", *relative, "--robot", "wam4", "--mapping", "../own.toml", "--fix", "../mappings/deep/fix.toml"),
        exit_code=3,
    )
    assert document["fix"] == read_mapping(fix).to_table() and document["fix_file"] == "../mappings/deep/fix.toml"
    assert document["mapping"]["velocity"] == document["fix"]["velocity"] == {"cutoff": 15.0}
    assert document["mapping"]["joints"]["joint2"]["effort_gain"] == 2.0
    assert "velocity" not in document["fix_changes"]
    signs = {name: section["effort_sign"] for name, section in document["fix"]["joints"].items()}
    assert signs == dict.fromkeys(ARM.joint_names, -1)
    monkeypatch.chdir(tmp_path)
    fixed, before = cp.read_log(files, ARM, fix), cp.read_log(files, ARM, own)
    gains = [document["fix"]["joints"][name].get("effort_gain", 1.0) for name in ARM.joint_names]
    np.testing.assert_allclose(fixed.tau, -before.tau / [1.0, 2.0, 1.0, 1.0] * gains, rtol=1e-9)


def test_what_only_limits_a_fit_ends_with_0(run, tmp_path):
    path = tmp_path / "gap.csv"
    cp.write_log(LOG[(LOG.time < 8.0) | (LOG.time > 9.0)], path)
    result = run("doctor", path, "--robot", "wam4")
    assert result.exit_code == 0 and "limits" in result.stdout and "time gaps" in words(result.stdout)


def test_without_robot_channels_and_time_are_judged(run, run_json, tmp_path):
    path = tmp_path / "dead.csv"
    cp.write_log(replace(LOG, tau=with_column(LOG.tau, 3, 0.0), wrench=None), path)
    result = run("doctor", path)
    assert result.exit_code == 3
    assert "no robot given" in result.stdout and "joint4" in result.stdout
    assert run_json("doctor", path, exit_code=3)["robot"] is None


def test_page_is_written(run, turned, tmp_path):
    pytest.importorskip("plotly", reason="plotly is not installed")
    page = tmp_path / "page.html"
    assert run("doctor", turned, "--robot", "wam4", "--page", page).exit_code == 3
    assert "opposite sign" in page.read_text()


def test_wrong_command_lines_are_refused(run, good):
    assert run("doctor").exit_code == 2
    assert run("doctor", good, "--mount-rpy", "0", "0", "0").exit_code == 2


def test_file_that_is_no_recording_is_an_error_with_its_name(run_json, tmp_path):
    path = tmp_path / "notes.csv"
    path.write_text("hello\nworld\n")
    error = run_json("doctor", path, "--robot", "wam4", exit_code=1)["error"]
    assert error["kind"] == "DataFileError" and error["path"] == str(path)


def test_mount_is_believed(run_json, tmp_path):
    """An arm on the wall is right when it is said to hang there."""
    wall = cp.load("puma560").mounted(rpy=(0.0, np.pi / 2, 0.0))
    path = tmp_path / "wall.npz"
    cp.write_log(moving_log(wall), path)
    said = run_json("doctor", path, "--robot", "puma560", "--mount-rpy", "0", str(np.pi / 2), "0")
    assert said["worst"] == "note"
