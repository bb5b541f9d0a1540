"""Show an arm until somebody ends it: the page and its session, started together and stopped in the right order."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..control.stop_signals import Deferral
from .arms import ViewArm
from .comparison import ModelPair
from .page import LOCAL_HOST, PORT, ViewPage
from .session import Session
from .timeline import Timeline

NAP = 0.05  # [s] how late a signal may be noticed


@dataclass(frozen=True, slots=True)
class Served:
    """How a page that is over went.

    Attributes:
        url: Where it was.
        seconds: How long it was served [s].
        frames: States of the arm that were sent.
        end: How the arm's last run ended, e.g. "completed"; None where it never ran.
        stop: What holds the arm now: "zero" torque or its "brake"; None where it never ran.
        ended_by: "SIGINT", "SIGTERM", "SIGHUP" or "time".
    """

    url: str
    seconds: float
    frames: int
    end: str | None
    stop: str | None
    ended_by: str


def serve(
    arm: ViewArm,
    *,
    host: str = LOCAL_HOST,
    port: int = PORT,
    share: float = 0.5,
    seconds: float | None = None,
    timeline: Timeline | None = None,
    comparison: ModelPair | None = None,
    allow_origins: Sequence[str] = (),
    started: Callable[[str], None] = lambda url: None,
) -> Served:
    """Serve the page until SIGINT (Ctrl-C), SIGTERM, SIGHUP or the end of the time; the arm ends in its safe stop.

    Call it from the main thread: signals arrive there.

    Args:
        arm: The arm.
        host: Address to listen at.
        port: Port to listen at.
        share: Share of the friction that is compensated at the start.
        seconds: How long to serve [s]; None for until a signal comes.
        timeline: What to replay.
        comparison: What to compare.
        allow_origins: Origins of foreign pages that may ask.
        started: Called with the page's address once it is there.

    Raises:
        InputError: The address cannot be listened at, a bad share, or foreign pages cannot be turned away.
        MissingExtraError: viser is not installed.
    """
    session = Session(arm, share=share)
    begun = time.monotonic()
    with Deferral(deliver=False) as signals:
        with session:  # whatever happens below, the arm ends in its safe stop
            page = ViewPage(
                session, host=host, port=port, timeline=timeline, comparison=comparison, allow_origins=allow_origins
            )
            try:
                started(page.url)
                until = math.inf if seconds is None else time.monotonic() + seconds
                # Naps, not one long wait: a signal that comes just before a wait begins does not wake it.
                while signals.arrived is None and time.monotonic() < until:
                    time.sleep(NAP)
            finally:
                page.close()
        ended_by = signals.claim()
    report = session.report
    return Served(
        url=page.url,
        seconds=time.monotonic() - begun,
        frames=page.frames,
        end=None if report is None else report.end.value,
        stop=None if report is None else report.stop,
        ended_by="time" if ended_by is None else ended_by.name,
    )
