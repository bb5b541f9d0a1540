"""Let an arm float: checked before it is let go, pushed by 20 N, and staying where it was left.

Run: python examples/04_float.py                                 (needs the extra "sim")
"""

from __future__ import annotations

import numpy as np

import counterpoise as cp
from counterpoise.plants import Push, preset

made = preset("puma550")
robot = made.robot()

# A model whose masses are 10 % too small is refused before anything is let go, and the joint is named.
light = robot.mounted(gravity=0.9 * robot.gravity_world)
arm = made.arm(seed=1)
with arm:
    try:
        cp.float_arm(cp.Rig(arm, light), 1.0, friction_fraction=0.5)
    except cp.SafetyError as error:
        print(f"refused: {str(error).split('; ')[0]}\n")

arm = made.arm(seed=2)


def push() -> None:
    """Push the hand sideways for a second, half a second after it was let go."""
    now = arm.read().time
    arm.push(Push("link6", (0.0, 20.0, 0.0, 0.0, 0.0, 0.0), start=now + 0.5, end=now + 1.5))


with arm:
    report = cp.float_arm(cp.Rig(arm, robot), 5.0, friction_fraction=0.5, began=push, log=True)

log = report.run.log[: report.run.ticks - report.run.stop_ticks]  # without the safe stop at the end
tip = robot.forward_kinematics(log.q, at="link6")[:, :3, 3]
moved = np.linalg.norm(tip - tip[0], axis=1)
print(f"pushed by 20 N for 1 s the hand moves by {1e3 * moved.max():.0f} mm")
rest = log.time - log.time[0] > 3.5
print(f"released, it drifts by {1e3 * np.ptp(tip[rest], axis=0).max():.2f} mm in 1.5 s; it ended: {report.end}")
