"""The evidence of a reading is the marginal likelihood of the recorded efforts, computed here the long way."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.doctor.evidence import FRICTION_DOUBT, ReadingComparison, ReadingFit
from counterpoise.doctor.gram import OWN, SMOOTHING, SignalColumns, position_shapes
from counterpoise.doctor.points import MotionPoints
from counterpoise.doctor.priors import (
    ANY,
    BELIEFS,
    FREE_OFFSET,
    FRICTION,
    GOOD,
    LEAST_SPRING,
    OFFSET,
    RESIDUE,
    ROTOR,
    SPRING,
    MassBelief,
    parameter_spread,
    payload_spread,
)
from counterpoise.doctor.reading import Reading, swapped

ROBOT = cp.load("planar3")
PLAIN = Reading.as_recorded(ROBOT)
POINTS = 60


def made(seed: int = 0) -> MotionPoints:
    """Return a few points of a motion with friction and noise; each counts as one independent observation."""
    random = np.random.default_rng(seed)
    time = np.linspace(0.0, 12.0, POINTS)
    omega, phase = random.uniform(0.8, 2.0, ROBOT.n), random.uniform(0.0, 6.0, ROBOT.n)
    q = 0.7 * np.sin(omega * time[:, None] + phase)
    dq = 0.7 * omega * np.cos(omega * time[:, None] + phase)
    ddq = -(omega**2) * q
    effort = ROBOT.inverse_dynamics(q, dq, ddq) + ROBOT.rotor_inertia * ddq + 0.8 * np.tanh(dq / 0.02)
    effort += 0.3 * random.normal(size=effort.shape)
    last = np.sign(dq)
    wound = np.tanh(dq / 0.3)
    return MotionPoints(time, q, dq, ddq, effort, last, wound, np.ones(ROBOT.n, dtype=bool), float(POINTS))


MOTION = made()
COMPARISON = ReadingComparison(SignalColumns(ROBOT, MOTION))


def long_way(reading: Reading, fit: ReadingFit) -> float:
    """Return the log density of all efforts from their full covariance, σ as the fit has it."""
    robot = ROBOT.mounted(rotation=np.eye(3), gravity=reading.gravity_base)
    q, dq, ddq = (reading.positions(values) for values in (MOTION.q, MOTION.dq, MOTION.ddq))
    rows = robot.inertial_regressor(q, dq, ddq)
    weight = robot.gravity(q)
    expected = rows @ robot.inertial_parameters[10:] + robot.rotor_inertia * ddq
    if reading.compensated:
        expected = expected - weight
    level = MOTION.effort
    spread = level.std(axis=0) + 0.02 * np.abs(level.mean(axis=0))
    usual = np.abs(dq).mean(axis=0)
    smooth = np.tanh(dq / (SMOOTHING * usual))
    last = MOTION.last_direction[:, list(reading.position_from)] * np.sign(reading.position_factor)
    wound = MOTION.wound[:, list(reading.position_from)] * np.sign(reading.position_factor)
    shared = [rows @ parameter_spread(ROBOT, fit.belief)]
    for body in sorted(reading.loaded):
        shared.append(rows[:, :, 10 * body : 10 * body + 4] @ payload_spread(ROBOT, body))
    whole = np.concatenate(shared, axis=2)
    columns = np.concatenate([whole[:, joint] for joint in range(ROBOT.n)])
    covariance = columns @ columns.T
    target = np.zeros(0)
    constant = 0.0
    for joint in range(ROBOT.n):
        factor, channel = reading.effort_factor[joint], reading.effort_from[joint]
        scale = abs(factor) * spread[channel]
        sprung = joint in reading.sprung
        offset = FREE_OFFSET if sprung or joint in reading.offset else OFFSET
        spring = SPRING * math.hypot(scale, float(np.sqrt(np.mean(weight[:, joint] ** 2))))
        spring = spring if sprung else LEAST_SPRING * scale
        own = np.column_stack(
            [
                ROTOR * ROBOT.rotor_inertia[joint] * ddq[:, joint],
                FRICTION * scale * smooth[:, joint],
                FRICTION * scale * dq[:, joint] / usual[joint],
                offset * scale * np.ones(POINTS),
                FRICTION * scale * last[:, joint] * (1.0 - np.abs(smooth[:, joint])),
                FRICTION * scale * wound[:, joint],
                *(spring * shape[:, joint] for shape in position_shapes(ROBOT, q)),
            ]
        )
        part = slice(joint * POINTS, (joint + 1) * POINTS)
        covariance[part, part] += own @ own.T + fit.residue[joint] ** 2 * np.eye(POINTS)
        target = np.append(target, factor * MOTION.effort[:, channel] - expected[:, joint])
        constant += POINTS * math.log(abs(factor))
    density = -0.5 * (np.linalg.slogdet(covariance)[1] + target @ np.linalg.solve(covariance, target))
    taken = [math.log(2.0 * 0.5 * math.erfc(-z / math.sqrt(2.0))) for z in fit.friction_sign]
    return float(density) + constant + sum(taken) + fit.carried - fit.belief.cost


READINGS = {
    "as recorded": PLAIN,
    "one effort reversed": PLAIN.with_effort_flipped(1),
    "one position reversed": PLAIN.with_position_flipped(2),
    "positions exchanged": PLAIN.with_channels(position=swapped(3, 0, 2)),
    "efforts exchanged": PLAIN.with_channels(effort=swapped(3, 1, 2)),
    "a gain": PLAIN.with_effort_factors({0: 2.5}),
    "an offset": replace(PLAIN, offset=frozenset({1})),
    "no gravity": replace(PLAIN, compensated=True),
    "a spring": replace(PLAIN, sprung=frozenset({1})),
    "a payload": replace(PLAIN, loaded=frozenset({2})),
    "another mounting": replace(PLAIN, gravity_base=(3.0, -9.0, 1.0)),
}


@pytest.mark.parametrize("belief", [*BELIEFS, ANY], ids=["good", "fair", "poor", "any"])
@pytest.mark.parametrize("name", READINGS)
def test_evidence_is_the_marginal_likelihood(name: str, belief: MassBelief) -> None:
    fit = COMPARISON.fit(READINGS[name], belief)
    assert fit.evidence == pytest.approx(long_way(READINGS[name], fit), rel=1e-5, abs=1e-2)


def test_links_without_weight_speak_against_a_reading() -> None:
    """Masses of any size are allowed, but not none: torques without gravity are no torques of a light arm."""
    weightless = replace(MOTION, effort=MOTION.effort - ROBOT.gravity(MOTION.q))
    comparison = ReadingComparison(SignalColumns(ROBOT, weightless), (ANY,))
    assert comparison.best(PLAIN).carried < -5.0
    assert abs(comparison.best(replace(PLAIN, compensated=True)).carried) < 1.0
    assert COMPARISON.fit(replace(PLAIN, compensated=True), ANY).carried < -5.0
    assert abs(COMPARISON.fit(PLAIN, ANY).carried) < 1.0


@pytest.mark.parametrize("factor", [0.5, 0.7, 1.4, 2.0])
def test_a_common_factor_of_the_masses_is_free(factor: float) -> None:
    """A description twice too heavy or too light is no fault of the recording: no gain beats it by much."""
    scaled = replace(MOTION, effort=factor * MOTION.effort)
    comparison = ReadingComparison(SignalColumns(ROBOT, scaled), (ANY,))
    gains = PLAIN.with_effort_factors(dict.fromkeys(range(ROBOT.n), 1.0 / factor))
    assert comparison.best(gains).evidence - comparison.best(PLAIN).evidence < 8.0


def test_the_true_reading_wins() -> None:
    scores = {name: COMPARISON.best(reading).evidence for name, reading in READINGS.items()}
    wrong = {name for name in READINGS if name not in ("as recorded", "an offset", "a spring", "a payload")}
    assert all(scores[name] < scores["as recorded"] - 5.0 for name in wrong), scores


def test_efforts_in_another_unit_are_as_likely_when_read_in_that_unit() -> None:
    """A density per unit of what was recorded: a change of unit is paid for by its logarithm, once per point."""
    scaled = replace(MOTION, effort=MOTION.effort / [7.0, 1.0, 1.0])
    other = ReadingComparison(SignalColumns(ROBOT, scaled)).fit(PLAIN.with_effort_factors({0: 7.0}), GOOD)
    plain = COMPARISON.fit(PLAIN, GOOD)
    assert other.evidence == pytest.approx(plain.evidence + POINTS * math.log(7.0), abs=1e-6)
    np.testing.assert_allclose(other.residue, plain.residue, rtol=1e-9)


def test_friction_that_gives_energy_speaks_against_a_sign() -> None:
    right, wrong = COMPARISON.fit(PLAIN, GOOD), COMPARISON.fit(PLAIN.with_effort_flipped(0), GOOD)
    assert np.all(right.friction_sign > 0.0)
    assert wrong.friction_sign[0] < 0.0
    assert abs(right.friction_sign[0]) < 1.0 / FRICTION_DOUBT


def test_what_the_model_expects_and_how_efforts_follow_it() -> None:
    model = ROBOT.inverse_dynamics(MOTION.q, MOTION.dq, MOTION.ddq) + ROBOT.rotor_inertia * MOTION.ddq
    np.testing.assert_allclose(COMPARISON.expected(PLAIN), model.std(axis=0), rtol=1e-9)
    still = replace(PLAIN, compensated=True)
    np.testing.assert_allclose(
        COMPARISON.expected(still), (model - ROBOT.gravity(MOTION.q)).std(axis=0), rtol=1e-6, atol=1e-9
    )
    follows = [np.corrcoef(MOTION.effort[:, joint], model[:, joint])[0, 1] for joint in range(3)]
    np.testing.assert_allclose(COMPARISON.correlation(PLAIN), follows, rtol=1e-9)
    turned = COMPARISON.correlation(PLAIN.with_effort_flipped(1))
    np.testing.assert_allclose(turned, np.array(follows) * [1.0, -1.0, 1.0], rtol=1e-9)
    crossed = np.corrcoef(MOTION.effort[:, 2], model[:, 0])[0, 1]
    assert COMPARISON.correlation(PLAIN.with_channels(effort=swapped(3, 0, 2)))[0] == pytest.approx(crossed, rel=1e-9)


def test_gravity_is_found_from_efforts_within_its_covariance() -> None:
    """Along a planar arm's own axis nothing shows: the doubt there is the prior's."""
    vector, covariance = COMPARISON.gravity(PLAIN, GOOD)
    doubt = np.sqrt(np.diag(covariance))
    true = np.array(PLAIN.gravity_base)
    assert np.all(np.abs(vector - true) < 3.0 * doubt)
    assert doubt.min() < 2.0
    assert doubt.max() > 9.0


def test_a_payload_is_weighed_within_its_spread() -> None:
    heavy = ROBOT.with_payload(1.5, com=(0.05, 0.0, 0.0))
    effort = heavy.inverse_dynamics(MOTION.q, MOTION.dq, MOTION.ddq) + ROBOT.rotor_inertia * MOTION.ddq
    effort += 0.03 * effort.std(axis=0) * np.random.default_rng(1).normal(size=effort.shape)
    comparison = ReadingComparison(SignalColumns(ROBOT, replace(MOTION, effort=effort)))
    fit = comparison.best(replace(PLAIN, loaded=frozenset({2})))
    value, doubt = fit.payload[2]
    assert abs(value[0] - 1.5) < 3.0 * doubt[0] < 0.7
    assert fit.evidence > comparison.best(PLAIN).evidence + 20.0


def test_dead_efforts_are_left_out() -> None:
    alive = np.array([True, False, True])
    effort = MOTION.effort.copy()
    effort[:, 1] = np.nan
    fit = ReadingComparison(SignalColumns(ROBOT, replace(MOTION, effort=effort, alive=alive))).fit(PLAIN, GOOD)
    assert np.isfinite(fit.evidence)
    assert np.isnan(fit.residue[1])
    assert np.all(np.isfinite(fit.residue[[0, 2]]))
    assert fit.alive.tolist() == alive.tolist()


def test_what_is_left_is_never_less_than_no_model_explains() -> None:
    """Efforts that the model gives exactly are not taken for infinitely sure."""
    effort = ROBOT.inverse_dynamics(MOTION.q, MOTION.dq, MOTION.ddq) + ROBOT.rotor_inertia * MOTION.ddq
    fit = ReadingComparison(SignalColumns(ROBOT, replace(MOTION, effort=effort))).fit(PLAIN, GOOD)
    np.testing.assert_allclose(fit.residue, RESIDUE * fit.scale, rtol=0.03)


def test_columns_are_where_the_gram_says() -> None:
    gram = COMPARISON.gram(PLAIN)
    ones = gram.own[OWN.index("offset")]
    weight = ROBOT.gravity(MOTION.q)
    np.testing.assert_allclose(gram.products[:, gram.weight, ones], weight.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(gram.products[:, gram.weight, gram.weight], (weight**2).mean(axis=0), atol=1e-9)
    np.testing.assert_allclose(
        gram.products[0, gram.first_effort : gram.first_effort + 3, ones], MOTION.effort.mean(axis=0)
    )
    units = gram.products[:, list(gram.unit_gravity), ones] @ np.array(PLAIN.gravity_base)
    np.testing.assert_allclose(units, weight.mean(axis=0), atol=1e-12)
    assert gram.payload(2) == range(gram.weight + 4, gram.weight + 8)
    assert gram.products.shape[1] == gram.first_effort + 3
