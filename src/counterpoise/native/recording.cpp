// The readers of recordings: rows of numbers from text, and messages from bags. Only counterpoise/recording/kernel.py
// calls these functions; recording/csv_numbers.py and recording/bags/reference.py are their specification.
#include "arguments.hpp"
#include "recording/csv_numbers.hpp"
#include "recording/joint_state.hpp"

namespace counterpoise {
namespace {

using Bytes = Buffer<const std::uint8_t>;

// parse_rows(text, begin, out, columns, delimiter, skip) -> (rows, consumed, lines, status, column, field)
PyObject* parse_rows(PyObject*, PyObject* args) {
    PyObject *text, *out, *skip;
    Py_ssize_t begin, columns;
    int delimiter;
    Bytes bytes, skipped;
    Buffer<double> numbers;
    if (!PyArg_ParseTuple(args, "OnOniO", &text, &begin, &out, &columns, &delimiter, &skip) ||
        !bytes.take(text, "text") || !numbers.take(out, "out") || !skipped.take(skip, "skip", columns))
        return nullptr;
    if (begin < 0 || begin > bytes.count() || columns < 1 || delimiter < 0 || delimiter > 127)
        return refuse("begin, columns and delimiter do not belong together");
    const char* data = reinterpret_cast<const char*>(bytes.data());
    const Outcome outcome = parse_text(data + begin, data + bytes.count(), static_cast<char>(delimiter),
                                       reinterpret_cast<const char*>(skipped.data()), columns, numbers.data(),
                                       numbers.count() / columns);
    const Py_ssize_t size = outcome.begin == nullptr ? 0 : outcome.end - outcome.begin;
    return Py_BuildValue("nnniny#", static_cast<Py_ssize_t>(outcome.rows),
                         static_cast<Py_ssize_t>(outcome.consumed - data), static_cast<Py_ssize_t>(outcome.lines),
                         static_cast<int>(outcome.status), static_cast<Py_ssize_t>(outcome.column),
                         outcome.begin == nullptr ? "" : outcome.begin, size);
}

// The walk's result: (spans as bytes of int64 (k, 4), where it stopped).
template <void (*Walker)(Walk&)>
PyObject* messages(PyObject*, PyObject* args) {
    PyObject *data, *wanted;
    Py_ssize_t start;
    Bytes bytes, ids;  // the ids are bytes of int64
    if (!PyArg_ParseTuple(args, "OnO", &data, &start, &wanted) || !bytes.take(data, "data") || !ids.take(wanted, "wanted"))
        return nullptr;
    if (start < 0 || start > bytes.count()) return refuse("start lies outside the data");
    try {
        Walk walk{bytes.data(), static_cast<std::size_t>(bytes.count()), static_cast<std::size_t>(start), {}, {}};
        walk.wanted.resize(static_cast<std::size_t>(ids.count()) / sizeof(std::int64_t));
        if (!walk.wanted.empty())
            std::memcpy(walk.wanted.data(), ids.data(), walk.wanted.size() * sizeof(std::int64_t));
        Walker(walk);
        return Py_BuildValue("y#n", walk.spans.empty() ? "" : reinterpret_cast<const char*>(walk.spans.data()),
                             static_cast<Py_ssize_t>(walk.spans.size() * sizeof(Span)), static_cast<Py_ssize_t>(walk.at));
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    }
}

// What both decoders share: payloads, where they lie, and where the numbers go.
struct Decoding {
    Bytes data;
    Buffer<const std::int64_t> spans;
    Buffer<double> stamps, rows;
    Py_ssize_t count = 0, columns = 0;
    bool with_rows = false;

    bool take(PyObject* data_, PyObject* spans_, PyObject* stamps_, PyObject* rows_, Py_ssize_t start) {
        with_rows = rows_ != Py_None;
        if (!data.take(data_, "data") || !spans.take(spans_, "spans")) return false;
        count = spans.count() / SPAN_NUMBERS;
        if (!stamps.take(stamps_, "stamps", count) || (with_rows && !rows.take(rows_, "rows"))) return false;
        columns = with_rows && count > 0 ? rows.count() / count : 0;
        return start >= 0 || refuse("start is negative") != nullptr;
    }
    // Whether there is a message i, within the data.
    bool has(Py_ssize_t i) const {
        if (i >= count) return false;
        const Span& span = at(i);
        return span.offset >= 0 && span.length >= 0 && span.offset <= data.count() &&
               span.length <= data.count() - span.offset;
    }
    const Span& at(Py_ssize_t i) const { return reinterpret_cast<const Span*>(spans.data())[i]; }
    Payload payload(Py_ssize_t i, bool cdr) const {
        return {data.data() + at(i).offset, static_cast<std::size_t>(at(i).length), cdr};
    }
    double* row(Py_ssize_t i) const { return with_rows ? rows.data() + i * columns : nullptr; }
};

// The name lists of Python: a sequence of (names, columns or None); columns are int64 buffers kept in `buffers`.
bool name_lists(PyObject* sequence, Py_ssize_t joints, std::vector<NameList>& lists,
                std::vector<Buffer<const std::int64_t>>& buffers) {
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(sequence);
    buffers = std::vector<Buffer<const std::int64_t>>(static_cast<std::size_t>(count));
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
            if (!buffers[i].take(columns, "columns", PyTuple_GET_SIZE(names))) return false;
            list.columns = buffers[i].data();
            for (Py_ssize_t j = 0; j < buffers[i].count(); ++j)
                if (list.columns[j] < 0 || list.columns[j] >= joints)
                    return refuse("columns of a list must lie below the number of joints") != nullptr;
        }
        lists.push_back(std::move(list));
    }
    return true;
}

PyObject* joint_states(PyObject*, PyObject* args) {
    PyObject *data, *spans, *sequence, *stamps, *which, *rows;
    Py_ssize_t start;
    int cdr;
    Decoding decoding;
    Buffer<std::int64_t> chosen;
    if (!PyArg_ParseTuple(args, "OOnpOOOO", &data, &spans, &start, &cdr, &sequence, &stamps, &which, &rows) ||
        !decoding.take(data, spans, stamps, rows, start) || !chosen.take(which, "which", decoding.count))
        return nullptr;
    const Py_ssize_t joints = decoding.columns / 3;
    if (decoding.columns != 3 * joints) return refuse("rows must have three columns for each joint");
    PyObject* fast = PySequence_Fast(sequence, "the name lists must be a sequence");
    if (fast == nullptr) return nullptr;
    PyObject* result = nullptr;
    try {
        std::vector<NameList> lists;
        std::vector<Buffer<const std::int64_t>> buffers;
        if (name_lists(fast, joints, lists, buffers)) {
            Py_ssize_t i = start;
            std::size_t list = 0;
            for (; decoding.has(i); ++i) {
                if (!joint_state(decoding.payload(i, cdr != 0), lists, static_cast<std::size_t>(joints),
                                 decoding.stamps[i], list, decoding.row(i)))
                    break;
                chosen[i] = static_cast<std::int64_t>(list);
            }
            result = PyLong_FromSsize_t(i);
        }
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
    }
    Py_DECREF(fast);
    return result;
}

PyObject* wrenches(PyObject*, PyObject* args) {
    PyObject *data, *spans, *stamps, *rows;
    Py_ssize_t start;
    int cdr, stamped;
    Decoding decoding;
    if (!PyArg_ParseTuple(args, "OOnppOO", &data, &spans, &start, &cdr, &stamped, &stamps, &rows) ||
        !decoding.take(data, spans, stamps, rows, start))
        return nullptr;
    if (decoding.with_rows && decoding.count > 0 && decoding.columns != 6) return refuse("rows must have six columns");
    Py_ssize_t i = start;
    while (decoding.has(i) && wrench(decoding.payload(i, cdr != 0), stamped != 0, decoding.stamps[i], decoding.row(i))) ++i;
    return PyLong_FromSsize_t(i);
}

PyMethodDef functions[] = {
    {"parse_rows", parse_rows, METH_VARARGS, "Rows of numbers from the whole lines of a text; see csv_numbers.py."},
    {"mcap_messages", messages<walk_mcap>, METH_VARARGS, "Find the messages of chosen channels in a run of MCAP records."},
    {"ros1_messages", messages<walk_ros1>, METH_VARARGS, "Find the messages of chosen connections in a run of ROS 1 records."},
    {"joint_states", joint_states, METH_VARARGS, "Decode JointState payloads up to the first that needs a closer look."},
    {"wrenches", wrenches, METH_VARARGS, "Decode Wrench payloads up to the first that needs a closer look."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool add_recording(PyObject* part) {
    return PyModule_AddFunctions(part, functions) == 0 && add_numbers(part, "Status", {STATUSES(COUNTERPOISE_NUMBER)});
}

}  // namespace counterpoise
