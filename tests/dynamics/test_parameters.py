"""Per-joint parameters: what is accepted, and what the refusals say."""

from __future__ import annotations

import math

import numpy as np
import pytest

from counterpoise import InputError
from counterpoise.dynamics.friction import Stribeck, for_joints, joint_values


def test_a_number_and_a_sequence_become_read_only_arrays() -> None:
    """A single number has shape (1,), a sequence keeps its length, nobody can write to either."""
    assert joint_values(2, "a").tolist() == [2.0]
    three = joint_values([1, 2, 3], "a")
    assert three.tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match="read-only"):
        three[0] = 5.0


@pytest.mark.parametrize(
    ("value", "bounds", "message"),
    [
        ("x", {}, "a must be a number"),
        ([[1.0]], {}, r"a has shape \(1, 1\)"),
        ([], {}, r"a has shape \(0,\)"),
        (math.nan, {}, "a is nan"),
        ([1.0, -1.0], {"least": 0.0}, r"a\[1\] is -1.0; expected a number of at least 0"),
        (0.0, {"above": 0.0}, "above 0"),
        (2.0, {"most": 1.0}, "of at most 1"),
        (math.inf, {}, "a is inf"),
        (1e13, {}, "within ±1e"),
    ],
)
def test_refusals_name_the_entry(value: object, bounds: dict[str, float], message: str) -> None:
    """Whatever is not a usable number is refused with its name, place and bounds."""
    with pytest.raises(InputError, match=message):
        joint_values(value, "a", **bounds)  # type: ignore[arg-type]


def test_infinity_only_where_it_means_something() -> None:
    """may_be_infinite lets +inf through, never −inf or NaN."""
    assert joint_values(math.inf, "a", may_be_infinite=True).tolist() == [math.inf]
    for bad in (-math.inf, math.nan):
        with pytest.raises(InputError):
            joint_values(bad, "a", may_be_infinite=True)


def test_lengths_agree_or_are_refused() -> None:
    """Single numbers fit anything; two different counts do not."""
    one, two, three = np.ones(1), np.ones(2), np.ones(3)
    assert Stribeck(one, one, 1.0).n == 1
    assert Stribeck(one, three, 1.0, viscous=three).n == 3
    with pytest.raises(InputError, match="viscous has 2 entries and static has 3"):
        Stribeck(one, three, 1.0, viscous=two)


def test_values_are_spread_over_the_joints() -> None:
    """A single number serves every joint; any other count must be that of the joints."""
    assert for_joints(np.array([2.0]), "a", ("j1", "j2")).tolist() == [2.0, 2.0]
    with pytest.raises(InputError, match="a has 3 entries; expected 1 or 2, one each for j1, j2"):
        for_joints(np.ones(3), "a", ("j1", "j2"))
