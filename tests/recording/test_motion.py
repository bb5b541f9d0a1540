"""The motion of a recording: derivatives, what is usable, even times, streaming; mostly by comparing two ways to it."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

from counterpoise.errors import InputError
from counterpoise.foundation import Array
from counterpoise.recording import Log, Motion, interpolated

FREQUENCY = np.array([0.5, 1.1])
OMEGA = 2.0 * np.pi * FREQUENCY
FROM_POSITIONS, MEASURED = np.zeros(2, dtype=bool), np.ones(2, dtype=bool)


def swinging(rate: float = 100.0, seconds: float = 30.0, *, jitter: float = 0.0) -> Log:
    """Return two joints that swing at 0.5 and 1.1 Hz; efforts and a plate's readings are made of the positions."""
    time = np.arange(0.0, seconds, 1.0 / rate)
    time = time + jitter / rate * np.random.default_rng(3).uniform(-0.5, 0.5, len(time))
    angle = OMEGA * time[:, None]
    q = np.sin(angle)
    wrench = np.column_stack([q, q**2, q[:, 0] * q[:, 1], np.ones(len(q))])
    return Log(("a", "b"), time, q, OMEGA * np.cos(angle), 3.0 * q - 1.0, wrench=wrench)


def gain(cutoff: float) -> Array:
    return np.asarray(1.0 / (1.0 + (FREQUENCY / cutoff) ** 8))


@pytest.mark.parametrize("measured", [FROM_POSITIONS, MEASURED, np.array([True, False])])
@pytest.mark.parametrize("cutoff", [1.0, 4.0])
def test_waves_pass_by_the_gain_of_the_filter_without_delay(cutoff: float, measured: Array) -> None:
    """Positions, velocities and accelerations of a sine are those of the sine of the gain's height."""
    log = swinging(seconds=60.0)
    motion = Motion.at_samples(log, cutoff, velocity_measured=measured)
    assert np.array_equal(motion.time, log.time)
    inner = motion.usable & (motion.time > 10.0) & (motion.time < 50.0)
    assert inner.sum() > 1000
    angle = OMEGA * motion.time[inner, None]
    np.testing.assert_allclose(motion.q[inner], gain(cutoff) * np.sin(angle), atol=2e-5)
    np.testing.assert_allclose(motion.dq[inner], gain(cutoff) * OMEGA * np.cos(angle), atol=2e-4)
    np.testing.assert_allclose(motion.ddq[inner], -gain(cutoff) * OMEGA**2 * np.sin(angle), atol=2e-3)
    np.testing.assert_allclose(motion.tau[inner], 3.0 * motion.q[inner] - 1.0, atol=1e-9)
    assert motion.wrench is not None
    np.testing.assert_allclose(motion.wrench[inner, :2], motion.q[inner], atol=1e-9)


@pytest.mark.parametrize(("measured", "worst"), [(MEASURED, 0.2), (FROM_POSITIONS, 0.6)])
def test_uneven_times_have_the_accelerations_too(measured: Array, worst: float) -> None:
    log = swinging(rate=200.0, seconds=10.0, jitter=0.6)
    motion = Motion.at_samples(log, 20.0, velocity_measured=measured)
    inner = slice(100, -100)
    np.testing.assert_allclose(motion.ddq[inner], -(OMEGA**2) * log.q[inner], atol=worst)


def test_without_a_low_pass_the_channels_stay() -> None:
    log = swinging()
    motion = Motion.at_samples(log, np.inf, velocity_measured=MEASURED)
    np.testing.assert_allclose(motion.q, log.q, atol=1e-12)
    np.testing.assert_allclose(motion.dq, log.dq, atol=1e-12)
    np.testing.assert_allclose(motion.ddq[500:-500], -(OMEGA**2) * log.q[500:-500], atol=0.02)
    assert motion.usable.all()


@pytest.mark.parametrize(("rate", "jitter", "worst"), [(50.0, 0.0, 1e-9), (1000.0, 0.0, 1e-5), (200.0, 0.4, 2e-3)])
def test_even_times_have_the_motion_of_the_samples(rate: float, jitter: float, worst: float) -> None:
    """Resampling first and filtering then is filtering first and reading at the even times then."""
    log = swinging(rate, jitter=jitter)
    even = Motion.on_grid(log, 4.0)
    assert even is not None
    assert even.rate == pytest.approx(min(log.rate, 100.0)) and even.dt == 1.0 / even.rate
    np.testing.assert_allclose(np.diff(even.time), even.dt, rtol=1e-9)
    own = Motion.at_samples(log, 4.0, velocity_measured=FROM_POSITIONS)
    assert even.wrench is not None and own.wrench is not None
    inner = even.usable & (even.time > 2.0) & (even.time < 28.0)  # the two continue the recording differently
    pairs = [(even.q, own.q), (even.dq, own.dq), (even.ddq, own.ddq), (even.tau, own.tau), (even.wrench, own.wrench)]
    for ours, theirs in pairs:
        read = interpolated(even.time, own.time, theirs)
        # a straight line between two samples misses a wave by (ω h)²/8
        missed = worst + (0.0 if rate < 100.0 else (2.0 * np.pi * 2.2 / rate) ** 2 / 8.0)
        np.testing.assert_allclose(ours[inner], read[inner], atol=missed * np.abs(theirs).max())


def test_nothing_is_usable_within_two_periods_of_a_gap_or_an_end() -> None:
    log = swinging()
    cut = log[(log.time < 10.0) | (log.time >= 12.0)]
    motion = Motion.at_samples(cut, 4.0, velocity_measured=FROM_POSITIONS)
    away = np.min(np.abs(cut.time[:, None] - [0.0, 9.99, 12.0, 29.99]), axis=1)
    assert motion.usable[away > 0.501].all() and not motion.usable[away < 0.499].any()
    # Each part is filtered by itself: what lies beyond the gap does not count.
    first = Motion.at_samples(log[log.time < 10.0], 4.0, velocity_measured=FROM_POSITIONS)
    np.testing.assert_allclose(motion.ddq[: len(first)], first.ddq, atol=1e-9)


def test_missing_numbers_are_not_usable_at_their_samples() -> None:
    log = swinging()
    q, tau = log.q.copy(), log.tau.copy()
    q[1000:1003, 1], tau[1500, 0] = np.nan, np.nan
    motion = Motion.at_samples(replace(log, q=q, tau=tau), 4.0, velocity_measured=FROM_POSITIONS)
    assert not motion.usable[1000:1003].any() and motion.usable[990:1000].all()
    assert np.isnan(motion.tau[1500, 0]) and np.isfinite(motion.tau[1500, 1])
    np.testing.assert_allclose(motion.travel, 2.0, atol=2e-3)
    assert np.isfinite(motion.direction).all()


def test_on_even_times_gaps_are_bridged_and_not_usable() -> None:
    """Every channel is finite everywhere; what was not measured is not usable, what lies beside it is."""
    log = swinging()
    q = log.q.copy()
    q[2000:2010] = np.nan
    tau = log.tau.copy()
    tau[:, 1] = np.nan
    cut = replace(log, q=q, tau=tau)[(log.time < 9.995) | (log.time > 10.055)]
    motion = Motion.on_grid(cut, 4.0)
    assert motion is not None and motion.wrench is not None
    for channels in (motion.q, motion.dq, motion.ddq, motion.tau, motion.wrench):
        assert np.isfinite(channels).all()
    assert motion.effort_measured.tolist() == [True, False]
    # From 9.99 s to 10.06 s and from 19.99 s to 20.10 s there is no position; the ends are 0.25 s long.
    lost = np.zeros(len(motion), dtype=bool)
    near = np.zeros(len(motion), dtype=bool)
    for begin, end in ((9.99, 10.06), (19.99, 20.10)):
        lost |= (motion.time > begin + 0.005) & (motion.time < end - 0.005)
        near |= (motion.time > begin - 0.005) & (motion.time < end + 0.005)
    inside = (motion.time > 0.255) & (motion.time < motion.time[-1] - 0.255)
    assert motion.usable[inside & ~near].all()
    ends = (motion.time < 0.245) | (motion.time > motion.time[-1] - 0.245)
    assert not motion.usable[ends | lost].any()


def test_on_even_times_nothing_is_usable_near_a_jump_or_wild_stamps() -> None:
    log = swinging()
    q = log.q.copy()
    q[2000:] += 0.5
    time = log.time.copy()
    time[1000:1004] -= 5.0
    motion = Motion.on_grid(replace(log, q=q, time=time), 4.0)
    assert motion is not None
    away = np.min(np.abs(motion.time[:, None] - [9.99, 19.99]), axis=1)
    inside = (motion.time > 0.255) & (motion.time < motion.time[-1] - 0.255)
    assert not motion.usable[away < 0.37].any()
    assert motion.usable[inside & (away > 0.38)].all()


@pytest.mark.parametrize("size", [150, 700, 2999])
def test_a_stream_has_the_motion_of_the_whole(size: int) -> None:
    """Every usable sample of the whole is usable in one window, with the same numbers to the filter's memory."""
    log = swinging(seconds=60.0)
    whole = Motion.at_samples(log, 4.0, velocity_measured=np.array([True, False]))
    pieces = (log[start : start + size] for start in range(0, len(log), size))
    parts = list(Motion.stream(pieces, 4.0, velocity_measured=np.array([True, False])))
    assert np.array_equal(np.concatenate([part.time[part.usable] for part in parts]), whole.time[whole.usable])
    for name in ("q", "dq", "ddq", "tau", "wrench"):
        streamed = np.concatenate([getattr(part, name)[part.usable] for part in parts])
        np.testing.assert_allclose(
            streamed, getattr(whole, name)[whole.usable], atol=2e-5 * np.abs(getattr(whole, name)).max()
        )
    kept = np.concatenate([part.time[part.usable & part.thinned(8.0)] for part in parts])
    assert np.array_equal(kept, whole.time[whole.usable & whole.thinned(8.0)])


def test_a_stream_holds_little_at_a_time_and_chooses_from_its_first_piece() -> None:
    log = swinging(seconds=120.0, jitter=0.5)
    chosen = Motion.at_samples(log[:3000])
    parts = list(Motion.stream(log[start : start + 3000] for start in range(0, len(log), 3000)))
    assert len(parts) == 5
    assert {part.cutoff for part in parts} == {chosen.cutoff} and {part.rate for part in parts} == {chosen.rate}
    assert max(len(part) for part in parts) <= 3000 + 2 * 6 * 100 / chosen.cutoff + 2
    assert list(Motion.stream(iter(()))) == []


def test_cutoff_and_velocities_are_chosen_from_the_motion() -> None:
    """Five times the faster joint's frequency; the velocity of the joint whose positions are noisy."""
    log = swinging()
    noise = np.random.default_rng(4).normal(size=log.q.shape)
    motion = Motion.at_samples(replace(log, q=log.q + noise * [1e-3, 1e-7], dq=log.dq + noise * [1e-4, 3e-2]))
    assert motion.cutoff == pytest.approx(5.5, rel=0.1)
    assert motion.velocity_measured.tolist() == [True, False]


def test_other_channels_go_through_the_same_low_pass() -> None:
    log = swinging(rate=250.0)
    for motion in (Motion.at_samples(log, 4.0, velocity_measured=FROM_POSITIONS), Motion.on_grid(log, 4.0)):
        assert motion is not None
        for derivative, expected in enumerate((motion.q, motion.dq, motion.ddq)):
            np.testing.assert_array_equal(motion.filtered(log.q, derivative), expected)
        assert motion.filtered(log.dq).shape == motion.dq.shape
        np.testing.assert_allclose(motion.filtered(log.dq)[motion.usable], motion.dq[motion.usable], atol=0.03)


def test_thinning_keeps_so_many_samples_for_a_period() -> None:
    log = swinging(rate=200.0)
    motion = Motion.at_samples(log, 2.5, velocity_measured=FROM_POSITIONS)
    kept = motion.thinned(8.0)
    assert np.allclose(np.diff(motion.time[kept]), 0.05)
    assert motion.thinned(1000.0).all()


def test_direction_is_that_of_the_last_motion() -> None:
    time = np.arange(0.0, 30.0, 0.01)
    q = np.clip(np.column_stack([0.2 * (time - 5.0), 0.1 * (20.0 - time)]), 0.0, 1.0)
    q = 1e-3 * np.round((q + 0.4e-3 * np.random.default_rng(5).normal(size=q.shape)) / 1e-3)
    motion = Motion.on_grid(Log(("a", "b"), time, q, np.zeros_like(q), np.zeros_like(q)), 5.0)
    assert motion is not None
    assert motion.direction[time < 4.5].tolist() == [[0.0, 0.0]] * int((time < 4.5).sum())
    assert np.all(motion.direction[time > 6.0, 0] == 1.0)
    assert np.all(motion.direction[(time > 11.0), 1] == -1.0)
    np.testing.assert_allclose(motion.travel, 1.0, atol=5e-3)
    assert not motion.direction.flags.writeable
    # An encoder of coarse steps that trembles between two of them stands.
    coarse = 0.01 * (1.0 + np.round(0.5 * np.sign(np.sin(3.0 * time + 0.1)) + 0.5))[:, None] * [1.0, -1.0]
    motion = Motion.on_grid(Log(("a", "b"), time, coarse, np.zeros_like(q), np.zeros_like(q)), 5.0)
    assert motion is not None and not motion.direction.any()
    side = np.ones_like(motion.q)
    assert np.array_equal(replace(motion, side=side).direction, side)


@pytest.mark.parametrize("rows", [0, 5, 19])
def test_a_short_recording_has_no_motion_on_even_times(rows: int) -> None:
    log = swinging()
    time = log.time.copy()
    time[rows:] = np.nan
    assert Motion.on_grid(replace(log, time=time)) is None


def test_samples_out_of_order_are_left_out() -> None:
    log = swinging()
    doubled = log[np.sort(np.concatenate([np.arange(len(log)), [700, 701, 702]]))]
    ours, theirs = (Motion.at_samples(one, 4.0, velocity_measured=FROM_POSITIONS) for one in (doubled, log))
    assert np.array_equal(ours.time, theirs.time) and np.array_equal(ours.ddq, theirs.ddq)


def test_a_slow_recording_lowers_the_cutoff_and_a_long_one_the_rate() -> None:
    slow = Motion.on_grid(swinging(rate=12.0), 5.0)
    assert slow is not None and slow.cutoff == pytest.approx(2.0)
    log = swinging()
    far = Motion.on_grid(replace(log, time=100.0 * log.time), 5.0)
    assert far is not None and far.rate == pytest.approx(1.0) and len(far) == len(log)
    broken = Motion.on_grid(replace(log, time=log.time + 1e4 * (log.time > 15.0)), 5.0)
    assert broken is not None and len(broken) in (30_000, 30_001)


def test_it_is_published_read_only_and_checked() -> None:
    motion = Motion.at_samples(swinging(), 4.0, velocity_measured=FROM_POSITIONS)
    for one in (motion, pickle.loads(pickle.dumps(motion)), copy.copy(motion)):
        with pytest.raises(ValueError, match="read-only"):
            one.ddq[0, 0] = 1.0
    with pytest.raises(InputError, match="tau has shape"):
        replace(motion, tau=np.zeros((3, 2)))
    with pytest.raises(InputError, match="cutoff"):
        Motion.at_samples(swinging(), -1.0, velocity_measured=FROM_POSITIONS)
