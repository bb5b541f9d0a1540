"""The certificate study's judgement of statements: right ones are true, wrong ones false, unknown ones neither."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.identification.statements import UseStatement, tips
from library.study_module import load_study

pytest.importorskip("pinocchio", reason="the study's rigid-body torques are Pinocchio's")

arms = load_study("certificate_arms")
foreign = load_study("certificate_foreign")
product = load_study("certificate_product")

DOWN = np.array([0.0, 0.0, -9.81])
AXES = {"yaw": "0 0 1", "shoulder": "0 1 0", "elbow": "0 1 0"}


@pytest.fixture(scope="module")
def study() -> ModuleType:
    return load_study("certificate_statements")


def arm_urdf(*joints: str) -> str:
    """An arm whose links are 1 m long, stretched along x at zero."""
    links = ['<robot name="arm"><link name="base"/>']
    parent, at = "base", 0.0
    for name in joints:
        links.append(
            f'<link name="{name}_link"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" '
            f'iyz="0"/></inertial></link><joint name="{name}" type="revolute"><parent link="{parent}"/>'
            f'<child link="{name}_link"/><origin xyz="{at} 0 0"/><axis xyz="{AXES[name]}"/>'
            f'<limit lower="-3" upper="3" effort="9" velocity="9"/></joint>'
        )
        parent, at = f"{name}_link", 0.0 if name == "yaw" else 1.0
    links.append(
        f'<link name="tip"/><joint name="end" type="fixed"><parent link="{parent}"/><child link="tip"/>'
        '<origin xyz="1 0 0"/></joint></robot>'
    )
    return "".join(links)


def one_joint(study: ModuleType, *, error: float, bias: float = 0.0, friction: float | None = None, **more: Any) -> Any:
    """What is true of a lever that lies flat, with one error at all poses and another one elsewhere."""
    poses = np.zeros((4, 1))
    facts = {
        "q": poses,
        "missed": np.full((4, 1), error),
        "held": np.full((4, 1), error + bias),
        "doubt": np.zeros(1),
        "allowed": np.array([1.0]),
        "friction": None if friction is None else np.full((4, 1), friction),
        "elsewhere": None,
        "elsewhere_allowed": None,
        "measured": np.array([True]),
        "down": DOWN,
    }
    return study.Known(**(facts | more))


def judge(study: ModuleType, use: str, value: float, known: Any, *joints: str) -> Any:
    ends = study.Tips(arm_urdf(*joints), joints)
    told = study.Told(np.full(len(joints), 100.0), np.full(len(joints), 0.1))
    (found,) = study.judged([UseStatement(use, "", value, "")], told, known, ends)
    return found


@pytest.mark.parametrize(("value", "right"), [(0.0051, True), (0.0049, False)])
def test_hold_is_the_sag_of_the_true_error(study: ModuleType, value: float, right: bool) -> None:
    """0.5 N m over 100 N m/rad, 1 m from the axis: 5 mm."""
    found = judge(study, "hold", value, one_joint(study, error=0.2, bias=0.3), "shoulder")
    assert found.true is right
    assert found.over * value == pytest.approx(0.005)


@pytest.mark.parametrize(("value", "right"), [(0.0051, True), (0.0049, None), (0.0031, None), (0.0029, False)])
def test_a_reference_that_may_be_off_contradicts_only_what_is_beyond_that(
    study: ModuleType, value: float, right: bool | None
) -> None:
    """5 mm of sag by a reference that may be 2 mm off itself."""
    known = one_joint(study, error=0.2, bias=0.3, doubt=np.array([0.2]))
    assert judge(study, "hold", value, known, "shoulder").true is right


def test_hold_is_judged_at_the_worst_pose(study: ModuleType) -> None:
    held = np.array([[0.0], [0.0], [0.0], [0.5]])
    found = judge(study, "hold", 0.004, one_joint(study, error=0.0, held=held), "shoulder")
    assert found.over < 1.0 < found.worst
    assert found.true is False


@pytest.mark.parametrize(
    ("share", "error", "right"),
    [(0.0, 0.9, True), (0.0, 1.1, False), (0.75, 0.1, True), (0.85, 0.1, False), (0.5, 0.1, True)],
)
def test_float_leaves_more_true_friction_than_error(study: ModuleType, share: float, error: float, right: bool) -> None:
    """Tolerance 1 N m, friction 0.5 N m: of this, 1 − c is left."""
    found = judge(study, "float", share, one_joint(study, error=error, friction=0.5), "shoulder")
    assert found.true is right


def test_float_without_a_known_friction_can_only_be_false(study: ModuleType) -> None:
    assert judge(study, "float", 0.9, one_joint(study, error=0.9), "shoulder").true is None
    assert judge(study, "float", 0.0, one_joint(study, error=1.1), "shoulder").true is False


@pytest.mark.parametrize(("mass", "right"), [(0.052, True), (0.050, False)])
def test_a_load_must_stand_out_from_the_true_error(study: ModuleType, mass: float, right: bool) -> None:
    """0.5 N m are 51 g at 1 m."""
    assert judge(study, "payload", mass, one_joint(study, error=0.2, bias=0.3), "shoulder").true is right


def test_a_load_is_looked_for_where_the_calibration_says_that_it_shows_most(study: ModuleType) -> None:
    """At the shoulder the load has twice the elbow's lever; that the elbow is right does not help."""
    known = one_joint(
        study,
        error=0.0,
        q=np.zeros((4, 2)),
        held=np.tile([5.0, 0.0], (4, 1)),
        missed=np.zeros((4, 2)),
        allowed=np.ones(2),
        measured=np.ones(2, dtype=bool),
    )
    assert judge(study, "payload", 0.2, known, "shoulder", "elbow").true is False
    assert judge(study, "payload", 0.3, known, "shoulder", "elbow").true is True


def test_a_push_must_stand_out_in_every_direction(study: ModuleType) -> None:
    """Elbow bent by 90°: each direction is felt by some joint, at 1 m or more from an axis in each of three."""
    q = np.tile([0.0, -0.5, 1.6], (4, 1))
    known = one_joint(
        study,
        error=0.0,
        q=q,
        held=np.full((4, 3), 0.5),
        missed=np.zeros((4, 3)),
        allowed=np.ones(3),
        measured=np.ones(3, dtype=bool),
    )
    assert judge(study, "contact", 2.0, known, "yaw", "shoulder", "elbow").true is True
    assert judge(study, "contact", 0.4, known, "yaw", "shoulder", "elbow").true is False
    assert judge(study, "contact", 2.0, one_joint(study, error=0.5), "shoulder").true is False  # sideways


def test_extrapolate_is_judged_elsewhere(study: ModuleType) -> None:
    for error, right in ((0.9, True), (1.1, False)):
        there = {"elsewhere": np.full((5, 1), error), "elsewhere_allowed": np.array([1.0])}
        assert judge(study, "extrapolate", np.nan, one_joint(study, error=0.0, **there), "shoulder").true is right
    assert judge(study, "extrapolate", np.nan, one_joint(study, error=0.0), "shoulder").true is None


@pytest.mark.parametrize("seed", range(6))
def test_tips_move_as_the_product_says(study: ModuleType, seed: int, tmp_path: Path) -> None:
    """The study's Jacobians are the product's at one of its own tips."""
    random = np.random.default_rng(seed)
    arm = arms.random_arm(random)
    (tmp_path / "arm.urdf").write_text(arms.urdf_text(arm), encoding="utf-8")
    robot = cp.load(tmp_path / "arm.urdf")
    order = [robot.joint_names.index(name) for name in arm.joint_names]
    q = random.uniform(arm.lower, arm.upper, (3, len(arm.moving)))
    turned = np.empty(q.shape)
    turned[:, order] = q
    theirs = [np.asarray(robot.jacobian(turned, at=tip))[:, :3][:, :, order] for tip in tips(robot)]
    for ours in study.Tips(arms.urdf_text(arm), arm.joint_names).slopes(q):
        assert min(float(np.abs(ours - other).max()) for other in theirs) < 1e-9


def test_statements_of_a_real_run_are_true_and_false_where_the_truth_is_another(tmp_path: Path) -> None:
    """A table of poses whose list holds; with an arm that is really 60 % heavier nothing of it does."""
    case = foreign.foreign_case(54, None)
    row = product.run_case(case, tmp_path)
    said = {one["use"]: one["true"] for one in row["before"]["statements"]}
    assert {"hold", "float", "payload", "contact"} <= set(said)
    assert all(said.values())
    heavy = replace(
        case,
        load_recorded=1.6 * case.load_recorded,
        elsewhere=replace(case.elsewhere, load_recorded=1.6 * case.elsewhere.load_recorded),
    )
    row = product.run_case(heavy, tmp_path)
    assert row["before"]["statements"]
    assert not any(one["true"] for one in row["before"]["statements"])
