"""A force held along a path on a table: by the model alone, with friction compensation, with a wrist sensor.

    python studies/tip_force.py              # some minutes; writes the JSON beside it and the docs' table
    python studies/tip_force.py --forces 30 --ways ideal wrist
    python studies/tip_force.py --elsewhere  # the wrist sensor on paths that nothing was chosen on

The WAM (preset wam7, ground) presses onto a table (20 kN/m, friction 0.2) and moves 0.53 m along it, at most 0.25 m/s,
by HybridForce. "ideal": no friction, no gears, no ripple; "open": the preset by its model; "friction": 80 % of the
sliding friction compensated too, the law known exactly; "wrist": a sensor of 0.1 N noise, its zero and a 0.4 kg tool
known to 1 %; "both": wrist and friction. Errors are the true normal force's while the path is followed, every tick,
nothing smoothed. Stiffness and rate of the integral were chosen on this path, hence the others.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from docs_page import put, write_result

from counterpoise.control import ControlLoop, FrictionCompensation, HybridForce, Impedance, Law, Straight, WristFeedback
from counterpoise.dynamics import CoulombViscous, Robot
from counterpoise.foundation import Array
from counterpoise.plants import ArmConfig, SimulatedArm, Surface, preset
from counterpoise.recording import Sample
from counterpoise.sensing import WristCalibration, tool_columns

SEED = 9
WAYS = ("ideal", "open", "friction", "wrist", "both")
FORCES = (30.0, 15.0)
STIFFNESS = (400.0,) * 3 + (15.0,) * 3
POSE = (-0.35, 0.5, 0.0, 2.0, 0.0, 0.55, 0.0)
ELSEWHERE = (((0.45, 0.6, 0.0, 1.8, 0.0, 0.7, 0.0), -1.0), ((-0.5, 0.35, 0.2, 2.2, 0.0, 0.5, 0.0), 1.0))
"""Other poses to start from, and to which side along y."""
TOOL, TOOL_COM, ZERO = 0.4, np.array([0.0, 0.01, 0.05]), np.array([3.0, -5.0, 8.0, 0.2, -0.1, 0.3])
SHARE = 0.8
HERE = Path(__file__).resolve().parent


def wrist(plant: SimulatedArm, robot: Robot, empty: Robot) -> WristFeedback:
    """Return the simulated sensor between arm and tool; what is known of the tool is 1 % off."""
    zero, known = np.zeros(3), 0.99 * TOOL
    calibration = WristCalibration(
        robot=empty,
        link="toolplate",
        T_link_sensor=np.eye(4),
        reads="on_robot",
        mass=known,
        com=TOOL_COM,
        bias=ZERO,
        mass_std=0.01 * TOOL,
        com_std=zero,
        bias_std=np.zeros(6),
        rotation_std=zero,
        noise=np.zeros(6),
        determined={},
        sentences=(),
    )
    random = np.random.default_rng(SEED)

    def read() -> Array:
        true, touch = plant.truth(), plant.touches()[0]
        T = robot.forward_kinematics(true.q)
        moment = np.cross(touch.point - T[:3, 3], touch.force)
        contact = np.concatenate([T[:3, :3].T @ touch.force, T[:3, :3].T @ moment])
        columns = tool_columns(robot, "toolplate", np.eye(4), true.q[None], true.dq[None], true.ddq[None])[0]
        noise = random.normal(size=6) * [0.1, 0.1, 0.1, 0.005, 0.005, 0.005]
        return ZERO + contact + columns @ (TOOL * np.array([1.0, *TOOL_COM])) + noise

    return WristFeedback(calibration, read)


def held(
    way: str,
    force: float,
    length: float = 0.53,
    speed: float = 0.25,
    pose: Sequence[float] = POSE,
    side: float = 1.0,
) -> dict[str, Any]:
    """Return how well a force was held over one path."""
    made = preset("wam7").config
    empty = preset("wam7").robot()
    robot = empty.with_payload(TOOL, com=TOOL_COM.tolist())
    start = robot.forward_kinematics(np.array(pose))[:3, 3]
    table = Surface(origin=start - [0.0, 0.0, 0.005], stiffness=2e4, damping=200.0, friction=0.2)
    config = made.replaced(position=pose, events=(table,), seed=SEED)
    if way == "ideal":
        config = ArmConfig(position=pose, events=(table,), timing=made.timing, velocity_limit=made.velocity_limit)
    plant = SimulatedArm(robot, config)
    path = Straight([(0.0, side * length, 0.0)], speed=speed)
    law = HybridForce(
        Impedance(robot, STIFFNESS, path=path),
        force,
        (0.0, 0.0, -1.0),
        feedback=wrist(plant, robot, empty) if way in ("wrist", "both") else None,
        approach_speed=0.05,
    )
    laws: list[Law] = [law]
    friction = made.drive.friction
    if way in ("friction", "both") and friction is not None:
        laws.append(FrictionCompensation(CoulombViscous(friction.coulomb, friction.viscous), np.full(robot.n, SHARE)))
    rows: list[tuple[float, ...]] = []

    def watch(now: Sample) -> bool:
        if law.path_time > 0.0:
            rows.append((plant.touches()[0].force[2], *robot.forward_kinematics(plant.truth().q)[:3, 3]))
        return law.path_time > path.duration

    with plant:
        ControlLoop(plant, laws, robot).run(6.0 + 2.0 * length / speed, until=watch)
    table_rows = np.array(rows)
    error = table_rows[:, 0] / force - 1.0
    return {
        "way": way,
        "force_N": force,
        "speed": speed,
        "path_m": float(np.linalg.norm(table_rows[-1, 1:] - table_rows[0, 1:])),
        "mean": float(error.mean()),
        "rms": float(np.sqrt(np.mean(error**2))),
        "max": float(np.abs(error).max()),
        "aside_mm": 1e3 * float(np.abs(table_rows[:, 1] - start[0]).max()),
    }


def lines(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the docs' table."""
    told = {
        "ideal": "no joint friction, model alone",
        "open": "preset, model alone",
        "friction": "preset, 80 % of the friction compensated",
        "wrist": "preset, wrist sensor",
        "both": "preset, wrist sensor and 80 % of the friction",
    }
    head = [
        "| arm and law | force | path | mean error | rms | largest | off the line |",
        "|---|---|---|---|---|---|---|",
    ]
    return head + [
        f"| {told[row['way']]} | {row['force_N']:g} N | {row['path_m']:.2f} m | {100 * row['mean']:+.1f} % | "
        f"{100 * row['rms']:.1f} % | {100 * row['max']:.1f} % | {row['aside_mm']:.1f} mm |"
        for row in rows
    ]


def elsewhere() -> None:
    """Run the wrist sensor on other paths, at two speeds; write, print."""
    rows = [
        held("wrist", FORCES[0], speed=speed, pose=pose, side=side) for speed in (0.25, 0.1) for pose, side in ELSEWHERE
    ]
    write_result(HERE / "tip_force_elsewhere.json", {"seed": SEED, "rows": rows})
    told = ["| another path, wrist sensor | speed | mean error | rms | largest |", "|---|---|---|---|---|"]
    told += [
        f"| {('first', 'second')[at % 2]}, {row['path_m']:.2f} m | {row['speed']:g} m/s "
        f"| {100 * row['mean']:+.1f} % | {100 * row['rms']:.1f} % | {100 * row['max']:.1f} % |"
        for at, row in enumerate(rows)
    ]
    put(HERE.parent / "docs" / "tip-force.md", "table of other paths", told)
    print("\n".join(told))


def main() -> None:
    """Run, write, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--forces", type=float, nargs="+", default=FORCES)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument("--elsewhere", action="store_true")
    chosen = parser.parse_args()
    if chosen.elsewhere:
        elsewhere()
        return
    rows = []
    for force in chosen.forces:
        for way in chosen.ways:
            rows.append(held(way, force))
            print(json.dumps(rows[-1]), flush=True)
    if tuple(chosen.forces) == FORCES and tuple(chosen.ways) == WAYS:
        write_result(HERE / "tip_force.json", {"seed": SEED, "rows": rows})
        put(HERE.parent / "docs" / "tip-force.md", "table of the study", lines(rows))
    print("\n".join(lines(rows)))


if __name__ == "__main__":
    main()
