// For test builds (COUNTERPOISE_TEST_BUILD): stations at which a computation can be made wrong on demand.
//
// COUNTERPOISE_STATION(x) stands in every template that the kernels instantiate; x is a number on the way to the result,
// one per lane. Each instantiation becomes a station of its own, known by name when the module is loaded, whether it is
// ever entered or not. The tests make one station wrong after the other, lane by lane, and see that the self-check
// notices. In other builds a station is nothing.
#pragma once

#if defined(COUNTERPOISE_TEST_BUILD)

#include "stations.hpp"

namespace counterpoise {
namespace COUNTERPOISE_ISA {

template <class Place>
const char* text_of_place() {
    return __PRETTY_FUNCTION__;
}

template <class Place, int LANES>
struct Station {
    static const int index;
};
template <class Place, int LANES>
const int Station<Place, LANES>::index = add_station(COUNTERPOISE_LANES, text_of_place<Place>(), LANES);

COUNTERPOISE_INLINE void spoil(double* numbers, int count) {
    for (int i = 0; i < count; ++i)
        if (spoilt_lane < 0 || spoilt_lane == i) numbers[i] += 1e-4;
}

template <class Place, bool POSES, class T>
COUNTERPOISE_INLINE void pass_station(T& x) {
    constexpr int COUNT = sizeof(T) / sizeof(double);
    if (spoilt_station != Station<Place, POSES ? COUNT : 1>::index) return;
    double numbers[COUNT];
    memcpy(numbers, &x, sizeof x);
    spoil(numbers, COUNT);
    memcpy(&x, numbers, sizeof x);
}

}  // namespace COUNTERPOISE_ISA
}  // namespace counterpoise

#define COUNTERPOISE_STATION(x)        \
    do {                               \
        struct Place {};               \
        pass_station<Place, true>(x);  \
    } while (false)
// The same where the lanes of x are not poses.
#define COUNTERPOISE_STATION_OF_ONE(x) \
    do {                               \
        struct Place {};               \
        pass_station<Place, false>(x); \
    } while (false)

#else

#define COUNTERPOISE_STATION(x)
#define COUNTERPOISE_STATION_OF_ONE(x)

#endif
