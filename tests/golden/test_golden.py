"""What every command prints with --json is what it printed when it was stored (see store.py)."""

from __future__ import annotations

import json

import pytest

from golden.cases import CASES, EXPECTED, Case, Commands, reduced
from golden.compare import differences


@pytest.fixture(scope="session")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Commands:
    """A folder in which later cases find the files of earlier ones."""
    return Commands(tmp_path_factory.mktemp("golden"))


@pytest.mark.parametrize("name", CASES)
def test_output_is_as_stored(name: str, commands: Commands) -> None:
    stored = json.loads((EXPECTED / f"{name}.json").read_text(encoding="utf-8"))
    found = differences(commands.result(name), stored, CASES[name])
    assert not found, "\n".join(found)


def test_every_stored_file_has_a_case() -> None:
    assert {file.stem for file in EXPECTED.glob("*.json")} == set(CASES)


@pytest.mark.parametrize(
    ("found", "differs"),
    [
        ({"torque": 1.0000005, "text": "2.51 N m at joint2"}, False),
        ({"torque": 1.00001, "text": "2.50 N m at joint2"}, True),
        ({"torque": 1.0, "text": "2.50 N m at joint3"}, True),
        ({"torque": 1.0, "text": "2.52 N m at joint2"}, True),
        ({"torque": None, "text": "2.50 N m at joint2"}, True),
        ({"torque": 1.0, "text": "2.50 N m at joint2", "more": []}, True),
    ],
)
def test_numbers_have_a_tolerance_and_words_none(found: dict[str, object], differs: bool) -> None:
    stored = {"torque": 1.0, "text": "2.50 N m at joint2"}
    assert bool(differences({"document": found}, {"document": stored}, Case("", ""))) == differs


def test_order_and_sign_in_a_long_list_are_seen() -> None:
    values = [0.1 * place for place in range(50)]
    swapped = [*values[:20], values[21], values[20], *values[22:]]
    flipped = [*values[:20], -values[20], *values[21:]]
    for other in (swapped, flipped):
        assert differences(reduced({"q": other}, {}), reduced({"q": values}, {}), Case("", ""))
