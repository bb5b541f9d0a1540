"""The plate's fit: its evidence the long way, its geometry, and its numbers within their uncertainty."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.doctor.plate_fit import (
    BIAS,
    CLASSES,
    LEVER,
    PAIRS,
    TARED,
    WIDER,
    PlateClass,
    PlateModel,
    fit_plate,
    turn,
)
from counterpoise.doctor.priors import parameter_spread
from counterpoise.foundation import rotation_from_rpy
from counterpoise.recording import Log, Motion
from library.analytic_log import PLATE_POSE, late, moving_log
from library.doctor_cases import wrong_model

ARM = cp.load("wam7")
MODEL = wrong_model(ARM)
LOG = moving_log(ARM, seed=5)
RIGHT = CLASSES[0]


def model_of(log: Log, pose: np.ndarray = PLATE_POSE, sign: float = 1.0, robot: cp.Robot = MODEL) -> PlateModel:
    return PlateModel(robot, Motion.on_grid(log), pose, sign)


def read_as(log: Log, kind: PlateClass, angles: np.ndarray) -> Log:
    """Return what a plate of a class, turned by angles, reads."""
    matrix = turn(kind, angles)
    force, moment = kind.force * log.wrench[:, :3] @ matrix.T, kind.moment * log.wrench[:, 3:] @ matrix.T
    return replace(log, wrench=np.concatenate([force, moment], axis=1))


@pytest.mark.parametrize("tared", [False, True])
def test_evidence_is_the_log_density_of_the_readings(tared: bool) -> None:
    """From the full covariance of all channels and points: model error, bias and noise."""
    model = model_of(LOG)
    model.use(np.array([2.0, 3.0, 4.0, 0.5, 0.6, 0.7]), tared=tared)
    q, dq, ddq = (
        values[model.rows] for values in (Motion.on_grid(LOG).q, Motion.on_grid(LOG).dq, Motion.on_grid(LOG).ddq)
    )
    regressor = MODEL.base_wrench_regressor(q, dq, ddq)
    shift = np.eye(6)
    x, y, z = PLATE_POSE[:3, 3]
    shift[3:, :3] = -np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    columns = (shift @ regressor[:, :, 10:] @ (WIDER * parameter_spread(MODEL))).reshape(6 * len(q), -1)
    weight = MODEL.total_mass * 9.81
    unit = weight * np.array([1.0, 1.0, 1.0, LEVER, LEVER, LEVER])
    bias = np.tile(np.diag((TARED if tared else BIAS) * unit), (len(q), 1))
    noise = np.tile(model.noise, len(q)) / np.sqrt(model.weight)
    covariance = columns @ columns.T + bias @ bias.T + np.diag(noise**2)
    values = {}
    for angle in (0.0, 0.3):
        residual = model.residual(RIGHT, np.array([angle, 0.0, 0.0]), 0.0)
        off = residual / np.sqrt(model.weight) * np.tile(model.noise, len(q))
        values[angle] = (model.evidence(residual), -0.5 * float(off @ np.linalg.solve(covariance, off)))
    ours, theirs = (values[0.0][index] - values[0.3][index] for index in (0, 1))
    assert ours == pytest.approx(theirs, rel=1e-6)


def test_prediction_is_the_base_wrench_seen_at_the_plate() -> None:
    """Virtual work: force and moment at the plate do the same work as those at the base, in any axes."""
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = rotation_from_rpy([0.3, -0.2, 1.1]), [0.1, -0.2, -0.4]
    model = model_of(LOG, pose, robot=ARM)
    smooth = Motion.on_grid(LOG)
    base = ARM.base_wrench(smooth.q[model.rows], smooth.dq[model.rows], smooth.ddq[model.rows])
    velocity, spin = np.array([0.2, -0.1, 0.4]), np.array([0.3, 0.5, -0.2])  # of the base, at its origin
    at_plate = pose[:3, :3].T @ (velocity + np.cross(spin, pose[:3, 3]))
    turned = pose[:3, :3].T @ spin
    power = model.predicted[:, :3] @ at_plate + model.predicted[:, 3:] @ turned
    np.testing.assert_allclose(power, base[:, :3] @ velocity + base[:, 3:] @ spin, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", CLASSES)
def test_turns_keep_lengths_and_mirrors_change_hands(kind: PlateClass) -> None:
    matrix = turn(kind, np.array([0.7, 0.1, -0.2]))
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(matrix) == pytest.approx(-1.0 if kind.mirrored else 1.0)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: f"{kind.force:+.0f}{kind.moment:+.0f}{kind.mirrored}")
def test_every_class_is_found_with_its_yaw(kind: PlateClass) -> None:
    angles = np.array([0.8, 0.0, 0.0])
    fit = fit_plate(model_of(read_as(LOG, kind, angles)))
    assert fit.kind == kind
    assert fit.yaw == pytest.approx(0.8, abs=max(0.01, 4.0 * fit.std[0]))
    assert fit.margin > 5.0 and fit.gain > 10.0


def test_a_good_plate_is_left_as_it_is() -> None:
    fit = fit_plate(model_of(LOG))
    assert fit.kind == RIGHT
    assert np.all(np.abs([fit.yaw, *fit.tilt, fit.lag]) < 4.0 * fit.std + 1e-3)
    assert fit.mismatch < 0.2


def test_yaw_tilt_and_lag_together_are_found_within_their_uncertainty() -> None:
    angles = np.array([-0.5, 0.08, -0.06])
    fit = fit_plate(model_of(late(read_as(LOG, RIGHT, angles), "wrench", 0.11)))
    found = np.array([fit.yaw, *fit.tilt, fit.lag])
    assert np.all(np.abs(found - [*angles, 0.11]) < 4.0 * fit.std + [5e-3, 5e-3, 5e-3, 5e-3])
    assert np.all(fit.std < [0.05, 0.05, 0.05, 0.02])


def test_mixing_leaves_out_what_a_displaced_origin_does() -> None:
    assert all(not (channel >= 3 > component) for channel, component in PAIRS)
    assert len(PAIRS) == 30 - 9


def test_first_lag_needs_no_axes() -> None:
    turned = read_as(LOG, CLASSES[5], np.array([2.0, 0.1, 0.0]))
    assert model_of(late(turned, "wrench", 0.3)).first_lag() == pytest.approx(0.3, abs=0.021)


def test_a_tare_changes_nothing_that_is_found() -> None:
    turned = read_as(LOG, CLASSES[1], np.array([0.4, 0.05, 0.0]))
    tared = replace(turned, wrench=turned.wrench - turned.wrench[:20].mean(axis=0))
    before, after = fit_plate(model_of(turned)), fit_plate(model_of(tared))
    assert before.kind == after.kind == CLASSES[1]
    assert abs(before.yaw - after.yaw) < 3.0 * (before.std[0] + after.std[0])
    assert np.all(np.abs(before.tilt - after.tilt) < 3.0 * (before.std[1:3] + after.std[1:3]))


def test_what_has_no_relation_to_the_model_is_a_mismatch() -> None:
    noise = np.random.default_rng(0).normal(size=LOG.wrench.shape)
    assert fit_plate(model_of(replace(LOG, wrench=noise))).mismatch > 0.7
