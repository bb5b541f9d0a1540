// The type that turns plate readings into joint torques, for counterpoise/base_sensor/plate_kernel.py.
#pragma once

#include "arguments.hpp"
#include "methods.hpp"

namespace {

PyObject* kernel_type = nullptr;

constexpr int FORMS = 4;
constexpr int AUTO = 3;
const char* const FORM_TEXTS[FORMS] = {"full", "tared", "tared+model", "auto"};
PyObject* form_names[FORMS];

// What a form computes; one that is not ready is left to Python.
struct Form {
    Plate plate;
    bool ready;
    bool moves;  // velocities and accelerations count
};

struct PlateObject {
    PyObject_HEAD
    PyObject* robot;
    Form forms[FORMS];
};

PyObject* plate_new(PyTypeObject* type, PyObject* args, PyObject*) {
    PyObject* robot;
    if (!PyArg_ParseTuple(args, "O!", reinterpret_cast<PyTypeObject*>(kernel_type), &robot)) return nullptr;
    PlateObject* self = reinterpret_cast<PlateObject*>(type->tp_alloc(type, 0));  // zeroed: no form is ready
    if (self == nullptr) return nullptr;
    self->robot = Py_NewRef(robot);
    for (Form& form : self->forms)
        for (int i = 0; i < 6; ++i) form.plate.matrix[7 * i] = 1.0;
    // A bare kernel takes the wrench itself.
    self->forms[AUTO].ready = self->forms[AUTO].moves = true;
    return reinterpret_cast<PyObject*>(self);
}

void plate_dealloc(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    Py_XDECREF(reinterpret_cast<PlateObject*>(object)->robot);
    type->tp_free(object);
    Py_DECREF(type);
}

PyObject* plate_robot(PyObject* object, void*) { return Py_NewRef(reinterpret_cast<PlateObject*>(object)->robot); }

// Copies an array of exactly `count` doubles. Fault: Python error, false.
bool copy_doubles(PyObject* value, npy_intp count, double* to) {
    Held held;
    held.array = reinterpret_cast<PyArrayObject*>(PyArray_FROMANY(value, NPY_DOUBLE, 0, 0, NPY_ARRAY_CARRAY_RO));
    if (held.array == nullptr) return false;
    if (PyArray_SIZE(held.array) != count) {
        PyErr_Format(input_error, "expected %zd numbers", static_cast<Py_ssize_t>(count));
        return false;
    }
    std::memcpy(to, held.data(), count * sizeof(double));
    return true;
}

PyObject* plate_set_reading(PyObject* object, PyObject* matrix) {
    double rows[36];
    if (!copy_doubles(matrix, 36, rows)) return nullptr;
    for (Form& form : reinterpret_cast<PlateObject*>(object)->forms)
        for (int row = 0; row < 6; ++row)
            for (int column = 0; column < 6; ++column) form.plate.matrix[6 * column + row] = rows[6 * row + column];
    Py_RETURN_NONE;
}

PyObject* plate_set_form(PyObject* object, PyObject* args) {
    int index, gravity, moves;
    PyObject* offset;
    if (!PyArg_ParseTuple(args, "iOpp", &index, &offset, &gravity, &moves)) return nullptr;
    if (index < 0 || index >= FORMS) {
        PyErr_Format(input_error, "there is no form %d", index);
        return nullptr;
    }
    Form& form = reinterpret_cast<PlateObject*>(object)->forms[index];
    form.ready = false;  // until it is whole
    if (offset != Py_None && !copy_doubles(offset, 6, form.plate.offset)) return nullptr;
    form.ready = offset != Py_None;
    form.plate.gravity = gravity;
    form.moves = moves;
    Py_RETURN_NONE;
}

const Form* find_form(PlateObject* self, PyObject* name) {
    if (name == nullptr) return &self->forms[AUTO];
    for (int f = 0; f < FORMS; ++f)
        if (form_names[f] == name) return &self->forms[f];
    if (!PyUnicode_Check(name)) return nullptr;
    for (int f = 0; f < FORMS; ++f)
        if (PyUnicode_Compare(form_names[f], name) == 0) return &self->forms[f];
    return nullptr;
}

PyObject* or_none(PyObject* value) { return value == nullptr ? Py_None : value; }

PyObject* plate_joint_torques(PyObject* object, PyObject* const* args, Py_ssize_t positional, PyObject* keywords) {
    PlateObject* self = reinterpret_cast<PlateObject*>(object);
    PyObject* const names[6] = {name_q, name_wrench, name_dq, name_ddq, name_form, name_out};
    PyObject* sorted[6];
    if (!sort_arguments("joint_torques", args, positional, keywords, names, 6, 2, sorted)) return nullptr;
    const Form* form = find_form(self, sorted[4]);
    const bool motion = sorted[2] != nullptr || sorted[3] != nullptr;
    if (form == nullptr || !form->ready || (motion && !form->moves)) {
        PyObject* call[7] = {object,          sorted[0], sorted[1], or_none(sorted[2]), or_none(sorted[3]),
                             sorted[4] == nullptr ? form_names[AUTO] : sorted[4], or_none(sorted[5])};
        return PyObject_VectorcallMethod(name_by_stages, call, 7, nullptr);
    }
    return from_plate(reinterpret_cast<KernelObject*>(self->robot), form->plate, sorted, sorted[5]);
}

}  // namespace
