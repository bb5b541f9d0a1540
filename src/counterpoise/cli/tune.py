"""``counterpoise tune``: the gains of a law by experiment, by one written rule for every law."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from .options import exit_codes, json_option
from .output import Progressing, console, note_written, print_json, printable, refuse_file, table, warn
from .plant import PlantOptions, plant_options, yes_option

if TYPE_CHECKING:
    from ..dynamics import Robot
    from ..tasks import FreeTuning, LawKind, LearnedFriction, Rig, Tuning


EXAMPLES = """\b
Examples:
  counterpoise tune puma550 --law bsc --joint joint1 --alone          a simulated joint by itself: seconds
  counterpoise tune puma550:50Hz --law pid --joint joint1 --out pid.toml
  counterpoise tune titan2 --law bsc-p --joint joint3                 in the whole simulated arm
  counterpoise tune puma550:20Hz --law pid --joint joint1 --alone --free
  counterpoise tune puma550 --law bsc --joint joint1 --friction --out bsc.toml
  counterpoise simulate puma550 --gains bsc.toml --reference triangle --joint joint1 --amplitude 0.002 --period 10
  counterpoise tune puma550 --law bsc --joint joint1 --alone --json | jq .joints
  counterpoise tune mydriver --robot arm.urdf --law pid --joint elbow --yes     a real arm: it moves

\b
Laws:
  pd, pid, pi    conventional;   bsc    PD around the plate's torque loop;   bsc-p    P around it

\b
The rule, the same for every law:
  K_p, K_d   position loop of --bandwidth (-3 dB) and --damping; less where the plant oscillates near it
  K_i        80 % of the smallest value that is unstable for a step of --step degrees (pi: 75 %)
  k_int      75 % of the smallest value at which the structure oscillates
""" + exit_codes("the gains are found", "a fault that stopped the arm; Ctrl-C", drives=True)


@click.command(epilog=EXAMPLES)
@click.argument("plant")
@click.option(
    "--law", type=click.Choice(("pd", "pid", "pi", "bsc", "bsc-p")), required=True, help="Control law to tune."
)
@click.option("--joint", "joints", multiple=True, metavar="NAME", help="Joint to tune; repeatable; default: all.")
@click.option("--alone", is_flag=True, help="Simulate the joint by itself, the others locked: fast.")
@click.option(
    "--bandwidth",
    type=click.FloatRange(min=0.01),
    default=5.0,
    show_default=True,
    help="Bandwidth of the position loop [Hz], -3 dB.",
)
@click.option(
    "--damping", type=click.FloatRange(min=0.05, max=5.0), default=0.5, show_default=True, help="Its damping ratio."
)
@click.option(
    "--step", type=click.FloatRange(min=0.01), default=2.0, show_default=True, help="Size of a probe [deg or cm]."
)
@click.option("--free", is_flag=True, help="Choose bandwidth and damping for a slow triangle, at the same margin.")
@click.option(
    "--friction", is_flag=True, help="Learn friction from the plate too, for the friction feedforward of a motion."
)
@click.option("--out", "out_path", metavar="FILE.toml", help="Write the gains.")
@plant_options
@yes_option
@json_option
def tune(
    *,
    plant: str,
    law: LawKind,
    joints: tuple[str, ...],
    alone: bool,
    bandwidth: float,
    damping: float,
    step: float,
    free: bool,
    friction: bool,
    out_path: str | None,
    asked: PlantOptions,
    yes: bool,
    as_json: bool,
) -> None:
    """Find the gains of a control law by experiments on a plant.

    PLANT is a simulated arm (see counterpoise simulate) or a plant that an installed package registers. Each experiment
    moves one joint by a few degrees, a step or slowly there and back, with gains that grow until the plant begins to
    oscillate. It goes through the control loop and the safety filter, is broken off when the joint strays, and ends in
    the safe stop.

    Printed are the gains, what limited each of them, and the frequency at which the structure swung at the limit: the
    benefit of a plate's torque loop depends on it more than on anything else.
    """
    import math

    from ..dynamics import rotary
    from ..tasks import TuningRule, learned_friction

    refuse_file("--out", out_path, (".toml",))
    if free and len(joints) != 1:
        raise click.UsageError("--free tunes one joint for its task: give --joint once")
    if alone and len(joints) != 1:
        raise click.UsageError("--alone simulates one joint: give --joint once")
    if friction and law not in ("bsc", "bsc-p"):
        raise click.UsageError("--friction is learned from the plate: give --law bsc or bsc-p")
    make_rig, robot, indices, real = _rigs(plant, joints, alone, asked)
    moving = [robot.joint_names[index] for index in indices]
    if real and not yes:
        moved = ", ".join(moving)
        raise click.UsageError(
            f"this would move a real arm, {moved} by {step:g}° or cm to either side and until it oscillates: clear its "
            "way, keep the emergency stop in reach, then add --yes"
        )
    turns = {kind for kind, joint in zip(rotary(robot), robot.joint_names, strict=True) if joint in moving}
    if len(turns) > 1:
        raise click.UsageError(
            "--step is degrees or cm: tune joints that turn and joints that slide one after the other"
        )
    size = math.radians(step) if turns == {True} else 0.01 * step
    rule = replace(TuningRule(), bandwidth=bandwidth, damping=damping, step=size)
    with Progressing(f"tuning {law} of {plant}") as progressing:
        settings: dict[str, Any] = {"rule": rule, "progress": lambda share: progressing.update(share, 1.0)}
        tuning, freely = _tune(make_rig, law, indices, free, settings)
        learned = {index: learned_friction(make_rig, tuning.gains, index) for index in indices} if friction else {}
    for index, found in learned.items():
        tuning = replace(tuning, gains=tuning.gains.with_friction(index, found.law))
    if out_path is not None:
        tuning.gains.save(out_path, _comments(plant, tuning))
    if as_json:
        tried = None if freely is None else {"cost": freely.cost, "tried": freely.tried}
        print_json({"plant": plant, **tuning.as_data(), "free": tried, "out": out_path})
    else:
        _print(plant, robot, tuning, freely)
        _print_friction(robot, learned)
        note_written("gains", out_path)


def _rigs(
    name: str, joints: tuple[str, ...], alone: bool, asked: PlantOptions
) -> tuple[Callable[[], Rig], Robot, list[int], bool]:
    """Return what makes the rig of an experiment, its model, the joints to tune, and whether the arm is a real one."""
    from ..dynamics import joint_index
    from ..tasks import Rig

    preset = asked.preset(name)
    if alone:
        if preset is None:
            raise click.UsageError(f"--alone is for simulated arms; '{name}' is none")
        joint = joint_index(preset.robot(), joints[0])
        robot = preset.single_joint(joint).robot
        return lambda: Rig(preset.single_joint(joint, seed=asked.seed), robot), robot, [0], False
    driven = asked.made(name)
    robot = driven.robot
    indices = [joint_index(robot, joint) for joint in joints] if joints else list(range(robot.n))
    if preset is None:
        return driven.rig, robot, indices, True
    return lambda: Rig(preset.arm(seed=asked.seed), robot), robot, indices, False


def _tune(
    make_rig: Callable[[], Rig], law: LawKind, indices: list[int], free: bool, settings: dict[str, Any]
) -> tuple[Tuning, FreeTuning | None]:
    from ..tasks import TriangleTask, freely_tuned, tuned

    if not free:
        return tuned(make_rig, law, joints=indices, **settings), None
    task = TriangleTask(make_rig, joint=indices[0])
    found = freely_tuned(make_rig, law, task.rms, joint=indices[0], **settings)
    return found.tuning, found


def _print_friction(robot: Robot, learned: dict[int, LearnedFriction]) -> None:
    from ..dynamics import effort_units

    for index, found in learned.items():
        unit, law = effort_units(robot)[index], found.law
        console().print(
            f"{printable(robot.joint_names[index])}: friction {law.forward:.3g} {unit} forwards, {law.backward:.3g} "
            f"backwards, presliding {1e3 * law.presliding:.3g} mrad or mm; unexplained {found.residual:.2g} {unit} rms"
        )


def _comments(plant: str, tuning: Tuning) -> list[str]:
    lines = [f"{tuning.gains.kind} of {plant}, found by counterpoise tune"]
    for joint in tuning.joints:
        for limit in joint.limits:
            bound = f"oscillates from {limit.limit:.4g} on" if limit.limit < float("inf") else "no oscillation met"
            lines.append(f"{joint.joint}: {limit.gain} {limit.chosen:.4g}, {bound}")
        lines += [f"{joint.joint}: {text}" for text in joint.notes]
    return lines


def _print(plant: str, robot: Robot, tuning: Tuning, freely: FreeTuning | None) -> None:
    screen = console()
    probes = sum(joint.probes for joint in tuning.joints)
    screen.print(f"{tuning.gains.kind} of {plant}: {probes} experiments, {tuning.seconds:.0f} s of the plant's time")
    gains = table("joint", "K_p", "K_d", "K_i", "k_int", left=("joint",))
    tuned_names = [joint.joint for joint in tuning.joints]
    for name in tuned_names:
        index = robot.joint_names.index(name)
        values = (getattr(tuning.gains, which)[index] for which in ("kp", "kd", "ki", "k_int"))
        gains.add_row(printable(name), *(f"{value:.4g}" for value in values))
    screen.print(gains)
    limits = table("joint", "gain", "chosen", "limit", "swings at", "what happens there", left=("joint", "gain"))
    for joint in tuning.joints:
        for limit in joint.limits:
            swings = f"{limit.frequency:.3g} Hz" if limit.frequency > 0.0 else "–"
            bound = "–" if limit.limit == float("inf") else f"{limit.limit:.4g}"
            reason = printable(limit.reason)
            limits.add_row(printable(joint.joint), limit.gain, f"{limit.chosen:.4g}", bound, swings, reason)
    screen.print(limits)
    for joint in tuning.joints:
        frequency = joint.structural_frequency
        if frequency is not None:
            ratio = joint.expected_ratio
            expect = "" if ratio is None else f"; PID's error is then about {ratio:.1f} times that of bsc"
            screen.print(f"{printable(joint.joint)}: the structure swings at {frequency:.3g} Hz{expect}")
        for text in joint.notes:
            warn(f"{joint.joint}: {text}")
    if freely is not None:
        best = tuning.rule
        screen.print(f"chosen freely: {best.bandwidth:.3g} Hz, damping {best.damping:g}; rms error {freely.cost:.3g}")
