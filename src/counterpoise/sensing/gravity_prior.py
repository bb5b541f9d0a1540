"""What the recursive estimator believes before it has learned anything.

The unknowns are the base gravity parameters β, then a constant torque per joint ("offset": a zero error of the torque
measurement, a cable's pull), then the dry friction per joint that helps to hold it on the side it came from. β starts
from one of

- the description's masses, with the errors that real arms have (fitting/prior.py),
- a calibration, with its own covariance,
- nothing: zero, with room for any weight that the drives can hold. This is [Jo]'s ŝ₀ = 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from ..dynamics import Robot, refuse_command_units
from ..errors import InputError
from ..fitting import Gaussian, parameter_covariance
from ..foundation import Array, frozen
from ..identification import Fit, workspace_poses

OFFSET_SHARE = 0.005
"""Standard deviation of an offset, as a share of the joint's effort limit: a good zero of a torque measurement."""
FRICTION_SHARE = 0.03
"""Rms of a friction torque, as a share of the joint's effort limit: gears lose some per cent ..."""
FRICTION_MEAN = math.sqrt(2.0 / math.pi)
"""... and its mean, as a share of that: friction is never negative. A half-normal distribution's, as the rest is."""
LOAD_SHARE = 0.3
"""Standard deviation of what a joint of unknown load carries, as a share of its effort limit: drives have reserves."""
LEAST_SHARE = 1e-6
"""Least variance of an unknown, as a share of its variance by the description: keeps the factor well conditioned."""
SCALE_POSES = 64
"""Poses by which a joint without an effort limit is sized."""

PriorChoice = Literal["cad", "none"] | Fit | Gaussian


@dataclass(frozen=True, slots=True, eq=False)
class States:
    """The p unknowns of the recursive estimator.

    Attributes:
        names: Their names, e.g. "elbow.mx", "elbow.offset", "elbow.friction".
        base: Number of base gravity parameters; they come first.
        offset_at: Where the n offsets begin; −1 where none are estimated.
        friction_at: Where the n friction torques begin, the last ones; −1 where none are estimated.
        mean: Values before any data, shape (p,).
        covariance: Their covariance, positive definite, shape (p, p).
        effort: What each joint's torques are measured by [N m or N], shape (n,): its effort limit.
        prior: Where β starts from, in words.
    """

    names: tuple[str, ...]
    base: int
    offset_at: int
    friction_at: int
    mean: Array
    covariance: Array
    effort: Array
    prior: str


def states_of(robot: Robot, prior: PriorChoice, *, offset: bool, friction: bool) -> States:
    """Return the unknowns and what is known of them beforehand.

    Args:
        robot: The arm.
        prior: "cad", "none", a calibration, or a Gaussian over the base gravity parameters.
        offset: Estimate a constant torque per joint.
        friction: Estimate dry friction per joint.

    Raises:
        InputError: The prior does not fit the robot, or is a calibration in command units.
    """
    names = robot.base_parameters.names
    b, n = len(names), robot.n
    effort = effort_scale(robot)
    refuse_command_units(robot)
    beta, spread, words = _beta(robot, prior, effort)
    wanted = {"offset": offset, "friction": friction}
    parts = [part for part, is_wanted in wanted.items() if is_wanted]
    begin = {part: b + n * place for place, part in enumerate(parts)}
    p = b + n * len(parts)
    mean, covariance = np.zeros(p), np.zeros((p, p))
    mean[:b], covariance[:b, :b] = beta, spread
    rms = {"offset": OFFSET_SHARE * effort, "friction": FRICTION_SHARE * effort}
    for part in parts:
        at = begin[part] + np.arange(n)
        mean[at] = FRICTION_MEAN * rms[part] if part == "friction" else 0.0
        covariance[at, at] = rms[part] ** 2 - mean[at] ** 2
        if isinstance(prior, Fit):
            _take_from_fit(prior, robot, part, at, mean, covariance)
    every = names + tuple(f"{joint}.{part}" for part in parts for joint in robot.joint_names)
    places = (begin.get("offset", -1), begin.get("friction", -1))
    return States(every, b, *places, frozen(mean), frozen(covariance), frozen(effort), words)


def effort_scale(robot: Robot) -> Array:
    """Return the effort limits [N m or N], shape (n,); where none is known, the largest holding torque as described."""
    limit = np.asarray(robot.effort_limit)
    held = np.abs(robot.gravity(workspace_poses(robot, SCALE_POSES))).max(axis=0)
    known = np.isfinite(limit) & (limit > 0.0)
    least = 0.01 * float(held.max(initial=0.0))
    usual = np.maximum(held, least if least > 0.0 else 1.0)
    return np.where(known, limit, usual)


def _beta(robot: Robot, prior: PriorChoice, effort: Array) -> tuple[Array, Array, str]:
    names = robot.base_parameters.names
    if isinstance(prior, Gaussian):
        if prior.root.shape != (len(names), len(names)):
            raise InputError(f"the prior is over {prior.root.shape[1]} numbers; expected {len(names)}: {names}")
        try:
            inverse = np.linalg.inv(prior.root)
        except np.linalg.LinAlgError as error:
            raise InputError("the prior leaves a base parameter open; give each one a standard deviation") from error
        return np.array(prior.mean), inverse @ inverse.T, "a given prior"
    if isinstance(prior, Fit):
        return _fitted_beta(robot, prior)
    if prior == "cad":
        return np.array(robot.base_gravity_parameters), described_covariance(robot), f"CAD values of {robot.name}"
    if prior != "none":
        raise InputError(f"prior is {prior!r}; expected 'cad', 'none', a calibration (Fit) or a Gaussian")
    # A base parameter is the first moment of all that a joint carries (the mass, for a linear one).
    strength = float(np.linalg.norm(robot.gravity_base)) or 1.0
    joints = robot.tree.q_index[np.array(robot.base_parameters.columns, dtype=np.int64) // 4]
    return np.zeros(len(names)), np.diag((LOAD_SHARE * effort[joints] / strength) ** 2), "nothing"


def described_covariance(robot: Robot) -> Array:
    """Return the covariance of the base gravity parameters about the description's values, shape (b, b)."""
    G = robot.base_parameters.regrouping
    return np.asarray(G @ parameter_covariance(robot) @ G.T)


def _fitted_beta(robot: Robot, fit: Fit) -> tuple[Array, Array, str]:
    if fit.robot.joint_names != robot.joint_names or fit.robot.base_parameters.names != robot.base_parameters.names:
        raise InputError(
            f"the calibration is of '{fit.robot.name}' with {len(fit.robot.base_parameters.names)} base parameters; "
            f"'{robot.name}' as mounted has {len(robot.base_parameters.names)}. Use the robot that was calibrated"
        )
    refuse_command_units(fit.robot)
    names = robot.base_parameters.names
    spread = described_covariance(robot)
    told = {each.name: at for at, each in enumerate(fit.parameters) if np.isfinite(each.std)}
    mine = [place for place, name in enumerate(names) if name in told]
    theirs = [told[names[place]] for place in mine]
    least = LEAST_SHARE * np.diag(spread)
    open_ones = np.setdiff1d(np.arange(len(names)), mine)
    covariance = np.zeros_like(spread)
    covariance[np.ix_(open_ones, open_ones)] = spread[np.ix_(open_ones, open_ones)]
    covariance[np.ix_(mine, mine)] = np.asarray(fit.covariance)[np.ix_(theirs, theirs)]
    covariance[np.diag_indices(len(names))] += least
    return (
        np.array(fit.robot.base_gravity_parameters),
        covariance,
        f"the calibration of {fit.created or fit.robot.name}",
    )


def _take_from_fit(
    fit: Fit, robot: Robot, part: str, at: npt.NDArray[np.int64], mean: Array, covariance: Array
) -> None:
    """Start offsets or friction from what the calibration found."""
    called = {"offset": "offset", "friction": "coulomb"}[part]
    found = {each.name: each for each in fit.parameters if np.isfinite(each.std)}
    for joint, place in zip(robot.joint_names, at.tolist(), strict=True):
        each = found.get(f"{joint}.{called}")
        if each is not None:
            mean[place] = max(each.value, 0.0) if part == "friction" else each.value
            covariance[place, place] = each.std**2 + LEAST_SHARE * covariance[place, place]
