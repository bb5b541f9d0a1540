"""Rotations in all their spellings: each turns back into the others, half and tiny turns included."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from counterpoise.foundation import (
    cross,
    inverse_transform,
    rotation_from_rpy,
    rotation_from_vector,
    rotation_from_wxyz,
    rotation_vector,
    rotation_with_z_along,
    skew,
    transform,
    wrench_transform,
    wxyz_from_rotation,
)

VECTORS = st.lists(st.floats(-4.0, 4.0), min_size=3, max_size=3)
HALF_TURN_AXES = np.vstack([np.eye(3), -np.eye(3), [[0.6, 0.0, -0.8]], [[-0.6, 0.0, 0.8]]])


@settings(max_examples=200)
@given(VECTORS)
def test_every_spelling_is_scipys(vector: list[float]) -> None:
    """Vector and quaternion give SciPy's matrix, and the matrix gives them back; a vector is at most π long."""
    rotation = Rotation.from_rotvec(vector).as_matrix()
    np.testing.assert_allclose(rotation_from_vector(vector), rotation, atol=1e-12)
    np.testing.assert_allclose(rotation_from_wxyz(wxyz_from_rotation(rotation)), rotation, atol=1e-12)
    found = rotation_vector(rotation)
    assert np.linalg.norm(found) <= np.pi + 1e-9
    np.testing.assert_allclose(rotation_from_vector(found), rotation, atol=1e-9)
    np.testing.assert_allclose(rotation_from_rpy(vector), Rotation.from_euler("xyz", vector).as_matrix(), atol=1e-12)


@pytest.mark.parametrize("axis", HALF_TURN_AXES)
def test_half_turns_have_one_answer(axis: np.ndarray) -> None:
    """At a half turn the vector is π long and does not depend on which of the two axes was meant."""
    rotation = 2.0 * np.outer(axis, axis) - np.eye(3)
    found = rotation_vector(rotation)
    assert np.linalg.norm(found) == pytest.approx(np.pi)
    assert found[np.flatnonzero(np.abs(found) > 1e-9)[0]] > 0.0
    np.testing.assert_allclose(rotation_from_wxyz(wxyz_from_rotation(rotation)), rotation, atol=1e-12)


def test_small_turns_keep_their_digits() -> None:
    """A nanoradian is a nanoradian, both ways; no turn is exactly none."""
    vector = np.array([1e-9, -2e-9, 3e-9])
    np.testing.assert_allclose(rotation_vector(rotation_from_vector(vector)), vector, rtol=1e-6)
    assert np.array_equal(rotation_from_vector(np.zeros(3)), np.eye(3))
    assert np.array_equal(rotation_vector(np.eye(3)), np.zeros(3))


def test_skew_is_the_cross_product() -> None:
    """[v]× u = v × u, for one vector and for stacks of them."""
    v, u = np.random.default_rng(0).normal(size=(2, 4, 5, 3))
    np.testing.assert_allclose((skew(v) @ u[..., None])[..., 0], np.cross(v, u), atol=1e-14)
    assert np.array_equal(skew(v[1, 2]), skew(v)[1, 2])


def test_a_wrench_keeps_its_power_in_another_frame() -> None:
    """wᵀ t is the same in both frames, with t_a the velocity of a body seen in a, of which b is a part."""
    random = np.random.default_rng(1)
    T_a_b = transform(rotation_from_vector(random.normal(size=3)), random.normal(size=3))
    wrench_b, twist_a = random.normal(size=(2, 6))
    R_b_a, origin = T_a_b[:3, :3].T, T_a_b[:3, 3]
    twist_b = np.concatenate([R_b_a @ (twist_a[:3] + np.cross(twist_a[3:], origin)), R_b_a @ twist_a[3:]])
    assert (wrench_transform(T_a_b) @ wrench_b) @ twist_a == pytest.approx(wrench_b @ twist_b)
    np.testing.assert_allclose(T_a_b @ inverse_transform(T_a_b), np.eye(4), atol=1e-15)


@pytest.mark.parametrize("axis", [*HALF_TURN_AXES, np.array([1e-200, 0.0, -1.0]), np.array([0.3, -0.4, -2.0])])
def test_z_goes_along_the_axis(axis: np.ndarray) -> None:
    """A right-handed rotation whose z is the axis, also beside −z."""
    rotation = rotation_with_z_along(axis)
    np.testing.assert_allclose(rotation[:, 2], axis / np.linalg.norm(axis), atol=1e-15)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=1e-14)
    assert np.linalg.det(rotation) == pytest.approx(1.0)


def test_cross_is_that_of_numpy() -> None:
    """Also where one vector meets many."""
    random = np.random.default_rng(0)
    for first, second in (((3,), (3,)), ((4, 5, 3), (4, 5, 3)), ((4, 5, 3), (3,)), ((3,), (2, 3))):
        u, v = random.normal(size=first), random.normal(size=second)
        np.testing.assert_allclose(cross(u, v), np.cross(u, v), rtol=1e-15, atol=1e-15)
