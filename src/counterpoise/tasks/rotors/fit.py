"""What a joint's torque moves, from pulses of torque and the motion that they make.

While a joint slides one way under the pulse w(t) beyond what held it,

    J q̈_j = w(t − d) − Σ_k M_jk q̈_k − c − b q̇_j − s e^{−|q̇_j|/v_s} + J_l δ̈

with J the inertia of links and rotor, the other joints standing; M_jk the coupling to the other joints, by the model;
d the delay between command and torque; c what gravity, its error and dry friction add up to; b and s how friction
depends on the speed; δ the twist of the gear, which swings at ω about what the torque twists it by. Integrated twice it
is linear in positions, which encoders tell far better than accelerations:

    q_j = q_0 + v_0 t + p (∬w(t − d) − Σ_k M_jk Δq_k) − p c t²/2 − p b ∫Δq_j − p s ∬e^{−|q̇|/v_s}
          + κ h_ω(t − d) + ringing,

p = 1/J, h_ω the answer of an oscillator to w. q_0, v_0, c and the ringing from before are each pulse's own and are
projected out of it; p, b, s, κ, ω and d belong to the joint. A pulse pushes the joint, eases off and pushes it again
while it slides the same way, so that the torque has several levels at the same sign of friction: that is what tells p
from c.

All ω, d and choices of what friction may do are fitted, and averaged by how well each explains the positions; their
scatter is part of the uncertainty. So is how much the average changes when any one pulse is left out (jackknife), and
what no pulse of this kind shows: the torque constant's own error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...foundation import Array

STRIBECK = 0.03
"""v_s, speed over which dry friction falls from breaking away to sliding [rad/s]."""
DELAYS, DELAY_TICKS, DELAY_TIME = 12, 3.0, 0.008
"""How many delays are tried, up to how many ticks and how much time beside [s]."""
MODES = (0.0, *np.geomspace(6.0, 110.0, 17).tolist())
"""Frequencies of the gear's mode that are tried [Hz]; 0 for a gear that twists without swinging."""
MODE_DAMPING = 0.05
LEAST_CYCLES = 1.0
"""Periods of a mode that a slide must last for the mode to be looked for."""
LEAST_ROWS = 8
"""Ticks for which a joint must slide in a pulse."""
LEAST_STEPS = 20.0
"""Steps of its encoder that a joint must slide."""
LEAST_PULSES = 4
"""Pulses that a joint's inertia needs."""
ROWS_PER_FACT = 3.0
"""Neighbouring rows err together: so many of them count as one."""
MISFIT_FACTS = 6.0
"""What no fit explains counts as if it had been seen in so few independent rows."""
STUDENT = (12.7, 4.3, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26)
"""97.5 % points of Student's distribution for 1, 2, … degrees of freedom."""
TORQUE_ERROR = 0.03
"""Standard deviation of a drive's torque constant, relative: what is commanded is not quite what the motor gives."""
MODEL_ERROR = 0.05
"""... and of p by what friction and gears do that none of the fits allows for, relative (studies/unknown_rotors.py)."""
MOST_SPREAD = 1.1
"""Largest half-width of the 95 % band, as a logarithm: J known within a factor of 3 is still better than not at all."""
COLUMNS = ((0,), (0, 1), (0, 1, 2), (0, 3), (0, 1, 3), (0, 1, 2, 3))
"""What may go into a fit: p (0), viscosity (1), Stribeck (2), twist (3)."""
TWIST = 3
"""Index of the twist's column."""
SURELY = 0.95
"""Weight of the fits whose p is positive that is asked for."""
MODE_ROWS = 14
"""Ticks that a pulse needs before its own ringing is taken out of it."""
STANDS = 0.2
"""Share of its top speed below which a joint no longer surely slides."""
STIFF = 15.0
"""Least frequency of a gear that twists without swinging [Hz]."""


@dataclass(frozen=True, slots=True, eq=False)
class Pulse:
    """One pulse as it was recorded, N ticks.

    Attributes:
        time: Times of the samples [s], shape (N,).
        q: Positions of all joints [rad or m], shape (N, n).
        torque: Torque of the pulse sent after each sample, beyond what held the joint [N m or N], shape (N,).
        direction: +1 or −1.
        coupling: M_jk of this joint's row with its own entry 0 [kg m² or kg], shape (n,).
        joint: Index of the joint.
        slide: Displacement from which the joint surely slides [rad or m].
        scale: What stands for a radian: 1 for a rotary joint.
    """

    time: Array
    q: Array
    torque: Array
    direction: float
    coupling: Array
    joint: int
    slide: float
    scale: float


@dataclass(frozen=True, slots=True, eq=False)
class Grams:
    """A pulse reduced to products of its columns, one set for every mode and delay; see the module.

    Attributes:
        products: Products of [p, b, s, κ, q] with each other, shape (modes, delays, 5, 5).
        rows: Ticks that were used.
    """

    products: Array
    rows: int


@dataclass(frozen=True, slots=True)
class Inertia95:
    """An inertia with its 95 % band [kg m² or kg].

    Attributes:
        value: J.
        low: Lower end.
        high: Upper end.
    """

    value: float
    low: float
    high: float


def delays(dt: float) -> Array:
    """Return the delays that are tried [s]."""
    return np.linspace(0.0, DELAY_TICKS * dt + DELAY_TIME, DELAYS)


def reduced(pulse: Pulse, dt: float) -> Grams | None:
    """Return the products of a pulse's columns; None where it slides for too few ticks.

    Args:
        pulse: The pulse.
        dt: Nominal time between two ticks [s].
    """
    time = pulse.time - pulse.time[0]
    q = pulse.q[:, pulse.joint]
    rows = _sliding(pulse.direction * (q - q[0]), time, pulse.slide)
    if rows is None or rows[1] - rows[0] < LEAST_ROWS:
        return None
    first, last = rows
    moved = q - q[0]
    coupled = (pulse.q - pulse.q[0]) @ pulse.coupling
    fade = np.exp(-np.abs(_smooth_speed(q, time)) / (STRIBECK * pulse.scale)) * pulse.direction
    columns = np.zeros((len(time), 5))
    columns[:, 1] = -_integral(moved, time)
    columns[:, 2] = -_integral(_integral(fade, time), time)
    columns[:, 4] = moved
    torque = _HeldTorque(pulse.torque, time)
    late = [torque.at(time[first:last] - delay) for delay in delays(dt)]
    own = time[first:last] - time[first]
    products = np.zeros((len(MODES), DELAYS, 5, 5))
    for mode, frequency in enumerate(MODES):
        if 0.0 < frequency * own[-1] < LEAST_CYCLES:
            products[mode] = np.nan  # too slow to be told from the motion itself
            continue
        basis = _basis(own, frequency)
        twists = _twists(torque, frequency)
        for index, (rows_of, since, value, twice) in enumerate(late):
            used = columns[first:last].copy()
            used[:, 0] = twice - coupled[first:last]
            used[:, 3] = value if twists is None else twists(rows_of, since, value)
            used -= basis @ (basis.T @ used)
            products[mode, index] = used.T @ used
    return Grams(products, last - first)


def fitted(pulses: list[Grams], links: float, step: float) -> Inertia95 | str:
    """Return the inertia that pulses of one joint show, or why they show none.

    Args:
        pulses: The pulses, reduced.
        links: The links' share of it, by the model [kg m² or kg].
        step: Step of the joint's encoder [rad or m]; 0 where none was seen.
    """
    n = len(pulses)
    if n < LEAST_PULSES:
        return f"only {n} pulses moved it long enough to be used; {LEAST_PULSES} are needed"
    each = np.array([pulse.products for pulse in pulses])
    told = ~np.isnan(each).any(axis=(0, 2, 3, 4))  # modes that every pulse could tell
    each, modes = each[:, told], np.array(MODES)[told]
    rows = np.array([pulse.rows for pulse in pulses])
    total = each.sum(axis=0)
    floor = step**2 / 12.0
    known = _averaged(total, int(rows.sum()), n, modes, links, floor)
    without = [
        _averaged(total - one, int(rows.sum() - count), n - 1, modes, links, floor)
        for one, count in zip(each, rows, strict=True)
    ]
    left = [other[0] for other in without if other is not None]
    if known is None or len(left) < n:
        return "the pulses do not distinguish its inertia from its friction"
    mean, scatter = known
    jackknife = math.sqrt((n - 1) / n * float(np.sum((np.array(left) - np.mean(left)) ** 2)))
    student = STUDENT[min(n - 1, len(STUDENT)) - 1]
    half = math.sqrt((student * jackknife) ** 2 + (1.96 * scatter) ** 2 + 1.96**2 * (TORQUE_ERROR**2 + MODEL_ERROR**2))
    if half > MOST_SPREAD:
        return f"its inertia is known only within a factor of {math.exp(min(half, 20.0)):.2g}"
    return Inertia95(math.exp(-mean), math.exp(-mean - half), math.exp(-mean + half))


def _averaged(
    products: Array, rows: int, pulses: int, modes: Array, links: float, floor: float
) -> tuple[float, float] | None:
    """Return ln p averaged over all fits, and its standard deviation; None where p is not surely positive.

    A motor that turns against its links by a gear moves by ρ h_ω / (J ω²) beyond what both do together, ρ being the
    links' inertia by the rotor's, and −1 where the encoder sits on the link: fits with another twist do not count.

    What is left beyond the encoder's own steps is no noise but something that the fit does not know. It may look like
    inertia, however many rows there are, and counts as a few facts against it.
    """
    omega = (2.0 * math.pi * np.where(modes > 0.0, modes, STIFF))[:, None]
    values, spreads, scores = [], [], []
    for columns in COLUMNS:
        chosen = list(columns)
        A = products[..., chosen, :][..., chosen]
        b = products[..., chosen, 4]
        scale = np.sqrt(np.maximum(np.einsum("...ii->...i", A), 1e-300))
        normal = A / scale[..., :, None] / scale[..., None, :] + 1e-10 * np.eye(len(chosen))
        inverse = np.linalg.inv(normal)
        solved = np.einsum("...ij,...j->...i", inverse, b / scale)
        left = np.maximum(products[..., 4, 4] - np.einsum("...i,...i", solved, b / scale), 1e-30)
        p = solved[..., 0] / scale[..., 0]
        values.append(p)
        if TWIST in columns:
            J = 1.0 / np.where(p > 0.0, p, np.inf)
            ratio = solved[..., -1] / scale[..., -1] * omega**2 * J
            most = 0.3 + 1.5 * links / np.maximum(J - links, 0.05 * J + 1e-30)
            left = np.where((p <= 0.0) | (ratio < -1.5) | (ratio > most), np.inf, left)
        # A model with more numbers must explain more; the ringing takes two of each pulse.
        free = len(chosen) + np.where(modes > 0.0, 2.0 * pulses, 0.0)[:, None]
        facts = np.maximum(rows / ROWS_PER_FACT - len(chosen) - 2, 1.0)
        noise = np.where(np.isinf(left), 0.0, left)
        unknown = np.maximum(noise - rows * floor, 0.0) / MISFIT_FACTS
        spreads.append(inverse[..., 0, 0] / scale[..., 0] ** 2 * (noise / facts + unknown))
        scores.append(-0.5 * facts * np.log(left) - 0.5 * free * math.log(rows))
    p, variance, score = np.array(values), np.array(spreads), np.array(scores)
    weight = np.exp(score - score.max())
    weight /= weight.sum()
    good = p > 0.0
    if weight[good].sum() < SURELY:
        return None
    weight, p, variance = weight[good] / weight[good].sum(), p[good], variance[good]
    mean = float(np.sum(weight * np.log(p)))
    spread = float(np.sum(weight * ((np.log(p) - mean) ** 2 + np.minimum(variance / p**2, 4.0))))
    return mean, math.sqrt(spread)


class _HeldTorque:
    """A torque that is held between ticks, and its double integral, at any time."""

    def __init__(self, torque: Array, time: Array) -> None:
        steps = np.diff(time)
        self.torque, self.time, self.steps = torque, time, steps
        self._once = np.concatenate([[0.0], np.cumsum(torque[:-1] * steps)])
        self._twice = np.concatenate([[0.0], np.cumsum(self._once[:-1] * steps + 0.5 * torque[:-1] * steps**2)])

    def at(self, time: Array) -> tuple[npt.NDArray[np.int64], Array, Array, Array]:
        """Return rows, times since them, the torque and its double integral; nothing before the first tick."""
        row = np.clip(np.searchsorted(self.time, time, side="right") - 1, 0, len(self.time) - 1).astype(np.int64)
        begun = time >= self.time[0]
        since = np.where(begun, time - self.time[row], 0.0)
        twice = self._twice[row] + self._once[row] * since + 0.5 * self.torque[row] * since**2
        return row, since, np.where(begun, self.torque[row], 0.0), np.where(begun, twice, 0.0)


def _twists(torque: _HeldTorque, frequency: float) -> Callable[[npt.NDArray[np.int64], Array, Array], Array] | None:
    """Return what gives the twist by rows, times since them and the torque there; None for the torque itself."""
    if frequency == 0.0:
        return None
    omega = 2.0 * math.pi * frequency
    root = math.sqrt(1.0 - MODE_DAMPING**2)
    pole = omega * complex(-MODE_DAMPING, root)
    jump = complex(1.0, -MODE_DAMPING / root)
    turn = np.exp(pole * torque.steps)
    states = np.zeros(len(torque.time), dtype=np.complex128)
    state, before = 0.0j, 0.0
    for row, value in enumerate(torque.torque.tolist()):
        state = (state * turn[row - 1] if row else 0.0j) + (before - value) * jump
        states[row], before = state, value

    def at(rows: npt.NDArray[np.int64], since: Array, value: Array) -> Array:
        return np.asarray(value + (states[rows] * np.exp(pole * since)).real)

    return at


def _basis(time: Array, frequency: float) -> Array:
    """Return an orthonormal basis of what is each pulse's own, shape (N, 3 or 5)."""
    columns = [np.ones_like(time), time, time**2]
    if frequency > 0.0 and len(time) > MODE_ROWS:
        omega = 2.0 * math.pi * frequency
        fade = np.exp(-MODE_DAMPING * omega * time)
        columns += [fade * np.cos(omega * time), fade * np.sin(omega * time)]
    return np.linalg.qr(np.column_stack(columns))[0]


def _sliding(way: Array, time: Array, slide: float) -> tuple[int, int] | None:
    """Return first and last + 1 of the rows at which the joint slides; None where it does not."""
    begun = np.flatnonzero(way >= slide)
    if not begun.size or len(way) < LEAST_ROWS:
        return None
    first = int(begun[0])
    speed = _smooth_speed(way, time)
    peak = first + int(np.argmax(speed[first:]))
    slow = np.flatnonzero(speed[peak:] < STANDS * speed[peak])
    return first, peak + int(slow[0]) if slow.size else len(way)


def _smooth_speed(q: Array, time: Array) -> Array:
    """Return the speed, averaged over five ticks."""
    return np.convolve(np.pad(np.gradient(q, time), 2, mode="edge"), np.full(5, 0.2), "valid")


def _integral(values: Array, time: Array) -> Array:
    """Return the running integral by the trapezoidal rule, 0 at the first row."""
    return np.concatenate([[0.0], np.cumsum(0.5 * (values[1:] + values[:-1]) * np.diff(time))])
