"""Numbers from text: bit by bit Python's float(), by the specification and by its native twin alike."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from counterpoise.logs.csv_numbers import NUMBER, ParseRows, Status, parse_rows, parse_rows_reference

PARSERS = [parse_rows_reference] if parse_rows is parse_rows_reference else [parse_rows_reference, parse_rows]
both = pytest.mark.parametrize("parse", PARSERS, ids=lambda parse: parse.__name__)


def parsed(parse: ParseRows, text: bytes, columns: int, delimiter: str = ",", room: int = 50, skip: bytes = b""):
    """Parse a text and return its rows and how parsing ended."""
    out = np.full((room, columns), -7.0)
    code = 0 if delimiter == " " else ord(delimiter)
    outcome = parse(text, 0, out, columns, code, skip or bytes(columns))
    return out[: outcome[0]], outcome


def assert_float(parse: ParseRows, text: str) -> None:
    """The one number of a text has the bits of Python's float()."""
    rows, outcome = parsed(parse, f"{text}\n".encode(), 1)
    assert outcome[3] == Status.DONE, text
    value, expected = rows[0, 0], float(text)
    assert np.isnan(value) if np.isnan(expected) else value.tobytes() == np.float64(expected).tobytes(), text


decimals = st.from_regex(r"\A[+-]?([0-9]{1,25}\.?[0-9]{0,25}|\.[0-9]{1,30})([eE][+-]?[0-9]{1,4})?\Z")


@pytest.mark.long
@given(
    st.floats().map(repr) | st.floats().map(lambda x: f"{x:.18e}") | st.floats().map(lambda x: f"{x:.6g}") | decimals
)
@example("0.1e-0")
@example("1" * 400)
@example("0." + "0" * 1500 + "1")
@example("9007199254740993")
@example("18446744073709551615e-27")
@example("18446744073709551615e27")
@example("2.2250738585072011e-308")
@example("-0e5")
@example("1e99999")
@example("iNf")
@example("-nan")
@settings(max_examples=400)
def test_every_number_is_pythons(text: str) -> None:
    """Shortest, padded and long spellings, subnormal and overflowing ones."""
    for parse in PARSERS:
        assert_float(parse, text)


@given(st.integers(2**52, 2**53 - 1), st.integers(-80, 30))
@settings(max_examples=200)
def test_ties_between_two_numbers(mantissa: int, exponent: int) -> None:
    """Exactly half way between two neighbours, and a hair beside: to even, or away."""
    half = Fraction(2 * mantissa + 1) * Fraction(2) ** (exponent - 1)
    scale = 10 ** max(0, -(exponent - 1))
    digits = int(half * scale)  # exact: a power of two has as many decimals as its exponent
    for near in (digits - 1, digits, digits + 1):
        whole = str(near)
        parts = [whole, *(whole[:cut] for cut in (17, 18, 19, 20))]  # what fits into 64 bits, and what does not
        for kept in parts:
            for parse in PARSERS:
                assert_float(parse, f"{kept}e{len(whole) - len(kept) - max(0, -(exponent - 1))}")


ALPHABET = '0123456789+-.eE ,;\t"#%\r\nnaifx_\0é'


@pytest.mark.long
@pytest.mark.skipif(len(PARSERS) == 1, reason="the native twin was not built")
@given(
    st.text(ALPHABET, max_size=60) | st.text('1x,"\n ', max_size=30),
    st.integers(1, 4),
    st.sampled_from(",;\t "),
    st.data(),
)
@settings(max_examples=600)
def test_twins_agree_on_any_text(text: str, columns: int, delimiter: str, data: st.DataObject) -> None:
    """Rows, how far they went and why they ended are the same, for text of any kind."""
    skip = bytes(data.draw(st.lists(st.integers(0, 1), min_size=columns, max_size=columns)))
    room = data.draw(st.integers(0, 3))
    ours, theirs = (parsed(parse, text.encode(), columns, delimiter, room, skip) for parse in PARSERS)
    assert ours[1] == theirs[1]
    assert np.array_equal(ours[0], theirs[0], equal_nan=True)


@both
@pytest.mark.parametrize(
    ("text", "delimiter", "rows"),
    [
        (b"1,2\n3,4\n", ",", [[1, 2], [3, 4]]),
        (b"1,2\r\n\r\n3,4\r\n", ",", [[1, 2], [3, 4]]),
        (b" 1 ,\t2 \n", ",", [[1, 2]]),
        (b"1,2,\n", ",", [[1, 2]]),
        (b"1,\n,2\n", ",", [[1, np.nan], [np.nan, 2]]),
        (b"# 9,9\n1,2\n%x\n  # y\n", ",", [[1, 2]]),
        (b'"1","2"\n" 3 " , "4"\n', ",", [[1, 2], [3, 4]]),
        (b"1;2\n", ";", [[1, 2]]),
        (b"1\t\n\t2\n", "\t", [[1, np.nan], [np.nan, 2]]),
        (b"  1   2  \n3 \t 4\n", " ", [[1, 2], [3, 4]]),
        (b"1,2\n3,", ",", [[1, 2]]),
        (b"", ",", np.empty((0, 2))),
    ],
)
def test_rows(parse: ParseRows, text: bytes, delimiter: str, rows: list[list[float]]) -> None:
    """Delimiters, blank lines, comments, quotes, empty fields, a delimiter at the end, a line without an end."""
    found, outcome = parsed(parse, text, 2, delimiter)
    assert outcome[3] == Status.DONE
    assert np.array_equal(found, np.array(rows, dtype=float), equal_nan=True)


@both
@pytest.mark.parametrize(
    ("text", "status", "column", "field"),
    [
        (b"1,2\n1\n", Status.FIELD_COUNT, 1, b""),
        (b"1,2\n1,2,3\n", Status.FIELD_COUNT, 3, b""),
        (b"1,2\n1,2,,\n", Status.FIELD_COUNT, 4, b""),
        (b"1,2\n1,x\n", Status.NO_NUMBER, 1, b"x"),
        (b"1,2\n1_0,1\n", Status.NO_NUMBER, 0, b"1_0"),
        (b"1,2\n1 2,1\n", Status.NO_NUMBER, 0, b"1 2"),
        (b"1,2\n0x1,1\n", Status.NO_NUMBER, 0, b"0x1"),
        (b"1,2\n1e,1\n", Status.NO_NUMBER, 0, b"1e"),
        (b"1,2\n1\0,1\n", Status.NO_NUMBER, 0, b"1\0"),
        (b'1,2\nx,"2\n', Status.NO_NUMBER, 0, b"x"),
        (b'1,2\n1,"2\n', Status.OPEN_QUOTE, 1, b""),
        (b'1,2\n"1"2,1\n', Status.OPEN_QUOTE, 0, b""),
    ],
)
def test_what_is_no_row(parse: ParseRows, text: bytes, status: Status, column: int, field: bytes) -> None:
    """Parsing ends before the line at fault and says what and where it is."""
    rows, outcome = parsed(parse, text, 2)
    assert rows.tolist() == [[1.0, 2.0]]
    assert outcome == (1, 4, 1, status, column, field)


@both
def test_full_room_and_text_columns(parse: ParseRows) -> None:
    """A full array ends before the next row; columns of text are NaN unseen."""
    rows, outcome = parsed(parse, b"1,2\n3,4\n", 2, room=1)
    assert (rows.tolist(), outcome[:4]) == ([[1.0, 2.0]], (1, 4, 1, Status.FULL))
    rows, outcome = parsed(parse, b'"a,b",2\n', 2, skip=b"\1\0")
    assert np.isnan(rows[0, 0])
    assert rows[0, 1] == 2.0


def test_accepted_spellings() -> None:
    """Plain decimals, nan and inf; nothing else that float() takes."""
    for text in (b"1", b"-1.", b"+.5e-3", b"NaN", b"-Infinity"):
        assert NUMBER.fullmatch(text)
    for text in (b"", b"1_0", "\u0661".encode(), b"0x1", b"1e", b".", b"1,5", b" 1"):
        assert not NUMBER.fullmatch(text)
