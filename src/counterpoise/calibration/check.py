"""The held-out check: how well a fit predicts what it has not seen, before it is made again from everything.

Moving data are divided by regions of joint space (split.py). Poses at rest are few, so all of them serve: they are held
out in turn, one after the other, or region by region where there are many, and predicted by the fit to the rest. Poses
within SAME_POSE (static_poses.py) of each other go together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..description.frozen import Array, frozen
from ..errors import InputError
from ..logs.path import scaled_path
from .estimate import Estimate
from .samples import Samples, joined_samples, samples_of_poses
from .split import Regions, distances, novelty, split_samples
from .static_poses import StaticPoses, same_places
from .statistics import root_mean_square

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
        error=frozen(held.tau[:, estimate.columns.active] - estimate.predict(held)),
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
        errors.append(part.tau[:, estimate.columns.active] - estimate.predict(part))
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
