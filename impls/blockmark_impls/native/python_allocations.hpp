// Counts of allocation requests made by the Python interpreter.
#pragma once

#include <cstdint>

namespace blockmark {

// Installs a counting hook over the object and the mem domain. Requests above 512 bytes
// also reach the raw domain, so counting that too would count them twice. Objects that
// come from an interpreter's free list are no request. Throws Error(value) if installed.
void python_allocations_start();

// Removes it; returns the requests (malloc, calloc and realloc) in between. Throws
// Error(value) if it is not installed.
std::int64_t python_allocations_stop();

}  // namespace blockmark
