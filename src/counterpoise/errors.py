"""Every exception of the package, under one root.

.. code-block:: text

    CounterpoiseError
    ├─ InputError                 a value passed by the caller: shape, type, NaN, unknown name   (also a ValueError)
    │  ├─ DataFileError           ... in a file of data, such as a recording; carries path and line
    │  │  └─ BudgetError          ... because reading it costs more than allowed; carries the budget's name
    │  └─ InfeasiblePathError     a taught path that the arm cannot follow; carries time, joint and a speed that works
    ├─ ModelError                 a robot description
    │  └─ ModelFileError          ... that cannot be read; carries path and line
    │     ├─ PhysicalConsistencyError   ... because a mass or an inertia cannot exist
    │     └─ UnsupportedJointError      ... because a joint is outside our scope
    ├─ SafetyError                a plant may not be driven, or no longer; carries the last samples
    │  ├─ JointLimitError         ... a joint is outside its limits or over its speed
    │  ├─ StaleSampleError        ... samples stay away, repeat, go back in time or come too late
    │  ├─ SensorFaultError        ... a reading is not a number, frozen, jumps or is saturated
    │  ├─ OverrunError            ... ticks of the loop take too long
    │  ├─ PlantError              ... the plant itself failed to read or write
    │  ├─ LawError                ... a control law raised, or returned what is no torque
    │  └─ FallError               ... a joint fell while a run took the arm over
    ├─ EndOfLogError              a replayed recording has no further samples
    └─ MissingExtraError          an optional dependency is not installed                        (also an ImportError)

A message says what is wrong, where (file and line, link, joint), what was expected and what to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any


class CounterpoiseError(Exception):
    """Root of every exception that counterpoise raises on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the finished message and the attributes: errors come back from worker processes as they were."""
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[CounterpoiseError], args: tuple[Any, ...], attributes: dict[str, Any]) -> CounterpoiseError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(attributes)
    return error


class InputError(CounterpoiseError, ValueError):
    """An argument has the wrong shape, type or value, or names something that does not exist."""


class DataFileError(InputError):
    """A file of data (a recording, poses, a calibration, a page) cannot be read or written.

    Attributes:
        path: The file, as given by the caller.
        line: Offending line, counted from 1; None where no line applies.
    """

    def __init__(self, message: str, *, path: str | Path, line: int | None = None) -> None:
        """Build the message."""
        self.path = str(path)
        self.line = line
        super().__init__(f"{locate(path, line)}: {message}")


class BudgetError(DataFileError):
    """Reading a file would cost more than the budget allows; who trusts the file raises that budget.

    Attributes:
        budget: Name of the budget: a field of counterpoise.recording.budget.ReadingBudget.
        path: The file, as given by the caller.
    """

    def __init__(self, message: str, *, budget: str, path: str | Path) -> None:
        """Attach which budget."""
        self.budget = budget
        super().__init__(message, path=path)


class InfeasiblePathError(InputError):
    """A path cannot be followed by the arm as asked; nothing has moved.

    Attributes:
        time: When it would first go wrong [s after the beginning of the part of the plan that is named].
        joint: The joint at fault; None where no single joint is (a collision).
        what: "position", "speed", "acceleration", "effort" or "clearance".
        feasible_speed: A lower speed at which the path can be followed; None where none was found.
    """

    def __init__(
        self, message: str, *, time: float, joint: str | None, what: str, feasible_speed: float | None = None
    ) -> None:
        """Attach when, which joint, and what would help."""
        self.time = time
        self.joint = joint
        self.what = what
        self.feasible_speed = feasible_speed
        super().__init__(message)


class ModelError(CounterpoiseError):
    """A robot description is wrong or asks for something it cannot give."""


class ModelFileError(ModelError):
    """A robot description cannot be read.

    Attributes:
        path: File that was read, as given by the caller; None for text without a file.
        line: Line of the offending element, counted from 1; None where no line applies.
    """

    def __init__(self, message: str, *, path: str | Path | None = None, line: int | None = None) -> None:
        """Build the message."""
        self.path = None if path is None else str(path)
        self.line = line
        super().__init__(f"{locate(path, line)}: {message}")


class PhysicalConsistencyError(ModelFileError):
    """A mass or an inertia cannot belong to a real body."""


class UnsupportedJointError(ModelFileError):
    """A joint is of a kind that counterpoise does not handle (floating, planar, ball)."""


class SafetyError(CounterpoiseError):
    """A plant may not be driven, or was stopped: the safe stop is over when this is raised.

    Attributes:
        history: The last ticks (control.report.HistoryEntry: sample and what was sent), oldest first; empty when
            refused before the first.
        report: The whole run (control.report.RunReport); None when it never began.
    """

    def __init__(self, message: str, *, history: Iterable[Any] = (), report: Any = None) -> None:
        """Attach what happened before."""
        self.history = tuple(history)
        self.report = report
        super().__init__(message)


class JointLimitError(SafetyError):
    """A joint is outside its position limits or faster than its speed limit."""


class StaleSampleError(SafetyError):
    """Samples stay away, repeat, go back in time or come too late."""


class SensorFaultError(SafetyError):
    """A reading is not a number, is frozen, jumps, or its sensor is saturated."""


class OverrunError(SafetyError):
    """Ticks of the loop took longer than the time between samples."""


class PlantError(SafetyError):
    """The plant itself failed to read or to write."""


class LawError(SafetyError):
    """A control law raised an exception, or returned something that is no torque: the arm itself is not at fault."""


class FallError(SafetyError):
    """A joint fell while a run took the arm over: from brakes that opened, or from drives that do not hold it."""


class EndOfLogError(CounterpoiseError):
    """A replayed recording has no further samples."""


class MissingExtraError(CounterpoiseError, ImportError):
    """An optional dependency is needed and not installed."""

    def __init__(self, purpose: str, extra: str) -> None:
        """Build the message."""
        self.extra = extra
        super().__init__(f"{purpose} needs an optional dependency: pip install 'counterpoise[{extra}]'")


def locate(path: str | Path | None, line: int | None) -> str:
    """Return ``file:line`` as far as the two are known, for the head of a message."""
    name = "<text>" if path is None else str(path)
    return name if line is None else f"{name}:{line}"


def listed(names: Sequence[str], most: int = 12) -> str:
    """Return names for a message, cut after ``most``: "a, b, c and 4 more"."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def reason_of(error: Exception) -> str:
    """Return why a file could not be read or written, without its name, which the message says already."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
