"""The page of the tour: what was hidden beside what was found, and a picture of every stop."""

from __future__ import annotations

import numpy as np

from ..lab import STOPS, FigureCurve, FigurePanel, Tour, sentences, summary
from .charts import Chart, bar_chart
from .page import Page, PageSection, PageTable, Paragraph, VerdictBox
from .papers import panel_chart


def tour_page(tour: Tour) -> Page:
    """Return the page."""
    rows = tuple(summary(tour))
    table = PageTable(("what", "hidden", "found"), rows, left=("what", "hidden", "found"))
    stops = (tour.recorded, tour.modelled, tour.floated, tour.found, tour.fine)
    pictures = (_recording(tour), _model(tour), _floating(tour), _load(tour), _fine(tour))
    sections = [PageSection("Hidden, and found", (table,))]
    for number, ((title, _), stop, picture) in enumerate(zip(STOPS, stops, pictures, strict=True), start=1):
        words = tuple(Paragraph(text) for text in sentences(stop))
        sections.append(PageSection(f"{number}. {title[0].upper()}{title[1:]}", (*words, *picture)))
    trusted = tour.modelled.fit.trusted and tour.modelled.verification.holds
    headline = "The calibration is trusted" if trusted else "The calibration is not trusted"
    verdict = VerdictBox("good" if trusted else "bad", headline, ("Every number here was computed in this run.",))
    subtitle = (
        "A simulated geared arm on a force plate, with a description that is wrong, hidden friction, an unknown tool "
        f"and one effort reversed; {tour.seconds:.0f} s"
    )
    return Page("A tour of Counterpoise", subtitle, verdict, tuple(sections))


def _recording(tour: Tour) -> tuple[Chart, ...]:
    """Draw the reversed joint's effort as it was logged, fixed, and by the described model."""
    robot, log = tour.arm.described, tour.recorded.fixed
    reversed_joints = [each.subjects[0] for each in tour.recorded.diagnosis.alarms if each.subjects]
    name = next((each for each in reversed_joints if each in robot.joint_names), robot.joint_names[0])
    joint = robot.joint_names.index(name)
    time = log.time - log.time[0]
    fixed = log.tau[:, joint]
    logged = -fixed if tour.recorded.mapping is not None else fixed
    curves = (
        FigureCurve("as logged", time, logged),
        FigureCurve("fixed", time, fixed),
        FigureCurve("described model", time, robot.gravity(log.q)[:, joint], "dash"),
    )
    return (panel_chart(FigurePanel(f"Effort of {name}", "time [s]", "torque [N m]", curves)),)


def _model(tour: Tour) -> tuple[Chart, ...]:
    model = tour.modelled
    series = (("described", model.described_error), ("calibrated", model.calibrated_error))
    names = tour.arm.described.joint_names
    return (bar_chart(names, series, title="Error of the gravity torque", y_title="rms [N m]"),)


def _floating(tour: Tour) -> tuple[Chart, ...]:
    floated = tour.floated
    curves = tuple(
        FigureCurve(axis, floated.time, 1e3 * floated.tip[:, index]) for index, axis in enumerate(("x", "y", "z"))
    )
    return (panel_chart(FigurePanel("The tip while the arm floats", "time [s]", "from its start [mm]", curves)),)


def _load(tour: Tour) -> tuple[Chart, ...]:
    links = tour.found.estimate.links
    return (
        bar_chart(
            tuple(links),
            (("probability", np.array(list(links.values()))),),
            title="Where the load sits",
            y_title="probability",
        ),
    )


def _fine(tour: Tour) -> tuple[Chart, ...]:
    fine = tour.fine
    motion = (
        FigureCurve("desired", fine.time, fine.wanted, "dash"),
        FigureCurve("PID", fine.time, fine.pid),
        FigureCurve("closed on the plate", fine.time, fine.plate),
    )
    errors = (
        FigureCurve("PID", fine.time, fine.wanted - fine.pid),
        FigureCurve("closed on the plate", fine.time, fine.wanted - fine.plate),
    )
    return (
        panel_chart(FigurePanel("Joint 1", "time [s]", "angle [°]", motion)),
        panel_chart(FigurePanel("Its error", "time [s]", "error [°]", errors)),
    )
