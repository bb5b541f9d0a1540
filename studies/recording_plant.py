"""A pendulum with dry friction behind the plant protocol that notes every call; it shares no code with plants/.

For studies/stop_signals.py: J q̈ = τ − A sin q − friction, the bundled arm "pendulum". It runs faster than real time so
that many signals can be sent, and its entering and leaving take a while, so that signals meet them, too.
"""

from __future__ import annotations

import math
import os
import threading
import time
from types import TracebackType
from typing import Any, Literal

import numpy as np

from counterpoise.recording import Sample, SampleFlag

INERTIA, WEIGHT, DRY, VISCOUS = 0.2814, 5.886, 0.3, 0.2
"""J with the rotor [kg m²], A [N m], friction [N m, N m s/rad]."""
EFFORT = 15.0
"""Effort limit of the arm [N m]."""
OUTSIDER = "counterpoise emergency stop"
"""Name of the thread that stops a plant whose own stop takes too long."""


class RecordingPlant:
    """The plant. Calls are noted as (time, kind, torque, torque that holds it): in ``calls``, or as lines of a file."""

    joint_names = ("joint1",)
    adds_gravity = False
    effort_kind: Literal["torque"] = "torque"
    watchdog = 0.5
    plate = None
    dt = 0.01
    lower, upper = np.array([-math.pi]), np.array([math.pi])
    velocity_limit, effort_limit = np.array([10.0]), np.array([EFFORT])

    def __init__(
        self,
        file: str = "",
        pace: float = 150.0,
        stop: Literal["zero", "brake"] = "zero",
        slow: float = 0.02,
        hang: str = "",
        hang_at: float = math.inf,
    ) -> None:
        """Put the pendulum at 0.8 rad, held.

        Args:
            file: Where calls are noted; "" for ``calls``.
            pace: How many times faster than real time it runs.
            stop: See Plant.
            slow: How long entering takes, and leaving half of that [s].
            hang: Call that never returns from ``hang_at`` on: "read" or "write".
            hang_at: When that begins, by the plant's time [s].
        """
        self.stop = stop
        self.calls: list[tuple[float, str, float, float]] = []
        self.q, self.dq, self.tau, self.time = 0.8, 0.0, WEIGHT * math.sin(0.8), 0.0
        self._nap, self._slow, self._hang, self._hang_at = self.dt / pace, slow, hang, hang_at
        self._file = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND) if file else -1
        self._stopped = True

    def _note(self, kind: str, tau: float = math.nan) -> None:
        row = (time.monotonic(), kind, tau, WEIGHT * math.sin(self.q))
        if self._file < 0:
            self.calls.append(row)
        else:
            os.write(self._file, f"{row[0]:.6f} {kind} {tau:.17g} {row[3]:.17g}\n".encode())

    def _hangs(self, call: str) -> None:
        while call == self._hang and self.time >= self._hang_at:
            time.sleep(0.01)

    def __enter__(self) -> RecordingPlant:
        self._note("entering")
        time.sleep(self._slow)
        self._stopped = False
        self._note("enter")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._note("exiting")
        self._stopped = True
        time.sleep(0.5 * self._slow)
        self._note("exit")

    def read(self) -> Sample:
        """Return the state."""
        self._hangs("read")
        time.sleep(self._nap)
        q, dq, effort = np.array([self.q]), np.array([self.dq]), np.array([self.tau])
        return Sample(self.time, q, dq, effort, None, SampleFlag.NONE)

    def write(self, tau: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Note the torque [N m], and move by one period."""
        self._hangs("write")
        self._note("write", float(tau[0]))
        self.tau = 0.0 if self._stopped else float(tau[0])
        self.time += self.dt
        if not (self._stopped and self.stop == "brake"):
            for _ in range(5):
                self._step(self.dt / 5)
        return np.array([self.tau])

    def _step(self, dt: float) -> None:
        driven = self.tau - WEIGHT * math.sin(self.q) - VISCOUS * self.dq
        if self.dq == 0.0 and abs(driven) <= DRY:
            return
        way = math.copysign(1.0, self.dq if self.dq != 0.0 else driven)
        faster = self.dq + dt * (driven - DRY * way) / INERTIA
        self.dq = 0.0 if faster * way < 0.0 else faster  # friction stops, it does not push
        self.q += dt * self.dq

    def emergency_stop(self) -> None:
        """Send nothing any more; noted besides where the stop was given up for its time."""
        self._stopped = True
        if threading.current_thread().name == OUTSIDER:
            self._note("given_up")
        self._note("emergency_stop")


def read_calls(path: str) -> list[tuple[float, str, float, float]]:
    """Return what a plant in another process has noted."""
    rows = []
    with open(path, encoding="ascii") as file:
        for line in file:
            if line.endswith("\n"):
                when, kind, tau, holding = line.split()
                rows.append((float(when), kind, float(tau), float(holding)))
    return rows
