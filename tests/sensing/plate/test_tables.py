"""Gravity tables: the exact one to rounding, the linear one fair for three joints; files and tags."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.description import JointKind, parse_urdf
from counterpoise.foundation import checksum
from counterpoise.sensing.plate.gravity_table import (
    LinearTable,
    TrigonometricTable,
    generic_terms,
    measuring_poses,
    nodes,
    term_name,
)
from counterpoise.sensing.plate.gravity_table_file import load_table, save_table
from counterpoise.sensing.plate.gravity_wrench import constant_gravity_wrench
from library.random_robots import random_motion, random_robot

TILT = (0.3, -0.5, 0.2)


def poses(robot: cp.Robot, count: int = 300, seed: int = 0):
    """Random poses, beyond the limits too: an exact table holds everywhere."""
    return random_motion(robot, seed, count)[0]


def worst(robot: cp.Robot, table, q) -> float:
    return float(np.abs(table.wrench(q) - robot.base_wrench(q)).max())


@pytest.mark.parametrize(
    ("name", "tilt", "terms"),
    [
        ("puma560", None, 24),
        ("puma560", TILT, 34),
        ("planar3", None, None),
        ("scara", TILT, 15),
        ("gantry", TILT, None),
        ("wam7", None, 130),
        ("dualarm19", None, 1834),
        ("dualarm19", TILT, 2401),
    ],
)
def test_the_trigonometric_table_is_exact(name, tilt, terms) -> None:
    """A few structurally non-zero coefficients reproduce the wrench within 1e-9, on chains, with sliders, on a tree."""
    robot = cp.load(name) if tilt is None else cp.load(name).mounted(rpy=tilt)
    table = TrigonometricTable.from_model(robot)
    q = poses(robot)
    assert worst(robot, table, q) <= 1e-9
    assert np.abs(table.wrench(q[0]) - table.wrench(q)[0]).max() <= 1e-12
    assert terms is None or len(table.terms) == terms


def test_terms_of_the_pumas_first_three_joints() -> None:
    """Fourteen of the twenty-four coefficients belong to the first three joints; names say what they multiply."""
    table = TrigonometricTable.from_model(cp.load("puma560"))
    assert sum(all(joint < 3 for joint, _ in term) for term in table.terms) == 14
    names = [term_name(term, table.tag.joint_names, table.tag.rotary) for term in table.terms]
    assert "cos joint1 · cos joint2" in names
    assert table.entries == 25


@pytest.mark.parametrize("seed", range(30))
def test_the_trigonometric_table_is_exact_on_random_trees(seed) -> None:
    """Also with turned frames, payloads and any mounting, rotary and linear mixed."""
    robot = random_robot(seed, joints=1 + seed % 6, mimics=False).robot()
    if not robot.tree.mass.any():
        return
    table = TrigonometricTable.from_model(robot)
    q = poses(robot, 50, seed)
    assert worst(robot, table, q) <= 1e-9 * max(1.0, float(np.abs(robot.base_wrench(q)).max()))


def test_the_constant_is_what_no_pose_changes() -> None:
    """The mean over a full turn of every rotary joint, linear ones at 0, is the constant coefficient."""
    robot = cp.load("scara").mounted(rpy=TILT)
    rotary = [joint.kind.rotates for joint in robot.description.joints if joint.name in robot.joint_names]
    turn = 2.0 * np.pi * np.arange(3) / 3.0
    grids = np.meshgrid(*[turn if turns else [0.0] for turns in rotary], indexing="ij")
    q = np.column_stack([grid.ravel() for grid in grids])
    assert robot.base_wrench(q).mean(axis=0) == pytest.approx(constant_gravity_wrench(robot.tree), abs=1e-10)


def test_a_mimic_joint_is_refused() -> None:
    """A mimic joint breaks the form; a linear table serves such a robot."""
    text = b"""<robot name="grip"><link name="base"/>
    <link name="a"><inertial><origin xyz=".1 0 0"/><mass value="1"/><inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0"
    iyz="0"/></inertial></link><link name="b"><inertial><origin xyz=".2 0 0"/><mass value="1"/><inertia ixx=".1"
    iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial></link>
    <joint name="j" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
    <joint name="k" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/><mimic joint="j"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""
    robot = cp.Robot(parse_urdf(text))
    with pytest.raises(cp.ModelError, match="'k' mimics"):
        cp.BaseSensor(robot).use_table()
    table = cp.BaseSensor(robot).use_table("linear", spacing=0.01)
    assert worst(robot, table, np.linspace(-1.0, 1.0, 37)[:, None]) < 1e-3


def first_three_joints() -> cp.Robot:
    """The PUMA with its wrist welded."""
    import dataclasses

    from counterpoise.description import checked

    whole = cp.load("puma560").description
    joints = [
        dataclasses.replace(joint, kind=JointKind.FIXED) if joint.name in ("joint4", "joint5", "joint6") else joint
        for joint in whole.joints
    ]
    return cp.Robot(checked(name="puma3", links=list(whole.links), joints=joints))


def test_a_linear_table_is_fair_for_three_joints() -> None:
    """A 5° grid is off by a tenth of a N m; half the spacing makes a quarter of it."""
    robot = first_three_joints()
    q = np.random.default_rng(0).uniform(robot.lower, robot.upper, (4000, 3))
    coarse, fine = (LinearTable.from_model(robot, np.deg2rad(step)) for step in (10.0, 5.0))
    assert 0.03 < worst(robot, fine, q) < 0.2
    assert 3.0 < worst(robot, coarse, q) / worst(robot, fine, q) < 5.0
    assert worst(robot, TrigonometricTable.from_model(robot), q) <= 1e-11
    corners = np.vstack([robot.lower, robot.upper])
    assert worst(robot, fine, corners) <= 1e-9


def test_a_linear_table_refuses_what_it_cannot() -> None:
    """Too many entries, a joint outside, a spacing that is none, a slider without limits."""
    robot = cp.load("puma560")
    with pytest.raises(cp.InputError, match="trigonometric"):
        LinearTable.from_model(robot, np.deg2rad(5.0))
    for bad in (0.0, -1.0, np.nan, "x", [0.1, 0.2]):
        with pytest.raises(cp.InputError, match="spacing"):
            LinearTable.from_model(robot, bad)
    small = first_three_joints()
    table = LinearTable.from_model(small, 0.5)
    with pytest.raises(cp.InputError, match="covers"):
        table.wrench(small.upper + 0.1)
    assert LinearTable.from_model(small, [0.5, 0.4, 0.6]).entries > 100


@pytest.mark.parametrize("name", ["puma560", "scara"])
def test_a_table_can_be_measured(name) -> None:
    """From static poses inside the limits, with noise: the table predicts other poses, without any masses known."""
    robot = cp.load(name).mounted(rpy=TILT)
    q = measuring_poses(robot, seed=1)
    assert np.all(q >= robot.lower) and np.all(q <= robot.upper)
    table = TrigonometricTable.from_static_poses(robot, q, robot.base_wrench(q))
    other = np.random.default_rng(3).uniform(robot.lower, robot.upper, (200, robot.n))
    assert worst(robot, table, other) <= 1e-8
    noisy_q = measuring_poses(robot, count=4 * len(q), seed=2)
    noise = 0.01 * np.random.default_rng(4).normal(size=(len(noisy_q), 6))
    noisy = TrigonometricTable.from_static_poses(robot, noisy_q, robot.base_wrench(noisy_q) + noise)
    assert worst(robot, noisy, other) < 0.2
    assert noisy.residual_rms[3:] == pytest.approx(np.full(3, 0.01), rel=0.3)
    assert noisy.source == "measured"


def test_a_table_is_measured_without_masses() -> None:
    """A robot without masses has every term that its geometry allows."""
    robot = first_three_joints()
    bare = cp.Robot(_massless(robot))
    terms = generic_terms(robot.tree)
    assert len(terms) >= len(TrigonometricTable.from_model(robot).terms)
    q = measuring_poses(bare)
    table = TrigonometricTable.from_static_poses(bare, q, robot.base_wrench(q))
    other = np.random.default_rng(3).uniform(robot.lower, robot.upper, (50, 3))
    assert worst(robot, table, other) <= 1e-8
    sensor = cp.BaseSensor(bare)
    with pytest.raises(cp.ModelError, match="no masses"):
        sensor.use_table()
    sensor.use_table(table=table)
    assert np.abs(sensor.joint_torques(other, robot.base_wrench(other), form="full")).max() <= 1e-7


def _massless(robot: cp.Robot):
    import dataclasses

    from counterpoise.description import checked

    links = [dataclasses.replace(link, inertia=None) for link in robot.description.links]
    return checked(name="bare", links=links, joints=list(robot.description.joints))


def test_poses_that_do_not_determine_a_table_are_refused() -> None:
    """Too few, or none that moves a joint: the message names a coefficient."""
    robot = cp.load("puma560")
    q = measuring_poses(robot)
    with pytest.raises(cp.InputError, match="at least as many poses"):
        TrigonometricTable.from_static_poses(robot, q[:-1], robot.base_wrench(q[:-1]))
    stuck = np.random.default_rng(0).uniform(robot.lower, robot.upper, (200, robot.n))
    stuck[:, 1] = 0.3
    with pytest.raises(cp.InputError, match=r"do not determine the coefficient of .*joint"):
        TrigonometricTable.from_static_poses(robot, stuck, robot.base_wrench(stuck))
    with pytest.raises(cp.InputError, match="count is 3"):
        measuring_poses(robot, count=3)
    with pytest.raises(cp.InputError, match="one for each pose"):
        TrigonometricTable.from_static_poses(robot, q, robot.base_wrench(q)[:-1])


@pytest.mark.parametrize("name", ["puma560", "scara", "wam7", "gantry"])
def test_nodes_lie_inside_the_limits(name) -> None:
    """Three nodes per rotary joint, two per linear one, inside its limits and apart."""
    robot = cp.load(name)
    for joint in range(robot.n):
        places = nodes(robot, joint)
        assert np.all(places >= robot.lower[joint]) and np.all(places <= robot.upper[joint])
        assert np.all(np.diff(places) > 0.0)
        assert len(places) in (2, 3)


@pytest.mark.parametrize("kind", ["trigonometric", "linear"])
def test_tables_are_saved_and_loaded(tmp_path, kind) -> None:
    """A file gives the same bytes back, and belongs to one robot, mounting and payload."""
    robot = first_three_joints().with_payload(0.7, com=(0.0, 0.1, 0.0))
    table = TrigonometricTable.from_model(robot) if kind == "trigonometric" else LinearTable.from_model(robot, 0.4)
    path = tmp_path / "gravity.json"
    save_table(table, path)
    again = load_table(path, robot)
    q = np.random.default_rng(0).uniform(robot.lower, robot.upper, (20, 3))
    assert again.wrench(q).tobytes() == table.wrench(q).tobytes()
    for other, word in (
        (robot.mounted(rpy=(0.1, 0.0, 0.0)), "mounting"),
        (robot.without_payload(), "payload"),
        (robot.with_payload(0.1), "payload"),
        (cp.load("planar3"), "lengths"),
        (cp.load("wam4"), "joints"),
    ):
        with pytest.raises(cp.InputError, match=word):
            load_table(path, other)
        with pytest.raises(cp.InputError, match=word):
            cp.BaseSensor(other).use_table(table=table)


def change(path, **changes) -> None:
    """Change a file's content, with a checksum that fits."""
    document = json.loads(path.read_text(encoding="utf-8"))
    document["content"] |= changes
    path.write_text(json.dumps(document | {"checksum": checksum(document["content"])}), encoding="utf-8")


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"source": "guessed"}, "source"),
        ({"constant": [1.0, 2.0]}, "constant"),
        ({"residual_rms": [None] * 6}, "residual_rms"),
        ({"coefficients": [[1.0, 2.0, 3.0]]}, "coefficients"),
        ({"coefficients": "none"}, "coefficients"),
        ({"terms": 24 * [[[9, 1]]]}, "factors"),
        ({"terms": 24 * [[[-1, 1]]]}, "factors"),
        ({"terms": 24 * [[[0, 0]]]}, "factors"),
        ({"terms": 24 * [[[0, 3]]]}, "factors"),
        ({"terms": 24 * [[[0, 1], [0, 2]]]}, "factors"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_damaged_files_are_refused(tmp_path, changes, word) -> None:
    """Every fault is a DataFileError that names the file."""
    path = tmp_path / "gravity.json"
    robot = cp.load("puma560")
    save_table(TrigonometricTable.from_model(robot), path)
    change(path, **changes)
    with pytest.raises(cp.errors.DataFileError, match=word) as caught:
        load_table(path, robot)
    assert "gravity.json" in str(caught.value)


@pytest.mark.parametrize("field", ["gravity_base", "tips"])
def test_a_tag_without_numbers_belongs_to_no_robot(tmp_path, field) -> None:
    """What is no number differs from nothing by any tolerance."""
    path = tmp_path / "gravity.json"
    robot = cp.load("puma560")
    save_table(TrigonometricTable.from_model(robot), path)
    tag = json.loads(path.read_text(encoding="utf-8"))["content"]["tag"]
    change(path, tag=tag | {field: [None] * 3 if field == "gravity_base" else [[None] * 3]})
    with pytest.raises(cp.errors.DataFileError, match=f"tag.{field}"):
        load_table(path, robot)


def test_a_sine_of_a_slider_is_refused(tmp_path) -> None:
    path = tmp_path / "gravity.json"
    robot = cp.load("scara").mounted(rpy=TILT)
    table = TrigonometricTable.from_model(robot)
    save_table(table, path)
    slider = table.tag.rotary.index(False)
    change(path, terms=len(table.terms) * [[[slider, 2]]])
    with pytest.raises(cp.errors.DataFileError, match="factors"):
        load_table(path, robot)


def test_a_table_without_terms_comes_back(tmp_path) -> None:
    """An arm whose weight no joint moves about."""
    inertia = '<inertial><mass value="1"/><inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial>'
    text = f"""<robot name="top"><link name="base"/><link name="a">{inertia}</link><joint name="j" type="continuous">
    <parent link="base"/><child link="a"/><axis xyz="0 0 1"/></joint></robot>"""
    robot = cp.Robot(parse_urdf(text.encode()))
    table = TrigonometricTable.from_model(robot)
    assert not table.terms
    save_table(table, tmp_path / "gravity.json")
    again = load_table(tmp_path / "gravity.json", robot)
    assert again.wrench(np.ones(1)).tobytes() == table.wrench(np.ones(1)).tobytes()


def test_files_that_are_none_are_refused(tmp_path) -> None:
    """A missing file, text that is no JSON, another document, and a grid that does not fit its numbers."""
    robot = first_three_joints()
    path = tmp_path / "table.json"
    with pytest.raises(cp.errors.DataFileError, match="no such file"):
        load_table(path, robot)
    path.write_bytes(b"{nonsense")
    with pytest.raises(cp.errors.DataFileError, match="not JSON"):
        load_table(path, robot)
    save_table(LinearTable.from_model(robot, 1.0), path)
    whole = path.read_text(encoding="utf-8")
    path.write_text(whole.replace("counterpoise-gravity-grid", "counterpoise-sensor"), encoding="utf-8")
    with pytest.raises(cp.errors.DataFileError, match="no gravity table"):
        load_table(path, robot)
    for changes in (
        {"moments": [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]},
        {"joints": [6, 6, 6]},
        {"joints": [0, 1, 7]},
        {"step": [0.0, 1.0, 1.0]},
        {"lower": [0.0]},
    ):
        path.write_text(whole, encoding="utf-8")
        change(path, **changes)
        with pytest.raises(cp.errors.DataFileError, match="grid"):
            load_table(path, robot)


@pytest.mark.parametrize("kind", ["trigonometric", "linear", "model"])
def test_the_generators_are_interchangeable(kind) -> None:
    """The sensor gives the same torques from the model and from tables, all forms, moving, single and batched."""
    robot = first_three_joints()
    sensor, plain = cp.BaseSensor(robot, reads="on_sensor"), cp.BaseSensor(robot, reads="on_sensor")
    sensor.use_table(kind, spacing=np.deg2rad(2.0))
    rng = np.random.default_rng(6)
    q = rng.uniform(robot.lower, robot.upper, (8, 3))
    dq, ddq = rng.normal(size=(2, 8, 3))
    reading = -robot.base_wrench(q, dq, ddq)
    for each in (sensor, plain):
        each.tare(q[0], reading[0])
    tolerance = 0.1 if kind == "linear" else 1e-9
    for form in ("full", "tared", "tared+model"):
        expected = plain.joint_torques(q, reading, dq, ddq, form)
        assert np.abs(sensor.joint_torques(q, reading, dq, ddq, form) - expected).max() <= tolerance, form
        assert np.abs(sensor.joint_torques(q[1], reading[1], dq[1], ddq[1], form) - expected[1]).max() <= tolerance
    if kind == "linear":
        assert np.abs(sensor.joint_torques(q, reading, dq, ddq) - plain.joint_torques(q, reading, dq, ddq)).max() > 1e-6


def test_position_dependent_components_serve_the_tared_forms() -> None:
    """They lack the weight, so the full form refuses them; after a tare they give what the whole wrench gives."""
    robot = cp.load("puma560")
    sensor, plain = cp.BaseSensor(robot), cp.BaseSensor(robot)
    for kind in ("trigonometric", "model"):
        generator = sensor.use_table(kind, position_dependent=True)
        q = np.random.default_rng(1).uniform(robot.lower, robot.upper, (5, robot.n))
        assert np.abs(generator.wrench(q)[:, :3]).max() <= 1e-12
        with pytest.raises(cp.InputError, match="position-dependent"):
            sensor.joint_torques(q[0], robot.base_wrench(q[0]), form="full")
        wrench = robot.base_wrench(q) + 7.0
        for each in (sensor, plain):
            each.tare(q[0], wrench[0])
        assert np.abs(sensor.joint_torques(q, wrench) - plain.joint_torques(q, wrench)).max() <= 1e-9
        assert "full" not in sensor.forms() and sensor.forms()[0] == "tared+model"
        sensor.untare()
    with pytest.raises(cp.InputError, match="kind"):
        sensor.use_table("cubic")


@pytest.mark.parametrize("lower", [-np.inf, -5.0, 2.0])
@pytest.mark.parametrize("upper", [-3.0, 0.5, 4.0, np.inf])
def test_nodes_of_a_slide_lie_inside_its_limits(lower: float, upper: float) -> None:
    """Two different ones, whichever of the limits there is."""
    if lower >= upper:
        pytest.skip("no such joint")
    slider = cp.load("slider")
    (joint,) = slider.description.joints
    robot = cp.Robot(replace(slider.description, joints=(replace(joint, lower=lower, upper=upper),)))
    low, high = nodes(robot, 0)
    assert lower <= low < high <= upper and np.isfinite([low, high]).all()
