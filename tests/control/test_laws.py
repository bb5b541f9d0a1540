"""The laws: what they compute, what they refuse, and that they start and integrate as they say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import counterpoise as cp
from counterpoise.control.friction import FrictionCompensation
from counterpoise.control.gravity import Gravity, PDGravity
from counterpoise.control.law import Law, LimitAware
from counterpoise.control.loop import ControlLoop
from counterpoise.control.pd import PD
from counterpoise.control.pid import PID
from counterpoise.control.reference import Hold, Sine
from counterpoise.control.safety import SafetyFilter, SafetySettings
from counterpoise.dynamics import CoulombViscous, joint_inertias
from counterpoise.errors import InputError
from counterpoise.foundation import Array
from counterpoise.recording import Sample
from library.ideal_arm import IdealArm

ROBOT = cp.load("puma560")
N = ROBOT.n
RNG = np.random.default_rng(11)


def sample(q: Any = 0.0, dq: Any = 0.0, time: float = 0.0) -> Sample:
    rows = [np.array(np.broadcast_to(value, (N,)), dtype=np.float64) for value in (q, dq, 0.0)]
    return Sample(time, *rows)


def every_law() -> list[Law]:
    friction = CoulombViscous(coulomb=np.ones(N), viscous=np.ones(N))
    ones = np.ones(N)
    return [
        PD(ones, ones),
        PID(ones, ones, ones, integral_limit=1.0, dt=1e-3),
        PDGravity(ROBOT, ones, ones),
        Gravity(ROBOT),
        FrictionCompensation(friction, ones),
    ]


@pytest.mark.parametrize("law", every_law(), ids=lambda law: type(law).__name__)
def test_every_law_keeps_the_protocol(law: Law) -> None:
    """A law, with float64 torques of shape (n,) in one array of its own, and a declared use of gravity and plate."""
    assert isinstance(law, Law)
    assert isinstance(law, LimitAware) == isinstance(law, PID)
    assert law.adds_gravity == isinstance(law, Gravity | PDGravity)
    assert not law.uses_wrench
    item = sample(0.2, 0.1)
    law.reset(item)
    tau = law.torque(item, 0.0)
    assert tau.dtype == np.float64
    assert tau.shape == (N,)
    assert law.torque(item, 1e-3) is tau


def test_pd_torque() -> None:
    """τ = K_p (q_d − q) + K_d (dq_d − dq), the reference's time counted from the law's first tick."""
    kp, kd = RNG.uniform(1, 9, N), RNG.uniform(1, 9, N)
    law = PD(kp, kd, Sine(np.full(N, 0.2), 2.0, centre=np.full(N, 0.5)))
    item = sample(RNG.normal(size=N), RNG.normal(size=N))
    law.reset(item)
    law.torque(item, 7.0)
    angle = 2.0 * np.pi * 0.3 / 2.0
    expected = kp * (0.5 + 0.2 * np.sin(angle) - item.q) + kd * (0.2 * np.pi * np.cos(angle) - item.dq)
    assert law.torque(item, 7.3) == pytest.approx(expected)


@pytest.mark.parametrize("begin", [0.0, 0.45, 7.15, -3.2])
def test_the_reference_does_not_know_what_the_clock_reads(begin: float) -> None:
    """At the law's first tick the reference is at its beginning, whenever that is; later ticks count from there."""
    law = PD(np.full(N, 2.0), 3.0, Sine(np.full(N, 0.2), 2.0, centre=np.zeros(N)))
    item = sample()
    law.reset(item)
    assert law.torque(item, begin) == pytest.approx(np.full(N, 3.0 * 0.2 * np.pi))  # a sine begins at full speed
    assert law.torque(item, begin + 0.5) == pytest.approx(np.full(N, 2.0 * 0.2))  # a quarter of the period: its top


def test_pd_starts_where_the_arm_is() -> None:
    """Without a reference the law begins with no torque, and again after each reset."""
    law = PD(np.full(N, 50.0), 5.0)
    for pose in (0.3, -0.4):
        law.reset(sample(pose))
        assert not np.any(law.torque(sample(pose), 1.0))
        assert law.torque(sample(pose - 0.1), 1.0) == pytest.approx(np.full(N, 5.0))


def test_pd_gravity_adds_gravity() -> None:
    """PD plus g(q), and with another payload the heavier arm's, on the same reference."""
    law = PDGravity(ROBOT, np.ones(N), np.ones(N), Sine(np.full(N, 0.1), 1.0))
    plain = PD(np.ones(N), np.ones(N), Sine(np.full(N, 0.1), 1.0))
    item = sample(RNG.uniform(-1, 1, N), 0.2)
    for one in (law, plain):
        one.reset(item)
        one.torque(item, 0.0)
    assert law.torque(item, 0.3) == pytest.approx(plain.torque(item, 0.3) + ROBOT.gravity(item.q))
    loaded = ROBOT.with_payload(1.0)
    heavier = law.with_robot(loaded)
    assert heavier.torque(item, 0.3) - loaded.gravity(item.q) == pytest.approx(plain.torque(item, 0.3))
    assert Gravity(ROBOT).with_robot(loaded).torque(item, 0.0) == pytest.approx(loaded.gravity(item.q))


def test_pid_integrates_in_real_units() -> None:
    """After t seconds of constant error e the integral is K_i e t [N m], up to its limit."""
    law = PID(np.zeros(N), np.full(N, 20.0), 0.0, integral_limit=0.5, dt=2e-3, reference=Hold(np.full(N, 0.1)))
    law.reset(sample())
    for tick in range(100):
        tau = law.torque(sample(), tick * 2e-3)
    assert tau == pytest.approx(np.full(N, 20.0 * 0.1 * 0.2))
    for tick in range(100, 1000):
        tau = law.torque(sample(), tick * 2e-3)
    assert tau == pytest.approx(np.full(N, 0.5))
    law.reset(sample())
    assert law.torque(sample(), 0.0) == pytest.approx(np.full(N, 20.0 * 0.1 * 2e-3))


def test_pid_does_not_integrate_against_a_cut() -> None:
    """Growth that the filter cuts off is taken back on that joint; growth away from the limit is kept."""
    law = PID(np.zeros(N), np.ones(N), 0.0, integral_limit=9.0, dt=1.0, reference=Hold([1.0, 1, 1, -1, -1, -1]))
    law.reset(sample())
    law.torque(sample(), 0.0)
    law.limited(np.array([-1.0, 1.0, 0.0, 1.0, -1.0, 0.0]))
    assert law.integral.tolist() == [0.0, 1.0, 1.0, 0.0, -1.0, -1.0]


def test_integral_rests_when_told() -> None:
    """While it rests the torque stays; before and after, the integral grows by K_i e a second."""
    hold = Hold(np.full(N, 0.1))
    law = PID(
        np.zeros(N),
        np.full(N, 10.0),
        0.0,
        integral_limit=9.0,
        dt=0.1,
        reference=hold,
        rests=lambda time: 0.25 < time < 0.55,
    )
    law.reset(sample())
    grown = [float(law.torque(sample(), 2.0 + 0.1 * tick)[0]) for tick in range(8)]
    assert grown == pytest.approx([0.1, 0.2, 0.3, 0.3, 0.3, 0.3, 0.4, 0.5])


def test_a_share_of_the_damping_acts_when_told() -> None:
    """The velocity's part is scaled, and nothing else."""
    law = PID(
        np.full(N, 3.0),
        0.0,
        2.0,
        integral_limit=9.0,
        dt=0.1,
        reference=Hold(np.full(N, 0.1)),
        damping_share=lambda time: 0.25 if time > 0.15 else 1.0,
    )
    moving = sample(dq=np.full(N, 0.5))
    law.reset(moving)
    torques = [float(law.torque(moving, 2.0 + 0.1 * tick)[0]) for tick in range(4)]
    assert torques == pytest.approx([0.3 - 1.0, 0.3 - 1.0, 0.3 - 0.25, 0.3 - 0.25])


def test_pid_recovers_from_saturation_without_windup() -> None:
    """Held against an effort limit for long, the integral has not grown: it leaves the limit when the error turns."""
    arm = IdealArm(ROBOT)
    inertia = joint_inertias(ROBOT, arm.q)
    far = arm.q.copy()
    far[0] += 0.5
    pid = PID(100 * inertia, 200 * inertia, 20 * inertia, integral_limit=500.0, dt=1e-3, reference=Hold(far))
    low = np.array(ROBOT.effort_limit)
    low[0] = 1.0
    safety = SafetyFilter(ROBOT, plant=arm, effort_limit=low, settings=SafetySettings(blend_time=0.0))
    with arm:
        ControlLoop(arm, [Gravity(ROBOT), pid], ROBOT, safety=safety).run(0.3, then="keep")
    assert arm.sent[-1][0] == 1.0
    assert pid.integral[0] < 1.0


class Stribeck:
    """A law with a negative slope, to see that the compensation stays below the friction there too."""

    def torque(self, dq: Array) -> Array:
        return np.sign(dq) * (2.0 + 3.0 * np.exp(-((dq / 0.1) ** 2))) + 0.5 * dq


@given(
    st.lists(st.floats(-5.0, 5.0), min_size=N, max_size=N).map(np.array),
    st.lists(st.floats(0.0, 1.0), min_size=N, max_size=N),
    st.floats(0.0, 0.5),
    st.floats(1e-3, 1.0),
)
@settings(max_examples=200)
def test_friction_compensation_is_passive(dq: Array, share: list[float], band: float, smoothing: float) -> None:
    """At any speed it has the friction's sign and no more than its share of it; nothing at rest and in the band."""
    friction = Stribeck()
    law = FrictionCompensation(friction, share, dead_band=band, smoothing=smoothing)
    tau = law.torque(sample(dq=dq), 0.0)
    most = np.array(share) * friction.torque(dq)
    assert np.all(tau * dq >= 0.0)
    assert np.all(np.abs(tau) <= np.abs(most))
    assert not np.any(tau[np.abs(dq) <= band])


def test_friction_compensation_approaches_its_share() -> None:
    """Well above the smoothing speed it is the share of the friction."""
    friction = CoulombViscous(coulomb=np.full(N, 3.0), viscous=np.full(N, 2.0))
    law = FrictionCompensation(friction, np.full(N, 0.7))
    assert law.torque(sample(dq=-1.0), 0.0) == pytest.approx(np.full(N, -0.7 * 5.0))
    assert not np.any(law.torque(sample(dq=0.0), 0.0))


def test_friction_compensation_is_continuous() -> None:
    """No step anywhere, whatever the sign does: the largest slope is bounded."""
    friction = CoulombViscous(coulomb=np.full(N, 3.0), viscous=np.zeros(N))
    law = FrictionCompensation(friction, np.ones(N), dead_band=0.02, smoothing=0.05)
    speeds = np.linspace(-0.5, 0.5, 20001)
    torques = np.array([law.torque(sample(dq=speed), 0.0)[0] for speed in speeds])
    assert np.max(np.abs(np.diff(torques))) <= 3.0 / 0.05 * 5.1e-5


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: PD([1.0, np.nan], [1.0, 1.0]), r"kp\[1\]"),
        (lambda: PD([1.0, 1.0], [1.0, -1.0]), r"kd\[1\]"),
        (lambda: PD(5.0, 1.0), "kp"),
        (lambda: PD([1.0, 1.0], [1.0]), "kd"),
        (lambda: PD("stiff", 1.0), "kp"),
        (lambda: PDGravity(ROBOT, [1.0], [1.0]), "6 joints"),
        (lambda: PID([1.0], [1.0], [1.0], integral_limit=-1.0, dt=1e-3), "integral_limit"),
        (lambda: PID([1.0], [1.0], [1.0], integral_limit=1.0, dt=0.0), "dt"),
        (lambda: FrictionCompensation(Stribeck(), np.full(N, 1.01)), r"friction_fraction\[0\] is 1.01; .* from 0 to 1"),
        (lambda: FrictionCompensation(Stribeck(), [0.5, -0.1]), r"friction_fraction\[1\]"),
        (lambda: FrictionCompensation(Stribeck(), [0.5], smoothing=0.0), "smoothing"),
        (lambda: FrictionCompensation(Stribeck(), [0.5], dead_band=-1.0), "dead_band"),
        (lambda: FrictionCompensation(None, [0.5]), "no friction law"),  # type: ignore[arg-type]
    ],
)
def test_gains_are_checked(make: Any, words: str) -> None:
    """Every gain is one finite number from 0 per joint; a share is at most 1."""
    with pytest.raises(InputError, match=words):
        make()
