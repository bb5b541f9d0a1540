"""One step of a drive: the native stepper against the specification, and each part of the chain by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from counterpoise.foundation import unchecked_part
from counterpoise.plants import kernel, layout
from counterpoise.plants.reference import ReferenceDrives

Array = npt.NDArray[np.float64]
DT = 1e-4
NEUTRAL = {
    "stribeck_velocity": 1.0,
    "exponent": 2.0,
    "bristle_stiffness": 1.0,
    "cooling_time": 1.0,
    "gear_stiffness": np.inf,
    "limit": np.inf,
    "gain": 1.0,
    "free_speed": 1.0,
    "supply": 1.0,
    "brake_stiffness": 1.0,
    "lower": -np.inf,
    "upper": np.inf,
}
KINDS = [ReferenceDrives, *([kernel.Drives] if kernel.NATIVE else [])]
needs_native = pytest.mark.skipif(not kernel.NATIVE, reason="the native steppers were not built")


class Bench:
    """A drive on a bench: its link is moved by hand, its torque is measured."""

    def __init__(self, kind: Any = kernel.Drives, n: int = 1, **parameters: float) -> None:
        rows = np.zeros((n, len(layout.DRIVE_PARAMETERS)))
        for name, value in {**NEUTRAL, **parameters}.items():
            rows[:, layout.DRIVE_PARAMETERS.index(name)] = value
        self.states = np.zeros((n, len(layout.DRIVE_STATES)))
        self.command, self.q, self.dq, self.torque = (np.zeros(n) for _ in range(4))
        self.drives = kind(rows, self.states, self.command, self.q, self.dq, self.torque, DT)

    def step(self, command: float = 0.0, steps: int = 1) -> float:
        self.command[:] = command
        for _ in range(steps):
            assert self.drives.step()
        return float(self.torque[0])

    def slide(self, velocity: float, steps: int) -> float:
        """Move the link at constant speed and return the torque on it."""
        self.dq[:] = velocity
        for _ in range(steps):
            self.q += DT * velocity
            assert self.drives.step()
        return float(self.torque[0])

    def state(self, name: str) -> float:
        return float(self.states[0, layout.STATE[name]])


def random_rows(random: np.random.Generator, n: int) -> Array:
    """Drives with every effect, some rigid, some hydraulic."""
    value = {name: random.uniform(0.1, 1.0, n) for name in layout.DRIVE_PARAMETERS}
    value |= {
        "coulomb": random.uniform(1.0, 5.0, n),
        "static_level": random.uniform(5.0, 6.0, n),
        "coulomb_negative": random.uniform(1.0, 5.0, n),
        "static_negative": random.uniform(5.0, 6.0, n),
        "stribeck_velocity": random.uniform(0.01, 0.1, n),
        "exponent": random.choice([1.0, 1.5, 2.0], n),
        "bristle_stiffness": random.uniform(1e3, 2e4, n),
        "bristle_damping": random.uniform(0.0, 20.0, n),
        "load": random.uniform(0.0, 0.2, n),
        "coulomb_per_kelvin": random.uniform(-0.01, 0.0, n),
        "viscous_per_kelvin": random.choice([0.0, 0.02], n),
        "reference_temperature": np.full(n, 20.0),
        "ambient": np.full(n, 25.0),
        "cooling_time": random.uniform(10.0, 100.0, n),
        "gear_stiffness": np.where(random.uniform(size=n) < 0.4, np.inf, random.uniform(1e3, 1e4, n)),
        "half_backlash": random.choice([0.0, 1e-3], n),
        "limit": random.uniform(10.0, 50.0, n),
        "lag": random.choice([0.0, 2e-3], n),
        "cycles": random.uniform(1.0, 100.0, n),
        "valve": random.choice([0.0, 1.0], n),
        "hydraulic_stiffness": random.uniform(1e2, 1e4, n),
        "supply": random.uniform(20.0, 60.0, n),
        "overlap": random.uniform(0.0, 0.1, n),
        "brake_torque": random.uniform(5.0, 20.0, n),
        "brake_stiffness": random.uniform(1e3, 1e4, n),
        "lower": -random.uniform(0.1, 0.5, n),
        "upper": random.uniform(0.1, 0.5, n),
        "stop_stiffness": random.uniform(1e2, 1e3, n),
    }
    return np.ascontiguousarray(np.array([value[name] for name in layout.DRIVE_PARAMETERS]).T)


@needs_native
@pytest.mark.parametrize("seed", range(8))
def test_native_equals_the_specification(seed: int) -> None:
    """Torques and states agree to 1e-12 over 200 steps of random commands and motions, with every effect on."""
    random, n = np.random.default_rng(seed), 7
    rows = random_rows(random, n)
    states = np.zeros((n, len(layout.DRIVE_STATES)))
    states[:, layout.STATE["temperature"]] = 30.0
    states[:, layout.STATE["brake"]] = random.choice([0.0, 1.0], n)
    command, q, dq = np.zeros(n), np.zeros(n), np.zeros(n)
    ours, theirs = (np.zeros(n), states.copy()), (np.zeros(n), states.copy())
    native = kernel.Drives(rows, ours[1], command, q, dq, ours[0], DT)
    reference = ReferenceDrives(rows, theirs[1], command, q, dq, theirs[0], DT)
    for step in range(200):
        command[:] = random.normal(size=n) * 30.0
        dq[:] = random.normal(size=n) * (1.0 if step % 3 else 0.01)
        q += 0.05 * random.normal(size=n)
        native.peek()
        peeked = ours[0].copy()
        assert native.step() and reference.step()
        assert np.array_equal(peeked, ours[0])
        for mine, other in zip(ours, theirs, strict=True):
            assert np.abs(mine - other).max() <= 1e-12 * max(1.0, np.abs(other).max())


@needs_native
def test_layouts_agree() -> None:
    """The extension names the same columns in the same order."""
    part = unchecked_part("plants")
    for name in ("DRIVE_PARAMETERS", "DRIVE_STATES", "LINK_PARAMETERS", "LINK_STATES"):
        assert getattr(part, name) == getattr(layout, name)


@needs_native
def test_native_refuses_wrong_buffers() -> None:
    """Arrays of another size, type or without permission to write are refused, not read beyond their end."""
    good = [np.zeros((2, len(layout.DRIVE_PARAMETERS))), np.zeros((2, len(layout.DRIVE_STATES))), *np.zeros((4, 2))]
    for place, bad in ((1, np.zeros((1, len(layout.DRIVE_STATES)))), (2, np.zeros(3)), (3, np.zeros(2, np.float32))):
        arguments = [*good, DT]
        arguments[place] = bad
        with pytest.raises(ValueError, match="float64"):
            kernel.Drives(*arguments)
    frozen = np.zeros(2)
    frozen.setflags(write=False)
    with pytest.raises((ValueError, BufferError)):
        kernel.Drives(*good[:5], frozen, DT)


@pytest.mark.parametrize("kind", KINDS)
def test_amplifier_lag_saturation_and_constants(kind: Any) -> None:
    """The lag is exact for a held command, the limit cuts, constant error and offset act after both."""
    bench = Bench(kind, limit=10.0, lag=2e-3, gain=1.1, offset=0.3)
    bench.step(25.0, steps=20)
    assert bench.state("amplifier") == pytest.approx(10.0 * (1.0 - np.exp(-20 * DT / 2e-3)))
    assert bench.torque[0] == pytest.approx(1.1 * bench.state("amplifier") + 0.3)


@pytest.mark.parametrize("kind", KINDS)
def test_ripple_and_cogging_follow_the_position(kind: Any) -> None:
    """Both repeat ``cycles`` times a turn; only ripple scales with the torque."""
    bench = Bench(kind, ripple=0.1, cogging=0.5, cycles=4.0)
    for angle in (0.1, 0.1 + np.pi / 2, 1.0):
        bench.q[:] = angle
        assert bench.step(3.0) == pytest.approx(3.0 + (0.3 + 0.5) * np.sin(4.0 * angle))


@pytest.mark.parametrize("kind", KINDS)
def test_steady_sliding_has_the_steady_friction(kind: Any) -> None:
    """After the bristles have bent, each direction has its own level plus viscosity, at any speed."""
    bench = Bench(
        kind,
        coulomb=2.0,
        static_level=3.0,
        coulomb_negative=2.5,
        static_negative=3.0,
        viscous=0.4,
        viscous_negative=0.4,
        stribeck_velocity=0.05,
        bristle_stiffness=2e4,
        bristle_damping=30.0,
    )
    assert bench.slide(0.05, 400) == pytest.approx(-(2.0 + 1.0 / np.e + 0.4 * 0.05))
    assert bench.slide(-5.0, 400) == pytest.approx(2.5 + 0.4 * 5.0)
    assert bench.state("friction_torque") == pytest.approx(-4.5)


@pytest.mark.parametrize("kind", KINDS)
def test_load_and_warmth_widen_the_friction(kind: Any) -> None:
    """The transmitted torque adds its share, and friction heats the drive towards R f v."""
    bench = Bench(
        kind,
        coulomb=1.0,
        static_level=1.0,
        coulomb_negative=1.0,
        static_negative=1.0,
        load=0.1,
        bristle_stiffness=1e4,
        heating=2.0,
        cooling_time=0.01,
        coulomb_per_kelvin=-0.01,
    )
    bench.slide(1.0, 3000)
    friction, rise = bench.state("friction_torque"), bench.state("temperature")
    assert rise == pytest.approx(2.0 * friction * 1.0, rel=1e-6)
    assert friction == pytest.approx((1.0 - 0.01 * rise) + 0.1 * abs(bench.state("gear_torque")), rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_compliant_gear_and_backlash(kind: Any) -> None:
    """Inside the play nothing but the damper's drag; beyond it a spring and damper that never pull."""
    bench = Bench(kind, inertia=1.0, gear_stiffness=1e4, gear_damping=10.0, half_backlash=1e-3)
    position = layout.STATE["motor_position"]
    for twist, expected in ((5e-4, 0.0), (3e-3, 20.0), (-2e-3, -10.0)):
        bench.states[:] = 0.0
        bench.states[0, position] = twist
        assert bench.step() == pytest.approx(expected)
    bench.states[:] = 0.0
    bench.states[0, position], bench.dq[:] = 1.1e-3, 5.0  # the link flees: the tooth behind may not hold it back
    assert bench.step() == 0.0
    bench.states[:] = 0.0
    assert bench.step() == pytest.approx(-10.0 * 5.0)


@pytest.mark.parametrize("kind", KINDS)
def test_free_motor_accelerates_by_its_own_inertia(kind: Any) -> None:
    """Within the play the rotor alone takes the torque."""
    bench = Bench(kind, inertia=0.5, gear_stiffness=1e4, half_backlash=1.0)
    bench.step(2.0, steps=100)
    assert bench.state("motor_velocity") == pytest.approx(2.0 / 0.5 * 100 * DT)


@pytest.mark.parametrize("kind", KINDS)
def test_flow_valve_is_a_source_of_speed(kind: Any) -> None:
    """A link that follows at the free speed feels nothing; a blocked one the supply; shut, the fluid is a spring."""
    hydraulic = {"valve": 1.0, "limit": 100.0, "free_speed": 2.0, "hydraulic_stiffness": 5e3, "supply": 80.0}
    following = Bench(kind, **hydraulic)
    following.command[:] = 50.0
    assert following.slide(1.0, 500) == pytest.approx(0.0, abs=1e-9)
    blocked = Bench(kind, **hydraulic)
    assert blocked.step(100.0, steps=3000) == pytest.approx(80.0, rel=1e-3)
    shut = Bench(kind, **hydraulic)
    shut.slide(0.5, 20)
    assert shut.torque[0] == pytest.approx(-5e3 * 0.5 * 20 * DT)
    overlapped = Bench(kind, **hydraulic, overlap=0.1)
    assert overlapped.step(9.9, steps=100) == 0.0


@pytest.mark.parametrize("kind", KINDS)
def test_brake_holds_up_to_its_torque(kind: Any) -> None:
    """Engaged, it resists like dry friction of its own level; released, not at all."""
    bench = Bench(kind, brake_torque=20.0, brake_stiffness=2e4)
    assert bench.slide(1.0, 200) == 0.0
    bench.states[0, layout.STATE["brake"]] = 1.0
    assert bench.slide(1.0, 2000) == pytest.approx(-20.0)


@pytest.mark.parametrize("kind", KINDS)
def test_end_stops_push_and_never_pull(kind: Any) -> None:
    """Beyond a limit a spring and damper act on the link; leaving fast, the stop lets go."""
    bench = Bench(kind, lower=-1.0, upper=1.0, stop_stiffness=100.0, stop_damping=10.0)
    for q, dq, expected in (
        (0.99, 5.0, 0.0),
        (1.1, 0.0, -10.0),
        (1.1, -5.0, 0.0),
        (-1.2, -1.0, 30.0),
        (-1.2, 9.0, 0.0),
    ):
        bench.q[:], bench.dq[:] = q, dq
        assert bench.step() == pytest.approx(expected)


@pytest.mark.parametrize("kind", KINDS)
def test_a_runaway_is_reported(kind: Any) -> None:
    """A link that is no longer anywhere makes step() return False."""
    bench = Bench(kind)
    for speed in (2e6, np.nan, np.inf):
        bench.dq[:] = speed
        assert not bench.drives.step()


@pytest.mark.parametrize("kind", KINDS)
def test_bristles_are_stable_for_any_speed_and_step(kind: Any) -> None:
    """Even where an explicit step would explode (σ0 |v| dt / g = 1e4) the friction stays within its level."""
    bench = Bench(kind, coulomb=1.0, static_level=1.0, coulomb_negative=1.0, static_negative=1.0, bristle_stiffness=1e6)
    for speed in (100.0, -100.0, 1e-3, 100.0):
        for _ in range(5):
            assert abs(bench.slide(speed, 1)) <= 1.0 + 1e-12
