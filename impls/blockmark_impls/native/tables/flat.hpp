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

  static constexpr std::int64_t adjacent(std::int64_t) { return whole_row; }
  const Id* at(std::int64_t seq, std::int64_t logical) const {
    return slab_.data() + seq * stride_ + logical;
  }
  Id* place(std::int64_t seq, std::int64_t logical, std::int64_t) { return row(seq) + logical; }

  std::int64_t bytes() const { return slab_.bytes(); }
  std::int64_t row_pad() const { return row_pad_; }

  // One cache line where rows would otherwise lie an even number of lines apart, else
  // nothing. An even distance reaches only some of the sets of an L1 cache (rows of 512
  // bytes begin in 8 of 64), so the beginnings of many rows push each other out.
  // Measured on a Zen 5 (48 KiB, 12 ways), 256 rows of 256 uint16 ids, a chain of lookups
  // over the first blocks of each row, ns a lookup by padding in bytes:
  //            0     16     32     64     80    128    256
  //    16     3.7    2.1    2.0    2.0    2.1    2.1    2.9
  //    32     3.7    2.1    2.1    2.0    2.2    2.2    2.9
  //    64     3.7    2.5    2.5    2.3    2.6    2.3    3.1
  //   256     3.8    3.8    4.1    4.1    4.1    4.1    4.3
  // Independent lookups do not change, appends in random order get 2 % faster; full rows
  // pay for the larger slab with up to 6 %. Rows of 128, 512 and 2,048 ids behave alike.
  static constexpr std::int64_t chosen_pad(std::int64_t max_blocks) {
    constexpr std::int64_t line = cache_line / sizeof(Id);
    return max_blocks % (2 * line) == 0 ? line : 0;
  }

 private:
  static std::int64_t items(std::int64_t rows, std::int64_t stride) {
    std::int64_t product = 0;
    if (__builtin_mul_overflow(rows, stride, &product)) {
      throw_value("the block tables are too large");
    }
    return product;
  }
  Id* row(std::int64_t seq) { return slab_.data() + seq * stride_; }

  std::int64_t row_pad_;
  std::int64_t stride_;
  AlignedArray<Id> slab_;
};

static_assert(PagedTable<FlatTable<std::uint16_t>>);

}  // namespace blockmark
