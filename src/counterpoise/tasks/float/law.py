"""The law of a floating arm: gravity, part of the friction, damping, and cushions in front of the joint limits.

    τ = g(q) + c u |f(q̇)| − D q̇ + cushions             joints that float
    τ = g(q) + K_p (q_0 − q) − K_d q̇                   locked joints, q_0 where they were at the start

c is the fraction of the friction f that is compensated, u from −1 to 1 says which way the joint slides (``Slide``), D
is the damping. A pushed arm is sure to stop and stay only where |error of g| < (1 − c) F_c at every joint;
tasks/float/check.py looks before it is let go. A fraction above 1 feeds energy in: the arm runs away; refused.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Literal, Self

import numpy as np
import numpy.typing as npt

from ...control import ROTOR_TICKS, Limits, checked_dt, default_gains, gain
from ...dynamics import FrictionLaw, Robot, joint_inertias, position_units, refuse_command_units, rotary
from ...errors import InputError, listed
from ...foundation import Array, frozen
from ...recording import Sample
from .hidden import UnseenLoads, load_places
from .load_watch import LoadWatch
from .settings import Cushion, FloatSettings
from .watch import DriftWatch, SpeedWatch, StillWatch

FORGETTING_TIME = 0.5
"""T [s]."""


class Slide:
    """Follows n joints.

    How a joint stands against its dry friction: yielding, or sliding one way. Before it slides a joint yields
    elastically (presliding: a milliradian or so), and friction is a spring there. A torque that follows the velocity
    cannot help to break it loose, and feeds energy into that spring: the joint hums where it should rest. So the state
    that friction is compensated by follows the travel instead, as the stop of Prandtl does, and forgets it in a time T:

        u ← clip(e^(−dt/T) u + Δq / width, −1, 1)

    At ±1 the joint slides; after a turn u unwinds over 2 · width. A torque c F u is a fraction of a spring, then of a
    sliding friction. It feeds no energy in as long as ``width`` is not shorter than the joint really yields, but for
    what it forgets, which the law's damping outweighs. A joint at rest, or slower than width / T, is left to its own
    friction, which then holds it whole.
    """

    def __init__(self, width: Array) -> None:
        """Let a joint yield by ``width`` [rad or m], > 0, shape (n,), before it slides."""
        self._width = frozen(width)
        self._last: Array | None = None
        self._u = np.zeros(len(self._width))

    def clear(self) -> None:
        """Forget the past: all joints stand."""
        self._last = None
        self._u = np.zeros(len(self._width))

    def state(self, q: Array, elapsed: float) -> Array:
        """Return u, from −1 to 1, shape (n,).

        Args:
            q: Positions [rad or m], shape (n,).
            elapsed: Time since the last call [s].
        """
        way = 0.0 if self._last is None else (q - self._last) / self._width
        self._u = np.clip(math.exp(-elapsed / FORGETTING_TIME) * self._u + way, -1.0, 1.0)
        self._last = q
        return self._u


MOST_OF_RANGE = 0.1
"""A margin is at most this share of the joint's range."""


class Cushions:
    """The cushions of n joints. Where a limit is infinite there is none.

    A cushion in front of a joint limit is a soft spring and a damper that push one way only, out of the limit. Within
    ``margin`` of a limit, at depth p = margin − distance ≥ 0 and speed v towards the limit:

        τ = min(max(k p + d w v, 0), b) away from the limit,   w = min(p / margin, 1)

    k is such that the spring alone gives b/2 at the limit. The torque is continuous in position and speed, at most b,
    and never points into the limit. On the way out the damper takes from the spring, so that an arm is not thrown back.

    Attributes:
        margin: Where they begin, before the limits [rad or m], shape (n,).
        most: Largest torque b [N m or N], shape (n,).
    """

    def __init__(self, lower: Array, upper: Array, margin: Array, most: Array, damping: Array) -> None:
        """Place the cushions.

        Args:
            lower: Lower limits [rad or m], shape (n,); −inf for none.
            upper: Upper limits [rad or m], shape (n,); +inf for none.
            margin: Margins [rad or m], > 0, shape (n,); at most a tenth of the joint's range is used.
            most: Largest torques b [N m or N], shape (n,); 0 for a joint without cushions.
            damping: Dampers d [N m s/rad or N s/m], shape (n,).
        """
        room = MOST_OF_RANGE * (upper - lower)
        self.margin = frozen(np.where(np.isfinite(room) & (room > 0.0), np.minimum(margin, room), margin))
        self.most = frozen(most)
        self._stiffness = 0.5 * self.most / self.margin
        self._damping = frozen(damping)
        self._low, self._high = frozen(lower + self.margin), frozen(upper - self.margin)

    def torque(self, q: Array, dq: Array) -> Array:
        """Return the torques [N m or N], shape (n,).

        Args:
            q: Positions [rad or m], shape (n,).
            dq: Velocities [rad/s or m/s], shape (n,).
        """
        return self._push(self._low - q, -dq) - self._push(q - self._high, dq)

    def touched(self, q: Array) -> npt.NDArray[np.bool_]:
        """Say of each joint whether it is within a cushion, shape (n,), bool."""
        return np.asarray(((q < self._low) | (q > self._high)) & (self.most > 0.0))

    def _push(self, depth: Array, speed: Array) -> Array:
        """Return the torque away from one limit, from 0 to ``most``."""
        depth = np.maximum(depth, 0.0)  # an infinite limit gives depth −inf, so 0
        inside = np.minimum(depth / self.margin, 1.0)
        return np.clip(self._stiffness * depth + self._damping * inside * speed, 0.0, self.most)


FADE_IN, FADE_OUT = 0.3, 0.15
"""Times over which the hold comes and goes [s]."""
BRAKE_IN = 0.08
"""Time over which it comes to an arm that moves faster than slowly [s]."""
MOST = 2.0
"""Largest torque of the hold over its threshold."""
MOST_BORNE = 0.9
"""Largest part of a load that is borne beside the spring, over the threshold."""
BEARABLE = 1.6
"""Largest load that it holds, over the threshold: what is borne and what the spring takes, with some to spare."""
BRAKING_TIME = 1.0
"""Longest time that an arm is slowed down before it is held where it is [s]."""


class YieldingHold:
    """Holds an arm of n joints where it was caught, until pushed.

    It is PD about an anchor that fades in, and lets go as soon as somebody pushes against it. There is no force sensor.
    A push shows in the hold's own spring: when it has to bear more than ``threshold`` at any joint, somebody wants the
    arm elsewhere, and the hold fades out. What it bears below that (an error of the gravity model, a hand resting on
    the arm) it holds against. Its torque never exceeds twice the threshold.

    An arm that is caught while it moves is first slowed down by the damper alone; the anchor is where it comes to rest.
    Where a load was seen to pull it, the hold bears that load beside its spring, but never more than it may bear
    without yielding: if it was a hand after all, and the hand is gone, the spring takes it.

    Attributes:
        threshold: Torque of its spring at which it yields [N m or N], shape (n,).
        level: How much of it is on: 0 for none, 1 for all.
    """

    def __init__(self, kp: Array, kd: Array, threshold: Array, slow: Array) -> None:
        """Begin without holding.

        Args:
            kp: Stiffness [N m/rad or N/m], shape (n,); 0 for joints that it leaves alone.
            kd: Damping [N m s/rad or N s/m], shape (n,).
            threshold: Torque at which it yields [N m or N], shape (n,).
            slow: Speed below which a joint has come to rest [rad/s or m/s], shape (n,).
        """
        self._slow = frozen(slow)
        self.set_gains(kp, kd, threshold)
        self.clear()

    def set_gains(self, kp: Array, kd: Array, threshold: Array, most: Array | None = None) -> None:
        """Take other gains, in the state that it is in; arguments as when it was made.

        Args:
            kp: Stiffness [N m/rad or N/m], shape (n,).
            kd: Damping [N m s/rad or N s/m], shape (n,).
            threshold: Torque at which it yields [N m or N], shape (n,).
            most: Largest torque of its spring, before it counts as a push [N m or N], shape (n,); None for any.
        """
        self._kp, self._kd, self.threshold = frozen(kp), frozen(kd), frozen(threshold)
        self._most = None if most is None else frozen(most)

    def clear(self) -> None:
        """Let go at once and forget the past."""
        self.level = 0.0
        self._on = False
        self._braking = 0.0
        self._anchor: Array | None = None
        self._borne: Array | float = 0.0

    @property
    def holding(self) -> bool:
        """Whether it holds, or is about to."""
        return self._on

    def catch(self, q: Array, load: Array | None = None) -> None:
        """Hold from now on where the arm is, or where it comes to rest.

        Args:
            q: Positions [rad or m], shape (n,).
            load: Torques that hold a load that was seen to pull [N m or N], shape (n,); None for none.
        """
        self._anchor = frozen(q)
        most = MOST_BORNE * self.threshold
        self._borne = 0.0 if load is None else frozen(np.where(self._kp > 0.0, np.clip(load, -most, most), 0.0))
        self._on = True
        self._braking = BRAKING_TIME

    def can_bear(self, load: Array) -> bool:
        """Say whether it can hold a load that takes these torques [N m or N], shape (n,), without yielding."""
        return bool(np.all((np.abs(load) <= BEARABLE * self.threshold) | (self._kp <= 0.0)))

    def let_go(self) -> None:
        """Fade out."""
        self._on = False

    def torque(self, q: Array, dq: Array, elapsed: float) -> Array | None:
        """Return the torques [N m or N], shape (n,); None while it is wholly off.

        Args:
            q: Positions [rad or m], shape (n,).
            dq: Velocities [rad/s or m/s], shape (n,).
            elapsed: Time since the last call [s].
        """
        if self._anchor is None:
            return None
        if self._braking > 0.0:
            self._braking = 0.0 if np.all(np.abs(dq) <= self._slow) else self._braking - elapsed
            self._anchor = frozen(q)
        spring = self._kp * (self._anchor - q)
        if self._on and np.any(self.level * np.abs(spring) > self.threshold):
            self._on = False
        if self._most is not None:
            spring = np.clip(spring, -self._most, self._most)
        fade = BRAKE_IN if self._braking > 0.0 else FADE_IN
        step = elapsed / fade if self._on else -elapsed / FADE_OUT
        self.level = min(max(self.level + step, 0.0), 1.0)
        if self.level == 0.0 and not self._on:
            self._anchor = None
            return None
        most = MOST * self.threshold
        return np.asarray(self.level * np.clip(self._borne + spring - self._kd * dq, -most, most))


SLOWING_TIME = 0.5
"""Time in which the default damping alone slows a joint to 1/e [s]: without damping a pushed arm coasts."""
STILL_TIME = 0.4
"""How long an arm rests before it is held, where it is to hold when released [s]."""
STILL_ROTARY, STILL_LINEAR = 2e-3, 5e-4
"""How far a joint may move meanwhile [rad, m]."""
SLOW_ROTARY, SLOW_LINEAR = 0.05, 0.01
"""Speeds below which an arm that is caught moving counts as stopped [rad/s, m/s]: above the noise of velocities."""
SUSPECTED_TIME = 3.0
"""How long a load that was held, and then let go by a push, is looked for after a shorter way [s]."""
UNEXPLAINED = 2.0
"""How many times longer than others a drift goes on that no load explains."""
YIELD_SHARE = 0.03
"""Torque at which a hold yields to a push, as a share of the effort limit."""
SLIDE_ROTARY, SLIDE_LINEAR = 2e-3, 5e-4
"""How far a joint yields before it slides, unless told [rad, m]: rather long, as too short a way makes it hum."""
LEAST_ROTARY, LEAST_LINEAR = 0.05, 0.01
"""Least speeds at which the friction law is asked [rad/s, m/s]: below them it may have its breakaway peak."""
SPEED_SHARE = 0.5
"""Fastest motion by hand, as a share of a joint's velocity limit."""
FULL_REACH = 1e6
"""Position error beyond any, where a spring is not bounded [rad or m]."""
CAREFUL_DT = 5e-3
"""Time between two ticks for which gains are made when none is told [s]: careful for any faster loop."""


class FloatLaw:
    """Lets an arm float, so that a hand can move it.

    Pass ``until=law.must_stop`` to ControlLoop.run: it ends the run when a joint is too fast, or drifts again and
    again; ``stop_reason`` then says so. A drift is first held where it is found, until somebody pushes.

    Attributes:
        robot: The arm, payload included.
        friction_fraction: c, per joint, shape (n,); 0 for locked joints.
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
        settings: FloatSettings = FloatSettings(),  # noqa: B008  frozen
        *,
        limits: Limits | None = None,
        dt: float = CAREFUL_DT,
        gravity: bool = True,
        softer: npt.ArrayLike = 1.0,
        unseen: UnseenLoads | None = None,
    ) -> None:
        """Make the law.

        Args:
            robot: The arm, payload included.
            settings: How it floats; with a fraction of the friction that is compensated, the friction law too.
            limits: The limits of the run (``safety.limits``); None for the robot's.
            dt: Nominal time between two ticks [s]; the gains of locks and holds follow from it.
            gravity: Whether to add g(q); False on a plant that does so itself.
            softer: Fraction of the gains of locks and holds, one number or n, for joints that swing under the whole of
                them (``softer`` of tasks/rotors/measurement.py).
            unseen: Loads that the check before may have let pass: the watch then looks for them after a shorter way.
                None where no check was made, or where nothing could hide.

        Raises:
            InputError: A fraction above 1, a joint that does not exist, a calibration in command units, or another
                value that makes no sense.
        """
        refuse_command_units(robot)
        n, names = robot.n, robot.joint_names
        self.robot = robot
        self.adds_gravity = bool(gravity)
        self.locked = settings.locked
        self.hold_when_released = bool(settings.hold_when_released)
        self.stop_kind: Literal["", "too fast", "drifting"] = ""
        self.stop_reason = ""
        self._free = free_joints(names, self.locked)
        self.friction_fraction = _friction_fraction(settings.friction_fraction, names, self._free)
        friction, damping, cushion, watch = settings.friction, settings.damping, settings.cushion, settings.watch
        if friction is None and np.any(self.friction_fraction > 0.0):
            raise InputError(
                "a fraction of the friction is to be compensated, and none is known: give the friction law"
            )
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
        watched = np.where(self._free, fast, 0.0)
        self._drift_watch = DriftWatch(watch.drift_time, slow, watched)
        self._long_watch = DriftWatch(UNEXPLAINED * watch.drift_time, slow, watched)
        self._drift_time, self._least = watch.drift_time, frozen(0.5 * fast)
        self._most_drifts, self._drifts = watch.drifts, 0
        far, near = np.where(turns[:, None], watch.load_rotary, watch.load_linear).T
        self._far, self._near = frozen(far), frozen(near)
        self._slow = frozen(np.where(turns, SLOW_ROTARY, SLOW_LINEAR))
        self._unseen = unseen
        self._load_watch = self._loads_watched(unseen)
        usual = np.where(turns, SLIDE_ROTARY, SLIDE_LINEAR)
        way = gain(usual if settings.yields is None else settings.yields, "yields", n)
        if not np.all(way > 0.0):
            raise InputError(f"yields is {way.tolist()}; expected distances above 0 [rad or m]")
        self._slide = Slide(way)
        self._softer = gain(softer, "softer", n, most=1.0)
        self._least_speed = frozen(np.where(turns, LEAST_ROTARY, LEAST_LINEAR))
        self._still_watch = StillWatch(np.where(turns, STILL_ROTARY, STILL_LINEAR), STILL_TIME)
        self._hold = YieldingHold(np.zeros(n), np.zeros(n), np.zeros(n), self._slow)
        self._lock_kp = self._lock_kd = frozen(np.zeros(n))
        self._reach: Array | None = None
        self._places = frozen(np.zeros(n))
        self._seen: Array | None = None
        self._last: float | None = None
        self._held_at = -math.inf
        self._news: list[tuple[str, str]] = []
        self._tau, self._extra = np.zeros(n), np.zeros(n)

    def _loads_watched(self, unseen: UnseenLoads | None) -> LoadWatch:
        places = load_places(self.robot) if unseen is None else unseen.places
        rotor = self.robot.rotor_inertia  # measured ones too, which the places' model may lack
        free, friction = self._free, self._friction
        return LoadWatch(places, rotor, free, self._far, self._least, self._slow, friction, unseen, self._near)

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
        other._tau, other._extra = np.zeros(robot.n), np.zeros(robot.n)
        other._unseen = None
        other._load_watch = other._loads_watched(None)  # what the check let pass may be the load that is now known
        for name in ("_slide", "_hold", "_speed_watch", "_drift_watch", "_long_watch", "_still_watch", "_news"):
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
        self._held_at = -math.inf
        self._load_watch.suspect(None)
        self._news.clear()
        self._extra = np.zeros(len(self._seen))
        for watch in (self._speed_watch, *self._motion_watches, self._slide, self._hold):
            watch.clear()
        self._fit(self._seen)
        if self._unseen is not None and self._unseen.hides.any():
            self._news.append(("hidden_load", self._told_hidden(self._unseen)))

    def _told_hidden(self, unseen: UnseenLoads) -> str:
        joints = np.flatnonzero(unseen.hides.any(axis=1))
        places = np.flatnonzero(unseen.hides.any(axis=0))
        worst = {unseen.places.links[k]: 0.0 for k in places}
        for k in places:
            worst[unseen.places.links[k]] = max(worst[unseen.places.links[k]], float(unseen.mass[k]))
        loads = ", ".join(f"{mass:.2g} kg on '{link}'" for link, mass in worst.items())
        units = position_units(self.robot)
        ways = ", ".join(f"'{self.robot.joint_names[j]}' {self._near[j]:.2g} {units[j]}" for j in joints)
        return (
            f"loads of up to {loads} may go unnoticed by the check; a joint that moves as if they pulled it is held "
            f"after: {ways}"
        )

    def _fit(self, q: Array) -> None:
        """Fit gains, damping and cushions to the inertias at q [rad or m], shape (n,)."""
        robot = self.robot
        inertia = joint_inertias(robot, q)
        gains = default_gains(robot, q, self._effort, self._dt)
        kd = self._softer * gains.kd
        rotor = np.asarray(robot.rotor_inertia)
        # Behind a compliant gear a damper on the motor meets the rotor first: see control/gains.py.
        most = np.where(rotor > 0.0, rotor / (ROTOR_TICKS * self._dt), np.inf)
        if self._given_damping is None:
            self.damping = frozen(np.where(self._free, np.minimum(inertia / SLOWING_TIME, most), 0.0))
        if self._cushion is not None:
            critical = self._placed(self._cushion, np.zeros(robot.n))
            damper = np.minimum(np.sqrt(2.0 * critical.most / critical.margin * inertia), most)
            self._cushions = self._placed(self._cushion, damper)
        free = self._free
        kp = np.where(np.isfinite(gains.kp), self._softer * gains.kp, 0.0)
        self._lock_kp, self._lock_kd = frozen(np.where(free, 0.0, kp)), frozen(np.where(free, 0.0, kd))
        self._reach = gains.reach
        effort = np.where(np.isfinite(self._effort), self._effort, kp)
        self._hold.set_gains(
            np.where(free, kp, 0.0),
            np.where(free, kd, 0.0),
            np.maximum(YIELD_SHARE * effort, 1e-9),
            None if gains.reach is None else kp * np.where(np.isfinite(gains.reach), gains.reach, FULL_REACH),
        )

    def torque(self, sample: Sample, time: float) -> Array:
        """Return the torques [N m or N], shape (n,); always the same array."""
        q, dq, tau, extra = sample.q, sample.dq, self._tau, self._extra
        elapsed = 0.0 if self._last is None else min(max(time - self._last, 0.0), 1.0)
        self._last, self._seen = time, q
        self._decide(sample, time, elapsed)
        held = self._hold.torque(q, dq, elapsed)
        # A hold is not to be helped across the friction that holds with it.
        extra[:] = (1.0 - self._hold.level) * self._friction_torque(q, dq, elapsed)
        extra -= np.where(self._free, self.damping, 0.0) * dq
        if self._cushions is not None:
            extra += self._cushions.torque(q, dq)
        if self.locked:
            error = self._places - q
            if self._reach is not None:
                error = np.clip(error, -self._reach, self._reach)
            extra += self._lock_kp * error - self._lock_kd * dq
        if held is not None:
            extra += held
        if self.adds_gravity:
            self.robot.gravity(q, out=tau)
            tau += extra
        else:
            tau[:] = extra
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

    def _friction_torque(self, q: Array, dq: Array, elapsed: float) -> Array:
        """Return c u |f|, with f of the way that the joint slides [N m or N], shape (n,); 0 where no f is known."""
        if self._friction is None:
            return np.zeros(len(q))
        state = self._slide.state(q, elapsed)
        way = np.where(state < 0.0, -1.0, 1.0)
        level = np.abs(self._friction.torque(way * np.maximum(np.abs(dq), self._least_speed)))
        return np.asarray(self.friction_fraction * state * level)

    def _decide(self, sample: Sample, time: float, elapsed: float) -> None:
        """Catch an arm that drifts, one that a load pulls, or one that was released."""
        q, hold = sample.q, self._hold
        if hold.holding or hold.level > 0.0:
            for watch in self._motion_watches:
                watch.clear()
            self._held_at = time
            return
        if time - self._held_at > SUSPECTED_TIME or time < self._held_at:
            self._load_watch.suspect(None)
        touched = np.zeros(len(q), dtype=bool) if self._cushions is None else self._cushions.touched(q)
        load = self._load_watch.pulled(time, q, sample.dq, self._extra, elapsed, touched)
        drift = self._drift_watch.drifting(time, q, touched)
        if drift is not None:
            # An even motion that no load explains is most often a hand: it is a drift if it goes on for longer.
            drift = drift if self._load_watch.explains(drift[0], self._drift_time) else None
        drift = self._long_watch.drifting(time, q, touched) or drift
        if drift is not None:
            joint, speed = drift
            self._caught(f"{self._named(joint)} drifts at {speed:.2g} {position_units(self.robot)[joint]}/s")
            hold.catch(q)
        elif load is not None:
            unit = position_units(self.robot)[load.joint]
            pulled = (
                f"{self._named(load.joint)} has gone {load.travel:.2g} {unit} at {load.speed:.2g} {unit}/s as a load "
                f"of about {load.mass:.2g} kg on link '{self._load_watch.link(load)}' would pull it"
            )
            self._caught(pulled)
            self._load_watch.suspect(load.joint)
            hold.catch(q, load.holding)
            if not hold.can_bear(load.holding):
                self._end(pulled, "holding such a load takes more torque than the hold may use")
        elif self.hold_when_released and self._still_watch.still(time, q):
            hold.catch(q)

    @property
    def _motion_watches(self) -> tuple[DriftWatch, DriftWatch, LoadWatch, StillWatch]:
        return self._drift_watch, self._long_watch, self._load_watch, self._still_watch

    def _named(self, joint: int) -> str:
        return f"joint '{self.robot.joint_names[joint]}'"

    def _caught(self, drift: str) -> None:
        self._drifts += 1
        self._news.append(("drift", f"{drift}; the arm is held until it is pushed"))
        if self._drifts >= self._most_drifts:
            self._end(drift, f"{self._drifts} drifts were found by now")

    def _end(self, drift: str, why: str) -> None:
        self.stop_kind = "drifting"
        self.stop_reason = (
            f"{drift}, and {why}: the gravity model does not fit, or an unknown payload is there. Calibrate, state the "
            "payload, or compensate a smaller fraction of the friction"
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


def _friction_fraction(value: npt.ArrayLike, names: tuple[str, ...], free: npt.NDArray[np.bool_]) -> Array:
    given = gain(value, "friction_fraction", len(names))
    if (over := np.flatnonzero((given > 1.0) & free)).size:
        joint = int(over[0])
        raise InputError(
            f"friction_fraction of joint '{names[joint]}' is {given[joint]:g}; expected 0 to 1. Compensating "
            "more friction than there is feeds energy in, and the arm runs away"
        )
    return frozen(np.where(free, given, 0.0))
