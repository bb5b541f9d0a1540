"""A robot's gravity torques as one C header: no memory is taken, nothing is remembered, the time is always the same.

The recursion is that of dynamics/gravity.py: poses from the base outwards, masses and first moments of what each joint
carries from the tips inwards. The header holds poses with their torques, by which it tests itself where it runs.

The header is a template in this file, with places for a robot's numbers.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from string import Template

import numpy as np
import numpy.typing as npt

from ..dynamics import REVOLUTE, Robot, effort_units
from ..errors import InputError, ModelError
from ..foundation import Array

TEMPLATE = Template(r"""/* Gravity torques of a robot arm, written by Counterpoise.
 *
$comment
 *
 * ${name}_gravity(q, tau) writes the torques that the actuators must apply to hold the arm still at q; what gravity
 * itself exerts is the negative. It takes no memory, remembers nothing, has no loop that depends on q, and returns
 *
 *    0  tau is written
 *    1  tau is written, but bounded: some joint cannot hold the arm there
 *   -1  q, or what follows from it, is not finite; tau is left as it was. Hold the last command, and soon stop
 *
 * ${name}_gravity_check() returns 0 where this machine and compiler give the torques that Counterpoise computed, else
 * another number. Call it before the first torque goes out. It does not see the torque limits.
 *
 * This is not a safety function. Begin with a tenth of the torque, one joint, slowly, the emergency stop in hand.
 */
#ifndef ${name}_gravity_${content}_h
#define ${name}_gravity_${content}_h

#ifdef ${name}_gravity_h
#error "two headers have the names ${name}_... and other numbers: write one of them with another prefix (--prefix)"
#endif
#define ${name}_gravity_h

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "compile without -ffast-math, -Ofast and -ffinite-math-only: what is not finite would not be seen"
#endif

#include <math.h>

enum { ${name}_joints = $n, ${name}_bodies = $bodies, ${name}_check_poses = $poses };

/* Moving bodies, parents first: parent (-1: base), rotary or linear, and the joint that moves it, q * gain + offset. */
static const int ${name}_parent[${name}_bodies] = $parent;
static const int ${name}_rotary[${name}_bodies] = $rotary;
static const int ${name}_joint[${name}_bodies] = $joint;
static const double ${name}_gain[${name}_bodies] = $gain;
static const double ${name}_offset[${name}_bodies] = $offset;
/* Pose in the parent at zero (rotation by rows, origin [m]), mass [kg], first moment [kg m]; the axis is z. */
static const double ${name}_rotation[${name}_bodies][9] = $rotation;
static const double ${name}_origin[${name}_bodies][3] = $origin;
static const double ${name}_mass[${name}_bodies] = $mass;
static const double ${name}_moment[${name}_bodies][3] = $moment;
/* Gravity in the base frame [m/s^2]; largest torques [N m or N], -1 where no limit is known. */
static const double ${name}_gravity_base[3] = $gravity;
static const double ${name}_limit[${name}_joints] = $limit;
/* Poses and their torques, by which it tests itself. */
static const double ${name}_check_q[${name}_check_poses][${name}_joints] = $check_q;
static const double ${name}_check_tau[${name}_check_poses][${name}_joints] = $check_tau;

static inline void ${name}_unbounded(const double q[${name}_joints], double tau[${name}_joints]) {
    double R[${name}_bodies][9], o[${name}_bodies][3], mass[${name}_bodies], moment[${name}_bodies][3];
    const double *g = ${name}_gravity_base;
    int b, i, j, k;
    for (b = 0; b < ${name}_bodies; ++b) {
        const int parent = ${name}_parent[b];
        const double x = q[${name}_joint[b]] * ${name}_gain[b] + ${name}_offset[b];
        const double c = ${name}_rotary[b] ? cos(x) : 1.0, s = ${name}_rotary[b] ? sin(x) : 0.0;
        const double *C = ${name}_rotation[b];
        double turned[9], place[3];
        for (i = 0; i < 3; ++i) {
            turned[3 * i] = C[3 * i] * c + C[3 * i + 1] * s;
            turned[3 * i + 1] = C[3 * i + 1] * c - C[3 * i] * s;
            turned[3 * i + 2] = C[3 * i + 2];
            place[i] = ${name}_origin[b][i] + (${name}_rotary[b] ? 0.0 : C[3 * i + 2] * x);
        }
        for (i = 0; i < 3; ++i) {
            o[b][i] = parent < 0 ? place[i] : o[parent][i];
            for (j = 0; j < 3; ++j) {
                R[b][3 * i + j] = parent < 0 ? turned[3 * i + j] : 0.0;
                if (parent >= 0) {
                    o[b][i] += R[parent][3 * i + j] * place[j];
                    for (k = 0; k < 3; ++k) R[b][3 * i + j] += R[parent][3 * i + k] * turned[3 * k + j];
                }
            }
        }
        mass[b] = ${name}_mass[b];
        for (i = 0; i < 3; ++i) {
            moment[b][i] = mass[b] * o[b][i];
            for (j = 0; j < 3; ++j) moment[b][i] += R[b][3 * i + j] * ${name}_moment[b][j];
        }
    }
    for (i = 0; i < ${name}_joints; ++i) tau[i] = 0.0;
    for (b = ${name}_bodies - 1; b >= 0; --b) {
        const int parent = ${name}_parent[b];
        const double z[3] = {R[b][2], R[b][5], R[b][8]};
        double d[3], load;
        for (i = 0; i < 3; ++i) d[i] = moment[b][i] - mass[b] * o[b][i];
        if (${name}_rotary[b])
            load = z[0] * (d[1] * g[2] - d[2] * g[1]) + z[1] * (d[2] * g[0] - d[0] * g[2]) +
                   z[2] * (d[0] * g[1] - d[1] * g[0]);
        else
            load = mass[b] * (z[0] * g[0] + z[1] * g[1] + z[2] * g[2]);
        tau[${name}_joint[b]] -= ${name}_gain[b] * load;
        if (parent >= 0) {
            mass[parent] += mass[b];
            for (i = 0; i < 3; ++i) moment[parent][i] += moment[b][i];
        }
    }
}

static inline int ${name}_gravity(const double q[${name}_joints], double tau[${name}_joints]) {
    double found[${name}_joints];
    int i, bounded = 0;
    ${name}_unbounded(q, found);
    for (i = 0; i < ${name}_joints; ++i)
        if (!isfinite(q[i]) || !isfinite(found[i])) return -1;
    for (i = 0; i < ${name}_joints; ++i) {
        const double limit = ${name}_limit[i];
        tau[i] = found[i];
        if (limit >= 0.0 && fabs(tau[i]) > limit) {
            tau[i] = tau[i] > 0.0 ? limit : -limit;
            bounded = 1;
        }
    }
    return bounded;
}

static inline int ${name}_gravity_check(void) {
    double q[${name}_joints], tau[${name}_joints];
    volatile double nothing = 0.0;
    int pose, i, differ = 0;
    for (pose = 0; pose < ${name}_check_poses; ++pose) {
        int wrong = 0;
        ${name}_unbounded(${name}_check_q[pose], tau);
        for (i = 0; i < ${name}_joints; ++i)
            if (!(fabs(tau[i] - ${name}_check_tau[pose][i]) <= $tolerance)) wrong = 1;
        differ += wrong;
    }
    for (i = 0; i < ${name}_joints; ++i) q[i] = nothing / nothing;
    if (${name}_gravity(q, tau) != -1) ++differ;
    return differ;
}

#endif
""")


CHECK_POSES = 4
"""Poses of the self-test, the zero pose among them ..."""
CHECK_SEED = 1
"""... the others drawn within the limits by this seed."""
TOLERANCE = 1e-9
"""Of the self-test, relative to the torques that the arm's weight can cause at its full length."""

FINGERPRINT = 16
"""Hexadecimal digits of a header's fingerprint in its include guard ..."""
SHORT = 8
"""... and in its names, where no prefix is given."""


def c_code(robot: Robot, prefix: str | None = None, *, about: Sequence[str] = ()) -> str:
    """Return a C99 header (C++ too) with ``<prefix>_gravity(q, tau)`` and ``<prefix>_gravity_check()``.

    Its include guard holds the fingerprint of its content: one file may include headers of several robots, or of one
    robot with several loads. Two that have the same prefix and other content do not compile together.

    Args:
        robot: The robot; mount and payloads count.
        prefix: What the names begin with; None for :func:`c_prefix`.
        about: Lines for the comment on top, e.g. where the masses come from.

    Raises:
        InputError: The prefix is no C identifier.
        ModelError: The robot has no moving joint.
    """
    values = _values(robot)
    content = _fingerprint(values)
    name = _content_name(robot, content) if prefix is None else prefix
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name, re.ASCII) is None:
        raise InputError(f"prefix is {name!r}; expected a C identifier: letters, digits and _, no digit first")
    comment = "\n".join([*(f" * {_comment(line)}".rstrip() for line in about), values.pop("comment")])
    return TEMPLATE.substitute(values, name=name, content=content, comment=comment)


def c_prefix(robot: Robot) -> str:
    """Return what the names of a robot's header begin with where nothing is given: its name and its fingerprint.

    Another load, mount, calibration or limit gives another prefix.

    Raises:
        ModelError: The robot has no moving joint.
    """
    return _content_name(robot, _fingerprint(_values(robot)))


def _values(robot: Robot) -> dict[str, str]:
    """Return what the template's places are filled with, all but names."""
    tree = robot.tree
    if robot.n == 0:
        raise ModelError(f"'{robot.name}' has no moving joint, so there is no torque to compute")
    poses = check_poses(robot)
    torques = robot.gravity(poses)
    limits = np.where(np.isfinite(robot.effort_limit), robot.effort_limit, -1.0)
    joints = [
        f"tau[{index}], q[{index}]: {joint} [{unit}, {'rad' if unit == 'N m' else 'm'}]"
        for index, (joint, unit) in enumerate(zip(robot.joint_names, effort_units(robot), strict=True))
    ]
    return {
        "comment": "\n".join(f" * {_comment(line)}".rstrip() for line in joints),
        "n": str(robot.n),
        "bodies": str(tree.bodies),
        "parent": _integers(tree.parent),
        "rotary": _integers(tree.kind == REVOLUTE),
        "joint": _integers(tree.q_index),
        "gain": _row(tree.q_gain),
        "offset": _row(tree.q_offset),
        "rotation": _rows(tree.rotation.reshape(-1, 9)),
        "origin": _rows(tree.origin),
        "mass": _row(tree.mass),
        "moment": _rows(tree.first_moment),
        "gravity": _row(robot.gravity_base),
        "limit": _row(limits),
        "poses": str(len(poses)),
        "check_q": _rows(poses),
        "check_tau": _rows(torques),
        "tolerance": repr(TOLERANCE * _size(robot)),
    }


def _fingerprint(values: Mapping[str, str]) -> str:
    """Return the fingerprint of a header, whatever its names: of its code, its numbers and its joints."""
    text = TEMPLATE.substitute(values, name="", content="")
    return hashlib.sha256(text.encode()).hexdigest()[:FINGERPRINT]


def _content_name(robot: Robot, content: str) -> str:
    return f"{_identifier(robot.name)}_{content[:SHORT]}"


def check_poses(robot: Robot) -> Array:
    """Return the poses of the self-test: zero, then random ones within the limits and ±π, shape (CHECK_POSES, n)."""
    random = np.random.default_rng(CHECK_SEED)
    lower, upper = np.maximum(robot.lower, -np.pi), np.minimum(robot.upper, np.pi)
    drawn = random.uniform(np.minimum(lower, upper), np.maximum(lower, upper), (CHECK_POSES - 1, robot.n))
    return np.vstack([np.zeros(robot.n), drawn])


def _size(robot: Robot) -> float:
    """Return a bound of the torques that gravity can cause with joints at zero [N m], or forces [N]."""
    tree = robot.tree
    length = 1.0 + float(np.linalg.norm(tree.origin, axis=1).sum())
    moments = float(np.linalg.norm(tree.first_moment, axis=1).sum())
    return float(np.linalg.norm(robot.gravity_base)) * (float(np.abs(tree.mass).sum()) * length + moments)


def _identifier(text: str) -> str:
    """Return a C identifier that resembles a name."""
    plain = re.sub(r"[^a-z0-9_]+", "_", text.lower(), flags=re.ASCII).strip("_") or "arm"
    return f"arm_{plain}" if plain[0].isdigit() else plain


def _comment(line: str) -> str:
    """Return text that cannot end a C comment, nor hide the next line."""
    return re.sub(r"[^ -~]|\\", "?", line).replace("*/", "* /").replace("/*", "/ *")


def _row(values: Array) -> str:
    return "{" + ", ".join(repr(float(value) + 0.0) for value in values) + "}"


def _rows(values: Array) -> str:
    return "{\n    " + ",\n    ".join(_row(row) for row in values) + "}"


def _integers(values: npt.NDArray[np.generic]) -> str:
    return "{" + ", ".join(str(int(value)) for value in values) + "}"
