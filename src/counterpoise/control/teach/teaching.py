"""Teaching from beginning to end: the arm is checked, let go, guided and recorded, and stopped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...dynamics.robot import Robot
from ...logs.sample import Sample
from ..float.floating import Floating, Progress
from ..float.report import FloatReport
from ..plant import Plant
from .path import Kind
from .teacher import Teacher


class Teaching(Floating):
    """A floating arm whose motion is recorded from the moment it is let go. Nothing moves before :meth:`run`.

    ::

        with SignalSafe(plant):
            teaching = Teaching(plant, robot, "waypoints")
            teaching.start()
            ...  # guide the arm by hand, and at each way point:
            teaching.teacher.mark()
            teaching.stop()
            teaching.wait()
        taught = teaching.teacher.finish("wipe the table")

    Attributes:
        teacher: Takes the samples; it has them also where the run ended in an exception.
    """

    def __init__(
        self,
        plant: Plant,
        robot: Robot,
        kind: Kind = "continuous",
        *,
        began: Callable[[], None] | None = None,
        each: Callable[[Sample], None] | None = None,
        **settings: Any,
    ) -> None:
        """Prepare; refuse at once what needs no measurement to be refused.

        Args:
            plant: What is driven.
            robot: The arm's model, payload included.
            kind: "continuous" or "waypoints".
            began: Called once, from the loop, when the arm is let go and the recording begins.
            each: Called with every good sample while the arm floats, after it was recorded.
            settings: How it floats; see control.float.floating.Floating.
        """
        teacher = self.teacher = Teacher(robot, kind)

        def let_go() -> None:
            teacher.start()
            if began is not None:
                began()

        def recorded(sample: Sample) -> None:
            teacher.record(sample)
            if each is not None:
                each(sample)

        super().__init__(plant, robot, began=let_go, each=recorded, **settings)

    def run(self, seconds: float | None = None, *, progress: Progress | None = None, log: bool = False) -> FloatReport:
        """Check the arm, let it float and record it; see Floating.run."""
        try:
            return super().run(seconds, progress=progress, log=log)
        finally:
            self.teacher.stop()
