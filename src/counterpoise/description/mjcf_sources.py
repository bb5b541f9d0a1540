"""MJCF text before MuJoCo sees it: includes joined, sizes bounded, and what can neither weigh nor move left out.

Textures, sensors, keyframes and the like often name files or parts that a user does not have, and a simulator refuses
the whole model for them. They have no part in weight or motion, so they never reach MuJoCo.

All calls to MuJoCo that read MJCF are here, too: a parse, a compilation, and every failure as our own error with its
line.
"""

from __future__ import annotations

import importlib
import math
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from xml.sax.saxutils import quoteattr

from ..errors import MissingExtraError, ModelFileError, locate
from ..foundation import MAX_DEPTH, MAX_ELEMENTS, Element, parse_xml, read_bounded
from .checks import MAX_LINKS, MAX_MASS

MAX_INCLUDES = 200
MAX_COPIES = 5000
"""Most elements that <replicate> may make; MuJoCo's time for it grows with the square."""
MAX_BUILTIN_PARAMETER = 1000.0
"""Largest parameter of a mesh that MuJoCo generates: 100 000 segments keep it busy for minutes."""

_IGNORED_SECTIONS = frozenset(
    {
        "contact",
        "custom",
        "deformable",
        "extension",
        "keyframe",
        "sensor",
        "size",
        "statistic",
        "tendon",
        "visual",
    }
)
_IGNORED_ASSETS = frozenset({"hfield", "material", "model", "skin", "texture"})
_IGNORED_PARTS = frozenset({"camera", "light", "plugin", "site"})
_IGNORED_COMPILER_SETTINGS = frozenset(
    {
        "alignfree",
        "assetdir",
        "discardvisual",
        "fusestatic",
        "meshdir",
        "settotalmass",
        "strippath",
        "texturedir",
        "usethread",
    }
)
"""Read here or of no use; among them fusestatic, which would merge welded bodies so that links vanish."""
_BODY_REFERENCES = ("body", "body1", "body2", "objname", "refname", "target")
"""Attributes by which elements refer to a body."""
_UNSUPPORTED_PARTS = {
    "attach": "attaches another model; write one flat file first (MjSpec.from_file(...).to_xml()) and read that",
    "composite": "makes a soft body, which is no rigid link; remove it",
    "flexcomp": "makes a soft body, which is no rigid link; remove it",
}
_NAMES = frozenset(
    {
        "body",
        "body1",
        "body2",
        "childclass",
        "class",
        "file",
        "joint",
        "joint1",
        "joint2",
        "jointinparent",
        "mesh",
        "model",
        "name",
    }
)
_MAY_BE_INFINITE = frozenset({"actrange", "actuatorfrcrange", "ctrlrange", "forcerange", "range"})
_NAN = re.compile(r"[+-]?nan(\(\w*\))?", re.IGNORECASE)
_NOT_FINITE = re.compile(r"[+-]?(nan(\(\w*\))?|inf(inity)?)", re.IGNORECASE)
_CONTROL_SPACES = {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}

Edit = Callable[[str, Element], "dict[str, str] | None"]
"""Given the top-level section and an element: the attributes to write, or None to leave the element out."""


@dataclass(slots=True)
class MjcfSource:
    """One MJCF model, its includes joined.

    Attributes:
        root: The <mujoco> element. Lines are lines of the main file; an included element has the line of its include.
        path: Main file, as given by the caller; None for bare text.
        places: File and line where an included element really stands, by ``id(element)``.
        meshdir: Folder of the meshes as the compiler settings name it; "" where they do not.
        strippath: True when the compiler settings drop the folder from every file name.
        settotalmass: Mass that all bodies together are to have by the compiler settings [kg]; 0 where they do not say.
        fusestatic: Whether the compiler settings ask to merge bodies without joint into their parents.
        referred_bodies: Names of bodies that sensors, constraints and the like refer to.
        sensed_bodies: Bodies with a site at which a sensor takes force or torque, by ``id(element)``.
        counts: How many bodies, inertials, geoms and joints the model has once every <replicate> is expanded.
        plugin_driven: Joints that an actuator plugin drives; its force is not known.
        warnings: What is suspicious about the includes, one sentence each.
    """

    root: Element
    path: str | None
    places: dict[int, tuple[str, int]] = field(default_factory=dict)
    meshdir: str = ""
    strippath: bool = False
    settotalmass: float = 0.0
    fusestatic: bool = False
    referred_bodies: set[str] = field(default_factory=set)
    sensed_bodies: set[int] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    plugin_driven: set[str] = field(default_factory=set)
    warnings: list[str] = field(default_factory=list)

    def refusal(self, message: str, element: Element | None = None) -> ModelFileError:
        """Return the error to raise, placed where the element stands."""
        path, line = self.place(element)
        return ModelFileError(message, path=path, line=line)

    def place(self, element: Element | None) -> tuple[str | None, int | None]:
        """File and line of an element; the main file where it is unknown."""
        if element is None:
            return self.path, None
        return self.places.get(id(element), (self.path, element.line))

    def file(self, name: str, element: Element) -> Path | None:
        """Return the existing regular file that ``name`` in ``element`` means, as MuJoCo looks it up; None if missing.

        The main file's folder comes first, then the folder of the included file that the element stands in.
        """
        stands_in = self.place(element)[0]
        folders = [Path(path).parent for path in (self.path, stands_in) if path is not None]
        candidates = [folder / name for folder in folders] or [Path(name)] * Path(name).is_absolute()
        return next((candidate for candidate in candidates if _is_file(candidate)), None)

    def mesh_file(self, name: str, element: Element) -> Path | None:
        """Return the existing file of a mesh asset, or None if missing."""
        bare = re.split(r"[/\\]", name)[-1] if self.strippath else name
        return self.file(str(Path(self.meshdir) / bare), element)


@dataclass(frozen=True, slots=True)
class SpecText:
    """XML for MuJoCo with one element a line, so that a line in MuJoCo's messages leads back to the source.

    Attributes:
        xml: The document.
        elements: The element that each line shows; None for a closing tag.
    """

    xml: str
    elements: tuple[Element | None, ...]

    def element(self, message: str) -> Element | None:
        """Return the source element of the last "line N" in a text by MuJoCo, or None."""
        found = re.findall(r"\bline\D{0,3}(\d+)", message)
        index = int(found[-1]) - 1 if found else -1
        return self.elements[index] if 0 <= index < len(self.elements) else None


def load_source(data: bytes, path: str | None) -> MjcfSource:
    """Parse MJCF bytes, join the included files and keep what matters to weight and motion.

    Args:
        data: The main file's bytes.
        path: Where it came from: for messages, and the folder of included files and meshes. Without it no relative
            file name can be found.

    Raises:
        ModelFileError: Not MJCF, not well formed, too large, a missing or repeated include, an unsupported element or
            a number that is not finite.
    """
    root = parse_xml(data, path)
    if root.tag != "mujoco":
        raise ModelFileError(
            f"the root element is <{root.tag}>; an MJCF file starts with <mujoco>", path=path, line=root.line
        )
    source = MjcfSource(root, path)
    _join_includes(source, root, section="", depth=1, opened=set() if path is None else {_resolved(Path(path))})
    _check_size(source)
    for section in root.all("compiler"):
        _read_settings(source, section)
    _find_references(source)
    _prune(source, root, section="")
    _check_numbers(source)
    return source


def spec_text(root: Element, edit: Edit = lambda _section, element: element.attributes) -> SpecText:
    """Write a tree as XML, one element a line, with the attributes that ``edit`` gives."""
    lines: list[str] = []
    shown: list[Element | None] = []

    def write(element: Element, section: str) -> None:
        attributes = edit(section, element)
        if attributes is None:
            return
        pairs = "".join(f" {key}={quoteattr(value, _CONTROL_SPACES)}" for key, value in attributes.items())
        lines.append(f"<{element.tag}{pairs}>")
        shown.append(element)
        for child in element.children:
            write(child, section or child.tag)
        lines.append(f"</{element.tag}>")
        shown.append(None)

    write(root, "")
    return SpecText("\n".join(lines), tuple(shown))


def _join_includes(source: MjcfSource, element: Element, section: str, depth: int, opened: set[Path]) -> None:
    """Put the children of every included file's root in the place of its <include>, all the way down."""
    if depth > MAX_DEPTH:
        raise source.refusal(f"elements and includes nest deeper than {MAX_DEPTH} levels", element)
    joined: list[Element] = []
    pending = list(reversed(element.children))
    while pending:
        child = pending.pop()
        if child.tag.lower() == "include":  # MuJoCo ignores the case of this one tag
            pending.extend(reversed(_included(source, child, section, opened)))
        else:
            _join_includes(source, child, section or child.tag, depth + 1, opened)
            joined.append(child)
    element.children = joined


def _included(source: MjcfSource, include: Element, section: str, opened: set[Path]) -> list[Element]:
    name = include.attributes.get("file", "")
    if not name:
        raise source.refusal("<include> has no file attribute; name the file to include", include)
    file = source.file(name, include)
    if file is None:
        if section in ("worldbody", "default"):
            raise source.refusal(
                f"included file '{name}' is missing, and inside <{section}> it could carry links or their properties; "
                "put it where the include says",
                include,
            )
        source.warnings.append(
            f"{locate(*source.place(include))}: included file '{name}' is missing: whatever it defines is absent"
        )
        return []
    if _resolved(file) in opened:
        raise source.refusal(f"file '{name}' is included twice or includes itself; include each file once", include)
    if len(opened) >= MAX_INCLUDES:
        raise source.refusal(f"more than {MAX_INCLUDES} included files", include)
    opened.add(_resolved(file))
    root = parse_xml(read_bounded(file), str(file))
    for element in root.walk():
        source.places[id(element)] = (str(file), element.line)
        element.line = include.line
    if len(source.places) > MAX_ELEMENTS:
        raise source.refusal(f"more than {MAX_ELEMENTS} XML elements with this file", include)
    return root.children


def _read_settings(source: MjcfSource, compiler: Element) -> None:
    """Read the compiler settings that MuJoCo is not to see. The last section wins."""
    settings = compiler.attributes
    # MuJoCo lets assetdir set the folder of meshes unless meshdir names one.
    source.meshdir = settings.get("meshdir", settings.get("assetdir", source.meshdir))
    source.strippath = settings.get("strippath", str(source.strippath)).lower() == "true"
    source.fusestatic = settings.get("fusestatic", str(source.fusestatic)).lower() == "true"
    if "settotalmass" in settings:
        try:
            source.settotalmass = float(settings["settotalmass"])
        except ValueError:
            source.settotalmass = math.nan
        if not source.settotalmass <= MAX_MASS:  # true for NaN as well
            raise source.refusal(f"settotalmass={settings['settotalmass'][:80]!r} is not a mass in kg", compiler)


def _find_references(source: MjcfSource) -> None:
    """Keep the names of bodies that something refers to: MuJoCo does not merge those into their parents."""
    for element in source.root.walk():
        source.referred_bodies.update(element.attributes.get(key, "") for key in _BODY_REFERENCES)
    # Neither does it merge the body of a site at which a sensor takes force or torque.
    sections = source.root.all("sensor")
    taken = {
        sensor.attributes.get("site", "")
        for section in sections
        for kind in ("force", "torque")
        for sensor in section.all(kind)
    }
    for world in source.root.all("worldbody"):
        for body in (element for element in world.walk() if element.tag == "body"):
            if taken & _own_sites(body):
                source.sensed_bodies.add(id(body))


def _own_sites(body: Element) -> set[str]:
    """Return the names of a body's sites, also those inside its frames."""
    found: set[str] = set()
    pending = list(body.children)
    while pending:
        child = pending.pop()
        if child.tag == "site":
            found.add(child.attributes.get("name", ""))
        elif child.tag in ("frame", "replicate"):
            pending.extend(child.children)
    return found


def _check_size(source: MjcfSource) -> None:
    """Bound what the text expands to, before MuJoCo expands it."""
    elements = copied = 0
    pending = [(source.root, 1, False)]
    while pending:
        element, copies, in_world = pending.pop()
        elements += 1
        copied += copies if copies != 1 else 0
        if in_world:
            source.counts[element.tag] += copies
        if elements > MAX_ELEMENTS or source.counts["body"] > MAX_LINKS or copied > MAX_COPIES:
            raise source.refusal(
                f"more than {MAX_ELEMENTS} XML elements, {MAX_LINKS} bodies or {MAX_COPIES} copies by <replicate>; "
                "no arm needs that many",
                element,
            )
        if element.tag == "replicate":
            count = element.attributes.get("count", "").strip()
            if not re.fullmatch(r"[1-9][0-9]{0,8}", count):
                raise source.refusal(f"replicate count {count[:20]!r}; expected a whole number from 1", element)
            copies *= int(count)
        pending.extend((child, copies, in_world or element.tag == "worldbody") for child in element.children)


def _prune(source: MjcfSource, element: Element, section: str) -> None:
    """Drop what neither weighs nor moves; refuse what we cannot represent."""
    kept: list[Element] = []
    for child in element.children:
        if section == "actuator" and child.tag == "plugin":
            source.plugin_driven.add(child.attributes.get("joint", ""))
        if (
            (section == "" and child.tag in _IGNORED_SECTIONS)
            or child.tag in _IGNORED_PARTS
            or (section == "asset" and child.tag in _IGNORED_ASSETS)
        ):
            _refuse_hidden_parts(source, child, section)
            continue
        if section == "" and child.tag in ("body", "frame", "replicate"):  # MuJoCo would ignore them
            raise source.refusal(f"<{child.tag}> stands outside <worldbody>; move it there", child)
        if section == "worldbody" and child.tag in _UNSUPPORTED_PARTS:
            raise source.refusal(f"<{child.tag}> {_UNSUPPORTED_PARTS[child.tag]}", child)
        child.attributes.pop("material", None)
        if section == "" and child.tag == "compiler":
            for setting in _IGNORED_COMPILER_SETTINGS:
                child.attributes.pop(setting, None)
        _prune(source, child, section or child.tag)
        kept.append(child)
    element.children = kept


def _refuse_hidden_parts(source: MjcfSource, dropped: Element, section: str) -> None:
    """Refuse links inside an element that is about to be dropped: a slip in nesting must not cost a mass."""
    forbidden = {"body", "inertial", "worldbody"} | ({"geom", "joint"} if section == "worldbody" else set())
    for inside in dropped.walk():
        if inside is not dropped and inside.tag in forbidden:
            raise source.refusal(f"<{inside.tag}> does not belong in <{dropped.tag}>; move it out", inside)


def _check_numbers(source: MjcfSource) -> None:
    """Refuse nan, inf and nothing at all, which MuJoCo accepts, and sizes that would keep it busy for minutes."""
    for element, key, value in _attributes(source.root):
        if key in _NAMES:
            continue
        if not value.strip():  # MuJoCo would take the default for it without a word
            raise source.refusal(f"<{element.tag}> {key} is empty; give a value or remove the attribute", element)
        pattern = _NAN if key in _MAY_BE_INFINITE else _NOT_FINITE
        if any(pattern.fullmatch(token) for token in value.split()):
            raise source.refusal(f"<{element.tag}> {key}={value[:80]!r} holds a number that is not finite", element)
        if element.tag == "mesh" and key == "params" and any(_exceeds(token) for token in value.split()):
            raise source.refusal(f"mesh params={value[:80]!r}; at most {MAX_BUILTIN_PARAMETER:g} is accepted", element)


def _attributes(root: Element) -> Iterator[tuple[Element, str, str]]:
    for element in root.walk():
        for key, value in element.attributes.items():
            yield element, key, value


def _exceeds(token: str) -> bool:
    try:
        return abs(float(token)) > MAX_BUILTIN_PARAMETER
    except ValueError:
        return False  # MuJoCo names the malformed number


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # e.g. a name longer than the file system allows
        return False


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):  # a loop of symbolic links, a NUL byte
        return path


Result = TypeVar("Result")


def mujoco_module() -> Any:
    """Import MuJoCo.

    Raises:
        MissingExtraError: It is not installed, or its installation is broken.
    """
    try:
        return importlib.import_module("mujoco")
    except (ImportError, OSError) as error:  # OSError: the package is there and its shared library is not
        raise MissingExtraError("reading MJCF", "sim") from error


def parsed_spec(source: MjcfSource, text: SpecText) -> Any:
    """Parse XML into a fresh ``MjSpec`` with default classes resolved and every body and joint named.

    Nothing is shared between two parses: a failed compilation leaves its specification altered.

    Raises:
        ModelFileError: MuJoCo refuses the text.
    """
    spec = _translated(source, text, lambda: mujoco_module().MjSpec.from_string(text.xml))
    _name_all(spec.bodies, "body")
    _name_all(spec.joints, "joint")
    return spec


def compiled_model(source: MjcfSource, text: SpecText, spec: Any) -> Any:
    """Compile a specification made by :func:`parsed_spec` into an ``MjModel``.

    Raises:
        ModelFileError: MuJoCo refuses it.
    """
    return _translated(source, text, spec.compile)


def _translated(source: MjcfSource, text: SpecText, call: Callable[[], Result]) -> Result:
    mujoco = mujoco_module()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # MuJoCo announces deprecations here; what matters has its own warning
            return call()
    except (ValueError, TypeError, RuntimeError, MemoryError, mujoco.FatalError, mujoco.UnexpectedError) as error:
        said = str(error)
        # MuJoCo's own place ("Element name 'arm', id 3, line 40") counts lines of our rewritten text.
        reason = re.sub(r"^(XML Error: |Error: )+|,?\s*line\D{0,3}\d+\s*$", "", said.strip()).replace("\n", "; ")
        raise source.refusal(f"MuJoCo cannot read it: {reason}", text.element(said)) from error


def _name_all(items: list[Any], what: str) -> None:
    """Name the unnamed after their place in the file, e.g. "body3", stepping aside for names already taken."""
    taken = {item.name for item in items}
    for index, item in enumerate(items):
        if not item.name:
            item.name = unused_name(f"{what}{index}", taken)


def unused_name(name: str, taken: set[str]) -> str:
    """Return the name, with underscores behind it until nobody has it, and add it to those taken."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name
