// Counts of heap allocations: operator new of this module, replaced.
#pragma once

#include <cstdint>

namespace blockmark {

// Calls of any operator new that this thread has made from this module; never falls.
std::int64_t heap_allocations();

// Whether operator new in this module is the counting one. It is not where another
// library's was bound in its place; counts must then not be shown.
bool allocation_counter_works();

}  // namespace blockmark
