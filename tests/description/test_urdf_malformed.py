"""Every faulty URDF is refused with its line, every doubtful one loads with its warning, and no mass ever changes."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path
from typing import Any
from xml.dom import expatbuilder

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counterpoise.description.model import Description
from counterpoise.description.reading import read_description
from counterpoise.description.urdf import parse_urdf
from counterpoise.errors import CounterpoiseError, ModelFileError, PhysicalConsistencyError, UnsupportedJointError

CORPUS = Path(__file__).parent / "malformed_urdf"

NOT_A_NUMBER = "expected a plain decimal number"
BAD_XML = "is not well-formed XML"

REFUSED: dict[str, tuple[type[ModelFileError], int | None, str]] = {
    # numbers
    "mass_absurd": (PhysicalConsistencyError, 4, "mass 1000000000.0 kg"),
    "mass_arabic_digits": (ModelFileError, 7, NOT_A_NUMBER),
    "mass_comma": (ModelFileError, 7, "link 'upper': mass value is '1,5'"),
    "mass_empty": (ModelFileError, 7, "mass value is ''"),
    "mass_expression": (ModelFileError, 7, "mass value is '${m}'"),
    "mass_hexadecimal": (ModelFileError, 7, "mass value is '0x10'"),
    "mass_infinite": (ModelFileError, 7, "mass value is 'inf'"),
    "mass_nan": (ModelFileError, 7, "mass value is 'nan'"),
    "mass_negative": (PhysicalConsistencyError, 4, "mass -2.0 kg"),
    "mass_not_a_number": (ModelFileError, 7, "mass value is 'abc'"),
    "mass_overflow": (ModelFileError, 7, "beyond the range"),
    "mass_two_numbers": (ModelFileError, 7, "mass value is '2.0 3.0'"),
    "mass_underscore": (ModelFileError, 7, "mass value is '1_000'"),
    "mass_with_unit": (ModelFileError, 7, "mass value is '2.0kg'"),
    "inertia_absurd": (PhysicalConsistencyError, 4, "within ±1e+07"),
    "inertia_not_a_number": (ModelFileError, 8, "inertia ixx is '0.O2'"),
    "inertia_overflows_when_turned": (PhysicalConsistencyError, 4, "within ±1e+07"),
    "com_too_far": (PhysicalConsistencyError, 4, "centre of mass"),
    "origin_commas": (ModelFileError, 14, "origin xyz entry is '0,'"),
    "origin_four_numbers": (ModelFileError, 14, "holds 4 entries; expected 3"),
    "origin_too_far": (ModelFileError, 11, "origin is not finite or lies beyond"),
    "origin_two_numbers": (ModelFileError, 14, "holds 2 entries; expected 3"),
    "axis_not_a_number": (ModelFileError, 15, "axis xyz entry is 'y'"),
    "zero_axis": (ModelFileError, 15, "expected a direction, not zero"),
    "limit_not_a_number": (ModelFileError, 16, "limit effort is '40Nm'"),
    "limits_reversed": (ModelFileError, 11, "must not exceed upper limit"),
    "effort_negative": (ModelFileError, 11, "effort limit -40.0"),
    "velocity_infinite": (ModelFileError, 16, "limit velocity is 'inf'"),
    "mimic_absurd": (ModelFileError, 24, "mimic multiplier 1e+300"),
    "mimic_not_a_number": (ModelFileError, 29, "mimic multiplier is '1/2'"),
    # missing
    "mass_missing": (ModelFileError, 5, "has no <mass>"),
    "mass_without_value": (ModelFileError, 7, "<mass> has no attribute 'value'"),
    "inertia_entry_missing": (ModelFileError, 8, "<inertia> has no attribute 'iyz'"),
    "axis_without_xyz": (ModelFileError, 15, "<axis> has no attribute 'xyz'"),
    "joint_without_name": (ModelFileError, 11, "a <joint> has no name"),
    "joint_without_type": (ModelFileError, 11, "no attribute 'type'"),
    "link_name_empty": (ModelFileError, 3, "a <link> has no name"),
    "link_without_name": (ModelFileError, 3, "a <link> has no name"),
    "mimic_without_joint": (ModelFileError, 29, "<mimic> has no attribute 'joint'"),
    "missing_child": (ModelFileError, 11, "has no <child>"),
    "missing_parent": (ModelFileError, 11, "has no <parent>"),
    "no_links": (ModelFileError, None, "no link"),
    "parent_without_link": (ModelFileError, 12, "<parent> has the unknown attribute 'name'"),
    "robot_without_name": (ModelFileError, 2, "<robot> has no name"),
    # misspelt
    "axis_attribute_misspelt": (ModelFileError, 15, "unknown attribute 'xyx'; it takes xyz"),
    "inertia_attribute_misspelt": (ModelFileError, 8, "unknown attribute 'izx'"),
    "limit_attribute_misspelt": (ModelFileError, 16, "unknown attribute 'uper'"),
    "mass_extra_attribute": (ModelFileError, 7, "unknown attribute 'unit'"),
    "mass_value_misspelt": (ModelFileError, 7, "unknown attribute 'vaule'"),
    "mimic_attribute_misspelt": (ModelFileError, 29, "unknown attribute 'multiplyer'"),
    "origin_attribute_misspelt": (ModelFileError, 14, "unknown attribute 'xzy'"),
    "origin_quaternion": (ModelFileError, 14, "unknown attribute 'quat_xyzw'"),
    "misspelt_axis": (ModelFileError, 15, "<axes> is not URDF; did you mean <axis>?"),
    "misspelt_child": (ModelFileError, 13, "did you mean <child>?"),
    "misspelt_inertia": (ModelFileError, 8, "did you mean <inertia>?"),
    "misspelt_inertial_capital": (ModelFileError, 5, "did you mean <inertial>?"),
    "misspelt_inertial_inertail": (ModelFileError, 5, "did you mean <inertial>?"),
    "misspelt_inertial_inertal": (ModelFileError, 5, "did you mean <inertial>?"),
    "misspelt_inertial_origin": (ModelFileError, 6, "did you mean <origin>?"),
    "misspelt_joint": (ModelFileError, 11, "did you mean <joint>?"),
    "misspelt_limit": (ModelFileError, 16, "did you mean <limit>?"),
    "misspelt_link": (ModelFileError, 3, "did you mean <link>?"),
    "misspelt_mass": (ModelFileError, 7, "did you mean <mass>?"),
    "misspelt_mimic": (ModelFileError, 29, "did you mean <mimic>?"),
    "misspelt_origin": (ModelFileError, 14, "did you mean <origin>?"),
    "misspelt_parent": (ModelFileError, 12, "did you mean <parent>?"),
    # misplaced
    "inertial_in_joint": (ModelFileError, 15, "<inertial> does not belong directly in <joint>"),
    "inertial_in_visual": (ModelFileError, 6, "link 'upper': <inertial> is not where URDF reads it"),
    "joint_in_link": (ModelFileError, 12, "<joint> does not belong directly in <link>"),
    "link_in_link": (ModelFileError, 5, "<link> does not belong directly in <link>"),
    "link_in_wrapper": (ModelFileError, 20, "<inertial> is not where URDF reads it"),
    "mass_in_visual": (ModelFileError, 6, "<mass> is not where URDF reads it"),
    "mass_not_closed": (ModelFileError, 7, "<mass> holds a <inertia>"),
    "mass_outside_inertial": (ModelFileError, 5, "<mass> does not belong directly in <link>"),
    "origin_beside_inertial": (ModelFileError, 5, "move it inside"),
    "origin_in_robot": (ModelFileError, 3, "<origin> does not belong directly in <robot>"),
    # repeated
    "two_axes": (ModelFileError, 16, "a second <axis> in <joint> (the first is on line 15)"),
    "second_origin_turns_stand": (ModelFileError, 23, "a second <origin> in <joint>"),
    "second_origin_of_moving_joint": (ModelFileError, 15, "a second <origin> in <joint>"),
    "second_origin_after_moving_joint": (ModelFileError, 23, "a second <origin> in <joint>"),
    "third_origin": (ModelFileError, 24, "a second <origin> in <joint>"),
    "two_inertial_origins": (ModelFileError, 7, "a second <origin>"),
    "two_inertials": (ModelFileError, 10, "a second <inertial>"),
    "two_inertias": (ModelFileError, 9, "a second <inertia> "),
    "two_limits": (ModelFileError, 17, "a second <limit>"),
    "two_masses": (ModelFileError, 8, "a second <mass>"),
    "two_parents": (ModelFileError, 13, "a second <parent>"),
    # the tree
    "child_twice": (ModelFileError, 24, "child of two joints"),
    "child_unknown": (ModelFileError, 11, "child link 'uper', which is not defined"),
    "cycle": (ModelFileError, 11, "cycle"),
    "cycle_without_root": (ModelFileError, 10, "cycle"),
    "duplicate_joint": (ModelFileError, 24, "joint name 'shoulder' is used 2 times"),
    "duplicate_link": (ModelFileError, 18, "link name 'upper' is used 2 times"),
    "own_parent": (ModelFileError, 11, "cycle"),
    "parent_unknown": (ModelFileError, 11, "parent link 'bse', which is not defined"),
    "two_roots": (ModelFileError, 4, "2 links have no parent joint: 'base', 'island'"),
    # joints
    "floating_joint": (UnsupportedJointError, 11, "type 'floating'; supported are"),
    "joint_type_capital": (UnsupportedJointError, 11, "did you mean 'revolute'?"),
    "joint_type_misspelt": (UnsupportedJointError, 11, "did you mean 'revolute'?"),
    "planar_joint": (UnsupportedJointError, 11, "type 'planar'"),
    "spherical_joint": (UnsupportedJointError, 11, "type 'spherical'"),
    "mimic_circle": (ModelFileError, 11, "mimics in a circle"),
    "mimic_fixed_master": (ModelFileError, 24, "'shoulder', which is not a moving joint"),
    "mimic_missing": (ModelFileError, 24, "'sholder', which is not a moving joint"),
    "mimic_self": (ModelFileError, 24, "mimics in a circle through 'elbow'"),
    # XML
    "ampersand_in_name": (ModelFileError, 4, BAD_XML),
    "attribute_twice": (ModelFileError, 7, "duplicate attribute"),
    "control_character": (ModelFileError, 2, BAD_XML),
    "doctype": (ModelFileError, 2, "has a DOCTYPE"),
    "empty": (ModelFileError, 1, "no element found"),
    "entity_bomb": (ModelFileError, 2, "has a DOCTYPE"),
    "external_entity": (ModelFileError, 2, "has a DOCTYPE"),
    "invalid_utf8": (ModelFileError, 2, BAD_XML),
    "mismatched_tags": (ModelFileError, 9, "mismatched tag"),
    "multibyte_encoding": (ModelFileError, None, "cannot be decoded"),
    "nested_too_deep": (ModelFileError, 3, "nested deeper than 128 levels"),
    "not_xml": (ModelFileError, 1, BAD_XML),
    "nul_byte": (ModelFileError, 2, BAD_XML),
    "only_whitespace": (ModelFileError, 4, "no element found"),
    "truncated": (ModelFileError, 13, "unclosed token"),
    "truncated_between_tags": (ModelFileError, 11, "no element found"),
    "two_documents": (ModelFileError, 19, "junk after document element"),
    "undefined_entity": (ModelFileError, 7, "undefined entity"),
    "unknown_encoding": (ModelFileError, None, "unknown encoding"),
    "unquoted_attribute": (ModelFileError, 7, BAD_XML),
    "utf16_declared_ascii": (ModelFileError, 1, "encoding"),
    "utf16_truncated": (ModelFileError, 8, BAD_XML),
    "wrong_root": (ModelFileError, 2, "<mujoco>, expected <robot>; this looks like MJCF"),
    "wrong_root_sdf": (ModelFileError, 2, "this looks like SDF"),
    "xacro_not_expanded": (ModelFileError, 3, "<xacro:property> is xacro"),
}

DOUBTFUL: dict[str, tuple[int | None, str]] = {
    "suspicious_identical_inertials": (None, "3 links ('upper', 'pad1', 'pad2') have identical inertials"),
    "suspicious_identity_inertia": (4, "diag(1, 1, 1) kg m², a placeholder"),
    "suspicious_limit_in_degrees": (16, "limits -170 to 170 rad, more than two turns: degrees?"),
    "suspicious_limit_without_range": (11, "equal limits and cannot move"),
    "suspicious_maker_limits": (16, "unknown attribute 'peak_effort'"),
    "suspicious_mass_without_inertia": (5, "has a mass but no <inertia>"),
    "suspicious_mimic_on_fixed": (29, "its <mimic> of 'shoulder' has no effect"),
    "suspicious_missing_limit": (11, "is revolute and has no <limit>"),
    "suspicious_missing_limit_prismatic": (11, "is prismatic and has no <limit>"),
    "suspicious_negative_moment": (4, "are not all positive"),
    "suspicious_no_inertial": (4, "moves with joint 'shoulder' but has no mass"),
    "suspicious_origin_in_link": (5, "<origin> directly in <link> means nothing"),
    "suspicious_origin_of_zeros_in_robot": (18, "<origin> of zeros directly in <robot> means nothing"),
    "suspicious_origin_twice_the_same": (15, "stands twice in <joint> and says the same"),
    "suspicious_second_origin_of_stand": (23, "a second <origin>, which is ignored"),
    "suspicious_rpy_in_degrees": (14, "more than two turns: degrees?"),
    "suspicious_triangle_inequality": (4, "break the triangle inequality"),
    "suspicious_unknown_in_inertial": (8, "<density> in <inertial> is not URDF"),
    "suspicious_unknown_in_joint": (15, "<gearbox> in <joint> is not URDF"),
    "suspicious_zero_effort": (11, "effort or velocity limit of 0"),
    "suspicious_zero_mass": (4, "moves with joint 'shoulder' but has no mass"),
}

FINE = ("intact", "utf8_bom", "utf16_bom", "crlf", "latin1", "zero_axis_on_fixed", "extensions")


def test_every_file_of_the_corpus_is_in_a_table() -> None:
    """A file that no table names would never be read."""
    named = {*REFUSED, *DOUBTFUL, *(f"fine_{name}" for name in FINE)}
    assert {file.stem for file in CORPUS.glob("*.urdf")} == named


@pytest.mark.parametrize("name", REFUSED)
def test_faulty_file_is_refused_with_its_line(name: str) -> None:
    """The exception has the right class, the file, the line and says what is wrong."""
    expected, line, fragment = REFUSED[name]
    path = CORPUS / f"{name}.urdf"
    with pytest.raises(CounterpoiseError) as caught:
        read_description(path)
    error = caught.value
    assert type(error) is expected
    assert isinstance(error, ModelFileError)
    assert (error.path, error.line) == (str(path), line)
    assert fragment in str(error)
    assert str(error).startswith(str(path) if line is None else f"{path}:{line}: ")
    assert len(str(error)) < len(str(path)) + 400


@pytest.mark.parametrize("name", DOUBTFUL)
def test_doubtful_file_loads_with_one_warning(name: str) -> None:
    """The warning names the file and line, and nothing else is doubted."""
    line, fragment = DOUBTFUL[name]
    path = CORPUS / f"{name}.urdf"
    (warning,) = read_description(path).warnings
    assert warning.startswith(f"{path}: " if line is None else f"{path}:{line}: ")
    assert fragment in warning


@pytest.mark.parametrize("name", FINE)
def test_unusual_but_valid_file_loads_without_warning(name: str) -> None:
    """Byte-order marks, encodings, line ends and foreign elements are no faults."""
    description = read_description(CORPUS / f"fine_{name}.urdf")
    assert description.warnings == ()
    assert {link.name: link.inertia.mass for link in description.links if link.inertia is not None} == {"upper": 2.0}


@pytest.mark.parametrize(
    "tag", ["link", "joint", "inertial", "mass", "inertia", "origin", "parent", "child", "axis", "limit", "mimic"]
)
def test_no_slip_of_one_letter_is_ignored(tag: str) -> None:
    """A letter dropped, doubled, replaced, exchanged with its neighbour or written as a capital is always refused."""
    text = (CORPUS / "misspelt_mimic.urdf").read_text().replace("mimick", "mimic")
    assert parse_urdf(text.encode()).warnings == ()
    slips = set()
    for at in range(len(tag)):
        head, letter, tail = tag[:at], tag[at], tag[at + 1 :]
        slips |= {head + tail, head + letter + letter + tail, head + "q" + tail, head + letter.upper() + tail}
        slips |= {head + tail[:1] + letter + tail[1:]}
    for slip in slips - {tag}:
        with pytest.raises(ModelFileError):
            parse_urdf(re.sub(rf"(?<=[</]){tag}\b", slip, text).encode())


# --- mutations -------------------------------------------------------------------------------------------------------

SEEDS = tuple(
    (CORPUS / f"{name}.urdf").read_bytes()
    for name in ("fine_intact", "suspicious_mimic_on_fixed", "suspicious_identical_inertials")
)
NASTY_VALUES = (
    *("", " ", "nan", "inf", "-inf", "1e999", "-1", "0", "1,5", "1_000", "0x1", "٢", "1e-320", "1e308", "-0.0", "+3."),
    *("0 0", "0 0 0", "0 0 0 0", "1 2 3", "1e300 1e300 1e300", "nan 0 0", "base", "upper", "fore", "fixed", "floating"),
    *("prismatic", "continuous", "shoulder", "a" * 300, "&amp;", "${x}", "1\t2\t3", "1\u00a02 3", "2.5"),
)
EDIT_BYTES = b"<>/=\"' \n&;!-[]?:.,0123456789eE+axyzmis\x00\xff\xc3"


@st.composite
def edited_bytes(draw: st.DrawFn) -> bytes:
    """A valid file with one to four bytes or short runs replaced, inserted, removed or repeated."""
    data = bytearray(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data) - 1))
        width = draw(st.integers(0, 12))
        new = bytes(draw(st.lists(st.sampled_from(EDIT_BYTES), max_size=4)))
        data[at : at + width] = new if draw(st.booleans()) else bytes(data[at : at + width]) * 2
    return bytes(data)


@st.composite
def swapped_values(draw: st.DrawFn) -> bytes:
    """A valid file with one to three attribute values replaced by nasty ones."""
    text = draw(st.sampled_from(SEEDS)).decode()
    for _ in range(draw(st.integers(1, 3))):
        values = list(re.finditer(r'(?<=\w=")[^"]*', text))
        chosen = draw(st.sampled_from(values))
        text = text[: chosen.start()] + draw(st.sampled_from(NASTY_VALUES)) + text[chosen.end() :]
    return text.encode()


@st.composite
def reshaped_trees(draw: st.DrawFn) -> bytes:
    """A valid file with elements deleted, repeated, renamed by a letter or moved into one another."""
    root = ElementTree.fromstring(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(1, 3))):
        parents = [element for element in root.iter() if len(element)]
        parent = draw(st.sampled_from(parents))
        child = draw(st.sampled_from(list(parent)))
        match draw(st.sampled_from(("delete", "repeat", "rename", "move", "rename attribute"))):
            case "delete":
                parent.remove(child)
            case "repeat":
                parent.append(child)
            case "rename":
                at = draw(st.integers(0, len(child.tag) - 1))
                child.tag = child.tag[:at] + draw(st.sampled_from(("", "a", "t", "Z"))) + child.tag[at + 1 :] or "x"
            case "rename attribute" if child.attrib:
                old = draw(st.sampled_from(sorted(child.attrib)))
                child.attrib[old + draw(st.sampled_from("sxz"))] = child.attrib.pop(old)
            case "move":
                home = draw(st.sampled_from([element for element in root.iter() if element not in child.iter()]))
                parent.remove(child)
                home.append(child)
        if not len(root):
            break
    return ElementTree.tostring(root)


def masses_in_text(data: bytes) -> tuple[Counter[float], dict[str, float]]:
    """All masses anywhere in the document, and those by link, read with other means than ours."""
    document = expatbuilder.parseString(data, namespaces=False)  # ElementTree would refuse an undeclared prefix
    everywhere: Counter[float] = Counter()
    by_link: dict[str, float] = {}
    for mass in document.getElementsByTagName("mass"):
        value = float(mass.getAttribute("value"))
        link: Any = mass.parentNode.parentNode  # type: ignore[union-attr]
        everywhere[value] += 1
        by_link[link.getAttribute("name")] = value
    return everywhere, by_link


def assert_sound(data: bytes) -> None:
    """The text is refused by one of our errors, or every mass that stands in it is in the description."""
    try:
        description = parse_urdf(data)
    except CounterpoiseError:
        return
    everywhere, by_link = masses_in_text(data)
    masses = masses_of(description)
    assert masses == by_link
    assert Counter(masses.values()) == everywhere


def masses_of(description: Description) -> dict[str, float]:
    """Masses by link, for links that have an inertia."""
    return {link.name: link.inertia.mass for link in description.links if link.inertia is not None}


FAST = settings(max_examples=300)


@FAST
@given(edited_bytes())
def test_byte_edits_never_change_a_mass_silently(data: bytes) -> None:
    """Random damage to the bytes gives a description with the masses of the text, or one of our errors."""
    assert_sound(data)


@FAST
@given(swapped_values())
def test_nasty_values_never_change_a_mass_silently(data: bytes) -> None:
    """Nasty attribute values give a description with the masses of the text, or one of our errors."""
    assert_sound(data)


@FAST
@given(reshaped_trees())
def test_reshaped_elements_never_change_a_mass_silently(data: bytes) -> None:
    """Deleted, repeated, renamed and moved elements never lose a mass: they are read or refused."""
    assert_sound(data)


@FAST
@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_refused_with_our_errors(data: bytes) -> None:
    """Noise is no robot."""
    with pytest.raises(ModelFileError):
        parse_urdf(data)


def test_mutations_are_not_all_refused() -> None:
    """The property above would be empty if no mutated file loaded: a changed mass and a changed name must load."""
    heavier = SEEDS[0].replace(b'value="2.0"', b'value="2.5"').replace(b'"upper"', b'"arm"')
    assert masses_of(parse_urdf(heavier)) == {"arm": 2.5} == masses_in_text(heavier)[1]
