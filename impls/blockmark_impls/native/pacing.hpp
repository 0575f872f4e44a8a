// The real-time loop: a tick of work at a fixed rate, as an engine takes its steps.
//
// Tick i is intended at start + i * interval. Its lateness is actual less intended start;
// its latency runs from the intended start, since a caller waits from then on, whoever is
// to blame. Busy time runs from the actual start. No tick is skipped: if one is late, the
// next starts at once, and lateness grows for as long as the work does not keep up.
//
// After a tick, off its clocks, bytes may be copied (what packing is judged against) and
// a buffer streamed (the rest of an engine, which uses the caches too). Then the loop
// waits for the next intended start.
//
// Work that no engine would do (bringing a load back to its beginning) is off the clock:
// the whole schedule is shifted by what it took, and its CPU time is taken out.
//
// The loop is compiled once and calls its work through a table, one call a tick: every
// structure, and the tick that does nothing, run in the very same loop.
#pragma once

#include <cstdint>
#include <string_view>

#include "conditions.hpp"
#include "histogram.hpp"

namespace blockmark {

class PacedWork {
 public:
  virtual ~PacedWork() = default;

  // What comes before the next tick and is off the clock.
  virtual bool has_untimed() const = 0;
  virtual void untimed() = 0;
  // The tick: its first phase, and its second, if it has one.
  virtual void first() = 0;
  virtual bool has_second() const = 0;
  virtual void second() = 0;
};

struct Pace {
  // sleep: clock_nanosleep until the intended start, with the thread's timer slack.
  // hybrid: the same until 100 us before, then as spin. spin: read the clock all along.
  enum class Waiting { sleep, hybrid, spin };

  // Throws Error(value) unless 1 <= interval <= duration <= one day, copy_bytes >= 0 and
  // `waiting` is the name of a way to wait.
  Pace(std::int64_t interval_ns, std::int64_t duration_ns, std::string_view waiting,
       std::int64_t copy_bytes = 0);

  std::int64_t interval_ns;
  std::int64_t duration_ns;
  Waiting waiting;
  std::int64_t copy_bytes;
};

struct Paced {
  std::int64_t ticks = 0;         // that ran
  std::int64_t intended = 0;      // whose intended start lies within the duration
  std::int64_t elapsed_ns = 0;    // start to end, what was off the clock left out
  std::int64_t off_clock_ns = 0;
  std::int64_t busy1_ns = 0;      // each with one reading of the clock a tick
  std::int64_t busy2_ns = 0;
  std::int64_t copy_ns = 0;
  std::int64_t missed = 0;        // ended after the next intended start, or never ran
  std::int64_t thread_cpu_ns = 0;  // of the whole loop, what was off the clock left out
  std::int64_t user_ns = 0;
  std::int64_t kernel_ns = 0;
  Histogram lateness;
  Histogram latency;
};

// Runs until the duration is over, waiting for its end if the work keeps up. `interrupt`
// is called every 50 ms or so, and when a signal ends a sleep; it throws to stop the loop.
Paced pace(const Pace& pace, PacedWork& work, Evictor* stream, void (*interrupt)());

// The same around a tick that does nothing.
Paced pace_nothing(const Pace& pace, Evictor* stream, void (*interrupt)());

}  // namespace blockmark
