// The kernel table of one instruction set: loops over poses around the recursions.
//
// Included by one .cpp per instruction set with COUNTERPOISE_ISA (a namespace name), COUNTERPOISE_LANES and
// COUNTERPOISE_TABLE (the table's name) defined. One pose runs in scalar code with sine and cosine vectorised over the
// joints; many run one pose per lane, the last block padded with copies of the last pose, so that a pose's result does
// not depend on its place in the batch. Each operation names the type its batches compute with (Many).
#include "base_torques.hpp"
#include "gravity_regressor.hpp"
#include "poses.hpp"
#include "recursions.hpp"

namespace counterpoise {
namespace COUNTERPOISE_ISA {
namespace {

constexpr int MOST_LANES = LaneTraits<Pair>::count;
constexpr std::size_t BLOCKS = 64;  // lane blocks per range check: stays in the first-level cache

// Hands out pieces of the workspace.
struct Arena {
    double* next;
    template <class U>
    COUNTERPOISE_INLINE U* take(std::size_t count) {
        U* piece = reinterpret_cast<U*>(next);
        const std::size_t doubles = count * (sizeof(U) / sizeof(double));
        next += (doubles + 7) / 8 * 8;  // keep every piece on 64 bytes
        return piece;
    }
};

std::size_t work_doubles(int bodies, int depth) {
    // base_torques is the hungriest: sine, cosine, coordinate, rates 2, torque, motion 9, wrench 6, first moment
    // 3, gathered torque, and the copies of a short last block, 4: 29 numbers per body and lane, 6 for the wrench, and
    // room for padding.
    const std::size_t motion = ((std::size_t)bodies + COUNTERPOISE_LANES) * 30 * MOST_LANES;
    // The gravity regressor keeps a level of joints for each level of the tree.
    const std::size_t levels = ((std::size_t)depth + 2) * level_doubles(depth) + 8 * (std::size_t)bodies;
    return motion + levels + 1024;
}

// Which bodies an operation needs: all of them, or those on the path to a link.
struct All {
    static constexpr bool CONSECUTIVE = true;
    const Model& model;
    int count() const { return model.bodies; }
    int operator[](int i) const { return i; }
    const double* angle_offset() const { return model.angle_offset; }
};
struct Path {
    static constexpr bool CONSECUTIVE = false;
    const Point& point;
    int count() const { return point.depth; }
    int operator[](int d) const { return point.path[d]; }
    const double* angle_offset() const { return point.angle_offset; }
};

// Sine and cosine of the joints of one pose, vectorised over the joints.
template <class Which>
COUNTERPOISE_INLINE void load_one(const Model& model, const Which& which, const double* q, bool fast,
                                  const Joints<double>& joints) {
    const int count = which.count();
    for (int first = 0; first < count; first += L) {
        Lanes x, offset, s, c;
        if (model.plain && Which::CONSECUTIVE && first + L <= count) {
            memcpy(&x, q + first, sizeof x);
        } else {
            // Lanes past the end repeat the last joint.
            const auto coordinate = [&](int lane) {
                const int i = which[first + lane < count ? first + lane : count - 1];
                if (model.plain) return q[i];
                const Body& body = model.body[i];
                return body.q_gain * q[body.q_index] + body.q_offset;
            };
            x = Lanes{COUNTERPOISE_EACH_LANE(coordinate)};
        }
        if (!model.rotary) memcpy(joints.coordinate + first, &x, sizeof x);
        memcpy(&offset, which.angle_offset() + first, sizeof offset);
        x = x + offset;
        COUNTERPOISE_STATION_OF_ONE(x);
        if (fast)
            sine_cosine(x, &s, &c);
        else
            slow_sine_cosine(x, &s, &c);
        memcpy(joints.sine + first, &s, sizeof s);
        memcpy(joints.cosine + first, &c, sizeof c);
    }
    if (!model.rotary) {
        for (int d = 0; d < count; ++d) {
            const Body& body = model.body[which[d]];
            if (body.kind == PRISMATIC) {
                joints.sine[d] = body.still_sine;
                joints.cosine[d] = body.still_cosine;
            }
        }
    }
}

// The same for one pose per lane, `stride` doubles apart.
template <class Many, class Which>
COUNTERPOISE_INLINE void load_many(const Model& model, const Which& which, const double* q, std::size_t stride,
                                   bool fast, const Joints<Many>& joints) {
    for (int d = 0; d < which.count(); ++d) {
        const int i = which[d];
        const Body& body = model.body[i];
        Many x = LaneTraits<Many>::load(q + body.q_index, stride);
        if (!model.plain) x = x * body.q_gain + body.q_offset;
        COUNTERPOISE_STATION(x);
        joints.coordinate[d] = x;
        if (body.kind == PRISMATIC) {
            joints.sine[d] = LaneTraits<Many>::spread(body.still_sine);
            joints.cosine[d] = LaneTraits<Many>::spread(body.still_cosine);
        } else if (fast) {
            sine_cosine(x + model.angle_offset[i], &joints.sine[d], &joints.cosine[d]);
        } else {
            slow_sine_cosine(x + model.angle_offset[i], &joints.sine[d], &joints.cosine[d]);
        }
    }
}

template <class T>
COUNTERPOISE_INLINE Joints<T> take_joints(Arena& arena, int bodies) {
    const std::size_t padded = (std::size_t)bodies + L;
    Joints<T> joints;
    joints.sine = arena.take<T>(padded);
    joints.cosine = arena.take<T>(padded);
    joints.coordinate = arena.take<T>(padded);
    return joints;
}

template <class Which>
COUNTERPOISE_INLINE Joints<double> joints_of_one(const Model& model, const Which& which, const double* q, bool fast,
                                                 Arena& arena) {
    const Joints<double> joints = take_joints<double>(arena, model.bodies);
    load_one(model, which, q, fast, joints);
    return joints;
}

// Joint rates of the bodies, from rows of dq or ddq; null means zero.
template <class T>
COUNTERPOISE_INLINE void load_rates(const Model& model, const double* row, std::size_t stride, T* rate) {
    for (int i = 0; i < model.bodies; ++i) {
        const Body& body = model.body[i];
        if (row == nullptr)
            rate[i] = LaneTraits<T>::spread(0.0);
        else if (model.plain)
            rate[i] = LaneTraits<T>::load(row + i, stride);
        else
            rate[i] = LaneTraits<T>::load(row + body.q_index, stride) * body.q_gain;
        COUNTERPOISE_STATION(rate[i]);
    }
}

// Body torques to joint torques: a mimic adds gain times its own to its master.
template <class T>
COUNTERPOISE_INLINE void store_torques(const Model& model, const T* torque, T* gathered, double* row,
                                       std::size_t stride) {
    if (!model.plain) {
        for (int j = 0; j < model.n; ++j) gathered[j] = LaneTraits<T>::spread(0.0);
        for (int i = 0; i < model.bodies; ++i) {
            const Body& body = model.body[i];
            gathered[body.q_index] = gathered[body.q_index] + torque[i] * body.q_gain;
            COUNTERPOISE_STATION(gathered[body.q_index]);
        }
        torque = gathered;
    }
    for (int j = 0; j < model.n; ++j) {
        T whole = torque[j];
        COUNTERPOISE_STATION(whole);
        LaneTraits<T>::store(row + j, stride, whole);
    }
}

template <class T>
COUNTERPOISE_INLINE void store3(Vec3<T> v, double* row, std::size_t stride) {
    COUNTERPOISE_STATION(v.x);
    LaneTraits<T>::store(row, stride, v.x);
    LaneTraits<T>::store(row + 1, stride, v.y);
    LaneTraits<T>::store(row + 2, stride, v.z);
}

COUNTERPOISE_INLINE bool moves(const Poses& poses) {
    return poses.inputs[DQ].rows != nullptr || poses.inputs[DDQ].rows != nullptr;
}

// Checks the ranges of some poses. Sets `fast` when all angles allow the fast sine and cosine.
COUNTERPOISE_INLINE bool check_rows(const Model& model, const Input* inputs, int input_count, std::size_t first,
                                    std::size_t count, bool* fast) {
    *fast = in_range(inputs[0].rows + first * inputs[0].stride, count * inputs[0].width, model.fast_bound);
    bool good = *fast || in_range(inputs[0].rows + first * inputs[0].stride, count * inputs[0].width, INPUT_BOUND);
    for (int j = 1; j < input_count; ++j) {
        if (inputs[j].rows == nullptr) continue;
        const std::size_t rows = inputs[j].stride == 0 ? 1 : count;
        good = good && in_range(inputs[j].rows + first * inputs[j].stride, rows * inputs[j].width, INPUT_BOUND);
    }
    return good;
}

// Runs `op` on every pose: op.template run<T>(joints, rows, out, stride, arena) computes one pose or one lane block.
// A short last block works on copies of its poses padded to W, and its results are copied out.
template <class Op>
COUNTERPOISE_INLINE bool over_poses(const Model& model, const Op& op, const Poses& poses, double* out,
                                    std::size_t out_width, double* work) {
    constexpr int N = Op::INPUTS;
    const Input* const inputs = poses.inputs;
    const std::size_t count = poses.count;
    using Many = typename Op::Many;
    constexpr std::size_t W = LaneTraits<Many>::count;
    bool fast;
    if (count == ALONE) {
        if (!check_rows(model, inputs, N, 0, 1, &fast)) return false;
        Arena arena{work};
        const Joints<double> joints = joints_of_one(model, op.which(), inputs[0].rows, fast, arena);
        op.template run<double>(joints, inputs, out, 0, arena);
        COUNTERPOISE_STATION(out[0]);
        return true;
    }
    for (std::size_t first = 0; first < count; first += BLOCKS * W) {
        const std::size_t some = count - first < BLOCKS * W ? count - first : BLOCKS * W;
        if (!check_rows(model, inputs, N, first, some, &fast)) return false;
        for (std::size_t pose = first; pose < first + some; pose += W) {
            Arena arena{work};
            const Joints<Many> joints = take_joints<Many>(arena, model.bodies);
            const std::size_t present = first + some - pose;
            Input block[N];
            for (int j = 0; j < N; ++j) {
                block[j] = inputs[j];
                if (inputs[j].rows != nullptr) block[j].rows = inputs[j].rows + pose * inputs[j].stride;
            }
            double* target = out + pose * out_width;
            if (present < W) {
                for (int j = 0; j < N; ++j) {
                    if (inputs[j].rows == nullptr || inputs[j].stride == 0) continue;
                    double* copy = arena.take<double>(W * inputs[j].width);
                    for (std::size_t lane = 0; lane < W; ++lane) {
                        const std::size_t source = lane < present ? lane : present - 1;
                        memcpy(copy + lane * inputs[j].width, block[j].rows + source * inputs[j].stride,
                               sizeof(double) * inputs[j].width);
                    }
                    block[j].rows = copy;
                }
                target = arena.take<double>(W * out_width);
            }
            load_many(model, op.which(), block[0].rows, block[0].stride, fast, joints);
            op.template run<Many>(joints, block, target, out_width, arena);
            COUNTERPOISE_STATION(target[0]);
            if (present < W) {
                COUNTERPOISE_STATION(target[0]);
                memcpy(out + pose * out_width, target, sizeof(double) * present * out_width);
            }
        }
    }
    return true;
}

struct GravityOp {
    using Many = Pair;
    static constexpr int INPUTS = 1;
    const Model& model;
    All which() const { return {model}; }
    template <class T>
    COUNTERPOISE_INLINE void run(const Joints<T>& joints, const Input*, double* out, std::size_t stride,
                                 Arena arena) const {
        T* torque = arena.take<T>(model.bodies);
        Vec3<T>* gravity = arena.take<Vec3<T>>(model.bodies);
        COUNTERPOISE_STATION(joints.sine[0]);
        if (model.simple) {
            gravity_pass<T, true>(model, joints, torque, gravity, nullptr);
        } else {
            gravity_pass<T, false>(model, joints, torque, gravity, arena.take<Vec3<T>>(model.bodies));
        }
        store_torques(model, torque, arena.take<T>(model.n), out, stride);
    }
};

bool gravity(const Model& model, const Poses& poses, double* torque, double* work) {
    return over_poses(model, GravityOp{model}, poses, torque, model.n, work);
}

template <bool TORQUE>
struct NewtonEulerOp {
    using Many = Lanes;  // its state fills the registers once
    static constexpr int INPUTS = 3;
    const Model& model;
    All which() const { return {model}; }
    template <class T>
    COUNTERPOISE_INLINE void run(const Joints<T>& joints, const Input* inputs, double* out, std::size_t stride,
                                 Arena arena) const {
        T* rate = arena.take<T>(model.bodies);
        T* rate_change = arena.take<T>(model.bodies);
        T* torque = arena.take<T>(model.bodies);
        Motion<T>* motion = arena.take<Motion<T>>(model.bodies);
        Wrench<T>* wrench = arena.take<Wrench<T>>(model.bodies);
        load_rates(model, inputs[DQ].rows, inputs[DQ].stride, rate);
        load_rates(model, inputs[DDQ].rows, inputs[DDQ].stride, rate_change);
        Wrench<T> total;
        COUNTERPOISE_STATION(joints.sine[0]);
        if (model.simple)
            newton_euler_pass<T, true, TORQUE, !TORQUE>(model, joints, rate, rate_change, torque, &total, motion, wrench);
        else
            newton_euler_pass<T, false, TORQUE, !TORQUE>(model, joints, rate, rate_change, torque, &total, motion, wrench);
        if (TORQUE) {
            store_torques(model, torque, arena.take<T>(model.n), out, stride);
        } else {
            store3(total.force, out, stride);
            store3(total.moment, out + 3, stride);
        }
    }
};

bool inverse_dynamics(const Model& model, const Poses& poses, double* torque, double* work) {
    return over_poses(model, NewtonEulerOp<true>{model}, poses, torque, model.n, work);
}

// At rest: the weight, and minus the moment of gravity about the base origin.
struct StaticWrenchOp {
    using Many = Pair;
    static constexpr int INPUTS = 1;
    const Model& model;
    All which() const { return {model}; }
    template <class T>
    COUNTERPOISE_INLINE void run(const Joints<T>& joints, const Input*, double* out, std::size_t stride,
                                 Arena arena) const {
        Vec3<T> h = total_first_moment(model, joints, arena.take<Vec3<T>>(model.bodies));
        COUNTERPOISE_STATION(h.x);
        const Vec3<T> g = spread3<T>(model.gravity);
        store3(Vec3<T>{g.x * -model.total_mass, g.y * -model.total_mass, g.z * -model.total_mass}, out, stride);
        store3(cross(g, h), out + 3, stride);
    }
};

bool base_wrench(const Model& model, const Poses& poses, double* wrench, double* work) {
    if (!moves(poses)) return over_poses(model, StaticWrenchOp{model}, poses, wrench, 6, work);
    return over_poses(model, NewtonEulerOp<false>{model}, poses, wrench, 6, work);
}

struct CenterOfMassOp {
    using Many = Pair;
    static constexpr int INPUTS = 1;
    const Model& model;
    All which() const { return {model}; }
    template <class T>
    COUNTERPOISE_INLINE void run(const Joints<T>& joints, const Input*, double* out, std::size_t stride,
                                 Arena arena) const {
        Vec3<T> h = total_first_moment(model, joints, arena.take<Vec3<T>>(model.bodies));
        COUNTERPOISE_STATION(h.x);
        const double scale = model.total_mass > 0.0 ? 1.0 / model.total_mass : 0.0;
        store3(Vec3<T>{h.x * scale, h.y * scale, h.z * scale}, out, stride);
    }
};

bool center_of_mass(const Model& model, const Poses& poses, double* center, double* work) {
    return over_poses(model, CenterOfMassOp{model}, poses, center, 3, work);
}

struct WrenchTorqueOp {
    using Many = Pair;
    static constexpr int INPUTS = 4;
    const Model& model;
    const Point& point;
    Path which() const { return {point}; }
    template <class T>
    COUNTERPOISE_INLINE void run(const Joints<T>& joints, const Input* inputs, double* out, std::size_t stride,
                                 Arena arena) const {
        T* torque = arena.take<T>(point.depth);
        Vec3<T>* arm = arena.take<Vec3<T>>(point.depth);
        pass(joints, inputs[WRENCH], torque, arm, arena);
        // Joints off the path get nothing; a mimic adds gain times its own to its master.
        if (model.plain) {
            const T nothing = LaneTraits<T>::spread(0.0);
            if (point.depth < model.n)
                for (int j = 0; j < model.n; ++j) LaneTraits<T>::store(out + j, stride, nothing);
            for (int d = 0; d < point.depth; ++d) {
                COUNTERPOISE_STATION(torque[d]);
                LaneTraits<T>::store(out + point.path[d], stride, torque[d]);
            }
            return;
        }
        T* gathered = arena.take<T>(model.n);
        for (int j = 0; j < model.n; ++j) gathered[j] = LaneTraits<T>::spread(0.0);
        for (int d = 0; d < point.depth; ++d) {
            const Body& body = model.body[point.path[d]];
            gathered[body.q_index] = gathered[body.q_index] + torque[d] * body.q_gain;
        }
        for (int j = 0; j < model.n; ++j) {
            COUNTERPOISE_STATION(gathered[j]);
            LaneTraits<T>::store(out + j, stride, gathered[j]);
        }
    }

    void pass(const Joints<double>& joints, const Input& wrench, double* torque, Vec3<double>* arm, Arena& arena) const {
        wrench_pass_of_one(model, point, joints, wrench.rows, torque, arena.take<Vec3<Lanes>>(point.depth), arm);
    }
    template <class Many>
    COUNTERPOISE_INLINE void pass(const Joints<Many>& joints, const Input& wrench, Many* torque, Vec3<Many>* arm,
                                  Arena& arena) const {
        const double* w = wrench.rows;
        const auto component = [&](int c) { return LaneTraits<Many>::load(w + c, wrench.stride); };
        Wrench<Many> applied = {{component(0), component(1), component(2)},
                                {component(3), component(4), component(5)}};
        COUNTERPOISE_STATION(applied.force.x);
        wrench_pass(model, point, joints, applied, torque, arena.take<Wrench<Many>>(point.depth), arm);
    }
};

bool wrench_torque(const Model& model, const Poses& poses, double* torque, double* work) {
    return over_poses(model, WrenchTorqueOp{model, *poses.point}, poses, torque, model.n, work);
}

// Rates of the bodies; those of one pose without mimics are read where they lie.
template <class T>
COUNTERPOISE_INLINE const T* rates_of(const Model& model, const Input& input, Arena& arena) {
    if (sizeof(T) == sizeof(double) && model.plain && input.rows != nullptr)
        return reinterpret_cast<const T*>(input.rows);
    T* rates = arena.take<T>(model.bodies);
    load_rates(model, input.rows, input.stride, rates);
    return rates;
}

// The wrench itself, or, with a frame, what becomes of the reading.
template <class T>
COUNTERPOISE_INLINE Wrench<T> wrench_on_robot(const Input& input, const double* frame) {
    const auto component = [&](int c) { return LaneTraits<T>::load(input.rows + c, input.stride); };
    T w[6] = {component(0), component(1), component(2), component(3), component(4), component(5)};
    if (frame != nullptr) {
        const T reading[6] = {w[0], w[1], w[2], w[3], w[4], w[5]};
        for (int row = 0; row < 6; ++row) {
            w[row] = LaneTraits<T>::spread(-frame[36 + row]);
            for (int column = 0; column < 6; ++column) w[row] = w[row] + reading[column] * frame[6 * row + column];
            COUNTERPOISE_STATION(w[row]);
        }
    }
    COUNTERPOISE_STATION(w[4]);
    return {{w[0], w[1], w[2]}, {w[3], w[4], w[5]}};
}

// MOVING: with the motion of the links; else the robot is at rest.
template <bool MOVING>
struct BaseTorquesOp {
    using Many = Lanes;
    static constexpr int INPUTS = 5;
    const Model& model;
    All which() const { return {model}; }
    template <class T>
    COUNTERPOISE_INLINE void run(const Joints<T>& joints, const Input* inputs, double* out, std::size_t stride,
                                 Arena arena) const {
        T* torque = arena.take<T>(model.bodies);
        Wrench<T>* wrench = arena.take<Wrench<T>>(model.bodies);
        const T* rate = MOVING ? rates_of<T>(model, inputs[DQ], arena) : nullptr;
        const T* rate_change = MOVING ? rates_of<T>(model, inputs[DDQ], arena) : nullptr;
        const Wrench<T> measured = wrench_on_robot<T>(inputs[WRENCH], inputs[FRAME].rows);
        if (model.simple) {
            plate_pass_of_chain<T, true, MOVING>(model, joints, rate, rate_change, measured, torque, wrench);
        } else if (model.chain) {
            plate_pass_of_chain<T, false, MOVING>(model, joints, rate, rate_change, measured, torque, wrench);
        } else {
            Motion<T>* motion = MOVING ? arena.take<Motion<T>>(model.bodies) : nullptr;
            Vec3<T>* moment = arena.take<Vec3<T>>(model.bodies);
            if (model.rotary)
                plate_pass_of_tree<T, true, MOVING>(model, joints, rate, rate_change, measured, torque, motion, wrench,
                                                    moment);
            else
                plate_pass_of_tree<T, false, MOVING>(model, joints, rate, rate_change, measured, torque, motion, wrench,
                                                     moment);
        }
        store_torques(model, torque, arena.take<T>(model.n), out, stride);
    }
};

bool base_torques(const Model& model, const Poses& poses, double* torque, double* work) {
    if (!moves(poses)) return over_poses(model, BaseTorquesOp<false>{model}, poses, torque, model.n, work);
    return over_poses(model, BaseTorquesOp<true>{model}, poses, torque, model.n, work);
}

// Runs `op(joints, pose, arena)` on one pose after the other; INPUTS is how many of the inputs it needs.
template <int INPUTS, class Which, class Op>
COUNTERPOISE_INLINE bool one_by_one(const Model& model, const Which& which, const Op& op, const Poses& poses,
                                    double* work) {
    const std::size_t count = poses.count == ALONE ? 1 : poses.count;
    for (std::size_t pose = 0; pose < count; ++pose) {
        bool fast;
        if (!check_rows(model, poses.inputs, INPUTS, pose, 1, &fast)) return false;
        Arena arena{work};
        const double* q = poses.inputs[Q].rows + pose * poses.inputs[Q].stride;
        const Joints<double> joints = joints_of_one(model, which, q, fast, arena);
        COUNTERPOISE_STATION(joints.sine[0]);
        op(joints, pose, arena);
    }
    return true;
}

bool forward_kinematics(const Model& model, const Poses& poses, double* pose, double* work) {
    const Point& point = *poses.point;
    const auto op = [&](const Joints<double>& joints, std::size_t k, Arena arena) {
        link_pose(model, point, joints, arena.take<Placed>(point.depth), pose + 16 * k);
    };
    return one_by_one<1>(model, Path{point}, op, poses, work);
}

bool jacobian(const Model& model, const Poses& poses, double* matrix, double* work) {
    const Point& point = *poses.point;
    const auto op = [&](const Joints<double>& joints, std::size_t k, Arena arena) {
        link_jacobian(model, point, joints, arena.take<Placed>(point.depth), matrix + 6 * (std::size_t)model.n * k);
    };
    return one_by_one<1>(model, Path{point}, op, poses, work);
}

bool gravity_regressor(const Model& model, const Poses& poses, double* regressor, double* work) {
    const std::size_t size = 4 * (std::size_t)model.n * model.bodies;
    const auto op = [&](const Joints<double>& joints, std::size_t k, Arena arena) {
        Vec3<double>* gravity_of = arena.take<Vec3<double>>(model.bodies);
        double* levels = arena.take<double>(((std::size_t)model.depth + 1) * level_doubles(model.depth));
        int* path = reinterpret_cast<int*>(arena.take<double>(model.depth));
        gravity_regressor_rows(model, joints, gravity_of, levels, path, regressor + size * k);
    };
    return one_by_one<1>(model, All{model}, op, poses, work);
}

// Runs `fill(model, joints, rate, rate_change, placed, motion, rows)` on one motion after the other; `size` is that of a
// result.
template <class Fill>
COUNTERPOISE_INLINE bool motions_one_by_one(const Model& model, const Fill& fill, std::size_t size, const Poses& poses,
                                            double* regressor, double* work) {
    const auto op = [&](const Joints<double>& joints, std::size_t k, Arena arena) {
        double* rates[2] = {arena.take<double>(model.bodies), arena.take<double>(model.bodies)};
        for (int j = 0; j < 2; ++j) {
            const Input& rows = poses.inputs[DQ + j];
            load_rates(model, rows.rows == nullptr ? nullptr : rows.rows + rows.stride * k, 0, rates[j]);
        }
        Placed* placed = arena.take<Placed>(model.bodies);
        PlacedMotion* motion = arena.take<PlacedMotion>(model.bodies);
        fill(model, joints, rates[0], rates[1], placed, motion, regressor + size * k);
    };
    return one_by_one<3>(model, All{model}, op, poses, work);
}

bool inertial_regressor(const Model& model, const Poses& poses, double* regressor, double* work) {
    const std::size_t size = 10 * (std::size_t)model.bodies * model.n;
    return motions_one_by_one(model, inertial_regressor_rows, size, poses, regressor, work);
}

bool base_wrench_regressor(const Model& model, const Poses& poses, double* regressor, double* work) {
    const std::size_t size = 60 * ((std::size_t)model.bodies + 1);
    return motions_one_by_one(model, base_wrench_regressor_rows, size, poses, regressor, work);
}

}  // namespace
}  // namespace COUNTERPOISE_ISA

#define COUNTERPOISE_TEXT_OF(x) #x
#define COUNTERPOISE_TEXT(x) COUNTERPOISE_TEXT_OF(x)
const Kernels COUNTERPOISE_TABLE = {
    COUNTERPOISE_TEXT(COUNTERPOISE_ISA),
    COUNTERPOISE_LANES,
    COUNTERPOISE_ISA::work_doubles,
#define X(name) COUNTERPOISE_ISA::name,
    COUNTERPOISE_OPERATIONS(X)
#undef X
};

}  // namespace counterpoise
