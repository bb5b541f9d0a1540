"""What every subpackage builds on: arrays, rotations, numbers, bounded files, native code."""

from typing import TYPE_CHECKING

from .lazy import lazy_names as lazy_names

if TYPE_CHECKING:
    from .arrays import Array as Array
    from .arrays import PublishedData as PublishedData
    from .arrays import frozen as frozen
    from .arrays import plain as plain
    from .document import checksum as checksum
    from .document import infinite_where_unknown as infinite_where_unknown
    from .document import read_document as read_document
    from .document import refuse_beyond as refuse_beyond
    from .document import refuse_shape as refuse_shape
    from .document import write_document as write_document
    from .files import read_bounded as read_bounded
    from .files import write_atomically as write_atomically
    from .native_check import Cases as Cases
    from .native_check import KernelCheck as KernelCheck
    from .native_check import Layout as Layout
    from .native_check import check_layout as check_layout
    from .native_check import disagreements as disagreements
    from .native_check import faults_message as faults_message
    from .native_check import forced_set as forced_set
    from .native_check import stored_results as stored_results
    from .native_check import warn_of as warn_of
    from .native_module import EXTENSION as EXTENSION
    from .native_module import PARTS as PARTS
    from .native_module import check_part as check_part
    from .native_module import native_disabled as native_disabled
    from .native_module import native_part as native_part
    from .native_module import unchecked_part as unchecked_part
    from .numbers import parse_number as parse_number
    from .numbers import parse_vector as parse_vector
    from .numbers import quoted as quoted
    from .rotations import cross as cross
    from .rotations import inverse_transform as inverse_transform
    from .rotations import rotation_from_rpy as rotation_from_rpy
    from .rotations import rotation_from_vector as rotation_from_vector
    from .rotations import rotation_from_wxyz as rotation_from_wxyz
    from .rotations import rotation_vector as rotation_vector
    from .rotations import rotation_with_z_along as rotation_with_z_along
    from .rotations import skew as skew
    from .rotations import transform as transform
    from .rotations import wrench_transform as wrench_transform
    from .rotations import wxyz_from_rotation as wxyz_from_rotation
    from .toml import Keys as Keys
    from .toml import TomlDocument as TomlDocument
    from .toml import load_toml as load_toml
    from .toml import read_data as read_data
    from .toml import read_toml as read_toml
    from .verdict import Check as Check
    from .verdict import Verdict as Verdict
    from .xml import MAX_DEPTH as MAX_DEPTH
    from .xml import MAX_ELEMENTS as MAX_ELEMENTS
    from .xml import Element as Element
    from .xml import parse_xml as parse_xml

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "arrays": ("Array",),
        "verdict": ("Check", "Verdict"),
    },
    shared={
        "arrays": ("PublishedData", "frozen", "plain"),
        "document": (
            "checksum",
            "infinite_where_unknown",
            "read_document",
            "refuse_beyond",
            "refuse_shape",
            "write_document",
        ),
        "files": ("read_bounded", "write_atomically"),
        "native_check": (
            "Cases",
            "KernelCheck",
            "disagreements",
            "Layout",
            "check_layout",
            "faults_message",
            "forced_set",
            "stored_results",
            "warn_of",
        ),
        "native_module": ("EXTENSION", "PARTS", "check_part", "native_disabled", "native_part", "unchecked_part"),
        "numbers": ("parse_number", "parse_vector", "quoted"),
        "rotations": (
            "cross",
            "inverse_transform",
            "rotation_from_rpy",
            "rotation_from_vector",
            "rotation_from_wxyz",
            "rotation_vector",
            "rotation_with_z_along",
            "skew",
            "transform",
            "wrench_transform",
            "wxyz_from_rotation",
        ),
        "toml": ("Keys", "TomlDocument", "load_toml", "read_data", "read_toml"),
        "xml": ("Element", "MAX_DEPTH", "MAX_ELEMENTS", "parse_xml"),
    },
)
