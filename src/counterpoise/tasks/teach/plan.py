"""The plan of a replay: the whole motion, the way to its start included, checked before anything moves.

Checked is whether the arm can follow: the first instant and joint where it could not, and what would help.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ...control import Desired, Limits, Plant, joint_array, resolve_limits
from ...dynamics import FrictionLaw, Robot, as_rows, effort_units, position_units, rotary
from ...errors import InfeasiblePathError, InputError
from ...foundation import Array, frozen
from ...identification import Clearance, clear_of_itself, clear_of_table, kinematics_fingerprint
from .motion import SAME, Curve, CurveMotion
from .path import MOVED_LINEAR, MOVED_ROTARY, STILL_LINEAR, STILL_ROTARY, TaughtPath, smooth

STEP = 0.005
"""Time between two instants that are checked [s] ..."""
MOST_INSTANTS = 200_000
"""... unless there would be more than this."""
CLEARANCE_STEP = 0.02
"""Time between two instants at which collisions are looked for [s]."""
SLOWEST = 0.01
"""Lowest speed that is tried."""

What = Literal["position", "speed", "acceleration", "effort", "clearance"]


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """What a motion is held against; arrays of shape (n,).

    Attributes:
        lower: Lowest positions [rad or m].
        upper: Highest positions [rad or m].
        speed: Largest speeds [rad/s or m/s].
        acceleration: Largest accelerations [rad/s² or m/s²].
        effort: Largest torques [N m or N].
        clearance: What to keep clear of; None checks no collisions.
    """

    lower: Array
    upper: Array
    speed: Array
    acceleration: Array
    effort: Array
    clearance: Clearance | None = None

    @staticmethod
    def of(
        limits: Limits,
        *,
        margin: Array,
        speed_share: float,
        effort_share: float,
        acceleration: Array,
        clearance: Clearance | None,
    ) -> Bounds:
        """Return bounds inside the limits of an arm; see PlanSettings for the arguments."""
        # A joint with a range of a few margins keeps most of it.
        kept = np.minimum(margin, 0.02 * (limits.upper - limits.lower))
        return Bounds(
            frozen(limits.lower + kept),
            frozen(limits.upper - kept),
            frozen(speed_share * limits.velocity),
            frozen(acceleration),
            frozen(effort_share * limits.effort),
            clearance,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Demands:
    """What a motion asks of an arm at every instant that was checked.

    Attributes:
        time: Times after the motion's beginning [s], shape (k,).
        q: Positions [rad or m], shape (k, n).
        dq: Velocities [rad/s or m/s], shape (k, n).
        ddq: Accelerations [rad/s² or m/s²], shape (k, n).
        torque: M q̈ + C q̇ + g + J_m q̈ + friction [N m or N], shape (k, n).
    """

    time: Array
    q: Array
    dq: Array
    ddq: Array
    torque: Array


@dataclass(frozen=True, slots=True)
class Offence:
    """The first instant at which an arm could not follow.

    Attributes:
        time: When [s after the motion's beginning].
        joint: Index of the joint; None for a collision.
        what: Which bound is exceeded.
        found: What the motion asks for there.
        bound: What is allowed.
    """

    time: float
    joint: int | None
    what: What
    found: float
    bound: float

    @property
    def slower_helps(self) -> bool:
        """Whether the bound may hold at a lower speed."""
        return self.what in ("speed", "acceleration", "effort")

    def text(self, robot: Robot) -> str:
        """Return it in words."""
        if self.joint is None:
            return f"at {self.time:.2f} s links come nearer to each other or to the table than they may"
        name, unit = robot.joint_names[self.joint], position_units(robot)[self.joint]
        units = {"position": unit, "speed": f"{unit}/s", "acceleration": f"{unit}/s²"}
        unit = units.get(self.what, effort_units(robot)[self.joint])
        verb = {"position": "goes to", "speed": "needs a speed of", "acceleration": "needs an acceleration of"}
        need = verb.get(self.what, "needs an effort of")
        margin = "" if self.what == "acceleration" else "with its margin "
        return (
            f"at {self.time:.2f} s joint '{name}' {need} {self.found:.4g} {unit}; {margin}{self.bound:.4g} {unit} is "
            "allowed"
        )


def demands(robot: Robot, motion: CurveMotion, friction: FrictionLaw | None = None) -> Demands:
    """Return what a motion asks of an arm.

    Args:
        robot: The arm, payload included.
        motion: The motion.
        friction: Friction of the joints; None leaves it out.
    """
    count = min(max(math.ceil(motion.duration / STEP), 2), MOST_INSTANTS)
    time = np.linspace(0.0, motion.duration, count + 1)
    q, dq, ddq = motion.at(time)
    torque = robot.inverse_dynamics(q, dq, ddq) + robot.rotor_inertia * ddq
    if friction is not None:
        torque = torque + friction.torque(dq)
    return Demands(time, q, dq, ddq, torque)


def first_offence(robot: Robot, asked: Demands, bounds: Bounds) -> Offence | None:
    """Return the first instant at which a bound is exceeded; None where none is.

    Args:
        robot: The arm.
        asked: What the motion asks for.
        bounds: What is allowed.
    """
    beyond = np.maximum(bounds.lower - asked.q, asked.q - bounds.upper)
    checks: tuple[tuple[What, Array, Array], ...] = (
        ("position", asked.q, np.where(asked.q < bounds.lower, bounds.lower, bounds.upper)),
        ("speed", np.abs(asked.dq), bounds.speed),
        ("acceleration", np.abs(asked.ddq), bounds.acceleration),
        ("effort", np.abs(asked.torque), bounds.effort),
    )
    found: list[Offence] = []
    for what, values, bound in checks:
        excess = beyond if what == "position" else values - bound
        over = ~(excess <= 0.0)  # true for NaN too: what cannot be judged is not allowed
        if over.any():
            row = int(np.argmax(over.any(axis=1)))
            full = np.broadcast_to(bound, values.shape)
            shares = np.full(robot.n, -np.inf)
            shares[over[row]] = excess[row, over[row]] / np.maximum(np.abs(full[row, over[row]]), 1e-9)
            joint = int(np.argmax(shares))
            time = float(asked.time[row])
            found.append(Offence(time, joint, what, float(values[row, joint]), float(full[row, joint])))
    if bounds.clearance is not None and (at := _first_contact(robot, asked, bounds.clearance)) is not None:
        found.append(Offence(at, None, "clearance", 0.0, bounds.clearance.radius))
    return min(found, key=lambda offence: offence.time, default=None)


def feasible_speed(check: Callable[[float], bool], speed: float) -> float | None:
    """Return a speed below ``speed`` that passes, within about 2 % of the largest, rounded down; None for none.

    Args:
        check: Says whether a speed passes.
        speed: A speed that does not.
    """
    above, below = speed, 0.8 * speed
    while not check(below):
        above, below = below, 0.8 * below
        if below < SLOWEST:
            return None
    while above - below > 0.02 * above:
        middle = 0.5 * (above + below)
        above, below = (above, middle) if check(middle) else (middle, below)
    digits = max(0, 1 - math.floor(math.log10(below)))
    rounded = math.floor(below * 10**digits) / 10**digits
    return rounded if check(rounded) else below


def _first_contact(robot: Robot, asked: Demands, clearance: Clearance) -> float | None:
    every = max(1, round(CLEARANCE_STEP / max(float(asked.time[1] - asked.time[0]), 1e-9)))
    rows = np.unique(np.append(np.arange(0, len(asked.time), every), len(asked.time) - 1))
    clear = clear_of_itself(robot, asked.q[rows], clearance) & clear_of_table(robot, asked.q[rows], clearance)
    return None if clear.all() else float(asked.time[rows[int(np.argmin(clear))]])


LEAD = 0.7
"""Time at rest before anything moves [s]: longer than the loop takes to fade a law in."""
SETTLE = 0.5
"""Time at rest at the start of the path, and at its end [s]."""
TINY = 1e-12
"""Stands for an effort limit of 0, a forbidden joint, where shares of it are told [N m or N]."""
FASTEST = 10.0
"""Largest speed, as a multiple of the taught one."""
PAUSE_TIMES = (0.5, 0.8, 1.2, 2.0, 3.0)
"""Times in which a replay may come to a halt [s]; the shortest that the motors can bear is taken."""


@dataclass(frozen=True, slots=True)
class PlanSettings:
    """How a replay is planned; what is None has a default by the kind of joint.

    Attributes:
        waypoints: "stop" at each waypoint, by straight moves in joint space, or "pass" through them on a spline.
        dwell: Time at each waypoint, with "stop" [s].
        travel_speed: Largest speeds between waypoints [rad/s or m/s]; None for 0.5 rad/s and 0.1 m/s, at most a
            quarter of the limit.
        approach_speed: Largest speeds on the move to the start; None for 0.25 rad/s and 0.05 m/s, at most a tenth.
        acceleration: Largest accelerations [rad/s² or m/s²]; None for the speed limit in a quarter of a second.
        margin: Distance kept from the position limits [rad or m]; None for 0.01 rad and 2 mm.
        speed_share: Share of the speed limits that may be used.
        effort_share: Share of the effort limits that may be used; the rest is for the feedback.
        smoothing: Cutoff for continuous paths [Hz]; None follows them as they are.
    """

    waypoints: Literal["stop", "pass"] = "stop"
    dwell: float = 0.0
    travel_speed: npt.ArrayLike | None = None
    approach_speed: npt.ArrayLike | None = None
    acceleration: npt.ArrayLike | None = None
    margin: npt.ArrayLike | None = None
    speed_share: float = 0.9
    effort_share: float = 0.9
    smoothing: float | None = 5.0

    def __post_init__(self) -> None:
        """Refuse shares and words that mean nothing."""
        if self.waypoints not in ("stop", "pass"):
            raise InputError(f"waypoints is {self.waypoints!r}; expected 'stop' or 'pass'")
        for name in ("speed_share", "effort_share"):
            if not 0.0 < getattr(self, name) <= 1.0:
                raise InputError(f"{name} is {getattr(self, name)!r}; expected a share above 0, at most 1")
        if not 0.0 <= self.dwell <= 3600.0:
            raise InputError(f"dwell is {self.dwell!r}; expected a time from 0 to 3600 s")


@dataclass(frozen=True, slots=True, eq=False)
class ReplayPlan:
    """A replay, planned and checked. Its time: LEAD at rest, the approach, SETTLE at rest, the path, SETTLE at rest.

    Attributes:
        robot: The arm it was planned for, payload included.
        path: The path, joints in the robot's order.
        speed: How fast it is replayed, as a multiple of the taught time.
        start: Where the arm stands before [rad or m], shape (n,).
        approach: The way to the beginning of the path; None where the arm is there.
        motion: The motion along the path.
        limits: The limits that it was checked against.
        asked: What the path asks of the arm.
        pause_time: Time in which it may be brought to a halt anywhere, and set going again [s].
        notes: What the user should know, one sentence each.
    """

    robot: Robot
    path: TaughtPath
    speed: float
    start: Array
    approach: CurveMotion | None
    motion: CurveMotion
    limits: Limits
    asked: Demands
    pause_time: float
    notes: tuple[str, ...]

    @property
    def path_begin(self) -> float:
        """When the path begins [s of the plan's time]."""
        return LEAD if self.approach is None else LEAD + self.approach.duration + SETTLE

    @property
    def path_end(self) -> float:
        """When the path ends [s of the plan's time]."""
        return self.path_begin + self.motion.duration

    @property
    def duration(self) -> float:
        """Time of the whole plan [s]."""
        return self.path_end + SETTLE

    def at(self, time: float) -> Desired:
        """Return where the joints should be, and how fast, at a time of the plan [s]."""
        if self.approach is not None and time < self.path_begin:
            state = self.approach.at(min(max(time - LEAD, 0.0), self.approach.duration))
        else:
            state = self.motion.at(min(max(time - self.path_begin, 0.0), self.motion.duration))
        return Desired(state.q, state.dq)

    def as_data(self) -> dict[str, Any]:
        """Return the plan as JSON has it, without the instants."""
        names, limits, asked = self.robot.joint_names, self.limits, self.asked
        peaks = {
            "speed": np.max(np.abs(asked.dq), axis=0) / limits.velocity,
            "effort": np.max(np.abs(asked.torque), axis=0) / np.maximum(limits.effort, TINY),
        }
        return {
            "path": self.path.name,
            "kind": self.path.kind,
            "robot": self.robot.name,
            "speed": self.speed,
            "seconds": self.duration,
            "approach_seconds": 0.0 if self.approach is None else self.approach.duration,
            "path_seconds": self.motion.duration,
            "share_of_limit": {
                what: {name: float(share) for name, share in zip(names, shares.tolist(), strict=True)}
                for what, shares in peaks.items()
            },
            "pause_time": self.pause_time,
            "notes": list(self.notes),
        }


def plan_replay(
    robot: Robot,
    path: TaughtPath,
    speed: float = 1.0,
    *,
    start: npt.ArrayLike | None = None,
    plant: Plant | None = None,
    limits: Limits | None = None,
    friction: FrictionLaw | None = None,
    clearance: Clearance | None = None,
    other_robot: bool = False,
    settings: PlanSettings | None = None,
) -> ReplayPlan:
    """Plan the replay of a path as a whole; nothing moves.

    Args:
        robot: The arm, with the payload it will carry.
        path: The path.
        speed: Multiple of the taught speed; of waypoints, of the travel speed.
        start: Where the arm stands [rad or m], shape (n,); None where it will stand at the beginning of the path.
        plant: What will be driven: its limits hold too.
        limits: The limits; None for the tighter of the robot's and the plant's.
        friction: Friction of the joints, to be borne as well; None leaves it out.
        clearance: Links as bars of a radius, and a table, to keep clear of; None checks no collisions, and says so.
        other_robot: Accept a path taught to an arm of another geometry with the same joints.
        settings: Speeds, margins, how waypoints are treated.

    Raises:
        InfeasiblePathError: The arm cannot follow: the first instant, the joint, what to do.
        InputError: The path is another arm's, or an argument is bad.
    """
    if not 0.0 < speed <= FASTEST:
        raise InputError(
            f"speed is {speed!r}; expected a multiple of the taught speed, above 0 and at most {FASTEST:g}"
        )
    chosen = PlanSettings() if settings is None else settings
    mapped = path.for_robot(robot, other_robot=other_robot)
    held = resolve_limits(robot, plant) if limits is None else limits
    if held.joint_names != robot.joint_names:
        raise InputError(f"the limits are of {list(held.joint_names)}, not of {list(robot.joint_names)}")
    by_kind = _ByKind(robot, held)
    acceleration = by_kind.given(chosen.acceleration, "acceleration", held.velocity / 0.25)
    shares = {"speed_share": chosen.speed_share, "effort_share": chosen.effort_share}
    margin = by_kind.given(chosen.margin, "margin", by_kind.each(0.01, 0.002), may_be_zero=True)
    bounds = Bounds.of(held, margin=margin, acceleration=acceleration, clearance=clearance, **shares)
    notes: list[str] = []
    if path.kinematics == "":
        notes.append("the path does not say which arm it was taught to; its joints have the right names")
    elif path.kinematics != kinematics_fingerprint(robot):
        notes.append(f"the path was taught to '{path.robot}' with other joints or lengths: its tip goes elsewhere")
    if clearance is None:
        notes.append("collisions were not looked for: no clearance was given (--radius)")
    curve = _curve(mapped, chosen, by_kind, acceleration, bounds, notes)
    motion = CurveMotion(curve, speed)
    begin = curve.at(0.0).q
    here = begin if start is None else as_rows(start, "start", robot.joint_names)
    if here.ndim != 1:
        raise InputError(f"start has shape {here.shape}; expected ({robot.n},)")
    asked = demands(robot, motion, friction)

    def passes(rate: float) -> bool:
        return first_offence(robot, demands(robot, CurveMotion(curve, rate), friction), bounds) is None

    if (offence := first_offence(robot, asked, bounds)) is not None:
        raise _refusal(robot, offence, f"path '{path.name}' at speed {speed:g}", lambda: feasible_speed(passes, speed))
    approach = None
    if np.max(np.abs(here - begin)) > SAME:
        usual = np.minimum(by_kind.each(0.25, 0.05), 0.1 * held.velocity)
        slow = by_kind.given(chosen.approach_speed, "approach_speed", usual, finite=True)
        approach = CurveMotion(Curve.stopping(np.array([here, begin]), slow, np.minimum(slow / 0.5, acceleration)))
        # The arm stands where it stands: no margin is asked for on the way from there.
        whole = Bounds.of(held, margin=np.zeros(robot.n), acceleration=acceleration, clearance=clearance, **shares)
        if (offence := first_offence(robot, demands(robot, approach, friction), whole)) is not None:
            raise _refusal(robot, offence, f"the move to the start of path '{path.name}'", None)
    return ReplayPlan(
        robot=robot,
        path=mapped,
        speed=float(speed),
        start=frozen(here),
        approach=approach,
        motion=motion,
        limits=held,
        asked=asked,
        pause_time=_pause_time(robot, asked, held, friction),
        notes=tuple(notes),
    )


class _ByKind:
    """Defaults by the kind of joint, for one arm."""

    def __init__(self, robot: Robot, limits: Limits) -> None:
        self._names = robot.joint_names
        self._turns = np.array(rotary(robot), dtype=bool)
        self.limits = limits

    def each(self, turning: float, sliding: float) -> Array:
        return np.where(self._turns, turning, sliding)

    def given(
        self,
        value: npt.ArrayLike | None,
        name: str,
        usual: Array,
        *,
        may_be_zero: bool = False,
        finite: bool = False,
    ) -> Array:
        array = usual if value is None else joint_array(value, name, self._names)
        good = (array >= 0.0) if may_be_zero else (array > 0.0)
        if not np.all(good & np.isfinite(array) if finite else good):
            raise InputError(f"{name} is {array.tolist()}; expected positive numbers, one or one per joint")
        return array


def _curve(
    path: TaughtPath, chosen: PlanSettings, by_kind: _ByKind, acceleration: Array, bounds: Bounds, notes: list[str]
) -> Curve:
    if path.kind == "continuous":
        bound = by_kind.each(MOVED_ROTARY, MOVED_LINEAR)
        soft = smooth(path.time, path.q, cutoff=chosen.smoothing, most_moved=bound)
        if np.max(soft.moved) > 1e-4:
            joint = int(np.argmax(soft.moved / bound))
            notes.append(
                f"smoothed at {soft.cutoff or 0.0:g} Hz: joint '{path.joint_names[joint]}' is moved by up to "
                f"{soft.moved[joint]:.2g} {path.units[joint]}"
            )
        return Curve.smooth(soft.time, soft.q)
    passing = chosen.waypoints == "pass"
    poses = _apart(path.q, by_kind.each(STILL_ROTARY, STILL_LINEAR) if passing else np.full(path.q.shape[1], SAME))
    if len(poses) < 2:
        raise InputError(f"path '{path.name}': all its waypoints are the same pose; nothing would move")
    if passing and len(poses) < len(path.q):
        notes.append(f"waypoints left out, as they are where their neighbour is: {len(path.q) - len(poses)}")
    usual = np.minimum(by_kind.each(0.5, 0.1), 0.25 * by_kind.limits.velocity)
    speed = by_kind.given(chosen.travel_speed, "travel_speed", usual, finite=True)
    gentle = np.minimum(acceleration, speed / 0.5)
    if passing:
        return Curve.passing(poses, speed, gentle)
    return Curve.stopping(poses, speed, gentle, chosen.dwell)


def _apart(poses: Array, distance: Array) -> Array:
    """Return poses of which no two neighbours are nearer than a distance at every joint; both ends stay."""
    kept = [poses[0]]
    for pose in poses[1:]:
        if np.any(np.abs(pose - kept[-1]) > distance):
            kept.append(pose)
    if len(kept) > 1:
        kept[-1] = poses[-1]  # it is kept already, or its neighbour is where it is
    return np.array(kept)


def _refusal(
    robot: Robot, offence: Offence, what: str, slower: Callable[[], float | None] | None
) -> InfeasiblePathError:
    """Return the error of a motion that cannot be followed, with what would help.

    Args:
        robot: The arm.
        offence: Where it could not follow first.
        what: Which motion.
        slower: Finds a speed that works; None where there is none to choose.
    """
    speed: float | None = None
    if not offence.slower_helps:
        doubtful = "the radius and the table" if offence.joint is None else "the arm's limits"
        help_ = f"No speed helps: teach the path again, or check {doubtful}"
    elif slower is None:
        help_ = "Move the arm nearer to the start by hand, or lower approach_speed"
    elif (speed := slower()) is None:
        help_ = "No lower speed was found that helps: take a lighter payload, or teach another path"
    else:
        help_ = f"At speed {speed:g} it can"
    return InfeasiblePathError(
        f"{what} cannot be followed: {offence.text(robot)}. {help_}",
        time=offence.time,
        joint=None if offence.joint is None else robot.joint_names[offence.joint],
        what=offence.what,
        feasible_speed=speed,
    )


def _pause_time(robot: Robot, asked: Demands, limits: Limits, friction: FrictionLaw | None) -> float:
    """Return the shortest time in which the motion may be halted anywhere within the effort limits [s].

    Halting adds q' s̈ to the acceleration, where |s̈| ≤ 1.5 / time of the plan's own rate.
    """
    for time in PAUSE_TIMES:
        worst = 0.0
        for sign in (-1.0, 1.0):
            ddq = asked.ddq + sign * 1.5 / time * asked.dq
            torque = robot.inverse_dynamics(asked.q, asked.dq, ddq) + robot.rotor_inertia * ddq
            if friction is not None:
                torque = torque + friction.torque(asked.dq)
            worst = max(worst, float(np.max(np.abs(torque) / np.maximum(limits.effort, TINY))))
        if worst <= 1.0:
            return time
    return PAUSE_TIMES[-1]
