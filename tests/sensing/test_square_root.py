"""The triangular factor: equal to batch least squares, never indefinite, and what folding leaves behind."""

from __future__ import annotations

import numpy as np
import pytest

from counterpoise.errors import InputError
from counterpoise.sensing import kernel, square_root
from counterpoise.sensing.square_root import covariance_of, factor_of, sensitivities, standard_deviations

P = 7


def prior(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return a mean and a covariance with scales from 1e-3 to 1e3."""
    root = rng.standard_normal((P, P)) * np.logspace(-3, 3, P)[:, None]
    return rng.standard_normal(P), root @ root.T


@pytest.mark.parametrize("module", [square_root, kernel])
def test_folding_rows_is_batch_least_squares(module: object) -> None:
    """The estimate and its covariance are those of prior and all rows together."""
    rng = np.random.default_rng(0)
    mean, covariance = prior(rng)
    factor = factor_of(mean, covariance)
    rows, values = rng.standard_normal((40, P)), rng.standard_normal(40)
    for row, value in zip(rows, values, strict=True):
        module.fold(factor, np.append(row, value))  # type: ignore[attr-defined]
    x = np.empty(P)
    module.solve(factor, x)  # type: ignore[attr-defined]
    information = np.linalg.inv(covariance)
    posterior = np.linalg.inv(information + rows.T @ rows)
    np.testing.assert_allclose(x, posterior @ (information @ mean + rows.T @ values), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(covariance_of(factor), posterior, rtol=1e-6, atol=1e-12)
    assert np.all(np.diag(factor) > 0.0)
    np.testing.assert_array_equal(np.tril(factor[:, :-1], -1), 0.0)


def test_what_folding_leaves_is_the_innovation_and_its_share() -> None:
    """ρ = (y − a x̂)/√(a P aᵀ + σ²) and γ² = σ²/(a P aᵀ + σ²)."""
    rng = np.random.default_rng(1)
    mean, covariance = rng.standard_normal(P), np.diag(rng.uniform(0.5, 2.0, P))
    a, y, sigma = rng.standard_normal(P), 1.7, 0.3
    innovation, kept = kernel.fold(factor_of(mean, covariance), np.append(a, y) / sigma)
    variance = a @ covariance @ a + sigma**2
    assert innovation == pytest.approx((y - a @ mean) / np.sqrt(variance), abs=1e-12)
    assert kept**2 == pytest.approx(sigma**2 / variance, abs=1e-12)


@pytest.mark.parametrize("gains", [0, 1])
def test_native_and_specification_agree(gains: int) -> None:
    """The same torques folded by both give the same triangle, innovations and estimate."""
    rng = np.random.default_rng(2)
    n, b = 3, 4
    columns = np.array([1, 2, 5, 7], dtype=np.int64)
    p = b + 2 * n
    ours = np.hstack([factor_of(np.zeros(p), np.diag(rng.uniform(0.1, 10.0, p))), np.zeros((p, n * gains))])
    theirs = ours.copy()
    for first, last in ((0, 1), (2, 3), (0, 3), (1, 1)):
        torque, side, sigma = rng.standard_normal(n), np.array([-1.0, 0.0, 1.0]), rng.uniform(0.1, 0.3, n)
        arguments = (rng.standard_normal((n, 8)), columns, torque, side, sigma, first, last, b, b + n)
        left = np.zeros((2, 2, n))
        kernel.fold_torques(ours, np.zeros(ours.shape[1]), *arguments, left[0])
        square_root.fold_torques(theirs, np.zeros(ours.shape[1]), *arguments, left[1])
        np.testing.assert_allclose(left[0], left[1], atol=1e-12)
        assert np.all((left[0, 1] > 0.0) == ((np.arange(n) >= first) & (np.arange(n) < last)))
    np.testing.assert_allclose(ours, theirs, atol=1e-12)
    tails = np.zeros((2, n))
    kernel.tail_variances(ours, tails[0])
    square_root.tail_variances(theirs, tails[1])
    np.testing.assert_allclose(tails[0], tails[1], rtol=1e-10)
    np.testing.assert_allclose(tails[0], np.diag(covariance_of(ours))[-n:], rtol=1e-10)
    values, x, other, ways = rng.standard_normal(8), rng.standard_normal(p), rng.standard_normal(p), np.ones((2, 8))
    kernel.head(values, ways[0], columns, x, other, 0.3)
    square_root.head(values, ways[1], columns, x, other, 0.3)
    np.testing.assert_allclose(ways[0], ways[1], atol=1e-14)
    np.testing.assert_allclose((values + ways[0])[columns], 0.7 * x[:b] + 0.3 * other[:b], atol=1e-14)


def test_the_further_columns_tell_what_a_common_error_does() -> None:
    """x̂ from torques of which one joint's are 3 % too high differs by 0.03 times that joint's sensitivity."""
    rng = np.random.default_rng(5)
    n, b = 2, 3
    columns, p = np.arange(b), b + n
    start = np.hstack([factor_of(rng.standard_normal(p), np.diag(rng.uniform(0.5, 2.0, p))), np.zeros((p, n))])
    estimates, factor = [], start
    poses = [(rng.standard_normal((n, b)), rng.standard_normal(n)) for _ in range(6)]
    for gain in (np.ones(n), np.array([1.0, 1.03])):
        factor, x, left = start.copy(), np.zeros(p), np.zeros((2, n))
        for regressor, torque in poses:
            zero, sigma = np.zeros(n), np.full(n, 0.1)
            kernel.fold_torques(
                factor, np.zeros(p + 1 + n), regressor, columns, torque * gain, zero, sigma, 0, n, b, -1, left
            )
        kernel.solve(factor, x)
        estimates.append((x, sensitivities(factor)))
    np.testing.assert_allclose(estimates[1][0] - estimates[0][0], 0.03 * estimates[0][1][:, 1], atol=1e-12)


def test_a_row_of_a_million_does_not_hurt() -> None:
    """Rows of very different size leave a finite triangle with a positive diagonal."""
    rng = np.random.default_rng(3)
    factor = factor_of(np.zeros(P), np.eye(P))
    for exponent in rng.uniform(-12.0, 12.0, 2000):
        kernel.fold(factor, 10.0**exponent * rng.standard_normal(P + 1))
    assert np.isfinite(factor).all()
    assert np.all(np.diag(factor) >= 1.0)
    assert np.all(standard_deviations(factor, np.eye(P)) <= 1.0 + 1e-9)


def test_an_indefinite_covariance_is_refused() -> None:
    with pytest.raises(InputError, match="positive definite"):
        factor_of(np.zeros(2), np.array([[1.0, 2.0], [2.0, 1.0]]))


@pytest.mark.skipif(not kernel.NATIVE, reason="the native loops were not built")
def test_wrong_buffers_are_refused() -> None:
    """Of a wrong type or size: ValueError, nothing is read past an end."""
    factor = factor_of(np.zeros(3), np.eye(3))
    for row in (np.zeros(3), np.zeros(4, dtype=np.float32), np.zeros(8)[::2]):
        with pytest.raises((ValueError, BufferError)):
            kernel.fold(factor, row)
    good = [
        np.ones((1, 4)),
        np.array([1], dtype=np.int64),
        *(np.ones(1) for _ in range(3)),
        0,
        1,
        1,
        2,
        np.zeros((2, 1)),
    ]
    kernel.fold_torques(factor, np.zeros(4), *good)
    for place, wrong in ((1, np.array([4], dtype=np.int64)), (5, -1), (6, 2), (7, 3), (8, 3)):
        bad = [*good]
        bad[place] = wrong
        with pytest.raises(ValueError, match="out of range"):
            kernel.fold_torques(factor, np.zeros(4), *bad)
    for place, wrong in ((2, np.ones(2)), (9, np.zeros(1)), (4, np.ones(1, dtype=np.float32))):
        bad = [*good]
        bad[place] = wrong
        with pytest.raises(ValueError, match="wrong type or size"):
            kernel.fold_torques(factor, np.zeros(4), *bad)
    with pytest.raises(ValueError, match="wrong size"):
        kernel.tail_variances(factor, np.zeros(4))
    with pytest.raises(ValueError, match="out of range"):
        kernel.head(np.zeros(2), np.zeros(2), np.array([2], dtype=np.int64), np.zeros(1), np.zeros(1), 0.5)
