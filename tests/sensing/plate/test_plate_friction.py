"""Friction from motor torques and the plate: laws, gains and rotors that are known, and what it will not say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.errors import InputError, ModelError
from counterpoise.recording import Declared
from counterpoise.sensing.plate.friction import LATE, JointRows, fit_law, plate_friction
from counterpoise.sensing.plate.friction_curve import JointFriction
from counterpoise.sensing.plate.parameters import plate_parameters
from library.made_plate_logs import PlateErrors, motor_torques, moving_log, plate
from library.simulated_motion import motion, other_masses

PUMA = cp.load("puma560")
MODEL = other_masses(PUMA, 1, mass=0.1, com=0.01)
GAINS = np.array([0.8, 1.25, 0.9, 1.1, 0.85, 1.2])
ROTOR = np.array([0.78, 2.3, 0.58, 0.19, 0.17, 0.19])
COULOMB = np.array([5.0, 4.8, 2.3, 1.1, 0.9, 1.0])


def path(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Velocities and link torques of a made motion, shapes (k, n)."""
    _, q, dq, ddq = motion(PUMA, seed, 40.0, 100.0)
    return dq, PUMA.inverse_dynamics(q, dq, ddq)


def found_for(seed: int, friction, *, gains=GAINS, errors=PlateErrors(), **options):  # noqa: B008
    log = moving_log(PUMA, seed, motor_torques(PUMA, seed, friction, gains, rotor=ROTOR), errors=errors)
    return plate_friction(MODEL, log, plate(MODEL), **options)


def test_coulomb_and_viscous_friction_with_wrong_torque_constants() -> None:
    """Levels within 2 %, slopes within 3 %, gains within 1 %, rotors within 5 %; nothing else is claimed."""
    dq, _ = path(1)
    viscous = 1.2 * COULOMB
    found = found_for(1, COULOMB * np.sign(dq) + viscous * dq)
    assert found.determined == ("joint1", "joint2", "joint3")
    for j, joint in enumerate(found.joints[:3]):
        assert joint.gain == pytest.approx(GAINS[j], rel=0.01)
        assert joint.rotor_inertia == pytest.approx(ROTOR[j], rel=0.05)
        assert joint.coulomb == pytest.approx(COULOMB[j], rel=0.02)
        assert joint.viscous_positive == pytest.approx(viscous[j], rel=0.03)
        assert "stribeck" not in joint.terms and np.isnan(joint.breakaway)
        assert joint.torque(0.5) == pytest.approx(COULOMB[j] + 0.5 * viscous[j], rel=0.02)
        assert abs(joint.gain - GAINS[j]) < 4.0 * joint.gain_std
        assert joint.law().torque(-0.5) == pytest.approx(-COULOMB[j] - 0.5 * viscous[j], rel=0.03)


def test_joints_that_the_plate_does_not_feel_have_no_numbers() -> None:
    """The PUMA's wrist needs hundredths of a N m: the plate's scatter hides them, and it says so."""
    dq, _ = path(1)
    found = found_for(1, COULOMB * np.sign(dq))
    for joint, sentence in zip(found.joints[3:], found.sentences[3:6], strict=True):
        assert not joint.determined and joint.curve is None and np.isnan(joint.gain) and np.isnan(joint.coulomb)
        assert joint.law() is None and np.isnan(joint.torque([0.1, 0.2])).all()
        assert "no information" in sentence and "the plate has no information on this joint" in sentence


def test_a_noisier_plate_silences_more_joints() -> None:
    """With a hundred times the noise joint 3 is silent, too: the criterion is the plate's scatter."""
    dq, _ = path(1)
    found = found_for(1, COULOMB * np.sign(dq), errors=PlateErrors(noise=100.0))
    assert "joint3" not in found.determined
    assert found["joint3"].plate_std > 1.0


def test_every_term_is_found_where_it_is() -> None:
    """Stribeck effect, load dependence and different slopes: each in the joint that has it, with its number."""
    dq, link = path(2)
    friction = COULOMB * np.sign(dq)
    friction[:, 0] += 2.0 * np.sign(dq[:, 0]) * np.exp(-((dq[:, 0] / 0.4) ** 2))
    friction[:, 1] += 0.05 * np.abs(link[:, 1]) * np.sign(dq[:, 1])
    friction[:, 2] += np.where(dq[:, 2] > 0.0, 4.0, 2.0) * dq[:, 2]
    found = found_for(2, friction)
    first, second, third = found.joints[:3]
    assert first.terms == ("coulomb", "stribeck")
    assert first.breakaway == pytest.approx(7.0, rel=0.05)
    assert second.terms == ("coulomb", "load") and second.load == pytest.approx(0.05, rel=0.1)
    assert third.terms == ("coulomb", "viscous", "asymmetry")
    assert third.viscous_positive == pytest.approx(4.0, rel=0.03)
    assert third.viscous_negative == pytest.approx(2.0, rel=0.05)
    curve = first.curve
    truth = (5.0 + 2.0 * np.exp(-((curve.velocity / 0.4) ** 2))) * np.sign(curve.velocity)
    assert np.sqrt(np.mean((curve.friction - truth) ** 2)) < 0.05 * 5.0


def test_a_level_that_differs_by_direction_is_an_offset() -> None:
    """6 N m upwards and 4 downwards, or 5 with an offset of 1: the same signal, said once."""
    dq, _ = path(3)
    friction = np.zeros_like(dq)
    friction[:, 0] = np.where(dq[:, 0] > 0.0, 6.0, -4.0)
    found = found_for(3, friction)
    first = found["joint1"]
    assert [first.coulomb + first.offset, first.coulomb - first.offset] == pytest.approx([6.0, 4.0], rel=0.03)
    assert found["joint1"].offset == pytest.approx(1.0, rel=0.05)
    assert any("same signal" in sentence for sentence in found.sentences)


@pytest.mark.parametrize("stribeck", [False, True])
def test_the_law_has_each_direction_s_own_friction(stribeck: bool) -> None:
    """F_c + o and F_v⁺ upwards, F_c − o and F_v⁻ downwards, the same rise to breakaway on both sides."""
    peak = {"breakaway": 7.5, "stribeck_velocity": 0.4} if stribeck else {}
    slopes = {"viscous_positive": 4.0, "viscous_negative": 2.0}
    joint = JointFriction("joint", True, coulomb=5.0, offset=1.0, **slopes, **peak)
    speed = np.array([0.05, 0.3, 2.0])
    rise = 2.5 * np.exp(-((speed / 0.4) ** 2)) if stribeck else 0.0
    law = joint.law()
    assert law is not None
    for friction in (law, joint):
        assert friction.torque(speed) == pytest.approx(6.0 + rise + 4.0 * speed)
        assert friction.torque(-speed) == pytest.approx(-4.0 - rise - 2.0 * speed)


def test_a_level_that_falls_towards_rest_is_none_that_a_law_has() -> None:
    """A breakaway below the sliding level, by less than its error: the law has the sliding level alone."""
    joint = JointFriction("joint", True, coulomb=5.0, breakaway=4.9, stribeck_velocity=0.4, viscous_positive=2.0)
    law, speed = joint.law(), np.array([0.01, 0.3, 2.0])
    assert law is not None and law.torque(speed) == pytest.approx(5.0 + 2.0 * speed)


def test_without_friction_there_is_none() -> None:
    """Control run: the curve is zero within its band, and no term is printed."""
    found = found_for(4, 0.0)
    assert found.determined == ("joint1", "joint2", "joint3")
    for joint in found.joints[:3]:
        assert joint.terms == ()
        assert np.all(joint.curve.lower - 0.01 <= 0.0) and np.all(joint.curve.upper + 0.01 >= 0.0)
        assert np.abs(joint.curve.friction).max() < 0.05
        assert "no friction beyond its band" in joint.sentence()


def test_only_allowed_terms_are_used() -> None:
    """laws= bounds what may be found."""
    dq, _ = path(1)
    found = found_for(1, COULOMB * np.sign(dq) + dq, laws=("coulomb",))
    assert all(set(joint.terms) <= {"coulomb"} for joint in found.joints)
    with pytest.raises(InputError, match="no friction term 'lugre'"):
        found_for(1, 0.0, laws=("lugre",))


def test_masses_of_another_recording() -> None:
    """Masses fitted before serve a shorter recording of the motors."""
    dq, _ = path(5)
    masses = plate_parameters(MODEL, moving_log(PUMA, 6), plate(MODEL), kind="inertial")
    found = found_for(5, COULOMB * np.sign(dq), parameters=masses)
    assert found.parameters is masses
    assert found["joint2"].gain == pytest.approx(1.25, rel=0.01)


def test_one_direction_cannot_tell_friction_from_an_offset() -> None:
    """A joint that only turns forwards: the reason is given, no number."""
    dq, _ = path(1)
    log = moving_log(PUMA, 1, motor_torques(PUMA, 1, COULOMB * np.sign(dq)))
    forwards = np.array(log.q)
    turn = 0.3 * log.time + 0.02 * np.sin(log.time)
    forwards[:, 0] = turn
    rate = np.gradient(turn, log.time)
    speeds = np.array(log.dq)
    speeds[:, 0] = rate
    acceleration = np.gradient(speeds, log.time, axis=0)
    wrench = PUMA.base_wrench(forwards, speeds, acceleration)
    torque = PUMA.inverse_dynamics(forwards, speeds, acceleration) + COULOMB * np.sign(speeds)
    log = cp.Log(PUMA.joint_names, log.time, forwards, speeds, torque, wrench=plate(PUMA).frame.reading(wrench))
    found = plate_friction(MODEL, log, plate(MODEL))
    assert not found["joint1"].determined
    assert "one direction only" in found["joint1"].reason and "cannot be distinguished" in found["joint1"].reason
    assert found["joint2"].determined


def test_a_joint_that_is_not_measured() -> None:
    """Each has its reason; the others are served."""
    dq, _ = path(1)
    tau = motor_torques(PUMA, 1, COULOMB * np.sign(dq))
    tau[:, 1] = np.nan
    found = plate_friction(MODEL, moving_log(PUMA, 1, tau), plate(MODEL))
    assert found["joint2"].reason == "its motor torque was not measured"
    assert found["joint1"].determined


def test_gain_and_rotor_that_are_one_signal() -> None:
    """One turning joint of constant inertia: gain and rotor cannot be distinguished; friction is in stated torque."""
    single = cp.load("wam7")
    time = np.arange(0.0, 40.0, 0.01)
    q = np.tile([0.0, -1.0, 0.0, 2.0, 0.0, 0.5, 0.0], (len(time), 1))
    angle = 2.0 * np.pi * np.outer(time, [0.11, 0.23, 0.37])
    size = np.array([0.6, 0.4, 0.3])
    rate = 2.0 * np.pi * np.array([0.11, 0.23, 0.37])
    dq, ddq = np.zeros_like(q), np.zeros_like(q)
    q[:, 0], dq[:, 0] = np.sin(angle) @ size, np.cos(angle) @ (size * rate)
    ddq[:, 0] = -np.sin(angle) @ (size * rate**2)
    tau = single.inverse_dynamics(q, dq, ddq) + 0.2 * ddq
    tau[:, 0] += 1.5 * np.sign(dq[:, 0])
    noise = 0.01 * np.random.default_rng(1).standard_normal(q.shape)
    reading = plate(single).frame.reading(single.base_wrench(q, dq, ddq))
    reading = reading + 0.02 * np.random.default_rng(2).standard_normal(reading.shape)
    log = cp.Log(single.joint_names, time, q, dq, tau + noise, wrench=reading)
    joint = plate_friction(single, log, plate(single)).joints[0]
    assert joint.determined and not joint.gain_determined and joint.gain == 1.0
    assert joint.coulomb == pytest.approx(1.5, rel=0.05)
    assert np.isnan(joint.rotor_inertia)
    assert "not identifiable from these data" in joint.sentence()


def test_linear_axes_of_constant_mass() -> None:
    """A gantry's links move as its rotors do: exactly one signal, and no gain is made of it."""
    gantry = cp.load("gantry")
    dry = np.sign(motion(gantry, 1, 40.0, 100.0)[2])
    log = moving_log(gantry, 1, motor_torques(gantry, 1, dry, 1.1))
    for joint in plate_friction(gantry, log, plate(gantry)).joints:
        assert joint.determined and not joint.gain_determined
        assert joint.coulomb == pytest.approx(1.0 / 1.1, rel=0.02)


def test_refusals() -> None:
    """No efforts, no plate, no motion, no masses, coupled drives: each in its own words."""
    dq, _ = path(1)
    tau = motor_torques(PUMA, 1, COULOMB * np.sign(dq))
    log = moving_log(PUMA, 1, tau)
    with pytest.raises(InputError, match="no measured effort"):
        plate_friction(MODEL, moving_log(PUMA, 1), plate(MODEL))
    with pytest.raises(InputError, match="no plate readings"):
        plate_friction(MODEL, replace(log, wrench=None), plate(MODEL))
    with pytest.raises(InputError, match="no joint moves"):
        still = replace(log, q=np.tile(log.q[:1], (len(log), 1)), dq=np.zeros(log.q.shape))
        plate_friction(MODEL, still, plate(MODEL))
    coupled = np.eye(6)
    coupled[4, 5] = 0.5
    with pytest.raises(InputError, match="several joints"):
        plate_friction(MODEL, replace(log, declared=Declared(motor_per_link=coupled)), plate(MODEL))
    bare = cp.Robot(
        replace(PUMA.description, links=tuple(replace(link, inertia=None) for link in PUMA.description.links))
    )
    with pytest.raises(ModelError, match="no masses"):
        plate_friction(bare, log, plate(bare))
    with pytest.raises(InputError, match="there is no joint 'elbow'"):
        found_for(1, 0.0)["elbow"]


def test_a_shaking_joint_has_no_sliding_friction() -> None:
    """20 Hz about a slow motion: friction averages out, and no curve is drawn from it."""
    dq, _ = path(1)
    log = moving_log(PUMA, 1, motor_torques(PUMA, 1, COULOMB * np.sign(dq)))
    shaken = np.array(log.q)
    shaken[:, 1] += 0.01 * np.sin(2.0 * np.pi * 20.0 * log.time)
    found = plate_friction(MODEL, replace(log, q=shaken, dq=np.full(log.q.shape, np.nan)), plate(MODEL))
    assert "shakes" in found["joint2"].reason
    assert found["joint3"].determined


def test_a_joint_that_stands() -> None:
    """A joint held still has its reason; the others are served."""
    time, q, dq, ddq = motion(PUMA, 8, 40.0, 100.0)
    for rows in (dq, ddq):
        rows[:, 0] = 0.0
    q[:, 0] = 0.3
    torque = PUMA.inverse_dynamics(q, dq, ddq) + COULOMB * np.sign(dq)
    reading = plate(PUMA).frame.reading(PUMA.base_wrench(q, dq, ddq))
    found = plate_friction(MODEL, cp.Log(PUMA.joint_names, time, q, dq, torque, wrench=reading), plate(MODEL))
    assert "move it more" in found["joint1"].reason
    assert found["joint2"].determined


def rows_of(seed: int, *, gain: float, late: float = 1.0, noise: float = 0.02, count: int = 3000) -> JointRows:
    """Rows of a joint with dry and viscous friction whose link torque is known up to two errors of the masses."""
    rng = np.random.default_rng(seed)
    time = 0.01 * np.arange(count)
    speed, link = np.sin(1.3 * time) + 0.3 * np.sin(4.1 * time), 20.0 * np.cos(0.7 * time) + 5.0 * np.sin(2.9 * time)
    acceleration = 1.3 * np.cos(1.3 * time) + 1.23 * np.cos(4.1 * time)
    columns = {
        "link": link,
        "late": late * np.cos(11.0 * time),
        "acceleration": acceleration,
        "constant": np.ones(count),
        "coulomb": np.sign(speed),
        "viscous": speed,
        "asymmetry": np.abs(speed),
        "load": np.abs(link) * np.sign(speed),
    }
    tau = (link + ROTOR[0] * acceleration) / gain + 5.0 * np.sign(speed) + 2.0 * speed + noise * rng.normal(size=count)
    wrong = np.column_stack([np.sign(speed) + np.sin(0.2 * time), speed + np.cos(0.3 * time)])
    return JointRows(tau, columns, np.zeros(0), wrong, np.diag([0.1, 0.08]) ** 2, (0,))


@pytest.mark.parametrize("gain", [None, 0.5, 2.0])
def test_errors_of_the_masses_are_in_the_covariance(gain: float | None) -> None:
    """Link torques with drawn errors: the fits scatter as one of them says, with a known gain and with a fitted one."""
    rows = rows_of(1, gain=gain or 0.8)
    laws = ("coulomb", "viscous")
    told = fit_law(rows, laws, gain=gain)
    rng, drawn = np.random.default_rng(2), []
    for _ in range(150):
        error = rows.link_rows @ (np.sqrt(np.diag(rows.link_covariance)) * rng.normal(size=2))
        found = fit_law(replace(rows, columns=rows.columns | {"link": rows.columns["link"] + error}), laws, gain=gain)
        assert found.law.columns == told.law.columns
        drawn.append(found.x)
    stated = np.sqrt(np.diag(told.covariance))
    for name in ("coulomb", "viscous"):
        assert np.std(drawn, axis=0)[told.at(name)] == pytest.approx(stated[told.at(name)], rel=0.25)


def test_a_delay_that_does_not_show_stays_what_it_was_beforehand() -> None:
    """LATE, in a standard deviation; one that shows is as sure as the data make it."""
    hidden, shown = (fit_law(rows_of(3, gain=1.0, late=late), ("coulomb", "viscous")) for late in (1e-6, 100.0))
    place = hidden.at("late")
    assert abs(hidden.x[place]) < LATE and np.sqrt(hidden.covariance[place, place]) == pytest.approx(LATE, rel=0.05)
    assert np.sqrt(shown.covariance[place, place]) < 0.1 * LATE


def test_single_wild_efforts_change_nothing() -> None:
    """One of a hundred is off by ten times the friction: the numbers are those without."""
    rows = rows_of(4, gain=1.0)
    wild = rows.tau.copy()
    wild[::100] += 50.0 * np.sign(np.random.default_rng(5).normal(size=len(wild[::100])))
    clean, spoilt = (fit_law(one, ("coulomb", "viscous"), gain=1.0) for one in (rows, replace(rows, tau=wild)))
    assert spoilt.law.columns == clean.law.columns
    for name, true in (("coulomb", 5.0), ("viscous", 2.0)):
        assert spoilt.x[spoilt.at(name)] == pytest.approx(clean.x[clean.at(name)], abs=0.01)
        assert clean.x[clean.at(name)] == pytest.approx(true, abs=0.02)
    assert spoilt.residual_rms == pytest.approx(clean.residual_rms, rel=0.1)
