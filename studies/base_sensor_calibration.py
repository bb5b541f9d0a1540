"""Calibration of the plate from a recording of the simulated PUMA: errors and how honest their spreads are.

    python studies/base_sensor_calibration.py              # some minutes; writes the JSON beside it, prints a table
    python studies/base_sensor_calibration.py --seeds 2

Each row: a multi-sine up to 0.9 Hz, 60 s, read by plates of random pose, gain, zero, drift and lag. Errors against what
was injected, gain as its nearest-identity split; moments count as forces at 0.5 m.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

from counterpoise.base_sensor.sensor_calibration import calibrate_sensor  # noqa: E402
from counterpoise.base_sensor.sensor_split import rotation_vector  # noqa: E402
from plate_recordings import SCALE, random_truth, reread, simulated_puma  # noqa: E402

OWN_LAG = np.sqrt(2.0) / (2.0 * np.pi * 100.0)
"""Delay of the simulated plate's own low-pass [s]."""


def rows(seeds: int, seconds: float = 60.0) -> list[dict[str, float]]:
    """Return the errors of every seed."""
    log, robot, wrench = simulated_puma(1, seconds)
    found = []
    for seed in range(seeds):
        truth = random_truth(100 + seed, sign=(-1.0) ** seed)
        one = calibrate_sensor(robot, reread(log, robot, wrench, truth), masses="exact")
        wanted, pose = truth.mounting, one.frame.T_base_sensor
        turn = rotation_vector(pose[:3, :3].T @ wanted.rotation)
        gain = one.frame.gain - wanted.gain
        found.append(
            {
                "seed": seed,
                "rotation_deg": float(np.degrees(np.linalg.norm(turn))),
                "rotation_in_std": float(np.sqrt(np.mean((turn / one.rotation_std) ** 2))),
                "origin_mm": float(1e3 * np.linalg.norm(pose[:3, 3] - wanted.origin)),
                "lag_ms": float(1e3 * abs(one.lag - truth.lag - OWN_LAG)),
                "gain_percent": float(100.0 * np.abs(SCALE @ gain @ np.linalg.inv(SCALE)).max()),
                "gain_in_std": float(np.sqrt(np.mean((gain / one.gain_std) ** 2))),
                "sign_right": bool(one.frame.sign == truth.sign),
            }
        )
    return found


def table(found: list[dict[str, float]]) -> list[str]:
    """Return a table: median and worst."""
    names = ("rotation_deg", "origin_mm", "lag_ms", "gain_percent", "rotation_in_std", "gain_in_std")
    lines = ["| | " + " | ".join(names) + " |", "|---|" + "---|" * len(names)]
    for label, of in (("median", np.median), ("worst", np.max)):
        lines.append(f"| {label} | " + " | ".join(f"{of([row[name] for row in found]):.2g}" for name in names) + " |")
    return lines


def main() -> None:
    """Run, print, and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=8)
    seeds = parser.parse_args().seeds
    found = rows(seeds)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=HERE, capture_output=True, text=True, check=False).stdout
    (HERE / "base_sensor_calibration.json").write_text(
        json.dumps({"commit": commit.strip(), "first_seed": 100, "rows": found}, indent=1) + "\n"
    )
    print(*table(found), sep="\n")


if __name__ == "__main__":
    main()
