"""Tables of poses at rest are known as such, whatever their times, and are judged without any motion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.doctor.diagnosis import diagnose
from counterpoise.doctor.finding import ABOUT_MODEL, Consequence, LogFault
from counterpoise.doctor.pose_table import PER_ROW, is_pose_table, table_motion, table_points
from counterpoise.recording import Declared, Log
from library.doctor_cases import differing_model, recording, reversed_effort

ARM = cp.load("wam4")


def table(*, twice: bool = False, timed: bool = False, count: int = 40, seed: int = 0) -> Log:
    """Return poses in no special order with the torques that hold the arm, and friction from a random side."""
    random = np.random.default_rng(seed)
    q = random.uniform(-0.8, 0.8, (count, ARM.n))
    q = np.repeat(q[: count // 2], 2, axis=0) + random.normal(0.0, 1e-4, (count, ARM.n)) if twice else q
    side = np.tile([[1.0], [-1.0]], (count // 2, ARM.n)) if twice else np.sign(np.diff(q, axis=0, prepend=q[:1]))
    tau = ARM.gravity(q) + 0.3 * side * random.uniform(0.5, 1.0, q.shape)
    time = np.cumsum(random.uniform(2.0, 5.0, count)) if timed else np.arange(count) / 100.0
    declared = Declared(velocity_from="position", time_from="column" if timed else "rate")
    return Log(ARM.joint_names, time, q, np.zeros_like(q), tau, declared=declared)


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("timed", [False, True])
def test_a_table_is_known_with_and_without_times_and_with_poses_that_stand_twice(twice: bool, timed: bool) -> None:
    log = table(twice=twice, timed=timed)
    assert is_pose_table(log)
    assert diagnose(ARM, log).facts["kind"] == "poses"


@pytest.mark.parametrize("every", [1, 10])
def test_a_motion_is_no_table(every: int) -> None:
    """Sampled at 100 Hz or at 10 Hz, with velocities or without."""
    log = recording(ARM)[::every]
    assert not is_pose_table(log)
    assert not is_pose_table(replace(log, declared=replace(log.declared, velocity_from="position", time_from="rate")))


def test_a_sweep_noted_by_hand_is_a_table_by_its_times() -> None:
    """Poses in order look like a slow motion; nobody samples a motion every few seconds."""
    log = table(timed=True)
    ordered = replace(log, q=np.sort(log.q, axis=0))
    assert is_pose_table(ordered)
    assert not is_pose_table(ordered[:4])


@pytest.mark.parametrize("twice", [False, True])
def test_nothing_is_said_of_the_time_of_a_table(twice: bool) -> None:
    for seed in range(4):
        diagnosis = diagnose(differing_model(ARM, seed), table(twice=twice, timed=True, seed=seed))
        assert diagnosis.worst <= Consequence.LIMITS
        assert {finding.fault for finding in diagnosis.findings} <= {*ABOUT_MODEL, LogFault.EXCITATION}
        assert diagnosis.fix == {}


def test_a_reversed_effort_is_found_in_a_table() -> None:
    diagnosis = diagnose(ARM, reversed_effort(table(), 1))
    assert [finding.fault for finding in diagnosis.findings if finding.consequence is Consequence.DANGER] == [
        LogFault.EFFORT_SIGN
    ]
    assert diagnosis.fix["joints"] == {"joint2": {"effort_sign": -1}}


BARE = cp.Robot(
    replace(ARM.description, links=tuple(replace(link, inertia=None) for link in ARM.description.links)),
    mount=ARM.mount,
)
"""The arm without masses."""


@pytest.mark.parametrize("timed", [False, True])
def test_without_masses_a_table_stays_a_table(timed: bool) -> None:
    """Nothing is said of times, speeds, delays or the path; efforts were not compared, and that is said."""
    diagnosis = diagnose(BARE, table(timed=timed, count=60))
    assert diagnosis.facts["kind"] == "poses"
    (finding,) = diagnosis.findings
    assert finding.fault is LogFault.NO_MASSES and finding.consequence <= Consequence.LIMITS


def test_without_masses_friction_tells_signs_in_a_table() -> None:
    """By the order of the rows, or by the sides that are declared, whatever the order."""
    log = table(count=80)
    side = np.sign(np.diff(log.q, axis=0, prepend=log.q[:1]))
    mixed = np.random.default_rng(3).permutation(len(log))
    declared = replace(log, side=side)
    shuffled = replace(declared, q=log.q[mixed], tau=log.tau[mixed], side=side[mixed])
    for told in (log, declared, shuffled):
        assert {one.fault for one in diagnose(BARE, told).findings} == {LogFault.NO_MASSES}
        found = {one.fault: one for one in diagnose(BARE, reversed_effort(told, 1)).findings}
        assert found[LogFault.EFFORT_SIGN].subjects == ("joint2",)
    untold = diagnose(BARE, replace(shuffled, side=None))
    assert [one.consequence for one in untold.findings] == [Consequence.INVALIDATES]


def test_declared_sides_make_a_table() -> None:
    """Whatever the poses look like: a sweep noted without times is one, too."""
    log = table()
    ordered = replace(log, q=np.sort(log.q, axis=0))
    assert not is_pose_table(ordered)
    assert is_pose_table(replace(ordered, side=np.ones_like(log.q)))


def test_rows_are_points_at_rest() -> None:
    log = table(twice=True)
    points = table_points(log)
    assert points is not None
    np.testing.assert_array_equal(points.q, log.q)
    assert not points.dq.any() and not points.ddq.any()
    assert points.effective == len(log)
    assert table_points(log[:3]) is None


def test_rows_are_a_motion_at_rest() -> None:
    """The other checks see standing poses, all usable, each reached from its side, one independent sample a row."""
    log = table()
    tau = np.array(log.tau)
    tau[:, 2] = np.nan
    side = np.sign(np.random.default_rng(0).normal(size=log.q.shape))
    motion = table_motion(replace(log, tau=tau, side=side))
    assert motion is not None and motion.usable.all() and motion.dt == PER_ROW
    assert not motion.dq.any() and not motion.ddq.any()
    assert motion.effort_measured.tolist() == [True, True, False, True]
    np.testing.assert_array_equal(motion.direction, side)
