"""Loads that nobody told of on a floating arm: how far they move it, and how often a hand is taken for one.

    python studies/float_loads.py loads --arm wam7 --called now        # some minutes an arm
    PYTHONPATH=<checkout of 0.1.0>/src python studies/float_loads.py loads --arm wam7 --called 0.1.0
    python studies/float_loads.py hands --arm wam7                     # 30 minutes of hand guiding, simulated
    python studies/float_loads.py hands --arm wam7 --no-leads          # ... without slow even leads
    python studies/float_loads.py tables                               # writes the tables of docs/float.md

**Loads.** The simulated presets float at share 0.7 at two poses drawn about their own, and 0.8 s later a load of 0.2
to 2 kg is fixed to a link's origin. What counts is the largest way of any joint from there, until half a second after
the watch first held or stopped the arm, or for 5 s if it did not. The check is not made: it would have refused some.

**Hands.** A plain MuJoCo arm that shares no code with ``counterpoise.plants`` (``float_plant.py``) is led by a random
hand (``float_hand.py``), with the right model and drives that are up to 1.5 % off. Every hold is a false one. Motion
that is too fast is counted apart and goes on: the watch of 0.1.0 has it, too.

Development used the arms' own poses and hands of seeds up to 305; the tables are from poses of seeds 101 and 102 and
hands from seed 400 on, run once.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from docs_page import put
from float_hand import Grip, RandomHand
from float_plant import PlainArm

import counterpoise as cp
from counterpoise.control import ControlLoop, SafetyFilter
from counterpoise.dynamics import CoulombViscous
from counterpoise.foundation import Array
from counterpoise.plants import AttachPayload, SimulatedArm, preset
from counterpoise.recording import Sample
from counterpoise.tasks import FloatLaw, FloatSettings

ARMS = ("wam7", "puma550", "dualarm19", "titan2")
FRICTION = {
    "wam7": (0.91, 1.24, 0.75, 0.64, 0.21, 0.22, 0.04),
    "puma550": (5.0, 5.2, 2.3, 1.1, 0.94, 0.93),
    "dualarm19": (3.1, 8.8, 6.6, *(2.05, 2.1, 1.29, 1.38, 0.67, 0.68, 0.34, 0.28) * 2),
    "titan2": (78.0, 156.0, 78.0, 36.0, 24.0, 10.0),
}
"""Dry friction of the joints, about what the check finds [N m]."""
VISCOUS = {"wam7": 0.4, "puma550": 1.5, "dualarm19": 0.5, "titan2": 0.6}
"""Viscous friction of the plain arm at 1 rad/s, over the dry one; the law knows nothing of it."""
LOCKED = {"titan2": ("joint4", "joint5", "joint6")}
LINKS = {
    "wam7": ("link2", "link3", "link4", "link5", "link6", "link7"),
    "puma550": ("link2", "link3", "link4", "link5", "link6"),
    "dualarm19": ("chest", "right_link4", "right_link6", "right_hand"),
    "titan2": ("link2", "link3", "link4", "jaw"),
}
MASSES = (0.2, 0.5, 1.0, 2.0)
SHARE = 0.7
COMES, WATCHED, AFTER = 0.8, 5.0, 0.5
"""When the load comes, how long it is watched at most, and for how long after the watch first acts [s]."""
POSES, AROUND = (101, 102), 0.3
"""Seeds of the poses, and how far they are from the preset's own [rad]."""
HANDS = 400
"""First seed of the hands."""
GUIDED_DT = 5e-3
GUIDED_SPEED = {"wam7": 0.22, "puma550": 0.18, "dualarm19": 0.22, "titan2": 0.2}
TARGET = Path(__file__).with_suffix(".json")
DOCS = Path(__file__).parents[1] / "docs" / "float.md"


def pose_of(name: str, seed: int) -> Array:
    """Return a pose drawn about the preset's own, where its drives' errors do not move the arm by themselves."""
    robot, own = preset(name).robot(), np.asarray(preset(name).config.position, dtype=np.float64)
    away = np.random.default_rng(seed).uniform(-AROUND, AROUND, robot.n)
    return np.asarray(np.clip(own + away, robot.lower + 0.15, robot.upper - 0.15))


def fallen(name: str, link: str, mass: float, pose: Array, seed: int) -> dict[str, Any]:
    """Fix a load to a floating arm and return how far it moved, and what the watch said."""
    chosen = preset(name)
    robot = chosen.robot()
    plant = SimulatedArm(robot, chosen.config.replaced(seed=seed, position=pose))
    safety = SafetyFilter(robot, plant=plant)
    law = FloatLaw(
        robot,
        FloatSettings(friction=CoulombViscous(FRICTION[name]), friction_fraction=SHARE, locked=LOCKED.get(name, ())),
        limits=safety.limits,
        dt=plant.dt,
    )
    begun: list[Array] = []
    acted: list[float] = []
    quiet, ended = [0.0], [0.0]

    def until(sample: Sample) -> bool:
        if not begun and plant.time >= COMES:
            plant.attach_payload(AttachPayload(0.0, mass, (0.0, 0.0, 0.0), link))
            begun.append(sample.q.copy())
        if not acted and (law.must_stop(sample) or law.holding):
            acted.append(plant.time)
        quiet[0] = 0.0 if np.any(np.abs(sample.dq) > 5e-3) else quiet[0] + plant.dt
        ended[0] = plant.time
        over = bool(acted) and plant.time >= acted[0] + AFTER
        return law.must_stop(sample) or over or (bool(begun) and not acted and quiet[0] > 1.5)

    fault = ""
    with plant:
        loop = ControlLoop(plant, law, robot, safety=safety)
        try:
            loop.run(COMES + WATCHED, until=until, log=True)
        except cp.SafetyError as error:
            fault = type(error).__name__
    log = loop.last_report.log if loop.last_report is not None else None
    if log is None or not begun:
        raise RuntimeError("the run left no log")
    elapsed = log.time - log.time[0]
    end = acted[0] + AFTER if acted else ended[0]  # then it is let down
    seen = (elapsed >= COMES - 1e-9) & (elapsed <= end)
    way = np.abs(log.q[seen] - begun[0]).max(axis=0)
    joint = int(np.argmax(way))
    return {
        "link": link,
        "mass": mass,
        "seed": seed,
        "way": float(way[joint]),
        "joint": robot.joint_names[joint],
        "end": law.stop_kind or ("held" if acted else fault or "silent"),
        "after": round(acted[0] - COMES, 3) if acted else None,
    }


def guided(name: str, seed: int, seconds: float, *, leads: bool = True) -> dict[str, Any]:
    """Lead a plain arm by a random hand; return the holds, all of them false."""
    grips = {
        "wam7": (Grip("toolplate", 0.35, turning=0.05), Grip("link4", 0.2), Grip("link7", 0.35, turning=0.05)),
        "puma550": (Grip("link6", 0.3, 1200.0, 200.0), Grip("link4", 0.25, 1200.0, 200.0)),
        "dualarm19": (Grip("right_link7", 0.3, turning=0.1), Grip("left_link7", 0.3, turning=0.1)),
        "titan2": (Grip("link4", 0.4, 8000.0, 1500.0), Grip("link3", 0.3, 8000.0, 1500.0)),
    }[name]
    robot, random = preset(name).robot(), np.random.default_rng(1000 + seed)
    dry = np.array(FRICTION[name])
    arm = PlainArm(
        robot,
        np.asarray(preset(name).config.position, dtype=np.float64),
        GUIDED_DT,
        dry=dry * random.uniform(0.9, 1.1, robot.n),
        viscous=VISCOUS[name] * dry,
        gain_error=random.uniform(-0.015, 0.015, robot.n),
    )
    law = FloatLaw(
        robot,
        FloatSettings(friction=CoulombViscous(dry), friction_fraction=SHARE, locked=LOCKED.get(name, ())),
        dt=GUIDED_DT,
    )
    hand = RandomHand(
        grips,
        lambda link, q: robot.forward_kinematics(q, at=link),
        arm.q,
        seed,
        speed=GUIDED_SPEED[name],
        leads=leads,
    )
    zero = np.zeros(robot.n)
    law.reset(Sample(0.0, arm.q, arm.dq, zero))
    holds, too_fast, ticks = [], 0, round(seconds / GUIDED_DT)
    for _ in range(ticks):
        sample = Sample(arm.time, arm.q, arm.dq, zero)
        link, wrench = hand.wrench(arm.time, arm.q)
        if np.any(wrench):
            arm.push(link, wrench, arm.q)
        tau = law.torque(sample, arm.time)
        law.must_stop(sample)
        for kind, message in law.news():
            if kind == "drift":
                holds.append({"time": round(arm.time, 2), "stroke": hand.stroke, "message": message})
            too_fast += kind == "too_fast"
        if law.stop_kind:  # the next ten minutes begin
            law.reset(sample)
        arm.tick(tau)
    return {"seed": seed, "seconds": seconds, "holds": holds, "too_fast": too_fast, "strokes": hand.strokes}


LOAD_HEAD = (
    "| arm | link | 0.2 kg: 0.1.0 | now | 0.5 kg: 0.1.0 | now | 1 kg: 0.1.0 | now | 2 kg: 0.1.0 | now |",
    "|---|---|---|---|---|---|---|---|---|---|",
)
HAND_HEAD = (
    "| arm | slow even leads | hand guiding | strokes | false holds | in 10 min | too fast |",
    "|---|---|---|---|---|---|---|",
)


def load_rows(known: dict[str, Any]) -> list[str]:
    """Return the lines of the table of loads: per link and mass the largest way over the poses, 0.1.0 and now."""
    rows = []
    for name in ARMS:
        for link in LINKS[name]:
            cells = []
            for mass in MASSES:
                for version in ("0.1.0", "now"):
                    runs = known["loads"].get(version, {}).get(name, [])
                    ways = [run for run in runs if run["link"] == link and run["mass"] == mass]
                    worst = max(ways, key=lambda run: run["way"], default=None)
                    cells.append("–" if worst is None else f"{worst['way']:.2f} {worst['end']}")
            if any(cell != "–" for cell in cells):
                rows.append(f"| `{name}` | {link} | {' | '.join(cells)} |")
    return rows


def hand_rows(known: dict[str, Any]) -> list[str]:
    """Return the lines of the table of hands."""
    rows = []
    for part, leads in (("hands", "among them"), ("hands without leads", "none")):
        for name in ARMS:
            runs = known.get(part, {}).get(name, [])
            if not runs:
                continue
            minutes = sum(run["seconds"] for run in runs) / 60.0
            strokes = sum(sum(run["strokes"].values()) for run in runs)
            holds, fast = (sum(len(run["holds"]) for run in runs), sum(run["too_fast"] for run in runs))
            rate = 10.0 * holds / minutes
            rows.append(f"| `{name}` | {leads} | {minutes:.0f} min | {strokes} | {holds} | {rate:.1f} | {fast} |")
    return rows


def main() -> None:
    """Run one part, or write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("loads", "hands", "tables"))
    parser.add_argument("--arm", choices=ARMS, default="wam7")
    parser.add_argument("--called", default="now", help="name of the version that runs (default now)")
    parser.add_argument("--seconds", type=float, default=1800.0, help="of hand guiding (default 1800)")
    parser.add_argument("--no-leads", action="store_true", help="a hand without slow even leads")
    arguments = parser.parse_args()
    name, began = arguments.arm, time.perf_counter()
    if arguments.part == "tables":
        known = _known()
        put(DOCS, "loads", [*LOAD_HEAD, *load_rows(known)])
        put(DOCS, "hands", [*HAND_HEAD, *hand_rows(known)])
        return
    if arguments.part == "hands":
        part = "hands without leads" if arguments.no_leads else "hands"
        for seed in range(HANDS, HANDS + max(1, round(arguments.seconds / 100.0))):
            if any(run["seed"] == seed for run in _known().get(part, {}).get(name, [])):
                continue
            run = guided(name, seed, min(100.0, arguments.seconds), leads=not arguments.no_leads)
            print(name, seed, len(run["holds"]), f"{time.perf_counter() - began:.0f} s", flush=True)
            known = _known()
            known.setdefault(part, {}).setdefault(name, []).append(run)
            _write(known)
        return
    runs = []
    for seed in POSES:
        pose = pose_of(name, seed)
        for link in LINKS[name]:
            for mass in MASSES:
                runs.append(fallen(name, link, mass, pose, seed))
                print(name, runs[-1], f"{time.perf_counter() - began:.0f} s", flush=True)
    known = _known()
    known["loads"].setdefault(arguments.called, {})[name] = runs
    _write(known)


def _known() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(TARGET.read_text()) if TARGET.exists() else {"loads": {}, "hands": {}}
    return found


def _write(known: dict[str, Any]) -> None:
    TARGET.write_text(json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    main()
