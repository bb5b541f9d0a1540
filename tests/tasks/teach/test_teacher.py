"""Recording samples: what is kept, what is passed over, waypoints from another thread."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.errors import InputError
from counterpoise.recording import Sample, SampleFlag
from counterpoise.tasks import Rig, Teaching
from counterpoise.tasks.teach import teaching as module
from counterpoise.tasks.teach.teaching import Teacher
from library.ideal_arm import IdealArm

ROBOT = cp.load("planar3")


def sample(time: float, angle: float, flags: SampleFlag = SampleFlag.NONE) -> Sample:
    """An instant with all joints at one angle."""
    return Sample(time, np.full(3, angle), np.zeros(3), np.zeros(3), None, flags)


def feed(teacher: Teacher, begin: float = 0.0, end: float = 2.0) -> None:
    """A rest, a move of half a radian, a rest."""
    for time in np.arange(begin, end, 0.005):
        part = np.clip((time - begin - 0.5) / (end - begin - 1.0), 0.0, 1.0)
        teacher.record(sample(time, 0.5 * part * part * (3.0 - 2.0 * part)))


def test_a_continuous_path() -> None:
    """Only what comes between start and stop is kept, its idle ends are cut off, and the file says so."""
    teacher = Teacher(ROBOT)
    teacher.record(sample(-1.0, 9.0))
    teacher.start()
    feed(teacher)
    teacher.stop()
    teacher.record(sample(3.0, 9.0))
    taught = teacher.finish("bend", notes={"by": "a test"})
    path = taught.path
    assert path.kind == "continuous" and path.robot == ROBOT.name and path.notes["by"] == "a test"
    assert np.max(path.q) == pytest.approx(0.5, abs=1e-3)
    assert taught.trimmed[0] > 0.2 and taught.trimmed[1] > 0.2
    assert path.duration == pytest.approx(2.0 - sum(taught.trimmed), abs=0.02)
    assert set(taught.moved_tips) == set(ROBOT.tree.leaves) and max(taught.moved_tips.values()) < 0.01
    assert not taught.full


def test_bad_samples_are_passed_over() -> None:
    """No position, NaN, or a time that does not advance."""
    teacher = Teacher(ROBOT)
    teacher.start()
    teacher.record(sample(0.0, 0.0))
    teacher.record(sample(0.1, 5.0, SampleFlag.Q_INVALID))
    teacher.record(sample(0.1, np.nan))
    teacher.record(sample(0.0, 5.0))
    teacher.record(sample(0.2, 0.5))
    assert teacher.count == 2


def test_way_points_are_marked_from_another_thread() -> None:
    """Each mark keeps the newest pose; marking twice in one instant keeps one."""
    teacher = Teacher(ROBOT, "waypoints")
    teacher.start()
    for angle in (0.0, 0.3, 0.6):
        teacher.record(sample(angle, angle))
        thread = threading.Thread(target=teacher.mark)
        thread.start()
        thread.join()
    assert teacher.mark() == 3
    path = teacher.finish("points").path
    assert path.kind == "waypoints"
    assert path.q[:, 0] == pytest.approx([0.0, 0.3, 0.6])


def test_what_cannot_be_taught_is_refused() -> None:
    """Marks on a continuous path or before the start, an unknown kind, too few rows."""
    with pytest.raises(InputError, match="continuous"):
        Teacher(ROBOT).mark()
    with pytest.raises(InputError, match="start"):
        Teacher(ROBOT, "waypoints").mark()
    with pytest.raises(InputError, match="kind"):
        Teacher(ROBOT, "curve")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="0 samples"):
        Teacher(ROBOT).finish("x")


def test_way_points_at_even_times_need_way_points_and_a_time() -> None:
    """Refused when the teaching is made: in the loop a refusal would come too late."""
    rig = Rig(IdealArm(ROBOT), ROBOT)
    for wrong in (
        {"mark_every": 1.0},
        {"mark_every": 0.0, "kind": "waypoints"},
        {"mark_every": np.nan, "kind": "waypoints"},
    ):
        with pytest.raises(InputError, match="mark_every"):
            Teaching(rig, **wrong)  # type: ignore[arg-type]
    assert Teaching(rig, kind="waypoints", mark_every=0.5).teacher.kind == "waypoints"


def test_a_recording_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """When it is full it ends, and says so."""
    monkeypatch.setattr(module, "MOST_SAMPLES", 200)
    teacher = Teacher(ROBOT)
    teacher.start()
    feed(teacher)
    assert teacher.count == 200 and not teacher.recording
    assert teacher.finish("x", trim=False).full
