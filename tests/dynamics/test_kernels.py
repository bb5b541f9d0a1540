"""One conformance suite for both kernels: the native one against the NumPy reference, for every instruction set."""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import subprocess
import sys
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.description import parse_urdf
from counterpoise.dynamics import kernel as kernels
from counterpoise.dynamics.kernel import Kernel
from counterpoise.dynamics.reference import ReferenceKernel
from library.native_builds import eight_lanes, installed_sets, set_names, using
from library.random_robots import random_motion, random_robot

SEEDS = range(60)
CATALOG = [entry.name for entry in cp.catalog()]
# One pose, whole lane blocks, blocks with every remainder; MANY is more poses than one range check covers.
COUNTS = (None, *range(1, 18), 33)
MANY = 1100

FRAME = np.vstack([np.eye(6), np.zeros(6)]) + np.random.default_rng(0).normal(size=(7, 6))

BLOCK = b"""<robot name="block"><link name="block"><inertial><origin xyz="0.1 0 0"/><mass value="2"/>
<inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>"""

native_only = pytest.mark.skipif(not kernels.NATIVE, reason="the native kernel is not built or is disabled")


def every_operation(compute, q, dq, ddq, wrench, link):
    """Yield (name, result) of all per-pose operations on a kernel."""
    yield "gravity", compute.gravity(q)
    yield "inverse_dynamics", compute.inverse_dynamics(q, dq, ddq)
    yield "base_wrench", compute.base_wrench(q, dq, ddq)
    yield "base_wrench at rest", compute.base_wrench(q)
    yield "base_wrench, no velocity", compute.base_wrench(q, ddq=ddq)
    yield "center_of_mass", compute.center_of_mass(q)
    yield "forward_kinematics", compute.forward_kinematics(q, at=link)
    yield "jacobian", compute.jacobian(q, at=link)
    yield "wrench_torque", compute.wrench_torque(q, wrench, at=link)
    yield "wrench_torque, one wrench", compute.wrench_torque(q, wrench.reshape(-1, 6)[0], at=link)
    yield "base_torques", compute.base_torques(q, wrench, dq, ddq)
    yield "base_torques at rest", compute.base_torques(q, wrench)
    yield "base_torques, no velocity", compute.base_torques(q, wrench, ddq=ddq)
    yield "base_torques, one wrench", compute.base_torques(q, wrench.reshape(-1, 6)[0], dq, ddq)
    yield "base_torques, frame", compute.base_torques(q, wrench, dq, ddq, frame=FRAME)
    yield "base_torques, frame and one wrench", compute.base_torques(q, wrench.reshape(-1, 6)[0], frame=FRAME)
    yield "gravity_regressor", compute.gravity_regressor(q)
    yield "inertial_regressor", compute.inertial_regressor(q, dq, ddq)
    yield "inertial_regressor at rest", compute.inertial_regressor(q)
    yield "base_wrench_regressor", compute.base_wrench_regressor(q, dq, ddq)
    yield "base_wrench_regressor at rest", compute.base_wrench_regressor(q)


def check_agreement(robot, seed, counts=COUNTS, sets=None) -> None:
    """Compare the kernels of every instruction set with the reference, to 1e-12 of the largest entry.

    The reference computes all poses once, no two of them alike; the kernels compute the first one, two, three ... of
    them.
    """
    rng = np.random.default_rng(seed)
    link = robot.link_names[int(rng.integers(len(robot.link_names)))]
    motion = random_motion(robot, seed, max(count or 1 for count in counts))
    wrench = rng.normal(size=(len(motion[0]), 6))
    expected = dict(every_operation(ReferenceKernel(robot.tree), *motion, wrench, link))
    for each in installed_sets() if sets is None else sets:
        used = each.kernel(robot.tree)
        for count in counts:
            part = 0 if count is None else slice(count)
            for name, result in every_operation(used, *(rows[part] for rows in (*motion, wrench)), link):
                theirs = expected[name][part]
                assert result.shape == theirs.shape, (each.label, name, count)
                assert result.dtype == np.float64 and result.flags.c_contiguous, (each.label, name, count)
                scale = max(1.0, float(np.max(np.abs(theirs), initial=0.0)))
                worst = float(np.max(np.abs(result - theirs), initial=0.0))
                assert worst <= 1e-12 * scale, (each.label, name, count, worst, scale)


def check_equal_rows(robot, seed, sets) -> None:
    """Equal poses give equal bytes, in whatever lane they are computed."""
    link = robot.link_names[-1]
    q, dq, ddq = (np.repeat(rows, 33, axis=0) for rows in random_motion(robot, seed, 1))
    wrench = np.repeat(np.random.default_rng(seed).normal(size=(1, 6)), 33, axis=0)
    for each in sets:
        for name, result in every_operation(each.kernel(robot.tree), q, dq, ddq, wrench, link):
            assert len({row.tobytes() for row in result}) == 1, (each.label, name)


@native_only
@pytest.mark.parametrize("seed", SEEDS)
def test_kernels_agree_on_random_trees(seed) -> None:
    """Native and reference give the same numbers on trees of every kind."""
    check_agreement(random_robot(seed).robot(), seed, counts=COUNTS if seed % 10 else (*COUNTS, MANY))


@native_only
@pytest.mark.parametrize("seed", range(12))
def test_equal_rows_give_equal_bytes(seed) -> None:
    """For every instruction set, on trees of every kind."""
    check_equal_rows(random_robot(seed).robot(), seed, installed_sets())


@pytest.mark.parametrize("compiler", ["system", "ziglang"])
def test_eight_lanes_agree_on_machines_without_avx512(compiler) -> None:
    """The eight-lane templates, compiled for AVX2, give the reference's numbers too, and equal rows equal bytes."""
    lanes = [eight_lanes(compiler)]
    for seed in range(12):
        robot = random_robot(seed).robot()
        check_agreement(robot, seed, sets=lanes)
        check_equal_rows(robot, seed, lanes)
    for name in ("wam7", "dualarm19", "scara"):
        check_agreement(cp.load(name), 1, sets=lanes)


@native_only
@pytest.mark.parametrize("name", CATALOG)
def test_kernels_agree_on_bundled_arms(name) -> None:
    """Native and reference give the same numbers on the catalog, upright and tilted."""
    robot = cp.load(name)
    check_agreement(robot, 1, counts=(*COUNTS, MANY) if name == "wam7" else COUNTS)
    check_agreement(robot.mounted(rpy=(0.4, -0.8, 1.1)), 2, counts=(None, 7))


@native_only
@pytest.mark.parametrize("size", [1e2, 1e5, 1.5e6, 1e7, 0.99e9])
def test_kernels_agree_at_large_angles(size) -> None:
    """Angles far beyond a turn, where the argument reduction changes its method, agree too."""
    robot = cp.load("wam7")
    reference = ReferenceKernel(robot.tree)
    q = np.random.default_rng(3).uniform(-size, size, (300, 7))
    # q + offset rounds like q itself, which bounds what any implementation can keep.
    tolerance = 1e-12 + 4e-16 * size
    expected = reference.gravity(q)
    scale = np.abs(expected).max()
    for each in installed_sets():
        kernel = each.kernel(robot.tree)
        assert np.abs(kernel.gravity(q) - expected).max() <= tolerance * scale, each.label
        assert np.abs(kernel.gravity(q[0]) - expected[0]).max() <= tolerance * scale, each.label


@native_only
def test_sine_and_cosine_are_accurate_everywhere() -> None:
    """A pendulum's torque is a sine of q plus a constant: right to its rounding around every quadrant border."""
    robot = cp.load("pendulum")
    rng = np.random.default_rng(0)
    quarter = np.pi / 2
    border = (rng.integers(-1000, 1000, 4000) * quarter) + rng.choice([-1, 1], 4000) * 10.0 ** rng.uniform(-17, 0, 4000)
    q = np.concatenate([border, rng.uniform(-10, 10, 4000), [0.0, -0.0, 5e-324, quarter, -quarter, np.pi]])[:, None]
    expected = ReferenceKernel(robot.tree).gravity(q)
    amplitude = np.abs(expected).max()
    rounding = np.spacing(np.abs(q) + np.pi) + 3.0 * np.spacing(1.0)
    for each in installed_sets():
        error = np.abs(each.kernel(robot.tree).gravity(q) - expected)
        assert np.all(error <= amplitude * rounding), each.label


def test_the_kernel_is_there_where_it_must_be() -> None:
    """A wheel is built with COUNTERPOISE_REQUIRE_NATIVE=1: without the kernel it must not pass its tests."""
    assert kernels.NATIVE or not os.environ.get("COUNTERPOISE_REQUIRE_NATIVE")


def test_an_array_that_changes_underneath_is_our_error() -> None:
    """A thread that writes into q while a batch reads it causes torques or InputError, nothing else."""
    robot = cp.load("wam7")
    q = np.zeros((20_000, 7))
    stop = threading.Event()

    def disturb() -> None:
        while not stop.is_set():
            q[10_000, 3] = np.nan
            q[10_000, 3] = 0.0

    worker = threading.Thread(target=disturb)
    worker.start()
    try:
        for _ in range(60 if kernels.NATIVE else 2):
            with contextlib.suppress(cp.InputError):
                assert robot.gravity(q).shape == q.shape
    finally:
        stop.set()
        worker.join()


@native_only
@pytest.mark.parametrize("name", set_names())
def test_a_result_does_not_depend_on_its_place_in_the_batch(name) -> None:
    """Each row of a batch has the same bytes alone in a batch, at any position, and on any number of threads."""
    with using(name):
        robot = cp.load("dualarm19")
    q, dq, ddq = random_motion(robot, 5, 10_000)
    q[4_321] *= 1e7  # beyond the fast sine and cosine: its neighbours must not notice
    whole = robot.gravity(q), robot.inverse_dynamics(q, dq, ddq)
    for part in (slice(3, 4), slice(17, 40), slice(9_990, 10_000)):
        assert robot.gravity(q[part]).tobytes() == whole[0][part].tobytes()
        assert robot.inverse_dynamics(q[part], dq[part], ddq[part]).tobytes() == whole[1][part].tobytes()
    try:
        for threads in (2, 3):
            kernels.set_batch_threads(threads)
            assert robot.gravity(q).tobytes() == whole[0].tobytes()
            assert robot.inverse_dynamics(q, dq, ddq).tobytes() == whole[1].tobytes()
        q[8_000, 4] = np.nan
        with pytest.raises(cp.InputError, match="in pose 8000"):
            robot.gravity(q)
    finally:
        kernels.set_batch_threads(1)


@pytest.mark.parametrize("count", [0, -1, 257, 1.5, "2"])
def test_impossible_thread_counts_are_refused(count) -> None:
    """Threads are counted from 1 to 256."""
    with pytest.raises(cp.InputError, match="number of threads"):
        kernels.set_batch_threads(count)


def test_a_robot_without_joints_computes() -> None:
    """A lone block has no torques, and the plate still carries it."""
    block = cp.Robot(parse_urdf(BLOCK))
    for q in (np.zeros(0), np.zeros((3, 0))):
        assert block.gravity(q).shape == q.shape
        assert block.jacobian(q, at="block").shape == (*q.shape[:-1], 6, 0)
        assert np.allclose(block.base_wrench(q), [0.0, 0.0, 2.0 * 9.81, 0.0, -2.0 * 9.81 * 0.1, 0.0])
    assert block.base_parameters.columns == ()


@pytest.mark.parametrize("name", ["wam7", "dualarm19"])
def test_threads_share_one_robot(name) -> None:
    """Eight threads on one robot, single poses and batches mixed, get the bytes that one thread gets."""
    robot = cp.load(name)
    q, dq, ddq = random_motion(robot, 9, 400 if kernels.NATIVE else 4)
    wrench = np.arange(6.0)

    def everything(_worker: int) -> bytes:
        link = robot.tree.leaves[0]
        single = [robot.gravity(pose).tobytes() for pose in q]
        single += [robot.inverse_dynamics(*motion).tobytes() for motion in zip(q, dq, ddq, strict=True)]
        batch = [
            robot.gravity(q),
            robot.inverse_dynamics(q, dq, ddq),
            robot.base_wrench(q, dq, ddq),
            robot.base_torques(q, wrench, dq, ddq),
            robot.gravity_regressor(q),
            robot.wrench_torque(q, wrench, at=link),
            robot.jacobian(q, at=link),
        ]
        return b"".join(single + [array.tobytes() for array in batch])

    alone = everything(0)
    with ThreadPoolExecutor(8) as pool:
        assert all(result == alone for result in pool.map(everything, range(16)))


def test_robots_can_be_pickled() -> None:
    """A robot with mount and payload comes back the same from a pickle."""
    robot = cp.load("wam7").mounted(rpy=(0.1, 0.2, 0.3)).with_payload(1.5, com=(0.0, 0.0, 0.1))
    again = pickle.loads(pickle.dumps(robot))
    q = np.linspace(-1.0, 1.0, 7)
    assert again.gravity(q).tobytes() == robot.gravity(q).tobytes()
    assert repr(again) == repr(robot)


@native_only
def test_native_methods_borrow_the_reference_documentation() -> None:
    """help(robot.gravity) shows the same text whichever kernel is in use."""
    for name in ("gravity", "inverse_dynamics", "base_torques", "wrench_torque", "base_wrench_regressor"):
        assert getattr(Kernel, name).__doc__.strip() == getattr(ReferenceKernel, name).__doc__.strip()


@native_only
def test_kernels_do_not_leak() -> None:
    """Calls and failed calls leave no memory behind."""
    robot, pendulum = cp.load("wam7"), cp.load("pendulum").description
    q, out = np.zeros(7), np.empty(7)

    def work() -> None:
        for _ in range(100):
            robot.gravity(q)
            robot.gravity(q, out=out)
            robot.gravity([0.0] * 7)
            robot.jacobian(q)
            robot.base_torques(q, [0.0] * 6, q, q, out)
            cp.Robot(pendulum)
            for bad in (np.full(7, np.nan), np.zeros(3), "x"):
                with contextlib.suppress(cp.InputError):
                    robot.gravity(bad)
                with contextlib.suppress(cp.InputError):
                    robot.base_torques(q, q[:6], q, bad)

    work()
    tracemalloc.start()
    try:
        sizes = []
        for _ in range(4):
            work()
            gc.collect()
            sizes.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    # A leaked array or robot in each of the 100 rounds would add up every time; caches fill once.
    assert min(np.diff(sizes)) < 10_000


def test_a_hot_call_with_out_allocates_nothing() -> None:
    """After warm-up, gravity, inverse dynamics and base torques with out= allocate no Python or array memory."""
    if not kernels.NATIVE:
        pytest.skip("the reference kernel allocates; only the native one promises not to")
    robot = cp.load("wam7")
    q, wrench, out = np.zeros(7), np.ones(6), np.empty(7)
    for _ in range(10):
        robot.gravity(q, out)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        for _ in range(1000):
            robot.gravity(q, out)
            robot.inverse_dynamics(q, q, q, out)
            robot.base_torques(q, wrench, q, q, out)
        after, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 200 and peak - before < 500  # the loop's own counter


@native_only
@pytest.mark.parametrize("name", set_names())
def test_the_environment_picks_an_instruction_set(name) -> None:
    """COUNTERPOISE_ISA forces a set of this machine; another name is an error that tells which there are."""
    code = (
        "import counterpoise as cp; from counterpoise.dynamics.kernel import NATIVE; print(NATIVE, cp.load('wam7').n)"
    )
    run = partial(subprocess.run, [sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run(env={**os.environ, "COUNTERPOISE_ISA": name}).stdout.split() == [name, "7"]
    wrong = run(env={**os.environ, "COUNTERPOISE_ISA": "neon9"})
    assert wrong.returncode == 1 and "InputError" in wrong.stderr and f"'{name}'" in wrong.stderr


@native_only
def test_the_suite_passes_with_the_reference_alone() -> None:
    """This file and the inputs' pass without native code."""
    here = os.path.dirname(os.path.abspath(__file__))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:slipcover"]
    result = subprocess.run(
        [*command, __file__, os.path.join(here, "test_inputs.py")],
        env={**os.environ, "COUNTERPOISE_DISABLE_NATIVE": "1"},
        cwd=os.path.dirname(os.path.dirname(here)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout[-3000:]
    assert " passed" in result.stdout
