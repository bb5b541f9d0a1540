r"""Force in one direction, position in the others.

With d the direction in which the arm pushes and P = d dᵀ acting on the force part, base frame,

.. math:: w = (1 - P)\,w_{impedance} + d\,\big(f(t) + f_I - d_n\, d^T v\big)

([Raibert1981], with an impedance in the position directions). The law goes through phases:

- *approach*: the tip is moved along d at a bounded speed by the impedance, the spring along d never beyond
  ``approach_force``, until it touches: by the wrist sensor's reading, or, without one, because it stands still
  although the spring pulls with all it may.
- *force*: f starts from the force of that instant, so nothing jumps, and goes to the wanted force at ``force_rate``.
  Once there, the path in the other directions begins; before, its time stands still.
- *held*: nothing was touched within ``reach``, or what was touched gave way by more than ``travel`` or faster than
  ``fall_speed``: the tip stays where it is, held by the impedance, and f fades to zero at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np
import numpy.typing as npt

from ...dynamics import Robot
from ...errors import InputError
from ...foundation import Array
from ...recording import Sample
from .impedance import Impedance
from .tip import direction_of, number_of, tip_state
from .wrist_feedback import WristFeedback

Phase = Literal["approach", "force", "held"]
STANDS = 0.1
"""Without a wrist sensor: the tip touches when it has stood for this long [s] ..."""
STANDING_SHARE = 0.1
"""... slower than this share of the approach speed, with the spring at its bound."""
FALLS = 0.01
"""A tip that has been faster than ``fall_speed`` along d for this long [s] has lost its surface."""
FADES = 0.05
"""Time in which the force is gone once the tip is held [s], or sooner by ``force_rate``."""
INTEGRAL_RATE = 10.0
"""Default rate of the integral on the wrist sensor's reading [1/s]."""
INTEGRAL_SHARE = 0.5
"""The integral never exceeds this share of the wanted force."""
MOST_FORCE = 2.0
"""The force along d, but for its damper, never exceeds this multiple of the wanted one, and never pulls."""
CLOSE = 0.02
"""The path begins when the force, as asked for and as read, is within this share of the wanted one."""


@dataclass(slots=True)
class _Progress:
    """Where the law is.

    Attributes:
        before: Time of the last tick [s]; None before the first.
        start: Where along d the approach began [m]; None before the first tick.
        goal: Where along d the spring pulls to [m].
        standing: For how long the tip has stood against something [s].
        touched: Where along d it first touched [m].
        falling: For how long it has been faster along d than on any surface [s].
        fade: How fast the force goes once the tip is held [N/s].
        ramp: f, the force without integral and damping [N].
        integral: f_I [N].
        path_time: How far along its path the law is [s].
        ready: The force has been reached.
        cut: The filter cut the last torque.
    """

    before: float | None = None
    start: float | None = None
    goal: float = 0.0
    standing: float = 0.0
    touched: float = 0.0
    falling: float = 0.0
    fade: float = 0.0
    ramp: float = 0.0
    integral: float = 0.0
    path_time: float = 0.0
    ready: bool = False
    cut: bool = False


class HybridForce:
    """Pushes with a force along one direction and follows a path in the others.

    Attributes:
        impedance: The law of the position directions; its path is followed once the force has been reached.
        force: The wanted force [N].
        direction: d, base axes, shape (3,): where the arm pushes, into the surface.
        phase: What the law is doing.
        commanded: Force along d asked for in the last tick, damping included [N].
    """

    uses_wrench = False

    def __init__(
        self,
        impedance: Impedance,
        force: float,
        direction: npt.ArrayLike,
        *,
        feedback: WristFeedback | None = None,
        rate: float = INTEGRAL_RATE,
        approach_speed: float = 0.02,
        approach_force: float | None = None,
        contact_force: float | None = None,
        force_rate: float | None = None,
        reach: float = 0.1,
        travel: float = 0.1,
        fall_speed: float = 0.15,
    ) -> None:
        """Make the law.

        Args:
            impedance: Stiffness, damping, link, path and bounds of the other directions; this law then owns it.
            force: Wanted force that the arm exerts along ``direction`` [N], above 0.
            direction: d, base axes, shape (3,).
            feedback: A wrist sensor; None for none.
            rate: Rate of the integral on its reading [1/s].
            approach_speed: Speed towards the surface [m/s].
            approach_force: Largest force of the spring along d while approaching [N]; None for half the wanted one. It
                must be more than what friction of the joints takes.
            contact_force: Reading of the wrist sensor along d that tells of contact [N]; None for a fifth of the
                wanted force.
            force_rate: How fast the force goes to the wanted one [N/s]; None for the whole in one second.
            reach: Longest way of the approach [m].
            travel: How far the touched surface may lie or move beyond where it was first touched, along d [m].
            fall_speed: Speed along d with which no surface gives way [m/s]: more than the path's speed times its
                steepest slope. A faster tip has lost its surface.

        Raises:
            InputError: An argument has no meaning.
        """
        if not isinstance(impedance, Impedance):
            raise InputError(f"impedance is {impedance!r}; expected a counterpoise.control.tip.impedance.Impedance")
        self.impedance = impedance
        self.force = number_of(force, "force", "N")
        self.direction = direction_of(direction, "direction")
        if feedback is not None:
            feedback.refuse_other_arm(impedance.robot)
        self.feedback = feedback
        self._rate = number_of(rate, "rate", "1/s", zero=True)
        self._speed = number_of(approach_speed, "approach_speed", "m/s")
        self._approach_force = number_of(
            0.5 * self.force if approach_force is None else approach_force, "approach_force", "N"
        )
        self._contact_force = number_of(
            0.2 * self.force if contact_force is None else contact_force, "contact_force", "N"
        )
        self._force_rate = number_of(self.force if force_rate is None else force_rate, "force_rate", "N/s")
        self._reach = number_of(reach, "reach", "m")
        self._travel = number_of(travel, "travel", "m")
        self._fall_speed = number_of(fall_speed, "fall_speed", "m/s")
        if not self._stiffness > 0.0:
            named = self.direction.tolist()
            raise InputError(
                f"the impedance has no stiffness along {named}, the direction of the approach; give it some"
            )
        self.phase: Phase = "approach"
        self.commanded = 0.0
        self._events: list[tuple[str, str]] = []
        self._now = _Progress()

    @property
    def adds_gravity(self) -> bool:
        """Whether the torque holds the arm's weight: as the impedance does."""
        return self.impedance.adds_gravity

    @property
    def robot(self) -> Robot:
        """The arm, payload included."""
        return self.impedance.robot

    @property
    def _stiffness(self) -> float:
        return float(self.direction @ self.impedance.stiffness[:3, :3] @ self.direction)

    @property
    def path_time(self) -> float:
        """How far along its path the law is [s]."""
        return self._now.path_time

    def with_robot(self, robot: Robot) -> Self:
        """Return the law for the arm with another payload, going on where this one is."""
        other = type(self)(
            self.impedance.with_robot(robot),
            self.force,
            self.direction,
            feedback=None if self.feedback is None else self.feedback.carrying(self.robot, robot),
            rate=self._rate,
            approach_speed=self._speed,
            approach_force=self._approach_force,
            contact_force=self._contact_force,
            force_rate=self._force_rate,
            reach=self._reach,
            travel=self._travel,
            fall_speed=self._fall_speed,
        )
        other.phase, other.commanded, other._now = self.phase, self.commanded, replace(self._now)
        return other

    def reset(self, sample: Sample) -> None:
        """Start approaching from where the link is."""
        self.impedance.reset(sample)
        if self.feedback is not None:
            self.feedback.reset()
        self.phase, self.commanded, self._now = "approach", 0.0, _Progress()

    def torque(self, sample: Sample, time: float) -> Array:
        """Return the torques [N m or N], shape (n,)."""
        law, d = self.impedance, self.direction
        dt = 0.0 if self._now.before is None else max(time - self._now.before, 0.0)
        self._now.before = time
        state = tip_state(law.robot, sample.q, sample.dq, law.at)
        inertias = law.inertias(sample.q, state, time)
        along, speed = float(d @ state.position), float(d @ state.twist[:3])
        if self._now.start is None:
            self._now.start = self._now.goal = along
        measured = self._measured(sample.q)
        desired, twist = law.path.at(self._now.path_time)
        pose = desired.copy()
        pose[:3, 3] += (along - float(d @ pose[:3, 3])) * d  # the spring of the position directions has none along d
        twist = twist.copy()
        twist[:3] -= float(d @ twist[:3] - speed) * d  # nor has their damper
        wrench = law.spring(state, pose) + inertias.damping @ (twist - state.twist)
        damping = float(d @ inertias.damping[:3, :3] @ d)
        push = self._push(along, speed, damping, measured, dt)
        wrench[:3] += (push - float(d @ wrench[:3])) * d
        self.commanded = push
        if self.phase == "force" and self._now.ready:
            self._now.path_time += dt
        return law.torques(sample, state, wrench, inertias)

    def limited(self, cut: Array) -> None:
        """Stop integrating while the filter cuts the torque."""
        self._now.cut = bool(np.any(np.abs(cut) > 1e-9))

    def news(self) -> list[tuple[str, str]]:
        """Return what happened since the last call."""
        wrist = [] if self.feedback is None else self.feedback.news()
        events, self._events = [*self.impedance.news(), *wrist, *self._events], []
        return events

    def _push(self, along: float, speed: float, damping: float, measured: float | None, dt: float) -> float:
        """Return the force along d of this tick [N], and move the phase on."""
        if self.phase == "approach":
            push = self._approach(along, speed, damping, dt)
            if self._touches(speed, push, measured, dt):
                # From here on the force is ramp − damping · speed: it begins as what was just asked for.
                self.phase, self._now.touched, self._now.ramp = "force", along, push + damping * speed
                self._events.append(("contact", f"touched after {along - (self._now.start or 0.0):.4f} m"))
            elif self._now.goal - (self._now.start or 0.0) >= self._reach:
                self._hold(
                    along,
                    push + damping * speed,
                    f"nothing was touched within {self._reach:g} m; the tip is held there",
                )
            return push
        if self.phase == "force":
            self._now.ramp = _towards(self._now.ramp, self.force, self._force_rate * dt)
            self._integrate(measured, dt)
            close = CLOSE * self.force
            felt = measured is None or abs(measured - self.force) <= close
            self._now.ready = self._now.ready or (felt and abs(self._now.ramp - self.force) <= close)
            wanted = min(max(self._now.ramp + self._now.integral, 0.0), MOST_FORCE * self.force)
            self._now.falling = self._now.falling + dt if speed > self._fall_speed else 0.0
            if along - self._now.touched > self._travel:
                self._hold(
                    along, wanted, f"the surface gave way by more than {self._travel:g} m; the tip is held there"
                )
            elif self._now.falling >= FALLS:
                self._hold(along, wanted, f"the surface gave way at {speed:.2f} m/s; the tip is held there")
            return wanted - damping * speed
        self._now.ramp = _towards(self._now.ramp, 0.0, self._now.fade * dt)
        spring = min(max(self._stiffness * (self._now.goal - along), -self._approach_force), self._approach_force)
        return self._now.ramp + spring - damping * speed

    def _approach(self, along: float, speed: float, damping: float, dt: float) -> float:
        """Return spring and damper along d towards a goal that moves on; the spring pulls no more than it may."""
        lead = self._approach_force / self._stiffness
        self._now.goal = min(self._now.goal + self._speed * dt, along + lead, (self._now.start or 0.0) + self._reach)
        spring = max(self._stiffness * (self._now.goal - along), -self._approach_force)
        return spring - damping * speed

    def _touches(self, speed: float, push: float, measured: float | None, dt: float) -> bool:
        if measured is not None:
            return measured >= self._contact_force
        pulls = push >= 0.9 * self._approach_force
        self._now.standing = self._now.standing + dt if pulls and abs(speed) < STANDING_SHARE * self._speed else 0.0
        return self._now.standing >= STANDS

    def _integrate(self, measured: float | None, dt: float) -> None:
        if measured is None or self._now.cut or self.impedance.scale < 1.0:
            return
        most = INTEGRAL_SHARE * self.force
        moved = self._now.integral + self._rate * dt * (self._now.ramp - measured)
        self._now.integral = min(max(moved, -most), most)

    def _measured(self, q: Array) -> float | None:
        """Return what the wrist sensor says the arm exerts along d [N]; None where there is nothing to go by."""
        if self.feedback is None:
            return None
        exerted = self.feedback.exerted(q, self.impedance.at)
        return None if exerted is None else float(self.direction @ exerted[:3])

    def _hold(self, along: float, push: float, message: str) -> None:
        """Stay at ``along``; ``push`` [N], what is exerted now, fades to zero from here."""
        self._now.goal, self._now.ramp, self.phase = along, push, "held"
        self._now.fade = max(self._force_rate, abs(push) / FADES)
        self._events.append(("held", message))


def _towards(value: float, goal: float, step: float) -> float:
    """Return ``value`` moved towards ``goal`` by at most ``step``."""
    return value + math.copysign(min(abs(goal - value), step), goal - value)
