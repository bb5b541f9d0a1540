"""Starting from an earlier calibration."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.fitting import CadPrior, HierarchicalRegression, RowProducts, Size
from counterpoise.identification import hypotheses
from counterpoise.identification.calibration import calibrate
from counterpoise.identification.earlier import DIFFERENCES, EarlierCalibration
from counterpoise.identification.file import load_calibration
from counterpoise.identification.fit import Fit
from counterpoise.identification.moving import moving_samples, prepare
from counterpoise.recording import Declared, Log
from library.calibration_data import motion, other_masses
from library.study_module import load_study

AS_IT_IS = DIFFERENCES[0]


@pytest.fixture(scope="module")
def arm() -> cp.Robot:
    return cp.load("planar3")


@pytest.fixture(scope="module")
def truth(arm: cp.Robot) -> cp.Robot:
    return other_masses(arm)


@pytest.fixture(scope="module")
def before(arm: cp.Robot, truth: cp.Robot) -> Fit:
    return calibrate(arm, motion(truth, coulomb=0.5, noise=0.1), findings=())


@pytest.fixture(scope="module")
def little(truth: cp.Robot) -> Log:
    """A recording that says less: short, and a small region."""
    return motion(truth, coulomb=0.5, noise=0.3, duration=10.0, size=0.4, seed=3)


def random_covariance(size: int, seed: int) -> np.ndarray:
    factor = np.random.default_rng(seed).standard_normal((size, size + 2))
    return np.asarray(factor @ factor.T)


def test_an_earlier_calibration_of_everything_is_the_belief(before: Fit) -> None:
    """Where it speaks of all numbers, mean and covariance are its own."""
    names = tuple(name for name in before.model.names if not name.endswith(("offset", "coulomb", "viscous")))
    mean, covariance = np.arange(1.0, len(names) + 1.0), random_covariance(len(names), 0)
    whole = random_covariance(len(before.model.names), 1)
    start = np.zeros(len(whole))
    found = EarlierCalibration(names, mean, covariance, "").belief(before.model, start, whole, AS_IT_IS)
    at = [before.model.names.index(name) for name in names]
    np.testing.assert_allclose(found[0][at], mean, rtol=1e-9)
    np.testing.assert_allclose(found[1][np.ix_(at, at)], covariance, rtol=1e-8, atol=1e-8)


def test_an_earlier_calibration_that_repeats_the_description_changes_nothing(before: Fit) -> None:
    columns = before.model
    whole, start = random_covariance(len(columns.names), 2), np.arange(float(len(columns.names)))
    at = list(range(columns.groups["bodies"].start + 3, columns.groups["bodies"].start + 9))
    names = tuple(columns.names[place] for place in at)
    earlier = EarlierCalibration(names, start[at], whole[np.ix_(at, at)], "")
    mean, covariance = earlier.belief(columns, start, whole, AS_IT_IS)
    np.testing.assert_allclose(mean, start, atol=1e-9)
    np.testing.assert_allclose(covariance, whole, rtol=1e-8, atol=1e-8)


def test_a_mean_before_the_data_is_a_shift_of_the_data() -> None:
    """Rows of y − A m with a mean of zero give the same posterior and the same evidence."""
    random = np.random.default_rng(0)
    rows, shared, own, joints = 50, 4, 2, 2
    A = random.standard_normal((joints, rows, shared + own + 1))
    A[:, :, -1] += A[:, :, :shared] @ np.array([3.0, -1.0, 2.0, 0.5])
    shift = np.array([2.5, -1.0, 1.0, 0.0])
    moved = A.copy()
    moved[:, :, -1] -= A[:, :, :shared] @ shift
    sizes = {"own": Size(0.1, 1.0, free=True)}

    def regression(values: np.ndarray) -> HierarchicalRegression:
        products = np.swapaxes(values, 1, 2) @ values
        power = np.mean(A[:, :, -1] ** 2, axis=1)  # of the same efforts: it sets the least noise
        return HierarchicalRegression(
            RowProducts(products, np.full(joints, float(rows)), power, shared, ("own", "own")), np.ones(joints), sizes
        )

    root = 0.5 * np.eye(shared)
    first = regression(A).solve(root, shift=shift)
    second = regression(moved).solve(root)
    assert first.evidence == pytest.approx(second.evidence, abs=1e-6)
    np.testing.assert_allclose(first.mean[:shared], second.mean[:shared] + shift, atol=1e-7)
    np.testing.assert_allclose(first.mean[shared:], second.mean[shared:], atol=1e-7)
    np.testing.assert_allclose(first.covariance, second.covariance, atol=1e-9)


def test_a_right_one_helps(arm: cp.Robot, truth: cp.Robot, before: Fit, little: Log) -> None:
    alone = calibrate(arm, little, findings=())
    helped = calibrate(arm, little, start_from=before, findings=())
    assert helped.trusted, helped.reasons
    assert "the calibration of" in helped.prior and "CAD values" in helped.prior
    assert np.all(helped.errors.gravity <= 1.05 * alone.errors.gravity)
    assert np.any(helped.errors.gravity < 0.7 * alone.errors.gravity)
    q = little.q[::20]
    wrong = [np.sqrt(np.mean((fit.robot.gravity(q) - truth.gravity(q)) ** 2)) for fit in (helped, alone)]
    assert wrong[0] < 0.7 * wrong[1]


@pytest.mark.parametrize("seed", [1, 2, 4])
def test_one_of_another_arm_is_named_and_never_trusted(arm: cp.Robot, little: Log, seed: int) -> None:
    other_arm = other_masses(arm, size=0.3, seed=seed)
    other = calibrate(arm, motion(other_arm, coulomb=0.5, noise=0.1), findings=())
    fit = calibrate(arm, little, start_from=other, findings=())
    assert not fit.trusted
    assert next(check.name for check in fit.verdict if not check.passed) == "earlier"
    assert any("calibration that it starts from" in reason for reason in fit.reasons)


def test_what_cannot_be_started_from(arm: cp.Robot, truth: cp.Robot, before: Fit, little: Log) -> None:
    log = motion(truth, coulomb=0.5, noise=0.1)
    own = calibrate(arm, little, findings=())
    with pytest.raises(cp.InputError, match="from this recording"):
        calibrate(arm, little, start_from=own, findings=())
    with pytest.raises(cp.InputError, match="command units"):
        calibrate(arm, little, start_from=replace(before, units="command units"), findings=())
    with pytest.raises(cp.InputError, match="only 'weighted'"):
        calibrate(arm, little, start_from=replace(before, model_covariance=np.zeros((0, 0))), findings=())
    with pytest.raises(cp.InputError, match="geometry"):
        calibrate(cp.load("wam4"), motion(cp.load("wam4"), noise=0.1), start_from=before, findings=())
    with pytest.raises(cp.InputError, match="helps method 'weighted'"):
        calibrate(arm, log, "iterative", start_from=before, findings=())
    unsound = calibrate(arm, replace(log, declared=Declared(rate_source="guessed")), findings=())
    with pytest.raises(cp.InputError, match="cannot be relied on"):
        calibrate(arm, little, start_from=unsound, findings=())
    with pytest.raises(cp.InputError, match="efforts are torques"):
        calibrate(arm, replace(little, declared=Declared(effort_kind="current")), start_from=before, findings=())


def test_a_file_is_as_good_as_the_fit(arm: cp.Robot, before: Fit, little: Log, tmp_path: Path) -> None:
    read = load_calibration(before.save(tmp_path / "a.calibration.json"), arm)
    spread = np.sqrt(np.diag(before.model_covariance))
    np.testing.assert_allclose(
        read.model_covariance / np.outer(spread, spread),
        before.model_covariance / np.outer(spread, spread),
        atol=1e-5,
    )
    direct, by_file = (calibrate(arm, little, start_from=one, findings=()) for one in (before, read))
    np.testing.assert_allclose(by_file.errors.gravity, direct.errors.gravity, rtol=1e-3)


def test_part_of_a_path_starts_from_another() -> None:
    """UR10: the first third, started from the second, predicts the last as well as a fit to both."""
    study = load_study("calibration_recordings")
    hand = study.HAND_FITS["ur10, first part"]
    try:
        robot, logs = study.read(hand)
    except FileNotFoundError as error:
        pytest.skip(str(error))
    log = logs[hand.tested]
    first, second, last = (log[part * len(log.time) // 3 : (part + 1) * len(log.time) // 3] for part in range(3))
    both = calibrate(robot, first, also=[second], findings=())
    earlier = calibrate(robot, second, findings=())
    helped = calibrate(robot, first, start_from=earlier, findings=())
    assert helped.trusted, helped.reasons
    # Each fit predicts with the speed over which its own friction changes its sign.
    prepared = [replace(prepare(robot, last), v0=fit.data.v0) for fit in (helped, both)]
    tested = [moving_samples(robot, last, preparation=one) for one in prepared]
    pairs = zip(tested, (helped, both), strict=True)
    errors = [np.sqrt(np.nanmean((samples.tau - fit.predict(samples)) ** 2, axis=0)) for samples, fit in pairs]
    assert np.linalg.norm(errors[0]) <= 1.05 * np.linalg.norm(errors[1])
    # Joint by joint it is 0.6 to 2.0: joint 5 has an offset of 0.2 N m that changes along the path.
    assert np.median(errors[0] / errors[1]) <= 1.06
    bodies = earlier.model.groups["bodies"]
    for factor in (0.7, 1.3):
        x = earlier.x.copy()
        x[bodies] *= factor
        wrong = calibrate(robot, first, start_from=replace(earlier, x=x), findings=())
        assert not wrong.trusted
        assert any("calibration that it starts from" in reason for reason in wrong.reasons)


@pytest.mark.parametrize("prior", [None, CadPrior(), CadPrior(weight=2.0)])
@pytest.mark.parametrize("earlier", [False, True])
def test_what_may_be_true_has_a_probability_of_one(
    prior: CadPrior | None, earlier: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With an earlier calibration and without: the shares of all hypotheses add up to 1."""
    monkeypatch.setattr(hypotheses, "_described", lambda recorded, weight, share: SimpleNamespace(share=share))
    monkeypatch.setattr(hypotheses, "_near", lambda recorded, start, one, usual: SimpleNamespace(share=one.share))
    recorded: Any = SimpleNamespace(model=SimpleNamespace(terms=SimpleNamespace(linear=True)))
    start: Any = object() if earlier else None
    found = hypotheses.hypotheses_of(recorded, prior, start)
    assert sum(one.share for one in found) == pytest.approx(1.0) and min(one.share for one in found) > 0.0
