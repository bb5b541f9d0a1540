"""``counterpoise teach``: let an arm float, guide it by hand, and keep its path."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from ..errors import InputError, SafetyError
from .floating import floating_options, push_script
from .options import exit_codes, json_option
from .output import (
    EXIT_ERROR,
    EXIT_NOT_TRUSTED,
    Progressing,
    console,
    fixed,
    note,
    note_written,
    print_json,
    printable,
    refuse_file,
    table,
    tell_interruption,
    warn,
)
from .plant import Arm, Driven, driven_options, yes_option

if TYPE_CHECKING:
    from ..plants import GuidingHand
    from ..tasks import FloatReport, FloatSettings, LinkPush, PushScript, Taught, Teaching


DEMO_SECONDS = 7.0
"""Time that the simulated hand takes for its way [s]."""
BEFORE = 0.5
"""Time that the arm floats before the first push [s] ..."""
AFTERWARDS = 1.5
"""... and after each [s]."""
EXAMPLES = """\b
Examples:
  counterpoise teach wam7 --demo --out loop.path.csv                a simulated hand guides a simulated arm
  counterpoise teach wam7 --push toolplate,0,4,0,0.6 --push toolplate,0,-4,0,0.6 --out wave.path.csv
  counterpoise teach wam7 --demo --kind waypoints --mark-every 1 --out points.path.csv
  counterpoise teach mydriver --robot arm.urdf --out wipe.path.csv --name "wipe the table" --yes     a real arm

\b
On a terminal, Enter marks a waypoint and q with Enter ends; Ctrl-C ends too.
The file is CSV: a commented head, then time [s] and every joint with its unit. Then: counterpoise replay.
""" + exit_codes(
    "the path is written; also when Ctrl-C ended it",
    "not guided; a fault: what was recorded before is written",
    not_trusted="refused by the check; too fast, or drifted again and again: what was recorded before is written",
    drives=True,
)


@click.command(epilog=EXAMPLES)
@click.argument("plant")
@click.option("--out", "out_path", required=True, metavar="FILE", help="Write the path, .csv.")
@click.option("--name", help="What the path is called; default: the file's name.")
@click.option(
    "--kind",
    type=click.Choice(("continuous", "waypoints")),
    default="continuous",
    show_default=True,
    help="Keep the whole motion, or the waypoints that were marked.",
)
@click.option(
    "--duration",
    type=click.FloatRange(min=0.1),
    metavar="S",
    help="How long it floats [s]; default: until Ctrl-C, simulated until hand and pushes are done.",
)
@click.option("--mark-every", type=click.FloatRange(min=0.05), metavar="S", help="Mark a waypoint every so often [s].")
@click.option("--demo", is_flag=True, help="Simulated: a hand leads the tip around a loop.")
@click.option("--demo-link", metavar="NAME", help="Link that the hand leads; the tip unless the arm is branched.")
@click.option(
    "--demo-size",
    type=click.FloatRange(min=0.01, max=1.0),
    default=0.1,
    show_default=True,
    help="Radius of the loop [m].",
)
@floating_options(friction_fraction=0.3)
@click.option(
    "--smooth",
    type=click.FloatRange(min=0.0, max=1000.0),
    default=4.0,
    show_default=True,
    help="Cutoff of the smoothing [Hz]; 0 for none.",
)
@click.option("--no-trim", is_flag=True, help="Keep the idle ends of the motion.")
@driven_options
@yes_option
@json_option
def teach(
    *,
    plant: str,
    out_path: str,
    name: str | None,
    kind: Literal["continuous", "waypoints"],
    duration: float | None,
    mark_every: float | None,
    demo: bool,
    demo_link: str | None,
    demo_size: float,
    settings: FloatSettings,
    measure_rotors: bool | None,
    pushes: tuple[LinkPush, ...],
    smooth: float,
    no_trim: bool,
    arm: Arm,
    yes: bool,
    as_json: bool,
) -> None:
    """Teach a path by guiding an arm by hand.

    PLANT is a simulated arm (see counterpoise simulate) or a plant that an installed package registers. The arm is
    first held and moved by a few hundredths of a radian to see whether its model carries it (see counterpoise float);
    it is not let go otherwise. Then it floats, and its motion is recorded until you end it. Idle ends are cut off,
    tremor is smoothed away within 0.01 rad (3 mm), and how far that moved the path is printed.
    """
    refuse_file("--out", out_path, (".csv",))
    if mark_every is not None and kind != "waypoints":
        raise click.UsageError("--mark-every belongs to --kind waypoints")
    from ..control import INTERRUPTIONS, SignalSafe, StoppedFromOutside
    from ..tasks import Teaching, one_line, write_path

    # What would be refused when the arm has been guided is refused before.
    named = Path(out_path).name.removesuffix(".csv").removesuffix(".path").strip() or "path"
    named = one_line(named if name is None else name, "name")
    if not smooth <= 1000.0:  # true for NaN too
        raise click.UsageError("--smooth is no frequency")
    driven = arm.driven(plant)
    _refuse_unguided(driven.simulated, bool(demo or pushes), yes)
    guide = _Guide(driven, (demo, demo_link, demo_size), pushes)
    span = guide.seconds if duration is None and driven.simulated else duration

    def began() -> None:
        guide.begin()
        if not as_json:
            note("the arm floats: guide it; Ctrl-C ends")

    teaching = Teaching(
        driven.rig(**driven.rotors(measure_rotors, settings.locked)),
        replace(settings, friction=driven.friction),
        kind=kind,
        mark_every=mark_every,
        began=began,
        each=guide.hand,
    )
    _listen(teaching, driven.simulated)
    interrupted: BaseException | None = None
    fault: SafetyError | None = None
    try:
        with SignalSafe(driven.plant), Progressing(f"teaching {plant}") as progressing:
            teaching.run(span, progress=lambda done, total: progressing.update(done, total or done + 1.0))
    except INTERRUPTIONS as caught:
        interrupted = caught  # on a real arm the usual way to end; it stands in its safe stop
    except SafetyError as error:
        if teaching.report is not None and teaching.report.end == "refused":
            _print_refusal(plant, teaching.report, as_json=as_json)
            raise SystemExit(EXIT_NOT_TRUSTED) from None
        if teaching.teacher.count < 2:
            raise
        fault = error  # somebody has guided the arm so far: that is kept
    report = teaching.report
    ended = "interrupted" if interrupted is not None or report is None else report.end
    notes = {"by": "counterpoise teach", "plant": plant}
    if demo:
        notes["guided"] = f"by a simulated hand around a loop of {2 * demo_size:g} m"
    if ended not in ("done", "stopped"):
        notes["ended"] = ended
    try:
        taught = _finished(teaching, fault, named, cutoff=smooth or None, trim=not no_trim, notes=notes)
    except InputError as nothing:
        if isinstance(interrupted, StoppedFromOutside):
            warn(str(nothing))
            raise interrupted from nothing
        raise
    write_path(taught.path, out_path)
    if fault is not None:
        note_written("what was recorded before the fault is", out_path)
        raise fault
    if as_json:
        print_json(_document(taught, out_path, ended, guide))
    else:
        _print(taught, plant, out_path, guide)
        if report is not None and report.reason:
            warn(report.reason)
    if interrupted is not None and (code := tell_interruption(interrupted)) != EXIT_ERROR:
        raise SystemExit(code)
    if ended in ("too fast", "drifting"):
        raise SystemExit(EXIT_NOT_TRUSTED)
    if ended == "fault":
        raise SystemExit(EXIT_ERROR)


def _refuse_unguided(simulated: bool, guided: bool, yes: bool) -> None:
    """Refuse an arm that nobody would guide, or a real one without --yes.

    Raises:
        click.UsageError: It is one.
    """
    if not simulated and guided:
        raise click.UsageError("--demo and --push are for simulated arms; guide a real one by hand")
    if simulated and not guided:
        raise click.UsageError("nobody guides a simulated arm: add --demo, or --push LINK,FX,FY,FZ,S")
    if not simulated and not yes:
        raise click.UsageError(
            "this would let go of a real arm, after moving every joint a little to check its model: support it, keep "
            "the emergency stop in reach, then add --yes"
        )


def _finished(teaching: Teaching, fault: SafetyError | None, name: str, **settings: Any) -> Taught:
    """Return what was taught; where that is too little for a path, the error is what ended the run.

    Raises:
        SafetyError: The fault.
        InputError: There is no path, and why.
    """
    report = teaching.report
    try:
        return teaching.teacher.finish(name, **settings)
    except InputError as error:
        if fault is not None:
            raise fault from error
        if report is None or not report.reason:
            raise
        raise InputError(f"{report.reason}. No path is written: {error}") from error


class _Guide:
    """What happens to a simulated arm while it floats: a hand leads it around a loop, pushes come one after another.

    Attributes:
        hand: The hand; None for none.
        seconds: How long it all takes [s].
    """

    def __init__(self, driven: Driven, demo: tuple[bool, str | None, float], pushes: tuple[LinkPush, ...]) -> None:
        from ..dynamics import link_name
        from ..plants import GuidingHand, closed_path

        self.hand: GuidingHand | None = None
        self._script: PushScript | None = None
        self.seconds = AFTERWARDS
        if pushes:
            self._script = push_script(driven, pushes, first=BEFORE, pause=AFTERWARDS)
            self.seconds = self._script.seconds
        asked, link, size = demo
        if asked:
            link = link_name(driven.arm.robot, link, "--demo-link")
            self.hand = GuidingHand(driven.arm, closed_path(size), DEMO_SECONDS, link=link)
            self.seconds = max(self.seconds, DEMO_SECONDS + AFTERWARDS)

    @property
    def peak_force(self) -> float | None:
        """Largest force of the hand [N]; None without one."""
        return None if self.hand is None else float(self.hand.peak_force)

    def begin(self) -> None:
        """Schedule the pushes from now on."""
        if self._script is not None:
            self._script.begin()


def _listen(teaching: Teaching, simulated: bool) -> None:
    """Let a person mark waypoints and end the run from the keyboard, where there is one."""
    if simulated or not sys.stdin.isatty():
        return
    import threading

    def listen() -> None:
        for line in sys.stdin:
            if line.strip().lower() == "q":
                teaching.stop()
                return
            if teaching.teacher.kind == "waypoints":
                with suppress(InputError):  # the arm is not let go yet, or stopped already
                    note(f"waypoint {teaching.teacher.mark()}")

    threading.Thread(target=listen, daemon=True, name="keyboard").start()


def _print_refusal(plant: str, report: FloatReport, *, as_json: bool) -> None:
    """Print that the arm was not let go, and why, as ``counterpoise float`` does."""
    if as_json:
        print_json({"plant": plant, **report.as_data(), "ended": report.end, "out": None})
        return
    for reason in (report.reason,) if report.check is None else report.check.reasons:
        warn(reason)
    warn("the arm was not let go, and no path is written")


def _document(taught: Taught, out_path: str, ended: str, guide: _Guide) -> dict[str, Any]:
    path = taught.path
    return {
        "name": path.name,
        "robot": path.robot,
        "kind": path.kind,
        "joints": list(path.joint_names),
        "units": list(path.units),
        "rows": len(path.time),
        "seconds": path.duration,
        "samples": taught.samples,
        "trimmed": list(taught.trimmed),
        "cutoff": taught.cutoff,
        "moved": taught.moved,
        "moved_tips": dict(taught.moved_tips),
        "peak_force": guide.peak_force,
        "ended": ended,
        "full": taught.full,
        "out": out_path,
    }


def _print(taught: Taught, plant: str, out_path: str, guide: _Guide) -> None:
    path, screen = taught.path, console()
    screen.print(printable(f"Path '{path.name}' of {path.robot}: {path.kind}"), style="bold")
    what = "waypoints" if path.kind == "waypoints" else "rows"
    screen.print(f"  {len(path.time)} {what}, {path.duration:.4g} s, from {taught.samples} samples")
    if path.kind == "continuous":
        screen.print(
            f"  cut off        {taught.trimmed[0]:.3g} s at the beginning, {taught.trimmed[1]:.3g} s at the end"
        )
        smoothing = "none" if taught.cutoff is None else f"{taught.cutoff:g} Hz, without delay"
        tips = ", ".join(f"{printable(link)} by {1e3 * far:.2g} mm" for link, far in taught.moved_tips.items())
        screen.print(f"  smoothing      {smoothing}; moved {tips} at most")
    if guide.peak_force is not None:
        screen.print(f"  the hand used  {guide.peak_force:.3g} N at most")
    rows = table("joint", "from", "to", "moved by smoothing", "", left=("joint", ""))
    for joint, (joint_name, unit) in enumerate(zip(path.joint_names, path.units, strict=True)):
        values = (float(path.q[:, joint].min()), float(path.q[:, joint].max()))
        moved = f"{taught.moved[joint]:.1e}"
        rows.add_row(printable(joint_name), *(fixed(value, 3) for value in values), moved, unit)
    screen.print(rows)
    if taught.full:
        warn("the recording was full; what came after is missing")
    note_written("path", out_path)
    note(f"try: counterpoise replay {plant} {out_path} --dry-run")
