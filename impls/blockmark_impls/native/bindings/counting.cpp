// Regions, the sources that count inside them, and the loop that tries a counter out.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <utility>
#include <vector>

#include "../callgrind.hpp"
#include "../count_loop.hpp"
#include "../perf_events.hpp"
#include "../region.hpp"
#include "python.hpp"

namespace blockmark {

namespace {

nb::list read(const PerfEvents& events) {
  nb::list result;
  for (const auto& group : events.read()) {
    nb::list counts;
    for (const auto& count : group) {
      if (count) {
        counts.append(nb::make_tuple(count->count, count->enabled_ns, count->running_ns));
      } else {
        counts.append(nb::none());
      }
    }
    result.append(counts);
  }
  return result;
}

void bind_regions(nb::module_& m) {
  nb::class_<Region>(m, "Region").def("enter", &Region::enter).def("leave", &Region::leave);
  nb::class_<PerfEvents, Region>(m, "PerfEvents")
      .def(nb::init<const std::vector<std::vector<PerfEvents::Event>>&, bool>(), nb::arg("groups"),
           nb::arg("exclude_kernel") = true)
      .def("errors", &PerfEvents::errors)
      .def("read", &read)
      .def("reset", &PerfEvents::reset)
      .def("close", &PerfEvents::close);
  nb::class_<CallgrindRegion, Region>(m, "CallgrindRegion").def(nb::init<>());
}

}  // namespace

void bind_counting(nb::module_& m) {
  bind_regions(m);
  m.attr("callgrind_header") = callgrind_header();
  m.def("running_on_valgrind", &running_on_valgrind);
  m.def("callgrind_start_instrumentation", &callgrind_start_instrumentation);
  m.def("callgrind_stop_instrumentation", &callgrind_stop_instrumentation);
  m.def("callgrind_dump", &callgrind_dump, nb::arg("label"));
  m.def("count_loop", &count_loop, nb::arg("iterations"));
}

}  // namespace blockmark
