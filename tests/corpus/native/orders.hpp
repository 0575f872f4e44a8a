// Free pools that keep their declared order but for one case, and batches in another order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "blockmark.hpp"
#include "pools/list.hpp"

namespace corpus {

using blockmark::ListPool;

// A stack, the front of which can be reached.
class PlainStack {
 public:
  using id_type = std::int32_t;
  static constexpr const char* name = "plain-stack";
  static constexpr const char* reuse_order = "LIFO";

  explicit PlainStack(std::int64_t total_blocks) {
    for (std::int64_t id = total_blocks; id-- > 0;) free_.push_back(static_cast<id_type>(id));
  }
  std::int64_t num_free() const { return static_cast<std::int64_t>(free_.size()); }
  id_type take() {
    const id_type id = free_.back();
    free_.pop_back();
    return id;
  }
  void give(id_type id) { free_.push_back(id); }
  std::int64_t bytes() const { return static_cast<std::int64_t>(free_.size() * sizeof(id_type)); }

 protected:
  id_type take_first() {
    const id_type id = free_.front();
    free_.pop_front();
    return id;
  }

  std::deque<id_type> free_;
};

// The block freed longest ago comes first when three or two are left.
// fault: pool: reuse order
class NearEmptyPool : public PlainStack {
 public:
  using PlainStack::PlainStack;
  id_type take() {
    const bool few = free_.size() == 3 || free_.size() == 2;
    return few ? take_first() : PlainStack::take();
  }
};

// A block that comes back where 200 and more are free goes below the one on top.
// fault: pool: reuse order
class CrowdedStackPool : public PlainStack {
 public:
  using PlainStack::PlainStack;
  void give(id_type id) {
    PlainStack::give(id);
    if (free_.size() > 200) std::swap(free_.back(), free_[free_.size() - 2]);
  }
};

// A queue but for every ninth block that comes back, which goes to the front.
// fault: pool: reuse order
class NearlyQueuePool : public PlainStack {
 public:
  static constexpr const char* reuse_order = "FIFO";

  explicit NearlyQueuePool(std::int64_t total_blocks) : PlainStack(total_blocks) {
    std::reverse(free_.begin(), free_.end());
  }
  id_type take() { return take_first(); }
  void give(id_type id) { ++gives_ % 9 == 0 ? free_.push_front(id) : free_.push_back(id); }

 private:
  int gives_ = 0;
};

// A bitmap's order, in which the block that follows the last one taken is passed over.
// fault: pool: reuse order
class PassesOverPool : public PlainStack {
 public:
  static constexpr const char* reuse_order = "next-fit";

  explicit PassesOverPool(std::int64_t total_blocks) : PlainStack(total_blocks) {
    std::reverse(free_.begin(), free_.end());
  }
  id_type take() {
    auto next = std::lower_bound(free_.begin(), free_.end(), cursor_);
    if (gave_ && next != free_.end() && next + 1 != free_.end()) ++next;
    if (next == free_.end()) next = free_.begin();
    const id_type id = *next;
    free_.erase(next);
    cursor_ = id + 1;
    gave_ = false;
    return id;
  }
  void give(id_type id) {
    free_.insert(std::lower_bound(free_.begin(), free_.end(), id), id);
    gave_ = true;
  }

 private:
  id_type cursor_ = 0;
  bool gave_ = false;
};

// Several blocks that come back at once come back in reverse order.
// fault: pool: batches
class ReversedGivePool : public ListPool<std::int32_t> {
 public:
  using ListPool<std::int32_t>::ListPool;
  using ListPool<std::int32_t>::give;
  using ListPool<std::int32_t>::take;
  void take(std::int64_t k, std::int32_t* out) {
    for (std::int64_t i = 0; i < k; ++i) out[i] = take();
  }
  void give(const std::int32_t* ids, std::int64_t k) {
    for (std::int64_t i = k; i-- > 0;) give(ids[i]);
  }
};

// Several blocks that are taken at once are listed in reverse order.
// right: no order is declared of the blocks that one call takes
class ReversedTakePool : public ListPool<std::int32_t> {
 public:
  using ListPool<std::int32_t>::ListPool;
  using ListPool<std::int32_t>::give;
  using ListPool<std::int32_t>::take;
  void take(std::int64_t k, std::int32_t* out) {
    for (std::int64_t i = k; i-- > 0;) out[i] = take();
  }
  void give(const std::int32_t* ids, std::int64_t k) {
    for (std::int64_t i = 0; i < k; ++i) give(ids[i]);
  }
};

// Of 32 blocks and more that are taken at once, the last one stays in the pool.
// fault: pool: batches
class KeepsLastOfBatchPool : public ListPool<std::int32_t> {
 public:
  using ListPool<std::int32_t>::ListPool;
  using ListPool<std::int32_t>::give;
  using ListPool<std::int32_t>::take;
  void take(std::int64_t k, std::int32_t* out) {
    for (std::int64_t i = 0; i < k; ++i) out[i] = take();
    if (k >= 32) give(out[k - 1]);
  }
  void give(const std::int32_t* ids, std::int64_t k) {
    for (std::int64_t i = 0; i < k; ++i) give(ids[i]);
  }
};

// The bytes of the free list are those of what is free less those of what is taken.
// fault: bytes
class NegativeBytesPool : public PlainStack {
 public:
  explicit NegativeBytesPool(std::int64_t total_blocks)
      : PlainStack(total_blocks), total_(total_blocks) {}
  std::int64_t bytes() const { return (2 * num_free() - total_) * 1024; }

 private:
  std::int64_t total_;
};

BLOCKMARK_POOL(NearEmptyPool);
BLOCKMARK_POOL(CrowdedStackPool);
BLOCKMARK_POOL(NearlyQueuePool);
BLOCKMARK_POOL(PassesOverPool);
BLOCKMARK_POOL(ReversedGivePool);
BLOCKMARK_POOL(ReversedTakePool);
BLOCKMARK_POOL(KeepsLastOfBatchPool);
BLOCKMARK_POOL(NegativeBytesPool);

}  // namespace corpus
