"""The exceptions: the tree that the module draws, and the pieces that messages are made of."""

from __future__ import annotations

import inspect
import pickle
import re

import pytest

from counterpoise import errors
from counterpoise.errors import (
    CounterpoiseError,
    DataFileError,
    InfeasiblePathError,
    InputError,
    LawError,
    MissingExtraError,
    ModelFileError,
    listed,
    locate,
    reason_of,
)

CLASSES = {name: kind for name, kind in inspect.getmembers(errors, inspect.isclass) if name.endswith("Error")}


def test_the_drawn_tree_is_the_tree() -> None:
    """Every class stands in the module's docstring below the class that it derives from."""
    drawn: dict[str, str] = {}
    above: list[tuple[int, str]] = []
    for line in (errors.__doc__ or "").splitlines():
        found = re.match(r"([ │├└─]+)(\w+Error)\b", line)
        if found:
            depth = len(found[1])
            above = [(place, name) for place, name in above if place < depth]
            drawn[found[2]] = above[-1][1] if above else "Exception"
            above.append((depth, found[2]))
    assert drawn == {name: kind.__bases__[0].__name__ for name, kind in CLASSES.items()}


@pytest.mark.parametrize(
    "error",
    [
        DataFileError("is empty", path="run.csv", line=3),
        ModelFileError("has no name", path="arm.urdf"),
        MissingExtraError("reading MJCF", "sim"),
        LawError("raised", history=(1, 2), report="all of it"),
        InfeasiblePathError("is too fast", time=1.5, joint="joint2", what="speed", feasible_speed=0.7),
        InputError("is no number"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_cross_processes(error: CounterpoiseError) -> None:
    """A worker's error arrives with its class, its words and what it carries."""
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


def test_places_are_named_as_far_as_they_are_known() -> None:
    assert locate("arm.urdf", 7) == "arm.urdf:7"
    assert locate("arm.urdf", None) == "arm.urdf"
    assert locate(None, 3) == "<text>:3"
    assert str(DataFileError("is empty", path="run.csv")) == "run.csv: is empty"
    assert str(ModelFileError("has no name", line=2)) == "<text>:2: has no name"


def test_long_lists_are_cut() -> None:
    """All names where they fit, else the first ones and how many there are besides."""
    assert listed([]) == ""
    assert listed(["a", "b"], 2) == "a, b"
    assert listed(["a", "b", "c", "d"], 2) == "a, b and 2 more"


def test_reasons_do_not_repeat_the_file() -> None:
    """The system's words without number and path; other errors as they are."""
    assert reason_of(FileNotFoundError(2, "No such file or directory", "run.csv")) == "No such file or directory"
    assert reason_of(ValueError("embedded null byte")) == "embedded null byte"


def test_a_missing_extra_is_an_import_error_with_its_remedy() -> None:
    with pytest.raises(ImportError, match=r"^reading MJCF needs .*: pip install 'counterpoise\[sim\]'$"):
        raise MissingExtraError("reading MJCF", "sim")
