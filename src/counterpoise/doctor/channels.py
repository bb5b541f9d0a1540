"""Checks of single channels: numbers that do not change although the arm moves, clipped values, coarse steps.

Standing still is no fault: a channel is judged dead or frozen only where another channel shows that its joint, or the
arm, moved. What a converter does to a signal is judged by the signal alone: values cut off at the end of its range, and
steps too coarse for the signal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..dynamics import Robot
from ..foundation import Array
from ..recording import MISSED_PERIODS, Log, Motion, SampleFlag, hop_noise, increasing, resolution, true_stretches
from .finding import PLATE_CHANNELS, Consequence, Finding, LogFault, listed, percent, short, times

Mask = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.intp]

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
"""Fraction of a recording that invalidates it; less only limits it."""

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


def check_dead(robot: Robot | None, log: Log, motion: Motion) -> list[Finding]:
    """Name channels that say nothing all the way through.

    Found: a channel that keeps one value, but for a rare flicker, while its joint moves by more than MOVED; an effort
    below WEAK of what its joint should need, compared with the arm's other joints, that follows neither gravity nor
    motion and stays within its own noise. Not found: a dead channel of a joint that does not move.

    Args:
        robot: The model; None judges without it, by constant values only.
        log: The recording, joints as in ``robot``.
        motion: The recording's motion at even times.
    """
    rows = increasing(log.time)
    turned = _turned(log, rows)
    moved = np.maximum(motion.travel, turned) > MOVED
    every = list(channels(log, rows))
    dead: dict[ChannelKind, list[Channel]] = {}
    for channel in every:
        moves = moved.any() if channel.joint is None else bool(moved[channel.joint])
        if channel.kind == "position":
            moves = bool(turned[channel.joint] > MOVED)
        elif channel.kind == "velocity":
            moves = bool(motion.travel[channel.joint] > MOVED)
        if moves and channel.constant:
            dead.setdefault(channel.kind, []).append(channel)
    efforts = [channel for channel in every if channel.kind == "effort"]
    silent = {channel.joint for channel in dead.get("effort", [])}
    floor = {channel.joint: max(channel.step, hop_noise(channel.values)) for channel in efforts}
    weak = {} if robot is None else _weak_efforts(robot, motion, moved, silent, floor)
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
    robot: Robot, motion: Motion, moved: Mask, silent: set[int | None], floor: dict[int | None, float]
) -> dict[int, dict[str, float]]:
    """Return joints whose effort is far too small and follows nothing, with the numbers."""
    gravity = robot.gravity(motion.q)
    good = motion.usable
    known = [j for j in range(robot.n) if motion.effort_measured[j] and j not in silent]
    if len(known) < 3 or good.sum() < 20:
        return {}
    limit = np.where(np.isfinite(robot.effort_limit), robot.effort_limit, 0.0)
    expected = np.abs(gravity[good]).max(axis=0) + 0.02 * limit
    size = motion.tau[good].std(axis=0) + np.abs(motion.tau[good].mean(axis=0))
    ratio = {j: float(size[j] / expected[j]) for j in known if expected[j] > 0.0}
    explained = {j: _explained(motion, gravity, j) for j in ratio}
    alive = [ratio[j] for j in ratio if explained[j] >= DEAF]
    if len(alive) < 2:
        return {}
    usual, deviation = float(np.median(alive)), motion.tau[good].std(axis=0)
    return {
        j: {"effort_per_expected": ratio[j], "others": usual, "explained": explained[j]}
        for j in ratio
        if moved[j] and ratio[j] < WEAK * usual and explained[j] < DEAF and deviation[j] < QUIET * floor[j]
    }


def _explained(motion: Motion, gravity: Array, joint: int) -> float:
    """Return the share of an effort's variance that gravity, friction and acceleration of its joint explain."""
    moved = (motion.direction[:, joint], motion.dq[:, joint], motion.ddq[:, joint])
    regressor = np.column_stack([gravity[:, joint], *moved, np.ones(len(gravity))])[motion.usable]
    tau = motion.tau[motion.usable, joint]
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
    return Finding(LogFault.DEAD, Consequence.INVALIDATES, names, sentence, remedy, evidence)


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
        runs = _frozen_runs(channel, _Movement(time, log.q[rows], travel, log.rate))
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
class _Movement:
    """What shows whether the arm moved: times [s] (k,), positions and travel [rad or m] (k, n), samples per second."""

    time: Array
    q: Array
    travel: Array
    rate: float


def _frozen_runs(channel: Channel, movement: _Movement) -> list[tuple[int, int]]:
    """Return [first, last) of the stretches in which a channel is frozen."""
    values, time = channel.values, movement.time
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
    return [(b, e) for b, e in pairs if _went_on(channel, b, e, movement, restless=usual <= 2.0)]


def _went_on(channel: Channel, begin: int, end: int, movement: _Movement, *, restless: bool) -> bool:
    """Return whether the arm moved while the channel kept its value from ``begin`` to before ``end``.

    ``restless``: the channel's noise changes its value all the time, so that it never stands by itself.
    """
    q, time = movement.q, movement.time
    lost = end < len(time) and time[end] - time[end - 1] > MISSED_PERIODS / movement.rate
    after = end - 1 if lost else min(end, len(time) - 1)  # what happened in a gap is no proof
    if channel.kind == "position":
        j = _joint(channel)
        jump = abs(float(q[after, j] - q[begin, j]))
        usual = float(np.nanquantile(np.abs(np.diff(q[:, j])), 0.99))
        went = float(movement.travel[end - 1, j] - movement.travel[begin, j])
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
        Consequence.INVALIDATES if share > MUCH else Consequence.LIMITS,
        names,
        sentence,
        "Cut these stretches out (crop the recording in the mapping), and look for lost messages or a stalled reader.",
        {"channel": kind, "stretches_s": stretches, "longest_s": longest, "share": share},
    )


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


def check_saturated(log: Log, motion: Motion) -> list[Finding]:
    """Name efforts, velocities and plate channels that are flat at their largest or smallest value while the arm moves.

    Found: at least FLAT_SAMPLES samples and FLAT_SHARE of all exactly at the extreme, in two stays or more; of a signal
    in steps, CROWDING times more than one step beside it. A channel without noise is judged only while the arm moves. A
    velocity counts only where the position changes faster than it says; a robot may well be driven at constant speed.
    Not found: a single stay, which looks like a frozen channel.

    Args:
        log: The recording.
        motion: The recording's motion at even times.
    """
    rows = increasing(log.time)
    time = log.time[rows]
    speed = np.column_stack([np.interp(time, motion.time, column) for column in motion.dq.T])
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
        consequence = Consequence.INVALIDATES if share > MUCH and kind != "velocity" else Consequence.LIMITS
        findings.append(Finding(LogFault.SATURATED, consequence, names, sentence, remedy, evidence))
    return findings


def _told_saturated(share: float) -> Finding:
    return Finding(
        LogFault.SATURATED,
        Consequence.INVALIDATES if share > MUCH else Consequence.LIMITS,
        PLATE_CHANNELS,
        f"The plate itself reports that it was at the end of its range in {percent(share)} of the samples.",
        "Choose a larger range, or a lighter motion, and record again.",
        {"channel": "plate", "share": share},
    )


def check_quantised(log: Log, motion: Motion) -> list[Finding]:
    """Name channels whose step is coarse beside their signal.

    LIMITS: an effort, velocity or plate channel with fewer than twenty steps in its range that its own noise does not
    smooth out, or a position with steps above COARSE_POSITION. A note: a step that shows (VISIBLE) and lies above the
    noise. Not named: digits of a file far below either.

    Args:
        log: The recording.
        motion: The recording's motion at even times.
    """
    rows = increasing(log.time)
    found: dict[tuple[ChannelKind, Consequence], list[tuple[Channel, float]]] = {}
    for channel in channels(log, rows):
        moves = channel.joint is None or bool(motion.travel[channel.joint] > MOVED)
        if channel.step == 0.0 or channel.constant or not moves:
            continue
        spread = float(np.ptp(channel.values[np.isfinite(channel.values)]))
        share = channel.step / spread
        rough = hop_noise(channel.values) < DITHER * channel.step
        if channel.kind == "position":
            moved = channel.joint is not None and motion.travel[channel.joint] > 4.0 * channel.step
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
