"""Five real recordings, calibrated with default settings: held-out errors beside those of a careful fit by hand.

    COUNTERPOISE_DATA=../shared python studies/calibration_recordings.py

writes studies/calibration_recordings.json and the table in docs/calibration.md. The recordings are not part of this
repository; "by hand" are the figures of their own README, on its splits. Models of Panda and UR10 are those of the
package example-robot-data.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from docs_page import put, write_result

import counterpoise as cp
from counterpoise.calibration.fit import Fit
from counterpoise.calibration.statistics import deviation

ROOT = Path(__file__).resolve().parents[1]
MAPPINGS = ROOT / "examples" / "mappings"
PAGE = ROOT / "docs" / "calibration.md"
RESULT = ROOT / "studies" / "calibration_recordings.json"


@dataclass(frozen=True)
class Case:
    """A recording, a split, and what a careful fit by hand reaches there.

    Attributes:
        arm: What it is.
        mapping: Name of the mapping file.
        model: Model: a shared file, or one of example-robot-data.
        files: Shared files of the recording.
        split: As calibrate() takes it.
        by_hand: Held-out root mean square errors [N m].
        signal: Standard deviations that these belong to, where our units are others [N m].
    """

    arm: str
    mapping: str
    model: str
    files: tuple[str, ...]
    split: str
    by_hand: tuple[float, ...]
    signal: tuple[float, ...] = ()


PANDA = ("Panda", "panda", "panda.urdf", ("data/ur10_panda/panda_exciting_trajectory.db3",))
UR10 = ("UR10", "ur10", "ur10_robot.urdf", ("data/ur10_panda/ur10_exciting_trajectory.db3",))
LBR = ("LBR Med 7", "lbr_med7", "data/lbrmed7/med7dock.urdf", ("data/lbrmed7/measurements.csv",))
TIAGO = (
    *("TIAGo arm 1–4", "tiago", "data/tiago/tiago_48_schunk.urdf"),
    tuple(f"data/tiago/tiago_{kind}.csv" for kind in ("position", "velocity", "effort")),
)
TX40 = (
    *("TX40", "tx40", "data/tx40/tx40_mdh_modified.urdf"),
    ("data/tx40/pos_read_data.csv", "data/tx40/curr_data.csv"),
)
CASES = {
    "panda, first part": Case(*PANDA, "path:first:0.6", (0.21, 0.87, 0.13, 0.15, 0.11, 0.10, 0.06)),
    "panda, last part": Case(*PANDA, "path:last:0.6", (0.21, 0.40, 0.10, 0.20, 0.10, 0.05, 0.07)),
    "ur10, first part": Case(*UR10, "path:first:0.6", (2.5, 7.3, 2.2, 1.0, 0.48, 2.6)),
    "ur10, last part": Case(*UR10, "path:last:0.6", (2.6, 3.1, 2.7, 1.3, 0.36, 1.2)),
    "lbr med 7": Case(*LBR, "time:first:0.6", (0.66, 2.0, 0.34, 0.45, 0.26, 0.20, 0.32)),
    # By hand in torques, ours in command units: shares of the signal are compared.
    "tiago": Case(*TIAGO, "time:first:0.6", (0.64, 1.5, 0.65, 0.67), (3.3, 6.7, 3.8, 4.3)),
    "tx40": Case(*TX40, "time:first:0.6", (2.0, 4.0, 1.1, 0.57, 1.05, 1.09)),
}


def model_path(case: Case, shared: Path) -> Path:
    """Return the file of a case's model.

    Raises:
        FileNotFoundError: It is not there, or example-robot-data is not installed.
    """
    if case.model.startswith("data/"):
        return shared / case.model
    try:
        installed = importlib.metadata.files("example-robot-data") or []
    except importlib.metadata.PackageNotFoundError as error:
        raise FileNotFoundError("example-robot-data, which has the model, is not installed") from error
    return Path(str(next(file for file in installed if file.name == case.model).locate()))


def read(case: Case, shared: Path) -> tuple[cp.Robot, cp.Log]:
    """Read a case's robot and recording."""
    robot = cp.load(model_path(case, shared))
    return robot, cp.read_log([shared / name for name in case.files], robot, MAPPINGS / f"{case.mapping}.toml")


def ratios(case: Case, fit: Fit, log: cp.Log) -> np.ndarray:
    """Return our held-out errors over those by hand, shape (a,)."""
    active = fit.columns.active
    expected = np.array(case.by_hand)
    if case.signal:
        expected = expected * deviation(log.tau[:, active]) / np.array(case.signal)
    return np.asarray(fit.heldout_rms[active] / expected)


def study(shared: Path) -> list[dict[str, Any]]:
    """Calibrate all of them, on the README's split and on our own."""
    found = []
    for name, case in CASES.items():
        robot, log = read(case, shared)
        theirs = cp.calibrate(robot, log, split=case.split)
        ours = cp.calibrate(robot, log)
        active = theirs.columns.active
        found.append(
            {
                "recording": name,
                "arm": case.arm,
                "split": case.split,
                "by_hand": list(case.by_hand),
                "heldout": theirs.heldout_rms[active].tolist(),
                "ratio": ratios(case, theirs, log).tolist(),
                "units": theirs.units,
                "default_split": ours.heldout_rms[active].tolist(),
                "signal": ours.signal[active].tolist(),
                "novelty": ours.novelty.tolist(),
                "trusted": ours.trusted,
                "reasons": list(ours.reasons),
            }
        )
        print(f"{name}: median {np.median(found[-1]['ratio']):.2f}, worst {np.max(found[-1]['ratio']):.2f}")
    return found


def markdown(found: list[dict[str, Any]]) -> str:
    """Return the table of the docs."""
    lines = [
        "| recording, split | by hand | ours | ratio, median (worst) | our own split | trusted |",
        "|---|---|---|---|---|---|",
    ]
    for one in found:
        unit = "" if one["units"] == "N m" else " (command units)"
        middle, worst = np.median(one["ratio"]), np.max(one["ratio"])
        cells = [
            f"{one['arm']}, `{one['split']}`",
            _row(one["by_hand"]),
            _row(one["heldout"]) + unit,
            f"{middle:.2f} ({worst:.2f})",
            _row(one["default_split"]),
            "yes" if one["trusted"] else "no",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _row(values: list[float]) -> str:
    return " ".join(f"{value:.2g}".removeprefix("0") for value in values)


def main() -> None:
    """Run the study and put its table into the docs."""
    parser = argparse.ArgumentParser(description=__doc__)
    shared = Path(os.environ.get("COUNTERPOISE_DATA", ROOT.parent / "shared"))
    parser.add_argument("--data", type=Path, default=shared, help="folder that holds data/")
    found = study(parser.parse_args().data)
    write_result(RESULT, {"recordings": found})
    put(PAGE, "recordings", [markdown(found)])


if __name__ == "__main__":
    main()
