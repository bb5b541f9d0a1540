// Arguments and results of the methods: sorting, conversion, output arrays, refusals, threads.
//
// A ready float64 array goes straight to the kernel. Anything else (lists, strided arrays, other types) and every fault
// goes through counterpoise/dynamics/inputs.py, so that both kernels convert and refuse with the same words.
#pragma once

#include "state.hpp"

namespace {

// Distributes positional and keyword arguments over named places; absent ones stay null. Fault: Python error, false.
bool sort_arguments(const char* method, PyObject* const* args, Py_ssize_t positional, PyObject* keywords,
                    PyObject* const* names, int places, int required, PyObject** sorted) {
    if (positional > places) {
        PyErr_Format(PyExc_TypeError, "%s() takes at most %d arguments (%zd given)", method, places, positional);
        return false;
    }
    for (int j = 0; j < places; ++j) sorted[j] = j < positional ? args[j] : nullptr;
    const Py_ssize_t named = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
    for (Py_ssize_t k = 0; k < named; ++k) {
        PyObject* name = PyTuple_GET_ITEM(keywords, k);
        int place = 0;
        while (place < places && names[place] != name) ++place;
        if (place == places) {  // not the interned string: compare by value
            place = 0;
            while (place < places && PyUnicode_Compare(names[place], name) != 0) ++place;
        }
        if (place == places) {
            PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", method, name);
            return false;
        }
        if (sorted[place] != nullptr) {
            PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%U'", method, name);
            return false;
        }
        sorted[place] = args[positional + k];
    }
    for (int j = 0; j < required; ++j) {
        if (sorted[j] == nullptr) {
            PyErr_Format(PyExc_TypeError, "%s() is missing the argument '%U'", method, names[j]);
            return false;
        }
    }
    for (int j = required; j < places; ++j)
        if (sorted[j] == Py_None) sorted[j] = nullptr;
    return true;
}

// A reference to an array that is released at the end of the scope.
struct Held {
    PyArrayObject* array = nullptr;
    ~Held() { Py_XDECREF(reinterpret_cast<PyObject*>(array)); }
    const double* data() const { return array == nullptr ? nullptr : static_cast<const double*>(PyArray_DATA(array)); }
};

bool is_ready(PyObject* value, npy_intp width) {
    if (!PyArray_CheckExact(value)) return false;
    PyArrayObject* array = reinterpret_cast<PyArrayObject*>(value);
    const int dimensions = PyArray_NDIM(array);
    return PyArray_TYPE(array) == NPY_DOUBLE && PyArray_ISCARRAY_RO(array) && (dimensions == 1 || dimensions == 2) &&
           PyArray_DIM(array, dimensions - 1) == width;
}

// Rows of `width` doubles from any argument.
bool take_rows(PyObject* value, PyObject* name, PyObject* columns, npy_intp width, Held* held) {
    if (is_ready(value, width)) {
        held->array = reinterpret_cast<PyArrayObject*>(Py_NewRef(value));
        return true;
    }
    PyObject* call[3] = {value, name, columns};
    PyObject* rows = PyObject_Vectorcall(as_rows, call, 3, nullptr);
    if (rows == nullptr) return false;
    held->array = reinterpret_cast<PyArrayObject*>(rows);
    if (is_ready(rows, width)) return true;
    PyErr_SetString(input_error, "an input could not be converted to a float64 array");
    return false;
}

bool same_shape(const Held& a, const Held& b, PyObject* name) {
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
PyArrayObject* take_result(PyObject* out, const Held* inputs, int input_count, const npy_intp* shape, int dimensions) {
    npy_intp full[3];
    int total = 0;
    if (PyArray_NDIM(inputs[0].array) == 2) full[total++] = PyArray_DIM(inputs[0].array, 0);
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
        for (int j = 0; fit && j < input_count; ++j) {
            if (inputs[j].array == nullptr) continue;
            const char* other = PyArray_BYTES(inputs[j].array);
            fit = other >= end || begin >= other + bytes_of(inputs[j].array);
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
        for (int j = 0; good && j < input_count; ++j)
            if (inputs[j].array != nullptr)
                good = PyList_Append(others, reinterpret_cast<PyObject*>(inputs[j].array)) == 0;
        if (good) checked = PyObject_CallFunctionObjArgs(check_out, out, wanted, others, nullptr);
    }
    Py_XDECREF(wanted);
    Py_XDECREF(others);
    return reinterpret_cast<PyArrayObject*>(checked);
}

// Raises for the entry that is out of range; nullptr without an error when there is none.
PyObject* refuse(const Held& held, PyObject* name, PyObject* columns) {
    if (held.array == nullptr || PyErr_Occurred() != nullptr) return nullptr;
    PyObject* result = PyObject_CallFunctionObjArgs(refuse_bad_entries, reinterpret_cast<PyObject*>(held.array), name,
                                                    columns, nullptr);
    Py_XDECREF(result);
    return nullptr;
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
bool fits_poses(const Held& wrench, const Held& q) {
    if (PyArray_NDIM(wrench.array) == 1) return true;
    if (PyArray_NDIM(q.array) == 2 && PyArray_DIM(q.array, 0) == PyArray_DIM(wrench.array, 0)) return true;
    Py_XDECREF(PyObject_CallFunctionObjArgs(refuse_wrench_shape, reinterpret_cast<PyObject*>(wrench.array),
                                            reinterpret_cast<PyObject*>(q.array), nullptr));
    refused();
    return false;
}

// Runs compute(first pose, count, workspace) over all poses: one pose with the lock held, many without it and, when
// asked for, on several threads. Chunks are multiples of 64 poses, so lanes are filled alike however many threads run.
template <class Compute>
bool run(const Compiled& compiled, const Held& q, const Compute& compute) {
    if (PyArray_NDIM(q.array) == 1) return compute(0, counterpoise::ALONE, compiled.work->data);
    const std::size_t count = PyArray_DIM(q.array, 0);
    if (count == 0) return true;
    const std::size_t doubles = compiled.table->work_doubles(compiled.model.bodies, compiled.model.depth);
    std::size_t threads = count / THREAD_POSES;
    if (threads > static_cast<std::size_t>(batch_threads)) threads = batch_threads;
    if (threads < 1) threads = 1;
    bool good = true, memory = true;
    Py_BEGIN_ALLOW_THREADS
    try {
        std::vector<std::unique_ptr<Workspace>> works;
        for (std::size_t t = 0; t < threads; ++t) works.emplace_back(new Workspace(doubles));
        if (threads == 1) {
            good = compute(0, count, works[0]->data);
        } else {
            const std::size_t share = (count / threads + 63) / 64 * 64;
            std::vector<char> results(threads, 1);
            std::vector<std::thread> workers;
            workers.reserve(threads);
            for (std::size_t t = 0; t < threads; ++t) {
                const std::size_t first = std::min(t * share, count);
                const std::size_t some = t + 1 == threads ? count - first : std::min(share, count - first);
                if (some == 0) continue;
                const auto chunk = [&, t, first, some] { results[t] = compute(first, some, works[t]->data); };
                try {
                    workers.emplace_back(chunk);
                } catch (const std::exception&) {  // no more threads to be had: this one does it
                    chunk();
                }
            }
            for (std::thread& worker : workers) worker.join();
            for (char result : results) good = good && result;
        }
    } catch (const std::exception&) {
        memory = false;
    }
    Py_END_ALLOW_THREADS
    if (!memory) PyErr_NoMemory();
    return good && memory;
}

}  // namespace
