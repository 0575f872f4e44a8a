// A stack of ids behind one lock of any kind.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "id_stack.hpp"
#include "shared_pool.hpp"

namespace blockmark {

// The lock and the top share a line: whoever gets the lock has the top with it.
template <class Lock>
class alignas(apart) LockedPool {
 public:
  static constexpr const char* name = Lock::name;

  LockedPool(std::int64_t total, int) : free_(total) {}

  bool take(int, std::int64_t k, BlockId* out) {
    const std::lock_guard<Lock> held(lock_);
    return free_.take(k, out);
  }
  void give(int, const BlockId* ids, std::int64_t k) {
    const std::lock_guard<Lock> held(lock_);
    free_.give(ids, k);
  }

  std::vector<BlockId> free_ids() const {
    std::vector<BlockId> all;
    free_.append_to(all);
    return all;
  }
  std::int64_t stranded() const { return 0; }

 private:
  Lock lock_;
  IdStack free_;
};

}  // namespace blockmark
