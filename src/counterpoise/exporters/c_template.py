"""The C header, with places for a robot's numbers."""

from __future__ import annotations

from string import Template

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
