"""Time stamps: gaps, jitter, repeated and backward steps, and recordings without time."""

from __future__ import annotations

import numpy as np

from ..description.frozen import Array
from ..logs.log import Log
from .finding import Consequence, Finding, LogFault
from .wording import percent, short, times

GAP_PERIODS = 3.5
"""Time between two samples, in usual ones, from which samples were lost: more than three in a row."""
LONG_GAP = 0.25
"""Gap that limits a fit however rare it is [s]: a filter that bridges it invents the motion in between."""
LOST_SHARE = 0.01
"""Share of the recording's time in gaps that limits a fit."""
JITTER = 0.25
"""Irregularity of the stamps, as a share of the usual time between samples, that limits accelerations."""
JITTER_NOTE = 0.1
REPEATED_SHARE = 0.001
"""Share of repeated stamps that limits a fit; fewer are left out without harm."""


def check_timing(log: Log) -> list[Finding]:
    """Name what is wrong with the recording's time.

    Found: gaps of more than GAP_PERIODS usual periods; stamps whose spacing varies by more than JITTER_NOTE of a period
    (LIMITS from JITTER); stamps that repeat or go back; an assumed rate. Not found: a constant error of the clock's
    rate, and samples that are late by a constant time (see delays).

    Args:
        log: The recording.
    """
    findings = [] if log.declared.time_from != "rate" else [_no_time(log)]
    time = log.time[np.isfinite(log.time)]
    if len(time) < 3:
        return findings
    steps = np.diff(time)
    forward = steps[steps > 0.0]
    if len(forward) == 0:
        findings.append(_standing(len(time)))
        return findings
    usual = float(np.median(forward))
    findings += _not_increasing(time, steps)
    findings += _gaps(time, steps, usual)
    findings += _jitter(forward, usual)
    return findings


def _no_time(log: Log) -> Finding:
    rate = log.declared.notes.get("assumed_rate")
    assumed = rate if isinstance(rate, int | float) else log.rate
    confirmed = rate is None
    sentence = f"The recording has no time; {assumed:g} samples per second " + (
        "were given in the mapping." if confirmed else "were assumed, which nobody confirmed."
    )
    return Finding(
        LogFault.NO_TIME,
        Consequence.NOTE if confirmed else Consequence.LIMITS,
        (),
        sentence,
        "Give the true rate in the mapping ([time] rate = …). Gravity does not depend on it; velocities, friction and "
        "delays do.",
        {"assumed_rate_hz": float(assumed)},
    )


def _standing(count: int) -> Finding:
    return Finding(
        LogFault.TIME_DUPLICATES,
        Consequence.SPOILS,
        (),
        f"Time never increases in {count} samples.",
        "Name the right time column in the mapping, or give the rate ([time] rate = …).",
        {"samples": count},
    )


def _not_increasing(time: Array, steps: Array) -> list[Finding]:
    repeated, back = int((steps == 0.0).sum()), int((steps < 0.0).sum())
    if repeated + back == 0:
        return []
    share = (repeated + back) / len(steps)
    told = []
    if repeated:
        told.append(f"repeats {times(repeated)}")
    if back:
        told.append(f"goes back {times(back)}, by up to {short(float(-steps.min()))} s")
    first = float(time[int(np.flatnonzero(steps <= 0.0)[0]) + 1])
    consequence = Consequence.LIMITS if share > REPEATED_SHARE or back else Consequence.NOTE
    return [
        Finding(
            LogFault.TIME_DUPLICATES,
            consequence,
            (),
            f"Time {' and '.join(told)} ({percent(share)} of the samples, first at {first:.3f} s).",
            "Record the stamp of the measurement, not of its arrival, and each sample once; these samples are left out "
            "of all that follows.",
            {"repeated": repeated, "backward": back, "share": share, "first_s": first},
        )
    ]


def _gaps(time: Array, steps: Array, usual: float) -> list[Finding]:
    wide = np.flatnonzero(steps > GAP_PERIODS * usual)
    if len(wide) == 0:
        return []
    lost = float(steps[wide].sum() - len(wide) * usual)
    longest = float(steps[wide].max())
    share = lost / float(time.max() - time.min())
    where = int(wide[steps[wide].argmax()])
    limits = longest >= max(LONG_GAP, 5.0 * usual) or share > LOST_SHARE
    return [
        Finding(
            LogFault.TIME_GAPS,
            Consequence.LIMITS if limits else Consequence.NOTE,
            (),
            f"Samples are missing {times(len(wide))}: {short(lost)} s in all ({percent(share)}), the longest gap "
            f"{short(longest)} s at {float(time[where]):.2f} s, where {short(usual)} s is usual.",
            "Record without losing messages (larger queue, local disk), or crop to a part without gaps ([time] start "
            "and end).",
            {
                "gaps": len(wide),
                "lost_s": lost,
                "longest_s": longest,
                "usual_s": usual,
                "share": share,
                "at_s": [float(time[row]) for row in wide[:100]],
            },
        )
    ]


def _jitter(forward: Array, usual: float) -> list[Finding]:
    regular = forward[forward <= GAP_PERIODS * usual]
    # A sample that was lost now and then is no jitter: what is left of whole periods counts.
    off = regular - usual * np.maximum(np.round(regular / usual), 1.0)
    spread = float(np.sqrt(np.mean(off**2)))
    share = spread / usual
    if share < JITTER_NOTE:
        return []
    limits = share >= JITTER
    return [
        Finding(
            LogFault.TIME_JITTER,
            Consequence.LIMITS if limits else Consequence.NOTE,
            (),
            f"The time between samples varies by {short(1e3 * spread)} ms (standard deviation), {percent(share)} of "
            f"the usual {short(1e3 * usual)} ms.",
            "Use the stamp of the measurement, not of its arrival; if the samples were taken evenly, give the rate "
            "instead of the column ([time] rate = …).",
            {"jitter_s": spread, "usual_s": usual, "share": share, "longest_s": float(regular.max())},
        )
    ]
