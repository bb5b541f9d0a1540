"""The law of a floating arm: its terms, what it refuses, its locks and holds, and when it wants the run to end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import counterpoise as cp
from counterpoise.control import ControlLoop, Law, Reporting
from counterpoise.dynamics import CoulombViscous, joint_inertias
from counterpoise.errors import InputError, SafetyError
from counterpoise.recording import Sample
from counterpoise.tasks import Cushion, FloatSettings
from counterpoise.tasks.float.law import FloatLaw
from counterpoise.tasks.float.watch import WatchSettings
from library.ideal_arm import IdealArm, middle_pose

PUMA, GANTRY = cp.load("puma560"), cp.load("gantry")
FRICTION = CoulombViscous(coulomb=2.0, viscous=1.0)
HERE = middle_pose(PUMA)


def sample(q: Any = None, dq: Any = 0.0, time: float = 0.0, robot: cp.Robot = PUMA) -> Sample:
    q = middle_pose(robot) if q is None else q
    rows = [np.array(np.broadcast_to(value, (robot.n,)), dtype=np.float64) for value in (q, dq, 0.0)]
    return Sample(time, *rows)


def begun(*, gravity: bool = True, **settings: Any) -> FloatLaw:
    law = FloatLaw(PUMA, FloatSettings(**settings), gravity=gravity)
    law.reset(sample())
    return law


def test_terms_add_up() -> None:
    """Away from the limits: gravity, the share of the friction of the way each joint slides, damping."""
    share, damping = np.linspace(0.0, 0.9, 6), np.linspace(0.5, 3.0, 6)
    law = begun(friction=FRICTION, friction_fraction=share, damping=damping)
    dq = np.array([0.1, -0.2, 0.0, 0.004, -1.0, 0.5])
    law.torque(sample(HERE - 0.02 * np.sign(dq), dq), 0.0)  # they have gone far enough to slide
    tau = law.torque(sample(dq=dq), 0.1)
    friction = share * np.sign(dq) * (2.0 + 1.0 * np.maximum(np.abs(dq), 0.05))
    assert tau == pytest.approx(PUMA.gravity(HERE) + friction - damping * dq, abs=1e-12)
    assert isinstance(law, Law) and isinstance(law, Reporting) and law.adds_gravity and not law.uses_wrench
    assert law.torque(sample(dq=dq), 0.2) is tau


def test_default_damping_slows_a_joint_in_half_a_second() -> None:
    """... with the inertia that it has at the reset, and less where a light rotor would chatter."""
    law = begun()
    assert np.all(law.damping > 0.0) and np.all(law.damping <= joint_inertias(PUMA, HERE) / 0.5 + 1e-12)


@pytest.mark.parametrize("robot", [PUMA, GANTRY], ids=lambda robot: robot.name)
def test_default_damping_takes_the_energy_out(robot: cp.Robot) -> None:
    """A frictionless arm that was thrown at 0.3 rad/s or m/s comes to rest within 4 s; without damping it coasts."""
    for damping, stops in ((None, True), (0.0, False)):
        plant = IdealArm(robot, dt=2e-3)
        plant.velocity_limit = np.full(robot.n, 10.0)
        with plant:
            plant.dq = 0.3 * np.ones(robot.n)
            law = FloatLaw(robot, FloatSettings(damping=damping, watch=WatchSettings(drift_time=100.0)), dt=plant.dt)
            ControlLoop(plant, law, robot).run(4.0, then="keep")
        assert bool(np.abs(plant.dq).max() < 0.01) is stops


def test_gravity_is_left_out_for_a_plant_that_adds_it() -> None:
    """The law says so, and the loop lets it pass; with gravity it would be refused."""
    plant = IdealArm(PUMA)
    plant.adds_gravity = True
    law = begun(gravity=False, damping=1.0)
    assert not law.adds_gravity
    assert law.torque(sample(dq=0.2), 0.0) == pytest.approx(np.full(6, -0.2))
    ControlLoop(plant, law, PUMA)
    with pytest.raises(SafetyError, match="adds gravity itself"):
        ControlLoop(plant, FloatLaw(PUMA), PUMA)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"friction": FRICTION, "friction_fraction": 1.2}, "runs away"),
        ({"friction": FRICTION, "friction_fraction": [0.0, 0.0, 1.01, 0.0, 0.0, 0.0]}, "'joint3'"),
        ({"friction": FRICTION, "friction_fraction": -0.1}, "friction_fraction"),
        ({"friction_fraction": 0.5}, "give the friction law"),
        ({"locked": ("elbow",)}, "no joint 'elbow'"),
        ({"damping": [1.0, 2.0]}, "damping"),
        ({"damping": np.nan}, "damping"),
        ({"yields": 0.0}, "yields"),
        ({"friction": "dry", "friction_fraction": 0.5}, "no friction law"),
    ],
)
def test_what_makes_no_sense_is_refused(settings: dict[str, Any], said: str) -> None:
    """Above all a fraction above 1."""
    with pytest.raises(InputError, match=said):
        FloatLaw(PUMA, FloatSettings(**settings))


def test_a_period_that_is_none_is_refused() -> None:
    """The gains of locks and holds follow from it."""
    with pytest.raises(InputError, match="dt"):
        FloatLaw(PUMA, dt=0.0)


numbers = st.floats(-1e9, 1e9, allow_nan=False)


@settings(max_examples=100)
@given(st.lists(st.lists(numbers, min_size=13, max_size=13), min_size=1, max_size=5))
def test_any_sample_gives_finite_torques(rows: list[list[float]]) -> None:
    """Any position, speed and time, forwards or backwards, with everything switched on."""
    law = begun(friction=FRICTION, friction_fraction=0.8, locked=("joint2",), hold_when_released=True)
    for row in rows:
        item = sample(row[:6], row[6:12])
        law.must_stop(item)
        tau = law.torque(item, row[12])
        assert tau.shape == (6,) and tau.dtype == np.float64 and np.all(np.isfinite(tau))


def test_locked_joints_are_held_where_they_were() -> None:
    """By PD about the pose of the reset, without friction, damping or cushion of their own; the others float."""
    law = begun(friction=FRICTION, friction_fraction=0.5, damping=1.0, locked=("joint2", "joint5"), cushion=None)
    assert law.friction_fraction.tolist() == [0.5, 0.0, 0.5, 0.5, 0.0, 0.5]
    away = HERE + 0.01
    extra = law.torque(sample(away), 0.0) - PUMA.gravity(away)
    assert np.all(extra[[1, 4]] < -0.01) and np.all(extra[[0, 2, 3, 5]] == 0.0)
    slow = law.torque(sample(dq=0.1), 0.0) - PUMA.gravity(HERE)
    assert np.all(slow[[1, 4]] < 0.0)


def test_cushions_push_at_the_limits_of_the_run() -> None:
    """Out of the limit on floating joints; a locked joint beside its limit is left alone."""
    law = begun(locked=("joint1",), damping=0.0)
    pushed = law.torque(sample(PUMA.lower), 0.0) - PUMA.gravity(PUMA.lower)
    assert np.all(pushed[1:] > 0.0)
    law.reset(sample(PUMA.upper))
    extra = law.torque(sample(PUMA.upper), 0.0) - PUMA.gravity(PUMA.upper)
    assert extra[0] == 0.0 and np.all(extra[1:] < 0.0)
    assert np.all(np.abs(extra[1:]) <= Cushion().effort * PUMA.effort_limit[1:])


@pytest.mark.parametrize("where", ["lower", "upper"])
@pytest.mark.parametrize("joint", range(6))
def test_cushions_damp_a_joint_critically(joint: int, where: str) -> None:
    """At the limit J ë + d ė + k e = 0 has a double root: d² = 4 J k, with J the inertia that the joint moves there."""
    here = HERE.copy()
    here[joint] = getattr(PUMA, where)[joint]
    out = 1.0 if where == "lower" else -1.0
    law = FloatLaw(PUMA, FloatSettings(damping=0.0), dt=1e-5)  # so short a period that no rotor asks for less
    law.reset(sample(here))

    def push(deeper: float, speed: float) -> float:
        """Return the torque out of the limit, so much deeper in it and at a speed into it."""
        q, dq = here.copy(), np.zeros(6)
        q[joint] -= out * deeper
        dq[joint] = -out * speed
        return float(out * (law.torque(sample(q, dq), 0.0) - PUMA.gravity(q))[joint])

    step = 1e-4
    k = (push(step, 0.0) - push(0.0, 0.0)) / step
    d = (push(0.0, step) - push(0.0, 0.0)) / step
    assert k > 0.0 and d > 0.0
    assert d**2 == pytest.approx(4.0 * joint_inertias(PUMA, here)[joint] * k, rel=1e-6)


def floated(law: FloatLaw, motion: Any, seconds: float, begin: float = 0.0) -> list[Any]:
    """Show the law a motion at 100 Hz; return the torques beside gravity."""
    found = []
    for tick in range(round(100 * seconds)):
        time = begin + tick / 100
        item = sample(motion(time))
        law.must_stop(item)
        found.append(law.torque(item, time) - PUMA.gravity(item.q))
    return found


def test_it_holds_when_released_and_yields_when_pushed() -> None:
    """At rest for a while it holds; a small deflection is borne, a large one lets go, and rest makes it hold again."""
    law = begun(hold_when_released=True, damping=0.0, cushion=None)
    floated(law, lambda t: HERE, 1.0)
    assert law.holding
    borne = floated(law, lambda t: HERE + 1e-4, 0.5, 1.0)[-1]
    assert np.all(borne < 0.0) and law.holding
    floated(law, lambda t: HERE + 0.1, 0.3, 1.5)
    assert not law.holding
    freely = floated(law, lambda t: HERE + 0.1 + 0.2 * (t - 1.8), 0.5, 1.8)
    assert np.all(freely[-1] == 0.0)
    floated(law, lambda t: HERE + 0.2, 1.0, 2.3)
    assert law.holding


def test_it_does_not_hold_unless_asked() -> None:
    """A floating arm at rest feels nothing but its weight."""
    law = begun(damping=0.0)
    assert np.all(np.array(floated(law, lambda t: HERE, 3.0)) == 0.0) and not law.holding


def test_a_drift_is_held_and_told_and_the_third_ends_the_run() -> None:
    """Each drift is news that names the joint; after the last one ``must_stop`` says so."""
    law = begun(watch=WatchSettings(drifts=3))
    steady = np.array([0.0, 0.04, 0.0, 0.0, 0.0, 0.0])
    told: list[tuple[str, str]] = []
    for drift in range(3):
        begin = 10.0 * drift
        floated(law, lambda t, begin=begin: HERE + (t - begin) * steady, 3.2, begin)
        assert law.drifts == drift + 1 and law.holding
        told += law.news()
        assert bool(law.stop_reason) == (drift == 2)
        floated(law, lambda t: HERE + 0.5, 1.0, begin + 5.0)  # pushed out of the hold
        assert not law.holding
    assert [kind for kind, _ in told] == ["drift"] * 3
    assert "'joint2'" in told[0][1] and "0.04 rad/s" in told[0][1]
    assert law.stop_kind == "drifting" and "Calibrate" in law.stop_reason
    assert law.must_stop(sample()) and law.news() == []


def test_too_fast_ends_the_run_with_joint_and_numbers() -> None:
    """Half of the velocity limit, at most 2 rad/s, unless told otherwise."""
    law = begun(watch=WatchSettings(speed_rotary=0.5))
    fast = sample(dq=[0.0, 0.0, 0.0, -0.6, 0.0, 0.0])
    assert not law.must_stop(fast) and not law.must_stop(fast) and law.must_stop(fast)
    assert law.stop_kind == "too fast" and "'joint4'" in law.stop_reason and "0.6 rad/s" in law.stop_reason
    assert [kind for kind, _ in law.news()] == ["too_fast"]
    law.reset(sample())
    assert not law.must_stop(sample()) and law.stop_reason == ""


def test_a_run_ends_when_the_arm_is_thrown() -> None:
    """``until=law.must_stop`` brings the arm to its safe stop, and the events name the reason."""
    plant = IdealArm(PUMA)
    with plant:
        plant.dq = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.5])
        law = FloatLaw(PUMA, FloatSettings(damping=0.0, watch=WatchSettings(speed_rotary=1.0)), dt=plant.dt)
        report = ControlLoop(plant, law, PUMA).run(2.0, until=law.must_stop)
    assert report.ticks - report.stop_ticks < 10
    assert "too_fast" in [event.kind for event in report.events] and plant.stopped


def test_other_payload_goes_on_where_it_is() -> None:
    """The same locks and state with another weight; another robot is refused."""
    law = begun(locked=("joint3",), damping=0.0)
    loaded = PUMA.with_payload(1.0)
    other = law.with_robot(loaded)
    assert other.torque(sample(), 0.0) == pytest.approx(loaded.gravity(HERE))
    assert other.locked == law.locked
    with pytest.raises(InputError, match="joints"):
        law.with_robot(GANTRY)


def test_laws_that_pass_over_have_their_own_past() -> None:
    """The loop runs both for the time of a blend: neither forgets, winds up, holds or counts for the other."""

    def run(laws: list[FloatLaw]) -> list[np.ndarray]:
        told = []
        for tick in range(1, 900):
            item = sample(HERE + (0.02 * min(tick, 30) / 30 if tick < 500 else 0.02 + 1e-5 * (tick - 500)))
            told.append(np.array([law.torque(item, 0.01 * tick) for law in laws]))
        return told

    settings = {"friction": FRICTION, "friction_fraction": 0.8, "hold_when_released": True}
    law = begun(**settings)
    both = run([law, law.with_robot(PUMA)])
    alone = run([begun(**settings)])
    for ours, one in zip(both, alone, strict=True):
        assert ours[0] == pytest.approx(one[0]) and ours[1] == pytest.approx(one[0])


def test_gains_follow_the_payload() -> None:
    """A lock made for a heavy wrist would shake the empty one: gains are those of a law that begins there."""
    loaded = PUMA.with_payload(5.0, com=(0.2, 0.0, 0.1))
    law = FloatLaw(loaded, FloatSettings(locked=("joint5",)), dt=1e-3)
    law.reset(sample())
    other, fresh = law.with_robot(PUMA), FloatLaw(PUMA, FloatSettings(locked=("joint5",)), dt=1e-3)
    fresh.reset(sample())
    item = sample(HERE + 0.01, 0.2)
    assert other.torque(item, 0.0) == pytest.approx(fresh.torque(item, 0.0))
    stiffer = law.torque(item, 0.0) - loaded.gravity(item.q)
    assert abs(stiffer[4]) > 1.1 * abs((fresh.torque(item, 0.0) - PUMA.gravity(item.q))[4])
