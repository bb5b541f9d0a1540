"""A payload handed to a controller: no bump, within bounds, gone when it is gone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.sensing.payload_estimate import LIMIT_FRACTION, RATE_SHARE, PayloadBlend, no_payload

WAM = cp.load("wam7")
Q = np.array([0.3, -0.8, 0.2, 1.5, 0.1, 0.4, 0.0])


def carrying(mass: float):
    loaded = WAM.with_payload(mass, com=(0.0, 0.0, 0.1), link="toolplate")
    parameters = loaded.gravity_parameters - WAM.gravity_parameters
    return replace(no_payload(WAM, 0), detected=True, mass=mass, parameters=parameters), loaded


def test_torque_grows_at_the_rate_and_ends_at_the_loads_gravity() -> None:
    """Each tick changes by no more than the rate; in the end the torque is exactly the load's share of g(q)."""
    payload, loaded = carrying(2.0)
    blend = PayloadBlend(WAM, 1e-3)
    before = np.zeros(7)
    for _ in range(3000):
        torque = blend.torque(Q, payload)
        assert np.all(np.abs(torque - before) <= RATE_SHARE * WAM.effort_limit * 1e-3 + 1e-12)
        before = torque
    np.testing.assert_allclose(before, loaded.gravity(Q) - WAM.gravity(Q), atol=1e-9)
    other = Q + 0.4
    np.testing.assert_allclose(blend.torque(other, payload), loaded.gravity(other) - WAM.gravity(other), atol=1e-9)
    for _ in range(3000):
        torque = blend.torque(Q, None)
    np.testing.assert_allclose(torque, 0.0, atol=1e-9)


def test_torque_is_bounded_whatever_is_estimated() -> None:
    """A wildly wrong estimate never asks for more than the bound."""
    payload, _ = carrying(400.0)
    blend = PayloadBlend(WAM, 1e-3, rate=np.full(7, 1e6))
    assert np.all(np.abs(blend.torque(Q, payload)) <= LIMIT_FRACTION * WAM.effort_limit)


def test_refused_settings() -> None:
    """Rates and bounds must be positive, one per joint."""
    with pytest.raises(cp.InputError, match="rate"):
        PayloadBlend(WAM, 1e-3, rate=np.zeros(7))
    with pytest.raises(cp.InputError, match="dt"):
        PayloadBlend(WAM, 0.0)
