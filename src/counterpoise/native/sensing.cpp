// The inner loops of the recursive estimator: judging a hold (hold.py) and folding measured torques into the triangular
// factor (square_root.py). These Python files of counterpoise/sensing are the specification; both give the same numbers
// to rounding. Only counterpoise/sensing/kernel.py calls these functions.
#include <cmath>

#include "arguments.hpp"

namespace counterpoise {
namespace {

constexpr Py_ssize_t MOST_TAIL = 512;

using Input = Buffer<const double>;
using InOut = Buffer<double>;
using Columns = Buffer<const std::int64_t>;

// judge(left, side, sigma) -> (largest |innovation|, least kept, log probability)
PyObject* judge(PyObject*, PyObject* const* args, Py_ssize_t given) {
    if (!has_arguments("judge", given, 3)) return nullptr;
    Input left, side, sigma;
    if (!side.take(args[1], "side")) return nullptr;
    const Py_ssize_t n = side.count();
    if (!left.take(args[0], "left", 2 * n) || !sigma.take(args[2], "sigma", n)) return nullptr;
    double largest = 0.0, least = 1.0, evidence = 0.0;
    for (Py_ssize_t i = 0; i < n; ++i) {
        const double innovation = left[i], kept = left[n + i];
        largest = std::fmax(largest, std::fabs(innovation));
        least = std::fmin(least, kept);
        const double each = std::log(kept / sigma[i]) - 0.5 * innovation * innovation;
        evidence += std::fabs(side[i]) * each;
    }
    return Py_BuildValue("ddd", largest, least, evidence);
}

// relearn(noise, start, left, rate, most, low, high)
PyObject* relearn(PyObject*, PyObject* const* args, Py_ssize_t given) {
    if (!has_arguments("relearn", given, 7)) return nullptr;
    InOut noise;
    Input start, left;
    if (!noise.take(args[0], "noise")) return nullptr;
    const Py_ssize_t n = noise.count();
    if (!start.take(args[1], "start", n) || !left.take(args[2], "left", 2 * n)) return nullptr;
    double rate, most, low, high;
    if (!take_all(args + 3, rate, most, low, high)) return nullptr;
    for (Py_ssize_t i = 0; i < n; ++i) {
        const double innovation = left[i], kept = left[n + i], first = start[i];
        const double ratio = std::fmin(innovation * innovation, most) - 1.0;
        const double changed = noise[i] * std::sqrt(1.0 + rate * kept * kept * ratio);
        noise[i] = std::fmin(std::fmax(changed, low * first), high * first);
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
Py_ssize_t rows_of(Py_ssize_t factor_count, Py_ssize_t width) {
    if (width > 0 && factor_count % width == 0 && factor_count / width < width) return factor_count / width;
    refuse("factor has the wrong type or size");
    return -1;
}

// fold(factor, row) -> (innovation, kept)
PyObject* fold(PyObject*, PyObject* const* args, Py_ssize_t given) {
    if (!has_arguments("fold", given, 2)) return nullptr;
    InOut factor, row;
    if (!row.take(args[1], "row") || !factor.take(args[0], "factor")) return nullptr;
    const Py_ssize_t p = rows_of(factor.count(), row.count());
    if (p < 0) return nullptr;
    const double kept = rotate(factor.data(), row.data(), p, row.count());
    return Py_BuildValue("dd", row[p], kept);
}

// fold_torques(factor, row, regressor, columns, torque, side, sigma, first, last, offset_at, friction_at, left)
PyObject* fold_torques(PyObject*, PyObject* const* args, Py_ssize_t given) {
    if (!has_arguments("fold_torques", given, 12)) return nullptr;
    InOut factor, row, left;
    Input regressor, torque, side, sigma;
    Columns columns;
    if (!row.take(args[1], "row") || !torque.take(args[4], "torque")) return nullptr;
    const Py_ssize_t n = torque.count();
    if (!factor.take(args[0], "factor") || !regressor.take(args[2], "regressor") || !columns.take(args[3], "columns") ||
        !side.take(args[5], "side", n) || !sigma.take(args[6], "sigma", n) || !left.take(args[11], "left", 2 * n))
        return nullptr;
    const Py_ssize_t row_size = row.count(), p = rows_of(factor.count(), row_size);
    if (p < 0) return nullptr;
    Py_ssize_t first, last, offset_at, friction_at;
    if (!take_all(args + 7, first, last, offset_at, friction_at)) return nullptr;
    const Py_ssize_t b = columns.count(), width = n > 0 ? regressor.count() / n : 0;
    bool fits = first >= 0 && first <= last && last <= n && b <= p && width * n == regressor.count();
    for (Py_ssize_t at : {offset_at, friction_at}) fits = fits && (at < 0 || at <= p - n);  // a sum could overflow
    fits = fits && (row_size == p + 1 || row_size == p + 1 + n);
    for (Py_ssize_t j = 0; fits && j < b; ++j) fits = columns[j] >= 0 && columns[j] < width;
    if (!fits)
        return refuse("joint or column out of range");
    double* numbers = row.data();
    for (Py_ssize_t i = first; i < last; ++i) {
        const double share = 1.0 / sigma[i], measured = torque[i];
        const double* line = regressor.data() + i * width;
        for (Py_ssize_t j = 0; j < row_size; ++j) numbers[j] = 0.0;
        for (Py_ssize_t j = 0; j < b; ++j) numbers[j] = share * line[columns[j]];
        if (offset_at >= 0) numbers[offset_at + i] = share;
        if (friction_at >= 0) numbers[friction_at + i] = share * side[i];
        numbers[p] = share * measured;
        if (row_size > p + 1) numbers[p + 1 + i] = share * measured;
        left[n + i] = rotate(factor.data(), numbers, p, row_size);
        left[i] = numbers[p];
    }
    Py_RETURN_NONE;
}

// solve(factor, x): back substitution; an unknown of which nothing is known becomes 0.
PyObject* solve(PyObject*, PyObject* const* args, Py_ssize_t given) {
    if (!has_arguments("solve", given, 2)) return nullptr;
    InOut x;
    Input factor;
    if (!x.take(args[1], "x")) return nullptr;
    const Py_ssize_t p = x.count();
    if (!factor.take(args[0], "factor")) return nullptr;
    const Py_ssize_t width = p > 0 ? factor.count() / p : 0;
    if (width <= p || width * p != factor.count())
        return refuse("factor has the wrong type or size");
    double* value = x.data();
    for (Py_ssize_t k = p - 1; k >= 0; --k) {
        const double* line = factor.data() + k * width;
        double rest = line[p];
        for (Py_ssize_t j = k + 1; j < p; ++j) rest -= line[j] * value[j];
        value[k] = line[k] != 0.0 ? rest / line[k] : 0.0;
    }
    Py_RETURN_NONE;
}

// tail_variances(factor, out): variances of the last unknowns, the squared lengths of the rows of R⁻¹'s last block.
PyObject* tail_variances(PyObject*, PyObject* const* args, Py_ssize_t given) {
    if (!has_arguments("tail_variances", given, 2)) return nullptr;
    InOut out;
    Input factor;
    if (!factor.take(args[0], "factor") || !out.take(args[1], "out")) return nullptr;
    if (factor.view().ndim != 2)
        return refuse("factor must have two dimensions");
    const Py_ssize_t p = factor.view().shape[0], width = factor.view().shape[1], n = out.count(), at = p - n;
    if (width <= p || at < 0 || n > MOST_TAIL)
        return refuse("factor or out has the wrong size");
    // Row i of the inverse: solve w R = e_i from the left, entry by entry.
    double inverse[MOST_TAIL];
    for (Py_ssize_t i = 0; i < n; ++i) {
        double sum = 0.0;
        for (Py_ssize_t j = i; j < n; ++j) {
            double rest = j == i ? 1.0 : 0.0;
            for (Py_ssize_t k = i; k < j; ++k) rest -= inverse[k] * factor[(at + k) * width + at + j];
            inverse[j] = rest / factor[(at + j) * width + at + j];
            sum += inverse[j] * inverse[j];
        }
        out[i] = sum;
    }
    Py_RETURN_NONE;
}

// head(values, way, columns, x, other, share)
PyObject* head(PyObject*, PyObject* const* args, Py_ssize_t given) {
    if (!has_arguments("head", given, 6)) return nullptr;
    InOut way;
    Input values, x, other;
    Columns columns;
    if (!values.take(args[0], "values")) return nullptr;
    const Py_ssize_t m = values.count();
    double share;
    if (!way.take(args[1], "way", m) || !columns.take(args[2], "columns") || !x.take(args[3], "x") ||
        !other.take(args[4], "other") || !take(args[5], share))
        return nullptr;
    const Py_ssize_t b = columns.count();
    bool fits = b <= x.count() && b <= other.count();
    for (Py_ssize_t j = 0; fits && j < b; ++j) fits = columns[j] >= 0 && columns[j] < m;
    if (!fits)
        return refuse("column out of range");
    for (Py_ssize_t j = 0; j < m; ++j) way[j] = -values[j];
    for (Py_ssize_t j = 0; j < b; ++j)
        way[columns[j]] += (1.0 - share) * x[j] + share * other[j];
    Py_RETURN_NONE;
}

PyMethodDef methods[] = {{"fold", fast(fold), METH_FASTCALL, "Fold one row into the factor; see square_root.py."},
                         {"judge", fast(judge), METH_FASTCALL, "Say how a hold fits in; see hold.py."},
                         {"relearn", fast(relearn), METH_FASTCALL, "Learn the noise of holds; see hold.py."},
                         {"head", fast(head), METH_FASTCALL, "Head for the mean of two estimates; see square_root.py."},
                         {"fold_torques", fast(fold_torques), METH_FASTCALL, "Fold measured torques; see square_root.py."},
                         {"tail_variances", fast(tail_variances), METH_FASTCALL, "Variances of the last unknowns."},
                         {"solve", fast(solve), METH_FASTCALL, "Solve the factor for the unknowns; see square_root.py."},
                         {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool add_sensing(PyObject* part) { return PyModule_AddFunctions(part, methods) == 0; }

}  // namespace counterpoise
