"""``counterpoise view``: a page with the arm in 3D that can be pushed, loaded and replayed."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from .options import exit_codes, json_option, seed_option
from .output import console, note, print_json, warn
from .source import Source, source_options

if TYPE_CHECKING:
    from ..view import ViewArm


EXAMPLES = """\b
Examples:
  counterpoise view wam7                              then open the address that is printed
  counterpoise view puma550:50Hz --open               ... or have the browser opened
  counterpoise view arm.urdf                          your own arm, with drives that are assumed and listed
  counterpoise view wam7 --replay run.npz             a recording, or a taught path, on a time line
  counterpoise view wam7 --calibration a.calibration.json --calibration b.calibration.json
  counterpoise view wam7 --host 0.0.0.0               for a phone in the same network: anybody there can push the arm

\b
Arms:
  puma550 (stiff, 50Hz, 20Hz), wam7 (plate, ground), titan2 (torque-source), dualarm19 (ground), with their drives;
  any other bundled arm (see counterpoise catalog) or file, with drives that are assumed.
""" + exit_codes("ended by Ctrl-C, SIGTERM, SIGHUP or --duration")


@click.command(epilog=EXAMPLES)
@source_options
@click.option("--replay", "replay_path", metavar="FILE", help="Put a recording or a taught path on the time line.")
@click.option(
    "--calibration",
    "calibrations",
    multiple=True,
    metavar="FILE.json",
    help="Compare its gravity with the description's, or, given twice, with another's.",
)
@click.option(
    "--friction-fraction",
    type=click.FloatRange(min=0.0, max=0.9),
    default=0.5,
    show_default=True,
    help="Fraction of the friction that is compensated at the start.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option(
    "--allow-origin",
    "allow_origins",
    multiple=True,
    metavar="ORIGIN",
    help="Let pages of another site ask too, e.g. https://robot.example behind a proxy; repeatable.",
)
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    default=8080,
    show_default=True,
    help="Port to listen at; where it is taken, the next free one.",
)
@click.option(
    "--duration",
    type=click.FloatRange(min=0.0, min_open=True),
    metavar="S",
    help="How long the page is served [s]; default: until Ctrl-C.",
)
@seed_option()
@click.option("--open", "open_browser", is_flag=True, help="Open the page in the browser.")
@json_option
def view(
    *,
    source: Source,
    replay_path: str | None,
    calibrations: tuple[str, ...],
    friction_fraction: float,
    host: str,
    allow_origins: tuple[str, ...],
    port: int,
    duration: float | None,
    seed: int,
    open_browser: bool,
    as_json: bool,
) -> None:
    """Show a simulated arm that floats and can be pushed.

    SOURCE is a simulated arm, a file, or the name of a bundled arm; see Arms below. Drag a link with the mouse and it
    follows; let go and it stays. Switch gravity compensation off and it sinks. Drag the weight onto a link: it is
    found, with the probability of each link, and compensated. All motion goes through the control loop and the safety
    filter, as on a real arm.

    The page needs no network and asks none. Ctrl-C ends it, and the arm ends in its safe stop. When nobody looks any
    more, the arm is held after three seconds. Needs the extras: pip install 'counterpoise[view,sim]'.
    """
    if len(calibrations) > 2:
        raise click.UsageError("--calibration may be given once or twice")
    from ..view import compared, read_timeline, serve

    arm = _arm(source, seed)
    timeline = None if replay_path is None else read_timeline(replay_path, arm.robot)
    comparison = compared(arm.robot, calibrations)
    if host not in ("127.0.0.1", "localhost", "::1"):
        warn(f"the page listens at {host}: whoever reaches this machine can push the arm, without a password")

    def started(url: str) -> None:
        note(f"{arm.title} is at {url}; Ctrl-C ends it")
        if open_browser:
            import webbrowser

            webbrowser.open(url)

    served = serve(
        arm,
        host=host,
        port=port,
        friction_fraction=friction_fraction,
        seconds=duration,
        timeline=timeline,
        comparison=comparison,
        allow_origins=allow_origins,
        started=started,
    )
    if as_json:
        print_json({"arm": arm.title, "assumed": list(arm.assumed), **asdict(served)})
    else:
        console().print(
            f"{arm.title}: {served.seconds:.0f} s, {served.frames / max(served.seconds, 1e-9):.0f} states a second; "
            f"ended by {served.ended_by}, the arm by {served.end}, then '{served.stop}'"
        )


def _arm(source: Source, seed: int) -> ViewArm:
    from ..plants import VARIANTS
    from ..view import view_arm

    if source.text.partition(":")[0] in VARIANTS:
        if source.mount_rpy is not None:
            raise click.UsageError("--mount-rpy is for files and bundled arms without a preset; presets stand upright")
        if source.fixed_joints:
            raise click.UsageError("--fix-joint is for files and bundled arms without a preset")
        return view_arm(source.text, seed=seed)
    return view_arm(source.load(), seed=seed)
