// The methods of the kernel type: a table of what each takes and gives, and the one function that serves them all.
#pragma once

#include <utility>

#include "rows.hpp"

namespace counterpoise {
namespace {

// The shape of the result of one pose.
struct Shape {
    int dimensions;
    npy_intp size[2];
    npy_intp count() const { return dimensions == 1 ? size[0] : size[0] * size[1]; }
};

struct Method {
    const char* name;
    const char* signature;
    Operation Kernels::*operation;
    int argument_count, positional_count, required;
    int arguments[6];    // their places; q comes first
    bool needs_inertia;  // unphysical inertias are refused where there is a motion
    Shape (*shape)(const Model&);
};

Shape joints(const Model& model) { return {1, {model.n, 0}}; }
Shape wrench(const Model&) { return {1, {6, 0}}; }

constexpr Method METHODS[] = {
    {"gravity", "($self, q, out=None)", &Kernels::gravity, 2, 2, 1, {Q, OUT}, false, joints},
    {"inverse_dynamics", "($self, q, dq, ddq, out=None)", &Kernels::inverse_dynamics, 4, 4, 3, {Q, DQ, DDQ, OUT}, true,
     joints},
    {"base_wrench", "($self, q, dq=None, ddq=None, out=None)", &Kernels::base_wrench, 4, 4, 1, {Q, DQ, DDQ, OUT}, true,
     wrench},
    {"base_torques", "($self, q, wrench, dq=None, ddq=None, out=None, *, frame=None)", &Kernels::base_torques, 6, 5, 2,
     {Q, WRENCH, DQ, DDQ, OUT, FRAME}, true, joints},
    {"center_of_mass", "($self, q, out=None)", &Kernels::center_of_mass, 2, 2, 1, {Q, OUT}, false,
     [](const Model&) -> Shape { return {1, {3, 0}}; }},
    {"forward_kinematics", "($self, q, at=None, out=None)", &Kernels::forward_kinematics, 3, 3, 1, {Q, AT, OUT}, false,
     [](const Model&) -> Shape { return {2, {4, 4}}; }},
    {"jacobian", "($self, q, at=None, out=None)", &Kernels::jacobian, 3, 3, 1, {Q, AT, OUT}, false,
     [](const Model& model) -> Shape { return {2, {6, model.n}}; }},
    {"wrench_torque", "($self, q, wrench, at=None, out=None)", &Kernels::wrench_torque, 4, 4, 2, {Q, WRENCH, AT, OUT}, false,
     joints},
    {"gravity_regressor", "($self, q, out=None)", &Kernels::gravity_regressor, 2, 2, 1, {Q, OUT}, false,
     [](const Model& model) -> Shape { return {2, {model.n, 4 * model.bodies}}; }},
    {"inertial_regressor", "($self, q, dq=None, ddq=None, out=None)", &Kernels::inertial_regressor, 4, 4, 1,
     {Q, DQ, DDQ, OUT}, false, [](const Model& model) -> Shape { return {2, {model.n, 10 * model.bodies}}; }},
    {"base_wrench_regressor", "($self, q, dq=None, ddq=None, out=None)", &Kernels::base_wrench_regressor, 4, 4, 1,
     {Q, DQ, DDQ, OUT}, false, [](const Model& model) -> Shape { return {2, {6, 10 * (model.bodies + 1)}}; }},
};
constexpr int METHOD_COUNT = sizeof METHODS / sizeof METHODS[0];

// Distributes positional and keyword arguments over their places; absent ones, and None where it may be left out, are null.
// Fault: Python error, false.
COUNTERPOISE_HOT bool sort_arguments(const Method& method, PyObject* const* args, Py_ssize_t positional,
                                     PyObject* keywords, PyObject** sorted) {
    const int count = method.argument_count;
    const int* places = method.arguments;
    if (positional > method.positional_count) {
        PyErr_Format(PyExc_TypeError, "%s() takes at most %d positional arguments (%zd given)", method.name,
                     method.positional_count, positional);
        return false;
    }
    for (int j = 0; j < PLACE_COUNT; ++j) sorted[j] = nullptr;
    for (int j = 0; j < positional; ++j) sorted[places[j]] = args[j];
    const Py_ssize_t named = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
    for (Py_ssize_t k = 0; k < named; ++k) {
        PyObject* name = PyTuple_GET_ITEM(keywords, k);
        int j = 0;
        while (j < count && names[places[j]] != name) ++j;
        if (j == count) {  // not the interned string: compare by value
            j = 0;
            while (j < count && PyUnicode_Compare(names[places[j]], name) != 0) ++j;
        }
        if (j == count) {
            PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", method.name, name);
            return false;
        }
        if (sorted[places[j]] != nullptr) {
            PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%U'", method.name, name);
            return false;
        }
        sorted[places[j]] = args[positional + k];
    }
    for (int j = 0; j < count; ++j) {
        PyObject*& value = sorted[places[j]];
        if (j >= method.required) {
            if (value == Py_None) value = nullptr;
        } else if (value == nullptr) {
            PyErr_Format(PyExc_TypeError, "%s() is missing the argument '%U'", method.name, names[places[j]]);
            return false;
        }
    }
    return true;
}

// Takes one argument of a method, where it is there. Fault: Python error, false.
template <int PLACE>
COUNTERPOISE_HOT bool take_argument(KernelObject* self, PyObject* value, Rows* rows, Poses* poses) {
    if constexpr (PLACE == AT) return (poses->point = find_link(self, value)) != nullptr;
    if (PLACE >= INPUT_COUNT || value == nullptr) return true;
    const std::size_t width = PLACE == WRENCH || PLACE == FRAME ? 6 : self->compiled->model.n;
    Rows& taken = rows[PLACE];
    if (!take_rows(value, names[PLACE], columns_of(self, PLACE), width, &taken) || !belongs(taken, rows[Q], PLACE))
        return false;
    if (PLACE == FRAME)
        poses->inputs[PLACE] = {taken.data(), FRAME_ROWS * width, 0};
    else
        poses->inputs[PLACE] = {taken.data(), width, taken.is_one() ? 0 : width};
    return true;
}

template <int INDEX, int... A>
COUNTERPOISE_HOT bool take_arguments(KernelObject* self, PyObject** sorted, Rows* rows, Poses* poses,
                                     std::integer_sequence<int, A...>) {
    return (take_argument<METHODS[INDEX].arguments[A]>(self, sorted[METHODS[INDEX].arguments[A]], rows, poses) && ...);
}

template <int INDEX>
PyObject* compute(PyObject* object, PyObject* const* args, Py_ssize_t positional, PyObject* keywords) {
    constexpr const Method& method = METHODS[INDEX];
    KernelObject* self = reinterpret_cast<KernelObject*>(object);
    const Compiled& compiled = *self->compiled;
    const Model& model = compiled.model;
    PyObject* sorted[PLACE_COUNT];
    if (!sort_arguments(method, args, positional, keywords, sorted)) return nullptr;
    if (method.needs_inertia && compiled.refused && (sorted[DQ] != nullptr || sorted[DDQ] != nullptr))
        return refuse_unphysical(self);
    Rows rows[INPUT_COUNT];
    Poses poses;
    for (Input& input : poses.inputs) input.rows = nullptr;
    using Places = std::make_integer_sequence<int, METHODS[INDEX].argument_count>;
    if (!take_arguments<INDEX>(self, sorted, rows, &poses, Places())) return nullptr;
    const Shape shape = method.shape(model);
    PyArrayObject* result = take_result(sorted[OUT], rows, shape.size, shape.dimensions);
    if (result == nullptr) return nullptr;
    const Operation operation = compiled.table->*method.operation;
    double* const numbers = static_cast<double*>(PyArray_DATA(result));
    poses.count = rows[Q].is_one() ? ALONE : rows[Q].count();
    // One pose keeps the lock, and with it the robot's own workspace.
    if (rows[Q].is_one() ? operation(model, poses, numbers, compiled.work->data)
                         : run_batch(compiled, operation, poses, numbers, shape.count()))
        return reinterpret_cast<PyObject*>(result);
    Py_DECREF(result);
    for (int a = 0; a < method.argument_count; ++a) {
        const int place = method.arguments[a];
        if (place < INPUT_COUNT) refuse(rows[place], names[place], columns_of(self, place));
    }
    return refused();
}

template <int... INDEX>
PyMethodDef* table_of_methods(std::integer_sequence<int, INDEX...>) {
    static PyMethodDef table[] = {
        {METHODS[INDEX].name, fast(compute<INDEX>), METH_FASTCALL | METH_KEYWORDS, nullptr}...,
        {nullptr, nullptr, 0, nullptr},
    };
    return table;
}

}  // namespace
}  // namespace counterpoise
