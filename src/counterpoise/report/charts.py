"""Charts of our pages: lines over time with one small panel per joint, bars, and points.

A chart is data for plotly.js; it is drawn by the page. Long series are thinned to at most POINTS points, two for each
of POINTS/2 equal stretches of samples: its lowest and its highest, in their order. Peaks survive. Charts of points have
several kinds of points and lines in each panel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..foundation import Array
from ..recording import true_stretches

BLUE, ORANGE, GREEN, PINK, VIOLET, OCHRE = "#2f7fd1", "#e08214", "#1a9e77", "#c2549c", "#7b6fd0", "#b5a000"
COLOURS = (BLUE, ORANGE, GREEN, PINK, VIOLET, OCHRE)
"""Colours of the series in order: apart from each other, and readable on white and on black."""
GREY = "#8a8f98"
POINTS = 1200
"""Points of a thinned series."""
LIMIT_SHOWN = 2.5
"""A limit is drawn where it is at most this many times as far from zero as the data; else it would flatten them."""

Dash = Literal["solid", "dash", "dot"]


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """Values of all panels of a chart over time.

    Attributes:
        name: What the legend calls it.
        values: One column per panel, shape (k, n).
        colour: Its colour; None for the next of COLOURS.
        dash: How the line is drawn.
        band: Half width of a shaded band about the line, shape (k, n); None for none.
    """

    name: str
    values: Array
    colour: str | None = None
    dash: Dash = "solid"
    band: Array | None = None


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """One line of a chart's legend."""

    name: str
    colour: str
    dash: Dash = "solid"


@dataclass(frozen=True, slots=True)
class Panel:
    """One drawing area.

    Attributes:
        title: What it shows.
        remark: A short addition to the title.
        figure: ``data`` and ``layout`` as plotly.js takes them.
    """

    title: str
    remark: str
    figure: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Chart:
    """Panels that belong together, under one legend.

    Attributes:
        panels: The panels.
        legend: What the lines mean; empty for none.
        caption: A sentence below.
        height: Height of a panel [pixels].
        wide: Whether a panel takes the whole width of the page.
    """

    panels: tuple[Panel, ...]
    legend: tuple[LegendEntry, ...] = ()
    caption: str = ""
    height: int = 190
    wide: bool = False


def time_chart(
    time: Array,
    series: Sequence[Series],
    titles: Sequence[str],
    units: Sequence[str],
    *,
    limits: Array | None = None,
    remarks: Sequence[str] | None = None,
    caption: str = "",
) -> Chart:
    """Return lines over time, one panel per column.

    Args:
        time: Times [s], shape (k,).
        series: What is drawn in every panel.
        titles: Names of the n panels.
        units: Unit of each panel's values.
        limits: Drawn at ± this where the data come near, shape (n,).
        remarks: Additions to the titles.
        caption: A sentence below.

    Raises:
        InputError: Shapes do not belong together.
    """
    n = len(titles)
    for entry in series:
        if entry.values.shape != (len(time), n):
            raise InputError(f"series '{entry.name}' has shape {entry.values.shape}; expected {(len(time), n)}")
    styles = [
        LegendEntry(entry.name, entry.colour or COLOURS[index % len(COLOURS)], entry.dash)
        for index, entry in enumerate(series)
    ]
    legend = list(styles)
    panels = []
    for panel in range(n):
        traces = [
            shaded(*_edges(time, entry.values[:, panel], entry.band[:, panel]), style.colour)
            for entry, style in zip(series, styles, strict=True)
            if entry.band is not None
        ]
        traces += [
            _line(*thinned(time, entry.values[:, panel]), style) for entry, style in zip(series, styles, strict=True)
        ]
        if limits is not None and np.isfinite(limits[panel]):
            reach = max(float(np.nanmax(np.abs(entry.values[:, panel]), initial=0.0)) for entry in series)
            if limits[panel] <= LIMIT_SHOWN * reach:
                style = LegendEntry("limit", GREY, "dash")
                legend += [] if style in legend else [style]
                ends = np.array([time[0], time[-1]])
                traces += [_line(ends, np.full(2, sign * limits[panel]), style) for sign in (1.0, -1.0)]
        figure = {"data": traces, "layout": titled_axes("t [s]", f"[{units[panel]}]")}
        panels.append(Panel(titles[panel], remarks[panel] if remarks else "", figure))
    return Chart(tuple(panels), tuple(legend), caption)


def bar_chart(
    names: Sequence[str],
    series: Sequence[tuple[str, npt.ArrayLike]],
    *,
    title: str,
    y_title: str,
    caption: str = "",
    limit: float | None = None,
) -> Chart:
    """Return groups of bars, one group per name.

    Args:
        names: What the groups are.
        series: Name and heights (one per group) of each colour.
        title: Name of the panel.
        y_title: Name and unit of the heights.
        caption: A sentence below.
        limit: Height of a dashed line across; None for no line.
    """
    traces = [
        {
            "type": "bar",
            "name": as_text(name),
            "x": [as_text(entry) for entry in names],
            "y": rounded(np.asarray(heights, dtype=np.float64)),
            "marker": {"color": COLOURS[index % len(COLOURS)]},
        }
        for index, (name, heights) in enumerate(series)
    ]
    legend = [LegendEntry(name, COLOURS[index % len(COLOURS)]) for index, (name, _) in enumerate(series)]
    layout = titled_axes("", y_title) | {"barmode": "group"}
    layout["xaxis"]["type"] = "category"
    if limit is not None:
        line = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": limit, "y1": limit}
        layout["shapes"] = [line | {"line": {"color": GREY, "width": 1.2, "dash": "dash"}}]
        heights = np.concatenate([np.nan_to_num(np.asarray(each, dtype=np.float64)) for _, each in series])
        layout["yaxis"]["range"] = [0.0, 1.1 * max(limit, float(heights.max(initial=0.0)))]
    panel = Panel(title, "", {"data": traces, "layout": layout})
    return Chart((panel,), tuple(legend) if len(legend) > 1 else (), caption, height=280, wide=True)


def thinned(time: Array, values: Array, points: int = POINTS) -> tuple[Array, Array]:
    """Return at most ``points`` of the samples: the lowest and the highest of each of points/2 stretches.

    Args:
        time: Times [s], shape (k,).
        values: Values, shape (k,); NaN is neither low nor high.
        points: Most points to return, at least 2.
    """
    k, stretches = len(time), max(1, points // 2)
    if k <= 2 * stretches:
        return time, values
    edges = np.linspace(0, k, stretches + 1).astype(np.int64)
    low, high = np.where(np.isnan(values), np.inf, values), np.where(np.isnan(values), -np.inf, values)
    kept = [
        begin + part[begin:end].argmin() if part is low else begin + part[begin:end].argmax()
        for begin, end in pairwise(edges.tolist())
        for part in (low, high)
    ]
    chosen = np.unique(kept)
    return time[chosen], values[chosen]


def rounded(values: Array) -> list[float | None]:
    """Return values for JSON: six significant digits, which no screen shows, and None for what is no number."""
    return [float(f"{value:.6g}") if np.isfinite(value) else None for value in values.tolist()]


def _line(time: Array, values: Array, style: LegendEntry) -> dict[str, Any]:
    width = 1.2 if style.name == "limit" else 1.6
    return {
        "type": "scatter",
        "mode": "lines",
        "name": as_text(style.name),
        "x": rounded(time),
        "y": rounded(values),
        "line": {"color": style.colour, "dash": style.dash, "width": width},
    }


def shaded(x: Array, lower: Array, upper: Array, colour: str) -> dict[str, Any]:
    """Return the area between two lines as plotly.js takes it, one closed piece for every stretch without a gap.

    Args:
        x: Abscissae, shape (k,).
        lower: Lower line, shape (k,); NaN makes a gap.
        upper: Upper line, shape (k,).
        colour: Its colour, "#rrggbb"; drawn faintly.
    """
    known = np.isfinite(lower) & np.isfinite(upper)
    around: list[list[float | None]] = [[], []]
    for begin, end in true_stretches(known).tolist():
        there, back = slice(begin, end), slice(end - 1, begin - 1 if begin else None, -1)
        around[0] += [*rounded(x[there]), *rounded(x[back]), None]
        around[1] += [*rounded(upper[there]), *rounded(lower[back]), None]
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return {
        "type": "scatter",
        "mode": "lines",
        "x": around[0],
        "y": around[1],
        "fill": "toself",
        "fillcolor": f"rgba({red},{green},{blue},0.22)",
        "line": {"width": 0},
        "hoverinfo": "skip",
    }


def _edges(time: Array, values: Array, half_width: Array) -> tuple[Array, Array, Array]:
    """Return the edges of a band: of each of POINTS/2 stretches the lowest and the highest, at its middle."""
    lower, upper = values - half_width, values + half_width
    k, stretches = len(time), POINTS // 2
    if k <= stretches:
        return time, lower, upper
    starts = np.linspace(0, k, stretches + 1).astype(np.int64)[:-1]
    return time[starts], np.fmin.reduceat(lower, starts), np.fmax.reduceat(upper, starts)


def titled_axes(x_title: str, y_title: str) -> dict[str, Any]:
    """Return a layout as plotly.js takes it, with the names and units of both axes."""
    return {
        "xaxis": {"title": {"text": as_text(x_title), "standoff": 4}},
        "yaxis": {"title": {"text": as_text(y_title), "standoff": 4}},
    }


def to_scale(panel: Panel) -> Panel:
    """Return a panel whose axes have the same scale, so that a circle is round."""
    layout = dict(panel.figure["layout"])
    layout["yaxis"] = {**layout["yaxis"], "scaleanchor": "x"}
    return replace(panel, figure={**panel.figure, "layout": layout})


def as_text(text: str) -> str:
    """Return text that plotly.js shows as it stands: it reads a few HTML tags and entities in its labels."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


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
