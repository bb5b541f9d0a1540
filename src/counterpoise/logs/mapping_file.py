"""Mapping files: TOML in, with the line of what is wrong; TOML out, with a reason beside each line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..description.toml_lines import TomlDocument
from ..errors import DataFileError, InputError
from .atomic import write_atomically
from .data_file import read_toml
from .mapping import FORMAT, Keys, LogMapping

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def read_mapping(path: str | Path) -> LogMapping:
    """Read a mapping file.

    Raises:
        DataFileError: It cannot be read, is no TOML, or says something that no mapping can; with the line.
    """
    return _decoded_mapping(read_toml(path), path)


def _decoded_mapping(document: TomlDocument, path: str | Path) -> LogMapping:
    def refuse(where: Keys, message: str) -> InputError:
        label = ".".join(str(key) for key in where)
        return DataFileError(f"{label}: {message}" if label else message, path=path, line=document.line(where))

    if document.root.get("format", FORMAT) != FORMAT:
        raise refuse(("format",), f"is {document.root['format']!r}; this version reads {FORMAT!r}")
    return LogMapping.from_table(document.root, refuse)


def write_mapping(mapping: LogMapping, path: str | Path, reasons: Mapping[Keys, str] | None = None) -> None:
    """Write a mapping file, all or nothing.

    Args:
        mapping: What is written.
        path: The file; replaced if it exists.
        reasons: Comments by place, e.g. ("joints", "elbow", "position").

    Raises:
        DataFileError: The file cannot be written.
    """
    write_atomically(path, mapping_toml(mapping, reasons).encode())


def mapping_toml(mapping: LogMapping, reasons: Mapping[Keys, str] | None = None) -> str:
    """Return a mapping as the text of a mapping file, with comments beside the lines that have a reason."""
    table = mapping.to_table()
    table.pop("format", None)
    lines = [f"format = {_value(FORMAT)}"]
    plain = {key: value for key, value in table.items() if not isinstance(value, dict)}
    lines += _lines(plain, (), reasons or {})
    for name, section in table.items():
        if not isinstance(section, dict):
            continue
        inner = {key: value for key, value in section.items() if isinstance(value, dict)}
        own = {key: value for key, value in section.items() if not isinstance(value, dict)}
        if own:
            lines += ["", f"[{_key(name)}]", *_lines(own, (name,), reasons or {})]
        for key, entries in inner.items():
            lines += ["", f"[{_key(name)}.{_key(key)}]", *_lines(entries, (name, key), reasons or {})]
    return "\n".join(lines) + "\n"


def _lines(table: Mapping[str, Any], where: Keys, reasons: Mapping[Keys, str]) -> Iterator[str]:
    for key, value in table.items():
        reason = reasons.get((*where, key))
        comment = "" if reason is None else f"  # {_one_line(reason)}"
        yield f"{_key(key)} = {_value(value)}{comment}"


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _value(name)


def _value(value: Any) -> str:
    """Return a value as TOML. Its basic strings are JSON's, but for DEL and lone surrogates."""
    if isinstance(value, str):
        return json.dumps(_encodable(value), ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value)


def _one_line(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in _encodable(text))


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
