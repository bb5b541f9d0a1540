"""Masses from the plate: which numbers it reveals, how well, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.description import parse_urdf
from counterpoise.errors import InputError, ModelError
from counterpoise.fitting import CadPrior
from counterpoise.sensing.plate.base_parameters import plate_base, wrench_columns
from counterpoise.sensing.plate.parameters import plate_parameters
from library.made_plate_logs import PlateErrors, moving_log, plate, static_log
from library.simulated_motion import motion, other_masses

PUMA = cp.load("puma560")
WAM = cp.load("wam7")
MODEL = other_masses(PUMA, 1, mass=0.1, com=0.01)


def unseen(robot: cp.Robot) -> np.ndarray:
    return np.random.default_rng(9).uniform(np.maximum(robot.lower, -2.0), np.minimum(robot.upper, 2.0), (300, robot.n))


def moment_error(robot: cp.Robot, truth: cp.Robot) -> float:
    """Rms error of the gravity moment on the plate at unseen poses, constants aside [N m]."""
    missed = (robot.base_wrench(unseen(truth)) - truth.base_wrench(unseen(truth)))[:, 3:]
    return float(np.sqrt(np.mean(np.sum((missed - missed.mean(axis=0)) ** 2, axis=1))))


@pytest.mark.parametrize(("robot", "plate_count", "torque_count"), [(PUMA, 12, 10), (WAM, 14, 12)])
def test_the_plate_reveals_two_gravity_parameters_more(robot, plate_count, torque_count) -> None:
    """12 on a PUMA where joint torques show 10: both moments across the vertical first axis."""
    assert len(plate_base(robot, "gravity").names) == plate_count
    assert len(robot.base_parameters.names) == torque_count
    assert plate_base(robot, "gravity").names[0] == "link1.mx"


def test_the_plate_sees_the_same_on_any_mount() -> None:
    """On a slope joint torques show twelve, too; what lies along the first axis is a constant moment on the plate."""
    tilted = PUMA.mounted(rpy=(0.5, 0.3, 0.0))
    assert len(plate_base(tilted, "gravity").names) == len(tilted.base_parameters.names) == 12


@pytest.mark.parametrize("robot", [PUMA, WAM], ids=["puma560", "wam7"])
@pytest.mark.parametrize("kind", ["gravity", "inertial"])
def test_base_values_give_the_wrench(robot, kind) -> None:
    """W φ and the kept columns times G φ differ by a constant, for any parameters."""
    rng = np.random.default_rng(3)
    base = plate_base(robot, kind)
    q = rng.uniform(-2.0, 2.0, (40, robot.n))
    dq, ddq = (rng.standard_normal(q.shape) * (kind == "inertial") for _ in range(2))
    W = wrench_columns(robot, kind, q, dq, ddq)
    phi = rng.standard_normal(W.shape[2])
    missed = W @ phi - W[:, :, list(base.columns)] @ (base.regrouping @ phi)
    np.testing.assert_allclose(missed, np.broadcast_to(missed[0], missed.shape), atol=1e-8)


@pytest.mark.parametrize("robot", [PUMA, WAM], ids=["puma560", "wam7"])
def test_what_the_plate_cannot_see_no_joint_torque_feels(robot) -> None:
    """Changes of masses that leave the base wrench alone leave every joint torque alone."""
    rng = np.random.default_rng(4)
    base = plate_base(robot, "inertial")
    _, _, right = np.linalg.svd(base.regrouping)
    hidden = right[len(base.columns) :]
    q, dq, ddq = rng.uniform(-2.0, 2.0, (3, 30, robot.n))
    torques = robot.inertial_regressor(q, dq, ddq) @ hidden.T
    assert len(hidden) == 10 * robot.n - len(base.columns)
    np.testing.assert_allclose(torques, 0.0, atol=1e-7)


def test_a_weak_prior_leaves_more_open() -> None:
    """Weights below 1 count, too: masses, which the plate hardly distinguishes, are the less certain."""
    log = static_log(PUMA, 1)
    found = [plate_parameters(MODEL, log, plate(MODEL), prior=CadPrior(prior_weight)) for prior_weight in (0.01, 1.0)]
    weak, usual = (np.diag(one.parameter_covariance)[::10].sum() for one in found)
    assert weak > 10.0 * usual


def test_gravity_from_poses_at_rest() -> None:
    """18 poses, masses off by 10 %: the moment at unseen poses is right within 0.05 N m, errors within their bands."""
    found = plate_parameters(MODEL, static_log(PUMA, 1), plate(MODEL))
    truth = plate_base(PUMA, "gravity").regrouping @ PUMA.gravity_parameters
    assert found.data == "static" and found.samples == 18 and len(found.names) == 12
    assert len(found.identifiable.determined) == 12
    assert moment_error(found.robot(), PUMA) < 0.05 < 0.5 < moment_error(MODEL, PUMA)
    assert np.sqrt(np.mean(((found.values - truth) / found.std) ** 2)) < 2.0
    assert np.all(found.heldout_rms < 3.0 * np.array([0.2, 0.2, 0.4, 0.04, 0.04, 0.02]))


@pytest.mark.parametrize("prior", [True, False], ids=["with prior", "plate alone"])
def test_gravity_from_a_motion(prior) -> None:
    """The same twelve numbers from a moving arm, with and without the description's word."""
    log = moving_log(PUMA, 2)
    given = {} if prior else {"prior": None}
    found = plate_parameters(MODEL, log, plate(MODEL), **given)
    truth = plate_base(PUMA, "gravity").regrouping @ PUMA.gravity_parameters
    assert found.data == "moving" and len(found.names) == 12
    assert moment_error(found.robot(), PUMA) < 0.05
    assert np.sqrt(np.mean(((found.values - truth) / found.std) ** 2)) < 2.0
    assert np.all(found.residual_rms < 0.5 * found.described_rms + 0.1)


def test_inertial_parameters_predict_an_unseen_path() -> None:
    """Torques and wrenches of another path: 5 % of what the described masses miss."""
    found = plate_parameters(MODEL, moving_log(PUMA, 3), plate(MODEL), kind="inertial")
    _, q, dq, ddq = motion(PUMA, 77)
    truth = PUMA.inverse_dynamics(q, dq, ddq)
    missed, before = (
        np.sqrt(np.mean((robot.inverse_dynamics(q, dq, ddq) - truth) ** 2, axis=0)) for robot in (found.robot(), MODEL)
    )
    assert len(found.names) == 40
    assert np.all(missed[:3] < 0.1 * before[:3])
    assert np.all(missed < 0.05)
    wrench = found.robot().base_wrench(q, dq, ddq) - PUMA.base_wrench(q, dq, ddq)
    assert np.all((wrench - wrench.mean(axis=0)).std(axis=0) < 0.1)


def test_lag_and_sag_are_found() -> None:
    """10 ms of lag, and a shoulder that sags by 2 mrad behind its encoder, do not go into the masses."""
    compliance = np.array([0.0, 5e-5, 1e-4, 0.0, 0.0, 0.0])
    log = moving_log(PUMA, 4, errors=PlateErrors(lag=0.01), compliance=compliance)
    found = plate_parameters(MODEL, log, plate(MODEL), kind="inertial")
    assert found.lag == pytest.approx(0.01, abs=5e-4)
    assert found.compliance[1] == pytest.approx(5e-5, abs=4.0 * found.compliance_std[1])
    assert found.compliance_std[1] < 2e-5
    assert moment_error(found.robot(), PUMA) < 0.08
    assert any("late" in sentence for sentence in found.sentences)


def test_the_sensor_of_a_fit_measures_torques() -> None:
    """With fitted masses and zero the full form gives the links' torques; with the described ones it is off by N m."""
    log = moving_log(PUMA, 5, errors=PlateErrors(noise=0.0, drift=np.zeros(6)))
    found = plate_parameters(MODEL, log, plate(MODEL), kind="inertial")
    fitted = found.sensor(plate(MODEL))
    _, q, dq, ddq = motion(PUMA, 5, 40.0)
    truth = PUMA.inverse_dynamics(q, dq, ddq)
    by_fit = fitted.joint_torques(q, log.wrench, dq, ddq, form="full") + found.robot().gravity(q)
    described = plate(MODEL).joint_torques(q, log.wrench, dq, ddq, form="full") + MODEL.gravity(q)
    assert np.abs(by_fit - truth).max() < 0.05
    assert np.abs(described - truth).max() > 1.0


def test_a_plate_of_the_other_sign() -> None:
    """reads="on_sensor" is the sensor's matter alone."""
    model = MODEL
    found = plate_parameters(model, moving_log(PUMA, 6, reads="on_sensor"), plate(model, "on_sensor"))
    assert moment_error(found.robot(), PUMA) < 0.05


def test_saturated_readings_are_left_out() -> None:
    """A second of full-scale readings changes nothing."""
    log = moving_log(PUMA, 2)
    spoiled = np.array(log.wrench)
    spoiled[1000:1100] = 5000.0
    sensor = cp.BaseSensor(MODEL, plate(MODEL).frame.T_base_sensor, range=np.full(6, 4000.0))
    found = plate_parameters(MODEL, replace(log, wrench=spoiled), sensor)
    assert moment_error(found.robot(), PUMA) < 0.05


def test_refusals() -> None:
    """Each unusable recording has its own words."""
    log = moving_log(PUMA, 1, seconds=10.0)
    with pytest.raises(InputError, match="no plate readings"):
        plate_parameters(MODEL, replace(log, wrench=None), plate(MODEL))
    with pytest.raises(InputError, match="no joint moves"):
        still = replace(log, q=np.tile(log.q[:1], (len(log), 1)), dq=np.zeros(log.q.shape))
        plate_parameters(MODEL, still, plate(MODEL), use="moving")
    with pytest.raises(InputError, match="expected at least 6"):
        plate_parameters(MODEL, log, plate(MODEL), use="static")
    with pytest.raises(InputError, match="can be used"):
        plate_parameters(MODEL, replace(log, wrench=np.full((len(log), 6), np.nan)), plate(MODEL))
    with pytest.raises(InputError, match="show no inertias"):
        plate_parameters(MODEL, log, plate(MODEL), kind="inertial", use="static")
    with pytest.raises(InputError, match="expected 'gravity' or 'inertial'"):
        plate_parameters(MODEL, log, plate(MODEL), kind="mass")
    with pytest.raises(InputError, match="expected those of robot"):
        plate_parameters(WAM, log, plate(WAM))
    bare = cp.Robot(
        replace(PUMA.description, links=tuple(replace(link, inertia=None) for link in PUMA.description.links))
    )
    with pytest.raises(ModelError, match="no masses"):
        plate_parameters(bare, log, plate(bare))


def test_every_joint_has_its_compliance() -> None:
    """One number and one standard deviation for each joint."""
    found = plate_parameters(PUMA, static_log(MODEL, 0), plate(PUMA))
    assert found.compliance.shape == found.compliance_std.shape == (PUMA.n,)
    assert np.all(found.compliance_std > 0.0)


@pytest.mark.parametrize("axis", ["1 0 0", "0 1 0", "0.6 0.8 0"])
def test_the_plate_sees_the_same_of_a_pendulum_in_any_direction(axis: str) -> None:
    """Which moment shows the weight depends on the direction of the axis; what is shown does not."""
    text = f"""<robot name="one"><link name="base"/><link name="arm"><inertial><origin xyz="0.1 0.2 0.3"/>
    <mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
    <joint name="swing" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="{axis}"/>
    <limit lower="-3" upper="3" effort="5" velocity="1"/></joint></robot>"""
    base = plate_base(cp.Robot(parse_urdf(text)), "gravity")
    assert len(base.names) == 2  # the first moment across the axis; mass and what lies along it are constant


def test_masses_from_the_plate_make_a_robot_even_where_the_description_is_no_body_s() -> None:
    """What is found may be no real body; the robot computes all the same."""
    link = PUMA.description.links[3]
    assert link.inertia is not None
    odd = replace(link, inertia=replace(link.inertia, tensor_com=np.diag([1e-4, 1e-4, 1.0]), as_published=False))
    links = tuple(odd if one is link else one for one in PUMA.description.links)
    refuses = cp.Robot(replace(PUMA.description, links=links))
    with pytest.raises(cp.errors.PhysicalConsistencyError):
        refuses.mass_matrix(np.zeros(6))
    found = plate_parameters(PUMA, moving_log(MODEL, 4), plate(PUMA))
    again = replace(found, described=refuses).robot()
    q = np.full(6, 0.3)
    assert again.mass_matrix(q) == pytest.approx(found.robot().mass_matrix(q), abs=1e-9)
