"""What a joint's estimated torques are worth over a whole recording, and whether they tell anything at all."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..description.frozen import Array
from ..dynamics.joint_units import effort_units
from ..dynamics.robot import Robot
from .log_estimate import LogEstimate
from .wrench_check import WrenchCheck


@dataclass(frozen=True, slots=True)
class JointSummary:
    """One joint over the valid samples of a recording, root mean squares.

    Attributes:
        name: The joint.
        unit: Of its torques: N m, or N of a linear joint.
        torque: Of τ_d + g; NaN where no sample is valid.
        band: Of the standard deviation of τ_d + g.
        dynamic: Of τ_d.
        dynamic_band: Of the standard deviation of τ_d.
        signal: What the joint has to tell: the part of ``torque`` that is not band, at most what the model expects.
        valid: Share of the samples that may be relied on.
        effort: Of the measured effort; NaN where there is none.
        effort_difference: Of measured effort − (τ_d + g): friction, rotor inertia, gain and errors of both.
        effort_offset: Mean of the same.
        informative: Whether the band is narrower than the signal.
        why: Why not; empty where it is.
    """

    name: str
    unit: str
    torque: float
    band: float
    dynamic: float
    dynamic_band: float
    signal: float
    valid: float
    effort: float
    effort_difference: float
    effort_offset: float
    informative: bool
    why: str

    @property
    def dynamic_informative(self) -> bool:
        """Whether τ_d alone stands out from its band, in the same sense."""
        return self.informative and self.dynamic**2 > 2.0 * self.dynamic_band**2


def summaries(
    robot: Robot, torque: LogEstimate, dynamic: LogEstimate, effort: Array, check: WrenchCheck | None
) -> tuple[JointSummary, ...]:
    """Return what every joint's torques are worth.

    The estimate itself holds its errors, so that pure noise is as large as its band: the signal is what the mean square
    has beyond that of the band. Where there is a model, it is no more than the model's own torque, for a constant error
    of the masses is large beside its band once in twenty times.

    Args:
        robot: The robot.
        torque: Estimate of τ_d + g.
        dynamic: Estimate of τ_d.
        effort: Measured efforts, NaN where there is none, shape (k, n).
        check: The comparison with the model, or None.
    """
    return tuple(
        _summary(name, unit, joint, torque, dynamic, effort, check)
        for joint, (name, unit) in enumerate(zip(robot.joint_names, effort_units(robot), strict=True))
    )


def _summary(
    name: str,
    unit: str,
    joint: int,
    torque: LogEstimate,
    dynamic: LogEstimate,
    effort: Array,
    check: WrenchCheck | None,
) -> JointSummary:
    rows = torque.valid & np.isfinite(torque.value[:, joint])
    value, band = _rms(torque.value[rows, joint]), _rms(torque.std[rows, joint])
    signal = math.sqrt(max(value**2 - band**2, 0.0)) if rows.any() else 0.0
    if check is not None and rows.any():
        signal = min(signal, _rms(check.torque[rows, joint]))
    both = rows & np.isfinite(effort[:, joint])
    difference = effort[both, joint] - torque.value[both, joint]
    why = ""
    if not rows.any():
        why = "no sample is valid"
    elif not band < signal:
        shown = f"{value:.3g} {unit}"
        if check is not None:
            shown += f" (the model expects {_rms(check.torque[rows, joint]):.3g} {unit})"
        why = f"its torque of {shown} does not stand out from its band of {band:.3g} {unit}"
    return JointSummary(
        name=name,
        unit=unit,
        torque=value,
        band=band,
        dynamic=_rms(dynamic.value[rows, joint]),
        dynamic_band=_rms(dynamic.std[rows, joint]),
        signal=signal,
        valid=float(np.mean(rows)),
        effort=_rms(effort[both, joint]),
        effort_difference=_rms(difference),
        effort_offset=float(difference.mean()) if len(difference) else math.nan,
        informative=not why,
        why=why,
    )


def _rms(values: Array) -> float:
    """Return the root mean square; NaN of nothing."""
    return float(np.sqrt(np.mean(values**2))) if len(values) else math.nan
