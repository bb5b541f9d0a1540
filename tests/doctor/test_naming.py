"""Naming: what a reading says in findings, whichever way it was found. Fixes and frames are checked to the digit."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.doctor.case import Case, confidence, rounded
from counterpoise.doctor.channel_findings import name_degrees, name_gains, name_offsets, name_order, name_signs
from counterpoise.doctor.diagnosis import check_model
from counterpoise.doctor.evidence import ReadingComparison
from counterpoise.doctor.finding import Consequence, LogFault
from counterpoise.doctor.gram import SignalColumns
from counterpoise.doctor.load_findings import (
    MASS_SCALE,
    name_compensated,
    name_mount,
    name_payload,
    name_poor_model,
    needs_other_robot,
    wrong_robot,
)
from counterpoise.doctor.moves import angle_between, in_degrees
from counterpoise.doctor.points import points_of
from counterpoise.doctor.priors import ANY, Cost
from counterpoise.doctor.reading import Reading, swapped
from counterpoise.doctor.search import Search
from counterpoise.doctor.weighing import is_unit
from counterpoise.recording import Log
from library.analytic_log import measured
from library.doctor_cases import exchanged, recording, reversed_effort, scaled_effort, shifted_effort, wrong_model

ARM = cp.load("wam4")
MODEL = wrong_model(ARM)
PLAIN = Reading.as_recorded(MODEL)
LOG = recording(ARM)
ALIVE = (0, 1, 2, 3)


def case(log: Log, reading: Reading, model: cp.Robot = MODEL, begin: Reading | None = None) -> Case:
    """Return the case of a search that ended with a reading."""
    comparison = ReadingComparison(SignalColumns(model, points_of(log)), (ANY,))
    start = Reading.as_recorded(model) if begin is None else begin
    found, at = comparison.best(reading), comparison.best(start)
    return Case(Search(comparison, Cost(start, tuple(range(model.n))), at, found), log)


def test_a_reading_that_believes_the_log_is_given_no_name() -> None:
    sound = case(LOG, PLAIN)
    for name in (name_signs, name_order, name_degrees, name_gains, name_offsets, name_compensated, name_mount):
        assert name(sound) == []
    assert name_payload(sound) == name_poor_model(sound) == []


def test_a_reversed_effort_is_named_with_what_was_recorded() -> None:
    (finding,) = name_signs(case(reversed_effort(LOG, 3), PLAIN.with_effort_flipped(3)))
    assert (finding.fault, finding.consequence, finding.subjects) == (
        LogFault.EFFORT_SIGN,
        Consequence.DANGER,
        ("joint4",),
    )
    told = finding.evidence["joints"]["joint4"]
    assert told["correlation_with_model"] < -0.7
    assert told["unexplained"]["joint4"] < told["unexplained_as_recorded"]["joint4"]
    assert finding.fix == {"joints": {"joint4": {"effort_sign": -1}}}


def test_all_efforts_reversed_are_one_convention() -> None:
    (finding,) = name_signs(case(reversed_effort(LOG, *ALIVE), PLAIN.with_effort_flipped(*ALIVE)))
    assert finding.subjects == ARM.joint_names
    assert finding.sentence.startswith("All efforts")
    assert finding.fix["joints"] == {name: {"effort_sign": -1} for name in ARM.joint_names}


def test_effort_and_position_of_different_joints_are_two_findings() -> None:
    reading = PLAIN.with_effort_flipped(1).with_position_flipped(3)
    q = LOG.q * [1.0, 1.0, 1.0, -1.0]
    found = name_signs(case(reversed_effort(replace(LOG, q=q), 1), reading))
    assert [(finding.fault, finding.subjects) for finding in found] == [
        (LogFault.EFFORT_SIGN, ("joint2",)),
        (LogFault.POSITION_SIGN, ("joint4",)),
    ]


@pytest.mark.parametrize(
    ("parts", "position", "effort", "columns"),
    [
        (("tau",), None, swapped(4, 1, 3), {"effort": "tau.joint4"}),
        (("q", "dq"), swapped(4, 1, 3), None, {"position": "q.joint4", "velocity": "dq.joint4"}),
        (
            ("q", "dq", "tau"),
            swapped(4, 1, 3),
            swapped(4, 1, 3),
            {"position": "q.joint4", "velocity": "dq.joint4", "effort": "tau.joint4"},
        ),
    ],
)
def test_exchanged_channels_are_named_with_the_columns_to_take(
    parts: tuple[str, ...],
    position: tuple[int, ...] | None,
    effort: tuple[int, ...] | None,
    columns: dict[str, str],
) -> None:
    reading = PLAIN.with_channels(position=position, effort=effort)
    (finding,) = name_order(case(exchanged(LOG, 1, 3, *parts), reading))
    assert (finding.fault, finding.subjects) == (LogFault.JOINT_ORDER, ("joint2", "joint4"))
    assert finding.fix["joints"]["joint2"] == columns
    assert finding.evidence["recorded_as"] == {"joint2": "joint4", "joint4": "joint2"}


def test_a_round_of_three_takes_each_from_the_right_one() -> None:
    order = (1, 2, 0, 3)
    recorded = LOG.tau[:, np.argsort(order)]  # channel order[j] holds the effort of joint j
    (finding,) = name_order(case(replace(LOG, tau=recorded), PLAIN.with_channels(effort=order)))
    takes = {name: entry["effort"] for name, entry in finding.fix["joints"].items()}
    assert takes == {"joint1": "tau.joint2", "joint2": "tau.joint3", "joint3": "tau.joint1"}


def test_columns_of_the_file_are_named_where_the_log_was_read_from_one() -> None:
    mapping = {"joints": {name: {"position": f"p{name}", "effort": f"current {name}"} for name in ARM.joint_names}}
    log = replace(exchanged(LOG, 1, 3, "tau"), declared=replace(LOG.declared, mapping=mapping))
    (finding,) = name_order(case(log, PLAIN.with_channels(effort=swapped(4, 1, 3))))
    assert finding.fix["joints"]["joint2"] == {"effort": "current joint4"}


def test_degrees_are_named_for_turning_joints_only() -> None:
    scara = cp.load("scara")
    log = recording(scara)
    turning = np.array(in_degrees(scara, Reading.as_recorded(scara)).position_factor) < 0.5
    degrees = replace(log, q=np.where(turning, np.degrees(log.q), log.q))
    (finding,) = name_degrees(case(degrees, in_degrees(scara, Reading.as_recorded(scara)), scara))
    assert finding.subjects == tuple(np.array(scara.joint_names)[turning])
    assert 0 < len(finding.subjects) < scara.n
    assert finding.fix["position"] == {"unit": "deg"}


def test_a_gain_is_named_with_its_inverse_as_the_fix() -> None:
    (finding,) = name_gains(case(scaled_effort(LOG, 3, 2.0), PLAIN.with_effort_factors({3: 0.5})))
    assert (finding.fault, finding.consequence) == (LogFault.GAIN, Consequence.INVALIDATES)
    assert finding.evidence["recorded_over_true"] == 2.0
    assert finding.fix == {"joints": {"joint4": {"effort_gain": 0.5}}}
    assert 0.0 < finding.evidence["relative_std"] < 0.3


def test_a_gain_that_heavier_links_would_explain_says_so() -> None:
    """Of a pendulum nothing tells a gain of 1.6 from a mass 1.6 times as large: one finding, which fixes nothing."""
    pendulum = cp.load("pendulum")
    (finding,) = check_model(pendulum, scaled_effort(recording(pendulum), 0, 1.6))
    assert (finding.fault, finding.consequence) == (LogFault.MODEL_DIFFERS, Consequence.LIMITS)
    assert {MASS_SCALE, "gain"} <= set(finding.alternatives)
    assert finding.evidence["effort_over_described"]["joint1"] == pytest.approx(1.6, rel=0.05)
    assert finding.fix == {}


def test_open_factors_that_are_large_are_currents_and_else_nothing() -> None:
    factors = {0: 5.0, 1: 8.0, 2: 12.0, 3: 20.0}
    recorded = replace(LOG, tau=LOG.tau / np.array(list(factors.values())))
    told = case(recorded, replace(PLAIN.with_effort_factors(factors), free_gain=True))
    (finding,) = name_gains(told)
    assert (finding.fault, finding.subjects) == (LogFault.EFFORT_IS_CURRENT, ARM.joint_names)
    assert finding.evidence["torque_per_unit"]["joint2"] == 8.0
    assert set(finding.evidence["torque_per_unit"]) | set(finding.evidence["not_identified"]) == set(ARM.joint_names)
    assert finding.fix == {"effort": {"kind": "current"}}  # factors by the description's masses are guesses
    assert is_unit(told.search, told.reading)
    small = replace(PLAIN.with_effort_factors({0: 2.0, 1: 2.5, 2: 1.5, 3: 0.5}), free_gain=True)
    assert not is_unit(told.search, small)


def test_an_offset_is_named_and_left_to_the_calibration() -> None:
    true = 3.0 * float(LOG.tau[:, 1].std())
    (finding,) = name_offsets(case(shifted_effort(LOG, 1, 3.0), replace(PLAIN, offset=frozenset({1}))))
    assert (finding.fault, finding.subjects) == (LogFault.OFFSET, ("joint2",))
    assert finding.evidence["offset"] == pytest.approx(true, abs=4.0 * finding.evidence["offset_std"])
    assert finding.fix == {}
    assert "calibration finds it" in finding.remedy and "effort_offset = -" in finding.remedy


def test_gravity_left_out_and_gravity_against_the_declaration() -> None:
    without = replace(LOG, tau=LOG.tau - ARM.gravity(LOG.q))
    adds = replace(PLAIN, compensated=True)
    (lacking,) = name_compensated(case(without, adds))
    assert lacking.fix == {"robot": {"adds_gravity": True}} and "lack" in lacking.sentence
    (containing,) = name_compensated(case(LOG, PLAIN, begin=adds))
    assert containing.fix == {"robot": {"adds_gravity": False}} and "contain" in containing.sentence


def test_a_mounting_is_named_by_its_angle() -> None:
    tilted = ARM.mounted(rpy=(0.0, 0.5, 0.0))
    x, y, z = tilted.gravity_base.tolist()
    (finding,) = name_mount(case(recording(tilted), replace(PLAIN, gravity_base=(x, y, z))))
    assert finding.evidence["angle_deg"] == pytest.approx(math.degrees(0.5), abs=0.01)
    assert finding.evidence["gravity_base"] == pytest.approx([x, y, z], rel=1e-3, abs=1e-3)
    assert finding.fix == {"robot": {"gravity_base": [x, y, z]}}


@pytest.mark.parametrize("name", ["wam4", "puma560"])
def test_a_payload_s_centre_is_in_the_frame_that_with_payload_takes(name: str) -> None:
    """Added to the model as the remedy says, it gives back the first moments that the fit found."""
    robot = cp.load(name)
    loaded = robot.with_payload(2.0, com=(0.03, -0.02, 0.09))
    body = robot.tree.bodies - 1
    told = case(recording(loaded), replace(Reading.as_recorded(robot), loaded=frozenset({body})), robot)
    (finding,) = name_payload(told)
    numbers = finding.evidence
    again = robot.with_payload(numbers["mass_kg"], com=numbers["com_m"], link=numbers["link"])
    change = (again.inertial_parameters - robot.inertial_parameters)[10:].reshape(-1, 10)
    np.testing.assert_allclose(change[body, :4], told.fit.payload[body][0], rtol=2e-3, atol=2e-4)
    np.testing.assert_allclose(np.delete(change, body, axis=0), 0.0, atol=1e-12)
    assert numbers["mass_kg"] == pytest.approx(2.0, abs=4.0 * numbers["mass_std_kg"])
    assert finding.fix == {}


def test_a_tool_that_is_not_there_is_taken_off() -> None:
    carrying = MODEL.with_payload(2.0, com=(0.0, 0.0, 0.05))
    told = case(LOG, replace(Reading.as_recorded(carrying), loaded=frozenset({3})), carrying)
    (finding,) = name_payload(told)
    assert finding.evidence["mass_kg"] < 0.0
    assert "is lighter than the model by" in finding.sentence and "Take the tool off" in finding.remedy


def test_efforts_that_have_nothing_to_do_with_the_model_are_called_so() -> None:
    random = np.random.default_rng(0)
    waves = np.sin(random.uniform(1.0, 2.5, 4) * LOG.time[:, None] + random.uniform(0.0, 6.0, 4))
    (finding,) = name_poor_model(case(replace(LOG, tau=waves * LOG.tau.std(axis=0)), PLAIN))
    assert finding.fault is LogFault.MODEL_POOR and "joint2" in finding.subjects
    assert all(0.7 < share < 1.3 for share in finding.evidence["unexplained_share"].values())


def test_another_robot_is_asked_for_before_three_dangers_are_listed() -> None:
    two = PLAIN.with_effort_flipped(1).with_channels(effort=swapped(4, 1, 3))
    assert not needs_other_robot(case(LOG, replace(two, offset=frozenset({2}))))
    asked = case(LOG, replace(two, gravity_base=(9.81, 0.0, 0.0)))
    assert needs_other_robot(asked)
    finding = wrong_robot(asked)
    assert finding.sentence.startswith("Is this the right robot?") and finding.fix == {}
    assert finding.evidence["needed"] == ["effort-sign", "joint-order", "mount"]


def test_an_axis_that_points_the_other_way_is_one_finding() -> None:
    """Position and effort reversed together: neither is right without the other."""
    q, tau = LOG.q * [1.0, 1.0, 1.0, -1.0], LOG.tau * [1.0, 1.0, 1.0, -1.0]
    reading = PLAIN.with_position_flipped(3).with_effort_flipped(3)
    (finding,) = name_signs(case(replace(LOG, q=q, tau=tau), reading))
    assert (finding.fault, finding.subjects) == (LogFault.POSITION_SIGN, ("joint4",))
    assert finding.sentence.endswith("So has the effort of joint4.")
    assert finding.fix["joints"]["joint4"] == {"position_sign": -1, "effort_sign": -1, "velocity_sign": 1}


def test_confidence_follows_odds() -> None:
    assert confidence(6.0, 6.0) == 0.5
    assert confidence(60.0, 6.0) == 1.0
    assert 0.0 <= confidence(-1e6, 6.0) < 1e-3


def test_angles_and_digits() -> None:
    assert angle_between(np.array([0.0, 0.0, -9.81]), np.array([0.0, 0.0, 9.81])) == pytest.approx(math.pi)
    assert angle_between(np.array([1.0, 0.0, 0.0]), np.array([1.0, 1e-9, 0.0])) == pytest.approx(1e-9)
    assert rounded(186.97756) == 187.0 and rounded(-0.00012345) == -0.0001234


def one_moving(joint: int = 1) -> Log:
    """Return a recording in which one joint moves and the others stand."""
    time = np.arange(0.0, 30.0, 0.01)
    q, dq, ddq = np.zeros((3, len(time), ARM.n))
    q[:] = [0.3, 0.5, -0.4, 1.2]
    q[:, joint] += 0.6 * np.sin(time)
    dq[:, joint], ddq[:, joint] = 0.6 * np.cos(time), -0.6 * np.sin(time)
    return replace(measured(ARM, time, q, dq, ddq, friction=0.1, random=np.random.default_rng(0)), wrench=None)


@pytest.mark.parametrize(
    ("change", "reading", "name"),
    [
        (lambda log: scaled_effort(log, 1, 2.0), PLAIN.with_effort_factors({1: 0.5}), name_gains),
        (lambda log: log, replace(PLAIN, gravity_base=(3.0, 0.0, -9.3)), name_mount),
        (lambda log: exchanged(log, 1, 3, "tau"), PLAIN.with_channels(effort=swapped(4, 1, 3)), name_order),
    ],
)
def test_what_one_moving_joint_shows_is_not_written_to_a_fix(change, reading, name) -> None:
    (finding,) = name(case(change(one_moving()), reading))
    assert finding.fix == {}
    assert "only joint2 moves" in finding.remedy or finding.alternatives


def test_a_sign_that_one_moving_joint_shows_is_written() -> None:
    (finding,) = name_signs(case(reversed_effort(one_moving(), 1), PLAIN.with_effort_flipped(1)))
    assert finding.fix == {"joints": {"joint2": {"effort_sign": -1}}}


def test_a_sign_that_neither_weight_nor_friction_shows_is_not_written() -> None:
    """A joint whose effort is noise has no sign of its own."""
    noise = np.random.default_rng(0).normal(0.0, 0.2, len(LOG.tau))
    silent = replace(LOG, tau=np.column_stack([LOG.tau[:, :3], noise]))
    (finding,) = name_signs(case(silent, PLAIN.with_effort_flipped(3)))
    assert finding.subjects[0] == "joint4" and finding.fix == {}
    assert "Not written to a fix: joint4" in finding.remedy or finding.alternatives


def test_what_explains_no_effort_is_not_written_to_a_fix() -> None:
    """A gain that the recording does not show would only make the masses likelier."""
    (true,) = name_gains(case(scaled_effort(LOG, 3, 2.0), PLAIN.with_effort_factors({3: 0.5})))
    assert true.fix["joints"]["joint4"]["effort_gain"] == pytest.approx(0.5)
    (odd,) = name_gains(case(LOG, PLAIN.with_effort_factors({3: 1.001})))
    assert odd.fix == {}
    assert "explains too little more of the effort" in odd.remedy or odd.alternatives
