// Short windows in which all threads do the same, and which of them count.
//
// On a machine that others use too, two threads rarely run at the same time for long: runs
// of 10 ms showed no sharing of a line at all. So every window starts at a common tick and
// is short, and is accepted only if each thread began at once, was never taken off its
// processor (the kernel's count of involuntary switches), and never stood still for longer
// than a limit while it was not asleep of its own will (a hypervisor's doing, which the
// kernel's books don't show).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include "../histogram.hpp"
#include "crew.hpp"
#include "shared_pool.hpp"
#include "ticks.hpp"

namespace blockmark {

struct WindowPlan {
  int threads = 1;
  std::int64_t window_ns = 150'000;
  std::int64_t gap_limit_ns = 60'000;
  std::int64_t wanted = 100;  // accepted windows, after which no more are tried
  std::int64_t most = 300;    // windows tried at most
};

// One thread in one window.
struct ThreadWindow {
  std::int64_t ops = 0;
  std::int64_t elapsed_ns = 0;  // from its first operation to the end of its last
  std::int64_t late_ns = 0;     // how long after the common start it began
  std::int64_t gap_ns = 0;      // the longest it took from one look at the clock to the next
  std::int64_t voluntary = 0;
  std::int64_t involuntary = 0;
  std::int64_t cpu_ns = 0;  // from its first operation on
};

struct Window {
  bool accepted = false;
  std::vector<ThreadWindow> threads;
};

struct Windows {
  std::vector<Window> windows;
  Histogram latency;  // over accepted windows alone
};

// Times of one window, kept apart until the window is judged. More than fit are left out.
class Samples {
 public:
  Samples() { ns_.reserve(most); }
  void record(std::int64_t ns) {
    if (ns_.size() < most) ns_.push_back(static_cast<std::int32_t>(std::min<std::int64_t>(
        ns, std::numeric_limits<std::int32_t>::max())));
  }
  void clear() { ns_.clear(); }
  void move_to(Histogram& histogram) {
    for (const std::int32_t ns : ns_) histogram.record(ns);
  }

 private:
  static constexpr std::size_t most = 1 << 15;
  std::vector<std::int32_t> ns_;
};

inline bool ran_throughout(const ThreadWindow& one, const WindowPlan& plan) {
  const bool stood_still = one.gap_ns > plan.gap_limit_ns && one.voluntary == 0;
  // One that slept and was not given a processor when it was woken is displaced as well.
  const bool overdue = one.elapsed_ns > 4 * plan.window_ns;
  return one.ops > 0 && one.involuntary == 0 && !stood_still && !overdue &&
         one.late_ns <= plan.gap_limit_ns / 2;
}

// `work.chunk(thread, samples)` does a few operations and returns their number. Two looks at
// the clock lie one chunk apart.
template <class Work>
Windows run_windows(const WindowPlan& plan, Work& work) {
  const double rate = ticks_per_ns();
  const auto in_ticks = [&](std::int64_t ns) { return static_cast<std::int64_t>(ns * rate); };
  const auto in_ns = [&](std::int64_t span) {
    return static_cast<std::int64_t>(static_cast<double>(span) / rate);
  };
  struct alignas(apart) Own {
    ThreadWindow window;
    Samples samples;
  };
  std::vector<Own> own(static_cast<std::size_t>(plan.threads));
  struct alignas(apart) {
    std::atomic<std::int64_t> number{0};
    std::atomic<std::int64_t> start{0};
    std::atomic<bool> over{false};
  } call;
  alignas(apart) std::atomic<int> done{0};

  const auto one_window = [&](int thread, std::int64_t start) {
    Own& mine = own[static_cast<std::size_t>(thread)];
    mine.samples.clear();
    const ThreadBooks before = ThreadBooks::now();
    while (ticks() < start) relax();
    const std::int64_t end = start + in_ticks(plan.window_ns);
    const std::int64_t cpu = thread_cpu_ns();
    const std::int64_t first = ticks();
    std::int64_t ops = 0, gap = 0, last = first;
    while (last < end) {
      ops += work.chunk(thread, mine.samples);
      const std::int64_t now = ticks();
      gap = std::max(gap, now - last);
      last = now;
    }
    const std::int64_t used_cpu = thread_cpu_ns() - cpu;
    const ThreadBooks used = ThreadBooks::now() - before;
    mine.window = {ops,        in_ns(last - first), in_ns(first - start), in_ns(gap),
                   used.voluntary, used.involuntary, used_cpu};
  };
  const auto patiently_until = [](auto&& reached) {
    for (int tries = 0; !reached(); ++tries) {
      if (tries < 20'000) {
        relax();
      } else {
        std::this_thread::yield();
      }
    }
  };

  Windows result;
  const auto lead = [&] {
    std::int64_t accepted = 0;
    for (std::int64_t number = 1; number <= plan.most && accepted < plan.wanted; ++number) {
      done.store(0, std::memory_order_relaxed);
      const std::int64_t start = ticks() + in_ticks(20'000);
      call.start.store(start, std::memory_order_relaxed);
      call.number.store(number, std::memory_order_release);
      one_window(0, start);
      patiently_until([&] {
        return done.load(std::memory_order_acquire) == plan.threads - 1 ||
               call.over.load(std::memory_order_acquire);
      });
      if (call.over.load(std::memory_order_acquire)) return;
      Window window;
      window.accepted = true;
      for (const Own& each : own) {
        window.threads.push_back(each.window);
        window.accepted = window.accepted && ran_throughout(each.window, plan);
      }
      if (window.accepted) {
        ++accepted;
        for (Own& each : own) each.samples.move_to(result.latency);
      }
      result.windows.push_back(std::move(window));
    }
  };
  const auto follow = [&](int thread) {
    for (std::int64_t number = 1;; ++number) {
      patiently_until([&] {
        return call.number.load(std::memory_order_acquire) >= number ||
               call.over.load(std::memory_order_acquire);
      });
      if (call.number.load(std::memory_order_acquire) < number) return;
      one_window(thread, call.start.load(std::memory_order_relaxed));
      done.fetch_add(1, std::memory_order_release);
    }
  };
  // Whoever throws ends it for all: the others would wait for that thread for ever.
  run_crew(plan.threads, [&](int thread) {
    try {
      thread == 0 ? lead() : follow(thread);
    } catch (...) {
      call.over.store(true, std::memory_order_release);
      throw;
    }
    if (thread == 0) call.over.store(true, std::memory_order_release);
  });
  return result;
}

}  // namespace blockmark
