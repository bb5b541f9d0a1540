"""Parts of the fit of rotor inertias: a held torque, its twist of the gear, and the columns of one pulse."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.signal import cont2discrete

from counterpoise.foundation import Array
from counterpoise.tasks.rotors.fit import (
    MODE_DAMPING,
    MODES,
    STRIBECK,
    Inertia95,
    Pulse,
    _HeldTorque,
    _sliding,
    _twists,
    delays,
    fitted,
    reduced,
)

DT = 1e-3
INERTIA, VISCOUS, DRY, PEAK, SCALE = 2.0, 3.0, 1.0, 1.5, 20.0
COUPLING, OTHER = 0.4, 0.05
"""Row of the inertia for the second joint [kg m²], and by how much that one swings [rad]."""


def test_a_held_torque_and_its_double_integral() -> None:
    """Each torque holds until the next tick, the last one for ever; before the first there was none."""
    time, torque = np.array([0.0, 0.1, 0.3, 0.4]), np.array([2.0, -1.0, 4.0, 3.0])
    held = _HeldTorque(torque, time)
    asked = np.linspace(-0.05, 0.55, 61)
    _, _, now, twice = held.at(asked)
    for at, one, two in zip(asked.tolist(), now, twice, strict=True):
        parts = [(begin, end) for begin, end in zip(time, [*time[1:], math.inf], strict=True) if begin < at]
        # A constant τ from a to b adds τ [(t − a)² − (t − b)²]/2 to the double integral at t.
        whole = sum(
            value * ((at - begin) ** 2 - (at - min(end, at)) ** 2) / 2.0
            for (begin, end), value in zip(parts, torque.tolist(), strict=False)
        )
        assert two == pytest.approx(whole, abs=1e-12)
        if np.abs(time - at).min() > 1e-9:
            assert one == (torque[len(parts) - 1] if parts else 0.0)


@pytest.mark.parametrize("frequency", MODES[1::5])
def test_the_twist_is_the_torque_behind_a_spring_and_a_damper(frequency: float) -> None:
    """x'' + 2 ζ ω x' + ω² x = ω² τ from rest, as scipy's exact discretisation of a held input gives it."""
    rng = np.random.default_rng(4)
    time, torque = DT * np.arange(80), rng.normal(size=80)
    omega = 2.0 * math.pi * frequency
    system = (
        np.array([[0.0, 1.0], [-(omega**2), -2.0 * MODE_DAMPING * omega]]),
        np.array([[0.0], [omega**2]]),
        np.array([[1.0, 0.0]]),
        np.array([[0.0]]),
    )
    A, B, *_ = cont2discrete(system, DT)
    states = [np.zeros(2)]
    for value in torque[:-1]:
        states.append(A @ states[-1] + B[:, 0] * value)
    held = _HeldTorque(torque, time)
    twist = _twists(held, frequency)
    assert twist is not None
    rows, since, now, _ = held.at(time)
    assert twist(rows, since, now) == pytest.approx(np.array(states)[:, 0], abs=1e-9)
    assert _twists(held, 0.0) is None


def made(torque: Callable[[float], float], *, direction: float = 1.0) -> Pulse:
    """A pulse of a joint with viscous, dry and Stribeck friction beside another joint that swings."""
    time = DT * np.arange(301)
    other = OTHER * np.sin(20.0 * time)
    peak_speed = STRIBECK * SCALE

    def motion(now: float, state: Array) -> list[float]:
        speed = state[1]
        friction = DRY * direction + VISCOUS * speed + PEAK * direction * math.exp(-abs(speed) / peak_speed)
        pull = COUPLING * -400.0 * OTHER * math.sin(20.0 * now)
        return [speed, (torque(now) - friction - pull) / INERTIA]

    # The step of the torque is at a tick of the integration, too.
    state, places = np.array([0.3, 0.8 * direction]), [0.3]
    for begin, end in pairwise(time):
        state = solve_ivp(motion, (begin, end), state, rtol=1e-10, atol=1e-12).y[:, -1]
        places.append(float(state[0]))
    sent = np.array([torque(now + 0.5 * DT) for now in time])
    q = np.column_stack([places, other])
    return Pulse(5.0 + time, q, sent, direction, np.array([0.0, COUPLING]), 0, 0.01, SCALE)


def pulse_torque(now: float) -> float:
    return 12.0 if now < 0.12 else 2.0


@pytest.mark.parametrize("direction", [1.0, -1.0])
def test_the_columns_of_a_pulse_are_its_equation_of_motion(direction: float) -> None:
    """J q̈ = τ − b q̇ − s fade(q̇) − F − M_jk q̈_k: 1/J, b/J and s/J come back, and nothing twists."""
    found = reduced(made(lambda now: direction * pulse_torque(now), direction=direction), DT)
    assert found is not None and found.rows > 150
    products = found.products[0, 0]
    assert np.allclose(products, products.T)
    solved = np.linalg.solve(products[:4, :4], products[:4, 4])
    assert solved[:3] == pytest.approx(np.array([1.0, VISCOUS, PEAK]) / INERTIA, rel=0.02)
    assert abs(solved[3]) < 1e-6
    assert products[4, 4] - solved @ products[:4, 4] < 1e-7 * products[4, 4]


def test_the_delay_is_the_one_that_explains_the_pulse() -> None:
    """A torque that acts later than it was sent leaves least at its own delay."""
    late = int(np.argmin(np.abs(delays(DT) - 5.0 * DT)))
    told = made(lambda now: pulse_torque(now - delays(DT)[late]))
    sent = np.array([pulse_torque(now + 0.5 * DT) for now in told.time - told.time[0]])
    found = reduced(dataclasses.replace(told, torque=sent), DT)
    assert found is not None
    left = []
    for products in found.products[0]:
        solved = np.linalg.solve(products[:3, :3], products[:3, 4])
        left.append(products[4, 4] - solved @ products[:3, 4])
    assert int(np.argmin(left)) == late


def test_a_slide_begins_where_the_joint_has_left_its_place_and_ends_where_it_slows_down() -> None:
    """A half sine of the speed: from the displacement that was asked for to a fifth of the top speed."""
    time = DT * np.arange(400)
    way = np.where(time < 0.3, 0.05 * (1.0 - np.cos(time / 0.3 * math.pi)), 0.1)
    found = _sliding(way, time, 0.01)
    assert found is not None
    assert time[found[0]] == pytest.approx(0.3 / math.pi * math.acos(0.8), abs=2 * DT)
    assert time[found[1]] == pytest.approx(0.3 * (1.0 - math.asin(0.2) / math.pi), abs=3 * DT)
    assert _sliding(way, time, 0.2) is None


@pytest.mark.parametrize("frequency", MODES[2:4])
def test_a_gear_that_swings_does_not_pass_for_inertia(frequency: float) -> None:
    """Pulses of a motor whose links hang on a spring: J comes back where the twist is among what is fitted."""
    pulses = []
    for index, (first, then) in enumerate(((12.0, 2.0), (14.0, 1.0), (11.0, 3.0), (13.0, 0.5), (15.0, 2.0))):

        def torque(now: float, end: float = 0.08 + 0.01 * index, first: float = first, then: float = then) -> float:
            return first if now < end else then

        pulse = made(torque)
        held = _HeldTorque(pulse.torque, pulse.time)
        twist = _twists(held, frequency)
        assert twist is not None
        rows, since, now, _ = held.at(pulse.time)
        q = pulse.q.copy()
        q[:, 0] += twist(rows, since, now) / (INERTIA * (2.0 * math.pi * frequency) ** 2)
        found = reduced(dataclasses.replace(pulse, q=q), DT)
        assert found is not None
        pulses.append(found)
    inertia = fitted(pulses, 0.5 * INERTIA, 0.0)
    assert isinstance(inertia, Inertia95)
    assert inertia.value == pytest.approx(INERTIA, rel=0.02) and inertia.low < INERTIA < inertia.high
