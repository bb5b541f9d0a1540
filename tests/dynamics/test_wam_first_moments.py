"""The WAM document's recursion: gravity from cumulative first moments alone, and Barrett's own vectors."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import counterpoise as cp
from counterpoise.description import Joint, JointKind, Link, checked
from counterpoise.errors import InputError, ModelError
from library.twin import agree

Array = npt.NDArray[np.float64]

SHIPPED = {
    "wam4": [
        [0.2667890151, 3.377309876e-20, 5.798423849e-05],
        [0.008582424569, 0.02793043314, 1.373751226],
        [-0.04104413786, 0.1237016607, 0.04589455098],
        [-0.01694411736, -0.0001243921853, 0.1786010977],
    ],
    "wam7": [
        [-0.4619813284, -8.777142616e-19, -0.0001650712715],
        [0.09324682625, -0.1429915845, 2.3827622],
        [0.09102604107, 0.1774000857, 0.1094180014],
        [-0.1263857613, -0.05701896802, 0.5415280943],
        [0.002226522425, 0.01362529161, -0.00101195702],
        [-0.0008998072939, -0.00499246526, 0.02592270061],
        [-3.960032732e-05, -7.543236065e-05, 1.303052607e-05],
    ],
}
"""μ [kg m] that Barrett ships: libbarrett, config/calibration_data/{wam4,wam7w}/gravitycal.conf, commit 109faf60."""
BARRETT_GRAVITY = (0.0, 0.0, -9.805)
"""What Barrett's calibration program takes for gravity."""
WAM4_POSES = np.pi / 2 * np.array([[0, -1, 0, 0], [0, -1, -1, 1], [0, 0, -1, 1], [0, 0, 0, 0], [0, 1, 0, 0]])
"""The poses at which Barrett measures a WAM-4: libbarrett, config/calibration.conf."""


@pytest.mark.parametrize("name", ["wam4", "wam7", "puma560", "planar3", "titan2", "pendulum"])
@pytest.mark.parametrize("rpy", [(0.0, 0.0, 0.0), (0.5, -0.8, 0.3), (np.pi / 2, 0.0, 0.0)])
def test_the_recursion_gives_gravity(name: str, rpy: tuple[float, float, float]) -> None:
    """From the arm's own μ, single and batched, with and without a load at the tip."""
    robot = cp.load(name).mounted(rpy=rpy)
    poses = np.random.default_rng(1).uniform(-np.pi, np.pi, (20, robot.n))
    for arm in (robot, robot.with_payload(2.0, com=(0.1, -0.05, 0.2))):
        mu = arm.first_moments
        assert mu.shape == (arm.n, 3)
        for q in (poses, poses[0]):
            torques = arm.gravity_from_first_moments(q, mu)
            agree(torques, arm.gravity(q), "gravity from μ", oracle="identity", where=name, tolerance=1e-12)


@pytest.mark.parametrize("name", ["wam4", "wam7", "puma560"])
def test_first_moments_by_their_definition(name: str) -> None:
    """μ_j = m_j r_cj − M_j r_mj in frame j, with M_j the mass from link j outwards ([Dellin2008], eq. (14))."""
    robot = cp.load(name)
    joints = [joint for joint in robot.description.joints if joint.kind is JointKind.REVOLUTE]
    bodies = [next(link.inertia for link in robot.description.links if link.name == joint.child) for joint in joints]
    for j, (joint, body) in enumerate(zip(joints, bodies, strict=True)):
        assert body is not None
        carried = sum(outer.mass for outer in bodies[j:] if outer is not None)
        joint_origin = -joint.T_joint_child[:3, :3].T @ joint.T_joint_child[:3, 3]
        expected = body.mass * body.com - carried * joint_origin
        np.testing.assert_allclose(robot.first_moments[j], expected, rtol=0, atol=1e-14)


def test_first_moments_of_the_wam4_by_the_numbers() -> None:
    """Computed elsewhere from Barrett's masses: μ₂ and μ₃ to the printed millimetre kilograms."""
    mu = cp.load("wam4").first_moments
    np.testing.assert_allclose(mu[1], [-0.009, 0.120, 0.060], atol=5.1e-4)
    np.testing.assert_allclose(mu[2], [0.060, -1.203, 0.000], atol=5.1e-4)


def test_the_part_along_the_joint_axis_moves_freely_to_the_inner_link() -> None:
    """μ_j is known only up to its component along joint j: handing it to frame j − 1 changes no torque."""
    robot = cp.load("wam4").mounted(rpy=(0.2, 0.1, 0.0))
    poses = np.random.default_rng(3).uniform(-2.0, 2.0, (10, 4))
    mu = np.array(robot.first_moments)
    joint = robot.description.joints[2]
    axis_in_frame_3 = joint.T_joint_child[:3, :3].T @ [0.0, 0.0, 1.0]
    other = mu.copy()
    other[2] += 0.7 * axis_in_frame_3
    other[1] -= [0.0, 0.0, 0.7]  # the axis of joint 3 is z of frame 2
    assert np.abs(other - mu).max() > 0.5
    np.testing.assert_allclose(
        robot.gravity_from_first_moments(poses, other), robot.gravity_from_first_moments(poses, mu), atol=1e-12
    )


@pytest.mark.parametrize("placement", ["{ rpy = [0.4, 0.0, 0.0] }", "{ xyz = [0.05, 0.0, 0.1] }"])
@pytest.mark.parametrize("joint", ["joint1", "joint3"])
def test_a_placed_joint_is_computed_right_or_refused(joint: str, placement: str, tmp_path: Path) -> None:
    """A placement puts a joint elsewhere than the frame before it: on the first joint it says where the arm stands,
    further out the arm is no longer one of standard DH. Wrong torques are no answer."""
    text = (files("counterpoise.description.bundled") / "wam4.toml").read_text(encoding="utf-8")
    file = tmp_path / "placed.toml"
    text = text.replace(f'name = "{joint}"\n', f'name = "{joint}"\nplacement = {placement}\n')
    file.write_text(text, encoding="utf-8")
    robot = cp.load(file)
    poses = np.random.default_rng(6).uniform(-2.0, 2.0, (5, 4))
    assert np.abs(robot.forward_kinematics(poses[0]) - cp.load("wam4").forward_kinematics(poses[0])).max() > 0.01
    try:
        mu = robot.first_moments
    except ModelError:
        assert joint != "joint1"
        return
    agree(robot.gravity_from_first_moments(poses, mu), robot.gravity(poses), "gravity from μ", oracle="identity")


# --- Barrett's calibrated vectors -----------------------------------------------------------------------------------


def compared(name: str, poses: Array) -> tuple[float, float, float]:
    """Joint 2: ratio of shipped to CAD torque (least squares), rms difference and rms of the CAD torque [N m]."""
    robot = cp.load(name).mounted(gravity=BARRETT_GRAVITY)
    cad = robot.gravity(poses)[:, 1]
    shipped = robot.gravity_from_first_moments(poses, SHIPPED[name])[:, 1]
    rms = np.sqrt(np.mean((shipped - cad) ** 2)), np.sqrt(np.mean(cad**2))
    return float(shipped @ cad / (cad @ cad)), float(rms[0]), float(rms[1])


def test_shipped_vectors_agree_with_cad_on_the_wam4() -> None:
    """Barrett measured; we add up CAD masses: joint 2 agrees to 0.04 % at their poses, 0.4 N m rms of 10 anywhere.

    The entries of the two sets of μ look nothing alike, so this also checks the sign and frames of the recursion with
    numbers that did not come from our own model.
    """
    ratio, _, _ = compared("wam4", WAM4_POSES)
    assert ratio == pytest.approx(1.0004, abs=1e-4)
    ratio, difference, size = compared("wam4", np.random.default_rng(0).uniform(-2.0, 2.0, (4000, 4)))
    assert ratio == pytest.approx(1.0004, abs=5e-3)
    assert difference == pytest.approx(0.39, abs=0.04)
    assert size == pytest.approx(10.3, abs=0.5)
    assert np.abs(np.array(SHIPPED["wam4"]) - cp.load("wam4").first_moments).max() > 1.0


def test_shipped_vectors_agree_with_cad_on_the_wam7() -> None:
    """The bigger arm differs more: joint 2 by 4 %, 1.03 N m rms of 19.2."""
    ratio, difference, size = compared("wam7", np.random.default_rng(0).uniform(-2.0, 2.0, (4000, 7)))
    assert ratio == pytest.approx(0.957, abs=5e-3)
    assert difference == pytest.approx(1.03, abs=0.06)
    assert size == pytest.approx(19.2, abs=0.6)


def test_the_embedded_vectors_are_barretts(shared: Callable[[str], Path]) -> None:
    """Number by number from the shared facts."""
    text = shared("facts/wam.yaml").read_text()
    for name, key in (("wam4", "wam4"), ("wam7", "wam7w")):
        arm = text[text.index(f"\n{key}:") :]
        block = arm[arm.index("\n  mus:") :].split("joint_position_control")[0]
        numbers = [float(number) for number in re.findall(r"- (-?\d\S*)", block)]
        np.testing.assert_array_equal(np.array(SHIPPED[name]).ravel(), numbers)


# --- refusals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("dualarm19", "branched"),
        ("scara", "with linear joints"),
        ("gantry", "with linear joints"),
        ("slider", "with linear joints"),
        ("puma560_akb", "dh-modified"),
    ],
)
def test_arms_outside_the_document_are_refused(name: str, reason: str) -> None:
    """Branched, linear and modified-DH arms have no μ in the document's frames; the error says which it is."""
    robot = cp.load(name)
    with pytest.raises(ModelError, match=f"first moments.*{reason}"):
        _ = robot.first_moments
    with pytest.raises(ModelError, match=f"first moments.*{reason}"):
        robot.gravity_from_first_moments(np.zeros(robot.n), np.zeros((robot.n, 3)))


def test_a_tree_that_is_no_dh_table_is_refused() -> None:
    """A URDF's frames sit at the joints, not at the far ends."""
    joint = Joint("joint", JointKind.REVOLUTE, "base", "link")
    with pytest.raises(ModelError, match="described as 'tree'"):
        _ = cp.Robot(checked(name="urdf", links=[Link("base"), Link("link")], joints=[joint])).first_moments


@pytest.mark.parametrize("mu", [np.zeros((3, 3)), np.zeros((5, 3)), np.zeros(3), np.zeros((4, 2))])
def test_moments_of_the_wrong_shape_are_refused(mu: Array) -> None:
    with pytest.raises(InputError, match="mu"):
        cp.load("wam4").gravity_from_first_moments(np.zeros(4), mu)
