"""The map that no paper has: PID's error by that of base sensor control, over random plausible joints.

Each joint of the distribution gets PID and base sensor control, tuned on it by the one rule, and runs the task of
[Morel2000], Fig. 8. Then friction learned from the plate is sent ahead of both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np

from ..control.reference import Triangle
from ..control.tune.friction import learned_friction
from ..control.tune.gains import LawGains
from ..description.frozen import Array
from ..errors import CounterpoiseError
from ..friction.dahl import Dahl
from .experiment import Comparison, Experiment, FigureCurve, FigurePanel, Outcome, Progress
from .morel_plants import TunedJoint, tuned_joint
from .plant_distribution import FRESH, RandomJoint, random_joint
from .task import RULE, follow, largest, rms

AMPLITUDE, PERIOD = math.radians(0.1), 10.0
BEGIN, END = 2.5, 12.5
"""One whole period is judged, from the first reversal on [s]."""
NOISE = 50_000
"""Added to a joint's seed for the noise of the judged runs."""
PLANTS_PER_SEED = 16
"""Joints for each seed that `reproduce` asks for: 80 for the usual five."""
BANDS = ((15.0, 30.0), (30.0, 60.0), (60.0, 100.0), (100.0, 200.0))
"""Bands of the gear mode [Hz]."""
AXES = {
    "frequency": "gear mode, motor against link [Hz]",
    "friction": "breakaway torque by the effort limit",
    "plate_noise": "plate noise by the effort limit",
    "resolution": "encoder count [rad]",
    "rate": "control rate [Hz]",
    "presliding": "presliding displacement [rad]",
}


@dataclass(frozen=True, slots=True)
class Judged:
    """One joint of the distribution.

    Attributes:
        seed: What it was drawn with.
        numbers: What was drawn.
        bandwidth: Of the position loop that the rule chose [Hz].
        k_int: That the rule chose [1/s].
        structural_frequency: That tuning met [Hz]; None where nothing oscillated up to the largest gains tried.
        rms: Rms error by law [rad].
        largest: Largest error by law [rad].
        failure: Why it could not be judged; "" where it could.
        unlearned: Why its friction could not be learned; "" where it could.
    """

    seed: int
    numbers: dict[str, float]
    bandwidth: float = 0.0
    k_int: float = 0.0
    structural_frequency: float | None = None
    rms: dict[str, float] | None = None
    largest: dict[str, float] | None = None
    failure: str = ""
    unlearned: str = ""

    def ratio(self, above: str, below: str) -> float:
        """Return the ratio of two laws' rms errors, NaN where it was not judged."""
        return math.nan if self.rms is None else self.rms[above] / self.rms[below]


def judged(seed: int) -> Judged:
    """Tune the laws on a joint of the distribution, run the task with each, and return the errors."""
    drawn = random_joint(seed)
    try:
        return _judged(drawn)
    except CounterpoiseError as error:
        return Judged(seed, drawn.numbers, failure=f"{type(error).__name__}: {error}")


def _judged(drawn: RandomJoint) -> Judged:
    seed = drawn.seed
    joint = tuned_joint(drawn.plant, RULE)
    pid, bsc = joint.gains("pid"), joint.gains("bsc")
    learned, unlearned = _learned(joint, bsc)
    errors = {
        "pid": _error(joint, pid, None, NOISE + seed),
        "bsc": _error(joint, bsc, None, NOISE + seed),
        "pid-ahead": _error(joint, pid, learned, NOISE + seed),
        "bsc-ahead": _error(joint, bsc, learned, NOISE + seed),
    }
    met = joint.bsc.joints[0].structural_frequency or joint.pid.joints[0].structural_frequency
    return Judged(
        seed,
        drawn.numbers,
        bandwidth=joint.pid.joints[0].limits[0].chosen,
        k_int=float(bsc.k_int[0]),
        structural_frequency=met,
        rms={name: rms(error) for name, error in errors.items()},
        largest={name: largest(error) for name, error in errors.items()},
        unlearned=unlearned,
    )


def _learned(joint: TunedJoint, gains: LawGains) -> tuple[Dahl | None, str]:
    """Return the friction learned from the plate, and why there is none; then nothing is sent ahead."""
    try:
        return learned_friction(lambda: joint.make(None), joint.robot, gains).law, ""
    except CounterpoiseError as error:
        return None, str(error)


def _error(joint: TunedJoint, gains: LawGains, friction: Dahl | None, seed: int) -> Array:
    """Return the error of the task [rad], with friction sent ahead where given."""
    reference = Triangle([AMPLITUDE], PERIOD)
    used = gains if friction is None else gains.with_friction(0, friction)
    return follow(joint.make(seed), joint.robot, used, reference, END).after(BEGIN).error()


def run(seeds: int, progress: Progress) -> Outcome:
    """Judge joints from the fresh part of the distribution, in as many processes as there are processors."""
    chosen = range(FRESH, FRESH + PLANTS_PER_SEED * seeds)
    found = []
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        for each in pool.map(judged, chosen):
            found.append(each)
            progress(len(found) / len(chosen))
    return outcome_of(found)


def outcome_of(found: Sequence[Judged]) -> Outcome:
    """Return what judged joints show."""
    good = [each for each in found if each.rms is not None]
    paper = np.array([each.ratio("pid", "bsc") for each in good])
    improved = np.array([each.ratio("bsc", "bsc-ahead") for each in good])
    frequency = np.array([each.numbers["frequency"] for each in good])
    comparisons = [
        _quantiles("PID / base sensor control, rms, all joints", paper),
        _quantiles("base sensor control / the same with friction sent ahead", improved),
        _quantiles(
            "PID with friction sent ahead / base sensor control with it",
            np.array([each.ratio("pid-ahead", "bsc-ahead") for each in good]),
        ),
    ]
    for low, high in BANDS:
        inside = (frequency >= low) & (frequency < high)
        if inside.any():
            name = f"PID / base sensor control, gear mode {low:g} to {high:g} Hz"
            comparisons.append(_quantiles(name, paper[inside]))
    share = float(np.mean(paper >= 1.0))
    decides = (
        f"Base sensor control is better than PID on {share:.0%} of {len(good)} random joints, "
        f"{np.median(paper):.2g} times in the median; sending learned friction ahead makes its error "
        f"{np.median(improved):.2g} times smaller again. {len(found) - len(good)} joints could not be judged."
    )
    notes = [f"joint {each.seed}: {each.failure}" for each in found if each.failure]
    notes += [f"joint {each.seed}: nothing sent ahead, {each.unlearned}" for each in good if each.unlearned]
    return Outcome(tuple(comparisons), _panels(good), "reproduced" if share > 0.5 else "not", decides, tuple(notes))


def _quantiles(what: str, values: Array) -> Comparison:
    """Return median with the 5 and 95 % quantiles as spread."""
    low, middle, high = np.quantile(values, (0.05, 0.5, 0.95)).tolist()
    return Comparison(f"{what} (n = {len(values)}; median, 5 to 95 %)", "", None, middle, (low, high))


def _panels(good: Sequence[Judged]) -> tuple[FigurePanel, ...]:
    panels = []
    for name, label in AXES.items():
        x = np.array([each.numbers[name] for each in good])
        curves = (
            FigureCurve(
                "PID / base sensor control", x, np.array([each.ratio("pid", "bsc") for each in good]), points=True
            ),
            FigureCurve(
                "PID / base sensor control with friction sent ahead",
                x,
                np.array([each.ratio("pid", "bsc-ahead") for each in good]),
                points=True,
            ),
        )
        panels.append(FigurePanel(f"Ratio of rms errors against {label}", label, "ratio", curves, True, True))
    return tuple(panels)


EXPERIMENT = Experiment(
    name="map",
    title="When base sensor control pays: PID's error by its own, over 80 random plausible joints",
    source="beyond [Morel2000]; the distribution is papers/plant_distribution.py",
    claim="The paper's 4.76 is one arm's; how it depends on structure, friction, noise and rate is not told.",
    setup="Task of Fig. 8 on random joints; PID and base sensor control tuned on each by the same rule; fresh seeds.",
    run=run,
)
