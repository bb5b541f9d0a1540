"""The result of a calibration: a robot, how far to believe it, and why.

A fit is trusted when the recording is valid, the fit explains it better than the description does, and the calibration
is good for everything that was asked for (statements.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final, Literal, Self

import numpy as np
import numpy.typing as npt

from ..dynamics import CoulombViscous, Robot
from ..fitting import EffortModel, Identifiability, Samples
from ..foundation import Array, Verdict, frozen, infinite_where_unknown
from ..recording import RateSource
from .estimate import COMMAND_UNITS
from .identity import Identity
from .load_gains import LoadGains
from .statements import UseName, UseStatement

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

    def __post_init__(self) -> None:
        """Take a standard error that is not known for infinite."""
        infinite_where_unknown(self, "std")


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
    """

    time: Array
    q: Array
    dq: Array
    measured: Array
    predicted: Array
    described: Array
    held: npt.NDArray[np.bool_]

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
        )


@dataclass(frozen=True, slots=True, eq=False)
class FitData:
    """The recordings behind a fit of n joints, and how they were used.

    Attributes:
        sha256: Fingerprint of the recordings.
        kind: "static" for poses at rest, "moving" for a motion, "both" for a motion and its poses at rest.
        why: Why these data were taken so, in one sentence.
        samples: Number of poses, or of samples of the motion, that were fitted.
        check: How the held-out check was made, in words.
        novelty: How far held-out poses lie from fitted ones, as a fraction of the joints' ranges: 10, 50 and 90 %,
            shape (3,).
        lower: Lowest positions [rad or m], shape (n,).
        upper: Highest positions [rad or m], shape (n,).
        v0: Speed over which the friction of each actuator changes its sign [rad/s or m/s], shape (n,).
        guessed: Numbers of the recordings' mappings that are guessed, as dotted keys such as
            "joints.elbow.effort_gain"; one that decides the size of efforts leaves them in command units.
        rate_source: Who says how fast time goes in the recordings: "declared", "recorded", "measured" or "guessed"
            (recording/declared.py), of several the worst; "" where nobody said.
    """

    sha256: str
    kind: str
    why: str
    samples: int
    check: str
    novelty: Array
    lower: Array
    upper: Array
    v0: Array
    guessed: tuple[str, ...]
    rate_source: RateSource | Literal[""]


@dataclass(frozen=True, slots=True, eq=False)
class FitErrors:
    """Errors of a fit of n joints in its units, root mean square, and what they mean; NaN without measured effort.

    Attributes:
        fitted: On all data after the last fit, shape (n,).
        heldout: On data that a fit had not seen, shape (n,).
        described: Of the description on all data, with the fit's gains but without friction and offset, shape (n,).
        signal: Standard deviation of the measured efforts, shape (n,).
        gravity: How far the gravity effort may be off where the arm was (95 %), over the recorded poses, shape (n,).
            Springs and counterbalances count as gravity. NaN where nothing is stated.
        gravity_size: Size of the gravity effort there, shape (n,).
        tolerated: Gravity error that each joint can tolerate (statements.py), shape (n,).
        friction_band: Friction that holds each joint, half the difference between directions, shape (n,).
        sag: What the held-out errors mean at the tip, joint by joint [m], shape (n,); NaN in command units.
        sag_total: By all errors at once [m].
        sag_largest: The largest one at any pose looked at [m].
        stiffness: Stiffness by which the sag was computed [N m/rad or N/m], shape (n,).
        stiffness_assumed: Whether that stiffness is assumed (statements.py) rather than stated by the user.
    """

    fitted: Array
    heldout: Array
    described: Array
    signal: Array
    gravity: Array
    gravity_size: Array
    tolerated: Array
    friction_band: Array
    sag: Array
    sag_total: float
    sag_largest: float
    stiffness: Array
    stiffness_assumed: bool


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class FitRecord:
    """What a calibration file holds of a fit as it is; robot and model are made of it again (file.py).

    Attributes:
        method: "weighted", "iterative" or "coupled".
        units: "N m" (N for linear joints), or "command units" where torque and effort could not be distinguished.
        created: When, as UTC in ISO 8601.
        package: Version of the package that made it.
        identity: Robot, serial number, tool and mounting.
        data: The recordings and how they were used.
        parameters: The numbers that may be spoken of.
        covariance: Of their values, prior included, shape (s, s); what neither data nor prior tell is left out of it.
        identifiable: Which combinations the data determine, which they do not.
        errors: Errors of each joint, and what they mean.
        prior: What the fit leaned on, in words; "" for the data alone.
        unreliable: What of the calibrated robot may not be relied on, one sentence each.
        notes: What happened on the way, one sentence each.
        uses: What the calibration was asked for.
        statements: What it is good for, each true by itself, whatever the verdict.
        verdict: Whether it is good for all that it was asked for.
    """

    method: str
    units: Literal["N m", "command units"]
    created: str
    package: str
    identity: Identity
    data: FitData
    parameters: tuple[Parameter, ...]
    covariance: Array
    identifiable: Identifiability
    errors: FitErrors
    prior: str
    unreliable: tuple[str, ...]
    notes: tuple[str, ...]
    uses: tuple[UseName, ...]
    statements: tuple[UseStatement, ...]
    verdict: Verdict

    def record(self) -> dict[str, Any]:
        """Return these fields by name."""
        return {field.name: getattr(self, field.name) for field in fields(FitRecord)}


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Fit(FitRecord):
    """A calibrated robot of n joints and what is known about it; arrays are read-only.

    Attributes:
        robot: The robot, calibrated where identifiable, as described elsewhere. In command units its gravity is no
            torque: its description says so, and nothing drives an arm or writes files by it.
        described: The robot as described.
        model: The model that was fitted.
        x: Its values, shape (p,), named by ``model.names``.
        model_covariance: Of ``x``, prior and model error included, shape (p, p), for calibrations that start from this
            one; empty for methods "iterative" and "coupled".
        gains: Efforts per torque as a weighed load told them, by which the recordings were divided; None without such
            a load, and for a fit that was read from a file, whose notes tell them.
        evidence: Samples for charts; None for a fit that was read from a file.
    """

    robot: Robot
    described: Robot
    model: EffortModel
    x: Array
    model_covariance: Array
    gains: LoadGains | None = None
    evidence: Evidence | None = None

    @property
    def torque_rms(self) -> Array:
        """Error on all data after the last fit, shape (n,)."""
        return self.errors.fitted

    @property
    def heldout_rms(self) -> Array:
        """Error on data that a fit had not seen, shape (n,)."""
        return self.errors.heldout

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
        if not (self.model.terms.coulomb or self.model.terms.viscous):
            return None
        found = [np.maximum(np.nan_to_num(self.per_joint(kind)), 0.0) for kind in ("coulomb", "viscous")]
        return CoulombViscous(*found)

    @property
    def offset(self) -> Array:
        """The fitted constant efforts, in their unit, shape (n,); NaN where none was fitted."""
        return self.per_joint("offset")

    def per_joint(self, kind: str) -> Array:
        """Return one of the drives' terms, e.g. "coulomb" or "rotor", shape (n,); NaN where it was not fitted."""
        return self.model.per_joint(kind, self.x)

    def predict(self, samples: Samples) -> Array:
        """Return the efforts that the fit gives for a motion, shape (k, n), in ``units``; NaN for unmeasured joints."""
        efforts = np.full((len(samples), self.robot.n), np.nan)
        efforts[:, self.model.active] = self.model.predict(samples, self.x)
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
        lines.append(f"  gravity error, 95 % [{self.units}]  {_row(self.errors.gravity)}")
        lines.append(f"  of a gravity effort of          {_row(self.errors.gravity_size)}")
        lines.append(f"  held-out error [{self.units}]       {_row(self.heldout_rms)}")
        if self.units != COMMAND_UNITS:
            lines.append(f"  sag at the tip                  {1e3 * self.errors.sag_total:.2g} mm")
        return "\n".join(lines)

    @property
    def counted(self) -> str:
        """What was fitted, in words, e.g. "24 poses at rest"; of a motion with poses at rest, the motion is counted."""
        words = {"static": "poses at rest", "both": "samples of a motion, beside poses at rest"}
        return f"{self.data.samples} {words.get(self.data.kind, 'samples of a motion')}"


def _row(values: Array | Sequence[float]) -> str:
    return " ".join("–" if np.isnan(value) else f"{value:.3g}" for value in values)
