// A test-and-test-and-set lock: a waiter reads its own copy of the line until that is taken
// away, and only then writes (Rudolph and Segall 1984). It never sleeps.
#pragma once

#include <atomic>

#include "locked_pool.hpp"

namespace blockmark {

class SpinLock {
 public:
  static constexpr const char* name = "spin";
  void lock() {
    while (taken_.exchange(true, std::memory_order_acquire)) {
      while (taken_.load(std::memory_order_relaxed)) relax();
    }
  }
  void unlock() { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_{false};
};

using SpinPool = LockedPool<SpinLock>;
static_assert(SharedPool<SpinPool>);

}  // namespace blockmark
