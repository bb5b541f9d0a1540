"""Tracking gravity and payload through a run: of a recording, or while an arm goes from pose to pose.

Two estimators run side by side (sensing/track.py): the holding torques with their error bars, and the payload.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..control import PDGravity, PoseList, default_gains
from ..dynamics import MAX_INPUT, Robot, link_name
from ..errors import InputError
from ..foundation import Array
from ..identification import Fit, design_poses, effort_of
from ..plants import AttachPayload, Event, Preset, RemovePayloads, SimulatedArm
from ..recording import Log, Sample, SampleFlag, effort_guesses
from ..sensing import Track, Tracker, WrenchFrame
from .rig import Rig

DWELL = 1.2
"""Time at each pose [s]."""
SPEED_FRACTION, FASTEST = 0.5, 1.5
"""An arm travels at this fraction of its speed limits, and not faster than this [rad/s or m/s]."""
BEYOND = 2.0 * np.pi
"""Positions of a recording further beyond a joint's limits are no positions of that joint [rad or m]."""
PROGRESS_EVERY = 500
"""Samples between two reports of progress."""

Progress = Callable[[float, float], None]


@dataclass(frozen=True, slots=True)
class Load:
    """A load that comes, and perhaps goes, during a simulated run.

    Attributes:
        mass: [kg]; 0 for none.
        com: Centre of mass in the link's frame [m].
        link: Link that carries it; None for the tip of an arm that is not branched.
        attach: When it comes [s].
        release: When it goes [s]; None for never.
    """

    mass: float = 0.0
    com: tuple[float, float, float] = (0.0, 0.0, 0.0)
    link: str | None = None
    attach: float = 0.0
    release: float | None = None

    def events(self) -> tuple[Event, ...]:
        """Return what happens to the simulated arm."""
        if not self.mass:
            return ()
        attached = AttachPayload(time=self.attach, mass=self.mass, com=self.com, link=self.link)
        return (attached,) if self.release is None else (attached, RemovePayloads(time=self.release))


def track_log(
    robot: Robot, log: Log, *, fit: Fit | None = None, max_mass: float | None = None, progress: Progress | None = None
) -> Track:
    """Follow gravity and payload through a recording.

    Args:
        robot: The arm, mounted as it stood, without the payload.
        log: The recording, with torques.
        fit: The arm's calibration; None for a description alone.
        max_mass: Heaviest load [kg]; None for half of the arm's moving mass.
        progress: Called now and then with the samples done and in all.

    Raises:
        InputError: The recording is another robot's, lacks torques of a joint, has positions that cannot be, or efforts
            whose size is a guess.
    """
    log = log.ordered()
    declared = log.declared
    tau = effort_of(robot, log)
    if declared.effort_kind == "current" and declared.torque_constant is None:
        raise InputError("the recording's efforts are currents; give its mapping the torque constants")
    if guessed := effort_guesses(declared.guessed):
        raise InputError(
            f"{guessed}: nothing shows that efforts are torques, and a payload in kg cannot "
            "be determined from them. Measure these numbers and declare them"
        )
    if not np.isfinite(log.rate):
        raise InputError("the recording has one sample only")
    silent = [robot.joint_names[joint] for joint in np.flatnonzero(~np.isfinite(tau).any(axis=0)).tolist()]
    if silent:
        raise InputError(
            f"the recording has no efforts of {', '.join(silent)}; gravity and payload follow from the torques of "
            "all joints. Record them, or fix joints that do not move (--fix-joint JOINT=VALUE, or robot.locked)"
        )
    _check_positions(robot, log)
    # Both estimators detect rest by the positions; a velocity that was never measured is none that is wrong.
    unmeasured = ~np.isfinite(log.dq).any(axis=0)
    dq = np.where(unmeasured, 0.0, log.dq)
    ignored = SampleFlag.DQ_INVALID if unmeasured.any() else SampleFlag.NONE
    frame = None
    if log.wrench is not None and declared.sensor_reads is not None:
        frame = WrenchFrame.checked(declared.T_base_sensor, declared.sensor_reads)
    tracker = Tracker(robot if fit is None else fit.robot, 1.0 / log.rate, fit=fit, max_mass=max_mass)
    for k in range(len(log)):
        wrench = None if frame is None or log.wrench is None else frame.wrench(log.wrench[k])
        tracker.update(log.q[k], dq[k], tau[k], wrench, SampleFlag(int(log.flags[k])) & ~ignored)
        if progress is not None and k % PROGRESS_EVERY == 0:
            progress(float(k), float(len(log)))
    return tracker.finished()


def _check_positions(robot: Robot, log: Log) -> None:
    """Refuse a recording most of whose positions are no angles or lengths of this arm.

    Raises:
        InputError: More than half of a joint's positions are absurd, or more than a turn beyond its limits.
    """
    beyond = np.maximum(robot.lower - log.q, log.q - robot.upper)  # NaN where the position is missing: not counted
    wrong = (beyond > BEYOND) | (np.abs(log.q) > MAX_INPUT)
    for joint in np.flatnonzero(wrong.mean(axis=0) > 0.5).tolist():
        value = float(np.median(log.q[wrong[:, joint], joint]))
        low, high = float(robot.lower[joint]), float(robot.upper[joint])
        limits = f"from {low:.4g} to {high:.4g}" if np.isfinite(high - low) else f"of less than {MAX_INPUT:.0e}"
        raise InputError(
            f"most positions of {robot.joint_names[joint]} cannot be: about {value:.4g}, expected a number {limits} "
            "[rad or m]. Degrees, encoder counts or another joint's column are put right by a mapping (--mapping)"
        )


def track(
    rig: Rig,
    poses: Array,
    *,
    friction_band: npt.ArrayLike | None = None,
    max_mass: float | None = None,
    progress: Progress | None = None,
) -> Track:
    """Follow gravity and payload live, while an arm goes from pose to pose.

    Args:
        rig: The arm without the payload, its plant entered.
        poses: The poses [rad or m], shape (k, n).
        friction_band: Torque that friction may hold at rest, ± [N m or N], one or n, where there is no calibration.
        max_mass: Heaviest load [kg]; None for half of the arm's moving mass.
        progress: Called now and then with the seconds done and in all.

    Raises:
        SafetyError: The arm was stopped by a fault.
    """
    plant, robot = rig.plant, rig.robot
    band = None if friction_band is None else np.broadcast_to(np.asarray(friction_band, dtype=np.float64), (robot.n,))
    tracker = Tracker(robot, plant.dt, fit=rig.calibration, friction_band=band, max_mass=max_mass)
    plate = plant.plate
    frame = None if plate is None else WrenchFrame.checked(plate.T_base_sensor, plate.reads)
    speed = np.minimum(SPEED_FRACTION * plant.velocity_limit, FASTEST)
    reference = PoseList(list(poses), speed=speed, dwell=DWELL)
    start = plant.read().q
    reference.reset(start)
    duration = reference.duration + DWELL
    ticks = 0

    def watch(sample: Sample) -> bool:
        nonlocal ticks
        wrench = None if frame is None or sample.wrench is None else frame.wrench(sample.wrench)
        tracker.update(sample.q, sample.dq, sample.tau, wrench, sample.flags)
        if progress is not None and ticks % PROGRESS_EVERY == 0:
            progress(ticks * plant.dt, duration)
        ticks += 1
        return False

    gains = default_gains(robot, start, plant.effort_limit, plant.dt)
    rig.loop(PDGravity(robot, gains.kp, gains.kd, reference, reach=gains.reach)).run(duration, until=watch)
    return tracker.finished()


def track_simulated(
    preset: Preset,
    load: Load,
    *,
    poses: int,
    seed: int,
    fit: Fit | None = None,
    max_mass: float | None = None,
    progress: Progress | None = None,
) -> Track:
    """Follow gravity and payload of a simulated arm that picks up a load; its controller does not know of it.

    Args:
        preset: The arm.
        load: What it picks up.
        poses: How many poses it goes to.
        seed: Of the poses and of noise.
        fit: The arm's calibration; None for the description, which is exact here.
        max_mass: Heaviest load [kg]; None for half of the arm's moving mass.
        progress: Called now and then with the seconds done and in all.

    Raises:
        InputError: A load that cannot be, or poses that cannot be reached.
        SafetyError: The arm was stopped by a fault.
        MissingExtraError: MuJoCo is not installed.
    """
    bare, config = preset.robot(), preset.config
    if load.mass:
        carrier = link_name(bare, load.link, "link=")
        bare.with_payload(load.mass, com=load.com, link=carrier)  # refuses what cannot be, before anything moves
    arm = SimulatedArm(bare, config.replaced(seed=seed, events=load.events()))
    friction = None if fit is not None else config.drive.friction
    rig = Rig(arm, bare if fit is None else fit.robot, calibration=fit)
    band = None if friction is None else friction.coulomb
    path = design_poses(bare, poses, seed)
    with arm:
        return track(rig, path, friction_band=band, max_mass=max_mass, progress=progress)
