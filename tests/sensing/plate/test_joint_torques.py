"""BaseSensor.joint_torques against the equations link by link, for every instruction set; what callers may pass."""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc
from contextlib import nullcontext

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.description import parse_urdf
from counterpoise.dynamics import kernel as kernels
from counterpoise.sensing.plate.gravity_wrench import gravity_wrenches
from counterpoise.sensing.plate.joint_analyzer import JointAnalyzer, Term, analyzed
from library.native_builds import set_names, using
from library.random_robots import random_motion, random_robot, random_sensor, relative

native_only = pytest.mark.skipif(not kernels.NATIVE, reason="the native kernel is not built or is disabled")
COUNTS = (None, *range(1, 18), 33)
Q = np.array([0.1, -0.4, 0.7, 1.2])
WAM4 = cp.load("wam4")


def rows(robot, seed, count):
    """Positions, wrenches, velocities and accelerations of one pose (None) or of ``count``."""
    q, dq, ddq = random_motion(robot, seed, count or 1)
    wrench = 20.0 * np.random.default_rng(seed).normal(size=(count or 1, 6))
    return tuple(each[0] if count is None else each for each in (q, wrench, dq, ddq))


def sensors(seed: int, reads: str = "on_robot"):
    """Yield any plate under a robot of any kind, for each instruction set, and its name; for the reference if none."""
    for name in set_names() or [""]:
        with using(name) if name else nullcontext():
            yield name, random_sensor(random_robot(seed).robot(), np.random.default_rng(seed), reads)


def by_stages(sensor: cp.BaseSensor, q, wrench, dq, ddq, form: str):
    """The equations of the forms and of the joint analyzer written out, link by link: no native code, no identity."""
    tree, frame = sensor.robot.tree, sensor.frame
    if form == "full":
        w = frame.wrench(wrench) - gravity_wrenches(tree, q)
        return analyzed(tree, q, w, dq, ddq)
    w = (wrench - sensor.tare_state.reading) @ frame.to_base.T
    if form == "tared":
        return analyzed(tree, q, w, np.zeros_like(q), np.zeros_like(q))
    w = w - gravity_wrenches(tree, q) + gravity_wrenches(tree, sensor.tare_state.q[None])
    return analyzed(tree, q, w, dq, ddq)


@pytest.mark.parametrize("seed", range(40))
def test_every_form_is_its_equation(seed) -> None:
    """Single poses and batches of any size, chains and trees, any plate, moving and at rest; all rows differ."""
    robot = random_robot(seed).robot()
    q, wrench, dq, ddq = rows(robot, seed, 33)
    none = np.zeros_like(q)
    for name, sensor in sensors(seed, ("on_robot", "on_sensor")[seed % 2]):
        sensor.tare(q[3], wrench[3])
        for form in ("full", "tared", "tared+model"):
            for motion in ((dq, ddq), (None, None), (None, ddq), (dq, None)):
                given = [none if rate is None else rate for rate in motion]
                expected = by_stages(sensor, q, wrench, *given, form)
                for count in COUNTS:
                    part = 0 if count is None else slice(count)
                    arguments = [None if rate is None else rate[part] for rate in motion]
                    found = sensor.joint_torques(q[part], wrench[part], *arguments, form)
                    assert found.shape == expected[part].shape == q[part].shape
                    assert relative(found - expected[part], expected) <= 1e-11, (name, form, count)
        one = sensor.joint_torques(q, wrench[0], dq, ddq, "full")
        assert relative(one - by_stages(sensor, q, wrench[[0] * 33], dq, ddq, "full"), one) <= 1e-11
        assert np.array_equal(
            sensor.joint_torques(q, wrench, dq, ddq), sensor.joint_torques(q, wrench, dq, ddq, sensor.forms()[0])
        )


@pytest.mark.parametrize("seed", range(12))
def test_equal_rows_give_equal_bytes(seed) -> None:
    """Equal poses and readings give equal bytes, in whatever lane they are computed, for every instruction set."""
    robot = random_robot(seed).robot()
    repeated = [np.repeat(each, 33, axis=0) for each in rows(robot, seed, 1)]
    for name, sensor in sensors(seed):
        for arguments in (repeated, repeated[:2]):
            result = sensor.joint_torques(*arguments)
            assert len({row.tobytes() for row in result}) == 1, name


@native_only
@pytest.mark.parametrize("name", set_names())
def test_equal_readings_of_a_serial_arm_give_equal_torques(name) -> None:
    """Eight equal rows, serial rotary chain with swung axes: a miscompiled kernel made them differ by 2 N m."""
    with using(name):
        sensor = cp.BaseSensor(cp.load("puma560"))
    torques = sensor.joint_torques(np.zeros((8, 6)), np.ones((8, 6)))
    assert len({row.tobytes() for row in torques}) == 1


@native_only
def test_a_row_does_not_depend_on_its_place_or_on_threads() -> None:
    """Each row of a batch has the same bytes alone in a batch and on any number of threads."""
    robot = cp.load("dualarm19")
    sensor = random_sensor(robot, np.random.default_rng(1), "on_robot")
    q, wrench, dq, ddq = rows(robot, 2, 9000)
    whole = sensor.joint_torques(q, wrench, dq, ddq)
    part = slice(1237, 1251)
    assert sensor.joint_torques(q[part], wrench[part], dq[part], ddq[part]).tobytes() == whole[part].tobytes()
    try:
        kernels.set_batch_threads(2)
        assert sensor.joint_torques(q, wrench, dq, ddq).tobytes() == whole.tobytes()
    finally:
        kernels.set_batch_threads(1)


@pytest.mark.parametrize("seed", range(8))
def test_the_analyzer_s_matrices_are_its_columns(seed: int) -> None:
    """A(q) w is the torque of a robot at rest, −B(q) q̈ what accelerations take off: link by link, to rounding."""
    robot = random_robot(seed).robot()
    analyzer = JointAnalyzer(robot)
    q, wrench, _, ddq = rows(robot, seed, 5)
    none, no_wrench = np.zeros_like(q), np.zeros((5, 6))
    torques = np.einsum("kij,kj->ki", analyzer.matrix(q), wrench)
    expected = analyzed(robot.tree, q, wrench, none, none)
    assert relative(torques - expected, expected) <= 1e-11
    taken = np.einsum("kij,kj->ki", analyzer.acceleration_matrix(q), ddq)
    expected = -analyzed(robot.tree, q, no_wrench, none, ddq)
    assert relative(taken - expected, expected) <= 1e-11
    assert np.abs(analyzer.matrix(q[0]) - analyzer.matrix(q)[0]).max() <= 1e-11


@native_only
def test_a_hot_call_with_out_allocates_nothing() -> None:
    """After warm-up joint_torques with out= allocates no Python or array memory."""
    sensor = cp.BaseSensor(WAM4)
    wrench, out = WAM4.base_wrench(Q), np.empty(4)
    sensor.tare(Q, wrench)
    for _ in range(10):
        sensor.joint_torques(Q, wrench, Q, Q, "auto", out)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        for _ in range(1000):
            sensor.joint_torques(Q, wrench, Q, Q, "auto", out)
        after, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 200 and peak - before < 500


SENSORS = [
    pytest.param(cp.BaseSensor(WAM4), id="all terms"),
    pytest.param(cp.BaseSensor(WAM4, terms=Term.WRENCH | Term.LINEAR), id="a subset of terms"),
]


@pytest.mark.parametrize("sensor", SENSORS)
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((np.zeros(3), np.zeros(6)), ["q has shape (3,)", "(4,)"]),
        ((Q, np.zeros(5)), ["wrench has shape (5,)", "fx"]),
        ((Q, np.zeros((2, 6))), ["wrench has shape (2, 6)", "one for each pose"]),
        ((np.stack([Q, Q]), np.zeros((3, 6))), ["one for each pose"]),
        ((Q, np.zeros(6), np.zeros(3)), ["dq has shape (3,)"]),
        ((Q, np.zeros(6), None, np.zeros((1, 4))), ["ddq has shape (1, 4)", "shape of q"]),
        ((Q, [np.nan, 0, 0, 0, 0, 0]), ["wrench['fx'] is nan"]),
        ((Q, [0, 0, 0, 0, np.inf, 0]), ["wrench['my'] is inf"]),
        (([np.nan, 0, 0, 0], np.zeros(6)), [f"q['{WAM4.joint_names[0]}'] is nan"]),
        ((Q, np.zeros(6), [0, 0, np.nan, 0]), [f"dq['{WAM4.joint_names[2]}'] is nan"]),
        ((Q, ["a"] * 6), ["real numbers"]),
        ((Q, None), ["real numbers"]),
    ],
)
def test_wrong_inputs_are_refused(sensor, arguments, words) -> None:
    """Wrong shapes, types and numbers raise InputError that names the argument, whichever terms are taken."""
    with pytest.raises(cp.InputError) as caught:
        sensor.joint_torques(*arguments)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("sensor", SENSORS)
def test_out_is_filled_and_returned_or_refused(sensor) -> None:
    """``out`` must fit and share no memory with an input."""
    out = np.empty(4)
    assert sensor.joint_torques(Q, np.ones(6), out=out) is out
    assert out == pytest.approx(sensor.joint_torques(Q, np.ones(6)))
    for bad in (np.empty(3), np.empty(4, dtype=np.float32), [0.0] * 4):
        with pytest.raises(cp.InputError, match="out"):
            sensor.joint_torques(Q, np.ones(6), out=bad)
    q = Q.copy()
    with pytest.raises(cp.InputError, match="shares memory"):
        sensor.joint_torques(q, np.ones(6), out=q)


@pytest.mark.parametrize("sensor", SENSORS)
def test_missing_and_unknown_arguments_are_type_errors(sensor) -> None:
    """As of any Python function."""
    with pytest.raises(TypeError):
        sensor.joint_torques(Q)
    with pytest.raises(TypeError):
        sensor.joint_torques(Q, np.ones(6), torque=3)


def test_unphysical_inertias_are_refused_for_motion_only() -> None:
    """At rest no inertia is used; a motion needs real ones."""
    text = b"""<robot name="odd"><link name="base"/><link name="arm"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="9" ixy="0" ixz="0" iyz="0"/></inertial></link>
    <joint name="j" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint></robot>"""
    sensor = cp.BaseSensor(cp.Robot(parse_urdf(text)))
    assert sensor.joint_torques([0.1], np.zeros(6)).shape == (1,)
    with pytest.raises(cp.errors.PhysicalConsistencyError):
        sensor.joint_torques([0.1], np.zeros(6), [0.1], [0.2])


@native_only
def test_this_file_passes_with_the_specification_alone() -> None:
    """Without native code."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:slipcover", __file__]
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    environment = {**os.environ, "COUNTERPOISE_DISABLE_NATIVE": "1"}
    done = subprocess.run(command, env=environment, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout
