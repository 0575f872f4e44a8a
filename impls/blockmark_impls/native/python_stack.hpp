// A thread's Python stack, read at a moment that the interpreter did not choose.
#pragma once

#include <Python.h>

#include <cstddef>

namespace blockmark {

// Whether the frames of this interpreter are known: CPython 3.11 to 3.13 with its lock.
extern const bool kKnowsPythonFrames;

// Writes the calls that `thread` is in, the innermost first, as the interpreter's own fault
// handler words them, but for names, which are UTF-8. Returns the bytes written, 0 if the calls
// can't be followed or need more than `room`.
//
// Frames are a list for each time that the interpreter was entered from C; `entries_out` leaves
// that many of the newest lists out. Within a few instructions the newest is not set yet, and
// then what is read here may be anything: calls are told from garbage where that can be seen,
// and the caller has to survive a fault. Allocates nothing and takes no lock.
std::size_t write_python_stack(PyThreadState* thread, int entries_out, char* text,
                               std::size_t room);

}  // namespace blockmark
