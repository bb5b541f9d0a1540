"""Charts of points: one small panel per joint, several kinds of points and lines in each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..description.frozen import Array
from .charts import GREY, Chart, LegendEntry, Panel, as_text, rounded, shaded, titled_axes

MOST_POINTS = 700
"""Points of a cloud that are drawn: more would only hide each other."""


@dataclass(frozen=True, slots=True, eq=False)
class Cloud:
    """Points or a line of one panel.

    Attributes:
        name: What the legend calls it.
        x: Abscissae, shape (k,).
        y: Ordinates, shape (k,).
        colour: Its colour.
        mode: Points or a line.
        error: Half the length of error bars, shape (k,); None for none.
        labels: Names of the abscissae where these are no numbers; shown when a point is pointed at as well.
        band: Half width of a shaded band about a line, shape (k,); None for none.
    """

    name: str
    x: Array
    y: Array
    colour: str
    mode: Literal["markers", "lines"] = "markers"
    error: Array | None = None
    labels: tuple[str, ...] = ()
    band: Array | None = None


@dataclass(frozen=True, slots=True)
class PointPanel:
    """One panel.

    Attributes:
        title: What it shows.
        remark: A short addition.
        x_title: Name and unit of x.
        y_title: Name and unit of y.
        clouds: What is drawn, the last on top.
        y_range: Range of the ordinates; None for that of the data.
    """

    title: str
    remark: str
    x_title: str
    y_title: str
    clouds: tuple[Cloud, ...]
    y_range: tuple[float, float] | None = None


def point_chart(panels: Sequence[PointPanel], *, caption: str = "", height: int = 230, wide: bool = False) -> Chart:
    """Return panels of points under one legend."""
    legend: list[LegendEntry] = []
    for panel in panels:
        for cloud in panel.clouds:
            entry = LegendEntry(cloud.name, cloud.colour, "dash" if cloud.colour == GREY else "solid")
            if cloud.name and entry not in legend:
                legend.append(entry)
    return Chart(tuple(_panel(panel) for panel in panels), tuple(legend), caption, height=height, wide=wide)


def _panel(panel: PointPanel) -> Panel:
    layout = titled_axes(panel.x_title, panel.y_title)
    labels = next((cloud.labels for cloud in panel.clouds if cloud.labels), ())
    if labels:
        places = [float(place) for place in range(len(labels))]
        layout["xaxis"] |= {"tickvals": places, "ticktext": [as_text(label) for label in labels], "zeroline": False}
        layout["xaxis"] |= {"range": [-0.6, len(labels) - 0.4]}
    if panel.y_range is not None:
        layout["yaxis"]["range"] = list(panel.y_range)
    traces: list[Mapping[str, Any]] = [
        shaded(cloud.x, cloud.y - cloud.band, cloud.y + cloud.band, cloud.colour)
        for cloud in panel.clouds
        if cloud.band is not None
    ]
    traces += [_trace(cloud) for cloud in panel.clouds]
    return Panel(panel.title, panel.remark, {"data": traces, "layout": layout})


def _trace(cloud: Cloud) -> Mapping[str, Any]:
    step = max(1, -(-len(cloud.x) // MOST_POINTS)) if cloud.mode == "markers" else 1
    trace: dict[str, Any] = {
        "type": "scatter",
        "mode": cloud.mode,
        "name": as_text(cloud.name),
        "x": rounded(np.asarray(cloud.x[::step], dtype=np.float64)),
        "y": rounded(np.asarray(cloud.y[::step], dtype=np.float64)),
    }
    if cloud.mode == "markers":
        small = len(cloud.x[::step]) > 60
        trace["marker"] = {"color": cloud.colour, "size": 4 if small else 7}
        trace["opacity"] = 0.6 if small else 1.0
    else:
        dash = "dash" if cloud.colour == GREY else "solid"
        trace["line"] = {"color": cloud.colour, "width": 1.6, "dash": dash}
        trace["hoverinfo"] = "skip"
    if cloud.error is not None:
        bars = {"type": "data", "array": rounded(cloud.error), "color": cloud.colour, "thickness": 1.4, "width": 4}
        trace["error_y"] = bars
    return trace
