"""Loads that a pose hides: how heavy, what they could do elsewhere, and where they would show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.tasks import FloatSettings, Rig
from counterpoise.tasks.float.check import FloatCheck
from counterpoise.tasks.float.floating import Floating
from counterpoise.tasks.float.hidden import (
    SHOWN,
    SHOWN_THERE,
    SIGMAS,
    CheckResult,
    JointCheck,
    PoseBlindness,
    blindness,
    load_places,
    spread_poses,
)
from library.floating_arms import PLANAR, PLANAR_FRICTION, planar

pytest.importorskip("mujoco", reason="MuJoCo is not installed")

PUMA = cp.load("puma560")
LEFT = np.array([1.5, 1.5, 0.7, 0.3, 0.3, 0.3])
BLIND = np.array([0.0, np.pi / 2, -np.pi / 2, 0.0, 0.0, 0.0])
"""Upper arm straight up; what hangs from the wrist is seen by few joints."""


def found(robot: cp.Robot, left: Any, pose: Any, difference: Any = 0.0, std: float = 0.02) -> tuple[JointCheck, ...]:
    g, off = robot.gravity(np.asarray(pose)), np.broadcast_to(difference, robot.n)
    return tuple(
        JointCheck(name, "N m", float(g[j]), float(g[j] + off[j]), std, float(left[j]), float(left[j]), 0.0, True)
        for j, name in enumerate(robot.joint_names)
    )


def blind(robot: cp.Robot, pose: Any, free: Any = None) -> PoseBlindness:
    free = np.ones(robot.n, dtype=bool) if free is None else free
    return blindness(robot, np.asarray(pose), free, robot.lower, robot.upper, robot.effort_limit)


def test_pull_is_the_gravity_of_a_load() -> None:
    """Of 1 kg at every place, against the robot with that payload."""
    places = load_places(PUMA)
    q = spread_poses(np.zeros(6), np.ones(6, dtype=bool), PUMA.lower, PUMA.upper, 3)
    pull = places.pull(q)
    for k, (link, point) in enumerate(zip(places.links, places.points, strict=True)):
        loaded = PUMA.with_payload(1.0, com=tuple(point), link=link)
        assert pull[:, :, k] == pytest.approx(loaded.gravity(q) - PUMA.gravity(q), abs=1e-9)


@pytest.mark.parametrize("difference", [0.0, 0.3, -0.3])
def test_the_load_told_just_passes_and_a_heavier_one_does_not(difference: float) -> None:
    """With the error of the model that helps it most; what is found at the joints counts with its sign."""
    pose = np.array([0.3, -0.4, 0.6, 0.2, 0.5, 0.1])
    joints = found(PUMA, LEFT, pose, difference * LEFT)
    here = blind(PUMA, pose)
    mass = here.masses(joints)
    bounded = np.flatnonzero(mass < here.heaviest)
    assert len(bounded) > 0.5 * len(mass)
    for k in bounded:
        # Without the load the model's error would be d − m u; it must pass, at the boundary.
        error = np.abs(difference * LEFT - mass[k] * here.here[:, k]) + SIGMAS * 0.02
        assert np.max(error / LEFT) == pytest.approx(1.0)


def test_blind_pose_of_the_puma_names_the_load_and_a_pose_that_shows_it() -> None:
    """2 kg on the wrist pass at some poses; elsewhere they pull a joint by many times what holds it."""
    pose = next(
        q
        for q in spread_poses(np.zeros(6), np.ones(6, dtype=bool), PUMA.lower, PUMA.upper, 20000)
        if np.all(np.abs(PUMA.with_payload(2.0).gravity(q) - PUMA.gravity(q)) < 0.8 * LEFT)
    )
    joints = found(PUMA, LEFT, pose)
    result = CheckResult(joints, pose, "effort", 10.0, blind(PUMA, pose))
    assert result.passed
    told = {load.link: load for load in result.hidden}
    wrist = told["link6"]
    assert wrist.mass >= 2.0 and wrist.hides and wrist.ratio > SHOWN
    better = result.better_pose()
    assert better is not None and np.all((better >= PUMA.lower) & (better <= PUMA.upper))
    hides = [load.link for load in result.hidden if load.hides]
    for load in blind(PUMA, better).loads(found(PUMA, LEFT, better)):
        assert load.link not in hides or load.ratio <= SHOWN_THERE + 1e-6
    data = result.as_data()
    assert data["better_pose"] == better.tolist() and {row["link"] for row in data["hidden"]} == set(told)
    assert result.better_pose() == pytest.approx(better, abs=0.0)


def test_locked_joints_and_refused_checks_tell_nothing() -> None:
    """A locked joint stays: what only it would feel moves nothing. A refused arm is not let go."""
    free = np.array([True, False, False, False, False, False])
    pose = np.zeros(6)
    joints = found(PUMA, LEFT, pose)[:1]
    assert blind(PUMA, pose, free).loads(joints) == ()  # joint 1 turns about the vertical
    refused = found(PUMA, LEFT, pose, 2.0 * LEFT)
    result = CheckResult(refused, pose, "effort", 10.0, blind(PUMA, pose))
    assert result.hidden == () and result.better_pose() is None and result.as_data()["hidden"] == []


def test_the_check_itself_tells_and_the_law_watches_closer() -> None:
    """From the plant to the law: the planar arm hanging straight down hides loads at its tip, and an event says so."""
    down = np.array([-np.pi / 2, 0.0, 0.0])
    result = FloatCheck(Rig(plant := planar(position=down), PLANAR), FloatSettings(friction_fraction=0.5, repeats=2))
    with plant:
        checked = result.run()
    assert checked is not None and checked.passed, checked
    hides = [load for load in checked.hidden if load.hides]
    assert hides and max(load.mass for load in hides) > 1.0
    assert checked.blindness is not None and checked.blindness.unseen(checked.joints).hides.any()
    assert len(PLANAR_FRICTION) == PLANAR.n
    plant = planar(position=down)
    with plant:
        report = Floating(Rig(plant, PLANAR), FloatSettings(friction_fraction=0.5, repeats=2)).run(0.2)
    assert report.run is not None
    assert [event.message for event in report.run.events if event.kind == "hidden_load"] != []


def test_a_joint_whose_law_knows_no_friction_passes_with_any_fraction_or_with_none() -> None:
    """There is nothing to compensate: all of it, 1, or, where even that does not pass, −1."""
    for held, passes in ((0.0, True), (3.0, False)):
        joint = JointCheck("joint1", "N m", 0.0, held, 0.02, 1.5, 0.0, 0.0, True)
        assert joint.passed is passes and joint.largest_fraction == (1.0 if passes else -1.0)
