"""The page's panels: switches, buttons and live pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import __version__
from ..dynamics import effort_units
from ..foundation import Array
from ..identification import workspace_poses
from . import charts
from .comparison import ModelPair
from .law import LARGEST_FRACTION
from .session import Session
from .snapshot import Snapshot
from .timeline import Player, Timeline
from .weight import WeightBall

if TYPE_CHECKING:
    from viser import ViserServer


DIRECTIONS: dict[str, tuple[float, float, float]] = {
    "+x": (1.0, 0.0, 0.0),
    "−x": (-1.0, 0.0, 0.0),
    "+y": (0.0, 1.0, 0.0),
    "−y": (0.0, -1.0, 0.0),
    "+z": (0.0, 0.0, 1.0),
    "−z": (0.0, 0.0, -1.0),
}
SCALE_POSES = 100
"""Poses by which the bars are scaled."""
TORQUES = "At rest: commanded = gravity + friction − from outside. Each joint has its own scale."
PUSH_TIME = 0.5
"""How long a push by a button lasts [s]."""
SPEEDS = {"¼ ×": 0.25, "½ ×": 0.5, "1 ×": 1.0, "2 ×": 2.0, "4 ×": 4.0}
PANEL_WIDTH = 360
"""Width of the live panel [pixels]: all tabs in one row."""


class Controls:
    """All that can be switched and read.

    Attributes:
        player: The time line's player; None where there is none.
        trace: Whether the tip's way is drawn.
    """

    def __init__(
        self,
        server: ViserServer,
        session: Session,
        ball: WeightBall,
        timeline: Timeline | None,
        comparison: ModelPair | None,
        notes: tuple[str, ...],
    ) -> None:
        """Make the panels."""
        self._session, self._ball = session, ball
        self._names, self._units = session.arm.robot.joint_names, effort_units(session.arm.robot)
        self._limits = _scales(session)
        self.player = None if timeline is None else Player(timeline)
        self.trace = True
        self._comparison = comparison
        gui: Any = server.gui
        self._status = gui.add_html("")
        modes = gui.add_button_group("Arm", ("Float", "Hold", "Start again"))
        modes.on_click(lambda event: self._mode(event.target.value))
        self._push_folder(gui)
        self._switch_folder(gui)
        self._weight_folder(gui)
        view = gui.add_button_group("View", ("nearer", "farther", "reset"))
        view.on_click(_move_camera(server))
        panel = gui.add_panel()
        with panel.add_tab("Torques"):
            self._bars = gui.add_html("")
            self._plate = gui.add_html("")
            gui.add_html(charts.paragraph(TORQUES))
        with panel.add_tab("Payload"):
            self._payload = gui.add_html("")
        if self.player is not None:
            with panel.add_tab("Time line"):
                self._timeline_tab(gui, self.player)
        if comparison is not None:
            with panel.add_tab("Compare"):
                self._compared = gui.add_html("")
        with panel.add_tab("About"):
            title = session.arm.title
            gui.add_html(charts.paragraph(f"{title}, simulated by counterpoise {__version__}: nothing real moves."))
            gui.add_html(charts.paragraph("The simulation assumes:"))
            gui.add_html(charts.listing((*session.arm.assumed, *notes)))
        self._panel = panel

    def _push_folder(self, gui: Any) -> None:
        session = self._session
        links = _moving_links(session)
        strength = float(np.ceil(session.strength))
        with gui.add_folder("Push (or drag a link with the mouse)"):
            self._push_link = gui.add_dropdown("Link", links, initial_value=session.tip_link)
            self._push_force = gui.add_slider(
                "Force [N]", min=0.0, max=strength, step=1.0, initial_value=min(20.0, strength)
            )
            for row in (("+x", "−x", "+y"), ("−y", "+z", "−z")):
                group = gui.add_button_group("Push" if "+x" in row else " ", row)
                group.on_click(lambda event: self._push(event.target.value))

    def _switch_folder(self, gui: Any) -> None:
        session = self._session
        with gui.add_folder("Switches"):
            gravity = gui.add_checkbox("Gravity compensation", True)
            gravity.on_update(lambda _: session.set_gravity(gravity.value))
            fraction = gui.add_slider(
                "Friction fraction", min=0.0, max=LARGEST_FRACTION, step=0.05, initial_value=session.friction_fraction
            )
            fraction.on_update(lambda _: session.set_friction_fraction(float(fraction.value)))
            plate = gui.add_checkbox("Plate under the base", True)
            plate.on_update(lambda _: session.use_plate(plate.value))
            trace = gui.add_checkbox("Trace of the tip", True)
            trace.on_update(lambda _: setattr(self, "trace", trace.value))
            self._gravity_box = gravity

    def _weight_folder(self, gui: Any) -> None:
        session = self._session
        heaviest = max(round(0.25 * session.arm.robot.total_mass), 1.0)
        with gui.add_folder("Weight (or drag the ball onto a link)"):
            link = gui.add_dropdown("On link", _moving_links(session), initial_value=session.tip_link)
            mass = gui.add_slider(
                "Mass [kg]", min=0.1, max=heaviest, step=0.1, initial_value=float(min(self._ball.mass, heaviest))
            )
            mass.on_update(lambda _: setattr(self._ball, "mass", round(float(mass.value), 2)))
            buttons = gui.add_button_group(" ", ("Hang it on", "Take it off", "Weigh"))

            def clicked(event: Any) -> None:
                if event.target.value == "Hang it on":
                    session.hang(link.value, round(float(mass.value), 2))
                elif event.target.value == "Take it off":
                    session.unhang()
                else:
                    session.weigh()

            buttons.on_click(clicked)
            used = gui.add_checkbox("Compensate what is found", True)
            used.on_update(lambda _: session.trust_payload(used.value))

    def _timeline_tab(self, gui: Any, player: Player) -> None:
        timeline = player.timeline
        gui.add_html(charts.paragraph(f"{timeline.name}: {timeline.duration:.1f} s, shown as a blue ghost."))
        self._slider = gui.add_slider(
            "Time [s]",
            min=0.0,
            max=max(timeline.duration, 1e-3),
            step=max(timeline.duration / 1000.0, 1e-3),
            initial_value=0.0,
        )
        self._moved_by_us = 0.0

        def moved(_: Any) -> None:
            if abs(self._slider.value - self._moved_by_us) > 1e-9:
                player.go_to(float(self._slider.value))

        self._slider.on_update(moved)
        buttons = gui.add_button_group(" ", ("Play", "Pause", "Rewind"))

        def clicked(event: Any) -> None:
            if event.target.value == "Rewind":
                player.go_to(0.0)
            else:
                player.play(event.target.value == "Play")

        buttons.on_click(clicked)
        speed = gui.add_dropdown("Speed", tuple(SPEEDS), initial_value="1 ×")
        speed.on_update(lambda _: player.set_speed(SPEEDS[speed.value]))
        self._recorded = gui.add_html("")

    def show(self, snapshot: Snapshot) -> None:
        """Bring the pictures up to date."""
        title = self._session.arm.title
        self._set(self._status, charts.status(snapshot, title))
        self._set(self._bars, charts.live_torques(snapshot, self._names, self._units, self._limits))
        self._set(self._plate, charts.plate(snapshot))
        self._set(self._payload, charts.payload(snapshot, self._names, self._units))
        if self._comparison is not None:
            pair = self._comparison
            first, second = pair.first.gravity(snapshot.q), pair.second.gravity(snapshot.q)
            band = self._session.arm.friction_band
            self._set(self._compared, charts.comparison(self._names, self._units, pair.labels, first, second, band))

    def show_recording(self, position: float, q: Array, tau: Array | None) -> None:
        """Bring the time line up to date.

        Args:
            position: Where it is [s].
            q: The pose there [rad or m], shape (n,).
            tau: The torques there [N m or N], shape (n,); None where there are none.
        """
        if self.player is not None and self.player.playing:
            self._moved_by_us = self._slider.value = round(position, 3)
        gravity = self._session.arm.robot.gravity(q)
        if tau is None:
            series = [(charts.GRAVITY, "gravity ĝ(q) (number)", gravity)]
        else:
            series = [
                (charts.COMMANDED, "measured (number)", tau),
                (charts.GRAVITY, "gravity ĝ(q)", gravity),
                (charts.FRICTION, "measured − gravity", tau - gravity),
            ]
        self._set(self._recorded, charts.torque_series(series, self._names, self._units, self._limits))

    def place(self) -> None:
        """Put the live panel to the left and the switches to the right."""
        self._panel.dock_left()
        self._panel.set_width(PANEL_WIDTH)

    def _mode(self, chosen: str) -> None:
        session = self._session
        if chosen == "Start again":
            self._gravity_box.value = True
        {"Float": session.let_float, "Hold": session.hold, "Start again": session.start_again}[chosen]()

    def _push(self, direction: str) -> None:
        force = float(self._push_force.value) * np.array(DIRECTIONS[direction])
        robot = self._session.arm.robot
        self._session.push(self._push_link.value, robot.mount.T @ force, PUSH_TIME)

    @staticmethod
    def _set(element: Any, content: str) -> None:
        if element.content != content:
            element.content = content


def _moving_links(session: Session) -> tuple[str, ...]:
    tree = session.arm.robot.tree
    return tuple(name for name, body in zip(tree.link_names, tree.link_body, strict=True) if body >= 0)


def _scales(session: Session) -> Array:
    """Return what half the width of the bars stands for [N m or N], shape (n,): what a joint has to bear, or rubs."""
    robot = session.arm.robot
    weight = np.abs(robot.gravity(workspace_poses(robot, SCALE_POSES))).max(axis=0)
    return np.asarray(np.maximum(1.2 * weight, 4.0 * session.arm.friction_band))


def _move_camera(server: ViserServer) -> Any:
    def moved(event: Any) -> None:
        client = event.client
        if client is None:
            return
        camera, home = client.camera, server.initial_camera
        if event.target.value == "reset":
            camera.position, camera.look_at = home.position, home.look_at
            return
        look_at = np.array(camera.look_at)
        away = np.asarray(camera.position) - look_at
        camera.position = look_at + away * (0.75 if event.target.value == "nearer" else 1.0 / 0.75)
        camera.look_at = look_at  # second: moving a camera takes along what it looks at

    return moved
