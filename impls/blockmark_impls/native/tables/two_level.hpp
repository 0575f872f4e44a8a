// A page directory: for every sequence a short row of pointers to pages, for every page
// `page_ids` ids. Where tables can be long but mostly are not, a flat row is mostly empty;
// here a sequence takes a page when its first block comes, and gives it back with its last.
//
// 256 ids a page. Measured on a Zen 5 (48 KiB L1, 1 MiB L2) with 128 full tables of 8,192
// uint32 ids, pages in shuffled order, by ids a page, beside one flat row:
//                               32     64    128    256    512     flat
//   shuffled lookups, chain     19.5   18.1   16.8   16.6   16.0     13.4 ns
//   a block taken and given     1.19   0.97   0.89   0.84   0.75     0.76 ns
//   a block shared by a fork    0.86   0.73   0.62   0.58   0.54     0.45 ns
//   all rows packed              111    106    101    100     91       67 us
// and the bytes of a table of 20 uint16 ids, which is a directory row and one page:
//   up to 8,192 blocks         2,176  1,216    832    832  1,216   16,448
//   up to 65,536 blocks       16,512  8,384  4,416  2,624  2,112  131,136
//
// Pages come from chunks that are allocated as they are needed and kept until the table
// ends: 32 pages at first, then half as many again as there are, never more than every row
// could fill. A chunk never moves, so growth copies nothing. Free pages are linked through
// their own memory, the last one given back on top. So a load that has been at its height
// once allocates nothing any more.
//
// A directory entry is a pointer. Page numbers of 32 bits would halve the directory, but a
// lookup would wait for a shift and an addition too (chains 4.1 instead of 3.4 ns), and the
// pages would have to lie in one array, which growth would move.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "../aligned_array.hpp"
#include "../contract.hpp"
#include "flat.hpp"

namespace blockmark {

template <std::unsigned_integral Id, unsigned page_ids = 256>
class TwoLevelTable {
  static_assert(std::has_single_bit(page_ids));
  static_assert(page_ids * sizeof(Id) >= sizeof(Id*), "a free page holds a pointer");

 public:
  using id_type = Id;
  static constexpr const char* name = "two-level";

  explicit TwoLevelTable(const Sizes& sizes)
      : stride_(row_pages(sizes) + FlatTable<std::uint64_t>::chosen_pad(row_pages(sizes))),
        most_pages_(product(sizes.max_seqs, row_pages(sizes))),
        directory_(product(sizes.max_seqs, stride_), nullptr),
        spans_(sizes.max_seqs, Span{}) {
    grow();
  }

  // Where the directory is. Both levels are read without a check: the manager has made it.
  struct Open {
    const Id* const* directory;
    std::int64_t stride;

    Id get(std::int64_t seq, std::int64_t logical) const {
      return (directory + seq * stride)[logical >> shift][logical & last_slot];
    }
  };
  Open open() const { return {directory_.data(), stride_}; }

  Id get(std::int64_t seq, std::int64_t logical) const { return open().get(seq, logical); }
  void begin(std::int64_t, std::int64_t, std::int64_t) {}
  void append(std::int64_t seq, std::int64_t logical, Id id) { *place(seq, logical, 1) = id; }
  void replace(std::int64_t seq, std::int64_t logical, Id id) {
    row(seq)[logical >> shift][logical & last_slot] = id;
  }
  // A page is given back with its first block if that is the sequence's last one, and with
  // its last block if that is the sequence's first one. Which of the two is removed shows in
  // the neighbours: what stays lies in front of a last block, and behind a first one.
  void remove(std::int64_t seq, std::int64_t logical) {
    const std::int64_t slot = logical & last_slot;
    if (slot != 0 && slot != last_slot) [[likely]] return;
    const std::int64_t page = logical >> shift;
    Span& span = spans_[seq];
    if (slot == 0 && page > span.first) {
      give(row(seq)[page]);
      span.end = static_cast<std::int32_t>(page);
    } else if (slot == last_slot && page + 1 < span.end) {
      give(row(seq)[page]);
      span.first = static_cast<std::int32_t>(page + 1);
    }
  }
  void end(std::int64_t seq) {
    Span& span = spans_[seq];
    for (std::int64_t page = span.first; page < span.end; ++page) give(row(seq)[page]);
    span = Span{};
  }

  static constexpr std::int64_t adjacent(std::int64_t logical) {
    return page_ids - (logical & last_slot);
  }
  const Id* at(std::int64_t seq, std::int64_t logical) const {
    return (directory_.data() + seq * stride_)[logical >> shift] + (logical & last_slot);
  }
  Id* place(std::int64_t seq, std::int64_t logical, std::int64_t) {
    Id* page = row(seq)[logical >> shift];
    if (page == nullptr) [[unlikely]] page = take(seq, logical >> shift);
    return page + (logical & last_slot);
  }

  std::int64_t bytes() const {
    const auto page_bytes = static_cast<std::int64_t>(page_ids * sizeof(Id));
    return directory_.bytes() + spans_.bytes() + pages_ * page_bytes;
  }

 private:
  static constexpr int shift = std::countr_zero(page_ids);
  static constexpr std::int64_t last_slot = page_ids - 1;
  static constexpr std::int64_t first_pages = 32;

  // The directory entries [first, end) that hold a page; both 0 for no sequence.
  struct Span {
    std::int32_t first = 0;
    std::int32_t end = 0;
  };

  static std::int64_t row_pages(const Sizes& sizes) {
    return (sizes.max_blocks_per_seq + last_slot) >> shift;
  }
  static std::int64_t product(std::int64_t rows, std::int64_t length) {
    std::int64_t items = 0;
    if (__builtin_mul_overflow(rows, length, &items)) throw_value("the block tables are too large");
    return items;
  }
  Id** row(std::int64_t seq) { return directory_.data() + seq * stride_; }

  // Out of line: once in `page_ids` appends.
  [[gnu::noinline]] Id* take(std::int64_t seq, std::int64_t page) {
    Id* taken = free_;
    if (taken != nullptr) {
      std::memcpy(&free_, taken, sizeof free_);
    } else {
      if (fresh_ == fresh_end_) grow();
      taken = std::exchange(fresh_, fresh_ + page_ids);
    }
    Span& span = spans_[seq];
    if (span.first == span.end) span.first = static_cast<std::int32_t>(page);
    span.end = static_cast<std::int32_t>(page + 1);
    return row(seq)[page] = taken;
  }
  void give(Id*& page) {
    std::memcpy(page, &free_, sizeof free_);
    free_ = std::exchange(page, nullptr);
  }
  void grow() {
    const std::int64_t more = std::min(std::max(first_pages, pages_ / 2), most_pages_ - pages_);
    AlignedArray<Id>& chunk = chunks_.emplace_back(product(more, page_ids), Id{0});
    fresh_ = chunk.data();
    fresh_end_ = fresh_ + chunk.size();
    pages_ += more;
  }

  std::int64_t stride_;
  std::int64_t most_pages_;
  AlignedArray<Id*> directory_;
  AlignedArray<Span> spans_;
  std::vector<AlignedArray<Id>> chunks_;
  std::int64_t pages_ = 0;  // in all chunks
  Id* free_ = nullptr;      // given back; each holds the address of the next
  Id* fresh_ = nullptr;     // never taken: the end of the last chunk
  Id* fresh_end_ = nullptr;
};

static_assert(PagedTable<TwoLevelTable<std::uint16_t>>);

}  // namespace blockmark
