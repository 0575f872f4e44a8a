// What a pool that several threads share must have.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace blockmark {

using BlockId = std::uint32_t;

// Ids 0 .. total - 1, all free at first. `thread` numbers the caller from 0; two callers
// never use the same number at once. `take` hands out k ids or, where it has fewer, none.
// `free_ids` (every free block, wherever it lies) and `stranded` (those of them that one
// thread alone can take) are for a pool that nobody uses just then.
template <class Pool>
concept SharedPool = requires(Pool& pool, const Pool& still, int thread, std::int64_t k,
                              BlockId* out, const BlockId* ids) {
  { Pool::name } -> std::convertible_to<const char*>;
  { pool.take(thread, k, out) } -> std::same_as<bool>;
  { pool.give(thread, ids, k) } -> std::same_as<void>;
  { still.free_ids() } -> std::same_as<std::vector<BlockId>>;
  { still.stranded() } -> std::same_as<std::int64_t>;
};

// Coherence works by lines of 64 bytes; some processors fetch them in pairs.
inline constexpr std::size_t apart = 128;

// Tells the processor that this is a loop that waits.
inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace blockmark
