"""From external joint torques to what touches the robot: the tip wrench with error bars, and which link is touched.

**Tip wrench.** τ_ext = Jᵀ w + e with e ~ N(0, diag std²). The wrench is estimated with a wide prior of FORCE_PRIOR and
MOMENT_PRIOR, so that a direction that the arm cannot feel at this pose has the prior's deviation instead of a number
that means nothing: conditioning and friction band are both in the covariance.

**Which link.** A contact on body k loads only the joints that carry it. Per body the evidence is that of
τ_ext ~ N(0, diag std² + J_kᵀ Σ_w J_k), J_k taken at the middle of the body; Σ_w is that of a push of unknown size in
any direction at any point of the body, averaged over PUSHES. "Nothing" competes with std alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..dynamics import BASE, Robot, as_rows, link_name
from ..foundation import Array, frozen
from .momentum_observer import ExternalTorque
from .payload_statistics import Places

FORCE_PRIOR, MOMENT_PRIOR = 200.0, 50.0
"""Deviation of each component of a tip wrench before anything is measured [N, N m]."""
TOLD_SHARE = 0.5
"""A component counts as identifiable where its deviation is below this share of the prior's."""
PUSHES = (3.0, 10.0, 30.0, 100.0)
"""Sizes of pushes that are thought of [N]."""
NOTHING = 0.5
"""Probability beforehand that nothing touches the robot."""
SET_PROBABILITY = 0.9
"""The set of links is the smallest one that holds the contact with this probability."""
LEAST_STD = 1e-6
"""Smallest deviation of a joint's torque [N m or N]: keeps an arm without friction from dividing by zero."""


@dataclass(frozen=True, slots=True, eq=False)
class FeltWrench:
    """The wrench that acts on a link.

    Attributes:
        link: The link, at whose origin the wrench is stated.
        wrench: Force and moment on the robot, base axes [N, N m], shape (6,).
        std: Standard deviations, shape (6,); those of the prior where the joints have no information.
        covariance: Shape (6, 6).
        identifiable: Which components the joint torques determine at this pose, shape (6,).
    """

    link: str
    wrench: Array
    std: Array
    covariance: Array
    identifiable: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class TouchedLink:
    """Which link is touched, as a set.

    Attributes:
        probability: That anything touches the robot.
        links: Probability of each link given that something does, most probable first.
        link_set: The smallest set of links that holds the contact with SET_PROBABILITY.
    """

    probability: float
    links: Mapping[str, float]
    link_set: tuple[str, ...]


def tip_wrench(robot: Robot, q: npt.ArrayLike, external: ExternalTorque, at: str | None = None) -> FeltWrench:
    """Return the wrench on a link that explains the external torques, all contact taken to be there.

    Args:
        robot: The arm.
        q: Positions [rad or m], shape (n,).
        external: The external torques.
        at: Link that is touched; may be left out unless the arm is branched.

    Raises:
        InputError: There is no such link, or a position is bad.
    """
    position = as_rows(q, "q", robot.joint_names)
    link = link_name(robot, at)
    J = robot.jacobian(position, at=link)
    root = 1.0 / np.maximum(external.std, LEAST_STD)
    prior = np.array([FORCE_PRIOR] * 3 + [MOMENT_PRIOR] * 3)
    # In units of the prior, by singular values: a direction that is hardly felt beside one that is felt sharply must
    # not drown in rounding.
    axes, sizes, rows = np.linalg.svd((J * root) * prior[:, None], full_matrices=True)
    felt = np.zeros(6)
    felt[: len(sizes)] = sizes
    gain = sizes / (1.0 + sizes**2)
    wrench = prior * (axes[:, : len(sizes)] @ (gain * (rows[: len(sizes)] @ (root * external.value))))
    covariance = (axes / (1.0 + felt**2)) @ axes.T * np.outer(prior, prior)
    std = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    return FeltWrench(link, frozen(wrench), frozen(std), frozen(covariance), np.asarray(std < TOLD_SHARE * prior))


def touched_link(places: Places, q: npt.ArrayLike, external: ExternalTorque) -> TouchedLink:
    """Return which link is touched, with probabilities.

    Args:
        places: The robot's bodies: :func:`.places_of`.
        q: Positions [rad or m], shape (n,).
        external: The external torques.
    """
    robot = places.robot
    position = as_rows(q, "q", robot.joint_names)
    own = np.diag(np.maximum(external.std, LEAST_STD) ** 2)
    tau = external.value
    nothing = _log_normal(tau, own)
    names, logs = [], []
    for place, body in enumerate(places.bodies):
        if body == BASE:
            continue
        link = places.links[place]
        J = robot.jacobian(position, at=link)
        T = robot.forward_kinematics(position, at=link)
        arm = T[:3, :3] @ places.com_in_link(place, places.centre[place])
        # At the body's middle: v_middle = v + ω × arm, so the rows of J for the middle are J_v − [arm]× J_ω.
        middle = np.vstack([J[:3] - np.cross(arm[None, :], J[3:].T).T, J[3:]])
        if not np.any(middle):
            continue
        lever = places.radius[place] / np.sqrt(5.0)
        shape = middle.T @ np.diag([1.0] * 3 + [2.0 * lever**2] * 3) @ middle / 3.0
        sizes = [_log_normal(tau, own + push**2 * shape) for push in PUSHES]
        names.append(link)
        logs.append(_log_mean(np.array(sizes)))
    found = np.array(logs)
    anything = _log_mean(found) + np.log(1.0 - NOTHING)
    probability = 1.0 / (1.0 + float(np.exp(np.clip(nothing + np.log(NOTHING) - anything, -700.0, 700.0))))
    share = np.exp(found - found.max())
    share /= share.sum()
    order = np.argsort(-share)
    inside = order[: int(np.searchsorted(np.cumsum(share[order]), SET_PROBABILITY)) + 1]
    return TouchedLink(
        probability,
        {names[at]: float(share[at]) for at in order.tolist()},
        tuple(names[at] for at in inside.tolist()),
    )


def _log_normal(value: Array, covariance: Array) -> float:
    solved = np.linalg.solve(covariance, value)
    return float(-0.5 * value @ solved - 0.5 * np.linalg.slogdet(covariance)[1])


def _log_mean(logs: Array) -> float:
    top = float(np.max(logs))
    return top + float(np.log(np.mean(np.exp(logs - top))))
