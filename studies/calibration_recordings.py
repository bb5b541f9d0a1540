"""Eight real recordings, calibrated with default settings: errors beside those of a careful fit by hand.

    COUNTERPOISE_DATA=../shared python studies/calibration_recordings.py

writes studies/calibration_recordings.json and the table in docs/calibration.md. The recordings are not part of this
repository. "By hand" are the figures of their own README, on its test samples after its filters; the fits by hand are
also made again (hand_fits.py). Ours are calibrations of what was fitted by hand, and their errors on the same test
samples after the same filters. Models of the Pandas and of the UR10 are those of the package example-robot-data.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from certificate_arms import Array
from docs_page import put, write_result
from hand_fits import HAND_FITS, HandFit, calibrated, filtered, hand_errors, model_of, our_errors, read_log, tested_rows

import counterpoise as cp
from counterpoise.identification import Fit

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "calibration.md"
RESULT = ROOT / "studies" / "calibration_recordings.json"
PARTS = {"first": "first 60 %", "last": "last 60 %", "all": ""}


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """A calibration beside a fit by hand, on the test samples of that. a joints have an effort and tell something.

    Attributes:
        fit: The calibration.
        ours: Its errors, root mean square, in the log's unit, shape (a,).
        published: Those of the README, shape (a,).
        again: Those of the fit by hand that was made again, shape (a,).
        signal: Standard deviations of the tested efforts, shape (a,).
    """

    fit: Fit
    ours: Array
    published: Array
    again: Array
    signal: Array

    @property
    def ratio(self) -> Array:
        """Our errors over the published ones, shape (a,)."""
        return self.ours / self.published


def read(hand: HandFit) -> tuple[cp.Robot, dict[str, cp.Log]]:
    """Read the robot and the recordings of a hand fit.

    Raises:
        FileNotFoundError: One of them is not there, or example-robot-data is not installed.
    """
    robot = cp.load(model_of(hand.tested))
    return robot, {name: read_log(name, robot) for name in {*hand.fitted, hand.tested}}


def compare(hand: HandFit, robot: cp.Robot, logs: dict[str, cp.Log]) -> Compared:
    """Calibrate what was fitted by hand, and compare on its test samples."""
    fit, log = calibrated(hand, robot, logs), logs[hand.tested]
    samples = filtered(robot, log, hand.filter)
    rows = tested_rows(hand, samples)
    active = np.asarray(fit.model.active)
    told = np.array([place not in hand.left_out for place in range(int(active.sum()))])
    signal = np.std(samples.effort[rows][:, active], axis=0)
    published = np.array(hand.published)
    if hand.signal:
        # By hand in torques, ours in the unit of the log.
        published = published * signal / np.array(hand.signal)
    return Compared(
        fit=fit,
        ours=our_errors(fit, log, samples, rows)[told],
        published=published[told],
        again=hand_errors(hand, robot, logs, active)[told],
        signal=signal[told],
    )


def study() -> list[dict[str, Any]]:
    """Compare all of them, and calibrate all that was recorded for fitting with the default check and the doctor."""
    found = []
    for name, hand in HAND_FITS.items():
        robot, logs = read(hand)
        compared = compare(hand, robot, logs)
        first, *others = (logs[one] for one in hand.fitted)
        whole = cp.calibrate(robot, first, also=others)
        active = whole.model.active
        found.append(
            {
                "recording": name,
                "arm": hand.arm,
                "split": PARTS[hand.part] or f"{' + '.join(map(_last_word, hand.fitted))} → {_last_word(hand.tested)}",
                "filter_hz": hand.filter.cutoff,
                "by_hand": compared.published.tolist(),
                "by_hand_again": compared.again.tolist(),
                "ours": compared.ours.tolist(),
                "test_signal": compared.signal.tolist(),
                "ratio": compared.ratio.tolist(),
                "ratio_again": (compared.ours / compared.again).tolist(),
                "units": compared.fit.units,
                "default_split": whole.heldout_rms[active].tolist(),
                "novelty": whole.data.novelty.tolist(),
                "trusted": whole.trusted,
                "reasons": list(whole.reasons),
            }
        )
        print(f"{name}: {_middle(found[-1]['ratio'])}, made again {_middle(found[-1]['ratio_again'])}", flush=True)
    return found


def markdown(found: list[dict[str, Any]]) -> str:
    """Return the table of the docs."""
    lines = [
        "| recording, fitted | filter | by hand | ours | ratio, median (worst) | to the fit made again | trusted |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in found:
        unit = "" if one["units"] == "N m" else " A"
        cells = [
            f"{one['arm']}, {one['split']}",
            f"{one['filter_hz']:g} Hz",
            _row(one["by_hand"]) + unit,
            _row(one["ours"]) + unit,
            _middle(one["ratio"]),
            _middle(one["ratio_again"]),
            "yes" if one["trusted"] else "no",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _last_word(name: str) -> str:
    return name.rpartition(" ")[2]


def _middle(ratios: list[float]) -> str:
    return f"{np.median(ratios):.2f} ({np.max(ratios):.2f})"


def _row(values: list[float]) -> str:
    return " ".join(_short(value) for value in values)


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 100.0 else f"{value:.2g}".removeprefix("0")


def main() -> None:
    """Run the study and put its table into the docs."""
    found = study()
    write_result(RESULT, {"recordings": found})
    put(PAGE, "recordings", [markdown(found)])


if __name__ == "__main__":
    main()
