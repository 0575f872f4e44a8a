// Pools that threads share, and counts whose lines they share, as Python calls.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <concepts>
#include <string>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "../contention/adaptive.hpp"
#include "../contention/contend.hpp"
#include "../contention/false_sharing.hpp"
#include "../contention/magazines.hpp"
#include "../contention/mutex.hpp"
#include "../contention/none.hpp"
#include "../contention/spin.hpp"
#include "../contention/stress.hpp"
#include "../contention/treiber.hpp"
#include "python.hpp"

namespace blockmark {

namespace {

constexpr int most_threads = 4096;
constexpr std::int64_t most_blocks = 2'147'483'647;

int checked_threads(std::int64_t threads) {
  if (threads < 1 || threads > most_threads) {
    throw_value("threads must be from 1 to " + std::to_string(most_threads));
  }
  return static_cast<int>(threads);
}

std::int64_t checked_blocks(std::int64_t total) {
  if (total < 1 || total > most_blocks) throw_value("total_blocks must be from 1 to 2^31 - 1");
  return total;
}

WindowPlan window_plan(int threads, std::int64_t window_ns, std::int64_t gap_limit_ns,
                       std::int64_t wanted, std::int64_t most) {
  if (window_ns < 1 || gap_limit_ns < 1 || wanted < 1 || most < 1) {
    throw_value("a window, a gap and the numbers of windows must be positive");
  }
  return {threads, window_ns, gap_limit_ns, wanted, most};
}

template <class Pool>
int checked_for(int threads) {
  if (std::same_as<Pool, UnlockedPool> && threads > 1) {
    throw_value("a pool without a lock serves one thread");
  }
  return threads;
}

template <SharedPool Pool>
class Bound {
 public:
  template <class... More>
  Bound(std::int64_t total, std::int64_t threads, More... more)
      : total_(checked_blocks(total)),
        threads_(checked_for<Pool>(checked_threads(threads))),
        pool_(total_, threads_, more...) {}

  std::vector<BlockId> take(int thread, std::int64_t k) {
    check(thread);
    if (k < 0 || k > most_blocks) throw_value("k must not be negative");
    if (k > total_) throw_out_of_blocks(k, 0);
    std::vector<BlockId> ids(static_cast<std::size_t>(k));
    if (!pool_.take(thread, k, ids.data())) throw_out_of_blocks(k, 0);
    taken_.insert(ids.begin(), ids.end());
    return ids;
  }
  // The pools believe their callers, and would write past their ends for one too many.
  void give(int thread, const std::vector<BlockId>& ids) {
    check(thread);
    std::unordered_set<BlockId> once;
    for (const BlockId id : ids) {
      if (id >= total_) throw_value("there is no block " + std::to_string(id));
      if (!taken_.contains(id) || !once.insert(id).second) {
        throw_value("block " + std::to_string(id) + " is not taken");
      }
    }
    for (const BlockId id : ids) taken_.erase(id);
    pool_.give(thread, ids.data(), static_cast<std::int64_t>(ids.size()));
  }
  std::vector<BlockId> free_ids() const { return pool_.free_ids(); }
  std::int64_t stranded() const { return pool_.stranded(); }

  Windows windows(std::int64_t batch, std::int64_t think_ns, std::int64_t window_ns,
                  std::int64_t gap_limit_ns, std::int64_t wanted, std::int64_t most) {
    const WindowPlan plan = window_plan(threads_, window_ns, gap_limit_ns, wanted, most);
    Pairs<Pool> pairs(pool_, pair_plan(batch, think_ns));
    return run_windows(plan, pairs);
  }
  Stretch closed(std::int64_t batch, std::int64_t think_ns, std::int64_t duration_ns) {
    return run_closed(pool_, pair_plan(batch, think_ns), duration_ns);
  }
  Stretch paced(std::int64_t batch, std::int64_t think_ns, std::int64_t duration_ns, double rate) {
    if (!(rate > 0.0)) throw_value("a rate must be positive");
    return run_paced(pool_, pair_plan(batch, think_ns), duration_ns, rate);
  }
  std::string stressed(std::int64_t rounds, std::int64_t most) {
    if (most < 1 || most > total_) throw_value("most must be from 1 to the number of blocks");
    return stress(pool_, total_, threads_, rounds, most);
  }

 private:
  void check(int thread) const {
    if (thread < 0 || thread >= threads_) throw_value("there is no such thread");
  }
  PairPlan pair_plan(std::int64_t batch, std::int64_t think_ns) const {
    if (batch < 1 || batch > total_) throw_value("batch must be from 1 to the number of blocks");
    if (think_ns < 0) throw_value("think_ns must not be negative");
    return {threads_, batch, think_ns};
  }

  std::int64_t total_;
  int threads_;
  Pool pool_;
  std::unordered_set<BlockId> taken_;  // by take() above and not yet given
};

template <SharedPool Pool>
nb::class_<Bound<Pool>> bind_shared_pool(nb::module_& m) {
  using nb::arg;
  using Made = Bound<Pool>;
  const std::string class_name = std::string("SharedPool_") + Pool::name;
  nb::class_<Made> cls(m, class_name.c_str());
  const auto free = nb::call_guard<nb::gil_scoped_release>();
  cls.def("take", &Made::take, arg("thread"), arg("k"))
      .def("give", &Made::give, arg("thread"), arg("ids"))
      .def("free_ids", &Made::free_ids)
      .def_prop_ro("stranded", &Made::stranded)
      .def("windows", &Made::windows, arg("batch"), arg("think_ns"), arg("window_ns"),
           arg("gap_limit_ns"), arg("wanted"), arg("most"), free)
      .def("closed", &Made::closed, arg("batch"), arg("think_ns"), arg("duration_ns"), free)
      .def("paced", &Made::paced, arg("batch"), arg("think_ns"), arg("duration_ns"), arg("rate"),
           free)
      .def("stress", &Made::stressed, arg("rounds"), arg("most"), free);
  m.attr("_shared_pools")[Pool::name] = cls;
  return cls;
}

template <SharedPool Pool>
void bind_plain(nb::module_& m) {
  bind_shared_pool<Pool>(m).def(nb::init<std::int64_t, std::int64_t>(), nb::arg("total_blocks"),
                                nb::arg("threads"));
}

// (operations, elapsed ns, late ns, gap ns, voluntary, involuntary switches, CPU ns) of a
// thread.
using Row = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                       std::int64_t, std::int64_t>;

void bind_results(nb::module_& m) {
  nb::class_<Windows>(m, "Windows")
      .def_prop_ro("accepted",
                   [](const Windows& self) {
                     std::vector<bool> all;
                     for (const Window& each : self.windows) all.push_back(each.accepted);
                     return all;
                   })
      .def_prop_ro("threads",
                   [](const Windows& self) {
                     std::vector<std::vector<Row>> all;
                     for (const Window& each : self.windows) {
                       std::vector<Row>& rows = all.emplace_back();
                       for (const ThreadWindow& t : each.threads) {
                         rows.emplace_back(t.ops, t.elapsed_ns, t.late_ns, t.gap_ns, t.voluntary,
                                           t.involuntary, t.cpu_ns);
                       }
                     }
                     return all;
                   })
      .def_ro("latency", &Windows::latency);
  nb::class_<ThreadTotal>(m, "ThreadTotal")
      .def_ro("pairs", &ThreadTotal::pairs)
      .def_ro("refused", &ThreadTotal::refused)
      .def_ro("elapsed_ns", &ThreadTotal::elapsed_ns)
      .def_ro("in_pool_ns", &ThreadTotal::in_pool_ns)
      .def_prop_ro("voluntary", [](const ThreadTotal& self) { return self.books.voluntary; })
      .def_prop_ro("involuntary", [](const ThreadTotal& self) { return self.books.involuntary; })
      .def_prop_ro("user_ns", [](const ThreadTotal& self) { return self.books.user_ns; })
      .def_prop_ro("kernel_ns", [](const ThreadTotal& self) { return self.books.kernel_ns; })
      .def_prop_ro("cpu_ns", [](const ThreadTotal& self) { return self.books.cpu_ns; });
  nb::class_<Stretch>(m, "Stretch")
      .def_ro("threads", &Stretch::threads)
      .def_ro("latency", &Stretch::latency);
}

// A write that is lost would be a race of this harness, and its time worth nothing.
template <class Work>
Windows windows_of(Work work, const WindowPlan& plan) {
  Windows result = run_windows(plan, work);
  for (int thread = 0; thread < plan.threads; ++thread) {
    std::int64_t written = 0;
    for (const Window& each : result.windows) written += each.threads[thread].ops;
    if (!work.arrived(thread, written)) throw_value("a write of a thread was lost");
  }
  return result;
}

Windows counter_windows(bool atomic, std::int64_t stride, const WindowPlan& plan) {
  if (atomic) return windows_of(Counters<Write::atomic>(plan.threads, stride), plan);
  return windows_of(Counters<Write::plain>(plan.threads, stride), plan);
}

template <class T>
Windows walk_of(bool atomic, std::int64_t total, std::int64_t stride, Layout layout,
                std::uint64_t seed, const WindowPlan& plan) {
  if (atomic) {
    return windows_of(RefCountWalk<Write::atomic, T>(plan.threads, total, stride, layout, seed),
                      plan);
  }
  return windows_of(RefCountWalk<Write::plain, T>(plan.threads, total, stride, layout, seed),
                    plan);
}

Windows ref_count_windows(bool atomic, std::int64_t total, std::int64_t bytes,
                          const std::string& layout, std::uint64_t seed, const WindowPlan& plan) {
  if (checked_blocks(total) < plan.threads) throw_value("every thread needs a block");
  const Layout where = layout == "range"         ? Layout::range
                       : layout == "interleaved" ? Layout::interleaved
                       : layout == "shuffled"
                           ? Layout::shuffled
                           : (throw_value("unknown layout " + layout), Layout::range);
  switch (bytes) {
    case 1: return walk_of<std::uint8_t>(atomic, total, bytes, where, seed, plan);
    case 2: return walk_of<std::uint16_t>(atomic, total, bytes, where, seed, plan);
    case 4: return walk_of<std::uint32_t>(atomic, total, bytes, where, seed, plan);
    // One ref count on a line of its own.
    case 64: return walk_of<std::uint16_t>(atomic, total, bytes, where, seed, plan);
  }
  throw_value("a ref count has 1, 2, 4 or 64 bytes");
}

}  // namespace

void bind_contention(nb::module_& m) {
  using nb::arg;
  const auto free = nb::call_guard<nb::gil_scoped_release>();
  bind_results(m);
  m.attr("_shared_pools") = nb::dict();
  bind_plain<UnlockedPool>(m);
  bind_plain<MutexPool>(m);
  bind_plain<SpinPool>(m);
  bind_plain<AdaptivePool>(m);
  bind_plain<TreiberPool>(m);
  bind_shared_pool<MagazinePool>(m).def(
      "__init__",
      [](Bound<MagazinePool>* self, std::int64_t total, std::int64_t threads, std::int64_t size) {
        if (size < 1 || size > most_blocks / 4) throw_value("a magazine holds one block or more");
        new (self) Bound<MagazinePool>(total, threads, size);
      },
      arg("total_blocks"), arg("threads"), arg("magazine") = MagazinePool::default_size);
  m.def(
      "counter_windows",
      [](bool atomic, std::int64_t stride, std::int64_t threads, std::int64_t window_ns,
         std::int64_t gap_limit_ns, std::int64_t wanted, std::int64_t most) {
        return counter_windows(
            atomic, stride,
            window_plan(checked_threads(threads), window_ns, gap_limit_ns, wanted, most));
      },
      arg("atomic"), arg("stride"), arg("threads"), arg("window_ns"), arg("gap_limit_ns"),
      arg("wanted"), arg("most"), free);
  m.def(
      "ref_count_windows",
      [](bool atomic, std::int64_t total, std::int64_t bytes, const std::string& layout,
         std::uint64_t seed, std::int64_t threads, std::int64_t window_ns,
         std::int64_t gap_limit_ns, std::int64_t wanted, std::int64_t most) {
        return ref_count_windows(
            atomic, total, bytes, layout, seed,
            window_plan(checked_threads(threads), window_ns, gap_limit_ns, wanted, most));
      },
      arg("atomic"), arg("total_blocks"), arg("bytes"), arg("layout"), arg("seed"),
      arg("threads"), arg("window_ns"), arg("gap_limit_ns"), arg("wanted"), arg("most"), free);
  m.def("ping_pong_ns", &ping_pong_ns, free);
}

}  // namespace blockmark
