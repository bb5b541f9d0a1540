"""Limits: the robot's unless given, tightened by the plant's; open or zero ones are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.control.limits import joint_array, resolve_limits
from counterpoise.control.safety import SafetyFilter, SafetySettings
from counterpoise.errors import InputError
from library.ideal_arm import IdealArm

PUMA, WAM, SLIDER = cp.load("puma560"), cp.load("wam7"), cp.load("slider")


def with_limits(effort: str | None, velocity: str) -> cp.Robot:
    """Return a one-joint robot with these limits in its file; None leaves the effort out."""
    from counterpoise.description import parse_urdf

    given = "" if effort is None else f'effort="{effort}"'
    inertial = '<mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
    text = f"""<robot name="one"><link name="base"/><link name="arm"><inertial>{inertial}</inertial></link>
    <joint name="swing" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" {given} velocity="{velocity}"/></joint></robot>"""
    return cp.Robot(parse_urdf(text))


def test_robot_limits_hold_unless_given() -> None:
    """Effort, speed and positions come from the model; the rate is the effort limit in 0.1 s."""
    limits = resolve_limits(PUMA)
    assert np.array_equal(limits.effort, PUMA.effort_limit)
    assert np.array_equal(limits.velocity, PUMA.velocity_limit)
    assert np.array_equal(limits.rate, PUMA.effort_limit / 0.1)
    given = resolve_limits(
        PUMA, effort_limit=5.0, velocity_limit=np.arange(1.0, 7.0), rate_limit=7.0, lower=-1, upper=1
    )
    assert given.effort.tolist() == [5.0] * 6
    assert given.velocity.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert given.rate.tolist() == [7.0] * 6
    assert (given.lower.tolist(), given.upper.tolist()) == ([-1.0] * 6, [1.0] * 6)


def test_plant_limits_are_never_exceeded() -> None:
    """What is given, or the robot's, is tightened by what the plant declares."""
    arm = IdealArm(PUMA)
    arm.effort_limit = np.array([50.0] * 6)
    arm.velocity_limit = np.array([1.0] * 6)
    arm.lower = np.array([-0.5] * 6)
    limits = resolve_limits(PUMA, arm, effort_limit=1000.0, velocity_limit=np.inf)
    assert limits.effort.tolist() == [50.0] * 6
    assert limits.velocity.tolist() == [1.0] * 6
    assert limits.lower.tolist() == [-0.5] * 6
    assert np.array_equal(limits.upper, PUMA.upper)


@pytest.mark.parametrize("name", ["effort_limit", "velocity_limit", "lower", "upper"])
@pytest.mark.parametrize("wrong", [[1.0, 1.0, np.nan, 1.0, 1.0, 1.0], np.full((6, 1), 1.0), np.ones(5), "much"])
def test_plant_limits_that_bound_nothing_are_refused(name: str, wrong: Any) -> None:
    """A NaN compares as within any limit: one in a driver's limits must not unbound the torque."""
    arm = IdealArm(PUMA)
    setattr(arm, name, wrong)
    with pytest.raises(InputError, match=f"the plant's {name}"):
        SafetyFilter(PUMA, plant=arm)


def test_unknown_limits_are_refused_unless_given() -> None:
    """The WAM's file has no speed limits: the message names the joint and what to give."""
    with pytest.raises(InputError, match=r"'joint1'.*velocity_limit.*unknown.*Give velocity_limit= \[rad/s or m/s\]"):
        resolve_limits(WAM)
    assert np.all(np.isinf(resolve_limits(WAM, velocity_limit=np.inf).velocity))
    with pytest.raises(InputError, match=r"'swing': effort_limit is inf, that is unknown"):
        resolve_limits(with_limits(None, "1"))


def test_effort_must_be_finite_even_if_given() -> None:
    """Nobody may ask for an unlimited torque or rate."""
    for name in ("effort_limit", "rate_limit"):
        for value in (np.inf, 1e10):
            with pytest.raises(InputError, match=name):
                resolve_limits(PUMA, **{name: value})


def test_zero_limits_are_refused_unless_given() -> None:
    """A file with zeros forbids motion: almost always a placeholder. A zero that is given forbids a joint."""
    for effort, velocity, name in (("0", "1", "effort_limit"), ("1", "0", "velocity_limit")):
        with pytest.raises(InputError, match=f"'swing': {name} is 0"):
            resolve_limits(with_limits(effort, velocity))
    assert resolve_limits(with_limits("0", "1"), effort_limit=0.0).effort.tolist() == [0.0]
    with pytest.raises(InputError, match="velocity_limit is 0"):
        resolve_limits(PUMA, velocity_limit=0.0)
    with pytest.raises(InputError, match="rate_limit is 0"):
        resolve_limits(PUMA, rate_limit=0.0)


@pytest.mark.parametrize("wrong", [[1.0, 2.0], "x", None.__class__, [[1.0] * 6], np.nan, 1j])
def test_shapes_and_types_are_refused(wrong: Any) -> None:
    """One number or n."""
    with pytest.raises(InputError, match="effort_limit"):
        resolve_limits(PUMA, effort_limit=wrong)


def test_crossed_positions_are_refused() -> None:
    """Lower must not exceed upper."""
    with pytest.raises(InputError, match="must not exceed"):
        resolve_limits(PUMA, lower=1.0, upper=0.5)


def test_joints_must_be_the_same_in_the_same_order() -> None:
    """A plant with other, or permuted, joints is refused, never misaligned."""
    arm = IdealArm(PUMA)
    arm.joint_names = tuple(reversed(PUMA.joint_names))
    with pytest.raises(InputError, match="names and order"):
        resolve_limits(PUMA, arm)


def test_the_first_joint_beyond_another_limit_is_named() -> None:
    """Of several joints the first, and of several limits the first; none where all are within."""
    limits = resolve_limits(PUMA)
    ours = {name: getattr(limits, name).copy() for name in ("effort", "velocity", "lower", "upper")}
    assert limits.first_wider(**ours) is None
    narrower = ours | {"velocity": ours["velocity"] * [1, 0.5, 1, 0.5, 1, 1], "upper": ours["upper"] - 0.1}
    assert limits.first_wider(**narrower) == ("joint2", "speed limit")
    higher = ours | {"lower": ours["lower"] + [0, 0, 0.1, 0, 0, 0.1]}
    assert limits.first_wider(**higher) == ("joint3", "lower limit")
    unknown = ours | {"effort": np.where(np.arange(6) < 4, ours["effort"], np.nan)}
    assert limits.first_wider(**unknown) == ("joint5", "effort limit")


def test_margin_is_bounded_by_the_range() -> None:
    """0.1, but never more than 5 % of the range; none around an unlimited joint."""
    limits = resolve_limits(PUMA, lower=[-1, -1, -1, -0.1, 0, -np.inf], upper=[1, 9, 1, 0.1, 0, np.inf])
    low, high = limits.widened(0.1)
    assert low.tolist() == pytest.approx([-1.1, -1.1, -1.1, -0.11, 0.0, -np.inf])
    assert high.tolist() == pytest.approx([1.1, 9.1, 1.1, 0.11, 0.0, np.inf])


def test_joint_array_copies() -> None:
    """What comes back is not the caller's array."""
    given = np.ones(6)
    array = joint_array(given, "x", PUMA.joint_names)
    given[0] = 9.0
    assert array[0] == 1.0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hold_ticks", -1),
        ("hold_ticks", 2.5),
        ("hold_ticks", True),
        ("good_ticks_per_bad", 0),
        ("blend_time", -0.1),
        ("blend_time", np.nan),
        ("ramp_time", np.inf),
        ("stop_damping", 1.5),
        ("history", 0),
        ("frozen_travel", "1 mm"),
    ],
)
def test_settings_are_checked(name: str, value: Any) -> None:
    """A number that no run can use is refused by name."""
    with pytest.raises(InputError, match=name):
        SafetySettings(**{name: value})


def test_prismatic_joints_have_limits_too() -> None:
    """Nothing in the limits is about rotation."""
    assert np.all(np.isfinite(resolve_limits(SLIDER, velocity_limit=1.0, effort_limit=100.0).effort))
