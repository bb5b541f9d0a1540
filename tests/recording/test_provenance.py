"""Where the numbers of a mapping come from, through files, changes and logs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import counterpoise as cp
from counterpoise.errors import DataFileError, InputError
from counterpoise.recording.declared import Declared
from counterpoise.recording.mapping import LogMapping, mapping_toml, read_mapping, write_mapping
from counterpoise.recording.provenance import SOURCES, combined, dotted
from counterpoise.recording.reading import read_log, remapped

GUESS = {"joints": {"a": {"effort_gain": 2.0}}, "source": {"joints.a.effort_gain": "guessed"}}


def made(**declared: Any) -> cp.Log:
    time = np.arange(200) / 100.0
    q = np.sin(time)[:, None] * [1.0, 0.5]
    return cp.Log(("a", "b"), time, q, q, q, declared=Declared(**declared))


def test_files_keep_it(tmp_path: Path) -> None:
    """Dotted keys, quoted or as tables within tables, with the line of what is wrong."""
    mapping = LogMapping.from_table(
        {
            "time": {"rate": 25.0},
            "joints": {"arm.1": {"effort_gain": 2.0}},
            "source": {"time.rate": "measured", "joints.arm.1.effort_gain": "guessed"},
        }
    )
    write_mapping(mapping, tmp_path / "a.toml")
    assert read_mapping(tmp_path / "a.toml") == mapping
    nested = tmp_path / "b.toml"
    nested.write_text('[time]\nrate = 25.0\n[source]\ntime.rate = "measured"\njoints.elbow.effort_gain = "guessed"\n')
    assert read_mapping(nested).source == {"time.rate": "measured", "joints.elbow.effort_gain": "guessed"}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('"time.rat" = "measured"', "time.rat: is no key of a mapping"),
        ('"joints.effort_gain" = "guessed"', "is no key"),
        ('"joints.a.gain" = "guessed"', "is no key"),
        ('"format" = "guessed"', "is no key"),
        ('"source.time" = "guessed"', "is no key"),
        ('"time.rate" = "sure"', "is 'sure'; expected 'declared', 'measured' or 'guessed'"),
        ('"time.rate" = 3', "text"),
    ],
)
def test_what_has_no_meaning_is_refused(tmp_path: Path, line: str, words: str) -> None:
    path = tmp_path / "m.toml"
    path.write_text(f"[source]\n{line}\n")
    with pytest.raises(DataFileError, match=words) as error:
        read_mapping(path)
    assert "m.toml:" in str(error.value)


def test_a_change_takes_its_sources_along() -> None:
    """What is replaced has the new source, what is multiplied the worse of both, what is gone none."""
    base = LogMapping.from_table(
        {
            "time": {"rate": 100.0},
            "effort": {"unit": "Nm"},
            "joints": {"a": {"effort_gain": 1.5, "torque_constant": 2.0}, "b": {"effort_gain": 1.5}},
            "source": {"time.rate": "guessed", "joints.a.effort_gain": "measured", "joints.b.effort_gain": "guessed"},
        }
    )
    changed = base.merged_with(
        {
            "time": {"rate": 25.0},
            "joints": {"a": {"effort_gain": 2.0, "torque_constant": 3.0}, "b": {"effort_gain": 2.0}},
            "source": {"joints.a.effort_gain": "guessed", "joints.a.torque_constant": "measured"},
        }
    )
    assert changed.source == {
        "joints.a.effort_gain": "guessed",
        "joints.a.torque_constant": "measured",
        "joints.b.effort_gain": "guessed",
    }
    assert base.merged_with({"time": {"column": "t"}}).time.rate is None
    assert "time.rate" not in base.merged_with({"time": {"column": "t"}}).source
    column = LogMapping.from_table({"time": {"column": "t", "unit": "ms", "start": 1.0}})
    assert column.merged_with({"time": {"rate": 5.0}}).to_table()["time"] == {"rate": 5.0, "start": 1.0}
    assert base.merged_with({"source": {"time.rate": "declared"}}).source.keys() == base.source.keys() - {"time.rate"}
    turn = {"wrench": {"rotation": np.diag([1.0, -1.0, -1.0]).tolist()}, "source": {"wrench.rotation": "measured"}}
    twice = LogMapping.from_table(turn).merged_with({"wrench": turn["wrench"]})
    assert twice.source == {"wrench.matrix": "measured"}


KEYS = st.sampled_from(["time.rate", "effort.unit", "joints.a.effort_gain", "joints.b.effort_sign", "position.lag"])
TABLES = st.dictionaries(KEYS, st.sampled_from(SOURCES))


@given(TABLES, TABLES, st.frozensets(KEYS))
def test_nothing_gets_better_by_being_multiplied(before: dict[str, str], after: dict[str, str], changed: Any) -> None:
    """A number made of a guess is a guess, whoever multiplies it; and what is declared is left out."""
    result = combined(before, after, changed)
    assert "declared" not in result.values()
    for key in changed:
        if key.endswith(("effort_gain", "effort_sign", "lag")) and before.get(key) == "guessed":
            assert result[key] == "guessed"
    for key, source in after.items():
        if key not in changed:
            assert result.get(key, "declared") == source


def test_a_log_says_what_is_guessed() -> None:
    """Gains, constants, ratios, units and kinds are efforts' sizes; a rate is the time's."""
    told = Declared(source={"joints.elbow.effort_gain": "guessed", "position.lag": "measured"})
    assert told.guessed == ("joints.elbow.effort_gain",)
    assert told.effort_is_guessed and not told.rate_is_guessed
    for key in ("effort.kind", "effort.unit", "motor.ratio", "joints.x.torque_constant"):
        assert Declared(source={key: "guessed"}).effort_is_guessed
        assert not Declared(source={key: "measured"}).effort_is_guessed
    assert not Declared(source={"joints.x.effort_sign": "guessed"}).effort_is_guessed
    assert Declared(rate_source="guessed").rate_is_guessed
    assert Declared(notes={"assumed_rate": 100.0}).rate_is_guessed
    assert Declared(source={"time.unit": "guessed"}).rate_is_guessed
    assert not Declared(rate_source="measured").rate_is_guessed
    assert not Declared().effort_is_guessed and not Declared().effort_is_command
    with pytest.raises(InputError, match=r"'time\.rate' is 'sure'"):
        Declared(source={"time.rate": "sure"})
    with pytest.raises(InputError, match="rate_source"):
        Declared(rate_source="sure")  # type: ignore[arg-type]


@pytest.mark.parametrize("ending", ["csv", "npz"])
def test_our_files_keep_it(tmp_path: Path, ending: str) -> None:
    log = remapped(made(), GUESS)
    assert log.declared.effort_is_guessed
    assert log.declared.mapping["source"] == GUESS["source"]
    cp.write_log(log, tmp_path / f"run.{ending}")
    again = read_log(tmp_path / f"run.{ending}")
    assert again.declared.source == {"joints.a.effort_gain": "guessed"}
    more = remapped(again, {"joints": {"a": {"effort_gain": 1.1}}})
    assert more.declared.effort_is_guessed  # a declared factor on a guessed one
    sure = read_log(tmp_path / f"run.{ending}", mapping={"source": {"joints.a.effort_gain": "declared"}})
    assert not sure.declared.effort_is_guessed


def test_a_recording_is_read_with_it(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    rows = "\n".join(f"{row / 50},{np.sin(row / 50):.5f},0,1.0,2.0" for row in range(200))
    path.write_text(f"t,q_a,q_b,tau_a,tau_b\n{rows}\n")
    log = read_log(path, mapping=GUESS)
    assert log.declared.guessed == ("joints.a.effort_gain",)
    assert '"joints.a.effort_gain" = "guessed"' in mapping_toml(LogMapping.from_table(log.declared.mapping))
    assert read_log(path).declared.source == {}


def test_currents_without_constants_stay_currents(tmp_path: Path) -> None:
    """All joints are currents or none: a log does not mix A and N m."""
    path = tmp_path / "run.csv"
    rows = "\n".join(f"{row / 50},{np.sin(row / 50):.5f},0,1.0,2.0" for row in range(200))
    path.write_text(f"t,q_a,q_b,current_a,current_b\n{rows}\n")
    bare = read_log(path)
    assert (bare.declared.effort_kind, bare.declared.effort_is_command) == ("current", True)
    some = read_log(path, mapping={"joints": {"a": {"torque_constant": 3.0}}})
    assert some.declared.effort_is_command
    assert some.declared.torque_constant is None
    assert some.tau[0].tolist() == [1.0, 2.0]
    both = read_log(path, mapping={"joints": {name: {"torque_constant": 3.0} for name in "ab"}})
    assert (both.declared.effort_kind, both.declared.effort_is_command) == ("torque", False)
    assert both.tau[0].tolist() == [3.0, 6.0]
    in_front = read_log(path, mapping={"effort": {"kind": "torque", "side": "motor"}})
    assert in_front.declared.effort_is_command
    geared = read_log(path, mapping={"effort": {"kind": "torque", "side": "motor"}, "motor": {"ratio": [10, 10]}})
    assert not geared.declared.effort_is_command


def test_keys_of_a_table() -> None:
    table = LogMapping.from_table(GUESS | {"time": {"rate": 5.0}, "ignore": ["x"], "held": {"f": 0.1}}).to_table()
    assert set(dotted(table)) == {"joints.a.effort_gain", "time.rate", "held.f"}
    assert replace(made(), declared=Declared(source=table["source"])).declared.guessed == ("joints.a.effort_gain",)
