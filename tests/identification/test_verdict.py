"""Trusted or not: a valid recording and all that was asked for; the rest is said with its reason."""

from __future__ import annotations

import numpy as np
import pytest

from counterpoise.doctor import Consequence, Finding, LogFault
from counterpoise.fitting import Terms, better_than_described
from counterpoise.foundation import Check, Verdict
from counterpoise.identification.result import SURE, judge, judge_recording
from counterpoise.identification.statements import USES, Assessment, Promise, UseName, UseStatement

REST = Terms.static()
MOVING = Terms.moving()
SOUND = Check("recording", True, "the doctor found nothing that invalidates a fit")
UNSOUND = Check("recording", False, "The effort of joint1 is dead. Mend it.")


def assessment(*held: UseName) -> Assessment:
    """Return what is good for some uses and, with a reason, not for the others."""
    promise = Promise(*np.full((3, 2), 0.1))
    statements = tuple(UseStatement(use, f"{use} so well", 0.25, "m") for use in held)
    return Assessment(promise, statements, {use: f"too little for {use}" for use in USES if use not in held})


def finding(fault: LogFault, consequence: Consequence = Consequence.INVALIDATES, confidence: float = 1.0) -> Finding:
    return Finding(fault, consequence, ("joint1",), "Something is wrong.", "Mend it.", confidence=confidence)


def sound(found: Finding, terms: Terms = REST) -> bool:
    return all(check.passed for check in judge_recording([found], terms))


def test_what_is_asked_for_and_held_is_trusted() -> None:
    verdict = judge(assessment("float", "hold"), ("hold", "float"), [SOUND])
    assert verdict.trusted
    assert verdict.reasons == ()
    assert [check.name for check in verdict] == ["recording", "structure", "hold", "float"]
    assert verdict[2].sentence == "hold so well"
    assert verdict[2].value == 0.25


def test_what_is_asked_for_and_missing_is_not_trusted() -> None:
    verdict = judge(assessment("float"), ("float", "payload"), [SOUND])
    assert not verdict.trusted
    assert verdict.reasons == ("not good to notice loads: too little for payload",)


def test_what_is_not_asked_for_does_not_count() -> None:
    assert judge(assessment("hold"), ("hold",), [SOUND]).trusted


@pytest.mark.parametrize("use", USES)
def test_every_use_can_be_missing(use: UseName) -> None:
    verdict = judge(assessment(), (use,), [SOUND])
    assert not verdict.trusted
    assert verdict.reasons[0].startswith("not good to ")


def test_with_an_unsound_recording_nothing_else_is_asked() -> None:
    verdict = judge(assessment("float"), ("float",), [UNSOUND])
    assert verdict == (UNSOUND,)
    assert not verdict.trusted


def test_one_failed_check_decides() -> None:
    assert Verdict((SOUND,)).trusted
    assert not Verdict((SOUND, UNSOUND)).trusted
    assert Verdict((SOUND, UNSOUND)).reasons == (UNSOUND.sentence,)


def test_without_findings_a_recording_is_sound() -> None:
    assert judge_recording([], REST) == [SOUND]


def test_what_spoils_a_recording_fails_with_its_remedy() -> None:
    found = [finding(LogFault.DEAD), finding(LogFault.EFFORT_SIGN)]
    checks = judge_recording(found, REST)
    assert [check.passed for check in checks] == [False, False]
    assert checks[0].sentence == "Something is wrong. Mend it."
    assert not sound(finding(LogFault.DEAD, Consequence.DANGER))
    assert sound(finding(LogFault.DEAD, Consequence.LIMITS))


def test_a_finding_must_be_sure_unless_it_is_dangerous() -> None:
    unsure = SURE - 0.01
    assert sound(finding(LogFault.EFFORT_SIGN, confidence=unsure))
    assert not sound(finding(LogFault.EFFORT_SIGN, confidence=SURE))
    assert not sound(finding(LogFault.EFFORT_SIGN, Consequence.DANGER, confidence=unsure))


@pytest.mark.parametrize(
    ("fault", "terms"),
    [
        (LogFault.PAYLOAD, REST),
        (LogFault.OFFSET, REST),
        (LogFault.GAIN, MOVING.replace(gain=("all",))),
        (LogFault.EFFORT_IS_CURRENT, MOVING.replace(gain=("all",))),
        (LogFault.MOUNT, MOVING.replace(tilt=True)),
    ],
)
def test_what_a_fit_takes_care_of_spoils_nothing(fault: LogFault, terms: Terms) -> None:
    assert sound(finding(fault), terms)
    assert sound(finding(fault, Consequence.DANGER), terms)
    if fault is not LogFault.PAYLOAD:  # unknown weight is what every calibration is for
        assert not sound(finding(fault), Terms(bodies="gravity"))


def test_an_assumed_rate_spoils_a_fit_of_motion_only() -> None:
    """Weights at rest do not depend on it; inertias and viscous friction do."""
    assumed = finding(LogFault.NO_TIME, Consequence.LIMITS)
    assert sound(assumed, REST)
    assert not sound(assumed, MOVING)
    assert sound(finding(LogFault.NO_TIME, Consequence.NOTE), MOVING)


def test_a_fit_must_explain_its_data_better_than_the_description_does() -> None:
    described = np.array([1.0, 2.0, 0.5])
    assert better_than_described(0.5 * described, described)
    assert not better_than_described(1.2 * described, described)
    # Joints count alike, by their ratio: one that is a little worse is outweighed by one that is much better.
    assert better_than_described(described * np.array([1.1, 0.3, 1.0]), described)
    assert not better_than_described(described * np.array([3.0, 0.9, 1.0]), described)


def test_a_description_that_is_right_is_no_reason_to_refuse() -> None:
    """Freed masses explain no more of it than rounding and weights of outliers change."""
    described = np.array([0.1, 0.2])
    assert better_than_described(1.01 * described, described)


@pytest.mark.parametrize(
    ("fitted", "described", "better"),
    [
        ([0.0, 0.0], [1.0, 1.0], True),  # exact data
        ([0.1, np.nan], [1.0, np.nan], True),  # a joint without effort
        ([2.0, np.nan], [1.0, np.nan], False),
        ([np.nan, np.nan], [np.nan, np.nan], True),  # nothing to compare
        ([0.0, 0.0], [0.0, 0.0], True),
    ],
)
def test_only_joints_with_numbers_are_compared(fitted: list[float], described: list[float], better: bool) -> None:
    assert better_than_described(np.array(fitted), np.array(described)) is better
