// std::mutex: one compare-and-swap while it is free, the kernel's queue when it is not.
#pragma once

#include <mutex>

#include "locked_pool.hpp"

namespace blockmark {

class Mutex {
 public:
  static constexpr const char* name = "mutex";
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

using MutexPool = LockedPool<Mutex>;
static_assert(SharedPool<MutexPool>);

}  // namespace blockmark
