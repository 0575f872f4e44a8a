// Questions about the free blocks by number: where k of them lie side by side, and which
// blocks must move so that the top of the pool is free. Both are asked of a bitmap: bit
// i % 64 of word i / 64 is set while block i is free, and bits behind the last block are 0.
#pragma once

#include <bit>
#include <cstdint>

namespace blockmark {

struct FreeWords {
  const std::uint64_t* words;
  std::int64_t total_blocks;

  std::int64_t size() const { return (total_blocks + 63) / 64; }
};

// One block's contents go from `src` to `dst`.
struct Move {
  std::int32_t src, dst;
};

// Where `k` set bits begin in a word, as a bit at each such place; 1 <= k <= 64.
inline std::uint64_t runs_of(std::uint64_t bits, std::int64_t k) {
  // A bit stays if as many follow it as there are known to; that number doubles.
  for (std::int64_t known = 1; known < k && bits != 0;) {
    const std::int64_t shift = known < k - known ? known : k - known;
    bits &= bits >> shift;
    known += shift;
  }
  return bits;
}

// The lowest block from which on `k` >= 1 blocks are free, or -1. First fit by number; a
// run may go over the ends of words.
inline std::int64_t lowest_run(FreeWords free, std::int64_t k) {
  std::int64_t start = 0, length = 0;  // the run that reaches the word's beginning
  for (std::int64_t word = 0; word < free.size(); ++word) {
    const std::uint64_t bits = free.words[word];
    if (bits == ~std::uint64_t{0}) {
      if (length == 0) start = word * 64;
      length += 64;
      if (length >= k) return start;
      continue;
    }
    if (length > 0 && length + std::countr_one(bits) >= k) return start;
    if (k <= 64) {
      if (const std::uint64_t inside = runs_of(bits, k); inside != 0) {
        return word * 64 + std::countr_zero(inside);
      }
    }
    length = std::countl_one(bits);
    start = (word + 1) * 64 - length;
  }
  return -1;
}

// The moves that free the `top` highest blocks: each used one among them, from the top down,
// goes to the lowest free block that no earlier move took (two fingers). At least `top` blocks
// must be free. `move(src, dst)` is told of each; returns how many there are.
template <class OnMove>
std::int64_t plan_compaction(FreeWords free, std::int64_t top, OnMove&& move) {
  const std::int64_t boundary = free.total_blocks - top;
  std::int64_t moves = 0, low = 0;
  std::uint64_t holes = free.words[0];
  for (std::int64_t high = free.size(); high-- > boundary / 64;) {
    std::uint64_t used = ~free.words[high];
    const std::int64_t first = high * 64;
    if (boundary > first) used &= ~std::uint64_t{0} << (boundary - first);
    if (free.total_blocks - first < 64) {
      used &= (std::uint64_t{1} << (free.total_blocks - first)) - 1;
    }
    while (used != 0) {
      const int bit = 63 - std::countl_zero(used);
      used ^= std::uint64_t{1} << bit;
      while (holes == 0) holes = free.words[++low];
      move(first + bit, low * 64 + std::countr_zero(holes));
      holes &= holes - 1;
      ++moves;
    }
  }
  return moves;
}

}  // namespace blockmark
