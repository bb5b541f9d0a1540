"""Linear regression of joint torques, joint by joint, in constant memory.

The model is τ_i = A_i(sample) x + e_i for every joint i: one vector x for all joints, noise of variance σ_i² per joint.
Rows are not kept. For each joint an upper triangular factor R_i of [A_i | τ_i] is carried along: a new block of rows is
put under the old factor and the whole is made triangular again by orthogonal transformations (tall-skinny QR, TSQR).
R_i holds all that least squares will ever ask for, so the memory does not grow with the recording, σ_i may be chosen
afterwards, and no normal equations are formed while accumulating: the digits of a QR solution are kept.
([Demmel2008] on TSQR.)

:func:`solve` then minimises

    Σ_i |A_i x − τ_i|² / (f_i σ_i²)  +  |W (x − x₀)|²

with f_i ≥ 1 the autocorrelation time of joint i (f_i samples count as one) and a Gaussian prior of mean x₀ and
precision WᵀW (``Gaussian`` in prior.py), if one is given. σ_i is estimated from the residuals in turn with x (feasible
generalised least squares). Reweighting against outliers, in further passes over the data, is in robust.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..foundation import Array, frozen
from .prior import Gaussian

IntArray = npt.NDArray[np.int64]

RANK_TOLERANCE = 1e-9
"""Singular value, relative to the largest and with columns scaled to unit length, that counts as zero: well above
rounding, far below what any measurement resolves. What is determined but badly is the matter of ``identifiability``."""
SIGMA_FLOOR = 1e-6
"""Smallest σ_i, as a share of the largest joint's torque: no drive is known better, and made data without noise must
not divide by zero."""
POOLING = 1.0
"""Weight of the pooled noise level against a joint's own, in degrees of freedom: with few poses a joint's residual says
little about its σ_i, and a joint that by chance fits well must not rule the fit."""
MAX_ROUNDS = 60
"""Most rounds of estimating σ and x in turn."""
CONVERGED = 1e-4
"""Relative change of every σ_i at which the rounds end: σ itself is rarely known to 5 %."""
_BLOCK_NUMBERS = 40_000
"""Numbers in a block that is made triangular at once: it stays in the processor's cache."""


class JointRegression:
    """Rows of a linear model for n joints, reduced to one triangular factor per joint.

    Attributes:
        joint_names: Names of the n joints.
        column_names: Names of the p unknowns.
        rows: Rows used, per joint, shape (n,); those without a measured torque, or of weight 0, are not counted.
    """

    def __init__(self, joint_names: Sequence[str], column_names: Sequence[str]) -> None:
        """Start without data."""
        self.joint_names = tuple(joint_names)
        self.column_names = tuple(column_names)
        n, p = len(self.joint_names), len(self.column_names)
        if n == 0 or p == 0:
            raise InputError(f"the regression has {n} joints and {p} columns; expected at least one of each")
        self.rows: IntArray = np.zeros(n, dtype=np.int64)
        # A joint's rows have zeros for everything that it does not carry: only columns ever met are factored.
        self._columns: list[IntArray] = [np.zeros(0, dtype=np.int64) for _ in range(n)]
        self._factors: list[Array] = [np.zeros((0, 1)) for _ in range(n)]

    def add(self, A: Array, y: Array, weight: Array | None = None) -> None:
        """Take in a block of samples.

        Args:
            A: Rows of the model, shape (k, n, p).
            y: Measured torques [N m or N], shape (k, n); NaN where not measured.
            weight: Relative inverse variance of each row, ≥ 0 and about 1, shape (k, n); None for all alike. A row of
                weight 0 is skipped.

        Raises:
            InputError: A shape does not fit, or a number other than a torque is NaN or infinite.
        """
        k = self._checked(A, y, weight)
        used = ~np.isnan(y)
        if weight is not None:
            used &= weight > 0.0
        self.rows += used.sum(axis=0)
        for joint in range(len(self.joint_names)):
            width = len(self.column_names) + 1
            step = max(_BLOCK_NUMBERS // width, 4 * width)
            for start in range(0, k, step):
                block = slice(start, start + step)
                chosen = used[block, joint]
                rows, torques = A[block, joint], y[block, joint]
                if not chosen.all():
                    rows, torques = rows[chosen], torques[chosen]
                if weight is not None:
                    scale = np.sqrt(weight[block, joint][chosen])
                    rows, torques = rows * scale[:, None], torques * scale
                self._append(joint, rows, torques)

    def factor(self, joint: int) -> Array:
        """Return R of a joint with RᵀR = [A | y]ᵀ [A | y], weights included, shape (≤ p + 1, p + 1)."""
        stored = self._factors[joint]
        full = np.zeros((len(stored), len(self.column_names) + 1))
        full[:, self._columns[joint]] = stored[:, :-1]
        full[:, -1] = stored[:, -1]
        return full

    def torque_rms(self) -> Array:
        """Return the root mean square of each joint's torques [N m or N], shape (n,); NaN where none was measured."""
        squares = np.array([float(np.sum(factor[:, -1] ** 2)) for factor in self._factors])
        return rms_of_squares(squares, self.rows)

    def residual_squares(self, x: Array) -> Array:
        """Return |A_i x − τ_i|² of each joint, weights included, shape (n,)."""
        factors = map(self.factor, range(len(self.joint_names)))
        return np.array([float(np.sum((factor[:, :-1] @ x - factor[:, -1]) ** 2)) for factor in factors])

    def _append(self, joint: int, rows: Array, torques: Array) -> None:
        """Put rows under a joint's factor and make the whole triangular again."""
        if len(torques) == 0:
            return
        columns, factor = self._columns[joint], self._factors[joint]
        if len(columns) < rows.shape[1]:
            met = np.asarray(rows.any(axis=0))
            met[columns] = True
            if met.sum() > len(columns):
                wider = np.flatnonzero(met)
                widened = np.zeros((len(factor), len(wider) + 1))
                widened[:, np.searchsorted(wider, columns)] = factor[:, :-1]
                widened[:, -1] = factor[:, -1]
                columns, factor = wider, widened
            rows = rows[:, columns]
        stacked = np.empty((len(factor) + len(torques), len(columns) + 1))
        stacked[: len(factor)] = factor
        stacked[len(factor) :, :-1] = rows
        stacked[len(factor) :, -1] = torques
        self._columns[joint] = columns
        self._factors[joint] = _triangle(stacked)

    def _checked(self, A: Array, y: Array, weight: Array | None) -> int:
        n, p = len(self.joint_names), len(self.column_names)
        k = len(y)
        if A.shape != (k, n, p) or y.shape != (k, n) or (weight is not None and weight.shape != (k, n)):
            given = "none" if weight is None else weight.shape
            raise InputError(
                f"rows of shape {A.shape}, torques {y.shape} and weights {given} do not fit; expected (k, {n}, {p}), "
                f"(k, {n}) and (k, {n})"
            )
        if not np.isfinite(A).all():
            sample, joint, column = np.argwhere(~np.isfinite(A))[0]
            raise InputError(
                f"row {sample} of joint '{self.joint_names[joint]}' has {A[sample, joint, column]} in column "
                f"'{self.column_names[column]}'; expected a number (are q, dq and ddq finite?)"
            )
        if np.isinf(y).any():
            sample, joint = np.argwhere(np.isinf(y))[0]
            raise InputError(
                f"the torque of joint '{self.joint_names[joint]}' in row {sample} is infinite; expected a number, or "
                "NaN where it was not measured"
            )
        if weight is not None and not np.all((weight >= 0.0) & np.isfinite(weight)):
            raise InputError("a weight is negative or not a finite number; expected numbers ≥ 0")
        return k


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Result of :func:`solve`; arrays are read-only.

    Attributes:
        joint_names: Names of the n joints.
        column_names: Names of the p unknowns.
        x: The estimate, shape (p,). What neither data nor prior determine has its smallest possible size, with
            columns scaled to unit length.
        covariance: Of x, given σ and f, shape (p, p). Directions in ``undetermined`` are left out of it: there
            the true variance is infinite.
        sigma: Noise σ_i of one sample [N m or N], shape (n,); NaN for a joint without data.
        residual_rms: Root mean square of τ_i − A_i x over the data [N m or N], shape (n,); NaN without data.
        rows: Rows used, shape (n,).
        freedom: Effective samples minus fitted numbers, per joint, shape (n,): what σ_i was estimated from.
        information: Σ_i A_iᵀ A_i / (f_i σ_i²), the data's own, prior left out, shape (p, p).
        rank: Numerical rank of the data, prior left out.
        condition: Of the data's columns, weighted and scaled to unit length; infinite where the rank is below p.
        undetermined: Orthonormal basis of the changes of x that neither data nor prior would notice, shape (p, d).
    """

    joint_names: tuple[str, ...]
    column_names: tuple[str, ...]
    x: Array
    covariance: Array
    sigma: Array
    residual_rms: Array
    rows: IntArray
    freedom: Array
    information: Array
    rank: int
    condition: float
    undetermined: Array

    @property
    def std(self) -> Array:
        """Standard error of each entry of x, shape (p,); infinite where x is not determined."""
        found = np.sqrt(np.diag(self.covariance))
        touched = np.any(np.abs(self.undetermined) > 1e-6, axis=1)
        return np.where(touched, np.inf, found)

    def predicted_std(self, A: Array) -> Array:
        """Return the standard error of A x, shape (…,), for rows A of shape (…, p): the model's own, without noise."""
        inside: Array = np.sqrt(np.einsum("...p,pq,...q->...", A, self.covariance, A))
        if self.undetermined.shape[1] == 0:
            return inside
        size = np.linalg.norm(A, axis=-1)
        leak = np.linalg.norm(A @ self.undetermined, axis=-1) > 1e-6 * size
        return np.where(leak, np.inf, inside)


def solve(
    regression: JointRegression,
    *,
    prior: Gaussian | None = None,
    sigma: npt.ArrayLike | None = None,
    autocorrelation_time: npt.ArrayLike | None = None,
    relative_sigma: npt.ArrayLike | None = None,
    pooling: float = POOLING,
    tolerance: float = RANK_TOLERANCE,
) -> Solution:
    """Estimate x from accumulated rows.

    With σ not given it is found in turn with x. Per joint, σ_i² = (RSS_i/f_i + ν s² r_i²) / (N_i/f_i − h_i + ν): its
    own residual sum of squares over its degrees of freedom, drawn towards a common level s with the weight of ν =
    pooling samples. h_i is the trace of joint i's part of the hat matrix, so that the h_i of all joints and the prior's
    share add up to p; s is the geometric mean of σ_i/r_i, with r_i the expected ratios of the joints' noise.

    Args:
        regression: The data.
        prior: What is known of x beforehand.
        sigma: Noise of one sample per joint [N m or N], > 0, shape (n,); None to estimate it.
        autocorrelation_time: f_i ≥ 1, shape (n,): that many samples carry the information of one independent one.
        relative_sigma: r_i > 0, shape (n,): expected ratios of the joints' noise, only used for pooling; None for the
            same noise on all.
        pooling: ν ≥ 0; infinite for one common level, 0 for each joint on its own.
        tolerance: Singular value that counts as zero, relative to the largest.

    Raises:
        InputError: No data at all, or an argument that does not fit.
    """
    n, p = len(regression.joint_names), len(regression.column_names)
    if not regression.rows.any():
        raise InputError("there are no measured torques to fit; every row was empty or NaN")
    if prior is not None and len(prior.mean) != p:
        raise InputError(
            f"the prior is for {len(prior.mean)} numbers; expected {p}: {', '.join(regression.column_names)}"
        )
    if not pooling >= 0.0:
        raise InputError(f"pooling is {pooling!r}; expected a number ≥ 0")
    times = _per_joint(autocorrelation_time, n, "autocorrelation_time", least=1.0)
    ratio = _per_joint(relative_sigma, n, "relative_sigma", least=0.0)
    measured = regression.rows > 0
    factors = [regression.factor(joint) for joint in range(n)]
    samples = regression.rows / times
    scale = regression.torque_rms()
    signal = max(float(np.nanmax(scale)), 1e-12)

    if sigma is not None:
        noise = _per_joint(sigma, n, "sigma", least=0.0)
        step = _minimise(factors, noise, times, prior, tolerance)
    else:
        # The first guess only has to be in proportion: the size cancels without a prior and is replaced with one.
        noise = np.maximum(ratio * np.nanmax(scale / ratio), SIGMA_FLOOR * signal)
        step = _minimise(factors, noise, times, prior, tolerance)
        for _ in range(MAX_ROUNDS):
            before = noise
            squares = step.squares / times
            noise = pooled_noise(
                squares, step.fitted, samples, ratio=ratio, before=before, pooling=pooling, signal=signal
            )
            step = _minimise(factors, noise, times, prior, tolerance)
            if np.all(np.abs(noise - before)[measured] <= CONVERGED * before[measured]):
                break

    rank, condition, information = _data_alone(factors, noise, times, tolerance)
    return Solution(
        joint_names=regression.joint_names,
        column_names=regression.column_names,
        x=frozen(step.x),
        covariance=frozen(step.covariance),
        sigma=frozen(np.where(measured, noise, np.nan)),
        residual_rms=frozen(rms_of_squares(step.squares, regression.rows)),
        rows=regression.rows.copy(),
        freedom=frozen(samples - step.fitted),
        information=frozen(information),
        rank=rank,
        condition=condition,
        undetermined=frozen(step.undetermined),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """The minimum for given σ: x, its covariance, and per joint the residual sum of squares and h_i."""

    x: Array
    covariance: Array
    undetermined: Array
    squares: Array
    fitted: Array


def _minimise(factors: Sequence[Array], sigma: Array, times: Array, prior: Gaussian | None, tolerance: float) -> _Step:
    """Solve the stacked weighted system by QR and SVD; directions without any information keep their smallest size."""
    weighted = [factor / (noise * np.sqrt(f)) for factor, noise, f in zip(factors, sigma, times, strict=True)]
    p = factors[0].shape[1] - 1
    center = np.zeros(p) if prior is None else prior.mean
    stacked = np.concatenate(weighted + ([] if prior is None else [np.column_stack([prior.root, prior.root @ center])]))
    # Around the prior's mean: what the data leave open then stays there.
    stacked[:, -1] -= stacked[:, :-1] @ center
    triangle = _triangle(stacked)
    left, values, right, size = _scaled_svd(triangle[:, :-1])
    kept = values > tolerance * values[0] if len(values) else np.zeros(0, dtype=bool)
    step = right[kept].T / values[kept] / size[:, None]
    x = center + step @ (left[:, kept].T @ triangle[:, -1])
    covariance = step @ step.T
    hidden = _null_space(right[kept], size)
    residuals = [factor[:, :-1] @ x - factor[:, -1] for factor in factors]
    fitted = [float(np.sum((rows[:, :-1] @ step) ** 2)) for rows in weighted]
    squares = np.array([float(residual @ residual) for residual in residuals])
    return _Step(x, covariance, hidden, squares, np.array(fitted))


def pooled_noise(
    squares: Array,
    fitted: Array,
    samples: Array,
    *,
    ratio: Array,
    before: Array,
    pooling: float,
    signal: float,
) -> Array:
    """Return the next estimate of σ [N m or N], shape (n,), from one fit's residuals; see :func:`solve`.

    Where the fit takes up more than half of a joint's samples the quotient is ill-conditioned and may turn negative;
    the EM step (RSS/f + h σ²) / N has the same fixed point and stays positive.

    Args:
        squares: Residual sum of squares over f_i, RSS_i/f_i, shape (n,).
        fitted: h_i, shape (n,).
        samples: Effective samples N_i/f_i, shape (n,).
        ratio: r_i, shape (n,).
        before: The estimate that gave these residuals, shape (n,).
        pooling: ν.
        signal: Size of the largest joint's torque [N m or N].
    """
    crowded = fitted > 0.5 * samples
    numerator = np.where(crowded, squares + fitted * before**2, squares)
    freedom = np.where(crowded, samples, samples - fitted)
    if float(np.sum(samples - fitted)) <= 0.5:
        # Without a spare sample no residual can show the noise: then it is taken as large as the signal.
        return np.asarray(signal * ratio / ratio.max())
    if np.isinf(pooling):
        variance = float(np.sum(numerator / ratio**2)) / float(np.sum(freedom)) * ratio**2
    else:
        # Levels differ by factors, so their mean is that of the logarithms: one loud joint does not set it.
        common = float(np.exp(np.mean(np.log((before / ratio)[samples > 0.0] ** 2))))
        variance = (numerator + pooling * common * ratio**2) / np.maximum(freedom + pooling, 1e-300)
    return np.maximum(np.sqrt(variance), SIGMA_FLOOR * signal)


def _data_alone(factors: Sequence[Array], sigma: Array, times: Array, tolerance: float) -> tuple[int, float, Array]:
    """Return rank, condition and information matrix of the weighted data."""
    rows = np.concatenate(
        [factor[:, :-1] / (noise * np.sqrt(f)) for factor, noise, f in zip(factors, sigma, times, strict=True)]
    )
    _, values, _, _ = _scaled_svd(_triangle(rows))
    rank = int(np.sum(values > tolerance * values[0])) if len(values) else 0
    full = rank == rows.shape[1]
    return rank, float(values[0] / values[-1]) if full else float("inf"), rows.T @ rows


def _scaled_svd(matrix: Array) -> tuple[Array, Array, Array, Array]:
    """Return (U, s, Vᵀ, size) of the matrix with its columns divided by their lengths ``size`` (1 for zero ones)."""
    size = np.linalg.norm(matrix, axis=0)
    size[size == 0.0] = 1.0
    try:
        left, values, right = np.linalg.svd(matrix / size, full_matrices=False)
    except np.linalg.LinAlgError:
        # Divide and conquer gives up on some matrices with columns of rounding errors; the plain iteration does not.
        from scipy.linalg import svd  # type: ignore[import-untyped]

        left, values, right = svd(matrix / size, full_matrices=False, lapack_driver="gesvd")
    return left, values, right, size


def _null_space(kept: Array, size: Array) -> Array:
    """Return an orthonormal basis, in the units of x, of what scaled directions ``kept`` (r, p) do not see, (p, d)."""
    p = len(size)
    if len(kept) == p:
        return np.zeros((p, 0))
    _, _, full = np.linalg.svd(kept, full_matrices=True)
    basis, _ = np.linalg.qr((full[len(kept) :] / size).T)
    return basis


def _triangle(matrix: Array) -> Array:
    """Return R of the QR factorisation."""
    factor: Array = np.asarray(np.linalg.qr(matrix, mode="r"))
    return factor


def rms_of_squares(squares: Array, rows: IntArray) -> Array:
    """Return √(squares/rows), shape (n,); NaN where there are no rows."""
    return np.sqrt(np.where(rows > 0, squares / np.maximum(rows, 1), np.nan))


def _per_joint(value: npt.ArrayLike | None, n: int, name: str, least: float) -> Array:
    """Return one positive number per joint, at least ``least``; ones for None."""
    if value is None:
        return np.ones(n)
    given = np.array(value, dtype=np.float64)
    if given.shape != (n,) or not np.all(np.isfinite(given) & (given >= least) & (given > 0.0)):
        raise InputError(
            f"{name} is {given.tolist()}; expected {n} finite numbers {f'≥ {least:g}' if least else '> 0'}, one a joint"
        )
    return given
