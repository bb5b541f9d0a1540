"""URDF: written and read again it is the same robot, here and in Pinocchio; a copy differs in its masses only."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import counterpoise as cp
from counterpoise.description import Joint, JointKind, Link
from counterpoise.exporters.complete import rpy_of
from counterpoise.exporters.urdf import urdf_copy, urdf_text
from counterpoise.exporters.writing import export
from counterpoise.fitting import with_masses
from counterpoise.foundation import rotation_from_rpy, rotation_from_vector
from library.random_robots import random_motion, random_robot
from library.shared_data import REFUSED_URDFS, example_urdfs

ARMS = [entry.name for entry in cp.catalog()]
SHARES = (0.9, 1.1)
"""Other masses than a file's are drawn between these multiples."""


def read_again(robot: cp.Robot, folder: Path) -> cp.Robot:
    """Write a robot that has no URDF file of its own, read the file, and stand the arm as it stood."""
    (folder / "again.urdf").write_text(urdf_text(robot))
    again = cp.load(folder / "again.urdf")
    return again.mounted(rotation=robot.mount, gravity=robot.gravity_world)


def assert_same(again: cp.Robot, robot: cp.Robot, seed: int) -> None:
    assert again.joint_names == robot.joint_names
    q, dq, ddq = random_motion(robot, seed, 5)
    np.testing.assert_allclose(again.gravity(q), robot.gravity(q), rtol=1e-11, atol=1e-11)
    if again.tree.refusal == "":  # a published inertia that no body can have is refused in a file
        found, expected = (each.inverse_dynamics(q, dq, ddq) for each in (again, robot))
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(again.base_wrench(q), robot.base_wrench(q), rtol=1e-11, atol=1e-10)
    for link in robot.link_names:
        expected = robot.forward_kinematics(q, at=link)
        np.testing.assert_allclose(again.forward_kinematics(q, at=link), expected, atol=1e-12)


@pytest.mark.parametrize("name", ARMS)
def test_bundled_arms(name: str, tmp_path: Path) -> None:
    """Limits too; frames at the far end of DH links stay where they are."""
    robot = cp.load(name)
    again = read_again(robot, tmp_path)
    assert_same(again, robot, 0)
    for limit in ("lower", "upper", "velocity_limit", "effort_limit"):
        known = np.isfinite(getattr(robot, limit))
        np.testing.assert_array_equal(getattr(again, limit)[known], getattr(robot, limit)[known], err_msg=limit)


@pytest.mark.parametrize("seed", range(20))
def test_random_trees_with_loads_and_mimics(seed: int, tmp_path: Path) -> None:
    robot = random_robot(seed).robot()
    assert_same(read_again(robot, tmp_path), robot, seed)


def test_pinocchio_reads_it(tmp_path: Path) -> None:
    pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed")
    robot = cp.load("wam7").with_payload(1.2, com=(0.0, 0.02, 0.1))
    export(robot, tmp_path / "wam7.urdf")
    model = pin.buildModelFromUrdf(str(tmp_path / "wam7.urdf"))
    data = model.createData()
    for q in np.random.default_rng(1).uniform(-1.5, 1.5, (5, 7)):
        np.testing.assert_allclose(pin.computeGeneralizedGravity(model, data, q), robot.gravity(q), atol=1e-10)


@pytest.mark.parametrize(
    "path", [path for path in example_urdfs() if path.name not in REFUSED_URDFS], ids=lambda path: path.stem
)
def test_a_copy_differs_in_its_masses_only(path: Path, tmp_path: Path) -> None:
    """Real files, masses changed and a load hung on: torques are the new ones, all but the inertials as before."""
    robot = cp.load(path)
    shares = np.repeat(np.random.default_rng(0).uniform(*SHARES, robot.tree.bodies), 4)
    changed = with_masses(robot, robot.gravity_parameters * shares).with_payload(0.5, link=robot.link_names[-1])
    export(changed, tmp_path / "copy.urdf")
    again = cp.load(tmp_path / "copy.urdf")
    q = np.random.default_rng(1).uniform(-1.0, 1.0, (4, robot.n))
    np.testing.assert_allclose(again.gravity(q), changed.gravity(q), rtol=1e-9, atol=1e-9)
    assert again.total_mass == pytest.approx(changed.total_mass)
    assert abs(again.total_mass - robot.total_mass) > 1e-3
    text = (tmp_path / "copy.urdf").read_text()
    load = text.index(f'<link name="{robot.link_names[-1]}_payload')
    assert _without_inertials(text[:load]) + "</robot>" == _without_inertials(path.read_text().rstrip())


def _without_inertials(text: str) -> str:
    """A file letter by letter but for white space, its inertials, and links that are closed in one tag or two."""
    plain = re.sub(r"<!--.*?-->", lambda comment: comment[0].replace("<", "("), text, flags=re.DOTALL)
    plain = re.sub(r"<inertial>.*?</inertial\s*>", "", plain, flags=re.DOTALL)
    plain = re.sub(r"(<link[^>]*[^/>])\s*>\s*</link\s*>", r"\1/>", plain)
    plain = re.sub(r"^\s*<\?xml[^>]*\?>", "", plain)
    return re.sub(r"\s+", "", plain)


FILE = b"""<?xml version="1.0"?>
<robot name="a"><!-- kept -->
  <link name="base"><visual><geometry><mesh filename="package://a.stl"/></geometry></visual></link>
  <link name="arm"><visual/><inertial><mass value="1"/></inertial></link>
  <link name="hand"><inertial><origin xyz="0 0 0.1"/><mass value="1"/></inertial></link>
  <joint name="turn" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint>
  <joint name="fix" type="fixed"><parent link="arm"/><child link="hand"/></joint>
  <transmission name="t"/>
</robot>"""


def test_comments_meshes_and_foreign_elements_stay(tmp_path: Path) -> None:
    (tmp_path / "a.urdf").write_bytes(FILE)
    robot = cp.load(tmp_path / "a.urdf")
    text = urdf_copy(FILE, with_masses(robot, 2.0 * robot.gravity_parameters))
    for kept in ("<!-- kept -->", "package://a.stl", "<transmission", "<visual/>"):
        assert kept in text
    again = cp.load(_written(tmp_path / "b.urdf", text))
    assert again.gravity([0.3]) == pytest.approx(2.0 * robot.gravity([0.3]), rel=1e-12)
    assert text.count("<inertial>") == 1  # one body: all of it is behind the joint


@pytest.mark.parametrize(
    ("head", "more", "encoding"),
    [
        ('<robot name="a" xmlns="http://drake.mit.edu">', "", "utf-8"),
        ('<robot name="a" xmlns:xacro="http://ros.org/wiki/xacro" xmlns:c="u:c">', "<c:foo/>", "utf-8"),
        ('<robot name="a">', "<gazebo><c:unbound/></gazebo>", "utf-8"),
        ('<robot name="größe">', "", "latin-1"),
        ('<robot name="größe">', "", "utf-16"),
        ("<robot name='a' version='>1'>", "\r\n<material  name = '\u00df'/>\r\n", "utf-8"),
    ],
    ids=["default namespace", "namespaces", "unbound prefix", "latin-1", "utf-16", "line ends"],
)
def test_odd_files_keep_every_letter(head: str, more: str, encoding: str, tmp_path: Path) -> None:
    """Namespaces, unbound prefixes, comments around the robot, other encodings, '>' in quotes, empty links."""
    body = FILE.decode().partition("-->")[2].replace('<link name="base">', "<link   name='base' >")
    body = body.replace("</robot>", "<link name='bare'/><joint name='bare' type='fixed'>")
    body += "<parent link='base'/><child link='bare'/></joint></robot><!-- after -->"
    text = f'<?xml version="1.0" encoding="{encoding}"?><!-- licence -->{head}{more}{body}'
    (tmp_path / "a.urdf").write_bytes(text.encode(encoding))
    robot = cp.load(tmp_path / "a.urdf")
    changed = with_masses(robot, 1.5 * robot.gravity_parameters).with_payload(0.2, link="bare")
    export(changed, tmp_path / "b.urdf", about=["why -- because"])
    copy = (tmp_path / "b.urdf").read_bytes().decode()
    for kept in ("<!-- licence -->", head, more, "<!-- after -->", "<transmission", "<!-- why - - because"):
        assert kept in copy
    again = cp.load(tmp_path / "b.urdf")
    assert again.name == robot.name
    np.testing.assert_allclose(again.gravity([0.7]), changed.gravity([0.7]), rtol=1e-12)
    np.testing.assert_allclose(again.base_wrench([0.7]), changed.base_wrench([0.7]), rtol=1e-12, atol=1e-12)


def test_an_empty_link_gets_its_mass(tmp_path: Path) -> None:
    text = FILE.decode().replace(
        '<link name="arm"><visual/><inertial><mass value="1"/></inertial></link>', '<link name="arm" />'
    )
    robot = cp.load(_written(tmp_path / "a.urdf", text))
    copy = urdf_copy(text.encode(), with_masses(robot, 2.0 * robot.gravity_parameters))
    again = cp.load(_written(tmp_path / "b.urdf", copy))
    np.testing.assert_allclose(again.gravity([0.3]), 2.0 * robot.gravity([0.3]), rtol=1e-12)


def test_a_geometry_that_is_not_the_files_is_refused(tmp_path: Path) -> None:
    """The file was edited since, or the robot was."""
    robot = cp.load(_written(tmp_path / "a.urdf", FILE.decode()))
    turn, *others = robot.description.joints
    turned = cp.Robot(replace(robot.description, joints=(replace(turn, axis=np.array([1.0, 0.0, 0.0])), *others)))
    with pytest.raises(cp.errors.ModelFileError, match="other links or joints"):
        export(turned, tmp_path / "b.urdf")
    assert not (tmp_path / "b.urdf").exists()


def test_a_negative_mass_is_refused() -> None:
    robot = cp.load("planar3")
    lighter = with_masses(robot, robot.gravity_parameters - np.tile([2.0 * robot.total_mass, 0.0, 0.0, 0.0], 3))
    with pytest.raises(cp.ModelError, match="no reader of URDF takes"):
        urdf_text(lighter)


def test_a_name_that_no_xml_holds_is_refused(tmp_path: Path) -> None:
    robot = cp.load("planar3")
    for ending in (".urdf", ".xml"):
        with pytest.raises(cp.CounterpoiseError):
            export(cp.Robot(replace(robot.description, name="bell \x07")), tmp_path / f"a{ending}")
        assert not (tmp_path / f"a{ending}").exists()


def test_frames_find_free_names(tmp_path: Path) -> None:
    """A DH arm that has links called as the frames behind its joints would be."""
    robot = cp.load("wam4")
    joint = next(each for each in robot.description.joints if not np.array_equal(each.T_joint_child, np.eye(4)))
    clash = f"{joint.child}_at_{joint.name}"
    links = (*robot.description.links, Link(clash))
    mount = Joint(f"{clash}_mount", JointKind.FIXED, robot.description.root, clash)
    clashing = cp.Robot(replace(robot.description, links=links, joints=(*robot.description.joints, mount)))
    assert_same(read_again(clashing, tmp_path), clashing, 3)


def test_a_file_of_another_robot_is_refused(tmp_path: Path) -> None:
    robot = cp.load(_written(tmp_path / "a.urdf", FILE.decode()))
    with pytest.raises(cp.errors.ModelFileError, match="other links or joints"):
        urdf_copy(FILE.replace(b'"hand"', b'"fist"'), robot)


def test_other_endings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(cp.InputError, match=r"\.h, \.urdf, \.xml"):
        export(cp.load("wam7"), tmp_path / "wam7.json")


@settings(max_examples=60)
@given(st.lists(st.floats(-3.2, 3.2), min_size=3, max_size=3))
def test_angles_give_the_rotation_back(vector: list[float]) -> None:
    rotation = rotation_from_vector(vector)
    np.testing.assert_allclose(rotation_from_rpy(rpy_of(rotation)), rotation, atol=1e-12)


@pytest.mark.parametrize("pitch", [np.pi / 2, -np.pi / 2, np.pi / 2 - 1e-9, -np.pi / 2 + 1e-8, np.pi / 2 - 1e-6])
def test_angles_where_roll_and_yaw_are_one(pitch: float) -> None:
    rotation = rotation_from_rpy((0.4, pitch, -1.1))
    np.testing.assert_allclose(rotation_from_rpy(rpy_of(rotation)), rotation, atol=1e-15)


def _written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path
