"""Faults put into recordings by formula are named, and their fixes mend them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.doctor.diagnosis import check_model, merged_fix
from counterpoise.doctor.finding import Consequence, Finding, LogFault
from counterpoise.recording import Log, remapped
from library.doctor_cases import (
    Change,
    as_currents,
    at_the_motors,
    differing_model,
    exchanged,
    in_degrees,
    recording,
    reversed_effort,
    reversed_position,
    scaled_effort,
    shifted_effort,
    wrong_model,
)

ARM = cp.load("wam4")
MODEL = wrong_model(ARM)


@pytest.fixture(scope="module")
def log() -> Log:
    return recording(ARM)


def faults(findings: list[Finding]) -> set[LogFault]:
    return {finding.fault for finding in findings}


def test_a_sound_recording_has_no_finding(log: Log) -> None:
    assert check_model(MODEL, log) == []


CASES: list[tuple[LogFault, tuple[str, ...], Change]] = [
    (LogFault.EFFORT_SIGN, ("joint2",), lambda log: reversed_effort(log, 1)),
    (LogFault.EFFORT_SIGN, ("joint1",), lambda log: reversed_effort(log, 0)),
    (LogFault.EFFORT_SIGN, ARM.joint_names, lambda log: reversed_effort(log, *range(4))),
    (LogFault.POSITION_SIGN, ("joint4",), lambda log: reversed_position(log, 3)),
    (LogFault.JOINT_ORDER, ("joint2", "joint4"), lambda log: exchanged(log, 1, 3, "tau")),
    (LogFault.JOINT_ORDER, ("joint2", "joint4"), lambda log: exchanged(log, 1, 3, "q", "dq")),
    (LogFault.JOINT_ORDER, ("joint2", "joint3"), lambda log: exchanged(log, 1, 2, "q", "dq", "tau")),
    (LogFault.DEGREES, ARM.joint_names, in_degrees),
    (LogFault.EFFORT_IS_CURRENT, ARM.joint_names, as_currents),
    (LogFault.GAIN, ("joint4",), lambda log: scaled_effort(log, 3, 1.8)),
    (LogFault.OFFSET, ("joint2",), lambda log: shifted_effort(log, 1, 3.0)),
]
ESTIMATED = {LogFault.GAIN}
"""Faults whose fix has a number that is estimated."""


@pytest.mark.parametrize(
    ("fault", "joints", "change"), CASES, ids=[f"{c[0]}-{len(c[1])}-{i}" for i, c in enumerate(CASES)]
)
def test_a_fault_is_named_alone_and_its_fix_mends_it(
    log: Log, fault: LogFault, joints: tuple[str, ...], change: Change
) -> None:
    faulty = change(log)
    findings = check_model(MODEL, faulty)
    assert [(finding.fault, finding.subjects) for finding in findings] == [(fault, joints)]
    fixed = remapped(faulty, findings[0].fix, MODEL)
    if fault in ESTIMATED:
        assert check_model(MODEL, fixed) == []
    elif fault is LogFault.OFFSET:  # a calibration finds it by itself
        assert findings[0].fix == {}
    elif fault is LogFault.EFFORT_IS_CURRENT:  # declared so; nothing is guessed about their size
        (left,) = check_model(MODEL, fixed)
        assert (left.fault, left.consequence, left.fix) == (fault, Consequence.LIMITS, {})
        np.testing.assert_allclose(fixed.tau, faulty.tau)
    else:  # the sound recording again, of which nothing is said
        for name in ("q", "dq", "tau"):
            np.testing.assert_allclose(getattr(fixed, name), getattr(log, name), rtol=1e-12, atol=1e-12)


def test_gravity_left_out_is_named_and_declared(log: Log) -> None:
    faulty = replace(log, tau=log.tau - ARM.gravity(log.q))
    findings = check_model(MODEL, faulty)
    assert faults(findings) == {LogFault.GRAVITY_COMPENSATED}
    fixed = remapped(faulty, findings[0].fix, MODEL)
    assert fixed.declared.adds_gravity is True
    assert check_model(MODEL, fixed) == []


def test_gravity_declared_as_left_out_but_present_is_named(log: Log) -> None:
    declared = replace(log, declared=replace(log.declared, adds_gravity=True))
    findings = check_model(MODEL, declared)
    assert [finding.fix for finding in findings] == [{"robot": {"adds_gravity": False}}]


def test_a_mounting_is_estimated_within_its_uncertainty() -> None:
    tilted = ARM.mounted(rpy=(0.3, -0.5, 0.0))
    faulty = recording(tilted)
    (finding,) = check_model(MODEL, faulty)
    assert finding.fault is LogFault.MOUNT
    found = np.array(finding.evidence["gravity_base"])
    angle = np.degrees(np.arccos(min(1.0, found @ tilted.gravity_base / 9.81**2)))
    assert angle < 4.0 * finding.evidence["angle_std_deg"] < 10.0
    fixed = remapped(faulty, finding.fix, MODEL)
    assert check_model(MODEL, fixed) == []


def test_a_payload_is_weighed_and_added_it_explains_the_recording() -> None:
    loaded = ARM.with_payload(2.0, com=(0.02, -0.03, 0.08))
    faulty = recording(loaded)
    (finding,) = check_model(MODEL, faulty)
    assert finding.fault is LogFault.PAYLOAD
    numbers = finding.evidence
    # Links may be heavier too, by a third and more: the load is known to half a kilogram.
    assert abs(numbers["mass_kg"] - 2.0) < 3.0 * numbers["mass_std_kg"] < 2.0
    heavier = MODEL.with_payload(numbers["mass_kg"], com=numbers["com_m"], link=numbers["link"])
    assert check_model(heavier, faulty) == []


def test_motor_side_is_named_with_a_lower_bound_of_the_ratios(log: Log) -> None:
    (finding,) = check_model(MODEL, at_the_motors(log))
    assert finding.fault is LogFault.MOTOR_SIDE
    true = dict(zip(ARM.joint_names, np.linspace(40.0, 120.0, 4), strict=True))
    assert all(0.0 < least < true[name] for name, least in finding.evidence["least_gear_ratio"].items())


def test_two_faults_at_once_are_both_named_and_mended_together(log: Log) -> None:
    faulty = scaled_effort(reversed_effort(log, 1), 3, 0.5)
    findings = check_model(MODEL, faulty)
    assert faults(findings) == {LogFault.EFFORT_SIGN, LogFault.GAIN}
    assert check_model(MODEL, remapped(faulty, merged_fix(findings), MODEL)) == []


def test_what_the_data_cannot_tell_apart_is_named_as_a_set() -> None:
    """Gravity and inertia hardly load a PUMA's last joint: friction shows a reversed sign, not whose."""
    puma = cp.load("puma560")
    (finding,) = check_model(wrong_model(puma), reversed_position(recording(puma), 5))
    assert finding.subjects == ("joint6",)
    assert {finding.fault.value, *finding.alternatives} == {"effort-sign", "position-sign"}


@pytest.mark.parametrize("factor", [0.7, 0.8, 1.25, 1.3, 1.6])
def test_a_description_that_is_light_or_heavy_is_no_fault_of_the_recording(log: Log, factor: float) -> None:
    """All torques off by one factor: one finding at most, which limits and fixes nothing."""
    findings = check_model(MODEL, replace(log, tau=factor * log.tau))
    assert faults(findings) <= {LogFault.MODEL_DIFFERS}
    assert all(finding.consequence is Consequence.LIMITS and finding.fix == {} for finding in findings)


@pytest.mark.parametrize("seed", range(4))
def test_links_that_are_off_by_a_third_are_no_fault_of_the_recording(log: Log, seed: int) -> None:
    findings = check_model(differing_model(ARM, seed), log)
    assert all(finding.consequence is Consequence.LIMITS and finding.fix == {} for finding in findings)


def test_an_offset_that_masses_explain_as_well_is_named_in_a_set(log: Log) -> None:
    (finding,) = check_model(MODEL, shifted_effort(log, 1, 1.0))
    assert (finding.fault, finding.subjects) == (LogFault.MODEL_DIFFERS, ("joint2",))
    assert {"mass-scale", "offset"} <= set(finding.alternatives)
    assert finding.fix == {}


def test_a_torque_along_the_position_is_named_with_its_term(log: Log) -> None:
    """On the vertical first joint, where no weight can be meant."""
    tau = log.tau.copy()
    tau[:, 0] += 4.0 * log.q[:, 0]
    (finding,) = check_model(MODEL, replace(log, tau=tau))
    assert (finding.fault, finding.consequence, finding.fix) == (LogFault.SPRING, Consequence.LIMITS, {})
    assert (finding.subjects, finding.evidence["term"]) == (("joint1",), "spring")
    assert finding.evidence["effect"]["joint1"] == pytest.approx(4.0 * float(log.q[:, 0].std()), rel=0.2)


def test_every_finding_of_the_model_states_its_effect_in_newton_metres(log: Log) -> None:
    faulty = scaled_effort(reversed_effort(log, 1), 3, 0.5)
    sign, gain = check_model(MODEL, faulty)
    assert sign.evidence["joints"]["joint2"]["effect"]["joint2"] == pytest.approx(
        2.0 * np.sqrt(np.mean(log.tau[:, 1] ** 2)), rel=0.1
    )
    assert 0.0 < gain.evidence["effect"]["joint4"] < np.sqrt(np.mean(log.tau[:, 3] ** 2))


def test_a_dead_effort_is_left_out(log: Log) -> None:
    tau = log.tau.copy()
    tau[:, 2] = 0.0
    assert check_model(MODEL, replace(log, tau=tau)) == []
    noisy = tau.copy()
    noisy[:, 2] = 1e-3 * np.random.default_rng(0).normal(size=len(log))
    assert check_model(MODEL, replace(log, tau=noisy), dead={"joint3"}) == []


def test_too_short_a_recording_says_nothing(log: Log) -> None:
    assert check_model(MODEL, log[:50]) == []
