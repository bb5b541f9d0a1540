"""Floating: how hard a hand must push, how far the arm drifts when let go, what the check lets pass.

    python studies/floating.py             # some minutes; writes the JSON and the tables of docs/float.md
    python studies/floating.py --arms wam7

Arms: the presets ``wam7`` and ``puma550``, and a gantry of three linear joints with dry friction of 2 % of its effort
limits. A hand is a spring and a damper that leads the tip 50 mm along a straight line in 1 s, with minimum jerk, stays
for 0.5 s and lets go over 0.3 s. The peak of its force is what the user feels. Drift is how far the tip goes in the 5 s
after that. Or it leads the arm down and lets go half-way, at full speed: a good arm coasts a little and stays.

The check is the product's. What it refuses is floated all the same, by the law itself and without the law's own watch,
to show what would have happened.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from docs_page import commit, put

import counterpoise as cp
from counterpoise.control import ControlLoop, SafetyFilter, minimum_jerk
from counterpoise.dynamics import CoulombViscous, LuGre
from counterpoise.foundation import Array
from counterpoise.plants import (
    ArmConfig,
    Drive,
    EffortSensor,
    Encoder,
    Push,
    SimulatedArm,
    Timing,
    TorqueSource,
    preset,
)
from counterpoise.recording import Sample
from counterpoise.tasks import CheckResult, FloatCheck, FloatLaw, FloatSettings, Rig, WatchSettings

ARMS = ("wam7", "puma550", "gantry")
SHARES = (0.0, 0.5, 0.7, 0.8)
CHECKED_FRACTION = 0.7
LOW = 0.03
"""How much too light the wrong model is."""
DISTANCE, MOVE, STAY, LET_GO, LEFT = 0.05, 1.0, 0.5, 0.3, 5.0
"""The hand's way [m], its time, the time that it stays there, the time to let go, and the time thereafter [s]."""
HAND_STIFFNESS, HAND_DAMPING = 600.0, 30.0
"""The hand [N/m, N s/m]."""
BEGIN = 0.8
"""When the hand begins [s]: the law has faded in."""
UNWATCHED = WatchSettings(speed_rotary=1e3, speed_linear=1e3, drift_time=1e5)
GRIPS = {"wam7": "link4", "puma550": "link4", "gantry": "link3"}
DOCS = Path(__file__).parents[1] / "docs" / "float.md"


@dataclass(frozen=True)
class Arm:
    """An arm of the study.

    Attributes:
        name: Its name.
        make: Makes it, for a seed.
        robot: The model that it is.
        direction: Where the hand leads the tip, in the base frame.
        grip: Link by which it is led in motion: beyond the joint that carries most, so that this joint slides.
    """

    name: str
    make: Callable[[int], SimulatedArm]
    robot: cp.Robot
    direction: tuple[float, float, float]
    grip: str


def arm_of(name: str) -> Arm:
    """Return an arm by its name."""
    if name != "gantry":
        chosen = preset(name)
        return Arm(name, lambda seed: chosen.arm(seed=seed), chosen.robot(), (0.0, 0.6, 0.8), GRIPS[name])
    robot = cp.load("gantry")
    static = 0.02 * robot.effort_limit
    config = ArmConfig(
        name="gantry-study",
        timing=Timing(dt=2e-3, physics_step=2e-4, delay=1),
        drive=Drive(
            friction=LuGre(
                coulomb=0.85 * static,
                static=static,
                stiffness=static / 2e-4,
                damping=0.4 * np.sqrt(static / 2e-4 * robot.rotor_inertia),
                stribeck_velocity=0.01,
                viscous=static,
            ),
            actuator=TorqueSource(lag=1e-3, gain_error=(0.01, -0.01, 0.01)),
        ),
        encoder=Encoder(resolution=5e-6, cutoff=60.0),
        effort=EffortSensor(noise=0.02 * static),
        position=(0.5, 0.4, 0.3),
    )
    return Arm(name, lambda seed: SimulatedArm(robot, config.replaced(seed=seed)), robot, (0.6, 0.0, 0.8), GRIPS[name])


def checked(arm: Arm, seed: int, low: float, fraction: float = CHECKED_FRACTION) -> CheckResult:
    """Check an arm with a model that is too light by ``low``."""
    plant, model = arm.make(seed), _lighter(arm.robot, low)
    with plant:
        result = FloatCheck(Rig(plant, model), FloatSettings(friction_fraction=fraction)).run()
    if result is None:
        raise RuntimeError("the check was broken off")
    return result


class Hand:
    """Leads the tip of a floating arm and lets go; ``watch`` is for ``until``."""

    def __init__(self, plant: SimulatedArm, arm: Arm, in_motion: bool) -> None:
        """Begin with the arm as it stands; ``in_motion``: go down, and let go half-way."""
        self._plant, self._robot, self._link = plant, arm.robot, arm.grip if in_motion else arm.robot.link_names[-1]
        self._way = np.array([1.0, 1.0, -1.0 if in_motion else 1.0]) * arm.direction
        self.time = MOVE / 2.0 if in_motion else MOVE + STAY + LET_GO
        self._tip = arm.robot.link_names[-1]
        self._ticks = 0
        self._start: Array | None = None
        self._last = np.zeros(3)
        self.forces: list[float] = []
        self.tips: list[Array] = []

    def watch(self, sample: Sample) -> bool:
        """Push once more, as the tip is away from where the hand leads it; false, for the run goes on."""
        dt, time = self._plant.dt, self._ticks * self._plant.dt - BEGIN
        tip = self._robot.forward_kinematics(sample.q, at=self._link)[:3, 3]
        self.tips.append(self._robot.forward_kinematics(sample.q, at=self._tip)[:3, 3])
        self._ticks += 1
        if time >= 0.0 and self._start is None:
            self._start = tip
        if self._start is not None and time < self.time:
            part = min(time / MOVE, 1.0)
            done, slope = minimum_jerk(part)
            speed = (tip - self._last) / dt
            force = HAND_STIFFNESS * (self._start + DISTANCE * done * self._way - tip)
            force += HAND_DAMPING * (DISTANCE * slope / MOVE * self._way - speed)
            force *= min(1.0, (MOVE + STAY + LET_GO - time) / LET_GO)
            now = self._plant.time
            self._plant.push(Push(self._link, (*force, 0.0, 0.0, 0.0), now, now + dt))
            self.forces.append(float(np.linalg.norm(force)))
        self._last = tip
        return False


def floated(
    arm: Arm,
    seed: int,
    friction: Array,
    fraction: float,
    low: float,
    *,
    factor: float = 1.0,
    yields: float | None = None,
    in_motion: bool = False,
) -> dict[str, Any]:
    """Lead the arm by hand and let go; the law acts without check and watch.

    Args:
        arm: The arm.
        seed: Of its noise.
        friction: Dry friction that the law believes in [N m or N], shape (n,).
        fraction: Fraction of it that is compensated.
        low: How much too light the model is.
        factor: Factor on the friction, to compensate more than there is although the law refuses to.
        yields: How far the joints yield before they slide [rad or m]; None for the law's own.
        in_motion: Lead the tip down instead of up, and let go at once half-way, at full speed.
    """
    plant, model = arm.make(seed), _lighter(arm.robot, low)
    safety = SafetyFilter(model, plant=plant, velocity_limit=np.inf if factor > 1.0 else None)
    law = FloatLaw(
        model,
        FloatSettings(
            friction=CoulombViscous(factor * friction), friction_fraction=fraction, watch=UNWATCHED, yields=yields
        ),
        limits=safety.limits,
        dt=plant.dt,
    )
    hand = Hand(plant, arm, in_motion)
    fault = ""
    with plant:
        try:
            ControlLoop(plant, law, model, safety=safety).run(BEGIN + hand.time + LEFT, until=hand.watch)
        except cp.SafetyError as error:
            fault = type(error).__name__
    released = round((BEGIN + hand.time) / plant.dt)
    tips = np.array(hand.tips)
    begun = tips[round(BEGIN / plant.dt)]
    after = np.linalg.norm(tips[released:] - tips[min(released, len(tips) - 1)], axis=1)
    return {
        "friction_fraction": fraction * factor,
        "low": low,
        "yields": yields,
        "in_motion": in_motion,
        "peak_force": max(hand.forces),
        "moved": float(np.linalg.norm(tips[min(released, len(tips) - 1)] - begun)),
        "drift": float(after[-1]) if len(after) else None,
        "left_alone": max(len(after) - 1, 0) * plant.dt,
        "fault": fault,
    }


def one(name: str, seeds: int, shares: Sequence[float] = SHARES) -> dict[str, Any]:
    """Return everything about one arm."""
    arm = arm_of(name)
    checks = {f"{low:g}": [_check_data(checked(arm, seed, low)) for seed in range(seeds)] for low in (0.0, LOW)}
    friction = np.zeros(arm.robot.n)
    for joint in checks["0"][0]["joints"]:
        friction[arm.robot.joint_names.index(joint["joint"])] = joint["friction"]
    runs = [floated(arm, 0, friction, share, 0.0) for share in shares]
    if name == "puma550":  # its preset yields by 0.3 mrad
        runs += [floated(arm, 0, friction, share, 0.0, yields=5e-4) for share in shares[1:]]
    for low in (0.0, LOW):
        runs.append(floated(arm, 0, friction, CHECKED_FRACTION, low, in_motion=True))
    runs.append(floated(arm, 0, friction, 1.0, 0.0, factor=1.2, in_motion=True))
    return {"checks": checks, "runs": runs, "friction": friction.tolist()}


def _check_data(result: CheckResult) -> dict[str, Any]:
    return {
        "passed": result.passed,
        "refused": [joint.joint for joint in result.joints if not joint.passed],
        "joints": [joint.as_data() for joint in result.joints],
    }


def _lighter(robot: cp.Robot, share: float) -> cp.Robot:
    """Gravity torques are linear in the masses: all of them too small by a share is gravity too small by it."""
    return robot.mounted(gravity=(1.0 - share) * robot.gravity_world) if share else robot


PUSH_HEAD = ("| arm | fraction c | peak force of the hand | over c = 0 | drift in 5 s |", "|---|---|---|---|---|")
CHECK_HEAD = (
    "| arm | model | let float | refused | joint named | largest (abs. difference + 2 σ) / left |",
    "|---|---|---|---|---|---|",
)
WRONG_HEAD = ("| arm | model, fraction | tip in the 5 s after the hand let go |", "|---|---|---|")


def push_rows(name: str, found: dict[str, Any]) -> list[str]:
    """Return the lines of the table of pushes."""
    right = [run for run in found["runs"] if not run["in_motion"]]
    first = right[0]["peak_force"]
    return [
        f"| `{name}`{_yields(run)} | {run['friction_fraction']:g} | {run['peak_force']:.1f} N | "
        f"{run['peak_force'] / first:.2f} | {1e3 * run['drift']:.2f} mm |"
        for run in right
    ]


def _yields(run: dict[str, Any]) -> str:
    return "" if run["yields"] is None else f", `yields={run['yields']:g}`"


def check_rows(name: str, found: dict[str, Any]) -> list[str]:
    """Return the lines of the table of checks."""
    rows = []
    for low, checks in found["checks"].items():
        passed = sum(check["passed"] for check in checks)
        named = sorted({joint for check in checks for joint in check["refused"]})
        worst = [
            max((abs(joint["difference"]) + 2.0 * joint["std"]) / joint["left"] for joint in check["joints"])
            for check in checks
        ]
        model = "exact" if low == "0" else f"{100 * float(low):g} % low"
        rows.append(
            f"| `{name}` | {model} | {passed} of {len(checks)} | {len(checks) - passed} | {', '.join(named) or '–'} | "
            f"{min(worst):.2f} to {max(worst):.2f} |"
        )
    return rows


def wrong_rows(name: str, found: dict[str, Any]) -> list[str]:
    """Return the lines of the table of what the check is there for."""
    rows = []
    for run in found["runs"]:
        if not run["in_motion"]:
            continue
        model = f"{100 * run['low']:g} % low" if run["low"] else "exact"
        wrong = f"{model}, c = {run['friction_fraction']:g}"
        way = "–" if run["drift"] is None else f"{1e3 * run['drift']:.3g} mm"
        ended = f" in {run['left_alone']:.1f} s, then {run['fault']}" if run["fault"] else ""
        rows.append(f"| `{name}` | {wrong} | {way}{ended} |")
    return rows


def main() -> None:
    """Run everything and write the JSON and the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arms", nargs="+", default=list(ARMS), choices=ARMS)
    parser.add_argument("--seeds", type=int, default=5, help="seeds per check (default 5)")
    arguments = parser.parse_args()
    target = Path(__file__).with_suffix(".json")
    for name in arguments.arms:
        print(name, file=sys.stderr, flush=True)
        found = one(name, arguments.seeds)
        # Arm by arm: an interrupted study keeps what it has.
        known = json.loads(target.read_text())["arms"] if target.exists() else {}
        known |= {name: {"commit": commit(), **found}}
        target.write_text(json.dumps({"seeds": arguments.seeds, "arms": known}, indent=1) + "\n")
        each = [(arm, known[arm]) for arm in ARMS if arm in known]
        put(DOCS, "pushes", [*PUSH_HEAD, *(line for arm in each for line in push_rows(*arm))])
        put(DOCS, "checks", [*CHECK_HEAD, *(line for arm in each for line in check_rows(*arm))])
        put(DOCS, "wrong", [*WRONG_HEAD, *(line for arm in each for line in wrong_rows(*arm))])
        for line in (*push_rows(name, found), *check_rows(name, found), *wrong_rows(name, found)):
            print(line, flush=True)


if __name__ == "__main__":
    main()
