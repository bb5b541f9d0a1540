"""Tuning a plant that is always the same, as a real arm is: it stays where it is, and what it does wrong is told."""

from __future__ import annotations

from dataclasses import fields, replace
from types import SimpleNamespace
from typing import Any, Literal, cast

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.control import Law, Plant, plate_of
from counterpoise.plants import ArmConfig, Encoder, OneLink, SingleJoint, Timing, preset
from counterpoise.recording import Sample, SampleFlag
from counterpoise.tasks import (
    LawGains,
    Prober,
    Rig,
    TriangleTask,
    TuningRule,
    freely_tuned,
    learned_friction,
    tared_loop,
    tuned,
)
from counterpoise.tasks.tune.probe import Probed, holding_gains

RULE = TuningRule(resolution=0.15)
ESTOP = "I have an emergency stop within reach"


def test_steps_lead_back_and_forth() -> None:
    """Each ends where it leads; one after the other they stay near where the first began, also after one strayed."""
    plant = preset("puma550").single_joint()
    prober = Prober(lambda: Rig(plant, plant.robot), 0, RULE)
    gains = LawGains("pid", plant.joint_names, [1094.0], [63.0], [5000.0], [0.0])
    for turn in range(4):
        assert prober.probe(gains, "step", 1.0).stable
        assert plant.truth().q[0] == pytest.approx(RULE.step * (turn % 2 == 0), abs=0.1 * RULE.step)
    assert prober.probe(gains.with_joint(0, ki=60000.0), "step", 1.0).strayed
    far = abs(plant.truth().q[0])
    assert far > RULE.step
    assert prober.probe(gains, "step", 1.0).stable
    assert abs(plant.truth().q[0]) == pytest.approx(far - RULE.step, abs=0.2 * RULE.step)


def test_a_new_plant_has_not_sunk() -> None:
    """A simulation that is made anew may stand anywhere."""
    made = preset("puma550").single_joint()
    places = iter((0.0, 0.3))
    gains = LawGains("pid", made.joint_names, [1094.0], [63.0], [5000.0], [0.0])
    prober = Prober(
        lambda: Rig(SingleJoint(made.link, made.config.replaced(position=next(places))), made.robot), 0, RULE
    )
    assert prober.probe(gains, "step", 1.0).stable
    assert prober.probe(gains, "step", 1.0).stable


@pytest.mark.parametrize(
    ("shaken", "motion", "stable", "count"),
    [
        ("neither", "move", True, 1),
        ("upper", "move", True, 2),
        ("lower", "move", True, 1),
        ("both", "move", False, 2),
        ("both", "step", True, 1),
    ],
)
def test_a_move_that_swings_is_made_again_to_the_other_side(
    shaken: str, motion: Literal["step", "move"], stable: bool, count: int
) -> None:
    """What shakes on one side of the start only is no loop that oscillates; a step is judged by its answer alone."""
    sides = {"neither": (), "upper": (1.0,), "lower": (-1.0,), "both": (1.0, -1.0)}[shaken]

    class Shaken(SingleJoint):
        def read(self) -> Sample:
            seen = super().read()
            if seen.time < 0.5 or not any(side * seen.q[0] > 0.05 * RULE.step for side in sides):
                return seen
            return replace(seen, dq=seen.dq + 0.05 * np.sin(2.0 * np.pi * 25.0 * seen.time))

    made = preset("puma550").single_joint()
    gains = LawGains("pd", made.joint_names, [1094.0], [63.0], [0.0], [0.0])
    prober = Prober(lambda: Rig(Shaken(made.link, made.config), made.robot), 0, RULE)
    shown = prober.probe(gains, motion, 2.0)
    assert (shown.stable, prober.count) == (stable, count)
    if not stable:
        assert shown.swing.frequency == pytest.approx(25.0, rel=0.1)
        assert shown.swing.amplitude == pytest.approx(63.0 * 0.05, rel=0.3)


def test_a_step_goes_to_the_side_where_there_is_room() -> None:
    """One and a half steps are enough; the wanted side first, then the other, and none where neither has room."""
    made = preset("puma550").single_joint()
    prober, room = Prober(lambda: Rig(made, made.robot), 0, RULE), 1.5 * RULE.step
    for below, above, wanted, expected in (
        (room, room, 1.0, 1.0),
        (room, room, -1.0, -1.0),
        (room, 0.9 * room, 1.0, -1.0),
        (0.9 * room, room, -1.0, 1.0),
    ):
        plant = SimpleNamespace(lower=np.array([-below]), upper=np.array([above]), joint_names=("joint1",))
        assert prober._direction(cast(Plant, plant), np.zeros(1), wanted) == expected
    tight = SimpleNamespace(lower=np.array([-0.9 * room]), upper=np.array([0.9 * room]), joint_names=("joint1",))
    with pytest.raises(cp.InputError, match="no room for a step"):
        prober._direction(cast(Plant, tight), np.zeros(1), 1.0)


def test_an_arm_that_sinks_is_told_so() -> None:
    """Without brakes and friction it falls between two experiments; nothing is tried where it then hangs."""
    link = OneLink(inertia=2.0, gravity=8.0, effort_limit=60.0, velocity_limit=3.0, lower=-2.5, upper=2.5)
    config = ArmConfig(timing=Timing(dt=2e-3), encoder=Encoder(velocity="exact"), position=1.2)
    plant = SingleJoint(link, config)
    with pytest.raises(cp.InputError, match=r"'joint1' is -0\.\d+ rad from where the experiment before.*brakes"):
        tuned(lambda: Rig(plant, plant.robot), "pid", rule=RULE)


@pytest.mark.parametrize("share", [0.25, 0.8])
def test_bad_readings_are_left_out_of_the_tare(share: float) -> None:
    """Marked or not finite ones do not count; a plate that gives too few good ones is not tared."""

    class Flawed(SingleJoint):
        def read(self) -> Sample:
            seen = super().read()
            tick = round(seen.time / self.dt)
            if seen.wrench is None or tick % 20 >= 20 * share:
                return seen
            if tick % 2:
                return replace(seen, wrench=np.full(6, np.nan), flags=SampleFlag.WRENCH_INVALID)
            return replace(seen, wrench=np.full(6, 1e3), flags=SampleFlag.WRENCH_SATURATED)

    made = preset("puma550").single_joint()
    with Flawed(made.link, made.config) as plant:
        sensor = plate_of(plant, plant.robot)
        rig = Rig(plant, plant.robot)
        if share > 0.5:
            with pytest.raises(cp.InputError, match="usable readings"):
                tared_loop(rig, sensor, RULE)
        else:
            tared_loop(rig, sensor, RULE)
            assert sensor.tare_state is not None and np.abs(sensor.tare_state.reading).max() < 100.0


def test_an_arm_without_a_watchdog_can_be_tuned_freely() -> None:
    """With the words that it needs, in tuning as in the task; without them it is refused."""
    made = preset("puma550").single_joint()

    def make() -> SingleJoint:
        return SingleJoint(made.link, made.config.replaced(watchdog=None))

    rule = TuningRule(bandwidth=3.0, resolution=0.3, move_time=0.5, rest_time=0.4)
    with pytest.raises(cp.SafetyError, match="emergency stop"):
        freely_tuned(lambda: Rig(make(), made.robot), "pd", lambda _: 1.0, rule=rule)
    with pytest.raises(cp.SafetyError, match="emergency stop"):
        TriangleTask(lambda: Rig(make(), made.robot), periods=1).rms(holding_gains(Rig(made, made.robot), np.zeros(1)))
    found = freely_tuned(lambda: Rig(make(), made.robot, i_have_an_estop=ESTOP), "pd", lambda _: 1.0, rule=rule)
    task = TriangleTask(lambda: Rig(make(), made.robot, i_have_an_estop=ESTOP), period=1.0)
    assert task.rms(found.tuning.gains) > 0.0


class Failing(SingleJoint):
    """Its plate is gone, or at the end of its range, from 1.5 s on."""

    kind, until = "", 0.0

    def read(self) -> Sample:
        seen = super().read()
        if not self.kind or seen.wrench is None or not 1.5 < seen.time < self.until:
            return seen
        return replace(seen, wrench=None) if self.kind == "gone" else replace(seen, flags=SampleFlag.WRENCH_SATURATED)


class Thorough(LawGains):
    """Gains of a law that lets the sensor's own estimate judge."""

    def laws(self, *args: Any, **settings: Any) -> tuple[Law, ...]:
        return super().laws(*args, **settings, thorough=True)


def test_a_probe_without_its_plate_does_not_speak_for_gains() -> None:
    """Lost for good it ends the tuning; at the end of its range it counts as oscillation; a short gap does no harm."""
    made = preset("puma550").single_joint()

    gains = LawGains("bsc", made.joint_names, [1094.0], [63.0], [0.0], [60.0])

    def probed(kind: str, until: float, gains: LawGains = gains) -> tuple[Probed, float]:
        plant = Failing(made.link, made.config)
        plant.kind, plant.until = kind, until
        prober = Prober(lambda: Rig(plant, plant.robot), 0, RULE)
        return prober.probe(gains, "move", 5.0), prober.without_plate

    shown, away = probed("", 9.0)
    assert shown.stable and away == 0.0
    shown, away = probed("gone", 1.55)
    # 50 ms of which five ticks are bridged, then the 0.1 s for which it must be good
    assert shown.stable and away == pytest.approx(0.05 - 5 * made.dt + 0.1, abs=3 * made.dt)
    with pytest.raises(cp.SafetyError, match="without the plate: the sample has no plate reading"):
        probed("gone", 9.0)
    thorough = Thorough(*(getattr(gains, field.name) for field in fields(gains)))
    for judged in (gains, thorough):
        shown, _ = probed("full", 9.0, judged)
        assert not shown.stable and shown.strayed and "end of its range" in shown.reason


def test_a_task_without_its_plate_says_nothing_of_its_gains() -> None:
    """Neither its error nor its friction: a plate that is lost for long ends both with words."""
    made = preset("puma550").single_joint()
    gains = LawGains("bsc", made.joint_names, [1094.0], [63.0], [0.0], [60.0])

    def rig() -> Rig:
        plant = Failing(made.link, made.config)
        plant.kind, plant.until = "gone", 99.0
        return Rig(plant, plant.robot)

    with pytest.raises(cp.SafetyError, match="without the plate: the sample has no plate reading"):
        TriangleTask(rig, period=2.0).rms(gains)
    with pytest.raises(cp.SafetyError, match="without the plate: the sample has no plate reading"):
        learned_friction(rig, gains)


def test_tuning_says_for_how_long_the_plate_was_lost() -> None:
    """A gap that is too short to spoil a probe is a note of the joint, in seconds of all its experiments."""
    made = preset("puma550").single_joint()

    def rig() -> Rig:
        plant = Failing(made.link, made.config)
        plant.kind, plant.until = "gone", 1.55
        return Rig(plant, plant.robot)

    rule = TuningRule(resolution=0.5)
    position = LawGains("bsc", made.joint_names, [1094.0], [63.0], [0.0], [0.0])
    (joint,) = tuned(rig, "bsc", rule=rule, position=position).joints
    (note,) = [text for text in joint.notes if "torque feedback was lost" in text]
    seconds = float(note.split("lost for ")[1].split()[0])
    assert seconds == pytest.approx(0.14 * joint.probes, rel=0.3)


def test_friction_is_learned_across_gaps_of_the_plate() -> None:
    """Readings that are missing now and then change nothing but the number of points."""

    class Gappy(SingleJoint):
        def read(self) -> Sample:
            seen = super().read()
            return replace(seen, wrench=None) if round(seen.time / self.dt) % 50 == 7 else seen

    made = preset("puma550").single_joint()
    gains = LawGains("bsc", made.joint_names, [1094.0], [63.0], [0.0], [100.0])
    whole = learned_friction(lambda: Rig(made, made.robot), gains)
    gappy = learned_friction(lambda: Rig(Gappy(made.link, made.config), made.robot), gains)
    assert 0.95 * len(whole.friction) < len(gappy.friction) < len(whole.friction)
    assert gappy.law.forward == pytest.approx(whole.law.forward, rel=0.05)
