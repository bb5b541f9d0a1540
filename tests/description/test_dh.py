"""The DH reader: both conventions, where numbers land, and what the file may leave out."""

from __future__ import annotations

import itertools
import math
import re
from importlib.resources import files
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt
import pytest

from counterpoise.description import dh as dh_table
from counterpoise.description.dh import parse_dh
from counterpoise.description.model import Description, JointKind
from counterpoise.description.reading import read_description
from counterpoise.foundation import Keys, load_toml

Array = npt.NDArray[np.float64]
DOCS = Path(__file__).parents[2] / "docs" / "dh-format.md"

LINK = "[joint.link]\nname = '{link}'\nmass = 2.0\ncom = [0.1, 0.2, 0.3]\ninertia = [0.02, 0.03, 0.04]\n"


def rot_x(angle: float) -> Array:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[1, 0, 0, 0], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1.0]])


def rot_z(angle: float) -> Array:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])


def shift(x: float, y: float, z: float) -> Array:
    result = np.eye(4)
    result[:3, 3] = x, y, z
    return result


def link_poses(description: Description, q: dict[str, float]) -> dict[str, Array]:
    """Pose of every link in the base frame: the product of the joints' transforms."""
    poses = {description.root: np.eye(4)}
    for joint in description.joints:
        motion = np.eye(4)
        if joint.kind is not JointKind.FIXED:
            value = q[joint.name]
            motion = rot_z(value) if joint.kind.rotates else shift(0, 0, value)
        poses[joint.child] = poses[joint.parent] @ joint.T_parent_joint @ motion @ joint.T_joint_child
    return poses


def joint_axes(description: Description, q: dict[str, float]) -> dict[str, Array]:
    """Pose of every joint's own frame, moved by q, in the base frame."""
    poses = link_poses(description, q)
    return {joint.name: poses[joint.child] @ np.linalg.inv(joint.T_joint_child) for joint in description.joints}


def table(convention: str, rows: list[tuple[str, float, float, float, float]], com_frame: str = "link") -> str:
    """A serial arm j0, j1, ... from rows (kind, a, alpha, d, theta)."""
    head = (
        f'schema = "counterpoise/dh-1"\nname = "arm"\nconvention = "{convention}"\ncom_frame = "{com_frame}"\n'
        'summary = "a test"\n[base]\nname = "base"\n'
    )
    joints = [
        f"[[joint]]\nname = 'j{i}'\nkind = '{kind}'\na = {a}\nalpha = {alpha}\nd = {d}\ntheta = {theta}\n"
        + LINK.format(link=f"l{i}")
        for i, (kind, a, alpha, d, theta) in enumerate(rows)
    ]
    return head + "".join(joints)


ROWS = [
    ("revolute", 0.3, 0.7, 0.2, 0.4),
    ("prismatic", -0.1, -1.2, 0.35, -0.9),
    ("continuous", 0.05, 1.5, -0.15, 2.0),
    ("revolute", 0.25, 0.0, 0.0, -0.3),
]
Q = {"j0": 0.8, "j1": 0.15, "j2": -2.2, "j3": 1.1}


def test_standard_rows_follow_the_formula() -> None:
    """Each link pose is the product of Rz(theta) Tz(d) Tx(a) Rx(alpha), q added to theta or d."""
    poses = link_poses(parse_dh(table("standard", ROWS).encode()), Q)
    expected = np.eye(4)
    for i, (kind, a, alpha, d, theta) in enumerate(ROWS):
        turn, slide = (0.0, Q[f"j{i}"]) if kind == "prismatic" else (Q[f"j{i}"], 0.0)
        expected = expected @ rot_z(theta + turn) @ shift(0, 0, d + slide) @ shift(a, 0, 0) @ rot_x(alpha)
        np.testing.assert_allclose(poses[f"l{i}"], expected, atol=1e-14)


def test_modified_rows_follow_the_formula() -> None:
    """Each link pose is the product of Rx(alpha) Tx(a) Rz(theta) Tz(d), q added to theta or d."""
    poses = link_poses(parse_dh(table("modified", ROWS).encode()), Q)
    expected = np.eye(4)
    for i, (kind, a, alpha, d, theta) in enumerate(ROWS):
        turn, slide = (0.0, Q[f"j{i}"]) if kind == "prismatic" else (Q[f"j{i}"], 0.0)
        expected = expected @ rot_x(alpha) @ shift(a, 0, 0) @ rot_z(theta + turn) @ shift(0, 0, d + slide)
        np.testing.assert_allclose(poses[f"l{i}"], expected, atol=1e-14)


def test_one_arm_in_both_conventions_has_the_same_axes_bodies_and_tool() -> None:
    """A standard table, its rows re-cut into a modified one (a and alpha one row later), is the same arm."""
    lengths = [0.0, *(row[1] for row in ROWS)]
    twists = [0.0, *(row[2] for row in ROWS)]
    recut = [(kind, lengths[i], twists[i], d, theta) for i, (kind, _, _, d, theta) in enumerate(ROWS)]
    tool = f"[[frame]]\nname = 'tool'\nparent = 'l3'\nxyz = [{lengths[4]}, 0.0, 0.0]\nrpy = [{twists[4]}, 0.0, 0.0]\n"
    standard = parse_dh(table("standard", ROWS, "joint").encode())
    modified = parse_dh((table("modified", recut, "joint") + tool).encode())
    axes = joint_axes(standard, Q), joint_axes(modified, Q)
    poses = link_poses(standard, Q), link_poses(modified, Q)
    for i, (link, twin) in enumerate(zip(standard.links[1:], modified.links[1:], strict=False)):
        np.testing.assert_allclose(axes[0][f"j{i}"], axes[1][f"j{i}"], atol=1e-14)
        assert link.inertia is not None
        assert twin.inertia is not None
        np.testing.assert_allclose(
            poses[0][link.name] @ np.append(link.inertia.com, 1.0),
            poses[1][twin.name] @ np.append(twin.inertia.com, 1.0),
            atol=1e-14,
        )
        turned = [p[name][:3, :3] for p, name in zip(poses, (link.name, twin.name), strict=True)]
        np.testing.assert_allclose(
            turned[0] @ link.inertia.tensor_com @ turned[0].T,
            turned[1] @ twin.inertia.tensor_com @ turned[1].T,
            atol=1e-14,
        )
    np.testing.assert_allclose(poses[0]["l3"], poses[1]["tool"], atol=1e-14)
    assert (standard.convention, modified.convention) == ("dh-standard", "dh-modified")


def test_com_frame_link_keeps_the_numbers_as_typed() -> None:
    """With com_frame = "link" centre of mass and tensor are stored unchanged."""
    inertia = parse_dh(table("standard", ROWS[:1]).encode()).links[1].inertia
    assert inertia is not None
    np.testing.assert_array_equal(inertia.com, [0.1, 0.2, 0.3])
    np.testing.assert_array_equal(inertia.tensor_com, np.diag([0.02, 0.03, 0.04]))


def test_com_frame_joint_is_carried_to_the_link_frame() -> None:
    """With a quarter twist the joint's y axis is the link's -z, and the row's lengths are subtracted."""
    row = ("revolute", 0.5, math.pi / 2, 0.25, 0.7)
    inertia = parse_dh(table("standard", [row], "joint").encode()).links[1].inertia
    assert inertia is not None
    np.testing.assert_allclose(inertia.com, [0.1 - 0.5, 0.3 - 0.25, -0.2], atol=1e-15)
    np.testing.assert_allclose(inertia.tensor_com, np.diag([0.02, 0.04, 0.03]), atol=1e-17)


def test_com_frame_joint_in_modified_dh_differs_by_d_alone() -> None:
    """In modified DH the two frames are d apart along the axis."""
    inertia = parse_dh(table("modified", [("revolute", 0.5, 1.0, 0.25, 0.7)], "joint").encode()).links[1].inertia
    assert inertia is not None
    np.testing.assert_allclose(inertia.com, [0.1, 0.2, 0.05], atol=1e-15)


@pytest.mark.parametrize(
    "written",
    [
        "[0.02, 0.03, 0.04, 0.001, -0.002, 0.003]",
        "[[0.02, 0.001, -0.002], [0.001, 0.03, 0.003], [-0.002, 0.003, 0.04]]",
        "[\n  [0.02, 0.001, -0.002], # [joint.link]\n  [0.001, 0.03, 0.003],\n  [-0.002, 0.003, 0.04],\n]",
    ],
)
def test_six_numbers_and_three_rows_mean_the_same_tensor(written: str) -> None:
    """The order of six numbers is xx, yy, zz, xy, xz, yz."""
    text = table("standard", ROWS[:1]).replace("[0.02, 0.03, 0.04]", written)
    inertia = parse_dh(text.encode()).links[1].inertia
    assert inertia is not None
    expected = [[0.02, 0.001, -0.002], [0.001, 0.03, 0.003], [-0.002, 0.003, 0.04]]
    np.testing.assert_array_equal(inertia.tensor_com, expected)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ('"pi"', math.pi),
        ('"-pi/2"', -math.pi / 2),
        ('"+ pi / 2"', math.pi / 2),
        ('"3*pi/4"', 3 * math.pi / 4),
        ('"-160*pi/180"', -160 * math.pi / 180),
        ('"0.5*pi"', math.pi / 2),
        ("1", 1.0),
        ("-0.25", -0.25),
    ],
)
def test_angles_are_radians_or_multiples_of_pi(written: str, value: float) -> None:
    """An angle may be a number or a product with pi."""
    text = table("standard", [("revolute", 0.0, 0.0, 0.0, 0.0)]).replace("alpha = 0.0", f"alpha = {written}")
    joint = parse_dh(text.encode()).joints[0]
    np.testing.assert_allclose(joint.T_joint_child, rot_x(value), atol=1e-15)


def test_placement_stands_before_the_row() -> None:
    """A placement moves and tilts the axis: rpy (pi/2, 0, 0) turns z to -y."""
    text = table("standard", ROWS[:1]).replace(
        "kind =", 'placement = { xyz = [1.0, 2.0, 3.0], rpy = ["pi/2", 0.0, 0.0] }\nkind ='
    )
    joint = parse_dh(text.encode()).joints[0]
    np.testing.assert_allclose(joint.T_parent_joint[:3, 2], [0.0, -1.0, 0.0], atol=1e-15)
    np.testing.assert_array_equal(joint.T_parent_joint[:3, 3], [1.0, 2.0, 3.0])


def test_branches_name_their_parent_and_the_rest_follow_on() -> None:
    """Without a parent a joint continues from the one before; with one it branches off."""
    text = table("standard", ROWS).replace("name = 'j2'", "name = 'j2'\nparent = 'l0'")
    parents = {joint.name: joint.parent for joint in parse_dh(text.encode()).joints}
    assert parents == {"j0": "base", "j1": "l0", "j2": "l0", "j3": "l2"}


def test_what_the_file_leaves_out_is_unlimited_or_absent() -> None:
    """No limits, an unknown rotor, no base mass and standard gravity where nothing is said."""
    description = parse_dh(table("standard", ROWS[:1]).encode())
    joint = description.joints[0]
    assert (joint.lower, joint.upper) == (-math.inf, math.inf)
    assert (joint.velocity_limit, joint.effort_limit, joint.rotor_inertia) == (math.inf, math.inf, None)
    assert description.links[0].inertia is None
    np.testing.assert_array_equal(description.gravity_world, [0.0, 0.0, -9.81])
    assert (description.name, description.summary, description.warnings) == ("arm", "a test", ())


def test_what_the_file_says_is_kept() -> None:
    """Limits, drive, base mass, gravity and frames land where they belong."""
    said = 'lower = "-pi/2"\nupper = 2\nvelocity = 3.0\neffort = 40.0\nrotor_inertia = 0.5\nkind ='
    text = table("standard", ROWS[:1]).replace("kind =", said).replace('summary = "a test"', "gravity = [1, 2, 3]")
    text = text.replace('name = "base"', 'name = "foot"\nmass = 7\ncom = [0, 0, 1]\ninertia = [1, 1, 1.5]')
    text += "[[frame]]\nname = 'tool'\nparent = 'l0'\nxyz = [0, 0, 0.1]\n"
    description = parse_dh(text.encode())
    joint, tool = description.joints
    assert (joint.lower, joint.upper) == (-math.pi / 2, 2.0)
    assert (joint.velocity_limit, joint.effort_limit, joint.rotor_inertia) == (3.0, 40.0, 0.5)
    assert (tool.kind, tool.parent, tool.child, tool.T_parent_joint[2, 3]) == (JointKind.FIXED, "l0", "tool", 0.1)
    assert description.root == "foot"
    assert description.links[0].inertia is not None
    assert description.links[0].inertia.mass == 7.0
    assert description.links[-1].inertia is None
    np.testing.assert_array_equal(description.gravity_world, [1.0, 2.0, 3.0])


def test_joints_and_links_know_their_line() -> None:
    """A joint's line is that of [[joint]], a link's that of [joint.link]."""
    text = table("standard", ROWS)
    description = parse_dh(text.encode())
    lines = text.splitlines()
    for joint, link in zip(description.joints, description.links[1:], strict=True):
        assert joint.line is not None
        assert lines[joint.line - 1] == "[[joint]]"
        assert lines[joint.line] == f"name = '{joint.name}'"
        assert link.line is not None
        assert lines[link.line - 1] == "[joint.link]"
        assert lines[link.line] == f"name = '{link.name}'"


@pytest.mark.parametrize("name", ["puma560_akb", "wam7", "dualarm19", "gantry"])
def test_every_key_of_a_file_is_found_on_its_line(name: str) -> None:
    """The line kept for a key is one where that key is written, for each key of whole files."""
    data = (files("counterpoise.description.bundled") / f"{name}.toml").read_bytes()
    document = load_toml(data)
    written = data.decode().splitlines()

    def check(value: object, where: Keys) -> int:
        if isinstance(value, dict):
            return sum(check(member, (*where, key)) for key, member in value.items())
        if isinstance(value, list):
            return sum(check(member, (*where, index)) for index, member in enumerate(value))
        key = next(part for part in reversed(where) if isinstance(part, str))
        assert re.search(rf"\b{key} = ", written[document.lines[where] - 1])
        return 1

    assert check(document.root, ()) > 50
    headers = [number for number, line in enumerate(written, start=1) if line == "[[joint]]"]
    assert [document.lines["joint", index] for index in range(len(headers))] == headers


def test_limits_that_look_like_degrees_are_doubted() -> None:
    """170 rad is 27 turns: accepted with a warning that names the line."""
    text = table("standard", ROWS[:1]).replace("kind =", "lower = -1.0\nupper = 170.0\nkind =")
    (warning,) = parse_dh(text.encode(), "arm.toml").warnings
    line = text.splitlines().index("upper = 170.0") + 1
    assert warning.startswith(f"arm.toml:{line}: joint 'j0': upper limit 170 rad looks like degrees")


def test_a_mass_without_inertia_is_doubted() -> None:
    """Gravity needs no inertia, so a file may omit it, with a warning."""
    text = table("standard", ROWS[:1]).replace("inertia = [0.02, 0.03, 0.04]\n", "")
    (warning,) = parse_dh(text.encode()).warnings
    assert "link 'l0' has a mass but no inertia" in warning


def test_as_published_is_passed_on() -> None:
    """A tensor that breaks the triangle inequality is warned of, unless it is declared as printed so."""
    broken = table("standard", ROWS[:1]).replace("[0.02, 0.03, 0.04]", "[0.02, 0.03, 0.09]")
    assert any("triangle inequality" in warning for warning in parse_dh(broken.encode()).warnings)
    text = table("standard", ROWS[:1]).replace("[0.02, 0.03, 0.04]", "[0.02, 0.03, 0.09]\nas_published = true")
    description = parse_dh(text.encode())
    assert description.links[1].inertia is not None
    assert description.links[1].inertia.as_published
    assert description.warnings == ()


def test_windows_line_ends_and_byte_order_mark_are_harmless() -> None:
    """A file saved on Windows reads the same, lines included."""
    text = table("standard", ROWS)
    plain = parse_dh(text.encode())
    windows = parse_dh(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    for joint, twin in zip(plain.joints, windows.joints, strict=True):
        np.testing.assert_array_equal(joint.T_parent_joint, twin.T_parent_joint)
        assert joint.line == twin.line


def test_the_documented_example_reads(tmp_path: Path) -> None:
    """The complete example of docs/dh-format.md is a valid file without warnings."""
    blocks = re.findall(r"```toml\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    (example,) = [block for block in blocks if "schema" in block]
    file = tmp_path / "example.toml"
    file.write_text(example, encoding="utf-8")
    description = read_description(file)
    assert description.path == str(file)
    assert description.warnings == ()
    assert len(description.joints) >= 3


def test_every_key_of_the_format_is_documented() -> None:
    """docs/dh-format.md names each key that the reader accepts."""
    text = DOCS.read_text(encoding="utf-8")
    structs: list[type[msgspec.Struct]] = [dh_table.DhTable, dh_table.BaseTable, dh_table.JointTable]
    structs += [dh_table.MassTable, dh_table.FrameTable, dh_table.Placement, dh_table.JointSource]
    keys = itertools.chain.from_iterable(msgspec.structs.fields(struct) for struct in structs)
    assert [field.name for field in keys if f"`{field.name}`" not in text] == []
