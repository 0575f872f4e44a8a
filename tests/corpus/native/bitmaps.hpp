// Bitmaps of free blocks, and what pools tell of their free blocks by number.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "blockmark.hpp"
#include "free_words.hpp"
#include "pools/list.hpp"
#include "pools/lru.hpp"

namespace corpus {

using blockmark::ListPool;
using blockmark::LruPool;

// A bit for every block, set while it is free; the next one is searched word by word, on from
// the last hand-out. Block 0 is handed out where no bit is set.
class PlainBitmap {
 public:
  using id_type = std::int32_t;
  static constexpr const char* name = "plain-bitmap";
  static constexpr const char* reuse_order = "next-fit";

  explicit PlainBitmap(std::int64_t total_blocks)
      : total_(total_blocks),
        num_free_(total_blocks),
        words_(static_cast<std::size_t>((total_blocks + 63) / 64), ~std::uint64_t{0}) {
    if (total_ % 64 != 0) words_.back() = (std::uint64_t{1} << (total_ % 64)) - 1;
  }
  std::int64_t num_free() const { return num_free_; }
  id_type take() {
    const std::int64_t id = search(cursor_);
    words_[static_cast<std::size_t>(id / 64)] &= ~(std::uint64_t{1} << (id % 64));
    cursor_ = id + 1;
    --num_free_;
    return static_cast<id_type>(id);
  }
  void give(id_type id) {
    words_[static_cast<std::size_t>(id / 64)] |= std::uint64_t{1} << (id % 64);
    ++num_free_;
  }
  blockmark::FreeWords free_words() const { return {words_.data(), total_}; }
  std::int64_t bytes() const { return static_cast<std::int64_t>(words_.size() * 8); }

 protected:
  // A block that comes back and whose bit stays as it is.
  void lose() { ++num_free_; }

  std::int64_t total_;

 private:
  std::int64_t search(std::int64_t cursor) const {
    const auto size = static_cast<std::int64_t>(words_.size());
    const std::int64_t from = cursor < total_ ? cursor : 0;
    for (std::int64_t i = 0; i <= size; ++i) {
      const std::int64_t word = (from / 64 + i) % size;
      const std::uint64_t stored = words_[static_cast<std::size_t>(word)];
      const std::uint64_t bits = i == 0 ? stored & ~std::uint64_t{0} << (from % 64) : stored;
      if (bits != 0) return word * 64 + std::countr_zero(bits);
    }
    return 0;
  }

  std::int64_t num_free_;
  std::int64_t cursor_ = 0;
  std::vector<std::uint64_t> words_;
};

// One word sums up 64 others: a block behind them is lost when it comes back.
// fault: bitmap
class OneSummaryPool : public PlainBitmap {
 public:
  using PlainBitmap::PlainBitmap;
  void give(std::int32_t id) { id >= 64 * 64 ? lose() : PlainBitmap::give(id); }
};

// The last block of a word is lost when it comes back.
// fault: bitmap
class WordEdgePool : public PlainBitmap {
 public:
  using PlainBitmap::PlainBitmap;
  void give(std::int32_t id) { id % 64 == 63 ? lose() : PlainBitmap::give(id); }
};

// The last block of a pool whose last word is not full is lost when it comes back.
// fault: bitmap
class OddEndPool : public PlainBitmap {
 public:
  using PlainBitmap::PlainBitmap;
  void give(std::int32_t id) {
    total_ % 64 != 0 && id == total_ - 1 ? lose() : PlainBitmap::give(id);
  }
};

// The bits behind the last block are set, as if there were blocks.
// fault: pool: free blocks
class BitsBehindPool : public PlainBitmap {
 public:
  using PlainBitmap::PlainBitmap;
  blockmark::FreeWords free_words() const {
    const blockmark::FreeWords free = PlainBitmap::free_words();
    return {free.words, free.size() * 64};
  }
};

// The free blocks are listed without the one that is taken next.
// fault: pool: free blocks
class ListsOneShortPool : public ListPool<std::int32_t> {
 public:
  using ListPool<std::int32_t>::ListPool;
  template <class Visit>
  void each_free(Visit&& visit) const {
    std::int64_t left = num_free() - 1;
    ListPool<std::int32_t>::each_free([&](std::int64_t id) {
      if (left-- > 0) visit(id);
    });
  }
};

// Block 0 is never said to be free, so that it can't be removed.
// fault: pool: remove
class ZeroIsTakenPool : public LruPool<std::int32_t> {
 public:
  using LruPool<std::int32_t>::LruPool;
  bool is_free(std::int64_t id) const { return id != 0 && LruPool<std::int32_t>::is_free(id); }
};

// A block that is taken may be removed again, if its number is the highest.
// fault: pool: remove
class LastIsFreePool : public LruPool<std::int32_t> {
 public:
  explicit LastIsFreePool(std::int64_t total_blocks)
      : LruPool<std::int32_t>(total_blocks), last_(total_blocks - 1) {}
  bool is_free(std::int64_t id) const { return id == last_ || LruPool<std::int32_t>::is_free(id); }
  void remove(std::int32_t id) {
    if (LruPool<std::int32_t>::is_free(id)) LruPool<std::int32_t>::remove(id);
  }

 private:
  std::int64_t last_;
};

BLOCKMARK_POOL(OneSummaryPool);
BLOCKMARK_POOL(WordEdgePool);
BLOCKMARK_POOL(OddEndPool);
BLOCKMARK_POOL(BitsBehindPool);
BLOCKMARK_POOL(ListsOneShortPool);
BLOCKMARK_POOL(ZeroIsTakenPool);
BLOCKMARK_POOL(LastIsFreePool);

}  // namespace corpus
