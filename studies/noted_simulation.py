"""Simulated arms that note every call, for studies/stop_signals.py: commands that drive no other plant.

Rows are those of recording_plant.RecordingPlant, of the joint that gravity loads most.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from counterpoise.plants import SimulatedArm


def note_calls(path: str) -> None:
    """Let every simulated arm of this process note its calls in a file.

    Beside it, with ``.arm`` at the end of the name, goes what judging them takes: the period [s], the joint's effort
    limit and the torque that holds it at the start [N m].
    """
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    joint: list[int] = []

    def note(kind: str, tau: float = math.nan, holding: float = math.nan) -> None:
        os.write(file, f"{time.monotonic():.6f} {kind} {tau:.17g} {holding:.17g}\n".encode())

    def noted(method: str, before: str, after: str = "") -> None:
        original: Callable[..., Any] = getattr(SimulatedArm, method)

        def call(self: SimulatedArm, *arguments: Any) -> Any:
            note(before)
            result = original(self, *arguments)
            if after:
                note(after)
            return result

        setattr(SimulatedArm, method, call)

    written = SimulatedArm.write

    def write(self: SimulatedArm, tau: Any) -> Any:
        holding = self.robot.gravity(self.read().q)
        if not joint:
            joint.append(int(np.argmax(np.abs(holding))))
            facts = {"dt": self.dt, "effort": self.effort_limit[joint[0]], "weight": abs(holding[joint[0]])}
            Path(f"{path}.arm").write_text(json.dumps(facts), encoding="ascii")
        note("write", float(tau[joint[0]]), float(holding[joint[0]]))
        return written(self, tau)

    SimulatedArm.write = write  # type: ignore[method-assign]
    noted("__enter__", "entering", "enter")
    noted("__exit__", "exiting", "exit")
    noted("emergency_stop", "emergency_stop")
