// The two inner loops of the recursive estimator, natively: watching a sample (gate.py) and folding one measured torque
// into the triangular factor (square_root.py). The Python files beside are the specification; both give the same
// numbers to rounding.
//
// Only counterpoise/estimation/kernel.py calls these functions. Buffers of a wrong type or size raise ValueError.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cmath>
#include <cstdint>
#include <cstring>

namespace {

constexpr Py_ssize_t MEMORY_ROWS = 11;
enum Row { ANCHOR, SUM_Q, SUM_TAU, SUM_SQUARE, DIRECTION, FOLLOWER, LOWER, UPPER, EFFORT, SLIDING, SLID_AT };
enum Seen { INVALID = 0, MOVED = 1, LOADED = 2, STILL = 3 };
constexpr double MOST = 1e9;
constexpr double SLID = 0.1;  // of `reversal`: how far a joint must slide for its torque to be one of sliding

// A C-contiguous buffer of 8-byte items, released when it goes out of scope.
struct Numbers {
    Py_buffer view{};
    bool open = false;
    ~Numbers() {
        if (open) PyBuffer_Release(&view);
    }
    bool take(PyObject* owner, const char* name, const char* formats, Py_ssize_t count, bool writable) {
        if (PyObject_GetBuffer(owner, &view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0)) != 0)
            return false;
        open = true;
        // numpy calls its 64-bit integers "l" or "q", as the platform does.
        const bool fits = view.itemsize == 8 && std::strchr(formats, view.format[0]) != nullptr && view.format[1] == 0;
        if (fits && (count < 0 || view.len == count * 8)) return true;
        PyErr_Format(PyExc_ValueError, "%s has the wrong type or size", name);
        return false;
    }
    double* doubles() const { return static_cast<double*>(view.buf); }
    const std::int64_t* integers() const { return static_cast<const std::int64_t*>(view.buf); }
    Py_ssize_t count() const { return view.len / 8; }
};

PyObject* wrong_count(const char* name, Py_ssize_t expected) {
    PyErr_Format(PyExc_TypeError, "%s takes %zd arguments", name, expected);
    return nullptr;
}

// watch(memory, q, dq, tau, thresholds, collect) -> Seen; thresholds: band, speed, effort share, stop margin, reversal.
PyObject* watch(PyObject*, PyObject* const* args, Py_ssize_t given) {
    if (given != 6) return wrong_count("watch", 6);
    Numbers memory, q, dq, tau, thresholds;
    if (!memory.take(args[0], "memory", "d", -1, true)) return nullptr;
    const Py_ssize_t n = memory.count() / MEMORY_ROWS;
    if (!q.take(args[1], "q", "d", n, false) || !dq.take(args[2], "dq", "d", n, false) ||
        !tau.take(args[3], "tau", "d", n, false) || !thresholds.take(args[4], "thresholds", "d", 5, false))
        return nullptr;
    const int collect = PyObject_IsTrue(args[5]);
    if (collect < 0) return nullptr;
    const double *position = q.doubles(), *speed = dq.doubles(), *torque = tau.doubles(), *limits = thresholds.doubles();
    for (Py_ssize_t i = 0; i < n; ++i)
        if (!(std::fabs(position[i]) <= MOST && std::fabs(speed[i]) <= MOST && std::fabs(torque[i]) <= MOST))
            return PyLong_FromLong(INVALID);
    double* row[MEMORY_ROWS];
    for (Py_ssize_t r = 0; r < MEMORY_ROWS; ++r) row[r] = memory.doubles() + r * n;
    const double band = limits[0], fast = limits[1], share = limits[2], margin = limits[3], reversal = limits[4];
    bool moved = false, loaded = false;
    for (Py_ssize_t i = 0; i < n; ++i) {
        double& follower = row[FOLLOWER][i];
        if (std::isnan(follower)) follower = position[i];
        if (position[i] - reversal > follower) {
            follower = position[i] - reversal;
            row[DIRECTION][i] = 1.0;
        } else if (position[i] + reversal < follower) {
            follower = position[i] + reversal;
            row[DIRECTION][i] = -1.0;
        }
        if (!(std::fabs(follower - row[SLID_AT][i]) <= SLID * reversal)) {
            row[SLID_AT][i] = follower;
            row[SLIDING][i] = torque[i];
        }
        moved |= !(std::fabs(position[i] - row[ANCHOR][i]) <= band) || std::fabs(speed[i]) > fast;
        const double low = row[LOWER][i], high = row[UPPER][i];
        const double room = std::fmin(position[i] - low, high - position[i]);
        loaded |= std::fabs(torque[i]) >= share * row[EFFORT][i] || (room < margin && high - low > 4.0 * margin);
    }
    if (moved) {
        for (Py_ssize_t i = 0; i < n; ++i) {
            row[ANCHOR][i] = position[i];
            row[SUM_Q][i] = row[SUM_TAU][i] = row[SUM_SQUARE][i] = 0.0;
        }
        return PyLong_FromLong(MOVED);
    }
    if (loaded) return PyLong_FromLong(LOADED);
    if (collect)
        for (Py_ssize_t i = 0; i < n; ++i) {
            row[SUM_Q][i] += position[i] - row[ANCHOR][i];
            row[SUM_TAU][i] += torque[i];
            row[SUM_SQUARE][i] += torque[i] * torque[i];
        }
    return PyLong_FromLong(STILL);
}

// Rotates `row` (p + 1 numbers) into the factor (p rows of p + 1) and returns the product of the cosines.
double rotate(double* factor, double* row, Py_ssize_t p) {
    double kept = 1.0;
    for (Py_ssize_t k = 0; k < p; ++k) {
        if (row[k] == 0.0) continue;
        double* line = factor + k * (p + 1);
        const double size = std::sqrt(line[k] * line[k] + row[k] * row[k]);
        const double c = line[k] / size, s = row[k] / size;
        kept *= c;
        for (Py_ssize_t j = k; j <= p; ++j) {
            const double old = line[j];
            line[j] = c * old + s * row[j];
            row[j] = c * row[j] - s * old;
        }
        row[k] = 0.0;
    }
    return kept;
}

// fold(factor, row) -> (innovation, kept)
PyObject* fold(PyObject*, PyObject* const* args, Py_ssize_t given) {
    if (given != 2) return wrong_count("fold", 2);
    Numbers factor, row;
    if (!row.take(args[1], "row", "d", -1, true)) return nullptr;
    const Py_ssize_t p = row.count() - 1;
    if (!factor.take(args[0], "factor", "d", p * (p + 1), true)) return nullptr;
    const double kept = rotate(factor.doubles(), row.doubles(), p);
    return Py_BuildValue("dd", row.doubles()[p], kept);
}

// fold_torque(factor, row, regressor, columns, joint, joints, side, torque, sigma, offset_at, friction_at)
PyObject* fold_torque(PyObject*, PyObject* const* args, Py_ssize_t given) {
    if (given != 11) return wrong_count("fold_torque", 11);
    Numbers factor, row, regressor, columns;
    if (!row.take(args[1], "row", "d", -1, true)) return nullptr;
    const Py_ssize_t p = row.count() - 1;
    if (!factor.take(args[0], "factor", "d", p * (p + 1), true) || !regressor.take(args[2], "regressor", "d", -1, false) ||
        !columns.take(args[3], "columns", "lq", -1, false))
        return nullptr;
    const Py_ssize_t joint = PyLong_AsSsize_t(args[4]), joints = PyLong_AsSsize_t(args[5]);
    const double side = PyFloat_AsDouble(args[6]), torque = PyFloat_AsDouble(args[7]), sigma = PyFloat_AsDouble(args[8]);
    const Py_ssize_t offset_at = PyLong_AsSsize_t(args[9]), friction_at = PyLong_AsSsize_t(args[10]);
    if (PyErr_Occurred()) return nullptr;
    const Py_ssize_t b = columns.count(), width = joints > 0 ? regressor.count() / joints : 0;
    if (joint < 0 || joint >= joints || b > p || offset_at + joint >= p || friction_at + joint >= p) {
        PyErr_SetString(PyExc_ValueError, "joint or column out of range");
        return nullptr;
    }
    double* numbers = row.doubles();
    const double* line = regressor.doubles() + joint * width;
    for (Py_ssize_t j = 0; j <= p; ++j) numbers[j] = 0.0;
    for (Py_ssize_t j = 0; j < b; ++j) {
        const std::int64_t column = columns.integers()[j];
        if (column < 0 || column >= width) {
            PyErr_SetString(PyExc_ValueError, "column out of range");
            return nullptr;
        }
        numbers[j] = line[column] / sigma;
    }
    if (offset_at >= 0) numbers[offset_at + joint] = 1.0 / sigma;
    if (friction_at >= 0) numbers[friction_at + joint] = side / sigma;
    numbers[p] = torque / sigma;
    const double kept = rotate(factor.doubles(), numbers, p);
    return Py_BuildValue("dd", numbers[p], kept);
}

// solve(factor, x): back substitution; an unknown of which nothing is known becomes 0.
PyObject* solve(PyObject*, PyObject* const* args, Py_ssize_t given) {
    if (given != 2) return wrong_count("solve", 2);
    Numbers factor, x;
    if (!x.take(args[1], "x", "d", -1, true)) return nullptr;
    const Py_ssize_t p = x.count();
    if (!factor.take(args[0], "factor", "d", p * (p + 1), false)) return nullptr;
    double* value = x.doubles();
    for (Py_ssize_t k = p - 1; k >= 0; --k) {
        const double* line = factor.doubles() + k * (p + 1);
        double rest = line[p];
        for (Py_ssize_t j = k + 1; j < p; ++j) rest -= line[j] * value[j];
        value[k] = line[k] != 0.0 ? rest / line[k] : 0.0;
    }
    Py_RETURN_NONE;
}

PyCFunction fast(PyObject* (*function)(PyObject*, PyObject* const*, Py_ssize_t)) {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef methods[] = {{"watch", fast(watch), METH_FASTCALL, "Look at one sample; see gate.py."},
                         {"fold", fast(fold), METH_FASTCALL, "Fold one row into the factor; see square_root.py."},
                         {"fold_torque", fast(fold_torque), METH_FASTCALL, "Fold one measured torque; see square_root.py."},
                         {"solve", fast(solve), METH_FASTCALL, "Solve the factor for the unknowns; see square_root.py."},
                         {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_native", "Inner loops of the recursive estimator.", -1, methods,
                          nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__native(void) { return PyModule_Create(&definition); }
