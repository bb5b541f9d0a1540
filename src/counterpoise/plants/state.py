"""What is really going on in a simulated arm: for judging controllers and estimators, never for feeding them."""

from __future__ import annotations

from dataclasses import dataclass

from ..description.frozen import Array


@dataclass(frozen=True, slots=True, eq=False)
class ArmState:
    """The truth at one instant; arrays of shape (n,) unless stated, link side of the gear.

    Attributes:
        time: Seconds since the start.
        q: Link positions [rad or m].
        dq: Link velocities [rad/s or m/s].
        ddq: Link accelerations [rad/s² or m/s²].
        torque: Torque on each link from its joint, gear and stop [N m or N]; behind a rigid gear it also accelerates
            the rotor.
        motor_q: Motor positions [rad or m].
        motor_dq: Motor velocities [rad/s or m/s].
        motor_torque: Torque of the actuators before friction [N m or N].
        friction_torque: Friction f; −f acts on the motor [N m or N].
        temperature: Temperature of the drives [°C].
        wrench: What the plate or the ground exerts on the robot, force first, base axes, at the base origin, shape
            (6,).
        deflection: Displacement and rotation of a compliant plate in the sensor's axes [m, rad], shape (6,), else
            shape (0,).
    """

    time: float
    q: Array
    dq: Array
    ddq: Array
    torque: Array
    motor_q: Array
    motor_dq: Array
    motor_torque: Array
    friction_torque: Array
    temperature: Array
    wrench: Array
    deflection: Array
