"""The plate's low-pass: response, memory, both implementations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from counterpoise import InputError
from counterpoise.plants import kernel
from counterpoise.plants.reference import ReferenceLowPass, butterworth, settled_state

DT = 1e-4
KINDS = [ReferenceLowPass, *([kernel.LowPass] if kernel.NATIVE else [])]


@pytest.mark.parametrize("kind", KINDS)
def test_amplitude_over_frequency(kind: Any) -> None:
    """A slow sine passes, one at the cut-off comes out by 1/√2, a fast one is gone."""
    coefficients = butterworth(100.0, DT)
    for frequency, expected in ((2.0, 1.0), (100.0, math.sqrt(0.5)), (1000.0, 0.01)):
        signal, output, state = np.zeros(2), np.zeros(2), np.zeros((2, 2))
        low_pass, peak = kind(coefficients, signal, output, state), 0.0
        steps = round((0.05 + 4.0 / frequency) / DT)
        for step in range(steps):
            signal[:] = np.array([1.0, -3.0]) * math.sin(2.0 * math.pi * frequency * step * DT)
            low_pass.step()
            if step > steps - 1.5 / frequency / DT:
                peak = max(peak, abs(output[1]) / 3.0)
        assert peak == pytest.approx(expected, abs=0.005)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cutoff", [30.0, math.inf])
def test_settled_memory_has_no_transient(kind: Any, cutoff: float) -> None:
    """Started from the settled state, a constant input comes out unchanged from the first step."""
    coefficients, signal, output = butterworth(cutoff, DT), np.array([5.0, -2.0]), np.zeros(2)
    low_pass = kind(coefficients, signal, output, settled_state(coefficients, signal))
    for _ in range(3):
        low_pass.step()
        assert output == pytest.approx([5.0, -2.0], rel=1e-9)


def test_cutoff_must_be_below_half_the_rate() -> None:
    """A cut-off the filter cannot have is refused with the bound."""
    with pytest.raises(InputError, match="half of the physics rate, 5000 Hz"):
        butterworth(6000.0, DT)
