// One joint's drive, stepped in time: amplifier, motor or valve, friction, gear, brake, end stop, warmth.
//
// The equations are those of counterpoise/plants/reference.py, in the same order; a test compares the two step by step. All
// quantities are reflected to the link side: rad and N m for a rotary joint, m and N for a linear one.
#pragma once

#include <algorithm>
#include <cmath>

#include "../arguments.hpp"

namespace counterpoise {

#define DRIVE_PARAMETERS(X)                                                                                            \
    X(inertia)                                                                                                         \
    X(coulomb) X(static_level) X(viscous) X(coulomb_negative) X(static_negative) X(viscous_negative)                   \
    X(stribeck_velocity) X(exponent) X(bristle_stiffness) X(bristle_damping)                                           \
    X(load) X(coulomb_per_kelvin) X(viscous_per_kelvin) X(reference_temperature)                                       \
    X(ambient) X(heating) X(cooling_time)                                                                              \
    X(gear_stiffness) X(gear_damping) X(half_backlash)                                                                 \
    X(limit) X(lag) X(gain) X(offset) X(ripple) X(cogging) X(cycles) X(phase)                                          \
    X(valve) X(free_speed) X(hydraulic_stiffness) X(supply) X(leakage) X(overlap)                                      \
    X(brake_torque) X(brake_stiffness) X(brake_damping)                                                                \
    X(lower) X(upper) X(stop_stiffness) X(stop_damping)

#define DRIVE_STATES(X)                                                                                                \
    X(motor_position) X(motor_velocity) X(bristle) X(amplifier) X(temperature) X(pressure_torque)                      \
    X(brake) X(brake_bristle) X(gear_torque) X(friction_torque) X(motor_torque)

struct Drive {
    DRIVE_PARAMETERS(COUNTERPOISE_FIELD)
};
struct DriveState {
    DRIVE_STATES(COUNTERPOISE_FIELD)
};

constexpr double LEAST_TEMPERATURE_FACTOR = 0.05;
constexpr double LEAST_OPENING_ROOT = 0.05;  // keeps the slope of the orifice's square root finite where it closes

// Bristle deflection after dt at velocity v: the exact solution of z' = v - stiffness |v| z / level with v held.
inline double bent(double z, double v, double level, double stiffness, double dt) {
    if (!(level > 0.0)) return 0.0;
    const double target = std::copysign(level / stiffness, v);
    return z - (target - z) * std::expm1(-stiffness * std::fabs(v) * dt / level);
}

inline double bristle_torque(double z, double v, double level, double stiffness, double damping) {
    if (!(level > 0.0)) return 0.0;
    return stiffness * z + damping * (v - stiffness * std::fabs(v) * z / level);
}

// Actuator torque of a hydraulic cylinder or vane behind a flow valve, after dt at joint velocity v.
inline double valve_torque(const Drive& p, double amplifier, double torque, double v, double dt) {
    const double command = std::clamp(amplifier / p.limit, -1.0, 1.0);
    const double opening = std::copysign(std::fmax(0.0, std::fabs(command) - p.overlap) / (1.0 - p.overlap), command);
    const double drop = std::fmax(0.0, 1.0 - std::copysign(1.0, opening) * torque / p.supply);
    const double root = std::sqrt(drop);
    const double slope = p.free_speed * std::fabs(opening) / (2.0 * p.supply * std::fmax(root, LEAST_OPENING_ROOT));
    const double rate = p.hydraulic_stiffness * (p.free_speed * opening * root - v) - p.leakage * torque;
    const double next = torque + dt * rate / (1.0 + dt * (p.leakage + p.hydraulic_stiffness * slope));
    return std::clamp(next, -p.supply, p.supply);
}

// Torque on the link over the next dt; moves the drive's own state on by dt. `decay` is exp(-dt / lag), 0 without lag.
inline double step_drive(const Drive& p, DriveState& s, double command, double q, double dq, double decay, double dt) {
    const bool rigid = std::isinf(p.gear_stiffness);
    if (rigid) {
        s.motor_position = q;
        s.motor_velocity = dq;
    }
    const double x = s.motor_position, v = s.motor_velocity;

    // Amplifier and actuator.
    const double wanted = std::clamp(command, -p.limit, p.limit);
    s.amplifier = wanted + (s.amplifier - wanted) * decay;
    double motor;
    if (p.valve != 0.0) {
        s.pressure_torque = valve_torque(p, s.amplifier, s.pressure_torque, v, dt);
        motor = s.pressure_torque;
    } else {
        motor = s.amplifier * p.gain + p.offset;
        if (p.ripple != 0.0 || p.cogging != 0.0)
            motor += (s.amplifier * p.gain * p.ripple + p.cogging) * std::sin(p.cycles * x + p.phase);
    }

    // Friction on the motor side of the gear.
    const double warmth = s.temperature - p.reference_temperature;
    const bool backward = v < 0.0;
    const double sliding = backward ? p.coulomb_negative : p.coulomb;
    const double breakaway = backward ? p.static_negative : p.static_level;
    const double ratio = std::fabs(v) / p.stribeck_velocity;
    const double fade = std::exp(p.exponent == 2.0 ? -ratio * ratio : -std::pow(ratio, p.exponent));
    const double warm = std::fmax(LEAST_TEMPERATURE_FACTOR, 1.0 + p.coulomb_per_kelvin * warmth);
    const double level = warm * (sliding + (breakaway - sliding) * fade) + p.load * std::fabs(s.gear_torque);
    const double thin = p.viscous_per_kelvin == 0.0 ? 1.0 : std::exp(-p.viscous_per_kelvin * warmth);
    const double viscous = (backward ? p.viscous_negative : p.viscous) * thin;
    s.bristle = bent(s.bristle, v, level, p.bristle_stiffness, dt);
    double friction = bristle_torque(s.bristle, v, level, p.bristle_stiffness, p.bristle_damping) + viscous * v;
    double slope = p.bristle_damping + viscous;
    if (s.brake != 0.0) {
        s.brake_bristle = bent(s.brake_bristle, v, p.brake_torque, p.brake_stiffness, dt);
        friction += bristle_torque(s.brake_bristle, v, p.brake_torque, p.brake_stiffness, p.brake_damping);
        slope += p.brake_damping;
    }

    // Gear.
    double gear;
    if (rigid) {
        gear = motor - friction;
    } else {
        const double twist = x - q;
        const double wound = std::copysign(std::fmax(0.0, std::fabs(twist) - p.half_backlash), twist);
        gear = p.gear_stiffness * wound + p.gear_damping * (v - dq);
        // Teeth push and never pull; between them, in the play, only the film of oil drags.
        if (p.half_backlash > 0.0 && wound != 0.0) gear = wound > 0.0 ? std::fmax(gear, 0.0) : std::fmin(gear, 0.0);
        s.motor_velocity += dt * (motor - friction - gear) / (p.inertia + dt * (slope + p.gear_damping));
        s.motor_position += dt * s.motor_velocity;
    }

    // Warmth.
    if (p.heating != 0.0 || s.temperature != p.ambient)
        s.temperature += dt * (p.heating * friction * v + p.ambient - s.temperature) / p.cooling_time;

    s.gear_torque = gear;
    s.friction_torque = friction;
    s.motor_torque = motor;

    // End stops act on the link.
    double link = gear;
    if (q > p.upper)
        link += std::fmin(0.0, p.stop_stiffness * (p.upper - q) - p.stop_damping * dq);
    else if (q < p.lower)
        link += std::fmax(0.0, p.stop_stiffness * (p.lower - q) - p.stop_damping * dq);
    return link;
}

}  // namespace counterpoise
