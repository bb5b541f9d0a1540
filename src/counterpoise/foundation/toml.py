"""TOML for robot files: size, nesting and numbers bounded, and the line of every key kept for messages.

Data files that are read whole are read by ``read_data``: of bounded size, with errors that name the file.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import DataFileError, ModelFileError, locate
from .files import MAX_FILE_BYTES, read_bounded

MAX_TOML_BYTES = 1_000_000
"""Largest TOML accepted; a hundred joints with their sources need a tenth of it."""
MAX_DEPTH = 32
"""Deepest nesting of tables, lists and dotted keys; tomllib recurses on some and is quadratic in others."""
MAX_NUMBER = 1e9
"""Largest number accepted anywhere: far beyond any robot, far below overflow."""

Keys = tuple[str | int, ...]
"""Where a value stands in the document: ("joint", 2, "link", "mass") is joint[2].link.mass."""

_TOKEN = re.compile(
    r"""
      (?P<gap>[ \t\r]+|\#[^\n]*)
    | (?P<newline>\n)
    | (?P<text>\"{3}(?:[^\"\\]|\\.|\"{1,2}(?!\"))*\"{3,5}|'{3}(?:[^']|'{1,2}(?!'))*'{3,5}
        |\"(?!\"\")(?:[^\"\\\n]|\\[^\n])*\"|'(?!'')[^'\n]*')
    | (?P<mark>[\[\]{}=,.])
    | (?P<bare>[^\s\[\]{}=,.\"'\#]+)
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class TomlDocument:
    """A decoded TOML text that knows where its values stand.

    Attributes:
        root: The decoded top table.
        lines: Line of each table, key and list element, counted from 1.
        path: File it came from, or None.
    """

    root: dict[str, Any]
    lines: Mapping[Keys, int]
    path: str | None

    def line(self, where: Keys) -> int | None:
        """Line of a value, or of the nearest table or list around it; None for the whole document."""
        for length in range(len(where), 0, -1):
            if where[:length] in self.lines:
                return self.lines[where[:length]]
        return None

    def refusal(self, where: Keys, message: str) -> ModelFileError:
        """Return the error that says what is wrong with the value at ``where``, with its name and line."""
        label = self._label(where)
        return ModelFileError(f"{label}: {message}" if label else message, path=self.path, line=self.line(where))

    def _label(self, where: Keys) -> str:
        """Name a place the way its author would: ``joint 'elbow', link.mass``."""
        parts: list[str] = []
        value: Any = self.root
        for position, key in enumerate(where):
            value = _member(value, key)
            if isinstance(key, str):
                parts.append(key if not parts or parts[-1].endswith(" ") else f".{key}")
                continue
            name = _member(value, "name")
            if position == 1 and isinstance(value, dict):
                called = f"'{name}'" if isinstance(name, str) and name else f"no. {key + 1}"
                parts.append(f" {called}" + (", " if position + 1 < len(where) else ""))
            else:
                parts.append(f"[{key}]")
        return "".join(parts)


def load_toml(data: bytes, path: str | None = None) -> TomlDocument:
    """Decode TOML bytes within our bounds.

    Args:
        data: The document, UTF-8; a byte-order mark is skipped.
        path: Where it came from, for messages.

    Raises:
        ModelFileError: Too large, not UTF-8, not TOML, nested too deep, or with a number that is not finite or beyond
            MAX_NUMBER.
    """
    if len(data) > MAX_TOML_BYTES:
        raise ModelFileError(
            f"{len(data) / 1e6:.1f} MB of TOML; at most {MAX_TOML_BYTES / 1e6:.0f} MB are accepted", path=path
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ModelFileError(f"is not UTF-8 ({error.reason}); save it as UTF-8", path=path, line=line) from error
    lines = _LineFinder(text, path).lines  # before tomllib, which has no bounds of its own
    try:
        root = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r" \(at line (\d+), column (\d+)\)$", str(error))
        line = int(found[1]) if found else text.rstrip().count("\n") + 1
        what = str(error).removesuffix(found[0]) + f" in column {found[2]}" if found else str(error)
        raise ModelFileError(f"is not valid TOML: {what}", path=path, line=line) from error
    except ValueError as error:  # Python converts integers of at most some thousand digits
        found = re.search(r"[0-9][0-9_]{600,}", text)
        position = found.start() if found else 0
        line = text.count("\n", 0, position) + 1
        raise ModelFileError("has an integer of absurd length", path=path, line=line) from error
    except RecursionError as error:  # our own depth is bounded; the caller's is not
        raise ModelFileError("cannot be decoded: too little stack is left", path=path) from error
    document = TomlDocument(root, lines, path)
    for where, number in _numbers(root, ()):
        if not -MAX_NUMBER <= number <= MAX_NUMBER:  # also true for NaN
            shown = repr(number) if isinstance(number, float) else "this integer"
            raise document.refusal(where, f"{shown} is not a finite number within ±{MAX_NUMBER:g}")
    return document


def _member(value: Any, key: str | int) -> Any:
    """value[key], or None where there is no such member."""
    if isinstance(value, dict):
        return value.get(key)
    if isinstance(value, list) and isinstance(key, int) and key < len(value):
        return value[key]
    return None


def _numbers(value: Any, where: Keys) -> Iterator[tuple[Keys, int | float]]:
    """Every number below ``value`` with its place. Recursion is bounded by MAX_DEPTH."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield from _numbers(member, (*where, key))
    elif isinstance(value, list):
        for index, member in enumerate(value):
            yield from _numbers(member, (*where, index))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield where, value


class _LineFinder:
    """One pass over the tokens of a TOML text that notes the line of each table, key and list element.

    It trusts the syntax, which tomllib judges afterwards: both read the same up to the first syntax error, and there
    tomllib stops. Brackets and strings are followed, so a row of a matrix is not taken for a table header.
    """

    def __init__(self, text: str, path: str | None) -> None:
        self.lines: dict[Keys, int] = {}
        self._path = path
        self._line = 1
        self._tables: Counter[Keys] = Counter()  # how many [[name]] headers were seen
        self._tokens = self._lex(text)
        self._scan()

    def _lex(self, text: str) -> Iterator[tuple[str, str]]:
        position = 0
        while found := _TOKEN.match(text, position):
            position = found.end()
            kind = str(found.lastgroup)
            if kind != "gap":
                yield kind, found[0]
            self._line += found[0].count("\n")

    def _note(self, where: Keys) -> None:
        if len(where) > MAX_DEPTH:
            raise ModelFileError(f"is nested more than {MAX_DEPTH} levels deep", path=self._path, line=self._line)
        self.lines.setdefault(where, self._line)

    def _scan(self) -> None:
        table: Keys = ()
        for kind, token in self._tokens:
            if token == "[":
                table = self._header(table)
            elif kind in ("bare", "text"):
                self._assignment(table, token)

    def _key(self, first: str) -> Keys:
        """Read a dotted key and the token that ends it (``=`` or ``]``)."""
        parts = [first] if first else []
        for kind, token in self._tokens:
            if kind in ("bare", "text"):
                parts.append(token)
            elif token != ".":
                break
            if len(parts) > MAX_DEPTH:  # refused by the first note of it
                break
        return tuple(part.strip("\"'") for part in parts)

    def _header(self, table: Keys) -> Keys:
        """Read ``[name]`` or ``[[name]]`` and return the place it opens."""
        _, token = next(self._tokens, ("", ""))
        repeated = token == "["
        parts = self._key("" if repeated else token)
        if not parts:
            return table
        where: Keys = ()
        for index, part in enumerate(parts):
            where = (*where, part)
            self._note(where)
            if repeated and index == len(parts) - 1:
                self._tables[where] += 1
            if where in self._tables:
                where = (*where, self._tables[where] - 1)
        self._note(where)
        if repeated:
            next(self._tokens, None)  # the second closing bracket
        return where

    def _assignment(self, table: Keys, first: str) -> None:
        """Read ``key = value`` to the end of the value, noting every member of lists and inline tables."""
        here = (*table, *self._key(first))
        for length in range(len(table) + 1, len(here) + 1):
            self._note(here[:length])
        open_lists: list[tuple[str, Keys, int]] = []  # bracket, place of the list or table, index of the member
        for kind, token in self._tokens:
            if kind == "newline":
                if not open_lists:
                    return
                continue
            if token in ("[", "{"):
                self._note(here)
                open_lists.append((token, here, 0))
                here = (*here, 0) if token == "[" else here
            elif token in ("]", "}"):
                if not open_lists:
                    return
                _, here, _ = open_lists.pop()
            elif token == "," and open_lists:
                bracket, place, index = open_lists.pop()
                open_lists.append((bracket, place, index + 1))
                here = (*place, index + 1) if bracket == "[" else place
            elif kind in ("bare", "text") and open_lists and open_lists[-1][0] == "{" and here == open_lists[-1][1]:
                here = (*here, *self._key(token))
                self._note(here)
            else:
                self._note(here)


def read_data(path: str | Path, most: int = MAX_FILE_BYTES) -> bytes:
    """Return the bytes of a file.

    Args:
        path: The file.
        most: Largest size that is accepted [bytes].

    Raises:
        DataFileError: The file is absent, is not a regular file, cannot be read or is larger.
    """
    return read_bounded(path, most, DataFileError)


def read_toml(path: str | Path) -> TomlDocument:
    """Return a TOML file with the lines of its keys.

    Raises:
        DataFileError: It cannot be read, or is no TOML; with the line.
    """
    try:
        return load_toml(read_data(path), str(path))
    except ModelFileError as error:
        message = str(error).removeprefix(f"{locate(error.path, error.line)}: ")
        raise DataFileError(message, path=path, line=error.line) from error
