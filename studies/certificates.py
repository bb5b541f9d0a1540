"""How often a certificate is wrong, and how often a good fit is refused: cases whose truth is known.

    python studies/certificates.py run --part foreign --half chosen --count 500 --urdfs FOLDER --out rows.jsonl
    python studies/certificates.py run --part real --half chosen --count 150 --out rows.jsonl
    python studies/certificates.py score --out rows.jsonl
    python studies/certificates.py score --half judged --page --out rows.jsonl   # into docs/certificate-study.md

Part "foreign": random trees and real URDFs, simulated by plain NumPy and Pinocchio, with friction, sampling, faults and
paths that nobody tuned for. Part "real": real recordings in which the arm is exchanged for a known one. Part
"injected": real recordings as they are, and with each of the doctor's faults (60 cases a half). Even seeds are the half
on which rules are chosen, odd ones the half that judges, once; real recordings are divided likewise. Rows are appended
to a file that is not part of the repository; a case that is already in it is not run again. A case that takes longer
than --limit is stopped and reported. Not for Windows, which has no such limit.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # cases run side by side
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from docs_page import commit, put

PAGE = Path(__file__).resolve().parents[1] / "docs" / "certificate-study.md"
PAGE_CLASSES = ("path", "fault", "friction", "exchange")
"""Classes of cases in the tables of that page."""
PARTS = ("foreign", "real", "injected")
HALVES = ("chosen", "judged")
LIMIT = 120.0
"""Time of the processor that a case may take [s]: a machine that is busy with others does not count."""
WAITED = 20.0
"""A case that has not ended after so many times that, by the clock, hangs."""

Task = tuple[str, int, str | None]
"""Part, seed, folder of URDFs."""


def run_task(task: Task) -> dict[str, Any]:
    """Make a case, run the product on it and return the row."""
    from certificate_foreign import foreign_case  # noqa: PLC0415  heavy, and only in the processes that work
    from certificate_injected import injected_case  # noqa: PLC0415
    from certificate_product import run_case  # noqa: PLC0415
    from certificate_real import real_case  # noqa: PLC0415

    part, seed, urdfs = task
    begun = time.process_time()
    if part == "foreign":
        case = foreign_case(seed, None if urdfs is None else Path(urdfs))
    else:
        case = real_case(seed) if part == "real" else injected_case(seed)
    made = time.process_time() - begun
    with tempfile.TemporaryDirectory() as folder:
        row = run_case(case, Path(folder))
    row["cpu"] = {"case": round(made, 2), **row["cpu"], "all": round(time.process_time() - begun, 2)}
    return row


def _work(connection: Connection, limit: float) -> None:
    """Run tasks as they come; the system ends the process when one takes longer than the limit."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    while True:
        task = connection.recv()
        signal.setitimer(signal.ITIMER_PROF, limit)
        try:
            row = run_task(task)
        except Exception as error:  # a row that says so is better than an end of the study
            row = _unfinished(task) | {"broken": f"{type(error).__name__}: {error}", "trace": traceback.format_exc()}
        connection.send(row)


def _unfinished(task: Task) -> dict[str, Any]:
    labels = {"path": "unfinished", "fault": "unfinished", "description": "unfinished"}
    nothing = {
        "before": None,
        "after": None,
        "findings": [],
        "truths": [],
        "determinable": False,
        "identifiable": False,
    }
    return {"part": task[0], "seed": task[1], "labels": labels, **nothing}


@dataclass(slots=True)
class _Worker:
    """A process and what it does."""

    process: Any
    connection: Connection
    task: Task | None = None
    until: float = 0.0


def rows_of(tasks: Sequence[Task], jobs: int, limit: float) -> Iterator[dict[str, Any]]:
    """Run tasks in processes and yield their rows as they come; one that takes too long is stopped and reported.

    Args:
        tasks: The cases.
        jobs: Processes.
        limit: Time of the processor that a case may take [s].
    """
    waiting = list(reversed(tasks))
    workers = [_started(limit) for _ in range(min(jobs, len(tasks)))]
    try:
        while waiting or any(worker.task for worker in workers):
            for worker in workers:
                if worker.task is None and waiting:
                    worker.task, worker.until = waiting.pop(), time.monotonic() + WAITED * limit
                    worker.connection.send(worker.task)
            busy = [worker for worker in workers if worker.task is not None]
            ready = wait([worker.connection for worker in busy], timeout=1.0)
            for place, worker in enumerate(workers):
                if worker.task is None:
                    continue
                if worker.connection in ready:
                    row = _received(worker)
                elif time.monotonic() > worker.until:
                    row = None
                else:
                    continue
                if row is None:
                    _ended(worker)
                    workers[place] = _started(limit)
                yield _unfinished(worker.task) | {"timed_out": limit} if row is None else row
                worker.task = None
    finally:
        for worker in workers:
            _ended(worker)


def _received(worker: _Worker) -> dict[str, Any] | None:
    """Return the row that a worker sends; None where its process has ended."""
    try:
        row: dict[str, Any] = worker.connection.recv()
    except (EOFError, ConnectionError):
        return None
    return row


def _started(limit: float) -> _Worker:
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, limit), daemon=True)
    process.start()
    theirs.close()
    return _Worker(process, ours)


def _ended(worker: _Worker) -> None:
    worker.process.kill()
    worker.process.join()
    worker.connection.close()


def seeds_of(half: str, count: int) -> list[int]:
    """Return the first seeds of a half: even for "chosen", odd for "judged"."""
    return [2 * index + HALVES.index(half) for index in range(count)]


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file; none where there is no file. A line that a stopped run left unfinished is passed."""
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            print(f"{path.name}: an unfinished line is left out", file=sys.stderr)
    return rows


def main() -> None:
    """Run cases, or print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run cases and append their rows")
    run.add_argument("--part", choices=PARTS, required=True)
    run.add_argument("--half", choices=HALVES, required=True)
    run.add_argument("--count", type=int, default=40, help="cases, from the first seed of the half on")
    run.add_argument("--seeds", type=int, nargs="+", help="these seeds of the half only")
    run.add_argument("--jobs", type=int, default=1, help="processes")
    run.add_argument("--urdfs", help="folder that holds the URDFs of example-robot-data")
    run.add_argument("--limit", type=float, default=LIMIT, help="time of the processor that a case may take [s]")
    score = commands.add_parser("score", help="print the tables")
    score.add_argument("--half", choices=HALVES, default="chosen")
    score.add_argument("--page", action="store_true", help=f"put them into docs/{PAGE.name}")
    for command in (run, score):
        command.add_argument("--out", type=Path, default=Path(tempfile.gettempdir()) / "certificates.jsonl")
    given = parser.parse_args()
    if given.command == "score":
        from certificate_score import tables  # noqa: PLC0415

        rows = [row for row in read_rows(given.out) if row["seed"] % 2 == HALVES.index(given.half)]
        if given.page:
            put(PAGE, given.half, [tables(rows, PAGE_CLASSES)])
        else:
            print(tables(rows))
        return
    done = {(row["part"], row["seed"]) for row in read_rows(given.out)}
    seeds = [seed for seed in given.seeds or seeds_of(given.half, given.count) if (given.part, seed) not in done]
    at = commit()
    with given.out.open("a", encoding="utf-8") as file:
        for number, row in enumerate(rows_of([(given.part, s, given.urdfs) for s in seeds], given.jobs, given.limit)):
            file.write(json.dumps(row | {"commit": at}) + "\n")
            file.flush()
            print(f"{number + 1} of {len(seeds)}: seed {row['seed']}, {row.get('seconds', '–')} s", file=sys.stderr)


if __name__ == "__main__":
    main()
