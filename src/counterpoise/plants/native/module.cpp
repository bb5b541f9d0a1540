// The native steppers as Python types. Each holds buffers that its maker shares with it (MuJoCo's own arrays among them)
// and works on them in place, so that a step costs one call without arguments.
//
// Only counterpoise/plants/kernel.py makes these objects. Arguments of a wrong type, size or range raise TypeError,
// ValueError, OverflowError or BufferError, whoever calls (tests/test_native_arguments.py).
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cmath>
#include <cstring>
#include <new>
#include <vector>

#include "../../dynamics/native/compiler.hpp"
#include "drive.hpp"
#include "one_joint.hpp"

namespace {

using counterpoise::Drive;
using counterpoise::DriveState;
using counterpoise::Link;
using counterpoise::LinkState;

constexpr Py_ssize_t DRIVE_DOUBLES = sizeof(Drive) / sizeof(double);
constexpr Py_ssize_t STATE_DOUBLES = sizeof(DriveState) / sizeof(double);
constexpr Py_ssize_t LINK_DOUBLES = sizeof(Link) / sizeof(double);
constexpr Py_ssize_t LINK_STATE_DOUBLES = sizeof(LinkState) / sizeof(double);
constexpr double RUNAWAY = 1e6;  // [rad/s or m/s] beyond it the simulation has diverged

// Float64 buffers, released together.
struct Buffers {
    std::vector<Py_buffer> views;
    ~Buffers() {
        for (Py_buffer& view : views) PyBuffer_Release(&view);
    }
    // The doubles of a C-contiguous float64 buffer of exactly `count` entries; null with a Python error set.
    double* doubles(PyObject* owner, const char* name, Py_ssize_t count, bool writable) {
        Py_buffer view;
        const int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
        if (PyObject_GetBuffer(owner, &view, flags) != 0) return nullptr;
        views.push_back(view);
        const bool is_double = view.format != nullptr && std::strcmp(view.format, "d") == 0;
        if (is_double && view.len == count * static_cast<Py_ssize_t>(sizeof(double))) return static_cast<double*>(view.buf);
        PyErr_Format(PyExc_ValueError, "%s must hold exactly %zd float64 numbers", name, count);
        return nullptr;
    }
};

// How many rows of `width` doubles an object's buffer holds, by its bytes and not by its word; −1 with a Python error set.
Py_ssize_t rows_in(PyObject* owner, const char* name, Py_ssize_t width) {
    Py_buffer view;
    if (PyObject_GetBuffer(owner, &view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) != 0) return -1;
    const Py_ssize_t bytes = view.len, row = width * static_cast<Py_ssize_t>(sizeof(double));
    PyBuffer_Release(&view);
    if (bytes % row == 0) return bytes / row;
    PyErr_Format(PyExc_ValueError, "%s must hold rows of %zd float64 numbers", name, width);
    return -1;
}

// Refuses keywords: the places have no names.
bool no_keywords(PyObject* keywords) {
    if (keywords == nullptr || PyDict_GET_SIZE(keywords) == 0) return true;
    PyErr_SetString(PyExc_TypeError, "keyword arguments are not taken");
    return false;
}

double lag_decay(const Drive& drive, double dt) { return drive.lag > 0.0 ? std::exp(-dt / drive.lag) : 0.0; }

template <class Object>
void release(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    delete reinterpret_cast<Object*>(object)->held;
    type->tp_free(object);
    Py_DECREF(type);
}

template <class Object, class Held>
PyObject* fresh(PyTypeObject* type, Held** held) {
    PyObject* object = type->tp_alloc(type, 0);
    if (object == nullptr) return nullptr;
    *held = reinterpret_cast<Object*>(object)->held = new (std::nothrow) Held;
    if (*held != nullptr) return object;
    Py_DECREF(object);
    return PyErr_NoMemory();
}

// ---------------------------------------------------------------------------------------------------------- Drives

struct HeldDrives {
    Buffers buffers;
    std::vector<Drive> drives;
    std::vector<double> decays;
    DriveState* states;
    const double *command, *q, *dq;
    double* torque;
    double dt;
};

struct DrivesObject {
    PyObject_HEAD
    HeldDrives* held;
};

PyObject* drives_new(PyTypeObject* type, PyObject* args, PyObject* keywords) {
    if (!no_keywords(keywords)) return nullptr;
    PyObject *parameters, *states, *command, *q, *dq, *torque;
    double dt;
    if (!PyArg_ParseTuple(args, "OOOOOOd", &parameters, &states, &command, &q, &dq, &torque, &dt)) return nullptr;
    HeldDrives* held;
    PyObject* self = fresh<DrivesObject>(type, &held);
    if (self == nullptr) return nullptr;
    const Py_ssize_t n = rows_in(parameters, "parameters", DRIVE_DOUBLES);
    const double* rows = n < 0 ? nullptr : held->buffers.doubles(parameters, "parameters", n * DRIVE_DOUBLES, false);
    double* state_rows = rows == nullptr ? nullptr : held->buffers.doubles(states, "states", n * STATE_DOUBLES, true);
    held->states = reinterpret_cast<DriveState*>(state_rows);
    held->command = state_rows == nullptr ? nullptr : held->buffers.doubles(command, "command", n, false);
    held->q = held->command == nullptr ? nullptr : held->buffers.doubles(q, "q", n, false);
    held->dq = held->q == nullptr ? nullptr : held->buffers.doubles(dq, "dq", n, false);
    held->torque = held->dq == nullptr ? nullptr : held->buffers.doubles(torque, "torque", n, true);
    held->dt = dt;
    if (held->torque == nullptr) {
        Py_DECREF(self);
        return nullptr;
    }
    try {
        held->drives.resize(static_cast<std::size_t>(n));
        if (n > 0) std::memcpy(held->drives.data(), rows, held->drives.size() * sizeof(Drive));
        for (const Drive& drive : held->drives) held->decays.push_back(lag_decay(drive, dt));
    } catch (const std::bad_alloc&) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return self;
}

PyObject* drives_step(PyObject* object, PyObject*) {
    HeldDrives& held = *reinterpret_cast<DrivesObject*>(object)->held;
    for (std::size_t i = 0; i < held.drives.size(); ++i)
        if (!(std::fabs(held.dq[i]) < RUNAWAY)) Py_RETURN_FALSE;  // true for NaN too
    for (std::size_t i = 0; i < held.drives.size(); ++i) {
        held.torque[i] = counterpoise::step_drive(held.drives[i], held.states[i], held.command[i], held.q[i], held.dq[i],
                                                  held.decays[i], held.dt);
    }
    Py_RETURN_TRUE;
}

PyObject* drives_peek(PyObject* object, PyObject*) {
    HeldDrives& held = *reinterpret_cast<DrivesObject*>(object)->held;
    for (std::size_t i = 0; i < held.drives.size(); ++i) {
        DriveState state = held.states[i];
        held.torque[i] = counterpoise::step_drive(held.drives[i], state, held.command[i], held.q[i], held.dq[i],
                                                  held.decays[i], held.dt);
    }
    Py_RETURN_NONE;
}

PyMethodDef drives_methods[] = {
    {"step", drives_step, METH_NOARGS, "Write the torques on the links and move the drives on by one step."},
    {"peek", drives_peek, METH_NOARGS, "Write the torques on the links without moving the drives on."},
    {nullptr, nullptr, 0, nullptr},
};

// -------------------------------------------------------------------------------------------------------- OneJoint

struct HeldJoint {
    Buffers buffers;
    Drive drive;
    Link link;
    double decay, dt;
    DriveState* drive_state;
    LinkState* link_state;
};

struct OneJointObject {
    PyObject_HEAD
    HeldJoint* held;
};

PyObject* one_joint_new(PyTypeObject* type, PyObject* args, PyObject* keywords) {
    if (!no_keywords(keywords)) return nullptr;
    PyObject *drive, *drive_state, *link, *link_state;
    double dt;
    if (!PyArg_ParseTuple(args, "OOOOd", &drive, &drive_state, &link, &link_state, &dt)) return nullptr;
    HeldJoint* held;
    PyObject* self = fresh<OneJointObject>(type, &held);
    if (self == nullptr) return nullptr;
    const double* p = held->buffers.doubles(drive, "drive", DRIVE_DOUBLES, false);
    double* s = p == nullptr ? nullptr : held->buffers.doubles(drive_state, "drive_state", STATE_DOUBLES, true);
    const double* lp = s == nullptr ? nullptr : held->buffers.doubles(link, "link", LINK_DOUBLES, false);
    double* ls = lp == nullptr ? nullptr : held->buffers.doubles(link_state, "link_state", LINK_STATE_DOUBLES, true);
    if (ls == nullptr) {
        Py_DECREF(self);
        return nullptr;
    }
    std::memcpy(&held->drive, p, sizeof(Drive));
    std::memcpy(&held->link, lp, sizeof(Link));
    held->drive_state = reinterpret_cast<DriveState*>(s);
    held->link_state = reinterpret_cast<LinkState*>(ls);
    held->decay = lag_decay(held->drive, dt);
    held->dt = dt;
    return self;
}

PyObject* one_joint_advance(PyObject* object, PyObject* args) {
    double command;
    int steps;
    if (!PyArg_ParseTuple(args, "di", &command, &steps)) return nullptr;
    HeldJoint& held = *reinterpret_cast<OneJointObject*>(object)->held;
    for (int i = 0; i < steps && std::fabs(held.link_state->velocity) < RUNAWAY; ++i)
        counterpoise::step_link(held.drive, *held.drive_state, held.link, *held.link_state, command, held.decay, held.dt);
    return PyBool_FromLong(std::fabs(held.link_state->velocity) < RUNAWAY);
}

PyMethodDef one_joint_methods[] = {
    {"advance", one_joint_advance, METH_VARARGS, "Move on by a number of steps under one command."},
    {nullptr, nullptr, 0, nullptr},
};

// --------------------------------------------------------------------------------------------------------- LowPass

struct HeldFilter {
    Buffers buffers;
    double coefficients[5];
    const double* input;
    double *output, *state;
    Py_ssize_t channels;
};

struct LowPassObject {
    PyObject_HEAD
    HeldFilter* held;
};

PyObject* low_pass_new(PyTypeObject* type, PyObject* args, PyObject* keywords) {
    if (!no_keywords(keywords)) return nullptr;
    PyObject *coefficients, *input, *output, *state;
    if (!PyArg_ParseTuple(args, "OOOO", &coefficients, &input, &output, &state)) return nullptr;
    HeldFilter* held;
    PyObject* self = fresh<LowPassObject>(type, &held);
    if (self == nullptr) return nullptr;
    const Py_ssize_t channels = rows_in(input, "input", 1);
    const double* given = channels < 0 ? nullptr : held->buffers.doubles(coefficients, "coefficients", 5, false);
    held->input = given == nullptr ? nullptr : held->buffers.doubles(input, "input", channels, false);
    held->output = held->input == nullptr ? nullptr : held->buffers.doubles(output, "output", channels, true);
    held->state = held->output == nullptr ? nullptr : held->buffers.doubles(state, "state", 2 * channels, true);
    if (held->state == nullptr) {
        Py_DECREF(self);
        return nullptr;
    }
    std::memcpy(held->coefficients, given, sizeof held->coefficients);
    held->channels = channels;
    return self;
}

PyObject* low_pass_step(PyObject* object, PyObject*) {
    HeldFilter& held = *reinterpret_cast<LowPassObject*>(object)->held;
    const double* c = held.coefficients;
    for (Py_ssize_t i = 0; i < held.channels; ++i)
        held.output[i] = counterpoise::filtered(held.input[i], c[0], c[1], c[2], c[3], c[4], held.state[i],
                                                held.state[held.channels + i]);
    Py_RETURN_NONE;
}

PyMethodDef low_pass_methods[] = {
    {"step", low_pass_step, METH_NOARGS, "Filter the present input into the output."},
    {nullptr, nullptr, 0, nullptr},
};

// ---------------------------------------------------------------------------------------------------------- module

bool add_type(PyObject* module, const char* name, const char* full_name, int size, newfunc make, destructor dealloc,
              PyMethodDef* methods, const char* text) {
    PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(make)},
                           {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                           {Py_tp_methods, methods},
                           {Py_tp_doc, const_cast<char*>(text)},
                           {0, nullptr}};
    PyType_Spec spec = {full_name, size, 0, Py_TPFLAGS_DEFAULT, slots};
    PyObject* type = PyType_FromSpec(&spec);
    if (type == nullptr) return false;
    const bool added = PyModule_AddObjectRef(module, name, type) == 0;
    Py_DECREF(type);
    return added;
}

bool add_names(PyObject* module, const char* name, const std::vector<const char*>& names) {
    PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(names.size()));
    for (std::size_t i = 0; tuple != nullptr && i < names.size(); ++i)
        PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), PyUnicode_FromString(names[i]));
    const bool added = tuple != nullptr && PyModule_AddObjectRef(module, name, tuple) == 0;
    Py_XDECREF(tuple);
    return added;
}

PyModuleDef module_definition = {PyModuleDef_HEAD_INIT, "_native", "Native steppers of joint drives.", -1, nullptr,
                                 nullptr,               nullptr,   nullptr,                            nullptr};

}  // namespace

#define X(name) #name,
PyMODINIT_FUNC PyInit__native(void) {
    PyObject* module = PyModule_Create(&module_definition);
    if (module == nullptr) return nullptr;
    // The layouts, so that the Python side can refuse an extension that was built for another one.
    const bool good =
        PyModule_AddStringConstant(module, "COMPILER", COUNTERPOISE_COMPILER) == 0 &&
        add_names(module, "DRIVE_PARAMETERS", {DRIVE_PARAMETERS(X)}) && add_names(module, "DRIVE_STATES", {DRIVE_STATES(X)}) &&
        add_names(module, "LINK_PARAMETERS", {LINK_PARAMETERS(X)}) && add_names(module, "LINK_STATES", {LINK_STATES(X)}) &&
        add_type(module, "Drives", "counterpoise.plants._native.Drives", sizeof(DrivesObject), drives_new,
                 release<DrivesObject>, drives_methods, "Drives of n joints, stepped together.") &&
        add_type(module, "OneJoint", "counterpoise.plants._native.OneJoint", sizeof(OneJointObject), one_joint_new,
                 release<OneJointObject>, one_joint_methods, "One link on one drive on a plate.") &&
        add_type(module, "LowPass", "counterpoise.plants._native.LowPass", sizeof(LowPassObject), low_pass_new,
                 release<LowPassObject>, low_pass_methods, "Second-order filter of several channels.");
    if (good) return module;
    Py_DECREF(module);
    return nullptr;
}
