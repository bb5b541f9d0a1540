"""Finding a payload: running, sample by sample, or at once from poses at rest."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..dynamics import WRENCH_COMPONENTS, Robot, as_rows, refuse_command_units
from ..errors import InputError
from ..foundation import Array
from ..recording import RestGatherer, RestPhase, Sample, SampleFlag
from .hold import bears_weight
from .momentum_observer import friction_band_of, positive_row
from .payload_change import ChangeEvent, PayloadHistory
from .payload_dwell import HeldPose, HeldPoses
from .payload_estimate import (
    LIKELY_WEIGHT,
    PayloadEstimate,
    last_of,
    marginal_evidence,
    no_payload,
    payload_estimate,
)
from .payload_statistics import (
    PLATE_ZERO_STD,
    SIDE_SHARE,
    Baseline,
    Places,
    Sums,
    baseline_of,
    places_of,
    refuse_other_fit,
)

if TYPE_CHECKING:
    from ..identification import Fit


WRENCH_STD = np.array([0.2, 0.2, 0.2, 0.3, 0.3, 0.3])
"""Scatter of a plate's reading from pose to pose [N, N m] beside drift and cross-talk of moments into forces; noise
averages out."""
MASS_SHARE = 0.5
"""Heaviest load that is looked for, as a share of the arm's moving mass."""
FALSE_ALARM = 1e-7
"""False alarms per held pose."""
LIMP_SHARE, LIMP_WEIGHT = 0.3, 3.0
"""Drives count as switched off where all torques are below this share of the friction band, and the empty arm's weight
is this many times the band at some joint."""
UNEVEN = 0.3
"""Share of the friction band by which the torque of sliding differs from that of the rest after it, by speed and by
slowing down, though friction holds as before."""
MOST_WAITING = 64
"""Held poses that wait to be weighed; older ones are dropped."""
STEP_TIME = 1e-3
"""One step of the weighing is taken per so much time between samples [s]."""
_DONE = object()
SLOTS_BETWEEN = 25
"""Slots between two new estimates while the arm stands: twice a second."""


class PayloadEstimator:
    """Watches a stream of samples for a payload: when it comes, on which link, how heavy, and when it goes.

    It learns from poses at rest only: while the arm moves, nothing is estimated. Every pose held for 0.7 s counts
    once. Most ticks cost a copy; all hypotheses are weighed twice a second while the arm stands, and when it leaves a
    pose. That takes some milliseconds, spread over ticks, some tenths of a millisecond each. A loop that cannot spare
    those says ``estimate_in_tick=False`` and calls :meth:`update_estimate` from another thread.

    Attributes:
        robot: The arm as it is when empty.
        places: Where a payload may sit, and on which links joint torques can tell its mass.
        estimate: What is known now.
        events: When payloads came and went: time since the start [s], what, in order; the last 100.
        time: Time since the start [s].
    """

    def __init__(
        self,
        robot: Robot,
        dt: float = 1e-3,
        *,
        fit: Fit | None = None,
        friction_band: npt.ArrayLike | None = None,
        scatter: npt.ArrayLike | None = None,
        wrench_std: npt.ArrayLike = WRENCH_STD,
        max_mass: float | None = None,
        false_alarm: float = FALSE_ALARM,
        control_tolerance: float = 0.5,
        estimate_in_tick: bool = True,
    ) -> None:
        """Begin with an empty arm.

        Args:
            robot: The arm, mounted as it stands, without the payload; ``fit.robot`` where there is a calibration.
            dt: Time between samples [s].
            fit: The arm's calibration: its covariance is the baseline's, its friction band is taken over. Without one
                the description is taken to be off by 10 % in masses; the first, empty poses then teach the baseline.
            friction_band: Torque that friction may hold at rest, ± [N m or N], shape (n,); None for the calibration's,
                else BAND_SHARE of the effort limits.
            scatter: What of it changes from pose to pose where the side is known [N m or N], shape (n,); None for
                SIDE_SHARE of the band, or the calibration's held-out error where that is larger.
            wrench_std: Scatter of the plate from pose to pose [N, N m], shape (6,).
            max_mass: Heaviest load [kg]; None for half of the arm's moving mass.
            false_alarm: False alarms per held pose, at most, on average, for friction and noise that are normal and as
                stated.
            control_tolerance: ``payload_for_control`` is handed out only while the deviation of the gravity change at
                the last pose is, for every joint, within this share of the change itself or of the friction band.
            estimate_in_tick: Whether ``update`` itself weighs the hypotheses when there is something new.

        Raises:
            InputError: A value that means nothing, or another robot's calibration.
        """
        if not (np.isfinite(dt) and 0.0 < dt <= 1.0):
            raise InputError(f"dt is {dt!r}; expected the time between samples in s, above 0 and at most 1")
        if not 0.0 < false_alarm < 1.0:
            raise InputError(f"false_alarm is {false_alarm!r}; expected a rate per held pose between 0 and 1")
        if not 0.0 < control_tolerance <= 10.0:
            raise InputError(f"control_tolerance is {control_tolerance!r}; expected a share above 0, at most 10")
        refuse_command_units(robot)
        self.robot = robot
        self.places = places_of(robot)
        self._band = _known_band(robot, fit, friction_band)
        self._max_mass = _max_mass(robot, max_mass)
        self._share = control_tolerance
        self._baseline = _baseline(self.places, fit, self._band, scatter, wrench_std)
        self._history = PayloadHistory(self._baseline, max_mass=self._max_mass, false_alarm=false_alarm)
        self._held = HeldPoses(robot.n, dt, self._band)
        self._dt = dt
        self._ticks = 0
        self._slots_left = 0
        self._estimate_in_tick = estimate_in_tick
        self._work: Generator[None, None, None] | None = None
        self._steps = max(1, round(dt / STEP_TIME))
        self._waiting: deque[HeldPose] = deque(maxlen=MOST_WAITING)
        self._present: HeldPose | None = None
        self._for_control: PayloadEstimate | None = None
        self.estimate = no_payload(robot, 0)
        self.events: list[tuple[float, ChangeEvent]] = []

    @property
    def time(self) -> float:
        """Time since the start [s]."""
        return self._ticks * self._dt

    @property
    def rests(self) -> RestGatherer:
        """What gathers poses at rest out of the samples; other estimators may follow it."""
        return self._held.rests

    @property
    def friction_band(self) -> Array:
        """Torque that friction may hold at rest, ± [N m or N], shape (n,)."""
        return self._band

    @property
    def poses(self) -> int:
        """Held poses behind the present estimate, the one being held left out."""
        return self._history.poses

    def update(
        self,
        q: npt.ArrayLike,
        dq: npt.ArrayLike,
        tau: npt.ArrayLike,
        wrench: npt.ArrayLike | None = None,
        flags: SampleFlag = SampleFlag.NONE,
    ) -> None:
        """Take one sample in. Bad numbers and flagged samples are left out; nothing is learnt from them.

        Args:
            q: Positions [rad or m], shape (n,).
            dq: Velocities [rad/s or m/s], shape (n,).
            tau: Torques of the actuators, link side [N m or N], shape (n,).
            wrench: Wrench that the plate exerts on the robot, base axes, base origin [N, N m], shape (6,): of a raw
                reading ``WrenchFrame.wrench`` makes it. None where there is no plate.
            flags: What the source knows to be wrong.

        Raises:
            InputError: A shape or a type does not fit.
        """
        self._ticks += 1
        self.rests.add(q, dq, tau, wrench, flags)
        if self.rests.slot_done:
            self._held.follow()
            self._after_slot()
        if self._work is not None:
            self._go_on(self._work)

    def update_sample(self, sample: Sample, wrench: npt.ArrayLike | None = None) -> None:
        """Take one sample in; ``wrench`` is the plate's, turned to base axes at the base origin."""
        self.update(sample.q, sample.dq, sample.tau, wrench, sample.flags)

    @property
    def payload_for_control(self) -> PayloadEstimate | None:
        """The payload, where it is known well enough for a controller; None otherwise. See :class:`.PayloadBlend`."""
        return self._for_control

    def update_estimate(self) -> PayloadEstimate:
        """Weigh the hypotheses with all that is new, at once; return the estimate. For ``estimate_in_tick=False``."""
        for work in (self._work, self._weighing()):
            if work is not None:
                last_of(work)
        self._work = None
        return self.estimate

    def _weighing(self) -> Generator[None, None, None]:
        present, q = self._present, None
        while self._waiting:
            pose = self._waiting.popleft()
            self._history.add(self._sums(pose), weighed=pose.rest.wrench is not None)
            q = pose.rest.q
            yield from self._judging(None, q)
        if present is not None and (q is None or present is self._present):
            yield from self._judging(self._sums(present), present.rest.q)

    def _go_on(self, work: Generator[None, None, None]) -> None:
        """Do one tick's part of the weighing."""
        for _ in range(self._steps):
            if next(work, _DONE) is _DONE:
                self._work = self._weighing() if self._waiting else None
                return

    def _after_slot(self) -> None:
        held = self._held
        if held.finished is not None:
            self._waiting.append(held.finished)
            self._present = None
            self._slots_left = 0
        elif self.rests.phase != RestPhase.RESTS:
            self._present = None
            self._slots_left = 0
            return
        else:
            self._slots_left -= 1
            if self._slots_left > 0 or (present := held.present()) is None:
                return
            self._present = present
            self._slots_left = SLOTS_BETWEEN
        if self._estimate_in_tick and self._work is None:
            self._work = self._weighing()

    def _sums(self, pose: HeldPose) -> Sums:
        rest, band = pose.rest, self._band
        # By how much more than UNEVEN the torque beside the weight has changed since the joint slid, its friction may
        # have let go.
        gravity = self.robot.gravity(rest.q)
        changed = rest.tau - gravity - pose.slid_tau + self.robot.gravity(pose.slid_q)
        let_go = np.maximum(np.abs(changed) / band - UNEVEN, 0.0)
        # Where all drives are limp although the empty arm would need many times their friction, brakes hold it, or
        # somebody does.
        limp = np.all(np.abs(rest.tau) < LIMP_SHARE * band) and np.any(np.abs(gravity) > LIMP_WEIGHT * band)
        return self._baseline.sums(
            rest.q,
            rest.tau,
            tau_std=rest.scatter / np.sqrt(rest.count),
            wrench=rest.wrench,
            side=pose.friction_fraction,
            side_std=np.minimum(np.hypot(pose.fraction_std, let_go), 1.0),
            time=rest.begin + 0.5 * rest.duration,
            used=pose.fresh & bears_weight(self.robot, rest.q, rest.tau) & (not limp),
        )

    def _judging(self, present: Sums | None, q: Array) -> Generator[None, None, None]:
        self.estimate, event = yield from self._history.judging(present)
        if event is not None:
            self.events = [*self.events[-99:], (self.time, event)]
        change, std = self.estimate.gravity_change(self.robot, q)
        known = (std <= self._share * np.abs(change)) | (std <= self._share * self._band)
        weight = self.estimate.detected and self.estimate.like_weight >= LIKELY_WEIGHT
        self._for_control = self.estimate if weight and np.all(known) else None


def estimate_payload(
    robot: Robot,
    q: npt.ArrayLike,
    tau: npt.ArrayLike,
    wrench: npt.ArrayLike | None = None,
    side: npt.ArrayLike | None = None,
    *,
    empty: tuple[npt.ArrayLike | None, ...] | None = None,
    fit: Fit | None = None,
    friction_band: npt.ArrayLike | None = None,
    scatter: npt.ArrayLike | None = None,
    wrench_std: npt.ArrayLike = WRENCH_STD,
    plate_zero_std: npt.ArrayLike = PLATE_ZERO_STD,
    max_mass: float | None = None,
    false_alarm: float = 1e-3,
) -> PayloadEstimate:
    """Find a payload that was carried at all of some poses at rest.

    Args:
        robot: The arm, mounted as it stands, without the payload; ``fit.robot`` where there is a calibration.
        q: Poses [rad or m], shape (k, n).
        tau: Torques that held them, link side [N m or N], shape (k, n); NaN where a joint is not measured.
        wrench: What the plate exerted on the robot, base axes, base origin [N, N m], shape (k, 6); None for no plate.
        side: Side from which each joint came to rest, +1 moving upwards, −1 downwards, 0 unknown, shape (k, n); None
            where nothing is known. Worth much: friction then counts as one unknown per joint.
        empty: (q, tau), (q, tau, wrench) or (q, tau, wrench, side) of the empty arm; None for none. They teach the
            baseline, and the plate's zero.
        fit: The arm's calibration: its covariance is the baseline's, its friction band is taken over.
        friction_band: Torque that friction may hold at rest, ± [N m or N], shape (n,); None as in PayloadEstimator.
        scatter: What of it changes from pose to pose where the side is known [N m or N], shape (n,); None likewise.
        wrench_std: Scatter of the plate from pose to pose [N, N m], shape (6,).
        plate_zero_std: How well the plate's zero is known [N, N m], shape (6,); unknown unless given.
        max_mass: Heaviest load [kg]; None for half of the arm's moving mass.
        false_alarm: Probability of finding a load on an empty arm, at most.

    Raises:
        InputError: A shape or a value does not fit.
    """
    refuse_command_units(robot)
    places = places_of(robot)
    band = _known_band(robot, fit, friction_band)
    heaviest = _max_mass(robot, max_mass)
    zero = positive_row(plate_zero_std, "plate_zero_std", WRENCH_COMPONENTS)
    baseline = _baseline(places, fit, band, scatter, wrench_std, zero)
    loaded = _summed(baseline, q, tau, wrench, side)
    total = loaded if empty is None else loaded + _summed(baseline, *empty)
    weighed = wrench is not None
    factor = marginal_evidence(baseline, *baseline.load_information(total, loaded), heaviest, weighed)
    return payload_estimate(
        baseline,
        total,
        loaded,
        max_mass=heaviest,
        poses=len(np.atleast_2d(np.asarray(q))),
        detected=factor > np.log(1.0 / false_alarm),
        weighed=weighed,
    )


def _summed(
    baseline: Baseline,
    q: npt.ArrayLike | None = None,
    tau: npt.ArrayLike | None = None,
    wrench: npt.ArrayLike | None = None,
    side: npt.ArrayLike | None = None,
) -> Sums:
    robot = baseline.places.robot
    if q is None or tau is None:
        raise InputError("poses need positions and torques: (q, tau), then wrenches and sides where there are any")
    poses = np.atleast_2d(as_rows(q, "q", robot.joint_names))
    torques = np.atleast_2d(np.asarray(tau, dtype=np.float64))
    if torques.shape != poses.shape:
        raise InputError(f"tau has shape {torques.shape}; expected that of q, {poses.shape}")
    plate = None if wrench is None else np.atleast_2d(as_rows(wrench, "wrench", WRENCH_COMPONENTS))
    if plate is not None and len(plate) != len(poses):
        raise InputError(f"wrench has {len(plate)} rows; expected one for each of the {len(poses)} poses")
    sides = np.zeros_like(poses) if side is None else np.atleast_2d(as_rows(side, "side", robot.joint_names))
    if sides.shape != poses.shape or not np.isin(sides, (-1.0, 0.0, 1.0)).all():
        raise InputError(f"side has shape {sides.shape}; expected −1, 0 or +1 for every pose and joint, {poses.shape}")
    found = baseline.nothing()
    for at, (position, torque) in enumerate(zip(poses, torques, strict=True)):
        wrench_there = None if plate is None else plate[at]
        found = found + baseline.sums(position, torque, wrench=wrench_there, side=sides[at])
    return found


def _baseline(
    places: Places,
    fit: Fit | None,
    band: Array,
    scatter: npt.ArrayLike | None,
    wrench_std: npt.ArrayLike,
    zero: Array = PLATE_ZERO_STD,
) -> Baseline:
    spread = SIDE_SHARE * band
    if scatter is not None:
        spread = positive_row(scatter, "scatter", places.robot.joint_names)
    elif fit is not None:
        # A motion's held-out error is that of low-passed torques and sliding friction. How friction changes from rest
        # to rest is not in it: taken for the scatter, it makes loads of what sticks.
        spread = np.maximum(spread, np.where(np.isfinite(fit.heldout_rms), fit.heldout_rms, 0.0))
    return baseline_of(
        places,
        band=band,
        scatter=np.asarray(spread),
        wrench_std=positive_row(wrench_std, "wrench_std", WRENCH_COMPONENTS),
        fit=fit,
        plate_zero_std=zero,
    )


def _known_band(robot: Robot, fit: Fit | None, given: npt.ArrayLike | None) -> Array:
    if fit is not None:
        refuse_other_fit(robot, fit)
    return friction_band_of(robot, fit, given)


def _max_mass(robot: Robot, given: float | None) -> float:
    mass = MASS_SHARE * float(robot.tree.mass.sum()) if given is None else float(given)
    if not 0.1 <= mass <= 1e4:
        raise InputError(f"max_mass is {mass:g} kg; expected 0.1 to 10000 kg")
    return mass
