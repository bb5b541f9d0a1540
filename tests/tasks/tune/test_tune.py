"""Tuning: the rule's numbers, telling oscillation from noise, the search, and the whole on simulated joints."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.control import FrictionFeedforward, Triangle, plate_of
from counterpoise.dynamics import Dahl
from counterpoise.foundation import Array
from counterpoise.plants import ArmConfig, Encoder, OneLink, SingleJoint, Timing, preset
from counterpoise.tasks import (
    JointTuner,
    LawGains,
    LawKind,
    Prober,
    Rig,
    TriangleTask,
    Tuning,
    TuningRule,
    freely_tuned,
    read_gains,
    swing,
    tared_loop,
    tuned,
)
from counterpoise.tasks.tune.gains import FRICTION_SHARE, KINDS, natural_frequency
from counterpoise.tasks.tune.probe import NO_SWING, Probed, Swing, rings, sustained
from counterpoise.tasks.tune.tuning import (
    EXPECTED_RATIOS,
    GainLimit,
    JointTuning,
    expected_ratio,
    locked_inertia,
    oscillation_limit,
)
from library.two_link_arm import TwoLinkArm, two_links

RNG = np.random.default_rng(3)
PERIOD = 1.0 / 300.0
TIME = np.arange(120) * PERIOD


@pytest.mark.parametrize("damping", [0.3, 0.5, 1.0])
def test_bandwidth_is_where_the_loop_is_down_by_3_db(damping: float) -> None:
    """|H| of the position loop, reference velocity included, is 1/√2 at the bandwidth."""
    omega = natural_frequency(5.0, damping)
    s = 2j * math.pi * 5.0
    h = (2 * damping * omega * s + omega**2) / (s**2 + 2 * damping * omega * s + omega**2)
    assert abs(h) == pytest.approx(math.sqrt(0.5))


def test_swing_finds_a_tone() -> None:
    """Amplitude and frequency of a tone on a slow motion; noise is no tone."""
    tone = 2.0 * np.sin(2 * math.pi * 40.0 * TIME) + 30.0 * TIME**2
    found = swing(tone, PERIOD, 10.0)
    assert found.amplitude == pytest.approx(2.0, rel=0.05)
    assert found.frequency == pytest.approx(40.0, abs=2.5) and found.purity > 0.9
    assert swing(RNG.normal(size=120), PERIOD, 10.0).purity < 0.6
    assert swing(tone[:5], PERIOD) is NO_SWING and swing(np.zeros(50), PERIOD) is NO_SWING


def test_sustained_needs_size_purity_and_duration() -> None:
    """A tone that is small, blurred or decays does not count."""
    tone = Swing(2.0, 40.0, 0.9)
    assert sustained([tone, tone], 1.0) == tone
    assert sustained([tone, tone], 3.0) is NO_SWING
    assert sustained([tone, tone._replace(purity=0.3)], 1.0) is NO_SWING
    assert sustained([tone, tone._replace(amplitude=1.1)], 1.0) is NO_SWING
    assert sustained([], 1.0) is NO_SWING


def test_rings_tells_ringing_from_creeping() -> None:
    """An answer that swings on rings; one that decays, or creeps slowly, does not."""
    time = np.arange(900) * PERIOD
    ringing = np.cos(2 * math.pi * 3.0 * time)
    assert rings(ringing, 1.0, PERIOD).frequency == pytest.approx(3.0, rel=0.1)
    assert rings(ringing * np.exp(-2.0 * time), 1.0, PERIOD) is NO_SWING
    assert rings(np.linspace(1.0, -1.0, 900), 1.0, PERIOD) is NO_SWING
    assert rings(0.1 * ringing, 1.0, PERIOD) is NO_SWING


@pytest.mark.parametrize("true", [3.0, 7.3, 20.0])
def test_search_finds_the_limit(true: float) -> None:
    """Within the resolution from above, never far beyond; also where the first gain is unstable."""
    tried: list[float] = []

    def probe(gain: float) -> Probed:
        tried.append(gain)
        return Probed(gain < true, Swing(1.0, 20.0, 1.0), 0.0, "")

    limit = oscillation_limit(probe, 5.0, 100.0, 0.05)
    assert true <= limit.gain <= 1.05 * true
    assert max(tried) <= max(1.5 * true, 5.0)
    assert limit.probed is not None and not limit.probed.stable
    assert limit.share(0.5) == 0.5 * limit.gain


def test_search_without_a_limit() -> None:
    """Where nothing oscillates, the share is of the largest gain that was tried."""
    limit = oscillation_limit(lambda gain: Probed(True, NO_SWING, 0.0, ""), 5.0, 40.0, 0.05)
    assert math.isinf(limit.gain) and limit.probed is None and limit.share(0.75) == 30.0


def test_gains_file_round_trip(tmp_path) -> None:
    """What was saved is read again to the bit; comments and odd joint names survive."""
    gains = LawGains("bsc", ('a "b"', "c\\d"), *(RNG.uniform(0, 9, 2) for _ in range(4)))
    gains.save(tmp_path / "gains.toml", ["tuned\ntoday"])
    again = read_gains(tmp_path / "gains.toml")
    assert again.as_data() == gains.as_data() and again.friction is None
    learned = gains.with_friction(1, Dahl(2.0, 3.0, 4e-4))
    learned.save(tmp_path / "gains.toml")
    assert read_gains(tmp_path / "gains.toml").friction == (Dahl(0.0, 0.0, 1.0), Dahl(2.0, 3.0, 4e-4))


def test_gains_that_cannot_be_written_leave_the_old_file(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk ends in an error with the file's name; what was there before is still there."""
    file = tmp_path / "gains.toml"
    gains = LawGains("pd", ("a",), [1.0], [1.0], [0.0], [0.0])
    gains.save(file)
    before = file.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(cp.errors.DataFileError, match="No space left"):
        gains.with_joint(0, kp=2.0).save(file)
    assert file.read_bytes() == before and list(tmp_path.iterdir()) == [file]


def test_learned_friction_is_sent_ahead_of_a_reference() -> None:
    """With a reference the laws gain a feedforward of the learned levels; a hold has nothing to send ahead."""
    made = preset("puma550")
    plant = made.single_joint()
    gains = LawGains("pid", plant.joint_names, [100.0], [10.0], [50.0], [0.0]).with_friction(0, Dahl(5.0, 6.0, 1e-4))
    assert not any(isinstance(law, FrictionFeedforward) for law in gains.laws(Rig(plant, plant.robot)))
    laws = gains.laws(Rig(plant, plant.robot), Triangle([0.01], 4.0))
    ahead = next(law for law in laws if isinstance(law, FrictionFeedforward))
    with plant:
        sample = plant.read()
    ahead.reset(sample)
    ahead.torque(sample, 0.0)
    assert ahead.torque(sample, 0.9)[0] == pytest.approx(FRICTION_SHARE * 5.0, rel=1e-3)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("kp = [", "is not valid TOML"),
        ('schema = "other"', "expected 'counterpoise/gains-1'"),
        ('schema = "counterpoise/gains-1"\nlaw = "pd"', "missing"),
        (
            'schema = "counterpoise/gains-1"\nlaw = "pd"\njoints = ["a"]\nkp = [-1]\nkd = [1]\nki = [0]\nk_int = [0]',
            "from 0",
        ),
    ],
)
def test_bad_gains_files_are_refused(tmp_path, text: str, word: str) -> None:
    """With the file's name and what is wrong."""
    path = tmp_path / "gains.toml"
    path.write_text(text)
    with pytest.raises(cp.errors.DataFileError, match=word) as caught:
        read_gains(path)
    assert "gains.toml" in str(caught.value)
    with pytest.raises(cp.errors.DataFileError):
        read_gains(tmp_path / "none.toml")


def test_gains_make_every_law() -> None:
    """Each kind makes a law with gravity once; those of the plate want a sensor; joints must be the robot's."""
    plant = preset("puma550").single_joint()
    with plant:
        first = plant.read()
        sensor = plate_of(plant, plant.robot)
        sensor.tare(first.q, first.wrench)
        for kind in KINDS:
            gains = LawGains(kind, plant.joint_names, [1.0], [1.0], [1.0], [1.0])
            laws = gains.laws(Rig(plant, plant.robot), sensor=sensor)
            assert sum(law.adds_gravity for law in laws) == 1
    with pytest.raises(cp.InputError, match="needs the plate"):
        LawGains("bsc", plant.joint_names, [1.0], [1.0], [0.0], [1.0]).laws(Rig(plant, plant.robot))
    with pytest.raises(cp.InputError, match="the robot has"):
        LawGains("pd", ("other",), [1.0], [1.0], [0.0], [0.0]).laws(Rig(plant, plant.robot))


def test_integral_limit_of_a_rigid_joint_is_routh() -> None:
    """Without friction and nearly without delay K_i is found near K_p K_d / J, where the cubic loses stability."""
    link = OneLink(inertia=2.0, effort_limit=500.0, velocity_limit=20.0)
    config = ArmConfig(timing=Timing(dt=PERIOD), encoder=Encoder(velocity="exact"))
    made = SingleJoint(link, config)
    rule = TuningRule(bandwidth=2.0, step_time=5.0, resolution=0.1, proof=1.0)
    tuning = tuned(lambda: Rig(SingleJoint(link, config), made.robot), "pid", rule=rule)
    bandwidth, integral = tuning.joints[0].limits
    assert (bandwidth.chosen, bandwidth.limit) == (2.0, math.inf)
    kp, kd = tuning.gains.kp[0], tuning.gains.kd[0]
    assert integral.limit == pytest.approx(kp * kd / 2.0, rel=0.12)
    assert tuning.gains.ki[0] == pytest.approx(0.8 * integral.limit)
    assert integral.frequency == pytest.approx(math.sqrt(kp / 2.0) / (2 * math.pi), rel=0.2)
    with pytest.raises(cp.InputError, match="needs a plate"):
        tuned(lambda: Rig(SingleJoint(link, config), made.robot), "bsc")


@pytest.mark.parametrize(("share", "cycles"), [(1.0, 1.0), (0.25, 2.0), (1.0 / 16.0, 4.0), (9.0, 1.0)])
def test_answer_of_a_slow_loop_is_watched_for_as_many_cycles(share: float, cycles: float) -> None:
    """A quarter of the stiffness halves the natural frequency, so the step lasts twice as long; never shorter."""
    link = OneLink(inertia=2.0, rotor_inertia=0.6, effort_limit=500.0, velocity_limit=20.0)
    plant = SingleJoint(link, ArmConfig())
    robot = plant.robot
    steps: list[float] = []

    class Calm:
        """A plant on which nothing oscillates."""

        count = 0

        def probe(self, gains: LawGains, motion: str, least: float, stretch: float) -> Probed:
            if motion == "step":
                steps.append(stretch)
            return Probed(True, NO_SWING, 0.0, "")

    rule, q = TuningRule(bandwidth=2.0), np.zeros(1)
    kp = share * locked_inertia(robot, q, 0) * natural_frequency(2.0, rule.damping) ** 2
    gains = LawGains("pid", robot.joint_names, [kp], [10.0], [0.0], [0.0])
    JointTuner(cast(Prober, Calm()), Rig(plant, robot), 0, q, rule).tune(gains, gains)
    assert len(steps) > 3 and steps == pytest.approx([cycles] * len(steps))


def both(variant: str) -> tuple[Tuning, Tuning]:
    """PID and base sensor control of joint 1, tuned by the rule on the same plant."""
    made = preset("puma550", variant).single_joint()

    def make() -> SingleJoint:
        return SingleJoint(made.link, made.config)

    rule = TuningRule(resolution=0.3)
    pid = tuned(lambda: Rig(make(), made.robot), "pid", rule=rule)
    return pid, tuned(lambda: Rig(make(), made.robot), "bsc", rule=rule, position=pid.gains)


def figure_8(variant: str, gains: LawGains, seed: int) -> Array:
    """Error of the motor's encoder against a triangle of ±0.1° in 10 s [deg], second period."""
    made = preset("puma550", variant)
    task = TriangleTask(lambda: Rig(made.single_joint(seed=seed), made.single_joint().robot))
    return np.rad2deg(task.errors(gains))


def rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))


@pytest.mark.parametrize(("variant", "least"), [("stiff", 4.0), ("20Hz", 0.9)])
def test_figure_8_with_tuned_gains(variant: str, least: float) -> None:
    """Base sensor control against PID, each tuned by the same rule: the gain depends on the structure."""
    pid, bsc = both(variant)
    assert bsc.gains.kp.tolist() == pid.gains.kp.tolist()
    seed = 7  # not the seed that was tuned on
    errors = {tuning.gains.kind: figure_8(variant, tuning.gains, seed) for tuning in (pid, bsc)}
    assert rms(errors["pid"]) / rms(errors["bsc"]) >= least
    if variant == "stiff":
        assert rms(errors["bsc"]) < 0.0058  # one count of the encoder
        assert np.abs(errors["pid"]).max() / np.abs(errors["bsc"]).max() >= 2.5


def test_structural_frequency_is_that_of_the_gear() -> None:
    """At the limit the 50 Hz plant swings at its gear mode, and the tuning says so."""
    made = preset("puma550", "50Hz").single_joint
    pd = tuned(lambda: Rig(made(), made().robot), "pd", rule=TuningRule(resolution=0.3))
    assert pd.joints[0].structural_frequency == pytest.approx(50.0, rel=0.1)
    bandwidth = pd.joints[0].limits[0]
    assert bandwidth.chosen == pytest.approx(0.75 * bandwidth.limit) and bandwidth.chosen < 5.0
    assert "cannot be reached" in pd.joints[0].notes[0]
    assert pd.as_data()["joints"][0]["structural_frequency"] == pd.joints[0].structural_frequency


def test_expected_ratio_is_told_only_where_it_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """None outside of what a study covered; between its entries, over the logarithm of the frequency."""
    if not EXPECTED_RATIOS:
        assert expected_ratio(50.0) is None
    monkeypatch.setattr("counterpoise.tasks.tune.tuning.EXPECTED_RATIOS", ((10.0, 1.0), (1000.0, 3.0)))
    assert expected_ratio(100.0) == pytest.approx(2.0)
    assert expected_ratio(5.0) is None

    def found(*limits: GainLimit) -> float | None:
        return JointTuning("joint1", 1.0, limits, None, 1, ()).expected_ratio

    met = GainLimit("k_int", 1.0, 2.0, 100.0, "it swings")
    assert found(replace(met, gain="bandwidth", frequency=10.0), met) == pytest.approx(2.0)
    assert found(replace(met, gain="bandwidth"), replace(met, frequency=0.0)) is None


def test_locked_inertia_includes_the_rotor() -> None:
    """M_jj at the pose plus the rotor's; a model without inertia is refused."""
    robot = cp.load("puma560")
    q = RNG.uniform(-1, 1, robot.n)
    expected = robot.inverse_dynamics(q, np.zeros(6), np.eye(6)[1])[1] - robot.gravity(q)[1] + robot.rotor_inertia[1]
    assert locked_inertia(robot, q, 1) == pytest.approx(expected)


def test_bad_rules_and_kinds_are_refused() -> None:
    """Numbers that mean nothing, and laws that do not exist."""
    with pytest.raises(cp.InputError, match="bandwidth"):
        TuningRule(bandwidth=0.0)
    with pytest.raises(cp.InputError, match="share"):
        TuningRule(oscillation_share=1.5)
    plant = preset("puma550").single_joint
    unknown: LawKind = "lqr"  # type: ignore[assignment]
    with pytest.raises(cp.InputError, match="kind is 'lqr'"):
        tuned(lambda: Rig(plant(), plant().robot), unknown)
    with pytest.raises(cp.InputError, match="kind is 'lqr'"):
        LawGains(unknown, ("a",), [1.0], [1.0], [0.0], [0.0])


def test_whole_arm_one_joint() -> None:
    """In the whole arm the other joints hold with default gains; only the tuned joint's gains change."""
    pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    made = preset("puma550")
    told: list[float] = []
    tuning = tuned(
        lambda: Rig(made.arm(), made.robot()),
        "pd",
        joints=[2],
        rule=TuningRule(bandwidth=3.0, move_time=0.5, rest_time=0.4),
        progress=told.append,
    )
    assert [joint.joint for joint in tuning.joints] == ["joint3"]
    assert tuning.gains.kp[2] == pytest.approx(tuning.joints[0].inertia * natural_frequency(3.0, 0.5) ** 2)
    assert tuning.gains.kp[0] != 0.0 and not tuning.gains.ki.any()
    assert told == sorted(told) and told[-1] == 1.0


class Watched(TwoLinkArm):
    """Notes the largest torques beyond gravity."""

    def __init__(self, model: cp.Robot, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.model, self.pull = model, np.zeros(2)

    def write(self, tau: Array) -> Array:
        self.pull = np.maximum(self.pull, np.abs(tau - self.model.gravity(self.q)))
        return super().write(tau)


def test_unknown_rotors_are_probed_softly(tmp_path: Path) -> None:
    """A joint that friction holds back by the whole move is not pulled harder than the soft law pulls."""
    model, rule = two_links(tmp_path), TuningRule(bandwidth=3.0, move_time=0.5, rest_time=0.4, resolution=0.3)
    arms: list[Watched] = []

    def make() -> TwoLinkArm:
        arms.append(Watched(model, (4.0, 0.5), (20.0, 3.0)))
        return arms[-1]

    tuning = tuned(lambda: Rig(make(), model), "pd", joints=[0], rule=rule)
    assert any("no rotor inertia" in note for note in tuning.joints[0].notes)
    omega = natural_frequency(rule.bandwidth / rule.oscillation_share, rule.damping)
    stiffest = 2.0 * rule.damping * omega * tuning.joints[0].inertia  # K_d of the stiffest experiment
    planned = rule.step / rule.move_time
    assert max(arm.pull[0] for arm in arms) <= stiffest * (0.2 + planned) * 1.05
    assert max(arm.top.max() for arm in arms) < 0.5


@pytest.mark.parametrize("kind", ["pid", "pi", "bsc-p"])
def test_unknown_rotors_are_refused_where_the_search_begins_with_the_inertia(tmp_path: Path, kind: LawKind) -> None:
    """An integral by the links' inertia alone may be many times what the real one bears; nothing is driven."""

    class NeverEntered(TwoLinkArm):
        def __enter__(self) -> Self:
            pytest.fail("the plant was entered")

    model, arm = two_links(tmp_path), NeverEntered((0.3, 0.06), (0.0, 0.0))
    with pytest.raises(cp.InputError, match=r"does not know the rotor of joint1, joint2\. State it .*measure it first"):
        tuned(lambda: Rig(arm, model), kind)
    stated = model.with_rotor_inertia({"joint2": 0.5})
    with pytest.raises(cp.InputError, match=r"rotor of joint1\."):
        tuned(lambda: Rig(arm, stated), kind)


def test_free_tuner_keeps_the_best_candidate() -> None:
    """It stops widening when the error no longer falls, tries other damping ratios, and returns the best."""
    made = preset("puma550").single_joint
    errors = iter([3.0, 2.0, 2.5, 4.0, 1.0])
    rule = TuningRule(resolution=0.3, move_time=0.5, rest_time=0.4)
    found = freely_tuned(lambda: Rig(made(), made().robot), "pd", lambda gains: next(errors), rule=rule)
    assert [round(bandwidth, 2) for bandwidth, _, _ in found.tried] == [5.0, 7.5, 11.25, 7.5, 7.5]
    assert [damping for _, damping, _ in found.tried] == [0.5, 0.5, 0.5, 0.3, 0.8]
    assert found.cost == 1.0 and found.tuning.rule.damping == 0.8


def test_triangle_task_is_that_of_figure_8() -> None:
    """With stiff PD gains the error is near the amplitude's: friction holds the joint (rms of a triangle: A / √3)."""
    made = preset("puma550").single_joint
    cost = TriangleTask(lambda: Rig(made(), made().robot)).rms
    gains = LawGains("pd", ("joint1",), [1094.0], [63.0], [0.0], [0.0])
    assert cost(gains) == pytest.approx(math.radians(0.1) / math.sqrt(3.0), rel=0.1)


def test_tare_waits_for_a_joint_without_friction() -> None:
    """Started with a wrong torque it moves; the plate is tared once it is held."""
    made = preset("puma550")
    config = made.config.replaced(drive=replace(made.config.drive, friction=None), seed=0)
    with SingleJoint.of(made.robot(), config) as plant:
        for _ in range(3):
            plant.write(np.array([4.0]))
        sensor = plate_of(plant, plant.robot)
        tared_loop(Rig(plant, plant.robot), sensor, TuningRule())
        assert sensor.tare_state is not None and abs(plant.read().dq[0]) < 0.01
