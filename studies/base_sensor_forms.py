"""The three forms of the base sensor on the simulated PUMA: torque error against the true link torque, per joint.

    python studies/base_sensor_forms.py              # some minutes; writes the JSON beside it and the docs' tables
    python studies/base_sensor_forms.py --draws 4 --variants 50Hz

Every joint of the ``puma550`` preset swings on a sine of its own phase about the initial pose, by ±0.1° to ±20°, with
friction, gears, encoders, plate compliance, noise, drift and filter of the preset. The plate's pose, gain and bias are
known; the model's masses are exact, or every link's mass is off by 5 %, up or down at random. The sensor is tared at
rest before. Compared with the torque that gear and joint really exert on each link, less the true gravity torque, both
below 5 Hz: above, friction lets the gears ring at their own frequency, which encoders on the motors do not show.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from docs_page import put, write_result

import counterpoise as cp
from counterpoise.control import default_gains
from counterpoise.description import JointKind, checked
from counterpoise.plants import Plate, preset
from counterpoise.recording import smoothed
from counterpoise.sensing import LinearTable, TrigonometricTable, estimate_log

Array = npt.NDArray[np.float64]

SEED = 20_00
VARIANTS = ("stiff", "50Hz", "20Hz")
AMPLITUDES = (0.1, 1.0, 5.0, 20.0)
"""Excursion of every joint [degree]."""
PERIOD = 4.0
"""Of the sines [s]."""
REST = 1.0
"""Time before the motion, in which the sensor is tared [s]."""
MASS_ERROR = 0.05
"""How far every link's mass is off."""
CUTOFF = 5.0
"""Of the velocities that accelerations are taken from, and of the errors [Hz]."""
FORMS = ("tared", "full", "tared+model")
GRID = (20.0, 10.0, 5.0, 2.5)
"""Spacings of linear tables [degree]."""


@dataclass(frozen=True, eq=False)
class Run:
    """A simulated motion.

    Attributes:
        log: What was measured.
        dynamic_torque: True link torque less true gravity [N m], shape (k, n).
        plate: The plate.
        robot: The true robot.
    """

    log: cp.Log
    dynamic_torque: Array
    plate: Plate
    robot: cp.Robot


def simulated(variant: str, degrees: float, duration: float, seed: int = SEED) -> Run:
    """Swing every joint by ``degrees`` about the preset's pose and record what is measured and what is true."""
    made = preset("puma550", variant)
    arm = made.arm(seed=seed)
    robot, plate, friction = arm.robot, made.config.plate, made.config.drive.friction
    if plate is None or friction is None:
        raise SystemExit("the puma550 preset has a plate and friction; this study needs both")
    start = np.asarray(made.config.position)
    gains = default_gains(robot, start, arm.effort_limit, arm.dt)
    dry = np.asarray(friction.coulomb)
    phase = np.arange(robot.n) * 2.0 * np.pi / robot.n
    size, rate = np.deg2rad(degrees), 2.0 * np.pi / PERIOD
    samples, torques = [], []
    with arm:
        for _ in range(round((REST + duration) / arm.dt)):
            sample, truth = arm.read(), arm.truth()
            samples.append(sample)
            torques.append(truth.torque - robot.gravity(truth.q))
            moving = max(sample.time - REST, 0.0)
            grown, growth = (moving / PERIOD, 1.0 / PERIOD) if moving < PERIOD else (1.0, 0.0)
            wave, slope = np.sin(rate * moving + phase) - np.sin(phase), rate * np.cos(rate * moving + phase)
            goal = start + size * grown * wave
            speed = size * (grown * slope + growth * wave) if moving > 0.0 else np.zeros(robot.n)
            push = 0.95 * dry * np.tanh(speed / 1e-4)  # without it friction would hold the smallest motions
            sent = gains.kp * (goal - sample.q) + gains.kd * (speed - sample.dq) + robot.gravity(sample.q) + push
            arm.write(sent)
    return Run(cp.Log.from_samples(samples, robot.joint_names), np.array(torques), plate, robot)


def wrong_model(robot: cp.Robot, share: float, random: np.random.Generator) -> cp.Robot:
    """Return the robot with every link's mass off by a share, up or down; inertias follow."""
    links = []
    for link in robot.description.links:
        inertia = link.inertia
        if inertia is not None:
            factor = 1.0 + share * random.choice([-1.0, 1.0])
            inertia = replace(inertia, mass=inertia.mass * factor, tensor_com=inertia.tensor_com * factor)
        links.append(replace(link, inertia=inertia))
    return cp.Robot(replace(robot.description, links=tuple(links)), allow_unphysical=True)


def errors(run: Run, share: float, draws: int, seed: int, cutoff: float | None = CUTOFF) -> dict[str, Array]:
    """Return the rms torque error of each form over the motion and the models drawn [N m], shape (n,).

    Below ``cutoff`` [Hz], or with None of all frequencies.
    """
    plate, log = run.plate, run.log
    if log.wrench is None:
        raise SystemExit("the recording has no plate")
    resting = (log.time > 0.3 * REST) & (log.time < REST)
    moving = log.time >= REST + PERIOD  # the amplitude has grown by then
    random = np.random.default_rng([seed, 5])
    squares: dict[str, list[Array]] = {form: [] for form in FORMS}
    for _ in range(draws if share > 0.0 else 1):
        model = wrong_model(run.robot, share, random)
        sensor = cp.BaseSensor(model, plate.T_base_sensor, plate.reads, gain=plate.crosstalk, bias=plate.bias)
        # The mean pose: what the encoders flicker by is not motion.
        sensor.tare(log.q[resting].mean(axis=0), log.wrench[resting])
        for form in FORMS:
            found = estimate_log(sensor, log, form=form, cutoff=CUTOFF, with_std=False)
            missed = smoothed(log.time, found.value - run.dynamic_torque, cutoff)
            squares[form].append(np.mean(missed[moving] ** 2, axis=0))
    return {form: np.sqrt(np.mean(rows, axis=0)) for form, rows in squares.items()}


def first_three_joints(robot: cp.Robot) -> cp.Robot:
    """Return a PUMA whose wrist is welded."""
    names = robot.joint_names[3:]
    joints = [
        replace(joint, kind=JointKind.FIXED) if joint.name in names else joint for joint in robot.description.joints
    ]
    return cp.Robot(checked(name="puma3", links=list(robot.description.links), joints=joints))


def grid_curve(spacings: Sequence[float] = GRID, poses: int = 20_000) -> list[dict[str, float]]:
    """Return the worst and rms moment error of linear tables over the PUMA's first three joints [N m]."""
    robot = first_three_joints(cp.load("puma560"))
    q = np.random.default_rng(SEED).uniform(robot.lower, robot.upper, (poses, robot.n))
    truth = robot.base_wrench(q)
    rows = []
    for spacing in spacings:
        table = LinearTable.from_model(robot, np.deg2rad(spacing))
        missed = np.linalg.norm((table.wrench(q) - truth)[:, 3:], axis=1)
        rows.append(
            {
                "spacing": spacing,
                "entries": table.entries,
                "worst": float(missed.max()),
                "rms": float(np.sqrt(np.mean(missed**2))),
            }
        )
    exact = TrigonometricTable.from_model(robot)
    missed = np.linalg.norm((exact.wrench(q) - truth)[:, 3:], axis=1)
    rows.append(
        {
            "spacing": 0.0,
            "entries": exact.entries,
            "worst": float(missed.max()),
            "rms": float(np.sqrt(np.mean(missed**2))),
        }
    )
    return rows


def forms_table(results: dict[str, Any], variant: str) -> list[str]:
    """Return the Markdown table of one variant: amplitude, form and model, then the joints."""
    joints = [f"joint {number}" for number in range(1, 7)]
    lines = [f"| swing | form | masses | {' | '.join(joints)} |", "|---" * 9 + "|"]
    for degrees, by_model in results[variant].items():
        for form in FORMS:
            for model, found in by_model.items():
                if form == "tared" and model != "exact":
                    continue  # it knows no masses
                masses = "not used" if form == "tared" else model
                cells = " | ".join(_digits(value) for value in found[form])
                lines.append(f"| ±{degrees}° | {form} | {masses} | {cells} |")
    return lines


def grid_table(rows: list[dict[str, float]]) -> list[str]:
    """Return the Markdown table of the grid curve."""
    lines = ["| table | entries | worst [N m] | rms [N m] |", "|---|---|---|---|"]
    for row in rows:
        name = f"linear, {row['spacing']:g}°" if row["spacing"] else "trigonometric"
        lines.append(f"| {name} | {row['entries']:,.0f} | {_digits(row['worst'])} | {_digits(row['rms'])} |")
    return lines


def _digits(value: float) -> str:
    return f"{value:.2g}" if abs(value) < 1e-6 else f"{value:.3f}" if abs(value) < 10.0 else f"{value:.1f}"


def main() -> None:
    """Run everything, write the JSON and the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS), choices=VARIANTS)
    parser.add_argument("--draws", type=int, default=16, help="wrong models drawn (default 16)")
    parser.add_argument("--duration", type=float, default=12.0, help="length of the motion [s] (default 12)")
    parser.add_argument("--seed", type=int, default=SEED)
    arguments = parser.parse_args()
    results: dict[str, Any] = {}
    for variant in arguments.variants:
        results[variant] = {}
        for degrees in AMPLITUDES:
            print(f"{variant}, ±{degrees:g}°", file=sys.stderr)
            run = simulated(variant, degrees, arguments.duration, arguments.seed)
            results[variant][f"{degrees:g}"] = {
                "exact": errors(run, 0.0, 1, arguments.seed),
                "5 % off": errors(run, MASS_ERROR, arguments.draws, arguments.seed),
            }
    grid = grid_curve()
    here = Path(__file__).parent
    settings = {"amplitudes": AMPLITUDES, "period": PERIOD, "mass_error": MASS_ERROR, "draws": arguments.draws}
    content = {"seed": arguments.seed, "settings": settings, "forms": results, "grid": grid}
    write_result(here / "base_sensor_forms.json", content)
    page = here.parent / "docs" / "base-sensor.md"
    for variant in arguments.variants:
        put(page, f"forms {variant}", forms_table(results, variant))
    put(page, "grid", grid_table(grid))


if __name__ == "__main__":
    main()
