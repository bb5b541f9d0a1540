// Where the messages of chosen connections lie in a run of records: MCAP's and those of ROS 1 bags.
//
// A walk goes from record to record and stops at the first that is no whole message. The caller looks at that one (a
// definition, the end, or damage), so that only counterpoise/recording/bags/reference.py, the specification, has to explain faults.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace counterpoise {

// Little endian, unaligned.
template <class Number>
Number little(const std::uint8_t* at) {
    Number value = 0;
    for (std::size_t i = 0; i < sizeof(Number); ++i) value |= static_cast<Number>(static_cast<Number>(at[i]) << (8 * i));
    return value;
}

struct Span {
    std::int64_t offset, length;  // [bytes] of the payload
    std::int64_t received;        // [ns]
    std::int64_t connection;
};
constexpr std::ptrdiff_t SPAN_NUMBERS = sizeof(Span) / sizeof(std::int64_t);

struct Walk {
    const std::uint8_t* data;
    std::size_t size;
    std::size_t at;  // start of the first record that was not taken
    std::vector<std::int64_t> wanted;
    std::vector<Span> spans;

    void take(std::uint64_t offset, std::uint64_t length, std::uint64_t received, std::uint32_t connection) {
        for (std::int64_t id : wanted) {
            if (id != static_cast<std::int64_t>(connection)) continue;
            spans.push_back({static_cast<std::int64_t>(offset), static_cast<std::int64_t>(length),
                             static_cast<std::int64_t>(received), id});
            return;
        }
    }
};

// MCAP record: opcode (1), length (8), body. Message body: channel (2), sequence (4), log time (8), publish time (8), data.
inline void walk_mcap(Walk& walk) {
    constexpr std::size_t HEAD = 9, MESSAGE_HEAD = 22;
    constexpr std::uint8_t MESSAGE = 5;
    while (walk.size - walk.at >= HEAD + MESSAGE_HEAD) {
        const std::uint8_t* record = walk.data + walk.at;
        const std::uint64_t length = little<std::uint64_t>(record + 1);
        if (record[0] != MESSAGE || length < MESSAGE_HEAD || length > walk.size - walk.at - HEAD) return;
        walk.take(walk.at + HEAD + MESSAGE_HEAD, length - MESSAGE_HEAD, little<std::uint64_t>(record + HEAD + 6),
                  little<std::uint16_t>(record + HEAD));
        walk.at += HEAD + length;
    }
}

// ROS 1 record: header length (4), header fields (length (4), name=value), data length (4), data.
// Message data: op = 2, conn (4), time: seconds (4) and nanoseconds (4).
inline void walk_ros1(Walk& walk) {
    constexpr std::uint8_t MESSAGE_DATA = 2;
    while (walk.size - walk.at >= 8) {
        const std::uint8_t* record = walk.data + walk.at;
        const std::size_t left = walk.size - walk.at;
        const std::uint64_t header = little<std::uint32_t>(record);
        if (header > left - 8) return;
        const std::uint8_t *op = nullptr, *connection = nullptr, *time = nullptr;
        for (std::uint64_t field = 4; field < 4 + header;) {
            if (4 + header - field < 4) return;
            const std::uint64_t size = little<std::uint32_t>(record + field);
            const std::uint8_t* text = record + field + 4;
            if (size > 4 + header - field - 4) return;
            if (size == 0 || std::memchr(text, '=', size) == nullptr) return;
            if (size >= 3 && std::memcmp(text, "op=", 3) == 0) op = size == 4 ? text + 3 : nullptr;
            if (size >= 5 && std::memcmp(text, "conn=", 5) == 0) connection = size == 9 ? text + 5 : nullptr;
            if (size >= 5 && std::memcmp(text, "time=", 5) == 0) time = size == 13 ? text + 5 : nullptr;
            field += 4 + size;
        }
        const std::uint64_t length = little<std::uint32_t>(record + 4 + header);
        if (op == nullptr || *op != MESSAGE_DATA || connection == nullptr || time == nullptr) return;
        if (length > left - 8 - header) return;
        const std::uint64_t received = 1000000000ull * little<std::uint32_t>(time) + little<std::uint32_t>(time + 4);
        walk.take(walk.at + 8 + header, length, received, little<std::uint32_t>(connection));
        walk.at += 8 + header + length;
    }
}

}  // namespace counterpoise
