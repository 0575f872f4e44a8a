// The replay methods, the same for managers, pools and controls.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <vector>

#include "../allocations.hpp"
#include "../conditions.hpp"
#include "../histogram.hpp"
#include "../pacing.hpp"
#include "../region.hpp"
#include "../replay.hpp"
#include "python.hpp"

namespace blockmark {

// An array.array, which holds as many numbers as a list in a quarter of the memory.
[[gnu::cold, gnu::noinline]] inline nb::object number_array(
    const std::vector<std::int64_t>& numbers) {
  const nb::bytes memory(numbers.data(), numbers.size() * sizeof numbers[0]);
  return nb::module_::import_("array").attr("array")("q", memory);
}

// A target of replays and what it keeps between them.
template <class Target_>
struct Replayable {
  using Target = Target_;

  template <class Argument>
  explicit Replayable(const Argument& argument) : target(argument) {}

  Replay<Target> on(const BoundProgram& program) {
    return Replay<Target>(target, buffers, program.program);
  }
  [[gnu::cold, gnu::noinline]] nb::object answers(const BoundProgram& program, std::int64_t first,
                                                  std::int64_t count) {
    return number_array(on(program).answers(first, count));
  }

  Target target;
  ReplayBuffers<typename Target::id_type> buffers;
};

template <class Bound>
void bind_replay(nb::class_<Bound>& cls) {
  using nb::arg;
  using Steps = std::int64_t;
  cls.def(
      "replay_setup", [](Bound& self, const BoundProgram& program) { self.on(program).setup(); },
      arg("program"));
  cls.def(
      "replay",
      [](Bound& self, const BoundProgram& program, Steps first, Steps count) {
        return self.on(program).timed(first, count);
      },
      arg("program"), arg("first_step"), arg("num_steps"));
  cls.def(
      "replay_each",
      [](Bound& self, const BoundProgram& program, Steps first, Steps count, Histogram& phase1,
         Histogram& phase2) { self.on(program).each(first, count, phase1, phase2); },
      arg("program"), arg("first_step"), arg("num_steps"), arg("histogram1"), arg("histogram2"));
  cls.def(
      "replay_cold",
      [](Bound& self, const BoundProgram& program, Steps first, Steps count, Evictor& evictor) {
        return self.on(program).cold(first, count, evictor);
      },
      arg("program"), arg("first_step"), arg("num_steps"), arg("evictor"));
  cls.def(
      "count_allocations",
      [](Bound& self, const BoundProgram& program, Steps first, Steps count) {
        return self.on(program).allocations(first, count);
      },
      arg("program"), arg("first_step"), arg("num_steps"));
  cls.def(
      "replay_within",
      [](Bound& self, const BoundProgram& program, Steps first, Steps count, int phase,
         Region& region) { self.on(program).within(first, count, phase, region); },
      arg("program"), arg("first_step"), arg("num_steps"), arg("phase"), arg("region"));
  cls.def(
      "replay_paced",
      [](Bound& self, const BoundProgram& program, Steps first, std::int64_t interval,
         std::int64_t duration, const std::string& pacing, Evictor* stream, std::int64_t bytes) {
        const Pace pace(interval, duration, pacing, bytes);
        return self.on(program).paced(first, pace, stream, check_signals);
      },
      arg("program"), arg("first_step"), arg("interval_ns"), arg("duration_ns"), arg("pacing"),
      arg("stream") = nb::none(), arg("copy_bytes") = 0);
  // Every module counts its own: these are of the module that the class lives in.
  cls.def_static("heap_allocations", &heap_allocations);
  cls.attr("allocation_counter_ok") = allocation_counter_works();
}

// Apart from the rest: the managers of the core have it from a unit of its own, since code
// that a unit has more of changes what the compiler inlines into the timed loops.
template <class Bound>
void bind_answers(nb::class_<Bound> cls) {
  cls.def(
      "replay_answers",
      [](Bound& self, const BoundProgram& program, std::int64_t first, std::int64_t count) {
        return self.answers(program, first, count);
      },
      nb::arg("program"), nb::arg("first_step"), nb::arg("num_steps"));
}

}  // namespace blockmark
