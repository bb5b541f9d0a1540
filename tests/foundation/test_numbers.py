"""Numbers are read from plain decimal text only, and every refusal says where and what."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoise.errors import ModelFileError
from counterpoise.foundation import parse_number, parse_vector, quoted


def number(text: str) -> float:
    """Parse with a fixed place."""
    return parse_number(text, what="link 'a': mass value", path="arm.urdf", line=7)


def vector(text: str, count: int = 3) -> tuple[float, ...]:
    """Parse with a fixed place."""
    return parse_vector(text, count, what="joint 'j': origin xyz", path="arm.urdf", line=9)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(("1", 1.0), ("1.5", 1.5), ("1.", 1.0), (".5", 0.5), ("-2e-3", -0.002), ("+3E+2", 300.0), ("007", 7.0)),
        *((" \t\r\n4\n", 4.0), ("-0.0", -0.0), ("1e-400", 0.0), ("1.7976931348623157e308", 1.7976931348623157e308)),
    ],
)
def test_plain_decimals_are_read(text: str, value: float) -> None:
    """Decimal and scientific notation, with XML whitespace around."""
    assert number(text) == value
    assert math.copysign(1.0, number(text)) == math.copysign(1.0, value)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            " ",
            "nan",
            "NaN",
            "-nan",
            "inf",
            "Infinity",
            "1_000",
            "1,5",
            "1.5.2",
            "0x10",
            "1e",
            "e5",
            ".",
            "+",
            "--1",
        ),
        *("1 2", "1f", "1.0L", "1d3", "٢", "１", "1\u00a0", "\u20071", "1\x0b", "1/2", "${m}", "1e400", "-1e400"),
        *("1" * 101, "0." + "0" * 200 + "1", "true", "1e1.5"),
    ],
)
def test_everything_else_is_refused(text: str) -> None:
    """The message names the place and the text, quoted."""
    with pytest.raises(ModelFileError) as caught:
        number(text)
    assert (caught.value.path, caught.value.line) == ("arm.urdf", 7)
    message = str(caught.value)
    assert message.startswith(f"arm.urdf:7: link 'a': mass value is {quoted(text)}")
    assert "expected a" in message
    assert len(message) < 200


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_survives_printing(value: float) -> None:
    """What Python prints is read back exactly."""
    assert number(repr(value)) == value
    assert number(f"{value:.17e}") == value


@given(st.text(max_size=12))
def test_accepted_text_means_what_float_says(text: str) -> None:
    """Any text is either refused with our error or read as float() reads it, and then is finite."""
    try:
        value = number(text)
    except ModelFileError:
        return
    assert value == float(text)
    assert math.isfinite(value)


def test_vectors_split_at_xml_whitespace_only() -> None:
    """Spaces, tabs and line ends separate; commas and non-breaking spaces do not."""
    assert vector(" 1\t2\r\n 3 ") == (1.0, 2.0, 3.0)
    assert vector("0.5", 1) == (0.5,)
    for text in ("1,2,3", "1\u00a02\u00a03", "1;2;3"):
        with pytest.raises(ModelFileError, match="holds 1 entries; expected 3 numbers"):
            vector(text)


@pytest.mark.parametrize("text", ["", "1 2", "1 2 3 4", "1 " * 100_000])
def test_vectors_of_another_length_are_refused(text: str) -> None:
    """The message says how many were found, without the whole text."""
    with pytest.raises(ModelFileError, match=f"holds {len(text.split())} entries; expected 3") as caught:
        vector(text)
    assert len(str(caught.value)) < 200


def test_vector_names_the_bad_entry() -> None:
    """One bad entry refuses the vector and is shown."""
    with pytest.raises(ModelFileError, match=r"arm.urdf:9: joint 'j': origin xyz entry is 'nan'"):
        vector("0 nan 0")
