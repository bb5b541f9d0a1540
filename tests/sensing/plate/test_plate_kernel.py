"""The native plate kernel against the NumPy specification, for every instruction set; what callers may pass."""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.description import parse_urdf
from counterpoise.dynamics import kernel as kernels
from counterpoise.sensing.plate.joint_analyzer import PlateKernel, ReferencePlateKernel
from native_sets import eight_lanes, installed_sets, set_names, using
from plate_cases import random_sensor, relative
from random_robots import random_motion, random_robot

native_only = pytest.mark.skipif(not kernels.NATIVE, reason="the native kernel is not built or is disabled")
COUNTS = (None, *range(1, 18), 33)
Q = np.array([0.1, -0.4, 0.7, 1.2])
WAM4 = cp.load("wam4")


def rows(robot, seed, count):
    """Positions, wrenches, velocities and accelerations of one pose (None) or of ``count``."""
    q, dq, ddq = random_motion(robot, seed, count or 1)
    wrench = 20.0 * np.random.default_rng(seed).normal(size=(count or 1, 6))
    return tuple(each[0] if count is None else each for each in (q, wrench, dq, ddq))


def check_agreement(robot, seed, sets) -> None:
    """Compare plate kernels with the specification: moving and at rest, to 1e-12 of the largest torque."""
    reference = ReferencePlateKernel(robot)
    q, wrench, dq, ddq = rows(robot, seed, 33)
    motions = ((dq, ddq), (None, None), (None, ddq), (dq, None))
    expected = [reference.joint_torques(q, wrench, *motion) for motion in motions]
    expected_of_one = reference.joint_torques(q, wrench[0], dq, ddq)
    for each in sets:
        used = each.plate(robot.tree)
        for count in COUNTS:
            part = 0 if count is None else slice(count)
            for motion, theirs in zip(motions, expected, strict=True):
                arguments = [None if rate is None else rate[part] for rate in motion]
                found = used.joint_torques(q[part], wrench[part], *arguments)
                assert found.shape == theirs[part].shape == q[part].shape
                assert relative(found - theirs[part], theirs[part]) <= 1e-12, (each.label, count)
            found = used.joint_torques(q[part], wrench[0], dq[part], ddq[part])
            assert relative(found - expected_of_one[part], expected_of_one[part]) <= 1e-12, (each.label, count)


def check_equal_rows(robot, seed, sets) -> None:
    """Equal poses and readings give equal bytes, in whatever lane they are computed."""
    repeated = [np.repeat(each, 33, axis=0) for each in rows(robot, seed, 1)]
    for each in sets:
        for arguments in (repeated, repeated[:2]):
            result = each.plate(robot.tree).joint_torques(*arguments)
            assert len({row.tobytes() for row in result}) == 1, each.label


@native_only
@pytest.mark.parametrize("seed", range(40))
def test_native_and_specification_agree(seed) -> None:
    """Single poses and batches of any size, chains and trees, for every instruction set; all rows differ."""
    check_agreement(random_robot(seed).robot(), seed, installed_sets())


@native_only
@pytest.mark.parametrize("seed", range(12))
def test_equal_rows_give_equal_bytes(seed) -> None:
    """For every instruction set."""
    check_equal_rows(random_robot(seed).robot(), seed, installed_sets())


@pytest.mark.parametrize("compiler", ["system", "ziglang"])
def test_eight_lanes_agree_on_machines_without_avx512(compiler) -> None:
    """The eight-lane templates, compiled for AVX2, do so too."""
    lanes = [eight_lanes(compiler)]
    for seed in range(12):
        robot = random_robot(seed).robot()
        check_agreement(robot, seed, lanes)
        check_equal_rows(robot, seed, lanes)


@native_only
@pytest.mark.parametrize("name", set_names())
def test_equal_readings_of_a_serial_arm_give_equal_torques(name) -> None:
    """Eight equal rows, serial rotary chain with swung axes: a miscompiled kernel made them differ by 2 N m."""
    with using(name):
        sensor = cp.BaseSensor(cp.load("puma560"))
    torques = sensor.joint_torques(np.zeros((8, 6)), np.ones((8, 6)))
    assert len({row.tobytes() for row in torques}) == 1


@native_only
@pytest.mark.parametrize("name", ["puma560", "wam7", "dualarm19", "scara", "gantry"])
def test_one_call_does_what_the_two_stages_do(name) -> None:
    """Every form in one native call equals gravity compensator and joint analyzer one after the other."""
    for instruction_set in set_names():
        with using(instruction_set):
            robot = cp.load(name)
            sensor = random_sensor(robot, np.random.default_rng(5), "on_sensor")
        q, wrench, dq, ddq = rows(robot, 5, 17)
        sensor.tare(q[0], wrench[0])
        for form in ("full", "tared", "tared+model", "auto"):
            motion = (None, None) if form == "tared" else (dq, ddq)
            found = sensor.joint_torques(q, wrench, *motion, form)
            expected = sensor._by_stages(q, wrench, *motion, form, None)
            assert relative(found - expected, expected) <= 1e-12, (instruction_set, form)


@native_only
def test_a_row_does_not_depend_on_its_place_or_on_threads() -> None:
    """Each row of a batch has the same bytes alone in a batch and on any number of threads."""
    robot = cp.load("dualarm19")
    kernel = PlateKernel(robot)
    q, wrench, dq, ddq = rows(robot, 2, 9000)
    whole = kernel.joint_torques(q, wrench, dq, ddq)
    part = slice(1237, 1251)
    assert kernel.joint_torques(q[part], wrench[part], dq[part], ddq[part]).tobytes() == whole[part].tobytes()
    try:
        kernels.set_batch_threads(2)
        assert kernel.joint_torques(q, wrench, dq, ddq).tobytes() == whole.tobytes()
    finally:
        kernels.set_batch_threads(1)


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


SENSORS = [pytest.param(PlateKernel(WAM4), id="kernel"), pytest.param(ReferencePlateKernel(WAM4), id="reference")]


@pytest.mark.parametrize("kernel", SENSORS)
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
def test_wrong_inputs_are_refused(kernel, arguments, words) -> None:
    """Wrong shapes, types and numbers raise InputError that names the argument, whichever kernel computes."""
    with pytest.raises(cp.InputError) as caught:
        kernel.joint_torques(*arguments)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("kernel", SENSORS)
def test_out_is_filled_and_returned_or_refused(kernel) -> None:
    """``out`` must fit and share no memory with an input."""
    out = np.empty(4)
    assert kernel.joint_torques(Q, np.ones(6), out=out) is out
    assert out == pytest.approx(kernel.joint_torques(Q, np.ones(6)))
    for bad in (np.empty(3), np.empty(4, dtype=np.float32), [0.0] * 4):
        with pytest.raises(cp.InputError, match="out"):
            kernel.joint_torques(Q, np.ones(6), out=bad)
    q = Q.copy()
    with pytest.raises(cp.InputError, match="shares memory"):
        kernel.joint_torques(q, np.ones(6), out=q)


@pytest.mark.parametrize("kernel", SENSORS)
def test_missing_and_unknown_arguments_are_type_errors(kernel) -> None:
    """As of any Python function."""
    with pytest.raises(TypeError):
        kernel.joint_torques(Q)
    with pytest.raises(TypeError):
        kernel.joint_torques(Q, np.ones(6), torque=3)


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
