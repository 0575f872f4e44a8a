// Counts of this module's heap allocations: its operator new is replaced, its calls of
// malloc and the like are wrapped by the linker.
#pragma once

#include <cstdint>

namespace blockmark {

// Requests to the heap that this thread has made from this module, by any operator new,
// by malloc, calloc, realloc, aligned_alloc, posix_memalign, memalign or strdup. Each
// counts once; never falls. What a library allocates for the module is not seen.
std::int64_t heap_allocations();

// Whether operator new and malloc in this module are the counting ones. They are not
// where another library's was bound in their place; counts must then not be shown.
bool allocation_counter_works();

}  // namespace blockmark
