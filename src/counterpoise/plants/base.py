"""What every simulated plant does alike: the protocol, the line of delayed commands, the drives' sensors.

``ArmState`` is what is really going on in a simulated arm: for judging controllers and estimators, never for feeding
them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from ..control import PlateInfo
from ..dynamics import MAX_INPUT, as_rows, for_joints
from ..errors import InputError, PlantError
from ..foundation import Array, frozen
from ..recording import Sample, SampleFlag
from .config import ArmConfig, FlowValve
from .layout import DRIVE_PARAMETERS, STATE
from .parameters import Joints, drive_parameters, initial_states
from .sensors import EffortReader, EncoderReader

POSITION, VELOCITY = STATE["motor_position"], STATE["motor_velocity"]
AMPLIFIER, PRESSURE = STATE["amplifier"], STATE["pressure_torque"]


class SimulatedPlant(ABC):
    """Drives, their sensors and the plant protocol around links that a subclass moves.

    The clock moves by ``dt`` per :meth:`write`. The same configuration and writes give the same bytes.

    Args:
        config: The plant.
        joints: Its joints.
        velocity_limit: Largest speeds of its joints [rad/s or m/s], shape (n,); the configuration may declare others.
    """

    def __init__(self, config: ArmConfig, joints: Joints, velocity_limit: Array) -> None:
        """Prepare the drives; the subclass then makes the links and calls :meth:`reset`."""
        self.config = config
        self._joints, self._velocity_limit = joints, velocity_limit
        if config.velocity_limit is not None:
            self._velocity_limit = for_joints(np.asarray(config.velocity_limit), "velocity_limit", joints.names)
        self._parameters = drive_parameters(config, joints)
        self._limit = frozen(self._column("limit"))
        self._least = frozen(-self._limit)
        self._rigid = np.isinf(self._column("gear_stiffness"))
        self._all_rigid, self._none_rigid = bool(self._rigid.all()), not bool(self._rigid.any())
        self._pressure = isinstance(config.drive.actuator, FlowValve)
        self._steps, self._step = config.timing.steps, config.timing.step
        self._states = np.zeros((self.n, len(STATE)))
        self._command = np.zeros(self.n)
        self._on = self._stopped = False
        self._tick = 0
        self._line: deque[Array] = deque()
        self._sample = Sample(0.0, self._command, self._command, self._command)

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self._joints.names)

    @property
    def time(self) -> float:
        """Seconds since the start."""
        return self._tick * self.dt

    # ------------------------------------------------------------------------------------------------- the protocol

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the n joints."""
        return self._joints.names

    @property
    def dt(self) -> float:
        """Time between two writes [s]."""
        return self.config.timing.dt

    @property
    def lower(self) -> Array:
        """Lower position limits [rad or m]."""
        return self._joints.lower

    @property
    def upper(self) -> Array:
        """Upper position limits [rad or m]."""
        return self._joints.upper

    @property
    def velocity_limit(self) -> Array:
        """Largest speeds [rad/s or m/s]."""
        return self._velocity_limit

    @property
    def effort_limit(self) -> Array:
        """Largest torques that are sent [N m or N]."""
        return self._limit

    @property
    def adds_gravity(self) -> bool:
        """Whether the arm carries its own weight: by its controller, or by the oil behind a shut valve."""
        return self.config.adds_gravity or self._pressure

    @property
    def effort_kind(self) -> Literal["torque", "current"]:
        """Efforts are torques, link side."""
        return "torque"

    @property
    def watchdog(self) -> float | None:
        """The declared watchdog [s]. The clock stands still between writes, so it is never missed here."""
        return self.config.watchdog

    @property
    def stop(self) -> Literal["zero", "brake"]:
        """What an emergency stop does."""
        return self.config.stop

    @property
    @abstractmethod
    def plate(self) -> PlateInfo | None:
        """The plate under the base."""

    def __enter__(self) -> Self:
        """Switch on. After a stop the brakes are released, unless start="braked"; "held" sends the holding torque."""
        if self._stopped:
            self._stopped = False
            if self.config.start != "braked":
                self._states[:, STATE["brake"]] = 0.0
            if self.config.start == "held":
                self._fill_line(self._commands_for(self._holding()))
        self._on = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop as declared, and switch off."""
        self.emergency_stop()
        self._on = False

    def read(self) -> Sample:
        """Return the newest sample.

        Raises:
            PlantError: The plant is not switched on.
        """
        self._require_on()
        return self._sample

    def write(self, tau: npt.ArrayLike) -> Array:
        """Send torques [N m or N], shape (n,), let ``dt`` pass and return what was sent: cut to the effort limits.

        Raises:
            InputError: ``tau`` has another shape or holds something that is not finite.
            PlantError: The plant is not switched on, or the simulation diverged.
        """
        self._require_on()
        asked = self._torques(tau)
        sent = np.zeros(self.n) if self._stopped else np.minimum(np.maximum(asked, self._least), self._limit)
        self._line.append(sent)
        self._command[:] = self._line.popleft()
        if self.config.adds_gravity and not self._stopped:
            self._command += self._own_gravity(self._sample.q)
        if not self._advance():
            raise PlantError(
                f"the simulation of '{self.config.name}' diverged at {self.time:.6g} s; look for a gain or a load out "
                "of scale, or shorten timing.physics_step"
            )
        self._tick += 1
        self._sample = self._measured()
        return sent.copy()

    def emergency_stop(self) -> None:
        """Go to the declared stop at once: no torque, and brakes where there are some."""
        self._fill_line(np.zeros(self.n))
        if self.config.stop == "brake" and not self._stopped:
            self._states[:, STATE["brake"]], self._states[:, STATE["brake_bristle"]] = 1.0, 0.0
        self._stopped = True

    @property
    def held(self) -> Literal["brakes"] | None:
        """What holds the arm: "brakes" while they are closed."""
        return "brakes" if self._states[:, STATE["brake"]].any() else None

    def release(self) -> None:
        """Open the brakes, at once; with start="braked" they are closed when the plant is entered.

        Raises:
            PlantError: The plant is not switched on, or was stopped.
        """
        self._require_on()
        if self._stopped:
            raise PlantError("the plant was stopped; its brakes open when it is entered again")
        self._states[:, STATE["brake"]] = 0.0

    # ------------------------------------------------------------------------------------------- for the subclasses

    @abstractmethod
    def _links(self) -> tuple[Array, Array]:
        """Return the links' positions and velocities, which the caller does not keep."""

    @abstractmethod
    def _advance(self) -> bool:
        """Let ``dt`` pass under ``self._command``; False when the simulation has diverged."""

    @abstractmethod
    def _read_plate(self) -> tuple[Array | None, bool]:
        """Return the plate's reading, None without a plate, and whether it is saturated."""

    @abstractmethod
    def _holding(self) -> Array:
        """Return the torques that hold the links where they are, shape (n,)."""

    @abstractmethod
    def _own_gravity(self, q: Array) -> Array:
        """Return the torques that the arm's own controller takes for the holding ones, shape (n,)."""

    def _begin(self, q: Array, dq: Array, holding: Array) -> np.random.Generator:
        """Stand the drives at q, moving at dq and holding, at time 0; returns the plate's source of noise."""
        self._tick, self._stopped = 0, False
        encoder, effort, plate = (
            np.random.Generator(np.random.PCG64(seed)) for seed in np.random.SeedSequence(self.config.seed).spawn(3)
        )
        slack = np.zeros_like(holding)
        by_gears = slack if self.config.start == "slack" else holding
        by_motors = holding if self.config.start == "held" else slack
        self._states[:] = initial_states(self.config, self._parameters, q, dq, by_gears)
        self._fill_line(self._commands_for(by_motors))
        self._command[:] = self._commands_for(by_motors)
        self._encoder = EncoderReader(self.config.encoder, self.joint_names, self.dt, encoder)
        self._effort = EffortReader(self.config.effort, self.joint_names, effort)
        return plate

    def _measured(self, first: bool = False) -> Sample:
        """Return a sample of the present state."""
        position, velocity = self._links() if self.config.encoder.side == "link" else self._motors()
        q, dq = self._encoder.reset(position, velocity) if first else self._encoder.read(position, velocity)
        effort = self._effort.read(self._states[:, PRESSURE if self._pressure else AMPLIFIER])
        wrench, saturated = self._read_plate()
        flags = SampleFlag.WRENCH_SATURATED if saturated else SampleFlag.NONE
        # A law that computes in place would otherwise change what the encoder differentiates next.
        for array in (q, dq, effort):
            array.setflags(write=False)
        if wrench is not None:
            wrench.setflags(write=False)
        return Sample(self.time, q, dq, effort, wrench, flags)

    def _torques(self, tau: npt.ArrayLike) -> Array:
        """Return ``tau`` as a float64 array of shape (n,) without anything that is not finite."""
        fits = isinstance(tau, np.ndarray) and tau.dtype == np.float64 and tau.shape == self._command.shape
        # An entry that is NaN or infinite makes the product so too: cheaper than looking at each.
        if isinstance(tau, np.ndarray) and fits and tau.dot(tau) <= MAX_INPUT:
            return tau
        asked = as_rows(tau, "tau", self.joint_names)
        if asked.ndim != 1:
            raise InputError(f"tau has shape {asked.shape}; expected ({self.n},)")
        return asked

    def _motors(self) -> tuple[Array, Array]:
        """Return the motors' positions and velocities, behind rigid gears the links'; the caller does not keep them."""
        if self._all_rigid:
            return self._links()
        position, velocity = self._states[:, POSITION], self._states[:, VELOCITY]
        if self._none_rigid:
            return position, velocity
        q, dq = self._links()
        return np.where(self._rigid, q, position), np.where(self._rigid, dq, velocity)

    def _drive_truth(self) -> dict[str, Any]:
        """Return the fields of an ArmState that are about clock and drives."""
        motor_q, motor_dq = self._motors()
        names = ("motor_torque", "friction_torque", "temperature")
        drives = {name: self._states[:, STATE[name]].copy() for name in names}
        return {"time": self.time, "motor_q": motor_q.copy(), "motor_dq": motor_dq.copy(), **drives}

    def _commands_for(self, holding: Array) -> Array:
        """Return the commands under which the drives go on holding: a valve that is shut holds by itself."""
        if self._pressure:
            return np.zeros(self.n)
        own = self._own_gravity(self._links()[0]) if self.config.adds_gravity else 0.0
        return np.clip(holding - own, -self._limit, self._limit)

    def _fill_line(self, command: Array) -> None:
        """Let ``command`` be all that is on its way to the drives."""
        self._line = deque(command.copy() for _ in range(self.config.timing.delay))

    def _initial_position(self) -> Array:
        """Return the configured position, or the middle of each joint's range."""
        if self.config.position is not None:
            return for_joints(np.asarray(self.config.position), "position", self.joint_names)
        bounded = np.isfinite(self.lower) & np.isfinite(self.upper)
        middle = 0.5 * (np.where(bounded, self.lower, 0.0) + np.where(bounded, self.upper, 0.0))
        return np.asarray(middle)

    def _column(self, name: str) -> Array:
        return self._parameters[:, DRIVE_PARAMETERS.index(name)]

    def _require_on(self) -> None:
        if not self._on:
            raise PlantError("the plant is not switched on; use it inside 'with plant:'")


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
