"""Every faulty MJCF is refused with its line, every doubtful one loads with its warning, and no mass ever changes."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any
from xml.dom import expatbuilder

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counterpoise.description.mjcf import parse_mjcf
from counterpoise.description.model import Description
from counterpoise.description.reading import read_description
from counterpoise.errors import CounterpoiseError, ModelFileError, PhysicalConsistencyError, UnsupportedJointError

pytest.importorskip("mujoco", reason="the MJCF reader needs MuJoCo")

CORPUS = Path(__file__).parent / "malformed_mjcf"

NOT_FINITE = "holds a number that is not finite"
MESH_MISSING = "inertia of body 'fore' cannot be inferred: mesh 'm' is missing"
TOO_MANY = "5000 copies by <replicate>"

REFUSED: dict[str, tuple[type[ModelFileError], int | None, str]] = {
    # numbers
    "mass_absurd": (PhysicalConsistencyError, 5, "mass 1000000000.0 kg"),
    "mass_comma": (ModelFileError, 7, "'mass'"),
    "mass_empty": (ModelFileError, 7, "mass is empty"),
    "mass_infinite": (ModelFileError, 7, NOT_FINITE),
    "mass_missing": (ModelFileError, 7, "'mass'"),
    "mass_nan": (ModelFileError, 7, NOT_FINITE),
    "mass_negative": (PhysicalConsistencyError, 5, "mass -2.0 kg"),
    "mass_overflow": (ModelFileError, 7, "'mass'"),
    "mass_text": (ModelFileError, 7, "'mass'"),
    "mass_two_numbers": (ModelFileError, 7, "'mass'"),
    "inertia_absurd": (PhysicalConsistencyError, 5, "within ±1e+07"),
    "inertia_full_and_diagonal": (ModelFileError, 5, "states both diaginertia and fullinertia"),
    "inertia_two_numbers": (ModelFileError, 7, "'diaginertia'"),
    "com_too_far": (PhysicalConsistencyError, 5, "centre of mass"),
    "geom_density_negative": (PhysicalConsistencyError, 10, "negative mass or density -1.0"),
    "geom_mass_negative": (PhysicalConsistencyError, 10, "negative mass or density -1.0"),
    "geom_size_overflows": (PhysicalConsistencyError, 8, "mass inf kg"),
    "geom_without_size": (ModelFileError, 10, "size"),
    "axis_nan": (ModelFileError, 6, NOT_FINITE),
    "axis_zero": (ModelFileError, 6, "axis too small"),
    "range_equal": (ModelFileError, 6, "range[0] should be smaller than range[1]"),
    "range_nan": (ModelFileError, 6, NOT_FINITE),
    "range_reversed": (ModelFileError, 6, "range[0] should be smaller than range[1]"),
    "position_empty": (ModelFileError, 5, "pos is empty"),
    "position_nan": (ModelFileError, 5, NOT_FINITE),
    "position_too_far": (ModelFileError, 6, "its origin is not finite or lies beyond"),
    "quaternion_zero": (ModelFileError, 5, "zero quaternion"),
    "two_orientations": (ModelFileError, 5, "multiple orientation"),
    "armature_negative": (ModelFileError, 6, "rotor inertia -1.0"),
    "settotalmass_text": (ModelFileError, 2, "settotalmass='heavy' is not a mass"),
    "gravity_absurd": (ModelFileError, None, "gravity [0.0, 0.0, -1e+300]"),
    # joints
    "joint_ball": (UnsupportedJointError, 6, "'shoulder' is a ball joint"),
    "joint_free": (UnsupportedJointError, 6, "'shoulder' is a free joint"),
    "joint_freejoint": (UnsupportedJointError, 6, "'shoulder' is a free joint"),
    "joint_in_world": (ModelFileError, 5, "joint"),
    "joint_type_unknown": (ModelFileError, 9, "'hinged'"),
    "too_many_joints": (ModelFileError, 8, "more than 6 dofs"),
    # names
    "attribute_unknown": (ModelFileError, 8, "'colour'"),
    "angle_unknown": (ModelFileError, 2, "'gradian'"),
    "body_named_world": (ModelFileError, 8, "repeated name 'world'"),
    "class_unknown": (ModelFileError, 9, "'motorised'"),
    "coordinate_global": (ModelFileError, 2, "global coordinates"),
    "duplicate_body": (ModelFileError, 8, "repeated name 'upper'"),
    "duplicate_joint": (ModelFileError, 9, "repeated name 'shoulder'"),
    "element_unknown": (ModelFileError, 10, "'shape'"),
    "geom_type_unknown": (ModelFileError, 10, "'boxx'"),
    "gravity_misspelt": (ModelFileError, 3, "'gravty'"),
    "inertial_misspelt": (ModelFileError, 7, "'inertal'"),
    "inertial_twice": (ModelFileError, 5, "'inertial' found 2 times"),
    "body_in_site": (ModelFileError, 9, "<body> does not belong in <site>"),
    "body_outside_world": (ModelFileError, 14, "<body> stands outside <worldbody>"),
    "inertial_in_asset": (ModelFileError, 5, "'inertial'"),
    "inertial_in_contact": (ModelFileError, 15, "<inertial> does not belong in <contact>"),
    "section_misspelt": (ModelFileError, 4, "'worldbdy'"),
    # outside our scope
    "attach": (ModelFileError, 10, "<attach> attaches another model"),
    "composite": (ModelFileError, 10, "soft body"),
    "flexcomp": (ModelFileError, 10, "soft body"),
    "no_body": (ModelFileError, 1, "defines no body"),
    # what would keep MuJoCo busy or fill the memory
    "mesh_generated_for_minutes": (ModelFileError, 5, "at most 1000 is accepted"),
    "nested_too_deep": (ModelFileError, 3, "nested deeper than 128 levels"),
    "replicate_bomb": (ModelFileError, 10, TOO_MANY),
    "replicate_count_zero": (ModelFileError, 10, "replicate count '0'; expected a whole number from 1"),
    "replicate_count_text": (ModelFileError, 10, "replicate count 'many'"),
    "replicate_nested_bomb": (ModelFileError, 10, TOO_MANY),
    # files
    "mesh_a_directory": (ModelFileError, 13, MESH_MISSING),
    "mesh_by_plugin": (ModelFileError, 13, MESH_MISSING),
    "mesh_flat": (ModelFileError, 5, "coplanar"),
    "mesh_missing": (ModelFileError, 13, MESH_MISSING),
    "mesh_not_defined": (ModelFileError, 10, MESH_MISSING),
    "include_capital_itself": (ModelFileError, 10, "includes itself"),
    "include_itself": (ModelFileError, 10, "includes itself"),
    "include_missing_in_body": (ModelFileError, 10, "included file 'nowhere.xml' is missing"),
    "include_missing_in_default": (ModelFileError, 5, "included file 'nowhere.xml' is missing"),
    "include_without_file": (ModelFileError, 10, "has no file attribute"),
    # XML
    "doctype": (ModelFileError, 1, "has a DOCTYPE"),
    "empty": (ModelFileError, 1, "no element found"),
    "not_xml": (ModelFileError, 1, "is not well-formed XML"),
    "root_capital": (ModelFileError, 1, "<MuJoCo>; an MJCF file starts with <mujoco>"),
    "truncated": (ModelFileError, 9, "is not well-formed XML"),
    "wrong_root": (ModelFileError, 1, "<robot>; an MJCF file starts with <mujoco>"),
}

DOUBTFUL: dict[str, tuple[int | None, str]] = {
    "doubtful_balanceinertia": (None, "balanceinertia replaces inertias"),
    "doubtful_boundinertia": (None, "boundinertia raises every principal moment to at least 0.001 kg m²"),
    "doubtful_boundmass": (8, "body 'fore' weighs less than the compiler setting boundmass, which makes it 1.5 kg"),
    "doubtful_connect_equality": (15, "a constraint holds 'fore', 'world'"),
    "doubtful_gravcomp": (None, "gravcomp hides the weight of 'fore'"),
    "doubtful_gravity": (None, "gravity is [0.0, 0.0, -1.62] m/s²"),
    "doubtful_gravity_off": (None, "gravity is switched off"),
    "doubtful_include_missing": (4, "included file 'nowhere.xml' is missing: whatever it defines is absent"),
    "doubtful_inertiafromgeom": (5, "states 2 kg, which the compiler setting inertiafromgeom ignores"),
    "doubtful_joint_equality": (15, "joints 'elbow' and 'shoulder' are coupled"),
    "doubtful_massless_by_geom": (8, "link 'fore' moves with joint 'elbow' but has no mass"),
    "doubtful_massless_by_inertial": (5, "link 'upper' moves with joint 'shoulder' but has no mass"),
    "doubtful_massless_by_nothing": (8, "link 'fore' moves with joint 'elbow' but has no mass"),
    "doubtful_moment_negative": (5, "are not all positive"),
    "doubtful_settotalmass": (None, "all bodies together weigh 1 kg"),
    "doubtful_spring": (None, "springs act on 'shoulder'"),
    "doubtful_triangle": (5, "break the triangle inequality"),
    "doubtful_triangle_full": (5, "break the triangle inequality"),
}

FINE = ("fine_infinite_range", "fine_intact", "fine_useless_parts_broken")


def test_every_file_of_the_corpus_is_in_a_table() -> None:
    """A file that no table names would never be read."""
    assert {file.stem for file in CORPUS.glob("*.xml")} == {*REFUSED, *DOUBTFUL, *FINE}


@pytest.mark.parametrize("name", REFUSED)
def test_faulty_file_is_refused_with_its_line(name: str) -> None:
    """The exception has the right class, the file, the line and says what is wrong."""
    expected, line, fragment = REFUSED[name]
    path = CORPUS / f"{name}.xml"
    with pytest.raises(CounterpoiseError) as caught:
        parse_mjcf(path.read_bytes(), str(path))  # read_description would take <robot> for URDF
    error = caught.value
    assert type(error) is expected
    assert isinstance(error, ModelFileError)
    assert (error.path, error.line) == (str(path), line)
    assert fragment in str(error)
    assert len(str(error)) < len(str(path)) + 400


@pytest.mark.parametrize("name", DOUBTFUL)
def test_doubtful_file_loads_with_one_warning(name: str) -> None:
    """The warning names the file and line, and nothing else is doubted."""
    line, fragment = DOUBTFUL[name]
    path = CORPUS / f"{name}.xml"
    (warning,) = read_description(path).warnings
    assert warning.startswith(f"{path}: " if line is None else f"{path}:{line}: ")
    assert fragment in warning


@pytest.mark.parametrize("name", FINE)
def test_unusual_but_valid_file_loads_without_warning(name: str) -> None:
    """Faults in parts that neither weigh nor move are no faults of the arm."""
    description = read_description(CORPUS / f"{name}.xml")
    assert description.warnings == ()
    assert masses_of(description) == {"upper": 2.0, "fore": pytest.approx(2.0)}


# --- mutations --------------------------------------------------------------------------------------------------------

RICH = b"""<mujoco model="rich">
  <compiler angle="radian" autolimits="true" inertiagrouprange="0 3"/>
  <option gravity="0 0 -9.81" timestep="0.002"><flag contact="disable"/></option>
  <default>
    <geom density="500"/>
    <joint armature="0.1" damping="1"/>
    <default class="visual"><geom density="0" group="4" contype="0"/></default>
    <default class="strong"><motor forcerange="-10 10" gear="2"/></default>
  </default>
  <asset>
    <mesh name="wedge" vertex="0 0 0 1 0 0 0 1 0 0 0 1" scale="0.1 0.1 0.1"/>
    <mesh name="hull" file="hull.stl"/>
  </asset>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <body name="base" pos="0 0 0.1">
      <geom type="box" size="0.1 0.1 0.1"/>
      <body name="upper" pos="0 0 0.2" quat="0.7 0.7 0 0">
        <joint name="j1" axis="0 0 1" range="-1 1" ref="0.2" pos="0 0 0.01"/>
        <inertial pos="0 0 0.1" mass="2" diaginertia="0.1 0.1 0.1" euler="0.1 0.2 0.3"/>
        <geom type="capsule" fromto="0 0 0 0 0 0.2" size="0.05"/>
        <geom type="mesh" mesh="hull"/>
        <frame pos="0 0 0.1" euler="0 0.2 0">
          <body name="wrist" pos="0 0 0.3">
            <joint name="j2" type="slide" axis="0 1 0" actuatorfrcrange="-3 3"/>
            <joint name="j3" axis="1 0 0"/>
            <geom type="mesh" mesh="wedge"/>
            <geom class="visual" type="sphere" size="0.1"/>
            <body name="hand">
              <inertial pos="0 0 0.1" mass="1.25" fullinertia="0.1 0.1 0.1 0.01 0 0"/>
              <replicate count="2" offset="0.1 0 0">
                <body name="finger" pos="0.1 0 0">
                  <joint name="knuckle" type="slide"/>
                  <inertial pos="0 0 0" mass="0.5" diaginertia="0.001 0.001 0.001"/>
                </body>
              </replicate>
            </body>
          </body>
        </frame>
      </body>
    </body>
  </worldbody>
  <equality><joint joint1="j1" joint2="j2" polycoef="0 1 0 0 0"/></equality>
  <actuator><motor class="strong" joint="j1"/><position joint="j2" kp="3" forcerange="-2 5"/></actuator>
</mujoco>
"""
SEEDS = (RICH, *((CORPUS / f"{name}.xml").read_bytes() for name in ("fine_intact", "fine_useless_parts_broken")))
NASTY_VALUES = (
    *("", " ", "nan", "inf", "-inf", "1e400", "-1", "0", "1,5", "1_000", "0x10", "1e-320", "1e308", "-0.0", "abc"),
    *("0 0", "0 0 0", "0 0 0 0", "1 2 3", "1e300 1e300 1e300", "nan 0 0", "base", "upper", "world", "hinge", "free"),
    *("ball", "slide", "mesh", "sdf", "hfield", "plane", "true", "false", "auto", "main", "a" * 300, "99999999999999"),
    *("1e10", "1e154 1e154 1e154", "-1e38", "3.5", "1 1 1 1 1 1 1", "&#10;", "\u0662", "&lt;", "j1", "wedge", "2"),
)
FOREIGN_ATTRIBUTES = (
    *("class", "childclass", "mass", "density", "euler", "axisangle", "xyaxes", "zaxis", "fromto", "ref", "range"),
    *("limited", "group", "mocap", "gravcomp", "inertiafromgeom", "settotalmass", "boundmass", "boundinertia"),
    *(
        "balanceinertia",
        "eulerseq",
        "scale",
        "refquat",
        "builtin",
        "params",
        "shellinertia",
        "fitscale",
        "springdamper",
    ),
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
    """A valid file with one or two attribute values, or attribute names, replaced by nasty ones."""
    text = draw(st.sampled_from(SEEDS)).decode()
    for _ in range(draw(st.integers(1, 2))):
        chosen = draw(st.sampled_from(list(re.finditer(r'(\w+)="([^"]*)"', text))))
        name = chosen[1] if draw(st.integers(0, 3)) else draw(st.sampled_from(FOREIGN_ATTRIBUTES))
        value = draw(st.sampled_from(NASTY_VALUES))
        text = f'{text[: chosen.start()]}{name}="{value}"{text[chosen.end() :]}'
    return text.encode()


@st.composite
def reshaped_trees(draw: st.DrawFn) -> bytes:
    """A valid file with elements deleted, repeated, renamed or moved into one another."""
    root = ElementTree.fromstring(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(1, 3))):
        parent = draw(st.sampled_from([element for element in root.iter() if len(element)]))
        child = draw(st.sampled_from(list(parent)))
        match draw(st.sampled_from(("delete", "repeat", "rename", "move"))):
            case "delete":
                parent.remove(child)
            case "repeat":
                parent.append(child)
            case "rename":
                child.tag = draw(st.sampled_from(["freejoint", "site", "frame", "body", child.tag[:-1] or "x"]))
            case "move":
                home = draw(st.sampled_from([element for element in root.iter() if element not in child.iter()]))
                parent.remove(child)
                home.append(child)
        if not len(root):
            break
    return ElementTree.tostring(root)


def masses_of(description: Description) -> dict[str, float]:
    """Masses by link, for links that have an inertia."""
    return {link.name: link.inertia.mass for link in description.links if link.inertia is not None}


def assert_sound(data: bytes) -> None:
    """The text is refused by one of our errors, or every mass that a body states in it is in the description."""
    try:
        description = parse_mjcf(data)
    except CounterpoiseError:
        return
    masses = masses_of(description)
    document = expatbuilder.parseString(data, namespaces=False)  # ElementTree would refuse an undeclared prefix
    for compiler in document.getElementsByTagName("compiler"):
        if any(compiler.hasAttribute(name) for name in ("settotalmass", "boundmass", "inertiafromgeom")):
            return
    for inertial in document.getElementsByTagName("inertial"):
        body: Any = inertial.parentNode
        stated = inertial.getAttribute("mass")
        expected = float.fromhex(stated) if "x" in stated else float(stated)
        copies = re.compile(rf"{re.escape(body.getAttribute('name'))}\d*")  # <replicate> numbers them
        if body.getAttribute("name") and expected > 0.0:
            assert expected in [mass for name, mass in masses.items() if copies.fullmatch(name)]


FAST = settings(max_examples=120)


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
        parse_mjcf(data)


def test_mutations_are_not_all_refused() -> None:
    """The properties above would be empty if the seeds did not load."""
    for seed in SEEDS:
        assert masses_of(parse_mjcf(seed))["upper"] == 2.0
    assert masses_of(parse_mjcf(RICH.replace(b'mass="1.25"', b'mass="4.5"')))["hand"] == 4.5
