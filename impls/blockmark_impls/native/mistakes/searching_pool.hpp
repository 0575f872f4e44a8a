// The mistake: no list of free blocks at all. A taken block is marked, and taking one
// looks at the marks from the first block on until it finds a free one. In a pool that is
// three quarters full that is most of the marks, for every block.
#pragma once

#include <cstdint>

#include "../aligned_array.hpp"
#include "../contract.hpp"

namespace blockmark {

template <std::integral Id>
class SearchingPool {
 public:
  using id_type = Id;
  static constexpr const char* name = "searching";
  static constexpr const char* reuse_order = "lowest";

  explicit SearchingPool(std::int64_t total_blocks)
      : taken_(total_blocks, 0), num_free_(total_blocks) {}

  std::int64_t num_free() const { return num_free_; }
  Id take() {
    const std::int64_t id = first_free();
    taken_[id] = 1;
    --num_free_;
    return static_cast<Id>(id);
  }
  void give(Id id) {
    taken_[id] = 0;
    ++num_free_;
  }
  std::int64_t bytes() const { return taken_.bytes(); }

  // Marks that the next take() would look at; all of them where nothing is free.
  std::int64_t search_length() const {
    return num_free_ == 0 ? taken_.size() : first_free() + 1;
  }

 private:
  std::int64_t first_free() const {
    std::int64_t id = 0;
    while (taken_[id] != 0) ++id;
    return id;
  }

  // As wide as the ref counts that such code searches.
  AlignedArray<std::int32_t> taken_;
  std::int64_t num_free_;
};

static_assert(FreePool<SearchingPool<std::uint16_t>>);

}  // namespace blockmark
