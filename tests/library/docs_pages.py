"""The pages that users read, and what is checked in them: snippets, commands, links."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = tuple(
    sorted([*(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SAFETY.md"))])
    + sorted((ROOT / "docs").rglob("*.md"))
)
FENCE = re.compile(r"^ *(`{3,})(?P<language>\w*)[^`]*$")
INLINE = re.compile(r"`([^`]+)`")
INCLUDE = "--8<--"
"""A block that begins with this is taken from a file; the file is tested itself."""


@dataclass(frozen=True)
class Block:
    """Code of a page: its language ("" where none is stated, "indented" where it is only indented), line and text."""

    language: str
    line: int
    text: str


def name_of(page: Path) -> str:
    """Path of a page in the repository, for names of tests."""
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[Block]:
    """Return all code of a page, in order."""
    found: list[Block] = []
    language, begin, inside, before = "", 0, [], ""
    fence = ""
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        match = FENCE.match(line)
        if fence:
            if line.strip() == fence:
                found.append(Block(language, begin, "\n".join(inside) + "\n"))
                fence = ""
            else:
                inside.append(line)
        elif match:
            fence, language, begin, inside = match[1], match["language"], number + 1, []
        elif line.startswith("    ") and not before.strip():
            found.append(Block("indented", number, line.strip() + "\n"))
            continue  # a line after it belongs to the same code
        before = line
    assert not fence, f"{page}: code that does not end"
    return found


def prose(page: Path) -> str:
    """Return a page without its fenced code."""
    lines, fence = [], ""
    for line in page.read_text(encoding="utf-8").splitlines():
        match = FENCE.match(line)
        if fence:
            fence = "" if line.strip() == fence else fence
        elif match:
            fence = match[1]
        else:
            lines.append(line)
    return "\n".join(lines)


def snippets(page: Path) -> list[Block]:
    """Return the Python of a page that stands in the page itself."""
    return [block for block in blocks(page) if block.language == "python" and not block.text.startswith(INCLUDE)]


def commands(page: Path, program: str) -> list[tuple[int, list[str]]]:
    """Return line and arguments of every call of a program in the code of a page; what follows a # is left out."""
    return [
        (block.line + offset, shlex.split(line, comments=True)[1:])
        for block in blocks(page)
        if block.language in ("", "indented", "console", "sh")
        for offset, line in enumerate(block.text.splitlines())
        if line.split(maxsplit=1)[:1] == [program]
    ]


def mentioned(page: Path, program: str) -> list[list[str]]:
    """Return the words of every call of a program that running text mentions as code."""
    return [code.split()[1:] for code in INLINE.findall(prose(page)) if code.startswith(f"{program} ")]
