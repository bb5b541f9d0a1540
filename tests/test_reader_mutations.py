"""Every reader of every kind of file: any bytes give a result or one of our errors that names the file, in time.

Files that are right are changed byte by byte and word by word. The seeds are fixed; COUNTERPOISE_MUTATIONS in the
environment multiplies their number for a longer search.
"""

from __future__ import annotations

import faulthandler
import json
import os
import random
import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.errors import CounterpoiseError
from counterpoise.fitting import static_poses
from counterpoise.identification import PosePlan, checksum, load_calibration, read_plan, read_poses
from counterpoise.recording import read_mapping
from counterpoise.sensing import TrigonometricTable, calibrate_sensor, load_sensor_calibration, load_table, save_table
from counterpoise.tasks import LawGains, TaughtPath, read_gains, read_path, write_path
from library.bag_writers import arm_messages, write_bag
from library.calibration_data import other_masses
from library.plate_recordings import random_truth, recorded

TIMES = int(os.environ.get("COUNTERPOISE_MUTATIONS", "1"))
SECONDS = 60.0
"""More than any of these small files may take on a loaded machine."""
PUMA = cp.load("puma560")
PENDULUM = cp.load("pendulum")
CATALOG = Path(cp.__file__).parent / "description" / "bundled"

URDF = """<?xml version="1.0"?>
<robot name="two"><link name="base"/><link name="a"><inertial><origin xyz="0 0 0.1" rpy="0 0 0"/><mass value="1.5"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="revolute"><parent link="base"/><child link="a"/><origin xyz="0 0 0" rpy="0 0 0"/>
<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="10" velocity="2"/></joint></robot>
"""
MJCF = """<mujoco model="two"><compiler angle="radian"/><worldbody><body name="a" pos="0 0 0.1">
<joint name="j" type="hinge" axis="0 1 0" range="-1 1"/>
<inertial pos="0 0 0.1" mass="1.5" diaginertia="0.01 0.01 0.01"/>
<geom type="sphere" size="0.1" mass="1"/></body></worldbody></mujoco>
"""
MAPPING = """format = "counterpoise-mapping 1"
ignore = ["gripper"]
[time]
column = "t"
unit = "s"
start = 1.0
[joints.elbow]
position = "column"
position_sign = -1
torque_constant = 0.12
[motor]
ratio = [45, 32]
[wrench]
columns = ["fx", "fy", "fz", "mx", "my", "mz"]
rotation = [[0, 1, 0], [-1, 0, 0], [0, 0, 1]]
[held]
finger = 0.02
"""
DH_TABLE = (CATALOG / "planar3.toml").read_bytes()


def _log(folder: Path) -> cp.Log:
    numbers = np.random.default_rng(1).normal(size=(20, 1))
    return cp.Log(("joint1",), np.arange(20.0), numbers, numbers, numbers)


def _calibration(path: Path) -> None:
    q = cp.design_poses(PENDULUM, 6)
    tau = other_masses(PENDULUM).gravity(q)
    cp.calibrate(PENDULUM, static_poses(PENDULUM.joint_names, q, tau)).save(path)


def _sensor(path: Path) -> None:
    calibrate_sensor(PUMA, recorded(PUMA, random_truth(0), 0, np.arange(0.0, 20.0, 0.02))).save(path)


def _database(path: Path) -> None:
    folder = write_bag(path.with_suffix(""), "db3", arm_messages(6))
    path.write_bytes(next(folder.glob("*.db3")).read_bytes())


def _npz(path: Path) -> None:
    np.savez(path, t=np.arange(4.0), q=np.ones((4, 2)), tau=np.ones((2, 4)), joint_names=np.array(["a", "b"]))


def _plan(path: Path) -> None:
    PosePlan(PENDULUM.joint_names, np.array([[0.1], [0.5]]), [0.05], [0.1], [0.2]).write(path)


GAINS = LawGains("pid", ("a", "b"), [1.0, 2.0], [1.0, 2.0], [0.5, 0.5], [0.0, 0.0])
PATH = TaughtPath.of(PENDULUM, [0.0, 1.0, 2.0], [[0.0], [0.5], [0.2]], name="wave", notes={"by": "hand"})

Maker = Callable[[Path], Any]
Reader = Callable[[Path], Any]
KINDS: dict[str, tuple[str, Maker, Reader]] = {
    "urdf": (".urdf", lambda path: path.write_text(URDF), cp.load),
    "mjcf": (".xml", lambda path: path.write_text(MJCF), cp.load),
    "dh": (".toml", lambda path: path.write_bytes(DH_TABLE), cp.load),
    "mapping": (".toml", lambda path: path.write_text(MAPPING), read_mapping),
    "calibration": (".json", _calibration, lambda path: load_calibration(path, PENDULUM)),
    "sensor": (".json", _sensor, lambda path: load_sensor_calibration(path, PUMA)),
    "table": (
        ".json",
        lambda path: save_table(TrigonometricTable.from_model(PUMA), path),
        lambda path: load_table(path, PUMA),
    ),
    "path": (".csv", lambda path: write_path(PATH, path), read_path),
    "poses": (
        ".csv",
        lambda path: path.write_text('joint1,"note"\n0.1,a\n0.5,b\n-1e-3,c\n'),
        lambda path: read_poses(path, PENDULUM.joint_names),
    ),
    "plan": (".toml", _plan, lambda path: read_plan(path, PENDULUM)),
    "gains": (".toml", lambda path: GAINS.save(path, ["tuned"]), read_gains),
    "npz": (".npz", _npz, cp.read_log),
    "own npz": (".npz", lambda path: cp.write_log(_log(path), path), cp.read_log),
    "own csv": (".csv", lambda path: cp.write_log(_log(path), path), cp.read_log),
    "own parquet": (".parquet", lambda path: cp.write_log(_log(path), path), cp.read_log),
    "csv": (".csv", lambda path: path.write_text("t,q_1,tau_1\n0,1.5,2\n0.1,1.6,2\n0.2,1.7,2\n"), cp.read_log),
    "db3": (".db3", _database, cp.read_log),
    "mcap": (".mcap", lambda path: write_bag(path, "mcap-zstd", arm_messages(6)), cp.read_log),
    "bag": (".bag", lambda path: write_bag(path, "ros1-bz2", arm_messages(6, "ros1")), cp.read_log),
}

WORDS = [
    *(b"0", b"-1", b"1e999", b"-1e308", b"nan", b"inf", b"9" * 400, b"9" * 5000, b"0x10", b"1_0", b"true", b"null"),
    *(b"[]", b"{}", b'""', b"[[1]]", b"[" * 3000, b"{" * 3000, b"(" * 300, b'"\\ud800"', b"\xff\xfe", b"\0", b"1e-400"),
    *("\u0661".encode(), "Ä".encode(), b"'", b"\n\n", b"<!ENTITY a 'b'>", b"1" * 10 + b".", b"2147483648", b"-0.0"),
    *(b"1979-05-27", b"--", b"18446744073709551616", b"x" * 300),
]
TOKEN = re.compile(rb"[+-]?\d+(?:\.\d*)?(?:e[+-]?\d+)?|\"[^\"]*\"|'[^']*'|[A-Za-z_]+")


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Change a file: bytes, numbers, words, whole stretches."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(changed) + 1)
        length = rng.choice((1, 1, 2, 8, 64))
        match rng.choice(("byte", "word", "word", "word", "insert", "remove", "repeat", "cut", "number")):
            case "byte" if changed:
                changed[at % len(changed)] = rng.choice((0, 1, 2, 127, 128, 255, rng.randrange(256)))
            case "word":
                tokens = list(TOKEN.finditer(changed))
                if tokens:
                    token = rng.choice(tokens)
                    changed[token.start() : token.end()] = rng.choice(WORDS)
            case "insert":
                changed[at:at] = rng.choice(WORDS)
            case "remove":
                del changed[at : at + length]
            case "repeat":
                changed[at:at] = changed[at : at + length] * rng.choice((1, 2, 50))
            case "cut":
                del changed[rng.randrange(len(changed) // 2, len(changed) + 1) :]
            case "number":
                changed[at : at + 4] = rng.choice((0, 1, 2**16, 2**31 - 1, 2**32 - 1)).to_bytes(4, "little")
    return bytes(changed)


def changed_content(data: bytes, rng: random.Random) -> bytes:
    """Change values of a document that has a checksum, and make the checksum fit."""
    document = json.loads(data)
    content = document.get("content", document)
    for _ in range(rng.choice((1, 1, 3))):
        holder, key = rng.choice(list(_places(content)))
        holder[key] = rng.choice(
            [None, True, -1, 0, 1e308, -1e308, 1e-320, 10**400, "", "x", [], {}, [[]], [1e308] * 3, "nan", holder[key]]
        )
    with suppress(ValueError, OverflowError):
        if "checksum" in document:
            document["checksum"] = checksum(content)
    try:
        return json.dumps(document).encode()
    except ValueError:
        return data


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    members = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
    for key, member in members:
        yield value, key
        if isinstance(member, dict | list):
            yield from _places(member)


@cache
def original(kind: str, folder: Path) -> bytes:
    ending, make, read = KINDS[kind]
    path = folder / f"{kind.replace(' ', '_')}{ending}"
    make(path)
    read(path)  # what is changed below is right
    return path.read_bytes()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the files are."""
    return tmp_path_factory.mktemp("readers")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
def test_changed_files(kind: str, folder: Path) -> None:
    """A result, or one of our errors with the name of the file."""
    data = original(kind, folder)
    ending, _, read = KINDS[kind]
    rng = random.Random(kind)
    path = folder / f"changed{ending}"
    refused = 0
    for number in range(80 * TIMES):
        content = changed_content(data, rng) if ending == ".json" and number % 2 else mutated(data, rng)
        path.write_bytes(content)
        began = time.monotonic()
        faulthandler.dump_traceback_later(SECONDS, exit=True)  # a reader that hangs shows where
        try:
            read(path)
        except CounterpoiseError as error:
            refused += 1
            assert path.name in str(error), f"{kind}, file {number}: no file is named in {error}"
        except Exception as error:
            kept = Path(os.environ.get("COUNTERPOISE_KEEP", folder)) / f"{kind.replace(' ', '_')}_{number}{ending}"
            kept.write_bytes(content)
            raise AssertionError(f"{kind}, {kept}: {type(error).__name__}: {error}") from error
        finally:
            faulthandler.cancel_dump_traceback_later()
        assert time.monotonic() - began < SECONDS
    assert refused > 0  # the changes do something
