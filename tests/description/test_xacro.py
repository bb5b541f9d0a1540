"""Expanding xacro: arguments, properties, macros, includes, and every failure as one of our errors."""

from __future__ import annotations

import importlib
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from counterpoise.description.reading import expand_xacro
from counterpoise.description.urdf import parse_urdf
from counterpoise.errors import MissingExtraError, ModelFileError

try:
    importlib.import_module("xacrodoc")
    HAS_XACRO = True
except ImportError:
    HAS_XACRO = False

needs_xacro = pytest.mark.skipif(not HAS_XACRO, reason="needs the extra 'xacro'")

HEAD = '<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">'

ARM = (
    HEAD
    + """
  <xacro:arg name="payload" default="1.0"/>
  <xacro:property name="length" value="0.4"/>
  <xacro:macro name="segment" params="name parent mass *placement">
    <link name="${name}">
      <inertial>
        <origin xyz="0 0 ${length/2}"/>
        <mass value="${mass}"/>
        <inertia ixx="${mass*length**2/12}" ixy="0" ixz="0" iyy="${mass*length**2/12}" iyz="0" izz="0"/>
      </inertial>
    </link>
    <joint name="${name}_joint" type="continuous">
      <xacro:insert_block name="placement"/>
      <parent link="${parent}"/>
      <child link="${name}"/>
      <axis xyz="0 1 0"/>
    </joint>
  </xacro:macro>
  <link name="base"/>
  <xacro:segment name="upper" parent="base" mass="2.5"><origin rpy="0 ${pi/2} 0"/></xacro:segment>
  <xacro:segment name="fore" parent="upper" mass="$(arg payload)"><origin xyz="0 0 ${length}"/></xacro:segment>
</robot>
"""
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the xacro file goes."""
    return tmp_path / "arm.urdf.xacro"


@needs_xacro
def test_arguments_properties_expressions_and_macros_are_expanded(file: Path) -> None:
    """The result reads as URDF with the numbers that the expressions give."""
    file.write_text(ARM)
    by_default = parse_urdf(expand_xacro(file, {}), str(file))
    given = parse_urdf(expand_xacro(file, {"payload": "3.25"}), str(file))
    masses = [[link.inertia.mass for link in arm.links if link.inertia is not None] for arm in (by_default, given)]
    assert masses == [[2.5, 1.0], [2.5, 3.25]]
    np.testing.assert_allclose(given.joints[0].T_parent_joint[:3, :3] @ [0, 0, 1], [1, 0, 0], atol=1e-15)
    assert given.joints[1].T_parent_joint[2, 3] == 0.4
    assert given.links[1].inertia is not None
    assert given.links[1].inertia.tensor_com[0, 0] == pytest.approx(2.5 * 0.4**2 / 12, rel=1e-14)
    assert given.joints[0].upper == math.inf


@needs_xacro
def test_arguments_of_one_call_do_not_reach_the_next(file: Path) -> None:
    """xacro keeps them in a global and writes defaults into the caller's mapping; neither may leak."""
    file.write_text(ARM)
    arguments: dict[str, str] = {}
    first = expand_xacro(file, arguments)
    assert arguments == {}
    expand_xacro(file, {"payload": "9"})
    assert expand_xacro(file, arguments) == first


@needs_xacro
def test_includes_are_found_beside_the_including_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not in the working directory."""
    (file.parent / "parts").mkdir()
    (file.parent / "parts" / "tool.xacro").write_text(f'{HEAD}<link name="tool"/></robot>')
    file.write_text(f'{HEAD}<xacro:include filename="parts/tool.xacro"/></robot>')
    monkeypatch.chdir(file.parent / "parts")
    assert parse_urdf(expand_xacro(file, {})).root == "tool"


@needs_xacro
def test_a_package_of_the_same_name_elsewhere_is_not_taken_for_this_one(tmp_path: Path) -> None:
    """Two checkouts of one package in one process: each file gets its own parts."""
    for checkout, mass in (("old", "1.0"), ("new", "2.0")):
        package = tmp_path / checkout / "demo_description"
        package.mkdir(parents=True)
        (package / "package.xml").write_text("<package><name>demo_description</name></package>")
        (package / "mass.xacro").write_text(f'{HEAD}<xacro:property name="m" value="{mass}"/></robot>')
        (package / "arm.xacro").write_text(
            f'{HEAD}<xacro:include filename="$(find demo_description)/mass.xacro"/>'
            '<link name="a"><inertial><mass value="${m}"/></inertial></link></robot>'
        )
    for checkout, expected in (("old", 1.0), ("new", 2.0)):
        arm = parse_urdf(expand_xacro(tmp_path / checkout / "demo_description" / "arm.xacro", {}))
        assert arm.links[0].inertia is not None
        assert arm.links[0].inertia.mass == expected


@needs_xacro
@pytest.mark.parametrize(
    ("body", "fragment"),
    [
        ('<link name="$(arg absent)"/>', "absent"),
        ('<link name="${1/0}"/>', "division by zero"),
        ('<link name="${absent}"/>', "'absent' is not defined"),
        ('<link name="${(}"/>', "never closed"),
        ('<link name="${().__class__}"/>', "__class__"),
        ("<link name=\"${xacro.load_yaml('absent.yaml')}\"/>", "absent.yaml"),
        ('<link name="$(env COUNTERPOISE_ABSENT)"/>', "COUNTERPOISE_ABSENT"),
        ('<link name="$(find absent_package)"/>', "absent_package"),
        ("<xacro:absent/>", "unknown macro"),
        ('<xacro:include filename="absent.xacro"/>', "absent.xacro"),
        ('<xacro:include filename="arm.urdf.xacro"/>', "recursion"),
        ('<xacro:macro name="m"><xacro:m/></xacro:macro><xacro:m/>', "recursion"),
        ('<xacro:property name="a" value="${b}"/><xacro:property name="b" value="${a}"/>${a}', "circular"),
        ('<xacro:property value="1"/>', "missing attribute 'name'"),
        ('<xacro:if value="perhaps"/>', "not a boolean"),
        ("<link>", "mismatched tag"),
        ("<a>" * 3000 + "</a>" * 3000, "recursion"),
    ],
)
def test_every_failure_is_one_of_our_errors(body: str, fragment: str, file: Path) -> None:
    """With the file and xacro's reason, on one line."""
    file.write_text(f"{HEAD}{body}</robot>")
    with pytest.raises(ModelFileError) as caught:
        expand_xacro(file, {})
    message = str(caught.value)
    assert message.startswith(f"{file}: xacro cannot expand it: ")
    assert fragment in message
    assert "\n" not in message


@needs_xacro
def test_a_fault_in_an_included_file_names_that_file(file: Path) -> None:
    """The including file alone would send the user astray."""
    part = file.parent / "part.xacro"
    part.write_text("<robot><link></robot>")
    file.write_text(f'{HEAD}<xacro:include filename="part.xacro"/></robot>')
    with pytest.raises(ModelFileError, match=r"mismatched tag.*\(in .*part\.xacro\)"):
        expand_xacro(file, {})


@needs_xacro
def test_a_failure_does_not_spoil_the_next_call(file: Path) -> None:
    """xacro's stacks are left as they were at the fault."""
    file.write_text(f'{HEAD}<xacro:include filename="absent.xacro"/></robot>')
    with pytest.raises(ModelFileError):
        expand_xacro(file, {})
    file.write_text(ARM)
    assert len(parse_urdf(expand_xacro(file, {})).links) == 3


@needs_xacro
def test_absent_and_binary_files_are_refused(file: Path) -> None:
    """As for any description."""
    with pytest.raises(ModelFileError, match="no such file"):
        expand_xacro(file, {})
    file.write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(ModelFileError, match="cannot expand"):
        expand_xacro(file, {})


@pytest.mark.parametrize("absent", ["xacro", "xacrodoc"])
def test_missing_package_names_the_extra(absent: str, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without xacrodoc the error says what to install."""
    file.write_text(ARM)
    monkeypatch.setitem(sys.modules, absent, None)
    with pytest.raises(MissingExtraError, match=r"reading xacro needs .*counterpoise\[xacro\]"):
        expand_xacro(file, {})
