"""The path through joint space: which way each joint last moved, and how new a later part of the path is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..foundation import Array

Indices = npt.NDArray[np.int64]

REVERSAL = 2e-3
"""Travel after which a joint counts as moving the other way [rad or m]: more than friction yields before it slides."""
THINNING = 0.01
"""Distance between two points of a thinned path, as a share of the path's size."""
EARLIER_SHARE = 0.6
"""Share of a path's length that is its first part: the training part of a usual split."""
SMALL_JOINT = 0.05
"""Least range of a joint, as a share of the largest one, by which its motion is scaled: a joint that hardly moves does
not make a path new."""


def direction_of_travel(q: Array, reversal: Array | float = REVERSAL) -> Array:
    """Return the direction of each joint's last motion, shape (k, n): −1, 0 (not moved yet) or +1.

    A joint that stands keeps the direction in which it arrived, which is the side that its friction pushes from. Motion
    back by less than ``reversal`` (noise, overshoot within the friction's give) is no reversal.

    Args:
        q: Positions [rad or m], shape (k, n), finite.
        reversal: Travel that counts as motion [rad or m], one or (n,).
    """
    follower = Follower(q[0], reversal)
    directions = np.zeros_like(q)
    for row, place in enumerate(q):
        follower.update(place)
        directions[row] = follower.direction
    return directions


class Follower:
    """What each joint drags along behind it with a play of ``reversal`` to either side, as a slider with friction.

    Attributes:
        place: Where it is [rad or m], shape (n,).
        direction: Direction of each joint's last motion, shape (n,): −1, 0 (not moved yet) or +1.
    """

    def __init__(self, q: Array, reversal: Array | float = REVERSAL) -> None:
        """Begin at positions q [rad or m], shape (n,), NaN for the first that comes; ``reversal`` one or (n,)."""
        self.place, self.direction = q.copy(), np.zeros(q.shape)
        self._reach = np.broadcast_to(np.asarray(reversal, dtype=np.float64), q.shape)
        self._pushed, self._moved = np.zeros((2, *q.shape))

    def update(self, q: Array) -> None:
        """Drag it along to positions q [rad or m], shape (n,), finite."""
        if self.place[0] != self.place[0]:  # NaN
            self.place[:] = q
        pushed, moved = self._pushed, self._moved
        np.subtract(q, self._reach, out=pushed)
        np.add(q, self._reach, out=moved)
        np.maximum(self.place, pushed, out=pushed)
        np.minimum(pushed, moved, out=pushed)
        np.subtract(pushed, self.place, out=moved)
        np.sign(moved, out=moved)
        np.copyto(self.direction, moved, where=moved != 0.0)
        self.place, self._pushed = pushed, self.place


def joint_scales(q: Array) -> Array:
    """Return the range of every joint [rad or m], shape (n,), at least SMALL_JOINT of the largest one."""
    spans = np.ptp(q, axis=0)
    largest = float(spans.max(initial=0.0))
    scales: Array = np.maximum(spans, SMALL_JOINT * largest) if largest > 0.0 else np.ones_like(spans)
    return scales


def scaled_path(q: Array) -> Array:
    """Return positions by the joints' ranges [1], shape (k, n).

    The distance of two points is the root mean square over the joints of their motions, each by the joint's range.

    Args:
        q: Positions [rad or m], shape (k, n), finite.
    """
    points: Array = q / (joint_scales(q) * np.sqrt(q.shape[1]))
    return points


def thinned(points: Array, step: float) -> Indices:
    """Return the indices of points that lie at least ``step`` apart along the path; standing still adds none.

    Args:
        points: Points of the path, shape (k, n), as :func:`scaled_path` gives them.
        step: Distance [1].
    """
    kept = [0]
    last = points[0]
    for row in range(1, len(points)):
        away = points[row] - last
        if float(away @ away) >= step * step:
            kept.append(row)
            last = points[row]
    return np.array(kept)


@dataclass(frozen=True, slots=True, eq=False)
class Novelty:
    """How a later part of a path lies to an earlier one.

    Attributes:
        later: Samples of the later part that stand for it, shape (b,).
        distance: Distance of each later point from the earlier path [1], shape (b,): root mean square over the joints
            of the differences, each divided by the joint's range.
        nearest: For each later point the sample of the earlier part that it is nearest to, shape (b,).
    """

    later: Indices
    distance: Array
    nearest: Indices

    def share_repeated(self, tolerance: float) -> float:
        """Return the share of later points that lie within ``tolerance`` [1] of the earlier path."""
        return float(np.mean(self.distance <= tolerance)) if len(self.distance) else 0.0

    def sense(self, tolerance: float) -> float:
        """Return +1 where the path is repeated in the same sense, −1 where it is driven back, between where both.

        The correlation between when a later point is passed and when its nearest earlier point was.
        """
        close = self.distance <= tolerance
        now, then = self.later[close].astype(np.float64), self.nearest[close].astype(np.float64)
        if len(now) < 3 or np.ptp(now) == 0.0 or np.ptp(then) == 0.0:
            return 0.0
        return float(np.corrcoef(now, then)[0, 1])


def novelty(q: Array) -> Novelty:
    """Return how new the last part of a path is to its first part, both by length and not by time.

    Args:
        q: Positions [rad or m], shape (k, n), finite.
    """
    points = scaled_path(q)
    kept = thinned(points, THINNING)
    split = round(EARLIER_SHARE * len(kept))
    earlier, later = kept[:split], kept[split:]
    distance, nearest = distance_to_path(points[later], points[earlier])
    return Novelty(later, distance, earlier[nearest] if len(earlier) else nearest)


def distance_to_path(points: Array, path: Array) -> tuple[Array, Indices]:
    """Return the distance of points from a path of straight pieces, and the piece's nearer end, both of shape (b,).

    Args:
        points: Points, shape (b, n).
        path: Corners of the path, shape (a, n).
    """
    if len(path) == 0 or len(points) == 0:
        return np.full(len(points), np.inf), np.zeros(len(points), dtype=np.int64)
    distance = np.empty(len(points))
    nearest = np.empty(len(points), dtype=np.int64)
    begin, along = path[:-1], np.diff(path, axis=0)
    length2 = np.maximum(np.einsum("an,an->a", along, along), 1e-300)
    for row, point in enumerate(points):
        if len(path) == 1:
            distance[row], nearest[row] = float(np.linalg.norm(point - path[0])), 0
            continue
        share = np.clip(np.einsum("an,an->a", point - begin, along) / length2, 0.0, 1.0)
        away = point - begin - share[:, None] * along
        squares = np.einsum("an,an->a", away, away)
        piece = int(squares.argmin())
        distance[row] = float(np.sqrt(squares[piece]))
        nearest[row] = piece + int(share[piece] > 0.5)
    return distance, nearest
