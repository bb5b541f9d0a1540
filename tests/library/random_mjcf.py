"""Random MJCF models that use every compiler setting: their weight by MuJoCo's own compilation and by our reader."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np

import counterpoise as cp
from counterpoise.errors import CounterpoiseError

POSES = 3
SAME = 1e-7
"""Largest difference of a torque that is rounding, relative to the largest torque of the pose."""
SETTINGS = {
    "angle": ("degree", "radian"),
    "eulerseq": ("xyz", "zyx", "XYZ", "zXy", "ZYX", "yzy"),
    "autolimits": ("true", "true", "false"),
    "boundmass": ("0", "0.3", "1.5"),
    "boundinertia": ("0", "0.004", "0.05"),
    "settotalmass": ("-1", "0", "7.5", "30"),
    "balanceinertia": ("true", "true", "false"),
    "inertiafromgeom": ("true", "false", "auto", "auto"),
    "inertiagrouprange": ("0 5", "0 5", "0 1", "1 3", "2 2"),
    "fusestatic": ("true", "true", "false"),
    "discardvisual": ("true", "false"),
    "alignfree": ("true", "false"),
    "saveinertial": ("true", "false"),
    "usethread": ("true", "false"),
    "strippath": ("true", "false"),
    "coordinate": ("local",),
    "meshdir": (".",),
}
"""Compiler settings and the values that are drawn."""
OUTCOMES = {
    "same": "the same torques",
    "different": "other torques",
    "we refuse": "MuJoCo reads it, we refuse it",
    "mujoco refuses": "we read it, MuJoCo refuses it (massless moving bodies, tensors of no body, …)",
    "both refuse": "both refuse it",
}
TETRAHEDRON = 'vertex="0 0 0  0.2 0 0  0 0.15 0  0 0 0.1"'
CORNERS = " ".join(f"{x} {y} {z}" for x in (-0.1, 0.1) for y in (-0.05, 0.05) for z in (-0.02, 0.02))
BOX = f'vertex="{CORNERS}"'


@dataclass(frozen=True)
class RandomModel:
    """A model.

    Attributes:
        files: Texts by file name; the main file is "model.xml".
    """

    files: dict[str, str]

    def written(self, folder: Path) -> Path:
        """Write all files and return the main one."""
        for name, text in self.files.items():
            (folder / name).write_text(text)
        return folder / "model.xml"


@dataclass(frozen=True)
class Compared:
    """What came of a model.

    Attributes:
        outcome: One of OUTCOMES.
        reason: Why it is refused, or where it differs.
        difference: Largest difference of a torque relative to the largest torque, of gravity and inverse dynamics.
        torques: Gravity torques by MuJoCo and by us at the pose where they differ most.
    """

    outcome: str
    reason: str = ""
    difference: float = 0.0
    torques: tuple[Sequence[float], Sequence[float]] = ((), ())


class _Maker:
    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.files: dict[str, str] = {}
        self.bodies = self.joints = 0
        self.named: list[str] = []
        self.sites: list[str] = []

    def chance(self, share: float) -> bool:
        return bool(self.random.random() < share)

    def pick(self, *options: str) -> str:
        return str(self.random.choice(options))

    def numbers(self, low: float, high: float, count: int) -> str:
        return " ".join(f"{value:.6g}" for value in self.random.uniform(low, high, count))

    def turn(self, share: float = 0.6) -> str:
        if not self.chance(share):
            return ""
        return self.pick(
            f'quat="{self.numbers(-1, 1, 4)}"',
            f'euler="{self.numbers(-2, 2, 3)}"',
            f'axisangle="{self.numbers(0.1, 1, 3)} {self.numbers(-2, 2, 1)}"',
            f'xyaxes="1 0.1 0 {self.numbers(-0.3, 0.3, 1)} 1 0.2"',
            f'zaxis="{self.numbers(0.1, 1, 3)}"',
        )

    def place(self) -> str:
        return f'pos="{self.numbers(-0.4, 0.4, 3)}" {self.turn()}'

    def compilers(self) -> list[str]:
        """Return one to three <compiler> elements; what the later one says counts."""
        made = []
        for _ in range(int(self.random.integers(0, 4))):
            chosen = [(name, self.pick(*values)) for name, values in SETTINGS.items() if self.chance(0.3)]
            told = " ".join(f'{name}="{value}"' for name, value in chosen)
            made.append(f"<compiler {told}/>")
        return made

    def defaults(self) -> str:
        if self.chance(0.3):
            return ""
        weightless = self.pick('mass="0"', "")
        return (
            f'<default><geom density="{self.pick("200", "1000", "3000")}" group="{self.pick("0", "0", "1")}"/>'
            f'<joint armature="0.01" axis="{self.pick("0 0 1", "0 1 0")}"/>'
            f'<default class="light"><geom density="50" rgba="1 0 0 1"/>'
            f'<default class="lighter"><geom density="20" group="2"/><joint type="slide"/></default></default>'
            f'<default class="visual"><geom contype="0" conaffinity="0" group="2" {weightless}/></default>'
            "</default>"
        )

    def inertial(self) -> str:
        mass = self.pick("0.2", "1.3", "4", "0.001")
        base = f'<inertial pos="{self.numbers(-0.2, 0.2, 3)}" mass="{mass}"'
        return self.pick(
            f'{base} diaginertia="0.03 0.04 0.05" {self.turn(0.4)}/>',
            f'{base} diaginertia="0.01 0.01 {"0.09" if self.chance(0.15) else "0.015"}"/>',
            f'{base} fullinertia="0.03 0.04 0.05 0.005 -0.004 0.003"/>',
            f"{base}/>" if self.chance(0.1) else f'{base} diaginertia="0.02 0.02 0.02"/>',
        )

    def geom(self, classes: bool) -> str:
        kind = self.pick("sphere", "capsule", "cylinder", "ellipsoid", "box", "mesh", "plane", "fromto", "fitted")
        place = self.place()
        shape = {
            "sphere": f'type="sphere" size="{self.numbers(0.03, 0.1, 1)}" {place}',
            "capsule": f'type="capsule" size="{self.numbers(0.03, 0.1, 2)}" {place}',
            "cylinder": f'type="cylinder" size="{self.numbers(0.03, 0.1, 2)}" {place}',
            "ellipsoid": f'type="ellipsoid" size="{self.numbers(0.03, 0.1, 3)}" {place}',
            "box": f'type="box" size="{self.numbers(0.03, 0.1, 3)}" {place}',
            "mesh": f'type="mesh" mesh="{self.pick("tetra", "boxy", "shell")}" {place}',
            "plane": f'type="plane" size="1 1 1" {place}' if self.chance(0.05) else f'size="0.06" {place}',
            "fromto": f'type="{self.pick("capsule", "cylinder", "box", "ellipsoid")}" size="0.04" '
            f'fromto="0 0 0 {self.numbers(0.1, 0.3, 3)}"',
            "fitted": f'type="{self.pick("box", "sphere", "capsule")}" mesh="boxy" {place}',
        }[kind]
        weight = self.pick(
            "", "", f'mass="{self.numbers(0.1, 3, 1)}"', f'density="{self.numbers(100, 3000, 1)}"', 'mass="0"'
        )
        more = [f'group="{self.random.integers(0, 4)}"'] * self.chance(0.3)
        more += ['contype="0" conaffinity="0"'] * self.chance(0.3)
        more += ['shellinertia="true"'] * (self.chance(0.1) and kind in ("sphere", "box", "capsule"))
        if classes and self.chance(0.3):
            more.append(f'class="{self.pick("light", "lighter", "visual")}"')
        return f"<geom {shape} {weight} {' '.join(more)}/>"

    def joint(self, classes: bool) -> str:
        self.joints += 1
        parts = (
            [f'name="j{self.joints}"', f'type="{self.pick("hinge", "hinge", "slide")}"']
            if self.chance(0.8)
            else [f'name="j{self.joints}"']
        )
        parts += [f'axis="{self.numbers(-1, 1, 3)}"'] * self.chance(0.7)
        parts += [f'pos="{self.numbers(-0.2, 0.2, 3)}"'] * self.chance(0.4)
        parts += [f'ref="{self.numbers(-1, 1, 1)}"'] * self.chance(0.3)
        parts += [self.pick('range="-1 2" limited="true"', 'range="-1 2"' * self.chance(0.1))] * self.chance(0.3)
        parts += ['stiffness="3" springref="0.1"'] * self.chance(0.1) + ['armature="0.05"'] * self.chance(0.2)
        if classes and self.chance(0.2):
            parts.append(f'class="{self.pick("light", "lighter")}"')
        return f"<joint {' '.join(parts)}/>"

    def body(self, depth: int, classes: bool) -> str:
        self.bodies += 1
        index = self.bodies
        own = "".join(self.joint(classes) for _ in range(int(self.random.choice([0, 0, 1, 1, 1, 2]))))
        own += self.inertial() if self.chance(0.5) else ""
        if "<joint" in own and "<inertial" not in own:  # MuJoCo refuses moving bodies without mass
            own += self.inertial() if self.chance(0.5) else '<geom size="0.05" mass="0.8"/>' * self.chance(0.9)
        own += "".join(self.geom(classes) for _ in range(int(self.random.integers(0, 3))))
        if self.chance(0.1):
            own += f'<site name="s{index}" pos="0 0 0.1"/>'
            self.sites.append(f"s{index}")
        own += f"<camera {self.place()}/>" * self.chance(0.05) + '<light pos="0 0 1"/>' * self.chance(0.05)
        children = (
            "".join(self.body(depth + 1, classes) for _ in range(int(self.random.integers(0, 3)))) if depth < 3 else ""
        )
        if children and self.chance(0.2):
            more = f'childclass="{self.pick("light", "lighter")}"' if classes and self.chance(0.5) else ""
            children = (
                f"<frame {self.place()} {more}>{children}{self.geom(classes) if self.chance(0.3) else ''}</frame>"
            )
        if children and self.chance(0.1):
            name = f"part{len(self.files)}.xml"
            self.files[name] = f"<mujocoinclude>{children}</mujocoinclude>"
            children = f'<include file="{name}"/>'
        if self.named and self.chance(0.05):
            own += f'<light mode="targetbody" target="{self.pick(*self.named)}"/>'
        parts = [self.place()]
        if self.chance(0.8):
            parts.append(f'name="b{index}"')
            self.named.append(f"b{index}")
        parts += [f'gravcomp="{self.numbers(0, 1, 1)}"'] * self.chance(0.1)
        if classes and self.chance(0.2):
            parts.append(f'childclass="{self.pick("light", "lighter")}"')
        if depth == 0 and "<joint" not in own and self.chance(0.05):
            parts.append('mocap="true"')
        return f"<body {' '.join(parts)}>{own}{children}</body>"

    def references(self) -> list[str]:
        """Return sections that name bodies: MuJoCo does not fuse those."""
        made = []
        if self.named and self.chance(0.15):
            made.append(f'<sensor><framepos objtype="body" objname="{self.pick(*self.named)}"/></sensor>')
        if len(self.named) > 1 and self.chance(0.1):
            one, other = self.random.choice(self.named, 2, replace=False)
            made.append(f'<contact><exclude body1="{one}" body2="{other}"/></contact>')
        if len(self.named) > 1 and self.chance(0.1):
            one, other = self.random.choice(self.named, 2, replace=False)
            made.append(f'<equality><weld body1="{one}" body2="{other}" active="false"/></equality>')
        if self.named and self.chance(0.05):
            element = f'<element objtype="body" objname="{self.pick(*self.named)}"/>'
            made.append(f'<custom><tuple name="t">{element}</tuple></custom>')
        if self.sites and self.chance(0.3):
            made.append(f'<sensor><{self.pick("force", "torque", "gyro")} site="{self.pick(*self.sites)}"/></sensor>')
        if self.joints and self.chance(0.2):
            made.append('<actuator><motor joint="j1" forcerange="-5 5" forcelimited="true"/></actuator>')
        return made

    def model(self) -> RandomModel:
        defaults = self.defaults()
        classes = bool(defaults)
        world = "".join(self.body(0, classes) for _ in range(int(self.random.integers(1, 3))))
        world += self.geom(classes) if self.chance(0.3) else ""
        option = f'<option gravity="{self.numbers(-10, 10, 3)}"/>' * self.chance(0.3)
        solid, scale = self.pick("", 'inertia="exact"', 'inertia="convex"'), self.pick("", 'scale="1 2 1.5"')
        assets = (
            f'<asset><mesh name="tetra" {TETRAHEDRON} {solid}/>'
            f'<mesh name="boxy" {BOX} {scale}/>'
            f'<mesh name="shell" {BOX} inertia="shell"/></asset>'
        )
        compilers = self.compilers()
        if compilers and self.chance(0.1):
            self.files["settings.xml"] = f"<mujocoinclude>{compilers[-1]}</mujocoinclude>"
            compilers[-1] = '<include file="settings.xml"/>'
        sections = [option, assets, f"<worldbody>{world}</worldbody>", *compilers, *self.references()]
        order = self.random.permutation(len(sections))
        text = "\n".join([defaults, *(sections[place] for place in order)])  # classes must stand before their use
        return RandomModel({**self.files, "model.xml": f"<mujoco>\n{text}\n</mujoco>"})


def random_model(seed: int) -> RandomModel:
    """Return a model drawn by a seed."""
    return _Maker(seed).model()


def compared(model: RandomModel, folder: Path, seed: int = 0) -> Compared:
    """Return how our reading of a model agrees with MuJoCo's.

    Compared are gravity torques and inverse dynamics (without rotors) at random poses, joint by joint.

    Args:
        model: The model.
        folder: Where its files are written.
        seed: Of the poses.
    """
    path = model.written(folder)
    theirs, told = _compiled(path)
    try:
        robot = cp.load(path, allow_unphysical=True)
    except CounterpoiseError as error:
        reason = str(error).partition(".xml")[2]
        return Compared("both refuse" if theirs is None else "we refuse", reason)
    if theirs is None:
        return Compared("mujoco refuses", told)
    names = [theirs.joint(index).name for index in range(theirs.njnt)]
    if sorted(names) != sorted(robot.joint_names):
        return Compared("different", f"joints {names} and {robot.joint_names}", np.inf)
    if not names:
        return Compared("same", "no joint")
    order = [names.index(name) for name in robot.joint_names]
    random, data = np.random.default_rng(seed), mujoco.MjData(theirs)
    worst = Compared("same")
    for _ in range(POSES):
        q, dq, ddq = random.uniform(-1.5, 1.5, (3, theirs.nv))
        for velocity, acceleration, what in ((0.0 * dq, 0.0 * ddq, "gravity"), (dq, ddq, "inverse dynamics")):
            data.qpos[:], data.qvel[:], data.qacc[:] = q, velocity, acceleration
            mujoco.mj_fwdPosition(theirs, data)
            mujoco.mj_fwdVelocity(theirs, data)
            expected = np.zeros(theirs.nv)
            mujoco.mj_rne(theirs, data, 1, expected)
            mine = robot.inverse_dynamics(q[order], velocity[order], acceleration[order])
            if what == "gravity":
                mine = robot.gravity(q[order])
            off = float(np.abs(mine - expected[order]).max()) / max(float(np.abs(expected).max()), 1e-3)
            if off > worst.difference:
                worst = Compared("same", what, off, (expected[order].tolist(), mine.tolist()))
    return Compared("different", worst.reason, worst.difference, worst.torques) if worst.difference > SAME else worst


def _compiled(path: Path) -> tuple[mujoco.MjModel | None, str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # settotalmass is deprecated
            return mujoco.MjModel.from_xml_path(str(path)), ""
    except ValueError as error:
        return None, str(error).splitlines()[0]
