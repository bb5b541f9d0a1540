"""Small files that cost much are refused by the sum of what they would make; large ones that are honest are read."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import counterpoise as cp
from counterpoise.cli.main import main
from counterpoise.errors import BudgetError, DataFileError, InputError
from counterpoise.recording.bags.source import open_bag
from counterpoise.recording.budget import PER_BYTE, ReadingBudget, Spending
from counterpoise.recording.reading import propose_mapping, read_log, stream_log
from library import costly_files
from library.bag_writers import arm_messages, write_bag

pytest.importorskip("pyarrow")
GIGABYTE = 10**9
WORDS = {
    "generated_columns.db3": "computes 'name'",
    "default_values.db3": "topics hold more than the file",
    "generated_messages.db3": "computes 'data'",
    "packed_messages.db3": "'unpacked'",
    "transposed_arrays.npz": "'unpacked'",
    "deflated_rows.npz": "'unpacked'",
    "chunks_of_zeros.mcap": "'unpacked'",
    "many_topics.mcap": "'topics'",
    "ever_new_order.mcap": "'orders'",
    "sparse_joints.mcap": "'unpacked'",
    "long_parquet.parquet": "'unpacked'",
}
READ = """
import json, resource, sys
from counterpoise.errors import CounterpoiseError
from counterpoise.recording.reading import read_log
resource.setrlimit(resource.RLIMIT_CPU, (300, 300))
for path in sys.argv[1:]:
    for recover in (False, True):
        try:
            told = f"{len(read_log(path, recover=recover))} rows"
        except CounterpoiseError as error:
            told = str(error)
        with open("/proc/self/status") as status:  # ru_maxrss would count what the parent held at the fork
            peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
        print(json.dumps([path, told, peak * 1024]))
"""


def test_all_files_are_tried() -> None:
    """None is forgotten."""
    assert set(WORDS) == set(costly_files.FILES)


SMALLER: dict[str, Callable[[Path], None]] = {
    "chunks_of_zeros.mcap": lambda path: costly_files.chunks_of_zeros(path, 30),
    "sparse_joints.mcap": lambda path: costly_files.sparse_joints(path, 30_000),
    "deflated_rows.npz": lambda path: costly_files.deflated_rows(path, 100_000_000),
    "long_parquet.parquet": lambda path: costly_files.long_parquet(path, 50_000_000),
}
"""As refused as the whole ones, and written faster."""


def test_costly_files(tmp_path: Path) -> None:
    """All refused by one process within a gigabyte and some seconds each, whether or not damage is forgiven."""
    paths = [tmp_path / name for name in costly_files.FILES]
    for path in paths:
        SMALLER.get(path.name, costly_files.FILES[path.name])(path)
        assert path.stat().st_size < 10**7
    done = subprocess.run([sys.executable, "-c", READ, *map(str, paths)], capture_output=True, text=True, check=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) == 2 * len(paths)
    for path, told, memory in lines:
        assert told.startswith(f"{path}: ")
        assert WORDS[Path(path).name] in told
        assert memory < GIGABYTE, path


def test_every_budget_is_named_with_the_option_that_raises_it(tmp_path: Path) -> None:
    """By name, for the interface and for the command line; raised as the message says, the file is read."""
    table, packed = tmp_path / "run.npz", tmp_path / "packed.npz"
    np.savez_compressed(packed, q=np.zeros((100_000, 2)))
    assert PER_BYTE * packed.stat().st_size + 1000 < 100_000 * 2 * 8
    q = np.zeros((10_000, 2))
    np.savez_compressed(table, t=np.arange(10_000.0), q=np.asfortranarray(q), tau=q)
    orders = [("a", "b"), ("b", "a")]
    bag = write_bag(tmp_path / "bag", "mcap-zstd", [m for names in orders for m in arm_messages(20, names=names)])
    cases = {
        "memory": (table, ReadingBudget(memory=200_000)),
        "rows": (table, ReadingBudget(rows=9_999)),
        "unpacked": (packed, ReadingBudget(unpacked=1000)),
        "columns": (table, ReadingBudget(columns=4)),
        "orders": (bag, ReadingBudget(orders=1)),
    }
    assert set(cases) | {"topics"} == {entry.name for entry in fields(ReadingBudget)}
    for name, (path, budget) in cases.items():
        with pytest.raises(BudgetError, match=f"the budget '{name}' allows") as caught:
            read_log(path, budget=budget)
        assert caught.value.budget == name
        assert caught.value.path == str(path)
        assert f"budget=ReadingBudget({name}=" in str(caught.value)
        option = str(caught.value).partition(f"--budget {name}=")[2].partition(")")[0]
        raised = budget.raised([f"{name}={option}"])
        assert getattr(raised, name) > getattr(budget, name)
        assert len(read_log(path, budget=raised)) > 0


def test_topics(tmp_path: Path) -> None:
    """Those of joint states and wrenches count, in all files of a recording together."""
    paths = [tmp_path / f"{number}.mcap" for number in range(2)]
    for path in paths:
        costly_files.many_topics(path, 3)
    with pytest.raises(BudgetError, match="'topics' allows: 5 topics"):
        propose_mapping(paths, budget=ReadingBudget(topics=5))
    assert propose_mapping(paths[0], budget=ReadingBudget(topics=3)).joint_names == ("a0", "a1", "a2")


def test_many_topics_are_looked_through_once(tmp_path: Path) -> None:
    """A bag with thousands of topics takes a time in proportion to its messages, not to messages times topics."""
    path = tmp_path / "bag.mcap"
    costly_files.many_topics(path, 3000)
    sources = open_bag(path, spending=Spending(ReadingBudget(topics=3000)))
    assert [source.name for source in sources] == sorted(f"/j{number}" for number in range(3000))


def test_sums_over_files(tmp_path: Path) -> None:
    """Files that are small enough alone are too much together."""
    paths = []
    for number, key in enumerate(("q", "dq", "tau")):
        paths.append(tmp_path / f"{number}.npz")
        np.savez_compressed(paths[-1], **{f"{key}_1": np.random.default_rng(0).normal(size=10_000)})
    assert len(read_log(paths, budget=ReadingBudget(columns=3))) == 10_000
    with pytest.raises(BudgetError, match="'columns'"):
        read_log(paths, budget=ReadingBudget(columns=2))


def test_streams_are_not_bounded_by_rows(tmp_path: Path) -> None:
    """Pieces go by: neither their number nor their memory adds up."""
    path = tmp_path / "run.csv"
    path.write_text("t,q_1\n" + "".join(f"{row},{row}\n" for row in range(1000)))
    budget = ReadingBudget(rows=10, memory=100)
    with pytest.raises(BudgetError):
        read_log(path, budget=budget)
    assert sum(map(len, stream_log(path, rows=100, budget=budget))) == 1000


def test_honest_recordings_are_read(tmp_path: Path) -> None:
    """A hundred thousand samples of 15 joints that never move, packed a hundred to one; ten minutes at 100 Hz."""
    path = tmp_path / "still.npz"
    still = np.zeros((100_000, 15))
    log = cp.Log(tuple(f"j{n}" for n in range(15)), np.arange(100_000.0), still, still, still)
    cp.write_log(log, path)
    assert len(read_log(path)) == 100_000
    bag = write_bag(tmp_path / "bag", "mcap-zstd", arm_messages(2000), chunk_bytes=100_000)
    assert len(read_log(bag)) == 2000


def test_texts_of_the_command_line() -> None:
    """Amounts with and without units; what is none is refused by name."""
    budget = ReadingBudget().raised(["memory=8GB", "rows=1e8", "unpacked = 1.5 GB", "topics=5k"])
    assert (budget.memory, budget.rows, budget.unpacked, budget.topics) == (8 * 10**9, 10**8, 15 * 10**8, 5000)
    assert budget.columns == ReadingBudget().columns
    for text in ("memory", "memory=", "memory=-1", "memory=nan", "time=5", "rows=0", "rows=1e999", "=5", "rows=1e8x"):
        with pytest.raises(InputError, match="budget"):
            ReadingBudget().raised([text])
    for value in (0, -1, float("nan"), float("inf"), "5", None, True):
        with pytest.raises(InputError, match="rows"):
            ReadingBudget(rows=value)  # type: ignore[arg-type]


def test_spending() -> None:
    """Sums grow until the budget is used, and what is given back can be spent again."""
    spending = Spending(ReadingBudget(memory=100, unpacked=10))
    spending.open(2)
    spending.spend("unpacked", 2 * PER_BYTE + 10, "x")
    with pytest.raises(BudgetError):
        spending.spend("unpacked", 1, "x")
    for _ in range(3):
        spending.spend("memory", 60, "x")
        with pytest.raises(BudgetError):
            spending.foresee("memory", 41, "x")
        spending.give_back("memory", 60)


def test_the_option_of_the_commands(tmp_path: Path) -> None:
    """``--budget`` raises, or lowers, what a recording may cost."""
    path = tmp_path / "run.csv"
    path.write_text("t,q_1,tau_1\n" + "".join(f"{row * 0.01},{np.sin(row * 0.01)},0\n" for row in range(100)))
    refused = CliRunner().invoke(main, ["doctor", str(path), "--robot", "pendulum", "--budget", "rows=50"])
    assert refused.exit_code != 0
    assert "--budget rows=" in refused.output
    wrong = CliRunner().invoke(main, ["doctor", str(path), "--robot", "pendulum", "--budget", "colour=50"])
    assert wrong.exit_code != 0
    assert "memory" in wrong.output
    shown = CliRunner().invoke(main, ["doctor", str(path), "--robot", "pendulum", "--budget", "rows=100"])
    assert "budget" not in shown.output


def test_a_database_that_is_no_bag(tmp_path: Path) -> None:
    """Tables without the columns of a bag are refused by name."""
    path = tmp_path / "other.db3"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT)")
        database.execute("CREATE TABLE messages(id INTEGER PRIMARY KEY)")
    database.close()
    with pytest.raises(DataFileError, match="no column 'type'"):
        read_log(path)
