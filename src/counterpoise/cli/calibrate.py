"""``counterpoise calibrate``: from a recording to a calibrated model, a verdict and a file."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from ..report import gravity_share, in_units
from .options import exit_codes, json_option, page_option
from .output import (
    EXIT_NOT_TRUSTED,
    Progressing,
    console,
    note,
    note_written,
    number,
    print_json,
    print_verdict,
    printable,
    refuse_file,
    refuse_page,
    table,
    warn,
)
from .recording import ReadingOptions, reading_options
from .source import Source, source_options

if TYPE_CHECKING:
    from rich.table import Table

    from ..dynamics import Robot
    from ..fitting import Terms
    from ..identification import Fit, LoadGains
    from ..recording import Log


EXAMPLES = """\b
Examples:
  counterpoise calibrate wam7 run.npz --out wam7.calibration.json --page report.html
  counterpoise calibrate arm.urdf run.mcap --mapping arm.toml --serial A-17 --tool gripper
  counterpoise calibrate arm.urdf run.npz --for hold,payload    trusted when it is good for both
  counterpoise calibrate arm.urdf monday.npz --also tuesday.npz --own-offsets
  counterpoise calibrate arm.urdf today.npz --start-from last-year.calibration.json
  counterpoise calibrate arm.urdf poses.csv --use rows          a table of poses and torques, one a row
  counterpoise calibrate arm.urdf run.npz --method iterative    the method of the WAM document
  counterpoise calibrate arm.urdf run.csv --use moving --add tilt --add spring:elbow
  counterpoise calibrate arm.urdf empty.csv --loaded with_2kg.csv --load 2.0 --load-com 0 0 0.05
""" + exit_codes(
    "fitted, and good for all that it is for",
    not_trusted="fitted, but not good for all of it; what it is good for is printed, and the file's name says so",
)


def _list_terms(context: click.Context, option: click.Parameter, asked: bool) -> None:
    """Print the terms of the model and leave, when the command line asks for that."""
    if not asked:
        return
    from ..fitting import registered_terms

    terms = [(term.name, term.summary) for term in registered_terms() if term.name != "bodies"]
    width = max(len(name) for name, _ in terms)
    for name, summary in terms:
        click.echo(f"{name:{width}}  {summary}")
    context.exit()


@click.command(epilog=EXAMPLES)
@source_options
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@reading_options
@click.option(
    "--method",
    type=click.Choice(("weighted", "iterative", "coupled")),
    default="weighted",
    show_default=True,
    help="Solver; iterative and coupled are for poses at rest of rotary joints.",
)
@click.option(
    "--use",
    type=click.Choice(("auto", "static", "rows", "moving")),
    default="auto",
    show_default=True,
    help="Fit poses at rest, every row as a pose, or the motion; auto fits poses and motion where there are both.",
)
@click.option(
    "--for",
    "uses",
    default="float",
    show_default=True,
    metavar="USE,…",
    help="What the calibration is for: hold, float, payload, contact, extrapolate.",
)
@click.option(
    "--add", "added", multiple=True, metavar="TERM[:JOINT,…]", help="Fit gain, zero, spring, … too; repeatable."
)
@click.option(
    "--terms",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_list_terms,
    help="List the terms that --add can fit, and exit.",
)
@click.option("--no-prior", is_flag=True, help="Trust the data alone, not the description's masses.")
@click.option("--consistent", is_flag=True, help="Of a motion, give inertias that real bodies can have.")
@click.option(
    "--split",
    default="path",
    show_default=True,
    metavar="HOW",
    help="How a motion is divided for the check: path, time:first:0.6, path:last:0.6, …",
)
@click.option(
    "--cutoff",
    type=click.FloatRange(min=0.0, min_open=True),
    help="Cutoff of the low-pass [Hz]; default: from the data.",
)
@click.option(
    "--also", multiple=True, metavar="LOG", help="Fit this recording of the same arm together with LOG; repeatable."
)
@click.option("--own-offsets", is_flag=True, help="Give every recording of --also offsets of its own.")
@click.option(
    "--start-from",
    metavar="FILE.json",
    help="An earlier calibration of this arm, or of one of its type, that counts as far as LOG agrees with it.",
)
@click.option("--loaded", metavar="LOG", help="The same motion with a weighed load: distinguishes gains from masses.")
@click.option("--load", "load_mass", type=click.FloatRange(min=0.0, min_open=True), help="Mass of that load [kg].")
@click.option(
    "--load-com", nargs=3, type=float, metavar="X Y Z", help="Its centre of mass in the link's frame [m], as measured."
)
@click.option("--load-link", metavar="NAME", help="Link that carries it; the tip unless the arm is branched.")
@click.option(
    "--gains-out", "gains_path", metavar="FILE.toml", help="Write a mapping with the gains that the load determines."
)
@click.option(
    "--stiffness",
    multiple=True,
    type=float,
    help="Stiffness that holds the joints [N m/rad or N/m], for the sag; once, or once a joint.",
)
@click.option("--serial", default="", help="Serial number of the arm, for the file.")
@click.option("--tool", default="", help="What is mounted at the tip, for the file.")
@click.option("--out", "out_path", metavar="FILE.json", help="Write the calibration, usually ARM.calibration.json.")
@page_option
@json_option
def calibrate(
    *,
    source: Source,
    logs: tuple[str, ...],
    reading: ReadingOptions,
    method: str,
    use: str,
    uses: str,
    added: tuple[str, ...],
    no_prior: bool,
    consistent: bool,
    split: str,
    cutoff: float | None,
    also: tuple[str, ...],
    own_offsets: bool,
    start_from: str | None,
    loaded: str | None,
    load_mass: float | None,
    load_com: tuple[float, float, float] | None,
    load_link: str | None,
    gains_path: str | None,
    stiffness: tuple[float, ...],
    serial: str,
    tool: str,
    out_path: str | None,
    page_path: str | None,
    as_json: bool,
) -> None:
    """Calibrate an arm from a recording, and judge the result.

    SOURCE is the arm's description: a file or the name of a bundled arm (see counterpoise load). LOG is a recording: a
    CSV, NPZ, Parquet, ROS bag or MCAP file; several are merged on time. Poses at rest or the motion are fitted, and
    part of the data is held out and predicted. The result states how far each joint's gravity effort may be off where
    the arm was, and what it is good for; it is trusted when that includes everything that --for names.
    """
    refuse_file("--out", out_path, (".json",))
    refuse_page(page_path)
    refuse_file("--gains-out", gains_path, (".toml",))
    _refuse_half_a_load(loaded, load_mass, load_com, load_link, gains_path)
    from ..identification import calibrate as run
    from ..identification import checked_uses, load_calibration

    robot, log = reading.robot_and_log(source, logs)
    runs: list[tuple[Robot, Log]] = []
    if loaded is not None and load_mass is not None and load_com is not None:
        from ..dynamics import link_name

        carrying = robot.with_payload(load_mass, com=load_com, link=link_name(robot, load_link, "--load-link"))
        runs.append((carrying, reading.log([loaded], robot)))
    with Progressing(f"calibrating {robot.name}") as progressing:
        fit = run(
            robot,
            log,
            method,  # type: ignore[arg-type]
            use=use,  # type: ignore[arg-type]
            terms=_terms(added, use, log, bool(runs)),
            prior=None if no_prior else "cad",
            consistent=consistent,
            split=split,
            cutoff=cutoff,
            loaded=runs,
            also=[reading.log([one], robot) for one in also],
            own_offsets=own_offsets,
            start_from=None if start_from is None else load_calibration(start_from, robot),
            uses=checked_uses([part.strip() for part in uses.split(",") if part.strip()]),
            stiffness=_stiffness(stiffness),
            serial=serial,
            tool=tool,
            progress=progressing.update,
        )
    if gains_path is not None and fit.gains is not None:
        from ..recording import LogMapping, write_mapping

        recorded = LogMapping.from_table(log.declared.mapping)
        write_mapping(recorded.merged_with(LogMapping.from_table(fit.gains.mapping(log))), gains_path)
    written = None if out_path is None else str(fit.save(out_path))
    if page_path is not None:
        from ..report import calibration_page, write_page

        write_page(calibration_page(fit), page_path)
    if as_json:
        print_json(_document(fit, written, page_path))
    else:
        _print(fit, out_path, written, page_path)
        note_written("mapping with the gains", gains_path)
    if not fit.trusted:
        raise SystemExit(EXIT_NOT_TRUSTED)


def _refuse_half_a_load(
    loaded: str | None,
    mass: float | None,
    com: tuple[float, float, float] | None,
    link: str | None,
    gains_path: str | None,
) -> None:
    """Refuse a load of which not everything is stated: its place decides the gains as much as its mass does."""
    if loaded is None:
        if any(given is not None for given in (mass, com, link, gains_path)):
            raise click.UsageError(
                "--load, --load-com, --load-link and --gains-out belong to a second recording; name that with --loaded"
            )
    elif mass is None:
        raise click.UsageError("--loaded needs the mass of the load: --load 2.0")
    elif com is None:
        raise click.UsageError(
            "--loaded needs the place of the load: --load-com X Y Z, its centre of mass in the frame of the link that "
            "carries it [m]; of a load that hangs from a string, the point where the string is fixed. 1 cm too far out "
            "makes gains too small by some percent, and masses too large"
        )


def _stiffness(given: tuple[float, ...]) -> Any:
    if not given:
        return None
    return given[0] if len(given) == 1 else list(given)


def _terms(added: tuple[str, ...], use: str, log: Log, with_load: bool) -> Terms | None:
    """Return the terms that --add asks for, on top of the usual ones; None for the usual ones."""
    from ..fitting import ALL, Terms, registered_terms

    if not added:
        return None
    if use == "auto" and not with_load:
        raise click.UsageError("--add needs --use static, rows or moving: what is usual differs between them")
    terms = Terms.moving(log.declared) if use == "moving" or with_load else Terms.static()
    if with_load:
        terms = terms.replace(gain=(ALL,))
    known = {term.name: term for term in registered_terms() if term.name != "bodies"}
    for text in added:
        name, _, joints = text.partition(":")
        if name not in known:
            raise click.UsageError(
                f"--add {name!r} is no term; there are {', '.join(known)} (--terms says what they are)"
            )
        terms = terms.replace(**{name: known[name].asked_for(tuple(filter(None, joints.split(","))))})
    return terms


def _document(fit: Fit, written: str | None, page_path: str | None) -> dict[str, Any]:
    from ..identification import content_of

    content = content_of(fit)
    content["robot"] = content.pop("identity")
    head = {"trusted": fit.trusted, "reasons": list(fit.reasons), "file": written, "page": page_path}
    return {**head, **content} if fit.gains is None else {**head, "gains": _gains(fit.gains), **content}


def _gains(gains: LoadGains) -> list[dict[str, Any]]:
    """Return efforts per torque as plain values."""
    return [
        {
            "joint": name,
            "gain": gain,
            "std": std,
            "com_shift": shift,
            "unit": unit,
            "identifiable": name not in gains.unidentified,
        }
        for name, gain, std, shift, unit in zip(
            gains.joint_names,
            gains.gain.tolist(),
            gains.std.tolist(),
            gains.com_shift.tolist(),
            gains.unit,
            strict=True,
        )
    ]


def _print(fit: Fit, out_path: str | None, written: str | None, page_path: str | None) -> None:
    screen = console()
    headline = f"{'TRUSTED' if fit.trusted else 'NOT TRUSTED'} for {', '.join(fit.uses)}{in_units(fit)}"
    print_verdict(screen, headline, fit.verdict, told_below=fit.uses)
    screen.print("Good to:" if fit.statements else "Good for nothing that can be stated.")
    for statement in fit.statements:
        screen.print(f"  - {printable(statement.sentence)}")
    screen.print(f"{fit.counted}: {printable(fit.data.why)}. {fit.data.check}.")
    screen.print(_joint_table(fit))
    if fit.errors.sag_total == fit.errors.sag_total:  # not NaN
        how = "with the stiffness given" if not fit.errors.stiffness_assumed else "if joints are held softly (4 Hz)"
        screen.print(f"Held-out errors are worth {1e3 * fit.errors.sag_total:.2g} mm at the tip, {how}.")
    if fit.prior:
        screen.print(f"Prior: {printable(fit.prior)}.")
    screen.print("\nNot to be relied on:")
    for sentence in fit.unreliable:
        screen.print(f"  - {printable(sentence)}")
    for sentence in fit.notes:
        note(sentence)
    note_written("calibration", written)
    if written != out_path:
        warn("the fit is not trusted, so its file is called so")
    note_written("page", page_path)


def _joint_table(fit: Fit) -> Table:
    """Return the errors of every measured joint."""
    rows = table(
        *("joint", "gravity ±95 %", "of gravity", "tolerated", "before", "fitted", "held out", "signal", "friction"),
        title=f"Errors, root mean square [{fit.units}]",
        left=("joint",),
    )
    for joint, name in enumerate(fit.robot.joint_names):
        if math.isnan(fit.errors.signal[joint]):
            continue
        rows.add_row(
            printable(name),
            number(fit.errors.gravity[joint]),
            gravity_share(fit, joint),
            number(fit.errors.tolerated[joint]),
            number(fit.errors.described[joint]),
            number(fit.torque_rms[joint]),
            number(fit.heldout_rms[joint]),
            number(fit.errors.signal[joint]),
            number(fit.errors.friction_band[joint]),
        )
    return rows
