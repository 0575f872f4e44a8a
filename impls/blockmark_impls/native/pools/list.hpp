// A growing std::vector used as a stack (LIFO); it never shrinks.
#pragma once

#include <cstdint>
#include <vector>

#include "../contract.hpp"

namespace blockmark {

template <std::integral Id>
class ListPool {
 public:
  using id_type = Id;
  static constexpr const char* name = "list";
  static constexpr const char* reuse_order = "LIFO";

  explicit ListPool(std::int64_t total_blocks) {
    for (std::int64_t id = total_blocks; id-- > 0;) free_.push_back(static_cast<Id>(id));
  }

  std::int64_t num_free() const { return static_cast<std::int64_t>(free_.size()); }
  Id take() {
    const Id id = free_.back();
    free_.pop_back();
    return id;
  }
  void give(Id id) { free_.push_back(id); }
  template <class Visit>
  void each_free(Visit&& visit) const {
    for (const Id id : free_) visit(static_cast<std::int64_t>(id));
  }
  std::int64_t bytes() const { return static_cast<std::int64_t>(free_.capacity() * sizeof(Id)); }

 private:
  std::vector<Id> free_;
};

static_assert(FreePool<ListPool<std::int32_t>>);

}  // namespace blockmark
