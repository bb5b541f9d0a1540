"""A rig refuses, before anything is read or sent, what a control loop would refuse; then it hands out that loop."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields, replace
from typing import Any

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.control import PD, Gravity, PDGravity, Plant, SafetyFilter, SafetySettings, WallClock
from counterpoise.control.loop import ESTOP_WORDS
from counterpoise.errors import InputError
from counterpoise.recording import Sample
from library.ideal_arm import IdealArm

PUMA = cp.load("puma560")


class Untouched(IdealArm):
    """An arm that nobody may enter, read or write."""

    def __enter__(self) -> Any:
        pytest.fail("the plant was entered")

    def read(self) -> Sample:
        pytest.fail("the plant was read")

    def write(self, tau: Any) -> Any:
        pytest.fail("the plant was written")


def changed(**changes: Any) -> Plant:
    arm = Untouched(PUMA)
    for name, value in changes.items():
        setattr(arm, name, value)
    return arm


@pytest.mark.parametrize(
    ("plant", "robot", "others"),
    [
        (object(), PUMA, {}),
        (changed(), cp.load("scara"), {}),
        (changed(), PUMA, {"safety": SafetyFilter(PUMA, dt=2e-3)}),
        (changed(effort_limit=0.5 * PUMA.effort_limit), PUMA, {"safety": SafetyFilter(PUMA, plant=changed())}),
        (changed(stop="brakes"), PUMA, {}),
        (changed(watchdog=None), PUMA, {}),
        (changed(watchdog=np.inf), PUMA, {"i_have_an_estop": "yes"}),
        (changed(watchdog=1e-6), PUMA, {}),
        (changed(), PUMA, {"clock": "fast"}),
    ],
    ids=["no plant", "joints", "dt", "wider", "stop", "no watchdog", "wrong words", "short watchdog", "clock"],
)
def test_a_rig_refuses_what_a_loop_refuses(plant: Any, robot: cp.Robot, others: dict[str, Any]) -> None:
    """With the same error and the same words, and without touching the plant."""
    with pytest.raises((InputError, cp.SafetyError)) as by_loop:
        cp.ControlLoop(plant, Gravity(robot), robot, **others)
    with pytest.raises(type(by_loop.value)) as by_rig:
        cp.Rig(plant, robot, **others)
    assert type(by_rig.value) is type(by_loop.value) and str(by_rig.value) == str(by_loop.value)


def test_the_words_let_an_arm_without_watchdog_be_driven() -> None:
    """They are passed on to the loop."""
    rig = cp.Rig(changed(watchdog=None), PUMA, i_have_an_estop=ESTOP_WORDS)
    assert isinstance(rig.loop(Gravity(PUMA)), cp.ControlLoop)


def test_gravity_is_added_by_the_law_or_by_the_plant() -> None:
    """Never by both, never by neither."""
    pd = PD(np.ones(6), np.ones(6))
    for adds in (False, True):
        laws = cp.Rig(changed(adds_gravity=adds), PUMA).with_gravity(pd)
        assert laws[0] is pd and [law.adds_gravity for law in laws] == [False] + [True] * (not adds)


def test_gravity_twice_is_refused_where_the_law_is_known() -> None:
    """A rig of a plant that adds gravity is fine; a law with gravity on it is not."""
    rig = cp.Rig(changed(adds_gravity=True), PUMA)
    with pytest.raises(cp.SafetyError, match="adds gravity itself"):
        rig.loop(Gravity(PUMA))


def test_a_loop_has_the_rigs_filter_and_drives_as_one_that_is_made_by_hand() -> None:
    """Sample by sample the same torques."""
    settings = SafetySettings(blend_time=0.1)
    arms = IdealArm(PUMA), IdealArm(PUMA)
    filters = [SafetyFilter(PUMA, plant=arm, settings=settings) for arm in arms]
    law = [PDGravity(PUMA, np.full(6, 50.0), np.full(6, 5.0)) for _ in arms]
    rig = cp.Rig(arms[0], PUMA, safety=filters[0])
    loops = rig.loop(law[0]), cp.ControlLoop(arms[1], law[1], PUMA, safety=filters[1])
    assert loops[0].safety is rig.safety is filters[0]
    for arm, loop in zip(arms, loops, strict=True):
        with arm:
            loop.run(0.3)
    np.testing.assert_array_equal(arms[0].sent, arms[1].sent)
    assert len(arms[0].sent) > 300


def test_the_filter_is_made_once_with_the_tighter_limits() -> None:
    """All tasks of a rig share it."""
    rig = cp.Rig(changed(effort_limit=0.5 * PUMA.effort_limit), PUMA)
    assert np.array_equal(rig.safety.limits.effort, 0.5 * PUMA.effort_limit)
    assert rig.loop(Gravity(PUMA)).safety is rig.loop(Gravity(PUMA)).safety is rig.safety


def test_a_clock_keeps_the_period() -> None:
    """Without one a simulation runs as fast as it can."""

    class Counted(WallClock):
        waits = 0

        def now(self) -> float:
            return 1e-3 * self.waits  # a busy machine is not late by this clock

        def wait_until(self, moment: float) -> None:
            self.waits += 1

    clock, arm = Counted(), IdealArm(PUMA)
    with arm:
        report = cp.Rig(arm, PUMA, clock=clock).loop(Gravity(PUMA)).run(0.05)
    assert clock.waits >= report.ticks - 1 > 0


def test_a_rig_cannot_be_changed_and_another_one_is_checked() -> None:
    """dataclasses.replace keeps the rest: above all the filter."""
    rig = cp.Rig(changed(), PUMA, measure_rotors=False)
    with pytest.raises(FrozenInstanceError):
        rig.robot = PUMA.with_payload(1.0)  # type: ignore[misc]
    loaded = replace(rig, robot=PUMA.with_payload(1.0))
    for field in fields(rig):
        assert field.name == "robot" or getattr(loaded, field.name) is getattr(rig, field.name)
    with pytest.raises(InputError, match="joints"):
        replace(rig, robot=cp.load("scara"))


def test_announcements_are_warnings_unless_told() -> None:
    """What is about to move is said in any case."""
    with pytest.warns(UserWarning, match="the pulses begin"):
        cp.Rig(changed(), PUMA).announce("the pulses begin")
