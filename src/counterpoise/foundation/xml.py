"""XML for robot files: line numbers kept, document types refused, depth and size bounded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from ..errors import ModelFileError
from .files import MAX_FILE_BYTES

MAX_DEPTH = 128
MAX_ELEMENTS = 50_000
MAX_ATTRIBUTES = 200_000
MAX_MARKUP_BYTES = 1024 * 1024
"""Largest single tag or comment. One tag can hold a million attributes, which Python sees only once all are stored."""

_CHUNK_BYTES = 64 * 1024


@dataclass(slots=True)
class Element:
    """One XML element with the line it starts on."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)

    def all(self, tag: str) -> list[Element]:
        """Children with the given tag, in file order."""
        return [child for child in self.children if child.tag == tag]

    def walk(self) -> Iterator[Element]:
        """This element and all below it, in file order."""
        pending = [self]
        while pending:
            element = pending.pop()
            yield element
            pending.extend(reversed(element.children))


def parse_xml(data: bytes, path: str | None = None) -> Element:
    """Parse XML bytes into elements that know their line.

    Args:
        data: The document.
        path: Where it came from, for messages.

    Raises:
        ModelFileError: Not well formed, or with a document type (DTD), or nested deeper than MAX_DEPTH, or with more
            than MAX_ELEMENTS elements or MAX_ATTRIBUTES attributes, or with a tag or comment beyond MAX_MARKUP_BYTES,
            or larger than MAX_FILE_BYTES.
    """
    if len(data) > MAX_FILE_BYTES:
        raise ModelFileError(f"more than {MAX_FILE_BYTES} bytes of XML", path=path)
    parser = expat.ParserCreate()
    root: Element | None = None
    open_elements: list[Element] = []
    element_count = attribute_count = 0

    def refuse(message: str) -> ModelFileError:
        return ModelFileError(message, path=path, line=parser.CurrentLineNumber)

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal root, element_count, attribute_count
        element_count += 1
        attribute_count += len(attributes)
        if element_count > MAX_ELEMENTS:
            raise refuse(f"more than {MAX_ELEMENTS} XML elements; no robot needs that many")
        if attribute_count > MAX_ATTRIBUTES:
            raise refuse(f"more than {MAX_ATTRIBUTES} XML attributes; no robot needs that many")
        if len(open_elements) >= MAX_DEPTH:
            raise refuse(f"XML nested deeper than {MAX_DEPTH} levels")
        element = Element(tag, attributes, parser.CurrentLineNumber)
        if open_elements:
            open_elements[-1].children.append(element)
        else:
            root = element
        open_elements.append(element)

    def end(_tag: str) -> None:
        open_elements.pop()

    def doctype(*_args: object) -> None:
        raise refuse("has a DOCTYPE; document types and entities are refused in robot files, remove it")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.StartDoctypeDeclHandler = doctype
    parser.EntityDeclHandler = doctype
    try:
        for begin in range(0, len(data), _CHUNK_BYTES):
            parser.Parse(data[begin : begin + _CHUNK_BYTES], False)
            if begin + _CHUNK_BYTES - parser.CurrentByteIndex > MAX_MARKUP_BYTES:
                raise refuse(f"a tag or comment of more than {MAX_MARKUP_BYTES // 1024} kB; no robot needs one")
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise ModelFileError(
            f"is not well-formed XML: {expat.errors.messages.get(error.code, error)}", path=path, line=error.lineno
        ) from error
    except (ValueError, LookupError) as error:  # an encoding that Python does not know or cannot decode
        raise ModelFileError(f"cannot be decoded: {error}", path=path) from error
    if root is None:
        raise ModelFileError("holds no XML element", path=path)
    return root
