"""Files that several writers save at once, and writers that are killed: how many saves fail, are lost or corrupt.

    python studies/atomic_files.py                                  # minutes; writes the JSON beside it and the table
    python studies/atomic_files.py --name 0.1.0 --source OLD/src    # the same with the code of another checkout

A saved file holds its writer, a number and up to 400 kB of noise behind a checksum of all that. "failed": a save
raised. "corrupt": a reader found a file that does not fit its checksum. "lost": at the end the file is none of
the last saves that writers were told had succeeded. Writers with the same process number run in process namespaces of
their own (unshare), as in containers on one volume; where the system allows none, their os.getpid() is replaced. Killed
writers get SIGKILL at a random instant after their first save. "foreign removed": a planted file that is no leftover of
ours, or is younger than an hour, was removed or changed.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from docs_page import put, write_result

from counterpoise.errors import CounterpoiseError
from counterpoise.foundation import write_atomically

HERE = Path(__file__).resolve()
PAGE = HERE.parents[1] / "docs" / "logs.md"
PIECES = 8


def content(writer: str, number: int, size: int) -> bytes:
    """Return a file that can be checked: checksum, writer, number, noise."""
    body = f"{writer} {number}\n".encode() + random.Random(f"{writer} {number}").randbytes(size)
    return hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def label(data: bytes) -> tuple[str, int] | None:
    """Return writer and number of a file; None where it is corrupt."""
    checksum, _, body = data.partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != checksum:
        return None
    writer, number = body.partition(b"\n")[0].split()
    return writer.decode(), int(number)


# ------------------------------------------------------------------------------------------------ in the writers


def save_many(file: Path, writer: str, count: int, size: int) -> None:
    """Save one file again and again; tell of each save on standard output when it has returned."""
    for number in range(count):
        data = content(writer, number, random.Random(f"{number} {writer}").randrange(size))

        def write(stream: BinaryIO, data: bytes = data) -> None:
            step = len(data) // PIECES + 1
            for begin in range(0, len(data), step):
                stream.write(data[begin : begin + step])
                stream.flush()

        try:
            write_atomically(file, write)
            told = f"saved {writer} {number}\n"
        except CounterpoiseError:
            told = f"failed {writer} {number}\n"
        sys.stdout.write(told)
        sys.stdout.flush()


def work(arguments: argparse.Namespace) -> None:
    """Be a writer: one thread for each name."""
    if arguments.pid is not None:
        os.getpid = lambda: arguments.pid
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    threads = [
        threading.Thread(target=save_many, args=(arguments.file, writer, arguments.count, arguments.size))
        for writer in arguments.work
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


# ------------------------------------------------------------------------------------------------ around them


@functools.cache
def has_namespaces() -> bool:
    """Whether processes can be given a process namespace of their own."""
    if shutil.which("unshare") is None:
        return False
    asked = ["unshare", "-r", "-p", "-f", "--kill-child", "true"]
    return subprocess.run(asked, capture_output=True, check=False).returncode == 0


def start(
    file: Path, writers: Sequence[str], count: int, source: Path | None, *, same_pid: bool = False, size: int = 400_000
) -> subprocess.Popen[str]:
    """Start a process that saves a file, one thread for each writer."""
    command = [sys.executable, str(HERE), "--file", str(file), "--count", str(count), "--size", str(size)]
    command += ["--work", *writers]
    if same_pid and has_namespaces():
        command = ["unshare", "-r", "-p", "-f", "--kill-child", *command]
    elif same_pid:
        command += ["--pid", "1"]
    environment = dict(os.environ) | ({} if source is None else {"PYTHONPATH": str(source)})
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment)


def go(processes: Sequence[subprocess.Popen[str]]) -> None:
    """Wait until all writers are ready, then let them begin together."""
    for process in processes:
        if process.stdout is None or process.stdout.readline() != "ready\n":
            raise RuntimeError("a writer did not come up")
    for process in processes:
        if process.stdin is not None:
            process.stdin.write("go\n")
            process.stdin.flush()


def race(
    groups: Sequence[Sequence[str]], count: int, source: Path | None, *, same_pid: bool = False, size: int = 400_000
) -> dict[str, int]:
    """Let processes, each with some threads, save one file while it is read all the time."""
    found = {"saves": 0, "failed": 0, "reads": 0, "corrupt": 0, "lost": 0}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "arm.calibration.json"
        file.write_bytes(content("before", 0, 100))
        processes = [start(file, writers, count, source, same_pid=same_pid, size=size) for writers in groups]
        go(processes)
        told: list[list[str]] = [[] for _ in processes]

        def listen(index: int) -> None:
            stream = processes[index].stdout
            told[index] += [] if stream is None else stream.readlines()

        listeners = [threading.Thread(target=listen, args=(index,)) for index in range(len(processes))]
        for listener in listeners:
            listener.start()
        while any(listener.is_alive() for listener in listeners):
            found["reads"] += 1
            found["corrupt"] += label(file.read_bytes()) is None
            time.sleep(0.001)
        for process in processes:
            with process:
                if process.wait() != 0:
                    raise RuntimeError(f"a writer ended with {process.returncode}")
        last: dict[str, int] = {}
        for what, writer, number in (line.split() for lines in told for line in lines):
            found["saves"] += 1
            found["failed"] += what == "failed"
            if what == "saved":
                last[writer] = int(number)
        at_end = label(file.read_bytes())
        found["corrupt"] += at_end is None
        found["lost"] += bool(last) and at_end is not None and at_end not in last.items()
    return found


def killed(rounds: int, source: Path | None, *, size: int = 400_000, seed: int = 1) -> dict[str, int]:
    """Kill writers of one file at random instants, each followed by another with the same process number."""
    found = {
        "saves": 0,
        "failed": 0,
        "killed": 0,
        "corrupt": 0,
        "lost": 0,
        "leftovers": 0,
        "leftovers after an hour": 0,
    }
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "arm.calibration.json"
        for number in range(rounds):
            with start(file, [f"w{number}"], 10**9, source, same_pid=True, size=size) as process:
                go([process])
                if process.stdout is None:
                    raise RuntimeError("a writer has no output")
                lines = [process.stdout.readline()]
                time.sleep(rng.uniform(0.0, 0.03))
                process.send_signal(signal.SIGKILL)
                lines += process.stdout.readlines()
                found["killed"] += process.wait() == -signal.SIGKILL
            whole = [line.split() for line in lines if line.endswith("\n")]
            found["saves"] += len(whole)
            found["failed"] += sum(what == "failed" for what, _, _ in whole)
            saved = [int(index) for what, _, index in whole if what == "saved"]
            at_end = label(file.read_bytes())
            found["corrupt"] += at_end is None
            # The save that was under way may have come to its end without telling.
            right = [(f"w{number}", saved[-1] + more) for more in (0, 1)] if saved else [at_end]
            found["lost"] += at_end is not None and at_end not in right
        found["leftovers"] = len(list(Path(folder).iterdir())) - 1
        for leftover in Path(folder).iterdir():
            os.utime(leftover, (time.time() - 7200.0,) * 2)
        with start(file, ["last"], 1, source, size=size) as process:
            go([process])
            process.communicate()
        found["leftovers after an hour"] = len(list(Path(folder).iterdir())) - 1
    return found


def planted(source: Path | None, count: int = 20) -> dict[str, int]:
    """Save a file beside leftovers of every kind of which a name can be known before, and beside what is none."""
    found = {"saves": 0, "failed": 0, "foreign removed": 0}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "arm.calibration.json"
        precious = Path(folder) / "precious"
        precious.write_bytes(b"precious")
        prefix = f".counterpoise-{hashlib.sha256(file.name.encode()).hexdigest()[:16]}-"
        other = f".counterpoise-{hashlib.sha256(b'other').hexdigest()[:16]}-"
        for number in range(count):
            plants = [Path(folder) / f".{file.name}.1.tmp"]
            noise = random.Random(number).randbytes(15).hex()
            plants += [Path(folder) / f"{prefix}{kind}f{noise}.tmp" for kind in "0123"]
            plants += [
                Path(folder) / f"{prefix}{'0' * 31}.tmp",
                Path(folder) / f"{prefix}{'0' * 32}.tmp~",
                Path(folder) / f"{other}{'0' * 32}.tmp",
            ]
            kinds = dict(zip("0123", plants[1:5], strict=True))
            kinds["0"].mkdir()
            kinds["1"].symlink_to(precious)
            os.mkfifo(kinds["2"])
            for place in (plants[0], kinds["3"], *plants[5:]):
                place.write_bytes(b"left")
            for place in plants:
                if place != kinds["3"]:  # the only one that is ours and young
                    os.utime(place, (time.time() - 7200.0,) * 2, follow_symlinks=False)
            with start(file, ["writer"], 1, source, same_pid=True) as process:
                go([process])
                said = process.stdout.read() if process.stdout is not None else ""
            found["saves"] += 1
            found["failed"] += not said.startswith("saved")
            found["foreign removed"] += sum(not os.path.lexists(place) for place in plants)
            found["foreign removed"] += precious.read_bytes() != b"precious"
            for place in plants:
                if os.path.lexists(place):
                    place.rmdir() if stat.S_ISDIR(place.lstat().st_mode) else place.unlink()
    return found


def measured(source: Path | None, scale: float = 1.0) -> dict[str, dict[str, int]]:
    """Return what every way of saving gives."""
    often = max(1, round(150 * scale))
    return {
        "two threads": race([("a", "b")], often, source),
        "eight threads": race(["abcdefgh"], max(1, often // 4), source),
        "four processes": race([("a",), ("b",), ("c",), ("d",)], often, source),
        "two processes with the same number": race([("a",), ("b",)], often, source, same_pid=True),
        "killed by SIGKILL": killed(max(1, round(100 * scale)), source),
        "planted leftovers": planted(source, max(1, round(20 * scale))),
    }


COLUMNS = ("saves", "failed", "reads", "corrupt", "lost", "leftovers", "leftovers after an hour", "foreign removed")


def table(results: dict[str, Any]) -> list[str]:
    """Return the table of the docs."""
    names = [name for name in ("0.1.0", "now") if name in results]
    lines = ["| " + " | ".join(["writers", "code", *COLUMNS]) + " |", "|" + "---|" * (2 + len(COLUMNS))]
    for case in results[names[-1]]:
        for name in names:
            row = results[name][case]
            lines.append("| " + " | ".join([case, name, *(str(row.get(column, "")) for column in COLUMNS)]) + " |")
    return lines


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", default="now", choices=("0.1.0", "now"))
    parser.add_argument("--source", type=Path)
    parser.add_argument("--work", nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--count", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--size", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--pid", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        work(arguments)
        return
    result = HERE.with_suffix(".json")
    known = json.loads(result.read_text()) if result.exists() else {}
    known[arguments.name] = measured(None if arguments.source is None else arguments.source.resolve())
    known.pop("commit", None)
    write_result(result, known)
    put(PAGE, "atomic files", table(known))
    print("\n".join(table(known)))


if __name__ == "__main__":
    main()
