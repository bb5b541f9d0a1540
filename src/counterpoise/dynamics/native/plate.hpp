// Joint torques from the wrench under the base: what counterpoise/base_sensor/analyzer_terms.py specifies, for speed.
//
// On a chain the links' dynamic wrenches are taken off one after the other on the way outwards, as the patent and Morel
// (2000), eqs. (5) to (9), write it: one pass, no sums to bring back. On a tree every other branch counts as well; there
// the identity tau_d = (M ddq + C dq) + A (w_d - w of all links) is shorter, with a pass inwards and one outwards.
#pragma once

#include "recursions.hpp"

namespace counterpoise {
namespace COUNTERPOISE_ISA {

// Subtracts the model's gravity wrench, (-M g, g x h), h the robot's first moment about the base origin.
template <class T>
COUNTERPOISE_INLINE void take_off_gravity(const Model& model, const Vec3<T>& h, Wrench<T>* w) {
    const Vec3<T> g = spread3<T>(model.gravity);
    const Vec3<T> moment = cross(g, h);
    w->force = {w->force.x + g.x * model.total_mass, w->force.y + g.y * model.total_mass,
                w->force.z + g.z * model.total_mass};
    w->moment = w->moment - moment;
}

// The wrench at a body's origin in its axes, from that at its parent's.
template <class T, bool SIMPLE>
COUNTERPOISE_INLINE Wrench<T> moved_outwards(const Body& body, const Joints<T>& joints, int i, const Wrench<T>& w) {
    const Vec3<T> r = SIMPLE ? spread3<T>(body.origin) : origin_in_parent(body, joints, i);
    return {from_parent(body, joints, i, w.force), from_parent(body, joints, i, w.moment - cross(r, w.force))};
}

// A chain. `w` is the wrench on the robot at the base origin. The links' motion goes outwards while the first moment, for
// gravity, comes inwards beside it: neither waits for the other.
template <class T, bool SIMPLE, bool MOVING>
COUNTERPOISE_INLINE void plate_pass_of_chain(const Model& model, const Joints<T>& joints, const T* rate,
                                             const T* rate_change, bool gravity, Wrench<T> w, T* torque,
                                             Wrench<T>* wrench) {
    const int bodies = model.bodies;
    const T nought = LaneTraits<T>::spread(0.0);
    const Vec3<T> zero = {nought, nought, nought};
    Motion<T> motion = {zero, zero, zero};
    Vec3<T> h = zero;
    if (MOVING || gravity) {
        for (int i = 0, e = bodies - 1; i < bodies; ++i, --e) {
            if (MOVING) wrench[i] = motion_step<T, SIMPLE>(model, joints, i, rate[i], rate_change[i], &motion);
            if (gravity) {
                const Body& body = model.body[e];
                h = h + spread3<T>(body.carried_moment);
                if (!SIMPLE && body.kind == PRISMATIC) h.z = h.z + joints.coordinate[e] * body.carried_mass;
                h = to_parent(body, joints, e, h);
            }
        }
    }
    if (gravity) {
        h = h + spread3<T>(model.base_first_moment);
        if (bodies > 0) {
            const Body& first = model.body[0];
            h.x = h.x + first.carried_mass * first.origin[0];
            h.y = h.y + first.carried_mass * first.origin[1];
            h.z = h.z + first.carried_mass * first.origin[2];
        }
        take_off_gravity(model, h, &w);
    }
    for (int i = 0; i < bodies; ++i) {
        const Body& body = model.body[i];
        w = moved_outwards<T, SIMPLE>(body, joints, i, w);
        torque[i] = SIMPLE || body.kind == REVOLUTE ? w.moment.z : w.force.z;
        if (MOVING) w = {w.force - wrench[i].force, w.moment - wrench[i].moment};
    }
}

// First moment of what a body carries, handed on to its parent: called for the bodies from the last to the first. `moment`
// has one place per body, zero where a body branches; the sum about the base origin ends up in `total`.
template <class T>
COUNTERPOISE_INLINE void moment_step(const Model& model, const Joints<T>& joints, int i, Vec3<T>* moment,
                                     Vec3<T>* total) {
    const Body& body = model.body[i];
    Vec3<T> h = spread3<T>(body.carried_moment);
    const bool tip = i + 1 == model.bodies || model.body[i + 1].parent != i;
    if (!tip || body.branches) h = h + moment[i];
    if (body.kind == PRISMATIC) h.z = h.z + joints.coordinate[i] * body.carried_mass;
    h = to_parent(body, joints, i, h);
    if (body.parent >= 0) {
        moment[body.parent] = model.body[body.parent].branches ? moment[body.parent] + h : h;
        return;
    }
    total->x = total->x + (h.x + body.carried_mass * body.origin[0]);
    total->y = total->y + (h.y + body.carried_mass * body.origin[1]);
    total->z = total->z + (h.z + body.carried_mass * body.origin[2]);
}

// Any tree. The first moment comes inwards beside the links' wrenches. On the way outwards the force, the moment and the
// way back to the base origin, p, turn side by side; the torque is z.(m + p x f). ROTARY: no joint is linear.
template <class T, bool ROTARY, bool MOVING>
COUNTERPOISE_INLINE void plate_pass_of_tree(const Model& model, const Joints<T>& joints, const T* rate,
                                            const T* rate_change, bool gravity, Wrench<T> w, T* torque,
                                            Motion<T>* motion, Wrench<T>* wrench, Vec3<T>* moment) {
    const int bodies = model.bodies;
    const T nought = LaneTraits<T>::spread(0.0);
    const Vec3<T> zero = {nought, nought, nought};
    Vec3<T> h = spread3<T>(model.base_first_moment);
    const auto moment_too = [&](int i) {
        if (gravity) moment_step(model, joints, i, moment, &h);
    };
    if (gravity)
        for (int i = 0; i < bodies; ++i)
            if (model.body[i].branches) moment[i] = zero;
    if (MOVING) {
        const Motion<T> still = {zero, zero, zero};
        Motion<T> latest = still;
        for (int i = 0; i < bodies; ++i) {
            const Body& body = model.body[i];
            if (body.parent != i - 1) latest = body.parent < 0 ? still : motion[body.parent];
            wrench[i] = motion_step<T, ROTARY>(model, joints, i, rate[i], rate_change[i], &latest);
            if (body.branches) motion[i] = latest;
        }
        Wrench<T> total = {zero, zero};
        inward_pass<T, false, true, true>(model, joints, torque, &total, wrench, moment_too);
        w = {w.force - total.force, w.moment - total.moment};
    } else {
        for (int i = bodies - 1; i >= 0; --i) moment_too(i);
    }
    if (gravity) take_off_gravity(model, h, &w);
    Wrench<T> local = w;
    Vec3<T> p = zero;
    for (int i = 0; i < bodies; ++i) {
        const Body& body = model.body[i];
        if (body.parent != i - 1) {
            local = body.parent < 0 ? w : wrench[body.parent];
            p = body.parent < 0 ? zero : moment[body.parent];
        }
        local = {from_parent(body, joints, i, local.force), from_parent(body, joints, i, local.moment)};
        const Vec3<T> r = ROTARY ? spread3<T>(body.origin) : origin_in_parent(body, joints, i);
        p = from_parent(body, joints, i, p - r);
        if (body.branches) {
            wrench[i] = local;
            moment[i] = p;
        }
        const T own = ROTARY || body.kind == REVOLUTE ? local.moment.z + p.x * local.force.y - p.y * local.force.x
                                                      : local.force.z;
        torque[i] = MOVING ? torque[i] + own : own;
    }
}

}  // namespace COUNTERPOISE_ISA
}  // namespace counterpoise
