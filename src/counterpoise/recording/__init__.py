"""Recordings: samples, logs, mappings, readers, filters and the motion that was recorded."""

from typing import TYPE_CHECKING

from ..foundation import lazy_names

if TYPE_CHECKING:
    from .bags.records import ZSTD_MODULE as ZSTD_MODULE
    from .bags.source import open_bag as open_bag
    from .band import MOST_OF_RATE as MOST_OF_RATE
    from .band import MotionBand as MotionBand
    from .band import motion_band as motion_band
    from .budget import ReadingBudget as ReadingBudget
    from .budget import Spending as Spending
    from .clock import EXCESS as EXCESS
    from .clock import LEAST_SHARE as LEAST_SHARE
    from .clock import MOST_SHARE as MOST_SHARE
    from .clock import UNLIMITED_RANGE as UNLIMITED_RANGE
    from .clock import VelocityMatch as VelocityMatch
    from .clock import fastest_share as fastest_share
    from .clock import is_path as is_path
    from .clock import travel as travel
    from .clock import velocity_match as velocity_match
    from .csv_numbers import parse_rows_reference as parse_rows_reference
    from .declared import Declared as Declared
    from .declared import RateSource as RateSource
    from .declared import VelocityFrom as VelocityFrom
    from .declared import overlaid as overlaid
    from .declared import plain as plain
    from .filters import GAP_PERIODS as GAP_PERIODS
    from .filters import bridged as bridged
    from .filters import even_grid as even_grid
    from .filters import filtered as filtered
    from .filters import hop_noise as hop_noise
    from .filters import increasing as increasing
    from .filters import interpolated as interpolated
    from .filters import near_times as near_times
    from .filters import resolution as resolution
    from .filters import settling_rows as settling_rows
    from .filters import smoothed as smoothed
    from .filters import true_stretches as true_stretches
    from .kernel import NATIVE as NATIVE
    from .log import Log as Log
    from .log import LogBuilder as LogBuilder
    from .log import Sample as Sample
    from .log import SampleFlag as SampleFlag
    from .log import joined as joined
    from .mapping import FORMAT as FORMAT
    from .mapping import LogMapping as LogMapping
    from .mapping import mapping_toml as mapping_toml
    from .mapping import read_mapping as read_mapping
    from .mapping import write_mapping as write_mapping
    from .motion import EDGE_PERIODS as EDGE_PERIODS
    from .motion import GRID_CUTOFF as GRID_CUTOFF
    from .motion import MISSED_PERIODS as MISSED_PERIODS
    from .motion import Motion as Motion
    from .names import ANGULAR_SPEED as ANGULAR_SPEED
    from .names import TIME as TIME
    from .own_format import CHUNK_ROWS as CHUNK_ROWS
    from .own_format import csv_blocks as csv_blocks
    from .own_format import write_log as write_log
    from .parquet_files import parquet_library as parquet_library
    from .path import EARLIER_SHARE as EARLIER_SHARE
    from .path import REVERSAL as REVERSAL
    from .path import Follower as Follower
    from .path import direction_of_travel as direction_of_travel
    from .path import joint_scales as joint_scales
    from .path import novelty as novelty
    from .path import scaled_path as scaled_path
    from .path import thinned as thinned
    from .proposal import FASTEST as FASTEST
    from .proposal import SLOWEST as SLOWEST
    from .provenance import REFERENCES as REFERENCES
    from .provenance import dotted as dotted
    from .provenance import effort_guesses as effort_guesses
    from .provenance import flattened as flattened
    from .provenance import scales_efforts as scales_efforts
    from .reading import propose_mapping as propose_mapping
    from .reading import read_log as read_log
    from .reading import register_reader as register_reader
    from .reading import remapped as remapped
    from .reading import stream_log as stream_log
    from .rest import BAND as BAND
    from .rest import CREEP as CREEP
    from .rest import SETTLE as SETTLE
    from .rest import UNUSABLE as UNUSABLE
    from .rest import Means as Means
    from .rest import Rest as Rest
    from .rest import RestGatherer as RestGatherer
    from .rest import RestPhase as RestPhase
    from .rest import find_rests as find_rests
    from .rest import measured_means as measured_means
    from .rest import on_stops as on_stops
    from .rest import sides_by_order as sides_by_order
    from .table import Table as Table
    from .table import TableSource as TableSource
    from .text_files import CsvSource as CsvSource

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "band": ("MotionBand", "motion_band"),
        "budget": ("ReadingBudget", "Spending"),
        "declared": ("Declared", "VelocityFrom"),
        "log": ("Log", "LogBuilder", "Sample", "SampleFlag", "joined"),
        "mapping": ("LogMapping", "mapping_toml", "read_mapping", "write_mapping"),
        "motion": ("Motion",),
        "own_format": ("write_log",),
        "reading": ("propose_mapping", "read_log", "register_reader", "remapped", "stream_log"),
        "rest": ("Rest", "RestGatherer", "RestPhase", "find_rests"),
        "table": ("Table", "TableSource"),
    },
    shared={
        "bags.records": ("ZSTD_MODULE",),
        "bags.source": ("open_bag",),
        "band": ("MOST_OF_RATE",),
        "clock": (
            "EXCESS",
            "LEAST_SHARE",
            "MOST_SHARE",
            "UNLIMITED_RANGE",
            "VelocityMatch",
            "fastest_share",
            "is_path",
            "travel",
            "velocity_match",
        ),
        "csv_numbers": ("parse_rows_reference",),
        "declared": ("RateSource", "overlaid", "plain"),
        "filters": (
            "GAP_PERIODS",
            "bridged",
            "even_grid",
            "filtered",
            "hop_noise",
            "increasing",
            "interpolated",
            "near_times",
            "resolution",
            "settling_rows",
            "smoothed",
            "true_stretches",
        ),
        "kernel": ("NATIVE",),
        "mapping": ("FORMAT",),
        "motion": ("GRID_CUTOFF", "EDGE_PERIODS", "MISSED_PERIODS"),
        "names": ("ANGULAR_SPEED", "TIME"),
        "own_format": ("CHUNK_ROWS", "csv_blocks"),
        "parquet_files": ("parquet_library",),
        "path": (
            "EARLIER_SHARE",
            "REVERSAL",
            "Follower",
            "direction_of_travel",
            "joint_scales",
            "novelty",
            "scaled_path",
            "thinned",
        ),
        "proposal": ("FASTEST", "SLOWEST"),
        "provenance": ("REFERENCES", "dotted", "effort_guesses", "flattened", "scales_efforts"),
        "rest": (
            "BAND",
            "CREEP",
            "SETTLE",
            "UNUSABLE",
            "Means",
            "measured_means",
            "on_stops",
            "sides_by_order",
        ),
        "text_files": ("CsvSource",),
    },
)
