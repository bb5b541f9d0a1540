"""Links as capsules: distances, self-collision, table."""

from __future__ import annotations

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.identification.workspace import Clearance, clear_of_itself, clear_of_table, segment_distance


def test_segment_distance_is_the_smallest_over_both_segments() -> None:
    """Compared with a fine grid over both segments, degenerate and parallel ones among them."""
    random = np.random.default_rng(0)
    a, b, c, d = random.uniform(-1.0, 1.0, (4, 60, 3))
    b[:5] = a[:5]  # points
    d[5:10] = c[5:10] + 0.7 * (b[5:10] - a[5:10])  # parallel
    shares = np.linspace(0.0, 1.0, 201)
    first = a[:, None] + shares[None, :, None] * (b - a)[:, None]
    second = c[:, None] + shares[None, :, None] * (d - c)[:, None]
    grid = np.array([np.linalg.norm(p[:, None] - q[None], axis=2).min() for p, q in zip(first, second, strict=True)])
    found = segment_distance(a, b, c, d)
    assert np.all(found <= grid + 1e-12)
    np.testing.assert_allclose(found, grid, atol=0.012)


def test_a_folded_arm_is_not_clear() -> None:
    """A planar arm folded back onto itself touches itself, stretched it does not; neighbours do not count."""
    arm = cp.load("planar3")
    poses = np.array([[0.0, 0.0, 0.0], [0.0, np.pi - 0.05, np.pi - 0.05], [0.3, 1.0, -1.0]])
    assert clear_of_itself(arm, poses, Clearance(0.03)).tolist() == [True, False, True]


def test_the_table_is_where_gravity_points() -> None:
    """An arm hanging below the table's height is refused; turning the mount turns the table."""
    arm = cp.load("planar3")
    up = -arm.gravity_base / np.linalg.norm(arm.gravity_base)
    spread = np.random.default_rng(1).uniform(-3.0, 3.0, (200, 3))
    clear = clear_of_table(arm, spread, Clearance(0.02, table=0.0))
    heights = np.array([arm.forward_kinematics(q, at=arm.link_names[-1])[:3, 3] @ up for q in spread])
    assert not clear[heights < 0.0].any()
    assert clear.any()
    assert clear_of_table(arm, spread, Clearance(0.02)).all()
    turned = arm.mounted(rotation=np.diag([-1.0, -1.0, 1.0]) if abs(up[2]) < 0.5 else np.diag([1.0, -1.0, -1.0]))
    assert not np.array_equal(clear_of_table(turned, spread, Clearance(0.02, table=0.0)), clear)


@pytest.mark.parametrize("bad", [{"radius": 0.0}, {"radius": -1.0}, {"radius": float("nan")}, {"table": float("inf")}])
def test_sizes_without_a_meaning_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(cp.InputError):
        Clearance(**bad)
