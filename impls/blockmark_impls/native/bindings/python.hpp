// What all binding files share: the Python side of errors, numbers and buffers.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <span>
#include <string>

#include "../program.hpp"

namespace blockmark {

namespace nb = nanobind;

// A class of blockmark_impls.contract.
nb::object contract_class(const char* name);

// A size given by a user: numbers beyond int64 are a ValueError like other absurd ones,
// not the TypeError of a failed conversion.
std::int64_t size_argument(nb::handle value, const char* name);

// Runs the Python side of signals that have come. Throws nb::python_error if that raises,
// as Ctrl-C does.
void check_signals();

// A one-dimensional, contiguous buffer of one item type, held for as long as this lives.
class Column {
 public:
  // `kind` is 'i' for signed, 'u' for unsigned. Throws Error(value) for another type or
  // shape, nb::python_error if `source` has no buffer.
  Column(nb::handle source, const char* name, char kind, std::size_t item_size);
  Column(const Column&) = delete;
  Column& operator=(const Column&) = delete;
  ~Column() { PyBuffer_Release(&view_); }

  template <class T>
  std::span<const T> items() const {
    return {static_cast<const T*>(view_.buf), static_cast<std::size_t>(view_.len) / sizeof(T)};
  }

 private:
  Py_buffer view_;
};

// A Program and the buffers that it reads.
struct BoundProgram {
  BoundProgram(nb::handle codes_, nb::handle run_start_, nb::handle a_, nb::handle b_,
               nb::handle c_, nb::handle step_runs_, nb::handle phases_, nb::handle setup_steps)
      : codes(codes_, "codes", 'u', 1),
        run_start(run_start_, "run_start", 'i', 8),
        a(a_, "a", 'i', 4),
        b(b_, "b", 'i', 4),
        c(c_, "c", 'i', 4),
        step_runs(step_runs_, "step_runs", 'i', 8),
        phases(phases_, "phases", 'u', 1),
        program({codes.items<std::uint8_t>(), run_start.items<std::int64_t>(),
                 a.items<std::int32_t>(), b.items<std::int32_t>(), c.items<std::int32_t>(),
                 step_runs.items<std::int64_t>(), phases.items<std::uint8_t>()},
                size_argument(setup_steps, "setup_steps")) {}

  Column codes, run_start, a, b, c, step_runs, phases;
  Program program;
};

// The binding functions of the other files.
void bind_pools(nb::module_& m);
void bind_controls(nb::module_& m);
void bind_measuring(nb::module_& m);
void bind_counting(nb::module_& m);
void bind_pacing(nb::module_& m);
void bind_mistakes(nb::module_& m);
void bind_layouts(nb::module_& m);
void bind_contention(nb::module_& m);

}  // namespace blockmark
