// Recursions over the tree for one pose (T = double) or one pose per lane (T = Lanes), in body axes.
//
// They compute what counterpoise/dynamics/{gravity,newton_euler,jacobian}.py specify, arranged for speed: vectors are
// turned from body to body instead of carrying rotation matrices, and the state of body i - 1 stays in registers on its
// way to body i. Bodies are numbered depth first, so parents come before their children.
#pragma once

#include "vectors.hpp"

namespace counterpoise {
namespace COUNTERPOISE_ISA {

// Holding torques. Gravity is turned outwards; first moments of what each joint carries are summed inwards. With g in
// body axes and h the carried first moment about the body origin, the torque is -z.(h x g), the force -M g.z.
// SIMPLE: a serial chain of rotary joints, most arms; the tests for anything else are left out then.
template <class T, bool SIMPLE>
COUNTERPOISE_INLINE void gravity_pass(const Model& model, const Joints<T>& joints, T* torque, Vec3<T>* gravity,
                                      Vec3<T>* branch) {
    const int bodies = model.bodies;
    const Vec3<T> base = spread3<T>(model.gravity);
    const Vec3<T> zero = {LaneTraits<T>::spread(0.0), LaneTraits<T>::spread(0.0), LaneTraits<T>::spread(0.0)};
    Vec3<T> previous = base;
    for (int i = 0; i < bodies; ++i) {
        const Body& body = model.body[i];
        if (!SIMPLE && body.parent != i - 1) previous = body.parent < 0 ? base : gravity[body.parent];
        previous = from_parent(body, joints, i, previous);
        COUNTERPOISE_STATION(previous.x);
        gravity[i] = previous;
        if (!SIMPLE && body.branches) branch[i] = zero;
    }
    Vec3<T> carry = zero;
    for (int i = bodies - 1; i >= 0; --i) {
        const Body& body = model.body[i];
        Vec3<T> h = carry + spread3<T>(body.carried_moment);
        if (!SIMPLE && body.branches) h = h + branch[i];
        if (SIMPLE || body.kind == REVOLUTE) {
            torque[i] = h.y * gravity[i].x - h.x * gravity[i].y;
        } else {
            torque[i] = gravity[i].z * -body.carried_mass;
            h.z = h.z + joints.coordinate[i] * body.carried_mass;
        }
        carry = to_parent(body, joints, i, h);
        if (!SIMPLE && body.parent != i - 1) {
            if (body.parent >= 0) branch[body.parent] = branch[body.parent] + carry;
            carry = zero;
        }
    }
}

// First moment of the whole robot about the base origin, base axes [kg m].
template <class T>
COUNTERPOISE_INLINE Vec3<T> total_first_moment(const Model& model, const Joints<T>& joints, Vec3<T>* moment) {
    Vec3<T> total = spread3<T>(model.base_first_moment);
    for (int i = 0; i < model.bodies; ++i) moment[i] = spread3<T>(model.body[i].carried_moment);
    for (int i = model.bodies - 1; i >= 0; --i) {
        const Body& body = model.body[i];
        Vec3<T> h = moment[i];
        if (body.kind == PRISMATIC) h.z = h.z + joints.coordinate[i] * body.carried_mass;
        h = to_parent(body, joints, i, h);
        COUNTERPOISE_STATION(h.x);
        if (body.parent >= 0) {
            moment[body.parent] = moment[body.parent] + h;
        } else {
            h.x = h.x + body.carried_mass * body.origin[0];
            h.y = h.y + body.carried_mass * body.origin[1];
            h.z = h.z + body.carried_mass * body.origin[2];
            total = total + h;
        }
    }
    return total;
}

template <class T>
struct Motion {
    Vec3<T> omega, alpha, acceleration;  // angular velocity, angular acceleration, linear acceleration minus gravity
};

template <class T>
struct Wrench {
    Vec3<T> force, moment;
};

// One body of the outward pass. `motion` is its parent's, and becomes its own; returned is the wrench that moves it, about
// its origin, in its axes.
template <class T, bool SIMPLE>
COUNTERPOISE_INLINE Wrench<T> motion_step(const Model& model, const Joints<T>& joints, int i, const T& v, const T& dv,
                                          Motion<T>* motion) {
    const Body& body = model.body[i];
    const Motion<T>& parent = *motion;
    const Vec3<T> r = SIMPLE ? spread3<T>(body.origin) : origin_in_parent(body, joints, i);
    const Vec3<T> at_origin =
        parent.acceleration + cross(parent.alpha, r) + cross(parent.omega, cross(parent.omega, r));
    Vec3<T> w = from_parent(body, joints, i, parent.omega);
    Vec3<T> dw = from_parent(body, joints, i, parent.alpha);
    Vec3<T> a = from_parent(body, joints, i, at_origin);
    if (SIMPLE || body.kind == REVOLUTE) {
        dw.x = dw.x + w.y * v;  // w x z v
        dw.y = dw.y - w.x * v;
        dw.z = dw.z + dv;
        w.z = w.z + v;
    } else {
        a.x = a.x + 2.0 * (w.y * v);  // 2 w x z v
        a.y = a.y - 2.0 * (w.x * v);
        a.z = a.z + dv;
    }
    COUNTERPOISE_STATION(a.x);
    *motion = {w, dw, a};
    const double* h = body.first_moment;
    const double* I = body.inertia;
    const Vec3<T> spin = cross(w, h);  // w x h
    Vec3<T> force = cross(dw, h) + cross(w, spin);
    force.x = force.x + a.x * body.mass;
    force.y = force.y + a.y * body.mass;
    force.z = force.z + a.z * body.mass;
    const Vec3<T> momentum = {w.x * I[0] + w.y * I[1] + w.z * I[3], w.x * I[1] + w.y * I[2] + w.z * I[4],
                              w.x * I[3] + w.y * I[4] + w.z * I[5]};
    Vec3<T> moment = cross(w, momentum) - cross(a, h);  // h x a = -(a x h)
    moment.x = moment.x + dw.x * I[0] + dw.y * I[1] + dw.z * I[3];
    moment.y = moment.y + dw.x * I[1] + dw.y * I[2] + dw.z * I[4];
    moment.z = moment.z + dw.x * I[3] + dw.y * I[4] + dw.z * I[5];
    return {force, moment};
}

// Sums the bodies' wrenches from the tips to the base: joint torques, and the sum at the base origin, added to `total`.
template <class T, bool SIMPLE, bool WITH_TORQUE, bool WITH_WRENCH>
COUNTERPOISE_INLINE void inward_pass(const Model& model, const Joints<T>& joints, T* torque, Wrench<T>* total,
                                     Wrench<T>* wrench) {
    const T nought = LaneTraits<T>::spread(0.0);
    const Vec3<T> zero = {nought, nought, nought};
    Wrench<T> carry = {zero, zero};
    for (int i = model.bodies - 1; i >= 0; --i) {
        const Body& body = model.body[i];
        COUNTERPOISE_STATION(wrench[i].force.z);
        COUNTERPOISE_STATION(wrench[i].moment.z);
        const Vec3<T> force = wrench[i].force + carry.force;
        const Vec3<T> moment = wrench[i].moment + carry.moment;
        if (WITH_TORQUE) torque[i] = SIMPLE || body.kind == REVOLUTE ? moment.z : force.z;
        carry = {zero, zero};
        if (body.parent < 0 && !WITH_WRENCH) continue;
        const Vec3<T> turned_force = to_parent(body, joints, i, force);
        const Vec3<T> r = SIMPLE ? spread3<T>(body.origin) : origin_in_parent(body, joints, i);
        const Wrench<T> onward = {turned_force, to_parent(body, joints, i, moment) + cross(r, turned_force)};
        if (body.parent < 0) {
            total->force = total->force + onward.force;
            total->moment = total->moment + onward.moment;
        } else if (SIMPLE || body.parent == i - 1) {
            carry = onward;
        } else {
            Wrench<T>& parent = wrench[body.parent];
            parent.force = parent.force + onward.force;
            parent.moment = parent.moment + onward.moment;
        }
    }
}

// Newton-Euler: velocities and accelerations outwards, forces and moments inwards.
template <class T, bool SIMPLE, bool WITH_TORQUE, bool WITH_WRENCH>
COUNTERPOISE_INLINE void newton_euler_pass(const Model& model, const Joints<T>& joints, const T* rate,
                                           const T* rate_change, T* torque, Wrench<T>* total, Motion<T>* motion,
                                           Wrench<T>* wrench) {
    const T nought = LaneTraits<T>::spread(0.0);
    const Vec3<T> zero = {nought, nought, nought};
    const Motion<T> still = {zero, zero, zero - spread3<T>(model.gravity)};
    Motion<T> latest = still;
    for (int i = 0; i < model.bodies; ++i) {
        const Body& body = model.body[i];
        if (!SIMPLE && body.parent != i - 1) latest = body.parent < 0 ? still : motion[body.parent];
        wrench[i] = motion_step<T, SIMPLE>(model, joints, i, rate[i], rate_change[i], &latest);
        COUNTERPOISE_STATION(wrench[i].moment.z);
        if (!SIMPLE) motion[i] = latest;
    }
    if (WITH_WRENCH) {
        const Vec3<T> g = spread3<T>(model.gravity);
        total->force = {g.x * -model.base_mass, g.y * -model.base_mass, g.z * -model.base_mass};
        total->moment = cross(g, model.base_first_moment);
    }
    inward_pass<T, SIMPLE, WITH_TORQUE, WITH_WRENCH>(model, joints, torque, total, wrench);
}

// Torques with which the arm exerts a wrench (base axes, at the link's origin): the wrench is turned outwards along the
// path, the point inwards, side by side as in gravity_pass; the torque is z.(m + p x f), the force z.f. `joints` and
// `torque` are those of the path, the root's child first.
template <class T>
COUNTERPOISE_INLINE void wrench_pass(const Model& model, const Point& point, const Joints<T>& joints,
                                     const Wrench<T>& applied, T* torque, Wrench<T>* along, Vec3<T>* arm) {
    Wrench<T> local = applied;
    Vec3<T> p = spread3<T>(point.origin);
    for (int d = 0, e = point.depth - 1; d < point.depth; ++d, --e) {
        const Body& outer = model.body[point.path[d]];
        local = {from_parent(outer, joints, d, local.force), from_parent(outer, joints, d, local.moment)};
        COUNTERPOISE_STATION(local.moment.z);
        along[d] = local;

        const Body& inner = model.body[point.path[e]];
        arm[e] = p;
        p = origin_in_parent(inner, joints, e) + to_parent(inner, joints, e, p);
    }
    for (int d = 0; d < point.depth; ++d) {
        const Wrench<T>& w = along[d];
        torque[d] = model.body[point.path[d]].kind == REVOLUTE
                        ? w.moment.z + arm[d].x * w.force.y - arm[d].y * w.force.x
                        : w.force.z;
    }
}

// Two numbers in lanes 0 and 1; the others hold zeros.
COUNTERPOISE_INLINE Lanes in_lanes(double first, double second) { return Lanes{first, second}; }

// The same for one pose, with the force in lane 0 and the moment in lane 1, so that both turn in one operation.
COUNTERPOISE_INLINE void wrench_pass_of_one(const Model& model, const Point& point, const Joints<double>& joints,
                                            const double* applied, double* torque, Vec3<Lanes>* along,
                                            Vec3<double>* arm) {
    Vec3<Lanes> local = {in_lanes(applied[0], applied[3]), in_lanes(applied[1], applied[4]),
                         in_lanes(applied[2], applied[5])};
    Vec3<double> p = spread3<double>(point.origin);
    for (int d = 0, e = point.depth - 1; d < point.depth; ++d, --e) {
        local = from_parent(model.body[point.path[d]], LaneTraits<Lanes>::spread(joints.sine[d]),
                            LaneTraits<Lanes>::spread(joints.cosine[d]), local);
        COUNTERPOISE_STATION_OF_ONE(local.z);
        along[d] = local;
        const Body& inner = model.body[point.path[e]];
        arm[e] = p;
        p = origin_in_parent(inner, joints, e) + to_parent(inner, joints, e, p);
    }
    for (int d = 0; d < point.depth; ++d) {
        const Vec3<Lanes>& w = along[d];
        torque[d] = model.body[point.path[d]].kind == REVOLUTE
                        ? w.z[1] + arm[d].x * w.y[0] - arm[d].y * w.x[0]
                        : w.z[0];
    }
}

}  // namespace COUNTERPOISE_ISA
}  // namespace counterpoise
