// Writes of several threads to neighbouring counts that nobody shares, but whose cache lines
// they share: false sharing.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "../aligned_array.hpp"
#include "shared_pool.hpp"

namespace blockmark {

// A plain write is a load, an addition and a store that the compiler may not keep in a
// register; an atomic one is a single locked instruction.
enum class Write { plain, atomic };

template <Write how, class T>
inline void add(std::atomic<T>& count, T amount) {
  if constexpr (how == Write::plain) {
    count.store(static_cast<T>(count.load(std::memory_order_relaxed) + amount),
                std::memory_order_relaxed);
  } else {
    count.fetch_add(amount, std::memory_order_relaxed);
  }
}

// One 64-bit counter a thread, `stride` bytes apart.
template <Write how>
class Counters {
 public:
  // Throws Error(value) unless 8 <= stride and a multiple of 8.
  Counters(int threads, std::int64_t stride) : step_(stride / 8) {
    if (stride < 8 || stride % 8 != 0) throw_value("stride must be a multiple of 8 bytes");
    counts_ = AlignedArray<Line>(threads * stride / cache_line + 2, Line{});
  }

  template <class Sink>
  std::int64_t chunk(int thread, Sink&) {
    std::atomic<std::int64_t>& mine = at(thread);
    for (int i = 0; i < writes; ++i) add<how, std::int64_t>(mine, 1);
    return writes;
  }
  // Whether so many writes of a thread have arrived, as they must.
  bool arrived(int thread, std::int64_t written) { return at(thread).load() == written; }

 private:
  static constexpr int writes = 128;
  struct Line {
    std::int64_t words[cache_line / 8];
  };
  static_assert(sizeof(std::atomic<std::int64_t>) == 8);

  std::atomic<std::int64_t>& at(int thread) {
    return reinterpret_cast<std::atomic<std::int64_t>*>(counts_.data())[thread * step_];
  }

  std::int64_t step_;
  AlignedArray<Line> counts_;
};

// Whose blocks lie where: each thread has a range of ids, every n-th id, or any.
enum class Layout { range, interleaved, shuffled };

// The ref counts of a pool, `stride` bytes apart. Each thread walks its own blocks: up on
// one pass, down on the next.
template <Write how, class T>
class RefCountWalk {
 public:
  RefCountWalk(int threads, std::int64_t total, std::int64_t stride, Layout layout,
               std::uint64_t seed)
      : step_(stride / static_cast<std::int64_t>(sizeof(T))),
        counts_(total * step_, T{0}),
        own_(static_cast<std::size_t>(threads)) {
    std::vector<std::uint32_t> ids(static_cast<std::size_t>(total));
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::uint32_t>(i);
    if (layout == Layout::shuffled) {
      std::mt19937_64 random(seed);
      std::shuffle(ids.begin(), ids.end(), random);
    }
    const std::size_t each = ids.size() / own_.size();
    for (std::size_t thread = 0; thread < own_.size(); ++thread) {
      for (std::size_t i = 0; i < each; ++i) {
        const std::size_t place =
            layout == Layout::interleaved ? i * own_.size() + thread : thread * each + i;
        own_[thread].ids.push_back(ids[place]);
      }
    }
  }

  template <class Sink>
  std::int64_t chunk(int thread, Sink&) {
    Own& mine = own_[static_cast<std::size_t>(thread)];
    const std::size_t last = std::min(mine.place + writes, mine.ids.size());
    const auto amount = static_cast<T>(mine.up ? 1 : -1);
    auto* counts = reinterpret_cast<std::atomic<T>*>(counts_.data());
    const auto done = static_cast<std::int64_t>(last - mine.place);
    for (; mine.place < last; ++mine.place) add<how, T>(counts[mine.ids[mine.place] * step_], amount);
    if (mine.place == mine.ids.size()) {
      mine.place = 0;
      mine.up = !mine.up;
    }
    return done;
  }
  // Whether a thread's counts are where its walk has left them: one more than none behind it
  // on the way up, none on the way down.
  bool arrived(int thread, std::int64_t) {
    const Own& mine = own_[static_cast<std::size_t>(thread)];
    for (std::size_t i = 0; i < mine.ids.size(); ++i) {
      const T wanted = (i < mine.place) == mine.up ? 1 : 0;
      if (counts_[mine.ids[i] * step_] != wanted) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t writes = 128;
  static_assert(sizeof(std::atomic<T>) == sizeof(T));
  struct alignas(apart) Own {
    std::vector<std::uint32_t> ids;
    std::size_t place = 0;
    bool up = true;
  };

  std::int64_t step_;
  AlignedArray<T> counts_;
  std::vector<Own> own_;
};

// Nanoseconds in which a line goes from one processor to the other and back, the least of
// many tries: about 20 where both are threads of one core, several times that where a line
// crosses between cores. Negative with a single processor.
double ping_pong_ns();

}  // namespace blockmark
