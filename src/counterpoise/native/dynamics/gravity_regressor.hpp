// The gravity regressor of one pose, vectorised over the joints that carry a body.
//
// Entries of counterpoise/dynamics/regressors.py: with w = z_i x g for a rotary joint i that carries body k,
// w.(o_k - o_i) for the mass and w in joint frame k for the first moment. On the way from body to body every joint's w is
// turned by the same rotation and its lever arm w.(o_k - o_i) grows by w.r, so the joints share vector operations. A
// linear joint has w = 0 and the constant -z_i.g in place of the lever arm.
#pragma once

#include "vectors.hpp"

namespace counterpoise {
namespace COUNTERPOISE_ISA {

constexpr int L = COUNTERPOISE_LANES;

// Numbers of type double that one level of the path needs: x, y, z of w and the lever arm, padded to whole lanes.
inline std::size_t level_doubles(int depth) { return 4 * (((std::size_t)depth + L - 1) / L * L); }

COUNTERPOISE_INLINE Lanes lanes_at(const double* p) {
    Lanes lanes;
    memcpy(&lanes, p, sizeof lanes);
    return lanes;
}

// 1 in lane `lane`, 0 elsewhere.
COUNTERPOISE_INLINE Lanes single_lane(int lane) {
    static const double PATTERN[2 * L - 1] = {
#if COUNTERPOISE_LANES == 2
        0, 1, 0
#elif COUNTERPOISE_LANES == 4
        0, 0, 0, 1, 0, 0, 0
#else
        0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0
#endif
    };
    return lanes_at(PATTERN + (L - 1) - lane);
}

// `levels` holds level_doubles(depth) doubles for each of the `depth` levels and one level of zeros before them;
// `gravity` one vector per body, `path` one int per level: the row that its joint adds to.
inline void gravity_regressor_rows(const Model& model, const Joints<double>& joints, Vec3<double>* gravity,
                                   double* levels, int* path, double* rows) {
    const std::size_t width = 4 * (std::size_t)model.bodies;
    const std::size_t size = level_doubles(model.depth), part = size / 4;
    memset(rows, 0, sizeof(double) * width * model.n);
    memset(levels, 0, sizeof(double) * size);
    const Vec3<double> base = spread3<double>(model.gravity);
    for (int k = 0; k < model.bodies; ++k) {
        const Body& body = model.body[k];
        const int depth = body.depth;  // joints that carry this body, its own included
        const Vec3<double> g = from_parent(body, joints, k, body.parent < 0 ? base : gravity[body.parent]);
        gravity[k] = g;
        path[depth - 1] = body.q_index;
        const bool rotary = body.kind == REVOLUTE;
        // The joint's own w = z x g = (-g.y, g.x, 0), in body axes.
        const double own_x = rotary ? -body.q_gain * g.y : 0.0;
        const double own_y = rotary ? body.q_gain * g.x : 0.0;
        const double own_arm = rotary ? 0.0 : -body.q_gain * g.z;
        const Vec3<double> r = origin_in_parent(body, joints, k);
        const double* from = levels + size * (std::size_t)(depth - 1);
        double* to = levels + size * (std::size_t)depth;
        // The last lanes of a level hold zeros until a deeper joint takes its place, so all of it is carried along.
        for (std::size_t j = 0; j < part; j += L) {
            if ((int)j >= depth) {
                for (int c = 0; c < 4; ++c) memset(to + c * part + j, 0, sizeof(Lanes));
                continue;
            }
            Vec3<Lanes> w = {lanes_at(from + j), lanes_at(from + part + j), lanes_at(from + 2 * part + j)};
            Lanes arm = lanes_at(from + 3 * part + j) + w.x * r.x + w.y * r.y + w.z * r.z;
            w = from_parent(body, LaneTraits<Lanes>::spread(joints.sine[k]),
                                 LaneTraits<Lanes>::spread(joints.cosine[k]), w);
            if ((int)j + L >= depth) {
                const Lanes own = single_lane(depth - 1 - (int)j);
                w.x = w.x + own * own_x;
                w.y = w.y + own * own_y;
                arm = arm + own * own_arm;
            }
            COUNTERPOISE_STATION_OF_ONE(w.x);
            memcpy(to + j, &w.x, sizeof w.x);
            memcpy(to + part + j, &w.y, sizeof w.y);
            memcpy(to + 2 * part + j, &w.z, sizeof w.z);
            memcpy(to + 3 * part + j, &arm, sizeof arm);
            if (!body.aligned) w = turned_back(body.joint_rotation, w);
            double* corner = rows + 4 * (std::size_t)k;
#if defined(__GNUC__)
#pragma GCC unroll 8
#endif
            for (int lane = 0; lane < L; ++lane) {
                if ((int)j + lane >= depth) break;
                double* entry = corner + (std::size_t)path[j + lane] * width;
                entry[0] += arm[lane];
                entry[1] += w.x[lane];
                entry[2] += w.y[lane];
                entry[3] += w.z[lane];
            }
        }
    }
}

}  // namespace COUNTERPOISE_ISA
}  // namespace counterpoise
