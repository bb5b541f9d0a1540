// Several doubles that move together: a vector type of W lanes, and sine and cosine for it.
//
// This header and everything that includes it is compiled once per instruction set inside its own namespace
// (COUNTERPOISE_ISA), so that no inline function built for a newer CPU can be picked by the linker for an older one.
// For the same reason it uses nothing from the standard library but declarations of libm.
#pragma once

#include <math.h>
#include <string.h>

#include <cstddef>
#include <cstdint>

#if defined(_MSC_VER) && !defined(__clang__)
#define COUNTERPOISE_INLINE __forceinline
#else
#define COUNTERPOISE_INLINE inline __attribute__((always_inline))
#endif

// of(0), of(1), ... for every lane: the elements of an initialiser list, or terms of a comma expression.
//
// No vector is filled by assignments to its elements. From loops like `for (i) r[i] = x`, GCC 12.2 builds AVX-512 code
// that leaves lanes 1 and up undefined; from an initialiser list every compiler builds right and shorter code.
#if COUNTERPOISE_LANES == 2
#define COUNTERPOISE_EACH_LANE(of) of(0), of(1)
#elif COUNTERPOISE_LANES == 4
#define COUNTERPOISE_EACH_LANE(of) of(0), of(1), of(2), of(3)
#elif COUNTERPOISE_LANES == 8
#define COUNTERPOISE_EACH_LANE(of) of(0), of(1), of(2), of(3), of(4), of(5), of(6), of(7)
#else
#error "COUNTERPOISE_LANES must be 2, 4 or 8"
#endif

#include "spoil.hpp"

namespace counterpoise {
namespace COUNTERPOISE_ISA {

#if (defined(__GNUC__) || defined(__clang__)) && !defined(COUNTERPOISE_PORTABLE_LANES)

// GCC and Clang vector extensions: arithmetic and comparisons work lane by lane.
typedef double Lanes __attribute__((vector_size(8 * COUNTERPOISE_LANES)));
typedef std::int64_t LaneBits __attribute__((vector_size(8 * COUNTERPOISE_LANES)));

COUNTERPOISE_INLINE LaneBits bits_of(Lanes x) { return (LaneBits)x; }
COUNTERPOISE_INLINE Lanes from_bits(LaneBits b) { return (Lanes)b; }
// The scalar is spread by the operation itself. x - 0 is x, the zeros' signs included.
COUNTERPOISE_INLINE Lanes spread_over(double x) { return x - Lanes{}; }
COUNTERPOISE_INLINE LaneBits spread_bits(std::int64_t x) { return x - LaneBits{}; }

#else

// Plain arrays with the same operations, for compilers without vector extensions.
struct Lanes {
    double v[COUNTERPOISE_LANES];
    COUNTERPOISE_INLINE double& operator[](int i) { return v[i]; }
    COUNTERPOISE_INLINE double operator[](int i) const { return v[i]; }
};
struct LaneBits {
    std::int64_t v[COUNTERPOISE_LANES];
};
#define COUNTERPOISE_LANEWISE(type, op)                                           \
    COUNTERPOISE_INLINE type operator op(const type& a, const type& b) {          \
        type r;                                                                   \
        for (int i = 0; i < COUNTERPOISE_LANES; ++i) r.v[i] = a.v[i] op b.v[i];   \
        return r;                                                                 \
    }
COUNTERPOISE_LANEWISE(Lanes, +)
COUNTERPOISE_LANEWISE(Lanes, -)
COUNTERPOISE_LANEWISE(Lanes, *)
COUNTERPOISE_LANEWISE(LaneBits, &)
COUNTERPOISE_LANEWISE(LaneBits, |)
COUNTERPOISE_LANEWISE(LaneBits, ^)
COUNTERPOISE_LANEWISE(LaneBits, +)
COUNTERPOISE_LANEWISE(LaneBits, -)
#undef COUNTERPOISE_LANEWISE
COUNTERPOISE_INLINE LaneBits operator-(const LaneBits& a) {
    LaneBits r;
    for (int i = 0; i < COUNTERPOISE_LANES; ++i) r.v[i] = -a.v[i];
    return r;
}
COUNTERPOISE_INLINE LaneBits operator<<(const LaneBits& a, int shift) {
    LaneBits r;
    for (int i = 0; i < COUNTERPOISE_LANES; ++i) r.v[i] = (std::int64_t)((std::uint64_t)a.v[i] << shift);
    return r;
}
COUNTERPOISE_INLINE Lanes operator-(const Lanes& a) {
    Lanes r;
    for (int i = 0; i < COUNTERPOISE_LANES; ++i) r.v[i] = -a.v[i];
    return r;
}
COUNTERPOISE_INLINE LaneBits bits_of(const Lanes& x) {
    LaneBits r;
    memcpy(&r, &x, sizeof r);
    return r;
}
COUNTERPOISE_INLINE Lanes from_bits(const LaneBits& b) {
    Lanes r;
    memcpy(&r, &b, sizeof r);
    return r;
}
#define COUNTERPOISE_SAME(lane) x
COUNTERPOISE_INLINE Lanes spread_over(double x) { return {{COUNTERPOISE_EACH_LANE(COUNTERPOISE_SAME)}}; }
COUNTERPOISE_INLINE LaneBits spread_bits(std::int64_t x) { return {{COUNTERPOISE_EACH_LANE(COUNTERPOISE_SAME)}}; }
#undef COUNTERPOISE_SAME
// A scalar constant may stand beside lanes.
#define COUNTERPOISE_MIXED(op)                                                                             \
    COUNTERPOISE_INLINE Lanes operator op(double a, const Lanes& b) { return spread_over(a) op b; }        \
    COUNTERPOISE_INLINE Lanes operator op(const Lanes& a, double b) { return a op spread_over(b); }
COUNTERPOISE_MIXED(+)
COUNTERPOISE_MIXED(-)
COUNTERPOISE_MIXED(*)
#undef COUNTERPOISE_MIXED

#endif

// Two lane vectors side by side: constants are fetched once for both, and the processor always has an independent
// operation to run while it waits for a result.
struct Pair {
    Lanes a, b;
};
#define COUNTERPOISE_PAIRWISE(op)                                                                                   \
    COUNTERPOISE_INLINE Pair operator op(const Pair& x, const Pair& y) { return {x.a op y.a, x.b op y.b}; }         \
    COUNTERPOISE_INLINE Pair operator op(const Pair& x, double y) { return {x.a op y, x.b op y}; }                  \
    COUNTERPOISE_INLINE Pair operator op(double x, const Pair& y) { return {x op y.a, x op y.b}; }
COUNTERPOISE_PAIRWISE(+)
COUNTERPOISE_PAIRWISE(-)
COUNTERPOISE_PAIRWISE(*)
#undef COUNTERPOISE_PAIRWISE

template <class T>
struct LaneTraits;

template <>
struct LaneTraits<double> {
    static constexpr int count = 1;
    static COUNTERPOISE_INLINE double spread(double x) { return x; }
    // `stride` is the distance between lanes in the array.
    static COUNTERPOISE_INLINE double load(const double* p, std::size_t) { return *p; }
    static COUNTERPOISE_INLINE void store(double* p, std::size_t, double x) { *p = x; }
};

template <>
struct LaneTraits<Lanes> {
    static constexpr int count = COUNTERPOISE_LANES;
    static COUNTERPOISE_INLINE Lanes spread(double x) { return spread_over(x); }
#define COUNTERPOISE_LOADED(lane) p[(lane) * stride]
    static COUNTERPOISE_INLINE Lanes load(const double* p, std::size_t stride) {
        return Lanes{COUNTERPOISE_EACH_LANE(COUNTERPOISE_LOADED)};
    }
#undef COUNTERPOISE_LOADED
#define COUNTERPOISE_STORED(lane) p[(lane) * stride] = x[lane]
    static COUNTERPOISE_INLINE void store(double* p, std::size_t stride, Lanes x) {
        COUNTERPOISE_EACH_LANE(COUNTERPOISE_STORED);
    }
#undef COUNTERPOISE_STORED
};

template <>
struct LaneTraits<Pair> {
    static constexpr int count = 2 * COUNTERPOISE_LANES;
    static COUNTERPOISE_INLINE Pair spread(double x) {
        const Lanes lanes = LaneTraits<Lanes>::spread(x);
        return {lanes, lanes};
    }
    static COUNTERPOISE_INLINE Pair load(const double* p, std::size_t stride) {
        return {LaneTraits<Lanes>::load(p, stride), LaneTraits<Lanes>::load(p + COUNTERPOISE_LANES * stride, stride)};
    }
    static COUNTERPOISE_INLINE void store(double* p, std::size_t stride, const Pair& x) {
        LaneTraits<Lanes>::store(p, stride, x.a);
        LaneTraits<Lanes>::store(p + COUNTERPOISE_LANES * stride, stride, x.b);
    }
};

// Bound of the fast argument reduction below: the quadrant then fits 20 bits and its products with the parts of pi/2,
// which have 33 bits, are exact.
constexpr double FAST_ANGLE = 1.6e6;

// Sine and cosine of all lanes, each |x| <= FAST_ANGLE; error below 2 units in the last place of the larger of the two.
//
// x = n pi/2 + r with |r| <= pi/4 (three-part reduction after Cody and Waite), then polynomials in z = r^2 that meet
// (sin r / r - 1) / z and (cos r - 1 + z/2) / z^2 at the Chebyshev nodes of [0, (pi/4)^2] (computed in 60 digits; they
// err by less than 2e-17). `shifted` keeps n in its lowest bits.
template <class T>
COUNTERPOISE_INLINE void reduced_sine_cosine(const T& x, T* shifted, T* sine, T* cosine) {
    const double ROUND = 6755399441055744.0;  // 1.5 * 2^52: adding it leaves the nearest integer in the low bits
    *shifted = x * 0.63661977236758134308 + ROUND;
    const T n = *shifted - ROUND;
    T r = x - n * 1.57079632673412561417e+00;  // the first 33 bits of pi/2
    r = r - n * 6.07710050630396597660e-11;    // the next 33
    r = r - n * 2.02226624879595063154e-21;    // and the rest
    COUNTERPOISE_STATION(r);
    const T z = r * r;
    T s = z * 1.59179889443187159e-10 - 2.50511298959628066e-08;
    T c = z * -1.13825446234042910e-11 + 2.08761450491082797e-09;
    s = s * z + 2.75573160931960663e-06;
    c = c * z - 2.75573172658766154e-07;
    s = s * z - 1.98412698367405270e-04;
    c = c * z + 2.48015872987543999e-05;
    s = s * z + 8.33333333333093583e-03;
    c = c * z - 1.38888888888873889e-03;
    s = s * z - 1.66666666666666657e-01;
    c = c * z + 4.16666666666666644e-02;
    *sine = s * (z * r) + r;
    *cosine = c * (z * z) + (1.0 - z * 0.5);
}

// Odd quadrants exchange sine and cosine; the signs follow from the quadrant's second bit.
COUNTERPOISE_INLINE void place_in_quadrant(Lanes shifted, Lanes* sine, Lanes* cosine) {
    const LaneBits quadrant = bits_of(shifted);
    const LaneBits odd = -(quadrant & spread_bits(1));
    const LaneBits sine_sign = (quadrant & spread_bits(2)) << 62;
    const LaneBits cosine_sign = ((quadrant + spread_bits(1)) & spread_bits(2)) << 62;
    const LaneBits exchange = (bits_of(*sine) ^ bits_of(*cosine)) & odd;
    const LaneBits s = bits_of(*sine) ^ exchange, c = bits_of(*cosine) ^ exchange;
    *sine = from_bits(s ^ sine_sign);
    *cosine = from_bits(c ^ cosine_sign);
}

COUNTERPOISE_INLINE void sine_cosine(Lanes x, Lanes* sine, Lanes* cosine) {
    Lanes shifted;
    reduced_sine_cosine(x, &shifted, sine, cosine);
    place_in_quadrant(shifted, sine, cosine);
}

COUNTERPOISE_INLINE void sine_cosine(const Pair& x, Pair* sine, Pair* cosine) {
    Pair shifted;
    reduced_sine_cosine(x, &shifted, sine, cosine);
    place_in_quadrant(shifted.a, &sine->a, &cosine->a);
    place_in_quadrant(shifted.b, &sine->b, &cosine->b);
}

// The same for any finite lanes: libm serves those beyond FAST_ANGLE, the others get what they get in any company.
inline bool beyond(double x) { return x > FAST_ANGLE || x < -FAST_ANGLE; }
inline void slow_sine_cosine(Lanes x, Lanes* sine, Lanes* cosine) {
    Lanes s, c;
    sine_cosine(x, &s, &c);
#define COUNTERPOISE_SINE(lane) beyond(x[lane]) ? sin(x[lane]) : s[lane]
#define COUNTERPOISE_COSINE(lane) beyond(x[lane]) ? cos(x[lane]) : c[lane]
    *sine = Lanes{COUNTERPOISE_EACH_LANE(COUNTERPOISE_SINE)};
    *cosine = Lanes{COUNTERPOISE_EACH_LANE(COUNTERPOISE_COSINE)};
#undef COUNTERPOISE_SINE
#undef COUNTERPOISE_COSINE
    COUNTERPOISE_STATION(*sine);
}
inline void slow_sine_cosine(const Pair& x, Pair* sine, Pair* cosine) {
    slow_sine_cosine(x.a, &sine->a, &cosine->a);
    slow_sine_cosine(x.b, &sine->b, &cosine->b);
}

// True when every value is within +-bound; false for NaN. The bits of |x| grow with |x| and are largest for NaN, so the
// difference to the bound's bits turns negative where a value is out of range.
inline bool in_range(const double* values, std::size_t count, double bound) {
    const std::int64_t MAGNITUDE = 0x7fffffffffffffff;
    std::int64_t limit;
    memcpy(&limit, &bound, sizeof limit);
    LaneBits signs = spread_bits(0);
    std::int64_t all = 0;
    if (count < COUNTERPOISE_LANES) {
        for (std::size_t i = 0; i < count; ++i) {
            std::int64_t bits;
            memcpy(&bits, values + i, sizeof bits);
            all |= limit - (bits & MAGNITUDE);
        }
        return all >= 0;
    }
    for (std::size_t i = 0; i < count; i += COUNTERPOISE_LANES) {
        // The last vector may overlap the one before it.
        const std::size_t first = i + COUNTERPOISE_LANES <= count ? i : count - COUNTERPOISE_LANES;
        Lanes x;
        memcpy(&x, values + first, sizeof x);
        signs = signs | (spread_bits(limit) - (bits_of(x) & spread_bits(MAGNITUDE)));
    }
    std::int64_t lanes[COUNTERPOISE_LANES];
    memcpy(lanes, &signs, sizeof lanes);
    for (int lane = 0; lane < COUNTERPOISE_LANES; ++lane) all |= lanes[lane];
    return all >= 0;
}

}  // namespace COUNTERPOISE_ISA
}  // namespace counterpoise
