"""The comparison of printed numbers sees what is wrong and lets pass what only rounding makes different."""

from __future__ import annotations

import pytest

from library.printed_numbers import Rule, differences

NOISE = Rule("error", 2.0, "an rms over a few noisy poses")
TIMES = Rule("^One call takes", 1.0, "the machine's", skipped=True)
SHOWN = """mass 1.50 ± 0.03 kg on link6
error [N m]: [0.112, 0.719]
torque -23.546 N m
offset 2.1e-05 m
Calibration: trusted
One call takes 700 ns
"""


@pytest.mark.parametrize(
    ("shown", "found"),
    [
        ("mass 1.50 ± 0.03", "mass 1.52 ± 0.04"),
        ("[0.112, 0.719]", "[0.2, 0.4]"),
        ("-23.546", "-23.5461"),
        ("-23.546", "-24.9"),
        ("2.1e-05", "-3.3e-05"),
        ("700 ns", "90 ns"),
    ],
)
def test_rounding_passes(shown: str, found: str) -> None:
    """An estimate within its own uncertainty, noise within its factor, other digits, noise below everything, times."""
    assert shown in SHOWN
    assert differences(SHOWN.replace(shown, found), SHOWN, (NOISE, TIMES)) == []


@pytest.mark.parametrize(
    ("shown", "found"),
    [
        ("mass 1.50", "mass 1.54"),
        ("± 0.03", "± 0.09"),
        ("1.50", "-1.50"),
        ("0.112", "0.3"),
        ("0.719", "0.2"),
        ("0.719", "-0.719"),
        ("-23.546", "23.546"),
        ("-23.546", "-27.0"),
        ("-23.546", "0.000"),
        ("2.1e-05", "2.1e-02"),
        ("link6", "link5"),
        ("trusted", "not trusted: too few poses"),
        ("N m\noffset", "N mm\noffset"),
        ("Calibration: trusted\n", ""),
        ("Calibration: trusted\n", "Calibration: trusted\nand more\n"),
        ("0.112, 0.719", "0.112"),
        ("0.112, 0.719", "0.112, 0.719, 0.5"),
    ],
)
def test_what_is_wrong_is_told(shown: str, found: str) -> None:
    """Another value, sign, verdict, name or unit; a line or a number that is missing or too many."""
    assert shown in SHOWN
    assert differences(SHOWN.replace(shown, found), SHOWN, (NOISE, TIMES))


def test_a_rule_that_agrees_with_anything_is_refused() -> None:
    """A factor without bound, or without a reason, would be no comparison."""
    for factor, reason in ((100.0, "why"), (0.5, "why"), (2.0, "")):
        with pytest.raises(ValueError, match="factor"):
            Rule("x", factor, reason)
