// Samples of the Python stack, each written from within a signal.
#pragma once

#include <cstdint>

namespace blockmark {

// From here on a SIGALRM that meets this thread writes its Python stack to `fd`, as text of
// the interpreter's own fault handler. Register that handler (faulthandler.register) first:
// it is the way to the stack where the interpreter exports no other.
//
// A signal can fall where the interpreter is entering a function from C and its innermost
// frame is not set yet (CPython 3.11 and 3.12), and the walk then follows what happened to be
// in memory. A fault on that walk ends the sample, not the process: the line `Lost` takes the
// place of what is missing. Throws Error(value) if started already, or if there is no such
// handler.
void stack_samples_start(int fd);

// Puts the signal handlers back as they were found; returns the samples lost. Throws
// Error(value) if not started.
std::int64_t stack_samples_stop();

}  // namespace blockmark
