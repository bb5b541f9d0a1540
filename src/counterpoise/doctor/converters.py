"""What a converter does to a signal: values cut off at the end of its range, and steps too coarse for the signal."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..description.frozen import Array
from ..logs.filters import increasing
from ..logs.log import Log
from ..logs.resolution import hop_noise
from ..logs.sample import SampleFlag
from .channels import MOVED, MUCH, Channel, ChannelKind, channels, subject
from .finding import Consequence, Finding, LogFault
from .prepared import Mask, Prepared
from .wording import PLATE_CHANNELS, percent, short

FLAT_SAMPLES = 10
"""Fewest samples at an extreme value that can be called flat."""
FLAT_SHARE = 0.003
"""... and fewest as a share of the samples in motion."""
CROWDING = 6.0
"""How many times more samples of a counted signal lie at the extreme than one step beside it. A sine has 2.4."""
STANDING_SHARE = 0.5
"""Share of samples equal to the one before, the arm standing, from which a channel has no noise of its own."""
MOVING_SPEED = 0.02
"""Speed from which a joint counts as moving [rad/s or m/s]."""
COARSE = {"effort": 0.05, "velocity": 0.05, "plate": 0.05}
"""Step, as a share of the signal's range, that limits what can be computed: less than twenty steps in all."""
COARSE_POSITION = 5e-3
"""Step of a position that limits what can be computed [rad or m]: 0.3°, some tenths of N m of gravity on a large
arm."""
DITHER = 0.4
"""Noise, in steps, from which averaging recovers what lies between two steps."""
VISIBLE = 0.005
"""Step, as a share of the signal's range, that is worth a note."""


def check_saturated(log: Log, smooth: Prepared) -> list[Finding]:
    """Name efforts, velocities and plate channels that are flat at their largest or smallest value while the arm moves.

    Found: at least FLAT_SAMPLES samples and FLAT_SHARE of all exactly at the extreme, in two stays or more; of a signal
    in steps, CROWDING times more than one step beside it. A channel without noise is judged only while the arm moves. A
    velocity counts only where the position changes faster than it says; a robot may well be driven at constant speed.
    Not found: a single stay, which looks like a frozen channel.

    Args:
        log: The recording.
        smooth: The recording made ready.
    """
    rows = increasing(log.time)
    time = log.time[rows]
    speed = np.column_stack([np.interp(time, smooth.time, column) for column in smooth.dq.T])
    moving = (np.abs(speed) > MOVING_SPEED).any(axis=1)
    moving[1:] &= (np.diff(log.q[rows], axis=0) != 0.0).any(axis=1)  # smoothing carries motion into a rest
    found: dict[ChannelKind, list[tuple[Channel, dict[str, Any]]]] = {}
    for channel in channels(log, rows):
        if channel.kind == "position" or channel.levels < 3.0:
            continue
        for sign in (1.0, -1.0):
            judged = moving if _stands(channel.values, moving) else np.isfinite(time)
            flat = _flat(sign * channel.values, channel.step, judged)
            if channel.kind == "velocity" and flat.any() and channel.joint is not None:
                flat &= sign * speed[:, channel.joint] > 1.05 * np.abs(channel.values)
                flat &= np.abs(channel.values) > MOVING_SPEED  # standing still is the extreme of a motion one way
                flat &= flat.sum() >= FLAT_SAMPLES
            if flat.any():
                numbers = {"value": float(channel.values[flat][0]), "share": float(flat.mean())}
                found.setdefault(channel.kind, []).append((channel, numbers))
    if log.wrench is not None and "plate" not in found:
        told = (log.flags[rows] & SampleFlag.WRENCH_SATURATED) != 0
        if told.any():
            return [*_saturated(found), _told_saturated(float(told.mean()))]
    return _saturated(found)


def _stands(values: Array, moving: Mask) -> bool:
    """Return whether a channel mostly keeps its value while the arm stands; one with noise never does."""
    resting = ~moving[1:]
    return not resting.any() or float(np.mean((values[1:] == values[:-1])[resting])) > STANDING_SHARE


def _flat(values: Array, step: float, moving: Mask) -> Mask:
    """Return which samples lie flat at the largest value; none where that is what the signal does by itself."""
    none = np.zeros(len(values), dtype=bool)
    usable = np.isfinite(values) & moving
    if usable.sum() < 50:
        return none
    top = float(np.nanmax(values))
    spread = float(np.ptp(values[usable]))
    at_top = usable & (values >= top - max(0.25 * step, 1e-9 * spread))
    count = int(at_top.sum())
    if count < max(FLAT_SAMPLES, FLAT_SHARE * int(usable.sum())):
        return none
    visits = int(np.count_nonzero(np.diff(at_top.astype(np.int8)) == 1))
    if visits < 2:  # one stay at the extreme is a channel that froze there
        return none
    # A signal that was never counted does not meet exactly the same value again by itself.
    beside = usable & ~at_top & (values >= top - 1.25 * step)
    crowded = step == 0.0 or count > CROWDING * max(int(beside.sum()), 1)
    return at_top if crowded else none


def _saturated(found: dict[ChannelKind, list[tuple[Channel, dict[str, Any]]]]) -> list[Finding]:
    findings = []
    for kind, members in found.items():
        names = tuple(dict.fromkeys(channel.name for channel, _ in members))
        share = max(numbers["share"] for _, numbers in members)
        levels = ", ".join(short(numbers["value"]) for _, numbers in members)
        sentence = (
            f"{subject(kind, names)} is cut off at {levels}: {percent(share)} of the samples lie exactly there "
            "while the arm moves."
        )
        remedy = {
            "plate": "Choose a larger range, or a lighter motion, and record again.",
            "velocity": "Leave the column out of the mapping; the velocity is then differentiated from the position.",
        }.get(kind, "Move more slowly or with less load so that the drive stays inside its range, and record again.")
        evidence = {"channel": kind, "flat_at": {channel.name: numbers for channel, numbers in members}, "share": share}
        consequence = Consequence.SPOILS if share > MUCH and kind != "velocity" else Consequence.LIMITS
        findings.append(Finding(LogFault.SATURATED, consequence, names, sentence, remedy, evidence))
    return findings


def _told_saturated(share: float) -> Finding:
    return Finding(
        LogFault.SATURATED,
        Consequence.SPOILS if share > MUCH else Consequence.LIMITS,
        PLATE_CHANNELS,
        f"The plate itself reports that it was at the end of its range in {percent(share)} of the samples.",
        "Choose a larger range, or a lighter motion, and record again.",
        {"channel": "plate", "share": share},
    )


def check_quantised(log: Log, smooth: Prepared) -> list[Finding]:
    """Name channels whose step is coarse beside their signal.

    LIMITS: an effort, velocity or plate channel with fewer than twenty steps in its range that its own noise does not
    smooth out, or a position with steps above COARSE_POSITION. A note: a step that shows (VISIBLE) and lies above the
    noise. Not named: digits of a file far below either.

    Args:
        log: The recording.
        smooth: The recording made ready.
    """
    rows = increasing(log.time)
    found: dict[tuple[ChannelKind, Consequence], list[tuple[Channel, float]]] = {}
    for channel in channels(log, rows):
        moves = channel.joint is None or bool(smooth.moved[channel.joint] > MOVED)
        if channel.step == 0.0 or channel.constant or not moves:
            continue
        spread = float(np.ptp(channel.values[np.isfinite(channel.values)]))
        share = channel.step / spread
        rough = hop_noise(channel.values) < DITHER * channel.step
        if channel.kind == "position":
            moved = channel.joint is not None and smooth.moved[channel.joint] > 4.0 * channel.step
            coarse = moved and channel.step > COARSE_POSITION
            visible = moved and channel.step > 0.2 * COARSE_POSITION
        else:
            coarse = rough and share > COARSE[channel.kind]
            visible = rough and share > VISIBLE
        if coarse or visible:
            consequence = Consequence.LIMITS if coarse else Consequence.NOTE
            found.setdefault((channel.kind, consequence), []).append((channel, share))
    return [_quantised(kind, consequence, members) for (kind, consequence), members in found.items()]


def _quantised(kind: ChannelKind, consequence: Consequence, members: list[tuple[Channel, float]]) -> Finding:
    names = tuple(channel.name for channel, _ in members)
    steps = {channel.name: channel.step for channel, _ in members}
    worst = max(members, key=lambda member: member[1])
    sentence = (
        f"{subject(kind, names)} comes in steps: {short(worst[0].step)} on {worst[0].name}, "
        f"{percent(worst[1])} of its range."
    )
    remedy = (
        "Write more digits, or use a finer converter; until then trust a fit no further than a step."
        if consequence > Consequence.NOTE
        else "Nothing to change; averages and filters see finer than a step."
    )
    evidence = {"channel": kind, "step": steps, "share_of_range": {channel.name: share for channel, share in members}}
    return Finding(LogFault.QUANTISED, consequence, names, sentence, remedy, evidence)
