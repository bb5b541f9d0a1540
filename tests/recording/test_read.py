"""Reading recordings: conversion by the mapping, flags, held joints, missing parts, pieces, changes in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.errors import DataFileError, InputError
from counterpoise.recording.declared import Declared
from counterpoise.recording.log import SampleFlag
from counterpoise.recording.reading import propose_mapping, read_log, remapped, stream_log

SCARA = cp.load("scara")
NAMES = SCARA.joint_names


def write(path: Path, table: np.ndarray, *names: str) -> Path:
    np.savetxt(path, table, delimiter=",", header=",".join(names), comments="", fmt="%.17g")
    return path


def recording(folder: Path, rows: int = 50, **more: np.ndarray) -> tuple[Path, dict[str, np.ndarray]]:
    """A CSV recording of the SCARA at 100 Hz, with columns t, q_*, dq_*, tau_* by joint name."""
    rng = np.random.default_rng(2)
    parts: dict[str, np.ndarray] = {key: rng.normal(size=(rows, SCARA.n)) for key in ("q", "dq", "tau")}
    names = ["t", *(f"{key}_{name}" for key in parts for name in NAMES), *more]
    time = np.arange(rows) * 0.01
    path = folder / "run.csv"
    write(path, np.column_stack([time, *parts.values(), *more.values()]), *names)
    return path, {**parts, "t": time}


def test_a_plain_recording(tmp_path: Path) -> None:
    """Numbers come through exactly, in the robot's order, with what is known about them."""
    path, parts = recording(tmp_path)
    log = read_log(path, SCARA)
    assert log.joint_names == NAMES
    for name in ("q", "dq", "tau"):
        assert np.array_equal(getattr(log, name), parts[name])
    assert np.array_equal(log.time, parts["t"])
    assert not log.flags.any()
    declared = log.declared
    assert (declared.effort_kind, declared.velocity_from, declared.time_from) == ("torque", "measured", "column")
    assert declared.mapping["joints"][NAMES[0]]["position"] == f"q_{NAMES[0]}"
    assert declared.notes["files"] == ("run.csv",)


@pytest.mark.parametrize("rows", [1, 7, 50])
def test_pieces_are_the_whole(tmp_path: Path, rows: int) -> None:
    """Streaming gives the same log in pieces, and says how far it is."""
    path, _ = recording(tmp_path)
    seen: list[float] = []
    whole = read_log(path, SCARA)
    pieces = list(stream_log(path, SCARA, rows=rows, progress=seen.append))
    assert max(map(len, pieces)) <= rows
    for name in ("time", "q", "dq", "tau", "flags"):
        assert np.array_equal(np.concatenate([getattr(piece, name) for piece in pieces]), getattr(whole, name))
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


def test_units_signs_offsets_and_gains(tmp_path: Path) -> None:
    """Each entry of the mapping does what its equation says, for turning and for sliding joints."""
    path, parts = recording(tmp_path)
    first, slides = NAMES[0], next(i for i, joint in enumerate(SCARA.description.joints) if not joint.kind.rotates)
    mapping: dict[str, Any] = {
        "position": {"unit": "deg", "linear_unit": "mm"},
        "effort": {"unit": "mNm"},
        "time": {"unit": "ms"},
        "joints": {
            first: {
                "position_sign": -1,
                "position_offset": 0.5,
                "effort_sign": -1,
                "effort_gain": 2.0,
                "effort_offset": 3.0,
            }
        },
    }
    log = read_log(path, SCARA, mapping)
    assert log.q[:, 0] == pytest.approx(-np.deg2rad(parts["q"][:, 0]) + 0.5)
    assert log.dq[:, 0] == pytest.approx(-np.deg2rad(parts["dq"][:, 0]))
    assert log.q[:, 1] == pytest.approx(np.deg2rad(parts["q"][:, 1]))
    assert log.q[:, slides] == pytest.approx(1e-3 * parts["q"][:, slides])
    assert log.dq[:, slides] == pytest.approx(1e-3 * parts["dq"][:, slides])
    assert log.tau[:, 0] == pytest.approx(-2e-3 * parts["tau"][:, 0] + 3.0)
    assert log.tau[:, 1] == pytest.approx(1e-3 * parts["tau"][:, 1])
    assert log.time == pytest.approx(1e-3 * parts["t"])
    other = read_log(path, SCARA, {"velocity": {"unit": "rpm"}, "joints": {first: {"velocity_sign": -1}}})
    assert other.dq[:, 0] == pytest.approx(-2 * np.pi / 60 * parts["dq"][:, 0])


def test_motor_side(tmp_path: Path) -> None:
    """Gears and couplings: q_motor = G q_link and tau_link = Gᵀ tau_motor, power is the same on both sides."""
    rng = np.random.default_rng(3)
    q, dq, tau = rng.normal(size=(3, 50, SCARA.n))
    gear = np.diag(np.arange(10.0, 10.0 + SCARA.n))
    gear[1, 0] = -5.0
    tau_motor = np.linalg.solve(gear.T, tau.T).T
    names = [f"{key}_{n}" for key in ("q", "dq", "current") for n in range(SCARA.n)]
    path = write(tmp_path / "m.csv", np.hstack([q @ gear.T, dq @ gear.T, tau_motor / 0.1]), *names)
    mapping = {
        "time": {"rate": 200.0},
        "position": {"side": "motor"},
        "effort": {"side": "motor"},
        "motor": {"motor_per_link": gear.tolist()},
        "joints": {name: {"torque_constant": 0.1} for name in NAMES},
    }
    log = read_log(path, SCARA, mapping)
    assert log.q == pytest.approx(q)
    assert log.dq == pytest.approx(dq)
    assert log.tau == pytest.approx(tau)
    declared = log.declared
    assert (declared.effort_kind, declared.effort_side, declared.position_side) == ("torque", "link", "link")
    assert declared.motor_per_link == pytest.approx(gear)
    assert declared.torque_constant == pytest.approx(np.full(SCARA.n, 0.1))
    assert log.rate == pytest.approx(200.0)
    bare = read_log(path, SCARA, {"effort": {"side": "motor"}, "time": {"rate": 200.0}})
    assert (bare.declared.effort_kind, bare.declared.effort_side) == ("current", "motor")


def test_missing_velocity_and_time(tmp_path: Path) -> None:
    """Velocities are differentiated with a stated filter, times are assumed; both are declared."""
    time = np.arange(3000) * 0.01
    q = np.sin(2 * np.pi * 0.3 * time)[:, None] * np.ones(SCARA.n)
    path = write(tmp_path / "run.csv", np.hstack([q, -q]), *(f"{k}_{n}" for k in ("q", "tau") for n in range(SCARA.n)))
    log = read_log(path, SCARA)
    assert (log.declared.velocity_from, log.declared.time_from) == ("position", "rate")
    assert log.declared.notes["assumed_rate"] == 100.0
    assert log.declared.notes["velocity_cutoff"] == 5.0
    assert log.declared.notes["matched_by"] == "number"
    speed = 0.6 * np.pi * np.cos(0.6 * np.pi * time)[:, None] * np.ones(SCARA.n)
    assert log.dq[100:-100] == pytest.approx(speed[100:-100], abs=1e-3)
    assert not log.flags.any()
    pieces = np.concatenate([piece.dq for piece in stream_log(path, SCARA, rows=500)])
    assert pieces == pytest.approx(log.dq, abs=1e-5)
    told = read_log(path, SCARA, {"time": {"rate": 50.0}, "velocity": {"cutoff": 2.0}})
    assert told.declared.time_from == "rate"
    assert "assumed_rate" not in told.declared.notes
    assert told.declared.notes["velocity_cutoff"] == 2.0
    assert told.dq[100:-100] == pytest.approx(0.5 * speed[100:-100], abs=1e-2)


def test_flags_for_what_is_missing(tmp_path: Path) -> None:
    """NaN in a part marks that part of the sample, and no other; a joint that never had an effort marks nothing."""
    path, _ = recording(tmp_path, rows=5)
    lines = path.read_text().splitlines()
    fields = [line.split(",") for line in lines[1:]]
    fields[0][1] = ""
    fields[1][1 + SCARA.n] = "nan"
    fields[2][1 + 2 * SCARA.n] = "inf"
    path.write_text("\n".join([lines[0], *(",".join(row) for row in fields)]))
    flags = read_log(path, SCARA).flags
    assert flags.tolist() == [SampleFlag.Q_INVALID, SampleFlag.DQ_INVALID, SampleFlag.TAU_INVALID, 0, 0]
    cut = tmp_path / "cut.csv"
    cut.write_text("\n".join(",".join(line.split(",")[:-1]) for line in (lines[0], lines[5])))
    log = read_log(cut, SCARA)
    assert log.declared.notes["without_effort"] == (NAMES[-1],)
    assert np.isnan(log.tau[:, -1]).all()
    assert not log.flags.any()
    positions = write(tmp_path / "p.csv", np.ones((3, SCARA.n)), *(f"q_{name}" for name in NAMES))
    assert (read_log(positions, SCARA).flags == SampleFlag.TAU_INVALID).all()


def test_held_joints(tmp_path: Path) -> None:
    """Joints that the recording lacks stand still where the mapping says, else at 0 or the nearest limit."""
    arm = cp.load("puma560")
    path = write(tmp_path / "run.csv", np.ones((4, 2)), f"q_{arm.joint_names[1]}", f"tau_{arm.joint_names[1]}")
    log = read_log(path, arm, {"held": {arm.joint_names[0]: 0.25}})
    assert log.q[0].tolist() == [0.25, 1.0, 0.0, 0.0, 0.0, 0.0]
    assert not log.dq.any()
    assert np.isnan(log.tau[:, 0]).all()
    assert not log.flags.any()
    assert log.declared.held == {name: 0.25 if name == arm.joint_names[0] else 0.0 for name in log.declared.held}
    assert set(log.declared.held) == {name for name in arm.joint_names if name != arm.joint_names[1]}
    for wrong in ({arm.joint_names[1]: 0.0}, {"nobody": 0.0}):
        with pytest.raises(InputError, match="not recorded"):
            read_log(path, arm, {"held": wrong})


def test_cropped(tmp_path: Path) -> None:
    """By rows, both included, or by seconds from the first row."""
    path, parts = recording(tmp_path)
    assert np.array_equal(read_log(path, SCARA, {"time": {"first": 5, "last": 9}}).q, parts["q"][5:10])
    assert len(read_log(path, SCARA, {"time": {"start": 0.1, "end": 0.2001}})) == 11
    with pytest.raises(DataFileError, match="gives no row"):
        read_log(path, SCARA, {"time": {"first": 1000}})


def test_pieces_have_at_least_a_row(tmp_path: Path) -> None:
    """Of every kind of file alike."""
    path, _ = recording(tmp_path)
    with pytest.raises(InputError, match="rows is 0; expected at least 1"):
        next(stream_log(path, SCARA, rows=0))


def test_several_files_on_time(tmp_path: Path) -> None:
    """Positions lead; efforts of another rate and a plate that is late are brought to their times."""
    fast, slow = np.arange(500) * 0.004, np.arange(100) * 0.02
    q = write(tmp_path / "q.csv", np.column_stack([fast, *[np.sin(fast)] * SCARA.n]), "t", *(f"q_{n}" for n in NAMES))
    tau = write(tmp_path / "e.csv", np.column_stack([slow, *[slow] * SCARA.n]), "t", *(f"tau_{n}" for n in NAMES))
    channels = ("fx", "fy", "fz", "mx", "my", "mz")
    plate = write(tmp_path / "p.csv", np.column_stack([fast + 0.5, *[np.cos(fast)] * 6]), "t", *channels)
    mapping: dict[str, Any] = {
        "wrench": {"lag": 0.5, "reads": "on_sensor", "rotation": [[0, 1, 0], [-1, 0, 0], [0, 0, 1]], "force_unit": "kN"}
    }
    log = read_log([tau, q, plate], SCARA, mapping)
    assert np.array_equal(log.time, fast)
    inside = fast <= slow[-1]
    assert log.tau[inside, 0] == pytest.approx(fast[inside])
    assert (log.flags[~inside] == SampleFlag.TAU_INVALID).all()
    assert log.wrench is not None
    assert log.wrench[1:-1, 1] == pytest.approx(-1e3 * np.cos(fast)[1:-1], abs=1e-2)
    assert log.wrench[1:-1, 5] == pytest.approx(np.cos(fast)[1:-1], abs=1e-5)
    assert log.declared.sensor_reads == "on_sensor"
    assert (log.declared.notes["merged_by"], log.declared.notes["largest_gap"]) == ("time", 0.2)


def test_recovered_is_noted(tmp_path: Path) -> None:
    """How much of a damaged file was read stands in the log."""
    path, parts = recording(tmp_path)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(DataFileError, match="recover"):
        read_log(path, SCARA)
    log = read_log(path, SCARA, recover=True)
    assert np.array_equal(log.q, parts["q"][:-1])
    (lost,) = log.declared.notes["recovered"]
    assert (lost["file"], lost["rows"]) == ("run.csv", 49)
    assert lost["left_out"] == 1 and "line 51" in lost["reason"]


def test_logs_of_ours_fit_other_robots_by_name(tmp_path: Path) -> None:
    """A log of ours is put into the robot's order; joints too many are refused with both lists."""
    zeros = np.arange(12.0).reshape(2, 6)
    names = cp.load("puma560").joint_names[::-1]
    log = cp.Log(names, [0.0, 0.1], zeros, zeros, zeros, declared=Declared(torque_constant=np.arange(6.0)))
    cp.write_log(log, tmp_path / "run.npz")
    turned = read_log(tmp_path / "run.npz", cp.load("puma560"))
    assert np.array_equal(turned.q, zeros[:, ::-1])
    assert turned.declared.torque_constant == pytest.approx(np.arange(6.0)[::-1])
    with pytest.raises(DataFileError, match=r"robot lacks.*\n  log: .*\n  robot: "):
        read_log(tmp_path / "run.npz", SCARA)


def test_a_change_in_memory_is_the_change_of_the_mapping(tmp_path: Path) -> None:
    """Applying a fix to a log gives what reading its file again with the fixed mapping gives."""
    path, _ = recording(tmp_path)
    first, second = NAMES[:2]
    mapping = {"joints": {first: {"effort_sign": -1, "effort_offset": 1.0}}, "position": {"unit": "deg"}}
    log = read_log(path, SCARA, mapping)
    fix = {
        "joints": {
            first: {"effort_sign": -1, "effort_gain": 1.5, "position_offset": 0.3},
            second: {"effort": f"tau_{NAMES[2]}", "position_sign": -1},
            NAMES[2]: {"effort": f"tau_{second}"},
        },
        "robot": {"adds_gravity": True},
    }
    changed = remapped(log, fix, SCARA)
    again = read_log(path, SCARA, changed.declared.mapping)
    for name in ("time", "q", "dq", "tau", "flags"):
        assert getattr(changed, name) == pytest.approx(getattr(again, name))
    assert changed.declared.mapping == again.declared.mapping
    assert changed.declared.adds_gravity is True
    assert np.array_equal(changed.tau[:, 1], log.tau[:, 2])
    plain = cp.Log(NAMES, log.time, log.q, log.dq, log.tau)
    assert remapped(plain, {"joints": {first: {"effort_sign": -1}}}).tau[:, 0] == pytest.approx(-log.tau[:, 0])
    assert remapped(plain, {"joints": {first: {"effort": f"tau.{second}"}}}).tau[:, 0] == pytest.approx(log.tau[:, 1])
    with pytest.raises(InputError, match="is no key"):
        remapped(plain, {"mood": 1})


def test_written_logs_do_not_apply_their_mapping_again(tmp_path: Path) -> None:
    """The mapping a log was read with is kept as a note when it is written: its numbers are converted already."""
    path, _ = recording(tmp_path)
    log = read_log(path, SCARA, {"joints": {NAMES[0]: {"effort_sign": -1}}})
    cp.write_log(log, tmp_path / "log.npz")
    again = read_log(tmp_path / "log.npz", SCARA)
    assert np.array_equal(again.tau, log.tau)
    assert not again.declared.mapping
    assert again.declared.notes["earlier_mapping"] == log.declared.mapping
    fixed = read_log(tmp_path / "log.npz", SCARA, {"joints": {NAMES[0]: {"effort_sign": -1}}})
    assert np.array_equal(fixed.tau[:, 0], -log.tau[:, 0])


def test_mapping_files_and_proposals(tmp_path: Path) -> None:
    """A mapping may be a file; the proposal is what reading uses, and reads the same when written to a file."""
    path, parts = recording(tmp_path)
    (tmp_path / "m.toml").write_text(f"[joints.{NAMES[0]}]\nposition_sign = -1\n")
    assert np.array_equal(read_log(path, SCARA, tmp_path / "m.toml").q[:, 0], -parts["q"][:, 0])
    (tmp_path / "p.toml").write_text(propose_mapping(path, SCARA).to_toml())
    assert np.array_equal(read_log(path, SCARA, tmp_path / "p.toml").q, parts["q"])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\x1f\x8b12345678", "gzip"),
        (b"\x93NUMPY\x01\x00", r"np\.savez"),
        (b"\x89HDF\r\n\x1a\n", "HDF5"),
        (b"MATLAB 5.0 MAT-file", "MATLAB"),
        (b"\x7fELF\x02\x01\x01\0", "no text"),
    ],
)
def test_other_files_are_named(tmp_path: Path, content: bytes, words: str) -> None:
    """What is not read is recognised by its first bytes, whatever its ending, with what to do."""
    path = tmp_path / "run.csv"
    path.write_bytes(content)
    with pytest.raises(DataFileError, match=words):
        read_log(path)
    with pytest.raises(InputError, match="0 files"):
        read_log([])
