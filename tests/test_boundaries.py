"""The boundaries between the subpackages: what one may use of another, and what users may rely on."""

from __future__ import annotations

import ast
import importlib
import inspect
import io
import itertools
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from library.docs_pages import PAGES, snippets
from test_layers import ORDER

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "counterpoise"
SUBPACKAGES = tuple(name for name in ORDER if (SOURCE / name).is_dir())
WITH_NAMES = tuple(name for name in SUBPACKAGES if name != "cli")
"""Subpackages with a public API; the command line's is its commands."""
ENTRY_POINT = "counterpoise.cli.main"
"""The console script of pyproject.toml: whoever runs commands in his own process imports it."""
OF_THE_TOP = {"__version__", "errors", *SUBPACKAGES}
"""What a subpackage may import from the top."""
NATIVE = "native code is compared with its specification"
TESTS_OF_SEVERAL = {
    "cli/test_bench.py": "the command prints results of the benchmark that are made up",
    "cli/test_self_check.py": "the command compares native code with the cases of its specification",
    "dynamics/test_native_check.py": NATIVE,
    "fitting/test_terms.py": "terms are put into recordings and fitted by the solver of the identification",
    "foundation/test_atomic.py": "what a command writes is seen with faults of the disk",
    "identification/test_calibration_file.py": "files hold the terms that are in every file",
    "library/native_builds.py": NATIVE,
    "sensing/plate/test_joint_torques.py": NATIVE,
    "store_results.py": NATIVE,
    "tasks/test_rig.py": "a rig refuses what a control loop refuses, in the same words",
    "test_extras.py": "the extras that a command knows are held against pyproject.toml",
    "test_installed.py": NATIVE,
    "test_native_arguments.py": NATIVE,
    "library/twin.py": NATIVE,
}
"""Tests and helpers that import private modules of another subpackage, each with a reason."""
SCRAP_LINES = 60
LISTED_BY_FILE = {
    "cli": "one file a command",
    "plants.presets": "one file a preset",
    "lab.papers": "one file an experiment",
    "lab.tour": "one file a stop of the tour",
}
"""Packages in which a small file with one importer is an entry of a list."""


# ------------------------------------------------------------------------------------------------------ reading sources


def imports(tree: ast.AST, package: tuple[str, ...] = ()) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each imported module of counterpoise by its full name, and the names that are taken from it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "counterpoise":
                    yield alias.name, ()
        elif isinstance(node, ast.ImportFrom):
            stem = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join((*stem, *filter(None, [node.module])))
            if module.split(".")[0] == "counterpoise":
                yield module, tuple(alias.name for alias in node.names)


def imports_of(path: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    inside = path.is_relative_to(SOURCE)
    package = ("counterpoise", *path.relative_to(SOURCE).parts[:-1]) if inside else ()
    return imports(ast.parse(path.read_text(encoding="utf-8")), package)


def listed(subpackage: str) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """Return the module of each public name, of each shared name and of each name for type checkers."""
    tree = ast.parse((SOURCE / subpackage / "__init__.py").read_text(encoding="utf-8"))
    (call,) = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "lazy_names")
    tables = [call.args[1], *(keyword.value for keyword in call.keywords if keyword.arg == "shared")]
    public, shared = (
        {name: module for module, names in table.items() for name in names}
        for table in (*map(ast.literal_eval, tables), {})[:2]
    )
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    checked = {
        item.name: node.module or "" for node in block.body if isinstance(node, ast.ImportFrom) for item in node.names
    }
    return public, shared, checked


def names_of(subpackage: str) -> set[str]:
    """Return every name that other subpackages may import; ``lazy_names`` itself cannot be lazy."""
    public, shared, _ = listed(subpackage)
    return {*public, *shared} | ({"lazy_names"} if subpackage == "foundation" else set())


def modules_of(subpackage: str) -> set[str]:
    folder = SOURCE / subpackage
    return {".".join(path.relative_to(folder).with_suffix("").parts) for path in folder.rglob("*.py")}


# ---------------------------------------------------------------------------------------------------------- the listing


@pytest.mark.parametrize("subpackage", WITH_NAMES)
def test_names_are_listed_once(subpackage: str) -> None:
    """Public and shared names are apart; each is imported, from the same module, for type checkers; each exists."""
    public, shared, checked = listed(subpackage)
    assert not public.keys() & shared.keys()
    assert checked == public | shared
    module = importlib.import_module(f"counterpoise.{subpackage}")
    assert module.__all__ == sorted(public)
    assert all(getattr(module, name) is not None for name in checked)


@pytest.mark.parametrize("subpackage", WITH_NAMES)
def test_no_name_is_hidden_by_a_module(subpackage: str) -> None:
    """No listed name is that of a module of the subpackage: importing the module would replace it."""
    assert not names_of(subpackage) & modules_of(subpackage)


@pytest.mark.parametrize("subpackage", ["", *WITH_NAMES])
def test_every_public_name_has_a_docstring(subpackage: str) -> None:
    """Classes and functions have one of their own, constants a text below them in the source."""
    package = importlib.import_module(f"counterpoise.{subpackage}".rstrip("."))
    for name in package.__all__:
        value = getattr(package, name)
        if inspect.isclass(value) or inspect.isroutine(inspect.unwrap(value)):
            text = value.__doc__ or ""
            assert text and not text.startswith(f"{name}("), f"{subpackage}.{name} has no docstring"
        else:
            module = SOURCE.joinpath(subpackage, *listed(subpackage)[0][name].split("."))
            file = module / "__init__.py" if module.is_dir() else module.with_suffix(".py")
            assert name in documented_constants(file), f"{subpackage}.{name} has no text below it"


def documented_constants(path: Path) -> set[str]:
    """Return the names that a module assigns with a text in the next statement."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return {
        target.id
        for node, after in itertools.pairwise(body)
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and isinstance(after, ast.Expr)
        and isinstance(after.value, ast.Constant)
        and isinstance(after.value.value, str)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }


@pytest.mark.parametrize("subpackage", WITH_NAMES)
def test_every_subpackage_has_a_page_of_the_reference(subpackage: str) -> None:
    """The page shows all public names (docs/site_hooks.py lists them; tests/docs/test_site.py reads the built site)."""
    page = ROOT / "docs" / "reference" / f"{subpackage}.md"
    assert page.read_text(encoding="utf-8").count(f"<!-- public names of {subpackage} -->") == 1


# ------------------------------------------------------------------------------------------------- between subpackages


def foreign(path: Path) -> list[str]:
    """Return the imports of a source file that reach behind the listing of another subpackage."""
    own = path.relative_to(SOURCE).parts[0]
    faults = []
    for module, names in imports_of(path):
        parts = module.split(".")
        if len(parts) == 1:
            faults += [f"{module}.{name}" for name in names if name not in OF_THE_TOP]
        elif parts[1] not in (own, "errors"):
            faults += [module] if len(parts) > 2 else [f"{module}.{name}" for name in {*names} - names_of(parts[1])]
    return faults


@pytest.mark.parametrize("subpackage", SUBPACKAGES)
def test_another_subpackage_is_used_by_its_names(subpackage: str) -> None:
    """From another subpackage a module imports only names that its ``__init__`` lists, and no module of it."""
    faults = {str(path.relative_to(SOURCE)): foreign(path) for path in sorted((SOURCE / subpackage).rglob("*.py"))}
    assert {path: found for path, found in faults.items() if found} == {}


def test_the_top_uses_the_names_of_its_subpackages() -> None:
    """The top of the package imports no module of a subpackage either."""
    assert [module for module, _ in imports_of(SOURCE / "__init__.py") if module.count(".") > 1] == []


def test_the_check_sees_a_private_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative or absolute, of a module or of a name that is not listed."""
    monkeypatch.setitem(globals(), "SOURCE", tmp_path)
    (tmp_path / "view").mkdir()
    (tmp_path / "dynamics").mkdir()
    (tmp_path / "dynamics" / "__init__.py").write_text(
        "if TYPE_CHECKING:\n    from .robot import Robot as Robot\n_ = lazy_names(__name__, {'robot': ('Robot',)})\n"
    )
    path = tmp_path / "view" / "page.py"
    path.write_text(
        "from ..dynamics import Robot, secret\nfrom ..dynamics.robot import Robot\nimport counterpoise.dynamics.tree\n"
        "from .. import errors, catalog\nfrom . import scene\n"
    )
    assert sorted(foreign(path)) == [
        "counterpoise.catalog",
        "counterpoise.dynamics.robot",
        "counterpoise.dynamics.secret",
        "counterpoise.dynamics.tree",
    ]


def private_imports(path: Path, own: str) -> set[str]:
    """Return the modules of other subpackages, and the names that these do not list, that a test imports."""
    found = set()
    for module, names in imports_of(path):
        parts = module.split(".")
        if len(parts) > 2:
            found.add(module)
        elif len(parts) == 2 and parts[1] != "errors":
            found |= {
                f"{module}.{name}" for name in {*names} - (names_of(parts[1]) if parts[1] in WITH_NAMES else set())
            }
    return {name for name in found if name.split(".")[1] != own and name != ENTRY_POINT}


def test_tests_import_private_modules_of_their_own_subpackage_only() -> None:
    """A test of several subpackages uses what they list; the few exceptions are named with a reason, and needed."""
    folder = ROOT / "tests"
    across = {}
    for path in sorted(folder.rglob("*.py")):
        name = path.relative_to(folder)
        if found := private_imports(path, name.parts[0]):
            across[name.as_posix()] = found
    assert {name: found for name, found in across.items() if name not in TESTS_OF_SEVERAL} == {}
    assert across.keys() == TESTS_OF_SEVERAL.keys()


def test_the_tests_share_one_library() -> None:
    """Helpers live in tests/library, whose ``__init__`` names each module; each is used by another file."""
    folder = ROOT / "tests"
    beside = {path.stem for path in folder.glob("*.py") if not path.stem.startswith("test_")}
    assert beside == {"conftest", "store_results"}
    modules = {path.stem for path in (folder / "library").glob("*.py")} - {"__init__"}
    about = (folder / "library" / "__init__.py").read_text(encoding="utf-8")
    named = set(re.findall(r"\b[a-z_]+\b", about))
    assert modules <= named and {name for name in named if "_" in name} <= modules
    used: set[str] = set()
    for path in [*folder.rglob("*.py"), *(ROOT / "studies").glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "library":
                used |= {node.module.removeprefix("library.")} if "." in node.module else {a.name for a in node.names}
    assert modules == used


# ------------------------------------------------------------------------------------------------------- what users see


def users_code() -> Iterator[tuple[str, str]]:
    """Yield name and Python text of everything that users are shown or run."""
    for path in sorted([*(ROOT / "examples").rglob("*.py")]):
        yield path.name, path.read_text(encoding="utf-8")
    for page in PAGES:
        for block in snippets(page):
            yield f"{page.name}:{block.line}", block.text


@pytest.mark.parametrize(("place", "text"), [pytest.param(place, text, id=place) for place, text in users_code()])
def test_examples_use_the_public_api(place: str, text: str) -> None:
    """Examples and snippets import ``counterpoise`` and public names one level down; attributes reach no deeper."""
    for module, names in imports(ast.parse(text)):
        assert module.count(".") < 2, f"{place}: {module} is private"
        if module != "counterpoise.errors":
            public = {*importlib.import_module(module).__all__} | (OF_THE_TOP if module == "counterpoise" else set())
            assert {*names} <= public, f"{place}: {module} lists no {', '.join(sorted({*names} - public))}"
    for subpackage, name in re.findall(r"\bcp\.(\w+)\.(\w+)", text):
        if subpackage in WITH_NAMES:
            assert name in importlib.import_module(f"counterpoise.{subpackage}").__all__, (
                f"{place}: cp.{subpackage}.{name}"
            )


def test_studies_and_benchmarks_use_listed_names() -> None:
    """What measures the package from outside imports what its subpackages list, or the console script."""
    paths = [path for folder in ("studies", "benchmarks", "docs") for path in sorted((ROOT / folder).rglob("*.py"))]
    deep = {f"{path.name}: {module}" for path in paths for module, _ in imports_of(path) if module.count(".") > 1}
    assert deep == {
        "make_command_line.py: counterpoise.cli.main",
        "make_command_line.py: counterpoise.cli.options",
    }


# --------------------------------------------------------------------------------------------------------------- scraps


def code_lines(path: Path) -> int:
    """Return how many lines hold code: no docstrings, comments and blanks."""
    text = path.read_text(encoding="utf-8")
    documented: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(
            node
        ):
            first = node.body[0]
            documented |= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    layout = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    tokens = [token for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type not in layout]
    return len({line for token in tokens for line in range(token.start[0], token.end[0] + 1)} - documented)


def scraps(source: Path) -> list[str]:
    """Return the short modules that one other module of the same subpackage imports, and nobody else."""
    importers: dict[str, set[str]] = {}
    listings = {str(path.relative_to(source)) for path in source.rglob("__init__.py")}
    for path in sorted(source.rglob("*.py")):
        package = ("counterpoise", *path.relative_to(source).parts[:-1])
        for module, names in imports(ast.parse(path.read_text(encoding="utf-8")), package):
            for full in (module, *(f"{module}.{name}" for name in names)):
                importers.setdefault(full.removeprefix("counterpoise."), set()).add(str(path.relative_to(source)))
    found = []
    found = []
    for path in sorted(source.rglob("*.py")):
        name = ".".join(path.relative_to(source).with_suffix("").parts)
        users = importers.get(name, set())
        if len(users) == 1 and not users & listings and path.name != "__init__.py" and code_lines(path) < SCRAP_LINES:
            found.append(name)
    return found


def test_no_scraps() -> None:
    """A helper with one importer lives in its importer, unless it is an entry of a list or has names for others."""
    assert [name for name in scraps(SOURCE) if name.rpartition(".")[0] not in LISTED_BY_FILE] == []


def test_a_scrap_is_seen(tmp_path: Path) -> None:
    """A short module with one importer is found; one with two is none."""
    for name in ("one", "two", "first", "second"):
        (tmp_path / "view").mkdir(exist_ok=True)
        (tmp_path / "view" / f"{name}.py").write_text('"""A module."""\n\nX = 1\n', encoding="utf-8")
    (tmp_path / "view" / "first.py").write_text("from . import one\nfrom .two import X\n", encoding="utf-8")
    (tmp_path / "view" / "second.py").write_text("from .two import X\n", encoding="utf-8")
    assert scraps(tmp_path) == ["view.one"]
