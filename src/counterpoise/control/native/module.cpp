// The safety filter as a Python type, a drop-in for ReferenceFilterCore.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <numpy/arrayobject.h>

#include <new>

#include "../../dynamics/native/compiler.hpp"
#include "filter.hpp"

namespace {

using counterpoise::Filter;
using counterpoise::Readings;
using counterpoise::Row;

PyObject *name_time, *name_q, *name_dq, *name_effort, *name_wrench, *name_flags;

struct CoreObject {
    PyObject_HEAD
    Filter* filter;
    PyObject *out, *last, *effort_limit, *joint_flags, *counts;  // what Python sees, read-only
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

PyObject* zeros(int dimensions, npy_intp* shape, int type) { return PyArray_ZEROS(dimensions, shape, type, 0); }

template <typename T>
T* data_of(PyObject* array) {
    return static_cast<T*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(array)));
}

void make_read_only(PyObject* array) {
    PyArray_CLEARFLAGS(reinterpret_cast<PyArrayObject*>(array), NPY_ARRAY_WRITEABLE);
}

PyObject* core_new(PyTypeObject* type, PyObject*, PyObject*) {
    auto* self = reinterpret_cast<CoreObject*>(type->tp_alloc(type, 0));
    if (self != nullptr) {
        self->filter = nullptr;
        self->out = self->last = self->effort_limit = self->joint_flags = self->counts = nullptr;
    }
    return reinterpret_cast<PyObject*>(self);
}

int core_init(PyObject* object, PyObject* args, PyObject* kwargs) {
    auto* self = reinterpret_cast<CoreObject*>(object);
    static const char* names[] = {"dt",           "lower",        "upper",     "velocity_limit", "effort_limit",
                                  "rate_limit",   "wrench_range", "jump_slack", "max_gap",       "max_lag",
                                  "frozen_ticks", "frozen_travel", "frozen_torque", nullptr};
    double dt, jump_slack, max_gap, max_lag, frozen_travel, frozen_torque;
    long frozen_ticks;
    PyObject *lower, *upper, *velocity_limit, *effort_limit, *rate_limit, *wrench_range;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "$dOOOOOOdddldd", const_cast<char**>(names), &dt, &lower, &upper,
                                     &velocity_limit, &effort_limit, &rate_limit, &wrench_range, &jump_slack, &max_gap,
                                     &max_lag, &frozen_ticks, &frozen_travel, &frozen_torque))
        return -1;
    if (self->filter != nullptr) {
        PyErr_SetString(PyExc_RuntimeError, "a safety filter is initialised once");
        return -1;
    }
    if (!PyArray_Check(lower) || PyArray_NDIM(reinterpret_cast<PyArrayObject*>(lower)) != 1) {
        PyErr_SetString(PyExc_TypeError, "lower must be a float64 array of shape (n,)");
        return -1;
    }
    npy_intp n = PyArray_DIM(reinterpret_cast<PyArrayObject*>(lower), 0);
    npy_intp table[2] = {counterpoise::FLAG_COUNT, n};
    Filter* filter = nullptr;
    try {
        filter = new Filter();
        filter->n = static_cast<int>(n);
        std::vector<double> rate;
        if (!copy_row(lower, n, filter->lower, "lower") || !copy_row(upper, n, filter->upper, "upper") ||
            !copy_row(velocity_limit, n, filter->velocity_limit, "velocity_limit") ||
            !copy_row(effort_limit, n, filter->most_effort, "effort_limit") || !copy_row(rate_limit, n, rate, "rate_limit") ||
            !copy_row(wrench_range, 6, filter->wrench_range, "wrench_range")) {
            delete filter;
            return -1;
        }
        for (double value : rate) filter->step.push_back(value * dt * (1.0 - counterpoise::RATE_MARGIN));
        filter->jump_slack = jump_slack;
        filter->max_gap = max_gap;
        filter->max_lag = max_lag;
        filter->frozen_ticks = frozen_ticks;
        filter->frozen_travel = frozen_travel;
        filter->frozen_torque = frozen_torque;
        filter->forget();
        self->out = zeros(1, &n, NPY_DOUBLE);
        self->last = zeros(1, &n, NPY_DOUBLE);
        self->effort_limit = zeros(1, &n, NPY_DOUBLE);
        self->joint_flags = zeros(1, &n, NPY_INT32);
        self->counts = zeros(2, table, NPY_INT64);
        if (!self->out || !self->last || !self->effort_limit || !self->joint_flags || !self->counts) {
            delete filter;
            return -1;
        }
        filter->out = data_of<double>(self->out);
        filter->last = data_of<double>(self->last);
        filter->effort_limit = data_of<double>(self->effort_limit);
        filter->joint_flags = data_of<std::int32_t>(self->joint_flags);
        filter->counts = data_of<std::int64_t>(self->counts);
        for (npy_intp j = 0; j < n; ++j) filter->effort_limit[j] = filter->most_effort[static_cast<std::size_t>(j)];
    } catch (const std::bad_alloc&) {
        delete filter;
        PyErr_NoMemory();
        return -1;
    }
    for (PyObject* array : {self->out, self->last, self->effort_limit, self->joint_flags, self->counts}) make_read_only(array);
    self->filter = filter;
    return 0;
}

void core_dealloc(PyObject* object) {
    auto* self = reinterpret_cast<CoreObject*>(object);
    PyTypeObject* type = Py_TYPE(object);
    delete self->filter;
    for (PyObject* array : {self->out, self->last, self->effort_limit, self->joint_flags, self->counts}) Py_XDECREF(array);
    type->tp_free(object);
    Py_DECREF(type);
}

Filter* filter_of(PyObject* object) {
    Filter* filter = reinterpret_cast<CoreObject*>(object)->filter;
    if (filter == nullptr) PyErr_SetString(PyExc_RuntimeError, "the safety filter was not initialised");
    return filter;
}

PyObject* core_forget(PyObject* object, PyObject*) {
    Filter* filter = filter_of(object);
    if (filter == nullptr) return nullptr;
    filter->forget();
    Py_RETURN_NONE;
}

PyObject* core_start_from(PyObject* object, PyObject* tau) {
    Filter* filter = filter_of(object);
    if (filter == nullptr) return nullptr;
    if (!is_ready(tau, filter->n)) {
        PyErr_SetString(PyExc_TypeError, "tau must be a float64 array of shape (n,)");
        return nullptr;
    }
    filter->start_from(row_of(tau));
    Py_RETURN_NONE;
}

PyObject* core_set_effort_limit(PyObject* object, PyObject* limit) {
    Filter* filter = filter_of(object);
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
    PyObject *time = nullptr, *q = nullptr, *dq = nullptr, *effort = nullptr, *wrench = nullptr, *flags = nullptr;
    ~Attributes() {
        for (PyObject* item : {time, q, dq, effort, wrench, flags}) Py_XDECREF(item);
    }
    bool fetch(PyObject* sample) {
        return (time = PyObject_GetAttr(sample, name_time)) && (flags = PyObject_GetAttr(sample, name_flags)) &&
               (wrench = PyObject_GetAttr(sample, name_wrench)) && (q = PyObject_GetAttr(sample, name_q)) &&
               (dq = PyObject_GetAttr(sample, name_dq)) && (effort = PyObject_GetAttr(sample, name_effort));
    }
};

// Returns 1 for a readable sample, 0 for a malformed one, −1 with an exception set.
int read_sample(const Attributes& from, int n, Readings& into) {
    if (!is_ready(from.q, n) || !is_ready(from.dq, n) || !is_ready(from.effort, n)) return 0;
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
    into.effort = row_of(from.effort);
    if (from.wrench != Py_None) into.wrench = row_of(from.wrench);
    into.flags = static_cast<long>(flags);
    return 1;
}

PyObject* core_check(PyObject* object, PyObject* const* args, Py_ssize_t count) {
    Filter* filter = filter_of(object);
    if (filter == nullptr) return nullptr;
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "check takes a sample and a time");
        return nullptr;
    }
    const double now = PyFloat_AsDouble(args[1]);
    if (now == -1.0 && PyErr_Occurred()) return nullptr;
    Attributes attributes;
    if (!attributes.fetch(args[0])) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return nullptr;
        PyErr_Clear();
        return PyLong_FromLong(filter->bad(counterpoise::SAMPLE_MALFORMED));
    }
    Readings readings;
    const int readable = read_sample(attributes, filter->n, readings);
    if (readable < 0) return nullptr;
    if (readable == 0) return PyLong_FromLong(filter->bad(counterpoise::SAMPLE_MALFORMED));
    return PyLong_FromLong(filter->check(readings, now));
}

constexpr int FEW = 16;

PyObject* core_limit(PyObject* object, PyObject* const* args, Py_ssize_t count) {
    Filter* filter = filter_of(object);
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
        if (!is_ready(args[i], filter->n)) return PyLong_FromLong(filter->hold(counterpoise::MALFORMED));
        rows[i] = row_of(args[i]);
    }
    return PyLong_FromLong(filter->limit(rows, static_cast<int>(count)));
}

PyObject* core_hold(PyObject* object, PyObject*) {
    Filter* filter = filter_of(object);
    return filter == nullptr ? nullptr : PyLong_FromLong(filter->hold(0));
}

PyObject* core_sent(PyObject* object, PyObject* tau) {
    Filter* filter = filter_of(object);
    if (filter == nullptr) return nullptr;
    if (tau == reinterpret_cast<CoreObject*>(object)->out) return PyLong_FromLong(0);
    const bool ready = is_ready(tau, filter->n);
    return PyLong_FromLong(filter->sent(ready ? row_of(tau) : Row{}, ready));
}

PyObject* get_array(PyObject* object, void* offset) {
    PyObject* array = *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + reinterpret_cast<std::size_t>(offset));
    if (array == nullptr) {
        PyErr_SetString(PyExc_RuntimeError, "the safety filter was not initialised");
        return nullptr;
    }
    return Py_NewRef(array);
}

PyObject* get_n(PyObject* object, void*) {
    Filter* filter = filter_of(object);
    return filter == nullptr ? nullptr : PyLong_FromLong(filter->n);
}

PyObject* get_fault_joint(PyObject* object, void*) {
    Filter* filter = filter_of(object);
    return filter == nullptr ? nullptr : PyLong_FromLong(filter->fault_joint);
}

PyObject* get_fault_value(PyObject* object, void*) {
    Filter* filter = filter_of(object);
    return filter == nullptr ? nullptr : PyFloat_FromDouble(filter->fault_value);
}

PyObject* get_uses_wrench(PyObject* object, void*) {
    Filter* filter = filter_of(object);
    return filter == nullptr ? nullptr : PyBool_FromLong(filter->uses_wrench);
}

int set_uses_wrench(PyObject* object, PyObject* value, void*) {
    Filter* filter = filter_of(object);
    if (filter == nullptr) return -1;
    const int truth = value == nullptr ? 0 : PyObject_IsTrue(value);
    if (truth < 0) return -1;
    filter->uses_wrench = truth != 0;
    return 0;
}

void* at(std::size_t offset) { return reinterpret_cast<void*>(offset); }

PyMethodDef core_methods[] = {
    {"forget", core_forget, METH_NOARGS, "Forget all samples: the next one is a first one."},
    {"start_from", core_start_from, METH_O, "Take a torque as what is being applied now."},
    {"set_effort_limit", core_set_effort_limit, METH_O, "Change the largest torques from the next torque on."},
    {"check", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(core_check)), METH_FASTCALL,
     "Return what is wrong with a sample, a Fault, 0 for nothing."},
    {"limit", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(core_limit)), METH_FASTCALL,
     "Sum torques, make the sum fit to be sent, and return the FilterFlag bits raised."},
    {"hold", core_hold, METH_NOARGS, "Send the last torque again; return the FilterFlag bits raised."},
    {"sent", core_sent, METH_O, "Take note of what the plant says it sent; return FilterFlag bits."},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef core_attributes[] = {
    {"n", get_n, nullptr, "Number of joints.", nullptr},
    {"out", get_array, nullptr, "The torque that may be sent, read-only.", at(offsetof(CoreObject, out))},
    {"last", get_array, nullptr, "The torque that was sent last, read-only.", at(offsetof(CoreObject, last))},
    {"effort_limit", get_array, nullptr, "Largest torques, read-only.", at(offsetof(CoreObject, effort_limit))},
    {"joint_flags", get_array, nullptr, "FilterFlag bits per joint, read-only.", at(offsetof(CoreObject, joint_flags))},
    {"counts", get_array, nullptr, "How often each flag was raised, read-only.", at(offsetof(CoreObject, counts))},
    {"fault_joint", get_fault_joint, nullptr, "Index of the joint at fault; -1 where none is.", nullptr},
    {"fault_value", get_fault_value, nullptr, "The offending number.", nullptr},
    {"uses_wrench", get_uses_wrench, set_uses_wrench, "Whether a bad plate makes a bad sample.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot core_slots[] = {{Py_tp_new, reinterpret_cast<void*>(core_new)},
                            {Py_tp_init, reinterpret_cast<void*>(core_init)},
                            {Py_tp_dealloc, reinterpret_cast<void*>(core_dealloc)},
                            {Py_tp_methods, core_methods},
                            {Py_tp_getset, core_attributes},
                            {Py_tp_doc, const_cast<char*>("State and arithmetic of the safety filter; see filter_reference.py.")},
                            {0, nullptr}};

PyType_Spec core_spec = {"counterpoise.control._native.NativeFilterCore", sizeof(CoreObject), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, core_slots};

PyModuleDef module_definition = {PyModuleDef_HEAD_INIT, "_native", "The safety filter, native.", -1, nullptr,
                                 nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__native(void) {
    import_array();
    const struct {
        PyObject** where;
        const char* text;
    } names[] = {{&name_time, "time"},     {&name_q, "q"},           {&name_dq, "dq"},
                 {&name_effort, "effort"}, {&name_wrench, "wrench"}, {&name_flags, "flags"}};
    for (const auto& name : names)
        if ((*name.where = PyUnicode_InternFromString(name.text)) == nullptr) return nullptr;
    PyObject* module = PyModule_Create(&module_definition);
    if (module == nullptr) return nullptr;
    PyObject* type = PyType_FromSpec(&core_spec);
    if (type == nullptr || PyModule_AddStringConstant(module, "COMPILER", COUNTERPOISE_COMPILER) < 0 ||
        PyModule_AddObject(module, "NativeFilterCore", type) < 0) {
        Py_XDECREF(type);
        Py_DECREF(module);
        return nullptr;
    }
    return module;
}
