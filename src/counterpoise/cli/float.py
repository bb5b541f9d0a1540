"""``counterpoise float``: check an arm, and let it float so that a hand can move it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from ..errors import InputError, SafetyError
from .floating import floating_options, push_script
from .options import exit_codes, json_option, log_option, model_error_option, unknown_payload_option
from .output import (
    EXIT_ERROR,
    EXIT_NOT_TRUSTED,
    LOG_ENDINGS,
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
from .plant import Arm, driven_options, print_inertias, yes_option

if TYPE_CHECKING:
    from ..control import Plant
    from ..tasks import CheckResult, Floating, FloatReport, FloatSettings, LinkPush


EXAMPLES = """\b
Examples:
  counterpoise float wam7 --friction-fraction 0.7                     a simulated arm, pushed once to show something
  counterpoise float wam7 --friction-fraction 0.5 --push toolplate,0,0,4,0.5 --push toolplate,0,3,0,0.5
  counterpoise float wam7 --friction-fraction 0.7 --model-error -3    refused: the model is 3 % too light
  counterpoise float puma550 --lock joint4 --lock joint5 --lock joint6 --hold
  counterpoise float mydriver --robot arm.urdf --calibration arm.json --friction-fraction 0.5 --yes    a real arm
  counterpoise float wam7 --friction-fraction 0.7 --json | jq .check.joints
""" + exit_codes(
    "it floated, and ended as asked",
    "a limit too near; a fault that stopped the arm; Ctrl-C before the end of --duration",
    not_trusted="refused by the check, or stopped because it was too fast or drifted again and again",
    drives=True,
)


@click.command("float", epilog=EXAMPLES)
@click.argument("plant")
@floating_options(friction_fraction=0.0)
@click.option(
    "--duration",
    type=click.FloatRange(min=0.0, min_open=True),
    metavar="S",
    help="How long it floats [s]; default: until Ctrl-C, simulated until the pushes are over.",
)
@log_option()
@driven_options
@unknown_payload_option
@model_error_option
@yes_option
@json_option
def float_(
    *,
    plant: str,
    settings: FloatSettings,
    measure_rotors: bool | None,
    pushes: tuple[LinkPush, ...],
    duration: float | None,
    out_path: str | None,
    arm: Arm,
    unknown_payload: bool,
    model_error: float,
    yes: bool,
    as_json: bool,
) -> None:
    """Let an arm float, with as much friction as you leave it.

    PLANT is a simulated arm (see counterpoise simulate) or a plant that an installed package registers. First the arm
    is held, and every joint that is to float creeps from both sides by 0.03 rad (1 cm), or by 0.1 rad (3 cm) where that
    is not enough to make it slide: what holding takes is compared with the model. Where they differ by more than the
    friction that is left can hold, the arm is not let go, and the joint is named. This check cannot be skipped.

    Then it floats: in front of the joint limits there are cushions, an arm that is too fast is stopped, and one that
    drifts is held. Everything goes through the safety filter, and ends in the safe stop.
    """
    refuse_file("--out", out_path, LOG_ENDINGS)
    if unknown_payload and arm.carried is None:
        raise click.UsageError("--unknown-payload needs --payload MASS")
    from ..tasks import Floating, misjudged

    driven = arm.driven(plant, knows_payload=not unknown_payload)
    if not driven.simulated and (pushes or model_error or unknown_payload):
        raise click.UsageError("--push, --model-error and --unknown-payload are for simulated arms")
    if not driven.simulated and not yes:
        raise click.UsageError(
            "this would move a real arm by 0.03 rad (1 cm) at every joint, or by 0.1 rad (3 cm) at one that does not "
            "creep, and then let it go: clear its path, keep the emergency stop in reach, then add --yes"
        )
    script = None
    if driven.simulated:
        script = push_script(driven, pushes, held=settings.hold_when_released)
    rotors = driven.rotors(measure_rotors, settings.locked)
    floating = Floating(
        driven.rig(misjudged(driven.robot, model_error), **rotors),
        replace(settings, friction=driven.friction),
        began=None if script is None else lambda: script.begin(floating.check),
    )
    lasts = script.seconds if script is not None and duration is None else duration
    report, ended = _floated(plant, driven.plant, floating, lasts, log=out_path is not None or script is not None)
    log = None if report.run is None else report.run.log
    written = out_path if log is not None else None
    if written is not None and log is not None:
        from ..recording import write_log

        write_log(log, written)
    pushed = [] if script is None else script.results(log, report.seconds)
    if as_json:
        print_json({"plant": plant, **report.as_data(), "pushes": pushed, "out": written})
    else:
        _print(plant, report, pushed)
        note_written("recording", written)
    if report.end in ("refused", "too fast", "drifting"):
        raise SystemExit(EXIT_NOT_TRUSTED)
    if ended is not None:
        code = tell_interruption(ended)
        if code != EXIT_ERROR or duration is not None or not report.floated:
            raise SystemExit(code)


def _floated(
    name: str, driven: Plant, floating: Floating, seconds: float | None, *, log: bool
) -> tuple[FloatReport, BaseException | None]:
    """Return the report, and what a signal raised when the arm had been stopped; None where none came."""
    from ..control import INTERRUPTIONS, SignalSafe, StoppedFromOutside

    ended: BaseException | None = None
    try:
        with SignalSafe(driven), Progressing(f"checking and floating {name}") as progressing:
            if seconds is None:
                note("first the check, then it floats until Ctrl-C")
            floating.run(seconds, progress=lambda done, total: progressing.update(done, total or done + 1.0), log=log)
    except INTERRUPTIONS as caught:
        ended = caught
    except SafetyError:
        if floating.report is None or floating.report.end != "refused":
            raise
    if floating.report is None:
        if isinstance(ended, StoppedFromOutside):
            raise ended
        raise InputError("interrupted before anything was known")
    return floating.report, ended


def _print(plant: str, report: FloatReport, pushed: list[dict[str, Any]]) -> None:
    screen = console()
    if report.inertias is not None:
        print_inertias(report.inertias)
    if report.check is not None:
        screen.print(f"{plant}: what holding takes, from both sides, against the model ({report.check.seconds:.0f} s)")
        screen.print(_check_table(report.check))
    if report.end == "refused" and report.check is not None:
        for reason in report.check.reasons:
            warn(reason)
        warn("the arm was not let go")
        return
    if report.check is not None:
        _print_hidden(report.check, report.joint_names)
    if pushed:
        rows = table("push", "force", "", "for", "moved", "drift, then left alone", left=("push", ""))
        for push in pushed:
            force = ", ".join(f"{value:.3g}" for value in push["force"])
            drifted = "–" if push["drifted"] is None else f"{1e3 * push['drifted']:.2g} mm"
            rows.add_row(
                printable(push["link"]), force, "N", f"{push['seconds']:g} s", f"{1e3 * push['moved']:.3g} mm", drifted
            )
        screen.print(rows)
    if report.floated:
        held = f", {report.drifts} drifts held" if report.drifts else ""
        screen.print(f"Floated {report.seconds:.4g} s{held}; {report.end}.")
    if report.end in ("too fast", "drifting"):
        warn(f"stopped: {report.end}: {report.reason}")
    if report.end == "interrupted":
        note("interrupted: the arm was brought to its safe stop")


def _print_hidden(check: CheckResult, joint_names: tuple[str, ...]) -> None:
    hidden = [load for load in check.hidden if load.hides]
    if not hidden:
        console().print("No load that could move the arm much elsewhere would have passed the check at this pose.")
        return
    screen = console()
    screen.print("Loads that the check at this pose would not have shown, and how hard they could pull elsewhere:")
    rows = table("link", "up to", "joint", "pull", "friction left", "", left=("link", "joint", ""))
    for load in hidden:
        mass = f"{load.mass:.2g} kg" + (" or more" if load.heaviest else "")
        rows.add_row(
            printable(load.link), mass, printable(load.joint), fixed(load.pull, 2), fixed(load.left, 2), load.unit
        )
    screen.print(rows)
    screen.print("The watch looked for these loads after a shorter distance than for others.")
    if (better := check.better_pose()) is not None:
        moved = [
            f"{printable(name)} {there:.2f}"
            for name, here, there in zip(joint_names, check.pose, better, strict=True)
            if abs(there - here) > 5e-3
        ]
        screen.print(f"They would show at the nearby pose with {', '.join(moved)} (the other joints as they are).")


def _check_table(check: CheckResult) -> Any:
    columns = ("joint", "model", "holding takes", "off by", "± 2 σ", "friction", "left", "", " ")
    rows = table(*columns, left=("joint", "", " "))
    for joint in check.joints:
        rows.add_row(
            printable(joint.joint),
            fixed(joint.expected, 3),
            fixed(joint.held, 3),
            fixed(joint.difference, 3),
            fixed(2.0 * joint.std, 3),
            fixed(joint.friction, 3),
            fixed(joint.left, 3),
            joint.unit,
            "" if joint.passed else "refused",
        )
    return rows
