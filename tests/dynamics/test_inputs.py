"""What callers may pass, and what they are told when it is wrong; the same for both kernels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import counterpoise as cp
from counterpoise.dynamics.kernel import Kernel
from counterpoise.dynamics.reference import ReferenceKernel

ROBOT = cp.load("wam4")
TREE = ROBOT.tree
KERNELS = [pytest.param(Kernel(TREE), id="kernel"), pytest.param(ReferenceKernel(TREE), id="reference")]
Q = np.array([0.1, -0.4, 0.7, 1.2])


@pytest.fixture(params=KERNELS)
def kernel(request):
    return request.param


@pytest.mark.parametrize(
    "given_q",
    [
        list(Q),
        tuple(Q),
        np.asfortranarray(np.stack([Q, Q])),
        np.stack([Q, Q], axis=1).T,
        np.repeat(Q, 2)[::2],
        Q.astype(np.longdouble),
        Q.astype(">f8"),
        np.ma.masked_array(Q),
    ],
    ids=["list", "tuple", "fortran", "transposed", "strided", "longdouble", "big-endian", "masked"],
)
def test_converted_inputs_give_the_same_result(kernel, given_q) -> None:
    """Lists and arrays of any layout or byte order mean the same numbers."""
    assert np.allclose(kernel.gravity(given_q), kernel.gravity(Q), rtol=0, atol=1e-13)


def test_integers_and_float32_are_converted(kernel) -> None:
    """Integer and single-precision poses are exact where their values are."""
    q = np.array([1, -2, 0, 2])
    for kind in (np.int64, np.int8, np.uint8, np.float32, np.float16):
        values = np.abs(q) if kind is np.uint8 else q
        assert np.array_equal(kernel.gravity(values.astype(kind)), kernel.gravity(values.astype(np.float64)))


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (np.zeros(3), ["q has shape (3,)", "(4,)", "(k, 4)", ROBOT.joint_names[0]]),
        (np.zeros((2, 5)), ["q has shape (2, 5)"]),
        (np.zeros((2, 2, 4)), ["q has shape (2, 2, 4)"]),
        (0.5, ["q has shape ()"]),
        ([[0.0, 0.0, 0.0, 0.0], [0.0]], ["rectangular"]),
        (["a", "b", "c", "d"], ["real numbers"]),
        ([True, False, True, False], ["bool", "real numbers"]),
        (Q * 1j, ["complex", "real numbers"]),
        (None, ["real numbers"]),
        ([None] * 4, ["real numbers"]),
        (np.ma.masked_array(Q, mask=[0, 0, 1, 0]), ["masked"]),
        (np.array(["2024-01-01"] * 4, dtype="datetime64[D]"), ["real numbers"]),
    ],
)
def test_wrong_inputs_are_refused(kernel, bad, words) -> None:
    """Wrong types and shapes raise InputError that says what was expected."""
    with pytest.raises(cp.InputError) as caught:
        kernel.gravity(bad)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e10, -1e300])
@pytest.mark.parametrize("joint", range(4))
def test_bad_numbers_name_the_joint(kernel, value, joint) -> None:
    """NaN, infinity and absurd numbers raise InputError naming joint and pose, in every argument."""
    q = Q.copy()
    q[joint] = value
    name = ROBOT.joint_names[joint]
    with pytest.raises(cp.InputError, match=f"q\\['{name}'\\]"):
        kernel.gravity(q)
    batch = np.tile(Q, (37, 1))
    batch[29, joint] = value
    with pytest.raises(cp.InputError, match=f"q\\['{name}'\\] in pose 29"):
        kernel.gravity(batch)
    for position, argument in enumerate(("q", "dq", "ddq")):
        motion = [Q, Q, Q]
        motion[position] = q
        for method in (
            *(kernel.inverse_dynamics, kernel.base_wrench),
            *(kernel.inertial_regressor, kernel.base_wrench_regressor),
        ):
            with pytest.raises(cp.InputError, match=f"^{argument}\\['{name}'\\]"):
                method(*motion)
        with pytest.raises(cp.InputError, match=f"^{argument}\\['{name}'\\]"):
            kernel.base_torques(motion[0], np.ones(6), *motion[1:])
    for method in (kernel.center_of_mass, kernel.jacobian, kernel.forward_kinematics, kernel.gravity_regressor):
        with pytest.raises(cp.InputError, match=f"q\\['{name}'\\]"):
            method(q)
    for method in (kernel.wrench_torque, kernel.base_torques):
        with pytest.raises(cp.InputError, match="wrench\\['my'\\]"):
            method(Q, [0.0, 0.0, 0.0, 0.0, value, 0.0])


def test_motion_must_have_one_shape(kernel) -> None:
    """Velocities of another shape than q are refused."""
    with pytest.raises(cp.InputError, match="dq has shape"):
        kernel.inverse_dynamics(Q, np.tile(Q, (2, 1)), Q)
    with pytest.raises(cp.InputError, match="ddq has shape"):
        kernel.inverse_dynamics(np.tile(Q, (2, 1)), np.tile(Q, (2, 1)), np.tile(Q, (3, 1)))
    for method in (kernel.wrench_torque, kernel.base_torques):
        with pytest.raises(cp.InputError, match=r"wrench has shape \(2, 6\) and q has shape \(4,\)"):
            method(Q, np.zeros((2, 6)))
    with pytest.raises(cp.InputError, match="dq has shape"):
        kernel.base_torques(Q, np.zeros(6), np.tile(Q, (2, 1)), Q)
    with pytest.raises(cp.InputError, match="ddq has shape"):
        kernel.base_torques(np.tile(Q, (2, 1)), np.zeros(6), None, np.tile(Q, (3, 1)))
    with pytest.raises(cp.InputError, match="dq holds object values"):
        kernel.inverse_dynamics(Q, None, None)


def test_a_frame_is_a_matrix_and_an_offset(kernel) -> None:
    """Of shape (7, 6), numbers in range, by keyword, in no memory of the result; None is the wrench as it stands."""
    frame = np.vstack([np.eye(6), np.zeros(6)])
    wrench = np.arange(6.0)
    plain = kernel.base_torques(Q, wrench)
    assert np.array_equal(kernel.base_torques(Q, wrench, frame=None), plain)
    for same in (frame, frame.tolist(), np.asfortranarray(frame)):
        assert kernel.base_torques(Q, wrench, frame=same) == pytest.approx(plain, abs=1e-12)
    moved = 2.0 * frame
    moved[6] = 3.0
    assert kernel.base_torques(Q, wrench, frame=moved) == pytest.approx(kernel.base_torques(Q, 2.0 * wrench - 3.0))
    for bad in (frame[:6], frame[0], np.zeros((8, 6))):
        with pytest.raises(cp.InputError, match=r"frame must have shape \(7, 6\)"):
            kernel.base_torques(Q, wrench, frame=bad)
    with pytest.raises(cp.InputError, match=r"frame has shape \(6, 7\)"):
        kernel.base_torques(Q, wrench, frame=frame.T)
    frame[6, 2] = np.nan
    with pytest.raises(cp.InputError, match=r"frame\['fz'\] in pose 6 is nan"):
        kernel.base_torques(Q, wrench, frame=frame)
    with pytest.raises(TypeError):
        kernel.gravity(Q, frame=frame)
    memory = np.zeros(60)
    with pytest.raises(cp.InputError, match="shares memory"):
        kernel.base_torques(Q, wrench, out=memory[40:44], frame=memory[:42].reshape(7, 6))


def test_missing_and_unknown_arguments_are_type_errors(kernel) -> None:
    """Python's own rules for calls hold for the native methods too."""
    with pytest.raises(TypeError):
        kernel.gravity()
    with pytest.raises(TypeError):
        kernel.gravity(Q, None, None)
    with pytest.raises(TypeError):
        kernel.gravity(Q, q=Q)
    with pytest.raises(TypeError):
        kernel.gravity(Q, outt=None)
    with pytest.raises(TypeError):
        kernel.inverse_dynamics(Q, Q)
    with pytest.raises(TypeError):
        kernel.base_torques(Q)
    with pytest.raises(TypeError):
        kernel.base_torques(Q, np.ones(6), Q, Q, None, None)
    with pytest.raises(TypeError):
        kernel.base_torques(Q, np.ones(6), at=TREE.leaves[0])


def test_out_is_filled_and_returned(kernel) -> None:
    """A fit out array receives the result and is returned itself."""
    motion = (Q, Q, Q)
    wrench = np.arange(6.0)
    for result, method, arguments in (
        (np.empty(4), kernel.gravity, (Q,)),
        (np.empty((2, 4)), kernel.gravity, (np.stack([Q, -Q]),)),
        (np.empty(4), kernel.inverse_dynamics, motion),
        (np.empty(6), kernel.base_wrench, motion),
        (np.empty(3), kernel.center_of_mass, (Q,)),
        (np.empty((6, 4)), kernel.jacobian, (Q,)),
        (np.empty((4, 4)), kernel.forward_kinematics, (Q,)),
        (np.empty(4), kernel.wrench_torque, (Q, wrench)),
        (np.empty(4), kernel.base_torques, (Q, wrench, Q, Q)),
        (np.empty((2, 4)), kernel.base_torques, (np.stack([Q, -Q]), wrench)),
        (np.empty((4, 16)), kernel.gravity_regressor, (Q,)),
        (np.empty((4, 40)), kernel.inertial_regressor, motion),
        (np.empty((6, 50)), kernel.base_wrench_regressor, motion),
    ):
        assert method(*arguments, out=result) is result
        assert np.array_equal(result, method(*arguments))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: np.empty(5), "shape"),
        (lambda: np.empty((1, 4)), "shape"),
        (lambda: np.empty(4, dtype=np.float32), "float64"),
        (lambda: np.empty(4, dtype=">f8"), "float64"),
        (lambda: np.empty(8)[::2], "contiguous"),
        (lambda: [0.0] * 4, "float64"),
        (lambda: np.broadcast_to(np.empty(1), (4,)), "contiguous|writeable"),
    ],
    ids=["length", "dimensions", "float32", "big-endian", "strided", "list", "read-only"],
)
def test_unfit_out_is_refused(kernel, make, words) -> None:
    """An out of the wrong kind raises InputError that says what is wrong."""
    with pytest.raises(cp.InputError, match=words):
        kernel.gravity(Q, out=make())


def test_out_may_not_alias_an_input(kernel) -> None:
    """An out that overlaps an input is refused, wholly or partly, for every input."""
    memory = np.zeros(12)
    with pytest.raises(cp.InputError, match="memory"):
        kernel.gravity(memory[:4], out=memory[:4])
    with pytest.raises(cp.InputError, match="memory"):
        kernel.gravity(memory[:4], out=memory[3:7])
    with pytest.raises(cp.InputError, match="memory"):
        kernel.inverse_dynamics(Q, Q, memory[4:8], out=memory[2:6])
    for place in range(4):
        given = [Q, np.ones(6), Q, Q]
        given[place] = memory[:6] if place == 1 else memory[:4]
        with pytest.raises(cp.InputError, match="memory"):
            kernel.base_torques(*given, out=memory[2:6])
    kernel.gravity(memory[:4], out=memory[4:8])
    assert np.any(memory[4:8] != 0.0)


def test_links_are_found_or_refused(kernel) -> None:
    """A link is named or, with one leaf, left out; an unknown one is refused with the list of links."""
    leaf = TREE.leaves[0]
    assert np.array_equal(kernel.jacobian(Q), kernel.jacobian(Q, at=leaf))
    for bad in ("elbow of nobody", 3, b"tool"):
        with pytest.raises(cp.InputError, match="there is no link"):
            kernel.jacobian(Q, at=bad)
    branched = type(kernel)(cp.load("dualarm19").tree)
    with pytest.raises(cp.InputError, match="at= is required"):
        branched.forward_kinematics(np.zeros(19))


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_batches_keep_their_first_axis(kernel, count) -> None:
    """A batch of k poses gives k results, also for k = 0 and 1."""
    poses = np.tile(Q, (count, 1))
    assert kernel.gravity(poses).shape == (count, 4)
    assert kernel.jacobian(poses).shape == (count, 6, 4)
    assert kernel.forward_kinematics(poses).shape == (count, 4, 4)
    assert kernel.gravity_regressor(poses).shape == (count, 4, 16)
    assert kernel.base_wrench(poses, poses, poses).shape == (count, 6)
    assert kernel.inertial_regressor(poses).shape == (count, 4, 40)
    assert kernel.base_wrench_regressor(poses).shape == (count, 6, 50)
    assert kernel.wrench_torque(poses, np.ones(6)).shape == (count, 4)
    assert kernel.base_torques(poses, np.ones(6)).shape == (count, 4)
    assert kernel.base_torques(poses, np.ones((count, 6)), poses, poses).shape == (count, 4)
    assert kernel.center_of_mass(poses).shape == (count, 3)


FLOATS = st.floats(allow_nan=True, allow_infinity=True, allow_subnormal=True, width=64)


@given(st.lists(FLOATS, min_size=4, max_size=4), st.lists(FLOATS, min_size=4, max_size=4))
def test_any_float_gives_finite_torques_or_our_error(q, rates) -> None:
    """For every float64 there is, a torque that leaves the kernel is finite, else InputError is raised."""
    for kernel in (Kernel(TREE), ReferenceKernel(TREE)):
        for compute, arguments in (
            (kernel.gravity, (q,)),
            (kernel.inverse_dynamics, (q, rates, rates)),
            (kernel.base_wrench, (q, rates, rates)),
            (kernel.wrench_torque, (q, [*rates, 1.0, 2.0])),
            (kernel.base_torques, (q, [*rates, 1.0, 2.0], rates, rates)),
        ):
            try:
                result = compute(*arguments)
            except cp.InputError:
                assert not all(abs(value) <= 1e9 for value in (*q, *rates))
            else:
                assert np.all(np.isfinite(result))
