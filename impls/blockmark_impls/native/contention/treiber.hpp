// A lock-free stack (Treiber 1986) of block ids, k of them in one compare-and-swap.
//
// The head holds the first free id and a tag that goes up with every pop. Without the tag a
// slow pop could find the same head again after others had popped it, popped its successor
// and pushed it back, and would put the successor, which is in use, at the head (ABA). The
// tag has 32 bits: it would take 2^32 pops within one slow one to fool it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "shared_pool.hpp"

namespace blockmark {

class TreiberPool {
 public:
  static constexpr const char* name = "treiber";

  TreiberPool(std::int64_t total, int) : next_(std::make_unique<Link[]>(total)), head_(0) {
    for (std::int64_t i = 0; i < total; ++i) {
      const bool last = i + 1 == total;
      next_[i].store(last ? end : static_cast<BlockId>(i + 1), std::memory_order_relaxed);
    }
    head_.store(total == 0 ? pack(0, end) : pack(0, 0));
  }

  bool take(int, std::int64_t k, BlockId* out) {
    if (k == 0) return true;
    for (;;) {
      Chain chain = read_chain(k, out);
      if (chain.length == k) {
        if (unlink(chain)) return true;
      } else if (head_.load(std::memory_order_acquire) == chain.head) {
        // Nothing moved while the chain was read, so it really is that short.
        return false;
      }
      relax();
    }
  }

  void give(int, const BlockId* ids, std::int64_t k) {
    if (k == 0) return;
    for (std::int64_t i = 0; i + 1 < k; ++i) {
      next_[ids[i]].store(ids[i + 1], std::memory_order_relaxed);
    }
    std::uint64_t head = head_.load(std::memory_order_relaxed);
    do {
      next_[ids[k - 1]].store(first(head), std::memory_order_relaxed);
    } while (!head_.compare_exchange_weak(head, pack(tag(head), ids[0]), std::memory_order_release,
                                          std::memory_order_relaxed));
  }

  // A pop in two halves, so that a test can put others between them. What is read may be
  // out of date, and then it cannot be unlinked.
  struct Chain {
    std::uint64_t head;
    std::int64_t length;
    BlockId behind;
  };
  Chain read_chain(std::int64_t k, BlockId* out) const {
    const std::uint64_t head = head_.load(std::memory_order_acquire);
    Chain chain{head, 0, first(head)};
    while (chain.length < k && chain.behind != end) {
      out[chain.length++] = chain.behind;
      chain.behind = next_[chain.behind].load(std::memory_order_relaxed);
    }
    return chain;
  }
  bool unlink(const Chain& chain) {
    std::uint64_t head = chain.head;
    return head_.compare_exchange_strong(head, pack(tag(head) + 1, chain.behind),
                                         std::memory_order_acq_rel, std::memory_order_relaxed);
  }

  std::vector<BlockId> free_ids() const {
    std::vector<BlockId> all;
    for (BlockId id = first(head_.load()); id != end; id = next_[id].load()) all.push_back(id);
    return all;
  }
  std::int64_t stranded() const { return 0; }

 private:
  using Link = std::atomic<BlockId>;
  static constexpr BlockId end = ~BlockId{0};

  static std::uint64_t pack(std::uint32_t tag, BlockId id) {
    return (static_cast<std::uint64_t>(tag) << 32) | id;
  }
  static BlockId first(std::uint64_t head) { return static_cast<BlockId>(head); }
  static std::uint32_t tag(std::uint64_t head) { return static_cast<std::uint32_t>(head >> 32); }

  std::unique_ptr<Link[]> next_;
  alignas(apart) std::atomic<std::uint64_t> head_;
};

static_assert(SharedPool<TreiberPool>);

}  // namespace blockmark
