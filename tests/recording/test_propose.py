"""Proposed mappings: what names say, what is not measured, and clear errors where names do not settle it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from counterpoise.errors import DataFileError
from counterpoise.recording.mapping import LogMapping, read_mapping
from counterpoise.recording.names import kind_of, unit_of, words_of
from counterpoise.recording.proposal import Proposal, propose
from counterpoise.recording.table import Columns, Table

ARM = ("shoulder", "elbow", "wrist")


class Made:
    """A source with columns of any name; the first is a time that grows, if it is called so."""

    has_time = False
    progress = 1.0
    recovery = None

    def __init__(self, *names: str, path: str = "run.csv", topic: str = "", first: float = 0.0) -> None:
        self.column_names = names
        self.path = path
        self.name = topic
        self.has_time = bool(topic)
        self._first = first

    def tables(self, rows: int = 10) -> Iterator[Table]:
        grid = self._first + np.arange(10.0) * max(1.0, 1e-9 * self._first)
        yield Table(grid if self.has_time else None, np.repeat(grid[:, None], len(self.column_names), axis=1))


def proposed(*sources: Made, joints: tuple[str, ...] | None = ARM, **given: object) -> Proposal:
    return propose(Columns(sources), joints, LogMapping.from_table(given))


def columns_of(proposal: Proposal, kind: str) -> list[str | None]:
    return [getattr(proposal.mapping.joints.get(joint), kind, None) for joint in proposal.joint_names]


def all_kinds(form: str) -> list[str]:
    return [form.format(kind=kind, joint=joint) for kind in ("pos", "vel", "torque") for joint in ARM]


@pytest.mark.parametrize(
    "form",
    [
        "{kind}.{joint}",
        "{joint}_{kind}",
        "- {joint}_joint_{kind}",
        "/joint_states/{joint}/{kind}",
        "{kind} of {joint} [x]",
    ],
)
def test_joints_by_name(form: str) -> None:
    """The robot's names are found wherever they stand in a column's, in any order of columns."""
    names = all_kinds(form)[::-1]
    proposal = proposed(Made("t", *names))
    for kind, word in (("position", "pos"), ("velocity", "vel"), ("effort", "torque")):
        assert columns_of(proposal, kind) == [form.format(kind=word, joint=joint) for joint in ARM]
    assert (proposal.mapping.time.column, proposal.by_number) == ("t", False)
    assert (proposal.mapping.effort.kind, proposal.unused) == ("torque", ())


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("form", ["{kind}{n}", "{kind}_{n}", "{kind}[{n}]", "joint{n}_{kind}", "actual_{kind}_{n}"])
def test_joints_by_number(first: int, form: str) -> None:
    """Numbers from 0 or 1, as many as joints, mean the robot's order."""
    names = [form.format(kind=kind, n=first + n) for kind in ("q", "dq", "tau") for n in range(3)]
    proposal = proposed(Made("time", *names))
    assert columns_of(proposal, "position") == names[:3]
    assert columns_of(proposal, "velocity") == names[3:6]
    assert columns_of(proposal, "effort") == names[6:]
    assert proposal.by_number


def test_longest_name_wins() -> None:
    """arm_1 is not taken for arm_10, nor elbow for elbow_roll."""
    joints = ("arm_1", "arm_10", "elbow", "elbow_roll")
    proposal = proposed(Made(*(f"{joint}_position" for joint in joints)), joints=joints)
    assert columns_of(proposal, "position") == [f"{joint}_position" for joint in joints]


def test_what_is_not_measured_is_left_alone() -> None:
    """Commands, references, external and desired values, accelerations; but not their topic or file in general."""
    names = ["q", "q_d", "q_des", "q_cmd", "target_q", "ddq", "tau", "tau_ext", "tau_J_d", "ref_tau", "q_error"]
    proposal = proposed(Made("t", *(f"{name}_{n}" for name in names for n in range(3)), path="reference_run.csv"))
    assert columns_of(proposal, "position") == ["q_0", "q_1", "q_2"]
    assert columns_of(proposal, "effort") == ["tau_0", "tau_1", "tau_2"]
    states = Made(*(f"position.{joint}" for joint in ARM), topic="/joint_states")
    goals = Made(*(f"position.{joint}" for joint in ARM), topic="/controller/command")
    assert columns_of(proposed(goals, states), "position")[0] == "/joint_states:position.shoulder"


def test_measured_goes_before_unsaid_and_torque_before_current() -> None:
    """actual_q before q; torque before current; the current position is a position."""
    proposal = proposed(Made(*(f"{name}_{n}" for name in ("q", "actual_q", "current", "torque") for n in (0, 1, 2))))
    assert columns_of(proposal, "position") == ["actual_q_0", "actual_q_1", "actual_q_2"]
    assert columns_of(proposal, "effort") == ["torque_0", "torque_1", "torque_2"]
    assert kind_of(words_of("current_position_1")) == ("position", "position")
    assert kind_of(words_of("qDot")) == ("velocity", "q dot")


def test_kind_by_file_name() -> None:
    """Files with columns named only by joints say what they hold in their names."""
    files = [Made(*ARM, path=f"{name}.csv") for name in ("run_velocity", "motor_curr", "jointAngle")]
    proposal = proposed(*files)
    assert columns_of(proposal, "position")[0] == "jointAngle.csv:shoulder"
    assert columns_of(proposal, "velocity")[0] == "run_velocity.csv:shoulder"
    assert columns_of(proposal, "effort")[0] == "motor_curr.csv:shoulder"
    assert proposal.mapping.effort.kind == "current"


def test_units_by_name() -> None:
    """Units at the end of names; an effort's unit says its kind."""
    proposal = proposed(Made("time_ms", *(f"{k}" for n in range(3) for k in (f"q_{n} [deg]", f"effort_{n} (mA)"))))
    mapping = proposal.mapping
    assert (mapping.time.unit, mapping.position.unit) == ("ms", "deg")
    assert (mapping.effort.unit, mapping.effort.kind) == ("mA", "current")
    assert [unit_of(name) for name in ("q (rad)", "tau [N m]", "tau", "v [rad/s]")] == ["rad", "Nm", None, "rad/s"]
    assert proposed(Made("stamp", "q_0", "q_1", "q_2", first=1.7e18)).mapping.time.unit == "ns"


def test_series_of_a_larger_robot() -> None:
    """fer_joint1 to 7 are panda_joint1 to 7 though the robot has a finger; left is never taken for right."""
    panda = (*(f"panda_joint{n}" for n in range(1, 8)), "panda_finger_joint1")
    proposal = proposed(Made(*(f"position.fer_joint{n}" for n in range(1, 8)), topic="/joint_states"), joints=panda)
    assert proposal.joint_names == panda[:7]
    right = tuple(f"right_joint{n}" for n in range(1, 8))
    with pytest.raises(DataFileError, match="do not fit"):
        proposed(Made(*(f"position.left_joint{n}" for n in range(1, 8))), joints=right)


def test_plate() -> None:
    """Six channels of force and moment are the plate's unless they are a wrist's; torque.x is no joint's effort."""
    channels = ["force.x", "force.y", "force.z", "torque.x", "torque.y", "torque.z"]
    joints = Made(*(f"position.{joint}" for joint in ARM), topic="/joint_states")
    proposal = proposed(joints, Made(*channels, topic="/plate"))
    assert proposal.mapping.wrench.columns == tuple(channels)
    assert proposed(joints, Made(*channels, topic="/wrist_ft")).mapping.wrench.columns is None
    named = proposed(joints, Made(*channels, topic="/ft"), Made(*channels, topic="/base_ft"))
    assert (named.mapping.wrench.columns or ("",))[0] == "/base_ft:force.x"
    with pytest.raises(DataFileError, match=r"/a:force\.x' and '/b:force\.x"):
        proposed(joints, Made(*channels, topic="/a"), Made(*channels, topic="/b"))
    flat = proposed(Made("t", "q_0", "q_1", "q_2", "Fx", "Fy", "Fz", "Tx", "Ty", "Tz"))
    assert flat.mapping.wrench.columns == ("Fx", "Fy", "Fz", "Tx", "Ty", "Tz")


@pytest.mark.parametrize(
    ("sources", "words"),
    [
        ([Made("a", "b", "c")], r"no column is known.*\n  recording: a, b, c\n  robot: shoulder, elbow, wrist"),
        ([Made("q_0", "q_1")], r"do not fit.*\n  recording: q_0, q_1\n  robot: shoulder, elbow, wrist"),
        ([Made("q_1", "q_2", "q_4")], "do not fit"),
        (
            [Made("pos_shoulder", "pos_elbow", "pos_knee")],
            r"lacks\.\n  recording: knee\n  robot: shoulder.*\n.*ignore = ",
        ),
        ([Made(*(f"position.{j}" for j in (*ARM, "finger")), topic="/js")], r"recording: finger\n"),
        ([Made("pos_shoulder", "pos_shoulder")], 'may be "pos_shoulder#1" or "pos_shoulder#2"'),
        ([Made("q_0", "q_1", "q_1", "q_2")], r"do not fit.*\n  recording: q_0, q_1#1, q_1#2, q_2"),
        ([Made("shoulder_angle", "shoulder_position")], r'\[joints.shoulder\]\n  position = "shoulder_angle"'),
        ([Made(*(f"position.{j}" for j in ARM), topic=t) for t in ("/a", "/b")], r'"/a:position.shoulder" or "/b:pos'),
        ([Made("tau_shoulder", "q_elbow")], "'shoulder' has no position"),
    ],
)
def test_errors_show_both_lists(sources: list[Made], words: str) -> None:
    """Nothing, too few, too many, gaps, unknown joints, duplicates, two candidates: each says how to go on."""
    with pytest.raises(DataFileError, match=words):
        proposed(*sources)


def test_given_entries_settle_it() -> None:
    """What a mapping says is not proposed again; what it ignores is not looked at."""
    given = {"shoulder": {"position": "shoulder_angle"}}
    proposal = propose(
        Columns([Made("shoulder_angle", "shoulder_position", "q_elbow")]), ARM, LogMapping.from_table({"joints": given})
    )
    assert columns_of(proposal, "position")[0] == "shoulder_angle"
    assert proposed(Made("pos_shoulder", "pos_knee"), ignore=["knee"]).joint_names == ("shoulder",)
    with pytest.raises(DataFileError, match="has no column 'nothing'; it has q_0"):
        proposed(Made("q_0"), time={"column": "nothing"})
    with pytest.raises(DataFileError, match="names joints that the robot lacks"):
        propose(Columns([Made("q_0")]), ARM, LogMapping.from_table({"joints": {"knee": {"position": "q_0"}}}))


def test_times() -> None:
    """A time does not go back; whole seconds beside nanoseconds are none; a joint's name is none."""
    assert proposed(Made("stamp.sec", "stamp.nanosec", "q_0", "q_1", "q_2")).mapping.time.column is None
    assert proposed(Made("q_0", "q_1", "q_2")).mapping.time.column is None
    assert proposed(Made("__time", "q_0", "q_1", "q_2")).mapping.time.column == "__time"


def test_shown_as_a_mapping_file(tmp_path: Path) -> None:
    """The text has a reason beside each line, names what is not used, and reads back as the same mapping."""
    proposal = proposed(Made("t", "q_0", "q_1", "q_2", "tau_0", "tau_1", "tau_2", "battery"))
    text = proposal.to_toml()
    path = tmp_path / "m.toml"
    path.write_text(text)
    assert read_mapping(path) == proposal.mapping
    assert 'position = "q_0"  # its name says position' in text
    assert "# not used: battery" in text


def test_without_a_robot() -> None:
    """The recording's own names are taken."""
    assert proposed(Made("position.a b", "effort.a b"), joints=None).joint_names == ("a b",)
    assert proposed(Made("- arm_1_joint_position"), joints=None).joint_names == ("arm_1_joint",)
    assert proposed(Made("actual_q_0", "tau_0"), joints=None).joint_names == ("joint_0",)
