"""Autocorrelated residuals count less, by as much as theory says."""

from __future__ import annotations

import numpy as np
import pytest

from counterpoise.fitting import Blocking, autocorrelation_times


def autoregressive(keep: float, count: int, seed: int = 0) -> np.ndarray:
    """x_t = keep x_{t−1} + noise: its integrated autocorrelation time is (1 + keep)/(1 − keep)."""
    steps = np.random.default_rng(seed).normal(size=count)
    values = np.empty(count)
    value = 0.0
    for place, step in enumerate(steps):
        value = keep * value + step
        values[place] = value
    return values


@pytest.mark.parametrize("keep", [0.0, 0.5, 0.9, 0.98])
def test_the_integrated_time_of_a_known_process_is_found(keep: float) -> None:
    assert autocorrelation_times(autoregressive(keep, 40_000)[:, None])[0] == pytest.approx(
        (1.0 + keep) / (1.0 - keep), rel=0.3
    )


def test_pieces_give_what_the_whole_gives() -> None:
    """Residuals may come in pieces of any length."""
    values = np.stack([autoregressive(0.9, 5_000), autoregressive(0.5, 5_000, seed=1)], axis=1)
    parts = Blocking(2)
    for piece in np.split(values, [1, 2, 700, 701, 2_048, 4_999]):
        parts.add(piece)
    assert np.allclose(parts.autocorrelation_times(), autocorrelation_times(values), rtol=1e-12)


def test_missing_residuals_and_breaks_are_passed_over() -> None:
    values = autoregressive(0.0, 3_000)[:, None]
    values[::7] = np.nan
    assert autocorrelation_times(np.concatenate([values, values]), starts=[len(values)])[0] == pytest.approx(
        1.0, abs=0.3
    )
    assert Blocking(3).autocorrelation_times().tolist() == [1.0, 1.0, 1.0]
