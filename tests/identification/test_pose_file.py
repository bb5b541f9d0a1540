"""Poses from CSV: by name or in order, exact numbers, and a refusal that names file, line and column."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counterpoise.dynamics import MAX_INPUT
from counterpoise.errors import DataFileError
from counterpoise.identification import pose_plan as pose_file
from counterpoise.identification.pose_plan import read_poses

JOINTS = ("a", "b", "c")


@pytest.fixture
def read(tmp_path: Path):
    def from_text(content: str | bytes, joints: tuple[str, ...] = JOINTS):
        file = tmp_path / "poses.csv"
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_poses(str(file), joints)

    return from_text


@pytest.mark.parametrize(
    "content",
    [
        "a,b,c\n1,2,3\n4,5,6\n",
        "c,a,b\n3,1,2\n6,4,5\n",
        "1,2,3\n4,5,6",
        "1;2;3\r\n4;5;6\r\n",
        "a\tb\tc\n1\t2\t3\n4\t5\t6\n",
        "\n  \na , b,c\n\n1,2,3\n\n4,5,6\n\n",
        '"a","b","c"\n"1","2","3"\n"4","5","6"\n',
        "\ufeffa,b,c\n1,2,3\n4,5,6\n",
        "# a,b,c\n1,2,3\n4,5,6\n",
        "1.0e0, +2 ,3.\n4,.5e1,6\r",
    ],
)
def test_spellings_of_the_same_poses(read, content):
    found = read(content)
    np.testing.assert_array_equal(found.q, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert found.ignored == ()


def test_other_columns_are_ignored_whatever_they_hold(read):
    found = read('t,c,label,a,b\nnan,3,"x, ""y""\nz",1,2\n,6,,4,5\n')
    np.testing.assert_array_equal(found.q, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert found.ignored == ("t", "label")


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ("", None, "is empty"),
        ("\n \n", None, "is empty"),
        ("a,b,c\n", None, "header and no pose"),
        ("a,b\n1,2\n", 1, "no column for c; the robot's joints are a, b, c; the file's columns are a, b"),
        ("a,b,c,b\n1,2,3,4\n", 1, "more than one column for b; the robot's joints are a, b, c; the file's columns are"),
        ("\na,B,c\n1,2,3\n", 2, "no column for b"),
        ("1,2\n3,4\n", 1, "has 2 columns and no header; expected 3"),
        ("1 2 3\n", 1, "separated by commas, semicolons or tabs"),
        ("1,2,x\n", 1, "no column for a, b, c"),
        ("a,b,c\n1,2,3\n4,5\n", 3, "has 2 fields; the first line has 3"),
        ("a,b,c\n1,2,3\n4,5,6,7\n", 3, "has 4 fields"),
        ("1,2,3\n4,,6\n", 2, "b is ''"),
        ("1,2,3\n,,\n", 2, "a is ''"),
        ("1,2,3\n4,five,6\n", 2, "b is 'five'; expected a plain decimal number"),
        ("1,2,3\n4,nan,6\n", 2, "b is 'nan'"),
        ("1,2,3\n4,-inf,6\n", 2, "b is '-inf'"),
        ("1,2,3\n4,1_000,6\n", 2, "b is '1_000'"),
        ("1,2,3\n4,1e999,6\n", 2, "b is '1e999'"),
        ("1,2,3\n4,2e9,6\n", 2, "within ±1e+09"),
        ("1,2,3\n4,5 6,7\n", 2, "b is '5 6'"),
        ("1,2,3\n4,٣,7\n", 2, "b is '٣'"),
        ("a;b;c\n0,5;1;2\n", 2, "a is '0,5'"),
        ("#1,2,3\n4,5,6\n", 1, "a is '#1'"),
        ('1,2,3\n4,"5,6\n', 2, "is not CSV"),
        ('a,b,c,t\n1,2,3,"two\nlines"\n4,x,6,7\n', 4, "b is 'x'"),
        (b"a,b,c\n1,2,3\n1,\xff,3\n", 3, "not UTF-8"),
        ("a,b,c\n1,2,3\n".encode("utf-16"), 1, "not UTF-8"),
        ("a,b,c\n" + "1" * 200_000 + ",2,3\n", 2, "is not CSV: field larger than field limit"),
    ],
)
def test_refusals_name_line_and_column(read, tmp_path, content, line, message):
    with pytest.raises(DataFileError) as caught:
        read(content)
    assert caught.value.line == line
    assert caught.value.path == str(tmp_path / "poses.csv")
    assert message in str(caught.value)


def test_joints_named_like_numbers_still_have_a_header(read):
    found = read("2,1\n20,10\n", ("1", "2"))
    np.testing.assert_array_equal(found.q, [[10.0, 20.0]])


@pytest.mark.parametrize("path", ["", "missing.csv", "\0"])
def test_file_that_cannot_be_read(tmp_path, path):
    with pytest.raises(DataFileError, match="cannot be read"):
        read_poses(f"{tmp_path}/{path}", JOINTS)


def test_size_is_bounded(read, monkeypatch):
    monkeypatch.setattr(pose_file, "MAX_POSE_FILE_BYTES", 10)
    with pytest.raises(DataFileError, match="split it"):
        read("1,2,3\n" * 3)


def test_error_in_a_later_chunk_names_its_line(read, monkeypatch):
    monkeypatch.setattr(pose_file, "CHUNK_ROWS", 7)
    lines = ["1,2,3"] * 50
    lines[40] = "1,2,3e"
    with pytest.raises(DataFileError) as caught:
        read("\n".join(lines))
    assert caught.value.line == 41


@settings(max_examples=60)
@given(rows=st.lists(st.tuples(*[st.floats(-1e9, 1e9)] * 3), min_size=1, max_size=30), chunk=st.integers(1, 40))
def test_numbers_are_read_back_exactly(tmp_path_factory, rows, chunk):
    file = tmp_path_factory.mktemp("csv") / "poses.csv"
    file.write_text("c,a,b\n" + "".join(f"{c!r},{a!r},{b!r}\n" for a, b, c in rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pose_file, "CHUNK_ROWS", chunk)
        found = read_poses(str(file), JOINTS)
    np.testing.assert_array_equal(found.q, rows)


def test_numbers_up_to_the_largest_are_read(read):
    """The bound itself is a number like any other; what is beyond it is refused."""
    for most in (MAX_INPUT, -MAX_INPUT):
        assert read(f"a,b,c\n{most!r},0,1\n").q.tolist() == [[most, 0.0, 1.0]]
        with pytest.raises(DataFileError, match="expected a number within"):
            read(f"a,b,c\n{most * (1.0 + 1e-12)!r},0,1\n")
        with pytest.raises(DataFileError, match="b is 'x'"):
            read(f"a,b,c\n{most!r},0,1\n1,x,2\n")
