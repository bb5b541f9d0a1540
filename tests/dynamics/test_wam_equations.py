"""[Dellin2008], eqs. (1)–(14): the general equations of a link and, step by step, what is left of them at rest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest

import counterpoise as cp
from counterpoise.dynamics.kinematics import body_poses
from counterpoise.sensing import Term, link_wrenches
from library.random_robots import random_motion

Array = npt.NDArray[np.float64]
ARMS = ("wam4", "wam7", "puma560")


@dataclass(frozen=True)
class Links:
    """A pose in the document's words: everything in base axes, places as seen from DH frame j at link j's end.

    Attributes:
        r_m: Where joint j is, shape (n, 3).
        r_c: Where the centre of mass is, shape (n, 3).
        axis: Axis of joint j, shape (n, 3).
        turn: Base ← frame j, shape (n, 3, 3).
    """

    r_m: Array
    r_c: Array
    axis: Array
    turn: Array


def links_of(robot: cp.Robot, q: Array) -> Links:
    joints = [joint for joint in robot.description.joints if joint.kind.rotates]
    T = np.array([robot.forward_kinematics(q, at=joint.child) for joint in joints])
    poses = body_poses(robot.tree, q[None])
    com = robot.tree.first_moment / robot.tree.mass[:, None]
    centre = poses.origin[0] + np.einsum("bij,bj->bi", poses.rotation[0], com)
    return Links(poses.origin[0] - T[:, :3, 3], centre - T[:, :3, 3], poses.rotation[0][:, :, 2], T[:, :3, :3])


@pytest.mark.parametrize("name", ARMS)
def test_equations_1_and_2_give_the_torques_of_a_motion(name: str) -> None:
    """Solved from the tip inwards without outer forces, their component along each axis is the inverse dynamics."""
    robot = cp.load(name)
    q, dq, ddq = (rows[0] for rows in random_motion(robot, 1, 1))
    at = links_of(robot, q)
    poses = body_poses(robot.tree, q[None])
    m_a, spin, _ = (rows[0] for rows in link_wrenches(robot.tree, poses, dq[None], ddq[None], Term.ALL))
    f_next, t_next, torques = np.zeros(3), np.zeros(3), np.zeros(robot.n)
    for j in reversed(range(robot.n)):
        f = m_a[j] + f_next - robot.tree.mass[j] * robot.gravity_base
        t = spin[j] + t_next - np.cross(f, at.r_c[j] - at.r_m[j]) + np.cross(f_next, at.r_c[j])
        torques[j], f_next, t_next = at.axis[j] @ t, f, t
    np.testing.assert_allclose(torques, robot.inverse_dynamics(q, dq, ddq), atol=1e-9)


@pytest.mark.parametrize("name", ARMS)
def test_at_rest_only_the_first_moments_are_left(name: str) -> None:
    """Eqs. (3)–(9): f_j = −M_j g; (4) then equals (10)–(14): τ_j − τ_{j+1} = g × μ_j with μ_j = m_j r_c − M_j r_m."""
    robot = cp.load(name).mounted(rpy=(0.3, -0.2, 0.1))
    q = random_motion(robot, 2, 1)[0][0]
    at, g, mass = links_of(robot, q), robot.gravity_base, robot.tree.mass
    carried = np.cumsum(mass[::-1])[::-1]
    f_next, t_next, torques = np.zeros(3), np.zeros(3), np.zeros(robot.n)
    for j in reversed(range(robot.n)):
        f = -mass[j] * g + f_next
        np.testing.assert_allclose(f, -carried[j] * g, atol=1e-12)
        step = -np.cross(f, at.r_c[j] - at.r_m[j]) + np.cross(f_next, at.r_c[j])
        mu = mass[j] * at.r_c[j] - carried[j] * at.r_m[j]
        np.testing.assert_allclose(step, np.cross(g, mu), atol=1e-12)
        np.testing.assert_allclose(at.turn[j].T @ mu, robot.first_moments[j], atol=1e-12)
        f_next, t_next = f, t_next + step
        torques[j] = at.axis[j] @ t_next
    np.testing.assert_allclose(torques, robot.gravity(q), atol=1e-10)
