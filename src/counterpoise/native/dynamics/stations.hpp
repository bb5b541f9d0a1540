// The register of stations (spoil.hpp), shared by the instruction sets of a test build.
#pragma once

namespace counterpoise {

// Registers a station when the module is loaded; `lanes` is how many poses pass it at once. Returns its index.
int add_station(int set_lanes, const char* place, int lanes);

extern int spoilt_station;  // index of the station that is wrong; -1: none
extern int spoilt_lane;     // the wrong lane; -1: all

}  // namespace counterpoise
