"""The tree as text: chains straight down, branches indented, no limit on depth."""

from __future__ import annotations

from counterpoise.cli.load import tree_lines
from counterpoise.description import Description, Joint, JointKind, Link, checked


def described(*edges: str) -> Description:
    """Make a description of edges such as "base-arm" (moving) or "base=camera" (fixed)."""
    joints = []
    for edge in edges:
        fixed = "=" in edge
        parent, child = edge.split("=" if fixed else "-")
        joints.append(Joint(child, JointKind.FIXED if fixed else JointKind.REVOLUTE, parent, child))
    names = {name: None for joint in joints for name in (joint.parent, joint.child)}
    return checked(name="x", links=[Link(name) for name in names], joints=joints)


def drawn(*edges: str) -> list[str]:
    return [line.stem + line.link for line in tree_lines(described(*edges))]


def test_a_chain_is_not_indented():
    assert drawn("base-a", "a-b", "b=tool") == ["base", "│ a", "│ b", "└ tool"]


def test_a_branching_is_indented_on_both_sides():
    assert drawn("base-l1", "l1-l2", "base-r1", "r1-r2") == ["base", "├─┬ l1", "│ └ l2", "└─┬ r1", "  └ r2"]


def test_side_frames_leave_the_chain_straight():
    assert drawn("base-a", "a=camera", "camera=lens", "a-b") == ["base", "│ a", "├─┬ camera", "│ └ lens", "└ b"]


def test_a_fixed_joint_to_a_moving_arm_is_a_branch():
    assert drawn("base=left", "left-l1", "base=right", "right-r1") == [
        *("base", "├─┬ left", "│ └ l1", "└─┬ right", "  └ r1"),
    ]


def test_side_frame_after_the_arm_closes_the_branch():
    assert drawn("base-a", "a-b", "base=camera") == ["base", "├─┬ a", "│ └ b", "└─ camera"]


def test_order_is_that_of_the_joints_and_depth_is_not_limited():
    edges = [f"l{i}-l{i + 1}" for i in range(450)]
    lines = tree_lines(described(*edges))
    assert [line.link for line in lines] == [f"l{i}" for i in range(451)]
    assert max(len(line.stem) for line in lines) == 2
