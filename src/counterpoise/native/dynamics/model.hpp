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

// Largest magnitude accepted in any input, as in counterpoise/dynamics/inputs.py.
constexpr double INPUT_BOUND = 1e9;

// As a count: one pose, computed alone in scalar code. A batch of one pose runs in lanes like any other batch, so that
// its result has the same bytes as in a larger one.
constexpr std::size_t ALONE = 0;

// Rows of one input: those of a pose are `stride` doubles behind those of the pose before; 0 where one row serves all.
struct Input {
    const double* rows;  // null where there is no such input
    std::size_t width;   // doubles per pose
    std::size_t stride;  // doubles between poses
};

// FRAME: how the wrench is made of what is passed for it, w = X reading - b, X row by row and then b.
enum InputPlace : int { Q = 0, DQ = 1, DDQ = 2, WRENCH = 3, FRAME = 4, INPUT_COUNT = 5 };
constexpr int FRAME_ROWS = 7;

// What an operation is asked for: as many poses, their inputs, and for some operations a link.
struct Poses {
    std::size_t count;
    Input inputs[INPUT_COUNT];
    const Point* point;
};

// Computes results of poses, row-major, one after the other. Returns false, with the results in an undefined state, when
// an input is NaN or beyond INPUT_BOUND. `work` has work_doubles(bodies, depth) doubles, aligned to 64 bytes.
using Operation = bool (*)(const Model&, const Poses&, double* results, double* work);

#define COUNTERPOISE_OPERATIONS(X)                                                                                    \
    X(gravity) X(inverse_dynamics) X(base_wrench) X(base_torques) X(center_of_mass) X(wrench_torque)                  \
    X(forward_kinematics) X(jacobian) X(gravity_regressor) X(inertial_regressor) X(base_wrench_regressor)

// The kernels of one instruction set.
struct Kernels {
    const char* name;
    int lanes;
    std::size_t (*work_doubles)(int bodies, int depth);
#define X(name) Operation name;
    COUNTERPOISE_OPERATIONS(X)
#undef X
};

extern const Kernels kernels_baseline;
#if defined(COUNTERPOISE_AVX)
extern const Kernels kernels_avx2;
extern const Kernels kernels_avx512;
#endif

}  // namespace counterpoise
