"""Calibration: from a recording to a fitted robot, a verdict and a file."""

from typing import TYPE_CHECKING

from ..foundation import lazy_names

if TYPE_CHECKING:
    from .calibration import calibrate as calibrate
    from .data_choice import STILL_POSES as STILL_POSES
    from .data_choice import DataChoice as DataChoice
    from .data_choice import data_kind as data_kind
    from .data_choice import stands_mostly as stands_mostly
    from .estimate import COMMAND_UNITS as COMMAND_UNITS
    from .estimate import Estimate as Estimate
    from .file import FileBounds as FileBounds
    from .file import content_of as content_of
    from .file import load_calibration as load_calibration
    from .fit import Evidence as Evidence
    from .fit import Fit as Fit
    from .fit import FitData as FitData
    from .fit import FitErrors as FitErrors
    from .heldout import split_samples as split_samples
    from .identity import Identity as Identity
    from .identity import data_fingerprint as data_fingerprint
    from .identity import identity_of as identity_of
    from .identity import kinematics_fingerprint as kinematics_fingerprint
    from .identity import mount_rpy as mount_rpy
    from .identity import read_for_robot as read_for_robot
    from .identity import refuse_other_mount as refuse_other_mount
    from .load_gains import LoadGains as LoadGains
    from .load_posterior import LoadPosterior as LoadPosterior
    from .moving import LEAST_AUTOCORRELATION_TIME as LEAST_AUTOCORRELATION_TIME
    from .moving import effort_of as effort_of
    from .moving import motion_of as motion_of
    from .moving import moving_samples as moving_samples
    from .moving import prepare as prepare
    from .moving import samples_of as samples_of
    from .pose_design import PoseDesign as PoseDesign
    from .pose_design import design as design
    from .pose_design import design_poses as design_poses
    from .pose_fit import fit_poses as fit_poses
    from .pose_plan import PosePlan as PosePlan
    from .pose_plan import approach_within as approach_within
    from .pose_plan import read_plan as read_plan
    from .pose_plan import read_poses as read_poses
    from .result import Collected as Collected
    from .result import fit_of as fit_of
    from .statements import USES as USES
    from .statements import UseStatement as UseStatement
    from .statements import checked_uses as checked_uses
    from .still_poses import arrival_notes as arrival_notes
    from .still_poses import arrival_of as arrival_of
    from .still_poses import arrivals as arrivals
    from .still_poses import without_friction as without_friction
    from .verification import TipLoad as TipLoad
    from .verification import Verification as Verification
    from .verification import WeightChange as WeightChange
    from .verification import verify as verify
    from .wam_methods import BARRETT_RIDGE as BARRETT_RIDGE
    from .wam_methods import first_moments_in_dh_frames as first_moments_in_dh_frames
    from .wam_methods import pose_matrices as pose_matrices
    from .wam_methods import solve_coupled as solve_coupled
    from .wam_methods import solve_iterative as solve_iterative
    from .workspace import RADIUS as RADIUS
    from .workspace import Clearance as Clearance
    from .workspace import clear_of_itself as clear_of_itself
    from .workspace import clear_of_table as clear_of_table
    from .workspace import joint_ranges as joint_ranges
    from .workspace import solve_static as solve_static
    from .workspace import static_columns as static_columns
    from .workspace import static_rows as static_rows
    from .workspace import workspace_poses as workspace_poses

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "calibration": ("calibrate",),
        "file": ("load_calibration",),
        "fit": ("Evidence", "Fit", "FitData", "FitErrors"),
        "load_gains": ("LoadGains",),
        "pose_design": ("PoseDesign", "design", "design_poses"),
        "pose_plan": ("PosePlan", "read_plan", "read_poses"),
        "statements": ("USES", "UseStatement"),
        "verification": ("TipLoad", "Verification", "WeightChange", "verify"),
        "wam_methods": (
            "BARRETT_RIDGE",
            "first_moments_in_dh_frames",
            "pose_matrices",
            "solve_coupled",
            "solve_iterative",
        ),
        "workspace": ("Clearance",),
    },
    shared={
        "data_choice": ("DataChoice", "STILL_POSES", "data_kind", "stands_mostly"),
        "estimate": ("COMMAND_UNITS", "Estimate"),
        "file": ("FileBounds", "content_of"),
        "heldout": ("split_samples",),
        "identity": (
            "Identity",
            "data_fingerprint",
            "identity_of",
            "kinematics_fingerprint",
            "mount_rpy",
            "read_for_robot",
            "refuse_other_mount",
        ),
        "load_posterior": ("LoadPosterior",),
        "moving": (
            "LEAST_AUTOCORRELATION_TIME",
            "effort_of",
            "motion_of",
            "moving_samples",
            "prepare",
            "samples_of",
        ),
        "pose_fit": ("fit_poses",),
        "pose_plan": ("approach_within",),
        "result": ("Collected", "fit_of"),
        "statements": ("checked_uses",),
        "still_poses": ("arrival_notes", "arrival_of", "arrivals", "without_friction"),
        "workspace": (
            "RADIUS",
            "clear_of_itself",
            "clear_of_table",
            "joint_ranges",
            "solve_static",
            "static_columns",
            "static_rows",
            "workspace_poses",
        ),
    },
)
