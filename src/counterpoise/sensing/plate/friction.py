r"""Friction of every joint from motor torques and the plate: the two steps that a fixed arm is said not to allow.

Step one: the plate feels neither friction nor rotors, so it gives the masses without them (parameters.py), and with
them the torque τ_d + g at every link. Step two: what the motor exerts beyond that is rotor inertia and friction, by the
regression below, and the motor torque's own gain shows in the part that follows the links.

**The regression.** With k the torque gain of a joint, τ_m the motor torque that the log states and τ the torque at the
link, known from the plate,

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

**How sure.** The residual's noise counts f samples as one (fitting/robust.py). The link torque has an error too,
Y(t) δφ with φ the fitted masses: to first order it moves the estimate by −a K Y δφ, K the regression's gain matrix, and
its covariance is added. Where that error is not small beside the link torque itself the gain a would be drawn to zero;
such a joint is not determined.

**Which joints.** The link torque is the fitted model's. The plate's reading itself, projected on the joint, scatters
about it by ``plate_std``; averaged over a recording by the fit that noise is much smaller, but where it exceeds what
the links of a joint need at all, the plate has nothing to say of that joint. Its friction is then not printed:

- the plate's scatter exceeds the variation of the link torque (NOISE_SHARE), or
- the gain is known worse than GAIN_KNOWN, though the rotor were known, or
- the curve's standard deviation exceeds CURVE_SHARE of the friction and EFFORT_SHARE of the motor torque, or
- the law leaves more than RESIDUAL_SHARE of the motor torque's variation unexplained.

**Which samples.** Samples around a reversal are left out: below v₀ (identification/moving.py), and within a period of
the cutoff of that, a drive is in presliding, and no function of the velocity describes it. So are samples in which a
joint shakes about its motion: friction that changes sign fifty times a second averages out. A joint that shakes by
SHAKES of its velocity is not served at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np
import numpy.typing as npt

from ...dynamics import Robot, effort_units
from ...errors import InputError
from ...fitting import Linearised, autocorrelation_times, gauss_newton
from ...foundation import Array, frozen
from ...identification import LEAST_AUTOCORRELATION_TIME, effort_of
from ...recording import Log, Motion, near_times, smoothed
from .friction_curve import NAN, FrictionCurve, JointFriction
from .parameters import PlateParameters, plate_parameters
from .regression import PlateSamples, link_torques, moving_plate_samples, plate_cutoff
from .sensor import BaseSensor

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
    autocorrelation_time = max(
        float(autocorrelation_times(residual[:, None], rows.runs)[0]), LEAST_AUTOCORRELATION_TIME
    )
    noise = max(variance * autocorrelation_time, 1e-18 * max(square, 1e-300))
    independent = max(count / autocorrelation_time, 2.0)
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
    """Return weights that outliers lose: Huber's first, then Hampel's (fitting/robust.py), shape (k,)."""

    def linearised(x: Array, number: int) -> Linearised:
        rows, left = A[:, None, :], (y - A @ x)[:, None]
        return Linearised.robust(rows, left, reject=number > 1, least=1e-12) if number else Linearised.plain(rows, left)

    _, _, model = gauss_newton(
        np.zeros(A.shape[1]), linearised, lambda x, step, _: x + step, rounds=PASSES + 1, settled=0.0, least=PASSES + 1
    )
    return model.weight[:, 0]


def _given_rotor(law: LawColumns, covariance: Array, scale: Array) -> float:
    """Return the standard deviation of a when b is known."""
    if "link" not in law.columns:
        return 0.0
    a, b = (law.columns.index(name) for name in ("link", "acceleration"))
    left = covariance[a, a] - covariance[a, b] ** 2 / max(covariance[b, b], 1e-300)
    return float(np.sqrt(max(left, 0.0)) / scale[a])


NOISE_SHARE = 1.0
"""Scatter of the plate's torque, relative to the variation of the link torque, above which it says nothing ..."""
GAIN_KNOWN = 0.05
"""... and relative standard deviation of the torque gain ..."""
CURVE_SHARE = 0.25
"""... and of the friction curve, relative to the friction ..."""
EFFORT_SHARE = 0.1
"""... where it is also more than this share of the motor torque."""
RESIDUAL_SHARE = 0.3
"""Share of the motor torque's variation that a law may leave unexplained."""
SHAKES = 0.5
"""Vibration of a joint, relative to its velocity (root mean squares), above which it has no sliding friction."""
STEADY = 2.0
"""A sample slides when its velocity exceeds so many times the vibration about it."""
BAND = 60.0
"""Frequency up to which vibrations count [Hz]."""
LEAST_SLIDING = 60
"""Samples of a joint in sliding that a fit needs ..."""
LEAST_DIRECTION = 0.05
"""... and the share of them in its rarer direction."""
SEEN = 1.2
"""Stribeck velocities are tried from this multiple of the slowest sliding on: half of the rise is then seen."""
MOST_OF_BAND = 0.4
"""Share of the sampling rate up to which vibrations are looked at."""
GRID = 81
"""Points of a curve."""
SPEEDS = (2.0, 98.0)
"""Percentiles of the velocity between which a curve is drawn."""


@dataclass(frozen=True, slots=True, eq=False)
class PlateFriction:
    """Friction of every joint.

    Attributes:
        joints: One entry per joint, in the robot's order.
        parameters: The masses that the link torques come from.
        cutoff: Of the low-pass that all channels went through [Hz].
        sentences: What was found, one sentence each.
    """

    joints: tuple[JointFriction, ...]
    parameters: PlateParameters
    cutoff: float
    sentences: tuple[str, ...]

    @property
    def determined(self) -> tuple[str, ...]:
        """Names of the joints whose friction is known."""
        return tuple(joint.name for joint in self.joints if joint.determined)

    def __getitem__(self, name: str) -> JointFriction:
        """Return one joint's friction by its name; InputError where there is no such joint."""
        for joint in self.joints:
            if joint.name == name:
                return joint
        raise InputError(f"there is no joint '{name}'; there are {', '.join(joint.name for joint in self.joints)}")


def plate_friction(
    robot: Robot,
    log: Log,
    sensor: BaseSensor,
    *,
    laws: Sequence[str] = LAWS,
    parameters: PlateParameters | None = None,
    cutoff: float | None = None,
) -> PlateFriction:
    """Find the friction, torque gain and rotor inertia of every joint.

    Args:
        robot: The description, mounted and loaded as the arm stands.
        log: A recording of a motion with efforts and the plate's raw readings.
        sensor: How readings become wrenches on the robot.
        laws: Terms that a law may have, of LAWS; which of them are used, the data decide joint by joint.
        parameters: Masses from the plate, of this or another recording; None to fit them to this one.
        cutoff: Of the low-pass [Hz]; None to choose it.

    Raises:
        InputError: There are no efforts or no plate readings, the arm does not move, or motors move several joints.
        ModelError: The robot has no masses.
    """
    unknown = [law for law in laws if law not in LAWS]
    if unknown:
        raise InputError(f"there is no friction term {unknown[0]!r}; there are {', '.join(LAWS)}")
    effort_of(robot, log)  # efforts that cannot be used are refused before the long part
    masses = parameters or plate_parameters(robot, log, sensor, kind="inertial", use="moving")
    if masses.described.joint_names != robot.joint_names:
        raise InputError("the parameters are of another robot; fit them to a recording of this one")
    cutoff = plate_cutoff(log) if cutoff is None else cutoff
    data, motion = moving_plate_samples(robot, log, sensor, cutoff=cutoff, efforts=True)
    if data.samples.motor_per_link is not None:
        raise InputError(
            "motors move several joints each (motor_per_link); friction of coupled drives is not fitted from the plate"
        )
    signals = _Signals(robot, motion, masses, data, sensor)
    joints = tuple(_joint(signals, joint, laws) for joint in range(robot.n))
    lines = [entry.sentence(unit) for entry, unit in zip(joints, effort_units(robot), strict=True)]
    lines.append(
        "a level that differs between the directions and an offset of the torque channel are the same signal in "
        "sliding; only the mean of both directions is free of it"
    )
    return PlateFriction(joints, masses, cutoff, (*lines, *masses.sentences))


class _Signals:
    """Signals of all joints: at full rate for the laws' columns, at the samples for the regression."""

    def __init__(
        self, robot: Robot, motion: Motion, masses: PlateParameters, data: PlateSamples, sensor: BaseSensor
    ) -> None:
        self.robot, self.data, self.motion = robot, data, motion
        self.at_samples = np.searchsorted(motion.time, data.samples.time)
        fast = smoothed(motion.time, motion.log.q, min(BAND, MOST_OF_BAND * motion.rate), derivative=1) - motion.dq
        self.vibration = np.sqrt(np.maximum(motion.filtered(fast**2), 0.0))
        samples = data.samples
        sag = link_torques(robot, "inertial", samples, masses.parameters) * masses.compliance
        link_q = samples.q - sag
        self.Y = robot.inertial_regressor(link_q, samples.dq, samples.ddq)
        self.covariance = masses.parameter_covariance
        self.link = self.Y @ masses.parameters
        expected = masses.robot().base_wrench(link_q, samples.dq, samples.ddq)
        off = data.wrench + masses.lag * data.rate - expected
        # Zero and slow drift of the plate are no scatter; a recording may be another than that of the masses.
        late = samples.time - samples.time.mean()
        off = off - off.mean(axis=0) - np.outer(late, late @ off) / max(float(late @ late), 1e-300)
        self.plate_std = np.std(np.einsum("kij,kj->ki", sensor.matrix(samples.q), off), axis=0)

    def sliding(self, joint: int) -> npt.NDArray[np.bool_]:
        """Say which samples lie away from reversals and have an effort, shape (k,)."""
        samples = self.data.samples
        speed = np.abs(self.motion.dq[:, joint])
        slow = ~((speed > samples.v0[joint]) & (speed > STEADY * self.vibration[:, joint]))
        near = near_times(samples.time, self.motion.time[slow], 1.0 / self.motion.cutoff)
        return np.asarray(~near & np.isfinite(samples.tau[:, joint]))

    def filtered(self, columns: Array, derivative: int = 0) -> Array:
        """Return full-rate columns (K, m) or their derivative through the low-pass, at the samples, shape (k, m)."""
        return self.motion.filtered(columns, derivative)[self.at_samples]


def _joint(signals: _Signals, joint: int, laws: Sequence[str]) -> JointFriction:
    name, plate_std = signals.robot.joint_names[joint], float(signals.plate_std[joint])
    used = signals.sliding(joint)
    if reason := _reason_against(signals, joint, used):
        return JointFriction(name, False, reason, plate_std=plate_std)
    rows = _rows(signals, joint, used)
    fit = fit_law(rows, laws)
    gain_std = _relative_gain_std(fit)
    known = gain_std <= GAIN_KNOWN
    if not known:
        a = fit.x[fit.at("link")]
        if not (a > 0.0 and fit.gain_std_given_rotor <= GAIN_KNOWN * a):
            reason = (
                f"the torque gain is only known within ±{min(2.0 * gain_std, 9.99):.0%}, so the plate cannot say how "
                "much of the motor torque is friction; swing the joint further, or load it"
            )
            return JointFriction(name, False, reason, plate_std=plate_std)
        fit = fit_law(rows, laws, gain=1.0)
    return _friction_of(signals, joint, used, fit, known)


def _reason_against(signals: _Signals, joint: int, used: npt.NDArray[np.bool_]) -> str:
    """Return why a joint cannot be fitted at all, in one sentence; "" where it can."""
    unit = effort_units(signals.robot)[joint]
    shaking, speed = (float(np.sqrt(np.mean(rows[:, joint] ** 2))) for rows in (signals.vibration, signals.motion.dq))
    count = int(used.sum())
    upwards = float(np.mean(signals.data.samples.dq[used, joint] > 0.0)) if count else 0.5
    link_std = float(np.std(signals.link[used, joint])) if count else 0.0
    plate_std = float(signals.plate_std[joint])
    reason = ""
    if not np.isfinite(signals.data.samples.tau[:, joint]).any():
        reason = "its motor torque was not measured"
    elif shaking > SHAKES * speed:
        reason = f"it shakes by {shaking:.2g} while it moves by {speed:.2g} {_speed_unit(unit)}: that is no sliding"
    elif count < LEAST_SLIDING:
        reason = f"it slides in {count} samples only, {LEAST_SLIDING} are needed: move it more"
    elif min(upwards, 1.0 - upwards) < LEAST_DIRECTION:
        reason = "it moves in one direction only: dry friction and an offset cannot be distinguished"
    elif plate_std > NOISE_SHARE * link_std:
        reason = (
            f"the plate's torque scatters by {plate_std:.2g} {unit} where the links need {link_std:.2g} {unit}: "
            "the plate has no information on this joint"
        )
    return reason


def _speed_unit(effort_unit: str) -> str:
    return "rad/s" if effort_unit == "N m" else "m/s"


def _rows(signals: _Signals, joint: int, used: npt.NDArray[np.bool_]) -> JointRows:
    samples = signals.data.samples
    v = signals.motion.dq[:, joint]
    sign = np.tanh(v / (samples.v0[joint] / 3.0))
    torque = np.interp(signals.motion.time, samples.time, signals.link[:, joint])
    slow, fast = np.percentile(np.abs(samples.dq[used, joint]), (2.0, 95.0)).tolist()
    # What fades away below the slowest sliding cannot be seen, and what fades beyond half the speed is viscous.
    tried = np.geomspace(SEEN * slow, 0.5 * fast, VELOCITIES) if SEEN * slow < 0.5 * fast else np.zeros(0)
    shapes = [sign, v, np.abs(v), np.abs(torque) * sign, *(sign * stribeck_shape(v, speed) for speed in tried)]
    filtered = signals.filtered(np.column_stack(shapes))[used]
    names = ("coulomb", "viscous", "asymmetry", "load", *(f"stribeck {index}" for index in range(len(tried))))
    columns = {
        "link": signals.link[used, joint],
        "late": -signals.filtered(torque[:, None], derivative=1)[used, 0],
        "acceleration": samples.ddq[used, joint],
        "constant": np.ones(len(filtered)),
        **dict(zip(names, filtered.T, strict=True)),
    }
    steps = np.diff(samples.time[used])
    breaks = np.flatnonzero(steps > 1.5 * np.median(steps)) + 1
    return JointRows(
        tau=samples.tau[used, joint],
        columns=columns,
        stribeck_velocities=tried,
        link_rows=signals.Y[used, joint],
        link_covariance=signals.covariance,
        runs=tuple(breaks.tolist()),
    )


def _relative_gain_std(fit: LawFit) -> float:
    at = fit.at("link")
    a = float(fit.x[at])
    return float(np.sqrt(fit.covariance[at, at])) / a if a > 0.0 else float("inf")


@dataclass(frozen=True, slots=True, eq=False)
class _LinkSide:
    """A law's fit in link-side numbers: everything divided by a = 1/k, with first-order errors.

    Attributes:
        fit: The fit, in the log's own unit.
        gain_known: Whether a was fitted; else it is 1.
    """

    fit: LawFit
    gain_known: bool

    @property
    def a(self) -> float:
        """Torque that the log states per torque at the link."""
        return float(self.fit.x[self.fit.at("link")]) if self.gain_known else 1.0

    def of_row(self, row: Array) -> tuple[float, float]:
        """Return value and standard deviation of row · x / a."""
        fit, a = self.fit, self.a
        value = float(row @ fit.x) / a
        slope = row / a
        if self.gain_known:
            slope = slope - value / a * np.eye(len(fit.x))[fit.at("link")]
        return value, float(np.sqrt(max(float(slope @ fit.covariance @ slope), 0.0)))

    def sum_of(self, **shares: float) -> tuple[float, float]:
        """Return value and standard deviation of a sum of columns; of those only that the law has."""
        row = np.zeros(len(self.fit.x))
        for column, share in shares.items():
            if self.fit.at(column) >= 0:
                row[self.fit.at(column)] = share
        return self.of_row(row)

    def breakaway(self) -> tuple[float, float]:
        """Return F_s of a law with a Stribeck term, whose column is the last."""
        row = np.eye(len(self.fit.x))[-1]
        row[self.fit.at("coulomb")] = 1.0
        return self.of_row(row)

    def gain(self) -> tuple[float, float]:
        """Return k = 1/a; 1 without a standard deviation where it is assumed."""
        at, a = self.fit.at("link"), self.a
        return (1.0 / a, float(np.sqrt(self.fit.covariance[at, at])) / a**2) if self.gain_known else (1.0, NAN)

    def curve(self, velocity: Array, load: float) -> FrictionCurve:
        """Return the curve over velocities that were visited, at a load [N m or N]."""
        low, high = np.percentile(velocity, SPEEDS)
        grid = np.linspace(low, high, GRID)
        grid = grid[np.abs(grid) >= np.min(np.abs(velocity))]
        values = np.array([self.of_row(shape) for shape in friction_columns(self.fit.law, grid, load)])
        return FrictionCurve(frozen(grid), frozen(values[:, 0]), frozen(values[:, 1]), load)


def _friction_of(
    signals: _Signals, joint: int, used: npt.NDArray[np.bool_], fit: LawFit, gain_known: bool
) -> JointFriction:
    """Return what a fit says of a joint; not determined where curve or residual say so."""
    link = _LinkSide(fit, gain_known)
    velocity, tau = signals.data.samples.dq[used, joint], signals.data.samples.tau[used, joint] / link.a
    curve = link.curve(velocity, float(np.mean(np.abs(signals.link[used, joint]))))
    name, plate_std = signals.robot.joint_names[joint], float(signals.plate_std[joint])
    residual = fit.residual_rms / link.a
    if reason := _reason_after(curve, residual, tau):
        return JointFriction(name, False, reason, plate_std=plate_std)
    terms, nothing = fit.law.terms, (NAN, NAN)
    gain = link.gain()
    # With the gain assumed, what follows the acceleration is the rotor and the gain's error on the links.
    rotor = link.sum_of(acceleration=1.0) if gain_known else nothing
    coulomb = link.sum_of(coulomb=1.0)
    offset = link.sum_of(constant=1.0)
    up, down = (link.sum_of(viscous=1.0, asymmetry=sign) if "viscous" in terms else nothing for sign in (1.0, -1.0))
    breakaway = link.breakaway() if "stribeck" in terms else nothing
    growth = link.sum_of(load=1.0) if "load" in terms else nothing
    return JointFriction(
        name=name,
        determined=True,
        terms=terms,
        gain=gain[0],
        gain_std=gain[1],
        gain_determined=gain_known,
        rotor_inertia=rotor[0],
        rotor_inertia_std=rotor[1],
        coulomb=coulomb[0],
        coulomb_std=coulomb[1],
        offset=offset[0],
        offset_std=offset[1],
        viscous_positive=up[0],
        viscous_positive_std=up[1],
        viscous_negative=down[0],
        viscous_negative_std=down[1],
        breakaway=breakaway[0],
        breakaway_std=breakaway[1],
        stribeck_velocity=fit.law.stribeck_velocity,
        load=growth[0],
        load_std=growth[1],
        curve=curve,
        residual_rms=residual,
        plate_std=plate_std,
        travel=(float(velocity.min()), float(velocity.max())),
    )


def _reason_after(curve: FrictionCurve, residual: float, tau: Array) -> str:
    """Return why a fit is not to be relied on, in one sentence; "" where it is.

    Args:
        curve: The friction.
        residual: What the law leaves of the motor torque, root mean square [N m or N].
        tau: The motor torque, in link-side numbers [N m or N], shape (k,).
    """
    size, spread, effort = (float(np.sqrt(np.mean(values**2))) for values in (curve.friction, curve.std, tau))
    varied = float(np.std(tau))
    if spread > max(CURVE_SHARE * size, EFFORT_SHARE * effort):
        return f"its friction is only known within ±{2.0 * spread:.2g}, of a motor torque of {effort:.2g}"
    if residual > RESIDUAL_SHARE * varied:
        return (
            f"link torque and friction leave {residual:.2g} of the motor torque's variation of {varied:.2g} "
            "unexplained: it shakes, or its efforts are no torques"
        )
    return ""
