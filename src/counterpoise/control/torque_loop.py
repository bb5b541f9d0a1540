"""The torque loop of base sensor control: the plate closes a loop around any law's torque, inside the friction.

With τ_des what another law asks of the links, τ_est what the plate feels of it, g what holds the weight,

    τ = g + c τ_des + x,   x = ∫ k_int (τ_des − τ_est) dt            ([Morel2000], eq. 25 with c = 1)

with c the argument ``feedforward`` (1 unless stated). Around a torque signal this is torque control (eq. 25); around
:class:`~.pd.PD` it is position control (eqs. 26–27), with K_d = 0 that of the hydraulic arm. Both torques are without
gravity, as eq. (21) means it. A plate that is lost lets x fade to (1 − c) τ_des, so that g + τ_des is left.

In slow free motion it equals a PID with P = K_p + k_int K_d and I = k_int K_p, plus the clean momentum feedback
−k_int J_l q̇ (J_l the links' inertia): all of the benefit is k_int, and what limits k_int is structure and delay. A
constant error b of the estimate stays as a position error b / K_p.

x is the business of a ``TorqueCompensator``; ``IntegralCompensator`` is that of [Morel2000], with the proportional and
derivative terms that the paper advises against.
"""

from __future__ import annotations

import math
from copy import copy, deepcopy
from typing import Literal, Protocol, Self, runtime_checkable

import numpy as np
import numpy.typing as npt

from ..dynamics import Robot
from ..errors import InputError
from ..foundation import Array
from ..recording import Sample, SampleFlag
from ..sensing import EstimateFlag
from .law import Law, LimitAware, checked_dt, gain
from .plate_torque import PlateTorque
from .reference import Reference, smooth_step
from .safety import Budget, SafetySettings


@runtime_checkable
class TorqueCompensator(Protocol):
    """Turns the torque error into a correction of the actuators' torque."""

    def act(self, error: Array) -> Array:
        """Return the correction [N m or N], shape (n,), one tick later; always the same array.

        Args:
            error: τ_des − τ_est [N m or N], shape (n,).
        """
        ...

    def start_from(self, correction: Array, error: Array) -> None:
        """Forget the past, such that an error that stays gives ``correction`` [N m or N], shape (n,), on the next tick.

        Args:
            correction: Where to begin, so that the torque does not jump.
            error: The torque error now, shape (n,).
        """
        ...

    def limited(self, cut: Array) -> None:
        """Take note that what was sent differs from what was asked for by ``cut`` [N m or N], shape (n,)."""
        ...


class IntegralCompensator:
    """x = ∫ k_int e dt + k_pt e + k_dt de/dt, with e the torque error ([Morel2000], eq. 25, without its feedforward).

    The paper's compensator is the integral alone. A proportional term shortens the way to the limit of stability, and
    a derivative one differentiates the plate's noise; both are here so that this can be seen.

    Attributes:
        k_int: Integral gain k_int [1/s], shape (n,).
        proportional: k_pt, shape (n,).
        derivative: k_dt [s], shape (n,).
        integral_limit: Largest integral [N m or N], shape (n,).
        integral: The integral now [N m or N], shape (n,).
    """

    def __init__(
        self,
        k_int: npt.ArrayLike,
        *,
        integral_limit: npt.ArrayLike,
        dt: float,
        proportional: npt.ArrayLike = 0.0,
        derivative: npt.ArrayLike = 0.0,
    ) -> None:
        """Make the compensator.

        Args:
            k_int: Integral gain [1/s], shape (n,).
            integral_limit: Largest integral [N m or N], shape (n,) or one number.
            dt: Nominal time between two ticks [s].
            proportional: Gain on the error itself, shape (n,) or one number.
            derivative: Gain on its derivative [s], shape (n,) or one number.
        """
        self.k_int = gain(k_int, "k_int")
        n = len(self.k_int)
        self.integral_limit = gain(integral_limit, "integral_limit", n)
        self.proportional = gain(proportional, "proportional", n)
        self.derivative = gain(derivative, "derivative", n)
        self._rate = self.k_int * checked_dt(dt)
        self._slope = self.derivative / dt
        self._only_integral = not (self.proportional.any() or self.derivative.any())
        self._least = -self.integral_limit
        self.integral, self._growth = np.zeros(n), np.zeros(n)
        self._before, self._out = np.zeros(n), np.zeros(n)

    def act(self, error: Array) -> Array:
        """Return the correction [N m or N], shape (n,); always the same array."""
        integral, growth, out = self.integral, self._growth, self._out
        np.multiply(error, self._rate, out=growth)
        np.add(integral, growth, out=out)
        np.minimum(out, self.integral_limit, out=out)
        np.maximum(out, self._least, out=out)
        np.subtract(out, integral, out=growth)  # what it really grew by: no more can be taken back
        integral[:] = out
        if not self._only_integral:
            out += self.proportional * error
            out += self._slope * (error - self._before)
            self._before[:] = error
        return out

    def start_from(self, correction: Array, error: Array) -> None:
        """Begin such that the next correction, with this error, is ``correction`` and one tick's growth."""
        self._growth[:] = 0.0
        self._before[:] = error
        np.clip(correction - self.proportional * error, self._least, self.integral_limit, out=self.integral)

    def limited(self, cut: Array) -> None:
        """Take back this tick's growth on joints where less was sent in its direction than was asked for."""
        against = cut * self._growth < 0.0
        if against.any():
            self.integral[against] -= self._growth[against]
            self._growth[against] = 0.0


BRIDGED_TICKS = 5
"""Ticks in a row without an estimate that are bridged: the correction x is held, gravity and the inner law go on."""
GOOD_TICKS_PER_BAD = SafetySettings().good_ticks_per_bad
"""Ticks with an estimate that make up for one without, as in the safety filter: more than one bad tick in five is
not bridged for ever."""
BLEND_TIME = 0.5
"""Time from the torque loop to its fallback [s]."""
RETURN_TIME = 0.1
"""Time for which estimates must be good before the torque loop closes again [s]."""


class TorqueLoop:
    """A torque loop through the plate around another law.

    When the estimate fails for more than BRIDGED_TICKS in a row, or again and again in more than one tick of five, the
    correction x fades within BLEND_TIME to what makes the torque g + τ_des: with PD inside, PD with gravity, without
    compensation of friction. When the estimate has been good for RETURN_TIME, the loop closes from the torque of that
    moment. Both are reported as events, "plate_lost" and "plate_back". The law looks at the plate itself, so that a
    plate which fails does not stop the arm (``uses_wrench`` is False).

    Attributes:
        desired: The law whose torque is followed.
        plate: The estimate.
        compensator: What is made of the torque error.
        closed: Whether the plate closes the loop now.
        lost_for: Why the plate was lost since the start, of all losses together; NONE where it was not.
        correction: x [N m or N], shape (n,).
    """

    uses_wrench = False

    def __init__(
        self,
        desired: Law,
        plate: PlateTorque,
        compensator: TorqueCompensator,
        *,
        dt: float,
        gravity: Robot | Literal["tare", "plant"],
        feedforward: npt.ArrayLike = 1.0,
        start: Literal["effort", "zero"] = "effort",
        blend_time: float = BLEND_TIME,
    ) -> None:
        """Make the law.

        Args:
            desired: Gives τ_des, without gravity: PD for position control, TorqueSignal for torque control.
            plate: Gives τ_est.
            compensator: Gives x, usually an IntegralCompensator.
            dt: Nominal time between two ticks [s].
            gravity: What holds the weight: a robot's model; "tare", the torque that held the arm at the start, for
                small motions of an unknown arm; or "plant", for an arm that bears its own weight.
            feedforward: c, shape (n,) or one number; 1 in eq. (25), 0 for the integral alone.
            start: Where x begins: at what the measured effort is beyond g + c τ_des, so that nothing jumps, or "zero"
                for a plant whose efforts are no torques.
            blend_time: Time from the torque loop to its fallback [s].

        Raises:
            InputError: What was given does not belong together.
        """
        robot = plate.sensor.robot
        if not isinstance(desired, Law):
            raise InputError(f"{desired!r} is no law: it lacks torque, reset, adds_gravity or uses_wrench")
        if desired.adds_gravity:
            raise InputError(f"{type(desired).__name__} adds gravity; the torque loop does that itself. Use PD inside")
        if not isinstance(gravity, Robot) and gravity not in ("tare", "plant"):
            raise InputError(f"gravity is {gravity!r}; expected a Robot, 'tare' or 'plant'")
        if isinstance(gravity, Robot) and gravity.joint_names != robot.joint_names:
            raise InputError(
                f"gravity is of {list(gravity.joint_names)}, the plate's robot has {list(robot.joint_names)}"
            )
        if start not in ("effort", "zero"):
            raise InputError(f"start is {start!r}; expected 'effort' or 'zero'")
        if gravity == "tare" and start == "zero":
            raise InputError("gravity='tare' holds the arm by the torque measured at the start; use start='effort'")
        n = robot.n
        self.desired, self.plate, self.compensator = desired, plate, compensator
        self._listener = desired if isinstance(desired, LimitAware) else None
        self.feedforward = gain(feedforward, "feedforward", n)
        self._robot = gravity if isinstance(gravity, Robot) else None
        self._gravity, self._start = gravity, start
        self._dt, self._blend_time = checked_dt(dt), blend_time
        self._bare: tuple[Robot, Robot] | None = None
        self._fade_ticks = max(1, math.ceil(blend_time / dt))
        self._return_ticks = max(1, math.ceil(RETURN_TIME / dt))
        self._hold, self._tare = np.zeros(n), np.zeros(n)
        self._tau, self._error = np.zeros(n), np.zeros(n)
        self._first_torque: Array | None = None
        self.correction, self._faded_from = np.zeros(n), np.zeros(n)
        self._rest = 1.0 - self.feedforward
        self.closed, self._begun, self._fresh = True, False, True
        self.lost_for = EstimateFlag.NONE
        self._budget, self._bridged = Budget(BRIDGED_TICKS, GOOD_TICKS_PER_BAD), False
        self._good = self._fade = 0
        self._news: list[tuple[str, str]] = []

    @property
    def adds_gravity(self) -> bool:
        """Whether the torque holds the arm's weight."""
        return self._gravity != "plant"

    @property
    def reference(self) -> Reference | None:
        """What the inner law follows; None where it follows nothing."""
        return getattr(self.desired, "reference", None)

    def with_robot(self, robot: Robot) -> Self:
        """Return the law for the arm with another payload, going on where this one is.

        Weight and estimate follow the new model; the correction goes on from its present value. With gravity="tare" the
        load's own weight is added to the torque that held the arm. A law inside that has no ``with_robot`` of its own
        is shared, and asked by both while the two blend: PD and TorqueSignal do not mind.

        Raises:
            InputError: The plate's estimate cannot follow (see BaseSensor.with_robot).
        """
        inner = getattr(self.desired, "with_robot", None)
        other = type(self)(
            self.desired if inner is None else inner(robot),
            self.plate.with_robot(robot),
            deepcopy(self.compensator),
            dt=self._dt,
            gravity=robot if isinstance(self._gravity, Robot) else self._gravity,
            feedforward=self.feedforward,
            start=self._start,
            blend_time=self._blend_time,
        )
        if self._gravity == "tare":
            held = self.plate.sensor.robot if self._bare is None else self._bare[1]
            other._bare = robot, robot.with_payloads(held.payloads)
            other._tare[:] = self._tare
        other._first_torque = self._first_torque
        other.correction[:], other._faded_from[:] = self.correction, self._faded_from
        other.closed, other._begun, other._fresh = self.closed, self._begun, self._fresh
        other.lost_for, other._budget, other._bridged = self.lost_for, copy(self._budget), self._bridged
        other._good, other._fade = self._good, self._fade
        return other

    def reset(self, sample: Sample) -> None:
        """Start from the sample: reference from its pose, correction from its effort.

        Raises:
            InputError: The form of the estimate needs a tare; or gravity="tare" and the effort is not measured.
        """
        if not self.plate.ready():
            raise InputError(
                "the plate is not tared; call sensor.tare(q, wrench) with the arm at rest before the run. Without a "
                "tare there is form='full', which takes the plate's zero and the model's whole weight for exact"
            )
        self.plate.reset()
        self.desired.reset(sample)
        measured = not sample.flags & SampleFlag.TAU_INVALID and bool(np.isfinite(sample.tau).all())
        if self._gravity == "tare":
            if not measured:
                raise InputError("gravity='tare' needs the torque that holds the arm, and the plant measures none")
            self._tare[:] = self._hold[:] = sample.tau
            self._bare = None
        self._first_torque = sample.tau.copy() if self._start == "effort" and measured else None
        self.closed, self._begun, self._fresh = True, False, True
        self.lost_for, self._bridged = EstimateFlag.NONE, False
        self._budget.clear()
        self._good = self._fade = 0
        self._news.clear()

    def torque(self, sample: Sample, time: float) -> Array:
        """Return the torques [N m or N], shape (n,); always the same array."""
        wanted, tau, error = self.desired.torque(sample, time), self._tau, self._error
        if self._robot is not None:
            self._robot.gravity(sample.q, out=self._hold)
        elif self._bare is not None:
            loaded, bare = self._bare
            self._hold[:] = self._tare + loaded.gravity(sample.q) - bare.gravity(sample.q)
        if not np.isfinite(wanted).all():  # the filter refuses it; integrated, NaN would stay for ever
            return np.add(wanted, self._hold, out=tau)
        usable = self.plate.read(sample)
        if usable:
            np.subtract(wanted, self.plate.value, out=error)
        np.multiply(wanted, self.feedforward, out=tau)
        np.add(tau, self._hold, out=tau)
        if not self._begun:
            self._begin(tau)
        if self.closed and usable:
            self._budget.good()
            self._bridged = False
            if self._fresh:  # only now is there an error that the compensator can start from
                self._fresh = False
                self.compensator.start_from(self.correction, error)
            self.correction[:] = self.compensator.act(error)
        elif self.closed:
            self._lose()
        else:
            self._fall_back(wanted, usable)
        np.add(tau, self.correction, out=tau)
        return tau

    def limited(self, cut: Array) -> None:
        """Tell the compensator, and the law inside, of a torque that was cut; shape (n,) [N m or N]."""
        if self.closed and not self._bridged:
            self.compensator.limited(cut)
        if self._listener is not None:
            self._listener.limited(cut)

    def news(self) -> list[tuple[str, str]]:
        """Return what happened since the last call, as kinds and messages of events, and forget it."""
        told, self._news = self._news, []
        return told

    def _begin(self, without: Array) -> None:
        """Let the torque begin with the one that was found; ``without`` is it without a correction."""
        self._begun = True
        self.correction[:] = 0.0 if self._first_torque is None else self._first_torque - without

    def _lose(self) -> None:
        """Bridge a tick without an estimate, or begin to fall back."""
        self._bridged = True
        if not self._budget.bad():
            return
        self.closed, self._fade, self._good = False, 0, 0
        self._faded_from[:] = self.correction
        self.lost_for |= self.plate.flags
        self._news.append(("plate_lost", self.plate.reason))

    def _fall_back(self, wanted: Array, usable: bool) -> None:
        """Fade the correction out; close the loop again where the estimate has been good for long enough."""
        self._fade = min(self._fade + 1, self._fade_ticks)
        fraction = smooth_step(self._fade / self._fade_ticks)
        np.multiply(self._rest * wanted, fraction, out=self.correction)
        self.correction += (1.0 - fraction) * self._faded_from
        self._good = self._good + 1 if usable else 0
        if self._good < self._return_ticks:
            return
        self.closed, self._fresh, self._bridged = True, False, False
        self._budget.clear()
        self.compensator.start_from(self.correction, self._error)
        self._news.append(("plate_back", "the plate's estimate is good again; torque feedback resumes"))


class TorqueSignal:
    """A desired torque as a function of time, for torque control: τ_des = the signal's positions, read as N m or N.

    Attributes:
        signal: The signal, with its centre given: Triangle(amplitude=[3.0], period=1.0, centre=[0.0]) is ±3 N m.
    """

    adds_gravity = False
    uses_wrench = False

    def __init__(self, signal: Reference, n: int) -> None:
        """Ask for ``signal`` of n joints; it is not started from the arm's pose but from zero torque."""
        self.signal = signal
        self._zero = np.zeros(n)
        self._begin: float | None = None

    def reset(self, sample: Sample) -> None:
        """Start the signal anew."""
        self.signal.reset(self._zero)
        self._begin = None

    def torque(self, sample: Sample, time: float) -> Array:
        """Return the torques [N m or N], shape (n,)."""
        if self._begin is None:
            self._begin = time
        return self.signal.at(time - self._begin).q
