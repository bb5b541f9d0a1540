"""Droop of position servos with and without goal offsets, stiffness known and identified, on simulated arms.

    python studies/position_servos.py        # some minutes; writes the JSON beside it and the docs' table
    python studies/position_servos.py --arms wam7 --poses 3

Each arm's drives get a PD position loop inside (stiffness by default_gains, no gravity, no integral) and nothing but
goals from outside: "ideal" without friction, the presets with theirs. A recording of ten poses, each come to from both
sides, gives K_p; other poses are then moved to with plain goals, with offsets by the true K_p and by the identified
one. The droop is the tip's distance from where it should be, by the links' true positions, two seconds after the goal
came to rest.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from docs_page import put, write_result

from counterpoise.control import default_gains, minimum_jerk
from counterpoise.dynamics import joint_inertias
from counterpoise.errors import InputError
from counterpoise.foundation import Array
from counterpoise.plants import ArmConfig, SimulatedArm, preset
from counterpoise.recording import Declared, Log, LogBuilder
from counterpoise.tasks import ServoGoal, identify_stiffness

SEED = 9
ARMS = ("ideal puma550", "puma550", "wam7")
RANGES = {
    "puma550": ((-0.6, 0.6), (-0.2, 1.2), (-2.9, -1.6), (-0.8, 0.8), (-0.9, 0.9), (-0.5, 0.5)),
    "wam7": ((-0.6, 0.6), (-1.2, 1.2), (-0.8, 0.8), (0.8, 2.4), (-0.8, 0.8), (-0.8, 0.8), (-0.5, 0.5)),
}
RECORDED = 10
SPEED, HELD, ASIDE = 0.5, 2.0, 0.08
"""Mean speed of the goals [rad/s], time at each pose [s], and from how far beside it a pose is come to [rad]."""
HERE = Path(__file__).resolve().parent


class ServoArm:
    """A simulated arm behind position servos: τ = K_p (goal − q) − K_d dq inside, goals outside."""

    def __init__(self, name: str) -> None:
        """Stand the arm at its preset's pose."""
        made = preset(name.rsplit(maxsplit=1)[-1])
        self.robot = made.robot()
        config = made.config.replaced(seed=SEED, plate=None)
        if name.startswith("ideal"):
            config = ArmConfig(position=config.position, timing=config.timing, velocity_limit=config.velocity_limit)
        self.plant = SimulatedArm(self.robot, config)
        start = np.asarray(config.position)
        gains = default_gains(self.robot, start, self.plant.effort_limit, self.plant.dt)
        self.kp, self._kd = np.asarray(gains.kp), np.asarray(gains.kd)
        if name.startswith("ideal"):  # no gear asks for less, and no friction damps
            self._kd = 1.4 * np.sqrt(self.kp * joint_inertias(self.robot, start))
        self.goal = start.copy()
        self.log: LogBuilder | None = None

    def move(self, goal: Array, held: float = HELD) -> None:
        """Move the goal with minimum jerk and hold it."""
        start = self.goal
        time = max(float(np.abs(goal - start).max()) / SPEED, self.plant.dt)
        for tick in range(round((time + held) / self.plant.dt)):
            part = min(tick * self.plant.dt / time, 1.0)
            self.goal = start + minimum_jerk(part)[0] * (goal - start)
            sample = self.plant.read()
            if self.log is not None:
                self.log.append(sample, self.goal)
            self.plant.write(self.kp * (self.goal - sample.q) - self._kd * sample.dq)

    @property
    def tip(self) -> Array:
        """Where the tip really is [m], shape (3,)."""
        place: Array = self.robot.forward_kinematics(self.plant.truth().q)[:3, 3]
        return place


def recorded(arm: ServoArm, poses: Array) -> Log:
    """Return a recording of poses, each come to from both sides."""
    declared = Declared(sent_kind="position", position_side="link", effort_kind="torque", effort_side="link")
    arm.log = LogBuilder(arm.robot.joint_names, declared=declared)
    for pose in poses:
        for side in (-1.0, 1.0):
            arm.move(pose + side * ASIDE, 0.2)
            arm.move(pose)
    log, arm.log = arm.log.finish(), None
    return log


def drooped(name: str, count: int) -> dict[str, Any]:
    """Return droops of an arm at random poses [mm], and the stiffness found."""
    arm = ServoArm(name)
    random = np.random.default_rng([SEED, 1])
    low, high = np.array(RANGES[name.rsplit(maxsplit=1)[-1]]).T
    with arm.plant:
        log = recorded(arm, random.uniform(low, high, (RECORDED, arm.robot.n)))
        given: dict[str, float] = {}
        try:
            found = identify_stiffness(arm.robot, log)
        except InputError as error:  # joints whose friction drowns their load, as wrists do: their own gains are known
            told = str(error)
            joints = enumerate(arm.robot.joint_names)
            given = {joint: float(arm.kp[at]) for at, joint in joints if f"joint '{joint}'" in told}
            found = identify_stiffness(arm.robot, log, known=given)
        ways: dict[str, list[float]] = {"plain": [], "known": [], "identified": []}
        goals = {"known": ServoGoal(arm.robot, arm.kp), "identified": ServoGoal(arm.robot, found)}
        for pose in random.uniform(low, high, (count, arm.robot.n)):
            wanted = arm.robot.forward_kinematics(pose)[:3, 3]
            for way, droops in ways.items():
                arm.move(pose + ASIDE, 0.2)
                arm.move(goals[way].goal(pose) if way in goals else pose)
                droops.append(1e3 * float(np.linalg.norm(arm.tip - wanted)))
    loaded = np.isfinite(found.kp) & (found.kp_std > 0.0)
    return {
        "arm": name,
        "poses": count,
        **{f"{way}_mm": float(np.sqrt(np.mean(np.square(droops)))) for way, droops in ways.items()},
        "kp_error": float(np.abs(found.kp[loaded] / arm.kp[loaded] - 1.0).max()),
        "found": [joint for joint, known in zip(arm.robot.joint_names, loaded, strict=True) if known],
        "given": sorted(given),
    }


def lines(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the docs' table."""
    head = [
        "| arm | droop, plain goals | K_p known | K_p identified | joints found, worst error of K_p | joints refused |",
        "|---|---|---|---|---|---|",
    ]
    return head + [
        f"| {row['arm']} | {row['plain_mm']:.1f} mm | {_smaller(row, 'known')} | {_smaller(row, 'identified')} "
        f"| {len(row['found'])}, {100 * row['kp_error']:.1f} % | {', '.join(row['given']) or 'none'} |"
        for row in rows
    ]


def _smaller(row: dict[str, Any], way: str) -> str:
    """Return a droop and by how much it is smaller than with plain goals."""
    ratio = row["plain_mm"] / row[f"{way}_mm"]
    return f"{row[f'{way}_mm']:.2f} mm ({f'{ratio:.1f}' if ratio < 1000.0 else '> 1000'}×)"


def main() -> None:
    """Run, write, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=ARMS)
    parser.add_argument("--poses", type=int, default=6)
    chosen = parser.parse_args()
    rows = []
    for arm in chosen.arms:
        rows.append(drooped(arm, chosen.poses))
        print(json.dumps(rows[-1]), flush=True)
    if tuple(chosen.arms) == ARMS and chosen.poses == 6:
        write_result(HERE / "position_servos.json", {"seed": SEED, "rows": rows})
        put(HERE.parent / "docs" / "position-servos.md", "table of the study", lines(rows))
    print("\n".join(lines(rows)))


if __name__ == "__main__":
    main()
