"""What the check before floating found at each joint, and whether the arm may be let go."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ...description.frozen import Array, PublishedData

if TYPE_CHECKING:
    from .hidden import HiddenLoad, PoseBlindness

SIGMAS = 2.0
"""How many standard deviations are added to the difference found."""


@dataclass(frozen=True, slots=True)
class JointCheck:
    """One joint that is to float; torques in ``unit``.

    Attributes:
        joint: Its name.
        unit: "N m" or "N".
        expected: What the model says holding takes, ĝ; 0 on a plant that adds gravity itself.
        held: What holding took: the mean of both sides.
        std: Standard deviation of their difference: noise, scatter of the repeats and, where given, the calibration's.
        friction: Friction found, the smaller of half the difference of the sides at rest and while creeping.
        friction_law: What the friction law that is compensated says at least; the friction found where none is given.
        share: Share of it that is to be compensated.
        crept: Whether the joint came to rest from both sides; without that the numbers mean nothing.
    """

    joint: str
    unit: str
    expected: float
    held: float
    std: float
    friction: float
    friction_law: float
    share: float
    crept: bool

    @property
    def difference(self) -> float:
        """What the model is off by: held − expected."""
        return self.held - self.expected

    @property
    def left(self) -> float:
        """Friction that is left to hold the joint when it floats: min(F, F_law) − c F_law, which is (1 − c) F_c.

        Where the law knows of no friction, none is compensated, and all that was found is left.
        """
        if self.friction_law <= 0.0:
            return self.friction
        return min(self.friction, self.friction_law) - self.share * self.friction_law

    @property
    def passed(self) -> bool:
        """Whether |difference| + 2 σ is smaller than what is left."""
        return self.crept and abs(self.difference) + SIGMAS * self.std < self.left

    @property
    def most_share(self) -> float:
        """The share up to which the joint would pass; below 0 where none would do."""
        if self.friction_law <= 0.0:
            return 1.0 if self.passed else -1.0
        spare = min(self.friction, self.friction_law) - abs(self.difference) - SIGMAS * self.std
        return spare / self.friction_law

    def sentence(self) -> str:
        """Say what is wrong and what to do; "" where nothing is."""
        if self.passed:
            return ""
        where = f"joint '{self.joint}'"
        if not self.crept:
            return (
                f"{where} did not come to rest from both sides: friction held it, or it swung. Free it, lock it, or "
                "try another pose"
            )
        if max(self.friction, abs(self.difference)) <= SIGMAS * self.std:
            return (
                f"{where}: the model carries it, but no friction was found that would hold it "
                f"({self.friction:.2g} ± {SIGMAS * self.std:.1g} {self.unit}): it would not stay. Lock it"
            )
        off = f"{where}: holding takes {self.held:.3g} {self.unit}, the model says {self.expected:.3g}"
        off += f": {abs(self.difference):.2g} ± {SIGMAS * self.std:.1g} {self.unit} off (2 σ)"
        left = f"of its friction of {self.friction:.2g} {self.unit}, a share of {self.share:g} leaves {self.left:.2g}"
        best = self.most_share
        less = f", or take a share below {best:.2g}" if best > 0.005 else "; no share is small enough"
        return f"{off}; {left} to hold it. Calibrate the arm, check the payload{less}"

    def as_data(self) -> dict[str, Any]:
        """Return the joint as JSON has it."""
        return asdict(self) | {
            "difference": self.difference,
            "left": self.left,
            "passed": self.passed,
            "most_share": self.most_share,
        }


@dataclass(frozen=True, slots=True, eq=False)
class CheckResult(PublishedData):
    """The check of an arm.

    Attributes:
        joints: The joints that are to float.
        pose: Where it was made [rad or m], shape (n,).
        by: "effort" where holding was judged by the measured efforts, "command" by what was sent.
        seconds: How long it took.
        blindness: What a check at this pose cannot show; None where that is not known.
    """

    joints: tuple[JointCheck, ...]
    pose: Array
    by: str
    seconds: float
    blindness: PoseBlindness | None = None

    @property
    def passed(self) -> bool:
        """Whether the arm may float."""
        return all(joint.passed for joint in self.joints)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it may not, one sentence a joint, the worst one first."""
        failed = [joint for joint in self.joints if not joint.passed]
        return tuple(joint.sentence() for joint in sorted(failed, key=lambda joint: (joint.crept, joint.most_share)))

    @property
    def hidden(self) -> tuple[HiddenLoad, ...]:
        """Per link the load that the check would have let pass and that could pull most elsewhere; () if refused."""
        return self.blindness.loads(self.joints) if self.passed and self.blindness is not None else ()

    def better_pose(self) -> Array | None:
        """Return the nearest pose found where the loads that hide here would show [rad or m], shape (n,).

        None where nothing hides, or where no pose shows more. It takes some 10 to 200 ms: not for a control loop.
        """
        links = [load.link for load in self.hidden if load.hides]
        return self.blindness.better_pose(self.joints, links) if links and self.blindness is not None else None

    def as_data(self) -> dict[str, Any]:
        """Return the check as JSON has it."""
        better = self.better_pose()
        return {
            "passed": self.passed,
            "by": self.by,
            "seconds": self.seconds,
            "pose": self.pose.tolist(),
            "joints": [joint.as_data() for joint in self.joints],
            "reasons": list(self.reasons),
            "hidden": [load.as_data() for load in self.hidden],
            "better_pose": None if better is None else better.tolist(),
        }
