"""Any bytes give a log or one of our errors, in bounded time and memory; a corpus of files that are kept."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import counterpoise as cp
from counterpoise.errors import BudgetError, CounterpoiseError, DataFileError
from counterpoise.recording.budget import ReadingBudget
from counterpoise.recording.declared import Declared
from counterpoise.recording.reading import read_log

CORPUS = sorted((Path(__file__).parent / "corpus").iterdir())
ROBOT = cp.load("pendulum")
FUZZ = settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])


def read_any(path: Path, robot: cp.Robot | None) -> cp.Log | None:
    """Return a log that keeps its promises, or None where one of our errors came, with the file's name."""
    try:
        log = read_log(path, robot, recover=False)
    except DataFileError as error:
        assert error.path == str(path)
        assert str(error)
        return None
    except CounterpoiseError:
        return None
    assert len(log) > 0
    assert log.q.shape == log.dq.shape == log.tau.shape == (len(log), len(log.joint_names))
    return log


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_corpus(path: Path) -> None:
    """Files called good_* give a log, bad_* an error of ours, with and without a robot."""
    log = read_any(path, None)
    assert (log is not None) == path.name.startswith("good_")
    read_any(path, ROBOT)
    with contextlib.suppress(CounterpoiseError):
        read_log(path, ROBOT, recover=True)


def test_corpus_is_there() -> None:
    """Both kinds are in it."""
    assert {path.name.partition("_")[0] for path in CORPUS} == {"good", "bad"}
    assert len(CORPUS) >= 20


@given(st.binary(max_size=300))
@FUZZ
def test_any_bytes(tmp_path: Path, content: bytes) -> None:
    """Noise of any kind."""
    path = tmp_path / "noise.csv"
    path.write_bytes(content)
    read_any(path, None)


PIECES = st.sampled_from(
    [
        "q_1",
        "tau_1",
        "t",
        "time_ms",
        ",",
        ",",
        ";",
        "\t",
        " ",
        "\n",
        "\n",
        "\r\n",
        '"',
        "#",
        "%",
        "1",
        "-2.5",
        "1e999",
        "nan",
        "",
        "0.1",
        "é",
        "\0",
        "position.a",
        "[deg]",
        "1,5",
        "- ",
        "fx",
        "pos",
        "x" * 50,
        "\ufeff",
    ]
)


@given(st.lists(PIECES, max_size=60))
@FUZZ
def test_text_made_of_what_tables_are_made_of(tmp_path: Path, pieces: list[str]) -> None:
    """Words, numbers and marks in any order."""
    path = tmp_path / "table.csv"
    path.write_text("".join(pieces), newline="")
    read_any(path, None)
    read_any(path, ROBOT)


@given(st.data())
@FUZZ
def test_mutated_logs(tmp_path: Path, data: st.DataObject) -> None:
    """Good CSV, NPZ and Parquet files with some bytes changed, put in or cut off."""
    ending = data.draw(st.sampled_from([".csv", ".npz", ".parquet"]))
    whole = tmp_path / f"whole{ending}"
    if not whole.exists():
        numbers = np.random.default_rng(1).normal(size=(20, 1))
        cp.write_log(
            cp.Log(("a",), np.arange(20.0), numbers, numbers, numbers, declared=Declared(notes={"x": 1})), whole
        )
    content = bytearray(whole.read_bytes())
    for _ in range(data.draw(st.integers(1, 5))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place : place + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=4))
    path = tmp_path / f"damaged{ending}"
    path.write_bytes(bytes(content[: data.draw(st.integers(0, len(content)))]))
    read_any(path, None)


def test_foreign_archives_with_changed_headers(tmp_path: Path) -> None:
    """Each byte of an archive's headers changed in turn."""
    path = tmp_path / "run.npz"
    np.savez(path, t=np.arange(4.0), q=np.ones((4, 2)), tau=np.ones((4, 2)))
    content = path.read_bytes()
    for place in range(0, len(content), 7):
        for value in (0, 255, content[place] ^ 1):
            path.write_bytes(content[:place] + bytes([value]) + content[place + 1 :])
            read_any(path, None)


def test_wide_and_long_claims(tmp_path: Path) -> None:
    """Thousands of columns, arrays that unpack to much, and logs too long to be read at once are refused or bounded."""
    path = tmp_path / "wide.csv"
    for columns, words in ((9000, "joints"), (20_000, "columns")):
        path.write_text(",".join(f"q_{n}" for n in range(columns)) + "\n" + "1," * (columns - 1) + "1\n")
        with pytest.raises(CounterpoiseError, match=words):
            read_log(path)
    archive = tmp_path / "wide.npz"
    np.savez_compressed(archive, t=np.arange(3.0), q=np.zeros((3, 200_000)))
    with pytest.raises(DataFileError, match="columns"):
        read_log(archive)
    np.savez_compressed(archive, q=np.zeros((10_000, 3)))
    assert len(read_log(archive)) == 10_000
    for budget in (ReadingBudget(memory=100_000), ReadingBudget(rows=9999)):
        with pytest.raises(BudgetError, match="stream_log"):
            read_log(archive, budget=budget)
