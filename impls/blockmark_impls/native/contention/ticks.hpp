// The clock inside a window: cheaper than now_ns(), and the same on all processors.
#pragma once

#include <cstdint>

#include "../clock.hpp"
#include "shared_pool.hpp"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace blockmark {

// Time stamps of the processor where it has an invariant counter (x86), else nanoseconds.
inline std::int64_t ticks() {
#if defined(__x86_64__)
  return static_cast<std::int64_t>(__rdtsc());
#else
  return now_ns();
#endif
}

// Ticks in a nanosecond, measured once against the system's clock over 2 ms.
inline double ticks_per_ns() {
#if defined(__x86_64__)
  static const double rate = [] {
    const std::int64_t ns = now_ns(), start = ticks();
    while (now_ns() - ns < 2'000'000) {
    }
    const std::int64_t passed = ticks() - start;
    return static_cast<double>(passed) / static_cast<double>(now_ns() - ns);
  }();
  return rate;
#else
  return 1.0;
#endif
}

// Busy for so many ticks: what a thread does between two uses of the pool.
inline void think(std::int64_t duration) {
  if (duration <= 0) return;
  const std::int64_t until = ticks() + duration;
  while (ticks() < until) relax();
}

}  // namespace blockmark
