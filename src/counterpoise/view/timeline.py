"""A recording or a taught path on a time line: where the joints were at any time, and a player that moves along it."""

from __future__ import annotations

import time as wall
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..dynamics import Robot
from ..errors import InputError
from ..foundation import Array, frozen
from ..recording import Log
from ..tasks import FIRST_LINE, TaughtPath, read_path

MOST_INSTANTS = 20_000
"""Instants that are kept; a longer recording is thinned."""


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """Joint positions over time, with torques where there are some.

    Attributes:
        name: What it shows.
        time: Increasing times from 0 [s], shape (k,).
        q: Positions [rad or m], shape (k, n).
        tau: Measured torques [N m or N], shape (k, n); None where there are none, or they are no torques.
    """

    name: str
    time: Array
    q: Array
    tau: Array | None = None

    @property
    def duration(self) -> float:
        """Length [s]."""
        return float(self.time[-1])

    def at(self, moment: float) -> tuple[Array, Array | None]:
        """Return position and torque at a time [s], interpolated; before the start and after the end, those there."""
        place = float(np.clip(moment, 0.0, self.duration))
        after = int(np.clip(np.searchsorted(self.time, place, side="right"), 1, len(self.time) - 1))
        begin, end = float(self.time[after - 1]), float(self.time[after])
        share = (place - begin) / (end - begin) if end > begin else 1.0
        q = (1.0 - share) * self.q[after - 1] + share * self.q[after]
        tau = None if self.tau is None else (1.0 - share) * self.tau[after - 1] + share * self.tau[after]
        return q, tau


def log_timeline(log: Log, robot: Robot, name: str = "recording") -> Timeline:
    """Return the time line of a recording; samples with numbers that are not finite are left out.

    Raises:
        InputError: Fewer than two good samples, or a joint of the robot that the recording lacks.
    """
    columns = _columns(robot, log.joint_names, name)
    q = log.q[:, columns]
    torque = log.declared.effort_kind in (None, "torque") and not log.declared.effort_is_guessed
    good = np.isfinite(q).all(axis=1) & np.isfinite(log.time)
    good[1:] &= np.diff(np.maximum.accumulate(np.where(np.isfinite(log.time), log.time, -np.inf))) > 0.0
    rows = np.flatnonzero(good)
    if len(rows) < 2:
        raise InputError(f"{name}: fewer than two good samples; there is nothing to replay")
    rows = rows[:: max(1, -(-len(rows) // MOST_INSTANTS))]
    tau = np.nan_to_num(log.tau[rows][:, columns]) if torque else None
    time = frozen(log.time[rows] - log.time[rows[0]])
    return Timeline(name, time, frozen(q[rows]), None if tau is None else frozen(tau))


def path_timeline(path: TaughtPath, robot: Robot) -> Timeline:
    """Return the time line of a taught path.

    Raises:
        InputError: It was taught to another arm.
    """
    fitting = path.for_robot(robot)
    return Timeline(fitting.name, frozen(fitting.time - fitting.time[0]), fitting.q)


def read_timeline(file: str | Path, robot: Robot) -> Timeline:
    """Read a taught path or a recording, whichever the file is.

    Raises:
        CounterpoiseError: The file cannot be read, or is of another arm.
    """
    try:
        with Path(file).open("rb") as stream:
            head = stream.read(len(FIRST_LINE))
    except (OSError, ValueError) as error:
        raise InputError(f"{file} cannot be read: {error}") from error
    if head == FIRST_LINE.encode():
        return path_timeline(read_path(file), robot)
    from ..recording import read_log

    return log_timeline(read_log(file, robot), robot, Path(file).name)


class Player:
    """Moves along a time line: plays, pauses, goes faster or slower, begins again at the end.

    Attributes:
        timeline: What is played.
        playing: Whether time goes on.
        speed: Seconds of the recording per second.
    """

    def __init__(self, timeline: Timeline) -> None:
        """Begin paused at the start."""
        self.timeline = timeline
        self.playing = False
        self.speed = 1.0
        self._position = 0.0
        self._since = wall.monotonic()

    @property
    def position(self) -> float:
        """Where it is now [s]."""
        if not self.playing:
            return self._position
        gone = self._position + self.speed * (wall.monotonic() - self._since)
        return float(gone % max(self.timeline.duration, 1e-9))

    def go_to(self, moment: float) -> None:
        """Jump to a time [s]."""
        self._position = min(max(moment, 0.0), self.timeline.duration)
        self._since = wall.monotonic()

    def play(self, on: bool) -> None:
        """Play or pause."""
        self.go_to(self.position)
        self.playing = on

    def set_speed(self, speed: float) -> None:
        """Play at another speed from here on.

        Raises:
            InputError: A speed that is none.
        """
        if not 0.0 < speed <= 100.0:
            raise InputError(f"speed is {speed!r}; expected a number above 0, at most 100")
        self.go_to(self.position)
        self.speed = speed


def _columns(robot: Robot, names: tuple[str, ...], what: str) -> list[int]:
    missing = [name for name in robot.joint_names if name not in names]
    if missing:
        raise InputError(f"{what} has no joint '{missing[0]}'; it has {', '.join(names)}: is it of another arm?")
    return [names.index(name) for name in robot.joint_names]
