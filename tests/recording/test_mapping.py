"""Mappings: read with lines, written with reasons, changed by fixes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from counterpoise.errors import DataFileError, InputError
from counterpoise.recording.mapping import LogMapping, mapping_toml, read_mapping, write_mapping

WHOLE: dict[str, Any] = {
    "time": {"column": "t [ms]", "unit": "ms", "start": 1.0, "end": 20.0, "first": 3, "last": 9},
    "position": {"unit": "deg", "linear_unit": "mm", "side": "motor", "lag": 0.01},
    "velocity": {"unit": "rpm", "linear_unit": "mm/s", "lag": -0.01, "cutoff": 5.0},
    "effort": {"kind": "current", "side": "motor", "unit": "mA", "lag": 0.02},
    "motor": {"joints": ["a", "b.c"], "motor_per_link": [[32.0, 0.0], [32.0, 45.0]]},
    "wrench": {
        "columns": ["1", "2", "3", "4", "5", "6"],
        "force_unit": "kN",
        "moment_unit": "Nmm",
        "rotation": [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]],
        "lag": 0.1,
        "reads": "on_sensor",
        "T_base_sensor": np.eye(4).tolist(),
    },
    "robot": {"adds_gravity": True, "gravity_base": [0.0, 0.0, -9.81]},
    "merge": {"largest_gap": 0.5},
    "joints": {
        "a": {"position": "x", "velocity": "y", "effort": 'z "1"', "position_sign": -1.0, "position_offset": 1.5},
        "b.c": {
            "position": "é\n",
            "effort_sign": -1.0,
            "effort_gain": 1.3,
            "effort_offset": 0.2,
            "torque_constant": 0.1,
        },
    },
    "held": {"finger": 0.02},
    "ignore": ["battery"],
}


def test_round_trip_of_everything(tmp_path: Path) -> None:
    """Every key survives the file, names with dots, quotes and line ends included; reasons are comments."""
    mapping = LogMapping.from_table(WHOLE)
    path = tmp_path / "m.toml"
    write_mapping(mapping, path, {("joints", "b.c", "position"): "its name\nsays so"})
    assert read_mapping(path) == mapping
    assert "# its name says so" in path.read_text()
    assert LogMapping.from_table(mapping.to_table()) == mapping
    assert LogMapping().to_table() == {}


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("[joints.a]\n\nposition_sign = 2", 3, r"joints\.a\.position_sign: is 2\.0; expected 1 or -1"),
        ('[joints.a]\nposishun = "x"', 2, r"joints\.a\.posishun: is no key"),
        ("[joints.a]\neffort_gain = 0", 2, "vanish"),
        ("[joints]\na = 5", 2, "a table"),
        ('[time]\nrate = "fast"', 2, "a number"),
        ("[time]\nrate = 0", 2, r"0\.001"),
        ('[time]\ncolumn = "t"\nrate = 5', 3, "one of the two"),
        ("[time]\nfirst = 9\nlast = 3", 2, "no row is left"),
        ("[time]\nstart = -1", 2, "no row is left"),
        ("\nfoo = 1", 2, "foo: is no key"),
        ('format = "counterpoise-mapping 2"', 1, "this version reads"),
        ('[position]\nunit = "grad"', 2, "known are rad, deg"),
        ('[position]\nside = "left"', 2, "'link' or 'motor'"),
        ("[position]\nlag = 60", 2, "more than 10 s"),
        ("[velocity]\ncutoff = 0", 2, "positive"),
        ("[motor]\nratio = [32, 0]", 2, "none of them 0"),
        ("[motor]\nratio = [1]\nmotor_per_link = [[1]]", 2, "one of the two"),
        ('[motor]\njoints = ["a", "a"]\nratio = [1, 1]', 2, "twice"),
        ('[motor]\njoints = ["a"]\nratio = [1, 1]', 3, "2 entries for 1"),
        ("[motor]\nmotor_per_link = [[1, 2]]", 2, "square"),
        ("[motor]\nmotor_per_link = [[1, 2], [2, 4]]", 2, "inverted"),
        ('[wrench]\ncolumns = ["a"]', 2, "length 6"),
        ("[wrench]\nrotation = [[1, 0, 0], [0, 1, 0], [0, 0, 2]]", 2, "rotation"),
        ("[wrench]\nT_base_sensor = [[1,0,0,0],[0,1,0,0],[0,0,1,0],[0,0,0,2]]", 2, "no pose"),
        ("[wrench]\nT_base_sensor = [[1,0,0,0],[0,-1,0,0],[0,0,1,0],[0,0,0,1]]", 2, "no pose"),  # mirrored axes
        ("[merge]\nlargest_gap = -1", 2, "negative"),
        ("[held]\na = inf", 2, "finite"),
        ("a = [1,", 1, "TOML"),
    ],
)
def test_refusals_name_the_line(tmp_path: Path, text: str, line: int, words: str) -> None:
    """Unknown keys, wrong types and impossible values are refused where they stand."""
    path = tmp_path / "m.toml"
    path.write_text(text)
    with pytest.raises(DataFileError, match=words) as caught:
        read_mapping(path)
    assert (caught.value.path, caught.value.line) == (str(path), line)
    with pytest.raises(DataFileError, match="no such file"):
        read_mapping(tmp_path / "absent.toml")


def test_a_fix_is_put_on_top() -> None:
    """Signs and gains multiply, offsets follow them, lags add up, rotations follow each other; the rest is replaced."""
    first = LogMapping.from_table(WHOLE)
    fix = {
        "joints": {
            "a": {"position_sign": -1, "position_offset": 0.25, "effort_sign": -1},
            "b.c": {"effort_sign": -1, "effort_gain": 2.0, "effort_offset": 1.0, "effort": "w"},
        },
        "effort": {"lag": 0.03},
        "position": {"unit": "rad"},
        "wrench": {"rotation": [[0, 1, 0], [1, 0, 0], [0, 0, 1]], "lag": 0.5},
    }
    both = first.merged_with(fix)
    a, b = both.joints["a"], both.joints["b.c"]
    assert (a.position, a.position_sign, a.position_offset, a.effort_sign) == ("x", 1.0, -1.25, -1.0)
    assert (b.effort, b.effort_sign, b.effort_gain) == ("w", 1.0, 2.6)
    assert b.effort_offset == pytest.approx(-2.0 * 0.2 + 1.0)
    assert (both.effort.lag, both.wrench.lag) == (pytest.approx(0.05), pytest.approx(0.6))
    assert (both.position.unit, both.velocity.unit) == ("rad", "rpm")
    assert both.wrench_matrix == pytest.approx(np.eye(6))
    assert first == LogMapping.from_table(WHOLE)
    with pytest.raises(InputError, match="is no key"):
        first.merged_with({"joints": {"a": {"mood": 1}}})


def test_motor_matrix_by_names() -> None:
    """Rows are placed by the joints' names; joints that are not named keep their own."""
    mapping = LogMapping.from_table({"motor": {"joints": ["c", "a"], "ratio": [3.0, -2.0]}})
    assert np.array_equal(mapping.motor_per_link(("a", "b", "c")), np.diag([-2.0, 1.0, 3.0]))  # type: ignore[arg-type]
    assert LogMapping().motor_per_link(("a",)) is None
    with pytest.raises(InputError, match="names"):
        mapping.motor_per_link(("a", "b"))
    with pytest.raises(InputError, match="2 rows for the 1"):
        LogMapping.from_table({"motor": {"ratio": [1.0, 2.0]}}).motor_per_link(("a",))


@given(st.data())
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damaged_files_give_a_mapping_or_our_error(tmp_path: Path, data: st.DataObject) -> None:
    """Any change of bytes is harmless or refused with the file's name."""
    content = bytearray(mapping_toml(LogMapping.from_table(WHOLE)).encode())
    for _ in range(data.draw(st.integers(1, 5))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    path = tmp_path / "m.toml"
    path.write_bytes(bytes(content))
    try:
        read_mapping(path)
    except DataFileError as error:
        assert error.path == str(path)
