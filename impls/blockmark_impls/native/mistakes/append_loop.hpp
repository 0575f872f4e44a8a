// Appends with what a copy-on-write is about: the bytes of the block. Each copy that the
// manager asks for is made, from and to places that are nobody's in particular but lie
// beyond what the last-level cache holds, as the blocks of a real cache do.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "../aligned_array.hpp"
#include "../clock.hpp"
#include "../contract.hpp"

namespace blockmark {

// `bytes` of memory in slots of `payload` bytes, walked round and round.
class PayloadArena {
 public:
  // Throws Error(value) unless two slots fit, std::bad_alloc.
  PayloadArena(std::int64_t payload, std::int64_t bytes) : payload_(payload) {
    if (payload < 0) throw_value("payload must not be negative");
    if (payload == 0) return;
    if (bytes / payload < 2) throw_value("an arena needs room for two payloads");
    memory_ = AlignedArray<char>(bytes / payload * payload, 1);
  }

  std::int64_t payload() const { return payload_; }
  std::int64_t bytes() const { return memory_.bytes(); }
  char first_byte(std::int64_t slot) const { return memory_[slot * payload_]; }

  void copy() {
    if (payload_ == 0) return;
    const std::int64_t from = at_;
    const std::int64_t to = after(from);
    at_ = after(to);
    char* memory = memory_.data();
    std::memcpy(memory + to, memory + from, static_cast<std::size_t>(payload_));
    asm volatile("" : : "r"(memory + to) : "memory");
  }

 private:
  std::int64_t after(std::int64_t place) const {
    const std::int64_t next = place + payload_;
    return next + payload_ > memory_.bytes() ? 0 : next;
  }

  std::int64_t payload_;
  std::int64_t at_ = 0;
  AlignedArray<char> memory_;
};

struct Appended {
  std::int64_t ns = 0;
  std::int64_t copies = 0;
  std::int64_t most_extra = 0;  // blocks held while a copy was made, beyond those held after it
};

// `steps` times one token for each of `seqs`. Throws what append throws.
template <class Manager>
[[gnu::noinline]] Appended append_loop(Manager& manager, const std::int32_t* seqs,
                                       std::int64_t count, std::int64_t steps,
                                       PayloadArena& arena) {
  Appended done;
  const std::int64_t started = now_ns();
  for (std::int64_t step = 0; step < steps; ++step) {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t copies = done.copies;
      std::int64_t free_meanwhile = 0;
      manager.append(seqs[i], [&](std::int64_t, std::int64_t) {
        ++done.copies;
        free_meanwhile = manager.num_free();
        arena.copy();
      });
      if (done.copies != copies) {
        done.most_extra = std::max(done.most_extra, manager.num_free() - free_meanwhile);
      }
    }
  }
  done.ns = now_ns() - started;
  return done;
}

}  // namespace blockmark
