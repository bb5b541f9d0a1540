"""The result of a calibration: a robot, how far to believe it, and why.

Whether a fit may be trusted, and why: a list of checks, each with its number, its limit and one sentence.

A fit is trusted when the recording is sound, the fit explains it better than the description does, and the calibration
is good for everything that was asked for (statements.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, Self

import numpy as np
import numpy.typing as npt

from ..doctor import Consequence, Finding, LogFault
from ..dynamics import CoulombViscous, Robot
from ..fitting import EffortModel, Identifiability, Samples, Terms
from ..foundation import Array, frozen
from ..recording import RateSource
from .estimate import COMMAND_UNITS
from .identity import Identity
from .load_gains import LoadGains
from .statements import Assessment, Sag, UseName, UseStatement

SURE = 0.9
"""A finding of the doctor counts from this confidence on."""


@dataclass(frozen=True, slots=True)
class Check:
    """One question that a fit must answer.

    Attributes:
        name: What it is about: "recording", "structure", or a use that was asked for.
        passed: Whether it did.
        sentence: What was found, with the numbers that decide.
        value: The deciding number; NaN where there is none.
        limit: What it may be at most; NaN where there is none.
    """

    name: str
    passed: bool
    sentence: str
    value: float = float("nan")
    limit: float = float("nan")


@dataclass(frozen=True, slots=True)
class Verdict:
    """All checks of a fit.

    Attributes:
        checks: In the order in which they were made.
    """

    checks: tuple[Check, ...]

    @property
    def trusted(self) -> bool:
        """Whether every check passed."""
        return all(check.passed for check in self.checks)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it is not trusted, one sentence each; empty for a trusted fit."""
        return tuple(check.sentence for check in self.checks if not check.passed)


def judge(
    assessment: Assessment,
    asked: Sequence[UseName],
    recording: Sequence[Check],
    structure: Sequence[str] = (),
    earlier: Sequence[Check] = (),
) -> Verdict:
    """Judge a fit.

    Args:
        assessment: What it is good for.
        asked: What it is asked for.
        recording: Whether the recording is sound (:func:`judge_recording`).
        structure: What the efforts show that the model does not have, one sentence each.
        earlier: Whether the recording agrees with the calibration from which the fit started.
    """
    held = {statement.use: statement for statement in assessment.statements}
    checks = list(recording)
    if not all(check.passed for check in recording):
        return Verdict(tuple(checks))
    checks += [Check("structure", False, sentence) for sentence in structure]
    if not structure:
        checks.append(Check("structure", True, "the efforts show nothing at rest that the model does not have"))
    checks += earlier
    for use in asked:
        if use in held:
            checks.append(Check(use, True, held[use].sentence, held[use].value))
        else:
            checks.append(Check(use, False, f"not good to {VERBS[use]}: {assessment.missing[use]}"))
    return Verdict(tuple(checks))


VERBS: dict[UseName, str] = {
    "hold": "hold a pose",
    "float": "float",
    "payload": "notice loads",
    "contact": "notice pushes",
    "extrapolate": "extrapolate",
}
"""What an arm does with a calibration."""


def judge_recording(findings: Sequence[Finding], terms: Terms, doubts: Sequence[str] = ()) -> list[Check]:
    """Return whether anything spoils a fit.

    Args:
        findings: What the doctor found.
        terms: What is fitted.
        doubts: What else is against the recording, one sentence each.
    """
    handled = {LogFault.PAYLOAD}  # unknown weight is what a calibration is for
    handled |= {LogFault.OFFSET} if terms.offset else set()
    handled |= {LogFault.GAIN, LogFault.EFFORT_IS_CURRENT} if terms.gain else set()
    handled |= {LogFault.MOUNT} if terms.tilt else set()
    bad = [
        finding
        for finding in findings
        if (finding.consequence >= Consequence.SPOILS and finding.confidence >= SURE and finding.fault not in handled)
        or (finding.consequence == Consequence.DANGER and finding.fault not in handled)
        or (terms.need_motion and finding.fault is LogFault.NO_TIME and finding.consequence >= Consequence.LIMITS)
    ]
    against = [
        Check("recording", False, f"{finding.sentence} {finding.remedy}", float(finding.consequence)) for finding in bad
    ]
    against += [Check("recording", False, doubt) for doubt in doubts]
    return against or [Check("recording", True, "the doctor found nothing that spoils a fit")]


NEWTON_METRES: Final = "N m"
"""Unit of efforts that are torques (N of linear joints)."""
SHOWN = 3000
"""Samples kept as evidence."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A number that the fit may speak of.

    Attributes:
        name: The model's name for it, e.g. "elbow.mx" or "elbow.coulomb".
        meaning: What it stands for in link names, e.g. "forearm.mx + 0.55·hand.m".
        unit: Its unit.
        value: Its value.
        std: Its standard error, prior included; infinite where neither data nor prior tell.
        described: The description's own value; NaN where it has none.
    """

    name: str
    meaning: str
    unit: str
    value: float
    std: float
    described: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Evidence:
    """Samples behind a fit, thinned, for charts. a joints have a measured effort.

    Attributes:
        time: When [s], or the pose's number, shape (k,).
        q: Positions [rad or m], shape (k, n).
        dq: Velocities [rad/s or m/s], shape (k, n); zero for poses at rest.
        measured: Measured efforts, shape (k, a); NaN where none.
        predicted: The fit's, shape (k, a).
        described: The description's, without friction and offset, shape (k, a).
        held: Which samples were held out for the check, shape (k,).
        v0: Speed over which friction changes its sign [rad/s or m/s], shape (n,).
    """

    time: Array
    q: Array
    dq: Array
    measured: Array
    predicted: Array
    described: Array
    held: npt.NDArray[np.bool_]
    v0: Array

    @classmethod
    def of(
        cls, samples: Samples, measured: Array, predicted: Array, described: Array, held: npt.NDArray[np.bool_]
    ) -> Self:
        """Return at most SHOWN of the samples, evenly spread; the arguments are the attributes for all of them."""
        step = max(1, -(-len(samples) // SHOWN))
        return cls(
            time=samples.time[::step],
            q=samples.q[::step],
            dq=samples.dq[::step],
            measured=frozen(measured[::step]),
            predicted=frozen(predicted[::step]),
            described=frozen(described[::step]),
            held=held[::step],
            v0=samples.v0,
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Fit:
    """A calibrated robot of n joints and what is known about it; arrays are read-only.

    Arrays of shape (n,) have NaN for joints without a measured effort.

    Attributes:
        robot: The robot, calibrated where identifiable, as described elsewhere. In command units its gravity is no
            torque: its description says so, and nothing drives an arm or writes files by it.
        described: The robot as described.
        method: "weighted", "iterative" or "coupled".
        data: "static" for poses at rest, "moving" for a motion, "both" for a motion and its poses at rest.
        why: Why these data were taken so, in one sentence.
        columns: The model that was fitted.
        x: Its values, shape (p,), named by ``columns.names``.
        parameters: The numbers that may be spoken of.
        covariance: Of their values, prior included, shape (s, s); what neither data nor prior tell is left out of it.
        model_covariance: Of ``x``, prior and model error included, shape (p, p), for calibrations that start from this
            one; empty for methods "iterative" and "coupled".
        identifiable: Which combinations the data determine, which they do not.
        units: "N m" (N for linear joints), or "command units" where torque and effort could not be told apart.
        samples: Number of poses, or of samples of the motion, that were fitted.
        torque_rms: Error on all data after the last fit, shape (n,).
        heldout_rms: Error on data that a fit had not seen, shape (n,).
        described_rms: Error of the description on all data, with the fit's gains but without friction and offset, (n,).
        signal: Standard deviation of the measured efforts, shape (n,).
        check: How the held-out check was made, in words.
        novelty: How far held-out poses lie from fitted ones, as a share of the joints' ranges: 10, 50 and 90 %, shape
            (3,).
        sag: What the held-out errors mean at the tip [m]; NaN in command units.
        stiffness: Stiffness by which the sag was computed [N m/rad or N/m], shape (n,).
        stiffness_assumed: Whether that stiffness is assumed (sag.py) rather than given.
        friction_band: Friction that holds each joint, half the difference between directions, shape (n,).
        gravity_error: How far each joint's gravity effort may be off where the arm was (95 %), root mean square over
            the recorded poses, shape (n,). Springs and counterbalances count as gravity. NaN where nothing is stated.
        gravity_size: Size of the gravity effort there, root mean square, shape (n,).
        tolerated: Gravity error that each joint can tolerate (statements.py), shape (n,).
        lower: Lowest positions among the data [rad or m], shape (n,).
        upper: Highest ones [rad or m], shape (n,).
        prior: What the fit leaned on, in words; "" for the data alone.
        unreliable: What of ``robot`` may not be relied on, one sentence each.
        notes: What happened on the way, one sentence each.
        uses: What the calibration was asked for.
        statements: What it is good for, each true by itself, whatever the verdict.
        verdict: Whether it is good for all that it was asked for.
        identity: Robot, serial number, tool and mounting.
        data_sha256: Fingerprint of the recording.
        guessed: Numbers of the recordings' mappings that are guessed, as dotted keys such as
            "joints.elbow.effort_gain"; one that decides the size of efforts leaves ``units`` at "command units".
        rate_source: Who says how fast time goes in the recordings: "declared", "recorded", "measured" or "guessed"
            (recording/declared.py), of several the worst; "" where nobody said.
        created: When, as UTC in ISO 8601.
        version: Version of the package that made it.
        gains: Efforts per torque as a weighed load told them, by which the recordings were divided; None without such
            a load, and for a fit that was read from a file, whose notes tell them.
        evidence: Samples for charts; None for a fit that was read from a file.
    """

    robot: Robot
    described: Robot
    method: str
    data: str
    why: str
    columns: EffortModel
    x: Array
    parameters: tuple[Parameter, ...]
    covariance: Array
    model_covariance: Array
    identifiable: Identifiability
    units: Literal["N m", "command units"]
    samples: int
    torque_rms: Array
    heldout_rms: Array
    described_rms: Array
    signal: Array
    check: str
    novelty: Array
    sag: Sag
    stiffness: Array
    stiffness_assumed: bool
    friction_band: Array
    gravity_error: Array
    gravity_size: Array
    tolerated: Array
    lower: Array
    upper: Array
    prior: str
    unreliable: tuple[str, ...]
    notes: tuple[str, ...]
    uses: tuple[UseName, ...]
    statements: tuple[UseStatement, ...]
    verdict: Verdict
    identity: Identity
    data_sha256: str
    guessed: tuple[str, ...]
    rate_source: RateSource | Literal[""]
    created: str
    version: str
    gains: LoadGains | None = None
    evidence: Evidence | None = None

    @property
    def trusted(self) -> bool:
        """Whether every check of the verdict passed."""
        return self.verdict.trusted

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the fit is not trusted, one sentence each; empty for a trusted one."""
        return self.verdict.reasons

    @property
    def friction(self) -> CoulombViscous | None:
        """The fitted friction law, of actuators where joints are coupled; None where no friction was fitted.

        A joint without fitted friction, or with a negative estimate, has none.
        """
        if not (self.columns.terms.coulomb or self.columns.terms.viscous):
            return None
        found = [np.maximum(np.nan_to_num(self.per_joint(kind)), 0.0) for kind in ("coulomb", "viscous")]
        return CoulombViscous(*found)

    @property
    def offset(self) -> Array:
        """The fitted constant efforts, in their unit, shape (n,); NaN where none was fitted."""
        return self.per_joint("offset")

    def per_joint(self, kind: str) -> Array:
        """Return one of the drives' terms, e.g. "coulomb" or "rotor", shape (n,); NaN where it was not fitted."""
        return self.columns.per_joint(kind, self.x)

    def predict(self, samples: Samples) -> Array:
        """Return the efforts that the fit gives for a motion, shape (k, n), in ``units``; NaN for unmeasured joints."""
        efforts = np.full((len(samples), self.robot.n), np.nan)
        efforts[:, self.columns.active] = self.columns.predict(samples, self.x)
        return efforts

    def save(self, path: str | Path) -> Path:
        """Write the calibration file, all or nothing; see identification/file.py.

        Args:
            path: The file, usually ``<arm>.calibration.json``; one that exists is replaced. The file of a fit that is
                not trusted gets "not-trusted" into its name.

        Returns:
            The file that was written.

        Raises:
            DataFileError: It cannot be written.
        """
        from .file import save_calibration

        return save_calibration(self, path)

    def __repr__(self) -> str:
        """One line: robot, method, data, verdict."""
        verdict = "trusted" if self.trusted else "not trusted"
        return f"<Fit of '{self.robot.name}': {self.method}, {self.counted}, {verdict}>"

    def summary(self) -> str:
        """Return the verdict and the joints' errors as text, a dozen lines."""
        head = "TRUSTED" if self.trusted else "NOT TRUSTED"
        why = self.robot.description.command_units
        unit = f", in {self.units} ({why})" if why else ""
        lines = [f"{head} for {', '.join(self.uses)}{unit}: {self.robot.name}, {self.method}, {self.counted}"]
        lines += [f"  - {reason}" for reason in self.reasons]
        lines += [f"  good to {statement.sentence}" for statement in self.statements]
        lines.append(f"  gravity error, 95 % [{self.units}]  {_row(self.gravity_error)}")
        lines.append(f"  of a gravity effort of          {_row(self.gravity_size)}")
        lines.append(f"  held-out error [{self.units}]       {_row(self.heldout_rms)}")
        if self.units != COMMAND_UNITS:
            lines.append(f"  sag at the tip                  {1e3 * self.sag.total:.2g} mm")
        return "\n".join(lines)

    @property
    def counted(self) -> str:
        """What was fitted, in words, e.g. "24 poses at rest"; of a motion with poses at rest, the motion is counted."""
        words = {"static": "poses at rest", "both": "samples of a motion, beside poses at rest"}
        return f"{self.samples} {words.get(self.data, 'samples of a motion')}"


def _row(values: Array | Sequence[float]) -> str:
    return " ".join("–" if np.isnan(value) else f"{value:.3g}" for value in values)
