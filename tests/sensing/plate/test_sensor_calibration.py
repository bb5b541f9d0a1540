"""A plate's calibration from a recording: what was injected comes back, and what cannot be seen is said not to be."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.foundation import rotation_from_rpy, rotation_from_vector, rotation_vector, transform
from counterpoise.recording import Declared, SampleFlag
from counterpoise.sensing.plate.log_estimate import estimate_log
from counterpoise.sensing.plate.sensor_calibration import SensorCalibration, calibrate_sensor
from counterpoise.sensing.plate.sensor_fit import SensorPrior
from counterpoise.sensing.plate.wrench_frame import Mounting, canonical_covariance, split
from library.plate_recordings import (
    SCALE,
    Truth,
    fast_motion,
    random_truth,
    recorded,
    reread,
    simulated_puma,
    standing_motion,
)

SECONDS, RATE = 40.0, 100.0
TIME = np.arange(0.0, SECONDS, 1.0 / RATE)


@pytest.fixture(scope="module")
def puma() -> cp.Robot:
    return cp.load("puma560")


@cache
def calibrated_of(puma: cp.Robot, seed: int) -> tuple[cp.Log, Truth, SensorCalibration]:
    truth = random_truth(seed)
    log = recorded(puma, truth, seed, TIME)
    return log, truth, calibrate_sensor(puma, log, masses="exact")


@pytest.fixture(scope="module")
def calibrated(puma: cp.Robot) -> tuple[cp.Log, Truth, SensorCalibration]:
    return calibrated_of(puma, 0)


def errors(found: SensorCalibration, truth: Truth) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the errors of rotation [rad], origin [m] and gain, moments scaled by 0.5 m."""
    wanted, pose = truth.mounting, found.frame.T_base_sensor
    turn = rotation_vector(pose[:3, :3].T @ wanted.rotation)
    return turn, pose[:3, 3] - wanted.origin, SCALE @ (found.frame.gain - wanted.gain) @ np.linalg.inv(SCALE)


@pytest.mark.parametrize("seed", range(3))
def test_what_was_injected_comes_back(puma: cp.Robot, seed: int) -> None:
    """Any yaw, tilt, height, lag, gains 2 % off: 0.2°, one sample, 1 %; the standard deviations cover the errors."""
    _, truth, found = calibrated_of(puma, seed)
    turn, origin, gain = errors(found, truth)
    assert found.frame.reads == "on_robot"
    assert np.degrees(np.linalg.norm(turn)) < 0.2
    assert abs(found.lag - truth.lag) < 1.0 / RATE
    assert found.gain_determined.all()
    assert np.abs(gain).max() < 0.01
    assert np.abs(origin).max() < 0.005
    at_reference = truth.bias + truth.drift * found.reference
    assert np.all(np.abs(found.frame.bias - at_reference) < 4.0 * found.bias_std + 1e-3)
    assert np.all(np.abs(found.drift - truth.drift) < 4.0 * found.drift_std)
    own = np.abs(np.concatenate([turn / found.rotation_std, origin / found.origin_std]))
    assert np.sqrt(np.mean(own**2)) < 2.0
    assert own.max() < 4.0
    assert abs(found.lag - truth.lag) < 3.0 * found.lag_std


def test_standard_deviations_are_neither_boasting_nor_idle(puma: cp.Robot) -> None:
    """Over seeds the errors of the gain, in standard deviations, are of the order of one."""
    sizes = []
    for seed in range(5, 8):
        truth = random_truth(seed)
        found = calibrate_sensor(puma, recorded(puma, truth, seed, TIME[:2500]), masses="exact")
        away = (found.frame.gain - truth.mounting.gain) / np.maximum(found.gain_std, 1e-9)
        sizes.append(float(np.mean(away**2)))
    assert 0.1 < np.sqrt(np.mean(sizes)) < 2.0


def test_the_simulated_puma() -> None:
    """Friction, gears, encoders and a plate with noise, walk and low-pass: the same figures."""
    pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    own_lag = np.sqrt(2.0) / (2.0 * np.pi * 100.0)  # of the plate's second-order low-pass at 100 Hz
    log, robot, wrench = simulated_puma(1, 25.0)
    truth = random_truth(21, sign=-1.0)
    found = calibrate_sensor(robot, reread(log, robot, wrench, truth), masses="exact")
    turn, _, gain = errors(found, truth)
    assert found.frame.sign == truth.sign
    assert np.degrees(np.linalg.norm(turn)) < 0.2
    assert abs(found.lag - truth.lag - own_lag) < 1.0 / 300.0
    assert np.abs(gain[found.gain_determined]).max() < 0.01


def test_a_shaking_arm_is_not_relied_on(puma: cp.Robot, calibrated: tuple[cp.Log, Truth, SensorCalibration]) -> None:
    """Forces that no rigid model explains: said first, and not of a good recording."""
    log, _, good = calibrated
    assert good.verdict.trusted and "rely" not in " ".join(good.sentences)
    shake = np.zeros(log.wrench.shape)
    shake[:, 0] = 0.5 * log.wrench[:, 0].std() * np.sign(np.sin(2.0 * np.pi * 1.3 * log.time))
    found = calibrate_sensor(puma, replace(log, wrench=log.wrench + shake), masses="exact")
    assert found.verdict.level == "bad" and found.verdict.reasons[0] == found.sentences[0]
    assert found.verdict.reasons[0].startswith("Do not rely on these numbers") and "fx (" in found.verdict.reasons[0]


def test_a_reversed_sign_is_found(puma: cp.Robot) -> None:
    """A plate that reads the opposite of what is declared."""
    truth = random_truth(11, sign=-1.0)
    found = calibrate_sensor(puma, recorded(puma, truth, 11, TIME), masses="exact")
    assert found.frame.reads == "on_sensor"
    assert np.degrees(np.linalg.norm(errors(found, truth)[0])) < 0.2
    assert any("opposite" in sentence for sentence in found.sentences)


def test_a_plate_upside_down(puma: cp.Robot) -> None:
    """A half turn about x is a rotation like any other."""
    pose = transform(rotation_from_rpy([np.pi - 0.02, 0.01, 0.7]), [0.0, 0.0, -0.5])
    truth = replace(random_truth(12), T_base_sensor=pose)
    found = calibrate_sensor(puma, recorded(puma, truth, 12, TIME), masses="exact")
    assert found.frame.reads == "on_robot"
    assert np.degrees(np.linalg.norm(errors(found, truth)[0])) < 0.2


def test_left_handed_axes_are_refused(puma: cp.Robot) -> None:
    """y the other way in forces and moments: the doctor's sentence, not a number."""
    log = recorded(puma, random_truth(13), 13, TIME)
    mirror = np.array([1.0, -1.0, 1.0, 1.0, -1.0, 1.0])
    with pytest.raises(cp.InputError, match="left-handed"):
        calibrate_sensor(puma, replace(log, wrench=log.wrench * mirror))


def test_standing_poses_of_an_upright_arm_show_yaw_tilt_and_two_gains(puma: cp.Robot) -> None:
    """The rest stays at its prior, with its spread, and is named."""
    time = np.arange(0.0, 400.0, 0.05)
    truth = random_truth(3, gain=0.01)
    log = recorded(puma, truth, 3, time, standing_motion)
    found = calibrate_sensor(puma, log, masses="exact")
    for name in ("yaw", "tilt about x", "tilt about y", "gain of mx", "gain of my"):
        assert found.determined[name], name
    for name in ("gain of fx", "gain of fy", "gain of fz", "gain of mz", "cross-talk of fz", "zero of fz"):
        assert name in found.undetermined, name
    assert np.all(np.diag(found.gain_std)[:3] > 0.02)  # the prior's 3 %
    turn, _, _ = errors(found, truth)
    assert np.all(np.abs(turn) < 4.0 * found.rotation_std)
    assert any("only yaw, tilt and the two moment gains" in sentence for sentence in found.sentences)


def test_uncertain_masses_widen_the_gains(puma: cp.Robot) -> None:
    """Masses that are off by tenths: the true rotation lies within its spread, the gains are known less well."""
    from library.calibration_data import other_masses

    truth = random_truth(4)
    log = recorded(puma, truth, 4, TIME, real=other_masses(puma))
    exact, cad = (calibrate_sensor(puma, log, masses=masses) for masses in ("exact", "cad"))
    assert np.trace(cad.gain_std) > 1.05 * np.trace(exact.gain_std)
    turn, origin, _ = errors(cad, truth)
    assert np.all(np.abs(turn) < 4.0 * cad.rotation_std)
    assert np.all(np.abs(origin) < 4.0 * cad.origin_std)
    assert np.degrees(np.linalg.norm(turn)) < 0.5


def test_outliers_do_not_pull(puma: cp.Robot, calibrated: tuple[cp.Log, Truth, SensorCalibration]) -> None:
    """The arm is pushed for three seconds and the plate spikes: hardly anything changes."""
    log, truth, _ = calibrated
    reading = np.array(log.wrench)
    pushed = (log.time > 20.0) & (log.time < 23.0)
    reading[pushed] += [30.0, 0.0, 0.0, 0.0, 20.0, 0.0]
    reading[::997] += 500.0
    found = calibrate_sensor(puma, replace(log, wrench=reading), masses="exact")
    turn, _, gain = errors(found, truth)
    assert np.degrees(np.linalg.norm(turn)) < 0.3
    assert np.abs(gain).max() < 0.02
    assert found.outliers > 0.01


def test_lost_readings_are_left_out(puma: cp.Robot, calibrated: tuple[cp.Log, Truth, SensorCalibration]) -> None:
    """NaN, a flagged stretch and a clipped one."""
    log, truth, _ = calibrated
    reading, flags = np.array(log.wrench), np.zeros(len(log), dtype=np.int64)
    reading[1000:1100] = np.nan
    reading[2000:2100] += 1e3
    flags[2000:2100] = int(SampleFlag.WRENCH_SATURATED)
    reading[:, 3] = np.minimum(reading[:, 3], np.nanquantile(reading[:, 3], 0.97))
    found = calibrate_sensor(puma, replace(log, wrench=reading, flags=flags), masses="exact")
    turn, _, gain = errors(found, truth)
    assert np.degrees(np.linalg.norm(turn)) < 0.3
    assert np.abs(gain).max() < 0.02


def test_a_drift_with_temperature(puma: cp.Robot) -> None:
    """Given the plate's temperature, the drift is per kelvin."""
    truth = replace(random_truth(6), drift=np.zeros(6))
    log = recorded(puma, truth, 6, TIME)
    temperature = 20.0 + 5.0 * (1.0 - np.exp(-TIME / 15.0))
    per_kelvin = np.array([0.5, -0.4, 0.8, 0.1, -0.1, 0.05])
    warm = replace(log, wrench=log.wrench + per_kelvin * temperature[:, None])
    found = calibrate_sensor(puma, warm, masses="exact", temperature=temperature)
    assert found.drift_per == "K"
    assert found.drift == pytest.approx(per_kelvin, abs=4.0 * found.drift_std.max())
    straight = found.corrected(warm, temperature=temperature)
    assert np.nanstd(straight.wrench[:, 2] - puma.base_wrench(log.q, None, None)[:, 2]) < 30.0


def test_only_what_is_asked_for_is_fitted(puma: cp.Robot) -> None:
    """A declared pose stays; gain and lag stay at one and zero."""
    truth = replace(random_truth(7), gain=np.eye(6), lag=0.0)
    log = recorded(puma, truth, 7, TIME[:3000])
    log = replace(log, declared=Declared(T_base_sensor=truth.T_base_sensor, sensor_reads="on_robot"))
    found = calibrate_sensor(puma, log, fit=("bias", "drift"), masses="exact")
    assert found.frame.T_base_sensor == pytest.approx(truth.T_base_sensor, abs=1e-12)
    assert found.frame.gain == pytest.approx(np.eye(6), abs=1e-12)
    assert found.lag == 0.0
    assert not found.gain_std.any() and not found.rotation_std.any()
    assert set(found.determined) == {
        "sign",
        "drift",
        *(f"zero of {one}" for one in ("fx", "fy", "fz", "mx", "my", "mz")),
    }


def test_the_corrected_log_is_the_wrench_on_the_robot(
    puma: cp.Robot, calibrated: tuple[cp.Log, Truth, SensorCalibration]
) -> None:
    """Without lag, drift, gain and turn: the model's wrench; estimates agree with those of the raw log's sensor."""
    log, _, found = calibrated
    straight = found.corrected(log)
    assert straight.declared.sensor_reads == "on_robot"
    assert np.array_equal(straight.declared.T_base_sensor, np.eye(4))
    # Slow motion of the whole recording against the model's statics plus dynamics, at the raw noise.
    wanted = puma.base_wrench(*fast_motion(puma, 0, TIME))
    left = straight.wrench[10:-10] - wanted[10:-10]
    assert np.all(left.std(axis=0) < [0.6, 0.6, 0.9, 0.3, 0.3, 0.1])
    assert np.isnan(straight.wrench[-1]).all() and straight.flags[-1] & int(SampleFlag.WRENCH_INVALID)
    one = estimate_log(found.sensor(puma, of="corrected"), straight, form="full")
    other = estimate_log(found.sensor(puma), log, form="full")
    assert np.sqrt(np.nanmean((one.value[50:-50] - other.value[50:-50]) ** 2)) < 3.0
    assert np.all(other.std[100] > 0.0)


def test_a_yaw_of_another_log_has_no_drift(puma: cp.Robot, calibrated: tuple[cp.Log, Truth, SensorCalibration]) -> None:
    """A drift in time belongs to one clock: another recording is left without it."""
    log, _, found = calibrated
    other = replace(log, time=log.time + 1e6)
    one, two = found.corrected(log), found.corrected(other)
    away = (two.wrench - one.wrench)[100] @ found.frame.from_base.T
    assert away == pytest.approx(found.drift * (log.time[100] + found.lag - found.reference), rel=1e-2, abs=1e-4)


def test_the_split_is_exact_and_nearest_the_identity() -> None:
    """M = G X comes back, and no other turn or shift leaves a gain nearer the identity."""
    rng = np.random.default_rng(0)
    matrix = random_truth(1).mounting.matrix
    found = split(matrix)
    assert found.matrix == pytest.approx(matrix, abs=1e-12)
    again = found.canonical()
    assert again.rotation == pytest.approx(found.rotation, abs=1e-12)
    assert again.origin == pytest.approx(found.origin, abs=1e-12)

    def distance(one: Mounting) -> float:
        inner = matrix @ np.linalg.inv(Mounting(one.rotation, one.origin, np.eye(6)).matrix)
        return float(np.sum((inner[:3, :3] - np.eye(3)) ** 2) + np.sum((inner[3:, 3:] - np.eye(3)) ** 2))

    for _ in range(20):
        other = Mounting(found.rotation @ rotation_from_vector(0.01 * rng.normal(size=3)), found.origin, np.eye(6))
        assert distance(other) > distance(found)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda log: replace(log, wrench=None), "no plate readings"),
        (lambda log: replace(log, wrench=np.full((len(log), 6), np.nan)), "has only NaN"),
        (lambda log: replace(log, wrench=np.tile(log.wrench[0], (len(log), 1))), "frozen or not connected"),
        (
            lambda log: replace(log, wrench=np.where(np.arange(len(log))[:, None] % 3, np.nan, log.wrench)),
            "are NaN, flagged",
        ),
        (lambda log: log[:200], "can be used|too few|poses"),
        (lambda log: replace(log, q=np.tile(log.q[0], (len(log), 1))), "no joint moves"),
        (lambda log: replace(log, joint_names=tuple("abcdef")), "expected those of robot"),
        (lambda log: replace(log, declared=Declared(position_side="motor")), "motor's side"),
        (lambda log: replace(log, declared=Declared(gravity_base=np.array([9.81, 0.0, 0.0]))), "mount the robot"),
        (lambda log: replace(log, wrench=np.random.default_rng(0).normal(size=(len(log), 6))), "no relation"),
    ],
)
def test_what_cannot_be_used_is_refused(puma: cp.Robot, calibrated, change, match: str) -> None:
    """Each with its own reason."""
    with pytest.raises(cp.InputError, match=match):
        calibrate_sensor(puma, change(calibrated[0]))


def test_bad_arguments_are_refused(puma: cp.Robot, calibrated) -> None:
    """Unknown parts, masses and shapes."""
    log, _, found = calibrated
    with pytest.raises(cp.InputError, match="expected names out of"):
        calibrate_sensor(puma, log, fit=("yaw",))
    with pytest.raises(cp.InputError, match="expected 'exact', 'cad'"):
        calibrate_sensor(puma, log, masses="good")
    with pytest.raises(cp.InputError, match="temperature has shape"):
        calibrate_sensor(puma, log, temperature=[20.0])
    with pytest.raises(cp.InputError, match=r"prior\.gain"):
        SensorPrior(gain=0.0)
    with pytest.raises(cp.InputError, match="no plate readings"):
        found.corrected(replace(log, wrench=None))
    with pytest.raises(cp.InputError, match="of is"):
        found.sensor(puma, of="other")


@pytest.mark.parametrize("rate", [100.0, 500.0])
def test_scattered_missing_readings_are_bridged(
    puma: cp.Robot, calibrated: tuple[cp.Log, Truth, SensorCalibration], rate: float
) -> None:
    """Half a percent of lost packets, some with a rubbish number and a flag: as good as without."""
    _, truth, whole = calibrated
    log = recorded(puma, truth, 0, np.arange(0.0, SECONDS, 1.0 / rate))
    random = np.random.default_rng(1)
    missing = random.random(len(log)) < 0.005
    rubbish = random.random(len(log)) < 0.001
    reading = np.where(missing[:, None], np.nan, log.wrench)
    reading[rubbish] = 1e6
    flags = np.where(rubbish, int(SampleFlag.WRENCH_INVALID), 0)
    found = calibrate_sensor(puma, replace(log, wrench=reading, flags=flags), masses="exact")
    turn, _, gain = errors(found, truth)
    assert np.degrees(np.linalg.norm(turn)) < 0.2
    assert np.abs(gain).max() < 0.01
    assert found.samples > 0.9 * whole.samples


def test_a_plate_slower_than_the_recording_is_not_frozen(puma: cp.Robot) -> None:
    """A plate at 20 Hz in a recording at 500 Hz repeats every reading 25 times, and is late by half of that."""
    truth = random_truth(2)
    log = recorded(puma, truth, 2, np.arange(0.0, SECONDS, 0.002))
    held = log.wrench[np.arange(len(log)) // 25 * 25]
    found = calibrate_sensor(puma, replace(log, wrench=held), masses="exact")
    assert np.degrees(np.linalg.norm(errors(found, truth)[0])) < 0.5
    assert abs(found.lag - truth.lag - 0.024) < 0.005


def test_the_zero_counts_once(puma: cp.Robot) -> None:
    """Readings of unseen poses are off by what noise, frame and zero say together, not by tenfold that."""
    sizes = []
    for seed in range(3):
        truth = replace(random_truth(seed), drift=np.zeros(6))
        found = calibrate_sensor(puma, recorded(puma, truth, seed, TIME[:2500]), masses="cad")
        known = found.sensor(puma).variance.uncertainty
        assert np.allclose(known.noise, np.hypot(found.noise, found.frame_error))
        assert known.zero[2] < 0.7 * found.bias_std[2]  # gain of fz and its zero cancel at a weight that stays
        q = np.random.default_rng(seed).uniform(-1.0, 1.0, (200, puma.n))
        wrench = puma.base_wrench(q)
        reading = truth.sign * wrench @ truth.mounting.matrix.T + truth.bias
        off = reading - found.frame.reading(wrench)
        sizes.append(np.sqrt(np.mean(off**2, axis=0)) / np.hypot(known.noise, known.zero))
    assert 0.05 < np.sqrt(np.mean(np.square(sizes))) < 1.5


def test_coarse_encoders(puma: cp.Robot) -> None:
    """Counts of 9 mrad, whose flicker differentiates to far more than the arm moves: rough, but found, not refused."""
    truth = random_truth(6)
    time = np.arange(0.0, SECONDS, 1.0 / 300.0)
    log = recorded(puma, truth, 6, time, lambda robot, seed, at: fast_motion(robot, seed, at, 0.15))
    count = 6.0 * 2.0 * np.pi / 4096.0
    found = calibrate_sensor(puma, replace(log, q=count * np.round(log.q / count)), masses="exact")
    assert np.degrees(np.linalg.norm(errors(found, truth)[0])) < 4.0


def slow_motion(robot: cp.Robot, seed: int, time: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A multi-sine up to 0.1 Hz."""
    return fast_motion(robot, seed, time, 0.1)


@pytest.mark.parametrize("cutoff", [2.0, 4.0])
def test_slow_motion_converges(puma: cp.Robot, cutoff: float) -> None:
    """Up to 0.1 Hz, turn and gain are hardly distinguished; the fit descends to the plate's noise all the same."""
    truth = random_truth(5)
    log = recorded(puma, truth, 5, np.arange(0.0, SECONDS, 1.0 / 150.0), slow_motion)
    found = calibrate_sensor(puma, log, masses="exact", cutoff=cutoff)
    assert np.all(found.noise < [0.1, 0.1, 0.15, 0.03, 0.03, 0.02])
    turn, origin, _ = errors(found, truth)
    assert np.all(np.abs(turn) < 3.0 * found.rotation_std)
    assert np.all(np.abs(origin) < 3.0 * found.origin_std)


def test_the_covariance_of_a_canonical_split_is_split_no_further() -> None:
    """Of a mounting that lies canonical already only what keeps it so is left, and that stays as it is."""
    rng = np.random.default_rng(7)
    gain = np.eye(6) + 0.02 * rng.normal(size=(6, 6))
    mounting = Mounting(rotation_from_rpy([0.2, -0.3, 0.5]), np.array([0.1, -0.05, 0.2]), gain).canonical()
    root = 1e-3 * rng.normal(size=(42, 42))
    once = canonical_covariance(mounting, root @ root.T)
    assert canonical_covariance(mounting, once) == pytest.approx(once, rel=1e-3, abs=1e-3 * np.abs(once).max())
    drawn = np.array([mounting.apart(mounting.moved(root @ rng.normal(size=42)).canonical()) for _ in range(4000)])
    assert np.sqrt(np.diag(once)) == pytest.approx(drawn.std(axis=0), rel=0.1)


def test_a_prior_shrinks_what_the_data_say_by_its_precision(puma: cp.Robot) -> None:
    """Of a drift that the data give as d ± s, a prior of 0 ± p leaves d p²/(p² + s²) where the noise stays the same."""
    truth = replace(random_truth(4), drift=np.array([0.003, -0.003, 0.005, 0.0, 0.0, 0.0]))
    log = recorded(puma, truth, 4, TIME)
    wide = calibrate_sensor(puma, log, masses="exact", prior=SensorPrior(drift=100.0))
    weight, span = puma.total_mass * 9.81, float(np.ptp(log.time))
    forces = slice(0, 3)
    assert np.all(np.abs(wide.drift[forces]) > 4.0 * wide.drift_std[forces])
    for narrow in (2.0, 5.0):
        own = narrow * float(wide.drift_std[2])
        found = calibrate_sensor(puma, log, masses="exact", prior=SensorPrior(drift=own * span / weight))
        left = own**2 / (own**2 + wide.drift_std[forces] ** 2)
        assert found.drift[forces] / wide.drift[forces] == pytest.approx(left, abs=0.04)
