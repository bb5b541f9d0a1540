"""PID's error by that of base sensor control over random plausible joints, and what sending friction ahead adds.

    python studies/base_sensor_map.py                 # 80 joints, some 20 minutes of two processors; writes the JSON
    python studies/base_sensor_map.py --plants 4 --jobs 1 --out small.json

The joints are those of counterpoise/papers/plant_distribution.py, seeds from 1000 on, which no law was developed with.
Results are written after every joint, so that a run that is broken off loses nothing.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from counterpoise.papers.base_sensor_map import Judged, band_medians, judged, outcome_of
from counterpoise.papers.plant_distribution import FRESH

HERE = Path(__file__).parent


def content(found: list[Judged]) -> dict[str, Any]:
    """Return what is written: seed, commit, every joint, and the summary."""
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=HERE, stdout=subprocess.PIPE, text=True, check=False
    ).stdout.strip()
    ordered = sorted(found, key=lambda each: each.seed)
    summary = [
        {"what": line.what, "median": line.ours, "low": line.spread[0], "high": line.spread[1]}
        for line in outcome_of(ordered).comparisons
    ]
    joints = [each.as_data() for each in ordered]
    return {"seed": FRESH, "commit": commit, "summary": summary, "bands": band_medians(ordered), "joints": joints}


def main() -> None:
    """Judge the joints and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plants", type=int, default=80, help="joints (default 80)")
    parser.add_argument("--first", type=int, default=FRESH, help=f"seed of the first (default {FRESH})")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default 2)")
    parser.add_argument("--out", type=Path, default=HERE / "base_sensor_map.json", help="file to write")
    arguments = parser.parse_args()
    found: list[Judged] = []
    with ProcessPoolExecutor(arguments.jobs, mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(judged, arguments.first + index) for index in range(arguments.plants)]
        for future in as_completed(futures):
            found.append(future.result())
            told = found[-1]
            ratios = f"{told.ratio('pid', 'bsc'):.2f} {told.ratio('bsc', 'bsc-ahead'):.2f}"
            print(f"{len(found)} of {len(futures)}: joint {told.seed} {told.failure or ratios}", file=sys.stderr)
            if any(each.rms for each in found):
                arguments.out.write_text(json.dumps(content(found), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
