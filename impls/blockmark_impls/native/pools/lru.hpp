// A doubly linked list in two int32 arrays (FIFO): taken from the head, given to the
// tail, and any block removed from the middle in O(1), which is what a hit in a prefix
// cache needs. The sentinel is one node more, so that no end is a special case. The pool
// linked-list is the same list with both links of a block side by side.
#pragma once

#include <cstdint>

#include "../aligned_array.hpp"
#include "../contract.hpp"

namespace blockmark {

// The links are int32 whatever the table stores.
template <std::integral>
class LruPool {
 public:
  using id_type = std::int32_t;
  static constexpr const char* name = "lru";
  static constexpr const char* reuse_order = "FIFO";

  explicit LruPool(std::int64_t total_blocks)
      : next_(checked(total_blocks) + 1, 0),
        prev_(total_blocks + 1, 0),
        sentinel_(static_cast<std::int32_t>(total_blocks)),
        num_free_(total_blocks) {
    for (std::int32_t id = 0; id <= sentinel_; ++id) {
      next_[id] = id == sentinel_ ? 0 : id + 1;
      prev_[id] = id == 0 ? sentinel_ : id - 1;
    }
  }

  std::int64_t num_free() const { return num_free_; }
  std::int32_t take() {
    const std::int32_t id = next_[sentinel_];
    unlink(id);
    return id;
  }
  void give(std::int32_t id) {
    const std::int32_t last = prev_[sentinel_];
    next_[last] = id;
    prev_[id] = last;
    next_[id] = sentinel_;
    prev_[sentinel_] = id;
    ++num_free_;
  }
  bool is_free(std::int64_t id) const {
    return id >= 0 && id < sentinel_ && next_[id] != taken;
  }
  // A block out of the middle; it must be free.
  void remove(std::int32_t id) { unlink(id); }
  template <class Visit>
  void each_free(Visit&& visit) const {
    for (std::int32_t id = next_[sentinel_]; id != sentinel_; id = next_[id]) visit(id);
  }
  std::int64_t bytes() const { return next_.bytes() + prev_.bytes(); }

 private:
  static constexpr std::int32_t taken = -1;

  static std::int64_t checked(std::int64_t total_blocks) {
    constexpr std::int64_t limit = std::numeric_limits<std::int32_t>::max() - 1;
    if (total_blocks > limit) {
      throw_value(std::to_string(total_blocks) + " blocks are more than the pool lru can link (" +
                  std::to_string(limit) + ")");
    }
    return total_blocks;
  }
  void unlink(std::int32_t id) {
    const std::int32_t after = next_[id];
    const std::int32_t before = prev_[id];
    next_[before] = after;
    prev_[after] = before;
    next_[id] = taken;
    --num_free_;
  }

  AlignedArray<std::int32_t> next_;
  AlignedArray<std::int32_t> prev_;
  std::int32_t sentinel_;
  std::int64_t num_free_;
};

static_assert(FreePool<LruPool<std::int32_t>>);

}  // namespace blockmark
