r"""One joint's friction from its motor torque and the torque at its link: a regression, and which law it asks for.

With k the torque gain, τ_m the torque that the log states and τ the torque at the link, known from the plate,

.. math:: k\,τ_m = J_m \ddot q + f(\dot q, τ) + τ \quad\Rightarrow\quad
          τ_m = a\,τ - l\,\dot τ + b\,\ddot q + θ^T Φ(\dot q, τ), \qquad a = 1/k,\; b = J_m/k,\; f = θ^T Φ / a.

l is how much later the torque is sampled than the positions, zero but for a few milliseconds (LATE): the weight that
a moving joint carries changes with its velocity, and 1 ms of it looks like viscous friction.

Φ holds a constant and, of the law, what the data ask for: sgn q̇, q̇ (or its two directions by themselves), the Stribeck
term of a tried velocity, |τ| sgn q̇. Signs change faster than the low-pass follows, so Φ is made from the velocity and
then goes through the filter that the torques went through.

**Which terms.** All laws that can be made of the allowed terms are fitted, Stribeck velocities tried on a grid; the one
with the least χ² + p ln N is taken ([Kass1995], Schwarz's criterion), N the number of independent samples. A law with a
negative level, slope, Stribeck rise or load dependence is not friction and is passed over.

**How sure.** The residual's noise counts f samples as one (calibration/inflation.py). The link torque has an error too,
Y(t) δφ with φ the fitted masses: to first order it moves the estimate by −a K Y δφ, K the regression's gain matrix, and
its covariance is added. Where that error is not small beside the link torque itself the gain a would be drawn to zero;
such a joint is not determined (plate_friction.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from ..calibration.inflation import inflation_of
from ..calibration.moving import LEAST_INFLATION
from ..calibration.robust import hampel_weight, huber_weight
from ..calibration.statistics import robust_std
from ..description.frozen import Array

LAWS = ("coulomb", "viscous", "asymmetry", "stribeck", "load")
"""Terms that a law may have."""
VELOCITIES = 12
"""Stribeck velocities that are tried."""
PASSES = 4
"""Passes in which outliers lose their weight."""
NEVER_QUITE = 1e-11
"""What is added to the diagonal of a Gram matrix, relative to its mean."""
LATE = 2e-3
"""Standard deviation of the time between torque and position [s]."""
ALWAYS = ("link", "late", "acceleration", "constant")


@dataclass(frozen=True, slots=True, eq=False)
class JointRows:
    """Filtered rows of one joint, sliding samples only.

    Attributes:
        tau: Motor torque as the log states it, shape (k,).
        columns: Regressor columns by name, each of shape (k,): "link", "late", "acceleration", "constant",
            "coulomb", "viscous", "asymmetry", "load", and "stribeck 0", … for the tried velocities.
        stribeck_velocities: The tried velocities [rad/s or m/s], shape (s,).
        link_rows: Y, derivatives of the link torque by the masses, shape (k, p).
        link_covariance: Of the masses, shape (p, p).
        runs: First rows of stretches of successive samples.
    """

    tau: Array
    columns: dict[str, Array]
    stribeck_velocities: Array
    link_rows: Array
    link_covariance: Array
    runs: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class LawColumns:
    """Columns of one law."""

    terms: tuple[str, ...]
    columns: tuple[str, ...]
    stribeck_velocity: float = field(default=float("nan"))


@dataclass(frozen=True, slots=True, eq=False)
class LawFit:
    """The law that was chosen, with its numbers.

    Attributes:
        law: Its columns.
        x: Their coefficients, shape (p,), in the order of ``law.columns``.
        covariance: Of these, noise and link torque's error, shape (p, p).
        gain_std_given_rotor: Standard deviation that a = 1/k would have if the rotor's inertia were known.
        residual_rms: What is left of the motor torque [N m or N].
    """

    law: LawColumns
    x: Array
    covariance: Array
    gain_std_given_rotor: float
    residual_rms: float

    def at(self, name: str) -> int:
        """Return the place of a column, −1 where the law does not have it."""
        return self.law.columns.index(name) if name in self.law.columns else -1


def fit_law(rows: JointRows, laws: Sequence[str], *, gain: float | None = None) -> LawFit:
    """Choose a law and fit it.

    Args:
        rows: The joint's rows.
        laws: Terms that are allowed, of LAWS.
        gain: k, where it is known; None to fit it.
    """
    names = tuple(rows.columns)
    X = np.column_stack([rows.columns[name] for name in names])
    largest = _largest(rows, laws)
    y = rows.tau
    if gain is not None:
        y = y - rows.columns["link"] / gain
        largest = tuple(name for name in largest if name != "link")
    weight = _weights(X[:, [names.index(name) for name in largest]], y)
    root = np.sqrt(weight)
    size = np.sqrt(np.mean((X * root[:, None]) ** 2, axis=0))
    size[size == 0.0] = 1.0
    A, b = X * root[:, None] / size, y * root
    gram, slope, square = A.T @ A, A.T @ b, float(b @ b)
    at = [names.index(name) for name in largest]
    least = _solved(gram, slope, square, at)[1]
    count = float(np.sum(weight > 0.0))
    variance = least / max(count - len(at), 1.0)
    residual = b - A[:, at] @ _solved(gram, slope, square, at)[0]
    inflation = max(float(inflation_of(residual[:, None], rows.runs)[0]), LEAST_INFLATION)
    noise = max(variance * inflation, 1e-18 * max(square, 1e-300))
    independent = max(count / inflation, 2.0)
    late = names.index("late")
    gram[late, late] += noise / (LATE * size[late]) ** 2

    found: list[tuple[float, LawColumns]] = []
    for law in _candidates(rows, laws, gain is None):
        chosen = [names.index(name) for name in law.columns]
        x, squares = _solved(gram, slope, square, chosen)
        if _is_friction(law, x):
            found.append((squares / noise + len(chosen) * np.log(independent) + _cost(law, independent), law))
    _, law = min(found, key=lambda entry: entry[0])
    chosen = [names.index(name) for name in law.columns]
    inverse = _inverse(gram[np.ix_(chosen, chosen)])
    x = inverse @ slope[chosen]
    scale = size[chosen]
    covariance = noise * inverse
    if "link" in law.columns or gain is not None:
        a = x[law.columns.index("link")] / size[names.index("link")] if gain is None else 1.0 / gain
        moved = a * inverse @ (A[:, chosen].T @ (rows.link_rows * root[:, None]))
        covariance = covariance + moved @ rows.link_covariance @ moved.T
    return LawFit(
        law=law,
        x=x / scale,
        covariance=covariance / np.outer(scale, scale),
        gain_std_given_rotor=_given_rotor(law, covariance, scale),
        residual_rms=float(np.sqrt(np.sum((b - A[:, chosen] @ x) ** 2) / max(float(weight.sum()), 1.0))),
    )


def friction_columns(law: LawColumns, velocity: Array, load: float) -> Array:
    """Return Φ of a law at steady velocities, zeros for the columns that are no friction, shape (m, p).

    Args:
        law: The law.
        velocity: Velocities [rad/s or m/s], shape (m,).
        load: |τ| [N m or N].
    """
    sign = np.sign(velocity)
    shapes = {
        "constant": np.ones_like(velocity),
        "coulomb": sign,
        "viscous": velocity,
        "asymmetry": np.abs(velocity),
        "load": load * sign,
    }
    zero = np.zeros_like(velocity)
    return np.column_stack(
        [
            sign * stribeck_shape(velocity, law.stribeck_velocity)
            if name.startswith("stribeck")
            else shapes.get(name, zero)
            for name in law.columns
        ]
    )


def stribeck_shape(velocity: Array, stribeck_velocity: float) -> Array:
    """Return exp(−(q̇/v_s)²), shape of the velocities."""
    return np.asarray(np.exp(-((velocity / stribeck_velocity) ** 2)))


def _candidates(rows: JointRows, laws: Sequence[str], with_gain: bool) -> Iterator[LawColumns]:
    always = ALWAYS if with_gain else ALWAYS[1:]
    for chosen in product((False, True), repeat=len(LAWS)):
        terms = tuple(term for term, some in zip(LAWS, chosen, strict=True) if some)
        whole = ("asymmetry" not in terms or "viscous" in terms) and ("stribeck" not in terms or "coulomb" in terms)
        if not whole or not set(terms) <= set(laws):
            continue
        plain = always + tuple(term for term in terms if term != "stribeck")
        if "stribeck" not in terms:
            yield LawColumns(terms, plain)
            continue
        for index, velocity in enumerate(rows.stribeck_velocities.tolist()):
            yield LawColumns(terms, (*plain, f"stribeck {index}"), velocity)


def _largest(rows: JointRows, laws: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of the largest law, two Stribeck velocities of the grid among them."""
    plain = ALWAYS + tuple(term for term in LAWS if term in laws and term != "stribeck")
    count = len(rows.stribeck_velocities)
    if "stribeck" not in laws or count == 0:
        return plain
    return (*plain, *(f"stribeck {index}" for index in sorted({count // 4, (3 * count) // 4})))


def _cost(law: LawColumns, independent: float) -> float:
    """Return what a profiled Stribeck velocity costs: it is one number more."""
    return float(np.log(independent)) if "stribeck" in law.terms else 0.0


def _is_friction(law: LawColumns, x: Array) -> bool:
    """Say whether levels, slopes, rise and load dependence have the sign of friction."""
    values = dict(zip(law.columns, x, strict=True))
    signed = [value for name, value in values.items() if name in ("coulomb", "load") or name.startswith("stribeck")]
    # Slopes of the two directions are viscous ± asymmetry, in columns of the same scale.
    signed.append(values.get("viscous", 0.0) - abs(values.get("asymmetry", 0.0)))
    return all(value >= 0.0 for value in signed)


def _inverse(gram: Array) -> Array:
    """Return the inverse for columns of one size; where two of them are one signal it is huge, not lost.

    By eigenvectors: a general inverse of so ill-conditioned a matrix would spoil the well-known directions as well.
    """
    values, vectors = np.linalg.eigh(gram)
    never = NEVER_QUITE * float(np.trace(gram)) / len(gram)
    return np.asarray((vectors / (np.maximum(values, 0.0) + never)) @ vectors.T)


def _solved(gram: Array, slope: Array, square: float, chosen: Sequence[int]) -> tuple[Array, float]:
    """Return coefficients and the residual sum of squares of some columns."""
    part, side = gram[np.ix_(chosen, chosen)], slope[list(chosen)]
    x = _inverse(part) @ side
    # Not square − x · side: that is right to first order only in what rounding leaves in x.
    return x, max(square - 2.0 * float(x @ side) + float(x @ part @ x), 0.0)


def _weights(A: Array, y: Array) -> Array:
    """Return weights that outliers lose: Huber's first, then Hampel's (calibration/robust.py), shape (k,)."""
    weight = np.ones(len(y))
    for number in range(PASSES):
        root = np.sqrt(weight)
        x, *_ = np.linalg.lstsq(A * root[:, None], y * root, rcond=1e-10)
        residual = y - A @ x
        size = np.abs(residual) / max(float(robust_std(residual[:, None])[0]), 1e-12)
        weight = hampel_weight(size) if number > 0 else huber_weight(size)
    return weight


def _given_rotor(law: LawColumns, covariance: Array, scale: Array) -> float:
    """Return the standard deviation of a when b is known."""
    if "link" not in law.columns:
        return 0.0
    a, b = (law.columns.index(name) for name in ("link", "acceleration"))
    left = covariance[a, a] - covariance[a, b] ** 2 / max(covariance[b, b], 1e-300)
    return float(np.sqrt(max(left, 0.0)) / scale[a])
