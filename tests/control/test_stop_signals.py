"""Whatever ends the program, the arm is stopped: real signals, real processes, a plant that notes every call.

The plant and the patterns are those of studies/stop_signals.py; this is its small version.
"""

from __future__ import annotations

import _imp
import contextlib
import gc
import importlib
import json
import math
import os
import pty
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from importlib.machinery import ExtensionFileLoader
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.control.gravity import PDGravity
from counterpoise.control.loop import ControlLoop
from counterpoise.control.report import EndState
from counterpoise.control.safe_stop import nominal_time
from counterpoise.control.safety import SafetySettings
from counterpoise.control.start import MOST_LINEAR, MOST_ROTARY
from counterpoise.control.stop_signals import NO_SIGNAL, PROCESS, Driving, PlantUse, SignalSafe, StoppedFromOutside
from counterpoise.errors import PlantError, SafetyError
from counterpoise.tasks import Floating, Rig
from library.braked_arm import BrakedArm, side_by_side
from library.study_module import STUDIES, load_study

study = load_study("stop_signals")
RecordingPlant = sys.modules["recording_plant"].RecordingPlant
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")

AS_BEFORE = "`Floating.start()` in `with plant:`"
KEPT = "`ControlLoop.run(then='keep')` again and again"
RAISES = "`Floating.start()` in `SignalSafe`, the block raises"


@pytest.mark.parametrize("pattern", [AS_BEFORE, RAISES, KEPT, "`Prober.probe()`"])
def test_signals_at_random_instants_end_in_the_gravity_stop(pattern: str) -> None:
    """Whichever instant the signals meet: law, gravity stop, the plant's own stop, and no write after that."""
    command = [sys.executable, str(STUDIES / "stop_signals.py"), "--pattern", pattern, "--in-process", "8"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert json.loads(done.stdout.splitlines()[-1])["found"] == {"good": 8}


@pytest.fixture(scope="module")
def registered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a package registers the plant by its entry point."""
    folder = tmp_path_factory.mktemp("registered")
    study.prepared(folder)
    return folder


@pytest.mark.parametrize(
    ("command", "how", "wait"),
    [
        ("float", "SIGTERM", 0.01),
        ("float", "SIGINT twice", 0.6),
        ("float", "nohup SIGHUP", 0.2),
        ("record", "SIGHUP twice", 0.1),
        ("teach", "SIGTERM", 0.3),
        ("replay", "SIGHUP", 0.1),
        ("tune", "SIGTERM", 0.3),
    ],
)
def test_a_command_ends_in_the_safe_stop(registered: Path, command: str, how: str, wait: float) -> None:
    """As a process on a registered plant, with the exit status 128 + signal; an ignored signal stays ignored."""
    case = study.one_process(registered, f"{command}{how}{wait}".replace(" ", ""), command, how, wait, None)
    assert case["wrong"] == [], case


@pytest.mark.parametrize("command", ["float", "replay", "tune"])
def test_a_command_that_is_entering_its_plant_leaves_it(registered: Path, command: str) -> None:
    """SIGINT 0.3 s into a plant's ``__enter__`` that takes 1.6 s: it is entered whole, left whole, and never driven."""
    case = study.one_process(registered, f"{command}entering", command, "SIGINT", 0.3, None, options=("slow=1.6",))
    calls = sys.modules["recording_plant"].read_calls(str(registered / f"{command}entering.calls"))
    assert [call[1] for call in calls] == ["entering", "enter", "exiting", "exit"]
    assert case["wrong"] == [], case


@pytest.mark.parametrize("command", ["simulate", "view"])
@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_simulated_arm_ends_in_the_safe_stop(tmp_path: Path, command: str, how: str) -> None:
    """As the others, call by call; the page ends with status 0 whatever ends it."""
    pytest.importorskip("mujoco", reason="mujoco is not installed: pip install 'counterpoise[sim]'")
    if command == "view":
        pytest.importorskip("viser", reason="viser is not installed: pip install 'counterpoise[view]'")
    case = study.one_process(tmp_path, f"{command}{how}", command, how, 0.3, None)
    assert case["wrong"] == [] and not case["over"], case


def script(
    tmp_path: Path, body: str, *, number: int | None = None, after: str = "write", longest: float = 30.0
) -> tuple[Any, list[Any], str]:
    """Run a program that has a plant, and send it a signal once a call was noted; return process, calls and stderr."""
    calls = tmp_path / "calls"
    text = "import ctypes, os, sys, threading, time\n"
    text += f"sys.path.insert(0, {str(STUDIES)!r})\n"
    text += "from stop_signals import *\nfrom recording_plant import *\n"
    text += f"plant = RecordingPlant({str(calls)!r})\n{body}"
    process = subprocess.Popen([sys.executable, "-c", text], stderr=subprocess.PIPE, text=True)
    try:
        if number is not None:
            deadline = time.monotonic() + 60.0
            while time.monotonic() < deadline and not (calls.exists() and after in calls.read_text()):
                time.sleep(0.01)
            process.send_signal(number)
        _, told = process.communicate(timeout=longest)
    except subprocess.TimeoutExpired:
        process.kill()
        _, told = process.communicate()
    return process, sys.modules["recording_plant"].read_calls(str(calls)), told


HANGING_LAW = """
class Hangs(PDGravity):
    def torque(self, sample, time_):
        while sample.time > 0.5:
            time.sleep(0.01)
        return super().torque(sample, time_)

gains = default_gains(ROBOT, np.array([plant.q]), ROBOT.effort_limit, plant.dt)
law = Hangs(ROBOT, gains.kp, gains.kd)
"""


def test_a_law_that_hangs_is_given_up_within_the_bound(tmp_path: Path) -> None:
    """The plant is stopped from another thread, nothing is written after that, and the program ends."""
    body = HANGING_LAW + "with SignalSafe(plant):\n    ControlLoop(plant, law, ROBOT).run(9.0)\n"
    begun = time.monotonic()
    process, calls, told = script(tmp_path, body, number=signal.SIGTERM)
    kinds = [call[1] for call in calls]
    assert process.returncode == 143, told
    assert time.monotonic() - begun < 15.0
    assert "write" in kinds and "write" not in kinds[kinds.index("emergency_stop") :]
    assert kinds[-1] == "exit"


def test_a_driver_that_hangs_beyond_python_is_stopped_from_another_thread(tmp_path: Path) -> None:
    """The main thread never returns from a foreign library: its handler cannot run, and the plant is stopped anyway."""
    body = HANGING_LAW.replace("class Hangs(PDGravity):", "class Unused(PDGravity):").replace("Hangs", "PDGravity")
    body += """
mutex = ctypes.create_string_buffer(64)
lock = ctypes.CDLL(None).pthread_mutex_lock
read = plant.read
def hanging():
    if plant.time > 0.5:
        plant._note("hangs")
        lock(mutex), lock(mutex)
    return read()
plant.read = hanging
with plant:
    ControlLoop(plant, law, ROBOT).run(9.0)
"""
    process, calls, told = script(tmp_path, body, number=signal.SIGTERM, after="hangs", longest=6.0)
    kinds = [call[1] for call in calls]
    assert process.returncode == -signal.SIGKILL, told  # nothing could make it return; the test ended it
    assert kinds[-1] == "emergency_stop" and calls[-1][0] - calls[kinds.index("hangs")][0] < 5.0


@pytest.mark.parametrize(("last", "code"), [("sys.exit(3)", 3), ("raise ValueError('of the caller')", 1), ("", 0)])
def test_the_end_of_the_program_stops_the_arm(tmp_path: Path, last: str, code: int) -> None:
    """A thread floats the arm, nobody stops it, and nobody leaves the plant: the gravity stop comes all the same."""
    body = (
        "entered = plant.__enter__()\nfloating = Floating(Rig(plant, ROBOT))\nfloating.start()\ntime.sleep(0.3)\n"
        + last
    )
    process, calls, told = script(tmp_path, body)
    assert process.returncode == code, told
    assert study.judged(calls) == []
    assert calls[-1][1] == "emergency_stop"


def test_a_child_process_leaves_the_arm_alone(tmp_path: Path) -> None:
    """A forked child that is terminated does not stop its parent's arm."""
    body = """
ended = []
def child_comes_and_goes(sample):
    if sample.time > 0.5 and not ended:
        child = os.fork()
        if child == 0:
            time.sleep(30.0)
        time.sleep(0.05)
        os.kill(child, signal.SIGTERM)
        ended.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    return False
with SignalSafe(plant):
    gains = default_gains(ROBOT, np.array([plant.q]), ROBOT.effort_limit, plant.dt)
    report = ControlLoop(plant, PDGravity(ROBOT, gains.kp, gains.kd), ROBOT).run(3.0, until=child_comes_and_goes)
assert ended == [-15], ended
assert report.end.value == "completed" and report.ticks > 300, report
"""
    process, _, told = script(tmp_path, body)
    assert process.returncode == 0, told


@pytest.fixture(autouse=True)
def usual() -> Any:
    """The handlers of a program that was started from a terminal, for this process and those that it starts."""
    gc.collect()  # a run of another test that kept its torque, and was never taken over
    PROCESS.restore()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def handlers() -> list[Any]:
    return [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_run_raises_the_signal_after_its_stop_and_gives_the_handlers_back(number: signal.Signals) -> None:
    """The report is that of an interrupted run, and the exception carries the exit status."""
    plant, before = RecordingPlant(), handlers()

    def until(sample: Any) -> bool:
        if sample.time > 0.3:
            os.kill(os.getpid(), number)
        return False

    with plant:
        loop = ControlLoop(plant, study._pd(plant), study.ROBOT)
        with pytest.raises(KeyboardInterrupt if number == signal.SIGINT else StoppedFromOutside) as caught:
            loop.run(5.0, until=until)
    assert handlers() == before
    assert study.judged(plant.calls) == []
    assert loop.last_report is not None and loop.last_report.end is EndState.GRAVITY_STOP
    assert loop.last_report.events[-2].message == f"interrupted by {number.name}"
    if number != signal.SIGINT:
        assert caught.value.code == 128 + number and caught.value.signal is number  # type: ignore[attr-defined]


def test_handlers_of_the_program_and_ignored_signals_are_left_alone() -> None:
    """A program that has its own handler decides itself; what is ignored stays so."""
    plant, seen = RecordingPlant(), []
    signal.signal(signal.SIGTERM, lambda number, frame: seen.append(number))
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    sent = iter((signal.SIGTERM, signal.SIGHUP))

    def until(sample: Any) -> bool:
        if sample.time > 0.3 and (number := next(sent, None)) is not None:
            os.kill(os.getpid(), number)
        return False

    with SignalSafe(plant):
        report = ControlLoop(plant, study._pd(plant), study.ROBOT).run(1.0, until=until)
    assert report.end is EndState.COMPLETED and seen == [signal.SIGTERM]


def test_outside_the_main_thread_the_block_still_ends_what_drives() -> None:
    """No handler can be installed there; a loop in yet another thread is stopped before the plant is left."""
    plant, before = RecordingPlant(), handlers()
    found: list[Any] = []

    def work() -> None:
        try:
            ControlLoop(plant, study._pd(plant), study.ROBOT).run(None)
        except StoppedFromOutside as error:
            found.append(error)

    def block() -> None:
        with SignalSafe(plant):
            driving = threading.Thread(target=work)
            driving.start()
            while not any(call[1] == "write" for call in plant.calls):
                time.sleep(0.001)
            found.append(handlers())

    thread = threading.Thread(target=block)
    thread.start()
    thread.join()
    assert found[0] == before and isinstance(found[1], StoppedFromOutside) and found[1].signal is None
    assert study.judged(plant.calls) == []


def test_a_closed_terminal_ends_in_the_safe_stop(registered: Path) -> None:
    """A real terminal that goes away while the arm floats: SIGHUP, and nothing that is printed gets through."""
    calls = registered / "terminal.calls"
    arguments = ["float", "recording", "--robot", "pendulum", "--yes", "--option", f"file={calls}"]
    environment = {**os.environ, "PYTHONPATH": f"{registered}{os.pathsep}{STUDIES}"}
    child, terminal = pty.fork()
    if child == 0:
        os.execve(sys.executable, [sys.executable, "-m", "counterpoise", *arguments], environment)
    deadline = time.monotonic() + 60.0
    while time.monotonic() < deadline and not (calls.exists() and calls.read_text().count("write") > 100):
        time.sleep(0.01)
    os.close(terminal)
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < deadline:
        time.sleep(0.05)
    if ended[0] == 0:
        os.kill(child, signal.SIGKILL)
        ended = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(ended[1]) == 129
    assert study.judged(sys.modules["recording_plant"].read_calls(str(calls))) == []


def test_a_signal_that_meets_a_finaliser_is_not_lost() -> None:
    """What is raised in __del__ is printed and forgotten: the signal is raised a little later instead."""

    class Meets:
        def __del__(self) -> None:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.01)

    plant = RecordingPlant()
    with pytest.raises(StoppedFromOutside), SignalSafe(plant):
        meets = Meets()
        del meets
        time.sleep(30.0)
    assert plant.calls[-1][1] == "exit"


def test_a_signal_that_meets_an_import_is_not_lost(usual: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled modules drop exceptions of their first code, and a callback of imports has nobody to give them to."""

    def first_code(module: Any) -> None:
        with contextlib.suppress(BaseException):
            kills(signal.SIGTERM, then=0.01)()

    plant = RecordingPlant()
    monkeypatch.setattr(_imp, "exec_dynamic", first_code)
    with pytest.raises(StoppedFromOutside), SignalSafe(plant):
        ExtensionFileLoader("compiled", "compiled.so").exec_module(sys)
        time.sleep(5.0)
    acquire = _imp.acquire_lock

    def acquired() -> None:
        acquire()
        kills(signal.SIGTERM, then=0.01)()

    with pytest.raises(StoppedFromOutside), SignalSafe(plant):
        lock = importlib._bootstrap._get_module_lock("of_no_module")  # type: ignore[attr-defined]
        monkeypatch.setattr(_imp, "acquire_lock", acquired)
        del lock  # its callback takes the lock of imports
        monkeypatch.setattr(_imp, "acquire_lock", acquire)
        time.sleep(5.0)
    assert plant.calls[-1][1] == "exit"


def test_a_thread_that_begins_when_the_block_was_left_drives_nothing() -> None:
    """The block ended before the thread came to its run: nothing is written, and the error says why."""
    plant, left, found = RecordingPlant(), threading.Event(), []
    loop = ControlLoop(plant, study._pd(plant), study.ROBOT)

    def work() -> None:
        left.wait()
        try:
            loop.run(1.0)
        except SafetyError as error:
            found.append(str(error))

    with SignalSafe(plant):
        thread = threading.Thread(target=work)
        thread.start()
    left.set()
    thread.join()
    assert "has left this plant" in found[0] and not any(call[1] == "write" for call in plant.calls)
    with SignalSafe(plant):
        assert loop.run(0.1).end is EndState.COMPLETED


class HookedPlant(RecordingPlant):  # type: ignore[misc, valid-type]
    """A plant that does something just before it notes a call."""

    def __init__(self, call: str, act: Callable[[], None]) -> None:
        super().__init__()
        self._call, self._act = call, act

    def _note(self, kind: str, tau: float = math.nan) -> None:
        if kind == self._call:
            self._act()
        super()._note(kind, tau)


def kills(number: int, then: float = 0.0) -> Callable[[], None]:
    """Return what sends a signal to this process, and takes some more time [s] after it."""

    def act() -> None:
        os.kill(os.getpid(), number)
        time.sleep(then)

    return act


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("call", ["entering", "enter", "exiting", "exit"])
def test_entering_and_leaving_are_completed(number: signal.Signals, call: str) -> None:
    """A signal at the beginning or the end of either: the plant is entered whole and left whole, then it is raised."""
    plant = HookedPlant(call, kills(number))
    with pytest.raises(KeyboardInterrupt if number == signal.SIGINT else StoppedFromOutside), SignalSafe(plant):
        ControlLoop(plant, study._pd(plant), study.ROBOT).run(0.1)
    kinds = [call[1] for call in plant.calls if call[1] != "write"]
    assert kinds[:2] == ["entering", "enter"] and kinds[-2:] == ["exiting", "exit"]
    assert study.judged(plant.calls) == []
    assert ("write" in [call[1] for call in plant.calls]) == (call in ("exiting", "exit"))


def test_entering_at_random_instants_is_completed() -> None:
    """SIGINT from a thread while the plant is being entered: it is always left, and nothing is written."""
    for case in range(40):
        thread = threading.Timer(0.0006 * case, os.kill, (os.getpid(), signal.SIGINT))
        plant = HookedPlant("entering", thread.start)
        with pytest.raises(KeyboardInterrupt), SignalSafe(plant):
            time.sleep(30.0)
        thread.join()
        assert [call[1] for call in plant.calls] == ["entering", "enter", "exiting", "exit"]


@pytest.mark.parametrize("call", ["enter", "exit"])
def test_a_slow_plant_is_given_time_to_be_entered_and_left(call: str) -> None:
    """Drives take seconds to be switched on or off: a signal does not cut that short."""
    plant = HookedPlant(call, kills(signal.SIGTERM, then=2.5))
    with pytest.raises(StoppedFromOutside), SignalSafe(plant):
        time.sleep(0.0)
    assert [call[1] for call in plant.calls] == ["entering", "enter", "exiting", "exit"]


def test_an_entering_that_hangs_is_given_up_and_the_plant_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """After its bound it is stopped from another thread, interrupted, and left all the same."""
    monkeypatch.setattr("counterpoise.control.stop_signals.SWITCHING", 0.3)
    plant = HookedPlant("enter", kills(signal.SIGTERM, then=60.0))
    begun = time.monotonic()
    with pytest.raises(StoppedFromOutside), SignalSafe(plant):
        pytest.fail("the block began")
    assert time.monotonic() - begun < 10.0
    assert [call[1] for call in plant.calls] == ["entering", "given_up", "emergency_stop", "exiting", "exit"]


def test_a_job_that_is_given_up_takes_its_run_along() -> None:
    """A run that began late in its job has time left when the job has none: it writes nothing after the stop."""
    plant, found = RecordingPlant(), []
    job, run = PlantUse(plant, 0.2, sends=False), PlantUse(plant, 60.0)

    def work() -> None:
        job.thread = run.thread = threading.get_ident()
        until = time.monotonic() + 3.0
        with Driving(job), Driving(run):
            job.ask(NO_SIGNAL)
            PROCESS.wake()
            try:
                while time.monotonic() < until:
                    run.write(np.zeros(1))
                    plant.read()
            except PlantError as error:
                found.append(str(error))

    with SignalSafe(plant):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    kinds = [call[1] for call in plant.calls]
    assert "stopped from outside" in found[0]
    assert "write" in kinds and "write" not in kinds[kinds.index("emergency_stop") :]


def test_a_block_that_is_left_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """However the threads take turns: what hangs in another thread when the block ends is given up after its bound."""
    wake = PROCESS.wake

    def slowly() -> None:
        wake()
        time.sleep(0.1)  # the watching thread has looked by now

    monkeypatch.setattr(PROCESS, "wake", slowly)
    plant, begun = RecordingPlant(), threading.Event()
    use = PlantUse(plant, 0.2)

    def hang() -> None:
        use.thread = threading.get_ident()
        until = time.monotonic() + 4.0
        with Driving(use):
            begun.set()
            while time.monotonic() < until and not use.abandoned:
                time.sleep(0.01)

    with SignalSafe(plant):
        thread = threading.Thread(target=hang)
        thread.start()
        begun.wait()
    thread.join()
    assert use.abandoned
    assert [call[1] for call in plant.calls][-4:] == ["given_up", "emergency_stop", "exiting", "exit"]


def test_a_stop_that_the_machine_makes_slow_is_given_up_in_time() -> None:
    """Torques go on, each of them late: after 3 times the nominal length and 2 s the plant is stopped without the rest.

    Seen once in the study, at a load of 20; "no gravity stop" is then all that is wrong.
    """

    class SlowPlant(RecordingPlant):  # type: ignore[misc, valid-type]
        slow = False

        def read(self) -> Any:
            time.sleep(0.07 if self.slow else 0.0)
            return super().read()

    plant = SlowPlant()
    with SignalSafe(plant):
        floating = Floating(Rig(plant, study.ROBOT))
        floating.start()
        while plant.time < 0.5:
            time.sleep(0.001)
        plant.slow = True
    nominal = nominal_time(plant, SafetySettings(), cp.control.SafetyFilter(study.ROBOT, plant=plant).limits)
    stopped = next(call[0] for call in plant.calls if call[1] == "emergency_stop")
    last = max(call[0] for call in plant.calls if call[1] == "write")
    assert study.judged(plant.calls) == [study.GIVEN_UP]
    assert last < stopped
    assert stopped - plant.calls[0][0] > 3.0 * nominal + 2.0


class PacedArm(BrakedArm):
    """Brakes that take 80 ms to open; a nap in every period, so that a signal can meet any instruction of it."""

    def __init__(self) -> None:
        super().__init__(BRAKED, opening=0.08)

    def read(self) -> Any:
        time.sleep(2e-5)
        return super().read()


BRAKED, CASES = side_by_side(), 25
START_TICKS = 400
"""Periods of PacedArm's start: 37 ms to the torque, 100 ms with it, 80 ms until the brakes are open, 200 ms watched."""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_during_the_braked_start_leaves_the_brakes_closed(number: signal.Signals) -> None:
    """At random instants of the start: the brakes end closed, the plant's stop comes, and nothing is written after."""
    met: list[str] = []
    in_start = 0
    draw = random.Random(int(number))
    for case in range(CASES):
        arm, tick = PacedArm(), round(START_TICKS * (case + draw.random()) / CASES)

        def kill(arm: PacedArm = arm, tick: int = tick) -> None:
            while arm.ticks < tick:
                time.sleep(0.0)
            met.append("closed" if arm.closed else "opening" if arm.locked else "open")
            os.kill(os.getpid(), number)

        loop = ControlLoop(arm, PDGravity(BRAKED, [60.0, 200.0], [12.0, 40.0]), BRAKED)
        thread = threading.Thread(target=kill)
        with pytest.raises(KeyboardInterrupt if number == signal.SIGINT else StoppedFromOutside), SignalSafe(arm):
            thread.start()
            try:
                loop.run(0.5)
            finally:
                thread.join()  # while the signal is still handled
        last = arm.calls.index("stop")
        assert arm.closed
        assert "write" not in arm.calls[last:] and "release" not in arm.calls[last:]
        assert np.all(np.abs(arm.q) < [MOST_ROTARY, MOST_LINEAR])
        assert loop.last_report is not None and loop.last_report.end is EndState.GRAVITY_STOP
        kinds = [event.kind for event in loop.last_report.events]
        in_start += "brakes_opened" not in kinds
        assert loop.last_report.events[-2].message == f"interrupted by {number.name}"
    assert in_start > 0.5 * CASES  # the thread that sends them may be late
    assert set(met) == {"closed", "opening", "open"}
