"""What a fit is made of: terms and their regressors, priors, robust linear regression, identifiability."""

from typing import TYPE_CHECKING

from ..foundation import lazy_names

if TYPE_CHECKING:
    from .autocorrelation import Blocking as Blocking
    from .autocorrelation import autocorrelation_times as autocorrelation_times
    from .chosen_terms import Terms as Terms
    from .column_statistics import CERTAIN as CERTAIN
    from .column_statistics import all_joints as all_joints
    from .column_statistics import better_than_described as better_than_described
    from .column_statistics import deviation as deviation
    from .column_statistics import robust_std as robust_std
    from .column_statistics import root_mean_square as root_mean_square
    from .consistent_bodies import is_consistent as is_consistent
    from .consistent_bodies import nearest_consistent as nearest_consistent
    from .effort_model import BoolArray as BoolArray
    from .effort_model import EffortModel as EffortModel
    from .effort_model import Evaluation as Evaluation
    from .fitted_robot import completed_gravity_parameters as completed_gravity_parameters
    from .fitted_robot import marked as marked
    from .fitted_robot import payload_parameters as payload_parameters
    from .fitted_robot import unphysical_links as unphysical_links
    from .fitted_robot import with_gravity_parameters as with_gravity_parameters
    from .fitted_robot import with_inertial_parameters as with_inertial_parameters
    from .fitted_robot import with_masses as with_masses
    from .hierarchical import ROUNDS as ROUNDS
    from .hierarchical import Choice as Choice
    from .hierarchical import HierarchicalPosterior as HierarchicalPosterior
    from .hierarchical import HierarchicalRegression as HierarchicalRegression
    from .hierarchical import Moments as Moments
    from .hierarchical import Rare as Rare
    from .hierarchical import RowProducts as RowProducts
    from .hierarchical import Size as Size
    from .hierarchical import averaged as averaged
    from .hierarchical import pooled_freedom as pooled_freedom
    from .hierarchical import student_factor as student_factor
    from .identifiability import THRESHOLD as THRESHOLD
    from .identifiability import Combination as Combination
    from .identifiability import Identifiability as Identifiability
    from .identifiability import Language as Language
    from .identifiability import base_language as base_language
    from .identifiability import column_unit as column_unit
    from .identifiability import combination_text as combination_text
    from .identifiability import identify as identify
    from .identifiability import link_expansion as link_expansion
    from .identifiability import link_parameter_names as link_parameter_names
    from .identifiability import sum_text as sum_text
    from .identifiability import workspace_yardstick as workspace_yardstick
    from .nonlinear_regression import Linearised as Linearised
    from .nonlinear_regression import gauss_newton as gauss_newton
    from .poses import SAME_POSE as SAME_POSE
    from .poses import StaticPoses as StaticPoses
    from .poses import joined_poses as joined_poses
    from .poses import require_spread as require_spread
    from .poses import same_places as same_places
    from .poses import static_poses as static_poses
    from .prior import COMMON as COMMON
    from .prior import CadPrior as CadPrior
    from .prior import Gaussian as Gaussian
    from .prior import arm_reach as arm_reach
    from .prior import body_root as body_root
    from .prior import bounds_of as bounds_of
    from .prior import covariance_root as covariance_root
    from .prior import drive_deviations as drive_deviations
    from .prior import inertial_root as inertial_root
    from .prior import parameter_covariance as parameter_covariance
    from .prior import prior_of as prior_of
    from .prior import whole_covariance as whole_covariance
    from .regression import SIGMA_FLOOR as SIGMA_FLOOR
    from .regression import JointRegression as JointRegression
    from .regression import Solution as Solution
    from .regression import rms_of_squares as rms_of_squares
    from .regression import solve as solve
    from .robust import BEND as BEND
    from .robust import Block as Block
    from .robust import hampel_weight as hampel_weight
    from .robust import huber_weight as huber_weight
    from .robust import solve_robust as solve_robust
    from .samples import CHUNK_ROWS as CHUNK_ROWS
    from .samples import Samples as Samples
    from .samples import at_rest as at_rest
    from .samples import joined_samples as joined_samples
    from .samples import samples_of_poses as samples_of_poses
    from .samples import scaled_coupling as scaled_coupling
    from .term import ALL as ALL
    from .term import EFFORT_UNITS as EFFORT_UNITS
    from .term import WIDE as WIDE
    from .term import ActuatorTerm as ActuatorTerm
    from .term import ArmLimits as ArmLimits
    from .term import DryFrictionTerm as DryFrictionTerm
    from .term import EffortTerm as EffortTerm
    from .term import JointTerm as JointTerm
    from .term import Scales as Scales
    from .term import Selection as Selection
    from .term import registered as registered
    from .term import registered_terms as registered_terms
    from .term import term_of_quantity as term_of_quantity
    from .terms.bodies import BODY_UNITS as BODY_UNITS
    from .terms.gain import MOST_GAIN as MOST_GAIN
    from .terms.tilt import tilt_axes as tilt_axes

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "chosen_terms": ("Terms",),
        "fitted_robot": ("with_masses",),
        "identifiability": ("Identifiability", "identify"),
        "poses": ("StaticPoses", "static_poses"),
        "prior": ("CadPrior",),
        "samples": ("Samples",),
    },
    shared={
        "autocorrelation": ("Blocking", "autocorrelation_times"),
        "column_statistics": (
            "CERTAIN",
            "all_joints",
            "better_than_described",
            "deviation",
            "robust_std",
            "root_mean_square",
        ),
        "consistent_bodies": ("is_consistent", "nearest_consistent"),
        "effort_model": ("BoolArray", "EffortModel", "Evaluation"),
        "fitted_robot": (
            "completed_gravity_parameters",
            "marked",
            "payload_parameters",
            "unphysical_links",
            "with_gravity_parameters",
            "with_inertial_parameters",
        ),
        "nonlinear_regression": ("Linearised", "gauss_newton"),
        "hierarchical": (
            "Choice",
            "HierarchicalPosterior",
            "HierarchicalRegression",
            "Moments",
            "ROUNDS",
            "Rare",
            "RowProducts",
            "Size",
            "averaged",
            "pooled_freedom",
            "student_factor",
        ),
        "identifiability": (
            "Combination",
            "Language",
            "THRESHOLD",
            "base_language",
            "column_unit",
            "combination_text",
            "link_expansion",
            "link_parameter_names",
            "sum_text",
            "workspace_yardstick",
        ),
        "poses": ("SAME_POSE", "joined_poses", "require_spread", "same_places"),
        "prior": (
            "COMMON",
            "Gaussian",
            "arm_reach",
            "body_root",
            "bounds_of",
            "covariance_root",
            "drive_deviations",
            "inertial_root",
            "parameter_covariance",
            "prior_of",
            "whole_covariance",
        ),
        "regression": ("JointRegression", "SIGMA_FLOOR", "Solution", "rms_of_squares", "solve"),
        "robust": (
            "BEND",
            "Block",
            "hampel_weight",
            "huber_weight",
            "solve_robust",
        ),
        "samples": ("CHUNK_ROWS", "at_rest", "joined_samples", "samples_of_poses", "scaled_coupling"),
        "term": (
            "ALL",
            "ActuatorTerm",
            "ArmLimits",
            "DryFrictionTerm",
            "EFFORT_UNITS",
            "EffortTerm",
            "JointTerm",
            "Scales",
            "Selection",
            "WIDE",
            "registered",
            "registered_terms",
            "term_of_quantity",
        ),
        "terms.bodies": ("BODY_UNITS",),
        "terms.gain": ("MOST_GAIN",),
        "terms.tilt": ("tilt_axes",),
    },
)
