"""What a report says of a run in which torque feedback was lost, by its events."""

from __future__ import annotations

from types import MappingProxyType

import pytest

from counterpoise.control.fault import Fault
from counterpoise.control.report import EndState, Event, PlateLoss, RunReport

DT = 0.01


def report(*told: tuple[int, str, str], ticks: int = 1000, stop_ticks: int = 100) -> RunReport:
    """A run of 10 s, the last second of it the stop, with events at some ticks."""
    return RunReport(
        end=EndState.COMPLETED,
        fault=Fault.NONE,
        stop="zero",
        ticks=ticks,
        held_ticks=0,
        stop_ticks=stop_ticks,
        overruns=0,
        duration=ticks * DT,
        flag_counts=MappingProxyType({}),
        events=tuple(Event(tick * DT, tick, kind, None, message) for tick, kind, message in told),
        events_dropped=0,
        log=None,
    )


def test_a_run_with_its_plate_lost_nothing() -> None:
    """Other events are no loss; nor is a return alone; an empty run has no driven time."""
    made = report((0, "started", "from zero torque"), (5, "recovered", ""), (9, "plate_back", ""))
    assert made.plate_losses == () and made.plate_text() == ""
    assert made.driven == pytest.approx(9.0)
    assert report(ticks=0, stop_ticks=0).driven == 0.0


def test_a_loss_lasts_until_feedback_resumes_or_the_stop_begins() -> None:
    """Each from its own event to the next return; the ticks of the stop are none of the law's."""
    made = report(
        (100, "plate_lost", "unplugged"),
        (250, "plate_back", "good again"),
        (600, "plate_lost", "saturated"),
    )
    assert made.plate_losses == (
        PlateLoss(1.0, 2.5, True, "unplugged"),
        PlateLoss(6.0, pytest.approx(9.0), False, "saturated"),  # type: ignore[arg-type]
    )
    text = made.plate_text()
    assert text.startswith("torque feedback was lost 2 times, for 4.5 s in all; first from 1 s to 2.5 s: unplugged;")
    assert text.endswith("last from 6 s to the end at 9 s: saturated")
    alone = report((100, "plate_lost", "unplugged"))
    assert alone.plate_text() == "torque feedback was lost from 1 s to the end at 9 s: unplugged"
