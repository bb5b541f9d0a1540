"""Taught paths as text: what is written reads back, units count, and whatever bytes come, a path or our error."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import counterpoise as cp
from counterpoise.errors import DataFileError, InputError
from counterpoise.tasks.teach.path import (
    MOST_JOINTS,
    MOST_ROWS,
    TaughtPath,
    path_from_bytes,
    path_text,
    read_path,
    write_path,
)

TEXT = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20).filter(
    lambda text: text.isprintable() and text == text.strip()
)
NUMBER = st.floats(-1e9, 1e9, allow_nan=False)
HEAD = "# counterpoise path 1\n# name: wipe\n# kind: continuous\n"
GOOD = HEAD + "time [s],a [rad],b [m]\n0,0.1,0.2\n0.5,0.3,0.1\n"


@st.composite
def paths(draw: st.DrawFn) -> TaughtPath:
    """Any path, with any printable names."""
    names = draw(st.lists(TEXT, min_size=1, max_size=4, unique=True))
    rows = draw(st.integers(2, 6))
    steps = draw(arrays(np.float64, rows, elements=st.floats(1e-3, 1e3)))
    q = draw(arrays(np.float64, (rows, len(names)), elements=NUMBER))
    units = draw(st.lists(st.sampled_from(["rad", "m"]), min_size=len(names), max_size=len(names)))
    keys = st.text("abcXYZ019_-", min_size=1, max_size=10)
    return TaughtPath(
        name=draw(TEXT),
        joint_names=tuple(names),
        units=tuple(units),
        time=np.cumsum(steps),
        q=q,
        kind=draw(st.sampled_from(["continuous", "waypoints"])),
        robot=draw(TEXT | st.just("")),
        kinematics=draw(TEXT | st.just("")),
        notes=draw(st.dictionaries(keys, TEXT | st.just(""), max_size=3)),
    )


def same(one: TaughtPath, other: TaughtPath) -> bool:
    """Whether two paths are equal to the last bit."""
    fields = ("name", "joint_names", "units", "kind", "robot", "kinematics")
    return (
        all(getattr(one, field) == getattr(other, field) for field in fields)
        and dict(one.notes) == dict(other.notes)
        and np.array_equal(one.time, other.time)
        and np.array_equal(one.q, other.q)
    )


@settings(max_examples=25)
@given(paths())
def test_what_is_written_reads_back_exactly(path: TaughtPath) -> None:
    """Names, units, notes and every bit of the numbers survive."""
    assert same(path_from_bytes(path_text(path).encode(), "x.csv"), path)


@settings(max_examples=300)
@given(st.binary(max_size=300) | st.binary(max_size=120).map(lambda tail: GOOD.encode()[:70] + tail))
def test_any_bytes_give_a_path_or_our_error(data: bytes) -> None:
    """No other exception leaves the reader."""
    try:
        path_from_bytes(data, "x.csv")
    except DataFileError as error:
        assert str(error).startswith("x.csv")


@settings(max_examples=300)
@given(st.integers(0, len(GOOD) - 1), st.integers(0, 30), st.text(max_size=8))
def test_damaged_files_give_a_path_or_our_error(at: int, lost: int, put: str) -> None:
    """A piece lost and something else in its place: still a path of finite numbers, or our error."""
    data = (GOOD[:at] + put + GOOD[at + lost :]).encode("utf-8", errors="surrogatepass")
    try:
        path = path_from_bytes(data, "x.csv")
    except DataFileError:
        return
    assert np.all(np.isfinite(path.q)) and np.all(np.diff(path.time) > 0.0)


def test_units_are_converted_where_they_are_declared() -> None:
    """Degrees, millimetres and milliseconds come in; radians, metres and seconds come out."""
    text = HEAD + "time [ms],a [deg],b [mm]\n100,180,250\n600,-90,0\n"
    path = path_from_bytes(text.encode(), "x.csv")
    assert path.units == ("rad", "m")
    assert path.time == pytest.approx([0.0, 0.5])  # counted from the first row
    assert path.q == pytest.approx(np.array([[np.pi, 0.25], [-np.pi / 2, 0.0]]))


@pytest.mark.parametrize(
    ("text", "says", "line"),
    [
        ("", "no taught path", 1),
        (HEAD, "no columns", None),
        (GOOD.replace("a [rad]", "a"), "has no unit", 4),
        (GOOD.replace("a [rad]", "a [grad]"), "unit 'grad'", 4),
        (GOOD.replace("time [s]", "t [s]"), "expected time", 4),
        (GOOD.replace("0.3", "nan"), "nan", 6),
        (GOOD.replace("0.3", "1_0"), "1_0", 6),
        (GOOD.replace("0.3", "1e12"), "1e12", 6),
        (GOOD.replace("0.3,0.1", "0.3"), "has 2 numbers; expected 3", 6),
        (GOOD.replace("0.5,", "0.0,"), "is not after", 6),
        (GOOD.replace("continuous", "curved"), "curved", None),
        (GOOD.replace("# name: wipe\n", ""), "lacks '# name", 3),
        (GOOD.replace("# name: wipe", "# name: wipe\n# name: mop"), "twice", 3),
        (GOOD.replace("# name: wipe", "# name: wipe\n# colour: red"), "colour", 3),
        (GOOD.replace("b [m]", "a [m]"), "is there twice", 4),
        (GOOD.rpartition("0.5")[0], "1 rows", None),
    ],
)
def test_refusals_say_what_and_where(text: str, says: str, line: int | None) -> None:
    """Each fault is named, with its line."""
    with pytest.raises(DataFileError, match=r"x\.csv") as caught:
        path_from_bytes(text.encode(), "x.csv")
    assert says in str(caught.value)
    assert caught.value.line == line


def test_too_many_lines_are_refused_without_reading_them() -> None:
    """A file of line feeds costs no memory."""
    with pytest.raises(DataFileError, match="lines"):
        path_from_bytes(b"# counterpoise path 1" + b"\n" * 1_200_000, "x.csv")


def test_writing_replaces_whole_files_only(tmp_path: Path) -> None:
    """A path is written and read; a folder that is not there is our error and leaves nothing."""
    path = path_from_bytes(GOOD.encode(), "x.csv")
    file = tmp_path / "wipe.path.csv"
    write_path(path, file)
    write_path(path, file)
    assert same(read_path(file), path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["wipe.path.csv"]
    with pytest.raises(DataFileError, match="cannot be written"):
        write_path(path, tmp_path / "nowhere" / "x.csv")
    with pytest.raises(DataFileError, match="cannot be read"):
        read_path(tmp_path / "absent.csv")


def test_joints_are_matched_by_name() -> None:
    """Columns in another order come out in the robot's; another arm's joints and another geometry are refused."""
    robot = cp.load("planar3")
    made = TaughtPath.of(robot, [0.0, 1.0], [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]], name="wave")
    turned = TaughtPath(
        "wave", made.joint_names[::-1], made.units, made.time, made.q[:, ::-1], kinematics=made.kinematics
    )
    assert turned.for_robot(robot).q == pytest.approx(made.q)
    assert turned.for_robot(robot).joint_names == robot.joint_names
    with pytest.raises(InputError, match="lacks joint4"):
        made.for_robot(cp.load("wam4"))
    gantry = cp.load("gantry")
    assert gantry.joint_names == robot.joint_names
    with pytest.raises(InputError, match="other joints or lengths"):
        made.for_robot(gantry)
    with pytest.raises(InputError, match="in rad; the robot's is in m"):
        made.for_robot(gantry, other_robot=True)
    puma, titan = cp.load("puma560"), cp.load("titan2")
    home = TaughtPath.of(puma, [0.0, 1.0], np.zeros((2, 6)), name="home")
    assert home.for_robot(titan, other_robot=True).joint_names == titan.joint_names


def test_units_must_be_the_robots() -> None:
    """A rotary joint in metres is refused."""
    robot = cp.load("planar3")
    wrong = TaughtPath("x", robot.joint_names, ("rad", "m", "rad"), np.array([0.0, 1.0]), np.zeros((2, 3)))
    with pytest.raises(InputError, match=f"'{robot.joint_names[1]}' in m"):
        wrong.for_robot(robot)


def test_a_payload_does_not_make_another_arm() -> None:
    """What it carries and how it is mounted change nothing about where joint angles lead."""
    robot = cp.load("wam7")
    path = TaughtPath.of(robot, [0.0, 1.0], np.zeros((2, 7)), name="still")
    again = path.for_robot(robot.with_payload(2.0).mounted(rpy=(0.0, 1.0, 0.0)))
    assert again.joint_names == robot.joint_names and np.array_equal(again.q, path.q)


def test_the_longest_path_has_as_many_rows_as_a_file_may_have() -> None:
    """So many rows are a path; one more is refused, and so is a single one."""
    for rows, fits in ((2, True), (MOST_ROWS, True), (MOST_ROWS + 1, False), (1, False)):
        fields = {"name": "wipe", "joint_names": ("a",), "units": ("rad",), "kind": "continuous"}
        time = np.arange(rows, dtype=np.float64)
        if fits:
            assert len(TaughtPath(**fields, time=time, q=time[:, None]).q) == rows
        else:
            with pytest.raises(InputError, match="k from 2 to"):
                TaughtPath(**fields, time=time, q=time[:, None])


def test_the_widest_file_has_as_many_joints_as_are_allowed() -> None:
    """So many joints are read; one more is refused, and so is a file without any."""
    for joints in (1, MOST_JOINTS, MOST_JOINTS + 1, 0):
        names = ",".join(["time [s]", *(f"joint{index} [rad]" for index in range(joints))])
        rows = "\n".join(",".join(["0" if row == 0 else "0.5", *["0.1"] * joints]) for row in range(2))
        data = f"{HEAD}{names}\n{rows}\n".encode()
        if 0 < joints <= MOST_JOINTS:
            assert len(path_from_bytes(data, "wide.path").joint_names) == joints
        else:
            with pytest.raises(DataFileError, match=f"has {joints + 1} columns"):
                path_from_bytes(data, "wide.path")
