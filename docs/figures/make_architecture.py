"""Draw docs/figures/architecture.svg: the rooms in their order, and the two flows through them.

    python docs/figures/make_architecture.py

tests/test_layers.py holds the rooms of the picture against the code.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

ROOMS = (
    ("description", "URDF, MJCF, DH → links, joints"),
    ("dynamics", "gravity, Newton–Euler, regressors"),
    ("friction", "Coulomb, Stribeck, LuGre, Dahl"),
    ("logs", "Sample, Log; CSV, bags, MCAP"),
    ("doctor", "what is wrong with a recording"),
    ("calibration", "poses, solvers, verdict, file"),
    ("estimation", "on-line gravity, payload, contact"),
    ("base_sensor", "joint torques from a plate"),
    ("control", "laws, safety filter, float, teach"),
    ("plants", "simulated arm, replayed log"),
    ("papers", "published experiments"),
    ("tour", "the whole chain in a minute"),
    ("report", "HTML pages"),
    ("view", "the arm in 3D, in a browser"),
    ("exporters", "C, URDF, MJCF"),
    ("cli", "the command line"),
)
FLOWS = (
    (
        "A recording",
        "#1a9e77",
        (
            ("file", "logs"),
            ("Log", "logs"),
            ("findings", "doctor"),
            ("poses", "calibration"),
            ("fit", "calibration"),
            ("verdict", "calibration"),
            ("calibration file", "calibration"),
            ("page", "report"),
        ),
    ),
    (
        "A control tick",
        "#e08214",
        (
            ("read()", "plants"),
            ("Sample", "logs"),
            ("estimate", "estimation"),
            ("plate's torque", "base_sensor"),
            ("law", "control"),
            ("safety filter", "control"),
            ("write()", "plants"),
        ),
    ),
)
COLUMNS, BOX, GAP, LEFT, TOP = 4, (264, 56), (18, 16), 20, 48
INK, PALE, LINE = "#1f2933", "#f4f6f8", "#9aa5b1"


def room_boxes() -> list[str]:
    """Return the rooms, four a row, in the order in which they may import each other."""
    parts = []
    for index, (name, about) in enumerate(ROOMS):
        x = LEFT + (index % COLUMNS) * (BOX[0] + GAP[0])
        y = TOP + (index // COLUMNS) * (BOX[1] + GAP[1])
        parts.append(f'<rect x="{x}" y="{y}" width="{BOX[0]}" height="{BOX[1]}" rx="6" fill="{PALE}" stroke="{LINE}"/>')
        parts.append(f'<text class="room" x="{x + 12}" y="{y + 23}" font-weight="bold">{escape(name)}</text>')
        parts.append(f'<text x="{x + 12}" y="{y + 43}" font-size="12" fill="#52606d">{escape(about)}</text>')
    return parts


def flow_line(y: int, title: str, colour: str, steps: tuple[tuple[str, str], ...]) -> list[str]:
    """Return one flow: what passes, and below it the room that it is in."""
    width = (COLUMNS * (BOX[0] + GAP[0]) - GAP[0]) / len(steps)
    parts = [f'<text x="{LEFT}" y="{y}" font-weight="bold" fill="{colour}">{escape(title)}</text>']
    for index, (what, room) in enumerate(steps):
        x = LEFT + index * width
        parts.append(
            f'<rect x="{x:.0f}" y="{y + 12}" width="{width - 22:.0f}" height="44" rx="6" fill="white" '
            f'stroke="{colour}" stroke-width="1.5"/>'
        )
        middle = x + (width - 22) / 2
        parts.append(f'<text x="{middle:.0f}" y="{y + 31}" font-size="13" text-anchor="middle">{escape(what)}</text>')
        parts.append(
            f'<text x="{middle:.0f}" y="{y + 48}" font-size="11" fill="#52606d" text-anchor="middle">{room}</text>'
        )
        if index + 1 < len(steps):
            tip = x + width - 4
            parts.append(
                f'<path d="M{tip - 15:.0f} {y + 34} H{tip - 5:.0f} M{tip - 10:.0f} {y + 29} L{tip - 4:.0f} {y + 34} '
                f'L{tip - 10:.0f} {y + 39}" stroke="{colour}" stroke-width="1.5" fill="none"/>'
            )
    return parts


def picture() -> str:
    """Return the whole picture as SVG."""
    rows = -(-len(ROOMS) // COLUMNS)
    below = TOP + rows * (BOX[1] + GAP[1]) + 24
    width = 2 * LEFT + COLUMNS * (BOX[0] + GAP[0]) - GAP[0]
    height = below + len(FLOWS) * 84
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="sans-serif" font-size="15" fill="{INK}">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{LEFT}" y="28" font-weight="bold">Rooms: each imports only from those before it</text>',
        *room_boxes(),
    ]
    for index, (title, colour, steps) in enumerate(FLOWS):
        parts += flow_line(below + index * 84, title, colour, steps)
    return "\n".join([*parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("architecture.svg").write_text(picture(), encoding="utf-8")
