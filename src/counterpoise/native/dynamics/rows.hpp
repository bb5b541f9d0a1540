// Rows that a method takes and gives: conversion, output arrays, refusals, threads.
//
// A ready float64 array goes straight to the kernel. Anything else (lists, strided arrays, other types) and every fault
// goes through counterpoise/dynamics/inputs.py, so that both kernels convert and refuse with the same words.
#pragma once

#include "state.hpp"

namespace counterpoise {
namespace {

// A reference to an array that is released at the end of the scope.
struct Rows {
    PyArrayObject* array = nullptr;
    Rows() = default;
    Rows(const Rows&) = delete;
    Rows& operator=(const Rows&) = delete;
    ~Rows() { Py_XDECREF(reinterpret_cast<PyObject*>(array)); }
    const double* data() const { return static_cast<const double*>(PyArray_DATA(array)); }
    bool is_one() const { return PyArray_NDIM(array) == 1; }
    std::size_t count() const { return static_cast<std::size_t>(PyArray_DIM(array, 0)); }
};

PyObject* columns_of(KernelObject* self, int place) {
    return place == WRENCH || place == FRAME ? wrench_components : self->joint_names;
}

COUNTERPOISE_HOT bool is_ready(PyObject* value, npy_intp width) {
    if (!PyArray_CheckExact(value)) return false;
    PyArrayObject* array = reinterpret_cast<PyArrayObject*>(value);
    const int dimensions = PyArray_NDIM(array);
    return PyArray_TYPE(array) == NPY_DOUBLE && PyArray_ISCARRAY_RO(array) && (dimensions == 1 || dimensions == 2) &&
           PyArray_DIM(array, dimensions - 1) == width;
}

// Rows of `width` doubles from any argument.
COUNTERPOISE_HOT bool take_rows(PyObject* value, PyObject* name, PyObject* columns, npy_intp width, Rows* rows) {
    if (is_ready(value, width)) {
        rows->array = reinterpret_cast<PyArrayObject*>(Py_NewRef(value));
        return true;
    }
    PyObject* call[3] = {value, name, columns};
    PyObject* converted = PyObject_Vectorcall(as_rows, call, 3, nullptr);
    if (converted == nullptr) return false;
    rows->array = reinterpret_cast<PyArrayObject*>(converted);
    if (is_ready(converted, width)) return true;
    PyErr_SetString(input_error, "an input could not be converted to a float64 array");
    return false;
}

bool same_shape(const Rows& a, const Rows& b, PyObject* name) {
    if (PyArray_NDIM(a.array) == PyArray_NDIM(b.array) && PyArray_DIM(a.array, 0) == PyArray_DIM(b.array, 0)) return true;
    PyObject* shape = PyObject_GetAttrString(reinterpret_cast<PyObject*>(a.array), "shape");
    PyObject* expected = PyObject_GetAttrString(reinterpret_cast<PyObject*>(b.array), "shape");
    if (shape != nullptr && expected != nullptr)
        PyErr_Format(input_error, "%U has shape %R; expected the shape of q, %R", name, shape, expected);
    Py_XDECREF(shape);
    Py_XDECREF(expected);
    return false;
}

npy_intp bytes_of(PyArrayObject* array) {
    npy_intp count = sizeof(double);
    for (int d = 0; d < PyArray_NDIM(array); ++d) count *= PyArray_DIM(array, d);
    return count;
}

// The result array: `out` when given and fit, else a new one. Shape: (k,) in front when q has two dimensions.
COUNTERPOISE_HOT PyArrayObject* take_result(PyObject* out, const Rows (&inputs)[INPUT_COUNT], const npy_intp* shape,
                                            int dimensions) {
    npy_intp full[3];
    int total = 0;
    if (!inputs[Q].is_one()) full[total++] = PyArray_DIM(inputs[Q].array, 0);
    for (int d = 0; d < dimensions; ++d) full[total++] = shape[d];
    if (out == nullptr) {
        Py_INCREF(float64);
        return reinterpret_cast<PyArrayObject*>(
            PyArray_NewFromDescr(&PyArray_Type, float64, total, full, nullptr, nullptr, 0, nullptr));
    }
    if (PyArray_CheckExact(out)) {
        PyArrayObject* array = reinterpret_cast<PyArrayObject*>(out);
        bool fit = PyArray_TYPE(array) == NPY_DOUBLE && PyArray_ISCARRAY(array) && PyArray_NDIM(array) == total;
        for (int d = 0; fit && d < total; ++d) fit = PyArray_DIM(array, d) == full[d];
        const char* begin = PyArray_BYTES(array);
        const char* end = begin + bytes_of(array);
        for (const Rows& input : inputs) {
            if (!fit || input.array == nullptr) continue;
            const char* other = PyArray_BYTES(input.array);
            fit = other >= end || begin >= other + bytes_of(input.array);
        }
        if (fit) return reinterpret_cast<PyArrayObject*>(Py_NewRef(out));
    }
    // Python names the fault; it may also accept a subclass of ndarray.
    PyObject* wanted = PyTuple_New(total);
    PyObject* others = PyList_New(0);
    PyObject* checked = nullptr;
    if (wanted != nullptr && others != nullptr) {
        for (int d = 0; d < total; ++d) PyTuple_SET_ITEM(wanted, d, PyLong_FromSsize_t(full[d]));
        bool good = true;
        for (const Rows& input : inputs)
            if (good && input.array != nullptr)
                good = PyList_Append(others, reinterpret_cast<PyObject*>(input.array)) == 0;
        if (good) checked = PyObject_CallFunctionObjArgs(check_out, out, wanted, others, nullptr);
    }
    Py_XDECREF(wanted);
    Py_XDECREF(others);
    return reinterpret_cast<PyArrayObject*>(checked);
}

// Raises for the entry that is out of range, if there is one.
void refuse(const Rows& rows, PyObject* name, PyObject* columns) {
    if (rows.array == nullptr || PyErr_Occurred() != nullptr) return;
    Py_XDECREF(PyObject_CallFunctionObjArgs(refuse_bad_entries, reinterpret_cast<PyObject*>(rows.array), name, columns,
                                            nullptr));
}

// For the end of a refusal: another thread may have corrected the entry in the meantime.
PyObject* refused() {
    if (PyErr_Occurred() == nullptr)
        PyErr_SetString(input_error, "an input changed while it was being read; give each thread arrays of its own");
    return nullptr;
}

// Raises for inertial dynamics asked of inertias that no real body has.
PyObject* refuse_unphysical(KernelObject* self) {
    PyObject* error = PyObject_CallOneArg(unphysical, self->tree);
    if (error != nullptr) {
        PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error)), error);
        Py_DECREF(error);
    }
    return nullptr;
}

// One wrench, or one for each pose. Fault: Python error, false.
bool fits_poses(const Rows& wrench, const Rows& q) {
    if (wrench.is_one() || (!q.is_one() && q.count() == wrench.count())) return true;
    Py_XDECREF(PyObject_CallFunctionObjArgs(refuse_wrench_shape, reinterpret_cast<PyObject*>(wrench.array),
                                            reinterpret_cast<PyObject*>(q.array), nullptr));
    refused();
    return false;
}

// The link that is meant. Fault: Python error, null.
const Point* find_link(KernelObject* self, PyObject* at) {
    if (at == nullptr && self->compiled->only_tip >= 0) return &self->compiled->links[self->compiled->only_tip];
    if (at != nullptr && at == self->latest_at) return self->latest_point;
    if (at != nullptr && PyUnicode_CheckExact(at)) {
        PyObject* index = PyDict_GetItemWithError(self->link_indices, at);
        if (index != nullptr) {
            Py_XSETREF(self->latest_at, Py_NewRef(at));
            return self->latest_point = &self->compiled->links[PyLong_AsSsize_t(index)];
        }
        if (PyErr_Occurred()) return nullptr;
    }
    PyObject* index = PyObject_CallFunctionObjArgs(link_index, self->link_names, self->tips,
                                                   at == nullptr ? Py_None : at, nullptr);
    if (index == nullptr) return nullptr;
    const Py_ssize_t found = PyLong_AsSsize_t(index);
    Py_DECREF(index);
    return found < 0 ? nullptr : &self->compiled->links[found];
}

// `some` poses from `first` on.
Poses part_of(Poses poses, std::size_t first, std::size_t some) {
    for (Input& input : poses.inputs)
        if (input.rows != nullptr) input.rows += first * input.stride;
    poses.count = some;
    return poses;
}

// Whether the rows of an input belong to those of q. Fault: Python error, false.
COUNTERPOISE_HOT bool belongs(const Rows& rows, const Rows& q, int place) {
    if (place == WRENCH) return fits_poses(rows, q);
    if (place == Q) return true;
    if (place != FRAME) return same_shape(rows, q, names[place]);
    if (!rows.is_one() && rows.count() == FRAME_ROWS) return true;
    PyErr_SetString(input_error, "frame must have shape (7, 6): a matrix and, below it, an offset");
    return false;
}

// Runs an operation on a batch, with results of `size` numbers, without the lock and, when asked for, on several threads.
// Chunks are multiples of 64 poses, so lanes are filled alike however many threads run.
bool run_batch(const Compiled& compiled, Operation operation, const Poses& poses, double* results, std::size_t size) {
    const std::size_t count = poses.count;
    if (count == 0) return true;
    const std::size_t doubles = compiled.table->work_doubles(compiled.model.bodies, compiled.model.depth);
    const std::size_t most = static_cast<std::size_t>(batch_threads);
    const std::size_t threads = std::max<std::size_t>(1, std::min(count / THREAD_POSES, most));
    bool good = true, memory = true;
    Py_BEGIN_ALLOW_THREADS
    try {
        std::vector<std::unique_ptr<Workspace>> works;
        for (std::size_t t = 0; t < threads; ++t) works.emplace_back(new Workspace(doubles));
        if (threads == 1) {
            good = operation(compiled.model, poses, results, works[0]->data);
        } else {
            const std::size_t chunk = (count / threads + 63) / 64 * 64;
            std::vector<char> successes(threads, 1);
            std::vector<std::thread> workers;
            workers.reserve(threads);
            for (std::size_t t = 0; t < threads; ++t) {
                const std::size_t first = std::min(t * chunk, count);
                const std::size_t some = t + 1 == threads ? count - first : std::min(chunk, count - first);
                if (some == 0) continue;
                const auto compute = [&, t, first, some] {
                    successes[t] = operation(compiled.model, part_of(poses, first, some), results + first * size,
                                             works[t]->data);
                };
                try {
                    workers.emplace_back(compute);
                } catch (const std::exception&) {  // no more threads to be had: this one does it
                    compute();
                }
            }
            for (std::thread& worker : workers) worker.join();
            for (char success : successes) good = good && success;
        }
    } catch (const std::exception&) {
        memory = false;
    }
    Py_END_ALLOW_THREADS
    if (!memory) PyErr_NoMemory();
    return good && memory;
}

}  // namespace
}  // namespace counterpoise
