"""Known arms in real recordings: noise, friction and path stay real, the arm is exchanged for one that is known.

Rigid-body torques are fitted by least squares to the *other* half of the path (or to the other recordings of the same
arm) and subtracted; those of the known arm are added. With the same samples the answer would be right by algebra: what
a least-squares fit leaves is orthogonal to everything that the product can fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from certificate_arms import KIND_SHARES, KINDS, Array, different, urdf_text
from certificate_case import Case, scored_rows, tolerance
from certificate_dynamics import Dynamics
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
PARTS = ("whole", "whole", "first 60 %", "last 60 %")
"""How much of a recording a case has; the same place twice is twice as likely."""
FITTED_ROWS = 3000
"""Samples that a fit by hand takes, evenly chosen."""
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
        bodies: Inertial parameters, shape (10 b,).
        balance: Counterbalances [N m]: cosine and sine of the joint's angle, shape (balanced joints, 2).
        residual: Root mean square error on its own samples [N m or N], shape (n,).
    """

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

    q = filtered(recording.q)
    dq = np.gradient(q, grid, axis=0) if recording.dq is None else filtered(recording.dq)
    ddq = np.gradient(dq, grid, axis=0)
    effort = filtered(np.where(recording.measured, recording.effort, 0.0))
    whole = (grid - grid[0] >= recording.cut) & (grid[-1] - grid >= recording.cut)
    return Smoothed(Motion(grid, q, dq, ddq), effort, whole)


@cache
def fit_by_hand(name: str, half: int | None) -> HandFit:
    """Fit a recording, or half of its path.

    Args:
        name: The recording, or several joined by "+".
        half: 0 or 1 for the first or second half of the path; None for all of it.
    """
    parts = name.split("+")
    first = read_recording(parts[0])
    dynamics = Dynamics(first.arm)
    rows, efforts = [], []
    for part in parts:
        recording, filtered = read_recording(part), smoothed(part)
        used = filtered.whole if half is None else filtered.whole & ((recording.along >= 0.5) == bool(half))
        at = np.flatnonzero(used)
        at = at[:: max(1, len(at) * len(parts) // FITTED_ROWS)]
        rows.append(_columns(recording, dynamics, filtered.motion, at))
        efforts.append(filtered.effort[at])
    A, y = np.concatenate(rows)[:, first.measured], np.concatenate(efforts)[:, first.measured]
    described = dynamics.parameters
    start = np.concatenate([described, np.zeros(A.shape[2] - len(described))])
    size = np.concatenate([_ridge(described), np.full(len(start) - len(described), 10.0 * np.abs(y).max())])
    sigma = y.std(axis=0)
    x = start
    for _ in range(ROUNDS):
        left = y - A @ x
        # One sample is much like the next: they count for as many as the residual's memory leaves.
        weight = 1.0 / (np.maximum(sigma, 1e-9) * np.sqrt(_memory(left)))
        scaled = (A * size * weight[:, None]).reshape(-1, len(size))
        pull = scaled.T @ ((y - A @ start) * weight).ravel()
        x = start + size * np.linalg.solve(np.eye(len(size)) + scaled.T @ scaled, pull)
        sigma = np.sqrt(np.mean((y - A @ x) ** 2, axis=0))
    residual = np.full(len(first.measured), np.nan)
    residual[first.measured] = sigma
    count = len(first.balanced)
    return HandFit(x[: len(described)], x[len(x) - 2 * count :].reshape(count, 2), residual)


@cache
def without_arm(name: str) -> Array:
    """Return the recorded efforts less rigid-body torques that were fitted elsewhere [N m or N], shape (k, n)."""
    recording, filtered = read_recording(name), smoothed(name)
    dynamics = Dynamics(recording.arm)
    found = np.where(recording.measured, recording.effort, np.nan)
    if name in OTHERS:
        return found - _rigid(recording, dynamics, filtered.motion, fit_by_hand("+".join(OTHERS[name]), None))
    for half in (0, 1):
        rows = (recording.along >= 0.5) == bool(half)
        found[rows] -= _rigid(recording, dynamics, _part(filtered.motion, rows), fit_by_hand(name, 1 - half))
    return found


def real_case(seed: int) -> Case:
    """Return the case of a seed; the recordings of a half take turns."""
    chosen = CHOSEN if seed % 2 == 0 else JUDGED
    return known_arm_case(seed, chosen[seed // 2 % len(chosen)])


def known_arm_case(seed: int, name: str) -> Case:
    """Return a recording with a known arm in it.

    Args:
        seed: Seed of the arm, of the description's errors, and of how much of the recording is used.
        name: The recording.
    """
    random = np.random.default_rng([seed, 2])
    recording, filtered = read_recording(name), smoothed(name)
    described_as = str(random.choice(KINDS, p=KIND_SHARES))
    true, described = different(with_limits(recording), described_as, random)
    part = str(random.choice(PARTS))
    rows = _taken_rows(part, len(recording.time))
    motion = _part(filtered.motion, rows)
    dynamics = Dynamics(true)
    left = without_arm(name)[rows]
    effort = left + dynamics.torque(motion.q, motion.dq, motion.ddq)
    columns: dict[str, Array] = {"time": recording.time[rows] - recording.time[rows][0]}
    columns |= _named("q_{}", true.joint_names, recording.q[rows])
    if recording.dq is not None:
        columns |= _named("dq_{}", true.joint_names, recording.dq[rows])
    columns |= _named("tau_{}", true.joint_names, effort, recording.measured)
    scored = scored_rows(len(rows))
    load = dynamics.gravity(motion.q[scored])
    noise = _noise_of(left, motion, recording)
    alone, _ = gravity_error(dynamics, motion, noise)
    nothing = np.zeros(len(true.moving))
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
        springs=False,
        ideal=alone / tolerance(load, true.effort),
        unknown=frozenset({"offset", "delay-between-channels"}),
        truths=(),
        identifiable=False,
        facts=_facts(recording, noise, load, rows),
    )


def _taken_rows(part: str, count: int) -> npt.NDArray[np.int64]:
    if part == "first 60 %":
        return np.arange(round(0.6 * count))
    if part == "last 60 %":
        return np.arange(round(0.4 * count), count)
    return np.arange(count)


def _part(motion: Motion, rows: npt.NDArray[Any]) -> Motion:
    return Motion(motion.time[rows], motion.q[rows], motion.dq[rows], motion.ddq[rows])


def _columns(recording: Recording, dynamics: Dynamics, motion: Motion, at: npt.NDArray[np.int64]) -> Array:
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


def _rigid(recording: Recording, dynamics: Dynamics, motion: Motion, fit: HandFit) -> Array:
    """Return a fit's rigid-body torques, counterbalances included [N m or N], shape (k, n)."""
    found = np.empty(motion.q.shape)
    for begin in range(0, len(found), 2000):
        rows = slice(begin, begin + 2000)
        found[rows] = dynamics.rows(motion.q[rows], motion.dq[rows], motion.ddq[rows]) @ fit.bodies
    for joint, (cosine, sine) in zip(recording.balanced, fit.balance, strict=True):
        found[:, joint] += cosine * np.cos(motion.q[:, joint]) + sine * np.sin(motion.q[:, joint])
    return found


def _ridge(parameters: Array) -> Array:
    """Return how far the real bodies may be from the description, shape (10 b,)."""
    bodies = parameters.reshape(-1, 10)
    mass = np.maximum(bodies[:, 0], 0.02 * bodies[:, 0].sum())
    found = MASS * np.abs(bodies)
    found[:, 0] = MASS * mass
    found[:, 1:4] += (CENTRE * mass)[:, None]
    found[:, 4:] += (INERTIA * np.abs(bodies[:, [4, 6, 9]]).max(axis=1) + CENTRE**2 * mass)[:, None]
    return found.ravel()


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


def _noise_of(left: Array, motion: Motion, recording: Recording) -> Noise:
    """Return the noise that an ideal estimator meets: what friction, offset and rotor do not explain of the rest."""
    n, white, slow, times = left.shape[1], [], [], []
    period = float(np.median(np.diff(motion.time)))
    for joint in range(n):
        if not recording.measured[joint]:
            white.append(1.0)
            slow.append(0.0)
            continue
        speed = motion.dq[:, joint]
        shapes = [np.ones(len(speed)), np.tanh(speed / recording.slow), speed, motion.ddq[:, joint]]
        for first, second in recording.coupled:
            together = motion.dq[:, first] + motion.dq[:, second]
            shapes += [np.tanh(together / recording.slow), together] if joint in (first, second) else []
        columns = np.column_stack(shapes)
        rest = left[:, joint] - columns @ np.linalg.lstsq(columns, left[:, joint], rcond=None)[0]
        fast = np.diff(rest).std() / np.sqrt(2.0)
        white.append(float(fast))
        slow.append(float(np.sqrt(max(rest.var() - fast**2, 0.0))))
        times.append(float(_memory(rest[:, None])[0]) * period / 2.0)
    return Noise(np.array(white), np.array(slow), float(np.median(times)))


def _named(
    header: str, names: Sequence[str], values: Array, used: npt.NDArray[np.bool_] | None = None
) -> dict[str, Array]:
    chosen = np.ones(len(names), dtype=bool) if used is None else used
    return {header.format(name): values[:, at] for at, name in enumerate(names) if chosen[at]}


def _facts(recording: Recording, noise: Noise, load: Array, rows: npt.NDArray[np.int64]) -> dict[str, Any]:
    return {
        "rate_hz": round(len(recording.time) / float(np.ptp(recording.time)), 1),
        "rows": len(rows),
        "noise": [float(f"{value:.3g}") for value in np.hypot(noise.white, noise.slow)],
        "noise_time_s": round(noise.time, 3),
        "load_rms": [float(f"{value:.3g}") for value in np.sqrt(np.mean(load**2, axis=0))],
        "travel": [float(f"{value:.3g}") for value in np.ptp(recording.q[rows], axis=0)],
        "limit": [float(f"{value:.3g}") for value in with_limits(recording).effort],
    }
