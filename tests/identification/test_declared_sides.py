"""Tables of poses whose mapping declares from which side each was reached, and which are pairs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.errors import InputError
from counterpoise.identification.pose_design import design_poses
from counterpoise.identification.still_poses import poses_from_rows
from library.calibration_data import other_masses

ARM = cp.load("planar3")
TRUTH = other_masses(ARM)
FRICTION = np.array([2.0, 1.0, 0.5])


def table(path: Path, *, both: bool = True, columns: tuple[str, ...] = ()) -> tuple[Path, np.ndarray, np.ndarray]:
    """Write poses reached upwards, then downwards, one a row; return the file, positions and sides."""
    random = np.random.default_rng(0)
    poses = design_poses(ARM, 10)
    ways = (1.0, -1.0) if both else (1.0,)
    q = np.repeat(poses, len(ways), axis=0) + 1e-3 * random.normal(size=(len(ways) * len(poses), ARM.n))
    side = np.tile(ways, len(poses))
    tau = TRUTH.gravity(q) + side[:, None] * FRICTION + 0.01 * random.normal(size=q.shape)
    given = {"came_from": side, "number": np.repeat(np.arange(len(poses)), len(ways))}
    names = [f"{part}.{joint}" for part in ("position", "effort") for joint in ARM.joint_names]
    rows = np.column_stack([q, tau, *(given[name] for name in columns)])
    lines = [",".join([*names, *columns]), *(",".join(map(repr, row)) for row in rows.tolist())]
    path.write_text("\n".join(lines) + "\n")
    return path, q, side


def test_one_column_for_all_joints_and_one_of_pairs(tmp_path: Path) -> None:
    """Means of the two sides are free of friction: the weights come out as if there were none."""
    path, q, side = table(tmp_path / "poses.csv", columns=("came_from", "number"))
    mapping = {"poses": {"side": "came_from", "pair": "number"}}
    log = cp.read_log(path, ARM, mapping)
    assert log.side is not None and log.pair is not None
    assert np.array_equal(log.side, np.repeat(side[:, None], 3, axis=1))
    assert np.array_equal(log.pair, np.repeat(np.arange(10), 2))
    fit = cp.calibrate(ARM, log, findings=())
    np.testing.assert_allclose(fit.robot.gravity(q), TRUTH.gravity(q), atol=0.05)
    np.testing.assert_allclose(fit.friction_band, FRICTION, rtol=0.05)
    blind = cp.calibrate(ARM, cp.read_log(path, ARM), use="rows", findings=())
    assert np.isnan(blind.friction_band).all()


def test_sides_alone_make_the_pairs(tmp_path: Path) -> None:
    path, _, _ = table(tmp_path / "poses.csv", columns=("came_from",))
    poses, notes = poses_from_rows(ARM, cp.read_log(path, ARM, {"poses": {"side": "came_from"}}))
    assert notes == []
    assert sorted(np.unique(poses.pair, return_counts=True)[1].tolist()) == [2] * 10


def test_constants_and_single_joints(tmp_path: Path) -> None:
    """All rows from one side; one joint has its own, another none; a turned sign turns the side over."""
    path, _, _ = table(tmp_path / "poses.csv", both=False)
    mapping = {"poses": {"side": 1}, "joints": {ARM.joint_names[1]: {"side": -1, "position_sign": -1.0}}}
    log = cp.read_log(path, ARM, mapping)
    assert log.side is not None and np.array_equal(log.side, np.ones((10, 3)))
    assert log.pair is None
    own = cp.read_log(path, ARM, {"joints": {ARM.joint_names[2]: {"side": -1}}})
    assert own.side is not None and np.array_equal(own.side, np.tile([0.0, 0.0, -1.0], (10, 1)))


@pytest.mark.parametrize("ending", [".npz", ".csv"])
def test_a_log_of_ours_keeps_them(tmp_path: Path, ending: str) -> None:
    path, _, _ = table(tmp_path / "poses.csv", columns=("came_from", "number"))
    log = cp.read_log(path, ARM, {"poses": {"side": "came_from", "pair": "number"}})
    cp.write_log(log, tmp_path / f"again{ending}")
    again = cp.read_log(tmp_path / f"again{ending}", ARM)
    assert again.side is not None and again.pair is not None
    assert np.array_equal(again.side, log.side) and np.array_equal(again.pair, log.pair)
    part = again[4:8]
    assert part.side is not None and np.array_equal(part.side, log.side[4:8])
    assert again.resampled(50.0).side is None


def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    path, _, _ = table(tmp_path / "poses.csv", columns=("came_from", "number"))
    for mapping, words in (
        ({"poses": {"side": 2}}, "expected 1, -1 or the name of a column"),
        ({"joints": {ARM.joint_names[0]: {"side": 0}}}, "expected 1, -1"),
        ({"poses": {"side": "number"}}, "side has other numbers"),
        ({"poses": {"pair": f"position.{ARM.joint_names[0]}"}}, "not whole"),
        ({"poses": {"pair": "nowhere"}}, "nowhere"),
    ):
        with pytest.raises(InputError, match=words):
            cp.read_log(path, ARM, mapping)
    mixed = cp.read_log(path, ARM, {"poses": {"pair": "came_from"}})
    with pytest.raises(InputError, match="expected one pose"):
        poses_from_rows(ARM, mixed)
