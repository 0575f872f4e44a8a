// Threads that do the same at the same time, each on a processor of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace blockmark {

// What the kernel's books say of the calling thread.
struct ThreadBooks {
  std::int64_t voluntary = 0;    // switches because it waited
  std::int64_t involuntary = 0;  // switches because something else ran
  std::int64_t user_ns = 0;
  std::int64_t kernel_ns = 0;
  std::int64_t cpu_ns = 0;  // exact, where the split above is counted in ticks

  static ThreadBooks now();
  ThreadBooks operator-(const ThreadBooks& before) const;
};

// CPU time of the calling thread.
std::int64_t thread_cpu_ns();

// Processors that this process may use, in ascending order.
std::vector<int> usable_processors();

// Runs `work(i)` on `count` threads at once, and returns when all have. The caller is thread
// 0. Thread i is pinned to the i-th usable processor, around again where there are more
// threads; the caller's own affinity is as before afterwards. An exception of any thread is
// thrown again here. Throws std::system_error if a thread can't be made.
void run_crew(int count, const std::function<void(int)>& work);

}  // namespace blockmark
