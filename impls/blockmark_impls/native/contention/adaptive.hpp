// Compare-and-swap while contention is low, a wait queue once it is high: a hundred spins,
// then the kernel's queue (futex). The states are those of Drepper, "Futexes Are Tricky"
// (2011), mutex 2: 0 free, 1 held, 2 held and somebody may sleep.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "locked_pool.hpp"

namespace blockmark {

class AdaptiveLock {
 public:
  static constexpr const char* name = "adaptive";
  static constexpr int spins = 100;

  void lock() {
    // At once, without a look: a load right behind this thread's own unlock has to wait for it.
    if (swapped_in()) return;
    for (int i = 0; i < spins; ++i) {
      if (state_.load(std::memory_order_relaxed) == 0 && swapped_in()) return;
      relax();
    }
    while (state_.exchange(2, std::memory_order_acquire) != 0) wait_while(2);
  }
  void unlock() {
    if (state_.exchange(0, std::memory_order_release) == 2) wake_one();
  }

 private:
  static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

  bool swapped_in() {
    std::uint32_t free = 0;
    return state_.compare_exchange_strong(free, 1, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }
  // Returns at once if the state is another by now, and may return for no reason.
  void wait_while(std::uint32_t state) {
    syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, state, nullptr, nullptr, 0);
  }
  void wake_one() { syscall(SYS_futex, &state_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0); }

  std::atomic<std::uint32_t> state_{0};
};

using AdaptivePool = LockedPool<AdaptiveLock>;
static_assert(SharedPool<AdaptivePool>);

}  // namespace blockmark
