"""The page of reproduced experiments: each with its claim, the printed numbers beside ours, its figure, a verdict."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..lab import Comparison, Experiment, FigurePanel, Outcome
from .charts import COLOURS, Chart, LegendEntry, Panel, as_text, rounded, thinned, titled_axes, to_scale
from .page import Page, PageSection, PageTable, Paragraph, VerdictBox

POINTS = 900
"""Points of a thinned curve."""
WORDS = {"reproduced": "Reproduced", "partly": "Partly reproduced", "not": "Not reproduced"}


def papers_page(done: Sequence[tuple[Experiment, Outcome | None, str]], seeds: int) -> Page:
    """Return the page.

    Args:
        done: Experiments with their outcomes, or None and why they failed.
        seeds: Seeds that were run.
    """
    sections = [PageSection("Summary", (_summary(done),))]
    sections += [_section(experiment, outcome, failure) for experiment, outcome, failure in done]
    good = sum(outcome is not None and outcome.verdict == "reproduced" for _, outcome, _ in done)
    failed = [experiment.name for experiment, outcome, _ in done if outcome is None]
    details = (f"Failed to run: {', '.join(failed)}.",) if failed else ()
    verdict = VerdictBox("bad" if failed else "neutral", f"{good} of {len(done)} experiments reproduced", details)
    subtitle = f"The paper's number beside ours; median, and smallest to largest of {seeds} seeds"
    return Page("Published experiments, run again", subtitle, verdict, tuple(sections))


def verdict_words(outcome: Outcome) -> str:
    """Return the verdict in words."""
    return WORDS[outcome.verdict]


def number(value: float | None) -> str:
    """Return a number of a comparison as it is printed, "–" for none."""
    return "–" if value is None else f"{value:.3g}"


def spread(comparison: Comparison) -> str:
    """Return the spread over the seeds, "" where there is none."""
    low, high = comparison.spread
    return "" if low == high else f"{low:.3g} … {high:.3g}"


def _summary(done: Sequence[tuple[Experiment, Outcome | None, str]]) -> PageTable:
    rows = tuple(
        (experiment.name, experiment.source, "failed" if outcome is None else verdict_words(outcome))
        for experiment, outcome, _ in done
    )
    return PageTable(("experiment", "source", "verdict"), rows, left=("experiment", "source", "verdict"))


def _section(experiment: Experiment, outcome: Outcome | None, failure: str) -> PageSection:
    title = f"{experiment.name}: {experiment.title}"
    about = (Paragraph(f"Claim ({experiment.source}): {experiment.claim}"), Paragraph(f"Here: {experiment.setup}"))
    if outcome is None:
        return PageSection(title, (*about, Paragraph(f"It could not be run: {failure}")))
    rows = tuple(
        (entry.what, entry.unit, number(entry.printed), number(entry.ours), spread(entry))
        for entry in outcome.comparisons
    )
    numbers = PageTable(("what", "unit", "paper", "ours", "seeds"), rows, left=("what", "unit"))
    notes = tuple(Paragraph(text) for text in outcome.notes)
    decided = Paragraph(f"{verdict_words(outcome)}. {outcome.decides}")
    charts = tuple(panel_chart(panel) for panel in outcome.panels)
    return PageSection(title, (*about, decided, numbers, *charts, *notes))


def panel_chart(panel: FigurePanel) -> Chart:
    """Return one panel of a figure as a chart with a legend of its own."""
    traces, legend = [], []
    for index, curve in enumerate(panel.curves):
        colour = COLOURS[index % len(COLOURS)]
        plain_time = len(curve.x) > POINTS and bool(np.all(np.diff(curve.x) > 0.0))
        x, y = thinned(curve.x, curve.y, POINTS) if plain_time else (curve.x, curve.y)
        if len(x) > 2 * POINTS:
            step = -(-len(x) // POINTS)
            x, y = x[::step], y[::step]
        traces.append(
            {
                "type": "scatter",
                "mode": "markers" if curve.points else "lines",
                "name": as_text(curve.name),
                "x": rounded(np.asarray(x, dtype=np.float64)),
                "y": rounded(np.asarray(y, dtype=np.float64)),
                "line": {"color": colour, "dash": curve.dash, "width": 1.5},
                "marker": {"color": colour, "size": 7},
            }
        )
        legend.append(LegendEntry(curve.name, colour, curve.dash))
    layout = titled_axes(panel.x_label, panel.y_label)
    for axis, logarithmic in (("xaxis", panel.log_x), ("yaxis", panel.log_y)):
        if logarithmic:
            layout[axis]["type"] = "log"
    drawn = Panel(panel.title, "", {"data": traces, "layout": layout})
    if "µm" in panel.x_label or "mm" in panel.x_label:  # a path of the tip
        return Chart((to_scale(drawn),), tuple(legend), height=420, wide=True)
    return Chart((drawn,), tuple(legend), height=300, wide=True)
