"""The page: a server on this machine that shows a session's arm in the browser and takes what the mouse does to it.

``serve`` shows an arm until somebody ends it: page and session are started together and stopped in the right order.
"""

from __future__ import annotations

import contextlib
import io
import math
import threading
import time
import time as wall
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..control import Deferral
from ..dynamics import link_poses
from ..errors import InputError, MissingExtraError
from ..foundation import Array
from .arms import ViewArm
from .comparison import ModelPair
from .controls import Controls
from .doorkeeper import EVERYWHERE, Doorkeeper, guarding, refuse_open_door
from .scene import ArmScene, Part, parts_of, reach_of
from .session import Session
from .snapshot import Snapshot
from .timeline import Timeline
from .weight import WeightBall

if TYPE_CHECKING:
    from viser import ViserServer


LOCAL_HOST = "127.0.0.1"
PORT = 8080
PICTURE_TIME = 0.12
"""Time between two updates of bars and texts [s]; the arm itself is updated with every snapshot."""
TRACE_POINTS = 240
"""Points of the tip's trace."""
TRACE_STEP = 0.05
"""Time between two points of it [s]."""
GHOST_COLOR = (59, 130, 196)
FORCE_COLOR, TRACE_COLOR, PLATE_COLOR = (194, 69, 60), (228, 122, 46), (126, 158, 140)
PHONE_LOWER, PHONE_FARTHER = 0.55, 1.7
"""On a phone the camera looks lower, over the arm's reach, and from farther away."""
FULL_ARROW = 0.6
"""Length of an arrow at a hand's full force, over the arm's reach."""


class ViewPage:
    """Serves a session. Close it before the session is stopped, or after: neither minds.

    Attributes:
        session: What is shown.
        url: Where to look.
        frames: How many states of the arm were sent.
    """

    def __init__(
        self,
        session: Session,
        *,
        host: str = LOCAL_HOST,
        port: int = PORT,
        timeline: Timeline | None = None,
        comparison: ModelPair | None = None,
        allow_origins: Sequence[str] = (),
    ) -> None:
        """Start serving; the session runs already.

        Args:
            session: What to show.
            host: Address to listen at. Whoever can reach it can push the arm.
            port: Port to listen at; the next free one where it is taken.
            timeline: A recording or taught path to replay.
            comparison: Two models to compare.
            allow_origins: Origins of foreign pages that may ask, e.g. "https://robot.example"; see view/doorkeeper.py.

        Raises:
            MissingExtraError: viser is not installed.
            InputError: The address cannot be listened at, an origin is none, or foreign pages cannot be turned away.
        """
        self.session = session
        self.frames = 0
        server = self._server = _server(host, port, Doorkeeper.at(host, allow_origins))
        shown = "localhost" if host in EVERYWHERE else f"[{host}]" if ":" in host else host
        self.url = f"http://{shown}:{server.get_port()}"
        robot = session.arm.robot
        self._mount = np.asarray(robot.mount)
        self._reach = reach_of(robot)
        parts, notes = parts_of(robot)
        self._dress(server)
        self._arm = ArmScene(server, robot, parts, "/arm")
        self._arm.on_drag(self._dragged)
        self._ghost = None
        if timeline is not None:
            self._ghost = ArmScene(server, robot, parts, "/ghost", color=GHOST_COLOR, opacity=0.45)
            self._ghost.pose(timeline.q[0])
        stand = np.array([-0.32 * self._reach, -0.38 * self._reach, self._floor + 0.045 * self._reach])
        mass = max(0.5, min(2.0, round(0.05 * robot.total_mass, 1)))
        self._ball = WeightBall(server, session, stand, mass)
        self._trace: deque[Array] = deque(maxlen=TRACE_POINTS)
        self._traced = 0.0
        self._lines: Any = None
        self._arrows: dict[str, Any] = {}
        self._controls = Controls(server, session, self._ball, timeline, comparison, notes)
        self._controls.place()
        server.on_client_connect(self._arrived)
        server.on_client_disconnect(self._left)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="counterpoise page", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop serving; may be repeated."""
        if not self._closing.is_set():
            self._closing.set()
            self._thread.join(10.0)
            with contextlib.redirect_stdout(io.StringIO()):  # it says goodbye on stdout
                self._server.stop()

    # ------------------------------------------------------------------------------------------------------ the scene

    def _dress(self, server: ViserServer) -> None:
        """Floor, plate, pedestal, camera, look."""
        scene, reach = server.scene, self._reach
        server.gui.configure_theme(
            control_width="medium", show_logo=False, show_share_button=False, brand_color=(58, 76, 104)
        )
        server.gui.set_panel_label("Counterpoise")
        info = self.session.arm.plant.plate
        T_base_sensor = np.eye(4) if info is None else info.T_base_sensor
        place = self._mount @ T_base_sensor[:3, 3]
        thick, side = 0.05 * reach, 0.42 * reach
        self._floor = float(place[2]) - 2.0 * thick
        scene.set_up_direction("+z")
        scene.configure_default_lights(cast_shadow=False)  # shadows cost a phone most of its frames
        scene.configure_environment_map(None)  # nor reflections: plain lights do
        scene.add_light_ambient("/daylight", intensity=1.6)
        scene.add_line_segments("/floor", _floor_lines(reach, self._floor), **_line((205, 210, 217), 1.0))
        scene.add_box(
            "/plate", color=PLATE_COLOR, dimensions=(side, side, thick), position=place - (0.0, 0.0, 0.5 * thick)
        )
        if float(np.linalg.norm(T_base_sensor[:3, 3])) > 0.02 * reach:
            height = float(np.linalg.norm(place))
            scene.add_cylinder(
                "/pedestal", radius=0.09 * reach, height=height, color=(120, 130, 145), position=0.5 * place
            )
        middle = np.array([0.0, 0.0, 0.25 * reach])
        server.initial_camera.look_at = middle
        server.initial_camera.position = middle + reach * np.array([1.05, -0.95, 0.45])

    def _serve(self) -> None:
        frame, pictured = -1, 0.0
        while not self._closing.is_set():
            snapshot = self.session.wait_for(partial(_is_new, frame), 0.1)
            now = wall.monotonic()
            with self._server.atomic():
                if snapshot.frame != frame:
                    self._show(snapshot)
                    self.frames += 1
                    frame = snapshot.frame
                self._replay()
                if now - pictured > PICTURE_TIME:
                    pictured = now
                    self._controls.show(snapshot)
                    self._draw_trace()

    def _show(self, snapshot: Snapshot) -> None:
        self._arm.pose(snapshot.q)
        self._ball.show(snapshot)
        if not self._trace or snapshot.time - self._traced > TRACE_STEP or snapshot.time < self._traced:
            if self._trace and snapshot.time < self._traced:
                self._trace.clear()
            self._trace.append(self._mount @ snapshot.tip)
            self._traced = snapshot.time
        for place, pull in enumerate(snapshot.pulls):
            length = FULL_ARROW * self._reach / self.session.strength
            self._arrow(f"hand{place}", self._mount @ pull.at, length * (self._mount @ pull.force), FORCE_COLOR)
        for name in [name for name in self._arrows if name not in {f"hand{i}" for i in range(len(snapshot.pulls))}]:
            self._arrows.pop(name).remove()

    def _arrow(self, name: str, begin: Array, way: Array, color: tuple[int, int, int]) -> None:
        points = np.stack([begin, begin + way])[None].astype(np.float32)
        if name in self._arrows:
            self._arrows[name].points = points
            return
        size = 0.012 * self._reach
        self._arrows[name] = self._server.scene.add_arrows(
            f"/{name}", points, colors=color, shaft_radius=size, head_radius=2.2 * size, head_length=4.0 * size
        )

    def _draw_trace(self) -> None:
        shown = self._controls.trace and len(self._trace) > 1
        if not shown:
            if self._lines is not None:
                self._lines.visible = False
            return
        points = np.array(self._trace, dtype=np.float32)
        rows = np.stack([points[:-1], points[1:]], axis=1)
        if self._lines is None:
            self._lines = self._server.scene.add_line_segments("/trace", rows, **_line(TRACE_COLOR, 3.0))
        else:
            self._lines.points, self._lines.visible = rows, True

    def _replay(self) -> None:
        player = self._controls.player
        if player is None or self._ghost is None:
            return
        position = player.position
        q, tau = player.timeline.at(position)
        self._ghost.pose(q)
        self._controls.show_recording(position, q, tau)

    # ------------------------------------------------------------------------------------------------- what users do

    def _dragged(self, event: Any, part: Part) -> None:
        """Pull a link by the mouse; also called when the client that drags goes away."""
        who, robot, session = f"client {event.client_id}", self.session.arm.robot, self.session
        if part.body < 0:
            return  # the base is bolted down
        if event.phase == "end":
            session.let_go(who)
            return
        if event.phase == "start":
            grabbed = self._mount.T @ np.asarray(event.start_position)
            index = robot.link_names.index(part.link)
            T_base_link = link_poses(robot.tree, session.snapshot.q[None], index)[0]
            session.grab(who, part.link, T_base_link[:3, :3].T @ (grabbed - T_base_link[:3, 3]))
        session.pull(who, self._mount.T @ np.asarray(event.end_position))

    def _arrived(self, client: Any) -> None:
        camera, home = client.camera, self._server.initial_camera
        if camera.image_width < camera.image_height:  # a phone: the panel covers the lower half
            look_at = np.asarray(home.look_at) - (0.0, 0.0, PHONE_LOWER * self._reach)
            camera.position = look_at + PHONE_FARTHER * (np.asarray(home.position) - np.asarray(home.look_at))
            camera.look_at = look_at  # second: moving a camera takes along what it looks at
        self.session.watched(len(self._server.get_clients()))

    def _left(self, client: Any) -> None:
        self.session.let_go(f"client {client.client_id}")
        self.session.watched(len(self._server.get_clients()))


def _line(color: tuple[int, int, int], pixels: float) -> dict[str, Any]:
    """Return how a line is drawn; without "screen" its thickness would be in metres."""
    return {"colors": color, "thickness": pixels, "thickness_units": "screen"}


def _floor_lines(reach: float, height: float) -> Array:
    """Return a square of crossing lines at a height [m], shape (lines, 2, 3)."""
    places = np.linspace(-1.5 * reach, 1.5 * reach, 13)
    ends = np.array([-1.5 * reach, 1.5 * reach])
    rows = [[(x, y, height) for y in ends] for x in places] + [[(x, y, height) for x in ends] for y in places]
    return np.array(rows)


def _is_new(frame: int, snapshot: Snapshot) -> bool:
    return snapshot.frame != frame


def _server(host: str, port: int, keeper: Doorkeeper) -> ViserServer:
    try:
        import viser
    except ImportError as error:
        raise MissingExtraError("showing an arm on a page", "view") from error
    try:
        with contextlib.redirect_stdout(io.StringIO()), guarding(keeper):  # its banner would get between our output
            server = viser.ViserServer(host=host, port=port, verbose=False)
    except OSError as error:
        raise InputError(f"cannot listen at {host}:{port}: {error}") from error
    try:
        refuse_open_door(host, server.get_port())
    except InputError:
        with contextlib.redirect_stdout(io.StringIO()):
            server.stop()
        raise
    return server


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
    friction_fraction: float = 0.5,
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
        friction_fraction: Fraction of the friction that is compensated at the start.
        seconds: How long to serve [s]; None for until a signal comes.
        timeline: What to replay.
        comparison: What to compare.
        allow_origins: Origins of foreign pages that may ask.
        started: Called with the page's address once it is there.

    Raises:
        InputError: The address cannot be listened at, a bad fraction, or foreign pages cannot be turned away.
        MissingExtraError: viser is not installed.
    """
    session = Session(arm, friction_fraction=friction_fraction)
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
