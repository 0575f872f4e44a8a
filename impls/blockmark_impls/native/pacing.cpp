#include "pacing.hpp"

#include <sys/resource.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <limits>
#include <string>

#include "aligned_array.hpp"
#include "clock.hpp"
#include "contract.hpp"

namespace blockmark {

namespace {

constexpr std::int64_t one_day_ns = std::int64_t{86'400} * 1'000'000'000;
constexpr std::int64_t interrupt_every_ns = 50'000'000;
constexpr std::int64_t hybrid_spin_ns = 100'000;

std::int64_t nanoseconds(const timespec& t) {
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

std::int64_t nanoseconds(const timeval& t) {
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_usec * 1'000;
}

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

Pace::Waiting waiting_named(std::string_view name) {
  if (name == "sleep") return Pace::Waiting::sleep;
  if (name == "hybrid") return Pace::Waiting::hybrid;
  if (name == "spin") return Pace::Waiting::spin;
  throw_value("pacing must be sleep, hybrid or spin, not '" + std::string(name) + "'");
}

// CPU time of this thread.
struct Usage {
  std::int64_t cpu = 0, user = 0, kernel = 0;

  static Usage now() {
    timespec cpu{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return {nanoseconds(cpu), nanoseconds(usage.ru_utime), nanoseconds(usage.ru_stime)};
  }
  Usage& operator+=(const Usage& other) {
    cpu += other.cpu;
    user += other.user;
    kernel += other.kernel;
    return *this;
  }
  Usage operator-(const Usage& other) const {
    return {cpu - other.cpu, user - other.user, kernel - other.kernel};
  }
};

class Waiter {
 public:
  Waiter(Pace::Waiting waiting, void (*interrupt)()) : interrupt_(interrupt) {
    switch (waiting) {
      case Pace::Waiting::sleep: spin_ns_ = 0; break;
      case Pace::Waiting::hybrid: spin_ns_ = hybrid_spin_ns; break;
      case Pace::Waiting::spin: spin_ns_ = std::numeric_limits<std::int64_t>::max(); break;
    }
    next_interrupt_ = now_ns() + interrupt_every_ns;
  }

  // Returns the clock once it has reached `due`, at once if it has already.
  std::int64_t until(std::int64_t due) {
    for (;;) {
      const std::int64_t now = now_ns();
      if (now >= next_interrupt_) {
        interrupt_();
        next_interrupt_ = now + interrupt_every_ns;
        continue;
      }
      if (now >= due) return now;
      due - now > spin_ns_ ? sleep_until(due - spin_ns_) : relax();
    }
  }

 private:
  void sleep_until(std::int64_t due) {
    const timespec at{static_cast<time_t>(due / 1'000'000'000),
                      static_cast<long>(due % 1'000'000'000)};
    if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) == EINTR) interrupt_();
  }

  void (*interrupt_)();
  std::int64_t spin_ns_ = 0;
  std::int64_t next_interrupt_;
};

// Bytes copied from a buffer of their own to another, always the same ones.
class Copier {
 public:
  explicit Copier(std::int64_t bytes) : from_(bytes, 1), to_(bytes, 0) {}

  bool has_bytes() const { return from_.size() != 0; }
  void run() {
    std::memcpy(to_.data(), from_.data(), static_cast<std::size_t>(from_.size()));
    asm volatile("" : : "r"(to_.data()) : "memory");
  }

 private:
  AlignedArray<std::uint8_t> from_, to_;
};

class Nothing final : public PacedWork {
 public:
  bool has_untimed() const override { return false; }
  void untimed() override {}
  void first() override {}
  bool has_second() const override { return false; }
  void second() override {}
};

}  // namespace

Pace::Pace(std::int64_t interval, std::int64_t duration, std::string_view name, std::int64_t bytes)
    : interval_ns(interval),
      duration_ns(duration),
      waiting(waiting_named(name)),
      copy_bytes(bytes) {
  if (interval < 1) {
    throw_value("interval_ns must be at least 1, not " + std::to_string(interval));
  }
  if (duration < interval) {
    throw_value("duration_ns must be at least the interval of " + std::to_string(interval) +
                ", not " + std::to_string(duration));
  }
  if (duration > one_day_ns) {
    throw_value("duration_ns must be at most a day, not " + std::to_string(duration));
  }
  if (bytes < 0) throw_value("copy_bytes must not be negative, as " + std::to_string(bytes) + " is");
}

Paced pace(const Pace& pace, PacedWork& work, Evictor* stream, void (*interrupt)()) {
  // Everything that is written below is made, and its pages mapped, before the start.
  Paced paced;
  Copier copier(pace.copy_bytes);
  Waiter waiter(pace.waiting, interrupt);
  Usage off_clock;
  paced.intended = (pace.duration_ns - 1) / pace.interval_ns + 1;

  const Usage before = Usage::now();
  const std::int64_t start = now_ns();
  // The start of the schedule, shifted by all that was off the clock so far.
  std::int64_t origin = start;
  std::int64_t overran = 0;
  while (paced.ticks < paced.intended) {
    if (work.has_untimed()) {
      const std::int64_t stopped = now_ns();
      const Usage usage = Usage::now();
      work.untimed();
      off_clock += Usage::now() - usage;
      origin += now_ns() - stopped;
    }
    const std::int64_t due = origin + paced.ticks * pace.interval_ns;
    const std::int64_t started = waiter.until(due);
    if (started - origin >= pace.duration_ns) break;

    work.first();
    const std::int64_t between = now_ns();
    std::int64_t ended = between;
    if (work.has_second()) {
      work.second();
      ended = now_ns();
    }

    paced.busy1_ns += between - started;
    paced.busy2_ns += ended - between;
    paced.lateness.record(started - due);
    paced.latency.record(ended - due);
    if (ended - due > pace.interval_ns) ++overran;
    ++paced.ticks;
    if (copier.has_bytes()) {
      const std::int64_t copying = now_ns();
      copier.run();
      paced.copy_ns += now_ns() - copying;
    }
    if (stream != nullptr) stream->run();
  }
  const std::int64_t end = waiter.until(origin + pace.duration_ns);
  const Usage used = Usage::now() - before - off_clock;

  paced.elapsed_ns = end - origin;
  paced.off_clock_ns = origin - start;
  paced.missed = overran + paced.intended - paced.ticks;
  paced.thread_cpu_ns = used.cpu;
  paced.user_ns = used.user;
  paced.kernel_ns = used.kernel;
  return paced;
}

Paced pace_nothing(const Pace& pace_, Evictor* stream, void (*interrupt)()) {
  Nothing nothing;
  return pace(pace_, nothing, stream, interrupt);
}

}  // namespace blockmark
