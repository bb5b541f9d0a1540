"""The site: built offline and strictly, and asking nobody for anything when it is read."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import counterpoise as cp
from library.docs_pages import ROOT
from test_layers import ORDER as SUBPACKAGES

pytest.importorskip("mkdocs", reason="the extra 'docs' builds the site")
pytest.importorskip("mkdocstrings", reason="the extra 'docs' builds the site")
FETCHING = {"link": "href", "script": "src", "img": "src", "iframe": "src", "source": "src", "object": "data"}
FETCHING_TAG = re.compile(rf"<(?:{'|'.join(FETCHING)})\b(?:[^>\"']|\"[^\"]*\"|'[^']*')*>", re.IGNORECASE)


class Fetched(HTMLParser):
    """Collects what a browser would fetch to show a page."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        address = values.get(FETCHING.get(tag, ""))
        if address and not (tag == "link" and values.get("rel") == "canonical"):
            self.addresses.append(address)


def fetched(text: str) -> list[str]:
    parser = Fetched()
    for tag in FETCHING_TAG.findall(text):  # the parser is slow, and most of a page's tags fetch nothing
        parser.feed(tag)
        parser.reset()  # else what follows a script's tag is taken for the script
    return parser.addresses


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site. A broken link, a missing page, a page outside the navigation or any other warning ends it."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False)
    assert built.returncode == 0 and "WARNING" not in built.stderr, built.stderr
    return folder


def test_pages_fetch_nothing_from_elsewhere(site: Path) -> None:
    """Scripts, styles, pictures and fonts are the site's own, and are there."""
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 40
    for page in pages:
        for address in fetched(page.read_text(encoding="utf-8")):
            name = address.partition("?")[0].partition("#")[0]
            local = site / name.lstrip("/") if name.startswith("/") else page.parent / name
            assert address.startswith("data:") or local.is_file(), f"{page.relative_to(site)}: {address}"
    for style in site.rglob("*.css"):
        text = style.read_text(encoding="utf-8")
        assert not re.search(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//", text), style.name


def test_outside_addresses_are_seen() -> None:
    """The check above sees what a page fetches, and not what it links to."""
    text = '<a href="https://a.org"></a><script src="https://b.org/x.js"></script><link rel="stylesheet" href="c.css">'
    assert fetched(text) == ["https://b.org/x.js", "c.css"]


def test_reference_has_every_public_name(site: Path) -> None:
    """The reference leads from each name at the top of the package to its documentation."""
    index = (site / "reference" / "index.html").read_text(encoding="utf-8")
    for name in cp.__all__:
        link = re.search(rf'href="([\w-]+\.html)#([\w.]+)"[^>]*><code>{name}</code>', index)
        assert link, name
        assert f'id="{link[2]}"' in (site / "reference" / link[1]).read_text(encoding="utf-8")


def test_reference_documents_the_public_api_and_nothing_else(site: Path) -> None:
    """Each public name of a subpackage has one text, on the page of the subpackage; what is private has none."""
    shown: list[str] = []
    for page in sorted((site / "reference").glob("*.html")):
        objects = re.findall(r'<h2 id="counterpoise\.(\w+)\.(\w+)"', page.read_text(encoding="utf-8"))
        assert {subpackage for subpackage, _ in objects} <= {page.stem}
        shown += [f"{subpackage}.{name}" for subpackage, name in objects if subpackage != "errors"]
    listed = {
        module: importlib.import_module(f"counterpoise.{module}").__all__
        for module in SUBPACKAGES
        if module not in ("errors", "cli")
    }
    assert sorted(shown) == sorted(f"{module}.{name}" for module, names in listed.items() for name in names)


def test_conventions_lead_to_their_tests(site: Path) -> None:
    """A row's link goes to the line of the source where the test begins."""
    page = (site / "conventions.html").read_text(encoding="utf-8")
    links = re.findall(r'href="(source/tests/[\w/]+\.py\.html)#(L-\d+)"><code>(\w+)</code>', page)
    assert len(links) >= 20
    for address, anchor, name in links:
        _, _, rest = (site / address).read_text(encoding="utf-8").partition(f'id="{anchor}"')
        assert name in rest.partition("\n")[0]


def test_nothing_is_left_unread(site: Path) -> None:
    """No include, no role of a docstring and no list without a blank line before it stays as text in a page."""
    for page in site.rglob("*.html"):
        text = re.sub(r"<(pre|code)\b.*?</\1>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for sign in ("--8&lt;--", ":func:", ":class:", ":meth:", "<p>:::"):
            assert sign not in text, f"{page.relative_to(site)}: {sign}"
        assert not re.search(r"<p>[^<]*\n(?:-|\d\.) ", text), page.relative_to(site)
