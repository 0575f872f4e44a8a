// The one clock of the native loops. The call is opaque to the compiler, so no store or
// load moves across it.
#pragma once

#include <ctime>

#include <cstdint>

namespace blockmark {

inline std::int64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

}  // namespace blockmark
