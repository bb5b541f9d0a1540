"""Changes the source in small ways, one at a time, and looks whether a test notices: ``make mutants``.

A mutant is one changed sign, index, constant or condition. A sample of all that there are is drawn, by a seed. For each
the nearby tests are run: those of the same subpackage that import the module, or else those of what imports it. With
``--further`` the other tests of the subpackage follow where none of them fails, without those that are slow.
Specifications that native code shadows are also run with the tests that compare the two. A mutant at which no test
fails has survived: a test is missing, or the change means nothing (CONTRIBUTING.md says how to tell).

A test that kills a mutant is run once without it; if it fails there as well it does not count. Everything happens in
copies of the tree, so that the tree itself stays as it is whatever ends this.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import json
import math
import os
import queue
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

ROOT = Path(__file__).resolve().parents[1]
EQUIVALENT = Path(".ci", "equivalent_mutants.toml")
PACKAGE = Path("src", "counterpoise")
SUBPACKAGES = ("dynamics", "fitting", "identification", "sensing", "control", "tasks")
TWINS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        [
            f"dynamics/{stem}.py"
            for stem in (
                "gravity",
                "inputs",
                "kinematics",
                "newton_euler",
                "reference",
                "regressors",
                "tree",
            )
        ],
        ("tests/dynamics/test_kernels.py", "tests/dynamics/test_inputs.py"),
    ),
    **dict.fromkeys(
        [f"sensing/plate/{stem}.py" for stem in ("gravity_wrench", "joint_analyzer")],
        ("tests/sensing/plate/test_joint_torques.py",),
    ),
    "control/filter_core.py": ("tests/control/test_filter_conformance.py", "tests/control/test_safety.py"),
    "sensing/hold.py": ("tests/sensing/test_hold.py",),
    "sensing/square_root.py": ("tests/sensing/test_square_root.py",),
}
"""Specifications that native code shadows, and the tests that compare the two."""
LIMIT = 300.0
"""Time for the tests of one mutant [s]."""
FURTHEST = 3
"""How many imports a test may be away from the module that it is run for."""
LONG_WORDS = 90
"""A change is shown within its surroundings where these are no longer than this."""
SLOW = re.compile(r"_study|monte_carlo|_real_|_claims")
"""Test files that are run last."""
LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", "build", "dist", "site", "*.egg-info", "__pycache__", ".*_cache", ".hypothesis", ".coverage*"
)

SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    one: other
    for pair in (
        (ast.Add, ast.Sub),
        (ast.And, ast.Or),
        (ast.Lt, ast.LtE),
        (ast.Gt, ast.GtE),
        (ast.Eq, ast.NotEq),
        (ast.Is, ast.IsNot),
        (ast.In, ast.NotIn),
    )
    for one, other in (pair, pair[::-1])
}
"""Operators that become one another."""

Verdict = Literal["killed", "survived", "unfinished", "untested"]


# ------------------------------------------------------------------------------------------------------------- mutants


@dataclass(frozen=True, slots=True)
class Site:
    """One change that can be made.

    Attributes:
        file: The file, from the root.
        line: Line number, from 1.
        source: The line, without white space around it.
        change: What is changed into what.
        start: First byte that is replaced.
        end: First byte behind what is replaced.
        text: What comes there instead.
    """

    file: str
    line: int
    source: str
    change: str
    start: int
    end: int
    text: str

    @property
    def key(self) -> tuple[str, str, str]:
        """What names the mutant while lines move."""
        return self.file, self.source, self.change

    def applied(self, data: bytes) -> bytes:
        """Return the source with the change."""
        return data[: self.start] + self.text.encode() + data[self.end :]


def sites(data: bytes, file: str) -> list[Site]:
    """Return every change that can be made in a source file."""
    tree = ast.parse(data)
    lines = data.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    found = []
    for change in _changes(tree, (), in_slice=False):
        node = change.node
        assert node.end_lineno is not None and node.end_col_offset is not None
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        text = ast.unparse(change.other)
        if isinstance(node, ast.expr) and not isinstance(node, ast.Constant):
            text = f"({text})"
        source = lines[node.lineno - 1].decode().strip()
        found.append(Site(file, node.lineno, source, change.words(), start, end, text))
    return _numbered(found)


def _numbered(found: list[Site]) -> list[Site]:
    """Tell changes apart that read the same on one line."""
    seen: Counter[tuple[int, str]] = Counter()
    named = []
    for site in found:
        seen[site.line, site.change] += 1
        times = seen[site.line, site.change]
        named.append(site if times == 1 else replace(site, change=f"{site.change} (no. {times})"))
    return named


@dataclass(frozen=True, slots=True)
class _Change:
    """A node, what comes in its place, and what is around it, the nearest last."""

    node: ast.expr | ast.AugAssign
    other: ast.expr | ast.AugAssign
    around: tuple[ast.AST, ...]

    def words(self) -> str:
        """Return the change in words: with the expression around it, where that is short."""
        shown: tuple[str, str] = (ast.unparse(self.node), ast.unparse(self.other))
        inner = self.node.operand if isinstance(self.node, ast.UnaryOp) else self.node
        if not isinstance(inner, ast.Constant):
            return " -> ".join(shown)
        for outer in reversed(self.around):
            if not isinstance(outer, ast.expr | ast.keyword | ast.Slice | ast.Assign | ast.AnnAssign | ast.Return):
                break
            before = ast.unparse(outer)
            if len(before) > LONG_WORDS:
                break
            shown = before, ast.unparse(_replaced(outer, self.node, self.other))
            if not isinstance(outer, ast.keyword | ast.Slice | ast.Tuple | ast.UnaryOp):
                break
        return " -> ".join(shown)


def _replaced(node: Any, old: ast.AST, new: ast.AST) -> Any:
    """Return a copy of a tree with another node in the place of one."""
    if node is old:
        return new
    if isinstance(node, list):
        return [_replaced(item, old, new) for item in node]
    if not isinstance(node, ast.AST):
        return node
    fields = {name: _replaced(value, old, new) for name, value in ast.iter_fields(node)}
    return ast.copy_location(type(node)(**fields), node)


def _changes(node: ast.AST, around: tuple[ast.AST, ...], *, in_slice: bool) -> Iterator[_Change]:
    """Go through a tree; leave out what is no computation: imports, annotations, messages."""
    if isinstance(node, ast.Import | ast.ImportFrom | ast.Raise | ast.Assert | ast.JoinedStr | ast.pattern):
        return
    if isinstance(node, ast.expr | ast.AugAssign):
        for other in _others(node, in_slice=in_slice):
            yield _Change(node, other, around)
    inner = (*around, node)
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        if name == "body" and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if name == "slice" and isinstance(node, ast.Subscript):
            if ast.unparse(node.value).endswith("Literal"):
                continue
            sliced = True
        else:
            sliced = in_slice and isinstance(node, ast.Tuple | ast.Slice | ast.UnaryOp | ast.BinOp)
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, ast.keyword) and item.arg == "strict":
                continue
            if isinstance(item, ast.AST):
                yield from _changes(item, inner, in_slice=sliced)


def _others(node: ast.expr | ast.AugAssign, *, in_slice: bool) -> Iterator[ast.expr | ast.AugAssign]:
    """Return what may come in the place of a node."""
    match node:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as sign, right=right):
            if not _is_text(left) and not _is_text(right):
                yield ast.BinOp(left, SWAPPED[type(sign)](), right)  # type: ignore[arg-type]
        case ast.AugAssign(target=target, op=ast.Add() | ast.Sub() as sign, value=value):
            if not _is_text(value):
                yield ast.AugAssign(target, SWAPPED[type(sign)](), value)  # type: ignore[arg-type]
        case ast.BoolOp(op=joined, values=values):
            yield ast.BoolOp(SWAPPED[type(joined)](), values)  # type: ignore[arg-type]
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            for place, op in enumerate(ops):
                if type(op) in SWAPPED:
                    yield ast.Compare(left, [*ops[:place], SWAPPED[type(op)](), *ops[place + 1 :]], comparators)  # type: ignore[list-item]
        case ast.UnaryOp(op=ast.USub() | ast.Not(), operand=operand):
            yield operand
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)) if in_slice:
            yield ast.Constant(value + 1)
            yield ast.Constant(value - 1)
        case ast.Constant(value=float(value)):
            if math.isfinite(changed := 2.0 * value if value else 1.0):
                yield ast.Constant(changed)


def _is_text(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp):
        return _is_text(node.left) or _is_text(node.right)
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


def all_sites(root: Path, only: Sequence[str] = ()) -> list[Site]:
    """Return every change that can be made in the subpackages; in some files or folders only, where these are named.

    Raises:
        SystemExit: A file or folder is not among them.
    """
    files = [
        path
        for subpackage in SUBPACKAGES
        for path in sorted((root / PACKAGE / subpackage).rglob("*.py"))
        if path.name != "__init__.py" and "native" not in path.relative_to(root).parts
    ]
    if only:
        wanted = [(root / name).resolve() for name in only]
        for name, place in zip(only, wanted, strict=True):
            if not any(path.is_relative_to(place) for path in files):
                raise SystemExit(f"mutants: {name} holds no source of {', '.join(SUBPACKAGES)}")
        files = [path for path in files if any(path.is_relative_to(place) for place in wanted)]
    return [site for path in files for site in sites(path.read_bytes(), path.relative_to(root).as_posix())]


def equivalent(root: Path) -> list[dict[str, str]]:
    """Return the mutants that are known to mean nothing: file, line, change and proof of each.

    Raises:
        SystemExit: One has not these four.
    """
    path = root / EQUIVALENT
    listed: list[dict[str, str]] = tomllib.loads(path.read_text("utf-8")).get("mutant", []) if path.is_file() else []
    for entry in listed:
        if set(entry) != {"file", "line", "change", "proof"} or not all(entry.values()):
            raise SystemExit(f"mutants: {EQUIVALENT}: {entry} needs file, line, change and proof, and nothing else")
    return listed


# ----------------------------------------------------------------------------------------------------------- test files


class Nearby:
    """Finds the tests to run for a file."""

    def __init__(self, root: Path) -> None:
        """Read who imports whom."""
        self._root = root
        package = root / PACKAGE
        home: dict[str, str] = {}  # where a name that a subpackage hands on is made
        for path in package.rglob("__init__.py"):
            home.update(_handed_on(path, _module(path.parent, package.parent)))
        self._importers: dict[str, set[str]] = {}
        for path in package.rglob("*.py"):
            name = _module(path, package.parent)
            if path.name == "__init__.py":
                continue  # it hands names on, and everything imports it
            for imported in _imported(path, name):
                self._importers.setdefault(home.get(imported, imported), set()).add(name)
        self._tests = {
            path.relative_to(root).as_posix(): {home.get(name, name) for name in _imported(path, "")}
            for path in (root / "tests").rglob("test_*.py")
        }

    def tests(self, file: str) -> tuple[str, ...]:
        """Return the test files for a source file, from the root, the likeliest first."""
        module = _module(self._root / file, self._root / PACKAGE.parent)
        path = Path(file).relative_to(PACKAGE)
        subpackage, stem = path.parts[0], path.stem
        near = {name: imported for name, imported in self._tests.items() if name.startswith(f"tests/{subpackage}/")}
        own = {name for name in near if Path(name).stem == f"test_{stem}"}
        chosen, level = set(own), {module}
        for _ in range(FURTHEST):
            chosen |= {name for name, imported in near.items() if imported & level}
            if chosen:
                break
            level |= {one for name in level for one in self._importers.get(name, ())}
        chosen = chosen or set(near)
        twins = [name for name in TWINS.get(path.as_posix(), ()) if (self._root / name).is_file()]

        def distance(name: str) -> tuple[bool, bool, int, str]:
            """Tests that import little are about little, and quick."""
            return name not in own, SLOW.search(name) is not None, len(near[name]), name

        return (*twins, *sorted(chosen - set(twins), key=distance))

    def further(self, file: str) -> tuple[str, ...]:
        """Return the other test files of the subpackage but the slow ones, those that import little first."""
        subpackage = Path(file).relative_to(PACKAGE).parts[0]
        near = {name: imported for name, imported in self._tests.items() if name.startswith(f"tests/{subpackage}/")}
        left = near.keys() - set(self.tests(file))
        return tuple(sorted((name for name in left if not SLOW.search(name)), key=lambda name: (len(near[name]), name)))


def _module(path: Path, source: Path) -> str:
    return ".".join(path.relative_to(source).with_suffix("").parts)


def _imported(path: Path, module: str) -> set[str]:
    """Return the names of the modules that a file imports, and of what it takes from them."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = module.split(".")[: -node.level] if node.level else []
            name = ".".join([*start, *([node.module] if node.module else [])])
            found.add(name)
            found.update(f"{name}.{alias.name}" for alias in node.names)
    return found


def _handed_on(path: Path, package: str) -> dict[str, str]:
    """Return the module of every name that an ``__init__.py`` takes from the modules beside it."""
    return {
        f"{package}.{alias.asname or alias.name}": f"{package}.{node.module}"
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module
        for alias in node.names
    }


# -------------------------------------------------------------------------------------------------------------- running


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a mutant.

    Attributes:
        site: The mutant.
        verdict: "killed", "survived", "unfinished" where the time was up and no test had failed, or "untested".
        by: The test that failed; "" for none.
        tests: The test files that were run.
        seconds: How long they took [s].
    """

    site: Site
    verdict: Verdict
    by: str
    tests: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class _Run:
    """How a run of pytest ended: its exit status, None where the time was up, and the first test that failed."""

    status: int | None
    failed: str
    seconds: float


class Bench:
    """Copies of the tree in which mutants are tried."""

    def __init__(self, root: Path, folder: Path, jobs: int, limit: float, *, further: bool = False) -> None:
        """Make a copy for each job."""
        self._root, self._limit, self._further = root, limit, further
        self._nearby = Nearby(root)
        self._free: queue.SimpleQueue[Path] = queue.SimpleQueue()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._stopped = False
        self._innocent: dict[str, bool] = {}
        self._calm: dict[tuple[str, ...], float] = {}
        self._broken: set[str] = set()
        for job in range(jobs):
            copy = folder / f"tree{job}"
            shutil.copytree(root, copy, ignore=LEFT_OUT, symlinks=True)
            self._free.put(copy)
        self._check_in_use(copy)

    @property
    def broken(self) -> list[str]:
        """The tests that fail without any mutant."""
        return sorted(self._broken)

    def stop(self) -> None:
        """End what is running; what is tried afterwards ends at once."""
        with self._lock:
            self._stopped = True
            for process in self._running:
                _kill(process)

    def tried(self, site: Site) -> Result:
        """Run the tests near a mutant."""
        tests = self._nearby.tests(site.file)
        if not tests:
            return Result(site, "untested", "", tests, 0.0)
        copy = self._free.get()
        try:
            result = self._tried(site, tests, copy)
            others = self._nearby.further(site.file) if self._further and result.verdict == "survived" else ()
            if others:
                second = self._tried(site, others, copy)
                seconds = result.seconds + second.seconds
                # Tests that could not be run, or not in time, show nothing: then it has survived those that were.
                result = replace(second if second.verdict in ("killed", "survived") else result, seconds=seconds)
                result = replace(result, tests=(*tests, *others))
            return result
        finally:
            self._free.put(copy)

    def _tried(self, site: Site, tests: tuple[str, ...], copy: Path) -> Result:
        path = copy / site.file
        left_out: set[str] = set()
        while True:
            clean = (self._root / site.file).read_bytes()
            try:
                self._write(path, site.applied(clean))
                run = self._run(copy, tests)
            finally:
                self._write(path, clean)
            if run.status == 0:
                return Result(site, "survived", "", tests, run.seconds)
            if run.status is None:
                hangs = self._calm_time(copy, tests) < 0.5 * self._limit
                return Result(site, "killed" if hangs else "unfinished", "time" if hangs else "", tests, run.seconds)
            if run.status == 5:
                return Result(site, "untested", "", tests, run.seconds)
            if not run.failed or run.status in (3, 4):  # nothing could be imported, or the interpreter itself ended
                starts = self._starts(copy, tests)
                return Result(site, "killed" if starts else "untested", "start" if starts else "", tests, run.seconds)
            if self._passes_alone(copy, run.failed):
                return Result(site, "killed", run.failed, tests, run.seconds)
            self._broken.add(run.failed)
            if "::" not in run.failed:  # the whole file cannot be read
                tests = tuple(name for name in tests if name != run.failed)
            if not tests or run.failed in left_out:
                return Result(site, "untested", "", tests, run.seconds)
            left_out.add(run.failed)

    def _passes_alone(self, copy: Path, test: str) -> bool:
        """Say whether a test passes without a mutant; a broken one shows nothing."""
        if test in self._broken:
            return False
        if test not in self._innocent:
            status = self._run(copy, (test,)).status
            if status in (4, 5):  # names that pytest prints and does not take
                status = self._run(copy, (test.partition("::")[0],)).status
            self._innocent[test] = status == 0
        return self._innocent[test]

    def _starts(self, copy: Path, tests: tuple[str, ...]) -> bool:
        """Say whether pytest finds the tests without a mutant."""
        return self._run(copy, ("--collect-only", *tests)).status == 0

    def _calm_time(self, copy: Path, tests: tuple[str, ...]) -> float:
        """Return how long the tests take without a mutant [s]; inf where they fail, or are not done in time."""
        if tests not in self._calm:
            run = self._run(copy, tests)
            self._calm[tests] = run.seconds if run.status == 0 else math.inf
        return self._calm[tests]

    def _run(self, copy: Path, tests: Sequence[str]) -> _Run:
        apart = [f"--deselect={test}" for test in self.broken if "::" in test]
        options = ["-q", "-x", "--tb=no", "-rfE", "--rootdir=.", "-p", "no:cacheprovider", *apart]
        began = time.monotonic()
        with tempfile.TemporaryFile() as told:
            with self._lock:
                if self._stopped:
                    raise KeyboardInterrupt
                process = subprocess.Popen(
                    [sys.executable, "-m", "pytest", *options, *tests],
                    cwd=copy,
                    env=_environment(copy),
                    stdin=subprocess.DEVNULL,
                    stdout=told,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
                self._running.add(process)
            try:
                status: int | None = process.wait(self._limit)
            except subprocess.TimeoutExpired:
                status = None
            finally:
                _kill(process)
                process.wait()
                with self._lock:
                    self._running.discard(process)
            if self._stopped:
                raise KeyboardInterrupt
            told.seek(0)
            words = told.read().decode(errors="replace")
        failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", words, re.MULTILINE)
        return _Run(status, failed[1] if failed else "", time.monotonic() - began)

    @staticmethod
    def _write(path: Path, data: bytes) -> None:
        """Write a source file; compiled code of the one before must not be taken for it."""
        path.write_bytes(data)
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            compiled.unlink()

    def _check_in_use(self, copy: Path) -> None:
        """Refuse to go on if tests would import another tree than the copy."""
        asked = [sys.executable, "-c", "import counterpoise; print(counterpoise.__file__)"]
        found = subprocess.run(asked, cwd=copy, env=_environment(copy), capture_output=True, text=True, check=False)
        place = found.stdout.strip()
        if found.returncode or not Path(place).resolve().is_relative_to(copy.resolve()):
            raise SystemExit(f"mutants: the copy of the tree is not the one in use: {place}\n{found.stderr}")


def _environment(copy: Path) -> dict[str, str]:
    """Return the environment of the tests; what is compiled once is kept in the copy."""
    return {
        **{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
        "PYTHONPATH": os.pathsep.join([str(copy / "src"), str(copy / "tests")]),
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "HYPOTHESIS_STORAGE_DIRECTORY": str(copy / ".hypothesis"),
    }


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a run and all that it started."""
    if sys.platform == "win32":
        process.kill()
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


# ------------------------------------------------------------------------------------------------------------ reporting


def tried_all(bench: Bench, chosen: Sequence[Site], jobs: int, told: Callable[[Result], None]) -> list[Result]:
    """Try mutants, several at a time; an interruption ends it early, with what is known by then."""
    results: dict[int, Result] = {}
    pool = ThreadPoolExecutor(jobs)
    waiting: dict[Future[Result], int] = {pool.submit(bench.tried, site): k for k, site in enumerate(chosen)}
    try:
        while waiting:
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                place = waiting.pop(future)
                results[place] = future.result()
                told(results[place])
    except KeyboardInterrupt:
        print(f"mutants: interrupted; {len(results)} of {len(chosen)} were tried", flush=True)
    finally:
        bench.stop()
        pool.shutdown(cancel_futures=True)
    return [results[place] for place in sorted(results)]


def summary(results: Sequence[Result]) -> dict[str, Any]:
    """Return how many were killed, and of the others what and where they are."""
    counts = Counter(result.verdict for result in results)
    told = counts["killed"] + counts["survived"]
    return {
        "tried": len(results),
        **{verdict: counts[verdict] for verdict in ("killed", "survived", "unfinished", "untested")},
        "percent_killed": round(100.0 * counts["killed"] / told, 1) if told else None,
        "mutants": [
            {
                **{name: value for name, value in asdict(result.site).items() if name not in ("start", "end", "text")},
                "verdict": result.verdict,
                "by": result.by,
                "tests": list(result.tests),
                "seconds": round(result.seconds, 1),
            }
            for result in results
        ],
    }


def told_of(result: Result) -> str:
    """Return what became of a mutant, with all that is needed to look at it where it was not killed."""
    site = result.site
    lines = [f"{result.verdict:<10} {site.file}:{site.line}: {site.change}"]
    if result.verdict == "killed":
        lines[0] += f"  [{result.by}, {result.seconds:.0f} s]"
    else:
        lines += [
            f"    line:  {site.source}",
            f"    tests: {' '.join(result.tests) or 'none'} ({result.seconds:.0f} s)",
        ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Draw a sample, try it and report; return 0 when all of it was tried, whatever survived."""
    parser = argparse.ArgumentParser(prog="mutants", description="Changes the source and looks whether a test notices.")
    parser.add_argument("--count", type=int, default=300, help="size of the sample (300)")
    parser.add_argument("--seed", type=int, default=0, help="which sample (0)")
    parser.add_argument("--only", action="append", default=[], metavar="PATH", help="a file or folder; may be repeated")
    parser.add_argument("--jobs", default="1", help="how many at a time, or auto (1)")
    parser.add_argument("--further", action="store_true", help="where none fails, also the subpackage's other tests")
    parser.add_argument("--limit", type=float, default=LIMIT, help=f"time for one mutant's tests in s ({LIMIT:g})")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the report there")
    parser.add_argument("--list", action="store_true", help="only print the sample")
    options = parser.parse_args(arguments)
    jobs = (os.cpu_count() or 1) if options.jobs == "auto" else max(1, int(options.jobs))

    known = {(entry["file"], entry["line"], entry["change"]) for entry in equivalent(root)}
    there = [site for site in all_sites(root, options.only) if site.key not in known]
    chosen = random.Random(options.seed).sample(there, min(options.count, len(there)))
    print(f"mutants: {len(chosen)} of {len(there)}, seed {options.seed}", flush=True)
    if options.list:
        for site in chosen:
            print(f"{site.file}:{site.line}: {site.change}")
        return 0
    if not chosen:
        return 1

    before = signal.signal(signal.SIGTERM, _interrupt)  # so that copies are removed and tests ended
    try:
        with tempfile.TemporaryDirectory(prefix="mutants-", ignore_cleanup_errors=True) as folder:
            bench = Bench(root, Path(folder), jobs, options.limit, further=options.further)
            results = tried_all(bench, chosen, jobs, lambda result: print(told_of(result), flush=True))
    except KeyboardInterrupt:
        return 130
    finally:
        signal.signal(signal.SIGTERM, before)
    report = {"seed": options.seed, "sites": len(there), **summary(results), "broken_tests": bench.broken}
    if options.json is not None:
        options.json.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    for test in bench.broken:
        print(f"mutants: {test} fails without a mutant and was left out")
    alive = [result for result in results if result.verdict != "killed"]
    if alive:
        print("\nNot killed:")
        for result in sorted(alive, key=lambda result: (result.site.file, result.site.line)):
            print(told_of(result))
    killed = report["percent_killed"]
    print(
        f"\nmutants: {report['tried']} tried, {report['killed']} killed, {report['survived']} survived, "
        f"{report['unfinished']} unfinished, {report['untested']} untested"
        + ("" if killed is None else f": {killed:g} % of those that were decided are killed")
    )
    return 0 if len(results) == len(chosen) else 130


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
