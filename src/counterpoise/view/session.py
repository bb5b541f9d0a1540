"""A simulated arm that floats in a thread of its own, in real time, and takes orders from any other thread."""

from __future__ import annotations

import threading
import time as wall
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Literal, Self

import numpy as np
import numpy.typing as npt

from ..control import INTERRUPTIONS, RunReport
from ..dynamics import link_name
from ..errors import InputError, SafetyError
from ..foundation import Array
from ..recording import Sample
from .arms import ViewArm
from .guide import ASKED, Guide, Hand
from .law import floating_law
from .snapshot import Snapshot, State, Weight

FRAME_TIME = 1.0 / 50.0
"""Time between two snapshots, by the plant's clock [s]."""
ALONE_TIME = 3.0
"""How long the arm floats on when nobody looks [s], by the wall clock."""
MOST_BEHIND = 0.1
"""A simulation that is later than this gives up catching up [s]."""


class Session:
    """Runs the arm. Every method may be called from any thread; the arm itself is only touched by its own thread.

    ::

        with Session(view_arm("wam7")) as session:
            session.push("link7", (0, 0, -20), seconds=0.5)

    The run starts with the arm held, then it floats. Leaving the block, or :meth:`stop`, ends it in the safe stop. A
    fault does so too; :meth:`start_again` then begins anew.

    Attributes:
        arm: What is driven.
        report: The report of the last run that has ended; None before.
        strength: Largest force of a hand [N].
        tip_link: The link whose origin is traced.
        friction_fraction: Fraction of the friction that was compensated at the start.
    """

    def __init__(self, arm: ViewArm, *, friction_fraction: float = 0.5, real_time: bool = True) -> None:
        """Prepare; nothing moves yet.

        Args:
            arm: The arm.
            friction_fraction: Fraction of the friction that is compensated, 0 to 0.9.
            real_time: Keep pace with the clock on the wall; False runs as fast as it can.

        Raises:
            InputError: A bad fraction.
        """
        self.arm, self.friction_fraction = arm, friction_fraction
        self.report: RunReport | None = None
        guide = self._guide = Guide(arm, friction_fraction)
        self.strength, self.tip_link = guide.strength, guide.tip_link
        self._orders: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._viewers, self._alone_since, self._watched = 0, 0.0, False
        self._real_time = real_time
        self._frame, self._pace = 0, 1.0
        self._ending = False
        self._anew, self._wake = threading.Event(), threading.Event()
        self._changed = threading.Condition()
        self._snapshot = guide.snapshot(0, 1.0)
        self._wall = self._plant_time = self._next_frame = 0.0
        self._mark = (0.0, 0.0)
        self._restart_clock()
        self._thread = threading.Thread(target=self._work, name="counterpoise arm", daemon=True)

    # ------------------------------------------------------------------------------------------------- from outside

    def __enter__(self) -> Self:
        """Start."""
        return self.start()

    def __exit__(self, *_: object) -> None:
        """End in the safe stop."""
        self.stop()

    def start(self) -> Self:
        """Switch the arm on."""
        self._thread.start()
        return self

    def stop(self) -> RunReport | None:
        """End the run in the safe stop, switch the arm off, and return the report; may be repeated."""
        self._ending = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()
        return self.report

    @property
    def snapshot(self) -> Snapshot:
        """The newest snapshot."""
        return self._snapshot

    def wait_for(self, condition: Callable[[Snapshot], bool], timeout: float = 10.0) -> Snapshot:
        """Wait until a snapshot fulfils a condition and return the newest one, whether it does or not.

        Args:
            condition: What is waited for.
            timeout: Longest time [s], by the wall clock.
        """
        with self._changed:
            self._changed.wait_for(lambda: condition(self._snapshot), timeout)
            return self._snapshot

    def let_float(self) -> None:
        """Let the arm float."""
        self._orders.put(self._guide.let_float)

    def hold(self) -> None:
        """Hold the arm where it is."""
        self._orders.put(lambda: self._guide.hold(ASKED))

    def weigh(self) -> None:
        """Move the arm a little to some poses and back, held at each, until the weight on it is known."""
        self._orders.put(self._guide.weigh)

    def start_again(self) -> None:
        """End the run in the safe stop, put the arm back at its first pose, empty, and start anew."""
        self._anew.set()
        self._wake.set()

    def set_gravity(self, on: bool) -> None:
        """Switch gravity compensation on or off."""
        self._orders.put(lambda: setattr(self._guide.law, "gravity_on", bool(on)))

    def set_friction_fraction(self, friction_fraction: float) -> None:
        """Compensate another fraction of the friction.

        Raises:
            InputError: A fraction that is none, or with which the arm may not come to rest.
        """
        floating_law(self.arm, friction_fraction)  # refuses it here, and not in the arm's thread
        self._orders.put(lambda: self._guide.use_friction_fraction(friction_fraction))

    def use_plate(self, on: bool) -> None:
        """Use the plate's reading, or leave it alone."""
        self._orders.put(lambda: setattr(self._guide, "plate_on", bool(on)))

    def trust_payload(self, on: bool) -> None:
        """Compensate a payload that was found, or leave it to friction and to the hands that hold the arm."""
        self._orders.put(lambda: setattr(self._guide, "trusts_payload", bool(on)))

    def grab(self, who: str, link: str, point: npt.ArrayLike) -> None:
        """Put a hand on a link.

        Args:
            who: Whose hand; a second grab by the same replaces the first.
            link: The link.
            point: Where, in the link's frame [m], shape (3,).

        Raises:
            InputError: No such link, or no such point.
        """
        self._refuse_unknown(link)
        hand = Hand(link, _three(point, "point"), np.zeros(3))
        self._orders.put(lambda: self._guide.take_hold(who, hand))

    def pull(self, who: str, target: npt.ArrayLike) -> None:
        """Say where a hand wants its point, in the base frame [m], shape (3,)."""
        wanted = _three(target, "target")
        self._orders.put(lambda: self._guide.pull(who, wanted))

    def let_go(self, who: str) -> None:
        """Take a hand off."""
        self._orders.put(lambda: self._guide.let_go(who))

    def push(self, link: str, force: npt.ArrayLike, seconds: float = 0.5) -> None:
        """Push a link at its origin.

        Args:
            link: The link.
            force: The force, base frame [N], shape (3,); never more than a hand's strength is used.
            seconds: How long [s].

        Raises:
            InputError: No such link, or no such force.
        """
        self._refuse_unknown(link)
        wanted = _three(force, "force")

        def give() -> None:
            until = self.arm.plant.time + seconds
            self._guide.take_hold(f"push on {link}", Hand(link, np.zeros(3), np.zeros(3), wanted, until))

        self._orders.put(give)

    def hang(self, link: str, mass: float, point: npt.ArrayLike = (0.0, 0.0, 0.0)) -> None:
        """Hang a weight on a link, instead of the present one. The controller is not told: it finds out.

        Args:
            link: The link.
            mass: Its mass [kg].
            point: Where, in the link's frame [m], shape (3,).

        Raises:
            InputError: No such link, or a weight that cannot be.
        """
        x, y, z = _three(point, "point").tolist()
        self.arm.robot.with_payload(mass, com=(x, y, z), link=link)  # refuses what cannot be
        self._orders.put(lambda: self._guide.load(Weight(link, float(mass), (x, y, z))))

    def unhang(self) -> None:
        """Take the weight off."""
        self._orders.put(lambda: self._guide.load(None))

    def watched(self, viewers: int) -> None:
        """Say how many people look at the arm; when the last has left, it is held after ALONE_TIME."""

        def change() -> None:
            self._viewers, self._alone_since = viewers, wall.monotonic()
            self._watched |= viewers > 0

        self._orders.put(change)

    def _refuse_unknown(self, link: str) -> None:
        link_name(self.arm.robot, link, "link=")

    # ---------------------------------------------------------------------------------------------- the arm's thread

    def _work(self) -> None:
        plant, guide = self.arm.plant, self._guide
        while not self._ending:
            loop = guide.rig.loop(guide.law)
            self._restart_clock()
            try:
                with plant:
                    loop.run(None, until=self._tick)
            except SafetyError as error:
                guide.stop(str(error))
            except INTERRUPTIONS:  # a signal, or the program's end: the arm was stopped, and stays so
                self._ending = True
            finally:
                self.report = loop.last_report or self.report
            self._publish()
            while guide.state is State.STOPPED and not self._ending and not self._anew.is_set():
                self._wake.wait(0.5)
                self._wake.clear()
                self._drain()
            if self._anew.is_set():  # between two runs: the plant's clock goes back to 0
                self._anew.clear()
                guide.home()

    def _tick(self, sample: Sample) -> bool:
        """Do what belongs to one control tick besides the torque; true ends the run."""
        self._drain()
        self._guide.tick(sample)
        if self._watched and not self._viewers and wall.monotonic() - self._alone_since > ALONE_TIME:
            self._guide.nobody_looks()
        stopped = self._guide.state is State.STOPPED
        if sample.time >= self._next_frame and not stopped:  # that it stopped is shown once the run has its report
            self._next_frame = max(self._next_frame + FRAME_TIME, sample.time)
            self._publish()
        if self._real_time:
            self._keep_pace(sample.time)
        return self._ending or self._anew.is_set() or stopped

    def _drain(self) -> None:
        while True:
            try:
                order = self._orders.get_nowait()
            except Empty:
                return
            order()

    def _publish(self) -> None:
        now, time = wall.monotonic(), self._guide.sample.time
        if now - self._mark[0] > 1.0:
            self._pace = (time - self._mark[1]) / (now - self._mark[0])
            self._mark = (now, time)
        self._frame += 1
        snapshot = self._guide.snapshot(self._frame, self._pace)
        with self._changed:
            self._snapshot = snapshot
            self._changed.notify_all()

    def _restart_clock(self) -> None:
        self._wall, self._plant_time = wall.monotonic(), self.arm.plant.time
        self._mark, self._next_frame = (self._wall, self._plant_time), self._plant_time

    def _keep_pace(self, time: float) -> None:
        ahead = (time - self._plant_time) - (wall.monotonic() - self._wall)
        if ahead > 0.0:
            wall.sleep(ahead)
        elif ahead < -MOST_BEHIND:
            self._wall, self._plant_time = wall.monotonic(), time


def _three(value: npt.ArrayLike, name: Literal["point", "target", "force"]) -> Array:
    array = np.array(value, dtype=np.float64)
    if array.shape != (3,) or not np.all(np.isfinite(array)) or np.abs(array).max() > 1e4:
        raise InputError(f"{name} is {array.tolist()}; expected three finite numbers")
    return array
