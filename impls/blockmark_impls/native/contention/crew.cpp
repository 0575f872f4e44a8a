#include "crew.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include <atomic>
#include <ctime>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

namespace blockmark {

namespace {

std::int64_t in_ns(const timeval& t) {
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_usec * 1'000;
}

// An affinity mask as large as the kernel's: machines have more than cpu_set_t numbers.
class Mask {
 public:
  static constexpr int most = 8192;

  Mask() : set_(CPU_ALLOC(most), [](cpu_set_t* set) { CPU_FREE(set); }) {
    CPU_ZERO_S(bytes(), set_.get());
  }
  static std::size_t bytes() { return CPU_ALLOC_SIZE(most); }
  bool read() { return sched_getaffinity(0, bytes(), set_.get()) == 0; }
  bool apply() const { return sched_setaffinity(0, bytes(), set_.get()) == 0; }
  bool has(int cpu) const { return CPU_ISSET_S(cpu, bytes(), set_.get()); }
  void add(int cpu) { CPU_SET_S(cpu, bytes(), set_.get()); }

 private:
  std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set_;
};

// A thread that can't be pinned runs where the kernel likes: overlap is proved, not assumed.
void pin(int cpu) {
  Mask one;
  one.add(cpu);
  one.apply();
}

}  // namespace

std::int64_t thread_cpu_ns() {
  timespec cpu{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
  return static_cast<std::int64_t>(cpu.tv_sec) * 1'000'000'000 + cpu.tv_nsec;
}

ThreadBooks ThreadBooks::now() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return {usage.ru_nvcsw, usage.ru_nivcsw, in_ns(usage.ru_utime), in_ns(usage.ru_stime),
          thread_cpu_ns()};
}

ThreadBooks ThreadBooks::operator-(const ThreadBooks& before) const {
  return {voluntary - before.voluntary, involuntary - before.involuntary,
          user_ns - before.user_ns, kernel_ns - before.kernel_ns, cpu_ns - before.cpu_ns};
}

std::vector<int> usable_processors() {
  Mask mask;
  std::vector<int> found;
  if (mask.read()) {
    for (int cpu = 0; cpu < Mask::most; ++cpu) {
      if (mask.has(cpu)) found.push_back(cpu);
    }
  }
  if (found.empty()) found.push_back(0);
  return found;
}

void run_crew(int count, const std::function<void(int)>& work) {
  // The C library locks a mutex without an atomic instruction in a process that never had a
  // second thread: half the price, which no engine gets.
  static std::once_flag had_another;
  std::call_once(had_another, [] { std::thread([] {}).join(); });
  const std::vector<int> processors = usable_processors();
  Mask before;
  const bool known = before.read();

  std::mutex guard;
  std::exception_ptr failure;
  // Nobody starts before all are there: one that can't be made must not leave others waiting.
  std::atomic<int> decision{0};  // 1 go, -1 go home
  const auto member = [&](int thread) {
    pin(processors[static_cast<std::size_t>(thread) % processors.size()]);
    while (decision.load(std::memory_order_acquire) == 0) std::this_thread::yield();
    if (decision.load(std::memory_order_relaxed) < 0) return;
    try {
      work(thread);
    } catch (...) {
      const std::lock_guard<std::mutex> held(guard);
      if (!failure) failure = std::current_exception();
    }
  };

  std::vector<std::thread> others;
  try {
    for (int thread = 1; thread < count; ++thread) others.emplace_back(member, thread);
  } catch (...) {
    decision.store(-1, std::memory_order_release);
    for (std::thread& other : others) other.join();
    throw;
  }
  decision.store(1, std::memory_order_release);
  member(0);
  for (std::thread& other : others) other.join();
  if (known) before.apply();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace blockmark
