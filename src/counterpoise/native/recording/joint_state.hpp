// Payloads of sensor_msgs/JointState and geometry_msgs/Wrench(Stamped), in CDR (ROS 2) and in ROS 1's wire format.
//
// Specification: counterpoise/recording/bags/reference.py, equal to it bit by bit. A message that is malformed or has names not
// seen yet is not decoded here: the caller is told where to look.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "bag_records.hpp"

namespace counterpoise {

// The joint names of a message, in its order, and the column of each joint.
struct NameList {
    std::vector<std::pair<const char*, std::size_t>> names;
    const std::int64_t* columns;  // null: the message belongs to another table
};

class Payload {
public:
    Payload(const std::uint8_t* data, std::size_t size, bool cdr) : data_(data), size_(size), cdr_(cdr) {
        if (!cdr) return;
        // Encapsulation: 0, endianness (1: little), two bytes of options. Alignment counts from behind it.
        good_ = size >= 4 && data[0] == 0 && data[1] <= 1;
        if (!good_) return;
        big_ = data[1] == 0;
        data_ += 4;
        size_ -= 4;
    }

    bool good() const { return good_; }
    std::size_t at() const { return at_; }
    void go_to(std::size_t at) { at_ = at; }

    bool u32(std::uint32_t& value) {
        align(4);
        if (left() < 4) return false;
        value = little<std::uint32_t>(data_ + at_);
        if (big_) value = swapped<std::uint32_t>(value);
        at_ += 4;
        return true;
    }

    // The text without CDR's closing NUL.
    bool text(const char*& start, std::size_t& length) {
        std::uint32_t size;
        if (!u32(size) || size > left()) return false;
        start = reinterpret_cast<const char*>(data_ + at_);
        length = size;
        at_ += size;
        if (!cdr_ || size == 0) return true;
        --length;
        return start[length] == '\0';
    }

    // Position the payload at `count` doubles and return their start; null where there are fewer.
    const std::uint8_t* doubles(std::uint32_t count) {
        if (count > 0) align(8);
        if (left() / 8 < count) return nullptr;
        const std::uint8_t* start = data_ + at_;
        at_ += 8 * static_cast<std::size_t>(count);
        return start;
    }

    double number(const std::uint8_t* at) const {
        std::uint64_t bits = little<std::uint64_t>(at);
        if (big_) bits = swapped<std::uint64_t>(bits);
        double value;
        std::memcpy(&value, &bits, sizeof value);
        return value;
    }

    // Seconds: ROS 2 signs them, ROS 1 does not. Divided, not multiplied: a product could be contracted with the sum.
    bool stamp(double& seconds) {
        std::uint32_t sequence, whole, nanoseconds;
        if ((!cdr_ && !u32(sequence)) || !u32(whole) || !u32(nanoseconds)) return false;
        seconds = (cdr_ ? static_cast<double>(static_cast<std::int32_t>(whole)) : static_cast<double>(whole)) +
                  static_cast<double>(nanoseconds) / 1e9;
        const char* frame;
        std::size_t length;
        return text(frame, length);
    }

    // Whether everything was read; CDR may be padded at its end.
    bool ended() const { return cdr_ ? left() < 8 : left() == 0; }

private:
    std::size_t left() const { return at_ < size_ ? size_ - at_ : 0; }
    void align(std::size_t step) {
        if (cdr_) at_ = (at_ + step - 1) / step * step;
    }
    template <class Number>
    static Number swapped(Number value) {
        Number turned = 0;
        for (std::size_t i = 0; i < sizeof(Number); ++i, value >>= 8) turned = static_cast<Number>((turned << 8) | (value & 0xff));
        return turned;
    }

    const std::uint8_t* data_;
    std::size_t size_, at_ = 0;
    bool cdr_, big_ = false, good_ = true;
};

// Whether the names that follow are those of the list; leaves the payload behind them.
inline bool names_match(Payload& payload, const NameList& list) {
    std::uint32_t count;
    if (!payload.u32(count) || count != list.names.size()) return false;
    for (const auto& [name, size] : list.names) {
        const char* text;
        std::size_t length;
        if (!payload.text(text, length) || length != size || std::memcmp(text, name, size) != 0) return false;
    }
    return true;
}

// Decode one JointState into a row of position, velocity, effort, `joints` columns each; NaN where the message has none.
// `list` is the last list that matched and is tried first. Without a row the message is only checked.
inline bool joint_state(Payload payload, const std::vector<NameList>& lists, std::size_t joints, double& stamp,
                        std::size_t& list, double* row) {
    if (!payload.good() || lists.empty() || !payload.stamp(stamp)) return false;
    const std::size_t names_at = payload.at();
    std::size_t tried = 0;
    while (!names_match(payload, lists[list])) {
        if (++tried == lists.size()) return false;
        list = (list + 1) % lists.size();
        payload.go_to(names_at);
    }
    const NameList& found = lists[list];
    const bool store = row != nullptr && found.columns != nullptr;
    for (std::size_t kind = 0; kind < 3; ++kind) {
        std::uint32_t count;
        if (!payload.u32(count) || (count != 0 && count != found.names.size())) return false;
        const std::uint8_t* numbers = payload.doubles(count);
        if (numbers == nullptr) return false;
        if (!store) continue;
        double* part = row + kind * joints;
        if (count < joints)
            for (std::size_t j = 0; j < joints; ++j) part[j] = std::numeric_limits<double>::quiet_NaN();
        for (std::uint32_t j = 0; j < count; ++j) part[found.columns[j]] = payload.number(numbers + 8 * j);
    }
    return payload.ended();
}

// Decode one Wrench, with or without header, into a row of force and torque.
inline bool wrench(Payload payload, bool stamped, double& stamp, double* row) {
    stamp = 0.0;
    if (!payload.good() || (stamped && !payload.stamp(stamp))) return false;
    const std::uint8_t* numbers = payload.doubles(6);
    if (numbers == nullptr || !payload.ended()) return false;
    for (std::size_t i = 0; row != nullptr && i < 6; ++i) row[i] = payload.number(numbers + 8 * i);
    return true;
}

}  // namespace counterpoise
