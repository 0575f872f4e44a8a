// Programs, histograms, conditions and counts of allocations.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "../allocations.hpp"
#include "../conditions.hpp"
#include "../histogram.hpp"
#include "../python_allocations.hpp"
#include "../python_stack.hpp"
#include "../stack_samples.hpp"
#include "python.hpp"

namespace blockmark {

namespace {

void bind_program(nb::module_& m) {
  using nb::arg;
  nb::class_<BoundProgram>(m, "Program")
      .def(nb::init<nb::handle, nb::handle, nb::handle, nb::handle, nb::handle, nb::handle,
                    nb::handle, nb::handle>(),
           arg("codes"), arg("run_start"), arg("a"), arg("b"), arg("c"), arg("step_runs"),
           arg("phases"), arg("setup_steps"))
      .def_prop_ro("num_steps", [](const BoundProgram& p) { return p.program.num_steps(); })
      .def_prop_ro("setup_steps", [](const BoundProgram& p) { return p.program.setup_steps(); })
      .def_prop_ro("num_operations",
                   [](const BoundProgram& p) { return p.program.num_operations(); });
}

void bind_histogram(nb::module_& m) {
  nb::class_<Histogram>(m, "Histogram")
      .def(nb::init<>())
      .def(
          "record",
          [](Histogram& self, std::int64_t ns) {
            if (ns < 0) throw_value("a time must not be negative");
            self.record(ns);
          },
          nb::arg("ns"))
      .def("counts", &Histogram::counts)
      .def_prop_ro("max_value", &Histogram::max_value)
      .def_prop_ro("samples", &Histogram::samples);
}

void bind_conditions(nb::module_& m) {
  nb::class_<Evictor>(m, "Evictor")
      .def(
          "__init__",
          [](Evictor* self, nb::handle bytes) {
            new (self) Evictor(size_argument(bytes, "bytes"));
          },
          nb::arg("bytes"))
      .def_prop_ro("bytes", &Evictor::bytes)
      .def("run", &Evictor::run);
  m.def(
      "probe_latency_ns",
      [](nb::handle bytes, Evictor* evictor) {
        return probe_latency_ns(size_argument(bytes, "bytes"), evictor);
      },
      nb::arg("bytes"), nb::arg("evictor") = nb::none());
  m.def("age_heap", &age_heap, nb::arg("seed"), nb::arg("megabytes"));
}

void bind_allocations(nb::module_& m) {
  m.def("heap_allocations", &heap_allocations);
  m.attr("allocation_counter_ok") = allocation_counter_works();
  m.def("python_allocations_start", &python_allocations_start);
  m.def("python_allocations_stop", &python_allocations_stop);
}

void bind_stack_samples(nb::module_& m) {
  m.attr("knows_python_frames") = kKnowsPythonFrames;
  m.def("stack_samples_start", &stack_samples_start, nb::arg("fd"));
  m.def("stack_samples_stop", &stack_samples_stop);
}

}  // namespace

void bind_measuring(nb::module_& m) {
  bind_program(m);
  bind_histogram(m);
  bind_conditions(m);
  bind_stack_samples(m);
  bind_allocations(m);
}

}  // namespace blockmark
