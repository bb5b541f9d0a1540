"""PID's error by that of base sensor control over random plausible joints, and what friction feedforward adds.

    python studies/base_sensor_map.py                 # 80 joints, some 10 minutes of two free processors
    python studies/base_sensor_map.py --resume        # judge only what the JSON does not hold yet
    python studies/base_sensor_map.py --plants 4 --jobs 1 --out small.json --no-docs

The joints are those of counterpoise/lab/papers/base_sensor_map.py, seeds from FRESH on, which no law was developed
with. The JSON is written after every joint; in the end the tables and the figure of docs/base-sensor-map.md are, and
the line for counterpoise/tasks/tune/tuning.py is printed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from docs_page import commit, put

from counterpoise.lab import AXES, BANDS, FRESH, Judged, judged, outcome_of

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
NAMES = {
    "frequency": "gear mode [Hz]",
    "friction": "breakaway / effort limit",
    "presliding": "presliding [rad]",
    "plate_noise": "plate noise / effort limit",
    "resolution": "encoder count [rad]",
    "rate": "control rate [Hz]",
}


def content(found: list[Judged]) -> dict[str, Any]:
    """Return what is written: seed, commit, every joint, and the summary."""
    ordered = sorted(found, key=lambda each: each.seed)
    summary = [
        {"what": line.what, "median": line.ours, "low": line.spread[0], "high": line.spread[1]}
        for line in outcome_of(ordered).comparisons
    ]
    joints = [asdict(each) for each in ordered]
    return {"seed": FRESH, "commit": commit(), "summary": summary, "bands": band_medians(ordered), "joints": joints}


def band_medians(found: Sequence[Judged]) -> list[dict[str, float]]:
    """Return the ratios by bands of the structural frequency that tuning met, for users to place their arm."""
    rows = []
    for low, high in BANDS:
        inside = [each for each in found if each.rms is not None and low <= (each.structural_frequency or 0.0) < high]
        if len(inside) >= 3:
            ratios = np.array([each.ratio("pid", "bsc") for each in inside])
            ahead = np.array([each.ratio("bsc", "bsc-ahead") for each in inside])
            middle = float(np.exp(np.mean(np.log([each.structural_frequency or 1.0 for each in inside]))))
            rows.append(
                {
                    "low": low,
                    "high": high,
                    "frequency": middle,
                    "count": float(len(inside)),
                    "median": float(np.median(ratios)),
                    "worst": float(np.quantile(ratios, 0.05)),
                    "best": float(np.quantile(ratios, 0.95)),
                    "ahead": float(np.median(ahead)),
                }
            )
    return rows


def kept(path: Path) -> list[Judged]:
    """Return the joints that a file holds; those that could not be judged are tried again."""
    joints = (Judged(**each) for each in json.loads(path.read_text(encoding="utf-8"))["joints"])
    return [each for each in joints if not each.failure]


def summary_table(found: list[Judged]) -> list[str]:
    """Return medians and quantiles of every ratio."""
    lines = ["| ratio of rms errors | median | 5 % | 95 % |", "|---|--:|--:|--:|"]
    for line in outcome_of(found).comparisons:
        lines.append(f"| {line.what} | {line.ours:.2f} | {line.spread[0]:.2f} | {line.spread[1]:.2f} |")
    return lines


def band_table(found: list[Judged]) -> list[str]:
    """Return the ratio by the frequency that `tune` reports."""
    lines = [
        "| `tune` reports [Hz] | joints | PID / BSC, median | 5 % | 95 % | BSC / BSC with friction feedforward |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for row in band_medians(found):
        ratios = " | ".join(f"{row[key]:.2f}" for key in ("median", "worst", "best", "ahead"))
        lines.append(f"| {row['low']:g} to {row['high']:g} | {row['count']:.0f} | {ratios} |")
    return lines


def third_table(found: list[Judged]) -> list[str]:
    """Return the median ratio in the lower, middle and upper third of each quantity, and its rank correlation."""
    good = [each for each in found if each.rms is not None]
    paper = np.array([each.ratio("pid", "bsc") for each in good])
    ahead = np.array([each.ratio("bsc", "bsc-ahead") for each in good])
    lines = [
        "| quantity | thirds end at | PID / BSC, low third | middle | high | rank correlation "
        "| feedforward gains, low third | middle | high |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name, label in NAMES.items():
        values = np.array([each.numbers[name] for each in good])
        order = np.argsort(values)
        parts = np.array_split(order, 3)
        ends = ", ".join(f"{values[part[-1]]:.3g}" for part in parts[:2])
        first = " | ".join(f"{np.median(paper[part]):.2f}" for part in parts)
        second = " | ".join(f"{np.median(ahead[part]):.2f}" for part in parts)
        lines.append(f"| {label} | {ends} | {first} | {rank_correlation(values, paper):+.2f} | {second} |")
    return lines


def rank_correlation(x: Any, y: Any) -> float:
    """Return Spearman's correlation."""
    ranks = [np.argsort(np.argsort(each)) for each in (x, y)]
    return float(np.corrcoef(*ranks)[0, 1])


def draw(found: list[Judged], path: Path) -> None:
    """Draw the ratio against each quantity."""
    import matplotlib as mpl  # noqa: PLC0415  # only for the figure of a whole run

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    good = [each for each in found if each.rms is not None]
    figure, axes = plt.subplots(2, 3, figsize=(12, 7), sharey=True)
    for axis, (name, label) in zip(axes.flat, AXES.items(), strict=True):
        x = [each.numbers[name] for each in good]
        axis.loglog(
            x, [each.ratio("pid", "bsc-ahead") for each in good], "^", ms=4, mfc="none", label="friction feedforward"
        )
        axis.loglog(x, [each.ratio("pid", "bsc") for each in good], "o", ms=4, label="the paper's law")
        axis.axhline(1.0, color="grey", lw=0.8)
        axis.set_xlabel(label)
    for axis in axes[:, 0]:
        axis.set_ylabel("PID's rms error / base sensor control's")
    axes[0, 0].legend()
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main() -> None:
    """Judge the joints, write the JSON, the tables and the figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plants", type=int, default=80, help="joints (default 80)")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default 2)")
    parser.add_argument("--out", type=Path, default=HERE / "base_sensor_map.json", help="file to write")
    parser.add_argument("--resume", action="store_true", help="keep what the file holds")
    parser.add_argument("--no-docs", action="store_true", help="write the JSON only")
    arguments = parser.parse_args()
    found = kept(arguments.out) if arguments.resume and arguments.out.exists() else []
    known = {each.seed for each in found}
    missing = [seed for seed in range(FRESH, FRESH + arguments.plants) if seed not in known]
    with ProcessPoolExecutor(arguments.jobs, mp_context=get_context("spawn")) as pool:
        for future in as_completed([pool.submit(judged, seed) for seed in missing]):
            found.append(future.result())
            told = found[-1]
            ratios = f"{told.ratio('pid', 'bsc'):.2f} {told.ratio('bsc', 'bsc-ahead'):.2f}"
            print(f"{len(found)} of {arguments.plants}: joint {told.seed} {told.failure or ratios}", file=sys.stderr)
            if any(each.rms for each in found):
                arguments.out.write_text(json.dumps(content(found), indent=1) + "\n", encoding="utf-8")
    found.sort(key=lambda each: each.seed)
    ratios_by_frequency = tuple((round(row["frequency"], 1), round(row["median"], 2)) for row in band_medians(found))
    print(f"EXPECTED_RATIOS = {ratios_by_frequency}")
    if not arguments.no_docs:
        page = DOCS / "base-sensor-map.md"
        put(page, "summary", summary_table(found))
        put(page, "bands", band_table(found))
        put(page, "thirds", third_table(found))
        draw(found, DOCS / "figures" / "base-sensor-map.png")


if __name__ == "__main__":
    main()
