"""The product, run on a case of the certificate study: doctor, calibration, the fix, calibration again.

What a calibration states is read in one place, :func:`stated_errors`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from certificate_arms import Array
from certificate_case import Case, tolerance
from certificate_findings import Said, said_of
from certificate_statements import Known, Tips, Told, judged

import counterpoise as cp
from counterpoise.doctor import Diagnosis
from counterpoise.errors import CounterpoiseError
from counterpoise.fitting import at_rest
from counterpoise.identification import Collected, Fit, LoadPosterior, fit_of
from counterpoise.identification import calibration as calibrating
from counterpoise.recording import LogMapping

SURE = 1.96
"""Standard deviations of a 95 % interval."""
EDGE = 0.01
"""How far beyond the stated range a pose may be [rad or m]: what noise and filters do."""
COVERED = 2.0
"""Standard deviations whose coverage is counted."""


@dataclass(frozen=True, slots=True, eq=False)
class Stated:
    """What a calibration states of the gravity efforts, in the unit of the efforts that were fitted, robot's order.

    Attributes:
        error: Gravity error (95 %) of every joint over the calibrated range, shape (n,); NaN where none is stated.
        std: Standard deviation of the gravity effort at given poses, shape (m, n); NaN where none is stated.
    """

    error: Array
    std: Array


def stated_errors(fit: Fit, posterior: LoadPosterior | None, q: Array) -> Stated:
    """Return what a calibration states of its gravity efforts.

    Args:
        fit: The calibration.
        posterior: What it knows of the efforts that hold the arm; None where nothing is stated.
        q: Poses of the calibrated range [rad or m], robot's order, shape (m, n).
    """
    std = np.full(q.shape, np.nan)
    if posterior is not None and np.isfinite(fit.errors.gravity[fit.model.active]).all():
        efforts = holding_efforts(fit, q, offsets=False)[:, fit.model.active]
        std[:, fit.model.active] = posterior.deviation_of(q, efforts)
    return Stated(fit.errors.gravity, std)


def holding_efforts(fit: Fit, q: Array, *, offsets: bool) -> Array:
    """Return the efforts by which a calibration holds the arm, springs included, shape (m, n), robot's order.

    Args:
        fit: The calibration.
        q: Poses [rad or m], shape (m, n).
        offsets: Whether fitted offsets are part of it.
    """
    x = np.array(fit.x)
    if not offsets:
        x[fit.model.groups["offset"]] = 0.0
    found = np.full(q.shape, np.nan)
    found[:, fit.model.active] = fit.model.predict(at_rest(fit.described, q), x)
    return found


def run_case(case: Case, folder: Path) -> dict[str, Any]:
    """Run the product on a case and return what came of it, as plain values.

    Args:
        case: The case.
        folder: Where its files are written.
    """
    description, recording = case.write(folder)
    begun, clock = time.perf_counter(), _Clock()
    row: dict[str, Any] = {
        "part": case.part,
        "seed": case.seed,
        "labels": dict(case.labels),
        "facts": dict(case.facts),
        "joints": list(case.names),
        "measured": case.measured.tolist(),
        "springs": case.springs.tolist(),
        "ideal": _plain(case.ideal),
        "determinable": bool(np.all(case.ideal[case.measured] <= 0.5)),
        "identifiable": case.identifiable,
        "truths": [{"fault": truth.fault, "joints": list(truth.joints)} for truth in case.truths],
        "before": None,
        "after": None,
        "findings": [],
    }
    try:
        robot = cp.load(description)
        log = cp.read_log(recording, robot)
        row["described"] = _described(case, robot)
        diagnosis = cp.diagnose(robot, log)
    except CounterpoiseError as error:
        row["refused_by_reader"] = f"{type(error).__name__}: {error}"[:400]
        return row | {"seconds": round(time.perf_counter() - begun, 2), "cpu": clock.spent}
    clock.note("read and doctor")
    row["findings"] = [said.as_row() for said in _said(diagnosis, case)]
    plain = _Fix({}, case.names)
    row["before"] = _calibrated(case, robot, log, plain, diagnosis)
    clock.note("before")
    row["seconds_before"] = round(time.perf_counter() - begun, 2)
    if diagnosis.fix:
        row["after"] = _mended(case, robot, log, recording, diagnosis)
        clock.note("after")
    return row | {"seconds": round(time.perf_counter() - begun, 2), "cpu": clock.spent}


class _Clock:
    """Time of the processor, step by step [s]."""

    def __init__(self) -> None:
        self._begun = time.process_time()
        self.spent: dict[str, float] = {}

    def note(self, step: str) -> None:
        """Note a step that has ended."""
        now = time.process_time()
        self.spent[step], self._begun = round(now - self._begun, 2), now


@dataclass(frozen=True, slots=True, eq=False)
class _Fix:
    """A fix of the doctor, applied to the case's own arrays: what the product then calls each joint's channels.

    Attributes:
        table: The change of the mapping.
        names: The case's joint names.
    """

    table: Mapping[str, Any]
    names: tuple[str, ...]

    def _joint(self, name: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.table.get("joints", {}).get(name, {})
        return found

    def _from(self, part: str) -> list[int]:
        """Return whose column each joint reads, by place in ``names``."""
        order = []
        for place, name in enumerate(self.names):
            column = self._joint(name).get(part)
            owners = [at for at, other in enumerate(self.names) if column is not None and _names(column, other)]
            order.append(owners[0] if owners else place)
        return order

    def positions(self, q: Array) -> Array:
        """Return the positions as the product reads them, shape (m, n)."""
        degrees = self.table.get("position", {}).get("unit") == "deg"
        signs = np.array([self._joint(name).get("position_sign", 1) for name in self.names])
        added = np.array([self._joint(name).get("position_offset", 0.0) for name in self.names])
        return np.asarray(q[:, self._from("position")] * signs * (np.pi / 180.0 if degrees else 1.0) + added)

    def efforts(self, values: Array) -> Array:
        """Return efforts as the product reads them, offsets apart, shape (…, n)."""
        signs = np.array([self._joint(name).get("effort_sign", 1) for name in self.names])
        gains = np.array([self._joint(name).get("effort_gain", 1.0) for name in self.names])
        return np.asarray(values[..., self._from("effort")] * signs * gains)

    def offsets(self) -> Array:
        """Return what is added to each effort, shape (n,)."""
        return np.array([self._joint(name).get("effort_offset", 0.0) for name in self.names])

    def converts(self, name: str) -> bool:
        """Say whether the fix claims to turn a joint's effort into a torque."""
        return "effort_gain" in self._joint(name)


def _names(column: str, joint: str) -> bool:
    """Say whether a column is called after a joint."""
    rest = column.rpartition(":")[2].replace(joint, "", 1)
    return joint in column and not any(character.isdigit() for character in rest)


def _mended(case: Case, robot: cp.Robot, log: cp.Log, recording: Path, diagnosis: Diagnosis) -> dict[str, Any]:
    """Read the recording again through the doctor's fix and calibrate."""
    try:
        mapping = LogMapping.from_table(log.declared.mapping).merged_with(diagnosis.fix)
        again = cp.read_log(recording, robot, mapping)
        standing = robot
        if again.declared.gravity_base is not None:
            standing = robot.mounted(rotation=np.eye(3), gravity=again.declared.gravity_base)
        second = cp.diagnose(standing, again)
    except CounterpoiseError as error:
        return {"failure": f"{type(error).__name__}: {error}"[:400]}
    fix = _Fix(diagnosis.fix, case.names)
    found = _calibrated(case, standing, again, fix, second)
    found["findings"] = [said.as_row() for said in _said(second, case) if said.invalidates]
    return found


def _calibrated(case: Case, robot: cp.Robot, log: cp.Log, fix: _Fix, diagnosis: Diagnosis) -> dict[str, Any]:
    """Calibrate, and compare with the truth."""
    try:
        with _kept_posterior() as kept:
            fit = cp.calibrate(robot, log, findings=diagnosis.findings)
    except CounterpoiseError as error:
        return {"failure": f"{type(error).__name__}: {error}"[:400]}
    return {"failure": "", **_compared(case, fit, kept[0], fix), **_verdict(fit, kept[0])}


@contextmanager
def _kept_posterior() -> Iterator[list[LoadPosterior]]:
    """Keep what a calibration knows of its deviations pose by pose, which a fit does not carry."""
    kept: list[LoadPosterior] = []

    def noted(collected: Collected, **others: Any) -> Fit:
        kept.append(collected.estimate.posterior)
        return fit_of(collected, **others)

    calibrating.fit_of, before = noted, calibrating.fit_of
    try:
        yield kept
    finally:
        calibrating.fit_of = before


def _compared(case: Case, fit: Fit, posterior: LoadPosterior, fix: _Fix) -> dict[str, Any]:
    """Return errors, tolerances and what was stated, in the case's joint order."""
    order = [fit.robot.joint_names.index(name) for name in case.names]
    q = _as_read(fix, case.q_recorded, order)
    kept = _calibrated_range(fit, q)
    q = q[kept]
    load = _fitted_unit(fit, fix, case.load_recorded, case.load_torque)[kept]
    limit = np.abs(_fitted_unit(fit, fix, case.limit_recorded, case.limit_torque))
    offset = fix.efforts(case.offset_recorded) + fix.offsets()
    missed = holding_efforts(fit, q, offsets=False)[:, order] - load
    bias = np.mean(missed, axis=0)
    # Of a spring, the constant part and an offset are one: the rest position of a fitted one is in the fitted offset.
    sprung = case.springs | _sprung(fit, case.names)
    missed -= np.where(sprung, bias, 0.0)
    together = holding_efforts(fit, q, offsets=True)[:, order] - load - offset
    allowed = tolerance(load, limit)
    stated = stated_errors(fit, posterior, q)
    std = stated.std[:, order]
    # A joint that carries no weight, such as a vertical axis, is known exactly and says nothing of deviations.
    counted = case.measured & ~sprung & np.isfinite(std).all(axis=0) & (std.max(axis=0) > 1e-9 * allowed)
    error = np.sqrt(np.mean(missed**2, axis=0))
    elsewhere, elsewhere_allowed = _elsewhere(case, fit, fix, order)
    known = Known(
        q=q[:, order],
        missed=missed,
        held=missed - np.mean(missed, axis=0) if "offset" in case.unknown else together,
        doubt=np.zeros(len(allowed)) if case.doubt is None else case.doubt * limit,
        allowed=allowed,
        friction=_friction(case, fit, fix, kept),
        elsewhere=elsewhere,
        elsewhere_allowed=elsewhere_allowed,
        measured=case.measured,
        down=case.gravity,
    )
    return {
        "error": _plain(error),
        "error_with_offset": _plain(np.sqrt(np.mean(together**2, axis=0))),
        "bias": _plain(bias),
        "tolerance": _plain(allowed),
        "stated": _plain(stated.error[order]),
        "std": _plain(np.sqrt(np.mean(std**2, axis=0))),
        "covered": _plain(np.mean(np.abs(missed) <= COVERED * std, axis=0)[counted]),
        "product_tolerates": _plain(fit.errors.tolerated[order]),
        "inside": bool(np.all(error[case.measured] <= allowed[case.measured])),
        "certified": bool(np.all(stated.error[order][case.measured] <= allowed[case.measured])),
        "worst": float(f"{np.max((error / allowed)[case.measured]):.4g}"),
        "statements": _statements(case, fit, known, order),
    }


def _as_read(fix: _Fix, recorded: Array, order: Sequence[int]) -> Array:
    """Return recorded positions as the product reads them, robot's order, shape (m, n)."""
    q = np.empty(recorded.shape)
    q[:, order] = fix.positions(recorded)
    return q


def _fitted_unit(fit: Fit, fix: _Fix, recorded: Array, torque: Array) -> Array:
    """Return true efforts in the unit that was fitted, shape (…, n).

    A fix that converts to torques is held to them. Otherwise weight and gain are one.

    Args:
        fit: The calibration.
        fix: What the recording was read through.
        recorded: In the recorded effort, shape (…, n).
        torque: Of the joints themselves [N m or N], shape (…, n).
    """
    found = fix.efforts(recorded)
    if fit.units == "N m":
        torques = [at for at, name in enumerate(fix.names) if fix.converts(name)]
        found[..., torques] = torque[..., torques]
    return found


def _sprung(fit: Fit, names: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Return which joints the calibration gave a spring or a counterbalance, shape (n,), case's order."""
    terms = fit.model.terms
    own = {name for kind in ("spring", "counterbalance") for name in terms.joints(kind, fit.model.joint_names)}
    return np.array([name in own for name in names])


def _calibrated_range(fit: Fit, q: Array) -> npt.NDArray[np.bool_]:
    """Return which poses are in the range that the file states, shape (m,): what the calibration speaks of.

    A filter leaves out the ends of a recording; where the path grows, the arm went farthest there.
    """
    inside = np.all((q >= fit.data.lower - EDGE) & (q <= fit.data.upper + EDGE), axis=1)
    return inside if inside.any() else np.ones(len(q), dtype=bool)


def _friction(case: Case, fit: Fit, fix: _Fix, kept: npt.NDArray[np.bool_]) -> Array | None:
    if case.friction is None:
        return None
    return np.abs(_fitted_unit(fit, fix, case.friction.recorded, case.friction.torque))[kept]


def _elsewhere(case: Case, fit: Fit, fix: _Fix, order: Sequence[int]) -> tuple[Array | None, Array | None]:
    """Return errors of the gravity efforts over the joint ranges, shape (e, n), and their tolerance, shape (n,)."""
    there = case.elsewhere
    if there is None:
        return None, None
    load = _fitted_unit(fit, fix, there.load_recorded, there.load_torque)
    limit = np.abs(_fitted_unit(fit, fix, case.limit_recorded, case.limit_torque))
    missed = holding_efforts(fit, _as_read(fix, there.q_recorded, order), offsets=False)[:, order] - load
    sprung = case.springs | _sprung(fit, case.names)
    missed -= np.where(sprung, np.mean(missed, axis=0), 0.0)
    return missed, tolerance(load, limit)


def _statements(case: Case, fit: Fit, known: Known, order: Sequence[int]) -> list[dict[str, Any]]:
    """Return what the calibration says it is good for, and whether that is true."""
    if not fit.statements:
        return []
    unsure = np.hypot(fit.errors.gravity / SURE, fit.heldout_rms)[order]
    told = Told(fit.errors.stiffness[order], np.where(np.isfinite(unsure), np.maximum(unsure, 1e-12), np.inf))
    return [one.as_row() for one in judged(fit.statements, told, known, Tips(case.urdf, case.names))]


def _verdict(fit: Fit, posterior: LoadPosterior) -> dict[str, Any]:
    return {
        "trusted": fit.trusted,
        "units": fit.units,
        "data": fit.data.kind,
        "why": fit.data.why,
        "cutoff": next((note for note in fit.notes if note.startswith("low-pass")), ""),
        "failed": [check.name for check in fit.verdict if not check.passed],
        "reasons": [reason[:300] for reason in fit.reasons],
        "heldout": _plain(fit.heldout_rms),
        "fitted": _plain(fit.torque_rms),
        "signal": _plain(fit.errors.signal),
        "novelty": _plain(fit.data.novelty),
        "shown": [
            [fit.model.joint_names[place] if place >= 0 else "", kind] for place, kind in sorted(posterior.shown)
        ],
        "strengths": _plain(posterior.weights),
        "widened": _plain(posterior.widened),
        "free": dict(zip(fit.model.joint_names, _plain(posterior.free), strict=True)),
        "elsewhere": _plain(posterior.elsewhere),
    }


def _described(case: Case, robot: cp.Robot) -> dict[str, Any]:
    """Return how good the untouched description is."""
    order = [robot.joint_names.index(name) for name in case.names]
    q = np.empty(case.q_recorded.shape)
    q[:, order] = case.q_recorded
    error = np.sqrt(np.mean((robot.gravity(q)[:, order] - case.load_recorded) ** 2, axis=0))
    allowed = tolerance(case.load_recorded, case.limit_recorded)
    return {"error": _plain(error), "worst": float(f"{np.max((error / allowed)[case.measured]):.4g}")}


def _said(diagnosis: Diagnosis, case: Case) -> Sequence[Said]:
    return said_of(diagnosis.findings, case.truths, case.unknown)


def _plain(values: Array) -> list[float | None]:
    return [float(f"{value:.4g}") if np.isfinite(value) else None for value in np.atleast_1d(values)]
