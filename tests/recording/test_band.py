"""The cutoff and the source of velocities are found in the recording itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.recording.band import HARMONICS, MOST, motion_band
from library.simulated_motion import recording

ROBOT = cp.load("wam4")


def sine_log(frequency: float, *, noise: float = 0.0, dq_noise: float = 0.0, seconds: float = 40.0) -> cp.Log:
    """All joints swing at one frequency [Hz]; measured positions and velocities carry white noise."""
    rng = np.random.default_rng(0)
    time = np.arange(0.0, seconds, 0.005)
    q = np.tile(np.sin(2.0 * np.pi * frequency * time)[:, None], (1, 4))
    dq = 2.0 * np.pi * frequency * np.tile(np.cos(2.0 * np.pi * frequency * time)[:, None], (1, 4))
    measured = q + noise * rng.normal(size=q.shape)
    return cp.Log(ROBOT.joint_names, time, measured, dq + dq_noise * rng.normal(size=q.shape), np.zeros_like(q))


@pytest.mark.parametrize("frequency", [0.3, 1.0, 2.2])
@pytest.mark.parametrize("noise", [0.0, 1e-4])
def test_the_cutoff_follows_the_motion_not_the_noise(frequency: float, noise: float) -> None:
    """A sine's cutoff is its fifth harmonic, whatever white noise the encoder adds."""
    band = motion_band(sine_log(frequency, noise=noise))
    assert band.cutoff == pytest.approx(HARMONICS * frequency, rel=0.25)


@pytest.mark.parametrize("frequency", [4.0, 8.0])
def test_no_motion_is_so_fast_that_more_is_kept(frequency: float) -> None:
    assert motion_band(sine_log(frequency)).cutoff == MOST


@pytest.mark.parametrize(("rate", "frequency", "cutoff"), [(20.0, 1.5, 4.0), (40.0, 2.0, 8.0), (200.0, 0.05, 1.0)])
def test_a_cutoff_is_at_most_a_fifth_of_the_rate_and_a_hertz_at_least(
    rate: float, frequency: float, cutoff: float
) -> None:
    """Five samples to a period are few; a motion that creeps reverses within a second all the same."""
    log = sine_log(frequency)
    rows = slice(None, None, round(200.0 / rate))
    sparse = cp.Log(log.joint_names, log.time[rows], log.q[rows], log.dq[rows], log.tau[rows])
    band = motion_band(sparse)
    assert band.rate == pytest.approx(rate)
    assert band.cutoff == pytest.approx(cutoff)


def test_the_fastest_joint_decides_and_a_standing_one_does_not() -> None:
    """Joint 2 swings four times as fast; joint 3 stands and has no frequency."""
    log = sine_log(0.5)
    q = np.array(log.q)
    q[:, 1] = np.sin(2.0 * np.pi * 2.0 * log.time)
    q[:, 2] = 0.3
    band = motion_band(replace(log, q=q))
    assert band.frequency[1] == pytest.approx(2.0, rel=0.1)
    assert np.isnan(band.frequency[2])
    assert band.cutoff == pytest.approx(HARMONICS * 2.0, rel=0.1)


def test_a_slow_joint_with_a_coarse_encoder_does_not_look_fast() -> None:
    """A joint that creeps over few counts scatters at all frequencies; that is no motion, and the others decide."""
    time = np.arange(8000) / 200.0
    q = np.stack([np.sin(2.0 * np.pi * 0.2 * time), 0.01 * np.sin(2.0 * np.pi * 0.15 * time + 1.0)], axis=1)
    counted = 1e-4 * np.round(q / 1e-4)
    log = cp.Log(("a", "b"), time, counted, np.full_like(q, np.nan), np.zeros_like(q))
    assert motion_band(log).cutoff == pytest.approx(HARMONICS * 0.2, rel=0.2)


def test_measured_velocities_are_used_where_they_are_better_and_agree() -> None:
    """Noisy positions speak for the measured velocity, noisy or wrong velocities against it."""
    assert motion_band(sine_log(0.5, noise=1e-3, dq_noise=1e-3)).velocity_measured.all()
    assert not motion_band(sine_log(0.5, noise=1e-6, dq_noise=1e-2)).velocity_measured.any()
    noisy = sine_log(0.5, noise=1e-3, dq_noise=1e-3)
    assert not motion_band(replace(noisy, dq=-noisy.dq)).velocity_measured.any()
    assert not motion_band(replace(noisy, dq=np.roll(noisy.dq, 40, axis=0))).velocity_measured.any()


def test_velocity_noise_is_that_of_the_filtered_velocity() -> None:
    """The stated noise agrees with what filtering leaves of white position noise."""
    log = sine_log(0.5, noise=1e-3)
    band = motion_band(replace(log, declared=replace(log.declared, velocity_from="position")))
    clean = log.q - 1e-3 * np.random.default_rng(0).normal(size=log.q.shape)
    noise = replace(log, q=log.q - clean).differentiated(band.cutoff).dq
    assert band.velocity_noise == pytest.approx(np.std(noise[400:-400], axis=0), rel=0.2)


def test_a_standing_arm_and_a_short_log_are_refused() -> None:
    log = recording(ROBOT, 0)
    with pytest.raises(cp.InputError, match="no joint moves"):
        motion_band(replace(log, q=np.zeros_like(log.q)))
    with pytest.raises(cp.InputError, match="at least 32"):
        motion_band(log[:20])
    with pytest.raises(cp.InputError, match="half the rate"):
        motion_band(log, cutoff=80.0)
