// A pool alone as the target of a replay.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "contract.hpp"
#include "op.hpp"

namespace blockmark {

template <FreePool Pool>
class PoolTarget {
 public:
  using id_type = typename Pool::id_type;

  static constexpr OpSet served = pool_ops;

  explicit PoolTarget(std::int64_t total_blocks) : total_(checked(total_blocks)), pool_(total_) {}

  Pool& pool() { return pool_; }
  std::int64_t num_free() const { return pool_.num_free(); }
  std::int64_t total_blocks() const { return total_; }
  std::int64_t bytes() const { return pool_.bytes(); }

  // Only what any caller could get wrong without knowing the pool's insides; giving a
  // block twice is the caller's bug, which a stack cannot see.
  void check_given(const std::vector<std::int64_t>& ids) const {
    for (const std::int64_t id : ids) check_id(id);
    if (static_cast<std::int64_t>(ids.size()) > total_ - pool_.num_free()) {
      throw_value("more blocks are given back than were taken");
    }
  }
  void check_id(std::int64_t id) const {
    if (id < 0 || id >= total_) throw_value("there is no block " + std::to_string(id));
  }

 private:
  static std::int64_t checked(std::int64_t total_blocks) {
    Sizes{total_blocks, 1, 1, 1}.checked(id_limit<id_type>(), id_name<id_type>());
    return total_blocks;
  }

  std::int64_t total_;
  Pool pool_;
};

}  // namespace blockmark
