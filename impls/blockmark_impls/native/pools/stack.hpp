// A preallocated array with a top index (LIFO): no allocation, no growth check.
#pragma once

#include <cstdint>

#include "../aligned_array.hpp"
#include "../contract.hpp"

namespace blockmark {

template <std::integral Id>
class StackPool {
 public:
  using id_type = Id;
  static constexpr const char* name = "stack";
  static constexpr const char* reuse_order = "LIFO";

  explicit StackPool(std::int64_t total_blocks) : ids_(total_blocks, Id{0}), top_(total_blocks) {
    for (std::int64_t i = 0; i < total_blocks; ++i) ids_[i] = static_cast<Id>(total_blocks - 1 - i);
  }

  std::int64_t num_free() const { return top_; }
  Id take() { return ids_[--top_]; }
  void give(Id id) { ids_[top_++] = id; }
  template <class Visit>
  void each_free(Visit&& visit) const {
    for (std::int64_t i = 0; i < top_; ++i) visit(static_cast<std::int64_t>(ids_[i]));
  }
  std::int64_t bytes() const { return ids_.bytes(); }

  // The top in a register while many blocks come or go.
  class Open {
   public:
    explicit Open(StackPool& pool) : pool_(pool), ids_(pool.ids_.data()), top_(pool.top_) {}
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;
    ~Open() { pool_.top_ = top_; }

    Id take() { return ids_[--top_]; }
    void give(Id id) { ids_[top_++] = id; }

   private:
    StackPool& pool_;
    Id* ids_;
    std::int64_t top_;
  };
  Open open() { return Open(*this); }

 private:
  AlignedArray<Id> ids_;
  std::int64_t top_;
};

static_assert(FreePool<StackPool<std::uint16_t>>);

}  // namespace blockmark
