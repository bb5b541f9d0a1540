// The bag routines as Python functions. Only counterpoise/logs/bags/kernel.py calls them.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <new>

#include "joint_state.hpp"

namespace counterpoise {

// A C-contiguous buffer, released with its scope.
class Bytes {
public:
    Bytes() = default;
    Bytes(const Bytes&) = delete;
    Bytes& operator=(const Bytes&) = delete;
    ~Bytes() {
        if (held_) PyBuffer_Release(&view_);
    }
    // Take the buffer; its start must be a multiple of `alignment` where numbers are read from it.
    bool hold(PyObject* owner, std::size_t alignment, bool writable = false) {
        held_ = PyObject_GetBuffer(owner, &view_, PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0)) == 0;
        if (!held_ || view_.len == 0 || reinterpret_cast<std::uintptr_t>(view_.buf) % alignment == 0) return held_;
        PyErr_SetString(PyExc_ValueError, "an array does not lie where its numbers can be read");
        return false;
    }
    std::size_t size() const { return static_cast<std::size_t>(view_.len); }
    template <class Item>
    Item* items() const {
        return static_cast<Item*>(view_.buf);
    }

private:
    Py_buffer view_;
    bool held_ = false;
};

// The walk's result: (spans as bytes of int64 (k, 4), where it stopped).
template <void (*Walker)(Walk&)>
PyObject* messages(PyObject*, PyObject* args) {
    PyObject *data, *wanted;
    Py_ssize_t start;
    if (!PyArg_ParseTuple(args, "OnO", &data, &start, &wanted)) return nullptr;
    Bytes bytes, ids;
    if (!bytes.hold(data, 1) || !ids.hold(wanted, alignof(std::int64_t))) return nullptr;
    if (start < 0 || static_cast<std::size_t>(start) > bytes.size()) {
        PyErr_SetString(PyExc_ValueError, "start lies outside the data");
        return nullptr;
    }
    try {
        Walk walk{bytes.items<const std::uint8_t>(), bytes.size(), static_cast<std::size_t>(start), {}, {}};
        const std::int64_t* first = ids.items<const std::int64_t>();
        const std::size_t count = ids.size() / sizeof(std::int64_t);
        if (count > 0) walk.wanted.assign(first, first + count);
        Walker(walk);
        return Py_BuildValue("y#n", walk.spans.empty() ? "" : reinterpret_cast<const char*>(walk.spans.data()),
                             static_cast<Py_ssize_t>(walk.spans.size() * sizeof(Span)), static_cast<Py_ssize_t>(walk.at));
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    }
}

// What both decoders share: payloads, where they lie, and where the numbers go.
struct Decoding {
    Bytes data, spans, stamps, rows;
    std::size_t count = 0, columns = 0;
    bool with_rows = false;

    bool hold(PyObject* data_, PyObject* spans_, PyObject* stamps_, PyObject* rows_, Py_ssize_t start) {
        with_rows = rows_ != Py_None;
        if (!data.hold(data_, 1) || !spans.hold(spans_, alignof(Span)) || !stamps.hold(stamps_, alignof(double), true))
            return false;
        if (with_rows && !rows.hold(rows_, alignof(double), true)) return false;
        count = spans.size() / sizeof(Span);
        columns = with_rows && count > 0 ? rows.size() / sizeof(double) / count : 0;
        if (start >= 0 && stamps.size() == count * sizeof(double)) return true;
        PyErr_SetString(PyExc_ValueError, "the arrays do not belong together");
        return false;
    }
    // Whether message i lies within the data.
    bool inside(std::size_t i) const {
        const Span& span = spans.items<const Span>()[i];
        const auto size = static_cast<std::int64_t>(data.size());
        return span.offset >= 0 && span.length >= 0 && span.offset <= size && span.length <= size - span.offset;
    }
    Payload payload(std::size_t i, bool cdr) const {
        const Span& span = spans.items<const Span>()[i];
        return {data.items<const std::uint8_t>() + span.offset, static_cast<std::size_t>(span.length), cdr};
    }
    double* row(std::size_t i) const { return with_rows ? rows.items<double>() + i * columns : nullptr; }
};

// The name lists of Python: a sequence of (names, columns or None); columns are int64 buffers kept in `held`.
inline bool name_lists(PyObject* sequence, std::size_t joints, std::vector<NameList>& lists, std::vector<Bytes>& held) {
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(sequence);
    held = std::vector<Bytes>(static_cast<std::size_t>(count));
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject* item = PySequence_Fast_GET_ITEM(sequence, i);
        if (!PyTuple_Check(item) || PyTuple_GET_SIZE(item) != 2 || !PyTuple_Check(PyTuple_GET_ITEM(item, 0))) {
            PyErr_SetString(PyExc_TypeError, "a list must be a tuple of a tuple of names and its columns or None");
            return false;
        }
        PyObject *names = PyTuple_GET_ITEM(item, 0), *columns = PyTuple_GET_ITEM(item, 1);
        NameList list{{}, nullptr};
        for (Py_ssize_t j = 0; j < PyTuple_GET_SIZE(names); ++j) {
            char* text;
            Py_ssize_t size;
            if (PyBytes_AsStringAndSize(PyTuple_GET_ITEM(names, j), &text, &size) != 0) return false;
            list.names.emplace_back(text, static_cast<std::size_t>(size));
        }
        if (columns != Py_None) {
            if (!held[i].hold(columns, alignof(std::int64_t))) return false;
            list.columns = held[i].items<const std::int64_t>();
            bool good = held[i].size() == list.names.size() * sizeof(std::int64_t);
            for (std::size_t j = 0; good && j < list.names.size(); ++j)
                good = list.columns[j] >= 0 && list.columns[j] < static_cast<std::int64_t>(joints);
            if (!good) {
                PyErr_SetString(PyExc_ValueError, "a list needs one column for each name, below the number of joints");
                return false;
            }
        }
        lists.push_back(std::move(list));
    }
    return true;
}

inline PyObject* decode_joint_states(PyObject*, PyObject* args) {
    PyObject *data, *spans, *sequence, *stamps, *which, *rows;
    Py_ssize_t start;
    int cdr;
    if (!PyArg_ParseTuple(args, "OOnpOOOO", &data, &spans, &start, &cdr, &sequence, &stamps, &which, &rows)) return nullptr;
    Decoding decoding;
    Bytes chosen;
    if (!decoding.hold(data, spans, stamps, rows, start) || !chosen.hold(which, alignof(std::int64_t), true))
        return nullptr;
    const std::size_t joints = decoding.columns / 3;
    if (decoding.columns != 3 * joints || chosen.size() != decoding.count * sizeof(std::int64_t)) {
        PyErr_SetString(PyExc_ValueError, "the arrays do not belong together");
        return nullptr;
    }
    PyObject* fast = PySequence_Fast(sequence, "the name lists must be a sequence");
    if (fast == nullptr) return nullptr;
    PyObject* result = nullptr;
    try {
        std::vector<NameList> lists;
        std::vector<Bytes> held;
        if (name_lists(fast, joints, lists, held)) {
            std::size_t i = static_cast<std::size_t>(start), list = 0;
            for (; i < decoding.count && decoding.inside(i); ++i) {
                if (!joint_state(decoding.payload(i, cdr != 0), lists, joints, decoding.stamps.items<double>()[i], list,
                                 decoding.row(i)))
                    break;
                chosen.items<std::int64_t>()[i] = static_cast<std::int64_t>(list);
            }
            result = PyLong_FromSize_t(i);
        }
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
    }
    Py_DECREF(fast);
    return result;
}

inline PyObject* decode_wrenches(PyObject*, PyObject* args) {
    PyObject *data, *spans, *stamps, *rows;
    Py_ssize_t start;
    int cdr, stamped;
    if (!PyArg_ParseTuple(args, "OOnppOO", &data, &spans, &start, &cdr, &stamped, &stamps, &rows)) return nullptr;
    Decoding decoding;
    if (!decoding.hold(data, spans, stamps, rows, start)) return nullptr;
    if (decoding.with_rows && decoding.count > 0 && decoding.columns != 6) {
        PyErr_SetString(PyExc_ValueError, "rows must have six columns");
        return nullptr;
    }
    std::size_t i = static_cast<std::size_t>(start);
    for (; i < decoding.count && decoding.inside(i); ++i) {
        if (!wrench(decoding.payload(i, cdr != 0), stamped != 0, decoding.stamps.items<double>()[i], decoding.row(i))) break;
    }
    return PyLong_FromSize_t(i);
}

inline PyMethodDef bag_methods[] = {
    {"mcap_messages", messages<walk_mcap>, METH_VARARGS, "Find the messages of chosen channels in a run of MCAP records."},
    {"ros1_messages", messages<walk_ros1>, METH_VARARGS, "Find the messages of chosen connections in a run of ROS 1 records."},
    {"joint_states", decode_joint_states, METH_VARARGS, "Decode JointState payloads up to the first that needs a closer look."},
    {"wrenches", decode_wrenches, METH_VARARGS, "Decode Wrench payloads up to the first that needs a closer look."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace counterpoise
