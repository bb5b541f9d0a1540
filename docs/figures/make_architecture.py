"""Draw docs/figures/architecture.svg: the subpackages with their public names, and the two flows through them.

    python docs/figures/make_architecture.py

Names, imports and descriptions are read from the package; tests/test_layers.py draws the picture anew and compares.
"""

from __future__ import annotations

import ast
import importlib
import textwrap
from dataclasses import dataclass
from html import escape
from pathlib import Path

import counterpoise

SOURCE = Path(counterpoise.__file__).parent
ORDER = (
    *("foundation", "description", "dynamics", "recording", "fitting", "doctor", "identification", "sensing"),
    *("control", "plants", "tasks", "lab", "report", "view", "exporters", "cli"),
)


@dataclass(frozen=True)
class Step:
    """One step of a flow: what passes, and the public name that stands for it."""

    label: str
    subpackage: str
    name: str


@dataclass(frozen=True)
class Flow:
    """One of the two ways through the package."""

    title: str
    colour: str
    steps: tuple[Step, ...]


FLOWS = (
    Flow(
        "A recording",
        "#0f766e",
        (
            Step("file", "recording", "read_log"),
            Step("log", "recording", "Log"),
            Step("findings", "doctor", "diagnose"),
            Step("fit", "identification", "calibrate"),
            Step("verdict", "foundation", "Verdict"),
            Step("file", "identification", "load_calibration"),
            Step("report", "report", "calibration_page"),
        ),
    ),
    Flow(
        "A control tick",
        "#b45309",
        (
            Step("read()", "control", "Plant"),
            Step("sample", "recording", "Sample"),
            Step("check", "control", "SafetyFilter"),
            Step("law", "control", "Law"),
            Step("its estimate", "sensing", "BaseSensor"),
            Step("limit", "control", "SafetyFilter"),
            Step("write()", "control", "Plant"),
        ),
    ),
)
WIDTH, LEFT, TOP, GAP = 1280, 20, 64, 6
NAMES_AT, NAMES_WIDTH, MATRIX_AT, CELL = 190, 830, 1036, 15
"""Columns of the picture: the names, and the table of imports with the side of its cells [px]."""
LINE, LETTER = 15, 6.4
"""Height of a line of small text and mean width of its letters [px]."""
INK, GREY, PALE, EDGE = "#1f2933", "#52606d", "#f4f6f8", "#9aa5b1"


def public_names(subpackage: str) -> list[str]:
    """Return what users may use of a subpackage: names, or the commands of the command line."""
    if subpackage == "cli":
        return sorted(importlib.import_module("counterpoise.cli.main").main.commands)
    return sorted(importlib.import_module(f"counterpoise.{subpackage}").__all__, key=str.lower)


def about(subpackage: str) -> str:
    """Return the first line of a subpackage's docstring."""
    text = importlib.import_module(f"counterpoise.{subpackage}").__doc__ or ""
    return text.splitlines()[0].replace("`", "").removesuffix(".")


def imported(subpackage: str) -> list[str]:
    """Return the other subpackages that a subpackage imports, in order."""
    found = set()
    for path in (SOURCE / subpackage).rglob("*.py"):
        depth = len(path.relative_to(SOURCE).parts)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level == depth:
                found |= {(node.module or alias.name).split(".")[0] for alias in node.names}
    return [name for name in ORDER if name in found and name != subpackage]


def texts(subpackage: str) -> list[tuple[str, str]]:
    """Return the lines about a subpackage, each with its colour: what it is, then its public names."""
    width = int(NAMES_WIDTH / LETTER)
    names = textwrap.wrap(", ".join(public_names(subpackage)), width, break_on_hyphens=False)
    return [(line, INK) for line in textwrap.wrap(about(subpackage), width)] + [(line, GREY) for line in names]


def band(index: int, y: int) -> tuple[list[str], int]:
    """Return one subpackage and its height: number, name and flows; what it is and its names; what it imports."""
    subpackage = ORDER[index]
    lines = texts(subpackage)
    height = 14 + LINE * max(2, len(lines))
    count = len(public_names(subpackage))
    unit = "commands" if subpackage == "cli" else "public names" if count > 1 else "public name"
    parts = [
        f'<rect x="{LEFT}" y="{y}" width="{WIDTH - 2 * LEFT}" height="{height}" rx="5" fill="{PALE}" stroke="{EDGE}"/>',
        f'<text x="{LEFT + 10}" y="{y + 20}" font-weight="bold">{index + 1}  {subpackage}</text>',
        f'<text x="{LEFT + 10}" y="{y + 37}" font-size="11.5" fill="{GREY}">{count} {unit}</text>',
    ]
    colours = [flow.colour for flow in FLOWS if subpackage in {step.subpackage for step in flow.steps}]
    for number, colour in enumerate(colours):
        parts.append(f'<circle cx="{NAMES_AT - 16 - 13 * number}" cy="{y + 33}" r="5" fill="{colour}"/>')
    for number, (line, colour) in enumerate(lines):
        parts.append(
            f'<text x="{NAMES_AT}" y="{y + 18 + LINE * number}" font-size="11.5" fill="{colour}">{escape(line)}</text>'
        )
    for name in ORDER[:index]:
        x = MATRIX_AT + CELL * ORDER.index(name)
        used = name in imported(subpackage)
        parts.append(f'<circle cx="{x}" cy="{y + 16}" r="{4 if used else 1}" fill="{INK if used else EDGE}"/>')
    return parts, height


def flow_line(y: int, flow: Flow) -> list[str]:
    """Return one flow: what passes, and below it the public name that stands for it."""
    pitch = (WIDTH - 2 * LEFT + 22) / len(flow.steps)
    parts = [f'<text x="{LEFT}" y="{y}" font-weight="bold" fill="{flow.colour}">{escape(flow.title)}</text>']
    for index, step in enumerate(flow.steps):
        x = LEFT + index * pitch
        middle = x + (pitch - 22) / 2
        parts += [
            f'<rect x="{x:.0f}" y="{y + 12}" width="{pitch - 22:.0f}" height="60" rx="6" fill="white" '
            f'stroke="{flow.colour}" stroke-width="1.5"/>',
            f'<text x="{middle:.0f}" y="{y + 31}" font-size="14" text-anchor="middle">{escape(step.label)}</text>',
            f'<text x="{middle:.0f}" y="{y + 48}" font-size="12" fill="{GREY}" text-anchor="middle">{step.name}</text>',
            f'<text x="{middle:.0f}" y="{y + 64}" font-size="11.5" fill="{flow.colour}" '
            f'text-anchor="middle">{step.subpackage}</text>',
        ]
        if index + 1 < len(flow.steps):
            tip = x + pitch - 4
            parts.append(
                f'<path d="M{tip - 15:.0f} {y + 42} H{tip - 3:.0f} M{tip - 9:.0f} {y + 37} L{tip - 3:.0f} {y + 42} '
                f'L{tip - 9:.0f} {y + 47}" stroke="{flow.colour}" stroke-width="1.5" fill="none"/>'
            )
    return parts


def picture() -> str:
    """Return the whole picture as SVG."""
    body: list[str] = []
    for index in range(len(ORDER) - 1):
        x = MATRIX_AT + CELL * index
        body.append(f'<text x="{x}" y="{TOP - 8}" font-size="10" text-anchor="middle">{index + 1}</text>')
    y = TOP
    for index in range(len(ORDER)):
        parts, height = band(index, y)
        body += parts
        y += height + GAP
    y += 26
    for flow in FLOWS:
        body += flow_line(y, flow)
        y += 104
    height = y - 16
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'font-family="DejaVu Sans, Verdana, sans-serif" font-size="15" fill="{INK}">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<text x="{LEFT}" y="30" font-weight="bold">Subpackages, each importing only from those above it</text>',
        f'<text x="{LEFT}" y="{TOP - 12}" font-size="11.5" fill="{GREY}">coloured dots: the flows below</text>',
        f'<text x="{MATRIX_AT - 6}" y="30" font-size="11.5" fill="{GREY}">black dots: imports</text>',
    )
    return "\n".join([*head, *body, "</svg>"]) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("architecture.svg").write_text(picture(), encoding="utf-8")
