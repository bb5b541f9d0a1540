r"""A six-axis sensor at the wrist from poses at rest: its zero, the tool beyond it, and what else is asked for.

At rest the reading is, along the sensor's axes and about its origin,

.. math:: r = ± \begin{bmatrix} m g_s \\ m c × g_s \end{bmatrix} + b, \qquad g_s = R_s^T g,

with the sensor's axes R_s = R_link(q) R_link_sensor in the base frame. Every pose is predicted from the others.

It is a least-squares problem of ten numbers always, and of a turn and a tilt where asked for. Mass, first moment and
zero enter linearly; a turn of the sensor and a tilt of gravity by Gauss–Newton steps. Forces and moments each have one
noise, estimated from what is left with the degrees of freedom that the fit took. Deviations are widened as few poses
ask for (Student's t), so that two of them hold 95 %. What no pose tells has an infinite deviation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit  # type: ignore[import-untyped]

from ..dynamics import Robot
from ..errors import InputError
from ..fitting import CERTAIN, Linearised, gauss_newton
from ..foundation import (
    Array,
    Check,
    PublishedData,
    Verdict,
    frozen,
    infinite_where_unknown,
    refuse_beyond,
    refuse_shape,
    rotation_from_vector,
    skew,
    transform,
    write_document,
)
from ..identification import DataChoice, Identity, data_kind, identity_of, read_for_robot
from ..recording import SETTLE, Log, find_rests
from .plate.sensor_fit import missing_readings, refuse_unusable
from .plate.wrench_frame import checked_pose
from .wrist_sensor import SURE_CENTRE, SURE_MASS, SURE_TURN, WristCalibration, WristReads, orientations

Turn = Literal["none", "axis", "full"]
TURNS: tuple[Turn, ...] = get_args(Turn)
PASSES = 20
STARTS = 24
"""Turns about the sensor's axis from which the search begins."""
SETTLED = 1e-4
"""Largest step, in standard errors, at which the fit ends."""
LARGEST_TURN = 0.5
"""Largest turn and tilt in one step [rad]: further away the slopes are others."""
HIDDEN = 3e-5
"""Singular value, columns scaled to length 1, below which a combination is not stated."""


@dataclass(frozen=True, slots=True, eq=False)
class WristState:
    """x = [± m, ± m c, bias], the sensor's axes in the link, and gravity in base axes."""

    x: Array
    axes: Array
    gravity: Array

    def predicted(self, axes: Array) -> Array:
        """Return readings at poses of the link, shape (k, 6)."""
        return np.asarray(_columns(_felt(axes, self.axes, self.gravity), self.x)[:, :, :10] @ self.x)


@dataclass(frozen=True, slots=True, eq=False)
class WristSolution(WristState):
    """The state of least squares, the covariance of x, turn and tilt, and what is left of the readings."""

    covariance: Array
    left: Array


@dataclass(frozen=True, slots=True)
class WristProblem:
    """What is fitted: ten numbers always, three of a turn, two of a tilt."""

    turn: Turn
    tilt: bool
    reads: WristReads | None

    @property
    def columns(self) -> list[int]:
        """Which of the fifteen unknowns are fitted."""
        turned = {"none": [], "axis": [12], "full": [10, 11, 12]}[self.turn]
        return [*range(10), *turned, *([13, 14] if self.tilt else [])]

    def solved(self, axes: Array, start: Array, gravity: Array, reading: Array) -> WristSolution:
        """Return the fit from the best of some starts; one that contradicts ``reads`` counts last."""
        angles = np.arange(STARTS) * 2.0 * math.pi / STARTS if self.turn == "axis" else np.zeros(1)
        turned = [start @ rotation_from_vector(np.array([0.0, 0.0, angle])) for angle in angles]
        costs = [self._quality(axes, one, gravity, reading) for one in turned]
        return self.descended(axes, turned[int(np.argmin(costs))], gravity, reading)

    def _quality(self, axes: Array, turned: Array, gravity: Array, reading: Array) -> float:
        A = _columns(_felt(axes, turned, gravity), np.zeros(10))[:, :, :10]
        scale = np.maximum(reading.std(axis=0), 1e-9)
        flat, given = (A / scale[:, None]).reshape(-1, 10), (reading / scale).ravel()
        x = np.linalg.lstsq(flat, given, rcond=1e-10)[0]
        wrong = self.reads is not None and (x[0] >= 0.0) != (self.reads == "on_robot")
        return float(np.sum((given - flat @ x) ** 2)) + (1e12 if wrong else 0.0)

    def descended(self, axes: Array, turned: Array, gravity: Array, reading: Array) -> WristSolution:
        """Return the fit that is nearest to a start."""
        kept, count = self.columns, len(axes)

        def linearised(state: WristState, _: int) -> Linearised:
            A = _columns(_felt(axes, state.axes, state.gravity), state.x, axes @ state.axes, state.gravity)[:, :, kept]
            return Linearised.plain(_by_kind(A), _by_kind(reading - state.predicted(axes)))

        def stepped(state: WristState, step: Array, _: Linearised) -> WristState:
            moved = np.zeros(15)
            moved[kept] = step
            moved *= min(1.0, LARGEST_TURN / max(float(np.linalg.norm(moved[10:])), 1e-12))
            return WristState(
                state.x + moved[:10],
                state.axes @ rotation_from_vector(moved[10:13]),
                rotation_from_vector(_level(state.gravity).T @ moved[13:]) @ state.gravity,
            )

        begin = WristState(np.zeros(10), turned, gravity)
        # Three steps at least: a turn has no slope before there is a mass.
        state, solution, _ = gauss_newton(
            begin, linearised, stepped, rounds=PASSES, settled=SETTLED, least=3, tolerance=HIDDEN
        )
        wider = float(stdtrit(max(6.0 * count - len(kept), 1.0), 0.975)) / CERTAIN
        covariance = np.zeros((15, 15))
        covariance[np.ix_(kept, kept)] = wider**2 * solution.covariance
        hidden = np.array(kept)[np.isinf(solution.std)]
        covariance[hidden, hidden] = np.inf
        return WristSolution(state.x, state.axes, state.gravity, covariance, reading - state.predicted(axes))


def _by_kind(values: Array) -> Array:
    """Return what belongs to the six components of readings as forces and moments, (k, 6, …) to (3 k, 2, …)."""
    return np.swapaxes(values.reshape(len(values), 2, 3, *values.shape[2:]), 1, 2).reshape(-1, 2, *values.shape[2:])


def _felt(axes: Array, turned: Array, gravity: Array) -> Array:
    """Return gravity along the sensor's axes at every pose [m/s²], shape (k, 3)."""
    return np.asarray(np.einsum("kji,j->ki", axes @ turned, gravity))


def _level(gravity: Array) -> Array:
    """Return two axes across gravity, base frame, shape (2, 3)."""
    down = gravity / np.linalg.norm(gravity)
    first = np.cross(np.eye(3)[int(np.argmin(np.abs(down)))], down)
    first /= np.linalg.norm(first)
    return np.array([first, np.cross(down, first)])


def _columns(felt: Array, x: Array, axes: Array | None = None, gravity: Array | None = None) -> Array:
    """Return the derivatives of the readings by [m, m c, bias, turn, tilt], shape (k, 6, 15)."""
    A = np.zeros((len(felt), 6, 15))
    cross = skew(felt)
    A[:, :3, 0] = felt
    A[:, 3:, 1:4] = -cross  # m c × g = −g × m c
    A[:, range(6), range(4, 10)] = 1.0
    if axes is not None and gravity is not None:
        tilted = np.einsum("kji,aj->kia", axes, np.cross(_level(gravity), gravity))
        for at, change in ((slice(10, 13), cross), (slice(13, 15), tilted)):
            A[:, :3, at] = x[0] * change
            A[:, 3:, at] = skew(x[1:4]) @ change
    return A


LEAST_POSES = 4
SURE_FORCE, SURE_ARM = 0.05, 0.01
"""Held-out errors that are still trusted: of forces as a share of the tool's weight, of moments as its lever [m]."""


@dataclass(frozen=True, slots=True, eq=False)
class WristPoses(PublishedData):
    """Poses at rest and what the sensor read there.

    Attributes:
        q: Joint positions [rad or m], shape (m, n).
        reading: Mean readings [N, N m], shape (m, 6).
        source: Where they come from, in words.
    """

    q: Array
    reading: Array
    source: str


@dataclass(frozen=True, slots=True, eq=False)
class WristFit(PublishedData):
    """A wrist sensor and its tool, from poses at rest. Deviations hold 95 % within two of them.

    Attributes:
        link: Link that the sensor is mounted on.
        T_link_sensor: Pose of the sensor in that link's frame, found turn included, shape (4, 4).
        reads: "on_robot" where the reading is what tool and surroundings exert on the robot, "on_tool" for the
            opposite.
        mass: Of everything beyond the sensor [kg].
        mass_std: Its standard deviation [kg].
        com: Its centre of mass, sensor frame [m], shape (3,).
        com_std: Standard deviations [m], shape (3,).
        bias: Reading without load [N, N m], shape (6,).
        bias_std: Standard deviations, shape (6,).
        turn: What was looked for of the sensor's turn.
        turn_std: Standard deviations of the turn about the sensor's x, y, z [rad], shape (3,); 0 where not fitted.
        gravity_base: Gravity in base axes, found tilt included [m/s²], shape (3,).
        tilt: Angle by which it leaves the robot's mounting [rad]; 0 where not fitted.
        tilt_std: Its standard deviation [rad].
        residual: What the fit leaves, root mean square [N, N m], shape (6,).
        heldout: Errors of poses predicted from the others, root mean square [N, N m], shape (6,).
        spread: How far gravity's direction spreads in the sensor along three directions, rms, largest first, (3,).
        poses: Number of poses.
        source: Where they come from.
        determined: What was looked for, in words, and whether the poses show it.
        verdict: What a trusted result needs, and whether it has it.
        sentences: All of this in words.
        identity: The robot it belongs to.
        created: When it was made, ISO 8601.
        package: Version of the package that made it.
    """

    link: str
    T_link_sensor: Array
    reads: WristReads
    mass: float
    mass_std: float
    com: Array
    com_std: Array
    bias: Array
    bias_std: Array
    turn: Turn
    turn_std: Array
    gravity_base: Array
    tilt: float
    tilt_std: float
    residual: Array
    heldout: Array
    spread: Array
    poses: int
    source: str
    determined: Mapping[str, bool]
    verdict: Verdict
    sentences: tuple[str, ...]
    identity: Identity
    created: str
    package: str

    def __post_init__(self) -> None:
        """Take deviations that are not known for infinite."""
        infinite_where_unknown(self, "com_std", "bias_std", "turn_std", "tilt_std")

    @property
    def trusted(self) -> bool:
        """Whether all that was looked for is shown, and the poses are predicted from each other."""
        return self.verdict.trusted

    def save(self, path: str | Path) -> Path:
        """Write the calibration file, all or nothing.

        Returns:
            The file that was written.

        Raises:
            DataFileError: It cannot be written.
        """
        return write_document(path, SCHEMA, VERSION, self)

    def calibration(self, robot: Robot) -> WristCalibration:
        """Return what removes the tool from readings at run time, for the robot that was fitted.

        A tilt that was found is taken over: the robot stands by it.
        """
        standing = robot if self.tilt == 0.0 else robot.mounted(rotation=np.eye(3), gravity=self.gravity_base)
        return WristCalibration(
            robot=standing,
            link=self.link,
            T_link_sensor=self.T_link_sensor,
            reads=self.reads,
            mass=self.mass,
            com=self.com,
            bias=self.bias,
            mass_std=self.mass_std,
            com_std=self.com_std,
            bias_std=self.bias_std,
            rotation_std=self.turn_std,
            noise=self.residual,
            determined=self.determined,
            sentences=self.sentences,
        )


def wrist_poses(robot: Robot, log: Log, *, use: DataChoice = "auto") -> WristPoses:
    """Return the poses at rest of a recording, or of a table of poses.

    Args:
        robot: The robot; only its kinematics and mounting count.
        log: The recording, ``wrench`` the wrist sensor's raw reading.
        use: "static" for poses at which the arm stands, "rows" for a table with a pose a row; "auto" decides.

    Raises:
        InputError: The recording cannot be used, or holds too few poses.
    """
    refuse_unusable(robot, log)
    if use == "moving":
        raise InputError("a motion is fitted by calibrate_wrist_sensor(); here poses at rest are")
    kind = data_kind(log, use, None, "weighted")[0]
    known = np.isfinite(log.q).all(axis=1) & ~missing_readings(log)
    readings = np.asarray(log.wrench)
    if kind == "rows":
        q, reading, source = log.q[known], readings[known], "rows of a table"
    else:
        chosen = [
            rows
            for segment in find_rests(log, settle=SETTLE)
            if (rows := segment.start + np.flatnonzero(known[segment.start : segment.end])).size
        ]
        q = np.array([log.q[rows].mean(axis=0) for rows in chosen]).reshape(-1, robot.n)
        reading = np.array([readings[rows].mean(axis=0) for rows in chosen]).reshape(-1, 6)
        source = "poses at which the arm stands"
    if len(q) < LEAST_POSES:
        raise InputError(
            f"there are {len(q)} {source} with a reading; expected at least {LEAST_POSES}, better a dozen, in "
            "different orientations of the wrist. A table of poses, one a row, needs use='rows' (--use rows)"
        )
    return WristPoses(frozen(q), frozen(reading), source)


def calibrate_wrist_poses(
    robot: Robot,
    poses: WristPoses,
    *,
    link: str,
    T_link_sensor: npt.ArrayLike | None = None,
    reads: WristReads | None = None,
    turn: Turn = "none",
    tilt: bool = False,
) -> WristFit:
    """Find a wrist sensor's zero and its tool from poses at rest, touching nothing.

    Args:
        robot: The robot; only its kinematics and mounting count.
        poses: Poses and readings.
        link: Link that the sensor is mounted on.
        T_link_sensor: Pose of the sensor in that link's frame, shape (4, 4); None for the link's own frame.
        reads: The sign convention; None to take the one of a positive mass.
        turn: Also find how the sensor is turned: "axis" about its z axis, by any angle; "full" about all axes, by some
            tens of degrees.
        tilt: Also find the tilt of gravity against the robot's mounting.

    Raises:
        InputError: Too few poses or orientations, or ``reads`` contradicts them.
    """
    if reads not in (None, "on_robot", "on_tool") or turn not in TURNS:
        raise InputError(f"reads is {reads!r} and turn {turn!r}; expected 'on_robot' or 'on_tool', and one of {TURNS}")
    if link not in robot.link_names:
        raise InputError(f"robot '{robot.name}' has no link '{link}'; it has {', '.join(robot.link_names)}")
    pose = checked_pose(np.eye(4) if T_link_sensor is None else T_link_sensor, "T_link_sensor")
    axes = robot.forward_kinematics(poses.q, at=link)[:, :3, :3]
    spread = orientations(np.einsum("kji,kj->ki", axes @ pose[:3, :3], np.tile(robot.gravity_base, (len(axes), 1))))
    problem = WristProblem(turn, tilt, reads)
    found = problem.solved(axes, pose[:3, :3], robot.gravity_base, poses.reading)
    missed = np.full(poses.reading.shape, np.nan)
    for held in range(len(axes)):
        others = np.arange(len(axes)) != held
        without = problem.descended(axes[others], found.axes, found.gravity, poses.reading[others])
        missed[held] = poses.reading[held] - without.predicted(axes[[held]])[0]
    return _fit(robot, link, pose, problem, found, missed, spread, poses)


def _fit(
    robot: Robot,
    link: str,
    pose: Array,
    problem: WristProblem,
    found: WristSolution,
    missed: Array,
    spread: Array,
    poses: WristPoses,
) -> WristFit:
    std = np.sqrt(np.maximum(np.diag(found.covariance), 0.0))
    signed = float(found.x[0])
    seen: WristReads = "on_robot" if signed >= 0.0 else "on_tool"
    if not abs(signed) > 3.0 * std[0]:
        raise InputError(
            f"the tool's mass is {abs(signed):.3g} ± {std[0]:.2g} kg, no more than its own spread; a heavier tool, "
            "more orientations or less noise would show it"
        )
    if problem.reads is not None and problem.reads != seen:
        raise InputError(
            f"the tool's mass comes out as {-abs(signed):.3g} ± {std[0]:.2g} kg with reads='{problem.reads}'; a mass "
            f"is positive, so the sensor reads '{seen}'"
        )
    mass, com = abs(signed), found.x[1:4] / signed
    finite = np.where(np.isfinite(found.covariance), found.covariance, 0.0)
    slopes = np.column_stack([-com, np.eye(3)]) / signed
    com_std = np.sqrt(np.maximum(np.diag(slopes @ finite[:4, :4] @ slopes.T), 0.0))
    com_std = np.where(np.isfinite(std[1:4]), com_std, np.inf)
    down, away = robot.gravity_base, found.gravity
    tilt = math.atan2(float(np.linalg.norm(np.cross(down, away))), float(down @ away))
    tilt_std = float(np.sqrt(0.5 * (std[13] ** 2 + std[14] ** 2)))
    heldout = np.sqrt(np.mean(missed**2, axis=0))
    shown = {"mass": bool(std[0] < SURE_MASS * mass)}
    shown |= {f"centre along {axis}": bool(one < SURE_CENTRE) for axis, one in zip("xyz", com_std, strict=True)}
    if problem.turn != "none":
        shown["turn of the sensor"] = bool(std[10:13].max() < SURE_TURN)
    if problem.tilt:
        shown["tilt of gravity"] = bool(tilt_std < SURE_TURN)
    weight = mass * float(np.linalg.norm(down))
    force, moment = float(np.sqrt(np.mean(heldout[:3] ** 2))), float(np.sqrt(np.mean(heldout[3:] ** 2)))
    within = f"forces of a pose are predicted from the others within {SURE_FORCE:.0%} of the weight"
    lever = f"moments are, within {1e3 * SURE_ARM:.0f} mm of its lever"
    most_force, most_moment = SURE_FORCE * weight, SURE_ARM * weight
    verdict = Verdict(
        (
            Check("shown", all(shown.values()), "the poses show all that was looked for"),
            Check("forces", force < most_force, within, force, most_force, "N"),
            Check("moments", moment < most_moment, lever, moment, most_moment, "N m"),
        )
    )
    from .. import __version__

    result = WristFit(
        link=link,
        T_link_sensor=frozen(transform(found.axes, pose[:3, 3])),
        reads=seen,
        mass=mass,
        mass_std=float(std[0]),
        com=frozen(com),
        com_std=frozen(com_std),
        bias=frozen(found.x[4:10]),
        bias_std=frozen(std[4:10]),
        turn=problem.turn,
        turn_std=frozen(std[10:13]),
        gravity_base=frozen(away),
        tilt=tilt if problem.tilt else 0.0,
        tilt_std=tilt_std,
        residual=frozen(np.sqrt(np.mean(found.left**2, axis=0))),
        heldout=frozen(heldout),
        spread=frozen(spread),
        poses=len(poses.q),
        source=poses.source,
        determined=shown,
        verdict=verdict,
        sentences=(),
        identity=identity_of(robot),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        package=__version__,
    )
    return _told(result, pose)


def _told(fit: WristFit, pose: Array) -> WristFit:
    """Return the fit with its sentences."""
    centre = ", ".join(
        f"{axis} = {1e3 * value:+.1f} ± {1e3 * std:.2g} mm" if np.isfinite(std) else f"{axis} not identifiable"
        for axis, value, std in zip("xyz", fit.com, fit.com_std, strict=True)
    )
    told = [
        f"The tool weighs {fit.mass:.4g} ± {fit.mass_std:.2g} kg; its centre lies at {centre} in the sensor's frame.",
        f"The sensor reads '{fit.reads}'. {fit.poses} {fit.source}; gravity's direction spreads by "
        + ", ".join(f"{value:.2f}" for value in fit.spread)
        + " (rms) in it.",
    ]
    if fit.turn != "none":
        angle = math.degrees(
            math.acos(max(-1.0, min(1.0, 0.5 * (np.trace(pose[:3, :3].T @ fit.T_link_sensor[:3, :3]) - 1.0))))
        )
        told.append(
            f"The sensor is turned by {angle:.2f}° from where it was said to be, "
            f"± {math.degrees(float(fit.turn_std.max())):.2g}°."
        )
    if fit.tilt_std:
        told.append(
            f"Gravity leaves the robot's mounting by {math.degrees(fit.tilt):.2f} ± {math.degrees(fit.tilt_std):.2g}°."
        )
    hidden = [name for name, known in fit.determined.items() if not known]
    if hidden:
        told.append(f"Not shown by these orientations: {', '.join(hidden)}. {_missing(fit.spread)}")
    return replace(fit, sentences=tuple(told))


def _missing(spread: Array) -> str:
    """Say which orientations would show more."""
    if spread[1] < 0.2 * spread[0]:
        return "The wrist turns about one axis only: turn it about a second one, upside down too."
    if spread[2] < 0.2 * spread[0]:
        return "Gravity stays near one plane of the sensor: add poses in which its third axis points up and down."
    return "More poses, a heavier tool or less noise would show it."


SCHEMA = "counterpoise-wrist"
VERSION = 2
MOST_MASS, MOST_LEVER, MOST_READING = 1e4, 10.0, 1e6
"""Heaviest tool [kg], farthest centre [m], largest reading [N, N m]."""


def load_wrist_fit(path: str | Path, robot: Robot) -> WristFit:
    """Read a calibrated wrist sensor for a robot.

    Args:
        path: The file.
        robot: The robot as described and mounted; its masses do not matter.

    Raises:
        DataFileError: The file cannot be read, is of another kind, is damaged, was written by another version, or
            belongs to another robot or mounting; the message says which.
    """
    kind = "calibrated wrist sensor"
    made = partial(_checked, robot=robot)
    return read_for_robot(path, robot, WristFit, made, schema=SCHEMA, version=VERSION, kind=kind)


def _checked(fit: WristFit, robot: Robot) -> WristFit:
    """Return the calibration of a file; refuse numbers that no sensor and no tool have.

    Raises:
        InputError: A shape does not fit, or a number lies beyond its bound; the message names its field.
    """
    if fit.link not in robot.link_names:
        raise InputError(f"the robot has no link '{fit.link}'")
    checked_pose(fit.T_link_sensor, "T_link_sensor")
    unbounded = (0.0, math.inf)
    bounds: dict[str, tuple[int, tuple[float, float]]] = {
        "com": (3, (-MOST_LEVER, MOST_LEVER)),
        "com_std": (3, unbounded),
        "bias": (6, (-MOST_READING, MOST_READING)),
        "bias_std": (6, unbounded),
        "turn_std": (3, unbounded),
        "gravity_base": (3, (-100.0, 100.0)),
        "residual": (6, (0.0, MOST_READING)),
        "heldout": (6, (0.0, MOST_READING)),
        "spread": (3, (0.0, MOST_READING)),
    }
    for name, (size, (least, most)) in bounds.items():
        refuse_shape(name, getattr(fit, name), (size,))
        refuse_beyond(name, getattr(fit, name), least, most)
    refuse_beyond("T_link_sensor", fit.T_link_sensor, -MOST_READING, MOST_READING)
    refuse_beyond("mass", fit.mass, 0.0, MOST_MASS)
    refuse_beyond("mass_std", fit.mass_std, 0.0, MOST_MASS)
    refuse_beyond("gravity_base", float(np.linalg.norm(fit.gravity_base)), 0.1, 100.0)
    refuse_beyond("tilt", fit.tilt, 0.0, math.pi)
    refuse_beyond("tilt_std", fit.tilt_std, 0.0, math.inf)
    refuse_beyond("poses", fit.poses, 1, 1e9)
    return fit
