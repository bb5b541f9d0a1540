"""Friction band and one-sided approach."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.doctor.coverage import check_friction, check_one_sided, friction_bands, standing_poses
from counterpoise.doctor.finding import Consequence, Finding, LogFault
from counterpoise.recording import Motion, still_segments
from library.analytic_log import moving_log, standing_log

PUMA = cp.load("puma560")


def friction(log: cp.Log) -> list[Finding]:
    return check_friction(PUMA, log, Motion.on_grid(log))


@pytest.mark.parametrize("share", [0.05, 0.3])
def test_band_is_measured(share):
    log = moving_log(PUMA, friction=share)
    gravity = np.abs(PUMA.gravity(log.q))
    expected = share * (gravity.max(axis=0) + 0.02 * gravity.max())
    bands = friction_bands(PUMA, Motion.on_grid(log))
    widths = [bands[joint].half_width for joint in range(6)]
    assert widths == pytest.approx(expected, rel=0.08)


def test_band_is_a_note_with_its_share_of_gravity():
    (finding,) = friction(moving_log(PUMA, friction=0.2))
    assert (finding.fault, finding.consequence) == (LogFault.FRICTION, Consequence.NOTE)
    numbers = finding.evidence["joints"]
    assert numbers["joint1"]["share_of_gravity_swing"] is None
    assert 0.1 < numbers["joint2"]["share_of_gravity_swing"] < 0.5


def test_no_friction_no_band():
    found = friction(moving_log(PUMA, friction=0.0))
    assert not found or max(n["half_width"] for n in found[0].evidence["joints"].values()) < 0.05


def test_scale_and_sign_of_efforts_do_not_matter():
    log = moving_log(PUMA, friction=0.2)
    as_current = replace(log, tau=-0.1 * log.tau, declared=replace(log.declared, effort_kind="current"))
    plain, current = (friction(each)[0].evidence["joints"] for each in (log, as_current))
    for name, numbers in plain.items():
        assert current[name]["half_width"] == pytest.approx(0.1 * numbers["half_width"], rel=1e-6)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_poses_from_one_side_are_named(side):
    (finding,) = check_one_sided(standing_log(PUMA, [side] * 8))
    assert finding.fault is LogFault.ONE_SIDED and finding.subjects == PUMA.joint_names
    assert all(numbers["from_below"] == (8 if side > 0 else 0) for numbers in finding.evidence["joints"].values())


@pytest.mark.parametrize("sides", [[1.0, -1.0] * 4, [1.0, 1.0, -1.0, 1.0, -1.0, -1.0, 1.0, 1.0], [1.0] * 3])
def test_both_sides_or_few_poses_are_not(sides):
    assert check_one_sided(standing_log(PUMA, sides)) == []


def test_short_stands_on_the_way_are_no_poses():
    """A point that is passed from the other side, with a short stop, before each pose."""
    log = standing_log(PUMA, [1.0] * 8)
    poses = still_segments(log)
    via = [replace(pose, duration=0.3 * pose.duration, approach=-pose.approach, q=pose.q + 0.1) for pose in poses]
    between = [one for pair in zip(via, poses, strict=True) for one in pair][3:]
    assert standing_poses(between) == list(poses[1:])
    equal = [replace(one, duration=poses[0].duration) for one in between]
    assert standing_poses(equal) == equal


def test_moving_recording_has_no_poses():
    assert check_one_sided(moving_log(PUMA)) == []
