"""The URDF reader reads what the file says: checked against hand calculation, SciPy, Pinocchio and real robots."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from counterpoise.description.model import Description, JointKind
from counterpoise.description.reading import read_description
from counterpoise.description.urdf import parse_urdf
from counterpoise.errors import ModelFileError
from library.shared_data import REFUSED_URDFS, real_urdfs

ARM = b"""<?xml version="1.0"?>
<robot name="demo" version="1.0">
  <material name="grey"><color rgba="0.5 0.5 0.5 1"/></material>
  <link name="pedestal">
    <inertial>
      <mass value="12"/>
      <inertia ixx="0.3" ixy="0" ixz="0" iyy="0.3" iyz="0" izz="0.2"/>
    </inertial>
    <visual><geometry><box size="1 1 1"/></geometry></visual>
  </link>
  <link name="upper">
    <inertial>
      <origin xyz="0.1 -0.02 3.0e-1" rpy="0.4 -0.7 1.1"/>
      <mass value=" 4.5 "/>
      <inertia ixx="0.05" ixy="0.004" ixz="-0.003" iyy="0.06" iyz="0.002" izz="0.03"/>
    </inertial>
    <collision><geometry><sphere radius="1"/></geometry></collision>
  </link>
  <link name="slider">
    <inertial>
      <origin rpy="0 0 1.5707963267948966"/>
      <mass value="+.5e0"/>
      <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.002" iyz="0" izz="0.0025"/>
    </inertial>
  </link>
  <link name="wheel">
    <inertial>
      <mass value="1"/>
      <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/>
    </inertial>
  </link>
  <link name="follower">
    <inertial>
      <mass value="0.25"/>
      <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.001"/>
    </inertial>
  </link>
  <link name="tool"/>
  <joint name="slide" type="prismatic">
    <origin xyz="0 0 0.6"/>
    <parent link="upper"/>
    <child link="slider"/>
    <limit lower="-0.1" upper="0.25" effort="100" velocity="0.5"/>
    <dynamics damping="1" friction="2"/>
  </joint>
  <joint name="shoulder" type="revolute">
    <origin xyz="0 0.1 0.8" rpy="0.3 0.2 -0.1"/>
    <parent link="pedestal"/>
    <child link="upper"/>
    <axis xyz="0 3 4"/>
    <limit lower="-2.5" upper="1.5" effort="87" velocity="2.2"/>
    <safety_controller k_velocity="10"/>
    <calibration rising="0.1"/>
  </joint>
  <joint name="roll" type="continuous">
    <parent link="slider"/>
    <child link="wheel"/>
    <axis xyz="0 0 -1"/>
    <limit lower="-1" upper="1" effort="9" velocity="8"/>
  </joint>
  <joint name="finger" type="revolute">
    <parent link="slider"/>
    <child link="follower"/>
    <axis xyz="1e200 0 0"/>
    <limit upper="0.8"/>
    <mimic joint="shoulder" multiplier="-0.5" offset="0.2"/>
  </joint>
  <joint name="flange" type="fixed">
    <origin rpy="0 1.5707963267948966 0"/>
    <parent link="wheel"/>
    <child link="tool"/>
    <axis xyz="0 0 0"/>
  </joint>
  <transmission name="drive"><joint name="shoulder"/></transmission>
  <gazebo reference="upper"><mu1>0.2</mu1></gazebo>
</robot>
"""


@pytest.fixture(scope="module")
def arm() -> Description:
    """The arm above."""
    return parse_urdf(ARM, "demo.urdf")


def test_reads_names_order_lines_and_root(arm: Description) -> None:
    """Links and joints keep the file's order and know their lines; the file's order of joints is not the tree's."""
    assert (arm.name, arm.root, arm.path, arm.convention, arm.summary) == ("demo", "pedestal", "demo.urdf", "tree", "")
    assert [link.name for link in arm.links] == ["pedestal", "upper", "slider", "wheel", "follower", "tool"]
    assert [link.line for link in arm.links] == [4, 11, 19, 26, 32, 38]
    assert [joint.name for joint in arm.joints] == ["slide", "shoulder", "roll", "finger", "flange"]
    assert [joint.line for joint in arm.joints] == [39, 46, 55, 61, 68]
    assert arm.warnings == ()


def test_reads_joint_kinds_axes_and_origins(arm: Description) -> None:
    """Axes have length 1, default to x, and the origin is Rz(yaw) Ry(pitch) Rx(roll)."""
    slide, shoulder, roll, finger, flange = arm.joints
    assert [joint.kind for joint in arm.joints] == [
        JointKind.PRISMATIC,
        JointKind.REVOLUTE,
        JointKind.CONTINUOUS,
        JointKind.REVOLUTE,
        JointKind.FIXED,
    ]
    np.testing.assert_array_equal(slide.axis, [1, 0, 0])
    np.testing.assert_allclose(shoulder.axis, [0, 0.6, 0.8], rtol=0, atol=1e-15)
    np.testing.assert_array_equal(roll.axis, [0, 0, -1])
    np.testing.assert_array_equal(finger.axis, [1, 0, 0])
    np.testing.assert_array_equal(slide.T_parent_joint[:3, 3], [0, 0, 0.6])
    np.testing.assert_array_equal(slide.T_parent_joint[:3, :3], np.eye(3))
    expected = Rotation.from_euler("xyz", [0.3, 0.2, -0.1]).as_matrix()  # lower case: fixed axes
    np.testing.assert_allclose(shoulder.T_parent_joint[:3, :3], expected, rtol=0, atol=1e-15)
    # A quarter turn about y takes z to x.
    np.testing.assert_allclose(flange.T_parent_joint[:3, :3] @ [0, 0, 1], [1, 0, 0], rtol=0, atol=1e-15)
    np.testing.assert_array_equal(shoulder.T_joint_child, np.eye(4))
    assert (shoulder.parent, shoulder.child) == ("pedestal", "upper")


def test_reads_limits(arm: Description) -> None:
    """Absent bounds are 0, absent effort and velocity infinite, and continuous joints have no bounds."""
    _slide, _shoulder, _roll, _finger, _flange = arm.joints
    shown = [(joint.lower, joint.upper, joint.effort_limit, joint.velocity_limit) for joint in arm.joints]
    assert shown == [
        (-0.1, 0.25, 100, 0.5),
        (-2.5, 1.5, 87, 2.2),
        (-math.inf, math.inf, 9, 8),
        (0, 0.8, math.inf, math.inf),
        (-math.inf, math.inf, math.inf, math.inf),
    ]


def test_reads_mimic(arm: Description) -> None:
    """Only the joint that follows has a mimic."""
    *_, finger, _flange = arm.joints
    assert finger.mimic is not None
    assert (finger.mimic.master, finger.mimic.multiplier, finger.mimic.offset) == ("shoulder", -0.5, 0.2)
    assert [joint.name for joint in arm.joints if joint.mimic is not None] == ["finger"]


def test_mimic_defaults_to_the_same_motion() -> None:
    """Without multiplier and offset the joint copies its master."""
    copied = parse_urdf(ARM.replace(b' multiplier="-0.5" offset="0.2"', b""))
    mimic = copied.joints[3].mimic
    assert mimic is not None
    assert (mimic.multiplier, mimic.offset) == (1.0, 0.0)


def test_reads_masses_and_centres_of_mass(arm: Description) -> None:
    """Masses in every plain spelling; a link without <inertial> has no inertia."""
    masses = [None if link.inertia is None else link.inertia.mass for link in arm.links]
    assert masses == [12, 4.5, 0.5, 1, 0.25, None]
    assert arm.links[1].inertia is not None
    np.testing.assert_array_equal(arm.links[1].inertia.com, [0.1, -0.02, 0.3])


def test_inertia_of_a_turned_frame_is_along_the_link_axes(arm: Description) -> None:
    """A quarter turn about z exchanges ixx and iyy; a general turn agrees with SciPy's rotation."""
    slider, upper = arm.links[2].inertia, arm.links[1].inertia
    assert slider is not None and upper is not None
    np.testing.assert_allclose(slider.tensor_com, np.diag([0.002, 0.001, 0.0025]), rtol=0, atol=1e-18)
    stated = np.array([[0.05, 0.004, -0.003], [0.004, 0.06, 0.002], [-0.003, 0.002, 0.03]])
    turned = np.zeros((3, 3))
    rotation = Rotation.from_euler("xyz", [0.4, -0.7, 1.1])
    moments, directions = np.linalg.eigh(stated)
    for moment, direction in zip(moments, directions.T, strict=True):
        turned += moment * np.outer(rotation.apply(direction), rotation.apply(direction))
    np.testing.assert_allclose(upper.tensor_com, turned, rtol=0, atol=1e-16)
    np.testing.assert_array_equal(upper.tensor_com, upper.tensor_com.T)


def test_inertia_of_an_unturned_frame_is_exact(arm: Description) -> None:
    """No rounding where nothing is turned."""
    pedestal = arm.links[0].inertia
    assert pedestal is not None
    np.testing.assert_array_equal(pedestal.tensor_com, np.diag([0.3, 0.3, 0.2]))


def test_path_may_be_text_or_path(tmp_path: Path) -> None:
    """Both give the same description, and its path is the text given."""
    file = tmp_path / "demo.urdf"
    file.write_bytes(ARM)
    assert read_description(file).path == read_description(str(file)).path == str(file)


def test_absent_file_and_folder_are_refused(tmp_path: Path) -> None:
    """A path that cannot be read is one of our errors."""
    with pytest.raises(ModelFileError, match="no such file"):
        read_description(tmp_path / "absent.urdf")
    folder = tmp_path / "folder.urdf"
    folder.mkdir()
    with pytest.raises(ModelFileError, match="not a regular file"):
        read_description(folder)
    with pytest.raises(ModelFileError, match=r"no such file|cannot be read"):
        read_description("nul\0byte.urdf")


# --- real robots -----------------------------------------------------------------------------------------------------


REAL = real_urdfs()


@pytest.mark.skipif(not REAL, reason="neither example-robot-data nor the shared recordings are present")
def test_real_robots_load_with_the_masses_of_their_text() -> None:
    """Every real file loads with the total mass that its XML adds up to, or is refused for a known reason."""
    refused: dict[str, str] = {}
    for path in REAL:
        try:
            description = read_description(path)
        except ModelFileError as error:
            refused[path.name] = str(error)
            continue
        stated = math.fsum(float(m.attrib["value"]) for m in ElementTree.parse(path).iterfind("link/inertial/mass"))
        total = math.fsum(link.inertia.mass for link in description.links if link.inertia is not None)
        assert total == stated, path
        assert len(description.links) == len(description.joints) + 1, path
    assert set(refused) == set(REFUSED_URDFS) & {path.name for path in REAL}, refused
    for name, message in refused.items():
        assert REFUSED_URDFS[name] in message


def composite_at_zero(description: Description) -> tuple[Any, ...]:
    """Mass, first moment and inertia about the base origin, in base axes, with every joint at 0."""
    T_base_link = {description.root: np.eye(4)}
    waiting = list(description.joints)
    while waiting:
        joint = waiting.pop(0)
        if joint.parent in T_base_link:
            T_base_link[joint.child] = T_base_link[joint.parent] @ joint.T_parent_joint
        else:
            waiting.append(joint)
    mass, first_moment, second_moment = 0.0, np.zeros(3), np.zeros((3, 3))
    for link in description.links:
        if link.inertia is not None:
            rotation, origin = T_base_link[link.name][:3, :3], T_base_link[link.name][:3, 3]
            com = rotation @ link.inertia.com + origin
            mass += link.inertia.mass
            first_moment += link.inertia.mass * com
            second_moment += rotation @ link.inertia.tensor_com @ rotation.T
            second_moment += link.inertia.mass * (com @ com * np.eye(3) - np.outer(com, com))
    return mass, first_moment, second_moment


def pinocchio_composite_at_zero(model: Any) -> tuple[Any, ...]:
    """The same three from a Pinocchio model, its universe (the base link) included."""
    pin = pytest.importorskip("pinocchio")
    data = model.createData()
    pin.forwardKinematics(model, data, pin.neutral(model))
    mass, first_moment, second_moment = 0.0, np.zeros(3), np.zeros((3, 3))
    for T_base_joint, inertia in zip(data.oMi, model.inertias, strict=True):
        moved = T_base_joint.act(inertia)
        com = moved.lever
        mass += moved.mass
        first_moment += moved.mass * com
        second_moment += moved.inertia + moved.mass * (com @ com * np.eye(3) - np.outer(com, com))
    return mass, first_moment, second_moment


def test_demo_arm_agrees_with_pinocchio_at_zero(arm: Description) -> None:
    """The hand-written arm, with its turned inertial frames, gives Pinocchio's composite inertia."""
    pin = pytest.importorskip("pinocchio")
    # Its reader refuses spaces around a number and a limit without effort.
    text = ARM.decode().replace('" 4.5 "', '"4.5"').replace('<limit upper="0.8"/>', '<limit effort="1" velocity="1"/>')
    theirs = pinocchio_composite_at_zero(pin.buildModelFromXML(text))
    for mine, other in zip(composite_at_zero(arm), theirs, strict=True):
        np.testing.assert_allclose(mine, other, rtol=0, atol=1e-12)
