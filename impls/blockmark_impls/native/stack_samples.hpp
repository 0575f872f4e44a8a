// Samples of the Python stack, each written from within a signal.
#pragma once

#include <cstdint>

namespace blockmark {

// From here on a SIGALRM that meets this thread writes its Python stack to `fd`, as
// write_python_stack words it.
//
// A signal can fall where the interpreter is entering a function from C and its innermost
// frame is not set yet. A fault on the way through that ends the attempt, not the process: the
// sample is of the calls that led there. Throws Error(value) if started already, or where the
// frames of this interpreter are not known.
void stack_samples_start(int fd);

// Puts the signal handlers back as they were found; returns the samples lost, of which there
// was nothing to write. Throws Error(value) if not started.
std::int64_t stack_samples_stop();

}  // namespace blockmark
