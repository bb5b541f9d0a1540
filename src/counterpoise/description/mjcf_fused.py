"""What MuJoCo's compiler setting fusestatic does to masses.

It merges a body without joint into its parent, unless something refers to that body by name, or a sensor takes force or
torque at one of its sites. We keep all bodies as
links; a weld weighs the same either way, but for three effects:

- What is merged into the world weighs nothing, so that settotalmass shares the total among the others.
- A body without mass loses the inertia that boundinertia gave it.
- With inertiafromgeom="true" MuJoCo 4 infers the merged body's inertia anew from its geoms, and stated masses are lost;
  before MuJoCo 4 they are kept. Such a model has no weight of its own, and is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ..errors import listed
from .mjcf_compiler import mujoco_module
from .mjcf_sources import MjcfSource, SpecText
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
