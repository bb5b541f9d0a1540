"""How often the check before floating refuses an arm whose model is right.

    python studies/float_refusals.py run --arm wam7            # one to ten minutes an arm
    python studies/float_refusals.py run --arm wam7 --half chosen
    python studies/float_refusals.py tables                    # writes the table of docs/float.md

Every preset with its exact model. Poses are drawn over the middle of the joints' ranges, and kept where the joint that
bears most carries at least half of its largest gravity torque. The preset's own drives have torque constants that are
off by 1 to 2 % (``titan2``: 4 to 5 %, with offsets); the same arm with exact drives is run beside it. The motion of the
check is the same for all shares of the friction, so that it is run once and judged at each of them.

Seeds below 30 chose the rules; those from 40 on were run once.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from docs_page import put

import counterpoise as cp
from counterpoise.foundation import Array
from counterpoise.plants import SimulatedArm, preset
from counterpoise.tasks import CheckResult, FloatCheck, FloatSettings, Rig

ARMS = ("wam7", "puma550", "dualarm19", "titan2")
LOCKED = {"titan2": ("joint4", "joint5", "joint6")}
SHARES = (0.0, 0.5, 0.7)
MIDDLE = 0.6
"""Share of the joints' ranges from which poses are drawn."""
CARRIES = 0.5
"""Share of its largest gravity torque that the joint that bears most must carry."""
SEEDS = {"chosen": range(12), "judged": range(40, 60)}
TARGET = Path(__file__).with_suffix(".json")
DOCS = Path(__file__).parents[1] / "docs" / "float.md"


def loaded_pose(robot: cp.Robot, seed: int) -> Array:
    """Return a pose at which gravity loads the joints."""
    random = np.random.default_rng(seed)
    middle, half = 0.5 * (robot.lower + robot.upper), 0.5 * MIDDLE * (robot.upper - robot.lower)
    poses = middle + random.uniform(-1.0, 1.0, (4096, robot.n)) * half
    torque = np.abs(robot.gravity(poses))
    most = torque.max(axis=0)
    bears = int(np.argmax(most))
    fits = (torque[:, bears] > CARRIES * most[bears]) & np.all(torque < 0.6 * robot.effort_limit, axis=1)
    return np.asarray(poses[int(np.argmax(fits))])


def checked(name: str, seed: int, *, exact: bool) -> CheckResult:
    """Make the check of one arm at a pose of its own, at fraction 0."""
    chosen = preset(name)
    robot = chosen.robot()
    config = chosen.config.replaced(seed=seed, position=loaded_pose(robot, seed), plate=None)
    if exact:
        actuator = replace(config.drive.actuator, gain_error=0.0, offset=0.0)
        config = config.replaced(drive=replace(config.drive, actuator=actuator))
    plant = SimulatedArm(robot, config)
    with plant:
        result = FloatCheck(Rig(plant, robot), FloatSettings(locked=LOCKED.get(name, ()))).run()
    if result is None:
        raise RuntimeError("the check was not completed")
    return result


def at_share(result: CheckResult, share: float) -> CheckResult:
    """Return what the same check says of another fraction of the friction found."""
    return replace(result, joints=tuple(replace(joint, friction_fraction=share) for joint in result.joints))


def run(name: str, seeds: range) -> list[dict[str, Any]]:
    """Check one arm at the poses of the seeds."""
    rows: list[dict[str, Any]] = []
    for seed in seeds:
        for exact in (False, True):
            began = time.perf_counter()
            row: dict[str, Any] = {"seed": seed, "exact": exact}
            try:
                result = checked(name, seed, exact=exact)
                row["reasons"] = {f"{share:g}": list(at_share(result, share).reasons) for share in SHARES}
            except cp.CounterpoiseError as error:
                row["reasons"] = {f"{share:g}": [str(error)] for share in SHARES}
            rows.append(row)
            refused = {share: len(reasons) for share, reasons in row["reasons"].items()}
            print(name, seed, exact, refused, f"{time.perf_counter() - began:.0f} s", flush=True)
    return rows


def table_rows(known: dict[str, Any]) -> list[str]:
    """Return the lines of the table: refusals per arm, drives and fraction, and the joints named."""
    lines = []
    for name in ARMS:
        for exact, drives in ((False, "its own"), (True, "exact")):
            rows = [row for row in known.get(name, []) if row["exact"] is exact]
            if not rows:
                continue
            cells = []
            for share in SHARES:
                refused = [row["reasons"][f"{share:g}"] for row in rows if row["reasons"][f"{share:g}"]]
                named = sorted({reason.split("'")[1] for reasons in refused for reason in reasons if "'" in reason})
                cells.append(f"{len(refused)} of {len(rows)}" + (f" ({', '.join(named)})" if named else ""))
            lines.append(f"| `{name}` | {drives} | {' | '.join(cells)} |")
    return lines


def main() -> None:
    """Run one arm, or write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("run", "tables"))
    parser.add_argument("--arm", choices=ARMS, default="wam7")
    parser.add_argument("--half", choices=tuple(SEEDS), default="judged")
    arguments = parser.parse_args()
    known: dict[str, Any] = json.loads(TARGET.read_text()) if TARGET.exists() else {}
    if arguments.part == "tables":
        head = ["| arm | drives | fraction 0 | fraction 0.5 | fraction 0.7 |", "|---|---|---|---|---|"]
        put(DOCS, "refusals", [*head, *table_rows(known)])
        return
    rows = run(arguments.arm, SEEDS[arguments.half])
    if arguments.half == "judged":
        known = json.loads(TARGET.read_text()) if TARGET.exists() else {}
        known[arguments.arm] = rows
        TARGET.write_text(json.dumps(known, indent=1) + "\n")
    else:
        print("\n".join(table_rows({arguments.arm: rows})))


if __name__ == "__main__":
    main()
