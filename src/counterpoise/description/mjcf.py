"""MJCF reader: a MuJoCo model file as a :class:`Description`, its numbers resolved by MuJoCo itself.

Two compilations feed it. One without joints gives masses (:mod:`.mjcf_inertias`); one without geoms gives frames and
joints. So a massless moving body or a missing visual mesh, which make MuJoCo refuse a model, do not stop the reader.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import UnsupportedJointError, listed, locate
from ..foundation import Array, Element, rotation_from_vector, rotation_from_wxyz, transform
from .checks import checked
from .mjcf_inertias import read_inertias
from .mjcf_sources import (
    MjcfSource,
    SpecText,
    compiled_model,
    load_source,
    mujoco_module,
    parsed_spec,
    spec_text,
    unused_name,
)
from .model import STANDARD_GRAVITY, Description, Inertia, Joint, JointKind, Link

ROOT_LINK = "world"


def parse_mjcf(data: bytes, path: str | None = None) -> Description:
    """Read MJCF text.

    Args:
        data: The document.
        path: Where it came from: for messages, and the folder of included files and meshes.

    Returns:
        The description. Its root link is "world"; joint positions are MuJoCo's ``qpos``.

    Raises:
        ModelFileError: The text, or a file that it names, cannot be read or describes something other than a tree of
            rigid bodies.
        MissingExtraError: MuJoCo is not installed.
    """
    mujoco_module()
    source = load_source(data, path)
    text = spec_text(source.root)
    spec = parsed_spec(source, text)
    if len(spec.bodies) < 2:
        raise source.refusal("defines no body; expected at least one <body> in <worldbody>", source.root)
    _check_nothing_lost(source, spec)
    _refuse_ball_and_free(source, text, spec)
    inertias, mass_warnings = read_inertias(source, text, spec)
    model = _kinematic_model(source)
    with np.errstate(all="ignore"):  # lengths too large for a product are refused by the checks
        links, joints = _Tree(source, text, spec, model).links_and_joints(inertias)
    return checked(
        name=spec.modelname,
        links=links,
        joints=joints,
        path=path,
        gravity_world=model.opt.gravity,
        warnings=[*source.warnings, *mass_warnings, *_simulator_warnings(source, text, spec, model)],
    )


def _check_nothing_lost(source: MjcfSource, spec: Any) -> None:
    """Compare what MuJoCo read with what stands in the file: it ignores some misplaced elements without a word."""
    counts = source.counts
    for what, read, written in (
        ("bodies", len(spec.bodies) - 1, counts["body"]),
        ("inertials", sum(bool(body.explicitinertial) for body in spec.bodies), counts["inertial"]),
        ("geoms", len(spec.geoms), counts["geom"]),
        ("joints", len(spec.joints), counts["joint"] + counts["freejoint"]),
    ):
        if read != written:
            raise source.refusal(
                f"<worldbody> holds {written} {what} of which MuJoCo reads {read}; one stands where it is ignored"
            )


def _refuse_ball_and_free(source: MjcfSource, text: SpecText, spec: Any) -> None:
    kinds = mujoco_module().mjtJoint
    unsupported = {kinds.mjJNT_BALL: "ball", kinds.mjJNT_FREE: "free"}
    for body in spec.bodies[1:]:
        for joint in body.joints:
            if joint.type not in unsupported:
                continue
            element = text.element(joint.info)
            if element is None and (home := text.element(body.info)) is not None:  # MuJoCo gives <freejoint> no line
                element = next(iter(home.all("freejoint")), home)
            path, line = source.place(element)
            raise UnsupportedJointError(
                f"joint '{joint.name}' is a {unsupported[joint.type]} joint; expected hinge or slide. Remove it to fix "
                f"body '{body.name}' to its parent, or read the arm alone",
                path=path,
                line=line,
            )


def _kinematic_model(source: MjcfSource) -> Any:
    """Compile frames and joints alone: no geoms, and the same plain inertia for every body."""

    def edit(section: str, element: Element) -> dict[str, str] | None:
        if section in ("actuator", "asset", "equality"):
            return None
        if section == "worldbody" and element.tag in ("geom", "inertial"):
            return None
        return element.attributes

    text = spec_text(source.root, edit)
    spec = parsed_spec(source, text)
    spec.compiler.inertiafromgeom = mujoco_module().mjtInertiaFromGeom.mjINERTIAFROMGEOM_FALSE
    for body in spec.bodies[1:]:
        body.explicitinertial = True
        body.mass = 1.0
        body.inertia = [1.0, 1.0, 1.0]
        body.ipos = [0.0, 0.0, 0.0]
    return compiled_model(source, text, spec)


@dataclass(frozen=True, slots=True)
class _Tree:
    """Links and joints from the parsed specification (lines, drives) and the compiled model (numbers)."""

    source: MjcfSource
    text: SpecText
    spec: Any
    model: Any

    def links_and_joints(self, inertias: dict[str, Inertia | None]) -> tuple[list[Link], list[Joint]]:
        """Return the links, world first, and the joints, both in MuJoCo's depth-first order."""
        links = [Link(ROOT_LINK)]
        joints: list[Joint] = []
        body_lines = {body.name: self._line(body) for body in self.spec.bodies}
        joint_lines = {joint.name: self._line(joint) for joint in self.spec.joints}
        efforts, drive_inertias = self._drives()
        link_names = set(body_lines)
        joint_names = set(joint_lines)
        for body_id in range(1, self.model.nbody):
            body = self.model.body(body_id)
            parent = self.model.body(int(body.parentid[0])).name
            T_parent_frame = transform(rotation_from_wxyz(body.quat), body.pos)
            last = int(body.jntadr[0]) + int(body.jntnum[0]) - 1
            for joint_id in range(int(body.jntadr[0]), last + 1) if body.jntnum[0] else ():
                name = self.model.joint(joint_id).name
                child = body.name
                if joint_id < last:
                    child = unused_name(f"{body.name}/{name}", link_names)
                    links.append(Link(child, line=joint_lines[name], placeholder_frame=True))
                joints.append(
                    self._moving_joint(
                        joint_id,
                        parent=parent,
                        child=child,
                        T_parent_frame=T_parent_frame,
                        effort_limit=efforts.get(name, math.inf),
                        drive_inertia=drive_inertias.get(name, 0.0),
                        line=joint_lines[name],
                    )
                )
                parent, T_parent_frame = child, np.eye(4)
            if not body.jntnum[0]:
                joints.append(
                    Joint(
                        unused_name(f"{body.name}_fixed", joint_names),
                        JointKind.FIXED,
                        parent,
                        body.name,
                        T_parent_frame,
                        line=body_lines[body.name],
                    )
                )
            links.append(Link(body.name, inertias[body.name], line=body_lines[body.name]))
        return links, joints

    def _moving_joint(
        self,
        joint_id: int,
        *,
        parent: str,
        child: str,
        T_parent_frame: Array,
        effort_limit: float,
        drive_inertia: float,
        line: int | None,
    ) -> Joint:
        """Return a hinge or slide whose position is MuJoCo's qpos.

        MuJoCo moves the body frame by motion(axis, qpos − qpos0) about the anchor, a point in that frame; so the frame
        at qpos = 0 is already turned (or shifted) by −qpos0.
        """
        joint = self.model.joint(joint_id)
        anchor, axis, reference = joint.pos, joint.axis, float(joint.qpos0[0])
        rotates = joint.type[0] == mujoco_module().mjtJoint.mjJNT_HINGE
        if rotates:
            T_reference = transform(rotation_from_vector(-reference * axis), np.zeros(3))
        else:
            T_reference = transform(np.eye(3), -reference * axis)
        lower, upper = joint.range if joint.limited[0] else (-math.inf, math.inf)
        unlimited = math.isinf(lower) and math.isinf(upper)
        if self.model.jnt_actfrclimited[joint_id]:
            effort_limit = _symmetric_limit(self.model.jnt_actfrcrange[joint_id])
        armature = float(self.model.dof_armature[int(joint.dofadr[0])]) + drive_inertia
        return Joint(
            joint.name,
            JointKind.PRISMATIC if not rotates else JointKind.CONTINUOUS if unlimited else JointKind.REVOLUTE,
            parent,
            child,
            T_parent_frame @ transform(np.eye(3), anchor) @ T_reference,
            axis,
            transform(np.eye(3), -anchor),
            lower=float(lower),
            upper=float(upper),
            effort_limit=effort_limit,
            rotor_inertia=armature if armature != 0.0 else None,  # 0 is MuJoCo's default, and says nothing
            line=line,
        )

    def _drives(self) -> tuple[dict[str, float], dict[str, float]]:
        """Return what the actuators say of each joint, by its name.

        Returns:
            The force limit [N m or N] of a joint that exactly one actuator drives, and the inertia [kg m² or kg] that
            actuators add to the joint's own armature.
        """
        mujoco = mujoco_module()
        transmissions = (mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT)
        limits: defaultdict[str, list[float]] = defaultdict(list)
        inertias: defaultdict[str, float] = defaultdict(float)
        for actuator in self.spec.actuators:
            if actuator.trntype not in transmissions:
                continue
            gear = abs(float(actuator.gear[0]))
            # Older MuJoCo knows no inertia of actuators.
            inertias[actuator.target] += gear * gear * float(getattr(actuator, "armature", 0.0))
            limit = gear * _symmetric_limit(actuator.forcerange) if self._limited(actuator) else math.inf
            limits[actuator.target].append(limit)
        single = {name: found[0] for name, found in limits.items() if len(found) == 1}
        return {name: limit for name, limit in single.items() if name not in self.source.plugin_driven}, inertias

    def _limited(self, actuator: Any) -> bool:
        limited = mujoco_module().mjtLimited
        if actuator.forcelimited == limited.mjLIMITED_AUTO:
            return bool(self.spec.compiler.autolimits and actuator.forcerange[0] < actuator.forcerange[1])
        return bool(actuator.forcelimited == limited.mjLIMITED_TRUE)

    def _line(self, item: Any) -> int | None:
        element = self.text.element(item.info)
        return None if element is None else element.line


def _symmetric_limit(limits: Any) -> float:
    """Return the largest effort [N m or N] available both ways; of a one-sided range, the side that works."""
    lower, upper = abs(float(limits[0])), abs(float(limits[1]))
    return min(lower, upper) if limits[0] < 0.0 < limits[1] else max(lower, upper)


def _simulator_warnings(source: MjcfSource, text: SpecText, spec: Any, model: Any) -> list[str]:
    """Say where the simulator would move otherwise than the bare tree of rigid bodies."""
    mujoco = mujoco_module()
    here = locate(source.path, None)
    found: list[str] = []
    if not np.array_equal(model.opt.gravity, STANDARD_GRAVITY):
        found.append(f"{here}: gravity is {model.opt.gravity.tolist()} m/s², not {list(STANDARD_GRAVITY)}")
    if model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY:
        found.append(f"{here}: the simulator's gravity is switched off; the full gravity is computed here")
    floating = [body.name for body in spec.bodies if body.gravcomp != 0.0]
    if floating:
        found.append(
            f"{here}: gravcomp hides the weight of {_some(floating)} in the simulator; the full gravity is computed "
            "here"
        )
    springs = [model.joint(index).name for index in range(model.njnt) if np.any(model.joint(index).stiffness)]
    if springs:
        found.append(f"{here}: springs act on {_some(springs)} in the simulator; their torque is not computed here")
    for equality in spec.equalities:
        if not equality.active:
            continue
        place = locate(*source.place(text.element(equality.info)))
        if equality.type == mujoco.mjtEq.mjEQ_JOINT and equality.name2:
            coupling = f"joints '{equality.name1}' and '{equality.name2}' are coupled"
        else:
            names = [name for name in (equality.name1, equality.name2) if name]
            coupling = f"a constraint holds {_some(names) or 'unnamed parts'}"
        found.append(f"{place}: {coupling} in the simulator; here every joint stays independent")
    return found


def _some(names: list[str]) -> str:
    return listed([f"'{name}'" for name in names], most=4)
