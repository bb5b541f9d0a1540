"""Motion finer than friction allows: PID and base sensor control on one geared joint, tuned by the same rule.

Run: python examples/06_fine_motion.py                           (needs the extra "sim")
"""

from __future__ import annotations

import numpy as np

import counterpoise as cp
from counterpoise.plants import preset
from counterpoise.tasks import TriangleTask, tuned

made = preset("puma550", "stiff")
robot = made.single_joint().robot


def rig(seed: int | None = None) -> cp.Rig:
    """Return the joint, its model and its filter for one experiment."""
    return cp.Rig(made.single_joint(seed=seed), robot)


pid = tuned(rig, "pid")
plate = tuned(rig, "bsc", position=pid.gains)  # the same K_p and K_d; only k_int is searched for
print(
    f"K_p {pid.gains.kp[0]:.0f}, K_d {pid.gains.kd[0]:.1f}, K_i {pid.gains.ki[0]:.0f}, k_int {plate.gains.k_int[0]:.0f}"
)

task = TriangleTask(lambda: rig(seed=7))  # ±0.1° in 10 s, 7 counts a second
for name, tuning in (("PID", pid), ("closed on the plate", plate)):
    error = np.rad2deg(task.errors(tuning.gains))
    print(f"{name:20s} rms {np.sqrt(np.mean(error**2)):.4f}°, largest {np.abs(error).max():.4f}°")
