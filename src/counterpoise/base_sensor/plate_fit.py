r"""Regression of a plate's readings on the masses and inertias of what stands on it.

.. math:: w(t) = W_0 φ_0 + W(q, \dot q, \ddot q)\, φ + z + d\,(t - \bar t) - l\, \dot w(t)
          - \sum_j c_j τ_j\, \partial w / \partial q_j + e

with φ the parameters of the moving bodies, φ_0 those of the base link (as described: they only add a constant), z the
plate's zero, d its drift and l the time by which its readings are late: 2 ms of a filter are 0.07 N m on a shoulder
that swings, and would go into the masses. ẇ is that of the smoothed readings. c_j is the compliance of a gear: an
encoder on the motor does not see the link sag by c_j τ_j, 2 mrad on a cable-driven shoulder, which would turn up in the
moments of its neighbours; τ and ∂w/∂q are those of a first fit without it. Neither friction nor rotors appear: both are
internal to the joints.

Each of the six channels has its own noise; its samples count as one in f where they repeat themselves
(calibration/inflation.py), and outliers lose their weight (calibration/robust.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from ..calibration.gaussian import Gaussian
from ..calibration.identifiability import link_parameter_names
from ..calibration.inflation import inflation_of
from ..calibration.moving import LEAST_INFLATION
from ..calibration.prior import CadPrior, parameter_covariance
from ..calibration.regression import JointRegression, Solution
from ..calibration.robust import Block, solve_robust
from ..calibration.samples import CHUNK_ROWS, Samples
from ..description.frozen import Array
from ..dynamics.joint_units import rotary
from ..dynamics.reference import WRENCH_COMPONENTS
from ..dynamics.regressors import GRAVITY_PARAMETERS, INERTIAL_PARAMETERS
from ..dynamics.robot import Robot
from .plate_base import PlateBase, wrench_columns
from .plate_samples import PlateSamples
from .strength import choose_strength

NUISANCES = (*(f"{part}.{channel}" for part in ("zero", "drift") for channel in WRENCH_COMPONENTS), "lag")
"""Names of what is fitted along, a compliance per joint apart."""
SAG = 2e-3
"""How far a link may sag [rad] under the largest torque met, standard deviation ..."""
SAG_LINEAR = 2e-4
"""... and one on a linear joint [m]."""
STEP = 1e-4
"""Change of a position for a central difference [rad or m]."""
LAG_STD = 0.05
"""How late a reading may be [s], standard deviation: a bus, a filter."""
LATER = 3.0
"""Two samples further apart than this many median distances do not succeed each other."""


@dataclass(frozen=True, slots=True, eq=False)
class PlateRegression:
    """A fit of all parameters of the moving bodies.

    Attributes:
        base: What of them a plate can reveal.
        parameters: φ, shape (p,): the description's where neither data nor prior tell.
        covariance: Of φ, shape (p, p).
        zero: z [N, N m], shape (6,).
        drift: d [N/s, N m/s], shape (6,).
        lag: l [s], and its standard deviation; 0 of poses at rest.
        compliance: c of the gears [rad/(N m) or m/N], shape (n,).
        compliance_std: Its standard deviation, shape (n,).
        reference: φ that ∂w/∂q and τ were taken at, shape (p,).
        middle: t̄ [s].
        sigma: Noise of one sample per channel [N, N m], shape (6,).
        information: The data's own about the base parameters, zero and drift taken out, shape (b, b).
        strength: Of the prior; 0 without one.
    """

    base: PlateBase
    parameters: Array
    covariance: Array
    zero: Array
    drift: Array
    lag: tuple[float, float]
    compliance: Array
    compliance_std: Array
    reference: Array
    middle: float
    sigma: Array
    information: Array
    strength: float

    def wrench(self, data: PlateSamples, parameters: Array | None = None) -> Array:
        """Return the wrenches that the fit expects, zero, drift and lag included, shape (k, 6).

        Args:
            data: Where.
            parameters: Other parameters than the fit's, shape (p,).
        """
        phi = self.parameters if parameters is None else parameters
        parts = [rows @ phi + constant for rows, constant in _model_rows(self.base, data)]
        sag = sag_columns(self.base, data, self.reference) @ self.compliance
        late = (data.samples.time - self.middle)[:, None]
        whole = np.concatenate([np.zeros((0, 6)), *parts]) + sag
        return np.asarray(whole + self.zero + self.drift * late - self.lag[0] * data.rate)


def fit_wrenches(base: PlateBase, data: PlateSamples, prior: CadPrior | None) -> PlateRegression:
    """Fit readings.

    Args:
        base: What is looked for.
        data: Readings with their motion.
        prior: How the description's masses are trusted; None for the data alone.
    """
    robot, kind = base.robot, base.kind
    described = described_parameters(robot, kind)
    spread = parameter_covariance(robot, 4 if kind == "gravity" else 10)
    free = list(base.columns) if prior is None else list(range(len(described)))
    joints = tuple(f"compliance.{joint}" for joint in robot.joint_names)
    parameters = link_parameter_names(robot, GRAVITY_PARAMETERS if kind == "gravity" else INERTIAL_PARAMETERS)
    names = tuple(parameters[at] for at in free) + NUISANCES + joints
    middle = float(data.samples.time.mean())
    rigid = _Rows(base, data, free, middle, np.zeros((len(data), 6, robot.n)))
    known = _Known(described if prior is not None else np.zeros(0), spread, len(free), np.ones(robot.n))
    first = solve_robust(rigid.blocks, WRENCH_COMPONENTS, names, prior=known.of(1.0))
    reference = _all(base, described, spread, first, free, prior)[0]
    rows = _Rows(base, data, free, middle, sag_columns(base, data, reference))
    known = replace(known, compliance_std=_sag_std(robot, kind, data, reference))
    # Poses at rest do not succeed each other.
    inflation = _inflation(rows, first) if data.moving else np.ones(6)
    strength = 0.0
    if prior is not None:
        strength = 1.0 if prior.strength is None else prior.strength
    if prior is not None and prior.strength is None and data.moving:
        regression = JointRegression(WRENCH_COMPONENTS, names)
        for A, y, weight in rows.blocks():
            regression.add(A, y, weight)
        strength = choose_strength(regression, known.of, first.sigma, inflation)
    solution = solve_robust(rows.blocks, WRENCH_COMPONENTS, names, prior=known.of(strength or 1.0), inflation=inflation)
    zero, drift, lag, compliance = np.split(solution.x[len(free) :], (6, 12, 13))
    std = np.sqrt(np.diag(solution.covariance)[-robot.n :])
    phi, covariance, constant = _all(base, described, spread, solution, free, prior)
    at = [free.index(column) for column in base.columns]
    return PlateRegression(
        base=base,
        parameters=phi,
        covariance=covariance,
        zero=zero - constant,
        drift=drift,
        lag=(float(lag[0]), float(np.sqrt(np.diag(solution.covariance)[len(free) + 12])) if data.moving else 0.0),
        compliance=compliance,
        compliance_std=std,
        reference=reference,
        middle=middle,
        sigma=solution.sigma,
        information=_without(solution.information, at, len(free), replace(known, described=np.zeros(0)).of(1.0)),
        strength=strength,
    )


def described_parameters(robot: Robot, kind: str) -> Array:
    """Return the description's own parameters of the moving bodies, shape (4 b,) or (10 b,)."""
    return robot.gravity_parameters if kind == "gravity" else robot.inertial_parameters[len(INERTIAL_PARAMETERS) :]


class _Rows:
    """Rows of the regression, made again on each pass."""

    def __init__(self, base: PlateBase, data: PlateSamples, free: list[int], middle: float, sag: Array) -> None:
        self._base, self._data, self._free, self._middle, self._sag = base, data, free, middle, sag

    def blocks(self) -> Iterable[Block]:
        """Yield A (k, 6, p), y (k, 6) and no weights, piece by piece."""
        start = 0
        for W, constant in _model_rows(self._base, self._data):
            k = len(W)
            late = (self._data.samples.time[start : start + k] - self._middle)[:, None, None]
            unit = np.tile(np.eye(6), (k, 1, 1))
            rate = -self._data.rate[start : start + k, :, None]
            sag = self._sag[start : start + k]
            A = np.concatenate([W[:, :, self._free], unit, late * unit, rate, sag], axis=2)
            yield A, self._data.wrench[start : start + k] - constant, None
            start += k

    def starts(self) -> list[int]:
        """Return the rows that do not succeed the row before them."""
        gaps = np.diff(self._data.samples.time)
        usual = float(np.median(gaps)) if len(gaps) else 0.0
        return (np.flatnonzero(gaps > LATER * usual) + 1).tolist()


def _model_rows(base: PlateBase, data: PlateSamples) -> Iterator[tuple[Array, Array]]:
    """Yield W (k, 6, p) of the moving bodies and the base link's wrench (6,), piece by piece."""
    robot = base.robot
    first = robot.inertial_parameters[: len(INERTIAL_PARAMETERS)]
    for chunk in data.samples.chunks(CHUNK_ROWS):
        constant = robot.base_wrench_regressor(chunk.q[:1])[0, :, : len(first)] @ first
        yield wrench_columns(robot, base.kind, chunk.q, chunk.dq, chunk.ddq), constant


def _inflation(rows: _Rows, solution: Solution) -> Array:
    """Return f of each channel of a motion, shape (6,)."""
    residuals = np.concatenate([y - A @ solution.x for A, y, _ in rows.blocks()])
    return np.maximum(inflation_of(residuals, rows.starts()), LEAST_INFLATION)


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """What is known before any reading: the description, that a lag is short, that gears are stiff.

    Attributes:
        described: Means of the parameters, shape (p,); none without a prior for them.
        spread: Their covariance, shape (p, p).
        size: Number of free parameters.
        compliance_std: Standard deviations of the compliances, shape (n,).
    """

    described: Array
    spread: Array
    size: int
    compliance_std: Array

    def of(self, strength: float) -> Gaussian:
        """Return it for a strength of the description.

        The strength narrows tools too, unlike in calibration/prior.py: a plate sees a tool before anything else.
        """
        stiff = len(self.compliance_std)
        columns = self.size + len(NUISANCES) + stiff
        mean, root = np.zeros(columns), np.zeros((1 + stiff, columns))
        root[0, self.size + len(NUISANCES) - 1] = 1.0 / LAG_STD
        root[1:, columns - stiff :] = np.diag(1.0 / self.compliance_std)
        if len(self.described):
            own = Gaussian.from_covariance(self.described, self.spread / strength)
            mean[: self.size] = own.mean
            root = np.vstack([np.hstack([own.root, np.zeros((len(own.root), columns - self.size))]), root])
        return Gaussian(mean, root)


def sag_columns(base: PlateBase, data: PlateSamples, parameters: Array) -> Array:
    """Return −τ_j ∂w/∂q_j, shape (k, 6, n): what the compliance of each gear does to the wrench.

    Args:
        base: Robot and kind of the parameters.
        data: Where.
        parameters: φ that torques and wrenches are taken from, shape (p,).
    """
    robot, kind = base.robot, base.kind
    parts = [np.zeros((0, 6, robot.n))]
    for chunk in data.samples.chunks(CHUNK_ROWS):
        torque = link_torques(robot, kind, chunk, parameters)
        columns = np.empty((len(chunk), 6, robot.n))
        for joint in range(robot.n):
            step = STEP * np.eye(robot.n)[joint]
            up, down = (
                wrench_columns(robot, kind, chunk.q + side * step, chunk.dq, chunk.ddq) @ parameters
                for side in (1.0, -1.0)
            )
            columns[:, :, joint] = -torque[:, joint, None] * (up - down) / (2.0 * STEP)
        parts.append(columns)
    return np.concatenate(parts)


def link_torques(robot: Robot, kind: str, samples: Samples, parameters: Array) -> Array:
    """Return the torques at the joints that parameters give [N m or N], shape (k, n), without friction and rotors."""
    if kind == "gravity":
        return np.asarray(robot.gravity_regressor(samples.q) @ parameters)
    return np.asarray(robot.inertial_regressor(samples.q, samples.dq, samples.ddq) @ parameters)


def _sag_std(robot: Robot, kind: str, data: PlateSamples, parameters: Array) -> Array:
    """Return how compliant a gear may be, shape (n,): SAG at the largest torque met, or at 1 % of the arm's largest."""
    largest = np.max(np.abs(link_torques(robot, kind, data.samples, parameters)), axis=0)
    turns = np.array(rotary(robot), dtype=bool)
    return np.asarray(np.where(turns, SAG, SAG_LINEAR) / np.maximum(largest, 1e-2 * float(largest.max()) + 1e-9))


def _all(
    base: PlateBase, described: Array, spread: Array, solution: Solution, free: list[int], prior: CadPrior | None
) -> tuple[Array, Array, Array]:
    """Return all parameters, their covariance, and what they add to a constant wrench beside the fitted ones, (6,).

    Without a prior only base values were fitted. The parameters that amount to them lie as near to the description as
    it is sure of itself: φ = φ_d + P Gᵀ (G P Gᵀ)⁻¹ (v − G φ_d), with P its covariance. Both give the same wrench but
    for a constant, which the zero makes up for.
    """
    size = len(free)
    if prior is not None:
        return solution.x[:size], solution.covariance[:size, :size], np.zeros(6)
    G = base.regrouping
    lift = np.linalg.solve(G @ spread @ G.T, G @ spread).T
    values, known = solution.x[:size], solution.covariance[:size, :size]
    left = spread - lift @ G @ spread
    phi = described + lift @ (values - G @ described)
    pose = np.zeros((1, base.robot.n))
    at_rest = wrench_columns(base.robot, base.kind, pose, pose, pose)[0]
    return phi, lift @ known @ lift.T + left, at_rest @ phi - at_rest[:, free] @ values


def _without(information: Array, wanted: list[int], nuisance_from: int, known: Gaussian) -> Array:
    """Return the information about some numbers when of the nuisances only that is known (Schur complement)."""
    others, kept = np.arange(nuisance_from, len(information)), np.array(wanted, dtype=np.int64)
    cross = information[np.ix_(kept, others)]
    inner = (information + known.root.T @ known.root)[np.ix_(others, others)]
    own = information[np.ix_(kept, kept)]
    size = np.sqrt(np.maximum(np.diag(own), 1e-300))
    left = (own - cross @ np.linalg.pinv(inner, hermitian=True) @ cross.T) / np.outer(size, size)
    # Where nothing is left rounding may make it negative.
    values, vectors = np.linalg.eigh(0.5 * (left + left.T))
    half = size[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(half @ half.T)
