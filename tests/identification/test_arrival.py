"""Whether a joint came to rest from the stated side, judged from positions alone."""

from __future__ import annotations

import numpy as np
import pytest

from counterpoise.errors import InputError
from counterpoise.identification.still_poses import arrival_notes, arrivals
from counterpoise.recording import Declared, Log

TIME = np.linspace(0.0, 4.0, 401)
PLAN = {
    "offsets": [[0.03, 0.03]],
    "windows": [{"pose": 0, "side": "above", "creep": 1.0, "begin": 2.5, "end": 3.5}],
}


def log_of(first: np.ndarray, second: np.ndarray) -> Log:
    """A log of two joints with the plan above."""
    q = np.column_stack([first, second])
    zeros = np.zeros_like(q)
    return Log(("a", "b"), TIME, q, zeros, zeros, declared=Declared(notes={"plan": PLAN}))


def creeping(sign: float = -1.0) -> np.ndarray:
    """From 0.03 to 0 (or away from it) between 1 s and 2 s."""
    return 0.03 + sign * 0.03 * np.clip(TIME - 1.0, 0.0, 1.0)


def test_joint_that_creeps_as_stated_passes() -> None:
    """Moved by the approach, never back."""
    found = arrivals(log_of(creeping(), creeping()))
    assert len(found) == 1 and found[0].failed == []
    assert found[0].moved == pytest.approx([0.03, 0.03], abs=1e-9)
    assert arrival_notes(log_of(creeping(), creeping())) == []


def test_joint_that_sticks_or_goes_the_other_way_or_swings_back_is_named() -> None:
    """Three ways to fail."""
    swinging = creeping() + 0.01 * np.clip(TIME - 2.0, 0.0, 1.0)
    for wrong in (np.full_like(TIME, 0.03), creeping(1.0), swinging):
        notes = arrival_notes(log_of(creeping(), wrong))
        assert len(notes) == 1 and notes[0].startswith("b did not come to rest from the stated side in 1 of 1")


def test_windows_that_were_not_reached_do_not_count() -> None:
    """A recording that was cut has the approaches up to there."""
    assert arrivals(log_of(creeping(), creeping()).slice(0.0, 2.0)) == ()


def test_log_without_a_plan_is_refused() -> None:
    """There is nothing to judge."""
    zeros = np.zeros((len(TIME), 1))
    with pytest.raises(InputError, match="no plan"):
        arrivals(Log(("a",), TIME, zeros, zeros, zeros))
