// Joint torques from the wrench under the base: what counterpoise/dynamics/base_torques.py and, link by link,
// counterpoise/sensing/plate/joint_analyzer.py specify, for speed.
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
    COUNTERPOISE_STATION(w->moment.x);
}

// The wrench at a body's origin in its axes, from that at its parent's.
template <class T, bool SIMPLE>
COUNTERPOISE_INLINE Wrench<T> moved_outwards(const Body& body, const Joints<T>& joints, int i, const Wrench<T>& w) {
    Vec3<T> r = SIMPLE ? spread3<T>(body.origin) : origin_in_parent(body, joints, i);
    COUNTERPOISE_STATION(r.x);
    return {from_parent(body, joints, i, w.force), from_parent(body, joints, i, w.moment - cross(r, w.force))};
}

// A chain. `w` is the wrench on the robot at the base origin. The links' motion goes outwards while the first moment, for
// gravity, comes inwards beside it: neither waits for the other.
template <class T, bool SIMPLE, bool MOVING>
COUNTERPOISE_INLINE void plate_pass_of_chain(const Model& model, const Joints<T>& joints, const T* rate,
                                             const T* rate_change, Wrench<T> w, T* torque,
                                             Wrench<T>* wrench) {
    const int bodies = model.bodies;
    const T nought = LaneTraits<T>::spread(0.0);
    const Vec3<T> zero = {nought, nought, nought};
    Motion<T> motion = {zero, zero, zero};
    Vec3<T> h = zero;
    for (int i = 0, e = bodies - 1; i < bodies; ++i, --e) {
        if (MOVING) wrench[i] = motion_step<T, SIMPLE>(model, joints, i, rate[i], rate_change[i], &motion);
        const Body& body = model.body[e];
        h = h + spread3<T>(body.carried_moment);
        if (!SIMPLE && body.kind == PRISMATIC) h.z = h.z + joints.coordinate[e] * body.carried_mass;
        h = to_parent(body, joints, e, h);
        COUNTERPOISE_STATION(h.x);
    }
    h = h + spread3<T>(model.base_first_moment);
    if (bodies > 0) {
        const Body& first = model.body[0];
        h.x = h.x + first.carried_mass * first.origin[0];
        h.y = h.y + first.carried_mass * first.origin[1];
        h.z = h.z + first.carried_mass * first.origin[2];
    }
    take_off_gravity(model, h, &w);
    for (int i = 0; i < bodies; ++i) {
        const Body& body = model.body[i];
        w = moved_outwards<T, SIMPLE>(body, joints, i, w);
        torque[i] = SIMPLE || body.kind == REVOLUTE ? w.moment.z : w.force.z;
        COUNTERPOISE_STATION(torque[i]);
        if (MOVING) w = {w.force - wrench[i].force, w.moment - wrench[i].moment};
    }
}

// First moment of the whole robot about the base origin; `branch` has one place per body. As total_first_moment, but what
// goes from body i to body i - 1 stays in registers.
template <class T>
COUNTERPOISE_INLINE Vec3<T> first_moment(const Model& model, const Joints<T>& joints, Vec3<T>* branch) {
    const T nought = LaneTraits<T>::spread(0.0);
    const Vec3<T> zero = {nought, nought, nought};
    for (int i = 0; i < model.bodies; ++i)
        if (model.body[i].branches) branch[i] = zero;
    Vec3<T> total = spread3<T>(model.base_first_moment), carry = zero;
    for (int i = model.bodies - 1; i >= 0; --i) {
        const Body& body = model.body[i];
        Vec3<T> h = carry + spread3<T>(body.carried_moment);
        if (body.branches) h = h + branch[i];
        if (body.kind == PRISMATIC) h.z = h.z + joints.coordinate[i] * body.carried_mass;
        carry = to_parent(body, joints, i, h);
        COUNTERPOISE_STATION(carry.x);
        if (body.parent >= 0 && body.parent == i - 1) continue;
        if (body.parent < 0) {
            total.x = total.x + (carry.x + body.carried_mass * body.origin[0]);
            total.y = total.y + (carry.y + body.carried_mass * body.origin[1]);
            total.z = total.z + (carry.z + body.carried_mass * body.origin[2]);
        } else {
            branch[body.parent] = branch[body.parent] + carry;
        }
        carry = zero;
    }
    return total;
}

// Sums of a moving tree from the tips to the base: joint torques, the links' wrenches `total` and the first moment `h`,
// both at the base origin. `branch` has one place per body.
template <class T>
COUNTERPOISE_INLINE void inward_sums(const Model& model, const Joints<T>& joints, T* torque, Wrench<T>* wrench,
                                     Vec3<T>* branch, Wrench<T>* total, Vec3<T>* h) {
    *h = first_moment(model, joints, branch);
    inward_pass<T, false, true, true>(model, joints, torque, total, wrench);
    COUNTERPOISE_STATION(total->moment.x);
}

// The same for one pose, with the wrenches' moment in lane 0 and the first moment in lane 1: both turn in one operation.
COUNTERPOISE_INLINE void inward_sums(const Model& model, const Joints<double>& joints, double* torque,
                                     Wrench<double>* wrench, Vec3<double>* branch, Wrench<double>* total,
                                     Vec3<double>* h) {
    const Lanes none = LaneTraits<Lanes>::spread(0.0);
    const Vec3<double> zero = {0.0, 0.0, 0.0};
    for (int i = 0; i < model.bodies; ++i)
        if (model.body[i].branches) branch[i] = zero;
    *h = spread3<double>(model.base_first_moment);
    Vec3<double> force = zero;
    Vec3<Lanes> moments = {none, none, none};
    for (int i = model.bodies - 1; i >= 0; --i) {
        const Body& body = model.body[i];
        const Wrench<double>& own = wrench[i];
        const double* c = body.carried_moment;
        force = force + own.force;
        moments = moments + Vec3<Lanes>{in_lanes(own.moment.x, c[0]), in_lanes(own.moment.y, c[1]),
                                        in_lanes(own.moment.z, c[2])};
        if (body.branches)
            moments = moments +
                      Vec3<Lanes>{in_lanes(0.0, branch[i].x), in_lanes(0.0, branch[i].y), in_lanes(0.0, branch[i].z)};
        if (body.kind == PRISMATIC)
            moments.z = moments.z + in_lanes(0.0, joints.coordinate[i] * body.carried_mass);
        COUNTERPOISE_STATION_OF_ONE(moments.z);
        torque[i] = body.kind == REVOLUTE ? moments.z[0] : force.z;
        force = to_parent(body, joints, i, force);
        const Vec3<double> lever = cross(origin_in_parent(body, joints, i), force);
        moments = to_parent(body, LaneTraits<Lanes>::spread(joints.sine[i]),
                            LaneTraits<Lanes>::spread(joints.cosine[i]), moments) +
                  Vec3<Lanes>{in_lanes(lever.x, 0.0), in_lanes(lever.y, 0.0), in_lanes(lever.z, 0.0)};
        if (body.parent >= 0 && body.parent == i - 1) continue;
        const Wrench<double> onward = {force, {moments.x[0], moments.y[0], moments.z[0]}};
        const Vec3<double> carried = {moments.x[1], moments.y[1], moments.z[1]};
        Wrench<double>& sum = body.parent < 0 ? *total : wrench[body.parent];
        sum = {sum.force + onward.force, sum.moment + onward.moment};
        if (body.parent < 0) {
            h->x += carried.x + body.carried_mass * body.origin[0];
            h->y += carried.y + body.carried_mass * body.origin[1];
            h->z += carried.z + body.carried_mass * body.origin[2];
        } else {
            branch[body.parent] = branch[body.parent] + carried;
        }
        force = zero;
        moments = {none, none, none};
    }
}

// Any tree. On the last way outwards the force, the moment and the way back to the base origin, p, turn side by side; the
// torque is z.(m + p x f). ROTARY: no joint is linear.
template <class T, bool ROTARY, bool MOVING>
COUNTERPOISE_INLINE void plate_pass_of_tree(const Model& model, const Joints<T>& joints, const T* rate,
                                            const T* rate_change, Wrench<T> w, T* torque,
                                            Motion<T>* motion, Wrench<T>* wrench, Vec3<T>* moment) {
    const int bodies = model.bodies;
    const T nought = LaneTraits<T>::spread(0.0);
    const Vec3<T> zero = {nought, nought, nought};
    Vec3<T> h = zero;
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
        inward_sums(model, joints, torque, wrench, moment, &total, &h);
        w = {w.force - total.force, w.moment - total.moment};
    } else {
        h = first_moment(model, joints, moment);
    }
    take_off_gravity(model, h, &w);
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
        COUNTERPOISE_STATION(torque[i]);
    }
}

}  // namespace COUNTERPOISE_ISA
}  // namespace counterpoise
