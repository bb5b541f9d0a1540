"""Calibration of the plate from recordings of the simulated PUMA: errors and how honest their spreads are.

    python studies/base_sensor_calibration.py              # about ten minutes; writes the JSON and the docs' table
    python studies/base_sensor_calibration.py --seeds 2    # prints only

Each recording: a multi-sine up to 0.9 Hz, 60 s, its own motion and noise, read by a plate of random pose, gain, zero,
drift and lag. Errors against what was injected, gain as its nearest-identity split; moments count as forces at 0.5 m.
"""

from __future__ import annotations

import argparse
import sys
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

from docs_page import put, write_result  # noqa: E402

from counterpoise.foundation import rotation_vector  # noqa: E402
from counterpoise.sensing import calibrate_sensor  # noqa: E402
from library.plate_recordings import SCALE, random_truth, reread, simulated_puma  # noqa: E402

OWN_LAG = np.sqrt(2.0) / (2.0 * np.pi * 100.0)
"""Delay of the simulated plate's own low-pass [s]."""


SEEDS = 5
VARIANTS = ("stiff", "50Hz", "20Hz")
DOCS = HERE.parent / "docs" / "base-sensor-calibration.md"
NAMES = {
    "rotation_deg": "rotation [°]",
    "origin_mm": "origin [mm]",
    "lag_ms": "lag [ms]",
    "gain_percent": "largest gain error [%]",
    "rotation_in_std": "rotation error in its std",
    "gain_in_std": "gain errors in their std",
}


def row(variant: str, seed: int, seconds: float = 60.0) -> dict[str, Any]:
    """Return the errors of one recording."""
    log, robot, wrench = simulated_puma(100 + seed, seconds, variant)
    truth = random_truth(100 + seed, sign=(-1.0) ** seed)
    one = calibrate_sensor(robot, reread(log, robot, wrench, truth), masses="exact")
    wanted, pose = truth.mounting, one.frame.T_base_sensor
    turn = rotation_vector(pose[:3, :3].T @ wanted.rotation)
    gain = one.frame.gain - wanted.gain
    return {
        "variant": variant,
        "seed": 100 + seed,
        "rotation_deg": float(np.degrees(np.linalg.norm(turn))),
        "rotation_in_std": float(np.sqrt(np.mean((turn / one.rotation_std) ** 2))),
        "origin_mm": float(1e3 * np.linalg.norm(pose[:3, 3] - wanted.origin)),
        "lag_ms": float(1e3 * abs(one.lag - truth.lag - OWN_LAG)),
        "gain_percent": float(100.0 * np.abs(SCALE @ gain @ np.linalg.inv(SCALE)).max()),
        "gain_in_std": float(np.sqrt(np.mean((gain / one.gain_std) ** 2))),
        "sign_right": bool(one.frame.sign == truth.sign),
    }


def table(found: list[dict[str, Any]]) -> str:
    """Return a table: median (worst) of every variant."""
    lines = ["| gears | " + " | ".join(NAMES.values()) + " |", "|---|" + "---|" * len(NAMES)]
    for variant in VARIANTS:
        values = {name: [entry[name] for entry in found if entry["variant"] == variant] for name in NAMES}
        cells = (f"{np.median(some):.2g} ({np.max(some):.2g})" for some in values.values())
        lines.append(f"| {variant} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run the study; the full one writes its results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS, help="recordings of each variant")
    seeds = parser.parse_args().seeds
    tasks = [(variant, seed) for variant in VARIANTS for seed in range(seeds)]
    with get_context("spawn").Pool(2) as pool:
        found = pool.starmap(row, tasks, chunksize=1)
    print(table(found))
    if seeds != SEEDS:
        return
    write_result(Path(__file__).with_suffix(".json"), {"rows": found})
    put(DOCS, "reached", [table(found).rstrip()])


if __name__ == "__main__":
    main()
