// What a paced loop found, and the loop around nothing.
#include "../pacing.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

#include "python.hpp"

namespace blockmark {

void bind_pacing(nb::module_& m) {
  nb::class_<Paced>(m, "Paced")
      .def_ro("ticks", &Paced::ticks)
      .def_ro("intended", &Paced::intended)
      .def_ro("elapsed_ns", &Paced::elapsed_ns)
      .def_ro("off_clock_ns", &Paced::off_clock_ns)
      .def_ro("busy1_ns", &Paced::busy1_ns)
      .def_ro("busy2_ns", &Paced::busy2_ns)
      .def_ro("copy_ns", &Paced::copy_ns)
      .def_ro("missed", &Paced::missed)
      .def_ro("thread_cpu_ns", &Paced::thread_cpu_ns)
      .def_ro("user_ns", &Paced::user_ns)
      .def_ro("kernel_ns", &Paced::kernel_ns)
      .def_ro("lateness", &Paced::lateness)
      .def_ro("latency", &Paced::latency);
  m.def(
      "pace_nothing",
      [](std::int64_t interval, std::int64_t duration, const std::string& pacing,
         Evictor* stream) {
        return pace_nothing(Pace(interval, duration, pacing), stream, check_signals);
      },
      nb::arg("interval_ns"), nb::arg("duration_ns"), nb::arg("pacing"),
      nb::arg("stream") = nb::none());
}

}  // namespace blockmark
