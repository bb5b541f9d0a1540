"""The stiffness of position servos from a recording: right within its error, friction apart, refusals by name."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.errors import InputError
from counterpoise.recording import Declared, write_log
from counterpoise.tasks.position_servo import ServoStiffness, identify_stiffness
from library.position_servo import drooping_log

ROBOT = cp.load("puma560")
KP = np.array([900.0, 1500.0, 700.0, 120.0, 100.0, 60.0])
RNG = np.random.default_rng(2)
POSES = np.column_stack(
    [RNG.uniform(low, high, 10) for low, high in ((-1, 1), (-0.4, 1.6), (-3, -1), (-1.2, 1.2), (-1.2, 1.2), (-1, 1))]
)


def found(**options: Any) -> ServoStiffness:
    return identify_stiffness(ROBOT, drooping_log(ROBOT, POSES, KP, **options))


def test_without_friction_the_stiffness_is_exact() -> None:
    """Joint 1 turns about the vertical and needs none; the others come out as they are."""
    stiffness = found()
    assert np.isinf(stiffness.kp[0])
    loaded = np.isfinite(stiffness.kp)
    assert loaded.sum() >= 4
    np.testing.assert_allclose(stiffness.kp[loaded], KP[loaded], rtol=1e-3)
    np.testing.assert_allclose(stiffness.offset, 0.0, atol=1e-5)


def test_friction_and_zeros_are_told_apart_from_the_load() -> None:
    """Come to from both sides, K_p is found within three deviations, F_c within a tenth, and so is the zero."""
    friction = np.array([4.0, 5.0, 2.5, 0.05, 0.05, 0.01])
    zero = np.array([0.0, 0.01, -0.02, 0.005, 0.0, 0.0])
    stiffness = found(friction=friction, offset=zero, noise=2e-5)
    for joint in (1, 2):
        assert abs(stiffness.kp[joint] - KP[joint]) < max(3.0 * stiffness.kp_std[joint], 0.01 * KP[joint])
        assert stiffness.friction[joint] == pytest.approx(friction[joint], rel=0.1)
        assert stiffness.offset[joint] == pytest.approx(zero[joint], abs=1e-3)
        assert stiffness.poses[joint] == 20


def test_one_side_leaves_friction_in_the_zero() -> None:
    """From one side only, K_p is still found; the friction is not, and says so."""
    stiffness = found(friction=np.array([4.0, 5.0, 2.5, 0.05, 0.05, 0.01]), sides=(-1.0,))
    assert stiffness.kp[1] == pytest.approx(KP[1], rel=0.05)
    assert np.isnan(stiffness.friction[1])


def test_the_data_is_plain() -> None:
    """as_data is what JSON can hold, with None for what is infinite or unknown."""
    data = found().as_data()
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert data["joint1"]["kp"] is None
    assert data["joint2"]["kp"] == pytest.approx(1500.0, rel=1e-3)


def test_a_joint_that_is_never_loaded_differently_is_named() -> None:
    """At one pose over and over nothing can be told; the joints are named, and given ones are taken as they are."""
    log = drooping_log(ROBOT, np.repeat(POSES[:1], 4, axis=0), KP, noise=1e-5)
    with pytest.raises(InputError, match=r"joint 'joint2'.*load"):
        identify_stiffness(ROBOT, log)
    known = dict(zip(ROBOT.joint_names, KP, strict=True))
    np.testing.assert_array_equal(identify_stiffness(ROBOT, log, known=known).kp, KP)


def test_friction_that_drowns_the_load_is_refused() -> None:
    """A wrist whose friction is many times its load, stuck anywhere, is named as unsure."""
    random = np.random.default_rng(4)
    log = drooping_log(ROBOT, POSES, KP)
    stuck = log.q + np.repeat(random.uniform(-0.05, 0.05, (20, 6)), len(log) // 20, axis=0) * (np.arange(6) == 4)
    with pytest.raises(InputError, match="joint 'joint5'"):
        identify_stiffness(ROBOT, replace(log, q=stuck))


def test_a_turned_sign_is_told() -> None:
    """With gravity upside down the joints stand off against their load, and the message says where to look."""
    log = drooping_log(ROBOT, POSES, KP)
    upside_down = ROBOT.mounted(gravity=(0.0, 0.0, 9.81))
    with pytest.raises(InputError, match=r"joint 'joint2': it leaves its goal against the direction of its load.*sign"):
        identify_stiffness(upside_down, log)


@pytest.mark.parametrize(
    "spoil", [lambda goal: -goal, np.degrees, lambda goal: goal[:, ::-1]], ids=["negated", "degrees", "reversed"]
)
def test_goals_of_another_sign_unit_or_order_are_told(spoil: Any) -> None:
    """What is far from the goal at every pose is no droop: no stiffness is made of it, however sure it looks."""
    log = drooping_log(ROBOT, POSES, KP)
    for joint in ("joint2", "joint3"):
        with pytest.raises(InputError, match=f"joint '{joint}': its distance from the goal changes"):
            identify_stiffness(ROBOT, log, goal=spoil(log.sent))


@pytest.mark.parametrize(("droop", "known"), [(0.36, True), (0.55, False)])
def test_a_soft_joint_may_droop_by_less_than_a_turn_of_sign_would(droop: float, known: bool) -> None:
    """From pose to pose by up to 0.4 rad, as docs/position-servos.md states."""
    soft = KP.copy()
    soft[1] = np.ptp(ROBOT.gravity(POSES)[:, 1]) / droop
    log = drooping_log(ROBOT, POSES, soft)
    if known:
        assert identify_stiffness(ROBOT, log).kp[1] == pytest.approx(soft[1], rel=0.02)
        return
    with pytest.raises(InputError, match="joint 'joint2': its distance from the goal changes"):
        identify_stiffness(ROBOT, log)


def test_where_the_goals_are_must_be_known() -> None:
    """Goals come as an argument or as a declared column; torques are not taken for goals."""
    log = drooping_log(ROBOT, POSES, KP)
    torques = replace(log, declared=Declared(position_side="link"))
    with pytest.raises(InputError, match="sent_kind"):
        identify_stiffness(ROBOT, torques)
    given = identify_stiffness(ROBOT, torques, goal=log.sent)
    np.testing.assert_array_equal(given.kp, identify_stiffness(ROBOT, log).kp)
    with pytest.raises(InputError, match="shape"):
        identify_stiffness(ROBOT, log, goal=log.sent[:-1])  # type: ignore[index]
    with pytest.raises(InputError, match="motor side"):
        identify_stiffness(ROBOT, replace(log, declared=Declared(position_side="motor")))
    with pytest.raises(InputError, match="no joint"):
        identify_stiffness(ROBOT, log, known={"elbow": 3.0})
    with pytest.raises(InputError, match="stands still nowhere"):
        identify_stiffness(ROBOT, log[:30])


def test_the_declaration_survives_a_file(tmp_path: Path) -> None:
    """A log of ours keeps what its sent column means, and the stiffness found from it."""
    log = drooping_log(ROBOT, POSES, KP)
    write_log(log, tmp_path / "servo.csv")
    read = cp.read_log(tmp_path / "servo.csv", ROBOT)
    assert read.declared.sent_kind == "position"
    np.testing.assert_allclose(identify_stiffness(ROBOT, read).kp, identify_stiffness(ROBOT, log).kp, rtol=1e-9)
