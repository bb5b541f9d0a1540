"""The estimate at control rate: acceleration filter, faults of a plate, contact, ranges; and whole recordings."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.recording import Log, Sample, SampleFlag
from counterpoise.sensing.plate.log_estimate import estimate_log
from counterpoise.sensing.plate.torque_estimate import AccelerationFilter, EstimateFlag, OnlineSettings
from counterpoise.sensing.plate.variance import Uncertainty

PUMA = cp.load("puma560")
POSE = np.array([0.0, np.pi / 4, -np.pi, 0.0, np.pi / 4, 0.0])
PERIOD = 1e-3
EXACT = Uncertainty.checked(PUMA, gravity=np.zeros((28, 28)))


def path(time):
    """A smooth motion: positions, velocities, accelerations."""
    size, rate = 0.1 * np.ones(6), 2.0 * np.pi * 0.5
    phase = np.multiply.outer(rate * np.asarray(time), np.ones(6)) + np.arange(6)
    return (
        POSE + size * (np.sin(phase) - np.sin(np.arange(6))),
        size * rate * np.cos(phase),
        -size * rate**2 * np.sin(phase),
    )


def samples(count: int, push=None, start: float = 0.0):
    """Exact samples along the path; ``push`` is a wrench on the robot at the base origin that relieves the plate."""
    time = start + PERIOD * np.arange(count)
    q, dq, ddq = path(time)
    wrench = PUMA.base_wrench(q, dq, ddq) - (0.0 if push is None else np.asarray(push))
    return [Sample(float(t), q[i], dq[i], np.zeros(6), wrench[i]) for i, t in enumerate(time)]


def sensor(**options) -> cp.BaseSensor:
    return cp.BaseSensor(PUMA, uncertainty=options.pop("uncertainty", EXACT), **options)


def last(base: cp.BaseSensor, given, **options):
    for sample in given:
        estimate = base.estimate(sample, **options)
    return estimate


def test_the_filter_differentiates_and_states_its_lag() -> None:
    """A ramp of velocity gives its slope; a sine's acceleration lags by √2/ω, uneven sampling or not."""
    ramp = AccelerationFilter(1, 20.0)
    for tick in range(400):
        ramp.step(np.array([0.3 * tick * PERIOD]), PERIOD)
    assert ramp.ready and ramp.acceleration[0] == pytest.approx(0.3, rel=1e-3)
    assert ramp.lag_error[0] == pytest.approx(0.0, abs=1e-3)
    rng = np.random.default_rng(0)
    times = np.cumsum(rng.uniform(0.5e-3, 1.5e-3, 3000))
    wave = AccelerationFilter(1, 20.0)
    found = []
    for before, time in pairwise(times):
        wave.step(np.array([np.sin(2.0 * np.pi * time)]), time - before)
        found.append(wave.acceleration[0])
    truth = 2.0 * np.pi * np.cos(2.0 * np.pi * (times[1:] - wave.lag))
    assert np.abs(np.array(found) - truth)[1500:].max() < 0.1
    assert wave.lag == pytest.approx(np.sqrt(2.0) / (2.0 * np.pi * 20.0))


def test_estimates_follow_a_moving_arm() -> None:
    """With the filter's acceleration, τ_d is right within its stated deviation; with the true one, exactly."""
    base = sensor()
    given = samples(400)
    estimate = last(base, given)
    q, dq, ddq = path(given[-1].time)
    truth = PUMA.inverse_dynamics(q, dq, ddq) - PUMA.gravity(q)
    assert estimate.valid and estimate.form == "full" and not estimate.includes_gravity
    assert estimate.flags == EstimateFlag.NONE and estimate.reasons == ()
    assert np.all(np.abs(estimate.value - truth) <= 3.0 * estimate.std + 0.01)
    exact = base.estimate(samples(1, start=0.4)[0], path(0.4)[2])
    q, dq, ddq = path(0.4)
    assert exact.value == pytest.approx(PUMA.inverse_dynamics(q, dq, ddq) - PUMA.gravity(q), abs=1e-9)
    whole = base.estimate(samples(1, start=0.401)[0], path(0.401)[2], includes_gravity=True)
    assert whole.includes_gravity
    assert whole.value == pytest.approx(PUMA.inverse_dynamics(*path(0.401)), abs=1e-9)


def test_the_first_samples_have_no_acceleration_and_say_so() -> None:
    """The flag stays until the filter has settled."""
    base = sensor()
    flags = [bool(base.estimate(sample).flags & EstimateFlag.NO_ACCELERATION) for sample in samples(100)]
    assert flags[0] and not flags[-1]
    assert sum(flags) == pytest.approx(3.0 * AccelerationFilter(1, 20.0).lag / PERIOD, abs=2)


@pytest.mark.parametrize(
    ("change", "flag"),
    [
        ({"wrench": None}, EstimateFlag.NO_WRENCH),
        ({"wrench": np.full(6, np.nan)}, EstimateFlag.WRENCH_INVALID),
        ({"wrench": np.zeros(5)}, EstimateFlag.WRENCH_INVALID),
        ({"flags": SampleFlag.WRENCH_INVALID}, EstimateFlag.WRENCH_INVALID),
        ({"flags": SampleFlag.WRENCH_SATURATED}, EstimateFlag.SATURATED),
        ({"wrench": np.array([0.0, 0.0, 5000.0, 0.0, 0.0, 0.0])}, EstimateFlag.SATURATED),
        ({"q": np.full(6, np.nan)}, EstimateFlag.POSITION_INVALID),
        ({"flags": SampleFlag.Q_INVALID}, EstimateFlag.POSITION_INVALID),
        ({"flags": SampleFlag.STALE}, EstimateFlag.STALE),
        ({"time": 0.05}, EstimateFlag.STALE),
    ],
)
def test_a_bad_sample_gives_an_invalid_estimate(change, flag) -> None:
    """The caller is told what is wrong, no exception is raised, and the next good sample is valid again."""
    base = sensor(range=[2225.0, 2225.0, 4450.0, 1130.0, 1130.0, 565.0])
    given = samples(202)
    assert last(base, given[:200]).valid
    bad = base.estimate(replace(given[200], **change))
    assert flag in bad.flags and not bad.valid and not bad.valid_joints.any()
    assert flag.name in bad.reasons
    if flag not in (EstimateFlag.SATURATED, EstimateFlag.STALE):
        assert np.isnan(bad.value).all() and np.isinf(bad.std).all()
    assert base.estimate(given[201]).valid


def test_a_frozen_plate_is_noticed() -> None:
    """The same reading for 20 ticks while joints move, or at all where the plate is known to have noise."""
    given = samples(400)
    stuck = [replace(sample, wrench=given[100].wrench) if index > 100 else sample for index, sample in enumerate(given)]
    base = sensor()
    flags = [bool(base.estimate(sample).flags & EstimateFlag.FROZEN) for sample in stuck]
    assert not any(flags[:110]) and all(flags[140:])
    resting = [replace(given[0], time=tick * PERIOD, dq=np.zeros(6)) for tick in range(60)]
    assert not last(sensor(), resting).flags & EstimateFlag.FROZEN
    noisy = Uncertainty.checked(PUMA, noise=0.1)
    frozen = last(sensor(uncertainty=noisy), resting)
    assert frozen.flags & EstimateFlag.FROZEN and not frozen.valid


def test_a_dropout_is_flagged_and_the_acceleration_starts_anew() -> None:
    """After a gap the estimate says so; it is invalid for nobody who stands still, and the filter settles again."""
    base = sensor()
    last(base, samples(200))
    after = samples(200, start=1.0)
    first = base.estimate(after[0])
    assert first.flags & EstimateFlag.DROPOUT and first.flags & EstimateFlag.NO_ACCELERATION
    assert not last(base, after[1:]).flags & (EstimateFlag.DROPOUT | EstimateFlag.NO_ACCELERATION)
    blind = base.estimate(replace(samples(1, start=1.2)[0], dq=np.full(6, np.nan)))
    assert blind.flags & EstimateFlag.NO_VELOCITY and np.isfinite(blind.value).all()
    base.reset()
    assert base.estimate(samples(1)[0]).flags & EstimateFlag.NO_ACCELERATION


@pytest.mark.parametrize("form", ["full", "tared+model"])
def test_a_contact_is_flagged_after_some_ticks(form) -> None:
    """The residual between plate and model shows it; only the joint that carries every link stays valid."""
    base = sensor()
    base.tare(POSE, PUMA.base_wrench(POSE))
    assert last(base, samples(200), form=form).valid
    touched = [base.estimate(sample, form=form) for sample in samples(5, push=[0, 8.0, 0, 0, 0, 0], start=0.2)]
    assert not touched[0].flags & EstimateFlag.CONTACT
    final = touched[-1]
    assert final.flags & EstimateFlag.CONTACT and not final.valid
    assert final.valid_joints.tolist() == [True, False, False, False, False, False]
    released = [base.estimate(sample, form=form) for sample in samples(2, start=0.205)]
    assert released[-1].valid


def test_a_wrong_model_is_not_a_contact_within_its_covariance() -> None:
    """What the masses' stated uncertainty explains is no contact; without that uncertainty it is."""
    model = PUMA.with_payload(0.3, com=(0.0, 0.0, 0.05))
    resting = [Sample(tick * PERIOD, POSE, np.zeros(6), np.zeros(6), PUMA.base_wrench(POSE)) for tick in range(100)]
    sure = cp.BaseSensor(model, uncertainty=Uncertainty.checked(model, gravity=np.zeros((28, 28))))
    assert last(sure, resting).flags & EstimateFlag.CONTACT
    assert not last(cp.BaseSensor(model), resting).flags & EstimateFlag.CONTACT


@pytest.mark.parametrize("form", ["tared", "tared+model"])
def test_leaving_the_tare_makes_every_joint_invalid(form) -> None:
    """Once one joint has left the stated range, no joint is valid; the full form does not care."""
    base = sensor()
    base.tare(POSE, PUMA.base_wrench(POSE), range=np.deg2rad(1.0))
    for degrees, inside in ((0.9, True), (1.1, False)):
        q = POSE.copy()
        q[4] += np.deg2rad(degrees)
        sample = Sample(degrees, q, np.zeros(6), np.zeros(6), PUMA.base_wrench(q))
        estimate = base.estimate(sample, np.zeros(6), form=form)
        assert estimate.valid is inside and estimate.valid_joints.all() == inside
        assert bool(estimate.flags & EstimateFlag.OUT_OF_TARE_RANGE) is not inside
        assert base.estimate(replace(sample, time=degrees + 0.01), np.zeros(6), form="full").valid


def test_outside_a_linear_table_is_flagged() -> None:
    """A table that ends is no reason for an exception in a control loop."""
    robot = cp.load("planar3").mounted(rpy=(np.pi / 2, 0.0, 0.0))
    base = cp.BaseSensor(robot)
    table = base.use_table("linear", spacing=0.2)
    q = table.lower + table.step * (np.array(table.moments.shape[:-1]) - 1) + 0.1
    sample = Sample(0.0, q, np.zeros(3), np.zeros(3), np.zeros(6))
    estimate = base.estimate(sample)
    assert estimate.flags & EstimateFlag.OUTSIDE_TABLE and not estimate.valid


def test_a_form_that_is_not_ready_is_an_error_on_line_too() -> None:
    """The caller's mistake is not a fault of the sample."""
    with pytest.raises(cp.InputError, match="needs a tare"):
        sensor().estimate(samples(1)[0], form="tared")


@pytest.mark.parametrize("bad", [{"frozen_ticks": 0}, {"acceleration_cutoff": -1.0}, {"contact_ticks": 1.5}])
def test_settings_that_mean_nothing_are_refused(bad) -> None:
    """Positive numbers only, ticks whole."""
    with pytest.raises(cp.InputError):
        OnlineSettings(**bad)


def recording() -> Log:
    """A log along the path with faults: NaN, saturation, a frozen stretch."""
    log = Log.from_samples(samples(2000), PUMA.joint_names)
    wrench = np.array(log.wrench)
    wrench[50] = np.nan
    wrench[60, 2] = 9e3
    wrench[700:800] = wrench[700]
    return replace(log, wrench=wrench)


def test_a_whole_recording() -> None:
    """Torques, deviations and flags of every sample, with accelerations without delay."""
    base = sensor(range=[2225.0, 2225.0, 4450.0, 1130.0, 1130.0, 565.0])
    log = recording()
    found = estimate_log(base, log)
    truth = PUMA.inverse_dynamics(*path(log.time)) - PUMA.gravity(log.q)
    middle = slice(850, 1900)
    assert np.abs(found.value - truth)[middle].max() < 0.02
    assert found.valid[middle].all() and not found.valid[50] and np.isnan(found.value[50]).all()
    assert found.flags[60] == int(EstimateFlag.SATURATED) and not found.valid[60]
    assert found.flags[799] & int(EstimateFlag.FROZEN)
    with_gravity = estimate_log(base, log, includes_gravity=True)
    assert np.abs(with_gravity.value - found.value - PUMA.gravity(log.q))[middle].max() < 1e-9
    assert np.isnan(estimate_log(base, log, with_std=False).std[middle]).all()


def test_samples_out_of_order_are_left_out() -> None:
    """A doubled packet and one without a time change nothing about the others."""
    base, log = sensor(), recording()[:600]
    rows = np.sort(np.concatenate([np.arange(600), [300]]))
    time = log.time[rows].copy()
    time[450] = np.nan
    found, whole = estimate_log(base, replace(log[rows], time=time)), estimate_log(base, log)
    kept = np.isin(whole.time, found.time)
    assert len(found.time) == 599 and kept.sum() == 599
    np.testing.assert_allclose(found.value[10:-10], whole.value[kept][10:-10], atol=1e-3)


def test_a_recording_that_does_not_fit_is_refused() -> None:
    """Other joints, or no plate."""
    log = recording()[:100]
    with pytest.raises(cp.InputError, match="no plate"):
        estimate_log(sensor(), replace(log, wrench=None))
    with pytest.raises(cp.InputError, match="joints"):
        estimate_log(cp.BaseSensor(cp.load("wam4")), log)


def test_rows_of_a_recording_beyond_tare_or_table_are_marked() -> None:
    """Those beyond the tare's range or outside a linear table, and no others."""
    base = sensor()
    log = recording()[:600]
    base.tare(log.q[0], log.wrench[0])
    found = estimate_log(base, log, form="tared")
    left = np.abs(log.q - log.q[0]).max(axis=1) > np.deg2rad(1.0)
    marked = (found.flags & int(EstimateFlag.OUT_OF_TARE_RANGE)) != 0
    assert np.array_equal(marked, left) and left.any() and not left.all()
    assert not found.valid[left].any()
    arm = cp.load("planar3").mounted(rpy=(np.pi / 2, 0.0, 0.0))
    sliding = np.linspace(0.0, 1.2, 40)[:, None] * arm.upper
    log = Log(arm.joint_names, 0.01 * np.arange(40), sliding, np.zeros((40, 3)), np.zeros((40, 3)), np.zeros((40, 6)))
    plate = cp.BaseSensor(arm)
    plate.use_table("linear", spacing=0.5)
    outside = (estimate_log(plate, log, cutoff=None).flags & int(EstimateFlag.OUTSIDE_TABLE)) != 0
    assert np.array_equal(outside, (sliding > arm.upper * (1.0 + 1e-9)).any(axis=1)) and outside.any()
