"""Whether what a calibration says it is good for is true: every statement against the known truth of its case.

Plain NumPy and Pinocchio. Kinematics are those of the description, which the study leaves right; poses are read as the
product reads them. Errors are those of the efforts by which the calibration holds the arm, in the unit that was
fitted. A statement is false where the truth contradicts it:

- hold x: at some recorded pose the tip sags by more than x under the true error, constant part included, held by the
  stiffness that the calibration names. The sentence says "at most", so the worst pose counts.
- float c: the true gravity error of some joint, root mean square over the recorded poses, is beyond the tolerance, or
  beyond the (1 − c) of the true friction that is left to hold it. Without a share (c = 0) it is the tolerance alone.
- payload y: in the joint that decides, y kg at the tip make no more torque than the true error, constant part included
  (both root mean square). The joint that decides is the one in which a load stands out most from what the calibration
  states: gravity error and held-out error.
- contact z: at more than a tenth of the recorded poses there is a direction in which z N at the tip make, in the joint
  that decides there, no more torque than the true error.
- extrapolate: the true gravity error at poses all over the joint ranges is beyond the tolerance for these.

A reference that may be off itself (a fit by hand, by its error at its test samples) contradicts a statement only where
the error is beyond that; between the two nothing is known. Where the true offset is unknown, the mean of the true error
is left out of hold, payload and contact: no constant can take away the rest. Where the true friction is unknown, float
is judged by the tolerance alone: it can be found false, not true. Where the true load outside the recorded poses is
unknown, extrapolate is not judged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pinocchio
from certificate_arms import Array

from counterpoise.identification import UseStatement

DIRECTIONS = 60
"""Directions of pushes, spread over half of the sphere; both senses are alike."""
PUSH_POSES = 100
"""Poses at which pushes are looked at, evenly taken."""
UNFELT = 0.1
"""Share of poses at which a push may go unnoticed: an arm that is stretched out feels none along itself."""


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """What is true of a calibration, in the case's joint order and the unit of the efforts. m poses, n joints.

    Attributes:
        q: Recorded poses as the product reads them [rad or m], shape (m, n).
        missed: Error of the gravity efforts there, shape (m, n).
        held: Error of the efforts that hold the arm, constant part included where the truth is known, shape (m, n).
        doubt: How far the truth may be off itself, shape (n,); zero where it is exact.
        allowed: Tolerance, shape (n,).
        friction: True friction that holds each joint, shape (m, n); None where unknown.
        elsewhere: Error of the gravity efforts over the joint ranges, shape (e, n); None where unknown.
        elsewhere_allowed: Tolerance there, shape (n,).
        measured: Which joints have an effort, shape (n,).
        down: Gravity in base axes [m/s²], shape (3,).
    """

    q: Array
    missed: Array
    held: Array
    doubt: Array
    allowed: Array
    friction: Array | None
    elsewhere: Array | None
    elsewhere_allowed: Array | None
    measured: npt.NDArray[np.bool_]
    down: Array


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """What a calibration tells besides its statements, in the case's joint order, shapes (n,).

    Attributes:
        stiffness: By which the arm is held [N m/rad or N/m].
        unsure: What a load or push must stand out from: the gravity error's standard deviation and the held-out error
            together.
    """

    stiffness: Array
    unsure: Array


class Tips:
    """The ends of an arm: of each chain of moving joints the frame that is farthest along it."""

    def __init__(self, urdf: str, names: Sequence[str]) -> None:
        """Read the kinematics.

        Args:
            urdf: The description.
            names: Joint names, in the case's order.
        """
        self._model: Any = pinocchio.buildModelFromXML(urdf)
        self._data: Any = self._model.createData()
        self._order = np.array([self._model.idx_vs[self._model.getJointId(name)] for name in names])
        self.frames = self._ends()

    def _ends(self) -> list[int]:
        """Return the farthest frame of every last moving joint."""
        model = self._model
        last = set(range(1, model.njoints)) - {model.parents[joint] for joint in range(1, model.njoints)}
        chosen = {}
        for joint in sorted(last):
            own = [at for at, frame in enumerate(model.frames) if frame.parentJoint == joint]
            chosen[joint] = max(own, key=lambda at: float(np.linalg.norm(model.frames[at].placement.translation)))
        return [chosen[joint] for joint in sorted(chosen)]

    def slopes(self, q: Array) -> list[Array]:
        """Return the Jacobians of the tips' positions in base axes, one of shape (m, 3, n) for each tip."""
        model, found = self._model, [np.empty((len(q), 3, q.shape[1])) for _ in self.frames]
        for row, pose in enumerate(q):
            inner = np.empty(model.nq)
            inner[self._order] = pose
            pinocchio.computeJointJacobians(model, self._data, inner)
            pinocchio.updateFramePlacements(model, self._data)
            for tip, frame in zip(found, self.frames, strict=True):
                whole = pinocchio.getFrameJacobian(model, self._data, frame, pinocchio.LOCAL_WORLD_ALIGNED)
                tip[row] = whole.reshape(6, -1)[:3, self._order]  # one joint alone comes as a vector
        return found


@dataclass(frozen=True, slots=True)
class Judged:
    """A statement, judged.

    Attributes:
        use: What for.
        value: The number stated; None where there is none.
        over: The truth over what was stated: above 1 is false. None where it is not known.
        worst: The same at the worst pose; None where that is not asked.
        true: Whether it is; None where it is not known.
    """

    use: str
    value: float | None
    over: float | None
    worst: float | None
    true: bool | None

    def as_row(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "use": self.use,
            "value": _rounded(self.value),
            "over": _rounded(self.over),
            "worst": _rounded(self.worst),
            "true": self.true,
        }


def judged(statements: Sequence[UseStatement], told: Told, known: Known, tips: Tips) -> list[Judged]:
    """Judge every statement of a calibration.

    Args:
        statements: The statements.
        told: What else the calibration tells.
        known: The truth.
        tips: The arm's ends.
    """
    found = [_TESTS[one.use](one.value, told, known, tips) for one in statements]
    if not known.doubt.any():
        return found
    sure = replace(known, held=np.sign(known.held) * np.maximum(np.abs(known.held) - known.doubt, 0.0))
    surely = [_TESTS[one.use](one.value, told, sure, tips) for one in statements]
    pairs = zip(found, surely, strict=True)
    return [one if one.true == other.true else replace(one, true=None) for one, other in pairs]


def _hold(value: float, told: Told, known: Known, tips: Tips) -> Judged:
    stiff = np.where(told.stiffness > 0.0, told.stiffness, np.inf)
    give = np.where(known.measured, known.held, 0.0) / stiff
    sags = [np.linalg.norm(np.einsum("kij,kj->ki", slope, give), axis=1) for slope in tips.slopes(known.q)]
    over = max(_rms(sag) for sag in sags) / max(value, 1e-12)
    worst = max(float(sag.max()) for sag in sags) / max(value, 1e-12)
    return Judged("hold", value, over, worst, worst <= 1.0)


def _float(value: float, told: Told, known: Known, tips: Tips) -> Judged:
    used = known.measured
    error = np.sqrt(np.mean(known.missed**2, axis=0))[used]
    over = float(np.max(error / known.allowed[used]))
    if known.friction is None:
        return Judged("float", value, over, None, None if over <= 1.0 else False)
    if value <= 0.0:
        return Judged("float", value, over, None, over <= 1.0)
    left = np.maximum((1.0 - value) * known.friction[:, used], 1e-12)
    over = max(over, float(np.max(error / np.mean(left, axis=0))))
    return Judged("float", value, over, float(np.max(np.abs(known.missed[:, used]) / left)), over <= 1.0)


def _payload(value: float, told: Told, known: Known, tips: Tips) -> Judged:
    error = np.sqrt(np.mean(known.held**2, axis=0))
    over = 0.0
    for slope in tips.slopes(known.q):
        lever = np.sqrt(np.mean(np.einsum("kij,i->kj", slope, known.down) ** 2, axis=0))
        lever = np.where(known.measured, lever, 0.0)
        joint = int(np.argmax(lever / told.unsure))
        over = max(over, float(error[joint] / max(value * lever[joint], 1e-12)))
    return Judged("payload", value, over, None, over <= 1.0)


def _contact(value: float, told: Told, known: Known, tips: Tips) -> Judged:
    error = np.sqrt(np.mean(known.held**2, axis=0))
    at = np.unique(np.linspace(0, len(known.q) - 1, min(len(known.q), PUSH_POSES)).round().astype(np.int64))
    over = 0.0
    for slope in tips.slopes(known.q[at]):
        torque = np.abs(np.einsum("di,kij->kdj", _directions(), slope))
        torque = np.where(known.measured, torque, 0.0)
        joint = np.argmax(torque / told.unsure, axis=2)[:, :, None]
        felt = value * np.take_along_axis(torque, joint, axis=2)[:, :, 0]
        hidden = np.max(error[joint[:, :, 0]] / np.maximum(felt, 1e-12), axis=1)
        over = max(over, float(np.quantile(hidden, 1.0 - UNFELT, method="higher")))
    return Judged("contact", value, over, None, over <= 1.0)


def _extrapolate(value: float, told: Told, known: Known, tips: Tips) -> Judged:
    if known.elsewhere is None or known.elsewhere_allowed is None:
        return Judged("extrapolate", None, None, None, None)
    error = np.sqrt(np.mean(known.elsewhere**2, axis=0))
    over = float(np.max((error / known.elsewhere_allowed)[known.measured]))
    return Judged("extrapolate", None, over, None, over <= 1.0)


_TESTS: dict[str, Callable[[float, Told, Known, Tips], Judged]] = {
    "hold": _hold,
    "float": _float,
    "payload": _payload,
    "contact": _contact,
    "extrapolate": _extrapolate,
}


def _directions() -> Array:
    """Return directions spread evenly over half of the sphere (a spiral), shape (DIRECTIONS, 3)."""
    step = np.arange(DIRECTIONS)
    height = (step + 0.5) / DIRECTIONS
    about = np.pi * (3.0 - np.sqrt(5.0)) * step
    across = np.sqrt(1.0 - height**2)
    return np.column_stack([across * np.cos(about), across * np.sin(about), height])


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _rounded(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else float(f"{value:.4g}")
