"""Joint torques from a force plate under the base: what the motors' currents do not show, friction left out.

Run: python examples/03_plate_torques.py                         (needs the extra "sim")
"""

from __future__ import annotations

import numpy as np

import counterpoise as cp
from counterpoise.control import PDGravity, Sine, default_gains, plate_of
from counterpoise.plants import preset

made = preset("puma550")  # a geared arm on a plate; 5 to 6 N m of friction in its first joints
robot, arm = made.robot(), made.arm(seed=3)
swing = np.zeros(robot.n)
swing[0] = 0.05

with arm:
    start = arm.read()
    sensor = plate_of(arm, robot)  # where the plate is and what it reads, as the plant declares it
    sensor.tare(start.q, start.wrench)  # the arm stands still and touches nothing
    gains = default_gains(robot, start.q, arm.effort_limit, arm.dt)
    law = PDGravity(robot, gains.kp, gains.kd, Sine(swing, 2.0))
    rows: list[tuple[float, float, float]] = []

    def watch(sample: cp.Sample) -> bool:
        """Keep what the motor of joint 1 sends beside what its link feels."""
        felt = sensor.joint_torques(sample.q, sample.wrench)[0]
        rows.append((sample.dq[0], sample.tau[0], felt))
        return False

    cp.ControlLoop(arm, law, robot).run(6.0, until=watch)

speed, sent, felt = np.array(rows[len(rows) // 3 :]).T  # without the start
for name, moving in (("forwards", speed > 0.02), ("backwards", speed < -0.02)):
    print(f"joint 1 {name:9s}: motor {sent[moving].mean():+6.2f} N m, link {felt[moving].mean():+6.2f} N m, ", end="")
    print(f"friction {np.mean(sent[moving] - felt[moving]):+6.2f} N m")
