"""Friction of every joint from motor torques and the plate: the two steps that a fixed arm is said not to allow.

Step one: the plate feels neither friction nor rotors, so it gives the masses without them (plate_parameters.py), and
with them the torque τ_d + g at every link. Step two: what the motor exerts beyond that is rotor inertia and friction
(friction_regression.py), and the motor torque's own gain shows in the part that follows the links.

The link torque is the fitted model's. The plate's reading itself, projected on the joint, scatters about it by
``plate_std``; averaged over a recording by the fit that noise is much smaller, but where it exceeds what the links of a
joint need at all, the plate has nothing to say of that joint. Its friction is then not printed:

- the plate's scatter exceeds the variation of the link torque (NOISE_SHARE), or
- the gain is known worse than GAIN_KNOWN, though the rotor were known, or
- the curve's standard deviation exceeds CURVE_SHARE of the friction and EFFORT_SHARE of the motor torque, or
- the law leaves more than RESIDUAL_SHARE of the motor torque's variation unexplained.

Samples around a reversal are left out: below v₀ (calibration/moving.py), and within a period of the cutoff of that, a
drive is in presliding, and no function of the velocity describes it. So are samples in which a joint shakes about its
motion: friction that changes sign fifty times a second averages out. A joint that shakes by SHAKES of its velocity is
not served at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..calibration.moving import Preparation, effort_of
from ..description.frozen import Array, frozen
from ..dynamics.joint_units import effort_units
from ..dynamics.robot import Robot
from ..errors import InputError
from ..logs.filters import interpolated, smoothed
from ..logs.log import Log
from .friction_curve import NAN, FrictionCurve, JointFriction
from .friction_regression import LAWS, VELOCITIES, JointRows, LawFit, fit_law, friction_columns, stribeck_shape
from .plate_fit import link_torques
from .plate_parameters import PlateParameters, plate_parameters
from .plate_readings import near_times
from .plate_samples import PlateSamples, moving_plate_samples, plate_cutoff
from .sensor import BaseSensor

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
    data, preparation = moving_plate_samples(robot, log, sensor, cutoff=cutoff, efforts=True)
    if data.samples.motor_per_link is not None:
        raise InputError(
            "motors move several joints each (motor_per_link); friction of coupled drives is not fitted from the plate"
        )
    motion = _Motion(robot, log, masses, data, preparation, sensor)
    joints = tuple(_joint(motion, joint, laws) for joint in range(robot.n))
    lines = [entry.sentence(unit) for entry, unit in zip(joints, effort_units(robot), strict=True)]
    lines.append(
        "a level that differs between the directions and an offset of the torque channel are the same signal in "
        "sliding; only the mean of both directions is free of it"
    )
    return PlateFriction(joints, masses, cutoff, (*lines, *masses.sentences))


class _Motion:
    """Signals of all joints: at full rate for the laws' columns, at the samples for the regression."""

    def __init__(
        self,
        robot: Robot,
        log: Log,
        masses: PlateParameters,
        data: PlateSamples,
        preparation: Preparation,
        sensor: BaseSensor,
    ) -> None:
        log = log.ordered()
        self.robot, self.data, self.time = robot, data, log.time
        self.cutoff, self.v0 = preparation.cutoff, preparation.v0
        self.velocity = smoothed(log.time, log.q, self.cutoff, derivative=1)
        measured = preparation.velocity_measured
        self.velocity[:, measured] = smoothed(log.time, log.dq[:, measured], self.cutoff)
        fast = smoothed(log.time, log.q, min(BAND, MOST_OF_BAND * log.rate), derivative=1) - self.velocity
        self.vibration = np.sqrt(np.maximum(smoothed(log.time, fast**2, self.cutoff), 0.0))
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
        speed = np.abs(self.velocity[:, joint])
        slow = ~((speed > self.v0[joint]) & (speed > STEADY * self.vibration[:, joint]))
        near = near_times(self.time, self.time[slow], 1.0 / self.cutoff)
        at = np.interp(self.data.samples.time, self.time, near.astype(float)) > 0.0
        return np.asarray(~at & np.isfinite(self.data.samples.tau[:, joint]))

    def filtered(self, columns: Array, derivative: int = 0) -> Array:
        """Return full-rate columns (K, m) or their derivative through the low-pass, at the samples, shape (k, m)."""
        smooth = smoothed(self.time, columns, self.cutoff, derivative)
        return interpolated(self.data.samples.time, self.time, smooth)


def _joint(motion: _Motion, joint: int, laws: Sequence[str]) -> JointFriction:
    name, plate_std = motion.robot.joint_names[joint], float(motion.plate_std[joint])
    used = motion.sliding(joint)
    if reason := _reason_against(motion, joint, used):
        return JointFriction(name, False, reason, plate_std=plate_std)
    rows = _rows(motion, joint, used)
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
    return _friction_of(motion, joint, used, fit, known)


def _reason_against(motion: _Motion, joint: int, used: npt.NDArray[np.bool_]) -> str:
    """Return why a joint cannot be fitted at all, in one sentence; "" where it can."""
    unit = effort_units(motion.robot)[joint]
    shaking, speed = (float(np.sqrt(np.mean(rows[:, joint] ** 2))) for rows in (motion.vibration, motion.velocity))
    count = int(used.sum())
    upwards = float(np.mean(motion.data.samples.dq[used, joint] > 0.0)) if count else 0.5
    link_std = float(np.std(motion.link[used, joint])) if count else 0.0
    plate_std = float(motion.plate_std[joint])
    reason = ""
    if not np.isfinite(motion.data.samples.tau[:, joint]).any():
        reason = "its motor torque was not measured"
    elif shaking > SHAKES * speed:
        reason = f"it shakes by {shaking:.2g} while it moves by {speed:.2g} {_speed_unit(unit)}: that is no sliding"
    elif count < LEAST_SLIDING:
        reason = f"it slides in {count} samples only, {LEAST_SLIDING} are needed: move it more"
    elif min(upwards, 1.0 - upwards) < LEAST_DIRECTION:
        reason = "it moves in one direction only: dry friction and an offset cannot be told apart"
    elif plate_std > NOISE_SHARE * link_std:
        reason = (
            f"the plate's torque scatters by {plate_std:.2g} {unit} where the links need {link_std:.2g} {unit}: "
            "the plate says nothing about this joint"
        )
    return reason


def _speed_unit(effort_unit: str) -> str:
    return "rad/s" if effort_unit == "N m" else "m/s"


def _rows(motion: _Motion, joint: int, used: npt.NDArray[np.bool_]) -> JointRows:
    samples = motion.data.samples
    v = motion.velocity[:, joint]
    sign = np.tanh(v / (motion.v0[joint] / 3.0))
    torque = np.interp(motion.time, samples.time, motion.link[:, joint])
    slow, fast = np.percentile(np.abs(samples.dq[used, joint]), (2.0, 95.0)).tolist()
    # What fades away below the slowest sliding cannot be seen, and what fades beyond half the speed is viscous.
    tried = np.geomspace(SEEN * slow, 0.5 * fast, VELOCITIES) if SEEN * slow < 0.5 * fast else np.zeros(0)
    shapes = [sign, v, np.abs(v), np.abs(torque) * sign, *(sign * stribeck_shape(v, speed) for speed in tried)]
    filtered = motion.filtered(np.column_stack(shapes))[used]
    names = ("coulomb", "viscous", "asymmetry", "load", *(f"stribeck {index}" for index in range(len(tried))))
    columns = {
        "link": motion.link[used, joint],
        "late": -motion.filtered(torque[:, None], derivative=1)[used, 0],
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
        link_rows=motion.Y[used, joint],
        link_covariance=motion.covariance,
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
    motion: _Motion, joint: int, used: npt.NDArray[np.bool_], fit: LawFit, gain_known: bool
) -> JointFriction:
    """Return what a fit says of a joint; not determined where curve or residual say so."""
    link = _LinkSide(fit, gain_known)
    velocity, tau = motion.data.samples.dq[used, joint], motion.data.samples.tau[used, joint] / link.a
    curve = link.curve(velocity, float(np.mean(np.abs(motion.link[used, joint]))))
    name, plate_std = motion.robot.joint_names[joint], float(motion.plate_std[joint])
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
