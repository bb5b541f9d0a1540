// The inner loops of the recursive estimator, natively: judging a hold (hold.py) and folding measured torques into the
// triangular factor (square_root.py). The Python files beside are the specification; both give the same numbers to
// rounding.
//
// Only counterpoise/sensing/kernel.py calls these functions. Arguments of a wrong type, size or range raise TypeError,
// ValueError, OverflowError or BufferError, whoever calls (tests/test_native_arguments.py).
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cmath>
#include <cstdint>
#include <cstring>

#include "../../dynamics/native/compiler.hpp"

namespace {

constexpr Py_ssize_t MOST_TAIL = 512;

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
        const char* format = view.format == nullptr ? "" : view.format;
        const bool fits = view.itemsize == 8 && format[0] != 0 && std::strchr(formats, format[0]) != nullptr && format[1] == 0;
        if (fits && (count < 0 || view.len / 8 == count)) return true;
        PyErr_Format(PyExc_ValueError, "%s has the wrong type or size", name);
        return false;
    }
    double* doubles() const { return static_cast<double*>(view.buf); }
    const std::int64_t* integers() const { return static_cast<const std::int64_t*>(view.buf); }
    Py_ssize_t count() const { return view.len / 8; }
};

// The numbers and whole numbers of successive arguments; false with an exception set at the first that is none.
bool take_numbers(PyObject* const* args, Py_ssize_t count, double* into) {
    for (Py_ssize_t k = 0; k < count; ++k)
        if ((into[k] = PyFloat_AsDouble(args[k])) == -1.0 && PyErr_Occurred() != nullptr) return false;
    return true;
}

bool take_whole(PyObject* const* args, Py_ssize_t count, Py_ssize_t* into) {
    for (Py_ssize_t k = 0; k < count; ++k)
        if ((into[k] = PyLong_AsSsize_t(args[k])) == -1 && PyErr_Occurred() != nullptr) return false;
    return true;
}

PyObject* wrong_count(const char* name, Py_ssize_t expected) {
    PyErr_Format(PyExc_TypeError, "%s takes %zd arguments", name, expected);
    return nullptr;
}

// judge(left, side, sigma) -> (largest |innovation|, least kept, log probability)
PyObject* judge(PyObject*, PyObject* const* args, Py_ssize_t given) {
    if (given != 3) return wrong_count("judge", 3);
    Numbers left, side, sigma;
    if (!side.take(args[1], "side", "d", -1, false)) return nullptr;
    const Py_ssize_t n = side.count();
    if (!left.take(args[0], "left", "d", 2 * n, false) || !sigma.take(args[2], "sigma", "d", n, false)) return nullptr;
    double largest = 0.0, least = 1.0, evidence = 0.0;
    for (Py_ssize_t i = 0; i < n; ++i) {
        const double innovation = left.doubles()[i], kept = left.doubles()[n + i];
        largest = std::fmax(largest, std::fabs(innovation));
        least = std::fmin(least, kept);
        const double each = std::log(kept / sigma.doubles()[i]) - 0.5 * innovation * innovation;
        evidence += std::fabs(side.doubles()[i]) * each;
    }
    return Py_BuildValue("ddd", largest, least, evidence);
}

// relearn(noise, start, left, rate, most, low, high)
PyObject* relearn(PyObject*, PyObject* const* args, Py_ssize_t given) {
    if (given != 7) return wrong_count("relearn", 7);
    Numbers noise, start, left;
    if (!noise.take(args[0], "noise", "d", -1, true)) return nullptr;
    const Py_ssize_t n = noise.count();
    if (!start.take(args[1], "start", "d", n, false) || !left.take(args[2], "left", "d", 2 * n, false)) return nullptr;
    double given_numbers[4];
    if (!take_numbers(args + 3, 4, given_numbers)) return nullptr;
    const double rate = given_numbers[0], most = given_numbers[1], low = given_numbers[2], high = given_numbers[3];
    for (Py_ssize_t i = 0; i < n; ++i) {
        const double innovation = left.doubles()[i], kept = left.doubles()[n + i], first = start.doubles()[i];
        const double ratio = std::fmin(innovation * innovation, most) - 1.0;
        const double changed = noise.doubles()[i] * std::sqrt(1.0 + rate * kept * kept * ratio);
        noise.doubles()[i] = std::fmin(std::fmax(changed, low * first), high * first);
    }
    Py_RETURN_NONE;
}

// Rotates `row` (`width` numbers) into the factor (p rows of as many) and returns the product of the cosines.
double rotate(double* factor, double* row, Py_ssize_t p, Py_ssize_t width) {
    double kept = 1.0;
    for (Py_ssize_t k = 0; k < p; ++k) {
        if (row[k] == 0.0) continue;
        double* line = factor + k * width;
        const double size = std::sqrt(line[k] * line[k] + row[k] * row[k]);
        const double c = line[k] / size, s = row[k] / size;
        kept *= c;
        for (Py_ssize_t j = k; j < width; ++j) {
            const double old = line[j];
            line[j] = c * old + s * row[j];
            row[j] = c * row[j] - s * old;
        }
        row[k] = 0.0;
    }
    return kept;
}

// Returns the rows of a factor of so many columns, more columns than rows; −1 and an exception if there is no such.
Py_ssize_t rows_of(const Numbers& factor, Py_ssize_t width) {
    if (width > 0 && factor.count() % width == 0 && factor.count() / width < width) return factor.count() / width;
    PyErr_SetString(PyExc_ValueError, "factor has the wrong type or size");
    return -1;
}

// fold(factor, row) -> (innovation, kept)
PyObject* fold(PyObject*, PyObject* const* args, Py_ssize_t given) {
    if (given != 2) return wrong_count("fold", 2);
    Numbers factor, row;
    if (!row.take(args[1], "row", "d", -1, true)) return nullptr;
    if (!factor.take(args[0], "factor", "d", -1, true)) return nullptr;
    const Py_ssize_t p = rows_of(factor, row.count());
    if (p < 0) return nullptr;
    const double kept = rotate(factor.doubles(), row.doubles(), p, row.count());
    return Py_BuildValue("dd", row.doubles()[p], kept);
}

// fold_torques(factor, row, regressor, columns, torque, side, sigma, first, last, offset_at, friction_at, left)
PyObject* fold_torques(PyObject*, PyObject* const* args, Py_ssize_t given) {
    if (given != 12) return wrong_count("fold_torques", 12);
    Numbers factor, row, regressor, columns, torque, side, sigma, left;
    if (!row.take(args[1], "row", "d", -1, true) || !torque.take(args[4], "torque", "d", -1, false)) return nullptr;
    const Py_ssize_t n = torque.count();
    if (!factor.take(args[0], "factor", "d", -1, true) || !regressor.take(args[2], "regressor", "d", -1, false) ||
        !columns.take(args[3], "columns", "lq", -1, false) || !side.take(args[5], "side", "d", n, false) ||
        !sigma.take(args[6], "sigma", "d", n, false) || !left.take(args[11], "left", "d", 2 * n, true))
        return nullptr;
    const Py_ssize_t row_size = row.count(), p = rows_of(factor, row_size);
    if (p < 0) return nullptr;
    Py_ssize_t whole[4];
    if (!take_whole(args + 7, 4, whole)) return nullptr;
    const Py_ssize_t first = whole[0], last = whole[1];
    const Py_ssize_t b = columns.count(), width = n > 0 ? regressor.count() / n : 0;
    bool fits = first >= 0 && first <= last && last <= n && b <= p && width * n == regressor.count();
    for (Py_ssize_t k = 2; k < 4; ++k) fits = fits && (whole[k] < 0 || whole[k] <= p - n);  // a sum could overflow
    fits = fits && (row_size == p + 1 || row_size == p + 1 + n);
    for (Py_ssize_t j = 0; fits && j < b; ++j) fits = columns.integers()[j] >= 0 && columns.integers()[j] < width;
    if (!fits) {
        PyErr_SetString(PyExc_ValueError, "joint or column out of range");
        return nullptr;
    }
    double* numbers = row.doubles();
    for (Py_ssize_t i = first; i < last; ++i) {
        const double share = 1.0 / sigma.doubles()[i], measured = torque.doubles()[i];
        const double* line = regressor.doubles() + i * width;
        for (Py_ssize_t j = 0; j < row_size; ++j) numbers[j] = 0.0;
        for (Py_ssize_t j = 0; j < b; ++j) numbers[j] = share * line[columns.integers()[j]];
        if (whole[2] >= 0) numbers[whole[2] + i] = share;
        if (whole[3] >= 0) numbers[whole[3] + i] = share * side.doubles()[i];
        numbers[p] = share * measured;
        if (row_size > p + 1) numbers[p + 1 + i] = share * measured;
        left.doubles()[n + i] = rotate(factor.doubles(), numbers, p, row_size);
        left.doubles()[i] = numbers[p];
    }
    Py_RETURN_NONE;
}

// solve(factor, x): back substitution; an unknown of which nothing is known becomes 0.
PyObject* solve(PyObject*, PyObject* const* args, Py_ssize_t given) {
    if (given != 2) return wrong_count("solve", 2);
    Numbers factor, x;
    if (!x.take(args[1], "x", "d", -1, true)) return nullptr;
    const Py_ssize_t p = x.count();
    if (!factor.take(args[0], "factor", "d", -1, false)) return nullptr;
    const Py_ssize_t width = p > 0 ? factor.count() / p : 0;
    if (width <= p || width * p != factor.count()) {
        PyErr_SetString(PyExc_ValueError, "factor has the wrong type or size");
        return nullptr;
    }
    double* value = x.doubles();
    for (Py_ssize_t k = p - 1; k >= 0; --k) {
        const double* line = factor.doubles() + k * width;
        double rest = line[p];
        for (Py_ssize_t j = k + 1; j < p; ++j) rest -= line[j] * value[j];
        value[k] = line[k] != 0.0 ? rest / line[k] : 0.0;
    }
    Py_RETURN_NONE;
}

// tail_variances(factor, out): variances of the last unknowns, the squared lengths of the rows of R⁻¹'s last block.
PyObject* tail_variances(PyObject*, PyObject* const* args, Py_ssize_t given) {
    if (given != 2) return wrong_count("tail_variances", 2);
    Numbers factor, out;
    if (!factor.take(args[0], "factor", "d", -1, false) || !out.take(args[1], "out", "d", -1, true)) return nullptr;
    if (factor.view.ndim != 2) {
        PyErr_SetString(PyExc_ValueError, "factor must have two dimensions");
        return nullptr;
    }
    const Py_ssize_t p = factor.view.shape[0], width = factor.view.shape[1], n = out.count(), at = p - n;
    if (width <= p || at < 0 || n > MOST_TAIL) {
        PyErr_SetString(PyExc_ValueError, "factor or out has the wrong size");
        return nullptr;
    }
    // Row i of the inverse: solve w R = e_i from the left, entry by entry.
    double inverse[MOST_TAIL];
    for (Py_ssize_t i = 0; i < n; ++i) {
        double sum = 0.0;
        for (Py_ssize_t j = i; j < n; ++j) {
            double rest = j == i ? 1.0 : 0.0;
            for (Py_ssize_t k = i; k < j; ++k) rest -= inverse[k] * factor.doubles()[(at + k) * width + at + j];
            inverse[j] = rest / factor.doubles()[(at + j) * width + at + j];
            sum += inverse[j] * inverse[j];
        }
        out.doubles()[i] = sum;
    }
    Py_RETURN_NONE;
}

// head(values, way, columns, x, other, share)
PyObject* head(PyObject*, PyObject* const* args, Py_ssize_t given) {
    if (given != 6) return wrong_count("head", 6);
    Numbers values, way, columns, x, other;
    if (!values.take(args[0], "values", "d", -1, false)) return nullptr;
    const Py_ssize_t m = values.count();
    if (!way.take(args[1], "way", "d", m, true) || !columns.take(args[2], "columns", "lq", -1, false) ||
        !x.take(args[3], "x", "d", -1, false) || !other.take(args[4], "other", "d", -1, false))
        return nullptr;
    double share;
    if (!take_numbers(args + 5, 1, &share)) return nullptr;
    const Py_ssize_t b = columns.count();
    bool fits = b <= x.count() && b <= other.count();
    for (Py_ssize_t j = 0; fits && j < b; ++j) fits = columns.integers()[j] >= 0 && columns.integers()[j] < m;
    if (!fits) {
        PyErr_SetString(PyExc_ValueError, "column out of range");
        return nullptr;
    }
    for (Py_ssize_t j = 0; j < m; ++j) way.doubles()[j] = -values.doubles()[j];
    for (Py_ssize_t j = 0; j < b; ++j)
        way.doubles()[columns.integers()[j]] += (1.0 - share) * x.doubles()[j] + share * other.doubles()[j];
    Py_RETURN_NONE;
}

PyCFunction fast(PyObject* (*function)(PyObject*, PyObject* const*, Py_ssize_t)) {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef methods[] = {{"fold", fast(fold), METH_FASTCALL, "Fold one row into the factor; see square_root.py."},
                         {"judge", fast(judge), METH_FASTCALL, "Say how a hold fits in; see hold.py."},
                         {"relearn", fast(relearn), METH_FASTCALL, "Learn the noise of holds; see hold.py."},
                         {"head", fast(head), METH_FASTCALL, "Head for the mean of two estimates; see square_root.py."},
                         {"fold_torques", fast(fold_torques), METH_FASTCALL, "Fold measured torques; see square_root.py."},
                         {"tail_variances", fast(tail_variances), METH_FASTCALL, "Variances of the last unknowns."},
                         {"solve", fast(solve), METH_FASTCALL, "Solve the factor for the unknowns; see square_root.py."},
                         {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_native", "Inner loops of the recursive estimator.", -1, methods,
                          nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__native(void) {
    PyObject* module = PyModule_Create(&definition);
    if (module != nullptr && PyModule_AddStringConstant(module, "COMPILER", COUNTERPOISE_COMPILER) < 0) Py_CLEAR(module);
    return module;
}
