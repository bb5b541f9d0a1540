"""One self-contained HTML page: a verdict, sections with text, tables and charts.

The page needs no network: plotly.js and the style are inside, and a content security policy forbids every request. It
follows the reader's light or dark setting, fits a phone, and prints in black on white.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from .. import __version__
from ..errors import MissingExtraError
from ..foundation import Check, write_atomically
from .charts import Chart

Level = Literal["good", "doubtful", "bad", "neutral"]
"""Colour of a verdict: green, yellow, red, grey."""
NOTHING = 1e-9
"""Quantities below this are rounding."""


@dataclass(frozen=True, slots=True)
class VerdictBox:
    """The box on top: what the reader should know first.

    Attributes:
        level: Its colour.
        headline: One short sentence.
        details: Further sentences.
    """

    level: Level
    headline: str
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PageTable:
    """A table of text; numbers are formatted by the caller and stand to the right.

    Attributes:
        columns: Headings.
        rows: Cells, one row per line.
        left: Headings of the columns that stand to the left.
        caption: A sentence below.
        folded: Whether it is shown only when asked for.
        summary: What a folded table is called.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: tuple[str, ...] = ()
    caption: str = ""
    folded: bool = False
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph of plain text."""

    text: str


Part = Paragraph | PageTable | Chart
"""What a section is made of."""


@dataclass(frozen=True, slots=True)
class PageSection:
    """A part of a page with its own heading.

    Attributes:
        title: The heading.
        parts: What is below it, in order.
    """

    title: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """A whole page.

    Attributes:
        title: Title of page and window.
        subtitle: One line below.
        verdict: The box on top; None for none.
        sections: The sections in order.
    """

    title: str
    subtitle: str = ""
    verdict: VerdictBox | None = None
    sections: tuple[PageSection, ...] = ()


def render(page: Page) -> str:
    """Return the page as HTML.

    Raises:
        MissingExtraError: jinja2 or plotly is not installed.
    """
    jinja2, plotly = page_libraries()
    files = resources.files(__package__)
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    environment.globals["kind"] = lambda part: type(part).__name__
    template = environment.from_string(files.joinpath("page.html").read_text(encoding="utf-8"))
    charts = [part for section in page.sections for part in section.parts if isinstance(part, Chart)]
    text: str = template.render(
        page=page,
        version=__version__,
        style=files.joinpath("page.css").read_text(encoding="utf-8"),
        script=files.joinpath("page.js").read_text(encoding="utf-8"),
        figures=embedded([panel.figure for chart in charts for panel in chart.panels]),
        plotly=plotly.get_plotlyjs() if charts else "",
    )
    return text


def page_libraries() -> tuple[Any, Any]:
    """Return jinja2 and plotly.offline, which pages are made with.

    Raises:
        MissingExtraError: One of them is not installed.
    """
    try:
        import jinja2
        import plotly.offline
    except ImportError as error:
        raise MissingExtraError("writing a page", "report") from error
    return jinja2, plotly.offline


def write_page(page: Page, path: str | Path) -> None:
    """Write the page, all or nothing.

    Args:
        page: The page.
        path: The file; replaced if it exists.

    Raises:
        MissingExtraError: jinja2 or plotly is not installed.
        DataFileError: The file cannot be written.
    """
    data = render(page).encode("utf-8", errors="replace")  # a lone surrogate in a file's name is no UTF-8
    write_atomically(path, data)


def embedded(value: Sequence[Mapping[str, Any]]) -> str:
    """Return JSON that may stand inside a script element: nothing in it can end the element or begin another."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def quantity(value: float, unit: str) -> str:
    """Return a number with its unit, three digits; "–" for what is not known."""
    if not math.isfinite(value):
        return "–"
    return f"0 {unit}" if abs(value) < NOTHING else f"{value:.3g} {unit}"


def sentence(text: str) -> str:
    """Return text as a sentence."""
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


def check_table(checks: Sequence[Check], questions: Mapping[str, str]) -> PageTable:
    """Return the checks of a verdict, failed ones first.

    Args:
        checks: The checks.
        questions: What each asks, by its name.
    """
    marks = {(True, True): "passed", (True, False): "passed", (False, True): "FAILED", (False, False): "with care"}
    rows = tuple(
        (marks[check.passed, check.decides], questions.get(check.name, check.name), sentence(check.sentence))
        for check in sorted(checks, key=lambda check: check.passed)
    )
    return PageTable(("", "question", "what was found"), rows, left=("", "question", "what was found"))


def settings_table(lines: Sequence[str], *, summary: str) -> PageTable:
    """Return a folded table of an indented listing of ``name = value`` and ``part: kind`` lines.

    Args:
        lines: The listing, two spaces per level.
        summary: What the folded table is called.
    """
    rows = []
    for line in lines:
        indent, text = "\u2003" * ((len(line) - len(line.lstrip())) // 2), line.strip()
        name, separator, value = text.partition(" = ")
        if not separator:
            name, _, value = text.partition(": ")
        rows.append((indent + name.rstrip(":"), value))
    return PageTable(("setting", "value"), tuple(rows), left=("setting", "value"), folded=True, summary=summary)
