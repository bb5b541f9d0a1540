// What the Python types share: the table of kernels chosen for new objects, borrowed Python helpers, a compiled robot and its object.
//
// Included by module.cpp alone, as are construction.hpp, arguments.hpp, methods.hpp and plate_methods.hpp: one
// translation unit, so that the small steps of a call are inlined.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <numpy/arrayobject.h>

#if defined(_WIN32)
#include <malloc.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "model.hpp"

namespace {

using counterpoise::Body;
using counterpoise::Kernels;
using counterpoise::Model;
using counterpoise::Plate;
using counterpoise::Point;

constexpr std::size_t THREAD_POSES = 4096;  // below this many poses per thread, starting threads costs more than it gains

const Kernels* chosen_table = nullptr;  // of the kernels made from now on
int batch_threads = 1;

// Borrowed for ever from the Python side.
PyObject *as_rows = nullptr, *refuse_bad_entries = nullptr, *check_out = nullptr, *link_index = nullptr,
         *unphysical = nullptr, *refuse_wrench_shape = nullptr, *input_error = nullptr, *wrench_components = nullptr;
PyArray_Descr* float64 = nullptr;
PyObject *name_q, *name_dq, *name_ddq, *name_out, *name_at, *name_wrench, *name_form, *name_by_stages;

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
