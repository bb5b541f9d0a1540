"""Robots ready to compute: kinematics, gravity, regressors, Newton–Euler."""

from typing import TYPE_CHECKING

from ..foundation import lazy_names

if TYPE_CHECKING:
    from .base_parameters import independent_columns as independent_columns
    from .base_torques import joint_matrix as joint_matrix
    from .first_moments import end_links as end_links
    from .friction import Asymmetric as Asymmetric
    from .friction import CoulombViscous as CoulombViscous
    from .friction import FrictionLaw as FrictionLaw
    from .friction import Stribeck as Stribeck
    from .friction import for_joints as for_joints
    from .friction import joint_values as joint_values
    from .inertia import driven_inertias as driven_inertias
    from .inertia import joint_inertias as joint_inertias
    from .inertia import mass_matrix_with_rotors as mass_matrix_with_rotors
    from .inputs import MAX_INPUT as MAX_INPUT
    from .inputs import WRENCH_UNITS as WRENCH_UNITS
    from .inputs import as_rows as as_rows
    from .inputs import check_out as check_out
    from .inputs import effort_units as effort_units
    from .inputs import inertia_units as inertia_units
    from .inputs import joint_index as joint_index
    from .inputs import link_index as link_index
    from .inputs import link_name as link_name
    from .inputs import numbers as numbers
    from .inputs import position_units as position_units
    from .inputs import refuse_command_units as refuse_command_units
    from .inputs import refuse_other_joints as refuse_other_joints
    from .inputs import refuse_wrench_shape as refuse_wrench_shape
    from .inputs import rotary as rotary
    from .kernel import NATIVE as NATIVE
    from .kernel import check_instruction_set as check_instruction_set
    from .kernel import set_batch_threads as set_batch_threads
    from .kernel_cases import pattern as pattern
    from .kinematics import BodyPoses as BodyPoses
    from .kinematics import ancestors as ancestors
    from .kinematics import body_poses as body_poses
    from .kinematics import gather as gather
    from .kinematics import link_poses as link_poses
    from .lugre import LEAST_TEMPERATURE_FACTOR as LEAST_TEMPERATURE_FACTOR
    from .lugre import Dahl as Dahl
    from .lugre import LuGre as LuGre
    from .newton_euler import body_motion as body_motion
    from .reference import WRENCH_COMPONENTS as WRENCH_COMPONENTS
    from .reference import unphysical as unphysical
    from .regressors import GRAVITY_PARAMETERS as GRAVITY_PARAMETERS
    from .regressors import INERTIAL_PARAMETERS as INERTIAL_PARAMETERS
    from .regressors import TENSOR_COLUMNS as TENSOR_COLUMNS
    from .regressors import TENSOR_ROWS as TENSOR_ROWS
    from .robot import Robot as Robot
    from .robot import load as load
    from .tree import BASE as BASE
    from .tree import REVOLUTE as REVOLUTE
    from .tree import Payload as Payload
    from .tree import Tree as Tree

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "friction": ("Asymmetric", "CoulombViscous", "FrictionLaw", "Stribeck"),
        "inertia": ("joint_inertias", "mass_matrix_with_rotors"),
        "inputs": ("effort_units", "position_units", "rotary"),
        "kernel": ("NATIVE", "set_batch_threads"),
        "lugre": ("Dahl", "LuGre"),
        "robot": ("Robot", "load"),
        "tree": ("Payload", "Tree"),
    },
    shared={
        "base_parameters": ("independent_columns",),
        "base_torques": ("joint_matrix",),
        "first_moments": ("end_links",),
        "friction": ("for_joints", "joint_values"),
        "inertia": ("driven_inertias",),
        "inputs": (
            "MAX_INPUT",
            "WRENCH_UNITS",
            "as_rows",
            "check_out",
            "inertia_units",
            "joint_index",
            "link_index",
            "link_name",
            "numbers",
            "refuse_command_units",
            "refuse_other_joints",
            "refuse_wrench_shape",
        ),
        "kernel": ("check_instruction_set",),
        "kernel_cases": ("pattern",),
        "kinematics": ("BodyPoses", "ancestors", "body_poses", "gather", "link_poses"),
        "lugre": ("LEAST_TEMPERATURE_FACTOR",),
        "newton_euler": ("body_motion",),
        "reference": ("WRENCH_COMPONENTS", "unphysical"),
        "regressors": ("GRAVITY_PARAMETERS", "INERTIAL_PARAMETERS", "TENSOR_COLUMNS", "TENSOR_ROWS"),
        "tree": ("BASE", "REVOLUTE"),
    },
)
