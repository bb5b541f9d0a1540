"""[Morel2000], Fig. 9: the PUMA's tip on a circle of 350 µm radius, three joints at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...dynamics import Robot
from ...foundation import Array
from ...plants import ArmConfig, Plate, preset
from ...tasks import LawGains
from .arm_task import Circle, Paths, arm_run, circle_at_tip, distances, finer_encoders, tip_paths, tuned_arm
from .experiment import Comparison, Experiment, FigureCurve, FigurePanel, Outcome, Progress, Verdict
from .morel_plants import FIRST_SEED
from .task import compared, largest, rms

RADIUS, PERIOD, SLOWER = 350e-6, 10.0, 20.0
"""Of the circle [m]; its period [s] is not printed: that of Fig. 8 is taken, and one twice as long beside it."""
JOINTS = (0, 1, 2)
PLANE = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
"""Across the arm: joint 1 moves the tip along y, joints 2 and 3 along z and keep it in the plane."""
BEGIN = 4.0
"""Time before the error is judged [s]; then one turn is."""
FINER = 8.0
NAMES = {
    "pid": "PID",
    "bsc": "base sensor control, noisy plate",
    "quiet": "base sensor control, quiet plate",
    "pid, fine": "PID, encoders 8 times finer",
    "fine": "base sensor control, quiet plate, encoders 8 times finer",
}


def run(seeds: int, progress: Progress) -> Outcome:
    """Tune joints 1 to 3 in the whole arm, then draw the circle."""
    made = preset("puma550")
    robot, config = made.robot(), made.config
    q = np.asarray(config.position)
    pid = tuned_arm(robot, config, "pid", JOINTS)
    progress(0.35)
    bsc = tuned_arm(robot, config, "bsc", JOINTS, pid)
    progress(0.5)
    first, second = circle_at_tip(robot, q, JOINTS, RADIUS, PLANE)
    quiet = config.replaced(plate=quiet_plate(config.plate))
    cases = {
        "pid": (pid, config),
        "bsc": (bsc, config),
        "quiet": (bsc, quiet),
        "pid, fine": (pid, finer_encoders(quiet, FINER)),
        "fine": (bsc, finer_encoders(quiet, FINER)),
    }
    found: dict[str, Paths] = {name: [] for name in cases}
    slower: dict[str, Paths] = {name: [] for name in ("pid", "quiet")}
    for done, seed in enumerate(range(FIRST_SEED, FIRST_SEED + seeds)):
        for name, (gains, plant) in cases.items():
            found[name].append(_turn(robot, plant, gains, Circle(first, second, PERIOD), PERIOD, seed))
        for name, paths in slower.items():
            gains, plant = cases[name]
            paths.append(_turn(robot, plant, gains, Circle(first, second, SLOWER), SLOWER, seed))
        progress(0.5 + 0.5 * (done + 1) / seeds)
    errors = {name: distances(paths) for name, paths in found.items()}
    count = count_at_tip(robot, q, np.asarray(config.encoder.resolution))
    ratios = {
        "noisy plate": _ratios(errors["pid"], errors["bsc"]),
        "quiet plate": _ratios(errors["pid"], errors["quiet"]),
        "quiet plate, encoders 8 times finer": _ratios(errors["pid, fine"], errors["fine"]),
        f"quiet plate, {SLOWER:g} s a turn": _ratios(*(distances(slower[name]) for name in ("pid", "quiet"))),
    }
    worst = {name: float(np.median([largest(each) for each in values])) for name, values in errors.items()}
    by = {name: float(np.median(values)) for name, values in ratios.items()}
    near = worst["quiet"] <= 2.0 * count and worst["fine"] <= 30.0 and by["quiet plate"] >= 3.0
    verdict: Verdict = "reproduced" if worst["bsc"] <= 30.0 else "partly" if near else "not"
    decides = (
        f"PID's rms error is {by['noisy plate']:.2f} times that of base sensor control with the plate of the preset, "
        f"{by['quiet plate']:.2f} times with one without noise and drift. Joint 3 decides: it is a metre from the "
        "plate's centre and has little K_p, so that 0.2 N of noise moves it by counts; the paper's plate had 'very low "
        f"noise'. One count of the worst joint is {count:.0f} µm at the tip; the largest error is "
        f"{worst['quiet'] / count:.1f} counts with the quiet plate, and {worst['fine']:.0f} µm with encoders 8 times "
        "finer besides: the printed 30 µm needs both. PID's error grows with the speed, that of base sensor control "
        f"does not: on a circle twice as slow the ratio is {by[f'quiet plate, {SLOWER:g} s a turn']:.2f}."
    )
    reach = np.degrees(np.hypot(first, second).max())
    notes = (
        f"The pose is ours (elbow up); the joints move by up to ±{reach:.3f}°, the paper says 0.1°. The period is not "
        "printed; 20 s was tried first, and 10 s, that of Fig. 8, taken after a look at both: both are shown.",
        "Gravity through the model with a tare; the tip's true position, zeroed at rest before the motion.",
        "The quiet plate and the finer encoders use the gains found without them.",
    )
    return Outcome(_lines(errors, ratios, count), _panels(found), verdict, decides, notes)


def _turn(
    robot: Robot, plant: ArmConfig, gains: LawGains, circle: Circle, period: float, seed: int
) -> tuple[Array, Array]:
    """Return where the tip was and should have been during one turn [µm]."""
    task = arm_run(robot, plant, gains, circle, BEGIN + period, seed)
    was, should = tip_paths(robot, task)
    judged = task.time >= BEGIN
    return was[judged] * 1e6, should[judged] * 1e6


def _lines(errors: dict[str, list[Array]], ratios: dict[str, list[float]], count: float) -> tuple[Comparison, ...]:
    lines = []
    for name, title in NAMES.items():
        printed = None if name.startswith("pid") else 30.0
        lines.append(compared(f"{title}, largest error", "µm", printed, [largest(each) for each in errors[name]]))
        lines.append(compared(f"{title}, rms error", "µm", None, [rms(each) for each in errors[name]]))
    lines += [compared(f"PID / base sensor control, rms, {name}", "", None, values) for name, values in ratios.items()]
    return (*lines, compared("one count of the worst joint at the tip", "µm", None, [count]))


def _ratios(ours: list[Array], theirs: list[Array]) -> list[float]:
    return [rms(one) / rms(other) for one, other in zip(ours, theirs, strict=True)]


def quiet_plate(plate: Plate | None) -> Plate | None:
    """Return the plate without noise, steps, drift and walk: 'very low noise', as section 3.1 says."""
    zero = np.zeros(6)
    return None if plate is None else replace(plate, noise=zero, resolution=zero, drift=zero, walk=zero)


def count_at_tip(robot: Robot, q: Array, resolution: Array) -> float:
    """Return how far the tip moves with one count of the worst of joints 1 to 3 [µm]."""
    jacobian = robot.jacobian(q, at=robot.link_names[-1])[:3, :3]
    return float((np.linalg.norm(jacobian, axis=0) * resolution[:3]).max() * 1e6)


def _panels(found: dict[str, Paths]) -> tuple[FigurePanel, ...]:
    goal = found["pid"][0][1]
    curves = [FigureCurve("desired", goal[:, 1], goal[:, 2], "dash")]
    for key, name in NAMES.items():
        path = found[key][0][0]
        curves.append(FigureCurve(name, path[:, 1], path[:, 2]))
    return (FigurePanel("Fig. 9: path of the tip", "y [µm]", "z [µm]", tuple(curves)),)


EXPERIMENT = Experiment(
    name="morel-fig9",
    title="A circle of 350 µm radius with the PUMA's tip, three joints at once",
    source="[Morel2000], Fig. 9",
    claim="The largest error at the tip is below 30 µm under base sensor control.",
    setup=(
        "The whole simulated PUMA 550 (stiff), joints 1 to 3 tuned in the arm by the rule, wrist held; circle across "
        f"the arm in {PERIOD:g} s, judged over one turn after {BEGIN:g} s."
    ),
    run=run,
)
