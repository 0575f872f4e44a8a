// One preallocated slab, a row of ids for every sequence; nothing is allocated after
// construction. Lengths live beside it, so every value of the id type is an id.
#pragma once

#include <cstdint>

#include "../aligned_array.hpp"
#include "../contract.hpp"

namespace blockmark {

template <std::unsigned_integral Id>
class FlatTable {
 public:
  using id_type = Id;
  static constexpr const char* name = "flat";

  explicit FlatTable(const Sizes& sizes)
      : row_pad_(sizes.row_pad < 0 ? chosen_pad(sizes.max_blocks_per_seq) : sizes.row_pad),
        stride_(sizes.max_blocks_per_seq + row_pad_),
        slab_(items(sizes.max_seqs, stride_), Id{0}) {}

  // Where the rows are. A row's address is formed apart from the index.
  struct Open {
    const Id* slab;
    std::int64_t stride;

    Id get(std::int64_t seq, std::int64_t logical) const { return (slab + seq * stride)[logical]; }
  };
  Open open() const { return {slab_.data(), stride_}; }

  Id get(std::int64_t seq, std::int64_t logical) const { return open().get(seq, logical); }
  void begin(std::int64_t, std::int64_t, std::int64_t) {}
  void append(std::int64_t seq, std::int64_t logical, Id id) { row(seq)[logical] = id; }
  void replace(std::int64_t seq, std::int64_t logical, Id id) { row(seq)[logical] = id; }
  void remove(std::int64_t, std::int64_t) {}
  void end(std::int64_t) {}

  std::int64_t bytes() const { return slab_.bytes(); }
  std::int64_t row_pad() const { return row_pad_; }

  // One cache line where rows would otherwise be an even number of lines apart, else
  // nothing.
  static constexpr std::int64_t chosen_pad(std::int64_t max_blocks) {
    constexpr std::int64_t line = cache_line / sizeof(Id);
    return max_blocks % (2 * line) == 0 ? line : 0;
  }

 private:
  static std::int64_t items(std::int64_t rows, std::int64_t stride) {
    std::int64_t product = 0;
    if (__builtin_mul_overflow(rows, stride, &product)) throw_value("the block tables are too large");
    return product;
  }
  Id* row(std::int64_t seq) { return slab_.data() + seq * stride_; }

  std::int64_t row_pad_;
  std::int64_t stride_;
  AlignedArray<Id> slab_;
};

static_assert(BlockTable<FlatTable<std::uint16_t>>);

}  // namespace blockmark
