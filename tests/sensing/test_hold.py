"""What a hold says: means, sides, errors; how it fits in; what holds leave unexplained."""

from __future__ import annotations

import numpy as np
import pytest

from counterpoise.sensing import hold, kernel
from counterpoise.sensing.gate import Row
from counterpoise.sensing.hold import LET_GO, UNEVEN, Told

REVERSAL = 2e-3


def summed(rng: np.random.Generator, n: int, count: int) -> np.ndarray:
    """Return a gate's memory after so many samples of n joints."""
    memory = rng.standard_normal((len(Row), n))
    torques = 5.0 + 0.1 * rng.standard_normal((count, n))
    memory[Row.SUM_TAU], memory[Row.SUM_SQUARE] = torques.sum(axis=0), (torques**2).sum(axis=0)
    memory[Row.SUM_Q], memory[Row.SLIDING] = 1e-3 * count, 5.0 + 0.3 * rng.standard_normal(n)
    memory[Row.DIRECTION], memory[Row.EFFORT] = rng.choice([-1.0, 1.0], n), 50.0
    return memory


@pytest.mark.parametrize("module", [hold, kernel])
def test_sides_and_errors_of_a_hold(module: object) -> None:
    """A joint that slid keeps its side, with the change of torque since as an error; others count with all friction."""
    rng = np.random.default_rng(0)
    memory, told = summed(rng, 3, 100), np.zeros((len(Told), 3))
    square, noise = np.full(3, 4.0), np.full(3, 0.2)
    memory[Row.SLIDING] = [5.0, 5.0, 5.0 + 1.1 * LET_GO * 2.0]
    slid_from = memory[Row.FOLLOWER] + [0.1, 1e-3, 0.1]
    slid, effort = module.summarise(told, memory, 100, slid_from, square, noise, REVERSAL)  # type: ignore[attr-defined]
    assert slid
    assert effort == pytest.approx(0.1, rel=0.02)
    np.testing.assert_array_equal(told[Told.SIDE], [memory[Row.DIRECTION, 0], 0.0, 0.0])
    np.testing.assert_allclose(told[Told.POSE], memory[Row.ANCHOR] + 1e-3)
    np.testing.assert_allclose(told[Told.TORQUE], 5.0, atol=0.05)
    np.testing.assert_allclose(told[Told.SIGMA_FREE], 0.2, rtol=1e-2)
    np.testing.assert_allclose(told[Told.SIGMA], [np.hypot(0.2, UNEVEN * 2.0), 2.01, 2.01], rtol=1e-2)
    slid, _ = module.summarise(told, memory, 100, memory[Row.FOLLOWER].copy(), square, noise, REVERSAL)  # type: ignore[attr-defined]
    assert not slid


def test_native_and_specification_agree() -> None:
    rng = np.random.default_rng(1)
    for n in (1, 7, 19):
        memory, both = summed(rng, n, 40), np.zeros((2, len(Told), n))
        slid_from = memory[Row.FOLLOWER] + rng.choice([0.0, 0.1], n)
        slid_from[0] = np.nan
        arguments = (memory, 40, slid_from, rng.uniform(0.0, 2.0, n), rng.uniform(0.1, 0.3, n), REVERSAL)
        assert kernel.summarise(both[0], *arguments) == pytest.approx(hold.summarise(both[1], *arguments))
        np.testing.assert_allclose(both[0], both[1], rtol=1e-12)
        left = np.array([rng.standard_normal(n), rng.uniform(0.1, 1.0, n)])
        rows = (left, both[0, Told.SIDE], both[0, Told.SIGMA])
        assert kernel.judge(*rows) == pytest.approx(hold.judge(*rows))
        noise, start = np.tile(rng.uniform(0.1, 0.3, n), (2, 1)), np.full(n, 0.2)
        for module, values in zip((kernel, hold), noise, strict=True):
            module.relearn(values, start, 3.0 * left, 0.1, 9.0, 0.5, 10.0)
        np.testing.assert_allclose(noise[0], noise[1], rtol=1e-12)


def test_the_noise_of_holds_is_learned() -> None:
    """Innovations of three standard deviations raise it, none lower it, within bounds; unforeseen ones do not tell."""
    noise, start, one = np.ones(3), np.ones(3), np.ones(3)
    for _ in range(400):
        kernel.relearn(noise, start, np.array([[3.0, 0.0, 3.0], [1.0, 1.0, 0.0]]), 0.1, 9.0, 0.5, 10.0)
    np.testing.assert_allclose(noise, [10.0, 0.5, 1.0])
    with pytest.raises(ValueError, match="wrong type or size" if kernel.NATIVE else "broadcast"):
        kernel.judge(np.ones((2, 3)), one, np.ones(2))
