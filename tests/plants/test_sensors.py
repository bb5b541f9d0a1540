"""Encoder, effort and plate: what each stage does to a signal."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from counterpoise.plants.config import EffortSensor, Encoder, Plate
from counterpoise.plants.plate import PlateSensor
from counterpoise.plants.sensors import BLOCK, EffortReader, EncoderReader

PERIOD = 1e-3
NAMES = ("a", "b")


def random() -> np.random.Generator:
    return np.random.default_rng(3)


def encoder(**settings: Any) -> EncoderReader:
    return EncoderReader(Encoder(**settings), NAMES, PERIOD, random())


def test_positions_are_counted() -> None:
    """Each reading is the nearest whole number of counts; a joint without resolution passes unchanged."""
    reader = encoder(resolution=(0.01, 0.0))
    q, _ = reader.read(np.array([0.1249, 0.1249]), np.zeros(2))
    assert q == pytest.approx([0.12, 0.1249], abs=1e-15)


def test_velocity_is_a_filtered_difference() -> None:
    """One count per tick at first shows as 1 − e^{−2πfT} of it and settles at the true speed; exact is exact."""
    reader = encoder(cutoff=20.0)
    reader.reset(np.zeros(2), np.zeros(2))
    _, first = reader.read(np.array([1e-3, 0.0]), np.array([9.0, 9.0]))
    assert first == pytest.approx([1.0 - math.exp(-2.0 * math.pi * 20.0 * PERIOD), 0.0])
    for tick in range(2, 200):
        _, velocity = reader.read(np.array([1e-3 * tick, 0.0]), np.zeros(2))
    assert velocity[0] == pytest.approx(1.0, rel=1e-6)
    _, exact = encoder(velocity="exact").read(np.zeros(2), np.array([3.0, 4.0]))
    assert exact.tolist() == [3.0, 4.0]


def test_a_start_in_motion_has_no_transient() -> None:
    """After reset(q, dq) the velocity begins at dq."""
    reader = encoder(cutoff=20.0)
    _, velocity = reader.reset(np.zeros(2), np.array([2.0, -1.0]))
    assert velocity.tolist() == [2.0, -1.0]
    _, velocity = reader.read(np.array([2.0, -1.0]) * PERIOD, np.zeros(2))
    assert velocity == pytest.approx([2.0, -1.0])


def test_noise_has_its_size() -> None:
    """Encoder and effort noise have the stated deviation, joint by joint."""
    reader = encoder(noise=(0.1, 0.0))
    effort = EffortReader(EffortSensor(noise=0.5, resolution=(0.0, 0.25)), NAMES, random())
    q = np.array([reader.read(np.zeros(2), np.zeros(2))[0] for _ in range(4 * BLOCK)])
    tau = np.array([effort.read(np.ones(2)) for _ in range(4 * BLOCK)])
    assert q.std(axis=0) == pytest.approx([0.1, 0.0], rel=0.1)
    assert tau.std(axis=0) == pytest.approx([0.5, 0.5], rel=0.1)
    assert np.array_equal(tau[:, 1] * 4.0, np.rint(tau[:, 1] * 4.0))
    assert tau.mean(axis=0) == pytest.approx([1.0, 1.0], abs=0.05)


def read(plate: Plate, count: int, wrench: Any = (0.0,) * 6) -> np.ndarray:
    sensor = PlateSensor(plate, PERIOD, random())
    return np.array([sensor.read(np.asarray(wrench, dtype=float))[0] for _ in range(count)])


def test_plate_sign_crosstalk_and_bias() -> None:
    """reading = ± C w + bias."""
    mixing = np.eye(6)
    mixing[2, 0] = 0.01
    wrench = np.array([100.0, 0.0, 500.0, 1.0, 2.0, 3.0])
    bias = np.arange(6.0)
    for reads, sign in (("on_robot", 1.0), ("on_sensor", -1.0)):
        plate = Plate(reads=reads, crosstalk=mixing, bias=bias)  # type: ignore[arg-type]
        assert read(plate, 1, wrench)[0] == pytest.approx(sign * np.array([100.0, 0.0, 501.0, 1.0, 2.0, 3.0]) + bias)


def test_plate_drift_walk_and_noise() -> None:
    """Drift is a ramp from the first sample on, noise is white, a random walk spreads with √t and is repeatable."""
    drifting = read(Plate(drift=(1.0,) * 6), 2 * BLOCK + 5)
    assert drifting[:, 3] == pytest.approx(np.arange(2 * BLOCK + 5) * PERIOD)
    noisy = read(Plate(noise=(1.0, 0.0, 0.0, 0.0, 0.0, 0.2)), 8 * BLOCK)
    assert noisy.std(axis=0) == pytest.approx([1.0, 0.0, 0.0, 0.0, 0.0, 0.2], rel=0.05)
    assert abs(np.corrcoef(noisy[:-1, 0], noisy[1:, 0])[0, 1]) < 0.1
    walking = read(Plate(walk=(1.0,) * 6), 16 * BLOCK)
    steps = np.diff(walking, axis=0)
    assert steps.std() == pytest.approx(math.sqrt(PERIOD), rel=0.05)
    assert np.array_equal(walking, read(Plate(walk=(1.0,) * 6), 16 * BLOCK))


def test_plate_resolution_and_saturation() -> None:
    """Readings are whole steps, and a channel beyond its range is cut there and flagged; below it, it is not."""
    plate = Plate(resolution=(0.5,) * 6, range=(100.0, 100.0, 100.0, 10.0, 10.0, 10.0))
    sensor = PlateSensor(plate, PERIOD, random())
    reading, saturated = sensor.read(np.array([99.3, 99.3, 99.3, 9.3, 0.0, 0.0]))
    assert reading.tolist() == [99.5, 99.5, 99.5, 9.5, 0.0, 0.0]
    assert not saturated
    reading, saturated = sensor.read(np.array([0.0, 0.0, -140.0, 0.0, 0.0, 0.2]))
    assert reading.tolist() == [0.0, 0.0, -100.0, 0.0, 0.0, 0.0]
    assert saturated
