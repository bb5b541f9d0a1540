"""Other inner laws than the integral: notch, double integral, the rotor's momentum, beside friction feedforward.

    python studies/inner_laws.py                     # some minutes; prints rows, writes JSON and the docs' table
    python studies/inner_laws.py --plants stiff 0

Each keeps the outer loop of base sensor control, knows only what tuning met, and has its k_int tuned again by the same
rule. Plants are the PUMA's presets and joints of counterpoise/lab/papers/base_sensor_map.py, seeds for developing.
A first-order disturbance observer is not among them: x = Q (x + τ_des − τ_est) with Q = 1 / (T s + 1) is the integral
with k_int = 1 / T. One that knows the rotor's momentum, x = Q (x + τ_des − τ_est − J_m q̈), is that integral and a
velocity feedback −k_int J_m dq, and is tried as such.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from docs_page import put, write_result

from counterpoise.control import PD, IntegralCompensator, Law, PlateTorque, Reference, TorqueLoop, Triangle
from counterpoise.lab import RULE, MakeJoint, TunedJoint, follow, puma_joint_1, random_joint, rms, tuned_joint
from counterpoise.recording import Sample
from counterpoise.tasks import JointTuner, LawGains, Prober, Rig, learned_friction

Array = npt.NDArray[np.float64]
HERE = Path(__file__).parent
DOCS = HERE.parent / "docs" / "base-sensor-map.md"
PLANTS = ("stiff", "50Hz", "20Hz", "0", "1", "2", "3")
NOISE = 9_000


class NotchedIntegral(IntegralCompensator):
    """The integral behind a notch at a frequency [Hz]: zeros damped by 0.1, poles by 0.7."""

    def __init__(self, k_int: Array, frequency: float, dt: float, integral_limit: Array) -> None:
        """Make it."""
        super().__init__(k_int, integral_limit=integral_limit, dt=dt)
        w = math.tan(math.pi * min(frequency * dt, 0.45))
        norm = 1.0 / (1.0 + 1.4 * w + w * w)
        self._b = np.array([1.0 + 0.2 * w + w * w, 2.0 * (w * w - 1.0), 1.0 - 0.2 * w + w * w]) * norm
        self._a = np.array([2.0 * (w * w - 1.0), 1.0 - 1.4 * w + w * w]) * norm
        self._first, self._second = np.zeros(len(k_int)), np.zeros(len(k_int))

    def act(self, error: Array) -> Array:
        """Return the correction of the filtered error."""
        out = self._b[0] * error + self._first
        self._first = self._b[1] * error - self._a[0] * out + self._second
        self._second = self._b[2] * error - self._a[1] * out
        return super().act(out)


class DoubleIntegral(IntegralCompensator):
    """k_int ∫e + (k_int / 3)² ∬e: a ramp of friction leaves no error in the end."""

    def __init__(self, k_int: Array, dt: float, integral_limit: Array) -> None:
        """Make it."""
        super().__init__(k_int, integral_limit=integral_limit, dt=dt)
        self._more, self._sum = (k_int / 3.0) ** 2 / np.maximum(k_int, 1e-9) * dt, np.zeros(len(k_int))

    def act(self, error: Array) -> Array:
        """Return the correction of the error and of its sum."""
        self._sum = self._sum + self._more * error
        return super().act(error + self._sum)


class RotorMomentum:
    """τ = −k_int J_m (dq − dq_d): what a momentum observer of the rotor adds to the integral."""

    adds_gravity = False
    uses_wrench = False

    def __init__(self, gain: Array, reference: Reference) -> None:
        """Make it with k_int J_m [N m s/rad], shape (n,)."""
        self._gain, self._reference, self._begin = gain, reference, math.nan

    def reset(self, sample: Sample) -> None:
        """Begin with the next sample."""
        self._begin = math.nan

    def torque(self, sample: Sample, time: float) -> Array:
        """Return the torque [N m], shape (n,)."""
        self._begin = time if math.isnan(self._begin) else self._begin
        return -self._gain * (sample.dq - self._reference.at(time - self._begin).dq)


class CandidateGains(LawGains):
    """Gains whose law has another compensator."""

    __slots__ = ("candidate", "frequency")

    def with_joint(self, joint: int, **gains: float) -> CandidateGains:
        """Return gains that differ on one joint."""
        return candidate(super().with_joint(joint, **gains), self.candidate, self.frequency)

    def laws(self, rig: Rig, reference: Any = None, *, sensor: Any = None, **_: Any) -> tuple[Law, ...]:
        """Return the law."""
        plant, robot = rig.plant, rig.robot
        shared: dict[str, Any] = {"dt": plant.dt, "integral_limit": plant.effort_limit}
        compensator: IntegralCompensator = DoubleIntegral(self.k_int, **shared)
        if self.candidate == "notch":
            compensator = NotchedIntegral(self.k_int, self.frequency, **shared)
        elif self.candidate == "momentum":
            compensator = IntegralCompensator(self.k_int, **shared)
        outer = PD(self.kp, self.kd, reference)
        loop = TorqueLoop(outer, PlateTorque(sensor), compensator, dt=plant.dt, gravity=robot)
        if self.candidate != "momentum":
            return (loop,)
        return (loop, RotorMomentum(self.k_int * robot.rotor_inertia, outer.reference))


def candidate(gains: LawGains, name: str, frequency: float) -> CandidateGains:
    """Return gains as those of a candidate."""
    made = CandidateGains(gains.kind, gains.joint_names, gains.kp, gains.kd, gains.ki, gains.k_int)
    object.__setattr__(made, "candidate", name)
    object.__setattr__(made, "frequency", frequency)
    return made


def retuned(joint: TunedJoint, name: str, frequency: float) -> LawGains:
    """Return the candidate's gains: k_int found again by the rule."""
    rig = joint.rig()
    with rig.plant:
        q = rig.plant.read().q.copy()
    tuner = JointTuner(Prober(joint.rig, 0, RULE), rig, 0, q, RULE)
    return tuner.tune(candidate(joint.bsc.gains, name, frequency), joint.pid.gains)


def error(joint: TunedJoint, gains: LawGains, ahead: Any = None) -> float:
    """Return the rms error of the task of Fig. 8 [deg]."""
    used = gains if ahead is None else gains.with_friction(0, ahead)
    made = follow(joint.rig(NOISE), used, Triangle([math.radians(0.1)], 10.0), 12.5)
    return math.degrees(rms(made.after(2.5).error()))


def one(name: str) -> dict[str, Any]:
    """Judge the candidates on one plant."""
    make: MakeJoint = random_joint(int(name)).plant if name.isdigit() else puma_joint_1(name)
    joint = tuned_joint(make, RULE)
    met = joint.bsc.joints[0].structural_frequency or joint.pid.joints[0].structural_frequency
    learned = learned_friction(joint.rig, joint.bsc.gains).law
    row: dict[str, Any] = {"plant": name, "frequency": met, "k_int": float(joint.bsc.gains.k_int[0])}
    row["integral"] = error(joint, joint.bsc.gains)
    row["ahead"] = error(joint, joint.bsc.gains, learned)
    if met is not None:
        gains = retuned(joint, "notch", met)
        row |= {"notch": error(joint, gains), "notch k_int": float(gains.k_int[0])}
    for which in ("double", "momentum"):
        gains = retuned(joint, which, 0.0)
        row |= {which: error(joint, gains), f"{which} k_int": float(gains.k_int[0])}
    return row


def main() -> None:
    """Judge the candidates on every plant, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plants", nargs="+", default=list(PLANTS), help="variants of the PUMA, or seeds of joints")
    parser.add_argument("--out", type=Path, default=HERE / "inner_laws.json", help="file to write")
    arguments = parser.parse_args()
    rows = []
    for name in arguments.plants:
        rows.append(one(name))
        print(rows[-1], file=sys.stderr, flush=True)
        write_result(arguments.out, {"seed": NOISE, "rows": rows})
    if tuple(arguments.plants) == PLANTS:
        put(DOCS, "inner laws", table(rows))


def table(rows: list[dict[str, Any]]) -> list[str]:
    """Return the docs' table: rms errors [0.001°], k_int in brackets."""
    names = {
        "integral": "k_int",
        "ahead": "",
        "notch": "notch k_int",
        "double": "double k_int",
        "momentum": "momentum k_int",
    }
    titles = ("integral", "friction feedforward", "notch", "double integral", "momentum")
    lines = [f"| joint | swings at | {' | '.join(titles)} |", "|---|--:|--:|--:|--:|--:|--:|"]
    for row in rows:
        cells = []
        for name, gain in names.items():
            told = f"{1e3 * row[name]:.2f}" if name in row else "–"
            cells.append(f"{told} ({row[gain]:.0f})" if gain in row else told)
        met = "–" if row["frequency"] is None else f"{row['frequency']:.0f} Hz"
        plant = f"seed {row['plant']}" if row["plant"].isdigit() else f"PUMA, {row['plant']}"
        lines.append(f"| {plant} | {met} | {' | '.join(cells)} |")
    return lines


if __name__ == "__main__":
    main()
