// A magazine of free ids for each thread over one shared stack (Bonwick and Adams 2001, in
// one layer): only a magazine that runs empty or full goes to the shared lock.
//
// What lies in a magazine is free and yet out of others' reach: at most two magazines a
// thread are stranded.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "id_stack.hpp"
#include "mutex.hpp"
#include "shared_pool.hpp"

namespace blockmark {

class MagazinePool {
 public:
  static constexpr const char* name = "magazines";
  static constexpr std::int64_t default_size = 512;

  // Each thread holds up to 2 * `size` ids, so that a thread at the edge of a magazine does
  // not go to the lock on every call.
  MagazinePool(std::int64_t total, int threads, std::int64_t size = default_size)
      : shared_(total, threads), size_(size), own_(static_cast<std::size_t>(threads)) {
    for (Magazine& magazine : own_) magazine.ids.reserve(static_cast<std::size_t>(2 * size));
  }

  bool take(int thread, std::int64_t k, BlockId* out) {
    std::vector<BlockId>& ids = own_[thread].ids;
    const auto held = static_cast<std::int64_t>(ids.size());
    if (held < k && !refill(ids, k - held)) return false;
    std::copy(ids.end() - k, ids.end(), out);
    ids.resize(ids.size() - static_cast<std::size_t>(k));
    return true;
  }

  void give(int thread, const BlockId* given, std::int64_t k) {
    std::vector<BlockId>& ids = own_[thread].ids;
    if (static_cast<std::int64_t>(ids.size()) + k > 2 * size_) {
      // Down to one magazine, what is given included.
      const std::int64_t kept = std::max<std::int64_t>(0, size_ - k);
      const std::int64_t much = std::max<std::int64_t>(
          0, static_cast<std::int64_t>(ids.size()) - kept);
      shared_.give(thread, ids.data() + ids.size() - much, much);
      ids.resize(ids.size() - static_cast<std::size_t>(much));
      if (k > size_) {
        shared_.give(thread, given, k);
        return;
      }
    }
    ids.insert(ids.end(), given, given + k);
  }

  std::vector<BlockId> free_ids() const {
    std::vector<BlockId> all = shared_.free_ids();
    for (const Magazine& magazine : own_) {
      all.insert(all.end(), magazine.ids.begin(), magazine.ids.end());
    }
    return all;
  }
  std::int64_t stranded() const {
    std::int64_t count = 0;
    for (const Magazine& magazine : own_) count += static_cast<std::int64_t>(magazine.ids.size());
    return count;
  }

 private:
  struct alignas(apart) Magazine {
    std::vector<BlockId> ids;
  };

  // `missing` more ids at least, a whole magazine beyond them where the pool has it.
  bool refill(std::vector<BlockId>& ids, std::int64_t missing) {
    const std::size_t held = ids.size();
    for (const std::int64_t wanted : {missing + size_, missing}) {
      ids.resize(held + static_cast<std::size_t>(wanted));
      if (shared_.take(0, wanted, ids.data() + held)) return true;
    }
    ids.resize(held);
    return false;
  }

  MutexPool shared_;
  std::int64_t size_;
  std::vector<Magazine> own_;
};

static_assert(SharedPool<MagazinePool>);

}  // namespace blockmark
