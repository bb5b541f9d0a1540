"""Every relative link of the pages leads somewhere: to a file, and to a heading where it names one. No network."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from library.docs_pages import PAGES, name_of, prose

LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\((?P<target>[^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(.*?)(?: +#+)?$", re.MULTILINE)
OUTSIDE = ("http://", "https://", "mailto:")


def anchors(path: Path) -> set[str]:
    """Return what a link may name in a file: headings of a page as GitHub spells them, functions of a Python file."""
    if path.suffix == ".py":
        nodes = ast.parse(path.read_text(encoding="utf-8")).body
        return {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    headings = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in HEADING.findall(prose(path)))
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


def broken(page: Path, text: str) -> list[str]:
    """Return the links of a page that lead nowhere."""
    wrong = []
    for match in LINK.finditer(re.sub(r"`[^`\n]*`", "``", text)):
        target = match["target"]
        if target.startswith(OUTSIDE):
            continue
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        if not path.exists() or (anchor and anchor not in anchors(path)):
            wrong.append(target)
    return wrong


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    """No link of a page is broken."""
    assert not broken(page, prose(page))


def test_broken_links_are_seen(tmp_path: Path) -> None:
    """A missing file and a missing heading are found; good links and code are left alone."""
    page = tmp_path / "page.md"
    text = "# One thing\n[a](page.md#one-thing) [b](page.md#other) [c](none.md) `[d](none.md)` [e](https://x.org/y)"
    page.write_text(text, encoding="utf-8")
    assert broken(page, text) == ["page.md#other", "none.md"]
