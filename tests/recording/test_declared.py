"""What is declared about a log: choices, shapes, read-only tables, a round trip through plain values."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from counterpoise.errors import InputError
from counterpoise.recording.declared import Declared


def test_round_trip_through_json() -> None:
    """Plain values give the same declaration; what nobody said is left out."""
    declared = Declared(
        effort_kind="current",
        position_side="motor",
        motor_per_link=[[32.0, 0.0], [1.0 / 3.0, 45.0]],
        torque_constant=[0.1, 0.2],
        adds_gravity=True,
        sensor_reads="on_sensor",
        T_base_sensor=np.eye(4),
        velocity_from="measured",
        time_from="received",
        mapping={"joints": {"a": {"effort_sign": -1}}},
        notes={"held": {"finger": 0.02}},
    )
    table = json.loads(json.dumps(declared.to_table()))
    assert "effort_side" not in table
    assert Declared.from_table(table) == declared
    assert declared != Declared()
    assert declared != table
    assert declared.held == {"finger": 0.02}
    assert Declared().held == {}
    assert Declared().to_table() == {}


def test_nothing_can_be_changed() -> None:
    """Arrays and tables are read-only at every level, and copies of the caller's."""
    notes: dict[str, Any] = {"a": {"b": [1, 2]}}
    constant = np.array([1.0])
    declared = Declared(notes=notes, torque_constant=constant)
    notes["a"]["b"].append(3)
    constant[0] = 5.0
    assert declared.notes["a"]["b"] == (1, 2)
    assert declared.torque_constant is not None
    assert declared.torque_constant[0] == 1.0
    with pytest.raises(TypeError):
        declared.notes["a"]["b"] = 1
    with pytest.raises(ValueError, match="read-only"):
        declared.torque_constant[0] = 2.0
    with pytest.raises(AttributeError):
        declared.effort_kind = "torque"  # type: ignore[misc]
    with pytest.raises(TypeError):
        hash(declared)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"effort_kind": "volts"}, "'torque', 'current'"),
        ({"time_from": "guess"}, "time_from"),
        ({"adds_gravity": 1}, "adds_gravity"),
        ({"adds_gravity": "yes"}, "adds_gravity"),
        ({"motor_per_link": [[1.0, 2.0]]}, r"\(n, n\)"),
        ({"motor_per_link": [1.0]}, r"\(n, n\)"),
        ({"torque_constant": [np.nan]}, "finite"),
        ({"torque_constant": "much"}, "no array"),
        ({"T_base_sensor": np.eye(3)}, r"\(4, 4\)"),
        ({"gravity_base": [0.0, 0.0]}, r"\(3\)"),
        ({"notes": {"x": object()}}, "JSON"),
        ({"notes": {"x": np.nan}}, "JSON"),
        ({"notes": [1]}, "a table"),
        ({"mapping": {1: {2, 3}}}, "JSON"),
        ({"mood": "good"}, "has no 'mood'"),
    ],
)
def test_what_has_no_meaning_is_refused(given: dict[str, Any], words: str) -> None:
    """Unknown choices, wrong shapes, and what JSON cannot hold."""
    with pytest.raises(InputError, match=words):
        Declared.from_table(given)
