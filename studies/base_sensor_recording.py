"""From a recording alone to joint torques: the simulated PUMA on a plate that nobody described, bands against truth.

    python studies/base_sensor_recording.py              # a few minutes; writes the JSON beside it and the docs' table
    python studies/base_sensor_recording.py --draws 2 --variants stiff

Every joint swings as in base_sensor_forms.py. The plate is turned about its axis, reads the opposite sign, is late by
10 ms and was zeroed with the robot on it; none of that is declared. The plate is calibrated from the recording, with
the model's masses exact or every link off by 5 %, and the torques at the joints are compared with the true ones, both
below 10 Hz.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from base_sensor_forms import MASS_ERROR, Run, simulated, wrong_model
from docs_page import put, write_result

import counterpoise as cp
from counterpoise.recording import smoothed
from counterpoise.sensing import CUTOFF, Masses, calibrate_sensor, recording_torques

Array = npt.NDArray[np.float64]
HERE = Path(__file__).parent
SEED = 6
SWING = 20.0
"""Excursion of every joint [degree]."""
YAW = 37.0
"""Turn of the plate about its axis [degree]."""
LAG = 0.010
"""How late its reading is [s]."""
REST = (0.2, 0.9)
"""When the arm stands at the beginning [s]."""
ENDS = 0.5
"""Time left out at both ends, where filters guess [s]."""


def undescribed(log: cp.Log) -> cp.Log:
    """Return the recording with the plate turned, of the other sign, late and zeroed at the beginning."""
    if log.wrench is None:
        raise SystemExit("the recording has no plate")
    cosine, sine = np.cos(np.deg2rad(YAW)), np.sin(np.deg2rad(YAW))
    to_sensor = np.array([[cosine, sine, 0.0], [-sine, cosine, 0.0], [0.0, 0.0, 1.0]])
    reading = -np.hstack([log.wrench[:, :3] @ to_sensor.T, log.wrench[:, 3:] @ to_sensor.T])
    reading -= reading[(log.time > REST[0]) & (log.time < REST[1])].mean(axis=0)
    late = np.column_stack([np.interp(log.time - LAG, log.time, column) for column in reading.T])
    return replace(log, wrench=late)


def judged_run(run: Run, model: cp.Robot, masses: Masses) -> dict[str, Any]:
    """Return errors [N m] and bands of every joint, shape (n,), and what was found of the plate."""
    log = undescribed(run.log)
    calibration = calibrate_sensor(model, log, masses=masses)
    found = recording_torques(model, log, calibration=calibration, masses=masses)
    dynamic = smoothed(log.time, run.dynamic_torque, CUTOFF)
    inside = found.torque.valid & (log.time > ENDS) & (log.time < log.time[-1] - ENDS)
    with_gravity = (found.torque.value - dynamic - run.robot.gravity(log.q))[inside]
    return {
        "error": np.sqrt(np.mean(with_gravity**2, axis=0)),
        "band": np.array([joint.band for joint in found.joints]),
        "dynamic_error": np.sqrt(np.mean((found.dynamic.value - dynamic)[inside] ** 2, axis=0)),
        "dynamic_band": np.array([joint.dynamic_band for joint in found.joints]),
        "informative": [joint.informative for joint in found.joints],
        "yaw_deg": float(np.degrees(calibration.turn.yaw)),
        "lag_s": calibration.lag,
    }


def results(variant: str, draws: int, seed: int, duration: float) -> dict[str, list[dict[str, Any]]]:
    """Return the runs with exact and with wrong masses."""
    run = simulated(variant, SWING, duration, seed)
    random = np.random.default_rng([seed, 7])
    wrong = [wrong_model(run.robot, MASS_ERROR, random) for _ in range(draws)]
    return {
        "exact": [judged_run(run, run.robot, "exact")],
        "5 % off": [judged_run(run, model, "cad") for model in wrong],
    }


def table(by_variant: dict[str, dict[str, list[dict[str, Any]]]]) -> list[str]:
    """Return the Markdown table: rms error and rms band over the draws, per joint."""
    count = len(next(iter(by_variant.values()))["exact"][0]["error"])
    lines = [
        f"| structure | masses | torque | {' | '.join(f'joint {number}' for number in range(1, count + 1))} |",
        "|---" * (count + 3) + "|",
    ]
    for variant, by_masses in by_variant.items():
        for masses, runs in by_masses.items():
            for word, error, band in (("τ_d + g", "error", "band"), ("τ_d", "dynamic_error", "dynamic_band")):
                cells = []
                for joint in range(count):
                    missed, told = (_rms([run[name][joint] for run in runs]) for name in (error, band))
                    speaks = np.mean([run["informative"][joint] for run in runs])
                    cells.append(f"{missed:.3f} (± {told:.3f})" if speaks > 0.5 else f"no information (± {told:.2f})")
                lines.append(f"| {variant} | {masses} | {word} | {' | '.join(cells)} |")
    return lines


def _rms(values: list[float]) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def main() -> None:
    """Run everything, write the JSON and the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variants", nargs="+", default=["stiff", "20Hz"])
    parser.add_argument("--draws", type=int, default=12, help="wrong models drawn (default 12)")
    parser.add_argument("--duration", type=float, default=24.0, help="length of the motion [s] (default 24)")
    parser.add_argument("--seed", type=int, default=SEED)
    arguments = parser.parse_args()
    found = {
        variant: results(variant, arguments.draws, arguments.seed, arguments.duration) for variant in arguments.variants
    }
    settings = {"swing": SWING, "yaw": YAW, "lag": LAG, "draws": arguments.draws, "duration": arguments.duration}
    write_result(HERE / "base_sensor_recording.json", {"seed": arguments.seed, "settings": settings, "runs": found})
    put(HERE.parent / "docs" / "base-sensor.md", "recording", table(found))


if __name__ == "__main__":
    main()
