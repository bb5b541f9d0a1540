// One link on one drive on a plate that yields about the same axis: the equations of counterpoise/plants/reference.py.
#pragma once

#include <cmath>

#include "drive.hpp"

namespace counterpoise {

#define LINK_PARAMETERS(X)                                                                                             \
    X(inertia) X(gravity) X(gravity_angle) X(base_inertia) X(plate_stiffness) X(plate_damping)                         \
    X(b0) X(b1) X(b2) X(a1) X(a2)

#define LINK_STATES(X)                                                                                                 \
    X(position) X(velocity) X(acceleration) X(base_position) X(base_velocity) X(push) X(moment) X(reading) X(first) X(second)

struct Link {
    LINK_PARAMETERS(COUNTERPOISE_FIELD)
};
struct LinkState {
    LINK_STATES(COUNTERPOISE_FIELD)
};

// Direct form II transposed of a second-order filter.
inline double filtered(double input, double b0, double b1, double b2, double a1, double a2, double& first, double& second) {
    const double output = b0 * input + first;
    first = b1 * input - a1 * output + second;
    second = b2 * input - a2 * output;
    return output;
}

inline void step_link(const Drive& drive, DriveState& ds, const Link& p, LinkState& s, double command, double decay, double dt) {
    const double torque = step_drive(drive, ds, command, s.position, s.velocity, decay, dt);
    const double rotor = std::isinf(drive.gear_stiffness) ? drive.inertia : 0.0;
    // What gravity and a push do to the link, about the axis.
    const double outside = s.push - p.gravity * std::sin(s.position + s.base_position + p.gravity_angle);
    if (std::isinf(p.plate_stiffness)) {
        s.acceleration = (torque + outside) / (p.inertia + rotor);
        s.moment = p.inertia * s.acceleration - outside;
    } else {
        // [Jl + rotor, Jl; Jl, Jl + Jb + dt D] [joint; base] = [torque + outside; outside - K x - D v]
        const double a = p.inertia + rotor, b = p.inertia, d = p.inertia + p.base_inertia + dt * p.plate_damping;
        const double upper = torque + outside;
        const double lower = outside - p.plate_stiffness * s.base_position - p.plate_damping * s.base_velocity;
        const double determinant = a * d - b * b;
        s.acceleration = (d * upper - b * lower) / determinant;
        s.base_velocity += dt * (a * lower - b * upper) / determinant;
        s.base_position += dt * s.base_velocity;
        s.moment = -p.plate_stiffness * s.base_position;
    }
    s.velocity += dt * s.acceleration;
    s.position += dt * s.velocity;
    s.reading = filtered(s.moment, p.b0, p.b1, p.b2, p.a1, p.a2, s.first, s.second);
}

}  // namespace counterpoise
