"""Every Python snippet runs as printed: those of a page one after the other, in one namespace, in their own folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from counterpoise.plants import NATIVE
from library.docs_pages import PAGES, Block, name_of, snippets

pytest.importorskip("mujoco", reason="many snippets drive a simulated arm")
SIMULATING = ("counterpoise.plants", "counterpoise.view")
WITH_SNIPPETS = [page for page in PAGES if snippets(page)]


def run(page: Path, block: Block, namespace: dict[str, Any]) -> None:
    """Run a snippet; an error shows the page and its line."""
    source = "\n" * (block.line - 1) + block.text
    exec(compile(source, str(page), "exec", dont_inherit=True), namespace)


@pytest.mark.parametrize("page", WITH_SNIPPETS, ids=name_of)
def test_snippets_of_a_page_run(page: Path, reader_folder: Path) -> None:
    """No snippet raises, warns or misses a name; the files it reads are those of library/docs_material.py."""
    if not NATIVE and any(word in block.text for block in snippets(page) for word in SIMULATING):
        pytest.skip("without the native stepper a simulated arm takes minutes")
    namespace: dict[str, Any] = {"__name__": "snippet"}
    for block in snippets(page):
        run(page, block, namespace)


def test_a_broken_snippet_is_seen() -> None:
    """A snippet that misses a name fails, with the line of the page."""
    page = Path("page.md")
    with pytest.raises(NameError) as caught:
        run(page, Block("python", 7, "robot.gravity(q)\n"), {})
    assert caught.traceback[-1].lineno + 1 == 7


def test_snippets_are_found() -> None:
    """The README and the pages of the subjects have snippets."""
    names = {name_of(page) for page in WITH_SNIPPETS}
    assert {"README.md", "docs/logs.md", "docs/doctor.md", "docs/calibration.md", "docs/base-sensor.md"} <= names
