// The methods of the kernel type.
#pragma once

#include "arguments.hpp"

namespace {

const Kernels* table_of(PyObject* kernel) { return reinterpret_cast<KernelObject*>(kernel)->compiled->table; }

using Function = bool (*)(const Model&, std::size_t, const double*, double*, double*);

// gravity, center_of_mass, gravity_regressor: q -> result.
PyObject* from_positions(PyObject* object, const char* method, Function function, const npy_intp* shape, int dimensions,
                         PyObject* const* args, Py_ssize_t positional, PyObject* keywords) {
    KernelObject* self = reinterpret_cast<KernelObject*>(object);
    PyObject* const names[2] = {name_q, name_out};
    PyObject* sorted[2];
    Held q;
    const npy_intp n = self->compiled->model.n;
    if (!sort_arguments(method, args, positional, keywords, names, 2, 1, sorted) ||
        !take_rows(sorted[0], name_q, self->joint_names, n, &q))
        return nullptr;
    PyArrayObject* result = take_result(sorted[1], &q, 1, shape, dimensions);
    if (result == nullptr) return nullptr;
    double* out = static_cast<double*>(PyArray_DATA(result));
    const npy_intp width = dimensions == 1 ? shape[0] : shape[0] * shape[1];
    const bool good = run(*self->compiled, q, [&](std::size_t first, std::size_t count, double* work) {
        return function(self->compiled->model, count, q.data() + first * n, out + first * width, work);
    });
    if (good) return reinterpret_cast<PyObject*>(result);
    Py_DECREF(result);
    refuse(q, name_q, self->joint_names);
    return refused();
}

PyObject* kernel_gravity(PyObject* self, PyObject* const* args, Py_ssize_t positional, PyObject* keywords) {
    const npy_intp shape[1] = {reinterpret_cast<KernelObject*>(self)->compiled->model.n};
    return from_positions(self, "gravity", table_of(self)->gravity, shape, 1, args, positional, keywords);
}

PyObject* kernel_center_of_mass(PyObject* self, PyObject* const* args, Py_ssize_t positional, PyObject* keywords) {
    const npy_intp shape[1] = {3};
    return from_positions(self, "center_of_mass", table_of(self)->center_of_mass, shape, 1, args, positional, keywords);
}

PyObject* kernel_gravity_regressor(PyObject* self, PyObject* const* args, Py_ssize_t positional, PyObject* keywords) {
    const Model& model = reinterpret_cast<KernelObject*>(self)->compiled->model;
    const npy_intp shape[2] = {model.n, 4 * model.bodies};
    return from_positions(self, "gravity_regressor", table_of(self)->gravity_regressor, shape, 2, args, positional, keywords);
}

using MotionFunction = bool (*)(const Model&, std::size_t, const double*, const double*, const double*, double*, double*);

// inverse_dynamics, base_wrench, inertial_regressor, base_wrench_regressor: q, dq, ddq -> result.
PyObject* from_motion(PyObject* object, const char* method, MotionFunction function, int required, bool needs_inertia,
                      const npy_intp* shape, int dimensions, PyObject* const* args, Py_ssize_t positional,
                      PyObject* keywords) {
    KernelObject* self = reinterpret_cast<KernelObject*>(object);
    PyObject* const names[4] = {name_q, name_dq, name_ddq, name_out};
    PyObject* sorted[4];
    if (!sort_arguments(method, args, positional, keywords, names, 4, required, sorted)) return nullptr;
    if (needs_inertia && self->compiled->refused && (sorted[1] != nullptr || sorted[2] != nullptr))
        return refuse_unphysical(self);
    Held rows[3];
    const npy_intp n = self->compiled->model.n;
    for (int j = 0; j < 3; ++j) {
        if (sorted[j] == nullptr) continue;
        if (!take_rows(sorted[j], names[j], self->joint_names, n, &rows[j]) ||
            (j > 0 && !same_shape(rows[j], rows[0], names[j])))
            return nullptr;
    }
    PyArrayObject* result = take_result(sorted[3], rows, 3, shape, dimensions);
    if (result == nullptr) return nullptr;
    double* out = static_cast<double*>(PyArray_DATA(result));
    const npy_intp width = dimensions == 1 ? shape[0] : shape[0] * shape[1];
    const double *q = rows[0].data(), *dq = rows[1].data(), *ddq = rows[2].data();
    const bool good = run(*self->compiled, rows[0], [&](std::size_t first, std::size_t count, double* work) {
        return function(self->compiled->model, count, q + first * n, dq == nullptr ? nullptr : dq + first * n,
                        ddq == nullptr ? nullptr : ddq + first * n, out + first * width, work);
    });
    if (good) return reinterpret_cast<PyObject*>(result);
    Py_DECREF(result);
    for (int j = 0; j < 3; ++j) refuse(rows[j], names[j], self->joint_names);
    return refused();
}

PyObject* kernel_inverse_dynamics(PyObject* self, PyObject* const* args, Py_ssize_t positional, PyObject* keywords) {
    const npy_intp shape[1] = {reinterpret_cast<KernelObject*>(self)->compiled->model.n};
    return from_motion(self, "inverse_dynamics", table_of(self)->inverse_dynamics, 3, true, shape, 1, args, positional, keywords);
}

PyObject* kernel_base_wrench(PyObject* self, PyObject* const* args, Py_ssize_t positional, PyObject* keywords) {
    const npy_intp shape[1] = {6};
    return from_motion(self, "base_wrench", table_of(self)->base_wrench, 1, true, shape, 1, args, positional, keywords);
}

PyObject* kernel_inertial_regressor(PyObject* self, PyObject* const* args, Py_ssize_t positional, PyObject* keywords) {
    const Model& model = reinterpret_cast<KernelObject*>(self)->compiled->model;
    const npy_intp shape[2] = {model.n, 10 * model.bodies};
    return from_motion(self, "inertial_regressor", table_of(self)->inertial_regressor, 1, false, shape, 2, args, positional,
                       keywords);
}

PyObject* kernel_base_wrench_regressor(PyObject* self, PyObject* const* args, Py_ssize_t positional,
                                       PyObject* keywords) {
    const npy_intp shape[2] = {6, 10 * (reinterpret_cast<KernelObject*>(self)->compiled->model.bodies + 1)};
    return from_motion(self, "base_wrench_regressor", table_of(self)->base_wrench_regressor, 1, false, shape, 2, args, positional,
                       keywords);
}

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

using LinkFunction = bool (*)(const Model&, const Point&, std::size_t, const double*, double*, double*);

// forward_kinematics, jacobian: q, link -> matrix.
PyObject* from_link(PyObject* object, const char* method, LinkFunction function, const npy_intp* shape,
                    PyObject* const* args, Py_ssize_t positional, PyObject* keywords) {
    KernelObject* self = reinterpret_cast<KernelObject*>(object);
    PyObject* const names[3] = {name_q, name_at, name_out};
    PyObject* sorted[3];
    Held q;
    const npy_intp n = self->compiled->model.n;
    if (!sort_arguments(method, args, positional, keywords, names, 3, 1, sorted) ||
        !take_rows(sorted[0], name_q, self->joint_names, n, &q))
        return nullptr;
    const Point* point = find_link(self, sorted[1]);
    if (point == nullptr) return nullptr;
    PyArrayObject* result = take_result(sorted[2], &q, 1, shape, 2);
    if (result == nullptr) return nullptr;
    double* out = static_cast<double*>(PyArray_DATA(result));
    const bool good = run(*self->compiled, q, [&](std::size_t first, std::size_t count, double* work) {
        return function(self->compiled->model, *point, count, q.data() + first * n, out + first * shape[0] * shape[1],
                        work);
    });
    if (good) return reinterpret_cast<PyObject*>(result);
    Py_DECREF(result);
    refuse(q, name_q, self->joint_names);
    return refused();
}

PyObject* kernel_forward_kinematics(PyObject* self, PyObject* const* args, Py_ssize_t positional, PyObject* keywords) {
    const npy_intp shape[2] = {4, 4};
    return from_link(self, "forward_kinematics", table_of(self)->forward_kinematics, shape, args, positional, keywords);
}

PyObject* kernel_jacobian(PyObject* self, PyObject* const* args, Py_ssize_t positional, PyObject* keywords) {
    const npy_intp shape[2] = {6, reinterpret_cast<KernelObject*>(self)->compiled->model.n};
    return from_link(self, "jacobian", table_of(self)->jacobian, shape, args, positional, keywords);
}

PyObject* kernel_wrench_torque(PyObject* object, PyObject* const* args, Py_ssize_t positional, PyObject* keywords) {
    KernelObject* self = reinterpret_cast<KernelObject*>(object);
    PyObject* const names[4] = {name_q, name_wrench, name_at, name_out};
    PyObject* sorted[4];
    Held rows[2];
    const npy_intp n = self->compiled->model.n;
    if (!sort_arguments("wrench_torque", args, positional, keywords, names, 4, 2, sorted) ||
        !take_rows(sorted[0], name_q, self->joint_names, n, &rows[0]) ||
        !take_rows(sorted[1], name_wrench, wrench_components, 6, &rows[1]))
        return nullptr;
    if (!fits_poses(rows[1], rows[0])) return nullptr;
    const Point* point = find_link(self, sorted[2]);
    if (point == nullptr) return nullptr;
    PyArrayObject* result = take_result(sorted[3], rows, 2, &n, 1);
    if (result == nullptr) return nullptr;
    double* out = static_cast<double*>(PyArray_DATA(result));
    const std::size_t stride = PyArray_NDIM(rows[1].array) == 1 ? 0 : 6;
    const bool good = run(*self->compiled, rows[0], [&](std::size_t first, std::size_t count, double* work) {
        return self->compiled->table->wrench_torque(self->compiled->model, *point, count, rows[0].data() + first * n,
                                    rows[1].data() + first * stride, stride, out + first * n, work);
    });
    if (good) return reinterpret_cast<PyObject*>(result);
    Py_DECREF(result);
    refuse(rows[0], name_q, self->joint_names);
    refuse(rows[1], name_wrench, wrench_components);
    return refused();
}

// Joint torques without gravity from q, wrench, dq and ddq, the first four of `given`: base_torques, and the forms of a
// plate's kernel.
PyObject* from_plate(KernelObject* self, const Plate& plate, PyObject* const* given, PyObject* into) {
    if (self->compiled->refused && (given[2] != nullptr || given[3] != nullptr)) return refuse_unphysical(self);
    PyObject* const names[4] = {name_q, name_wrench, name_dq, name_ddq};
    const npy_intp n = self->compiled->model.n;
    Held rows[4];
    if (!take_rows(given[0], name_q, self->joint_names, n, &rows[0]) ||
        !take_rows(given[1], name_wrench, wrench_components, 6, &rows[1]) || !fits_poses(rows[1], rows[0]))
        return nullptr;
    for (int j = 2; j < 4; ++j) {
        if (given[j] == nullptr) continue;
        if (!take_rows(given[j], names[j], self->joint_names, n, &rows[j]) || !same_shape(rows[j], rows[0], names[j]))
            return nullptr;
    }
    PyArrayObject* result = take_result(into, rows, 4, &n, 1);
    if (result == nullptr) return nullptr;
    double* out = static_cast<double*>(PyArray_DATA(result));
    const std::size_t stride = PyArray_NDIM(rows[1].array) == 1 ? 0 : 6;
    const double *q = rows[0].data(), *wrench = rows[1].data(), *dq = rows[2].data(), *ddq = rows[3].data();
    const bool good = run(*self->compiled, rows[0], [&](std::size_t first, std::size_t count, double* work) {
        return self->compiled->table->plate_torque(self->compiled->model, plate, count, q + first * n,
                                                   dq == nullptr ? nullptr : dq + first * n,
                                                   ddq == nullptr ? nullptr : ddq + first * n, wrench + first * stride,
                                                   stride, out + first * n, work);
    });
    if (good) return reinterpret_cast<PyObject*>(result);
    Py_DECREF(result);
    refuse(rows[0], name_q, self->joint_names);
    refuse(rows[1], name_wrench, wrench_components);
    for (int j = 2; j < 4; ++j) refuse(rows[j], names[j], self->joint_names);
    return refused();
}

// What base_torques takes: the wrench on the robot itself, the model's weight in it.
constexpr Plate BARE_PLATE = {{1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0,
                               0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1},
                              {0, 0, 0, 0, 0, 0},
                              true};

PyObject* kernel_base_torques(PyObject* self, PyObject* const* args, Py_ssize_t positional, PyObject* keywords) {
    PyObject* const names[5] = {name_q, name_wrench, name_dq, name_ddq, name_out};
    PyObject* sorted[5];
    if (!sort_arguments("base_torques", args, positional, keywords, names, 5, 2, sorted)) return nullptr;
    return from_plate(reinterpret_cast<KernelObject*>(self), BARE_PLATE, sorted, sorted[4]);
}

}  // namespace
