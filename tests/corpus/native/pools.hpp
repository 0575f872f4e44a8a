// Free pools of the C++ core that are each wrong in one way.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "blockmark.hpp"
#include "pools/list.hpp"
#include "pools/lru.hpp"
#include "pools/stack.hpp"

namespace corpus {

using blockmark::ListPool;
using blockmark::LruPool;
using blockmark::StackPool;

// Every 16th block that is given back is lost.
// fault: leak
class LeakyStackPool : public StackPool<std::int32_t> {
 public:
  using StackPool<std::int32_t>::StackPool;
  void give(std::int32_t id) {
    if (++gives_ % 16 != 0) StackPool<std::int32_t>::give(id);
  }
  LeakyStackPool& open() { return *this; }

 private:
  int gives_ = 0;
};

// A block that is given back goes onto the list twice.
// fault: double free
class DoubleGivePool : public ListPool<std::int32_t> {
 public:
  using ListPool<std::int32_t>::ListPool;
  void give(std::int32_t id) {
    ListPool<std::int32_t>::give(id);
    if (id == 0) ListPool<std::int32_t>::give(id);
  }
};

// An opened stack forgets where its top is when it is closed.
// fault: block live twice
class ForgetfulStackPool : public StackPool<std::int32_t> {
 public:
  using StackPool<std::int32_t>::StackPool;

  class Open {
   public:
    explicit Open(ForgetfulStackPool& pool) : pool_(pool) {}
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;
    ~Open() {
      if (taken_ > 1) pool_.StackPool<std::int32_t>::give(last_);
    }
    std::int32_t take() {
      ++taken_;
      return last_ = pool_.take();
    }
    void give(std::int32_t id) { pool_.give(id); }

   private:
    ForgetfulStackPool& pool_;
    std::int32_t last_ = 0;
    int taken_ = 0;
  };
  Open open() { return Open(*this); }
};

// Ids run from 1 to the total, one outside the pool.
// fault: id out of range
// alone
class FromOnePool : public ListPool<std::int32_t> {
 public:
  using ListPool<std::int32_t>::ListPool;
  std::int32_t take() { return ListPool<std::int32_t>::take() + 1; }
  void give(std::int32_t id) { ListPool<std::int32_t>::give(id - 1); }
};

// 16 bits of an id are kept in a pool that promises 32.
// fault: 16-bit overflow
class ShortIdPool : public ListPool<std::int32_t> {
 public:
  using ListPool<std::int32_t>::ListPool;
  std::int32_t take() { return static_cast<std::uint16_t>(ListPool<std::int32_t>::take()); }
};

// A queue that declares itself a stack.
// fault: reuse order
class QueueAsStackPool {
 public:
  using id_type = std::int32_t;
  static constexpr const char* name = "queue";
  static constexpr const char* reuse_order = "LIFO";

  explicit QueueAsStackPool(std::int64_t total_blocks) {
    for (std::int64_t id = 0; id < total_blocks; ++id) free_.push_back(static_cast<id_type>(id));
  }
  std::int64_t num_free() const { return static_cast<std::int64_t>(free_.size()); }
  id_type take() {
    const id_type id = free_.front();
    free_.pop_front();
    return id;
  }
  void give(id_type id) { free_.push_back(id); }
  std::int64_t bytes() const { return num_free() * static_cast<std::int64_t>(sizeof(id_type)); }

 private:
  std::deque<id_type> free_;
};

// A block more is said to be free than there is, once the pool is less than half full.
// fault: exhaustion
class OptimistPool : public ListPool<std::int32_t> {
 public:
  explicit OptimistPool(std::int64_t total_blocks)
      : ListPool<std::int32_t>(total_blocks), half_(total_blocks / 2) {}
  std::int64_t num_free() const {
    const std::int64_t free = ListPool<std::int32_t>::num_free();
    return free > 0 && free < half_ ? free + 1 : free;
  }

 private:
  std::int64_t half_;
};

// remove() takes a block out of the count and leaves it in the list.
// fault: pool: remove
class HalfRemovingPool : public LruPool<std::int32_t> {
 public:
  using LruPool<std::int32_t>::LruPool;
  void remove(std::int32_t id) {
    LruPool<std::int32_t>::remove(id);
    LruPool<std::int32_t>::give(id);
    ++removed_;
  }
  std::int64_t num_free() const { return LruPool<std::int32_t>::num_free() - removed_; }

 private:
  std::int64_t removed_ = 0;
};

// All pools share one free list.
// fault: state shared
class GlobalPool {
 public:
  using id_type = std::int32_t;
  static constexpr const char* name = "global";
  static constexpr const char* reuse_order = "unspecified";

  explicit GlobalPool(std::int64_t total_blocks) {
    for (std::int64_t id = total_blocks; id-- > 0;) free().push_back(static_cast<id_type>(id));
  }
  std::int64_t num_free() const { return static_cast<std::int64_t>(free().size()); }
  id_type take() {
    const id_type id = free().back();
    free().pop_back();
    return id;
  }
  void give(id_type id) { free().push_back(id); }
  std::int64_t bytes() const { return 0; }

 private:
  static std::vector<id_type>& free() {
    static std::vector<id_type> all;
    return all;
  }
};

BLOCKMARK_POOL(LeakyStackPool);
BLOCKMARK_POOL(DoubleGivePool);
BLOCKMARK_POOL(ForgetfulStackPool);
BLOCKMARK_POOL(FromOnePool);
BLOCKMARK_POOL(ShortIdPool);
BLOCKMARK_POOL(QueueAsStackPool);
BLOCKMARK_POOL(OptimistPool);
BLOCKMARK_POOL(HalfRemovingPool);
BLOCKMARK_POOL(GlobalPool);

}  // namespace corpus
