"""The page's live pictures, as small pieces of HTML: bars, probabilities, tables. No scripts, nothing from outside."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from ..foundation import Array
from .snapshot import Snapshot, State

COMMANDED, GRAVITY, FRICTION, EXTERNAL = "#3a4c68", "#3b82c4", "#c9922e", "#c2453c"
PLATE, PAYLOAD = "#2f8f5b", "#8a5cc2"
STATE_COLOR = {
    State.FLOATING: PLATE,
    State.HOLDING: GRAVITY,
    State.WEIGHING: PAYLOAD,
    State.STOPPED: EXTERNAL,
}
SMALL = "font-size:0.78em;line-height:1.35;"
FIGURES = "font-variant-numeric:tabular-nums"
SHORTENED = "overflow:hidden;text-overflow:ellipsis;white-space:nowrap"
BLOCK = f"{SMALL}padding:0 14px 4px 8px"
LEAST_SHARE = 0.005
"""Probability below which a link is not listed."""


def status(snapshot: Snapshot, title: str) -> str:
    """Return name, state and pace of the arm."""
    color = STATE_COLOR[snapshot.state]
    badge = (
        f'<span style="background:{color};color:#fff;border-radius:4px;padding:1px 8px;font-weight:600" '
        f'data-state="{snapshot.state.value}">{snapshot.state.value}</span>'
    )
    pace = "" if snapshot.pace > 0.93 else f", simulated at {snapshot.pace:.0%} of real time"
    why = f'<div style="{SMALL}margin-top:4px">{escape(snapshot.why)}</div>' if snapshot.why else ""
    line = f'<b>{escape(title)}</b> {badge} <span style="{SMALL}opacity:.7">{snapshot.time:.1f} s{pace}</span>'
    return f'<div style="padding:2px 8px 6px 8px">{line}{why}</div>'


def torque_bars(rows: Sequence[tuple[str, str, Sequence[tuple[str, float]]]], limits: Array, head: str) -> str:
    """Return bars about zero, several a joint, and the first one's value as a number.

    Args:
        rows: Joint, unit, and for each bar its colour and value [N m or N].
        limits: What the half width of a joint's row stands for [N m or N], shape (n,).
        head: HTML above the bars.
    """
    height = max(3, min(7, 60 // max(len(rows), 1)))
    blocks = []
    for (name, unit, values), limit in zip(rows, limits.tolist(), strict=True):
        drawn = "".join(_bar(value / limit if limit > 0.0 else 0.0, color, height) for color, value in values)
        number = f"{_signed(values[0][1])} {unit}"
        blocks.append(
            '<div style="display:flex;align-items:center;gap:6px;margin-bottom:3px">'
            f'<div style="width:27%;{SHORTENED}" title="{escape(name)}">{escape(name)}</div>'
            f'<div style="flex:1;position:relative;border-left:1px solid #0000;background:linear-gradient(90deg,'
            f'#8883 0 0) 50%/1px 100% no-repeat">{drawn}</div>'
            f'<div style="width:25%;text-align:right;{FIGURES};white-space:nowrap">{number}</div></div>'
        )
    return f'<div style="{BLOCK}">{head}{"".join(blocks)}</div>'


def live_torques(snapshot: Snapshot, names: Sequence[str], units: Sequence[str], limits: Array) -> str:
    """Return the bars of the arm as it is now."""
    series = [
        (COMMANDED, "commanded (number)", snapshot.commanded),
        (GRAVITY, "gravity ĝ(q)", snapshot.gravity),
        (FRICTION, "friction", snapshot.friction),
        (EXTERNAL, "from outside", snapshot.external),
    ]
    if snapshot.plate_friction is not None:
        series.insert(3, (PLATE, "friction by the plate", snapshot.plate_friction))
    return torque_series(series, names, units, limits)


def torque_series(
    series: Sequence[tuple[str, str, Array]], names: Sequence[str], units: Sequence[str], limits: Array
) -> str:
    """Return a legend and bars of several quantities of every joint.

    Args:
        series: Colour, word and values [N m or N], shape (n,), of each quantity.
        names: The joints.
        units: Their units.
        limits: What the half width of a joint's row stands for [N m or N], shape (n,).
    """
    rows = [
        (name, unit, [(color, float(values[joint])) for color, _, values in series])
        for joint, (name, unit) in enumerate(zip(names, units, strict=True))
    ]
    words = "".join(
        f'<span style="white-space:nowrap;margin-right:9px"><span style="display:inline-block;width:9px;height:9px;'
        f'background:{color};margin-right:3px"></span>{escape(word)}</span>'
        for color, word, _ in series
    )
    return torque_bars(rows, limits, f'<div style="margin-bottom:5px">{words}</div>')


def payload(snapshot: Snapshot, names: Sequence[str], units: Sequence[str]) -> str:
    """Return what is known of a payload, with the probability of each link."""
    estimate, trusted, compensated = snapshot.estimate, snapshot.trusted, snapshot.compensated
    if not estimate.detected:
        text = escape(estimate.text())
        advice = "Hang a weight on a link, or drag the ball onto one: the arm then moves a little and weighs it."
        return f'<div style="{BLOCK}" data-payload="none">{text[:1].upper()}{text[1:]}.<br>{advice}</div>'
    head = f"{estimate.mass:.2f} ± {estimate.mass_std:.2f} kg" if estimate.mass_known else "a load, mass not known"
    bars = "".join(
        '<div style="display:flex;align-items:center;gap:6px;margin-bottom:2px">'
        f'<div style="width:32%;{SHORTENED}" title="{escape(link)}">{escape(link)}</div>'
        f'<div style="flex:1;background:#8882;border-radius:2px"><div style="width:{100 * share:.1f}%;height:8px;'
        f'background:{PAYLOAD};border-radius:2px"></div></div>'
        f'<div style="width:14%;text-align:right">{share:.0%}</div></div>'
        for link, share in estimate.links.items()
        if share >= LEAST_SHARE
    )
    largest = int(np.argmax(np.abs(compensated)))
    borne = (
        f"compensated: {_signed(compensated[largest])} {units[largest]} at {escape(names[largest])}, less elsewhere"
        if trusted
        else "not yet compensated"
    )
    advice = f'<div style="opacity:.75;margin-top:3px">{escape(estimate.advice)}</div>' if estimate.advice else ""
    return (
        f'<div style="{BLOCK}" data-payload="{"trusted" if trusted else "found"}">'
        f'<div style="font-size:1.25em;font-weight:600;margin-bottom:3px">{head}</div>'
        f"<div>Where it hangs, by probability:</div>{bars}"
        f"<div>{borne}</div>{advice}</div>"
    )


def plate(snapshot: Snapshot) -> str:
    """Return what the plate feels of the outside."""
    if snapshot.plate_force is None:
        return f'<div style="{BLOCK};opacity:.7">The plate is off, or not tared yet.</div>'
    force = ", ".join(f"{axis} {_signed(value)}" for axis, value in zip("xyz", snapshot.plate_force, strict=True))
    return f'<div style="{BLOCK};{FIGURES}">The plate feels a force from outside: {force} N</div>'


def comparison(
    names: Sequence[str], units: Sequence[str], labels: Sequence[str], first: Array, second: Array, band: Array
) -> str:
    """Return ĝ of two models at a pose, and their difference beside the friction band.

    Args:
        names: The joints.
        units: Their units.
        labels: What the two models are called.
        first: ĝ of the first [N m or N], shape (n,).
        second: ĝ of the second [N m or N], shape (n,).
        band: Friction that hides a difference [N m or N], shape (n,).
    """
    difference = second - first
    largest = np.maximum(np.maximum(np.abs(first), np.abs(second)), np.maximum(band, 1e-9))
    series = [
        (EXTERNAL, "second − first (number)", difference),
        (GRAVITY, labels[0], first),
        (PAYLOAD, labels[1], second),
    ]
    over = [name for name, step, friction in zip(names, difference, band, strict=True) if abs(step) > friction]
    verdict = (
        f"Here they differ by more than friction hides at {', '.join(over)}."
        if over
        else "Here they differ by less than friction hides."
    )
    about = paragraph("Gravity torques ĝ(q) of two models where the arm is now. Each joint has its own scale.")
    return about + torque_series(series, names, units, largest) + paragraph(verdict)


def paragraph(text: str) -> str:
    """Return plain text as a paragraph."""
    return f'<div style="{BLOCK}">{escape(text)}</div>'


def listing(lines: Sequence[str]) -> str:
    """Return lines of plain text as a list."""
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f'<ul style="{SMALL}padding:0 8px 4px 22px;margin:0">{items}</ul>'


def _bar(share: float, color: str, height: int) -> str:
    share = min(max(share, -1.0), 1.0)
    left = 50.0 if share >= 0.0 else 50.0 + 50.0 * share
    return (
        f'<div style="height:{height}px;position:relative"><div style="position:absolute;left:{left:.1f}%;'
        f'width:{50.0 * abs(share):.1f}%;height:{height - 1}px;background:{color}"></div></div>'
    )


def _signed(value: float) -> str:
    """Return a number with its sign and one decimal, never "-0.0"."""
    text = f"{value:+.1f}"
    return "0.0" if float(text) == 0.0 else text
