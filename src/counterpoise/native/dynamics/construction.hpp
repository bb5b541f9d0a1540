// From a compiled tree in Python to the native model, the instruction sets, and the kernel object's birth and death.
#pragma once

#include "state.hpp"

namespace counterpoise {
namespace {

PyObject* attribute_array(PyObject* tree, const char* name, int type) {
    PyObject* value = PyObject_GetAttrString(tree, name);
    if (value == nullptr) return nullptr;
    PyObject* array = PyArray_FROMANY(value, type, 0, 0, NPY_ARRAY_CARRAY_RO);
    Py_DECREF(value);
    return array;
}

// Arrays of the tree, released together.
struct Arrays {
    std::vector<PyObject*> arrays;
    bool failed = false;
    const double* doubles(PyObject* tree, const char* name, npy_intp count) {
        return static_cast<const double*>(data(tree, name, NPY_DOUBLE, count));
    }
    const int* ints(PyObject* tree, const char* name, npy_intp count) {
        return static_cast<const int*>(data(tree, name, NPY_INT, count));
    }
    const void* data(PyObject* tree, const char* name, int type, npy_intp count) {
        if (failed) return nullptr;
        PyObject* array = attribute_array(tree, name, type);
        if (array == nullptr) {
            failed = true;
            return nullptr;
        }
        arrays.push_back(array);
        if (PyArray_SIZE(reinterpret_cast<PyArrayObject*>(array)) != count) {
            PyErr_Format(input_error, "the tree's %s must hold %zd numbers", name, static_cast<Py_ssize_t>(count));
            failed = true;
        }
        return PyArray_DATA(reinterpret_cast<PyArrayObject*>(array));
    }
    ~Arrays() {
        for (PyObject* array : arrays) Py_DECREF(array);
    }
};

#if defined(COUNTERPOISE_AVX)
bool cpu_has(const char* name) {
#if defined(__GNUC__) || defined(__clang__)
    __builtin_cpu_init();
#if !defined(COUNTERPOISE_TEST_BUILD)  // there the eight lanes are compiled for AVX2
    if (std::strcmp(name, "avx512") == 0)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("fma");
#endif
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    (void)name;
    return false;
#endif
}
#endif

// The tables that this machine can use, best first.
std::vector<const Kernels*> available_tables() {
    std::vector<const Kernels*> tables;
#if defined(COUNTERPOISE_AVX)
    if (cpu_has("avx512")) tables.push_back(&kernels_avx512);
    if (cpu_has("avx2")) tables.push_back(&kernels_avx2);
#endif
    tables.push_back(&kernels_baseline);
    return tables;
}

// The table of an instruction set. Fault: Python error, null.
const Kernels* find_table(const char* name) {
    for (const Kernels* table : available_tables())
        if (std::strcmp(table->name, name) == 0) return table;
    PyErr_Format(PyExc_ValueError, "the instruction set %s is not available on this machine", name);
    return nullptr;
}

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
    const npy_intp b = bodies;
    const int* parent = arrays.ints(tree, "parent", b);
    const int* kind = arrays.ints(tree, "kind", b);
    const int* q_index = arrays.ints(tree, "q_index", b);
    const double* q_gain = arrays.doubles(tree, "q_gain", b);
    const double* q_offset = arrays.doubles(tree, "q_offset", b);
    const double* rotation = arrays.doubles(tree, "rotation", 9 * b);
    const double* origin = arrays.doubles(tree, "origin", 3 * b);
    const double* joint_rotation = arrays.doubles(tree, "joint_rotation", 9 * b);
    const double* mass = arrays.doubles(tree, "mass", b);
    const double* first_moment = arrays.doubles(tree, "first_moment", 3 * b);
    const double* inertia = arrays.doubles(tree, "inertia", 9 * b);
    const double* base_mass = arrays.doubles(tree, "base_mass", 1);
    const double* base_first_moment = arrays.doubles(tree, "base_first_moment", 3);
    const double* gravity = arrays.doubles(tree, "gravity_base", 3);
    const int* link_body = arrays.ints(tree, "link_body", links);
    const double* link_rotation = arrays.doubles(tree, "link_rotation", 9 * links);
    const double* link_origin = arrays.doubles(tree, "link_origin", 3 * links);
    if (arrays.failed) return false;
    bool ordered = true;
    for (int i = 0; i < bodies; ++i)
        ordered = ordered && parent[i] >= -1 && parent[i] < i && q_index[i] >= 0 && q_index[i] < n &&
                  (kind[i] == REVOLUTE || kind[i] == PRISMATIC);
    for (Py_ssize_t l = 0; l < links; ++l) ordered = ordered && link_body[l] >= -1 && link_body[l] < bodies;
    if (!ordered) {
        PyErr_SetString(input_error, "the tree's parent, q_index, kind or link_body is out of range");
        return false;
    }

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
    model.chain = true;
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
        model.rotary = model.rotary && body.kind == REVOLUTE;
        model.chain = model.chain && body.parent == i - 1;
        model.simple = model.simple && body.kind == REVOLUTE && body.parent == i - 1;
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
    // The name of an instruction set may stand beside it: for tests and for the self-check.
    PyObject* tree;
    const char* set = nullptr;
    if (!PyArg_ParseTuple(args, "O|s", &tree, &set)) return nullptr;
    const Kernels* table = set == nullptr ? chosen_table : find_table(set);
    if (table == nullptr) return nullptr;
    KernelObject* self = reinterpret_cast<KernelObject*>(type->tp_alloc(type, 0));
    if (self == nullptr) return nullptr;
    self->tree = Py_NewRef(tree);
    PyObject *body_names = nullptr, *refusal = nullptr;
    // One after the other: what is asked for after an error hides it.
    bool good = (self->joint_names = PyObject_GetAttrString(tree, "joint_names")) != nullptr &&
                (self->link_names = PyObject_GetAttrString(tree, "link_names")) != nullptr &&
                (self->tips = PyObject_GetAttrString(tree, "tips")) != nullptr &&
                (self->link_indices = PyDict_New()) != nullptr &&
                (body_names = PyObject_GetAttrString(tree, "body_names")) != nullptr &&
                (refusal = PyObject_GetAttrString(tree, "refusal")) != nullptr;
    const int refused = good ? PyObject_IsTrue(refusal) : -1;
    good = good && refused >= 0;
    if (good && !(PyTuple_Check(self->joint_names) && PyTuple_Check(self->link_names) && PyTuple_Check(self->tips) &&
                  PyTuple_Check(body_names))) {
        PyErr_SetString(PyExc_TypeError, "the tree's names must be tuples");
        good = false;
    }
    if (good) {
        const Py_ssize_t links = PyTuple_Size(self->link_names);
        const int bodies = static_cast<int>(PyTuple_Size(body_names));
        try {
            self->compiled = new Compiled;
            self->compiled->table = table;
            good = compile(tree, static_cast<int>(PyTuple_Size(self->joint_names)), bodies, links, self->compiled);
            if (good) self->compiled->work.reset(new Workspace(table->work_doubles(bodies, self->compiled->model.depth)));
            self->compiled->refused = refused == 1;
        } catch (const std::exception&) {
            good = false;
            PyErr_NoMemory();
        }
        for (Py_ssize_t l = 0; good && l < links; ++l) {
            PyObject* index = PyLong_FromSsize_t(l);
            good = index != nullptr && PyDict_SetItem(self->link_indices, PyTuple_GET_ITEM(self->link_names, l), index) == 0;
            Py_XDECREF(index);
        }
        if (good && PyTuple_Size(self->tips) == 1) {
            PyObject* index = PyDict_GetItem(self->link_indices, PyTuple_GET_ITEM(self->tips, 0));
            self->compiled->only_tip = index == nullptr ? -1 : static_cast<int>(PyLong_AsLong(index));
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
    Py_XDECREF(self->tips);
    Py_XDECREF(self->latest_at);
    type->tp_free(object);
    Py_DECREF(type);
}

PyObject* kernel_tree(PyObject* object, void*) { return Py_NewRef(reinterpret_cast<KernelObject*>(object)->tree); }

}  // namespace
}  // namespace counterpoise
