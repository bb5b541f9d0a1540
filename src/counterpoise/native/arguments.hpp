// Arguments of native functions, and the objects, types and numbers that a part adds to its namespace.
//
// What does not fit raises TypeError, ValueError, OverflowError or BufferError, whoever calls: a wrong argument never
// leads to a read or a write elsewhere (tests/test_native_arguments.py).
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <new>
#include <type_traits>
#include <utility>

namespace counterpoise {

// The parts of the extension. Each fills its namespace; false with a Python error set.
bool add_control(PyObject* part);
bool add_dynamics(PyObject* part);
bool add_plants(PyObject* part);
bool add_recording(PyObject* part);
bool add_sensing(PyObject* part);

// ---------------------------------------------------------------------------------------------------------- arguments

constexpr Py_ssize_t ANY = -1;  // as a count

// The C-contiguous memory of an argument, released with its scope. Item is double or std::int64_t, or std::uint8_t for
// memory of any kind; it is const where nothing is written.
template <class Item>
class Buffer {
    using Plain = std::remove_const_t<Item>;
    static_assert(std::is_same_v<Plain, double> || std::is_same_v<Plain, std::int64_t> || sizeof(Plain) == 1);

public:
    Buffer() = default;
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() {
        if (open_) PyBuffer_Release(&view_);
    }
    // Takes the memory of `count` items. Fault: Python error, false.
    bool take(PyObject* owner, const char* name, Py_ssize_t count = ANY) {
        constexpr int FLAGS = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (std::is_const_v<Item> ? 0 : PyBUF_WRITABLE);
        if (PyObject_GetBuffer(owner, &view_, FLAGS) != 0) return false;
        open_ = true;
        // NumPy calls its 64-bit integers "l" or "q", as the platform does.
        const char* format = view_.format == nullptr ? "" : view_.format;
        const bool is_kind = sizeof(Item) == 1 || (view_.itemsize == 8 && format[0] != 0 && format[1] == 0 &&
                                                   std::strchr(std::is_same_v<Plain, double> ? "d" : "lq", format[0]));
        const bool is_aligned = view_.len == 0 || reinterpret_cast<std::uintptr_t>(view_.buf) % alignof(Item) == 0;
        if (is_kind && is_aligned && (count == ANY || this->count() == count)) return true;
        const char* kind = sizeof(Item) == 1 ? "bytes" : std::is_same_v<Plain, double> ? "float64" : "int64";
        if (count == ANY)
            PyErr_Format(PyExc_ValueError, "%s has the wrong type or size; expected %s", name, kind);
        else
            PyErr_Format(PyExc_ValueError, "%s has the wrong type or size; expected %zd %s", name, count, kind);
        return false;
    }
    Item* data() const { return static_cast<Item*>(view_.buf); }
    Item& operator[](Py_ssize_t i) const { return data()[i]; }
    Py_ssize_t count() const { return view_.len / static_cast<Py_ssize_t>(sizeof(Item)); }
    const Py_buffer& view() const { return view_; }

private:
    Py_buffer view_{};
    bool open_ = false;
};

// Plain arguments. Fault: Python error, false; a bool then keeps its value.
inline bool take(PyObject* value, double& into) {
    into = PyFloat_AsDouble(value);
    return into != -1.0 || PyErr_Occurred() == nullptr;
}
inline bool take(PyObject* value, Py_ssize_t& into) {
    into = PyLong_AsSsize_t(value);
    return into != -1 || PyErr_Occurred() == nullptr;
}
inline bool take(PyObject* value, bool& into) {
    const int truth = PyObject_IsTrue(value);
    if (truth < 0) return false;
    into = truth == 1;
    return true;
}

// Takes successive plain arguments.
template <class... Values>
bool take_all(PyObject* const* args, Values&... into) {
    return (take(*args++, into) && ...);
}

// Whether a call has as many arguments as its function takes. Fault: Python error, false.
inline bool has_arguments(const char* function, Py_ssize_t count, Py_ssize_t expected) {
    if (count == expected) return true;
    PyErr_Format(PyExc_TypeError, "%s takes %zd arguments", function, expected);
    return false;
}

// Null with a ValueError that says what is wrong.
inline PyObject* refuse(const char* message) {
    PyErr_SetString(PyExc_ValueError, message);
    return nullptr;
}

// ------------------------------------------------------------------------------------------------- functions and types

inline PyCFunction fast(PyObject* (*function)(PyObject*, PyObject* const*, Py_ssize_t)) {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}
inline PyCFunction fast(PyObject* (*function)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*)) {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

// A Python object around a C++ value that is deleted with it.
template <class Value>
struct Boxed {
    PyObject_HEAD
    Value* value;  // null until it is made
};

template <class Value>
Value* value_of(PyObject* object) {
    return reinterpret_cast<Boxed<Value>*>(object)->value;
}

template <class Value>
void delete_boxed(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    delete value_of<Value>(object);
    type->tp_free(object);
    Py_DECREF(type);
}

// tp_new of a type whose constructor takes arguments without names, as Value::take(args) does. Value::take returns false
// with a Python error set, or throws std::bad_alloc.
template <class Value>
PyObject* make_boxed(PyTypeObject* type, PyObject* args, PyObject* keywords) {
    if (keywords != nullptr && PyDict_GET_SIZE(keywords) > 0) {
        PyErr_SetString(PyExc_TypeError, "keyword arguments are not taken");
        return nullptr;
    }
    PyObject* object = type->tp_alloc(type, 0);
    if (object == nullptr) return nullptr;
    bool good = false;
    try {
        auto* value = reinterpret_cast<Boxed<Value>*>(object)->value = new Value();
        good = value->take(args);
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
    }
    if (good) return object;
    Py_DECREF(object);
    return nullptr;
}

// Adds an object whose reference it takes over; null, with a Python error set, is passed on as false.
inline bool add_object(PyObject* part, const char* name, PyObject* object) {
    const bool added = object != nullptr && PyModule_AddObjectRef(part, name, object) == 0;
    Py_XDECREF(object);
    return added;
}

// A new type; null with a Python error set. The list of slots ends with {0, nullptr}.
inline PyObject* make_type(const char* full_name, std::size_t size, std::initializer_list<PyType_Slot> slots,
                           unsigned int flags = Py_TPFLAGS_DEFAULT) {
    PyType_Spec spec = {full_name, static_cast<int>(size), 0, flags, const_cast<PyType_Slot*>(slots.begin())};
    return PyType_FromSpec(&spec);
}

template <class Content>
PyType_Slot slot(int place, Content* content) {
    return {place, (void*)content};  // a function, a table or a text
}

// Adds a boxed type that is made from arguments without names.
template <class Value>
bool add_boxed(PyObject* part, const char* name, const char* full_name, PyMethodDef* methods, const char* text) {
    PyObject* type = make_type(full_name, sizeof(Boxed<Value>),
                               {slot(Py_tp_new, make_boxed<Value>), slot(Py_tp_dealloc, delete_boxed<Value>),
                                slot(Py_tp_methods, methods), slot(Py_tp_doc, text), {0, nullptr}});
    return add_object(part, name, type);
}

// ------------------------------------------------------------------------------- what both languages must agree about
//
// Enumerations are lists of X(name, value); rows and columns of shared arrays are lists of X(name), in their order. Python
// compares them with its own before it uses a part (LAYOUT in kernel_cases.py of each subpackage).

#define COUNTERPOISE_ENUMERATOR(name, value) name = value,
#define COUNTERPOISE_NUMBER(name, value) {#name, value},
#define COUNTERPOISE_ROW(name) name,
#define COUNTERPOISE_FIELD(name) double name;
#define COUNTERPOISE_NAME(name) #name,

inline bool add_numbers(PyObject* part, const char* name,
                        std::initializer_list<std::pair<const char*, double>> numbers) {
    PyObject* table = PyDict_New();
    for (const auto& [key, value] : numbers) {
        PyObject* number = PyFloat_FromDouble(value);
        if (number == nullptr || table == nullptr || PyDict_SetItemString(table, key, number) != 0) Py_CLEAR(table);
        Py_XDECREF(number);
    }
    return add_object(part, name, table);
}

inline bool add_names(PyObject* part, const char* name, std::initializer_list<const char*> names) {
    PyObject* list = PyList_New(0);
    for (const char* each : names) {
        PyObject* text = PyUnicode_FromString(each);
        if (text == nullptr || list == nullptr || PyList_Append(list, text) != 0) Py_CLEAR(list);
        Py_XDECREF(text);
    }
    PyObject* tuple = list == nullptr ? nullptr : PyList_AsTuple(list);
    Py_XDECREF(list);
    return add_object(part, name, tuple);
}

}  // namespace counterpoise
