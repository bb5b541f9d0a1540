"""Fig. 8 of [Morel2000] on one simulated joint: PID and base sensor control, each tuned by the same rule.

    python studies/base_sensor_control.py                      # some minutes; writes the JSON and the docs' table
    python studies/base_sensor_control.py --seeds 1 --plants stiff

Joint 1 of the ``puma550`` preset, the other joints locked, follows a triangle of ±0.1° in 10 s. Gains are found on a
plant with one seed of noise and used on one with another. "no friction" is the stiff plant without any, tuned anew.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from docs_page import commit, put

from counterpoise.plants import SingleJoint, preset
from counterpoise.tasks import Rig, TriangleTask, TuningRule, tuned

PLANTS = ("stiff", "50Hz", "20Hz", "no friction")
DOCS = Path(__file__).parents[1] / "docs" / "base-sensor-control.md"
HEAD = (
    "| plant | bandwidth | k_int [1/s] | PID rms / max [°] | base sensor control | ratio rms | ratio max |",
    "|---|---|---|---|---|---|---|",
)
SEED = 100
"""Added to the seed of the plant that was tuned for the one that the task is run on."""


def maker(plant: str) -> Callable[[int], SingleJoint]:
    """Return what makes the joint with a seed."""
    made = preset("puma550", "stiff" if plant == "no friction" else plant)
    if plant != "no friction":
        return lambda seed: made.single_joint(seed=seed)
    config = made.config.replaced(drive=replace(made.config.drive, friction=None))
    return lambda seed: SingleJoint.of(made.robot(), config.replaced(seed=seed))


def one(plant: str, seed: int, rule: TuningRule | None = None) -> dict[str, Any]:
    """Tune both laws on one plant and run the task on another seed; angles in degrees."""
    make = maker(plant)
    robot = make(seed).robot
    pid = tuned(lambda: Rig(make(seed), robot), "pid", rule=rule)
    bsc = tuned(lambda: Rig(make(seed), robot), "bsc", rule=rule, position=pid.gains)
    task = TriangleTask(lambda: Rig(make(seed + SEED), robot))
    result: dict[str, Any] = {"seed": seed, "gains": bsc.gains.as_data() | {"ki": pid.gains.ki.tolist()}}
    for tuning in (pid, bsc):
        error = np.rad2deg(task.errors(tuning.gains))
        result[tuning.gains.kind] = {
            "rms": float(np.sqrt(np.mean(error**2))),
            "max": float(np.abs(error).max()),
            "limits": {limit.gain: [limit.chosen, limit.limit, limit.frequency] for limit in tuning.joints[0].limits},
            "probes": tuning.joints[0].probes,
        }
    return result


def row(plant: str, runs: list[dict[str, Any]]) -> str:
    """Return a plant's line of the docs' table: medians, and the range of the ratios."""
    values = {law: {size: [run[law][size] for run in runs] for size in ("rms", "max")} for law in ("pid", "bsc")}
    ratio = {size: np.array(values["pid"][size]) / np.array(values["bsc"][size]) for size in ("rms", "max")}
    k_int = np.median([run["gains"]["k_int"][0] for run in runs])
    bandwidth = np.median([run["pid"]["limits"]["bandwidth"][0] for run in runs])
    cells = [f"{np.median(values[law]['rms']):.4f} / {np.median(values[law]['max']):.4f}" for law in ("pid", "bsc")]
    spread = [f"{np.median(each):.1f} ({each.min():.1f}–{each.max():.1f})" for each in ratio.values()]
    return f"| {plant} | {bandwidth:.1f} Hz | {k_int:.0f} | {cells[0]} | {cells[1]} | {spread[0]} | {spread[1]} |"


def main() -> None:
    """Run everything and write the JSON; print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plants", nargs="+", default=list(PLANTS), choices=PLANTS)
    parser.add_argument("--seeds", type=int, default=5, help="seeds per plant (default 5)")
    arguments = parser.parse_args()
    target = Path(__file__).with_suffix(".json")
    for plant in arguments.plants:
        runs = []
        for seed in range(arguments.seeds):
            print(f"{plant}, seed {seed}", file=sys.stderr)
            runs.append(one(plant, seed))
        print(row(plant, runs), flush=True)
        # Plant by plant: an interrupted study keeps what it has.
        known = json.loads(target.read_text())["plants"] if target.exists() else {}
        known |= {plant: {"commit": commit(), "runs": runs}}
        target.write_text(json.dumps({"seed": SEED, "plants": known}, indent=1) + "\n")
        put(DOCS, "plants", [*HEAD, *(row(each, known[each]["runs"]) for each in PLANTS if each in known)])


if __name__ == "__main__":
    main()
