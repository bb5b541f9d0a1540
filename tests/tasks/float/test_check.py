"""The check before floating: what it finds, what it refuses and names, and what it needs."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.dynamics import Asymmetric, CoulombViscous, Stribeck
from counterpoise.errors import InputError, PlantError, SafetyError, SensorFaultError
from counterpoise.plants import SimulatedArm, preset
from counterpoise.recording import Sample, SampleFlag
from counterpoise.tasks import FloatSettings, Rig
from counterpoise.tasks.float.check import FloatCheck, gravity_covariance, gravity_std, judged, least_friction
from counterpoise.tasks.float.hidden import CheckResult, JointCheck
from counterpoise.tasks.float.holding import HeldWindow, HoldingTorques
from library.calibration_data import other_masses, visits
from library.floating_arms import (
    GANTRY,
    GANTRY_FRICTION,
    PLANAR,
    PLANAR_FRICTION,
    PLANAR_POSE,
    gantry,
    lighter,
    planar,
)
from library.ideal_arm import IdealArm

pytest.importorskip("mujoco", reason="MuJoCo is not installed")

JOINT = JointCheck("elbow", "N m", 10.0, 10.2, 0.05, 1.0, 1.0, 0.5, True)


def checked(
    plant: Any, robot: cp.Robot, calibration: cp.identification.Fit | None = None, **settings: Any
) -> CheckResult:
    with plant:
        result = FloatCheck(Rig(plant, robot, calibration=calibration), FloatSettings(repeats=2, **settings)).run()
    assert result is not None
    return result


@pytest.fixture(scope="module")
def exact() -> CheckResult:
    """The planar arm with the model that it is."""
    return checked(planar(), PLANAR, friction_fraction=0.7)


def test_exact_model_passes_and_friction_is_found(exact: CheckResult) -> None:
    """The difference is small against its own bound; friction lies between sliding and breaking away."""
    assert exact.passed and exact.reasons == () and exact.by == "effort"
    weight = PLANAR.gravity(np.array(PLANAR_POSE))
    for joint, g, level in zip(exact.joints, weight, PLANAR_FRICTION, strict=True):
        assert joint.expected == pytest.approx(g, abs=0.1)
        assert abs(joint.difference) < 0.1 * level
        assert 0.75 * level < joint.friction < 1.2 * level
        assert joint.left == pytest.approx(0.3 * joint.friction)
    assert exact.pose == pytest.approx(PLANAR_POSE, abs=1e-3) and 5.0 < exact.seconds < 30.0


def test_model_that_is_too_light_is_refused_by_name() -> None:
    """The joint that carries most is named with its numbers and what to do; the arm was never let go."""
    weight = PLANAR.gravity(np.array(PLANAR_POSE))
    result = checked(planar(), lighter(PLANAR, 0.03), friction_fraction=0.7)
    assert not result.passed
    named = [joint.joint for joint in result.joints if not joint.passed]
    assert named == [
        name for name, g, F in zip(PLANAR.joint_names, weight, PLANAR_FRICTION, strict=True) if 0.03 * g > 0.3 * F
    ]
    assert f"joint '{named[0]}'" in result.reasons[0]
    for word in (
        "holding takes",
        "the model says",
        "friction fraction of 0.7 leaves",
        "Calibrate",
        "payload",
        "friction fraction below",
    ):
        assert word in result.reasons[0]


def test_linear_joints_are_checked_in_newtons() -> None:
    """A gantry with an exact model passes; a payload that nobody told of is found on the vertical axis."""
    result = checked(gantry(), GANTRY, friction_fraction=0.5)
    assert result.passed, result.reasons
    assert [joint.unit for joint in result.joints] == ["N", "N", "N"]
    assert [joint.friction for joint in result.joints] == pytest.approx(GANTRY_FRICTION.tolist(), rel=0.25)
    plant = SimulatedArm(GANTRY.with_payload(0.6), gantry().config)
    found = checked(plant, GANTRY, friction_fraction=0.5)
    assert [joint.joint for joint in found.joints if not joint.passed] == ["joint3"]


def test_locked_joints_are_neither_moved_nor_judged() -> None:
    """A locked joint may stand at its limit; an unlocked one there is refused before anything moves."""
    at_limit = np.array(PLANAR_POSE)
    at_limit[2] = PLANAR.upper[2] - 1e-3
    plant = planar(position=at_limit)
    with plant:
        check = FloatCheck(Rig(plant, PLANAR), FloatSettings(friction_fraction=0.5, locked=("joint3",), repeats=2))
        places = [plant.read().q]

        def noted(sample: Sample) -> bool:
            places.append(sample.q)
            return False

        result = check.run(until=noted)
        assert result is not None
        moved = np.ptp(places, axis=0)
    assert [joint.joint for joint in result.joints] == ["joint1", "joint2"] and result.passed
    assert np.all(moved[:2] > 0.05) and moved[2] < 0.01
    plant = planar(position=at_limit)
    with plant, pytest.raises(InputError, match=r"'joint3' is at .* lock it"):
        FloatCheck(Rig(plant, PLANAR), FloatSettings(friction_fraction=0.5)).run()


def test_plant_that_adds_gravity_is_judged_by_what_is_sent() -> None:
    """Its own compensation holds it: commands are about zero, and the model is not compared."""
    result = checked(planar(adds_gravity=True), lighter(PLANAR, 0.5), friction_fraction=0.5)
    assert result.by == "command" and result.passed
    assert [joint.expected for joint in result.joints] == [0.0, 0.0, 0.0]


def test_current_or_no_effort_is_a_clear_error() -> None:
    """Both are told before anything moves; judging by the commands is the way out."""
    plant = IdealArm(PLANAR)
    plant.effort_kind = "current"
    with pytest.raises(SafetyError, match=r"measures currents.*by='command'"):
        FloatCheck(Rig(plant, PLANAR))
    silent = IdealArm(PLANAR)
    read = silent.read
    silent.read = lambda: replace(read(), flags=SampleFlag.TAU_INVALID)  # type: ignore[method-assign]
    with silent, pytest.raises(SafetyError, match=r"measures no efforts.*by='command'"):
        FloatCheck(Rig(silent, PLANAR)).run()
    assert silent.ticks == 0


@pytest.mark.parametrize(
    ("settings", "error", "said"),
    [
        ({"friction_fraction": 1.0}, SafetyError, "joint 'joint1': a friction fraction of 1 leaves no friction"),
        ({"friction_fraction": [0.0, 1.5, 0.0]}, SafetyError, "joint 'joint2'.*less than 0"),
        ({"locked": ("wrist",)}, InputError, "no joint 'wrist'"),
        ({"locked": ("joint1", "joint2", "joint3")}, InputError, "every joint is locked"),
        ({"repeats": 1}, InputError, "repeats"),
        ({"by": "feel"}, InputError, "by"),
    ],
)
def test_what_needs_no_measurement_is_refused_at_once(settings: Any, error: type[Exception], said: str) -> None:
    """Above all a fraction of 1: nothing would be left to hold the arm."""
    with pytest.raises(error, match=said):
        FloatCheck(Rig(IdealArm(PLANAR), PLANAR), FloatSettings(**settings))


def test_a_whole_share_is_no_matter_on_a_locked_joint() -> None:
    """It is not compensated there; unlocked, it is refused before anything moves."""
    share = [0.0, 1.0, 0.0]
    with pytest.raises(cp.SafetyError, match="joint2"):
        FloatCheck(Rig(IdealArm(PLANAR), PLANAR), FloatSettings(friction_fraction=share))
    check = FloatCheck(Rig(IdealArm(PLANAR), PLANAR), FloatSettings(friction_fraction=share, locked=("joint2",)))
    assert check.recording is None


def test_rule_of_a_joint() -> None:
    """|difference| + 2 σ against (1 − c) F_c, F_c the smaller of law and measurement; an over-estimating law pays."""
    assert JOINT.passed and JOINT.left == 0.5 and JOINT.largest_fraction == pytest.approx(0.7)
    assert not replace(JOINT, friction_fraction=0.71).passed and replace(JOINT, friction_fraction=0.69).passed
    assert not replace(JOINT, std=0.151).passed
    assert not replace(JOINT, held=9.55).passed
    assert not replace(JOINT, crept=False).passed and "both sides" in replace(JOINT, crept=False).check.sentence
    assert replace(JOINT, friction_law=0.8).left == pytest.approx(0.5 * 0.8)
    assert replace(JOINT, friction_law=1.4).left == pytest.approx(1.0 - 0.5 * 1.4)
    hopeless = replace(JOINT, held=12.0)
    assert "no friction fraction is small enough" in hopeless.check.sentence and hopeless.largest_fraction < 0.0
    assert not replace(JOINT, friction=0.0, friction_law=0.0).passed
    slippery = replace(JOINT, held=10.0, friction=0.02, friction_law=0.02)
    assert not slippery.passed and "no friction was found that would hold it" in slippery.check.sentence
    unknown = replace(JOINT, friction_law=0.0)  # a joint whose friction was not calibrated: none is compensated
    assert unknown.passed and unknown.left == JOINT.friction and unknown.check.passed


def test_result_is_data_and_names_the_worst_first(exact: CheckResult) -> None:
    """A joint that did not creep comes before one that is off; everything is plain JSON."""
    bad = replace(JOINT, joint="shoulder", held=12.0)
    stuck = replace(JOINT, joint="wrist", crept=False)
    result = CheckResult((JOINT, bad, stuck), np.zeros(3), "effort", 9.0)
    assert [reason.split("'")[1] for reason in result.reasons] == ["wrist", "shoulder"]
    document = json.loads(json.dumps(result.as_data(), allow_nan=False))
    assert document["passed"] is False and document["joints"][1]["passed"] is False
    assert json.loads(json.dumps(exact.as_data(), allow_nan=False))["reasons"] == []


def test_least_friction_of_laws() -> None:
    """Coulomb's level, the dip of Stribeck, the weaker direction."""
    assert least_friction(CoulombViscous([2.0, 3.0], 1.0), 2) == pytest.approx([2.0, 3.0], abs=2e-3)
    dip = Stribeck(coulomb=1.0, static=2.0, stribeck_velocity=0.02, viscous=0.1)
    assert least_friction(dip, 3) == pytest.approx(np.full(3, 1.01), abs=0.02)
    uneven = Asymmetric(CoulombViscous(2.0), CoulombViscous(1.5))
    assert least_friction(uneven, 1) == pytest.approx([1.5])


def test_calibration_adds_its_uncertainty() -> None:
    """The standard deviation of gravity by the calibration's covariance; another arm's calibration is refused."""
    log = visits(other_masses(PLANAR, seed=5), cp.design_poses(PLANAR, 8, seed=0), friction=0.5, noise=0.05)
    fit = cp.calibrate(PLANAR, log)
    pose = np.array(PLANAR_POSE)
    std = gravity_std(PLANAR, gravity_covariance(PLANAR, fit), pose)
    assert std == pytest.approx(cp.OnlineGravity(PLANAR, 1e-2, prior=fit, offset=False).std(pose), rel=0.01)
    with pytest.raises(InputError, match="calibration is of 'planar3'"):
        FloatCheck(Rig(IdealArm(GANTRY), GANTRY, calibration=fit))
    known, with_fit = (checked(planar(), fit.robot, calibration=given) for given in (None, fit))
    std = gravity_std(fit.robot, gravity_covariance(fit.robot, fit), with_fit.pose)
    for before, after in zip(known.joints, with_fit.joints, strict=True):
        assert after.std == pytest.approx(np.hypot(before.std, std[PLANAR.joint_names.index(after.joint)]), rel=1e-6)


class Disturbed(SimulatedArm):
    """The planar arm, of which every ``every``-th sample after 1 s is changed."""

    def __init__(self, change: Any, every: int) -> None:
        super().__init__(PLANAR, planar().config)
        self._change, self._every, self._count = change, every, 0

    def read(self) -> Sample:
        sample = super().read()
        self._count += 1
        if sample.time < 1.0 or self._count % self._every:
            return sample
        return replace(sample, **self._change(sample))


@pytest.mark.parametrize(
    "change",
    [
        lambda sample: {"q": np.full(3, np.nan)},
        lambda sample: {"q": sample.q + 0.5, "flags": SampleFlag.Q_INVALID},
        lambda sample: {"tau": np.full(3, np.nan), "flags": SampleFlag.TAU_INVALID},
        lambda sample: {"tau": np.full(3, 50.0), "flags": SampleFlag.TAU_INVALID},
    ],
    ids=["no position", "marked position", "no effort", "marked effort"],
)
def test_single_bad_samples_do_not_count(change: Any, exact: CheckResult) -> None:
    """The loop bridges them, and the check leaves them out; it finds what it finds without them."""
    result = checked(Disturbed(change, 40), PLANAR, friction_fraction=0.7)
    for ours, undisturbed in zip(result.joints, exact.joints, strict=True):
        assert ours.crept and ours.held == pytest.approx(undisturbed.held, abs=0.05)
        assert ours.friction == pytest.approx(undisturbed.friction, rel=0.1)


def test_efforts_that_the_plant_takes_back_end_the_check() -> None:
    """Most of a measurement is missing: nothing is judged, and the arm is brought to its safe stop."""
    plant = Disturbed(lambda sample: {"tau": np.zeros(3), "flags": SampleFlag.TAU_INVALID}, 1)
    with plant:
        with pytest.raises(SensorFaultError, match="usable samples"):
            FloatCheck(Rig(plant, PLANAR), FloatSettings(friction_fraction=0.5, repeats=2)).run(then="keep")
        assert not np.any(plant.write(np.ones(3)))


def test_an_arm_whose_place_is_not_known_is_not_moved() -> None:
    """A driver that raises, or has no position: our errors, and nothing is sent."""
    for change, error in ((lambda sample: {"q": np.full(3, np.nan)}, SensorFaultError), (None, PlantError)):
        plant = IdealArm(PLANAR)
        read = plant.read

        def broken(change: Any = change, read: Any = read) -> Sample:
            if change is None:
                raise OSError("unplugged")
            return replace(read(), **change(read()))

        plant.read = broken  # type: ignore[method-assign]
        with plant, pytest.raises(error, match="Nothing was moved"):
            FloatCheck(Rig(plant, PLANAR)).run()
        assert plant.sent == []


def test_joint_that_does_not_creep_is_tried_again_from_further_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second way is announced and longer; the other joint stands, and keeps what the first way found."""
    finish, passes = HoldingTorques.finish, list[tuple[HeldWindow, ...]]()

    def elbow_stuck_at_first(self: HoldingTorques) -> tuple[HeldWindow, ...]:
        windows = finish(self)
        if not passes:
            windows = tuple(replace(window, crept=np.arange(PLANAR.n) != 1) for window in windows)
        passes.append(windows)
        return windows

    monkeypatch.setattr(HoldingTorques, "finish", elbow_stuck_at_first)
    plant, said, after = planar(), list[str](), list[np.ndarray]()

    def seen(sample: Sample) -> bool:
        if said:
            after.append(sample.q)
        return False

    with plant:
        result = FloatCheck(Rig(plant, PLANAR, announce=said.append), FloatSettings(repeats=2)).run(until=seen)
    name = PLANAR.joint_names[1]
    assert said == [
        f"did not come to rest from both sides: '{name}'. They are tried again, 0.1 rad (3 cm) to either side"
    ]
    assert result is not None and result.passed and len(passes) == 2
    first, second = (np.mean([window.rest[0] for window in windows]) for windows in passes)
    assert result.joints[0].difference == pytest.approx(first, abs=1e-9) and first != second
    travel = np.ptp(np.array(after), axis=0)
    assert travel[1] > 0.18 and np.all(np.delete(travel, 1) < 0.01)


def test_joint_without_room_is_not_tried_again() -> None:
    """Beside a limit there is no way of 0.1 rad."""
    plant = planar()
    check = FloatCheck(Rig(plant, PLANAR))
    stuck = [replace(JOINT, joint=name, crept=False) for name in PLANAR.joint_names]
    inside = 0.5 * (plant.lower + plant.upper)
    assert check._may_go_further(inside, stuck).all()
    assert not check._may_go_further(plant.upper - 0.1, stuck).any()
    assert not check._may_go_further(inside, [replace(JOINT, joint=name) for name in PLANAR.joint_names]).any()


def test_drive_that_relaxes_at_rest_is_judged_while_it_slides() -> None:
    """Rest torques of −40 and 0 beside ±80 while sliding mean no error of 20: a coarse encoder let the drive relax."""
    n = PLANAR.n
    zero, all_of_them = np.zeros(n), np.ones(n, dtype=bool)

    def window(below: bool, rest: float, creep: float) -> HeldWindow:
        return HeldWindow(below, np.full(n, rest), np.full(n, 0.1), np.full(n, creep), zero, all_of_them)

    windows = [window(False, -40.0, -79.0), window(True, 0.0, 81.0)] * 2
    for joint in judged(windows, PLANAR, free=all_of_them, fraction=zero, friction_law=None, model_std=zero):
        assert joint.difference == pytest.approx(1.0) and joint.friction == pytest.approx(20.0) and joint.passed


@pytest.mark.parametrize("measures", [False, True])
def test_a_tree_whose_rotors_are_unknown_is_calm(measures: bool) -> None:
    """The two arms on a trunk reached 3.0 rad/s in the check when 0 stood for every unknown rotor.

    Softly with all joints, and after a measurement with four of them (the others are held: they would only take time).
    """
    made = preset("dualarm19")
    robot = made.robot()
    model, plant = robot.with_rotor_inertia(dict.fromkeys(robot.joint_names)), made.arm(seed=3)
    locked = [name for name in robot.joint_names if measures and name not in robot.joint_names[3:7]]
    top = np.zeros(robot.n)

    def watch(sample: Sample) -> bool:
        np.maximum(top, np.abs(sample.dq), out=top)
        return False

    with plant:
        check = FloatCheck(
            Rig(plant, model, measure_rotors=measures, announce=lambda _: None), FloatSettings(locked=locked, repeats=2)
        )
        result = check.run(until=watch, then="keep")
    assert result is not None and np.all(top > 0.0)
    assert np.all(top <= 0.5)
    found = None if check.recording is None else check.recording.measurement
    assert len(found.unmeasured) <= 1 if found is not None else not measures
