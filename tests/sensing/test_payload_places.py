"""Where a payload may sit, and what joint torques can tell of it there."""

from __future__ import annotations

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.sensing.payload_statistics import places_of


@pytest.mark.parametrize(
    ("name", "links"),
    [("wam7", ("link4", "link5", "link6", "link7")), ("puma560", ("link3", "link4", "link5", "link6"))],
)
def test_links_on_which_the_mass_is_felt(name: str, links: tuple[str, ...]) -> None:
    """WAM-7: links 4 to 7, PUMA: 3 to 6; nearer the base only moments are."""
    assert places_of(cp.load(name)).identifiable_links() == links


def test_unfelt_mass_leaves_every_torque_unchanged() -> None:
    """On the WAM's link 3 two loads of different mass give the same torques: the text's combinations are equal."""
    robot = cp.load("wam7")
    places = places_of(robot)
    place = places.links.index("link3")
    combinations = places.combinations(place)
    assert len(combinations) == places.felt[place] == 3
    rows = np.array([row for row, _ in combinations])
    light = np.array([1.0, 0.02, -0.03, 0.1])
    hidden = np.linalg.svd(rows)[2][-1]
    heavy = light + hidden / hidden[0]
    q = np.random.default_rng(0).uniform(-1.0, 1.0, (20, 7))
    columns = robot.gravity_regressor(q)[:, :, 8:12]
    np.testing.assert_allclose(columns @ light, columns @ heavy, atol=1e-12)


def test_centre_of_mass_in_the_links_frame() -> None:
    """A load at com_in_link of a joint-frame point has that point's first moment among the gravity parameters."""
    robot = cp.load("wam7")
    places = places_of(robot)
    for place, link in enumerate(places.links[1:], start=1):
        point = np.array([0.03, -0.05, 0.1])
        loaded = robot.with_payload(2.0, com=places.com_in_link(place, point), link=link)
        body = places.bodies[place]
        added = (loaded.gravity_parameters - robot.gravity_parameters)[4 * body : 4 * body + 4]
        np.testing.assert_allclose(added, [2.0, *(2.0 * point)], atol=1e-12)


def test_neighbours_are_one_joint_apart() -> None:
    """Neighbourhood follows the tree, across the branches of a torso too."""
    places = places_of(cp.load("dualarm19"))
    assert places.neighbours("chest", "left_link1") and places.neighbours("right_link1", "chest")
    assert not places.neighbours("right_link1", "left_link1") and places.neighbours("chest", "chest")
