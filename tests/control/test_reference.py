"""Reference signals: shapes, derivatives, starts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from counterpoise.control.reference import Eased, Hold, PoseList, Reference, Sine, Triangle
from counterpoise.errors import InputError

START = np.array([0.1, -0.2])
SIGNALS = {
    "hold": Hold(),
    "triangle": Triangle([0.2, 0.1], 2.0),
    "sine": Sine([0.2, 0.1], 2.0),
    "eased": Eased(Sine([0.2, 0.1], 2.0), 1.0),
    "poses": PoseList([[0.5, 0.5], [0.5, 0.5], [-0.3, 0.0]], speed=0.8, dwell=0.1),
}


@pytest.mark.parametrize("signal", SIGNALS.values(), ids=SIGNALS)
def test_starts_where_the_arm_is_and_is_consistent(signal: Reference) -> None:
    """It begins at the pose of the reset, is continuous, and its velocity is its slope."""
    signal.reset(START)
    assert isinstance(signal, Reference)
    assert signal.at(0.0).q == pytest.approx(START)
    times = np.linspace(0.0, 6.0, 6001)
    wanted = [signal.at(time) for time in times]
    q, dq = np.array([w.q for w in wanted]), np.array([w.dq for w in wanted])
    slope = np.diff(q, axis=0) / 1e-3
    mean = 0.5 * (dq[1:] + dq[:-1])
    corners = np.any(np.abs(np.diff(dq, axis=0)) > 0.1, axis=1)  # a triangle's ends
    assert np.count_nonzero(corners) <= 6
    assert slope[~corners] == pytest.approx(mean[~corners], abs=2e-3)
    assert np.max(np.abs(np.diff(q, axis=0))) < 2e-3


def test_triangle_and_sine_have_their_amplitude_and_period() -> None:
    """They swing by the amplitude to both sides of a given centre, once a period."""
    for kind in (Triangle, Sine):
        signal = kind([0.2, 0.0], 2.0, centre=[1.0, 3.0])
        signal.reset(START)
        for time, expected in ((0.5, 1.2), (1.0, 1.0), (1.5, 0.8), (2.0, 1.0), (10.5, 1.2)):
            assert signal.at(time).q == pytest.approx([expected, 3.0])
    triangle = Triangle([0.2, 0.0], 2.0)
    triangle.reset(START)
    assert triangle.at(0.1).dq == pytest.approx([0.4, 0.0])
    assert triangle.at(0.9).dq == pytest.approx([-0.4, 0.0])


@pytest.mark.parametrize("end", [0.25, 0.75, 1.25])
def test_triangle_turns_at_its_ends(end: float) -> None:
    """At the end itself the velocity is already that of the way back."""
    triangle = Triangle([0.2, 0.0], 1.0, centre=[1.0, 3.0])
    now, later = triangle.at(end), triangle.at(end + 0.01)
    assert abs(now.q[0] - 1.0) == pytest.approx(0.2)
    assert later.q == pytest.approx(now.q + 0.01 * now.dq)
    assert (later.q[0] - 1.0) / (now.q[0] - 1.0) < 1.0


def test_eased_begins_at_rest_and_becomes_the_other() -> None:
    """No speed at first; after the time given, exactly the reference behind it."""
    eased, sine = Eased(Sine([0.2, 0.1], 2.0), 1.0), Sine([0.2, 0.1], 2.0)
    eased.reset(START)
    sine.reset(START)
    assert eased.at(0.0).dq == pytest.approx([0.0, 0.0], abs=1e-12)
    assert np.all(sine.at(0.0).dq > 0.3)
    for time in (1.0, 1.7, 12.3):
        assert eased.at(time).q.tolist() == sine.at(time).q.tolist()
        assert eased.at(time).dq.tolist() == sine.at(time).dq.tolist()


def test_pose_list_keeps_speed_and_dwell() -> None:
    """No joint exceeds its speed, each pose is reached and held, the last for ever."""
    poses = [[0.5, -0.5], [0.0, 0.4]]
    signal = PoseList(poses, speed=[0.5, 0.25], dwell=0.5)
    signal.reset(START)
    times = np.arange(0.0, signal.duration, 1e-3)
    dq = np.array([signal.at(time).dq for time in times])
    assert np.max(np.abs(dq), axis=0) == pytest.approx([1.875 * 0.4 / 2.25, 0.25], rel=1e-3)
    first = 1.875 * 0.3 / 0.25
    for time in (first, first + 0.25, first + 0.499):
        assert signal.at(time).q == pytest.approx(poses[0])
        assert not np.any(signal.at(time).dq)
    assert signal.duration == pytest.approx(first + 0.5 + 1.875 * 0.9 / 0.25 + 0.5)
    assert signal.at(1e9).q == pytest.approx(poses[1])


def test_pose_list_moves_as_the_least_jerk_polynomial_says() -> None:
    """From p to r in T: p + (r − p)(10 σ³ − 15 σ⁴ + 6 σ⁵), both ends anywhere; at rest before it begins."""
    signal = PoseList([[0.5, -0.5], [0.2, 0.9]], speed=0.5, dwell=0.25)
    signal.reset(START)
    before = signal.at(-0.3)
    assert before.q.tolist() == START.tolist() and not np.any(before.dq)
    begin, start = 0.0, START
    for end in ([0.5, -0.5], [0.2, 0.9]):
        way = np.array(end) - start
        needed = 1.875 * np.max(np.abs(way)) / 0.5
        share = np.polynomial.Polynomial([0.0, 0.0, 0.0, 10.0, -15.0, 6.0])
        for part in (0.1, 0.5, 0.8):
            found = signal.at(begin + part * needed)
            assert found.q == pytest.approx(start + share(part) * way)
            assert found.dq == pytest.approx(share.deriv()(part) / needed * way)
        begin, start = begin + needed + 0.25, np.array(end)


def test_pose_list_of_one_pose_that_is_reached() -> None:
    """Already there: it stays."""
    signal = PoseList([START], speed=1.0)
    signal.reset(START)
    assert signal.duration == 0.0
    assert signal.at(0.0).q == pytest.approx(START)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Sine([0.1], 0.0), "period"),
        (lambda: Triangle([0.1], np.nan), "period"),
        (lambda: Sine([[0.1]], 1.0), "amplitude"),
        (lambda: Sine([0.1], 1.0, centre=[0.0, 1.0]), "centre"),
        (lambda: Hold([np.inf]), "q has shape"),
        (lambda: Hold("here"), "q is not"),
        (lambda: Eased(Hold(), 0.0), "over"),
        (lambda: PoseList([], speed=1.0), "no poses"),
        (lambda: PoseList([[0.0], [0.0, 1.0]], speed=1.0), r"poses\[1\]"),
        (lambda: PoseList([[0.0]], speed=0.0), "speed"),
        (lambda: PoseList([[0.0]], speed=1.0, dwell=-1.0), "dwell"),
    ],
)
def test_arguments_are_checked(make: Any, words: str) -> None:
    """What makes no signal is refused by name."""
    with pytest.raises(InputError, match=words):
        make()


@pytest.mark.parametrize(
    "signal", [Hold(), Sine([0.1], 1.0), PoseList([[0.0]], speed=1.0)], ids=["hold", "sine", "poses"]
)
def test_signal_that_was_not_started_says_so(signal: Reference) -> None:
    """Asking before the reset is an error of ours, not a crash."""
    with pytest.raises(InputError, match="not reset"):
        signal.at(0.0)


def test_signals_for_other_joints_are_refused_at_the_reset() -> None:
    """A signal for two joints does not fit an arm of three."""
    for signal in (Hold([0.0, 0.0]), Sine([0.1, 0.1], 1.0), PoseList([[0.0, 0.0]], speed=1.0)):
        with pytest.raises(InputError, match="joints"):
            signal.reset(np.zeros(3))
