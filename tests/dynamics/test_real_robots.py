"""Real robots: files that others wrote, read by our readers and by Pinocchio's and MuJoCo's own, and compared.

Only names connect the two sides: each library reads the file by itself.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.errors import ModelFileError, UnsupportedJointError
from library.random_robots import random_motion
from library.shared_data import REFUSED_URDFS, SHARED, real_urdfs
from library.twin import Coordinates, agree, compare
from library.twin_mujoco import MujocoTwin, mujoco
from library.twin_pinocchio import PinocchioTwin, pin

GRAVITY = np.array([1.0, -2.0, -9.0])
"""Not along any axis, so that no component of a torque or moment goes unseen."""
POSES = 3


URDFS = [path for path in real_urdfs() if path.name not in REFUSED_URDFS]
MJCFS = sorted(SHARED.glob("models/*/*.xml"))


def names(paths: list[Path]) -> list[str]:
    """Readable test names, e.g. "panda_description/panda.urdf"."""
    return [f"{path.parents[1 if path.parent.name in ('urdf', 'robots') else 0].name}/{path.name}" for path in paths]


needs_urdfs = pytest.mark.skipif(not URDFS, reason="neither example-robot-data nor the shared recordings are present")
needs_mjcfs = pytest.mark.skipif(not MJCFS, reason="shared models are not available (set COUNTERPOISE_DATA)")


@cache
def loaded(path: Path) -> cp.Robot:
    """Our robot, under skew gravity; oracles compute with unphysical inertias too."""
    return cp.load(path, allow_unphysical=True).mounted(gravity=GRAVITY)


def some_links(robot: cp.Robot) -> list[str]:
    """The tip, and three links anywhere."""
    rng = np.random.default_rng(len(robot.link_names))
    return list({robot.tree.leaves[-1], *(str(name) for name in rng.permutation(robot.link_names)[:3])})


# --- URDF -----------------------------------------------------------------------------------------------------------


@needs_urdfs
@pytest.mark.parametrize("path", URDFS, ids=names(URDFS))
def test_urdf_against_pinocchio(path: Path) -> None:
    """Its URDF reader takes mimic joints for independent ones, unbounded joints for (cos, sin)."""
    robot = loaded(path)
    try:
        model = pin.buildModelFromUrdf(str(path))
    except ValueError as error:
        assert "min_dry_friction" in str(error)
        pytest.skip(f"Pinocchio refuses its negative friction: {error}")
    twin = PinocchioTwin(model, Coordinates(robot.description), np.eye(3), GRAVITY)
    compare(robot, twin, random_motion(robot, 0, POSES), some_links(robot), path)


MUJOCO_REFUSALS = (
    "repeated element",
    "inertia must satisfy A + B >= C",
    "inertia must have positive eigenvalues",
    "mass and inertia of moving bodies must be larger than mjMINVAL",
)


@cache
def mujoco_urdf(path: Path) -> Any:
    """MuJoCo's own reading of a URDF, or its reason for refusing it; shapes carry no mass here and are left out."""
    root = ElementTree.parse(path).getroot()
    for link in root.iter("link"):
        for element in [*link.findall("visual"), *link.findall("collision")]:
            link.remove(element)
    for tag in ("mujoco", "transmission", "gazebo", "material", "sensor"):
        for element in root.findall(tag):
            root.remove(element)
    try:
        spec = mujoco.MjSpec.from_string(ElementTree.tostring(root, encoding="unicode"))
        spec.compiler.fusestatic = False  # on by default for URDF, it makes the base link vanish
        return spec.compile()
    except ValueError as error:
        return str(error)


@needs_urdfs
@pytest.mark.parametrize("path", URDFS, ids=names(URDFS))
def test_urdf_against_mujoco(path: Path) -> None:
    """The same files, where MuJoCo accepts their inertias."""
    model = mujoco_urdf(path)
    if isinstance(model, str):
        assert any(reason in model for reason in MUJOCO_REFUSALS), model
        pytest.skip(f"MuJoCo refuses it: {' '.join(model.split())}")
    robot = loaded(path)
    model.opt.gravity[:] = GRAVITY
    twin = MujocoTwin(model, Coordinates(robot.description), robot.link_names[0], np.eye(3))
    compare(robot, twin, random_motion(robot, 0, POSES), some_links(robot), path)


@needs_urdfs
def test_mujoco_accepts_most_of_the_files() -> None:
    """So the skips above do not hide an oracle that never spoke."""
    accepted = [path for path in URDFS if not isinstance(mujoco_urdf(path), str)]
    assert len(accepted) >= min(15, len(URDFS) // 2)


# --- MJCF -----------------------------------------------------------------------------------------------------------

UNWEIGHED = {
    "fr3.xml": "inertia of body 'fr3_link0' cannot be inferred: mesh 'link0_0' is missing",
    "so101.xml": "inertia of body 'camera_mount' cannot be inferred: mesh '.*' is missing",
    "so_arm100.xml": "inertia of body 'Base' cannot be inferred: mesh 'Base' is missing",
}
"""Files that leave a mass to meshes which we do not have; read with those meshes marked as weightless."""
FLOATING = {"tiago_dual.xml": "joint 'reference' is a free joint"}
"""Files of a robot that drives about; read without its free joint."""

SHAPES_AND_SIMULATOR = frozenset(
    (
        *("include", "asset", "actuator", "sensor", "keyframe", "contact", "tendon", "equality", "visual"),
        *("statistic", "size", "custom", "extension", "camera", "light", "site", "freejoint"),
    )
)


def mujoco_mjcf(path: Path) -> Any:
    """MuJoCo's own compilation of an MJCF file, without missing meshes and without what neither weighs nor moves."""
    root = ElementTree.parse(path).getroot()
    for parent in list(root.iter()):
        for element in list(parent):
            element.attrib.pop("material", None)
            missing = element.tag == "geom" and "mesh" in element.attrib
            if element.tag in SHAPES_AND_SIMULATOR or missing or element.get("type") == "free":
                parent.remove(element)
    spec = mujoco.MjSpec.from_string(ElementTree.tostring(root, encoding="unicode"))
    spec.compiler.fusestatic = False
    model = spec.compile()
    model.body_gravcomp[:] = 0.0
    model.dof_armature[:] = 0.0
    return model


def remedied(path: Path, folder: Path) -> Path:
    """Write the file again with the remedy that our error message proposes."""
    tree = ElementTree.parse(path)
    for parent in list(tree.getroot().iter()):
        for element in list(parent):
            if path.name in UNWEIGHED and element.tag == "geom" and "mesh" in element.attrib:
                element.set("mass", "0")
            if path.name in FLOATING and element.get("type") == "free":
                parent.remove(element)
    target = folder / path.name
    tree.write(target)
    return target


@pytest.fixture
def mjcf(tmp_path: Path) -> Callable[[Path], cp.Robot]:
    """Load an MJCF file through our reader; one that it refuses, with the remedy it asks for."""

    def load(path: Path) -> cp.Robot:
        reason = (UNWEIGHED | FLOATING).get(path.name)
        if reason is None:
            return loaded(path)
        with pytest.raises((ModelFileError, UnsupportedJointError), match=reason):
            cp.load(path)
        return loaded(remedied(path, tmp_path))

    return load


@needs_mjcfs
@pytest.mark.parametrize("path", MJCFS, ids=names(MJCFS))
def test_mjcf_against_mujoco(path: Path, mjcf: Callable[[Path], cp.Robot]) -> None:
    """MuJoCo is the authority on its own format: our q is its qpos, our base frame its world."""
    robot = mjcf(path)
    model = mujoco_mjcf(path)
    np.testing.assert_array_equal(cp.Robot(robot.description).gravity_world, model.opt.gravity)
    model.opt.gravity[:] = GRAVITY
    twin = MujocoTwin(model, Coordinates(robot.description), "world", np.eye(3))
    compare(robot, twin, random_motion(robot, 0, POSES), some_links(robot), path)


EVERY_JOINT_FEATURE = """
<mujoco model="features">
  <compiler angle="degree" eulerseq="zyx"/>
  <option gravity="1 -2 -9"/>
  <default>
    <joint pos="0.03 -0.02 0.05"/>
    <default class="lift"><joint type="slide" axis="1 2 2" pos="0 0 0" ref="0.3"/></default>
  </default>
  <worldbody>
    <body name="column" pos="0.1 0.2 0.3" euler="10 20 30">
      <inertial mass="7" pos="0.01 0.02 0.1" fullinertia="0.2 0.25 0.15 0.01 -0.02 0.03"/>
      <body name="carriage" pos="0 0.1 0.4" axisangle="1 1 0 40">
        <joint name="lift" class="lift"/>
        <geom type="box" size="0.05 0.1 0.02" pos="0.02 0 0" euler="0 15 0"/>
        <frame pos="0.1 0 0" quat="1 2 0 0.5">
          <body name="wrist" pos="0.2 0 0.1" zaxis="1 0 1">
            <joint name="roll" axis="1 0 0" ref="35"/>
            <joint name="pitch" axis="0 1 0.2" ref="-50" range="-90 90"/>
            <joint name="quill" type="slide" axis="0 0 -1" ref="-0.1"/>
            <geom type="capsule" size="0.03" fromto="0 0 0 0.2 0.1 0" density="800"/>
            <geom type="cylinder" size="0.02 0.05" pos="0 0.1 0" mass="0.4"/>
            <body name="plate" pos="0 0 0.1" xyaxes="0 1 0 -1 0 1">
              <geom type="ellipsoid" size="0.02 0.04 0.06" mass="0.3"/>
              <body name="finger" pos="0.05 0 0">
                <joint name="grip" axis="0 0 1"/>
                <geom type="sphere" size="0.04" pos="0.1 0 0.02"/>
              </body>
            </body>
          </body>
        </frame>
      </body>
    </body>
    <body name="second arm" pos="-0.5 0 0.2">
      <joint name="other" axis="1 1 1" ref="120"/>
      <geom type="box" size="0.1 0.02 0.03" pos="0.1 0 0"/>
    </body>
  </worldbody>
</mujoco>
"""


def test_every_joint_feature_of_mjcf_against_mujoco(tmp_path: Path) -> None:
    """References, anchors, several joints to a body, classes, every way to turn a frame, inertia from shapes."""
    file = tmp_path / "features.xml"
    file.write_text(EVERY_JOINT_FEATURE)
    robot = cp.load(file)
    model = mujoco.MjModel.from_xml_string(EVERY_JOINT_FEATURE)
    assert robot.n == model.nq == 6
    links = ["column", "carriage", "wrist", "plate", "finger", "second arm"]
    twin = MujocoTwin(model, Coordinates(robot.description), "world", np.eye(3))
    compare(robot, twin, random_motion(robot, 0, 6), links, "features.xml")


PINOCCHIO_MJCF_SKIPS = {
    "aloha.xml": "Pinocchio reads only the first of two arms that stand on the world",
    "so101.xml": "Pinocchio gives a mass of its own to the body whose mesh is missing",
    "tiago_dual.xml": "it has a free joint, which our reader refuses",
}


@needs_mjcfs
@pytest.mark.parametrize("path", MJCFS, ids=names(MJCFS))
def test_mjcf_against_pinocchio(path: Path, mjcf: Callable[[Path], cp.Robot]) -> None:
    """Torques only: its MJCF reader drops the pose of the first body and gives a weightless base 1 kg."""
    if path.name in PINOCCHIO_MJCF_SKIPS:
        pytest.skip(PINOCCHIO_MJCF_SKIPS[path.name])
    robot = mjcf(path)
    R_world_base = robot.forward_kinematics(np.zeros(robot.n), at=robot.link_names[1])[:3, :3]
    model = pin.buildModelFromMJCF(str(path))
    twin = PinocchioTwin(model, Coordinates(robot.description), np.eye(3), R_world_base.T @ GRAVITY)
    for q, dq, ddq in zip(*random_motion(robot, 0, POSES), strict=True):
        agree(robot.gravity(q), twin.gravity(q), "gravity", oracle="Pinocchio", where=path)
        ours, theirs = robot.inverse_dynamics(q, dq, ddq), twin.inverse_dynamics(q, dq, ddq)
        agree(ours, theirs, "inverse dynamics", oracle="Pinocchio", where=path)
