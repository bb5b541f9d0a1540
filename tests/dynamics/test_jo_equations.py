"""The equations of [Jo], section II, with the paper's matrices R, p, p_c, D, δ and Ψ; and what is printed wrongly."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pytest

import counterpoise as cp
from counterpoise.dynamics.kinematics import ancestors, body_poses
from counterpoise.foundation import skew
from counterpoise.sensing import center_of_mass_jacobian
from library.random_robots import random_motion

Array = npt.NDArray[np.float64]
UP = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class Paper:
    """The paper's matrices for one pose of an upright robot whose masses all move; links count from 1 as printed.

    On a robot with several arms n_b trunk joints carry arms of n_a joints each.
    """

    robot: cp.Robot
    q: Array
    n_b: int
    n_a: int

    @cached_property
    def n(self) -> int:
        return self.robot.n

    @cached_property
    def frames(self) -> Array:
        return body_poses(self.robot.tree, self.q[None]).rotation[0]

    @cached_property
    def R(self) -> Array:
        return np.hstack([np.eye(3), *self.frames])

    @cached_property
    def p(self) -> Array:
        """Offset of frame i + 1 in the frame before it, block by block, and a last block of zeros."""
        return np.concatenate([*self.robot.tree.origin, np.zeros(3)])

    @cached_property
    def p_c(self) -> Array:
        tree = self.robot.tree
        return np.concatenate([np.zeros(3), *(tree.first_moment / tree.mass[:, None])])

    def D(self, i: int) -> Array:
        return np.diag(np.repeat(np.arange(self.n + 1) < i, 3).astype(float))

    def delta(self, i: int, j: int | None = None) -> Array:
        block = np.zeros((self.n + 1, self.n + 1))
        block[i - 1, (i if j is None else j) - 1] = 1.0
        return np.kron(block, np.eye(3))

    def k(self, m: int) -> int:
        return 0 if m == 0 else self.n_b + (m - 1) * self.n_a

    def part(self, link: int) -> int:
        """m of a link: 0 for the trunk, else the number of its arm."""
        return 0 if link <= self.n_b else 1 + (link - self.n_b - 1) // self.n_a

    def psi(self, link: int) -> Array:
        m = self.part(link)
        if m == 0:
            return self.D(link)
        first = 1 + self.k(m)
        return self.D(self.n_b) + self.delta(self.n_b + 1, first) + self.D(link) - self.D(first)

    def com(self, link: int) -> Array:
        return self.R @ (self.psi(link) @ self.p + self.delta(link + 1) @ self.p_c)

    def axis(self, joint: int) -> Array:
        return self.frames[joint - 1][:, 2]

    def column(self, link: int, joint: int) -> Array:
        """[z_j]× R ((Ψ_i − Ψ_j) p + δ_{i+1} p_c), where the conditions let it count."""
        return skew(self.axis(joint)) @ self.moment(link, joint)

    def moment(self, link: int, joint: int) -> Array:
        return self.R @ ((self.psi(link) - self.psi(joint)) @ self.p + self.delta(link + 1) @ self.p_c)


def serial(name: str, seed: int = 0) -> Paper:
    robot = cp.load(name)
    return Paper(robot, random_motion(robot, seed, 1)[0][0], robot.n, 0)


def upper_body(seed: int = 0) -> Paper:
    robot = cp.load("dualarm19")
    return Paper(robot, random_motion(robot, seed, 1)[0][0], 3, 8)


@pytest.fixture(params=["planar3", "wam7", "dualarm19"])
def paper(request: pytest.FixtureRequest) -> Paper:
    return upper_body() if request.param == "dualarm19" else serial(request.param)


def true_com(robot: cp.Robot, q: Array) -> Array:
    """Centres of mass of the moving bodies from our kinematics, shape (n, 3)."""
    tree = robot.tree
    poses = body_poses(tree, q[None])
    return poses.origin[0] + np.einsum("bij,bj->bi", poses.rotation[0], tree.first_moment / tree.mass[:, None])


def test_centres_of_mass(paper: Paper) -> None:
    """p_i^com = R (Ψ_i p + δ_{i+1} p_c), trunk and arms, and their weighted mean p_com."""
    centres = np.array([paper.com(link) for link in range(1, paper.n + 1)])
    np.testing.assert_allclose(centres, true_com(paper.robot, paper.q), atol=1e-12)
    tree = paper.robot.tree
    whole = (tree.mass @ centres + tree.base_first_moment) / paper.robot.total_mass
    np.testing.assert_allclose(whole, paper.robot.center_of_mass(paper.q), atol=1e-12)


def test_the_arms_chain_with_its_plus() -> None:
    """Trunk offsets, the arm's shoulder, a plus that is not printed, the arm's own offsets, and the link's centre."""
    paper = upper_body(1)
    centres = true_com(paper.robot, paper.q)
    blocks, frames = paper.p.reshape(-1, 3), [np.eye(3), *paper.frames]
    for m in (1, 2):
        k = paper.k(m)
        trunk = sum(frames[j] @ blocks[j] for j in range(paper.n_b))
        shoulder = frames[paper.n_b] @ blocks[k]
        for i in range(1, paper.n_a + 1):
            own = sum((frames[j + k] @ blocks[j + k] for j in range(1, i)), np.zeros(3))
            centre = frames[i + k] @ paper.p_c.reshape(-1, 3)[i + k]
            np.testing.assert_allclose(trunk + shoulder + own + centre, centres[i + k - 1], atol=1e-12)


def jacobian(paper: Paper, link: int, *, printed: bool) -> Array:
    """J of a link's centre: with the printed conditions, or with the joints that carry the link."""
    J = np.zeros((3, paper.n))
    m = paper.part(link)
    as_printed = set(range(1, paper.n_b + 1)) | (set(range(1 + paper.k(m), paper.k(m + 1) + 1)) if m else set())
    carriers = {joint + 1 for joint in ancestors(paper.robot.tree, link - 1)}
    for joint in as_printed if printed else carriers:
        J[:, joint - 1] = paper.column(link, joint)
    return J


def derivative(paper: Paper, link: int) -> Array:
    step = 1e-6 * np.eye(paper.n)
    columns = [
        (true_com(paper.robot, paper.q + h)[link - 1] - true_com(paper.robot, paper.q - h)[link - 1]) / 2e-6
        for h in step
    ]
    return np.array(columns).T


def test_jacobian_of_a_links_centre(paper: Paper) -> None:
    """Columns of the joints that carry the link, zeros elsewhere: 3 × (n − i) of them on a chain."""
    for link in range(1, paper.n + 1):
        np.testing.assert_allclose(jacobian(paper, link, printed=False), derivative(paper, link), atol=1e-8)


def test_the_printed_conditions_count_joints_beyond_the_link() -> None:
    """For link 2 of the trunk and link 3 of an arm they take every joint of that part."""
    paper = upper_body()
    for link in (2, paper.k(1) + 3):
        assert np.abs(jacobian(paper, link, printed=True) - derivative(paper, link)).max() > 0.01
    last = paper.k(2) + paper.n_a  # nothing lies beyond the last link of an arm
    np.testing.assert_allclose(jacobian(paper, last, printed=True), derivative(paper, last), atol=1e-8)


def test_equation_1_with_its_r(paper: Paper) -> None:
    """J_com = (1/M) Σ m_i [z_k]× R (…). As printed R is missing, and [z_k]× meets a vector of 3(n + 1) entries."""
    total = np.zeros((3, paper.n))
    for link in range(1, paper.n + 1):
        total += paper.robot.tree.mass[link - 1] * jacobian(paper, link, printed=False)
    np.testing.assert_allclose(
        total / paper.robot.total_mass, center_of_mass_jacobian(paper.robot, paper.q), atol=1e-12
    )


def test_lines_of_the_derivation_of_g(paper: Paper) -> None:
    """First and third line give the holding torque; the second, as printed, its negative."""
    gravity = paper.robot.gravity(paper.q)
    strength = -paper.robot.gravity_base[2]
    J = center_of_mass_jacobian(paper.robot, paper.q)
    np.testing.assert_allclose(paper.robot.total_mass * strength * J.T @ UP, gravity, atol=1e-9)
    second, third = np.zeros(paper.n), np.zeros(paper.n)
    for joint in range(1, paper.n + 1):
        for link in range(1, paper.n + 1):
            if joint - 1 in ancestors(paper.robot.tree, link - 1):
                moment = paper.robot.tree.mass[link - 1] * strength * paper.moment(link, joint)
                second[joint - 1] += moment @ skew(paper.axis(joint)) @ UP
                third[joint - 1] += UP @ skew(paper.axis(joint)) @ moment
    np.testing.assert_allclose(third, gravity, atol=1e-9)
    np.testing.assert_allclose(second, -gravity, atol=1e-9)


def test_blocks_of_s(paper: Paper) -> None:
    """Block k of s is Σ m_i ((Ψ_i − Ψ_k) p + δ_{i+1} p_c) over what joint k carries, and Z s is gravity."""
    tree = paper.robot.tree
    Z, s = paper.robot.jo_decomposition(paper.q)
    assert s.shape == (3 * paper.n * (paper.n + 1),)
    own = np.zeros((paper.n, 3 * (paper.n + 1)))
    for joint in range(1, paper.n + 1):
        for link in range(1, paper.n + 1):
            if joint - 1 in ancestors(tree, link - 1):
                inside = (paper.psi(link) - paper.psi(joint)) @ paper.p + paper.delta(link + 1) @ paper.p_c
                own[joint - 1] += tree.mass[link - 1] * inside
    # Our blocks are in the joint frames, the ones here in the bodies': they differ by a constant turn.
    turned = own.reshape(paper.n, paper.n + 1, 3).copy()
    turned[:, 1:] = np.einsum("bji,kbj->kbi", tree.joint_rotation, turned[:, 1:])
    np.testing.assert_allclose(s, turned.ravel(), atol=1e-12)
    rows = np.array([UP @ skew(paper.axis(joint)) @ paper.R for joint in range(1, paper.n + 1)])
    strength = -paper.robot.gravity_base[2]
    np.testing.assert_allclose(strength * np.sum(rows * own, axis=1), Z @ s, atol=1e-9)
