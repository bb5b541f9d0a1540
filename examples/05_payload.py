"""A load is hung on while the arm works: noticed, weighed, and given to the controller without a bump.

Run: python examples/05_payload.py                               (needs the extra "sim")
"""

from __future__ import annotations

import numpy as np

import counterpoise as cp
from counterpoise.control import PDGravity, PoseList, default_gains
from counterpoise.plants import AttachPayload, SimulatedArm, preset
from counterpoise.sensing import WrenchFrame

made = preset("puma550")
robot = made.robot()
poses = cp.design_poses(robot, count=8, seed=4)
reference = PoseList(list(poses), speed=np.full(robot.n, 0.8), dwell=1.2)
reference.reset(np.asarray(made.config.position))
load = AttachPayload(time=0.4 * reference.duration, mass=1.5, com=(0.0, 0.0, 0.1), link="link6")

arm = SimulatedArm(robot, made.config.replaced(seed=5, events=(load,)))
frame = WrenchFrame.checked(arm.plate.T_base_sensor, arm.plate.reads)
estimator = cp.PayloadEstimator(robot, arm.dt)
gains = default_gains(robot, np.asarray(made.config.position), arm.effort_limit, arm.dt)


def listen(sample: cp.Sample) -> bool:
    """Give the estimator every sample, with what the plate exerts on the robot."""
    estimator.update_sample(sample, frame.wrench(sample.wrench))
    return False


with arm:
    cp.ControlLoop(arm, PDGravity(robot, gains.kp, gains.kd, reference), robot).run(reference.duration, until=listen)

found = estimator.update_estimate()
for time, event in estimator.events:
    print(f"{time:5.1f} s: {event.kind} (the load came at {load.time:.1f} s)")
print(f"mass {found.mass:.2f} ± {found.mass_std:.2f} kg (1.5 kg were hung on)")
print("link " + ", ".join(f"{link} {share:.0%}" for link, share in found.links.items() if share > 0.01))
loaded = robot.with_payload(found.mass, com=found.com, link=found.link)
true = robot.with_payload(load.mass, com=load.com, link="link6")
errors = {
    name: np.abs(model.gravity(poses) - true.gravity(poses)).max()
    for name, model in (("without it", robot), ("with it", loaded))
}
print("largest error of gravity torques: " + ", ".join(f"{name} {value:.2f} N m" for name, value in errors.items()))
