"""``counterpoise bench``: structure and agreement with the peer, never speed."""

from __future__ import annotations

import math

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.dynamics import NATIVE
from counterpoise.lab import (
    BATCH_BARS,
    CALL_BARS,
    Effort,
    Ratio,
    RoundTimes,
    Statement,
    import_seconds,
    machine,
    measure_copy,
    measure_robot,
    peer_of,
    time_interleaved,
)
from counterpoise.lab.benchmark import peer as peer_module
from counterpoise.lab.benchmark import results as results_module

TINY = Effort(rounds=2, seconds=1e-4, batch_rounds=2, batch_seconds=1e-4, batch_poses=30, copy_poses=30, imports=1)
KEYS = [*CALL_BARS, "batch_gravity", "batch_inverse_dynamics"]


def nothing() -> None:
    """Stand in for the progress bar."""


def test_json_has_every_figure_and_both_robots(run_json):
    document = run_json("bench", "--quick")
    assert document["instruction_set"] == (NATIVE or None)
    assert [robot["name"] for robot in document["robots"]] == ["wam7", "dualarm19"]
    assert [robot["joints"] for robot in document["robots"]] == [7, 19]
    for robot in document["robots"]:
        assert [operation["key"] for operation in robot["operations"]] == KEYS
        for operation in robot["operations"]:
            times = operation["seconds"]
            assert 0.0 < times["min"] <= times["median"] <= times["max"]
        if document["pinocchio"] is not None:
            assert robot["largest_difference"] <= 1e-9
            for operation in robot["operations"]:
                assert operation["ratio"]["lower_quartile"] <= operation["ratio"]["median"]
                assert operation["pinocchio_seconds"]["median"] > 0.0
                assert operation["passes"] in ((True, False) if NATIVE else (None,))
    assert set(document["copy"]["seconds"]) == {
        "robot.gravity(Q, T)",
        "robot.gravity(Q)",
        "Q.copy()",
        "np.copyto(C, Q)",
    }
    assert document["copy"]["gravity_over_copy"]["median"] > 0.0
    assert document["import_seconds"]["counterpoise"] > 0.0 and document["import_seconds"]["numpy"] > 0.0
    assert set(document["machine"]) >= {"processor", "cores", "python", "numpy", "counterpoise"}


def test_text_shows_ratios_beside_bars(run, monkeypatch):
    pytest.importorskip("pinocchio")
    monkeypatch.setattr(results_module, "QUICK", TINY)
    result = run("bench", "--quick", "--robot", "planar3")
    assert result.exit_code == 0
    for word in ("planar3, 3 joints", "gravity(q, out)", "Pinocchio", "np.copyto(C, Q)", "import counterpoise takes"):
        assert word in result.stdout
    assert "computeJointTorqueRegressor (all 10 parameters" in " ".join(result.stdout.split())
    if NATIVE:
        assert "≥ 3.5" in result.stdout and ("pass" in result.stdout or "below" in result.stdout)


def test_without_the_peer_our_times_are_shown_and_how_to_compare(run, run_json, monkeypatch):
    monkeypatch.setattr(peer_module, "_pinocchio", lambda: None)
    monkeypatch.setattr(results_module, "QUICK", TINY)
    result = run("bench", "--quick", "--robot", "planar3")
    assert result.exit_code == 0
    assert "pip install pin" in result.stderr
    assert "gravity(q, out)" in result.stdout and "≥" not in result.stdout
    document = run_json("bench", "--quick", "--robot", "planar3")
    assert document["pinocchio"] is None
    assert all(operation["ratio"] is None for operation in document["robots"][0]["operations"])


def test_robot_by_file_with_mimic_is_measured_alone(run, urdf, monkeypatch):
    monkeypatch.setattr(results_module, "QUICK", TINY)
    result = run("bench", "--quick", "--robot", urdf)
    assert result.exit_code == 0
    assert "mimic" in result.stderr or peer_module.peer_version() is None


@pytest.mark.parametrize("source", ["nope", "missing.urdf"])
def test_unknown_robot_is_our_error(run, source):
    result = run("bench", "--quick", "--robot", source)
    assert result.exit_code == 1
    assert result.stderr.startswith("error: ")


def test_robot_without_joints_is_our_error(run, tmp_path):
    file = tmp_path / "stone.urdf"
    file.write_text('<robot name="stone"><link name="base"/></robot>')
    result = run("bench", "--quick", "--robot", file)
    assert result.exit_code == 1
    assert "no moving joint" in result.stderr


TILTED = """<robot name="tilted"><link name="base"/>{links}{joints}</robot>"""
LINK = """<link name="l{i}"><inertial><origin xyz="0.1 -0.2 0.{i}" rpy="0.3 0.1 0"/><mass value="{m}"/>
<inertia ixx="2e-2" ixy="1e-3" ixz="0" iyy="3e-2" iyz="2e-3" izz="2.5e-2"/></inertial></link>"""
JOINT = """<joint name="j{i}" type="{kind}"><parent link="{parent}"/><child link="l{i}"/><axis xyz="{axis}"/>
<origin xyz="0.2 0.1 0.3" rpy="0.4 -0.2 0.{i}"/><limit lower="-3" upper="3" effort="9" velocity="9"/></joint>"""


@pytest.fixture
def tilted(tmp_path):
    """A tree with axes in every direction: rotary and linear, aligned and not, and a fixed joint between."""
    kinds = ["revolute", "prismatic", "fixed", "revolute", "prismatic", "revolute"]
    axes = ["0.6 0 0.8", "0 -1 0", "0 0 1", "-1 0 0", "1 2 3", "0 0 -1"]
    parents = ["base", "l0", "l1", "l2", "l0", "l4"]
    links = "".join(LINK.format(i=i, m=1.0 + i) for i in range(6))
    joints = "".join(
        JOINT.format(i=i, kind=kind, axis=axis, parent=parent)
        for i, (kind, axis, parent) in enumerate(zip(kinds, axes, parents, strict=True))
    )
    file = tmp_path / "tilted.urdf"
    file.write_text(TILTED.format(links=links, joints=joints))
    return cp.load(file)


@pytest.mark.parametrize("name", ["wam7", "dualarm19", "scara", "gantry", "puma560_akb", "tilted"])
def test_the_peer_is_the_same_robot(request, name):
    pytest.importorskip("pinocchio")
    upright = request.getfixturevalue("tilted") if name == "tilted" else cp.load(name)
    robot = upright.mounted(rpy=(0.3, -0.7, 0.1))
    result = measure_robot(robot, peer_of(robot), TINY, NATIVE, nothing)
    assert result.largest_difference is not None and result.largest_difference <= 1e-9


def test_libraries_that_disagree_are_not_timed():
    pytest.importorskip("pinocchio")
    robot = cp.load("planar3")
    other = peer_of(robot.mounted(rpy=(0.0, 1e-6, 0.0)))
    with pytest.raises(cp.CounterpoiseError, match="gravity of 'planar3' differs from Pinocchio"):
        measure_robot(robot, other, TINY, NATIVE, nothing)


def test_bars_are_those_of_the_kernel():
    assert CALL_BARS["gravity"].least == 3.5 and CALL_BARS["gravity_out"].least == 7.0
    assert [BATCH_BARS[isa]["batch_gravity"].least for isa in ("avx512", "avx2", "baseline")] == [25.0, 20.0, 10.0]
    assert [BATCH_BARS[isa]["batch_inverse_dynamics"].least for isa in ("avx512", "avx2", "baseline")] == [
        18.0,
        12.0,
        5.0,
    ]


def test_numpy_kernel_has_no_bars():
    pytest.importorskip("pinocchio")
    robot = cp.load("pendulum")
    result = measure_robot(robot, peer_of(robot), TINY, "", nothing)
    assert {operation.passes for operation in result.operations} == {None}


def test_every_statement_is_timed_in_every_round():
    counts = {"a": 0, "b": 0}
    rounds = []

    def after_round() -> None:
        rounds.append(dict(counts))

    def bump(name: str) -> None:
        counts[name] += 1

    statements = {name: Statement(f"bump({name!r})", {"bump": bump}, poses=10) for name in counts}
    times = time_interleaved(statements, rounds=4, seconds=1e-5, after_round=after_round)
    assert len(rounds) == 4
    assert all(np.diff([done[name] for done in rounds]).min() > 0 for name in counts)
    assert all(len(times[name].rounds) == 4 for name in counts)


def test_ratio_is_taken_within_rounds():
    slow, fast = RoundTimes(np.array([10.0, 400.0, 30.0])), RoundTimes(np.array([1.0, 40.0, 2.0]))
    assert Ratio.of(slow, fast).median == 10.0
    assert Ratio.of(slow, fast).upper_quartile == 12.5


def test_time_is_per_pose():
    names = {"x": list(range(20_000))}
    one, thousand = (
        time_interleaved({"s": Statement("sum(x)", names, poses)}, rounds=3, seconds=1e-3, after_round=nothing)["s"]
        for poses in (1, 1000)
    )
    assert 100.0 < one.median / thousand.median < 10_000.0


def test_copy_is_measured_on_the_same_poses():
    copy = measure_copy(cp.load("planar3"), TINY, nothing)
    assert copy.poses == 30
    gravity = copy.times["robot.gravity(Q, T)"].rounds
    expected = np.median(gravity / copy.times["np.copyto(C, Q)"].rounds)
    assert copy.over_copy.median == pytest.approx(expected)


def test_import_time_of_a_module_that_does_not_exist_is_unknown():
    found = import_seconds(("math", "no_such_module"), 1, nothing)
    assert found["no_such_module"] is None
    assert found["math"] is not None and 0.0 <= found["math"] < math.inf


def test_machine_names_versions_and_no_host():
    import platform

    found = machine()
    assert found["numpy"] == np.__version__ and found["counterpoise"] == cp.__version__
    assert platform.node() not in [str(value) for value in found.values()]
