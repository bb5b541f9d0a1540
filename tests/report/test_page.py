"""Pages: complete in themselves, nothing fetched, hostile text harmless."""

from __future__ import annotations

import builtins
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from counterpoise.errors import DataFileError, MissingExtraError
from counterpoise.report.charts import BLUE, Cloud, PointPanel, Series, bar_chart, point_chart, time_chart
from counterpoise.report.page import (
    Page,
    PageSection,
    PageTable,
    Paragraph,
    VerdictBox,
    embedded,
    render,
    settings_table,
    write_page,
)

pytest.importorskip("plotly", reason="plotly is not installed")
pytest.importorskip("jinja2", reason="jinja2 is not installed")

HOSTILE = "</script><script>alert('x')</script><img src=https://evil.example/a.png onerror=alert(1)>&\"'"
FETCHING = {"src", "href", "data", "action", "poster", "background", "srcset"}


class Reader(HTMLParser):
    """Collects the elements, their attributes and the text of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, str] = {}
        self.open: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "br", "img", "line"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        key = self.open[-1] if self.open else ""
        self.texts[key] = self.texts.get(key, "") + data

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def page_with(text: str) -> Page:
    """A page that has the text wherever text can be."""
    time = np.linspace(0.0, 1.0, 50)
    chart = time_chart(
        time,
        [Series(text, np.column_stack([np.sin(time), np.cos(time)]))],
        [text, "second"],
        [text, "rad"],
        limits=np.array([1.0, 100.0]),
        remarks=[text, ""],
        caption=text,
    )
    cloud = Cloud(text, time, time, BLUE, error=0.1 * time, labels=(text,) * 50)
    points = point_chart([PointPanel(text, text, text, text, (cloud,))], caption=text)
    bars = bar_chart([text, "b"], [(text, [1.0, 2.0]), ("other", [2.0, np.nan])], title=text, y_title=text)
    table = PageTable((text, "number"), ((text, "1.0"), ("row", "2.0")), left=(text,), caption=text)
    listing = settings_table([f"name = {text}", "part: Kind", "  inner = 3 rad"], summary=text)
    parts = (Paragraph(text), table, listing, chart, points, bars)
    return Page(text, text, VerdictBox("doubtful", text, (text,)), (PageSection(text, parts),))


def test_page_is_well_formed_and_complete() -> None:
    """Elements nest, every panel has its place and its figure, plotly.js is there once."""
    html = render(page_with("plain"))
    reader = Reader(html)
    assert reader.open == []
    plots = [found for found in reader.named("div") if found.get("class") == "plot"]
    figures = json.loads(re.search(r'id="figures">(.*?)</script>', html, re.DOTALL)[1])  # type: ignore[index]
    assert [int(plot["data-figure"] or -1) for plot in plots] == list(range(4)) and len(figures) == 4
    assert html.count("plotly.js v") == 1
    assert len(reader.named("script")) == 3
    assert len(html) < 6_500_000


def test_nothing_is_fetched() -> None:
    """No element that loads anything, and a policy that would forbid it."""
    html = render(page_with("plain"))
    reader = Reader(html)
    assert not [element for element in reader.elements if FETCHING & set(element[1])]
    assert not [element for element in reader.elements if element[0] in ("link", "img", "iframe", "object", "base")]
    policy = next(meta["content"] for meta in reader.named("meta") if meta.get("http-equiv"))
    assert policy is not None and policy.startswith("default-src 'none'") and "http" not in policy
    style = reader.texts["style"]
    assert "@import" not in style and "url(" not in style


def test_hostile_text_is_shown_and_not_run() -> None:
    """It appears as text everywhere and adds no element."""
    plain, hostile = Reader(render(page_with("plain"))), Reader(render(page_with(HOSTILE)))
    assert [name for name, _ in hostile.elements] == [name for name, _ in plain.elements]
    assert hostile.texts["h1"] == HOSTILE
    html = render(page_with(HOSTILE))
    assert "<img src=https" not in html and "<script>alert" not in html


def test_labels_inside_charts_are_text() -> None:
    """plotly.js reads tags such as <b> and <a href> in its labels; ours are escaped."""
    chart = time_chart(np.arange(3.0), [Series("<a href='x'>s</a>", np.ones((3, 1)))], ["p"], ["<b>N</b>"])
    figure = chart.panels[0].figure
    assert "<" not in figure["data"][0]["name"]
    assert "<" not in figure["layout"]["yaxis"]["title"]["text"]


def test_embedded_json_cannot_leave_its_element() -> None:
    """It reads back exactly and holds no angle bracket."""
    text = embedded([{"name": HOSTILE}])
    assert "<" not in text and ">" not in text
    assert json.loads(text) == [{"name": HOSTILE}]


def test_page_without_charts_is_small() -> None:
    """plotly.js comes only with charts."""
    html = render(Page("small", sections=(PageSection("s", (Paragraph("text"),)),)))
    assert len(html) < 20_000


def test_page_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    """An existing page stays when the new one cannot be written."""
    path = tmp_path / "page.html"
    write_page(Page("first \udcff"), path)
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    with pytest.raises(DataFileError, match="cannot be written"):
        write_page(Page("second"), tmp_path / "none" / "page.html")


def test_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without plotly or jinja2 the message says what to install."""
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.partition(".")[0] in ("plotly", "jinja2"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"counterpoise\[report\]"):
        render(Page("x"))
