"""A robot's tree as lines of text: chains run straight down, only branches are indented.

.. code-block:: text

    base
    │ joint1 → link1
    ├─ camera_mount → camera      a side frame: nothing moves beyond it
    │ joint2 → link2
    ├─┬ left_1 → left_upper       here the arm branches
    │ └ left_2 → left_fore
    └─┬ right_1 → right_upper
      └ right_2 → right_fore

A serial arm of 30 links is as narrow as one of 3, and every line is one row of a table.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from ..description.model import Description, Joint, JointKind


@dataclass(frozen=True, slots=True)
class TreeLine:
    """One link with the joint that leads to it.

    Attributes:
        stem: Box characters before the names.
        joint: Joint that leads to the link; None for the base.
        link: Name of the link.
    """

    stem: str
    joint: Joint | None
    link: str

    @property
    def label(self) -> str:
        """Names of joint and link."""
        return self.link if self.joint is None else f"{self.joint.name} → {self.link}"

    @property
    def is_fixed(self) -> bool:
        """True where a fixed joint leads to the link."""
        return self.joint is not None and self.joint.kind is JointKind.FIXED


def tree_lines(description: Description) -> list[TreeLine]:
    """Return the lines of a checked description, depth first, children in file order."""
    children: defaultdict[str, list[Joint]] = defaultdict(list)
    for joint in description.joints:
        children[joint.parent].append(joint)
    moving = _links_with_motion_beyond(description)
    lines = [TreeLine("", None, description.root)]
    # (joint, indentation of its line, what its line begins with, indentation of what follows below it)
    pending: list[tuple[Joint, str, str, str]] = []

    def push(link: str, indentation: str) -> None:
        """Queue the children of a link whose chain runs down at the given indentation."""
        siblings = children[link]
        sides = [joint for joint in siblings[:-1] if not _moves(joint, moving)]
        straight = len(sides) == len(siblings) - 1  # all but the last are side frames: the chain goes on with the last
        queued: list[tuple[Joint, str, str, str]] = []
        for joint in siblings:
            is_last = joint is siblings[-1]
            if is_last and straight:
                begins = "│ " if children[joint.child] else "└ "
                queued.append((joint, indentation, begins, indentation))
            else:
                bar, gap = ("└─", "  ") if is_last else ("├─", "│ ")
                queued.append((joint, indentation, bar + ("┬ " if children[joint.child] else " "), indentation + gap))
        pending.extend(reversed(queued))

    push(description.root, "")
    while pending:
        joint, indentation, begins, below = pending.pop()
        lines.append(TreeLine(indentation + begins, joint, joint.child))
        push(joint.child, below)
    return lines


def _moves(joint: Joint, moving: set[str]) -> bool:
    return joint.kind is not JointKind.FIXED or joint.child in moving


def _links_with_motion_beyond(description: Description) -> set[str]:
    """Names of the links below which some joint moves."""
    joint_to = {joint.child: joint for joint in description.joints}
    found: set[str] = set()
    for joint in description.joints:
        if joint.kind is JointKind.FIXED:
            continue
        link = joint.parent
        while link not in found:
            found.add(link)
            if link == description.root:
                break
            link = joint_to[link].parent
    return found
