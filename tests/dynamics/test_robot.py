"""Robot: mounting, payloads, refusals and loading, as a user meets them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.control import TwoHands
from counterpoise.description import Inertia, parse_urdf, unphysical_reason
from counterpoise.dynamics.inputs import link_name
from counterpoise.dynamics.kernel import Kernel
from counterpoise.dynamics.reference import ReferenceKernel
from counterpoise.plants import Bond, Disturbances, Push
from library.shared_data import example_urdf

ARM = """<robot name="arm">
<link name="base"/>
<link name="a"><inertial><origin xyz="0.2 0 0"/><mass value="2"/>
<inertia {tensor} ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="b">{extra}</link>
<joint name="j" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 1 0"/></joint>
<joint name="weld" type="fixed"><parent link="a"/><child link="b"/><origin xyz="0.4 0 0"/></joint>
</robot>"""
THIN = 'ixx="0.001" iyy="0.001" izz="0.05"'
ROUND = 'ixx="0.02" iyy="0.02" izz="0.02"'
HEAVY = '<inertial><mass value="5"/><inertia ixx="1" iyy="1" izz="1" ixy="0.1" ixz="0" iyz="0"/></inertial>'


def arm(tensor: str = ROUND, extra: str = "", **options: bool) -> cp.Robot:
    return cp.Robot(parse_urdf(ARM.format(tensor=tensor, extra=extra).encode(), "arm.urdf"), **options)


def test_an_unphysical_inertia_stops_dynamics_only() -> None:
    """Gravity and the plate's reading at rest work; a motion is refused with file and link, until told otherwise."""
    robot = arm(THIN)
    (warning,) = robot.warnings
    assert "arm.urdf:3" in warning
    assert "triangle inequality" in warning
    good = arm()
    assert robot.gravity([0.3]) == pytest.approx(good.gravity([0.3]))
    assert robot.base_wrench([0.3]) == pytest.approx(good.base_wrench([0.3]))
    for call in (
        lambda: robot.inverse_dynamics([0.3], [0.0], [1.0]),
        lambda: robot.base_wrench([0.3], [0.0], [1.0]),
        lambda: robot.with_payload(0.0, link="b").inverse_dynamics([0.3], [0.0], [1.0]),
        lambda: robot.mounted(rpy=(0.1, 0, 0)).base_wrench([0.3], ddq=[1.0]),
    ):
        with pytest.raises(cp.errors.PhysicalConsistencyError, match=r"arm\.urdf: .*'a'.*triangle.*allow_unphysical"):
            call()
    allowed = arm(THIN, allow_unphysical=True)
    assert allowed.inverse_dynamics([0.0], [0.0], [1.0])[0] == pytest.approx(2 * 0.04 + 0.001 - 2 * 9.81 * 0.2)
    assert np.all(np.isfinite(allowed.without_payload().inverse_dynamics([0.3], [1.0], [1.0])))


def test_links_that_are_fixed_together_count_as_one_body() -> None:
    """A small bad tensor disappears in the heavy link it is welded to: a warning, no refusal."""
    robot = arm(THIN, HEAVY)
    assert any("triangle inequality" in warning for warning in robot.warnings)
    assert robot.inverse_dynamics([0.3], [0.0], [1.0]).shape == (1,)


@pytest.mark.parametrize("xyz", ["0.2 0 0", "0 0.2 0", "0 0 0.2", "0 0 0"])
def test_what_no_body_has_is_not_hidden_by_where_the_body_is(xyz: str) -> None:
    """The tensor about the centre counts; about the joint m (c·c 1 − c cᵀ) may make up for what is missing."""
    for tensor, physical in ((THIN, False), ('ixx="0.03" iyy="0.03" izz="0.05"', True)):
        text = ARM.format(tensor=tensor, extra="").replace('xyz="0.2 0 0"', f'xyz="{xyz}"')
        robot = cp.Robot(parse_urdf(text.encode()))
        if physical:
            assert np.isfinite(robot.inverse_dynamics([0.3], [0.0], [1.0])).all()
        else:
            with pytest.raises(cp.errors.PhysicalConsistencyError):
                robot.inverse_dynamics([0.3], [0.0], [1.0])


def test_point_masses_are_physical() -> None:
    """A load without extent, or nearly so, far from the joint, is not refused for rounding."""
    massless = cp.Robot(parse_urdf(ARM.format(tensor='ixx="0" iyy="0" izz="0"', extra="").encode()))
    robot = massless.with_payload(3.3, com=(0.123, 0.456, 7.89), link="b")
    assert np.all(np.isfinite(robot.inverse_dynamics([0.3], [1.0], [1.0])))


def test_payloads_add_up_and_come_off() -> None:
    """Two loads weigh what one joint load weighs; taking them off restores the very same torques."""
    robot = cp.load("wam7").mounted(rpy=(0.3, 0.2, 0.1))
    q = np.linspace(-1.0, 1.0, 7)
    one = robot.with_payload(3.0, com=(0.1, 0.0, 0.2))
    two = robot.with_payload(1.0, com=(0.1, 0.0, 0.2)).with_payload(2.0, com=(0.1, 0.0, 0.2))
    assert two.gravity(q) == pytest.approx(one.gravity(q), rel=1e-12)
    assert [load.link for load in two.payloads] == ["toolplate", "toolplate"]
    assert two.without_payload().gravity(q).tobytes() == robot.gravity(q).tobytes()
    assert two.without_payload().payloads == ()
    assert robot.with_payloads(two.payloads).gravity(q).tobytes() == two.gravity(q).tobytes()
    assert two.with_payloads(()).payloads == ()
    assert robot.with_payload(1.0, link="link4").gravity(q)[4:] == pytest.approx(robot.gravity(q)[4:])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"mass": -1.0}, "payload mass"),
        ({"mass": np.nan}, r"mass\['mass'\]"),
        ({"mass": "heavy"}, "real numbers"),
        ({"mass": [1.0]}, "one number"),
        ({"mass": 1.0, "com": (0.0, 0.0)}, "com has shape"),
        ({"mass": 1.0, "com": (0.0, 0.0, 1e6)}, "com"),
        ({"mass": 1.0, "link": "nobody"}, "^link= names no link of the robot: there is no link 'nobody'"),
        ({"mass": 1.0, "inertia": np.diag([1.0, 1.0, 5.0])}, "cannot exist"),
        ({"mass": 1.0, "inertia": [[1, 0.5, 0], [0, 1, 0], [0, 0, 1]]}, "symmetric"),
        ({"mass": 1.0, "inertia": np.eye(2)}, "inertia has shape"),
    ],
)
def test_impossible_payloads_are_refused(arguments, words) -> None:
    """What cannot be a load raises InputError that says why."""
    with pytest.raises(cp.InputError, match=words):
        cp.load("wam7").with_payload(**arguments)


MASS = '<inertial><mass value="{}"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'


def framed(*frames: tuple[str, str, float]) -> cp.Robot:
    """Return two links on joints, "upper" and "lower", and links that are fixed: parent, name, mass [kg]."""
    links = [("base", 1.0), ("upper", 2.0), ("lower", 1.0), *((name, mass) for _, name, mass in frames)]
    text = [f'<link name="{name}">{MASS.format(mass) if mass else ""}</link>' for name, mass in links]
    for parent, name in (("base", "upper"), ("upper", "lower")):
        text.append(
            f'<joint name="{name}" type="continuous"><parent link="{parent}"/><child link="{name}"/>'
            '<origin xyz="0 0 0.3"/><axis xyz="0 1 0"/></joint>'
        )
    for place, (parent, name, _) in enumerate(frames):
        text.append(
            f'<joint name="{name}" type="fixed"><parent link="{parent}"/><child link="{name}"/>'
            f'<origin xyz="0.1 0 0.{place + 1}"/></joint>'
        )
    return cp.Robot(parse_urdf(f'<robot name="framed">{"".join(text)}</robot>'.encode()))


@pytest.mark.parametrize("kernel", [Kernel, ReferenceKernel])
@pytest.mark.parametrize(
    ("frames", "tip"),
    [
        ((), "lower"),
        ((("lower", "tool", 0.0),), "tool"),
        ((("lower", "tool", 0.5), ("lower", "sensor", 0.0)), "tool"),
        ((("lower", "sensor", 0.0), ("lower", "flange", 0.0), ("flange", "tool", 0.5), ("tool", "tcp", 0.0)), "tcp"),
        ((("base", "world", 0.0), ("lower", "tool", 0.0)), "tool"),
        ((("lower", "tool", 0.0), ("lower", "sensor", 0.0)), "lower"),
        ((("lower", "tool", 0.5), ("lower", "camera", 0.2)), "lower"),
        ((("lower", "tool", 0.5), ("upper", "camera", 0.0)), None),
    ],
    ids=[
        *("no frames", "one tool frame", "a sensor frame beside the tool", "a tool with a frame at its tip"),
        *("a frame on the base", "two frames", "two tools", "a frame half way"),
    ],
)
def test_fixed_frames_are_no_tips(frames, tip, kernel) -> None:
    """They make no arm branched where all that moves hangs on one body; the tool is the tip, not a frame beside it."""
    robot, q = framed(*frames), np.array([0.4, -0.7])
    law = kernel(robot.tree)
    if tip is None:
        with pytest.raises(cp.InputError, match=r"^at= is required: the robot has 2 leaf links"):
            law.jacobian(q)
        with pytest.raises(cp.InputError, match=r"^link= is required"):
            robot.with_payload(1.0)
        return
    assert robot.tree.tips == (tip,) and link_name(robot, None) == tip
    np.testing.assert_array_equal(law.jacobian(q), law.jacobian(q, at=tip))
    np.testing.assert_array_equal(law.forward_kinematics(q), law.forward_kinematics(q, at=tip))
    loaded = robot.with_payload(1.0, com=(0.1, 0.0, 0.0))
    assert loaded.payloads[0].link == tip and loaded.tree.tips == (tip,)
    for link in robot.link_names:  # a load makes no frame a tool
        assert robot.with_payload(2.0, link=link).tree.tips == (tip,)


@pytest.mark.parametrize(
    ("file", "tip"),
    [
        ("ur_description/urdf/ur10_robot.urdf", "wrist_3_link"),  # "tool0" and "ee_link" on it, "base" on the base
        ("kinova_description/robots/kinova.urdf", "j2s6s200_link_6"),  # fixed fingers and an end effector's frame
    ],
)
def test_real_arms_with_frames_have_a_tip(file: str, tip: str) -> None:
    """Descriptions of makers, with a frame of the base and several at the end."""
    robot = cp.load(example_urdf(file))
    q = np.full(robot.n, 0.3)
    assert len(robot.tree.leaves) > 1
    np.testing.assert_array_equal(robot.jacobian(q), robot.jacobian(q, at=tip))
    assert robot.with_payload(1.0).payloads[0].link == tip


def test_messages_name_the_argument_that_was_typed() -> None:
    """A payload's carrier is ``link=``, a place on the arm ``at=``, and each law's hands are ``hands=``."""
    branched, q = cp.load("dualarm19"), np.zeros(19)
    with pytest.raises(cp.InputError, match=r"^link= is required: the robot has 2 leaf links"):
        branched.with_payload(1.0)
    for method in (branched.jacobian, branched.forward_kinematics):
        with pytest.raises(cp.InputError, match=r"^at= is required"):
            method(q)
        with pytest.raises(cp.InputError, match=r"^at= names no link of the robot: there is no link 'nobody'"):
            method(q, at="nobody")
    with pytest.raises(cp.InputError, match=r"^hands= names no link of the robot: there is no link 'nobody'"):
        TwoHands(branched, ("left_hand", "nobody"), mass=1.0, com=(0.0, 0.0, 0.0), squeeze=5.0)
    with pytest.raises(cp.InputError, match=r"^link= names no link"):
        Disturbances(branched, [Push("nobody", (0.0,) * 6, 0.0, 1.0)])
    with pytest.raises(cp.InputError, match=r"^second= names no link"):
        Disturbances(branched, [Bond("left_hand", "nobody")])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"rpy": (0, 0)}, "rpy has shape"),
        ({"rpy": [[0, 0, 0]]}, "rpy has shape"),
        ({"rpy": (0, 0, np.inf)}, r"rpy\['yaw'\]"),
        ({"rotation": np.diag([1.0, 1.0, -1.0])}, "right-handed"),
        ({"rotation": 2 * np.eye(3)}, "right-handed"),
        ({"rotation": np.eye(4)}, "rotation has shape"),
        ({"rpy": (0, 0, 0), "rotation": np.eye(3)}, "not both"),
        ({"gravity": (0, 0, -1e5)}, "gravity must be"),
        ({"gravity": (0, -9.81)}, "gravity has shape"),
    ],
)
def test_impossible_mounts_are_refused(arguments, words) -> None:
    """What cannot be a mount raises InputError that says why."""
    with pytest.raises(cp.InputError, match=words):
        cp.load("wam7").mounted(**arguments)


def test_a_rounded_rotation_does_not_scale_gravity() -> None:
    """A mount typed with seven digits is taken as the rotation it means."""
    exact = cp.load("wam4").mounted(rpy=(0.3, -0.4, 0.5))
    typed = cp.load("wam4").mounted(rotation=np.round(exact.mount, 7))
    assert np.linalg.norm(typed.gravity_base) == pytest.approx(9.81, rel=1e-14)
    again = typed.with_payload(1.0).without_payload()
    assert again.mount.tobytes() == typed.mount.tobytes()


def test_loading_by_kind_of_file(tmp_path) -> None:
    """The suffix decides, .xml by its root element; anything else is refused with the list."""
    text = ARM.format(tensor=ROUND, extra="")
    for name in ("arm.urdf", "arm.xml", "ARM.URDF"):
        (tmp_path / name).write_text(text)
        assert cp.load(tmp_path / name).joint_names == ("j",)
        assert cp.load(str(tmp_path / name)).joint_names == ("j",)
    (tmp_path / "arm.txt").write_text(text)
    with pytest.raises(cp.errors.ModelFileError, match=r"unknown kind of file '\.txt'.*\.urdf"):
        cp.load(tmp_path / "arm.txt")
    with pytest.raises(cp.errors.ModelFileError, match="no such file"):
        cp.load(tmp_path / "absent.urdf")
    with pytest.raises(cp.InputError, match="wam7"):
        cp.load("wam8")
    for nonsense in ("x" * 5000, "nul\0byte", ""):
        with pytest.raises(cp.CounterpoiseError):
            cp.load(nonsense)


def test_a_folder_does_not_hide_a_bundled_arm(tmp_path, monkeypatch) -> None:
    """Only a file of that name would."""
    (tmp_path / "wam7").mkdir()
    monkeypatch.chdir(tmp_path)
    assert cp.load("wam7").n == 7


def test_mimic_chains_stay_bounded() -> None:
    """Multipliers that are fine one by one are refused when their product is absurd; the message names the joint."""
    text = ["<robot name='r'><link name='l0'/>"]
    for index in range(1, 4):
        mimic = f"<mimic joint='j{index - 1}' multiplier='1e4' offset='1e4'/>" if index > 1 else ""
        text.append(
            f"<link name='l{index}'><inertial><mass value='1'/></inertial></link>"
            f"<joint name='j{index}' type='continuous'>"
            f"<parent link='l{index - 1}'/><child link='l{index}'/>{mimic}</joint>"
        )
    with pytest.raises(cp.errors.ModelFileError, match="joint 'j3' follows 'j1'"):
        parse_urdf("".join([*text, "</robot>"]).encode())


def test_as_published_waives_the_triangle_only() -> None:
    """A negative moment stays unphysical, however published."""
    load = Inertia(1.0, np.zeros(3), np.diag([-5.0, 0.1, 0.1]), as_published=True)
    assert unphysical_reason(load) is not None
    assert unphysical_reason(Inertia(1.0, np.zeros(3), np.diag([0.1, 0.1, 5.0]), as_published=True)) is None


def test_strict_turns_warnings_into_an_error(tmp_path) -> None:
    """strict=True refuses what would only be warned about, and lists it."""
    (tmp_path / "arm.urdf").write_text(ARM.format(tensor=THIN, extra=""))
    assert cp.load(tmp_path / "arm.urdf").warnings
    with pytest.raises(cp.errors.ModelFileError, match="triangle inequality"):
        cp.load(tmp_path / "arm.urdf", strict=True)
    for entry in cp.catalog():
        assert cp.load(entry.name, strict=True).n == entry.joints


def test_xacro_needs_permission(tmp_path) -> None:
    """A xacro file runs code, so it is read only when the caller says so."""
    text = ARM.format(tensor=ROUND, extra="").replace(
        '<robot name="arm">',
        '<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arg name="m" default="2"/>',
    )
    (tmp_path / "arm.urdf.xacro").write_text(text.replace('value="2"', 'value="$(arg m)"'))
    with pytest.raises(cp.errors.ModelFileError, match="allow_xacro=True"):
        cp.load(tmp_path / "arm.urdf.xacro")
    pytest.importorskip("xacrodoc", reason="the extra 'xacro' is not installed")
    assert cp.load(tmp_path / "arm.urdf.xacro", allow_xacro=True).total_mass == 2.0
    robot = cp.load(tmp_path / "arm.urdf.xacro", allow_xacro=True, xacro_arguments={"m": "3.5"})
    assert robot.total_mass == 3.5


def test_repr_says_what_it_is() -> None:
    """One line with name, joints and mass."""
    assert repr(cp.load("wam4")) == "<Robot 'wam4': 4 joints, 17.510 kg>"
    assert "1 payload" in repr(cp.load("wam4").with_payload(1.0))


def test_an_arm_without_any_mass_has_its_centre_at_the_base() -> None:
    """No 0/0."""
    robot = cp.load("planar3")
    links = [replace(link, inertia=None) for link in robot.description.links]
    bare = cp.Robot(replace(robot.description, links=tuple(links)))
    q = np.array([[0.3, 0.2, -0.1], [0.0, 0.0, 0.0]])
    assert bare.total_mass == 0.0
    for kernel in (bare, ReferenceKernel(bare.tree)):
        assert kernel.center_of_mass(q).tolist() == np.zeros((2, 3)).tolist()
