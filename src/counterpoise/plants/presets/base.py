"""A robot's name, its configuration, and what had to be assumed."""

from __future__ import annotations

from dataclasses import dataclass

from ...dynamics import Robot, load
from ..config import ArmConfig
from ..simulated import SimulatedArm
from ..single_joint import SingleJoint


@dataclass(frozen=True, slots=True)
class Assumption:
    """A number that no source prints.

    Attributes:
        what: The settings it covers.
        reason: Why this value.
    """

    what: str
    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class Preset:
    """A simulated arm, ready to be made.

    Attributes:
        name: Its name.
        variant: Which of its variants.
        robot_name: The catalog's robot.
        config: Everything else.
        facts: What is taken from a source, one sentence each, with the source.
        assumptions: What is not.
    """

    name: str
    variant: str
    robot_name: str
    config: ArmConfig
    facts: tuple[str, ...]
    assumptions: tuple[Assumption, ...]

    def robot(self) -> Robot:
        """Return the robot."""
        return load(self.robot_name)

    def arm(self, *, seed: int | None = None) -> SimulatedArm:
        """Return a new simulated arm.

        Args:
            seed: Seed of its random numbers; None for the configuration's.
        """
        return SimulatedArm(self.robot(), self._seeded(seed))

    def single_joint(self, joint: int = 0, *, seed: int | None = None) -> SingleJoint:
        """Return one joint of the arm with the others locked at the initial position, without MuJoCo.

        Args:
            joint: Index of the joint.
            seed: Seed of its random numbers; None for the configuration's.
        """
        return SingleJoint.of(self.robot(), self._seeded(seed), joint)

    def describe(self) -> str:
        """Return every setting, then what is known and what is assumed."""
        lines = [f"{self.name} ({self.variant}), robot '{self.robot_name}'", "", self.config.describe(), ""]
        lines += ["From sources:"] + [f"  {fact}" for fact in self.facts]
        lines += ["Assumed:"] + [f"  {entry.what}: {entry.reason}" for entry in self.assumptions]
        return "\n".join(lines)

    def _seeded(self, seed: int | None) -> ArmConfig:
        return self.config if seed is None else self.config.replaced(seed=seed)
