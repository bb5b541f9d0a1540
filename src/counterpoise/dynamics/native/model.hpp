// The compiled robot as the native kernels see it, and the table of kernels built for one instruction set.
#pragma once

#include <cstddef>

namespace counterpoise {

enum Kind : int { REVOLUTE = 0, PRISMATIC = 1 };

// One moving body, as in counterpoise/dynamics/tree.py, but with the frame turned about its joint axis so that most
// rotations become short. Any constant rotation is C = Rz(swing) Rx(twist) Rz(offset). The last factor adds to the joint
// angle. A body's frame may be turned about its own axis at will, which removes the swing of its next body; only the
// other children of a branching body keep theirs.
struct Body {
    double twist_cosine, twist_sine;
    double swing_cosine, swing_sine;
    double still_cosine, still_sine;  // of the offset: what a linear joint, which does not turn, has for its angle
    double axis[3];                   // joint axis in the parent frame
    double origin[3];                 // body origin in the parent frame at q = 0 [m]
    double joint_rotation[9];  // from the file's joint frame to the body frame
    double mass;               // [kg]
    double first_moment[3];    // m c [kg m]
    double inertia[6];         // about the body origin: xx, xy, yy, xz, yz, zz [kg m^2]
    double carried_mass;       // of this body and all bodies it carries [kg]
    double carried_moment[3];  // first_moment + sum over children of carried_mass * origin [kg m]
    double q_gain;
    double q_offset;
    int q_index;
    int parent;     // -1 is the base
    int kind;
    int depth;      // bodies from the base to this one, itself included
    bool swings;    // swing is not zero
    bool branches;  // has a child other than body i + 1
    bool aligned;   // joint_rotation is the identity
};

struct Model {
    int n;              // independent joints
    int bodies;         // moving bodies
    int depth;          // of the deepest body
    bool plain;         // q_index is 0, 1, 2, ... with gain 1 and offset 0: no mimic joints
    bool rotary;        // no linear joint
    bool chain;         // every body's parent is the one before it
    bool simple;        // a serial chain of rotary joints without mimics
    double fast_bound;  // |q| up to which every angle allows the fast sine and cosine
    const Body* body;
    const double* angle_offset;  // per body [rad], padded with zeros to a multiple of 8
    double gravity[3];            // in the base frame [m/s^2]
    double base_mass;             // [kg]
    double base_first_moment[3];  // [kg m]
    double total_mass;            // [kg]
};

// A link: its frame, fixed to a body (or to the base, body = -1), and the bodies that carry it, the root's child first.
struct Point {
    int body;
    const int* path;
    int depth;
    const double* angle_offset;  // of the bodies on the path [rad], padded like the model's
    double rotation[9];  // from the link frame to the body frame
    double origin[3];    // in the body frame [m]
};

// How the reading of a plate under the base becomes the wrench that is analysed: w = matrix reading - offset, on the
// robot, base axes, at the base origin, less the model's gravity wrench where `gravity` says so.
struct Plate {
    double matrix[36];  // column by column
    double offset[6];   // [N, N m]
    bool gravity;
};

// Largest magnitude accepted in any input, as in counterpoise/dynamics/inputs.py.
constexpr double INPUT_BOUND = 1e9;

// As a count: one pose, computed alone in scalar code. A batch of one pose runs in lanes like any other batch, so that
// its result has the same bytes as in a larger one.
constexpr std::size_t ALONE = 0;

// The kernels of one instruction set. Each handles `count` poses in row-major arrays of `count` rows and returns false,
// with the output in an undefined state, when an input is NaN or beyond INPUT_BOUND. `work` has work_doubles(bodies,
// depth) doubles, aligned to 64 bytes. dq and ddq may be null: at rest.
struct Kernels {
    const char* name;
    int lanes;
    std::size_t (*work_doubles)(int bodies, int depth);
    bool (*gravity)(const Model&, std::size_t count, const double* q, double* torque, double* work);
    bool (*inverse_dynamics)(const Model&, std::size_t count, const double* q, const double* dq, const double* ddq,
                             double* torque, double* work);
    bool (*base_wrench)(const Model&, std::size_t count, const double* q, const double* dq, const double* ddq,
                        double* wrench, double* work);
    bool (*center_of_mass)(const Model&, std::size_t count, const double* q, double* center, double* work);
    bool (*wrench_torque)(const Model&, const Point&, std::size_t count, const double* q, const double* wrench,
                          std::size_t wrench_stride, double* torque, double* work);
    bool (*plate_torque)(const Model&, const Plate&, std::size_t count, const double* q, const double* dq,
                         const double* ddq, const double* wrench, std::size_t wrench_stride, double* torque,
                         double* work);
    bool (*forward_kinematics)(const Model&, const Point&, std::size_t count, const double* q, double* pose,
                               double* work);
    bool (*jacobian)(const Model&, const Point&, std::size_t count, const double* q, double* jacobian, double* work);
    bool (*gravity_regressor)(const Model&, std::size_t count, const double* q, double* regressor, double* work);
    bool (*inertial_regressor)(const Model&, std::size_t count, const double* q, const double* dq, const double* ddq,
                               double* regressor, double* work);
    bool (*base_wrench_regressor)(const Model&, std::size_t count, const double* q, const double* dq,
                                  const double* ddq, double* regressor, double* work);
};

extern const Kernels kernels_baseline;
#if defined(COUNTERPOISE_AVX)
extern const Kernels kernels_avx2;
extern const Kernels kernels_avx512;
#endif

}  // namespace counterpoise
