"""The law of a floating arm.

    τ = g(q) + c u |f(q̇)| − D q̇ + cushions             joints that float
    τ = g(q) + K_p (q_0 − q) − K_d q̇                   locked joints, q_0 where they were at the start

c is the share of the friction f that is compensated, u from −1 to 1 says which way the joint slides
(control/float/slide.py), D is the damping. A pushed arm is sure to stop and stay only where |error of g| < (1 − c) F_c
at every joint; control/float/check.py looks before it is let go. A share above 1 feeds energy in: the arm runs away;
refused.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Literal, Self

import numpy as np
import numpy.typing as npt

from ...description.frozen import Array, frozen
from ...dynamics.inertia import joint_inertias
from ...dynamics.joint_units import position_units, rotary
from ...dynamics.robot import Robot
from ...errors import InputError, listed
from ...friction.law import FrictionLaw
from ...logs.sample import Sample
from ..careful_gains import ROTOR_TICKS, careful_gains
from ..gains import checked_dt, gain
from ..limits import Limits
from .cushion import Cushion, Cushions
from .hold import YieldingHold
from .slide import Slide
from .watch import DriftWatch, SpeedWatch, StillWatch, WatchSettings

SLOWING_TIME = 0.5
"""Time in which the default damping alone slows a joint to 1/e [s]: without damping a pushed arm coasts."""
STILL_TIME = 0.4
"""How long an arm rests before it is held, where it is to hold when released [s]."""
STILL_ROTARY, STILL_LINEAR = 2e-3, 5e-4
"""How far a joint may move meanwhile [rad, m]."""
SLOW_ROTARY, SLOW_LINEAR = 0.05, 0.01
"""Speeds below which an arm that is caught moving counts as stopped [rad/s, m/s]: above the noise of velocities."""
YIELD_SHARE = 0.03
"""Torque at which a hold yields to a push, as a share of the effort limit."""
SLIDE_ROTARY, SLIDE_LINEAR = 2e-3, 5e-4
"""How far a joint yields before it slides, unless told [rad, m]: rather long, as too short a way makes it hum."""
LEAST_ROTARY, LEAST_LINEAR = 0.05, 0.01
"""Least speeds at which the friction law is asked [rad/s, m/s]: below them it may have its breakaway peak."""
SPEED_SHARE = 0.5
"""Fastest motion by hand, as a share of a joint's velocity limit."""
CAREFUL_DT = 5e-3
"""Time between two ticks for which gains are made when none is told [s]: careful for any faster loop."""


class FloatLaw:
    """Lets an arm float, so that a hand can move it.

    Pass ``until=law.must_stop`` to ControlLoop.run: it ends the run when a joint is too fast, or drifts again and
    again; ``stop_reason`` then says so. A drift is first held where it is found, until somebody pushes.

    Attributes:
        robot: The arm, payload included.
        share: c, per joint, shape (n,); 0 for locked joints.
        damping: D [N m s/rad or N s/m], shape (n,); set at the reset where none was given.
        locked: Names of the locked joints.
        hold_when_released: Whether an arm at rest is held until it is pushed.
        stop_kind: "too fast" or "drifting" when the run must end, "" while it need not.
        stop_reason: Why it must end, in one sentence.
    """

    uses_wrench = False

    def __init__(
        self,
        robot: Robot,
        friction: FrictionLaw | None = None,
        share: npt.ArrayLike = 0.0,
        damping: npt.ArrayLike | None = None,
        locked: Sequence[str] = (),
        hold_when_released: bool = False,
        cushion: Cushion | None = Cushion(),  # noqa: B008  frozen
        *,
        limits: Limits | None = None,
        dt: float = CAREFUL_DT,
        gravity: bool = True,
        watch: WatchSettings = WatchSettings(),  # noqa: B008  frozen
        yields: npt.ArrayLike | None = None,
    ) -> None:
        """Make the law.

        Args:
            robot: The arm, payload included.
            friction: Its friction, link side; needed where a share is compensated.
            share: Share of the friction that is compensated, 0 to 1, one number or n.
            damping: Damping [N m s/rad or N s/m], one number or n; None slows each joint in half a second, with the
                inertia that it has at the reset.
            locked: Names of joints that are held where they are at the reset.
            hold_when_released: Hold the arm when it has come to rest, until it is pushed.
            cushion: Cushions in front of the joint limits; None for none.
            limits: The limits of the run (``safety.limits``); None for the robot's.
            dt: Nominal time between two ticks [s]; the gains of locks and holds follow from it.
            gravity: Whether to add g(q); False on a plant that does so itself.
            watch: When the arm counts as too fast or drifting.
            yields: How far the joints yield before they slide [rad or m], one number or n; None for 2 mrad and 0.5 mm.
                Shorter helps a push to break them loose, but must not be shorter than they really yield.

        Raises:
            InputError: A share above 1, a joint that does not exist, or another value that makes no sense.
        """
        n, names = robot.n, robot.joint_names
        self.robot = robot
        self.adds_gravity = bool(gravity)
        self.locked = tuple(locked)
        self.hold_when_released = bool(hold_when_released)
        self.stop_kind: Literal["", "too fast", "drifting"] = ""
        self.stop_reason = ""
        self._free = free_joints(names, self.locked)
        self.share = _share(share, names, self._free)
        if friction is None and np.any(self.share > 0.0):
            raise InputError("a share of the friction is to be compensated, and none is known: give the friction law")
        if friction is not None and not isinstance(friction, FrictionLaw):
            raise InputError(f"{friction!r} is no friction law: it lacks torque(dq)")
        self._friction = friction
        self._given_damping = None if damping is None else gain(damping, "damping", n)
        self.damping = np.zeros(n) if self._given_damping is None else self._given_damping
        self._effort = np.asarray(robot.effort_limit if limits is None else limits.effort)
        self._velocity = np.asarray(robot.velocity_limit if limits is None else limits.velocity)
        self._bounds = (robot.lower, robot.upper) if limits is None else (limits.lower, limits.upper)
        self._dt = checked_dt(dt)
        self._cushion, self._cushions = cushion, None if cushion is None else self._placed(cushion, np.zeros(n))
        turns = np.array(rotary(robot), dtype=bool)
        speed = np.where(turns, watch.speed_rotary, watch.speed_linear)
        # A velocity limit of 0 or NaN is a placeholder that bounds nothing here; the safety filter refuses it.
        own = np.where(self._velocity > 0.0, SPEED_SHARE * self._velocity, np.inf)
        self._speed_watch = SpeedWatch(np.minimum(speed, own))
        slow, fast = np.where(turns[:, None], watch.drift_rotary, watch.drift_linear).T
        self._drift_watch = DriftWatch(watch.drift_time, slow, np.where(self._free, fast, 0.0))
        self._most_drifts, self._drifts = watch.drifts, 0
        way = gain(np.where(turns, SLIDE_ROTARY, SLIDE_LINEAR) if yields is None else yields, "yields", n)
        if not np.all(way > 0.0):
            raise InputError(f"yields is {way.tolist()}; expected ways above 0 [rad or m]")
        self._slide = Slide(way)
        self._least_speed = frozen(np.where(turns, LEAST_ROTARY, LEAST_LINEAR))
        self._still_watch = StillWatch(np.where(turns, STILL_ROTARY, STILL_LINEAR), STILL_TIME)
        self._hold = YieldingHold(np.zeros(n), np.zeros(n), np.zeros(n), np.where(turns, SLOW_ROTARY, SLOW_LINEAR))
        self._lock_kp = self._lock_kd = frozen(np.zeros(n))
        self._places = frozen(np.zeros(n))
        self._seen: Array | None = None
        self._last: float | None = None
        self._news: list[tuple[str, str]] = []
        self._tau = np.zeros(n)

    def with_robot(self, robot: Robot) -> Self:
        """Return the law for the arm with another payload, in the state that this one is in.

        Gains and damping follow the new inertias. The loop runs both laws while it passes from one to the other, and
        each has a past of its own: from then on ask the new one whether it ``must_stop``.

        Raises:
            InputError: The robot has other joints.
        """
        if robot.joint_names != self.robot.joint_names:
            raise InputError(f"the robot's joints {list(robot.joint_names)} are not {list(self.robot.joint_names)}")
        other = copy.copy(self)
        other.robot = robot
        other._tau = np.zeros(robot.n)
        for name in ("_slide", "_hold", "_speed_watch", "_drift_watch", "_still_watch", "_news"):
            setattr(other, name, copy.copy(getattr(self, name)))
        if self._seen is not None:
            other._fit(self._seen)
        return other

    @property
    def holding(self) -> bool:
        """Whether the arm is being held: because it was released, or because it drifted."""
        return self._hold.holding

    @property
    def drifts(self) -> int:
        """How often a drift was found since the reset."""
        return self._drifts

    def reset(self, sample: Sample) -> None:
        """Forget the past; lock the locked joints where they are, and fit gains and damping to the inertias there."""
        self._seen = self._places = frozen(sample.q)
        self._last = None
        self._drifts, self.stop_kind, self.stop_reason = 0, "", ""
        self._news.clear()
        for watch in (self._speed_watch, self._drift_watch, self._still_watch, self._slide, self._hold):
            watch.clear()
        self._fit(self._seen)

    def _fit(self, q: Array) -> None:
        """Fit gains, damping and cushions to the inertias at q [rad or m], shape (n,)."""
        robot = self.robot
        inertia = joint_inertias(robot, q)
        gains = careful_gains(robot, q, self._effort, self._dt)
        rotor = np.asarray(robot.rotor_inertia)
        # Behind a compliant gear a damper on the motor meets the rotor first: see control/careful_gains.py.
        most = np.where(rotor > 0.0, rotor / (ROTOR_TICKS * self._dt), np.inf)
        if self._given_damping is None:
            self.damping = frozen(np.where(self._free, np.minimum(inertia / SLOWING_TIME, most), 0.0))
        if self._cushion is not None:
            critical = self._placed(self._cushion, np.zeros(robot.n))
            damper = np.minimum(np.sqrt(2.0 * critical.most / critical.margin * inertia), most)
            self._cushions = self._placed(self._cushion, damper)
        free = self._free
        kp = np.where(np.isfinite(gains.kp), gains.kp, 0.0)
        self._lock_kp, self._lock_kd = frozen(np.where(free, 0.0, kp)), frozen(np.where(free, 0.0, gains.kd))
        effort = np.where(np.isfinite(self._effort), self._effort, kp)
        self._hold.set_gains(
            np.where(free, kp, 0.0), np.where(free, gains.kd, 0.0), np.maximum(YIELD_SHARE * effort, 1e-9)
        )

    def torque(self, sample: Sample, time: float) -> Array:
        """Return the torques [N m or N], shape (n,); always the same array."""
        q, dq, tau = sample.q, sample.dq, self._tau
        elapsed = 0.0 if self._last is None else min(max(time - self._last, 0.0), 1.0)
        self._last, self._seen = time, q
        if self.adds_gravity:
            self.robot.gravity(q, out=tau)
        else:
            tau[:] = 0.0
        self._decide(q, time)
        held = self._hold.torque(q, dq, elapsed)
        # A hold is not to be helped across the friction that holds with it.
        tau += (1.0 - self._hold.level) * self._friction_share(q, dq, elapsed)
        tau -= np.where(self._free, self.damping, 0.0) * dq
        if self._cushions is not None:
            tau += self._cushions.torque(q, dq)
        if self.locked:
            tau += self._lock_kp * (self._places - q) - self._lock_kd * dq
        if held is not None:
            tau += held
        return tau

    def must_stop(self, sample: Sample) -> bool:
        """Say whether the run must end; for ``until`` of ControlLoop.run."""
        joint = self._speed_watch.too_fast(sample.dq)
        if joint is not None and not self.stop_reason:
            unit = position_units(self.robot)[joint]
            self.stop_kind = "too fast"
            self.stop_reason = (
                f"joint '{self.robot.joint_names[joint]}' moves at {abs(sample.dq[joint]):.3g} {unit}/s, and "
                f"{self._speed_watch.most[joint]:.3g} {unit}/s is the most while floating; it was thrown, or runs away"
            )
            self._news.append(("too_fast", self.stop_reason))
        return bool(self.stop_reason)

    def news(self) -> list[tuple[str, str]]:
        """Return what happened since the last call, as kinds and messages of events, and forget it."""
        told, self._news = self._news, []
        return told

    def _friction_share(self, q: Array, dq: Array, elapsed: float) -> Array:
        """Return c u |f|, with f of the way that the joint slides [N m or N], shape (n,); 0 where no f is known."""
        if self._friction is None:
            return np.zeros(len(q))
        state = self._slide.state(q, elapsed)
        way = np.where(state < 0.0, -1.0, 1.0)
        level = np.abs(self._friction.torque(way * np.maximum(np.abs(dq), self._least_speed)))
        return np.asarray(self.share * state * level)

    def _decide(self, q: Array, time: float) -> None:
        """Catch an arm that drifts, or one that was released."""
        hold = self._hold
        if hold.holding or hold.level > 0.0:
            self._drift_watch.clear()
            self._still_watch.clear()
            return
        none = np.zeros(len(q), dtype=bool)
        drift = self._drift_watch.drifting(time, q, none if self._cushions is None else self._cushions.touched(q))
        if drift is not None:
            self._caught(*drift)
            hold.catch(q)
        elif self.hold_when_released and self._still_watch.still(time, q):
            hold.catch(q)

    def _caught(self, joint: int, speed: float) -> None:
        self._drifts += 1
        unit = position_units(self.robot)[joint]
        drift = f"joint '{self.robot.joint_names[joint]}' drifts at {speed:.2g} {unit}/s"
        self._news.append(("drift", f"{drift}; the arm is held until it is pushed"))
        if self._drifts >= self._most_drifts:
            self.stop_kind = "drifting"
            self.stop_reason = (
                f"{drift}, and {self._drifts} drifts were found by now: the gravity model does not fit, or an unknown "
                "payload is there. Calibrate, state the payload, or take a smaller share of the friction"
            )

    def _placed(self, cushion: Cushion, damping: Array) -> Cushions:
        margin = np.where(rotary(self.robot), cushion.rotary, cushion.linear)
        effort = np.where(np.isfinite(self._effort) & self._free, self._effort, 0.0)
        return Cushions(*self._bounds, margin, cushion.effort * effort, damping)


def free_joints(names: Sequence[str], locked: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Return which joints are to float, shape (n,), bool: those that are not locked.

    Raises:
        InputError: One that is locked does not exist.
    """
    for name in locked:
        if name not in names:
            raise InputError(f"locked: there is no joint '{name}'; the joints are {listed(names)}")
    return np.array([name not in locked for name in names], dtype=bool)


def _share(value: npt.ArrayLike, names: tuple[str, ...], free: npt.NDArray[np.bool_]) -> Array:
    given = gain(value, "share", len(names))
    if (over := np.flatnonzero((given > 1.0) & free)).size:
        joint = int(over[0])
        raise InputError(
            f"share of joint '{names[joint]}' is {given[joint]:g}; expected 0 to 1. Compensating more friction than "
            "there is feeds energy in, and the arm runs away"
        )
    return frozen(np.where(free, given, 0.0))
