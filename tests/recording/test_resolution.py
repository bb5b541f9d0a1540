"""The step of a channel."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counterpoise.recording.filters import hop_noise, resolution


@settings(max_examples=40)
@given(st.floats(1e-6, 10.0), st.integers(0, 1000))
def test_counted_signal_has_its_step(step, seed):
    """Whatever the step, a signal that was counted with it shows it."""
    random = np.random.default_rng(seed)
    values = step * np.round(np.cumsum(random.normal(size=2000)))
    assert resolution(values + 3.7) == pytest.approx(step, rel=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_signal_that_was_never_counted_has_none(seed):
    random = np.random.default_rng(seed)
    assert resolution(random.normal(size=3000)) == 0.0
    assert resolution(np.sin(np.linspace(0.0, 9.0, 3000))) == 0.0


def test_constant_and_empty_have_none():
    assert resolution(np.full(10, 2.5)) == 0.0
    assert resolution(np.full(10, np.nan)) == 0.0


def test_digits_of_a_file_are_a_step_in_spite_of_rounding():
    values = np.round(np.random.default_rng(0).normal(size=500), 3) * 0.1
    assert resolution(values) == pytest.approx(1e-4, rel=1e-6)


def test_noise_is_told_from_motion():
    random = np.random.default_rng(0)
    motion = np.sin(np.linspace(0.0, 20.0, 4000))
    assert hop_noise(motion + 0.01 * random.normal(size=4000)) == pytest.approx(0.01, rel=0.1)
    assert hop_noise(motion) < 1e-5
