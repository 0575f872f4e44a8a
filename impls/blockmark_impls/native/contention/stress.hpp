// Whether a pool hands a block out twice, or loses one.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "crew.hpp"
#include "shared_pool.hpp"

namespace blockmark {

// Who holds which block. Claims and releases of one block are never allowed to meet.
class Owners {
 public:
  explicit Owners(std::int64_t total)
      : total_(total), held_(std::make_unique<std::atomic<std::int32_t>[]>(total)) {
    for (std::int64_t i = 0; i < total; ++i) held_[i].store(nobody, std::memory_order_relaxed);
  }

  // Relaxed: the check must not order what the pool itself forgot to order.
  void claim(std::int32_t thread, BlockId id) {
    if (id >= total_) {
      fail("block " + std::to_string(id) + " does not exist");
    } else if (held_[id].exchange(thread, std::memory_order_relaxed) != nobody) {
      fail("block " + std::to_string(id) + " was handed out twice");
    }
  }
  void release(std::int32_t thread, BlockId id) {
    if (held_[id].exchange(nobody, std::memory_order_relaxed) != thread) {
      fail("block " + std::to_string(id) + " was handed out twice");
    }
  }
  // After the last operation: `free_ids` must be every block once. Returns what is wrong
  // first, or nothing.
  std::string verdict(std::vector<BlockId> free_ids) const {
    if (failed_.load()) return first_;
    std::sort(free_ids.begin(), free_ids.end());
    for (std::size_t i = 0; i < free_ids.size(); ++i) {
      if (i > 0 && free_ids[i] == free_ids[i - 1]) {
        return "block " + std::to_string(free_ids[i]) + " is free twice";
      }
    }
    const std::int64_t lost = total_ - static_cast<std::int64_t>(free_ids.size());
    return lost == 0 ? "" : std::to_string(lost) + " blocks were lost";
  }
  bool failed() const { return failed_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::int32_t nobody = -1;

  void fail(std::string what) {
    bool none = false;
    if (failed_.compare_exchange_strong(none, true)) first_ = std::move(what);
  }

  std::uint64_t total_;
  std::unique_ptr<std::atomic<std::int32_t>[]> held_;
  std::atomic<bool> failed_{false};
  std::string first_;
};

// `threads` threads take 1 .. `most` blocks at a time and hold up to four such batches, so
// that they give back in another order than they took; `rounds` takes each. Returns what
// went wrong, or nothing.
template <SharedPool Pool>
std::string stress(Pool& pool, std::int64_t total, int threads, std::int64_t rounds,
                   std::int64_t most) {
  Owners owners(total);
  run_crew(threads, [&](int thread) {
    std::uint64_t random = 0x9E3779B97F4A7C15u * static_cast<std::uint64_t>(thread + 1);
    std::vector<std::vector<BlockId>> held;
    const auto give = [&](std::size_t place) {
      for (const BlockId id : held[place]) owners.release(thread, id);
      pool.give(thread, held[place].data(), static_cast<std::int64_t>(held[place].size()));
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(place));
    };
    for (std::int64_t round = 0; round < rounds && !owners.failed(); ++round) {
      random ^= random << 13, random ^= random >> 7, random ^= random << 17;
      const auto k = 1 + static_cast<std::int64_t>(random % static_cast<std::uint64_t>(most));
      std::vector<BlockId> ids(static_cast<std::size_t>(k));
      if (pool.take(thread, k, ids.data())) {
        for (const BlockId id : ids) owners.claim(thread, id);
        if (owners.failed()) return;
        held.push_back(std::move(ids));
      }
      if (held.size() > 3) give(random / 64 % held.size());
    }
    while (!held.empty() && !owners.failed()) give(held.size() - 1);
  });
  return owners.verdict(owners.failed() ? std::vector<BlockId>{} : pool.free_ids());
}

}  // namespace blockmark
