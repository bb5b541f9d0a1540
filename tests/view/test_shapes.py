"""What is drawn: primitives where there are no shapes, a file's own where there are, never an error for a picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from counterpoise.dynamics import load
from counterpoise.view.scene import link_lines, mesh_file, parts_of, primitives, reach_of, urdf_visuals
from counterpoise.view.weight import nearest_link

pytest.importorskip("trimesh", reason="trimesh is not installed: pip install 'counterpoise[view]'")

URDF = """<robot name="drawn">
  <material name="red"><color rgba="1 0 0 1"/></material>
  <link name="base"><visual><geometry><box size="0.2 0.2 0.1"/></geometry><material name="red"/></visual></link>
  <link name="arm">
    <inertial><origin xyz="0 0 0.2"/><mass value="1"/>
      <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>
    <visual><origin xyz="0 0 0.2"/><geometry><cylinder radius="0.03" length="0.4"/></geometry></visual>
    <visual><geometry><mesh filename="package://drawn/meshes/cap.stl" scale="2 2 2"/></geometry></visual>
    <visual><geometry><mesh filename="meshes/missing.stl"/></geometry></visual>
    <visual><geometry><sphere radius="wide"/></geometry></visual>
  </link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="20" velocity="2"/></joint>
</robot>
"""


@pytest.fixture
def drawn(tmp_path: Path) -> Path:
    """A URDF in a package with one mesh."""
    import trimesh

    (tmp_path / "drawn" / "meshes").mkdir(parents=True)
    trimesh.creation.box(extents=(0.1, 0.1, 0.1)).export(tmp_path / "drawn" / "meshes" / "cap.stl")
    file = tmp_path / "drawn" / "drawn.urdf"
    file.write_text(URDF)
    return file


@pytest.mark.parametrize("name", ["wam7", "puma560", "dualarm19", "scara", "gantry", "pendulum"])
def test_primitives_give_every_body_something_to_hold(name: str) -> None:
    """Every moving body has a piece, of finite size, whose link exists."""
    robot = load(name)
    parts = primitives(robot)
    assert {part.body for part in parts} >= set(range(robot.tree.bodies))
    for part in parts:
        assert part.link in robot.link_names
        assert np.isfinite(part.vertices).all()
        assert np.abs(part.vertices).max() < 4.0 * reach_of(robot)
        assert part.faces.max() < len(part.vertices)


def test_bars_end_at_the_joints_that_they_carry() -> None:
    """The upper arm of the WAM is 0.55 m long, and its elbow sits 45 mm off."""
    robot = load("wam7")
    upper = next(line for line in link_lines(robot) if line.body == 2)
    assert np.linalg.norm(upper.end) == pytest.approx(np.hypot(0.55, 0.045), rel=1e-6)


def test_a_files_own_shapes_are_drawn_and_the_rest_noted(drawn: Path) -> None:
    """Box, cylinder and mesh are read, with pose, scale and colour; what cannot be read is a note with its line."""
    robot = load(drawn)
    visuals = urdf_visuals(robot)
    assert [part.link for part in visuals.parts] == ["base", "arm", "arm"]
    box, cylinder, cap = visuals.parts
    assert box.color == (255, 0, 0)
    assert np.ptp(cylinder.vertices, axis=0).max() == pytest.approx(0.4)
    assert np.ptp(cap.vertices, axis=0).max() == pytest.approx(0.2)
    assert len(visuals.notes) == 2
    assert "missing.stl" in visuals.notes[0]
    assert "drawn.urdf:" in visuals.notes[1]
    parts, _ = parts_of(robot)
    assert [part.link for part in parts] == ["base", "arm", "arm"]


def test_without_shapes_primitives_are_drawn(tmp_path: Path) -> None:
    """Meshes that are not there leave bars and cylinders, and a note."""
    file = tmp_path / "drawn.urdf"
    file.write_text(URDF.replace("<cylinder", "<capsule").replace("cylinder>", "capsule>"))
    parts, notes = parts_of(load(file))
    assert {part.body for part in parts} >= {0}
    assert "bars and cylinders" in notes[-1]


@pytest.mark.parametrize("name", ["", "a" * 5000, "x\0.stl", "../../etc/passwd", "package://", "http://host/a.stl"])
def test_odd_mesh_names_are_no_file(tmp_path: Path, name: str) -> None:
    """Whatever a file calls its mesh, the answer is a file beside it or none."""
    assert mesh_file(name, tmp_path / "arm.urdf") is None


def test_a_weight_finds_the_link_it_is_dropped_on() -> None:
    """Beside the elbow's end it is the upper arm or the forearm; the point lies on the link."""
    robot = load("wam7")
    q = np.array([0.0, -1.0, 0.0, 2.0, 0.0, 0.5, 0.0])
    tip = robot.forward_kinematics(q, at="link7")[:3, 3]
    found = nearest_link(robot, q, tip + np.array([0.0, 0.01, 0.0]))
    assert found is not None
    link, point, distance = found
    assert link in ("link6", "link7", "toolplate")
    assert distance < 0.1
    T = robot.forward_kinematics(q, at=link)
    assert np.linalg.norm(T[:3, 3] + T[:3, :3] @ point - tip) < 0.1
