"""Poses at rest: where, and from which side; off line and on line alike."""

from __future__ import annotations

import copy
import pickle
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.recording.log import Log, SampleFlag
from counterpoise.recording.rest import (
    CREEP,
    LEAST_TIME,
    SETTLE,
    Rest,
    RestGatherer,
    RestPhase,
    find_rests,
    on_stops,
    sides_by_order,
)
from library.analytic_log import standing_log

PUMA = cp.load("puma560")
SIDES = (1.0, -1.0, -1.0, 1.0, 1.0)


def poses_of(log: Log):
    return [segment for segment in find_rests(log) if segment.duration > 1.0]


def test_every_pose_is_found_with_its_side():
    segments = poses_of(standing_log(PUMA, SIDES))
    assert [segment.side.tolist() for segment in segments] == [[side] * 6 for side in SIDES]


def test_means_are_those_of_the_segment():
    log = standing_log(PUMA, SIDES)
    for segment in poses_of(log):
        rows = slice(segment.start, segment.end)
        assert segment.q == pytest.approx(log.q[rows].mean(axis=0), abs=1e-9)
        assert segment.tau == pytest.approx(log.tau[rows].mean(axis=0))
        assert np.ptp(log.q[rows], axis=0).max() < 5e-3


def test_settling_is_cut_off():
    log = standing_log(PUMA, SIDES)
    plain, cut = poses_of(log), [s for s in find_rests(log, settle=0.4) if s.duration > 0.5]
    assert [b.duration for b in cut] == pytest.approx([a.duration - 0.4 for a in plain], abs=0.02)


def test_coarse_counts_do_not_look_like_motion():
    log = standing_log(PUMA, SIDES)
    coarse = Log(log.joint_names, log.time, 2e-3 * np.round(log.q / 2e-3), log.dq, log.tau)
    assert len([s for s in find_rests(coarse) if s.duration > 1.0]) == len(SIDES)


def test_creep_is_motion():
    time = np.arange(0.0, 5.0, 0.01)
    creep = Log(("a",), time, 0.05 * time[:, None], np.full((500, 1), 0.05), np.zeros((500, 1)))
    assert find_rests(creep) == ()


def test_missing_numbers_and_short_logs_are_survived():
    log = standing_log(PUMA, SIDES)
    tau = np.array(log.tau)
    tau[::3, 1] = np.nan
    tau[:, 2] = np.nan
    q = np.array(log.q)
    q[100:105] = np.nan
    segments = find_rests(Log(log.joint_names, log.time, q, log.dq, tau))
    assert segments and np.isfinite(segments[0].tau[1]) and np.isnan(segments[0].tau[2])
    assert find_rests(log[:2]) == ()


# ------------------------------------------------------------------------------------------------------- on-line


def gathered(log: Log, **settings: Any) -> tuple[RestGatherer, list[Rest]]:
    """Feed a log sample by sample; return the gatherer and the rests that ended."""
    gatherer = RestGatherer(len(log.joint_names), float(log.time[1] - log.time[0]), **settings)
    found = []
    for row in range(len(log)):
        wrench = None if log.wrench is None else log.wrench[row]
        ended = gatherer.add(log.q[row], log.dq[row], log.tau[row], wrench)
        found += [] if ended is None else [ended]
    return gatherer, found


def slot_means(log: Log, samples: int) -> Log:
    """Return the log of the means of so many samples each."""
    whole = len(log) // samples
    columns = [
        values[: whole * samples].reshape(whole, samples, -1).mean(axis=1)
        for values in (log.time, log.q, log.dq, log.tau, log.wrench)
        if values is not None
    ]
    return Log(log.joint_names, columns[0][:, 0], *columns[1:])


def worked(dt: float, seed: int = 0, seconds: float = 60.0) -> Log:
    """Return a log of two joints that go from rest to rest, some of them too short, some with a turn on the way."""
    random = np.random.default_rng(seed)
    q, here = [np.zeros((round(0.7 / dt), 2))], np.zeros(2)
    while sum(map(len, q)) * dt < seconds:
        goal = here + random.choice([-1.0, 0.0, 1.0], 2) * random.uniform(0.01, 0.5, 2)
        for target, lasts in ((goal + 0.03 * random.choice([-1.0, 0.0, 1.0]), random.uniform(0.3, 1.0)), (goal, 0.4)):
            u = np.linspace(0.0, 1.0, round(lasts / dt))[:, None]
            q.append(here + (10.0 * u**3 - 15.0 * u**4 + 6.0 * u**5) * (target - here))
            here = target
        q.append(np.tile(here, (round(random.uniform(0.1, 1.9) / dt), 1)))
    q.append(here + np.linspace(0.0, 1.0, round(1.0 / dt))[:, None] * np.ones(2))
    positions = np.concatenate(q)
    positions = positions + 2e-5 * random.standard_normal(positions.shape)
    time = np.arange(len(positions)) * dt
    tau, wrench = random.standard_normal((len(time), 2)), random.standard_normal((len(time), 6))
    return Log(("a", "b"), time, positions, np.gradient(positions, time, axis=0), tau, wrench)


@pytest.mark.parametrize(("dt", "samples"), [(0.02, 1), (0.03, 1), (0.1, 1), (0.25, 1), (0.005, 4), (1e-3, 20)])
def test_a_gatherer_finds_what_a_log_of_its_slots_shows(dt: float, samples: int) -> None:
    """Both ways give the same rests: samples, times, means, scatter and sides; where samples are slots, of the log.

    The numbers of the log have no steps, so that neither knows of an encoder's counts. Times are no whole slots, so
    that no rounding decides.
    """
    log = worked(dt, seconds=60.0 if samples > 1 else 300.0)
    _, online = gathered(log, settle=0.29, least_time=0.29)
    offline = find_rests(slot_means(log, samples), settle=0.29, least_time=0.29)
    assert len(online) == len(offline) > 10
    assert {side for rest in offline for side in rest.side} >= {-1.0, 1.0}
    for one, other in zip(online, offline, strict=True):
        assert (one.start, one.end, one.count) == (other.start * samples, other.end * samples, other.count)
        assert (one.begin, one.duration) == pytest.approx((other.begin, other.duration), abs=1e-9)
        np.testing.assert_array_equal(one.side, other.side)
        for name in ("q", "tau", "scatter", "wrench"):
            np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=1e-12)


def test_coarse_counts_are_stated_to_a_gatherer() -> None:
    """With a band of two counts it finds the rests of the log of counts; rounding decides at just two."""
    smooth = worked(0.02, seconds=300.0)
    log = Log(smooth.joint_names, smooth.time, 2e-3 * np.round(smooth.q / 2e-3), smooth.dq, smooth.tau)
    offline = {(rest.end, *rest.side) for rest in find_rests(log, settle=SETTLE)}
    online = [(rest.end, *rest.side) for rest in gathered(log, band=4e-3)[1]]
    same = sum(any((end + late, *side) in offline for late in (-1, 0, 1)) for end, *side in online)
    assert same > 0.95 * max(len(offline), len(online))
    assert len(gathered(log)[1]) < 0.9 * len(online)


def test_the_present_rest_grows_until_it_ends() -> None:
    """It counts from the least time on, and is what is handed out at its end."""
    log = worked(0.01)
    gatherer = RestGatherer(2, 0.01)
    last: Rest | None = None
    ended = 0
    for row in range(len(log)):
        rest = gatherer.add(log.q[row], log.dq[row], log.tau[row])
        assert rest is None or gatherer.slot_done
        if rest is not None:
            assert last is not None and rest.end == last.end
            np.testing.assert_array_equal(rest.tau, last.tau)
            ended += 1
        present = gatherer.present()
        assert present is None or (present.duration > LEAST_TIME - 1e-6 and gatherer.phase is RestPhase.RESTS)
        last = present
    assert ended > 10


def stream(gatherer: RestGatherer, count: int, q: float = 0.0, tau: float = 1.0, **more: Any) -> list[Rest]:
    """Feed one joint's samples, all the same; return the rests that ended."""
    found = [gatherer.add([q], [0.0], [tau], **more) for _ in range(count)]
    return [rest for rest in found if rest is not None]


def test_a_bad_sample_is_left_out_and_a_bad_slot_ends_the_rest() -> None:
    """One of 20 samples of a slot, flagged or absurd, leaves no trace; a slot without a valid one ends the rest."""
    gatherer = RestGatherer(1, 1e-3)
    stream(gatherer, 1000)
    for bad in ({"flags": int(SampleFlag.STALE), "tau": 50.0}, {"tau": np.nan}, {"q": 1e30}):
        assert stream(gatherer, 1, **bad) + stream(gatherer, 99) == []
    present = gatherer.present()
    assert present is not None and present.tau[0] == 1.0 and present.scatter[0] == 0.0
    assert gatherer.refused == 3
    (rest,) = stream(gatherer, 40, flags=int(SampleFlag.Q_INVALID))
    assert rest.end <= 1300 and gatherer.phase is RestPhase.UNKNOWN and gatherer.present() is None
    assert gatherer.refused == 43
    stream(gatherer, 500)
    assert gatherer.phase is RestPhase.RESTS


def test_the_side_outlasts_a_gap() -> None:
    """What came to rest from below is on that side after samples were missing."""
    gatherer = RestGatherer(1, 0.01)
    for q in np.linspace(0.0, 0.3, 50):
        stream(gatherer, 1, q)
    stream(gatherer, 100, 0.3)
    stream(gatherer, 20, np.nan)
    stream(gatherer, 100, 0.3)
    present = gatherer.present()
    assert present is not None and present.side[0] == 1.0


def test_a_swing_with_the_windows_period_is_no_rest() -> None:
    """±10 mrad at 5 Hz: the ends of every window are at the same place."""
    gatherer = RestGatherer(1, 1e-3)
    for tick in range(4000):
        stream(gatherer, 1, 0.01 * np.sin(2.0 * np.pi * 5.0 * 1e-3 * tick))
        assert gatherer.phase is not RestPhase.RESTS or gatherer.present() is None


@pytest.mark.parametrize("step", [{"tau": 2.0}, {"wrench": [0.0, 0.0, 5.0, 0.0, 0.0, 0.0]}, {"q": 0.0}])
def test_a_step_ends_the_rest(step: dict[str, Any]) -> None:
    """A torque or a wrench that steps begins another rest, without the arm having moved; a knock ends nothing."""
    gatherer = RestGatherer(1, 0.02, torque_step=0.5, wrench_step=2.0)
    first = {"tau": 1.0, "wrench": np.zeros(6)}
    assert stream(gatherer, 60, **first) == []
    assert stream(gatherer, 2, **(first | step)) + stream(gatherer, 20, **first) == []
    ended = stream(gatherer, 60, **(first | step))
    assert len(ended) == (0 if "q" in step else 1)
    if ended:
        assert ended[0].tau[0] == 1.0 and not ended[0].wrench.any()  # type: ignore[union-attr]
        present = gatherer.present()
        assert present is not None and present.tau[0] == step.get("tau", 1.0)


def test_what_was_attached_settles() -> None:
    """After a step of the torque SETTLE passes before the next rest begins, as after a motion."""
    gatherer = RestGatherer(1, 0.02, torque_step=0.5)
    stream(gatherer, 60)
    phases = []
    for _ in range(40):
        stream(gatherer, 1, tau=2.0)
        phases.append(gatherer.phase)
    assert phases.count(RestPhase.SETTLES) == round(SETTLE / 0.02)


def test_knocks_end_nothing_however_many() -> None:
    """Two slots that left, and one that did not, again and again: they are not of the rest, which goes on."""
    gatherer = RestGatherer(1, 0.02, torque_step=0.5)
    stream(gatherer, 60)
    for _ in range(10):
        assert stream(gatherer, 2, tau=3.0) + stream(gatherer, 1) == []
    stream(gatherer, 10)
    present = gatherer.present()
    assert present is not None and present.tau[0] == 1.0 and present.end == 60 + 40 - 5


def test_the_way_on_is_not_of_the_rest() -> None:
    """A joint that came from below leaves downwards at once: the side is that of its arrival, the mean its place."""
    gatherer = RestGatherer(1, 0.01)
    for q in np.linspace(0.0, 0.3, 50):
        stream(gatherer, 1, q)
    stream(gatherer, 120, 0.3)
    (rest,) = stream(gatherer, 10, 0.2)
    assert rest.side[0] == 1.0
    assert rest.q[0] == pytest.approx(0.3, abs=1e-12)


@pytest.mark.parametrize(
    "missing", [{"wrench": None}, {"flags": int(SampleFlag.WRENCH_INVALID)}, {"wrench": [1e30] * 6}]
)
def test_a_plate_that_fails_makes_no_wrench(missing: dict[str, Any]) -> None:
    """One reading of a rest without a number, or with an absurd one: no mean of readings, and the rest goes on."""
    gatherer = RestGatherer(1, 1e-3, wrench_step=2.0)
    plate = {"wrench": [0.0, 0.0, 9.0, 0.0, 0.0, 0.0]}
    stream(gatherer, 1000, **plate)
    present = gatherer.present()
    assert present is not None and present.wrench is not None and present.wrench[2] == 9.0
    assert stream(gatherer, 1, **(plate | missing)) + stream(gatherer, 400, **plate) == []
    present = gatherer.present()
    assert present is not None and present.wrench is None and present.tau[0] == 1.0


def test_after_a_gap_it_begins_anew() -> None:
    """No slot is judged by what was before the gap; without one, half a window passes before the first is judged."""
    gatherer = RestGatherer(1, 0.02)
    stream(gatherer, 30)
    stream(gatherer, 1, np.nan)
    phases = []
    for _ in range(8):
        stream(gatherer, 1, 0.5)
        phases.append(gatherer.phase)
    assert phases == [RestPhase.UNKNOWN] * 5 + [RestPhase.SETTLES] * 3


def test_coarse_counts_are_no_turn() -> None:
    """With a band of two counts of 2 mrad, one and a half of the band back is no travel the other way."""
    for back, side in ((5.9e-3, 1.0), (6.1e-3, -1.0)):
        gatherer = RestGatherer(1, 0.02, band=4e-3)
        for q in np.linspace(0.0, 0.3, 30):
            stream(gatherer, 1, q)
        for q in np.linspace(0.0, 2.0 * back, 5):  # the follower is the reversal behind
            stream(gatherer, 1, 0.3 - q)
        stream(gatherer, 60, 0.3 - 2.0 * back)
        present = gatherer.present()
        assert present is not None and present.side[0] == side


@pytest.mark.parametrize("speed", [6e-3, -0.05])
def test_a_creep_never_rests(speed: float) -> None:
    """A little above STILL_SPEED, at any rate of samples."""
    for dt in (1e-3, 0.01, 0.1):
        gatherer = RestGatherer(1, dt)
        for tick in range(round(3.0 / dt)):
            stream(gatherer, 1, speed * tick * dt)
            assert gatherer.phase in (RestPhase.UNKNOWN, RestPhase.MOVES) or tick * dt < 0.2


def test_a_slow_creep_is_another_pose_after_a_while() -> None:
    """At 4 mrad/s a joint stands, but not for ever at one pose."""
    gatherer = RestGatherer(1, 0.02)
    ended = [rest for tick in range(1000) for rest in stream(gatherer, 1, 4e-3 * 0.02 * tick)]
    assert len(ended) >= 2
    assert all(rest.duration * 4e-3 < 2.5 * CREEP for rest in ended)


def test_settings_that_mean_nothing_are_refused() -> None:
    for wrong in ({"dt": 0.0}, {"dt": np.nan}, {"band": -1.0}, {"band": [1e-3, 1e-3]}, {"band": np.inf}):
        with pytest.raises(cp.InputError, match=next(iter(wrong))):
            RestGatherer(**({"n": 3, "dt": 0.01} | wrong))  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [{"q": [0.0, 1.0]}, {"dq": "fast"}, {"tau": None}, {"wrench": [1.0]}])
def test_what_is_no_sample_is_refused(wrong: dict[str, Any]) -> None:
    """By its name, and nothing is changed."""
    gatherer = RestGatherer(1, 0.02)
    stream(gatherer, 30)
    with pytest.raises(cp.InputError, match=next(iter(wrong))):
        gatherer.add(**({"q": [0.0], "dq": [0.0], "tau": [1.0]} | wrong))
    assert stream(gatherer, 20) == [] and gatherer.phase is RestPhase.RESTS


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_copy_goes_its_own_way(copied: Callable[[RestGatherer], RestGatherer]) -> None:
    """Made in the middle of a slot and of a rest, it finds the same rests as the first, and changes nothing there."""
    log, first = worked(1e-3, seconds=10.0), RestGatherer(2, 1e-3)
    found: list[list[Rest]] = [[], []]
    for row in range(2007):
        first.add(log.q[row], log.dq[row], log.tau[row])
    for gatherer, rests in zip((copied(first), first), found, strict=True):
        for row in range(2007, len(log)):
            rest = gatherer.add(log.q[row], log.dq[row], log.tau[row])
            rests.extend([] if rest is None else [rest])
    assert len(found[0]) == len(found[1]) > 1
    for one, other in zip(*found, strict=True):
        assert one.start == other.start
        np.testing.assert_array_equal(one.tau, other.tau)


def test_samples_cost_no_memory() -> None:
    """Feeding samples keeps nothing, however long the arm rests."""
    gatherer, q, tau = RestGatherer(7, 1e-3), np.zeros(7), np.ones(7)
    for _ in range(2000):
        gatherer.add(q, q, tau)
    tracemalloc.start()
    for _ in range(4000):
        gatherer.add(q, q, tau)
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 2000 and peak < 20_000


def test_sides_of_poses_by_their_order() -> None:
    """None for the first, nor for a joint that was there before."""
    q = np.array([[0.0, 0.0], [1.0, 0.01], [0.5, 0.5], [0.5, -0.5]])
    np.testing.assert_array_equal(sides_by_order(q, 0.02), [[0, 0], [1, 0], [-1, 1], [0, -1]])


def test_joints_on_their_stops() -> None:
    """Within 10 mrad of a limit; not where the joint may hardly move at all."""
    middle = 0.5 * (PUMA.lower + PUMA.upper)
    assert not on_stops(PUMA, middle).any()
    for side in (PUMA.lower + 5e-3, PUMA.upper - 5e-3):
        q = middle.copy()
        q[2] = side[2]
        np.testing.assert_array_equal(np.flatnonzero(on_stops(PUMA, q)), [2])
