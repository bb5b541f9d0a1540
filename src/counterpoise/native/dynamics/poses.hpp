// Operations that need whole rotation matrices, one pose at a time: poses, Jacobians, the inertial regressors.
#pragma once

#include "vectors.hpp"

namespace counterpoise {
namespace COUNTERPOISE_ISA {

// A body in the base frame.
struct Placed {
    double R[9];  // row-major
    Vec3<double> o;
};

COUNTERPOISE_INLINE Vec3<double> axis_of(const Placed& placed) { return {placed.R[2], placed.R[5], placed.R[8]}; }

COUNTERPOISE_INLINE void multiply(const double* a, const double* b, double* c) {
    for (int row = 0; row < 3; ++row)
        for (int column = 0; column < 3; ++column)
            c[3 * row + column] =
                a[3 * row] * b[column] + a[3 * row + 1] * b[3 + column] + a[3 * row + 2] * b[6 + column];
    COUNTERPOISE_STATION(c[0]);
}

// Pose of a body in the base frame from its parent's (null for the base). `i` is its place in `joints`.
COUNTERPOISE_INLINE void place(const Body& body, const Joints<double>& joints, int i, const Placed* parent,
                               Placed* placed) {
    const Vec3<double> r = origin_in_parent(body, joints, i);
    const double s = joints.sine[i], c = joints.cosine[i];
    static const double UNTURNED[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    const double* P = parent == nullptr ? UNTURNED : parent->R;
    placed->o = parent == nullptr ? r : parent->o + turned(P, r);
    for (int row = 0; row < 9; row += 3) {  // P Rz(swing) Rx(twist) Rz(angle), row by row
        double x = P[row], t = P[row + 1];
        if (body.swings) {
            x = P[row] * body.swing_cosine + P[row + 1] * body.swing_sine;
            t = P[row + 1] * body.swing_cosine - P[row] * body.swing_sine;
        }
        const double y = t * body.twist_cosine + P[row + 2] * body.twist_sine;
        placed->R[row] = x * c + y * s;
        placed->R[row + 1] = y * c - x * s;
        placed->R[row + 2] = P[row + 2] * body.twist_cosine - t * body.twist_sine;
    }
    COUNTERPOISE_STATION(placed->R[0]);
}

COUNTERPOISE_INLINE void place_all(const Model& model, const Joints<double>& joints, Placed* placed) {
    for (int i = 0; i < model.bodies; ++i) {
        const int parent = model.body[i].parent;
        place(model.body[i], joints, i, parent < 0 ? nullptr : &placed[parent], &placed[i]);
    }
}

// The link's pose as a row-major 4 x 4 matrix. `joints` are those of the path.
inline void link_pose(const Model& model, const Point& point, const Joints<double>& joints, Placed* placed,
                      double* pose) {
    const Placed* body = nullptr;
    for (int d = 0; d < point.depth; ++d) {
        place(model.body[point.path[d]], joints, d, body, &placed[d]);
        body = &placed[d];
    }
    double R[9];
    Vec3<double> o = spread3<double>(point.origin);
    if (body != nullptr) {
        multiply(body->R, point.rotation, R);
        o = body->o + turned(body->R, o);
    } else {
        memcpy(R, point.rotation, sizeof R);
    }
    for (int row = 0; row < 3; ++row) memcpy(pose + 4 * row, R + 3 * row, 3 * sizeof(double));
    pose[3] = o.x, pose[7] = o.y, pose[11] = o.z;
    pose[12] = pose[13] = pose[14] = 0.0;
    pose[15] = 1.0;
    COUNTERPOISE_STATION(pose[3]);
}

// Columns [z x (p - o); z] (rotary) or [z; 0] (linear), gathered into the joints: row-major 6 x n. `joints` are those of
// the path.
inline void link_jacobian(const Model& model, const Point& point, const Joints<double>& joints, Placed* placed,
                          double* jacobian) {
    const int n = model.n;
    memset(jacobian, 0, sizeof(double) * 6 * n);
    if (point.depth == 0) return;
    const Placed* body = nullptr;
    for (int d = 0; d < point.depth; ++d) {
        place(model.body[point.path[d]], joints, d, body, &placed[d]);
        body = &placed[d];
    }
    const Vec3<double> p = body->o + turned(body->R, spread3<double>(point.origin));
    for (int d = 0; d < point.depth; ++d) {
        const Body& mover = model.body[point.path[d]];
        const Vec3<double> z = axis_of(placed[d]);
        const bool rotary = mover.kind == REVOLUTE;
        const Vec3<double> v = rotary ? cross(z, p - placed[d].o) : z;
        double* column = jacobian + mover.q_index;
        COUNTERPOISE_STATION(column[0]);
        column[0] += mover.q_gain * v.x;
        column[n] += mover.q_gain * v.y;
        column[2 * n] += mover.q_gain * v.z;
        if (rotary) {
            column[3 * n] += mover.q_gain * z.x;
            column[4 * n] += mover.q_gain * z.y;
            column[5 * n] += mover.q_gain * z.z;
        }
    }
}

// Axes of the file's joint frame in the base frame.
COUNTERPOISE_INLINE void joint_axes(const Body& body, const Placed& placed, double* R) {
    if (body.aligned)
        memcpy(R, placed.R, 9 * sizeof(double));
    else
        multiply(placed.R, body.joint_rotation, R);
    COUNTERPOISE_STATION(R[1]);
}

struct PlacedMotion {
    Vec3<double> omega, alpha, acceleration;  // base axes; acceleration minus gravity
};

COUNTERPOISE_INLINE Vec3<double> scaled(const Vec3<double>& v, double k) { return {k * v.x, k * v.y, k * v.z}; }

// How body i moves, from its parent's motion (the base accelerates upwards with -gravity).
COUNTERPOISE_INLINE PlacedMotion motion_of(const Model& model, const Placed* placed, const double* rate,
                                           const double* rate_change, const PlacedMotion* motion, int i) {
    const Body& body = model.body[i];
    const Vec3<double> zero = {0.0, 0.0, 0.0};
    const PlacedMotion still = {zero, zero, zero - spread3<double>(model.gravity)};
    const PlacedMotion& parent = body.parent < 0 ? still : motion[body.parent];
    const Vec3<double> arm = body.parent < 0 ? placed[i].o : placed[i].o - placed[body.parent].o;
    const Vec3<double> along = scaled(axis_of(placed[i]), rate[i]);
    const Vec3<double> change = scaled(axis_of(placed[i]), rate_change[i]);
    Vec3<double> w = parent.omega, dw = parent.alpha;
    Vec3<double> a = parent.acceleration + cross(dw, arm) + cross(w, cross(w, arm));
    if (body.kind == REVOLUTE) {
        dw = dw + change + cross(w, along);
        w = w + along;
    } else {
        a = a + change + scaled(cross(w, along), 2.0);
    }
    COUNTERPOISE_STATION(a.x);
    return {w, dw, a};
}

// Wrench on a body per inertial parameter, moment about the body origin, base axes. Only the first four carry a force.
struct WrenchColumns {
    Vec3<double> force[4], moment[10];
};

// As regressors.py derives it: column j of the first moment gives the force S R_j and the moment R_j x a, with
// S u = alpha x u + omega x (omega x u); the inertias give R (E alpha + omega x E omega), E a unit tensor, in joint axes.
COUNTERPOISE_INLINE void wrench_columns(const Body& body, const Placed& placed, const PlacedMotion& motion,
                                        WrenchColumns* columns) {
    const Vec3<double> &w = motion.omega, &dw = motion.alpha, &a = motion.acceleration;
    double R[9];
    joint_axes(body, placed, R);
    columns->force[0] = a;
    columns->moment[0] = {0.0, 0.0, 0.0};
    for (int j = 0; j < 3; ++j) {
        const Vec3<double> column = {R[j], R[3 + j], R[6 + j]};
        columns->force[1 + j] = cross(dw, column) + cross(w, cross(w, column));
        columns->moment[1 + j] = cross(column, a);
    }
    const Vec3<double> w_joint = turned_back(R, w), dw_joint = turned_back(R, dw);
    const double wv[3] = {w_joint.x, w_joint.y, w_joint.z};
    const double dv[3] = {dw_joint.x, dw_joint.y, dw_joint.z};
    const int row_of[6] = {0, 0, 1, 0, 1, 2}, column_of[6] = {0, 1, 1, 2, 2, 2};
    for (int j = 0; j < 6; ++j) {
        const int r = row_of[j], c = column_of[j];
        double spin[3] = {0.0, 0.0, 0.0}, change_of[3] = {0.0, 0.0, 0.0};  // E w and E alpha, E the unit tensor rc
        spin[r] += wv[c];
        change_of[r] += dv[c];
        if (r != c) {
            spin[c] += wv[r];
            change_of[c] += dv[r];
        }
        const Vec3<double> moment = spread3<double>(change_of) + cross(w_joint, spread3<double>(spin));
        columns->moment[4 + j] = turned(R, moment);
    }
    COUNTERPOISE_STATION(columns->moment[9].z);
}

// One column of a 6-row matrix: force, and moment about the base origin.
COUNTERPOISE_INLINE void put_wrench(double* matrix, std::size_t width, const Vec3<double>& force,
                                    const Vec3<double>& moment) {
    matrix[0] = force.x, matrix[width] = force.y, matrix[2 * width] = force.z;
    matrix[3 * width] = moment.x, matrix[4 * width] = moment.y, matrix[5 * width] = moment.z;
    COUNTERPOISE_STATION(matrix[0]);
}

// W of base_wrench = W phi, row-major 6 x 10 (b + 1).
inline void base_wrench_regressor_rows(const Model& model, const Joints<double>& joints, const double* rate,
                                       const double* rate_change, Placed* placed, PlacedMotion* motion, double* rows) {
    const std::size_t width = 10 * ((std::size_t)model.bodies + 1);
    const Vec3<double> zero = {0.0, 0.0, 0.0};
    const Vec3<double> up = zero - spread3<double>(model.gravity);
    const Vec3<double> unit[3] = {{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}};
    memset(rows, 0, sizeof(double) * 6 * width);
    place_all(model, joints, placed);
    put_wrench(rows, width, up, zero);
    for (int j = 0; j < 3; ++j) put_wrench(rows + 1 + j, width, zero, cross(unit[j], up));
    for (int i = 0; i < model.bodies; ++i) {
        motion[i] = motion_of(model, placed, rate, rate_change, motion, i);
        WrenchColumns columns;
        wrench_columns(model.body[i], placed[i], motion[i], &columns);
        double* block = rows + 10 * ((std::size_t)i + 1);
        COUNTERPOISE_STATION(columns.force[3].y);
        for (int j = 0; j < 10; ++j) {
            const Vec3<double> force = j < 4 ? columns.force[j] : zero;
            put_wrench(block + j, width, force, columns.moment[j] + cross(placed[i].o, force));
        }
    }
}

// Y of M ddq + C dq + g = Y phi, row-major n x 10 b: joint i, which carries body k, feels z_i.(N + (o_k - o_i) x F) when
// rotary and z_i.F when linear.
inline void inertial_regressor_rows(const Model& model, const Joints<double>& joints, const double* rate,
                                    const double* rate_change, Placed* placed, PlacedMotion* motion, double* rows) {
    const std::size_t width = 10 * (std::size_t)model.bodies;
    memset(rows, 0, sizeof(double) * width * model.n);
    place_all(model, joints, placed);
    for (int k = 0; k < model.bodies; ++k) {
        motion[k] = motion_of(model, placed, rate, rate_change, motion, k);
        WrenchColumns columns;
        wrench_columns(model.body[k], placed[k], motion[k], &columns);
        for (int i = k; i >= 0; i = model.body[i].parent) {
            const Body& mover = model.body[i];
            Vec3<double> z = scaled(axis_of(placed[i]), mover.q_gain);
            COUNTERPOISE_STATION(z.x);
            double* entry = rows + (std::size_t)mover.q_index * width + 10 * (std::size_t)k;
            if (mover.kind == REVOLUTE) {
                const Vec3<double> lever = cross(z, placed[k].o - placed[i].o);
                for (int j = 0; j < 4; ++j) entry[j] += dot(z, columns.moment[j]) + dot(lever, columns.force[j]);
                for (int j = 4; j < 10; ++j) entry[j] += dot(z, columns.moment[j]);
            } else {
                for (int j = 0; j < 4; ++j) entry[j] += dot(z, columns.force[j]);
            }
        }
    }
}

}  // namespace COUNTERPOISE_ISA
}  // namespace counterpoise
