"""Real signals at random instants while an arm is driven: what the plant is told until the end, call by call.

    python studies/stop_signals.py                        # half an hour; writes the JSON beside it and docs/safety.md
    python studies/stop_signals.py --in-process 20 --processes 2 --out /tmp/small.json
    python studies/stop_signals.py --old PATH             # the same with the package of a checkout of 0.1.0

In one process per pattern, signals come from a thread, at instants spread evenly over the pattern's time (entering and
leaving the plant included), some of them twice or three times. Every command is started as often as asked for per kind
of signal, on a plant that a package registers by entry point; ``simulate`` and ``view``, which drive simulated arms
alone, on one of those, from its first torque on. A case is good when, whatever the instant,

- the plant was stopped or left after it was entered (``emergency_stop`` or ``__exit__``),
- nothing was written after ``emergency_stop`` or once ``__exit__`` had begun,
- the torques before were a gravity stop: g(q) at the beginning of the ramp, 0 at its end,
- no two torques in a row differ by more than the rate limit,
- the process ended by itself, with the exit status that is documented.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from docs_page import commit, put, write_result
from recording_plant import EFFORT, WEIGHT, RecordingPlant, read_calls

import counterpoise as cp
from counterpoise.control import ControlLoop, PDGravity, default_gains
from counterpoise.identification import PosePlan
from counterpoise.tasks import (
    Floating,
    FloatSettings,
    LawGains,
    Prober,
    Recording,
    Replay,
    Rig,
    TaughtPath,
    Teaching,
    TuningRule,
    plan_replay,
    write_path,
)

try:
    from counterpoise.control import INTERRUPTIONS, SignalSafe
except ImportError:  # 0.1.0
    INTERRUPTIONS = (KeyboardInterrupt,)

    def SignalSafe(plant: Any) -> Any:  # noqa: D103
        return plant


Call = tuple[float, str, float, float]
HERE = Path(__file__).parent
RISE = 0.1
"""Time in which the default rate limit lets a torque rise to its limit [s]."""
RAMP = 1.0
"""Time in which the safe stop lets the arm down [s]."""
SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
WORKERS = 4
"""Processes at a time."""
ROBOT = cp.load("pendulum")
STATUS = {"SIGINT": {0, 1}, "SIGTERM": {143}, "SIGHUP": {129}, "SIGINT twice": {0, 1, 130}}
"""Exit statuses that are documented. Ctrl-C is how floating and teaching end: 0 where they have begun. A
second one that comes when the arm is stopped and results are written is Python's own: 130."""
SERVED = {"SIGINT": {0}, "SIGTERM": {0}, "SIGHUP": {0}, "SIGINT twice": {0, 130}}
"""The same of the page, which any signal ends as its user wishes."""
NO_STOP, GIVEN_UP = "no gravity stop", "no gravity stop: it took too long and was given up"


@dataclass(frozen=True)
class Noted:
    """What the calls of an arm are judged by.

    Attributes:
        dt: Its period [s].
        effort: Effort limit of the joint whose torques are noted [N m].
        weight: Torque that holds it, the largest or that at the start [N m].
    """

    dt: float = RecordingPlant.dt
    effort: float = EFFORT
    weight: float = WEIGHT


def judged(calls: list[Call], arm: Noted = Noted()) -> list[str]:
    """Return what is wrong with the calls of a case that is over; nothing where it is good."""
    wrong: list[str] = []
    if not calls:
        return wrong
    begins = [index for index, call in enumerate(calls) if call[1] == "entering"]
    for begin, end in zip(begins, [*begins[1:], len(calls)], strict=True):
        wrong += _wrong_in_a_stay(calls[begin:end], arm)
    return wrong


def _wrong_in_a_stay(calls: list[Call], arm: Noted) -> list[str]:
    kinds = [call[1] for call in calls]
    ends = [index for index, kind in enumerate(kinds) if kind in ("emergency_stop", "exiting")]
    writes = [index for index, kind in enumerate(kinds) if kind == "write"]
    wrong = [] if ends else ["neither stopped nor left"]
    for kind, words in (("exiting", "it was left"), ("emergency_stop", "the emergency stop")):
        if writes and kind in kinds and writes[-1] > kinds.index(kind):
            wrong.append(f"written after {words}")
    if writes:
        if not _is_gravity_stop([calls[index] for index in writes], arm):
            wrong.append(GIVEN_UP if "given_up" in kinds else NO_STOP)
        steps = np.abs(np.diff([calls[index][2] for index in writes]))
        if steps.size and steps.max() > arm.effort / RISE * arm.dt * (1.0 + 1e-9):
            wrong.append("a step beyond the rate limit")
    return wrong


def _is_gravity_stop(writes: list[Call], arm: Noted) -> bool:
    ramp = round(RAMP / arm.dt)
    if len(writes) < ramp:
        return False
    _, _, tau, holding = writes[-ramp]
    near = abs(tau - holding) < 0.15 * arm.weight
    ended = abs(writes[-1][2]) < 0.02 * arm.effort
    falls = np.polyfit(np.arange(ramp), [abs(write[2]) for write in writes[-ramp:]], 1)[0] < 0.0
    return bool(near and ended and falls)


# ------------------------------------------------------------------------------------------------------- one process


def _gains(plant: RecordingPlant) -> Any:
    return default_gains(ROBOT, np.array([plant.q]), ROBOT.effort_limit, plant.dt)


def _pd(plant: RecordingPlant) -> PDGravity:
    gains = _gains(plant)
    return PDGravity(ROBOT, gains.kp, gains.kd)


def _for_two_seconds(job: Floating | Teaching) -> None:
    job.start()
    time.sleep(2.0)
    job.stop()
    job.wait()


def floating_start_as_in_0_1_0(plant: RecordingPlant) -> None:
    """The pattern of the docstring at 0.1.0."""
    with plant:
        _for_two_seconds(Floating(Rig(plant, ROBOT), FloatSettings(repeats=2)))


def floating_start(plant: RecordingPlant) -> None:
    """The pattern of the docstring."""
    with SignalSafe(plant):
        _for_two_seconds(Floating(Rig(plant, ROBOT), FloatSettings(repeats=2)))


def floating_start_and_an_error(plant: RecordingPlant) -> None:
    """The same; besides, the block ends by an exception at a random instant."""
    with SignalSafe(plant):
        floating = Floating(Rig(plant, ROBOT), FloatSettings(repeats=2))
        floating.start()
        time.sleep(random.uniform(0.0, 0.5))
        raise ValueError("of the caller")


def floating_run(plant: RecordingPlant) -> None:
    """Check and float in the main thread."""
    with plant:
        Floating(Rig(plant, ROBOT), FloatSettings(repeats=2)).run(80.0)


def control_loop(plant: RecordingPlant) -> None:
    """A loop in the main thread."""
    with plant:
        ControlLoop(plant, _pd(plant), ROBOT).run(80.0)


def control_loop_kept(plant: RecordingPlant) -> None:
    """Short runs that hand the torque on, with a pause between them."""
    with SignalSafe(plant):
        loop = ControlLoop(plant, _pd(plant), ROBOT)
        for _ in range(500):
            loop.run(0.2, then="keep")
            time.sleep(0.002)
        loop.run(0.0)


def loop_in_a_thread(plant: RecordingPlant) -> None:
    """A loop in a thread of the caller's."""
    with SignalSafe(plant):
        loop = ControlLoop(plant, _pd(plant), ROBOT)

        def work() -> None:
            with contextlib.suppress(cp.SafetyError, *INTERRUPTIONS):
                loop.run(80.0)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()


def recording(plant: RecordingPlant) -> None:
    """A plan of two poses."""
    plan = PosePlan.of(ROBOT, [[0.8], [1.0]], settle=0.3, dwell=1.0)
    with SignalSafe(plant):
        Recording(Rig(plant, ROBOT), plan).run()


def teaching(plant: RecordingPlant) -> None:
    """Teaching in its thread."""
    with SignalSafe(plant):
        _for_two_seconds(Teaching(Rig(plant, ROBOT), FloatSettings(repeats=2)))


def replaying(plant: RecordingPlant) -> None:
    """A path there and back."""
    with SignalSafe(plant):
        plan = plan_replay(ROBOT, _path(), 1.0, start=plant.read().q, plant=plant)
        Replay(Rig(plant, ROBOT), plan).run()


def tuning(plant: RecordingPlant) -> None:
    """Probes of PID gains, one after the other."""
    prober = Prober(lambda: Rig(plant, ROBOT), 0, TuningRule())
    gains = _gains(plant)
    zero = np.zeros(1)
    tried = LawGains("pid", ROBOT.joint_names, gains.kp, gains.kd, zero, zero)
    for _ in range(20):
        prober.probe(tried, "step", 1.0)


def _path() -> TaughtPath:
    time_ = np.linspace(0.0, 8.0, 81)
    q = 0.8 + 0.3 * (1.0 - np.cos(2.0 * np.pi * time_ / 8.0)) / 2.0
    return TaughtPath.of(ROBOT, time_, q[:, None], name="there and back")


PATTERNS: dict[str, tuple[Callable[[RecordingPlant], None], float]] = {
    "`Floating.start()` in `with plant:`": (floating_start_as_in_0_1_0, 0.8),
    "`Floating.start()` in `SignalSafe`": (floating_start, 0.8),
    "`Floating.start()` in `SignalSafe`, the block raises": (floating_start_and_an_error, 0.8),
    "`Floating.run()`": (floating_run, 0.8),
    "`ControlLoop.run()`": (control_loop, 0.5),
    "`ControlLoop.run(then='keep')` again and again": (control_loop_kept, 0.5),
    "`ControlLoop.run()` in a thread": (loop_in_a_thread, 0.5),
    "`Recording.run()`": (recording, 0.8),
    "`Teaching.start()`": (teaching, 0.8),
    "`Replay.run()`": (replaying, 0.5),
    "`Prober.probe()`": (tuning, 0.8),
}
"""Patterns, and the longest time until the signal comes [s]."""
PLAIN = (floating_start_as_in_0_1_0, floating_run, control_loop)
"""Patterns that use nothing but what a run does by itself."""


def in_process(pattern: str, count: int, signals: tuple[str, ...], seed: int) -> dict[str, Any]:
    """Run a pattern again and again in this process, each time ended by signals at a random instant."""
    what, latest = PATTERNS[pattern]
    random.seed(seed)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a shell started this in the background
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    wrong: Counter[str] = Counter()
    sent: Counter[str] = Counter()
    worst, done = 0.0, 0
    while done < count:
        plant = RecordingPlant()
        allowed = signals if what is not floating_start_and_an_error else ("SIGINT",)
        number = getattr(signal, random.choice(allowed))
        # Outside of runs and of SignalSafe, SIGTERM and SIGHUP still end this process at once, as they should.
        begun = "write" if what in PLAIN and number != signal.SIGINT else "entering"
        wait, further = (
            random.uniform(0.0, latest),
            [random.uniform(0.0, 0.1) for _ in range(random.choice([0, 0, 1, 2]))],
        )
        over = threading.Event()
        came = [math.nan]

        def kill(
            plant: RecordingPlant = plant,
            number: int = number,
            begun: str = begun,
            wait: float = wait,
            further: list[float] = further,
            over: threading.Event = over,
            came: list[float] = came,
        ) -> None:
            while not any(call[1] == begun for call in tuple(plant.calls)):
                if over.wait(0.002):
                    return
            if over.wait(wait):
                return
            came[0] = time.monotonic()
            os.kill(os.getpid(), number)
            for pause in further:
                if over.wait(pause):
                    return
                os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=kill)
        ended = False
        try:
            thread.start()
            what(plant)
        except (ValueError, RuntimeError, *INTERRUPTIONS):  # RuntimeError: threading's, for a signal inside a Condition
            ended = True
        over.set()
        while thread.is_alive():
            with contextlib.suppress(*INTERRUPTIONS):
                thread.join()
        begun_waiting = time.monotonic()
        while time.monotonic() - begun_waiting < 0.3:  # a thread goes on, or a signal is still to come
            with contextlib.suppress(*INTERRUPTIONS):
                time.sleep(0.05)
        done += 1
        sent[signal.Signals(number).name] += 1
        found: set[str] | None = None
        while found is None:  # of two signals at once the interpreter may raise the second one only now
            with contextlib.suppress(*INTERRUPTIONS):
                found = set(judged(list(plant.calls)))
        if not (ended or math.isnan(came[0])):
            found.add("the signal was lost")
        wrong.update(found or {"good"})
        if plant.calls and not math.isnan(came[0]):
            worst = max(worst, plant.calls[-1][0] - came[0])
    return {"pattern": pattern, "count": count, "signals": dict(sent), "found": dict(wrong), "longest": worst}


# --------------------------------------------------------------------------------------------------------- processes

COMMANDS = {
    "float": ("float", "recording", "--friction-fraction", "0.3"),
    "record": ("record", "recording", "--poses", "{folder}/plan.csv", "--out", "{folder}/{case}.npz"),
    "teach": ("teach", "recording", "--out", "{folder}/{case}.path.csv"),
    "replay": ("replay", "recording", "{folder}/loop.path.csv"),
    "tune": ("tune", "recording", "--law", "pid"),
    "simulate": ("simulate", "titan2", "--reference", "hold", "--duration", "600"),
    "view": ("view", "titan2", "--port", "{port}"),
}
SIMULATED = ("simulate", "view")
"""Commands that drive simulated arms alone; here one with so much friction that it hardly sinks in the ramp."""
LATEST = {"float": 1.5, "record": 1.2, "teach": 1.5, "replay": 0.6, "tune": 1.5, "simulate": 1.5, "view": 1.5}
"""Longest time from the beginning of a command until the signal comes [s]."""
REGISTERED = "[counterpoise.plants]\nrecording = recording_plant:RecordingPlant\n"


def prepared(folder: Path) -> None:
    """Write what the commands read, and register the plant as an installed package does."""
    info = folder / "recording_plant-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: recording-plant\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(REGISTERED)
    (folder / "plan.csv").write_text("joint1\n0.8\n1.0\n0.6\n")
    write_path(_path(), folder / "loop.path.csv")


def _begun(calls: Path, command: str) -> bool:
    """Return whether a plant is being entered; of a simulated one, which is looked at before, whether it is driven."""
    return calls.exists() and (b"write" in calls.read_bytes() if command in SIMULATED else calls.stat().st_size > 0)


def one_process(
    folder: Path, case: str, command: str, how: str, wait: float, old: str | None, options: Sequence[str] = ()
) -> dict[str, Any]:
    """Start a command, send the signal ``wait`` seconds after the plant is being entered, and judge the calls.

    ``how`` is a signal, "SIGTERM twice" and the like, or "nohup SIGHUP": ignored, then ended by SIGTERM. ``options`` go
    to the plant, as ``--option``.
    """
    calls = folder / f"{case}.calls"
    port = 20000 + random.randrange(20000)
    arguments = [text.format(folder=folder, case=case, port=port) for text in COMMANDS[command]]
    # A study that runs in the background ignores some of them.
    start = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    start += "signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
    if how.startswith("nohup"):
        start += "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    if command in SIMULATED:
        start += f"from noted_simulation import note_calls; note_calls({str(calls)!r})\n"
    else:
        arguments += ["--robot", "pendulum", "--yes"]
        for option in (f"file={calls}", *options):
            arguments += ["--option", option]
    start += "from counterpoise.cli.main import main; main()"
    paths = [str(folder), str(HERE), f"{old}/src" if old else os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), "OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-c", start, *arguments],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
    )
    deadline = time.monotonic() + 60.0
    while not _begun(calls, command) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    time.sleep(wait)
    over = process.poll() is not None
    number = next(getattr(signal, word) for word in how.split() if word.startswith("SIG"))
    came = time.monotonic()
    process.send_signal(number)
    if how.endswith("twice"):
        time.sleep(random.uniform(0.0, 0.1))
        process.send_signal(number)
    if how.startswith("nohup"):
        time.sleep(0.3)
        wrong = ["ended by an ignored signal"] if process.poll() in (-number, 128 + number) else []
        over = process.poll() is not None  # by itself
        process.send_signal(signal.SIGTERM)
    else:
        wrong = []
    try:
        _, told = process.communicate(timeout=60.0)
    except subprocess.TimeoutExpired:
        process.kill()
        _, told = process.communicate()
        wrong.append("did not end")
    rows = read_calls(str(calls)) if calls.exists() else []
    facts = Path(f"{calls}.arm")
    wrong += judged(rows, Noted(**json.loads(facts.read_text())) if facts.exists() else Noted())
    ignored = how.startswith("nohup")
    documented = SERVED if command == "view" else STATUS
    expected = documented["SIGTERM"] if ignored else documented.get(how, documented[signal.Signals(number).name])
    # As a shell tells it: between two experiments of tune nothing is driven, and SIGTERM itself ends the process.
    status = process.returncode if process.returncode >= 0 else 128 - process.returncode
    if not over and status not in expected:
        wrong.append(f"exit status {status}")
    return {
        "command": command,
        "how": how,
        "wait": wait,
        "wrong": wrong,
        "over": over,
        "seconds": rows[-1][0] - came if rows else 0.0,
        "status": status,
        "told": told[-300:] if wrong else "",
    }


def in_processes(count: int, hows: tuple[str, ...], commands: tuple[str, ...], old: str | None, seed: int) -> list[Any]:
    """Run every command ``count`` times per kind of signal."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(WORKERS) as pool:
        folder = Path(name)
        prepared(folder)
        cases = [
            pool.submit(
                one_process,
                folder,
                f"{command}{index}{how.replace(' ', '')}",
                command,
                how,
                rng.uniform(0.0, LATEST[command]),
                old,
            )
            for command in commands
            for how in hows
            for index in range(count if how in SIGNALS else math.ceil(count / 4))
        ]
        return [case.result() for case in cases]


def summary(cases: list[Any]) -> list[dict[str, Any]]:
    """Return a row per command and kind of signal."""
    rows = []
    for key in dict.fromkeys((case["command"], case["how"]) for case in cases):
        own = [case for case in cases if (case["command"], case["how"]) == key]
        found = Counter(text for case in own for text in (case["wrong"] or ["good"]))
        statuses = Counter(str(case["status"]) for case in own)
        rows.append(
            {"command": key[0], "how": key[1], "count": len(own), "found": dict(found), "status": dict(statuses)}
            | {"over": sum(case["over"] for case in own), "longest": max(case["seconds"] for case in own)}
        )
    return rows


# ------------------------------------------------------------------------------------------------------------- tables


def _faults(row: dict[str, Any]) -> str:
    found, count = row["found"], row["count"]
    bad = [f"{text}: {times}" for text, times in sorted(found.items()) if text != "good"]
    return f"{count - found.get('good', 0)} of {count}" + (f" ({'; '.join(bad)})" if bad else "")


def _total(rows: list[dict[str, Any]]) -> str:
    """Return how many cases were wrong, and what with, in words."""
    found = Counter[str]()
    for row in rows:
        found.update({text: times for text, times in row["found"].items() if text != "good"})
    count = sum(row["count"] for row in rows)
    wrong = count - sum(row["found"].get("good", 0) for row in rows)
    told = "; ".join(f"{text}: {times}" for text, times in sorted(found.items()))
    return f"{wrong} of {count} were wrong" + (f" ({told})" if told else "")


def how(kept: dict[str, Any]) -> str:
    """Return in words how the figures came about."""
    now = kept["now"]
    said = f"In one process {_total(now['patterns'])}; of the processes {_total(now['commands'])}."
    if "load" not in now:
        return f"{said} {kept['note']}"
    least, most = now["load"]
    told = f"All rows at commit {kept['commit'][:10]}, {now['day']}, on {now['processors']} processors with a load of "
    told += f"{least:.1f} to {most:.1f}, in {now['minutes']:.0f} min."
    before = kept.get("at 0.1.0")
    if before is not None:
        signals = max((row["count"] for row in before["patterns"]), default=0)
        processes = sorted({row["count"] for row in before["commands"]}, reverse=True)
        told += f" 0.1.0 was tried before with {signals} signals a pattern and {' or '.join(map(str, processes))} "
        told += "processes a row."
    return f"{said} {told}"


def tables(now: dict[str, Any], before: dict[str, Any] | None) -> dict[str, str]:
    """Return the tables of the documentation."""
    old = {} if before is None else {row["pattern"]: row for row in before["patterns"]}
    lines = ["| pattern | wrong at 0.1.0 | wrong now |", "|---|---|---|"]
    for row in now["patterns"]:
        was = _faults(old[row["pattern"]]) if row["pattern"] in old else "–"
        lines.append(f"| {row['pattern']} | {was} | {_faults(row)} |")
    earlier = {} if before is None else {(row["command"], row["how"]): row for row in before["commands"]}
    shown = ["| command | signal | wrong at 0.1.0 | wrong now |", "|---|---|---|---|"]
    for row in now["commands"]:
        key = (row["command"], row["how"])
        was = _faults(earlier[key]) if key in earlier else "–"
        shown.append(f"| `{row['command']}` | {row['how']} | {was} | {_faults(row)} |")
    return {"patterns": "\n".join(lines), "commands": "\n".join(shown)}


HOWS = (*SIGNALS, "SIGINT twice", "SIGTERM twice", "nohup SIGHUP")


def measured(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return everything that was found, each pattern in a process of its own."""
    signals = ("SIGINT",) if arguments.old else SIGNALS
    environment = dict(os.environ)
    if arguments.old:
        environment["PYTHONPATH"] = f"{arguments.old}/src"

    def own_process(pattern: str) -> Any:
        command = [sys.executable, __file__, "--pattern", pattern, "--in-process", str(arguments.in_process)]
        command += ["--signals", *signals, "--seed", str(arguments.seed)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=3600)
        if done.returncode:
            ended = f"the process ended with {done.returncode}: {done.stderr[-300:]}"
            return {"pattern": pattern, "count": arguments.in_process, "signals": {}, "found": {ended: 1}, "longest": 0}
        return json.loads(done.stdout.splitlines()[-1])

    begun, loads, over = time.monotonic(), [os.getloadavg()[0]], threading.Event()

    def look() -> None:
        while not over.wait(10.0):
            loads.append(os.getloadavg()[0])

    looking = threading.Thread(target=look)
    looking.start()
    try:
        with ThreadPoolExecutor(WORKERS) as pool:
            patterns = list(pool.map(own_process, PATTERNS)) if arguments.in_process else []
        cases = in_processes(arguments.processes, HOWS, tuple(COMMANDS), arguments.old, arguments.seed)
    finally:
        over.set()
        looking.join()
    return {
        "day": time.strftime("%Y-%m-%d", time.gmtime()),
        "minutes": (time.monotonic() - begun) / 60.0,
        "load": [min(loads), max(loads)],
        "processors": os.cpu_count(),
        "patterns": patterns,
        "commands": summary(cases),
        "bad": [case for case in cases if case["wrong"]][:50],
    }


def main() -> None:
    """Measure, and write the result and the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--in-process", type=int, default=300, help="signals per pattern")
    parser.add_argument("--processes", type=int, default=20, help="processes per command and kind of signal")
    parser.add_argument("--old", help="a checkout of 0.1.0, to measure that")
    parser.add_argument("--out", type=Path, default=HERE / "stop_signals.json")
    parser.add_argument("--pattern", help="run one pattern here and print what was found")
    parser.add_argument("--signals", nargs="+", default=list(SIGNALS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tables", action="store_true", help="only put the tables into the documentation")
    arguments = parser.parse_args()
    if arguments.pattern:
        found = in_process(arguments.pattern, arguments.in_process, tuple(arguments.signals), arguments.seed)
        print(json.dumps(found))
        return
    kept = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    if not arguments.tables:
        kept["at 0.1.0" if arguments.old else "now"] = measured(arguments)
        if not arguments.old:
            kept.pop("note", None)
            kept["commit"] = commit()
        write_result(arguments.out, kept)
    if "now" in kept:
        for name, text in (tables(kept["now"], kept.get("at 0.1.0")) | {"how": how(kept)}).items():
            print(text, "\n")
            if arguments.out == HERE / "stop_signals.json":
                put(HERE.parent / "docs" / "safety.md", name, text.splitlines())


if __name__ == "__main__":
    main()
