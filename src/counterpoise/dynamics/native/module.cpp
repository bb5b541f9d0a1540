// The native kernel as a Python type: argument checks, allocation and threads around the tables of kernels.
//
// A ready float64 array goes straight to the kernel. Anything else (lists, strided arrays, other types) and every fault
// goes through counterpoise/dynamics/inputs.py, so that both kernels convert and refuse with the same words.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <numpy/arrayobject.h>

#if defined(_WIN32)
#include <malloc.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "model.hpp"

namespace {

using counterpoise::Body;
using counterpoise::Kernels;
using counterpoise::Model;
using counterpoise::Point;

constexpr std::size_t THREAD_POSES = 4096;  // below this many poses per thread, starting threads costs more than it gains

const Kernels* table = nullptr;
int batch_threads = 1;

// Borrowed for ever from the Python side.
PyObject *as_rows = nullptr, *refuse_bad_entries = nullptr, *check_out = nullptr, *link_index = nullptr,
         *unphysical = nullptr, *refuse_wrench_shape = nullptr, *input_error = nullptr, *wrench_components = nullptr;
PyArray_Descr* float64 = nullptr;
PyObject *name_q, *name_dq, *name_ddq, *name_out, *name_at, *name_wrench;

struct Workspace {
    double* data;
    explicit Workspace(std::size_t doubles) : data(nullptr) {
#if defined(_WIN32)
        data = static_cast<double*>(_aligned_malloc(doubles * sizeof(double), 64));
#else
        void* memory = nullptr;
        data = posix_memalign(&memory, 64, doubles * sizeof(double)) == 0 ? static_cast<double*>(memory) : nullptr;
#endif
        if (data == nullptr) throw std::bad_alloc();
    }
    ~Workspace() {
#if defined(_WIN32)
        _aligned_free(data);
#else
        std::free(data);
#endif
    }
    Workspace(const Workspace&) = delete;
    Workspace& operator=(const Workspace&) = delete;
};

struct Compiled {
    Model model;
    std::vector<Body> bodies;
    std::vector<double> angle_offsets;
    std::vector<Point> links;
    std::vector<int> paths;
    std::vector<double> path_offsets;
    std::unique_ptr<Workspace> work;  // for single poses, which hold the interpreter lock from beginning to end
    int only_leaf = -1;               // index of the only leaf link, or -1
    bool refused = false;             // inertial dynamics are refused: an inertia is unphysical
};

struct KernelObject {
    PyObject_HEAD
    PyObject* tree;
    PyObject* joint_names;
    PyObject* link_names;
    PyObject* link_indices;  // dict: name -> index
    PyObject* leaves;
    PyObject* latest_at;  // the name object that was looked up last, and its link: loops ask for the same one
    const Point* latest_point;
    Compiled* compiled;
};

// ---------------------------------------------------------------------------------------------------- construction

PyObject* attribute_array(PyObject* tree, const char* name, int type) {
    PyObject* value = PyObject_GetAttrString(tree, name);
    if (value == nullptr) return nullptr;
    PyObject* array = PyArray_FROMANY(value, type, 0, 0, NPY_ARRAY_CARRAY_RO);
    Py_DECREF(value);
    return array;
}

// Arrays of the tree, released together.
struct Arrays {
    std::vector<PyObject*> held;
    bool failed = false;
    const double* doubles(PyObject* tree, const char* name) {
        return static_cast<const double*>(data(tree, name, NPY_DOUBLE));
    }
    const int* ints(PyObject* tree, const char* name) { return static_cast<const int*>(data(tree, name, NPY_INT)); }
    const void* data(PyObject* tree, const char* name, int type) {
        if (failed) return nullptr;
        PyObject* array = attribute_array(tree, name, type);
        if (array == nullptr) {
            failed = true;
            return nullptr;
        }
        held.push_back(array);
        return PyArray_DATA(reinterpret_cast<PyArrayObject*>(array));
    }
    ~Arrays() {
        for (PyObject* array : held) Py_DECREF(array);
    }
};

bool is_identity(const double* m) {
    for (int i = 0; i < 9; ++i)
        if (m[i] != (i % 4 == 0 ? 1.0 : 0.0)) return false;
    return true;
}

// Rz(angle)^T m for a row-major 3 x 3 matrix.
void turn_rows(double cosine, double sine, double* m) {
    for (int column = 0; column < 3; ++column) {
        const double x = m[column], y = m[3 + column];
        m[column] = cosine * x + sine * y;
        m[3 + column] = cosine * y - sine * x;
    }
}

// Splits a rotation into Rz(swing) Rx(twist) Rz(offset). The offset comes from what the other two leave, so that their
// product stays exact where the twist is so small that swing and offset are hardly distinct.
void split_rotation(const double* C, double* swing, double* twist_cosine, double* twist_sine, double* offset) {
    const double across = std::hypot(C[2], C[5]);
    *swing = across > 1e-14 ? std::atan2(C[2], -C[5]) : 0.0;
    const double scale = std::hypot(across, C[8]);
    *twist_cosine = C[8] / scale;
    *twist_sine = across > 1e-14 ? across / scale : 0.0;
    double rest[9];
    std::memcpy(rest, C, sizeof rest);
    turn_rows(std::cos(*swing), std::sin(*swing), rest);
    // First column of Rx(twist)^T rest is (cos offset, sin offset, 0).
    *offset = std::atan2(*twist_cosine * rest[3] + *twist_sine * rest[6], rest[0]);
}

// Fills `compiled` from a counterpoise.dynamics.tree.Tree. Returns false with a Python error set.
bool compile(PyObject* tree, int n, int bodies, Py_ssize_t links, Compiled* compiled) {
    Arrays arrays;
    const int* parent = arrays.ints(tree, "parent");
    const int* kind = arrays.ints(tree, "kind");
    const int* q_index = arrays.ints(tree, "q_index");
    const double* q_gain = arrays.doubles(tree, "q_gain");
    const double* q_offset = arrays.doubles(tree, "q_offset");
    const double* rotation = arrays.doubles(tree, "rotation");
    const double* origin = arrays.doubles(tree, "origin");
    const double* joint_rotation = arrays.doubles(tree, "joint_rotation");
    const double* mass = arrays.doubles(tree, "mass");
    const double* first_moment = arrays.doubles(tree, "first_moment");
    const double* inertia = arrays.doubles(tree, "inertia");
    const double* base_mass = arrays.doubles(tree, "base_mass");
    const double* base_first_moment = arrays.doubles(tree, "base_first_moment");
    const double* gravity = arrays.doubles(tree, "gravity_base");
    const int* link_body = arrays.ints(tree, "link_body");
    const double* link_rotation = arrays.doubles(tree, "link_rotation");
    const double* link_origin = arrays.doubles(tree, "link_origin");
    if (arrays.failed) return false;

    // Turn each body's frame about its axis by the swing of body i + 1, when that is its child. `gauge` is that turn.
    std::vector<double> gauge(bodies, 0.0), gauge_cosine(bodies, 1.0), gauge_sine(bodies, 0.0), swing(bodies, 0.0);
    for (int i = 1; i < bodies; ++i) {
        double unused[3];
        split_rotation(rotation + 9 * i, &swing[i], &unused[0], &unused[1], &unused[2]);
        if (parent[i] != i - 1) continue;
        gauge[i - 1] = swing[i];
        gauge_cosine[i - 1] = std::cos(swing[i]);
        gauge_sine[i - 1] = std::sin(swing[i]);
    }
    const auto regauge_rows = [&](int body, double* matrix) {
        if (body >= 0 && gauge[body] != 0.0) turn_rows(gauge_cosine[body], gauge_sine[body], matrix);
    };
    const auto regauge_vector = [&](int body, const double* from, double* to) {
        const double c = body < 0 ? 1.0 : gauge_cosine[body], s = body < 0 ? 0.0 : gauge_sine[body];
        const double x = from[0], y = from[1];
        to[0] = c * x + s * y;
        to[1] = c * y - s * x;
        to[2] = from[2];
    };

    compiled->bodies.resize(bodies);
    compiled->angle_offsets.assign((static_cast<std::size_t>(bodies) + 8) / 8 * 8 + 8, 0.0);
    Model& model = compiled->model;
    model.n = n;
    model.bodies = bodies;
    model.plain = n == bodies;
    model.rotary = true;
    model.simple = n == bodies;
    model.depth = 0;
    model.fast_bound = 1e6;
    for (int i = 0; i < bodies; ++i) {
        Body& body = compiled->bodies[i];
        double C[9];
        std::memcpy(C, rotation + 9 * i, sizeof C);
        regauge_rows(parent[i], C);
        double angle, offset;
        split_rotation(C, &angle, &body.twist_cosine, &body.twist_sine, &offset);
        if (parent[i] == i - 1 && i > 0) {
            // The parent's frame was turned for this body: what is left of the swing is rounding.
            offset += angle;
            angle = 0.0;
        }
        body.swings = angle != 0.0;
        body.swing_cosine = std::cos(angle);
        body.swing_sine = std::sin(angle);
        offset += gauge[i];
        compiled->angle_offsets[i] = offset;
        body.still_cosine = std::cos(offset);
        body.still_sine = std::sin(offset);
        body.axis[0] = C[2], body.axis[1] = C[5], body.axis[2] = C[8];
        regauge_vector(parent[i], origin + 3 * i, body.origin);
        std::memcpy(body.joint_rotation, joint_rotation + 9 * i, sizeof body.joint_rotation);
        regauge_rows(i, body.joint_rotation);
        regauge_vector(i, first_moment + 3 * i, body.first_moment);
        double I[9], turned[9];
        std::memcpy(I, inertia + 9 * i, sizeof I);
        regauge_rows(i, I);
        for (int row = 0; row < 3; ++row)
            for (int column = 0; column < 3; ++column) turned[3 * row + column] = I[3 * column + row];
        regauge_rows(i, turned);  // G^T I G, by way of its transpose
        const double packed[6] = {turned[0], turned[1], turned[4], turned[2], turned[5], turned[8]};
        std::memcpy(body.inertia, packed, sizeof packed);
        std::memcpy(body.carried_moment, body.first_moment, sizeof body.carried_moment);
        body.mass = body.carried_mass = mass[i];
        body.q_gain = q_gain[i];
        body.q_offset = q_offset[i];
        body.q_index = q_index[i];
        body.parent = parent[i];
        body.depth = body.parent < 0 ? 1 : compiled->bodies[body.parent].depth + 1;
        model.depth = std::max(model.depth, body.depth);
        body.kind = kind[i];
        body.branches = false;
        body.aligned = is_identity(body.joint_rotation);
        model.rotary = model.rotary && body.kind == counterpoise::REVOLUTE;
        model.simple = model.simple && body.kind == counterpoise::REVOLUTE && body.parent == i - 1;
        model.plain = model.plain && body.q_index == i && body.q_gain == 1.0 && body.q_offset == 0.0;
        if (body.parent >= 0 && body.parent != i - 1) compiled->bodies[body.parent].branches = true;
        const double room = (1e6 - std::fabs(body.q_offset)) / std::fmax(1.0, std::fabs(body.q_gain));
        model.fast_bound = room > 0.0 ? std::fmin(model.fast_bound, room) : 0.0;
    }
    model.total_mass = model.base_mass = *base_mass;
    for (int i = bodies - 1; i >= 0; --i) {
        const Body& body = compiled->bodies[i];
        model.total_mass += body.mass;
        if (body.parent < 0) continue;
        Body& carrier = compiled->bodies[body.parent];
        carrier.carried_mass += body.carried_mass;
        for (int c = 0; c < 3; ++c) carrier.carried_moment[c] += body.carried_mass * body.origin[c];
    }
    std::memcpy(model.gravity, gravity, sizeof model.gravity);
    std::memcpy(model.base_first_moment, base_first_moment, sizeof model.base_first_moment);
    model.body = compiled->bodies.data();
    model.angle_offset = compiled->angle_offsets.data();

    compiled->links.resize(links);
    std::vector<std::size_t> starts(links), offset_starts(links);
    for (Py_ssize_t l = 0; l < links; ++l) {
        Point& point = compiled->links[l];
        point.body = link_body[l];
        std::memcpy(point.rotation, link_rotation + 9 * l, sizeof point.rotation);
        regauge_rows(point.body, point.rotation);
        regauge_vector(point.body, link_origin + 3 * l, point.origin);
        std::vector<int> path;
        for (int i = point.body; i >= 0; i = parent[i]) path.push_back(i);
        starts[l] = compiled->paths.size();
        point.depth = static_cast<int>(path.size());
        compiled->paths.insert(compiled->paths.end(), path.rbegin(), path.rend());
        offset_starts[l] = compiled->path_offsets.size();
        for (auto i = path.rbegin(); i != path.rend(); ++i) compiled->path_offsets.push_back(compiled->angle_offsets[*i]);
        compiled->path_offsets.resize(compiled->path_offsets.size() + 8, 0.0);
    }
    for (Py_ssize_t l = 0; l < links; ++l) {
        compiled->links[l].path = compiled->paths.data() + starts[l];
        compiled->links[l].angle_offset = compiled->path_offsets.data() + offset_starts[l];
    }
    return true;
}

PyObject* kernel_new(PyTypeObject* type, PyObject* args, PyObject*) {
    // Subclasses give their own constructors other arguments and pass the tree alone on to this one.
    PyObject* tree;
    if (!PyArg_ParseTuple(args, "O", &tree)) return nullptr;
    KernelObject* self = reinterpret_cast<KernelObject*>(type->tp_alloc(type, 0));
    if (self == nullptr) return nullptr;
    self->tree = Py_NewRef(tree);
    self->joint_names = PyObject_GetAttrString(tree, "joint_names");
    self->link_names = PyObject_GetAttrString(tree, "link_names");
    self->leaves = PyObject_GetAttrString(tree, "leaves");
    self->link_indices = PyDict_New();
    PyObject* body_names = PyObject_GetAttrString(tree, "body_names");
    PyObject* refusal = PyObject_GetAttrString(tree, "refusal");
    bool good = self->joint_names != nullptr && self->link_names != nullptr && self->leaves != nullptr &&
                self->link_indices != nullptr && body_names != nullptr && refusal != nullptr;
    if (good) {
        const Py_ssize_t links = PyTuple_Size(self->link_names);
        const int bodies = static_cast<int>(PyTuple_Size(body_names));
        try {
            self->compiled = new Compiled;
            good = compile(tree, static_cast<int>(PyTuple_Size(self->joint_names)), bodies, links, self->compiled);
            if (good) self->compiled->work.reset(new Workspace(table->work_doubles(bodies, self->compiled->model.depth)));
            self->compiled->refused = PyObject_IsTrue(refusal) == 1;
        } catch (const std::exception&) {
            good = false;
            PyErr_NoMemory();
        }
        for (Py_ssize_t l = 0; good && l < links; ++l) {
            PyObject* index = PyLong_FromSsize_t(l);
            good = index != nullptr && PyDict_SetItem(self->link_indices, PyTuple_GET_ITEM(self->link_names, l), index) == 0;
            Py_XDECREF(index);
        }
        if (good && PyTuple_Size(self->leaves) == 1) {
            PyObject* index = PyDict_GetItem(self->link_indices, PyTuple_GET_ITEM(self->leaves, 0));
            self->compiled->only_leaf = index == nullptr ? -1 : static_cast<int>(PyLong_AsLong(index));
        }
    }
    Py_XDECREF(body_names);
    Py_XDECREF(refusal);
    if (!good) {
        Py_DECREF(self);
        return nullptr;
    }
    return reinterpret_cast<PyObject*>(self);
}

void kernel_dealloc(PyObject* object) {
    KernelObject* self = reinterpret_cast<KernelObject*>(object);
    PyTypeObject* type = Py_TYPE(object);
    delete self->compiled;
    Py_XDECREF(self->tree);
    Py_XDECREF(self->joint_names);
    Py_XDECREF(self->link_names);
    Py_XDECREF(self->link_indices);
    Py_XDECREF(self->leaves);
    Py_XDECREF(self->latest_at);
    type->tp_free(object);
    Py_DECREF(type);
}

PyObject* kernel_tree(PyObject* object, void*) { return Py_NewRef(reinterpret_cast<KernelObject*>(object)->tree); }

// ------------------------------------------------------------------------------------------------------- arguments

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

// Runs compute(first pose, count, workspace) over all poses: one pose with the lock held, many without it and, when
// asked for, on several threads. Chunks are multiples of 64 poses, so lanes are filled alike however many threads run.
template <class Compute>
bool run(const Compiled& compiled, const Held& q, const Compute& compute) {
    if (PyArray_NDIM(q.array) == 1) return compute(0, counterpoise::ALONE, compiled.work->data);
    const std::size_t count = PyArray_DIM(q.array, 0);
    if (count == 0) return true;
    const std::size_t doubles = table->work_doubles(compiled.model.bodies, compiled.model.depth);
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

// --------------------------------------------------------------------------------------------------------- methods

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
    return from_positions(self, "gravity", table->gravity, shape, 1, args, positional, keywords);
}

PyObject* kernel_center_of_mass(PyObject* self, PyObject* const* args, Py_ssize_t positional, PyObject* keywords) {
    const npy_intp shape[1] = {3};
    return from_positions(self, "center_of_mass", table->center_of_mass, shape, 1, args, positional, keywords);
}

PyObject* kernel_gravity_regressor(PyObject* self, PyObject* const* args, Py_ssize_t positional, PyObject* keywords) {
    const Model& model = reinterpret_cast<KernelObject*>(self)->compiled->model;
    const npy_intp shape[2] = {model.n, 4 * model.bodies};
    return from_positions(self, "gravity_regressor", table->gravity_regressor, shape, 2, args, positional, keywords);
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
    if (needs_inertia && self->compiled->refused && (sorted[1] != nullptr || sorted[2] != nullptr)) {
        PyObject* error = PyObject_CallOneArg(unphysical, self->tree);
        if (error != nullptr) {
            PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error)), error);
            Py_DECREF(error);
        }
        return nullptr;
    }
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
    return from_motion(self, "inverse_dynamics", table->inverse_dynamics, 3, true, shape, 1, args, positional, keywords);
}

PyObject* kernel_base_wrench(PyObject* self, PyObject* const* args, Py_ssize_t positional, PyObject* keywords) {
    const npy_intp shape[1] = {6};
    return from_motion(self, "base_wrench", table->base_wrench, 1, true, shape, 1, args, positional, keywords);
}

PyObject* kernel_inertial_regressor(PyObject* self, PyObject* const* args, Py_ssize_t positional, PyObject* keywords) {
    const Model& model = reinterpret_cast<KernelObject*>(self)->compiled->model;
    const npy_intp shape[2] = {model.n, 10 * model.bodies};
    return from_motion(self, "inertial_regressor", table->inertial_regressor, 1, false, shape, 2, args, positional,
                       keywords);
}

PyObject* kernel_base_wrench_regressor(PyObject* self, PyObject* const* args, Py_ssize_t positional,
                                       PyObject* keywords) {
    const npy_intp shape[2] = {6, 10 * (reinterpret_cast<KernelObject*>(self)->compiled->model.bodies + 1)};
    return from_motion(self, "base_wrench_regressor", table->base_wrench_regressor, 1, false, shape, 2, args, positional,
                       keywords);
}

const Point* find_link(KernelObject* self, PyObject* at) {
    if (at == nullptr && self->compiled->only_leaf >= 0) return &self->compiled->links[self->compiled->only_leaf];
    if (at != nullptr && at == self->latest_at) return self->latest_point;
    if (at != nullptr && PyUnicode_CheckExact(at)) {
        PyObject* index = PyDict_GetItemWithError(self->link_indices, at);
        if (index != nullptr) {
            Py_XSETREF(self->latest_at, Py_NewRef(at));
            return self->latest_point = &self->compiled->links[PyLong_AsSsize_t(index)];
        }
        if (PyErr_Occurred()) return nullptr;
    }
    PyObject* index = PyObject_CallFunctionObjArgs(link_index, self->link_names, self->leaves,
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
    return from_link(self, "forward_kinematics", table->forward_kinematics, shape, args, positional, keywords);
}

PyObject* kernel_jacobian(PyObject* self, PyObject* const* args, Py_ssize_t positional, PyObject* keywords) {
    const npy_intp shape[2] = {6, reinterpret_cast<KernelObject*>(self)->compiled->model.n};
    return from_link(self, "jacobian", table->jacobian, shape, args, positional, keywords);
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
    const bool one_wrench = PyArray_NDIM(rows[1].array) == 1;
    if (!one_wrench && (PyArray_NDIM(rows[0].array) == 1 || PyArray_DIM(rows[0].array, 0) != PyArray_DIM(rows[1].array, 0))) {
        Py_XDECREF(PyObject_CallFunctionObjArgs(refuse_wrench_shape, reinterpret_cast<PyObject*>(rows[1].array),
                                                reinterpret_cast<PyObject*>(rows[0].array), nullptr));
        return refused();
    }
    const Point* point = find_link(self, sorted[2]);
    if (point == nullptr) return nullptr;
    PyArrayObject* result = take_result(sorted[3], rows, 2, &n, 1);
    if (result == nullptr) return nullptr;
    double* out = static_cast<double*>(PyArray_DATA(result));
    const std::size_t stride = one_wrench ? 0 : 6;
    const bool good = run(*self->compiled, rows[0], [&](std::size_t first, std::size_t count, double* work) {
        return table->wrench_torque(self->compiled->model, *point, count, rows[0].data() + first * n,
                                    rows[1].data() + first * stride, stride, out + first * n, work);
    });
    if (good) return reinterpret_cast<PyObject*>(result);
    Py_DECREF(result);
    refuse(rows[0], name_q, self->joint_names);
    refuse(rows[1], name_wrench, wrench_components);
    return refused();
}

// ---------------------------------------------------------------------------------------------------------- module

#define METHOD(name, signature) \
    {#name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(kernel_##name)), METH_FASTCALL | METH_KEYWORDS, \
     signature}
PyMethodDef kernel_methods[] = {
    METHOD(gravity, "($self, q, out=None)"),
    METHOD(inverse_dynamics, "($self, q, dq, ddq, out=None)"),
    METHOD(base_wrench, "($self, q, dq=None, ddq=None, out=None)"),
    METHOD(center_of_mass, "($self, q, out=None)"),
    METHOD(forward_kinematics, "($self, q, at=None, out=None)"),
    METHOD(jacobian, "($self, q, at=None, out=None)"),
    METHOD(wrench_torque, "($self, q, wrench, at=None, out=None)"),
    METHOD(gravity_regressor, "($self, q, out=None)"),
    METHOD(inertial_regressor, "($self, q, dq=None, ddq=None, out=None)"),
    METHOD(base_wrench_regressor, "($self, q, dq=None, ddq=None, out=None)"),
    {nullptr, nullptr, 0, nullptr},
};
#undef METHOD

PyGetSetDef kernel_members[] = {{"tree", kernel_tree, nullptr, "The compiled tree.", nullptr},
                                {nullptr, nullptr, nullptr, nullptr, nullptr}};

// Gives the methods the docstrings of the reference kernel. The texts live as long as the process.
bool borrow_docstrings(PyObject* reference) {
    for (PyMethodDef* method = kernel_methods; method->ml_name != nullptr; ++method) {
        PyObject* function = PyObject_GetAttrString(reference, method->ml_name);
        PyObject* text = function == nullptr ? nullptr : PyObject_GetAttrString(function, "__doc__");
        const char* utf8 = text == nullptr ? nullptr : text == Py_None ? "" : PyUnicode_AsUTF8(text);
        if (utf8 != nullptr) {
            const std::string full = std::string(method->ml_name) + method->ml_doc + "\n--\n\n" + utf8;
            char* kept = static_cast<char*>(std::malloc(full.size() + 1));
            if (kept != nullptr) method->ml_doc = std::strcpy(kept, full.c_str());
        }
        Py_XDECREF(function);
        Py_XDECREF(text);
        if (utf8 == nullptr) return false;
    }
    return true;
}

bool import_helpers() {
    PyObject* inputs = PyImport_ImportModule("counterpoise.dynamics.inputs");
    PyObject* reference = PyImport_ImportModule("counterpoise.dynamics.reference");
    PyObject* errors = PyImport_ImportModule("counterpoise.errors");
    if (inputs != nullptr && reference != nullptr && errors != nullptr) {
        as_rows = PyObject_GetAttrString(inputs, "as_rows");
        refuse_bad_entries = PyObject_GetAttrString(inputs, "refuse_bad_entries");
        check_out = PyObject_GetAttrString(inputs, "check_out");
        link_index = PyObject_GetAttrString(inputs, "link_index");
        refuse_wrench_shape = PyObject_GetAttrString(inputs, "refuse_wrench_shape");
        wrench_components = PyObject_GetAttrString(reference, "WRENCH_COMPONENTS");
        unphysical = PyObject_GetAttrString(reference, "unphysical");
        input_error = PyObject_GetAttrString(errors, "InputError");
    }
    Py_XDECREF(inputs);
    Py_XDECREF(reference);
    Py_XDECREF(errors);
    float64 = PyArray_DescrFromType(NPY_DOUBLE);
    name_q = PyUnicode_InternFromString("q");
    name_dq = PyUnicode_InternFromString("dq");
    name_ddq = PyUnicode_InternFromString("ddq");
    name_out = PyUnicode_InternFromString("out");
    name_at = PyUnicode_InternFromString("at");
    name_wrench = PyUnicode_InternFromString("wrench");
    return PyErr_Occurred() == nullptr;
}

PyObject* kernel_type = nullptr;

PyObject* make_kernel(PyObject*, PyObject* reference) {
    if (kernel_type != nullptr) return Py_NewRef(kernel_type);
    if (!import_helpers() || !borrow_docstrings(reference)) return nullptr;
    PyObject* doc = PyObject_GetAttrString(reference, "__doc__");
    const char* text = doc != nullptr && PyUnicode_Check(doc) ? PyUnicode_AsUTF8(doc) : "";
    PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(kernel_new)},
                           {Py_tp_dealloc, reinterpret_cast<void*>(kernel_dealloc)},
                           {Py_tp_methods, kernel_methods},
                           {Py_tp_getset, kernel_members},
                           {Py_tp_doc, const_cast<char*>(text)},
                           {0, nullptr}};
    PyType_Spec spec = {"counterpoise.dynamics._native.NativeKernel", sizeof(KernelObject), 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
    kernel_type = PyType_FromSpec(&spec);
    Py_XDECREF(doc);
    return kernel_type == nullptr ? nullptr : Py_NewRef(kernel_type);
}

#if defined(COUNTERPOISE_AVX)
bool cpu_has(const char* name) {
#if defined(__GNUC__) || defined(__clang__)
    __builtin_cpu_init();
    if (std::strcmp(name, "avx512") == 0)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("fma");
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    (void)name;
    return false;
#endif
}
#endif

std::vector<const Kernels*> available_tables() {
    std::vector<const Kernels*> tables;
#if defined(COUNTERPOISE_AVX)
    if (cpu_has("avx512")) tables.push_back(&counterpoise::kernels_avx512);
    if (cpu_has("avx2")) tables.push_back(&counterpoise::kernels_avx2);
#endif
    tables.push_back(&counterpoise::kernels_baseline);
    return tables;
}

PyObject* instruction_set(PyObject*, PyObject*) { return PyUnicode_FromString(table->name); }

PyObject* instruction_sets(PyObject*, PyObject*) {
    const std::vector<const Kernels*> tables = available_tables();
    PyObject* names = PyTuple_New(static_cast<Py_ssize_t>(tables.size()));
    for (std::size_t i = 0; names != nullptr && i < tables.size(); ++i)
        PyTuple_SET_ITEM(names, static_cast<Py_ssize_t>(i), PyUnicode_FromString(tables[i]->name));
    return names;
}

PyObject* set_batch_threads(PyObject*, PyObject* argument) {
    const long threads = PyLong_AsLong(argument);
    if (threads == -1 && PyErr_Occurred()) return nullptr;
    if (threads < 1 || threads > 256) {
        PyErr_SetString(PyExc_ValueError, "the number of threads must lie from 1 to 256");
        return nullptr;
    }
    batch_threads = static_cast<int>(threads);
    Py_RETURN_NONE;
}

PyMethodDef module_methods[] = {
    {"make_kernel", make_kernel, METH_O, "Return the kernel type, documented like the given reference kernel."},
    {"instruction_set", instruction_set, METH_NOARGS, "Return the name of the instruction set in use."},
    {"instruction_sets", instruction_sets, METH_NOARGS, "Return the names of those this machine can use, best first."},
    {"set_batch_threads", set_batch_threads, METH_O, "Set on how many threads large batches run (1 to 256)."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef module_definition = {PyModuleDef_HEAD_INIT, "_native", "Native kernels.", -1, module_methods,
                                 nullptr,               nullptr,   nullptr,           nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__native(void) {
    import_array();
    // COUNTERPOISE_ISA picks a lower instruction set than the best one, for tests and for comparing machines.
    const std::vector<const Kernels*> tables = available_tables();
    const char* wanted = std::getenv("COUNTERPOISE_ISA");
    table = tables.front();
    if (wanted != nullptr && *wanted != '\0') {
        table = nullptr;
        for (const Kernels* candidate : tables)
            if (std::strcmp(candidate->name, wanted) == 0) table = candidate;
        if (table == nullptr) {
            PyErr_Format(PyExc_ImportError, "COUNTERPOISE_ISA=%s is not available on this machine", wanted);
            return nullptr;
        }
    }
    return PyModule_Create(&module_definition);
}
