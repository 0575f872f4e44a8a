// Rows of 32 ids at a chosen distance from a cache line's start, and what it takes to read
// them anywhere in a table that is smaller or larger than each cache.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>

#include "../aligned_array.hpp"
#include "../clock.hpp"
#include "../contract.hpp"

namespace blockmark {

template <std::unsigned_integral Id>
class RowSlab {
 public:
  static constexpr std::int64_t row_ids = 32;
  static constexpr std::int64_t row_bytes = row_ids * static_cast<std::int64_t>(sizeof(Id));

  // `rows` rows side by side, the first `offset` bytes behind a line's start. Never in a
  // std::vector, whose items begin where malloc says. Throws Error(value), std::bad_alloc.
  RowSlab(std::int64_t rows, std::int64_t offset)
      : rows_(checked(rows, offset)),
        memory_(offset + rows * row_bytes, 0),
        first_(reinterpret_cast<Id*>(memory_.data() + offset)) {
    // Neighbouring ids differ, and every value of a narrow id occurs.
    for (std::int64_t i = 0; i < rows_ * row_ids; ++i) first_[i] = static_cast<Id>(i * 7);
  }

  std::int64_t rows() const { return rows_; }
  std::int64_t bytes() const { return rows_ * row_bytes; }
  std::uintptr_t address(std::int64_t row) const {
    return reinterpret_cast<std::uintptr_t>(first_ + row * row_ids);
  }
  // Cache lines that a row lies in, from its address.
  std::int64_t lines_of(std::int64_t row) const {
    const std::uintptr_t begin = address(row);
    const std::uintptr_t last = begin + static_cast<std::uintptr_t>(row_bytes) - 1;
    return static_cast<std::int64_t>(last / cache_line - begin / cache_line) + 1;
  }
  std::int64_t lines_of_all() const {
    std::int64_t sum = 0;
    for (std::int64_t row = 0; row < rows_; ++row) sum += lines_of(row);
    return sum;
  }

  // Nanoseconds of `count` reads of one id, of the sum of a row, of a row packed to int32,
  // in random rows. Each address waits for the last answer, so it is latency; the answer
  // itself changes nothing. `seed` is where the random walk begins.
  std::int64_t time_entries(std::int64_t count, std::uint64_t seed) const {
    return walk(count, seed, [](const Id* row, std::uint64_t random) {
      return static_cast<std::uint64_t>(row[random >> 20 & (row_ids - 1)]);
    });
  }
  std::int64_t time_rows(std::int64_t count, std::uint64_t seed) const {
    return walk(count, seed, [](const Id* row, std::uint64_t) {
      std::uint64_t sum = 0;
      for (std::int64_t i = 0; i < row_ids; ++i) sum += row[i];
      return sum;
    });
  }
  // The same rows loaded into registers, and nothing waits for an answer: how fast rows can
  // be read at all. Four sums, so that no load waits for the one before it.
  std::int64_t time_loads(std::int64_t count, std::uint64_t seed) const {
    using Part [[gnu::vector_size(16)]] = std::uint64_t;
    constexpr std::int64_t parts = row_bytes / static_cast<std::int64_t>(sizeof(Part));
    Part sums[4] = {};
    const auto rows = static_cast<std::uint64_t>(rows_);
    const std::int64_t started = now_ns();
    for (std::int64_t i = 0; i < count; ++i) {
      // Spread over the rows by the golden ratio, since a generator's next number would have
      // to wait for its last (Knuth, "The Art of Computer Programming" 3, 6.4).
      const std::uint64_t random =
          (seed + static_cast<std::uint64_t>(i)) * 11400714819323198485u >> 32;
      const Id* row = first_ + (random * rows >> 32) * row_ids;
      for (std::int64_t k = 0; k < parts; ++k) {
        Part part;
        std::memcpy(&part, reinterpret_cast<const char*>(row) + k * sizeof(Part), sizeof(Part));
        sums[k % 4] |= part;
      }
    }
    for (const Part& sum : sums) {
      sink(sum[0]);
      sink(sum[1]);
    }
    return now_ns() - started;
  }
  std::int64_t time_packing(std::int64_t count, std::uint64_t seed) const {
    alignas(cache_line) std::int32_t out[row_ids];
    return walk(count, seed, [&out](const Id* row, std::uint64_t) {
      pack(row, out);
      asm volatile("" : : "r"(out) : "memory");
      return static_cast<std::uint64_t>(static_cast<std::uint32_t>(out[row_ids - 1]));
    });
  }

  // What the timed reads answer, for a test.
  std::uint64_t entry(std::int64_t row, std::int64_t column) const {
    return first_[row * row_ids + column];
  }
  void pack_row(std::int64_t row, std::int32_t* out) const { pack(first_ + row * row_ids, out); }

 private:
  static std::int64_t checked(std::int64_t rows, std::int64_t offset) {
    if (rows < 1 || rows > std::int64_t{1} << 24) {
      throw_value("rows must be 1 to 16,777,216, not " + std::to_string(rows));
    }
    constexpr auto line = static_cast<std::int64_t>(cache_line);
    constexpr auto width = static_cast<std::int64_t>(sizeof(Id));
    if (offset < 0 || offset >= line || offset % width != 0) {
      throw_value("an offset of " + std::to_string(offset) + " bytes is no place for ids of " +
                  std::to_string(width) + " bytes in a line of 64");
    }
    return rows;
  }

  static void pack(const Id* row, std::int32_t* __restrict out) {
    for (std::int64_t i = 0; i < row_ids; ++i) out[i] = static_cast<std::int32_t>(row[i]);
  }

  template <class Read>
  [[gnu::always_inline]] std::int64_t walk(std::int64_t count, std::uint64_t random,
                                           Read&& read) const {
    // A zero that the compiler cannot see.
    std::uint64_t zero = 0;
    asm volatile("" : "+r"(zero));
    std::uint64_t answer = 0;
    const auto rows = static_cast<std::uint64_t>(rows_);
    const std::int64_t started = now_ns();
    for (std::int64_t i = 0; i < count; ++i) {
      // A linear congruential generator (Knuth's MMIX); its upper half picks the row.
      random = random * 6364136223846793005u + 1442695040888963407u;
      const std::uint64_t row = ((random >> 32) * rows >> 32) ^ (answer & zero);
      answer = read(first_ + row * row_ids, random);
    }
    sink(answer);
    return now_ns() - started;
  }

  std::int64_t rows_;
  AlignedArray<char> memory_;
  Id* first_;
};

}  // namespace blockmark
