"""On-line gravity: error of ĝ at random poses against the number of held poses on simulated arms; a million updates.

    python studies/online_gravity.py              # some minutes; writes the JSON beside it and the docs' tables
    python studies/online_gravity.py --draws 1 --updates 100000

Arms are led through random poses under PD with gravity compensation. "ideal": rigid, no friction, perfect sensors, one
visit a pose. "preset": LuGre friction, compliant gears, encoder counts, torque noise, torque constants 1 to 2 % off,
each pose reached by a creep from above and from below. Estimators listen: starting from nothing; from a description
whose masses are 10 % off (one standard deviation, each body by itself); and, without friction, the inverse regressor of
[Jo] after 5 s at the first pose. The error is the rms over 500 random poses and all joints, as a share of the rms of g.
Reliability is the share of these errors within one and two of the stated standard deviations. The settings were chosen
with other seeds than those from 3018 on that the tables show.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from docs_page import put, write_result

import counterpoise as cp
from counterpoise.control import default_gains, minimum_jerk
from counterpoise.fitting import with_inertial_parameters
from counterpoise.identification import workspace_poses
from counterpoise.lab import DT, GROUPS, PHASES, Phase, ScenarioRun, run_scenario
from counterpoise.plants import ArmConfig, SimulatedArm, Timing, preset
from counterpoise.sensing import RecursiveGravity, largest_inertias

Array = npt.NDArray[np.float64]

SEED = 30_18
ROBOTS = ("wam7", "dualarm19")
PRESETS_ONLY = ("puma550",)
"""Arms of which only the preset is led about."""
POSES = 10
COUNTS = (1, 2, 3, 5, 10)
"""Numbers of held poses that the tables show."""
MASS_ERROR = 0.1
TRAVEL, CREEP, DWELL = 1.5, 1.2, 1.1
"""Times of the way to a pose, of the creep onto it, and of the rest there [s]."""
APPROACH = 0.03
"""Where a creep begins, beside the pose [rad]."""
Q_GAIN = 4.0
"""Of the inverse regressor [1/s] ..."""
FREQUENCY, DAMPING = 20.0, 0.8
"""... and of the position loop around it: natural frequency [rad/s] and damping ratio."""
HERE = Path(__file__).resolve().parent


def lead(
    arm: SimulatedArm,
    poses: Array,
    estimators: Sequence[cp.OnlineGravity],
    *,
    sides: Sequence[float] = (1.0, -1.0),
    after: Callable[[int], None] = lambda pose: None,
) -> None:
    """Go through poses under PD with the true gravity while estimators listen.

    Args:
        arm: The arm.
        poses: Where to rest [rad or m], shape (k, n).
        estimators: What listens.
        sides: Sides from which each pose is approached: 1 from above, −1 from below, 0 for a longer rest instead.
        after: Called with the number of each pose when it has been held.
    """
    robot = arm.robot
    here = np.asarray(arm.config.position)
    gains = default_gains(robot, here, arm.effort_limit, arm.dt)
    with arm:
        for number, pose in enumerate(poses):
            for side in sides:
                beside = pose + side * APPROACH
                for begin, end, duration in ((here, beside, TRAVEL), (beside, pose, CREEP), (pose, pose, DWELL)):
                    for tick in range(round(duration / arm.dt)):
                        part = tick * arm.dt / duration
                        share, slope = minimum_jerk(part)
                        sample = arm.read()
                        for estimator in estimators:
                            estimator.update(sample)
                        goal, speed = begin + share * (end - begin), slope / duration * (end - begin)
                        tau = gains.kp * (goal - sample.q) + gains.kd * (speed - sample.dq)
                        arm.write(tau + robot.gravity(sample.q))
                here = pose
            after(number)


def relative_error(estimator: cp.OnlineGravity, truth: cp.Robot, poses: Array) -> float:
    """Return the rms error of ĝ over poses (k, n), as a share of the rms of the true gravity torques."""
    g = truth.gravity(poses)
    return float(np.sqrt(np.mean((estimator.gravity(poses) - g) ** 2) / np.mean(g**2)))


def reliability(estimator: cp.OnlineGravity, truth: cp.Robot, poses: Array) -> list[float]:
    """Return the shares of errors within one and two standard deviations, and the rms of error over deviation."""
    error, std = estimator.gravity(poses) - truth.gravity(poses), estimator.std(poses)
    felt = std.max(axis=0) > 1e-9
    ratio = np.abs(error[:, felt] / std[:, felt])
    return [float(np.mean(ratio < 1.0)), float(np.mean(ratio < 2.0)), float(np.sqrt(np.mean(ratio**2)))]


def wrong_description(robot: cp.Robot, seed: int) -> cp.Robot:
    """Return the robot with every body's density off by MASS_ERROR (standard deviation)."""
    random = np.random.default_rng(seed)
    parameters = robot.inertial_parameters[10:].reshape(-1, 10)
    changed = parameters * (1.0 + MASS_ERROR * random.standard_normal((len(parameters), 1)))
    return with_inertial_parameters(robot, changed.ravel(), allow_unphysical=True)


def made_arm(name: str, plant: str, seed: int) -> SimulatedArm:
    """Return the simulated arm, "ideal" or "preset"."""
    made = preset(name)
    if plant == "preset":
        return made.arm(seed=seed)
    timing = Timing(dt=made.config.timing.dt, physics_step=5e-4)
    return SimulatedArm(made.robot(), ArmConfig(timing=timing, position=made.config.position))


def held_poses(name: str, plant: str, seed: int, count: int = POSES) -> dict[str, Any]:
    """Return the errors after each held pose, per estimator, and how the stated deviation compares with the error."""
    arm = made_arm(name, plant, seed)
    robot, dt = arm.robot, arm.dt
    everywhere = workspace_poses(robot, 500, seed=99)
    estimators = {
        "from nothing": cp.OnlineGravity(robot, dt, prior="none"),
        "from a description 10 % off": cp.OnlineGravity(wrong_description(robot, seed), dt),
    }
    if plant == "ideal":
        estimators["from nothing, no friction looked for"] = cp.OnlineGravity(
            robot, dt, prior="none", offset=False, friction=False
        )
    found: dict[str, list[float]] = {each: [relative_error(est, robot, everywhere)] for each, est in estimators.items()}

    inside: dict[str, list[list[float]]] = {each: [] for each in estimators}

    def after(_: int) -> None:
        for each, est in estimators.items():
            found[each].append(relative_error(est, robot, everywhere))
            inside[each].append(reliability(est, robot, everywhere))

    poses = workspace_poses(robot, count, seed=seed, margin=0.2)
    lead(arm, poses, list(estimators.values()), sides=(0.0,) if plant == "ideal" else (1.0, -1.0), after=after)
    return {"error": found, "reliability": inside}


def one_pose_law(name: str, seed: int) -> dict[str, float]:
    """Return the inverse regressor's error after 5 s at one pose: there, 0.1 rad beside it, and at random poses."""
    robot = cp.load(name)
    pose = workspace_poses(robot, 1, seed=seed, margin=0.2)[0]
    inertia = largest_inertias(robot)
    kp, kd = inertia * FREQUENCY**2, 2.0 * DAMPING * FREQUENCY * inertia
    config = ArmConfig(timing=Timing(dt=1e-3, physics_step=5e-4), position=pose)
    arm = SimulatedArm(robot, config)
    est = cp.OnlineGravity(robot, 1e-3, "inverse-regressor", q_gain=Q_GAIN, kp=kp, kd=kd)
    with arm:
        for _ in range(5000):
            sample = arm.read()
            est.update(sample.q, sample.dq, sample.tau, pose)
            arm.write(kp * (pose - sample.q) - kd * sample.dq + est.gravity(sample.q))
    beside = pose + 0.1 * np.random.default_rng(seed).choice([-1.0, 1.0], (50, robot.n))
    places = {"at the pose": pose[None], "0.1 rad beside": beside, "random": workspace_poses(robot, 500, seed=99)}
    return {place: relative_error(est, robot, q) for place, q in places.items()}


def scenario_with_all_states() -> dict[str, Any]:
    """Return, for the 31 s scenario with all states on, what the docs say about it: without friction and with it."""
    robot = cp.load("dualarm19")
    found: dict[str, Any] = {}
    for friction in (False, True):
        alone, exact = run_scenario("none", friction=friction), run_scenario("exact", friction=friction)
        starts = {
            "from nothing": cp.OnlineGravity(robot, DT, prior="none"),
            "from a description 10 % off": cp.OnlineGravity(wrong_description(robot, SEED), DT),
        }
        for start, estimator in starts.items():
            learned = run_scenario("recursive", friction=friction, estimator=estimator)
            ends = (
                alone.at_end(phase)[group] / learned.at_end(phase)[group] for phase in PHASES[1:] for group in GROUPS
            )
            found[start + (", stiction" if friction else "")] = {
                "least ratio to PD at a phase's end": min(ends),
                "moving, over PD with exact g": moving_ratio(learned, exact, PHASES[2:]),
                "by move": {phase.name: moving_ratio(learned, exact, [phase]) for phase in PHASES[2:]},
                "error at random poses": learned.gravity_error(),
            }
    return found


def moving_ratio(run: ScenarioRun, exact: ScenarioRun, phases: Sequence[Phase]) -> float:
    """Return the largest ratio, over the groups of joints, of the rms errors while the goal moves in some phases."""
    inside = np.any([(run.time >= phase.begin) & (run.time < phase.end) for phase in phases], axis=0) & (run.moving > 0)
    return max(
        float(np.sqrt(np.mean(run.error[inside][:, joints] ** 2) / np.mean(exact.error[inside][:, joints] ** 2)))
        for joints in GROUPS.values()
    )


def abused(updates: int, seed: int, name: str = "wam7") -> dict[str, float]:
    """Return what random and faulty input does: the largest ĝ, the largest deviation over the prior's, refusals."""
    robot = cp.load(name)
    est = cp.OnlineGravity(robot, 1e-2)
    inner = est.estimator
    if not isinstance(inner, RecursiveGravity):
        raise SystemExit("the default estimator is the recursive one")
    random = np.random.default_rng(seed)
    everywhere = workspace_poses(robot, 50, seed=2)
    q, tau = np.zeros(robot.n), np.zeros(robot.n)
    largest, widest, finite = 0.0, 0.0, True
    bad = (np.nan, np.inf, -np.inf, 1e300)
    for tick in range(updates):
        if tick % 100 == 0:
            q = random.uniform(-1.0, 1.0, robot.n)
            tau = random.standard_normal(robot.n) * 10.0 ** random.uniform(-2.0, 2.0)
            noise = 0.01 * random.standard_normal((100, robot.n))
            faults = random.random(100) < 0.02
            flags = np.where(random.random(100) < 0.05, 32, 0).tolist()
        at = tick % 100
        torque = tau + noise[at]
        if faults[at]:
            torque[int(random.integers(robot.n))] = bad[int(random.integers(4))]
        est.update(q, noise[at], torque, flags=flags[at])
        if tick % 10_000 == 9_999:
            g, std = est.gravity(everywhere), est.std(everywhere)
            finite &= bool(np.isfinite(g).all() and np.isfinite(std).all())
            largest = max(largest, float(np.abs(g).max()))
            widest = max(widest, float(np.max(est.novelty(everywhere))))
    return {
        "updates": updates,
        "finite": finite,
        "largest estimate [N m]": largest,
        "largest deviation over the prior's": widest,
        "holds learned": inner.holds,
        "refused": inner.refused,
    }


def medians(draws: list[dict[str, Any]]) -> dict[str, list[float]]:
    """Return the median error per estimator after 0, 1, … poses."""
    return {each: np.median([draw["error"][each] for draw in draws], axis=0).tolist() for each in draws[0]["error"]}


def percent(share: float) -> str:
    """Return a share in per cent, two digits."""
    return f"{100 * share:.0f} %" if share > 0.1 else f"{100 * share:.2g} %"


def table(results: dict[str, Any]) -> str:
    """Return the docs' table of errors."""
    head = " | ".join(f"{count}" for count in COUNTS)
    lines = [f"| arm | estimator | before | {head} poses |", "|---|---|---" + "|---" * len(COUNTS) + "|"]
    for key, draws in results["held poses"].items():
        for each, row in medians(draws).items():
            shown = " | ".join(percent(row[count]) for count in COUNTS)
            lines.append(f"| {key} | {each} | {percent(row[0])} | {shown} |")
    for name, draws in results["inverse regressor"].items():
        value = np.median([draw["random"] for draw in draws])
        lines.append(f"| {name}, ideal | inverse regressor | 100 % | {percent(value)} |" + " – |" * (len(COUNTS) - 1))
    return "\n".join(lines)


def reliability_table(results: dict[str, Any]) -> str:
    """Return the docs' table of reliability: all draws on presets together."""
    lines = [
        "| arm | estimator | errors within ± 1 σ after 3 poses | 10 poses | within ± 2 σ after 1 | 3 | 5 | 10 poses |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for key, draws in results["held poses"].items():
        if "preset" not in key:
            continue
        for each in draws[0]["reliability"]:
            one, two, _ = np.mean([draw["reliability"][each] for draw in draws], axis=0).T
            shown = [one[2], one[9], *(two[count - 1] for count in (1, 3, 5, 10))]
            lines.append(f"| {key} | {each} | " + " | ".join(f"{100 * value:.0f} %" for value in shown) + " |")
    return "\n".join(lines)


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--updates", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args()
    begin = time.perf_counter()
    results: dict[str, Any] = {"held poses": {}, "inverse regressor": {}}
    seeds = range(given.seed, given.seed + given.draws)
    for name in ROBOTS:
        for plant in ("ideal", "preset"):
            results["held poses"][f"{name}, {plant}"] = [held_poses(name, plant, seed) for seed in seeds]
            print(f"{name}, {plant}: {time.perf_counter() - begin:.0f} s", file=sys.stderr, flush=True)
        results["inverse regressor"][name] = [one_pose_law(name, seed) for seed in seeds]
    for name in PRESETS_ONLY:
        results["held poses"][f"{name}, preset"] = [held_poses(name, "preset", seed) for seed in seeds]
    results["scenario, all states on"] = scenario_with_all_states()
    results["random and faulty input"] = abused(given.updates, given.seed)
    content = {"seed": given.seed, "settings": {"draws": given.draws}, **results}
    rounded = json.loads(json.dumps(content), parse_float=lambda text: float(f"{float(text):.6g}"))
    write_result(HERE / "online_gravity.json", rounded)
    text = table(results)
    sure = reliability_table(results)
    put(HERE.parent / "docs" / "online-gravity.md", "held poses", [text])
    put(HERE.parent / "docs" / "online-gravity.md", "reliability", [sure])
    print(text, sure, sep="\n\n")
    print(json.dumps({key: rounded[key] for key in ("scenario, all states on", "random and faulty input")}, indent=1))
    print("inverse regressor", results["inverse regressor"])


if __name__ == "__main__":
    main()
