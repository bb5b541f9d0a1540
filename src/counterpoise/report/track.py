"""The page of a tracked run: the payload as a set, how its estimate evolved, holding torques with error bars."""

from __future__ import annotations

import numpy as np

from ..dynamics import effort_units
from ..sensing import Track
from .charts import BLUE, GREEN, ORANGE, Chart, Series, time_chart
from .page import Page, PageSection, PageTable, Paragraph, VerdictBox

LEAST_SHOWN = 0.01
"""Links that were never more probable than this are not drawn."""


def track_page(name: str, track: Track) -> Page:
    """Return the page of a tracked run.

    Args:
        name: What the run is called.
        track: What was estimated.
    """
    sections = [PageSection("Payload", _payload_parts(track))]
    if len(track.time):
        sections += [
            PageSection("Payload over time", _over_time(track)),
            PageSection("Holding torques", _gravity_parts(track)),
        ]
    length = f"{track.time[-1]:.4g} s" if len(track.time) else "no usable sample"
    subtitle = f"{track.robot.name}, {track.robot.n} joints; {track.samples} samples, {length}"
    return Page(f"Track of {name}", subtitle, _verdict(track), tuple(sections))


def _verdict(track: Track) -> VerdictBox:
    payload = track.payload
    details = [f"{time:.1f} s: payload {event.kind}." for time, event in track.events]
    if not payload.detected and np.isinf(payload.unnoticed_mass):
        return VerdictBox("doubtful", "Whether there is a payload is not known", tuple(details))
    if not payload.detected:
        left = f"up to {payload.unnoticed_mass:.2g} kg at the tip could go unnoticed (95 %)"
        return VerdictBox("neutral", f"No payload found at the end of the run; {left}", tuple(details))
    if payload.mass_known:
        headline = f"A payload of {payload.mass:.3g} ± {payload.mass_std:.2g} kg on {' or '.join(payload.link_set)}"
        return VerdictBox("good", headline, tuple(details))
    headline = f"A payload on {' or '.join(payload.link_set)}; its mass is not known"
    return VerdictBox("doubtful", headline, (payload.advice, *details))


def _payload_parts(track: Track) -> tuple[Paragraph | PageTable, ...]:
    payload = track.payload
    parts: list[Paragraph | PageTable] = [Paragraph(f"{payload.text()}.")]
    if not payload.detected:
        return tuple(parts)
    rows = tuple((link, f"{share:.1%}") for link, share in payload.links.items() if share >= 1e-3)
    parts.append(PageTable(("link", "probability"), rows, left=("link",)))
    place = " ".join(f"{value:.3f}" for value in payload.com)
    spread = " ".join(f"{value:.3f}" for value in payload.com_std)
    parts.append(Paragraph(f"Centre of mass in the frame of {payload.link} [m]: {place}, ± {spread}."))
    if payload.combinations:
        known = tuple((one.text, f"{one.value:.4g}", f"{one.std:.2g}") for one in payload.combinations)
        caption = "In the joint frame of the link; the single numbers are not identifiable."
        parts.append(
            PageTable(
                ("known combination [kg m]", "value", "±"), known, left=("known combination [kg m]",), caption=caption
            )
        )
    return tuple(parts)


def _over_time(track: Track) -> tuple[Chart, ...]:
    band = np.where(np.isfinite(track.mass), track.mass_std, np.nan)[:, None]
    unnoticed = np.where(np.isfinite(track.unnoticed), track.unnoticed, np.nan)[:, None]
    mass = time_chart(
        track.time,
        [Series("mass", track.mass[:, None], band=band), Series("could go unnoticed", unnoticed, ORANGE, "dash")],
        ("payload",),
        ("kg",),
        caption="One standard deviation over all links is shaded; a gap where the mass is not known. Dashed: the "
        "heaviest load at the tip that could go unnoticed (95 %), where none was found; a gap where it may be any.",
    )
    shown = [at for at in range(len(track.links)) if track.shares[:, at].max() > LEAST_SHOWN]
    if not shown:
        return (mass,)
    links = time_chart(
        track.time,
        [Series("probability", track.shares[:, shown])],
        [track.links[at] for at in shown],
        ["1"] * len(shown),
        caption="Probability that the payload sits on each link; 0 while there is none.",
    )
    return mass, links


def _gravity_parts(track: Track) -> tuple[Chart, ...]:
    units = effort_units(track.robot)
    series = [
        Series("estimated ĝ(q)", track.gravity, BLUE, band=track.gravity_std),
        Series("model g(q)", track.model, GREEN, "dash"),
        Series("measured torque", track.tau, ORANGE),
    ]
    caption = (
        "Measured torques contain friction, and inertia while the arm moves. One standard deviation of the estimate is "
        "shaded."
    )
    return (time_chart(track.time, series, track.robot.joint_names, units, caption=caption),)
