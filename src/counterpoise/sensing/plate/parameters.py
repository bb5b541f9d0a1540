"""Masses, first moments and inertias from the plate, free of friction: what the base wrench reveals of an arm.

What is looked for, and how many numbers that is, is in base_parameters.py; the regression in regression.py. Poses at
rest show the gravity parameters; a motion shows the inertias too, and of a motion the gravity parameters are those of
the whole fit, with the inertias' uncertainty in theirs.

The plate's zero, drift and lag are fitted along. So its constant load, the weight of the base link and the total mass,
is not spoken of. Where data that were held back are predicted worse than those that were fitted, the model misses
something; covariances are widened by the ratio of the two mean squares.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from ...dynamics import WRENCH_COMPONENTS, Robot
from ...errors import InputError
from ...fitting import (
    CadPrior,
    Identifiability,
    parameter_covariance,
    unphysical_links,
    with_inertial_parameters,
    with_masses,
)
from ...foundation import Array, frozen
from ...identification import STILL_POSES, split_samples, stands_mostly
from ...recording import Log
from .base_parameters import Kind, PlateBase, identified, plate_base
from .regression import (
    PlateRegression,
    PlateSamples,
    described_parameters,
    fit_wrenches,
    moving_plate_samples,
    static_plate_samples,
)
from .sensor import BaseSensor

PlateDataChoice = Literal["auto", "static", "moving"]
FOLDS = 5
"""Poses at rest are held out a fifth at a time."""
USEFUL = 0.01
"""A combination is determined when the wrench it predicts is off by less than a reading's noise, or than this share of
the readings' variation: means of poses at rest have so little noise that nothing would be."""
NEVER_QUITE = 1e-9
"""Least information about a number, as a share of its own when all others are known."""
MOST_WIDENING = 10.0
"""Most that covariances are widened by."""
LEAST_SAMPLES = 40
"""Fewer samples of a motion than this are no motion."""


@dataclass(frozen=True, eq=False)
class PlateParameters:
    """Base parameters of the base wrench.

    Attributes:
        kind: "gravity" or "inertial".
        described: The robot as its file has it.
        names: The b base parameters in link words, e.g. "forearm.mx + 0.55·hand.m".
        units: Their units.
        values: Estimates, shape (b,).
        covariance: Of the estimates, shape (b, b).
        identifiable: What the data determine by themselves.
        parameters: All parameters of the m moving bodies that amount to the estimates, as in
            ``robot.inertial_parameters[10:]``, shape (10 m,).
        parameter_covariance: Of these, shape (10 m, 10 m); the description's own where nothing was fitted.
        zero: Constant part of the readings that no parameter explains, in the middle of the recording, base axes and
            origin [N, N m], shape (6,).
        drift: Its change with time [N/s, N m/s], shape (6,).
        lag: Time by which the readings are late [s]; 0 of poses at rest.
        lag_std: Its standard deviation [s].
        compliance: Of the gears [rad/(N m) or m/N], shape (n,): how far a link sags behind an encoder on its motor.
        compliance_std: Its standard deviation, shape (n,).
        signal_rms: Size of the wrench about its mean per channel [N, N m], shape (6,).
        described_rms: What the file's masses leave of it about its mean, shape (6,).
        residual_rms: What the fit leaves of it, shape (6,).
        heldout_rms: What is left on data that a fit had not seen, shape (6,); NaN where they could not be divided.
        data: "static" or "moving": what of the recording was fitted.
        samples: Poses or samples fitted.
        prior_weight: Weight of the prior towards the description; 0 for the data alone.
        sentences: What was found, one sentence each.
    """

    kind: Kind
    described: Robot
    names: tuple[str, ...]
    units: tuple[str, ...]
    values: Array
    covariance: Array
    identifiable: Identifiability
    parameters: Array
    parameter_covariance: Array
    zero: Array
    drift: Array
    lag: float
    lag_std: float
    compliance: Array
    compliance_std: Array
    signal_rms: Array
    described_rms: Array
    residual_rms: Array
    heldout_rms: Array
    data: Literal["static", "moving"]
    samples: int
    prior_weight: float
    sentences: tuple[str, ...]

    @property
    def std(self) -> Array:
        """Standard errors of the base parameters, shape (b,)."""
        return np.sqrt(np.diag(self.covariance))

    @cached_property
    def _fitted(self) -> Robot:
        if self.data == "static":
            return with_masses(self.described, self.parameters.reshape(-1, 10)[:, :4].ravel())
        return with_inertial_parameters(self.described, self.parameters, allow_unphysical=True)

    def robot(self) -> Robot:
        """Return the robot with the estimate put in: its gravity and its base wrench are the fitted ones.

        How a base parameter is shared out among links is the description's; the base link's weight too.
        """
        return self._fitted

    def sensor(self, sensor: BaseSensor) -> BaseSensor:
        """Return the plate under the fitted robot, its zero corrected, its gravity covariance the fit's.

        Args:
            sensor: The plate whose readings were fitted.
        """
        before = sensor.variance.uncertainty
        gravity = np.zeros((4 * (self.described.tree.bodies + 1),) * 2)
        at = np.flatnonzero(np.arange(len(self.parameters)) % 10 < 4)
        gravity[4:, 4:] = self.parameter_covariance[np.ix_(at, at)]
        return sensor.copied(
            self.robot(),
            bias=sensor.frame.bias + sensor.frame.from_base @ self.zero,
            uncertainty=replace(before, gravity=frozen(gravity)),
        )


def plate_parameters(
    robot: Robot,
    log: Log,
    sensor: BaseSensor,
    *,
    kind: Kind = "gravity",
    prior: CadPrior | None = CadPrior(),  # noqa: B008 — frozen, and says what it is
    use: PlateDataChoice = "auto",
    cutoff: float | None = None,
) -> PlateParameters:
    """Find the masses of an arm from the plate under it.

    Args:
        robot: The description, mounted and loaded as the arm stands.
        log: A recording with the plate's raw readings; efforts are not looked at.
        sensor: How readings become wrenches on the robot.
        kind: "gravity" for masses and first moments, "inertial" for inertias too, which needs a motion.
        prior: How the description's masses are trusted where the plate does not tell; None for the plate alone.
        use: What of the recording is fitted: "static" poses, the "moving" arm, or what tells more.
        cutoff: Of the low-pass of a motion [Hz]; None to choose it.

    Raises:
        InputError: The log has no plate or another robot, cannot be used, or shows too few poses.
        ModelError: The robot has no masses.
    """
    if kind not in ("gravity", "inertial"):
        raise InputError(f"kind is {kind!r}; expected 'gravity' or 'inertial'")
    if use not in ("auto", "static", "moving"):
        raise InputError(f"use is {use!r}; expected 'auto', 'static' or 'moving'")
    sensor.resolved_form("full")  # a robot without masses is refused there
    if kind == "inertial" and use == "static":
        raise InputError("poses at rest show no inertias; kind='inertial' needs use='moving'")
    data = _chosen(robot, log, sensor, kind, use, cutoff)
    fitted_kind: Kind = "inertial" if data.moving else "gravity"
    base = plate_base(robot, fitted_kind)
    fit = fit_wrenches(base, data, prior)
    heldout = _held_out(base, data, prior)
    fitted = np.sqrt(np.mean((data.wrench - fit.wrench(data)) ** 2, axis=0))
    ratio = np.nan_to_num(np.mean((heldout / np.maximum(fitted, 1e-300)) ** 2), nan=1.0)
    wider = replace(fit, covariance=fit.covariance * np.clip(ratio, 1.0, MOST_WIDENING))
    return _result(robot, kind, data, wider, heldout)


def _chosen(
    robot: Robot, log: Log, sensor: BaseSensor, kind: Kind, use: PlateDataChoice, cutoff: float | None
) -> PlateSamples:
    static = use == "static"
    if use == "auto" and kind == "gravity":
        static = stands_mostly(log)
    if not static:
        data, _ = moving_plate_samples(robot, log, sensor, cutoff=cutoff)
        if len(data) < LEAST_SAMPLES:
            raise InputError(
                f"{len(data)} samples are left of the motion; expected at least {LEAST_SAMPLES}: record longer"
            )
        return data
    data = static_plate_samples(robot, log, sensor)
    if len(data) < STILL_POSES:
        raise InputError(
            f"the arm stands still in {len(data)} poses of this recording; expected at least {STILL_POSES}, spread "
            "over the joints' ranges, or a motion: use='moving'"
        )
    return data


def _held_out(base: PlateBase, data: PlateSamples, prior: CadPrior | None) -> Array:
    """Return the rms error on data that a fit had not seen, shape (6,); NaN where they cannot be divided."""
    k = len(data)
    if data.moving:
        try:
            split = split_samples(data.samples)
        except InputError:
            return np.full(6, np.nan)
        parts = [(split.train, split.held)]
    else:
        fold = np.arange(k) % FOLDS
        parts = [(fold != held, fold == held) for held in range(FOLDS)]
    missed = []
    for train, held in parts:
        fit = fit_wrenches(base, data[train], prior)
        missed.append(data[held].wrench - fit.wrench(data[held]))
    return np.asarray(np.sqrt(np.mean(np.concatenate(missed) ** 2, axis=0)))


def _result(robot: Robot, kind: Kind, data: PlateSamples, fit: PlateRegression, heldout: Array) -> PlateParameters:
    samples, base = data.samples, fit.base
    described = described_parameters(robot, base.kind)
    residual = data.wrench - fit.wrench(data)
    as_described = data.wrench - fit.wrench(data, described)
    spoken, at, information = base, np.arange(len(described)), fit.information
    if kind != base.kind:
        spoken = plate_base(robot, "gravity")
        at = np.flatnonzero(np.arange(len(described)) % 10 < 4)
        information = _about_gravity(base, spoken, at, information)
    G = spoken.regrouping
    identifiable = identified(
        spoken,
        G @ fit.parameters[at],
        information,
        np.maximum(fit.sigma, USEFUL * data.wrench.std(axis=0)),
        np.sqrt(np.mean(samples.dq**2, axis=0)),
        np.sqrt(np.mean(samples.ddq**2, axis=0)),
    )
    every = np.array(robot.inertial_parameters[10:])
    covariance = parameter_covariance(robot, 10)
    place = at if base.kind == "inertial" else np.flatnonzero(np.arange(len(every)) % 10 < 4)
    if base.kind == "inertial":
        every, covariance = fit.parameters, fit.covariance
    else:
        every[place] = fit.parameters
        covariance[np.ix_(place, place)] = fit.covariance
    found = PlateParameters(
        kind=kind,
        described=robot,
        names=spoken.names,
        units=spoken.units,
        values=frozen(G @ fit.parameters[at]),
        covariance=frozen(G @ fit.covariance[np.ix_(at, at)] @ G.T),
        identifiable=identifiable,
        parameters=frozen(every),
        parameter_covariance=frozen(covariance),
        zero=frozen(fit.zero),
        drift=frozen(fit.drift),
        lag=fit.lag[0],
        lag_std=fit.lag[1],
        compliance=frozen(fit.compliance),
        compliance_std=frozen(fit.compliance_std),
        signal_rms=frozen(data.wrench.std(axis=0)),
        described_rms=frozen(as_described.std(axis=0)),
        residual_rms=frozen(np.sqrt(np.mean(residual**2, axis=0))),
        heldout_rms=frozen(heldout),
        data="moving" if data.moving else "static",
        samples=len(data),
        prior_weight=fit.prior_weight,
        sentences=(),
    )
    return replace(found, sentences=_sentences(found))


def _about_gravity(base: PlateBase, gravity: PlateBase, at: npt.NDArray[np.int64], information: Array) -> Array:
    """Return the data's information about the gravity base parameters, inertias unknown, shape (g, g).

    They are combinations T of the inertial base parameters: T G = G_g on the gravity columns, and 0 on the others.
    """
    wanted = np.zeros((len(gravity.columns), base.regrouping.shape[1]))
    wanted[:, at] = gravity.regrouping
    T = wanted @ np.linalg.pinv(base.regrouping)
    size = np.sqrt(np.maximum(np.diag(information), 1e-300))
    scaled = information / np.outer(size, size) + NEVER_QUITE * np.eye(len(size))
    return np.asarray(np.linalg.inv((T / size) @ np.linalg.inv(scaled) @ (T / size).T))


def _sentences(found: PlateParameters) -> tuple[str, ...]:
    told, asked = len(found.identifiable.determined), len(found.identifiable.eigenvalues)
    what = f"{found.samples} {'samples of a motion' if found.data == 'moving' else 'poses at rest'}"
    lines = [
        f"from {what} the plate determines {told} of the {asked} combinations of masses that a base wrench can reveal "
        "here; neither friction nor rotors are in it"
    ]
    shares = found.residual_rms / np.maximum(found.signal_rms, 1e-12)
    worst = int(np.argmax(np.where(found.signal_rms > 3.0 * found.residual_rms.min(), shares, 0.0)))
    lines.append(
        f"what is left of the readings: force {np.linalg.norm(found.residual_rms[:3]):.2g} N, moment "
        f"{np.linalg.norm(found.residual_rms[3:]):.2g} N m (by the described masses "
        f"{np.linalg.norm(found.described_rms[:3]):.2g} N and {np.linalg.norm(found.described_rms[3:]):.2g} N m), "
        f"at most {shares[worst]:.1%} of a channel's signal, in {WRENCH_COMPONENTS[worst]}"
    )
    if np.isfinite(found.heldout_rms).all():
        lines.append(
            f"on poses that a fit had not seen: {np.linalg.norm(found.heldout_rms[:3]):.2g} N and "
            f"{np.linalg.norm(found.heldout_rms[3:]):.2g} N m"
        )
    else:
        lines.append("the recording visits too little of joint space to hold a part of it back as a check")
    lines.append(
        "the total mass and the base link's weight cannot be distinguished from the plate's zero, which was fitted"
    )
    if found.lag > max(3.0 * found.lag_std, 5e-4):
        lines.append(f"the plate's readings come {1e3 * found.lag:.1f} ± {1e3 * found.lag_std:.1f} ms late")
    if found.data == "moving" and (links := unphysical_links(found.robot())):
        lines.append(
            f"the inertias of {', '.join(links)} are those of no real body: wrenches and torques are right where the "
            "arm was recorded, single inertias are not a measurement"
        )
    return tuple(lines)
