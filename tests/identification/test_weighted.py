"""The weighted fit finds what it was given, leans on the prior where data are silent, and refuses the impossible."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.fitting import (
    CadPrior,
    EffortModel,
    Samples,
    Terms,
    at_rest,
    is_consistent,
    registered_terms,
    root_mean_square,
    samples_of_poses,
    static_poses,
)
from counterpoise.identification import runs
from counterpoise.identification.heldout import split_samples
from counterpoise.identification.moving import moving_samples, prepare, stream_samples
from counterpoise.identification.runs import FittedRun, RepeatedRun, survey_runs
from counterpoise.identification.weighted import (
    WeightedFit,
    _iterate,
    _Task,
    _tried_terms,
    _with_best_drives,
    weighted_fit,
)
from counterpoise.recording import Declared
from library.simulated_motion import motion, other_masses, recording

CAD = cp.load("wam4")
TRUE = other_masses(CAD, 1)
COULOMB, VISCOUS = np.array([1.0, 1.5, 0.8, 0.6]), np.array([0.5, 0.8, 0.3, 0.2])
OFFSET, ROTOR = np.array([0.3, -0.2, 0.1, 0.0]), np.array([0.2, 0.15, 0.1, 0.05])


def exact_samples(robot: cp.Robot, seed: int, seconds: float = 20.0) -> Samples:
    """Samples without any filtering: every number is the model's own."""
    time, q, dq, ddq = motion(robot, seed, seconds)
    tau = robot.inverse_dynamics(q, dq, ddq) + COULOMB * np.tanh(dq / 0.05) + VISCOUS * dq + OFFSET + ROTOR * ddq
    every = slice(None, None, 5)
    return Samples(robot.joint_names, time[every], q[every], dq[every], ddq[every], tau[every], np.full(4, 0.05))


def value(fit: WeightedFit, name: str) -> float:
    """One number of the estimate, e.g. "elbow.coulomb"."""
    return float(fit.x[fit.model.names.index(name)])


def rms(fit: WeightedFit, samples: Samples) -> np.ndarray:
    """Root mean square of what the fit leaves of the efforts."""
    return root_mean_square(samples.tau - fit.model.predict(samples, fit.x))


@pytest.fixture(scope="module")
def samples(log: cp.Log) -> Samples:
    return moving_samples(CAD, log)


@pytest.fixture(scope="module")
def fitted(samples: Samples) -> WeightedFit:
    """The recording fitted with default settings."""
    return weighted_fit(CAD, samples)


@pytest.fixture(scope="module")
def log() -> cp.Log:
    """A recording of an arm that is not quite its CAD model, with friction, drives and noise."""
    return recording(
        TRUE, 2, coulomb=COULOMB, viscous=VISCOUS, offset=OFFSET, rotor=ROTOR, noise=0.05, v0=0.01, seconds=30.0
    )


def test_exact_data_are_predicted_exactly_elsewhere() -> None:
    """Without noise and prior the fit is right to 1e-6 N m on a motion it has never seen."""
    fit = weighted_fit(CAD, exact_samples(TRUE, 1), terms=Terms.moving(), prior=None)
    other = exact_samples(TRUE, 2)
    assert np.abs(fit.model.predict(other, fit.x) - other.tau).max() < 1e-6
    for name, expected in zip(CAD.joint_names, COULOMB, strict=True):
        assert value(fit, f"{name}.coulomb") == pytest.approx(expected, abs=1e-6)
    assert fit.prior_source == "" and np.all(fit.data_share == 1.0)
    assert fit.solution.undetermined.shape[1] > 0 and not fit.command_units


def test_a_recorded_arm_is_found_through_filter_and_noise(samples: Samples) -> None:
    """Default settings on a noisy recording: held-out errors near the noise, friction near the truth."""
    split = split_samples(samples)
    fit = weighted_fit(CAD, samples[split.train])
    before = np.sqrt(np.mean((samples.tau - CAD.inverse_dynamics(samples.q, samples.dq, samples.ddq)) ** 2, axis=0))
    assert np.all(rms(fit, samples[split.held]) < 0.15) and np.all(rms(fit, samples[split.held]) < 0.2 * before)
    names = CAD.joint_names
    assert [value(fit, f"{name}.coulomb") for name in names] == pytest.approx(COULOMB.tolist(), rel=0.15)
    assert "CAD values" in fit.prior_source
    assert np.all(fit.posterior.autocorrelation_time >= 1.0)


def test_what_the_data_do_not_show_stays_at_the_cad_values() -> None:
    """The elbow stands: its inertia comes from the prior, and data_share says so; the shoulder's comes from data."""
    time, q, dq, ddq = motion(TRUE, 3)
    for rows in (q, dq, ddq):
        rows[:, 2:] = rows[0, 2:] if rows is q else 0.0
    tau = TRUE.inverse_dynamics(q, dq, ddq) + 0.02 * np.random.default_rng(0).normal(size=q.shape)
    fit = weighted_fit(CAD, Samples(CAD.joint_names, time, q, dq, ddq, tau, np.full(4, 0.05), cutoff=2.0, rate=100.0))
    share = dict(zip(fit.model.names, fit.data_share, strict=True))
    elbow = CAD.joint_names[3]
    assert share[f"{elbow}.coulomb"] < 0.01 and abs(value(fit, f"{elbow}.coulomb")) < 1e-9
    assert share[f"{CAD.joint_names[1]}.mx"] > 0.5
    # Away from the data the fit is no worse than a little more than the CAD model.
    _, q2, dq2, ddq2 = motion(TRUE, 4)
    there = Samples(CAD.joint_names, time, q2, dq2, ddq2, TRUE.inverse_dynamics(q2, dq2, ddq2), np.full(4, 0.05))
    cad = np.sqrt(np.mean((there.tau - CAD.inverse_dynamics(q2, dq2, ddq2)) ** 2, axis=0))
    assert np.all(rms(fit, there) < 1.5 * cad + 0.3)


def test_a_stronger_prior_pulls_harder(samples: Samples) -> None:
    """The estimate moves from the data's towards the CAD values as the prior's weight grows."""
    away = []
    for prior_weight in (1.0, 1e4, 1e8):
        fit = weighted_fit(CAD, samples, prior=CadPrior(prior_weight))
        # The last body may carry a tool, of which no weight is sure.
        away.append(np.abs(fit.model.body_values(fit.x)[:-10] - CAD.inertial_parameters[10:-10]).max())
    assert away[0] > away[1] > away[2] and away[2] < 1e-3


def test_outliers_do_not_bend_the_fit(samples: Samples, fitted: WeightedFit) -> None:
    """Touching the arm for a second leaves the fit where it was; a plain fit is bent."""
    tau = np.array(samples.tau)
    tau[100:120] += 40.0
    touched = replace(samples, tau=tau)
    clean = rms(fitted, samples)
    robust, plain = (rms(weighted_fit(CAD, touched, robust=flag), samples) for flag in (True, False))
    assert np.all(robust < 2.0 * clean + 0.01)
    assert plain.max() > 10.0 * robust.max()


def test_a_gain_is_separated_from_mass_by_a_weighed_load() -> None:
    """Efforts in amperes: with a second run under a known load, gains and masses come out right."""
    gain = np.array([0.05, 0.04, 0.08, 0.1])
    loaded_cad, loaded = (robot.with_payload(3.0, com=(0.0, 0.05, 0.1)) for robot in (CAD, TRUE))
    recorded = []
    for seed, true, cad in ((5, TRUE, None), (6, loaded, loaded_cad)):
        samples = exact_samples(true, seed)
        recorded.append(FittedRun(replace(samples, tau=samples.tau * gain), cad))
    terms = Terms.moving(Declared(effort_kind="current"))
    assert terms.gain == ("all",)
    alone = weighted_fit(CAD, recorded[:1], terms=terms)
    both = weighted_fit(CAD, recorded, terms=terms)
    assert alone.command_units and not both.command_units
    found = both.x[both.model.groups["gain"]]
    assert found == pytest.approx(gain, rel=0.02)
    other = exact_samples(TRUE, 7)
    assert np.all(rms(both, replace(other, tau=other.tau * gain)) < 0.01 * np.std(other.tau * gain, axis=0))


def test_a_reversed_effort_is_named() -> None:
    samples = exact_samples(TRUE, 5)
    tau = samples.tau * np.array([1.0, -1.0, 1.0, 1.0])
    with pytest.raises(cp.InputError, match=f"{CAD.joint_names[1]}.gain comes out as"):
        weighted_fit(CAD, replace(samples, tau=tau), terms=Terms(gain=("all",), coulomb=("all",), offset=("all",)))


def test_a_small_weight_that_is_described_upside_down_is_no_reversed_effort() -> None:
    """Friction is most of the last joint's effort; its described weight has the wrong sign, and its gain stays free."""
    samples = exact_samples(TRUE, 5)
    tau = 0.1 * samples.tau
    against = TRUE.gravity(samples.q)[:, -1]
    tau[:, -1] = 0.1 * (10.0 * np.std(against) * np.tanh(samples.dq[:, -1] / 0.05) - 0.5 * against)
    terms = Terms.moving(Declared(effort_kind="current"))
    fit = weighted_fit(CAD, replace(samples, tau=tau), terms=terms)
    assert np.all(fit.x[fit.model.groups["gain"]][:-1] > 0.0)
    assert np.all(rms(fit, replace(samples, tau=tau)) < 0.1 * np.std(tau, axis=0))


def test_few_poses_in_currents_tell_their_gains() -> None:
    """Twelve rows are twelve measurements, not an eighth of that as samples of a motion are."""
    random = np.random.default_rng(3)
    q = random.uniform(-1.0, 1.0, (12, CAD.n))
    size = np.std(TRUE.gravity(q), axis=0)
    tau = 0.05 * (TRUE.gravity(q) + 0.4 * size * random.standard_normal(q.shape))
    samples = samples_of_poses(static_poses(CAD.joint_names, q, tau))
    fit = weighted_fit(CAD, samples, terms=Terms.static().replace(gain=("all",)))
    assert fit.command_units
    loaded = size > 0.2 * size.max()
    gains = fit.model.gains(fit.x)
    assert np.all(np.abs(np.log(gains[loaded] / 0.05)) < 0.5)


def test_drives_are_made_to_suit_the_bodies_where_averages_explain_too_little(
    samples: Samples, fitted: WeightedFit
) -> None:
    """An estimate whose averaged friction is far off keeps its bodies, and gets the drives of least squares."""
    state = _iterate(_task_of(samples), 1)
    wrong = np.array(fitted.x)
    wrong[fitted.model.groups["coulomb"]] *= 5.0
    fixed = _with_best_drives(fitted.model, state, wrong)
    bodies = fitted.model.groups["bodies"]
    np.testing.assert_array_equal(fixed[bodies], wrong[bodies])
    errors = [root_mean_square(samples.tau - fitted.model.predict(samples, x)) for x in (fitted.x, fixed, wrong)]
    assert np.all(errors[1] <= 1.05 * errors[0]) and np.all(errors[2] > 2.0 * errors[1])


def _task_of(samples: Samples) -> _Task:
    runs_of = [RepeatedRun(FittedRun(samples))]
    survey = survey_runs(CAD, runs_of)
    columns = EffortModel(CAD, Terms.moving(), survey.active, survey.coupling)
    return _Task(columns, runs_of, [None], columns.start(), survey.scales(CAD), CadPrior(), True, True)


def test_a_joints_zero_is_found_by_gauss_newton() -> None:
    """The shoulder's zero is off by 0.03 rad: the joints beyond it see gravity from another side."""
    time, q, dq, ddq = motion(TRUE, 8)
    tau = TRUE.inverse_dynamics(q, dq, ddq)
    samples = Samples(CAD.joint_names, time, q - [0.0, 0.03, 0.0, 0.0], dq, ddq, tau, np.full(4, 0.05))
    shoulder = CAD.joint_names[1]
    fit = weighted_fit(CAD, samples[::5], terms=Terms(zero=(shoulder,)))
    assert value(fit, f"{shoulder}.zero") == pytest.approx(0.03, abs=1e-4)
    assert np.abs(fit.model.predict(samples, fit.x) - tau).max() < 1e-3


def test_a_leaning_base_is_found_by_gauss_newton() -> None:
    time, q, dq, ddq = motion(TRUE, 8)
    tau = TRUE.mounted(rpy=(0.05, 0.0, 0.0)).inverse_dynamics(q, dq, ddq)
    samples = Samples(CAD.joint_names, time, q, dq, ddq, tau, np.full(4, 0.05))
    fit = weighted_fit(CAD, samples[::5], terms=Terms(tilt=True))
    assert np.hypot(value(fit, "tilt.first"), value(fit, "tilt.second")) == pytest.approx(0.05, abs=1e-4)
    assert np.abs(fit.model.predict(samples, fit.x) - tau).max() < 1e-3


@pytest.mark.parametrize("angle", [0.0, 0.03])
def test_a_tilt_that_shows_well_enters_the_model(angle: float) -> None:
    """Nobody declared that the base leans: the angle is found, and the masses do not take it up."""
    stands = TRUE.mounted(rpy=(0.0, angle, 0.0))
    drives = {"coulomb": COULOMB, "viscous": VISCOUS, "rotor": ROTOR, "noise": 0.1}
    samples, other = (moving_samples(CAD, recording(stands, seed, **drives)) for seed in (2, 3))
    fit = weighted_fit(CAD, samples, search=True)
    assert fit.model.terms.tilt == ((-1, "tilt") in fit.posterior.shown) == (angle > 0.0)
    if angle:
        found = np.hypot(value(fit, "tilt.first"), value(fit, "tilt.second"))
        assert found == pytest.approx(angle, abs=0.1 * angle)
        level = weighted_fit(CAD, samples)
        assert np.linalg.norm(rms(level, other)) > 1.2 * np.linalg.norm(rms(fit, other))


@pytest.mark.parametrize("bent", [False, True])
def test_a_cable_has_harmonics_and_the_model_its_nearest_spring(bent: bool) -> None:
    """A cable at the last joint that no sine describes is no weight; the model explains it as well as it can."""
    _, q, _, _ = motion(CAD, 2)
    angle = q[:, 3]
    torque = 3.0 * angle + (2.0 * np.cos(2.0 * angle) - 1.5 * np.sin(3.0 * angle) if bent else 0.0)
    extra = np.outer(torque, [0.0, 0.0, 0.0, 1.0])
    drives = {"coulomb": COULOMB, "viscous": VISCOUS, "rotor": ROTOR, "noise": 0.1}
    samples = moving_samples(CAD, recording(TRUE, 2, extra=extra, **drives))
    fit = weighted_fit(CAD, samples, search=True)
    assert fit.posterior.springs == [3]
    assert ((3, "harmonic") in fit.posterior.shown) is bent
    shapes = np.column_stack([np.ones_like(angle), angle, np.cos(angle), np.sin(angle)])
    least = np.std(torque - shapes @ np.linalg.lstsq(shapes, torque, rcond=None)[0])
    assert rms(fit, samples)[3] < 1.1 * least + 0.1
    plain = weighted_fit(CAD, moving_samples(CAD, recording(TRUE, 2, **drives)))
    weights = [
        root_mean_square(
            (CAD.gravity_regressor(q) @ (one.model.body_values(one.x).reshape(4, 10)[:, :4].ravel())) - TRUE.gravity(q)
        )
        for one in (fit, plain)
    ]
    assert np.all(weights[0][:3] < 1.5 * weights[1][:3] + 0.05)


def test_a_spring_is_found_where_it_is_asked_for() -> None:
    samples = exact_samples(TRUE, 9)
    name = CAD.joint_names[0]
    tau = samples.tau + np.outer(7.0 * samples.q[:, 0], [1.0, 0.0, 0.0, 0.0])
    fit = weighted_fit(CAD, replace(samples, tau=tau), terms=Terms.moving().replace(spring=(name,)))
    assert value(fit, f"{name}.spring") == pytest.approx(7.0, rel=1e-2)


def test_static_poses_are_fitted_with_gravity_terms() -> None:
    """At rest the default terms are weights and offsets; asking for inertia is refused."""
    q = np.random.default_rng(1).uniform(-1.5, 1.5, (60, 4))
    samples = samples_of_poses(static_poses(CAD.joint_names, q, TRUE.gravity(q) + OFFSET))
    fit = weighted_fit(CAD, samples)
    other = np.random.default_rng(2).uniform(-1.5, 1.5, (30, 4))
    there = samples_of_poses(static_poses(CAD.joint_names, other, TRUE.gravity(other) + OFFSET))
    assert np.all(rms(fit, there) < 5e-3)
    assert np.all(fit.posterior.autocorrelation_time == 1.0)
    with pytest.raises(cp.InputError, match="nothing moves"):
        weighted_fit(CAD, samples, terms=Terms.moving())


def test_a_stream_gives_the_fit_of_the_whole_in_bounded_memory(log: cp.Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four times the recording, streamed anew on every pass, needs no more memory than one, and gives the same fit."""
    monkeypatch.setattr(runs, "KEPT_BYTES", 10_000)
    chosen = prepare(CAD, log)
    pieces = [log[start : start + 1000] for start in range(0, len(log), 1000)]

    def streamed(times: int) -> tuple[float, np.ndarray]:
        def again():  # type: ignore[no-untyped-def]
            for turn in range(times):
                shifted = (replace(piece, time=piece.time + 1000.0 * turn) for piece in pieces)
                yield from stream_samples(CAD, shifted, preparation=chosen)

        tracemalloc.start()
        try:
            fit = weighted_fit(CAD, FittedRun(again), prior=CadPrior(1.0))
            return tracemalloc.get_traced_memory()[1], fit.x
        finally:
            tracemalloc.stop()

    once, x = streamed(1)
    often = min(streamed(4)[0] for _ in range(2))  # what measures coverage takes memory too, once
    whole = weighted_fit(CAD, moving_samples(CAD, log, preparation=chosen), prior=CadPrior(1.0))
    assert np.all(np.abs(x - whole.x) < 0.02 * whole.solution.std + 2e-3)
    assert often < 1.2 * once


def test_consistent_parameters_are_real_bodies_and_fit_nearly_as_well(samples: Samples, fitted: WeightedFit) -> None:
    """Every body's pseudo-inertia is positive, on request and only with a prior."""
    fit = weighted_fit(CAD, samples, consistent=True)
    assert is_consistent(fit.model.body_values(fit.x).reshape(-1, 10))
    assert np.all(rms(fit, samples) < 1.3 * rms(fitted, samples) + 0.02)
    with pytest.raises(cp.InputError, match="need a prior"):
        weighted_fit(CAD, samples, prior=None, consistent=True)


def test_runs_that_do_not_belong_together_are_refused(samples: Samples) -> None:
    with pytest.raises(cp.InputError, match="expected those of robot"):
        weighted_fit(cp.load("puma560"), samples)
    coupled = replace(samples, motor_per_link=np.eye(4) + np.diag([0.0, 0.0, 0.5], 1))
    with pytest.raises(cp.InputError, match="different couplings"):
        weighted_fit(CAD, [FittedRun(samples), FittedRun(coupled)])
    with pytest.raises(cp.InputError, match="no samples with a measured effort"):
        weighted_fit(CAD, replace(samples, tau=np.full_like(samples.tau, np.nan)))


@pytest.mark.parametrize("away", [0.0, 0.3, 2.0, 10.0])
def test_the_stated_error_bounds_the_error_of_efforts_that_are_off_the_mean(fitted: WeightedFit, away: float) -> None:
    """By simulation of the posterior: 95 % of the errors of given efforts are below what is stated of them."""
    posterior = replace(fitted.posterior, widened=np.ones(4))
    q = posterior.poses[::10]
    rows, start = posterior.rows(q)
    wide = [posterior.placed(rows, joint, offset=False) for joint in range(4)]
    mean = start + np.stack([part @ posterior.mean for part in wide], axis=1)
    random = np.random.default_rng(0)
    deviation = np.sqrt(np.mean(posterior.load(q)[1] ** 2, axis=0))
    efforts = mean + away * deviation
    stated = posterior.error_of(q, efforts)
    drawn = random.multivariate_normal(np.zeros(len(posterior.mean)), posterior.covariance, 4000, method="svd")
    for joint in (1, 2, 3):
        missed = efforts[:, joint] - mean[:, joint] - drawn @ wide[joint].T
        below = np.mean(np.sqrt(np.mean(missed**2, axis=1)) <= stated[joint])
        assert 0.94 < below < 0.96


@pytest.mark.parametrize(("tilt", "doubted"), [(0.0, False), (0.01, True)])
def test_a_tilt_that_the_data_allow_counts_at_a_vertical_joint(tilt: float, doubted: bool) -> None:
    """Along one line a base that is 0.6 degrees off looks like an offset of the first joint, whose weight it is."""
    described = cp.load("puma560")
    stands = other_masses(described, 2).mounted(rpy=(tilt, 0.0, 0.0))
    rng = np.random.default_rng(2)
    time = np.arange(0.0, 30.0, 0.05)
    waves = np.array([[0.7, 1.0], [1.9, 0.3]])
    along = np.array([[size * np.sin(w * time), size * w * np.cos(w * time)] for w, size in waves]).sum(axis=0)
    bend = -np.sum([size * w**2 * np.sin(w * time) for w, size in waves], axis=0)
    line = np.array([0.05, 0.5, 0.4, 0.3, 0.4, 0.3])
    q, dq, ddq = (np.outer(one, line) for one in (along[0], along[1], bend))
    q += [0.4, -0.8, 2.2, 0.1, 0.3, 0.2]
    tau = stands.inverse_dynamics(q, dq, ddq) + 0.5 * np.tanh(dq / 0.02) + rng.normal(0.0, 0.05, q.shape)
    fit = weighted_fit(described, Samples(described.joint_names, time, q, dq, ddq, tau, np.full(6, 0.02)))
    assert not fit.posterior.shown
    x = np.array(fit.x)
    x[fit.model.groups["offset"]] = 0.0
    held = fit.model.predict(at_rest(described, q[::10]), x)
    missed = root_mean_square(held - stands.gravity(q[::10]))
    assert np.all(missed <= fit.posterior.error_of(q[::10], held))
    assert bool(fit.posterior.tilted[0] > 0.2) is doubted
    assert doubted or not fit.posterior.tilted.any()


def test_a_first_look_takes_sizes_of_the_motion() -> None:
    """Spread of positions, size of speeds and efforts: those of numpy, over all runs together."""
    first, second = exact_samples(CAD, 1, 6.0), exact_samples(CAD, 2, 4.0)
    survey = survey_runs(CAD, [RepeatedRun(FittedRun(first)), RepeatedRun(FittedRun(second))])
    q, dq, tau = (np.concatenate([getattr(one, name) for one in (first, second)]) for name in ("q", "dq", "tau"))
    assert survey.position == pytest.approx(q.std(axis=0))
    assert survey.speed == pytest.approx(np.sqrt(np.mean(dq**2, axis=0)))
    assert survey.effort == pytest.approx(np.sqrt(np.mean(tau**2, axis=0)))
    assert survey.moves and survey.active.all()


def test_terms_that_show_in_motion_only_are_not_tried_at_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two terms that are switched on, one of which shows while the arm moves: both in motion, the other at rest."""
    names = ("stribeck", "load_friction")
    known = {one.name: one for one in registered_terms()}
    motion, rest = (known[name] for name in names)
    assert motion.motion_only and not rest.motion_only
    for one in (motion, rest):
        monkeypatch.setattr(type(one), "tried", True)
    assert {motion, rest} <= set(_tried_terms(moves=True))
    assert rest in _tried_terms(moves=False) and motion not in _tried_terms(moves=False)
