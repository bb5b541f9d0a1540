"""Tuning by experiment, by the same rule (gains.py) for every law and on any plant.

The smallest gain at which a plant oscillates is found upwards in steps, then by halving. The result states the gains,
what limited each of them, and what to expect.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from ...control import SignalSafe
from ...dynamics import Robot, mass_matrix_with_rotors
from ...errors import InputError, listed
from ...foundation import Array
from ..rig import Rig
from .gains import KINDS, WITH_PLATE, WITHOUT_DERIVATIVE, LawGains, LawKind, TuningRule, natural_frequency
from .probe import MakeRig, MotionKind, Probed, Prober, holding_gains

GROWTH = 1.5
"""Factor from one gain to the next on the way up."""


@dataclass(frozen=True, slots=True)
class Limit:
    """Where oscillation starts.

    Attributes:
        gain: Smallest gain that was seen to oscillate; inf where none was.
        tried: Largest gain that was tried.
        probed: What the probe showed there; None where nothing oscillated.
    """

    gain: float
    tried: float
    probed: Probed | None

    def share(self, share: float) -> float:
        """Return a share of the limit, or of the largest gain that was tried where there is no limit."""
        return share * (self.gain if math.isfinite(self.gain) else self.tried)


def oscillation_limit(
    probe: Callable[[float], Probed], least: float, most: float, resolution: float, growth: float = GROWTH
) -> Limit:
    """Return the smallest unstable gain between two bounds.

    Gains grow from ``least`` until one is unstable; between that and the last stable one the limit is halved on a
    logarithmic scale. On the way up no gain is skipped by more than ``growth``: a real plant is never thrown far beyond
    its limit.

    Args:
        probe: Tries a gain.
        least: First gain tried. Where it is unstable, smaller ones are tried by dividing, ten times at most.
        most: Largest gain tried.
        resolution: Ratio, less 1, to which the limit is found.
        growth: Factor on the way up.
    """
    gain, shown = least, probe(least)
    for _ in range(10):
        if shown.stable or gain <= 0.0:
            break
        above, above_shown = gain, shown
        gain /= growth
        shown = probe(gain)
        if shown.stable:
            return _between(probe, gain, above, above_shown, resolution)
    if not shown.stable:
        return Limit(gain, least, shown)
    while gain < most:
        below = gain
        gain = min(gain * growth, most)
        shown = probe(gain)
        if not shown.stable:
            return _between(probe, below, gain, shown, resolution)
    return Limit(math.inf, gain, None)


def _between(probe: Callable[[float], Probed], below: float, above: float, shown: Probed, resolution: float) -> Limit:
    tried = above
    while above / below > 1.0 + resolution:
        middle = math.sqrt(below * above)
        seen = probe(middle)
        if seen.stable:
            below = middle
        else:
            above, shown = middle, seen
    return Limit(above, tried, shown)


EXPECTED_RATIOS: tuple[tuple[float, float], ...] = ((23.4, 1.52), (39.4, 3.05), (74.1, 7.46), (105.2, 2.6))
"""Structural frequency [Hz], and the median ratio of PID's rms error to base sensor control's there, slowest first."""
COVERED = (15.0, 110.0)
"""Frequencies that the study behind them covers [Hz]."""


def expected_ratio(frequency: float) -> float | None:
    """Return how many times smaller than PID's the rms error of base sensor control is to be expected.

    Args:
        frequency: Structural frequency [Hz].

    Returns:
        The ratio, interpolated over the logarithm of the frequency; None where no study covers it.
    """
    if not COVERED[0] <= frequency <= COVERED[1]:
        return None
    known = np.array(EXPECTED_RATIOS)
    return float(np.interp(np.log(frequency), np.log(known[:, 0]), known[:, 1]))


@dataclass(frozen=True, slots=True)
class GainLimit:
    """How one gain was found.

    Attributes:
        gain: Its name: "bandwidth", "kp", "ki" or "k_int".
        chosen: The value that was chosen, in the gain's unit (Hz for the bandwidth).
        limit: Smallest value that oscillates; inf where none did.
        frequency: Of the oscillation there [Hz]; 0 where none was seen.
        reason: What happened there, in words.
    """

    gain: str
    chosen: float
    limit: float
    frequency: float
    reason: str


@dataclass(frozen=True, slots=True)
class JointTuning:
    """How the gains of one joint were found.

    Attributes:
        joint: Its name.
        inertia: What its torque moves with the other joints locked, rotor included [kg m² or kg].
        limits: Its gains, in the order in which they were found.
        structural_frequency: Dominant frequency at the limit of stability [Hz]; None where none was met.
        probes: Experiments made.
        notes: What else there is to know, one sentence each.
    """

    joint: str
    inertia: float
    limits: tuple[GainLimit, ...]
    structural_frequency: float | None
    probes: int
    notes: tuple[str, ...]

    @property
    def expected_ratio(self) -> float | None:
        """How many times larger PID's error is to be expected; None unless a torque loop's limit was met."""
        met = [limit.frequency for limit in self.limits if limit.gain == "k_int" and limit.frequency > 0.0]
        return expected_ratio(met[0]) if met else None


@dataclass(frozen=True, slots=True, eq=False)
class Tuning:
    """The gains that were found, and how.

    Attributes:
        gains: The gains.
        rule: The rule.
        joints: One entry per tuned joint.
        seconds: Time of all experiments by the plant's clock [s].
    """

    gains: LawGains
    rule: TuningRule
    joints: tuple[JointTuning, ...]
    seconds: float

    def as_data(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "gains": self.gains.as_data(),
            "rule": asdict(self.rule),
            "joints": [asdict(joint) | {"expected_ratio": joint.expected_ratio} for joint in self.joints],
            "seconds": self.seconds,
        }


LEAST_BANDWIDTH = 0.2
"""Share of the bandwidth asked for at which the search for oscillation begins."""
LEAST_TORQUE_GAIN, MOST_TORQUE_GAIN = 4.0, 1.0
"""First k_int tried [1/s], and the largest as a multiple of the control rate: beyond it nothing is smooth any more."""
BASELINE = 2.0
"""How many times the swing at the smallest gain counts as oscillation: counts of an encoder are a tone, too."""
INTEGRAL_START, INTEGRAL_GROWTH, MOST_INTEGRAL = 0.25, 1.25, 8.0
"""K_i tried: from this share of K_p K_d / J, where a rigid joint is at its limit, up to that multiple of it."""
PROOFS = 6
"""How often the last gain is lowered because the structure swings when it is tried for longer."""
MOST_STIFFNESS = 512.0
"""Largest K_p tried without a derivative, as a multiple of the default one."""
FROM_LOW_GAINS: tuple[LawKind, ...] = ("pd", "bsc")
"""Laws whose search begins with gains that are calm on any inertia above the links'."""

ShareDone = Callable[[float], None]
"""Is told the share of the work that is done, 0 to 1."""


def tuned(
    make_rig: MakeRig,
    kind: LawKind,
    *,
    joints: Sequence[int] | None = None,
    rule: TuningRule | None = None,
    position: LawGains | None = None,
    progress: ShareDone | None = None,
) -> Tuning:
    """Find the gains of a law by experiments on a plant.

    ::

        made = preset("puma550", "50Hz")
        robot = made.single_joint().robot
        tuning = tuned(lambda: Rig(made.single_joint(), robot), "bsc")
        law = tuning.gains.laws(rig, reference, sensor=sensor)

    Joints are tuned one after the other; those not tuned yet hold with default gains. Every experiment goes through
    ControlLoop and its safety filter, moves by a few degrees and ends in the safe stop. Inertias, rotors included, and
    gravity are the model's.

    Args:
        make_rig: Returns the rig for each experiment, its plant not yet entered: with a new simulation, or always the
            same arm.
        kind: The law.
        joints: Indices of the joints to tune; None for all.
        rule: The numbers; None for the defaults.
        position: Gains whose K_p and K_d are kept, found before for another law on the same plant; only what the law
            adds to them is searched for.
        progress: Called now and then with the fraction of the work that is done, 0 to 1.

    Raises:
        InputError: The plant has no plate and the law needs one, the model does not know a rotor that the law's search
            begins with, there is no room to move, or an arm that is always the same sank between two experiments.
        SafetyError: The plant failed.
    """
    if kind not in KINDS:
        raise InputError(f"kind is {kind!r}; expected one of {', '.join(KINDS)}")
    numbers = TuningRule() if rule is None else rule
    rig = make_rig()
    first, robot = rig.plant, rig.robot
    order = range(robot.n) if joints is None else joints
    _refuse_unknown_rotors(robot, kind, order)
    if kind in WITH_PLATE and first.plate is None:
        raise InputError(f"'{kind}' needs a plate under the base, and this plant has none")
    with SignalSafe(first):
        q = first.read().q.copy()
    gains = replace(holding_gains(rig, q), kind=kind)
    found: list[JointTuning] = []
    seconds = 0.0
    for done, joint in enumerate(order):
        prober = Prober(make_rig, joint, numbers)
        tuner = JointTuner(prober, rig, joint, q, numbers)
        tuner.on_probe = _share(progress, done, len(order))
        gains = tuner.tune(gains, position)
        found.append(tuner.result())
        seconds += prober.seconds
        if progress is not None:
            progress((done + 1) / len(order))
    return Tuning(gains, numbers, tuple(found), seconds)


class JointTuner:
    """Tunes one joint, gain by gain.

    Attributes:
        inertia: What its torque moves with the other joints locked, rotor included [kg m² or kg].
        on_probe: Called after every experiment.
    """

    def __init__(self, prober: Prober, rig: Rig, joint: int, q: Array, rule: TuningRule) -> None:
        """Prepare to tune ``joint`` of an arm that stands at q."""
        robot, plant = rig.robot, rig.plant
        self.inertia = locked_inertia(robot, q, joint)
        self.on_probe: Callable[[], None] | None = None
        self._prober, self._joint, self._rule, self._dt = prober, joint, rule, plant.dt
        self._least = rule.amplitude * float(plant.effort_limit[joint])
        self._name = robot.joint_names[joint]
        self._limits: list[GainLimit] = []
        self._notes: list[str] = []
        if not robot.rotor_inertia_known[joint]:
            self._notes.append(
                "the model states no rotor inertia; where the drive has one, the bandwidth is lower than stated"
            )
        self._structural: float | None = None

    def tune(self, gains: LawGains, position: LawGains | None) -> LawGains:
        """Return the gains with those of this joint replaced."""
        joint, kind = self._joint, gains.kind
        if position is not None:
            gains = gains.with_joint(joint, kp=float(position.kp[joint]), kd=float(position.kd[joint]))
        elif kind in WITHOUT_DERIVATIVE:
            gains = self._stiffness(gains.with_joint(joint, kd=0.0, ki=0.0, k_int=0.0))
        else:
            gains = self._bandwidth(gains.with_joint(joint, ki=0.0, k_int=0.0))
        if kind in ("pid", "pi"):
            gains = self._lasting(self._integral(gains), "ki")
        if kind in WITH_PLATE:
            gains = self._lasting(self._torque_gain(gains), "k_int")
        return gains

    def result(self) -> JointTuning:
        """Return how it went."""
        notes, away = list(self._notes), self._prober.without_plate
        if away > 0.0:
            seconds = self._prober.seconds
            notes.append(f"torque feedback was lost for {away:.2g} s of the {seconds:.3g} s of all experiments")
        return JointTuning(
            self._name, self.inertia, tuple(self._limits), self._structural, self._prober.count, tuple(notes)
        )

    def position_gains(self, bandwidth: float) -> dict[str, float]:
        """Return K_p and K_d of a position loop with this bandwidth [Hz] (rule 1)."""
        omega = natural_frequency(bandwidth, self._rule.damping)
        return {"kp": self.inertia * omega**2, "kd": 2.0 * self._rule.damping * self.inertia * omega}

    def _bandwidth(self, gains: LawGains) -> LawGains:
        """Rule 1: the bandwidth asked for, or a share of the one where the plant oscillates."""
        rule, joint = self._rule, self._joint
        wanted = rule.bandwidth
        # Gains that are to be a share of the limit need no search beyond wanted / share.
        least, most = LEAST_BANDWIDTH * wanted, wanted / rule.oscillation_share
        baseline = self._level(gains.with_joint(joint, **self.position_gains(least)))

        def probe(bandwidth: float) -> Probed:
            tried = gains.with_joint(joint, **self.position_gains(bandwidth))
            # The noise of a counted velocity grows with K_d, and K_d with the bandwidth.
            return self._try(tried, "move", max(self._least, BASELINE * baseline * bandwidth / least))

        limit = oscillation_limit(probe, least, most, rule.resolution)
        chosen = min(wanted, limit.share(rule.oscillation_share))
        self._note("bandwidth", chosen, limit)
        if chosen < (1.0 - rule.resolution) * wanted:
            self._notes.append(f"{wanted:g} Hz cannot be reached: the plant oscillates from {limit.gain:.3g} Hz on")
        return gains.with_joint(joint, **self.position_gains(chosen))

    def _stiffness(self, gains: LawGains) -> LawGains:
        """Rule 4: K_p without a derivative."""
        joint, rule = self._joint, self._rule
        least = float(gains.kp[joint])
        baseline = self._level(gains)

        def probe(kp: float) -> Probed:
            tried = gains.with_joint(joint, kp=kp)
            # A count of the encoder is a step of torque, which grows with K_p.
            moved = self._try(tried, "move", max(self._least, BASELINE * baseline * kp / least))
            return moved if not moved.stable else self._try(tried, "step", self._least)

        limit = oscillation_limit(probe, least, MOST_STIFFNESS * least, rule.resolution)
        chosen = limit.share(rule.oscillation_share)
        self._note("kp", chosen, limit)
        return gains.with_joint(joint, kp=chosen)

    def _integral(self, gains: LawGains) -> LawGains:
        """Rules 2 and 4: K_i by the answer to a step."""
        joint, rule = self._joint, self._rule
        kp, kd = float(gains.kp[joint]), float(gains.kd[joint])
        rigid = kp * kd / self.inertia if kd > 0.0 else kp * math.sqrt(kp / self.inertia)

        # A slow loop rings slowly: the time for its answer is that of the same number of cycles.
        omega = math.sqrt(kp / self.inertia)
        stretch = max(1.0, natural_frequency(rule.bandwidth, rule.damping) / omega)

        def probe(ki: float) -> Probed:
            return self._try(gains.with_joint(joint, ki=ki), "step", self._least, stretch)

        limit = oscillation_limit(
            probe, INTEGRAL_START * rigid, MOST_INTEGRAL * rigid, rule.resolution, INTEGRAL_GROWTH
        )
        share = rule.oscillation_share if gains.kind == "pi" else rule.integral_share
        chosen = limit.share(share)
        self._note("ki", chosen, limit)
        return gains.with_joint(joint, ki=chosen)

    def _torque_gain(self, gains: LawGains) -> LawGains:
        """Rule 3: k_int by oscillation of the structure."""
        joint, rule = self._joint, self._rule
        baseline = self._level(gains.with_joint(joint, k_int=LEAST_TORQUE_GAIN))

        def probe(k_int: float) -> Probed:
            return self._try(gains.with_joint(joint, k_int=k_int), "move", max(self._least, BASELINE * baseline))

        most = MOST_TORQUE_GAIN / self._dt
        limit = oscillation_limit(probe, LEAST_TORQUE_GAIN, most, rule.resolution)
        chosen = limit.share(rule.oscillation_share)
        self._note("k_int", chosen, limit)
        return gains.with_joint(joint, k_int=chosen)

    def _lasting(self, gains: LawGains, name: str) -> LawGains:
        """Try the gains found for longer; while the structure swings, the last gain is a limit; a share is taken."""
        joint, rule = self._joint, self._rule
        least = max(self._least, BASELINE * self._level(gains.with_joint(joint, ki=0.0, k_int=0.0)))
        for _ in range(PROOFS):
            shown = self._try(gains, "move", least, rule.proof)
            if shown.stable:
                return gains
            value = float(getattr(gains, name)[joint])
            self._notes.append(
                f"{name} of {value:.4g}: {shown.reason} at {shown.swing.frequency:.3g} Hz when tried for longer"
            )
            self._note(name, rule.oscillation_share * value, Limit(value, value, shown))
            gains = gains.with_joint(joint, **{name: rule.oscillation_share * value})
        self._notes.append(f"{name} was lowered {PROOFS} times and may still swing; look before you use it")
        return gains

    def _level(self, gains: LawGains) -> float:
        return self._try(gains, "move", math.inf).level

    def _try(self, gains: LawGains, motion: MotionKind, least: float, stretch: float = 1.0) -> Probed:
        shown = self._prober.probe(gains, motion, least, stretch)
        if self.on_probe is not None:
            self.on_probe()
        return shown

    def _note(self, name: str, chosen: float, limit: Limit) -> None:
        shown = limit.probed
        frequency = 0.0 if shown is None else shown.swing.frequency
        reason = "no oscillation up to the largest value tried" if shown is None else shown.reason
        self._limits.append(GainLimit(name, chosen, limit.gain, frequency, reason))
        if name in ("bandwidth", "k_int") and frequency > 0.0:
            self._structural = frequency


def locked_inertia(robot: Robot, q: Array, joint: int) -> float:
    """Return the inertia that a joint's torque moves with the other joints locked, rotor included [kg m² or kg]."""
    inertia = float(mass_matrix_with_rotors(robot, q)[joint, joint])
    if not inertia > 0.0:
        raise InputError(f"joint '{robot.joint_names[joint]}' moves no inertia in the model; it cannot be tuned by it")
    return inertia


def _refuse_unknown_rotors(robot: Robot, kind: LawKind, joints: Sequence[int]) -> None:
    """Refuse laws whose search begins with a share of what a joint's inertia bears, where that is not known.

    By the links alone the first K_i may be far beyond what a heavy rotor bears, and a K_p without a derivative has
    nothing that calms it.

    Raises:
        InputError: A joint's rotor is unknown.
    """
    unknown = [robot.joint_names[joint] for joint in joints if not robot.rotor_inertia_known[joint]]
    if unknown and kind not in FROM_LOW_GAINS:
        raise InputError(
            f"the search for the gains of '{kind}' starts from the inertia that a joint moves, and the model does not "
            f"know the rotor of {listed(unknown)}. State it (--rotor-inertia, cp.load(..., rotor_inertia=)), or "
            "measure it first (tasks.measure_inertias)"
        )


def _share(progress: ShareDone | None, done: int, total: int) -> Callable[[], None] | None:
    """Return what tells the progress of one joint: probes approach an end that is not known before."""
    if progress is None:
        return None
    report = progress
    made = 0

    def tell() -> None:
        nonlocal made
        made += 1
        report((done + made / (made + 8.0)) / total)

    return tell
