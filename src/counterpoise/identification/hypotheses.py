"""What may be true of the shared unknowns before any data: the description, or an earlier calibration.

How right either is nobody knows beforehand. Each hypothesis is a mean and a covariance, with a probability of its own;
posteriors of all of them are averaged by how likely they make the data (posterior_search.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..dynamics import Robot
from ..fitting import CadPrior, body_root, covariance_root, drive_deviations
from ..foundation import Array
from .earlier import DIFFERENCES, Difference, EarlierCalibration
from .fitted_recordings import FittedRecordings

PRIOR_WEIGHTS = (1.0, 1.0 / 16.0, 1.0 / 4.0, 4.0, 16.0, 64.0, 256.0)
"""Weights of the prior that are averaged (prior.py), the usual one first ..."""
SHARES = (0.25, 0.15, 0.25, 0.15, 0.1, 0.06, 0.04)
"""... and how likely each of them is before the data: descriptions are wrong by 10 to 30 %, and seldom exact."""


@dataclass(frozen=True, slots=True, eq=False)
class Hypothesis:
    """What may be known of [x − start, tilt]; s unknowns.

    Attributes:
        mean: Shape (s,).
        root: L with L Lᵀ the covariance, shape (s, s); zeros for the tilt.
        share: Its probability before the data.
        earlier: Whether it is an earlier calibration's.
        belongs: Whether that is then one of this arm or type.
    """

    mean: Array
    root: Array
    share: float
    earlier: bool = False
    belongs: bool = False


def hypotheses_of(
    recorded: FittedRecordings, prior: CadPrior | None, earlier: EarlierCalibration | None
) -> list[Hypothesis]:
    """Return all that may be true; the first is the usual one.

    Args:
        recorded: The recordings.
        prior: Towards the description; None for the data alone.
        earlier: A calibration to start from.
    """
    weights: tuple[float | None, ...] = (None,) if prior is None else (prior.weight or 1.0,)
    if prior is not None and prior.weight is None and recorded.model.terms.linear:
        weights = PRIOR_WEIGHTS
    shares = SHARES if len(weights) > 1 else (1.0,)
    described = 1.0 if earlier is None else 1.0 - sum(one.share for one in DIFFERENCES)
    pairs = zip(weights, shares, strict=True)
    found = [_described(recorded, prior_weight, described * share) for prior_weight, share in pairs]
    return found if earlier is None else [*found, *(_near(recorded, earlier, one, found[0]) for one in DIFFERENCES)]


def sources_of(robot: Robot, prior: CadPrior | None, earlier: EarlierCalibration | None) -> str:
    """Return what a fit leans on, in words; "" for the data alone."""
    named = [] if earlier is None else [earlier.source]
    return ", and ".join(named if prior is None else [*named, prior.named(robot)])


def _described(recorded: FittedRecordings, prior_weight: float | None, share: float) -> Hypothesis:
    """Return what the description says; None for a weight that says nothing."""
    model = recorded.model
    size = len(model.names) + 2
    root = np.zeros((size, size))
    bodies = model.groups["bodies"]
    root[bodies, bodies] = body_root(model, prior_weight, recorded.scales)
    for kind, deviations in drive_deviations(model, recorded.scales, recorded.start).items():
        group = model.groups[kind]
        places = np.arange(group.start, group.stop)
        # Offsets are nuisances, of a size that the data choose.
        root[places, places] = 0.0 if kind == "offset" else deviations
    return Hypothesis(np.zeros(size), root, share)


def _near(
    recorded: FittedRecordings, earlier: EarlierCalibration, difference: Difference, usual: Hypothesis
) -> Hypothesis:
    """Return what an earlier calibration says; what it leaves open is the usual one's."""
    start = recorded.start
    p = len(start)
    described = usual.root[:p, :p] @ usual.root[:p, :p].T
    mean, covariance = earlier.belief(recorded.model, start, described, difference)
    root = np.zeros(usual.root.shape)
    places = np.flatnonzero(np.diag(described) > 0.0)
    root[np.ix_(places, places)] = covariance_root(covariance[np.ix_(places, places)])
    return Hypothesis(np.concatenate([mean - start, np.zeros(2)]), root, difference.share, True, difference.belongs)
