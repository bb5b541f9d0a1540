"""The static laws: value, sign, symmetry, shapes and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from counterpoise import InputError
from counterpoise.dynamics.friction import Asymmetric, CoulombViscous, FrictionLaw, Stribeck
from counterpoise.dynamics.lugre import LuGre

LAWS = {
    "coulomb-viscous": CoulombViscous([1.0, 2.0], [0.5, 0.1]),
    "stribeck": Stribeck([1.0, 2.0], [1.5, 2.0], 0.05, viscous=0.3),
    "asymmetric": Asymmetric(CoulombViscous([1.0, 2.0]), CoulombViscous([1.2, 2.5])),
    "lugre": LuGre([1.0, 2.0], [1.5, 2.0], stiffness=1e4, viscous=0.2),
}


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_friction_opposes_motion(law: FrictionLaw) -> None:
    """Every law has the sign of the velocity, is 0 at rest, and treats rows of a batch alike."""
    assert isinstance(law, FrictionLaw)
    dq = np.array([[0.3, -0.2], [0.0, 0.0], [-1e-9, 4.0]])
    torque = law.torque(dq)
    assert torque.shape == (3, 2)
    assert (np.sign(torque) == np.sign(dq)).all()
    assert np.array_equal(torque[2], law.torque(dq[2]))


def test_coulomb_and_viscous_add() -> None:
    """F_c sgn(q̇) + F_v q̇."""
    assert CoulombViscous([1.0, 2.0], 0.5).torque([0.4, -2.0]) == pytest.approx([1.2, -3.0])


def test_stribeck_runs_from_static_to_coulomb() -> None:
    """At v → 0 the static level, at v_s the exponential's 1/e, far above it the sliding one."""
    law = Stribeck(1.0, 3.0, 0.1, exponent=1.0)
    assert law.torque([1e-12, 0.1, 100.0]) == pytest.approx([3.0, 1.0 + 2.0 / np.e, 1.0])
    assert law.level(0.0) == pytest.approx(3.0)


def test_asymmetric_takes_the_side_of_the_motion() -> None:
    """Each direction has its own law."""
    assert LAWS["asymmetric"].torque([0.1, 0.1]) == pytest.approx([1.0, 2.0])
    assert LAWS["asymmetric"].torque([-0.1, -0.1]) == pytest.approx([-1.2, -2.5])


def test_lugre_without_bristles_is_stribeck() -> None:
    """The steady-state curve of LuGre is the Stribeck law of the same numbers."""
    dq = np.linspace(-0.4, 0.4, 41)[:, None]
    same = Stribeck([1.0, 2.0], [1.5, 2.0], 0.05, viscous=0.2)
    assert LAWS["lugre"].torque(dq * [1.0, 1.0]) == pytest.approx(same.torque(dq * [1.0, 1.0]))


def test_wrong_arguments_are_refused() -> None:
    """Levels that cannot be, laws that are none, velocities of other joints."""
    with pytest.raises(InputError, match=r"static.0. is 0.5, below coulomb.0. = 1.0"):
        Stribeck(1.0, 0.5, 0.1)
    with pytest.raises(InputError, match=r"coulomb is -1.0"):
        CoulombViscous(-1.0)
    with pytest.raises(InputError, match="negative must be a friction law"):
        Asymmetric(CoulombViscous(1.0), 3.0)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"dq has shape \(3,\); expected \(2,\)"):
        LAWS["stribeck"].torque([0.1, 0.2, 0.3])
    with pytest.raises(InputError, match="dq must be velocities"):
        LAWS["stribeck"].torque(["fast", "slow"])
