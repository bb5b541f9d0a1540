"""The simulated arm as a plant: protocol, delay, saturation, stops, pushes, payloads, the same bytes twice."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.control import PD, ControlLoop, EndState, Gravity, Plant
from counterpoise.dynamics import LuGre
from counterpoise.errors import InputError
from counterpoise.plants import ideal, preset
from counterpoise.plants.config import (
    ArmConfig,
    Brake,
    Drive,
    EffortSensor,
    Encoder,
    FlowValve,
    Gear,
    Plate,
    Stops,
    Timing,
    TorqueSource,
)
from counterpoise.plants.events import AttachPayload, Push, RemovePayloads
from counterpoise.plants.reference import ReferenceLowPass, butterworth, settled_state
from counterpoise.plants.simulated import SimulatedArm
from counterpoise.recording import SampleFlag

pytest.importorskip("mujoco", reason="MuJoCo is not installed")


def pendulum(**changes: Any) -> SimulatedArm:
    return SimulatedArm(cp.load("pendulum"), ideal().replaced(**changes))


def test_it_is_a_plant() -> None:
    """Every name of the protocol is there, with the robot's limits and the plate's declaration."""
    robot = cp.load("puma560")
    arm = SimulatedArm(robot, ideal().replaced(plate=Plate(reads="on_sensor", range=(10.0,) * 6)))
    assert isinstance(arm, Plant)
    assert arm.joint_names == robot.joint_names
    assert np.array_equal(arm.effort_limit, robot.effort_limit)
    assert np.array_equal(arm.velocity_limit, robot.velocity_limit)
    assert (arm.effort_kind, arm.adds_gravity, arm.stop, arm.watchdog) == ("torque", False, "zero", 0.1)
    assert arm.plate is not None and arm.plate.reads == "on_sensor"
    assert SimulatedArm(robot, ideal().replaced(velocity_limit=2.5)).velocity_limit.tolist() == [2.5] * 6
    assert SimulatedArm(robot).plate is None
    assert repr(arm) == "<SimulatedArm 'puma560' as 'ideal' at 0 s>"


def test_it_must_be_switched_on() -> None:
    """Outside its block neither reading nor writing is possible."""
    arm = pendulum()
    for use in (arm.read, lambda: arm.write(np.zeros(1))):
        with pytest.raises(cp.errors.PlantError, match="not switched on"):
            use()
    with arm:
        arm.write(np.zeros(1))
    with pytest.raises(cp.errors.PlantError):
        arm.read()


def test_time_moves_by_one_period_per_write() -> None:
    """read() does not move the clock; a sample belongs to the end of its period and its arrays stay as they are."""
    with pendulum() as arm:
        first = arm.read()
        kept = first.q.copy()
        assert arm.read() is first
        for tick in range(1, 4):
            arm.write(np.array([2.0]))
            assert arm.read().time == pytest.approx(tick * arm.dt)
        assert np.array_equal(first.q, kept)
        assert arm.read().q[0] != kept[0]


def test_samples_are_read_only() -> None:
    """A law that computes in place gets an error instead of a changed encoder."""
    plate = Plate(noise=(0.1,) * 6)
    with pendulum(plate=plate, encoder=Encoder(resolution=1e-3, noise=1e-3), effort=EffortSensor(noise=0.1)) as arm:
        for _ in range(3):
            arm.write(np.zeros(1))
            sample = arm.read()
            assert not any(array.flags.writeable for array in (sample.q, sample.dq, sample.tau))
            assert sample.wrench is not None
            assert not sample.wrench.flags.writeable


@pytest.mark.parametrize("delay", [0, 1, 3])
def test_commands_arrive_after_the_delay(delay: int) -> None:
    """A step of torque moves the arm from the tick on that its delay says; until then the holding torque acts."""
    timing = Timing(dt=1e-3, delay=delay, physics_step=1e-4)
    with pendulum(timing=timing) as arm:
        start, hold = arm.read().q.copy(), arm.read().tau
        moved = []
        for _ in range(delay + 1):
            arm.write(hold + 1.0)
            moved.append(abs(arm.truth().q[0] - start[0]) > 1e-12)
        assert moved == [False] * delay + [True]


def test_what_was_sent_is_returned() -> None:
    """Torques beyond the limits are cut, and what is not a torque is refused."""
    with pendulum(drive=Drive(actuator=TorqueSource(limit=1.5))) as arm:
        asked = np.array([7.0])
        sent = arm.write(asked)
        assert sent.tolist() == [1.5]
        asked[0] = -99.0
        assert sent.tolist() == [1.5]
        assert arm.read().tau == pytest.approx([1.5])
        assert arm.write([-0.25]).tolist() == [-0.25]
        for bad in ([np.nan], [np.inf], [1.0, 2.0], ["a"], [[1.0]]):
            with pytest.raises(cp.InputError, match="tau"):
                arm.write(bad)


def test_holding_torque_at_the_start_holds() -> None:
    """From "held" the arm stands still under the effort it reports, gears wound up and plate pressed down."""
    arm = preset("puma550", "20Hz").arm()
    with arm:
        hold = arm.read().tau
        before = arm.truth()
        for _ in range(30):
            arm.write(arm.robot.gravity(before.q))
        after = arm.truth()
    assert hold[1] == pytest.approx(arm.robot.gravity(before.q)[1], abs=1.0)  # the effort is noisy
    assert np.abs(after.q - before.q).max() < 1e-3
    assert np.abs(before.motor_q - before.q).max() > 1e-4


def test_slack_start_falls() -> None:
    """From "slack" nothing holds the arm, and its first effort is 0."""
    with pendulum(start="slack") as arm:
        assert arm.read().tau.tolist() == [0.0]
        for _ in range(50):
            arm.write(np.zeros(1))
        assert abs(arm.truth().dq[0]) > 0.1 or abs(arm.robot.gravity(arm.truth().q)[0]) < 1e-9


def test_an_arm_that_adds_gravity_holds_itself() -> None:
    """adds_gravity: zeros hold it; without it, zeros let it fall."""
    robot = cp.load("puma560")
    for adds, most in ((True, 1e-9), (False, None)):
        with SimulatedArm(robot, ideal().replaced(adds_gravity=adds)) as arm:
            start = arm.truth().q
            for _ in range(100):
                arm.write(np.zeros(6))
            moved = np.abs(arm.truth().q - start).max()
        assert moved < most if most is not None else moved > 1e-3


def test_emergency_stop_cuts_the_torque() -> None:
    """After it writes are not sent, return zeros, and the arm falls; entered again it holds."""
    robot = cp.load("puma560")
    with SimulatedArm(robot, ideal()) as arm:
        hold = arm.read().tau
        arm.emergency_stop()
        arm.emergency_stop()
        for _ in range(100):
            assert not arm.write(hold).any()
        assert np.abs(arm.truth().dq).max() > 0.02
    arm.reset()
    with arm:
        assert arm.write(hold) == pytest.approx(hold)


def test_leaving_on_an_exception_stops_too() -> None:
    """An exception passes through and leaves the arm stopped and switched off."""
    arm = pendulum()
    with pytest.raises(ZeroDivisionError), arm:
        raise ZeroDivisionError
    with arm:  # entering again switches on again
        assert arm.write(np.array([0.5])).tolist() == [0.5]


def test_brakes_stop_and_hold() -> None:
    """With stop="brake" a moving arm comes to rest within its brakes' torque and stays, without any torque sent."""
    law = LuGre(1.0, stiffness=1e4, damping=20.0)
    drive = Drive(friction=law, brake=Brake(torque=(100.0, 190.0, 90.0, 20.0, 20.0, 20.0)))
    config = ArmConfig(drive=drive, stop="brake", timing=Timing(dt=1e-3))
    with SimulatedArm(cp.load("puma560"), config) as arm:
        arm.reset(None, np.array([0.5, 0.3, -0.3, 0.5, 0.5, 0.5]))
        arm.emergency_stop()
        for _ in range(500):
            arm.write(np.zeros(6))
        rest = arm.truth()
        for _ in range(300):
            arm.write(np.zeros(6))
        assert np.abs(arm.truth().q - rest.q).max() < 1e-5
        assert np.abs(rest.dq).max() < 1e-4


def test_push_acts_on_the_robot_in_its_window() -> None:
    """A force at a link's point appears as Jᵀ w in the joints and in full on the plate, only from start to end."""
    robot = cp.load("puma560")
    wrench, point = np.array([5.0, -3.0, 8.0, 0.4, 0.2, -0.1]), np.array([0.05, 0.0, 0.1])
    push = Push(link="link6", wrench=wrench, point=point, start=0.01, end=0.02)
    with SimulatedArm(robot, ideal().replaced(events=(push,))) as arm:
        for tick in range(30):
            state = arm.truth()
            needed = robot.inverse_dynamics(state.q, state.dq, state.ddq) + robot.rotor_inertia * state.ddq
            felt = needed - state.torque
            lifted = state.wrench - robot.base_wrench(state.q, state.dq, state.ddq)
            if 10 <= tick < 20:
                T = robot.forward_kinematics(state.q, at="link6")
                at_link = np.concatenate([wrench[:3], wrench[3:] + np.cross(T[:3, :3] @ point, wrench[:3])])
                assert felt == pytest.approx(robot.wrench_torque(state.q, at_link, at="link6"), abs=1e-3)
                assert lifted[:3] == pytest.approx(-wrench[:3], abs=1e-6)
            else:
                assert np.abs(felt).max() < 1e-9
                assert np.abs(lifted).max() < 1e-6
            arm.write(robot.gravity(state.q))
        arm.push(Push(link="link6", wrench=wrench, start=arm.time))
        arm.write(robot.gravity(arm.truth().q))
        assert np.abs(arm.truth().wrench - robot.base_wrench(arm.truth().q)).max() > 1.0


@pytest.mark.parametrize("dt", [1e-3, 2e-3, 5e-3])
def test_every_push_ends(dt: float) -> None:
    """Whenever it begins and however long it is: ends that are a multiple of dt but for rounding, too."""
    arm = SimulatedArm(cp.load("planar3"), ideal(dt=dt))
    ticks = round(0.02 / dt)
    with arm:
        for tick in range(200):
            push = Push(wrench=(0.0, 0.0, 5.0, 0.0, 0.0, 0.0), start=arm.time, end=arm.time + 0.02)
            arm.push(push)
            for _ in range(ticks + 1):
                arm.write(arm.robot.gravity(arm.read().q))
            assert not np.any(arm._model.data.xfrc_applied), f"push {tick}, {push.end!r} s"
            arm.end_push(push)


def test_a_released_push_acts_no_longer() -> None:
    """The acceleration is that of the push while it acts and zero at once when it is taken back; the other stays."""
    robot = cp.load("pendulum")
    push, other = (Push(wrench=(force, 0.0, 0.0, 0.0, 0.0, 0.0)) for force in (4.0, 1.0))
    with SimulatedArm(robot, ideal()) as arm:
        arm.push(push)
        arm.push(other)
        arm.write(robot.gravity(arm.read().q))
        both = arm.truth().ddq.copy()
        arm.end_push(push)
        one = arm.truth().ddq.copy()
        arm.end_push(other)
        arm.end_push(other)
        none = arm.truth().ddq.copy()
    assert abs(both[0]) > 1e-2
    assert one == pytest.approx(both / 5.0, rel=0.05)
    assert np.abs(none).max() < 0.02 * np.abs(both).max()


def test_push_along_the_link_turns_with_it() -> None:
    """In link axes the force follows the link's orientation."""
    robot = cp.load("puma560")
    push = Push(link="link3", wrench=(0.0, 0.0, 10.0, 0.0, 0.0, 0.0), axes="link")
    with SimulatedArm(robot, ideal().replaced(events=(push,))) as arm:
        arm.write(robot.gravity(arm.truth().q))
        state = arm.truth()
        axis = robot.forward_kinematics(state.q, at="link3")[:3, 2]
        lifted = state.wrench - robot.base_wrench(state.q, state.dq, state.ddq)
        assert lifted[:3] == pytest.approx(-10.0 * axis, abs=1e-2)


def test_payloads_come_and_go() -> None:
    """A load attached at 10 ms weighs on joints and plate until it is taken off; reset() begins without it."""
    events = (AttachPayload(0.01, mass=3.0, com=(0.0, 0.0, 0.1), link="link6"), RemovePayloads(0.02))
    robot = cp.load("puma560")
    loaded = robot.with_payload(3.0, com=(0.0, 0.0, 0.1), link="link6")
    arm = SimulatedArm(robot, ideal().replaced(events=events))
    for _ in range(2):
        with arm:
            for tick in range(1, 31):
                arm.write(np.zeros(6))
                now, state = loaded if 11 <= tick <= 20 else robot, arm.truth()
                needed = now.inverse_dynamics(state.q, state.dq, state.ddq) + robot.rotor_inertia * state.ddq
                assert np.abs(needed - state.torque).max() < 1e-9
                assert state.wrench == pytest.approx(now.base_wrench(state.q, state.dq, state.ddq), abs=1e-6)
                assert arm.robot.total_mass == pytest.approx(now.total_mass)
        arm.reset()


def test_events_on_unknown_links_are_refused() -> None:
    """The link's name is checked when the arm is made, not when the event comes."""
    for event in (Push(link="nose", end=1.0), AttachPayload(1.0, 1.0, link="nose")):
        with pytest.raises(cp.InputError, match="nose"):
            SimulatedArm(cp.load("puma560"), ideal().replaced(events=(event,)))


def test_stops_hold_a_falling_arm() -> None:
    """With soft stops an unpowered arm ends near its limits; without, it swings through them."""
    robot = cp.load("puma560")
    reached = []
    for stops in (
        Stops(stiffness=(2e4, 2e4, 1e4, 500.0, 500.0, 500.0), damping=(50.0, 50.0, 20.0, 2.0, 2.0, 2.0)),
        None,
    ):
        config = ArmConfig(start="slack", stops=stops, timing=Timing(dt=2e-3))
        with SimulatedArm(robot, config) as arm:
            arm.reset([0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
            beyond = 0.0
            for _ in range(500):
                arm.write(np.zeros(6))
                q = arm.truth().q
                beyond = max(beyond, float((robot.lower - q).max()), float((q - robot.upper).max()))
        reached.append(beyond)
    assert reached[0] < 0.1 < reached[1]


def test_saturated_plate_is_flagged() -> None:
    """A plate at the end of its range says so in the sample."""
    with pendulum(plate=Plate(range=(1e3, 1e3, 1e-3, 1e3, 1e3, 1e3))) as arm:
        sample = arm.read()
        assert sample.flags == SampleFlag.WRENCH_SATURATED
        assert sample.wrench is not None and abs(sample.wrench[2]) == 1e-3


def test_encoder_side() -> None:
    """On a soft gear the motor's encoder and the link's differ by the windup under gravity."""
    robot = cp.load("puma560")
    readings = {}
    stiffness = np.array([2e4, 2e4, 2e4, 1e3, 1e3, 1e3])
    for side in ("motor", "link"):
        config = ArmConfig(drive=Drive(gear=Gear(stiffness=stiffness)), encoder=Encoder(side=side))  # type: ignore[arg-type]
        with SimulatedArm(robot, config.replaced(position=(0.0, 0.0, 0.0, 0.0, 0.0, 0.0))) as arm:
            readings[side] = arm.read().q
            hold = arm.read().tau
    assert readings["motor"] - readings["link"] == pytest.approx(hold / stiffness)


def test_flow_valve_arm_holds_when_shut_and_moves_when_opened() -> None:
    """A zero command keeps the oil in: the arm stays; an opening moves it at about its share of the free speed."""
    robot = cp.load("titan2")
    valve = FlowValve(limit=robot.effort_limit, free_speed=1.0, stiffness=1e5, supply=2.0 * robot.effort_limit)
    config = ArmConfig(drive=Drive(actuator=valve), timing=Timing(dt=2e-3, physics_step=1e-4))
    with SimulatedArm(robot, config.replaced(position=(0.0, 0.5, -1.0, 0.0, 0.0, 0.0))) as arm:
        start = arm.truth().q
        assert arm.read().tau == pytest.approx(robot.gravity(start), abs=1e-6)
        for _ in range(100):
            arm.write(np.zeros(6))
        assert np.abs(arm.truth().q - start).max() < 1e-6
        before = arm.truth().q[0]
        for _ in range(500):
            arm.write(0.2 * robot.effort_limit * [1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
        assert (arm.truth().q[0] - before) / 1.0 == pytest.approx(0.2, rel=0.1)


def test_a_divergence_is_an_error_and_not_a_number() -> None:
    """A torque out of all scale ends in a PlantError that says what to look for."""
    strong = Drive(actuator=TorqueSource(limit=np.inf))
    with (
        pendulum(drive=strong) as arm,
        pytest.raises(cp.errors.PlantError, match=r"diverged at .* look for a gain or a load"),
    ):
        for _ in range(100):
            arm.write(np.array([9e8]))


def recording(arm: SimulatedArm, ticks: int = 40) -> bytes:
    parts = []
    with arm:
        hold = arm.read().tau.copy()
        for tick in range(ticks):
            arm.write(hold * (1.0 + 0.02 * np.sin(0.3 * tick)))
            sample = arm.read()
            wrench = b"" if sample.wrench is None else sample.wrench.tobytes()
            parts += [sample.q.tobytes(), sample.dq.tobytes(), sample.tau.tobytes(), wrench]
    return b"".join(parts)


@pytest.mark.parametrize(("name", "variant"), [("puma550", "50Hz"), ("wam7", "plate"), ("titan2", "flow-valve")])
def test_same_seed_same_bytes(name: str, variant: str) -> None:
    """Two arms of one seed, and one arm after reset(), give the same bytes; another seed does not."""
    made = preset(name, variant)
    first = made.arm(seed=11)
    bytes_of_first = recording(first)
    assert recording(made.arm(seed=11)) == bytes_of_first
    first.reset()
    assert recording(first) == bytes_of_first
    assert recording(made.arm(seed=12)) != bytes_of_first


def test_looking_at_the_truth_changes_nothing() -> None:
    """truth() and modes() between the ticks leave the run as it is, byte for byte."""
    made = preset("puma550", "50Hz")
    plain = recording(made.arm(), 20)
    arm, parts = made.arm(), []
    with arm:
        hold = arm.read().tau.copy()
        for tick in range(20):
            arm.truth()
            arm.write(hold * (1.0 + 0.02 * np.sin(0.3 * tick)))
            arm.modes()
            sample = arm.read()
            assert sample.wrench is not None
            parts += [part.tobytes() for part in (sample.q, sample.dq, sample.tau, sample.wrench)]
    assert b"".join(parts) == plain


def test_a_step_too_long_is_refused() -> None:
    """A spring or damper that the physics step cannot follow is named with the step that could."""
    robot = cp.load("puma560")
    with pytest.raises(cp.InputError, match=r"too long for the fastest mode, .* set timing.physics_step to at most"):
        SimulatedArm(robot, ArmConfig(drive=Drive(gear=Gear(stiffness=1e6))))
    law = LuGre(1.0, stiffness=1e3, damping=1e5)
    with pytest.raises(cp.InputError, match=r"the damping of joint .* is too much for a physics step"):
        SimulatedArm(robot, ArmConfig(drive=Drive(friction=law)))


def test_noise_is_only_where_it_was_asked_for() -> None:
    """With effort noise alone, positions and wrench stay exact."""
    with pendulum(effort=EffortSensor(noise=0.1)) as arm:
        hold = arm.robot.gravity(arm.truth().q)
        efforts = []
        for _ in range(50):
            arm.write(hold)
            efforts.append(arm.read().tau[0])
        assert arm.read().q == pytest.approx(arm.truth().q, abs=0.0)
        assert np.std(efforts) == pytest.approx(0.1, rel=0.4)


def test_rigid_plate_is_filtered_at_the_base() -> None:
    """The low-pass acts on the wrench at a fixed point: while links move, it gives the exact reading, filtered."""
    robot, step, ticks = cp.load("puma560"), 1e-4, 2000
    readings = []
    for cutoff in (math.inf, 30.0):
        config = ArmConfig(timing=Timing(dt=step, physics_step=step), plate=Plate(cutoff=cutoff))
        arm = SimulatedArm(robot, config)
        arm.reset(dq=[2.0, 1.0, 1.0, 0.0, 0.0, 0.0])
        with arm:
            rows = [arm.read().wrench]
            for _ in range(ticks):
                arm.write(arm.robot.gravity(arm.truth().q))
                rows.append(arm.read().wrench)
        readings.append(np.array(rows))
    exact, filtered = readings
    coefficients = butterworth(30.0, step)
    given, output, memory = exact[0].copy(), np.zeros(6), settled_state(coefficients, exact[0])
    low_pass = ReferenceLowPass(coefficients, given, output, memory)
    expected = []
    for row in exact[:-1]:  # a filtered reading ends with the reaction at the beginning of the last physics step
        given[:] = row
        low_pass.step()
        expected.append(output.copy())
    # Within a physics step MuJoCo's velocities are a step newer than its accelerations: 4 mN m here. Filtered about the
    # moving centre of mass, the moments would be off by 0.3 N m.
    assert np.abs(filtered[1:] - expected).max() < 0.01
    assert np.ptp(exact[:, 4]) > 1.0


def test_arm_behind_flow_valves_carries_itself() -> None:
    """A command of g(q) would open its valves: laws with gravity are refused, and a run and its stop leave it there."""
    arm = preset("titan2", "flow-valve").arm(seed=1)
    assert arm.adds_gravity
    assert not preset("titan2", "torque-source").arm().adds_gravity
    with pytest.raises(cp.SafetyError, match="adds gravity itself"):
        ControlLoop(arm, Gravity(arm.robot), arm.robot)
    with arm:
        start = arm.truth().q
        report = ControlLoop(arm, PD(np.zeros(arm.n), 0.0), arm.robot).run(0.5)
        moved = np.degrees(np.abs(arm.truth().q - start)).max()
    assert report.end is EndState.COMPLETED
    assert moved < 0.2  # leakage; sent the pressure's torque as a command, it moved by 6 degrees
    with pytest.raises(InputError, match="flow valve takes no torque"):
        arm.config.replaced(adds_gravity=True)
