// What the parts of the kernel type share: the table of kernels chosen for new objects, borrowed Python helpers, a compiled
// robot and its object.
//
// Included by dynamics.cpp alone, as are construction.hpp, rows.hpp and methods.hpp: one translation unit, so that the
// small steps of a call are inlined.
#pragma once

#include "../arguments.hpp"

#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <numpy/arrayobject.h>

#if defined(_WIN32)
#include <malloc.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "model.hpp"

// For the steps of every call, which are short once they know which method they serve.
#if defined(_MSC_VER) && !defined(__clang__)
#define COUNTERPOISE_HOT __forceinline
#else
#define COUNTERPOISE_HOT inline __attribute__((always_inline))
#endif

namespace counterpoise {
namespace {

constexpr std::size_t THREAD_POSES = 4096;  // below this many poses per thread, starting threads costs more than it gains

const Kernels* chosen_table = nullptr;  // of the kernels made from now on
int batch_threads = 1;

// Borrowed for ever from the Python side.
PyObject *as_rows = nullptr, *refuse_bad_entries = nullptr, *check_out = nullptr, *link_index = nullptr,
         *unphysical = nullptr, *refuse_wrench_shape = nullptr, *input_error = nullptr, *wrench_components = nullptr;
PyArray_Descr* float64 = nullptr;

// The arguments that methods take: inputs, in the order of InputPlace, then a link and the result.
enum ArgumentPlace : int { AT = INPUT_COUNT, OUT, PLACE_COUNT };
constexpr const char* NAMES[PLACE_COUNT] = {"q", "dq", "ddq", "wrench", "frame", "at", "out"};
PyObject* names[PLACE_COUNT];  // interned

struct Workspace {
    double* data;
    explicit Workspace(std::size_t doubles) : data(nullptr) {
#if defined(_WIN32)
        data = static_cast<double*>(_aligned_malloc(doubles * sizeof(double), 64));
#else
        void* memory = nullptr;
        data = posix_memalign(&memory, 64, doubles * sizeof(double)) == 0 ? static_cast<double*>(memory) : nullptr;
#endif
        if (data == nullptr) throw std::bad_alloc();
    }
    ~Workspace() {
#if defined(_WIN32)
        _aligned_free(data);
#else
        std::free(data);
#endif
    }
    Workspace(const Workspace&) = delete;
    Workspace& operator=(const Workspace&) = delete;
};

struct Compiled {
    const Kernels* table;
    Model model;
    std::vector<Body> bodies;
    std::vector<double> angle_offsets;
    std::vector<Point> links;
    std::vector<int> paths;
    std::vector<double> path_offsets;
    std::unique_ptr<Workspace> work;  // for single poses, which hold the interpreter lock from beginning to end
    int only_tip = -1;                // index of the link that is meant where none is named, or -1
    bool refused = false;             // inertial dynamics are refused: an inertia is unphysical
};

struct KernelObject {
    PyObject_HEAD
    PyObject* tree;
    PyObject* joint_names;
    PyObject* link_names;
    PyObject* link_indices;  // dict: name -> index
    PyObject* tips;
    PyObject* latest_at;  // the name object that was looked up last, and its link: loops ask for the same one
    const Point* latest_point;
    Compiled* compiled;
};

}  // namespace
}  // namespace counterpoise
