"""The MJCF reader agrees with MuJoCo on frames, centres of mass and masses, for real robots and made-up ones."""

from __future__ import annotations

import math
import os
import re
import struct
import subprocess
import sys
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from counterpoise.description import mjcf, mjcf_inertias, mjcf_sources
from counterpoise.description.mjcf import parse_mjcf
from counterpoise.description.model import Description, Inertia, Joint, JointKind
from counterpoise.description.reading import read_description
from counterpoise.errors import MissingExtraError, ModelFileError, UnsupportedJointError
from library.random_mjcf import RandomModel, compared
from library.random_mjcf import random_model as settings_model
from library.shared_data import SHARED

mujoco = pytest.importorskip("mujoco", reason="the MJCF reader needs MuJoCo")

MODELS = sorted((SHARED / "models").glob("*/*.xml"))
REFUSED_WITHOUT_MESHES = {
    "fr3": "inertia of body 'fr3_link0' cannot be inferred: mesh 'link0_0' is missing",
    "so101": "inertia of body 'camera_mount' cannot be inferred: mesh 'wrist_roll_follower_so101_camera_mount'",
    "so_arm100": "inertia of body 'Base' cannot be inferred: mesh 'Base' is missing",
    "tiago_dual": "joint 'reference' is a free joint",
}


def read(world: str, before: str = "", after: str = "", path: str | None = None) -> Description:
    """Read a model given the inside of its worldbody and the sections before and after."""
    return parse_mjcf(document(world, before, after).encode(), path)


def document(world: str, before: str = "", after: str = "") -> str:
    return f"<mujoco>{before}<worldbody>{world}</worldbody>{after}</mujoco>"


def joint_of(description: Description, name: str) -> Joint:
    return next(joint for joint in description.joints if joint.name == name)


def inertia_of(description: Description, name: str) -> Inertia:
    inertia = next(link.inertia for link in description.links if link.name == name)
    assert inertia is not None
    return inertia


def poses(description: Description, q: dict[str, float]) -> dict[str, np.ndarray]:
    """Pose of every link in the world by the plain product of transforms; joint positions by name."""
    T_world = {description.root: np.eye(4)}
    pending = list(description.joints)
    while pending:
        joint = next(candidate for candidate in pending if candidate.parent in T_world)
        pending.remove(joint)
        motion = np.eye(4)
        if joint.kind.rotates:
            motion[:3, :3] = Rotation.from_rotvec(q[joint.name] * joint.axis).as_matrix()
        elif joint.kind is JointKind.PRISMATIC:
            motion[:3, 3] = q[joint.name] * joint.axis
        T_world[joint.child] = T_world[joint.parent] @ joint.T_parent_joint @ motion @ joint.T_joint_child
    return T_world


def assert_same_robot(description: Description, model: Any, seed: int = 0, count: int = 4) -> None:
    """Every body of MuJoCo's model has the same mass, inertia, frame and centre of mass in the description."""
    rng = np.random.default_rng(seed)
    data = mujoco.MjData(model)
    inertias = {link.name: link.inertia for link in description.links}
    moving = {joint.name for joint in description.joints if joint.kind is not JointKind.FIXED}
    assert moving == {model.joint(index).name for index in range(model.njnt)}
    for index in range(1, model.nbody):
        body, inertia = model.body(index), inertias[model.body(index).name]
        assert (0.0 if inertia is None else inertia.mass) == pytest.approx(body.mass[0], rel=1e-12)
        axes = np.empty(9)
        mujoco.mju_quat2Mat(axes, body.iquat)
        tensor = axes.reshape(3, 3) @ np.diag(body.inertia) @ axes.reshape(3, 3).T
        ours = np.zeros((3, 3)) if inertia is None else inertia.tensor_com
        np.testing.assert_allclose(ours, tensor, atol=1e-9 * max(1e-9, float(np.abs(tensor).max())), rtol=0)
    for _ in range(count):
        data.qpos[:] = rng.uniform(-3.0, 3.0, model.nq)
        mujoco.mj_kinematics(model, data)
        q = {model.joint(index).name: float(data.qpos[model.jnt_qposadr[index]]) for index in range(model.njnt)}
        T_world = poses(description, q)
        for index in range(1, model.nbody):
            name = model.body(index).name
            np.testing.assert_allclose(T_world[name][:3, 3], data.xpos[index], atol=1e-11)
            np.testing.assert_allclose(T_world[name][:3, :3].ravel(), data.xmat[index], atol=1e-11)
            inertia = inertias[name]
            if inertia is not None:
                com = T_world[name][:3, :3] @ inertia.com + T_world[name][:3, 3]
                np.testing.assert_allclose(com, data.xipos[index], atol=1e-11)


def agrees(xml: str) -> Description:
    """Read a text and check it against MuJoCo's own reading of the same text."""
    description = parse_mjcf(xml.encode())
    assert_same_robot(description, mujoco.MjModel.from_xml_string(xml))
    return description


# --- real robots ------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not MODELS, reason="no shared/models folder beside the repository (COUNTERPOISE_DATA)")
@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
class TestRealRobots:
    """Twelve models as makers publish them, with their meshes missing and with stand-ins for them."""

    def test_reads_without_meshes_or_says_which_mass_is_lost(self, path: Path) -> None:
        """A missing mesh only matters where a mass depends on it, and a floating base is outside our scope."""
        if path.stem in REFUSED_WITHOUT_MESHES:
            with pytest.raises(ModelFileError) as caught:
                read_description(path)
            assert REFUSED_WITHOUT_MESHES[path.stem] in str(caught.value)
            assert caught.value.line is not None
        else:
            description = read_description(path)
            assert description.root == "world"
            assert not any("no mass" in warning for warning in description.warnings)

    def test_agrees_with_mujoco_when_the_meshes_are_there(self, path: Path, tmp_path: Path) -> None:
        """With a stand-in for every missing file MuJoCo reads the model too, and both see the same robot."""
        model_file = with_stand_ins(path, tmp_path)
        spec = mujoco.MjSpec.from_file(str(model_file))
        for key in list(spec.keys):
            spec.delete(key)
        model = spec.compile()
        description = read_description(model_file)
        assert_same_robot(description, model)
        total = sum(link.inertia.mass for link in description.links if link.inertia is not None)
        assert total == pytest.approx(model.body_mass.sum(), rel=1e-12)
        if path.stem not in REFUSED_WITHOUT_MESHES:
            bare = {link.name: link.inertia.mass for link in read_description(path).links if link.inertia is not None}
            assert bare == {link.name: link.inertia.mass for link in description.links if link.inertia is not None}


def with_stand_ins(path: Path, folder: Path) -> Path:
    """Write a model with a tetrahedron for each mesh, a pixel for each picture and without its free joint."""
    text = re.sub(r'<joint name="\w+" type="free"/>', "", path.read_text())
    settings_text = re.search(r"<compiler[^>]*>", text)
    assert settings_text is not None
    meshdir = re.search(r'meshdir="([^"]*)"', settings_text.group())
    assert meshdir is not None
    (folder / meshdir.group(1)).mkdir(exist_ok=True)
    for name in re.findall(r'<(?:mesh|texture)\b[^>]*file="([^"]+)"', text):
        file = folder / meshdir.group(1) / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes({".obj": TETRAHEDRON_OBJ, ".stl": TETRAHEDRON_STL, ".png": PIXEL_PNG}[file.suffix])
    for name in re.findall(r'<include file="([^"]+)"', text):
        (folder / name).write_text("<mujoco><custom/></mujoco>")
    target = folder / path.name
    target.write_text(text)
    return target


CORNERS = ((0.0, 0.0, 0.0), (0.5, 0.0, 0.0), (0.0, 0.4, 0.0), (0.0, 0.0, 0.3))
FACES = ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3))
TETRAHEDRON_OBJ = "".join(
    [*(f"v {x} {y} {z}\n" for x, y, z in CORNERS), *(f"f {a + 1} {b + 1} {c + 1}\n" for a, b, c in FACES)]
).encode()
TETRAHEDRON_STL = bytes(80) + struct.pack("<I", len(FACES))
for face in FACES:
    TETRAHEDRON_STL += struct.pack("<12fH", 0, 0, 0, *(value for corner in face for value in CORNERS[corner]), 0)


def _png_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


PIXEL_PNG = (
    b"\x89PNG\r\n\x1a\n"
    + _png_chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
    + _png_chunk(b"IDAT", zlib.compress(b"\x00\xff\xff\xff"))
    + _png_chunk(b"IEND", b"")
)


# --- random robots ----------------------------------------------------------------------------------------------------


def random_model(rng: np.random.Generator) -> str:
    """A random tree: frames, several joints a body, anchors, references, stated and inferred inertias, in degrees."""

    def numbers(low: float, high: float, count: int) -> str:
        return " ".join(f"{value:.6g}" for value in rng.uniform(low, high, count))

    counter = iter(range(1000))

    def body(depth: int) -> str:
        index = next(counter)
        joints = "".join(
            f'<joint name="j{index}_{k}" type="{rng.choice(["hinge", "slide"])}" axis="{numbers(0.1, 1, 3)}" '
            f'pos="{numbers(-0.2, 0.2, 3)}" ref="{numbers(-1, 1, 1)}"/>'
            for k in range(rng.integers(0, 4))
        )
        if rng.random() < 0.5:
            tensor = rng.choice(['diaginertia="0.3 0.4 0.5"', 'fullinertia="0.3 0.4 0.5 0.01 -0.02 0.03"'])
            turn = f'euler="{numbers(-90, 90, 3)}"' if tensor.startswith("diag") else ""
            mass = f'<inertial pos="{numbers(-0.2, 0.2, 3)}" mass="{numbers(0.1, 5, 1)}" {tensor} {turn}/>'
        else:
            mass = "".join(
                f'<geom type="box" size="{numbers(0.05, 0.2, 3)}" pos="{numbers(-0.2, 0.2, 3)}" '
                f'quat="{numbers(0.1, 1, 4)}" class="{rng.choice(["light", "main", "visual"])}"/>'
                for _ in range(rng.integers(0, 3))
            )
            mass += '<geom size="0.1" mass="0.7"/>'
        children = "".join(body(depth + 1) for _ in range(rng.integers(0, 3))) if depth < 4 else ""
        place = f'pos="{numbers(-0.5, 0.5, 3)}" quat="{numbers(-1, 1, 4)}"'
        inside = f"<frame {place}>{children}</frame>" if rng.random() < 0.3 else children
        return f'<body name="b{index}" {place}>{joints}{mass}{inside}</body>'

    classes = (
        '<default><geom density="700"/><default class="light"><geom density="100"/></default>'
        '<default class="visual"><geom mass="0" contype="0"/></default></default>'
    )
    return document(body(0) + body(3), classes)


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_random_robot_agrees_with_mujoco(seed: int) -> None:
    """Frames, masses, centres of mass and inertias of a random tree are MuJoCo's, at random poses."""
    agrees(random_model(np.random.default_rng(seed)))


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_random_robot_without_names_keeps_mujocos_order(seed: int) -> None:
    """Masses, centres of mass and axes go to the right bodies and joints when only their order tells them apart."""
    xml = re.sub(r'(?<=<body )name="\w+"|(?<=<joint )name="\w+"', "", random_model(np.random.default_rng(seed)))
    description = parse_mjcf(xml.encode())
    model = mujoco.MjModel.from_xml_string(xml)
    bodies = [link.inertia for link in description.links if not link.placeholder_frame][1:]
    assert [0.0 if inertia is None else inertia.mass for inertia in bodies] == pytest.approx(model.body_mass[1:])
    moving = [joint for joint in description.joints if joint.kind is not JointKind.FIXED]
    np.testing.assert_allclose(np.array([joint.axis for joint in moving]).reshape(-1, 3), model.jnt_axis, atol=1e-15)


FUSES_RIGHT = pytest.mark.skipif(
    int(mujoco.__version__.partition(".")[0]) < 4, reason="MuJoCo 3 changes torques where it fuses (docs/mjcf.md)"
)


@FUSES_RIGHT
@pytest.mark.parametrize("block", range(8))
def test_random_compiler_settings_give_mujocos_torques(
    block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every compiler setting, all shapes, frames, classes, includes: the same torques, or a refusal."""
    monkeypatch.chdir(tmp_path)  # MuJoCo logs deprecations into the working folder
    counts: dict[str, int] = {}
    for seed in range(1_000_000 + 40 * block, 1_000_000 + 40 * (block + 1)):
        folder = tmp_path / str(seed)
        folder.mkdir()
        found = compared(settings_model(seed), folder, seed)
        assert found.outcome != "different", (seed, found)
        counts[found.outcome] = counts.get(found.outcome, 0) + 1
        if found.outcome == "we refuse":
            assert "fusestatic and inertiafromgeom are both true" in found.reason
    assert counts["same"] >= 15  # of 40: most are compared


WELDED = '<inertial pos="0.2 0 0.1" mass="2" diaginertia="0.02 0.02 0.02"/>'
SPHERE = '<geom size="0.05" pos="0.2 0 0"/>'


@pytest.mark.parametrize(
    "reference",
    [
        "",
        '<sensor><framepos objtype="body" objname="pedestal"/></sensor>',
        '<sensor><force site="foot"/></sensor>',
        '<contact><exclude body1="pedestal" body2="arm"/></contact>',
        '<custom><tuple name="t"><element objtype="body" objname="pedestal"/></tuple></custom>',
        '<equality><weld body1="pedestal" body2="tool" active="false"/></equality>',
    ],
)
def test_a_total_mass_leaves_out_what_is_fused_into_the_world(reference: str, tmp_path: Path) -> None:
    """Only what nothing refers to is fused; the pedestal's weight is no part of the moving arm's."""
    world = (
        f'<body name="pedestal"><site name="foot"/>{WELDED}<body name="arm"><joint name="j" axis="0 1 0"/>{WELDED}'
        f'<body name="tool" pos="0.1 0 0">{WELDED}</body></body></body>'
    )
    text = document(world, '<compiler fusestatic="true" settotalmass="5"/>', reference)
    found = compared(RandomModel({"model.xml": text}), tmp_path)
    assert found.outcome == "same", found
    expected = 5.0 if not reference else 10.0 / 3.0
    description = parse_mjcf(text.encode())
    moving = sum(inertia_of(description, name).mass for name in ("arm", "tool"))
    assert moving == pytest.approx(expected)
    assert any("'pedestal', which fusestatic merges" in warning for warning in description.warnings) == (not reference)


@pytest.mark.parametrize("arm", [WELDED, SPHERE, WELDED + SPHERE])
@pytest.mark.parametrize("tool", [WELDED, SPHERE, WELDED + SPHERE, ""])
@pytest.mark.parametrize("rule", ["true", "false", "auto"])
def test_welded_bodies_that_mujoco_versions_weigh_differently_are_refused(
    arm: str, tool: str, rule: str, tmp_path: Path
) -> None:
    """With fusestatic and inertiafromgeom, MuJoCo 4 drops a stated mass that MuJoCo 3 keeps."""
    settings_text = f'<compiler fusestatic="true" inertiafromgeom="{rule}"/>'
    world = f'<body name="arm"><joint name="j" axis="0 1 0"/>{arm}<body name="tool" pos="0.1 0 0">{tool}</body></body>'
    found = compared(RandomModel({"model.xml": document(world, settings_text)}), tmp_path)
    assert found.outcome in ("same", "we refuse", "mujoco refuses"), found
    states = arm == WELDED or tool == WELDED
    if found.outcome != "mujoco refuses":
        assert (found.outcome == "we refuse") == (rule == "true" and states and bool(tool))


# --- joints -----------------------------------------------------------------------------------------------------------

LUMP = '<inertial pos="0 0 0.1" mass="2" diaginertia="0.02 0.02 0.01"/>'


def test_anchor_and_reference_make_our_position_mujocos_qpos() -> None:
    """At q = ref the body stands where the file puts it, turned about the anchor otherwise."""
    description = agrees(
        document(
            f'<body name="arm" pos="1 0 0"><joint name="j" axis="0 0 1" pos="0.5 0 0" ref="30"/>{LUMP}'
            f'<body name="slide"><joint name="s" type="slide" axis="0 0 1" ref="0.2"/>{LUMP}</body></body>'
        )
    )
    T_world = poses(description, {"j": math.radians(30), "s": 0.2})
    np.testing.assert_allclose(T_world["slide"][:3, 3], [1, 0, 0], atol=1e-15)
    T_world = poses(description, {"j": math.radians(120), "s": 0.0})
    np.testing.assert_allclose(T_world["slide"][:3, 3], [1.5, -0.5, -0.2], atol=1e-15)


def test_two_joints_on_a_body_apply_in_file_order_through_an_inserted_frame() -> None:
    """The inserted link is marked, weighs nothing and raises no warning."""
    description = agrees(
        document(
            f'<body name="wrist"><joint name="roll" axis="1 0 0" pos="0 0.1 0"/><joint name="pitch" axis="0 1 0"/>'
            f'<joint name="out" type="slide" axis="1 1 0"/>{LUMP}</body>'
        )
    )
    assert [(joint.name, joint.parent, joint.child) for joint in description.joints] == [
        ("roll", "world", "wrist/roll"),
        ("pitch", "wrist/roll", "wrist/pitch"),
        ("out", "wrist/pitch", "wrist"),
    ]
    assert [link.placeholder_frame for link in description.links] == [False, True, True, False]
    assert description.warnings == ()


def test_kinds_and_limits() -> None:
    """Degrees become radians; a hinge without limits is continuous; a body without joint is fixed."""
    world = "".join(
        f'<body name="b{index}"><joint name="j{index}" {attributes}/>{LUMP}</body>'
        for index, attributes in enumerate(
            (
                'range="-90 45"',
                "",
                'type="slide" range="-0.1 0.2"',
                'type="slide"',
                'range="-90 90" limited="false"',
                'range="-inf inf" limited="true"',
            )
        )
    )
    description = read(f'{world}<body name="tool"/>')
    kinds = [(joint.name, joint.kind.value, joint.lower, joint.upper) for joint in description.joints]
    assert kinds[0] == ("j0", "revolute", pytest.approx(-math.pi / 2), pytest.approx(math.pi / 4))
    assert kinds[1:] == [
        ("j1", "continuous", -math.inf, math.inf),
        ("j2", "prismatic", -0.1, 0.2),
        ("j3", "prismatic", -math.inf, math.inf),
        ("j4", "continuous", -math.inf, math.inf),
        ("j5", "continuous", -math.inf, math.inf),
        ("tool_fixed", "fixed", -math.inf, math.inf),
    ]


def test_radians_and_degrees_differ() -> None:
    """The compiler's angle setting decides what a range means."""
    world = f'<body name="b"><joint name="j" range="-1 1"/>{LUMP}</body>'
    assert joint_of(read(world), "j").upper == pytest.approx(math.radians(1))
    assert joint_of(read(world, '<compiler angle="radian"/>'), "j").upper == 1.0


@pytest.mark.parametrize(
    ("joint", "actuators", "expected"),
    [
        ('actuatorfrcrange="-7 7"', '<motor joint="j" forcerange="-3 3"/>', 7.0),
        ("", '<motor joint="j" forcerange="-3 3"/>', 3.0),
        ("", '<motor joint="j" forcerange="-3 3" gear="-50"/>', 150.0),
        ("", '<position joint="j" kp="10" forcerange="-3 5"/>', 3.0),
        ("", '<motor joint="j" forcerange="0 5"/>', 5.0),
        ("", '<motor joint="j" class="strong"/>', 90.0),
        ("", '<motor joint="j"/>', math.inf),
        ("", '<motor joint="j" forcerange="-3 3" forcelimited="false"/>', math.inf),
        ("", '<motor joint="j" forcerange="-3 3"/><motor joint="j" forcerange="-3 3"/>', math.inf),
        ("", '<motor joint="j" forcerange="-3 3"/><plugin joint="j" plugin="mujoco.pid"/>', math.inf),
        ("", '<motor tendon="t" forcerange="-3 3"/>', math.inf),
        ("", "", math.inf),
    ],
)
def test_effort_limit(joint: str, actuators: str, expected: float) -> None:
    """The joint's own force range first, else that of the one limited actuator that drives it, times its gear."""
    defaults = '<default><default class="strong"><motor forcerange="-90 90"/></default></default>'
    world = f'<body name="b"><joint name="j" {joint}/>{LUMP}</body>'
    description = read(world, defaults, f"<actuator>{actuators}</actuator>")
    assert joint_of(description, "j").effort_limit == expected


def test_rotor_inertia_is_the_armature_of_joint_and_actuator() -> None:
    """Armature from a default class; an actuator's own armature counts with the square of its gear."""
    world = f'<body name="b"><joint name="j" class="geared"/>{LUMP}</body>'
    defaults = '<default><default class="geared"><joint armature="0.1"/></default></default>'
    assert joint_of(read(world, defaults), "j").rotor_inertia == 0.1
    actuator = '<actuator><motor joint="j" gear="10" armature="0.02"/></actuator>'
    xml = document(world, defaults, actuator)
    try:
        model = mujoco.MjModel.from_xml_string(xml)
    except ValueError:
        pytest.skip("this MuJoCo knows no inertia of actuators")
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    ours = joint_of(parse_mjcf(xml.encode()), "j").rotor_inertia
    assert ours == pytest.approx(0.1 + 10**2 * 0.02)
    without = mujoco.MjModel.from_xml_string(document(f'<body name="b"><joint name="j"/>{LUMP}</body>'))
    bare = mujoco.MjData(without)
    mujoco.mj_forward(without, bare)
    assert ours == pytest.approx(float(inertia_seen(model, data) - inertia_seen(without, bare)))


def inertia_seen(model: Any, data: Any) -> float:
    """Inertia that MuJoCo's dynamics see at the only joint."""
    force = np.zeros(1)
    mujoco.mj_mulM(model, data, force, np.ones(1))
    return float(force[0])


@pytest.mark.parametrize("joint", ['<freejoint name="j"/>', '<joint name="j" type="free"/>', '<joint type="ball"/>'])
def test_ball_and_free_joints_are_refused_with_their_line(joint: str) -> None:
    """They have no single position."""
    with pytest.raises(UnsupportedJointError) as caught:
        read(f'\n<body name="b">\n{joint}\n{LUMP}</body>')
    assert caught.value.line == 3


def test_unnamed_bodies_and_joints_get_names_that_collide_with_none() -> None:
    """Names follow the place in the file and step aside for given ones."""
    description = read(
        f'<body><joint/>{LUMP}<body name="body1"><joint name="joint0"/>{LUMP}<body/></body></body>'
        f'<body name="a"><joint name="b_fixed"/>{LUMP}<body name="b"/></body>'
    )
    assert [link.name for link in description.links] == ["world", "body1_", "body1", "body3", "a", "b"]
    assert [joint.name for joint in description.joints] == [
        "joint0_",
        "joint0",
        "body3_fixed",
        "b_fixed",
        "b_fixed_",
    ]


def test_lines_lead_to_the_file() -> None:
    """Links and joints know the line that defines them, in a file with comments and broken lines."""
    description = read(
        f'\n<!-- one\n two -->\n<body\n name="b">\n<joint name="j"\n axis="0 0 1"/>\n{LUMP}\n<body name="tool"/></body>'
    )
    assert [link.line for link in description.links] == [None, 4, 9]
    assert [joint.line for joint in description.joints] == [6, 9]


def test_replicated_and_framed_bodies_are_expanded_as_mujoco_does() -> None:
    """Copies stand in a row and share the line of their original."""
    world = (
        f'<body name="base">{LUMP}<frame pos="0 0 1" euler="0 90 0"><replicate count="3" offset="0.1 0 0" '
        f'euler="0 0 10">\n<body name="finger" pos="0.2 0 0"><joint name="knuckle"/>{LUMP}</body></replicate>'
        "</frame></body>"
    )
    description = agrees(document(world))
    assert [link.line for link in description.links] == [None, 1, 2, 2, 2]


# --- masses -----------------------------------------------------------------------------------------------------------


def test_inertia_is_inferred_from_primitives_and_default_classes() -> None:
    """A box of known density gives the textbook mass and inertia; a weightless visual adds nothing."""
    defaults = (
        '<default><geom density="500"/><default class="visual"><geom density="0" group="2"/></default>'
        '<default class="heavy"><geom density="2000"/></default></default>'
    )
    box = '<geom type="box" size="0.1 0.2 0.3" pos="1 0 0"/>'
    description = agrees(
        document(
            f'<body name="plain"><joint/>{box}<geom class="visual" size="5"/></body>'
            f'<body name="heavy" childclass="heavy">{box}</body>',
            defaults,
        ).replace("<joint/>", '<joint name="j"/>')
    )
    inertia = inertia_of(description, "plain")
    assert inertia.mass == pytest.approx(500 * 0.2 * 0.4 * 0.6)
    np.testing.assert_allclose(inertia.com, [1, 0, 0], atol=1e-15)
    expected = inertia.mass / 12 * np.diag([0.4**2 + 0.6**2, 0.2**2 + 0.6**2, 0.2**2 + 0.4**2])
    np.testing.assert_allclose(inertia.tensor_com, expected, atol=1e-12)
    assert inertia_of(description, "heavy").mass == pytest.approx(4 * inertia.mass)


def test_geoms_outside_the_inertia_groups_weigh_nothing() -> None:
    """The compiler's inertiagrouprange decides, as in MuJoCo."""
    world = '<body name="b"><geom size="0.1" mass="3"/><geom size="0.1" mass="5" group="4"/></body>'
    assert inertia_of(agrees(document(world)), "b").mass == 8.0
    assert inertia_of(agrees(document(world, '<compiler inertiagrouprange="0 2"/>')), "b").mass == 3.0


MESH = '<asset><mesh name="hull" file="hull.stl"/></asset>'


def test_missing_mesh_does_not_matter_beside_a_stated_inertial() -> None:
    """Nor where its geom is weightless, stands in the world or lies outside the inertia groups."""
    geom = '<geom type="mesh" mesh="hull"'
    description = read(
        f'{geom}/><body name="a"><joint/>{LUMP}{geom}/></body>'
        f'<body name="b"><joint/><geom size="0.1" mass="3"/>{geom} mass="0"/>{geom} density="0"/>{geom} group="5"/>'
        "</body>",
        f'<compiler inertiagrouprange="0 4"/>{MESH}',
    )
    assert (inertia_of(description, "a").mass, inertia_of(description, "b").mass) == (2.0, 3.0)
    assert description.warnings == ()


@pytest.mark.parametrize("geom", ['type="mesh"', 'type="box"', 'type="mesh" mass="1"'])
def test_missing_mesh_that_a_mass_depends_on_is_refused(geom: str) -> None:
    """A box fitted to a mesh and a mesh of stated mass depend on it too: their shape is unknown."""
    with pytest.raises(
        ModelFileError, match="inertia of body 'b' cannot be inferred: mesh 'hull' is missing"
    ) as caught:
        read(f'<body name="b">\n<joint/><geom {geom} mesh="hull"/></body>', MESH)
    assert caught.value.line == 2


def test_inertiafromgeom_keeps_the_stated_inertial_of_a_body_without_heavy_geoms() -> None:
    """There is nothing to infer from."""
    rule = '<compiler inertiafromgeom="true"/>'
    assert inertia_of(agrees(document(f'<body name="b"><joint name="j"/>{LUMP}</body>', rule)), "b").mass == 2.0
    weightless = f'<body name="b">{LUMP}<geom size="0.1" mass="0"/></body>'
    assert inertia_of(agrees(document(weightless, rule)), "b").mass == 2.0


def test_inertiafromgeom_false_leaves_unstated_bodies_without_mass() -> None:
    """Then geoms weigh nothing, and a missing mesh does not matter."""
    world = '<body name="b"><geom size="0.1" mass="3"/></body>'
    rule = '<compiler inertiafromgeom="false"/>'
    assert agrees(document(world, rule)).links[1].inertia is None
    assert read(world.replace('size="0.1"', 'type="mesh" mesh="hull"'), rule + MESH).links[1].inertia is None


@pytest.mark.parametrize("explicit", [True, False])
def test_inertiafromgeom_decides_over_a_stated_inertial(explicit: bool) -> None:
    """With inertiafromgeom="true" the geoms count and a missing mesh stops the reader; with auto they do not."""
    world = f'<body name="b"><joint name="j"/>{LUMP}<geom size="0.1" mass="7"/></body>'
    rule = '<compiler inertiafromgeom="true"/>' if explicit else ""
    description = agrees(document(world, rule))
    assert inertia_of(description, "b").mass == (7.0 if explicit else 2.0)
    meshed = world.replace('size="0.1"', 'type="mesh" mesh="hull"')
    if explicit:
        with pytest.raises(ModelFileError, match="mesh 'hull' is missing"):
            read(meshed, rule + MESH)
    else:
        assert inertia_of(read(meshed, MESH), "b").mass == 2.0


@pytest.mark.parametrize("where", ["", "meshes", "absolute", "strippath"])
def test_existing_mesh_is_found_from_the_folder_of_the_file(where: str, tmp_path: Path) -> None:
    """The mass of a mesh is its volume times its density, wherever the settings say it lies."""
    folder = tmp_path / ("meshes" if where in ("meshes", "absolute") else "")
    folder.mkdir(exist_ok=True)
    (folder / "hull.stl").write_bytes(TETRAHEDRON_STL)
    compiler = {
        "": "",
        "meshes": '<compiler meshdir="meshes"/>',
        "absolute": f'<compiler assetdir="{folder}"/>',
        "strippath": '<compiler strippath="true"/>',
    }[where]
    asset = MESH.replace("hull.stl", "c:/elsewhere/hull.stl") if where == "strippath" else MESH
    world = '<body name="b"><joint name="j"/><geom type="mesh" mesh="hull"/></body>'
    description = read(world, compiler + asset, path=str(tmp_path / "arm.xml"))
    assert inertia_of(description, "b").mass == pytest.approx(1000 * 0.5 * 0.4 * 0.3 / 6, rel=1e-6)


def test_stated_tensor_is_the_files_even_where_mujoco_refuses_it() -> None:
    """A tensor that breaks the triangle inequality loads exactly, in the axes the file gives, with a warning."""
    turned = '<inertial pos="0 0 0.1" mass="2" diaginertia="0.02 0.03 0.1" euler="0 0 90"/>'
    full = '<inertial pos="0 0 0.1" mass="3" fullinertia="0.02 0.03 0.1 0.001 0.002 0.003"/>'
    world = f'<body name="a"><joint/>{turned}</body><body name="b"><joint/>{full}</body>'
    with pytest.raises(ValueError, match="balanceinertia"):
        mujoco.MjModel.from_xml_string(document(world))
    description = read(world)
    np.testing.assert_allclose(inertia_of(description, "a").tensor_com, np.diag([0.03, 0.02, 0.1]), atol=1e-16)
    expected = [[0.02, 0.001, 0.002], [0.001, 0.03, 0.003], [0.002, 0.003, 0.1]]
    np.testing.assert_array_equal(inertia_of(description, "b").tensor_com, expected)
    assert [inertia_of(description, name).mass for name in "ab"] == [2.0, 3.0]
    assert len(description.warnings) == 2
    assert all("triangle inequality" in warning for warning in description.warnings)


def test_massless_moving_body_loads_with_a_warning() -> None:
    """MuJoCo refuses it; its weight may be unknown and its kinematics still useful."""
    world = f'<body name="a"><joint name="j"/><body name="b"><joint name="k"/>{LUMP}</body></body>'
    with pytest.raises(ValueError, match="mass and inertia"):
        mujoco.MjModel.from_xml_string(document(world))
    description = read(world)
    assert [link.inertia is None for link in description.links] == [True, True, False]
    (warning,) = description.warnings
    assert "link 'a' moves with joint 'j' but has no mass" in warning


@pytest.mark.parametrize(
    "setting", ['balanceinertia="true"', 'settotalmass="5"', 'boundmass="2.5"', 'boundinertia="0.03"']
)
def test_compiler_settings_that_change_masses_are_obeyed_and_named(
    setting: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are the file's own statement, so we read what MuJoCo reads, and say so."""
    monkeypatch.chdir(tmp_path)  # MuJoCo logs a deprecation into the working folder; reading with ours must not
    odd = '<inertial pos="0.1 0 0" mass="3" fullinertia="0.02 0.02 0.0399 0.001 0 0" />'
    if setting.startswith("balance"):
        odd = odd.replace("0.0399", "0.09")
    world = (
        f'<body name="a"><joint name="j"/>{LUMP}</body><body name="b"><joint name="k"/>{odd}</body>'
        '<body name="c"><joint name="l"/><geom size="0.1" mass="0.4"/></body>'
    )
    description = parse_mjcf(document(world, f"<compiler {setting}/>").encode())
    assert list(tmp_path.iterdir()) == []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # MuJoCo deprecates settotalmass
        model = mujoco.MjModel.from_xml_string(document(world, f"<compiler {setting}/>"))
    assert_same_robot(description, model)
    assert any(setting.partition("=")[0] in warning for warning in description.warnings)


def test_geoms_too_light_for_mujoco_are_refused_rather_than_lost() -> None:
    """MuJoCo ignores masses near the smallest number; the file means something else."""
    with pytest.raises(ModelFileError, match="its geoms should weigh something"):
        read('<body name="b"><geom size="0.1" mass="1e-300"/></body>')


def test_a_mass_that_mujoco_alters_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is loaded is compared with what the file states."""
    monkeypatch.setattr(mjcf_inertias, "_stand_in", lambda inertial: {**inertial.attributes, "mass": "3"})
    with pytest.raises(ModelFileError, match=r"turned the stated mass 2\.0 kg into 3\.0 kg"):
        read(f'<body name="b">{LUMP}</body>')


@pytest.mark.parametrize("tag", ["body", "inertial", "geom", "joint"])
def test_an_element_that_mujoco_overlooks_is_reported(tag: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What MuJoCo read is counted against what stands in the file."""

    def with_one_more(data: bytes, path: str | None) -> mjcf_sources.Source:
        source = mjcf_sources.load_source(data, path)
        source.counts[tag] += 1
        return source

    monkeypatch.setattr(mjcf, "load_source", with_one_more)
    with pytest.raises(ModelFileError, match="of which MuJoCo reads"):
        read(f'<body name="b"><joint/>{LUMP}</body>')


# --- what the simulator does otherwise --------------------------------------------------------------------------------


def test_gravcomp_is_named_and_changes_no_number() -> None:
    """The full gravity is computed whatever the simulator hides."""
    plain = read(f'<body name="b"><joint name="j"/>{LUMP}</body>')
    hidden = read(f'<body name="b" gravcomp="1"><joint name="j"/>{LUMP}</body>')
    assert inertia_of(plain, "b").mass == inertia_of(hidden, "b").mass
    np.testing.assert_array_equal(plain.gravity_world, hidden.gravity_world)
    (warning,) = hidden.warnings
    assert "gravcomp hides the weight of 'b'" in warning


def test_gravity_is_the_files_and_named_when_unusual() -> None:
    """A tilted gravity in the options stands for a tilted base."""
    description = read(f'<body name="b"><joint/>{LUMP}</body>', '<option gravity="0 9.81 0"/>')
    np.testing.assert_array_equal(description.gravity_world, [0, 9.81, 0])
    assert "gravity is [0.0, 9.81, 0.0]" in description.warnings[0]


def test_equality_leaves_joints_independent_and_is_named() -> None:
    """Active couplings only, each with its line."""
    equality = (
        '<equality>\n<joint joint1="l" joint2="r"/>\n<joint joint1="l"/>\n<weld body1="a" body2="b" active="false"/>'
        "</equality>"
    )
    description = read(
        f'<body name="a"><joint name="l"/>{LUMP}</body><body name="b"><joint name="r"/>{LUMP}</body>', after=equality
    )
    assert all(joint.mimic is None for joint in description.joints)
    coupled, held = description.warnings
    assert coupled.startswith("<text>:2: joints 'l' and 'r' are coupled")
    assert held.startswith("<text>:3: a constraint holds 'l'")


def test_keyframes_and_other_useless_parts_may_be_broken() -> None:
    """A keyframe of the wrong length or a sensor on nothing stop MuJoCo, not us."""
    after = '<keyframe><key qpos="1 2 3"/></keyframe><sensor><jointpos joint="nobody"/></sensor>'
    assert read(f'<body name="b"><joint/>{LUMP}</body>', after=after).warnings == ()


# --- includes ---------------------------------------------------------------------------------------------------------


def test_included_files_are_joined_in_place(tmp_path: Path) -> None:
    """Defaults, bodies and nested includes; the main folder comes before the including file's, as in MuJoCo."""
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "classes.xml").write_text(
        '<mujocoinclude><default><joint armature="0.3"/></default></mujocoinclude>'
    )
    (tmp_path / "parts" / "arm.xml").write_text(
        f'<x><body name="b"><joint name="j"/>{LUMP}<include file="hand.xml"/></body></x>'
    )
    (tmp_path / "parts" / "hand.xml").write_text('<x><body name="wrong"/></x>')
    (tmp_path / "hand.xml").write_text('<x>\n<body name="hand"><geom size="0.1" mass="0.5"/></body></x>')
    main = tmp_path / "main.xml"
    main.write_text(
        '<mujoco>\n<include file="parts/classes.xml"/>\n<worldbody>\n<include file="parts/arm.xml"/></worldbody>'
        "</mujoco>"
    )
    description = read_description(main)
    assert_same_robot(description, mujoco.MjModel.from_xml_path(str(main)))
    assert [link.name for link in description.links] == ["world", "b", "hand"]
    assert joint_of(description, "j").rotor_inertia == 0.3
    assert [link.line for link in description.links] == [None, 4, 4]  # the line of the include in the main file


def test_include_found_beside_the_including_file(tmp_path: Path) -> None:
    """Where the main folder does not have it."""
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "arm.xml").write_text('<x><include file="hand.xml"/></x>')
    (tmp_path / "parts" / "hand.xml").write_text(f'<x><body name="hand">{LUMP}</body></x>')
    (tmp_path / "main.xml").write_text('<mujoco><worldbody><include file="parts/arm.xml"/></worldbody></mujoco>')
    assert inertia_of(read_description(tmp_path / "main.xml"), "hand").mass == 2.0


def test_missing_include_is_named_at_the_top_and_refused_in_a_body(tmp_path: Path) -> None:
    """At the top it mostly carries actuators and keyframes; in a body it could carry links."""
    world = f'<body name="b"><joint/>{LUMP}</body>'
    description = read(world, '\n<include file="classes.xml"/>', path=str(tmp_path / "arm.xml"))
    (warning,) = description.warnings
    assert warning == f"{tmp_path / 'arm.xml'}:2: included file 'classes.xml' is missing: whatever it defines is absent"
    with pytest.raises(ModelFileError, match=r"included file 'hand\.xml' is missing"):
        read(world.replace("<joint/>", '<include file="hand.xml"/>'), path=str(tmp_path / "arm.xml"))
    with pytest.raises(ModelFileError, match="is missing"):
        read(world.replace("<joint/>", '<include file="hand.xml"/>'))


def test_faults_in_included_files_are_placed_there(tmp_path: Path) -> None:
    """Whether our parser, our checks or MuJoCo find them; a document type is refused there too."""
    main = tmp_path / "main.xml"
    main.write_text('<mujoco><worldbody><include file="arm.xml"/></worldbody></mujoco>')
    body = f'\n\n<body name="b"><joint/>{LUMP}</body>'
    for fault, line in (
        (body.replace("<joint/>", "<jiont/>"), 3),
        (body.replace("<joint/>", "<freejoint/>"), 3),
        (body.replace('mass="2"', 'mass="nan"'), 3),
        (body.replace("</body>", ""), 3),
        ("</x><x>", 1),
    ):
        (tmp_path / "arm.xml").write_text(f"<x>{fault}</x>")
        with pytest.raises(ModelFileError) as caught:
            read_description(main)
        assert (caught.value.path, caught.value.line) == (str(tmp_path / "arm.xml"), line), str(caught.value)


def test_document_type_in_an_included_file_is_refused(tmp_path: Path) -> None:
    """The guard against entities covers every file."""
    (tmp_path / "arm.xml").write_text('<!DOCTYPE x [<!ENTITY a "b">]>\n<x/>')
    with pytest.raises(ModelFileError, match="DOCTYPE") as caught:
        read('<include file="arm.xml"/>', path=str(tmp_path / "main.xml"))
    assert caught.value.path == str(tmp_path / "arm.xml")


def test_cycles_and_floods_of_includes_are_refused(tmp_path: Path) -> None:
    """Two files that include each other, a file twice, and more files than any robot needs."""
    (tmp_path / "a.xml").write_text('<mujoco><worldbody><include file="b.xml"/></worldbody></mujoco>')
    (tmp_path / "b.xml").write_text('<x><include file="./a.xml"/></x>')
    with pytest.raises(ModelFileError, match="includes itself"):
        read_description(tmp_path / "a.xml")
    (tmp_path / "b.xml").write_text(f'<x><body name="b">{LUMP}</body></x>')
    (tmp_path / "a.xml").write_text(
        '<mujoco><worldbody><include file="b.xml"/><include file="b.xml"/></worldbody></mujoco>'
    )
    with pytest.raises(ModelFileError, match="twice"):
        read_description(tmp_path / "a.xml")
    for index in range(201):
        (tmp_path / f"f{index}.xml").write_text(f'<x><include file="f{index + 1}.xml"/></x>')
    (tmp_path / "a.xml").write_text('<mujoco><worldbody><include file="f0.xml"/></worldbody></mujoco>')
    with pytest.raises(ModelFileError, match="more than 200 included files"):
        read_description(tmp_path / "a.xml")


# --- environment ------------------------------------------------------------------------------------------------------


def test_without_mujoco_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says what to install."""
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(MissingExtraError, match=r"reading MJCF needs .* pip install 'counterpoise\[sim\]'"):
        read(f'<body name="b">{LUMP}</body>')


def test_importing_the_reader_does_not_import_mujoco() -> None:
    """MuJoCo takes long to import and is optional."""
    code = "import sys, counterpoise.description.mjcf; sys.exit('mujoco' in sys.modules)"
    subprocess.run(
        [sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    )


def test_missing_file_is_our_error(tmp_path: Path) -> None:
    """A path that leads nowhere."""
    with pytest.raises(ModelFileError, match="no such file"):
        read_description(tmp_path / "nowhere.xml")


def test_reading_leaves_no_log_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """MuJoCo would write MUJOCO_LOG.TXT into the working folder for a nan."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelFileError, match="not finite"):
        read(f'<body name="b"><joint damping="nan"/>{LUMP}</body>')
    assert list(tmp_path.iterdir()) == []
