"""Time stamps: gaps, jitter, repeated, backward and wild ones, and recordings without time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..description.frozen import Array
from ..logs.filters import increasing
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
LEFT_OUT = 0.1
"""Share of samples out of order from which the time as a whole cannot be right."""


def check_timing(log: Log) -> list[Finding]:
    """Name what is wrong with the recording's time.

    Found: gaps of more than GAP_PERIODS usual periods; stamps whose spacing varies by more than JITTER_NOTE of a period
    (LIMITS from JITTER); stamps that repeat, go back or are wild; a column of times that goes back throughout; an
    assumed rate. Not found here: a wrong rate (see rates), and samples that are late by a constant time (see delays).

    Args:
        log: The recording.
    """
    findings = [] if log.declared.time_from != "rate" else [_no_time(log)]
    findings += _refused(log)
    rows = np.flatnonzero(np.isfinite(log.time))
    if len(rows) < 3:
        return findings
    steps = np.diff(log.time[rows])
    if not np.any(steps > 0.0):
        findings.append(_standing(len(rows)))
        return findings
    ordered = increasing(log.time)
    findings += _not_increasing(log, rows, ordered)
    time = log.time[ordered]
    if len(time) < 3:
        return findings
    forward = np.diff(time)
    usual = float(np.median(forward))
    findings += _gaps(time, forward, usual)
    findings += _jitter(forward, usual)
    return findings


def _no_time(log: Log) -> Finding:
    declared = log.declared
    rate = declared.notes.get("assumed_rate")
    assumed = rate if isinstance(rate, int | float) else log.rate
    sentence, consequence = f"The recording has no time; {assumed:g} samples per second ", Consequence.NOTE
    if declared.rate_is_guessed:
        sentence += "were assumed, which nobody confirmed."
        consequence = Consequence.LIMITS
    elif declared.rate_source == "measured":
        sentence += f"were measured ({declared.notes.get('time', 'by its velocities')})."
    else:
        sentence += "were given in the mapping."
    return Finding(
        LogFault.NO_TIME,
        consequence,
        (),
        sentence,
        "Give the true rate in the mapping ([time] rate = …). Gravity does not depend on it; velocities, friction and "
        "delays do.",
        {"assumed_rate_hz": float(assumed)},
    )


def _refused(log: Log) -> list[Finding]:
    """Name a column that is called time and was not used, because it goes back."""
    told = log.declared.notes.get("time_refused")
    if not told:
        return []
    guessed = log.declared.rate_is_guessed
    return [
        Finding(
            LogFault.TIME_DUPLICATES,
            Consequence.SPOILS if guessed else Consequence.LIMITS,
            (),
            f"Column '{told['column']}' of {told['file']} goes back in {told['back']} of its first {told['steps']} "
            f"steps, first in row {told['row']} (counted from 0): it is not used as time"
            + (", and nothing else tells the time." if guessed else "."),
            "Sort the rows by time, name the right column ([time] column = …), or give the rate ([time] rate = …).",
            {"backward": told["back"], "steps": told["steps"], "row": told["row"]},
        )
    ]


def _standing(count: int) -> Finding:
    return Finding(
        LogFault.TIME_DUPLICATES,
        Consequence.SPOILS,
        (),
        f"Time never increases in {count} samples.",
        "Name the right time column in the mapping, or give the rate ([time] rate = …).",
        {"samples": count},
    )


def _not_increasing(log: Log, rows: npt.NDArray[np.intp], ordered: npt.NDArray[np.intp]) -> list[Finding]:
    """Name samples with a time that are left out: what they do, how many, and the first of them."""
    left_out = np.setdiff1d(rows, ordered, assume_unique=True)
    if len(left_out) == 0:
        return []
    steps = np.diff(log.time[rows])
    repeated, back = int((steps == 0.0).sum()), int((steps < 0.0).sum())
    share = len(left_out) / len(rows)
    told = []
    if repeated:
        told.append(f"repeats {times(repeated)}")
    if back:
        told.append(f"goes back {times(back)}, by up to {short(float(-steps.min()))} s")
    if not told:
        told.append(f"is far from all other times {times(len(left_out))}")
    counted = "1 sample is" if len(left_out) == 1 else f"{len(left_out)} samples are"
    row = int(left_out[0])
    first = float(log.time[row])
    consequence = Consequence.LIMITS if share > REPEATED_SHARE or len(left_out) > repeated else Consequence.NOTE
    return [
        Finding(
            LogFault.TIME_DUPLICATES,
            Consequence.SPOILS if share > LEFT_OUT and len(left_out) > repeated else consequence,
            (),
            f"Time {' and '.join(told)}: {counted} left out ({percent(share)}), the first "
            f"{_place(log, row)} with {first:.3f} s.",
            "Record the stamp of the measurement, not of its arrival, and each sample once; only these samples are "
            "left out of all that follows.",
            {
                "repeated": repeated,
                "backward": back,
                "left_out": len(left_out),
                "share": share,
                "first_row": row,
                "first_s": first,
                "rows": left_out[:100].tolist(),
            },
        )
    ]


def _place(log: Log, row: int) -> str:
    """Return where a sample stands: its row in the file, counted from 0, where the log tells."""
    declared = log.declared
    files = declared.notes.get("files", ())
    section = declared.mapping.get("time", {})
    if len(files) == 1 and "start" not in section:
        return f"in row {row + section.get('first', 0)} of {files[0]} (counted from 0)"
    return f"is sample {row} (counted from 0)"


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
