// Rows of numbers from text, bit by bit what Python's float() gives. The specification is recording/csv_numbers.py.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include "../arguments.hpp"

namespace counterpoise {

// Why parsing ended, as in recording/csv_numbers.py.
#define STATUSES(X) X(DONE, 0) X(FULL, 1) X(FIELD_COUNT, 2) X(NO_NUMBER, 3) X(OPEN_QUOTE, 4)
enum Status : int { STATUSES(COUNTERPOISE_ENUMERATOR) };

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

// Exact powers of ten: every double operation on two exact operands rounds once, as the true result would.
inline double power_of_ten(int exponent) {
    static const double table[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    return table[exponent];
}

// The value of eight digits at once, if all of p[0..8) are digits; the first is worth most.
inline bool eight_digits(const char* p, std::uint64_t* value) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    std::uint64_t v;
    std::memcpy(&v, p, 8);
    // A digit is 0x30..0x39: its upper half is 3, and stays 3 when 6 is added.
    const std::uint64_t upper = 0xf0f0f0f0f0f0f0f0u;
    if ((v & upper) != 0x3030303030303030u || ((v + 0x0606060606060606u) & upper) != 0x3030303030303030u) return false;
    v &= 0x0f0f0f0f0f0f0f0fu;
    v = (10 * v + (v >> 8)) & 0x00ff00ff00ff00ffu;        // four numbers of two digits
    v = (100 * v + (v >> 16)) & 0x0000ffff0000ffffu;      // two of four
    *value = (10000 * v + (v >> 32)) & 0x00000000ffffffffu;
    return true;
#else
    (void)p, (void)value;
    return false;
#endif
}

// Appends the digits from p on to the mantissa and returns the first character that is none.
inline const char* take_digits(const char* p, const char* end, std::uint64_t* mantissa) {
    std::uint64_t m = *mantissa, eight;
    while (end - p >= 8 && eight_digits(p, &eight)) {
        m = 100000000 * m + eight;
        p += 8;
    }
    while (p < end && is_digit(*p)) m = 10 * m + static_cast<std::uint64_t>(*p++ - '0');
    *mantissa = m;
    return p;
}

#ifdef __SIZEOF_INT128__
using Wide = unsigned __int128;
constexpr int MOST_FIVES = 27;  // 5^27 < 2^63

struct FivePower {
    std::uint64_t value;    // 5^k
    std::uint64_t normal;   // shifted up until its top bit is 1
    std::uint64_t inverse;  // (2^128 - 1) / normal - 2^64
    int shift;
};

inline const FivePower& five_power(int exponent) {
    static const auto table = [] {
        struct {
            FivePower at[MOST_FIVES + 1];
        } powers{};
        std::uint64_t value = 1;
        for (FivePower& power : powers.at) {
            const int shift = __builtin_clzll(value);
            const std::uint64_t normal = value << shift;
            power = {value, normal, static_cast<std::uint64_t>(~Wide{0} / normal), shift};
            value *= 5;
        }
        return powers;
    }();
    return table.at[exponent];
}

// Quotient of high * 2^64 + low by a normal divisor d > high, with the inverse of d; `more` says that a rest is left.
// Moller and Granlund, "Improved division by invariant integers", IEEE Trans. Computers 60 (2011), algorithm 4.
inline std::uint64_t quotient_of(std::uint64_t high, std::uint64_t low, const FivePower& by, bool* more) {
    const Wide guess = static_cast<Wide>(by.inverse) * high + (static_cast<Wide>(high) << 64 | low);
    std::uint64_t quotient = static_cast<std::uint64_t>(guess >> 64) + 1;
    std::uint64_t rest = low - quotient * by.normal;
    if (rest > static_cast<std::uint64_t>(guess)) {
        --quotient;
        rest += by.normal;
    }
    if (rest >= by.normal) {
        ++quotient;
        rest -= by.normal;
    }
    *more = rest != 0;
    return quotient;
}

// bits * 2^exponent, rounded to nearest, ties to even; `more` says that the true value is a little larger.
// The result must be a normal number.
inline double rounded(std::uint64_t bits, int exponent, bool more) {
    const int shift = __builtin_clzll(bits);
    bits <<= shift;  // 1 in the top bit: 53 bits stay, 11 are rounded away
    exponent -= shift;
    std::uint64_t kept = bits >> 11;
    const std::uint64_t rest = bits & 0x7ff;
    if (rest > 0x400 || (rest == 0x400 && (more || (kept & 1)))) ++kept;
    double value = static_cast<double>(kept);  // exact, also when rounding up made it 2^53
    const std::uint64_t power = static_cast<std::uint64_t>(exponent + 11 + 1023) << 52;
    double scale;
    std::memcpy(&scale, &power, sizeof scale);
    return value * scale;
}

// mantissa * 10^exponent for a mantissa of 64 bits and |exponent| <= 27, by integers alone: 10^k = 5^k 2^k.
inline double by_integers(std::uint64_t mantissa, int exponent) {
    if (exponent >= 0) {
        const Wide product = static_cast<Wide>(mantissa) * five_power(exponent).value;
        const auto high = static_cast<std::uint64_t>(product >> 64);
        if (high == 0) return rounded(static_cast<std::uint64_t>(product), exponent, false);
        const int shift = __builtin_clzll(high);
        const Wide normal = product << shift;
        return rounded(static_cast<std::uint64_t>(normal >> 64), exponent + 64 - shift,
                       static_cast<std::uint64_t>(normal) != 0);
    }
    const FivePower& by = five_power(-exponent);
    const int shift = __builtin_clzll(mantissa);
    const std::uint64_t normal = mantissa << shift;
    bool more;  // halved, the dividend is below the divisor: the quotient has 63 or 64 bits
    const std::uint64_t quotient = quotient_of(normal >> 1, normal << 63, by, &more);
    return rounded(quotient, exponent - shift + by.shift - 63, more);
}
#endif

// What the paths above cannot do exactly, and nan and inf: Python's own conversion. False where it is no number.
inline bool by_python(const char* begin, const char* end, double* value) {
    char small[64];
    std::string large;
    const auto size = static_cast<std::size_t>(end - begin);
    const char* text = small;
    if (size < sizeof small) {
        std::memcpy(small, begin, size);
        small[size] = '\0';
    } else {
        large.assign(begin, end);
        text = large.c_str();
    }
    char* stop = nullptr;
    *value = PyOS_string_to_double(text, &stop, nullptr);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return false;
    }
    return stop == text + size;  // a NUL within the field ends early
}

// The plain decimal number that begins at `begin`, if it can be had exactly without help: where it ends, else nullptr.
inline const char* plain_number(const char* begin, const char* end, double* value) {
    const char* p = begin;
    if (p == end) return nullptr;
    const bool negative = *p == '-';
    if (*p == '-' || *p == '+') ++p;
    std::uint64_t mantissa = 0;
    const char* const digits = p;
    p = take_digits(p, end, &mantissa);
    std::ptrdiff_t count = p - digits, places = 0;
    if (p < end && *p == '.') {
        const char* const fraction = ++p;
        p = take_digits(p, end, &mantissa);
        places = p - fraction;
        count += places;
    }
    if (count == 0 || places > 1000) return nullptr;  // nan, inf, no number, or absurd
    if (count > 19) {  // the mantissa may have overflowed, unless the first digits are zeros
        const char* first = digits;
        while (first < p && (*first == '0' || *first == '.')) count -= *first++ == '0';
        if (count > 19) return nullptr;
    }
    int exponent = -static_cast<int>(places);
    if (p < end && (*p == 'e' || *p == 'E')) {
        ++p;
        const bool below = p < end && *p == '-';
        if (p < end && (*p == '-' || *p == '+')) ++p;
        int written = 0;
        const char* const first = p;
        while (p < end && is_digit(*p) && p - first < 5) written = 10 * written + (*p++ - '0');
        if (p == first || p - first == 5) return nullptr;
        exponent += below ? -written : written;
    }
    double result;
    if (mantissa <= (std::uint64_t{1} << 53) && exponent >= -22 && exponent <= 22) {
        result = static_cast<double>(mantissa);
        result = exponent < 0 ? result / power_of_ten(-exponent) : result * power_of_ten(exponent);
#ifdef __SIZEOF_INT128__
    } else if (mantissa != 0 && exponent >= -MOST_FIVES && exponent <= MOST_FIVES) {
        result = by_integers(mantissa, exponent);
#endif
    } else {
        return nullptr;
    }
    *value = negative ? -result : result;
    return p;
}

struct Field {
    const char *begin, *end;  // without quotes and the space around
    const char* next;         // the delimiter or the end of the line
    bool closed;              // false where a quote is not
};

// The field that starts at p. The delimiter 0 stands for any run of spaces and tabs.
inline Field next_field(const char* p, const char* end, char delimiter) {
    const auto is_space = [delimiter](char c) { return c == ' ' || (c == '\t' && delimiter != '\t'); };
    while (p < end && is_space(*p)) ++p;
    if (p < end && *p == '"') {
        const char* const begin = ++p;
        while (p < end && (*p != '"' || (p + 1 < end && p[1] == '"'))) p += *p == '"' ? 2 : 1;
        if (p >= end) return {begin, end, end, false};
        const char* const stop = p++;
        while (p < end && is_space(*p)) ++p;
        const bool fine = p == end || *p == delimiter || delimiter == '\0';
        const char *first = begin, *last = stop;
        while (first < last && is_space(*first)) ++first;
        while (last > first && is_space(last[-1])) --last;
        return {first, last, p, fine};
    }
    const char* const begin = p;
    if (delimiter == '\0') {
        while (p < end && !is_space(*p)) ++p;
        const char* const stop = p;
        while (p < end && is_space(*p)) ++p;
        return {begin, stop, p, true};
    }
    while (p < end && *p != delimiter) ++p;
    const char* stop = p;
    while (stop > begin && is_space(stop[-1])) --stop;
    return {begin, stop, p, true};
}

struct Outcome {
    Status status = DONE;
    std::ptrdiff_t rows = 0, lines = 0;
    const char* consumed = nullptr;  // behind the last line that was taken
    std::ptrdiff_t column = 0;       // of the field at fault, or how many fields the line has
    const char *begin = nullptr, *end = nullptr;
};

// One line, without its end, into `row`. Sets status, column and field of `outcome` where it is no row.
inline bool parse_line(const char* p, const char* end, char delimiter, const char* skip, std::ptrdiff_t columns,
                       double* row, Outcome* outcome) {
    std::ptrdiff_t column = 0;
    while (true) {
        if (column < columns && !skip[column]) {  // the usual case: a number, then the delimiter or the end
            const char* stop = plain_number(p, end, row + column);
            if (stop != nullptr && delimiter == '\0' && stop < end && (*stop == ' ' || *stop == '\t')) {
                while (stop < end && (*stop == ' ' || *stop == '\t')) ++stop;
                ++column;
                if (stop == end) break;
                p = stop;
                continue;
            }
            if (stop != nullptr && (stop == end || (*stop == delimiter && delimiter != '\0'))) {
                ++column;
                if (stop == end) break;
                p = stop + 1;
                continue;
            }
        }
        const Field field = next_field(p, end, delimiter);
        const bool empty = field.begin == field.end;
        if (!field.closed) {
            outcome->status = OPEN_QUOTE;
            outcome->column = column;
            return false;
        }
        if (column < columns) {
            if (empty || skip[column]) {
                row[column] = std::numeric_limits<double>::quiet_NaN();
            } else if (plain_number(field.begin, field.end, row + column) != field.end &&
                       !by_python(field.begin, field.end, row + column)) {
                outcome->status = NO_NUMBER;
                outcome->column = column;
                outcome->begin = field.begin;
                outcome->end = field.end;
                return false;
            }
        }
        ++column;
        p = field.next;
        if (p >= end) {  // one delimiter too many at the end of the line is forgiven
            if (empty && column == columns + 1) --column;
            break;
        }
        if (delimiter != '\0') ++p;
    }
    if (column == columns) return true;
    outcome->status = FIELD_COUNT;
    outcome->column = column;
    return false;
}

inline Outcome parse_text(const char* text, const char* stop, char delimiter, const char* skip, std::ptrdiff_t columns,
                          double* out, std::ptrdiff_t room) {
    Outcome outcome;
    const char* p = text;
    outcome.consumed = p;
    while (p < stop) {
        const auto* newline = static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(stop - p)));
        if (newline == nullptr) break;
        const char* end = newline;
        if (end > p && end[-1] == '\r') --end;
        const char* first = p;
        while (first < end && (*first == ' ' || *first == '\t')) ++first;
        const bool nothing = first == end && (delimiter != '\t' || p == end);
        if (!nothing && *first != '#' && *first != '%') {
            if (outcome.rows == room) {
                outcome.status = FULL;
                return outcome;
            }
            if (!parse_line(delimiter == '\0' ? first : p, end, delimiter, skip, columns, out + outcome.rows * columns,
                            &outcome))
                return outcome;
            ++outcome.rows;
        }
        ++outcome.lines;
        p = outcome.consumed = newline + 1;
    }
    return outcome;
}

}  // namespace counterpoise
