// Client requests to callgrind. Outside valgrind they do nothing and cost nothing worth
// mentioning; without valgrind's header at build they are missing, and say so.
#pragma once

#include "region.hpp"

namespace blockmark {

bool callgrind_header();
bool running_on_valgrind();

// All below throw std::runtime_error without the header.

// Where callgrind collects, if it was started with --collect-atstart=no.
class CallgrindRegion final : public Region {
 public:
  CallgrindRegion();

  void enter() override;
  void leave() override;

 private:
  // The request turns collecting over, so twice would be back again.
  bool inside_ = false;
};

// From here on caches are simulated, and begin cold; the warm-up comes after.
void callgrind_start_instrumentation();
void callgrind_stop_instrumentation();

// Writes what was collected to a file that names the label, and zeroes it.
void callgrind_dump(const char* label);

}  // namespace blockmark
