"""CSV files of all kinds as tables: layout, streaming, errors by line, recovery."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from counterpoise.errors import DataFileError
from counterpoise.recording import text_files as csv_source
from counterpoise.recording.garbage import Screen
from counterpoise.recording.table import Recovery
from counterpoise.recording.text_files import CsvSource


def source(folder: Path, text: str | bytes) -> CsvSource:
    path = folder / "run.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return CsvSource(path)


def numbers(given: CsvSource, rows: int = 65_536) -> np.ndarray:
    screen = Screen(given, tuple(range(len(given.column_names))), None, recover=False)
    return np.concatenate([table.columns for table, _ in screen.tables(rows)])


def recovered(given: CsvSource, rows: int = 65_536) -> tuple[np.ndarray, Recovery | None]:
    screen = Screen(given, tuple(range(len(given.column_names))), None, recover=True)
    parts = [table.columns if bad is None else table.columns[~bad] for table, bad in screen.tables(rows)]
    return np.concatenate(parts), screen.recovery


@pytest.mark.parametrize(
    ("text", "names", "rows"),
    [
        ("t,q\n1,2\n3,4\n", ("t", "q"), [[1, 2], [3, 4]]),
        ("t;q\n1;2\n", ("t", "q"), [[1, 2]]),
        ("t\tq\n1\t2\n", ("t", "q"), [[1, 2]]),
        ("t q\n1 2\n", ("t", "q"), [[1, 2]]),
        ("  t    q\n  1.0   2.0\n", ("t", "q"), [[1, 2]]),
        ("\ufefft,q\r\n1,2\r\n\r\n\r\n", ("t", "q"), [[1, 2]]),
        ("t,- arm_1 position\n1,2\n", ("t", "- arm_1 position"), [[1, 2]]),
        ('"t","q, ""left"""\n1,2\n', ("t", 'q, "left"'), [[1, 2]]),
        ("# made by hand\n\nt,q\n# more\n1,2\n", ("t", "q"), [[1, 2]]),
        ("# t q\n1 2\n", ("t", "q"), [[1, 2]]),
        ("%time,field.q\n1,2\n", ("time", "field.q"), [[1, 2]]),
        ("1,2\n3,4\n", ("column_1", "column_2"), [[1, 2], [3, 4]]),
        ("t,q\ns,rad\n1,2\n", ("t [s]", "q [rad]"), [[1, 2]]),
        ("t,,q\n1,5,2\n", ("t", "column_2", "q"), [[1, 5, 2]]),
        ("q,q\n1,2\n", ("q", "q"), [[1, 2]]),
        ("t,q,\n1,2,\n", ("t", "q", "column_3"), [[1, 2, np.nan]]),
        ("t,q\n1,2,\n", ("t", "q"), [[1, 2]]),
        ("t,q\n1,\n,nan\n", ("t", "q"), [[1, np.nan], [np.nan, np.nan]]),
        ("t,frame,q\n1,base_link,2\n2,,3\n", ("t", "q"), [[1, 2], [2, 3]]),
        ("q\n1\n2\n", ("q",), [[1], [2]]),
        ("t,q\n1,2", ("t", "q"), [[1, 2]]),
    ],
)
def test_layouts(tmp_path: Path, text: str, names: tuple[str, ...], rows: list[list[float]]) -> None:
    """Delimiters, headers quoted, commented, absent or with units, marks, line ends, gaps, columns of text."""
    given = source(tmp_path, text)
    assert given.column_names == names
    assert np.array_equal(numbers(given), np.array(rows, dtype=float), equal_nan=True)
    assert (given.progress, given.recovery) == (1.0, None)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", None, "is empty"),
        ("# only this\n", None, "no rows"),
        ("t,q\n", 1, "no row below"),
        ("a,b\nc,d\ne,f\n", None, "no numbers"),
        ("t,q\n1,2\n3\n", 3, "has 1 fields here and 2 columns"),
        ("t,q\n1,2\n\n3,4,5\n", 4, "has 3 fields"),
        ("t,q\n1,2\n3,x\n", 3, "column 'q' holds 'x', not a number"),
        ("t;q\n1,5;2,5\n1,6;2,5\n", 2, "decimal comma"),
        ("t\tq\n1,5\t2,5\n", 2, "decimal comma"),
        ('t,q\n1,2\n3,"4\n', 3, "quote"),
        ('"t,q\n1,2\n', 1, "quote"),
        (b"t,q\n1,\xff\n2,3\n", 2, "not a number"),
        (b"t,q\n1,2\n3,4\0\n", 3, "not a number"),
        (b"t,q\n1,\0\n3,4\0\n", 2, "NUL"),
        (b"\xff\xfet\0,\0", None, "UTF-16"),
        (b"x" * 1_100_000, 1, "a line of more than"),
    ],
)
def test_refusals_name_the_line(tmp_path: Path, text: str | bytes, line: int | None, words: str) -> None:
    """What is no table of numbers is refused with the file, the line and the column."""
    with pytest.raises(DataFileError, match=words) as caught:
        numbers(source(tmp_path, text))
    assert caught.value.path == str(tmp_path / "run.csv")
    assert line is None or caught.value.line == line


def test_pieces_do_not_depend_on_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any size of piece and of block gives the same rows; lines are counted through all of them."""
    table = np.random.default_rng(0).normal(size=(57, 3))
    text = "a,b,c\n" + "\n".join(",".join(map(repr, row)) for row in table.tolist())
    given = source(tmp_path, text)
    for block in (7, 64, 1 << 20):
        monkeypatch.setattr(csv_source, "BLOCK_BYTES", block)
        for rows in (1, 10, 57, 1000):
            pieces = [piece.columns for piece in given.tables(rows)]
            assert max(map(len, pieces)) <= rows
            assert np.array_equal(np.concatenate(pieces), table)
    monkeypatch.setattr(csv_source, "BLOCK_BYTES", 100)
    with pytest.raises(DataFileError) as caught:
        numbers(source(tmp_path, text + "\n1,2\n"), rows=5)
    assert caught.value.line == 59


def test_recovery_says_how_much(tmp_path: Path) -> None:
    """A file cut in the middle of a line gives the rows before it, on request."""
    text = "t,q\n1,2\n3,4\n5"
    with pytest.raises(DataFileError, match="recover=True"):
        numbers(source(tmp_path, text))
    found, recovery = recovered(source(tmp_path, text))
    assert found.tolist() == [[1, 2], [3, 4]]
    assert recovery is not None
    assert (recovery.rows, recovery.left_out, recovery.bytes_total) == (2, 1, 13)
    assert "line 4" in recovery.reason
    found, recovery = recovered(source(tmp_path, "t,q\n" + "1,2\n" * 300 + "\0" * 500))
    assert found.shape == (300, 2)
    assert recovery is not None


def test_a_line_without_end_is_one_row_of_garbage(tmp_path: Path) -> None:
    """2 MB without a line end, in the middle: what follows is read."""
    text = "t,q\n" + "1,2\n" * 300 + "x" * 2_000_000 + "\n" + "3,4\n" * 10
    with pytest.raises(DataFileError, match="a line of more than") as caught:
        numbers(source(tmp_path, text))
    assert caught.value.line == 302
    found, recovery = recovered(source(tmp_path, text), rows=7)
    assert found.shape == (310, 2) and recovery is not None and recovery.left_out == 1


def test_a_column_of_text_stays_one_though_a_damaged_row_holds_a_number_there(tmp_path: Path) -> None:
    """Shifted fields put a number where names stand; the others are no garbage for that."""
    rows = [f"{k},base_link,{k}" for k in range(40)]
    given = source(tmp_path, "\n".join(["t,frame,q", *rows[:20], "7,8,9", *rows[20:]]))
    assert given.column_names == ("t", "q") and numbers(given).shape == (41, 2)


def test_what_is_mostly_beyond_all_bounds_is_another_unit(tmp_path: Path) -> None:
    """Counts of 1e11 all along are no garbage; beside them one 1e242 in another column is."""
    rows = [[float(k), 1e11 + k] for k in range(30)]
    text = "t,q\n" + "\n".join(f"{t},{q}" for t, q in rows)
    assert numbers(source(tmp_path, text)).tolist() == rows
    with pytest.raises(DataFileError, match=r"run.csv:32: column 't' holds 1e\+242.*leaves this row out"):
        numbers(source(tmp_path, text + "\n1e242,1e11"))


def test_file_is_closed_when_reading_ends_early(tmp_path: Path) -> None:
    """An iteration that is given up, as by Ctrl-C, leaves no open file (an error here: warnings are errors)."""
    given = source(tmp_path, "t,q\n" + "1,2\n" * 1000)
    tables = given.tables(10)
    next(tables)
    assert 0.0 < given.progress <= 1.0
    tables.close()
    (tmp_path / "run.csv").unlink()
    with pytest.raises(DataFileError, match="cannot be read"):
        numbers(given)
