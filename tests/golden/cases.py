"""Runs command lines of commands.toml in one folder, and reduces what they print to what is stored and compared."""

from __future__ import annotations

import contextlib
import json
import math
import shlex
import shutil
import tomllib
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import counterpoise as cp
from counterpoise.cli.main import main
from library.analytic_log import moving_log, standing_log
from library.printed_numbers import NUMBER
from library.shared_data import SHARED, example_urdf

HERE = Path(__file__).parent
EXPECTED = HERE / "expected"
MAPPINGS = HERE.parents[1] / "examples" / "mappings"
VOLATILE = frozenset({"created", "package", "sha256", "real_time_factor"})
"""Keys that are left out wherever they occur: dates, versions, fingerprints of recordings, measured times."""
LONG, MANY = 36, 6
"""Numbers, and texts or tables, from which on a list is summarised."""
DIGITS = 9


@dataclass(frozen=True, slots=True)
class Case:
    """A command line whose JSON document is stored. Files of other cases lie in the folder that it runs in.

    Attributes:
        name: Of the stored file.
        run: The command line without --json. Words ``shared:FILE``, ``example:FILE`` and ``mapping:FILE`` stand for
            files of the shared material, of the package example-robot-data and of examples/mappings.
        after: Cases whose files it reads.
        extra: Module without which it is skipped.
        ignore: Patterns of paths in the document that are left out.
        relative, absolute: Tolerances of numbers.
        loose: Relative and absolute tolerances of paths that match a pattern.
        reason: Why tolerances are wider than the default ones.
    """

    name: str
    run: str
    after: tuple[str, ...] = ()
    extra: str = ""
    ignore: tuple[str, ...] = ()
    relative: float = 1e-6
    absolute: float = 1e-9
    loose: dict[str, tuple[float, float]] = field(default_factory=dict)
    reason: str = ""

    def __post_init__(self) -> None:
        """Refuse wider tolerances without a reason."""
        if (self.relative > 1e-6 or self.absolute > 1e-9 or self.loose) and not self.reason:
            raise ValueError(f"{self.name}: give a reason for its tolerances")


CASES = {case["name"]: Case(**case) for case in tomllib.loads((HERE / "commands.toml").read_text("utf-8"))["case"]}


class Commands:
    """A folder in which cases are run, each at most once and after those whose files it reads."""

    def __init__(self, folder: Path) -> None:
        """Write the files that no command makes: inputs/, and recordings by formula, which chaos does not change."""
        self._folder = folder
        self._results: dict[str, dict[str, Any]] = {}
        shutil.copytree(HERE / "inputs", folder, dirs_exist_ok=True)
        puma = cp.load("puma560")
        cp.write_log(moving_log(puma, duration=12.0), folder / "motion.csv")
        cp.write_log(moving_log(puma, duration=12.0, seed=1), folder / "later.csv")
        cp.write_log(standing_log(puma, 3 * (1.0, -1.0)), folder / "standing.npz")

    def result(self, name: str) -> dict[str, Any]:
        """Return the exit code and the reduced document of a case, or skip the test where it cannot be run."""
        if name not in self._results:
            case = CASES[name]
            for earlier in case.after:
                self.result(earlier)
            if case.extra:
                pytest.importorskip(case.extra, reason=f"{case.extra} is not installed")
            self._results[name] = self._run(case)
        return self._results[name]

    def _run(self, case: Case) -> dict[str, Any]:
        words = shlex.split(case.run)
        files = {word: str(path) for word in words if (path := _file(word))}
        with contextlib.chdir(self._folder):
            done = CliRunner().invoke(main, [*(files.get(word, word) for word in words), "--json"])
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        document = json.loads(done.stdout, parse_constant=_refuse)
        return {"exit_code": done.exit_code, "document": reduced(document, files, case.ignore)}


def _file(word: str) -> Path | None:
    """Return the file that a word of a command line stands for, or skip the test where it is absent."""
    place, _, name = word.partition(":")
    if place == "shared":
        if not (SHARED / name).exists():
            pytest.skip(f"shared material {name} is not available (set COUNTERPOISE_DATA to the folder that holds it)")
        return SHARED / name
    if place == "example":
        return example_urdf(name)
    return MAPPINGS / name if place == "mapping" else None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def reduced(value: Any, files: dict[str, str], ignore: tuple[str, ...] = (), path: str = "") -> Any:
    """Return a document without volatile values, long lists summarised, files as the case names them."""
    if isinstance(value, dict):
        kept = {key: (item, f"{path}.{key}".lstrip(".")) for key, item in value.items() if key not in VOLATILE}
        return {
            key: reduced(item, files, ignore, place)
            for key, (item, place) in kept.items()
            if not any(fnmatchcase(place, pattern) for pattern in ignore)
        }
    if isinstance(value, list):
        return _reduced_list(value, files, ignore, path)
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, str):
        for word, file in files.items():
            value = value.replace(file, word)
    return value


def _reduced_list(values: list[Any], files: dict[str, str], ignore: tuple[str, ...], path: str) -> Any:
    numbers = list(_flat(values))
    if len(numbers) > LONG and all(number is None or isinstance(number, int | float) for number in numbers):
        return {"length": _shape(values), **_summary(numbers)}
    if len(values) > MANY and all(isinstance(text, str) for text in values):
        words = zlib.crc32(NUMBER.sub("#", "\n".join(values)).encode())
        ends = [reduced(text, files) for text in (values[0], values[-1])]
        short = sum(map(len, values)) < 200
        return values if short else {"length": len(values), "ends": ends, "words": f"{words:08x}"}
    if len(values) > MANY and all(isinstance(row, dict) and row.keys() == values[0].keys() for row in values):
        columns = {key: [row[key] for row in values] for key in values[0]}
        return {"length": len(values), "columns": reduced(columns, files, ignore, f"{path}.*".lstrip("."))}
    return [reduced(item, files, ignore, f"{path}.*".lstrip(".")) for item in values]


def _flat(values: list[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, list):
            yield from _flat(value)
        else:
            yield value


def _shape(values: Any) -> Any:
    """Return the length of a list, or those of a matrix."""
    inner = {len(row) if isinstance(row, list) else None for row in values}
    return len(values) if inner == {None} else [len(values), *(inner if len(inner) == 1 else ["ragged"])]


def _summary(numbers: list[Any]) -> dict[str, Any]:
    """Return ends and root mean square, and one number between -1 and 1 that tells order and signs."""
    finite = [float(number) for number in numbers if number is not None]
    rms = math.sqrt(sum(number**2 for number in finite) / max(len(finite), 1))
    mixed = sum(number * math.cos(place) for place, number in enumerate(finite)) / len(finite) if finite else 0.0
    mixed = mixed / rms if rms > 1e-9 else 0.0
    ends = {"nulls": len(numbers) - len(finite), "first": numbers[0], "last": numbers[-1], "rms": rms, "mixed": mixed}
    return {key: float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value for key, value in ends.items()}
