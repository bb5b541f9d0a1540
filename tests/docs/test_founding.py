"""The pages of the founding documents: every name in their tables exists, every link resolves, nothing is left open."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from counterpoise.lab import MODULES

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "founding"
DOCUMENTS = ("patent", "wam-calibration", "online-gravity", "lecture", "base-sensor-control")
COLUMNS = ("item", "what it says", "implemented", "tested", "shown", "verdict")
VERDICTS = ("right", "wrong", "reproduced", "partly", "not reproduced", "picture", "left out")
NAME = re.compile(r"`([\w/]+\.py)::([\w.]+)`")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Row:
    """A row of a page's table."""

    page: str
    item: str
    says: str
    implemented: str
    tested: str
    shown: str
    verdict: str

    @property
    def is_implemented(self) -> bool:
        return not self.implemented.startswith("not implemented")

    @property
    def is_tested(self) -> bool:
        return not self.tested.startswith("not tested")

    @property
    def is_shown(self) -> bool:
        return not self.shown.startswith("nothing shown")


@cache
def text_of(page: str) -> str:
    return (PAGES / f"{page}.md").read_text(encoding="utf-8")


def tables(text: str) -> Iterator[list[list[str]]]:
    """The tables of a page, each as lists of cells, without the line of dashes."""
    for block in re.findall(r"(?:^\|.*\|$\n?)+", text, re.MULTILINE):
        rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in block.splitlines()]
        yield [row for row in rows if not all(re.fullmatch(r":?-+:?", cell) for cell in row)]


@cache
def rows_of(page: str) -> tuple[Row, ...]:
    """The rows of the one table of a page whose head has our columns."""
    found = [table for table in tables(text_of(page)) if tuple(table[0]) == COLUMNS]
    assert len(found) == 1, page
    assert all(len(row) == len(COLUMNS) for row in found[0]), page
    return tuple(Row(page, *row) for row in found[0][1:])


ALL = [row for page in DOCUMENTS for row in rows_of(page)]


@cache
def defined(file: str) -> frozenset[str]:
    """Names that a file defines: functions, classes, constants at its top, and Class.member."""
    names: set[str] = set()

    def gather(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names.add(prefix + node.name)
                if isinstance(node, ast.ClassDef):
                    gather(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                parts = [part for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]
                names.update(prefix + part.id for part in parts)

    gather(ast.parse((ROOT / file).read_text(encoding="utf-8")).body, "")
    return frozenset(names)


def names_in(cell: str, folder: str) -> list[tuple[str, str]]:
    return [(folder + file, name) for file, name in NAME.findall(cell)]


@pytest.mark.parametrize("page", DOCUMENTS)
def test_no_cell_is_empty_and_every_verdict_is_one(page: str) -> None:
    for row in rows_of(page):
        assert all((row.item, row.says, row.implemented, row.tested, row.shown, row.verdict)), row
        assert row.verdict.startswith(VERDICTS), row
    items = [row.item for row in rows_of(page)]
    assert len(set(items)) == len(items)


def test_every_piece_of_code_exists() -> None:
    """What is implemented names at least one thing in src/counterpoise that is there."""
    for row in ALL:
        named = names_in(row.implemented, "src/counterpoise/")
        assert bool(named) == row.is_implemented, row
        for file, name in named:
            assert (ROOT / file).is_file(), (row.item, file)
            assert name in defined(file), (row.item, f"{file}::{name}")


def test_every_test_exists() -> None:
    """What is tested names at least one function of ours whose name begins with test_."""
    for row in ALL:
        named = names_in(row.tested, "")
        assert named or not row.is_tested, row
        for file, name in named:
            assert file.startswith("tests/") and name.startswith("test_"), (row.item, file)
            assert (ROOT / file).is_file(), (row.item, file)
            assert name in defined(file), (row.item, f"{file}::{name}")


def test_what_is_shown_can_be_looked_at() -> None:
    """Each row links to a page or names a command; experiments and studies exist."""
    for row in ALL:
        commands = re.findall(r"`((?:counterpoise|python) [^`]+)`", row.shown)
        assert LINK.search(row.shown) or commands or not row.is_shown, row
        for command in commands:
            program, what, *rest = command.split()
            if program == "python":
                assert (ROOT / what).is_file(), command
            elif what == "reproduce":
                assert rest[0] in MODULES, command
            else:
                assert (ROOT / f"src/counterpoise/cli/{what}.py").is_file(), command


@pytest.mark.parametrize("page", [*DOCUMENTS, "index"])
def test_links_resolve(page: str) -> None:
    for target in LINK.findall(text_of(page)):
        assert "://" not in target, target
        file, _, heading = target.partition("#")
        place = PAGES / (file or f"{page}.md")
        assert place.resolve().is_file(), target
        titles = re.findall(r"^#+ (.+)$", place.read_text(encoding="utf-8"), re.MULTILINE)
        assert not heading or heading in {title.lower().replace(" ", "-") for title in titles}, target


@pytest.mark.parametrize("page", DOCUMENTS)
def test_snippets_run(page: str) -> None:
    """Each page's code runs as it stands; its assertions hold."""
    blocks = re.findall(r"^```python\n(.*?)^```$", text_of(page), re.MULTILINE | re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, f"{page}.md", "exec"), {})


@pytest.mark.parametrize("page", DOCUMENTS)
def test_errata_are_listed_and_used(page: str) -> None:
    """Every E-number of the table has its entry below, and every entry is used by a row."""
    used = {number for row in rows_of(page) for number in re.findall(r"\bE\d+\b", row.verdict)}
    listed = set(re.findall(r"^- \*\*(E\d+),", text_of(page), re.MULTILINE))
    assert used == listed
    for row in rows_of(page):
        assert not row.verdict.startswith("wrong") or re.search(r"E\d", row.verdict), row


def test_the_patent_page_has_its_39_claims() -> None:
    claims = [re.fullmatch(r"claim (\d+)", row.item) for row in rows_of("patent")]
    assert [int(found.group(1)) for found in claims if found] == list(range(1, 40))


@pytest.mark.parametrize(
    ("page", "last", "figures", "last_table"),
    [("wam-calibration", 28, 0, 0), ("online-gravity", 1, 5, 0), ("base-sensor-control", 27, 13, 4)],
)
def test_every_numbered_thing_has_a_row(page: str, last: int, figures: int, last_table: int) -> None:
    """Equations, single or as a range or pair; figures; tables."""
    equations: set[int] = set()
    items = [row.item for row in rows_of(page)]
    for item in items:
        if item.startswith("eq"):
            numbers = [int(number) for number in re.findall(r"\((\d+)\)", item)]
            equations.update(range(numbers[0], numbers[-1] + 1) if "–" in item else numbers)
    assert equations == set(range(1, last + 1))
    found = {int(number) for item in items for number in re.findall(r"Fig\. (\d+)", item)}
    assert found == set(range(1, figures + 1))
    assert {int(item.split()[1]) for item in items if item.startswith("Table ")} == set(range(1, last_table + 1))


def test_verdicts_are_those_of_the_papers_page() -> None:
    """A figure or table that ``counterpoise reproduce`` runs again has the verdict that docs/papers.md prints."""
    first = next(tables((ROOT / "docs" / "papers.md").read_text(encoding="utf-8")))
    printed = {line[0]: line[-1] for line in first[1:] if line[-1]}
    checked = 0
    for row in rows_of("base-sensor-control"):
        for name in re.findall(r"`counterpoise reproduce ([\w-]+)`", row.shown):
            if re.match(r"(§3\.1, )?Fig|Table", row.item) and name in printed:
                assert row.verdict.startswith(printed[name]), row
                checked += 1
    assert checked >= 8


def test_the_index_counts_what_the_pages_say() -> None:
    (table,) = [table for table in tables(text_of("index")) if table[0][0] == "document"]
    assert table[0] == ["document", "rows", "implemented", "tested", "shown", "wrong", "partly", "left out"]
    counted = {}
    for page in DOCUMENTS:
        rows = rows_of(page)
        starts = [sum(row.verdict.startswith(word) for row in rows) for word in ("wrong", "partly", "left out")]
        seen = [sum(getattr(row, f"is_{what}") for row in rows) for what in ("implemented", "tested", "shown")]
        counted[page] = [len(rows), *seen, *starts]
    for name, *cells in table[1:]:
        page = LINK.findall(name)
        total = [sum(column) for column in zip(*counted.values(), strict=True)]
        assert [int(cell) for cell in cells] == (counted[page[0].removesuffix(".md")] if page else total), name
    assert len(table) == len(DOCUMENTS) + 2
