"""Hostile files are refused quickly and in little memory; honest XML keeps its lines."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from counterpoise.errors import ModelFileError
from counterpoise.foundation import MAX_DEPTH, MAX_ELEMENTS, parse_xml, read_bounded
from counterpoise.foundation import xml as xml_guard
from counterpoise.foundation.files import MAX_FILE_BYTES
from counterpoise.foundation.xml import MAX_MARKUP_BYTES

SOURCE = Path(xml_guard.__file__).parents[2]


def test_elements_know_tag_attributes_line_and_order() -> None:
    """Lines count from 1 and belong to the start tag, over comments, text and line breaks within a tag."""
    root = parse_xml(b"<?xml version='1.0'?>\n<!-- a\n comment -->\n<a x='1'>\n text\n<b\n y='2'/><c><d/></c><b/></a>")
    assert (root.tag, root.attributes, root.line) == ("a", {"x": "1"}, 4)
    assert [(element.tag, element.line) for element in root.walk()] == [
        ("a", 4),
        ("b", 6),
        ("c", 7),
        ("d", 7),
        ("b", 7),
    ]
    assert [element.attributes for element in root.all("b")] == [{"y": "2"}, {}]


def test_text_longer_than_a_chunk_and_cut_anywhere_reads_the_same() -> None:
    """Feeding in chunks loses nothing at their borders."""
    body = b"".join(b'<link name="l%05d"/>\n' % k for k in range(20_000))
    root = parse_xml(b"<robot>\n" + body + b"</robot>")
    assert [element.attributes["name"] for element in root.children] == [f"l{k:05d}" for k in range(20_000)]
    assert [element.line for element in root.children] == list(range(2, 20_002))


@pytest.mark.parametrize(
    "text",
    [
        b"<!DOCTYPE robot><robot/>",
        b"<!DOCTYPE robot SYSTEM 'http://localhost/robot.dtd'><robot/>",
        b"<!DOCTYPE robot [<!ENTITY a 'b'>]><robot>&a;</robot>",
        b"<!DOCTYPE robot [<!ENTITY % a SYSTEM 'a.ent'> %a;]><robot/>",
        b"<!DOCTYPE robot [<!ATTLIST mass value CDATA '5'>]><robot><mass/></robot>",
    ],
)
def test_document_types_are_refused(text: bytes) -> None:
    """A document type can add entities and even default attribute values: a mass that the file does not show."""
    with pytest.raises(ModelFileError, match=r"arm\.urdf:1: has a DOCTYPE"):
        parse_xml(text, "arm.urdf")


def test_depth_and_number_of_elements_are_bounded_exactly() -> None:
    """The limits themselves are accepted, one more is not."""
    parse_xml(b"<a>" * MAX_DEPTH + b"</a>" * MAX_DEPTH)
    with pytest.raises(ModelFileError, match="nested deeper"):
        parse_xml(b"<a>" * (MAX_DEPTH + 1) + b"</a>" * (MAX_DEPTH + 1))
    assert len(parse_xml(b"<r>" + b"<a/>" * (MAX_ELEMENTS - 1) + b"</r>").children) == MAX_ELEMENTS - 1
    with pytest.raises(ModelFileError, match="XML elements"):
        parse_xml(b"<r>" + b"<a/>" * MAX_ELEMENTS + b"</r>")


def test_number_of_attributes_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attributes count over the whole document."""
    monkeypatch.setattr(xml_guard, "MAX_ATTRIBUTES", 4)
    parse_xml(b"<r><a x='' y=''/><a x='' y=''/></r>")
    with pytest.raises(ModelFileError, match="more than 4 XML attributes"):
        parse_xml(b"<r><a x='' y=''/><a x='' y=''/><a x=''/></r>")


@pytest.mark.parametrize("frame", [b"<r x='%s'/>", b"<r><!--%s--></r>", b"<r><%s/></r>"])
def test_one_tag_or_comment_is_bounded(frame: bytes) -> None:
    """Half the limit passes whatever expat buffers, twice the limit never does."""
    parse_xml(frame % (b"a" * (MAX_MARKUP_BYTES // 2)))
    with pytest.raises(ModelFileError, match="a tag or comment of more than 1024 kB"):
        parse_xml(frame % (b"a" * (2 * MAX_MARKUP_BYTES)))


def test_long_text_between_tags_is_harmless() -> None:
    """Text is not kept, so it may fill the file."""
    assert parse_xml(b"<r>" + b"a" * (4 * MAX_MARKUP_BYTES) + b"</r>").children == []


def test_documents_larger_than_a_file_may_be_are_refused() -> None:
    """The bound holds for text that never was a file, too."""
    with pytest.raises(ModelFileError, match="bytes of XML"):
        parse_xml(b"<r>" + b" " * MAX_FILE_BYTES + b"</r>")


# --- files -----------------------------------------------------------------------------------------------------------


def test_files_up_to_the_limit_are_read(tmp_path: Path) -> None:
    """The limit itself is accepted, one byte more is not."""
    file = tmp_path / "arm.urdf"
    file.write_bytes(b"x" * 1000)
    assert read_bounded(file, 1000) == b"x" * 1000
    file.write_bytes(b"x" * 1001)
    with pytest.raises(ModelFileError, match="are accepted"):
        read_bounded(file, 1000)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_a_file_that_claims_to_be_empty_is_still_bounded() -> None:
    """Files of /proc have size 0 and content all the same."""
    with pytest.raises(ModelFileError, match="are accepted"):
        read_bounded("/proc/self/status", 20)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    """Opening a pipe would hang for ever."""
    os.mkfifo(tmp_path / "arm.urdf")
    with pytest.raises(ModelFileError, match="not a regular file"):
        read_bounded(tmp_path / "arm.urdf")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_refused(tmp_path: Path) -> None:
    """The system's reason is passed on."""
    file = tmp_path / "arm.urdf"
    file.touch(mode=0)
    with pytest.raises(ModelFileError, match="cannot be read"):
        read_bounded(file)


# --- resources -------------------------------------------------------------------------------------------------------


def entity_bomb(file: Path) -> None:
    """Ten levels of tenfold expansion: 10 GB of text in a kilobyte."""
    levels = "".join(f'<!ENTITY e{k} "{f"&e{k - 1};" * 10}">' for k in range(1, 10))
    file.write_text(f'<!DOCTYPE r [<!ENTITY e0 "0123456789">{levels}]><robot name="r">&e9;</robot>')


def deep_nesting(file: Path) -> None:
    """Elements 200 000 deep."""
    file.write_bytes(b"<a>" * 200_000 + b"</a>" * 200_000)


def half_a_gigabyte(file: Path) -> None:
    """A sparse file: it takes no room on the disk."""
    with file.open("wb") as stream:
        stream.truncate(500_000_000)


def attributes_on_one_element(file: Path) -> None:
    """8 MB of different attributes, more than a million."""
    attributes: list[str] = []
    size = 0
    while size < MAX_FILE_BYTES - 100:
        attributes.append(f'a{len(attributes):x}=""')
        size += len(attributes[-1]) + 1
    file.write_text(f"<robot {' '.join(attributes)}/>")


def attributes_on_many_elements(file: Path) -> None:
    """8 MB of elements with as many attributes as fit."""
    element = "<a " + " ".join(f'{letter}="12"' for letter in "abcdefghijklmnopqrstuv") + "/>"
    file.write_text("<robot>" + element * (MAX_FILE_BYTES // len(element) - 1) + "</robot>")


def tiny_elements(file: Path) -> None:
    """8 MB of the smallest element."""
    file.write_bytes(b"<robot>" + b"<a/>" * (MAX_FILE_BYTES // 4 - 10) + b"</robot>")


def unclosed_tags(file: Path) -> None:
    """8 MB of start tags without end."""
    file.write_bytes(b"<a>" * (MAX_FILE_BYTES // 3))


def many_joints(file: Path) -> None:
    """As many joints as the number of elements allows."""
    joint = '<joint name="j" type="fixed"><parent link="a"/><child link="a"/></joint>'
    file.write_text('<robot name="r"><link name="a"/>' + joint * (MAX_ELEMENTS // 3 - 2) + "</robot>")


def many_different_unknown_elements(file: Path) -> None:
    """Each would be compared with every known name."""
    unknown = "".join(f"<nigiro{k}/>" for k in range(MAX_ELEMENTS - 10))
    file.write_text(f'<robot name="r"><link name="a"/><joint name="j" type="fixed">{unknown}</joint></robot>')


def one_huge_number(file: Path) -> None:
    """A mass of a million digits."""
    file.write_text(
        f'<robot name="r"><link name="a"><inertial><mass value="{"1" * 1_000_000}"/></inertial></link></robot>'
    )


READ_AND_MEASURE = """
import sys, time
from counterpoise.description.reading import read_description
from counterpoise.errors import ModelFileError
start = time.process_time()
try:
    read_description(sys.argv[1])
    outcome = "accepted"
except ModelFileError as error:
    outcome = "refused"
    assert len(str(error)) < 1000, len(str(error))
seconds = time.process_time() - start
peak_kb = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(outcome, seconds, peak_kb)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
@pytest.mark.parametrize(
    "write",
    [
        entity_bomb,
        deep_nesting,
        half_a_gigabyte,
        attributes_on_one_element,
        attributes_on_many_elements,
        tiny_elements,
        unclosed_tags,
        many_joints,
        many_different_unknown_elements,
        one_huge_number,
    ],
)
def test_hostile_file_is_refused_within_a_second_and_200_megabytes(
    write: Callable[[Path], None], tmp_path: Path
) -> None:
    """Measured in a process of its own: its whole peak memory, interpreter and NumPy included, and its CPU time."""
    file = tmp_path / "hostile.urdf"
    write(file)
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-c", READ_AND_MEASURE, str(file)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr
    outcome, seconds, peak_kb = run.stdout.split()
    assert outcome == "refused"
    assert float(seconds) < 1.0
    assert int(peak_kb) < 200_000
