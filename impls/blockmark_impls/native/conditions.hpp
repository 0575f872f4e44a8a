// The state of the machine around a measurement: caches evicted, the heap aged.
#pragma once

#include <cstdint>

#include "aligned_array.hpp"

namespace blockmark {

// A buffer that is streamed to push everything else out of the caches.
class Evictor {
 public:
  // Throws Error(value) unless 1 <= bytes, std::bad_alloc.
  explicit Evictor(std::int64_t bytes);

  std::int64_t bytes() const { return words_.bytes(); }

  // Writes one word of every line: a line that was only read could be dropped again
  // before older ones, and a written one has to be owned first.
  void run();

 private:
  AlignedArray<std::uint64_t> words_;
};

// Nanoseconds of one load that waits for the one before, over a buffer of that size:
// every cache line once, in random order. The buffer is walked once beforehand; with an
// evictor, that runs in between, so that the answer is the latency of whatever level
// the buffer was pushed out to. Throws Error(value) below four lines.
double probe_latency_ns(std::int64_t bytes, Evictor* evictor);

// Leaves the heap as that of a process that has run for long: full of holes, in random
// order, among blocks that stay. Returns how many blocks stay (for the life of the
// process). Throws Error(value) unless 1 <= megabytes <= 65,536.
std::int64_t age_heap(std::uint64_t seed, std::int64_t megabytes);

}  // namespace blockmark
