"""A small version of studies/certificates.py: its arms, its ideal estimator, its counts."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import counterpoise as cp
from library.shared_data import example_urdfs
from library.study_module import STUDIES, load_study

pytest.importorskip("pinocchio", reason="the study's rigid-body torques are Pinocchio's")

arms = load_study("certificate_arms")
dynamics = load_study("certificate_dynamics")
foreign = load_study("certificate_foreign")
product = load_study("certificate_product")


def same_order(robot: cp.Robot, arm: Any, values: np.ndarray) -> np.ndarray:
    """Put values in the arm's joint order into the robot's."""
    found = np.empty(values.shape)
    found[:, [robot.joint_names.index(name) for name in arm.joint_names]] = values
    return found


def loaded(arm: Any, folder: Path) -> cp.Robot:
    (folder / "arm.urdf").write_text(arms.urdf_text(arm), encoding="utf-8")
    return cp.load(folder / "arm.urdf")


@pytest.mark.parametrize("seed", range(12))
def test_the_written_urdf_is_the_arm_that_is_simulated(seed: int, tmp_path: Path) -> None:
    """Gravity and torques of the true arm by Pinocchio are those of the file by the product, payload included."""
    random = np.random.default_rng(seed)
    true, _ = arms.different(arms.random_arm(random), "links", random)
    true = arms.with_payload(true, 1.3, np.array([0.1, -0.02, 0.05]))
    robot, twin = loaded(true, tmp_path), dynamics.Dynamics(true)
    q = random.uniform(true.lower, true.upper, (5, len(true.moving)))
    dq, ddq = random.normal(size=(2, *q.shape))
    state = (same_order(robot, true, values) for values in (q, dq, ddq))
    assert robot.gravity(same_order(robot, true, q)) == pytest.approx(
        same_order(robot, true, twin.gravity(q)), abs=1e-10
    )
    torque = twin.torque(q, dq, ddq)
    assert robot.inverse_dynamics(*state) == pytest.approx(same_order(robot, true, torque), abs=1e-9)
    assert twin.rows(q, dq, ddq) @ twin.parameters == pytest.approx(torque, abs=1e-9)


@pytest.mark.parametrize("name", list(foreign.ARMS))
def test_real_arms_keep_their_gravity(name: str, tmp_path: Path) -> None:
    """What is read from a published URDF and written again has the gravity of the published one."""
    file = foreign.ARMS[name][0]
    found = [path for path in example_urdfs() if path.name == file]
    if not found:
        pytest.skip(f"{file} of example-robot-data is not installed")
    arm = foreign.real_arm(name, found[0].parent)
    original, robot = cp.load(found[0]), loaded(arm, tmp_path)
    assert 5 <= robot.n <= 7
    q = np.random.default_rng(0).uniform(arm.lower, arm.upper, (4, robot.n))
    whole = np.zeros((4, original.n))
    whole[:, [original.joint_names.index(joint) for joint in arm.joint_names]] = q
    kept = original.gravity(whole)[:, [original.joint_names.index(joint) for joint in robot.joint_names]]
    assert robot.gravity(same_order(robot, arm, q)) == pytest.approx(kept, abs=1e-9)


def test_a_case_is_its_seed() -> None:
    first, second = foreign.foreign_case(24, None), foreign.foreign_case(24, None)
    assert first.urdf == second.urdf
    for name, values in first.columns.items():
        np.testing.assert_array_equal(values, second.columns[name])


def test_half_of_the_recordings_are_sound_and_every_fault_is_drawn() -> None:
    faults = load_study("certificate_faults")
    random = np.random.default_rng(0)
    arm = arms.random_arm(random)
    weight = random.normal(size=(20, len(arm.moving)))
    drawn = [faults.draw_fault(arm, weight, random).name for _ in range(600)]
    assert 0.4 < drawn.count("none") / 600 < 0.6
    assert set(drawn) == set(faults.FAULTS)


@pytest.mark.parametrize("kind", ["multisine", "one line", "out and back", "growing", "point to point", "one joint"])
def test_paths_keep_the_limits_and_their_derivatives(kind: str) -> None:
    paths = load_study("certificate_paths")
    random = np.random.default_rng(3)
    arm = arms.random_arm(random)
    motion = paths.draw_path(kind, arm, 12.0, 1000.0, random)
    assert np.all(motion.q >= arm.lower) and np.all(motion.q <= arm.upper)
    inside = slice(2, -2)
    for lower, upper in ((motion.q, motion.dq), (motion.dq, motion.ddq)):
        slope = np.gradient(lower, motion.time, axis=0)[inside]
        # A minimum-jerk move begins with a jump of the jerk: the difference quotient is off by its step there.
        assert slope == pytest.approx(upper[inside], abs=0.02 * max(float(np.abs(upper).max()), 1e-9))


def test_the_ideal_estimators_error_is_that_of_least_squares() -> None:
    """95 % of many least-squares fits lie within what it states, on a recording that determines all."""
    ideal, paths = load_study("certificate_ideal"), load_study("certificate_paths")
    random = np.random.default_rng(5)
    arm = arms.random_arm(np.random.default_rng(11))
    arm = arm.with_efforts(np.full(len(arm.moving), 20.0))
    twin = dynamics.Dynamics(arm)
    motion = paths.draw_path("multisine", arm, 20.0, 12.5, random)
    noise = ideal.Noise(np.full(len(arm.moving), 0.05), np.zeros(len(arm.moving)), 0.1)
    stated, _ = ideal.gravity_error(twin, motion, noise)
    rows = twin.rows(motion.q, motion.dq, motion.ddq)
    n = rows.shape[1]
    extra = np.zeros((len(rows), n, 2 * n))
    extra[:, range(n), range(n)] = 1.0
    extra[:, range(n), range(n, 2 * n)] = motion.ddq
    design = np.concatenate([rows, extra], axis=2).reshape(len(rows) * n, -1)
    errors = np.linalg.pinv(design, rcond=1e-10) @ (0.05 * random.normal(size=(len(design), 300)))
    missed = (twin.rows(motion.q).reshape(len(design), -1) @ errors[: rows.shape[2]]).reshape(len(rows), n, -1)
    spread = 1.96 * np.sqrt(np.mean(missed**2, axis=(0, 2)))
    felt = stated > 1e-9
    assert felt.any()
    assert spread[felt] == pytest.approx(stated[felt], rel=0.15)


@pytest.mark.parametrize("seed", [8, 28])
def test_a_foreign_case_runs_through_the_product(seed: int, tmp_path: Path) -> None:
    """Two seeds of the half on which rules are chosen."""
    case = foreign.foreign_case(seed, None)
    row = product.run_case(case, tmp_path)
    assert row["labels"]["path"] == "small region"
    result = row["before"]
    assert result["failure"] == ""
    assert len(result["error"]) == len(result["tolerance"]) == len(case.names)
    worst = max(error / allowed for error, allowed in zip(result["error"], result["tolerance"], strict=True))
    assert result["worst"] == pytest.approx(worst, rel=1e-2)
    assert result["inside"] == (worst <= 1.0)
    rms = np.sqrt(np.mean(case.load_recorded**2, axis=0))
    assert np.all(np.array(result["tolerance"]) >= 0.1 * rms - 1e-3)


def test_a_fix_is_applied_to_the_truth_as_the_product_applies_it() -> None:
    fix = product._Fix(
        {
            "joints": {
                "joint1": {"effort": "tau_joint2", "effort_sign": -1},
                "joint2": {"effort": "tau_joint1", "effort_gain": 2.0, "effort_offset": 0.5},
                "joint3": {"position_sign": -1},
            }
        },
        ("joint1", "joint2", "joint3"),
    )
    assert fix.efforts(np.array([[1.0, 10.0, 100.0]])).tolist() == [[-10.0, 2.0, 100.0]]
    assert fix.positions(np.array([[1.0, 2.0, 3.0]])).tolist() == [[1.0, 2.0, -3.0]]
    assert fix.offsets().tolist() == [0.0, 0.5, 0.0]
    assert [fix.converts(name) for name in fix.names] == [False, True, False]


def made_row(
    seed: int,
    *,
    certified: bool,
    inside: bool,
    determinable: bool = True,
    statements: list[dict[str, Any]] | None = None,
    **more: Any,
) -> dict[str, Any]:
    result = {
        "failure": "",
        "certified": certified,
        "trusted": certified,
        "inside": inside,
        "covered": [0.9],
        "failed": [] if certified else ["prior"],
        "worst": 0.5 if inside else 2.0,
        "error_with_offset": [0.1],
        "tolerance": [1.0],
        "statements": statements or [],
    }
    labels = {"path": "one line", "fault": "none", "friction": "load", "description": "links"}
    return {
        "part": "foreign",
        "seed": seed,
        "labels": labels,
        "measured": [True],
        "determinable": determinable,
        "before": result,
        "after": None,
        "findings": [],
        "truths": [],
        "described": {"worst": 1.5},
        "identifiable": False,
        "springs": [False],
        "seconds": 1.0,
        **more,
    }


def stated(use: str, *, true: bool | None) -> dict[str, Any]:
    return {"use": use, "value": 1.0, "over": 2.0 if true is False else 0.5, "worst": None, "true": true}


def test_certificates_and_refusals_are_counted() -> None:
    score = load_study("certificate_score")
    said = {
        "fault": "gain",
        "subjects": ["a"],
        "invalidates": True,
        "mends": True,
        "right": False,
        "exact": False,
        "near": None,
        "means": "",
        "consequence": "invalidates",
        "sentence": "",
    }
    rows = [
        made_row(0, certified=True, inside=True, statements=[stated("hold", true=True), stated("float", true=None)]),
        made_row(2, certified=True, inside=False, statements=[stated("float", true=False)]),
        made_row(4, certified=False, inside=True, findings=[said], statements=[stated("hold", true=False)]),
        made_row(6, certified=False, inside=True, determinable=False),
        made_row(8, certified=False, inside=False),
        {**made_row(10, certified=False, inside=False), "before": {"failure": "InputError: no motion"}},
    ]
    text = score.tables(rows)
    assert "| all | 6 | 2 | 2 | 1 (17%) | 1 (50%) | 2 (33%) | 3 | 2 (67%) |" in text
    assert "| hold | 2 | 2 | 1 (50%) | 1 of 2 | 0 of 0 | [4] |" in text
    assert "| float | 2 | 1 | 1 (100%) | 1 of 1 | 0 of 0 | [2] |" in text
    assert "Valid recordings with a wrong finding that invalidates: 1 (17%)." in text
    assert "Of the false certificates, 1 hold the arm all the same" in text
    assert "Certified, outside and worse than the untouched description: 1." in text
    assert "What failed in false refusals: prior 1, no fit 1." in text
    assert "| gain | 1 | 0 (0%) | 1 | 0 (0%) | 0 (0%) |" in text


def test_a_case_that_takes_too_long_is_reported_and_the_next_one_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(STUDIES)  # its processes import it by name
    study = load_study("certificates")
    rows = list(study.rows_of([("foreign", 0, None), ("foreign", 2, None)], jobs=1, limit=0.05))
    assert [row["seed"] for row in rows] == [0, 2]
    assert all("timed_out" in row for row in rows)
    assert study.seeds_of("chosen", 3) == [0, 2, 4]
    assert study.seeds_of("judged", 2) == [1, 3]


@pytest.fixture(scope="module")
def real(shared: Any) -> ModuleType:
    """The study's module of known arms, or skip where the recordings or a model are absent."""
    shared("data/ur10_panda/panda_exciting_trajectory.db3")
    if not [path for path in example_urdfs() if path.name == "panda.urdf"]:
        pytest.skip("panda.urdf of example-robot-data is not installed")
    return load_study("certificate_real")


@pytest.mark.parametrize("seed", [0, 12])
def test_a_known_arm_in_a_real_recording_runs_through_the_product(seed: int, real: ModuleType, tmp_path: Path) -> None:
    case = real.real_case(seed)
    assert case.labels["path"] == "panda"
    row = product.run_case(case, tmp_path)
    assert row["before"]["failure"] == ""
    assert len(row["before"]["error"]) == 7


def test_rigid_body_torques_come_from_the_other_half(real: ModuleType) -> None:
    """The path is halved where it is new, and little is left of the efforts though no sample was fitted to itself."""
    recordings = load_study("certificate_recordings")
    recording = recordings.read_recording("panda")
    assert np.all((recording.along >= 0.0) & (recording.along <= 1.0))
    turn = int(np.argmax(recording.along))
    assert 0.4 < turn / len(recording.along) < 0.6
    left = real.crossed("panda")
    assert np.all(np.std(left, axis=0)[1:4] < 0.15 * np.std(recording.effort, axis=0)[1:4])


def test_a_fault_in_a_real_recording_changes_the_reference(real: ModuleType) -> None:
    injected = load_study("certificate_injected")
    plain, turned = (injected.fault_case(2, "panda", fault) for fault in ("none", "effort sign"))
    joint = list(plain.names).index(turned.truths[0].joints[0])
    sign = np.where(np.arange(7) == joint, -1.0, 1.0)
    np.testing.assert_allclose(turned.load_recorded, plain.load_recorded * sign)
    np.testing.assert_allclose(turned.load_torque, plain.load_torque)
    tau = [np.column_stack([case.columns[f"effort_{name}"] for name in case.names]) for case in (plain, turned)]
    np.testing.assert_allclose(tau[1], tau[0] * sign)
