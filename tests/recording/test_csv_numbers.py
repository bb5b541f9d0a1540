"""Numbers from text: bit by bit Python's float(), by the specification, by NumPy and by the native twin alike."""

from __future__ import annotations

import struct
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counterpoise.recording import csv_numbers, kernel
from counterpoise.recording.csv_numbers import NUMBER, ParseRows, Status, parse_rows_numpy, parse_rows_reference

PARSERS = [parse_rows_reference, parse_rows_numpy, *([kernel.parse_rows] if kernel.NATIVE else [])]
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


EXAMPLES = (
    *("0.1e-0", "1" * 400, "0." + "0" * 1500 + "1", "9007199254740993", "18446744073709551615e-27"),
    *("18446744073709551615e27", "2.2250738585072011e-308", "-0e5", "1e99999", "iNf", "-nan"),
)


def any_decimal(random: Random) -> str:
    """Up to 25 digits before the point and up to 25 behind it, or up to 30 behind it alone, with any exponent."""

    def digits(least: int, most: int) -> str:
        return "".join(random.choices("0123456789", k=random.randint(least, most)))

    whole = digits(1, 25) + random.choice(["", "."])
    number = "." + digits(1, 30) if random.random() < 0.3 else whole + (digits(0, 25) if "." in whole else "")
    exponent = random.choice("eE") + random.choice(["", "+", "-"]) + digits(1, random.choice([1, 2, 3, 4]))
    return random.choice(["", "+", "-"]) + number + random.choice(["", exponent])


def test_every_number_is_pythons() -> None:
    """Shortest, padded and long spellings, subnormal and overflowing ones."""
    random = Random(0)
    floats = [struct.unpack("d", random.randbytes(8))[0] for _ in range(1500)]  # any bits: all exponents, NaN, infinity
    floats += [random.uniform(-1e3, 1e3) for _ in range(500)]
    spelled = [spell(value) for value in floats for spell in (repr, "{:.18e}".format, "{:.6g}".format)]
    for text in (*EXAMPLES, *spelled, *(any_decimal(random) for _ in range(2000))):
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


PLAIN = ("12,\n", "0.5,-\n", "1e+2 \n", "1; 2\r\n", "3\t\n", "4|.\n")
"""Letters of texts that are often plain rows of numbers."""
ALPHABET = '0123456789+-.eE ,;\t"#%\r\nnaifx_\0é'


def test_twins_agree_on_any_text() -> None:
    """Rows, how far they went and why they ended are the same, for text of any kind; a third is often plain."""
    random = Random(0)
    for _ in range(6000):
        letters, most = random.choice([(ALPHABET, 60), ('1x,"\n ', 30), (random.choice(PLAIN), 40)])
        text = "".join(random.choices(letters, k=random.randint(0, most)))
        columns, delimiter, room = random.randint(1, 4), random.choice(",;\t |"), random.randint(0, 3)
        skip = bytes(random.choices((0, 1), k=columns))
        rows, outcome = parsed(PARSERS[0], text.encode(), columns, delimiter, room, skip)
        for parse in PARSERS[1:]:
            found, ended = parsed(parse, text.encode(), columns, delimiter, room, skip)
            assert ended == outcome, (parse, text, columns, delimiter, room, skip)
            assert np.array_equal(found, rows, equal_nan=True), (parse, text, columns, delimiter, room, skip)


@pytest.mark.parametrize("parse", PARSERS[1:], ids=lambda parse: parse.__name__)
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " "])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_tables_have_the_bits_of_the_specification(parse: ParseRows, delimiter: str, ending: str) -> None:
    """Plain tables, also from the middle of a text, with less room than rows, with an unfinished line behind."""
    random = Random(1)
    lines = [delimiter.join(any_decimal(random) for _ in range(3)) for _ in range(40)]
    text = ("head" + ending + ending.join(lines) + ending + "1").encode()
    begin, code = len("head" + ending), 0 if delimiter == " " else ord(delimiter)
    for room in (0, 1, 39, 40, 41):
        ours, theirs = np.full((2, room, 3), -7.0)
        expected = parse_rows_reference(text, begin, theirs, 3, code, bytes(3))
        assert parse(text, begin, ours, 3, code, bytes(3)) == expected
        assert ours.tobytes() == theirs.tobytes()


def test_plain_text_is_read_by_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The specification then sees only what is left; with anything else than numbers it sees all."""
    seen: list[int] = []

    def watched(text: bytes, begin: int, *arguments: Any) -> Any:
        seen.append(begin)
        return parse_rows_reference(text, begin, *arguments)

    monkeypatch.setattr(csv_numbers, "parse_rows_reference", watched)
    for text, begin in (
        (b"1,2\n3,4\n5", 8),
        (b"1,2\n# 3,4\n", 0),
        (b"1,2\n\n3,4\n", 0),
        (b"1,nan\n", 0),
        (b"1,2\r3,4\n", 0),
    ):
        parsed(parse_rows_numpy, text, 2)
        assert seen.pop() == begin and not seen, text


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
