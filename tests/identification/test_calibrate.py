"""From a recording to a verdict: the whole way, and what is refused on it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.doctor import Consequence, Finding, LogFault
from counterpoise.fitting import CadPrior, StaticPoses, Terms, static_poses, unphysical_links
from counterpoise.identification import load_posterior, posterior_search
from counterpoise.identification.calibration import calibrate
from counterpoise.identification.fit import Fit
from counterpoise.identification.pose_design import design_poses
from counterpoise.recording import Declared
from library.calibration_data import motion, other_masses, visits


@cache
def designed(name: str, count: int) -> np.ndarray:
    """Poses of a catalog arm as it stands; several tests use the same."""
    return design_poses(cp.load(name), count)


def poses_of(robot: cp.Robot, truth: cp.Robot, count: int = 12, noise: float = 0.0, seed: int = 0) -> StaticPoses:
    upright = np.array_equal(robot.mount, np.eye(3))
    q = designed(robot.name, count) if upright else design_poses(robot, count)
    random = np.random.default_rng(seed)
    return static_poses(robot.joint_names, q, truth.gravity(q) + noise * random.standard_normal(q.shape))


def wrong_by(fit: Fit, truth: cp.Robot) -> float:
    q = np.random.default_rng(9).uniform(-1.2, 1.2, (60, truth.n))
    return float(np.abs(fit.robot.gravity(q) - truth.gravity(q)).max())


@pytest.mark.parametrize("method", ["weighted", "iterative", "coupled"])
@pytest.mark.parametrize("name", ["wam4", "wam7", "puma560", "dualarm19"])
def test_every_method_is_exact_without_noise(name: str, method: str) -> None:
    """Torques of the calibrated robot are the true arm's to 1e-7, and the fit is trusted."""
    robot = cp.load(name)
    truth = other_masses(robot)
    fit = calibrate(robot, poses_of(robot, truth), method)  # type: ignore[arg-type]
    assert wrong_by(fit, truth) < 1e-7
    assert fit.trusted, fit.reasons


@pytest.mark.parametrize("name", ["scara", "gantry"])
def test_weighted_serves_linear_joints_too(name: str) -> None:
    """A tilted SCARA and a gantry; the other two methods say why they do not."""
    robot = cp.load(name).mounted(rpy=(0.3, 0.2, 0.0))
    truth = other_masses(robot)
    poses = poses_of(robot, truth)
    assert wrong_by(calibrate(robot, poses), truth) < 1e-9
    with pytest.raises(cp.InputError, match="linear"):
        calibrate(robot, poses, "coupled")


def test_poses_from_both_sides_tell_friction() -> None:
    """Friction of a newton metre does not reach the weights; it comes out as the band."""
    robot = cp.load("planar3")
    truth = other_masses(robot)
    log = visits(truth, design_poses(robot, 10), friction=(1.0, 0.5, 0.2), noise=0.02)
    fit = calibrate(robot, log, use="static", findings=())
    assert fit.data.kind == "static"
    assert fit.data.samples == 20  # both sides of ten poses, friction fitted beside
    assert wrong_by(fit, truth) < 0.05
    np.testing.assert_allclose(fit.errors.friction_band, (1.0, 0.5, 0.2), atol=0.02)
    assert fit.trusted, fit.reasons
    assert any("total mass" in sentence for sentence in fit.unreliable)
    assert any("inertias" in sentence for sentence in fit.unreliable)


def test_a_motion_gives_weights_and_friction() -> None:
    """Moving data: torques on a fresh motion are predicted, friction and offset come out."""
    robot = cp.load("planar3")
    truth = other_masses(robot)
    fit = calibrate(robot, motion(truth, coulomb=0.8, viscous=0.5, offset=0.3, noise=0.1), findings=())
    assert fit.data.kind == "moving"
    assert fit.friction is not None
    np.testing.assert_allclose(fit.friction.coulomb, 0.8, atol=0.2)
    np.testing.assert_allclose(fit.friction.viscous, 0.5, atol=0.2)
    np.testing.assert_allclose(fit.offset, 0.3, atol=0.25)
    assert np.all(fit.heldout_rms < 0.2 * fit.errors.signal)
    assert np.all(fit.heldout_rms < fit.errors.described)
    assert fit.trusted, fit.reasons


def test_inertias_of_real_bodies_come_on_request() -> None:
    """By default the nearest to the data; on request the nearest that can exist, with torques nearly as good."""
    robot = cp.load("planar3")
    log = motion(other_masses(robot), coulomb=0.8, noise=0.3)
    asked = calibrate(robot, log, consistent=True, findings=())
    assert unphysical_links(asked.robot) == ()
    assert not any("no real body" in sentence for sentence in asked.unreliable)
    free = calibrate(robot, log, findings=())
    assert np.all(asked.torque_rms < 1.2 * free.torque_rms)
    with pytest.raises(cp.InputError, match="prior"):
        calibrate(robot, log, consistent=True, prior=None, findings=())
    with pytest.raises(cp.InputError, match="need a motion"):
        calibrate(robot, poses_of(robot, robot), consistent=True)


def test_currents_without_constants_are_said_to_be_command_units() -> None:
    """Without a weighed load the result is in command units; with one, masses and gains separate."""
    robot = cp.load("planar3")
    truth = other_masses(robot, size=0.15)
    declared = Declared(effort_kind="current")
    log = motion(truth, coulomb=0.5, noise=0.05, gain=0.4, declared=declared)
    fit = calibrate(robot, log, findings=())
    assert fit.units == "command units"
    assert np.isnan(fit.errors.sag_total)
    assert any("gains" in sentence for sentence in fit.unreliable)
    load = {"mass": 3.0, "com": (0.2, 0.0, 0.0)}
    loaded = motion(truth.with_payload(**load), coulomb=0.5, noise=0.05, gain=0.4, declared=declared, seed=1)  # type: ignore[arg-type]
    both = calibrate(robot, log, loaded=[(robot.with_payload(**load), loaded)], findings=())  # type: ignore[arg-type]
    assert both.units == "N m" and both.gains is not None
    np.testing.assert_allclose(both.gains.gain, 0.4, rtol=0.05)
    # What is called N m is in N m: friction, errors and signal are those of the torques, not of the currents.
    torques = calibrate(robot, motion(truth, coulomb=0.5, noise=0.05), findings=())
    np.testing.assert_allclose(both.errors.friction_band, 0.5, rtol=0.1)
    np.testing.assert_allclose(both.errors.signal, torques.errors.signal, rtol=0.1)
    np.testing.assert_allclose(both.per_joint("gain"), 1.0, rtol=0.05)
    assert any("efforts per torque, by the weighed load" in note for note in both.notes)


def test_further_recordings_are_divided_by_the_gains_too() -> None:
    robot = cp.load("planar3")
    told = Declared(effort_kind="current")
    log, other = (motion(robot, coulomb=0.5, noise=0.05, gain=0.4, declared=told, seed=seed) for seed in (0, 2))
    carrying = robot.with_payload(3.0, com=(0.2, 0.0, 0.0))
    loaded = [(carrying, motion(carrying, coulomb=0.5, noise=0.05, gain=0.4, declared=told, seed=1))]
    fit = calibrate(robot, log, also=[other], loaded=loaded, findings=())
    assert fit.units == "N m"
    np.testing.assert_allclose(fit.errors.friction_band, 0.5, rtol=0.1)
    with pytest.raises(cp.InputError, match="current and torque; expected one"):
        calibrate(robot, log, also=[motion(robot, declared=Declared(effort_kind="torque"))], loaded=loaded, findings=())
    with pytest.raises(cp.InputError, match="carries none"):
        calibrate(robot, log, loaded=[(robot, other)], findings=())


def test_currents_fitted_without_gains_are_no_torques() -> None:
    """Whatever is fitted, and by whichever method: efforts in A are not called N m."""
    robot = cp.load("planar3")
    told = Declared(effort_kind="current")
    moving = motion(robot, coulomb=0.5, noise=0.05, gain=0.4, declared=told)
    assert calibrate(robot, moving, terms=Terms.moving(), findings=()).units == "command units"
    standing = replace(visits(robot, design_poses(robot, 8), friction=0.4, noise=0.02), declared=told)
    fit = calibrate(robot, standing, "coupled", use="static", findings=())
    assert fit.units == "command units" and not np.isfinite(fit.errors.sag_total)


@pytest.mark.parametrize("name", ["slider", "gantry"])
def test_a_motion_tells_the_weight_on_linear_joints(name: str) -> None:
    """Weight and offset are one constant there; the weight stands for both, as it does at rest."""
    robot = cp.load(name)
    truth = other_masses(robot, size=0.15)
    fit = calibrate(robot, motion(truth, coulomb=0.5, noise=0.1), findings=())
    q = np.zeros(robot.n)
    np.testing.assert_allclose(fit.robot.gravity(q), truth.gravity(q), rtol=0.01, atol=0.1)
    assert fit.trusted, fit.reasons


def test_a_weight_far_from_the_descriptions_is_mentioned() -> None:
    """Efforts at half their size make an arm of half the weight; only the description can tell."""
    robot = cp.load("planar3")
    q = design_poses(robot, 10)
    halved = calibrate(robot, static_poses(robot.joint_names, q, 0.5 * robot.gravity(q)))
    assert any("joint1 (0.5 times)" in note for note in halved.notes)
    described = calibrate(robot, static_poses(robot.joint_names, q, 1.02 * robot.gravity(q)))
    assert not any("far from the description" in note for note in described.notes)


@pytest.mark.parametrize("timed", [False, True])
def test_a_table_of_poses_is_a_list_of_poses(timed: bool) -> None:
    """Rows that jump through the range are poses at rest, with times or without, noted once or twice."""
    robot = cp.load("planar3")
    poses = poses_of(robot, other_masses(robot), count=10)
    declared = None if timed else Declared(time_from="rate")
    time = np.cumsum(np.random.default_rng(0).uniform(2.0, 5.0, 10)) if timed else np.arange(10) / 100.0
    more = {} if declared is None else {"declared": declared}
    log = cp.Log(robot.joint_names, time, poses.q, 0.0 * poses.q, poses.tau, **more)
    fit = calibrate(robot, log, findings=())
    assert fit.data.kind == "static"
    assert "every row is a pose" in fit.data.why
    assert fit.data.samples == 10
    twice = np.repeat(np.arange(10), 2)
    again = cp.Log(robot.joint_names, np.arange(20) * 3.0, poses.q[twice], 0.0 * poses.q[twice], poses.tau[twice])
    fit = calibrate(robot, again, findings=())
    assert fit.data.kind == "static"
    assert fit.data.samples == 10
    assert any("noted more than once" in note for note in fit.notes)


def test_the_prior_steps_in_where_poses_tell_too_little() -> None:
    """Twelve good poses are right whatever the prior; four noisy ones lean on it; asking for one or none is heard."""
    robot = cp.load("wam7")
    truth = other_masses(robot)
    twelve = poses_of(robot, truth, noise=0.02)
    assert calibrate(robot, twelve).prior == "CAD values of wam7"
    assert wrong_by(calibrate(robot, twelve), truth) < 0.2
    few = calibrate(robot, poses_of(robot, truth, count=4, noise=1.0))
    assert few.prior == "CAD values of wam7"
    assert np.isfinite(few.robot.gravity(np.zeros(7))).all()
    asked = calibrate(robot, twelve, prior=CadPrior(source="the datasheet"))
    assert asked.prior == "the datasheet"
    assert calibrate(robot, poses_of(robot, truth, count=5, noise=0.1), prior=None).prior == ""


def test_a_joint_that_hardly_moved_is_caught() -> None:
    """A joint that stood still: the fit is good where the arm was, not elsewhere, and says so."""
    robot = cp.load("planar3")
    truth = other_masses(robot, size=0.3)
    log = motion(truth, noise=0.1, moving=[1, 2])
    fit = calibrate(robot, log, findings=())
    assert "extrapolate" not in [statement.use for statement in fit.statements]
    asked = calibrate(robot, log, uses=("float", "extrapolate"), findings=())
    assert not asked.trusted
    assert "less than 50% of the range of joint1" in asked.reasons[0]
    assert np.abs(fit.robot.gravity(np.full(3, 0.5)) - robot.gravity(np.full(3, 0.5))).max() < 40.0
    assert fit.prior


def test_friction_that_did_not_show_leaves_open_what_holds_the_arm() -> None:
    """A joint that moved one way only: its friction and an offset are one, so no hold, load or push is stated."""
    robot = cp.load("planar3")
    truth, random = other_masses(robot), np.random.default_rng(0)
    log = motion(truth, coulomb=0.5, noise=0.05)
    both = {statement.use for statement in calibrate(robot, log, findings=()).statements}
    assert {"hold", "payload"} <= both
    q = np.array(log.q)
    q[:, 0] = np.linspace(-0.8, 0.8, len(q))
    dq = np.gradient(q, log.time, axis=0)
    tau = truth.inverse_dynamics(q, dq, np.gradient(dq, log.time, axis=0)) + 0.5 * np.sign(dq)
    tau += 0.05 * random.standard_normal(tau.shape)
    one_way = calibrate(robot, replace(log, q=q, dq=dq, tau=tau), uses=("hold",), findings=())
    assert not {"hold", "payload", "contact"} & {statement.use for statement in one_way.statements}
    assert any(
        "the friction of joint1 is unknown: it moved in one direction only, or not at all" in reason
        for reason in one_way.reasons
    )


def test_a_spring_enters_the_model_where_it_shows_well_and_else_widens_the_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A spring of 20 N m/rad that nobody declared, found by itself; the same one, were more evidence asked for."""
    robot = cp.load("planar3")
    truth = other_masses(robot)
    log = motion(truth, noise=0.1)
    tau = np.array(log.tau)
    tau[:, 1] += 20.0 * (log.q[:, 1] - log.q[:, 1].mean())
    sprung = replace(log, tau=tau)
    plain = calibrate(robot, log, findings=())
    found = calibrate(robot, sprung, findings=())
    assert found.model.terms.spring == ("joint2",)
    assert any("joint2 show a spring" in note for note in found.notes)
    assert not plain.model.terms.spring
    monkeypatch.setattr(posterior_search, "MODEL_SPEAKS", np.inf)
    weak = calibrate(robot, sprung, findings=())
    assert not weak.model.terms.spring
    assert any("joint2 may show a spring" in note for note in weak.notes)
    assert weak.errors.gravity[1] > 3.0 * found.errors.gravity[1]
    held = np.sqrt(np.mean((weak.robot.gravity(log.q) - truth.gravity(log.q))[:, 1] ** 2))
    assert held <= weak.errors.gravity[1]


def test_the_load_of_a_sprung_joint_does_not_depend_on_where_its_angle_is_counted_from() -> None:
    """k q of a joint that has made four turns is 500 N m, and its offset takes them back: neither is load."""
    robot = cp.load("planar3")
    log = motion(other_masses(robot), noise=0.1)
    tau = np.array(log.tau)
    tau[:, 1] += 20.0 * (log.q[:, 1] - log.q[:, 1].mean())
    turns = (np.zeros(3), np.array([0.0, 8.0 * np.pi, 0.0]))
    near, far = (calibrate(robot, replace(log, tau=tau, q=log.q + turned)) for turned in turns)
    assert far.model.terms.spring == ("joint2",)
    np.testing.assert_allclose(far.errors.gravity_size, near.errors.gravity_size, rtol=1e-6)
    np.testing.assert_allclose(far.errors.tolerated, near.errors.tolerated, rtol=1e-6)
    np.testing.assert_allclose(near.errors.gravity_size, np.sqrt(np.mean(tau**2, axis=0)), rtol=0.1)


def test_a_spring_in_a_small_range_is_no_part_of_the_model() -> None:
    """Friction that builds up over some hundredths of a radian looks the same there."""
    robot = cp.load("planar3")
    truth = other_masses(robot)
    log = motion(truth, noise=0.02, moving=(0, 2))
    q, dq = np.array(log.q), np.array(log.dq)
    time = np.asarray(log.time)
    q[:, 1], dq[:, 1] = 0.1 * np.sin(0.5 * time), 0.05 * np.cos(0.5 * time)
    tau = truth.inverse_dynamics(q, dq, np.gradient(dq, time, axis=0)) + 0.02 * np.random.default_rng(0).normal(
        size=q.shape
    )
    tau[:, 1] += 60.0 * q[:, 1]
    found = calibrate(robot, replace(log, q=q, dq=dq, tau=tau), findings=())
    assert not found.model.terms.spring
    assert any("joint2 may show a spring" in note for note in found.notes)


def test_the_description_makes_an_error_at_most_five_times_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a small region weight and offset are one to the data: a drive with a wrong gain is not noticed."""
    robot = cp.load("planar3")
    log = motion(robot, noise=0.02, size=0.06, coulomb=1.0)
    recorded = replace(log, tau=log.tau * [1.0, 0.6, 1.0])
    stated = {}
    for most in (1.0, load_posterior.LEANS, np.inf):
        monkeypatch.setattr(load_posterior, "LEANS", most)
        stated[most] = calibrate(robot, recorded, findings=()).errors.gravity
    found = stated[5.0]
    np.testing.assert_allclose(found, np.maximum(stated[np.inf], stated[1.0] / 5.0), rtol=1e-9)
    assert found[2] > 1.3 * stated[np.inf][2]


def test_efforts_that_contradict_the_load_of_their_joint_are_no_noise() -> None:
    """Two columns exchanged, eleven poses: other joints fix the masses, so what is left here looks like noise."""
    robot = cp.load("wam7")
    q = design_poses(robot, 11)
    tau = robot.gravity(q) + 0.05 * np.random.default_rng(0).standard_normal(q.shape)
    assert calibrate(robot, static_poses(robot.joint_names, q, tau), findings=()).trusted
    tau[:, [2, 3]] = tau[:, [3, 2]]
    wrong = calibrate(robot, static_poses(robot.joint_names, q, tau), findings=())
    assert not wrong.trusted
    missed = np.sqrt(np.mean((wrong.robot.gravity(q) - tau)[:, 3] ** 2))
    assert wrong.errors.gravity[3] > 0.8 * missed > wrong.errors.tolerated[3]


def test_springs_at_many_joints_are_not_believed() -> None:
    """Three at once stand for something else: nothing is stated. Named by the user they are fitted."""
    robot = cp.load("planar3")
    log = motion(other_masses(robot), noise=0.1)
    sprung = replace(log, tau=log.tau + 20.0 * (log.q - log.q.mean(axis=0)))
    found = calibrate(robot, sprung, findings=())
    assert any("springs at 3 joints at once" in reason for reason in found.reasons)
    assert found.statements == () and np.isnan(found.errors.gravity).all()
    named = calibrate(robot, sprung, terms=Terms.moving().replace(spring=("all",)), findings=())
    assert np.isfinite(named.errors.gravity).all()


def test_a_finding_of_the_doctor_withdraws_trust() -> None:
    """What spoils a recording spoils the fit and leaves nothing to state; what a fit takes care of does not."""
    robot = cp.load("planar3")
    poses = poses_of(robot, other_masses(robot))
    sign = Finding(LogFault.EFFORT_SIGN, Consequence.DANGER, ("joint1",), "The sign of joint1 is reversed.", "Turn it.")
    offset = Finding(LogFault.OFFSET, Consequence.INVALIDATES, ("joint1",), "An offset.", "Subtract it.")
    spoiled = calibrate(robot, poses, findings=[sign])
    assert spoiled.reasons == ("The sign of joint1 is reversed. Turn it.",)
    assert spoiled.statements == ()
    assert np.isnan(spoiled.errors.gravity).all()
    assert calibrate(robot, poses, findings=[offset]).trusted
    # A danger counts even where it is not sure; a lesser fault does not.
    assert not calibrate(robot, poses, findings=[replace(sign, confidence=0.5)]).trusted
    lesser = replace(sign, confidence=0.5, consequence=Consequence.INVALIDATES)
    assert calibrate(robot, poses, findings=[lesser]).trusted


def test_the_doctor_is_asked_by_itself() -> None:
    """A recording with one torque of the wrong sign is not trusted, without anybody asking the doctor."""
    robot = cp.load("planar3")
    log = visits(robot, design_poses(robot, 10), friction=0.3, noise=0.02)
    assert calibrate(robot, log).trusted
    wrong = calibrate(robot, replace(log, tau=log.tau * np.array([1.0, -1.0, 1.0])))
    assert not wrong.trusted
    assert any("effort of joint2 has the opposite sign" in reason for reason in wrong.reasons)


class TestRefusals:
    """What cannot be calibrated is refused with the reason, never fitted."""

    @pytest.fixture
    def robot(self) -> cp.Robot:
        return cp.load("planar3")

    def test_one_pose(self, robot: cp.Robot) -> None:
        q = np.array([[0.3, 0.2, 0.1]])
        with pytest.raises(cp.InputError, match="only one pose"):
            calibrate(robot, static_poses(robot.joint_names, q, robot.gravity(q)))

    def test_all_poses_equal(self, robot: cp.Robot) -> None:
        q = np.tile([0.3, 0.2, 0.1], (8, 1))
        with pytest.raises(cp.InputError, match="all 8 poses are the same"):
            calibrate(robot, static_poses(robot.joint_names, q, robot.gravity(q)))

    @pytest.mark.parametrize("method", ["weighted", "coupled"])
    def test_all_joints_moving_on_one_line(self, robot: cp.Robot, method: str) -> None:
        q = np.linspace(-1.0, 1.0, 12)[:, None] * np.array([1.0, 0.5, -0.7])
        with pytest.raises(cp.InputError, match="one line"):
            calibrate(robot, static_poses(robot.joint_names, q, robot.gravity(q)), method)  # type: ignore[arg-type]

    def test_nan(self, robot: cp.Robot) -> None:
        poses = poses_of(robot, robot)
        tau = poses.tau.copy()
        tau[3, 1] = np.nan
        with pytest.raises(cp.InputError, match="joint2"):
            calibrate(robot, static_poses(robot.joint_names, poses.q, tau))
        q = poses.q.copy()
        q[2, 0] = np.nan
        with pytest.raises(cp.InputError):
            calibrate(robot, static_poses(robot.joint_names, q, poses.tau))

    def test_poses_on_stops(self) -> None:
        robot = cp.load("wam4")
        stopped = np.tile(robot.upper - 0.001, (3, 1))
        with pytest.raises(cp.InputError, match="limit"):
            log = visits(robot, stopped, approach=0.0005)[200:]
            calibrate(robot, log, use="static", findings=())

    def test_a_log_of_another_robot(self, robot: cp.Robot) -> None:
        other = cp.load("wam4")
        with pytest.raises(cp.InputError, match="expected those of robot 'planar3'"):
            calibrate(robot, visits(other, design_poses(other, 4)))

    def test_friction_from_poses_at_rest(self, robot: cp.Robot) -> None:
        with pytest.raises(cp.InputError, match="nothing moves"):
            calibrate(robot, poses_of(robot, robot), terms=Terms(bodies="gravity", viscous=("all",)))

    def test_a_motion_by_a_method_for_poses(self, robot: cp.Robot) -> None:
        with pytest.raises(cp.InputError, match="poses at rest"):
            calibrate(robot, motion(robot), "coupled", use="moving")

    def test_too_few_poses_to_check(self, robot: cp.Robot) -> None:
        q = np.array([[0.3, 0.2, 0.1], [-0.5, 0.8, -1.0]])
        with pytest.raises(cp.InputError):
            calibrate(robot, static_poses(robot.joint_names, q, robot.gravity(q)))

    def test_a_mounting_that_the_log_contradicts(self, robot: cp.Robot) -> None:
        log = visits(robot, design_poses(robot, 8))
        tilted = replace(log, declared=replace(log.declared, gravity_base=np.array([9.81, 0.0, 0.0])))
        if np.allclose(robot.gravity_base, (9.81, 0.0, 0.0)):
            pytest.fail("the arm is mounted like that")
        with pytest.raises(cp.InputError, match="mount"):
            calibrate(robot, tilted, findings=())

    @pytest.mark.parametrize(
        "asked", [{"method": "best"}, {"use": "half"}, {"prior": "dad"}, {"stiffness": -1.0}, {"split": "half"}]
    )
    def test_arguments_without_a_meaning(self, robot: cp.Robot, asked: dict[str, object]) -> None:
        data = motion(robot, duration=10.0) if "split" in asked else poses_of(robot, robot)
        with pytest.raises(cp.InputError):
            calibrate(robot, data, **({"findings": ()} | asked))  # type: ignore[arg-type]


def test_a_drift_is_part_of_the_stated_error() -> None:
    """A torque sensor whose gain falls by a fifth from beginning to end: no gravity is right for all of it."""
    arm = cp.load("planar3")
    log = motion(arm, coulomb=0.3, viscous=0.2, noise=0.05, duration=40.0)
    along = (log.time - log.time[0]) / np.ptp(log.time)
    drifting = replace(log, tau=log.tau * (1.1 - 0.2 * along)[:, None])
    steady, drifts = (cp.calibrate(arm, one, findings=()).errors.gravity for one in (log, drifting))
    gravity = np.sqrt(np.mean(arm.gravity(log.q) ** 2, axis=0))
    assert np.all(drifts > 2.0 * steady)
    heavy = int(np.argmax(gravity))
    assert 0.08 < drifts[heavy] / gravity[heavy] < 0.2  # ± 10 %, evenly: 1.96 · 10 % / √3


def test_an_offset_that_is_one_with_the_weight_is_part_of_the_stated_error() -> None:
    """A vertical slide: friction that differs between the directions is taken for weight, and stated as possible."""
    arm = cp.load("gantry")
    log = motion(arm, coulomb=(4.0, 4.0, 4.0), noise=0.1, duration=30.0)
    fit = cp.calibrate(arm, log, findings=())
    assert not np.isfinite(fit.offset[2]) or fit.offset[2] == 0.0
    assert fit.errors.gravity[2] > 0.3  # of 4 N of friction; noise and rows alone say 0.07
    assert np.all(fit.errors.gravity[:2] < 0.01)  # horizontal slides carry nothing
