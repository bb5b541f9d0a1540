// The safety filter as a Python type, a drop-in for ReferenceFilterCore.
#include "arguments.hpp"

#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <numpy/arrayobject.h>

#include <algorithm>
#include <memory>

#include "control/filter.hpp"

namespace counterpoise {
namespace {

PyObject *name_time, *name_q, *name_dq, *name_tau, *name_wrench, *name_flags;

// The filter with the arrays that Python sees, read-only.
struct Core : Filter {
    PyObject *out_array = nullptr, *last_array = nullptr, *effort_limit_array = nullptr, *joint_flags_array = nullptr,
             *counts_array = nullptr;
    ~Core() {
        for (PyObject* array : {out_array, last_array, effort_limit_array, joint_flags_array, counts_array})
            Py_XDECREF(array);
    }
};

bool is_ready(PyObject* object, npy_intp n) {
    if (!PyArray_CheckExact(object)) return false;  // the numbers below a mask or a unit do not mean what they seem to
    auto* array = reinterpret_cast<PyArrayObject*>(object);
    return PyArray_TYPE(array) == NPY_DOUBLE && PyArray_NDIM(array) == 1 && PyArray_DIM(array, 0) == n &&
           PyArray_ISBEHAVED_RO(array);
}

Row row_of(PyObject* object) {
    auto* array = reinterpret_cast<PyArrayObject*>(object);
    return Row{PyArray_BYTES(array), PyArray_STRIDE(array, 0)};
}

bool copy_row(PyObject* object, npy_intp n, std::vector<double>& into, const char* name) {
    if (!is_ready(object, n)) {
        PyErr_Format(PyExc_TypeError, "%s must be a float64 array of shape (%zd,)", name, static_cast<Py_ssize_t>(n));
        return false;
    }
    const Row row = row_of(object);
    into.resize(static_cast<std::size_t>(n));
    for (npy_intp i = 0; i < n; ++i) into[static_cast<std::size_t>(i)] = row[static_cast<int>(i)];
    return true;
}

// Makes an array of zeros that Python may only read, and returns where its numbers are. Fault: Python error, null.
template <class Number>
Number* take_zeros(PyObject** array, int dimensions, const npy_intp* shape, int type) {
    *array = PyArray_ZEROS(dimensions, const_cast<npy_intp*>(shape), type, 0);
    if (*array == nullptr) return nullptr;
    PyArray_CLEARFLAGS(reinterpret_cast<PyArrayObject*>(*array), NPY_ARRAY_WRITEABLE);
    return static_cast<Number*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(*array)));
}

// Subclasses have constructors of their own: the filter is made by __init__, and bare until then.
int core_init(PyObject* object, PyObject* args, PyObject* kwargs) {
    static const char* names[] = {"dt",           "lower",        "upper",     "velocity_limit", "effort_limit",
                                  "rate_limit",   "wrench_range", "jump_slack", "max_gap",       "max_lag",
                                  "frozen_ticks", "frozen_travel", "frozen_torque", nullptr};
    double dt;
    PyObject *lower, *upper, *velocity_limit, *effort_limit, *rate_limit, *wrench_range;
    Core*& held = reinterpret_cast<Boxed<Core>*>(object)->value;
    try {
        std::unique_ptr<Core> core(new Core);
        if (!PyArg_ParseTupleAndKeywords(args, kwargs, "$dOOOOOOdddldd", const_cast<char**>(names), &dt, &lower, &upper,
                                         &velocity_limit, &effort_limit, &rate_limit, &wrench_range, &core->jump_slack,
                                         &core->max_gap, &core->max_lag, &core->frozen_ticks, &core->frozen_travel,
                                         &core->frozen_torque))
            return -1;
        if (held != nullptr) {
            PyErr_SetString(PyExc_RuntimeError, "a safety filter is initialised once");
            return -1;
        }
        if (!PyArray_Check(lower) || PyArray_NDIM(reinterpret_cast<PyArrayObject*>(lower)) != 1) {
            PyErr_SetString(PyExc_TypeError, "lower must be a float64 array of shape (n,)");
            return -1;
        }
        const npy_intp n = PyArray_DIM(reinterpret_cast<PyArrayObject*>(lower), 0), table[2] = {FLAG_COUNT, n};
        core->n = static_cast<int>(n);
        if (!copy_row(lower, n, core->lower, "lower") || !copy_row(upper, n, core->upper, "upper") ||
            !copy_row(velocity_limit, n, core->velocity_limit, "velocity_limit") ||
            !copy_row(effort_limit, n, core->most_effort, "effort_limit") ||
            !copy_row(rate_limit, n, core->step, "rate_limit") ||
            !copy_row(wrench_range, 6, core->wrench_range, "wrench_range") ||
            !(core->out = take_zeros<double>(&core->out_array, 1, &n, NPY_DOUBLE)) ||
            !(core->last = take_zeros<double>(&core->last_array, 1, &n, NPY_DOUBLE)) ||
            !(core->effort_limit = take_zeros<double>(&core->effort_limit_array, 1, &n, NPY_DOUBLE)) ||
            !(core->joint_flags = take_zeros<std::int32_t>(&core->joint_flags_array, 1, &n, NPY_INT32)) ||
            !(core->counts = take_zeros<std::int64_t>(&core->counts_array, 2, table, NPY_INT64)))
            return -1;
        for (double& rate : core->step) rate = rate * dt * (1.0 - RATE_MARGIN);  // from now on a step
        std::copy(core->most_effort.begin(), core->most_effort.end(), core->effort_limit);
        core->forget();
        held = core.release();
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}

Core* core_of(PyObject* object) {
    Core* core = value_of<Core>(object);
    if (core == nullptr) PyErr_SetString(PyExc_RuntimeError, "the safety filter was not initialised");
    return core;
}

PyObject* core_forget(PyObject* object, PyObject*) {
    Core* filter = core_of(object);
    if (filter == nullptr) return nullptr;
    filter->forget();
    Py_RETURN_NONE;
}

PyObject* core_start_from(PyObject* object, PyObject* tau) {
    Core* filter = core_of(object);
    if (filter == nullptr) return nullptr;
    if (!is_ready(tau, filter->n)) {
        PyErr_SetString(PyExc_TypeError, "tau must be a float64 array of shape (n,)");
        return nullptr;
    }
    filter->start_from(row_of(tau));
    Py_RETURN_NONE;
}

PyObject* core_set_effort_limit(PyObject* object, PyObject* limit) {
    Core* filter = core_of(object);
    if (filter == nullptr) return nullptr;
    if (!is_ready(limit, filter->n)) {
        PyErr_SetString(PyExc_TypeError, "effort_limit must be a float64 array of shape (n,)");
        return nullptr;
    }
    filter->set_effort_limit(row_of(limit));
    Py_RETURN_NONE;
}

// A sample's attributes, held for as long as their numbers are looked at.
struct Attributes {
    PyObject *time = nullptr, *q = nullptr, *dq = nullptr, *tau = nullptr, *wrench = nullptr, *flags = nullptr;
    ~Attributes() {
        for (PyObject* item : {time, q, dq, tau, wrench, flags}) Py_XDECREF(item);
    }
    bool fetch(PyObject* sample) {
        return (time = PyObject_GetAttr(sample, name_time)) && (flags = PyObject_GetAttr(sample, name_flags)) &&
               (wrench = PyObject_GetAttr(sample, name_wrench)) && (q = PyObject_GetAttr(sample, name_q)) &&
               (dq = PyObject_GetAttr(sample, name_dq)) && (tau = PyObject_GetAttr(sample, name_tau));
    }
};

// Returns 1 for a readable sample, 0 for a malformed one, −1 with an exception set.
int read_sample(const Attributes& from, int n, Readings& into) {
    if (!is_ready(from.q, n) || !is_ready(from.dq, n) || !is_ready(from.tau, n)) return 0;
    if (from.wrench != Py_None && !is_ready(from.wrench, 6)) return 0;
    if (!PyLong_Check(from.flags)) return 0;
    int overflow = 0;
    const long long flags = PyLong_AsLongLongAndOverflow(from.flags, &overflow);
    if (overflow != 0 || flags < 0 || flags >= (1LL << 31)) return 0;
    if (PyFloat_Check(from.time)) {
        into.time = PyFloat_AS_DOUBLE(from.time);
    } else if (PyLong_Check(from.time)) {
        into.time = PyLong_AsDouble(from.time);
        if (into.time == -1.0 && PyErr_Occurred()) {
            if (!PyErr_ExceptionMatches(PyExc_OverflowError)) return -1;
            PyErr_Clear();
            into.time = INFINITY;
        }
    } else {
        return 0;
    }
    into.q = row_of(from.q);
    into.dq = row_of(from.dq);
    into.tau = row_of(from.tau);
    if (from.wrench != Py_None) into.wrench = row_of(from.wrench);
    into.flags = static_cast<long>(flags);
    return 1;
}

PyObject* core_check(PyObject* object, PyObject* const* args, Py_ssize_t count) {
    Core* filter = core_of(object);
    if (filter == nullptr) return nullptr;
    double now;
    if (!has_arguments("check", count, 2) || !take(args[1], now)) return nullptr;
    Attributes attributes;
    if (!attributes.fetch(args[0])) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return nullptr;
        PyErr_Clear();
        return PyLong_FromLong(filter->bad(SAMPLE_MALFORMED));
    }
    Readings readings;
    const int readable = read_sample(attributes, filter->n, readings);
    if (readable < 0) return nullptr;
    if (readable == 0) return PyLong_FromLong(filter->bad(SAMPLE_MALFORMED));
    return PyLong_FromLong(filter->check(readings, now));
}

constexpr int FEW = 16;

PyObject* core_limit(PyObject* object, PyObject* const* args, Py_ssize_t count) {
    Core* filter = core_of(object);
    if (filter == nullptr) return nullptr;
    Row few[FEW];
    std::vector<Row> many;
    Row* rows = few;
    if (count > FEW) {
        try {
            many.resize(static_cast<std::size_t>(count));
        } catch (const std::bad_alloc&) {
            return PyErr_NoMemory();
        }
        rows = many.data();
    }
    for (Py_ssize_t i = 0; i < count; ++i) {
        if (!is_ready(args[i], filter->n)) return PyLong_FromLong(filter->hold(MALFORMED));
        rows[i] = row_of(args[i]);
    }
    return PyLong_FromLong(filter->limit(rows, static_cast<int>(count)));
}

PyObject* core_hold(PyObject* object, PyObject*) {
    Core* filter = core_of(object);
    return filter == nullptr ? nullptr : PyLong_FromLong(filter->hold(0));
}

PyObject* core_sent(PyObject* object, PyObject* tau) {
    Core* filter = core_of(object);
    if (filter == nullptr) return nullptr;
    if (tau == filter->out_array) return PyLong_FromLong(0);
    const bool ready = is_ready(tau, filter->n);
    return PyLong_FromLong(filter->sent(ready ? row_of(tau) : Row{}, ready));
}

template <PyObject* Core::*ARRAY>
PyObject* get_array(PyObject* object, void*) {
    Core* filter = core_of(object);
    return filter == nullptr ? nullptr : Py_NewRef(filter->*ARRAY);
}

PyObject* get_n(PyObject* object, void*) {
    Core* filter = core_of(object);
    return filter == nullptr ? nullptr : PyLong_FromLong(filter->n);
}

PyObject* get_fault_joint(PyObject* object, void*) {
    Core* filter = core_of(object);
    return filter == nullptr ? nullptr : PyLong_FromLong(filter->fault_joint);
}

PyObject* get_fault_value(PyObject* object, void*) {
    Core* filter = core_of(object);
    return filter == nullptr ? nullptr : PyFloat_FromDouble(filter->fault_value);
}

PyObject* get_uses_wrench(PyObject* object, void*) {
    Core* filter = core_of(object);
    return filter == nullptr ? nullptr : PyBool_FromLong(filter->uses_wrench);
}

int set_uses_wrench(PyObject* object, PyObject* value, void*) {
    Core* filter = core_of(object);
    if (filter == nullptr) return -1;
    return take(value == nullptr ? Py_False : value, filter->uses_wrench) ? 0 : -1;
}

PyMethodDef core_methods[] = {
    {"forget", core_forget, METH_NOARGS, "Forget all samples: the next one is a first one."},
    {"start_from", core_start_from, METH_O, "Take a torque as what is being applied now."},
    {"set_effort_limit", core_set_effort_limit, METH_O, "Change the largest torques from the next torque on."},
    {"check", fast(core_check), METH_FASTCALL, "Return what is wrong with a sample, a Fault, 0 for nothing."},
    {"limit", fast(core_limit), METH_FASTCALL,
     "Sum torques, make the sum fit to be sent, and return the FilterFlag bits raised."},
    {"hold", core_hold, METH_NOARGS, "Send the last torque again; return the FilterFlag bits raised."},
    {"sent", core_sent, METH_O, "Take note of what the plant says it sent; return FilterFlag bits."},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef core_attributes[] = {
    {"n", get_n, nullptr, "Number of joints.", nullptr},
    {"out", get_array<&Core::out_array>, nullptr, "The torque that may be sent, read-only.", nullptr},
    {"last", get_array<&Core::last_array>, nullptr, "The torque that was sent last, read-only.", nullptr},
    {"effort_limit", get_array<&Core::effort_limit_array>, nullptr, "Largest torques, read-only.", nullptr},
    {"joint_flags", get_array<&Core::joint_flags_array>, nullptr, "FilterFlag bits per joint, read-only.", nullptr},
    {"counts", get_array<&Core::counts_array>, nullptr, "How often each flag was raised, read-only.", nullptr},
    {"fault_joint", get_fault_joint, nullptr, "Index of the joint at fault; -1 where none is.", nullptr},
    {"fault_value", get_fault_value, nullptr, "The offending number.", nullptr},
    {"uses_wrench", get_uses_wrench, set_uses_wrench, "Whether a bad plate makes a bad sample.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

}  // namespace

bool add_control(PyObject* part) {
    import_array1(false);
    const struct {
        PyObject** where;
        const char* text;
    } names[] = {{&name_time, "time"}, {&name_q, "q"},           {&name_dq, "dq"},
                 {&name_tau, "tau"},   {&name_wrench, "wrench"}, {&name_flags, "flags"}};
    for (const auto& name : names)
        if ((*name.where = PyUnicode_InternFromString(name.text)) == nullptr) return false;
    const char* text = "State and arithmetic of the safety filter; see filter_core.py.";
    PyObject* type = make_type("counterpoise._native.control.NativeFilterCore", sizeof(Boxed<Core>),
                               {slot(Py_tp_init, core_init), slot(Py_tp_dealloc, delete_boxed<Core>),
                                slot(Py_tp_methods, core_methods), slot(Py_tp_getset, core_attributes),
                                slot(Py_tp_doc, text), {0, nullptr}},
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE);
    return add_numbers(part, "Fault", {SAMPLE_FAULTS(COUNTERPOISE_NUMBER)}) &&
           add_numbers(part, "SampleFlag", {SAMPLE_FLAGS(COUNTERPOISE_NUMBER)}) &&
           add_numbers(part, "FilterFlag", {FILTER_FLAGS(COUNTERPOISE_NUMBER)}) &&
           add_numbers(part, "CONSTANTS", {{"MAX_INPUT", LARGEST_INPUT}, {"FLAG_COUNT", FLAG_COUNT}}) &&
           add_object(part, "NativeFilterCore", type);
}

}  // namespace counterpoise
