"""Poses for a static calibration: chosen so that their torques tell the most, before the robot moves.

Holding torques are linear in the base gravity parameters and in an offset per joint (workspace.py). Of a seeded set
of candidate poses, inside the limits with a margin, those are taken whose information matrix Σ Aᵀ A has the largest
determinant: the volume of the parameters' confidence region is then the smallest (D-optimal, [Fedorov1972]). They are
picked one after the other and then exchanged as long as that helps. The poses are visited in an order with short moves.

The noise of a holding torque is friction that the mean of both sides leaves behind, and it grows with the size of the
drive. So each joint's rows are divided by its effort limit, or by the size of its gravity torque where no limit is
known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..dynamics import Robot
from ..errors import InputError
from ..fitting import Identifiability, JointRegression, base_language, identify, solve, workspace_yardstick
from ..foundation import Array, PublishedData, frozen
from .pose_plan import PosePlan
from .workspace import (
    Clearance,
    clear_of_itself,
    clear_of_table,
    joint_ranges,
    relative_noise,
    separable_offsets,
    static_columns,
    static_rows,
    workspace_poses,
)

IntArray = npt.NDArray[np.int64]
MAX_ROUNDS = 50
"""Most rounds of improvement; a round without gain ends them."""


def move_times(poses: Array, speed: Array) -> Array:
    """Return the time of each move between two poses when all joints start and stop together, shape (k, k) [s].

    Args:
        poses: Poses [rad or m], shape (k, n).
        speed: Travel speeds [rad/s or m/s], shape (n,).
    """
    times: Array = np.max(np.abs(poses[:, None] - poses[None]) / speed, axis=2)
    return times


def short_tour(poses: Array, speed: Array, start: Array) -> IntArray:
    """Return an order of the poses with short moves, beginning near ``start``, shape (k,).

    The nearest pose not yet visited, then stretches of the tour are turned around as long as that shortens it (2-opt).
    Optimal it is not; within some percent of it for a few dozen poses.

    Args:
        poses: Poses [rad or m], shape (k, n).
        speed: Travel speeds [rad/s or m/s], shape (n,).
        start: Where the arm begins, and ends [rad or m], shape (n,).
    """
    cost = move_times(np.vstack([start, poses]), speed)
    tour = [0]
    left = set(range(1, len(cost)))
    while left:
        here = tour[-1]
        tour.append(min(left, key=lambda pose: (cost[here, pose], pose)))
        left.remove(tour[-1])
    order = np.array([*tour, 0])
    for _ in range(MAX_ROUNDS):
        shorter = False
        for first in range(1, len(order) - 2):
            for last in range(first + 1, len(order) - 1):
                a, b, c, d = order[first - 1], order[first], order[last], order[last + 1]
                if cost[a, c] + cost[b, d] < cost[a, b] + cost[c, d] - 1e-12:
                    order[first : last + 1] = order[first : last + 1][::-1]
                    shorter = True
        if not shorter:
            break
    return np.asarray(order[1:-1] - 1, dtype=np.int64)


CANDIDATES = 800
"""Poses to choose from."""
MOST_EFFORT = 0.8
"""Largest share of an effort limit that holding a pose may take."""
EXCHANGES = 3
"""Most rounds in which every chosen pose may be exchanged."""
GAIN = 1e-6
"""Smallest gain of the logarithm of the determinant that an exchange is made for."""
START = 1e-6
"""Information before the first pose, as a share of the candidates' mean: makes every determinant positive."""
WORKSPACE = 400
"""Poses that stand for the whole workspace."""
BETWEEN = 8
"""Poses looked at along each move, where clearance is asked for."""


@dataclass(frozen=True, slots=True, eq=False)
class PoseDesign(PublishedData):
    """Poses and what they will tell.

    Attributes:
        robot: The robot they are for.
        poses: Joint positions in the order of the tour [rad or m], shape (k, n).
        identifiable: What these poses determine and what not, values those of the description, errors for a noise of
            1 N m (or N) on every joint.
        condition: Of the model's columns at these poses, scaled to unit length; infinite where something stays open.
        torque_std: Expected error of a predicted holding torque, offset included, for 1 N m (or N) of noise on every
            joint, root mean square over the workspace [N m per N m], shape (n,); infinite where something stays open.
        travel_time: Of the whole tour at the plan's travel speeds, without approaches and dwells [s].
        checked: What was checked, one sentence each.
        not_checked: What was not, one sentence each.
    """

    robot: Robot
    poses: Array
    identifiable: Identifiability
    condition: float
    torque_std: Array
    travel_time: float
    checked: tuple[str, ...]
    not_checked: tuple[str, ...]

    def plan(self) -> PosePlan:
        """Return the plan that visits every pose from both sides, for ``counterpoise record``."""
        return PosePlan.of(self.robot, self.poses)


def design_poses(
    robot: Robot,
    count: int = 12,
    seed: int = 0,
    *,
    margin: float | None = None,
    clearance: Clearance | None = None,
) -> Array:
    """Return well-conditioned poses for a static calibration [rad or m], shape (count, n); see :func:`design`.

    Args:
        robot: The robot as it is mounted.
        count: Number of poses.
        seed: Of the candidates; the same seed gives the same poses.
        margin: Distance from the joint limits [rad or m]; None for 0.1 rad and 3 cm.
        clearance: Keep links (as capsules) clear of each other and of a table; None checks nothing of the kind.
    """
    return design(robot, count, seed, margin=margin, clearance=clearance).poses


def design(
    robot: Robot,
    count: int = 12,
    seed: int = 0,
    *,
    margin: float | None = None,
    clearance: Clearance | None = None,
) -> PoseDesign:
    """Choose poses for a static calibration and say what they can tell.

    Args:
        robot: The robot as it is mounted; its masses only serve to leave out poses that it cannot hold.
        count: Number of poses.
        seed: Of the candidates; the same seed gives the same poses.
        margin: Distance from the joint limits [rad or m]; None for 0.1 rad and 3 cm.
        clearance: Keep links (as capsules) clear of each other and of a table; None checks nothing of the kind.

    Raises:
        InputError: Gravity acts on no joint, a bad count, or hardly a candidate is inside the limits, light enough and
            clear.
    """
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or not 2 <= count <= 1000:
        raise InputError(f"count is {count!r}; expected a number of poses from 2 to 1000")
    if not robot.base_parameters.names:
        raise InputError(
            f"gravity acts on no joint of robot '{robot.name}' as it is mounted; holding torques say nothing about "
            "it. Mount it otherwise, or calibrate from motion"
        )
    candidates, counts = _candidates(robot, seed, margin, clearance)
    if len(candidates) < 2 * count:
        raise InputError(
            f"of {CANDIDATES} candidate poses {counts['light']} can be held within {MOST_EFFORT:.0%} of the effort "
            f"limits and {len(candidates)} of these are clear; expected at least {2 * count} for {count} poses. Use a "
            "smaller margin or radius, or fewer poses"
        )
    rows = static_rows(robot, candidates, offset=True)
    chosen = _most_telling(rows / _noise(robot, candidates)[:, None], int(count))
    speed = PosePlan.of(robot, candidates[:1]).travel_speed
    lower, upper = joint_ranges(robot)
    home = np.clip(np.zeros(robot.n), lower, upper)
    poses = candidates[chosen]
    poses = poses[short_tour(poses, speed, home)]
    whole = move_times(np.vstack([home, poses, home]), speed)
    done, undone = _statements(robot, poses, home, margin, clearance)
    condition, torque_std, identifiable = expected_knowledge(robot, poses)
    return PoseDesign(
        robot=robot,
        poses=frozen(poses),
        identifiable=identifiable,
        condition=condition,
        torque_std=torque_std,
        travel_time=float(np.diagonal(whole, 1).sum()),
        checked=done,
        not_checked=undone,
    )


def expected_knowledge(robot: Robot, poses: Array) -> tuple[float, Array, Identifiability]:
    """Return what holding torques at given poses would tell, for a noise of 1 N m (or N) on every joint.

    Args:
        robot: The robot as it is mounted.
        poses: Poses [rad or m], shape (k, n).

    Returns:
        Condition of the columns; expected error of predicted holding torques over the workspace, shape (n,); and which
        combinations are determined.
    """
    used = np.concatenate([np.ones(len(robot.base_parameters.names), dtype=bool), separable_offsets(robot)])
    columns = [name for name, kept in zip(static_columns(robot, offset=True), used, strict=True) if kept]
    regression = JointRegression(robot.joint_names, columns)
    regression.add(static_rows(robot, poses, offset=True)[:, :, used], robot.gravity(poses))
    solution = solve(regression, sigma=np.ones(robot.n))
    spread = static_rows(robot, workspace_poses(robot, WORKSPACE), offset=True)[:, :, used]
    identified = identify(base_language(robot, solution), workspace_yardstick(spread, np.ones(robot.n)))
    errors = solution.predicted_std(spread)
    return solution.condition, frozen(np.sqrt(np.mean(errors**2, axis=0))), identified


def _candidates(
    robot: Robot, seed: int, margin: float | None, clearance: Clearance | None
) -> tuple[Array, dict[str, int]]:
    poses = workspace_poses(robot, CANDIDATES, seed=seed, margin=margin)
    light = np.all(np.abs(robot.gravity(poses)) <= MOST_EFFORT * robot.effort_limit, axis=1)
    poses = poses[light]
    if clearance is not None:
        poses = poses[clear_of_itself(robot, poses, clearance) & clear_of_table(robot, poses, clearance)]
    return poses, {"light": int(light.sum())}


def _noise(robot: Robot, poses: Array) -> Array:
    """Return the expected ratios of the joints' noise, shape (n,)."""
    limits = relative_noise(robot)
    if limits is not None:
        return limits
    size = np.sqrt(np.mean(robot.gravity(poses) ** 2, axis=0))
    return np.asarray(np.maximum(size / max(float(size.max()), 1e-12), 0.05))


def _most_telling(rows: Array, count: int) -> npt.NDArray[np.int64]:
    """Choose poses with the largest determinant of Σ Aᵀ A, by picking and exchanging, shape (count,).

    With M the information of all others, a pose with rows A multiplies the determinant by det(1 + A M⁻¹ Aᵀ).

    Args:
        rows: A of every candidate, weighted, shape (k, n, p).
        count: How many to choose.
    """
    scale = np.sqrt(np.mean(np.sum(rows**2, axis=1), axis=0))
    rows = rows / np.where(scale > 0.0, scale, 1.0)
    information = START * np.eye(rows.shape[2])
    chosen: list[int] = []
    for _ in range(count):
        gains = _gains(rows, information)
        gains[chosen] = -np.inf
        chosen.append(int(np.argmax(gains)))
        information = information + rows[chosen[-1]].T @ rows[chosen[-1]]
    for _ in range(EXCHANGES):
        exchanged = False
        for place in range(count):
            own = rows[chosen[place]]
            others = information - own.T @ own
            gains = _gains(rows, others)
            gains[[other for at, other in enumerate(chosen) if at != place]] = -np.inf
            best = int(np.argmax(gains))
            if gains[best] > gains[chosen[place]] + GAIN:
                chosen[place] = best
                information = others + rows[best].T @ rows[best]
                exchanged = True
        if not exchanged:
            break
    return np.array(chosen, dtype=np.int64)


def _gains(rows: Array, information: Array) -> Array:
    """Return by how much each pose would raise the logarithm of the determinant, shape (k,)."""
    lower = np.linalg.cholesky(information + 1e-12 * np.trace(information) * np.eye(len(information)))
    k, n, p = rows.shape
    half = np.linalg.solve(lower, rows.reshape(k * n, p).T).T.reshape(k, n, p)
    return np.asarray(np.linalg.slogdet(np.eye(n) + half @ np.swapaxes(half, 1, 2))[1])


def _statements(
    robot: Robot, poses: Array, home: Array, margin: float | None, clearance: Clearance | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    distance = "0.1 rad (3 cm on linear joints)" if margin is None else f"{margin:g} rad or m"
    done = [f"every pose keeps {distance} from the joint limits, less where a joint's range is small"]
    undone = []
    if np.isfinite(robot.effort_limit).any():
        done.append(f"holding a pose takes at most {MOST_EFFORT:.0%} of the effort limits, by the description's masses")
    else:
        undone.append("whether the drives can hold the poses: the description has no effort limits")
    if clearance is None:
        undone.append("collisions of the arm with itself, a table or anything else: descriptions carry no shapes")
        return tuple(done), tuple(undone)
    done.append(
        f"in every pose the links, taken as round bars of {clearance.radius:g} m radius, keep clear of each other"
    )
    if clearance.table is not None:
        done.append(f"... and of a table {clearance.table:g} m above the base origin")
    moves = np.vstack([home, poses, home])
    share = np.linspace(0.0, 1.0, BETWEEN + 1)[1:-1, None]
    touching = []
    for move in range(len(moves) - 1):
        way = moves[move] + share * (moves[move + 1] - moves[move])
        if not (clear_of_itself(robot, way, clearance) & clear_of_table(robot, way, clearance)).all():
            touching.append(str(move + 1))
    if touching:
        undone.append(
            f"a free way: on the straight moves to pose {', '.join(touching)} (the last one leads home) links come "
            "nearer than that"
        )
    else:
        done.append("... nor on the straight moves between them, from the zero pose and back to it")
    undone.append("shapes that stick out of the bars, cables, fixtures and other machines")
    return tuple(done), tuple(undone)
