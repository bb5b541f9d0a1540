"""The 31 s scenario of [Jo], section III: a 19-joint upper body reaches in free space under PD control at 1 kHz.

    0.2–7 s   to the estimation pose        17–21 s  to the first goal
    7–12 s    estimation                    22–26 s  to the second goal
    12–17 s   home                          27–31 s  home

The paper prints neither poses, trajectories nor gains ("quite huge"). Taken here: arms hanging with bent elbows at
home, raised and turned elsewhere; least-jerk moves over the first MOVE_SHARE of each phase, then rest; K_p from a
natural frequency of 30 rad/s and K_d from a damping ratio of 0.7, with the inertias of the estimation pose. The law is
the paper's, τ = K_p (q_d − q) − K_d q̇ + ĝ(q): it damps the motion itself, not the error of the velocity, so it lags.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np

from ..calibration.workspace import workspace_poses
from ..control.reference import least_jerk
from ..description.frozen import Array, frozen
from ..dynamics.load import load
from ..dynamics.robot import Robot
from ..estimation.online_gravity import OnlineGravity
from ..plants.config import ArmConfig, Encoder, Timing
from ..plants.drive_config import Drive
from ..plants.presets import preset
from ..plants.simulated import SimulatedArm
from .task import rms

Compensation = Literal["none", "exact", "inverse-regressor", "transpose-regressor", "recursive"]

DT = 1e-3
"""1 kHz, as printed [s]."""
DURATION = 31.0
"""Length of the scenario [s]."""
ESTIMATION = (7.0, 12.0)
"""When the paper estimates [s]."""
FREQUENCY, DAMPING = 30.0, 0.7
"""Natural frequency [rad/s] and damping ratio of the position loop."""
Q_GAIN = 4.0
"""Q of the published laws [1/s]; the paper prints none."""
MOVE_SHARE = 0.6
"""Share of a phase that the move takes; the rest is rest."""
END = 0.5
"""Errors are judged over the last END of each phase [s]."""

_HOME = (0.2, -0.2, 0.0, 0.8, 0.0, 0.3, 0.0, 0.0)
_RAISED = (0.9, -0.6, 0.3, 1.2, 0.4, -0.4, 0.3, 0.2)
_FIRST = (1.2, -0.3, -0.4, 0.9, -0.5, 0.5, -0.3, 0.4)
_SECOND = (0.5, -0.9, 0.5, 1.5, 0.6, 0.2, 0.5, -0.4)


def _both(trunk: tuple[float, float, float], arm: tuple[float, ...]) -> Array:
    """Return a pose with both arms as mirror images (the catalog's joint signs), shape (19,)."""
    return frozen([*trunk, *arm, *(-angle for angle in arm)])


HOME = _both((0.0, 0.1, 0.0), _HOME)
POSES = {
    "estimation": _both((0.2, 0.25, 0.1), _RAISED),
    "goal 1": _both((0.4, 0.35, -0.15), _FIRST),
    "goal 2": _both((-0.3, 0.15, 0.2), _SECOND),
    "home": HOME,
}
"""Where the phases lead [rad]."""


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of the scenario.

    Attributes:
        name: What happens.
        begin: When it begins [s].
        end: When it ends [s].
        pose: Where it leads, a key of POSES.
    """

    name: str
    begin: float
    end: float
    pose: str


PHASES = (
    Phase("approach", 0.2, 7.0, "estimation"),
    Phase("estimation", 7.0, 12.0, "estimation"),
    Phase("homing", 12.0, 17.0, "home"),
    Phase("reach 1", 17.0, 21.0, "goal 1"),
    Phase("reach 2", 22.0, 26.0, "goal 2"),
    Phase("homing again", 27.0, 31.0, "home"),
)
GROUPS = {"trunk": slice(0, 3), "right arm": slice(3, 11), "left arm": slice(11, 19)}
"""Joints of the figures' panels."""


@dataclass(frozen=True, slots=True, eq=False)
class ScenarioRun:
    """What one run gave.

    Attributes:
        time: Of the ticks [s], shape (k,).
        error: q_d − q [rad], shape (k, n).
        moving: At which ticks the goal moves, shape (k,).
        estimator: What was learned; None where nothing was estimated.
        robot: The robot.
    """

    time: Array
    error: Array
    moving: Array
    estimator: OnlineGravity | None
    robot: Robot

    def at_end(self, phase: Phase) -> dict[str, float]:
        """Return the rms position error over the last END of a phase, per group of joints [rad]."""
        inside = (self.time >= phase.end - END) & (self.time < phase.end)
        return {name: rms(self.error[inside][:, joints]) for name, joints in GROUPS.items()}

    def while_moving(self, begin: float = 0.0) -> dict[str, float]:
        """Return the rms position error while the goal moves, from a time on, per group of joints [rad]."""
        inside = (self.moving > 0.0) & (self.time >= begin)
        return {name: rms(self.error[inside][:, joints]) for name, joints in GROUPS.items()}

    def gravity_error(self, seed: int = 5) -> float:
        """Return the rms error of ĝ at 500 random poses, as a share of the rms of g; 1 without an estimate."""
        return self.gravity_error_at(workspace_poses(self.robot, 500, seed=seed))

    def gravity_error_at(self, q: Array) -> float:
        """Return the rms error of ĝ at poses (k, n), as a share of the rms of g there; 1 without an estimate."""
        truth = self.robot.gravity(q)
        guess = np.zeros_like(truth) if self.estimator is None else self.estimator.gravity(q)
        return rms(guess - truth) / rms(truth)


def desired(time: float) -> tuple[Array, bool]:
    """Return the goal at a time [rad], shape (19,), and whether it moves."""
    start = HOME
    for phase in PHASES:
        goal = POSES[phase.pose]
        if time < phase.begin:
            break
        part = (time - phase.begin) / (MOVE_SHARE * (phase.end - phase.begin))
        if part < 1.0 and goal is not start:
            return start + least_jerk(part)[0] * (goal - start), True
        start = goal
    return start, False


@cache
def _goals(ticks: int) -> tuple[Array, Array]:
    """Return the first goals [rad], shape (k, 19), and whether they move, shape (k,); the same in all runs."""
    every = [desired(tick * DT) for tick in range(ticks)]
    return frozen(np.array([goal for goal, _ in every])), frozen(np.array([float(moves) for _, moves in every]))


def gains(robot: Robot) -> tuple[Array, Array]:
    """Return K_p [N m/rad] and K_d [N m s/rad], shapes (n,)."""
    q, n = POSES["estimation"], robot.n
    rows = robot.inverse_dynamics(np.repeat(q[None], n, axis=0), np.zeros((n, n)), np.eye(n))
    inertia = np.diag(rows) - robot.gravity(q) + robot.rotor_inertia
    return inertia * FREQUENCY**2, 2.0 * DAMPING * FREQUENCY * inertia


def plant(robot: Robot, *, friction: bool) -> SimulatedArm:
    """Return the simulated robot: ideal as in the paper, or with the stiction of the dualarm19 preset (LuGre)."""
    law = preset("dualarm19").config.drive.friction if friction else None
    config = ArmConfig(
        name="jo-2018" + (" with stiction" if friction else ""),
        timing=Timing(dt=DT, physics_step=1e-4 if friction else 5e-4),
        drive=Drive(friction=law),
        encoder=Encoder(velocity="exact"),
        position=HOME,
        start="slack",
    )
    return SimulatedArm(robot, config)


def estimator_of(robot: Robot, compensation: Compensation) -> OnlineGravity | None:
    """Return the estimator of a run, knowing nothing, not even whether there is friction; None for runs without one."""
    if compensation == "none" or compensation == "exact":  # noqa: PLR1714  a form that the type checker narrows by
        return None
    if compensation == "recursive":
        return OnlineGravity(robot, DT, "recursive", prior="none")
    kp, kd = gains(robot)
    return OnlineGravity(robot, DT, compensation, q_gain=Q_GAIN, kp=kp, kd=kd)


def run_scenario(
    compensation: Compensation,
    *,
    friction: bool = False,
    until: float = DURATION,
    estimator: OnlineGravity | None = None,
) -> ScenarioRun:
    """Run the scenario.

    Args:
        compensation: Without ĝ, with the exact g, or with one of the estimators. The published laws learn from 7 to 12
            s and keep what they have; the recursive one learns whenever the arm stands.
        friction: With stiction in every joint.
        until: When to stop [s].
        estimator: To use instead of a fresh one.
    """
    robot = load("dualarm19")
    kp, kd = gains(robot)
    est = estimator_of(robot, compensation) if estimator is None else estimator
    published = est is not None and est.method != "recursive"
    arm = plant(robot, friction=friction)
    ticks = round(until / DT)
    goals, moving = _goals(ticks)
    time: Array = DT * np.arange(ticks, dtype=np.float64)
    error = np.zeros((ticks, robot.n))
    with arm:
        for tick in range(ticks):
            sample, goal = arm.read(), goals[tick]
            np.subtract(goal, sample.q, out=error[tick])
            tau = kp * error[tick] - kd * sample.dq
            if est is not None:
                if published:
                    est.learning = ESTIMATION[0] <= time[tick] < ESTIMATION[1]
                est.update(sample.q, sample.dq, sample.effort, goal)
                tau += est.gravity(sample.q)
            elif compensation == "exact":
                tau += robot.gravity(sample.q)
            arm.write(tau)
    return ScenarioRun(time, error, moving, est, robot)
