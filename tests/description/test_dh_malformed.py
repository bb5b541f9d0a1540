"""Broken DH files: each gives our error, with the line and the reason, and nothing else."""

from __future__ import annotations

import warnings
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counterpoise.description.dh import parse_dh
from counterpoise.description.model import Description
from counterpoise.description.reading import read_description
from counterpoise.errors import CounterpoiseError, ModelFileError, PhysicalConsistencyError

CORPUS = Path(__file__).parent / "malformed_dh"

EXPECTED: dict[str, tuple[int | None, str]] = {
    "alpha_by_zero": (30, "joint 'elbow', alpha: 'pi/0' is not an angle"),
    "alpha_in_degrees": (30, "joint 'elbow', alpha: 90 rad is more than a turn"),
    "alpha_not_an_angle": (30, "joint 'elbow', alpha: 'half pi' is not an angle"),
    "assumed_not_a_number": (39, "link.assumed[1]: 'colour' is not a number of this table"),
    "assumed_without_reason": (39, "assumptions need a reason"),
    "com_frame_missing": (22, "com_frame is missing at the top of the file"),
    "com_infinite": (41, "joint 'elbow', link.com[1]: inf is not a finite number"),
    "com_of_two": (39, "link.com: expected a list of length 3, got 2"),
    "continuous_with_limit": (33, "joint 'elbow', lower: a continuous joint turns without limits"),
    "duplicate_joint": (26, "joint name 'shoulder' is used 2 times"),
    "duplicate_link": (36, "link name 'upper' is used 2 times"),
    "empty_name": (27, "joint no. 2, name: expected text of length >= 1"),
    "frame_parent_unknown": (44, "frame 'tool', parent: no link is called 'hand'"),
    "future_schema": (1, "schema: 'counterpoise/dh-2' is unknown; use \"counterpoise/dh-1\""),
    "gravity_absurd": (5, "gravity: expected m/s²"),
    "gravity_of_two": (5, "gravity: expected a list of length 3, got 2"),
    "inertia_mixed_rows": (40, "link.inertia: expected 3 numbers (diagonal), 6"),
    "inertia_not_symmetric": (40, "link.inertia: an inertia is symmetric"),
    "inertia_of_four": (40, "link.inertia: expected 3 numbers (diagonal), 6"),
    "inertia_without_mass": (38, "link.inertia: inertia is given without a mass"),
    "joint_is_a_table": (12, "joint: expected a list, got a table"),
    "joint_source_unknown": (29, "source.limits: source 'manual' is not in [sources], which has: drawing"),
    "kind_unknown": (28, "joint 'elbow', kind: 'hinge' is unknown; use \"revolute\" or \"continuous\""),
    "length_absurd": (26, "joint 'elbow': its child frame is not finite or lies beyond"),
    "limits_reversed": (26, "lower limit 2.0 must not exceed upper limit -2.0"),
    "linear_limit_as_text": (34, "joint 'elbow', upper: a linear joint's limit is a number of metres"),
    "mass_is_bool": (38, "link.mass: expected a number, got bool"),
    "mass_is_date": (38, "link.mass: expected a number, got date"),
    "mass_is_nan": (38, "joint 'elbow', link.mass: nan is not a finite number"),
    "mass_is_text": (38, "link.mass: expected a number, got text"),
    "mass_negative": (36, "link 'lower': mass -1.0 kg"),
    "mass_without_com": (38, "mass is given without com"),
    "missing_link": (26, "joint 'elbow': the key 'link' is missing"),
    "missing_theta": (26, "joint 'elbow': the key 'theta' is missing"),
    "nested_too_deep": (38, "is nested more than 32 levels deep"),
    "no_joints": (None, "the key 'joint' is missing"),
    "no_schema": (None, "is not a DH file: it lacks schema"),
    "number_absurd": (38, "link.mass: this integer is not a finite number within"),
    "parent_is_itself": (26, "joint 'elbow' is part of a cycle"),
    "parent_unknown": (29, "joint 'elbow', parent: no link is called 'upperarm'; did you mean 'upper'?"),
    "placement_unknown_key": (29, "placement.rpz: unknown key; did you mean 'rpy'?"),
    "source_unknown": (39, "link.source: source 'drawings' is not in [sources], which has: drawing"),
    "syntax_duplicate_key": (39, "is not valid TOML: Cannot overwrite a value"),
    "syntax_missing_value": (38, "is not valid TOML: Invalid value"),
    "syntax_unclosed_list": (39, "is not valid TOML: Unclosed array"),
    "unknown_key": (38, "joint 'elbow', link.masss: unknown key; did you mean 'mass'?"),
    "unknown_table": (6, "joints: unknown key; did you mean 'joint'?"),
}


def test_the_corpus_and_its_expectations_match() -> None:
    """No file without an expectation, no expectation without a file."""
    assert sorted(path.stem for path in CORPUS.glob("*.toml")) == sorted(EXPECTED)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_broken_file_is_refused_with_line_and_reason(name: str) -> None:
    """The error is ours, names file and line, and says what is wrong."""
    line, fragment = EXPECTED[name]
    path = CORPUS / f"{name}.toml"
    with pytest.raises(ModelFileError) as caught:
        read_description(path)
    assert caught.type is (PhysicalConsistencyError if name == "mass_negative" else ModelFileError)
    assert (caught.value.path, caught.value.line) == (str(path), line)
    assert fragment in str(caught.value)


@pytest.mark.parametrize(
    ("data", "line", "fragment"),
    [
        (b"", None, "is not a DH file"),
        (b"# a comment\nname = '\xff'\n", 2, "is not UTF-8"),
        (b"# " + b"x" * 1_000_000, None, "1.0 MB of TOML; at most 1 MB"),
        (b"\n\na = " + b"9" * 5000, 3, "has an integer of absurd length"),
        (b"a = 0x" + b"f" * 5000, 1, "a: this integer is not a finite number"),
        (b"a = 1e999", 1, "a: inf is not a finite number"),
        (b"\na = " + b"[" * 100_000, 2, "is nested more than 32 levels deep"),
        (b"a = " + b"{a = " * 100_000, 1, "is nested more than 32 levels deep"),
        (b"a" + b".a" * 400_000 + b" = 1", 1, "is nested more than 32 levels deep"),
        (b"[" + b"a." * 400_000 + b"a]", 1, "is nested more than 32 levels deep"),
        (b"a = " + (b"{" + b".".join([b"a"] * 20) + b" = ") * 20, 1, "is nested more than 32 levels deep"),
        (b'a = """' + b'\\"""\n' * 50_000, None, "is not valid TOML"),
        (b"[[joint]]\n" * 3000, None, "is not a DH file"),
        (b'schema = "counterpoise/dh-1"\nname = "x"\nconvention = "standard"\n' + b"[[joint]]\n" * 3000, 4, "joint"),
        (b"\x00", 1, "is not valid TOML"),
    ],
    ids=lambda value: repr(value[:12]) if isinstance(value, bytes) else None,
)
def test_hostile_bytes_are_refused_quickly(data: bytes, line: int | None, fragment: str) -> None:
    """Size, depth, length of keys and numbers are bounded before they cost time or memory."""
    with pytest.raises(ModelFileError) as caught:
        parse_dh(data)
    assert fragment in str(caught.value)
    if line is not None:
        assert caught.value.line == line


def test_an_absent_file_is_ours_too(tmp_path: Path) -> None:
    """A path that does not exist raises ModelFileError."""
    with pytest.raises(ModelFileError, match="no such file"):
        read_description(tmp_path / "nowhere.toml")


def _bundled(name: str) -> bytes:
    return (files("counterpoise.description.bundled") / f"{name}.toml").read_bytes()


SNIPPETS = st.sampled_from(
    [
        *(b"", b"-", b"nan", b"inf", b"1e308", b"-1e9", b"true", b"[", b"]", b"{", b"}", b'"', b'"""', b"'", b"#"),
        *(b"=", b".", b",", b"\n", b"[[joint]]\n", b"[joint.link]\n", b"pi", b"all", b"\xff", b"\x00", b"0x1f"),
        b"1979-05-27",
    ]
)
EDITS = st.lists(st.tuples(st.integers(0, 4000), st.integers(0, 12), SNIPPETS | st.binary(max_size=3)), max_size=4)


@given(name=st.sampled_from(["wam4", "puma560", "gantry", "scara"]), edits=EDITS)
@settings(max_examples=150)
def test_mutated_files_give_a_description_or_our_error(name: str, edits: list[tuple[int, int, bytes]]) -> None:
    """Random byte edits never raise anything but our exceptions, nor a numeric warning."""
    data = _bundled(name)
    for position, removed, inserted in edits:
        start = position % (len(data) + 1)
        data = data[:start] + inserted + data[start + removed :]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            result = parse_dh(data, "mutated.toml")
        except CounterpoiseError as error:
            assert str(error).startswith("mutated.toml")
        else:
            assert isinstance(result, Description)


NUMBERS = st.floats(allow_nan=True, allow_infinity=True) | st.integers(-(10**12), 10**12)


@given(key=st.sampled_from(["a", "alpha", "d", "theta", "lower", "mass", "effort", "rotor_inertia"]), number=NUMBERS)
@settings(max_examples=150)
def test_any_number_anywhere_gives_a_description_or_our_error(key: str, number: float) -> None:
    """Extreme numbers are refused or harmless: no overflow, no numeric warning."""
    lines = _bundled("wam4").decode().splitlines()
    index = next(i for i, line in enumerate(lines) if line.startswith(f"{key} = "))
    lines[index] = f"{key} = {number!r}"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            result = parse_dh("\n".join(lines).encode())
        except ModelFileError as error:
            assert error.line is not None
        else:
            assert isinstance(result, Description)
