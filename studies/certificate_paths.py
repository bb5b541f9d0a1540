"""Paths of the certificate study: what an arm's joints do, from good excitation to hardly any.

A path is exact: positions, velocities and accelerations belong together. Tables of poses have no motion between rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from certificate_arms import Arm, Array, Random

MARGIN = 0.05
"""Share of each joint's range that paths keep away from its limits."""
FEW_TURNS = np.pi
"""A rotary joint is moved at most so far to either side of the middle of its range [rad]."""


@dataclass(frozen=True, slots=True, eq=False)
class Motion:
    """What the joints do.

    Attributes:
        time: Instants [s], shape (k,); for a table of poses the times at which its rows were noted.
        q: Positions [rad or m], shape (k, n).
        dq: Velocities [rad/s or m/s], shape (k, n); 0 in a table.
        ddq: Accelerations [rad/s² or m/s²], shape (k, n); 0 in a table.
        side: For a table: from which side each joint came, −1 or 1, shape (k, n); None for a motion.
    """

    time: Array
    q: Array
    dq: Array
    ddq: Array
    side: Array | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Room:
    """Where and how fast the joints may move: middle and largest excursion [rad or m], speed [rad/s or m/s], (n,)."""

    centre: Array
    reach: Array
    speed: Array


Wave = Callable[[Array], tuple[Array, Array, Array]]
"""Positions and their first and second derivatives at given values of the argument, each of shape (k, n)."""


def draw_path(kind: str, arm: Arm, duration: float, rate: float, random: Random) -> Motion:
    """Return a path.

    Args:
        kind: A key of PATHS.
        arm: The arm: its limits are kept.
        duration: How long it takes [s]; tables of poses have as many rows as poses were noted in this time.
        rate: Samples per second [Hz].
        random: Random numbers.
    """
    return PATHS[kind](room_of(arm, random), duration, rate, random)


def room_of(arm: Arm, random: Random) -> Room:
    """Draw where and how fast an arm's joints move, within their limits."""
    middle, half = 0.5 * (arm.lower + arm.upper), 0.5 * (arm.upper - arm.lower)
    half = np.where(arm.turns, np.minimum(half, FEW_TURNS), half) * (1.0 - 2.0 * MARGIN)
    centre = middle + 0.3 * half * random.uniform(-1.0, 1.0, len(half))
    reach = (half - np.abs(centre - middle)) * random.uniform(0.6, 1.0, len(half))
    limit = np.where(arm.speed > 0.0, arm.speed, np.where(arm.turns, 2.0, 0.5))
    usual = np.where(arm.turns, random.uniform(0.3, 1.5), random.uniform(0.1, 0.3))
    return Room(centre, reach, np.minimum(usual, 0.8 * limit))


def _clock(duration: float, rate: float) -> Array:
    return np.arange(round(duration * rate)) / rate


def _multisine(room: Room, duration: float, random: Random, reach: Array | None = None) -> Wave:
    """Five harmonics of a period of about the duration, each joint with its own phases."""
    n = len(room.centre)
    omega = 2.0 * np.pi * np.arange(1, 6) / (duration * random.uniform(0.8, 1.2))
    if duration > 20.0:
        omega = omega * random.uniform(1.0, 2.5)
    weight = random.uniform(0.3, 1.0, (n, 5)) / np.sqrt(np.arange(1, 6))
    phase = random.uniform(0.0, 2.0 * np.pi, (n, 5))

    def raw(at: Array) -> tuple[Array, Array, Array]:
        angle = omega * at[:, None, None] + phase
        return (
            (weight * np.sin(angle)).sum(axis=2),
            (weight * omega * np.cos(angle)).sum(axis=2),
            -(weight * omega**2 * np.sin(angle)).sum(axis=2),
        )

    q, dq, _ = raw(np.linspace(0.0, duration, 1000))
    allowed = room.reach if reach is None else reach
    scale = np.minimum(allowed / np.abs(q).max(axis=0), room.speed / np.abs(dq).max(axis=0))

    def wave(at: Array) -> tuple[Array, Array, Array]:
        q, dq, ddq = raw(at)
        return room.centre + scale * q, scale * dq, scale * ddq

    return wave


def _good(room: Room, duration: float, rate: float, random: Random) -> Motion:
    time = _clock(duration, rate)
    return Motion(time, *_multisine(room, duration, random)(time))


def _small_region(room: Room, duration: float, rate: float, random: Random) -> Motion:
    time = _clock(duration, rate)
    reach = room.reach * random.uniform(0.05, 0.2)
    return Motion(time, *_multisine(room, duration, random, reach)(time))


def _growing(room: Room, duration: float, rate: float, random: Random) -> Motion:
    """The amplitude grows from a twentieth to the whole."""
    time = _clock(duration, rate)
    q, dq, ddq = _multisine(room, duration, random)(time)
    swing, slope = 0.05 + 0.95 * time[:, None] / duration, 0.95 / duration
    away = q - room.centre
    return Motion(time, room.centre + swing * away, swing * dq + slope * away, swing * ddq + 2.0 * slope * dq)


def _out_and_back(room: Room, duration: float, rate: float, random: Random) -> Motion:
    time = _clock(duration, rate)
    half = 0.5 * duration
    wave = _multisine(room, half, random)
    turn = 2.0 * np.pi * time / duration
    # Out and back along the same curve: its argument runs to half the duration and back, at rest at both ends.
    along = half * 0.5 * (1.0 - np.cos(turn))
    speed = half * 0.5 * np.sin(turn) * 2.0 * np.pi / duration
    change = half * 0.5 * np.cos(turn) * (2.0 * np.pi / duration) ** 2
    q, first, second = wave(along)
    return Motion(time, q, first * speed[:, None], second * speed[:, None] ** 2 + first * change[:, None])


def _one_line(room: Room, duration: float, rate: float, random: Random) -> Motion:
    """All joints move along one straight line of joint space."""
    time = _clock(duration, rate)
    line = Room(np.zeros(1), np.ones(1), np.array([float((room.speed / room.reach).min())]))
    s, ds, dds = _multisine(line, duration, random)(time)
    along = room.reach * random.choice([-1.0, 1.0], len(room.reach)) * random.uniform(0.5, 1.0, len(room.reach))
    return Motion(time, room.centre + s * along, ds * along, dds * along)


def _one_joint(room: Room, duration: float, rate: float, random: Random) -> Motion:
    time = _clock(duration, rate)
    q, dq, ddq = _multisine(room, duration, random)(time)
    moves = np.arange(len(room.centre)) == random.integers(len(room.centre))
    stands = room.centre + 0.5 * room.reach * random.uniform(-1.0, 1.0, len(room.centre))
    return Motion(time, np.where(moves, q, stands), np.where(moves, dq, 0.0), np.where(moves, ddq, 0.0))


def moves(room: Room, duration: float, rate: float, dwell: float, random: Random) -> Motion:
    """Go from pose to pose, each move of minimum jerk, and stand at each."""
    time = _clock(duration, rate)
    q, dq, ddq = (np.zeros((len(time), len(room.centre))) for _ in range(3))
    at, begun = room.centre + room.reach * random.uniform(-1.0, 1.0, len(room.centre)), 0.0
    while begun < duration:
        target = room.centre + room.reach * random.uniform(-1.0, 1.0, len(room.centre))
        needed = max(1.875 * float(np.max(np.abs(target - at) / room.speed)), 0.3)
        inside = (time >= begun) & (time < begun + needed)
        u = ((time[inside] - begun) / needed)[:, None]
        step = target - at
        q[inside] = at + step * (10.0 * u**3 - 15.0 * u**4 + 6.0 * u**5)
        dq[inside] = step * (30.0 * u**2 - 60.0 * u**3 + 30.0 * u**4) / needed
        ddq[inside] = step * (60.0 * u - 180.0 * u**2 + 120.0 * u**3) / needed**2
        q[time >= begun + needed] = target
        begun += needed + dwell * random.uniform(0.7, 1.3)
        at = target
    return Motion(time, q, dq, ddq)


def _point_to_point(room: Room, duration: float, rate: float, random: Random) -> Motion:
    return moves(room, duration, rate, 0.1, random)


def _poses_and_motion(room: Room, duration: float, rate: float, random: Random) -> Motion:
    return moves(room, duration, rate, float(random.uniform(0.6, 2.5)), random)


def _table(room: Room, duration: float, random: Random, *, both_sides: bool) -> Motion:
    """Poses noted by hand, one every few seconds, in no special order."""
    n, count = len(room.centre), max(6, round(duration))
    poses = room.centre + room.reach * random.uniform(-1.0, 1.0, (count, n))
    if both_sides:
        poses = np.repeat(poses[: max(4, count // 2)], 2, axis=0)
        side = np.tile([[1.0], [-1.0]], (len(poses) // 2, n))
        poses = poses + random.normal(0.0, 1e-4, poses.shape)
    else:
        # Nobody cared: each joint came from where it was before.
        side = np.sign(np.diff(poses, axis=0, prepend=room.centre[None]))
    still = np.zeros(poses.shape)
    return Motion(np.cumsum(random.uniform(2.0, 5.0, len(poses))), poses, still, still, side)


def _table_one_side(room: Room, duration: float, rate: float, random: Random) -> Motion:
    return _table(room, duration, random, both_sides=False)


def _table_both_sides(room: Room, duration: float, rate: float, random: Random) -> Motion:
    return _table(room, duration, random, both_sides=True)


PATHS: dict[str, Callable[[Room, float, float, Random], Motion]] = {
    "multisine": _good,
    "point to point": _point_to_point,
    "one line": _one_line,
    "one joint": _one_joint,
    "small region": _small_region,
    "out and back": _out_and_back,
    "growing": _growing,
    "table, one side": _table_one_side,
    "table, both sides": _table_both_sides,
    "poses and motion": _poses_and_motion,
}
