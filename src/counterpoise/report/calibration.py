"""The page of a calibration: may it be trusted, what was found, how well it predicts, what it cannot know.

Its charts show predictions, errors, parameters, friction and the poses behind them; words that the page and the printed
table share are here, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..dynamics import effort_units, position_units, rotary
from ..fitting import Samples
from ..foundation import Array, Check, frozen
from ..identification import COMMAND_UNITS, USES, Evidence, Fit, Verification, joint_ranges
from .charts import BLUE, GREY, ORANGE, PINK, Chart, Cloud, PointPanel, bar_chart, point_chart
from .page import Page, PageSection, PageTable, Paragraph, Part, VerdictBox, check_table, quantity, sentence

NO_WEIGHT = 1e-6
"""A joint whose gravity effort is below this share of its signal carries no weight."""


def in_units(fit: Fit) -> str:
    """Return what a headline adds of a calibration whose efforts are no torques; "" for torques."""
    why = fit.robot.description.command_units
    return f", in {fit.units}: {why}" if why else ""


def gravity_share(fit: Fit, joint: int) -> str:
    """Return a joint's gravity error as a share of its gravity effort; "–" where it carries none or nothing is stated.

    Above 100 % the number means nothing but that the weight is too small to be told.
    """
    error, size = float(fit.errors.gravity[joint]), float(fit.errors.gravity_size[joint])
    if not (error >= 0.0 and size > NO_WEIGHT * float(fit.errors.signal[joint])):
        return "–"
    return f"{error / size:.1%}" if error <= size else "> 100%"


def verification_columns(found: Verification) -> dict[str, Array]:
    """Return what is shown of every joint, in the unit of the efforts, shapes (n,); NaN without measured effort."""
    return {
        "weight changed by": found.change.weight,
        "± 95 %": found.change.weight_error,
        "promised": found.fit.errors.gravity,
        "constant changed by": found.change.offset,
        "error in all": found.rms,
        "signal": found.signal,
    }


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
                f"gravity ±{fit.errors.gravity[joint]:.3g} {units[joint]} (95 %)",
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
    for term in fit.model.terms.chosen:
        if term.friction:
            terms[fit.model.groups[term.name]] = 0.0
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
        holding = fit.errors.friction_band[joint]
        band = f"holds {holding:.3g} {units[joint]}" if np.isfinite(holding) else ""
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
    if fit.model.coupled:
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
    return np.flatnonzero(fit.model.active).tolist()


def _without_acceleration(fit: Fit, evidence: Evidence) -> Samples:
    """Return the evidence as samples; friction does not ask for accelerations."""
    return Samples(
        joint_names=fit.robot.joint_names,
        time=evidence.time,
        q=evidence.q,
        dq=evidence.dq,
        ddq=np.zeros_like(evidence.dq),
        tau=np.full(evidence.q.shape, np.nan),
        v0=fit.data.v0,
    )


CHECKS = {
    "recording": "Is the recording valid?",
    "structure": "Does the model have all that shows?",
    "earlier": "Does it agree with the earlier calibration?",
    "hold": "Does it hold the arm?",
    "float": "Does the arm float?",
    "payload": "Does it notice loads?",
    "contact": "Does it notice pushes?",
    "extrapolate": "Is it right elsewhere?",
    "calibration": "Was the calibration trusted?",
    "fresh": "Is the recording a new one?",
    "units": "Are efforts in the calibration's unit?",
    "efforts": "Are there efforts of every joint?",
    "range": "Was it tested where it was calibrated?",
    "elsewhere": "Is it right outside that range?",
    "weight": "Does the arm weigh what it did?",
    "constant": "Are offsets what they were?",
}
"""What each check asks."""
CHANGED = ("weight", "constant", "elsewhere")
"""Checks that fail where the arm is no longer what it was."""


def calibration_page(fit: Fit) -> Page:
    """Return the page of a fit; charts need its evidence, which a fit from a file no longer has."""
    units = joint_effort_units(fit)
    sections = [
        PageSection("Why", (check_table(_shown(fit.verdict), CHECKS),)),
        _promise_section(fit, units),
        *_note_sections(fit),
        _errors_section(fit, units),
    ]
    if fit.evidence is not None:
        sections += _evidence_sections(fit, fit.evidence, units)
    sections += [_parameter_section(fit), _unknown_section(fit)]
    if fit.evidence is not None:
        friction = friction_chart(fit, fit.evidence, units)
        if friction is not None:
            sections.append(PageSection("Friction", (friction,)))
        sections.append(PageSection("Where the arm was", (coverage_chart(fit, fit.evidence),)))
    sections.append(_about_section(fit))
    subtitle = f"{fit.robot.n} joints, {fit.counted}, method '{fit.method}'; {fit.created}"
    if fit.identity.serial:
        subtitle = f"serial {fit.identity.serial}; {subtitle}"
    return Page(f"Calibration of {fit.robot.name}", subtitle, _headline(fit), tuple(sections))


def verification_page(found: Verification) -> Page:
    """Return the page of a calibration held against a fresh recording."""
    fit = found.fit
    units = joint_effort_units(fit)
    failed = [check for check in found.verdict if not check.passed]
    headline = "THE CALIBRATION HOLDS" if found.holds else "IT IS NOT SHOWN THAT THE CALIBRATION HOLDS"
    if any(check.name in CHANGED for check in failed):
        headline = "THE CALIBRATION NO LONGER HOLDS"
    headline += in_units(fit)
    details = [sentence(check.sentence) for check in failed] or [
        "Every joint carries the weight that the calibration promised."
    ]
    if np.isfinite(found.sag.total):
        details.append(f"The errors are worth {_millimetres(found.sag.total)} at the tip.")
    columns = verification_columns(found)
    rows = tuple(
        (name, *(quantity(values[joint], units[joint]) for values in columns.values()))
        for joint, name in enumerate(fit.robot.joint_names)
        if np.isfinite(found.rms[joint])
    )
    caption = (
        "Promised: the gravity error that the calibration states. The error in all includes friction and all samples, "
        "changes are compared with those within the calibrated range."
    )
    remarks = [f"error {quantity(rms, unit)}" for rms, unit in zip(found.rms, units, strict=True)]
    sections = [
        PageSection("Why", (check_table(found.verdict, CHECKS),)),
        PageSection("Joint by joint", (PageTable(("joint", *columns), rows, left=("joint",), caption=caption),)),
        PageSection("Measured against predicted", (predicted_chart(fit, found.evidence, units, remarks),)),
        PageSection("Error against joint position", (residual_chart(fit, found.evidence, units),)),
        _about_section(fit),
    ]
    verdict = VerdictBox("good" if found.holds else "bad", headline, tuple(details))
    return Page(f"Verification of {fit.robot.name}", f"{found.samples} samples", verdict, tuple(sections))


def joint_effort_units(fit: Fit) -> tuple[str, ...]:
    """Return the unit of each joint's effort."""
    return tuple("cmd" if fit.units == COMMAND_UNITS else unit for unit in effort_units(fit.robot))


def _headline(fit: Fit) -> VerdictBox:
    facts = [f"Good to {statement.sentence}." for statement in fit.statements]
    if np.isfinite(fit.errors.sag_total):
        assumed = fit.errors.stiffness_assumed
        held = "if every joint is held softly (4 Hz)" if assumed else "with the stiffness given"
        facts.append(f"Held-out errors are worth {_millimetres(fit.errors.sag_total)} at the tip, {held}.")
    if fit.units == COMMAND_UNITS:
        facts.append("Efforts are in command units: products of gain and mass are right, masses by themselves are not.")
    asked = ", ".join(fit.uses)
    if fit.trusted:
        return VerdictBox("good", f"TRUSTED for {asked}{in_units(fit)}", tuple(facts))
    words = f"NOT TRUSTED for {asked}{in_units(fit)}"
    return VerdictBox("bad", words, tuple(sentence(reason) for reason in fit.reasons) + tuple(facts))


def _shown(checks: Sequence[Check]) -> list[Check]:
    """Return checks as they are shown: that of a use that passed says what the arm is good to do."""
    good = [check.passed and check.name in USES for check in checks]
    shown = zip(checks, good, strict=True)
    return [replace(check, sentence=f"good to {check.sentence}") if use else check for check, use in shown]


def _note_sections(fit: Fit) -> list[PageSection]:
    """Return what happened on the way, which may be more than the verdict shows."""
    notes = tuple(Paragraph(sentence(note)) for note in dict.fromkeys(fit.notes))
    return [PageSection("Worth knowing", notes)] if notes else []


def _promise_section(fit: Fit, units: Sequence[str]) -> PageSection:
    """Return how far the gravity efforts may be off where the arm was."""
    active = [joint for joint in range(fit.robot.n) if np.isfinite(fit.errors.tolerated[joint])]
    names, turns = fit.robot.joint_names, rotary(fit.robot)
    if not np.isfinite(fit.errors.gravity[active]).any():
        return PageSection("How reliable it is", (Paragraph("The recording is not valid, so nothing is stated."),))
    rows = tuple(
        (
            names[joint],
            quantity(fit.errors.gravity[joint], units[joint]),
            gravity_share(fit, joint),
            quantity(fit.errors.gravity_size[joint], units[joint]),
            quantity(fit.errors.tolerated[joint], units[joint]),
            f"{fit.data.lower[joint]:.3g} … {fit.data.upper[joint]:.3g} {'rad' if turns[joint] else 'm'}",
        )
        for joint in active
    )
    columns = ("joint", "gravity error, 95 %", "of gravity", "gravity effort", "tolerated", "calibrated range")
    scale = np.maximum(fit.errors.tolerated[active], 1e-300)
    chart = bar_chart(
        [names[joint] for joint in active],
        [("gravity error, 95 %", fit.errors.gravity[active] / scale)],
        title="Gravity error as a share of what the joint tolerates",
        y_title="error / tolerated",
        caption="Up to 1, the dashed line, the error is tolerable: 10 % of the joint's gravity effort, or 2 % of its "
        "effort limit where that is more.",
        limit=1.0,
    )
    text = (
        "How far the effort that holds each joint against gravity may be off at poses like the recorded ones: root "
        "mean square, with 95 % confidence. Friction, cables, drives and drifts count as the residuals show them."
    )
    return PageSection("How reliable it is", (Paragraph(text), chart, PageTable(columns, rows, left=("joint",))))


def _errors_section(fit: Fit, units: Sequence[str]) -> PageSection:
    names = fit.robot.joint_names
    active = [joint for joint in range(fit.robot.n) if np.isfinite(fit.errors.signal[joint])]
    rows = tuple(
        (
            names[joint],
            quantity(fit.errors.described[joint], units[joint]),
            quantity(fit.torque_rms[joint], units[joint]),
            quantity(fit.heldout_rms[joint], units[joint]),
            f"{fit.heldout_rms[joint] / max(fit.errors.signal[joint], 1e-300):.0%}",
            quantity(fit.errors.friction_band[joint], units[joint]),
            "–" if np.isnan(fit.errors.sag[joint]) else _millimetres(fit.errors.sag[joint]),
        )
        for joint in active
    )
    columns = (
        "joint",
        "before",
        "after, fitted",
        "after, held out",
        "of the signal",
        "friction",
        "sag at the tip",
    )
    scale = np.maximum(fit.errors.signal[active], 1e-300)
    chart = bar_chart(
        [names[joint] for joint in active],
        [
            ("before: the description, no friction", fit.errors.described[active] / scale),
            ("after, on held-out data", fit.heldout_rms[active] / scale),
        ],
        title="Error as a share of the joint's signal",
        y_title="error / standard deviation of the effort",
        caption="What the model leaves unexplained while the arm moves: mostly friction that no simple law describes.",
    )
    table = PageTable(columns, rows, left=("joint",), caption=f"Held-out check: {fit.data.check}.")
    return PageSection("Before and after", (chart, table))


def _evidence_sections(fit: Fit, evidence: Evidence, units: Sequence[str]) -> list[PageSection]:
    remarks = [
        f"error {quantity(fitted, unit)}, held out {quantity(heldout, unit)}"
        for fitted, heldout, unit in zip(fit.torque_rms, fit.heldout_rms, units, strict=True)
    ]
    text = f"All data with the final fit. Held-out check before it: {fit.data.check}."
    return [
        PageSection("Measured against predicted", (Paragraph(text), predicted_chart(fit, evidence, units, remarks))),
        PageSection("Error against joint position", (residual_chart(fit, evidence, units),)),
    ]


def _parameter_section(fit: Fit) -> PageSection:
    rows = tuple(
        (
            one.meaning,
            f"{one.value:.4g}",
            "not known" if np.isinf(one.std) else f"± {one.std:.2g}",
            "–" if np.isnan(one.described) else f"{one.described:.4g}",
            one.unit,
        )
        for one in fit.parameters
    )
    columns = ("what", "value", "standard error", "described", "unit")
    table = PageTable(columns, rows, left=("what", "unit"), folded=True, summary="All numbers")
    text = (
        "Torques reveal these sums of masses (m) and first moments (mx, my, mz), never the masses of single links. "
        "Error bars are one standard error" + (f", {fit.prior} included." if fit.prior else ".")
    )
    return PageSection("What was found", (Paragraph(text), parameter_chart(fit), table))


def _unknown_section(fit: Fit) -> PageSection:
    parts: list[Part] = [Paragraph(sentence(text)) for text in fit.unreliable]
    if fit.identifiable.undetermined:
        determined = tuple(
            (one.text, f"{one.value:.4g} ± {one.std:.2g}", one.unit) for one in fit.identifiable.determined
        )
        columns = ("combination", "value by the data alone", "unit")
        parts.append(
            PageTable(
                columns,
                determined,
                left=("combination", "unit"),
                folded=True,
                summary="Combinations that the data determine",
            )
        )
        listed = tuple((text,) for text in fit.identifiable.undetermined)
        summary = "Numbers that are not identifiable from the data alone"
        parts.append(PageTable(("number",), listed, left=("number",), folded=True, summary=summary))
    if fit.identifiable.never_felt:
        never = ", ".join(fit.identifiable.never_felt)
        parts.append(Paragraph(f"Never felt by a joint torque on this mounting, whatever the recording: {never}."))
    return PageSection("What is not known", tuple(parts))


def _about_section(fit: Fit) -> PageSection:
    identity = fit.identity
    rows = [
        ("robot", identity.name),
        ("serial number", identity.serial or "not given"),
        ("tool", identity.tool or "not given"),
        ("gravity in base axes", " ".join(f"{value:.4g}" for value in identity.gravity_base) + " m/s²"),
        ("data", f"{fit.data.kind}: {fit.data.why}"),
        ("units", fit.units),
        ("guessed numbers of the mapping", ", ".join(fit.data.guessed) or "none"),
        ("source of the time", fit.data.rate_source or "nobody"),
        ("prior", fit.prior or "none"),
        ("recording", f"sha256 {fit.data.sha256}"),
        ("robot's geometry", f"sha256 {identity.kinematics_sha256}"),
        ("made", f"{fit.created} by counterpoise {fit.package}"),
    ]
    return PageSection("About", (PageTable(("", "value"), tuple(rows), left=("", "value")),))


def _millimetres(length: float) -> str:
    return "< 0.001 mm" if length < 1e-6 else f"{1e3 * length:.2g} mm"
