"""Friction, torque gains and masses from the plate: how far they are off on simulated arms.

    python studies/base_sensor_friction.py               # some minutes; writes the JSON beside it and the docs' tables
    python studies/base_sensor_friction.py --seeds 2 --arms puma550

Every joint follows its own sum of five sines below 0.25 Hz about the middle of its range, under PD with gravity, with
friction, gears, encoders, plate compliance, cross-talk (known), noise, drift and filter of the preset. The torque gains
of all joints are off by 5 to 25 %. The description's masses are off by up to 10 %, its centres of mass by up to 1 cm;
nothing is told of the plate's zero and lag. Compared with the plant's own friction law in sliding, at the mean load and
temperature of the run.
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
from counterpoise.control import default_gains, minimum_jerk
from counterpoise.dynamics import LuGre
from counterpoise.plants import Plate, SimulatedArm, preset
from counterpoise.sensing import PlateFriction, PlateParameters, plate_friction, plate_parameters

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from library.simulated_motion import other_masses

Array = npt.NDArray[np.float64]

SEED = 2000
ARMS = {"puma550": "stiff", "wam7": "plate"}
GAINS = {
    "puma550": (0.8, 1.25, 0.9, 1.1, 0.85, 1.2),
    "wam7": (1.2, 0.85, 0.8, 1.25, 1.1, 0.9, 1.05),
}
"""Torque per stated torque of each joint."""
REST, FADE = 1.0, 4.0
"""Time before the motion, and time in which it grows [s]."""
PERIOD = 20.0
"""Of the slowest sine [s]."""
SINES = 5
REACH = 1.4
"""How far a joint swings at most [rad]."""
SHARE = 0.8
"""... and of the way to its nearer limit."""
TRUTH_EVERY = 50
"""The temperature is looked at once in so many ticks."""
SOFT = 0.2
"""Share of the usual gains that a run without friction is driven with."""
MASS_ERROR, COM_ERROR = 0.1, 0.01


@dataclass(frozen=True, eq=False)
class Run:
    """A simulated motion.

    Attributes:
        log: What was measured.
        robot: The true robot.
        plate: The plate.
        friction: The plant's law; None for a run without friction.
        temperature: Mean temperature of the drives [°C], shape (n,).
        gains: True torque per stated torque, shape (n,).
        offset: Torque of the actuators at zero command [N m], shape (n,).
    """

    log: cp.Log
    robot: cp.Robot
    plate: Plate
    friction: LuGre | None
    temperature: Array
    gains: Array
    offset: Array


def simulated(
    arm_name: str, seed: int, seconds: float = 40.0, *, frictionless: bool = False, moving: Sequence[int] | None = None
) -> Run:
    """Move an arm of ARMS on its plate and record it.

    Args:
        arm_name: Which arm.
        seed: Of path and noise.
        seconds: Length of the motion [s].
        frictionless: Take the friction away.
        moving: Joints that move; None for all.
    """
    made = preset(arm_name, ARMS[arm_name])
    config, gains = made.config, np.array(GAINS[arm_name])
    friction = None if frictionless else config.drive.friction
    drive = replace(config.drive, actuator=replace(config.drive.actuator, gain_error=gains - 1.0), friction=friction)
    arm = SimulatedArm(made.robot(), config.replaced(seed=seed, drive=drive))
    robot, n = arm.robot, arm.robot.n
    if config.plate is None:
        raise SystemExit(f"preset '{arm_name}' has no plate; this study needs one")
    start = np.asarray(config.position)
    control = default_gains(robot, start, arm.effort_limit, arm.dt)
    # Gains that friction damps would make a cable-driven arm without friction shake.
    kp, kd = (SOFT * control.kp, SOFT * control.kd) if frictionless else (control.kp, control.kd)
    middle, size, rate, phase = _path(robot, start, np.random.default_rng([7, seed]))
    if moving is not None:
        still = np.setdiff1d(np.arange(n), np.asarray(moving))
        middle[still], size[still] = start[still], 0.0
    dry = np.zeros(n) if friction is None else np.broadcast_to(np.asarray(friction.coulomb), (n,))
    samples, warmth = [], []
    with arm:
        for tick in range(round((REST + seconds) / arm.dt)):
            sample = arm.read()
            samples.append(sample)
            if tick % TRUTH_EVERY == 0:
                warmth.append(arm.truth().temperature)
            late = max(sample.time - REST, 0.0)
            grown, growth = _fade(late)
            angle = rate * late + phase
            way = middle - start + (size * (np.sin(angle) - np.sin(phase))).sum(axis=1)
            speed = grown * (size * rate * np.cos(angle)).sum(axis=1) + growth * way
            push = 0.9 * dry * np.tanh(speed / 5e-3)
            goal = start + grown * way
            arm.write(kp * (goal - sample.q) + kd * (speed - sample.dq) + robot.gravity(sample.q) + push)
    log = cp.Log.from_samples(samples, robot.joint_names)
    offset = np.broadcast_to(np.asarray(config.drive.actuator.offset), (n,))
    return Run(log, robot, config.plate, friction, np.mean(warmth, axis=0), gains, offset)


def _path(robot: cp.Robot, start: Array, random: np.random.Generator) -> tuple[Array, Array, Array, Array]:
    """Return centre (n,), amplitudes (n, s), rates (s,) and phases (n, s) of the sines, within the joints' ranges."""
    lower = np.where(np.isfinite(robot.lower), robot.lower, -2.5)
    upper = np.where(np.isfinite(robot.upper), robot.upper, 2.5)
    middle = np.clip(start, lower + 0.45 * (upper - lower), upper - 0.45 * (upper - lower))
    room = np.minimum(SHARE * np.minimum(middle - lower, upper - middle), REACH)
    rate = 2.0 * np.pi * np.arange(1, SINES + 1) / PERIOD
    size, phase = random.uniform(0.3, 1.0, (robot.n, SINES)), random.uniform(0.0, 2.0 * np.pi, (robot.n, SINES))
    time = np.arange(0.0, PERIOD, 0.02)
    wave = np.einsum("js,jst->jt", size, np.sin(rate[:, None] * time + phase[:, :, None]) - np.sin(phase)[:, :, None])
    return middle, size * (room / np.abs(wave).max(axis=1))[:, None], rate, phase


def _fade(time: float) -> tuple[float, float]:
    """Return how much of the motion is there, and its growth [1/s]: minimum jerk."""
    grown, slope = minimum_jerk(min(time / FADE, 1.0))
    return grown, slope / FADE


def wrong_model(robot: cp.Robot, seed: int) -> cp.Robot:
    """Return a description that is off: densities and centres of mass of every link."""
    return other_masses(robot, seed, MASS_ERROR, COM_ERROR)


def plate_of(run: Run, model: cp.Robot) -> cp.BaseSensor:
    """Return the plate under a model: pose and cross-talk are known, its zero is not."""
    return cp.BaseSensor(model, run.plate.T_base_sensor, run.plate.reads, gain=run.plate.crosstalk)


def true_friction(run: Run, joint: int, velocity: Array, load: float) -> Array:
    """Return the plant's friction in sliding [N m], shape of the velocities."""
    if run.friction is None:
        return np.zeros_like(velocity)
    n = run.robot.n
    rows, loads = np.tile(velocity[:, None], (1, n)), np.full((1, n), load)
    return run.friction.torque(rows, gear_torque=loads, temperature=run.temperature)[:, joint]


def curve_error(run: Run, found: PlateFriction, joint: int) -> float:
    """Return the rms error of a curve over the velocities visited, as a share of the plant's Coulomb level."""
    entry = found.joints[joint]
    if entry.curve is None or run.friction is None:
        return float("nan")
    missed = entry.curve.friction - true_friction(run, joint, entry.curve.velocity, entry.curve.load)
    level = np.broadcast_to(np.asarray(run.friction.coulomb), (run.robot.n,))[joint]
    return float(np.sqrt(np.mean(missed**2)) / level)


def gravity_errors(run: Run, found: PlateParameters, poses: int = 400) -> dict[str, float]:
    """Return rms errors of gravity moment and torques at poses that were never visited [N m]: described and fitted."""
    random = np.random.default_rng(SEED)
    lower, upper = np.maximum(run.robot.lower, -2.0), np.minimum(run.robot.upper, 2.0)
    q = random.uniform(lower, upper, (poses, run.robot.n))
    truth = run.robot.base_wrench(q)
    result = {}
    for name, robot in (("described", found.described), ("fitted", found.robot())):
        missed = robot.base_wrench(q) - truth
        moment = (missed - missed.mean(axis=0))[:, 3:]  # a constant is the plate's zero
        result[f"{name} moment"] = float(np.sqrt(np.mean(np.sum(moment**2, axis=1))))
        torque = robot.gravity(q) - run.robot.gravity(q)
        result[f"{name} torque"] = float(np.sqrt(np.mean(np.sum(torque**2, axis=1))))
    return result


def one(arm_name: str, seed: int, seconds: float) -> dict[str, Any]:
    """Return everything of one run."""
    run = simulated(arm_name, seed, seconds)
    model = wrong_model(run.robot, seed)
    sensor = plate_of(run, model)
    found = plate_friction(model, run.log, sensor)
    joints = range(run.robot.n)
    return {
        "determined": [entry.determined for entry in found.joints],
        "curve_error": [curve_error(run, found, joint) for joint in joints],
        "gain_error": [entry.gain / run.gains[joint] - 1.0 for joint, entry in enumerate(found.joints)],
        "gain_std": [entry.gain_std / run.gains[joint] for joint, entry in enumerate(found.joints)],
        "rotor_error": [
            entry.rotor_inertia / run.robot.rotor_inertia[joint] - 1.0 for joint, entry in enumerate(found.joints)
        ],
        "gravity": gravity_errors(run, plate_parameters(model, run.log, sensor)),
        "lag": found.parameters.lag,
    }


def friction_table(results: list[dict[str, Any]]) -> list[str]:
    """Return the Markdown table of one arm: a row per joint, worst and median over the seeds."""
    lines = [
        "| joint | known in | curve error, median (worst) | gain error | stated std of it | rotor inertia error |",
        "|---|---|---|---|---|---|",
    ]
    for joint in range(len(results[0]["determined"])):
        known = [run for run in results if run["determined"][joint]]
        cells = [f"{len(known)} of {len(results)}"]
        for name in ("curve_error", "gain_error", "gain_std", "rotor_error"):
            values = np.abs([run[name][joint] for run in known])
            spread = f"{np.median(values):.1%} ({values.max():.1%})" if known else "no information"
            cells.append(f"{np.median(values):.1%}" if known and name == "gain_std" else spread)
        lines.append(f"| {joint + 1} | {' | '.join(cells)} |")
    return lines


def gravity_table(results: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Return the Markdown table of gravity errors at unseen poses, median over the seeds."""
    lines = [
        "| arm | moment on the plate, described | fitted | joint torques, described | fitted |",
        "|---|---|---|---|---|",
    ]
    for arm_name, runs in results.items():
        cells = []
        for name in ("described moment", "fitted moment", "described torque", "fitted torque"):
            values = np.array([run["gravity"][name] for run in runs])
            cells.append(f"{np.median(values):.3f} ({values.max():.3f})")
        lines.append(f"| {arm_name} | {' | '.join(cells)} |")
    return lines


def _without_nan(value: Any) -> Any:
    """Return tables and lists with None for what is not known: JSON has no NaN."""
    if isinstance(value, dict):
        return {key: _without_nan(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_without_nan(entry) for entry in value]
    return None if isinstance(value, float) and np.isnan(value) else value


def main() -> None:
    """Run everything, write the JSON and the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arms", nargs="+", default=list(ARMS), choices=list(ARMS))
    parser.add_argument("--seeds", type=int, default=5, help="runs of each arm (default 5)")
    parser.add_argument("--seconds", type=float, default=40.0, help="length of the motion [s] (default 40)")
    arguments = parser.parse_args()
    results: dict[str, list[dict[str, Any]]] = {}
    for arm_name in arguments.arms:
        results[arm_name] = []
        for seed in range(arguments.seeds):
            print(f"{arm_name}, seed {seed}", file=sys.stderr)
            results[arm_name].append(one(arm_name, SEED + seed, arguments.seconds))
    here = Path(__file__).parent
    content = {"seed": SEED, "seconds": arguments.seconds, "runs": _without_nan(results)}
    write_result(here / "base_sensor_friction.json", content)
    page = here.parent / "docs" / "base-sensor-friction.md"
    for arm_name, runs in results.items():
        put(page, f"friction {arm_name}", friction_table(runs))
    put(page, "gravity", gravity_table(results))


if __name__ == "__main__":
    main()
