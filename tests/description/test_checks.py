"""Each refusal and each warning of the checks that every reader ends in."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoise.description import checks
from counterpoise.description.checks import MAX_LENGTH, MAX_LINKS, MAX_MASS, check_size, checked, unphysical_reason
from counterpoise.description.model import Description, Inertia, Joint, JointKind, Link, Mimic
from counterpoise.errors import ModelFileError, PhysicalConsistencyError

NAN, INF = math.nan, math.inf


def inertia(mass: float = 1.0, com: Any = (0, 0, 0.1), tensor: Any = (0.02, 0.02, 0.01)) -> Inertia:
    """A sound inertia, unless told otherwise; ``tensor`` is a diagonal or a matrix."""
    return Inertia(mass=mass, com=com, tensor_com=np.diag(tensor) if np.ndim(tensor) == 1 else tensor)


def joint(number: int, **changes: Any) -> Joint:
    """The joint from link ``number - 1`` to link ``number``."""
    stated: dict[str, Any] = {
        "name": f"j{number}",
        "kind": JointKind.REVOLUTE,
        "parent": f"l{number - 1}",
        "child": f"l{number}",
        "lower": -1.0,
        "upper": 1.0,
        "line": 100 + number,
    }
    return Joint(**{**stated, **changes})


def chain(count: int = 3) -> tuple[list[Link], list[Joint]]:
    """A sound chain of links l0 ... and joints j1 ..., no two links alike."""
    links = [Link(name=f"l{k}", inertia=inertia(mass=1.0 + k), line=10 + k) for k in range(count)]
    return links, [joint(k) for k in range(1, count)]


def check(links: list[Link], joints: list[Joint], **options: Any) -> Description:
    """Check them as if read from arm.urdf."""
    return checked(name="arm", links=links, joints=joints, path="arm.urdf", **options)


def refusal(links: list[Link], joints: list[Joint]) -> ModelFileError:
    """The error that the checks raise."""
    with pytest.raises(ModelFileError) as caught:
        check(links, joints)
    assert caught.value.path == "arm.urdf"
    return caught.value


# --- what passes -----------------------------------------------------------------------------------------------------


def test_sound_chain_passes_unchanged_and_without_warning() -> None:
    """Links, joints and options arrive in the description; the root is found."""
    links, joints = chain()
    description = check(links, joints, convention="dh-modified", gravity_world=(0.0, 0.0, -1.62), summary="on the moon")
    assert (description.name, description.root, description.path) == ("arm", "l0", "arm.urdf")
    assert description.links == tuple(links)
    assert description.joints == tuple(joints)
    assert (description.convention, description.summary, description.warnings) == ("dh-modified", "on the moon", ())
    np.testing.assert_array_equal(description.gravity_world, [0, 0, -1.62])


def test_root_is_found_whatever_the_order() -> None:
    """Neither links nor joints need to be in tree order."""
    links, joints = chain(4)
    assert check(links[::-1], joints[::-1]).root == "l0"


def test_single_link_without_joints_is_a_robot() -> None:
    """One body is a tree."""
    assert check([Link("only")], []).root == "only"


def test_warnings_of_the_reader_come_first() -> None:
    """What the reader found stays, ours follow."""
    links, _joints = chain(2)
    found = check(links, [joint(1, effort_limit=0.0)], warnings=["from the reader"]).warnings
    assert found[0] == "from the reader"
    assert len(found) == 2


# --- names and sizes -------------------------------------------------------------------------------------------------


def test_no_link_is_refused() -> None:
    """A robot has at least one link."""
    assert "no link" in str(refusal([], []))


@pytest.mark.parametrize(("links", "joints", "what"), [(MAX_LINKS + 1, 0, "links"), (1, MAX_LINKS + 1, "joints")])
def test_too_many_links_or_joints_are_refused(links: int, joints: int, what: str) -> None:
    """The number itself is enough, so that a reader can ask before it builds anything."""
    check_size(MAX_LINKS, MAX_LINKS, "arm.urdf")
    with pytest.raises(ModelFileError, match=f"arm.urdf: {MAX_LINKS + 1} {what}; at most {MAX_LINKS}"):
        check_size(links, joints, "arm.urdf")


def test_checked_bounds_the_size_itself() -> None:
    """A reader that forgets to ask is caught."""
    assert f"at most {MAX_LINKS}" in str(refusal([Link(f"l{k}") for k in range(MAX_LINKS + 1)], []))


def test_empty_names_are_refused() -> None:
    """A link or joint without a name cannot be referred to."""
    links, joints = chain()
    error = refusal([*links, Link("", line=7)], joints)
    assert error.line == 7
    assert "a link has an empty name" in str(error)
    assert "a joint has an empty name" in str(refusal(links, [joints[0], joint(2, name="")]))


def test_repeated_names_are_refused_at_the_second() -> None:
    """The line is that of the second use."""
    links, joints = chain()
    error = refusal([*links, Link("l1", line=55)], joints)
    assert error.line == 55
    assert "link name 'l1' is used 2 times" in str(error)
    error = refusal(links, [joints[0], joint(2, name="j1")])
    assert error.line == 102
    assert "joint name 'j1' is used 2 times" in str(error)


def test_a_link_and_a_joint_may_share_a_name() -> None:
    """They are different spaces of names."""
    description = check([Link("a", inertia()), Link("b", inertia(2.0))], [joint(1, name="a", parent="a", child="b")])
    assert description.root == description.joints[0].name == "a"


# --- masses and inertias ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bad",
    [
        *(inertia(mass=mass) for mass in (-1.0, -1e-300, NAN, INF, -INF, 1.01 * MAX_MASS)),
        *(inertia(com=(0, value, 0)) for value in (NAN, INF, 1.01 * MAX_LENGTH, -1.01 * MAX_LENGTH)),
        *(inertia(tensor=(0, value, 0)) for value in (NAN, -INF, 1.01 * MAX_MASS)),
    ],
)
def test_impossible_inertia_is_refused(bad: Inertia) -> None:
    """Negative, non-finite and absurd numbers, at the line of the link."""
    links, joints = chain()
    links[1] = Link("l1", inertia=bad, line=33)
    error = refusal(links, joints)
    assert type(error) is PhysicalConsistencyError
    assert error.line == 33
    assert "link 'l1'" in str(error)


def test_extreme_but_possible_inertia_passes() -> None:
    """The bounds themselves are accepted, and zero is a mass."""
    limit = inertia(mass=MAX_MASS, com=(MAX_LENGTH, 0, 0), tensor=(MAX_MASS, MAX_MASS, MAX_MASS))
    description = check([Link("l0", inertia(mass=0.0)), Link("l1", limit)], [joint(1)])
    assert [link.inertia.mass for link in description.links if link.inertia is not None] == [0.0, MAX_MASS]


@given(st.lists(st.floats(1e-6, 1e3), min_size=4, max_size=12), st.integers(0, 2**32 - 1))
def test_inertia_of_real_points_is_never_called_unphysical(masses: list[float], seed: int) -> None:
    """Any cloud of point masses has a possible tensor: no false alarm."""
    points = np.random.default_rng(seed).normal(size=(len(masses), 3))
    weights = np.array(masses)
    tensor = np.sum(weights * np.sum(points**2, axis=1)) * np.eye(3) - (points.T * weights) @ points
    assert unphysical_reason(inertia(tensor=tensor)) is None


def test_unphysical_reason_names_the_law_that_is_broken() -> None:
    """Negative moments, and the triangle inequality with one per cent of slack, in any orientation."""
    assert unphysical_reason(inertia(tensor=(0, 0, 0))) is None
    assert unphysical_reason(inertia(tensor=(1, 1, 2))) is None
    assert unphysical_reason(inertia(tensor=(1, 1, 2.015))) is None
    assert "triangle" in str(unphysical_reason(inertia(tensor=(1, 1, 2.03))))
    assert "not all positive" in str(unphysical_reason(inertia(tensor=(-0.1, 1, 1))))
    off_diagonal = [[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]]  # moments 0.1, 1 and 1.9
    assert "triangle" in str(unphysical_reason(inertia(tensor=off_diagonal)))


# --- joints ----------------------------------------------------------------------------------------------------------


def placed(x: float) -> np.ndarray:
    """A transform with translation (x, 0, 0)."""
    result = np.eye(4)
    result[0, 3] = x
    return result


@pytest.mark.parametrize(
    ("changes", "fragment"),
    [
        ({"T_parent_joint": placed(NAN)}, "its origin is not finite"),
        ({"T_parent_joint": placed(1.01 * MAX_LENGTH)}, "its origin is not finite or lies beyond"),
        ({"T_joint_child": placed(INF)}, "its child frame is not finite"),
        ({"kind": JointKind.FIXED, "T_parent_joint": np.full((4, 4), NAN)}, "its origin is not finite"),
        ({"kind": JointKind.FIXED, "mimic": Mimic("j2")}, "is fixed and cannot mimic"),
        ({"axis": (0.0, 0.0, 0.0)}, "not a unit vector"),
        ({"axis": (0.0, 0.0, 2.0)}, "not a unit vector"),
        ({"axis": (0.0, NAN, 1.0)}, "not a unit vector"),
        ({"lower": 1.0, "upper": -1.0}, "must not exceed"),
        ({"lower": NAN}, "must not exceed"),
        ({"upper": NAN}, "must not exceed"),
        ({"velocity_limit": -1.0}, "velocity limit -1.0"),
        ({"velocity_limit": NAN}, "velocity limit nan"),
        ({"effort_limit": -1.0}, "effort limit -1.0"),
        ({"effort_limit": NAN}, "effort limit nan"),
        ({"rotor_inertia": -1.0}, "rotor inertia -1.0"),
        ({"rotor_inertia": NAN}, "rotor inertia nan"),
        ({"rotor_inertia": INF}, "rotor inertia inf"),
    ],
)
def test_bad_joint_is_refused(changes: dict[str, Any], fragment: str) -> None:
    """Each at the line of the joint, by name."""
    links, joints = chain()
    error = refusal(links, [joint(1, **changes), joints[1]])
    assert error.line == 101
    assert "joint 'j1'" in str(error)
    assert fragment in str(error)


def test_a_fixed_joint_needs_neither_axis_nor_limits() -> None:
    """Nothing turns about it."""
    links, _ = chain(2)
    description = check(links, [joint(1, kind=JointKind.FIXED, axis=(0, 0, 0), lower=2.0, upper=1.0)])
    assert description.joints[0].kind is JointKind.FIXED
    assert description.warnings == ()


# --- the tree --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "fragment"),
    [
        ({"parent": "nowhere"}, "names parent link 'nowhere', which is not defined"),
        ({"child": "nowhere"}, "names child link 'nowhere', which is not defined"),
        ({"child": "l1"}, "link 'l1' is the child of two joints, 'j1' and 'j2'"),
        ({"parent": "l2"}, "joint 'j2' is part of a cycle"),
    ],
)
def test_broken_tree_is_refused(changes: dict[str, Any], fragment: str) -> None:
    """Unknown ends, two parents and a link that is its own parent."""
    links, joints = chain()
    error = refusal(links, [joints[0], joint(2, **changes)])
    assert error.line == 102
    assert fragment in str(error)


def test_two_roots_are_refused_at_the_second() -> None:
    """Both are named."""
    links, joints = chain()
    error = refusal([*links, Link("island", line=77)], joints)
    assert error.line == 77
    assert "2 links have no parent joint: 'l0', 'island'" in str(error)


def test_cycle_beside_a_sound_tree_is_refused() -> None:
    """One root alone does not make a tree."""
    links, joints = chain(5)
    assert "cycle" in str(refusal(links, [joints[0], joint(2, parent="l4"), joint(3), joint(4)]))


def test_cycle_without_any_root_is_refused() -> None:
    """Every link has a parent."""
    links, joints = chain(3)
    assert "cycle" in str(refusal(links, [*joints, joint(3, child="l0", parent="l2")]))


# --- mimics ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mimic", "fragment"),
    [
        (Mimic("nowhere"), "mimics 'nowhere', which is not a moving joint"),
        (Mimic("j3"), "mimics 'j3', which is not a moving joint"),
        (Mimic("j2"), "mimics in a circle through 'j2'"),
        (Mimic("j1", multiplier=NAN), "must be finite"),
        (Mimic("j1", offset=NAN), "must be finite"),
        (Mimic("j1", multiplier=-INF), "must be finite"),
        (Mimic("j1", offset=1.01 * MAX_LENGTH), "within ±10000"),
    ],
)
def test_bad_mimic_is_refused(mimic: Mimic, fragment: str) -> None:
    """An absent, fixed or own master, and factors that are no numbers."""
    links, joints = chain(4)
    error = refusal(links, [joints[0], joint(2, mimic=mimic), joint(3, kind=JointKind.FIXED)])
    assert error.line == 102
    assert fragment in str(error)


def test_circle_of_mimics_is_refused_and_a_chain_is_not() -> None:
    """A chain that ends in an independent joint is fine, whatever its order."""
    links, _ = chain(4)
    check(links, [joint(1), joint(2, mimic=Mimic("j3")), joint(3, mimic=Mimic("j1"))])
    circle = [joint(1), joint(2, mimic=Mimic("j3")), joint(3, mimic=Mimic("j2"))]
    assert "mimics in a circle" in str(refusal(links, circle))
    into_circle = [joint(1, mimic=Mimic("j2")), joint(2, mimic=Mimic("j3")), joint(3, mimic=Mimic("j2"))]
    assert "mimics in a circle" in str(refusal(links, into_circle))


def test_a_long_chain_of_mimics_is_checked_in_linear_time() -> None:
    """Each joint of the longest chain follows the next one; walking every tail anew would take a second."""
    following = [joint(k, mimic=Mimic(f"j{k + 1}") if k + 1 < MAX_LINKS else None) for k in range(1, MAX_LINKS)]
    start = time.process_time()
    checks._check_mimics(following, None)
    assert time.process_time() - start < 0.1


# --- warnings --------------------------------------------------------------------------------------------------------


def only_warning(links: list[Link], joints: list[Joint]) -> str:
    """The one warning that the checks give."""
    (warning,) = check(links, joints).warnings
    return warning


@pytest.mark.parametrize("bare", [None, inertia(mass=0.0, tensor=(0, 0, 0))])
def test_moving_link_without_mass_is_doubted(bare: Inertia | None) -> None:
    """No inertia, or one without mass."""
    links, joints = chain()
    links[2] = Link("l2", inertia=bare, line=12)
    warning = only_warning(links, joints)
    assert warning.startswith("arm.urdf:12: link 'l2' moves with joint 'j2' but has no mass")


def test_moving_link_with_mass_welded_to_it_is_not_doubted() -> None:
    """Fixed joints make one body; the base and inserted frames need no mass."""
    links, joints = chain()
    links[0], links[1] = Link("l0"), Link("l1")
    assert check(links, [joints[0], joint(2, kind=JointKind.FIXED)]).warnings == ()
    links[1] = Link("l1", placeholder_frame=True)
    assert check(links, joints).warnings == ()


@pytest.mark.parametrize("changes", [{"effort_limit": 0.0}, {"velocity_limit": 0.0}])
def test_zero_effort_or_velocity_is_doubted(changes: dict[str, float]) -> None:
    """Exporters write 0 for unknown."""
    links, _ = chain(2)
    assert "arm.urdf:101: joint 'j1' has an effort or velocity limit of 0" in only_warning(links, [joint(1, **changes)])


def test_equal_limits_are_doubted() -> None:
    """The joint cannot move."""
    links, _ = chain(2)
    assert "'j1' has equal limits" in only_warning(links, [joint(1, lower=0.5, upper=0.5)])


def test_unphysical_inertia_is_doubted_not_refused() -> None:
    """Gravity does not need it."""
    links, joints = chain()
    links[1] = Link("l1", inertia=inertia(tensor=(1, 1, 3)), line=11)
    warning = only_warning(links, joints)
    assert warning.startswith("arm.urdf:11: link 'l1' has an unphysical inertia")
    assert "gravity is not affected" in warning


def test_identity_inertia_is_doubted_in_any_orientation() -> None:
    """diag(1, 1, 1) is what editors put in; a turned inertial frame rounds it."""
    links, joints = chain()
    for tensor in (np.eye(3), np.eye(3) + 1e-16 * np.ones((3, 3))):
        links[1] = Link("l1", inertia=inertia(tensor=tensor), line=11)
        assert "diag(1, 1, 1) kg m², a placeholder" in only_warning(links, joints)


def test_three_identical_inertials_are_doubted_and_two_are_not() -> None:
    """Two equal parts are common, three look typed in."""
    _, joints = chain(4)
    alike = [Link("l0", inertia(9.0)), *(Link(f"l{k}", inertia()) for k in (1, 2))]
    assert check(alike, joints[:2]).warnings == ()
    assert "3 links ('l1', 'l2', 'l3') have identical inertials" in only_warning(
        [*alike, Link("l3", inertia())], joints
    )


def test_many_identical_inertials_are_not_all_named() -> None:
    """The message stays short."""
    _, joints = chain(6)
    warning = only_warning([Link(f"l{k}", inertia()) for k in range(6)], joints)
    assert "6 links ('l0', 'l1', 'l2', 'l3' and 2 more)" in warning
