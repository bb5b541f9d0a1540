"""The held-out check: how well a fit predicts what it has not seen, before it is made again from everything.

Moving data are divided by regions of joint space (split.py). Poses at rest are few, so all of them serve: they are held
out in turn, one after the other, or region by region where there are many, and predicted by the fit to the rest. Poses
within SAME_POSE of each other go together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..description.frozen import Array, frozen
from ..errors import InputError
from ..logs.path import joint_scales
from .estimate import Estimate
from .samples import Samples, samples_of_poses
from .split import Regions, distances, split_samples
from .static_poses import SAME_POSE, StaticPoses

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
        measured: Measured efforts, shape (k, a).
        predicted: Predicted ones, shape (k, a).
        held: Which samples were held out, shape (all,); all True where they were in turn.
        novelty: Distance of held-out poses from the nearest fitted one, as a share of the joints' ranges: 10, 50 and 90
            % lie nearer than this, shape (3,).
    """

    how: str
    q: Array
    error: Array
    measured: Array
    predicted: Array
    held: npt.NDArray[np.bool_]
    novelty: Array

    @property
    def rms(self) -> Array:
        """Root mean square error, shape (a,)."""
        return root_mean_square(self.error)


def root_mean_square(values: Array) -> Array:
    """Return the root mean square of each column, NaN entries left out, shape (a,); NaN for an empty column."""
    known = np.isfinite(values)
    counts = known.sum(axis=0)
    squares = np.where(known, values, 0.0) ** 2
    return np.sqrt(np.where(counts > 0, squares.sum(axis=0) / np.maximum(counts, 1), np.nan))


def deviation(values: Array) -> Array:
    """Return the standard deviation of each column, NaN entries left out, shape (a,); NaN for an empty column."""
    known = np.isfinite(values)
    counts = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, values, 0.0).sum(axis=0) / counts
    return root_mean_square(values - mean)


def check_moving(samples: Samples, how: str, fit: Callable[[Samples], Estimate]) -> tuple[HeldOut, Estimate]:
    """Fit one part of moving data and predict the other.

    Args:
        samples: All samples.
        how: As :func:`.split_samples` takes it.
        fit: Fits samples.

    Returns:
        The check, and the estimate from the training part.
    """
    split = split_samples(samples, how)
    estimate = fit(samples[split.train])
    held = samples[split.held]
    predicted = estimate.predict(held)
    measured = held.tau[:, estimate.columns.active]
    words = {"path": "regions of joint space held out"}.get(how, f"split '{how}'")
    check = HeldOut(
        how=f"{words}: {int(split.train.sum())} samples fitted, {int(split.held.sum())} held out",
        q=held.q,
        error=frozen(measured - predicted),
        measured=frozen(measured),
        predicted=frozen(predicted),
        held=split.held,
        novelty=split.novelty,
    )
    return check, estimate


def check_static(poses: StaticPoses, fit: Callable[[StaticPoses], Estimate]) -> HeldOut:
    """Hold out poses in turn and predict them from the others.

    Args:
        poses: All poses.
        fit: Fits poses.

    Raises:
        InputError: Too few different poses, or none of the divisions leaves poses that can be fitted.
    """
    place = _same_places(poses.q) if len(poses) <= FEW else np.arange(len(poses))
    count = int(place.max()) + 1
    if count < LEAST_DIFFERENT:
        raise InputError(
            f"there are {count} different poses; at least {LEAST_DIFFERENT} are needed to fit and to check. "
            "design_poses() "
            "proposes some"
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
    scaled = poses.q / (joint_scales(poses.q) * np.sqrt(poses.q.shape[1]))
    predicted: Array | None = None
    nearest, tested = np.full(len(poses), np.nan), np.zeros(len(poses), dtype=bool)
    refusal: InputError | None = None
    active = poses.measured
    for number in np.unique(group):
        held = group == number
        try:
            estimate = fit(some_poses(poses, _thinned(~held, MOST_FITTED)))
        except InputError as error:  # too few poses are left without these
            refusal = error
            continue
        predicted = np.full((len(poses), int(active.sum())), np.nan) if predicted is None else predicted
        predicted[held] = estimate.predict(samples[held])
        looked_at = _thinned(held, FEW)
        nearest[looked_at] = distances(scaled[looked_at], scaled[_thinned(~held, FEW)])
        tested |= held
    if predicted is None:
        raise refusal if refusal is not None else InputError("no pose could be held out")
    measured = poses.tau[:, active]
    return HeldOut(
        how=words,
        q=poses.q[tested],
        error=frozen((measured - predicted)[tested]),
        measured=frozen(measured[tested]),
        predicted=frozen(predicted[tested]),
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


def _same_places(q: Array) -> npt.NDArray[np.int64]:
    """Number the different poses; those within SAME_POSE of an earlier one share its number, shape (k,)."""
    centers: list[Array] = []
    place = np.empty(len(q), dtype=np.int64)
    for row, pose in enumerate(q):
        near = [at for at, center in enumerate(centers) if np.all(np.abs(pose - center) < SAME_POSE)]
        if not near:
            centers.append(pose)
        place[row] = near[0] if near else len(centers) - 1
    return place
