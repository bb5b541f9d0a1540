"""What the data determine, in words: sums that no data can split, and numbers that these data leave open."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

import counterpoise as cp
from counterpoise.errors import InputError
from counterpoise.fitting import (
    Identifiability,
    JointRegression,
    Language,
    base_language,
    column_unit,
    identifiability,
    identify,
    link_parameter_names,
    solve,
    static_poses,
    workspace_yardstick,
)
from counterpoise.fitting.identifiability import sum_text
from counterpoise.identification import solve_static, static_columns, static_rows

Array = npt.NDArray[np.float64]

SIGMA = 0.1


def everywhere(robot: cp.Robot, count: int, seed: int) -> Array:
    return np.random.default_rng(seed).uniform(-2.0, 2.0, (count, robot.n))


def judged(robot: cp.Robot, q: Array, *, offset: bool = True) -> Identifiability:
    torques = robot.gravity(q) + SIGMA * np.random.default_rng(1).normal(size=q.shape)
    solution = solve_static(
        robot, static_poses(robot.joint_names, q, torques), offset=offset, sigma=np.full(robot.n, SIGMA)
    )
    yardstick = workspace_yardstick(static_rows(robot, everywhere(robot, 300, 2), offset=offset), solution.sigma)
    return identify(base_language(robot, solution), yardstick)


def truth(robot: cp.Robot) -> Array:
    return np.concatenate([robot.base_gravity_parameters, np.zeros(robot.n)])


def test_varied_poses_determine_everything_that_can_be() -> None:
    """Each base parameter and each offset on its own, written as the sum it is, with errors that hold."""
    robot = cp.load("wam7")
    found = judged(robot, everywhere(robot, 25, 3))
    assert found.complete
    assert found.undetermined == ()
    texts = [each.text for each in found.determined]
    assert "link3.my + link4.mz" in texts
    assert "link2.my − link3.mz − 0.55·link4.m − 0.55·link5.m − 0.55·link6.m − 0.55·link7.m" in texts
    assert "joint2.offset" in texts
    assert len(texts) == 19
    scores = [(each.value - each.coefficients @ truth(robot)) / each.std for each in found.determined]
    assert np.sqrt(np.mean(np.square(scores))) == pytest.approx(1.0, abs=0.45)
    assert {each.unit for each in found.determined} == {"kg m", "N m"}


def test_no_mass_is_printed_that_no_torque_reveals() -> None:
    """A single mass stands alone nowhere on a rotary arm, and what is never felt is listed as such."""
    robot = cp.load("wam7")
    found = judged(robot, everywhere(robot, 25, 3))
    assert not any(
        each.text.endswith(".m") and "+" not in each.text and "−" not in each.text for each in found.determined
    )
    assert set(found.never_felt) >= {"link1.m", "link1.mx", "link1.my", "link1.mz", "link2.m"}
    assert "link4.m" not in found.never_felt
    assert "never felt by a joint torque on this mounting: link1.m" in found.summary()


def test_resting_joints_leave_sums() -> None:
    """Joints 2 and 3 of a WAM-4 never move: fewer directions, named sums, and every stated error holds."""
    robot = cp.load("wam4")
    q = np.full((30, 4), 0.3)
    q[:, [0, 3]] = np.random.default_rng(4).uniform(-1.0, 2.0, (30, 2))
    found = judged(robot, q)
    assert not found.complete
    assert len(found.determined) < 10
    assert len(found.determined) == np.sum(found.eigenvalues >= 1.0)
    assert any("offset" in each.text and ".m" in each.text for each in found.determined)
    assert found.undetermined
    assert "not determined by these data" in found.summary()
    scores = [(each.value - each.coefficients @ truth(robot)) / each.std for each in found.determined]
    assert np.max(np.abs(scores)) < 4.0
    # A determined sum really is: moving x along what the data do not see changes none of them.
    rows = static_rows(robot, q, offset=True).reshape(-1, 10)
    _, values, right = np.linalg.svd(rows)
    hidden = right[np.sum(values > 1e-9 * values[0]) :]
    assert len(hidden) > 0
    for each in found.determined:
        np.testing.assert_allclose(hidden @ each.coefficients, 0.0, atol=2e-2 * np.abs(each.coefficients).max())


def test_a_gantrys_weight_and_offset_are_one_sum() -> None:
    """The lift carries the same weight everywhere: only weight plus offset is known, neither is printed as a mass."""
    robot = cp.load("gantry")
    found = judged(robot, everywhere(robot, 20, 5))
    lift = next(each for each in found.determined if ".m" in each.text)
    assert lift.text == "link3.m + 0.102·joint3.offset"
    assert lift.unit == "kg"
    assert set(found.undetermined) == {"link3.m", "joint3.offset"}
    alone = judged(robot, everywhere(robot, 20, 5), offset=False)
    assert alone.complete
    assert alone.determined[0].text == "link3.m"
    assert alone.determined[0].value == pytest.approx(robot.base_gravity_parameters[0], abs=5 * alone.determined[0].std)


def test_eigenvalues_count_measurements(monkeypatch: pytest.MonkeyPatch) -> None:
    """Data that are the yardstick's own samples, seven times over, know every direction 7 × as many as there are."""
    robot = cp.load("wam4")
    rows = static_rows(robot, everywhere(robot, 50, 6), offset=True)
    regression = JointRegression(robot.joint_names, static_columns(robot, offset=True))
    for _ in range(7):
        regression.add(rows, np.ones((50, 4)))
    solution = solve(regression, sigma=np.full(4, SIGMA))
    found = identify(base_language(robot, solution), workspace_yardstick(rows, solution.sigma))
    np.testing.assert_allclose(found.eigenvalues, 350.0, rtol=1e-6)
    np.testing.assert_allclose([each.information for each in found.determined], 350.0, rtol=1e-6)
    assert found.complete
    monkeypatch.setattr(identifiability, "THRESHOLD", 351.0)
    demanding = identify(base_language(robot, solution), workspace_yardstick(rows, solution.sigma))
    assert demanding.determined == ()
    assert len(demanding.undetermined) == 10


def test_names_and_units() -> None:
    """Links, not joints, carry masses; offsets stay with their joint, in N m or N."""
    robot = cp.load("dualarm19")
    assert robot.gravity_parameter_names[0] == "trunk_yaw.m"
    assert link_parameter_names(robot)[0] == "waist.m"
    gantry = cp.load("gantry")
    assert column_unit(gantry, f"{gantry.joint_names[0]}.offset") == "N"
    assert column_unit(robot, "trunk_yaw.viscous") == "N m s/rad"
    assert column_unit(robot, "trunk_yaw.Ixy") == "kg m²"
    assert column_unit(robot, "tilt.first") == "rad"


def test_a_number_outside_yardstick_and_data_is_undetermined() -> None:
    """A column of zeros everywhere is reported, not divided by."""
    language = Language(("a", "b"), np.array([1.0, 0.0]), np.diag([4.0, 0.0]), ("kg", "kg"), {})
    found = identify(language, np.diag([1.0, 0.0]))
    assert [each.text for each in found.determined] == ["a"]
    assert found.determined[0].std == pytest.approx(0.5)
    assert found.undetermined == ("b",)


def test_what_does_not_fit_is_refused() -> None:
    robot, other = cp.load("wam4"), cp.load("puma560")
    q = everywhere(robot, 10, 9)
    solution = solve_static(robot, static_poses(robot.joint_names, q, robot.gravity(q)))
    with pytest.raises(InputError, match="expected the base parameters of 'puma560'"):
        base_language(other.mounted(rpy=(0.3, 0.2, 0.0)), solution)
    with pytest.raises(InputError, match="yardstick has shape"):
        identify(base_language(robot, solution), np.eye(3))


@pytest.mark.parametrize(
    ("shares", "text"),
    [
        ({"a": 1.0, "b": 0.5}, "a + 0.5·b"),
        ({"a": -1.0, "b": -0.5, "c": 2.0}, "−a − 0.5·b + 2·c"),
        ({"a": 0.25, "b": 1e-9, "c": -1.0}, "0.25·a − c"),
        ({}, ""),
    ],
)
def test_sums_are_written_with_their_signs(shares: dict[str, float], text: str) -> None:
    """A one is not written, nor what is nothing."""
    assert sum_text(shares) == text
