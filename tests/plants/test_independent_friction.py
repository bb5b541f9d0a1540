"""Our friction against two others: MuJoCo's own DC motor with LuGre friction, and SciPy's integration of the equations.

A joint with dry friction tracks a slow triangle of ±0.1° under PID at 300 Hz: it sticks, breaks away and slides.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest

from counterpoise.dynamics import LuGre
from counterpoise.plants.config import ArmConfig, Drive, Timing
from counterpoise.plants.single_joint import OneLink, SingleJoint

Array = npt.NDArray[np.float64]
COULOMB, STATIC, STRIBECK, STIFFNESS, DAMPING, VISCOUS = 5.2, 6.0, 0.03, 2e4, 50.0, 5.8
LINK, ROTOR = 2.875, 0.784
PERIOD, AMPLITUDE, CYCLE, TICKS = 1.0 / 300.0, math.radians(0.1), 4.0, 1200


def tracked(advance: Callable[[float], tuple[float, float]]) -> tuple[Array, Array]:
    """Run the PID loop on a plant and return positions and torques."""
    q = dq = integral = 0.0
    positions, torques = np.zeros(TICKS), np.zeros(TICKS)
    for tick in range(TICKS):
        target = AMPLITUDE * 2.0 / math.pi * math.asin(math.sin(2.0 * math.pi * tick * PERIOD / CYCLE))
        integral += (target - q) * PERIOD
        torque = 3600.0 * (target - q) - 115.0 * dq + 8000.0 * integral
        q, dq = advance(torque)
        positions[tick], torques[tick] = q, torque
    return positions, torques


@cache
def ours() -> tuple[Array, Array]:
    """Return positions and torques of our joint."""
    law = LuGre(COULOMB, STATIC, stribeck_velocity=STRIBECK, stiffness=STIFFNESS, damping=DAMPING, viscous=VISCOUS)
    config = ArmConfig(timing=Timing(dt=PERIOD), drive=Drive(friction=law), start="slack")
    with SingleJoint(OneLink(inertia=LINK, rotor_inertia=ROTOR), config) as plant:

        def advance(torque: float) -> tuple[float, float]:
            plant.write(np.array([torque]))
            sample = plant.read()
            return float(sample.q[0]), float(sample.dq[0])

        return tracked(advance)


def differences(mine: tuple[Array, Array], other: tuple[Array, Array]) -> tuple[float, float]:
    """Largest difference of the positions over the amplitude, and of the torques over the largest torque."""
    return (
        float(np.abs(mine[0] - other[0]).max() / AMPLITUDE),
        float(np.abs(mine[1] - other[1]).max() / np.abs(other[1]).max()),
    )


def test_the_task_sticks_and_slides() -> None:
    """The joint breaks away and travels, so that the comparisons below compare something."""
    positions, torques = ours()
    assert np.ptp(positions) > AMPLITUDE
    assert np.abs(torques).max() > COULOMB


def test_mujoco_motor_agrees() -> None:
    """MuJoCo's DC motor actuator with LuGre friction gives the same motion and torques within 0.2 %."""
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    xml = f"""
    <mujoco><option gravity="0 0 0" timestep="{PERIOD / 34}" integrator="implicitfast"/>
    <worldbody><body>
      <joint name="j" axis="0 0 1" damping="{VISCOUS}" armature="{ROTOR}"/>
      <inertial pos="0 0 0" mass="1" diaginertia="{LINK} {LINK} {LINK}"/>
    </body></worldbody>
    <actuator><dcmotor joint="j" input="none" motorconst="0 0" resistance="1"
      lugre="{STIFFNESS} {DAMPING} {COULOMB} {STATIC} {STRIBECK}"/></actuator></mujoco>"""
    try:
        model = mujoco.MjModel.from_xml_string(xml)
    except ValueError as error:
        pytest.skip(f"this MuJoCo has no passive DC motor with LuGre friction: {error}")
    data = mujoco.MjData(model)

    def advance(torque: float) -> tuple[float, float]:
        data.qfrc_applied[0] = torque
        mujoco.mj_step(model, data, 34)
        return float(data.qpos[0]), float(data.qvel[0])

    position, torque = differences(ours(), tracked(advance))
    assert position < 0.002
    assert torque < 0.002


def test_scipy_agrees() -> None:
    """A variable-step stiff solver at 1e-8 gives the same motion and torques within 0.2 %."""
    from scipy.integrate import solve_ivp

    state = np.zeros(3)

    def rate(_: float, y: Array, torque: float) -> list[float]:
        _, v, z = y
        level = COULOMB + (STATIC - COULOMB) * math.exp(-((v / STRIBECK) ** 2))
        bend = v - STIFFNESS * abs(v) * z / level
        return [v, (torque - STIFFNESS * z - DAMPING * bend - VISCOUS * v) / (LINK + ROTOR), bend]

    def advance(torque: float) -> tuple[float, float]:
        state[:] = solve_ivp(rate, (0.0, PERIOD), state, args=(torque,), method="LSODA", rtol=1e-8, atol=1e-12).y[:, -1]
        return float(state[0]), float(state[1])

    position, torque = differences(ours(), tracked(advance))
    assert position < 0.002
    assert torque < 0.002
