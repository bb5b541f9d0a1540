"""Dead and frozen channels: numbers that do not change although the arm moves.

Standing still is no fault: a channel is judged only where another channel shows that its joint, or the arm, moved.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..description.frozen import Array
from ..dynamics.robot import Robot
from ..logs.filters import increasing, true_stretches
from ..logs.log import Log
from ..logs.resolution import hop_noise, resolution
from .finding import Consequence, Finding, LogFault
from .prepared import GAP_PERIODS, Indices, Mask, Prepared
from .wording import PLATE_CHANNELS, listed, percent, short, times

MOVED = 0.05
"""Travel from which a joint certainly moved [rad or m]."""
WEAK = 0.1
"""Effort per expected effort, beside that of the arm's living joints, below which a channel is suspected to be dead."""
DEAF = 0.6
"""Share of an effort's variance that gravity, friction and acceleration must explain for it to be surely alive."""
FLICKER = 0.1
"""Largest share of samples at a neighbouring value in a channel that counts as constant."""
QUIET = 4.0
"""Deviation of a smoothed effort, in its own noise or steps, below which it is nothing but noise."""
FROZEN_TIME = 0.1
"""Shortest stretch that counts as frozen [s]."""
FROZEN_SAMPLES = 8
"""... and in samples."""
FROZEN_RUNS = 6.0
"""... and in lengths of the longest of the runs that this channel usually has (99 %)."""
CAUGHT_UP = 3.0
"""Steps by which a coarse effort must go on after a stretch for it to have been stuck."""
MUCH = 0.02
"""Share of a recording that spoils it; less only limits it."""

ChannelKind = Literal["position", "velocity", "effort", "plate"]


@dataclass(frozen=True, slots=True, eq=False)
class Channel:
    """One column of a recording.

    Attributes:
        kind: What it measures.
        name: The joint's name, or the plate channel's.
        joint: Index of the joint; None for the plate.
        values: Its numbers at the samples whose time increases, shape (k,).
        step: Its resolution in its own unit; 0 where none shows.
    """

    kind: ChannelKind
    name: str
    joint: int | None
    values: Array
    step: float

    @property
    def levels(self) -> float:
        """Number of steps between its smallest and its largest value; infinite where no step shows."""
        finite = self.values[np.isfinite(self.values)]
        if len(finite) == 0 or float(np.ptp(finite)) == 0.0:
            return 0.0
        return float(np.ptp(finite)) / self.step if self.step > 0.0 else np.inf

    @property
    def constant(self) -> bool:
        """Whether it keeps one value, but for a rare flicker to a neighbouring one."""
        if self.levels >= 1.5:
            return False
        finite = self.values[np.isfinite(self.values)]
        return len(finite) > 0 and float(np.mean(finite == np.median(finite))) > 1.0 - FLICKER


def channels(log: Log, rows: Indices) -> Iterator[Channel]:
    """Yield every channel that was measured; joints that the recording lacks, and derived velocities, are left out."""
    held = log.declared.held
    kinds: list[tuple[ChannelKind, Array]] = [("position", log.q), ("velocity", log.dq), ("effort", log.tau)]
    if log.declared.velocity_from == "position":
        kinds.pop(1)
    for kind, values in kinds:
        for joint, name in enumerate(log.joint_names):
            column = values[rows, joint]
            if name not in held and np.isfinite(column).any():
                yield Channel(kind, name, joint, column, resolution(column))
    if log.wrench is not None:
        for index, name in enumerate(PLATE_CHANNELS):
            column = log.wrench[rows, index]
            if np.isfinite(column).any():
                yield Channel("plate", name, None, column, resolution(column))


def subject(kind: ChannelKind, names: Sequence[str]) -> str:
    """Return channels as the beginning of a sentence: "The effort of joint2", "Plate my"."""
    what = listed(names) if kind == "plate" else f"the {kind} of {listed(names)}"
    return what[0].upper() + what[1:]


def check_dead(robot: Robot | None, log: Log, smooth: Prepared) -> list[Finding]:
    """Name channels that say nothing all the way through.

    Found: a channel that keeps one value, but for a rare flicker, while its joint moves by more than MOVED; an effort
    below WEAK of what its joint should need, compared with the arm's other joints, that follows neither gravity nor
    motion and stays within its own noise. Not found: a dead channel of a joint that does not move.

    Args:
        robot: The model; None judges without it, by constant values only.
        log: The recording, joints as in ``robot``.
        smooth: The recording made ready.
    """
    rows = increasing(log.time)
    turned = _turned(log, rows)
    moved = np.maximum(smooth.moved, turned) > MOVED
    every = list(channels(log, rows))
    dead: dict[ChannelKind, list[Channel]] = {}
    for channel in every:
        moves = moved.any() if channel.joint is None else bool(moved[channel.joint])
        if channel.kind == "position":
            moves = bool(turned[channel.joint] > MOVED)
        elif channel.kind == "velocity":
            moves = bool(smooth.moved[channel.joint] > MOVED)
        if moves and channel.constant:
            dead.setdefault(channel.kind, []).append(channel)
    efforts = [channel for channel in every if channel.kind == "effort"]
    silent = {channel.joint for channel in dead.get("effort", [])}
    floor = {channel.joint: max(channel.step, hop_noise(channel.values)) for channel in efforts}
    weak = {} if robot is None else _weak_efforts(robot, smooth, moved, silent, floor)
    dead.setdefault("effort", []).extend(channel for channel in efforts if channel.joint in weak)
    return [_dead_finding(kind, found, weak, log) for kind, found in dead.items() if found]


def _turned(log: Log, rows: Indices) -> Array:
    """Return how far each joint went by its measured velocity [rad or m], shape (n,); 0 where that was not measured."""
    if log.declared.velocity_from == "position" or len(rows) < 2:
        return np.zeros(len(log.joint_names))
    dq = np.where(np.isfinite(log.dq[rows]), log.dq[rows], 0.0)
    steps = np.diff(log.time[rows])[:, None]
    steps = np.minimum(steps, 5.0 * np.median(steps))
    # The mean is taken away: the offset of a velocity signal is no motion.
    return np.ptp(np.cumsum((dq - dq.mean(axis=0))[1:] * steps, axis=0), axis=0)  # type: ignore[no-any-return]


def _weak_efforts(
    robot: Robot, smooth: Prepared, moved: Mask, silent: set[int | None], floor: dict[int | None, float]
) -> dict[int, dict[str, float]]:
    """Return joints whose effort is far too small and follows nothing, with the numbers."""
    gravity = robot.gravity(smooth.q)
    good = smooth.good
    known = [j for j in range(robot.n) if smooth.effort_known[j] and j not in silent]
    if len(known) < 3 or good.sum() < 20:
        return {}
    limit = np.where(np.isfinite(robot.effort_limit), robot.effort_limit, 0.0)
    expected = np.abs(gravity[good]).max(axis=0) + 0.02 * limit
    size = smooth.tau[good].std(axis=0) + np.abs(smooth.tau[good].mean(axis=0))
    ratio = {j: float(size[j] / expected[j]) for j in known if expected[j] > 0.0}
    explained = {j: _explained(smooth, gravity, j) for j in ratio}
    alive = [ratio[j] for j in ratio if explained[j] >= DEAF]
    if len(alive) < 2:
        return {}
    usual, deviation = float(np.median(alive)), smooth.tau[good].std(axis=0)
    return {
        j: {"effort_per_expected": ratio[j], "others": usual, "explained": explained[j]}
        for j in ratio
        if moved[j] and ratio[j] < WEAK * usual and explained[j] < DEAF and deviation[j] < QUIET * floor[j]
    }


def _explained(smooth: Prepared, gravity: Array, joint: int) -> float:
    """Return the share of an effort's variance that gravity, friction and acceleration of its joint explain."""
    motion = (smooth.direction[:, joint], smooth.dq[:, joint], smooth.ddq[:, joint])
    regressor = np.column_stack([gravity[:, joint], *motion, np.ones(len(gravity))])[smooth.good]
    tau = smooth.tau[smooth.good, joint]
    variance = float(tau.var())
    fitted = regressor @ np.linalg.lstsq(regressor, tau, rcond=None)[0]
    return 1.0 - float(np.mean((tau - fitted) ** 2)) / variance if variance > 0.0 else 0.0


def _dead_finding(kind: ChannelKind, found: list[Channel], weak: dict[int, dict[str, float]], log: Log) -> Finding:
    names = tuple(channel.name for channel in found)
    ranges = {channel.name: float(np.ptp(channel.values[np.isfinite(channel.values)])) for channel in found}
    evidence: dict[str, Any] = {"channel": kind, "range": ranges, "samples": len(found[0].values)}
    constant = [channel for channel in found if channel.joint not in weak]
    if len(constant) == len(found):
        values = ", ".join(short(float(np.nanmean(channel.values))) for channel in found)
        sentence = f"{subject(kind, names)} stays at {values} although the arm moves."
    else:
        shares = [weak[j]["effort_per_expected"] / weak[j]["others"] for j in weak]
        evidence["beside_other_joints"] = {log.joint_names[j]: numbers for j, numbers in weak.items()}
        sentence = (
            f"{subject(kind, names)} is nothing but noise: at most {percent(max(shares))} of what the arm's other "
            "joints show for their load, and it follows neither gravity nor motion."
        )
    if kind == "velocity":
        remedy = "Leave the column out of the mapping; the velocity is then differentiated from the position."
        return Finding(LogFault.DEAD, Consequence.LIMITS, names, sentence, remedy, evidence)
    remedy = {
        "effort": "Connect or switch on the drive's torque reading, or leave these joints out of a fit.",
        "position": "Check the encoder or the column that the mapping names; nothing can be computed without it.",
        "plate": "Check the cable and the amplifier of this channel; without it the plate cannot be used.",
    }[kind]
    return Finding(LogFault.DEAD, Consequence.SPOILS, names, sentence, remedy, evidence)


def check_frozen(log: Log) -> list[Finding]:
    """Name channels that stick at a value for a stretch and then go on.

    Found: stretches of at least FROZEN_TIME and FROZEN_SAMPLES in which the value is exactly the same while the joint
    (or, for an effort or the plate, the arm) moves on by more than its usual motion between two values of that channel.
    Not found: a stretch in which the arm stands.

    Args:
        log: The recording.
    """
    rows = increasing(log.time)
    time = log.time[rows]
    travel = _travel(log, rows)
    found: dict[ChannelKind, list[tuple[Channel, list[tuple[int, int]]]]] = {}
    for channel in channels(log, rows):
        if channel.constant:
            continue
        runs = _frozen_runs(channel, _Motion(time, log.q[rows], travel, log.rate))
        if runs:
            found.setdefault(channel.kind, []).append((channel, runs))
    return [_frozen_finding(kind, members, time) for kind, members in found.items()]


def _travel(log: Log, rows: Indices) -> Array:
    """Return how far each joint has gone up to each sample [rad or m], shape (k, n), by its measured velocity.

    By its position where the velocity was not measured.
    """
    if log.declared.velocity_from == "position":
        q = np.where(np.isfinite(log.q[rows]), log.q[rows], 0.0)
        return np.cumsum(np.abs(np.diff(q, axis=0, prepend=q[:1])), axis=0)
    dq = np.where(np.isfinite(log.dq[rows]), log.dq[rows], 0.0)
    steps = np.diff(log.time[rows], prepend=log.time[rows[0]])
    return np.cumsum(np.abs(dq) * steps[:, None], axis=0)


@dataclass(frozen=True, slots=True, eq=False)
class _Motion:
    """What shows whether the arm moved: times [s] (k,), positions and travel [rad or m] (k, n), samples per second."""

    time: Array
    q: Array
    travel: Array
    rate: float


def _frozen_runs(channel: Channel, motion: _Motion) -> list[tuple[int, int]]:
    """Return [first, last) of the stretches in which a channel is frozen."""
    values, time = channel.values, motion.time
    finite = np.isfinite(values)
    same = (values[1:] == values[:-1]) & finite[1:] & finite[:-1]
    begins, ends = true_stretches(same).T
    ends = ends + 1  # a run of equal neighbours covers one sample more
    if len(begins) == 0:
        return []
    lengths = ends - begins
    ordinary = np.concatenate([lengths, np.ones(max(0, len(values) - int(lengths.sum())), dtype=np.int64)])
    usual = float(np.quantile(ordinary, 0.99))
    rare = 0.0 if channel.kind == "position" else FROZEN_RUNS * usual  # a position is judged by the velocity instead
    long = (lengths >= max(FROZEN_SAMPLES, rare)) & (time[ends - 1] - time[begins] >= FROZEN_TIME)
    pairs = zip(begins[long].tolist(), ends[long].tolist(), strict=True)
    return [(b, e) for b, e in pairs if _went_on(channel, b, e, motion, restless=usual <= 2.0)]


def _went_on(channel: Channel, begin: int, end: int, motion: _Motion, *, restless: bool) -> bool:
    """Return whether the arm moved while the channel kept its value from ``begin`` to before ``end``.

    ``restless``: the channel's noise changes its value all the time, so that it never stands by itself.
    """
    q, time = motion.q, motion.time
    lost = end < len(time) and time[end] - time[end - 1] > GAP_PERIODS / motion.rate
    after = end - 1 if lost else min(end, len(time) - 1)  # what happened in a gap is no proof
    if channel.kind == "position":
        j = _joint(channel)
        jump = abs(float(q[after, j] - q[begin, j]))
        usual = float(np.nanquantile(np.abs(np.diff(q[:, j])), 0.99))
        went = float(motion.travel[end - 1, j] - motion.travel[begin, j])
        least = max(0.2 * MOVED, 10.0 * channel.step)
        return (went > least and jump > 0.3 * went) or (after == end and jump > max(least, 5.0 * usual))
    if channel.kind == "velocity":
        # A true constant velocity without noise keeps its value too: then the position agrees with it.
        j = _joint(channel)
        inside = slice(begin, end)
        off = np.abs(q[inside, j] - q[begin, j] - channel.values[begin] * (time[inside] - time[begin]))
        moved = abs(float(q[after, j] - q[begin, j])) > 0.5 * MOVED
        steps = np.diff(q[inside, j])
        even = float(np.ptp(steps)) <= 1e-6 * float(np.abs(steps).max())  # so many encoder counts every time
        return moved and ((restless and not even) or float(np.nanmax(off)) > 0.2 * MOVED)
    if not restless:
        # A coarse channel keeps its value by itself and goes on by a step; one that was stuck catches up.
        gone = abs(float(channel.values[after] - channel.values[end - 1]))
        if gone < CAUGHT_UP * channel.step:
            return False
    return bool((np.abs(q[after] - q[begin]) > 0.5 * MOVED).any())


def _joint(channel: Channel) -> int:
    return 0 if channel.joint is None else channel.joint


def _frozen_finding(kind: ChannelKind, members: list[tuple[Channel, list[tuple[int, int]]]], time: Array) -> Finding:
    names = tuple(channel.name for channel, _ in members)
    stretches = {channel.name: [[float(time[b]), float(time[e - 1])] for b, e in runs] for channel, runs in members}
    lost = max(sum(end - begin for begin, end in spans) for spans in stretches.values())
    longest = max(end - begin for spans in stretches.values() for begin, end in spans)
    count = max(len(spans) for spans in stretches.values())
    share = lost / float(time[-1] - time[0])
    first = min(spans[0][0] for spans in stretches.values())
    sentence = (
        f"{subject(kind, names)} sticks at one value {times(count)}, for up to {short(longest)} s (first at "
        f"{first:.2f} s), while the arm moves on."
    )
    return Finding(
        LogFault.FROZEN,
        Consequence.SPOILS if share > MUCH else Consequence.LIMITS,
        names,
        sentence,
        "Cut these stretches out (crop the recording in the mapping), and look for lost messages or a stalled reader.",
        {"channel": kind, "stretches_s": stretches, "longest_s": longest, "share": share},
    )
