"""Every file that a docstring, a comment or a page names exists in the repository."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from library.docs_pages import PAGES, ROOT, name_of
from test_layers import ORDER

FOLDERS = ("src", "tests", "docs", "studies", "examples", "benchmarks", ".ci")
NATIVE = (".hpp", ".cpp", ".inl")
FILES = sorted(
    path
    for folder in FOLDERS
    for path in (ROOT / folder).rglob("*")
    if path.suffix in (".py", ".md", *NATIVE) and "__pycache__" not in path.parts
)
EXISTING = {f"/{path.relative_to(ROOT).as_posix()}" for path in [*FILES, *PAGES, *ROOT.glob("*.py")]}
MODULES = {path for file in EXISTING for path in (file.removesuffix(".py"), file.rpartition("/")[0])}
SUBPACKAGES = [name for name in ORDER if name != "errors"]
SOURCES = [path for path in FILES if path.suffix in (".py", *NATIVE)]
POINTER = re.compile(r"(?<![\w/.*{}<>-])[\w./-]*[\w-]\.(?:py|hpp|cpp|md)\b(?![\w(*])")
MODULE = re.compile(rf"(?<![\w/.-])(?:{'|'.join(SUBPACKAGES)})(?:/[a-z_]+)+(?![\w/(]|\.\w)")
"""A module or folder of the package that is named without its ending, like control/tip."""
ELSEWHERE = {
    "docs/site_hooks.py": {"../tests/test_x.py", "folder/file.py"},  # shows how links are written
    "src/counterpoise/identification/wam_methods.py": {"programs/gravitycal.cpp"},  # a file of libbarrett
}
"""Names of files that are not of this repository, by the file that names them."""


def python_texts(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each comment and of each string that stands by itself."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value


def texts(path: Path, source: str) -> Iterator[tuple[int, str]]:
    """Yield what a reader reads: comments and docstrings of code, all of a page."""
    if path.suffix == ".py":
        yield from python_texts(source)
    elif path.suffix in NATIVE:
        for number, line in enumerate(source.splitlines(), 1):
            yield number, line.partition("//")[2]
    else:
        yield 1, source


def dead_pointers(path: Path, source: str) -> list[str]:
    """Return the files that a text names and that do not exist, each with the line of the paragraph."""
    return [
        f"{line}: {name}"
        for line, text in texts(path, source)
        for pattern, existing in ((POINTER, EXISTING), (MODULE, MODULES))
        for name in pattern.findall(text)
        if not any(file.endswith("/" + re.sub(r"^(?:\.{1,2}/)+", "", name)) for file in existing)
    ]


def test_files_that_are_named_exist() -> None:
    """With a folder or without: the end of the path is that of a file of the repository."""
    found = {name_of(path): dead_pointers(path, path.read_text(encoding="utf-8")) for path in [*SOURCES, *PAGES]}
    names = {path: {entry.partition(": ")[2] for entry in dead} for path, dead in found.items() if dead}
    assert names == ELSEWHERE, {path: dead for path, dead in found.items() if dead}


def test_a_dead_pointer_is_seen() -> None:
    """In a docstring, below a constant, in a comment, on a page; code, patterns and names in braces are left alone."""
    source = (
        '"""See control/law.py, laws/law.py and gone.py."""\n'
        'OPEN = "also_gone.py"  # as in lost.md\n"""That of\nold/run.py."""\n# *.py and {name}.py, read.py()\n'
    )
    assert dead_pointers(Path("x.py"), source) == ["2: lost.md", "1: laws/law.py", "1: gone.py", "3: old/run.py"]
    assert dead_pointers(Path("x.hpp"), 'int a; // control/none.hpp\n#include "gone.hpp"') == ["1: control/none.hpp"]
    assert dead_pointers(Path("x.md"), "`law.py`, [a](../src/none.cpp)") == ["1: ../src/none.cpp"]
    assert dead_pointers(Path("x.md"), "see control/tip, sensing/plate/tare, control/tune.") == ["1: control/tune"]
