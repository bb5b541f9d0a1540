"""Draws the figures of docs/simulated-arm.md; needs MuJoCo and matplotlib."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from counterpoise.dynamics import LuGre
from counterpoise.plants import ArmConfig, Drive, OneLink, SimulatedArm, SingleJoint, Timing, preset

HERE = Path(__file__).parent
LAW = LuGre(5.2, 6.0, stiffness=2e4, damping=50.0, viscous=5.8, stribeck_velocity=0.03)

plt.rcParams.update({"font.size": 9, "axes.grid": True, "grid.alpha": 0.3, "legend.frameon": False, "figure.dpi": 110})


def stick_and_breakaway() -> None:
    """Joint 1 of the PUMA preset under a torque that grows by 1 N m/s: it sticks, yields a little, breaks away."""
    made = preset("puma550", "50Hz")
    rows = []
    with made.arm() as arm:
        hold = arm.robot.gravity(arm.truth().q)
        start = arm.truth().motor_q[0]
        for tick in range(round(7.2 / arm.dt)):
            sent = arm.write(hold + 1.0 * tick * arm.dt * np.eye(6)[0])
            truth = arm.truth()
            position = math.degrees(truth.motor_q[0] - start)
            rows.append((arm.time, sent[0], truth.friction_torque[0], truth.torque[0], position, arm.read().q[0]))
    time, command, friction, gear, motor, measured = np.array(rows).T
    measured = np.degrees(measured - start)
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(6.8, 5.0), sharex=True, constrained_layout=True)
    top.plot(time, command, "0.6", label="commanded torque")
    top.plot(time, friction, label="friction")
    top.plot(time, gear, label="torque through the gear")
    top.axhline(6.0, color="k", lw=0.7, ls=":", label="static level, 6.0 N m")
    top.set(ylabel="joint 1 [N m]", title="puma550, 50 Hz variant: sticking, presliding, breakaway")
    top.legend(ncols=2, fontsize=8, loc="upper left")
    bottom.plot(time, measured, color="C3", lw=0.8, label="encoder")
    bottom.plot(time, motor, color="C0", label="motor, true")
    bottom.set(ylabel="position [°]", xlabel="time [s]", ylim=(-0.01, 0.12))
    bottom.legend(loc="upper left", fontsize=8)
    figure.savefig(HERE / "stick-and-breakaway.png")


def hysteresis_and_stribeck() -> None:
    """Presliding loops below breakaway, and the steady friction over the speed, against the law itself."""
    config = ArmConfig(timing=Timing(dt=1e-3), drive=Drive(friction=LAW), start="slack")
    figure, (left, right) = plt.subplots(1, 2, figsize=(6.8, 3.3), constrained_layout=True)
    for amplitude, color in ((5.4, "C0"), (4.0, "C1"), (2.5, "C2")):
        positions, torques = [0.0], [0.0]
        with SingleJoint(OneLink(inertia=2.875, rotor_inertia=0.784), config) as plant:
            for tick in range(20_000):
                wave = 2.0 / math.pi * math.asin(math.sin(2.0 * math.pi * tick / 8000.0))
                plant.write([amplitude * wave])
                truth = plant.truth()
                positions.append(truth.q[0])
                torques.append(truth.friction_torque[0])
        bend, law = 0.0, [0.0]
        for moved in np.diff(positions):
            target = math.copysign(6.0 / 2e4, moved)
            bend = target + (bend - target) * math.exp(-2e4 * abs(moved) / 6.0)
            law.append(2e4 * bend)
        left.plot(1e3 * np.array(positions), torques, color=color, label=f"±{amplitude} N m")
        left.plot(1e3 * np.array(positions[::400]), law[::400], "k.", ms=3)
    left.plot([], [], "k.", ms=3, label="law")
    left.set(xlabel="displacement [mrad]", ylabel="friction [N m]", title="presliding hysteresis")
    left.legend(fontsize=8)

    speeds = np.geomspace(1e-3, 1.0, 13)
    measured = []
    for speed in speeds:
        integral = 0.0
        with SingleJoint(OneLink(inertia=2.875, rotor_inertia=0.784), config) as plant:
            for _ in range(6000):
                error = speed - plant.truth().dq[0]
                integral += 1e-3 * error
                plant.write([200.0 * error + 4000.0 * integral])
            measured.append(plant.truth().motor_torque[0])
    fine = np.geomspace(1e-3, 1.0, 200)
    right.semilogx(fine, LAW.torque(fine), label="law")
    right.semilogx(speeds, measured, "k.", label="torque that keeps the speed")
    right.set(xlabel="speed [rad/s]", ylabel="friction [N m]", title="Stribeck curve")
    right.legend(fontsize=8)
    figure.savefig(HERE / "presliding-and-stribeck.png")


def plate_reading() -> None:
    """The plate under the PUMA while joints 1 and 2 move, with and without noise, beside rigid Newton–Euler."""
    made = preset("puma550", "50Hz")
    plate = made.config.plate
    assert plate is not None
    none = np.zeros(6)
    quiet = replace(plate, noise=none, walk=none, drift=none, bias=none, resolution=none, crosstalk=np.eye(6))
    runs = {}
    for name, config in (("as sold", made.config), ("quiet", made.config.replaced(plate=quiet))):
        rows = []
        with SimulatedArm(made.robot(), config) as arm:
            start = arm.read().q.copy()
            target = start + np.array([0.4, -0.3, 0.0, 0.0, 0.0, 0.0])
            stiffness = np.array([900.0, 1200.0, 300.0, 40.0, 40.0, 40.0])  # [N m/rad], for the 50 Hz of the gears
            damping = 0.02 * stiffness
            for tick in range(round(2.4 / arm.dt)):
                share = min(1.0, max(0.0, (tick * arm.dt - 0.3) / 1.4))
                share = share**3 * (10.0 - 15.0 * share + 6.0 * share**2)
                sample = arm.read()
                wanted = start + share * (target - start)
                arm.write(arm.robot.gravity(sample.q) + stiffness * (wanted - sample.q) - damping * sample.dq)
                truth = arm.truth()
                rigid = arm.robot.base_wrench(truth.q, truth.dq, truth.ddq)
                reading = arm.read().wrench
                assert reading is not None
                rows.append((arm.time, reading[2], reading[5], rigid[2], rigid[5], math.degrees(truth.q[0])))
        runs[name] = np.array(rows).T
    figure, axes = plt.subplots(3, 1, figsize=(6.8, 6.2), sharex=True, constrained_layout=True)
    noisy, clean = runs.values()
    axes[0].plot(noisy[0], noisy[5], label="joint 1")
    axes[0].set(ylabel="position [°]", title="puma550, 50 Hz variant: joints 1 and 2 move")
    for axis, (reading, rigid), label in ((axes[1], (1, 3), "$f_z$ [N]"), (axes[2], (2, 4), "$m_z$ [N m]")):
        axis.plot(noisy[0], noisy[reading], color="0.7", lw=0.8, label="reading, as sold")
        axis.plot(clean[0], clean[reading], color="C0", lw=1.0, label="reading without noise, bias, drift, cross-talk")
        axis.plot(clean[0], clean[rigid], "k--", lw=0.7, label="Newton–Euler of the true motion, rigid")
        axis.set(ylabel=label)
    axes[2].legend(fontsize=8, loc="upper right")
    axes[0].legend(fontsize=8)
    axes[2].set(xlabel="time [s]")
    figure.savefig(HERE / "plate-reading.png")


if __name__ == "__main__":
    stick_and_breakaway()
    hysteresis_and_stribeck()
    plate_reading()
