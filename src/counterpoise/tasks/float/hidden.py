"""Loads that the check at one pose does not show, and where they would show.

A load of mass m fixed to a link changes the gravity torques by m u(q), u being those of 1 kg at its place. The check
compares torques at one pose q_0 only. Where u(q_0) is small at every joint (the load hangs below the joints, or stands
above them) a heavy load passes, and pulls when the arm is led elsewhere.

A load can hide on a link if the arm would pass the check with it and without it: with the difference d that was found,
m u = d − e for some error e of the model that would have passed, |e| < left − 2 σ. So at every joint that floats

    m |u(q_0)| < left − 2 σ + d sign(u(q_0))

Places: on every body its frames (its own, those of the joints it carries, those of the links fixed to it) and its
centre of mass. The worst place of each body is told. Elsewhere the load pulls with up to m U, U = max |u(q)| over poses
within the limits, locked joints staying where they are; what exceeds the friction left moves the joint.

``JointCheck`` and ``CheckResult`` are what the check before floating found at each joint, and whether the arm may be
let go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...dynamics import Robot, effort_units
from ...foundation import Array, Check, PublishedData, Verdict, frozen

SIGMAS = 2.0
"""How many standard deviations are added to the difference found."""


@dataclass(frozen=True, slots=True)
class JointCheck:
    """One joint that is to float; torques in ``unit``.

    Attributes:
        joint: Its name.
        unit: "N m" or "N".
        expected: What the model says holding takes, ĝ; 0 on a plant that adds gravity itself.
        held: What holding took: the mean of both sides.
        std: Standard deviation of their difference: noise, scatter of the repeats and, where given, the calibration's.
        friction: Friction found, the smaller of half the difference of the sides at rest and while creeping.
        friction_law: What the friction law that is compensated says at least; the friction found where none is given.
        friction_fraction: Fraction of it that is to be compensated.
        crept: Whether the joint came to rest from both sides; without that the numbers mean nothing.
    """

    joint: str
    unit: str
    expected: float
    held: float
    std: float
    friction: float
    friction_law: float
    friction_fraction: float
    crept: bool

    @property
    def difference(self) -> float:
        """What the model is off by: held − expected."""
        return self.held - self.expected

    @property
    def left(self) -> float:
        """Friction that is left to hold the joint when it floats: min(F, F_law) − c F_law, which is (1 − c) F_c.

        Where the law knows of no friction, none is compensated, and all that was found is left.
        """
        if self.friction_law <= 0.0:
            return self.friction
        return min(self.friction, self.friction_law) - self.friction_fraction * self.friction_law

    @property
    def passed(self) -> bool:
        """Whether |difference| + 2 σ is smaller than what is left."""
        return self.crept and abs(self.difference) + SIGMAS * self.std < self.left

    @property
    def largest_fraction(self) -> float:
        """The fraction of the friction up to which the joint would pass; below 0 where none would do."""
        if self.friction_law <= 0.0:
            return 1.0 if self.passed else -1.0
        spare = min(self.friction, self.friction_law) - abs(self.difference) - SIGMAS * self.std
        return spare / self.friction_law

    @property
    def check(self) -> Check:
        """Whether what the model may be off by is smaller than what is left."""
        error = abs(self.difference) + SIGMAS * self.std
        return Check(self.joint, self.passed, self._sentence(), error, self.left, self.unit)

    def _sentence(self) -> str:
        """Say what was found; where that is wrong, what to do."""
        where = f"joint '{self.joint}'"
        if self.passed:
            return f"{where}: the model carries it, and its friction holds what the model may be off by"
        if not self.crept:
            return (
                f"{where} did not come to rest from both sides: friction held it, or it swung. Free it, lock it, or "
                "try another pose"
            )
        if max(self.friction, abs(self.difference)) <= SIGMAS * self.std:
            return (
                f"{where}: the model carries it, but no friction was found that would hold it "
                f"({self.friction:.2g} ± {SIGMAS * self.std:.1g} {self.unit}): it would not stay. Lock it"
            )
        off = f"{where}: holding takes {self.held:.3g} {self.unit}, the model says {self.expected:.3g}"
        off += f": {abs(self.difference):.2g} ± {SIGMAS * self.std:.1g} {self.unit} off (2 σ)"
        left = f"of its friction of {self.friction:.2g} {self.unit}, a friction fraction of "
        left += f"{self.friction_fraction:g} leaves {self.left:.2g}"
        best = self.largest_fraction
        less = (
            f", or use a friction fraction below {best:.2g}"
            if best > 0.005
            else "; no friction fraction is small enough"
        )
        return f"{off}; {left} to hold it. Calibrate the arm, check the payload{less}"

    def as_data(self) -> dict[str, Any]:
        """Return the joint as JSON has it."""
        return asdict(self) | {
            "difference": self.difference,
            "left": self.left,
            "passed": self.passed,
            "largest_fraction": self.largest_fraction,
        }


@dataclass(frozen=True, slots=True, eq=False)
class CheckResult(PublishedData):
    """The check of an arm.

    Attributes:
        joints: The joints that are to float.
        pose: Where it was made [rad or m], shape (n,).
        by: "effort" where holding was judged by the measured efforts, "command" by what was sent.
        seconds: How long it took.
        blindness: What a check at this pose cannot show; None where that is not known.
    """

    joints: tuple[JointCheck, ...]
    pose: Array
    by: str
    seconds: float
    blindness: PoseBlindness | None = None

    @property
    def verdict(self) -> Verdict:
        """Whether the arm may float: a check of every joint, the worst one first."""
        return Verdict(
            joint.check
            for joint in sorted(self.joints, key=lambda joint: (joint.crept, joint.passed, joint.largest_fraction))
        )

    @property
    def passed(self) -> bool:
        """Whether the arm may float."""
        return all(joint.passed for joint in self.joints)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it may not, one sentence a joint, the worst one first."""
        return self.verdict.reasons

    @property
    def hidden(self) -> tuple[HiddenLoad, ...]:
        """Per link the load that the check would have let pass and that could pull most elsewhere; () if refused."""
        return self.blindness.loads(self.joints) if self.passed and self.blindness is not None else ()

    def better_pose(self) -> Array | None:
        """Return the nearest pose found where the loads that hide here would show [rad or m], shape (n,).

        None where nothing hides, or where no pose shows more. It takes some 10 to 200 ms: not for a control loop.
        """
        links = [load.link for load in self.hidden if load.hides]
        return self.blindness.better_pose(self.joints, links) if links and self.blindness is not None else None

    def as_data(self) -> dict[str, Any]:
        """Return the check as JSON has it."""
        better = self.better_pose()
        return {
            "passed": self.passed,
            "by": self.by,
            "seconds": self.seconds,
            "pose": self.pose.tolist(),
            "joints": [joint.as_data() for joint in self.joints],
            "reasons": list(self.reasons),
            "hidden": [load.as_data() for load in self.hidden],
            "better_pose": None if better is None else better.tolist(),
        }


POSES = 2048
"""Poses at which the pull of a load is looked at."""
CHUNK = 256
"""Poses that are worked out at a time: bounds the memory."""
SAME_PLACE = 0.01
"""Places of a body that are nearer to each other count as one [m]."""
SHOWN = 2.0
"""A link hides a load where it could pull a joint elsewhere by more than this many times the friction left there."""
SHOWN_THERE = 1.5
"""... and shows it where a check would leave no load that could pull more than this many times."""
STEPS = 24
"""Places of each joint that are looked at for a better pose."""
FRACTIONS = (0.25, 0.5, 0.75, 1.0)
"""How far towards other poses ..."""
TOWARDS = 384
"""... of which there are so many."""
MOVES = 4
"""Joints that are moved one after another before other poses are looked at."""
NEARER = 12
"""Places between here and a better pose that are looked at for each joint, to come nearer."""
LEAST_PULL = 1e-9
"""Pulls of 1 kg below this count as none [N m or N]."""
HEAVIEST_SHARE = 1.0
"""Heaviest load that is thought of, as a share of the arm's own mass."""


@dataclass(frozen=True, slots=True, eq=False)
class LoadPlaces:
    """Places where a load may be fixed to an arm.

    Attributes:
        robot: The arm.
        links: Link of each place: the first of those that are fixed together, length k.
        points: Each place in that link's frame [m], shape (k, 3).
        columns: Gravity parameters of 1 kg there, shape (4 b, k): u(q) = gravity_regressor(q) @ columns.
        still: The arm without gravity.
    """

    robot: Robot
    links: tuple[str, ...]
    points: Array
    columns: Array
    still: Robot

    def pull(self, q: Array) -> Array:
        """Return the gravity torques u of 1 kg at each place [N m/kg or N/kg], shape (…, n, k), for q of (…, n)."""
        return np.asarray(self.robot.gravity_regressor(q) @ self.columns)


def load_places(robot: Robot) -> LoadPlaces:
    """Return the places of an arm: the frames of every moving body, and its centre of mass."""
    tree = robot.tree
    owners = tree.link_body.tolist()
    links: list[str] = []
    points: list[Array] = []
    columns: list[Array] = []
    for body in range(tree.bodies):
        first = owners.index(body)
        found = [np.zeros(3), *(tree.origin[child] for child in np.flatnonzero(tree.parent == body))]
        found += [tree.link_origin[at] for at, owner in enumerate(owners) if owner == body]
        if tree.mass[body] > 0.0:
            found.append(tree.first_moment[body] / tree.mass[body])
        kept: list[Array] = []
        for point in found:
            if all(np.linalg.norm(point - other) > SAME_PLACE for other in kept):
                kept.append(point)
        for point in kept:
            column = np.zeros(4 * tree.bodies)
            column[4 * body] = 1.0
            column[4 * body + 1 : 4 * body + 4] = tree.joint_rotation[body].T @ point
            columns.append(column)
            links.append(tree.link_names[first])
            points.append(tree.link_rotation[first].T @ (point - tree.link_origin[first]))
    return LoadPlaces(
        robot,
        tuple(links),
        frozen(np.array(points).reshape(-1, 3)),
        frozen(np.array(columns).reshape(-1, 4 * tree.bodies).T),
        robot.mounted(gravity=(0.0, 0.0, 0.0)),
    )


@dataclass(frozen=True, slots=True, eq=False)
class UnseenLoads:
    """Loads that a check may have let pass, at each of k places.

    Attributes:
        places: The places.
        mass: Largest load that could hide there [kg], shape (k,).
        hides: Which joints it could pull elsewhere by more than SHOWN times their friction left, shape (n, k), bool.
    """

    places: LoadPlaces
    mass: Array
    hides: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class HiddenLoad:
    """The load on a link that the check would let pass and that could pull most elsewhere.

    Attributes:
        link: The link.
        point: Where on it, in its frame [m], shape (3,).
        mass: Its mass [kg].
        heaviest: Whether that is the heaviest load that is thought of: the check shows nothing of it.
        joint: The joint that it could pull most, beside the friction left there.
        unit: "N m" or "N".
        pull: How hard it pulls that joint elsewhere, at most [``unit``].
        left: Friction left to hold that joint [``unit``].
        excess: What it could pull each joint with beyond its friction [N m or N], shape (n,); 0 for locked joints and
            for those that it cannot move.
    """

    link: str
    point: Array
    mass: float
    heaviest: bool
    joint: str
    unit: str
    pull: float
    left: float
    excess: Array

    @property
    def ratio(self) -> float:
        """``pull`` over ``left``; above 1 it moves the joint."""
        return self.pull / self.left

    @property
    def hides(self) -> bool:
        """Whether the load matters: it could pull a joint by more than SHOWN times the friction left."""
        return self.ratio > SHOWN

    def as_data(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "link": self.link,
            "point": self.point.tolist(),
            "mass": self.mass,
            "heaviest": self.heaviest,
            "joint": self.joint,
            "unit": self.unit,
            "pull": self.pull,
            "left": self.left,
            "excess": self.excess.tolist(),
            "hides": self.hides,
        }


@dataclass(frozen=True, slots=True, eq=False)
class PoseBlindness:
    """What a check at a pose cannot show, as far as it is known before the check is made.

    Attributes:
        places: The places of loads.
        pose: The pose q_0 [rad or m], shape (n,).
        free: Joints that are to float, shape (n,), bool.
        lower: Lowest positions at which a check can be made [rad or m], shape (n,).
        upper: Highest ones.
        here: u(q_0), shape (n, k).
        most: U, shape (n, k); 0 at locked joints.
        heaviest: Heaviest load that is thought of at each place [kg], shape (k,).
    """

    places: LoadPlaces
    pose: Array
    free: npt.NDArray[np.bool_]
    lower: Array
    upper: Array
    here: Array
    most: Array
    heaviest: Array

    def masses(self, joints: Sequence[JointCheck]) -> Array:
        """Return the largest load that could hide at each place [kg], shape (k,)."""
        rows, difference, spare, _ = _arrays(self.places.robot, joints)
        here = self.here[rows]
        allowed = (spare[:, None] + np.sign(here) * difference[:, None]) / np.maximum(np.abs(here), LEAST_PULL)
        return np.asarray(np.minimum(allowed.min(axis=0), self.heaviest))

    def unseen(self, joints: Sequence[JointCheck]) -> UnseenLoads:
        """Return the loads that could hide, as the watch of a floating arm needs them."""
        rows, _, _, left = _arrays(self.places.robot, joints)
        mass, hides = self.masses(joints), np.zeros(self.most.shape, dtype=bool)
        hides[rows] = mass * self.most[rows] > SHOWN * left[:, None]
        return UnseenLoads(self.places, frozen(mass), hides)

    def loads(self, joints: Sequence[JointCheck]) -> tuple[HiddenLoad, ...]:
        """Return the load of each link that matters most, in the order of the links.

        Args:
            joints: What the check found at the joints that are to float; all passed.
        """
        robot, places = self.places.robot, self.places
        rows, _, _, left = _arrays(robot, joints)
        mass = self.masses(joints)
        pull = mass * self.most[rows]
        ratio = pull / left[:, None]
        worst, found = ratio.max(axis=0), []
        for link in dict.fromkeys(places.links):
            at = [k for k, name in enumerate(places.links) if name == link and self.most[:, k].max() > LEAST_PULL]
            if not at:
                continue  # it never loads a joint that floats
            k = max(at, key=lambda k: float(worst[k]))
            row = int(np.argmax(ratio[:, k]))
            excess = np.zeros(robot.n)
            excess[rows] = np.maximum(pull[:, k] - left, 0.0)
            found.append(
                HiddenLoad(
                    link=link,
                    point=frozen(places.points[k]),
                    mass=float(mass[k]),
                    heaviest=bool(mass[k] >= self.heaviest[k]),
                    joint=robot.joint_names[rows[row]],
                    unit=effort_units(robot)[rows[row]],
                    pull=float(pull[row, k]),
                    left=float(left[row]),
                    excess=frozen(excess),
                )
            )
        return tuple(found)

    def better_pose(self, joints: Sequence[JointCheck], links: Sequence[str]) -> Array | None:
        """Return the nearest pose found at which a check would show what hides here on some links [rad or m], (n,).

        Few joints are moved, and no further than is needed: one joint after another, each time the one that shows most;
        where that does not do, on straight ways to poses spread over the range, the same ones every time. Distance is
        the root of the sum of the squared ways of the joints, 1 m counting as 1 rad. Where no pose shows all of it, the
        one that leaves least is returned; None where none leaves less than this one.

        Args:
            joints: What the check found at the joints that are to float.
            links: The links.
        """
        robot = self.places.robot
        rows, _, spare, left = _arrays(robot, joints)
        chosen = np.array([k for k, name in enumerate(self.places.links) if name in links])
        columns = self.places.columns[:, chosen]
        heaviest, most = self.heaviest[chosen], np.max(self.most[np.ix_(rows, chosen)] / left[:, None], axis=0)

        def remains(poses: Array) -> Array:
            """Return how hard the worst load that would hide at each pose could pull, over the friction left."""
            parts = []
            for begin in range(0, len(poses), CHUNK):
                pull = np.abs(robot.gravity_regressor(poses[begin : begin + CHUNK])[:, rows] @ columns)
                mass = np.min(spare[:, None] / np.maximum(pull, LEAST_PULL), axis=1)
                parts.append(np.max(np.minimum(mass, heaviest) * most, axis=1))
            return np.concatenate(parts)

        best, best_left = self.pose, float(remains(self.pose[None, :])[0])
        here_left = best_left
        shown = None
        for _ in range(MOVES):  # one joint after another, each time the one that shows most
            poses = self._alone(best)
            left_there = remains(poses)
            if (good := np.flatnonzero(left_there <= SHOWN_THERE)).size:
                shown = poses[good[np.argmin(np.linalg.norm(poses[good] - self.pose, axis=1))]]
                break
            if left_there.min() >= 0.98 * best_left:
                break
            best, best_left = poses[int(np.argmin(left_there))], float(left_there.min())
        if shown is None:
            poses = self._elsewhere()
            left_there = remains(poses)
            good = np.flatnonzero(left_there <= SHOWN_THERE)
            if not good.size:
                at = int(np.argmin(left_there))
                best, best_left = min((best_left, best), (float(left_there[at]), poses[at]), key=lambda one: one[0])[
                    ::-1
                ]
                return frozen(best) if best_left < here_left else None
            shown = poses[good[np.argmin(np.linalg.norm(poses[good] - self.pose, axis=1))]]
        # Back again, joint by joint, as far as it still shows.
        for joint in np.argsort(-np.abs(shown - self.pose)):
            tried = np.repeat(shown[None, :], NEARER, axis=0)
            tried[:, joint] = np.linspace(self.pose[joint], shown[joint], NEARER)
            shown = tried[int(np.argmax(remains(tried) <= SHOWN_THERE))] if shown[joint] != self.pose[joint] else shown
        return frozen(shown)

    def _alone(self, pose: Array) -> Array:
        """Return a pose with each free joint alone moved over its range, shape (STEPS f, n)."""
        found = []
        for joint in np.flatnonzero(self.free):
            moved = np.repeat(pose[None, :], STEPS, axis=0)
            moved[:, joint] = np.linspace(self.lower[joint], self.upper[joint], STEPS)
            found.append(moved)
        return np.concatenate(found)

    def _elsewhere(self) -> Array:
        others = spread_poses(self.pose, self.free, self.lower, self.upper, TOWARDS)
        return np.concatenate([self.pose + fraction * (others - self.pose) for fraction in FRACTIONS])


def blindness(
    robot: Robot,
    pose: Array,
    free: npt.NDArray[np.bool_],
    lower: Array,
    upper: Array,
    effort: Array,
) -> PoseBlindness:
    """Work out beforehand what a check at a pose cannot show.

    Args:
        robot: The arm's model.
        pose: Where the check is made [rad or m], shape (n,).
        free: Joints that are to float, shape (n,), bool.
        lower: Lowest positions at which a check can be made [rad or m], shape (n,); −inf for a joint without limits.
        upper: Highest ones; +inf likewise.
        effort: Effort limits [N m or N], shape (n,); a load that the arm cannot hold is not thought of.
    """
    places = load_places(robot)
    bounded = np.isfinite(lower) & np.isfinite(upper) & (upper > lower)
    low, high = (np.where(bounded, limit, pose + turn) for limit, turn in ((lower, -np.pi), (upper, np.pi)))
    low, high = np.minimum(low, pose), np.maximum(high, pose)
    poses = spread_poses(pose, free, low, high, POSES)
    most = np.abs(places.pull(pose))
    for begin in range(0, POSES, CHUNK):
        most = np.maximum(most, np.abs(places.pull(poses[begin : begin + CHUNK])).max(axis=0))
    most = np.where(free[:, None], most, 0.0)
    carried = np.where(np.isfinite(effort)[:, None], effort[:, None] / np.maximum(most, LEAST_PULL), np.inf)
    heaviest = np.minimum(np.min(carried, axis=0), HEAVIEST_SHARE * robot.total_mass)
    return PoseBlindness(
        places, frozen(pose), free, frozen(low), frozen(high), frozen(places.pull(pose)), frozen(most), frozen(heaviest)
    )


def spread_poses(pose: Array, free: npt.NDArray[np.bool_], lower: Array, upper: Array, count: int) -> Array:
    """Return poses spread evenly over the range of the free joints (an additive recurrence), shape (count, n).

    Args:
        pose: Where the other joints stay [rad or m], shape (n,).
        free: Which joints move, shape (n,), bool.
        lower: Lowest positions, finite, shape (n,).
        upper: Highest ones.
        count: How many.
    """
    moving = np.flatnonzero(free)
    # The powers of the root of x^(d + 1) = x + 1 fill d dimensions evenly, whatever the count.
    root = 2.0
    for _ in range(64):
        root = (1.0 + root) ** (1.0 / (len(moving) + 1))
    steps = root ** -np.arange(1.0, len(moving) + 1)
    shares = (0.5 + np.arange(1, count + 1)[:, None] * steps) % 1.0
    poses = np.repeat(np.asarray(pose, dtype=np.float64)[None, :], count, axis=0)
    poses[:, moving] = lower[moving] + shares * (upper - lower)[moving]
    return poses


def _arrays(robot: Robot, joints: Sequence[JointCheck]) -> tuple[npt.NDArray[np.int64], Array, Array, Array]:
    """Return the joints' indices, their differences, left − 2 σ and left [N m or N], each of shape (f,)."""
    rows = np.array([robot.joint_names.index(joint.joint) for joint in joints])
    difference = np.array([joint.difference for joint in joints])
    left = np.maximum(np.array([joint.left for joint in joints]), LEAST_PULL)
    spare = np.maximum(left - SIGMAS * np.array([joint.std for joint in joints]), 0.0)
    return rows, difference, spare, left
