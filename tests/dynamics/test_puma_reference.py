"""The PUMA 560 against numbers computed by others: the Robotics Toolbox and the explicit model of 1986."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import counterpoise as cp
from counterpoise.dynamics.reference import ReferenceKernel
from library.twin import agree

Array = npt.NDArray[np.float64]
Shared = Callable[[str], Path]

PI = np.pi
GOLDEN = {
    "qz": ([0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 37.48366665, 0.24892875, 0.0, 0.0, 0.0]),
    "qr": ([0.0, PI / 2, -PI / 2, 0.0, 0.0, 0.0], [0.0, -0.77523525, 0.24892875, 0.0, 0.0, 0.0]),
    "qs": ([0.0, 0.0, -PI / 2, 0.0, 0.0, 0.0], [0.0, 46.006938, 8.7722001, 0.0, 0.0282528, 0.0]),
    "qn": ([0.0, PI / 4, -PI, 0.0, PI / 4, 0.0], [0.0, 31.63988037835712, 6.0351380230105125, 0.0, 0.0282528, 0.0]),
}
"""``Puma560().gravload(q)`` of roboticstoolbox-python 1.5.0 at its four named poses [N m], with g = 9.81 downwards."""

# Motor parameters of Corke and Armstrong-Hélouvry, ICRA 1994, as the toolbox has them: gear, rotor inertia [kg m²],
# viscous friction [N m s/rad] and Coulomb friction for either direction [N m], all on the motor's side.
GEAR = np.array([-62.6111, 107.815, -53.7063, 76.0364, 71.923, 76.686])
ROTOR = np.array([200e-6, 200e-6, 200e-6, 33e-6, 33e-6, 33e-6])
VISCOUS = np.array([1.48e-3, 0.817e-3, 1.38e-3, 71.2e-6, 82.6e-6, 36.7e-6])
COULOMB_FORWARD = np.array([0.395, 0.126, 0.132, 11.2e-3, 9.26e-3, 3.96e-3])
COULOMB_BACKWARD = np.array([0.435, 0.071, 0.105, 16.9e-3, 14.5e-3, 10.5e-3])


def friction(dq: Array) -> Array:
    """Torque that overcomes friction, reflected through the gear to the link side [N m]."""
    coulomb = np.where(dq > 0.0, COULOMB_FORWARD, -COULOMB_BACKWARD) * (dq != 0.0)
    return np.abs(GEAR) * (np.abs(GEAR) * VISCOUS * dq + coulomb)


def toolbox(ours: Array, theirs: Any, what: str, where: object = "") -> None:
    agree(ours, np.array(theirs), what, oracle="Robotics Toolbox", where=where)


@pytest.fixture
def puma() -> cp.Robot:
    return cp.load("puma560")


@pytest.mark.parametrize("pose", GOLDEN)
def test_gravity_at_the_named_poses(puma: cp.Robot, pose: str) -> None:
    """Golden vectors: the toolbox's torque is the holding torque, with our sign."""
    q, expected = GOLDEN[pose]
    for kernel in (puma, ReferenceKernel(puma.tree)):
        toolbox(kernel.gravity(q), expected, "gravity", pose)
    toolbox(puma.gravity_regressor(q) @ puma.gravity_parameters, expected, "gravity by regressor", pose)
    toolbox(puma.gravity_from_first_moments(q, puma.first_moments), expected, "gravity by first moments", pose)


def test_gravity_at_all_reference_poses(puma: cp.Robot, shared: Shared) -> None:
    """Four named and twenty random poses, as one batch and one by one."""
    reference: dict[str, Any] = json.loads(shared("facts/puma560_rtb_reference.json").read_text())
    samples = [reference[name] for name in GOLDEN] + reference["random"]
    assert len(samples) == 24
    poses = np.array([sample["q"] for sample in samples])
    expected = np.array([sample["gravload"] for sample in samples])
    toolbox(puma.gravity(poses), expected, "gravity")
    for q, torques in zip(poses, expected, strict=True):
        toolbox(puma.gravity(q), torques, "gravity", q)


def test_inverse_dynamics_with_rotors_and_friction(puma: cp.Robot, shared: Shared) -> None:
    """The toolbox's rne is ours plus G² Jm q̈ plus friction: all three agree, so each does."""
    reference: dict[str, Any] = json.loads(shared("facts/puma560_rtb_reference.json").read_text())
    sample = reference["rne"]
    q, dq, ddq = (np.array(sample[key]) for key in ("q", "qd", "qdd"))
    torques = puma.inverse_dynamics(q, dq, ddq) + puma.rotor_inertia * ddq + friction(dq)
    toolbox(torques, sample["tau"], "inverse dynamics, rotors and friction")
    np.testing.assert_allclose(puma.rotor_inertia, GEAR**2 * ROTOR, rtol=1e-12)
    # Neither part may be missed in the sum: each is far larger than the tolerance.
    assert np.all(np.abs(puma.rotor_inertia * ddq) > 1e-3)
    assert np.abs(puma.inverse_dynamics(q, dq, ddq) - puma.gravity(q)).min() > 1e-6


def test_friction_as_the_toolbox_counts_it(shared: Shared) -> None:
    """Its friction() is what friction does to the joint: the negative of what overcomes it."""
    reference: dict[str, Any] = json.loads(shared("facts/puma560_rtb_reference.json").read_text())
    for speed in (0.1, -0.1):
        toolbox(-friction(np.full(6, speed)), reference[f"friction_qd_{speed:+}"], "friction")


def test_tool_pose(puma: cp.Robot, shared: Shared) -> None:
    """At the nominal pose; the toolbox stands on a pedestal of 0.67183 m."""
    reference: dict[str, Any] = json.loads(shared("facts/puma560_rtb_reference.json").read_text())
    expected = np.array(reference["fkine_qn"])
    expected[2, 3] -= 0.67183
    toolbox(puma.forward_kinematics(reference["qn"]["q"], at="link6"), expected, "tool pose")


def test_gravity_of_the_explicit_model(shared: Shared) -> None:
    """Armstrong, Khatib and Burdick's parameters in modified DH, sample by sample."""
    reference: dict[str, Any] = json.loads(shared("facts/puma560_akb_gravity_reference.json").read_text())
    arm = cp.load("puma560_akb")
    assert len(reference["samples"]) >= 5
    for sample in reference["samples"]:
        agree(arm.gravity(sample["q"]), np.array(sample["g"]), "gravity", oracle="AKB 1986", where=sample["q"])


@pytest.mark.parametrize("tail", [(0.0, 0.0, 0.0), (0.3, 0.0, -1.0)])
def test_gravity_constants_of_the_explicit_model(tail: tuple[float, float, float]) -> None:
    """With the wrist straight τ₂ = g₁ c₂ + (g₂ + g₅) s₂₃ + g₃ s₂ + g₄ c₂₃ and τ₃ the part with 23 ([AKB1986]).

    The constants follow from masses and lengths of the paper, e.g. g₁ = −9.81 (m₂ x₂ + (m₃ + … + m₆) a₂).
    """
    g1, g2, g3, g4, g5 = -37.2347379, -8.45420895, 1.024164, 0.24892875, -0.0282528
    arm = cp.load("puma560_akb")
    for q2, q3 in np.random.default_rng(0).uniform(-PI, PI, (10, 2)):
        outer = (g2 + g5) * np.sin(q2 + q3) + g4 * np.cos(q2 + q3)
        expected = [g1 * np.cos(q2) + g3 * np.sin(q2) + outer, outer]
        q = [0.7, q2, q3, *tail]
        agree(arm.gravity(q)[1:3], np.array(expected), "gravity constants", oracle="AKB 1986", where=(q2, q3))
        agree(arm.gravity(q)[[0, 3, 5]], np.zeros(3), "gravity constants", oracle="AKB 1986", where=(q2, q3))
