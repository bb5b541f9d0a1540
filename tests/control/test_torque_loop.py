"""The torque loop through the plate: what it computes, how it starts, and what it does without the plate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.control.base_sensor_law import base_sensor_control, plate_of
from counterpoise.control.gravity import PDGravity
from counterpoise.control.law import Law, LimitAware, Reporting
from counterpoise.control.loop import ControlLoop
from counterpoise.control.pd import PD
from counterpoise.control.plate_torque import PlateTorque
from counterpoise.control.reference import Hold, Sine, Triangle
from counterpoise.control.tip.load_switch import LoadSwitch
from counterpoise.control.torque_loop import (
    BRIDGED_TICKS,
    RETURN_TIME,
    IntegralCompensator,
    TorqueCompensator,
    TorqueLoop,
    TorqueSignal,
)
from counterpoise.foundation import Array
from counterpoise.plants import (
    ArmConfig,
    AttachPayload,
    OneLink,
    Plate,
    RemovePayloads,
    SimulatedArm,
    SingleJoint,
    Timing,
    preset,
)
from counterpoise.recording import Sample, SampleFlag
from counterpoise.sensing import BaseSensor, EstimateFlag, Uncertainty

T = 2e-3
LINK = OneLink(inertia=2.0, rotor_inertia=0.5, gravity=8.0, gravity_angle=0.3, effort_limit=60.0, velocity_limit=3.0)
RNG = np.random.default_rng(5)


def joint(**changes: Any) -> SingleJoint:
    return SingleJoint(LINK, ArmConfig(timing=Timing(dt=T), plate=Plate(T_base_sensor=np.eye(4)), **changes))


ROBOT = joint().robot


def moment(value: float) -> Array:
    return np.array([0.0, 0.0, 0.0, 0.0, 0.0, value])


def sample(
    q: float = 0.0, dq: float = 0.0, mz: float | None = 0.0, *, time: float = 0.0, effort: float = 0.0
) -> Sample:
    wrench = None if mz is None else moment(mz)
    return Sample(time, np.array([q]), np.array([dq]), np.array([effort]), wrench)


def sensor(q: float = 0.0) -> BaseSensor:
    """A plate tared at q with a reading of 0; tared + model subtracts the model's gravity since."""
    made = BaseSensor(ROBOT)
    made.tare([q], moment(0.0), range=3.0)
    return made


def loop_law(**changes: Any) -> TorqueLoop:
    settings: dict[str, Any] = {"dt": T, "gravity": "plant", "start": "zero"} | changes
    desired = settings.pop("desired", TorqueSignal(Triangle([2.0], 1.0, centre=[0.0]), 1))
    terms = {name: settings.pop(name) for name in ("proportional", "derivative") if name in settings}
    compensator = IntegralCompensator([settings.pop("k_int", 10.0)], integral_limit=50.0, dt=T, **terms)
    plate = settings.pop("plate", None) or PlateTorque(sensor(), "tared")
    return TorqueLoop(desired, plate, compensator, **settings)


def test_protocols() -> None:
    """It is a law that listens and reports; it does not ask the filter to stop for a bad plate."""
    law = loop_law()
    assert isinstance(law, Law) and isinstance(law, LimitAware) and isinstance(law, Reporting)
    assert isinstance(law.compensator, TorqueCompensator)
    assert not law.uses_wrench and not law.adds_gravity
    assert loop_law(gravity=ROBOT).adds_gravity and loop_law(gravity="tare", start="effort").adds_gravity


def test_torque_is_feedforward_plus_integral() -> None:
    """Eq. (25): τ_des + k_int ∫ (τ_des − τ_est), in N m, with a constant error."""
    law = loop_law(desired=TorqueSignal(Hold([3.0]), 1), k_int=10.0)
    law.reset(sample())
    for tick in range(50):
        tau = law.torque(sample(mz=1.0 + 1e-9 * tick), tick * T)
    assert tau[0] == pytest.approx(3.0 + 10.0 * (3.0 - 1.0) * 50 * T, rel=1e-6)
    assert law.torque(sample(mz=1.0), 50 * T) is tau


def test_position_control_is_a_pid_with_momentum_feedback() -> None:
    """In free motion without friction eqs. (26–27) are P = k_p + k_int k_d, I = k_int k_p and −k_int J_l q̇."""
    kp, kd, k_int, inertia = 300.0, 20.0, 30.0, LINK.inertia
    law = loop_law(desired=PD([kp], [kd], Hold([0.0])), k_int=k_int)
    law.reset(sample())
    q = v = total = 0.0
    for tick in range(200):
        before, v = v, v + RNG.normal(scale=1e-3)
        q += v * T
        total += q * T
        tau = law.torque(sample(q, v, inertia * (v - before) / T), tick * T)
        pid = -(kp + k_int * kd) * q - kd * v - k_int * kp * total - k_int * inertia * v
        assert tau[0] == pytest.approx(pid, rel=1e-9, abs=1e-9)


def test_derivative_term_is_the_slope_of_the_error() -> None:
    """k_dt ė: as much as a ramp rises per second, of either sign; nothing where the error stays, also after a start."""
    k_dt, slope = 0.02, np.array([3.0, -5.0, 0.0])
    made = IntegralCompensator(np.zeros(3), integral_limit=50.0, dt=T, derivative=k_dt)
    begin = np.array([1.0, 2.0, -4.0])
    made.start_from(np.zeros(3), begin)
    assert made.act(begin) == pytest.approx(np.zeros(3))
    for tick in range(1, 20):
        found = made.act(begin + slope * tick * T)
        assert found == pytest.approx(k_dt * slope, rel=1e-9)
    assert made.act(begin + slope * 19 * T) == pytest.approx(np.zeros(3))


@pytest.mark.parametrize("begin", [0.0, 0.45, 17.3])
def test_a_torque_signal_does_not_know_what_the_clock_reads(begin: float) -> None:
    """It begins with the run, whenever that is, and anew after a reset."""
    wave = Triangle([2.0], 1.0, centre=[0.5])
    law = TorqueSignal(wave, 1)
    for _ in range(2):
        law.reset(sample())
        for since in (0.0, 0.1, 0.25, 0.6):
            assert law.torque(sample(), begin + since) == pytest.approx(wave.at(since).q)


def test_optional_terms() -> None:
    """Proportional and derivative terms act on the torque error; feedforward can be left out."""
    law = loop_law(desired=TorqueSignal(Hold([1.0]), 1), k_int=0.0, proportional=0.5, derivative=0.01, feedforward=0.0)
    law.reset(sample())
    law.torque(sample(mz=1.0), 0.0)
    tau = law.torque(sample(mz=0.6), T)
    assert tau[0] == pytest.approx(0.5 * 0.4 + 0.01 * 0.4 / T)


def test_gravity_by_model_and_by_tare() -> None:
    """The model's g(q) moves with the pose, the tare's holding torque stays; the estimate excludes both."""
    q, holding = 0.7, ROBOT.gravity(np.array([0.7]))[0]
    for gravity, expected in ((ROBOT, ROBOT.gravity(np.array([0.2]))[0]), ("tare", 9.0)):
        law = loop_law(
            desired=TorqueSignal(Hold([0.0]), 1),
            gravity=gravity,
            start="effort",
            plate=PlateTorque(sensor(q), "tared+model"),
        )
        law.reset(sample(q, effort=9.0))
        assert law.torque(sample(q), 0.0)[0] == pytest.approx(9.0)
        # Held at another pose the plate reads the change of the weight: no torque error, no growth.
        weight = ROBOT.gravity(np.array([0.2]))[0] - holding
        extra = 9.0 - holding if gravity is ROBOT else 0.0
        assert law.torque(sample(0.2, mz=weight), T)[0] == pytest.approx(expected + extra)


def test_integral_is_bounded_and_does_not_grow_against_a_cut() -> None:
    """It stays within its limit, and a torque that the filter cut takes this tick's growth back."""
    law = loop_law(desired=TorqueSignal(Hold([40.0]), 1), k_int=100.0)
    law.reset(sample())
    law.torque(sample(mz=1e-3), 0.0)
    grown = law.compensator.integral.copy()  # type: ignore[attr-defined]
    law.torque(sample(mz=2e-3), T)
    law.limited(np.array([1.0]))
    assert law.compensator.integral[0] > grown[0]  # type: ignore[attr-defined]
    law.reset(sample())
    for tick in range(30):
        law.torque(sample(mz=1e-3 * tick), tick * T)
        law.limited(np.array([-1.0]))
    assert law.compensator.integral[0] == pytest.approx(0.0)  # type: ignore[attr-defined]
    for tick in range(30):
        law.torque(sample(mz=1e-3 * tick), tick * T)
    assert law.compensator.integral[0] == 50.0  # type: ignore[attr-defined]
    law.limited(np.array([-1.0]))
    assert law.compensator.integral[0] == 50.0  # type: ignore[attr-defined]  # at its limit nothing grew


@pytest.mark.parametrize(
    ("bad", "word", "flag"),
    [
        (sample(mz=None), "no plate reading", EstimateFlag.NO_WRENCH),
        (
            replace(sample(mz=1.0), flags=SampleFlag.WRENCH_INVALID),
            "plate's reading as invalid",
            EstimateFlag.WRENCH_INVALID,
        ),
        (replace(sample(mz=1.0), flags=SampleFlag.Q_INVALID), "positions as invalid", EstimateFlag.POSITION_INVALID),
        (replace(sample(mz=1.0), flags=SampleFlag.WRENCH_SATURATED), "end of its range", EstimateFlag.SATURATED),
        (sample(mz=np.nan), "not finite", EstimateFlag.WRENCH_INVALID),
        (sample(mz=200.0), "end of its range", EstimateFlag.SATURATED),
        (sample(q=4.0), "pose of the tare", EstimateFlag.OUT_OF_TARE_RANGE),
    ],
    ids=["missing", "marked", "position", "saturated", "nan", "beyond range", "far from the tare"],
)
@pytest.mark.parametrize("thorough", [False, True], ids=["quick", "thorough"])
def test_bad_readings_are_refused(bad: Sample, word: str, flag: EstimateFlag, thorough: bool) -> None:
    """A reading that may not be used is refused with words and with one flag, whoever judges; the next one is used."""
    made = BaseSensor(ROBOT, range=np.full(6, 100.0))
    made.tare([0.0], moment(0.0), range=3.0)
    plate = PlateTorque(made, thorough=thorough)
    assert not plate.read(replace(bad, time=T))
    assert flag in plate.flags and (thorough or (word in plate.reason and plate.flags == flag))
    assert plate.read(sample(mz=2.0, time=2 * T)) and plate.reason == "" and plate.flags == EstimateFlag.NONE
    assert plate.value[0] == pytest.approx(2.0)


def test_frozen_plate_is_refused() -> None:
    """A reading that stays the same although the joint moves, or although the plate is noisy, is none."""
    plate = PlateTorque(sensor())
    seen = [plate.read(sample(q=1e-3 * tick, mz=1.0)) for tick in range(25)]
    assert all(seen[:19]) and not any(seen[19:]) and "although it should have" in plate.reason
    assert plate.read(sample(mz=1.1))
    noisy = BaseSensor(ROBOT, uncertainty=Uncertainty.checked(ROBOT, noise=0.1))
    noisy.tare([0.0], moment(0.0), range=3.0)
    plate = PlateTorque(noisy)
    assert [plate.read(sample(mz=1.0)) for _ in range(20)] == [True] * 19 + [False]


def test_a_coarse_plate_at_rest_is_not_frozen() -> None:
    """Quiet and coarse, it repeats its reading for as long as the arm rests, and the loop stays closed; it opens when
    the joint has moved and the reading is still the same."""
    law = loop_law(plate=PlateTorque(sensor()))
    law.reset(sample())
    for tick in range(500):
        law.torque(sample(q=1e-4 * (tick % 2), mz=1.0), tick * T)  # the encoder counts to and fro
    assert law.closed and not law.news()
    for tick in range(10):
        law.torque(sample(q=0.01, mz=1.0), (500 + tick) * T)
    assert not law.closed and [kind for kind, _ in law.news()] == ["plate_lost"]


def test_thorough_estimate_judges_like_the_sensor() -> None:
    """With thorough=True BaseSensor.estimate decides, and says why."""
    plate = PlateTorque(sensor(), thorough=True)
    assert not plate.read(sample(mz=None, time=0.1)) and "no_wrench" in plate.reason
    assert plate.read(sample(mz=2.0, time=0.2)) and plate.value[0] == pytest.approx(2.0)


def test_losing_the_plate_fades_to_pd_with_gravity_and_back() -> None:
    """No tick jumps; a few bad ticks are bridged; then PD + g to rounding; then the loop closes again."""
    kp, kd, target = 200.0, 5.0, 0.05
    law = loop_law(
        desired=PD([kp], [kd], Hold([target])),
        gravity=ROBOT,
        start="effort",
        plate=PlateTorque(sensor()),
        k_int=20.0,
        feedforward=0.5,
        proportional=0.2,
    )
    g = ROBOT.gravity(np.array([0.0]))[0]
    law.reset(sample(effort=g))
    sent: list[float] = []

    def ticks(count: int, usable: bool) -> None:
        for _ in range(count):
            mz = 4.0 + 1e-3 * len(sent) if usable else None
            sent.append(float(law.torque(sample(mz=mz), len(sent) * T)[0]))

    ticks(100, usable=True)
    kept = sent[-1]
    ticks(BRIDGED_TICKS, usable=False)
    assert sent[-1] == kept and law.closed and not law.news()
    ticks(300, usable=False)
    assert not law.closed
    assert [kind for kind, _ in law.news()] == ["plate_lost"]
    assert sent[-1] == pytest.approx(g + kp * target)
    ticks(100, usable=True)
    assert law.closed
    assert [kind for kind, _ in law.news()] == ["plate_back"]
    growth = 20.0 * T * abs(kp * target - 4.0) + 0.2 * 1e-3 + 1e-9
    fade = 1.5 * max(abs(kept - g - kp * target), 1.0) / (0.5 / T)
    assert np.abs(np.diff(sent[1:])).max() <= max(growth, fade) * 1.01


@pytest.mark.parametrize(
    ("bad", "lost"),
    [
        (lambda tick: tick % 6 != 0, True),
        (lambda tick: tick % 2 == 0, True),
        (lambda tick: tick % 5 == 0, False),
        (lambda tick: tick % 20 == 0, False),
        (lambda tick: 100 <= tick < 100 + BRIDGED_TICKS, False),
        (lambda tick: 100 <= tick <= 100 + BRIDGED_TICKS, True),
    ],
    ids=["5 of 6", "1 of 2", "1 of 5", "1 of 20", "five in a row", "six in a row"],
)
def test_a_plate_that_flickers_is_lost(bad: Callable[[int], bool], lost: bool) -> None:
    """More than one bad reading in five is not bridged for ever, as in the safety filter; isolated ones are."""
    law = loop_law(plate=PlateTorque(sensor()))
    law.reset(sample())
    for tick in range(2000):
        law.torque(sample(mz=None if bad(tick) else 1.0 + 1e-6 * tick), tick * T)
    told = [kind for kind, _ in law.news()]
    assert told[:1] == ["plate_lost"] * lost
    assert law.lost_for == (EstimateFlag.NO_WRENCH if lost else EstimateFlag.NONE)
    law.reset(sample())
    assert law.closed and law.lost_for == EstimateFlag.NONE


def test_bad_readings_count_across_a_change_of_payload() -> None:
    """Five bad ones before with_robot and one after it are six in a row, also for limits; a reset forgets them."""
    law = loop_law(plate=PlateTorque(sensor()), k_int=100.0, desired=TorqueSignal(Hold([40.0]), 1))
    law.reset(sample())
    for tick in range(20 + BRIDGED_TICKS):
        law.torque(sample(mz=1.0 + 1e-6 * tick if tick < 20 else None), tick * T)
    other = law.with_robot(ROBOT.with_payload(0.5))
    grown = other.compensator.integral.copy()  # type: ignore[attr-defined]
    assert grown[0] > 1.0
    for each in (law, other):
        each.limited(np.array([-100.0]))  # the tick before computed no growth that could be taken back
        assert each.compensator.integral == grown  # type: ignore[attr-defined]
    assert law.closed and other.closed
    other.torque(sample(mz=None), 1.0)
    assert not other.closed and law.closed
    again = other.with_robot(ROBOT)
    assert not again.closed and again.lost_for == EstimateFlag.NO_WRENCH
    law.reset(sample())
    law.torque(sample(mz=None), 0.0)
    assert law.closed


def test_events_reach_the_report() -> None:
    """In a control loop loss and return of the plate are events of the run; the arm is not stopped."""

    class Failing(SingleJoint):
        def read(self) -> Sample:
            seen = super().read()
            return replace(seen, wrench=None) if 0.7 <= seen.time < 1.5 else seen

    config = preset("puma550").single_joint().config
    with Failing(preset("puma550").single_joint().link, config) as plant:
        plate = plate_of(plant, plant.robot)
        first = plant.read()
        plate.tare(first.q, first.wrench, range=0.2)
        law = base_sensor_control(plant, plate, [1000.0], [60.0], [80.0], Triangle([2e-3], 2.0))
        report = ControlLoop(plant, law, plant.robot).run(2.5, log=True)
    kinds = [event.kind for event in report.events]
    assert kinds == ["started", "plate_lost", "plate_back", "stopping", "stopped"]
    (loss,) = report.plate_losses
    assert loss.resumed and loss.reason == "the sample has no plate reading"
    assert loss.begin == pytest.approx(0.7 + BRIDGED_TICKS * plant.dt, abs=2 * plant.dt)
    assert loss.end == pytest.approx(1.5 + RETURN_TIME, abs=2 * plant.dt)
    assert report.plate_text() == f"torque feedback was lost {loss.span}: the sample has no plate reading"
    assert loss.span == f"from {loss.begin:.4g} s to {loss.end:.4g} s"
    assert report.log is not None and report.log.sent is not None
    lost = (report.log.time > 0.69) & (report.log.time < 1.7)
    assert np.abs(np.diff(report.log.sent[lost, 0])).max() < 1.5  # N m a tick: the encoder's counts through K_d


def test_start_is_bumpless() -> None:
    """From the torque that holds the arm: over the first second it neither jumps nor moves, with model and tare."""
    for gravity in (None, "tare"):
        plant = joint(position=0.4)
        with plant:
            plate = plate_of(plant, plant.robot)
            first = plant.read()
            plate.tare(first.q, first.wrench, range=0.2)
            law = base_sensor_control(plant, plate, [400.0], [40.0], [20.0], gravity=gravity)  # type: ignore[arg-type]
            report = ControlLoop(plant, law, plant.robot).run(1.0, log=True)
        assert report.log is not None and report.log.sent is not None
        driven = report.ticks - report.stop_ticks
        assert np.ptp(report.log.sent[:driven]) < 1e-6
        assert np.ptp(report.log.q[:driven]) < 1e-9


def test_free_joint_follows() -> None:
    """Without friction the closed loop follows a sine closely: sign and gravity are right end to end."""
    with joint(position=0.4) as plant:
        plate = plate_of(plant, plant.robot)
        first = plant.read()
        plate.tare(first.q, first.wrench, range=0.5)
        law = base_sensor_control(plant, plate, [2000.0], [120.0], [20.0], Sine([0.1], 4.0))
        log = ControlLoop(plant, law, plant.robot).run(8.0, log=True).log
    assert log is not None
    after = (log.time > 2.0) & (log.time < 8.0)
    wanted = 0.4 + 0.1 * np.sin(2.0 * np.pi * log.time[after] / 4.0)
    assert np.abs(log.q[after, 0] - wanted).max() < 2e-3


def test_torque_control_overcomes_friction() -> None:
    """Fig. 6: ±3 N m asked of a joint with more than 5 N m of friction; rms error below a quarter of the amplitude."""
    made = preset("puma550")
    with made.single_joint(0, seed=1) as plant:
        plate = plate_of(plant, plant.robot)
        first = plant.read()
        plate.tare(first.q, first.wrench, range=3.0)
        law = TorqueLoop(
            TorqueSignal(Triangle([3.0], 1.0, centre=[0.0]), 1),
            PlateTorque(plate),
            IntegralCompensator([150.0], integral_limit=plant.effort_limit, dt=plant.dt),
            dt=plant.dt,
            gravity=plant.robot,
        )
        log = ControlLoop(plant, law, plant.robot).run(4.0, log=True).log
    assert log is not None and log.wrench is not None
    after = (log.time > 1.0) & (log.time < 3.99)
    signal = Triangle([3.0], 1.0, centre=[0.0])
    asked = np.array([signal.at(time).q[0] for time in log.time[after]])
    estimated = plate.joint_torques(log.q, log.wrench)[after, 0]
    assert np.sqrt(np.mean((asked - estimated) ** 2)) < 0.25 * 3.0


def test_refusals() -> None:
    """What cannot work is refused before anything moves."""
    with pytest.raises(cp.InputError, match="adds gravity"):
        loop_law(desired=PDGravity(ROBOT, [1.0], [1.0]))
    with pytest.raises(cp.InputError, match="gravity is 'model'"):
        loop_law(gravity="model")
    with pytest.raises(cp.InputError, match="start='effort'"):
        loop_law(gravity="tare")
    with pytest.raises(cp.InputError, match="start is"):
        loop_law(start="now")
    with pytest.raises(cp.InputError, match="dt"):
        loop_law(dt=0.0)
    with pytest.raises(cp.InputError, match="no law"):
        loop_law(desired=3.0)
    with pytest.raises(cp.InputError, match="no base sensor"):
        PlateTorque(ROBOT)  # type: ignore[arg-type]
    with pytest.raises(cp.InputError, match="not tared"):
        loop_law(plate=PlateTorque(BaseSensor(ROBOT), "tared")).reset(sample())
    with pytest.raises(cp.InputError, match="measures none"):
        law = loop_law(gravity="tare", start="effort")
        law.reset(replace(sample(), flags=SampleFlag.TAU_INVALID))
    with pytest.raises(cp.InputError, match="no plate"):
        plate_of(SingleJoint(LINK), ROBOT)
    with pytest.raises(cp.InputError, match="dt"):
        IntegralCompensator([1.0], integral_limit=1.0, dt=0.0)


def test_model_of_a_single_joint() -> None:
    """The one-link robot has the plant's inertia, holding torque, rotor and limits, for either sign of gravity."""
    for amplitude in (8.0, -8.0, 0.0):
        link = replace(LINK, gravity=amplitude)
        robot = SingleJoint(link).robot
        for q in RNG.uniform(-3, 3, 5):
            assert robot.gravity([q])[0] == pytest.approx(amplitude * np.sin(q + 0.3), abs=1e-12)
            assert robot.inverse_dynamics([q], [0.0], [1.0])[0] - robot.gravity([q])[0] == pytest.approx(2.0)
        assert robot.rotor_inertia.tolist() == [0.5] and robot.effort_limit.tolist() == [60.0]


def test_no_order_of_failures_makes_the_torque_jump() -> None:
    """Lost at the first tick, while saturated, during a fade, on return, for good, by NaN: growth or fade a tick."""
    k_int, wanted, felt, g = 20.0, 10.0, 4.0, ROBOT.gravity(np.array([0.0]))[0]
    for seed in range(40):
        rng = np.random.default_rng(seed)
        share, proportional = rng.choice([0.0, 0.5, 1.0]), rng.choice([0.0, 0.3])
        law = loop_law(
            desired=PD([200.0], [5.0], Hold([wanted / 200.0])),
            gravity=ROBOT,
            start="effort",
            plate=PlateTorque(sensor()),
            k_int=k_int,
            feedforward=share,
            proportional=proportional,
        )
        found, good = rng.uniform(-20.0, 20.0), bool(rng.integers(2))
        law.reset(sample(effort=found))
        sent = [found]
        for tick in range(800):
            good ^= bool(rng.uniform() < 0.015)
            usable = good ^ bool(rng.uniform() < 0.02)
            seen = sample(mz=felt + 1e-3 * (tick % 7))
            faults = (sample(mz=None), sample(mz=np.nan), replace(seen, flags=SampleFlag.WRENCH_SATURATED))
            sent.append(float(law.torque(seen if usable else faults[rng.integers(3)], tick * T)[0]))
            if rng.uniform() < 0.3:
                law.limited(np.array([rng.choice([-1.0, 1.0])]))
        for _ in range(300):
            sent.append(float(law.torque(faults[0], 0.0)[0]))
        growth = k_int * T * (wanted - felt) + 0.012 * proportional
        fade = 1.5 * np.abs(np.array(sent) - g - wanted).max() / (0.5 / T)
        assert np.abs(np.diff(sent)).max() <= growth + fade
        assert sent[-1] == pytest.approx(g + wanted)  # for good: PD with gravity


def test_an_untared_plate_must_be_asked_for() -> None:
    """ "auto" without a tare would take the plate's offset for torque; "full" says that this is meant."""
    with pytest.raises(cp.InputError, match="not tared"):
        loop_law(plate=PlateTorque(BaseSensor(ROBOT))).reset(sample())
    loop_law(plate=PlateTorque(BaseSensor(ROBOT), "full")).reset(sample())
    with pytest.raises(cp.InputError, match="form is 'tarred'"):
        PlateTorque(BaseSensor(ROBOT), "tarred")


def test_a_thorough_look_begins_anew_with_each_run() -> None:
    """Samples whose clock begins again are no stale ones after a reset."""
    plate = PlateTorque(sensor(), thorough=True)
    assert plate.read(sample(mz=2.0, time=5.0))
    assert not plate.read(sample(mz=2.0, time=1.0))
    plate.reset()
    assert plate.read(sample(mz=2.0, time=1.0))


@pytest.mark.parametrize("axis", [1.0, -1.0], ids=["upwards", "downwards"])
def test_linear_joint_overcomes_friction(tmp_path, axis: float) -> None:
    """A slider of 3 kg along the vertical with 5 N of friction: where PD stops short, the plate's loop arrives."""
    mass, friction, kp, kd = 3.0, 5.0, 2000.0, 120.0
    (tmp_path / "slider.urdf").write_text(
        '<robot name="slider"><link name="base"/><link name="slide"><inertial><origin xyz="0 0 0"/>'
        f'<mass value="{mass}"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="lift" type="prismatic"><parent link="base"/><child link="slide"/>'
        f'<axis xyz="0 0 {axis}"/><limit lower="-1" upper="1" effort="200" velocity="2"/></joint></robot>'
    )
    robot = cp.load(tmp_path / "slider.urdf")
    weight = robot.gravity(np.zeros(1))[0]
    assert weight == pytest.approx(axis * mass * 9.81)
    rest: dict[float, float] = {}
    for k_int in (0.0, 30.0):
        made = BaseSensor(robot)
        made.tare([0.0], [0.0, 0.0, mass * 9.81, 0.0, 0.0, 0.0], range=0.1)
        compensator = IntegralCompensator([k_int], integral_limit=200.0, dt=T)
        law = TorqueLoop(PD([kp], [kd], Hold([0.01])), PlateTorque(made), compensator, dt=T, gravity=robot)
        q = dq = ddq = 0.0
        for tick in range(1500):
            reading = np.array([0.0, 0.0, mass * (9.81 + axis * ddq) + 1e-9 * tick, 0.0, 0.0, 0.0])
            seen = Sample(tick * T, np.array([q]), np.array([dq]), np.array([weight]), reading)
            if tick == 0:
                law.reset(seen)
            ddq = (law.torque(seen, tick * T)[0] - weight - friction) / mass
            dq += ddq * T
            q += dq * T
        rest[k_int] = 0.01 - q
    # Both begin from the effort found, which holds PD's first torque back.
    assert rest[0.0] > friction / kp and abs(rest[30.0]) < 1e-4


def test_a_load_taken_up_after_the_tare_costs_position() -> None:
    """The plate takes its weight for torque: the joint rests b / K_p too low, and a new tare fixes it."""
    kp, load = 500.0, 6.0
    law = loop_law(desired=PD([kp], [20.0], Hold([0.0])), k_int=20.0)
    law.reset(sample())
    q, dq, inertia, felt = 0.0, 0.0, LINK.inertia, 0.0
    for tick in range(3000):
        ddq = (law.torque(sample(q, dq, felt), tick * T)[0] - load) / inertia
        felt = inertia * ddq + load + 1e-9 * tick  # what the plate exerts, by momentum
        dq += ddq * T
        q += dq * T
    assert q == pytest.approx(-load / kp, rel=1e-3)


def test_parts_that_do_not_belong_together_are_refused() -> None:
    """Gains for other joints, a model of another robot, a plant that is not the sensor's, a tare of no torques."""
    with joint() as plant:
        made = sensor()
        with pytest.raises(cp.InputError, match="kp"):
            base_sensor_control(plant, made, [1.0, 2.0], 1.0, [1.0])
        with pytest.raises(cp.InputError, match="k_int"):
            base_sensor_control(plant, made, [1.0], 1.0, [1.0, 2.0])
        other = cp.load("puma560")
        with pytest.raises(cp.InputError, match="gravity is of"):
            base_sensor_control(plant, made, 1.0, 1.0, 1.0, gravity=other)
        with pytest.raises(cp.InputError, match="the sensor's robot has"):
            base_sensor_control(plant, BaseSensor(other), 1.0, 1.0, 1.0)

    class Current(SingleJoint):
        effort_kind = "current"  # type: ignore[assignment]

    with pytest.raises(cp.InputError, match="measures none"):
        base_sensor_control(Current(LINK), sensor(), 1.0, 1.0, 1.0, gravity="tare")


def test_a_torque_that_is_no_number_does_not_stay_in_the_integral() -> None:
    """The filter refuses it; the next good one is what it would have been, at the first tick too."""
    for first in (0, 20):
        torques = []
        for spoiled in (False, True):
            law = loop_law(desired=Spoiled(first if spoiled else -1), gravity=ROBOT, start="effort")
            law.reset(sample(effort=3.0))
            for tick in range(40):
                if tick != first:  # the run without the bad tick does not tick there at all
                    tau = law.torque(sample(mz=1.0 + 1e-3 * tick), tick * T).copy()
                elif spoiled:
                    assert not np.isfinite(law.torque(sample(mz=1.0), tick * T)).any()
            torques.append(tau)
        np.testing.assert_array_equal(*torques)


class Spoiled:
    """Asks for 2 N m, and once for NaN."""

    adds_gravity = uses_wrench = False

    def __init__(self, tick: int) -> None:
        self._tick = tick

    def reset(self, sample: Sample) -> None:
        """Do nothing."""

    def torque(self, sample: Sample, time: float) -> Array:
        return np.array([np.nan if round(time / T) == self._tick else 2.0])


@pytest.mark.parametrize("form", ["full", "tared", "tared+model"])
@pytest.mark.parametrize("gravity", ["model", "tare", "plant"])
def test_another_payload_goes_on_where_the_law_is(form: str, gravity: str) -> None:
    """with_robot adds the load's weight and nothing else; the estimate follows; letting go undoes it."""
    arm = cp.load("puma560").mounted(rpy=(0.3, -0.2, 0.1))
    q = np.array([0.2, 0.6, -2.4, 0.1, 0.5, 0.0])
    plate = BaseSensor(arm, reads="on_sensor")
    plate.tare(q, plate.frame.reading(arm.base_wrench(q)), range=1.0)
    law = TorqueLoop(
        PD(np.full(6, 100.0), 5.0),
        PlateTorque(plate, form),
        IntegralCompensator(np.full(6, 10.0), integral_limit=50.0, dt=T),
        dt=T,
        gravity=arm if gravity == "model" else gravity,  # type: ignore[arg-type]
        start="zero" if gravity == "plant" else "effort",
    )
    effort = np.linspace(1.0, 6.0, 6)
    disturbed = np.array([0.0, 0.0, 0.0, 1.0, -2.0, 0.5])
    loaded = arm.with_payload(1.5, com=(0.02, 0.0, 0.1))

    def seen(robot: cp.Robot, tick: int) -> Sample:
        reading = plate.frame.reading(robot.base_wrench(q) + (1.0 + 1e-6 * tick) * disturbed)
        return Sample(tick * T, q, np.zeros(6), effort, reading)

    law.reset(seen(arm, 0))
    for tick in range(30):
        law.torque(seen(arm, tick), tick * T)
    other = law.with_robot(loaded)
    back = other.with_robot(arm)
    weight = np.zeros(6) if gravity == "plant" else loaded.gravity(q) - arm.gravity(q)
    for tick in range(30, 40):
        expected = law.torque(seen(arm, tick), tick * T).copy()
        np.testing.assert_allclose(other.torque(seen(loaded, tick), tick * T), expected + weight, atol=1e-9)
        np.testing.assert_allclose(back.torque(seen(arm, tick), tick * T), expected, atol=1e-9)
    assert np.abs(law.correction).max() > 0.1
    assert other.plate.sensor.robot is loaded


@pytest.mark.parametrize("told", [True, False], ids=["told", "not told"])
def test_a_load_is_grasped_and_let_go_while_the_plate_closes_the_loop(told: bool) -> None:
    """Told of the load, base sensor control holds the joints where they were; not told, they droop by Δg / K_p."""
    pytest.importorskip("mujoco")
    arm, q = cp.load("puma560"), np.array([0.2, 0.6, -2.4, 0.1, 0.5, 0.0])
    kp, kd = np.array([800.0, 800.0, 400.0, 40.0, 40.0, 20.0]), [80.0, 80.0, 40.0, 3.0, 3.0, 1.0]
    load = (2.0, (0.0, 0.0, 0.1))
    droop = np.abs(arm.with_payload(*load).gravity(q) - arm.gravity(q)) / kp
    events = (AttachPayload(0.4, *load), RemovePayloads(1.4))
    plate_made = Plate(T_base_sensor=np.eye(4), noise=(1e-3,) * 6)  # without noise it would count as frozen
    config = ArmConfig(timing=Timing(T, 5e-4), plate=plate_made, position=q, events=events)
    plant = SimulatedArm(arm, config)
    with plant:
        plate = plate_of(plant, arm)
        first = plant.read()
        plate.tare(first.q, first.wrench, range=0.5)
        law = base_sensor_control(plant, plate, kp, kd, 10.0)
        loop = ControlLoop(plant, law, arm)
        switch = LoadSwitch(loop, law, arm)

        def tick(now: Sample) -> bool:
            if told and round(now.time / T) == round(0.4 / T):
                switch.grasp(*load)
            if told and round(now.time / T) == round(1.4 / T):
                switch.release()
            return False

        report = loop.run(2.4, until=tick, log=True)
    assert report.log is not None and report.log.sent is not None
    assert "plate_lost" not in [event.kind for event in report.events]
    away = np.abs(report.log.q - q)
    held = away[round(1.35 / T)]
    if not told:
        assert held[1] == pytest.approx(droop[1], rel=0.3)
        return
    assert np.all(held < 0.1 * droop.max())
    assert np.all(held[:3] < 0.05 * droop[1])
    assert np.all(away[round(2.35 / T), :3] < 0.05 * droop[1])
    driven = report.log.sent[10 : report.ticks - report.stop_ticks]
    assert np.abs(np.diff(driven, axis=0)).max() < 2.0  # N m a tick of 2 ms: the load is some 15 N m
    assert switch.law.plate.sensor.robot is arm  # type: ignore[attr-defined]
