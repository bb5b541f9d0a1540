"""Weighted regression that outliers do not pull along: a touched arm, a pose on a stop, a spike.

A row whose residual u = r/σ_i is large gets a smaller weight, in further passes over the data:

- Huber's weight min(1, c/|u|) first, with σ_i found along the way by his second proposal, Σ min(|u|, c)² = β N: it has
  one minimum, so it cannot settle on the wrong half of the data ([Huber1981]);
- then Hampel's weight: 1 up to HUBER, falling like 1/|u| to BEND and on to nothing at REJECT, with σ fixed. Rows that
  are plainly wrong lose all influence. It is taken back where it would leave fewer numbers determined.

Rows within HUBER keep their full weight: friction left in a holding torque has short tails, and its largest values tell
the most. The data are read again on each pass, block by block, so the memory stays constant. With few poses an outlier
can pull the fit to itself and stay unseen: one wrong pose of 25 is found, one of 8 is not.

Sizes of measured columns; entries that were not measured are NaN and left out.

How many samples carry the information of one: from the residuals' own autocorrelation.

Residuals of a moving arm are model error (friction that no simple law describes, cogging, elasticity), filtered: one
is much like the next. A mean of N of them is as uncertain as one of N/f independent ones, with f the integrated
autocorrelation time in samples. Taking them for independent would make the data's word √f times too loud, and the
prior's too faint.

f is found by blocking ([Flyvbjerg1989]): with s_B² the mean square of block means of length B and s² that of the
residuals, B s_B²/s² rises with B to f. The smallest B = 2^l with B³ > 2 N f_B² balances what longer correlations are
missed against how few blocks are left ([Lee2011]). Blocks are kept for all l at once, so a recording of any length
needs a constant memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from ..foundation import Array, frozen
from .prior import Gaussian
from .regression import POOLING, JointRegression, Solution, pooled_noise, solve

Block = tuple[Array, Array, Array | None]
"""Rows A (k, n, p), torques y (k, n) and weights (k, n) or None, as JointRegression.add takes them."""

HUBER = 2.5
"""c of Huber's weight: of good rows one in eighty is touched."""
HUBER_CONSISTENCY = 0.97756
"""β = E[min(|u|, c)²] for a standard normal u and c = HUBER: makes σ consistent."""
BEND = 4.0
REJECT = 8.0
"""Residuals, in σ, where Hampel's weight begins to fall faster and where it is zero."""
HUBER_PASSES = 20
"""Most passes with Huber's weight."""
HAMPEL_PASSES = 3
"""Most passes with Hampel's weight."""
CONVERGED = 0.02
"""Relative change of every σ_i at which Huber's passes end."""
SETTLED = 0.1
"""Change of every number, in standard errors, at which Hampel's passes end."""


def solve_robust(
    blocks: Callable[[], Iterable[Block]],
    joint_names: Sequence[str],
    column_names: Sequence[str],
    *,
    prior: Gaussian | None = None,
    inflation: npt.ArrayLike | None = None,
    relative_sigma: npt.ArrayLike | None = None,
    pooling: float = POOLING,
) -> Solution:
    """Fit with outliers weighted down.

    Args:
        blocks: Returns the data's blocks from the beginning each time it is called.
        joint_names: Names of the n joints.
        column_names: Names of the p unknowns.
        prior: As in ``regression.solve``; so are the other arguments.
        inflation: f_i.
        relative_sigma: r_i.
        pooling: ν.

    Returns:
        The fit, σ_i that of the good rows. Its covariance takes the final weights as given.
    """
    n = len(joint_names)
    plain = JointRegression(joint_names, column_names)
    for A, y, weight in blocks():
        plain.add(A, y, weight)
    solution = solve(plain, prior=prior, inflation=inflation, relative_sigma=relative_sigma, pooling=pooling)
    share = np.ones(n) if inflation is None else np.array(inflation, dtype=np.float64)
    ratio = np.ones(n) if relative_sigma is None else np.array(relative_sigma, dtype=np.float64)
    samples = plain.rows / share
    signal = max(float(np.nanmax(plain.torque_rms())), 1e-12)
    sigma, rejects = np.where(np.isnan(solution.sigma), signal, solution.sigma), False
    for _ in range(HUBER_PASSES):
        regression, clipped, rejects = _weighted(blocks(), plain, solution.x, sigma, huber_weight)
        before = sigma
        squares = clipped / HUBER_CONSISTENCY / share
        fitted = samples - solution.freedom
        sigma = pooled_noise(squares, fitted, samples, ratio=ratio, before=before, pooling=pooling, signal=signal)
        solution = solve(regression, prior=prior, sigma=sigma, inflation=inflation)
        if np.all(np.abs(sigma - before) <= CONVERGED * before):
            break
    # Without a row beyond BEND the two weights are the same.
    for _ in range(HAMPEL_PASSES if rejects else 0):
        regression, _, _ = _weighted(blocks(), plain, solution.x, sigma, hampel_weight)
        tried = solve(regression, prior=prior, sigma=sigma, inflation=inflation) if regression.rows.any() else solution
        if tried.rank < solution.rank:
            break
        settled = bool(np.all(np.abs(tried.x - solution.x) <= SETTLED * tried.std))
        solution = tried
        if settled:
            break
    return solution


def huber_weight(size: Array) -> Array:
    """Return min(1, HUBER/|u|) for sizes |u| of residuals in standard deviations, any shape."""
    return HUBER / np.maximum(size, HUBER)


def hampel_weight(size: Array) -> Array:
    """Return Huber's weight, falling to nothing between BEND and REJECT, for sizes |u|, any shape."""
    falling = np.clip((REJECT - size) / (REJECT - BEND), 0.0, 1.0)
    return huber_weight(size) * falling


def _weighted(
    blocks: Iterable[Block], like: JointRegression, x: Array, sigma: Array, weigh: Callable[[Array], Array]
) -> tuple[JointRegression, Array, bool]:
    """Accumulate all rows with weights from their residuals.

    Returns:
        The regression; Σ min(|r|, HUBER σ)² per joint, shape (n,); and whether a row lies beyond BEND.
    """
    regression = JointRegression(like.joint_names, like.column_names)
    clipped, beyond = np.zeros(len(sigma)), False
    for A, y, weight in blocks:
        given = np.ones(y.shape) if weight is None else weight
        residual = np.sqrt(given) * (y - A @ x)
        size = np.nan_to_num(np.abs(residual) / sigma)
        clipped += np.sum(np.minimum(size, HUBER) ** 2, axis=0) * sigma**2
        beyond |= bool(np.any(size > BEND))
        regression.add(A, y, given * weigh(size))
    return regression, clipped, beyond


CERTAIN = 1.959964
"""Standard deviations of a 95 % interval of a normal distribution."""
NORMAL = 1.4826
"""Standard deviation of a normal distribution about zero, per median of its sizes."""
WORSE = 1.2
"""Errors (geometric mean of the joints) that are this many times the description's are worse. Its friction and rotors
are fitted without any prior, which takes a little off."""


def mean(values: Array) -> Array:
    """Return the mean of each column, shape (a,); NaN for an empty column."""
    known = np.isfinite(values)
    counts = known.sum(axis=0)
    sums = np.where(known, values, 0.0).sum(axis=0)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def root_mean_square(values: Array) -> Array:
    """Return the root mean square of each column, shape (a,); NaN for an empty column."""
    return np.sqrt(mean(values**2))


def deviation(values: Array) -> Array:
    """Return the standard deviation of each column, shape (a,); NaN for an empty column."""
    return root_mean_square(values - mean(values))


def robust_std(values: Array) -> Array:
    """Return the standard deviation about zero that the median of the sizes stands for, shape (a,).

    Up to half of a column may be outliers. NaN for an empty column.
    """
    known = np.isfinite(values).any(axis=0)
    found = np.full(values.shape[1], np.nan)
    found[known] = NORMAL * np.nanmedian(np.abs(values[:, known]), axis=0)
    return found


def all_joints(values: Array, active: npt.NDArray[np.bool_]) -> Array:
    """Return one number per joint, read-only, NaN for joints without a measured effort, shape (n,).

    Args:
        values: Of the active joints, shape (a,).
        active: Which joints have a measured effort, shape (n,).
    """
    whole = np.full(len(active), np.nan)
    whole[active] = values
    return frozen(whole)


def better_than_described(fitted: Array, described: Array) -> bool:
    """Return whether a fit explains its own data better than the description does.

    Args:
        fitted: Errors of the fit, root mean square per joint, shape (a,).
        described: Errors of the description with its best friction and offsets, shape (a,).
    """
    known = np.isfinite(fitted) & np.isfinite(described) & (described > 0.0)
    ratio = np.log(np.maximum(fitted[known], 1e-300) / described[known])
    return not known.any() or bool(np.mean(ratio) < np.log(WORSE))


LEVELS = 40
LEAST_BLOCKS = 8
"""Fewer blocks than this say nothing about their scatter."""


def inflation_of(residuals: Array, starts: Iterable[int] = ()) -> Array:
    """Return f ≥ 1 of each column of residuals, shape (a,).

    Args:
        residuals: Shape (k, a); NaN ones are passed over.
        starts: Rows that do not succeed the row before them.
    """
    blocking = Blocking(residuals.shape[1])
    for stretch in np.split(residuals, list(starts)):
        blocking.add(stretch)
        blocking.pause()
    return blocking.inflation()


class Blocking:
    """Mean squares of block means, for blocks of 1, 2, 4, … successive residuals of a joints."""

    def __init__(self, joints: int) -> None:
        """Start without residuals."""
        self._squares = np.zeros((LEVELS, joints))
        self._blocks = np.zeros((LEVELS, joints))
        self._open = np.full((LEVELS, joints), np.nan)

    def add(self, residuals: Array) -> None:
        """Take in successive residuals, shape (k, a); NaN ones are passed over."""
        for joint, column in enumerate(residuals.T):
            means = column[np.isfinite(column)]
            for level in range(LEVELS):
                if len(means) == 0:
                    break
                self._squares[level, joint] += float(means @ means)
                self._blocks[level, joint] += len(means)
                if np.isfinite(self._open[level, joint]):
                    means = np.concatenate([[self._open[level, joint]], means])
                pairs = len(means) // 2
                self._open[level, joint] = means[-1] if len(means) % 2 else np.nan
                means = 0.5 * (means[0 : 2 * pairs : 2] + means[1 : 2 * pairs : 2])

    def pause(self) -> None:
        """Say that what follows does not succeed what was before: open blocks are left out."""
        self._open[:] = np.nan

    def inflation(self) -> Array:
        """Return f ≥ 1 of each joint, shape (a,)."""
        return np.array([self._of(joint) for joint in range(self._squares.shape[1])])

    def _of(self, joint: int) -> float:
        blocks, squares = self._blocks[:, joint], self._squares[:, joint]
        if blocks[0] < LEAST_BLOCKS or not squares[0] > 0.0:
            return 1.0
        variance = squares[0] / blocks[0]
        found = 1.0
        for level in range(LEVELS):
            if blocks[level] < LEAST_BLOCKS:
                break
            size = 2.0**level
            found = max(found, size * squares[level] / blocks[level] / variance)
            if size**3 > 2.0 * blocks[0] * found**2:
                break
        return found
