"""The mass of every MJCF body: stated by its <inertial>, or inferred by MuJoCo from its geoms.

A stated inertial is taken as the file states it; MuJoCo only resolves its frame, because it refuses tensors that break
the triangle inequality, lifts negative masses to zero and principal moments to zero without a word. An inferred one
comes from the geoms that weigh something, and from no other: a mesh is opened only where a mass depends on it.

**Fused bodies.** MuJoCo's compiler setting fusestatic merges a body without joint into its parent, unless something
refers to that body by name, or a sensor takes force or torque at one of its sites. Here all bodies are kept as links; a
weld weighs the same either way, but for three effects:

- What is merged into the world weighs nothing, so that settotalmass shares the total among the others.
- A body without mass loses the inertia that boundinertia gave it.
- With inertiafromgeom="true" MuJoCo 4 infers the merged body's inertia anew from its geoms, and stated masses are lost;
  before MuJoCo 4 they are kept. Such a model has no weight of its own, and is refused.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ModelFileError, PhysicalConsistencyError, listed, locate
from ..foundation import Array, Element, rotation_from_wxyz
from .checks import MAX_MASS
from .mjcf_sources import MjcfSource, SpecText, compiled_model, mujoco_module, parsed_spec, spec_text
from .model import Inertia

MASSLESS = 1e-15
"""Mass below which MuJoCo merges nothing [kg]."""


def without_fused_inertias(
    source: MjcfSource, text: SpecText, spec: Any, inertias: Mapping[str, Inertia | None], stating: Collection[str]
) -> tuple[dict[str, Inertia | None], set[str]]:
    """Return the inertias as fusestatic leaves them, by body, and the bodies that it merges into the world.

    Args:
        source: The model.
        text: The text that ``spec`` was parsed from.
        spec: Its ``MjSpec``, not compiled.
        inertias: Inertia of every body except the world, by name.
        stating: Bodies whose inertia is that of their <inertial>.

    Raises:
        ModelFileError: What the bodies weigh depends on the version of MuJoCo.
    """
    if not source.fusestatic:
        return dict(inertias), set()
    fused = {
        body.name
        for body in spec.bodies[1:]
        if not body.joints
        and not body.mocap
        and body.name not in source.referred_bodies
        and id(text.element(body.info)) not in source.sensed_bodies
    }
    parents = {body.name: body.parent.name for body in spec.bodies[1:]}
    root = spec.bodies[0].name
    into_world: set[str] = set()
    for name, parent in parents.items():  # parents stand before their children
        if name in fused and (parent == root or parent in into_world):
            into_world.add(name)
    if spec.compiler.inertiafromgeom == mujoco_module().mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE:
        _refuse_lost_inertials(source, text, spec, inertias, stating, fused - into_world)
    left = {
        name: None if inertia is not None and name in fused and inertia.mass < MASSLESS else inertia
        for name, inertia in inertias.items()
    }
    return left, into_world


def _refuse_lost_inertials(
    source: MjcfSource,
    text: SpecText,
    spec: Any,
    inertias: Mapping[str, Inertia | None],
    stating: Collection[str],
    fused: set[str],
) -> None:
    """Refuse a body that is merged from several of which one states its mass."""
    groups: dict[str, list[Any]] = {}
    home: dict[str, str] = {}
    for body in spec.bodies[1:]:
        home[body.name] = home[body.parent.name] if body.name in fused else body.name
        groups.setdefault(home[body.name], []).append(body)
    for members in groups.values():
        weighing = [body for body in members if inertias[body.name] is not None]
        lost = [body for body in weighing if body.name in stating]
        if lost and (len(weighing) > 1 or lost[0].name != members[0].name):
            names = listed([f"'{body.name}'" for body in weighing], most=4)
            raise source.refusal(
                f"the compiler settings fusestatic and inertiafromgeom are both true, and {names} are welded together: "
                "MuJoCo 4 drops the stated <inertial>, older versions keep it. Remove fusestatic, or set "
                'inertiafromgeom="auto"',
                text.element(lost[0].info),
            )


MAX_MESH_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Body:
    """Where one body's mass comes from."""

    name: str
    element: Element
    states_inertial: bool
    weighing_geoms: list[Any]
    spec: Any


def read_inertias(source: MjcfSource, text: SpecText, spec: Any) -> tuple[dict[str, Inertia | None], list[str]]:
    """Return the inertia of every body except the world, by name, and warnings.

    Args:
        source: The model.
        text: The text that ``spec`` was parsed from.
        spec: Its ``MjSpec``, not compiled.

    Returns:
        Inertia per body (centre of mass and tensor along the body's axes; None for a body without mass), and warnings.

    Raises:
        ModelFileError: A mass depends on a mesh that is missing, or MuJoCo cannot infer it.
        PhysicalConsistencyError: A stated mass or density is negative.
    """
    bodies = [_body(source, text, spec, body) for body in spec.bodies[1:]]
    meshes = _needed_meshes(source, text, spec, bodies)
    weighing = {id(text.element(geom.info)) for body in bodies for geom in body.weighing_geoms}
    stated = {id(inertial) for body in bodies if body.states_inertial for inertial in body.element.all("inertial")}

    def edit(section: str, element: Element) -> dict[str, str] | None:
        if section in ("actuator", "equality"):
            return None
        if section == "asset" and element.tag == "mesh":
            return meshes.get(id(element))
        if section == "worldbody":
            if element.tag in ("joint", "freejoint"):  # a body that cannot move may be massless
                return None
            if element.tag == "geom" and id(element) not in weighing:
                return None
            if element.tag == "inertial":
                return _stand_in(element) if id(element) in stated else None
        return element.attributes

    weighed_text = spec_text(source.root, edit)
    weighed_spec = parsed_spec(source, weighed_text)
    model = compiled_model(source, weighed_text, weighed_spec)
    with np.errstate(all="ignore"):  # numbers too large for a tensor are refused with the description
        inertias = {body.name: _inertia(source, spec.compiler, body, model) for body in bodies}
        stating = {body.name for body in bodies if body.states_inertial}
        left, into_world = without_fused_inertias(source, text, spec, inertias, stating)
        return (
            _with_total_mass(left, source.settotalmass, into_world),
            _warnings(source, spec.compiler, bodies, inertias, into_world),
        )


def _body(source: MjcfSource, text: SpecText, spec: Any, body: Any) -> _Body:
    """Decide as MuJoCo does whether the body states its mass or infers it, and from which geoms."""
    mujoco = mujoco_module()
    element = text.element(body.info)
    if element is None:
        raise source.refusal(f"body '{body.name}' cannot be traced to an element of the file")
    rule, rules = spec.compiler.inertiafromgeom, mujoco.mjtInertiaFromGeom
    low, high = spec.compiler.inertiagrouprange
    flat = (mujoco.mjtGeom.mjGEOM_PLANE, mujoco.mjtGeom.mjGEOM_HFIELD)  # never weigh anything
    weighing = [
        geom
        for geom in body.geoms
        if low <= geom.group <= high and geom.type not in flat and _density_or_mass(geom) != 0.0
    ]
    prefers_geoms = rule == rules.mjINERTIAFROMGEOM_TRUE and bool(weighing)
    states_inertial = bool(body.explicitinertial) and not prefers_geoms
    if states_inertial or rule == rules.mjINERTIAFROMGEOM_FALSE:
        weighing = []
    if states_inertial:
        if body.mass < 0.0:
            path, line = source.place(element)
            raise PhysicalConsistencyError(
                f"body '{body.name}': mass {body.mass!r} kg; expected zero or more", path=path, line=line
            )
        if not math.isnan(body.fullinertia[0]) and np.any(body.inertia):
            raise source.refusal(f"body '{body.name}' states both diaginertia and fullinertia; give one", element)
    for geom in weighing:
        if text.element(geom.info) is None:
            raise source.refusal(f"a geom of body '{body.name}' cannot be traced to an element of the file", element)
        if _density_or_mass(geom) < 0.0:
            path, line = source.place(text.element(geom.info))
            raise PhysicalConsistencyError(
                f"body '{body.name}' has a geom of negative mass or density {_density_or_mass(geom)!r}",
                path=path,
                line=line,
            )
    return _Body(body.name, element, states_inertial, weighing, body)


def _density_or_mass(geom: Any) -> float:
    """What makes the geom heavy: its mass where stated, else its density."""
    return float(geom.density if math.isnan(geom.mass) else geom.mass)


def _needed_meshes(source: MjcfSource, text: SpecText, spec: Any, bodies: list[_Body]) -> dict[int, dict[str, str]]:
    """Return the attributes of the mesh assets that masses depend on, with whole paths, by ``id(element)``."""
    assets = {mesh.name or Path(mesh.file).stem: text.element(mesh.info) for mesh in spec.meshes}
    needed: dict[int, dict[str, str]] = {}
    for body in bodies:
        for geom in body.weighing_geoms:
            if not geom.meshname:
                continue
            element = assets.get(geom.meshname)
            attributes = None if element is None else _with_whole_path(source, element)
            if element is None or attributes is None:
                raise _missing_mesh(source, body, geom.meshname, text.element(geom.info))
            needed[id(element)] = attributes
    return needed


def _with_whole_path(source: MjcfSource, mesh: Element) -> dict[str, str] | None:
    """Return a mesh asset's attributes with the file's whole path, or None when there is nothing to read."""
    name = mesh.attributes.get("file")
    if name is None:
        return mesh.attributes if {"vertex", "builtin"} & mesh.attributes.keys() else None
    file = source.mesh_file(name, mesh)
    if file is None:
        return None
    size = file.stat().st_size
    if size > MAX_MESH_BYTES:
        raise source.refusal(
            f"mesh '{name}': {size / 1e6:.0f} MB; at most {MAX_MESH_BYTES / 1e6:.0f} MB are accepted", mesh
        )
    return mesh.attributes | {"file": str(file.absolute())}


def _missing_mesh(source: MjcfSource, body: _Body, mesh: str, geom: Element | None) -> ModelFileError:
    return source.refusal(
        f"inertia of body '{body.name}' cannot be inferred: mesh '{mesh}' is missing; put its file in place, give the "
        'body an <inertial>, or mark the geom as weightless (mass="0")',
        geom,
    )


def _stand_in(inertial: Element) -> dict[str, str]:
    """Keep the frame of a stated inertial and hide its tensor, which MuJoCo might refuse or alter."""
    return {key: value for key, value in inertial.attributes.items() if key != "fullinertia"} | {"diaginertia": "1 1 1"}


def _inertia(source: MjcfSource, compiler: Any, body: _Body, model: Any) -> Inertia | None:
    compiled = model.body(body.name)
    mass = float(compiled.mass[0])
    R_body_inertial = rotation_from_wxyz(compiled.iquat)
    if body.states_inertial:
        asked = max(float(body.spec.mass), float(compiler.boundmass))
        if mass != asked:
            raise source.refusal(
                f"body '{body.name}': MuJoCo turned the stated mass {asked!r} kg into {mass!r} kg", body.element
            )
        tensor = _as_compiler_asks(_stated_tensor(body.spec, R_body_inertial), compiler)
    else:
        if body.weighing_geoms and mass == 0.0:
            raise source.refusal(f"body '{body.name}': its geoms should weigh something and do not", body.element)
        tensor = R_body_inertial @ np.diag(compiled.inertia) @ R_body_inertial.T
    if mass == 0.0 and not np.any(tensor):
        return None
    return Inertia(mass, compiled.ipos, 0.5 * (tensor + tensor.T))


def _with_total_mass(
    inertias: dict[str, Inertia | None], total: float, uncounted: Collection[str]
) -> dict[str, Inertia | None]:
    """Scale masses and tensors alike so that all bodies that count together weigh ``total`` [kg].

    A total of 0 or less leaves them alone.
    """
    sum_of_masses = sum(
        inertia.mass for name, inertia in inertias.items() if inertia is not None and name not in uncounted
    )
    if not (total > 0.0 and sum_of_masses > 0.0):
        return inertias
    scale = total / sum_of_masses
    return {
        name: None if inertia is None else Inertia(scale * inertia.mass, inertia.com, scale * inertia.tensor_com)
        for name, inertia in inertias.items()
    }


def _stated_tensor(body: Any, R_body_inertial: Array) -> Array:
    """Tensor about the centre of mass along the body's axes [kg m²], from the numbers in the file. Shape (3, 3)."""
    if math.isnan(body.fullinertia[0]):
        return np.asarray(R_body_inertial @ np.diag(body.inertia) @ R_body_inertial.T)
    xx, yy, zz, xy, xz, yz = body.fullinertia
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _as_compiler_asks(tensor: Array, compiler: Any) -> Array:
    """Apply the file's own boundinertia and balanceinertia, in MuJoCo's order, to the principal moments."""
    if not (compiler.boundinertia > 0.0 or compiler.balanceinertia) or not np.all(np.abs(tensor) <= MAX_MASS):
        return tensor
    moments, axes = np.linalg.eigh(tensor)
    moments = np.maximum(moments, compiler.boundinertia)
    if compiler.balanceinertia and moments[0] + moments[1] < moments[2]:
        moments = np.full(3, moments.mean())
    return np.asarray(axes @ np.diag(moments) @ axes.T)


def _warnings(
    source: MjcfSource,
    compiler: Any,
    bodies: list[_Body],
    inertias: dict[str, Inertia | None],
    into_world: Collection[str],
) -> list[str]:
    found: list[str] = []
    if compiler.balanceinertia:
        found.append(
            f"{locate(source.path, None)}: the compiler setting balanceinertia replaces inertias that break the "
            "triangle inequality; gravity is not affected"
        )
    if compiler.boundinertia > 0.0:
        found.append(
            f"{locate(source.path, None)}: the compiler setting boundinertia raises every principal moment to at least "
            f"{float(compiler.boundinertia):g} kg m²; gravity is not affected"
        )
    if source.settotalmass > 0.0:
        fused = [f"'{name}'" for name in sorted(into_world) if inertias[name] is not None]
        uncounted = f" (but {listed(fused, most=4)}, which fusestatic merges into the world)" if fused else ""
        found.append(
            f"{locate(source.path, None)}: the compiler setting settotalmass scales every mass so that all bodies"
            f"{uncounted} together weigh {source.settotalmass:g} kg; the masses in the file are not the ones used"
        )
    for body in bodies:
        inertia = inertias[body.name]
        mass = 0.0 if inertia is None else inertia.mass
        stated = float(body.spec.mass)
        raised = stated < compiler.boundmass if body.states_inertial else mass <= compiler.boundmass
        if compiler.boundmass > 0.0 and raised:
            found.append(
                f"{locate(source.path, body.element.line)}: body '{body.name}' weighs less than the compiler setting "
                f"boundmass, which makes it {float(compiler.boundmass):g} kg"
            )
        if body.spec.explicitinertial and not body.states_inertial:
            found.append(
                f"{locate(source.path, body.element.line)}: body '{body.name}' states {stated:g} kg, which the "
                f"compiler setting inertiafromgeom ignores; its geoms weigh {mass:g} kg"
            )
    return found
