// Free ids in a preallocated array: what the schemes with a lock guard.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "../aligned_array.hpp"
#include "shared_pool.hpp"

namespace blockmark {

class IdStack {
 public:
  explicit IdStack(std::int64_t total) : ids_(total, BlockId{0}), top_(total) {
    for (std::int64_t i = 0; i < total; ++i) ids_[i] = static_cast<BlockId>(total - 1 - i);
  }

  std::int64_t size() const { return top_; }
  bool take(std::int64_t k, BlockId* out) {
    if (k > top_) return false;
    for (std::int64_t i = 0; i < k; ++i) out[i] = ids_[--top_];
    return true;
  }
  void give(const BlockId* ids, std::int64_t k) {
    for (std::int64_t i = 0; i < k; ++i) ids_[top_++] = ids[i];
  }
  void append_to(std::vector<BlockId>& all) const {
    all.insert(all.end(), ids_.data(), ids_.data() + top_);
  }

 private:
  AlignedArray<BlockId> ids_;
  std::int64_t top_;
};

}  // namespace blockmark
