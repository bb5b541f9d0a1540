"""A verdict: every check counts, those that decide count more."""

from __future__ import annotations

import copy
import pickle

import pytest

from counterpoise.foundation import Check, Verdict

GOOD = Check("zero", True, "the zero is right", 0.1, 0.3, "N")
CARE = Check("samples", False, "a tenth of the samples is not valid", decides=False)
WRONG = Check("model", False, "the model explains nothing")


@pytest.mark.parametrize(
    ("checks", "trusted", "level", "failed"),
    [
        ((), True, "good", ()),
        ((GOOD,), True, "good", ()),
        ((GOOD, CARE), False, "doubtful", (CARE,)),
        ((CARE, WRONG), False, "bad", (CARE, WRONG)),
        ((WRONG, GOOD), False, "bad", (WRONG,)),
    ],
)
def test_what_the_checks_amount_to(
    checks: tuple[Check, ...], trusted: bool, level: str, failed: tuple[Check, ...]
) -> None:
    verdict = Verdict(checks)
    assert verdict.trusted == trusted
    assert verdict.level == level
    assert verdict.reasons == tuple(check.sentence for check in failed)


def test_it_stays_a_verdict_in_another_process() -> None:
    verdict = Verdict((GOOD, CARE))
    for other in (pickle.loads(pickle.dumps(verdict)), copy.deepcopy(verdict)):
        assert type(other) is Verdict
        assert other.reasons == verdict.reasons
