// The counts of coverage.cpp as two functions of a module.
#pragma once

#include <nanobind/nanobind.h>

namespace blockmark {

namespace nb = nanobind;

void bind_coverage(nb::module_& m);

}  // namespace blockmark
