"""A term is one class: everything else asks it. New terms are fitted, saved and found by their own evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.fitting import (
    ActuatorTerm,
    EffortModel,
    EffortTerm,
    Evaluation,
    JointTerm,
    Samples,
    Scales,
    Terms,
    at_rest,
    column_unit,
    joined_samples,
    prior_of,
    registered,
    registered_terms,
    term,
)
from counterpoise.foundation import Array
from counterpoise.identification.runs import FittedRun
from counterpoise.identification.weighted import WeightedFit, weighted_fit
from library.random_robots import random_robot
from library.simulated_motion import motion, other_masses, recording

CAD = cp.load("wam4")
TRUE = other_masses(CAD, 1)
COULOMB = np.array([1.0, 1.5, 0.8, 0.6])
NEW = ("load_friction", "stribeck", "drift")


def made(extra: Callable[[Samples], Array], *, noise: float = 0.02, seconds: float = 40.0) -> Samples:
    """Samples of an arm with Coulomb friction, noise, and something more."""
    time, q, dq, ddq = (rows[::5] for rows in motion(CAD, 3, seconds))
    tau = TRUE.inverse_dynamics(q, dq, ddq) + COULOMB * np.tanh(dq / 0.02)
    tau += noise * np.random.default_rng(4).normal(size=tau.shape)
    samples = Samples(CAD.joint_names, 1e4 + time, q, dq, ddq, tau, np.full(4, 0.02))
    return replace(samples, tau=tau + extra(samples))


def lost(samples: Samples) -> Array:
    """What gears lose that waste 20 % at the second joint."""
    load = TRUE.inverse_dynamics(samples.q, samples.dq, samples.ddq)
    return np.array([0.0, 0.2, 0.0, 0.0]) * np.abs(load) * np.tanh(samples.dq / 0.02)


def sticking(samples: Samples) -> Array:
    """Friction at low speed that is 0.9 N m larger at the first joint."""
    rise = np.exp(-((samples.dq / 0.1) ** 2)) * np.tanh(samples.dq / 0.02)
    return np.array([0.9, 0.0, 0.0, 0.0]) * rise


def warming(samples: Samples) -> Array:
    """A sensor of the third joint that drifts by 2 N m in the recording."""
    return np.array([0.0, 0.0, 0.05, 0.0]) * (samples.time - samples.time[0])[:, None]


CASES = (("load_friction", lost, 1, 0.2), ("stribeck", sticking, 0, 0.9), ("drift", warming, 2, 0.05))


def estimate(fit: WeightedFit, name: str) -> float:
    return float(fit.x[fit.model.names.index(name)])


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """The registered terms, which a test may add to."""
    registered_terms()
    monkeypatch.setattr(term, "_REGISTERED", dict(term._REGISTERED))


@pytest.mark.parametrize(("name", "extra", "joint", "expected"), CASES, ids=NEW)
def test_a_new_term_finds_what_was_put_in(
    name: str, extra: Callable[[Samples], Array], joint: int, expected: float
) -> None:
    """At its joint the true value, elsewhere nothing; and the errors that are left are the noise."""
    samples = made(extra)
    fit = weighted_fit(CAD, samples, terms=Terms.moving().replace(**{name: ("all",)}))
    values = fit.model.per_joint(name, fit.x)
    assert values[joint] == pytest.approx(expected, rel=0.05)
    assert np.all(np.abs(np.delete(values, joint)) < 0.05 * expected)
    left = samples.tau - fit.model.predict(samples, fit.x)
    assert np.sqrt(np.mean(left[:, joint] ** 2)) == pytest.approx(0.02, rel=0.1)
    without = weighted_fit(CAD, samples)
    missed = samples.tau - without.model.predict(samples, without.x)
    assert np.sqrt(np.mean(missed[:, joint] ** 2)) > 0.03


@pytest.mark.parametrize(("name", "extra", "joint", "expected"), CASES, ids=NEW)
def test_a_term_is_tried_by_evidence_where_it_is_switched_on(
    name: str, extra: Callable[[Samples], Array], joint: int, expected: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It joins the model at the joint that shows it, at no other, and not without the switch."""
    samples = made(extra)
    assert not getattr(weighted_fit(CAD, samples, search=True).model.terms, name)
    monkeypatch.setattr(type(term.term_named(name)), "tried", True)
    fit = weighted_fit(CAD, samples, search=True)
    assert getattr(fit.model.terms, name) == (CAD.joint_names[joint],)
    assert estimate(fit, f"{CAD.joint_names[joint]}.{name}") == pytest.approx(expected, rel=0.05)
    assert not getattr(weighted_fit(CAD, made(plain), search=True).model.terms, name)
    again = weighted_fit(CAD, samples[::2], search=True, like=fit)
    assert again.model.terms == fit.model.terms


def plain(samples: Samples) -> Array:
    """Nothing more."""
    return np.zeros(samples.tau.shape)


def test_no_term_but_springs_is_tried_unasked() -> None:
    """Automatic trial of others changes what calibrations state; a study of their certificates must come first."""
    assert {one.name for one in registered_terms() if one.tried} == {"spring", "counterbalance"}


def test_friction_terms_say_nothing_at_rest_nor_does_a_drift() -> None:
    """The efforts that hold an arm are what they would be without them."""
    terms = Terms.moving().replace(**dict.fromkeys(NEW, ("all",)))
    model = EffortModel(CAD, terms, np.ones(4, dtype=bool), np.eye(4))
    x = model.start()
    for name in NEW:
        x[model.groups[name]] = 1.0
    poses = np.random.default_rng(5).uniform(-1.0, 1.0, (6, 4))
    assert np.allclose(model.predict(at_rest(CAD, poses), x), CAD.gravity(poses), atol=1e-9)


def test_a_drift_counts_from_the_beginning_of_its_recording() -> None:
    """Whatever the clock says, and in a part of the recording too."""
    samples = made(plain)
    model = EffortModel(CAD, Terms(drift=("all",)), np.ones(4, dtype=bool), np.eye(4))
    rows, _ = model.rows(samples, model.start())
    elapsed = rows[:, 0, model.groups["drift"].start]
    assert np.allclose(elapsed, samples.time - samples.time[0])
    part = samples[len(samples) // 2 :]
    rows, _ = model.rows(part, model.start())
    assert np.allclose(rows[:, 0, model.groups["drift"].start], elapsed[len(samples) // 2 :])


def test_time_runs_on_in_a_stream_and_begins_anew_with_the_next_recording() -> None:
    """Pieces of a stream know nothing of each other; joined recordings are still two."""
    samples = made(plain)
    expected = samples.time - samples.time[0]
    pieces = [replace(samples[start : start + 300], elapsed=np.zeros(0)) for start in range(0, len(samples), 300)]
    streamed = [chunk.elapsed for chunk in FittedRun(lambda: pieces).chunks()]
    assert np.allclose(np.concatenate(streamed), expected)
    joined = joined_samples([samples, samples])
    assert np.allclose(joined.elapsed, np.tile(expected, 2))
    assert np.all(np.diff(joined.time) > 0.0)


def test_a_gear_does_not_transmit_what_a_counterbalance_holds() -> None:
    """Load friction is that of the load that is left; of coupled drives each carries its part."""
    robot = random_robot(2, joints=4, loads=False).robot()
    samples = Samples(
        robot.joint_names, *(rows[::50] for rows in motion(robot, 2)), np.zeros_like(motion(robot, 2)[1][::50]),
        np.full(robot.n, 0.05), motor_per_link=np.eye(robot.n) + 0.4 * np.eye(robot.n, k=1),
    )  # fmt: skip
    terms = Terms(load_friction=("all",), spring=(robot.joint_names[0],))
    model = EffortModel(robot, terms, samples.active, samples.actuator_per_link)
    x = model.start()
    x[model.groups["spring"]] = 3.0
    x[model.groups["load_friction"]] = mu = np.array([0.1, 0.2, 0.3, 0.4])
    links = robot.inverse_dynamics(samples.q, samples.dq, samples.ddq)
    links[:, 0] += 3.0 * samples.q[:, 0]
    speed = samples.dq @ model.coupling.T
    transmitted = np.linalg.solve(model.coupling.T, links.T).T
    friction = (mu * np.abs(transmitted) * np.tanh(speed / 0.05)) @ model.coupling
    assert np.allclose(model.predict(samples, x), links + friction, atol=1e-9)


def test_a_term_of_ones_own_is_all_that_a_fit_needs(registry: None, tmp_path: Path) -> None:
    """A toy term, made here and nowhere else: fitted, named, saved, read again, and asked for on the command line."""

    @registered
    class ThirdHarmonic(JointTerm):
        """A cogging of three periods a turn."""

        name = "third_harmonic"
        number = 1000
        label = "third harmonics"
        summary = "a cogging of three periods a turn"
        acts_at_rest = True
        rotary_only = True

        def shapes(self, at: Evaluation) -> tuple[Array, ...]:
            return (np.sin(3.0 * at.samples.q),)

    joint = CAD.joint_names[1]
    q = motion(CAD, 2, 30.0)[1]
    log = recording(TRUE, 2, coulomb=COULOMB, noise=0.05, seconds=30.0, extra=0.8 * np.sin(3.0 * q) * [0, 1, 0, 0])
    terms = Terms.moving().replace(third_harmonic=(joint,))
    fit = cp.calibrate(CAD, log, use="moving", terms=terms, findings=())
    (number,) = [one for one in fit.parameters if one.name == f"{joint}.third_harmonic"]
    assert number.value == pytest.approx(0.8, rel=0.05)
    assert abs(number.value - 0.8) < 4.0 * number.std
    assert number.unit == "N m" == column_unit(CAD, number.name)
    again = cp.load_calibration(fit.save(tmp_path / "arm.calibration.json"), CAD)
    assert again.model.terms == fit.model.terms
    assert np.array_equal(again.x, fit.x)


def test_a_term_that_follows_the_position_is_tried_beside_springs(registry: None) -> None:
    """Two unknowns a joint: their evidence is that of both together, and no spring takes their place."""

    @registered
    class EightTimesATurn(JointTerm):
        name = "eight_a_turn"
        number = 1000
        label = "eighth harmonics"
        summary = "a cogging of eight periods a turn"
        quantities = ("eighth_cosine", "eighth_sine")
        acts_at_rest = True
        follows_position = True
        tried = True

        def shapes(self, at: Evaluation) -> tuple[Array, ...]:
            return np.cos(8.0 * at.samples.q), np.sin(8.0 * at.samples.q)

    samples = made(lambda samples: 0.6 * np.cos(8.0 * samples.q + 0.4) * [0.0, 0.0, 1.0, 0.0])
    fit = weighted_fit(CAD, samples, search=True)
    assert fit.model.terms.eight_a_turn == (CAD.joint_names[2],)
    assert not fit.model.terms.spring
    assert estimate(fit, f"{CAD.joint_names[2]}.eighth_cosine") == pytest.approx(0.6 * np.cos(0.4), abs=0.02)
    assert estimate(fit, f"{CAD.joint_names[2]}.eighth_sine") == pytest.approx(-0.6 * np.sin(0.4), abs=0.02)


def test_terms_that_share_a_name_a_number_or_a_quantity_are_refused(registry: None) -> None:
    """Numbers decide the order of unknowns in files."""
    taken: list[dict[str, object]] = [
        {"name": "offset", "number": 1001},
        {"name": "own", "number": 2},
        {"name": "own", "number": 1001, "quantities": ("sine",)},
    ]
    for members in taken:
        with pytest.raises(cp.InputError, match="has the name, the number or a quantity of term"):
            registered(type("OwnTerm", (ActuatorTerm,), members))


@pytest.mark.parametrize("one", registered_terms(), ids=lambda one: one.name)
def test_a_term_answers_every_question(one: EffortTerm) -> None:
    """Names, start, prior and columns of every term have one entry an unknown, with a unit each."""
    robot = cp.load("wam7")
    chosen = {one.name: one.default or one.asked_for(())}
    time, q, dq, ddq = (rows[::100] for rows in motion(robot, 1))
    samples = Samples(robot.joint_names, time, q, dq, ddq, np.ones(q.shape), np.full(7, 0.05))
    model = EffortModel(robot, Terms(**chosen), samples.active, np.eye(7))
    size = len(one.names(model))
    assert size == len(model.names[model.groups[one.name]]) > 0
    scales = Scales(*(np.ones(7) for _ in range(4)))
    start = model.start()
    assert prior_of(model, 1.0, scales, start).root.shape[1] == len(start)
    at = Evaluation(model, samples, start, model.rigid_body(start))
    assert one.columns(at).shape == (len(samples), 7, size)
    for name in one.names(model):
        assert name.rpartition(".")[2] in one.quantities
        assert column_unit(robot, name) or one.name == "load_friction"
    assert one.label and one.summary


@pytest.mark.parametrize("one", registered_terms(), ids=lambda one: one.name)
def test_a_term_says_where_it_acts_at_rest(one: EffortTerm) -> None:
    """Of terms that add efforts beside the weight: those at rest, and whether they are others at another pose."""
    if one.adjusts or one.name == "bodies":
        pytest.skip("it is in the weight")
    robot = cp.load("wam7")
    q = np.random.default_rng(6).uniform(-1.0, 1.0, (6, 7))
    still = np.zeros_like(q)
    samples = Samples(robot.joint_names, np.zeros(6), q, still, still, np.ones(q.shape), np.full(7, 0.05))
    model = EffortModel(robot, Terms(**{one.name: one.asked_for(())}), samples.active, np.eye(7))
    start = model.start()
    columns = one.columns(Evaluation(model, samples, start, model.rigid_body(start)))
    if one.friction:  # how much of it acts at rest, and to which side, no position tells
        return
    assert columns.any() == one.acts_at_rest
    assert (np.ptp(columns, axis=0).max() > 0.0) == one.follows_position


def test_unknown_terms_are_refused_and_terms_are_values() -> None:
    """A name that is no term says which there are; equal choices are equal."""
    with pytest.raises(cp.InputError, match="no term 'springs'; there are bodies, offset"):
        Terms(springs=("all",))
    with pytest.raises(cp.InputError, match="tilt is 1; expected True or False"):
        Terms(tilt=1)
    with pytest.raises(AttributeError, match="springs"):
        _ = Terms().springs
    assert Terms(tilt=False, spring=()) == Terms() != Terms(tilt=True)
    assert hash(Terms(tilt=True)) == hash(Terms().replace(tilt=True))
    assert repr(Terms(bodies="gravity", spring=("a",))) == "Terms(bodies='gravity', spring=('a',))"
    assert Terms().replace(gain=("all",)).gain == ("all",)
    assert not Terms(offset=("all",), bodies="gravity").need_motion
    assert Terms(offset=("all",), bodies="gravity", drift=("all",)).need_motion
    assert Terms(load_friction=("all",)).linear and not Terms(zero=("all",)).linear
