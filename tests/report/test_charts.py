"""Charts: thinning keeps peaks, limits show where they matter, figures are valid plotly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counterpoise.errors import InputError
from counterpoise.report.charts import (
    BLUE,
    POINTS,
    Chart,
    Cloud,
    PointPanel,
    Series,
    bar_chart,
    point_chart,
    rounded,
    shaded,
    thinned,
    time_chart,
    to_scale,
)


@settings(max_examples=60)
@given(st.integers(1, 5000), st.integers(2, 400), st.integers(0, 2**32 - 1))
def test_thinned_series_keep_their_extremes(k: int, points: int, seed: int) -> None:
    """At most the points asked for, in order, all of them samples, the lowest and the highest among them."""
    values = np.random.default_rng(seed).standard_normal(k)
    time = np.arange(k, dtype=np.float64)
    short_time, short = thinned(time, values, points)
    assert len(short) <= max(points, 2)
    assert np.all(np.diff(short_time) > 0.0)
    assert short.tolist() == values[short_time.astype(int)].tolist()
    assert short.max() == values.max() and short.min() == values.min()


def test_thinning_survives_missing_values() -> None:
    """NaN hides no peak."""
    values = np.zeros(1000)
    values[::3] = np.nan
    values[500], values[502] = 7.0, -7.0
    _, short = thinned(np.arange(1000.0), values, 50)
    assert np.nanmax(short) == 7.0 and np.nanmin(short) == -7.0


def test_limits_are_drawn_where_the_data_come_near() -> None:
    """A limit ten times away would flatten the curve: it is left out."""
    time = np.linspace(0.0, 1.0, 20)
    values = np.column_stack([np.sin(6.0 * time), np.sin(6.0 * time)])
    chart = time_chart(time, [Series("torque", values)], ["a", "b"], ["N m"] * 2, limits=np.array([1.2, 10.0]))
    assert [len(panel.figure["data"]) for panel in chart.panels] == [3, 1]
    assert [entry.name for entry in chart.legend] == ["torque", "limit"]


def test_shapes_are_checked() -> None:
    """A series that does not fit the panels is named."""
    with pytest.raises(InputError, match="series 's' has shape"):
        time_chart(np.arange(3.0), [Series("s", np.zeros((3, 2)))], ["a"], ["m"])


def test_what_is_no_number_becomes_a_gap() -> None:
    """JSON has neither NaN nor infinity."""
    assert rounded(np.array([1.23456789, np.nan, np.inf])) == [1.23457, None, None]


def test_figures_are_valid_plotly() -> None:
    """plotly's own check of every property accepts them."""
    graph_objects = pytest.importorskip("plotly.graph_objects", reason="plotly is not installed")
    x = np.arange(4.0)
    charts: list[Chart] = [
        time_chart(x, [Series("s", np.zeros((4, 2)), dash="dot")], ["a", "b"], ["m", "m"]),
        point_chart([PointPanel("t", "", "x", "y", (Cloud("p", x, x, BLUE, error=x, labels=("a", "b", "c", "d")),))]),
        bar_chart(["a", "b"], [("one", [1, 2]), ("two", [3, 4])], title="t", y_title="y"),
    ]
    for panel in (panel for chart in charts for panel in chart.panels):
        graph_objects.Figure(to_scale(panel).figure)


def test_band_is_closed_and_broken_at_gaps():
    """Two stretches about a gap make two closed pieces: there along the upper edge, back along the lower."""
    x = np.arange(5.0)
    lower = np.array([0.0, 1.0, np.nan, 3.0, 4.0])
    trace = shaded(x, lower, lower + 1.0, "#102030")
    assert trace["x"] == [0, 1, 1, 0, None, 3, 4, 4, 3, None]
    assert trace["y"] == [1, 2, 1, 0, None, 4, 5, 4, 3, None]
    assert trace["fillcolor"] == "rgba(16,32,48,0.22)"


def test_band_of_a_long_series_keeps_its_extremes():
    time = np.linspace(0.0, 1.0, 5000)
    values = np.zeros((5000, 1))
    values[1234] = 7.0
    chart = time_chart(time, [Series("a", values, band=np.full((5000, 1), 0.5))], ["j"], ["N m"])
    band = chart.panels[0].figure["data"][0]["y"]
    assert max(value for value in band if value is not None) == 7.5 and len(band) <= POINTS + 1
