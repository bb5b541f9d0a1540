"""Force in one direction, position in the others: approach, no jump, force held along a path, bounded when it fails."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import counterpoise as cp
from counterpoise.control.law import Law, LimitAware, Reporting
from counterpoise.control.loop import ControlLoop
from counterpoise.control.report import RunReport
from counterpoise.control.tip.hybrid_force import MOST_FORCE, HybridForce
from counterpoise.control.tip.impedance import Impedance
from counterpoise.control.tip.tip import Straight
from counterpoise.control.tip.wrist_feedback import WristFeedback
from counterpoise.errors import InputError
from counterpoise.foundation import Array
from counterpoise.plants import ArmConfig, Links, SimulatedArm, Surface, Timing, Touch, Touching, preset
from counterpoise.recording import Sample
from library.wrist_stand_in import WristOf, reading_of, wrist_calibration

pytest.importorskip("mujoco")
ROBOT = cp.load("wam7")
Q = np.array([-0.35, 0.5, 0.0, 2.0, 0.0, 0.55, 0.0])
TIP = ROBOT.forward_kinematics(Q)[:3, 3]
STIFFNESS = (400.0,) * 3 + (15.0,) * 3
FORCE = 30.0
SPEED_LIMIT = preset("wam7").config.velocity_limit


def table(below: float = 0.005, friction: float = 0.2) -> Surface:
    return Surface(origin=TIP - [0.0, 0.0, below], stiffness=2e4, damping=200.0, friction=friction)


def ideal(*events: Surface) -> SimulatedArm:
    timing = Timing(2e-3, 5e-4)
    return SimulatedArm(ROBOT, ArmConfig(position=Q, timing=timing, events=events, velocity_limit=SPEED_LIMIT))


class Watched:
    """A run with what happened at every tick: the true force, the measured place, and what the law was doing."""

    def __init__(self, plant: SimulatedArm, law: HybridForce, seconds: float, until_path: float = np.inf) -> None:
        self.force: list[float] = []
        self.place: list[Array] = []
        self.commanded: list[float] = []
        self.phase: list[str] = []
        self.path_time: list[float] = []

        def watch(now: Sample) -> bool:
            touches = plant.touches()
            self.force.append(float(touches[0].force[2]) if touches else 0.0)
            self.place.append(ROBOT.forward_kinematics(now.q)[:3, 3])
            self.commanded.append(law.commanded)
            self.phase.append(law.phase)
            self.path_time.append(law.path_time)
            return law.path_time > until_path

        with plant:
            self.report: RunReport = ControlLoop(plant, law, ROBOT).run(seconds, until=watch)

    @property
    def kinds(self) -> list[str]:
        return [event.kind for event in self.report.events]


def on_path(run: Watched) -> tuple[Array, float]:
    """Return the forces while the path was followed, and how far the tip went."""
    rows = np.array(run.path_time) > 0.0
    places = np.array(run.place)[rows]
    return np.array(run.force)[rows], float(np.linalg.norm(places[-1] - places[0]))


def test_it_keeps_the_protocol() -> None:
    """A law that listens to the filter and reports."""
    law = HybridForce(Impedance(ROBOT, STIFFNESS), FORCE, (0, 0, -1))
    assert isinstance(law, Law)
    assert isinstance(law, LimitAware)
    assert isinstance(law, Reporting)
    assert law.adds_gravity
    assert not HybridForce(Impedance(ROBOT, STIFFNESS, gravity=False), FORCE, (0, 0, -1)).adds_gravity


def test_the_force_is_held_over_half_a_metre_without_friction() -> None:
    """An arm without joint friction presses with the wanted force, within 5 %, by its model alone."""
    path = Straight([(0.0, 0.53, 0.0)], speed=0.4)
    law = HybridForce(Impedance(ROBOT, STIFFNESS, path=path), FORCE, (0, 0, -1), approach_speed=0.05)
    run = Watched(ideal(table()), law, 6.0, until_path=2.6)
    force, way = on_path(run)
    assert way > 0.5
    assert np.abs(force / FORCE - 1.0).max() < 0.05
    # Where the impedance leads: the tip stays on its line to what friction of the table costs.
    assert np.abs(np.array(run.place)[:, 0] - TIP[0]).max() < 5e-3


def test_a_wrist_sensor_holds_the_force_against_joint_friction() -> None:
    """The WAM preset (friction, compliant gears, ripple, delay) holds 30 N within 5 % over half a metre."""
    plant = SimulatedArm(ROBOT, preset("wam7").config.replaced(position=Q, events=(table(),)))
    calibration = wrist_calibration(ROBOT, "toolplate")
    path = Straight([(0.0, 0.53, 0.0)], speed=0.25)
    law = HybridForce(
        Impedance(ROBOT, STIFFNESS, path=path),
        FORCE,
        (0, 0, -1),
        feedback=WristFeedback(calibration, WristOf(plant, calibration, noise=0.1)),
        approach_speed=0.05,
    )
    run = Watched(plant, law, 7.0, until_path=4.0)
    force, way = on_path(run)
    assert way > 0.5
    assert np.abs(force / FORCE - 1.0).max() < 0.05


def test_nothing_jumps_when_the_tip_touches() -> None:
    """From approach to force the commanded force is continuous, and approaches with no more than its own bound."""
    law = HybridForce(Impedance(ROBOT, STIFFNESS), FORCE, (0, 0, -1), approach_speed=0.05)
    run = Watched(ideal(table()), law, 2.0)
    touched = run.phase.index("force")
    commanded = np.array(run.commanded)
    assert np.abs(np.diff(commanded[touched - 20 : touched + 20])).max() < 0.5
    assert np.max(run.force[:touched]) < 0.75 * FORCE
    assert np.max(run.force) < 1.2 * FORCE
    assert "contact" in run.kinds
    assert run.force[-1] == pytest.approx(FORCE, rel=0.03)


def test_an_approach_that_touches_nothing_ends_within_its_reach() -> None:
    """The tip stops at its reach, is held there and pushes no more."""
    law = HybridForce(Impedance(ROBOT, STIFFNESS), FORCE, (0, 0, -1), approach_speed=0.1, reach=0.03)
    run = Watched(ideal(), law, 2.0)
    assert run.phase[-1] == "held"
    assert "held" in run.kinds
    gone = TIP[2] - np.array(run.place)[:, 2]
    assert gone.max() < 0.035
    assert abs(run.commanded[-1]) < 0.5
    assert np.abs(np.diff(run.commanded)).max() < 0.5


@pytest.mark.parametrize("speed", [0.0, 0.05, -0.05])
@pytest.mark.parametrize("touches", [True, False])
def test_the_end_of_an_approach_takes_its_push_over_at_any_speed(speed: float, touches: bool) -> None:
    """A tip that is felt to touch, or at its reach, may still move: the force of that tick is where the next begins."""
    law, damping = HybridForce(Impedance(ROBOT, STIFFNESS), FORCE, (0, 0, -1), approach_speed=0.1, reach=0.01), 60.0
    law.reset(Sample(0.0, Q, np.zeros(7), ROBOT.gravity(Q)))
    law.torque(Sample(0.0, Q, np.zeros(7), ROBOT.gravity(Q)), 0.0)
    along = float(-TIP[2])
    for _ in range(120):
        push = law._push(along, speed, damping, 0.0, 1e-3)
        if law.phase != "approach":
            break
        if touches and law._now.goal > along + 0.005:
            push = law._push(along, speed, damping, FORCE, 1e-3)
            break
    assert law.phase == ("force" if touches else "held")
    assert law._push(along, speed, damping, None, 0.0) == pytest.approx(
        max(push + damping * speed, 0.0) - damping * speed
    )


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.sampled_from([1e-2, 1.0, 1e3]), st.booleans())
def test_any_samples_give_bounded_torques_and_forces(seed: int, wild: float, sensed: bool) -> None:
    """Poses, speeds and readings without sense: finite torques within the bound, an integral within its share."""
    rng = np.random.default_rng(seed)

    def read() -> Any:
        return [None, np.full(6, np.nan), 1e8 * rng.normal(size=6), 100.0 * rng.normal(size=6)][rng.integers(4)]

    feedback = WristFeedback(wrist_calibration(ROBOT, "toolplate"), read) if sensed else None
    law = HybridForce(Impedance(ROBOT, STIFFNESS), FORCE, rng.normal(size=3), feedback=feedback, reach=1.0)
    assert np.linalg.norm(law.direction) == pytest.approx(1.0)
    law.reset(Sample(0.0, Q, np.zeros(7), np.zeros(7)))
    for tick in range(30):
        q = Q + wild * 0.01 * rng.normal(size=7)
        now = Sample(0.0, q, wild * rng.normal(size=7), np.zeros(7))
        tau = law.torque(now, 0.05 * tick) - ROBOT.gravity(q)
        assert np.all(np.abs(tau) <= 0.5 * ROBOT.effort_limit * (1 + 1e-9))
    still = Sample(0.0, q, np.zeros(7), np.zeros(7))
    law.torque(still, 1.5)
    assert abs(law.commanded) <= (MOST_FORCE + 1.0) * FORCE


def test_an_approaching_tip_that_is_pushed_ahead_is_pulled_back_gently() -> None:
    """Half a metre beyond its goal the spring pulls with the approach's force, not with stiffness times way."""
    law = HybridForce(Impedance(ROBOT, STIFFNESS), FORCE, (0, 0, -1), reach=1.0)
    law.reset(Sample(0.0, Q, np.zeros(7), np.zeros(7)))
    law.torque(Sample(0.0, Q, np.zeros(7), np.zeros(7)), 0.0)
    pushed = Q + np.array([0.0, 0.4, 0.0, 0.3, 0.0, 0.0, 0.0])
    assert TIP[2] - ROBOT.forward_kinematics(pushed)[2, 3] > 0.2
    law.torque(Sample(0.0, pushed, np.zeros(7), np.zeros(7)), 2e-3)
    assert law.phase == "approach"
    assert law.commanded == pytest.approx(-0.5 * FORCE)


def test_a_load_in_the_hand_is_no_missing_force() -> None:
    """Grasped while it presses, a load beyond the wrist sensor does not move the integral."""
    calibration = wrist_calibration(ROBOT, "toolplate")
    loaded = ROBOT.with_payload(1.0)
    pressed = reading_of(calibration, Q, np.array([0.0, 0.0, FORCE]), TIP)
    holding = pressed + reading_of(calibration, Q, ROBOT.gravity_base, TIP) - calibration.bias
    readings = [pressed]
    feedback = WristFeedback(calibration, lambda: readings[0])
    law = HybridForce(Impedance(ROBOT, STIFFNESS), FORCE, (0, 0, -1), feedback=feedback)
    now = Sample(0.0, Q, np.zeros(7), np.zeros(7))
    law.reset(now)
    for tick in range(600):
        law.torque(now, 4e-3 * tick)
    before = law.commanded
    readings[0] = holding
    other = law.with_robot(loaded)
    for tick in range(600, 1200):
        law.torque(now, 4e-3 * tick)
        other.torque(now, 4e-3 * tick)
    assert other.commanded == pytest.approx(before, abs=0.05)
    assert abs(law.commanded - before) > 5.0  # without the load taken off, a third of the force would be wrong


def test_a_surface_that_ends_does_not_let_the_tip_fall() -> None:
    """Led down a slope, the tip goes no further than ``travel`` and a little to brake, and is held there."""
    edge = Surface(origin=TIP - [0.0, 0.0, 0.005], normal=(0.0, 0.3, 1.0), stiffness=2e4, damping=200.0)
    path = Straight([(0.0, 0.3, 0.0)], speed=0.3)
    law = HybridForce(Impedance(ROBOT, STIFFNESS, path=path), FORCE, (0, 0, -1), travel=0.02, approach_speed=0.05)
    run = Watched(ideal(edge), law, 3.0)
    touched = run.phase.index("force")
    assert run.phase[-1] == "held"
    assert np.array(run.place)[touched, 2] - np.min(np.array(run.place)[:, 2]) < 0.05
    assert np.max(run.commanded) <= MOST_FORCE * FORCE


@pytest.mark.parametrize("sensed", [False, True], ids=["open", "wrist"])
def test_a_surface_that_vanishes_does_not_let_the_tip_shoot_off(sensed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """When what is pressed on is gone from one tick to the next, the tip is caught within centimetres."""
    plant, vanish, apply = ideal(table()), 1.6, Touching.apply
    nothing = np.zeros(3)

    def gone(self: Touching, links: Links) -> None:
        if plant.time < vanish:
            apply(self, links)
        else:
            self.touch = Touch(0, nothing, nothing, TIP)

    monkeypatch.setattr(Touching, "apply", gone)
    calibration = wrist_calibration(ROBOT, "toolplate")
    feedback = WristFeedback(calibration, WristOf(plant, calibration)) if sensed else None
    law = HybridForce(Impedance(ROBOT, STIFFNESS), FORCE, (0, 0, -1), feedback=feedback, approach_speed=0.05)
    run = Watched(plant, law, 2.6)
    last = run.phase.index("held")
    assert run.force[last - 30] == pytest.approx(FORCE, rel=0.05)
    heights = np.array(run.place)[last - 30 :, 2]
    assert heights[0] - heights.min() < 0.05
    assert np.abs(np.diff(heights)).max() / plant.dt < 0.5
    assert abs(run.commanded[-1]) < 0.5
    assert any("gave way at" in event.message for event in run.report.events)


def test_a_lost_sensor_does_not_stop_the_force() -> None:
    """When readings stay away the force goes on by the model, and the loss is told."""
    plant = ideal(table())
    calibration = wrist_calibration(ROBOT, "toolplate")
    reader = WristOf(plant, calibration)
    feedback = WristFeedback(calibration, lambda: reader() if plant.time < 1.0 else None)
    law = HybridForce(Impedance(ROBOT, STIFFNESS), FORCE, (0, 0, -1), feedback=feedback, approach_speed=0.05)
    run = Watched(plant, law, 2.2)
    assert "wrist_lost" in run.kinds
    assert run.force[-1] == pytest.approx(FORCE, rel=0.05)


@pytest.mark.parametrize(
    "arguments",
    [
        {"force": 0.0},
        {"force": -5.0},
        {"direction": (0.0, 0.0, 0.0)},
        {"approach_speed": 0.0},
        {"reach": np.nan},
        {"fall_speed": 0.0},
        {"impedance": None},
        {"impedance": Impedance(ROBOT, (100.0, 100.0, 0.0, 5.0, 5.0, 5.0))},
    ],
)
def test_arguments_without_a_meaning_are_refused(arguments: dict[str, Any]) -> None:
    """Every argument is checked when the law is made."""
    standard: dict[str, Any] = {"impedance": Impedance(ROBOT, STIFFNESS), "force": FORCE, "direction": (0, 0, -1)}
    with pytest.raises(InputError):
        HybridForce(**(standard | arguments))


def test_another_payload_goes_on_where_the_law_is() -> None:
    """with_robot keeps phase and progress; only the load's gravity is added."""
    law = HybridForce(Impedance(ROBOT, STIFFNESS), FORCE, (0, 0, -1))
    now = Sample(0.0, Q, np.zeros(7), np.zeros(7))
    law.reset(now)
    for tick in range(50):
        law.torque(now, 2e-3 * tick)
    loaded = ROBOT.with_payload(0.5)
    other = law.with_robot(loaded)
    change = other.torque(now, 0.1) - law.torque(now, 0.1)
    np.testing.assert_allclose(change, loaded.gravity(Q) - ROBOT.gravity(Q), atol=0.05)
