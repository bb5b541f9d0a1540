"""The workspace of an arm, and the static model over it: joint ranges, poses spread over them, clearance, regression.

**Static model.** Holding torque = base gravity regressor · base parameters + offset of the joint (``static_rows``,
``solve_static``). The nuisance torques of the WAM document (the two components of each link's torque that no actuator
measures) are eliminated exactly: projecting its eq. (14) on the joint axes, tip to base, leaves τ = Y(q) x with Y the
gravity regressor. What remains is one row per joint and pose, weighted by 1/σ_i²: the "way to weight the regression"
that the document's §4 looked for.

**Clearance.** Whether an arm comes too near to itself or to its table, with links as capsules between joint origins.
Descriptions carry no shapes, so this is a stand-in, asked for and stated: every link is a round bar of one radius along
the straight line from its joint to each joint (or end frame) that it carries. Two bars may not come nearer than twice
the radius, and no moving bar may come nearer to the table than one. Bars that are neighbours, or that the arm's build
keeps close in every pose, are not compared. A real arm has elbows and cables that stick out: choose the radius
generously, and look at the poses before the robot moves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..dynamics import BASE, Robot, body_poses, rotary
from ..errors import InputError
from ..fitting import Gaussian, JointRegression, Solution, StaticPoses, require_spread, solve, solve_robust
from ..foundation import Array

CHUNK = 512
"""Poses turned into rows at once: bounds the memory, and what a chunk needs stays in the processor's cache."""


def static_columns(robot: Robot, *, offset: bool) -> tuple[str, ...]:
    """Return the unknowns' names: the base gravity parameters, then "joint.offset" [N m or N] for every joint."""
    return robot.base_parameters.names + (tuple(f"{name}.offset" for name in robot.joint_names) if offset else ())


def static_rows(robot: Robot, q: Array, *, offset: bool) -> Array:
    """Return the rows A with τ = A x at rest, shape (k, n, p), for poses q of shape (k, n) [rad or m]."""
    Y = robot.base_gravity_regressor(q)
    if not offset:
        return Y
    A = np.zeros((len(q), robot.n, Y.shape[2] + robot.n))
    A[:, :, : Y.shape[2]] = Y
    A[:, np.arange(robot.n), Y.shape[2] + np.arange(robot.n)] = 1.0
    return A


def static_blocks(robot: Robot, poses: StaticPoses, *, offset: bool) -> Iterator[tuple[Array, Array, None]]:
    """Yield (A, τ, no weights) chunk by chunk, as JointRegression.add and ``robust`` take them."""
    for start in range(0, len(poses), CHUNK):
        chunk = slice(start, start + CHUNK)
        yield static_rows(robot, poses.q[chunk], offset=offset), poses.tau[chunk], None


def relative_noise(robot: Robot) -> Array | None:
    """Return the expected ratios of the joints' noise, shape (n,); None where the description does not tell.

    Friction, which is what disturbs a holding torque, grows with the size of the drive: the torque limits stand for it.
    """
    limits = robot.effort_limit
    return limits / limits.max() if np.all(np.isfinite(limits) & (limits > 0.0)) else None


def solve_static(
    robot: Robot,
    poses: StaticPoses,
    *,
    offset: bool = True,
    robust: bool = True,
    prior: Gaussian | None = None,
    sigma: npt.ArrayLike | None = None,
) -> Solution:
    """Fit base gravity parameters, and an offset per joint, to poses at rest by weighted least squares.

    Cost is linear and memory constant in the number of poses.

    Args:
        robot: Kinematics and mounting; its masses are not used.
        poses: Measured poses.
        offset: Fit a constant torque per joint as well: half of what a one-sided approach leaves of friction, a zero
            error of the torque measurement, a cable's pull.
        robust: Weigh outliers down; not done where ``sigma`` is given.
        prior: What is known of the unknowns (``static_columns``) beforehand.
        sigma: Noise of one measured torque per joint [N m or N], shape (n,); None to estimate it.

    Raises:
        InputError: The poses cannot calibrate this arm, or gravity acts on none of its joints.
    """
    if prior is None:
        require_spread(robot, poses)
    columns = static_columns(robot, offset=offset)
    if not robot.base_parameters.names:
        raise InputError(f"gravity acts on no joint of robot '{robot.name}' as it is mounted; there is nothing to fit")
    ratio = relative_noise(robot)
    if robust and sigma is None:
        return solve_robust(
            lambda: static_blocks(robot, poses, offset=offset),
            robot.joint_names,
            columns,
            prior=prior,
            relative_sigma=ratio,
        )
    regression = JointRegression(robot.joint_names, columns)
    for A, torques, _ in static_blocks(robot, poses, offset=offset):
        regression.add(A, torques)
    return solve(regression, prior=prior, sigma=sigma, relative_sigma=ratio)


BoolArray = npt.NDArray[np.bool_]
RADIUS = 0.06
"""Radius of a link where none is given [m]."""
SHORTEST = 1e-3
"""A bar shorter than this is a point that its neighbours already have [m]."""
STANDS = 1e-3
"""A point that moves by less than this over all poses belongs to the base [m]."""


@dataclass(frozen=True, slots=True)
class Clearance:
    """What to keep clear of.

    Attributes:
        radius: Radius of every link [m], > 0.
        table: Height of the table above the base origin, against gravity [m]; None for no table.
    """

    radius: float = RADIUS
    table: float | None = None

    def __post_init__(self) -> None:
        """Refuse sizes that mean nothing."""
        if not 0.0 < self.radius < 10.0:
            raise InputError(f"radius is {self.radius!r}; expected the radius of a link in m")
        if self.table is not None and not abs(self.table) < 100.0:
            raise InputError(f"table is {self.table!r}; expected its height above the base origin in m, or None")


@dataclass(frozen=True, slots=True, eq=False)
class _Bar:
    """A link's line: fixed to a body, from its joint's origin to a point in its frame, over which children hang."""

    body: int
    end: Array
    children: tuple[int, ...]


def clear_of_itself(robot: Robot, q: Array, clearance: Clearance) -> BoolArray:
    """Say of each pose whether all bars keep clear of each other, shape (k,).

    Args:
        robot: The arm.
        q: Poses [rad or m], shape (k, n).
        clearance: The radius.
    """
    bars = _bars(robot)
    begins, ends = _lines(robot, q, bars)
    clear = np.ones(len(q), dtype=bool)
    for first in range(len(bars)):
        for second in range(first + 1, len(bars)):
            if _always_close(robot, bars[first], bars[second], 2.0 * clearance.radius):
                continue
            away = segment_distance(begins[:, first], ends[:, first], begins[:, second], ends[:, second])
            clear &= away >= 2.0 * clearance.radius
    return clear


def clear_of_table(robot: Robot, q: Array, clearance: Clearance) -> BoolArray:
    """Say of each pose whether all moving bars stay above the table, shape (k,); true where there is none."""
    if clearance.table is None or len(q) == 0:
        return np.ones(len(q), dtype=bool)
    strength = float(np.linalg.norm(robot.gravity_base))
    if strength == 0.0:
        raise InputError("a table is asked for without gravity; the direction of up is unknown")
    up = -robot.gravity_base / strength
    begins, ends = _lines(robot, q, _bars(robot))
    # Judged over many poses, so that a single pose does not make its points look fixed.
    spread = np.random.default_rng(0).uniform(-np.pi, np.pi, (32, robot.n))
    moving = [np.ptp(points, axis=0).max(axis=-1) > STANDS for points in _lines(robot, spread, _bars(robot))]
    heights = [np.where(moves, points @ up, np.inf) for moves, points in zip(moving, (begins, ends), strict=True)]
    lowest = np.minimum(*(height.min(axis=1, initial=np.inf) for height in heights))
    return np.asarray(lowest >= clearance.table + clearance.radius)


def segment_distance(a: Array, b: Array, c: Array, d: Array) -> Array:
    """Return the distances between segments ab and cd [m], shape (k,), for end points of shape (k, 3).

    The two parameters minimise |a + s (b − a) − c − t (d − c)|² in the unit square: the inner minimum where it lies
    inside, else the best point of the four sides (the function is convex).
    """
    u, v, w = b - a, d - c, a - c
    uu, vv, uv = (np.einsum("ki,ki->k", x, y) for x, y in ((u, u), (v, v), (u, v)))
    uw, vw = np.einsum("ki,ki->k", u, w), np.einsum("ki,ki->k", v, w)
    area = uu * vv - uv * uv
    safe = np.where(area > 1e-12 * np.maximum(uu * vv, 1e-300), area, np.inf)
    s_inner = np.clip((uv * vw - vv * uw) / safe, 0.0, 1.0)

    def t_for(s: Array) -> Array:
        return np.asarray(np.clip((s * uv + vw) / np.maximum(vv, 1e-300), 0.0, 1.0))

    def s_for(t: Array) -> Array:
        return np.asarray(np.clip((t * uv - uw) / np.maximum(uu, 1e-300), 0.0, 1.0))

    zeros, ones = np.zeros(len(a)), np.ones(len(a))
    tried = [(s_inner, t_for(s_inner)), (zeros, t_for(zeros)), (ones, t_for(ones))]
    tried += [(s_for(zeros), zeros), (s_for(ones), ones)]
    squares = [np.sum((w + s[:, None] * u - t[:, None] * v) ** 2, axis=1) for s, t in tried]
    return np.asarray(np.sqrt(np.min(squares, axis=0)))


def _bars(robot: Robot) -> list[_Bar]:
    """Return the bars of base and bodies: to each child's origin, and to the farthest end frame of a last body."""
    tree = robot.tree
    found = []
    for body in range(BASE, tree.bodies):
        children = [int(child) for child in np.flatnonzero(tree.parent == body)]
        for child in children:
            if np.linalg.norm(tree.origin[child]) > SHORTEST:
                found.append(_Bar(body, tree.origin[child], (child,)))
        if not children and body != BASE:
            ends = [tree.link_origin[link] for link in np.flatnonzero(tree.link_body == body)]
            farthest = max(ends, key=lambda point: float(np.linalg.norm(point)))
            if np.linalg.norm(farthest) > SHORTEST:
                found.append(_Bar(body, farthest, ()))
    return found


def _lines(robot: Robot, q: Array, bars: list[_Bar]) -> tuple[Array, Array]:
    """Return begin and end of every bar in base axes [m], shapes (k, bars, 3)."""
    poses = body_poses(robot.tree, q)
    begins, ends = np.zeros((2, len(q), len(bars), 3))
    for place, bar in enumerate(bars):
        if bar.body == BASE:
            ends[:, place] = bar.end
        else:
            begins[:, place] = poses.origin[:, bar.body]
            ends[:, place] = begins[:, place] + np.einsum("kij,j->ki", poses.rotation[:, bar.body], bar.end)
    return begins, ends


def _always_close(robot: Robot, first: _Bar, second: _Bar, distance: float) -> bool:
    """Say whether two bars share a point, or are joined by so short a chain that no pose brings them apart."""
    tree = robot.tree
    if first.body == second.body:
        return True
    for inner, outer in ((first, second), (second, first)):
        along, body = 0.0, outer.body
        while body != BASE:
            if tree.parent[body] == inner.body:
                # From the inner bar's end (or its side) to where the chain to the outer one leaves it.
                leaves = float(np.linalg.norm(tree.origin[body] - inner.end)) if body not in inner.children else 0.0
                begins = float(np.linalg.norm(tree.origin[body]))
                return along + min(leaves, begins) < distance
            along += float(np.linalg.norm(tree.origin[body]))
            body = int(tree.parent[body])
    # On two branches: by the way over their common parent.
    return _way_to_common(robot, first.body, second.body) < distance


def _way_to_common(robot: Robot, first: int, second: int) -> float:
    """Return the length of the chain between two bodies' origins over the body that carries both [m]."""
    tree = robot.tree
    above: dict[int, float] = {}
    body, along = first, 0.0
    while body != BASE:
        above[body] = along
        along += float(np.linalg.norm(tree.origin[body]))
        body = int(tree.parent[body])
    above[BASE] = along
    body, along = second, 0.0
    while body not in above:
        along += float(np.linalg.norm(tree.origin[body]))
        body = int(tree.parent[body])
    return along + above[body]


ROTARY_RANGE = np.pi
"""A rotary joint without limits is taken to turn this far to either side [rad]."""
LINEAR_RANGE = 0.5
"""A linear joint without limits is taken to move this far to either side [m]."""
MARGIN_ROTARY = 0.1
"""Default distance from a rotary joint's limits [rad] ..."""
MARGIN_LINEAR = 0.03
"""... and from a linear one's [m]: room for an approach from both sides."""
OFFSET_POSES = 60
"""Poses by which offsets are distinguished from gravity."""
SEPARABLE = 1e-6
"""Part of a unit column that must be left beside all others: far above rounding."""
MOST_MARGIN = 0.2
"""A margin takes at most this share of a joint's range on either side."""

STEP = 0.5
"""By which a joint is moved to see whether that changes gravity efforts [rad or m]."""
UNCHANGED = 1e-9
"""Share of the largest entry of the regressor by which rounding changes others."""


def joint_ranges(robot: Robot, *, margin: float | None = 0.0) -> tuple[Array, Array]:
    """Return the lowest and highest positions to use [rad or m], shapes (n,).

    Args:
        robot: The arm.
        margin: Distance from the limits [rad or m]; None for MARGIN_ROTARY and MARGIN_LINEAR. Never more than
            MOST_MARGIN of a joint's range.

    Raises:
        InputError: A negative margin.
    """
    if margin is not None and not 0.0 <= margin < np.inf:
        raise InputError(f"margin is {margin!r}; expected a number ≥ 0 [rad or m]")
    turns = np.array(rotary(robot), dtype=bool)
    reach = np.where(turns, ROTARY_RANGE, LINEAR_RANGE)
    # A joint with one limit is taken to have its usual range from there.
    lower, upper = np.array(robot.lower), np.array(robot.upper)
    lower = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper - 2.0 * reach, -reach))
    upper = np.where(np.isfinite(upper), upper, np.where(np.isfinite(robot.lower), lower + 2.0 * reach, reach))
    wide = turns & (upper - lower > 4.0 * np.pi)
    lower, upper = np.where(wide, -2.0 * np.pi, lower), np.where(wide, 2.0 * np.pi, upper)
    asked = np.where(turns, MARGIN_ROTARY, MARGIN_LINEAR) if margin is None else np.full(robot.n, margin)
    kept = np.minimum(asked, MOST_MARGIN * (upper - lower))
    return lower + kept, upper - kept


def workspace_poses(robot: Robot, count: int, *, seed: int = 0, margin: float | None = 0.0) -> Array:
    """Return poses spread evenly over the joint ranges [rad or m], shape (count, n), the same for the same seed."""
    lower, upper = joint_ranges(robot, margin=margin)
    return np.random.default_rng(seed).uniform(lower, upper, (count, robot.n))


def separable_offsets(robot: Robot) -> npt.NDArray[np.bool_]:
    """Say of each joint whether a constant torque can be distinguished from gravity in any recording, shape (n,).

    Of a linear joint that always moves along gravity it cannot: weight and offset are both constant. The weight then
    stands for both.
    """
    rows = static_rows(robot, workspace_poses(robot, OFFSET_POSES), offset=True)
    stacked = rows.reshape(-1, rows.shape[2])
    size = np.linalg.norm(stacked, axis=0)
    # What is left of each column beside those before it stands on the diagonal.
    left = np.abs(np.diagonal(np.linalg.qr(stacked / np.where(size > 0.0, size, 1.0), mode="r")))
    return np.asarray(left[-robot.n :] > SEPARABLE)


def changing_gravity(robot: Robot) -> npt.NDArray[np.bool_]:
    """Say of each joint whether its position changes any gravity effort, whatever the masses are, shape (n,).

    That of the first joint does not where its axis is vertical, nor does that of linear joints which no other joint
    turns.
    """
    q = workspace_poses(robot, OFFSET_POSES)
    before = robot.base_gravity_regressor(q)
    most = max(float(np.abs(before).max(initial=0.0)), 1e-300)
    return np.array(
        [
            np.abs(robot.base_gravity_regressor(q + STEP * axis) - before).max(initial=0.0) > UNCHANGED * most
            for axis in np.eye(robot.n)
        ]
    )
