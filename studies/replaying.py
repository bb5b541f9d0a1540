"""Teach and replay on simulated arms: a hand leads the floating arm around a loop; replays with and without gravity.

    python studies/replaying.py              # some minutes; writes the JSON beside it and the docs' table
    python studies/replaying.py --arms wam7 --speeds 1

The hand is a soft spring that draws the tip around an upright loop of 20 cm (plants/hand.py). The path is trimmed,
smoothed, written and read as a file, planned, and replayed from where the arm stands at first, with PD and with PD and
gravity, the same gains. "measured": by the joint sensors; "true": by the links' own positions.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from docs_page import put, write_result

from counterpoise.plants import GuidingHand, SimulatedArm, closed_path, preset
from counterpoise.recording import Sample
from counterpoise.tasks import (
    FloatSettings,
    Replay,
    Rig,
    Taught,
    TaughtPath,
    Teaching,
    plan_replay,
    read_path,
    write_path,
)

SEED = 9
ARMS = ("puma550", "wam7")
SPEEDS = (1.0, 0.5, 0.25)
SECONDS = 7.0
"""Time of the hand's way [s]."""
PAYLOAD = 2.0
"""A load that the arm carries and the model knows [kg]."""
LOOK_EVERY = 5
"""Ticks between two looks at the links' own positions."""
HERE = Path(__file__).resolve().parent


def taught_loop(name: str, seconds: float = SECONDS) -> tuple[Taught, float]:
    """Return what a simulated hand taught an arm, and the hand's largest force [N]."""
    arm = preset(name).arm(seed=SEED)
    hand = GuidingHand(arm, closed_path(), seconds)
    with arm:
        teaching = Teaching(Rig(arm, arm.robot), FloatSettings(friction_fraction=0.3), each=hand)
        teaching.run(seconds + 1.5)
    return teaching.teacher.finish("loop"), hand.peak_force


def replayed(
    name: str, path: TaughtPath, law: Literal["pd", "pd-gravity"], speed: float, payload: float
) -> dict[str, Any]:
    """Return the tip's errors in one replay [mm]."""
    made = preset(name)
    robot = made.robot()
    if payload:
        robot = robot.with_payload(payload)
    arm = SimulatedArm(robot, made.config.replaced(seed=SEED + 1))
    clock: list[float] = []
    truth: list[Any] = []
    ticks = 0

    def watch(sample: Sample) -> None:
        nonlocal ticks
        ticks += 1
        if ticks % LOOK_EVERY == 0:
            clock.append(float(sample.time))
            truth.append(arm.truth().q)

    with arm:
        plan = plan_replay(robot, path, speed, start=arm.read().q, plant=arm)
        report = Replay(Rig(arm, robot), plan, law=law, bound=1.0).run(watch=watch)
    trace, tip = report.trace, report.tips[0]
    on_path = (np.array(clock) >= trace.clock[0]) & (np.array(clock) <= trace.clock[-1])
    times, places = np.array(clock)[on_path], np.array(truth)[on_path]
    wanted = np.column_stack([np.interp(times, trace.clock, column) for column in trace.wanted.T])
    apart = robot.forward_kinematics(places)[:, :3, 3] - robot.forward_kinematics(wanted)[:, :3, 3]
    distance = np.linalg.norm(apart, axis=1)
    return {
        "arm": name,
        "law": law,
        "speed": speed,
        "payload": payload,
        "outcome": report.outcome,
        "measured_rms": 1e3 * tip.rms,
        "measured_largest": 1e3 * tip.largest,
        "true_rms": 1e3 * float(np.sqrt(np.mean(distance**2))),
        "true_largest": 1e3 * float(np.max(distance)),
    }


def study(arms: Sequence[str], speeds: Sequence[float], payloads: Sequence[float]) -> dict[str, Any]:
    """Return what was taught to each arm and the errors of all its replays."""
    lessons, runs = [], []
    for name in arms:
        taught, force = taught_loop(name)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "loop.path.csv"
            write_path(taught.path, file)
            path = read_path(file)
        tip = preset(name).robot().forward_kinematics(path.q)[:, :3, 3]
        lessons.append(
            {
                "arm": name,
                "seconds": path.duration,
                "tip_span_mm": (1e3 * np.ptp(tip, axis=0)).tolist(),
                "hand_force": force,
                "cutoff": taught.cutoff,
                "moved_mm": 1e3 * max(taught.moved_tips.values()),
            }
        )
        cases = [(speed, 0.0) for speed in speeds] + [(speeds[0], load) for load in payloads]
        for speed, load in cases:
            for law in ("pd", "pd-gravity"):
                runs.append(replayed(name, path, law, speed, load))
                print(runs[-1], flush=True)
    return {"lessons": lessons, "runs": runs}


def table(runs: Sequence[dict[str, Any]]) -> list[str]:
    """Return the docs' table: one line per arm, speed and payload."""
    lines = [
        "| arm | speed | payload | PD: true rms / max [mm] | PD + gravity | ratio of max, true | measured |",
        "|---|---|---|---|---|---|---|",
    ]
    for pd, gravity in zip(runs[::2], runs[1::2], strict=True):
        cells = [f"{run['true_rms']:.1f} / {run['true_largest']:.1f}" for run in (pd, gravity)]
        ratios = [pd[f"{kind}_largest"] / gravity[f"{kind}_largest"] for kind in ("true", "measured")]
        lines.append(
            f"| {pd['arm']} | {pd['speed']:g} | {pd['payload']:g} kg | {cells[0]} | {cells[1]} | {ratios[0]:.1f} | "
            f"{ratios[1]:.1f} |"
        )
    return lines


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arms", nargs="*", default=ARMS)
    parser.add_argument("--speeds", nargs="*", type=float, default=SPEEDS)
    arguments = parser.parse_args()
    found = study(arguments.arms, arguments.speeds, (PAYLOAD,))
    whole = tuple(arguments.arms) == ARMS and tuple(arguments.speeds) == SPEEDS
    lines = table(found["runs"])
    print("\n".join(lines))
    if whole:
        write_result(HERE / "replaying.json", {"seed": SEED, **found})
        put(HERE.parent / "docs" / "teach-and-replay.md", "replay table", lines)


if __name__ == "__main__":
    main()
