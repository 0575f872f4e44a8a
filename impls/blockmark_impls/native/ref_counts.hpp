// Ref counts: a preallocated array, or a hash that holds every block from the start.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "aligned_array.hpp"
#include "contract.hpp"

namespace blockmark {

class ArrayRefCounts {
 public:
  static constexpr const char* name = "array";

  explicit ArrayRefCounts(std::int64_t total_blocks) : counts_(total_blocks, 0) {}

  std::int32_t get(std::int64_t id) const { return counts_[id]; }
  void start(std::int64_t id) { counts_[id] = 1; }
  void add(std::int64_t id) { ++counts_[id]; }
  std::int32_t drop(std::int64_t id) { return --counts_[id]; }
  std::int64_t bytes() const { return counts_.bytes(); }

 private:
  AlignedArray<std::int32_t> counts_;
};

// What a prototype does that keeps ids in a hash: one lookup for every count, and no
// allocation afterwards, as no key ever comes or goes.
class HashRefCounts {
 public:
  static constexpr const char* name = "hash";

  explicit HashRefCounts(std::int64_t total_blocks) {
    for (std::int64_t id = 0; id < total_blocks; ++id) counts_.emplace(static_cast<int>(id), 0);
  }

  std::int32_t get(std::int64_t id) const { return counts_.find(static_cast<int>(id))->second; }
  void start(std::int64_t id) { counts_.find(static_cast<int>(id))->second = 1; }
  void add(std::int64_t id) { ++counts_.find(static_cast<int>(id))->second; }
  std::int32_t drop(std::int64_t id) { return --counts_.find(static_cast<int>(id))->second; }
  std::int64_t bytes() const {
    // A node is a pointer and two ints.
    return static_cast<std::int64_t>(counts_.size()) * malloc_chunk(16) +
           malloc_chunk(static_cast<std::int64_t>(counts_.bucket_count()) * 8);
  }

 private:
  std::unordered_map<int, int> counts_;
};

static_assert(RefCounting<ArrayRefCounts> && RefCounting<HashRefCounts>);

}  // namespace blockmark
