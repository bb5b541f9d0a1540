"""What mkdocs does beyond its own: pages from files of the repository, and links to them.

The Markdown files are written for reading in the repository, where a link is relative to its file. In the site

- README, changelog and contributing guide become pages;
- ``[…](../tests/test_x.py#name)`` and plain code like ``folder/file.py::name`` lead to that line of the source;
- a folder in the navigation stands for its pages;
- the reference lists the public names of the package and of each subpackage, made from their listings.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import logging
import posixpath
import re
from functools import cache
from pathlib import Path

from markdown import Markdown
from markdown.extensions import Extension
from markdown.preprocessors import Preprocessor
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_for_filename

import counterpoise

ROOT = Path(__file__).resolve().parents[1]
PAGES = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
STAND_INS = {**PAGES, "SAFETY.md": "safety.md"}
"""Pages of the site that stand for files of the repository."""
NAMES_HERE = re.compile(r"<!-- public names(?: of (?P<subpackage>\w+))? -->")
ROLE = re.compile(r":(?:attr|class|data|func|meth|mod):`~?\.*([^`]+)`")
LINK = re.compile(r"\]\((?P<path>[^)#:\s]+)(?:#(?P<name>[^)\s]*))?\)")
MENTION = re.compile(r"(?<!\[)`(?P<path>[\w/]+\.py)::(?P<name>[\w.]+)`")
log = logging.getLogger("mkdocs.hooks.site")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Write out the folders of the navigation; read roles in docstrings."""
    config.markdown_extensions.append(Roles())
    config.nav = [_written_out(entry, Path(config.docs_dir)) for entry in config.nav or ()]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages made of files outside docs/, the sources that pages lead to, and the colours of code."""
    for name, uri in PAGES.items():
        files.append(File.generated(config, uri, content=(ROOT / name).read_text(encoding="utf-8")))
    style = HtmlFormatter(style="default").get_style_defs(".highlight")
    files.append(File.generated(config, "assets/highlight.css", content=style))
    linked: set[str] = set()
    for page in list(files.documentation_pages()):
        origin, text = _origin(page.src_uri), page.content_string
        linked |= {_target(origin, match["path"]) for match in LINK.finditer(text)}
        linked |= {_mentioned(match["path"]) for match in MENTION.finditer(text)}
    for path in sorted(filter(_is_source, linked)):
        files.append(File.generated(config, f"source/{path}.html", content=_source_html(path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links between files of the repository into links between pages, and named code into links to its source."""
    here = page.file.src_uri

    def link(uri: str, anchor: str | None) -> str:
        return f"({posixpath.relpath(uri, posixpath.dirname(here) or '.')}{'#' + anchor if anchor else ''})"

    def turned(match: re.Match[str]) -> str:
        target = _target(_origin(here), match["path"])
        if _is_source(target):
            return "]" + link(f"source/{target}.html", _line_anchor(target, match["name"], here))
        if target in STAND_INS:
            return "]" + link(STAND_INS[target], match["name"])
        if target.startswith("docs/"):
            return "]" + link(target.removeprefix("docs/"), match["name"])
        return match[0]  # mkdocs says what is wrong with it

    def led(match: re.Match[str]) -> str:
        target = _mentioned(match["path"])
        if not _is_source(target):
            log.warning("%s: %s: there is no such file", here, match[0])
            return match[0]
        return f"[{match[0]}]" + link(f"source/{target}.html", _line_anchor(target, match["name"], here))

    markdown = NAMES_HERE.sub(lambda match: public_names(match["subpackage"]), markdown)
    return MENTION.sub(led, LINK.sub(turned, markdown))


class Roles(Extension):
    """Roles of docstrings, such as :func:`name`, as code."""

    def extendMarkdown(self, md: Markdown) -> None:
        """Register the preprocessor."""
        md.preprocessors.register(_RoleReader(md), "roles", 100)


class _RoleReader(Preprocessor):
    def run(self, lines: list[str]) -> list[str]:
        """Return the lines with plain code in the place of roles."""
        return [ROLE.sub(r"`\1`", line) for line in lines]


def public_names(subpackage: str | None) -> str:
    """Return a table of the public names at the top or of a subpackage; of a subpackage also the text of each."""
    package = importlib.import_module(f"counterpoise.{subpackage}") if subpackage else counterpoise
    rows = ["| name | what it is |", "|---|---|"]
    names = sorted(package.__all__, key=str.lower)
    for name in names:
        home = package.__name__ if subpackage else _home(name)
        rows.append(f"| [`{name}`][{home}.{name}] | {_summary(getattr(package, name))} |")
    texts = [f"::: counterpoise.{subpackage}.{name}" for name in names] if subpackage else []
    return "\n\n".join(["\n".join(rows), *texts])


def _home(name: str) -> str:
    """Full name of the subpackage that documents a name of the top."""
    homes = (
        module
        for _, module in inspect.getmembers(counterpoise, inspect.ismodule)
        if module.__name__.startswith("counterpoise.")
    )
    return next(home.__name__ for home in homes if name in getattr(home, "__all__", dir(home)))


def _summary(value: object) -> str:
    """First paragraph of a docstring, as a cell of a table. The text of a constant is in the source only."""
    documented = inspect.isclass(value) or callable(value)
    text = inspect.getdoc(value) or "" if documented else "A constant or type."
    return ROLE.sub(r"`\1`", " ".join(text.split("\n\n")[0].split()).replace("|", "\\|"))


def _written_out(entry: object, docs: Path) -> object:
    """Replace a folder of the navigation by the pages in it, index first."""
    if isinstance(entry, dict):
        return {title: _written_out(inner, docs) for title, inner in entry.items()}
    if isinstance(entry, str) and entry.endswith("/"):
        names = sorted((path.name for path in (docs / entry).glob("*.md")), key=lambda name: (name != "index.md", name))
        return [entry + name for name in names]
    return entry


def _origin(uri: str) -> str:
    """Path, in the repository, of the file that a page is made of."""
    return {page: name for name, page in PAGES.items()}.get(uri, f"docs/{uri}")


def _target(origin: str, path: str) -> str:
    """Path, in the repository, of what a file links to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(origin), path))


def _mentioned(path: str) -> str:
    """Path, in the repository, of a source file that a text names; within the package its beginning is left out."""
    return path if (ROOT / path).is_file() else f"src/counterpoise/{path}"


def _is_source(path: str) -> bool:
    return not path.startswith(("docs/", "..")) and path.endswith((".py", ".toml")) and (ROOT / path).is_file()


def _source_html(path: str) -> str:
    """Return a source file as an HTML page whose lines can be linked to."""
    text = (ROOT / path).read_text(encoding="utf-8")
    return highlight(text, get_lexer_for_filename(path), HtmlFormatter(full=True, title=path, lineanchors="L"))


def _line_anchor(path: str, name: str | None, here: str) -> str | None:
    """Return the anchor of the line where a name is defined; a warning where it is not."""
    if name and name not in _lines(path):
        log.warning("%s: %s has no %s", here, path, name)
    return f"L-{_lines(path)[name]}" if name and name in _lines(path) else None


@cache
def _lines(path: str) -> dict[str, int]:
    """Return the line of every function, class, method and assigned name of a Python file."""
    lines: dict[str, int] = {}

    def collect(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            names: list[str] = []
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names = [node.name]
            elif isinstance(node, ast.Assign):
                names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                names = [node.target.id]
            lines.update({prefix + name: node.lineno for name in names})
            if isinstance(node, ast.ClassDef):
                collect(node.body, f"{prefix}{node.name}.")

    collect(ast.parse((ROOT / path).read_text(encoding="utf-8")).body if path.endswith(".py") else [], "")
    return lines
