r"""A six-axis sensor at the wrist: its zero and the tool beyond it, from a recording; gravity removed at run time.

The reading is ± (tool + contact) + bias, plus for ``reads="on_robot"``: what tool and surroundings exert on the robot.
A mass is positive, so the recording itself shows the sign.

**The tool** is rigid: the wrench that it exerts on the sensor that carries it is linear in its mass and first moment
(``tool_columns``). With g' = g − a what gravity and acceleration make of a mass at the sensor's origin, ω and α the
sensor's turning, all along the sensor's axes, and c the tool's centre of mass,

.. math:: f = m g' - [α]_× m c - [ω]_× [ω]_× m c, \qquad n = m c × g',

the moment n about the sensor's origin. The tool's own moments of inertia are left out: they need fast turns to show.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from ..dynamics import Robot
from ..errors import InputError
from ..fitting import Linearised, gauss_newton
from ..foundation import Array, frozen, rotation_from_vector, skew, transform
from ..recording import GRID_CUTOFF, Log, Motion, near_times
from .plate.sensor_fit import (
    LEAST_TIME,
    MOST_LOST,
    MOST_ROWS,
    ROWS_PER_PERIOD,
    missing_readings,
    refuse_unusable,
    unusable_readings,
    with_gaps,
)
from .plate.wrench_frame import checked_pose

STEP = 1e-5
"""Time over which the Jacobian is differenced for the acceleration at given speeds [s]."""


def tool_columns(
    robot: Robot, link: str, T_link_sensor: Array, q: Array, dq: Array | None = None, ddq: Array | None = None
) -> Array:
    """Return the columns of [m, m cx, m cy, m cz] in the wrench on the robot, sensor axes and origin, shape (k, 6, 4).

    Args:
        robot: The robot.
        link: Link that the sensor is mounted on.
        T_link_sensor: Pose of the sensor in that link's frame, shape (4, 4).
        q: Joint positions [rad or m], shape (k, n).
        dq: Velocities, shape (k, n); None at rest.
        ddq: Accelerations, shape (k, n); None for none.
    """
    poses = robot.forward_kinematics(q, at=link)
    axes = poses[:, :3, :3] @ T_link_sensor[:3, :3]
    free = np.tile(robot.gravity_base, (len(q), 1))
    omega, alpha = np.zeros((len(q), 3)), np.zeros((len(q), 3))
    if dq is not None or ddq is not None:
        speed = np.zeros_like(q) if dq is None else dq
        rate = np.zeros_like(q) if ddq is None else ddq
        jacobian = robot.jacobian(q, at=link)
        ahead, behind = (robot.jacobian(q + sign * STEP * speed, at=link) for sign in (1.0, -1.0))
        motion = np.einsum("kij,kj->ki", jacobian, rate)
        motion += np.einsum("kij,kj->ki", (ahead - behind) / (2.0 * STEP), speed)
        omega, alpha = np.einsum("kij,kj->ki", jacobian, speed)[:, 3:], motion[:, 3:]
        arm = poses[:, :3, :3] @ T_link_sensor[:3, 3]
        free = free - motion[:, :3] - np.cross(alpha, arm) - np.cross(omega, np.cross(omega, arm))
    at_sensor = np.einsum("kji,kj->ki", axes, free)
    turning, turned = (skew(np.einsum("kji,kj->ki", axes, vectors)) for vectors in (omega, alpha))
    columns = np.zeros((len(q), 6, 4))
    columns[:, :3, 0] = at_sensor
    columns[:, :3, 1:] = -turned - turning @ turning
    columns[:, 3:, 1:] = -skew(at_sensor)
    return columns


WristReads = Literal["on_robot", "on_tool"]
LEAST_SPREAD = math.sin(math.radians(5.0))
"""Root mean square of how far gravity's direction in the sensor leaves its mean, below which nothing shows."""
SURE_MASS = 0.05
"""A mass of a greater relative standard deviation is not shown."""
SURE_CENTRE = 0.01
"""... nor a centre of mass [m]."""
SURE_TURN = math.radians(2.0)
"""... nor a turn of the mount [rad]."""
PASSES = 12
SETTLED = 1e-4
"""Largest step, in standard errors, at which the fit ends."""


@dataclass(frozen=True, eq=False)
class WristCalibration:
    """A wrist sensor and its tool.

    Attributes:
        robot: The robot.
        link: Link that the sensor is mounted on.
        T_link_sensor: Pose of the sensor in that link's frame, shape (4, 4).
        reads: "on_robot" where the reading is what tool and surroundings exert on the robot, "on_tool" for the
            opposite.
        mass: Of everything beyond the sensor [kg].
        com: Its centre of mass, sensor frame [m], shape (3,).
        bias: Reading without load [N, N m], shape (6,).
        mass_std: Standard deviation of the mass [kg].
        com_std: ... of the centre of mass [m], shape (3,).
        bias_std: ... of the bias, shape (6,).
        rotation_std: ... of the mount's axes about the sensor's x, y, z [rad], shape (3,); zeros where not fitted.
        noise: Standard deviation of what is left [N, N m], shape (6,).
        determined: What was looked for, in words, and whether the recording shows it.
        sentences: All of this in words.
    """

    robot: Robot
    link: str
    T_link_sensor: Array
    reads: WristReads
    mass: float
    com: Array
    bias: Array
    mass_std: float
    com_std: Array
    bias_std: Array
    rotation_std: Array
    noise: Array
    determined: Mapping[str, bool]
    sentences: tuple[str, ...]

    def contact_wrench(
        self,
        q: npt.ArrayLike,
        reading: npt.ArrayLike,
        dq: npt.ArrayLike | None = None,
        ddq: npt.ArrayLike | None = None,
    ) -> Array:
        """Return what the surroundings exert on the robot, sensor axes and origin [N, N m], shape (6,) or (k, 6).

        Args:
            q: Joint positions [rad or m], shape (n,) or (k, n).
            reading: Raw reading, shape (6,) or (k, 6).
            dq: Velocities, shape of ``q``; None to leave the motion out.
            ddq: Accelerations, shape of ``q``; None to leave them out.

        Raises:
            InputError: Shapes that do not fit.
        """
        poses, given = np.asarray(q, dtype=np.float64), np.asarray(reading, dtype=np.float64)
        if given.shape != (*poses.shape[:-1], 6):
            raise InputError(f"reading has shape {given.shape}; expected {(*poses.shape[:-1], 6)}")
        rates = [None if one is None else np.atleast_2d(np.asarray(one, dtype=np.float64)) for one in (dq, ddq)]
        for name, one in zip(("dq", "ddq"), rates, strict=True):
            if one is not None and one.shape != np.atleast_2d(poses).shape:
                raise InputError(f"{name} has shape {one.shape}; expected that of q, {poses.shape}")
        columns = tool_columns(self.robot, self.link, self.T_link_sensor, np.atleast_2d(poses), *rates)
        tool = columns @ (self.mass * np.array([1.0, *self.com]))
        sign = 1.0 if self.reads == "on_robot" else -1.0
        contact: Array = sign * (np.atleast_2d(given) - self.bias) - tool
        return contact if poses.ndim == 2 else contact[0]


def calibrate_wrist_sensor(
    robot: Robot,
    log: Log,
    *,
    link: str,
    T_link_sensor: npt.ArrayLike | None = None,
    reads: WristReads | None = None,
    fit_rotation: bool = False,
    cutoff: float = GRID_CUTOFF,
) -> WristCalibration:
    """Find a wrist sensor's zero and its tool from a recording in many orientations, touching nothing.

    Args:
        robot: The robot; only its kinematics and mounting count.
        log: The recording, ``wrench`` the wrist sensor's raw reading.
        link: Link that the sensor is mounted on.
        T_link_sensor: Pose of the sensor in that link's frame, shape (4, 4); None for the link's own frame.
        reads: The sign convention; None to take the one of a positive mass.
        fit_rotation: Also find the sensor's axes; T_link_sensor is then where the search starts.
        cutoff: Of the low-pass [Hz].

    Raises:
        InputError: The recording cannot be used, shows too few orientations, or contradicts ``reads``.
    """
    if reads not in (None, "on_robot", "on_tool"):
        raise InputError(f"reads is {reads!r}; expected 'on_robot', 'on_tool' or None")
    if link not in robot.link_names:
        raise InputError(f"robot '{robot.name}' has no link '{link}'; it has {', '.join(robot.link_names)}")
    pose = checked_pose(np.eye(4) if T_link_sensor is None else T_link_sensor, "T_link_sensor")
    q, dq, ddq, reading = _rows(robot, log, cutoff)
    columns = tool_columns(robot, link, pose, q, dq, ddq)
    spread = orientations(columns[:, :3, 0])
    if fit_rotation:
        pose = _turned_mount(pose, columns[:, :3, 0], reading[:, :3], reads, spread)
    solved = _solve(robot, link, pose, (q, dq, ddq), reading, turning=fit_rotation)
    return _calibration(robot, link, solved, reads, spread)


def _rows(robot: Robot, log: Log, cutoff: float) -> tuple[Array, Array, Array, Array]:
    """Return positions, velocities, accelerations and readings that may be used, smoothed alike."""
    refuse_unusable(robot, log)
    log = log.without_infinities()
    missing, unusable = missing_readings(log), unusable_readings(log)
    useless = float(np.mean(missing | unusable))
    log, lost = with_gaps(log, missing, unusable, cutoff)
    smooth = Motion.on_grid(log, cutoff)
    if smooth is None or smooth.wrench is None or useless > MOST_LOST:
        raise InputError(
            f"the recording of {len(log)} samples cannot be used: {useless:.0%} of the readings are no numbers, "
            "flagged, saturated or frozen, or there are too few"
        )
    usable = np.flatnonzero(smooth.usable & ~near_times(smooth.time, log.time[lost], 1.0 / smooth.cutoff))
    seconds = len(usable) * smooth.dt
    if seconds < LEAST_TIME:
        raise InputError(f"the recording has {seconds:.1f} s that can be used; expected at least {LEAST_TIME:g} s")
    count = min(MOST_ROWS, int(ROWS_PER_PERIOD * smooth.cutoff * seconds))
    rows = usable[np.unique(np.linspace(0, len(usable) - 1, count).astype(np.int64))]
    return smooth.q[rows], smooth.dq[rows], smooth.ddq[rows], smooth.wrench[rows]


def orientations(gravity: Array) -> Array:
    """Return how far gravity's direction in the sensor spreads along its three main directions, rms, largest first."""
    size = float(np.linalg.norm(gravity, axis=1).mean())
    if size == 0.0:
        raise InputError("the robot has no gravity; a wrist sensor's tool is weighed by it")
    spread: Array = np.linalg.svd(gravity - gravity.mean(axis=0), compute_uv=False) / size / math.sqrt(len(gravity))
    if spread[0] < LEAST_SPREAD:
        raise InputError(
            f"the sensor keeps its orientation to gravity within {math.degrees(math.asin(spread[0])):.1f}° (rms): the "
            "tool's weight cannot be distinguished from its zero. Record a dozen orientations, upside down included"
        )
    return spread


def _turned_mount(pose: Array, gravity: Array, force: Array, reads: WristReads | None, spread: Array) -> Array:
    """Return the pose with axes that turn gravity into the force read, by polar decomposition of their product."""
    if spread[1] < LEAST_SPREAD:
        raise InputError(
            "gravity's direction changes along one line only, so the mount's rotation does not show; turn the wrist "
            "about a second axis too"
        )
    product = (gravity - gravity.mean(axis=0)).T @ (force - force.mean(axis=0))
    best: tuple[float, Array] | None = None
    for sign in (1.0, -1.0):
        if reads is not None and sign != (1.0 if reads == "on_robot" else -1.0):
            continue
        left, sizes, right = np.linalg.svd(sign * product)
        # force ≈ m Q g with a proper rotation Q: the last direction changes sign where it must.
        last = float(np.sign(np.linalg.det(right.T @ left.T)))
        gained = float(sizes[0] + sizes[1] + last * sizes[2])
        if best is None or gained > best[0]:
            best = gained, right.T @ np.diag([1.0, 1.0, last]) @ left.T
    if best is None or (reads is None and spread[2] < LEAST_SPREAD):
        raise InputError(
            "the orientations lie in one plane: the reading's sign cannot be distinguished from the mounting there; "
            "give reads="
        )
    return transform(pose[:3, :3] @ best[1].T, pose[:3, 3])


@dataclass(frozen=True, slots=True, eq=False)
class _Solved:
    """[± m, ± m c, bias] (10,), covariance with the turn (13, 13), pose, residuals' standard deviation (6,)."""

    x: Array
    covariance: Array
    pose: Array
    noise: Array


def _solve(
    robot: Robot, link: str, pose: Array, motion: tuple[Array, Array, Array], reading: Array, *, turning: bool
) -> _Solved:
    """Return the robust least squares solution; with a turn of the mount, which has a slope once there is a mass."""

    def columns(state: tuple[Array, Array]) -> Array:
        x, pose = state
        tool = tool_columns(robot, link, pose, *motion)
        A = np.zeros((len(reading), 6, 13))
        A[:, :, :4] = tool
        A[:, range(6), range(4, 10)] = 1.0
        turn = skew(tool[:, :3, 0])
        A[:, :3, 10:] = x[0] * turn
        A[:, 3:, 10:] = skew(x[1:4]) @ turn
        return A

    def linearised(state: tuple[Array, Array], number: int) -> Linearised:
        A = columns(state)
        left = reading - A[:, :, :10] @ state[0]
        A = A[:, :, : 13 if turning else 10]
        if number == 0:  # nothing is known of the zero, so that every reading would be an outlier
            return Linearised(A, left, np.ones(left.shape), np.ones(6), np.ones(6))
        return Linearised.robust(A, left, reject=True)

    def stepped(state: tuple[Array, Array], step: Array, _: Linearised) -> tuple[Array, Array]:
        x, pose = state
        turn = rotation_from_vector(step[10:]) if turning else np.eye(3)
        return x + step[:10], transform(pose[:3, :3] @ turn, pose[:3, 3])

    (x, pose), solution, _ = gauss_newton(
        (np.zeros(10), pose), linearised, stepped, rounds=PASSES, settled=SETTLED, least=3
    )
    covariance = np.zeros((13, 13))
    covariance[: len(solution.x), : len(solution.x)] = solution.covariance
    return _Solved(x, covariance, pose, (reading - columns((x, pose))[:, :, :10] @ x).std(axis=0))


def _calibration(robot: Robot, link: str, solved: _Solved, reads: WristReads | None, spread: Array) -> WristCalibration:
    std = np.sqrt(np.maximum(np.diag(solved.covariance), 0.0))
    signed = float(solved.x[0])
    sure = abs(signed) > 3.0 * std[0]
    seen: WristReads = "on_robot" if signed >= 0.0 else "on_tool"
    if reads is not None and reads != seen and sure:
        raise InputError(
            f"the tool's mass comes out as {-abs(signed):.3g} ± {std[0]:.2g} kg with reads='{reads}'; a mass is "
            f"positive, so the sensor reads '{seen}'"
        )
    if not sure:
        raise InputError(
            f"the tool's mass is {abs(signed):.3g} ± {std[0]:.2g} kg, no more than its own spread; a heavier tool, "
            "more orientations or less noise would show it"
        )
    mass, com = abs(signed), solved.x[1:4] / signed
    # c = (m c)/m: its spread by the slopes of the quotient.
    slopes = np.column_stack([-com, np.eye(3)]) / signed
    com_std = np.sqrt(np.maximum(np.diag(slopes @ solved.covariance[:4, :4] @ slopes.T), 0.0))
    shown = {"sign": True, "mass": bool(std[0] < SURE_MASS * mass)}
    shown |= {f"centre along {axis}": bool(one < SURE_CENTRE) for axis, one in zip("xyz", com_std, strict=True)}
    if std[10:].any():
        shown["mount's rotation"] = bool(std[10:].max() < SURE_TURN)
    told = [
        f"The tool weighs {mass:.3f} ± {std[0]:.2g} kg; its centre lies at "
        + ", ".join(f"{a} = {1e3 * c:+.1f} ± {1e3 * s:.1g} mm" for a, c, s in zip("xyz", com, com_std, strict=True))
        + " in the sensor's frame.",
        f"The sensor reads '{seen}'. Gravity's direction spreads by {spread[0]:.2f}, {spread[1]:.2f} and "
        f"{spread[2]:.2f} (rms) in it.",
    ]
    hidden = [name for name, known in shown.items() if not known]
    if hidden:
        told.append(f"Not shown by these orientations: {', '.join(hidden)}.")
    told.append("The tool's moments of inertia are not fitted: in fast turns a part of the moment remains.")
    return WristCalibration(
        robot=robot,
        link=link,
        T_link_sensor=frozen(solved.pose),
        reads=seen,
        mass=mass,
        com=frozen(com),
        bias=frozen(solved.x[4:10]),
        mass_std=float(std[0]),
        com_std=frozen(com_std),
        bias_std=frozen(std[4:10]),
        rotation_std=frozen(std[10:]),
        noise=frozen(solved.noise),
        determined=shown,
        sentences=tuple(told),
    )
