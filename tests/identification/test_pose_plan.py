"""Pose plans: defaults, files, joints by name, and approaches that stay within the limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import counterpoise as cp
from counterpoise.errors import DataFileError, InputError
from counterpoise.identification.pose_plan import PosePlan, approach_within, read_plan

SCARA = cp.load("scara")
WAM = cp.load("wam7")
POSES = [[0.1, 0.2, -0.05, 0.3], [-0.4, 0.5, -0.1, 0.0]]


def test_defaults_follow_the_kind_of_joint_and_the_top_speed() -> None:
    """Rotary joints: 0.03 rad and 0.05 rad/s, linear ones 1 cm and 15 mm/s; travel up to a quarter of top speed."""
    plan = PosePlan.of(SCARA, POSES)
    kinds = {joint.name: joint.kind.rotates for joint in SCARA.description.joints}
    turns = [kinds[name] for name in SCARA.joint_names]
    assert not all(turns)
    assert plan.approach.tolist() == [0.03 if turn else 0.01 for turn in turns]
    assert plan.creep_speed.tolist() == [0.05 if turn else 0.015 for turn in turns]
    assert np.all(plan.travel_speed <= 0.25 * SCARA.velocity_limit)
    assert (plan.settle, plan.dwell) == (0.5, 4.0)


def test_plan_reads_back_exactly(tmp_path: Path) -> None:
    """Every number survives the file, bit by bit."""
    plan = PosePlan.of(SCARA, np.array(POSES) / 3.0, dwell=1.25, approach=[0.02, 0.03, 0.004, 0.05])
    plan.write(tmp_path / "plan.toml")
    assert read_plan(tmp_path / "plan.toml", SCARA).as_data() == plan.as_data()
    assert read_plan(tmp_path / "plan.toml", SCARA, dwell=2.0).dwell == 2.0


def test_joints_are_matched_by_name(tmp_path: Path) -> None:
    """A file with the joints in another order means the same plan: poses and per-joint settings alike."""
    plan = PosePlan.of(SCARA, POSES, approach=[0.02, 0.03, 0.004, 0.05])
    turned = PosePlan(
        SCARA.joint_names[::-1],
        plan.poses[:, ::-1],
        plan.approach[::-1],
        plan.creep_speed[::-1],
        plan.travel_speed[::-1],
        plan.settle,
        plan.dwell,
    )
    turned.write(tmp_path / "plan.toml")
    assert read_plan(tmp_path / "plan.toml", SCARA).as_data() == plan.as_data()
    header = ",".join(SCARA.joint_names[::-1])
    (tmp_path / "poses.csv").write_text(header + "\n" + "\n".join(",".join(map(str, row[::-1])) for row in POSES))
    assert read_plan(tmp_path / "poses.csv", SCARA).poses.tolist() == POSES


def plan_file(tmp_path: Path, **changes: str) -> Path:
    """A plan file with some lines changed; an empty text leaves a line out."""
    names = ", ".join(f'"{name}"' for name in SCARA.joint_names)
    lines = {"schema": '"counterpoise/poses-1"', "joints": f"[{names}]", "poses": str(POSES)} | changes
    path = tmp_path / "plan.toml"
    path.write_text("\n".join(f"{key} = {value}" for key, value in lines.items() if value))
    return path


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (SCARA.joint_names[:-1], f"lacks {SCARA.joint_names[-1]}"),
        ((*SCARA.joint_names, "extra"), "has also extra"),
        ((*SCARA.joint_names, SCARA.joint_names[0]), f"has {SCARA.joint_names[0]} more than once"),
    ],
)
def test_other_joints_are_refused_with_both_lists(tmp_path: Path, names: tuple[str, ...], said: str) -> None:
    """What differs, what the file has, what the robot has, and the line."""
    path = plan_file(tmp_path, joints=str(list(names)))
    with pytest.raises(DataFileError) as caught:
        read_plan(path, SCARA)
    message = str(caught.value)
    assert said in message and ", ".join(names) in message and ", ".join(SCARA.joint_names) in message
    assert caught.value.line == 2


@pytest.mark.parametrize(
    ("changes", "said", "line"),
    [
        ({"schema": '"other"'}, "schema is 'other'", 1),
        ({"poses": ""}, "'poses' is missing", None),
        ({"poses": "[[0.1, 0.2]]"}, "has 2 numbers; expected 4", 3),
        ({"poses": '[[0.1, 0.2, "x", 0.0]]'}, "not a number", 3),
        ({"poses": "[0.1, 0.2]"}, "no list of poses", 3),
        ({"poses": "[[0.1, 0.2, nan, 0.0]]"}, "finite", 3),
        ({"dwell": "-1.0"}, "dwell is -1.0", None),
        ({"approach": "0.0"}, "approach is 0.0", None),
        ({"creep_speed": "true"}, "not a number", 4),
        ({"speed": "1.0"}, "'speed' is no key", 4),
        ({"settle": "1e9"}, "settle", None),
        ({"settle": "["}, "not valid TOML", None),
    ],
)
def test_bad_plan_files_are_refused(tmp_path: Path, changes: dict[str, str], said: str, line: int | None) -> None:
    """Each fault is named, with its line where it has one."""
    with pytest.raises(DataFileError) as caught:
        read_plan(plan_file(tmp_path, **changes), SCARA)
    assert said in str(caught.value)
    assert str(caught.value).count("plan.toml") == 1
    if line is not None:
        assert caught.value.line == line


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0,0,0,0\n", "has no header"),
        (",".join((*SCARA.joint_names, "note")) + "\n0,0,0,0,1\n", "has also note"),
        (",".join(SCARA.joint_names[1:]) + "\n0,0,0\n", SCARA.joint_names[0]),
    ],
)
def test_csv_needs_exactly_the_joints(tmp_path: Path, text: str, said: str) -> None:
    """To drive an arm, columns are not guessed and not ignored."""
    (tmp_path / "poses.csv").write_text(text)
    with pytest.raises(DataFileError, match=said):
        read_plan(tmp_path / "poses.csv", SCARA)


def test_missing_file_is_our_error(tmp_path: Path) -> None:
    """Both kinds of file."""
    for name in ("no.toml", "no.csv"):
        with pytest.raises(DataFileError, match=r"no such file|cannot be read"):
            read_plan(tmp_path / name, SCARA)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"joint_names": ("a", "a")}, "different"),
        ({"poses": np.zeros((0, 2))}, "poses has shape"),
        ({"poses": np.zeros(2)}, "poses has shape"),
        ({"poses": [[np.inf, 0.0]]}, r"poses\[0\]\[0\] is inf; expected a number"),
        ({"approach": [0.1, -0.1]}, "approach"),
        ({"travel_speed": [0.1] * 3}, "travel_speed"),
        ({"dwell": 0.0}, "dwell"),
        ({"settle": "long"}, "settle"),
    ],
)
def test_values_are_checked(changes: dict[str, Any], said: str) -> None:
    """A plan that no arm can follow does not exist."""
    good: dict[str, Any] = {"joint_names": ("a", "b"), "poses": [[0.0, 1.0]]}
    good |= {"approach": 0.03, "creep_speed": 0.05, "travel_speed": 0.5}
    with pytest.raises(InputError, match=said):
        PosePlan(**(good | changes))


def test_near_a_limit_both_sides_are_shortened_alike() -> None:
    """The approach shrinks to what the nearer limit leaves; the note says where."""
    pose = np.zeros(WAM.n)
    pose[3] = WAM.upper[3] - 0.04
    offsets, notes = approach_within(PosePlan.of(WAM, [pose]), WAM.lower, WAM.upper, 0.02)
    assert offsets[0, 3] == pytest.approx(0.02)
    assert np.all(np.delete(offsets[0], 3) == 0.03)
    assert len(notes) == 1 and "joint4" in notes[0] and "pose 1" in notes[0]


@pytest.mark.parametrize("beyond", [-0.025, 0.1])
def test_too_near_a_limit_is_refused(beyond: float) -> None:
    """Less than a third of the approach, or outside altogether: joint, pose and limits are named."""
    poses = np.zeros((2, WAM.n))
    poses[1, 3] = WAM.upper[3] + beyond
    with pytest.raises(InputError, match=r"pose 2: joint4 = .*3\.1"):
        approach_within(PosePlan.of(WAM, poses), WAM.lower, WAM.upper, 0.02)


@settings(max_examples=50)
@given(st.integers(0, 2**32 - 1), st.floats(0.0, 0.1))
def test_accepted_approaches_stay_within_the_margin(seed: int, margin: float) -> None:
    """Whatever the poses: what is accepted never comes nearer to a limit than the margin."""
    random = np.random.default_rng(seed)
    plan = PosePlan.of(WAM, random.uniform(WAM.lower, WAM.upper, (3, WAM.n)))
    try:
        offsets, _ = approach_within(plan, WAM.lower, WAM.upper, margin)
    except InputError:
        return
    assert np.all(offsets >= plan.approach / 3.0 - 1e-12) and np.all(offsets <= plan.approach)
    assert np.all(plan.poses - offsets >= WAM.lower + margin - 1e-9)
    assert np.all(plan.poses + offsets <= WAM.upper - margin + 1e-9)
