// 3-vectors over double or lanes, and the transform between a body and its parent.
#pragma once

#include "lanes.hpp"
#include "model.hpp"

namespace counterpoise {
namespace COUNTERPOISE_ISA {

template <class T>
struct Vec3 {
    T x, y, z;
};

template <class T>
COUNTERPOISE_INLINE Vec3<T> operator+(const Vec3<T>& a, const Vec3<T>& b) {
    return {a.x + b.x, a.y + b.y, a.z + b.z};
}
template <class T>
COUNTERPOISE_INLINE Vec3<T> operator-(const Vec3<T>& a, const Vec3<T>& b) {
    return {a.x - b.x, a.y - b.y, a.z - b.z};
}
template <class T>
COUNTERPOISE_INLINE Vec3<T> cross(const Vec3<T>& a, const Vec3<T>& b) {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
template <class T>
COUNTERPOISE_INLINE T dot(const Vec3<T>& a, const Vec3<T>& b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
// With a constant vector p[3].
template <class T>
COUNTERPOISE_INLINE Vec3<T> cross(const Vec3<T>& a, const double* p) {
    return {a.y * p[2] - a.z * p[1], a.z * p[0] - a.x * p[2], a.x * p[1] - a.y * p[0]};
}
template <class T>
COUNTERPOISE_INLINE Vec3<T> spread3(const double* p) {
    return {LaneTraits<T>::spread(p[0]), LaneTraits<T>::spread(p[1]), LaneTraits<T>::spread(p[2])};
}
template <class T>
COUNTERPOISE_INLINE Vec3<T> turned(const double* m, const Vec3<T>& v) {  // m v
    return {v.x * m[0] + v.y * m[1] + v.z * m[2], v.x * m[3] + v.y * m[4] + v.z * m[5],
            v.x * m[6] + v.y * m[7] + v.z * m[8]};
}
template <class T>
COUNTERPOISE_INLINE Vec3<T> turned_back(const double* m, const Vec3<T>& v) {  // m^T v
    return {v.x * m[0] + v.y * m[3] + v.z * m[6], v.x * m[1] + v.y * m[4] + v.z * m[7],
            v.x * m[2] + v.y * m[5] + v.z * m[8]};
}

// State of the joints of one pose (or of one pose per lane).
template <class T>
struct Joints {
    T* sine;        // of the body's angle; constant for linear joints
    T* cosine;
    T* coordinate;  // gain * q + offset
};

// Body axes to parent axes: Rz(swing) Rx(twist) Rz(angle) v.
template <class T>
COUNTERPOISE_INLINE Vec3<T> to_parent(const Body& body, const T& s, const T& c, const Vec3<T>& v) {
    const T x = c * v.x - s * v.y;
    const T t = s * v.x + c * v.y;
    const T y = t * body.twist_cosine - v.z * body.twist_sine;
    T z = t * body.twist_sine + v.z * body.twist_cosine;
    COUNTERPOISE_STATION(z);
    if (!body.swings) return {x, y, z};
    COUNTERPOISE_STATION(z);
    return {x * body.swing_cosine - y * body.swing_sine, x * body.swing_sine + y * body.swing_cosine, z};
}
template <class T>
COUNTERPOISE_INLINE Vec3<T> to_parent(const Body& body, const Joints<T>& joints, int i, const Vec3<T>& v) {
    return to_parent(body, joints.sine[i], joints.cosine[i], v);
}
// Parent axes to body axes: the transpose of the above.
template <class T>
COUNTERPOISE_INLINE Vec3<T> from_parent(const Body& body, const T& s, const T& c, const Vec3<T>& v) {
    T x = v.x, t = v.y;
    if (body.swings) {
        x = v.x * body.swing_cosine + v.y * body.swing_sine;
        t = v.y * body.swing_cosine - v.x * body.swing_sine;
        COUNTERPOISE_STATION(t);
    }
    COUNTERPOISE_STATION(x);
    const T y = t * body.twist_cosine + v.z * body.twist_sine;
    const T z = v.z * body.twist_cosine - t * body.twist_sine;
    return {c * x + s * y, c * y - s * x, z};
}
template <class T>
COUNTERPOISE_INLINE Vec3<T> from_parent(const Body& body, const Joints<T>& joints, int i, const Vec3<T>& v) {
    return from_parent(body, joints.sine[i], joints.cosine[i], v);
}
// Body origin in the parent frame: r, or r + axis q for a linear joint.
template <class T>
COUNTERPOISE_INLINE Vec3<T> origin_in_parent(const Body& body, const Joints<T>& joints, int i) {
    Vec3<T> r = spread3<T>(body.origin);
    if (body.kind == PRISMATIC) {
        const T q = joints.coordinate[i];
        r.x = r.x + q * body.axis[0];
        r.y = r.y + q * body.axis[1];
        r.z = r.z + q * body.axis[2];
        COUNTERPOISE_STATION(r.x);
    }
    COUNTERPOISE_STATION(r.y);
    return r;
}

}  // namespace COUNTERPOISE_ISA
}  // namespace counterpoise
