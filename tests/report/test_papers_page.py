"""The page of reproduced experiments."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("plotly", reason="plotly is not installed")

from counterpoise.lab import Comparison, Experiment, FigureCurve, FigurePanel, Outcome
from counterpoise.report.page import render
from counterpoise.report.papers import papers_page

X = np.linspace(0.0, 1.0, 5000)


def experiment(name: str) -> Experiment:
    return Experiment(name, f"title of {name}", "[Key], Fig. 1", "a claim", "a set-up", lambda *_: None)  # type: ignore[arg-type,return-value]


def test_page_shows_numbers_figures_and_verdicts() -> None:
    """Printed beside ours with the spread; a failure is told; curves are thinned; a tip's path keeps its shape."""
    lines = (
        Comparison("error", "°", 0.02, 0.0198, (0.019, 0.021)),
        Comparison("count", "°", None, 0.0058, (0.0058,) * 2),
    )
    panels = (
        FigurePanel(
            "Over time",
            "time [s]",
            "error [°]",
            (FigureCurve("PID", X, np.sin(40.0 * X)), FigureCurve("<i>x", X, X, "dash")),
        ),
        FigurePanel("Path", "x [mm]", "z [mm]", (FigureCurve("tip", np.cos(9.0 * X), np.sin(9.0 * X)),)),
        FigurePanel("Map", "f [Hz]", "ratio", (FigureCurve("joints", X[1:50], X[1:50], points=True),), True, True),
    )
    good = Outcome(lines, panels, "partly", "the structure decides", ("a note",))
    page = papers_page([(experiment("one"), good, ""), (experiment("two"), None, "InputError: no room")], 5)
    text = render(page)
    for words in ("0.0198", "0.019 … 0.021", "Partly reproduced. the structure decides", "no room", "a note", "–"):
        assert words in text
    assert "<i>x" not in text
    charts = [part for part in page.sections[1].parts if hasattr(part, "panels")]
    assert len(charts) == 3
    assert len(charts[0].panels[0].figure["data"][0]["x"]) <= 900
    assert charts[1].panels[0].figure["layout"]["yaxis"]["scaleanchor"] == "x"
    assert charts[2].panels[0].figure["layout"]["xaxis"]["type"] == "log"
    assert page.verdict is not None and page.verdict.level == "bad" and "two" in page.verdict.details[0]
