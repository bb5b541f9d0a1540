"""The base sensor's forms, tare and refusals, and the standard deviations it states."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import counterpoise as cp
from counterpoise.description import checked
from counterpoise.errors import InputError
from counterpoise.foundation import transform
from counterpoise.sensing.plate.joint_analyzer import Term
from counterpoise.sensing.plate.tare import FACTORS, KINEMATIC_RANGE
from counterpoise.sensing.plate.variance import Uncertainty, assumed_gravity_covariance
from counterpoise.sensing.plate.wrench_frame import WrenchFrame
from library.random_robots import random_motion, random_pose, random_robot, random_sensor

PUMA = cp.load("puma560")
POSE = np.array([0.0, np.pi / 4, -np.pi, 0.0, np.pi / 4, 0.0])


def bare(robot: cp.Robot) -> cp.Robot:
    """The same arm without any mass."""
    import dataclasses

    links = [dataclasses.replace(link, inertia=None) for link in robot.description.links]
    return cp.Robot(checked(name="bare", links=links, joints=list(robot.description.joints)))


def off_by(robot: cp.Robot, share: float) -> cp.Robot:
    """The same arm with every mass and inertia off by a share."""
    import dataclasses

    links = [
        link
        if link.inertia is None
        else dataclasses.replace(
            link,
            inertia=dataclasses.replace(
                link.inertia, mass=link.inertia.mass * (1 + share), tensor_com=link.inertia.tensor_com * (1 + share)
            ),
        )
        for link in robot.description.links
    ]
    return cp.Robot(checked(name="off", links=links, joints=list(robot.description.joints)))


@pytest.mark.parametrize("seed", range(8))
def test_readings_go_to_the_base_and_back(seed) -> None:
    """Any pose, point, sign, gain and bias: reading and wrench are each other's inverse, and the moment is moved."""
    sensor = random_sensor(PUMA, np.random.default_rng(seed), "on_sensor" if seed % 2 else "on_robot")
    wrench = np.random.default_rng(seed).normal(size=(4, 6))
    assert sensor.frame.wrench(sensor.frame.reading(wrench)) == pytest.approx(wrench, abs=1e-10)
    ideal = WrenchFrame.checked(random_pose(np.random.default_rng(seed)), point=[0.1, 0.2, 0.3])
    force = np.array([1.0, 2.0, 3.0])
    at = ideal.T_base_point[:3, 3]
    through_point = np.concatenate([force, np.cross(at, force)])
    reading = ideal.reading(through_point)
    assert reading[3:] == pytest.approx(np.zeros(3), abs=1e-12)  # a force through the measurement point has no moment
    assert ideal.T_base_sensor[:3, :3] @ reading[:3] == pytest.approx(force, abs=1e-12)


def test_a_standing_robot_reads_its_weight() -> None:
    """Upright at rest: +m g for "on_robot", −m g for "on_sensor", and no joint torque beyond gravity in either."""
    for reads, sign in (("on_robot", 1.0), ("on_sensor", -1.0)):
        sensor = cp.BaseSensor(PUMA, reads=reads)
        reading = sensor.frame.reading(PUMA.base_wrench(POSE))
        assert reading[2] == pytest.approx(sign * PUMA.total_mass * 9.81)
        assert np.abs(sensor.joint_torques(POSE, reading)).max() <= 1e-10


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"reads": "robot"}, "on_sensor"),
        ({"T_base_sensor": np.eye(3)}, "T_base_sensor"),
        ({"T_base_sensor": np.diag([1.0, 1.0, -1.0, 1.0])}, "right-handed"),
        ({"T_base_sensor": np.diag([2.0, 1.0, 1.0, 1.0])}, "pose"),
        ({"T_base_sensor": transform(np.eye(3), [np.nan, 0, 0])}, "is nan; expected a number"),
        ({"gain": np.zeros((6, 6))}, "condition"),
        ({"gain": np.eye(3)}, "gain"),
        ({"bias": [1.0]}, "bias"),
        ({"point": "x"}, "point"),
        ({"range": [1.0, 2.0]}, "range"),
        ({"range": [-1.0] * 6}, "range"),
    ],
)
def test_plates_that_cannot_be_are_refused(arguments, word) -> None:
    """Poses that are none, gains that cannot be undone, unknown sign conventions."""
    with pytest.raises(cp.InputError, match=word):
        cp.BaseSensor(PUMA, **arguments)


def test_a_robot_is_needed() -> None:
    """Anything else is refused with what was expected."""
    with pytest.raises(cp.InputError, match="expected a counterpoise Robot"):
        cp.BaseSensor("puma560")


def test_the_plate_s_one_line_says_whether_it_is_tared() -> None:
    """Which robot, which sign, tared or not."""
    sensor = cp.BaseSensor(PUMA)
    assert repr(sensor) == f"<BaseSensor under 'puma560', reads {sensor.frame.reads}, untared>"
    sensor.tare(POSE, PUMA.base_wrench(POSE))
    assert repr(sensor).endswith(", tared>")


def test_auto_picks_what_is_there() -> None:
    """Masses and tare: the difference; masses only: full; tare only: kinematics; nothing: an error that says so."""
    reading = PUMA.base_wrench(POSE)
    sensor = cp.BaseSensor(PUMA)
    assert sensor.forms() == ("full",)
    sensor.tare(POSE, reading)
    assert sensor.forms() == ("tared+model", "full", "tared")
    sensor.untare()
    assert sensor.resolved_form("auto") == "full"
    unknown = cp.BaseSensor(bare(PUMA))
    with pytest.raises(cp.InputError, match="a tare or masses"):
        unknown.joint_torques(POSE, reading)
    unknown.tare(POSE, reading)
    assert unknown.forms() == ("tared",)
    assert np.abs(unknown.joint_torques(POSE, reading)).max() <= 1e-12


def test_forms_that_are_not_ready_say_why() -> None:
    """A missing gravity model, a missing tare and an unknown form are three different errors."""
    reading = PUMA.base_wrench(POSE)
    for form in ("tared", "tared+model"):
        with pytest.raises(cp.InputError, match=f"form '{form.replace('+', '.')}' needs a tare"):
            cp.BaseSensor(PUMA).joint_torques(POSE, reading, form=form)
    unknown = cp.BaseSensor(bare(PUMA))
    for form in ("full", "tared+model"):
        with pytest.raises(cp.ModelError, match="needs a gravity model"):
            unknown.joint_torques(POSE, reading, form=form)
    for form in ("Full", "", 3):
        with pytest.raises(cp.InputError, match="expected 'auto', 'full', 'tared' or 'tared"):
            cp.BaseSensor(PUMA).joint_torques(POSE, reading, form=form)


def test_tared_is_kinematics_only() -> None:
    """Eq. (23) is A(q) (w − w_static), whatever the masses and however the robot moves."""
    q, dq, ddq = (rows[0] for rows in random_motion(PUMA, 3, 1))
    w_static, w = np.random.default_rng(1).normal(size=(2, 6))
    for robot in (PUMA, bare(PUMA)):
        sensor = cp.BaseSensor(robot)
        sensor.tare(POSE, w_static)
        expected = sensor.matrix(q) @ (w - w_static)
        assert sensor.joint_torques(q, w, form="tared") == pytest.approx(expected, abs=1e-12)
        assert sensor.joint_torques(q, w, dq, ddq, form="tared") == pytest.approx(expected, abs=1e-12)


def test_tared_with_the_model_forgives_a_wrong_model() -> None:
    """Masses 5 % off: near the tare the difference form is 20 × better than eq. (23), the full form worse than both."""
    model = off_by(PUMA, 0.05)
    sensor = cp.BaseSensor(model, bias=np.zeros(6))
    sensor.tare(POSE, PUMA.base_wrench(POSE))
    q = POSE + np.deg2rad(1.0) * np.random.default_rng(0).uniform(-1, 1, (400, 6))
    readings = PUMA.base_wrench(q)
    rms = {form: np.sqrt(np.mean(sensor.joint_torques(q, readings, form=form)[:, 2] ** 2)) for form in sensor.forms()}
    assert rms["tared"] / rms["tared+model"] == pytest.approx(20.0, rel=0.05)
    assert rms["full"] > 3.0 * rms["tared"]


def test_a_constant_bias_is_tared_away() -> None:
    """An unknown bias spoils the full form; the tared ones do not feel it."""
    bias = np.array([4.0, -3.0, 8.0, 0.8, -0.6, 0.3])
    q, dq, ddq = (rows[0] for rows in random_motion(PUMA, 5, 1))
    sensor = cp.BaseSensor(PUMA)
    sensor.tare(POSE, PUMA.base_wrench(POSE) + bias)
    reading = PUMA.base_wrench(q, dq, ddq) + bias
    truth = PUMA.inverse_dynamics(q, dq, ddq) - PUMA.gravity(q)
    assert np.abs(sensor.joint_torques(q, reading, dq, ddq) - truth).max() <= 1e-10
    assert np.abs(sensor.joint_torques(q, reading, dq, ddq, form="full") - truth).max() > 0.5
    known = cp.BaseSensor(PUMA, bias=bias)
    assert np.abs(known.joint_torques(q, reading, dq, ddq, form="full") - truth).max() <= 1e-10


def test_a_tare_averages_and_states_its_range() -> None:
    """Several readings of one pose are averaged; a robot that moved meanwhile is refused; ranges are stated."""
    rng = np.random.default_rng(2)
    readings = PUMA.base_wrench(POSE) + 0.1 * rng.normal(size=(400, 6))
    sensor = cp.BaseSensor(PUMA)
    tare = sensor.tare(np.tile(POSE, (400, 1)), readings)
    assert tare.reading == pytest.approx(PUMA.base_wrench(POSE), abs=0.03)
    assert np.sqrt(tare.reading_variance) == pytest.approx(np.full(6, 0.1 / 20.0), rel=0.2)
    assert tare.range == pytest.approx(np.full(6, np.deg2rad(1.0)))
    assert np.all(tare.model_range >= 5.0 * tare.range)
    assert not tare.left(POSE + tare.range, model=False) and tare.left(POSE + 1.01 * tare.range, model=False)
    assert not tare.left(POSE + 1.01 * tare.range, model=True)
    moved = np.tile(POSE, (400, 1))
    moved[200:, 2] += 0.01
    with pytest.raises(cp.InputError, match="'joint3' moved"):
        sensor.tare(moved, readings)
    with pytest.raises(cp.InputError, match="one pose for each reading"):
        sensor.tare(np.tile(POSE, (3, 1)), readings)
    with pytest.raises(cp.InputError, match="wrench has shape"):
        sensor.tare(POSE, np.zeros(5))
    with pytest.raises(cp.InputError, match="wrench\\['fz'\\] is nan"):
        sensor.tare(POSE, [0, 0, np.nan, 0, 0, 0])
    assert sensor.tare(POSE, readings, range=0.3).model_range == pytest.approx(np.full(6, 0.3))
    for wrong in (-1.0, 0.0):
        with pytest.raises(cp.InputError, match="range of a tare"):
            sensor.tare(POSE, readings, range=wrong)


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_a_plate_s_noise_is_no_reason_for_a_shorter_range(share: float) -> None:
    """The reading is as noisy at the tare as far from it: the range of the model form is that of its gravity error."""
    gravity, reading = assumed_gravity_covariance(PUMA, share), PUMA.base_wrench(POSE)
    silent, noisy = (
        cp.BaseSensor(PUMA, uncertainty=Uncertainty.checked(PUMA, noise=noise, gravity=gravity)).tare(POSE, reading)
        for noise in (np.zeros(6), np.full(6, 0.1))
    )
    assert np.all(silent.model_range > 2.0 * silent.range)
    assert noisy.model_range == pytest.approx(silent.model_range)


def test_a_better_model_has_a_wider_range() -> None:
    """The range of the model form comes from the model's covariance."""
    reading = PUMA.base_wrench(POSE)
    ranges = []
    for factor in (3.0, 0.5, 0.05):
        covariance = assumed_gravity_covariance(PUMA, factor)
        sensor = cp.BaseSensor(PUMA, uncertainty=Uncertainty.checked(PUMA, gravity=covariance))
        ranges.append(float(sensor.tare(POSE, reading).model_range[0]))
    assert ranges[0] < ranges[1] < ranges[2]
    assert ranges[0] >= KINEMATIC_RANGE


@pytest.mark.parametrize(("share", "multiple"), [(0.0, FACTORS[-1]), (100.0, 1.0)])
def test_the_model_s_range_lies_between_that_without_a_model_and_half_a_turn(share: float, multiple: float) -> None:
    """A model that is exact may be used anywhere; one that says nothing does no better than none."""
    sensor = cp.BaseSensor(
        PUMA, uncertainty=Uncertainty.checked(PUMA, gravity=share**2 * assumed_gravity_covariance(PUMA, 1.0))
    )
    tare = sensor.tare(POSE, PUMA.base_wrench(POSE))
    assert tare.model_range == pytest.approx(multiple * tare.range)
    assert FACTORS[-1] * KINEMATIC_RANGE == pytest.approx(np.pi)


def test_ranges_that_are_tried_lie_close_together() -> None:
    """Each is wider than the one before, by half at most: the one that is found is not much shorter than it may be."""
    ratios = np.array(FACTORS[1:]) / np.array(FACTORS[:-1])
    assert np.all((ratios > 1.0) & (ratios <= 1.5 + 1e-9)) and FACTORS[0] == 1.0


def test_a_subset_of_terms_in_the_sensor() -> None:
    """The sensor passes its choice of terms on to the analyzer."""
    q, dq, ddq = random_motion(PUMA, 8, 4)
    reading = PUMA.base_wrench(q, dq, ddq)
    moment = cp.BaseSensor(PUMA, terms=Term.WRENCH)
    expected = np.einsum("kij,kj->ki", moment.matrix(q), reading - PUMA.base_wrench(q))
    assert moment.joint_torques(q, reading, dq, ddq) == pytest.approx(expected, abs=1e-9)
    assert np.abs(cp.BaseSensor(PUMA).joint_torques(q, reading, dq, ddq) - expected).max() > 0.1


@pytest.mark.parametrize("form", ["full", "tared+model", "tared"])
@pytest.mark.parametrize("includes_gravity", [False, True])
def test_standard_deviations_are_those_of_drawn_errors(form, includes_gravity) -> None:
    """Noise, masses and accelerations drawn at random scatter the torques as much as the sensor says."""
    rng = np.random.default_rng(7)
    draws = 3000
    noise = np.array([0.2, 0.3, 0.5, 0.05, 0.04, 0.02])
    factor = np.linalg.cholesky(assumed_gravity_covariance(PUMA, 0.5) + 1e-12 * np.eye(28))
    acceleration = np.full(6, 0.3)
    known = Uncertainty.checked(
        PUMA, noise=noise, zero=np.zeros(6), gravity=factor @ factor.T, acceleration=acceleration
    )
    sensor = cp.BaseSensor(
        PUMA, random_pose(rng), "on_sensor", gain=np.eye(6) + 0.02 * rng.normal(size=(6, 6)), uncertainty=known
    )
    q_tare, q = POSE, POSE + 0.2 * rng.normal(size=6)
    ddq = rng.normal(size=6)
    moves = form != "tared"
    static = sensor.frame.reading(PUMA.base_wrench(q_tare))
    reading = sensor.frame.reading(PUMA.base_wrench(q, None, ddq if moves else None))
    sensor.tare(q_tare, static)

    # Draw what the sensor is given; the model stays, so an error of the masses appears in the readings.
    errors = np.zeros((draws, 70))
    errors.reshape(draws, 7, 10)[:, :, :4] = (rng.normal(size=(draws, 28)) @ factor.T).reshape(draws, 7, 4)
    extra = errors @ PUMA.base_wrench_regressor(q).T
    extra_static = errors @ PUMA.base_wrench_regressor(q_tare).T
    seen = reading + (extra @ sensor.frame.from_base.T) * moves + noise * rng.normal(size=(draws, 6))
    seen_static = static + (extra_static @ sensor.frame.from_base.T) * moves + noise * rng.normal(size=(draws, 6))
    given = ddq + acceleration * rng.normal(size=(draws, 6))
    values = np.empty((draws, 6))
    for row in range(draws):
        if form != "full":
            sensor.tare_state = None
            sensor.tare(q_tare, seen_static[row], range=1.0)
        values[row] = sensor.joint_torques(q, seen[row], None, given[row] if moves else None, form)
    if includes_gravity:  # the truth has the drawn masses: what is missing of its gravity torque is an error too
        values += PUMA.gravity(q) - (
            PUMA.gravity(q)
            + errors[:, 10:].reshape(draws, 6, 10)[:, :, :4].reshape(draws, 24) @ PUMA.gravity_regressor(q).T
        )
    stated = sensor.std(q, form, acceleration=acceleration if moves else None, includes_gravity=includes_gravity)
    assert values.std(axis=0) == pytest.approx(stated, rel=0.08)


def test_drift_and_zero_count_where_they_should() -> None:
    """An unknown zero is the full form's; the tared ones have the drift since the tare instead."""
    known = Uncertainty.checked(PUMA, noise=0.01, zero=1.0, walk=0.1, gravity=np.zeros((28, 28)))
    sensor = cp.BaseSensor(PUMA, uncertainty=known)
    sensor.tare(POSE, PUMA.base_wrench(POSE), time=0.0)
    full, tared = sensor.std(POSE, "full"), sensor.std(POSE, "tared+model")
    assert np.all(full[:3] > 10.0 * tared[:3])
    later = sensor.std_of(POSE, "tared+model", None, 100.0, False)
    assert np.all(later[:3] > 10.0 * tared[:3])


@pytest.mark.parametrize(
    "bad", [{"noise": [1.0]}, {"noise": -1.0}, {"gravity": np.eye(3)}, {"gravity": np.triu(np.ones((28, 28)))}]
)
def test_uncertainties_that_cannot_be_are_refused(bad) -> None:
    """Wrong shapes, negative deviations, a covariance that is not symmetric."""
    with pytest.raises(cp.InputError):
        Uncertainty.checked(PUMA, **bad)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("reads", ["on_robot", "on_sensor"])
def test_a_sensor_for_another_payload_is_tared_as_if_it_had_been_there(seed: int, reads: str) -> None:
    """On trees with linear joints, tilted: held at rest with its new load, every form feels nothing."""
    robot = random_robot(seed, joints=5, mimics=False, tilted=True).robot()
    rng = np.random.default_rng(seed)
    turn = Rotation.from_rotvec(rng.normal(size=3)).as_matrix()
    pose = transform(turn, rng.normal(size=3))
    sensor = cp.BaseSensor(robot, pose, reads, point=(0.0, 0.1, 0.02), bias=np.arange(6.0), gain=np.eye(6) + 0.01)
    q, moved = rng.uniform(-0.5, 0.5, (2, robot.n))
    sensor.tare(q, sensor.frame.reading(robot.base_wrench(q)))
    loaded = robot.with_payload(2.0, com=(0.1, 0.0, -0.2), link=robot.link_names[-1])
    other = sensor.with_robot(loaded)
    for form, at in (("full", moved), ("tared+model", moved), ("tared", q)):
        reading = sensor.frame.reading(loaded.base_wrench(at))
        np.testing.assert_allclose(other.joint_torques(at, reading, form=form), 0.0, atol=1e-8)
        assert np.abs(sensor.joint_torques(at, reading, form=form)).max() > 1e-3
    back = other.with_robot(robot)
    np.testing.assert_allclose(back.tare_state.reading, sensor.tare_state.reading, atol=1e-9)  # type: ignore[union-attr]


def test_a_sensor_follows_its_own_arm_only() -> None:
    """Another arm, another mounting, or a table that holds for one payload is refused."""
    robot = cp.load("puma560")
    sensor = cp.BaseSensor(robot)
    for wrong in (cp.load("wam7"), robot.mounted(rpy=(0.1, 0.0, 0.0))):
        with pytest.raises(InputError, match="not the arm on this plate"):
            sensor.with_robot(wrong)
    sensor.use_table()
    with pytest.raises(InputError, match="table"):
        sensor.with_robot(robot.with_payload(1.0))
