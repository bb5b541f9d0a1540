"""Planning a replay: what can be followed, and the first instant and joint of what cannot."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import counterpoise as cp
from counterpoise.control import Limits, resolve_limits
from counterpoise.dynamics import CoulombViscous
from counterpoise.errors import InfeasiblePathError, InputError
from counterpoise.identification import Clearance
from counterpoise.tasks.teach.path import TaughtPath
from counterpoise.tasks.teach.plan import (
    LEAD,
    STEP,
    PlanSettings,
    ReplayPlan,
    demands,
    feasible_speed,
    plan_replay,
)

PUMA = cp.load("puma560")
START = np.array([0.0, 0.8, -3.0, 0.0, 0.8, 0.0])


def swing(amplitude: Any = 0.4, seconds: float = 4.0, robot: cp.Robot = PUMA, about: Any = START) -> TaughtPath:
    """All joints swing once about a pose, from rest to rest."""
    time = np.linspace(0.0, seconds, round(100 * seconds) + 1)
    part = time / seconds
    angle = 2.0 * np.pi * part**3 * (10.0 - 15.0 * part + 6.0 * part**2)
    return TaughtPath.of(
        robot, time, about + np.sin(angle)[:, None] * np.broadcast_to(amplitude, robot.n), name="swing"
    )


def brute_force(plan: ReplayPlan, limits: Limits, what: str) -> tuple[float, int]:
    """When and where a share of 90 % is first exceeded, looked for every millisecond without the planner's help."""
    time = np.arange(0.0, plan.motion.duration, 1e-3)
    q, dq, ddq = plan.motion.at(time)
    torque = plan.robot.inverse_dynamics(q, dq, ddq) + plan.robot.rotor_inertia * ddq
    over = (
        np.abs({"speed": dq, "effort": torque}[what]) - 0.9 * {"speed": limits.velocity, "effort": limits.effort}[what]
    )
    row = int(np.argmax(np.any(over > 0.0, axis=1)))
    return float(time[row]), int(np.argmax(over[row]))


def test_a_feasible_plan_says_what_it_takes() -> None:
    """Start, approach, path, end: continuous in position, at rest in between; shares of limits below one."""
    start = START + 0.2
    plan = plan_replay(PUMA, swing(), start=start)
    assert plan.at(0.0).q == pytest.approx(start) and plan.at(LEAD).dq == pytest.approx(0.0)
    assert plan.at(plan.path_begin).q == pytest.approx(START, abs=1e-6)
    assert plan.at(plan.duration + 5.0).q == pytest.approx(START, abs=1e-6)
    times = np.arange(0.0, plan.duration, 1e-3)
    moves = np.diff([plan.at(time).q for time in times], axis=0)
    assert np.max(np.abs(moves)) < 2e-3
    data = plan.as_data()
    assert 0.05 < max(data["share_of_limit"]["effort"].values()) < 0.9
    assert any("collisions" in note for note in data["notes"])
    slow = plan.approach.at(np.linspace(0.0, plan.approach.duration, 500)).dq
    assert np.max(np.abs(slow)) <= 0.25


@pytest.mark.parametrize(
    ("what", "amplitude", "seconds"), [("speed", 0.6, 2.5), ("effort", [0.0, 0.7, 0.7, 0, 0, 0], 1.6)]
)
def test_the_first_offending_instant_and_joint_are_named(what: str, amplitude: Any, seconds: float) -> None:
    """As a search without the planner finds them; at the speed that is offered it passes, and not much above."""
    limits = resolve_limits(PUMA)
    if what == "effort":
        limits = replace(limits, velocity=np.full(6, 50.0), effort=0.6 * limits.effort)
    path = swing(amplitude, seconds)
    settings_ = PlanSettings(smoothing=None, acceleration=1e4)
    with pytest.raises(InfeasiblePathError) as caught:
        plan_replay(PUMA, path, limits=limits, settings=settings_)
    error = caught.value
    wide = replace(limits, velocity=np.full(6, 1e6), effort=np.full(6, 1e6))
    time, joint = brute_force(plan_replay(PUMA, path, limits=wide, settings=settings_), limits, what)
    assert error.what == what
    assert error.joint == PUMA.joint_names[joint]
    assert error.time == pytest.approx(time, abs=0.011)
    assert f"joint '{error.joint}'" in str(error) and f"at {error.time:.2f} s" in str(error)
    assert error.feasible_speed is not None and f"speed {error.feasible_speed:g}" in str(error)
    plan_replay(PUMA, path, error.feasible_speed, limits=limits, settings=settings_)
    with pytest.raises(InfeasiblePathError):
        plan_replay(PUMA, path, 1.1 * error.feasible_speed, limits=limits, settings=settings_)


def test_a_payload_that_cannot_be_held_is_refused_at_any_speed() -> None:
    """Slower does not help against weight; with a lighter payload the same path passes."""
    path = swing(0.2)
    plan_replay(PUMA.with_payload(2.0), path)
    with pytest.raises(InfeasiblePathError, match="lighter payload") as caught:
        plan_replay(PUMA.with_payload(25.0), path)
    assert caught.value.what == "effort" and caught.value.feasible_speed is None


def test_friction_counts_where_it_is_known() -> None:
    """The same path with friction of half the effort limit is too much."""
    path = swing(0.2)
    limits = resolve_limits(PUMA)
    with pytest.raises(InfeasiblePathError) as caught:
        plan_replay(PUMA, path, friction=CoulombViscous(0.95 * limits.effort))
    assert caught.value.what == "effort"


def test_a_path_beyond_the_joint_limits_is_refused() -> None:
    """By joint and instant; no speed is offered."""
    about = START.copy()
    about[4] = PUMA.upper[4] - 0.1
    with pytest.raises(InfeasiblePathError, match="No speed helps") as caught:
        plan_replay(PUMA, swing([0, 0, 0, 0, 0.3, 0], about=about))
    assert caught.value.joint == "joint5" and caught.value.what == "position"


def test_the_move_to_the_start_is_checked_too() -> None:
    """An arm that stands beyond its limits is reported apart from a bad path."""
    start = START.copy()
    start[1] = PUMA.upper[1] + 0.05
    with pytest.raises(InfeasiblePathError, match="the move to the start") as caught:
        plan_replay(PUMA, swing(), start=start)
    assert caught.value.joint == "joint2"


def test_collisions_are_looked_for_where_asked() -> None:
    """A table at the height of the tip is hit, and the time is told; without one the path is free."""
    path = swing(0.3)
    plan_replay(PUMA, path, clearance=Clearance(0.02))
    with pytest.raises(InfeasiblePathError, match="links come nearer") as caught:
        plan_replay(PUMA, path, clearance=Clearance(0.02, table=-0.05))
    assert caught.value.joint is None and 0.0 < caught.value.time < 4.5


@pytest.mark.parametrize("how", ["stop", "pass"])
def test_way_points(how: Any) -> None:
    """All are met, in order, within the travel speed; equal neighbours count once."""
    poses = np.array([START, START, START + 0.3, START - 0.2, START + 0.1])
    path = TaughtPath.of(PUMA, np.arange(5.0), poses, name="points", kind="waypoints")
    plan = plan_replay(PUMA, path, settings=PlanSettings(waypoints=how, travel_speed=0.3))
    q, dq = plan.asked.q, plan.asked.dq
    assert np.max(np.abs(dq)) <= 0.3001
    rows = [int(np.argmin(np.max(np.abs(q - pose), axis=1))) for pose in poses[1:]]
    assert rows == sorted(rows)
    assert all(np.max(np.abs(q[row] - pose)) < 2e-3 for row, pose in zip(rows, poses[1:], strict=True))
    faster = plan_replay(PUMA, path, 2.0, settings=PlanSettings(waypoints=how, travel_speed=0.3))
    assert faster.motion.duration < 0.6 * plan.motion.duration
    still = TaughtPath.of(PUMA, [0.0, 1.0], [START, START], name="still", kind="waypoints")
    with pytest.raises(InputError, match="nothing would move"):
        plan_replay(PUMA, still)


def test_way_points_that_are_all_but_the_same_do_not_slow_a_spline() -> None:
    """A tenth of a milliradian between two marks: left out and told; both ends are met."""
    poses = np.array([START, START + 0.3, START + 0.3001, START - 0.2, START - 0.2001])
    path = TaughtPath.of(PUMA, np.arange(5.0), poses, name="points", kind="waypoints")
    plan = plan_replay(PUMA, path, settings=PlanSettings(waypoints="pass"))
    stopping = plan_replay(PUMA, path)
    assert plan.motion.duration < stopping.motion.duration
    assert any("waypoints left out" in note and note.endswith(": 2") for note in plan.notes)
    assert plan.asked.q[0] == pytest.approx(poses[0]) and plan.asked.q[-1] == pytest.approx(poses[-1], abs=1e-9)


def test_joints_without_limits() -> None:
    """A joint that turns for ever, and a speed check that is switched off: the offence of another joint is found."""
    limits = resolve_limits(PUMA, velocity_limit=np.inf, lower=-np.inf, upper=np.inf)
    plan_replay(PUMA, swing(), limits=limits)
    lower = np.full(6, -np.inf)
    lower[2] = START[2] - 0.1
    with pytest.raises(InfeasiblePathError) as caught:
        plan_replay(PUMA, swing(), limits=resolve_limits(PUMA, velocity_limit=np.inf, lower=lower, upper=np.inf))
    assert caught.value.joint == "joint3" and caught.value.what == "position"


def test_linear_joints_have_their_own_units() -> None:
    """A gantry's waypoints: metres, newtons, and the speed of linear joints."""
    gantry = cp.load("gantry")
    middle = 0.5 * (gantry.lower + gantry.upper)
    path = TaughtPath.of(gantry, [0.0, 1.0], [middle, middle + 0.05], name="shift", kind="waypoints")
    plan = plan_replay(gantry, path, start=middle - 0.05)
    assert np.max(np.abs(plan.asked.dq)) <= 0.1001
    with pytest.raises(InfeasiblePathError, match=r" N; with its margin"):
        plan_replay(gantry.with_payload(100.0, link=gantry.tree.leaves[0]), path)


@pytest.mark.parametrize("speed", [0.0, -1.0, 11.0, np.nan])
def test_speeds_that_make_no_sense_are_refused(speed: float) -> None:
    """Zero, negative, absurd, no number."""
    with pytest.raises(InputError, match="speed"):
        plan_replay(PUMA, swing(), speed)


def test_another_arms_path_is_refused() -> None:
    """Same joint names, other lengths."""
    other = cp.load("titan2")
    path = TaughtPath.of(other, [0.0, 1.0], [np.zeros(6), np.full(6, 0.1)], name="reach")
    with pytest.raises(InputError, match="other joints or lengths"):
        plan_replay(PUMA, path)
    middle = 0.5 * (PUMA.lower + PUMA.upper)
    own = TaughtPath.of(PUMA, [0.0, 2.0], [middle, middle + 0.1], name="reach", kind="waypoints")
    for path, told in ((own, False), (replace(own, kinematics="0" * 64), True)):  # other lengths, the same name
        plan = plan_replay(PUMA, path, other_robot=True)
        assert any("goes elsewhere" in note for note in plan.notes) is told


@settings(max_examples=60)
@given(st.floats(0.02, 5.0), st.floats(0.0126, 5.0))
def test_the_offered_speed_passes_and_is_near_the_largest(asked: float, largest: float) -> None:
    """For a plant that can do anything up to some speed: never above it, and seldom far below."""
    if asked <= largest:
        return
    found = feasible_speed(lambda speed: speed <= largest, asked)
    assert found is not None and found <= largest
    assert found >= 0.88 * largest  # two digits are left after rounding down


def test_no_speed_is_offered_where_none_passes() -> None:
    """The search ends."""
    assert feasible_speed(lambda speed: False, 1.0) is None


@pytest.mark.parametrize("which", ["lower", "upper", "velocity", "effort"])
def test_a_limit_that_is_no_number_allows_nothing(which: str) -> None:
    """NaN compares with nothing: it must not pass for a bound that holds."""
    held = resolve_limits(PUMA)
    bad = np.array(getattr(held, which))
    bad[3] = np.nan
    with pytest.raises((InfeasiblePathError, InputError)) as caught:
        plan_replay(PUMA, swing(), limits=replace(held, **{which: bad}), settings=PlanSettings(acceleration=50.0))
    assert getattr(caught.value, "joint", None) == "joint4"


@pytest.mark.parametrize("name", ["travel_speed", "approach_speed", "acceleration"])
@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf, "fast"])
def test_settings_that_are_no_speeds_are_refused(name: str, value: Any) -> None:
    """Our error, whatever the number; only an acceleration may be without bound."""
    path = TaughtPath.of(PUMA, [0.0, 1.0], [START, START + 0.1], name="shift", kind="waypoints")
    settings = PlanSettings(**{name: value})
    if name == "acceleration" and value == np.inf:
        plan_replay(PUMA, path, start=START - 0.1, settings=settings)
        return
    with pytest.raises(InputError, match=name):
        plan_replay(PUMA, path, start=START - 0.1, settings=settings)


def test_demands_are_looked_at_every_few_milliseconds() -> None:
    """From the first instant to the last, in steps no longer than STEP; they are the motion's and the model's."""
    path = TaughtPath.of(PUMA, np.arange(3.0), np.array([START, START + 0.3, START]), name="a", kind="waypoints")
    plan = plan_replay(PUMA, path)
    asked = demands(PUMA, plan.motion)
    assert asked.time[0] == 0.0 and asked.time[-1] == plan.motion.duration
    steps = np.diff(asked.time)
    assert np.all(steps <= STEP * (1.0 + 1e-9)) and np.allclose(steps, steps[0])
    q, dq, ddq = plan.motion.at(asked.time)
    assert asked.q == pytest.approx(q)
    drive = PUMA.inverse_dynamics(q, dq, ddq) + PUMA.rotor_inertia * ddq
    assert asked.torque == pytest.approx(drive)
