// The safety filter's arithmetic, joint by joint. It repeats counterpoise/control/filter_core.py, which is the
// specification, bit by bit: same order of checks, same order of operations, no contraction of products into sums.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "../arguments.hpp"

#ifdef __FAST_MATH__
#error "the safety filter must see NaN and infinity: compile it without -ffast-math"
#endif

namespace counterpoise {

constexpr double LARGEST_INPUT = 1e9;
constexpr double RATE_MARGIN = 1e-6;
constexpr double JUMP_FACTOR = 1.5;
constexpr double LAG_LEAK = 0.01;
constexpr int FLAG_COUNT = 7;

// Only those that a sample can have: of the tick's other faults the filter knows nothing.
#define SAMPLE_FAULTS(X) \
    X(NONE, 0) X(SAMPLE_MALFORMED, 1) X(Q_INVALID, 2) X(TIME_INVALID, 3) X(TIME_REPEATED, 4) X(TIME_BACKWARDS, 5) \
    X(Q_JUMPED, 6) X(FROZEN, 7) X(DQ_INVALID, 16) X(LATE, 17) X(OUTSIDE_LIMITS, 32) X(OVER_SPEED, 33) \
    X(TAU_INVALID, 34) X(WRENCH_INVALID, 35) X(WRENCH_SATURATED, 36) X(TIME_GAP, 37)
#define SAMPLE_FLAGS(X) \
    X(Q_INVALID, 1) X(DQ_INVALID, 2) X(TAU_INVALID, 4) X(WRENCH_INVALID, 8) X(WRENCH_SATURATED, 16) X(STALE, 32)
#define FILTER_FLAGS(X) \
    X(SATURATED, 1) X(RATE_LIMITED, 2) X(LIMIT_SHRUNK, 4) X(NON_FINITE, 8) X(MALFORMED, 16) X(HELD, 32) \
    X(CHANGED_BY_PLANT, 64)

enum Fault { SAMPLE_FAULTS(COUNTERPOISE_ENUMERATOR) };
struct SampleFlag {
    enum : int { SAMPLE_FLAGS(COUNTERPOISE_ENUMERATOR) };
};
enum FilterFlag { FILTER_FLAGS(COUNTERPOISE_ENUMERATOR) };

// One row of numbers with its stride: arrays need not be contiguous.
struct Row {
    const char* data = nullptr;
    std::ptrdiff_t stride = 0;
    double operator[](int i) const { return *reinterpret_cast<const double*>(data + i * stride); }
};

struct Readings {
    double time = 0.0;
    Row q, dq, tau, wrench;  // wrench.data is null where there is no plate
    long flags = 0;
};

struct Filter {
    int n = 0;
    bool uses_wrench = false;
    int fault_joint = -1;
    double fault_value = 0.0;

    std::vector<double> lower, upper, velocity_limit, step, wrench_range, most_effort;
    double jump_slack = 0.0, max_gap = 0.0, max_lag = 0.0, frozen_travel = 0.0, frozen_torque = 0.0;
    long frozen_ticks = 0;

    // Memory of NumPy arrays that Python sees.
    double *effort_limit = nullptr, *out = nullptr, *last = nullptr;
    std::int32_t* joint_flags = nullptr;
    std::int64_t* counts = nullptr;

    bool started = false;
    double time = 0.0, offset = 0.0, seen_time = 0.0, all_same_since = 0.0;
    long all_same = 0;
    std::vector<double> q, seen_q, seen_dq, seen_tau, same_since, last_then;
    std::vector<long> same;

    void forget() {
        started = false;
        time = offset = seen_time = all_same_since = 0.0;
        all_same = 0;
        for (auto* row : {&q, &seen_q, &seen_dq, &seen_tau, &same_since, &last_then}) row->assign(n, 0.0);
        same.assign(n, 0);
    }

    static double clipped(double value, double limit) { return std::fabs(value) > limit ? std::copysign(limit, value) : value; }

    void start_from(Row tau) {
        for (int j = 0; j < n; ++j) last[j] = out[j] = std::isfinite(tau[j]) ? clipped(tau[j], effort_limit[j]) : 0.0;
    }

    void set_effort_limit(Row limit) {
        for (int j = 0; j < n; ++j) {
            const double most = most_effort[static_cast<std::size_t>(j)];
            effort_limit[j] = limit[j] > 0.0 ? (limit[j] < most ? limit[j] : most) : 0.0;
        }
    }

    int bad(Fault fault, int joint = -1, double value = 0.0) {
        fault_joint = joint;
        fault_value = value;
        return fault;
    }

    int check(const Readings& now_read, double now) {
        int fault = check_position_and_time(now_read);
        if (fault == NONE && started) {
            fault = check_jump(now_read);
            if (fault == NONE) fault = check_frozen(now_read);
        }
        if (fault != NONE) return fault;
        double gap = 0.0, lag = 0.0;
        follow(now_read, now, gap, lag);
        if ((fault = check_velocity_and_lag(now_read, lag)) != NONE) return fault;
        if ((fault = check_limits(now_read)) != NONE) return fault;
        if (uses_wrench && (fault = check_wrench(now_read)) != NONE) return fault;
        return gap > max_gap ? bad(TIME_GAP, -1, gap) : NONE;
    }

    int check_position_and_time(const Readings& read) {
        if (read.flags & SampleFlag::Q_INVALID) return bad(Q_INVALID);
        for (int j = 0; j < n; ++j)
            if (!(std::fabs(read.q[j]) <= LARGEST_INPUT)) return bad(Q_INVALID, j, read.q[j]);
        if (!std::isfinite(read.time)) return bad(TIME_INVALID, -1, read.time);
        if (started) {
            const double gap = read.time - time;
            if (gap == 0.0 || (read.flags & SampleFlag::STALE)) return bad(TIME_REPEATED, -1, gap);
            if (gap < 0.0) return bad(TIME_BACKWARDS, -1, gap);
        }
        return NONE;
    }

    int check_jump(const Readings& read) {
        const double gap = read.time - time;
        for (int j = 0; j < n; ++j) {
            const double moved = read.q[j] - q[j];
            if (std::fabs(moved) > JUMP_FACTOR * velocity_limit[j] * gap + jump_slack) return bad(Q_JUMPED, j, moved);
        }
        return NONE;
    }

    int check_frozen(const Readings& read) {
        int fault = NONE;
        bool every = true;
        for (int j = 0; j < n; ++j) {
            const bool alike = read.q[j] == seen_q[j] && read.dq[j] == seen_dq[j];
            every = every && alike && read.tau[j] == seen_tau[j];
            if (!alike) {
                same[j] = 0;
                continue;
            }
            if (same[j] == 0) same_since[j] = seen_time;
            ++same[j];
            const double elapsed = read.time - same_since[j];
            const bool travelled = std::fabs(read.dq[j]) * elapsed > frozen_travel;
            if (fault == NONE && travelled && same[j] >= frozen_ticks) fault = bad(FROZEN, j, elapsed);
        }
        if (!every) {
            all_same = 0;
        } else {
            if (all_same == 0) {
                all_same_since = seen_time;
                last_then.assign(last, last + n);
            }
            ++all_same;
            if (fault == NONE && all_same >= frozen_ticks && !(read.flags & SampleFlag::TAU_INVALID)) {
                for (int j = 0; j < n; ++j) {
                    const double change = std::fabs(last[j] - last_then[j]);
                    if (fault == NONE && change > frozen_torque * effort_limit[j])
                        fault = bad(FROZEN, j, read.time - all_same_since);
                }
            }
        }
        see(read);
        return fault;
    }

    void see(const Readings& read) {
        seen_time = read.time;
        for (int j = 0; j < n; ++j) {
            seen_q[j] = read.q[j];
            seen_dq[j] = read.dq[j];
            seen_tau[j] = read.tau[j];
        }
    }

    void follow(const Readings& read, double now, double& gap, double& lag) {
        if (!started) {
            started = true;
            offset = now - read.time;
            see(read);
        } else {
            gap = read.time - time;
        }
        if (gap <= max_gap) {
            const double age = now - read.time, drifted = offset + LAG_LEAK * gap;
            offset = age < drifted ? age : drifted;
            lag = age - offset;
            time = read.time;
            for (int j = 0; j < n; ++j) q[j] = read.q[j];
        }
    }

    int check_velocity_and_lag(const Readings& read, double lag) {
        if (read.flags & SampleFlag::DQ_INVALID) return bad(DQ_INVALID);
        for (int j = 0; j < n; ++j)
            if (!(std::fabs(read.dq[j]) <= LARGEST_INPUT)) return bad(DQ_INVALID, j, read.dq[j]);
        return lag > max_lag ? bad(LATE, -1, lag) : NONE;
    }

    int check_limits(const Readings& read) {
        for (int j = 0; j < n; ++j)
            if (!(lower[j] <= read.q[j] && read.q[j] <= upper[j])) return bad(OUTSIDE_LIMITS, j, read.q[j]);
        for (int j = 0; j < n; ++j)
            if (std::fabs(read.dq[j]) > velocity_limit[j]) return bad(OVER_SPEED, j, read.dq[j]);
        for (int j = 0; j < n; ++j)
            if (!((read.flags & SampleFlag::TAU_INVALID) || std::fabs(read.tau[j]) <= LARGEST_INPUT))
                return bad(TAU_INVALID, j, read.tau[j]);
        return NONE;
    }

    int check_wrench(const Readings& read) {
        if (read.wrench.data == nullptr || (read.flags & SampleFlag::WRENCH_INVALID)) return bad(WRENCH_INVALID);
        for (int c = 0; c < 6; ++c)
            if (!(std::fabs(read.wrench[c]) <= LARGEST_INPUT)) return bad(WRENCH_INVALID, c, read.wrench[c]);
        for (int c = 0; c < 6; ++c)
            if (std::fabs(read.wrench[c]) >= wrench_range[c]) return bad(WRENCH_SATURATED, c, read.wrench[c]);
        return (read.flags & SampleFlag::WRENCH_SATURATED) ? bad(WRENCH_SATURATED) : NONE;
    }

    // Sums the torques into out, which serves as scratch until send() rewrites it.
    int limit(const Row* torques, int count) {
        bool finite = true;
        for (int j = 0; j < n; ++j) {
            double total = 0.0;
            for (int i = 0; i < count; ++i) total += torques[i][j];
            out[j] = total;
            joint_flags[j] = std::isfinite(total) ? 0 : NON_FINITE;
            finite = finite && std::isfinite(total);
        }
        if (!finite) return hold(0, true);
        return send();
    }

    int hold(int why, bool keep = false) {
        for (int j = 0; j < n; ++j) {
            out[j] = last[j];
            joint_flags[j] = (keep ? joint_flags[j] : why) | HELD;
        }
        return send();
    }

    int send() {
        int raised = 0;
        for (int j = 0; j < n; ++j) {
            double value = out[j];
            std::int32_t flags = joint_flags[j];
            if (std::fabs(value) > effort_limit[j]) {
                value = std::copysign(effort_limit[j], value);
                flags |= SATURATED;
            }
            if (std::fabs(value - last[j]) > step[j]) {
                value = value > last[j] ? last[j] + step[j] : last[j] - step[j];
                if (std::fabs(value - last[j]) > step[j]) value = std::nextafter(value, last[j]);
                flags |= RATE_LIMITED;
            }
            if (std::fabs(value) > effort_limit[j]) {
                value = std::copysign(effort_limit[j], value);
                flags |= LIMIT_SHRUNK;
            }
            out[j] = last[j] = std::isfinite(value) ? value : 0.0;
            joint_flags[j] = flags;
            for (int bit = 0; bit < FLAG_COUNT; ++bit) counts[bit * n + j] += (flags >> bit) & 1;
            raised |= flags;
        }
        return raised;
    }

    int sent(Row tau, bool ready) {
        int raised = 0;
        for (int j = 0; j < n; ++j) {
            const double value = ready ? tau[j] : NAN;
            if (value == out[j]) continue;
            raised = CHANGED_BY_PLANT;
            joint_flags[j] |= CHANGED_BY_PLANT;
            counts[(FLAG_COUNT - 1) * n + j] += 1;
            if (std::isfinite(value)) last[j] = clipped(value, effort_limit[j]);
        }
        return raised;
    }
};

}  // namespace counterpoise
