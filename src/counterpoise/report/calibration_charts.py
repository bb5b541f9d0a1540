"""Charts of a calibration: predictions, errors, parameters, friction and the poses behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..calibration.fit import Evidence, Fit
from ..calibration.samples import Samples
from ..calibration.workspace import joint_ranges
from ..description.frozen import Array, frozen
from ..dynamics.joint_units import position_units
from .charts import BLUE, GREY, ORANGE, PINK, Chart
from .point_charts import Cloud, PointPanel, point_chart

FITTED, HELD = BLUE, ORANGE
MOST_IN_PANEL = 14
"""Parameters in one panel."""


def predicted_chart(fit: Fit, evidence: Evidence, units: Sequence[str], remarks: Sequence[str]) -> Chart:
    """Return measured against predicted effort, one panel per joint, with a remark for each joint of the robot."""
    panels = []
    for place, joint in enumerate(_active(fit)):
        measured, predicted = evidence.measured[:, place], evidence.predicted[:, place]
        ends = np.array([np.nanmin([measured, predicted]), np.nanmax([measured, predicted])])
        line = Cloud("measured = predicted", ends, ends, GREY, "lines")
        clouds = _divided(evidence, predicted, measured)
        title = f"[{units[joint]}]"
        panels.append(
            PointPanel(
                fit.robot.joint_names[joint], remarks[joint], f"predicted {title}", f"measured {title}", (*clouds, line)
            )
        )
    return point_chart(panels)


def residual_chart(fit: Fit, evidence: Evidence, units: Sequence[str]) -> Chart:
    """Return measured minus predicted effort over the joint's own position, one panel per joint."""
    positions = position_units(fit.robot)
    panels = []
    for place, joint in enumerate(_active(fit)):
        error = evidence.measured[:, place] - evidence.predicted[:, place]
        q = evidence.q[:, joint]
        ends = np.array([q.min(), q.max()])
        clouds = (*_divided(evidence, q, error), Cloud("no error", ends, np.zeros(2), GREY, "lines"))
        reach = 1.15 * max(float(np.nanmax(np.abs(error), initial=0.0)), 1e-12)
        panels.append(
            PointPanel(
                fit.robot.joint_names[joint],
                f"gravity ±{fit.gravity_error[joint]:.3g} {units[joint]} (95 %)",
                f"position [{positions[joint]}]",
                f"error [{units[joint]}]",
                clouds,
                (-reach, reach),
            )
        )
    return point_chart(
        panels, caption="A pattern over the position is weight that the model lacks; a band is friction or noise."
    )


def parameter_chart(fit: Fit) -> Chart:
    """Return values with error bars, one panel per unit; where the description has values, the difference from them."""
    panels = []
    kinds = [(one.unit, bool(np.isfinite(one.described))) for one in fit.parameters]
    for unit, compared in dict.fromkeys(kinds):
        shown = [one for one, kind in zip(fit.parameters, kinds, strict=True) if kind == (unit, compared)]
        for start in range(0, len(shown), MOST_IN_PANEL):
            part = shown[start : start + MOST_IN_PANEL]
            places = np.arange(len(part), dtype=np.float64)
            values = np.array([one.value - (one.described if compared else 0.0) for one in part])
            errors = np.array([one.std if np.isfinite(one.std) else np.nan for one in part])
            ends = np.array([-0.5, len(part) - 0.5])
            clouds = (
                Cloud("as described, or zero", ends, np.zeros(2), GREY, "lines"),
                Cloud(
                    "fitted, ± standard error",
                    places,
                    values,
                    FITTED,
                    error=errors,
                    labels=tuple(one.name for one in part),
                ),
            )
            title = "Fitted minus described" if compared else "Fitted (the description has none)"
            panels.append(PointPanel(title, f"[{unit}]", "", f"[{unit}]", clouds))
    return point_chart(panels, height=280, wide=True)


def friction_chart(fit: Fit, evidence: Evidence, units: Sequence[str]) -> Chart | None:
    """Return what is left of the measured effort without weight and inertia, over the speed, with the fitted curve.

    None where no friction was fitted, or nothing moved.
    """
    if fit.friction is None or not np.any(evidence.dq):
        return None
    steady = _without_acceleration(fit, evidence)
    terms = np.array(fit.x)
    for kind in ("coulomb", "viscous"):
        terms[fit.columns.groups[kind]] = 0.0
    friction = fit.predict(steady) - replace(fit, x=frozen(terms)).predict(steady)
    positions = position_units(fit.robot)
    panels = []
    for place, joint in enumerate(_active(fit)):
        speed = evidence.dq[:, joint]
        left = evidence.measured[:, place] - evidence.predicted[:, place] + friction[:, joint]
        order = np.argsort(speed)
        clouds = (
            *_divided(evidence, speed, left),
            Cloud("fitted friction", speed[order], friction[order, joint], PINK, "lines"),
        )
        band = f"holds {fit.friction_band[joint]:.3g} {units[joint]}" if np.isfinite(fit.friction_band[joint]) else ""
        panels.append(
            PointPanel(
                fit.robot.joint_names[joint],
                band,
                f"speed [{positions[joint]}/s]",
                f"friction [{units[joint]}]",
                clouds,
            )
        )
    caption = "Points: measured effort less the fit's weight, inertia and offset."
    if fit.columns.coupled:
        caption += " Joints of this arm share actuators, so a joint's friction also depends on its neighbours' speed."
    return point_chart(panels, caption=caption)


def coverage_chart(fit: Fit, evidence: Evidence) -> Chart:
    """Return where in its range each joint was."""
    lower, upper = joint_ranges(fit.described)
    share = (evidence.q - lower) / np.maximum(upper - lower, 1e-12)
    names = fit.robot.joint_names
    # Side by side, so that points do not hide each other.
    spread = np.random.default_rng(0).uniform(-0.28, 0.28, len(share))
    clouds = []
    whole = bool(evidence.held.all())
    for held, label, colour in (
        (False, "fitted", FITTED),
        (True, "all data" if whole else "held out", FITTED if whole else HELD),
    ):
        chosen = evidence.held == held
        if chosen.any():
            x = np.concatenate([joint + spread[chosen] for joint in range(len(names))])
            y = 100.0 * np.concatenate([share[chosen, joint] for joint in range(len(names))])
            keep = np.random.default_rng(1).permutation(len(x))[:700]
            clouds.append(Cloud(label, x[keep], y[keep], colour, labels=tuple(names)))
    panel = PointPanel("Positions in the joint's range", "", "", "of the range [%]", tuple(clouds), (-5.0, 105.0))
    caption = "0 % is the lower limit, 100 % the upper one (±π, ±0.5 m where a joint has none)."
    return point_chart([panel], height=300, wide=True, caption=caption)


def _divided(evidence: Evidence, x: Array, y: Array) -> tuple[Cloud, ...]:
    """Return the fitted and the held-out points."""
    held = evidence.held
    if held.all():
        return (Cloud("samples", x, y, FITTED),)
    return (
        Cloud("fitted", x[~held], y[~held], FITTED),
        Cloud("held out for the check", x[held], y[held], HELD),
    )


def _active(fit: Fit) -> list[int]:
    return np.flatnonzero(fit.columns.active).tolist()


def _without_acceleration(fit: Fit, evidence: Evidence) -> Samples:
    """Return the evidence as samples; friction does not ask for accelerations."""
    return Samples(
        joint_names=fit.robot.joint_names,
        time=evidence.time,
        q=evidence.q,
        dq=evidence.dq,
        ddq=np.zeros_like(evidence.dq),
        tau=np.full(evidence.q.shape, np.nan),
        v0=evidence.v0,
    )
