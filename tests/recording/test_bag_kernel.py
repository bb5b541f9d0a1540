"""The native walks and decoders do what their specifications do, on good bytes and on any others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counterpoise.recording import kernel
from counterpoise.recording.bags import reference
from counterpoise.recording.bags import reference as specification
from counterpoise.recording.bags.batch import DamagedError
from counterpoise.recording.bags.decoding import JointStateDecoder
from counterpoise.recording.bags.reference import parse_joint_state
from library.bag_writers import (
    JOINT_STATE,
    START,
    WRENCH_STAMPED,
    Sent,
    arm_messages,
    joint_state,
    serialized,
    wrench,
    write_bag,
)

needs_native = pytest.mark.skipif(not kernel.NATIVE, reason="the native routines were not built")

LISTS = [
    ((b"a", b"bb"), np.array([1, 0])),
    ((b"ccc",), None),
    ((), None),
    ((b"bb",), np.array([0])),
]
numbers = st.floats(width=64)


@st.composite
def joint_state_payloads(draw: st.DrawFn, ros1: bool) -> bytes:
    """A JointState as rosbags writes it."""
    names = draw(st.sampled_from([["a", "bb"], ["ccc"], [], ["bb"], ["unknown", "a"]]))
    parts = [
        draw(st.sampled_from([[], draw(st.lists(numbers, min_size=len(names), max_size=len(names)))])) for _ in range(3)
    ]
    frame = draw(st.sampled_from(["", "x", "base"]))
    stamp = draw(st.integers(0, 2**31 * 10**9 - 1))
    sent = Sent(
        "/t", JOINT_STATE, 0, joint_state(names, *parts, stamp=stamp, frame=frame, ros1=ros1), draw(st.booleans())
    )
    return serialized(sent, ros1)


def mutated(draw: st.DrawFn, data: bytes) -> bytes:
    """Bytes with some of them changed, or cut."""
    changed = bytearray(data)
    for _ in range(draw(st.integers(0, 3))):
        if changed:
            changed[draw(st.integers(0, len(changed) - 1))] = draw(st.sampled_from([0, 1, 2, 4, 7, 127, 255]))
    return bytes(changed[: draw(st.one_of(st.just(len(changed)), st.integers(0, len(changed))))])


@st.composite
def payload_lists(draw: st.DrawFn, ros1: bool) -> list[bytes]:
    """Some payloads, a few of them damaged."""
    payloads = draw(st.lists(joint_state_payloads(ros1), min_size=1, max_size=4))
    repeated = [payload for payload in payloads for _ in range(draw(st.integers(1, 3)))]
    return [mutated(draw, payload) if draw(st.integers(0, 3)) == 0 else payload for payload in repeated]


def laid_out(payloads: list[bytes]) -> tuple[bytes, np.ndarray]:
    lengths = np.array([len(payload) for payload in payloads])
    spans = np.zeros((len(payloads), 4), dtype=np.int64)
    spans[:, 0], spans[:, 1] = 3 + np.cumsum(lengths) - lengths, lengths
    return b"xxx" + b"".join(payloads), spans


def decode(module: Any, payloads: list[bytes], cdr: bool) -> tuple[int, bytes, bytes, bytes]:
    data, spans = laid_out(payloads)
    stamps, which, rows = np.zeros(len(spans)), np.full(len(spans), -7), np.zeros((len(spans), 6))
    end = module.joint_states(data, spans, 0, cdr, LISTS, stamps, which, rows)
    return end, stamps[:end].tobytes(), which[:end].tobytes(), rows[:end].tobytes()


@needs_native
@settings(max_examples=100)
@given(st.data(), st.booleans())
def test_joint_states_equal_the_specification(data: st.DataObject, cdr: bool) -> None:
    """Rows, stamps, lists and where decoding stops are equal bit by bit, for any bytes."""
    payloads = data.draw(payload_lists(ros1=not cdr))
    assert decode(kernel, payloads, cdr) == decode(reference, payloads, cdr)


@settings(max_examples=100)
@given(st.data(), st.booleans())
def test_batches_equal_single_messages(data: st.DataObject, cdr: bool) -> None:
    """The batch decoders stop exactly at the first message that the parser refuses or whose names are unknown."""
    payloads = data.draw(payload_lists(ros1=not cdr))
    known = dict(LISTS)
    end, stamps, _, rows = decode(reference, payloads, cdr)
    table = np.frombuffer(rows).reshape(-1, 6)
    for index, payload in enumerate(payloads):
        try:
            message = parse_joint_state(payload, cdr)
        except DamagedError:
            assert index == end
            break
        if message.names not in known:
            assert index == end
            break
        assert np.frombuffer(stamps)[index] == message.stamp
        columns = known[message.names]
        if columns is not None:
            for kind, group in enumerate(message.groups):
                expected = np.full(2, np.nan)
                if len(group):
                    expected[columns] = group
                np.testing.assert_array_equal(table[index, 2 * kind : 2 * kind + 2], expected)
    else:
        assert end == len(payloads)


@needs_native
@settings(max_examples=80)
@given(st.data(), st.booleans(), st.booleans())
def test_wrenches_equal_the_specification(data: st.DataObject, cdr: bool, little: bool) -> None:
    """As for joint states."""
    values = data.draw(st.lists(numbers, min_size=6, max_size=6))
    sent = Sent("/w", WRENCH_STAMPED, 0, wrench(values, stamp=START, ros1=not cdr), little)
    payload = serialized(sent, not cdr)
    payloads = [payload, payload, mutated(data.draw, payload), payload]
    buffer, spans = laid_out(payloads)
    results = []
    for module in (kernel, reference):
        stamps, rows = np.zeros(4), np.zeros((4, 6))
        end = module.wrenches(buffer, spans, 0, cdr, True, stamps, rows)
        results.append((end, stamps[:end].tobytes(), rows[:end].tobytes()))
    assert results[0] == results[1]
    assert results[0][0] >= 2
    assert results[0][2][:48] == np.array(values).tobytes()


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Records as they lie in files of both formats."""
    folder = tmp_path_factory.mktemp("runs")
    mcap = write_bag(folder / "m", "mcap-unchunked", arm_messages(8)).read_bytes()
    ros1 = write_bag(folder / "r", "ros1-none", arm_messages(8, "ros1-none")).read_bytes()
    return {"mcap_messages": mcap, "ros1_messages": ros1}


@needs_native
@settings(max_examples=100)
@given(st.data(), st.sampled_from(["mcap_messages", "ros1_messages"]))
def test_walks_equal_the_specification(runs: dict[str, bytes], data: st.DataObject, walk: str) -> None:
    """Spans and the end of a walk are equal, from any start in any bytes."""
    run = mutated(data.draw, runs[walk])
    record = {"mcap_messages": b"\x05", "ros1_messages": b"conn="}[walk]
    marks = [at for at in range(len(run)) if run.startswith(record, at)][:200]
    back = {"mcap_messages": 0, "ros1_messages": 8}[walk]
    start = data.draw(st.sampled_from([max(0, at - back) for at in marks] or [0]))
    wanted = np.array([0, 1, 2], dtype=np.int64).tobytes()
    assert getattr(kernel, walk)(run, start, wanted) == getattr(specification, walk)(run, start, wanted)
    assert getattr(kernel, walk)(run, start, b"") == getattr(specification, walk)(run, start, b"")


@pytest.mark.parametrize("walk", ["mcap_messages", "ros1_messages"])
def test_walks_find_all_messages(runs: dict[str, bytes], walk: str) -> None:
    """A walk from the first message takes all eight, with the time of each."""
    run = runs[walk]
    wanted = np.arange(4, dtype=np.int64).tobytes()
    starts = range(min(len(run), 6000))
    found = (np.frombuffer(getattr(kernel, walk)(run, start, wanted)[0], dtype=np.int64) for start in starts)
    best = max(found, key=len).reshape(-1, 4)
    assert len(best) == 8
    np.testing.assert_array_equal(best[:, 2], [sent.received for sent in arm_messages(8)])


@needs_native
def test_buffers_that_do_not_belong_together_are_refused() -> None:
    """The native routines check sizes; they never write outside."""
    payload = serialized(arm_messages(1)[0], False)
    data, spans = laid_out([payload])
    lists = [((b"a", b"bb", b"ccc"), np.array([0, 1, 9]))]
    with pytest.raises(ValueError, match="below the number of joints"):
        kernel.joint_states(data, spans, 0, True, lists, np.zeros(1), np.zeros(1, dtype=np.int64), np.zeros((1, 9)))
    with pytest.raises(ValueError, match="wrong type or size"):
        kernel.joint_states(data, spans, 0, True, [], np.zeros(2), np.zeros(1, dtype=np.int64), None)
    with pytest.raises(ValueError, match="six columns"):
        kernel.wrenches(data, spans, 0, True, True, np.zeros(1), np.zeros((1, 5)))
    with pytest.raises(ValueError, match="outside"):
        kernel.mcap_messages(data, len(data) + 1, b"")
    outside = np.array([[0, 2**62, 0, 0], [-1, 5, 0, 0]])
    for row in outside:
        args = (data, row[None].copy(), 0, True, [], np.zeros(1), np.zeros(1, dtype=np.int64), None)
        assert kernel.joint_states(*args) == 0


def test_the_bytes_between_fields_do_not_matter() -> None:
    """Recorders leave old memory in CDR's padding; names are compared without it."""
    payload = bytearray(serialized(arm_messages(1)[0], False))
    at = payload.index(b"bb\x00") + 3
    assert payload[at] == 0
    other = payload.copy()
    other[at] = 0x77
    decoder = JointStateDecoder((b"a", b"bb", b"ccc"))
    data, spans = laid_out([bytes(payload), bytes(other)])
    stamps, which, rows = np.zeros(2), np.zeros(2, dtype=np.int64), np.zeros((2, 9))
    decoder.decode(data, spans, 0, True, stamps, which, rows)
    assert len(decoder.lists) == 1
    np.testing.assert_array_equal(rows[0], rows[1])
