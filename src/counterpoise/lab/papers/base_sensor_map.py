"""The map that no paper has: PID's error by that of base sensor control, over random plausible joints.

Each joint of the distribution gets PID and base sensor control, tuned on it by the one rule, and runs the task of
[Morel2000], Fig. 8. Then friction learned from the plate is fed forward in both.

The distribution is of random plausible geared joints on a plate. It was written down before any law was judged on it,
and no number in it was chosen for a law. Seeds below FRESH are for developing a law, those from FRESH on for judging
it.

Ranges are meant to cover electric joints from a small arm's shoulder to a large one's: log-uniform where a quantity
spans a decade or more. The presets' PUMA joint 1 lies inside each of them, with its stiff, 50 Hz and 20 Hz gears except
for the 250 Hz of the first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np

from ...control import Triangle
from ...dynamics import Dahl, LuGre
from ...errors import CounterpoiseError
from ...foundation import Array
from ...plants import ArmConfig, Drive, EffortSensor, Encoder, Gear, OneLink, Plate, SingleJoint, Timing, TorqueSource
from ...tasks import LawGains, learned_friction
from .experiment import Comparison, Experiment, FigureCurve, FigurePanel, Outcome, Progress
from .morel_plants import TunedJoint, tuned_joint
from .task import RULE, follow, largest, rms

FRESH = 2000
"""First seed that judges; smaller ones may be looked at while a law is developed."""
STEP = 1e-4
"""Longest physics step [s]."""

RANGES: dict[str, tuple[float, float]] = {
    "link_inertia": (0.3, 30.0),  # kg m²
    "rotor_ratio": (0.1, 2.0),  # rotor's inertia, reflected, by the link's
    "frequency": (15.0, 200.0),  # motor against link, on firm ground [Hz]
    "gear_damping": (0.01, 0.05),  # of critical
    "plate_frequency": (60.0, 300.0),  # link and base together on the plate [Hz]
    "acceleration": (10.0, 40.0),  # effort limit by the whole inertia [rad/s²]
    "friction": (0.02, 0.15),  # breakaway torque by the effort limit
    "presliding": (5e-5, 2e-3),  # displacement before breakaway [rad]
    "stribeck": (5e-3, 0.1),  # Stribeck velocity [rad/s]
    "rate": (200.0, 1000.0),  # control rate [Hz]
    "lag": (3e-4, 3e-3),  # of the amplifier [s]
    "resolution": (5e-6, 3e-4),  # one count of the encoder, at the joint [rad]
    "plate_noise": (2e-5, 2e-3),  # of a reading, by the effort limit
    "plate_walk": (0.01, 0.1),  # random walk after a second, by the noise
    "cogging": (2e-4, 2e-3),  # by the effort limit
    "cogging_cycles": (100.0, 2000.0),  # per turn of the joint
}
"""Log-uniform between these two."""

UNIFORM: dict[str, tuple[float, float]] = {
    "static": (1.0, 1.4),  # breakaway by sliding friction
    "asymmetry": (-0.1, 0.1),  # friction backwards against forwards
    "viscous": (0.3, 1.5),  # at 1 rad/s, by the breakaway torque
    "base_ratio": (0.2, 0.6),  # inertia of base and plate's top by the link's
    "plate_cutoff": (0.25, 0.45),  # of the plate's filter, by the control rate
    "velocity_cutoff": (0.1, 0.2),  # of the velocity's filter, by the control rate
    "gain_error": (-0.05, 0.05),  # of the torque constant
}
"""Uniform between these two."""


@dataclass(frozen=True, slots=True, eq=False)
class RandomJoint:
    """A joint that was drawn.

    Attributes:
        seed: What it was drawn with.
        numbers: What was drawn, by the names in RANGES and UNIFORM.
        link: Its link.
        config: Everything else.
    """

    seed: int
    numbers: dict[str, float]
    link: OneLink
    config: ArmConfig

    def plant(self, seed: int | None = None) -> SingleJoint:
        """Return the joint as a plant; ``seed`` is that of its noise, None for one of its own."""
        return SingleJoint(self.link, self.config.replaced(seed=self.seed if seed is None else seed))


def random_joint(seed: int) -> RandomJoint:
    """Draw a joint; the same seed gives the same joint on every machine."""
    rng = np.random.default_rng((20260, seed))
    drawn = {name: float(np.exp(rng.uniform(np.log(low), np.log(high)))) for name, (low, high) in RANGES.items()}
    drawn |= {name: float(rng.uniform(low, high)) for name, (low, high) in UNIFORM.items()}
    inertia = drawn["link_inertia"]
    rotor = drawn["rotor_ratio"] * inertia
    limit = drawn["acceleration"] * (inertia + rotor)
    link = OneLink(
        inertia=inertia,
        rotor_inertia=rotor,
        base_inertia=drawn["base_ratio"] * inertia,
        velocity_limit=3.0,
        effort_limit=limit,
        lower=-2.5,
        upper=2.5,
    )
    config = ArmConfig(
        name=f"random-{seed}",
        timing=Timing(dt=1.0 / drawn["rate"], physics_step=STEP, delay=1),
        drive=_drive(drawn, inertia, rotor, limit),
        encoder=Encoder(side="motor", resolution=drawn["resolution"], cutoff=drawn["velocity_cutoff"] * drawn["rate"]),
        effort=EffortSensor(noise=0.002 * limit),
        plate=_plate(drawn, inertia, limit),
        position=0.0,
    )
    return RandomJoint(seed, drawn, link, config)


def _drive(drawn: dict[str, float], inertia: float, rotor: float, limit: float) -> Drive:
    omega, reduced = 2.0 * math.pi * drawn["frequency"], rotor * inertia / (rotor + inertia)
    static = drawn["friction"] * limit
    coulomb, backwards = static / drawn["static"], 1.0 + drawn["asymmetry"]
    bristle = static / drawn["presliding"]
    friction = LuGre(
        coulomb=coulomb,
        static=static,
        coulomb_negative=backwards * coulomb,
        static_negative=backwards * static,
        stiffness=bristle,
        damping=0.4 * math.sqrt(bristle * rotor),
        stribeck_velocity=drawn["stribeck"],
        viscous=drawn["viscous"] * static,
    )
    gear = Gear(stiffness=omega**2 * reduced, damping=2.0 * drawn["gear_damping"] * omega * reduced)
    source = TorqueSource(
        lag=drawn["lag"],
        gain_error=drawn["gain_error"],
        cogging=drawn["cogging"] * limit,
        cycles=drawn["cogging_cycles"],
    )
    return Drive(inertia=rotor, gear=gear, friction=friction, actuator=source)


def _plate(drawn: dict[str, float], inertia: float, limit: float) -> Plate:
    omega = 2.0 * math.pi * drawn["plate_frequency"]
    stiffness = omega**2 * (1.0 + drawn["base_ratio"]) * inertia
    noise = drawn["plate_noise"] * limit
    axis = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    return Plate(
        stiffness=np.where(axis > 0.0, stiffness, 1e7),
        damping=axis * 0.04 * stiffness / omega,
        noise=axis * noise,
        walk=axis * drawn["plate_walk"] * noise,
        resolution=axis * limit / 2**13,
        cutoff=drawn["plate_cutoff"] * drawn["rate"],
    )


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
    """Return the friction learned from the plate, and why there is none; then nothing is fed forward."""
    try:
        return learned_friction(joint.rig, gains).law, ""
    except CounterpoiseError as error:
        return None, str(error)


def _error(joint: TunedJoint, gains: LawGains, friction: Dahl | None, seed: int) -> Array:
    """Return the error of the task [rad], with friction feedforward where given."""
    reference = Triangle([AMPLITUDE], PERIOD)
    used = gains if friction is None else gains.with_friction(0, friction)
    return follow(joint.rig(seed), used, reference, END).after(BEGIN).error()


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
        _quantiles("base sensor control / the same with friction feedforward", improved),
        _quantiles(
            "PID with friction feedforward / base sensor control with it",
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
        f"{np.median(paper):.2g} times in the median; feedforward of learned friction makes its error "
        f"{np.median(improved):.2g} times smaller again. {len(found) - len(good)} joints could not be judged."
    )
    notes = [f"joint {each.seed}: {each.failure}" for each in found if each.failure]
    notes += [f"joint {each.seed}: no friction feedforward, {each.unlearned}" for each in good if each.unlearned]
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
                "PID / base sensor control with friction feedforward",
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
    source="beyond [Morel2000]; the distribution is lab/papers/base_sensor_map.py",
    claim="The paper's 4.76 is one arm's; how it depends on structure, friction, noise and rate is not stated.",
    setup="Task of Fig. 8 on random joints; PID and base sensor control tuned on each by the same rule; fresh seeds.",
    run=run,
)
