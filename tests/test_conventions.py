"""docs/conventions.md, row by row. Plain arms whose torques can be worked out by hand."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.description import parse_urdf
from counterpoise.foundation import rotation_from_wxyz

ROOT = Path(__file__).resolve().parents[1]
G = 9.81


def arm(*joints: str, links: str = "") -> cp.Robot:
    """A robot from URDF fragments."""
    text = f"<robot name='r'><link name='base'/>{links}{''.join(joints)}</robot>"
    return cp.Robot(parse_urdf(text.encode()))


def link(name: str, mass: float = 0.0, com: str = "0 0 0") -> str:
    """A link with a small round inertia."""
    inertia = "<inertia ixx='.1' iyy='.1' izz='.1' ixy='0' ixz='0' iyz='0'/>"
    return f"<link name='{name}'><inertial><origin xyz='{com}'/><mass value='{mass}'/>{inertia}</inertial></link>"


def joint(name: str, kind: str, parent: str, child: str, axis: str = "0 0 1", more: str = "") -> str:
    """A joint at its parent's origin."""
    limit = "<limit lower='-3' upper='3' effort='100' velocity='5'/>"
    return (
        f"<joint name='{name}' type='{kind}'><parent link='{parent}'/><child link='{child}'/>"
        f"<axis xyz='{axis}'/>{limit}{more}</joint>"
    )


# A 2 kg weight half a metre along x, turning about −y: positive q lifts it.
LEVER = arm(joint("lift", "revolute", "base", "bar", axis="0 -1 0"), links=link("bar", 2.0, "0.5 0 0"))


def test_every_row_links_to_an_existing_test() -> None:
    """The page and the tests stay together."""
    rows = re.findall(r"^\| (?!topic|---).*\|$", (ROOT / "docs" / "conventions.md").read_text(encoding="utf-8"), re.M)
    assert len(rows) >= 15
    for row in rows:
        tests = re.findall(r"\[`(test_\w+)`\]\(\.\./(tests/[\w/]+\.py)#(\w+)\)", row.rsplit("|", 2)[1])
        assert tests, row
        for name, file, anchor in tests:
            assert name == anchor
            assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8"), name


def test_units_are_si() -> None:
    """A 2 kg weight on a 0.5 m lever needs m g l = 9.81 N m."""
    assert LEVER.gravity([0.0]) == pytest.approx([2.0 * G * 0.5])


def test_sign_of_gravity() -> None:
    """Lifting is positive here, so holding the weight up needs a positive torque."""
    assert LEVER.gravity([0.0])[0] > 0.0
    assert LEVER.gravity([np.pi])[0] < 0.0
    assert LEVER.gravity([np.pi / 2])[0] == pytest.approx(0.0, abs=1e-12)


def test_equation_of_motion() -> None:
    """Released without torque, the lever falls: q̈ = −g/M; a push Jᵀ w on the robot takes load off the actuators."""
    inertia = LEVER.inverse_dynamics([0.0], [0.0], [1.0]) - LEVER.gravity([0.0])
    assert inertia == pytest.approx([0.1 + 2.0 * 0.25])
    falling = -LEVER.gravity([0.0]) / inertia
    assert falling[0] < 0.0
    assert LEVER.inverse_dynamics([0.0], [0.0], falling) == pytest.approx([0.0], abs=1e-12)
    # A hand that lifts the weight's whole 19.62 N at its centre leaves nothing to hold: g − Jᵀ w = 0.
    hand = np.array([0.0, 0.0, 2.0 * G, 0.0, 0.0, 0.0])
    tip = LEVER.jacobian([0.0])
    lifting_at_com = hand + np.concatenate([np.zeros(3), np.cross([0.5, 0.0, 0.0], hand[:3])])
    assert LEVER.gravity([0.0]) - tip.T @ lifting_at_com == pytest.approx([0.0], abs=1e-12)


def test_rotor_inertia_is_kept_apart() -> None:
    """puma560 states rotor inertia, and inverse dynamics do not contain it."""
    robot = cp.load("puma560")
    assert np.all(robot.rotor_inertia > 0.0)
    # Joint 6 turns a 0.09 kg body with 4e-5 kg m² about its axis; the rotor alone would add 0.19.
    torque = robot.inverse_dynamics(np.zeros(6), np.zeros(6), [0, 0, 0, 0, 0, 1.0]) - robot.gravity(np.zeros(6))
    assert torque[5] == pytest.approx(4e-5, rel=1e-9)


def test_joint_order_is_depth_first_in_file_order() -> None:
    """Siblings come in the order of their joints in the file, each with its whole subtree; links need no order."""
    robot = arm(
        joint("right", "revolute", "base", "r1"),
        joint("left", "continuous", "base", "l1"),
        joint("right2", "prismatic", "r2", "r3"),
        joint("weld", "fixed", "r1", "r2"),
        joint("left2", "revolute", "l1", "l2"),
        links="".join(link(name, 1.0) for name in ("l2", "r3", "r2", "l1", "r1")),
    )
    assert robot.joint_names == ("right", "right2", "left", "left2")
    assert robot.link_names == ("base", "r1", "r2", "r3", "l1", "l2")


def test_mimic_torque_goes_to_its_master() -> None:
    """A finger that follows with multiplier −2 adds −2 times its force to its master."""
    follow = "<mimic joint='a' multiplier='-2' offset='0.1'/>"
    robot = arm(
        joint("a", "prismatic", "base", "f1"),
        joint("b", "prismatic", "base", "f2", more=follow),
        links=link("f1", 1.0) + link("f2", 3.0),
    )
    assert robot.joint_names == ("a",)
    assert robot.gravity([0.2]) == pytest.approx([G * (1.0 - 2.0 * 3.0)])
    assert robot.forward_kinematics([0.2], at="f2")[2, 3] == pytest.approx(-2 * 0.2 + 0.1)


@pytest.mark.parametrize("kind", ["planar", "floating", "ball"])
def test_floating_planar_and_ball_joints_are_refused(kind: str) -> None:
    """Joints of other kinds raise UnsupportedJointError."""
    with pytest.raises(cp.errors.UnsupportedJointError, match=kind):
        arm(joint("j", kind, "base", "a"), links=link("a", 1.0))


def test_results_are_in_the_base_frame() -> None:
    """Turning the mount leaves every kinematic result as it is: they are in base axes."""
    tilted = LEVER.mounted(rpy=(0.4, 0.3, 0.2))
    for q in ([0.0], [0.7]):
        assert np.array_equal(tilted.forward_kinematics(q), LEVER.forward_kinematics(q))
        assert np.array_equal(tilted.jacobian(q), LEVER.jacobian(q))
        assert np.array_equal(tilted.center_of_mass(q), LEVER.center_of_mass(q))


def test_mount_only_turns_gravity() -> None:
    """rpy are fixed-axis angles: a quarter turn of pitch makes the base's x point down, so gravity is along it."""
    assert np.array_equal(LEVER.gravity_world, [0.0, 0.0, -G])
    wall = LEVER.mounted(rpy=(0.0, np.pi / 2, 0.0))
    assert wall.gravity_base == pytest.approx([G, 0.0, 0.0], abs=1e-12)
    both = LEVER.mounted(rpy=(np.pi / 2, np.pi / 2, 0.0))  # first roll about the world's x, then pitch about its y
    assert both.mount @ [0.0, 0.0, 1.0] == pytest.approx([0.0, -1.0, 0.0], abs=1e-12)
    assert LEVER.mounted(rotation=wall.mount).gravity([0.3]) == pytest.approx(wall.gravity([0.3]))
    moon = LEVER.mounted(gravity=(0.0, 0.0, -1.62))
    assert moon.gravity([0.0]) == pytest.approx([2.0 * 1.62 * 0.5])


def test_wrenches_are_force_first() -> None:
    """A pure moment about the axis arrives as joint torque; it sits in the last three entries."""
    assert LEVER.wrench_torque([0.0], [0, 0, 0, 0, -1.0, 0]) == pytest.approx([1.0])
    assert LEVER.wrench_torque([0.0], [0, -1.0, 0, 0, 0, 0]) == pytest.approx([0.0], abs=1e-15)


def test_tip_wrench_is_what_the_arm_exerts() -> None:
    """To push up with 1 N at the end of a 1 m bar that lifts with positive q takes +1 N m."""
    bar = arm(
        joint("lift", "revolute", "base", "bar", axis="0 -1 0"),
        joint("end", "fixed", "bar", "tip", more="<origin xyz='1 0 0'/>"),
        links=link("bar", 1.0) + "<link name='tip'/>",
    )
    assert bar.wrench_torque([0.0], [0, 0, 1.0, 0, 0, 0], at="tip") == pytest.approx([1.0])


def test_base_wrench_is_what_the_plate_exerts() -> None:
    """Upright at rest the plate pushes up with the whole weight, and its moment balances the lever."""
    wrench = LEVER.base_wrench([0.0])
    assert wrench[:3] == pytest.approx([0.0, 0.0, 2.0 * G])
    assert wrench[3:] == pytest.approx([0.0, -2.0 * G * 0.5, 0.0])


def test_base_torques_leave_gravity_out() -> None:
    """The weight at rest is no torque, a moment about the axis is one; a motion's torque comes without the weight."""
    weight = LEVER.base_wrench([0.0])
    assert LEVER.base_torques([0.0], weight) == pytest.approx([0.0], abs=1e-12)
    pushed = weight + np.array([0.0, 0.0, 0.0, 0.0, -1.0, 0.0])  # about the joint's axis, −y
    assert LEVER.base_torques([0.0], pushed) == pytest.approx([1.0])
    moving = LEVER.base_wrench([0.0], [0.0], [2.0])
    torque = LEVER.base_torques([0.0], moving, [0.0], [2.0])
    assert torque == pytest.approx([2.0 * (0.1 + 2.0 * 0.5**2)])  # the bar's inertia about the axis
    assert torque + LEVER.gravity([0.0]) == pytest.approx(LEVER.inverse_dynamics([0.0], [0.0], [2.0]))


def test_total_mass_includes_base_and_payload() -> None:
    """The base link and the payload count."""
    robot = cp.load("puma560")
    assert robot.total_mass == pytest.approx(robot.tree.base_mass + robot.tree.mass.sum())
    assert robot.tree.base_mass > 0.0
    assert robot.with_payload(1.5, com=(0, 0, 0.1)).total_mass == pytest.approx(robot.total_mass + 1.5)


def test_payload_com_is_in_the_link_frame() -> None:
    """A load 0.2 m along the bar's own x doubles with the bar's angle, not with the world's axes."""
    loaded = LEVER.with_payload(1.0, com=(0.2, 0.0, 0.0), link="bar")
    assert loaded.gravity([0.0]) == pytest.approx([2.0 * G * 0.5 + 1.0 * G * 0.2])
    assert loaded.gravity([np.pi / 2]) == pytest.approx([0.0], abs=1e-12)


def test_transforms_map_right_to_left() -> None:
    """T_base_link takes the link's coordinates to the base's: lifted a quarter turn, x of the bar points up."""
    T_base_bar = LEVER.forward_kinematics([np.pi / 2], at="bar")
    assert T_base_bar @ [0.5, 0.0, 0.0, 1.0] == pytest.approx([0.0, 0.0, 0.5, 1.0], abs=1e-12)


def test_quaternions_say_their_order() -> None:
    """No name of ours says quaternion without wxyz or xyzw, and wxyz has the scalar first."""
    texts = {path: path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py")}
    for path, text in texts.items():
        for node in ast.walk(ast.parse(text)) if "quat" in text else ():
            name = node.name if isinstance(node, ast.FunctionDef) else node.arg if isinstance(node, ast.arg) else ""
            assert not re.search("(?<!e)quat", name) or "wxyz" in name or "xyzw" in name, (path, name)  # no equations
    assert np.array_equal(rotation_from_wxyz((1.0, 0.0, 0.0, 0.0)), np.eye(3))


def test_parameter_order() -> None:
    """[m, m c] per moving body in the joint frame; inertial parameters about its origin in Pinocchio's order."""
    assert LEVER.gravity_parameters == pytest.approx([2.0, 1.0, 0.0, 0.0])
    assert LEVER.gravity_parameter_names == ("lift.m", "lift.mx", "lift.my", "lift.mz")
    base, bar = LEVER.inertial_parameters[:10], LEVER.inertial_parameters[10:]
    assert np.array_equal(base, np.zeros(10))
    assert bar == pytest.approx([2.0, 1.0, 0.0, 0.0, 0.1, 0.0, 0.1 + 0.5, 0.0, 0.0, 0.1 + 0.5])


def test_robot_is_immutable() -> None:
    """Attributes cannot be set or deleted, arrays cannot be written to."""
    with pytest.raises(AttributeError, match="immutable"):
        LEVER.n = 3  # type: ignore[misc]
    with pytest.raises(AttributeError, match="immutable"):
        del LEVER.name
    for array in (LEVER.lower, LEVER.gravity_base, LEVER.gravity_parameters, LEVER.mount, LEVER.tree.mass):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0.0
