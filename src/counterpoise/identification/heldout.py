"""The held-out check: how well a fit predicts what it has not seen, before it is made again from everything.

**What is held back** is chosen by the path through joint space, not by time. Recorded motions repeat themselves: a path
driven out and back, or twice, tests a fit on samples that it has seen. So samples are held back by the region of joint
space that they visit (``split_samples``). Positions are scaled by the range of each joint (recording/path.py); regions
are the cells around centres that lie as far from each other as possible; cells are held back as long as the rest still
covers most of every joint's range. Training samples that come closer than GUARD to a held-back one are used for
neither.

**Poses at rest** are few, so all of them serve: they are held out in turn, one after the other, or region by region
where there are many, and predicted by the fit to the rest. Poses within SAME_POSE (fitting/poses.py) of each other go
together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..fitting import Samples, StaticPoses, joined_samples, root_mean_square, same_places, samples_of_poses
from ..foundation import Array, frozen
from ..recording import joint_scales, scaled_path, thinned
from .estimate import Estimate

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]

HELD_SHARE = 0.3
"""Share of the samples that is held back."""
CELLS = 12
GUARD = 0.03
"""Distance, as a share of the joints' ranges (root mean square over the joints)."""
LEAST_RANGE = 0.7
"""Share of every joint's range that training must keep."""
SAME_PLACE = 0.04
"""Distance within which a path counts as driven again."""
PARALLEL = 0.7
"""Cosine of the angle between two stretches of path above which one may repeat the other."""
MOST_POINTS = 1500
"""Points that stand for a path when distances are looked for."""


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Which samples are fitted and which are held back.

    Attributes:
        name: How it was made, e.g. "path" or "time:first:0.6".
        train: Samples to fit, shape (k,).
        held: Samples to check with, shape (k,).
        novelty: Distance of the held-back samples from the nearest fitted one, as a share of the joints' ranges: 10, 50
            and 90 % of them lie nearer than this, shape (3,). About 0 where the same path is driven again.
    """

    name: str
    train: BoolArray
    held: BoolArray
    novelty: Array


class Regions:
    """Cells of joint space around centres that lie as far from each other as possible, the same for the same poses."""

    def __init__(self, q: Array, count: int) -> None:
        """Choose the centres.

        Args:
            q: Poses [rad or m], shape (k, n).
            count: Number of cells.
        """
        self._scales = joint_scales(q) * np.sqrt(q.shape[1])
        points = q / self._scales
        first = int(np.argmax(np.linalg.norm(points - points.mean(axis=0), axis=1)))
        chosen = [first]
        nearest = np.linalg.norm(points - points[first], axis=1)
        while len(chosen) < min(count, len(points)) and nearest.max() > 0.0:
            chosen.append(int(np.argmax(nearest)))
            nearest = np.minimum(nearest, np.linalg.norm(points - points[chosen[-1]], axis=1))
        self.centers = points[chosen]

    def of(self, q: Array) -> IntArray:
        """Return the cell of each pose, shape (k,)."""
        away = np.linalg.norm((q / self._scales)[:, None] - self.centers[None], axis=2)
        return np.asarray(np.argmin(away, axis=1), dtype=np.int64)


def split_samples(samples: Samples, how: str = "path") -> Split:
    """Divide samples into those to fit and those to hold back.

    Args:
        samples: All samples.
        how: "path" for regions of joint space (the default); "time:first:0.6" and "time:last:0.6" for a share of the
            duration; "path:first:0.6" and "path:last:0.6" for a share of the distinct path, where what is driven again
            goes with what it repeats.

    Raises:
        InputError: An unknown kind of split, or one that leaves nothing to fit or to hold back.
    """
    if how == "path":
        train, held = _by_region(samples)
    else:
        train = _named(samples, how)
        held = ~train
    if not train.any() or not held.any():
        raise InputError(
            f"the split '{how}' leaves {int(train.sum())} samples to fit and {int(held.sum())} to hold back; the "
            "motion is too small or too short to be divided"
        )
    return Split(how, train, held, frozen(novelty(samples.q, train, held)))


def novelty(q: Array, train: BoolArray, held: BoolArray) -> Array:
    """Return how far held-back poses lie from the fitted ones: the 10, 50 and 90 % quantiles, shape (3,).

    Distances are root mean squares over the joints of differences divided by the joint's range.
    """
    scaled = scaled_path(q)
    points, path = _few(np.flatnonzero(held)), _few(np.flatnonzero(train))
    away = distances(scaled[points], scaled[path])
    return np.quantile(away, (0.1, 0.5, 0.9))


def path_coordinate(q: Array) -> Array:
    """Return how much of the distinct path was driven when each pose was first reached, 0 to 1, shape (k,).

    A pose within SAME_PLACE of the path driven before has the coordinate of that place. What was driven just before
    does not count, unless the path has turned back there.
    """
    whole = scaled_path(q)
    corners = thinned(whole, max(SAME_PLACE / 4.0, 1.0 / MOST_POINTS))
    points = whole[corners]
    if len(points) < 2:
        return np.zeros(len(q))
    steps = np.diff(points, axis=0)
    heading = steps / np.linalg.norm(steps, axis=1)[:, None]
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(steps, axis=1))])
    coordinate = np.zeros(len(corners))
    knots, values = [0.0], [0.0]
    travelled, fresh = 0.0, True
    for place in range(1, len(corners)):
        before = np.arange(place)
        cosine = heading[np.minimum(before, len(heading) - 1)] @ heading[place - 1]
        left = along[place] - along[:place] > 2.0 * SAME_PLACE
        # A path that crosses itself is not driven again there.
        candidates = before[(left & (np.abs(cosine) > PARALLEL)) | (cosine < -PARALLEL)]
        away = np.linalg.norm(points[candidates] - points[place], axis=1)
        repeated = len(away) > 0 and bool(away.min() < SAME_PLACE)
        gap = float(corners[place] - corners[place - 1])
        if repeated and fresh:
            # It turned back somewhere between the two, perhaps after standing there.
            travelled += 0.5 * gap
            knots.append(float(corners[place]) - 0.5 * gap)
            values.append(travelled)
        if repeated:
            coordinate[place] = coordinate[candidates[int(np.argmin(away))]]
        else:
            travelled += gap
            coordinate[place] = travelled
        fresh = not repeated
        knots.append(float(corners[place]))
        values.append(float(coordinate[place]))
    spread = np.interp(np.arange(len(q)), knots, values)
    return np.asarray(spread / max(travelled, 1.0), dtype=np.float64)


def _by_region(samples: Samples) -> tuple[BoolArray, BoolArray]:
    regions = Regions(samples.q[_few(np.arange(len(samples)))], CELLS)
    cell = regions.of(samples.q)
    span = np.ptp(samples.q, axis=0)
    held = np.zeros(len(samples), dtype=bool)
    sizes = np.bincount(cell, minlength=len(regions.centers))
    # Smaller cells first: several places of joint space are checked, not one.
    for candidate in np.argsort(sizes, kind="stable"):
        more = held | (cell == candidate)
        kept = samples.q[~more]
        covered = len(kept) > 0 and np.all(np.ptp(kept, axis=0) >= LEAST_RANGE * span)
        if covered and np.mean(more) <= HELD_SHARE + 0.1:
            held = more
        if np.mean(held) >= HELD_SHARE:
            break
    train = ~held
    if held.any():
        scaled = scaled_path(samples.q)
        train[train] = distances(scaled[train], scaled[_few(np.flatnonzero(held))]) >= GUARD
    return train, held


def _named(samples: Samples, how: str) -> BoolArray:
    parts = how.split(":")
    try:
        kind, end, share = parts[0], parts[1], float(parts[2])
    except (IndexError, ValueError):
        kind, end, share = "", "", 0.0
    if len(parts) != 3 or kind not in ("time", "path") or end not in ("first", "last") or not 0.0 < share < 1.0:
        raise InputError(
            f"there is no split {how!r}; expected 'path', or 'time:first:0.6', 'time:last:0.6', 'path:first:0.6', "
            "'path:last:0.6' with any share between 0 and 1"
        )
    if kind == "time":
        place = (samples.time - samples.time[0]) / max(float(np.ptp(samples.time)), 1e-300)
    else:
        place = path_coordinate(samples.q)
    return np.asarray(place < share if end == "first" else place > 1.0 - share)


def _few(indices: IntArray) -> IntArray:
    """Return at most MOST_POINTS of the indices, evenly chosen."""
    step = max(1, -(-len(indices) // MOST_POINTS))
    return indices[::step]


def distances(points: Array, others: Array) -> Array:
    """Return each point's distance from the nearest of the others, shape (k,)."""
    found = np.empty(len(points))
    squares = np.einsum("an,an->a", others, others)
    for start in range(0, len(points), 1024):
        block = points[start : start + 1024]
        away = np.einsum("bn,bn->b", block, block)[:, None] + squares - 2.0 * block @ others.T
        found[start : start + 1024] = np.sqrt(np.maximum(away.min(axis=1), 0.0))
    return found


LEAVE_ONE_OUT = 20
"""With at most so many different poses, each is held out by itself; with more, so many regions are."""
FEW = 1500
"""Poses that are compared one by one; more are taken to differ, and so many stand for all where distances are looked
for."""
FEW_REGIONS = 5
"""Regions that are held out where there are more poses than FEW."""
MOST_FITTED = 10_000
"""Of more poses than this, so many, evenly chosen, predict a region that is held out."""
LEAST_DIFFERENT = 3
"""Fewer different poses than this cannot be divided."""


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """Prediction of data that were held out. a joints have a measured effort.

    Attributes:
        how: How the data were divided, in words.
        q: Poses of the held-out samples [rad or m], shape (k, n).
        error: Measured minus predicted, in the unit of the efforts, shape (k, a); NaN where not measured.
        held: Which samples were held out, shape (all,); all True where they were in turn.
        novelty: Distance of held-out poses from the nearest fitted one, as a share of the joints' ranges: 10, 50 and 90
            % lie nearer than this, shape (3,).
    """

    how: str
    q: Array
    error: Array
    held: npt.NDArray[np.bool_]
    novelty: Array

    @property
    def rms(self) -> Array:
        """Root mean square error, shape (a,)."""
        return root_mean_square(self.error)


def check_moving(samples: Samples, how: str, fit: Callable[[Samples], Estimate]) -> HeldOut:
    """Fit one part of moving data and predict the other.

    Args:
        samples: All samples.
        how: As :func:`.split_samples` takes it.
        fit: Fits samples.
    """
    split = split_samples(samples, how)
    estimate = fit(samples[split.train])
    held = samples[split.held]
    words = {"path": "regions of joint space held out"}.get(how, f"split '{how}'")
    return HeldOut(
        how=f"{words}: {int(split.train.sum())} samples fitted, {int(split.held.sum())} held out",
        q=held.q,
        error=frozen(held.tau[:, estimate.model.active] - estimate.predict(held)),
        held=split.held,
        novelty=split.novelty,
    )


def check_recordings(parts: Sequence[Samples], fit: Callable[[Sequence[Samples]], Estimate]) -> HeldOut:
    """Hold out whole recordings in turn and predict them from the others.

    Args:
        parts: Samples of at least two recordings.
        fit: Fits some of them together.
    """
    errors, nearest = [], []
    for number, part in enumerate(parts):
        others = [other for place, other in enumerate(parts) if place != number]
        estimate = fit(others)
        errors.append(part.tau[:, estimate.model.active] - estimate.predict(part))
        both = np.concatenate([part.q, *(other.q for other in others)])
        held = np.arange(len(both)) < len(part)
        nearest.append(novelty(both, ~held, held))
    whole = joined_samples(parts)
    return HeldOut(
        how=f"{len(parts)} recordings held out one after the other",
        q=whole.q,
        error=frozen(np.concatenate(errors)),
        held=np.ones(len(whole), dtype=bool),
        novelty=frozen(np.mean(nearest, axis=0)),
    )


def check_static(poses: StaticPoses, fit: Callable[[StaticPoses], Estimate]) -> HeldOut:
    """Hold out poses in turn and predict them from the others.

    Args:
        poses: All poses.
        fit: Fits poses.

    Raises:
        InputError: Too few different poses, or none of the divisions leaves poses that can be fitted.
    """
    place = same_places(poses.q) if len(poses) <= FEW else np.arange(len(poses))
    count = int(place.max()) + 1
    if count < LEAST_DIFFERENT:
        raise InputError(
            f"there are {count} different poses; at least {LEAST_DIFFERENT} are needed to fit and to check. "
            "design_poses() proposes some"
        )
    group = place
    words = f"{count} poses held out one after the other"
    if count > LEAVE_ONE_OUT:
        regions = LEAVE_ONE_OUT if count <= FEW else FEW_REGIONS
        group = Regions(poses.q[:: -(-len(poses) // FEW)], regions).of(poses.q)
        words = f"{count} poses held out in {int(group.max()) + 1} regions of joint space, one after the other"
    if len(poses) > MOST_FITTED:
        words += f", each predicted from {MOST_FITTED} of the others"
    samples = samples_of_poses(poses)
    scaled = scaled_path(poses.q)
    active = poses.measured
    missed = poses.tau[:, active].copy()
    nearest, tested = np.full(len(poses), np.nan), np.zeros(len(poses), dtype=bool)
    refusal: InputError | None = None
    for number in np.unique(group):
        held = group == number
        try:
            estimate = fit(some_poses(poses, _thinned(~held, MOST_FITTED)))
        except InputError as error:  # too few poses are left without these
            refusal = error
            continue
        missed[held] -= estimate.predict(samples[held])
        looked_at = _thinned(held, FEW)
        nearest[looked_at] = distances(scaled[looked_at], scaled[_thinned(~held, FEW)])
        tested |= held
    if refusal is not None and not tested.any():
        raise refusal
    return HeldOut(
        how=words,
        q=poses.q[tested],
        error=frozen(missed[tested]),
        held=tested,
        novelty=frozen(np.nanquantile(nearest, (0.1, 0.5, 0.9))),
    )


def some_poses(poses: StaticPoses, chosen: npt.NDArray[np.bool_]) -> StaticPoses:
    """Return some of the poses."""
    names = ("q", "tau", "tau_std", "side", "pair")
    return replace(poses, **{name: getattr(poses, name)[chosen] for name in names})


def _thinned(chosen: npt.NDArray[np.bool_], most: int) -> npt.NDArray[np.bool_]:
    """Return a mask of at most ``most`` of the chosen ones, evenly spread."""
    indices = np.flatnonzero(chosen)
    kept = np.zeros(len(chosen), dtype=bool)
    kept[indices[:: max(1, -(-len(indices) // most))]] = True
    return kept
