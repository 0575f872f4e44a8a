// No lock at all: for one thread, the floor of the others.
#pragma once

#include "locked_pool.hpp"

namespace blockmark {

struct NoLock {
  static constexpr const char* name = "none";
  void lock() {}
  void unlock() {}
};

using UnlockedPool = LockedPool<NoLock>;
static_assert(SharedPool<UnlockedPool>);

}  // namespace blockmark
