"""The prior's strength is what held-out regions ask for."""

from __future__ import annotations

import numpy as np

from counterpoise.calibration.gaussian import Gaussian
from counterpoise.calibration.regression import JointRegression
from counterpoise.calibration.strength import choose_strength, merged


def cells_of(truth: np.ndarray, noise: float, seed: int = 0) -> tuple[list[JointRegression], np.ndarray]:
    """Twelve cells along a line; each sees two of the unknowns well and the others hardly."""
    rng = np.random.default_rng(seed)
    cells, centers = [], np.arange(12.0)[:, None]
    for place in range(12):
        cell = JointRegression(["joint"], [f"x{number}" for number in range(len(truth))])
        A = 0.3 * rng.normal(size=(40, 1, len(truth)))
        A[:, 0, place % len(truth)] += 1.0
        cell.add(A, A[:, :, :] @ truth + noise * rng.normal(size=(40, 1)))
        cells.append(cell)
    return cells, centers


def prior(strength: float) -> Gaussian:
    return Gaussian.from_std(np.zeros(8), np.full(8, 1.0 / np.sqrt(strength)))


def test_a_true_prior_is_held_on_to_and_a_wrong_one_is_not() -> None:
    """Where the truth is the prior's mean and data are noisy, strong; where it lies far off and data are good, weak."""
    right = choose_strength(*cells_of(np.zeros(8), 1.0), prior, np.ones(1), np.full(1, 10.0))
    wrong = choose_strength(*cells_of(np.full(8, 5.0), 0.05), prior, np.full(1, 0.05), np.full(1, 10.0))
    assert right > 100.0
    assert wrong < 2.0


def test_data_in_one_place_cannot_choose() -> None:
    cells, centers = cells_of(np.zeros(8), 1.0)
    assert choose_strength(cells[:1], centers[:1], prior, np.ones(1), np.ones(1)) == 1.0


def test_merging_cells_gives_the_whole() -> None:
    """The factors of the parts add up to those of all rows."""
    cells, _ = cells_of(np.ones(8), 0.1)
    whole = merged(cells)
    assert int(whole.rows[0]) == 12 * 40
    gram = sum(cell.factor(0).T @ cell.factor(0) for cell in cells)
    assert np.allclose(whole.factor(0).T @ whole.factor(0), gram)
