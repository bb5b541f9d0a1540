"""The files that the pages take for granted: a robot of yours and recordings of it, under the names they print."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np

import counterpoise as cp
from counterpoise.exporters import urdf_text
from counterpoise.recording import Declared, Motion
from counterpoise.sensing import tool_columns
from counterpoise.tasks import LawGains
from library.analytic_log import RATE, measured
from library.bag_writers import JOINT_STATE, START, Sent, joint_state, write_bag
from library.plate_recordings import fast_motion
from library.position_servo import drooping_log
from library.wrist_stand_in import BIAS


def write_material(folder: Path) -> None:
    """Write a seven-joint arm, motions of it (run.* and later.*), poses, gains.

    The bags have a fault for the doctor: the effort of the fourth joint with the wrong sign.
    """
    wam = cp.load("wam7").description
    slower = tuple(replace(joint, velocity_limit=min(joint.velocity_limit, 2.0)) for joint in wam.joints)
    (folder / "arm.urdf").write_text(urdf_text(cp.Robot(replace(wam, joints=slower))), encoding="utf-8")
    robot = cp.load(folder / "arm.urdf")
    run, later = recording(robot, 1), recording(robot, 2)
    for name, log in (("run", run), ("later", later)):
        for ending in ("csv", "npz", "parquet"):
            cp.write_log(log, folder / f"{name}.{ending}")
        write_bag(folder / f"{name}.mcap", "mcap-none", messages(log))
    for name, values in (("position", run.q), ("effort", run.tau)):
        header = ",".join(["time", *(f"{joint}_{name}" for joint in robot.joint_names)])
        np.savetxt(
            folder / f"{name}.csv", np.column_stack([run.time, values]), delimiter=",", header=header, comments=""
        )
    poses = np.random.default_rng(3).uniform(0.5 * robot.lower, 0.5 * robot.upper, (3, robot.n))
    np.savetxt(folder / "poses.csv", poses, delimiter=",", header=",".join(robot.joint_names), comments="")
    cp.write_log(wrist_recording(robot), folder / "wrist.npz")
    spread = np.random.default_rng(4).uniform(0.6 * robot.lower, 0.6 * robot.upper, (12, robot.n))
    cp.write_log(drooping_log(robot, spread, np.full(robot.n, 400.0)), folder / "servo.npz")
    fine = LawGains("bsc", ("joint1",), *np.array([[1094.0], [63.0], [0.0], [150.0]]))
    fine.save(folder / "bsc.toml")
    (folder / "run.toml").write_text('format = "counterpoise-mapping 1"\n[effort]\nkind = "torque"\n', encoding="utf-8")
    for copy, name in (("my_robot.urdf", "arm.urdf"), ("huge.mcap", "run.mcap")):
        shutil.copy(folder / name, folder / copy)


def recording(robot: cp.Robot, seed: int) -> cp.Log:
    """Return 30 s on a plate, with friction and noise: 1.5 s of rest, then lively motion."""
    time = np.arange(round(30.0 * RATE)) / RATE
    u = np.clip(time - 1.5, 0.0, 1.0)
    passed = u**3 - 0.5 * u**4 + np.maximum(time - 2.5, 0.0)  # the motion's own time, and how fast it passes
    rate, growth = (u**2 * (3.0 - 2.0 * u))[:, None], (6.0 * u * (1.0 - u))[:, None]
    q, dq, ddq = fast_motion(robot, seed, passed, top=0.5)
    random = np.random.default_rng(seed)
    return measured(robot, time, q, dq * rate, ddq * rate**2 + dq * growth, friction=0.05, random=random)


def wrist_recording(robot: cp.Robot) -> cp.Log:
    """Return a recording whose wrench is that of a wrist sensor with a tool of 0.8 kg, 5 cm long."""
    log = recording(robot, 3)
    columns = tool_columns(robot, "toolplate", np.eye(4), log.q, log.dq, Motion.at_samples(log, 5.0).ddq)
    return replace(log, wrench=BIAS + columns @ (0.8 * np.array([1.0, 0.01, 0.02, 0.05])), declared=Declared())


def messages(log: cp.Log) -> list[Sent]:
    """Return a recording as joint states, the fourth effort with the wrong sign."""
    wrong = np.where(np.arange(len(log.joint_names)) == 3, -1.0, 1.0)
    stamps = [START + round(1e9 * time) for time in log.time]
    return [
        Sent("/joint_states", JOINT_STATE, stamp, joint_state(log.joint_names, q, dq, tau, stamp=stamp))
        for stamp, q, dq, tau in zip(stamps, log.q, log.dq, wrong * log.tau, strict=True)
    ]
