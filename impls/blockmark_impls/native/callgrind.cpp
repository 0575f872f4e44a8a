#include "callgrind.hpp"

#include <stdexcept>

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#define BLOCKMARK_CALLGRIND 1
#endif

namespace blockmark {

#ifdef BLOCKMARK_CALLGRIND

bool callgrind_header() { return true; }
bool running_on_valgrind() { return RUNNING_ON_VALGRIND != 0; }

CallgrindRegion::CallgrindRegion() = default;

void CallgrindRegion::enter() {
  if (inside_) return;
  inside_ = true;
  CALLGRIND_TOGGLE_COLLECT;
}

void CallgrindRegion::leave() {
  if (!inside_) return;
  CALLGRIND_TOGGLE_COLLECT;
  inside_ = false;
}

void callgrind_start_instrumentation() { CALLGRIND_START_INSTRUMENTATION; }
void callgrind_stop_instrumentation() { CALLGRIND_STOP_INSTRUMENTATION; }
void callgrind_dump(const char* label) { CALLGRIND_DUMP_STATS_AT(label); }

#else

namespace {

[[noreturn]] void throw_missing() {
  throw std::runtime_error(
      "the core was built without valgrind's header; install valgrind (on some systems "
      "valgrind-devel), then blockmark again");
}

}  // namespace

bool callgrind_header() { return false; }
bool running_on_valgrind() { return false; }

CallgrindRegion::CallgrindRegion() { throw_missing(); }
void CallgrindRegion::enter() {}
void CallgrindRegion::leave() {}

void callgrind_start_instrumentation() { throw_missing(); }
void callgrind_stop_instrumentation() { throw_missing(); }
void callgrind_dump(const char*) { throw_missing(); }

#endif

}  // namespace blockmark
