"""``counterpoise doctor``: what is wrong with a recording, in order of consequence, and the mapping that fixes it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .options import exit_codes, json_option, page_option
from .output import (
    EXIT_NOT_TRUSTED,
    console,
    note,
    note_written,
    print_json,
    printable,
    refuse_file,
    refuse_page,
    table,
)
from .recording import ReadingOptions, arm_options, reading_options
from .source import Source

if TYPE_CHECKING:
    from rich.console import Console

    from ..doctor import Diagnosis, Finding
    from ..dynamics import Robot
    from ..recording import Log, LogMapping


EXAMPLES = """\b
Examples:
  counterpoise doctor run.csv --robot arm.urdf
  counterpoise doctor run.mcap --robot wam7 --page run.html
  counterpoise doctor position.csv velocity.csv effort.csv --robot arm.urdf      files that belong together
  counterpoise doctor run.csv --robot arm.urdf --show-mapping    how the columns are read, and why
  counterpoise doctor run.csv --robot arm.urdf --fix fixed.toml
  counterpoise doctor run.csv --robot arm.urdf --mapping fixed.toml              does it help?
  counterpoise doctor cut-off.bag --robot arm.urdf --recover
  counterpoise doctor run.npz                                    without a model: channels and time only
  counterpoise doctor --self                                     is this installation whole?
  counterpoise doctor run.csv --robot arm.urdf --json | jq '.findings[] | {fault, subjects}'
""" + exit_codes(
    "no finding is worse than what limits a fit; --self: nothing is broken",
    not_trusted="a fit would be wrong, or a compensation would push the wrong way; --self: something is broken",
)
STYLE = {"danger": "bold red", "invalidates": "red", "limits": "yellow", "note": "dim"}


@click.command(epilog=EXAMPLES)
@click.argument("logs", nargs=-1, metavar="[LOG]...")
@click.option("--self", "itself", is_flag=True, help="Look at this installation instead: kernels, extras, MuJoCo.")
@arm_options
@reading_options
@click.option("--show-mapping", is_flag=True, help="Print how the columns are read, with a reason for each.")
@click.option(
    "--fix",
    "fix_path",
    metavar="FILE.toml",
    help="Write the whole mapping, with the changes that fix what a mapping can.",
)
@page_option
@json_option
@click.pass_context
def doctor(
    ctx: click.Context,
    *,
    logs: tuple[str, ...],
    itself: bool,
    arm: Source | None,
    reading: ReadingOptions,
    show_mapping: bool,
    fix_path: str | None,
    page_path: str | None,
    as_json: bool,
) -> None:
    """Say what is wrong with a recording, or with this installation.

    LOG is a recording: a CSV, NPZ, Parquet, ROS bag or MCAP file; several are merged on time. Findings come in order of
    consequence, each with its evidence and what to change. With a robot, efforts are compared with its model: signs,
    order, units, gains, offsets, mount, payload, plate. Without one, channels and time are judged by themselves.
    """
    if itself:
        if logs or arm is not None or fix_path is not None or page_path is not None:
            raise click.UsageError("--self looks at the installation: give no files, no robot and nothing to write")
        if not _print_self(as_json):
            ctx.exit(EXIT_NOT_TRUSTED)
        return
    if not logs:
        raise click.UsageError("give the files of a recording, or --self")
    refuse_page(page_path)
    refuse_file("--fix", fix_path, (".toml",))
    from ..doctor import diagnose
    from ..recording import propose_mapping

    robot = None if arm is None else arm.load()
    proposal = propose_mapping(logs, robot, reading.mapping, recover=reading.recover, budget=reading.budget)
    if show_mapping and not as_json:
        click.echo(printable(proposal.to_toml()))
    name = ", ".join(Path(file).name for file in logs)
    log = reading.log(logs, robot)
    diagnosis = diagnose(robot, log)
    fixed = proposal.mapping.merged_with(diagnosis.fix) if diagnosis.fix else proposal.mapping
    reasons = {**proposal.reasons, **_reasons(diagnosis)}
    if fix_path is not None:
        from ..recording import write_mapping

        write_mapping(fixed, fix_path, reasons)
    if page_path is not None:
        from ..recording import mapping_toml

        _write_page(page_path, name, robot, log, diagnosis, mapping_toml(fixed, reasons) if diagnosis.fix else "")
    if as_json:
        document = {"files": list(logs), "robot": None if robot is None else robot.name, **diagnosis.to_table()}
        mounts = [option for finding in diagnosis.findings if (option := _mount_option(finding))]
        document |= {"mount_option": mounts[0] if mounts else None}
        document |= {"mapping": _table(proposal.mapping), "fix": _table(fixed)}
        document |= {"fix_file": fix_path, "page": page_path}
        print_json(document)
    else:
        _print(name, robot, diagnosis)
        if fix_path is not None:
            note(
                f"mapping written to {fix_path}{'' if diagnosis.fix else ' as it was read: no change of it fixes this'}"
            )
        note_written("page", page_path)
    if _invalidates(diagnosis):
        ctx.exit(EXIT_NOT_TRUSTED)


def _print_self(as_json: bool) -> bool:
    """Print what is known of the installation; return whether nothing in it is broken."""
    from .self_check import document, self_check

    findings = self_check()
    if as_json:
        print_json(document(findings))
    else:
        lines = table("", "what", "found", "to do", left=("", "what", "found", "to do"))
        marks = {"good": "✓", "missing": "–", "broken": "✗"}
        for each in findings:
            lines.add_row(marks[each.state], each.what, printable(each.details), printable(each.remedy))
        console().print(lines)
    return all(each.state != "broken" for each in findings)


def _invalidates(diagnosis: Diagnosis) -> bool:
    """Return whether a finding invalidates what would be made from the recording."""
    from ..doctor import Consequence

    return diagnosis.worst > Consequence.LIMITS


def _table(mapping: LogMapping) -> dict[str, Any]:
    """Return a mapping as its file says it."""
    from ..recording import FORMAT

    return {**mapping.to_table(), "format": FORMAT}


def _reasons(diagnosis: Diagnosis) -> dict[tuple[str | int, ...], str]:
    """Return which finding asks for each change, by place in the mapping."""
    reasons: dict[tuple[str | int, ...], str] = {}
    for finding in diagnosis.findings:
        for section, entries in finding.fix.items():
            for key, value in entries.items():
                places = [(section, key, inner) for inner in value] if isinstance(value, dict) else [(section, key)]
                reasons |= dict.fromkeys(places, f"doctor: {finding.fault.value}")
    return reasons


def _write_page(path: str, name: str, robot: Robot | None, log: Log, diagnosis: Diagnosis, mapping: str) -> None:
    from ..report import doctor_page, write_page

    write_page(doctor_page(name, robot, log, diagnosis, mapping), path)


def _print(name: str, robot: Robot | None, diagnosis: Diagnosis) -> None:
    from ..recording import effort_guesses

    screen = console()
    facts = diagnosis.facts
    rate = f", {facts['rate_hz']:g} Hz" if facts.get("rate_hz") else ""
    arm = "no robot given: channels and time only" if robot is None else f"{robot.name}, {robot.n} joints"
    size = f"{facts['samples']} samples, {facts['duration_s']:g} s{rate}"
    if facts.get("kind") == "poses":
        size = f"a table of {facts['samples']} poses at rest"
    guessed = effort_guesses(facts["guessed"])
    head = f"{name}: {size}; {arm}" + (f"; efforts are of a guessed size: {guessed}" if guessed else "")
    screen.print(printable(head), style="bold", soft_wrap=True)
    notes = facts.get("declared", {}).get("notes", {})
    if "time" in notes:
        screen.print(printable(f"time ({facts['rate_source']}): {notes['time']}"), style="dim")
    held = notes.get("held", {})
    if held:
        screen.print(printable(f"not recorded, taken to stand: {', '.join(held)}"), style="dim")
    if not diagnosis.findings:
        screen.print("nothing found", style="green")
        return
    screen.print()
    _print_findings(screen, diagnosis)


def _print_findings(screen: Console, diagnosis: Diagnosis) -> None:
    from rich.text import Text

    columns = ("consequence", "finding", "what was found, and what to do")
    rows = table(*columns, left=columns)
    rows.columns[2].ratio = 1
    for index, finding in enumerate(diagnosis.findings):
        level = finding.consequence.name.lower()
        told = Text(printable(finding.sentence))
        told.append(f"\n→ {printable(finding.remedy)}", style="cyan")
        for line in _small_print(finding):
            told.append(f"\n{printable(line)}", style="dim")
        if index < len(diagnosis.findings) - 1:
            told.append("\n")
        what = Text(finding.fault.value.replace("-", " "))
        rows.add_row(Text(level, style=STYLE[level]), what, told)
    screen.print(rows)


def _mount_option(finding: Finding) -> str:
    """Return the option by which commands take over a mount that was found; "" where none is sure enough for a fix."""
    from ..identification import mount_rpy

    found = finding.evidence.get("gravity_base")
    if found is None or not finding.fix:
        return ""
    return "--mount-rpy " + " ".join(f"{angle:.4g}" for angle in mount_rpy(found))


def _small_print(finding: Finding) -> list[str]:
    """Return the plain numbers of the evidence and what it could be instead."""
    from numbers import Real

    lines = []
    numbers = [
        f"{name} {value:.4g}"
        for name, value in finding.evidence.items()
        if isinstance(value, Real) and not isinstance(value, bool)
    ]
    if numbers:
        lines.append(", ".join(numbers))
    if option := _mount_option(finding):
        lines.append(f"use it at once: {option} (a turn about the vertical does not show), or the mapping of --fix")
    if finding.alternatives:
        lines.append(f"these data cannot distinguish it from: {', '.join(finding.alternatives)}")
    return lines
