"""Known arms in real recordings: noise, friction and path stay real, the arm is exchanged for one that is known.

Rigid-body torques are fitted by least squares and subtracted; those of the known arm are added. With what is left as it
stands the answer would be right by algebra: what a least-squares fit leaves is orthogonal to everything that the
product can fit. Two ways out, in turn:

- *crossed*: the torques are fitted to the other half of the path, or to other recordings of the same arm. What the
  other half tells worse is left in the recording as gravity that is not the known arm's ("exchange" in the facts), and
  all cases of a recording share it.
- *turned*: they are fitted to all of it. What neither rigid bodies nor friction explain is turned over, or not, in
  stretches of the path by the toss of a coin. Errors of fits to that are as large as such residuals make them, stretch
  by stretch (a wild cluster bootstrap), and every case has its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from certificate_arms import KIND_SHARES, KINDS, Array, Random, different, urdf_text
from certificate_case import Case, Elsewhere, poses_elsewhere, scored_rows, tolerance
from certificate_dynamics import GRAVITY, Dynamics
from certificate_ideal import Noise, gravity_error
from certificate_paths import Motion
from certificate_recordings import Recording, read_recording, with_limits
from scipy.signal import butter, sosfiltfilt

CHOSEN = ("panda", "lbrmed7", "tx40", "kr300 A", "kr300 B", "lwr4 1")
"""Recordings of the half on which rules are chosen."""
JUDGED = ("ur10", "tiago", "panda_1khz", "kr300 C", "lwr4 3", "lwr4 2")
"""Recordings of the half that judges. lwr4 1 and 2 are one trajectory, driven twice."""
OTHERS = {
    "kr300 A": ("kr300 B", "kr300 C"),
    "kr300 B": ("kr300 A", "kr300 C"),
    "kr300 C": ("kr300 A", "kr300 B"),
    "lwr4 1": ("lwr4 3",),
    "lwr4 2": ("lwr4 3",),
    "lwr4 3": ("lwr4 1", "lwr4 2"),
}
"""Other recordings of the same arm, on other paths, that are fitted instead of the other half."""
EXCHANGES = ("turned", "crossed")
"""How the arm is exchanged."""
STRETCH = (1.0, 3.0)
"""Length of a stretch that is turned over or not [s of the distinct path]."""
PARTS = ("whole", "whole", "first 60 %", "last 60 %")
"""How much of a recording a case has; the same place twice is twice as likely."""
FITTED_ROWS = 3000
"""Samples that a fit by hand takes, evenly chosen."""
RESTED_ROWS = 1000
"""Samples by which the rest is looked at."""
WIDE = 10.0
"""How many times wider than for a fit by hand bodies are held there."""
MASS, CENTRE, INERTIA = 0.3, 0.05, 0.5
"""Ridge towards the description: standard deviations of a mass (share), a centre of mass [m], an inertia (share)."""
ROUNDS = 3
"""Rounds in which noise and fit are found from each other."""


@dataclass(frozen=True, slots=True, eq=False)
class Smoothed:
    """A recording after the filter, at its own samples, shapes (k, n), and which of them the filter leaves whole."""

    motion: Motion
    effort: Array
    whole: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class HandFit:
    """A fit by hand.

    Attributes:
        x: All unknowns: bodies, drives, counterbalances, shape (p,).
        bodies: Inertial parameters, shape (10 b,).
        balance: Counterbalances [N m]: cosine and sine of the joint's angle, shape (balanced joints, 2).
        residual: Root mean square error on its own samples [N m or N], shape (n,).
    """

    x: Array
    bodies: Array
    balance: Array
    residual: Array


@cache
def smoothed(name: str) -> Smoothed:
    """Return a recording after its filter: Butterworth, fourth order, forwards and backwards, central differences."""
    recording = read_recording(name)
    rate = (len(recording.time) - 1) / float(np.ptp(recording.time))
    grid = np.linspace(recording.time[0], recording.time[-1], len(recording.time))
    low = butter(4, min(recording.cutoff / (0.5 * rate), 0.99), output="sos")

    def filtered(values: Array) -> Array:
        even = np.column_stack([np.interp(grid, recording.time, column) for column in values.T])
        return np.asarray(sosfiltfilt(low, even, axis=0))

    def at_samples(values: Array) -> Array:
        """Return values of the even grid at the recording's own instants, which may be uneven."""
        return np.column_stack([np.interp(recording.time, grid, column) for column in values.T])

    q = filtered(recording.q)
    dq = np.gradient(q, grid, axis=0) if recording.dq is None else filtered(recording.dq)
    ddq = np.gradient(dq, grid, axis=0)
    effort = filtered(np.where(recording.measured, recording.effort, 0.0))
    time = recording.time
    whole = (time - time[0] >= recording.cut) & (time[-1] - time >= recording.cut)
    return Smoothed(Motion(time, *(at_samples(values) for values in (q, dq, ddq))), at_samples(effort), whole)


@cache
def fit_by_hand(name: str, begin: float = 0.0, end: float = 1.0) -> HandFit:
    """Fit a recording, or part of its path.

    Args:
        name: The recording, or several joined by "+".
        begin: Where on the distinct path the part begins, 0 to 1 ...
        end: ... and where it ends.
    """
    parts = name.split("+")
    first = read_recording(parts[0])
    dynamics = Dynamics(first.arm)
    rows, efforts = [], []
    for part in parts:
        recording, filtered = read_recording(part), smoothed(part)
        inside = (recording.along >= begin) & ((recording.along < end) | (end >= 1.0))
        at = np.flatnonzero(filtered.whole & inside)
        at = at[:: max(1, len(at) * len(parts) // FITTED_ROWS)]
        rows.append(drive_columns(recording, dynamics, filtered.motion, at))
        efforts.append(filtered.effort[at])
    A, y = np.concatenate(rows)[:, first.measured], np.concatenate(efforts)[:, first.measured]
    described = dynamics.parameters
    start = np.concatenate([described, np.zeros(A.shape[2] - len(described))])
    size = np.concatenate([ridge_sizes(described), np.full(len(start) - len(described), 10.0 * np.abs(y).max())])
    x = ridged(A, y, start, size)
    sigma = np.sqrt(np.mean((y - A @ x) ** 2, axis=0))
    residual = np.full(len(first.measured), np.nan)
    residual[first.measured] = sigma
    count = len(first.balanced)
    return HandFit(x, x[: len(described)], x[len(x) - 2 * count :].reshape(count, 2), residual)


@cache
def crossed(name: str) -> Array:
    """Return the recorded efforts less rigid-body torques that were fitted elsewhere [N m or N], shape (k, n)."""
    recording, filtered = read_recording(name), smoothed(name)
    dynamics = Dynamics(recording.arm)
    found = np.where(recording.measured, recording.effort, np.nan)
    motion = filtered.motion
    if name in OTHERS:
        fit = fit_by_hand("+".join(OTHERS[name]))
        return found - rigid_torques(recording, dynamics, motion.q, motion.dq, motion.ddq, fit)
    for rows, fit in (
        (recording.along < 0.5, fit_by_hand(name, 0.5, 1.0)),
        (recording.along >= 0.5, fit_by_hand(name, 0.0, 0.5)),
    ):
        part = (values[rows] for values in (motion.q, motion.dq, motion.ddq))
        found[rows] -= rigid_torques(recording, dynamics, *part, fit)
    return found


@cache
def _explained(name: str) -> tuple[Array, Array]:
    """Return what drives add and what nothing explains, by a fit to all of a recording [N m or N], shapes (k, n)."""
    recording, motion = read_recording(name), smoothed(name).motion
    dynamics, fit = Dynamics(recording.arm), fit_by_hand(name)
    parts = [np.arange(begin, min(begin + 1000, len(motion.q))) for begin in range(0, len(motion.q), 1000)]
    whole = np.concatenate([drive_columns(recording, dynamics, motion, part) @ fit.x for part in parts])
    effort = np.where(recording.measured, recording.effort, np.nan)
    return whole - rigid_torques(recording, dynamics, motion.q, motion.dq, motion.ddq, fit), effort - whole


def turned(name: str, random: Random) -> Array:
    """Return what drives add, and what nothing explains, in stretches turned over or not [N m or N], shape (k, n)."""
    recording = read_recording(name)
    drives, unexplained = _explained(name)
    # Stretches of the distinct path: what is driven twice is turned over twice, so that what hangs on the pose does.
    lasts = 1.0 / float(np.median(np.abs(np.gradient(recording.along, recording.time))))
    count = max(2, round(lasts / random.uniform(*STRETCH)))
    stretch = np.minimum((recording.along * count).astype(int), count - 1)
    return drives + random.choice([-1.0, 1.0], count)[stretch][:, None] * unexplained


def real_case(seed: int) -> Case:
    """Return the case of a seed; the recordings of a half take turns, and so do the ways of exchange."""
    chosen = CHOSEN if seed % 2 == 0 else JUDGED
    index = seed // 2
    return known_arm_case(seed, chosen[index % len(chosen)], EXCHANGES[index // len(chosen) % len(EXCHANGES)])


def known_arm_case(seed: int, name: str, exchange: str) -> Case:
    """Return a recording with a known arm in it.

    Args:
        seed: Seed of the arm, of the description's errors, and of how much of the recording is used.
        name: The recording.
        exchange: One of EXCHANGES.
    """
    random = np.random.default_rng([seed, 2])
    recording, filtered = read_recording(name), smoothed(name)
    described_as = str(random.choice(KINDS, p=KIND_SHARES))
    true, described = different(with_limits(recording), described_as, random)
    part = str(random.choice(PARTS))
    rows = _taken_rows(part, len(recording.time))
    motion = _part(filtered.motion, rows)
    dynamics = Dynamics(true)
    left = (crossed(name) if exchange == "crossed" else turned(name, random))[rows]
    effort = left + dynamics.torque(motion.q, motion.dq, motion.ddq)
    columns: dict[str, Array] = {"time": recording.time[rows] - recording.time[rows][0]}
    columns |= _named("q_{}", true.joint_names, recording.q[rows])
    if recording.dq is not None:
        columns |= _named("dq_{}", true.joint_names, recording.dq[rows])
    columns |= _named("tau_{}", true.joint_names, effort, recording.measured)
    scored = scored_rows(len(rows))
    load = dynamics.gravity(motion.q[scored])
    rest = rest_of(recording, motion, left)
    alone, _ = gravity_error(dynamics, motion, rest.noise)
    allowed = tolerance(load, true.effort)
    nothing, poses = np.zeros(len(true.moving)), poses_elsewhere(true)
    wide = dynamics.gravity(poses)
    return Case(
        part="real",
        seed=seed,
        labels={
            "path": name,
            "fault": "none",
            "friction": "real",
            "arm": name.partition(" ")[0],
            "description": described_as,
            "portion": part,
            "exchange": exchange,
        },
        names=true.joint_names,
        urdf=urdf_text(described),
        columns=columns,
        measured=recording.measured,
        q_recorded=recording.q[rows][scored],
        load_recorded=load,
        load_torque=load,
        limit_recorded=true.effort,
        limit_torque=true.effort,
        offset_recorded=nothing,
        doubt=None,
        friction=None,
        elsewhere=Elsewhere(poses, wide, wide),
        gravity=GRAVITY,
        springs=np.zeros(len(true.moving), dtype=bool),
        ideal=alone / allowed,
        unknown=frozenset({"offset", "delay-between-channels"}),
        truths=(),
        identifiable=False,
        facts=_facts(recording, rest, load, allowed, rows),
    )


def _taken_rows(part: str, count: int) -> npt.NDArray[np.int64]:
    if part == "first 60 %":
        return np.arange(round(0.6 * count))
    if part == "last 60 %":
        return np.arange(round(0.4 * count), count)
    return np.arange(count)


def _part(motion: Motion, rows: npt.NDArray[Any]) -> Motion:
    return Motion(motion.time[rows], motion.q[rows], motion.dq[rows], motion.ddq[rows])


def drive_columns(recording: Recording, dynamics: Dynamics, motion: Motion, at: npt.NDArray[np.int64]) -> Array:
    """Return the derivatives of the efforts by bodies, drives and counterbalances, shape (k, n, p)."""
    n, part = motion.q.shape[1], _part(motion, at)
    drives = [np.ones(part.q.shape), np.tanh(part.dq / recording.slow), part.dq, part.ddq]
    own = np.zeros((len(at), n, 4 * n + 2 * len(recording.coupled) + 2 * len(recording.balanced)))
    for joint in range(n):
        for place, column in enumerate(drives):
            own[:, joint, place * n + joint] = column[:, joint]
    place = 4 * n
    for first, second in recording.coupled:
        speed = part.dq[:, first] + part.dq[:, second]
        for column in (np.tanh(speed / recording.slow), speed):
            own[:, first, place] = own[:, second, place] = column
            place += 1
    for joint in recording.balanced:
        own[:, joint, place], own[:, joint, place + 1] = np.cos(part.q[:, joint]), np.sin(part.q[:, joint])
        place += 2
    return np.concatenate([dynamics.rows(part.q, part.dq, part.ddq), own], axis=2)


def rigid_torques(recording: Recording, dynamics: Dynamics, q: Array, dq: Array, ddq: Array, fit: HandFit) -> Array:
    """Return a fit's rigid-body torques, counterbalances included [N m or N], shape (k, n)."""
    found = np.empty(q.shape)
    for begin in range(0, len(found), 2000):
        rows = slice(begin, begin + 2000)
        found[rows] = dynamics.rows(q[rows], dq[rows], ddq[rows]) @ fit.bodies
    for joint, (cosine, sine) in zip(recording.balanced, fit.balance, strict=True):
        found[:, joint] += cosine * np.cos(q[:, joint]) + sine * np.sin(q[:, joint])
    return found


def ridge_sizes(parameters: Array) -> Array:
    """Return how far the real bodies may be from the description, shape (10 b,)."""
    bodies = parameters.reshape(-1, 10)
    mass = np.maximum(bodies[:, 0], 0.02 * bodies[:, 0].sum())
    found = MASS * np.abs(bodies)
    found[:, 0] = MASS * mass
    found[:, 1:4] += (CENTRE * mass)[:, None]
    found[:, 4:] += (INERTIA * np.abs(bodies[:, [4, 6, 9]]).max(axis=1) + CENTRE**2 * mass)[:, None]
    return found.ravel()


def ridged(A: Array, y: Array, start: Array, size: Array) -> Array:
    """Return the least-squares solution that is held to a start by sizes, shape (p,)."""
    x, sigma = start, y.std(axis=0)
    for _ in range(ROUNDS):
        # One sample is much like the next: they count for as many as the residual's memory leaves.
        weight = 1.0 / (np.maximum(sigma, 1e-9) * np.sqrt(_memory(y - A @ x)))
        scaled = (A * size * weight[:, None]).reshape(-1, len(size))
        pull = scaled.T @ ((y - A @ start) * weight).ravel()
        x = start + size * np.linalg.solve(np.eye(len(size)) + scaled.T @ scaled, pull)
        sigma = np.sqrt(np.mean((y - A @ x) ** 2, axis=0))
    return np.asarray(x)


def _memory(residual: Array) -> Array:
    """Return how many samples are worth one: the residual's integrated autocorrelation, shape (a,)."""
    centred = residual - residual.mean(axis=0)
    spectrum = np.abs(np.fft.rfft(centred, 2 * len(centred), axis=0)) ** 2
    correlation = np.fft.irfft(spectrum, axis=0)[: len(centred)]
    correlation /= np.maximum(correlation[0], 1e-300)
    found = np.empty(residual.shape[1])
    for joint, column in enumerate(correlation.T):
        ends = np.flatnonzero(column < 0.05)
        found[joint] = 1.0 + 2.0 * float(column[1 : ends[0] if len(ends) else None].sum())
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Rest:
    """What is left of a recording without its arm.

    Attributes:
        gravity: Gravity that a plain least-squares fit still finds in it, root mean square over the poses [N m or N],
            shape (n,). It is the error of the exchange itself: halves of a path that tell different things leave more.
        noise: What neither rigid bodies nor friction explain of it: the noise that an ideal estimator meets.
    """

    gravity: Array
    noise: Noise


def rest_of(recording: Recording, motion: Motion, left: Array) -> Rest:
    """Look at what is left.

    Args:
        recording: The recording.
        motion: Its motion after the filter, or part of it.
        left: Efforts without the arm [N m or N], shape (k, n).
    """
    dynamics, used = Dynamics(recording.arm), recording.measured
    at = np.arange(0, len(left), max(1, len(left) // RESTED_ROWS))
    A, y = drive_columns(recording, dynamics, motion, at)[:, used], left[at][:, used]
    bodies = len(dynamics.parameters)
    drives = np.full(A.shape[2] - bodies, WIDE * np.abs(y).max())
    size = np.concatenate([WIDE * ridge_sizes(dynamics.parameters), drives])
    x = ridged(A, y, np.zeros(len(size)), size)
    rest, spacing = y - A @ x, float(np.ptp(motion.time)) / len(at)
    fast = np.diff(left[:, used], axis=0).std(axis=0) / np.sqrt(2.0)
    white, slow = np.ones(len(used)), np.zeros(len(used))
    white[used], slow[used] = fast, np.sqrt(np.maximum(rest.var(axis=0) - fast**2, 0.0))
    gravity = np.zeros(len(used))
    gravity[used] = np.sqrt(np.mean((dynamics.rows(motion.q[at])[:, used] @ x[:bodies]) ** 2, axis=0))
    return Rest(gravity, Noise(white, slow, 0.5 * spacing * float(np.median(_memory(rest)))))


def _named(
    header: str, names: Sequence[str], values: Array, used: npt.NDArray[np.bool_] | None = None
) -> dict[str, Array]:
    chosen = np.ones(len(names), dtype=bool) if used is None else used
    return {header.format(name): values[:, at] for at, name in enumerate(names) if chosen[at]}


def _facts(
    recording: Recording, rest: Rest, load: Array, allowed: Array, rows: npt.NDArray[np.int64]
) -> dict[str, Any]:
    return {
        "rate_hz": round(len(recording.time) / float(np.ptp(recording.time)), 1),
        "rows": len(rows),
        "exchange": [float(f"{value:.3g}") for value in rest.gravity / allowed],
        "noise": [float(f"{value:.3g}") for value in np.hypot(rest.noise.white, rest.noise.slow)],
        "noise_time_s": round(rest.noise.time, 3),
        "load_rms": [float(f"{value:.3g}") for value in np.sqrt(np.mean(load**2, axis=0))],
        "travel": [float(f"{value:.3g}") for value in np.ptp(recording.q[rows], axis=0)],
        "limit": [float(f"{value:.3g}") for value in with_limits(recording).effort],
    }
