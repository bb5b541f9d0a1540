"""The public interface: what it takes, what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

import counterpoise as cp

ROBOT = cp.load("planar3")
Q = [0.3, -0.2, 0.5]
GAINS = {"q_gain": 1.0, "kp": 500.0, "kd": 100.0}


def test_lists_and_other_numbers_are_taken() -> None:
    """Lists, float32 and strided arrays give what float64 arrays give."""
    plain, other = (cp.OnlineGravity(ROBOT, 0.01, prior="none") for _ in range(2))
    tau = ROBOT.gravity(Q)
    strided = np.repeat(tau, 2)[::2]
    for _ in range(100):
        plain.update(np.array(Q), np.zeros(3), tau)
        other.update(Q, np.zeros(3, dtype=np.float32), strided)
        np.testing.assert_array_equal(plain.gravity(Q), other.gravity(Q))
    np.testing.assert_allclose(plain.gravity(Q), tau, rtol=0.2)


@pytest.mark.parametrize("method", ["recursive", "inverse-regressor"])
def test_wrong_shapes_and_missing_rows_are_refused(method: str) -> None:
    est = cp.OnlineGravity(ROBOT, method=method, **(GAINS if method != "recursive" else {}))
    good = {"q": np.zeros(3), "dq": np.zeros(3), "tau": np.zeros(3), "q_desired": np.zeros(3)}
    needed = ("q", "dq", "tau") if method == "recursive" else ("q", "dq", "q_desired")
    for name in needed:
        with pytest.raises(cp.InputError, match=name):
            est.update(**(good | {name: np.zeros(4)}))
        with pytest.raises(cp.InputError, match=name):
            est.update(**(good | {name: "abc"}))
    for name in needed[1:]:
        with pytest.raises(cp.InputError, match=f"{name} is missing"):
            est.update(**(good | {name: None}))


def test_bad_settings_are_refused() -> None:
    with pytest.raises(cp.InputError, match="dt is 0"):
        cp.OnlineGravity(ROBOT, 0.0)
    with pytest.raises(cp.InputError, match="method is 'kalman'"):
        cp.OnlineGravity(ROBOT, method="kalman")  # type: ignore[arg-type]
    with pytest.raises(cp.InputError, match="needs q_gain"):
        cp.OnlineGravity(ROBOT, method="inverse-regressor", kp=1.0, kd=1.0)
    with pytest.raises(cp.InputError, match="takes no q_gain, kp"):
        cp.OnlineGravity(ROBOT, q_gain=1.0, kp=1.0)
    with pytest.raises(cp.InputError, match="kd has shape"):
        cp.OnlineGravity(ROBOT, method="inverse-regressor", q_gain=1.0, kp=1.0, kd=[1.0, -1.0, 1.0])


def test_no_centre_of_mass_from_a_law_that_learns_one_pose() -> None:
    with pytest.raises(cp.InputError, match="recursive"):
        cp.OnlineGravity(ROBOT, method="inverse-regressor", **GAINS).center_of_mass(Q)


def test_out_receives_the_result() -> None:
    """As for every per-pose call: exact shape, its own memory, and it is returned."""
    est = cp.OnlineGravity(ROBOT)
    q, out = np.array(Q), np.empty(3)
    assert est.gravity(q, out) is out
    np.testing.assert_array_equal(out, est.gravity(q))
    with pytest.raises(cp.InputError, match="out"):
        est.gravity(q, np.empty(4))
    with pytest.raises(cp.InputError, match="memory"):
        est.gravity(q, q)
