"""The bundled arms: every number has an origin, and the arms are the ones they claim to be."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import counterpoise as cp
from counterpoise.description.bundled import CatalogEntry, catalog, catalog_names, read_bundled
from counterpoise.description.dh import decode_table, origins
from counterpoise.description.model import Description, Joint, JointKind
from counterpoise.errors import InputError
from counterpoise.foundation import load_toml

Array = npt.NDArray[np.float64]
Shared = Callable[[str], Path]

NAMES = (
    *("dualarm19", "gantry", "pendulum", "planar3", "puma560", "puma560_akb", "scara", "slider", "titan2"),
    *("wam4", "wam7"),
)


def entry(name: str) -> CatalogEntry:
    return next(item for item in catalog() if item.name == name)


def moving(description: Description) -> list[Joint]:
    return [joint for joint in description.joints if joint.kind is not JointKind.FIXED]


def poses(description: Description, q: npt.ArrayLike) -> tuple[dict[str, Array], dict[str, Array]]:
    """Poses of all links, and of all joints' moved frames, in the base frame; q in file order of moving joints."""
    values = iter(np.asarray(q, dtype=np.float64).tolist())
    links = {description.root: np.eye(4)}
    joints: dict[str, Array] = {}
    for joint in description.joints:
        motion = np.eye(4)
        if joint.kind.rotates:
            value = next(values)
            motion[:2, :2] = [[math.cos(value), -math.sin(value)], [math.sin(value), math.cos(value)]]
        elif joint.kind is JointKind.PRISMATIC:
            motion[2, 3] = next(values)
        joints[joint.name] = links[joint.parent] @ joint.T_parent_joint @ motion
        links[joint.child] = joints[joint.name] @ joint.T_joint_child
    return links, joints


def gravity(description: Description, q: npt.ArrayLike) -> Array:
    """Torque that holds the arm; q of shape (n,) or (k, n)."""
    return cp.Robot(description).gravity(q)


def within_limits(description: Description, count: int) -> Array:
    rng = np.random.default_rng(7)
    lower = [joint.lower for joint in moving(description)]
    upper = [joint.upper for joint in moving(description)]
    return rng.uniform(lower, upper, size=(count, len(lower)))


def test_the_catalog_lists_what_it_can_read() -> None:
    """Names, entries and files agree."""
    assert catalog_names() == NAMES
    assert tuple(item.name for item in catalog()) == NAMES
    for item in catalog():
        description = read_bundled(item.name)
        assert description.name == item.name
        assert item.joints == len(moving(description))
        assert item.summary == description.summary != ""
        assert description.path == f"counterpoise/description/bundled/{item.name}.toml"


@pytest.mark.parametrize("name", NAMES)
def test_every_number_has_a_source_or_is_marked_as_assumed(name: str) -> None:
    """The rule of the catalog."""
    document = load_toml((files("counterpoise.description.bundled") / f"{name}.toml").read_bytes())
    found = list(origins(decode_table(document), document))
    assert len(found) >= 3
    orphans = [(numbers.owner, numbers.fields) for numbers in found if not (numbers.sources or numbers.assumed_why)]
    assert orphans == []


def test_a_number_without_origin_is_noticed() -> None:
    """The rule can fail: a joint whose effort has neither source nor assumption is reported."""
    text = (files("counterpoise.description.bundled") / "wam4.toml").read_text(encoding="utf-8")
    document = load_toml(text.replace('assumed = ["effort"]\n', "", 1).encode())
    orphans = [n for n in origins(decode_table(document), document) if not (n.sources or n.assumed_why)]
    assert [(numbers.owner, numbers.fields) for numbers in orphans] == [("joint1", ("effort",))]


def test_assumptions_are_told() -> None:
    """An entry says which numbers are assumed and why."""
    assert entry("titan2").assumed[0].startswith("every number: only the total mass of 77 kg")
    pedestal, link1, limits = entry("puma560").assumed
    assert pedestal.startswith("mass, com, inertia of pedestal: unpublished")
    assert link1.startswith("mass, com, inertia of link1: only Iyy = 0.35")
    assert limits.startswith("velocity, effort of joint1, joint2, joint3, joint4, joint5, joint6:")
    assert any("ICRA 1994" in source for source in entry("puma560").sources)


@pytest.mark.parametrize(
    ("name", "mass"),
    [
        *(("titan2", 77.0), ("dualarm19", 62.0), ("puma560", 23.45 + 13.0 + 25.0), ("puma560_akb", 61.45)),
        *(("wam4", 17.51), ("wam7", 19.4587606), ("scara", 20.25), ("pendulum", 3.5)),
    ],
)
def test_total_masses(name: str, mass: float) -> None:
    """Base link included where the file states it."""
    assert entry(name).mass == pytest.approx(mass, abs=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_arms_are_sane(name: str) -> None:
    """No warnings, one PUMA tensor used as published, finite limits, drives that can hold the arm."""
    description = read_bundled(name)
    assert description.warnings == ()
    published = {link.name for link in description.links if link.inertia is not None and link.inertia.as_published}
    assert published == ({"link3"} if name == "puma560" else set())
    for joint in moving(description):
        assert math.isfinite(joint.lower)
        assert joint.lower < joint.upper < math.inf
    effort = np.array([joint.effort_limit for joint in moving(description)])
    peak = np.max(np.abs(gravity(description, within_limits(description, 100))), axis=0)
    assert np.all(peak < 0.6 * effort)


def test_the_two_pumas_are_one_arm() -> None:
    """After the change of zero all orientations agree exactly and all axes within the tables' 1.4 mm."""
    standard, modified = read_bundled("puma560"), read_bundled("puma560_akb")
    for q in within_limits(modified, 20):
        q1, q2, q3, q4, q5, q6 = q
        twin = [q1 + math.pi, q2 + math.pi, q3 - math.pi, q4 + math.pi, -q5, q6]
        ours, theirs = poses(standard, twin)[1], poses(modified, q)[1]
        for joint in ("joint1", "joint2", "joint3", "joint4", "joint6"):
            np.testing.assert_allclose(ours[joint][:3, 2], theirs[joint][:3, 2], atol=1e-12)
        np.testing.assert_allclose(ours["joint5"][:3, 2], -theirs["joint5"][:3, 2], atol=1e-12)
        assert np.linalg.norm(ours["joint6"][:3, 3] - theirs["joint6"][:3, 3]) < 1.4e-3
        signs = np.array([1, 1, 1, 1, -1, 1])
        # 0.29 N m: the tables put link 4's centre of mass 19 mm to either side of the wrist
        np.testing.assert_allclose(gravity(standard, twin), signs * gravity(modified, q), atol=0.295)


@pytest.mark.parametrize("name", ["puma560", "puma560_akb"])
def test_what_is_assumed_about_the_puma_moves_no_torque(name: str) -> None:
    """Link 1: centre of mass on the vertical axis and the published moment about it; so neither its mass nor the rest
    of its tensor enters any torque of an upright arm."""
    description = read_bundled(name)
    inertia = next(link.inertia for link in description.links if link.name == "link1")
    assert inertia is not None
    for q in within_limits(description, 5):
        pose = poses(description, q)[0]["link1"]
        com = pose @ np.append(inertia.com, 1.0)
        np.testing.assert_allclose(com[:2], 0.0, atol=1e-15)
        assert (pose[:3, :3] @ inertia.tensor_com @ pose[:3, :3].T)[2, 2] == pytest.approx(0.35, abs=1e-15)
        heavier = tuple(
            replace(link, inertia=replace(link.inertia, mass=99.0))
            if link.name in ("link1", "pedestal") and link.inertia is not None
            else link
            for link in description.links
        )
        np.testing.assert_allclose(
            gravity(replace(description, links=heavier), q), gravity(description, q), rtol=0, atol=1e-12
        )


def test_puma560_rotor_inertias_are_gear_squared_times_rotor() -> None:
    """Corke's gears and rotors."""
    gears = np.array([62.6111, 107.815, 53.7063, 76.0364, 71.923, 76.686])
    rotors = np.array([200e-6, 200e-6, 200e-6, 33e-6, 33e-6, 33e-6])
    stored = [joint.rotor_inertia for joint in moving(read_bundled("puma560"))]
    np.testing.assert_allclose(stored, gears**2 * rotors, rtol=1e-12)


@pytest.mark.parametrize(("name", "key", "drives"), [("wam4", "wam4", "4dof"), ("wam7", "wam7w", "7dof")])
def test_wam_repeats_barretts_files(name: str, key: str, drives: str, shared: Shared) -> None:
    """Rows, masses, tensors, tool plate and reflected drive inertia, number by number."""
    yaml = pytest.importorskip("yaml", reason="PyYAML reads the shared facts")
    facts: dict[str, Any] = yaml.safe_load(shared("facts/wam.yaml").read_text())
    arm, description = facts[key], read_bundled(name)
    coupling = np.array(arm["j2mp"], dtype=np.float64)
    reflected = np.diag(coupling.T @ np.diag(facts["drive_inertias_kgm2_at_rotor"][drives]) @ coupling)
    rows = zip(
        moving(description), description.links[1:], arm["kinematics"]["moving"], arm["dynamics"]["moving"], strict=False
    )
    for i, (joint, link, row, body) in enumerate(rows):
        c, s = math.cos(math.pi * row["alpha_pi"]), math.sin(math.pi * row["alpha_pi"])
        expected = [[1, 0, 0, row["a"]], [0, c, -s, 0], [0, s, c, row["d"]], [0, 0, 0, 1]]
        np.testing.assert_allclose(joint.T_joint_child, expected, atol=1e-15)
        assert link.inertia is not None
        assert link.inertia.mass == body["mass"]
        np.testing.assert_array_equal(link.inertia.com, body["com"])
        np.testing.assert_array_equal(link.inertia.tensor_com, body["I"])
        assert joint.rotor_inertia == pytest.approx(reflected[i], rel=1e-12)
    assert description.joints[-1].T_parent_joint[2, 3] == arm["kinematics"]["toolplate"]["d"]


def test_wam_poses_of_barretts_calibration_lie_within_the_limits(shared: Shared) -> None:
    """The poses Barrett ships for gravity calibration."""
    yaml = pytest.importorskip("yaml", reason="PyYAML reads the shared facts")
    shipped: dict[str, Any] = yaml.safe_load(shared("facts/wam.yaml").read_text())["gravitycal_poses"]
    for name, key in (("wam4", "wam4"), ("wam7", "wam7w")):
        joints = moving(read_bundled(name))
        for pose in shipped[key]:
            assert all(joint.lower < value < joint.upper for joint, value in zip(joints, pose, strict=True))


def test_titan2_has_the_published_arrangement_and_reach() -> None:
    """Yaw, three parallel pitches, yaw, roll; stretched forward it reaches 1.9 m."""
    description = read_bundled("titan2")
    links, joints = poses(description, np.zeros(6))
    axes = [joints[f"joint{i}"][:3, 2] for i in range(1, 7)]
    expected = [[0, 0, 1], [0, -1, 0], [0, -1, 0], [0, -1, 0], [0, 0, 1], [1, 0, 0]]
    np.testing.assert_allclose(axes, expected, atol=1e-15)
    np.testing.assert_allclose(links["jaw"][:2, 3], [1.9, 0.0], atol=1e-12)


def test_planar3_axes_and_centres_of_mass() -> None:
    """All axes along -y, as in Jo et al., and every centre of mass on the line between the axes."""
    description = read_bundled("planar3")
    for q in within_limits(description, 3):
        links, joints = poses(description, q)
        for joint, link in zip(description.joints, description.links[1:], strict=True):
            np.testing.assert_allclose(joints[joint.name][:3, 2], [0.0, -1.0, 0.0], atol=1e-15)
            assert link.inertia is not None
            com = links[link.name] @ np.append(link.inertia.com, 1.0)
            start, end = joints[joint.name][:3, 3], links[link.name][:3, 3]
            np.testing.assert_allclose(np.cross(com[:3] - start, end - start), 0.0, atol=1e-15)


def test_dualarm19_layout() -> None:
    """Trunk yaw, pitch, roll; 8 joints an arm; shoulders at 0.70 m, arms of 0.65 m hanging at q = 0."""
    description = read_bundled("dualarm19")
    links, joints = poses(description, np.zeros(19))
    np.testing.assert_allclose(joints["trunk_yaw"][:3, 2], [0.0, 0.0, 1.0], atol=1e-15)
    np.testing.assert_allclose(joints["trunk_pitch"][:3, 2], [0.0, 1.0, 0.0], atol=1e-15)
    np.testing.assert_allclose(joints["trunk_roll"][:3, 2], [1.0, 0.0, 0.0], atol=1e-15)
    for side, y in (("right", -0.2), ("left", 0.2)):
        np.testing.assert_allclose(joints[f"{side}_1"][:3, 3], [0.0, y, 0.7], atol=1e-15)
        np.testing.assert_allclose(links[f"{side}_hand"][:3, 3], [0.0, y, 0.05], atol=1e-12)
        chain = [joints[f"{side}_{i}"][:3, 2] for i in range(1, 9)]
        np.testing.assert_allclose([a @ b for a, b in pairwise(chain)], 0.0, atol=1e-15)


def test_dualarm19_is_mirrored() -> None:
    """With the left arm at minus the right arm's angles the hands are mirror images and so are the torques."""
    description = read_bundled("dualarm19")
    for q in within_limits(description, 5):
        q[2] = 0.0
        q[11:] = -q[3:11]
        links, _ = poses(description, np.concatenate([[0.0], q[1:]]))
        right, left = links["right_hand"][:3, 3], links["left_hand"][:3, 3]
        np.testing.assert_allclose(left, right * [1.0, -1.0, 1.0], atol=1e-12)
        torques = gravity(description, q)
        np.testing.assert_allclose(torques[11:], -torques[3:11], atol=1e-12)
    limits = {joint.name: (joint.lower, joint.upper) for joint in moving(description)}
    for i in range(1, 9):
        lower, upper = limits[f"right_{i}"]
        assert limits[f"left_{i}"] == (-upper, -lower)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("pendulum", lambda q: [1.5 * 9.81 * 0.4 * math.sin(q[0])]),
        ("slider", lambda q: [3.0 * 9.81]),
        ("scara", lambda q: [0.0, 0.0, -(1.2 + 0.35) * 9.81, 0.0]),
        ("gantry", lambda q: [0.0, 0.0, 6.5 * 9.81]),
    ],
)
def test_gravity_of_the_simple_machines_by_hand(name: str, expected: Callable[[Array], list[float]]) -> None:
    """Formulas anyone can check; the SCARA's quill moves down, so it is held with a negative force."""
    description = read_bundled(name)
    for q in within_limits(description, 5):
        np.testing.assert_allclose(gravity(description, q), expected(q), atol=1e-12)


def test_gantry_axes_are_x_y_and_z() -> None:
    """The three linear axes are the base axes."""
    _, joints = poses(read_bundled("gantry"), np.zeros(3))
    np.testing.assert_allclose([joints[f"joint{i}"][:3, 2] for i in (1, 2, 3)], np.eye(3), atol=1e-15)


@pytest.mark.parametrize(("asked", "meant"), [("puma561", "puma560"), ("WAM7", "wam7"), ("titan", "titan2")])
def test_an_unknown_name_is_answered_with_a_suggestion(asked: str, meant: str) -> None:
    """The error lists the catalog and guesses what was meant."""
    with pytest.raises(InputError, match=f"did you mean '{meant}'.*dualarm19, gantry.*wam7"):
        read_bundled(asked)


def test_a_hopeless_name_lists_the_catalog() -> None:
    """No guess where nothing is near, and no path tricks."""
    for name in ("../../errors", "", "kangaroo"):
        with pytest.raises(InputError, match=r"no bundled arm is called .*; the catalog has: dualarm19"):
            read_bundled(name)


def test_listing_names_loads_no_decoder() -> None:
    """Importing the catalog and asking for names stays quick: msgspec is loaded when an arm is read."""
    code = (
        "import sys; from counterpoise.description import catalog_names; catalog_names(); "
        "raise SystemExit('msgspec' in sys.modules or 'tomllib' in sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run([sys.executable, "-c", code], env=environment, check=False).returncode == 0
