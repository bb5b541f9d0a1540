"""Which solver, which approach and how many poses: Monte Carlo behind docs/calibration-study.md.

    python studies/calibration_monte_carlo.py            # some minutes; writes the JSON beside it and the docs' tables
    python studies/calibration_monte_carlo.py --trials 8

An upright WAM-7 holds k random poses. What each joint's actuator applies is gravity, plus what is left of friction,
plus noise of the measurement. Each trial draws poses, friction and noise anew, fits, and compares predicted with true
gravity torques at poses of its own. Reported is the root mean square over trials and poses, per joint.

The first tables compare solvers on the same unknowns. The last one compares what a user gets: ``calibrate`` by default,
from a description that is wrong, and its other two methods, the WAM document's, for every way to reach a pose.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from docs_page import put, write_result

import counterpoise as cp
from counterpoise.fitting import CERTAIN, CadPrior, Solution, StaticPoses, static_poses, with_inertial_parameters
from counterpoise.identification import (
    Estimate,
    fit_poses,
    solve_coupled,
    solve_iterative,
    solve_static,
    without_friction,
)

Array = npt.NDArray[np.float64]

SEED = 20_08
ARM = "wam7"
COULOMB = np.array([1.6, 1.6, 1.3, 0.9, 0.40, 0.36, 0.13])
"""Coulomb friction [N m]: 1 to 5 % of the peak torques, the smaller drives relatively worse. Chosen, as RELAXED,
ASYMMETRY and NOISE, so that the weighted solver comes near the reference that the page compares with."""
CABLE_DRIVE = 0.85 * np.array([1.1, 1.6, 0.9, 0.7, 0.25, 0.25, 0.06])
"""A second choice [N m]: that of the simulated arm's preset, about 1 % of the peak torques."""
RELAXED = 0.2
"""A joint that crept to rest keeps between 1 − RELAXED and 1 of its Coulomb friction, evenly distributed."""
ASYMMETRY = 0.07
"""Friction is this much larger in one direction and smaller in the other, at random per joint and trial."""
NOISE = 6e-4
"""Noise of a measured torque, standard deviation as a share of the peak torque."""
PUSH = np.array([5.0, 20.0, 8.0, 5.0, 1.0, 1.0, 0.3])
"""Torque of a hand that touches the arm during one measurement [N m]."""
SPAN = 0.9
"""Share of each joint's range that poses are drawn from."""
TEST_POSES = 200
COUNTS = (4, 6, 8, 12, 16, 25, 50, 100)

Solve = Callable[[cp.Robot, StaticPoses], Solution]
SOLVERS: dict[str, Solve] = {
    "coupled": lambda robot, poses: solve_coupled(robot, poses).solution,
    "iterative": lambda robot, poses: solve_iterative(robot, poses).solution,
    "unweighted": lambda robot, poses: solve_static(robot, poses, offset=False, sigma=np.ones(robot.n)),
    "weighted": lambda robot, poses: solve_static(robot, poses, offset=False),
}
"""All four fit the same unknowns: gravity alone."""
MASSES, CENTRES = 0.3, 0.02
"""How wrong the description is that the default method gets: masses by e^N(0, MASSES), centres by CENTRES [m]."""
PRODUCT_APPROACHES = ("uncontrolled", "one side", "both sides", "half from both sides", "no friction")
DOCUMENTS: dict[str, Solve] = {
    "coupled": lambda robot, poses: solve_coupled(robot, poses).solution,
    "coupled + offset": lambda robot, poses: solve_coupled(robot, poses, offset=True).solution,
    "iterative": lambda robot, poses: solve_iterative(robot, poses).solution,
    "iterative + offset": lambda robot, poses: solve_iterative(robot, poses, offset=True).solution,
}
"""The WAM document's methods as ``calibrate`` runs them: on the means of pairs where there are any."""
DEFAULTS: dict[str, CadPrior | None] = {"default": CadPrior(), "default, no prior": None}
APPROACHES = ("uncontrolled", "one side", "one side + offset", "both sides", "both sides + offset", "no friction")


def drawn(robot: cp.Robot, count: int, rng: np.random.Generator) -> Array:
    """Return random poses within SPAN of the joint ranges [rad], shape (count, n)."""
    middle, half = 0.5 * (robot.lower + robot.upper), 0.5 * (robot.upper - robot.lower)
    poses: Array = middle + SPAN * half * rng.uniform(-1.0, 1.0, (count, robot.n))
    return poses


def friction(
    approach: str, coulomb: Array, count: int, asymmetry: Array, relaxed: float, rng: np.random.Generator
) -> Array:
    """Return the friction in the measured torque [N m], shape (count, n)."""

    def side(sign: float) -> Array:
        level = coulomb * (1.0 + sign * asymmetry)
        return sign * level * (1.0 - relaxed * rng.uniform(0.0, 1.0, (count, len(coulomb))))

    if approach == "no friction":
        return np.zeros((count, len(coulomb)))
    if approach.startswith("one side"):
        return side(1.0)
    if approach.startswith("both sides"):
        return 0.5 * (side(1.0) + side(-1.0))
    return coulomb * rng.uniform(-1.0, 1.0, (count, len(coulomb)))  # stopped anyhow: anything that friction can hold


def measured(
    robot: cp.Robot,
    approach: str,
    coulomb: Array,
    count: int,
    rng: np.random.Generator,
    *,
    relaxed: float = RELAXED,
    noise: float = NOISE,
) -> StaticPoses:
    """Return one trial's poses and torques."""
    q = drawn(robot, count, rng)
    asymmetry = ASYMMETRY * rng.choice([-1.0, 1.0], robot.n)
    # Two measurements a pose where it is reached from both sides.
    spread = noise * robot.effort_limit * (np.sqrt(0.5) if approach.startswith("both") else 1.0)
    rubbed = friction(approach, coulomb, count, asymmetry, relaxed, rng)
    torques = robot.gravity(q) + rubbed + spread * rng.normal(size=q.shape)
    return static_poses(robot.joint_names, q, torques)


def squared_error(robot: cp.Robot, solution: Solution, rng: np.random.Generator) -> Array:
    """Return the mean squared error of predicted gravity at new poses [N² m²], shape (n,)."""
    q = drawn(robot, TEST_POSES, rng)
    predicted = robot.base_gravity_regressor(q) @ solution.x[: len(robot.base_parameters.names)]
    error: Array = np.mean((predicted - robot.gravity(q)) ** 2, axis=0)
    return error


def compare_solvers(trials: int, count: int, coulomb: Array, seed: int = SEED) -> dict[str, Array]:
    """Return each solver's root mean square error [N m], shape (n,), with an uncontrolled approach."""
    robot = cp.load(ARM)
    squares: dict[str, list[Array]] = {name: [] for name in SOLVERS}
    for trial in range(trials):
        poses = measured(robot, "uncontrolled", coulomb, count, np.random.default_rng([seed, 1, count, trial]))
        for name, fitted in SOLVERS.items():
            test = np.random.default_rng([seed, 2, trial])
            squares[name].append(squared_error(robot, fitted(robot, poses), test))
    return {name: np.sqrt(np.mean(values, axis=0)) for name, values in squares.items()}


def compare_approaches(
    trials: int,
    count: int,
    coulomb: Array,
    seed: int = SEED,
    *,
    relaxed: float = RELAXED,
    noise: float = NOISE,
    approaches: Sequence[str] = APPROACHES,
) -> dict[str, Array]:
    """Return each approach's root mean square error [N m], shape (n,), with the weighted solver."""
    robot = cp.load(ARM)
    found = {}
    for approach in approaches:
        squares = []
        for trial in range(trials):
            rng = np.random.default_rng([seed, 3, APPROACHES.index(approach), trial])
            poses = measured(robot, approach, coulomb, count, rng, relaxed=relaxed, noise=noise)
            solution = solve_static(robot, poses, offset=approach.endswith("offset"))
            squares.append(squared_error(robot, solution, np.random.default_rng([seed, 2, trial])))
        found[approach] = np.sqrt(np.mean(squares, axis=0))
    return found


def noted(robot: cp.Robot, approach: str, coulomb: Array, count: int, rng: np.random.Generator) -> StaticPoses:
    """Return one trial's poses as a user has them: every measurement by itself, with its side where that is known."""
    if approach in ("uncontrolled", "no friction"):
        return measured(robot, approach, coulomb, count, rng)
    q = drawn(robot, count, rng)
    asymmetry = ASYMMETRY * rng.choice([-1.0, 1.0], robot.n)
    first = np.ones(count)
    twice = np.zeros(count, dtype=bool)
    if approach == "both sides":
        twice[:] = True
    elif approach == "half from both sides":
        twice[: count // 2] = True
        first = rng.choice([-1.0, 1.0], count)
    rows = np.concatenate([np.arange(count), np.flatnonzero(twice)])
    sign = np.concatenate([first, -first[twice]])[:, None] * np.ones(robot.n)
    level = coulomb * (1.0 + sign * asymmetry)
    rubbed = sign * level * (1.0 - RELAXED * rng.uniform(0.0, 1.0, sign.shape))
    torques = robot.gravity(q[rows]) + rubbed + NOISE * robot.effort_limit * rng.normal(size=sign.shape)
    pair = np.where(twice[rows], rows, -1)
    poses = static_poses(robot.joint_names, q[rows], torques)
    return replace(poses, side=sign.astype(np.int64), pair=pair.astype(np.int64))


def described(robot: cp.Robot, rng: np.random.Generator) -> cp.Robot:
    """Return a wrong description of the robot: other masses and centres, the same kinematics."""
    rows = robot.inertial_parameters[10:].reshape(-1, 10) * np.exp(MASSES * rng.normal(size=(robot.tree.bodies, 1)))
    rows[:, 1:4] += rows[:, :1] * rng.uniform(-CENTRES, CENTRES, (len(rows), 3))
    return with_inertial_parameters(robot, rows.ravel(), allow_unphysical=True)


def compare_product(
    trials: int,
    count: int,
    coulomb: Array,
    seed: int = SEED,
    approaches: Sequence[str] = PRODUCT_APPROACHES,
) -> tuple[dict[str, dict[str, Array]], dict[str, float]]:
    """Return errors [N m], shape (n,), by approach and method, and how often the default's stated error covers its own.

    Stated is the gravity error (95 %) of every joint over the fitted poses, against that at the fitted poses.
    """
    robot = cp.load(ARM)
    found: dict[str, dict[str, Array]] = {}
    covered: dict[str, float] = {}
    for approach in approaches:
        squares: dict[str, list[Array]] = {name: [] for name in (*DOCUMENTS, *DEFAULTS)}
        inside = []
        for trial in range(trials):
            rng = np.random.default_rng([seed, 5, PRODUCT_APPROACHES.index(approach), trial])
            poses = noted(robot, approach, coulomb, count, rng)
            means = without_friction(poses)[0]
            for name, solved in DOCUMENTS.items():
                test = np.random.default_rng([seed, 2, trial])
                squares[name].append(squared_error(robot, solved(robot, means), test))
            wrong = described(robot, rng)
            q = drawn(robot, TEST_POSES, np.random.default_rng([seed, 2, trial]))
            for name, prior in DEFAULTS.items():
                estimate = Estimate.of_weighted(fit_poses(wrong, poses, prior=prior).fit)
                squares[name].append(np.mean((estimate.load(q) - robot.gravity(q)) ** 2, axis=0))
                if name == "default":
                    there = poses.q
                    missed = np.sqrt(np.mean((estimate.load(there) - robot.gravity(there)) ** 2, axis=0))
                    stated = CERTAIN * np.sqrt(np.mean(estimate.deviation(there) ** 2, axis=0))
                    inside.append(missed[1:] <= stated[1:])  # the first joint is vertical
        found[approach] = {name: np.sqrt(np.mean(values, axis=0)) for name, values in squares.items()}
        covered[approach] = float(np.mean(inside))
    return found, covered


def compare_touched(trials: int, count: int, coulomb: Array, seed: int = SEED) -> dict[str, Array]:
    """Return the weighted solver's error [N m], shape (n,), when the arm is pushed during one of the measurements."""
    robot = cp.load(ARM)
    squares: dict[str, list[Array]] = {"nobody touched": [], "touched, default": [], "touched, not robust": []}
    for trial in range(trials):
        rng = np.random.default_rng([seed, 4, count, trial])
        poses = measured(robot, "uncontrolled", coulomb, count, rng)
        torques = poses.tau.copy()
        torques[rng.integers(count)] += PUSH
        pushed = static_poses(robot.joint_names, poses.q, torques)
        for name, data, robust in zip(squares, (poses, pushed, pushed), (True, True, False), strict=True):
            solution = solve_static(robot, data, offset=False, robust=robust)
            squares[name].append(squared_error(robot, solution, np.random.default_rng([seed, 2, trial])))
    return {name: np.sqrt(np.mean(values, axis=0)) for name, values in squares.items()}


def sensitivity(trials: int, count: int, coulomb: Array, seed: int = SEED) -> dict[str, dict[str, float]]:
    """Return how much better both sides + offset is than uncontrolled, for other relaxations and noises."""
    pair = ("uncontrolled", "both sides + offset")
    found: dict[str, dict[str, float]] = {}
    for relaxed in (0.1, 0.2, 0.3):
        found[f"{relaxed:g}"] = {}
        for noise in (3e-4, 6e-4, 1e-3):
            errors = compare_approaches(trials, count, coulomb, seed, relaxed=relaxed, noise=noise, approaches=pair)
            found[f"{relaxed:g}"][f"{noise:g}"] = total(errors[pair[0]]) / total(errors[pair[1]])
    return found


def total(errors: Array) -> float:
    """Return the root of the summed squares over joints [N m]."""
    return float(np.linalg.norm(errors))


def solver_table(found: Mapping[str, Array]) -> list[str]:
    """Return Markdown lines: errors per joint and in total, and totals relative to weighted."""
    lines = ["| solver | joint 2 | 3 | 4 | 5 | 6 | 7 | all | of weighted |", "|---|---|---|---|---|---|---|---|---|"]
    for name, errors in found.items():
        joints = " | ".join(f"{error:.3f}" for error in errors[1:])
        lines.append(f"| {name} | {joints} | {total(errors):.3f} | {total(errors) / total(found['weighted']):.2f} |")
    return lines


def count_table(by_count: Mapping[int, Mapping[str, Array]]) -> list[str]:
    """Return Markdown lines: total error of each solver for each number of poses."""
    lines = [f"| poses | {' | '.join(SOLVERS)} |", "|---" * (len(SOLVERS) + 1) + "|"]
    for count, found in by_count.items():
        lines.append(f"| {count} | {' | '.join(f'{total(found[name]):.3f}' for name in SOLVERS)} |")
    return lines


def approach_table(found: Mapping[str, Array]) -> list[str]:
    """Return Markdown lines: total error of each approach."""
    lines = ["| approach | all joints | uncontrolled is worse by |", "|---|---|---|"]
    for name, errors in found.items():
        lines.append(f"| {name} | {total(errors):.3f} | {total(found['uncontrolled']) / total(errors):.1f} |")
    return lines


def product_table(found: Mapping[str, Mapping[str, Array]], covered: Mapping[str, float]) -> list[str]:
    """Return Markdown lines: total error of each method for each approach."""
    names = (*DOCUMENTS, *DEFAULTS)
    head = f"| approach | {' | '.join(names)} | stated error covers |"
    lines = [head, "|---" * (len(names) + 2) + "|"]
    for approach, errors in found.items():
        cells = " | ".join(f"{total(errors[name]):.3f}" for name in names)
        lines.append(f"| {approach} | {cells} | {covered[approach]:.0%} |")
    return lines


def sensitivity_table(found: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return Markdown lines: a row per relaxation, a column per noise."""
    noises = list(next(iter(found.values())))
    head = " | ".join(f"noise {100.0 * float(noise):g} % of peak" for noise in noises)
    lines = [f"| friction lost at rest | {head} |", "|---" * (len(noises) + 1) + "|"]
    for relaxed, row in found.items():
        lines.append(f"| up to {100.0 * float(relaxed):g} % | {' | '.join(f'{row[noise]:.1f}' for noise in noises)} |")
    return lines


def touched_table(by_count: Mapping[int, Mapping[str, Array]]) -> list[str]:
    """Return Markdown lines: total errors for each number of poses."""
    names = list(next(iter(by_count.values())))
    lines = [f"| poses | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    for count, found in by_count.items():
        lines.append(f"| {count} | {' | '.join(f'{total(found[name]):.3f}' for name in names)} |")
    return lines


def main() -> None:
    """Run everything, write the JSON and the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=200, help="trials of each setting (default 200)")
    parser.add_argument("--seed", type=int, default=SEED)
    arguments = parser.parse_args()
    trials, seed = arguments.trials, arguments.seed
    by_count = {}
    for count in COUNTS:
        print(f"{count} poses", file=sys.stderr)
        by_count[count] = compare_solvers(trials, count, COULOMB, seed)
    cable = compare_solvers(trials, 25, CABLE_DRIVE, seed)
    approaches = compare_approaches(trials, 25, COULOMB, seed)
    touched = {count: compare_touched(trials, count, COULOMB, seed) for count in (8, 12, 25, 50)}
    product, covered = compare_product(max(trials // 5, 1), 25, COULOMB, seed)
    ratios = sensitivity(max(trials // 4, 1), 25, COULOMB, seed)

    here = Path(__file__).parent
    settings = {"coulomb": COULOMB, "relaxed": RELAXED, "asymmetry": ASYMMETRY, "noise": NOISE, "span": SPAN}
    results: dict[str, Any] = {
        "seed": seed,
        "trials": trials,
        "settings": settings,
        "solvers": by_count,
        "solvers, low friction": cable,
        "approaches": approaches,
        "touched": touched,
        "product": product,
        "product, stated error covers": covered,
        "both sides + offset over uncontrolled": ratios,
    }
    write_result(here / "calibration_monte_carlo.json", results)
    page = here.parent / "docs" / "calibration-study.md"
    put(page, "solvers", solver_table(by_count[25]))
    put(page, "low friction", solver_table(cable))
    put(page, "poses", count_table(by_count))
    put(page, "approaches", approach_table(approaches))
    put(page, "product", product_table(product, covered))
    put(page, "touched", touched_table(touched))
    put(page, "sensitivity", sensitivity_table(ratios))


if __name__ == "__main__":
    main()
