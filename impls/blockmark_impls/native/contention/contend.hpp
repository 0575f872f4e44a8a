// Threads that take blocks out of one pool and give them back: in short windows that prove
// that they overlapped, in one long stretch with all disturbances, and at a stated rate.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "../histogram.hpp"
#include "crew.hpp"
#include "shared_pool.hpp"
#include "ticks.hpp"
#include "windows.hpp"

namespace blockmark {

// What each thread does: takes `batch` blocks, is busy for `think_ns`, gives them back.
struct PairPlan {
  int threads = 1;
  std::int64_t batch = 1;
  std::int64_t think_ns = 0;
};

// One thread over a whole stretch.
struct ThreadTotal {
  std::int64_t pairs = 0;
  std::int64_t refused = 0;  // takes that found too few blocks
  std::int64_t elapsed_ns = 0;
  std::int64_t in_pool_ns = 0;  // inside take and give; of a paced stretch alone
  ThreadBooks books;
};

struct Stretch {
  std::vector<ThreadTotal> threads;
  Histogram latency;
};

// Pairs of take and give on one pool. A take is timed alone every few pairs: a look at the
// clock costs as much as a whole pair where nobody contends.
template <SharedPool Pool>
class Pairs {
 public:
  Pairs(Pool& pool, const PairPlan& plan)
      : pool_(pool), batch_(plan.batch),
        think_(static_cast<std::int64_t>(static_cast<double>(plan.think_ns) * ticks_per_ns())),
        ns_per_tick_(1.0 / ticks_per_ns()),
        untimed_(plan.think_ns >= 1'000 || plan.batch >= 16 ? 0 : plan.think_ns >= 100 ? 1 : 7),
        own_(static_cast<std::size_t>(plan.threads)) {
    for (Own& each : own_) each.ids.resize(static_cast<std::size_t>(plan.batch));
  }

  template <class Sink>
  std::int64_t chunk(int thread, Sink& sink) {
    const std::int64_t start = ticks();
    const bool had = take(thread);
    const std::int64_t end = ticks();
    if (had) {
      sink.record(to_ns(end - start));
      think(think_);
      give(thread);
    }
    std::int64_t pairs = had;
    for (int i = 0; i < untimed_; ++i) {
      if (!take(thread)) continue;
      think(think_);
      give(thread);
      ++pairs;
    }
    return pairs;
  }

  bool take(int thread) {
    Own& mine = own_[thread];
    const bool had = pool_.take(thread, batch_, mine.ids.data());
    mine.refused += !had;
    return had;
  }
  void give(int thread) { pool_.give(thread, own_[thread].ids.data(), batch_); }
  void work() const { think(think_); }
  std::int64_t refused(int thread) const { return own_[thread].refused; }
  // A negative span would be two processors whose time stamps differ.
  std::int64_t to_ns(std::int64_t span) const {
    return static_cast<std::int64_t>(static_cast<double>(std::max<std::int64_t>(span, 0)) *
                                     ns_per_tick_);
  }

 private:
  struct alignas(apart) Own {
    std::vector<BlockId> ids;
    std::int64_t refused = 0;
  };

  Pool& pool_;
  std::int64_t batch_;
  std::int64_t think_;
  double ns_per_tick_;
  int untimed_;
  std::vector<Own> own_;
};

// One stretch: `loop(thread, pairs, total, histogram)` until it is over.
template <SharedPool Pool, class Loop>
Stretch run_stretch(Pool& pool, const PairPlan& plan, Loop&& loop) {
  Pairs<Pool> pairs(pool, plan);
  struct alignas(apart) Own {
    ThreadTotal total;
    Histogram latency;
  };
  std::vector<Own> own(static_cast<std::size_t>(plan.threads));
  const std::int64_t start = now_ns() + 200'000;
  run_crew(plan.threads, [&](int thread) {
    Own& mine = own[static_cast<std::size_t>(thread)];
    while (now_ns() < start) relax();
    const ThreadBooks before = ThreadBooks::now();
    const std::int64_t began = now_ns();
    loop(thread, pairs, start, mine.total, mine.latency);
    mine.total.elapsed_ns = now_ns() - began;
    mine.total.books = ThreadBooks::now() - before;
    mine.total.refused = pairs.refused(thread);
  });
  Stretch result;
  for (const Own& each : own) {
    result.threads.push_back(each.total);
    result.latency.merge(each.latency);
  }
  return result;
}

// As fast as the pool lets them, for `duration_ns`.
template <SharedPool Pool>
Stretch run_closed(Pool& pool, const PairPlan& plan, std::int64_t duration_ns) {
  return run_stretch(pool, plan, [&](int thread, auto& pairs, std::int64_t start,
                                     ThreadTotal& total, Histogram& latency) {
    while (now_ns() - start < duration_ns) total.pairs += pairs.chunk(thread, latency);
  });
}

// `rate` requests a second over all threads, evenly: request i is thread (i mod threads)'s,
// and its latency counts from when it should have started, so that a request that had to
// wait for the one before has waited. Between requests a thread reads the clock: asleep it
// would show what waking costs, and switches that are not the pool's.
template <SharedPool Pool>
Stretch run_paced(Pool& pool, const PairPlan& plan, std::int64_t duration_ns, double rate) {
  const double interval = 1e9 / rate;
  return run_stretch(pool, plan, [&](int thread, auto& pairs, std::int64_t start,
                                     ThreadTotal& total, Histogram& latency) {
    for (std::int64_t request = thread;; request += plan.threads) {
      const auto offset = static_cast<std::int64_t>(static_cast<double>(request) * interval);
      if (offset >= duration_ns) return;
      while (now_ns() - start < offset) relax();
      const std::int64_t began = ticks();
      const bool had = pairs.take(thread);
      const std::int64_t taken = ticks();
      latency.record(std::max<std::int64_t>(now_ns() - start - offset, 0));
      total.in_pool_ns += pairs.to_ns(taken - began);
      if (!had) continue;
      pairs.work();
      const std::int64_t giving = ticks();
      pairs.give(thread);
      total.in_pool_ns += pairs.to_ns(ticks() - giving);
      ++total.pairs;
    }
  });
}

}  // namespace blockmark
