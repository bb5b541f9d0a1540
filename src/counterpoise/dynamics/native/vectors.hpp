// 3-vectors over double or lanes, and the joint transform R = C Rz(q).
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
    T* sine;        // 0 for linear joints
    T* cosine;      // 1 for linear joints
    T* coordinate;  // gain * q + offset
};

// Body axes to parent axes: C Rz(q) v.
template <class T>
COUNTERPOISE_INLINE Vec3<T> to_parent(const Body& body, const Joints<T>& joints, int i, const Vec3<T>& v) {
    const T s = joints.sine[i], c = joints.cosine[i];
    return turned(body.rotation, Vec3<T>{c * v.x - s * v.y, s * v.x + c * v.y, v.z});
}
// Parent axes to body axes: Rz(q)^T C^T v.
template <class T>
COUNTERPOISE_INLINE Vec3<T> from_parent(const Body& body, const Joints<T>& joints, int i, const Vec3<T>& v) {
    const T s = joints.sine[i], c = joints.cosine[i];
    const Vec3<T> t = turned_back(body.rotation, v);
    return {c * t.x + s * t.y, c * t.y - s * t.x, t.z};
}
// Body origin in the parent frame: r, or r + C z q for a linear joint.
template <class T>
COUNTERPOISE_INLINE Vec3<T> origin_in_parent(const Body& body, const Joints<T>& joints, int i) {
    Vec3<T> r = spread3<T>(body.origin);
    if (body.kind == PRISMATIC) {
        const T q = joints.coordinate[i];
        r.x = r.x + q * body.rotation[2];
        r.y = r.y + q * body.rotation[5];
        r.z = r.z + q * body.rotation[8];
    }
    return r;
}

}  // namespace COUNTERPOISE_ISA
}  // namespace counterpoise
