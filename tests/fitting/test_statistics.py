"""Sizes of columns in which something was not measured."""

from __future__ import annotations

import numpy as np
import pytest

from counterpoise.fitting import deviation, robust_std, root_mean_square
from counterpoise.fitting.column_statistics import mean


def test_what_was_not_measured_is_left_out() -> None:
    values = np.array([[1.0, np.nan, 5.0], [3.0, np.nan, np.nan]])
    np.testing.assert_allclose(mean(values), [2.0, np.nan, 5.0])
    np.testing.assert_allclose(root_mean_square(values), [np.sqrt(5.0), np.nan, 5.0])
    np.testing.assert_allclose(deviation(values), [1.0, np.nan, 0.0])
    np.testing.assert_allclose(robust_std(values), [1.4826 * 2.0, np.nan, 1.4826 * 5.0])


def test_a_robust_deviation_is_that_of_the_good_values() -> None:
    """Normal noise, a fifth of the values far off: within a third of it, the plain one is 70 times as large."""
    values = 0.3 * np.random.default_rng(0).normal(size=(5000, 1))
    assert robust_std(values)[0] == pytest.approx(0.3, rel=0.05)
    values[::5] = 50.0
    assert robust_std(values)[0] == pytest.approx(0.3, rel=0.35)
    assert root_mean_square(values)[0] > 20.0
