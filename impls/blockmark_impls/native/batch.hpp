// append_slots: whether a whole batch can be appended, before any of it is.
#pragma once

#include <concepts>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "contract.hpp"

namespace blockmark {

// What is read of a manager. A control that keeps no sequences has none of its batches
// checked.
template <class M>
concept BatchCheckable = requires(const M& view, std::int64_t seq, std::int64_t block) {
  { view.sizes() } -> std::convertible_to<const Sizes&>;
  { view.is_live(seq) } -> std::same_as<bool>;
  { view.sequence(seq) } -> std::convertible_to<Sequence>;
  { view.last_block_is_shared(seq) } -> std::same_as<bool>;
  { view.num_free() } -> std::convertible_to<std::int64_t>;
  view.lookup(seq, block);
  { view.ref_count(block) } -> std::convertible_to<std::int32_t>;
};

template <class Manager>
class BatchCheck {
 public:
  explicit BatchCheck(const Manager& manager)
      : seen_(static_cast<std::size_t>(manager.sizes().max_seqs), 0) {}

  // Throws what the first append that fails would throw.
  void operator()(const Manager& manager, const std::int32_t* seqs, std::int64_t count) {
    if (!surely_fits(manager, seqs, count)) check_exactly(manager, seqs, count);
  }

 private:
  // One pass without an allocation. False where more care is needed: a sequence named
  // twice or unknown (one before it may be what fails first), or a pool that might be too
  // small (two sequences that share their last block need one copy, not the two that are
  // counted here).
  bool surely_fits(const Manager& manager, const std::int32_t* seqs, std::int64_t count) {
    ++batch_;
    std::int64_t needed = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      if (!manager.is_live(seqs[i])) return false;
      const Sequence& s = manager.sequence(seqs[i]);
      auto& seen = seen_[static_cast<std::size_t>(seqs[i])];
      if (seen == batch_) return false;
      seen = batch_;
      if (s.room == 0) {
        if (s.end >= manager.sizes().max_blocks_per_seq) return false;
        ++needed;
      } else if (manager.last_block_is_shared(seqs[i])) {
        ++needed;
      }
    }
    return needed <= manager.num_free();
  }

  // The batch on a copy of the few numbers that it changes.
  void check_exactly(const Manager& manager, const std::int32_t* seqs, std::int64_t count) const {
    struct Ahead {
      std::int32_t end, room;
      bool owns_last;
    };
    std::unordered_map<std::int32_t, Ahead> sequences;
    std::unordered_map<std::int64_t, std::int32_t> refs;
    std::int64_t free = manager.num_free();
    const auto take = [&free] {
      if (free == 0) throw_out_of_blocks(1, 0);
      --free;
    };
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int32_t seq = seqs[i];
      const Sequence& now = manager.sequence(seq);
      Ahead& s = sequences.try_emplace(seq, Ahead{now.end, now.room, false}).first->second;
      if (s.room == 0) {
        if (s.end >= manager.sizes().max_blocks_per_seq) {
          throw_too_long(seq, manager.sizes().max_blocks_per_seq);
        }
        take();
        ++s.end;
        s.room = static_cast<std::int32_t>(manager.sizes().block_size);
        s.owns_last = true;
      } else if (!s.owns_last) {
        const auto last = static_cast<std::int64_t>(manager.lookup(seq, now.end - 1));
        auto& left = refs.try_emplace(last, manager.ref_count(last)).first->second;
        if (left > 1) {
          take();
          --left;
        }
        s.owns_last = true;
      }
      --s.room;
    }
  }

  std::vector<std::uint32_t> seen_;
  std::uint32_t batch_ = 0;
};

}  // namespace blockmark
