"""An arm that weighs nothing: gravity torques of a Barrett WAM, and what they do.

Run: python examples/01_weightless_arm.py
"""

from __future__ import annotations

import time

import numpy as np
from rich.console import Console
from rich.table import Table

import counterpoise as cp
from counterpoise.dynamics import NATIVE

SECONDS, STEP = 0.6, 1e-3
START = np.array([0.0, 0.9, 0.0, 1.3, 0.0, 0.4, 0.0])


def accelerations(robot: cp.Robot, q: np.ndarray, dq: np.ndarray, torque: np.ndarray) -> np.ndarray:
    """Solve M q̈ = τ − (C q̇ + g): the columns of M are inverse dynamics of unit accelerations, all in one batch."""
    n = robot.n
    ddq = np.vstack([np.zeros(n), np.eye(n)])
    poses = np.tile(q, (n + 1, 1))
    still = np.zeros((n + 1, n))
    columns = robot.inverse_dynamics(poses, still, ddq)
    inertia = (columns[1:] - columns[0]).T
    bias = robot.inverse_dynamics(q, dq, np.zeros(n))
    return np.linalg.solve(inertia, torque - bias)


def let_go(real: cp.Robot, model: cp.Robot | None) -> np.ndarray:
    """Release the arm for SECONDS and return the height of its tip [m]; the motors apply the model's gravity."""
    q, dq = START.copy(), np.zeros(real.n)
    heights = []
    for _ in range(round(SECONDS / STEP)):
        heights.append(real.forward_kinematics(q, at="toolplate")[2, 3])
        torque = np.zeros(real.n) if model is None else model.gravity(q)
        dq = dq + STEP * accelerations(real, q, dq, torque)
        q = q + STEP * dq
    return np.array(heights)


def sparkline(heights: np.ndarray, low: float, high: float) -> str:
    """Draw a curve with block characters."""
    blocks = "▁▂▃▄▅▆▇█"
    levels = (heights[:: len(heights) // 25] - low) / max(high - low, 1e-9) * (len(blocks) - 1)
    return "".join(blocks[round(level)] for level in np.clip(levels, 0, len(blocks) - 1))


def main() -> None:
    """Show the torques, then three releases of the same arm."""
    console = Console()
    robot = cp.load("wam7")
    console.print(f"[bold]{robot.name}[/]: {robot.n} joints, {robot.total_mass:.1f} kg. {robot.description.summary}\n")

    table = Table(title="Torques that hold this pose", title_justify="left")
    for column in ("joint", "q, rad", "g(q), N m", "with 1 kg in the hand"):
        table.add_column(column, justify="left" if column == "joint" else "right")
    loaded = robot.with_payload(1.0, com=(0.0, 0.0, 0.05), link="toolplate")
    for row in zip(robot.joint_names, START, robot.gravity(START), loaded.gravity(START), strict=True):
        table.add_row(row[0], *(f"{value + 0.0:.3f}" for value in np.round(row[1:], 3)))
    console.print(table)

    console.print(f"\n[bold]Let go for {SECONDS} s[/] (simulated, no friction): height of the hand\n")
    releases = {
        "motors off": let_go(robot, None),
        "gravity compensated": let_go(robot, robot),
        "with 1 kg it knows not of": let_go(loaded, robot),
    }
    low = min(heights.min() for heights in releases.values())
    high = max(heights.max() for heights in releases.values())
    for name, heights in releases.items():
        drop = 1000 * (heights[0] - heights[-1])
        console.print(f"  {name:26s}{sparkline(heights, low, high)}  falls {max(drop, 0.0):5.0f} mm")

    out, count, batch_size = np.empty(robot.n), *((20_000, 100_000) if NATIVE else (100, 2_000))
    start = time.perf_counter()
    for _ in range(count):
        robot.gravity(START, out)
    single = (time.perf_counter() - start) / count
    poses = np.random.default_rng(0).uniform(-1, 1, (batch_size, robot.n))
    start = time.perf_counter()
    robot.gravity(poses)
    batch = (time.perf_counter() - start) / len(poses)
    kernel = f"native kernel, {NATIVE}" if NATIVE else "NumPy reference; no compiler"
    console.print(f"\nOne call takes {1e9 * single:.0f} ns, {1e9 * batch:.0f} ns a pose in a batch ({kernel}).")
    console.print(
        "\n(after: source .venv/bin/activate)"
        "\nYour own arm   counterpoise load my_robot.urdf"
        "\n               counterpoise gravity my_robot.urdf"
        "\nBundled arms   counterpoise catalog"
        "\nSpeed          counterpoise bench"
    )


if __name__ == "__main__":
    main()
