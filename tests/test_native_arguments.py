"""Whatever is passed to the native code: a result or a Python error, never a crash, a write elsewhere or a SystemError.

Each entry point gets arguments that fit, of which up to three are replaced: by numbers out of range, objects of any
kind, and arrays of another size, type, order, byte order, alignment or ownership. ``make sanitize`` runs this file as
well, so that a read or a write outside an array is seen.
"""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import counterpoise as cp
from counterpoise.dynamics.reference import ReferenceKernel
from counterpoise.foundation import PARTS, unchecked_part
from counterpoise.plants.layout import DRIVE_PARAMETERS, DRIVE_STATES, LINK_PARAMETERS, LINK_STATES
from counterpoise.recording import Sample

NATIVE = {name: unchecked_part(name) for name in PARTS}
pytestmark = pytest.mark.skipif(None in NATIVE.values(), reason="the extension is not built here, or it is disabled")

ALLOWED = (TypeError, ValueError, OverflowError, BufferError, AttributeError, cp.CounterpoiseError)
Arguments = list[Any]


class LongArray(np.ndarray):
    """An array that lies about its length."""

    def __len__(self) -> int:
        return 2**60


class Numberish:
    """Something that is a number only when asked in one way."""

    def __float__(self) -> float:
        raise ValueError("no number")

    def __index__(self) -> int:
        return 2**62


def unaligned(array: np.ndarray) -> np.ndarray:
    """Return a copy whose data do not begin at a multiple of eight."""
    data = np.zeros(array.nbytes + 9, dtype=np.uint8)
    start = 1 if data.ctypes.data % 8 == 0 else 8 - data.ctypes.data % 8 + 1
    view = data[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    view[...] = array
    return view


def read_only(array: np.ndarray) -> np.ndarray:
    copy = array.copy()
    copy.setflags(write=False)
    return copy


CHANGES: list[Callable[[np.ndarray], Any]] = [
    lambda a: a.ravel()[:-1].copy(),
    lambda a: np.concatenate([a.ravel(), a.ravel()]),
    lambda a: np.repeat(a.ravel(), 2)[::2],
    lambda a: a[::-1] if a.ndim else a,
    np.asfortranarray,
    lambda a: a.reshape(-1),
    lambda a: a.reshape((1, *a.shape)),
    lambda a: a.astype(np.float32),
    lambda a: a.astype(np.int64),
    lambda a: a.astype(np.uint64),
    lambda a: a.astype(">f8"),
    lambda a: a.astype(object),
    lambda a: a.astype("U3"),
    lambda a: a.tolist(),
    lambda a: a.tobytes(),
    lambda a: memoryview(a.copy()),
    lambda a: memoryview(bytearray(a.nbytes)),
    lambda a: memoryview(bytearray(a.nbytes + 8))[1 : a.nbytes + 1],
    np.ma.masked_array,
    lambda a: a.copy().view(LongArray),
    lambda a: np.full_like(a, np.nan) if a.dtype.kind == "f" else a,
    lambda a: np.full_like(a, np.iinfo(a.dtype).max if a.dtype.kind in "iu" else np.inf),
    lambda a: np.full_like(a, np.iinfo(a.dtype).min if a.dtype.kind == "i" else 0),
    unaligned,
    read_only,
]
ODD: list[Any] = [
    *(
        None,
        True,
        0,
        1,
        -1,
        2,
        7,
        2**31 - 1,
        2**31,
        -(2**31) - 1,
        2**63 - 1,
        -(2**63),
        2**63,
        2**64,
        -(2**200),
        10**400,
    ),
    *(0.0, -0.5, math.nan, math.inf, 1e308, "", "text", "a\0b", "\ud800", b"", b"12345678", bytearray(9), 3 + 4j),
    *(
        [],
        [1.0],
        ["a"],
        [None],
        [[]],
        [()],
        [(1, 2)],
        [((), None)],
        (),
        ((),),
        (None,),
        {},
        {1: 2},
        set(),
        object,
        object(),
    ),
    *(Numberish(), slice(None), range(3), np.float64(2.0), np.int64(-3), np.zeros(0), np.zeros((0, 3)), np.zeros(())),
    *(
        np.zeros(3),
        np.zeros((2, 3)),
        np.zeros((2, 2, 2)),
        np.zeros(4, dtype=np.int64),
        np.array([None, 1], dtype=object),
    ),
]


def replaced(data: st.DataObject, value: Any) -> Any:
    """Draw something instead of an argument: a changed copy of an array, or anything."""
    if isinstance(value, np.ndarray) and data.draw(st.booleans()):
        change = data.draw(st.sampled_from(CHANGES))
        try:
            with np.errstate(all="ignore"):
                return change(value)
        except (TypeError, ValueError, OverflowError):  # numpy itself cannot
            return value
    return data.draw(st.sampled_from(ODD))


def fresh(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def tried(function: Callable[..., Any], arguments: Arguments) -> Any:
    """Call; let through what is no Python-level refusal."""
    try:
        return function(*arguments)
    except ALLOWED as error:
        assert not isinstance(error, SystemError)
        return None


def spoilt(data: st.DataObject, arguments: Arguments) -> Arguments:
    """Return copies of arguments that fit, with up to three of them replaced."""
    given_ = [fresh(value) for value in arguments]
    for place in data.draw(st.lists(st.integers(0, len(given_) - 1), max_size=3)) if given_ else ():
        given_[place] = replaced(data, given_[place])
    return given_ if data.draw(st.integers(0, 9)) else given_[:-1]


# ------------------------------------------------------------------------------------------------- the estimator

N, P, B = 3, 9, 3
ESTIMATION: dict[str, Arguments] = {
    "judge": [np.ones((2, N)), np.ones(N), np.ones(N)],
    "relearn": [np.ones(N), np.ones(N), np.ones((2, N)), 0.1, 9.0, 0.5, 2.0],
    "fold": [np.eye(P, P + 1), np.ones(P + 1)],
    "fold_torques": [
        *(np.eye(P, P + 1), np.zeros(P + 1), np.ones((N, 4)), np.array([0, 2, 3]), np.ones(N), np.ones(N), np.ones(N)),
        *(0, N, B, B + N, np.zeros((2, N))),
    ],
    "solve": [np.eye(P, P + 1), np.zeros(P)],
    "tail_variances": [np.eye(P, P + 1), np.zeros(N)],
    "head": [np.zeros(4), np.zeros(4), np.array([0, 2, 3]), np.ones(P), np.ones(P), 0.5],
}


@pytest.mark.parametrize("name", ESTIMATION)
def test_the_estimator_takes_what_fits(name: str) -> None:
    """The arguments of the property tests are good ones, so that what they replace is what is refused."""
    arguments = [fresh(value) for value in ESTIMATION[name]]
    result = getattr(NATIVE["sensing"], name)(*arguments)
    changed = any(not np.array_equal(new, old) for new, old in zip(arguments, ESTIMATION[name], strict=True))
    assert changed or result is not None or name in ("relearn", "solve")  # those two have nothing to do here
    for value in (*arguments, *(result if isinstance(result, tuple) else ())):
        assert np.all(np.isfinite(value))


@pytest.mark.parametrize("name", ESTIMATION)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_the_estimator(name: str, data: st.DataObject) -> None:
    """Any arguments of the estimator's functions."""
    tried(getattr(NATIVE["sensing"], name), spoilt(data, ESTIMATION[name]))


@pytest.mark.parametrize("place", [7, 8, 9, 10])
@pytest.mark.parametrize("value", [sys.maxsize, sys.maxsize - 1, sys.maxsize - N, -sys.maxsize - 1, P - N + 1, P])
def test_offsets_beyond_the_row_are_refused(place: int, value: int) -> None:
    """sys.maxsize + n overflowed, so that it seemed to fit, and the torque was written far outside the row."""
    arguments = [fresh(value) for value in ESTIMATION["fold_torques"]]
    arguments[place] = value
    around = np.full(P + 1 + 64, 7.0)
    arguments[1] = around[32:-32]
    if place > 8 and value < 0:
        NATIVE["sensing"].fold_torques(*arguments)  # no such unknowns
    else:
        with pytest.raises(ValueError, match="out of range"):
            NATIVE["sensing"].fold_torques(*arguments)
    assert np.all(around[:32] == 7.0)
    assert np.all(around[-32:] == 7.0)


@pytest.mark.parametrize("bad", [[1], "text", None, Numberish(), [None]])
@pytest.mark.parametrize(("name", "place"), [("fold_torques", 7), ("relearn", 3), ("head", 5)])
def test_what_is_no_number_is_a_type_error(name: str, place: int, bad: Any) -> None:
    """The first bad one is told, also when a good or a bad one follows; it was a SystemError."""
    arguments = [fresh(value) for value in ESTIMATION[name]]
    arguments[place] = bad
    if isinstance(arguments[min(place + 1, len(arguments) - 1)], (int, float)):
        arguments[min(place + 1, len(arguments) - 1)] = Numberish()
    with pytest.raises((TypeError, ValueError, OverflowError)):
        getattr(NATIVE["sensing"], name)(*arguments)


# --------------------------------------------------------------------------------------------------- the steppers

DRIVES = [np.ones((2, len(DRIVE_PARAMETERS))), np.zeros((2, len(DRIVE_STATES))), *(np.zeros(2) for _ in range(4)), 1e-3]
JOINT = [np.ones(len(DRIVE_PARAMETERS)), np.zeros(len(DRIVE_STATES)), np.ones(len(LINK_PARAMETERS))]
PLANTS: dict[str, tuple[Arguments, str, Arguments]] = {
    "Drives": (DRIVES, "step", []),
    "OneJoint": ([*JOINT, np.zeros(len(LINK_STATES)), 1e-3], "advance", [0.5, 3]),
    "LowPass": ([np.ones(5), np.zeros(3), np.zeros(3), np.zeros(6)], "step", []),
}


@pytest.mark.parametrize("name", PLANTS)
@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_the_steppers(name: str, data: st.DataObject) -> None:
    """Any arguments of the steppers' constructors; those that are made also step."""
    arguments, method, stepped = PLANTS[name]
    made = tried(getattr(NATIVE["plants"], name), spoilt(data, arguments))
    if made is not None:
        steps = spoilt(data, stepped)
        if not (len(steps) == 2 and isinstance(steps[1], int) and steps[1] > 10**4):  # that only takes long
            tried(getattr(made, method), steps)
        if hasattr(made, "peek"):
            made.peek()


def test_an_array_that_lies_about_its_length_is_refused_by_its_bytes() -> None:
    """Its word was taken for the number of drives: 2**60 of them."""
    arguments = [fresh(value) for value in DRIVES]
    arguments[0] = arguments[0].view(LongArray)
    made = NATIVE["plants"].Drives(*arguments)
    assert made.step()
    with pytest.raises(TypeError, match="keyword"):
        NATIVE["plants"].Drives(*map(fresh, DRIVES), dt=1.0)


# ----------------------------------------------------------------------------------------------------- the readers

SPANS = np.array([[0, 60, 5, 1], [60, 60, 6, 1]], dtype=np.int64)
LOGS: dict[str, Arguments] = {
    "parse_rows": [b"1,2,3\n4,5,6\n", 0, np.zeros((4, 3)), 3, ord(","), bytes(3)],
    "mcap_messages": [bytes([5, 30, *bytes(100)]), 0, np.array([0, 1], dtype=np.int64)],
    "ros1_messages": [bytes(64), 0, np.array([0, 1], dtype=np.int64)],
    "joint_states": [
        *(bytes(range(120)), SPANS, 0, True, [((b"a", b"b"), np.array([0, 1], dtype=np.int64)), ((b"c",), None)]),
        *(np.zeros(2), np.zeros(2, dtype=np.int64), np.zeros((2, 6))),
    ],
    "wrenches": [bytes(120), SPANS, 0, True, False, np.zeros(2), np.zeros((2, 6))],
}


def test_numbers_are_not_written_into_an_array_of_objects() -> None:
    """They would be taken for pointers."""
    objects = np.array([None] * 12, dtype=object)
    with pytest.raises(ValueError, match="out has the wrong type"):
        NATIVE["recording"].parse_rows(b"1,2,3\n4,5,6\n", 0, objects, 3, ord(","), bytes(3))
    assert objects.tolist() == [None] * 12


@pytest.mark.parametrize("name", LOGS)
@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_the_readers(name: str, data: st.DataObject) -> None:
    """Any arguments of the readers of recordings, and any bytes."""
    arguments = spoilt(data, LOGS[name])
    if arguments and isinstance(arguments[0], bytes) and data.draw(st.booleans()):
        arguments[0] = data.draw(st.binary(max_size=200))
    if name == "joint_states" and len(arguments) > 4 and data.draw(st.booleans()):
        arguments[4] = data.draw(st.lists(st.sampled_from([*ODD, *LOGS[name][4]]), max_size=3))
    tried(getattr(NATIVE["recording"], name), arguments)


@pytest.mark.parametrize(
    "lists", [[1], ["ab"], [[(), None]], [(1, None)], [((), None, 3)], [((1,), None)], [(("a",), None)]]
)
def test_name_lists_of_another_kind_are_type_errors(lists: Any) -> None:
    """What is no tuple gave a SystemError."""
    arguments = [fresh(value) for value in LOGS["joint_states"]]
    arguments[4] = lists
    with pytest.raises(TypeError):
        NATIVE["recording"].joint_states(*arguments)


# ------------------------------------------------------------------------------------------------------ the filter

LIMITS: dict[str, Any] = {
    "dt": 1e-3,
    "lower": np.full(2, -1.0),
    "upper": np.full(2, 1.0),
    "velocity_limit": np.full(2, 2.0),
    "effort_limit": np.full(2, 5.0),
    "rate_limit": np.full(2, 50.0),
    "wrench_range": np.full(6, 9.0),
    "jump_slack": 0.01,
    "max_gap": 0.01,
    "max_lag": 0.01,
    "frozen_ticks": 20,
    "frozen_travel": 1e-3,
    "frozen_torque": 0.02,
}
SAMPLE: dict[str, Any] = {
    "time": 0.0,
    "q": np.zeros(2),
    "dq": np.zeros(2),
    "tau": np.zeros(2),
    "wrench": None,
    "flags": 0,
}


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_the_filter(data: st.DataObject) -> None:
    """Any limits, samples and torques; what comes out stays finite and within the effort limit."""
    kind = NATIVE["control"].NativeFilterCore
    limits = dict(zip(LIMITS, spoilt(data, list(LIMITS.values())), strict=False))
    made = tried(lambda: kind(**limits), [])
    safety = kind(**LIMITS) if made is None else made
    safety.uses_wrench = data.draw(st.booleans())
    for _ in range(3):
        sample: Any = SimpleNamespace(**dict(zip(SAMPLE, spoilt(data, list(SAMPLE.values())), strict=False)))
        if data.draw(st.integers(0, 9)) == 0:
            sample = data.draw(st.sampled_from(ODD))
        tried(safety.check, spoilt(data, [sample, 0.0]))
        tried(safety.limit, spoilt(data, [np.ones(2), np.ones(2)]))
        for method in ("start_from", "set_effort_limit", "sent"):
            tried(getattr(safety, method), [replaced(data, np.ones(2))])
        safety.hold()
        safety.forget()
    if made is None:
        assert np.all(np.abs(safety.out) <= 5.0)


def test_a_filter_that_was_not_initialised_says_so() -> None:
    """Nothing works on it; it was made without its constructor."""
    safety = NATIVE["control"].NativeFilterCore.__new__(NATIVE["control"].NativeFilterCore)
    for use in (safety.hold, safety.forget, lambda: safety.out, lambda: safety.n, lambda: safety.limit(np.zeros(2))):
        with pytest.raises(RuntimeError, match="not initialised"):
            use()


# ----------------------------------------------------------------------------------------------------- the kernels

ROBOT = cp.load("planar3")
Q = np.array([0.1, -0.2, 0.3])
KERNEL: dict[str, Arguments] = {
    "gravity": [Q, np.zeros(3)],
    "inverse_dynamics": [Q, Q, Q, np.zeros(3)],
    "base_wrench": [Q, Q, Q, np.zeros(6)],
    "center_of_mass": [Q, np.zeros(3)],
    "forward_kinematics": [Q, None, np.zeros((4, 4))],
    "jacobian": [Q, None, np.zeros((6, 3))],
    "wrench_torque": [Q, np.ones(6), None, np.zeros(3)],
    "base_torques": [Q, np.ones(6), Q, Q, np.zeros(3)],
    "gravity_regressor": [Q, np.zeros((3, 12))],
    "inertial_regressor": [Q, Q, Q, np.zeros((3, 30))],
    "base_wrench_regressor": [Q, Q, Q, np.zeros((6, 40))],
}
TREE = {field.name: getattr(ROBOT.tree, field.name) for field in dataclasses.fields(ROBOT.tree)}


def kernel_type() -> Any:
    return NATIVE["dynamics"].make_kernel(ReferenceKernel)


@pytest.mark.parametrize("name", KERNEL)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_the_kernel(name: str, data: st.DataObject) -> None:
    """Any arguments of a robot's methods, one pose or many."""
    robot = kernel_type()(ROBOT.tree)
    arguments = KERNEL[name]
    if data.draw(st.booleans()):  # five poses
        arguments = [np.repeat(a[None], 5, axis=0) if isinstance(a, np.ndarray) else a for a in arguments]
    tried(getattr(robot, name), spoilt(data, arguments))


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_the_frame_of_a_plate(data: st.DataObject) -> None:
    """Anything for what turns a reading into a wrench, one pose or many."""
    robot = kernel_type()(ROBOT.tree)
    frame = replaced(data, np.ones((7, 6)))
    tried(lambda *arguments: robot.base_torques(*arguments, frame=frame), spoilt(data, KERNEL["base_torques"]))
    tried(lambda: robot.base_torques(np.zeros((9, 3)), np.ones((9, 6)), frame=frame), [])


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_the_kernel_of_any_tree(data: st.DataObject) -> None:
    """A tree of other sizes, names or indices is refused, or computes without leaving its arrays."""
    fields = dict(TREE)
    for name in data.draw(st.lists(st.sampled_from(sorted(TREE)), max_size=2)):
        fields[name] = replaced(data, fields[name])
    if data.draw(st.integers(0, 19)) == 0:
        fields.pop(data.draw(st.sampled_from(sorted(TREE))))
    robot = tried(kernel_type(), [SimpleNamespace(**fields)])
    if robot is None:
        return
    n = len(fields["joint_names"])
    for q in (np.zeros(n), np.zeros((9, n))):
        tried(robot.gravity, [q])
        tried(robot.inverse_dynamics, [q, q, q])
        tried(robot.base_torques, [q, np.ones(6), q, q])
        tried(robot.jacobian, [q])
        tried(robot.gravity_regressor, [q])


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_the_number_of_threads(data: st.DataObject) -> None:
    """Anything is a number of threads, or refused."""
    tried(NATIVE["dynamics"].set_batch_threads, [replaced(data, None)])
    NATIVE["dynamics"].set_batch_threads(1)


@pytest.mark.parametrize("field", ["parent", "q_index", "kind", "link_body"])
@pytest.mark.parametrize("value", [-2, 3, 2**30])
def test_a_tree_with_an_index_out_of_range_is_refused(field: str, value: int) -> None:
    """It would be read outside its arrays."""
    indices = TREE[field].copy()
    indices[-1] = value
    with pytest.raises(cp.InputError, match="out of range"):
        kernel_type()(SimpleNamespace(**{**TREE, field: indices}))


@pytest.mark.parametrize("field", [name for name, value in TREE.items() if isinstance(value, np.ndarray)])
def test_a_tree_with_a_short_array_is_refused(field: str) -> None:
    """Every array is as long as the bodies or the links ask for."""
    if field == "base_inertia":  # the native kernel does not use it
        return
    with pytest.raises(cp.InputError, match="must hold"):
        kernel_type()(SimpleNamespace(**{**TREE, field: TREE[field].ravel()[:-1]}))


def test_samples_are_samples() -> None:
    """The sample of these tests has the fields of a real one."""
    assert {field.name for field in dataclasses.fields(Sample)} == set(SAMPLE)
