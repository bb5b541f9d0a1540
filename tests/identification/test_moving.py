"""From a moving recording to samples: filtering, edges, units, coupling, streaming, refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.identification.moving import moving_samples, prepare, stream_samples
from counterpoise.recording import Declared
from library.simulated_motion import motion, recording

ROBOT = cp.load("wam4")


def test_samples_follow_the_true_motion() -> None:
    """Filtered positions, velocities and accelerations are those of the motion, without delay."""
    log = recording(ROBOT, 1, noise=0.01)
    samples = moving_samples(ROBOT, log)
    _, q, dq, ddq = motion(ROBOT, 1)
    at = np.searchsorted(log.time, samples.time)
    assert np.abs(samples.q - q[at]).max() < 1e-3
    assert np.abs(samples.dq - dq[at]).max() < 5e-3
    assert np.abs(samples.ddq - ddq[at]).max() < 0.03
    assert samples.time[0] >= 2.0 / samples.cutoff and samples.time[-1] <= log.time[-1] - 2.0 / samples.cutoff


def test_v0_follows_speed_and_noise() -> None:
    """v0 is a share of a clean joint's speed, and grows with the noise of a noisy one."""
    log = recording(ROBOT, 2)
    calm = prepare(ROBOT, log)
    fast = np.percentile(np.abs(motion(ROBOT, 2)[2]), 95.0, axis=0)
    assert calm.v0 == pytest.approx(0.03 * fast, rel=0.1)
    shaken = log.q + 0.02 * np.random.default_rng(0).normal(size=log.q.shape)
    noisy = prepare(ROBOT, replace(log, q=shaken, declared=Declared(velocity_from="position")))
    assert np.all(noisy.v0 > 1.5 * calm.v0)


def test_a_gap_is_cut_out_with_its_edges() -> None:
    """No sample lies within the filter's reach of a gap in time."""
    log = recording(ROBOT, 3, seconds=40.0)
    cut = log[(log.time < 15.0) | (log.time > 22.0)]
    samples = moving_samples(ROBOT, cut, cutoff=2.0)
    inside = (samples.time > 15.0 - 0.99) & (samples.time < 22.0 + 0.99)
    assert not inside.any()
    assert (samples.time < 13.0).any() and (samples.time > 24.0).any()


def test_motor_currents_become_link_torques() -> None:
    """Constants and a coupling matrix that are declared are applied: tau_link = Gᵀ (K i)."""
    G = np.diag([50.0, -30.0, 20.0, 10.0])
    G[3, 2] = 10.0
    constant = np.array([0.05, 0.06, 0.07, 0.08])
    log = recording(ROBOT, 4)
    current = np.linalg.solve(G.T, log.tau.T).T / constant
    facts = Declared(effort_kind="current", effort_side="motor", motor_per_link=G, torque_constant=constant)
    samples = moving_samples(ROBOT, replace(log, tau=current, declared=facts), cutoff=2.0)
    same = moving_samples(ROBOT, log, cutoff=2.0)
    assert np.allclose(samples.tau, same.tau, atol=1e-9)
    assert samples.motor_per_link is not None and same.motor_per_link is None
    assert np.array_equal(np.abs(np.diag(samples.actuator_per_link)), np.ones(4))


def test_a_streamed_recording_gives_the_samples_of_the_whole() -> None:
    """Pieces of any size lead to the samples that the whole recording has."""
    log = recording(ROBOT, 5, noise=0.05, seconds=60.0)
    chosen = prepare(ROBOT, log)
    whole = moving_samples(ROBOT, log, preparation=chosen)
    for size in (700, 1501, 9000):
        pieces = (log[start : start + size] for start in range(0, len(log), size))
        parts = list(stream_samples(ROBOT, pieces, preparation=chosen))
        time = np.concatenate([part.time for part in parts])
        assert np.array_equal(time, whole.time)
        for name in ("q", "dq", "ddq", "tau"):
            streamed = np.concatenate([getattr(part, name) for part in parts])
            scale = np.abs(getattr(whole, name)).max()
            assert np.abs(streamed - getattr(whole, name)).max() < 2e-5 * scale, (name, size)


def test_efforts_that_are_not_there_stay_nan() -> None:
    """A joint without a measured effort is passed on as NaN; a log without any is refused."""
    log = recording(ROBOT, 6)
    tau = np.array(log.tau)
    tau[:, 2] = np.nan
    samples = moving_samples(ROBOT, replace(log, tau=tau))
    assert samples.active.tolist() == [True, True, False, True]
    with pytest.raises(cp.InputError, match="no measured effort"):
        moving_samples(ROBOT, replace(log, tau=np.full_like(tau, np.nan)))


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (Declared(adds_gravity=True), "added gravity itself"),
        (Declared(effort_side="motor"), "motor's side"),
        (Declared(position_side="motor"), "motor's side"),
        (Declared(gravity_base=(9.81, 0.0, 0.0)), "mount the robot"),
    ],
)
def test_logs_that_cannot_be_fitted_are_refused(facts: Declared, words: str) -> None:
    with pytest.raises(cp.InputError, match=words):
        moving_samples(ROBOT, replace(recording(ROBOT, 7), declared=facts))


def test_another_robots_log_and_a_short_one_are_refused() -> None:
    with pytest.raises(cp.InputError, match="expected those of robot"):
        moving_samples(cp.load("puma560"), recording(ROBOT, 7))
    with pytest.raises(cp.InputError, match="nothing is left"):
        moving_samples(ROBOT, recording(ROBOT, 7)[:300], cutoff=1.0)
