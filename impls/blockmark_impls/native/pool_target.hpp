// A pool alone as the target of a replay.
//
// What a pool cannot answer by itself is composed: one that can list its free blocks has
// them marked in a bitmap first, and the bitmap is asked. Marking is part of the answer's
// cost, every time, since the list says nothing about neighbours.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "aligned_array.hpp"
#include "contract.hpp"
#include "free_words.hpp"
#include "op.hpp"

namespace blockmark {

template <FreePool Pool>
class PoolTarget {
 public:
  using id_type = typename Pool::id_type;

  static constexpr bool answers = BitmappedPool<Pool> || ListedPool<Pool>;
  static constexpr OpSet served = [] {
    OpSet ops = pool_ops;
    if (RemovingPool<Pool>) ops.add(Op::remove);
    if (answers) {
      ops.add(Op::find);
      ops.add(Op::compact);
    }
    return ops;
  }();

  explicit PoolTarget(std::int64_t total_blocks)
      : total_(checked(total_blocks)),
        pool_(total_),
        // No more can move than there are places for.
        moves_(answers ? total_ / 2 : 0, Move{}),
        marked_(BitmappedPool<Pool> || !answers ? 0 : (total_ + 63) / 64, 0) {}

  Pool& pool() { return pool_; }
  std::int64_t num_free() const { return pool_.num_free(); }
  std::int64_t total_blocks() const { return total_; }
  std::int64_t bytes() const { return pool_.bytes(); }

  // The lowest of `k` free blocks side by side, or -1. Throws Error(value) unless k >= 1.
  std::int64_t find_contiguous(std::int64_t k) {
    if (k < 1) throw_value("k must be at least 1");
    return lowest_run(free_words(), k);
  }
  // Plans the moves that free the `top` highest blocks, see plan_compaction; they are in
  // moves() until the next plan. Throws Error(out_of_blocks) if fewer are free.
  std::int64_t plan_compaction(std::int64_t top) {
    if (top < 0) throw_value("blocks must not be negative");
    if (top > num_free()) throw_out_of_blocks(top, num_free());
    Move* out = moves_.data();
    return blockmark::plan_compaction(free_words(), top, [&](std::int64_t src, std::int64_t dst) {
      *out++ = Move{static_cast<std::int32_t>(src), static_cast<std::int32_t>(dst)};
    });
  }
  const Move* moves() const { return moves_.data(); }

  // Only what any caller could get wrong without knowing the pool's insides; giving a
  // block twice is the caller's bug, which a stack cannot see.
  void check_given(const std::vector<std::int64_t>& ids) const {
    for (const std::int64_t id : ids) check_id(id);
    if (static_cast<std::int64_t>(ids.size()) > total_ - pool_.num_free()) {
      throw_value("more blocks are given back than were taken");
    }
  }
  void check_id(std::int64_t id) const {
    if (id < 0 || id >= total_) throw_value("there is no block " + std::to_string(id));
  }

 private:
  static std::int64_t checked(std::int64_t total_blocks) {
    Sizes{total_blocks, 1, 1, 1}.checked(id_limit<id_type>(), id_name<id_type>());
    return total_blocks;
  }

  FreeWords free_words() {
    if constexpr (BitmappedPool<Pool>) {
      return pool_.free_words();
    } else {
      std::uint64_t* words = marked_.data();
      std::fill_n(words, marked_.size(), 0);
      pool_.each_free([&](std::int64_t id) { words[id / 64] |= std::uint64_t{1} << (id % 64); });
      return {words, total_};
    }
  }

  std::int64_t total_;
  Pool pool_;
  AlignedArray<Move> moves_;
  AlignedArray<std::uint64_t> marked_;
};

}  // namespace blockmark
