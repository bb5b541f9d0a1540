"""Documents: what a dataclass held comes back, what it would not be written as is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from counterpoise.errors import DataFileError, InputError
from counterpoise.foundation import (
    Array,
    Check,
    Verdict,
    checksum,
    infinite_where_unknown,
    plain,
    read_document,
    refuse_beyond,
    refuse_shape,
    write_document,
)

SCHEMA, VERSION, KIND = "counterpoise-test", 2, "test file"


@dataclass(frozen=True, slots=True, eq=False)
class Inner:
    """A part of a result."""

    name: str
    std: float
    spread: Array

    def __post_init__(self) -> None:
        """Take what is not known for infinite."""
        infinite_where_unknown(self, "std", "spread")


@dataclass(frozen=True, slots=True, eq=False)
class Outer:
    """A result."""

    kind: Literal["a", "b"]
    count: int
    value: float
    matrix: Array
    marks: npt.NDArray[np.bool_]
    words: tuple[str, ...]
    shown: Mapping[str, bool]
    parts: tuple[Inner, ...]
    verdict: Verdict


RESULT = Outer(
    kind="a",
    count=3,
    value=math.nan,
    matrix=np.array([[0.1, math.nan], [1e-300, -1.0 / 3.0]]),
    marks=np.array([True, False]),
    words=("α", ""),
    shown={"yaw": True},
    parts=(Inner("x", math.inf, np.array([1.0, math.inf])), Inner("y", 0.25, np.zeros(0))),
    verdict=Verdict((Check("one", True, "good", 0.5, math.nan, "N"),)),
)


def read(path: Path) -> Outer:
    return read_document(path, {SCHEMA: Outer}, VERSION, kind=KIND)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return write_document(tmp_path / "x.json", SCHEMA, VERSION, RESULT)


def changed(path: Path, place: tuple[Any, ...], value: Any) -> None:
    """Change one value of a file's content, with a checksum that fits."""
    document = json.loads(path.read_text())
    inside = document["content"]
    for key in place[:-1]:
        inside = inside[key]
    inside[place[-1]] = value
    document["checksum"] = checksum(document["content"])
    path.write_text(json.dumps(document))


def test_what_was_written_comes_back(saved: Path) -> None:
    """Bits of numbers, types, what is not known and what is infinite; arrays cannot be written to."""
    found = read(saved)
    assert (found.kind, found.count, found.words, found.shown) == ("a", 3, RESULT.words, {"yaw": True})
    assert math.isnan(found.value)
    np.testing.assert_array_equal(found.matrix, RESULT.matrix)
    np.testing.assert_array_equal(found.marks, RESULT.marks)
    assert found.marks.dtype == np.bool_ and not found.marks.flags.writeable and not found.matrix.flags.writeable
    assert [part.std for part in found.parts] == [math.inf, 0.25]
    np.testing.assert_array_equal(found.parts[0].spread, [1.0, math.inf])
    assert type(found.verdict) is Verdict and found.verdict[0].value == 0.5 and math.isnan(found.verdict[0].limit)
    assert plain(found) == plain(RESULT)


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (("surprise",), 1, "'surprise'"),
        (("parts", 0, "more"), 1, "parts"),
        (("kind",), "c", "kind"),
        (("kind",), None, "kind"),
        (("count",), 1.5, "count"),
        (("count",), True, "count"),
        (("count",), None, "count"),
        (("value",), "1", "value"),
        (("value",), 10**400, "value"),
        (("matrix",), 3.0, "matrix"),
        (("matrix",), [[1.0], [1.0, 2.0]], "matrix"),
        (("matrix",), [["1.0"]], "matrix"),
        (("matrix",), [[True]], "matrix"),
        (("matrix",), [[10**400]], "matrix"),
        (("matrix",), {}, "matrix"),
        (("marks",), [0, 1], "marks"),
        (("marks",), [None], "marks"),
        (("words",), [None], "words"),
        (("shown",), {"yaw": 1}, "shown"),
        (("parts",), None, "parts"),
        (("parts", 0), None, "parts"),
        (("verdict",), [{"name": "one"}], "verdict"),
        (("verdict", 0, "limit"), "none", "verdict"),
        (("verdict", 0, "extra"), 1, "verdict"),
    ],
)
def test_what_is_of_another_kind_is_refused(saved: Path, place: tuple[Any, ...], value: Any, words: str) -> None:
    changed(saved, place, value)
    with pytest.raises(DataFileError, match=rf"does not hold what a {KIND} has.*{words}"):
        read(saved)


def test_a_missing_field_is_refused(saved: Path) -> None:
    """One with a default, too: a file holds everything."""
    for place in (("words",), ("verdict", 0, "unit")):
        document = json.loads(saved.read_text())
        inside = document["content"]
        for key in place[:-1]:
            inside = inside[key]
        del inside[place[-1]]
        document["checksum"] = checksum(document["content"])
        other = saved.with_name("missing.json")
        other.write_text(json.dumps(document))
        with pytest.raises(DataFileError, match="does not hold what"):
            read(other)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"schema": "other"}, f"is no {KIND}"),
        ({"version": VERSION + 1}, "Update counterpoise"),
        ({"version": VERSION - 1}, "calibrate again"),
        ({"version": True}, "damaged"),
        ({"version": "2"}, "damaged"),
        ({"content": []}, "damaged"),
        ({"checksum": "sha256:0"}, "checksum"),
    ],
)
def test_another_document_is_refused(saved: Path, change: dict[str, Any], words: str) -> None:
    saved.write_text(json.dumps(json.loads(saved.read_text()) | change))
    with pytest.raises(DataFileError, match=words):
        read(saved)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "3",
        "nonsense",
        "[" * 100_000,
        '{"a":' * 100_000,
        f'{{"schema": "{SCHEMA}", "version": {VERSION}, "content": {{"matrix": {"[" * 500}{"]" * 500}}}}}',
        f'{{"schema": "{SCHEMA}", "version": {VERSION}, "content": {"{" + chr(34) + "a" + chr(34) + ":"} 1e999}}}}',
    ],
)
def test_what_is_no_document_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "y.json"
    path.write_text(text)
    with pytest.raises(DataFileError, match=r"y\.json"):
        read(path)


@pytest.mark.parametrize("depth", [20, 70, 400])
def test_a_deep_array_is_refused(saved: Path, depth: int) -> None:
    deep: Any = 1.0
    for _ in range(depth):
        deep = [deep]
    changed(saved, ("matrix",), deep)
    with pytest.raises(DataFileError):
        read(saved)


def test_a_large_file_is_refused(saved: Path) -> None:
    with pytest.raises(DataFileError, match="MB are accepted"):
        read_document(saved, {SCHEMA: Outer}, VERSION, kind=KIND, most=100)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_value_in_any_field_is_refused_or_written_the_same(tmp_path: Path, data: st.DataObject) -> None:
    """What is read is what would be written: nothing is dropped, made up or rounded."""
    path = write_document(tmp_path / "z.json", SCHEMA, VERSION, RESULT)
    field = data.draw(st.sampled_from(sorted(json.loads(path.read_text())["content"])))
    value = data.draw(JSON)
    changed(path, (field,), value)
    try:
        found = read(path)
    except DataFileError:
        return
    assert plain(found)[field] == value


def test_bounds_name_the_place() -> None:
    refuse_beyond("x", [1.0, 2.0], 1.0, 2.0)
    refuse_beyond("x", [1.0, math.nan], 1.0, 2.0, unknown=True)
    refuse_beyond("x", np.zeros((0, 0)), 1.0, 2.0)
    for values, words in (
        (3.0, "x is 3; expected 1 to 2"),
        ([1.0, math.nan], r"x\[1\] \(b\) is nan"),
        ([0.5, 1.0], r"x\[0\] \(a\) is 0.5"),
        (10**400, "x is inf"),
    ):
        with pytest.raises(InputError, match=words):
            refuse_beyond("x", values, 1.0, 2.0, labels=("a", "b") if isinstance(values, list) else ())
    with pytest.raises(InputError, match=r"y\[1\]\[0\] is 7; expected 0 to 5"):
        refuse_beyond("y", [[1.0, 2.0], [7.0, 1.0]], np.zeros((2, 2)), np.full((2, 2), 5.0))
    with pytest.raises(InputError, match="x has shape"):
        refuse_shape("x", np.zeros(3), (2,))
